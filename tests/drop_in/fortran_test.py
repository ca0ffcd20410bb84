"""Whatever is taken over from C is taken over from Fortran.

usage: fortran_test.py LIBRARY
"""

import subprocess
import sys
import unittest

LIBRARY = sys.argv[1]


class Fortran(unittest.TestCase):
    def test_LibraryHasTheNamesOfAllItsFunctionsInFortran(self):
        lines = subprocess.run(["nm", "--dynamic", "--defined-only", LIBRARY], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        names = {line.split()[-1] for line in lines}
        in_c = {name.lower() for name in names if name.startswith(("MPI_", "MPIX_"))}

        self.assertIn("mpi_alltoallv", in_c)
        for ending in ("_", "_f08_"):
            self.assertEqual({name + ending for name in in_c} - names, set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
