"""crossdock draw: what is in the pictures, and what the scripts are handed."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from command_line import DATA, TESTS, InFolder, crossdock, crossdock_json

sys.path.append(str(TESTS.parent / "docs"))
import drawings

MATRIX = DATA / "msc01050.mtx.gz"
EIGHT_RANKS = ("--ranks", 8, "--topology", "2x4")
# Stands for draw_plan.py, and prints what it is handed.
COPY_INPUT = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n"


class WithScripts(InFolder):
    def script(self, text, folder="plots"):
        """The environment in which `text` is run in the place of draw_plan.py."""
        (self.folder / folder).mkdir(parents=True)
        (self.folder / folder / "draw_plan.py").write_text(text)
        return {"CROSSDOCK_PLOTS": str(self.folder / folder)}

    def draw(self, *arguments, name="plan.svg", environment=None):
        output = self.folder / name
        done = crossdock("draw", *arguments, "-o", output, environment=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"{output}\n")
        return output.read_bytes()

    def handed(self, *arguments):
        return json.loads(self.draw(*arguments, environment=self.script(COPY_INPUT)))


class Draw(WithScripts):
    def test_EveryMessageIsAnArrow(self):
        counted = crossdock_json("analyze", MATRIX, *EIGHT_RANKS, "--routes", "three_step")

        picture = self.draw(MATRIX, *EIGHT_RANKS).decode()

        arrows = collections.Counter(re.findall(r'id="message-(\w+)-stage(\d)-\d-\d"', picture))
        self.assertEqual(arrows, {("inside", "0"): 23, ("between", "1"): 2, ("inside", "2"): 6})
        stages = counted["routes"][1]["stages"]
        self.assertEqual([stage["messages"]["total"] for stage in stages], [23, 2, 6])
        self.assertIn(">23 messages, 2,162 items</text>", picture)
        self.assertIn(">three_step, deduplicated</text>", picture)
        self.assertIn(">2 messages between regions</text>", picture)
        ids = re.findall(r'\bid="([^"]*)"', picture)
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(sum(name.startswith("region-0-stage0-") for name in ids), 2)

    def test_TextLiesWithinTheFrame(self):
        long = self.folder / f"{'long' * 40}.mtx.gz"
        shutil.copy(MATRIX, long)
        for words in ((long, *EIGHT_RANKS), (MATRIX, "--ranks", 512, "--topology", "32x16", "--route", "hypercube"),
                      ("dense:1", "--ranks", 2, "--topology", "2x1")):
            with self.subTest(words=words):
                self.assertEqual(drawings.texts_beyond_frame(self.draw(*words)), [])

    def test_NeedsNoHome(self):
        without = {"HOME": "/dev/null", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "", "MPLCONFIGDIR": ""}

        picture = self.draw("dense:1", "--ranks", 2, "--topology", "2x1", environment=without)

        self.assertTrue(picture.startswith(b"<?xml"))

    def test_WithoutDedupItemsTravelOncePerDestination(self):
        data = self.handed(MATRIX, *EIGHT_RANKS, "--no-deduplicate", "--route", "two_step")

        self.assertEqual((data["route"], data["dedup"]), ("two_step", False))
        self.assertEqual([stage["items"] for stage in data["stages"]], [3821, 1622])

    def test_RanksStandByTheirRegions(self):
        data = self.handed("dense:3", "--ranks", 4, "--topology", "cyclic:2x2", "--route", "direct")

        self.assertEqual([place["rank"] for place in data["places"]], [0, 2, 1, 3])
        self.assertEqual([place["region"] for place in data["places"]], [0, 0, 1, 1])
        every_pair = [[a, b, 3] for a in range(4) for b in range(4) if a != b]
        self.assertEqual([sorted(stage["sends"]) for stage in data["stages"]], [every_pair])
        self.assertEqual(data["sent"], {
            "messages": [3] * 4, "items": [9] * 4, "inter_region_messages": [2] * 4,
            "inter_region_items": [6] * 4})
        self.assertEqual((data["route"], data["dedup"], data["topology"], data["ranks_per_cell"]),
                         ("direct", True, "cyclic:2x2", 0))

    def test_MoreThan32RanksAreAMatrix(self):
        ranks, cells_of = 300, 3
        data = self.handed("dense:1", "--ranks", ranks, "--topology", "100x3", "--route", "direct")

        self.assertEqual(data["ranks_per_cell"], cells_of)
        inside, between = [], []
        for row, column, items, between_regions in data["stages"][0]["cells"]:
            (inside if row == column else between).append((items, between_regions))
        self.assertEqual(inside, [(6, 0)] * 100)
        self.assertEqual(between, [(9, 9)] * (100 * 99))
        self.assertEqual(data["stages"][0]["messages"], ranks * (ranks - 1))

    def test_SixteenThousandRanksAreASmallPicture(self):
        picture = self.draw(DATA / "bcspwr10.mtx.gz", "--ranks", 16384, "--topology", "1024x16").decode()

        self.assertEqual(re.findall(r'id="(matrix-stage\d)"', picture),
                         ["matrix-stage0", "matrix-stage1", "matrix-stage2"])
        self.assertEqual(re.findall(r'id="(sent-\w+)"', picture), ["sent-messages", "sent-items"])
        self.assertNotIn("message-", picture)
        self.assertIn(">items per 128 x 128 ranks, between regions</text>", picture)
        self.assertLess(len(picture), 250_000)

    def test_SameCallsGiveTheSameFile(self):
        first = self.draw("dense:1", "--ranks", 4, "--topology", "2x2", name="first.svg")

        self.assertEqual(first, self.draw("dense:1", "--ranks", 4, "--topology", "2x2"))
        self.assertTrue(first.startswith(b"<?xml"))

    def test_SuffixChoosesTheFormat(self):
        pdf = self.draw("dense:1", "--ranks", 4, "--topology", "2x2", name="plan.pdf")
        png = self.draw("dense:1", "--ranks", 4, "--topology", "2x2", name="plan.png")

        self.assertTrue(pdf.startswith(b"%PDF-"))
        self.assertNotIn(b"CreationDate", pdf)
        self.assertTrue(png.startswith(b"\x89PNG"))

    def test_OneRankSendsNothing(self):
        picture = self.draw(MATRIX, "--ranks", 1, "--topology", "1", "--route", "direct").decode()

        self.assertIn(">0 messages, 0 items</text>", picture)

    def test_FirstProcessAloneDraws(self):
        environment = self.script(COPY_INPUT)
        output = self.folder / "plan.svg"

        done = crossdock("draw", MATRIX, *EIGHT_RANKS, "-o", output, ranks=3, environment=environment)

        self.assertEqual((done.returncode, done.stdout), (0, f"{output}\n"))


class DrawWhatCannotBe(WithScripts):
    def refuse(self, sentence, *arguments, environment=None):
        super().refuse(sentence, "draw", *arguments, environment=environment)

    def test_UnknownSuffix(self):
        done = crossdock("draw", MATRIX, *EIGHT_RANKS, "-o", "plan.txt")

        self.assertEqual(done.returncode, 2)
        self.assertIn("--output: plan.txt ends in none of .svg, .pdf, .png\n", done.stderr)

    def test_WorkloadThatIsNone(self):
        self.refuse("cannot open /no/such.mtx", "/no/such.mtx", *EIGHT_RANKS)
        self.refuse('topology "2x2" describes 4 ranks, but there are 8', MATRIX, "--ranks", 8,
                    "--topology", "2x2")
        self.refuse("grid:1x2 has too few places for 8 ranks; give larger sides", MATRIX, *EIGHT_RANKS, "--route",
                    "grid:1x2")

    def test_NoPython(self):
        self.refuse("/no/such/python is missing; pictures need the package python3-matplotlib", MATRIX,
                    *EIGHT_RANKS, environment={"CROSSDOCK_PYTHON": "/no/such/python"})

    def test_NoMatplotlib(self):
        python = self.folder / "python"
        python.write_text('#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')  # without installed packages
        python.chmod(0o755)

        self.refuse(f"{python} has no matplotlib; pictures need the package python3-matplotlib", MATRIX,
                    *EIGHT_RANKS, environment={"CROSSDOCK_PYTHON": str(python)})

    def test_NoScripts(self):
        self.refuse(f"draw_plan.py is not in {self.folder}; CROSSDOCK_PLOTS may name its folder", MATRIX,
                    *EIGHT_RANKS, environment={"CROSSDOCK_PLOTS": str(self.folder)})

    def test_ScriptThatFails(self):
        self.refuse("draw_plan.py failed with exit code 7", MATRIX, *EIGHT_RANKS,
                    environment=self.script("raise SystemExit(7)\n"))
        self.refuse("draw_plan.py was ended by signal 9", MATRIX, *EIGHT_RANKS, environment=self.script(
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "killed"))

    def test_ScriptThatReadsNothing(self):
        done = crossdock("draw", "dense:1", "--ranks", 300, "--topology", "100x3", "-o",
                         self.folder / "plan.svg", environment=self.script(""))

        self.assertEqual((done.returncode, done.stderr), (0, ""))


class InstalledScripts(WithScripts):
    def test_AreFoundFromTheProgram(self):
        program = self.folder / "bin/crossdock"
        program.parent.mkdir()
        for suffix in ("", "-analyze"):
            shutil.copy(os.environ["CROSSDOCK_TOOL"] + suffix, f"{program}{suffix}")
        self.script(COPY_INPUT, "share/crossdock/plots")
        output = self.folder / "plan.svg"

        subprocess.run([program, "draw", MATRIX, *map(str, EIGHT_RANKS), "-o", output], check=True,
                       stdout=subprocess.DEVNULL)

        self.assertEqual(json.loads(output.read_text())["ranks"], 8)

    def test_SayWhatBuildsTheVerbsThatAreMissing(self):
        programs = self.folder / "tools/crossdock"
        programs.mkdir(parents=True)
        shutil.copy(os.environ["CROSSDOCK_TOOL"], programs)

        def said(verb):
            done = subprocess.run([programs / "crossdock", verb, MATRIX], check=False, capture_output=True, text=True,
                                  cwd=self.folder)
            self.assertEqual(done.returncode, 2)
            return done.stderr

        self.assertEqual(said("draw"),
                         "crossdock: draw is not installed: crossdock-analyze belongs beside this program\n")
        (self.folder / "CMakeCache.txt").touch()
        for verb, target in (*((verb, "analyze") for verb in ("draw", "simulate", "analyze", "report", "export")),
                             ("bench", "bench"), ("calibrate", "bench")):
            self.assertEqual(said(verb), f"crossdock: {verb} is not built; this builds it: "
                                         f"cmake --build . --target crossdock_{target}\n")


if __name__ == "__main__":
    unittest.main()
