#!/usr/bin/env python3
"""The study of combined requests, simulated: prints tables, and writes a record.

usage: satellites/studies/array.py [-o RECORD]       all cases; an hour, and 6 GB of memory
       satellites/studies/array.py --quick           16 ranks, a second
       satellites/studies/array.py --tables RECORD   prints the tables of a record again

Each route combines equal requests; ROUTE/none does not. `plain` is MPI_Alltoallv; with a search, MPI looks at the
receives that wait. In `overload_one` every rank writes each of rank 0's entries once, and then reads it. `pointers` and
`neighbors` are Borůvka's round and neighborhood whose vertices hold their own edges: so those find their lightest one
without a request.
"""
import math

import study

FEW_ROUTES = "direct,three_step,locality,grid:2,grid:3,hypercube,inverse_hourglass"
# The study's shapes for 4096 ranks; `increase` and `decrease` are others here.
OVERLOAD_ROUTES = ("three_step,locality,grid:2,grid:3,hypercube,grid:2x2x2x4x8x16,grid:16x8x4x2x2x2,hourglass,"
                   "inverse_hourglass")
SORTING = ["--comparisons", "--no-plain"]
RMAT = ["--workloads", "boruvka", "--graphs", "rmat_unscrambled"]
RUNS = [
    ["--ranks", 512, "--edges-per-rank", 1 << 14, "--workloads", "boruvka", "--graphs", "rmat_unscrambled,gnm,rgg",
     "--routes", "direct,locality,grid:2,hypercube", "--uncombined", "hypercube"],
    *(["--ranks", ranks, *RMAT, *search, "--routes", "three_step,locality,grid:2,hypercube", "--uncombined",
       "hypercube"] for ranks in (512, 1024, 4096) for search in ([], ["--search"])),
    *(["--ranks", 4096, "--edges-per-rank", 1 << 14, *RMAT, *search, "--routes", "locality,grid:2,hypercube",
       "--uncombined", "grid:2,hypercube"] for search in ([], ["--search"])),
    ["--ranks", 4096, "--workloads", "boruvka", "--graphs", "gnm",
     "--routes", "locality,grid:2,grid:3,hypercube", "--uncombined", "grid:2,hypercube"],
    ["--ranks", 512, "--workloads", "neighborhood", "--graphs", "rmat_unscrambled,gnm,rgg", "--no-plain",
     "--routes", FEW_ROUTES],
    *(["--ranks", ranks, "--workloads", "overload_one", "--entries", "256,8192",
       "--routes", f"{direct}locality,grid:2,hypercube", "--uncombined", f"{direct}grid:2,hypercube"]
      for ranks, direct in ((512, "direct,"), (1024, ""))),
    *(["--ranks", 4096, "--workloads", "overload_one", "--entries", entries,
       "--routes", OVERLOAD_ROUTES, "--uncombined", uncombined]
      for entries, uncombined in ((256, "grid:2,hypercube"), (8192, "grid:2"))),
    *(["--ranks", 4096, "--edges-per-rank", 1 << log_edges, "--workloads", workload, "--graphs", graph, "--search",
       "--routes", "locality,grid:2,grid:3,hypercube", "--uncombined", uncombined]
      for workload, graph, log_edges, uncombined in (
          ("boruvka", "rgg", 12, "grid:2,hypercube"), ("neighborhood", "gnm", 12, "hypercube"),
          ("neighborhood", "rgg", 15, "grid:2,hypercube"))),
    *(["--ranks", 4096, "--edges-per-rank", 1 << 15, "--workloads", "pointers", "--graphs", graph,
       "--collective-stages", "--routes", "grid:2,grid:3,hypercube", "--uncombined", uncombined]
      for graph, uncombined in (("rmat_unscrambled", "grid:2,hypercube"), ("gnm", "grid:2,grid:3,hypercube"))),
    # The study's sizes, whose vertices hold their own edges, and its collectives in each stage; below its sort, too.
    *(["--ranks", 4096, "--edges-per-rank", 1 << log_edges, "--workloads", workload, "--graphs", graph, *more,
       "--search", "--collective-stages", "--routes", routes, "--uncombined", uncombined]
      for workload, log_edges, graph, more, routes, uncombined in (
          ("pointers", 17, "rgg", [], "grid:2,grid:3,hypercube", "grid:2,grid:3,hypercube"),
          ("neighbors", 15, "rmat_unscrambled", ["--no-plain"], "grid:2,hypercube", "none"),
          ("pointers", 17, "gnm", SORTING, "grid:2,grid:3,hypercube", "none"),
          ("neighbors", 15, "rgg", ["--comparisons"], "grid:2,grid:3,grid:4,hypercube", "grid:2,grid:3,hypercube"),
          ("neighbors", 15, "gnm", SORTING, "grid:2,grid:3,grid:4,hypercube", "none"),
          ("neighbors", 15, "rmat_unscrambled", SORTING, "grid:2,hypercube", "none"))),
]
QUICK = ["--ranks", 16, "--per-node", 6, "--edges-per-rank", 64]
QUICK_RUNS = [[*QUICK, "--entries", 16, "--requests-per-rank", 32],
              [*QUICK, "--workloads", "pointers,neighbors", "--graphs", "rgg", "--search", "--routes",
               "grid:2,hypercube", "--collective-stages", "--comparisons"]]


def name_of(case):
    return f"{case['workload']} {case.get('graph') or case['entries']}"


def plain_seconds(case):
    return next((one["simulated_seconds"] for one in case["contenders"] if one["name"] == "plain"), None)


def sorting_share(one):
    """Of the time, what the slowest rank takes to sort its own requests, where that is known."""
    return one.get("sorting_seconds", math.nan) / one["simulated_seconds"]


def print_case(run, case):
    rows, plain = [], plain_seconds(case)
    for one in case["contenders"]:
        seconds = one["simulated_seconds"]
        share = max(one["share_of_time"], key=one["share_of_time"].get)
        rows.append([one["name"], f"{seconds * 1e3:.3f}", f"{plain / seconds:.2f}" if plain else "",
                     f"{sorting_share(one):.2f}", one["messages_most"], one["items"], one["received_most"],
                     one["arrived_most"], f"{share} {one['share_of_time'][share]:.2f}"])
    study.print_table(f"{name_of(case)}, {run['ranks']} ranks, {run['edges_per_rank']} edges each, "
                      f"{case['batches']} batches{', search' if run['searches'] else ''}",
                      ["contender", "ms", "plain / it", "sorting / it", "most messages", "requests that travel",
                       "most received", "most arrived", "most of the ranks' time"], rows)


GRAPHS = {"rmat_unscrambled": "R-MAT", "rmat": "R-MAT, scrambled", "rgg": "random geometric", "gnm": "G(n,m)"}
WORKLOADS = {"boruvka": "Borůvka", "neighborhood": "neighborhood", "overload_one": "overload",
             "pointers": "Borůvka, own edges", "neighbors": "neighborhood, own edges"}
SHAPES = {"increase": "grid:2x2x2x4x8x16", "decrease": "grid:16x8x4x2x2x2"}  # of the study on 4096 ranks
CONTENDERS = ["direct", "three_step", "locality", "grid:2", "grid:3", "grid:4", "hypercube", "increase",
              "decrease", "hourglass", "inverse_hourglass", "grid:2/none", "hypercube/none"]


def label(run, case):
    """As the rows of docs/array.md are named."""
    parts = [WORKLOADS.get(case["workload"], case["workload"])]
    parts.append(GRAPHS[case["graph"]] if "graph" in case else f"{case['entries']} entries")
    if run["edges_per_rank"] != 1 << 12:
        parts.append(f"2^{run['edges_per_rank'].bit_length() - 1} edges")
    if run["searches"]:
        parts.append("search")
    if run.get("sorting") == "comparisons":
        parts.append("its sort")
    return ", ".join(parts)


def speed_ups(case, seconds):
    """Of all contenders over plain, `seconds` being theirs."""
    times = {one["name"]: seconds(one) for one in case["contenders"]}
    plain = times["plain"]
    found = [times.get(name) or times.get(SHAPES.get(name)) for name in CONTENDERS]
    ratios = [plain / time if time else None for time in found]
    return [f"{plain * 1e3:.2f}", *("" if ratio is None else f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"
                                    for ratio in ratios)]


def print_speed_ups(record):
    rows = []
    for run in record["runs"]:
        for case in filter(plain_seconds, run["cases"]):
            name = label(run, case)
            rows.append([name, run["ranks"], *speed_ups(case, lambda one: one["simulated_seconds"])])
            for phase in case["contenders"][0].get("seconds_of", ()):
                rows.append([f"{name}, {phase}s", run["ranks"],
                             *speed_ups(case, lambda one, phase=phase: one["seconds_of"][phase])])
    study.print_table("Speed-up over plain", ["", "ranks", "plain, ms", *CONTENDERS], rows)


def print_tables(record):
    print_speed_ups(record)
    for run in record["runs"]:
        for case in run["cases"]:
            print_case(run, case)


def make_record(arguments):
    runs = [study.run(arguments.program, *one) for one in (QUICK_RUNS if arguments.quick else RUNS)]
    return {"schema": "crossdock.study.array/2", "runs": runs}


def main():
    study.finish(study.parser(__doc__, "array").parse_args(), make_record, print_tables)


if __name__ == "__main__":
    main()
