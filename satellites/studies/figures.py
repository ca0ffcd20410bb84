#!/usr/bin/env python3
"""Every figure and table of the five studies that has results, beside ours, with a finding, from the records.

usage: satellites/studies/figures.py --tables satellites/studies/results

Findings are computed. Two numbers agree if neither is more than TOLERANCE times the other; a share agrees if it and
what it leaves of the whole do; a table agrees if SHARE of its numbers do. An order agrees if it holds wherever the
text of the study says so. The last column names what was fitted, assumed or made smaller than in the study.
"""
import argparse
import math
import pathlib
from typing import NamedTuple

import neighbor
import sdde
import stream
import stream_thread
import study
import vpt
import waste

TOLERANCE = 1.25
SHARE = 0.95
FINDINGS = ("agrees", "agrees by a fit", "differs", "other setting", "missing")
AGREES, FITTED, DIFFERS, OTHER, MISSING = FINDINGS
LOOK_SECONDS = 1e-8  # at an unexpected message, fitted to the mean of SDDE's Fig. 10
SCHEMES = ("pp", "wps", "ww")  # by the latency that the study finds


class Row(NamedTuple):
    figure: str
    theirs: str
    ours: str
    finding: str
    why: str


def factor(one, other):
    return max(one / other, other / one)


def are_near(*pairs):
    return all(factor(*pair) <= TOLERANCE for pair in pairs)


def share_is_near(ours, theirs):
    return are_near((ours, theirs), (1 - ours, 1 - theirs))


def are_mostly_near(pairs):
    near = [factor(*pair) <= TOLERANCE for pair in pairs]
    return sum(near) >= SHARE * len(near)


def judged(agrees, fitted=False):
    if not agrees:
        return DIFFERS
    return FITTED if fitted else AGREES


def is_rising(values):
    values = list(values)
    return all(one < other for one, other in zip(values, values[1:]))


def percent(share):
    return f"{100 * share:.0f} %"


def span(values, form="{}"):
    values = list(values)
    return f"{form.format(min(values))} to {form.format(max(values))}"


# NEIGHBOR


def planning_computation(growth, num_ranks):
    """Seconds of a rank's core to plan three_step, more than to plan direct; between two sizes by their powers."""
    def seconds(size):
        found = {one["route"]: one["planning_seconds"] for one in size["routes"]}
        return found["three_step"] - found["direct"]

    (below, above) = ([one for one in growth["sizes"] if one["ranks"] <= num_ranks][-1],
                      next(one for one in growth["sizes"] if one["ranks"] > num_ranks))
    weight = math.log(num_ranks / below["ranks"]) / math.log(above["ranks"] / below["ranks"])
    return seconds(below) ** (1 - weight) * seconds(above) ** weight


def iterations_with_computation(case, name, computation):
    extra = neighbor.planning(case, name) - neighbor.planning(case, "standard")
    times = neighbor.sums(case)
    return math.ceil((extra + computation * len(case["levels"])) / (times["standard"] - times[name]))


def neighbor_rows(record, growth):
    case = next(one for one in record["cases"] if (one["scaling"], one["ranks"]) == ("strong", 2048))
    levels = case["levels"]
    computation = planning_computation(growth, 2048)
    paid_off = [iterations_with_computation(case, name, computation) for name in ("partial", "full")]
    fit = next(one for one in record["calibration"] if one["fitted_to"] == "partial")
    fitted = neighbor.sums(fit["cases"][-1])  # of all levels
    never = "; never with the overheads of Fig. 11a" if min(fitted.values()) == fitted["standard"] else ""
    inside, between = ([[neighbor.way(level, name)["sent"][kind]["max"] for name in ("standard", "full")]
                        for level in levels] for kind in ("intra_region_messages", "inter_region_messages"))
    items = [neighbor.way(levels[4], name)["largest_between_items"] for name in ("partial", "full")]
    saved = 1 - items[1] / items[0]
    lost = [all(neighbor.seconds(level, name) > neighbor.seconds(level, "standard") for name in ("partial", "full"))
            for level in levels]
    strong = [neighbor.speed_up(fit["cases"][-1], name) for name in ("partial", "full")]
    weak = next(one["case"] for one in record["large_weak_overheads"] if one["factor"] == 0.25)
    weak = [neighbor.speed_up(weak, name) for name in ("partial", "full")]
    assumed = [neighbor.speed_up(record["large_weak"][-1], name) for name in ("partial", "full")]
    return [
        Row("Fig. 6", "MVAPICH2 makes the communicator 8.6 times as fast as Spectrum MPI", "", MISSING,
            "two prices would fit its one ratio; nothing tests them"),
        Row("Fig. 7", "set-up pays off after 40 (partial) and 22 (full) iterations",
            "{} and {}, computation of planning included{}".format(*paid_off, never),
            judged(are_near(*zip(paid_off, (40, 22)))), "its partial wraps full; both are planned alike here"),
        Row("Fig. 8", "three steps: more messages inside regions, fewer between",
            f"inside {span(one[0] for one in inside)} become {span(one[1] for one in inside)}; "
            f"between {span(one[0] for one in between)} become {span(one[1] for one in between)}",
            judged(all(one[0] < one[1] for one in inside) and all(one[0] > one[1] for one in between)),
            "same problem and ranks; on every level"),
        Row("Fig. 9", "deduplication: 35 % off the largest message, level 4",
            f"{percent(saved)}, {items[0]} to {items[1]} items", judged(share_is_near(saved, 0.35)),
            "same problem and ranks"),
        Row("Fig. 10", "three steps lose on fine levels, win in the middle",
            f"lose on levels {neighbor.ranges([n for n, one in enumerate(lost) if one])}, win on "
            f"{neighbor.ranges(neighbor.levels_won(case, 'full'))}",
            judged(all(lost[:3]) and not any(lost[3:])), "same problem and ranks"),
        Row("Fig. 11a", "2048 ranks: partial 1.32, full 1.39", "{:.2f} and {:.2f}".format(*strong),
            judged(are_near(*zip(strong, (1.32, 1.39))), fitted=True),
            f"network overheads x {fit['factor']:.3f}, fitted to 1.32"),
        Row("Fig. 11b", "2048 ranks: partial 1.96, full 2.17",
            "{:.2f} and {:.2f} with the overheads of Fig. 11a; {:.2f} and {:.2f} as assumed".format(*weak, *assumed),
            judged(are_near(*zip(weak, (1.96, 2.17)))), "no overhead fits both; equal portions add 5 %"),
    ]


# VPT


def table_2(record):
    """Of each row of Table 2 ours and the study's: messages, mean messages, words, times, products, buffers."""
    fit = vpt.fits_of(record["table_2"])["fitted"]
    machine = f"fitted, {fit['message']}"
    rows = {}
    for run in record["table_2"]:
        if machine not in vpt.machines_of(run):
            continue
        ranks, direct = run["ranks"], vpt.routes_of(run)[0]
        for route in vpt.routes_of(run):
            n, sent = route["dimensions"], route["sent"]
            told = vpt.TABLE_2[ranks][n]
            seconds = vpt.algorithm_seconds(route, machine) + fit["fixed"]
            ours = (sent["messages"]["max"], sent["messages"]["mean"], sent["items"]["mean"], 1e6 * seconds,
                    1e6 * (seconds + vpt.local_seconds(ranks)), vpt.buffer_bytes(route, direct) / 1000)
            rows[ranks, n] = list(zip(ours, (*told[:4], vpt.TABLE_2_PRODUCTS[ranks][n - 1], told[4])))
    return rows


def computed(row, n):
    """The numbers of a row that do not come from the study: of direct the counts do."""
    return row if n > 1 else row[3:5]


def vpt_rows(record):
    fit = vpt.fits_of(record["table_2"])["fitted"]
    machine = f"fitted, {fit['message']}"
    rows = table_2(record)
    pairs = [pair for (_, n), row in rows.items() for pair in computed(row, n)]
    to_direct = [(one[0] / base[0], one[1] / base[1]) for (ranks, n), row in rows.items() if ranks == 256 and n > 1
                 for one, base in zip(row, rows[256, 1])]
    large = [(1e6 * vpt.algorithm_seconds(route, vpt.machines_of(run)[0]),
              vpt.TABLE_3[run["ranks"]][route["dimensions"]][3])
             for run in record["table_3"] for route in vpt.routes_of(run)]
    partners = [matrix["partners"]["most"] / vpt.direct_of(matrix)["sent"]["messages"]["mean"]
                for matrix in vpt.counted_run(record["products"])["matrices"]]
    products = {key: row[4][0] for key, row in rows.items()}
    gains = []  # of the exchange with fewer messages, and with more
    for run in record["figure_7"]:
        seconds = vpt.drawn_products(run, fit["fixed"])
        gains.append(seconds[1] / min(seconds.values()))
    saved, cray_fit = [], vpt.cray_fit()
    for ranks, theirs in ((128, (0.45, 0.70)), (512, (0.69, 0.85))):
        run = next(run for run in record["table_2"] if run["ranks"] == ranks and machine in vpt.machines_of(run))
        cray = next(run for run in record["networks"] if run["ranks"] == ranks)
        ours = (vpt.saved_share(run, machine, 4, fit["fixed"]),
                vpt.saved_share(cray, vpt.machines_of(cray)[-1], 4, cray_fit["fixed"]))
        saved += zip(ours, theirs)
    most_ranks = max(record["table_3"], key=lambda run: run["ranks"])
    drawn = {route["dimensions"]: 1e6 * vpt.algorithm_seconds(route, vpt.machines_of(most_ranks)[0])
             for route in vpt.routes_of(most_ranks)}
    middle, low, high = ([drawn[n] for n in some] for some in ((4, 8, 9), (2, 3), (13, 14)))
    slower = vpt.fitted_links(record["table_3"], TOLERANCE)
    assumptions = f"{fit['message']} us a message, {1e6 * fit['fixed']:.0f} us fixed, both fitted"
    return [
        Row("Table 2", "six metrics, 64 to 512 ranks, n = 1 to 9",
            f"{sum(factor(*pair) <= TOLERANCE for pair in pairs)} of {len(pairs)} numbers within {TOLERANCE}, "
            f"all within {max(factor(*pair) for pair in pairs):.2f}", judged(are_mostly_near(pairs), fitted=True),
            assumptions),
        Row("Table 3", "times of 4096 to 16,384 ranks, n = 1 to 14",
            f"{sum(factor(*pair) <= TOLERANCE for pair in large)} of {len(large)} within {TOLERANCE}; others up to "
            f"{max(factor(*pair) for pair in large):.1f} times too fast", judged(are_mostly_near(large)),
            f"shared links, {slower} times slower than assumed, explain "
            f"{vpt.near_with_links(record['table_3'], slower, TOLERANCE)}"),
        Row("Fig. 1", "three matrices: most messages far above the mean",
            f"eight others: {span(partners, '{:.1f}')} times the mean", OTHER, "its matrices are not at hand"),
        Row("Fig. 6", "Table 2 of 256 ranks, divided by direct",
            f"{sum(factor(*pair) <= TOLERANCE for pair in to_direct)} of {len(to_direct)} within {TOLERANCE}, all "
            f"within {max(factor(*pair) for pair in to_direct):.2f}", judged(are_mostly_near(to_direct), fitted=True),
            assumptions),
        Row("Fig. 7", "the matrix with more messages gains more",
            "two drawn: {:.2f}, with twice the messages {:.2f}".format(*gains), OTHER,
            "its matrices are not at hand, nor their counts"),
        Row("Fig. 8", "8 of 12 matrices: direct does not scale, more dimensions do",
            "256 to 512 ranks: direct {:.0f} to {:.0f} us, n = 8 {:.0f} to {:.0f}".format(
                *(products[ranks, n] for n in (1, 8) for ranks in (256, 512))),
            judged(products[256, 1] < products[512, 1] and products[512, 8] < products[256, 8], fitted=True),
            "mean of its 15 matrices, drawn as for Table 2"),
        Row("Fig. 9", "n = 4 saves 45 and 69 % (Blue Gene/Q), 70 and 85 % (XC40)",
            "{} and {}, {} and {}".format(*(percent(saved[k][0]) for k in (0, 2, 1, 3))),
            judged(all(share_is_near(*pair) for pair in saved), fitted=True),
            f"XC40 fitted to Table 3: {1e6 * cray_fit['message']:.1f} us, {1e6 * cray_fit['fixed']:.0f} us fixed"),
        Row("Fig. 10", "ten matrices, 16,384 ranks: middle dimensions are fastest",
            f"n = 4, 8, 9: {span(middle, '{:.0f}')} us; 2, 3: {span(low, '{:.0f}')}; 13, 14: {span(high, '{:.0f}')}",
            judged(max(middle) < min(*low, *high), fitted=True), "mean of its ten matrices, drawn as for Table 3"),
    ]


# SDDE


def measured_gain(name):
    """Of the best locality-aware exchange over the better of the others, with Open MPI on emulated nodes."""
    contenders = study.read(study.MEASUREMENTS / f"exchange-{name}-emulated4x4-openmpi.jsonl")["contenders"]
    seconds = {one["name"]: one["exchange_seconds"]["median"] for one in contenders}
    return min(seconds[one] for one in sdde.STANDARD[:2]) / min(seconds[one] for one in sdde.AWARE)


def sdde_rows(record):
    tables = sdde.Tables(record)

    def gains_of_meshes(sizes):
        """By mesh the gains on few nodes and on many."""
        return [[sdde.gain_of_full_size(one) for one in record["full_size"]
                 if (one["matrix"], one["sizes"]) == (matrix, sizes)] for matrix in sdde.FULL_SIZE]

    constant, variable = map(gains_of_meshes, ("constant", "variable"))
    constant_agrees = all(many > 1 for _, many in constant) and any(few < 1 for few, _ in constant)
    variable_agrees = [many > 1 for _, many in variable] == [False, True] and all(few < 1 for few, _ in variable)

    def scaled(gains):
        return "two meshes, 2 and 64 nodes: " + "; ".join("{:.2f} and {:.2f}".format(*one) for one in gains)

    def measured(name):
        return f"the same; measured on 4 nodes of 4: {measured_gain(name):.2f}"

    def means(sizes):
        """As simulated, and if unexpected messages were searched; the largest gain is of a matrix that is not here."""
        told = sdde.STUDY[sizes]
        simulated, searched = (list(gains.values()) for gains in (tables.study_gains(sizes),
                                                                  tables.searched_gains(sizes, LOOK_SECONDS)))
        judging = searched if sizes == "variable" else simulated
        gain = sum(one > 1 for one in judging) / len(judging)
        ours = (f"mean {sum(simulated) / len(simulated):.2f}, with a search {sum(searched) / len(searched):.1f}; "
                f"{sum(one > 1 for one in judging)} of {len(judging)} other matrices gain")
        mean = sum(judging) / len(judging)
        return ours, judged(are_near((mean, told["mean"]), (gain, told["gain"] / 35)), fitted=True)

    made = "meshes of its matrices' rows, nonzeros and messages"
    alike = "the same meshes; the text tells no MPIs apart"
    return [
        Row("Fig. 5", "constant size, MVAPICH2: aware wins on 64 nodes, not always on 2", scaled(constant),
            judged(constant_agrees, fitted=True), made),
        Row("Fig. 6", "the same with Open MPI", measured("bcspwr10-pattern"), judged(constant_agrees, fitted=True),
            alike),
        Row("Fig. 7", "variable size, MVAPICH2: aware wins for NLR alone, on many nodes", scaled(variable),
            judged(variable_agrees, fitted=True), made),
        Row("Fig. 8", "the same with Open MPI", measured("ca-condmat"), judged(variable_agrees, fitted=True), alike),
        Row("Fig. 9", "constant: mean 18, most 128, 35 of 35 gain", *means("constant"),
            "a search of 10 ns explains it, but not RMA"),
        Row("Fig. 10", "variable: mean 14, most 54, 23 of 35 gain", *means("variable"),
            "10 ns fitted to the mean; still more gain here"),
    ]


# ARRAY


def seconds_of(record, workload, graph, ranks, log_edges=12, searches=False):
    """Simulated seconds by contender; runs of the study's size search, others do if so told."""
    for run in record["runs"]:
        if (run["ranks"], run["edges_per_rank"]) == (ranks, 1 << log_edges) and run["searches"] >= searches:
            for case in run["cases"]:
                if (case["workload"], case.get("graph", case.get("entries"))) == (workload, graph):
                    return {one["name"]: one["simulated_seconds"] for one in case["contenders"]}
    raise KeyError((workload, graph, ranks, log_edges))


def over_plain(*what):
    """Speed-ups by route."""
    times = seconds_of(*what)
    return {name: times["plain"] / seconds for name, seconds in times.items() if name != "plain"}


def best_of(gains, combines):
    return max(gain for name, gain in gains.items() if name.endswith("/none") != combines)


def added(gains):
    """What combining adds to the best route."""
    return best_of(gains, True) / best_of(gains, False) - 1


def named(gains, *names):
    return ", ".join(f"{name} {gains[name]:.2f}" for name in names)


def milliseconds(times, *names):
    return ", ".join(f"{name} {1e3 * times[name]:.2f} ms" for name in names)


GRIDS = ("grid:2", "grid:3", "hypercube")


def array_rows(record):
    rmat, searched = (over_plain(record, "boruvka", "rmat_unscrambled", 4096, 14, one) for one in (False, True))
    rgg, gnm = over_plain(record, "pointers", "rgg", 4096, 17), over_plain(record, "boruvka", "gnm", 4096)
    uniform = seconds_of(record, "pointers", "gnm", 4096, 17)
    combining = 1 + added(rmat)
    near, near_gnm = over_plain(record, "neighbors", "rgg", 4096, 15), seconds_of(record, "neighbors", "gnm", 4096, 15)
    sorting, sorting_gnm = ([one["sorting_seconds"] / one["simulated_seconds"] for run in record["runs"]
                             if run.get("sorting") == "comparisons" for case in run["cases"]
                             if (case["workload"], case["graph"]) == ("neighbors", graph)
                             for one in case["contenders"]] for graph in ("rmat_unscrambled", "gnm"))
    overload = {(entries, ranks): over_plain(record, "overload_one", entries, ranks)
                for entries in (256, 8192) for ranks in (512, 1024, 4096)}
    direct = [times["direct/none"] / times["direct"] for run in record["runs"] for case in run["cases"]
              if case["workload"] == "overload_one"
              for times in [{one["name"]: one["simulated_seconds"] for one in case["contenders"]}] if "direct" in times]
    twenty = overload[8192, 4096]["hypercube"] / overload[8192, 4096]["grid:2"]
    wins = [gains["hypercube"] == max(gain for name, gain in gains.items() if name.startswith(("grid", "hyper")))
            for gains in overload.values()]
    strategies = study.read(study.MEASUREMENTS / "array-strategies-rmat-32768-8ranks-openmpi.jsonl")["contenders"]
    fastest = min((one for one in strategies if one["combine"]), key=lambda one: one["seconds"]["median"])["name"]
    routes = [near[name] for name in (*GRIDS, "grid:4")]
    return [
        Row("Fig. 5.1a", "R-MAT: 20 over plain, 16 of it by combining",
            f"{best_of(rmat, True):.1f}, with a search {best_of(searched, True):.1f}; "
            f"{combining:.1f} of it by combining",
            judged(are_near((best_of(rmat, True), 20), (combining, 16)), fitted=True),
            "2^14 edges, not 2^17; combining grows with them"),
        Row("Fig. 5.1b", "random geometric: combining adds 15 %", f"best on best {percent(added(rgg))}",
            judged(are_near((added(rgg), 0.15)), fitted=True), "its edges and ranks; vertices hold their own edges"),
        Row("Fig. 5.1c", "G(n,m): routes win, combining adds 15 %",
            f"{best_of(gnm, True):.1f} over plain, best on best {percent(added(gnm))}",
            judged(best_of(gnm, False) > 1 and are_near((added(gnm), 0.15)), fitted=True),
            "2^12 edges of a rank, which its vertices ask for"),
        Row("Fig. 5.2", "R-MAT: sort is fastest, with many dimensions", f"measured on 8 ranks: {fastest}", OTHER,
            "measured with neighborhood, not Borůvka, on two cores"),
        Row("Fig. 5.3", "random geometric: routes lose alone, win with combining",
            f"{best_of(near, False):.2f} alone, {best_of(near, True):.2f} with it",
            judged(best_of(near, False) < 1 < best_of(near, True), fitted=True),
            f"its edges and ranks; the hypercube alone loses, {near['hypercube/none']:.2f}"),
        Row("Fig. 5.4", "R-MAT: most time goes to sorting own requests",
            f"{span(map(percent, sorting))}; on G(n,m) {span(map(percent, sorting_gnm))}",
            judged(max(sorting_gnm) < 0.5 < min(sorting), fitted=True), "sorts by comparisons, lg m passes of 1.4 ns"),
        Row("Fig. 5.5", "G(n,m): three dimensions are best", milliseconds(near_gnm, "grid:2", "grid:3", "grid:4"),
            judged(min(near_gnm, key=near_gnm.get) == "grid:3", fitted=True),
            "its edges, ranks and collectives; two dimensions are best"),
        Row("Fig. 5.6", "overload: the hypercube is best, combining alone gains nothing",
            f"the fastest grid in {sum(wins)} of {len(wins)} cases; combining alone {span(direct, '{:.2f}')}",
            judged(all(wins) and max(direct) <= 1.01), "its entries and ranks, writes and reads"),
        Row("Fig. 5.7", "8192 entries: hypercube 20 times as fast as grid:2", f"{twenty:.1f}",
            judged(are_near((twenty, 20))), "its entries and ranks"),
        Row("Fig. A.1", "Borůvka, random geometric: many dimensions hurt", named(rgg, *GRIDS),
            judged(rgg["hypercube"] < max(rgg[name] for name in GRIDS), fitted=True),
            "its edges, ranks and collectives; vertices hold their edges"),
        Row("Fig. A.2", "Borůvka, G(n,m): many dimensions hurt", milliseconds(uniform, *GRIDS),
            judged(uniform["hypercube"] > min(uniform[name] for name in GRIDS), fitted=True),
            "its edges, ranks and collectives; vertices hold their edges"),
        Row("Fig. A.3", "neighborhood, random geometric: routes alike",
            f"best grid {max(routes) / min(routes):.2f} times as fast as the worst",
            judged(max(routes) / min(routes) <= TOLERANCE, fitted=True),
            "sorting by comparisons, lg m passes of 1.4 ns, dominates"),
    ]


# STREAM


def by_nodes(record, items):
    """Milliseconds by scheme, of each number of nodes, with a thread that works for each message."""
    return {run["nodes"]: {name: 1e3 * seconds for name, seconds in
                           stream_thread.by_name(run, "simulated_seconds").items()}
            for run in record["nodes"] if run["cases"][0]["items_per_worker"] == items
            and run["communication_thread"] and run["message_seconds"]}


def latencies_rise(run):
    found = stream_thread.by_name(run, "mean_latency_seconds")
    return is_rising(found[name] for name in SCHEMES)


def of_ww(found):
    """By scheme, shares of what WW has."""
    return {name: found[name] / found["ww"] for name in SCHEMES}


def speculation(record, name):
    """Of each run the waste and the time, as shares of WW's."""
    runs = next(one["runs"] for one in record["experiments"] if one["name"] == name)
    return [(of_ww(waste.waste_of(run)), of_ww(waste.by_scheme(run, "simulated_seconds"))) for run in runs]


def listed(shares, name):
    return ", ".join(f"{share[name]:.2f}" for share in shares)


def stream_rows(replayed, threads, wasted):
    machine = study.read(study.PROJECT / "machines/generic_100g.json")
    bandwidth = 1e-9 / machine["injection_seconds_per_byte"]
    ping = next(row for row in threads["ping_ack"]
                if row["words"] == stream_thread.WORDS and row["reading"].endswith("a message"))
    slower = ping["seconds"][1] / ping["seconds"][0]
    shapes = threads["workers"][0]
    eight = shapes["seconds"][shapes["workers"].index(8)] / shapes["seconds"][0]
    long, short = by_nodes(threads, 1 << 20), by_nodes(threads, 1 << 17)
    loses = {size: [nodes for nodes, times in found.items() if times["ww"] > TOLERANCE * times["wps"]]
             for size, found in (("long", long), ("short", short))}
    buffers = {run["cases"][0]["buffer_items"]: stream_thread.by_name(run, "simulated_seconds")
               for run in threads["buffers"]}
    gathers = [*threads["answers"], *(run for run in replayed["latency"]
                                      if run["cases"][0]["workload"] == "index_gather")]
    (small_waste, small_times), (large_waste, large_times), (phold, _) = (
        zip(*speculation(wasted, name)) for name in ("sssp, small", "sssp, large", "phold"))
    assumed = "{} vertices assumed, flush when idle; not in its text"
    at_16 = stream_thread.by_name(next(run for run in threads["answers"] if run["nodes"] == 16), "simulated_seconds")
    items_sorted = 2 * next(run for run in threads["answers"] if run["nodes"] == 16)["cases"][0]["items_per_worker"]
    more_to_sort = 1e9 * (at_16["ww"] - at_16["wps"]) / items_sorted
    network = machine["levels"]["network"]
    latency = (network["send_overhead_seconds"] + network["eager"]["latency_seconds"]
               + network["receive_overhead_seconds"])
    return [
        Row("Fig. 1", "12 GB/s between nodes, microseconds of latency", f"{bandwidth:.1f} GB/s, {1e6 * latency:.1f} us",
            judged(are_near((bandwidth, 12)), fitted=True), "a port of 100 Gb/s is assumed"),
        Row("Fig. 3", "PingAck: one process of 64 workers 5 times slower", f"{slower:.1f}",
            judged(are_near((slower, 5)), fitted=True), "messages of 1024 words, 2.67 us of thread each, assumed"),
        Row("Fig. 8", "WPs: 8 workers a process as fast as one", f"{eight:.2f} of its time",
            judged(are_near((eight, 1)), fitted=True), "4 nodes and 40 ns an item, assumed"),
        Row("Fig. 9", "2^20 items: WW stops to scale after 16 nodes, WsP behind WPs",
            f"WW loses on {', '.join(map(str, loses['long']))} nodes; WsP {long[64]['wsp'] / long[64]['wps']:.2f} of "
            "WPs on 64", judged(min(loses["long"]) > 16 and long[64]["wsp"] > long[64]["wps"], fitted=True),
            "all buffers fill at once on 16 nodes here"),
        Row("Fig. 10", "8 nodes: WW slower with 4096 items than with 2048",
            f"{buffers[4096]['ww'] / buffers[2048]['ww']:.2f} of the time",
            judged(buffers[4096]["ww"] > buffers[2048]["ww"], fitted=True), "what a flush costs is not in its text"),
        Row("Fig. 11", "2^17 items: WW loses from 8 nodes on, PP no better than WPs",
            f"WW loses from {min(loses['short'])} nodes on; PP {short[64]['pp'] / short[64]['wps']:.2f} of WPs on 64",
            judged(min(loses["short"]) == 8 and all(one["pp"] >= one["wps"] for one in short.values()), fitted=True),
            "WW's buffers of 512 items do not fill on 4"),
        Row("Fig. 12", "latency of index-gather: PP < WPs < WW",
            f"the same in {sum(map(latencies_rise, gathers))} of {len(gathers)} runs",
            judged(all(map(latencies_rise, gathers)), fitted=True), "up to 2^20 items of a worker, not 8 million"),
        Row("Fig. 13", "its time on 16 nodes: sorting costs WPs, atomics PP",
            f"WPs {at_16['wps'] / at_16['ww']:.2f}, PP {at_16['pp'] / at_16['ww']:.2f} of WW's",
            judged(at_16["wps"] > at_16["ww"] and at_16["pp"] > at_16["ww"], fitted=True),
            f"{more_to_sort:.0f} ns more to sort would, on 4 nodes too"),
        Row("Fig. 14", "SSSP, small: less latency benefits; no order of times is told",
            f"of WW's time: WPs {listed(small_times, 'wps')}; PP {listed(small_times, 'pp')}",
            judged(all(max(one["wps"], one["pp"]) < 1 for one in small_times), fitted=True),
            assumed.format("2^15")),
        Row("Fig. 15", "SSSP, small: waste PP < WPs < WW",
            f"of WW's: WPs {listed(small_waste, 'wps')}; PP {listed(small_waste, 'pp')}",
            judged(all(is_rising(one[name] for name in SCHEMES) for one in small_waste), fitted=True),
            "2^15 vertices assumed; with 2^14 not on 8 nodes"),
        Row("Fig. 16", "SSSP, large: WPs considerably faster than WW",
            f"of WW's time: WPs {listed(large_times, 'wps')}",
            judged(all(one["wps"] * TOLERANCE < 1 for one in large_times), fitted=True), assumed.format("2^16")),
        Row("Fig. 17", "SSSP, large: schemes waste alike",
            f"of WW's: WPs {listed(large_waste, 'wps')}; PP {listed(large_waste, 'pp')}",
            judged(all(are_near(*((one[name], other) for name in SCHEMES for other in one.values()))
                       for one in large_waste), fitted=True), "2^16 vertices assumed; only PP's buffers fill"),
        Row("Fig. 18", "PHOLD: PP rejects over 5 % fewer", f"of WW's: PP {listed(phold, 'pp')}",
            judged(all(one["pp"] < 0.95 for one in phold), fitted=True), "1024 events of a worker; not in its text"),
    ]


def rows_of(results):
    """By study."""
    def record(name):
        return study.read(pathlib.Path(results) / f"study-{name}.jsonl")

    return {"NEIGHBOR": neighbor_rows(record("neighbor"), record("growth")), "VPT": vpt_rows(record("vpt")),
            "SDDE": sdde_rows(record("sdde")), "ARRAY": array_rows(record("array")),
            "STREAM": stream_rows(record("stream"), record("stream_thread"), record("waste"))}


def counted(rows):
    counts = {finding: sum(row.finding == finding for row in rows) for finding in FINDINGS}
    return (f"Of {len(rows)} figures and tables with results, {counts[AGREES]} agree, {counts[FITTED]} agree by a fit, "
            f"{counts[DIFFERS]} differ, {counts[OTHER]} have another setting, and {counts[MISSING]} "
            f"{'is' if counts[MISSING] == 1 else 'are'} missing.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", metavar="FOLDER", default=study.RESULTS)
    rows = rows_of(parser.parse_args().tables)
    print(counted([row for of_study in rows.values() for row in of_study]))
    study.print_table("All figures", ["", "the study", "ours", "finding", "why"],
                      [[f"{name}, {row.figure}", *row[1:]] for name, of_study in rows.items() for row in of_study])


if __name__ == "__main__":
    main()
