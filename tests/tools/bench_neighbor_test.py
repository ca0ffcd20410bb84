"""crossdock bench neighbor: its record with the times blanked; --generate rewrites the golden file."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import bench_record
from command_line import DATA, TESTS, crossdock, crossdock_json

FORMS_OF_MPI = ["mpi_neighbor_alltoallv", "mpi_ineighbor_alltoallv", "mpi_neighbor_alltoallv_init"]
FORMS_OF_DROP_IN = ["drop_in:blocking", "drop_in:nonblocking", "drop_in:persistent"]
PEERS = TESTS.parent.parent / "bench/peers"
GOLDEN = TESTS / "golden/bench_neighbor-D_10-2,3.jsonl"


def bench(file, ranks, *more):
    return crossdock_json("bench", "neighbor", file, "--iterations", 3, "--warm-ups", 1,
                          "--set-ups", 2, *more, ranks=ranks)


def record():
    found = bench(DATA / "D_10.mtx.gz", 5, "--topology", "2,3", "--item-bytes", 3, "--in-a-row", 2,
                  "--baselines", "mpi_persistent,mpi_neighbor_alltoallv",
                  "--executors", "persistent", "--routes", "direct,two_step,grid:2")
    return bench_record.blank(found, "setup_seconds", "exchange_seconds", "ratio")


class BenchNeighbor(unittest.TestCase):
    def test_RecordIsTheGoldenOne(self):
        self.assertEqual(record(), bench_record.records.read(GOLDEN))

    def test_EveryContenderIsRightAndTimed(self):
        for file, ranks, topology in [(DATA / "lp_woodw.mtx.gz", 4, "cyclic:2x2"),
                                      (DATA / "bibd_49_3.mtx.gz", 3, "1,2"),
                                      ("dense:2", 8, "4x2"), (DATA / "D_10.mtx.gz", 1, "1")]:
            found = bench(file, ranks, "--topology", topology)

            self.assertGreater(len(found["contenders"]), 8)
            bench_record.check_judged(self, found["contenders"], "exchange_seconds",
                                      lambda one: one["name"].startswith("mpi_"))
            for contender in found["contenders"]:
                self.assertTrue(contender["verified"], (file, contender["name"]))
                for name in ("setup_seconds", "exchange_seconds"):
                    bench_record.check_seconds(self, contender[name])

    def test_RoutesThatAreChosenCompete(self):
        found = bench(DATA / "D_10.mtx.gz", 5, "--topology", "2,3", "--routes",
                      "direct,auto,auto:measure", "--executors", "auto")

        routes = {route["name"] for route in crossdock_json("info")["routes"]}
        names = [contender["name"] for contender in found["contenders"]]
        self.assertEqual(names[-6:], 2 * ["direct"] + 2 * ["auto"] + 2 * ["auto:measure"])
        for contender in found["contenders"]:
            self.assertTrue(contender["verified"], contender["name"])
            if contender["name"].startswith("auto"):
                bench_record.check_seconds(self, contender["choose_seconds"])
                self.assertEqual(len(contender["routes"]), 1)
                self.assertLessEqual({name.partition(":")[0] for name in contender["routes"]}, routes)
            else:
                self.assertIsNone(contender["choose_seconds"])
                self.assertEqual(contender["routes"],
                                 ["direct"] if contender["name"] == "direct" else [])

    def test_PeersCompete(self):
        files = os.environ["CROSSDOCK_PEERS"]
        names = ["gslib_pairwise", "gslib_crystal_router"] * ("peer_gslib" in files)
        names += ["mpi_advance_standard", "mpi_advance_locality"] * ("peer_mpi_advance" in files)
        with tempfile.TemporaryDirectory() as folder:
            if os.environ["CROSSDOCK_PEER_OF_DEBIAN"]:
                names += ["hypre"]
                files += "," + subprocess.run([PEERS / "build", "hypre"], check=True, text=True, stdout=subprocess.PIPE,
                                              env=os.environ | {"CROSSDOCK_PEERS": folder}).stdout.strip()
            for file, ranks, topology in [(DATA / "lp_woodw.mtx.gz", 4, "cyclic:2x2"),
                                          (DATA / "D_10.mtx.gz", 5, "2,3")]:
                found = bench(file, ranks, "--topology", topology, "--routes", "direct", "--executors", "auto",
                              "--baselines", "mpi_persistent", "--peers", files.strip(","))

                self.assertEqual([(one["name"], one["verified"]) for one in found["contenders"][1:-2]],
                                 [(name, True) for name in names])

    def test_EveryPeerIsBuiltByTheScript(self):
        script = (PEERS / "build").read_text(encoding="utf-8")
        self.assertEqual(sorted(re.findall(r"^(\w+)\)", script, re.MULTILINE)),
                         sorted(file.stem for file in PEERS.glob("*.cpp")))

    def test_EveryContenderAddsInReverse(self):
        for file, ranks, topology, item_bytes in [(DATA / "lp_woodw.mtx.gz", 4, "cyclic:2x2", 8),
                                                  (DATA / "D_10.mtx.gz", 5, "2,3", 24),
                                                  ("dense:2", 8, "4x2", 128)]:
            found = bench(file, ranks, "--topology", topology, "--item-bytes", item_bytes,
                          "--direction", "reverse")

            self.assertEqual(found["direction"], "reverse")
            self.assertGreater(len(found["contenders"]), 8)
            for contender in found["contenders"]:
                self.assertTrue(contender["verified"], (file, contender["name"]))

    def test_ItemsHoldAValueOfEveryRightHandSide(self):
        for num_values in (1, 4, 16):
            found = bench(DATA / "D_10.mtx.gz", 3, "--topology", "1,2", "--values", num_values,
                          "--routes", "three_step")

            self.assertEqual(found["values"], num_values)
            self.assertEqual(found["item_bytes"], 8 * num_values)
            self.assertTrue(all(contender["verified"] for contender in found["contenders"]))

    def test_BaselineTakesPartOrIsLeftOutWithAReason(self):
        names = ["petsc_sf_neighbor", "mpi_persistent", *FORMS_OF_DROP_IN, *FORMS_OF_MPI, "petsc_sf_basic",
                 "petsc_sf_crossdock"]
        no_petsc, no_init = "this build has no PETSc", "this MPI has no MPI_Neighbor_alltoallv_init"
        no_drop_in = "libcrossdock_mpi.so is not installed: it is built where Boost.Context is found"
        reasons = {"petsc_sf_neighbor": {no_petsc}, "petsc_sf_basic": {no_petsc},
                   "petsc_sf_crossdock": {no_petsc, "this build has PETSc, but not its type crossdock"},
                   "mpi_neighbor_alltoallv_init": {no_init}, "drop_in:persistent": {no_drop_in, no_init},
                   "drop_in:nonblocking": {no_drop_in}, "drop_in:blocking": {no_drop_in}}

        found = bench(DATA / "D_10.mtx.gz", 4, "--topology", "2x2", "--item-bytes", 24,
                      "--baselines", ",".join(names), "--routes", "direct")

        took_part = [one for one in found["contenders"] if one["name"] in names]
        left_out = [one["name"] for one in found["left_out"]]
        self.assertEqual([one["name"] for one in took_part],
                         [name for name in names if name not in left_out])
        for one in took_part:
            self.assertTrue(one["verified"], one["name"])
            self.assertIsNone(one["executor"])
        for one in found["left_out"]:
            self.assertIn(one["reason"], reasons[one["name"]])

    def test_EveryFormOfTheDropInIsRightOnARoute(self):
        # Where the route is given, MPI is not compared with it.
        environment = {"CROSSDOCK_ROUTE": "three_step", "CROSSDOCK_TOPOLOGY": "2,3"}
        for more in (["--overlap"], ["--direction", "reverse", "--item-bytes", 24]):
            found = crossdock_json("bench", "neighbor", DATA / "D_10.mtx.gz", "--routes", "direct", "--set-ups", 2,
                                   "--iterations", 2, *more, ranks=5, environment=environment)

            self.assertTrue(all(one["verified"] for one in found["contenders"]))
            self.assertEqual([one["name"] for one in found["contenders"] if one["name"].startswith("drop_in:")],
                             [name for name in FORMS_OF_DROP_IN
                              if name not in [one["name"] for one in found["left_out"]]])

    def test_DropInIsCalledByItsContendersOnly(self):
        def contest(*names):
            return ("bench", "neighbor", "dense:1", "--topology", "1,2", "--routes", "direct", "--set-ups", 1,
                    "--iterations", 1, "--baselines", ",".join(names))

        wrong = {"CROSSDOCK_ROUTE": "sideways"}
        found = crossdock_json(*contest("mpi_neighbor_alltoallv", "mpi_ineighbor_alltoallv"), ranks=3,
                               environment=wrong)
        self.assertTrue(all(one["verified"] for one in found["contenders"]))

        # Other MPIs do all themselves.
        is_taken_over = found["mpi"].startswith("Open MPI")
        for name in FORMS_OF_DROP_IN:
            done = crossdock(*contest("mpi_persistent", name), ranks=3, environment=wrong)
            if not is_taken_over or "without drop_in" in done.stdout:
                continue
            self.assertNotEqual(done.returncode, 0)
            self.assertIn('no route is called "sideways"', done.stderr)

    def test_EveryLevelOfAHierarchyIsTimedAndAllTogether(self):
        parts = {"part0.txt.gz": "level 0 rows 8 ranks 4 starts 0 2 4 6 8\n"
                                 "0 1 1 0\n0 2 2 0 1\n1 2 1 1\n1 3 1 1\n"
                                 "level 1 rows 2 ranks 4 starts 0 0 1 1 2\n1 3 1 0\n",
                 "part1.txt.gz": "level 0\n3 0 1 1\nlevel 1\n3 1 1 0\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in parts.items():
                (pathlib.Path(folder) / name).write_bytes(gzip.compress(text.encode()))
            for direction in ("forward", "reverse"):
                found = bench(f"amg:{folder}", 2, "--topology", "1,1", "--routes", "direct",
                              "--direction", direction)

                counts = [{(one["verified"], one["messages"], one["items"])
                           for one in level["contenders"]}
                          for level in [*found["levels"], found]]
                self.assertEqual(counts, [{(True, 2, 4)}, {(True, 2, 2)}, {(True, 4, 6)}])
                self.assertEqual([(level["level"], level["rows"]) for level in found["levels"]],
                                 [(0, 8), (1, 2)])

    def test_HierarchyIsMadeOfAnyMatrixWherePetscIs(self):
        for file, rows in [("msc01050", 1050), ("bcspwr10", 5300)]:
            arguments = ("bench", "neighbor", DATA / f"{file}.mtx.gz", "--topology", "1,2",
                         "--partition", "random:1", "--routes", "direct", "--iterations", 2,
                         "--baselines", "mpi_persistent", "--set-ups", 1)
            done = crossdock(*arguments, "--amg", "--json", ranks=3)
            if "this build has no PETSc" in done.stderr:
                self.assertEqual(done.returncode, 2)
                continue
            found = json.loads(done.stdout)
            finest = found["levels"][0]
            plain = crossdock_json(*arguments, ranks=3)

            sizes = [level["rows"] for level in found["levels"]]
            self.assertEqual(sizes[0], rows)
            self.assertEqual(sizes, sorted(set(sizes), reverse=True))
            self.assertGreater(len(sizes), 2)
            for level in [*found["levels"], found]:
                self.assertTrue(all(one["verified"] for one in level["contenders"]))
            for name in ("messages", "items", "inter_region_items"):
                self.assertEqual(finest["contenders"][0][name], plain["contenders"][0][name])
                self.assertEqual(sum(level["contenders"][0][name] for level in found["levels"]),
                                 found["contenders"][0][name])

    def test_ProductsAreTimedBesideExchanges(self):
        found = bench(DATA / "D_10.mtx.gz", 5, "--topology", "2,3", "--routes", "direct,auto", "--product")

        for contender in found["contenders"]:
            self.assertTrue(contender["verified"], contender["name"])
            bench_record.check_seconds(self, contender["product_seconds"])

    def test_ProductsAreShownToTheFastestOfMpi(self):
        done = crossdock("bench", "neighbor", DATA / "D_10.mtx.gz", "--topology", "1,2", "--routes", "direct",
                         "--baselines", "mpi_persistent", "--iterations", 2, "--set-ups", 1, "--product", ranks=3)

        (header,) = [line for line in done.stdout.splitlines() if "local" in line and "contender" in line]
        self.assertEqual(header.split(),
                         ["contender", "executor", "dedup", "min", "median", "max", "ratio", "exchange", "local"])
        self.assertIn("local = product - exchange, of medians; -: less than they vary", done.stdout)

    def test_OverlapIsWhatExchangeAndComputationSave(self):
        for direction in ("forward", "reverse"):
            found = bench("dense:40", 3, "--topology", "1,2", "--direction", direction, "--overlap")

            for contender in found["contenders"]:
                overlap = contender["overlap"]
                medians = []
                for name in ("exchange_seconds", "compute_seconds", "together_seconds"):
                    bench_record.check_seconds(self, overlap[name])
                    medians.append(overlap[name]["median"])
                hidden = medians[0] + medians[1] - medians[2]
                self.assertAlmostEqual(overlap["hidden_seconds"], hidden)
                self.assertAlmostEqual(overlap["efficiency"], hidden / medians[0])

    def test_EveryExecutorRunsEveryRoute(self):
        found = bench("dense:2", 3, "--topology", "1,2", "--routes", "direct,two_step",
                      "--executors", "auto,shared_memory,persistent",
                      "--baselines", "mpi_persistent")

        self.assertEqual([(one["name"], one["dedup"], one["executor"], one["verified"])
                          for one in found["contenders"][1:]],
                         [(route, dedup, executor, True) for route in ("direct", "two_step")
                          for dedup in (False, True)
                          for executor in ("auto", "shared_memory", "persistent")])

    def test_PartitionIsUsed(self):
        found = bench(DATA / "D_10.mtx.gz", 4, "--topology", "2x2", "--partition", "random:7",
                      "--routes", "direct")

        self.assertEqual(found["partition"], "random:7")
        self.assertTrue(all(contender["verified"] for contender in found["contenders"]))

    def test_TableComparesWithTheFastestOfMpi(self):
        done = crossdock("bench", "neighbor", "dense:1", "--topology", "2x2", "--routes", "direct",
                         "--baselines", "mpi_persistent,mpi_neighbor_alltoallv",
                         "--executors", "persistent",
                         "--iterations", 2, "--set-ups", 1, ranks=4)

        rows = bench_record.check_ratios(self, done.stdout, "mpi_persistent", "mpi_neighbor_alltoallv")
        self.assertEqual([row["contender"] for row in rows],
                         ["mpi_persistent", "mpi_neighbor_alltoallv", "direct", "direct"])
        self.assertIn("1.00", [row["ratio"] for row in rows[:2]])
        self.assertEqual(list(rows[0].values())[-4:], ["12", "8", "12", "8"])


if __name__ == "__main__":
    bench_record.main(GOLDEN, record)
