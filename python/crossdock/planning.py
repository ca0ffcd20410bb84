"""Plans of all ranks in one process: compiled, proved, counted, priced and simulated without MPI.

>>> from crossdock import planning
>>> patterns = planning.patterns_of_matrix(matrix, 4096)
>>> [one.route for one in planning.explain("64x64", patterns)]
>>> planning.compile_all("64x64", patterns, "three_step").simulate(machine="lassen").slowest_seconds
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from crossdock._context import Topology
from crossdock._extension import extension
from crossdock._pattern import Pattern

__all__ = ["PlanStatistics", "Plans", "RouteEstimate", "Simulation", "Summary", "TrafficSummary", "compile_all",
           "explain", "machines", "patterns_of_matrix", "routes"]


@dataclass(frozen=True)
class Summary:
    """Sum, maximum and mean of a number over all ranks."""

    total: int
    max: int
    mean: float


@dataclass(frozen=True)
class TrafficSummary:
    """What ranks send, each number summarized over all ranks."""

    messages: Summary
    items: Summary
    inter_region_messages: Summary
    inter_region_items: Summary


@dataclass(frozen=True)
class PlanStatistics:
    """The messages and items of all ranks on one route.

    Attributes
    ----------
    route : str
    stages : tuple of TrafficSummary
    total : TrafficSummary
    buffer_items : Summary
        Items that a rank needs buffers for.
    """

    route: str
    stages: tuple[TrafficSummary, ...]
    total: TrafficSummary
    buffer_items: Summary

    def records(self) -> list[dict[str, Any]]:
        """Return a flat record for each stage, and one with the stage "total", as ``pandas.DataFrame`` takes them."""
        named = [*enumerate(self.stages), ("total", self.total)]
        return [{"route": self.route, "stage": stage}
                | {f"{number}_{kind}": value for number, summary in asdict(traffic).items()
                   for kind, value in summary.items()}
                for stage, traffic in named]

    def _repr_html_(self) -> str:
        records = [{name: value for name, value in record.items() if not name.endswith("_mean")}
                   for record in self.records()]
        head = "".join(f"<th>{escape(name)}</th>" for name in records[0])
        rows = "".join("<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in record.values()) + "</tr>"
                       for record in records)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


@dataclass(frozen=True)
class Simulation:
    """The result of a simulation.

    Attributes
    ----------
    finish_seconds : ndarray, shape (num_ranks,)
        The end of each rank's last operation.
    copying_seconds, messages_seconds, idle_seconds : float
        What all ranks together spend their time on; messages with waiting for them.
    """

    finish_seconds: npt.NDArray[np.float64]
    copying_seconds: float
    messages_seconds: float
    idle_seconds: float

    @property
    def slowest_seconds(self) -> float:
        """When the slowest rank is done."""
        return float(self.finish_seconds.max())

    @property
    def mean_seconds(self) -> float:
        """When a rank is done on average."""
        return float(self.finish_seconds.mean())


@dataclass(frozen=True)
class RouteEstimate:
    """A route, what it is estimated to take, and what most of that goes to."""

    route: str
    seconds: float
    dominating_term: str


class Plans:
    """The plans of all ranks on one route; `compile_all` makes them."""

    def __init__(self, inner: Any, topology: Topology, route: str) -> None:
        self._inner = inner
        self.topology = topology
        self.route = route

    def __len__(self) -> int:
        return len(self._inner)

    def verify(self) -> None:
        """Prove that each needed item reaches each slot exactly once.

        Raises
        ------
        InvalidPlanError
            The proof fails.
        """
        self._inner.verify()

    def analyze(self) -> PlanStatistics:
        """Count the messages and items of all ranks."""
        stages, total, buffer_items = self._inner.statistics()
        return PlanStatistics(self.route, tuple(map(_traffic, stages)), _traffic(total), Summary(*buffer_items))

    def simulate(self, machine: str = "generic_100g", *, item_bytes: int = 8, shares_memory: bool = False,
                 mean_noise_seconds: float = 0.0, seed: int = 0) -> Simulation:
        """Replay the exchange on a machine, message by message. Releases the GIL.

        Parameters
        ----------
        machine : str
            One of `machines`, or a file that describes one.
        item_bytes : int
        shares_memory : bool
            Whether ranks of a region pass items on in shared memory, without messages.
        mean_noise_seconds : float
            The mean of a random delay that every operation gets.
        seed : int

        Raises
        ------
        FileError, ParseError
            As the machine's file is.
        InvalidArgumentError
            A number is out of range.
        """
        finish, *shares = self._inner.simulate(machine, item_bytes, shares_memory, mean_noise_seconds, seed)
        return Simulation(finish * 1e-12, *shares)

    def text(self, rank: int) -> str:
        """Return a rank's plan for people, a few lines for each stage."""
        return str(self._inner.text(rank))

    def json(self, rank: int) -> str:
        """Return a rank's plan as JSON."""
        return str(self._inner.json(rank))

    def __repr__(self) -> str:
        return f"<Plans of {len(self)} ranks on {self.topology} by {self.route}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.analyze()._repr_html_()}"


def compile_all(topology: Topology | str, patterns: Sequence[Pattern], route: str, *,
                deduplicate: bool = True) -> Plans:
    """Compile the plans of all P ranks of a topology. Releases the GIL.

    Parameters
    ----------
    topology : Topology or str
    patterns : sequence of Pattern
        P of them, that of rank p at place p.
    route : str
        A route with its parameters; ``"auto"`` is none, see `explain`.
    deduplicate : bool
        An item whose destinations share the next hop is sent there once.

    Raises
    ------
    UnknownRouteError, InvalidRouteError
        As the route is.
    SizeMismatchError
        There are not P patterns.
    CountMismatchError
        A sender and its receiver disagree.
    """
    regions = topology if isinstance(topology, Topology) else Topology(topology)
    return Plans(extension.Plans.make(regions._inner, _inner_of(patterns), route, deduplicate), regions, route)


def explain(topology: Topology | str, patterns: Sequence[Pattern], machine: str = "generic_100g", *,
            item_bytes: int = 8, shares_memory: bool = False) -> list[RouteEstimate]:
    """Estimate what candidates take, the cheapest first, which ``"auto"`` would choose. Releases the GIL.

    Parameters
    ----------
    topology, patterns : as of `compile_all`
    machine, item_bytes, shares_memory : as of `Plans.simulate`
    """
    regions = topology if isinstance(topology, Topology) else Topology(topology)
    return [RouteEstimate(*one) for one in
            extension.estimates(regions._inner, _inner_of(patterns), machine, item_bytes, shares_memory)]


def patterns_of_matrix(matrix: Any, num_ranks: int) -> list[Pattern]:
    """Return the patterns of y = A x, where ranks have equal blocks of rows and of entries of x.

    Parameters
    ----------
    matrix : sparse array or matrix of SciPy
    num_ranks : int

    Raises
    ------
    InvalidArgumentError
        `num_ranks` is less than 1.
    """
    rows = matrix.tocsr()
    return [Pattern._of(one) for one in
            extension.patterns_from_matrix(num_ranks, rows.shape[1], rows.indptr, rows.indices)]


def routes() -> dict[str, str]:
    """Return the routes, by a name that fits any topology, and what each does."""
    return dict(extension.routes())


def machines() -> dict[str, str]:
    """Return the machines that come with the library, by name."""
    return dict(extension.machines())


def _traffic(summaries: Sequence[tuple[int, int, float]]) -> TrafficSummary:
    return TrafficSummary(*(Summary(*one) for one in summaries))


def _inner_of(patterns: Sequence[Pattern]) -> list[Any]:
    return [getattr(one, "_inner", one) for one in patterns]
