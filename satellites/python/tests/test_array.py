import gc
import json

import numpy as np
import pytest
from mpi4py import MPI
from test_neighbor import OPERATIONS, WITH_NAN, WITHOUT_NAN, expect_peers_to_learn, read_only

import crossdock
from crossdock import DistributedArray

STRUCTURED = np.dtype([("key", "i4"), ("weight", "f8")])
LENGTH = 23


@pytest.fixture
def entries(world):
    """The square of every index."""
    with DistributedArray(world, LENGTH, int) as made:
        made.local[:] = np.square(made.owned)
        MPI.COMM_WORLD.Barrier()
        yield made


def test_entries_lie_in_blocks(world, entries):
    assert len(entries) == LENGTH
    assert entries.dtype == int
    sizes = MPI.COMM_WORLD.allgather(len(entries.owned))
    assert (sum(sizes), max(sizes) - min(sizes) <= 1) == (LENGTH, True)
    assert all(entries.owner(index) == world.rank for index in entries.owned)


def test_entries_are_read_by_indices_of_any_shape(world, entries):
    assert entries[[22, 0, 5, 5]].tolist() == [484, 0, 25, 25]
    assert entries[np.array([[1, 2], [3, 4]], np.uint8)].tolist() == [[1, 4], [9, 16]]
    assert entries[3:9:2].tolist() == [9, 25, 49]
    assert entries[-2:].tolist() == [441, 484]
    assert entries[world.rank] == world.rank**2
    assert entries[[]].tolist() == []


def test_entries_are_written(world, entries):
    mine = np.arange(world.rank, LENGTH, world.num_ranks)
    entries[mine] = -mine
    assert entries[:].tolist() == [-index for index in range(LENGTH)]
    entries[mine] = 7
    assert entries[:].tolist() == [7] * LENGTH


@pytest.mark.parametrize("dtype", ["i1", "f8", "c16"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_entries_are_updated(world, dtype, name):
    if (name.startswith("bit") and dtype[0] in "fc") or (name.endswith(("min", "max")) and dtype[0] == "c"):
        pytest.skip("there is no such operation")
    ufunc = OPERATIONS[name]
    with DistributedArray(world, 3, dtype) as array:
        array.local[:] = 3
        MPI.COMM_WORLD.Barrier()
        array.update([0, 2, 0], np.array([1, 2, 1 + world.rank % 3], dtype), name)
        expected = np.full(3, 3, dtype)
        for rank in range(world.num_ranks):
            for index, value in ((0, 1), (2, 2), (0, 1 + rank % 3)):
                expected[index] = ufunc(expected[index], np.array(value, dtype))
        assert array[:].tolist() == expected.tolist()


def test_entries_may_be_rows_and_structures(world):
    with DistributedArray(world, 4, (float, 2)) as rows:
        rows.update([1, 3], [[1, 10], [2, 20]])
        assert rows[[3, 1]].tolist() == [[2 * world.num_ranks, 20 * world.num_ranks],
                                         [world.num_ranks, 10 * world.num_ranks]]
        assert rows[1].shape == (2,)
        assert rows.local.shape == (len(rows.owned), 2)
    with DistributedArray(world, 4, STRUCTURED) as structures:
        structures[world.rank % 4] = np.array((world.rank % 4, 0.5), STRUCTURED)
        assert structures[0].tolist() == (0, 0.5)
        with pytest.raises(crossdock.InvalidArgumentError, match='have no operation "sum"'):
            structures.update([0], np.zeros(1, STRUCTURED))


def test_parts_may_have_any_size(world):
    mine = 2 * world.rank
    total = world.num_ranks * (world.num_ranks - 1)
    with DistributedArray(world, total, "u1", num_local=mine) as array:
        assert array.owned == range(world.rank * (world.rank - 1), world.rank * (world.rank + 1))
    with pytest.raises(crossdock.SizeMismatchError):
        DistributedArray(world, 5 + world.num_ranks, num_local=0)


def test_prepared_requests_are_made_again(world, entries):
    batch = entries.prepare([22, 1, 1])
    assert len(batch) == 3
    assert batch.read().tolist() == [484, 1, 1]
    batch.update(np.array([1, 2, 3]))
    assert batch.read().tolist() == [484 + world.num_ranks, 1 + 5 * world.num_ranks, 1 + 5 * world.num_ranks]
    batch.update(np.zeros(3, int), "min")
    out = np.empty(3, int)
    batch.start_read(out)
    assert batch.is_active
    while not batch.test():
        pass
    assert out.tolist() == [0, 0, 0]


def test_peers_learn_of_a_faulty_start_of_prepared_requests(world, entries):
    if world.num_ranks == 1:
        return
    first = DistributedArray(world, world.num_ranks, float)
    first.local[:] = world.rank
    batch = first.prepare([(world.rank + 1) % world.num_ranks])

    def read():
        assert batch.read().tolist() == [(world.rank + 1) % world.num_ranks]

    for faulty in (lambda: batch.read(np.zeros(2)), lambda: batch.start_read(None)):
        expect_peers_to_learn(world, read, faulty, {0})
    expect_peers_to_learn(world, lambda: batch.update(np.zeros(1)), lambda: batch.update(np.zeros(1), "median"),
                          {2 % world.num_ranks})
    read()
    first.close()


def test_prepared_requests_refuse_what_does_not_fit(world, entries):
    batch = entries.prepare(np.arange(2))
    for call, error, text in (
        (lambda: batch.start_read(np.zeros(2)), TypeError, "out has dtype float64, but entries int64"),
        (lambda: batch.start_read(np.zeros(3, int)), ValueError, "out has 3 items, but there are 2 indices"),
        (lambda: batch.start_update(np.zeros((2, 2), int)), ValueError, "values has items of 16 bytes, but entries have 8"),
        (lambda: batch.start_read(read_only(np.zeros(2, int))), ValueError, "out is read-only"),
        (lambda: batch.start_update(np.zeros(2, int), "mean"), ValueError, 'there is no operation "mean"'),
        (batch.wait, crossdock.InvalidStateError, "no request is active"),
        (lambda: batch.gather(np.zeros(3, int)), ValueError, "values has 3 items"),
        (lambda: batch.fetch_and_update(np.zeros(2, int), op=np.gcd), TypeError, "op must be sum, prod"),
        (lambda: batch.scatter(None, np.zeros(2, "f4")), TypeError, "out has dtype float32"),
        (lambda: batch.scatter(np.zeros(100, int)), crossdock.SizeMismatchError, "gathered has 100 items"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert not batch.is_active
    assert batch.read().tolist() == [0, 1]
    with pytest.raises(crossdock.IndexOutOfRangeError):
        entries.prepare([LENGTH] if world.rank == 0 else [])
    with pytest.raises(crossdock.InvalidArgumentError, match="indices must be integers, not float64"):
        entries.prepare([0.5] if world.rank == 0 else [])


BAD_INDICES = [
    (-1, crossdock.IndexOutOfRangeError, "-1"),
    (2**63, crossdock.InvalidArgumentError, str(2**63)),
    ([0.5], crossdock.InvalidArgumentError, "indices must be integers or a slice, not float64"),
    ([[0], [0, 1]], crossdock.InvalidArgumentError, "inhomogeneous"),
]


@pytest.mark.parametrize(("indices", "error", "text"), BAD_INDICES, ids=str)
def test_an_index_that_is_wrong_on_one_rank_is_an_error_on_all(world, entries, indices, error, text):
    mine = indices if world.rank == world.num_ranks - 1 else [0]

    def write():
        entries[mine] = 5

    for call in (lambda: entries[mine], write, lambda: entries.update(mine, 5)):
        with pytest.raises(error, match=text):
            call()
    assert entries[:].tolist() == np.square(range(LENGTH)).tolist()


@pytest.mark.parametrize(("values", "text"), [
    ([1, 2, 3], "broadcast"),
    ([0.5, 0.5], "values has dtype float64, but entries int64"),
    (None, "values has dtype object"),
])
def test_values_that_are_wrong_on_one_rank_are_an_error_on_all(world, entries, values, text):
    mine = values if world.rank == world.num_ranks - 1 else [1, 1]

    def write():
        entries[[0, 1]] = mine

    for call in (write, lambda: entries.update([0, 1], mine)):
        with pytest.raises(crossdock.InvalidArgumentError, match=text):
            call()
    assert entries[:].tolist() == np.square(range(LENGTH)).tolist()


def test_an_operation_that_is_wrong_on_one_rank_is_an_error_on_all(world, entries):
    for op in ("mean", None, np.sqrt):
        with pytest.raises(crossdock.InvalidArgumentError):
            entries.update([0], 1, op if world.rank == world.num_ranks - 1 else "sum")
    if world.num_ranks > 1:
        with pytest.raises(crossdock.InvalidArgumentError):
            entries.update([0], 1, "min" if world.rank == 0 else "sum")


@pytest.mark.parametrize(("arguments", "options"), [
    ((-1,), {}),
    (("many",), {}),
    ((5, "no such dtype"), {}),
    ((5,), {"combine": "magic"}),
    ((5,), {"route": None}),
    ((5,), {"expected_requests": None}),
])
def test_arguments_that_are_wrong_on_one_rank_are_an_error_on_all(world, arguments, options):
    mine = world.rank == world.num_ranks - 1
    with pytest.raises(crossdock.InvalidArgumentError):
        DistributedArray(world, *(arguments if mine else (5,)), **(options if mine else {}))


def test_dtypes_that_differ_are_an_error_on_all_ranks(world):
    if world.num_ranks == 1:
        pytest.skip("there is no other rank")
    with pytest.raises(crossdock.InvalidArgumentError, match="rank 1 has dtype = float64, rank 0 has int64; give"):
        DistributedArray(world, 5, "i8" if world.rank == 0 else "f8")


def test_owners_of_what_is_not_there_are_refused(entries):
    for index in (-1, LENGTH):
        with pytest.raises(crossdock.IndexOutOfRangeError, match=rf"index {index} is outside \[0, {LENGTH}\)"):
            entries.owner(index)


def test_a_closed_array_refuses_requests(world):
    array = DistributedArray(world, 5)
    array.close()
    array.close()
    assert not array.is_open
    with pytest.raises(crossdock.InvalidStateError, match="the distributed array is closed"):
        array[[0]]
    with pytest.raises(crossdock.InvalidStateError, match="the distributed array is closed"):
        array.prepare([0])


def test_local_entries_outlive_the_array(world):
    array = DistributedArray(world, 4 * world.num_ranks)
    local = array.local
    local[:] = 9
    array.close()
    del array
    gc.collect()
    assert local.tolist() == [9.0] * 4


@pytest.mark.parametrize("transport", ["routed", "plain", "rma"])
@pytest.mark.parametrize("combine", [True, False])
def test_every_transport_brings_the_same(world, transport, combine):
    with DistributedArray(world, 5, int, transport=transport, combine_locally=combine,
                          combine_on_the_way=combine) as array:
        array.update([4, 0, 4], [1, 2, 3])
        assert array[[4, 0, 1]].tolist() == [4 * world.num_ranks, 2 * world.num_ranks, 0]
        array[[1, 2]] = [8, 9]
        assert array[:].tolist() == [2 * world.num_ranks, 8, 9, 0, 4 * world.num_ranks]


def test_reproducible_requests_travel_directly(world):
    with DistributedArray(world, 5, route="hypercube", reproducible=True) as array:
        assert array.route == "direct"
    with pytest.raises(crossdock.InvalidArgumentError, match="rma"):
        DistributedArray(world, 5, transport="rma", reproducible=True)


@pytest.mark.parametrize("transport", ["routed", "plain", "rma"])
@pytest.mark.parametrize("op", WITH_NAN + WITHOUT_NAN, ids=str)
def test_a_nan_stays_or_is_ignored(world, transport, op):
    is_least = op in ("min", "fmin", np.minimum, np.fmin, MPI.MIN)
    with DistributedArray(world, 2, transport=transport, route="grid:2") as array:
        array.local[:] = 1e9
        MPI.COMM_WORLD.Barrier()
        if world.rank < 2:
            array.update([0], [856 if world.rank else np.nan], op)
        else:
            array.update([], [], op)
        number = 856 if is_least and world.num_ranks > 1 else 1e9
        assert np.array_equal(array[:], [np.nan if op in WITH_NAN else number, 1e9], equal_nan=True)


@pytest.mark.parametrize("dtype", ["i4", "f8"])
@pytest.mark.parametrize(("rule", "expected"), [
    ("smallest_rank_last", lambda size: 50), ("minimum", lambda size: 50 - 2 * (size - 1) - 1),
    ("maximum", lambda size: 50), (np.fmax, lambda size: 50), (np.maximum, lambda size: 50),
])
def test_a_rule_says_which_of_several_written_values_stays(world, dtype, rule, expected):
    values = [50 - 2 * world.rank - 1, 50 - 2 * world.rank]
    with DistributedArray(world, 2, dtype, equal_writes=rule) as array:
        array.local[:] = 1
        MPI.COMM_WORLD.Barrier()
        array[[1, 1]] = np.array(values, dtype)
        assert array[:].tolist() == [1, expected(world.num_ranks)]


@pytest.mark.parametrize(("dtype", "rule", "text"), [
    (STRUCTURED, "minimum", "without an order"),
    (int, "last", "equal_writes, unless it is a ufunc, must be"), (int, None, "op must be a name"),
    (int, np.logaddexp, "logaddexp makes float64"),
])
def test_rules_that_values_lack_are_an_error_on_all_ranks(world, dtype, rule, text):
    mine = world.rank == 0
    with pytest.raises(crossdock.InvalidArgumentError, match=text):
        DistributedArray(world, 5, dtype, equal_writes=rule if mine else "any")


def test_any_ufunc_updates_entries(world):
    with DistributedArray(world, 3, int) as array:
        array.local[:] = 12
        MPI.COMM_WORLD.Barrier()
        array.update([0, 2, 0], [8, 6 + 12 * world.rank, 18], np.gcd)
        expected = np.gcd.reduce([12, *(6 + 12 * rank for rank in range(world.num_ranks))])
        assert array[:].tolist() == [2, 12, expected]
        array.update([1, 1], [3, 3], MPI.BXOR)
        assert array[1] == 12
        array.update([] if world.rank else [1], [] if world.rank else [3], MPI.BXOR)
        assert array[1] == 15
    with DistributedArray(world, 2, (float, 2)) as rows:
        rows.update([1], [[3, 4]], np.hypot)
        assert np.allclose(rows[1], np.sqrt(world.num_ranks) * np.array([3, 4]))


def test_what_a_ufunc_raises_is_raised_on_all_ranks(world):
    with DistributedArray(world, 2) as array, np.errstate(all="raise"):
        array[[0, 1]] = 1.0
        with pytest.raises(crossdock.InvalidArgumentError, match="divide by zero"):
            array.update([1], [0.0 if world.rank == 0 else 1.0], np.divide)


def test_a_step_writes_updates_and_reads(world, entries):
    first = world.rank == 0
    came = entries.step(writes=([0], [100]) if first else None, updates=([0, 1], [1, 1]), reads=[1, 0])
    assert came.tolist() == [1 + world.num_ranks, 100 + world.num_ranks]
    assert entries.step() is None
    assert entries.step(updates=([0], 7), op="min", reads=[0] if first else None) == ([7] if first else None)
    with DistributedArray(world, 1, STRUCTURED) as structures:
        assert structures.step(updates=([0], np.array([(3, 0.5)], STRUCTURED)), reads=0).tolist() == (3, 0.5)
    for bad in ({"reads": [LENGTH]}, {"writes": ([-1], [0])}, {"updates": ([0], "a")}, {"op": "mean"},
                {"writes": 3}):
        with pytest.raises((crossdock.InvalidArgumentError, crossdock.IndexOutOfRangeError)):
            entries.step(**(bad if world.rank == world.num_ranks - 1 else {}))
    assert entries[0] == 7


def test_phases_of_a_batch_are_counted(world, entries):
    entries[[0, 0, 22]]
    assert {name for name in entries.statistics() if name.endswith("_seconds")} == {
        f"{phase}_seconds" for phase in ("combine_locally", "combine_on_the_way", "write", "read", "split", "communicate")}


def test_prepared_requests_have_a_plan(world, entries):
    plan = entries.prepare(np.arange(LENGTH)).plan
    assert plan.rank == world.rank
    document = json.loads(plan.to_json())
    assert (document["items"], document["slots"]) == (len(entries.owned), LENGTH)


def test_prepared_requests_are_fetched_in_order(world, entries):
    batch = entries.prepare([5, 5])
    came = batch.fetch_and_update(np.array([1, 2]))
    before = 25 + 3 * world.rank
    assert came.tolist() == [before, before + 1]
    assert batch.read().tolist() == [25 + 3 * world.num_ranks] * 2
    out = np.empty(2, int)
    assert batch.fetch_and_update(np.array([9, 9]), out, np.minimum) is out
    assert batch.read().tolist() == [9, 9]


def test_prepared_values_are_gathered_and_scattered(world, entries):
    batch = entries.prepare([1, LENGTH - 1, 1])
    offsets, values = batch.gather(np.array([10, 20, 30]) + world.rank)
    owned = entries.owned
    assert offsets.tolist() == np.cumsum([0, *(((index == 1) * 2 + (index == LENGTH - 1)) * world.num_ranks
                                                for index in owned)]).tolist()
    expected = []
    for index in owned:
        for rank in range(world.num_ranks):
            expected += [10 + rank, 30 + rank] if index == 1 else [20 + rank] if index == LENGTH - 1 else []
    assert values.tolist() == expected
    assert batch.scatter(-values).tolist() == (-np.array([10, 20, 30]) - world.rank).tolist()
