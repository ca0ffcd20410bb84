"""Exchanges of arrays in a GPU's memory, over crossdock_device.h: CuPy's, PyTorch's, JAX's and all others' that have
``__cuda_array_interface__`` or ``__dlpack__``.

    world = crossdock_device.Context(MPI.COMM_WORLD)
    halo = crossdock_device.NeighborExchange(world, first_row, num_rows, ghosts)
    halo.start(x, x_ghosts, stream)     # a stream's address, such as cupy.cuda.Stream.ptr; 0 is the default stream
    halo.wait(stream)

    came = crossdock_device.sparse_exchange(world, destinations, counts, values, stream)
    y = cupy.asarray(came.values)       # or torch.from_dlpack(came.values)

Words and collectivity are those of crossdock_device.h. A failure raises `Error`.
"""
from __future__ import annotations

import ctypes
import math
import os
import weakref
from pathlib import Path
from typing import Any, NamedTuple, Sequence

from mpi4py import MPI

# Beside the folder that this file is installed in, or where the loader finds it.
_installed = Path(__file__).resolve().parents[2] / "libcrossdock_device.so"
_library = ctypes.CDLL(os.environ.get("CROSSDOCK_DEVICE_LIBRARY")
                       or str(_installed if _installed.exists() else _installed.name))
_library.crossdock_last_error.restype = ctypes.c_char_p
_TYPES = {"<f8": MPI.DOUBLE, "<f4": MPI.FLOAT, "<i4": MPI.INT32_T, "<i8": MPI.INT64_T}
_INVALID_ARGUMENT = 1
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


class Error(RuntimeError):
    """What a function of the library returned, and its sentence."""

    def __init__(self, status: int) -> None:
        super().__init__(_library.crossdock_last_error().decode())
        self.status = status


def _call(name: str, *arguments: Any) -> None:
    """Calls no error handler of MPI's, but raises."""
    before = _library.crossdock_call_error_handlers(0)
    status = getattr(_library, f"crossdock_{name}")(*arguments)
    _library.crossdock_call_error_handlers(before)
    if status != 0:
        raise Error(status)


def _mpi(handle: Any) -> Any:
    """A handle of MPI's as C passes it: an address, or an int."""
    kind = ctypes.c_int if MPI._sizeof(handle) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    return kind.from_address(MPI._addressof(handle))


class _Tensor(ctypes.Structure):
    """A DLTensor, at the begin of a DLManagedTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("vector", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    """A DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# Of a capsule that is being freed, by its address.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_last_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
_lent: dict[int, tuple[Any, ...]] = {}  # what capsules of ours stand for, by the address of their DLManagedTensor


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _take_back(managed: int) -> None:
    _lent.pop(managed, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop(capsule: int) -> None:
    """Takes back what nobody has taken out of a capsule, whose name it then still has."""
    if _is_valid(capsule, b"dltensor"):
        _take_back(_last_pointer_of(capsule, b"dltensor"))


class _Values(NamedTuple):
    address: int
    shape: tuple[int, ...]
    type: str  # as NumPy's typestr
    owner: Any  # keeps the memory
    device: tuple[int, int] | None = None  # as DLPack has it, where the array says it

    @property
    def item_bytes(self) -> int:
        return math.prod(self.shape[1:]) * int(self.type[2:])


def _values(array: Any, stream: int, is_written: bool = False) -> _Values:
    """What an array says of its memory, which has no gaps."""
    if hasattr(array, "__cuda_array_interface__"):
        said = array.__cuda_array_interface__
        address, is_read_only = said["data"]
        if is_written and is_read_only:
            raise ValueError("the array is read-only")
        found = _Values(address or 0, tuple(said["shape"]), said["typestr"], array)
        strides = said.get("strides")
        item = int(found.type[2:])
    else:
        capsule = array.__dlpack__(stream=stream or 1)
        tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
        if tensor.vector != 1 or tensor.code not in _DLPACK_KINDS:
            raise ValueError("the array has values of another kind than numbers")
        shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        found = _Values((tensor.data or 0) + tensor.byte_offset, shape,
                        f"<{_DLPACK_KINDS[tensor.code]}{tensor.bits // 8}", capsule,
                        (tensor.device_type, tensor.device_id))
        strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
        item = 1
    without_gaps = [item * math.prod(found.shape[i + 1:]) for i in range(len(found.shape))]
    if strides is not None and 0 not in found.shape and list(strides) != without_gaps:
        raise ValueError("the array has gaps or is transposed; make a contiguous one")
    if hasattr(array, "__dlpack_device__"):
        found = found._replace(device=tuple(map(int, array.__dlpack_device__())))
    return found


def _require(values: _Values, num_items: int, what: str) -> None:
    if not values.shape or values.shape[0] < num_items:
        raise ValueError(f"there are too few {what}: {values.shape[:1]}, but {num_items} are needed")


class Context:
    """The ranks, as crossdock_context_create makes it."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._handle = ctypes.c_void_p()
        _call("context_create", _mpi(comm), None, ctypes.byref(self._handle))

    def close(self) -> None:
        _call("context_close", self._handle)


class _Exchange:
    """What is started and waited for. It keeps arrays meanwhile."""

    _kind = ""

    def __init__(self) -> None:
        self._handle = ctypes.c_void_p()
        self._kept: list[Any] = []

    def _start(self, function: str, prepare: Any, fallback: tuple[Any, ...], stream: int) -> None:
        """If arguments are wrong, this rank takes part with nothing, as the library does."""
        try:
            arguments, arrays = prepare()
        except Exception:  # also what the producer of an array says
            try:
                _call(f"{self._kind}_{function}", self._handle, *fallback, ctypes.c_void_p(stream))
            except Error:  # as it has to
                pass
            raise
        _call(f"{self._kind}_{function}", self._handle, *arguments, ctypes.c_void_p(stream))
        self._kept = arrays

    def test(self, stream: int = 0) -> bool:
        is_complete = ctypes.c_int()
        _call(f"{self._kind}_test", self._handle, ctypes.c_void_p(stream), ctypes.byref(is_complete))
        return bool(is_complete)

    def wait(self, stream: int = 0) -> None:
        """Let the stream have the result; arrays are kept until the next start."""
        _call(f"{self._kind}_wait", self._handle, ctypes.c_void_p(stream))

    def free(self) -> None:
        _call(f"{self._kind}_free", self._handle)
        self._handle = ctypes.c_void_p()


class NeighborExchange(_Exchange):
    """Fills ghosts, and brings them home. Items are entries or rows; `needed` are global indices, in the host's memory.

    Of each rank items are consecutive global indices from `first_owned` on.
    """

    _kind = "device_neighbor_exchange"

    def __init__(self, where: Context, first_owned: int, num_owned: int, needed: Any, path: str = "auto") -> None:
        super().__init__()
        ghosts = [int(index) for index in needed]
        self._num_items, self._num_slots = num_owned, len(ghosts)
        pattern = ctypes.c_void_p()
        _call("pattern_from_needed_range", where._handle, ctypes.c_int64(first_owned), ctypes.c_int64(num_owned),
              ctypes.c_int64(len(ghosts)), (ctypes.c_int64 * len(ghosts))(*ghosts), ctypes.byref(pattern))
        try:
            _call(f"{self._kind}_create", where._handle, pattern, None, None, path.encode(), ctypes.byref(self._handle))
        finally:
            _call("pattern_free", pattern)

    def _pair(self, items: Any, slots: Any, stream: int, is_reverse: bool) -> tuple[_Values, _Values]:
        of_items = _values(items, stream, is_written=is_reverse)
        of_slots = _values(slots, stream, is_written=not is_reverse)
        _require(of_items, self._num_items, "items")
        _require(of_slots, self._num_slots, "slots")
        if (of_items.type, of_items.shape[1:]) != (of_slots.type, of_slots.shape[1:]):
            raise ValueError("items and slots differ in type or shape")
        return of_items, of_slots

    def start(self, items: Any, slots: Any, stream: int = 0) -> None:
        def prepare() -> Any:
            a, b = self._pair(items, slots, stream, is_reverse=False)
            return (ctypes.c_void_p(a.address), ctypes.c_void_p(b.address), ctypes.c_size_t(a.item_bytes)), [a, b]
        self._start("start", prepare, (None, None, ctypes.c_size_t(0)), stream)

    def start_reverse(self, slots: Any, items: Any, operation: MPI.Op = MPI.SUM, stream: int = 0) -> None:
        def prepare() -> Any:
            a, b = self._pair(items, slots, stream, is_reverse=True)
            if len(a.shape) != 1:
                raise ValueError("items of a reverse exchange are single numbers")
            return (ctypes.c_void_p(b.address), ctypes.c_void_p(a.address), _mpi(_TYPES[a.type]),
                    _mpi(operation)), [a, b]
        self._start("start_reverse", prepare, (None, None, _mpi(MPI.DATATYPE_NULL), _mpi(operation)), stream)


class GatherScatter(_Exchange):
    """Combines the copies of global ids; `ids` are in the host's memory."""

    _kind = "device_gather_scatter"

    def __init__(self, where: Context, ids: Any) -> None:
        super().__init__()
        given = [int(one) for one in ids]
        self._num_ids = len(given)
        _call(f"{self._kind}_create", where._handle, ctypes.c_int64(len(given)), (ctypes.c_int64 * len(given))(*given),
              None, None, ctypes.byref(self._handle))

    def start(self, values: Any, operation: MPI.Op = MPI.SUM, transposed: bool = False, stream: int = 0) -> None:
        def prepare() -> Any:
            of_ids = _values(values, stream, is_written=True)
            _require(of_ids, self._num_ids, "values")
            return (ctypes.c_void_p(of_ids.address), ctypes.c_int64(math.prod(of_ids.shape[1:])),
                    _mpi(_TYPES[of_ids.type]), _mpi(operation), ctypes.c_int(transposed)), [of_ids]
        self._start("start", prepare, (None, ctypes.c_int64(1), _mpi(MPI.DATATYPE_NULL), _mpi(operation),
                                       ctypes.c_int(transposed)), stream)


class _Messages(ctypes.Structure):
    """crossdock_device_messages."""

    _fields_ = [("num_messages", ctypes.c_int64), ("sources", ctypes.POINTER(ctypes.c_int)),
                ("counts", ctypes.POINTER(ctypes.c_int64)), ("displacements", ctypes.POINTER(ctypes.c_int64)),
                ("values", ctypes.c_void_p), ("owner", ctypes.c_void_p)]


class ReceivedValues:
    """Values in memory of the device, for all that take `__cuda_array_interface__` or `__dlpack__`.

    They are complete, and freed with the last array that is made of them.
    """

    def __init__(self, came: _Messages, num_values: int, like: _Values) -> None:
        self.shape = (num_values, *like.shape[1:])
        self._like = like._replace(address=came.values or 0, shape=self.shape, owner=None)
        weakref.finalize(self, _call, "device_messages_free", ctypes.byref(came))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.shape, "typestr": self._like.type, "data": (self._like.address, False), "version": 3,
                "strides": None, "stream": None}

    def __dlpack_device__(self) -> tuple[int, int]:
        if self._like.device is None:
            raise BufferError("the values that were sent do not say their device; take __cuda_array_interface__")
        return self._like.device

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the values are lent where they are, without a copy")
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        kind = {letter: code for code, letter in _DLPACK_KINDS.items()}[self._like.type[1]]
        bits = 8 * int(self._like.type[2:])
        tensor = _Tensor(self._like.address, *self.__dlpack_device__(), len(shape), kind, bits, 1, shape, None, 0)
        managed = _Managed(tensor, None, _take_back)
        _lent[ctypes.addressof(managed)] = (self, managed, shape)
        return _new_capsule(ctypes.addressof(managed), b"dltensor", ctypes.cast(_drop, ctypes.c_void_p))


class Received(NamedTuple):
    """What came in a sparse exchange: the i-th message is `values[displacements[i]:][:counts[i]]`."""

    sources: list[int]
    counts: list[int]
    displacements: list[int]
    values: ReceivedValues


def sparse_exchange(where: Context, destinations: Sequence[int], counts: Sequence[int], values: Any, stream: int = 0,
                    algorithm: str = "auto") -> Received:
    """Sends `counts[i]` values, entries or rows, one after the other, to rank `destinations[i]`. Collective.

    Destinations and counts are in the host's memory. If arguments of one rank are wrong, it fails on all ranks.
    """
    came = _Messages()
    to: list[int] = []
    lengths: list[int] = []
    sent, fault = _Values(0, (0,), "|u1", None), None
    try:
        to, lengths = [int(rank) for rank in destinations], [int(count) for count in counts]
        if len(to) != len(lengths):
            raise ValueError(f"there are {len(to)} destinations, but {len(lengths)} counts")
        sent = _values(values, stream)
        _require(sent, sum(lengths), "values")
    except Exception as why:  # also what the producer of an array says
        fault = why
        _library.crossdock_fail_next(_INVALID_ARGUMENT, str(why).encode())
    try:
        _call("device_sparse_exchange", where._handle, ctypes.c_int64(len(to)), (ctypes.c_int * len(to))(*to),
              (ctypes.c_int64 * len(to))(*lengths[:len(to)]), ctypes.c_void_p(sent.address),
              ctypes.c_size_t(sent.item_bytes), algorithm.encode(), None, ctypes.c_void_p(stream), ctypes.byref(came))
    except Error:
        if fault is None:
            raise
        raise fault from None
    given = slice(came.num_messages)
    counted = came.counts[given]
    return Received(came.sources[given], counted, came.displacements[given], ReceivedValues(came, sum(counted), sent))
