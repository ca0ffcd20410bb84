"""Arrays of producers of our own, over the mock, are exchanged as NumPy's are by hand; on all ranks of MPI."""
import ctypes
import unittest
import weakref

import numpy
from mpi4py import MPI

import crossdock_device as device

COMM = MPI.COMM_WORLD
RANK, NUM_RANKS = COMM.rank, COMM.size
DEVICE = ctypes.c_void_p()
device._call("device_open", None, ctypes.byref(DEVICE))


class Array:
    """An array in memory of the mock. What derives from it says where it is."""

    def __init__(self, values):
        self.values = numpy.ascontiguousarray(values)
        self.memory = ctypes.c_void_p()
        device._call("device_allocate", DEVICE, ctypes.c_size_t(max(self.values.nbytes, 1)), ctypes.byref(self.memory))
        device._call("device_copy_in", DEVICE, self.memory, self.values.ctypes.data_as(ctypes.c_void_p),
                     ctypes.c_size_t(self.values.nbytes), None)

    def get(self):
        found = numpy.empty_like(self.values)
        device._call("device_copy_out", DEVICE, found.ctypes.data_as(ctypes.c_void_p), self.memory,
                     ctypes.c_size_t(found.nbytes), None)
        return found


class InterfaceArray(Array):
    strides = None
    is_read_only = False

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.values.shape, "typestr": self.values.dtype.str, "version": 3, "strides": self.strides,
                "data": (self.memory.value, self.is_read_only)}


class DlpackArray(Array):
    def __dlpack__(self, stream=None):
        class Managed(ctypes.Structure):
            _fields_ = [("tensor", device._Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

        shape = (ctypes.c_int64 * self.values.ndim)(*self.values.shape)
        kind = {"i": 0, "f": 2}[self.values.dtype.kind]
        managed = Managed(device._Tensor(self.memory.value - 16, 12, 0, self.values.ndim, kind,
                                         8 * self.values.itemsize, 1, shape, None, 16), None, None)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.kept = (managed, shape)
        return new(ctypes.addressof(managed), b"dltensor", None)


PRODUCERS = (InterfaceArray, DlpackArray)
NUM_OWNED = 12
FIRST = RANK * NUM_OWNED
NEEDED = [(FIRST + NUM_OWNED) % (NUM_RANKS * NUM_OWNED), FIRST + 3]


def owned(seed, *shape):
    return numpy.random.default_rng(seed + RANK).integers(-1000, 1000, (NUM_OWNED, *shape))


class Doors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = device.Context(COMM)

    @classmethod
    def tearDownClass(cls):
        cls.world.close()

    def ghosts(self, x):
        everything = numpy.concatenate(COMM.allgather(x))
        return everything[NEEDED]

    def test_ForwardFillsGhosts(self):
        for producer in PRODUCERS:
            for dtype, shape in (("f8", ()), ("i4", (3,)), ("f4", (2, 2))):
                with self.subTest(producer=producer.__name__, dtype=dtype):
                    x = owned(1, *shape).astype(dtype)
                    halo = device.NeighborExchange(self.world, FIRST, NUM_OWNED, NEEDED)
                    items, slots = producer(x), producer(numpy.zeros((2, *shape), dtype))
                    halo.start(items, slots)
                    halo.wait()
                    numpy.testing.assert_array_equal(slots.get(), self.ghosts(x))
                    halo.free()

    def test_ReverseAddsGhosts(self):
        for producer in PRODUCERS:
            x = owned(2).astype("i8")
            slots = numpy.array([100 + RANK, 7], "i8")
            halo = device.NeighborExchange(self.world, FIRST, NUM_OWNED, NEEDED)
            items = producer(x)
            halo.start_reverse(producer(slots), items)
            while not halo.test():
                pass
            x[0] += 100 + (RANK - 1) % NUM_RANKS
            x[3] += 7
            numpy.testing.assert_array_equal(items.get(), x)
            halo.free()

    def test_GatherCombinesCopies(self):
        for producer in PRODUCERS:
            shared = device.GatherScatter(self.world, [5, 100 + RANK, 5])
            values = producer(numpy.array([[1.0, 2], [3, 4], [5, 6]]))
            shared.start(values, MPI.SUM)
            shared.wait()
            numpy.testing.assert_array_equal(values.get(), [[6 * NUM_RANKS, 8 * NUM_RANKS], [3, 4],
                                                            [6 * NUM_RANKS, 8 * NUM_RANKS]])
            shared.free()

    def test_WrongArraysFailOnTheirRankAndForThoseWhoNeedThem(self):
        x = owned(3).astype("f8")
        halo = device.NeighborExchange(self.world, FIRST, NUM_OWNED, NEEDED)
        good = InterfaceArray(x)
        slots = InterfaceArray(numpy.zeros(2))
        short, gaps, locked = InterfaceArray(x[:3]), InterfaceArray(x), InterfaceArray(numpy.zeros(2))
        gaps.strides, locked.is_read_only = (16,), True
        for items, to in ((short, slots), (gaps, slots), (good, locked), (good, InterfaceArray(numpy.zeros(2, "f4"))),
                          (x, slots)):
            if RANK == NUM_RANKS - 1:
                with self.assertRaises((ValueError, RuntimeError)):
                    halo.start(items, to)
            else:
                halo.start(good, slots)
                # Only the rank before needs something of the last one, and the first one's are its own.
                try:
                    halo.wait()
                except device.Error:
                    pass
        halo.start(good, slots)
        halo.wait()
        numpy.testing.assert_array_equal(slots.get(), self.ghosts(x))
        halo.free()

    def test_AStartThatIsRefusedLetsTheActiveExchangeKeepItsArrays(self):
        x = owned(4).astype("f8")
        halo = device.NeighborExchange(self.world, FIRST, NUM_OWNED, NEEDED)
        items, slots = InterfaceArray(x), InterfaceArray(numpy.zeros(2))
        kept = weakref.ref(items)
        halo.start(items, slots)
        del items
        with self.assertRaises(device.Error):
            halo.start(InterfaceArray(x), slots)
        self.assertIsNotNone(kept())
        halo.wait()
        numpy.testing.assert_array_equal(slots.get(), self.ghosts(x))
        halo.free()


if __name__ == "__main__":
    unittest.main(argv=["python_check"], verbosity=0)
