"""crossdock export: schedules and plans for other programs."""

import json
import pathlib
import re
import tempfile
import unittest

from command_line import DATA, TESTS, crossdock, crossdock_json

MATRIX = DATA / "D_10.mtx.gz"
MACHINE = TESTS / "golden/machine-round.json"
BAD_INPUT = 2


def export(file, ranks, topology, *more):
    return crossdock("export", file, "--ranks", ranks, "--topology", topology, *more)


class Export(unittest.TestCase):
    def test_GoalHasEveryMessageAndEveryCopy(self):
        """A copy of an item takes 0.0008 + 0.001 us, which is 2 ns."""
        done = export("dense:1", 2, "2x1", "--route", "direct", "--format", "goal", "--machine", MACHINE)

        ranks = [f"rank {here} {{\nl1: calc 2\nl2: send 8b to {other} tag 0\nl2 requires l1\n"
                 f"l3: recv 8b from {other} tag 0\nl4: calc 2\nl4 requires l3\n}}\n"
                 for here, other in ((0, 1), (1, 0))]
        self.assertEqual(done.stdout, "// made by crossdock for round; times in nanoseconds, parameters as LogGOPSim "
                         "takes them\n// between nodes (messages: 2): -L 1000 -o 300 -g 0 -G 0.16 -O 0 -S 8192\n"
                         "num_ranks 2\n" + "".join(ranks))

    def test_PicosecondsMakeWholeNumbers(self):
        done = export("dense:1", 2, "2x1", "--route", "direct", "--format", "goal", "--machine", MACHINE, "--unit",
                      "ps")

        self.assertEqual(done.stdout.splitlines()[:5],
                         ["// made by crossdock for round; times in picoseconds, parameters as LogGOPSim takes them",
                          "// between nodes (messages: 2): -L 1000000 -o 300000 -g 0 -G 160 -O 0 -S 8192",
                          "num_ranks 2", "rank 0 {", "l1: calc 1800"])

    def test_PageShowsTheHead(self):
        done = export("dense:1", 64, "8x8", "--route", "direct", "--format", "goal")

        page = (TESTS.parent.parent / "satellites/simulator/docs/simulator.md").read_text()
        self.assertIn("".join(f"    {line}\n" for line in done.stdout.splitlines()[:3]), page)

    def test_HeadHasTheMessagesOfEachLocality(self):
        done = export(MATRIX, 16, "4x4", "--route", "three_step", "--format", "goal")
        counted = crossdock_json("analyze", MATRIX, "--ranks", 16, "--topology", "4x4", "--routes",
                                 "three_step")["routes"][1]["total"]

        numbers = dict(re.findall(r"^// (inside regions|between nodes) \(messages: (\d+)\): -L ", done.stdout, re.M))
        self.assertEqual(int(numbers["between nodes"]), counted["inter_region"]["messages"]["total"])
        self.assertEqual(sum(map(int, numbers.values())), counted["messages"]["total"])

    def test_GoalHasTheMessagesThatAnalyzeCounts(self):
        for dedup in (True, False):
            done = export(MATRIX, 16, "4x4", "--route", "three_step", "--format", "goal",
                          *([] if dedup else ["--no-deduplicate"]))
            counted = crossdock_json("analyze", MATRIX, "--ranks", 16, "--topology", "4x4", "--routes",
                                     "three_step")["routes"][1 if dedup else 0]["total"]

            sent = re.findall(r": send (\d+)b to ", done.stdout)
            received = re.findall(r": recv (\d+)b from ", done.stdout)
            self.assertEqual(len(sent), counted["messages"]["total"])
            self.assertEqual(sum(map(int, sent)), 8 * counted["items"]["total"])
            self.assertEqual(sorted(sent), sorted(received))

    def test_PlansAreOneInEachLine(self):
        done = export(MATRIX, 16, "4x4", "--route", "two_step", "--format", "json")

        plans = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([plan["rank"] for plan in plans], list(range(16)))
        self.assertEqual({plan["schema"] for plan in plans}, {"crossdock.plan/1"})

    def test_FileHasWhatIsPrintedOtherwise(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "exchange.goal"
            arguments = (MATRIX, 16, "4x4", "--route", "grid:2", "--format", "goal")

            done = export(*arguments, "-o", file)

            self.assertEqual((done.returncode, done.stdout), (0, ""))
            self.assertEqual(file.read_text(), export(*arguments).stdout)
            self.assertEqual([entry.name for entry in file.parent.iterdir()], ["exchange.goal"])


class BadInput(unittest.TestCase):
    def refuse(self, sentence, *arguments):
        done = export(*arguments)

        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertEqual(done.stderr, f"crossdock: {sentence}\n")
        self.assertEqual(done.stdout, "")

    def test_FileThatCannotBeWritten(self):
        self.refuse("cannot write /no/such/file: No such file or directory", MATRIX, 3, "1,2", "--route", "direct",
                    "--format", "json", "-o", "/no/such/file")

    def test_SeveralLevels(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "part.txt").write_text(
                "level 0 rows 2 ranks 2 starts 0 1 2\nlevel 1 rows 2 ranks 2 starts 0 1 2\n")

            self.refuse(f"amg:{folder} has 2 levels; amg:{folder}:0 is the first one", f"amg:{folder}", 2,
                        "2x1", "--route", "direct", "--format", "goal")


if __name__ == "__main__":
    unittest.main()
