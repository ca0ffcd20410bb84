"""The names of operations that combine values."""

from __future__ import annotations

from typing import Union

import numpy as np
from mpi4py import MPI

Operation = Union[str, np.ufunc, MPI.Op]

_UFUNCS = {np.add: "sum", np.multiply: "prod", np.minimum: "min", np.maximum: "max", np.bitwise_or: "bit_or",
           np.bitwise_and: "bit_and"}
_MPI_OPS = ((MPI.SUM, "sum"), (MPI.PROD, "prod"), (MPI.MIN, "min"), (MPI.MAX, "max"), (MPI.BOR, "bit_or"),
            (MPI.BAND, "bit_and"))


def name_of(operation: Operation) -> str:
    """Return the library's name of an operation.

    Raises
    ------
    TypeError
        It is no operation that the library has.
    """
    if isinstance(operation, str):
        return operation
    if isinstance(operation, np.ufunc) and operation in _UFUNCS:
        return _UFUNCS[operation]
    if isinstance(operation, MPI.Op):
        for known, name in _MPI_OPS:
            if operation == known:
                return name
    raise TypeError(f"op must be a name, or a ufunc or MPI.Op that is one of {', '.join(_UFUNCS.values())}; "
                    f"not {operation!r}")
