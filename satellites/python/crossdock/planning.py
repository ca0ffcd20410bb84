"""Plans of all ranks in one process: compiled, proved, counted, priced, simulated and drawn without MPI.

`calibrate` alone communicates: it measures the machine that all this can be computed for.

>>> from crossdock import planning
>>> patterns = planning.patterns_of_matrix(matrix, 4096)
>>> [one.route for one in planning.explain("64x64", patterns)]
>>> planning.compile_all("64x64", patterns, "three_step").simulate(machine="lassen").slowest_seconds
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import starmap
from types import SimpleNamespace
from typing import Any, List

import numpy as np
import numpy.typing as npt

from mpi4py import MPI

from crossdock._context import Context, Topology, inner_of
from crossdock._extension import extension, name_of
from crossdock._machine import Level, Machine, Protocol, machine_of, text_of_machine
from crossdock._pattern import Pattern
from crossdock._pictured import Pictured, pictures

__all__ = ["Level", "Machine", "PlanStatistics", "Plans", "Protocol", "RouteEstimate", "RouteEstimates", "Simulation",
           "Simulations", "Summary", "TrafficSummary", "calibrate", "compile_all", "explain", "machines",
           "patterns_of_matrix", "routes"]


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
class PlanStatistics(Pictured):
    """The messages and items of all ranks on one route.

    Attributes
    ----------
    route : str
    deduplicate : bool
    stages : tuple of TrafficSummary
    total : TrafficSummary
    buffer_items : Summary
        Items that a rank needs buffers for.
    """

    route: str
    deduplicate: bool
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

    def _title(self) -> str:
        return f"Messages and items of all ranks by {self.route}"

    def _rows(self) -> list[dict[str, Any]]:
        return [{_words(name): value for name, value in record.items() if not name.endswith("_mean")}
                for record in self.records()]

    def _draw(self) -> Any:
        named = [*((f"stage {number}", stage) for number, stage in enumerate(self.stages)), ("all stages", self.total)]
        return pictures("figures").traffic_bars([
            SimpleNamespace(route=self.route, dedup=self.deduplicate, label=label,
                            counts={_words(noun): summary for noun, summary in asdict(traffic).items()})
            for label, traffic in named])


@dataclass(frozen=True)
class Simulation(Pictured):
    """The result of a simulation.

    Attributes
    ----------
    route, machine : str
    deduplicate : bool
    finish_seconds : ndarray, shape (num_ranks,)
        The end of each rank's last operation.
    copying_seconds, region_seconds, node_seconds, network_seconds, idle_seconds : float
        What all ranks together spend their time on: copying; messages inside their region, to other regions of their
        node, and to other nodes, with waiting for them; and waiting for the slowest rank.
    """

    route: str
    machine: str
    deduplicate: bool
    finish_seconds: npt.NDArray[np.float64]
    copying_seconds: float
    region_seconds: float
    node_seconds: float
    network_seconds: float
    idle_seconds: float

    @property
    def slowest_seconds(self) -> float:
        """When the slowest rank is done."""
        return float(self.finish_seconds.max())

    @property
    def mean_seconds(self) -> float:
        """When a rank is done on average."""
        return float(self.finish_seconds.mean())

    @property
    def messages_seconds(self) -> float:
        """What all ranks together spend on messages and on waiting for them."""
        return self.region_seconds + self.node_seconds + self.network_seconds

    def records(self) -> list[dict[str, Any]]:
        """Return one flat record, as ``pandas.DataFrame`` takes it."""
        return [{"route": self.route, "machine": self.machine, "deduplicate": self.deduplicate,
                 "ranks": len(self.finish_seconds), "slowest_seconds": self.slowest_seconds,
                 "mean_seconds": self.mean_seconds}
                | {f"{name}_share": share for name, share in self._shares().items()}]

    def _shares(self) -> dict[str, float]:
        spent = {"waiting": self.idle_seconds, "copying": self.copying_seconds, "region": self.region_seconds,
                 "node": self.node_seconds, "network": self.network_seconds}
        total = sum(spent.values())
        return {name: seconds / total if total > 0 else 0.0 for name, seconds in spent.items()}

    def __repr__(self) -> str:
        return (f"<Simulation of {len(self.finish_seconds)} ranks by {self.route} on {self.machine}: the slowest takes "
                f"{self.slowest_seconds:.3g} s>")

    def _rows(self) -> list[dict[str, Any]]:
        return [{_words(name): value for name, value in record.items()} for record in self.records()]

    def _draw(self) -> Any:
        return pictures("figures").finish_and_shares(self._timing(), self.finish_seconds)

    def _timing(self) -> SimpleNamespace:
        label = self.route if self.deduplicate else f"{self.route}, not deduplicated"
        return SimpleNamespace(route=self.route, dedup=self.deduplicate, label=label, shares=self._shares(),
                               slowest_seconds=self.slowest_seconds)


class Simulations(List[Simulation], Pictured):
    """Simulations of several routes, also on several numbers of ranks: a list of `Simulation`.

    Its picture has a bar for each route, or a line against the number of ranks. With and without deduplication are
    different lines; machines and sizes of items are not told apart.

    Examples
    --------
    >>> Simulations(compile_all("64x64", patterns, route).simulate() for route in ("direct", "three_step"))
    """

    def records(self) -> list[dict[str, Any]]:
        """Return a flat record for each, as ``pandas.DataFrame`` takes them."""
        return [record for one in self for record in one.records()]

    def _title(self) -> str:
        return f"Simulated times of {len({one.route for one in self})} routes"

    def _rows(self) -> list[dict[str, Any]]:
        return [row for one in self for row in one._rows()]

    def _draw(self) -> Any:
        series: dict[int, list[SimpleNamespace]] = {}
        for one in self:
            series.setdefault(len(one.finish_seconds), []).append(one._timing())
        figures = pictures("figures")
        return figures.time_lines(series) if len(series) > 1 else figures.time_bars(next(iter(series.values()), []))


@dataclass(frozen=True)
class RouteEstimate:
    """A route, what it is estimated to take, and what most of that goes to."""

    route: str
    seconds: float
    dominating_term: str


class RouteEstimates(List[RouteEstimate], Pictured):
    """What candidates are estimated to take, the cheapest first: a list of `RouteEstimate`.

    Attributes
    ----------
    assumptions : str
        The machine, the topology, the bytes of an item, and whether ranks of a node share memory.
    """

    def __init__(self, estimates: Iterable[RouteEstimate] = (), assumptions: str = "") -> None:
        super().__init__(estimates)
        self.assumptions = assumptions

    def __str__(self) -> str:
        lines = [f"{one.route:<16} {1e6 * one.seconds:10.3f} us, mostly {one.dominating_term}" for one in self]
        return "\n".join([f"estimated for {self.assumptions}", *lines])

    def records(self) -> list[dict[str, Any]]:
        """Return a flat record for each route, as ``pandas.DataFrame`` takes them."""
        return [asdict(one) for one in self]

    def _title(self) -> str:
        return f"Estimated times of {len(self)} routes, for {self.assumptions}"

    def _repr_html_(self) -> str:
        return super()._repr_html_() + f"<p>Estimated for {escape(self.assumptions)}.</p>"

    def _rows(self) -> list[dict[str, Any]]:
        return [{"route": one.route, "seconds": one.seconds, "most of it": one.dominating_term} for one in self]

    def _draw(self) -> Any:
        bars = [SimpleNamespace(route=one.route, dedup=True, label=one.route, slowest_seconds=one.seconds)
                for one in self]
        return pictures("figures").time_bars(bars, "estimated time of one exchange")


class Plans(Pictured):
    """The plans of all ranks on one route; `compile_all` makes them.

    Its picture is that of ``crossdock draw``: of up to 32 ranks an arrow for each message, of more a matrix of source
    by destination for each stage.
    """

    def __init__(self, inner: Any, topology: Topology, route: str, deduplicate: bool) -> None:
        self._inner = inner
        self.topology = topology
        self.route = route
        self.deduplicate = deduplicate

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
        return PlanStatistics(self.route, self.deduplicate, tuple(map(_traffic, stages)), _traffic(total),
                              Summary(*buffer_items))

    def simulate(self, machine: str | Machine = "generic_100g", *, item_bytes: int = 8, shares_memory: bool = True,
                 mean_noise_seconds: float = 0.0, seed: int = 0) -> Simulation:
        """Replay the exchange on a machine, message by message. Releases the GIL.

        Parameters
        ----------
        machine : str or Machine
            One of `machines`, a file that describes one, or what `calibrate` has found.
        item_bytes : int
        shares_memory : bool
            Whether ranks of a region, which is a node here, pass items on in shared memory, without messages.
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
        finish, *spent = self._inner.simulate(text_of_machine(machine), item_bytes, shares_memory, mean_noise_seconds,
                                              seed)
        name = machine.name if isinstance(machine, Machine) else machine
        return Simulation(self.route, name, self.deduplicate, finish * 1e-12, *spent)

    def to_string(self, rank: int) -> str:
        """Return a rank's plan for people, a few lines for each stage."""
        return str(self._inner.text(rank))

    def to_json(self, rank: int) -> str:
        """Return a rank's plan as JSON."""
        return str(self._inner.json(rank))

    def __repr__(self) -> str:
        return f"<Plans of {len(self)} ranks on {self.topology} by {self.route}>"

    def _rows(self) -> list[dict[str, Any]]:
        return self.analyze()._rows()

    def _draw(self) -> Any:
        return pictures("plan").draw({
            "ranks": len(self), "regions": self.topology.num_regions, "topology": str(self.topology),
            "route": self.route, "dedup": self.deduplicate, **json.loads(self._inner.picture())})


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
    regions = Topology.of(topology)
    inner = extension.Plans.make(regions._inner, _inner_of(patterns), route, deduplicate)
    return Plans(inner, regions, route, deduplicate)


def explain(topology: Topology | str, patterns: Sequence[Pattern], machine: str | Machine = "generic_100g", *,
            item_bytes: int = 8, shares_memory: bool = True) -> RouteEstimates:
    """Estimate what candidates take, the cheapest first, which ``"auto"`` would choose. Releases the GIL.

    It gives the routes and times of ``crossdock explain``; printed, the result begins with what it assumes.

    Parameters
    ----------
    topology, patterns : as of `compile_all`
    machine, item_bytes, shares_memory : as of `Plans.simulate`
    """
    regions = Topology.of(topology)
    name = machine.name if isinstance(machine, Machine) else machine
    memory = "ranks of a node share memory" if shares_memory else "messages inside nodes, too"
    estimates = extension.estimates(regions._inner, _inner_of(patterns), text_of_machine(machine), item_bytes,
                                    shares_memory)
    return RouteEstimates(starmap(RouteEstimate, estimates),
                          f"{name}, topology {regions}, items of {item_bytes} bytes, {memory}")


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


def calibrate(world: Context, seconds: float = 60.0, *, name: str = "calibrated") -> Machine:
    """Measure all cost parameters of the machine on the ranks of a context.

    Start as many ranks on each node as the program has there, and nothing else beside them. A level without a pair of
    ranks gets the numbers of the nearest one that has. Collective over `world`; blocks, without the GIL.

    Ctrl-C interrupts it; what is left of it goes on in this rank's next call on the context, while the others wait.

    Parameters
    ----------
    world : Context
        Its topology says which ranks are a region.
    seconds : float
        About how long to measure, up to an hour; equal on all ranks. However little it is, each measurement is made
        once.
    name : str
        What to call the machine; equal on all ranks.

    Returns
    -------
    Machine
        The same on all ranks, for ``Context(comm, machine=...)``, `explain` and `Plans.simulate`.

    Raises
    ------
    InvalidArgumentError
        `seconds` is no time up to an hour, or an argument has another type or differs between ranks; on all ranks.
    InvalidStateError
        The context is closed.

    Examples
    --------
    >>> machine = planning.calibrate(world, seconds=10)
    >>> max(machine.fit_errors.values())
    >>> tuned = Context(MPI.COMM_WORLD, machine=machine)
    """
    mpi = name_of(MPI.Get_library_version().split("\0")[0])
    text, fit_errors = extension.calibrated(inner_of(world), seconds, name, mpi)
    return machine_of(text, dict(fit_errors))


def _traffic(summaries: Sequence[tuple[int, int, float]]) -> TrafficSummary:
    return TrafficSummary(*(Summary(*one) for one in summaries))


def _words(name: str) -> str:
    return name.replace("inter_region", "inter-region").replace("_", " ")


def _inner_of(patterns: Sequence[Pattern]) -> list[Any]:
    return [getattr(one, "_inner", one) for one in patterns]
