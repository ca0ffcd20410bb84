#!/usr/bin/env python3
"""The study of virtual process topologies, simulated: prints tables, and writes a record.

usage: bench/studies/vpt.py FOLDER [-o RECORD] [--cache FOLDER]   FOLDER holds the matrices
       bench/studies/vpt.py FOLDER --quick                        one small matrix on 16 ranks
       bench/studies/vpt.py --tables RECORD                       prints the tables of a record again

n dimensions are the route grid:n; one is direct, and lg P are the hypercube. As in the study no item is
deduplicated on its way. Partitions are by METIS; --cache keeps them, as many parts take minutes.
"""
import argparse
import itertools
import pathlib
import tempfile

import study

SMALL_RANKS = [64, 128, 256, 512]
LARGE_RANKS = [4096, 8192, 16384]
SMALL = ["mit8", "ca-condmat", "ckt11752_dc_1", "fast0507_kkt", "air04_gram", "ba6_normal", "SiH4", "cnr-2000"]
LARGE = ["ckt11752_dc_1", "fast0507_kkt", "cnr-2000", "luxembourg_osm"]
SMALL_MACHINES = ["bluegene_q", "cray_xc40", "blue_waters"]
LARGE_MACHINES = ["cray_xc40", "blue_waters"]  # of these also without the search of waiting receives
WIDE_ITEM_BYTES = 256  # 32 values, as for so many right-hand sides
WIDE_DIMENSIONS = [2, 3, 4, 5, 6, 7, 8, 12]


def direct_of(matrix):
    return matrix["routes"][0]


def speedup(matrix, route, machine):
    return direct_of(matrix)["times"][machine]["seconds"] / route["times"][machine]["seconds"]


def fastest(matrix, machine):
    return max(matrix["routes"], key=lambda route: speedup(matrix, route, machine))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def count_rows(run, machines):
    """Means over matrices, geometric ones for the speed-ups."""
    rows = []
    for k, first in enumerate(run["matrices"][0]["routes"]):
        routes = [(matrix, matrix["routes"][k]) for matrix in run["matrices"]]

        def of(what, which, routes=routes):
            return mean(route["sent"][what][which] for _, route in routes)

        volume = study.geometric_mean(route["sent"]["items"]["total"] / direct_of(matrix)["sent"]["items"]["total"]
                                      for matrix, route in routes)
        rows.append([run["ranks"], run["item_bytes"], first["dimensions"], first["most_messages"],
                     f"{of('messages', 'max'):.0f}", f"{of('messages', 'mean'):.1f}",
                     f"{of('items', 'mean'):.0f}", f"{volume:.2f}", f"{of('buffer_items', 'max'):.0f}",
                     *(f"{study.geometric_mean(speedup(*one, machine) for one in routes):.2f}"
                       for machine in machines)])
    return rows


def print_best(runs, machines):
    rows = []
    for run in runs:
        for matrix in run["matrices"]:
            cells = [run["ranks"], run["item_bytes"], matrix["matrix"], direct_of(matrix)["sent"]["messages"]["max"],
                     f"{direct_of(matrix)['sent']['messages']['mean']:.0f}"]
            for machine in machines:
                best = fastest(matrix, machine)
                terms = [route["times"][machine]["dominating_term"] for route in (direct_of(matrix), best)]
                cells.append(f"{speedup(matrix, best, machine):.1f} (n = {best['dimensions']}, "
                             f"{' / '.join(terms)})")
            rows.append(cells)
    study.print_table("The fastest number of dimensions: speed-up over direct, and what most of the price goes to, "
                      "of direct / of it",
                      ["ranks", "bytes", "matrix", "most messages, direct", "mean", *machines], rows)


def machines_of(run):
    return list(direct_of(run["matrices"][0])["times"])


def print_tables(record):
    for _, same in itertools.groupby(record["runs"], machines_of):
        runs = list(same)
        machines = machines_of(runs[0])
        rows = [row for run in runs for row in count_rows(run, machines)]
        study.print_table("Means over matrices; speed-ups over direct are geometric means",
                          ["ranks", "bytes", "n", "bound", "most messages", "mean messages", "mean items",
                           "items / direct", "most buffered items", *machines], rows)
        print_best(runs, machines)


def without_matching(name):
    """A machine that finds a message's receive at once."""
    machine = study.read(study.PROJECT / f"machines/{name}.json")
    return {**machine, "name": f"{name}, no search", "matching_seconds": 0}


def run(arguments, names, num_ranks, machines, *more):
    files = [pathlib.Path(arguments.folder) / f"{name}.mtx.gz" for name in names]
    return study.run(arguments.program, *files, "--ranks", num_ranks, "--machines", ",".join(map(str, machines)),
                     *more)


def trimmed(runs):
    """Without what the tables do not need: regions play no part, and shares are many."""
    for one in runs:
        for route in (route for matrix in one["matrices"] for route in matrix["routes"]):
            route["sent"] = {what: route["sent"][what] for what in ("messages", "items", "buffer_items")}
            for times in route["times"].values():
                del times["share_of_time"]
    return runs


def make_runs(arguments):
    if arguments.quick:
        return [run(arguments, ["D_10"], 16, SMALL_MACHINES, "--partition", "block")]
    more = ["--cache", arguments.cache] if arguments.cache else []
    runs = [run(arguments, SMALL, num_ranks, SMALL_MACHINES, *more) for num_ranks in SMALL_RANKS]
    with tempfile.TemporaryDirectory() as folder:
        machines = list(LARGE_MACHINES)
        for name in LARGE_MACHINES:
            machines.append(pathlib.Path(folder) / f"{name}.json")
            study.write(without_matching(name), machines[-1])
        runs += [run(arguments, LARGE, num_ranks, machines, *more) for num_ranks in LARGE_RANKS]
        runs.append(run(arguments, LARGE, LARGE_RANKS[0], machines[::2], *more, "--item-bytes", WIDE_ITEM_BYTES,
                        "--dimensions", ",".join(map(str, WIDE_DIMENSIONS))))
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("-o", dest="output", default=study.RESULTS / "study-vpt.jsonl")
    parser.add_argument("--program", default=study.PROGRAMS / "crossdock_study_vpt")
    parser.add_argument("--cache", metavar="FOLDER")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tables", metavar="RECORD")
    arguments = parser.parse_args()
    if (arguments.folder is None) == (arguments.tables is None):
        parser.error("either FOLDER or --tables RECORD")
    if arguments.tables:
        record = study.read(arguments.tables)
    else:
        record = study.rounded({"schema": "crossdock.study.vpt/1", "runs": trimmed(make_runs(arguments))})
        study.write(record, arguments.output)
    print_tables(record)


if __name__ == "__main__":
    main()
