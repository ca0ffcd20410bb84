"""`crossdock run`: a program that is not linked with crossdock is taken over, and only what is said is set."""

import os
import subprocess
import tempfile
import unittest

RUN = [os.environ["CROSSDOCK_TOOL"], "run"]
PROGRAM = [*os.environ["CROSSDOCK_MPIRUN"].split(), "3", os.environ["CROSSDOCK_PLAIN"], "--exchanges", "50"]
BAD_INPUT = 2


def run(*words, **environment):
    return subprocess.run(["timeout", "60", *RUN, *words], check=False, capture_output=True, text=True,
                          env=os.environ | environment)


class Run(unittest.TestCase):
    def test_SaysWhatItSetsAndRunsTheProgram(self):
        done = run("--route", "three_step", "--topology", "1,2", "--", *PROGRAM)

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(", 0 differences", done.stdout)
        said = [line.split("=") for line in done.stderr.splitlines()]
        self.assertEqual([name for name, _ in said],
                         ["crossdock: LD_PRELOAD", "crossdock: CROSSDOCK_ROUTE", "crossdock: CROSSDOCK_TOPOLOGY"])
        self.assertTrue(said[0][1].split(":")[0].endswith("/libcrossdock_mpi.so"))
        self.assertEqual([value for _, value in said[1:]], ["three_step", "1,2"])

    def test_TakesTheProgramsCallsOver(self):
        # Without it Open MPI 4.1 sometimes loses the message.
        done = run("--route", "sideways", "--", *PROGRAM, OMPI_MCA_orte_base_help_aggregate="0")

        self.assertNotEqual(done.returncode, 0)
        self.assertIn('no route is called "sideways"', done.stdout + done.stderr)

    def test_TellsTheLauncherWhatRanksOfOtherNodesNeed(self):
        with tempfile.TemporaryDirectory() as folder:
            launcher = os.path.join(folder, "mpirun")
            with open(launcher, "w", encoding="utf-8") as script:
                script.write('#!/bin/sh\necho "$@"\n')
            os.chmod(launcher, 0o755)

            done = run("--route", "direct", "--", launcher, "-n", "2", "./app", "-x")

        self.assertEqual(done.stdout.split(), ["-x", "CROSSDOCK_ROUTE", "-x", "LD_PRELOAD", "-n", "2", "./app", "-x"])

    def test_TakesNothingOverWhereItIsOff(self):
        done = run("--route", "sideways", "--", *PROGRAM, CROSSDOCK_OFF="1")

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(", 0 differences", done.stdout)

    def test_CommandThatIsMissing(self):
        self.assertNotEqual(run().returncode, 0)

        done = run("--", "/no/such/command")

        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertEqual(done.stderr.splitlines()[-1],
                         "crossdock: /no/such/command cannot be started: No such file or directory")


if __name__ == "__main__":
    unittest.main()
