#!/usr/bin/env python3
"""The study of combined requests, simulated: prints tables, and writes a record.

usage: bench/studies/array.py [-o RECORD]       all cases; minutes on a quiet machine, and 5 GB
       bench/studies/array.py --quick           16 ranks, a second
       bench/studies/array.py --tables RECORD   prints the tables of a record again

Each route combines equal requests; ROUTE/none does not. `plain` is MPI_Alltoallv in two ways. In `overload` the
entries are dealt out to all ranks, in `overload_one` they are all rank 0's.
"""
import argparse

import study

FEW_ROUTES = "three_step,locality,grid:2,grid:3,hypercube,decrease"
MANY_ROUTES = ("three_step,locality:1,locality,grid:2,grid:3,grid:4,hypercube,increase,decrease,hourglass,"
               "inverse_hourglass")
RUNS = [
    ["--ranks", 4096, "--workloads", "boruvka", "--graphs", "rmat_unscrambled", "--plain", "posted",
     "--routes", FEW_ROUTES],
    ["--ranks", 4096, "--workloads", "overload,overload_one", "--plain", "posted", "--routes", MANY_ROUTES],
    ["--ranks", 1024, "--workloads", "boruvka"],
    ["--ranks", 1024, "--workloads", "neighborhood", "--graphs", "rmat_unscrambled,gnm"],
]
QUICK_RUNS = [["--ranks", 16, "--per-node", 6, "--edges-per-rank", 64, "--entries", 16, "--requests-per-rank", 32]]


def name_of(case):
    return f"{case['workload']} {case.get('graph') or case['entries']}"


def best_plain(case):
    return min(one["simulated_seconds"] for one in case["contenders"] if one["name"].startswith("plain/"))


def print_case(run, case):
    rows = []
    for one in case["contenders"]:
        share = max(one["share_of_time"], key=one["share_of_time"].get)
        rows.append([one["name"], f"{one['simulated_seconds'] * 1e3:.3f}",
                     f"{best_plain(case) / one['simulated_seconds']:.2f}", one["messages_most"], one["items"],
                     one["received_most"], one["arrived_most"], f"{share} {one['share_of_time'][share]:.2f}"])
    study.print_table(f"{name_of(case)}, {run['ranks']} ranks, {case['batches']} batches",
                      ["contender", "ms", "plain / it", "most messages", "requests that travel", "most received",
                       "most arrived", "most of the ranks' time"], rows)


def print_tables(record):
    for run in record["runs"]:
        for case in run["cases"]:
            print_case(run, case)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="output", default=study.RESULTS / "study-array.json")
    parser.add_argument("--program", default=study.PROGRAMS / "crossdock_study_array")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tables", metavar="RECORD")
    arguments = parser.parse_args()
    if arguments.tables:
        record = study.read(arguments.tables)
    else:
        runs = [study.run(arguments.program, *run) for run in (QUICK_RUNS if arguments.quick else RUNS)]
        record = {"schema": "crossdock.study.array/1", "runs": study.rounded(runs)}
        study.write(record, arguments.output)
    print_tables(record)


if __name__ == "__main__":
    main()
