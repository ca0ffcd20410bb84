"""crossdock bench hypre: what is counted is exact, every contender is right and timed, bad input fails."""

import json
import unittest

import bench_record
from command_line import crossdock

FEW = ("--runs", 2, "--iterations", 2, "--set-ups", 1)
COUNTS = ("messages_between", "values_between", "messages_inside", "values_inside")


def bench(problem, ranks, *more):
    return crossdock("bench", "hypre", problem, *FEW, *more, ranks=ranks)


def is_without_hypre(done):
    return done.returncode == 2 and "this build has no hypre" in done.stderr


class BenchHypre(unittest.TestCase):
    def record(self, *arguments):
        done = bench(*arguments, "--json")
        if is_without_hypre(done):
            self.skipTest("this build has no hypre")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_EveryContenderIsRightAndTimedOnEveryLevel(self):
        for problem, ranks, topology in [("rotated:24x20", 8, "2x4"), ("7pt:6x6x6", 5, "2,3"), ("27pt:5x5x5", 1, "1"),
                                         ("27pt:6x5x4", 2, "1,1")]:
            found = self.record(problem, ranks, "--topology", topology, "--routes", "direct,three_step,auto,auto:measure")

            self.assertEqual(found["schema"], "crossdock.bench.hypre/1")
            left_out = [one["name"] for one in found["left_out"]]
            names = [name for name in ["hypre", "mpi_neighbor_alltoallv_init", "direct", "three_step", "auto",
                                       "auto:measure"] if name not in left_out]
            self.assertGreater(len(found["levels"]), 1)
            self.assertEqual(list(found["ratios"]), names)
            self.assertEqual(found["ratios"]["hypre"]["median"], 1)
            for number, level in enumerate(found["levels"]):
                self.assertEqual(level["level"], number)
                self.assertEqual([one["name"] for one in level["contenders"]], names)
                bench_record.check_judged(self, level["contenders"], "exchange_seconds",
                                          lambda one: one["name"] == "hypre")
                for one in level["contenders"]:
                    self.assertTrue(one["verified"], (problem, number, one["name"]))
                    for name in ("setup_seconds", "exchange_seconds"):
                        bench_record.check_seconds(self, one[name])

    def test_CountsAreThoseOfTheGrid(self):
        # 4 x 4 x 4 points, 2 x 2 x 2 blocks of 8; each block's neighbors need 4, 2 or 1 of its points.
        found = self.record("27pt:4x4x4", 8, "--topology", "2x4", "--routes", "direct,three_step")

        finest = found["levels"][0]
        counts = {one["name"]: [one["all"][name] for name in COUNTS] + [one["most"][name] for name in COUNTS]
                  for one in finest["contenders"]}
        self.assertEqual((finest["rows"], finest["entries"]), (64, 10 ** 3))
        direct = [32, 72, 24, 80, 4, 9, 3, 10]
        self.assertEqual(counts["hypre"], direct)
        self.assertEqual(counts["direct"], direct)
        # Each region sends the 16 points of its inner side once.
        self.assertEqual(counts["three_step"][:2], [2, 32])

    def test_TableHasTheSumsOfAllLevels(self):
        done = bench("7pt:6x6x6", 4, "--topology", "2x2")
        if is_without_hypre(done):
            self.skipTest("this build has no hypre")

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("level 0, 216 rows, 1296 entries", done.stdout)
        sums = done.stdout.split("cheaper: on each level the cheaper of hypre and the contender\n")[1]
        self.assertEqual(sums.splitlines()[1].split()[0], "hypre")

    def test_BadInputFailsOnce(self):
        for problem, more, text in [("5pt:3x3", [], "is no problem"), ("7pt:3x3", [], "is no problem"),
                                    ("rotated:3x3x3", [], "is no problem"), ("7pt:9x9x1", [], "cannot be cut"),
                                    ("7pt:3000x3000x3000", [], "does not fit"),
                                    ("7pt:4x4x4", ["--routes", "sideways"], "no route is called")]:
            done = bench(problem, 8, "--topology", "2x4", *more)
            if is_without_hypre(done):
                self.skipTest("this build has no hypre")

            self.assertEqual(done.returncode, 2, problem)
            self.assertEqual(done.stderr.count(text), 1, (problem, done.stderr))
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
