"""Breadth-first search of an R-MAT graph: each rank has vertices and their edges, and marks the neighbors of any.

    mpirun -n 4 python examples/python/breadth_first_search.py
"""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.csgraph
from mpi4py import MPI

import crossdock
import rmat

SCALE = 11
NUM_EDGES = 8 << SCALE
FAR = 1 << 40  # what nothing leads to


def both_ways(edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([edges, edges[:, ::-1]])


def adjacency(world: crossdock.Context, owned: range) -> Any:
    """The edges of this rank's vertices as rows of a matrix; every rank makes a part of all edges and deals it out."""
    made = both_ways(rmat.edges(SCALE, NUM_EDGES, world.rank, world.num_ranks))
    starts = MPI.COMM_WORLD.allgather(owned.start)
    owners = np.searchsorted(starts, made[:, 0], side="right") - 1
    order = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=world.num_ranks)
    came = crossdock.sparse_exchange(world, (np.arange(world.num_ranks), counts, made[order])).values
    rows = came[:, 0] - owned.start
    return scipy.sparse.csr_array((np.ones(len(came)), (rows, came[:, 1])), shape=(len(owned), 1 << SCALE))


def search(graph: Any, distances: crossdock.DistributedArray, root: int) -> int:
    """Set the distance of every vertex from the root; return the greatest one that is found."""
    distances.local[:] = FAR
    distances.update([root] if root in distances.owned else [], 0, "min")
    level = 0
    while True:
        reached = np.flatnonzero(distances.local == level)
        if MPI.COMM_WORLD.allreduce(len(reached)) == 0:
            return level - 1
        distances.update(np.unique(graph[reached].indices), level + 1, "min")
        level += 1


def main() -> None:
    with crossdock.Context(MPI.COMM_WORLD) as world, crossdock.DistributedArray(world, 1 << SCALE, int) as distances:
        depth = search(adjacency(world, distances.owned), distances, root=0)
        every = both_ways(rmat.edges(SCALE, NUM_EDGES))
        whole = scipy.sparse.csr_array((np.ones(len(every)), (every[:, 0], every[:, 1])), shape=(1 << SCALE,) * 2)
        expected = scipy.sparse.csgraph.dijkstra(whole, unweighted=True, indices=0)
        expected = np.where(np.isinf(expected), FAR, expected)[distances.owned.start:distances.owned.stop]
        if not MPI.COMM_WORLD.allreduce(bool(np.array_equal(distances.local, expected)), MPI.LAND):
            sys.exit("a distance differs from SciPy's")
        num_reached = MPI.COMM_WORLD.allreduce(int(np.count_nonzero(distances.local < FAR)))
        if world.rank == 0:
            print(f"reached {num_reached} of {1 << SCALE} vertices in {depth} steps on {world.num_ranks} ranks")


if __name__ == "__main__":
    main()
