"""crossdock try: its page, the record in it, and what it is told about."""

import copy
import html.parser
import json
import unittest

import browser
import html_page
from command_line import BAD_INPUT, DATA, InFolder, crossdock

MPI = ["mpi_persistent", "mpi_neighbor_alltoallv", "mpi_neighbor_alltoallv_init"]
QUICK = ["--calibrate-seconds", "0.01", "--iterations", "2"]
GIVEN = ["--machine", "generic_100g", "--iterations", "2"]
VOID = {"meta", "rect", "path"}


class Page(html.parser.HTMLParser):
    """That elements nest, and what is in the script."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.bars, self.links, self.script = [], [], [], [], ""
        self.text, self.columns = text, text.partition("</thead>")[0].count("<th>")
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [attributes[name] for name in ("src", "href") if name in attributes]
        if tag == "rect":
            self.bars.append(attributes["class"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID and self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.script += data

    @property
    def document(self):
        return json.loads(self.script)


class Try(InFolder):
    def try_(self, *arguments, ranks, environment=None):
        page = self.folder / "try.html"
        done = crossdock("try", *arguments, "-o", page, ranks=ranks, environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        read = Page(page.read_text(encoding="utf-8"))
        self.assertEqual((read.open, read.faults, read.links), ([], [], []))
        return done, read

    def write_pattern(self, name="ring", ranks=4, item_bytes=24):
        """Rank p sends its one item to rank p + 1."""
        rows = "".join(f"{(p + 1) % ranks + 1} {p + 1}\n" for p in range(ranks))
        (self.folder / f"{name}.mtx").write_text(
            "%%MatrixMarket matrix coordinate pattern general\n"
            f"% items of {item_bytes} bytes\n{ranks} {ranks} {ranks}\n{rows}")
        (self.folder / f"{name}.owners").write_text("".join(f"{p}\n" for p in range(ranks)))
        return self.folder / f"{name}.mtx"

    def check_contenders(self, pattern):
        names = [one["name"] for one in pattern["contenders"]]
        candidates = [one["route"] for one in pattern["choice"]["candidates"]]
        left_out = [one["name"] for one in pattern["left_out"]]
        expected = [name for name in MPI if name not in left_out] + ["direct"]
        self.assertEqual(names, expected + [name for name in candidates if name != "direct"][:3])
        for one in pattern["contenders"]:
            self.assertIs(one["verified"], True, one["name"])
            ordered = [one["exchange_seconds"][q]
                       for q in ("min", "lower_quartile", "median", "upper_quartile", "max")]
            self.assertEqual(ordered, sorted(ordered))

    def test_MeasuresEverythingInTheRegionsThatAreSaid(self):
        done, page = self.try_(DATA / "msc01050.mtx.gz", "--topology", "2x4", *QUICK, ranks=8)

        found = page.document
        pattern, = found["patterns"]
        self.assertEqual((found["schema"], found["ranks"], found["topology"], found["regions"], found["hosts"]),
                         ("crossdock.try/1", 8, "2x4", 2, 1))
        self.assertIs(found["is_calibrated"], True)
        self.assertEqual(found["machine"]["schema"], "crossdock.machine/1")
        self.check_contenders(pattern)
        self.assertEqual(pattern["iterations"], 2)
        self.assertEqual([(one["messages"], one["inter_region_messages"], one["items"])
                          for one in pattern["contenders"] if one["name"] in (*MPI, "direct")],
                         [(50, 28, 3821)] * (4 - len(pattern["left_out"])))
        self.assertIn(found["outcome"], ("gain", "no_gain", "undecided"))
        self.assertEqual(found["text"], pattern["finding"]["text"])
        self.assertEqual(done.stdout.splitlines()[-1], str(self.folder / "try.html"))
        self.assertTrue(done.stdout.startswith(found["text"]))
        cluster = ("estimated on 4 nodes of 16: two_step, 3.67 times as fast as direct (machine generic_100g, topology "
                   "4x16, items of 8 bytes, ranks of a node share memory)")
        self.assertEqual(pattern["cluster_estimate"], cluster)
        self.assertEqual(done.stdout.splitlines()[-2], cluster)
        self.assertIn("All ranks are on one machine, which the regions 2x4 divide: no message crosses a network.",
                      found["warnings"])
        num_mpi = 3 - len(pattern["left_out"])
        self.assertEqual(page.bars, ["mpi"] * num_mpi + ["route"] * (len(pattern["contenders"]) - num_mpi))

    def test_AdviceIsForWhatWasMeasured(self):
        # Whether there is a gain is the machine's matter; the texts have a test of their own.
        for more, environment, of_environment, of_run in [
                ([], {}, "", ""),
                (["--topology", "2x2"], {"CROSSDOCK_EXECUTOR": "persistent", "CROSSDOCK_TOPOLOGY": "1x4"},
                 " CROSSDOCK_TOPOLOGY=2x2 CROSSDOCK_EXECUTOR=persistent", " --topology 2x2 --executor persistent"),
                ([], {"CROSSDOCK_TOPOLOGY": "1,3"}, " CROSSDOCK_TOPOLOGY=1,3", " --topology 1,3"),
                (["--nodes", "4x1"], {}, None, None)]:
            _, page = self.try_("dense:4", *more, *GIVEN, ranks=4, environment=environment)

            pattern, = page.document["patterns"]
            advice, route = pattern["advice"], pattern["finding"]["route"]
            if pattern["finding"]["outcome"] != "gain":
                self.assertIsNone(advice)
            elif of_environment is None:
                self.assertEqual((advice["environment"], advice["drop_in"]), (None, None))
                self.assertIn('.nodes = "4x1"', advice["cxx"])
            else:
                self.assertEqual(advice["environment"], f"CROSSDOCK_ROUTE={route}{of_environment}")
                self.assertEqual(advice["drop_in"], f"crossdock run --route {route}{of_run} -- mpirun -n 4 ./program")

    def test_TheMachineOfTheEnvironmentIsTaken(self):
        _, page = self.try_(self.write_pattern(), "--iterations", 2, ranks=4,
                            environment={"CROSSDOCK_MACHINE": "quartz"})

        self.assertIs(page.document["is_calibrated"], False)
        self.assertEqual(page.document["machine"]["name"], "quartz")

    def test_OneRankHasNothingToGain(self):
        done, page = self.try_(DATA / "D_10.mtx.gz", *QUICK, ranks=1)

        found = page.document
        self.assertEqual((found["outcome"], found["is_calibrated"]), ("nothing_sent", False))
        self.assertIsNone(found["patterns"][0]["advice"])
        self.assertTrue(done.stdout.startswith("No rank sends anything to another: there is nothing to gain."))

    def test_PatternOfAProgram(self):
        file = self.write_pattern()

        _, page = self.try_(file, "--topology", "2x2", *GIVEN, ranks=4)

        pattern, = page.document["patterns"]
        self.assertEqual((pattern["file"], pattern["partition"], pattern["item_bytes"]),
                         (str(file), str(file.with_suffix(".owners")), 24))
        self.assertIs(page.document["is_calibrated"], False)
        self.assertEqual(page.document["machine"]["name"], "generic_100g")
        self.check_contenders(pattern)
        self.assertEqual([pattern["contenders"][0][count] for count in ("messages", "items", "inter_region_messages")],
                         [4, 4, 2])

    def test_FolderOfPatterns(self):
        files = [self.write_pattern(name) for name in ("graph0.0", "graph0.1")]
        (self.folder / "other.mtx").write_text("no pattern")

        _, page = self.try_(self.folder, "--item-bytes", 8, *GIVEN, ranks=4)

        self.assertEqual([one["file"] for one in page.document["patterns"]], [str(file) for file in files])
        for pattern in page.document["patterns"]:
            self.check_contenders(pattern)
            self.assertEqual(pattern["item_bytes"], 8)

    def test_TheEnvironmentNamesNoRoute(self):
        _, page = self.try_(self.write_pattern(), *GIVEN, ranks=4,
                            environment={"CROSSDOCK_FORCE_ROUTE": "two_step", "CROSSDOCK_ROUTE": "hypercube"})

        for one in page.document["patterns"][0]["contenders"]:
            self.assertEqual(one["routes"], [] if one["name"] in MPI else [one["name"]])

    def test_JsonIsThatOfThePage(self):
        done, page = self.try_(self.write_pattern(), "--json", *GIVEN, ranks=4)

        self.assertEqual(json.loads(done.stdout), page.document)

    def test_StandardOutputHasThePageAlone(self):
        file = self.write_pattern()

        for ranks in (None, 4):
            done = crossdock("try", file if ranks else "dense:1", *GIVEN, "-o", "/dev/stdout", ranks=ranks)

            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith("<!DOCTYPE html>\n"), done.stdout[:200])
            self.assertTrue(done.stdout.endswith("</html>\n"), done.stdout[-200:])
            self.assertIn("crossdock: " + Page(done.stdout).document["text"], done.stderr)
        self.refuse("standard output cannot have both the page and --json: name another -o", file, *GIVEN, "--json",
                    "-o", "/dev/stdout")

    def test_NothingScrollsSidewaysInAWindowOf1100Pixels(self):
        _, page = self.try_(self.write_pattern("a" * 150), "--topology", "list:" + ",".join("01" * 8), "--nodes",
                            "1x16", *GIVEN, ranks=16)

        # Seven columns; in a browser they can be measured.
        self.assertEqual(page.columns, 7)
        if found := browser.find():
            for text in (page.text, page.text.replace("</small></td>", "000</small></td>")):
                widths = browser.widths(found, text, 1100)
                self.assertLessEqual(widths["page"], 1100)
                self.assertEqual([part for part in widths["parts"] if part[0] > part[1]], [])

    def test_NamesAreEscaped(self):
        file = self.write_pattern("a<b>&amp;<script>")

        _, page = self.try_(file, *GIVEN, ranks=4)

        self.assertEqual(page.document["file"], str(file))

    def test_OtherVerbsReadThePattern(self):
        file = self.write_pattern()
        division = ["--ranks", 4, "--topology", "2x2"]

        counted = json.loads(crossdock("analyze", file, *division, "--json").stdout)
        self.assertEqual(counted["partition"], str(file.with_suffix(".owners")))
        self.assertEqual(counted["routes"][0]["total"]["messages"]["total"], 4)
        for verb in (["explain"], ["simulate"], ["export", "--route", "direct", "--format", "goal", "-o",
                                                  self.folder / "ring.goal"]):
            done = crossdock(verb[0], file, *division, *verb[1:])
            self.assertEqual(done.returncode, 0, done.stderr)
        bench = crossdock("bench", "neighbor", file, "--iterations", 1, "--warm-ups", 0, "--set-ups", 1, "--baselines",
                          "mpi_persistent", "--routes", "direct", "--json", ranks=4)
        self.assertEqual(json.loads(bench.stdout)["contenders"][0]["messages"], 4)

    def test_ReportReadsTheRecord(self):
        done, _ = self.try_(self.write_pattern(), "--json", *GIVEN, ranks=4)
        (self.folder / "try.json").write_text(done.stdout)

        report = crossdock("report", self.folder / "try.json", "-o", self.folder / "report.html")

        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn("crossdock.try/1", (self.folder / "report.html").read_text())

    def test_ReportSaysWhatTrySays(self):
        """Both of one measurement, whatever it is; and of one that is written by hand, with each decision."""
        done, _ = self.try_(self.write_pattern(), "--json", "--machine", "generic_100g", "--iterations", 40, ranks=4)
        measured = json.loads(done.stdout)
        finding = measured["patterns"][0]["finding"]
        self.assertEqual(finding["outcome"], finding["ratio"]["decision"])
        for outcome in ("gain", "no_gain", "undecided", None):
            found = copy.deepcopy(measured)
            pattern, = found["patterns"]
            if outcome is not None:
                pattern["finding"] |= {"outcome": outcome, "route": "direct"}
                for one in pattern["contenders"]:
                    one["ratio"] = {"median": 0.83, "lower": 0.8, "upper": 0.86, "decision": outcome}
            file = self.write("try.json", found)

            report = crossdock("report", file, "-o", self.folder / "report.html")

            self.assertEqual(report.returncode, 0, report.stderr)
            said, = html_page.Reader((self.folder / "report.html").read_text(encoding="utf-8")).findings
            ratio, = (one["ratio"] for one in pattern["contenders"] if one["name"] == pattern["finding"]["route"])
            begin = {"gain": "", "no_gain": "Nothing is gained: ", "undecided": "Undecided: "}[ratio["decision"]]
            route = pattern["finding"]["route"]
            executor, = (one["executor"] for one in pattern["contenders"] if one["name"] == route)
            needs = f"{ratio['median']:.2f} ({ratio['lower']:.2f} to {ratio['upper']:.2f})"
            self.assertEqual(said, f"{begin}{route}+dedup, {executor} needs {needs} of the time of "
                                   f"{pattern['finding']['mpi']}, the fastest that uses MPI alone.")
            if outcome is None:
                self.assertEqual(pattern["finding"]["ratio"], ratio)
                self.assertIn(f" takes {needs} times as long as the fastest that MPI offers", pattern["finding"]["text"])

    def refuse(self, sentence, *arguments, ranks=4):
        super().refuse(sentence, "try", *arguments, ranks=ranks)

    def test_BadInputIsSaidBeforeAnythingIsMeasured(self):
        page = self.folder / "try.html"
        self.refuse("cannot open /no/such.mtx", "/no/such.mtx", "-o", page)
        self.refuse("cannot write /no/such/try.html: No such file or directory", "dense:1", "-o", "/no/such/try.html")
        self.refuse(f"{self.folder} has no pattern, which is a file .mtx with its .owners", self.folder, "-o", page)
        self.refuse('topology "3x3" describes 9 ranks, but there are 4', "dense:1", "--topology", "3x3", "-o", page)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_APatternOfMoreRanksIsRefused(self):
        file = self.write_pattern(ranks=4)
        page = self.folder / "try.html"

        self.refuse(f"{file.with_suffix('.owners')}: owner 2 is 2, outside [0, 2)", file, "-o", page, ranks=2)

    def test_WrongUsage(self):
        done = crossdock("try", "dense:1", "--iterations", 0, ranks=2)

        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn("--iterations: 0 is not an integer in [1, 1000000000]", done.stderr)


if __name__ == "__main__":
    unittest.main()
