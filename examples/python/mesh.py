"""Smooths an unstructured mesh: again and again every vertex moves to the middle of its neighbors.

    mpirun -n 4 python examples/python/mesh.py

Each rank has the vertices of a piece of the mesh, and before each step gets the places of those around it.
"""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.spatial
from mpi4py import MPI

import crossdock

Places = npt.NDArray[np.float64]

NUM_VERTICES = 3000
STEPS = 25


def pieces(places: Places, num_pieces: int) -> npt.NDArray[np.int64]:
    """The piece of each vertex: the mesh is cut across its longer side, and the halves again."""
    if num_pieces == 1:
        return np.zeros(len(places), int)
    order = np.argsort(places[:, np.argmax(np.ptp(places, axis=0))], kind="stable")
    left = num_pieces // 2
    halves = np.split(order, [len(order) * left // num_pieces])
    piece = np.empty(len(places), int)
    piece[halves[0]] = pieces(places[halves[0]], left)
    piece[halves[1]] = left + pieces(places[halves[1]], num_pieces - left)
    return piece


def mesh(num_pieces: int) -> tuple[Places, Any, npt.NDArray[np.int64]]:
    """The vertices in the order of their pieces, what takes each to the middle of its neighbors, and the cuts."""
    places = np.random.default_rng(0).random((NUM_VERTICES, 2)) * (2.0, 1.0)
    piece = pieces(places, num_pieces)
    places = places[np.argsort(piece, kind="stable")]
    triangles = scipy.spatial.Delaunay(places)
    corners = triangles.simplices
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    edges = edges[~np.isin(edges[:, 0], triangles.convex_hull)]  # the outline stays where it is
    edges = np.concatenate([edges, np.repeat(np.unique(triangles.convex_hull)[:, None], 2, axis=1)])
    weights = 1 / np.bincount(edges[:, 0])[edges[:, 0]]
    middles = scipy.sparse.csr_array((weights, (edges[:, 0], edges[:, 1])), shape=(NUM_VERTICES,) * 2)
    return places, middles, np.searchsorted(np.sort(piece), np.arange(num_pieces + 1))


def smooth(world: crossdock.Context, places: Places, rows: Any, owned: range) -> Places:
    ghosts = np.setdiff1d(rows.indices, owned)
    inside, outside = rows[:, owned.start:owned.stop], rows[:, ghosts]
    pattern = crossdock.Pattern.from_needed(world, owned, ghosts)
    around = np.empty((len(ghosts), 2))
    with crossdock.NeighborExchange(world, pattern, (float, 2)) as halo:
        for _ in range(STEPS):
            halo.start(places, around)
            moved = inside @ places  # while the places of others are on their way
            halo.wait()
            places = moved + outside @ around
    return places


def main() -> None:
    with crossdock.Context(MPI.COMM_WORLD) as world:
        places, middles, cuts = mesh(world.num_ranks)
        owned = range(cuts[world.rank], cuts[world.rank + 1])
        mine = slice(owned.start, owned.stop)
        smoothed = smooth(world, places[mine], middles[mine], owned)
        for _ in range(STEPS):
            places = middles @ places
        if not MPI.COMM_WORLD.allreduce(bool(np.allclose(smoothed, places[mine], rtol=1e-12)), MPI.LAND):
            sys.exit("a vertex is at another place than on one process")
        if world.rank == 0:
            print(f"smoothed {NUM_VERTICES} vertices on {world.num_ranks} ranks")


if __name__ == "__main__":
    main()
