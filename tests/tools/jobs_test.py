"""The job scripts of crossdock try: how they launch, with launchers that write down what they are told.

tests/cluster/slurm_test submits one to a real Slurm.
"""

import json
import os
import re
import subprocess
import unittest

from command_line import TESTS, InFolder

PROJECT = TESTS.parent.parent
JOBS = PROJECT / "tools/jobs"
UNKNOWN_RANKS = 2
# Shows the version that it is said to have, finds as many ranks as it is told, and writes down its arguments.
LAUNCHER = """#!/bin/sh
case "$*" in
    --version) echo "$STUB_VERSION" ;;
    --mpi=list) echo "MPI plugin types are..." ;;
    *" info") for rank in $(seq "$STUB_PROGRAMS"); do echo "MPI        stub, ranks: $STUB_RANKS"; done ;;
    *) printf '%s\\n' "$@" >"$STUB_TOLD" ;;
esac
"""


class Jobs(InFolder):
    def setUp(self):
        super().setUp()
        for name in ("srun", "mpiexec"):
            (self.folder / name).write_text(LAUNCHER)
            (self.folder / name).chmod(0o755)
        (self.folder / "nodes").write_text("a\na\nb\nb\n")

    def run_job(self, job, *arguments, **environment):
        known = {"PATH": f"{self.folder}:{os.environ['PATH']}", "CROSSDOCK": "/its/crossdock", "STUB_VERSION": "",
                 "STUB_RANKS": "4", "STUB_PROGRAMS": "1", "STUB_TOLD": str(self.folder / "told"),
                 "SLURM_NTASKS": "4", "SLURM_JOB_ID": "17",
                 "PBS_O_WORKDIR": str(self.folder), "PBS_NODEFILE": str(self.folder / "nodes"), "PBS_JOBID": "17.head"}
        done = subprocess.run(["timeout", "100", "bash", JOBS / job, *arguments], cwd=self.folder, check=False,
                              env=os.environ | known | environment, capture_output=True, text=True)
        told = self.folder / "told"
        return done, told.read_text().splitlines() if told.exists() else None

    def check(self, job, *expected, arguments=(), **environment):
        done, told = self.run_job(job, *arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(told, list(expected))

    def test_ShellcheckFindsNothing(self):
        scripts = [*JOBS.iterdir(), PROJECT / "tests/cluster/slurm_test"]
        done = subprocess.run(["shellcheck", *scripts], check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_SlurmBindsEachRankToACore(self):
        self.check("try.slurm", "--cpu-bind=cores", "--distribution=block:block", "/its/crossdock", "try", "my file",
                   "--seconds", "5", "-o", "try-17.html", arguments=("my file", "--seconds", "5"))

    def test_PbsBindsEachRankToACore(self):
        nodes = str(self.folder / "nodes")
        ended = ["-n", "4", "/its/crossdock", "try", "my file", "--seconds", "5", "-o", "try-17.html"]
        chosen = {"FILE": "my file", "MORE": "--seconds 5"}
        self.check("try.pbs", "--hostfile", nodes, "--map-by", "core", "--bind-to", "core", *ended,
                   STUB_VERSION="mpiexec (OpenRTE) 4.1.4", **chosen)
        self.check("try.pbs", "-f", nodes, "-bind-to", "core", *ended, STUB_VERSION="HYDRA build details:", **chosen)
        self.check("try.pbs", "-x", "y", *ended, MPIEXEC="mpiexec -x y", **chosen)

    def test_PbsWithoutAFileTriesThatOfTheDemo(self):
        self.check("try.pbs", "-n", "4", "/its/crossdock", "try", "-o", "try-17.html", MPIEXEC="mpiexec")

    def test_TasksThatMpiDoesNotKnowAreNotMeasured(self):
        for job, launcher in (("try.slurm", "srun"), ("try.pbs", "mpiexec")):
            for ranks, programs, found in (("1", "4", "1"), ("1", "0", "")):
                done, told = self.run_job(job, STUB_RANKS=ranks, STUB_PROGRAMS=programs)
                self.assertEqual((done.returncode, told), (UNKNOWN_RANKS, None))
                self.assertIn(f"{job}: {launcher} starts 4 tasks, and MPI finds '{found}' ranks.", done.stderr)

    def test_PbsMeasures(self):
        launcher, _, number = os.environ["CROSSDOCK_MPIRUN"].rpartition(" ")
        self.assertIn(number, ("-n", "-np"))
        done, _ = self.run_job("try.pbs", FILE="dense:2", MORE="--machine generic_100g --iterations 2",
                               MPIEXEC=launcher, CROSSDOCK=os.environ["CROSSDOCK_TOOL"])

        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.folder / "try-17.html").read_text()
        found = json.loads(re.search(r'id="crossdock-try">(.*?)</script>', page)[1])
        self.assertEqual(found["ranks"], 4)
        self.assertTrue(all(one["verified"] for one in found["patterns"][0]["contenders"]))


if __name__ == "__main__":
    unittest.main()
