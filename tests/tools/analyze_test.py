"""crossdock analyze: exact figures, without MPI."""

import json
import unittest

from command_line import DATA, TESTS, crossdock, crossdock_json

EXPECTED = json.loads((TESTS.parent / "golden/traffic_small.json").read_text())


def analyze(file, ranks, topology, *more):
    return crossdock_json("analyze", file, "--ranks", ranks, "--topology", topology, *more)


def key(report):
    return report["route"] + ("+dedup" if report["dedup"] else "")


class Analyze(unittest.TestCase):
    def check_subset(self, expected, found, where):
        if isinstance(expected, dict):
            for name, value in expected.items():
                self.check_subset(value, found[name], f"{where} {name}")
        else:
            self.assertEqual(found, expected, where)

    def test_FiguresAreThoseKnown(self):
        for case in EXPECTED:
            routes = ",".join(dict.fromkeys(name.removesuffix("+dedup") for name in case["routes"]))
            file = DATA / (case["matrix"] + ".mtx.gz")

            found = analyze(file, case["ranks"], case["topology"], "--routes", routes)

            reports = {key(report): report["total"] for report in found["routes"]}
            for route, total in case["routes"].items():
                self.check_subset(total, reports[route], f"{case['matrix']} {case['ranks']} {route}")

    def test_DocumentHasTheFieldsOfItsSchema(self):
        found = analyze(DATA / "D_10.mtx.gz", 16, "4x4", "--routes", "two_step")

        self.assertEqual(found["schema"], "crossdock.analyze/1")
        self.assertEqual((found["ranks"], found["regions"], found["partition"]), (16, 4, "block"))
        self.assertEqual([key(r) for r in found["routes"]], ["two_step", "two_step+dedup"])
        report = found["routes"][1]
        self.assertEqual(len(report["stages"]), 2)
        self.assertEqual(report["buffer_items"], {"max": 863, "mean": 672.5})
        spread = {"total", "max", "mean"}
        for counted in [*report["stages"], report["total"]]:
            self.assertEqual(set(counted), {"messages", "items", "inter_region"})
            self.assertEqual(set(counted["messages"]), spread)
            self.assertEqual(set(counted["inter_region"]["items"]), spread)
        sent = [stage["items"]["total"] for stage in report["stages"]]
        self.assertEqual(sum(sent), report["total"]["items"]["total"])
        self.assertEqual(report["total"]["messages"]["mean"], 140 / 16)

    def test_NoDedupLeavesOutDeduplicatedPlans(self):
        found = analyze(DATA / "D_10.mtx.gz", 16, "4x4", "--routes", "all", "--no-deduplicate")

        self.assertFalse(any(report["dedup"] for report in found["routes"]))
        self.assertIn("grid:3", [report["route"] for report in found["routes"]])

    def test_DensePatternSendsOneMessageBetweenAnyTwoRanks(self):
        found = analyze("dense:3", 8, "2x4", "--routes", "direct,three_step")

        totals = {key(report): report["total"] for report in found["routes"]}
        self.assertEqual(totals["direct"]["messages"]["total"], 8 * 7)
        self.assertEqual(totals["direct"]["items"]["total"], 8 * 7 * 3)
        self.assertEqual(totals["three_step"]["inter_region"]["items"]["total"], 2 * 16 * 3)
        self.assertEqual(totals["three_step+dedup"]["inter_region"]["items"]["total"], 2 * 4 * 3)
        self.assertEqual(totals["three_step+dedup"]["inter_region"]["messages"]["total"], 2)

    def test_RandomPatternHasAsManyPartnersAsAskedFor(self):
        found = analyze("random:3", 8, "2x4", "--routes", "direct", "--no-deduplicate")

        total = found["routes"][0]["total"]
        self.assertEqual((total["messages"]["total"], total["items"]["total"]), (8 * 3, 8 * 3))
        self.assertEqual(found["routes"], analyze("random:3", 8, "2x4", "--routes", "direct",
                                                  "--no-deduplicate")["routes"])

    def test_NamedGridsAreCountedIfAskedFor(self):
        every = analyze("dense:3", 16, "2x8", "--routes", "all", "--no-deduplicate")
        named = analyze("dense:3", 16, "2x8", "--routes", "equal:3,increase,hourglass", "--no-deduplicate")

        self.assertNotIn("increase", [report["route"] for report in every["routes"]])
        sent = {report["route"]: report["total"]["messages"]["total"] for report in named["routes"]}
        self.assertEqual(sent, {"equal:3": 16 * (3 + 1 + 1), "increase": 16 * (1 + 7),
                                "hourglass": 16 * (3 + 3)})

    def test_SixteenThousandRanksNeedNoMpirun(self):
        found = analyze(DATA / "bcspwr10.mtx.gz", 16384, "1024x16", "--routes", "direct,three_step")

        self.assertEqual((found["ranks"], found["regions"]), (16384, 1024))
        self.assertEqual(len(found["routes"]), 4)

    def test_TableHasOneLinePerPlan(self):
        done = crossdock("analyze", DATA / "D_10.mtx.gz", "--ranks", 16, "--topology", "4x4",
                         "--routes", "two_step")

        lines = [line.split() for line in done.stdout.splitlines() if line.startswith("two_step")]
        self.assertEqual(lines[0], "two_step no 2 140 9 6857 509 48 3 3276 275 1094".split())
        self.assertEqual(lines[1], "two_step yes 2 140 9 5380 416 48 3 1799 141 863".split())


if __name__ == "__main__":
    unittest.main()
