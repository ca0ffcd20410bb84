import numpy as np
import pytest
from mpi4py import MPI
from test_neighbor import WITH_NAN, WITHOUT_NAN, expect_peers_to_learn

import crossdock
from crossdock import Context, GatherScatter, flag_duplicates, sparse_exchange


@pytest.fixture
def ids(world):
    """One point of its own, one shared with each neighbor in a ring, one without an id, and one that all share."""
    rank, size = world.rank, world.num_ranks
    return np.array([1000 + rank, 1 + rank, 1 + (rank + 1) % size, 0, 500])


def values_of(rank, dtype=float):
    return np.array([7, rank + 1, rank + 2, 9, rank]).astype(dtype)


def sums_of(world, dtype=float):
    rank, size = world.rank, world.num_ranks
    return np.array([7, rank + (rank - 1) % size + 3, rank + (rank + 1) % size + 3, 9,
                     sum(range(size))]).astype(dtype)


@pytest.mark.parametrize("method", ["auto", "holders"])
@pytest.mark.parametrize("route", ["hypercube", "auto:measure"])
def test_all_copies_get_the_sum(world, ids, method, route):
    with GatherScatter(world, ids, method=method, route=route, reproducible=method == "holders") as shared:
        assert shared.num_ids == 5
        for _ in range(3):
            values = values_of(world.rank)
            assert shared.combine(values) is values
            assert values.tolist() == sums_of(world).tolist()
        assert method in ("auto", shared.method)
        assert shared.route in (route, shared.route if route.startswith("auto") else None)


@pytest.mark.parametrize("dtype", ["i2", "u8", "f4", "c16"])
def test_values_of_any_dtype_combine(world, ids, dtype):
    with GatherScatter(world, ids) as shared:
        assert shared.combine(values_of(world.rank, dtype)).tolist() == sums_of(world, dtype).tolist()


def test_rows_combine(world, ids):
    with GatherScatter(world, ids, (float, 3)) as shared:
        rows = values_of(world.rank)[:, None] * [1, 2, 3]
        assert shared.combine(rows).tolist() == (sums_of(world)[:, None] * [1, 2, 3]).tolist()


@pytest.mark.parametrize(("op", "of_all"), [("max", max), (np.minimum, min), (MPI.MAX, max), (np.fmax, max)])
def test_operations_are_those_of_reverse(world, ids, op, of_all):
    with GatherScatter(world, ids) as shared:
        assert shared.combine(values_of(world.rank), op)[4] == of_all(range(world.num_ranks))


@pytest.mark.parametrize("op", WITH_NAN + WITHOUT_NAN, ids=str)
def test_a_nan_stays_or_is_ignored(world, ids, op):
    values = values_of(world.rank)
    values[4] = np.nan if world.rank == 0 else world.rank
    least = op in ("min", "fmin", np.minimum, np.fmin, MPI.MIN)
    numbers = [1, world.num_ranks - 1] if op in WITHOUT_NAN and world.num_ranks > 1 else [np.nan]
    with GatherScatter(world, ids) as shared:
        assert np.array_equal(shared.combine(values, op)[4], numbers[0] if least else numbers[-1], equal_nan=True)


def test_two_operations_may_be_active(world, ids):
    with GatherScatter(world, ids) as shared, shared.duplicate() as other:
        first, second = values_of(world.rank), values_of(world.rank)
        shared.start(first)
        other.start(second, "sum")
        assert shared.is_active
        while not other.test():
            pass
        shared.wait()
        assert first.tolist() == second.tolist() == sums_of(world).tolist()


def test_one_copy_stays_unflagged(world, ids):
    flagged = flag_duplicates(world, ids)
    assert flagged[4] == (500 if world.rank == 0 else -500)
    with GatherScatter(world, flagged) as copied, GatherScatter(world, ids, unique=True) as also_copied:
        for one in (copied, also_copied):
            assert one.combine(values_of(world.rank))[4] == 0
            transposed = one.combine(values_of(world.rank), transposed=True)
            assert transposed[4] == (sums_of(world)[4] if world.rank == 0 else world.rank)


def test_it_says_what_it_does(world, ids):
    with GatherScatter(world, ids, method="holders", route="direct") as shared:
        assert shared.explain() == "holders direct  given\n"
        assert shared.statistics().messages == world.num_ranks - 1
        assert not shared.is_trying
        assert shared.tried_routes == {}


def test_a_gather_scatter_of_a_closed_context_refuses_to_start(ids):
    world = Context(MPI.COMM_WORLD)
    shared = GatherScatter(world, ids)
    world.close()
    for call in (lambda: shared.combine(values_of(0)), shared.duplicate, lambda: flag_duplicates(world, ids),
                 lambda: sparse_exchange(world, {})):
        with pytest.raises(crossdock.InvalidStateError, match="the context is closed"):
            call()
    shared.close()


def test_peers_learn_of_a_faulty_start(world, ids):
    if world.num_ranks == 1:
        return
    with GatherScatter(world, ids) as shared:

        def combine():
            assert shared.combine(values_of(world.rank)).tolist() == sums_of(world).tolist()

        for faulty in (lambda: shared.combine(np.zeros(4)), lambda: shared.combine(np.zeros(5), "median"),
                       lambda: shared.start(None), lambda: shared.combine(np.zeros(5), np.sqrt)):
            expect_peers_to_learn(world, combine, faulty, range(world.num_ranks))
            assert not shared.is_active


def test_wrong_calls_are_refused(world, ids):
    with pytest.raises(crossdock.InvalidArgumentError):
        GatherScatter(world, "ids" if world.rank == 0 else ids)
    with pytest.raises(crossdock.IndexOutOfRangeError):
        flag_duplicates(world, [-2**63])
    shared = GatherScatter(world, ids)
    with pytest.raises(ValueError):
        shared.start(np.zeros(4))
    with pytest.raises(crossdock.InvalidStateError):
        shared.wait()
    shared.start(values_of(world.rank))
    with pytest.raises(crossdock.InvalidStateError):
        shared.close()
    shared.wait()
    shared.close()
    shared.close()
    assert not shared.is_open
    with pytest.raises(crossdock.InvalidStateError):
        shared.combine(np.zeros(5))
