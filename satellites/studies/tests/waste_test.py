"""satellites/studies/waste.py: what one worker cannot waste, what messages carry, and tables from the record."""

import os
import unittest

import script


def study(*arguments):
    return script.json_of(os.environ["CROSSDOCK_STUDY"], "--log-vertices", 8, "--lps-per-worker", 8, *arguments)["cases"]


class Waste(unittest.TestCase):
    def test_OneWorkerHandlesEverythingInOrderAndSendsNothing(self):
        paths, events = study("--nodes", 1, "--processes", 1, "--workers", 1, "--schemes", "wps")

        self.assertEqual((paths["superseded"], paths["messages"]), (0, 0))
        self.assertEqual((events["rejected"], events["messages"]), (0, 0))

    def test_OneProcessSendsNoMessages(self):
        for case in study("--nodes", 1, "--processes", 1, "--workers", 4):
            self.assertEqual(case["messages"], 0)
            self.assertGreater(case["handled"], 0)

    def test_SmallerBuffersMakeMoreMessages(self):
        messages = [[case["messages"] for case in study("--nodes", 1, "--processes", 2, "--workers", 2,
                                                        "--buffer-items", items)] for items in (1, 64)]
        for one, many in zip(*messages):
            self.assertGreater(one, many)

    def test_TablesArePrintedAgainFromTheRecord(self):
        record, printed, again = script.quick("waste")

        self.assertEqual([one["name"] for one in record["experiments"]], ["sssp, small", "phold"])
        for experiment in record["experiments"]:
            self.assertEqual([case["scheme"] for case in experiment["runs"][0]["cases"]], ["ww", "wps", "pp"])
        self.assertIn("| sssp, small | 1 | ", printed)
        self.assertEqual(printed, again)


if __name__ == "__main__":
    unittest.main()
