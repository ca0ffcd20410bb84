"""crossdock explain: the choice of a route without MPI."""

import pathlib
import re
import tempfile
import unittest

from command_line import DATA, crossdock, crossdock_json

MATRIX = DATA / "D_10.mtx.gz"
HIERARCHY = """level 0 rows 6 ranks 3 starts 0 2 4 6
0 1 2 0 1
2 1 1 0
level 1 rows 3 ranks 3 starts 0 1 2 3
0 2 1 0
"""


def explain(file, *more):
    return crossdock_json("explain", file, *more)


class Explain(unittest.TestCase):
    def test_CandidatesAreSortedByTheirPrice(self):
        found = explain("dense:3", "--ranks", 16, "--topology", "4x4", "--machine", "quartz")

        seconds = [candidate["seconds"] for candidate in found["candidates"]]
        self.assertEqual(seconds, sorted(seconds))
        self.assertEqual(found["route"], found["candidates"][0]["route"])
        self.assertLessEqual({"direct", "two_step", "three_step", "grid:2", "grid:3", "hypercube"},
                             {candidate["route"] for candidate in found["candidates"]})

    def test_DocumentSaysWhatItIsFor(self):
        found = explain(MATRIX, "--ranks", 8, "--topology", "2x4", "--nodes", "4x2", "--no-deduplicate",
                        "--item-bytes", 16, "--executor", "persistent")

        del found["candidates"], found["route"]
        self.assertEqual(found, {"schema": "crossdock.explain/1", "file": str(MATRIX), "ranks": 8,
                                 "topology": "2x4", "nodes": "4x2", "partition": "block",
                                 "machine": "generic_100g", "item_bytes": 16, "dedup": False,
                                 "executor": "persistent", "replayed": 0})

    def test_TableNamesItsAssumptions(self):
        where = ("explain", MATRIX, "--ranks", 8, "--topology", "2x4", "--machine", "lassen")
        for executor, memory in (("auto", "ranks of a node share memory"), ("persistent", "messages inside nodes, too")):
            lines = crossdock(*where, "--executor", executor).stdout.splitlines()
            self.assertEqual(lines[:2], [f"{MATRIX}: 8 ranks in 2 regions (2x4) and 2 nodes, partition block",
                                         f"estimated for lassen, items of 8 bytes, {memory}"])

    def test_DirectIsAloneOnTwoRanks(self):
        found = explain("dense:1", "--ranks", 2, "--topology", "2x1")
        done = crossdock("explain", "dense:1", "--ranks", 2, "--topology", "2x1")

        self.assertEqual([one["route"] for one in found["candidates"]], ["direct"])
        self.assertEqual(done.stdout.splitlines()[-1], "direct is the only candidate.")

    def test_ReplayedCandidatesTakeWhatSimulateSays(self):
        where = (MATRIX, "--ranks", 64, "--topology", "16x4", "--machine", "quartz")
        found = explain(*where, "--executor", "persistent", "--replay", 3)

        self.assertEqual(found["replayed"], 3)
        routes = {one["route"]: one["seconds"] for one in found["candidates"]}
        estimated = explain(*where, "--executor", "persistent")
        names = ",".join(one["route"] for one in estimated["candidates"])
        simulated = [one for one in crossdock_json("simulate", *where, "--routes", names, "--executor",
                                                   "persistent")["routes"] if one["dedup"]]
        cheapest = sorted(simulated, key=lambda one: one["priced_seconds"])[:3]
        self.assertEqual(routes, {one["route"]: one["slowest_seconds"] for one in cheapest})

    def test_ReasonWithoutDirectIsTheNextRoute(self):
        done = crossdock("explain", "dense:1", "--ranks", 64, "--topology", "16x4", "--replay", 2)

        lines = done.stdout.splitlines()
        self.assertRegex(lines[1], "^replayed on generic_100g ")
        best, other = lines[4].split()[0], lines[5].split()[0]
        self.assertNotIn("direct", (best, other))
        self.assertRegex(lines[-1], f"^{best}: {other} would take [0-9.]+ times as long, mostly [a-z]+\\.$")

    def test_OneThatIsReplayedAloneHasTheLowestPrice(self):
        done = crossdock("explain", "dense:1", "--ranks", 8, "--topology", "2x4", "--replay", 1)

        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 6)
        self.assertEqual(lines[-1], f"{lines[4].split()[0]} has the lowest price.")

    def test_TableEndsWithTheReason(self):
        done = crossdock("explain", "dense:1", "--ranks", 64, "--topology", "16x4")

        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        best = lines[4].split()
        self.assertEqual(lines[3].split(), ["route", "us", "times", "the", "best", "mostly"])
        self.assertEqual(best[2], "1.00")
        self.assertNotEqual(best[0], "direct")
        self.assertRegex(lines[-1],
                         f"^{best[0]}: direct would take [0-9.]+ times as long, mostly [a-z]+\\.$")

    def test_TiesAreCalledTies(self):
        """Of two regions one member speaks, whatever the number of leaders."""
        done = crossdock("explain", "dense:1", "--ranks", 8, "--topology", "2x4", "--machine", "shared_cores")

        self.assertRegex(done.stdout.splitlines()[-1],
                         r"^three_step, which ties with three_step:1: direct would take 2\.[0-9]+ times as long, "
                         r"mostly latency\.$")

    def test_SimulateNamesTheSameRoute(self):
        for file, ranks, topology in [(MATRIX, 64, "4x16"), ("dense:1", 16, "4x4"), ("random:5", 48, "16,16,16")]:
            where = (file, "--ranks", ranks, "--topology", topology)
            done = crossdock("simulate", *where)

            self.assertEqual(re.search(r"^\* fastest: .*\. auto takes ([a-z0-9_:]+)[.,]", done.stdout, re.MULTILINE)[1],
                             explain(*where)["route"])

    def test_AssumedMachineIsSaid(self):
        where = ("dense:1", "--ranks", 4, "--topology", "2x2")
        assumed = crossdock("explain", *where).stdout.splitlines()[1]
        named = crossdock("explain", *where, "--machine", "generic_100g").stdout.splitlines()[1]

        self.assertTrue(assumed.startswith("estimated for generic_100g (assumed; name yours by --machine), "))
        self.assertTrue(named.startswith("estimated for generic_100g, items of 8 bytes"))

    def test_HierarchyHasAChoiceForEachLevel(self):
        division = ("--ranks", 3, "--topology", "1,2")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "part.txt").write_text(HIERARCHY)

            found = explain(f"amg:{folder}", *division)
            second = explain(f"amg:{folder}:1", *division)

        self.assertEqual([level["level"] for level in found["levels"]], [0, 1])
        self.assertEqual(found["levels"][1]["candidates"], second["levels"][0]["candidates"])

if __name__ == "__main__":
    unittest.main()
