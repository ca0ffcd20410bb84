import array
import sys

import numpy as np
import pytest
from conftest import ring
from mpi4py import MPI
from test_pictures import Reader, parts, texts

import crossdock
from crossdock import Context, NeighborExchange

STRUCTURED = np.dtype([("key", "i4"), ("weight", "f8"), ("tag", "S3")])


def owned(world, dtype=float, shape=()):
    """The three items of a rank, each different from all others."""
    flat = np.arange(3 * world.num_ranks * max(1, int(np.prod(shape)))).reshape(3 * world.num_ranks, *shape)
    return as_dtype(flat, dtype)[3 * world.rank:3 * world.rank + 3]


def needed(world, dtype=float, shape=()):
    """What comes to a rank's two slots."""
    flat = np.arange(3 * world.num_ranks * max(1, int(np.prod(shape)))).reshape(3 * world.num_ranks, *shape)
    first, length = 3 * world.rank, 3 * world.num_ranks
    return as_dtype(flat, dtype)[[(first - 1) % length, (first + 3) % length]]


def as_dtype(values, dtype):
    if dtype == STRUCTURED:
        made = np.zeros(values.shape, dtype)
        made["key"], made["weight"], made["tag"] = values, values / 4, values.astype("S3")
        return made
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "f8", "c16", "bool", "S7", "U3", "M8[s]", ">i4", STRUCTURED],
                         ids=str)
def test_items_of_any_dtype_arrive(world, lazy_halo, dtype):
    dtype = np.dtype(dtype)
    assert lazy_halo.forward(owned(world, dtype)).tolist() == needed(world, dtype).tolist()


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 2), (17,)])
def test_items_may_be_rows(world, lazy_halo, shape):
    assert np.array_equal(lazy_halo.forward(owned(world, "i4", shape)), needed(world, "i4", shape))


def test_start_and_wait_write_into_the_array(world, halo):
    out = np.full(2, -1.0)
    halo.start(owned(world), out)
    assert halo.is_active
    halo.wait()
    assert not halo.is_active
    assert np.array_equal(out, needed(world))


@pytest.mark.parametrize("dtype", ["f4", "f8", STRUCTURED], ids=str)
def test_fields_travel_together(world, lazy_halo, dtype):
    dtype = np.dtype(dtype)
    fields = [owned(world, dtype), owned(world, dtype)[::-1].copy()]
    each = [lazy_halo.forward(field) for field in fields]
    together = lazy_halo.forward(fields)
    assert [one.tolist() for one in together] == [one.tolist() for one in each]
    out = (np.zeros(2, dtype), np.zeros(2, dtype))
    lazy_halo.start(tuple(fields), out)
    lazy_halo.wait()
    assert [one.tolist() for one in out] == [one.tolist() for one in each]


def test_fields_come_home_and_combine(world, lazy_halo):
    slots = [np.full(2, 1), np.full(2, 2)]
    totals, expected = [np.arange(3), np.arange(3)], [np.arange(3), np.arange(3)]
    for one, total in zip(slots, expected, strict=True):
        lazy_halo.reverse(one, total, "max")
    lazy_halo.reverse(slots, totals, "max")
    assert [one.tolist() for one in totals] == [one.tolist() for one in expected]


@pytest.mark.parametrize(("items", "out", "error"), [
    ([], [], ValueError), ([np.zeros(3)], [], ValueError), ([np.zeros(3), np.zeros(3)], [np.zeros(2)], ValueError),
    ([np.zeros(3), np.zeros(3, "i4")], [np.zeros(2), np.zeros(2)], TypeError),
    ([np.zeros(3), np.zeros(2)], [np.zeros(2), np.zeros(2)], ValueError), ([1.0, 2.0, 3.0], np.zeros(2), TypeError)])
def test_fields_that_do_not_fit_are_refused_and_nothing_is_active(halo, items, out, error):
    with pytest.raises(error):
        halo.start(items, out)
    assert not halo.is_active


def test_two_exchanges_may_be_active(world, halo):
    with halo.duplicate() as other:
        first, second = np.zeros(2), np.zeros(2)
        halo.start(owned(world), first)
        other.start(-owned(world), second)
        other.wait()
        halo.wait()
    assert np.array_equal(first, needed(world))
    assert np.array_equal(second, -needed(world))


OPERATIONS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "fmin": np.fmin,
              "fmax": np.fmax, "bit_or": np.bitwise_or, "bit_and": np.bitwise_and, "bit_xor": np.bitwise_xor}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", ["i1", "i8"])
@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_slots_come_home_and_combine(world, lazy_halo, name, dtype, shape):
    rank, size = world.rank, world.num_ranks
    slots = np.empty((2, *shape), dtype)
    slots[0], slots[1] = 2 + rank, 5 + rank
    out = np.full((3, *shape), 3, dtype)
    lazy_halo.reverse(slots, out, name)
    expected = np.full((3, *shape), 3, dtype)
    for item, slot in ((0, 5 + (rank - 1) % size), (2, 2 + (rank + 1) % size)):
        expected[item] = OPERATIONS[name](expected[item], np.array(slot, dtype))
    assert np.array_equal(out, expected)


def test_operations_may_be_those_of_numpy_and_mpi(world, lazy_halo):
    expected = lazy_halo.reverse(np.ones(2), np.zeros(3))
    for op in (np.add, MPI.SUM):
        assert np.array_equal(lazy_halo.reverse(np.ones(2), np.zeros(3), op), expected)
    assert lazy_halo.reverse(np.ones(2, "c8"), np.zeros(3, "c8")).tolist() == expected.tolist()


WITH_NAN = ["min", np.minimum, MPI.MIN, "max", np.maximum, MPI.MAX]
WITHOUT_NAN = ["fmin", np.fmin, "fmax", np.fmax]


@pytest.mark.parametrize("op", WITH_NAN + WITHOUT_NAN, ids=str)
def test_a_nan_stays_or_is_ignored(lazy_halo, op):
    out = lazy_halo.reverse(np.full(2, np.nan), np.array([1.0, 7, 2]), op)
    assert np.array_equal(out, [np.nan, 7, np.nan] if op in WITH_NAN else [1, 7, 2], equal_nan=True)


def test_other_dtypes_have_the_ufuncs_of_numpy(lazy_halo):
    for dtype in ("f2", "M8[s]"):
        slots, out = np.ones(2, "i8").astype(dtype), np.full(3, 5, "i8").astype(dtype)
        assert lazy_halo.reverse(slots, out, np.fmin).astype("i8").tolist() == [1, 5, 1]


@pytest.mark.parametrize(("dtype", "op", "text"), [
    ("f8", "bit_or", 'values of dtype float64 have no operation "bit_or"'),
    ("c16", "min", 'values of dtype complex128 have no operation "min"'),
    ("bool", "sum", 'values of dtype bool have no operation "sum"'),
    (">f8", "sum", 'values of dtype >f8 have no operation "sum"'),
    ("f8", np.sqrt, "op must be a name"),
    ("i8", np.logaddexp, "logaddexp makes float64 of values of dtype int64"),
    ("f8", None, "op must be a name"),
])
def test_operations_that_values_lack_are_refused(lazy_halo, dtype, op, text):
    with pytest.raises(TypeError, match=text):
        lazy_halo.start_reverse(np.zeros(2, dtype), np.zeros(3, dtype), op)
    assert not lazy_halo.is_active


def read_only(values):
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(("items", "out", "error", "text"), [
    (np.zeros(3), np.zeros(2, "f4"), TypeError, "out has dtype float32, but items float64"),
    (np.zeros((3, 2)), np.zeros((2, 3)), ValueError, r"out has items of shape \(3,\), but items \(2,\)"),
    (np.zeros(4), np.zeros(2), ValueError, "items has 4 items, but the pattern has 3 items"),
    (np.zeros(3), np.zeros(3), ValueError, "out has 3 items, but the pattern has 2 slots"),
    (np.zeros(6)[::2], np.zeros(2), ValueError, "items is not C-contiguous"),
    (np.zeros(3), read_only(np.zeros(2)), ValueError, "out is read-only"),
    (np.float64(1), np.zeros(2), ValueError, "items has no dimension"),
    (np.zeros((3, 0)), np.zeros((2, 0)), ValueError, "items has items of 0 bytes"),
    (np.zeros(3, object), np.zeros(2, object), TypeError, "items has dtype object: Python objects cannot travel"),
    ([1.0, 2.0, 3.0], np.zeros(2), TypeError,
     "items must be a NumPy array, or offer a buffer or DLPack, not float; of a list of numbers pass numpy.asarray"),
])
def test_arrays_that_do_not_fit_are_refused_and_nothing_is_active(halo, items, out, error, text):
    with pytest.raises(error, match=text):
        halo.start(items, out)
    assert not halo.is_active


def test_items_and_slots_may_be_views_of_one_array(world, halo):
    for dtype in (float, "f4"):
        x = np.zeros(5, dtype)
        x[:3] = owned(world, dtype)
        halo.forward(x[:3], x[3:])
        assert np.array_equal(x, np.concatenate([owned(world, dtype), needed(world, dtype)]))
        x[3:] = 1
        expected = owned(world, dtype) + [1, 0, 1]
        halo.reverse(x[3:], x[:3])
        assert np.array_equal(x[:3], expected)


def test_an_input_may_be_read_only(world, halo):
    assert np.array_equal(halo.forward(read_only(owned(world))), needed(world))


def test_buffers_and_dlpack_are_arrays(world, halo):
    class OffersDlpack:
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    buffer = array.array("d", owned(world).tolist())
    out = array.array("d", [0, 0])
    halo.forward(buffer, out)
    assert out.tolist() == needed(world).tolist()
    assert halo.forward(memoryview(buffer)).tolist() == out.tolist()
    assert halo.forward(OffersDlpack(owned(world))).tolist() == out.tolist()


def test_arrays_stay_as_long_as_they_are_used(world, halo):
    out = np.zeros(2)
    halo.start(owned(world), out)  # nobody else holds the items
    other = [np.full(3, 7.0) for _ in range(100)]
    halo.wait()
    assert len(other) == 100
    assert np.array_equal(out, needed(world))
    values = owned(world)
    before = sys.getrefcount(values)
    halo.start(values, out)
    assert sys.getrefcount(values) > before
    halo.wait()
    assert sys.getrefcount(values) == before


def test_calls_out_of_state_are_refused(world, halo):
    def expect_refusal(text, *calls):
        for call in calls:
            with pytest.raises(crossdock.InvalidStateError, match=text):
                call()

    expect_refusal("no exchange is active", halo.wait, halo.test)
    halo.start(owned(world), np.zeros(2))
    expect_refusal("an exchange is active already", lambda: halo.start(owned(world), np.zeros(2)))
    expect_refusal("an exchange is active: wait for it", halo.close)
    expect_refusal("rank 0 has an active neighbor exchange, .*; wait for it", world.close)
    halo.wait()


def test_a_closed_exchange_refuses_all_but_closing(world):
    halo = NeighborExchange(world, ring(world))
    halo.close()
    halo.close()
    assert not halo.is_open
    assert repr(halo) == "<NeighborExchange: closed>"
    for call in (halo.wait, halo.test, halo.duplicate, halo.statistics, halo.explain, lambda: halo.route,
                 lambda: halo.num_items, lambda: halo.start(np.zeros(3), np.zeros(2)),
                 lambda: halo.reverse(np.zeros(2), np.zeros(3))):
        with pytest.raises(crossdock.InvalidStateError, match="the exchange is closed"):
            call()


def test_an_abandoned_exchange_does_not_keep_its_context_open():
    world = Context(MPI.COMM_WORLD)
    halo = NeighborExchange(world, ring(world))
    halo.start(owned(world), np.zeros(2))
    MPI.COMM_WORLD.Barrier()
    del halo
    with pytest.raises(crossdock.InvalidStateError, match="before its wait"):
        world.close()
    world.close()
    assert not world.is_open


@pytest.mark.parametrize(("options", "error", "text"), [
    ({"route": "no_such_route"}, crossdock.UnknownRouteError, "no_such_route"),
    ({"route": None}, crossdock.InvalidArgumentError, "route must be a str, not NoneType"),
    ({"max_message_bytes": -1}, crossdock.InvalidArgumentError, "max_message_bytes must be an int >= 0"),
    ({"prepare": "left"}, crossdock.InvalidArgumentError, 'prepare must be "both" or "forward", not "left"'),
    ({"reproducible": 1}, crossdock.InvalidArgumentError, "reproducible must be a bool, not int"),
    ({"deduplicate": 1}, crossdock.InvalidArgumentError, "deduplicate must be a bool, not int"),
    ({"dtype": "no such dtype"}, crossdock.InvalidArgumentError, "no such dtype"),
    ({"dtype": object}, crossdock.InvalidArgumentError, "Python objects cannot travel"),
])
def test_an_option_that_is_wrong_on_one_rank_is_an_error_on_all(world, options, error, text):
    pattern = ring(world)
    mine = world.rank == world.num_ranks - 1 or error is crossdock.UnknownRouteError
    with pytest.raises(error, match=text):
        NeighborExchange(world, pattern, **(options if mine else {}))


def test_a_dtype_makes_items_ready(world):
    with NeighborExchange(world, ring(world), (float, 3), prepare="forward") as halo:
        assert np.array_equal(halo.forward(owned(world, float, (3,))), needed(world, float, (3,)))
        assert np.array_equal(halo.forward(owned(world)), needed(world))  # made ready by the start
        assert halo.reverse(np.zeros((2, 3)), np.ones((3, 3))).tolist() == [[1, 1, 1]] * 3
        halo.prepare("f4")
        assert halo.reverse(np.zeros(2, "f4"), np.ones(3, "f4")).tolist() == [1, 1, 1]
        with pytest.raises(crossdock.InvalidArgumentError, match="has no bytes"):
            halo.prepare("V0" if world.rank == 0 else "f8")


def test_routes_are_counted_and_explained(world):
    with NeighborExchange(world, ring(world), route="direct") as halo:
        num_neighbors = len(set(ring(world).sends.ranks.tolist()) - {world.rank})
        assert halo.route == "direct"
        assert halo.explain() == "direct  given\n"
        assert halo.statistics().messages == num_neighbors
        assert halo.statistics().items == (2 if world.num_ranks > 1 else 0)
        assert repr(halo) == "<NeighborExchange: 3 items to 2 slots by direct>"


def test_measured_routes_are_kept_in_the_end(world):
    with NeighborExchange(world, ring(world), float, route="auto:measure") as halo:
        while halo.is_trying:
            assert np.array_equal(halo.forward(owned(world)), needed(world))
        assert halo.route in halo.tried_routes or not halo.tried_routes
        assert np.array_equal(halo.forward(owned(world)), needed(world))


@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_any_ufunc_combines_slots(world, lazy_halo, shape):
    rank, size = world.rank, world.num_ranks
    slots = np.empty((2, *shape))
    slots[0], slots[1] = 3 + rank, 4 + rank
    out = lazy_halo.reverse(slots, np.zeros((3, *shape)), np.hypot)
    expected = np.zeros((3, *shape))
    expected[0] = np.hypot(0, 4 + (rank - 1) % size)
    expected[2] = np.hypot(0, 3 + (rank + 1) % size)
    assert np.array_equal(out, expected)
    assert lazy_halo.reverse(np.full(2, 6), np.full(3, 3), MPI.BXOR).tolist() == [5, 3, 5]


def test_what_is_reproducible_does_not_combine_on_the_way(world):
    with NeighborExchange(world, ring(world), route="hypercube", reproducible=True) as halo:
        assert "dedup" not in halo.plan.to_string()
        assert halo.reverse(np.ones(2), np.zeros(3)).tolist() == [1, 0, 1]


def test_an_exchange_shows_what_its_rank_sends_and_receives(world):
    with NeighborExchange(world, ring(world), route="direct") as halo:
        plan = halo.plan
        sent = halo.statistics()
    assert (plan.rank, plan.route) == (world.rank, "direct")
    assert plan.to_string().startswith(f"rank {world.rank} of {world.num_ranks}: direct")
    before, after = (world.rank - 1) % world.num_ranks, (world.rank + 1) % world.num_ranks
    pairs = {(world.rank, before), (world.rank, after), (before, world.rank), (after, world.rank)}
    assert sorted(parts(plan, "message-inside-stage0-")) == sorted(f"{a}-{b}" for a, b in pairs if a != b)
    assert f"rank {world.rank} of {world.num_ranks} rank" in " ".join(texts(plan))
    assert Reader(plan._repr_html_()).rows[1][:3] == ["0", str(sent.messages), str(sent.items)]
    with pytest.raises(crossdock.InvalidStateError, match="the exchange is closed"):
        halo.plan  # noqa: B018


def test_what_a_ufunc_raises_the_wait_raises(world, halo):
    with np.errstate(all="raise"), pytest.raises(crossdock.InvalidArgumentError, match="divide by zero"):
        halo.reverse(np.zeros(2), np.ones(3), np.divide)
    assert not halo.is_active
    assert halo.reverse(np.zeros(2), np.ones(3)).tolist() == [1, 1, 1]


def expect_peers_to_learn(world, right, faulty, needs_of_1):
    """Rank 1 calls `faulty`, the others `right`; then all call `right`."""
    if world.rank == 1:
        with pytest.raises((TypeError, ValueError)):
            faulty()
    elif world.rank in needs_of_1:
        with pytest.raises(crossdock.errors.PeerFailedError) as failed:
            right()
        assert failed.value.rank == 1
    else:
        right()
    right()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_peers_learn_of_a_faulty_start(world, dtype):
    if world.num_ranks == 1:
        return
    size = world.num_ranks
    neighbors = {0, 2 % size}
    with NeighborExchange(world, ring(world), dtype, route="direct") as halo:
        items, out, home = owned(world, dtype), np.zeros(2, dtype), np.zeros(3, dtype)

        def exchange():
            out[:] = 0
            assert halo.forward(items, out).tolist() == needed(world, dtype).tolist()

        def reverse(op="sum"):
            home[:] = 0
            halo.reverse(np.full(2, world.rank, dtype), home, op)
            assert home.tolist() == [(world.rank - 1) % size, 0, (world.rank + 1) % size]

        for faulty in (lambda: halo.forward(items[:2], out), lambda: halo.start(items, np.zeros(2, "i2")),
                       lambda: halo.start(items, None), lambda: halo.forward("no items")):
            expect_peers_to_learn(world, exchange, faulty, neighbors)
            assert not halo.is_active
        halo.prepare(dtype)
        assert world.last_peer_error.rank == 1
        assert "items" in str(world.last_peer_error)
        for faulty in (lambda: halo.reverse(out[:1], home), lambda: reverse("median"), lambda: reverse(None)):
            expect_peers_to_learn(world, reverse, faulty, neighbors)
