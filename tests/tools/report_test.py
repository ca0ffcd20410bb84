"""crossdock report: what is on the page, and which files are refused."""

import json
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from command_line import DATA, TESTS, InFolder, crossdock
from html_page import Reader

sys.path += [str(TESTS.parent.parent / "tools/plots"), str(TESTS.parent / "docs")]
import drawings
import records

BENCH = TESTS.parent.parent / "bench/results/neighbor-D_10-8ranks-2x4-openmpi.jsonl"
RESULTS = TESTS.parent.parent / "bench/results"
KNOWN = ("crossdock.simulate/1, crossdock.analyze/1, crossdock.explain/1, crossdock.bench.neighbor/1, "
         "crossdock.bench.hypre/1, crossdock.try/1, crossdock.bench.exchange/1, crossdock.bench.gather/1, "
         "crossdock.bench.array/1, crossdock.bench.array.prepared/1, crossdock.bench.stream/1, crossdock.drop_in/1, "
         "crossdock.report/1, what draw writes as .svg")
SVG = "{http://www.w3.org/2000/svg}"
MICROSECOND = 1e-6


def traffic(most):
    summary = {"total": 10 * most, "max": most, "mean": most / 2}
    return {"messages": summary, "items": summary,
            "inter_region": {"messages": summary, "items": summary}}


def simulation(ranks, seconds, file="matrix.mtx.gz", machine="lassen"):
    """A record of `crossdock simulate`; `seconds` are of each (route, dedup)."""
    direct = seconds["direct", False]
    return {
        "schema": "crossdock.simulate/1", "file": file, "ranks": ranks, "regions": ranks // 16,
        "topology": f"{ranks // 16}x16", "nodes": f"{ranks // 16}x16", "partition": "block",
        "machine": machine, "item_bytes": 8, "executor": "persistent",
        "routes": [{
            "route": route, "dedup": dedup, "slowest_seconds": slowest, "mean_seconds": slowest / 2,
            "speedup_over_direct": direct / slowest,
            "share_of_time": {"waiting": 0.25, "copying": 0.25, "region": 0.125, "node": 0,
                              "network": 0.375},
            "total": traffic(round(slowest / MICROSECOND))}
            for (route, dedup), slowest in seconds.items()]}


def simulated_seconds(direct, three_step, hypercube):
    """Whole microseconds for direct and three_step, and for hypercube with deduplication."""
    return {("direct", False): direct * MICROSECOND, ("three_step", False): three_step * MICROSECOND,
            ("hypercube", True): hypercube * MICROSECOND}


def gathered(name, median, choice=None, **changes):
    """A contender of `crossdock bench gather`; one with a choice is the library."""
    seconds = {"min": 0.5 * median * MICROSECOND, "lower_quartile": 0.9 * median * MICROSECOND,
               "median": median * MICROSECOND, "upper_quartile": 1.1 * median * MICROSECOND,
               "max": 2 * median * MICROSECOND}
    return {"name": name, "baseline": choice is None, "choice": choice, "verified": True, "setup_seconds": seconds,
            "combine_seconds": seconds, "messages": 8, "inter_region_messages": 4, "items": 64,
            "inter_region_items": 32} | changes


def ratio_of(median, lower, upper, decision):
    return {"median": median, "lower": lower, "upper": upper, "decision": decision}


def gathering(*contenders):
    return {"schema": "crossdock.bench.gather/1", "version": "0.1.0", "mpi": "Open MPI v4.1.4", "ranks": 8,
            "topology": "2x4", "file": "hex:7:2", "partition": "block", "executor": "auto", "warm_ups": 10,
            "iterations": 100, "setups": 3, "contenders": list(contenders)}


def call_taken_over(**changes):
    """A line of what CROSSDOCK_REPORT names."""
    return {
        "schema": "crossdock.drop_in/1", "communicator": 0, "function": "MPI_Neighbor_alltoallv",
        "place": "app:main+0x1f", "ranks": 64, "calls": 20002, "along_plan": 20000, "why": "faster than MPI",
        "set_up_seconds": 0.5, "mpi_seconds": 31.0, "saved_seconds": 12.4,
        "plan": {
            "route": "three_step", "is_used": True, "most_neighbors": 12, "bytes": 65536,
            "messages_between_regions": {"direct": 768, "route": 12},
            "trial_seconds": {"mpi": 1540 * MICROSECOND, "route": 905 * MICROSECOND}}} | changes


def reported_object(**changes):
    """A line of what CROSSDOCK_REPORT names, by the library itself."""
    both = {"mean": 0.004, "max": 0.005}
    return {
        "schema": "crossdock.report/1", "name": "halo of p", "kind": "neighbor exchange", "ranks": 16, "objects": 1,
        "starts": 200, "route": "three_step", "why": "estimated", "gain": {"estimated": 1.7, "measured": None},
        "messages": 6400, "bytes": 819200, "inter_region_messages": 2400, "inter_region_bytes": 614400,
        "seconds": {"exchange": {"mean": 0.008, "max": 0.01}, "overlap": {"mean": 0.002, "max": 0.003},
                    "packing": {"mean": 0.001, "max": 0.001}, "sending": {"mean": 0.001, "max": 0.001},
                    "waiting": both},
        "longest_awaited": {"rank": 3, "seconds": 0.004}} | changes


def lines_of(*calls):
    return "".join(json.dumps(call) + "\n" for call in calls)


def report(folder, *files):
    output = folder / "report.html"
    done = crossdock("report", *files, "-o", output)
    if (done.returncode, done.stdout, done.stderr) != (0, f"{output}\n", ""):
        raise AssertionError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    return output.read_text(encoding="utf-8")


class Report(unittest.TestCase):
    """Simulations of one file on two numbers of ranks and of another on one, and a benchmark."""

    @classmethod
    def setUpClass(cls):
        records = [simulation(64, simulated_seconds(100, 50, 40)),
                   simulation(256, simulated_seconds(400, 50, 100)),
                   simulation(64, simulated_seconds(20, 40, 80), "other.mtx")]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            files = [folder / f"{number}.json" for number in range(len(records))]
            for file, record in zip(files, records):
                file.write_text(json.dumps(record))
            cls.text = report(folder, *files, BENCH)
        cls.page = Reader(cls.text)

    def names(self, start):
        return [name.removeprefix(start) for name in self.page.ids if name.startswith(start)]

    def test_TableSaysWhereEachRouteWins(self):
        about = "machine lassen, 16 ranks per region, partition block, persistent, 8 bytes per item"
        self.assertEqual(self.page.tables["wins"], [
            [["file"], ["64 ranks"], ["256 ranks"]],
            [["matrix", about],
             ["hypercube+dedup", "2.50 × direct, 40.0\u00a0µs"],
             ["three_step", "8.00 × direct, 50.0\u00a0µs"]],
            [["other", about], ["direct", "1.00 × direct, 20.0\u00a0µs"], []]])

    def test_EveryKindOfResultHasItsSection(self):
        self.assertEqual(self.page.headings, [
            "Where each route wins", "Simulated time by route", "Simulated speed-up over direct", "Where the time goes",
            "Messages and items by route", "Measured time by contender", "Results read"])
        # Of the first file lines: messages and items, of all ranks and between regions.
        self.assertEqual(self.page.figures,
                         ["time"] * 2 + ["speedup"] + ["share"] * 2 + ["traffic"] * (4 + 1) + ["bench"])
        self.assertEqual([row[2] for row in self.page.tables["sources"][1:]],
                         [["matrix"], ["matrix"], ["other"], ["D_10"]])

    def test_EachRouteIsALineOrABar(self):
        routes = ["direct", "three_step", "hypercube+dedup"]
        self.assertEqual(self.names("figure1-line-"), routes)
        self.assertEqual(self.names("figure2-bar-"), routes)
        self.assertEqual(self.names("figure3-speedup-"), routes)
        self.assertEqual(self.names("figure6-max-"), routes)
        self.assertEqual(self.names("figure6-mean-"), routes)

    def test_FiguresHaveTitlesAndCaptionsOfTheirOwn(self):
        for texts in (self.page.titles, self.page.captions):
            self.assertEqual(len(texts), len(self.page.figures))
            self.assertEqual(len(texts), len(set(texts)))

    def test_EachFigureBeginsWithWhatItTells(self):
        self.assertEqual(self.page.findings, [
            "On 256 ranks three_step is done first, 8.00 times as fast as direct.",
            "On 64 ranks no route is faster than direct.",
            "From 64 to 256 ranks the best speed-up over direct goes from 2.50 to 8.00.",
            "three_step, the fastest, spends most on network: 38 %.",
            "direct, the fastest, spends most on network: 38 %.",
            *(f"{noun.capitalize()} of the busiest of 256 ranks: 50 with three_step, 400 with direct." for noun in
              ("messages", "items", "inter-region messages", "inter-region items")),
            "Inter-region messages of the busiest rank: 20 with direct, the least.",
            "Undecided, as the record does not compare rounds: the median of two_step+dedup, shared_memory is 0.80 of that "
            "of mpi_persistent, the fastest that uses MPI alone."])

    def test_EachContenderIsAMedian(self):
        contenders = records.read(BENCH)["contenders"]
        named = [one["name"] + "+dedup" * one["dedup"] + (f"-{one['executor']}" if one["executor"] else "")
                 for one in contenders]
        self.assertEqual(self.names("figure11-median-"), named)

    def test_PageStandsAlone(self):
        ids = self.page.ids
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual([link for link in self.page.links if link[0] != "#" or link[1:] not in ids], [])
        self.assertEqual(set(re.findall(r"url\(#([^)]*)\)", self.text)) - set(ids), set())
        without_namespaces = re.sub(r'xmlns(:\w+)?="http://www\.w3\.org/[^"]*"', "", self.text)
        for word in ("http:", "https:", "<script", "<link", "@import", "src="):
            self.assertNotIn(word, without_namespaces)

    def test_InksAreThePages(self):
        style, body = self.text.split("</style>", 1)
        self.assertIn("prefers-color-scheme: dark", style)
        self.assertIn("break-inside: avoid", style)
        self.assertIn("var(--ink)", body)
        inks = re.findall(r"--(?:ink|paper|lines): (#\w+)", style)
        self.assertEqual(len(inks), 2 * 3)
        for ink in inks:
            self.assertNotIn(ink, body)

    def test_TextLiesWithinTheFrames(self):
        drawn = re.findall(r"<svg.*?</svg>", self.text, re.DOTALL)

        self.assertGreater(len(drawn), 0)
        self.assertEqual([words for drawing in drawn for words in drawings.texts_beyond_frame(drawing)], [])

    def test_RouteHasOneColour(self):
        colours = {}
        for drawing in re.findall(r"<svg.*?</svg>", self.text, re.DOTALL):
            for part in xml.etree.ElementTree.fromstring(drawing).iter(f"{SVG}g"):
                kind, _, route = part.get("id", "").partition("-")[2].partition("-")
                if kind in ("line", "speedup", "bar", "max", "mean"):
                    style = part.find(f".//{SVG}path").get("style")
                    colours.setdefault(route, set()).add(re.search(r"stroke: (#\w+)", style)[1])
        self.assertEqual(colours, {"direct": {"#808080"}, "three_step": {"#0072b2"},
                                   "hypercube+dedup": {"#009e73"}})


class ReportOfOneFile(InFolder):
    def test_WhatAnalyzeCountsIsShown(self):
        counted = crossdock("analyze", DATA / "D_10.mtx.gz", "--ranks", 16, "--topology", "4x4",
                            "--routes", "direct,two_step", "--json")
        file = self.write("counted.json", counted.stdout)

        text = report(self.folder, file)

        self.assertEqual(Reader(text).figures, ["traffic"])
        self.assertEqual(Reader(text).headings, ["Messages and items by route", "Results read"])
        self.assertEqual(text, report(self.folder, file))  # the same page again

    def test_LevelsOfAHierarchyHaveTheirSum(self):
        summed = simulation(64, simulated_seconds(100, 50, 40), "amg:folder") | {"levels": []}
        for one in summed["routes"]:
            for name in ("mean_seconds", "share_of_time", "total"):
                del one[name]

        page = Reader(report(self.folder, self.write("levels.json", summed)))

        self.assertEqual(page.headings,
                         ["Where each route wins", "Simulated time by route", "Results read"])
        self.assertEqual(page.figures, ["time"])
        self.assertEqual(page.tables["wins"][1][1], ["hypercube+dedup", "2.50 × direct, 40.0\u00a0µs"])

    def test_TextOfAFileIsNotMarkup(self):
        counted = simulation(64, simulated_seconds(2, 1, 3), "<b>&.mtx", "<i>")

        text = report(self.folder, self.write("markup.json", counted))

        self.assertNotIn("<b>", text)
        self.assertNotIn("<i>", text)
        self.assertEqual(Reader(text).tables["wins"][1][0][0], "<b>&")

    def test_LinesThatCoincideAreOne(self):
        files = [self.write(f"{ranks}.json", simulation(ranks, {
            ("direct", False): seconds, ("two_step", False): 2 * seconds, ("hypercube", True): 2.001 * seconds}))
            for ranks, seconds in ((64, 1e-5), (256, 3e-5))]

        text = report(self.folder, *files)

        ids = [name for name in Reader(text).ids if name.startswith("figure1-line-")]
        self.assertEqual(ids, ["figure1-line-direct", "figure1-line-two_step"])
        self.assertIn("= hypercube+dedup", text)

    def test_APlotHasAtMostEightLines(self):
        routes = {(f"grid:{number}", False): (20 - number) * 1e-5 for number in range(2, 14)}
        files = [self.write(f"{ranks}.json", simulation(ranks, {("direct", False): ranks * 1e-5} | routes))
                 for ranks in (64, 256)]

        ids = [name for name in Reader(report(self.folder, *files)).ids if name.startswith("figure1-line-")]

        self.assertEqual(ids, ["figure1-line-direct", *(f"figure1-line-grid:{number}" for number in range(7, 14))])

    def test_TiesAreCalledTies(self):
        file = self.write("tie.json", simulation(64, simulated_seconds(100, 40, 40)))

        self.assertEqual(Reader(report(self.folder, file)).findings[0],
                         "On 64 ranks three_step and hypercube+dedup tie, 2.50 times as fast as direct.")


class ReportOfOtherKinds(InFolder):
    def test_EveryBenchHasItsPanel(self):
        names = ["exchange-msc01050-8ranks-2x4", "array-boruvka-gnm-32768-8ranks", "array-prepared-gnm-8ranks",
                 "stream-histogram-512k-8ranks"]
        files = [RESULTS / f"{name}-openmpi.jsonl" for name in names]

        page = Reader(report(self.folder, *files))

        self.assertEqual((page.headings, page.figures),
                         (["Measured time by contender", "Results read"], ["bench"] * 4))
        self.assertEqual([title.partition(",")[0] for title in page.titles],
                         ["Sparse exchange", "Distributed array", "Prepared reads", "Stream"])
        for number, file in enumerate(files, 1):
            medians = [name for name in page.ids if name.startswith(f"figure{number}-median-")]
            self.assertEqual(len(medians), len(records.read(file)["contenders"]))
        self.assertEqual(page.findings[3],
                         "Undecided, as the record does not compare rounds: the median of ww direct, 8,192 items is 0.99 of "
                         "that of alltoallv, the fastest that uses MPI alone.")

    def test_GatherScattersAreComparedWithMethodsOfGslib(self):
        of_gslib = [gathered("pairwise", 100), gathered("tuned", 90, baseline=True, choice="crystal_router")]
        for ratio, said in [
                (ratio_of(0.52, 0.51, 0.53, "gain"),
                 "auto = owners/three_step needs 0.52 (0.51 to 0.53) of the time of tuned = crystal_router"),
                (ratio_of(2, 1.5, 2.5, "no_gain"),
                 "Nothing is gained: auto = owners/three_step needs 2.00 (1.50 to 2.50) of the time of "
                 "tuned = crystal_router"),
                (ratio_of(0.9, 0.8, 1.1, "undecided"),
                 "Undecided: auto = owners/three_step needs 0.90 (0.80 to 1.10) of the time of tuned = crystal_router"),
                (ratio_of(0.5, None, None, "undecided"),
                 "Undecided: auto = owners/three_step needs 0.50 of the time of tuned = crystal_router")]:
            record = gathering(*of_gslib, gathered("auto", 45, "owners/three_step", ratio=ratio),
                               gathered("holders/direct", 200, "holders/direct"))
            record["in_a_row"] = 10
            file = self.write("gather.json", record)

            page = Reader(report(self.folder, file))

            self.assertEqual((page.headings, page.figures),
                             (["Measured time by contender", "Results read"], ["bench"]))
            self.assertEqual(page.titles, ["Gather-scatter, hex:7:2: topology 2x4, executor auto, 8 ranks, "
                                           "100 iterations of 10 in a row, Open MPI v4.1.4"])
            self.assertEqual(page.findings, [f"{said}, the fastest of gslib's methods."])
            self.assertEqual([name.removeprefix("figure1-median-") for name in page.ids if "-median-" in name],
                             ["pairwise", "tuned = crystal_router", "auto = owners/three_step", "holders/direct"])

    def test_OlderRecordsOfTrySayWhatTheySaid(self):
        file = TESTS.parent.parent / "bench/clusters/emulated4x4-openmpi-msc01050.json"

        self.assertEqual(Reader(report(self.folder, file)).findings, [json.loads(file.read_text())["text"]])

    def test_LevelsOfHypreAreOneSum(self):
        file = RESULTS / "hypre-27pt-emulated4x4-openmpi.jsonl"

        page = Reader(report(self.folder, file))

        self.assertEqual((page.headings, page.figures),
                         (["Measured time by contender", "Results read"], ["bench"]))
        self.assertEqual(page.titles, ["Levels of hypre's BoomerAMG, 27pt:32x32x32: all 5 levels, topology 4x4, "
                                       "executor auto, 16 ranks, 41 runs of 10 iterations, Open MPI v4.1.4"])
        levels = records.read(file)["levels"]
        seconds = {}
        for one in (one for level in levels for one in level["contenders"]):
            seconds[one["name"]] = seconds.get(one["name"], 0) + one["exchange_seconds"]["median"]
        ours = min((name for name in seconds if name not in {"hypre", "mpi_neighbor_alltoallv_init"}), key=seconds.get)
        self.assertEqual(page.findings, [
            f"Undecided, as the record does not compare rounds: the median of {ours} is "
            f"{seconds[ours] / seconds['hypre']:.2f} of that of hypre's own exchange."])
        self.assertEqual([name.removeprefix("figure1-median-") for name in page.ids if "-median-" in name],
                         [one["name"] for one in levels[0]["contenders"]])

    def test_HelpListsWhatIsRead(self):
        words = re.findall(r"\w+", crossdock("report", "--help").stdout)

        schemas = re.findall(r"crossdock\.(?:bench\.)?(\w+)(?:\.prepared)?/1", KNOWN)
        self.assertEqual(len(schemas), KNOWN.count("/1"))
        self.assertEqual([name for name in schemas if name not in [*words, "drop_in"]], [])
        self.assertLessEqual({"svg", "draw", "CROSSDOCK_REPORT"}, set(words))

    def test_LevelsOfHypreAreJudgedTogether(self):
        record = records.read(RESULTS / "hypre-27pt-emulated4x4-openmpi.jsonl")
        record["ratios"] = {one["name"]: ratio_of(0.7, 0.65, 0.75, "gain") for one in record["levels"][0]["contenders"]}

        finding, = Reader(report(self.folder, self.write("levels.json", record))).findings

        self.assertRegex(finding, "^[a-z_]+ needs 0.70 \\(0.65 to 0.75\\) of the time of hypre's own exchange.$")

    def test_LevelsWithoutAContenderAreRefused(self):
        record = records.read(RESULTS / "hypre-27pt-emulated4x4-openmpi.jsonl")
        del record["levels"][2]["contenders"][1]
        file = self.write("levels.json", record)

        self.refuse(f'{file}: the field "mpi_neighbor_alltoallv_init" is missing', "report", file, "-o",
                    self.folder / "refused.html")

    def test_WhatAutoTakesIsShown(self):
        found = crossdock("explain", "dense:1", "--ranks", 64, "--topology", "16x4", "--json").stdout
        file = self.write("explain.json", found)

        page = Reader(report(self.folder, file))

        self.assertEqual((page.headings, page.figures), (["What auto takes", "Results read"], ["choice"]))
        self.assertTrue(page.findings[0].startswith(f"auto takes {json.loads(found)['route']}, whose time is mostly "))
        self.assertEqual([name.removeprefix("figure1-bar-") for name in page.ids if name.startswith("figure1-bar-")],
                         [one["route"] + "+dedup" for one in json.loads(found)["candidates"]])

    def test_DrawingsAreEmbedded(self):
        drawing = self.folder / "plan.svg"
        crossdock("draw", "dense:1", "--ranks", 4, "--topology", "2x2", "-o", drawing)

        text = report(self.folder, drawing)

        page = Reader(text)
        self.assertEqual((page.headings, page.figures), (["Plans", "Results read"], ["plan"]))
        self.assertIn("figure1-message-between-stage1-0-2", page.ids)
        self.assertEqual(page.ids.count("figure1-message-between-stage1-0-2"), 1)
        self.assertIn("var(--box)", text)


class ReportOfObjects(InFolder):
    def test_EachNameHasARow(self):
        file = self.write("objects.jsonl", lines_of(reported_object(), reported_object(
            name="never started", starts=0, longest_awaited=None)))

        page = Reader(report(self.folder, file))

        self.assertEqual(page.headings, ["What a program's objects did", "Results read"])
        self.assertEqual(page.tables["objects"][1:], [
            [["halo of p", "neighbor exchange"], ["16"], ["200"], ["three_step", "estimated"], ["32"], ["4,096"],
             ["40.0\u00a0µs"], ["50.0\u00a0µs"], ["rank 3", "4.0\u00a0ms in all"]],
            [["never started", "neighbor exchange"], ["16"], ["0"], ["three_step", "estimated"], ["6,400"], ["819,200"],
             ["8.0\u00a0ms"], ["10.0\u00a0ms"], []]])
        self.assertEqual(page.findings, ["halo of p takes most, and of that most is waiting: 50 %."])

    def test_ADropInMayHaveWrittenIntoTheSameFile(self):
        file = self.write("both.jsonl", lines_of(reported_object(), call_taken_over()))
        self.assertEqual(Reader(report(self.folder, file)).headings,
                         ["What a program's objects did", "Calls that the drop-in took over", "Results read"])


class ReportOfTheDropIn(InFolder):
    """What an unmodified program got: in one place a route, in one nothing, and in one MPI was as fast."""

    @classmethod
    def setUpClass(cls):
        cls.calls = [
            call_taken_over(),
            call_taken_over(communicator=1, function="MPI_Ineighbor_allgather", calls=4, along_plan=0, set_up_seconds=0,
                            why="counts did not repeat", mpi_seconds=0, saved_seconds=0, plan=None),
            call_taken_over(place="libghosts.so:+0x8", why="not faster than MPI", calls=300, along_plan=0, mpi_seconds=0,
                            set_up_seconds=0.002, saved_seconds=-0.002,
                            plan=call_taken_over()["plan"] | {"route": "direct", "is_used": False})]
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name) / "calls.json"
            file.write_text(lines_of(*cls.calls))
            cls.text = report(file.parent, file)
        cls.page = Reader(cls.text)

    def test_EachPlaceHasARow(self):
        self.assertEqual(self.page.headings, ["Calls that the drop-in took over", "Results read"])
        times = [["1.5\u00a0ms"], ["905.0\u00a0µs"]]
        self.assertEqual(self.page.tables["calls"], [
            [["call"], ["ranks"], ["neighbors"], ["bytes"], ["calls"], ["route"], ["messages between regions"],
             ["by MPI"], ["by the route"], ["set-up"], ["saved"]],
            [["1: MPI_Neighbor_alltoallv", "communicator 0, app:main+0x1f"], ["64"], ["12"], ["65,536"],
             ["20,002", "20,000 by plan"], ["three_step", "faster than MPI"], ["12", "768 direct"], *times,
             ["500.0\u00a0ms"], ["12.4\u00a0s"]],
            [["2: MPI_Ineighbor_allgather", "communicator 1, app:main+0x1f"], ["64"], [], [], ["4", "0 by plan"],
             ["counts did not repeat"], [], [], [], ["0.0\u00a0s"], ["0.0\u00a0s"]],
            [["3: MPI_Neighbor_alltoallv", "communicator 0, libghosts.so:+0x8"], ["64"], ["12"], ["65,536"],
             ["300", "0 by plan"], ["direct", "not faster than MPI"], ["12", "768 direct"], *times,
             ["2.0\u00a0ms"], ["\N{MINUS SIGN}2.0\u00a0ms"]]])
        self.assertEqual([row[1:] for row in self.page.tables["sources"]],
                         [[["schema"], ["file"], ["ranks"], ["topology"]],
                          [["crossdock.drop_in/1"], [], ["64"], []]])

    def test_SentenceSaysWhatWasSaved(self):
        self.assertIn("</span>: saved about 12.4\u00a0s of 31.0\u00a0s in 20,000 exchanges.</p>", self.text)

        text = report(self.folder, self.write("lost.json", lines_of(
            call_taken_over(along_plan=1, mpi_seconds=0.00155, saved_seconds=-0.25))))
        self.assertIn("</span>: lost about 250.0\u00a0ms in set-ups and 1 exchange.</p>", text)

        text = report(self.folder, self.write("unused.json", lines_of(
            call_taken_over(along_plan=0, mpi_seconds=0, saved_seconds=-0.25))))
        self.assertIn("</span>: no exchange followed a plan; set-ups took about 250.0\u00a0ms.</p>", text)

    def test_CallsThatWereTriedAreDrawn(self):
        self.assertEqual(self.page.figures, ["calls"])
        self.assertEqual([name for name in self.page.ids if name.startswith(("figure1-mpi", "figure1-route"))],
                         ["figure1-mpi-1", "figure1-route-1", "figure1-mpi-3", "figure1-route-3"])

        text = report(self.folder, self.write("untried.json", lines_of(self.calls[1])))
        self.assertEqual(Reader(text).figures, [])

    def test_StandsBesideOtherKinds(self):
        page = Reader(report(self.folder, self.write("calls.json", lines_of(*self.calls)), BENCH))

        self.assertEqual(page.headings,
                         ["Measured time by contender", "Calls that the drop-in took over", "Results read"])


class ReportOnWhatIsNoResult(InFolder):
    def refuse(self, sentence, *files):
        output = self.folder / "refused.html"
        super().refuse(sentence, "report", *files, "-o", output)
        self.assertFalse(output.exists())

    def test_UnknownSchema(self):
        unknown = self.write("plan.json", {"schema": "crossdock.plan/1"})
        self.refuse(f'{unknown}: unknown schema "crossdock.plan/1"; a report reads {KNOWN}', BENCH,
                    unknown)
        for record in ({}, [1, 2], 3):
            file = self.write("none.json", record)
            self.refuse(f"{file}: there is no schema; a report reads {KNOWN}", file)

    def test_DrawingThatDoesMoreThanShowItself(self):
        for inside in ("<script>1</script>", '<a onclick="1"/>', '<image href="https://somewhere.org/a.png"/>',
                       "<foreignObject/>"):
            file = self.write("plan.svg", f'<svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>')
            self.refuse(f"{file} is no drawing of crossdock draw", file)
        file = self.write("half.svg", "<svg><g>")
        self.refuse(f"{file} is no SVG", file)

    def test_FileThatIsNoJson(self):
        file = self.write("text.json", '{"schema": ')
        self.refuse(f"{file} is not JSON", file)
        self.refuse("cannot open /no/such.json", "/no/such.json")

    def test_LinesThatAreNotTheDropIns(self):
        line = json.dumps(call_taken_over())
        for content, at in [(f"{line}\n{line[:-20]}", 2), (f"{line[:-20]}\n{line}\n", 1), (f"{line}\n\n{line}\n", 2),
                            (f"{line}\n{json.dumps(simulation(64, simulated_seconds(1, 2, 3)))}\n", 2),
                            (json.dumps(simulation(64, simulated_seconds(1, 2, 3))) + f"\n{line}\n", 1)]:
            file = self.write("calls.json", content)
            self.refuse(f"{file}: line {at} is no record of crossdock.drop_in/1, and other lines are", file)
        file = self.write("calls.json", line[:-20])
        self.refuse(f"{file} is not JSON", file)
        for change, sentence in [
                ({"calls": "3"}, 'the field "calls" is no number'),
                ({"plan": {"route": "direct"}}, 'the field "is_used" is missing'),
                ({"plan": 3}, "a field has another type than crossdock.drop_in/1 gives it")]:
            file = self.write("calls.json", lines_of(call_taken_over(), call_taken_over(**change)))
            self.refuse(f"{file}: {sentence}", file)

    def test_LinesThatAreNotTheLibrarys(self):
        line = json.dumps(reported_object())
        file = self.write("objects.jsonl", f"{line}\n{line[:-20]}\n")
        self.refuse(f"{file}: line 2 is no record of crossdock.report/1, and other lines are", file)
        file = self.write("objects.jsonl", lines_of(reported_object(seconds={})))
        self.refuse(f'{file}: the field "exchange" is missing', file)

    def test_FileThatIsEmpty(self):
        for content in ("", "\n"):
            file = self.write("empty.json", content)
            self.refuse(f"{file} is empty", file)

    def test_FieldsThatAreWrong(self):
        for change, sentence in [
                ({"machine": None}, 'the field "machine" is no text'),
                ({"ranks": "64"}, 'the field "ranks" is no positive number'),
                ({"routes": []}, 'the field "routes" is empty'),
                ({"routes": 3}, "a field has another type than crossdock.simulate/1 gives it"),
                ({"routes": [{"route": "direct"}]}, 'the field "dedup" is missing')]:
            file = self.write("wrong.json", simulation(64, simulated_seconds(1, 2, 3)) | change)
            self.refuse(f"{file}: {sentence}", file)

if __name__ == "__main__":
    unittest.main()
