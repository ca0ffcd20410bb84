#!/usr/bin/env python3
"""The study of virtual process topologies, simulated: prints tables, and writes a record.

usage: satellites/studies/vpt.py FOLDER [-o RECORD] [--cache FOLDER]   FOLDER holds the matrices
       satellites/studies/vpt.py FOLDER --part table_3                 that part of the record anew
       satellites/studies/vpt.py FOLDER --quick                        one small matrix on 16 ranks, drawn patterns on 64
       satellites/studies/vpt.py --tables RECORD                       prints the tables of a record again

n dimensions are the route grid:n; one is direct, and lg P are the hypercube. As in the study no item is
deduplicated on its way, and means over matrices are geometric. Partitions are by METIS; --cache keeps them, as many
parts take minutes. Drawn patterns have the messages and items of direct in the study's Tables 2 and 3.
A product is the exchange, and then on each rank a time for every nonzero of its rows.
"""
import itertools
import math
import pathlib
import tempfile

import study

SMALL_RANKS = [64, 128, 256, 512]
LARGE_RANKS = [4096, 8192, 16384]
SMALL = ["mit8", "ca-condmat", "ckt11752_dc_1", "fast0507_kkt", "air04_gram", "ba6_normal", "SiH4", "cnr-2000"]
LARGE = ["ckt11752_dc_1", "fast0507_kkt", "cnr-2000", "luxembourg_osm"]
SMALL_MACHINES = ["bluegene_q", "cray_xc40", "blue_waters"]
LARGE_MACHINES = ["cray_xc40", "blue_waters"]  # of these also without the search of waiting receives
PRODUCT_RANKS = [32, *SMALL_RANKS]
PRODUCT_DIMENSIONS = [2, 4, 6, 8]  # that Figure 8 shows
MEASURED = ["direct", "grid:2", "hypercube", "auto"]
COUNTED_RANKS = 256  # of Figures 1 and 7
LIKE_FIGURE_7 = ["SiH4", "ca-condmat"]  # in place of GaAsH6 and coAuthorsDBLP
WIDE_ITEM_BYTES = 256  # 32 values, as for so many right-hand sides
WIDE_DIMENSIONS = [2, 3, 4, 5, 6, 7, 8, 12]
WORD_BYTES = 8
HEADER_BYTES = 12  # of each message in the study's buffers: what direct has there besides the words, 9 to 16

# By ranks and n: the most messages of a rank, the mean, the mean words that a rank sends, microseconds, kilobytes.
TABLE_2 = {
    64: {1: (44.3, 22.9, 2105, 573, 34.2), 2: (13.3, 10.4, 3150, 375, 62.6), 3: (8.9, 7.6, 3879, 366, 60.3),
         4: (7.9, 6.9, 4218, 323, 55.5), 5: (7.0, 6.3, 4569, 330, 55.3), 6: (6.0, 5.5, 5022, 287, 53.9)},
    128: {1: (73.9, 34.6, 1578, 674, 25.9), 2: (20.8, 15.5, 2332, 415, 49.4), 3: (12.9, 10.9, 2916, 375, 47.9),
          4: (10.0, 8.6, 3345, 367, 46.9), 5: (9.0, 8.0, 3554, 378, 44.1), 6: (8.0, 7.3, 3852, 328, 41.8),
          7: (7.0, 6.3, 4249, 303, 41.7)},
    256: {1: (120.5, 50.2, 1181, 825, 20.1), 2: (26.5, 18.8, 1844, 439, 38.8), 3: (16.5, 13.4, 2279, 386, 38.3),
          4: (11.9, 10.1, 2736, 359, 37.9), 5: (11.0, 9.5, 2848, 383, 36.1), 6: (10.0, 8.8, 3082, 334, 33.6),
          7: (9.0, 7.9, 3336, 329, 34.5), 8: (8.0, 7.2, 3544, 322, 32.3)},
    512: {1: (187.6, 65.7, 872, 1223, 16.1), 2: (41.6, 28.0, 1348, 492, 31.3), 3: (20.1, 15.5, 1785, 395, 30.9),
          4: (15.9, 13.5, 2029, 383, 29.5), 5: (13.0, 10.8, 2257, 386, 30.4), 6: (12.0, 10.6, 2358, 368, 28.4),
          7: (11.0, 9.8, 2495, 390, 27.6), 8: (10.0, 9.0, 2682, 348, 26.6), 9: (9.0, 8.0, 2906, 338, 25.0)},
}
TABLE_3 = {
    4096: {1: (486.6, 105.5, 819, 1419), 2: (86.1, 43.7, 1271, 294), 3: (39.0, 25.0, 1682, 221),
           4: (26.1, 18.1, 2024, 238), 7: (17.0, 13.0, 2594, 199), 8: (16.0, 12.8, 2663, 270),
           11: (13.0, 10.9, 3098, 289), 12: (12.0, 9.8, 3312, 387)},
    8192: {1: (695.8, 123.2, 598, 4420), 2: (136.5, 58.1, 914, 590), 3: (55.2, 33.7, 1215, 361),
           4: (34.0, 23.4, 1473, 260), 7: (18.9, 13.9, 2037, 300), 8: (18.0, 13.7, 2081, 397),
           12: (14.0, 11.4, 2494, 374), 13: (13.0, 10.4, 2644, 511)},
    16384: {1: (1054.9, 137.6, 425, 8220), 2: (160.6, 61.0, 683, 1109), 3: (65.1, 34.4, 887, 498),
            4: (41.8, 24.3, 1064, 391), 8: (20.0, 13.9, 1568, 510), 9: (19.0, 13.9, 1601, 491),
            13: (15.0, 11.4, 1917, 694), 14: (14.0, 10.5, 2017, 696)},
}
# By ranks, of n = 1, 2, ...: microseconds of the product, which are the exchange and the local product.
TABLE_2_PRODUCTS = {
    64: (1479, 1360, 1342, 1320, 1328, 1304), 128: (1099, 877, 866, 869, 881, 889, 860),
    256: (1091, 681, 631, 608, 649, 632, 622, 636), 512: (1349, 609, 531, 522, 526, 513, 531, 500, 477),
}
# Of the 15 matrices of Table 2.
TABLE_1_NONZEROS = [676515, 1229778, 1324862, 1548988, 1955352, 2577200, 3279690, 3381809, 4218660, 4248286, 8767466,
                    9323432, 11283503, 18068388, 32073440]
MAPPED_RANKS = 512
MAPPED = [*SMALL, "luxembourg_osm"]
MAPPED_DIMENSIONS = [2, 3, 4, 9]
MAPPED_MACHINES = ["bluegene_q", "cray_xc40"]
MAPPINGS = {"inside_nodes": "inside nodes", "everywhere": "everywhere"}
NODE_SIZES = {"cray_xc40": 32}  # others have 16
NETWORK_RANKS = [128, 512]
OVERHEAD_FACTORS = [1, 2, 4]
# The XC40 of Figure 9, fitted to two times of Table 3: of direct and of n = 2, which have the most messages.
CRAY_FITTED_RANKS = 4096
TABLE_3_MACHINE = {4096: "cray_xc40", 8192: "blue_waters", 16384: "blue_waters"}
# Its networks, as a compact job has them: one group of the dragonfly, 4 nodes on a router, 16 routers in a row; tori.
NETWORKS = {4096: ["--rows", "16,2", "--router-nodes", 4], 8192: ["--torus", "8,8,4", "--router-nodes", 2],
            16384: ["--torus", "8,8,8", "--router-nodes", 2]}
# Bytes a second of a link of each dimension, assumed.
LINKS = {"cray_xc40": (5.25e9, 15.75e9), "blue_waters": (9.4e9, 4.7e9, 9.4e9)}

# What Table 2 says of a Blue Gene/Q: fitted to its times on 64 and 256 ranks, checked on 128 and 512.
FITTED_RANKS = [64, 256]
MESSAGE_SECONDS = [0.8e-6, 1.6e-6, 2.0e-6, 2.4e-6, 2.8e-6]  # of a core, at each end
FIT = {"search": False, "link": 0.25, "handshake": False, "copies": 0, "submessage_seconds": 0}
PRESET = {"search": True, "link": 1, "handshake": True, "copies": 1, "submessage_seconds": 0}
# One number after the other as in the preset; what moving a submessage might take.
VARIANTS = {
    "fitted": FIT,
    "links as in the preset": {**FIT, "link": 1},
    "handshakes as in the preset": {**FIT, "handshake": True},
    "copies as in the preset": {**FIT, "copies": 1},
    "search as in the preset": {**FIT, "search": True},
    "submessages 0.1 us": {**FIT, "submessage_seconds": 1e-7},
    "submessages 0.3 us": {**FIT, "submessage_seconds": 3e-7},
    "all as in the preset": PRESET,
}


def direct_of(matrix):
    return matrix["routes"][0]


def speedup(matrix, route, machine):
    return direct_of(matrix)["times"][machine]["seconds"] / route["times"][machine]["seconds"]


def fastest(matrix, machine):
    return max(matrix["routes"], key=lambda route: speedup(matrix, route, machine))


def count_rows(run, machines):
    """Geometric means over matrices."""
    rows = []
    for k, first in enumerate(run["matrices"][0]["routes"]):
        routes = [(matrix, matrix["routes"][k]) for matrix in run["matrices"]]

        def of(what, which, routes=routes):
            return study.geometric_mean(route["sent"][what][which] for _, route in routes)

        volume = study.geometric_mean(route["sent"]["items"]["total"] / direct_of(matrix)["sent"]["items"]["total"]
                                      for matrix, route in routes)
        rows.append([run["ranks"], run["item_bytes"], first["dimensions"], first["most_messages"],
                     f"{of('messages', 'max'):.1f}", f"{of('messages', 'mean'):.1f}",
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


def routes_of(run):
    """Of the one exchange that is drawn."""
    return run["matrices"][0]["routes"]


def algorithm_seconds(route, machine):
    """Of the study's algorithm; direct is the same in both."""
    times = route["times"][machine]
    return times.get("stored_and_forwarded_seconds", times["seconds"])


def fixed_seconds(pairs):
    """What is added to simulated times to come nearest to the study's, by the sum of squared relative errors."""
    pairs = list(pairs)
    return max(0, sum((told - seconds) / told ** 2 for seconds, told in pairs) / sum(told ** -2 for _, told in pairs))


def error(pairs, fixed):
    """Root of the mean squared relative error."""
    squares = [((seconds + fixed) / told - 1) ** 2 for seconds, told in pairs]
    return math.sqrt(sum(squares) / len(squares))


def pairs_of(run, machine):
    return [(algorithm_seconds(route, machine), TABLE_2[run["ranks"]][route["dimensions"]][3] * 1e-6)
            for route in routes_of(run)]


def fits_of(runs):
    """Of each variant the message time that fits best, with the fixed time, the errors, and the error without it."""
    result = {}
    for run in runs:
        for machine in machines_of(run):
            variant, comma, message = machine.rpartition(", ")
            if not comma:
                continue
            result.setdefault((variant, message), {})[run["ranks"]] = pairs_of(run, machine)
    fits = {}
    for (variant, message), pairs in result.items():
        fitted = [pair for ranks in FITTED_RANKS for pair in pairs.get(ranks, [])]
        checked = [pair for ranks, some in pairs.items() if ranks not in FITTED_RANKS for pair in some]
        fixed = fixed_seconds(fitted)
        fit = {"message": message, "fixed": fixed, "fitted": error(fitted, fixed), "without": error(fitted, 0),
               "checked": error(checked, fixed) if checked else None}
        if variant not in fits or fit["fitted"] < fits[variant]["fitted"]:
            fits[variant] = fit
    return {variant: fits[variant] for variant in VARIANTS}


def percent(share):
    return f"{share * 100:.1f} %"


def print_fits(runs):
    """The last columns are of the hypercube of the most ranks."""
    rows = []
    for variant, fit in fits_of(runs).items():
        machine = f"{variant}, {fit['message']}"
        most = max((run for run in runs if machine in machines_of(run)), key=lambda run: run["ranks"])
        cube = routes_of(most)[-1]
        rows.append([variant, fit["message"], f"{fit['fixed'] * 1e6:.0f}", percent(fit["fitted"]),
                     "" if fit["checked"] is None else percent(fit["checked"]), percent(fit["without"]),
                     f"{algorithm_seconds(cube, machine) * 1e6:.0f}", f"{cube['times'][machine]['seconds'] * 1e6:.0f}"])
    study.print_table("What fits Table 2, with the study's algorithm: of each variant the best message time and fixed "
                      "time; errors are roots of mean squares; times without the fixed one",
                      ["variant", "message, each end, us", "fixed, us",
                       f"error on {', '.join(map(str, FITTED_RANKS))} ranks", "on the others", "without a fixed time",
                       f"hypercube of {most['ranks']} ranks, its algorithm, us", "crossdock, us"], rows)


def agreeing(run, machine, apart=1.1):
    """Of the pairs of n whose times in the study are at least `apart`, how many are ordered alike, and how many are."""
    pairs = pairs_of(run, machine)
    apart = [(a, b) for a, b in itertools.combinations(pairs, 2) if max(a[1], b[1]) >= apart * min(a[1], b[1])]
    return sum((a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in apart), len(apart)


def counts_cells(route, told):
    """The study's count, and the drawn patterns'."""
    sent = route["sent"]
    return [f"{theirs:{form}}, {ours:{form}}" for theirs, ours, form in
            ((told[0], sent["messages"]["max"], ".0f"), (told[1], sent["messages"]["mean"], ".1f"),
             (told[2], sent["items"]["mean"], ".0f"))]


def buffer_bytes(route, direct):
    """As Algorithm 1 of the study has them: own messages in and out, and what is stored, own messages again among it."""
    words, messages = route["sent"]["items_at_once"]["mean"], 2 * direct["sent"]["messages"]["mean"]
    if route is not direct:
        words += direct["sent"]["items"]["mean"]
        messages *= 1.5
    return WORD_BYTES * words + HEADER_BYTES * messages


def print_table_2(runs):
    fit = fits_of(runs)["fitted"]
    machine = f"fitted, {fit['message']}"
    rows = []
    for run in runs:
        if machine not in machines_of(run):
            continue
        direct = routes_of(run)[0]
        for route in routes_of(run):
            told = TABLE_2[run["ranks"]][route["dimensions"]]
            theirs, ours = (seconds + fit["fixed"] for seconds in
                            (algorithm_seconds(route, machine), route["times"][machine]["seconds"]))
            base = direct["times"][machine]["seconds"]
            rows.append([run["ranks"], route["dimensions"], *counts_cells(route, told), told[3],
                         f"{theirs * 1e6:.0f}", f"{ours * 1e6:.0f}",
                         f"{TABLE_2[run['ranks']][1][3] / told[3]:.2f}", f"{(base + fit['fixed']) / theirs:.2f}",
                         f"{(base + fit['fixed']) / ours:.2f}", told[4], f"{buffer_bytes(route, direct) / 1000:.1f}",
                         *(f"{route['sent'][what]['mean'] * run['item_bytes'] / 1000:.1f}"
                           for what in ("buffer_items", "items_at_once"))])
        print(f"\n{run['ranks']} ranks: {'{} of {}'.format(*agreeing(run, machine))} pairs of n whose times in the "
              "study are 10 % apart or more are ordered alike")
    study.print_table("Table 2 (study, drawn patterns), on Blue Gene/Q as fitted",
                      ["ranks", "n", "most messages", "mean messages", "mean words", "us, study", "its algorithm",
                       "crossdock", "speed-up, study", "its algorithm", "crossdock", "buffers, study, KB",
                       "as its text counts", "crossdock, KB", "if places were used again"], rows)


def saved_share(run, machine, n, fixed=0):
    """What of direct's time the study's algorithm saves with n dimensions."""
    direct, route = (next(one for one in routes_of(run) if one["dimensions"] == k) for k in (1, n))
    return 1 - (algorithm_seconds(route, machine) + fixed) / (algorithm_seconds(direct, machine) + fixed)


def cray_fit():
    """Seconds of a message and besides, from the study's own messages and times."""
    (many, *_, slow), (few, *_, fast) = (TABLE_3[CRAY_FITTED_RANKS][n][:4] for n in (1, 2))
    message = (slow - fast) / (many - few)
    return {"message": message * 1e-6, "fixed": (fast - message * few) * 1e-6}


def print_networks(runs, networks):
    """Figure 9: how much of direct's time each number of dimensions saves, on two networks."""
    if not networks:
        return
    fit, cray_fitted = fits_of(runs)["fitted"], cray_fit()
    machine = f"fitted, {fit['message']}"
    *names, fitted_name = machines_of(networks[0])
    rows = []
    for cray in networks:
        run = next(one for one in runs if one["ranks"] == cray["ranks"] and machine in machines_of(one))
        told = TABLE_2[run["ranks"]]
        for n in [one["dimensions"] for one in routes_of(run)[1:]]:
            rows.append([run["ranks"], n, percent(1 - told[n][3] / told[1][3]),
                         percent(saved_share(run, machine, n, fit["fixed"])),
                         *(percent(saved_share(cray, name, n)) for name in names),
                         percent(saved_share(cray, fitted_name, n, cray_fitted["fixed"]))])
    study.print_table("Figure 9: what of direct's time the study's algorithm saves; cray_xc40 fitted with "
                      f"{cray_fitted['message'] * 1e6:.2f} us a message and {cray_fitted['fixed'] * 1e6:.0f} us besides",
                      ["ranks", "n", "Blue Gene/Q, study", "as fitted", *names, "cray_xc40, fitted"], rows)


def drawn_products(run, fixed):
    """By n the seconds of the study's algorithm and of the local product, on the machine that Table 2 fits."""
    (machine,) = machines_of(run)
    return {route["dimensions"]: algorithm_seconds(route, machine) + fixed + local_seconds(run["ranks"])
            for route in routes_of(run)}


def print_drawn_figure_7(runs, fixed):
    rows = []
    for run in runs:
        seconds = drawn_products(run, fixed)
        sent = routes_of(run)[0]["sent"]
        rows.append([run["ranks"], f"{sent['messages']['max']}, {sent['messages']['mean']:.1f}",
                     f"{sent['items']['mean']:.0f}", *(f"{time * 1e6:.0f}" for time in (seconds[1], seconds[8])),
                     f"{seconds[1] / min(seconds.values()):.2f}"])
    study.print_table("Figure 7: two exchanges of equal words as drawn, microseconds of the product",
                      ["ranks", "most messages, mean", "mean words", "direct", "n = 8", "most speed-up"], rows)


def link_seconds(run, route):
    """Of the busiest link of each stage, one stage after the other."""
    links = LINKS[TABLE_3_MACHINE[run["ranks"]]]
    return sum(max(number / link for number, link in zip(stage, links)) for stage in route["link_bytes"])


def near_with_links(runs, slower, tolerance):
    """How many rows of Table 3 are near if links are `slower` times as slow, and messages wait for the busiest."""
    times = [(algorithm_seconds(route, machines_of(run)[0]) + slower * link_seconds(run, route),
              TABLE_3[run["ranks"]][route["dimensions"]][3] * 1e-6) for run in runs for route in routes_of(run)]
    return sum(1 / tolerance <= ours / told <= tolerance for ours, told in times)


def fitted_links(runs, tolerance):
    """How much slower links are with which most rows are near."""
    return max((tenths / 10 for tenths in range(1, 100)), key=lambda slower: near_with_links(runs, slower, tolerance))


def print_table_3(runs):
    rows = []
    for run in runs:
        for route in routes_of(run):
            told = TABLE_3[run["ranks"]][route["dimensions"]]
            direct = routes_of(run)[0]
            machines = machines_of(run)
            seconds = algorithm_seconds(route, machines[0])
            cells = [f"{seconds * 1e6:.0f}", f"{(seconds + link_seconds(run, route)) * 1e6:.0f}",
                     f"{TABLE_3[run['ranks']][1][3] / told[3]:.1f}"]
            for machine in machines:
                base = direct["times"][machine]["seconds"]
                cells += [f"{base / algorithm_seconds(route, machine):.1f}",
                          f"{base / route['times'][machine]['seconds']:.1f}"]
            rows.append([run["ranks"], route["dimensions"], *counts_cells(route, told), told[3],
                         *cells])
    study.print_table("Table 3 (study, drawn patterns), on the machine of the study; then without search",
                      ["ranks", "n", "most messages", "mean messages", "mean words", "us, study", "its algorithm",
                       "with links", "speed-up, study", "its algorithm", "crossdock", "its algorithm, no search",
                       "crossdock, no search"], rows)
    study.print_table("Table 3: rows within 1.25 if messages wait for the busiest link of a stage",
                      ["links, times as slow as assumed", "rows"],
                      [[slower, near_with_links(runs, slower, 1.25)] for slower in (0, 1, fitted_links(runs, 1.25))])


def crossing(planes):
    """Where three of them meet, each a normal and a distance; none if they do not meet in one point."""
    def volume(a, b, c):
        return sum(a[k] * (b[k - 2] * c[k - 1] - b[k - 1] * c[k - 2]) for k in range(3))

    normals = [normal for normal, _ in planes]
    whole = volume(*normals)
    if abs(whole) < 1e-9:
        return None
    rows = list(zip(*normals))
    distances = [distance for _, distance in planes]
    return [volume(*(distances if k == column else rows[k] for k in range(3))) / whole for column in range(3)]


def most_rows_of_a_line(rows, tolerance):
    """How many of a table's times some a + b messages + c words are near at once, a, b and c at least 0."""
    known = [((1, messages, words), told) for messages, _, words, told in rows]
    planes = [(normal, told * by) for normal, told in known for by in (tolerance, 1 / tolerance)]
    planes += [(tuple(int(k == axis) for k in range(3)), 0) for axis in range(3)]
    most = 0
    for point in filter(None, map(crossing, itertools.combinations(planes, 3))):
        if min(point) < -1e-9:
            continue
        ratios = [sum(map(math.prod, zip(normal, point))) / told for normal, told in known]
        most = max(most, sum(1 / tolerance - 1e-9 <= ratio <= tolerance + 1e-9 for ratio in ratios))
    return most


def print_lines_of_table_3():
    study.print_table("Table 3: rows that one time linear in the study's own messages and words has within 1.25",
                      ["ranks, Table 3", "rows", "at most"],
                      [[ranks, len(rows), most_rows_of_a_line(rows.values(), 1.25)] for ranks, rows in TABLE_3.items()])


def told_local_seconds(ranks, n):
    """What the product takes in Table 2 besides the exchange."""
    return (TABLE_2_PRODUCTS[ranks][n - 1] - TABLE_2[ranks][n][3]) * 1e-6


def nonzeros_of_a_rank(ranks):
    return study.geometric_mean(TABLE_1_NONZEROS) / ranks


def nonzero_seconds():
    """By the sum of squared relative errors."""
    shares = [nonzeros_of_a_rank(ranks) / told_local_seconds(ranks, n)
              for ranks in FITTED_RANKS for n in TABLE_2[ranks]]
    return sum(shares) / sum(share ** 2 for share in shares)


def local_seconds(ranks):
    """Nonzeros in balance, as the study's partitioner has them."""
    return nonzeros_of_a_rank(ranks) * nonzero_seconds()


def print_nonzero_fit():
    errors = []
    for is_fitted in (True, False):
        squares = [(local_seconds(ranks) / told_local_seconds(ranks, n) - 1) ** 2
                   for ranks, told in TABLE_2.items() for n in told if (ranks in FITTED_RANKS) == is_fitted]
        errors.append(percent(math.sqrt(sum(squares) / len(squares))))
    seconds = nonzero_seconds()
    study.print_table("A core's local product as fitted to Table 2: errors are roots of mean squares",
                      ["nonzeros, geometric mean", "ns a nonzero", "million nonzeros a second",
                       f"error on {', '.join(map(str, FITTED_RANKS))} ranks", "on the others"],
                      [[f"{study.geometric_mean(TABLE_1_NONZEROS):.0f}", f"{seconds * 1e9:.1f}",
                        f"{1e-6 / seconds:.1f}", *errors]])


def print_table_2_products(runs):
    fit = fits_of(runs)["fitted"]
    machine = f"fitted, {fit['message']}"
    rows, pairs = [], {True: [], False: []}
    for run in (run for run in runs if machine in machines_of(run)):
        local, told = local_seconds(run["ranks"]), TABLE_2_PRODUCTS[run["ranks"]]
        base = routes_of(run)[0]["times"][machine]["seconds"] + fit["fixed"] + local
        for route in routes_of(run):
            n = route["dimensions"]
            theirs, ours = (seconds + fit["fixed"] + local for seconds in
                            (algorithm_seconds(route, machine), route["times"][machine]["seconds"]))
            pairs[run["ranks"] in FITTED_RANKS].append((theirs, told[n - 1] * 1e-6))
            rows.append([run["ranks"], n, told[n - 1], f"{theirs * 1e6:.0f}", f"{ours * 1e6:.0f}",
                         f"{told[0] / told[n - 1]:.2f}", f"{base / theirs:.2f}", f"{base / ours:.2f}",
                         *(percent(part) for part in (1e6 * told_local_seconds(run["ranks"], n) / told[n - 1],
                                                      local / theirs))])
    study.print_table("Table 2, the product, on Blue Gene/Q as fitted: microseconds, and what of it is local",
                      ["ranks", "n", "us, study", "its algorithm", "crossdock", "speed-up, study", "its algorithm",
                       "crossdock", "local, study", "here"], rows)
    for is_fitted, some in pairs.items():
        if some:
            print(f"\nError of the product on the ranks that were {'' if is_fitted else 'not '}fitted: "
                  f"{percent(error(some, 0))}")


def product_seconds(route, machine, fixed):
    """Of the study's algorithm and of crossdock; direct is the same in both."""
    times = route["times"][machine]
    ours = times["product_seconds"]
    return times.get("stored_and_forwarded_product_seconds", ours) + fixed, ours + fixed


def print_partners(run):
    """Figure 1, of the matrices at hand."""
    rows = []
    for matrix in run["matrices"]:
        partners, mean = matrix["partners"], direct_of(matrix)["sent"]["messages"]["mean"]
        rows.append([run["ranks"], matrix["matrix"], matrix["nonzeros"]["total"], partners["least"],
                     partners["lower_quartile"], partners["median"], f"{mean:.1f}", partners["upper_quartile"],
                     partners["percentile_95"], partners["most"], f"{partners['most'] / mean:.1f}"])
    study.print_table("Figure 1: messages that a rank sends directly",
                      ["ranks", "matrix", "nonzeros", "least", "lower quartile", "median", "mean", "upper quartile",
                       "95 %", "most", "most / mean"], rows)


def print_figure_7(run, fixed):
    rows = []
    for matrix in (matrix for matrix in run["matrices"] if matrix["matrix"] in LIKE_FIGURE_7):
        for route in matrix["routes"]:
            (machine,) = route["times"]
            base, _ = product_seconds(direct_of(matrix), machine, fixed)
            theirs, ours = product_seconds(route, machine, fixed)
            sent = route["sent"]
            rows.append([run["ranks"], matrix["matrix"], route["dimensions"], f"{sent['items']['mean']:.0f}",
                         f"{sent['messages']['mean']:.1f}", sent["messages"]["max"], f"{theirs * 1e6:.0f}",
                         f"{ours * 1e6:.0f}", f"{base / theirs:.2f}", f"{base / ours:.2f}"])
    study.print_table("Figure 7: two matrices",
                      ["ranks", "matrix", "n", "mean items", "mean messages", "most", "product, us: its algorithm",
                       "crossdock", "speed-up: its algorithm", "crossdock"], rows)


def print_figure_8(runs, fixed):
    rows = []
    for matrices in zip(*(run["matrices"] for run in runs)):
        for run, matrix in zip(runs, matrices):
            (machine,) = direct_of(matrix)["times"]
            nonzeros = matrix["nonzeros"]
            base, _ = product_seconds(direct_of(matrix), machine, fixed)
            theirs = {route["dimensions"]: product_seconds(route, machine, fixed)[0] for route in matrix["routes"]}
            best = min(matrix["routes"], key=lambda route: product_seconds(route, machine, fixed)[1])
            _, ours = product_seconds(best, machine, fixed)
            rows.append([run["ranks"], matrix["matrix"], f"{nonzeros['max'] / nonzeros['mean']:.2f}",
                         f"{base * 1e6:.0f}",
                         *(f"{theirs[n] * 1e6:.0f}" if n in theirs else "" for n in PRODUCT_DIMENSIONS),
                         f"{ours * 1e6:.0f} (n = {best['dimensions']})", f"{base / ours:.2f}"])
    study.print_table("Figure 8: microseconds of the product, by the study's algorithm",
                      ["ranks", "matrix", "most nonzeros / mean", "direct",
                       *(f"n = {n}" for n in PRODUCT_DIMENSIONS), "crossdock's fastest", "its speed-up"], rows)


def print_product_means(runs, fixed):
    """Geometric means over matrices."""
    rows = []
    for run in runs:
        for k, first in enumerate(run["matrices"][0]["routes"]):
            (machine,) = first["times"]
            products = [[product_seconds(matrix["routes"][which], machine, fixed) for which in (0, k)]
                        for matrix in run["matrices"]]
            theirs, ours = (study.geometric_mean(route[way] for _, route in products) for way in (0, 1))
            base = study.geometric_mean(direct[0] for direct, _ in products)
            rows.append([run["ranks"], first["dimensions"], f"{theirs * 1e6:.0f}", f"{ours * 1e6:.0f}",
                         f"{base / theirs:.2f}", f"{base / ours:.2f}"])
    study.print_table("The product, geometric means over matrices",
                      ["ranks", "n", "us, its algorithm", "crossdock", "speed-up, its algorithm", "crossdock"], rows)


def counted_run(runs):
    return max((run for run in runs if run["ranks"] <= COUNTED_RANKS), key=lambda run: run["ranks"])


def print_measured_products(runs):
    """What `crossdock bench neighbor --product` measured, to MPI's persistent requests."""
    nonzeros = {matrix["matrix"]: matrix["nonzeros"]["total"] for matrix in counted_run(runs)["matrices"]}
    rows, all_ratios = [], []
    for name in filter(nonzeros.get, SMALL):
        file = study.MEASUREMENTS / f"product-{name}-emulated4x4-openmpi.jsonl"
        if not file.exists():
            continue
        found = {one["name"]: one for one in study.read(file)["contenders"] if not one["dedup"]}
        ratios = [[found[route][what][quantile] / found["mpi_persistent"][what][quantile]
                   for quantile in ("lower_quartile", "median")]
                  for route, what in [*((route, "product_seconds") for route in MEASURED), ("auto", "exchange_seconds")]]
        all_ratios.append(ratios)
        rows.append([name, nonzeros[name], *(f"{low:.2f}, {middle:.2f}" for low, middle in ratios),
                     *found["auto"]["routes"]])
    if rows:
        means = [[study.geometric_mean(values) for values in zip(*of_all)] for of_all in zip(*all_ratios)]
        rows.append(["geometric mean", "", *(f"{low:.2f}, {middle:.2f}" for low, middle in means), ""])
    study.print_table("Measured products on 4 emulated nodes of 4 ranks, to mpi_persistent: lower quartile, median",
                      ["matrix", "nonzeros", *(f"product: {route}" for route in MEASURED), "exchange: auto",
                       "auto took"], rows)


def print_products(record):
    fixed, runs = fits_of(record["table_2"])["fitted"]["fixed"], record["products"]
    print_partners(counted_run(runs))
    print_figure_7(counted_run(runs), fixed)
    print_figure_8(runs, fixed)
    print_product_means(runs, fixed)
    print_measured_products(runs)


def forwarded(direct_items, items):
    """What ranks send for others."""
    return items - direct_items


def mapping_cells(matrices, which):
    """Of the routes of several matrices, geometric means of shares: of what is forwarded, sent, and of times."""
    routes = [(matrix["direct_items"], matrix["routes"][which]) for matrix in matrices]

    def mean(share):
        return f"{study.geometric_mean(share(direct, route) for direct, route in routes):.2f}"

    cells = [mean(lambda direct, route: forwarded(direct, route["items"]) / direct)]
    for mapping in MAPPINGS:
        def share(what, mapping=mapping):
            return mean(lambda _, route: route[mapping][what] / route[what])

        cells += [mean(lambda direct, route, mapping=mapping: forwarded(direct, route[mapping]["items"]) /
                       forwarded(direct, route["items"])), share("items"), share("items_between_nodes")]
        cells += [mean(lambda _, route, mapping=mapping, machine=machine: route[mapping]["seconds"][machine] /
                       route["seconds"][machine]) for machine in matrices[0]["routes"][which]["seconds"]]
    return [*cells, mean(lambda _, route: route["least_items"] / route["items"])]


def print_mapping(run):
    matrices = run["matrices"]
    groups = [("all", matrices)]
    if len(matrices) > 1:
        groups.append((f"without {matrices[-1]['matrix']}", matrices[:-1]))
        groups += [(matrix["matrix"], [matrix]) for matrix in matrices]
    rows = [[route["dimensions"], name, *mapping_cells(some, which)]
            for name, some in groups for which, route in enumerate(matrices[0]["routes"])]
    machines = list(matrices[0]["routes"][0]["seconds"])
    columns = [f"{what}, {where}" for where in MAPPINGS.values()
               for what in ("forwarded", "items", "items between nodes", *machines)]
    study.print_table(f"Mapping on {run['ranks']} ranks: shares of what it is where ranks take the places of their "
                      "numbers; means are geometric",
                      ["n", "matrices", "forwarded / direct", *columns, "items, at least"], rows)


def print_tables(record):
    for _, same in itertools.groupby(record["runs"], machines_of):
        runs = list(same)
        machines = machines_of(runs[0])
        rows = [row for run in runs for row in count_rows(run, machines)]
        study.print_table("Geometric means over matrices, also of the speed-ups over direct",
                          ["ranks", "bytes", "n", "bound", "most messages", "mean messages", "mean items",
                           "items / direct", "most buffered items", *machines], rows)
        print_best(runs, machines)
    if "table_2" in record:
        print_fits(record["table_2"])
        print_table_2(record["table_2"])
        print_networks(record["table_2"], record.get("networks", []))
        print_drawn_figure_7(record.get("figure_7", []), fits_of(record["table_2"])["fitted"]["fixed"])
        print_nonzero_fit()
        print_table_2_products(record["table_2"])
    if "table_3" in record:
        print_table_3(record["table_3"])
        print_lines_of_table_3()
    if "products" in record:
        print_products(record)
    if "mapping" in record:
        print_mapping(record["mapping"])


def without_matching(name):
    """A machine that finds a message's receive at once."""
    machine = study.read(study.PROJECT / f"machines/{name}.json")
    return {**machine, "name": f"{name}, no search", "matching_seconds": 0}


def equal_messages(variant, message_seconds, preset="bluegene_q"):
    """The preset, changed as in `VARIANTS`."""
    machine = study.read(study.PROJECT / f"machines/{preset}.json")
    choice = VARIANTS[variant]
    machine["name"] = f"{variant}, {message_seconds * 1e6:.1f}"
    for level in ("region", "node", "network"):
        numbers = machine["levels"][level]
        numbers["send_overhead_seconds"] = numbers["receive_overhead_seconds"] = message_seconds
        if not choice["handshake"]:
            numbers["rendezvous"]["latency_seconds"] = numbers["eager"]["latency_seconds"]
        for protocol in ("eager", "rendezvous"):
            numbers[protocol]["seconds_per_byte"] *= choice["link"]
    machine["injection_seconds_per_byte"] *= choice["link"]
    for number in ("copy_seconds_per_byte", "copy_seconds_per_item"):
        machine[number] *= choice["copies"]
    machine["matching_seconds"] *= choice["search"]
    return machine


def simulate(arguments, files, num_ranks, machines, *more):
    """`machines` are names or machines."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, machine in enumerate(machines):
            if isinstance(machine, dict):
                path = pathlib.Path(folder) / f"{number}.json"
                study.write(machine, path)
                machine = path
            names.append(str(machine))
        return study.run(arguments.program, *files, "--ranks", num_ranks, "--machines", ",".join(names), *more)


def run(arguments, names, num_ranks, machines, *more):
    files = [pathlib.Path(arguments.folder) / f"{name}.mtx.gz" for name in names]
    return simulate(arguments, files, num_ranks, machines, *more)


def drawn(arguments, table, num_ranks, machines, submessage_seconds, *more):
    most, mean, items, *_ = table[num_ranks][1]
    dimensions = ",".join(str(n) for n in table[num_ranks] if n > 1)
    return simulate(arguments, [f"drawn:{round(most)}:{mean}:{items}"], num_ranks, machines,
                    "--dimensions", dimensions, "--submessage-seconds", submessage_seconds, *more)


def network_runs(arguments):
    """Of Figure 9, on the Cray: with larger overheads of messages between nodes, too, and fitted."""
    machines = [with_overheads("cray_xc40", one) for one in OVERHEAD_FACTORS]
    machines.append(equal_messages("fitted", cray_fit()["message"] / 2, "cray_xc40"))
    return [drawn(arguments, TABLE_2, num_ranks, machines, 0, *node_size("cray_xc40")) for num_ranks in NETWORK_RANKS]


def figure_7_runs(arguments, record):
    """Exchanges of the words of Table 2, the second with its messages and the first with half of them."""
    fit = fits_of(record["table_2"])["fitted"]
    machine = equal_messages("fitted", float(fit["message"]) * 1e-6)
    most, mean, *words = TABLE_2[COUNTED_RANKS][1]
    return [drawn(arguments, {COUNTED_RANKS: {**TABLE_2[COUNTED_RANKS], 1: (most / part, mean / part, *words)}},
                  COUNTED_RANKS, [machine], 0) for part in (2, 1)]


def with_overheads(name, times):
    machine = study.read(study.PROJECT / f"machines/{name}.json")
    for side in ("send_overhead_seconds", "receive_overhead_seconds"):
        machine["levels"]["network"][side] *= times
    return {**machine, "name": name if times == 1 else f"{name}, overheads x {times}"}


def node_size(machine):
    return ["--node-size", NODE_SIZES.get(machine, 16)]


def table_2_runs(arguments, ranks):
    """A run for each time of a submessage."""
    runs = []
    for seconds in sorted({choice["submessage_seconds"] for choice in VARIANTS.values()}):
        machines = [equal_messages(variant, message) for variant, choice in VARIANTS.items()
                    if choice["submessage_seconds"] == seconds for message in MESSAGE_SECONDS]
        runs += [drawn(arguments, TABLE_2, num_ranks, machines, seconds) for num_ranks in ranks]
    return runs


def table_3_runs(arguments):
    return [drawn(arguments, TABLE_3, num_ranks, [name, without_matching(name)], 0, *node_size(name),
                  *NETWORKS[num_ranks])
            for num_ranks, name in TABLE_3_MACHINE.items()]


def trimmed(runs, counts=("messages", "items", "buffer_items")):
    """Without what the tables do not need: regions play no part, and shares are many."""
    for one in runs:
        for route in (route for matrix in one["matrices"] for route in matrix["routes"]):
            route["sent"] = {what: route["sent"][what] for what in counts}
            for times in route["times"].values():
                del times["share_of_time"]
    return runs


def trimmed_to_seconds(runs, counts=("messages", "items", "buffer_items", "items_at_once")):
    """Of the times the seconds alone."""
    trimmed(runs, counts)
    for route in (route for one in runs for matrix in one["matrices"] for route in matrix["routes"]):
        for times in route["times"].values():
            for number in ("priced_seconds", "dominating_term"):
                del times[number]
    return runs


def trimmed_mapping(run):
    """Of each route what it sends, between nodes too, and how long it takes, with each mapping."""
    def trim(one):
        return {"items": one["sent"]["items"]["total"],
                "items_between_nodes": one["sent"]["inter_region_items"]["total"],
                "seconds": {machine: times["seconds"] for machine, times in one["times"].items()}}

    def trim_route(route):
        mapped = route["mapped"]
        return {"dimensions": route["dimensions"], **trim(route), "least_items": mapped["least_items"],
                **{mapping: trim(mapped[mapping]) for mapping in MAPPINGS}}

    return {"ranks": run["ranks"], "matrices": [
        {"matrix": matrix["matrix"], "direct_items": direct_of(matrix)["sent"]["items"]["total"],
         "routes": [trim_route(route) for route in matrix["routes"][1:]]} for matrix in run["matrices"]]}


def mapping_run(arguments):
    more = ["--cache", arguments.cache] if arguments.cache else []
    return run(arguments, MAPPED, MAPPED_RANKS, MAPPED_MACHINES, *more, "--mapped",
               "--dimensions", ",".join(map(str, MAPPED_DIMENSIONS)))


def make_runs(arguments):
    more = ["--cache", arguments.cache] if arguments.cache else []
    runs = [run(arguments, SMALL, num_ranks, SMALL_MACHINES, *more) for num_ranks in SMALL_RANKS]
    machines = [machine for name in LARGE_MACHINES for machine in (name, without_matching(name))]
    runs += [run(arguments, LARGE, num_ranks, machines, *more) for num_ranks in LARGE_RANKS]
    runs.append(run(arguments, LARGE, LARGE_RANKS[0], machines[:2], *more, "--item-bytes", WIDE_ITEM_BYTES,
                    "--dimensions", ",".join(map(str, WIDE_DIMENSIONS))))
    return runs


def product_runs(arguments, names, many_ranks, record, partition="metis:entries"):
    """On the machine that Table 2 fits."""
    fit = fits_of(record["table_2"])["fitted"]
    machine = equal_messages("fitted", float(fit["message"]) * 1e-6)
    more = ["--cache", arguments.cache] if arguments.cache else []
    return [run(arguments, names, num_ranks, [machine], *more, "--partition", partition, "--submessage-seconds", 0,
                "--nonzero-seconds", nonzero_seconds()) for num_ranks in many_ranks]


def trimmed_products(runs):
    """Of the times those of products; what is sent is kept of the ranks on which it is counted."""
    for one in trimmed_to_seconds(runs, ("messages", "items")):
        for matrix in one["matrices"]:
            for route in matrix["routes"]:
                for times in route["times"].values():
                    for number in ("seconds", "stored_and_forwarded_seconds"):
                        times.pop(number, None)
                if one is not counted_run(runs):
                    del route["sent"]
            if one is not counted_run(runs):
                del matrix["partners"]
    return runs


# Each part is made of the arguments and of the parts before it.
PARTS = {
    "runs": lambda arguments, _: trimmed(make_runs(arguments)),
    "table_2": lambda arguments, _: trimmed_to_seconds(table_2_runs(arguments, SMALL_RANKS)),
    "networks": lambda arguments, _: trimmed_to_seconds(network_runs(arguments)),
    "figure_7": lambda arguments, record: trimmed_to_seconds(figure_7_runs(arguments, record)),
    "table_3": lambda arguments, _: trimmed_to_seconds(table_3_runs(arguments)),
    "products": lambda arguments, record: trimmed_products(
        product_runs(arguments, SMALL, PRODUCT_RANKS, record)),
    "mapping": lambda arguments, _: trimmed_mapping(mapping_run(arguments)),
}
QUICK_PARTS = {
    "runs": lambda arguments, _: trimmed([run(arguments, ["D_10"], 16, SMALL_MACHINES, "--partition", "block")]),
    "table_2": lambda arguments, _: trimmed_to_seconds(table_2_runs(arguments, SMALL_RANKS[:1])),
    "products": lambda arguments, record: trimmed_products(
        product_runs(arguments, ["D_10"], [16], record, "block")),
    "mapping": lambda arguments, _: trimmed_mapping(
        run(arguments, ["D_10"], 64, MAPPED_MACHINES, "--partition", "block", "--mapped", "--dimensions", "2,6")),
}


def make_record(arguments):
    parts = QUICK_PARTS if arguments.quick else PARTS
    record = study.read(arguments.output) if arguments.part else {}
    record["schema"] = "crossdock.study.vpt/2"
    for part, make in parts.items():
        if arguments.part in (None, part):
            record[part] = make(arguments, record)
    return record


def main():
    parser = study.parser(__doc__, "vpt")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--cache", metavar="FOLDER")
    parser.add_argument("--part", choices=PARTS, help="make only that part of the record anew")
    arguments = parser.parse_args()
    if (arguments.folder is None) == (arguments.tables is None):
        parser.error("either FOLDER or --tables RECORD")
    study.finish(arguments, make_record, print_tables)


if __name__ == "__main__":
    main()
