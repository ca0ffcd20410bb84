"""Times the halo of y = A x in Python: crossdock against mpi4py on the same communicator.

    mpirun -n 8 python satellites/python/bench/neighbor.py data/msc01050.mtx.gz > record.jsonl

Each exchange begins when all ranks are ready and takes as long as on the slowest rank. Contenders take turns, in
another order each time. The record has a first line of what all have in common, and one line for each contender.
"""

import argparse
import json
import sys
import time

import numpy as np
from mpi4py import MPI

import crossdock

COMM = MPI.COMM_WORLD


class Halo:
    """The columns that this rank needs, and what it sends to whom."""

    def __init__(self, world, path):
        with crossdock.DistributedMatrix.from_file(world, path, route="direct") as matrix:
            self.columns, self.ghosts = matrix.columns, matrix.ghost_columns
        self.pattern = crossdock.Pattern.from_needed(world, self.columns, self.ghosts)
        self.sends, self.receives = self.pattern.sends, self.pattern.receives

    def items(self):
        return np.sqrt(np.arange(self.columns.start, self.columns.stop, dtype=float))


class Crossdock:
    """A NeighborExchange along a route."""

    def __init__(self, world, halo, route):
        self.name = route
        self.exchange_ = crossdock.NeighborExchange(world, halo.pattern, route=route)
        self.route = self.exchange_.route

    def forward(self, items, slots):
        self.exchange_.forward(items, slots)


class NeighborAlltoallv:
    """MPI's neighborhood collective with NumPy buffers, packed by numpy.take."""

    name = "mpi4py_neighbor_alltoallv"
    route = None

    def __init__(self, halo):
        self.graph = COMM.Create_dist_graph_adjacent(halo.receives.ranks.tolist(), halo.sends.ranks.tolist())
        self.taken = halo.sends.indices
        self.packed = np.empty(len(self.taken))
        self.send_counts, self.receive_counts = (np.diff(side.offsets).tolist() for side in (halo.sends, halo.receives))
        # Ghosts ascend, and so do their owners.
        assert np.array_equal(halo.receives.indices, np.arange(len(halo.ghosts)))

    def forward(self, items, slots):
        np.take(items, self.taken, out=self.packed, mode="clip")
        self.graph.Neighbor_alltoallv([self.packed, self.send_counts, MPI.DOUBLE],
                                      [slots, self.receive_counts, MPI.DOUBLE])


class NeighborObjects:
    """The same collective with pickled arrays."""

    name = "mpi4py_neighbor_objects"
    route = None

    def __init__(self, halo):
        self.graph = COMM.Create_dist_graph_adjacent(halo.receives.ranks.tolist(), halo.sends.ranks.tolist())
        self.taken = np.split(halo.sends.indices, halo.sends.offsets[1:-1]) if len(halo.sends.ranks) else []

    def forward(self, items, slots):
        came = self.graph.neighbor_alltoall([items[one] for one in self.taken])
        if came:
            np.concatenate(came, out=slots)


def verified(contender, halo):
    slots = np.full(len(halo.ghosts), -1.0)
    contender.forward(halo.items(), slots)
    return COMM.allreduce(bool(np.array_equal(slots, np.sqrt(halo.ghosts))), MPI.LAND)


def measure(contenders, halo, warm_ups, iterations):
    """The seconds of each exchange of each contender on the slowest rank."""
    items, slots = halo.items(), np.empty(len(halo.ghosts))
    seconds = np.empty((len(contenders), warm_ups + iterations))
    for i in range(warm_ups + iterations):
        # None is always the first after another one, whose data fill the caches.
        for c in np.random.default_rng(i).permutation(len(contenders)):
            COMM.Barrier()
            begin = time.perf_counter()
            contenders[c].forward(items, slots)
            seconds[c, i] = time.perf_counter() - begin
    COMM.Allreduce(MPI.IN_PLACE, seconds, MPI.MAX)
    return seconds[:, warm_ups:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="a Matrix Market file")
    parser.add_argument("--topology", help="which ranks share a node, such as 2x4")
    parser.add_argument("--routes", default="direct,auto", help="separated by commas")
    parser.add_argument("--warm-ups", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=1000)
    given = parser.parse_args()
    world = crossdock.Context(COMM, given.topology)
    halo = Halo(world, given.file)
    contenders = [Crossdock(world, halo, route) for route in given.routes.split(",")]
    contenders += [NeighborAlltoallv(halo), NeighborObjects(halo)]
    proofs = [verified(contender, halo) for contender in contenders]
    if not all(proofs):
        sys.exit("a contender gives another result")
    seconds = measure(contenders, halo, given.warm_ups, given.iterations)
    totals = np.array([len(halo.sends.ranks), len(halo.sends.indices)])
    COMM.Allreduce(MPI.IN_PLACE, totals)
    if COMM.rank != 0:
        return
    version = MPI.Get_library_version().split("\0")[0].splitlines()[0].split(",")[0]
    print(json.dumps({
        "schema": "crossdock.bench.python.neighbor/1", "version": crossdock.__version__, "mpi": version,
        "ranks": world.num_ranks, "topology": str(world.topology), "file": given.file.rpartition("/")[2],
        "messages": int(totals[0]), "items": int(totals[1]), "item_bytes": 8, "warm_ups": given.warm_ups,
        "iterations": given.iterations}))
    for contender, times in zip(contenders, seconds):
        print(json.dumps(["contenders", {
            "name": contender.name, "route": contender.route, "verified": True,
            "exchange_seconds": {"min": times.min(), "lower_quartile": np.quantile(times, 0.25),
                                 "median": np.median(times), "max": times.max()}}]))


if __name__ == "__main__":
    main()
