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

INCLUDE = Path(__file__).parents[2] / "include"
HEADERS = sorted(path.relative_to(INCLUDE) for path in (INCLUDE / "crossdock").glob("*.h*"))


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
            for header in HEADERS:
                with self.subTest(compiler=command[0], header=str(header)), tempfile.TemporaryDirectory() as folder:
                    source = Path(folder) / "alone.cpp"
                    source.write_text(f'#include "{header}"\n')
                    done = subprocess.run([*command, source], check=False, capture_output=True, text=True)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
