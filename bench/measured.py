#!/usr/bin/env python3
"""Prints the tables of docs/bench.md and of the device's page that come from records.

usage: measured.py --tables bench/results
"""
import argparse
import pathlib
import statistics
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(PROJECT / "tools/plots"))
import records  # noqa: E402

ONE_NODE = "8ranks-2x4"
MATRICES = ["D_10", "bcspwr10", "bibd_49_3", "lp_woodw", "msc01050", "radfr1", "tumorAntiAngiogenesis_4", "SiH4",
            "ba6_normal", "bcsstk25", "ca-condmat", "dense1400"]
QUARTILES = ("lower_quartile", "median")


class Results:
    def __init__(self, folder):
        self.folder = folder

    def read(self, name):
        return records.read(self.folder / f"{name}.jsonl")

    def contenders(self, name):
        return self.read(f"{name}-openmpi")["contenders"]

def print_table(columns, rows):
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def seconds_of(contenders, name, executor=None, dedup=True):
    """Lower quartile and median of a contender; a route has an executor."""
    found, = [one["exchange_seconds"] for one in contenders
              if one["name"] == name and (executor is None or (one["executor"], one["dedup"]) == (executor, dedup))]
    return [found[name] for name in QUARTILES]


def ratios(seconds, to):
    return ", ".join(f"{one / other:.2f}" for one, other in zip(seconds, to))


def geometric_mean(values):
    product = 1
    for value in values:
        product *= value
    return product ** (1 / len(values))


def one_node(results):
    rows, all_ratios = [], []
    for matrix in MATRICES:
        contenders = results.contenders(f"neighbor-{matrix}-{ONE_NODE}")
        by_messages = seconds_of(contenders, "direct", "persistent", dedup=False)
        pairs = [(by_messages, seconds_of(contenders, "mpi_persistent"))]
        pairs += [(seconds_of(contenders, name, "shared_memory"), by_messages)
                  for name in ("direct", "two_step", "three_step")]
        pairs.append((seconds_of(contenders, "three_step", "persistent"), by_messages))
        rows.append([matrix.replace("dense1400", "`dense:1400`"), *(ratios(*pair) for pair in pairs)])
        all_ratios.append([[a / b for a, b in zip(*pair)] for pair in pairs])
    means = [[geometric_mean([row[column][k] for row in all_ratios]) for k in range(2)]
             for column in range(len(all_ratios[0]))]
    rows.append(["geometric mean", *(", ".join(f"{one:.2f}" for one in mean) for mean in means)])
    print_table(["matrix", "`direct` / `mpi_persistent`", "`direct`", "`two_step`", "`three_step`",
                 "`three_step` by messages"], rows)


def own_cores(results):
    def read(record):
        return results.read(f"{record}cores-mpich")["contenders"]

    rows = []
    for name, record in (("SiH4", "SiH4-8"), ("SiH4", "SiH4-16"), ("bcsstk25", "bcsstk25-8"), ("rajat01", "rajat01-8"),
                         ("`dense:1`", "dense1-8")):
        contenders = read(f"neighbor-{record}")
        by_hand = seconds_of(contenders, "mpi_persistent")
        rows.append([name, record.split("-")[1], f"{by_hand[0] * 1e6:.1f}",
                     ratios(seconds_of(contenders, "mpi_neighbor_alltoallv"), by_hand),
                     ratios(seconds_of(contenders, "auto", "auto"), by_hand)])
    print_table(["neighbor exchange", "ranks", "requests by hand, us", "MPI_Neighbor_alltoallv", "`auto`"], rows)

    rows = []
    for name, record, seconds, reference in (
            ("gather-scatter of msc01050", "gather-msc01050-8", "combine_seconds", "all_reduce"),
            ("gather-scatter of hex:7:2", "gather-hex72-8", "combine_seconds", "crystal_router"),
            ("sparse exchange of ca-condmat", "exchange-ca-condmat-8", "exchange_seconds", "mpi_alltoallv"),
            *((f"stream, {workload}, {table}", f"stream-{workload}-{short}-8", "seconds", "alltoallv")
              for workload in ("histogram", "index_gather") for table, short in (("512 KiB", "512k"),
                                                                                 ("256 MiB", "256m")))):
        found = {one["name"]: [one[seconds][statistic] for statistic in QUARTILES] for one in read(record)}
        ours = found["stream" if name.startswith("stream") else "auto"]
        rows.append([name, f"`{reference}`", f"{found[reference][0] * 1e6:.0f}", ratios(ours, found[reference])])
    print_table(["8 ranks", "the fastest other", "its time, us", "crossdock"], rows)


def divided_node(results):
    rows = []
    for matrix in ("msc01050", "bcspwr10"):
        contenders = results.contenders(f"neighbor-{matrix}-8ranks-nodes2x4")
        by_messages = seconds_of(contenders, "direct", "persistent", dedup=False)
        rows.append([matrix, *(ratios(seconds_of(contenders, name, executor), by_messages)
                               for name, executor in (("direct", "shared_memory"), ("two_step", "shared_memory"),
                                                      ("three_step", "shared_memory"), ("two_step", "persistent"),
                                                      ("three_step", "persistent")))])
    print_table(["matrix", "`direct`", "`two_step`", "`three_step`", "`two_step` by messages",
                 "`three_step` by messages"], rows)


def other_workloads(results):
    rows = []
    for name, record in (("msc01050, 1 value", f"msc01050-{ONE_NODE}"), ("4 values", f"msc01050-{ONE_NODE}-values4"),
                         ("16 values", f"msc01050-{ONE_NODE}-values16"),
                         ("msc01050, reverse", f"msc01050-{ONE_NODE}-reverse"),
                         ("the AMG hierarchy of 524,288 rows, all levels", f"amg-rotated-{ONE_NODE}"),
                         ("BoomerAMG on bcsstk25, all levels", f"bcsstk25-amg-{ONE_NODE}")):
        contenders = results.contenders(f"neighbor-{record}")
        by_hand = seconds_of(contenders, "mpi_persistent")
        rows.append([name, *(ratios(seconds_of(contenders, *which), by_hand)
                             for which in (("petsc_sf_basic",), ("petsc_sf_neighbor",),
                                           ("direct", "persistent"), ("direct", "shared_memory"),
                                           ("three_step", "shared_memory")))])
    print_table(["workload", "petsc_sf_basic", "petsc_sf_neighbor", "`direct` by messages", "`direct`",
                 "`three_step`"], rows)


def emulated_nodes(results):
    rows = []
    for nodes, name, record in (("4", "`dense:1`, 12 partners on other nodes", "dense1-emulated4x4"),
                                ("8", "`dense:1`, 28 partners on other nodes", "dense1-emulated8x4"),
                                ("4", "`dense:600`", "dense600-emulated4x4"), ("4", "SiH4", "SiH4-emulated4x4"),
                                ("4", "bcsstk25, few partners", "bcsstk25-emulated4x4")):
        contenders = results.contenders(f"neighbor-{record}")
        by_hand = seconds_of(contenders, "mpi_persistent")
        rows.append([nodes, name, *(ratios(seconds_of(contenders, *which), by_hand)
                                    for which in (("direct", "persistent"), ("direct", "shared_memory"),
                                                  ("two_step", "shared_memory"), ("three_step", "shared_memory"),
                                                  ("three_step", "persistent")))])
    print_table(["nodes", "workload", "`direct` by messages", "`direct`", "`two_step`", "`three_step`",
                 "`three_step` by messages"], rows)


def set_up(results):
    rows = []
    for matrix, where, label in [*((one, ONE_NODE, one) for one in ("msc01050", "bcsstk25", "SiH4", "ca-condmat")),
                                 ("dense1400", ONE_NODE, "`dense:1400`: 9800 items to a rank"),
                                 ("dense600", "emulated4x4", "`dense:600`: 9000 items to a rank, 4 nodes"),
                                 ("SiH4", "emulated4x4", "SiH4, 4 nodes")]:
        contenders = results.contenders(f"neighbor-{matrix}-{where}")
        to_mpi, = [one["setup_seconds"]["median"] for one in contenders if one["name"] == "mpi_neighbor_alltoallv_init"]
        routes = [[one for one in contenders if (one["executor"], one["dedup"]) == (executor, True)]
                  for executor in ("persistent", "shared_memory")]
        rows.append([label,
                     *(", ".join(f"{one['setup_seconds']['median'] / one['exchange_seconds']['median']:.0f}"
                                 for one in found) for found in routes),
                     *(", ".join(f"{one['setup_seconds']['median'] / to_mpi:.1f}" for one in found)
                       for found in routes)])
    print_table(["workload", "by messages: `direct`, `two_step`, `three_step`", "in shared memory",
                 "to MPI's, by messages", "in shared memory"], rows)


def one_leader(results):
    runs = {}
    for run in results.read("neighbor-one-leader-emulated-openmpi")["runs"]:
        case = run["topology"].partition("x")[0], run["file"].partition(".")[0]
        runs.setdefault(case, []).append(run["contenders"])
    names = {"dense:1": "`dense:1`", "bcsstk25": "bcsstk25, `--partition random:1`: all ranks are partners"}
    rows = []
    for (nodes, file), launches in runs.items():
        row = [nodes, names.get(file, file)]
        for route in ("three_step:1", "auto"):
            found = sorted(seconds_of(contenders, route, "auto")[1] / seconds_of(contenders, "mpi_persistent")[1]
                           for contenders in launches)
            row.append(f"{statistics.median(found):.2f} ({found[0]:.2f} to {found[-1]:.2f})")
        rows.append(row)
    print_table(["nodes", "workload", "`three_step:1`", "`auto`"], rows)


def overlap(results):
    cells = {}
    for run in ("1000-2ranks-overlap", "100000-2ranks-overlap", "1000-2ranks-overlap-thread",
                "100000-2ranks-overlap-thread"):
        for one in results.contenders(f"neighbor-dense{run}"):
            if one["executor"] is None or not one["dedup"]:
                cells.setdefault((one["name"], one["executor"]), []).append(f"{one['overlap']['efficiency']:.2f}")
    rows = [[shown, *cells[which]] for shown, which in (
        ("`mpi_persistent`", ("mpi_persistent", None)),
        ("`mpi_neighbor_alltoallv_init`", ("mpi_neighbor_alltoallv_init", None)),
        ("`direct` by messages", ("direct", "persistent")), ("`direct` in shared memory", ("direct", "shared_memory")))]
    print_table(["contender", "tests, K = 1000", "K = 100000", "thread, K = 1000", "K = 100000"], rows)


def instructions(results):
    cells = {}
    for case in results.read("instructions")["cases"]:
        cells.setdefault(case["pattern"], []).append(case["instructions_per_item"])
    rows = [[shown, *(f"{value:.0f}" if pattern == "one item" else f"{value:.1f}" for value in cells[pattern])]
            for shown, pattern in (("one", "one item"), ("a run of 4096: sent and received where it lies", "run"),
                                   ("every second one, 4096", "every second item"),
                                   ("4096 with random gaps", "list of items"),
                                   ("a run of 4096, to shuffled slots", "list of slots"))]
    print_table(["items of the message", "1 value", "4 values", "16 values"], rows)


def gather_scatter(results):
    def shown(contender):
        return contender["combine_seconds"]["median"] * 1e6

    rows = []
    for where, short in (("8 ranks, one node", ONE_NODE), ("4x4 emulated", "emulated4x4")):
        for matrix in ("msc01050", "SiH4", "bcspwr10", "tumorAntiAngiogenesis_4", "hex72"):
            record = f"gather-{matrix}-{short}"
            found = {one["name"]: one for one in results.contenders(record)}
            row = [where, f"[{matrix.replace('hex72', 'hex:7:2')}](../bench/results/{record}-openmpi.jsonl)"]
            row += [f"{shown(found[name]):.0f}" for name in ("pairwise", "crystal_router", "all_reduce", "tuned",
                                                              "direct", "three_step")]
            chosen = [found[name] for name in ("auto", "auto:measure")]
            row += [f"{shown(one):.0f} `{one['choice']}`" for one in chosen]
            baselines = [one for one in found.values() if one["baseline"]]
            best = {statistic: min(one["combine_seconds"][statistic] for one in baselines) for statistic in QUARTILES}
            row += [", ".join(f"{one['combine_seconds'][statistic] / best[statistic]:.2f}"
                              for statistic in reversed(QUARTILES)) for one in chosen]
            row.append(f"{found['auto']['setup_seconds']['median'] / found['tuned']['setup_seconds']['median']:.2f}")
            rows.append(row)
    print_table(["ranks", "input", "`pairwise`", "`crystal_router`", "`all_reduce`", "`tuned`", "`direct`",
                 "`three_step`", "`auto`", "`auto:measure`", "`auto`, ratio", "`auto:measure`, ratio", "set-up"], rows)


def sparse_exchange(results):
    for record in ("msc01050-8ranks-2x4", "dense1-emulated4x4", "dense1-emulated8x4", "ca-condmat-emulated4x4",
                   "bcspwr10-pattern-emulated4x4"):
        rows = []
        contenders = results.contenders(f"exchange-{record}")
        first = contenders[0]["exchange_seconds"]
        for one in contenders:
            name = f"auto (`{one['algorithm']}`)" if one["name"] == "auto" else one["name"]
            seconds = one["exchange_seconds"]
            rows.append([name, *(f"{seconds[statistic] * 1e6:.1f}" for statistic in QUARTILES),
                         *(f"{seconds[statistic] / first[statistic]:.2f}" for statistic in QUARTILES),
                         str(one["messages"]), str(one["inter_region_messages"])])
        print_table(["contender", "lower quartile, us", "median, us", "ratio of quartiles", "ratio of medians",
                     "messages", "between regions"], rows)


def distributed_array(results):
    for where, routes in (("8ranks", {"auto (direct)": "auto", "grid:2": "grid:2", "hypercube": "hypercube"}),
                          ("emulated4x4", {name: name for name in ("auto", "direct", "three_step", "locality:1",
                                                                   "grid:4x4")})):
        rows = []
        for workload in ("neighborhood", "boruvka"):
            for graph in ("rmat", "gnm"):
                for edges in ("32768", "131072"):
                    found = {one["route"] or one["name"]: one["seconds"]
                             for one in results.contenders(f"array-{workload}-{graph}-{edges}-{where}")}
                    plain = found["plain"]
                    times = " ".join(f"{plain[name] * 1e3:.1f}" for name in (*QUARTILES, "max"))
                    rows.append([workload, graph, edges, times,
                                 *(f"{found[name]['median'] / plain['median']:.2f}"
                                   for name in ("petsc_sf", *routes.values()))])
        print_table(["workload", "graph", "edges a rank", "plain", "petsc_sf", *routes], rows)


def strategies(results):
    found = {(one["route"], one["combine"]): one["seconds"]["median"]
             for one in results.contenders("array-strategies-rmat-32768-8ranks")}
    plain = found[None, None]
    print_table(["strategy", "direct", "hypercube"],
                [[f"`{name}`", *(f"{found[route, name] / plain:.2f}" for route in ("direct", "hypercube"))]
                 for name in ("none", "sort", "hash", "search_tree", "envelope_hash", "envelope_sort")])


def combining(results):
    rows = []
    for record, requests, entries in (("131072", "2^17", ""), ("131072-stride64", "2^17", ", every 64th"),
                                      ("1048576", "2^20", "")):
        found = results.read(f"combine-{record}")
        seconds = {one["name"]: one for one in found["strategies"]}

        def rate(name, piece):
            return f"{found['requests'] / seconds[name][piece]['median'] / 1e6:.0f}"

        rows.append([requests, f"{found['entries']}{entries}",
                     *(rate(name, "combine_seconds") for name in ("sort", "hash", "search_tree")),
                     rate("sort", "read_seconds")])
    print_table(["requests", "entries", "sort", "hash", "search_tree", "sort, whole read"], rows)


def rate(one):
    return f"{one['items_per_second'] / 1e6:.0f}"


def schemes(results):
    rows = []
    for table, short in (("512 KiB", "512k"), ("256 MiB", "256m")):
        alone, = [one for one in results.contenders(f"stream-histogram-{short}-1rank-1worker") if one["scheme"]]
        found = {one["scheme"] or one["name"]: one
                 for one in results.contenders(f"stream-histogram-{short}-1rank-2workers")}
        names = ("ww", "wps", "wsp", "pp", "node", "alltoallv")
        rows.append([table, rate(alone), *(rate(found[name]) for name in names),
                     *(f"{one['items_per_second'] / other['items_per_second']:.2f}"
                       for one, other in ((found["ww"], alone), (found["wps"], found["pp"])))])
    print_table(["table", "one worker", "ww", "wps", "wsp", "pp", "node", "alltoallv, two threads", "ww : one worker",
                 "wps : pp"], rows)


def wasted_work(results):
    rows = []
    for shown, record, count in (("sssp: wasted relaxations", "sssp", "wasted"),
                                 ("sssp with combining", "sssp-combine", "wasted"),
                                 ("phold: rejected events", "phold", "rejected")):
        found = {one["scheme"]: one["work"][count] for one in results.contenders(f"stream-{record}-4ranks-2workers")}
        rows.append([shown, *(f"{found[scheme]:,}" for scheme in ("ww", "wps", "wsp", "pp"))])
    print_table(["workload", "ww", "wps", "wsp", "pp"], rows)


def python(results):
    rows = []
    for matrix, ranks in (("msc01050", "2"), ("msc01050", "8"), ("bcspwr10", "8")):
        record = f"python-neighbor-{matrix}-{ranks}ranks"
        found = {one["name"]: one["exchange_seconds"]["median"] for one in results.contenders(record)}
        rows.append([f"{matrix}, {ranks} ranks",
                     *(f"{found[name] * 1e6:.1f} us"
                       for name in ("auto", "mpi4py_neighbor_alltoallv", "mpi4py_neighbor_objects")),
                     f"[record](../bench/results/{record}-openmpi.jsonl)"])
    print_table(["halo", "`auto` (`direct`)", "`mpi4py_neighbor_alltoallv`", "`mpi4py_neighbor_objects`", "record"],
                rows)


def streams(results):
    for workload in ("histogram", "index_gather"):
        rows = []
        for table, short in (("512 KiB", "512k"), ("256 MiB", "256m")):
            for ranks in ("2", "4", "8"):
                contenders = results.contenders(f"stream-{workload}-{short}-{ranks}ranks")
                found = {(one["name"], one["buffer_items"]): one for one in contenders}
                plain = found["alltoallv", None]
                sizes = (1024, 8192) if workload == "histogram" else (8192,)
                some = [one for size in sizes for one in contenders if one["buffer_items"] == size]
                of_times = [f"{one['seconds']['median'] / plain['seconds']['median']:.2f}" for one in some]
                if workload == "histogram":
                    of_times[1] = f"**{of_times[1]}**"
                rows.append([table, ranks, rate(plain), *map(rate, some), *of_times])
                if workload == "histogram":
                    rows[-1].append(rate(found["local", None]))
        columns = ["table", "ranks", "alltoallv"]
        print_table(columns + (["stream, 1024 items", "stream, 8192 items", "ratio, 1024", "ratio, 8192",
                                "no communication"] if workload == "histogram" else ["stream, 8192 items", "ratio"]),
                    rows)


def peers(results):
    others = ("hypre", "tpetra_import", "petsc_sf_basic", "mpi_neighbor_alltoallv", "mpi_ineighbor_alltoallv")
    rows = []
    for where, record in (("one node of 8", "8ranks-2x4"), ("4 nodes of 4", "emulated4x4")):
        for workload in ("msc01050", "SiH4", "bcsstk25", "dense1"):
            found = results.contenders(f"peers-{workload}-{record}")
            for what in ("exchange", "set-up"):
                seconds = {one["name"]: one[f"{what.replace('-', '')}_seconds"]["median"]
                           for one in found if one["name"] != "auto" or one["dedup"]}
                to = [seconds["auto"] / seconds[name] for name in others]
                shown = workload.replace("dense1", "`dense:1`")
                rows.append((max(to), [what, where, shown, f"{seconds['auto'] * 1e6:.0f}",
                                       *(f"{one:.2f}" for one in to)]))
    rows.sort(key=lambda row: -row[0])
    print_table(["time of", "ranks", "input", "crossdock, us", *(f"to `{name}`" for name in others)],
                [row for _, row in rows])


def device(results):
    rows = []
    for ranks in ("1", "2", "4"):
        for one in results.read(f"device-halo-{ranks}ranks-h100-mpich")["median_seconds"]:
            rows.append([ranks, f"{one['ghosts']:,}",
                         *(f"{one[name] * 1e6:.0f}" for name in ("whole", "packed", "auto", "persistent")),
                         *(f"{one['auto'] / one[name]:.2f}" for name in ("whole", "packed"))])
    print_table(["ranks", "ghosts of a rank", "whole array", "packed", "`auto`", "`persistent`",
                 "`auto` to whole array", "`auto` to packed"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=pathlib.Path, required=True, metavar="FOLDER", help="the records")
    results = Results(parser.parse_args().tables)
    for section in (one_node, own_cores, divided_node, other_workloads, emulated_nodes, set_up, one_leader, overlap,
                    instructions, gather_scatter, sparse_exchange, distributed_array, strategies, combining, streams,
                    schemes, wasted_work, python, device, peers):
        section(results)


if __name__ == "__main__":
    main()
