"""Operations that combine values."""

from __future__ import annotations

from typing import Any, Union

import numpy as np
from mpi4py import MPI

Operation = Union[str, np.ufunc, MPI.Op]

_UFUNCS = {np.add: "sum", np.multiply: "prod", np.minimum: "min", np.maximum: "max", np.fmin: "fmin", np.fmax: "fmax",
           np.bitwise_or: "bit_or", np.bitwise_and: "bit_and", np.bitwise_xor: "bit_xor"}
_MPI_OPS = ((MPI.SUM, "sum"), (MPI.PROD, "prod"), (MPI.MIN, "min"), (MPI.MAX, "max"), (MPI.BOR, "bit_or"),
            (MPI.BAND, "bit_and"), (MPI.BXOR, "bit_xor"), (MPI.LAND, np.logical_and), (MPI.LOR, np.logical_or),
            (MPI.LXOR, np.logical_xor))


# Of what `with_number` in C++ knows, and of complex numbers.
_OWN_TYPES = frozenset("?bhilqpBHILQPfdFD")


def resolve(operation: Operation, dtype: np.dtype[Any] | None = None) -> Any:
    """Return the library's name of an operation, or the ufunc where it has none for a dtype.

    Raises
    ------
    TypeError
        It is no operation.
    """
    if isinstance(operation, str):
        return operation
    if isinstance(operation, MPI.Op):
        for known, same in _MPI_OPS:
            if operation == known:
                return same
    if isinstance(operation, np.ufunc) and operation in _UFUNCS and (dtype is None or dtype.base.char in _OWN_TYPES):
        return _UFUNCS[operation]
    # Those of numba are like those of NumPy, and no instances.
    if (getattr(operation, "nin", 0), getattr(operation, "nout", 0)) == (2, 1) and hasattr(operation, "at"):
        return operation
    raise TypeError(f"op must be a name such as {', '.join(_UFUNCS.values())}, a ufunc of two arguments, or one of "
                    f"MPI's own operations; not {operation!r}")


def name_of(operation: Operation) -> str:
    """Return the library's name of an operation that it has itself.

    Raises
    ------
    TypeError
        It has none.
    """
    found = resolve(operation)
    if not isinstance(found, str):
        raise TypeError(f"op must be {', '.join(_UFUNCS.values())}, or a ufunc or MPI.Op that is one of these; "
                        f"not {operation!r}")
    return found
