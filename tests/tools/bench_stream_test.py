"""crossdock bench stream: its records, and counts that are exact."""

import unittest

import bench_record
from command_line import DATA, Refusing, crossdock, crossdock_json

SCHEMES = ["ww", "wps", "wsp", "pp", "node"]
CAUSES = ["full", "request", "idle", "age", "pressure", "urgent", "drain"]
SMALL_TABLE = ("--updates", 3000, "--table-bytes", 1 << 16)


def bench(ranks, workload, *more):
    return crossdock_json("bench", "stream", "--workload", workload, "--iterations", 1, "--warm-ups",
                          0, *more, ranks=ranks)


def streams(found):
    return [one for one in found["contenders"] if one["statistics"] is not None]


class BenchStream(unittest.TestCase):
    def check_counts(self, found, items):
        """Every contender is right, and every stream has moved so many items in one hop each."""
        for one in found["contenders"]:
            self.assertTrue(one["verified"], one)
        for one in streams(found):
            counted = one["statistics"]
            self.assertEqual(counted["items"], items, one)
            self.check_sums(counted)

    def check_sums(self, counted):
        self.assertEqual(counted["handled"] + counted["combined"], counted["items"])
        self.assertEqual(list(counted["messages_by_cause"]), CAUSES)
        self.assertEqual(sum(counted["messages_by_cause"].values()), counted["messages"])
        self.assertLessEqual(counted["mpi_messages"], counted["messages"])

    def test_DocumentHasTheFieldsOfItsSchema(self):
        found = bench(3, "histogram", *SMALL_TABLE, "--nodes", "1,2", "--buffer-items", "16,64")

        self.assertEqual(list(found), ["schema", "version", "workload", "mpi", "cores", "ranks",
                                       "workers", "nodes", "updates_per_worker", "table_bytes",
                                       "round_items", "sub_block_bytes", "seed", "stream", "rate",
                                       "warm_ups", "iterations", "contenders"])
        self.assertEqual(found["schema"], "crossdock.bench.stream/1")
        self.assertEqual((found["ranks"], found["workers"], found["nodes"]), (3, 1, "1,2"))
        bench_record.check_judged(self, found["contenders"], "seconds", lambda one: one["name"] == "alltoallv")
        for one in found["contenders"]:
            self.assertEqual(list(one), ["name", "scheme", "route", "buffer_items", "verified",
                                         "seconds", "ratio", "items_per_second", "work",
                                         "statistics", "latency"])
            bench_record.check_seconds(self, one["seconds"])
            self.assertEqual(one["items_per_second"], 3 * 3000 / one["seconds"]["median"])
        self.assertEqual([(one["name"], one["scheme"], one["route"], one["buffer_items"])
                          for one in found["contenders"]],
                         [("alltoallv", None, None, None), ("local", None, None, None),
                          ("stream", "ww", "direct", 16), ("stream", "ww", "direct", 64)])
        self.check_counts(found, 3 * 3000)

    def test_EverySchemeDoesEveryUpdate(self):
        for ranks, workers, more in [(1, 2, ()), (3, 2, ("--nodes", "2,1")),
                                     (2, 2, ("--nodes", "2x1", "--shared-memory", "off")),
                                     (2, 2, ("--sub-blocks", 4096))]:
            with self.subTest(f"{ranks} {workers} {more}"):
                found = bench(ranks, "histogram", *SMALL_TABLE, "--workers", workers, "--scheme",
                              "all", "--buffer-items", 64, *more)

                self.assertEqual([one["scheme"] for one in streams(found)], SCHEMES)
                self.check_counts(found, ranks * workers * 3000)

    def test_EverySchemeReadsEveryIndex(self):
        found = bench(3, "index_gather", *SMALL_TABLE, "--workers", 2, "--scheme", "all",
                      "--round-items", 1000)

        self.check_counts(found, 2 * 3 * 2 * 3000)

    def test_ShortestPathsAreThoseOfDijkstra(self):
        for ranks, graph in [(3, ("--vertices", 500, "--edges", 4000)),
                             (2, ("--graph", DATA / "bcspwr10.mtx.gz", "--delta", 2000)),
                             (1, ("--graph", DATA / "msc01050.mtx.gz"))]:
            for combine in ("on", "off"):
                with self.subTest(f"{ranks} {graph} {combine}"):
                    found = bench(ranks, "sssp", *graph, "--workers", 2, "--combine", combine,
                                  "--scheme", "ww,pp")

                    self.assertEqual(found["combine"], combine == "on")
                    for one in found["contenders"]:
                        self.assertTrue(one["verified"])
                        self.check_sums(one["statistics"])
                        self.assertGreaterEqual(one["work"]["wasted"], one["work"]["superseded"])
                        self.assertGreaterEqual(one["work"]["superseded"], 0)
                        if combine == "off":
                            self.assertEqual(one["statistics"]["combined"], 0)

    def test_EveryEventIsHandledOnce(self):
        found = bench(3, "phold", "--workers", 2, "--scheme", "all", "--lps", 8, "--lp-events", 4,
                      "--lp-hops", 10)

        self.check_counts(found, 3 * 2 * 8 * 4 * (10 + 1))
        for one in found["contenders"]:
            self.assertLess(one["work"]["rejected"], 3 * 2 * 8 * 4 * (10 + 1))

    def test_EveryPingIsAcknowledged(self):
        # 512 acknowledgements exactly fill what a worker of pp collects before it shares it.
        for ranks, workers, priorities, pings in [(3, 1, 1, 500), (2, 2, 2, 512)]:
            found = bench(ranks, "ping_ack", "--updates", pings, "--workers", workers, "--priorities",
                          priorities, "--scheme", "ww,pp")

            self.check_counts(found, 2 * pings * (ranks * workers // 2))
            for one in found["contenders"]:
                self.assertEqual(one["statistics"]["messages_by_cause"]["urgent"] > 0, priorities == 2)

    def test_ACommunicationThreadChangesNoCount(self):
        found = bench(2, "histogram", *SMALL_TABLE, "--workers", 2, "--scheme", "ww,pp", "--buffer-items", 64,
                      "--shared-memory", "off", "--communication-thread")

        self.assertTrue(found["stream"]["progress_thread"])
        self.assertTrue(found["stream"]["communication_thread"])
        self.check_counts(found, 4 * 3000)
        self.assertTrue(all(one["statistics"]["mpi_messages"] > 0 for one in streams(found)))

    def test_LatencyIsSampled(self):
        found = bench(2, "histogram", *SMALL_TABLE, "--rate", 0.5, "--max-age", 100)

        self.assertEqual(found["rate"], 0.5)
        self.assertAlmostEqual(found["stream"]["max_age_seconds"], 1e-4)
        baselines, sampled = found["contenders"][:2], found["contenders"][2]
        self.assertEqual([one["latency"] for one in baselines], [None, None])
        latency = sampled["latency"]
        self.assertTrue(latency["verified"])
        self.assertEqual(latency["samples"], sum(count for _, _, count in latency["buckets"]))
        self.assertGreater(latency["samples"], 0)
        self.assertEqual(latency["items_per_second"], 0.5 * sampled["items_per_second"])
        self.assertLessEqual(latency["p50_seconds"], latency["p99_seconds"])
        self.assertLessEqual(latency["p99_seconds"], latency["max_seconds"])
        self.check_sums(latency["statistics"])

    def test_ItemsTravelAlongTheRoute(self):
        found = bench(4, "histogram", *SMALL_TABLE, "--nodes", "4x1", "--route",
                      "direct,hypercube,grid:2")

        hops = {one["route"]: one["statistics"]["hops"] for one in streams(found)}
        self.check_counts(found, 4 * 3000)
        self.assertEqual(hops["direct"], 4 * 3000)
        self.assertGreater(hops["hypercube"], 4 * 3000)
        self.assertEqual(hops["hypercube"], hops["grid:2"])

    def test_TableComparesWithMpisContender(self):
        done = crossdock("bench", "stream", *SMALL_TABLE, "--scheme", "wps,wsp", "--rate", 0.5,
                         "--iterations", 1, ranks=2)

        rows = bench_record.check_ratios(self, done.stdout, "alltoallv")
        self.assertEqual([row["contender"].split()[0] for row in rows], ["alltoallv", "local", "wps", "wsp"])
        self.assertEqual(rows[0]["ratio"], "1.00")
        latencies = done.stdout.partition("\nlatency in microseconds\n")[2].splitlines()
        self.assertEqual([line.split()[0] for line in latencies if " yes " in line], ["wps", "wsp"])

    def test_TableWithoutMpisContenderComparesWithTheFirst(self):
        done = crossdock("bench", "stream", "--workload", "ping_ack", "--updates", 10, "--iterations", 1, ranks=2)

        self.assertIn("; ratio: median divided by that of ", done.stdout)
        self.assertIn(", the first contender; less than 1 is faster\n", done.stdout)


class RatiosOfTables(unittest.TestCase):
    def test_AreComparedToTheDigitsThatArePrinted(self):
        bench_record.check_ratio(self, "325.88", "7007.0", "21.5")  # and 7007.0 / 21.5 is 325.91
        bench_record.check_ratio(self, "0.00", "0.0", "21.5")
        for ratio in ("325.14", "326.68"):  # 7006.95 / 21.55 is 325.15, and 7007.05 / 21.45 is 326.67
            with self.assertRaises(AssertionError):
                bench_record.check_ratio(self, ratio, "7007.0", "21.5")


class BadInput(Refusing):
    def refuse(self, sentence, *more, ranks=3):
        super().refuse(sentence, "bench", "stream", *more, ranks=ranks)

    def test_WhatThereIsNotAndWhatDoesNotFit(self):
        self.refuse('unknown scheme "sideways"; there are auto, ww, ', *SMALL_TABLE, "--scheme", "sideways")
        self.refuse('no route is called "sideways"; there are direct, ', *SMALL_TABLE, "--route", "sideways")
        self.refuse("cannot open sideways", "--workload", "sssp", "--graph", "sideways")
        self.refuse('topology "2x2" describes 4 ranks, but there are 3', "--nodes", "2x2")
        self.refuse("a table of 16 bytes has no entry for each of 3 workers", "--table-bytes", 16)
        self.refuse("ping_ack needs two workers; start more ranks or raise --workers", "--workload", "ping_ack", ranks=1)

    def test_WrongUsage(self):
        self.refuse_usage("bench", "stream", cases=[
            (("--workload", "sideways"), "--workload: sideways not in {histogram,index_gather,sssp,phold,ping_ack}"),
            (("--combine", "on"), "--combine: works with the workload sssp only"),
            (("--combine", "sideways"), "--combine: sideways not in {on,off}"),
            (("--workload", "phold", "--sub-blocks", 4096), "--sub-blocks: works with the workload histogram only"),
            (("--workload", "sssp", "--rate", 0.5), "--rate: works with the workload histogram only"),
            (("--rate", 2), "--rate: 2 is not a number in [0, 1]"),
            (("--priorities", 3), "--priorities: 3 is not an integer in [1, 2]"),
            (("--buffer-items", "16,0"), "--buffer-items: 0 is not an integer in [1, 1073741824]")])


if __name__ == "__main__":
    unittest.main()
