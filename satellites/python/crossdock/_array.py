"""An array spread over all ranks, read and changed in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from crossdock import _operations
from crossdock._closing import Closing
from crossdock._context import Context, Topology, inner_of
from crossdock._extension import extension, inner_property, place_of_caller
from crossdock._neighbor import Array, Plan
from crossdock._started import Started


class DistributedArray(Closing):
    """A global array of n entries, each owned by one rank; all ranks read, write and update any entries.

    All ranks make their requests together, in batches: each of `read`, `write` and `update` is
    collective and blocks, and a rank may ask for nothing. Requests for the same entry meet on the way to its owner and
    travel on as one. A batch raises on all ranks or on none; then no entry has changed and no output is written. A
    finalizer does not communicate.

    Indices are integers in ``[0, n)`` of any shape, an int, or a slice; negative ones are not counted from the end.

    Collective over `world`; blocks.

    Parameters
    ----------
    world : Context
        Stays open as long as the array.
    length : int
        The number of entries; equal on all ranks. They are zero at first.
    dtype : dtype_like
        Of an entry, which may itself be an array, as in ``(float, 3)``; equal on all ranks.
    num_local : int, optional
        How many entries this rank owns. By default, which must be so on all ranks, entries lie in blocks as equal as
        possible.
    route : str
        A route with its parameters, or ``"auto"``.
    expected_requests : int
        About how many requests a rank makes in the first batch; for ``"auto"``.
    combine : {"sort", "hash", "search_tree", "envelope_hash", "envelope_sort", "none"}
        How requests for one entry are found.
    combine_locally, combine_on_the_way : bool
        Whether a rank's own requests combine, and those of several ranks that meet at one.
    transport : {"routed", "plain", "rma"}
        What carries requests: a route; MPI_Alltoallv, which combines nothing; or one-sided calls of MPI.
    equal_writes : {"any", "smallest_rank_last", "minimum", "maximum"}, or numpy.ufunc
        Which of several values stays that are written to one entry in one batch: one of them; the last one of the
        smallest rank; the least or the greatest by <; or what a ufunc of two values says, which is associative and
        commutative.
    reproducible : bool
        Entries have the same bits with any route, topology and `combine`, for as many ranks and the same requests,
        which travel on ``"direct"``.
    name : str
        What reports call it. By default the place that makes it.

    Raises
    ------
    InvalidArgumentError
        An argument has another type, is out of range or differs between ranks; on all ranks.
    SizeMismatchError
        The parts do not add up; on all ranks.
    UnknownRouteError, InvalidRouteError
        As the route is; on all ranks.

    Examples
    --------
    >>> histogram = DistributedArray(world, 1000, int)
    >>> histogram.update(keys, 1)
    >>> histogram[:10]
    """

    def __init__(self, world: Context, length: int, dtype: npt.DTypeLike = float, *, num_local: int | None = None,
                 route: str = "auto", expected_requests: int = 1 << 15, combine: str = "sort",
                 combine_locally: bool = True, combine_on_the_way: bool = True, transport: str = "routed",
                 equal_writes: str | np.ufunc = "any", reproducible: bool = False, name: str = "") -> None:
        def rule(dtype: np.dtype[Any]) -> Any:
            if isinstance(equal_writes, str):
                return equal_writes
            own = _operations.resolve(equal_writes, dtype)
            return {"min": "minimum", "max": "maximum"}.get(own, own if isinstance(equal_writes, MPI.Op) else equal_writes)

        self._inner = extension.DistributedArray.make(
            inner_of(world), length, dtype, num_local, route, expected_requests, combine, combine_locally,
            combine_on_the_way, transport, rule, reproducible, name or place_of_caller())
        self._topology = world.topology

    def __len__(self) -> int:
        return int(self._inner.length)

    dtype: np.dtype[Any] = inner_property("dtype", np.dtype, "The dtype of an entry.")
    owned = inner_property("owned", lambda ends: range(*ends), "The indices that this rank owns.")
    route = inner_property(
        "route", str, "The route that the last batch took; before the first one, what its route is to be.")
    is_open = inner_property("is_open", bool, "Whether nobody has closed the array or its context.")

    @property
    def local(self) -> Array:
        """This rank's entries, as a view. They must not change while a prepared request is active."""
        dtype = self.dtype
        flat: Array = self._inner.local().view(dtype.base)
        return flat.reshape(len(self.owned), *dtype.shape)

    def owner(self, index: int) -> int:
        """Return the rank that owns an entry.

        Raises
        ------
        IndexOutOfRangeError
            There is no such entry.
        """
        return int(self._inner.owner(index))

    def __getitem__(self, indices: Any) -> Any:
        """As `read`."""
        return self.read(indices)

    def __setitem__(self, indices: Any, values: Any) -> None:
        """As `write`."""
        self.write(indices, values)

    def read(self, indices: Any) -> Any:
        """Return the entries at `indices`, in their shape; ``a[indices]`` does the same.

        Collective; blocks.

        Parameters
        ----------
        indices : array_like of int, int or slice

        Raises
        ------
        IndexOutOfRangeError
            An index is outside ``[0, n)``; on all ranks.
        """
        out = _Output(self.dtype)
        self._inner.run(None, None, None, lambda: out.request(self._flat(indices)), False)
        return out.result()

    def write(self, indices: Any, values: Any) -> None:
        """Write values to entries; ``a[indices] = values`` does the same.

        Of several values for one entry `equal_writes` says which stays. Collective; blocks.

        Parameters
        ----------
        indices : array_like of int, int or slice
        values : array_like
            Broadcast to the shape of `indices`.

        Raises
        ------
        IndexOutOfRangeError
            An index is outside ``[0, n)``; on all ranks.
        InvalidArgumentError
            Values cannot be cast or broadcast; on all ranks.
        """
        self._inner.run(lambda: self._with_values(indices, values), None, None, None, False)

    def update(self, indices: Any, values: Any, op: _operations.Operation = "sum") -> None:
        """Combine values into entries: the entry at ``indices[k]`` becomes ``op(it, values[k])``, for all k.

        Collective; blocks.

        Parameters
        ----------
        indices : array_like of int, int or slice
        values : array_like
            Broadcast to the shape of `indices`.
        op : {"sum", "prod", "min", "max", "fmin", "fmax", "bit_or", "bit_and", "bit_xor"}, numpy.ufunc or mpi4py.MPI.Op
            Associative and commutative; equal on all ranks. A ufunc of two arguments may be any, such as
            ``numpy.hypot`` or one that numba has compiled, but is slower than a name, and Ctrl-C waits for it.

        Raises
        ------
        IndexOutOfRangeError
            An index is outside ``[0, n)``; on all ranks.
        InvalidArgumentError
            Values cannot be cast or broadcast, or have no such operation, or operations differ; on all ranks.
        """
        self._inner.run(None, lambda: self._with_values(indices, values), lambda: _operations.resolve(op, self.dtype),
                        None, False)

    def step(self, *, writes: tuple[Any, Any] | None = None, updates: tuple[Any, Any] | None = None,
             op: _operations.Operation | None = None, reads: Any = None) -> Any:
        """Write, then update, then read, in one batch: requests of the three kinds travel in the same messages.

        Collective; blocks. Each rank makes any of the three or none.

        Parameters
        ----------
        writes, updates : tuple of indices and values, optional
            As for `write` and `update`.
        op : as in `update`, optional
            Equal on all ranks. By default the sum, where entries have one.
        reads : array_like of int, int or slice, optional

        Returns
        -------
        ndarray, or None
            The entries at `reads`, as they are after the writes and updates of all ranks.

        Raises
        ------
        IndexOutOfRangeError, InvalidArgumentError
            As `update`; on all ranks, and nothing is written or updated.
        """
        out = _Output(self.dtype)

        def describe(changes: tuple[Any, Any] | None) -> Any:
            return None if changes is None else lambda: self._with_values(*changes)

        self._inner.run(describe(writes), describe(updates),
                        lambda: None if op is None else _operations.resolve(op, self.dtype),
                        None if reads is None else lambda: out.request(self._flat(reads)), True)
        return None if reads is None else out.result()

    def prepare(self, indices: npt.ArrayLike) -> PreparedBatch:
        """Compile requests for the same entries, which are then made again and again without their indices.

        Collective; blocks.

        Parameters
        ----------
        indices : array_like of int, shape (num_requests,)
        """
        return PreparedBatch(self._inner.prepare(indices), self.dtype, self._topology)

    def statistics(self) -> dict[str, Any]:
        """Return what this rank sent and received in the last batch; with the transport "rma" requests only.

        ``requests`` were made here, of which ``combined_locally`` need not leave; ``messages`` left with ``sent``
        requests, ``empty_messages`` without any, and ``inter_region_messages`` left the region with
        ``inter_region_sent``. Of the ``received`` ones ``combined`` have joined others here, and ``arrived`` are for
        entries of this rank. ``combine_locally_seconds``, ``combine_on_the_way_seconds``, ``write_seconds``,
        ``read_seconds``, ``split_seconds`` and ``communicate_seconds`` are what the phases took.
        """
        return dict(self._inner.statistics())

    def close(self) -> None:
        """Free what only all ranks together can; nothing if it is closed. Collective; blocks."""
        self._inner.close()

    def __repr__(self) -> str:
        return f"<DistributedArray: {len(self)} entries of {self.dtype}, here {self.owned.start}:{self.owned.stop}>"

    def _flat(self, indices: Any) -> tuple[npt.NDArray[np.int64], tuple[int, ...]]:
        """Return indices one after the other, and their shape."""
        if isinstance(indices, slice):
            indices = np.arange(*indices.indices(len(self)), dtype=np.int64)
        given = np.asarray(indices)
        if given.size and given.dtype.kind not in "iu":
            raise TypeError(f"indices must be integers or a slice, not {given.dtype}")
        if given.dtype == np.uint64 and given.size and given.max() > np.iinfo(np.int64).max:
            raise IndexError(f"index {given.max()} is outside [0, {len(self)})")
        return np.ascontiguousarray(given.reshape(-1), np.int64), given.shape

    def _with_values(self, indices: Any, values: Any) -> tuple[npt.NDArray[np.int64], Array]:
        flat, shape = self._flat(indices)
        given = np.asarray(values)
        if given.size and not np.can_cast(given.dtype, self.dtype.base, "same_kind"):
            raise TypeError(f"values has dtype {given.dtype}, but entries {self.dtype.base}")
        entries = np.broadcast_to(given.astype(self.dtype.base, copy=False), shape + self.dtype.shape)
        return flat, np.ascontiguousarray(entries).reshape(len(flat), *self.dtype.shape)


class _Output:
    """What a read fills, in the shape of its indices."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype

    def request(self, indices: tuple[npt.NDArray[np.int64], tuple[int, ...]]) -> tuple[npt.NDArray[np.int64], Array]:
        flat, self._shape = indices
        self._entries = np.empty((len(flat), *self._dtype.shape), self._dtype.base)
        return flat, self._entries

    def result(self) -> Any:
        return self._entries.reshape(self._shape + self._dtype.shape)[()]


class PreparedBatch(Started):
    """Requests for the same entries, made again and again; `DistributedArray.prepare` makes it.

    If a start fails on one rank, those that need something of it get `PeerFailedError`, as with a `NeighborExchange`.
    While a request is active, the array must not change and what is read must not be looked at.
    """

    def __init__(self, inner: Any, dtype: np.dtype[Any], topology: Topology) -> None:
        self._inner = inner
        self._dtype = dtype
        self._topology = topology

    def __len__(self) -> int:
        return int(self._inner.num_requests)

    @property
    def plan(self) -> Plan:
        """This rank's part of the plan: forward it reads, in reverse it updates."""
        return Plan(self._topology, *self._inner.plan())

    def start_read(self, out: Array) -> None:
        """Start ``out[k]`` = the entry of request k; waits for nobody.

        Parameters
        ----------
        out : ndarray, shape (num_requests, ...)
            Of the dtype of entries; C-contiguous.
        """
        self._inner.start_read(out)

    def start_update(self, values: Array, op: _operations.Operation = "sum") -> None:
        """Start the entry of request k = ``op(it, values[k])``, for all k on all ranks; waits for nobody.

        Parameters
        ----------
        values : ndarray, shape (num_requests, ...)
            Of the dtype of entries; C-contiguous.
        op : as in `DistributedArray.update`
        """
        self._inner.start_update(values, op)

    def read(self, out: Array | None = None) -> Array:
        """Return the entries, by default in a new array: `start_read` and `wait`."""
        out = self._room_if_none(out)
        self.start_read(out)
        self.wait()
        return out

    def update(self, values: Array, op: _operations.Operation = "sum") -> None:
        """Combine values into the entries: `start_update` and `wait`."""
        self.start_update(values, op)
        self.wait()

    def gather(self, values: Array) -> tuple[npt.NDArray[np.int64], Array]:
        """Bring the values of all requests to where their entries are, each by itself.

        Collective; blocks, as the first call of `gather`, `scatter` or `fetch_and_update` plans a second exchange.

        Parameters
        ----------
        values : ndarray, shape (num_requests, ...)
            Of the dtype of entries; C-contiguous.

        Returns
        -------
        offsets : ndarray of int64, shape (number of entries of this rank + 1,)
        gathered : ndarray, shape (offsets[-1], ...)
            ``gathered[offsets[e]:offsets[e + 1]]`` came for entry e of this rank, by rank and then in the rank's order.
        """
        offsets, gathered = self._inner.gather(values)
        return offsets, gathered.view(self._dtype.base).reshape(-1, *self._dtype.shape)

    def scatter(self, gathered: Array, out: Array | None = None) -> Array:
        """Bring a value to each request: the reverse of `gather`. Collective; blocks.

        Parameters
        ----------
        gathered : ndarray, shape (offsets[-1], ...)
            In the order of `gather`.
        out : ndarray, shape (num_requests, ...), optional
            By default a new array.

        Raises
        ------
        SizeMismatchError
            `gathered` has another length; on this rank alone, after the others have been waited for.
        """
        out = self._room_if_none(out)
        self._inner.scatter(gathered, out)
        return out

    def fetch_and_update(self, values: Array, out: Array | None = None, op: _operations.Operation = "sum") -> Array:
        """The entry of request k becomes ``op(it, values[k])``, and ``out[k]`` what it was just before.

        Requests for one entry take effect one after the other: by rank, then in the rank's order. Collective; blocks.

        Parameters
        ----------
        values : ndarray, shape (num_requests, ...)
            Of the dtype of entries; C-contiguous.
        out : ndarray, shape (num_requests, ...), optional
            By default a new array.
        op : {"sum", "prod", "min", "max", "fmin", "fmax", "bit_or", "bit_and", "bit_xor"}, ufunc or MPI.Op
            A ufunc or an operation of MPI that is one of those named.
        """
        out = self._room_if_none(out)
        self._inner.fetch_and_update(values, out, _operations.name_of(op))
        return out

    def _room_if_none(self, out: Array | None) -> Array:
        return np.empty((len(self), *self._dtype.shape), self._dtype.base) if out is None else out
