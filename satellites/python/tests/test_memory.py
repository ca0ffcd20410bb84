"""What is made and dropped again leaves nothing behind."""

import gc

import numpy as np
import pytest
from conftest import ring
from mpi4py import MPI

import crossdock
from crossdock import Context, DistributedArray, NeighborExchange, Pattern, Stream


def resident_kib():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * 4


def use_exchange(world, pattern):
    NeighborExchange(world, pattern, route="direct").forward(np.zeros(3))


def use_pattern(world, pattern):
    Pattern.from_needed(world, [world.rank], [world.rank])


def use_array(world, pattern):
    array = DistributedArray(world, 4)
    array.update([0], 1.0)
    array.prepare([1]).read()


def use_stream(world, pattern):
    stream = Stream(world, int, lambda port, items: stream.is_open)
    stream.push(world.rank, np.zeros(1, int))
    stream.drain()
    stream.close()


def use_sparse(world, pattern):
    crossdock.sparse_exchange(world, {world.rank: np.zeros(3)})


def use_context(world, pattern):
    with Context(MPI.COMM_WORLD):
        pass


def use_error(world, pattern):
    with pytest.raises(crossdock.UnknownRouteError):
        NeighborExchange(world, pattern, route="no_such_route")


@pytest.mark.parametrize("use", [use_exchange, use_pattern, use_array, use_stream, use_sparse, use_context, use_error])
def test_memory_stays_constant(world, use):
    pattern = ring(world)
    gc.freeze()  # or most of the time would go into looking at modules again and again

    def rounds(count):
        for done in range(count):
            use(world, pattern)
            if done % 50 == 49:
                gc.collect()  # streams, which their handlers refer to

    # Many ranks take turns on few cores, and a stream waits for all of them several times.
    count = 2500 if world.num_ranks == 1 else 50 if use is use_stream else 200
    rounds(2000 if world.num_ranks == 1 else count // 5)  # MPI's own memory grows at first
    before = resident_kib()
    rounds(count)
    grown = resident_kib() - before
    gc.unfreeze()
    assert grown < 500
