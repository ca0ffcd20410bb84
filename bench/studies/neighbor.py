#!/usr/bin/env python3
"""The study of neighborhood collectives, simulated: prints tables, and writes a record.

usage: bench/studies/neighbor.py FOLDER [-o RECORD] [--quick]     FOLDER holds a recorded hierarchy
       bench/studies/neighbor.py --tables RECORD                  prints the tables of a record again

standard is direct; partial is three_step, each destination's items apart; full is three_step with
deduplication. Iterations until the set-up has paid off are counted over all levels: one iteration is one
exchange of each.
"""
import argparse
import math
import pathlib
import tempfile

import study

WAYS = {"standard": ("direct", False), "partial": ("three_step", False), "full": ("three_step", True)}
MANY_RANKS = [32, 64, 128, 256, 512, 1024, 2048]
CUTS = [8, 16, 32]
MACHINE = study.PROJECT / "machines/lassen.json"
OVERHEAD_FACTORS = [0.5, 0.25]  # of the network, where they are assumed
REGIONS_PER_NODE = 1  # the study ran one processor of each node
OTHER_REGIONS_PER_NODE = 2
# Set-up of three_step less that of direct, in exchanges over direct; medians of 8 ranks, executor persistent.
MEASURED = study.RESULTS / "neighbor-amg-rotated-8ranks-2x4-openmpi.jsonl"


def way(level, name):
    route, is_deduplicated = WAYS.get(name, (name, True))
    return next(one for one in level["routes"] if one["route"] == route and one["dedup"] == is_deduplicated)


def seconds(level, name):
    return way(level, name)["time"]["seconds"]


def total(case, value):
    return sum(value(level) for level in case["levels"])


def sums(case):
    """Seconds of all levels, one after the other."""
    names = list(WAYS) + [one["route"] for one in case["levels"][0]["routes"] if one["dedup"]]
    return {name: total(case, lambda level, name=name: seconds(level, name)) for name in names}


def chosen(case):
    return total(case, lambda level: seconds(level, level["choice"]))


def best_of_levels(case):
    return total(case, lambda level: min(one["time"]["seconds"] for one in level["routes"]))


def iterations(extra_setup, gain):
    return str(math.ceil(extra_setup / gain)) if gain > 0 else "never"


def planning(case, name):
    return total(case, lambda level: way(level, name)["planning_seconds"])


def measured_setup(is_deduplicated):
    contenders = study.read(MEASURED)["contenders"]

    def median(route, dedup, what):
        return next(one[what]["median"] for one in contenders
                    if (one["name"], one["executor"], one["dedup"]) == (route, "persistent", dedup))

    direct = median("direct", False, "setup_seconds")
    extra = median("three_step", is_deduplicated, "setup_seconds") - direct
    return extra / median("direct", False, "exchange_seconds")


def microseconds(value):
    return f"{1e6 * value:.1f}"


def saved(level, what):
    partial, full = (way(level, name)["sent"]["inter_region_items"][what] for name in ("partial", "full"))
    return f"{100 * (1 - full / partial):.0f} %" if partial else "0 %"


def most_messages(level, kind):
    return " / ".join(str(way(level, name)["sent"][kind]["max"]) for name in ("standard", "full"))


def print_levels(case):
    rows = []
    for number, level in enumerate(case["levels"]):
        rows.append([number, level["rows"], most_messages(level, "inter_region_messages"),
                     most_messages(level, "intra_region_messages"), f"{saved(level, 'max')}, {saved(level, 'total')}",
                     *(microseconds(seconds(level, name)) for name in WAYS),
                     f"{level['choice']} {microseconds(seconds(level, level['choice']))}"])
    study.print_table(f"Levels on {case['ranks']} ranks: most that a rank sends, and microseconds",
                      ["level", "rows", "messages between regions, standard / three steps", "inside",
                       "saved of items between regions: most, all", *WAYS, "chosen"], rows)


def print_terms(case):
    rows = []
    for number, level in enumerate(case["levels"]):
        best = min(level["routes"], key=lambda one: one["time"]["seconds"])
        rows.append([number, *(way(level, name)["sent"]["inter_region_items"]["max"] for name in ("partial", "full")),
                     *(way(level, name)["time"]["dominating_term"] for name in ("standard", "full")),
                     best["route"], microseconds(best["time"]["seconds"])])
    study.print_table("Most items of a rank between regions, what takes the most time, and the fastest route",
                      ["level", "items, partial", "items, full", "standard's term", "full's term", "fastest",
                       "its us"], rows)


def faster(case, name):
    """The study's rule: standard on the levels where three steps are slower."""
    return total(case, lambda level: min(seconds(level, "standard"), seconds(level, name)))


def speed_ups(case):
    """Of partial and full over standard, on all levels and by the study's rule."""
    times = sums(case)
    return [f"{times['standard'] / time:.2f}"
            for time in (times["partial"], times["full"], faster(case, "partial"), faster(case, "full"))]


SPEED_UPS = ["partial", "full", "the faster of each level: partial", "full"]


def print_scaling(cases, scaling):
    rows = []
    for case in cases:
        times = sums(case)
        best = min((name for name in times if name not in WAYS), key=times.get)
        rows.append([case["ranks"], *(microseconds(times[name]) for name in WAYS), *speed_ups(case),
                     *(f"{times['standard'] / value:.2f}" for value in (chosen(case), best_of_levels(case))),
                     f"{best} {times['standard'] / times[best]:.2f}"])
    study.print_table(f"{scaling} scaling, all levels: microseconds, and speed-up over standard",
                      ["ranks", *WAYS, *SPEED_UPS, "chosen for each level", "fastest of each level",
                       "best for all levels"], rows)


def print_setup(cases):
    rows = []
    for case in cases:
        times = sums(case)
        cells = [case["scaling"], case["ranks"]]
        for name in ("partial", "full"):
            gain = times["standard"] - times[name]
            cells.append(iterations(planning(case, name), gain))
            cells.append(iterations(planning(case, name) - planning(case, "standard"), gain))
            cells.append(iterations(measured_setup(WAYS[name][1]) * times["standard"], gain))
        rows.append(cells)
    study.print_table("Iterations until set-up has paid off",
                      ["scaling", "ranks", "partial: all planning", "more planning than standard",
                       "measured ratio", "full: all planning", "more planning than standard", "measured ratio"],
                      rows)


def print_variants(cases):
    rows = []
    for case in cases:
        for label, key in (("data flow", None), ("stage by stage", "stage_by_stage_seconds"),
                           ("shared memory", "shared_memory_seconds")):
            standard = total(case, lambda level: seconds(level, "standard"))
            times = [total(case, lambda level, name=name, key=key: way(level, name)[key] if key
                           else seconds(level, name)) for name in ("partial", "full")]
            rows.append([case["ranks"], case["ranks"] // case["nodes"], label, microseconds(standard),
                         *map(microseconds, times), *(f"{standard / value:.2f}" for value in times)])
    study.print_table("How plans are run: microseconds of all levels, and speed-up over standard",
                      ["ranks", "ranks of a node", "run", "standard", "partial", "full", "partial", "full"], rows)


def print_tables(record):
    cases = record["cases"]
    strong = [case for case in cases if case["scaling"] == "strong"]
    largest = strong[-1]
    weak = [case for case in cases if case["scaling"] == "weak"] + [largest]
    print_levels(largest)
    print_terms(largest)
    print_scaling(strong, "Strong")
    print_scaling(weak, "Weak")
    print_setup(strong + weak[:-1])
    print_variants([largest, *record["other_nodes"]])
    print_overheads(record)


def without_counts(case):
    """The times alone: what is sent is kept of one case."""
    for level in case["levels"]:
        for one in level["routes"]:
            del one["sent"]
            one["time"] = {"seconds": one["time"]["seconds"]}
    return case


def print_overheads(record):
    largest = [case for case in record["cases"] if case["scaling"] == "strong"][-1]
    rows = []
    for factor, case in [(1, largest), *((one["factor"], one["case"]) for one in record["other_overheads"])]:
        times = sums(case)
        rows.append([f"x {factor}", *(microseconds(times[name]) for name in WAYS), *speed_ups(case),
                     f"{times['standard'] / chosen(case):.2f}"])
    study.print_table("Smaller overheads of messages between nodes, as long a ping-pong: microseconds of all levels",
                      ["overheads between nodes", *WAYS, *SPEED_UPS, "chosen for each level"], rows)


def with_overheads(factor):
    """The machine with a part of its overheads between nodes; the rest is latency."""
    machine = study.read(MACHINE)
    network = machine["levels"]["network"]
    for side in ("send_overhead_seconds", "receive_overhead_seconds"):
        for protocol in ("eager", "rendezvous"):
            network[protocol]["latency_seconds"] += (1 - factor) * network[side]
        network[side] *= factor
    return machine


def overheads_case(arguments, factor, num_ranks):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "machine.json"
        study.write(with_overheads(factor), file)
        return joined(arguments, "--ranks", num_ranks, "--machine", file)["cases"][0]


def joined(arguments, *more):
    regions = [] if "--regions-per-node" in more else ["--regions-per-node", REGIONS_PER_NODE]
    return study.run(arguments.program, arguments.folder, "--columns", arguments.columns, *regions, *more)


def make_record(arguments):
    ranks = [32] if arguments.quick else MANY_RANKS
    cuts = [8] if arguments.quick else CUTS
    record = joined(arguments, "--ranks", ",".join(map(str, ranks)), "--cuts", ",".join(map(str, cuts)))
    other = joined(arguments, "--ranks", ranks[-1], "--regions-per-node", OTHER_REGIONS_PER_NODE)
    record["hierarchy"] = pathlib.Path(arguments.folder).name
    record["other_nodes"] = [without_counts(case) for case in other["cases"]]
    record["other_overheads"] = [
        {"factor": factor, "case": without_counts(overheads_case(arguments, factor, ranks[-1]))}
        for factor in OVERHEAD_FACTORS]
    for case in record["cases"]:
        if (case["scaling"], case["ranks"]) != ("strong", ranks[-1]):
            without_counts(case)
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("-o", dest="output", default=study.RESULTS / "study-neighbor.jsonl")
    parser.add_argument("--program", default=study.PROGRAMS / "crossdock_study_neighbor")
    parser.add_argument("--columns", type=int, default=64, help="columns of the hierarchy's parts")
    parser.add_argument("--quick", action="store_true", help="32 ranks only")
    parser.add_argument("--tables", metavar="RECORD")
    arguments = parser.parse_args()
    if (arguments.folder is None) == (arguments.tables is None):
        parser.error("either FOLDER or --tables RECORD")
    if arguments.tables:
        record = study.read(arguments.tables)
    else:
        record = study.rounded(make_record(arguments))
        study.write(record, arguments.output)
    print_tables(record)


if __name__ == "__main__":
    main()
