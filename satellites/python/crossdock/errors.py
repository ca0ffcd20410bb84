"""Exceptions: one class for each status of the library."""

from __future__ import annotations

import builtins as _builtins

__all__ = [
    "CountMismatchError", "CountOverflowError", "Error", "FileError", "HandlerFailedError", "IndexOutOfRangeError",
    "InternalError", "InvalidArgumentError", "InvalidPlanError", "InvalidRouteError", "InvalidStateError",
    "InvalidTopologyError", "MPIError", "OutOfMemoryError", "ParseError", "PeerFailedError", "RankFailedError",
    "RankOutOfRangeError", "SizeMismatchError", "TimeoutError", "UnknownRouteError",
]


class Error(Exception):
    """What the library raises.

    Attributes
    ----------
    rank : int
        The rank that found the fault, or -1 where no rank is involved; of a `PeerFailedError` or `RankFailedError` the
        rank that failed.
    """

    rank: int = -1


class InvalidArgumentError(Error, ValueError):
    """A value is outside what the function accepts."""


class InvalidTopologyError(Error, ValueError):
    """A topology is malformed or does not fit the ranks."""


class UnknownRouteError(Error, ValueError):
    """No registered route has this name."""


class InvalidRouteError(Error, ValueError):
    """A route's parameters are malformed or do not fit the ranks."""


class SizeMismatchError(Error, ValueError):
    """Two arguments that must agree in length do not."""


class RankOutOfRangeError(Error, IndexError):
    """A source or destination is not a rank."""


class IndexOutOfRangeError(Error, IndexError):
    """An item, slot or global index is outside its array."""


class CountMismatchError(Error, ValueError):
    """A sender and its receiver disagree about the count."""


class CountOverflowError(Error, OverflowError):
    """A number does not fit the type that MPI or a plan needs."""


class FileError(Error, OSError):
    """A file is missing or unreadable."""


class ParseError(Error, ValueError):
    """A file or text is malformed or truncated."""


class InvalidStateError(Error, RuntimeError):
    """The call is not legal in the object's present state."""


class InvalidPlanError(Error, ValueError):
    """A plan does not do what its pattern asks."""


class MPIError(Error, RuntimeError):
    """A call of MPI failed."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""


class InternalError(Error, RuntimeError):
    """A fault of the library itself."""


class HandlerFailedError(Error, RuntimeError):
    """A handler of a stream has raised an exception."""


class PeerFailedError(Error, RuntimeError):
    """Another rank failed, and what this one needs of it is missing."""


class TimeoutError(Error, _builtins.TimeoutError):
    """A wait lasted longer than CROSSDOCK_WATCHDOG allows."""


class RankFailedError(Error, RuntimeError):
    """A rank has ended, and MPI tells of it."""


# By the numbers of the library's statuses, from 1.
_CLASSES = (
    InvalidArgumentError, InvalidTopologyError, UnknownRouteError, InvalidRouteError, SizeMismatchError,
    RankOutOfRangeError, IndexOutOfRangeError, CountMismatchError, CountOverflowError, FileError, ParseError,
    InvalidStateError, InvalidPlanError, MPIError, OutOfMemoryError, InternalError, HandlerFailedError,
    PeerFailedError, TimeoutError, RankFailedError,
)


def from_code(code: int, message: str, rank: int) -> Error:
    """Return the exception for a status of the library."""
    made = _CLASSES[code - 1](message)
    made.rank = rank
    return made
