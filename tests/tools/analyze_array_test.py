"""crossdock analyze --array: exact figures, without MPI."""

import json
import pathlib
import tempfile
import unittest

from command_line import DATA, Refusing, crossdock, crossdock_json

COUNTS = ["requests", "combined_locally", "combined_on_the_way", "received", "arrived", "stages"]
SMALL = ("--vertices-per-rank", 64, "--edges-per-rank", 256)


def analyze(ranks, topology, *more):
    return crossdock_json("analyze", "--array", "--ranks", ranks, "--topology", topology, *more)


def overload(ranks, topology, *more, entries=32, requests=128):
    return analyze(ranks, topology, "--workload", "overload", "--entries", entries,
                   "--requests-per-rank", requests, *more)


def by_name(found):
    return {one["name"]: one["counts"] for one in found["contenders"]}


class AnalyzeArray(unittest.TestCase):
    def test_DocumentHasTheFieldsOfItsSchema(self):
        found = analyze(6, "2x3", *SMALL, "--routes", "auto,grid:2", "--combine", "hash,auto")

        self.assertEqual(list(found), ["schema", "ranks", "regions", "topology", "workload", "graph",
                                       "vertices", "edges", "seed", "where", "is_verified", "batches",
                                       "contenders"])
        self.assertEqual(found["schema"], "crossdock.analyze.array/1")
        self.assertEqual((found["ranks"], found["regions"], found["topology"]), (6, 2, "2x3"))
        self.assertEqual((found["workload"], found["graph"]), ("boruvka", "rmat"))
        self.assertEqual((found["vertices"], found["edges"]), (6 * 64, 6 * 256))
        self.assertTrue(found["is_verified"])
        self.assertEqual(found["batches"][0]["kind"], "minimum")
        self.assertEqual({batch["kind"] for batch in found["batches"][1:]}, {"read"})
        self.assertEqual([(one["name"], one["combine"]) for one in found["contenders"]],
                         [("plain", "none"), ("auto/hash", "hash"), ("auto/auto", "sort"),
                          ("grid:2/hash", "hash"), ("grid:2/auto", "sort")])
        for one in found["contenders"]:
            self.assertEqual(list(one), ["name", "route", "combine", "counts"])
            self.assertEqual(list(one["counts"]), COUNTS)
            for stage in one["counts"]["stages"]:
                self.assertEqual(list(stage), ["messages", "items", "inter_region",
                                               "empty_messages", "received", "combined"])

    def test_EveryOtherRankAsksForEveryEntryWithoutCombiningOnTheWay(self):
        found = overload(8, "2x4", "--routes", "direct", "--combine", "all", "--where", "locally")

        self.assertEqual(found["where"], "locally")
        for name, counts in by_name(found).items():
            is_combined = not name.endswith("/none") and name != "plain"
            each = 1 if is_combined else 128 // 32
            self.assertEqual(counts["arrived"]["total"], 7 * 32 * each, name)
            self.assertEqual(counts["arrived"]["max"], 7 * 4 * each, name)
            self.assertEqual(counts["combined_locally"]["total"], 8 * (128 - 32) if is_combined else 0)
            self.assertEqual(counts["combined_on_the_way"]["total"], 0, name)

    def test_EdgesOfAFileAreItsEntries(self):
        found = analyze(4, "2x2", "--workload", "neighborhood", "--graph", DATA / "bcspwr10.mtx.gz")

        self.assertEqual((found["vertices"], found["edges"]), (5300, 21842))
        self.assertEqual(found["batches"], [{"kind": "read", "requests": 21842},
                                            {"kind": "sum", "requests": 21842}])
        self.assertTrue(found["is_verified"])

    def test_PlansHaveTheItemsThatAreCounted(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "plans.jsonl"
            found = overload(6, "2x3", "--routes", "grid:2", "--combine", "sort,none", "--plans", file)
            lines = [json.loads(line) for line in file.read_text().splitlines()]

        self.assertEqual([line["name"] for line in lines], ["plain", "grid:2/sort", "grid:2/none"])
        for line in lines:
            self.assertEqual(list(line), ["schema", "name", "route", "combine", "step", "kind", "plans"])
            self.assertEqual((line["schema"], line["step"], line["kind"]),
                             ("crossdock.array.plans/1", 0, "read"))
            self.assertEqual([plan["rank"] for plan in line["plans"]], list(range(6)))
            self.assertEqual({plan["schema"] for plan in line["plans"]}, {"crossdock.plan/1"})
            sent = [message for plan in line["plans"] for stage in plan["stages"]
                    for message in stage["receives"]]
            stages = by_name(found)[line["name"]]["stages"]
            self.assertEqual(len(sent), sum(stage["messages"]["total"] for stage in stages))
            self.assertEqual(sum(message["num_items"] for message in sent),
                             sum(stage["items"]["total"] for stage in stages))

    def test_FourThousandRanksNeedNoMpirun(self):
        counts = by_name(overload(4096, "256x16", "--routes", "hypercube,grid:64x64", entries=16,
                                  requests=16))

        self.assertEqual(counts["plain"]["arrived"], {"total": 4095 * 16, "max": 4095,
                                                      "mean": 4095 * 16 / 4096})
        self.assertEqual(counts["hypercube/auto"]["arrived"]["total"], 16)
        self.assertEqual(counts["grid:64x64/auto"]["arrived"]["total"], 63 * 16)

    def test_TableHasOneLinePerContender(self):
        done = crossdock("analyze", "--array", "--ranks", 8, "--topology", "2x4", "--workload",
                         "overload", "--entries", 32, "--requests-per-rank", 64, "--routes",
                         "hypercube", "--combine", "auto,none")

        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual(lines[-3][:4], ["plain", "1", "512", "0"])
        self.assertEqual(lines[-2][:3], ["hypercube/auto", "=", "hypercube/sort"])
        self.assertEqual(lines[-2][-2:], ["32", "4"])
        self.assertEqual(lines[-1][0], "hypercube/none")


class BadInput(Refusing):
    def refuse(self, sentence, *more):
        super().refuse(sentence, "analyze", "--array", "--ranks", 3, "--topology", "1,2", *more)

    def test_WhatThereIsNot(self):
        self.refuse("cannot open sideways", "--graph", "sideways")
        self.refuse('no route is called "sideways"; there are direct, ', "--routes", "sideways")
        self.refuse('no way to combine is called "sideways"; there are none, ', "--combine", "sideways")
        self.refuse("20 requests of a rank are too few to reach each of 300 entries", "--workload",
                    "overload", "--entries", 300, "--requests-per-rank", 20)
        self.refuse("cannot write /no/such/file: No such file or directory", *SMALL, "--plans", "/no/such/file")

    def test_WrongUsage(self):
        self.refuse_usage("analyze", "--ranks", 3, "--topology", "1,2", cases=[
            (("--workload", "boruvka"), "--workload requires --array"),
            (("--array", DATA / "D_10.mtx.gz"), "FILE excludes --array"),
            (("--array", "--exchange"), "--exchange excludes --array"),
            (("--array", "--workload", "sideways"), "--workload: sideways not in {boruvka,neighborhood,overload}"),
            (("--array", "--where", "nowhere"), "--where: nowhere not in {everywhere,locally,on_the_way}"),
            (("--array", "--edges-per-rank", -3), "--edges-per-rank: -3 is not an integer in [1, 1073741824]"),
            ((), "FILE is required")])


if __name__ == "__main__":
    unittest.main()
