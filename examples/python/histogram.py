"""A histogram whose bins are spread over the ranks, filled by a stream of keys.

    mpirun -n 4 python examples/python/histogram.py
"""

import sys

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

import crossdock

NUM_BINS = 1000
NUM_KEYS = 100_000


def keys_of(rank: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(rank).zipf(1.5, size=NUM_KEYS) % NUM_BINS


def main() -> None:
    with crossdock.Context(MPI.COMM_WORLD) as world:
        # Bin k is on rank k % P.
        bins = np.zeros(NUM_BINS, int)
        with crossdock.Stream(world, int, lambda port, keys: np.add.at(bins, keys, 1)) as stream:
            keys = keys_of(world.rank)
            stream.push(keys % world.num_ranks, keys)
            stream.drain()
        every_key = np.concatenate([keys_of(rank) for rank in range(world.num_ranks)])
        expected = np.bincount(every_key, minlength=NUM_BINS)
        expected[np.arange(NUM_BINS) % world.num_ranks != world.rank] = 0
        if not MPI.COMM_WORLD.allreduce(bool(np.array_equal(bins, expected)), MPI.LAND):
            sys.exit("a bin differs")
        if world.rank == 0:
            print(f"counted {NUM_KEYS * world.num_ranks} keys on {world.num_ranks} ranks")


if __name__ == "__main__":
    main()
