"""Ctrl-C, and threads that call what another one is in."""

import os
import signal
import threading

import numpy as np
import pytest
from conftest import ring
from mpi4py import MPI

import crossdock
from crossdock import DistributedArray, NeighborExchange, Pattern, Stream, Topology, planning

COMM = MPI.COMM_WORLD
only_with_others = pytest.mark.skipif(COMM.size == 1, reason="nobody waits")


def interrupt_soon():
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def interrupted_on_rank_0(call, *, times=1):
    """Call on all ranks, but on the others after rank 0 was interrupted; return what it returns there."""
    if COMM.rank == 0:
        for _ in range(times):
            interrupt_soon()
            with pytest.raises(KeyboardInterrupt):
                call()
        for other in range(1, COMM.size):
            COMM.send(None, other)
        return None
    COMM.recv(source=0)
    return call()


@only_with_others
def test_a_wait_is_interrupted(world):
    with NeighborExchange(world, ring(world)) as halo:
        items, out = np.full(3, float(world.rank)), np.zeros(2)
        if world.rank != 0:
            COMM.recv(source=0)
        halo.start(items, out)
        if world.rank == 0:
            interrupt_soon()
            with pytest.raises(KeyboardInterrupt):
                halo.wait()
            assert halo.is_active
            for other in range(1, world.num_ranks):
                COMM.send(None, other)
        halo.wait()
        assert out.tolist() == [(world.rank - 1) % world.num_ranks, (world.rank + 1) % world.num_ranks]


@only_with_others
@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_exchange_goes_on_in_the_next_call(world, times):
    """A second interrupt comes while the first call ends; what has waited for that has not begun."""
    messages = {rank: np.full(2, 10 * world.rank + rank) for rank in range(world.num_ranks)}
    received = interrupted_on_rank_0(lambda: crossdock.sparse_exchange(world, messages), times=times)
    if world.rank != 0:
        assert received.values.reshape(-1, 2).tolist() == [[10 * source + world.rank] * 2
                                                           for source in range(world.num_ranks)]
    following = crossdock.sparse_exchange(world, {0: np.full(1, world.rank)})
    assert following.values.tolist() == (list(range(world.num_ranks)) if world.rank == 0 else [])


@only_with_others
def test_making_a_context_is_interrupted():
    made = interrupted_on_rank_0(lambda: crossdock.Context(COMM))
    if COMM.rank == 0:
        made = crossdock.Context(COMM)
    with made:
        assert crossdock.sparse_exchange(made, {0: np.full(1, COMM.rank)}).values.tolist() == (
            list(range(COMM.size)) if COMM.rank == 0 else [])


@only_with_others
def test_set_ups_are_interrupted(world):
    def pattern():
        return Pattern.from_needed(world, [world.rank], [(world.rank + 1) % world.num_ranks])

    made = pattern()
    for call in (pattern, lambda: NeighborExchange(world, made), lambda: Topology.discover(world),
                 lambda: DistributedArray(world, 10), lambda: Stream(world, int, print)):
        interrupted_on_rank_0(call)
        with NeighborExchange(world, pattern()) as following:
            assert following.forward(np.array([7.0 + world.rank])).tolist() == [7.0 + (world.rank + 1)
                                                                                  % world.num_ranks]


@only_with_others
def test_batches_are_interrupted(world):
    with DistributedArray(world, world.num_ranks, int) as array:
        interrupted_on_rank_0(lambda: array.update([0, world.rank], [1, 1]))
        assert array[:].tolist() == [world.num_ranks + 1] + [1] * (world.num_ranks - 1)
        interrupted_on_rank_0(lambda: array[0])
        interrupted_on_rank_0(lambda: array.prepare([0]))
        batch = array.prepare([0])
        interrupted_on_rank_0(lambda: batch.fetch_and_update(np.ones(1, int)))
        assert batch.read().tolist() == [2 * world.num_ranks + 1]


@only_with_others
def test_calibrating_is_interrupted(world):
    """Before the others have come, and in the midst of measuring."""
    found = interrupted_on_rank_0(lambda: planning.calibrate(world, 0.01))
    crossdock.sparse_exchange(world, {})  # ends it on rank 0, which else might be interrupted in that again
    if world.rank == 0:
        interrupt_soon()
        with pytest.raises(KeyboardInterrupt):
            planning.calibrate(world, 1.0)
    else:
        assert found.name == "calibrated"
        assert planning.calibrate(world, 1.0).name == "calibrated"
    assert crossdock.sparse_exchange(world, {0: np.zeros(1)}).values.tolist() == [0.0] * (
        world.num_ranks if world.rank == 0 else 0)


@only_with_others
def test_an_error_of_an_interrupted_call_is_the_others_alone(world):
    def call():
        crossdock.sparse_exchange(world, {(world.num_ranks if world.rank == 0 else 0): np.zeros(1)})

    if world.rank == 0:
        interrupted_on_rank_0(call)
    else:
        with pytest.raises(crossdock.RankOutOfRangeError):
            interrupted_on_rank_0(call)
    assert crossdock.sparse_exchange(world, {0: np.zeros(1)}).values.tolist() == [0.0] * (
        world.num_ranks if world.rank == 0 else 0)


@only_with_others
def test_closing_ends_what_was_interrupted():
    with crossdock.Context(COMM) as world:
        interrupted_on_rank_0(lambda: crossdock.sparse_exchange(world, {}))


@only_with_others
def test_another_thread_cannot_end_what_was_interrupted(world):
    if world.rank != 0:
        interrupted_on_rank_0(lambda: crossdock.sparse_exchange(world, {}))
        return
    refused = []

    def call():
        try:
            crossdock.sparse_exchange(world, {})
        except crossdock.InvalidStateError as error:
            refused.append(str(error))

    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        crossdock.sparse_exchange(world, {})
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert refused == ["Ctrl-C has interrupted a call of another thread, which has to end it first"]
    for other in range(1, COMM.size):
        COMM.send(None, other)


@only_with_others
@pytest.mark.parametrize("pressure", ["progress", "block"])
def test_a_push_that_waits_is_interrupted(world, pressure):
    handled = []
    options = {"scheme": "ww", "route": "direct", "buffer_items": 4, "max_buffers": world.num_ranks + 1}
    with Stream(world, int, lambda port, items: handled.append(len(items)), pressure=pressure, **options) as stream:
        if world.rank == 0:
            interrupt_soon()
            with pytest.raises(KeyboardInterrupt):
                while True:
                    stream.push(1, np.zeros(1000, int))
            for other in range(1, world.num_ranks):
                COMM.send(None, other)
        else:
            COMM.recv(source=0)
        stream.drain()
        pushed = COMM.bcast(stream.statistics()["items"])
        assert pushed > 0
        assert sum(handled) == (pushed if world.rank == 1 else 0)


@only_with_others
def test_a_drain_is_interrupted(world):
    handled = []
    with Stream(world, int, lambda port, items: handled.extend(items.tolist())) as stream:
        stream.push(0, np.full(1, world.rank))
        interrupted_on_rank_0(stream.drain)
        if world.rank == 0:
            stream.drain()
    assert sorted(handled) == (list(range(world.num_ranks)) if world.rank == 0 else [])


@only_with_others
def test_another_thread_is_refused_while_one_waits(world):
    """A signal handler runs inside the wait, which cannot end before it."""
    with NeighborExchange(world, ring(world)) as halo:
        out = np.zeros(2)
        if world.rank != 0:
            COMM.recv(source=0)
        halo.start(np.full(3, float(world.rank)), out)
        if world.rank == 0:
            refused = []

            def test():
                try:
                    halo.test()
                except crossdock.InvalidStateError as error:
                    refused.append(str(error))

            def handle(number, frame):
                thread = threading.Thread(target=test)
                thread.start()
                thread.join()
                if not refused:  # the wait has not begun
                    signal.setitimer(signal.ITIMER_REAL, 0.01)
                    return
                for other in range(1, world.num_ranks):
                    COMM.send(None, other)

            before = signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            halo.wait()
            signal.signal(signal.SIGALRM, before)
            assert len(refused) == 1
            assert refused[0].startswith("another thread")
        else:
            halo.wait()
        assert out.tolist() == [(world.rank - 1) % world.num_ranks, (world.rank + 1) % world.num_ranks]
