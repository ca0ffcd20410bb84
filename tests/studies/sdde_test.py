"""bench/studies/sdde.py sends what `crossdock analyze --exchange` counts."""

import os
import unittest

import script

DATA = script.PROJECT / "data"


class Sdde(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.record, cls.printed, cls.again = script.quick("sdde", DATA)

    def test_MessagesAreThoseThatAnalyzeCounts(self):
        for case, values in zip(self.record["cases"], ("pattern", "indices")):
            names = [one["name"] for one in case["algorithms"]]
            known = script.json_of(os.environ["CROSSDOCK_STUDY"], "analyze", DATA / "D_10.mtx.gz", "--ranks", 16,
                                   "--topology", "4x4", "--exchange", "--values", values, "--algorithms",
                                   ",".join(names), "--json")["algorithms"]
            for found, one in zip(case["algorithms"], known):
                self.assertEqual(found["messages"]["total"], one["messages"]["total"])
                self.assertEqual(found["inter_region_messages"]["max"], one["inter_region_messages"]["max"])

    def test_OnlyMessagesOfOneSizeGoThroughWindows(self):
        names = [[one["name"] for one in case["algorithms"]] for case in self.record["cases"]]

        self.assertEqual([case["sizes"] for case in self.record["cases"]], ["constant", "variable"])
        self.assertEqual(names[0], ["personalized", "nonblocking", "rma", "locality_personalized",
                                    "locality_nonblocking"])
        self.assertEqual(names[1], [name for name in names[0] if name != "rma"])

    def test_TablesArePrintedAgainFromTheRecord(self):
        self.assertIn("| D_10 | constant |", self.printed)
        self.assertEqual(self.printed, self.again)


if __name__ == "__main__":
    unittest.main()
