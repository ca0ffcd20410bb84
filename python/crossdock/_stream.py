"""Many small items from many threads to many others, collected on the way."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from crossdock._closing import Closing
from crossdock._context import Context, inner_of
from crossdock._extension import extension
from crossdock.errors import InvalidStateError

Array = npt.NDArray[Any]
Handler = Callable[["Port", Array], object]


class Port:
    """One worker's end of a stream: pushes items, and handles those that come. One thread at a time is in a call on it.

    Handlers run inside `progress`, `drain` and a push that has filled a buffer, on the thread that calls them. They may
    push, and call nothing else of their port.
    """

    def __init__(self, stream: Stream, worker: int) -> None:
        self._stream = stream
        self._worker = worker

    @property
    def number(self) -> int:
        """The worker's number, ``rank * workers + worker``."""
        inner = self._stream._inner
        return int(inner.rank) * int(inner.num_workers) + self._worker

    def push(self, destinations: int | npt.ArrayLike, items: Array) -> None:
        """Append items to the buffers for their destinations. Releases the GIL.

        Parameters
        ----------
        destinations : int, or array_like of int, shape (n,)
            The number of the worker that each item is for, or of the one that all are for; of streams with one worker
            a process, its rank.
        items : ndarray, shape (n, ...)
            Of the stream's dtype; C-contiguous.

        Raises
        ------
        RankOutOfRangeError
            There is no such worker; nothing is pushed.
        TypeError, ValueError
            Items have another dtype or shape, or there are not as many as destinations; nothing is pushed.
        InvalidStateError
            A drain is under way, and no handler runs; the stream is closed; or another thread is in a call on the port.
        HandlerFailedError
            A handler has raised somewhere: the stream has ended.
        """
        self._stream._inner.push(self._worker, destinations, items)

    def progress(self) -> int:
        """Handle what has come, and send what is due; return the number of items handled. Releases the GIL."""
        return int(self._stream._inner.progress(self._worker))

    def flush(self) -> None:
        """Send all buffers as they are."""
        self._stream._inner.flush(self._worker)

    def drain(self) -> None:
        """Bring the stream to rest: return once all items are handled, those that handlers push included.

        Every port of every rank must call it. Releases the GIL. Ctrl-C interrupts it; another call goes on.

        Raises
        ------
        HandlerFailedError
            A handler of another worker has raised. What one of this worker has raised is raised here.
        """
        if self._worker not in self._stream._draining:
            self._stream._inner.start_drain(self._worker)
            self._stream._draining.add(self._worker)
        try:
            self._stream._inner.wait_for_drain(self._worker)
        except KeyboardInterrupt:
            raise
        except BaseException:
            self._stream._draining.discard(self._worker)
            raise
        self._stream._draining.discard(self._worker)


class Stream(Closing):
    """Sends small items of one dtype from any worker to any worker, many in one message.

    Each process has `workers` workers, and each of them a `Port`, which belongs to one thread at a time; the methods of
    the stream are those of worker 0's. A finalizer does not communicate.

    Collective over `world`; blocks.

    Parameters
    ----------
    world : Context
        Stays open as long as the stream.
    dtype : dtype_like
        Of an item, which may itself be an array, as in ``(float, 3)``; equal on all ranks.
    handler : callable
        Is called with a `Port` and an array of items that came to it, a view that is for reading and valid during the
        call. With several workers, several threads call it.
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
    flush_on_idle : bool
        `progress` that finds nothing to do sends what there is.
    ordered : bool
        Items of one port to one worker are handled in the order of their pushes.
    shared_memory : bool
        Processes of a node hand buffers over without MPI.
    progress_thread : bool
        A thread of the library drives MPI.

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
                 flush_on_idle: bool = True, ordered: bool = False, shared_memory: bool = True,
                 progress_thread: bool = False) -> None:
        self._draining: set[int] = set()
        this = weakref.ref(self)

        def handle(worker: int, view: memoryview) -> None:
            stream = this()
            assert stream is not None  # the ports keep it
            kind: np.dtype[Any] = stream._inner.dtype
            everything: Array = np.frombuffer(view, kind.base)
            num_references = sys.getrefcount(everything)
            handler(Port(stream, worker), everything.reshape(-1, *kind.shape))
            if sys.getrefcount(everything) > num_references:
                raise InvalidStateError("a handler has kept its items, which are valid during the call only: "
                                        "it must copy them")

        inner = inner_of(world)
        extension.call_on_all_or_none(inner, lambda: _require_callable(handler))
        self._inner = extension.Stream.make(inner, dtype, handle, workers, scheme, route, buffer_items, max_buffers,
                                            flush_on_idle, ordered, shared_memory, progress_thread)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an item."""
        dtype: np.dtype[Any] = self._inner.dtype
        return dtype

    @property
    def workers(self) -> int:
        """The number of workers of each process."""
        return int(self._inner.num_workers)

    @property
    def scheme(self) -> str:
        """The scheme in use, never ``"auto"``."""
        return str(self._inner.scheme)

    @property
    def is_open(self) -> bool:
        """Whether nobody has closed the stream or its context."""
        return bool(self._inner.is_open)

    def port(self, worker: int = 0) -> Port:
        """Return one worker's end.

        Raises
        ------
        IndexError
            There is no such worker.
        """
        if not 0 <= worker < self.workers:
            raise IndexError(f"worker {worker} is outside [0, {self.workers})")
        return Port(self, worker)

    def push(self, destinations: int | npt.ArrayLike, items: Array) -> None:
        """As `Port.push` of worker 0."""
        self.port().push(destinations, items)

    def progress(self) -> int:
        """As `Port.progress` of worker 0."""
        return self.port().progress()

    def flush(self) -> None:
        """As `Port.flush` of worker 0."""
        self.port().flush()

    def drain(self) -> None:
        """As `Port.drain` of worker 0."""
        self.port().drain()

    def statistics(self) -> dict[str, int]:
        """Return what all ports of this process have done so far. Call while none of them is at work.

        ``items`` were pushed here, ``handled`` were given to handlers, ``forwarded`` travelled on from here;
        ``messages`` are buffers that left with ``message_items``, ``mpi_messages`` those that MPI sent, with
        ``mpi_bytes``; ``hops`` were travelled by the items handled here, and ``waits`` are pushes that waited.
        """
        return dict(self._inner.statistics())

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
        return f"<Stream of {self.dtype}: {self.workers} workers, scheme {self.scheme}{state}>"


def _require_callable(handler: object) -> None:
    if not callable(handler):
        raise TypeError(f"handler must be callable, not {type(handler).__name__}")
