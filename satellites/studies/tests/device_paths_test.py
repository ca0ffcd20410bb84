"""Paths of a device's arrays: copies and messages cost what the machine says."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import script

STUDIES = script.PROJECT / "satellites/studies"
MATRIX = script.PROJECT / "data/D_10.mtx.gz"


def level(*arguments, machine="lassen"):
    found = script.json_of(os.environ["CROSSDOCK_STUDY"], MATRIX, "--ranks", 8, "--machine", machine, *arguments)
    return found["levels"][0]


class DevicePaths(unittest.TestCase):
    def test_StagedTakesTwoCopiesMoreThanTheHost(self):
        machine = json.loads((script.PROJECT / "machines/lassen.json").read_text(encoding="utf-8"))
        machine["device"]["copy"] = {"latency_seconds": 1e-3, "seconds_per_byte": 0}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "machine.json"
            path.write_text(json.dumps(machine), encoding="utf-8")
            found = level(machine=path)
        self.assertEqual(found["host"], level()["host"])
        self.assertAlmostEqual(found["staged"]["seconds"], found["host"]["seconds"] + 2e-3, delta=1e-8)

    def test_DirectTakesNoCopiesAndCostsOfDevices(self):
        machine = json.loads((script.PROJECT / "machines/lassen.json").read_text(encoding="utf-8"))
        for one in machine["device"]["levels"].values():
            one["eager"]["latency_seconds"] = one["rendezvous"]["latency_seconds"] = 1
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "machine.json"
            path.write_text(json.dumps(machine), encoding="utf-8")
            found = level(machine=path)
        self.assertGreater(found["direct"]["seconds"], 1)
        self.assertLess(found["direct"]["seconds"], 1.001)
        self.assertEqual(found["staged"], level()["staged"])

    def test_ThePageHasTheTableOfTheRecord(self):
        page = (script.PROJECT / "satellites/device/docs/device.md").read_text(encoding="utf-8")
        shown = page[page.index("\n## Simulated"):page.index("\n## What blocks")].splitlines()
        printed = subprocess.run([sys.executable, "-B", STUDIES / "device_paths.py", "--tables",
                                  STUDIES / "results/study-device_paths.jsonl"],
                                 capture_output=True, text=True, check=True).stdout.splitlines()
        rows = [line for line in shown if line.startswith("|")]
        self.assertEqual(len(rows), 8)
        self.assertEqual([row for row in rows if row not in printed], [])

    def test_TablesArePrintedAgainFromTheRecord(self):
        record, printed, again = script.quick("device_paths", MATRIX)

        self.assertEqual([(case["machine"], case["nodes"]) for case in record["cases"]],
                         [("lassen", "8x4"), ("summit", "6x6")])
        self.assertIn("| machine | nodes x devices | host | staged | direct |", printed)
        self.assertEqual(printed, again)


if __name__ == "__main__":
    unittest.main()
