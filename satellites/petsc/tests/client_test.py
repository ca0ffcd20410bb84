#!/usr/bin/env python3
"""A program that knows nothing of crossdock, and gets its star forests from PETSc's options.

environment: CROSSDOCK_MPIRUN, the launcher up to the number of ranks; CROSSDOCK_RANKS, how many; CROSSDOCK_SOLVE, the
program; CROSSDOCK_PETSC, libcrossdock_petsc.so; CROSSDOCK_STAR_FOREST, its tests; CROSSDOCK_HAS_HYPRE, "1" where PETSc
has it; CROSSDOCK_DROP_IN, libcrossdock_mpi.so, or nothing where it is not built
"""
import os
import subprocess
import unittest

RANKS = int(os.environ["CROSSDOCK_RANKS"])
LOADED = f"-dll_append {os.environ['CROSSDOCK_PETSC']} -sf_type crossdock"
TOPOLOGIES = {1: "1x1", 2: "2x1", 5: "2,3", 8: "2x4"}
DROP_IN = os.environ["CROSSDOCK_DROP_IN"]
# In other ways PETSc multiplies matrices in the order in which messages come, and GAMG's bits differ from run to run.
IN_ORDER = "-matptap_via allatonce" if RANKS > 1 else ""
SOLVERS = ["-ksp_type cg -pc_type jacobi", f"-ksp_type gmres -pc_type gamg -wind 3 {IN_ORDER}",
           "-ksp_type cgne -pc_type none -wind 1"]
if os.environ["CROSSDOCK_HAS_HYPRE"] == "1":
    SOLVERS.append("-ksp_type gmres -pc_type hypre -wind 3")


def run(arguments, options="", program="CROSSDOCK_SOLVE", **environment):
    command = [*os.environ["CROSSDOCK_MPIRUN"].split(), str(RANKS), os.environ[program], *arguments.split()]
    return subprocess.run(["timeout", "120", *command], check=False, capture_output=True, text=True,
                          env=os.environ | {"OMP_NUM_THREADS": "1", "PETSC_OPTIONS": options} | environment)


class Client(unittest.TestCase):
    def test_ResidualsAreThoseOfBasicToTheLastBit(self):
        for solver in SOLVERS:
            expected = run(solver, "-sf_type basic")
            self.assertEqual(expected.returncode, 0, expected.stderr)
            self.assertGreater(expected.stdout.count("0x"), 5)
            for route in ["auto", "direct", "three_step", "hypercube"]:
                with self.subTest(solver=solver, route=route):
                    found = run(solver, f"{LOADED} -sf_crossdock_route {route}", CROSSDOCK_TOPOLOGY=TOPOLOGIES[RANKS])
                    self.assertEqual((found.stdout, found.returncode), (expected.stdout, 0), found.stderr)

    @unittest.skipUnless(RANKS > 2, "a rank that exchanges nothing, and two that do")
    def test_ARankMayHaveNoRows(self):
        solver = f"{SOLVERS[0]} -last_is_empty"
        expected = run(solver, "-sf_type basic")
        self.assertEqual(expected.returncode, 0, expected.stderr)
        self.assertGreater(expected.stdout.count("0x"), 5)
        for route in ["auto", "three_step"]:
            regions = {"CROSSDOCK_TOPOLOGY": TOPOLOGIES[RANKS]}
            found = [run(solver, f"{LOADED} -sf_crossdock_route {route}", **regions)]
            if DROP_IN:
                # PETSc's own type leaves out calls on ranks without edges.
                found.append(run(solver, "-sf_type neighbor", LD_PRELOAD=DROP_IN, CROSSDOCK_ROUTE=route, **regions))
            for done in found:
                with self.subTest(command=done.args):
                    self.assertEqual((done.stdout, done.returncode), (expected.stdout, 0), done.stderr)

    def test_LogViewCountsAndTimesExchanges(self):
        def counts(options):
            done = run(SOLVERS[0], f"{options} -log_view")
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = [line.split() for line in done.stdout.splitlines()]
            return {row[0]: row[1] for row in rows if row and row[0] in ("SFSetUp", "VecScatterBegin", "VecScatterEnd")}

        self.assertEqual(counts(LOADED), counts("-sf_type basic"))
        self.assertEqual(len(counts(LOADED)), 3 if RANKS > 1 else 0)

    def test_HelpHasTheOptions(self):
        said = run("-help -sf_type crossdock --gtest_filter=*Bcast*", program="CROSSDOCK_STAR_FOREST").stdout
        for option in ["route", "executor", "explain"]:
            self.assertIn(f"-sf_crossdock_{option}", said)

    def test_ExplainsItsRoutes(self):
        said = run("-ksp_max_it 2", f"{LOADED} -sf_crossdock_explain -sf_crossdock_route direct").stdout
        self.assertEqual("PetscSF of type crossdock, roots to leaves\ndirect  given\n" in said, RANKS > 1, said)
        self.assertEqual("PetscSF of type crossdock, leaves to roots\ndirect  given\n" in said, RANKS > 1, said)

    def test_SaysInInfoWhereItIsBasic(self):
        said = run("-info --gtest_filter=*Bcast*", program="CROSSDOCK_STAR_FOREST").stdout
        self.assertEqual("as type basic: there is one rank" in said, RANKS == 1)

    def test_FaultsEndOnAllRanks(self):
        for option, sentence in [("-sf_crossdock_route nowhere", 'no route is called "nowhere"'),
                                 ("-sf_crossdock_route grid:0", "grid"),
                                 ("-sf_crossdock_executor nobody", "nobody")]:
            done = run("", f"{LOADED} {option}")
            self.assertEqual(done.returncode != 0, RANKS > 1, option)
            self.assertEqual(sentence in done.stdout + done.stderr, RANKS > 1, done.stderr)
            self.assertNotEqual(done.returncode, 124, option)


if __name__ == "__main__":
    unittest.main()
