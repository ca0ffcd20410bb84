"""One exchange over every route, compared and counted: ``mpirun -n 8 python -m crossdock.demo``.

The halo is that of a random sparse matrix with 200 rows a rank and 8 columns a row. ``--topology 2x4`` says which
ranks share a node; by default there are two nodes.
"""

from __future__ import annotations

import argparse

import numpy as np
from mpi4py import MPI

from crossdock import Context, NeighborExchange, Pattern

ROUTES = ("direct", "two_step", "three_step", "grid:2", "hypercube", "locality", "auto")
ROWS = 200
COLUMNS_OF_ROW = 8


def topology_of(num_ranks: int) -> str:
    """Return two regions, or one for one rank."""
    return "1" if num_ranks == 1 else f"{num_ranks - num_ranks // 2},{num_ranks // 2}"


def ghosts_of(world: Context) -> np.ndarray:
    """Return the columns that a rank's rows need of others."""
    first, length = ROWS * world.rank, ROWS * world.num_ranks
    columns = np.unique(np.random.default_rng(world.rank).integers(length, size=ROWS * COLUMNS_OF_ROW))
    return columns[(columns < first) | (columns >= first + ROWS)]


def main() -> None:
    """Run the demo."""
    comm = MPI.COMM_WORLD
    parser = argparse.ArgumentParser(prog="crossdock.demo", description=__doc__.splitlines()[0])
    parser.add_argument("--topology", default=topology_of(comm.size), help="which ranks share a node, such as 2x4")
    with Context(comm, parser.parse_args().topology) as world:
        ghosts = ghosts_of(world)
        pattern = Pattern.from_needed(world, range(ROWS * world.rank, ROWS * (world.rank + 1)), ghosts)
        # The value of every column is its square.
        items = np.arange(ROWS * world.rank, ROWS * (world.rank + 1), dtype=float) ** 2
        if world.rank == 0:
            regions = world.topology
            print(f"the halo of a random matrix on {world.num_ranks} ranks in {regions.num_regions} regions "
                  f"({regions})\n")
            print(f"{'route':<12}{'messages':>10}{'inter-region':>14}{'items':>8}{'inter-region':>14}  verified")
        for route in ROUTES:
            with NeighborExchange(world, pattern, route=route) as halo:
                is_right = bool(np.array_equal(halo.forward(items), ghosts.astype(float) ** 2))
                counts = np.array(halo.statistics())
                comm.Allreduce(MPI.IN_PLACE, counts)
                name = f"auto: {halo.route}" if route == "auto" else route
                verified = comm.allreduce(is_right, MPI.LAND)
            if world.rank == 0:
                messages, sent, far_messages, far_items = counts
                print(f"{name:<12}{messages:>10}{far_messages:>14}{sent:>8}{far_items:>14}  "
                      f"{'yes' if verified else 'NO'}")


if __name__ == "__main__":
    main()
