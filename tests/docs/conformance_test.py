"""The tables of programs of others are what their records give."""

import sys
import unittest
from pathlib import Path

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "tests/clients"))
import conformance
import run as clients


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

class Clients(unittest.TestCase):
    def test_PageHasTheTableOfTheRecord(self):
        page = clients.PAGE.read_text(encoding="utf-8")

        self.assertTrue(page.endswith("\n" + "\n".join(clients.table(clients.read_record())) + "\n"),
                        "run python3 tests/clients/run.py --page")

    def test_NoRunOfTheRecordDiffersFromMpiAlone(self):
        rows = clients.read_record()

        self.assertGreater(sum(row["runs"] for row in rows), 0)
        self.assertEqual(sum(row["differ"] for row in rows), 0)

    def test_RowsHaveCallsAndTheMedianOfTimes(self):
        one = {"program": "One", "commit": "c0ffee0", "ranks": [2, 5], "runs": 14, "differ": 0, "what": "a loop",
               "calls": {"MPI_B": [1000, 999], "MPI_A": [1, 0]},
               "mpi_seconds": [3, 1.5, 2], "drop_in_seconds": [1, 1, 9]}
        other = one | {"program": "Other", "differ": 1, "calls": {}, "mpi_seconds": [], "drop_in_seconds": []}

        self.assertEqual(clients.table([one, other])[2:], [
            "| One | c0ffee0 | 2, 5 | 14 | a loop | `MPI_A` 0 of 1, `MPI_B` 999 of 1,000 | 2.00 s | 1.00 s |",
            "| Other | c0ffee0 | 2, 5 | 14, **1 differ** | a loop | none | – | – |"])


if __name__ == "__main__":
    unittest.main()
