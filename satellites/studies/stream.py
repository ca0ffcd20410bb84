#!/usr/bin/env python3
"""The study of streaming aggregation, by its formulae and replayed: prints tables, and writes a record.

usage: satellites/studies/stream.py [-o RECORD]       up to 64 nodes of 8 processes of 8 workers; minutes
       satellites/studies/stream.py --quick           4 nodes of 2 processes of 2 workers, seconds
       satellites/studies/stream.py --tables RECORD   prints the tables of a record again

pp/64 is pp as in this library: a worker takes room in a shared buffer for 64 items at once. 2^18 items of a
worker and 256 in a buffer fill as many buffers as 2^20 and 1024 do.
"""
import concurrent.futures
import pathlib
import tempfile

import study

COLLECTED = 64  # 512 bytes of items
HISTOGRAM = ["--items", 1 << 18, "--workloads", "histogram"]
LATENCY = [[*HISTOGRAM, "--buffer-items", 256],
           [*HISTOGRAM, "--schemes", "wps,pp", "--buffer-items", "128,512"],
           ["--items", 1 << 18, "--workloads", "index_gather", "--buffer-items", 256]]
# 2^18 items on 64 nodes are the first of LATENCY. 2^17 are the study's, with its buffers.
SCALING = [["--nodes", nodes, *HISTOGRAM, "--buffer-items", 256] for nodes in (4, 16)]
SCALING += [["--nodes", nodes, "--items", 1 << 17, "--workloads", "histogram", "--schemes", schemes,
             "--buffer-items", buffer_items]
            for nodes in (1, 8, 64) for schemes, buffer_items in (("ww", 512), ("wps,wsp,pp", 1024))]
VARIANTS = [(1e-7, 160), (2.5e-8, 40)]  # a cache line's seconds, and an item's nanoseconds at each end
QUICK_SIZE = ["--processes", 2, "--workers", 2, "--items", 1000]
QUICK_LATENCY = [["--nodes", 4, *QUICK_SIZE, "--buffer-items", "10,2000"]]
QUICK_SCALING = [["--nodes", nodes, *QUICK_SIZE, "--workloads", "histogram", "--buffer-items", 50] for nodes in (1, 2)]


def microseconds(seconds):
    return f"{seconds * 1e6:.0f}"


def name_of(case):
    return case["scheme"] + (f"/{case['collected_items']}" if case["collected_items"] > 1 else "")


def print_latencies(run):
    rows = []
    for case in run["cases"]:
        sent, bounds = case["messages_per_source"], case["messages_per_source_bounds"]
        rows.append([case["workload"], case["buffer_items"], name_of(case), f"{sent['least']} to {sent['most']}",
                     f"{bounds['least']} to {bounds['most']}",
                     f"{case['full_messages_per_node']} of {case['messages_per_node']}",
                     f"{case['buffered_items_per_process']} / {case['buffered_items_per_process_bound']}",
                     *(microseconds(case[what]) for what in ("mean_latency_seconds", "expected_wait_seconds",
                                                             "bound_of_wait_seconds", "median_latency_seconds",
                                                             "p99_latency_seconds")),
                     f"{case['overhead_seconds_per_item'] * 1e9:.1f}",
                     f"{case['contention_seconds_per_item'] * 1e9:.1f}", f"{case['simulated_seconds'] * 1e3:.1f}"])
    study.print_table(f"{run['nodes']} nodes, 2^{run['cases'][0]['items_per_worker'].bit_length() - 1} items",
                      ["workload", "g", "scheme", "messages of a source", "bounds", "full, of a node's",
                       "most items buffered / bound", "latency, mean us", "waiting, by the formula", "g / r", "median",
                       "p99", "overhead of an item, ns", "of it contention", "ms"], rows)


def print_scaling(runs):
    """Milliseconds by nodes, a row for each number of items and nodes."""
    names = list(dict.fromkeys(name_of(case) for run in runs for case in run["cases"]))
    times, messages = {}, {}
    for run in runs:
        for case in run["cases"]:
            row = (case["items_per_worker"], run["nodes"])
            times.setdefault(row, {})[name_of(case)] = case["simulated_seconds"]
            messages.setdefault(row, {})[name_of(case)] = case["messages_per_node"]
    study.print_table("Milliseconds, and messages of a node, by items of a worker and nodes",
                      ["items", "nodes", *(f"{name}, ms" for name in names),
                       *(f"{name}, messages" for name in names)],
                      [[*row, *(f"{times[row][name] * 1e3:.1f}" for name in names),
                        *(messages[row][name] for name in names)] for row in times])


def print_hand_overs(runs):
    rows = []
    for run in runs:
        by_name = {name_of(case): case["simulated_seconds"] for case in run["cases"]}
        rows.append([f"{run['hand_over_seconds'] * 1e9:.0f} ns", f"{run['item_seconds'] * 1e9:.0f} ns",
                     *(f"{by_name[name] * 1e3:.1f}" for name in by_name)])
    study.print_table(f"Milliseconds on {runs[0]['nodes']} nodes, by a cache line's way and the work for an item",
                      ["cache line", "item", *by_name], rows)


def print_tables(record):
    for run in record["latency"]:
        print_latencies(run)
    print_scaling([*record["scaling"], record["latency"][0]])
    print_hand_overs(record["hand_overs"])


def run_all(arguments, *options):
    """All schemes, and pp once more as in this library, if it is among them."""
    found = study.run(arguments.program, *options)
    if any(case["scheme"] == "pp" for case in found["cases"]):
        again = list(options)
        if "--schemes" in again:
            del again[again.index("--schemes"):again.index("--schemes") + 2]
        more = study.run(arguments.program, *again, "--schemes", "pp", "--collected-items", COLLECTED)
        found["cases"] += more["cases"]
    return found


def with_hand_over(arguments, seconds, item_ns, options):
    machine = study.read(study.PROJECT / "machines/generic_100g.json")
    machine["hand_over_seconds"] = seconds
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "machine.json"
        study.write(machine, file)
        found = run_all(arguments, *options, "--machine", file, "--item-ns", item_ns)
    return {**found, "machine": machine["name"], "hand_over_seconds": machine["hand_over_seconds"]}


def make_record(arguments):
    latency, scaling = (QUICK_LATENCY, QUICK_SCALING) if arguments.quick else (LATENCY, SCALING)
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        found = list(two.map(lambda options: run_all(arguments, *options), [*latency, *scaling]))
        variants = list(two.map(lambda variant: with_hand_over(arguments, *variant, scaling[0]), VARIANTS))
    return {"schema": "crossdock.study.stream/2", "latency": found[:len(latency)], "scaling": found[len(latency):],
            "hand_overs": variants}


def main():
    study.finish(study.parser(__doc__, "stream").parse_args(), make_record, print_tables)


if __name__ == "__main__":
    main()
