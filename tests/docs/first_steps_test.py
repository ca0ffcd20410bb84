"""The commands under "First steps" of docs/install.md: from a clone to a picture of the gain, and to a linked C program.

usage: first_steps_test.py          what follows scripts/quickstart, with the build CROSSDOCK_BUILD
       first_steps_test.py --all    all of it in a clone of this repository, as a user types it
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import pages

PROJECT = Path(__file__).parents[2]
MATRIX = PROJECT / "data/bcspwr10.mtx.gz"
IN_LITTLE_TIME = " --calibrate-seconds 1 --seconds 2"


def first_steps():
    steps = pages.section((PROJECT / "docs/install.md").read_text(encoding="utf-8"), "First steps")
    return [re.split(r" {2,}# ", line.strip())[0] for line in steps.splitlines() if line.startswith("    ")]


class FirstSteps(unittest.TestCase):
    def test_LeadToAPictureAndToAProgram(self):
        clone, build, attempt, install, compile_program = first_steps()
        self.assertEqual(clone, "git clone URL crossdock && cd crossdock")
        self.assertEqual(build, "scripts/quickstart")
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            project = PROJECT
            if "--all" in sys.argv:
                project = folder / "crossdock"
                self.run_line(clone.replace("URL", str(PROJECT)), folder, folder)
                self.run_line(build, project, folder)
            self.assertTrue(attempt.endswith(" try FILE"))
            self.run_line(attempt.replace("FILE", str(MATRIX)) + f" -o {folder}/try.html" + IN_LITTLE_TIME, project, folder)
            self.run_line(install, project, folder)
            self.run_line(compile_program.replace("-o halo", f"-o {folder}/halo"), project, folder)

            page = (folder / "try.html").read_text(encoding="utf-8")
            found = json.loads(re.search(r'id="crossdock-try">(.*?)</script>', page)[1])
            printed = self.run_line(f"mpirun -n 4 --oversubscribe {folder}/halo", project, folder)
        self.assertIn('<svg class="bars"', page)
        self.assertEqual(found["ranks"], 8)
        self.assertTrue(all(one["verified"] for one in found["patterns"][0]["contenders"]))
        self.assertEqual(printed, "16 cells on 4 ranks: forward and reverse are right\n")

    def run_line(self, line, folder, home):
        if "--all" not in sys.argv:
            line = line.replace("build/quickstart", os.environ["CROSSDOCK_BUILD"])
        environment = {"HOME": str(home), "LD_LIBRARY_PATH": f"{home}/crossdock/lib",
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run(["timeout", "500", "bash", "-c", line], cwd=folder, check=False, capture_output=True,
                              text=True, env=os.environ | environment)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return done.stdout


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
