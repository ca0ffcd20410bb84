"""PageRank of a sparse graph.

    mpirun -n 4 python examples/python/pagerank.py [FILE]

FILE is a Matrix Market file; an entry (i, j) is an edge from i to j. Without it the graph is R-MAT.
"""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io
import scipy.sparse
import scipy.sparse.linalg
from mpi4py import MPI

import crossdock
import rmat

DAMPING = 0.85
ITERATIONS = 150
SCALE = 10
NUM_EDGES = 8 << SCALE


def graph() -> Any:
    if len(sys.argv) > 1:
        return scipy.sparse.csr_array(scipy.io.mmread(sys.argv[1]))
    edges = rmat.edges(SCALE, NUM_EDGES)
    return scipy.sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(1 << SCALE,) * 2)


def transitions(edges: Any) -> Any:
    """The matrix that moves probability along edges; a vertex without edges keeps its own."""
    links = edges.astype(bool).astype(float)
    degrees = links.sum(axis=1)
    links = links + scipy.sparse.diags_array((degrees == 0).astype(float))
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1 / np.maximum(degrees, 1)) @ links)


def pagerank(matrix: Any, length: int, num_local: int) -> npt.NDArray[np.float64]:
    """Works for a whole matrix of SciPy and for rows that are spread over ranks."""
    ranks = np.full(num_local, 1 / length)
    for _ in range(ITERATIONS):
        ranks = (1 - DAMPING) / length + DAMPING * (matrix.T @ ranks)
    return ranks


def expected_ranks(matrix: Any, length: int) -> npt.NDArray[np.float64]:
    """What the iterations approach, by SciPy's direct solver."""
    equations = scipy.sparse.csc_array(scipy.sparse.eye_array(length) - DAMPING * matrix.T)
    solution: npt.NDArray[np.float64] = scipy.sparse.linalg.spsolve(equations, np.full(length, (1 - DAMPING) / length))
    return solution


def main() -> None:
    whole = transitions(graph())
    length = whole.shape[0]
    with crossdock.Context(MPI.COMM_WORLD) as world:
        cuts = np.linspace(0, length, world.num_ranks + 1).astype(int)
        mine = slice(cuts[world.rank], cuts[world.rank + 1])
        with crossdock.DistributedMatrix.from_scipy(world, whole[mine]) as matrix:
            ranks = pagerank(matrix, length, mine.stop - mine.start)
        is_right = np.allclose(ranks, expected_ranks(whole, length)[mine], rtol=1e-8)
        total = MPI.COMM_WORLD.allreduce(ranks.sum())
        if not MPI.COMM_WORLD.allreduce(bool(is_right), MPI.LAND):
            sys.exit("the ranks are not those that SciPy finds")
        if world.rank == 0:
            print(f"PageRank of {length} vertices on {world.num_ranks} ranks: the sum is {total:.6f}")


if __name__ == "__main__":
    main()
