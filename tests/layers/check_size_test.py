#!/usr/bin/env python3
"""Shows that check_size finds a core that has grown, and numbers that could be lowered."""
import unittest

from check_size import find_faults
from checker import faults_of_files

FILES = {"src/plan/plan.cpp": "one\ntwo\n" * 50, "include/crossdock/plan.hpp": "three\n" * 100, "docs/plan.md": "four\n"}
SIZE = {"files": 2, "lines": 200, "bytes": 1000}


def faults(**others):
    return faults_of_files(lambda project: find_faults(project, {**SIZE, **others}), FILES)


class Size(unittest.TestCase):
    def test_a_core_of_the_allowed_size(self):
        self.assertEqual(faults(), [])
        self.assertEqual(faults(lines=202), [])

    def test_a_core_that_has_grown(self):
        self.assertEqual(faults(files=1, lines=199), [
            "src and include have 2 files, 1 more than allowed: let something go",
            "src and include have 200 lines, 1 more than allowed: let something go"])

    def test_lines_that_were_joined(self):
        self.assertEqual(faults(bytes=999), ["src and include have 1000 bytes, 1 more than allowed: let something go"])

    def test_a_number_that_could_be_lowered(self):
        self.assertEqual(faults(lines=203), [
            "src and include have 200 lines, but 203 are allowed: lower the number in tests/layers/check_size.py"])


if __name__ == "__main__":
    unittest.main()
