"""CROSSDOCK_WATCHDOG with `throw`, and CROSSDOCK_CHECK."""

import os

import numpy as np
import pytest
from conftest import ring
from mpi4py import MPI

import crossdock
from crossdock import Context, DistributedArray, GatherScatter, NeighborExchange, Pattern, Stream, Topology

COMM = MPI.COMM_WORLD
only_with_others = pytest.mark.skipif(COMM.size == 1, reason="nobody waits")


@pytest.fixture
def impatient(monkeypatch):
    """A context whose waits time out."""
    monkeypatch.setenv("CROSSDOCK_WATCHDOG", "2:throw:" + os.devnull)
    made = Context(COMM)
    yield made
    made.close()


@only_with_others
def test_a_wait_that_times_out_can_be_made_again(impatient):
    with NeighborExchange(impatient, ring(impatient)) as halo:
        items, out = np.full(3, float(COMM.rank)), np.zeros(2)
        if COMM.rank != 0:
            COMM.recv(source=0)
        halo.start(items, out)
        if COMM.rank == 0:
            with pytest.raises(crossdock.TimeoutError, match=rf"^rank 0 of {COMM.size} has waited 2.0 s for .* in exchange 1 of"):
                halo.wait()
            assert halo.is_active
            for other in range(1, COMM.size):
                COMM.send(None, other)
        while halo.is_active:
            try:
                halo.wait()
            except crossdock.TimeoutError:  # the machine is slow
                pass
        assert out.tolist() == [(COMM.rank - 1) % COMM.size, (COMM.rank + 1) % COMM.size]


@only_with_others
def test_a_collective_call_that_times_out_ends_the_context(impatient):
    is_last = COMM.rank == COMM.size - 1
    if is_last:
        COMM.Barrier()
        with pytest.raises(TimeoutError):
            impatient.close()
    else:
        with pytest.raises(TimeoutError):
            DistributedArray(impatient, 8)
        COMM.Barrier()
    with pytest.raises(crossdock.Error):
        DistributedArray(impatient, 8)


EMPTY = Pattern.from_neighbor_alltoallv(COMM.rank, COMM.size, destinations=[], send_counts=[], sources=[],
                                        receive_counts=[])
CALLS = [
    ("making a pattern", lambda world: Pattern.from_needed(world, [COMM.rank], [])),
    ("making a pattern", lambda world: Pattern.from_needed(world, range(COMM.rank, COMM.rank + 1), [])),
    ("writing a pattern", lambda world: EMPTY.write(world, "never_written.mtx")),
    ("discovering a topology", Topology.discover),
    ("making a gather-scatter", lambda world: GatherScatter(world, [1, 2])),
    ("flagging duplicates", lambda world: crossdock.flag_duplicates(world, [1, 2])),
    ("making a sparse exchange", lambda world: crossdock.sparse_exchange(world, {})),
    ("making a distributed array", lambda world: DistributedArray(world, 8)),
    ("making a stream", lambda world: Stream(world, int, lambda port, items: None)),
    ("closing a context", Context.close),
]


@only_with_others
@pytest.mark.parametrize(("name", "call"), CALLS)
def test_a_collective_call_has_a_name(monkeypatch, name, call):
    monkeypatch.setenv("CROSSDOCK_WATCHDOG", "1:throw:" + os.devnull)
    world = Context(COMM)
    if COMM.rank == COMM.size - 1:
        COMM.Barrier()
        with pytest.raises(TimeoutError):
            world.close()
    else:
        with pytest.raises(TimeoutError, match=rf" for other ranks in {name}; let "):
            call(world)
        COMM.Barrier()
    world.close()


@only_with_others
def test_checking_names_calls_that_differ(monkeypatch):
    monkeypatch.setenv("CROSSDOCK_CHECK", "1")
    with Context(COMM) as world:
        last = COMM.size - 1
        with pytest.raises(crossdock.InvalidArgumentError) as raised:
            if COMM.rank == last:
                world.close()
            else:
                Pattern.from_needed(world, [], [])
        assert str(raised.value) == (f"rank {last} is closing a context, but rank 0 makes a pattern; "
                                     "all ranks must make the same calls in one order")
        DistributedArray(world, 8).close()
