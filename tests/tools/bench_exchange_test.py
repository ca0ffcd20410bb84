"""crossdock bench exchange: its record with the times blanked; --generate rewrites the golden file."""

import os
import unittest
from unittest import mock

import bench_record
from command_line import DATA, TESTS, crossdock, crossdock_json

GOLDEN = TESTS / "golden/bench_exchange-D_10-2,3.jsonl"
FOR_ONE_SIZE = ["rma", "rma_fence"]
DIRECT = ["personalized", "nonblocking"]
OTHERS = ["locality_personalized", "locality_nonblocking", "locality_rma", "reduce_scatter", "shared_memory",
          "routed:direct", "routed:two_step", "routed:three_step", "routed:grid:2", "routed:hypercube",
          "routed:locality", "routed:locality:1"]


def bench(file, ranks, *more):
    return crossdock_json("bench", "exchange", file, "--iterations", 2, "--warm-ups", 1, *more,
                          ranks=ranks)


def record():
    found = bench(DATA / "D_10.mtx.gz", 5, "--topology", "2,3", "--algorithms", "nbx,routed:direct")
    return bench_record.blank(found, "exchange_seconds", "ratio")


def messages(found):
    return {one["name"]: (one["messages"], one["inter_region_messages"])
            for one in found["contenders"]}


class BenchExchange(unittest.TestCase):
    def test_RecordIsTheGoldenOne(self):
        self.assertEqual(record(), bench_record.records.read(GOLDEN))

    def test_EveryContenderIsRightAndTimed(self):
        for file, ranks, topology in [(DATA / "D_10.mtx.gz", 1, "1"),
                                      (DATA / "bibd_49_3.mtx.gz", 2, "2x1"),
                                      (DATA / "lp_woodw.mtx.gz", 5, "2,3"),
                                      ("dense:3", 8, "cyclic:2x4")]:
            for values, references, only in [("pattern", ["mpi_alltoall", "mpi_alltoallv"], FOR_ONE_SIZE),
                                            ("indices", ["mpi_alltoallv"], [])]:
                with self.subTest(f"{file} {values}"):
                    found = bench(file, ranks, "--topology", topology, "--values", values)

                    self.assertEqual((found["ranks"], found["values"]), (ranks, values))
                    self.assertEqual([one["name"] for one in found["contenders"]],
                                     [*references, "auto", *DIRECT, *only, *OTHERS])
                    bench_record.check_judged(self, found["contenders"], "exchange_seconds",
                                              lambda one: one["name"].startswith("mpi_"))
                    for one in found["contenders"]:
                        self.assertTrue(one["verified"], one["name"])
                        bench_record.check_seconds(self, one["exchange_seconds"])

    def test_MessagesAreThoseOfTheAlgorithm(self):
        for values, reference in [("pattern", {"mpi_alltoall": (56, 32), "mpi_alltoallv": (112, 64)}),
                                  ("indices", {"mpi_alltoallv": (112, 64)})]:
            found = bench("dense:1", 8, "--topology", "2x4", "--values", values, "--algorithms",
                          "personalized,locality_personalized,routed:grid:2")

            self.assertEqual(messages(found), {**reference,
                                               "personalized": (8 * 7, 8 * 4),
                                               "locality_personalized": (8 * (1 + 3), 8),
                                               "routed:grid:2": (8 * (1 + 3), 8 * 2)})

    def test_AutoSaysWhatItIsWhateverTheEnvironmentSays(self):
        with mock.patch.dict(os.environ, {"CROSSDOCK_ALGORITHM": "personalized"}):
            found = bench("dense:1", 6, "--topology", "2x3", "--algorithms",
                          "auto,routed:direct,pex")

        # All ranks share memory.
        self.assertEqual([(one["name"], one["algorithm"]) for one in found["contenders"]],
                         [("mpi_alltoallv", None), ("auto", "shared_memory"),
                          ("routed:direct", "routed:direct"), ("pex", "personalized")])
        _, auto, direct, personalized = (one["message_bytes"] for one in found["contenders"])
        self.assertEqual(auto, 0)
        self.assertNotEqual(direct, personalized)

    def test_PartitionIsUsed(self):
        found = bench(DATA / "D_10.mtx.gz", 4, "--topology", "2x2", "--partition", "random:7",
                      "--algorithms", "personalized")

        self.assertEqual(found["partition"], "random:7")
        self.assertEqual(messages(found)["personalized"], (12, 8))
        self.assertTrue(all(one["verified"] for one in found["contenders"]))

    def test_TableComparesWithMpisContender(self):
        done = crossdock("bench", "exchange", "dense:1", "--topology", "2x2", "--values", "pattern",
                         "--algorithms", "auto,rma", "--iterations", 2, ranks=4)

        rows = bench_record.check_ratios(self, done.stdout, "mpi_alltoall", "mpi_alltoallv")
        self.assertEqual([row["contender"] for row in rows],
                         ["mpi_alltoall", "mpi_alltoallv", "auto = shared_memory", "rma"])
        self.assertIn("1.00", [row["ratio"] for row in rows[:2]])
        self.assertEqual(list(rows[0].values())[-4:], ["12", "8", "48", "32"])


if __name__ == "__main__":
    bench_record.main(GOLDEN, record)
