"""Shared degrees of freedom."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crossdock import _operations
from crossdock._context import Context, inner_of
from crossdock._extension import extension, inner_property, place_of_caller
from crossdock._neighbor import Array
from crossdock._started import Routed


class GatherScatter(Routed):
    """Combines the values of all copies of an id, on whatever ranks, and gives every copy the result.

    A rank names the id of each row of its arrays. An id of 0 takes no part. A negative id -j is a flagged copy of j:
    it gets the result and does not give its value; transposed, it gives its value and does not get the result. Values
    are C-contiguous NumPy arrays with a row for each id, and are combined in place.

    ============  ===================================================================  ==================
    state         legal calls                                                          next
    ============  ===================================================================  ==================
    idle          `start`                                                              active
    idle          `combine`, `duplicate`                                               idle
    active        `test` that returns True, `wait`                                     idle
    active        `duplicate`                                                          active
    idle, closed  `close`                                                              closed
    ============  ===================================================================  ==================

    Every rank starts the same operations of one object in the same order. If a start fails on one rank, `test` and
    `wait` of the ranks that need its values raise `PeerFailedError`, as those of a `NeighborExchange`; `values` are
    then undefined. While an operation is active, values of ids with several copies must be neither read nor written,
    and the rank must not block elsewhere for what another rank does only after its wait.

    Collective over `world`; blocks.

    Parameters
    ----------
    world : Context
        Stays open as long as the object.
    ids : array_like of int
        Not kept.
    dtype : dtype_like
        Of a row, such as ``(float, 3)``: operations on rows of its size are made ready now. The first one on rows of
        another size makes it ready, and waits for the ranks of the node.
    method : {"auto", "owners", "holders"}
        Who combines the copies of an id: one of the ranks that have it, or each of them.
    route : str
        As of `NeighborExchange`; ``"auto:measure"`` judges the whole operation.
    unique : bool
        As though `flag_duplicates` had been called for the ids.
    deduplicate : bool
        A value whose destinations share the next hop is sent there once.
    executor : {"auto", "persistent", "shared_memory"}
        What runs the plans.
    reproducible : bool
        Results have the same bits with any method, route, executor and topology, for as many ranks and the same ids.
    name : str
        In reports; by default the place of the call, such as ``"solver.py:120"``. Rank 0's counts.

    Raises
    ------
    InvalidArgumentError
        An argument has another type, or differs between ranks, or "holders" is not for these ids; on all ranks.
    UnknownRouteError, InvalidRouteError
        As the route is; on all ranks.
    IndexOutOfRangeError
        An id is -2**63; on all ranks.

    Examples
    --------
    >>> shared = GatherScatter(world, ids)
    >>> shared.combine(mass)
    """

    def __init__(self, world: Context, ids: npt.ArrayLike, dtype: npt.DTypeLike = float, *, method: str = "auto",
                 route: str = "auto", unique: bool = False, deduplicate: bool = True, executor: str = "auto",
                 reproducible: bool = False, name: str = "") -> None:
        self._inner = extension.GatherScatter.make(inner_of(world), ids, dtype, method, route, unique, deduplicate,
                                                   executor, reproducible, name or place_of_caller())

    def duplicate(self) -> GatherScatter:
        """Return a second object with the same plans, which may be active at the same time.

        Collective; waits for the ranks of the node.
        """
        return GatherScatter._of(self._inner.duplicate())

    def start(self, values: Array, op: _operations.Operation = "sum", *, transposed: bool = False) -> None:
        """Start to combine values in place.

        Parameters
        ----------
        values : ndarray, shape (num_ids, ...)
        op : {"sum", "prod", "min", "max", "fmin", "fmax", "bit_or", "bit_and", "bit_xor"}, numpy.ufunc or mpi4py.MPI.Op
            As of `NeighborExchange.start_reverse`.
        transposed : bool
            Flagged copies give and do not get.

        Raises
        ------
        TypeError
            The dtype has Python objects, or something is no array, or the values have no such operation.
        ValueError
            There are not as many rows as ids, or the array is read-only or not C-contiguous.
        InvalidStateError
            An operation is active, or something is closed.
        """
        self._inner.start(values, op, bool(transposed))

    def combine(self, values: Array, op: _operations.Operation = "sum", *, transposed: bool = False) -> Array:
        """Combine values in place: `start` and `wait`.

        Returns
        -------
        ndarray, shape (num_ids, ...)
            `values`.
        """
        self.start(values, op, transposed=transposed)
        self.wait()
        return values

    num_ids = inner_property("num_ids", int, "The number of ids that the object was made with.")
    method = inner_property(
        "method", str, 'Who combines, "owners" or "holders"; during trials that of the last operation, as is the route.')


def flag_duplicates(world: Context, ids: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return ids of which all copies but one are flagged, by negation: the first one, on the lowest rank.

    Collective over `world`; blocks.

    Raises
    ------
    IndexOutOfRangeError
        An id is -2**63; on all ranks.
    """
    return np.asarray(extension.flag_duplicates(inner_of(world), ids))
