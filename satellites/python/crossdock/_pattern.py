"""Patterns: which items a rank sends to whom, and receives from whom."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from crossdock._context import Context, inner_of
from crossdock._extension import Wrapper, extension, inner_property
from crossdock.errors import InvalidArgumentError, SizeMismatchError


class NeighborList(NamedTuple):
    """Neighbors and, for each, a list of indices, in compressed rows.

    Entry e belongs to rank ``ranks[e]`` and lists ``indices[offsets[e]:offsets[e + 1]]``.
    """

    ranks: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int64]


class Pattern(Wrapper):
    """One rank's part of a communication pattern.

    An *item* is what an index of the first dimension of the local array names; a *slot* is a place in the output
    array. Patterns are made by `from_needed`, `from_matrix`, `from_neighbor_alltoallv` and
    `from_dist_graph`.
    """

    def __init__(self) -> None:
        raise TypeError("a Pattern is made by Pattern.from_needed, .from_neighbor_alltoallv or .from_dist_graph")

    @classmethod
    def from_needed(cls, world: Context, owned: range | npt.ArrayLike, needed: npt.ArrayLike) -> Pattern:
        """Make a pattern from the global indices that each rank owns and needs; the ranks find the owners.

        Item i is ``owned[i]``, slot j is ``needed[j]``. Collective over `world`; blocks.

        Parameters
        ----------
        world : Context
        owned : range or array_like of int, shape (num_items,)
            In any order; each index is owned by one rank only. A range takes no memory.
        needed : array_like of int, shape (num_slots,)
            In any order, also repeatedly, also own ones.

        Raises
        ------
        IndexOutOfRangeError
            An index is negative, or needed but owned by no rank; on all ranks.
        InvalidArgumentError
            An index is owned twice, or an argument is no array of integers; on all ranks.

        Examples
        --------
        Every rank owns three values and needs the one before its first:

        >>> first, length = 3 * world.rank, 3 * world.num_ranks
        >>> pattern = Pattern.from_needed(world, range(first, first + 3), [(first - 1) % length])
        """
        return cls._of(extension.Pattern.from_needed(inner_of(world), owned, needed))

    @classmethod
    def from_matrix(cls, world: Context, rows: Any, owned: range) -> Pattern:
        """Make the pattern of y = A x from this rank's rows of A: the halo that `DistributedMatrix` exchanges.

        Slots are the columns that the rows need of other ranks, ascending. Collective over `world`; blocks.

        Parameters
        ----------
        world : Context
        rows : sparse array or matrix of SciPy
            Columns have their global numbers.
        owned : range
            The entries of x that this rank has.

        Raises
        ------
        IndexOutOfRangeError
            No rank has an entry that is needed; on all ranks.
        InvalidArgumentError
            `rows` is no sparse matrix, `owned` is no range of step 1, or an entry is owned twice; on all ranks.
        """
        inner = inner_of(world)

        def find() -> npt.NDArray[np.int64]:
            if not hasattr(rows, "tocsr"):
                raise TypeError(f"rows must be a sparse array of SciPy, not {type(rows).__name__}")
            if not isinstance(owned, range) or owned.step != 1:
                raise TypeError(f"owned must be a range of step 1, not {owned!r}")
            columns = np.unique(rows.tocsr().indices).astype(np.int64)
            return columns[(columns < owned.start) | (columns >= owned.stop)]

        return cls.from_needed(world, owned, extension.call_on_all_or_none(inner, find))

    @classmethod
    def from_neighbor_alltoallv(cls, rank: int, num_ranks: int, *, destinations: npt.ArrayLike,
                                send_counts: npt.ArrayLike, send_displacements: npt.ArrayLike | None = None,
                                sources: npt.ArrayLike, receive_counts: npt.ArrayLike,
                                receive_displacements: npt.ArrayLike | None = None,
                                send_ids: npt.ArrayLike | None = None) -> Pattern:
        """Make a pattern from the arguments of MPI_Neighbor_alltoallv, in items.

        Item i is position i of the send buffer, slot j is position j of the receive buffer. Communicates nothing: an
        error is this rank's alone.

        Parameters
        ----------
        rank, num_ranks : int
        destinations, sources : array_like of int
            The neighbors.
        send_counts, receive_counts : array_like of int
            One for each destination, and for each source.
        send_displacements, receive_displacements : array_like of int, optional
            Where each neighbor's items start. By default one after the other.
        send_ids : array_like of int, optional
            Positions of the send buffer with an equal id hold the same value, which then travels once.

        Raises
        ------
        SizeMismatchError
            Arrays of one side differ in length, or there are too few ids.
        RankOutOfRangeError
            A neighbor is not a rank.
        InvalidArgumentError
            A count or displacement is negative, or a slot is filled twice.
        """
        return cls._of(extension.Pattern.from_neighbor_alltoallv(
            rank, num_ranks, destinations, send_counts, _displacements(send_displacements, send_counts), sources,
            receive_counts, _displacements(receive_displacements, receive_counts),
            () if send_ids is None else send_ids))

    @classmethod
    def from_dist_graph(cls, comm: MPI.Distgraphcomm, send_counts: npt.ArrayLike, receive_counts: npt.ArrayLike, *,
                        send_displacements: npt.ArrayLike | None = None,
                        receive_displacements: npt.ArrayLike | None = None,
                        send_ids: npt.ArrayLike | None = None) -> Pattern:
        """Make a pattern from a communicator with a distributed graph, and the counts along its edges.

        Communicates nothing: an error is this rank's alone.

        Parameters
        ----------
        comm : mpi4py.MPI.Distgraphcomm
        send_counts, receive_counts : array_like of int
            In the order of the neighbors of `comm`.
        send_displacements, receive_displacements, send_ids : array_like of int, optional
            As in `from_neighbor_alltoallv`.

        Raises
        ------
        InvalidArgumentError
            `comm` has no distributed graph.
        SizeMismatchError, InvalidArgumentError
            As `from_neighbor_alltoallv`.
        """
        if not isinstance(comm, MPI.Distgraphcomm):
            raise InvalidArgumentError(f"comm must be an mpi4py.MPI.Distgraphcomm, not {type(comm).__name__}")
        sources, destinations, _ = comm.Get_dist_neighbors()
        return cls.from_neighbor_alltoallv(
            comm.Get_rank(), comm.Get_size(), destinations=destinations, send_counts=send_counts,
            send_displacements=send_displacements, sources=sources, receive_counts=receive_counts,
            receive_displacements=receive_displacements, send_ids=send_ids)

    def write(self, world: Context, path: str | PathLike[str], dtype: npt.DTypeLike = float) -> None:
        """Write what all ranks send to a file that ``crossdock try`` and other verbs read.

        Rank 0 writes a matrix in Matrix Market's format whose product y = A x exchanges these items, and beside it,
        with ``.owners`` in place of ``.mtx``, the rank of each of its rows. Collective over `world`; blocks.

        Parameters
        ----------
        world : Context
        path : str or os.PathLike
            Ends in ``.mtx``. What rank 0 says counts, as of `dtype`.
        dtype : dtype_like
            Of an item, such as ``(float, 3)``; ``crossdock try`` exchanges items of its size.

        Raises
        ------
        FileError
            A file cannot be written; on all ranks.
        InvalidArgumentError
            `path` ends otherwise, or an argument has another type; on all ranks.
        SizeMismatchError
            The pattern is another rank's, or of other ranks; on all ranks.
        """
        self._inner.write(inner_of(world), path, dtype)

    rank = inner_property("rank", int, "The rank whose part it is.")
    num_ranks = inner_property("num_ranks", int, "The number of ranks.")
    num_items = inner_property("num_items", int, "The length of the local array.")
    num_slots = inner_property("num_slots", int, "The length of the output array.")
    sends = inner_property("sends", NeighborList._make, "Destinations, and the items for each; a copy.")
    receives = inner_property("receives", NeighborList._make, "Sources, and the slots that each fills; a copy.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and bool(self._inner.is_equal(other._inner))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (f"<Pattern of rank {self.rank} of {self.num_ranks}: {self.num_items} items to "
                f"{len(self.sends.ranks)} ranks, {self.num_slots} slots from {len(self.receives.ranks)}>")


def _displacements(given: npt.ArrayLike | None, counts: npt.ArrayLike) -> Any:
    """Return displacements of blocks that lie one after the other, unless they are given."""
    if given is not None:
        return given
    lengths = np.asarray(counts)
    if lengths.ndim != 1:
        raise SizeMismatchError(f"counts must have one dimension, not {lengths.ndim}")
    ends = np.cumsum(lengths)
    return ends - lengths
