"""crossdock bench gather: its record with the times blanked; --generate rewrites the golden file."""

import unittest

import bench_record
from command_line import DATA, TESTS, crossdock, crossdock_json

GOLDEN = TESTS / "golden/bench_gather-D_10-2,3.jsonl"
BASELINES = ["pairwise", "crystal_router", "all_reduce", "tuned"]
WAYS = ["direct", "two_step", "three_step", "hypercube", "auto", "auto:measure"]
TIMES = ("setup_seconds", "combine_seconds")


def bench(file, ranks, *more):
    return crossdock_json("bench", "gather", file, "--iterations", 2, "--warm-ups", 1, "--set-ups", 1, *more,
                          ranks=ranks)


def record():
    found = bench(DATA / "D_10.mtx.gz", 5, "--in-a-row", 3, "--topology", "2,3",
                  "--ways", "owners/three_step,holders/direct")
    found["contenders"] = [one for one in found["contenders"] if one["name"] != "tuned"]  # what it takes is chance
    return bench_record.blank(found, *TIMES, "ratio")


def sent(found):
    return {one["name"]: (one["messages"], one["items"]) for one in found["contenders"]}


class BenchGather(unittest.TestCase):
    def test_RecordIsTheGoldenOne(self):
        self.assertEqual(record(), bench_record.records.read(GOLDEN))

    def test_EveryContenderIsRightAndTimed(self):
        for file, ranks, topology in [("hex:2:2", 1, "1"), ("hex:3:1", 2, "2x1"), ("hex:1:2", 5, "2,3"),
                                      (DATA / "lp_woodw.mtx.gz", 3, "2,1"), ("dense:3", 8, "cyclic:2x4")]:
            with self.subTest(f"{file}"):
                found = bench(file, ranks, "--topology", topology)

                self.assertEqual([one["name"] for one in found["contenders"]], BASELINES + WAYS)
                self.assertEqual([one["baseline"] for one in found["contenders"]], [True] * 4 + [False] * 6)
                bench_record.check_judged(self, found["contenders"], "combine_seconds", lambda one: one["baseline"])
                for one in found["contenders"]:
                    self.assertTrue(one["verified"], one["name"])
                    for name in TIMES:
                        bench_record.check_seconds(self, one[name])

    def test_MessagesAreThoseOfTheMethod(self):
        # On 2 ranks the elements share a side of 4 points.
        found = bench("hex:1:1", 2, "--ways", "owners/direct,holders/direct")
        self.assertEqual(sent(found), {"pairwise": (2, 8), "crystal_router": (2, 8), "all_reduce": (0, 0),
                                       "tuned": sent(found)[found["contenders"][3]["choice"]],
                                       "owners/direct": (2, 8), "holders/direct": (2, 8)})

        # On 4 ranks all share an edge of 2 points, and each side has 2 more.
        found = bench("hex:1:1", 4, "--ways", "owners/direct,holders/direct")
        counts = sent(found)
        self.assertEqual(counts["pairwise"], (12, 4 * (4 + 4 + 2)))
        self.assertEqual(counts["crystal_router"], (8, 4 * (4 + 4)))
        self.assertEqual(counts["holders/direct"], counts["pairwise"])
        self.assertEqual(counts["owners/direct"][1], 2 * (2 * 3 + 4 * 2))

    def test_TableComparesWithTheFastestBaseline(self):
        done = crossdock("bench", "gather", "hex:1:1", "--ways", "auto,owners/direct", "--iterations", 2, ranks=4)

        rows = bench_record.check_ratios(self, done.stdout, *BASELINES, which="of gslib's methods")
        self.assertEqual([row["contender"].partition(" = ")[0] for row in rows], [*BASELINES, "auto", "owners/direct"])
        self.assertIn("1.00", [row["ratio"] for row in rows[:4]])

    def test_AMeshThatIsNoneIsRefused(self):
        for file in ("hex:", "hex:7", "hex:7:0", "hex:0:2", "hex:7:2:1", "hex:7000:1"):
            done = crossdock("bench", "gather", file, ranks=2)

            self.assertEqual(done.returncode, 2)
            self.assertIn("hex:N:K needs an order N and K elements along a side", done.stderr)


if __name__ == "__main__":
    bench_record.main(GOLDEN, record)
