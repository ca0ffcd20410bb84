"""satellites/studies/hierarchy.cpp writes what blocks exchange, in the form that amg:FOLDER reads."""

import gzip
import os
import pathlib
import subprocess
import tempfile
import unittest

HIERARCHY = os.environ["CROSSDOCK_STUDY"]


def run(folder, *arguments):
    file = pathlib.Path(folder) / "levels.txt.gz"
    done = subprocess.run([HIERARCHY, *arguments, "-o", file], capture_output=True, text=True)
    return done, gzip.open(file, "rt").read().splitlines() if file.exists() else []


class Hierarchy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.done, cls.lines = run(folder, "16x8", "2x1")

    def test_TheFinestLevelIsThePlaneCutIntoBlocks(self):
        """Two blocks of 8 x 8 points: the second's first column and the first's last."""
        self.assertEqual(self.lines[:3], ["level 0 rows 128 ranks 2 starts 0 64 128",
                                          "0 1 8 0 8 16 24 32 40 48 56", "1 0 8 7 15 23 31 39 47 55 63"])

    def test_EveryLevelHasFewerRowsInAllBlocks(self):
        starts = [list(map(int, line.split(" starts ")[1].split())) for line in self.lines if "starts" in line]

        self.assertGreater(len(starts), 2)
        for fine, coarse in zip(starts, starts[1:]):
            self.assertEqual(len(coarse), 3)
            self.assertLess(coarse[1], fine[1])
            self.assertLess(coarse[2] - coarse[1], fine[2] - fine[1])
        self.assertEqual(self.done.stdout.splitlines()[0], "level 0: 128 rows")

    def test_IndicesAreOfRowsThatTheSourceHas(self):
        starts = []
        for line in self.lines:
            if "starts" in line:
                starts = list(map(int, line.split(" starts ")[1].split()))
                continue
            receiver, source, count, *indices = map(int, line.split())
            self.assertEqual((receiver + source, count), (1, len(indices)))
            self.assertEqual(indices, sorted(set(indices)))
            self.assertLess(indices[-1], starts[source + 1] - starts[source])

    def test_BlocksThatDoNotDivideThePlaneAreRefused(self):
        for arguments, sentence in ((("16x8", "3x1"), "the blocks do not divide the points"),
                                    (("32768x16384", "2x1"), "more than 306783378 points"),
                                    (("16", "2x1"), '"16" is no extent, such as 16x8')):
            with tempfile.TemporaryDirectory() as folder:
                done, _ = run(folder, *arguments)
            self.assertEqual((done.returncode, done.stderr), (1, f"{sentence}\n"))

    def test_AFileThatCannotHoldItIsAFailure(self):
        done = subprocess.run([HIERARCHY, "16x8", "2x1", "-o", "/dev/full"], capture_output=True, text=True)

        self.assertEqual((done.returncode, done.stderr), (1, "the hierarchy cannot be written\n"))


if __name__ == "__main__":
    unittest.main()
