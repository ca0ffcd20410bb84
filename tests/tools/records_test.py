"""tools/plots/records.py writes a record as lines, and reads it again."""

import json
import pathlib
import sys
import unittest

PROJECT = pathlib.Path(__file__).parents[2]
sys.path.append(str(PROJECT / "tools/plots"))
import records

TEXT = "x" * records.LONG


class Records(unittest.TestCase):
    def test_LongListsHaveALineForEachEntry(self):
        record = {"schema": "s", "cases": [{"name": TEXT, "routes": [{"name": TEXT}, {"name": "b"}]}, {"name": "c"}],
                  "batches": [{"kind": "read"}], "left_out": []}

        lines = [json.loads(line) for line in records.to_text(record).splitlines()]

        self.assertEqual(lines, [
            {"schema": "s", "batches": [{"kind": "read"}], "left_out": []}, ["cases", {"name": TEXT}],
            ["cases", "routes", {"name": TEXT}], ["cases", "routes", {"name": "b"}], ["cases", {"name": "c"}]])
        self.assertEqual(records.from_text(records.to_text(record)), record)

    def test_ShortRecordsAreOneLine(self):
        self.assertEqual(records.to_text({"schema": "s", "cases": [{"seconds": 1.5e-05}]}),
                         '{"schema":"s","cases":[{"seconds":1.5e-05}]}\n')

    def test_OneDocumentIsRead(self):
        record = {"cases": [{"name": "a"}]}
        self.assertEqual(records.from_text(json.dumps(record, indent=1)), record)

    def test_WhatIsKeptIsWrittenAsRecordsAre(self):
        for path in (*(PROJECT / "bench/results").iterdir(), *(PROJECT / "satellites/studies/results").iterdir()):
            with self.subTest(path.name):
                self.assertEqual(path.read_text(encoding="utf-8"), records.to_text(records.read(path)))


if __name__ == "__main__":
    unittest.main()
