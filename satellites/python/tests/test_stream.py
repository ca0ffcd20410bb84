import gc
import threading
import weakref

import numpy as np
import pytest
from mpi4py import MPI

import crossdock
from crossdock import Stream

STRUCTURED = np.dtype([("key", "i4"), ("weight", "f8")])


def keys_of(rank, count=5000):
    return np.random.default_rng(rank).integers(1000, size=count)


@pytest.mark.parametrize("dtype", ["i1", "i8", "S5"])
def test_items_arrive_at_their_destinations(world, dtype):
    came = []
    count = 300
    with Stream(world, dtype, lambda port, items: came.append(items.copy())) as stream:
        items = (np.arange(count) % 100).astype(dtype)
        stream.push(np.arange(count) % world.num_ranks, items)
        stream.drain()
        mine = np.sort(np.concatenate(came)).tolist() if came else []
        assert mine == np.sort(np.tile(items[world.rank::world.num_ranks], world.num_ranks)).tolist()
        assert stream.statistics()["items"] == count
        assert stream.statistics()["handled"] == len(mine)


@pytest.mark.parametrize("scheme", ["pp", "auto"])
@pytest.mark.parametrize("route", ["direct", "grid:2"])
def test_a_histogram_is_that_of_numpy(world, scheme, route):
    table = np.zeros(1000, int)
    with Stream(world, int, lambda port, keys: np.add.at(table, keys, 1), scheme=scheme, route=route,
                buffer_items=64) as stream:
        keys = keys_of(world.rank)
        for part in np.array_split(keys, 7):
            stream.push(part % world.num_ranks, part)
            stream.progress()
        stream.drain()
    expected = np.bincount(np.concatenate([keys_of(rank) for rank in range(world.num_ranks)]), minlength=1000)
    expected[np.arange(1000) % world.num_ranks != world.rank] = 0
    assert np.array_equal(table, expected)


def test_handlers_push_on(world):
    """A token goes once around for each item."""
    following = (world.rank + 1) % world.num_ranks
    seen = []

    def handle(port, tokens):
        seen.extend(tokens.tolist())
        left = tokens[tokens > 1] - 1
        port.push(following, left)

    with Stream(world, int, handle) as stream:
        stream.push(following, np.array([world.num_ranks]))
        stream.drain()
        stream.drain()
    assert sorted(seen) == list(range(1, world.num_ranks + 1))


def test_several_threads_have_a_port_each(world):
    handled = [0, 0, 0]

    def handle(port, items):
        handled[port.worker % 3] += int(items["key"].sum())

    with Stream(world, STRUCTURED, handle, workers=3) as stream:
        def work(worker):
            items = np.zeros(600, STRUCTURED)
            items["key"] = 1
            port = stream.port(worker)
            assert port.worker == 3 * world.rank + worker
            port.push(np.arange(600) % (3 * world.num_ranks), items)
            port.drain()

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    total = sum(handled)
    assert MPI.COMM_WORLD.allreduce(total) == 1800 * world.num_ranks
    assert max(handled) - min(handled) <= 3 * world.num_ranks


@pytest.mark.parametrize(("destinations", "items", "error", "text"), [
    (-1, np.zeros(2, int), crossdock.RankOutOfRangeError, "destination -1 is outside"),
    ([0, -3], np.zeros(2, int), crossdock.RankOutOfRangeError, "destination -3 is outside"),
    ([MPI.COMM_WORLD.size, 0], np.zeros(2, int), crossdock.RankOutOfRangeError, "is outside"),
    (np.array([0, 2**63], "u8"), np.zeros(2, int), crossdock.CountOverflowError, "destinations has 922337203685477580"),
    ([0], np.zeros(2, int), ValueError, "items has 2 items, but there are 1 destinations"),
    ([[0, 0]], np.zeros(2, int), ValueError, "destinations must have one dimension, not 2"),
    (None, np.zeros(2, int), TypeError, "destinations must be integers, not object"),
    (0, np.zeros(2), TypeError, "items has dtype float64, but the stream int64"),
    (0, np.zeros((2, 2), int), ValueError, "items are of 16 bytes, but those of the stream of 8"),
    (0, None, TypeError, "items must be a NumPy array"),
])
def test_pushes_that_do_not_fit_push_nothing(world, destinations, items, error, text):
    with Stream(world, int, lambda port, items: None) as stream:
        with pytest.raises(error, match=text):
            stream.push(destinations, items)
        stream.drain()
        assert stream.statistics()["items"] == 0


@pytest.mark.parametrize("options", [
    {"dtype": object}, {"handler": None}, {"workers": 0}, {"workers": "two"}, {"scheme": "magic"}, {"buffer_items": -1},
    {"max_buffers": None}, {"ordered": "yes"}, {"priorities": 3}, {"max_age_seconds": "old"}, {"pressure": "low"},
    {"with_source": 1}, {"key": "key"}, {"combine": "sum"}, {"communication_thread": True},
])
def test_an_option_that_is_wrong_on_one_rank_is_an_error_on_all(world, options):
    good = {"dtype": int, "handler": print}
    mine = world.rank == world.num_ranks - 1
    with pytest.raises(crossdock.InvalidArgumentError):
        Stream(world, **(good | options if mine else good))


def write_items(items):
    items[0] = 1


KEPT = []


@pytest.mark.parametrize(("use", "error", "text"), [
    (lambda items: {}["no such key"], KeyError, "no such key"),
    (KEPT.append, crossdock.InvalidStateError, "it must copy them"),
    (write_items, ValueError, "read-only"),
], ids=["raises", "keeps", "writes"])
def test_what_a_handler_raises_is_raised_by_its_drain(world, use, error, text):
    last = world.rank == world.num_ranks - 1
    stream = Stream(world, int, lambda port, items: use(items))
    if world.rank == 0:
        stream.push(world.num_ranks - 1, np.zeros(3, int))
    with pytest.raises(error if last else crossdock.HandlerFailedError, match=text if last else "handler"):
        stream.drain()
    KEPT.clear()


def test_calls_out_of_state_are_refused(world):
    stream = Stream(world, int, lambda port, items: None)
    for worker in (-1, 1):
        with pytest.raises(IndexError, match=rf"worker {worker} is outside \[0, 1\)"):
            stream.port(worker)
    stream.push(world.rank, np.zeros(1, int))
    with pytest.raises(crossdock.InvalidStateError):
        stream.close()
    stream.drain()
    stream.close()
    stream.close()
    assert repr(stream).endswith(", closed>")
    for call in (stream.progress, stream.drain, stream.flush, lambda: stream.push(0, np.zeros(1, int))):
        with pytest.raises(crossdock.InvalidStateError, match="the stream is closed"):
            call()


def test_handlers_may_only_push(world):
    refused = []

    def handle(port, items):
        for call in (port.progress, port.drain):
            try:
                call()
            except crossdock.InvalidStateError:
                refused.append(call)

    with Stream(world, int, handle) as stream:
        stream.push(world.rank, np.zeros(1, int))
        stream.drain()
    assert len(refused) == 2


def test_a_dropped_stream_is_freed_even_if_its_handler_refers_to_it(world):
    streams = []
    streams.append(Stream(world, int, lambda port, items: streams[0].flush()))
    streams[0].push(world.rank, np.zeros(1, int))
    streams[0].drain()
    streams[0].close()
    gone = weakref.ref(streams[0])
    del streams
    gc.collect()
    assert gone() is None


WEIGHTED = np.dtype([("vertex", "u4"), ("distance", "f4"), ("paths", "i8")])


@pytest.mark.parametrize("route", ["direct", "grid:2"])
@pytest.mark.parametrize("scheme", ["ww", "pp", "auto"])
def test_items_of_one_key_combine(world, scheme, route):
    least, paths = np.full(10, np.inf), np.zeros(10, int)

    def handle(port, items):
        np.minimum.at(least, items["vertex"], items["distance"])
        np.add.at(paths, items["vertex"], items["paths"])

    with Stream(world, WEIGHTED, handle, key="vertex", combine={"distance": np.minimum, "paths": "sum"}, scheme=scheme,
                route=route) as stream:
        items = np.zeros(1000, WEIGHTED)
        items["vertex"] = np.arange(1000) % 10
        items["distance"] = np.arange(1000) + world.rank
        items["paths"] = 1
        stream.push(items["vertex"] % world.num_ranks, items)
        stream.drain()
        counts = stream.statistics()
    mine = np.arange(10) % world.num_ranks == world.rank
    assert least.tolist() == np.where(mine, np.arange(10), np.inf).tolist()
    assert paths.tolist() == np.where(mine, 100 * world.num_ranks, 0).tolist()
    items, combined, handled = MPI.COMM_WORLD.allreduce(np.array([counts[name] for name in
                                                                 ("items", "combined", "handled")]))
    assert items == 1000 * world.num_ranks
    assert handled == items - combined
    assert combined > 0


def test_ports_count_for_themselves_and_streams_drive(world):
    with Stream(world, int, lambda port, items: None, workers=2) as stream:
        stream.port(1).push(np.zeros(5, int), np.arange(5))
        stream.drive()
        for worker in (0, 1):
            stream.port(worker).start_drain()
        draining = {0, 1}
        while draining:
            draining = {worker for worker in draining if not stream.port(worker).test_drain()}
        counts = [stream.port(worker).statistics() for worker in (0, 1)]
        assert [one["items"] for one in counts] == [0, 5]
        assert sum(one["handled"] for one in counts) == (5 * world.num_ranks if world.rank == 0 else 0)
        assert counts[0].keys() == stream.statistics().keys()
    with pytest.raises(crossdock.InvalidStateError):
        stream.drive()


@pytest.mark.parametrize(("options", "text"), [
    ({"key": "no"}, "there is no field 'no'"), ({"key": "name"}, "the key 'name' has 9 bytes"),
    ({"combine": {"weight": "sum"}}, "combine has operations for"), ({"combine": "mean"}, "there is no operation"),
    ({"combine": np.hypot}, "op must be sum"), ({"combine": None}, "need both a key and combine"),
    ({"dtype": int}, "there is no field 'key'"),
])
def test_combinations_that_do_not_fit_are_an_error_on_all_ranks(world, options, text):
    dtype = np.dtype([("key", "i4"), ("weight", "f8"), ("name", "S9")])
    good = {"dtype": dtype, "key": "key", "combine": {"weight": "sum", "name": "sum"}}
    with pytest.raises(crossdock.InvalidArgumentError, match=text):
        Stream(world, handler=print, **(good | options))


def test_urgent_items_are_handled_first(world):
    seen = []
    with Stream(world, int, lambda port, items: seen.extend(items.tolist()), priorities=2) as stream:
        stream.push(world.rank, np.array([1, 2]))
        stream.push(world.rank, np.array([3, 4]), urgent=True)
        stream.drain()
    assert seen == [3, 4, 1, 2]
    with Stream(world, int, print) as stream, pytest.raises(crossdock.InvalidArgumentError, match="priorities = 2"):
        stream.push(world.rank, np.array([1]), urgent=True)


@pytest.mark.parametrize("scheme", ["ww", "pp"])
def test_handlers_know_who_pushed(world, scheme):
    seen = []

    def handle(port, items, sources):
        seen.extend(zip(sources.tolist(), items.tolist()))

    with Stream(world, int, handle, with_source=True, scheme=scheme) as stream:
        stream.push(np.arange(2 * world.num_ranks) % world.num_ranks, np.full(2 * world.num_ranks, 7 * world.rank))
        stream.drain()
    assert sorted(seen) == [(rank, 7 * rank) for rank in range(world.num_ranks) for _ in range(2)]


def test_pushes_that_would_wait_push_the_first_items(world):
    came = []
    options = {"scheme": "ww", "route": "direct", "buffer_items": 4, "max_buffers": world.num_ranks + 1}
    with Stream(world, int, lambda port, items: came.extend(items.tolist()), pressure="fail", **options) as stream:
        items = np.arange(500)
        to = np.arange(500) % world.num_ranks
        while len(items):
            count = stream.try_push(to, items)
            items, to = items[count:], to[count:]
            stream.progress()
        stream.drain()
        with pytest.raises(crossdock.InvalidStateError, match="buffers of worker 0 are in use"):
            stream.push(world.rank, np.zeros(10000, int))
        stream.drain()
        assert stream.statistics()["waits"] == 0
    mine = np.sort(np.tile(np.arange(500)[world.rank::world.num_ranks], world.num_ranks))
    assert np.sort(came)[-len(mine):].tolist() == mine.tolist() or sorted(came) == sorted(
        mine.tolist() + [0] * (len(came) - len(mine)))


def test_a_buffer_may_be_smaller_than_others(world):
    with Stream(world, int, lambda port, items: None, scheme="ww", route="direct", buffer_items=64) as stream:
        stream.port().set_buffer_items(world.rank, 2)
        stream.push(world.rank, np.zeros(6, int))
        assert stream.statistics()["messages_by_cause"]["full"] == 3
        stream.push(world.rank, np.zeros(1, int))
        stream.flush(world.rank)
        assert stream.statistics()["messages_by_cause"]["request"] == 1
        stream.drain()
        for bad in (0, 65):
            with pytest.raises(crossdock.InvalidArgumentError):
                stream.port().set_buffer_items(world.rank, bad)
        for call in (lambda: stream.flush(-1), lambda: stream.port().set_buffer_items(world.num_ranks, 1)):
            with pytest.raises(crossdock.RankOutOfRangeError, match="is outside"):
                call()
    counts = stream.statistics()
    assert sum(counts["messages_by_cause"].values()) == counts["messages"]


def test_a_drain_is_tested(world):
    came = []
    with Stream(world, int, lambda port, items: came.append(len(items)), latency_sample_interval=1) as stream:
        port = stream.port()
        port.push([0, 0, 0], np.zeros(3, int))
        port.start_drain()
        with pytest.raises(crossdock.InvalidStateError):
            port.start_drain()
        with pytest.raises(crossdock.InvalidStateError, match=r"after drain\(\)"):
            port.push(0, np.zeros(1, int))
        while not port.test_drain():
            pass
        port.push(0, np.zeros(1, int))
        port.start_drain()
        port.wait_drain()
        assert (stream.statistics()["latency_samples"] > 0) == (world.rank == 0)
    assert sum(came) == (4 * world.num_ranks if world.rank == 0 else 0)


def test_another_thread_is_refused_while_a_handler_runs(world):
    refused = []

    def handle(port, items):
        def progress():
            try:
                stream.progress()
            except crossdock.InvalidStateError as error:
                refused.append(str(error))

        thread = threading.Thread(target=progress)
        thread.start()
        thread.join()

    with Stream(world, int, handle) as stream:
        stream.push(world.rank, np.zeros(1, int))
        stream.drain()
    assert refused == ["another thread is in a call on this port"]
