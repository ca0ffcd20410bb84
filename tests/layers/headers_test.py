#!/usr/bin/env python3
"""Compiles every header that users include by itself, and all together with Clang where it is there.

environment: CROSSDOCK_COMPILE, a command that checks the syntax of the files that follow
"""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).parents[2]
HEADERS = sorted(path.relative_to(PROJECT / "include") for path in (PROJECT / "include/crossdock").glob("*.h*"))
# Of satellites that need nothing but the core.
SATELLITES = [PROJECT / f"satellites/{name}/include" for name in ("device", "gslib", "mpi_advance", "simulator")]
HEADERS_OF_SATELLITES = sorted(path.relative_to(folder) for folder in SATELLITES for path in folder.glob("crossdock/*.h*")
                               if path.name != "device_kokkos.hpp")  # which needs Kokkos


COMMAND = [*os.environ["CROSSDOCK_COMPILE"].split(), *(f"-I{folder}" for folder in SATELLITES)]
CLANG = next(filter(None, map(shutil.which, ("clang++", "clang++-16", "clang++-19"))), None)


class Headers(unittest.TestCase):
    def test_ThereAreAsManyAsAUserCanLookThrough(self):
        self.assertIn(Path("crossdock/crossdock.hpp"), HEADERS)
        self.assertLessEqual(len(HEADERS), 28)

    def compile(self, command, headers):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "source.cpp"
            source.write_text("".join(f'#include "{header}"\n' for header in headers))
            done = subprocess.run([*command, source], check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_EachCompilesAlone(self):
        for header in HEADERS + HEADERS_OF_SATELLITES:
            with self.subTest(header=str(header)):
                self.compile(COMMAND, [header])

    @unittest.skipUnless(CLANG, "there is no Clang")
    def test_AllCompileWithClang(self):
        self.compile([CLANG, *COMMAND[1:]], HEADERS + HEADERS_OF_SATELLITES)


if __name__ == "__main__":
    unittest.main()
