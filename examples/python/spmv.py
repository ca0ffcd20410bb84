"""Multiplies sparse matrices and their transposed with one vector and with several, as SciPy does.

    mpirun -n 4 python examples/python/spmv.py [FILE...]

FILE is a Matrix Market file; without one these are a structure, a chemical process and a rectangular matrix.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from mpi4py import MPI

import crossdock

DATA = Path(__file__).parents[2] / "data"
NAMES = ("msc01050", "radfr1", "D_10")


def files() -> list[Path]:
    return [Path(name) for name in sys.argv[1:]] or [DATA / f"{name}.mtx.gz" for name in NAMES]


def is_like_scipy(A: crossdock.DistributedMatrix, whole: Any) -> bool:
    numbers = np.random.default_rng(0)
    rows, columns = slice(A.rows.start, A.rows.stop), slice(A.columns.start, A.columns.stop)
    for shape in ((), (3,)):
        x, y = numbers.random((A.shape[1], *shape)), numbers.random((A.shape[0], *shape))
        if not (np.allclose(A @ x[columns], (whole @ x)[rows], rtol=1e-12)
                and np.allclose(A.T @ y[rows], (whole.T @ y)[columns], rtol=1e-12)):
            return False
    return True


def main() -> None:
    with crossdock.Context(MPI.COMM_WORLD) as world:
        for file in files():
            with crossdock.DistributedMatrix.from_file(world, file) as A:
                is_right = is_like_scipy(A, scipy.sparse.csr_array(scipy.io.mmread(file)))
                if not MPI.COMM_WORLD.allreduce(is_right, MPI.LAND):
                    sys.exit(f"a product with {file.name} differs from SciPy's")
                if world.rank == 0:
                    print(f"multiplied {A.shape[0]} x {A.shape[1]}, {file.name}, on {world.num_ranks} ranks")


if __name__ == "__main__":
    main()
