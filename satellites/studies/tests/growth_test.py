"""The growth of planning with the number of ranks: exact counts, and exponents of known powers."""

import os
import sys
import unittest

import script

sys.path.append(str(script.PROJECT / "satellites/studies"))
import growth


def study(*arguments):
    return script.json_of(os.environ["CROSSDOCK_STUDY"], *arguments)["sizes"]


class Growth(unittest.TestCase):
    def test_CountsFollowFromThePattern(self):
        sizes = study("--ranks", "64,256", "--partners", 5, "--routes", "direct,hypercube")

        for size, dimensions in zip(sizes, (6, 8)):
            direct, hypercube = size["routes"]
            self.assertEqual((direct["mean_headers"], direct["items"]), (5, 5))
            self.assertEqual(direct["most_headers"], direct["most_messages"])
            self.assertEqual(hypercube["most_headers"], dimensions)
            self.assertEqual(hypercube["most_messages"], dimensions)
            self.assertGreater(hypercube["items"], 5)
            for route in (direct, hypercube):
                self.assertGreater(route["plan_bytes"], 8 * 5 * 2)
                self.assertGreater(route["planning_bytes"], 0)
                self.assertGreater(route["planning_seconds"], 0)

    def test_ExponentIsThatOfAPower(self):
        ranks = [64, 256, 1024]
        for power in (0, 0.5, 2):
            self.assertAlmostEqual(growth.exponent(ranks, [3 * rank ** power for rank in ranks]), power)

    def test_TablesArePrintedAgainFromTheRecord(self):
        record, printed, again = script.quick("growth")

        self.assertEqual([size["ranks"] for size in record["sizes"]], [64, 256])
        self.assertIn("| route | 64 ranks | 256 ranks | exponent |", printed)
        self.assertEqual(printed, again)


if __name__ == "__main__":
    unittest.main()
