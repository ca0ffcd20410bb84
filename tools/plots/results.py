"""Result files as the report needs them: simulations, counted traffic, measured exchanges, and what the drop-in did."""

import dataclasses
import json
import math
import pathlib
import re
import xml.etree.ElementTree

import records
from pictures.words import PARTS_OF_TIME, counted, route_label, shortened
from plotting import refuse

DROP_IN = "crossdock.drop_in/1"
REPORT = "crossdock.report/1"
PARTS_OF_EXCHANGES = ["overlap", "packing", "sending", "waiting"]
DRAWING = "what draw writes as .svg"
QUARTILES = ["min", "lower_quartile", "median", "max"]
DECISIONS = {"gain": "", "no_gain": "Nothing is gained: ", "undecided": "Undecided: "}  # how a sentence begins
FASTEST_OF_MPI = "{}, the fastest that uses MPI alone"


@dataclasses.dataclass(frozen=True)
class Timing:
    """What a simulation says of one route."""

    route: str
    dedup: bool
    slowest_seconds: float
    speedup_over_direct: float
    shares: dict | None  # of PARTS_OF_TIME; a sum over levels has none

    @property
    def label(self):
        return route_label(self.route, self.dedup)


@dataclasses.dataclass(frozen=True)
class Traffic:
    """What is counted of one route: {"max", "mean"} of each noun over the ranks."""

    route: str
    dedup: bool
    counts: dict

    @property
    def label(self):
        return route_label(self.route, self.dedup)


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A contender's times divided by those of the reference in the same rounds; without a decision those of medians."""

    median: float
    lower: float | None = None  # of the interval that the median is in
    upper: float | None = None
    decision: str | None = None  # "gain", "no_gain" or "undecided"; older records have none

    @property
    def text(self):
        return f"{self.median:.2f}" if self.lower is None else f"{self.median:.2f} ({self.lower:.2f} to {self.upper:.2f})"


@dataclasses.dataclass(frozen=True)
class Contender:
    """What was measured of one contender; seconds are {"min", "lower_quartile", "median", "max"}."""

    label: str
    route: str | None  # of this library; None: it is another
    dedup: bool
    seconds: dict
    is_reference: bool  # whether the library is compared with it
    ratio: Ratio | None  # None: an older record has none


@dataclasses.dataclass(frozen=True)
class Bench:
    """One contest; `kind` says of what, `unit` what the times are of."""

    kind: str
    path: str
    title: str
    unit: str
    contenders: list
    reference: str = FASTEST_OF_MPI  # what to call the fastest of those that the library is compared with
    judged: str | None = None  # the route that try judges; None: the fastest
    finding: str | None = None  # what try says where there is nothing to judge, or it judged otherwise


@dataclasses.dataclass(frozen=True)
class Choice:
    """What explain says of one exchange: the candidates, the cheapest first."""

    path: str
    title: str
    candidates: list  # of Timing
    is_simulated: bool
    dominating: str  # of the first one's time


@dataclasses.dataclass(frozen=True)
class Object:
    """What all objects of one name did on the ranks of a context; the mean rank's seconds of all exchanges."""

    label: str
    kind: str
    ranks: int
    starts: int
    route: str
    why: str
    messages: int  # of all ranks, as the next one
    bytes: int
    mean_seconds: float
    slowest_seconds: float
    shares: dict  # of PARTS_OF_EXCHANGES
    awaited: dict | None  # the rank that one waited for longest, and the seconds


@dataclasses.dataclass(frozen=True)
class Call:
    """What the drop-in did for the calls of one place on one communicator; seconds are sums over the exchanges."""

    label: str
    where: str
    ranks: int
    num_calls: int
    num_planned: int
    why: str
    set_up_seconds: float
    mpi_seconds: float
    saved_seconds: float
    plan: dict | None  # the last one, with the seconds of one exchange in its trial


@dataclasses.dataclass(frozen=True)
class Group:
    """Results that differ in their number of ranks only."""

    file: str
    about: str

    @property
    def title(self):
        return f"{short_name(self.file)}: {self.about}"


def short_name(file):
    return pathlib.PurePath(file).name.removesuffix(".gz").removesuffix(".mtx")


def ranks_per_region(record):
    ranks, regions = count(record, "ranks"), count(record, "regions")
    if ranks % regions == 0:
        return counted(ranks // regions, "rank") + " per region"
    return f"topology {text(record, 'topology')}"


def ranks_per_node(record):
    """Said where nodes are not the regions."""
    nodes = text(record, "nodes")
    if nodes == text(record, "topology"):
        return ""
    blocks = re.fullmatch(r"\d+x(\d+)", nodes)
    return f", {blocks[1]} ranks per node" if blocks else f", nodes {nodes}"


def number(record, name, least=0):
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f'the field "{name}" is no number')
    if value < least:
        raise ValueError(f'the field "{name}" is negative')
    return value


def count(record, name):
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f'the field "{name}" is no positive number')
    return value


def text(record, name):
    if not isinstance(record[name], str):
        raise ValueError(f'the field "{name}" is no text')
    return shortened(record[name])


def numbers(record, names):
    return {name: number(record, name) for name in names}


def uses_mpi_alone(name):
    """As crossdock bench has it: collectives, or requests written by hand."""
    return name.startswith("mpi_") or name in ("plain", "alltoallv")


def ratio_of(record):
    """As crossdock bench and try judge it."""
    if "ratio" not in record:
        return None
    ratio = record["ratio"]
    bounds = [ratio[name] if ratio[name] is None else number(ratio, name) for name in ("lower", "upper")]
    if ratio["decision"] not in DECISIONS:
        raise ValueError(f'the field "decision" is none of {", ".join(DECISIONS)}')
    return Ratio(number(ratio, "median"), *bounds, ratio["decision"])


def contender_of(record, seconds, label, route, *, dedup=True, is_reference=None):
    name = text(record, "name")
    if is_reference is None:
        is_reference = uses_mpi_alone(name)
    return Contender(label, route, dedup, numbers(record[seconds], QUARTILES), is_reference, ratio_of(record))


def sum_of_levels(levels, ratios):
    """Contenders whose times are those of all levels, one after the other: sums of minima, of quartiles and so on.

    `ratios` are by their names.
    """
    on_levels = [{text(one, "name"): one for one in routes_of(level, "contenders")} for level in levels]
    return [
        {"name": name, "route": first["route"]}
        | ({"ratio": ratios[name]} if name in ratios else {})
        | {
            "exchange_seconds": {
                quartile: sum(number(one[name]["exchange_seconds"], quartile) for one in on_levels)
                for quartile in QUARTILES
            }
        }
        for name, first in on_levels[0].items()
    ]


def drawing_of(path, content):
    """An SVG file, unless it could do more than show itself."""
    try:
        elements = list(xml.etree.ElementTree.fromstring(content.encode()).iter())
    except xml.etree.ElementTree.ParseError:
        refuse(f"{path} is no SVG")
    for element in elements:
        kind = element.tag.rpartition("}")[2]
        links = [value for name, value in element.items() if name.rpartition("}")[2] == "href"]
        acts = any(name.startswith("on") for name, _ in element.items())
        if kind in ("script", "foreignObject") or acts or any(link[:1] != "#" for link in links):
            refuse(f"{path} is no drawing of crossdock draw")
    return {"schema": DRAWING, "file": "", "svg": content}


def routes_of(record, name):
    if not record[name]:
        raise ValueError(f'the field "{name}" is empty')
    return record[name]


def lines_of(path, content):
    """What programs wrote, a line for each call or object: {schema: [record]}; nothing if no line is of a schema."""
    found = {DROP_IN: [], REPORT: []}
    wrong = None
    for at, line in enumerate(content.splitlines(), 1):
        try:
            record = json.loads(line)
            found[record["schema"]].append(record)
        except (ValueError, TypeError, LookupError):
            wrong = wrong or at
    found = {schema: records for schema, records in found.items() if records}
    if wrong and found:
        refuse(f"{path}: line {wrong} is no record of {' or '.join(found)}, and other lines are")
    return found


def parsed(path, content):
    if not content.strip():
        refuse(f"{path} is empty")
    if content.startswith(("<?xml", "<svg")):
        return [drawing_of(path, content)]
    if DROP_IN in content or REPORT in content:
        found = lines_of(path, content)
        if found:
            return [{"schema": schema, "file": "", "ranks": "", "topology": "", "lines": lines}
                    for schema, lines in found.items()]
    try:
        return [records.from_text(content)]
    except (ValueError, TypeError, LookupError, AttributeError):
        refuse(f"{path} is not JSON")


def reader_of(path, record, readers):
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema in list(readers):
        return readers[schema]
    what = "there is no schema" if schema is None else f"unknown schema {json.dumps(schema)}"
    refuse(f"{path}: {what}; a report reads {', '.join(readers)}")


class Results:
    """All result files; of several runs of the same thing the last one counts."""

    def __init__(self, files):
        self.sources = []  # path and record of every file
        self.simulations = {}  # Group -> ranks -> [Timing]
        self.traffic = {}  # Group -> ranks -> [Traffic]
        self.benches = []  # Bench
        self.choices = []  # Choice
        self.drawings = []  # path, SVG
        self.taken_over = []  # path, [Call]
        self.objects = []  # path, [Object]
        readers = {
            "crossdock.simulate/1": self.read_simulation,
            "crossdock.analyze/1": self.read_analysis,
            "crossdock.explain/1": self.read_explanation,
            "crossdock.bench.neighbor/1": self.read_neighbor,
            "crossdock.bench.hypre/1": self.read_hypre,
            "crossdock.try/1": self.read_try,
            "crossdock.bench.exchange/1": self.read_exchange,
            "crossdock.bench.gather/1": self.read_gather,
            "crossdock.bench.array/1": self.read_array,
            "crossdock.bench.array.prepared/1": self.read_prepared,
            "crossdock.bench.stream/1": self.read_stream,
            DROP_IN: self.read_drop_in,
            REPORT: self.read_objects,
            DRAWING: self.read_drawing,
        }
        for file in files:
            path = file["path"]
            for record in parsed(path, file["text"]):
                self.read(path, record, reader_of(path, record, readers))

    def read(self, path, record, read):
        try:
            record.setdefault("file", record.get("workload", ""))
            text(record, "file")
            read(path, record)
            self.sources.append((path, record))
        except KeyError as missing:
            refuse(f'{path}: the field "{missing.args[0]}" is missing')
        except (AttributeError, TypeError):
            refuse(f"{path}: a field has another type than {record['schema']} gives it")
        except ValueError as fault:
            refuse(f"{path}: {fault}")

    def read_simulation(self, _path, record):
        about = (
            f"machine {text(record, 'machine')}, {ranks_per_region(record)}{ranks_per_node(record)}, "
            f"partition {text(record, 'partition')}, {text(record, 'executor')}, "
            f"{count(record, 'item_bytes')} bytes per item"
        )
        is_sum = "levels" in record
        timings = [
            Timing(
                text(one, "route"),
                one["dedup"],
                number(one, "slowest_seconds"),
                number(one, "speedup_over_direct"),
                None if is_sum else numbers(one["share_of_time"], PARTS_OF_TIME),
            )
            for one in routes_of(record, "routes")
        ]
        group = Group(record["file"], about)
        self.simulations.setdefault(group, {})[record["ranks"]] = timings
        if not is_sum:
            self.read_analysis(_path, record)

    def simulations_with_shares(self):
        return {
            group: series
            for group, series in self.simulations.items()
            if all(one.shares is not None for timings in series.values() for one in timings)
        }

    def read_analysis(self, _path, record):
        group = Group(
            record["file"], f"{ranks_per_region(record)}, partition {text(record, 'partition')}"
        )
        counted = [
            Traffic(text(one, "route"), one["dedup"], traffic_counts(one["total"]))
            for one in routes_of(record, "routes")
        ]
        at_ranks = self.traffic.setdefault(group, {})
        known = {one.label: one for one in at_ranks.get(record["ranks"], [])}
        at_ranks[record["ranks"]] = list((known | {one.label: one for one in counted}).values())

    def read_explanation(self, path, record):
        is_hierarchy = "levels" in record
        division = f"{count(record, 'ranks')} ranks, topology {text(record, 'topology')}"
        for level in record["levels"] if is_hierarchy else [record]:
            timings = [
                Timing(text(one, "route"), record["dedup"], number(one, "seconds"), 1, None)
                for one in routes_of(level, "candidates")
            ]
            name = short_name(record["file"]) + (f", level {level['level']}" if is_hierarchy else "")
            title = (
                f"{name}: {division}, machine {text(record, 'machine')}, "
                f"{count(record, 'item_bytes')} bytes per item"
            )
            is_simulated = number(record, "replayed") > 0
            dominating = text(level["candidates"][0], "mostly")
            self.choices.append(Choice(path, title, timings, is_simulated, dominating))

    def add_bench(self, kind, path, record, what, unit, contenders, **compared):
        runs = f"{count(record, 'runs')} runs of " if "runs" in record else ""
        in_a_row = record.get("in_a_row", 1)  # older records do not say it
        of_several = f" of {in_a_row} in a row" if in_a_row > 1 else ""
        title = (
            f"{what}, {count(record, 'ranks')} ranks, {runs}{count(record, 'iterations')} iterations{of_several}, "
            f"{text(record, 'mpi')}"
        )
        self.benches.append(Bench(kind, path, title, unit, contenders, **compared))

    def read_neighbor(self, path, record, **judged):
        contenders = []
        for one in routes_of(record, "contenders"):
            name, dedup, executor = text(one, "name"), one["dedup"], one["executor"]
            label = route_label(name, dedup) + (f", {executor}" if executor else "")
            route = name if executor is not None else None
            contenders.append(contender_of(one, "exchange_seconds", label, route, dedup=dedup))
        what = (
            short_name(record["file"])
            + (", all levels of AMG" if record["amg"] else "")
            + f": topology {text(record, 'topology')}, {text(record, 'direction')}, "
            f"{count(record, 'item_bytes')} bytes per item"
        )
        self.add_bench("Neighbor exchange", path, record, what, "one exchange", contenders, **judged)

    def read_exchange(self, path, record):
        contenders = []
        for one in routes_of(record, "contenders"):
            name, algorithm = text(one, "name"), one["algorithm"]
            label = name if algorithm in (None, name) else f"{name} = {algorithm}"
            route = algorithm and algorithm.removeprefix("routed:")
            contenders.append(contender_of(one, "exchange_seconds", label, route))
        what = f"{short_name(record['file'])}: topology {text(record, 'topology')}, {text(record, 'values')}"
        self.add_bench("Sparse exchange", path, record, what, "one exchange", contenders)

    def read_gather(self, path, record):
        contenders = []
        for one in routes_of(record, "contenders"):
            name, choice = text(one, "name"), one["choice"]
            label = name if choice in (None, name) else f"{name} = {text(one, 'choice')}"
            route = None if one["baseline"] else (choice or name).rpartition("/")[2]
            contenders.append(
                contender_of(one, "combine_seconds", label, route, is_reference=one["baseline"])
            )
        what = f"{short_name(record['file'])}: topology {text(record, 'topology')}, executor {text(record, 'executor')}"
        reference = "{}, the fastest of gslib's methods"
        self.add_bench("Gather-scatter", path, record, what, "one operation", contenders, reference=reference)

    def read_hypre(self, path, record):
        levels = routes_of(record, "levels")
        contenders = [
            contender_of(
                one,
                "exchange_seconds",
                one["name"],
                one["route"] and one["name"],
                is_reference=one["name"] == "hypre",
            )
            for one in sum_of_levels(levels, record.get("ratios", {}))
        ]
        what = (
            f"{short_name(record['file'])}: all {counted(len(levels), 'level')}, topology "
            f"{text(record, 'topology')}, executor {text(record, 'executor')}"
        )
        self.add_bench(
            "Levels of hypre's BoomerAMG",
            path,
            record,
            what,
            "one exchange on each level",
            contenders,
            reference="{}'s own exchange",
        )

    def read_array(self, path, record):
        self.add_array("Distributed array", path, record, "seconds", "all batches")

    def read_prepared(self, path, record):
        self.add_array("Prepared reads", path, record, "read_seconds", "one read")

    def add_array(self, kind, path, record, seconds, unit):
        contenders = [
            contender_of(
                one,
                seconds,
                text(one, "name")
                if one["route"] in (None, *text(one, "name").split("/"))
                else f"{text(one, 'name')} = {one['route']}/{one['combine']}",
                one["route"],
            )
            for one in routes_of(record, "contenders")
        ]
        what = f"{text(record, 'workload')}: topology {text(record, 'topology')}"
        self.add_bench(kind, path, record, what, unit, contenders)

    def read_stream(self, path, record):
        contenders = [
            contender_of(
                one,
                "seconds",
                text(one, "name")
                if one["route"] is None
                else f"{one['scheme']} {one['route']}, {one['buffer_items']:,} items",
                one["route"],
            )
            for one in routes_of(record, "contenders")
        ]
        record["topology"] = record["nodes"]
        workers = counted(count(record, "workers"), "worker")
        what = f"{text(record, 'workload')}: nodes {text(record, 'nodes')}, {workers} to a rank"
        self.add_bench("Stream", path, record, what, "a run", contenders)

    def read_drawing(self, path, record):
        record |= {"ranks": "", "topology": ""}
        self.drawings.append((path, record["svg"]))

    def read_try(self, path, record):
        for pattern in record["patterns"]:
            found = pattern["finding"]
            is_judged = found["route"] and isinstance(found["ratio"], dict)  # older records judge otherwise
            text(found, "text")
            judged = {"judged": found["route"] or None, "finding": None if is_judged else found["text"]}
            self.read_neighbor(path, record | pattern | {"amg": False, "direction": "forward"}, **judged)

    def read_drop_in(self, path, record):
        calls = [
            Call(
                f"{at}: {text(one, 'function')}",
                f"communicator {number(one, 'communicator')}, {text(one, 'place')}",
                count(one, "ranks"),
                number(one, "calls"),
                number(one, "along_plan"),
                text(one, "why"),
                number(one, "set_up_seconds"),
                number(one, "mpi_seconds"),
                number(one, "saved_seconds", least=-math.inf),
                one["plan"] and plan_of_call(one["plan"]),
            )
            for at, one in enumerate(record["lines"], 1)
        ]
        record["ranks"] = max(one.ranks for one in calls)
        self.taken_over.append((path, calls))

    def read_objects(self, path, record):
        found = [object_of(one) for one in record["lines"]]
        record["ranks"] = max(one.ranks for one in found)
        self.objects.append((path, found))


def object_of(one):
    seconds, awaited = one["seconds"], one["longest_awaited"]
    means = {part: number(seconds[part], "mean") for part in ["exchange", *PARTS_OF_EXCHANGES]}
    return Object(
        text(one, "name"),
        text(one, "kind"),
        count(one, "ranks"),
        number(one, "starts"),
        text(one, "route"),
        text(one, "why"),
        number(one, "messages"),
        number(one, "bytes"),
        means["exchange"],
        number(seconds["exchange"], "max"),
        {part: means[part] / (means["exchange"] or 1) for part in PARTS_OF_EXCHANGES},
        awaited and numbers(awaited, ["rank", "seconds"]),
    )


def plan_of_call(plan):
    return {
        "route": text(plan, "route"),
        "is_used": plan["is_used"],
        **numbers(plan, ["most_neighbors", "bytes"]),
        "messages": numbers(plan["messages_between_regions"], ["direct", "route"]),
        "seconds": numbers(plan["trial_seconds"], ["mpi", "route"]),
    }


def traffic_counts(total):
    """{"max", "mean"} of messages and items, all of them and those that leave their region."""
    summaries = {
        "messages": total["messages"],
        "items": total["items"],
        "inter-region messages": total["inter_region"]["messages"],
        "inter-region items": total["inter_region"]["items"],
    }
    return {noun: numbers(summary, ["max", "mean"]) for noun, summary in summaries.items()}
