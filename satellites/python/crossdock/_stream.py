"""Many small items from many threads to many others, collected on the way."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from crossdock import _operations
from crossdock._closing import Closing
from crossdock._context import Context, inner_of
from crossdock._extension import extension, inner_property, place_of_caller
from crossdock.errors import InvalidStateError

Array = npt.NDArray[Any]
Handler = Callable[..., object]


class StreamPort:
    """One worker's end of a stream: pushes items, and handles those that come. One thread at a time is in a call on it.

    Handlers run inside `progress`, `drain` and a push that has filled a buffer, on the thread that calls them. They may
    push, and call nothing else of their port.
    """

    def __init__(self, stream: Stream, worker: int) -> None:
        self._stream = stream
        self._worker = worker

    @property
    def worker(self) -> int:
        """The worker's number, ``rank * workers + worker``."""
        inner = self._stream._inner
        return int(inner.rank) * int(inner.num_workers) + self._worker

    def push(self, destinations: int | npt.ArrayLike, items: Array, *, urgent: bool = False) -> None:
        """Append items to the buffers for their destinations. Releases the GIL.

        Where all buffers are in use it waits, as the stream's `pressure` says. Ctrl-C interrupts that; some of the
        items are then pushed.

        Parameters
        ----------
        destinations : int, or array_like of int, shape (n,)
            The number of the worker that each item is for, or of the one that all are for; of streams with one worker
            a process, its rank.
        items : ndarray, shape (n, ...)
            Of the stream's dtype; C-contiguous.
        urgent : bool
            They are sent at the next `progress` and handled first; of streams with two priorities.

        Raises
        ------
        RankOutOfRangeError
            There is no such worker; nothing is pushed.
        TypeError, ValueError
            Items have another dtype or shape, or there are not as many as destinations; nothing is pushed.
        InvalidArgumentError
            They are urgent, but the stream has one priority.
        InvalidStateError
            A drain is under way, and no handler runs; the stream is closed; or another thread is in a call on the port.
            With the pressure ``"fail"`` also that no buffer is free; the items before the one for it are pushed.
        HandlerFailedError
            A handler has raised somewhere: the stream has ended.
        """
        self._stream._inner.push(self._worker, destinations, items, urgent)

    def try_push(self, destinations: int | npt.ArrayLike, items: Array) -> int:
        """As `push`, but stop where it would have to wait; return how many items, the first ones, are pushed."""
        return int(self._stream._inner.try_push(self._worker, destinations, items))

    def progress(self) -> int:
        """Handle what has come, and send what is due; return the number of items handled. Releases the GIL."""
        return int(self._stream._inner.progress(self._worker))

    def flush(self, to: int | None = None) -> None:
        """Send all buffers as they are, or those with items for one worker.

        Raises
        ------
        RankOutOfRangeError
            There is no such worker.
        """
        self._stream._inner.flush(self._worker, to)

    def set_buffer_items(self, to: int, num_items: int) -> None:
        """From now on the buffer for a worker is full with so many items; sends what it holds.

        Parameters
        ----------
        to : int
            A worker's number; with some routes and schemes its buffer is for other workers as well.
        num_items : int
            At most the stream's `buffer_items`.

        Raises
        ------
        RankOutOfRangeError
            There is no such worker.
        InvalidArgumentError
            The number is out of range, or several workers fill the buffer, as with the schemes ``"pp"``, ``"node"``.
        """
        self._stream._inner.set_buffer_items(self._worker, to, num_items)

    def statistics(self) -> dict[str, Any]:
        """Return what this port has done so far, as `Stream.statistics`. Call while it is not at work."""
        return dict(self._stream._inner.statistics(self._worker))

    def start_drain(self) -> None:
        """Begin what `drain` does, without waiting: from now on only handlers push.

        Raises
        ------
        InvalidStateError
            A drain is under way, the stream is closed, or a handler calls this.
        """
        self._stream._inner.start_drain(self._worker)
        self._stream._draining.add(self._worker)

    def test_drain(self) -> bool:
        """Make progress on a drain; True once the stream is at rest. Raises as `drain`."""
        return self._advance_drain(self._stream._inner.test_drain)

    def wait_drain(self) -> None:
        """Complete a drain that `start_drain` has begun. Releases the GIL; raises as `drain`."""
        self._advance_drain(self._stream._inner.wait_drain)

    def drain(self) -> None:
        """Bring the stream to rest: `start_drain` and `wait_drain`.

        It returns once all items are handled, those that handlers push included.

        Every port of every rank must call it. Releases the GIL. Ctrl-C interrupts it, and another call goes on; but in
        a handler Ctrl-C raises, and so ends the stream.

        Raises
        ------
        HandlerFailedError
            A handler of another worker has raised. What one of this worker has raised is raised here.
        """
        if self._worker not in self._stream._draining:
            self.start_drain()
        self.wait_drain()

    def _advance_drain(self, advance: Callable[[int], Any]) -> bool:
        try:
            is_over = advance(self._worker) is not False
        except KeyboardInterrupt:
            raise
        except BaseException:
            self._stream._draining.discard(self._worker)
            raise
        if is_over:
            self._stream._draining.discard(self._worker)
        return is_over


class Stream(Closing):
    """Sends small items of one dtype from any worker to any worker, many in one message.

    Each process has `workers` workers, and each of them a `StreamPort`, which belongs to one thread at a time; the
    methods of the stream are those of worker 0's. A finalizer does not communicate.

    Collective over `world`; blocks.

    Parameters
    ----------
    world : Context
        Stays open as long as the stream.
    dtype : dtype_like
        Of an item, which may itself be an array, as in ``(float, 3)``; equal on all ranks.
    handler : callable
        Is called with a `StreamPort` and an array of items that came to it, a view that is for reading and valid during
        the call; with the option `with_source` also with an array of the numbers of the workers that pushed them. With
        several workers, several threads call it.
    workers : int
        Threads of a process that push and handle.
    scheme : {"auto", "ww", "wps", "wsp", "pp", "node"}
        Which buffers items are collected in.
    route : str
        Between processes, such as ``"grid:2"``.
    buffer_items : int
        Items of a full buffer; 0: 64 KiB of them.
    max_buffers : int
        Of a worker, those on their way included; 0: 32 more than it fills.
    priorities : {1, 2}
        With 2, items that are pushed as urgent have buffers of their own, and overtake.
    flush_on_idle : bool
        `progress` that finds nothing to do sends what there is.
    max_age_seconds : float, optional
        The longest time that an item waits in a buffer while its worker makes progress.
    pressure : {"progress", "block", "fail"}
        What a push does where all buffers are in use: runs handlers until one is free, waits without running any, or
        raises. May differ between ranks.
    key : str, optional
        The field of a structured `dtype`, of 8 bytes at most, by which items combine: those of one key and one
        destination that meet in a buffer, here or on the way, become one.
    combine : operation, or dict of {str: operation}, optional
        With `key`, how the other fields combine: ``"sum"``, ``"prod"``, ``"min"``, ``"max"``, ``"fmin"``,
        ``"fmax"``, ``"bit_or"``, ``"bit_and"`` or ``"bit_xor"``, or a ufunc or MPI.Op that is one of these; by field,
        or one for all.
    ordered : bool
        Items of one port to one worker are handled in the order of their pushes.
    with_source : bool
        Handlers get the numbers of the workers that pushed the items; of items that have combined, that of the one that
        the others joined.
    shared_memory : bool
        Processes of a node hand buffers over without MPI.
    progress_thread : bool
        A thread of the library drives MPI.
    communication_thread : bool
        With `progress_thread`: only that thread calls MPI, and workers never do.
    latency_sample_interval : int
        N: every N-th push of a port is timed until its item is handled; 0: none is.
    name : str
        What reports call it, as one exchange from its making to its closing. By default the place that makes it.

    Raises
    ------
    InvalidArgumentError
        An option has another type, is out of range or differs between ranks; on all ranks.
    UnknownRouteError, InvalidRouteError
        As the route is; on all ranks.

    Examples
    --------
    >>> table = np.zeros(1000, int)
    >>> stream = Stream(world, int, lambda port, keys: np.add.at(table, keys, 1))
    >>> stream.push(keys % world.num_ranks, keys // world.num_ranks)
    >>> stream.drain()
    """

    _inner: Any

    def __init__(self, world: Context, dtype: npt.DTypeLike, handler: Handler, *, workers: int = 1,
                 scheme: str = "auto", route: str = "auto", buffer_items: int = 0, max_buffers: int = 0,
                 priorities: int = 1, flush_on_idle: bool = True, max_age_seconds: float | None = None,
                 pressure: str = "progress", key: str | None = None,
                 combine: _operations.Operation | Mapping[str, _operations.Operation] | None = None,
                 ordered: bool = False, with_source: bool = False, shared_memory: bool = True,
                 progress_thread: bool = False, communication_thread: bool = False,
                 latency_sample_interval: int = 0, name: str = "") -> None:
        self._draining: set[int] = set()
        this = weakref.ref(self)

        def handle(worker: int, view: memoryview, sources: memoryview | int | None) -> None:
            stream = this()
            assert stream is not None  # the ports keep it
            everything: Array = np.frombuffer(view, base)
            num_references = sys.getrefcount(everything)
            items = everything.reshape(-1, *shape) if shape else everything
            if sources is None:
                handler(StreamPort(stream, worker), items)
            else:
                numbers = (np.broadcast_to(np.uint32(sources), len(items)) if isinstance(sources, int)
                           else np.frombuffer(sources, np.uint32))
                handler(StreamPort(stream, worker), items, numbers.astype(np.int64))
            del items
            if sys.getrefcount(everything) > num_references:
                raise InvalidStateError("a handler has kept its items, which are valid during the call only: "
                                        "it must copy them")

        def describe(kind: np.dtype[Any]) -> Any:
            if not callable(handler):
                raise TypeError(f"handler must be callable, not {type(handler).__name__}")
            return _combining(kind, key, combine)

        self._inner = extension.Stream.make(
            inner_of(world), dtype, handle, describe, workers, scheme, route, buffer_items, max_buffers, priorities,
            flush_on_idle, max_age_seconds, pressure, ordered, with_source, shared_memory, progress_thread,
            communication_thread, latency_sample_interval, name or place_of_caller())
        base, shape = self.dtype.base, self.dtype.shape

    dtype: np.dtype[Any] = inner_property("dtype", np.dtype, "The dtype of an item.")
    num_workers = inner_property("num_workers", int, "The number of workers of each process.")
    scheme = inner_property("scheme", str, 'The scheme in use, never ``"auto"``.')
    is_open = inner_property("is_open", bool, "Whether nobody has closed the stream or its context.")

    def port(self, worker: int = 0) -> StreamPort:
        """Return one worker's end.

        Raises
        ------
        IndexError
            There is no such worker.
        """
        if not 0 <= worker < self.num_workers:
            raise IndexError(f"worker {worker} is outside [0, {self.num_workers})")
        return StreamPort(self, worker)

    def push(self, destinations: int | npt.ArrayLike, items: Array, *, urgent: bool = False) -> None:
        """As `StreamPort.push` of worker 0."""
        self.port().push(destinations, items, urgent=urgent)

    def try_push(self, destinations: int | npt.ArrayLike, items: Array) -> int:
        """As `StreamPort.try_push` of worker 0."""
        return self.port().try_push(destinations, items)

    def progress(self) -> int:
        """As `StreamPort.progress` of worker 0."""
        return self.port().progress()

    def flush(self, to: int | None = None) -> None:
        """As `StreamPort.flush` of worker 0."""
        self.port().flush(to)

    def drain(self) -> None:
        """As `StreamPort.drain` of worker 0."""
        self.port().drain()

    def drive(self) -> None:
        """Drive MPI if this thread may, and handle nothing. A communication thread of the program calls it repeatedly.

        Where only the main thread may call MPI, it does this while workers are at work in other threads. Releases the
        GIL.

        Raises
        ------
        InvalidStateError
            The stream is closed.
        """
        self._inner.drive()

    def statistics(self) -> dict[str, Any]:
        """Return what all ports of this process have done so far. Call while none of them is at work.

        ``items`` were pushed here, ``handled`` were given to handlers, ``forwarded`` travelled on from here, and
        ``combined`` of them became part of others; ``messages`` are buffers that left with ``message_items``, and
        ``messages_by_cause`` says why, ``mpi_messages`` those that MPI sent, with ``mpi_bytes``; ``hops`` were
        travelled by the items handled here; ``waits`` are pushes that waited, ``overflow_buffers`` those that handlers
        took beyond the bound, and ``peak_buffers`` were filled at a time. ``latency_samples`` items were timed, and
        ``latency_median_seconds``, ``latency_p99_seconds`` and ``latency_max_seconds`` say how long they took.
        """
        return dict(self._inner.statistics(None))

    def close(self) -> None:
        """End the stream; nothing if it is closed. Collective; blocks.

        Raises
        ------
        InvalidStateError
            Items have been pushed since the last drain, on any rank.
        """
        self._inner.close()

    def __repr__(self) -> str:
        state = "" if self.is_open else ", closed"
        return f"<Stream of {self.dtype}: {self.num_workers} workers, scheme {self.scheme}{state}>"


def _combining(kind: np.dtype[Any], key: str | None,
               combine: _operations.Operation | Mapping[str, _operations.Operation] | None) -> Any:
    """Return where the key of an item is, and each other field with the name of its operation; None: none combine."""
    if key is None and combine is None:
        return None
    if key is None or combine is None:
        raise TypeError("items that combine need both a key and combine")
    fields: Mapping[str, Any] = kind.fields or {}
    if key not in fields or kind.shape:
        raise ValueError(f"there is no field {key!r} in items of dtype {kind}")
    if fields[key][0].itemsize > 8:
        raise ValueError(f"the key {key!r} has {fields[key][0].itemsize} bytes; there must be 8 at most")
    others = {name: field for name, field in fields.items() if name != key}
    operations = combine if isinstance(combine, Mapping) else dict.fromkeys(others, combine)
    if operations.keys() != others.keys():
        raise ValueError(f"combine has operations for {sorted(operations)}, but fields to combine are {sorted(others)}")
    return (int(fields[key][1]), fields[key][0].itemsize,
            [(int(field[1]), field[0], _operations.name_of(operations[name])) for name, field in others.items()])
