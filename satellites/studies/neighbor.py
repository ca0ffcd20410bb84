#!/usr/bin/env python3
"""The study of neighborhood collectives, simulated: prints tables, and writes a record.

usage: satellites/studies/neighbor.py FOLDER [-o RECORD] [--weak FOLDER] [--quick]     FOLDER holds a recorded hierarchy
       satellites/studies/neighbor.py --weak FOLDER                    the weak scaling of 16,384 rows a rank anew
       satellites/studies/neighbor.py --tables RECORD                  prints the tables of a record again

--weak names a place for the hierarchies of weak scaling: hypre makes what is not there, for 2048 ranks in 2 minutes
with 9 GB.

standard is direct; partial is three_step, each destination's items apart; full is three_step with
deduplication. Iterations until the set-up has paid off are counted over all levels: one iteration is one
exchange of each.
"""
import math
import pathlib
import subprocess
import sys
import tempfile

import study

BETWEEN = ("inter_region_messages", "inter_region_items")
WAYS = {"standard": ("direct", False), "partial": ("three_step", False), "full": ("three_step", True)}
MANY_RANKS = [32, 64, 128, 256, 512, 1024, 2048]
CUTS = [8, 16, 32]
MACHINE = study.PROJECT / "machines/lassen.json"
ROWS_ACROSS = 128  # of a rank's 16,384 in weak scaling, and as many down
WEAK_BLOCKS = {32: (8, 4), 128: (16, 8), 512: (32, 16), 2048: (64, 32)}
OVERHEAD_FACTORS = [0.5, 0.25]  # of the network, where they are assumed
# Fig. 11a on the most ranks: overheads are fitted to one of the two, and the other is a check.
STUDY_SPEED_UPS = {"partial": 1.32, "full": 1.39}
REGIONS_PER_NODE = 1  # the study ran one processor of each node
OTHER_REGIONS_PER_NODE = 2
# Set-up of three_step less that of direct, in exchanges over direct; medians of 8 ranks, executor persistent.
MEASURED = study.MEASUREMENTS / "neighbor-amg-rotated-8ranks-2x4-openmpi.jsonl"


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


def between(level, name, what):
    return way(level, name)["sent"][what]["max"]


def print_large_levels(case):
    rows = []
    for number, level in enumerate(case["levels"]):
        rows.append([number, level["rows"],
                     *(" / ".join(str(between(level, name, "inter_region_messages")) for name in ("standard", "full")),
                       " / ".join(str(between(level, name, "inter_region_items")) for name in WAYS)),
                     f"{saved(level, 'max')}, {saved(level, 'total')}",
                     *(microseconds(seconds(level, name)) for name in WAYS),
                     f"{level['choice']} {microseconds(seconds(level, level['choice']))}"])
    study.print_table(f"Levels of weak scaling, {case['ranks']} ranks of 16,384 rows: most of a rank between regions",
                      ["level", "rows", "messages, standard / three steps", "items, standard / partial / full",
                       "saved of items: most, all", *WAYS, "chosen"], rows)


def print_large(record):
    cases = record["large_weak"]
    print_scaling(cases, "Weak, 16,384 rows a rank,")
    print_large_levels(cases[-1])
    print_overheads(cases[-1], record["large_weak_overheads"], "Weak scaling, 16,384 rows a rank: ")


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
    print_overheads(largest, record["other_overheads"])
    print_calibration(record)
    if "large_weak" in record:
        print_large(record)


def without_counts(case):
    """The times alone: what is sent is kept of one case."""
    for level in case["levels"]:
        for one in level["routes"]:
            one.pop("sent", None)
            one.pop("largest_between_items", None)
            one["time"] = {"seconds": one["time"]["seconds"]}
    return case


def trimmed_weak(case, has_counts):
    """Seconds as data flow, and of the study's ways what is sent between regions."""
    for level in case["levels"]:
        counted = [id(way(level, name)) for name in WAYS] if has_counts else []
        level["routes"] = [{"route": one["route"], "dedup": one["dedup"], "time": {"seconds": one["time"]["seconds"]},
                            **({"sent": {what: one["sent"][what] for what in BETWEEN}} if id(one) in counted else {})}
                           for one in level["routes"]]
    return case


def print_overheads(largest, others, of=""):
    rows = []
    for factor, case in [(1, largest), *((one["factor"], one["case"]) for one in others)]:
        times = sums(case)
        rows.append([f"x {factor}", *(microseconds(times[name]) for name in WAYS), *speed_ups(case),
                     f"{times['standard'] / chosen(case):.2f}"])
    study.print_table(f"{of}Smaller overheads of messages between nodes, as long a ping-pong: us of all levels",
                      ["overheads between nodes", *WAYS, *SPEED_UPS, "chosen for each level"], rows)


def speed_up(case, name):
    """By the study's rule."""
    return total(case, lambda level: seconds(level, "standard")) / faster(case, name)


def ranges(numbers):
    """1 3 4 5 as "1, 3 to 5"."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def levels_won(case, name):
    return [number for number, level in enumerate(case["levels"]) if seconds(level, name) < seconds(level, "standard")]


def iterations_on(case, numbers, name):
    """Until set-up has paid off, on these levels alone: of what it takes more than standard's, and of all."""
    levels = [case["levels"][number] for number in numbers]

    def of(value):
        return sum(map(value, levels))

    gain = of(lambda level: seconds(level, "standard")) - of(lambda level: seconds(level, name))
    cost, standard = (of(lambda level, way_name=way_name: way(level, way_name)["planning_seconds"])
                      for way_name in (name, "standard"))
    return f"{iterations(cost - standard, gain)} to {iterations(cost, gain)}"


def print_calibration(record):
    rows = []
    for one in record["calibration"]:
        largest = one["cases"][-1]
        times = sums(largest)
        rows.append([f"{one['fitted_to']} {STUDY_SPEED_UPS[one['fitted_to']]}", f"x {one['factor']:.3f}",
                     *(f"{speed_up(largest, name):.2f}" for name in STUDY_SPEED_UPS),
                     f"{times['standard'] / times['full']:.2f}", ranges(levels_won(largest, "full")),
                     *(iterations_on(largest, levels_won(largest, name), name) for name in STUDY_SPEED_UPS),
                     ", ".join(f"{speed_up(case, 'full'):.2f}" for case in one["cases"])])
    study.print_table("Overheads between nodes fitted to one number of Fig. 11a; the rest are checks",
                      ["fitted to", "overheads between nodes", "partial (1.32)", "full (1.39)", "full on all levels",
                       "levels on which full is faster", "iterations there, partial (40)", "full (22)",
                       "full, 32 to 2048 ranks"], rows)


def with_overheads(factor):
    """The machine with a part of its overheads between nodes; the rest is latency."""
    machine = study.read(MACHINE)
    network = machine["levels"]["network"]
    for side in ("send_overhead_seconds", "receive_overhead_seconds"):
        for protocol in ("eager", "rendezvous"):
            network[protocol]["latency_seconds"] += (1 - factor) * network[side]
        network[side] *= factor
    return machine


def overheads_case(arguments, hierarchy, factor, num_ranks, *more):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "machine.json"
        study.write(with_overheads(factor), file)
        return joined(arguments, hierarchy, "--ranks", num_ranks, "--machine", file, *more)["cases"][0]


def overheads_cases(arguments, hierarchy, num_ranks):
    """Of each factor the largest case, the times alone."""
    return [{"factor": factor, "case": without_counts(overheads_case(arguments, hierarchy, factor, num_ranks))}
            for factor in OVERHEAD_FACTORS]


def with_times_of_data_flow(case):
    """As `without_counts`, and no other ways to run plans."""
    for level in without_counts(case)["levels"]:
        for one in level["routes"]:
            for key in ("stage_by_stage_seconds", "shared_memory_seconds"):
                one.pop(key, None)
    return case


def calibration(arguments, num_ranks):
    """For each speed-up of the study the part of the overheads that has it on the most ranks, by bisection."""
    found = {}

    def case_of(factor, ranks):
        if (factor, ranks) not in found:
            found[factor, ranks] = overheads_case(arguments, arguments.folder, factor, ranks, "--only-the-studys")
        return found[factor, ranks]

    result = []
    for name, target in STUDY_SPEED_UPS.items():
        low, high = 1 / 8, 3 / 8
        tried = {}
        while high - low > 1 / 64:
            middle = (low + high) / 2
            tried[middle] = speed_up(case_of(middle, num_ranks[-1]), name)
            low, high = (low, middle) if tried[middle] > target else (middle, high)
        factor = min(tried, key=lambda one, tried=tried, target=target: abs(tried[one] - target))
        result.append({"fitted_to": name, "factor": factor,
                       "cases": [with_times_of_data_flow(case_of(factor, ranks)) for ranks in num_ranks]})
    return result


def joined(arguments, hierarchy, *more):
    regions = [] if "--regions-per-node" in more else ["--regions-per-node", REGIONS_PER_NODE]
    return study.run(arguments.program, hierarchy, "--columns", arguments.columns, *regions, *more)


def weak_hierarchy(arguments, num_ranks):
    """A folder of its own; hypre makes what it holds."""
    folder = pathlib.Path(arguments.weak) / f"rotated-{num_ranks}ranks"
    if not folder.exists():
        across, down = WEAK_BLOCKS[num_ranks]
        with tempfile.TemporaryDirectory(dir=arguments.weak) as made:
            file = pathlib.Path(made) / "levels.txt.gz"
            subprocess.run([arguments.hypre_program, f"{across * ROWS_ACROSS}x{down * ROWS_ACROSS}",
                            f"{across}x{down}", "-o", file], stdout=sys.stderr, check=True)
            folder.mkdir()
            file.rename(folder / file.name)
    return folder


def make_weak(arguments):
    many_ranks = list(WEAK_BLOCKS)[:1] if arguments.quick else list(WEAK_BLOCKS)
    cases = []
    for num_ranks in many_ranks:
        case = joined(arguments, weak_hierarchy(arguments, num_ranks), "--ranks", num_ranks)["cases"][0]
        case["scaling"] = "weak, 16,384 rows a rank"
        cases.append(trimmed_weak(case, has_counts=num_ranks == many_ranks[-1]))
    overheads = overheads_cases(arguments, weak_hierarchy(arguments, many_ranks[-1]), many_ranks[-1])
    for one in overheads:
        trimmed_weak(one["case"], has_counts=False)
    return {"large_weak": cases, "large_weak_overheads": overheads}


def make_of_one_hierarchy(arguments):
    ranks = [32] if arguments.quick else MANY_RANKS
    cuts = [8] if arguments.quick else CUTS
    folder = arguments.folder
    record = joined(arguments, folder, "--ranks", ",".join(map(str, ranks)), "--cuts", ",".join(map(str, cuts)))
    other = joined(arguments, folder, "--ranks", ranks[-1], "--regions-per-node", OTHER_REGIONS_PER_NODE)
    record["hierarchy"] = pathlib.Path(folder).name
    record["other_nodes"] = [without_counts(case) for case in other["cases"]]
    record["other_overheads"] = overheads_cases(arguments, folder, ranks[-1])
    record["calibration"] = calibration(arguments, ranks)
    for case in record["cases"]:
        if (case["scaling"], case["ranks"]) != ("strong", ranks[-1]):
            without_counts(case)
    return record


def make_record(arguments):
    record = make_of_one_hierarchy(arguments) if arguments.folder else study.read(arguments.output)
    return record | make_weak(arguments) if arguments.weak else record


def main():
    parser = study.parser(__doc__, "neighbor")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--columns", type=int, default=64, help="columns of the hierarchy's parts")
    parser.add_argument("--weak", metavar="FOLDER")
    parser.add_argument("--hypre-program", default=study.PROGRAMS / "crossdock_study_hierarchy")
    arguments = parser.parse_args()
    if bool(arguments.folder or arguments.weak) == bool(arguments.tables):
        parser.error("either FOLDER, --weak FOLDER, or both, or --tables RECORD")
    study.finish(arguments, make_record, print_tables)


if __name__ == "__main__":
    main()
