"""bench/studies/vpt.py counts what the reference counts."""

import json
import unittest

import script

REFERENCE = script.PROJECT / "tests/golden/traffic_small.json"


class Vpt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.record, cls.printed, cls.again = script.quick("vpt", script.PROJECT / "data")
        cls.matrix = cls.record["runs"][0]["matrices"][0]

    def test_CountsAreThoseOfTheReference(self):
        cases = json.loads(REFERENCE.read_text())
        known = next(case["routes"] for case in cases if (case["matrix"], case["ranks"]) == ("D_10", 16))

        for route, name in zip(self.matrix["routes"], ("direct", "grid:4x4")):
            for what in ("messages", "items"):
                sent = {number: route["sent"][what][number] for number in ("total", "max")}
                self.assertEqual(sent, known[name][what])

    def test_OneDimensionIsDirectAndFourAreTheHypercubeOf16Ranks(self):
        self.assertEqual([(route["route"], route["dimensions"], route["most_messages"])
                          for route in self.matrix["routes"]],
                         [("direct", 1, 15), ("grid:2", 2, 6), ("grid:3", 3, 5), ("hypercube", 4, 4)])

    def test_NoRankSendsMoreMessagesThanTheBound(self):
        for route in self.matrix["routes"]:
            self.assertLessEqual(route["sent"]["messages"]["max"], route["most_messages"])

    def test_TablesArePrintedAgainFromTheRecord(self):
        self.assertIn("| 16 | 8 | D_10 | 15 | 14 |", self.printed)
        self.assertEqual(self.printed, self.again)


if __name__ == "__main__":
    unittest.main()
