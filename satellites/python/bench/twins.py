"""Times what Python adds: the same exchanges, products and pushes from Python and in C++, in the same processes.

    ninja -C build/release crossdock_python_twins
    mpirun -n 2 python satellites/python/bench/twins.py build/release/libcrossdock_python_twins.so > record.jsonl

Python and C++ take turns, in another order each time; a measurement takes as long as on the slowest rank, and both
give the same result before they are timed. `ratio` is Python's time divided by that of C++ in the same turn.
"""

import argparse
import ctypes
import json
import sys
import time

import numpy as np
import scipy.sparse
from mpi4py import MPI

import crossdock

COMM = MPI.COMM_WORLD


class Csr(ctypes.Structure):
    """A matrix of SciPy as C++ takes it."""

    _fields_ = [("num_rows", ctypes.c_int64), ("row_begins", ctypes.c_void_p), ("columns", ctypes.c_void_p),
                ("values", ctypes.c_void_p)]

    def __init__(self, matrix):
        assert matrix.indptr.dtype == matrix.indices.dtype == np.int32
        super().__init__(matrix.shape[0], matrix.indptr.ctypes.data, matrix.indices.ctypes.data,
                         matrix.data.ctypes.data)


class Twins:
    """The library, and what of it belongs to this communicator."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.twins_create.restype = ctypes.c_void_p
        self.library.twins_sum.restype = ctypes.c_int64
        for name in ("exchange", "product", "local_product", "push"):
            getattr(self.library, f"twins_{name}").restype = ctypes.c_double
        self.handle = ctypes.c_void_p(self.library.twins_create(ctypes.c_void_p(MPI._addressof(COMM))))

    def call(self, name, *arguments):
        given = [ctypes.c_void_p(one.ctypes.data) if isinstance(one, np.ndarray)
                 else ctypes.c_int64(one) if isinstance(one, int) else ctypes.byref(one) for one in arguments]
        return getattr(self.library, f"twins_{name}")(self.handle, *given)


def laplacian(side, world):
    """This rank's rows of a 5-point stencil: a strip of `side` columns."""
    length = side * side * world.num_ranks
    rows = np.arange(side * side * world.rank, side * side * (world.rank + 1))
    offsets = np.array([0, -1, 1, -side, side])
    columns = rows[:, None] + offsets
    there = (columns >= 0) & (columns < length)
    there[:, 1] &= rows % side != 0
    there[:, 2] &= rows % side != side - 1
    values = np.where(offsets == 0, 4.0, -1.0) * np.ones_like(columns)
    local = np.broadcast_to(np.arange(len(rows))[:, None], columns.shape)
    return scipy.sparse.csr_array((values[there], (local[there], columns[there])), shape=(len(rows), length))


def measure(in_python, in_cpp, turns, warm_ups):
    """The seconds of each turn on the slowest rank, of Python and of C++."""
    seconds = np.empty((2, warm_ups + turns))
    for turn in range(warm_ups + turns):
        for which in np.random.default_rng(turn).permutation(2):
            COMM.Barrier()
            seconds[which, turn] = (in_python, in_cpp)[which]()
    COMM.Allreduce(MPI.IN_PLACE, seconds, MPI.MAX)
    return seconds[:, warm_ups:]


def timed(call):
    def measured():
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin
    return measured


def require(is_right):
    if not COMM.allreduce(bool(is_right), MPI.LAND):
        sys.exit("Python and C++ give different results")


def product(world, twins, given):
    side = round(given.rows**0.5)
    matrix = crossdock.DistributedMatrix.from_scipy(world, laplacian(side, world))
    x = np.sqrt(np.arange(matrix.columns.start, matrix.columns.stop, dtype=float))
    inside, outside = (scipy.sparse.csr_array(part) for part in (matrix._inner.inside, matrix._inner.outside))
    parts = Csr(inside), Csr(outside)
    twins.call("make_halo", matrix.columns.start, len(matrix.columns), matrix.ghost_columns,
               len(matrix.ghost_columns))
    y = np.empty(len(matrix.rows))
    twins.call("product", *parts, x, y)
    require(np.array_equal(matrix @ x, y))
    yield "product", len(x), measure(timed(lambda: matrix @ x), lambda: twins.call("product", *parts, x, y),
                                     given.turns, given.warm_ups)

    # The products of the parts alone, by SciPy: the rest is the exchange and what Python adds.
    ghosts = np.zeros(len(matrix.ghost_columns))

    def both_parts():
        result = inside @ x
        result += outside @ ghosts
    yield "local_product", len(x), measure(
        timed(both_parts), lambda: twins.call("local_product", *parts, x, ghosts, y), given.turns, given.warm_ups)

    slots, again = np.empty(len(ghosts)), np.empty(len(ghosts))
    twins.call("exchange", x, slots, 1)
    matrix.halo.forward(x, again)
    require(np.array_equal(slots, again))
    halo, count = matrix.halo, given.exchanges

    def exchanges():
        for _ in range(count):
            halo.start(x, again)
            halo.wait()
    yield "exchange", count, measure(timed(exchanges), lambda: twins.call("exchange", x, slots, count), given.turns,
                                     given.warm_ups)
    matrix.close()


def push(world, twins, given):
    random = np.random.default_rng(world.rank)
    to, items = random.integers(world.num_ranks, size=given.items), random.integers(1000, size=given.items)
    total = np.zeros(1, int)

    def handle(port, came):
        total[0] += came.sum()

    twins.call("make_stream")
    with crossdock.Stream(world, int, handle) as stream:
        def pushes():
            stream.push(to, items)
            stream.drain()
        pushes()
        twins.call("push", to, items, len(items))
        require(total[0] == twins.library.twins_sum(twins.handle))
        yield "push", len(items), measure(timed(pushes), lambda: twins.call("push", to, items, len(items)),
                                          given.turns, given.warm_ups)


def spread(values):
    return {"min": float(values.min()), "lower_quartile": float(np.quantile(values, 0.25)),
            "median": float(np.median(values)), "upper_quartile": float(np.quantile(values, 0.75)),
            "max": float(values.max())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="the one of the target crossdock_python_twins")
    parser.add_argument("--rows", type=int, default=100000, help="of the matrix, on a rank")
    parser.add_argument("--items", type=int, default=1000000, help="that a rank pushes at once")
    parser.add_argument("--exchanges", type=int, default=1000, help="of a turn")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--warm-ups", type=int, default=5)
    given = parser.parse_args()
    world = crossdock.Context(COMM)
    twins = Twins(given.library)
    results = [one for workload in (product, push) for one in workload(world, twins, given)]
    twins.call("free")
    if COMM.rank != 0:
        return
    version = MPI.Get_library_version().split("\0")[0].splitlines()[0].split(",")[0]
    print(json.dumps({"schema": "crossdock.bench.python.twins/1", "version": crossdock.__version__, "mpi": version,
                      "ranks": world.num_ranks, "turns": given.turns, "warm_ups": given.warm_ups}))
    for name, size, (in_python, in_cpp) in results:
        print(json.dumps(["workloads", {
            "name": name, "size": size, "verified": True, "ratio": spread(in_python / in_cpp),
            "python_seconds": spread(in_python), "cpp_seconds": spread(in_cpp)}]))


if __name__ == "__main__":
    main()
