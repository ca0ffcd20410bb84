"""Imports the extension that is built for the MPI of mpi4py."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
from types import ModuleType
from typing import Any, Callable, TypeVar, cast

from mpi4py import MPI

T = TypeVar("T")
Own = TypeVar("Own", bound="Wrapper")

# The compiler of each binary interface.
_COMPILERS = {"openmpi": "Open MPI, as in MPICC=mpicc", "mpich": "MPICH, as in MPICC=mpicc",
              "mpi_abi": "the MPI-5 ABI, as in MPICC=mpicc_abi"}


def is_abi_loaded() -> bool:
    """Return whether the process has loaded a library of the MPI-5 ABI, as mpi4py does if it is built for that."""
    try:
        ctypes.CDLL("libmpi_abi.so.1", mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def family_of(version: str) -> str:
    """Return the binary interface of an MPI library: without the ABI, Intel's and others are those of MPICH."""
    if is_abi_loaded():
        return "mpi_abi"
    return "openmpi" if version.startswith("Open MPI") else "mpich"


def name_of(version: str) -> str:
    """Return the beginning of a version text, such as "Open MPI v4.1.4"."""
    return " ".join(version.splitlines()[0].split(",")[0].split())


def load(version: str) -> ModuleType:
    """Import the extension for the library with a version text.

    Raises
    ------
    ImportError
        There is none, or it is bound to another library.
    """
    family = family_of(version)
    folder = f"crossdock._{family}"
    try:
        found = importlib.import_module(f"{folder}._crossdock")
    except ModuleNotFoundError as missing:
        if missing.name not in (folder, f"{folder}._crossdock"):
            raise
        raise ImportError(f"mpi4py uses {name_of(version)}, but crossdock is not built for it: "
                          f"build it again with the compiler of {_COMPILERS[family]} pip install .",
                          name="crossdock") from None
    if found.mpi_version() != version:
        raise ImportError(f"mpi4py uses {name_of(version)}, but crossdock is bound to "
                          f"{name_of(found.mpi_version())}: both must load the same library", name="crossdock")
    return found


extension = load(MPI.Get_library_version().split("\0")[0])


def configuration() -> dict[str, Any]:
    """Return what the library is: its version, how it was built, and its MPI.

    The keys are those of the JSON that ``crossdock::configuration`` of C++ returns.
    """
    return cast(dict[str, Any], json.loads(extension.configuration()))


class Wrapper:
    """What users see of an object of the extension."""

    _inner: Any

    @classmethod
    def _of(cls: type[Own], inner: Any) -> Own:
        made = cls.__new__(cls)
        made._inner = inner
        return made


def inner_property(name: str, kind: Callable[[Any], T], doc: str) -> T:
    """Return a property that the extension's object behind an object has under the same name."""
    return cast(T, property(lambda own: kind(getattr(own._inner, name)), doc=doc))


def place_of_caller() -> str:
    """Return the place from which the function is called that calls this, as ``"solver.py:120"``."""
    frame = sys._getframe(2)
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
