"""Assembles the stiffness matrix of a finite-element mesh: each rank has triangles, and adds to any entries.

    mpirun -n 4 python examples/python/assembly.py
"""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from mpi4py import MPI

import crossdock

SIDE = 40
NUM_VERTICES = (SIDE + 1) ** 2
# A vertex shares triangles with itself and six others; their numbers are so much greater than its own.
OFFSETS = np.array([-SIDE - 1, -SIDE, -1, 0, 1, SIDE, SIDE + 1])
# Of a triangle whose legs have length 1; its first vertex has the right angle. Multiples of 1/2 add up exactly.
STIFFNESS = np.array([[1.0, -0.5, -0.5], [-0.5, 0.5, 0.0], [-0.5, 0.0, 0.5]])


def triangles() -> npt.NDArray[np.int64]:
    """Two for each square of a grid, by the numbers of their vertices."""
    corner = (np.arange(SIDE)[:, None] * (SIDE + 1) + np.arange(SIDE)).ravel()
    lower = np.stack([corner, corner + 1, corner + SIDE + 1], axis=1)
    upper = np.stack([corner + SIDE + 2, corner + 1, corner + SIDE + 1], axis=1)
    return np.concatenate([lower, upper])


def places_of(corners: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows and columns that triangles add to, of shape (triangles, 3, 3)."""
    rows, columns = np.broadcast_arrays(corners[:, :, None], corners[:, None, :])
    return rows, columns


def rows_of(entries: npt.NDArray[np.float64], first: int) -> Any:
    """Rows of a matrix, of which each has one entry for each offset."""
    columns = first + np.arange(len(entries))[:, None] + OFFSETS
    is_used = entries != 0
    ends = np.concatenate([[0], np.cumsum(is_used.sum(axis=1))])
    return scipy.sparse.csr_array((entries[is_used], columns[is_used], ends), shape=(len(entries), NUM_VERTICES))


def main() -> None:
    every = triangles()
    with crossdock.Context(MPI.COMM_WORLD) as world:
        # Dealt at random, as if nobody had partitioned the mesh.
        dealt = np.random.default_rng(0).integers(world.num_ranks, size=len(every))
        cuts = np.linspace(0, NUM_VERTICES, world.num_ranks + 1).astype(int)
        first, end = int(cuts[world.rank]), int(cuts[world.rank + 1])
        width = len(OFFSETS)
        with crossdock.DistributedArray(world, width * NUM_VERTICES, num_local=width * (end - first)) as entries:
            rows, columns = places_of(every[dealt == world.rank])
            entries.update(width * rows + np.searchsorted(OFFSETS, columns - rows), STIFFNESS)
            mine = rows_of(entries.local.reshape(-1, width), first)
        with crossdock.DistributedMatrix.from_scipy(world, mine) as matrix:
            rigid = matrix @ np.ones(end - first)  # a constant has no energy
        rows, columns = places_of(every)
        values = np.broadcast_to(STIFFNESS, rows.shape)
        expected = scipy.sparse.coo_array((values.ravel(), (rows.ravel(), columns.ravel()))).tocsr()[first:end]
        is_right = (mine != expected).nnz == 0 and not rigid.any()
        if not MPI.COMM_WORLD.allreduce(bool(is_right), MPI.LAND):
            sys.exit("the matrix is not SciPy's")
        if world.rank == 0:
            print(f"assembled {len(every)} triangles on {world.num_ranks} ranks")


if __name__ == "__main__":
    main()
