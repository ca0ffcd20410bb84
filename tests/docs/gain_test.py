"""The README's picture is what the records give, and its marks are the ratios they should be."""

import sys
import unittest
from pathlib import Path

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "tools/plots"))
import gain


def contender(name, median, **others):
    return {"name": name, "exchange_seconds": {"median": median}, **others}


class Gain(unittest.TestCase):
    def test_PictureIsWhatTheRecordsGive(self):
        self.assertTrue(gain.picture(PROJECT / "bench/results") == (PROJECT / "docs/gain.svg").read_text(),
                        "run python3 tools/plots/gain.py bench/results > docs/gain.svg")

    def test_PagesNameEveryRecordOfIt(self):
        page = (PROJECT / "docs/bench.md").read_text()
        named = [case.record for cases in gain.CASES.values() for case in cases]

        self.assertEqual([record for record in named if f"`{record}`" not in page], [])

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
        stream = {"name": "stream", "scheme": "ww", "route": "direct", "seconds": {"median": 3}}
        record = {"contenders": [
            {"name": "plain", "seconds": {"median": 4}},
            {"name": "three_step/auto", "seconds": {"median": 1}},
            {"name": "three_step/none", "seconds": {"median": 0.5}},
            {"name": "local", "seconds": {"median": 0.5}},
            {"name": "routed:auto", "seconds": {"median": 2}},
            stream | {"buffer_items": 8192},
            stream | {"buffer_items": 1024, "seconds": {"median": 1}},
        ]}

        self.assertEqual(gain.ratios(record), {"three_step": 0.25, "auto": 0.5, "direct": 0.75})

    def test_AxisIsLogarithmicAndRefusesWhatIsBeyondIt(self):
        self.assertEqual(gain.across(gain.LOWEST), gain.LEFT)
        self.assertEqual(gain.across(gain.HIGHEST), gain.RIGHT)
        self.assertAlmostEqual(gain.across(1) - gain.across(0.5), gain.across(2) - gain.across(1))
        with self.assertRaises(ValueError):
            gain.across(2.6)


if __name__ == "__main__":
    unittest.main()
