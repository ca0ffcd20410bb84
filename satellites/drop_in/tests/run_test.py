"""`crossdock run`: a program that is not linked with crossdock is taken over, and only what is said is set."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.append(str(pathlib.Path(__file__).parents[3] / "tests/tools"))
import html_page

RUN = [os.environ["CROSSDOCK_TOOL"], "run"]
RANKS = [*os.environ["CROSSDOCK_MPIRUN"].split(), "3"]
PROGRAM = [*RANKS, os.environ["CROSSDOCK_PLAIN"], "--exchanges", "50"]
OVERLAPPING = [*RANKS, os.environ["CROSSDOCK_OVERLAPPING"]]
TWO_PLACES = [*RANKS, os.environ["CROSSDOCK_TWO_PLACES"]]
ROW_GATHERER = [*RANKS, os.environ["CROSSDOCK_ROW_GATHERER"], "12"]
WITHOUT_NEIGHBORS = [*RANKS, os.environ["CROSSDOCK_WITHOUT_NEIGHBORS"]]
BAD_INPUT = 2


def link_with(library, folder):
    """A program that is linked with a library of this name, for which it takes another than MPI's."""
    program, library = os.path.join(folder, "app"), os.path.join(folder, library)
    compiler = [os.environ["CROSSDOCK_CC"], "-x", "c", "-"]
    subprocess.run([*compiler, "-shared", "-Wl,-soname," + os.path.basename(library), "-o", library], check=True,
                   text=True, input="int MPI_Barrier(void* comm) { return !comm; }")
    subprocess.run([*compiler, "-x", "none", library, "-o", program], check=True, text=True,
                   input="int MPI_Barrier(void*); int main() { return MPI_Barrier(0); }")
    return program


def run(*words, **environment):
    return subprocess.run(["timeout", "60", *RUN, *words], check=False, capture_output=True, text=True,
                          env=os.environ | environment)


class Run(unittest.TestCase):
    def reported(self, program, *options):
        """The lines of its report."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "report.json")
            done = run(*options, "--", *program, CROSSDOCK_REPORT=file)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(file, encoding="utf-8") as lines:
                return [json.loads(line) for line in lines]

    def test_SaysWhatItSetsAndRunsTheProgram(self):
        done = run("--route", "three_step", "--topology", "1,2", "--executor", "persistent", "--", *PROGRAM)

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(", 0 differences", done.stdout)
        said = [line.split("=") for line in done.stderr.splitlines()]
        self.assertEqual([name for name, _ in said],
                         ["crossdock: LD_PRELOAD", "crossdock: CROSSDOCK_ROUTE", "crossdock: CROSSDOCK_TOPOLOGY",
                          "crossdock: CROSSDOCK_EXECUTOR"])
        self.assertTrue(said[0][1].split(":")[0].endswith("/libcrossdock_mpi.so"))
        self.assertEqual([value for _, value in said[1:]], ["three_step", "1,2", "persistent"])

    def test_TakesTheProgramsCallsOver(self):
        # A program that looks at error codes, since Open MPI 4.1 sometimes loses the message of one that ends.
        done = run("--route", "sideways", "--", *OVERLAPPING)

        self.assertIn('no route is called "sideways"', done.stdout)
        self.assertNotEqual(run("--route", "sideways", "--", *PROGRAM).returncode, 0)

    @unittest.skipUnless("Open MPI" in subprocess.run([RANKS[0], "--version"], check=False, capture_output=True,
                                                      text=True).stdout, "ranks of other nodes get all variables")
    def test_TellsTheLauncherWhatRanksOfOtherNodesNeed(self):
        with tempfile.TemporaryDirectory() as folder:
            launcher = os.path.join(folder, "mpirun")
            with open(launcher, "w", encoding="utf-8") as script:
                script.write('#!/bin/sh\necho "$@"\n')
            os.chmod(launcher, 0o755)

            done = run("--route", "direct", "--", launcher, "-n", "2", "./app", "-x", CROSSDOCK_REPORT="1")

        words = done.stdout.split()
        self.assertEqual(words[-4:], ["-n", "2", "./app", "-x"])
        self.assertEqual(set(words[0:-4:2]), {"-x"})
        mine = {"LD_PRELOAD", "CROSSDOCK_ROUTE", "CROSSDOCK_REPORT"}
        self.assertLessEqual(mine, set(words[1:-4:2]))

    def test_TakesNothingOverWhereItIsOff(self):
        done = run("--route", "sideways", "--", *PROGRAM, CROSSDOCK_OFF="1")

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(", 0 differences", done.stdout)

    def test_SaysWhatWasDone(self):
        calls = self.reported(OVERLAPPING, "--route", "three_step", "--topology", "1,2")

        [call] = calls
        self.assertEqual((call["schema"], call["communicator"]), ("crossdock.drop_in/1", 0))
        self.assertEqual(call["function"], "MPI_Neighbor_alltoallv")
        self.assertRegex(call["place"], "^drop_in_overlapping:")
        self.assertEqual((call["ranks"], call["calls"], call["along_plan"], call["why"]), (3, 1, 1, "asked for"))
        plan = call["plan"]
        self.assertEqual((plan["route"], plan["is_used"], plan["most_neighbors"], plan["bytes"]),
                         ("three_step", True, 2, 6 * 4))
        # Rank 0 and the two ranks of the other region exchange a message each way, of which three_step makes one.
        self.assertEqual(plan["messages_between_regions"], {"direct": 4, "route": 2})
        self.assertEqual(call["mpi_seconds"], plan["trial_seconds"]["mpi"])

    def test_GinkgosLoopFollowsAPlanAndGetsMpisValues(self):
        expected = subprocess.run(ROW_GATHERER, check=True, capture_output=True, text=True).stdout
        self.assertRegex(expected, "^values [0-9a-f]{16}$")
        for route in ("direct", "three_step", "hypercube"):
            options = ("--take", "alltoallv", "--topology", "1,2", "--route", route)
            self.assertEqual(run(*options, "--", *ROW_GATHERER).stdout, expected)

        counts = {call["function"]: (call["calls"], call["along_plan"])
                  for call in self.reported(ROW_GATHERER, *options)}
        self.assertEqual(counts, {"MPI_Alltoall": (1, 1), "MPI_Ialltoallv": (12, 12)})

    def test_PlacesShareAPlanAndOnePaysForIt(self):
        first, second = self.reported(TWO_PLACES, "--route", "three_step", "--topology", "1,2")

        self.assertEqual([(one["communicator"], one["calls"], one["along_plan"]) for one in (first, second)],
                         [(0, 3, 3), (0, 20, 20)])
        self.assertEqual(first["plan"], second["plan"])
        self.assertGreater(first["set_up_seconds"], 0)
        self.assertEqual(second["set_up_seconds"], 0)
        trial = second["plan"]["trial_seconds"]
        self.assertAlmostEqual(second["mpi_seconds"], 20 * trial["mpi"])
        self.assertAlmostEqual(second["saved_seconds"], 20 * (trial["mpi"] - trial["route"]))
        self.assertAlmostEqual(first["saved_seconds"],
                               3 * (trial["mpi"] - trial["route"]) - first["set_up_seconds"])

    def test_BlockingCallsNeedNoCallback(self):
        first, second = self.reported(TWO_PLACES, "--route", "three_step", "--topology", "1,2", "--progress", "calls")

        self.assertEqual([(one["calls"], one["along_plan"]) for one in (first, second)], [(3, 3), (20, 20)])

    def test_CallsThatReturnEarlyAreMpisWithoutACallbackWhereThereMayBeThreads(self):
        threads = {"OMPI_MPI_THREAD_LEVEL": "3", "MPIR_CVAR_DEFAULT_THREAD_LEVEL": "MPI_THREAD_MULTIPLE"}
        with unittest.mock.patch.dict(os.environ, threads):
            calls = self.reported(WITHOUT_NEIGHBORS, "--route", "direct", "--progress", "calls")

        self.assertEqual({(call["function"] == "MPI_Neighbor_alltoallv", call["along_plan"], call["why"])
                          for call in calls}, {(True, 40, "asked for"), (False, 0, "not blocking")})

    def test_OthersPollWithoutACallback(self):
        calls = self.reported(WITHOUT_NEIGHBORS, "--route", "direct", "--progress", "calls")

        self.assertEqual({(call["along_plan"], call["why"]) for call in calls}, {(40, "asked for")})

    def test_SaysWhyNothingWasPlanned(self):
        [call] = self.reported(OVERLAPPING)

        self.assertEqual((call["calls"], call["along_plan"], call["why"], call["plan"]),
                         (1, 0, "counts did not repeat", None))

    def test_TrialDecidesForAllPlacesOfACommunicator(self):
        first, second = self.reported(TWO_PLACES)

        is_used = first["plan"]["is_used"]
        self.assertEqual(first["plan"], second["plan"])
        self.assertEqual((first["along_plan"], second["along_plan"]), (1, 20) if is_used else (0, 0))
        self.assertEqual({first["why"], second["why"]}, {"faster than MPI" if is_used else "not faster than MPI"})

    def test_ProgramsControlTheReport(self):
        def lines(*levels):
            return run("--route", "direct", "--", *TWO_PLACES, *levels, CROSSDOCK_REPORT="1").stderr.splitlines()

        others = [line for line in lines("0") if not line.startswith(("crossdock: LD_PRELOAD", "crossdock: CROSSDOCK_ROUTE"))]
        self.assertEqual(others, [])
        self.assertEqual(len(lines("0", "1")), len(lines()))

    def test_RanksThatAreNotAllAskedForAReportGiveNone(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "report.json")
            asked = os.path.join(folder, "asked")
            pathlib.Path(asked).write_text('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" = 1 ] && '
                                           'unset CROSSDOCK_REPORT\nexec "$@"\n', encoding="utf-8")
            os.chmod(asked, 0o755)

            done = run("--", *RANKS, asked, *TWO_PLACES[len(RANKS):], CROSSDOCK_REPORT=file)

            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertFalse(os.path.exists(file))

    def test_PrintsATable(self):
        done = run("--route", "direct", "--", *OVERLAPPING, CROSSDOCK_REPORT="1")

        table = [line.split() for line in done.stderr.splitlines() if not line.startswith("crossdock: ")]
        self.assertEqual(table[0][:4], ["call", "comm", "ranks", "neighbors"])
        self.assertEqual(table[1][:10],
                         ["MPI_Neighbor_alltoallv", "0", "3", "2", "1", "1", "direct", "asked", "for", "24"])
        # One exchange seldom makes up for its set-up.
        self.assertRegex(done.stderr.splitlines()[-1],
                         "^crossdock: (lost about .* s in set-ups and 1 exchange|"
                         "saved about .* s of .* s in 1 exchange)$")

    def test_SaysThatNoExchangeFollowedAPlan(self):
        done = run("--", *OVERLAPPING, CROSSDOCK_REPORT="1")

        self.assertEqual(done.stderr.splitlines()[-1],
                         "crossdock: no exchange followed a plan; set-ups took about 0 s")

    def test_ReportIsDrawn(self):
        with tempfile.TemporaryDirectory() as folder:
            file, page = os.path.join(folder, "report.json"), os.path.join(folder, "report.html")
            done = run("--route", "three_step", "--topology", "1,2", "--", *TWO_PLACES, CROSSDOCK_REPORT=file)
            self.assertEqual(done.returncode, 0, done.stderr)
            drawn = subprocess.run([os.environ["CROSSDOCK_TOOL"], "report", file, "-o", page], check=False,
                                   capture_output=True, text=True)
            self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
            with open(page, encoding="utf-8") as text:
                read = html_page.Reader(text.read())
            with open(file, encoding="utf-8") as lines:
                places = [json.loads(line)["place"] for line in lines]

        _, *rows = read.tables["calls"]
        self.assertEqual([row[:7] for row in rows], [
            [[f"{at}: MPI_Neighbor_alltoallv", f"communicator 0, {place}"], ["3"], ["2"], ["24"],
             [number, f"{number} by plan"], ["three_step", "asked for"], ["2", "4 direct"]]
            for at, place, number in [(1, places[0], "3"), (2, places[1], "20")]])

    def test_ComparesWithMpi(self):
        # Blocks that overlap are the program's fault; one of them is not what MPI brings.
        done = run("--route", "direct", "--", *OVERLAPPING, CROSSDOCK_VERIFY="1")

        self.assertEqual(done.stdout, "crossdock: rank 1: byte 0 of block 0, from rank 0, is 0x03 by the route and "
                         "0x01 by MPI\n")
        self.assertEqual(run("--route", "direct", "--", *OVERLAPPING).stdout, "")

    def test_WritesPatternsThatToolsRead(self):
        with tempfile.TemporaryDirectory() as folder:
            run("--route", "direct", "--", *OVERLAPPING, CROSSDOCK_RECORD=folder)

            self.assertEqual(sorted(os.listdir(folder)), ["graph0.0.mtx", "graph0.0.owners"])
            pattern = os.path.join(folder, "graph0.0")
            done = subprocess.run([os.environ["CROSSDOCK_TOOL"], "explain", pattern + ".mtx", "--partition",
                                   pattern + ".owners", "--ranks", "3", "--topology", "1,2", "--json"],
                                  check=True, capture_output=True, text=True)
            with open(pattern + ".mtx", encoding="utf-8") as matrix:
                lines = matrix.read().splitlines()
        self.assertEqual(lines[1:3], ["% items of 4 bytes", "6 6 6"])
        self.assertEqual(sorted(lines[3:]), ["1 3", "1 6", "3 2", "3 5", "5 1", "5 4"])
        self.assertTrue(json.loads(done.stdout))

    def test_RanksWithoutNeighborsAreLeftOut(self):
        with tempfile.TemporaryDirectory() as folder:
            calls = self.reported(WITHOUT_NEIGHBORS, "--route", "three_step", "--topology", "1,2", "--record", folder)

            # Of 3 ranks, rank 1 sends to itself.
            self.assertEqual({(call["ranks"], call["along_plan"]) for call in calls}, {(1, 40)})
            self.assertEqual({name.split(".")[0] for name in os.listdir(folder)}, {"rank1"})

    def test_ProgramOfAnotherMpiIsToldWhichBuildItNeeds(self):
        served = []
        for library, family in [("libmpi.so.40", "Open MPI"), ("libmpi.so.12", "MPICH"), ("libmpich.so.12", "MPICH"),
                                ("libmpi_gnu_123.so.12", "MPICH"), ("libmpi_abi.so.1", "the MPI-5 ABI")]:
            with tempfile.TemporaryDirectory() as folder, self.subTest(library):
                program = link_with(library, folder)
                done = run("--", "echo", program)
                by_name = run("--", "env", "echo", "app", PATH=folder + ":" + os.environ["PATH"])
                if done.returncode == 0:
                    self.assertEqual((done.stdout, by_name.returncode), (program + "\n", 0))
                    served.append(family)
                    continue
                self.assertEqual((done.returncode, by_name.returncode), (BAD_INPUT, BAD_INPUT))
                self.assertEqual((done.stdout, done.stderr), ("", by_name.stderr))
                said = f"crossdock: {program} needs a crossdock that is built with {family}, since it is linked with " \
                       f"{library}; this one is built with "
                self.assertEqual(done.stderr[:len(said)], said)

        self.assertEqual(len(set(served)), 1)

    def test_FilesThatAreNoProgramsAreArguments(self):
        with tempfile.TemporaryDirectory() as folder:
            program = link_with("libmpi_abi.so.0", folder)
            with open(program, "rb") as file:
                whole = file.read()
            for size in (0, 3, 40, 64, 100, 200, 400):
                with open(program, "wb") as file:
                    file.write(whole[:size])
                self.assertEqual(run("--", "echo", program, folder).returncode, 0)

    def test_CommandThatIsMissing(self):
        self.assertNotEqual(run().returncode, 0)

        done = run("--", "/no/such/command")

        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertEqual(done.stderr.splitlines()[-1],
                         "crossdock: /no/such/command cannot be started: No such file or directory")


if __name__ == "__main__":
    unittest.main()
