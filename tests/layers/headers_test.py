#!/usr/bin/env python3
"""Compiles every header that users include by itself, with the compiler of the build and with Clang where it is there.

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
SATELLITES = [PROJECT / f"satellites/{name}/include" for name in ("gslib", "mpi_advance", "simulator")]
HEADERS_OF_SATELLITES = sorted(path.relative_to(folder) for folder in SATELLITES for path in folder.glob("crossdock/*.h*"))


def commands():
    command = os.environ["CROSSDOCK_COMPILE"].split()
    clangs = (shutil.which(name) for name in ("clang++", "clang++-16"))
    return [command, *([clang, *command[1:]] for clang in clangs if clang)][:2]


class Headers(unittest.TestCase):
    def test_ThereAreAsManyAsAUserCanLookThrough(self):
        self.assertIn(Path("crossdock/crossdock.hpp"), HEADERS)
        self.assertLessEqual(len(HEADERS), 35)

    def test_EachCompilesAlone(self):
        for command in commands():
            for header in HEADERS + HEADERS_OF_SATELLITES:
                with self.subTest(compiler=command[0], header=str(header)), tempfile.TemporaryDirectory() as folder:
                    source = Path(folder) / "alone.cpp"
                    source.write_text(f'#include "{header}"\n')
                    done = subprocess.run([*command, *(f"-I{folder}" for folder in SATELLITES), source], check=False, capture_output=True, text=True)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
