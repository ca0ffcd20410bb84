#!/usr/bin/env python3
"""Programs that know nothing of crossdock, under libcrossdock_hypre.so.

environment: CROSSDOCK_MPIRUN, the launcher up to the number of ranks; CROSSDOCK_RANKS, how many; CROSSDOCK_HYPRE, the
library; CROSSDOCK_TOOL, the command line, or nothing; CROSSDOCK_SOLVE and CROSSDOCK_CALLS, the programs;
CROSSDOCK_PETSC_SOLVE, one that lets PETSc use hypre, or nothing
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import measure

FOLDER = pathlib.Path(__file__).parents[1]
PROJECT = FOLDER.parents[1]
RANKS = int(os.environ["CROSSDOCK_RANKS"])
TOPOLOGY = {2: "2x1", 5: "2,3", 8: "2x4"}[RANKS]
ROUTES = [{}, {"CROSSDOCK_ROUTE": "three_step", "CROSSDOCK_TOPOLOGY": TOPOLOGY}, {"CROSSDOCK_ROUTE": "hypercube"}]


def run(program, arguments="", wrapper=(), **environment):
    command = [*os.environ["CROSSDOCK_MPIRUN"].split(), str(RANKS), *wrapper, os.environ[program], *arguments.split()]
    return subprocess.run(["timeout", "120", *command], check=False, capture_output=True, text=True,
                          env=os.environ | {"OMP_NUM_THREADS": "1"} | environment)


def all_but_one(folder, variable):
    """Begins programs without the variable on rank 1."""
    script = pathlib.Path(folder) / "begin"
    script.write_text('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" = 1 ] && '
                      f'unset {variable}\nexec "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return [str(script)]


def reported(program, arguments="", **environment):
    """The lines of its report."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        done = run(program, arguments, CROSSDOCK_REPORT=file, **environment)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        with open(file, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


class Client(unittest.TestCase):
    def compare(self, program, arguments):
        expected = run(program, arguments)
        self.assertEqual(expected.returncode, 0, expected.stderr)
        self.assertGreater(expected.stdout.count("0x"), 3)
        for route in ROUTES:
            with self.subTest(arguments=arguments, route=route):
                found = run(program, arguments, LD_PRELOAD=os.environ["CROSSDOCK_HYPRE"], **route)
                self.assertEqual((found.stdout, found.returncode), (expected.stdout, 0), found.stderr)

    def test_ResidualsAreHypresToTheLastBit(self):
        self.compare("CROSSDOCK_SOLVE", "27pt 5 4")
        self.compare("CROSSDOCK_SOLVE", "rotated 12 4")

    @unittest.skipUnless(os.environ["CROSSDOCK_PETSC_SOLVE"], "PETSc has no hypre")
    def test_ResidualsOfPetscAre(self):
        self.compare("CROSSDOCK_PETSC_SOLVE", "-ksp_type gmres -pc_type hypre -wind 3")

    def test_AllUsesFromTheThirdOnFollowThePlan(self):
        lines = reported("CROSSDOCK_CALLS", CROSSDOCK_ROUTE="three_step", CROSSDOCK_TOPOLOGY=TOPOLOGY)
        first = {line["function"]: (line["calls"], line["along_plan"]) for line in lines if line["communicator"] == 0}
        self.assertEqual(first, {f"hypre job {job}": (6, 4) for job in (1, 2, 11, 12, 21, 22)})
        # The next package has a vote that comes too late, and hypre's messages; the one after it has a plan again.
        counts = {line["communicator"]: (line["calls"], line["along_plan"]) for line in lines}
        self.assertEqual({number: counts.get(number) for number in (1, 2)}, {1: None, 2: (6, 4)})

    def test_TheSolversExchangesFollowPlans(self):
        cycles = 8
        lines = reported("CROSSDOCK_SOLVE", f"27pt 5 {cycles}", LD_PRELOAD=os.environ["CROSSDOCK_HYPRE"],
                         CROSSDOCK_ROUTE="direct")
        counts = collections.Counter()
        for line in lines:
            self.assertEqual(line["along_plan"], line["calls"] - 2, line)
            counts[line["function"]] += line["calls"]
        # Two solves; on each level but the last one two relaxations, a residual, a restriction and an interpolation.
        self.assertGreaterEqual(counts["hypre job 1"], 2 * 4 * cycles)
        self.assertGreaterEqual(counts["hypre job 2"], 2 * cycles)

    @unittest.skipUnless(os.environ["CROSSDOCK_TOOL"], "there is no command line")
    def test_TheCommandLinePreloadsIt(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "report.json")
            command = [os.environ["CROSSDOCK_TOOL"], "run", "--route", "direct", "--report", file, "--",
                       *os.environ["CROSSDOCK_MPIRUN"].split(), str(RANKS), os.environ["CROSSDOCK_SOLVE"],
                       *"27pt 5 4".split()]
            done = subprocess.run(["timeout", "120", *command], check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, run("CROSSDOCK_SOLVE", "27pt 5 4").stdout)
            with open(file, encoding="utf-8") as lines:
                counts = [(one["along_plan"], one["calls"] - 2) for one in map(json.loads, lines)
                          if one["function"].startswith("hypre job ")]
            self.assertGreater(len(counts), 2)
            self.assertEqual([one for one in counts if one[0] != one[1]], [])

    @unittest.skipUnless("Open MPI" in subprocess.run([os.environ["CROSSDOCK_MPIRUN"].split()[0], "--version"],
                                                      check=False, capture_output=True, text=True).stdout,
                         "the page has Open MPI's options")
    def test_TheCommandsOfThePageRun(self):
        page = (FOLDER / "docs/hypre.md").read_text(encoding="utf-8")
        install, build, start = re.findall(r"^    (.*)$", page.partition("## Unchanged programs")[2], re.MULTILINE)[:3]
        self.assertEqual(install.split()[0], "scripts/install-dependencies")
        # In the build that is tested, which has the same target and no other libraries.
        preset, compile_it = build.split(" && ")
        presets = json.loads((PROJECT / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
        self.assertIn(preset.removeprefix("cmake --preset "), [one["name"] for one in presets])
        folder = pathlib.Path(os.environ["CROSSDOCK_HYPRE"]).parent
        compile_it = compile_it.replace("build/install", str(folder)).split()
        subprocess.run(compile_it, check=True, capture_output=True, timeout=250)
        start = start.replace("$PWD/build/install", str(folder)).replace("./app", os.environ["CROSSDOCK_SOLVE"])
        words = [*start.split(), *"27pt 5 4".split()]
        done = subprocess.run(["timeout", "120", *words], check=False, capture_output=True, text=True,
                              env=os.environ | {"CROSSDOCK_REPORT": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("hypre job 1", done.stderr)

    def test_TheTablesAreThoseOfTheirRecord(self):
        page = (FOLDER / "docs/hypre.md").read_text(encoding="utf-8").splitlines()
        lines = (FOLDER / "docs/unchanged.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [row(one) for one in map(json.loads, lines) for row in (measure.row_of, measure.row_of_levels)]
        self.assertEqual([row for row in rows if row not in page], [])

    def test_ARouteThatThereIsNotIsTold(self):
        self.assertNotEqual(run("CROSSDOCK_CALLS", CROSSDOCK_ROUTE="sideways").returncode, 0)

    def test_NothingIsTakenIfItIsOff(self):
        self.assertEqual(run("CROSSDOCK_CALLS", CROSSDOCK_ROUTE="sideways", CROSSDOCK_OFF="1").returncode, 0)

    def test_RanksThatAreNotAllAskedForAReportGiveNone(self):
        for route in ROUTES:
            with self.subTest(route=route), tempfile.TemporaryDirectory() as folder:
                lines = reported("CROSSDOCK_CALLS", wrapper=all_but_one(folder, "CROSSDOCK_REPORT"), **route)
                # Other communicators have every second rank.
                self.assertEqual({line["ranks"] for line in lines}, {(RANKS + 1) // 2})

    def test_NothingIsTakenIfItIsOffOnSomeRanks(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("CROSSDOCK_CALLS", wrapper=all_but_one(folder, "CROSSDOCK_OFF"), CROSSDOCK_ROUTE="sideways",
                       CROSSDOCK_OFF="1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
