"""Whatever is taken over from C is taken over from Fortran, but for progress in calls that only wait, which Open MPI
makes itself. The report names the places that call.

usage: fortran_test.py LIBRARY COMMAND...

COMMAND runs fortran_calls.F90, linked with the library.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

LIBRARY, *COMMAND = sys.argv[1:]
TAKEN = re.compile("mpix?_(i?neighbor_|i?alltoall|start|wait|test|request_|cancel|dist_graph|graph|cart|"
                   "comm_(dup|free|disconnect)|pcontrol)")


class Fortran(unittest.TestCase):
    def test_LibraryHasTheNamesOfAllItsFunctionsInFortran(self):
        lines = subprocess.run(["nm", "--dynamic", "--defined-only", LIBRARY], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        names = {line.split()[-1] for line in lines}
        in_c = {name.lower() for name in names
                if name.startswith(("MPI_", "MPIX_")) and TAKEN.match(name.lower())}

        self.assertIn("mpi_alltoallv", in_c)
        for ending in ("_", "_f08_"):
            self.assertEqual({name + ending for name in in_c} - names, set())

    def test_ReportHasThePlacesInTheProgram(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "report.json")
            subprocess.run(COMMAND, check=True, timeout=100,
                           env=os.environ | {"CROSSDOCK_REPORT": file, "CROSSDOCK_TAKE": "alltoallv"})
            with open(file, encoding="utf-8") as lines:
                calls = [json.loads(line) for line in lines]

        places = collections.defaultdict(set)
        for call in calls:
            places[call["function"]].add(call["place"])
            self.assertEqual(call["place"].split(":")[0], os.path.basename(COMMAND[-1]))
        self.assertEqual({name: len(places[name]) for name in ("MPI_Alltoall", "MPI_Alltoallv")},
                         {"MPI_Alltoall": 2, "MPI_Alltoallv": 1})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
