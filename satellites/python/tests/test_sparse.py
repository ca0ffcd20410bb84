import numpy as np
import pytest

import crossdock
from crossdock import sparse_exchange

STRUCTURED = np.dtype([("key", "i4"), ("weight", "f8")])


def to_all(world, dtype=float, shape=()):
    """To every rank, oneself included, 1 + destination items of the value 100 source + destination."""
    return {other: np.full((1 + other, *shape), 100 * world.rank + other).astype(dtype)
            for other in range(world.num_ranks)}


@pytest.mark.parametrize("algorithm", ["auto", "routed:grid:2"])
def test_messages_arrive_by_source(world, algorithm):
    received = sparse_exchange(world, to_all(world), algorithm=algorithm)
    assert len(received) == world.num_ranks
    assert received.sources.tolist() == list(range(world.num_ranks))
    assert received.counts.tolist() == [1 + world.rank] * world.num_ranks
    for source, items in received:
        assert items.tolist() == [100.0 * source + world.rank] * (1 + world.rank)


@pytest.mark.parametrize("dtype", ["i1", "c16", "M8[s]", "U2", ">i4"])
def test_items_keep_their_dtype(world, dtype):
    received = sparse_exchange(world, to_all(world, dtype))
    assert received.values.dtype == np.dtype(dtype)
    assert received[0].items.tolist() == to_all(world, dtype)[0].tolist()[:1] * (1 + world.rank) or world.rank > 0


def test_items_may_be_rows_and_structures(world):
    assert sparse_exchange(world, to_all(world, "i8", (2, 3))).values.shape == (world.num_ranks * (1 + world.rank), 2, 3)
    mine = np.array([(world.rank, 0.5)], STRUCTURED)
    following = (world.rank + 1) % world.num_ranks
    received = sparse_exchange(world, {following: mine})
    assert received.values.tolist() == [((world.rank - 1) % world.num_ranks, 0.5)]


def test_ranks_without_messages_get_the_dtype_of_the_others(world):
    received = sparse_exchange(world, {0: np.zeros((3, 2), STRUCTURED)} if world.rank == world.num_ranks - 1 else {})
    assert received.values.dtype == STRUCTURED
    assert received.values.shape == ((3 if world.rank == 0 else 0), 2)


def test_nobody_may_send(world):
    received = sparse_exchange(world, {})
    assert (len(received), received.values.dtype, len(received.values)) == (0, float, 0)
    assert repr(received) == "<Received: 0 messages, 0 items>"


def test_destinations_and_counts_may_be_arrays(world):
    following = (world.rank + 1) % world.num_ranks
    received = sparse_exchange(world, ([following, following, following], [2, 0, 1], np.arange(3) + 10 * world.rank))
    previous = (world.rank - 1) % world.num_ranks
    assert received.sources.tolist() == [previous] * 3
    assert [items.tolist() for _, items in received] == [[10 * previous, 10 * previous + 1], [], [10 * previous + 2]]


def test_what_came_in_any_order_is_the_same(world):
    by_arrival = sparse_exchange(world, to_all(world), order="arrival")
    assert sorted(source for source, _ in by_arrival) == list(range(world.num_ranks))


@pytest.mark.parametrize(("messages", "options", "error", "text"), [
    ({-1: np.zeros(1)}, {}, crossdock.RankOutOfRangeError, "-1"),
    ({2**40: np.zeros(1)}, {}, crossdock.InvalidArgumentError, "a destination must be a rank, not int"),
    ({0: [1.0]}, {}, crossdock.InvalidArgumentError, "a message must be a NumPy array, or offer"),
    ({0: np.zeros(1), 1: np.zeros(1, "f4")}, {}, crossdock.InvalidArgumentError, "has dtype float32, but a message"),
    (None, {}, crossdock.InvalidArgumentError, "messages must be a dict of arrays by destination"),
    (([0], [2], np.zeros(1)), {}, crossdock.SizeMismatchError, "."),
    (([0, 0], [1], np.zeros(1)), {}, crossdock.SizeMismatchError, "."),
    (([0.5], [1], np.zeros(1)), {}, crossdock.InvalidArgumentError, "destinations must be integers"),
    ({}, {"order": "random"}, crossdock.InvalidArgumentError, "order must be"),
    ({}, {"algorithm": 1}, crossdock.InvalidArgumentError, "algorithm must be a str, not int"),
    ({}, {"algorithm": "personalized"}, crossdock.InvalidArgumentError, "has algorithm = personalized, rank 0 has auto"),
    ({0: np.zeros(1, "u4")}, {}, crossdock.InvalidArgumentError, "sends items of .*u4.*, rank 0 of .*f8"),
])
def test_what_is_wrong_on_one_rank_is_an_error_on_all(world, messages, options, error, text):
    if world.num_ranks == 1 and "rank 0" in text:
        pytest.skip("there is no other rank")
    mine = world.rank == world.num_ranks - 1
    with pytest.raises(error, match=text):
        sparse_exchange(world, messages if mine else {0: np.zeros(1)}, **(options if mine else {}))
    assert len(sparse_exchange(world, {world.rank: np.zeros(1)})) == 1


def test_an_algorithm_that_does_not_exist_is_an_error_on_all_ranks(world):
    with pytest.raises(crossdock.InvalidArgumentError, match="no_such_algorithm"):
        sparse_exchange(world, {}, algorithm="no_such_algorithm")
    with pytest.raises(TypeError, match="world must be a Context"):
        sparse_exchange(None, {})
