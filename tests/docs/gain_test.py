"""The README's picture is what the records give, and its marks are the ratios they should be."""

import sys
import unittest
from pathlib import Path

import drawings

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "tools/plots"))
import gain


def contender(name, median, **others):
    return {"name": name, "exchange_seconds": {"median": median}, **others}


class Gain(unittest.TestCase):
    def test_PictureIsWhatTheRecordsGive(self):
        drawn, shown = gain.picture(PROJECT / "bench/results"), (PROJECT / "docs/gain.svg").read_text(encoding="utf-8")
        self.assertIsNone(drawings.difference(drawn, shown),
                          "run python3 tools/plots/gain.py bench/results > docs/gain.svg")

    def test_PageHasTheNumberAndTheRecordOfEveryCase(self):
        page = (PROJECT / "docs/is-it-for-me.md").read_text().splitlines()

        self.assertEqual([row for row in gain.table(PROJECT / "bench/results") if row not in page], [],
                         "run python3 tools/plots/gain.py bench/results --table")

    def test_EveryCaseHasAuto(self):
        found = [gain.ratios(gain.read(PROJECT / "bench/results", case)) for cases in gain.CASES.values() for case in cases]

        self.assertGreater(len(found), 0)
        self.assertTrue(all("auto" in kinds for kinds in found))

    def test_RatiosAreToTheFastestOfMpi(self):
        record = {"contenders": [
            contender("mpi_persistent", 4, executor=None, dedup=False),
            contender("mpi_neighbor_alltoallv", 8, executor=None, dedup=False),
            contender("petsc_sf_basic", 6, executor=None, dedup=False),
            contender("petsc_sf_neighbor", 5, executor=None, dedup=False),
            contender("direct", 2, executor="shared_memory", dedup=True),
        ]}

        self.assertEqual(gain.ratios(record), {"other": 1.25, "direct": 0.5})

    def test_WhatIsNoDefaultIsLeftOut(self):
        record = {"contenders": [
            contender("mpi_persistent", 4, executor=None, dedup=False),
            contender("three_step", 2, executor="shared_memory", dedup=True),
            contender("three_step", 1, executor="shared_memory", dedup=False),
            contender("three_step", 1, executor="persistent", dedup=True),
            contender("two_step", 1, executor="shared_memory", dedup=True),
        ]}

        self.assertEqual(gain.ratios(record), {"three_step": 0.5})

    def test_RoutesOfAllModulesAreKnown(self):
        record = {"contenders": [
            {"name": "plain", "seconds": {"median": 4}},
            {"name": "three_step/auto", "seconds": {"median": 1}},
            {"name": "three_step/none", "seconds": {"median": 0.5}},
            {"name": "routed:auto", "seconds": {"median": 2}},
        ]}

        self.assertEqual(gain.ratios(record), {"three_step": 0.25, "auto": 0.5})

    def test_GatherScattersAreToTheFastestBaseline(self):
        record = {"contenders": [
            {"name": "pairwise", "baseline": True, "combine_seconds": {"median": 8}},
            {"name": "tuned", "baseline": True, "combine_seconds": {"median": 4}},
            {"name": "auto", "baseline": False, "combine_seconds": {"median": 2}},
        ]}

        self.assertEqual(gain.ratios(record), {"auto": 0.5})

    def test_LevelsAreAddedBeforeTheFastestIsTaken(self):
        record = {"levels": [
            {"contenders": [contender("hypre", 1), contender("mpi_neighbor_alltoallv", 2), contender("auto", 1)]},
            {"contenders": [contender("hypre", 4), contender("mpi_neighbor_alltoallv", 2), contender("auto", 2)]},
        ]}

        self.assertEqual(gain.ratios(record), {"auto": 0.75})

    def test_AxisIsLogarithmicAndRefusesWhatIsBeyondIt(self):
        self.assertEqual(gain.across(gain.LOWEST), gain.LEFT)
        self.assertEqual(gain.across(gain.HIGHEST), gain.RIGHT)
        self.assertAlmostEqual(gain.across(1) - gain.across(0.5), gain.across(2) - gain.across(1))
        with self.assertRaises(ValueError):
            gain.across(2.6)


if __name__ == "__main__":
    unittest.main()
