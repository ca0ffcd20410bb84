"""crossdock calibrate: alone and under mpirun."""

import json
import pathlib
import tempfile
import unittest

from command_line import crossdock

FIELDS = {"schema", "name", "description", "levels", "injection_seconds_per_byte", "matching_seconds",
          "copy_seconds_per_byte", "copy_seconds_per_item", "hand_over_seconds", "num_cores", "time_slice_seconds",
          "sources"}


class Calibrate(unittest.TestCase):
    def test_WritesAMachineToStandardOutput(self):
        done = crossdock("calibrate", "--seconds", 0.05, "--name", "mine", ranks=4)

        self.assertEqual(done.returncode, 0, done.stderr)
        machine = json.loads(done.stdout)
        self.assertEqual(set(machine), FIELDS)
        self.assertEqual(machine["schema"], "crossdock.machine/1")
        self.assertEqual(machine["name"], "mine")
        self.assertIn("0 % region ping-pong", done.stderr)
        self.assertIn("median error", done.stderr)

    def test_FileIsReadBackByOtherVerbs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "machine.json"
            done = crossdock("calibrate", "--seconds", 0.05, "--topology", "2x2", "--nodes", "2x2", "-o", path,
                             ranks=4)
            simulated = crossdock("simulate", "dense:1", "--ranks", 4, "--topology", "2x2", "--machine", path)

            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "")
            sources = json.loads(path.read_text(encoding="utf-8"))["sources"]
            self.assertEqual(simulated.returncode, 0, simulated.stderr)
        for level, word in {"region": "measured", "node": "assumed", "network": "measured"}.items():
            self.assertEqual(sources[f"levels.{level}"].split(":")[0], word)

    def test_OneProcessMeasuresCopies(self):
        done = crossdock("calibrate", "--seconds", 0.05)

        self.assertEqual(done.returncode, 0, done.stderr)
        machine = json.loads(done.stdout)
        self.assertEqual(machine["sources"]["levels.network"], "assumed: no pair of ranks at this level; as a copy")

    def test_BadInputIsSaidOnce(self):
        unwritable = crossdock("calibrate", "--seconds", 0.01, "-o", "/no/such/folder/machine.json", ranks=2)
        mismatch = crossdock("calibrate", "--topology", "2x4", ranks=2)

        self.assertEqual(unwritable.returncode, 2)
        self.assertEqual(unwritable.stderr.count("cannot write /no/such/folder/machine.json"), 1)
        self.assertEqual(mismatch.returncode, 2)
        self.assertNotEqual(crossdock("calibrate", "--seconds", 0).returncode, 0)


if __name__ == "__main__":
    unittest.main()
