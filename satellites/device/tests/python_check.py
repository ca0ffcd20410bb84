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


def copy_out(address, shape, dtype):
    found = numpy.empty(shape, dtype)
    device._call("device_copy_out", DEVICE, found.ctypes.data_as(ctypes.c_void_p), address,
                 ctypes.c_size_t(found.nbytes), None)
    return found


class Array:
    """An array in memory of the mock. What derives from it says where it is."""

    def __init__(self, values):
        self.values = numpy.ascontiguousarray(values)
        self.memory = ctypes.c_void_p()
        device._call("device_allocate", DEVICE, ctypes.c_size_t(max(self.values.nbytes, 1)), ctypes.byref(self.memory))
        device._call("device_copy_in", DEVICE, self.memory, self.values.ctypes.data_as(ctypes.c_void_p),
                     ctypes.c_size_t(self.values.nbytes), None)

    def get(self):
        return copy_out(self.memory, self.values.shape, self.values.dtype)


class InterfaceArray(Array):
    strides = None
    is_read_only = False

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.values.shape, "typestr": self.values.dtype.str, "version": 3, "strides": self.strides,
                "data": (self.memory.value, self.is_read_only)}


class DlpackArray(Array):
    def __dlpack__(self, stream=None):
        shape = (ctypes.c_int64 * self.values.ndim)(*self.values.shape)
        kind = {"i": 0, "f": 2, "c": 5}[self.values.dtype.kind]
        managed = device._Managed(device._Tensor(self.memory.value - 16, 12, 3, self.values.ndim, kind,
                                                 8 * self.values.itemsize, 1, shape, None, 16))
        self.kept = (managed, shape)
        return device._new_capsule(ctypes.addressof(managed), b"dltensor", None)


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

    def test_SparseExchangeBringsMessages(self):
        # Two values for the next rank, and one for this.
        destinations, counts = [(RANK + 1) % NUM_RANKS, RANK], [2, 1]
        for producer in PRODUCERS:
            for dtype, shape in (("f8", ()), ("i4", (3,)), ("c16", (2, 2))):
                with self.subTest(producer=producer.__name__, dtype=dtype):
                    x = owned(5, *shape).astype(dtype)[:3]
                    everything = COMM.allgather(x)
                    came = device.sparse_exchange(self.world, destinations, counts, producer(x))
                    said = came.values.__cuda_array_interface__
                    self.assertEqual((said["shape"], said["typestr"]), ((3, *shape), x.dtype.str))
                    values = copy_out(ctypes.c_void_p(said["data"][0]), said["shape"], said["typestr"])
                    last = (RANK - 1) % NUM_RANKS
                    self.assertEqual(sorted(zip(came.sources, came.counts)), sorted([(last, 2), (RANK, 1)]))
                    self.assertEqual(came.displacements, [0, came.counts[0]])
                    for source, count, first in zip(came.sources, came.counts, came.displacements):
                        numpy.testing.assert_array_equal(values[first:][:count],
                                                         everything[source][:2] if count == 2 else x[2:])

    def test_ReceivedValuesAreLentUntilTheLastUserIsDone(self):
        x = owned(6, 2).astype("f4")
        for is_taken in (True, False):
            came = device.sparse_exchange(self.world, [RANK], [3], DlpackArray(x))
            kept = weakref.ref(came.values)
            address = came.values.__cuda_array_interface__["data"][0]
            self.assertRaises(BufferError, came.values.__dlpack__, copy=True)
            capsule = came.values.__dlpack__(stream=1, max_version=(1, 0))
            self.assertEqual(came.values.__dlpack_device__(), (12, 3))
            del came
            managed = device._Managed.from_address(device._pointer_of(capsule, b"dltensor"))
            tensor = managed.tensor
            self.assertEqual((tensor.data, tensor.device_type, tensor.device_id, tensor.code, tensor.bits, tensor.vector),
                             (address, 12, 3, 2, 32, 1))
            self.assertEqual(tensor.shape[:tensor.ndim], [3, 2])
            numpy.testing.assert_array_equal(copy_out(ctypes.c_void_p(tensor.data), (3, 2), "f4"), x[:3])
            if is_taken:
                rename = ctypes.pythonapi.PyCapsule_SetName
                rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
                rename(capsule, b"used_dltensor")
            del capsule
            if is_taken:
                self.assertIsNotNone(kept())
                managed.deleter(ctypes.addressof(managed))
            self.assertIsNone(kept())
        came = device.sparse_exchange(self.world, [], [], InterfaceArray(x))
        self.assertEqual((came.sources, came.values.shape), ([], (0, 2)))
        self.assertRaises(BufferError, came.values.__dlpack__)

    def test_WrongMessagesFailOnAllRanks(self):
        x = owned(7).astype("f8")
        gaps = InterfaceArray(x)
        gaps.strides = (16,)
        good = ([RANK], [2], InterfaceArray(x))
        for wrong in (([RANK], [13], good[2]), ([RANK], [2], gaps), ([RANK], [2], x), ([RANK, RANK], [2], good[2]),
                      ([RANK], [2, 1], good[2])):
            is_wrong = RANK == NUM_RANKS - 1
            with self.assertRaises((ValueError, RuntimeError) if is_wrong else device.Error) as failed:
                device.sparse_exchange(self.world, *(wrong if is_wrong else good))
            if not is_wrong:
                self.assertEqual(failed.exception.status, device._INVALID_ARGUMENT)
        self.assertRaises(device.Error, device.sparse_exchange, self.world, *good, algorithm="none")
        self.assertEqual(device.sparse_exchange(self.world, *good).counts, [2])


if __name__ == "__main__":
    unittest.main(argv=["python_check"], verbosity=0)
