"""crossdock bench combine: every strategy is right, and what is counted is exact."""

import unittest

from bench_record import check_seconds
from command_line import crossdock, crossdock_json

STRATEGIES = ["none", "sort", "hash", "search_tree", "envelope_hash", "envelope_sort"]


def record(*options):
    return crossdock_json("bench", "combine", "--iterations", 3, *options)


class BenchCombine(unittest.TestCase):
    def test_EveryStrategyIsRightAndTimed(self):
        found = record("--requests", "5000")
        self.assertEqual(found["schema"], "crossdock.bench.combine/1")
        self.assertEqual([one["name"] for one in found["strategies"]], STRATEGIES)
        for one in found["strategies"]:
            self.assertIs(one["verified"], True)
            check_seconds(self, one["combine_seconds"])
            check_seconds(self, one["read_seconds"])
        check_seconds(self, found["memcpy_seconds"])

    def test_AsManyRequestsAreDuplicatesAsIsAsked(self):
        found = record("--requests", "5000", "--duplicates", "0.3", "--combine", "sort")
        self.assertEqual((found["requests"], found["entries"]), (5000, 6566))
        self.assertAlmostEqual(found["distinct"] / found["requests"], 0.7, delta=0.01)
        self.assertEqual([one["name"] for one in found["strategies"]], ["sort"])

    def test_BadInputIsRefused(self):
        for options in [("--combine", "magic"), ("--duplicates", "1"), ("--duplicates", "0"),
                        ("--requests", "0")]:
            self.assertNotEqual(crossdock("bench", "combine", *options).returncode, 0)


if __name__ == "__main__":
    unittest.main()
