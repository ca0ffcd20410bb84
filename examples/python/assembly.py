"""Assembles the load vector of a finite-element mesh: each rank has triangles, and adds to any vertices.

    mpirun -n 4 python examples/python/assembly.py
"""

import sys

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

import crossdock

SIDE = 40


def triangles() -> npt.NDArray[np.int64]:
    """Two for each square of a grid, by the numbers of their vertices."""
    corner = (np.arange(SIDE)[:, None] * (SIDE + 1) + np.arange(SIDE)).ravel()
    lower = np.stack([corner, corner + 1, corner + SIDE + 1], axis=1)
    upper = np.stack([corner + 1, corner + SIDE + 2, corner + SIDE + 1], axis=1)
    return np.concatenate([lower, upper])


def main() -> None:
    every = triangles()
    num_vertices = (SIDE + 1) ** 2
    with crossdock.Context(MPI.COMM_WORLD) as world:
        # Dealt at random, as if nobody had partitioned the mesh.
        dealt = np.random.default_rng(0).integers(world.num_ranks, size=len(every))
        mine = every[dealt == world.rank]
        with crossdock.DistributedArray(world, num_vertices) as load:
            # A triangle has an area of 1/2, of which each vertex gets a third: multiples of 1/8 are exact.
            load.update(mine, 0.125)
            expected = 0.125 * np.bincount(every.ravel(), minlength=num_vertices)
            is_right = np.array_equal(load.local, expected[load.owned.start:load.owned.stop])
        if not MPI.COMM_WORLD.allreduce(bool(is_right), MPI.LAND):
            sys.exit("the vector is another one")
        if world.rank == 0:
            print(f"assembled {len(every)} triangles on {world.num_ranks} ranks")


if __name__ == "__main__":
    main()
