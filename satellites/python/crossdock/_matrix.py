"""A sparse matrix whose rows are spread over the ranks."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crossdock._closing import Closing
from crossdock._context import Context, inner_of
from crossdock._extension import Wrapper, extension, inner_property
from crossdock._neighbor import Array, NeighborExchange
from crossdock._pattern import Pattern
from crossdock._sparse import sparse_exchange

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

_ENTRY = np.dtype([("row", "i8"), ("column", "i8"), ("value", "f8")])


class _Parts(NamedTuple):
    shape: tuple[int, int]
    rows: range
    columns: range
    ghost_columns: npt.NDArray[np.int64]
    halo: NeighborExchange
    inside: Any
    outside: Any


class DistributedMatrix(Wrapper, Closing):
    """A sparse matrix; each rank has consecutive rows, and of a vector consecutive entries. Needs SciPy.

    ``A @ x`` and ``A.T @ x`` take this rank's entries of x, one vector or several as columns, and return this rank's of
    the result. What needs no entries of other ranks is computed while these are on their way. Both are collective;
    if `x` is wrong on one rank, the others do as those of `NeighborExchange.start`.

    Matrices are made by `from_scipy` and `from_file`.
    """

    def __init__(self) -> None:
        raise TypeError("a DistributedMatrix is made by DistributedMatrix.from_scipy or .from_file")

    @classmethod
    def from_scipy(cls, world: Context, rows: Any, *, num_local_columns: int | None = None,
                   route: str = "auto") -> DistributedMatrix:
        """Make a matrix of the rows that each rank has, in the order of ranks.

        Collective over `world`; blocks.

        Parameters
        ----------
        world : Context
            Stays open as long as the matrix.
        rows : sparse array or matrix, shape (num_local_rows, num_columns)
            This rank's rows; columns have their global numbers.
        num_local_columns : int, optional
            How many entries of x this rank has. By default, which must be so on all ranks, as many as rows; the matrix
            is then square.
        route : str
            As of a `NeighborExchange`.

        Raises
        ------
        InvalidArgumentError
            `rows` is no sparse matrix, or what the ranks have does not add up; on all ranks.
        UnknownRouteError, InvalidRouteError
            As the route is; on all ranks.
        """
        inner = inner_of(world)

        def read() -> tuple[Any, int]:
            import scipy.sparse

            if not scipy.sparse.issparse(rows):
                raise TypeError(f"rows must be a sparse array of SciPy, not {type(rows).__name__}")
            own = rows.shape[0] if num_local_columns is None else int(num_local_columns)
            if own < 0:
                raise ValueError(f"num_local_columns must be at least 0, not {own}")
            return scipy.sparse.csr_array(rows), own

        local, own = extension.call_on_all_or_none(inner, read)
        first_row, num_rows = extension.sums_of(inner, local.shape[0])
        first, num_columns = extension.sums_of(inner, own)

        def split() -> tuple[Any, Any, npt.NDArray[np.int64]]:
            if local.shape[1] != num_columns:
                raise ValueError(f"rows have {local.shape[1]} columns, but the ranks have {num_columns} entries of x")
            return _split(local, first, own)

        columns = range(first, first + own)
        inside, outside, ghosts = extension.call_on_all_or_none(inner, split)
        halo = NeighborExchange(world, Pattern.from_needed(world, columns, ghosts), route=route)
        made = cls._of(_Parts((num_rows, num_columns), range(first_row, first_row + local.shape[0]), columns, ghosts,
                              halo, inside, outside))
        made._world = world
        return made

    @classmethod
    def from_file(cls, world: Context, path: str | PathLike[str], *, route: str = "auto") -> DistributedMatrix:
        """Read a Matrix Market file, plain or gzip, on rank 0, and give each rank an equal block of rows and columns.

        Collective over `world`; blocks. Values are float64.

        Raises
        ------
        FileError, InvalidArgumentError
            As the file is; on all ranks.
        """
        inner = inner_of(world)

        def read() -> Any:
            import scipy.io

            found = scipy.io.mmread(path)
            if isinstance(found, np.ndarray):
                raise ValueError(f"{path} holds a dense matrix")
            return found.tocoo()

        found = extension.call_on_all_or_none(inner, lambda: read() if world.rank == 0 else None)
        _, num_rows = extension.sums_of(inner, 0 if found is None else found.shape[0])
        _, num_columns = extension.sums_of(inner, 0 if found is None else found.shape[1])
        row_blocks, column_blocks = _blocks(num_rows, world.num_ranks), _blocks(num_columns, world.num_ranks)
        came = sparse_exchange(world, {} if found is None else _by_owner(found, row_blocks)).values
        num_local = int(row_blocks[world.rank + 1] - row_blocks[world.rank])

        def assemble() -> Any:
            import scipy.sparse

            entries = came if len(came) else np.empty(0, _ENTRY)
            return scipy.sparse.csr_array(
                (entries["value"], (entries["row"] - row_blocks[world.rank], entries["column"])),
                shape=(num_local, num_columns))

        rows = extension.call_on_all_or_none(inner, assemble)
        own = int(column_blocks[world.rank + 1] - column_blocks[world.rank])
        return cls.from_scipy(world, rows, num_local_columns=own, route=route)

    _world: Context
    _everywhere: tuple[NeighborExchange, NeighborExchange] | None = None

    shape: tuple[int, int] = inner_property("shape", tuple, "The numbers of all rows and columns.")
    rows: range = inner_property("rows", lambda own: own, "The rows that this rank has.")
    columns: range = inner_property("columns", lambda own: own, "The entries of x that this rank has.")
    ghost_columns: npt.NDArray[np.int64] = inner_property(
        "ghost_columns", np.asarray, "The columns that this rank's rows need of others, ascending.")
    halo: NeighborExchange = inner_property(
        "halo", lambda own: own, "What brings the entries of x that this rank needs of others.")

    @property
    def T(self) -> TransposedMatrix:  # noqa: N802
        """The transposed matrix."""
        return TransposedMatrix(self)

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        """Multiply with this rank's entries of x: shape ``(len(columns),)`` or ``(len(columns), k)``."""
        with self._inner.halo._before_start():
            items, dtype = self._operand(x, self._inner.columns, "columns")
            ghosts = np.empty((len(self._inner.ghost_columns), *items.shape[1:]), dtype)
        self._inner.halo.start(items, ghosts)
        y: Array = self._inner.inside @ items
        self._inner.halo.wait()
        y += self._inner.outside @ ghosts
        return y

    def _times_transposed(self, x: npt.ArrayLike) -> Array:
        with self._inner.halo._before_start(is_reverse=True):
            items, dtype = self._operand(x, self._inner.rows, "rows")
            for_others = np.ascontiguousarray(self._inner.outside.T @ items, dtype)
            y = np.zeros((len(self._inner.columns), *items.shape[1:]), dtype)
        self._inner.halo.start_reverse(for_others, y)
        own: Array = self._inner.inside.T @ items
        self._inner.halo.wait()
        y += own
        return y

    def _operand(self, x: npt.ArrayLike, expected: range, what: str) -> tuple[Array, np.dtype[Any]]:
        """Return x as it is multiplied."""
        given = np.asarray(x)
        if given.ndim not in (1, 2) or given.shape[0] != len(expected):
            raise ValueError(f"x has shape {given.shape}, but this rank has {len(expected)} {what}")
        dtype = np.result_type(given.dtype, self._inner.inside.dtype)
        items = np.ascontiguousarray(given, dtype)
        if items.ndim == 2 and items.shape[1] == 0:
            raise ValueError("x has no columns")
        return items, dtype

    def as_linear_operator(self) -> LinearOperator:
        """Return an operator for SciPy's solvers, on vectors that every rank has as a whole.

        Every rank calls the solver with the same vectors and gets the same result. Each product brings all entries to
        all ranks. Collective; blocks.

        Examples
        --------
        >>> x, info = scipy.sparse.linalg.cg(A.as_linear_operator(), b)
        """
        from scipy.sparse.linalg import LinearOperator

        if self._everywhere is None:
            self._everywhere = (self._to_all(self.rows, self.shape[0]), self._to_all(self.columns, self.shape[1]))
        all_rows, all_columns = self._everywhere

        def product(x: Array) -> Array:
            own = np.ascontiguousarray(x.reshape(-1)[self.columns.start:self.columns.stop], self._inner.inside.dtype)
            return all_rows.forward(self @ own)

        def transposed_product(x: Array) -> Array:
            own = np.ascontiguousarray(x.reshape(-1)[self.rows.start:self.rows.stop], self._inner.inside.dtype)
            return all_columns.forward(self.T @ own)

        return LinearOperator(self.shape, matvec=product, rmatvec=transposed_product, dtype=self._inner.inside.dtype)

    def _to_all(self, owned: range, length: int) -> NeighborExchange:
        pattern = Pattern.from_needed(self._world, owned, np.arange(length))
        return NeighborExchange(self._world, pattern, self._inner.inside.dtype)

    def close(self) -> None:
        """Give memory back; does not communicate."""
        self.halo.close()
        for other in self._everywhere or ():
            other.close()

    def _closes_after_failure(self) -> bool:
        return not self.halo.is_active

    def __repr__(self) -> str:
        return (f"<DistributedMatrix: {self.shape[0]} x {self.shape[1]}, here rows "
                f"{self.rows.start}:{self.rows.stop} with {len(self.ghost_columns)} ghosts>")


class TransposedMatrix:
    """The transposed of a `DistributedMatrix`.

    ``A.T @ x`` takes this rank's entries of x, as many as A has rows here.
    """

    def __init__(self, matrix: DistributedMatrix) -> None:
        self._matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of all rows and columns."""
        return self._matrix.shape[1], self._matrix.shape[0]

    @property
    def T(self) -> DistributedMatrix:  # noqa: N802
        """The matrix itself."""
        return self._matrix

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        return self._matrix._times_transposed(x)


def _blocks(length: int, num_ranks: int) -> npt.NDArray[np.int64]:
    """Return the beginnings of blocks as equal as possible, and the end."""
    sizes = np.full(num_ranks, length // num_ranks)
    sizes[:length % num_ranks] += 1
    return np.concatenate(([0], np.cumsum(sizes)))


def _by_owner(matrix: Any, row_blocks: npt.NDArray[np.int64]) -> dict[int, Array]:
    """Return the entries of a matrix by the rank that has their row."""
    order = np.argsort(matrix.row, kind="stable")
    entries = np.empty(matrix.nnz, _ENTRY)
    entries["row"], entries["column"] = matrix.row[order], matrix.col[order]
    entries["value"] = matrix.data[order]
    ends = np.searchsorted(entries["row"], row_blocks)
    return {rank: entries[ends[rank]:ends[rank + 1]] for rank in range(len(row_blocks) - 1)}


def _split(rows: Any, first: int, own: int) -> tuple[Any, Any, npt.NDArray[np.int64]]:
    """Return the part of rows in this rank's columns, the other part, and the columns of that."""
    import scipy.sparse

    inside = rows[:, first:first + own]
    is_outside = (rows.indices < first) | (rows.indices >= first + own)
    ghosts, columns = np.unique(rows.indices[is_outside], return_inverse=True)
    ends = np.concatenate(([0], np.cumsum(is_outside)))[rows.indptr]
    outside = scipy.sparse.csr_array((rows.data[is_outside], columns, ends), shape=(rows.shape[0], len(ghosts)))
    return _with_short_indices(inside), _with_short_indices(outside), ghosts.astype(np.int64)


def _with_short_indices(part: Any) -> Any:
    """Return a matrix whose indices have 32 bits if they fit: there is less to read in each product."""
    if max(part.nnz, *part.shape) > np.iinfo(np.int32).max:
        return part
    return type(part)((part.data, part.indices.astype(np.int32), part.indptr.astype(np.int32)), shape=part.shape)
