"""Where communication takes place: contexts and topologies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
from mpi4py import MPI

from crossdock._closing import Closing
from crossdock._extension import Wrapper, extension, inner_property
from crossdock._machine import Machine, machine_of, text_of_machine
from crossdock._pictured import Pictured, pictures
from crossdock.errors import Error, InvalidStateError

_LISTED_REGIONS = 16


class Topology(Wrapper, Pictured):
    """The regions of P ranks; a region is the unit of locality, usually a node.

    Parameters
    ----------
    text : str
        ``"4x16"``: 4 regions of 16 consecutive ranks; ``"16,16,8"``: regions of these sizes; ``"cyclic:4x16"``: ranks
        dealt round-robin; ``"list:0,1,0,1"``: the region of every rank.

    Raises
    ------
    InvalidTopologyError
        The text is malformed.

    Examples
    --------
    >>> Topology("2x4").region_of(5)
    1
    """

    def __init__(self, text: str) -> None:
        self._inner = extension.Topology.from_string(text)

    @classmethod
    def of(cls, given: Topology | str) -> Topology:
        """Return a topology, made of a text if it is one."""
        return given if isinstance(given, Topology) else cls(given)

    @classmethod
    def from_regions(cls, regions: npt.ArrayLike) -> Topology:
        """Make a topology from the region of every rank.

        Parameters
        ----------
        regions : array_like of int, shape (num_ranks,)
            Regions are renumbered 0, 1, ... in increasing order.

        Raises
        ------
        InvalidTopologyError
            There are no ranks, or a region is negative.
        """
        return cls._of(extension.Topology.from_regions(regions))

    @classmethod
    def discover(cls, world: Context, level: str = "node") -> Topology:
        """Find the topology of a context's ranks on the machine.

        Collective over `world`; blocks.

        Parameters
        ----------
        world : Context
        level : {"node", "socket", "numa", "l3"}
            Equal on all ranks.

        Raises
        ------
        InvalidTopologyError
            There is no such level, or the machine cannot be inspected; on all ranks.
        """
        return cls._of(extension.Topology.discover(inner_of(world), level))

    num_ranks = inner_property("num_ranks", int, "The number of ranks.")
    num_regions = inner_property("num_regions", int, "The number of regions.")

    def region_of(self, rank: int) -> int:
        """Return the region of a rank."""
        return int(self._inner.region_of(rank))

    def local_rank(self, rank: int) -> int:
        """Return the number of a rank among the ranks of its region, from 0."""
        return int(self._inner.local_rank(rank))

    def region_size(self, region: int) -> int:
        """Return the number of ranks of a region."""
        return int(self._inner.region_size(region))

    def rank_at(self, region: int, local_rank: int) -> int:
        """Return the rank with a given place in a region."""
        return int(self._inner.rank_at(region, local_rank))

    def _regions(self) -> list[list[int]]:
        """Return the ranks of each region."""
        regions: list[list[int]] = [[] for _ in range(self.num_regions)]
        for rank in range(self.num_ranks):
            regions[self.region_of(rank)].append(rank)
        return regions

    def _rows(self) -> list[dict[str, Any]]:
        regions = self._regions()
        if len(regions) <= _LISTED_REGIONS:
            return [{"region": region, "ranks": len(ranks), "which": _spans_of(ranks)}
                    for region, ranks in enumerate(regions)]
        return [{"regions": regions_of_size, "ranks of each": size}
                for size, regions_of_size in sorted(Counter(map(len, regions)).items())]

    def _draw(self) -> Any:
        return pictures("topology").draw(str(self), self._regions())

    def __str__(self) -> str:
        return str(self._inner.to_string())

    def __repr__(self) -> str:
        return f"Topology({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topology) and bool(self._inner.is_equal(other._inner))

    def __hash__(self) -> int:
        return hash(str(self))


class Context(Wrapper, Closing):
    """A communicator of the library's own, the topology of its ranks, and their machine.

    No message of the library meets one of the program's. One thread at a time is in a call on a context and on what
    was made with it. A context that nobody closes is closed by ``MPI.Finalize``; a finalizer does not communicate.

    Collective over `comm`; blocks.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        Is duplicated.
    topology : Topology or str, optional
        The regions of the ranks, as `Topology` reads them; or ``"node"``, ``"socket"``, ``"numa"`` or ``"l3"``, which
        are discovered. By default what the environment variable ``CROSSDOCK_TOPOLOGY`` says, and else ``"node"``.
    machine : str or planning.Machine, optional
        The machine that routes are chosen for: the name of a preset, a file that rank 0 reads, or what
        `planning.calibrate` has found. By default what ``CROSSDOCK_MACHINE`` says, and else what is assumed of this
        machine.
    nodes : Topology or str, optional
        Who may share memory: the ranks of a region of this topology, if they can. By default all that can.
    report : str, optional
        Where the report of all objects goes when the context is closed: ``"1"`` for a table on rank 0's standard error,
        or a file, to which rank 0 appends lines of JSON. ``"0"``: nothing is measured. ``"objects"``: only `reports`
        tells it. By default what ``CROSSDOCK_REPORT`` says, and else ``"0"``.

    Raises
    ------
    TypeError
        `comm` is no communicator of mpi4py; on this rank.
    InvalidArgumentError
        `comm` is ``MPI.COMM_NULL`` or an intercommunicator; or, on all ranks, an argument has another type or differs
        between ranks.
    InvalidTopologyError, FileError, ParseError
        As the topologies and the machine's file are; on all ranks.
    """

    def __init__(self, comm: MPI.Comm, topology: Topology | str | None = None, machine: str | Machine | None = None,
                 *, nodes: Topology | str | None = None, report: str | None = None) -> None:
        if not isinstance(comm, MPI.Comm):
            raise TypeError(f"comm must be a communicator of mpi4py, not {type(comm).__name__}")
        if MPI.Is_finalized():
            raise InvalidStateError("MPI is finalized")
        self._inner = extension.Context.make(MPI._addressof(comm), text_of(topology), text_of(nodes), text_of(machine),
                                             "" if report is None else report)

    rank = inner_property("rank", int, "This process's rank, from 0.")
    num_ranks = inner_property("num_ranks", int, "The number of ranks.")
    topology = inner_property("topology", Topology._of, "The regions of the ranks.")
    is_open = inner_property("is_open", bool, "Whether nobody has closed the context.")

    def with_topology(self, topology: Topology | str) -> Context:
        """Return this context with other regions. Communicates nothing.

        Both share the communicator: a thread in a call on one is in a call on both, and to close one closes both.

        Parameters
        ----------
        topology : Topology or str
            Equal on all ranks, and of as many ranks, which what is made with the context checks.

        Raises
        ------
        InvalidTopologyError
            The text is malformed.
        """
        return self._of(self._inner.with_topology(Topology.of(topology)._inner))

    def with_nodes(self, nodes: Topology | str) -> Context:
        """Return this context with other nodes: the ranks of a region of `nodes` may share memory, if they can.

        Otherwise as `with_topology`.
        """
        return self._of(self._inner.with_nodes(Topology.of(nodes)._inner))

    @property
    def machine(self) -> Machine:
        """The machine that routes are chosen for; a copy.

        Raises
        ------
        InvalidStateError
            The context is closed.
        """
        return machine_of(self._inner.machine_json())

    @property
    def last_peer_error(self) -> Error | None:
        """The error of one rank alone that was told to all ranks last, such as the reason of a `PeerFailedError`.

        A start that fails raises on its rank alone. The next collective call that agrees on its arguments tells all ranks
        of it: where something is made, prepared or duplicated, and `close`. If several ranks have failed since the last
        such call, the lowest of them tells its last error.
        """
        told: Error | None = self._inner.last_peer_error
        return told

    def reports(self) -> list[dict[str, Any]]:
        """Return what the objects of each name have done on this rank, as lines of the report do of all ranks.

        Names are those of the option `name`, or else the places that made the objects, as ``"solver.py:120"``. Empty
        without a report.
        """
        return [json.loads(line) for line in self._inner.reports()]

    def close(self) -> None:
        """Free the communicator and what is kept with it; nothing if it is closed.

        What was made with the context can then only be closed. Collective; blocks.

        Raises
        ------
        InvalidStateError
            An exchange is active or a stream is not drained; or such an object was destroyed, which is said once, with
            its name and the number of items that are lost. On all ranks; the context stays open.
        """
        self._inner.close()

    def __repr__(self) -> str:
        state = "" if self.is_open else ", closed"
        return f"<Context: rank {self.rank} of {self.num_ranks}, topology {str(self.topology)!r}{state}>"


def text_of(given: Topology | Machine | str | None) -> Any:
    """Return a topology, a machine, or another text, as the extension takes it."""
    if given is None:
        return ""
    return str(given) if isinstance(given, Topology) else text_of_machine(given)


def _spans_of(ranks: Sequence[int]) -> str:
    """Return "0-3, 8" for 0, 1, 2, 3 and 8."""
    starts = [at for at, rank in enumerate(ranks) if at == 0 or ranks[at - 1] != rank - 1]
    spans = [(ranks[start], ranks[end - 1]) for start, end in zip(starts, [*starts[1:], len(ranks)])]
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def inner_of(world: Context) -> Any:
    """Return the extension's object of a context."""
    if not isinstance(world, Context):
        raise TypeError(f"world must be a Context, not {type(world).__name__}")
    return world._inner

