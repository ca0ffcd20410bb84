#!/usr/bin/env python3
"""The study of streaming aggregation, by its formulae and replayed: prints tables, and writes a record.

usage: bench/studies/stream.py [-o RECORD]       64 nodes of 8 processes of 8 workers; minutes
       bench/studies/stream.py --quick           4 nodes of 2 processes of 2 workers, a second
       bench/studies/stream.py --tables RECORD   prints the tables of a record again

2^18 items of a worker and 256 in a buffer fill as many buffers as 2^20 and 1024 do.
"""
import argparse

import study

RUNS = [["--items", 1 << 18, "--workloads", "histogram", "--buffer-items", "256,128,512"],
        ["--items", 1 << 18, "--workloads", "index_gather", "--buffer-items", "256"]]
QUICK_RUNS = [["--nodes", 4, "--processes", 2, "--workers", 2, "--items", 1000, "--buffer-items", "10,2000"]]


def microseconds(seconds):
    return f"{seconds * 1e6:.0f}"


def print_tables(record):
    rows = []
    for run in record["runs"]:
        for case in run["cases"]:
            sent, bounds = case["messages_per_source"], case["messages_per_source_bounds"]
            rows.append([case["workload"], case["buffer_items"], case["scheme"],
                         f"{sent['least']} to {sent['most']}", f"{bounds['least']} to {bounds['most']}",
                         case["messages_per_node"], case["buffered_items_per_process"],
                         case["buffered_items_per_process_bound"], microseconds(case["mean_latency_seconds"]),
                         microseconds(case["expected_wait_seconds"]), microseconds(case["median_latency_seconds"]),
                         microseconds(case["p99_latency_seconds"]),
                         f"{case['overhead_seconds_per_item'] * 1e9:.1f}",
                         f"{case['contention_seconds_per_item'] * 1e9:.1f}",
                         f"{case['simulated_seconds'] * 1e3:.1f}"])
    study.print_table("Messages of a source, items in a process's buffers, latencies in us, a core's ns for an item",
                      ["workload", "g", "scheme", "messages", "bounds", "of a node", "buffered", "bound", "mean",
                       "expected wait", "median", "p99", "overhead", "of it contention", "ms"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="output", default=study.RESULTS / "study-stream.jsonl")
    parser.add_argument("--program", default=study.PROGRAMS / "crossdock_study_stream")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tables", metavar="RECORD")
    arguments = parser.parse_args()
    if arguments.tables:
        record = study.read(arguments.tables)
    else:
        runs = [study.run(arguments.program, *run) for run in (QUICK_RUNS if arguments.quick else RUNS)]
        record = {"schema": "crossdock.study.stream/1", "runs": study.rounded(runs)}
        study.write(record, arguments.output)
    print_tables(record)


if __name__ == "__main__":
    main()
