"""crossdock bench array: its records, and counts that are exact."""

import unittest

import bench_record
from command_line import DATA, Refusing, crossdock, crossdock_json

PHASES = ["combine_locally", "combine_on_the_way", "write", "read", "split", "communicate"]
STRATEGIES = ["none", "sort", "hash", "search_tree", "envelope_hash", "envelope_sort"]
SMALL = ("--vertices-per-rank", 64, "--edges-per-rank", 256)


def bench(ranks, topology, *more, environment=None):
    return crossdock_json("bench", "array", "--topology", topology, "--iterations", 1, "--warm-ups", 0,
                          *more, ranks=ranks, environment=environment)


def has_petsc(found):
    return not found["left_out"]


class BenchArray(unittest.TestCase):
    def test_DocumentHasTheFieldsOfItsSchema(self):
        found = bench(3, "1,2", *SMALL, "--routes", "hypercube")

        self.assertEqual(list(found), ["schema", "version", "mpi", "ranks", "topology", "workload",
                                       "graph", "vertices", "edges", "seed", "where", "warm_ups",
                                       "iterations", "batches", "contenders", "left_out"])
        self.assertEqual(found["schema"], "crossdock.bench.array/1")
        self.assertEqual((found["ranks"], found["topology"]), (3, "1,2"))
        self.assertEqual((found["vertices"], found["edges"]), (3 * 64, 3 * 256))
        plain, rma, *petsc, ours = found["contenders"]
        bench_record.check_judged(self, found["contenders"], "seconds", lambda one: one["name"] == "plain")
        for one in found["contenders"]:
            self.assertEqual(list(one), ["name", "route", "combine", "verified", "seconds", "ratio",
                                         "phase_seconds", "counts"])
            bench_record.check_seconds(self, one["seconds"])
        self.assertEqual((plain["name"], plain["route"], plain["combine"]), ("plain", None, None))
        self.assertEqual((rma["name"], rma["counts"], rma["phase_seconds"]), ("rma", None, None))
        self.assertEqual((ours["name"], ours["route"], ours["combine"]),
                         ("hypercube/auto", "hypercube", "sort"))
        self.assertEqual(list(ours["phase_seconds"]), PHASES)
        self.assertEqual([one["name"] for one in petsc + found["left_out"]], ["petsc_sf"])

    def test_EveryContenderIsRight(self):
        for ranks, topology, workload in [
                (1, "1", ("boruvka", "--graph", "rmat", *SMALL)),
                (2, "2x1", ("neighborhood", "--graph", "rgg", *SMALL)),
                (5, "2,3", ("boruvka", "--graph", "gnm", *SMALL)),
                (5, "2,3", ("neighborhood", "--graph", DATA / "D_10.mtx.gz")),
                (8, "cyclic:2x4", ("overload", "--entries", 32, "--requests-per-rank", 128))]:
            with self.subTest(f"{ranks} {workload}"):
                found = bench(ranks, topology, "--routes", "auto,hypercube", "--combine", "all",
                              "--workload", *workload)

                self.assertEqual([one["name"] for one in found["contenders"]],
                                 ["plain", "rma", *(["petsc_sf"] if has_petsc(found) else []),
                                  *(f"{route}/{strategy}" for route in ("auto", "hypercube")
                                    for strategy in STRATEGIES)])
                for one in found["contenders"]:
                    self.assertTrue(one["verified"], one["name"])

    def test_CountsAreThoseOfTheAnalysis(self):
        for ranks, topology, where, workload in [
                (5, "2,3", "everywhere", ("boruvka", "--graph", "rmat", *SMALL)),
                (6, "cyclic:2x3", "on_the_way", ("neighborhood", "--graph", "rgg", *SMALL)),
                (4, "2x2", "locally", ("overload", "--entries", 32, "--requests-per-rank", 128))]:
            with self.subTest(f"{ranks} {workload[0]} {where}"):
                same = ("--routes", "direct,three_step,hypercube,auto", "--combine", "all", "--where",
                        where, "--workload", *workload)
                # The analysis chooses for the default machine, wherever it runs.
                found = bench(ranks, topology, "--baselines", "plain", *same,
                              environment={"CROSSDOCK_MACHINE": "generic_100g"})
                counted = crossdock_json("analyze", "--array", "--ranks", ranks, "--topology",
                                         topology, *same)

                self.assertEqual(found["batches"], counted["batches"])
                self.assertEqual({one["name"]: one["counts"] for one in found["contenders"]},
                                 {one["name"]: one["counts"] for one in counted["contenders"]})

    def test_WhoIsLeftOutHasAReason(self):
        found = bench(2, "2x1", *SMALL, "--baselines", "plain,petsc_sf")

        petsc = ["petsc_sf"] if has_petsc(found) else []
        self.assertEqual([one["name"] for one in found["contenders"]], ["plain", *petsc, "auto/auto"])
        self.assertEqual(found["left_out"], [] if petsc else [{"name": "petsc_sf",
                                                               "reason": "this build has no PETSc"}])

    def test_TableComparesWithMpisContender(self):
        done = crossdock("bench", "array", *SMALL, "--topology", "2x2", "--baselines", "plain",
                         "--routes", "auto,direct", "--combine", "none,sort", "--iterations", 2, ranks=4)

        rows = bench_record.check_ratios(self, done.stdout, "plain")
        self.assertEqual([row["contender"] for row in rows],
                         ["plain", "auto/none", "auto/sort", "direct/none", "direct/sort"])
        self.assertEqual(rows[0]["ratio"], "1.00")
        self.assertEqual(list(rows[0].values())[-4:], list(rows[3].values())[-4:])


class BenchPreparedReads(unittest.TestCase):
    def test_EveryContenderIsRightAndTimed(self):
        for ranks, topology, workload in [(1, "1", ("neighborhood", *SMALL)),
                                          (5, "2,3", ("overload", "--entries", 32,
                                                      "--requests-per-rank", 128))]:
            found = bench(ranks, topology, "--prepared", "--routes", "direct,hypercube", "--combine",
                          "none,sort", "--set-ups", 2, "--workload", *workload)

            self.assertEqual(found["schema"], "crossdock.bench.array.prepared/1")
            petsc = ["petsc_sf:basic", "petsc_sf:neighbor"] if has_petsc(found) else []
            self.assertEqual([one["name"] for one in found["contenders"]],
                             [*petsc, "direct/none", "direct/sort", "hypercube/none", "hypercube/sort"])
            for one in found["contenders"]:
                self.assertEqual(list(one), ["name", "route", "combine", "verified", "setup_seconds",
                                             "read_seconds", "ratio", "sent"])
                self.assertTrue(one["verified"], one["name"])
                bench_record.check_seconds(self, one["setup_seconds"])
                bench_record.check_seconds(self, one["read_seconds"])

    def test_EveryEntryIsSentOnceThroughEveryLinkOfTheHypercube(self):
        found = bench(8, "2x4", "--prepared", "--routes", "hypercube,direct", "--workload", "overload",
                      "--entries", 32, "--requests-per-rank", 128)

        sent = {one["route"]: one["sent"] for one in found["contenders"]}
        self.assertEqual((sent["direct"]["messages"], sent["direct"]["items"]), (8 * 7, 32 * 7))
        self.assertEqual((sent["hypercube"]["messages"], sent["hypercube"]["items"]), (8 * 3, 32 * 7))


class BadInput(Refusing):
    def test_TooManyVertices(self):
        self.refuse("a graph of 100000002 vertices has too many for distinct weights", "bench", "array", "--topology",
                    "1,2", "--graph", "gnm", "--vertices-per-rank", 33333334, "--edges-per-rank", 1, ranks=3)

    def test_WrongUsage(self):
        self.refuse_usage("bench", "array", cases=[
            (("--workload", "sideways"), "--workload: sideways not in {boruvka,neighborhood,overload}"),
            (("--baselines", "sideways"), "--baselines: sideways not in {plain,rma,petsc_sf}"),
            (("--vertices-per-rank", 0), "--vertices-per-rank: 0 is not an integer in [1, 1073741824]"),
            (("--seed", -1), "--seed: -1 is not an integer in [0, 9223372036854775807]"),
            (("--prepared", "--workload", "boruvka"), "--prepared: works with neighborhood and overload only: boruvka never repeats a read"),
            (("--prepared", "--baselines", "rma"), "--baselines excludes --prepared")])


if __name__ == "__main__":
    unittest.main()
