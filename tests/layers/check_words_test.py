#!/usr/bin/env python3
"""Shows that check_words finds retired words, and none where there are none."""
import unittest

from check_words import find_faults
from checker import faults_of_files


class CheckWords(unittest.TestCase):
    def faults(self, files):
        return faults_of_files(find_faults, files)

    def test_words_are_found_alone_and_in_names(self):
        files = {
            "README.md": "Claims travel, in a sentence.\nA `claim` travels.\n```cpp\nclaim x;\n```\n",
            "src/stream/a.cpp": "int x;\nint num_lanes = mpi_carrier(x);\n",
        }
        self.assertEqual(
            self.faults(files),
            [
                "README.md:2: claim: say error vote or access request",
                "README.md:4: claim: say error vote or access request",
                "src/stream/a.cpp:2: lanes: say stripe or priority",
                "src/stream/a.cpp:2: carrier: say transport",
            ],
        )

    def test_longer_words_and_records_pass(self):
        files = {
            "docs/a.md": "A planet reclaims its gateway.\n",
            "bench/results/a.json": '{"lanes": 1}\n',
            "CHANGELOG.md": "- lanes are called priorities\n",
        }
        self.assertEqual(self.faults(files), [])


if __name__ == "__main__":
    unittest.main()
