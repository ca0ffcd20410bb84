"""The tables of test programs of others are what their record gives."""

import sys
import unittest
from pathlib import Path

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "tests/clients"))
import conformance


def row(program, mpi, alone="passed", **ways):
    return {"program": program, "mpi": mpi, "commit": "c0ffee0", "ranks": [4], "alone": alone,
            "ways": {way: dict(zip(["runs", "differ", "calls", "along_plan"], counts)) for way, counts in ways.items()}}


class Conformance(unittest.TestCase):
    def test_PageHasTheTablesOfTheRecord(self):
        page = conformance.PAGE.read_text(encoding="utf-8")

        self.assertTrue(page.endswith("\n" + "\n".join(conformance.tables(conformance.read_record())) + "\n"),
                        "run python3 tests/clients/conformance.py --page")

    def test_NoRunOfTheRecordDiffersFromMpiAlone(self):
        ways = [way for one in conformance.read_record() for way in one["ways"].values()]

        self.assertGreater(sum(way["along_plan"] for way in ways), 0)
        self.assertEqual(sum(way["differ"] for way in ways), 0)

    def test_CellsHaveRunsDifferencesAndCalls(self):
        rows = [row("coll/a", "One", auto=(2, 0, 1000, 0), hypercube=(2, 1, 10, 9)),
                row("coll/a", "Other", alone="failed", auto=(1, 0, 0, 0)),
                row("coll/b", "One", hypercube=(1, 0, 5, 5))]

        self.assertEqual(conformance.tables(rows), [
            "| MPI | at commit | programs | auto | hypercube |", "|---|---|---|---|---|",
            "| One | c0ffee0 | 2 | 2 runs; 0 of 1,000 | 3 runs, **1 differ**; 14 of 15 |",
            "| Other | c0ffee0 | 1 | 1 run; none | – |", "",
            "| program | ranks | One | Other |", "|---|---|---|---|",
            "| `coll/a` | 4 | 4 runs, **1 differ**; 9 of 1,010 | 1 run; none (fails alone) |",
            "| `coll/b` | 4 | 1 run; 5 of 5 | – |"])


if __name__ == "__main__":
    unittest.main()
