"""Solves A x = b by conjugate gradients, with rows of A and entries of x on all ranks.

    mpirun -n 4 python examples/python/conjugate_gradients.py [FILE]

FILE is a symmetric, positive definite Matrix Market file; without it A is a structure of the SuiteSparse collection.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.io
import scipy.sparse
import scipy.sparse.linalg
from mpi4py import MPI

import crossdock

Vector = npt.NDArray[np.float64]

STRUCTURE = Path(__file__).parents[2] / "data/msc01050.mtx.gz"
TOLERANCE = 1e-10


def dot(a: Vector, b: Vector) -> float:
    return float(MPI.COMM_WORLD.allreduce(float(a @ b)))


def conjugate_gradients(A: crossdock.DistributedMatrix, diagonal: Vector, b: Vector) -> tuple[Vector, int]:
    """Return x and the number of iterations; b, x and A's diagonal, which preconditions, are this rank's entries."""
    x = np.zeros_like(b)
    residual = b.copy()
    direction = residual / diagonal
    product = dot(residual, direction)
    limit = TOLERANCE**2 * dot(b, b)
    iterations = 0
    while dot(residual, residual) > limit:
        image = A @ direction
        step = product / dot(direction, image)
        x += step * direction
        residual -= step * image
        scaled = residual / diagonal
        before, product = product, dot(residual, scaled)
        direction = scaled + product / before * direction
        iterations += 1
    return x, iterations


def main() -> None:
    whole = scipy.sparse.csr_array(scipy.io.mmread(sys.argv[1] if len(sys.argv) > 1 else STRUCTURE))
    length = whole.shape[0]
    b = whole @ np.sin(np.arange(length))
    diagonal = whole.diagonal()
    with crossdock.Context(MPI.COMM_WORLD) as world:
        cuts = np.linspace(0, length, world.num_ranks + 1).astype(int)
        mine = slice(cuts[world.rank], cuts[world.rank + 1])
        with crossdock.DistributedMatrix.from_scipy(world, whole[mine]) as A:
            part, iterations = conjugate_gradients(A, diagonal[mine], b[mine])
        x = np.concatenate(MPI.COMM_WORLD.allgather(part))
        expected, _ = scipy.sparse.linalg.cg(whole, b, rtol=TOLERANCE, M=scipy.sparse.diags_array(1 / diagonal))
        # A is badly conditioned: in the norm that the method minimizes, both are near the solution.
        off, size = (np.sqrt(v @ (whole @ v)) for v in (x - expected, expected))
        if off > 1e-5 * size or np.linalg.norm(b - whole @ x) > 1e-8 * np.linalg.norm(b):
            sys.exit("the solution is not SciPy's")
        if world.rank == 0:
            print(f"solved {length} equations on {world.num_ranks} ranks in {iterations} iterations")


if __name__ == "__main__":
    main()
