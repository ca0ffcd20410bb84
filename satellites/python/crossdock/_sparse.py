"""The sparse exchange: a rank knows to whom it sends, not who sends to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from crossdock._context import Context, inner_of
from crossdock._extension import extension, place_of_caller

Array = npt.NDArray[Any]
Messages = Union[Mapping[int, Array], tuple[npt.ArrayLike, npt.ArrayLike, Array]]


class Message(NamedTuple):
    """A message that came."""

    source: int
    items: Array


class Received:
    """What came, and from whom.

    Iterating gives each `Message`; its items are a view of `values`.

    Attributes
    ----------
    sources : ndarray of int32, shape (num_messages,)
    counts : ndarray of int64, shape (num_messages,)
        Items of each message.
    values : ndarray, shape (num_values, ...)
        The items of all messages, one after the other.
    """

    def __init__(self, sources: npt.NDArray[np.int32], counts: npt.NDArray[np.int64], values: Array) -> None:
        self.sources = sources
        self.counts = counts
        self.values = values
        self._ends = np.cumsum(counts)

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> Message:
        end = int(self._ends[index])
        return Message(int(self.sources[index]), self.values[end - int(self.counts[index]):end])

    def __iter__(self) -> Iterator[Message]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"<Received: {len(self)} messages, {len(self.values)} items>"


def sparse_exchange(world: Context, messages: Messages, *, algorithm: str = "auto", order: str = "by_source",
                    name: str = "") -> Received:
    """Deliver messages to ranks that do not expect them.

    Items are what an index of the first dimension names, and are alike on all ranks that send any. Messages without
    items arrive, too, and so do those to the rank itself. Collective over `world`; blocks. Two reductions of a few
    words come before the exchange, so that all ranks hear of a fault.

    Parameters
    ----------
    world : Context
    messages : dict of {int: ndarray}, or tuple
        The items for each destination; or destinations, counts, and the items for all of them, one after the other.
        A destination may then occur several times: its messages arrive in the order given.
    algorithm : str
        ``"auto"``, or one that ``crossdock info`` lists, such as ``"nonblocking"`` or ``"routed:grid:2"``; equal on all
        ranks.
    order : {"by_source", "arrival"}
    name : str
        In reports; by default the place of the call, such as ``"solver.py:120"``. Rank 0's counts.

    Returns
    -------
    Received

    Raises
    ------
    RankOutOfRangeError
        A destination is not a rank; on all ranks.
    SizeMismatchError
        Destinations and counts differ in length, or there are fewer items; on all ranks.
    InvalidArgumentError
        A count is negative, items differ between messages or ranks, or an argument has another type; on all ranks.

    Examples
    --------
    >>> for source, items in sparse_exchange(world, {3: np.arange(4.0), 0: np.zeros(1)}):
    ...     print(source, items)
    """
    given = dict(messages) if isinstance(messages, Mapping) else messages
    return Received(*extension.sparse_exchange(inner_of(world), given, algorithm, order,
                                                 name or place_of_caller(), _describe, _make))


def _describe(array: Array) -> str:
    """Return the dtype and shape of an array's items as text."""
    return repr((np.lib.format.dtype_to_descr(array.dtype), array.shape[1:]))


def _make(items: str, count: int) -> Array:
    """Return a new array of items that a text describes; of floats if there is none."""
    if not items:
        return np.empty(count)
    description, shape = ast.literal_eval(items)
    return np.empty((count, *shape), np.lib.format.descr_to_dtype(description))
