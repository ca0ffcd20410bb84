"""Solves A x = b by conjugate gradients, with rows of A and entries of x on all ranks.

    mpirun -n 4 python examples/python/conjugate_gradients.py [FILE]

FILE is a symmetric, positive definite Matrix Market file. Without it A is the Laplacian of a grid.
"""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io
import scipy.sparse
from mpi4py import MPI

import crossdock

Vector = npt.NDArray[np.float64]

SIDE = 30


def matrix() -> Any:
    if len(sys.argv) > 1:
        return scipy.sparse.csr_array(scipy.io.mmread(sys.argv[1]))
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(SIDE, SIDE))
    identity = scipy.sparse.eye_array(SIDE)
    return scipy.sparse.csr_array(scipy.sparse.kron(line, identity) + scipy.sparse.kron(identity, line))


def dot(a: Vector, b: Vector) -> float:
    return float(MPI.COMM_WORLD.allreduce(float(a @ b)))


def conjugate_gradients(A: crossdock.DistributedMatrix, b: Vector, tolerance: float = 1e-10) -> tuple[Vector, int]:
    """Return x and the number of iterations; b and x are this rank's entries."""
    x = np.zeros_like(b)
    residual = b.copy()
    direction = residual.copy()
    square = dot(residual, residual)
    limit = tolerance**2 * square
    iterations = 0
    while square > limit:
        image = A @ direction
        step = square / dot(direction, image)
        x += step * direction
        residual -= step * image
        before, square = square, dot(residual, residual)
        direction = residual + square / before * direction
        iterations += 1
    return x, iterations


def main() -> None:
    whole = matrix()
    length = whole.shape[0]
    with crossdock.Context(MPI.COMM_WORLD) as world:
        cuts = np.linspace(0, length, world.num_ranks + 1).astype(int)
        mine = slice(cuts[world.rank], cuts[world.rank + 1])
        expected = np.sin(np.arange(length))
        with crossdock.DistributedMatrix.from_scipy(world, whole[mine]) as A:
            x, iterations = conjugate_gradients(A, (whole @ expected)[mine])
        if not MPI.COMM_WORLD.allreduce(bool(np.allclose(x, expected[mine], atol=1e-6)), MPI.LAND):
            sys.exit("the solution is another one")
        if world.rank == 0:
            print(f"solved {length} equations on {world.num_ranks} ranks in {iterations} iterations")


if __name__ == "__main__":
    main()
