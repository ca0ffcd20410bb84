"""crossdock calibrate: alone and under mpirun."""

import json
import pathlib
import tempfile
import unittest

from command_line import crossdock

FIELDS = {"schema", "name", "description", "levels", "injection_seconds_per_byte", "matching_seconds",
          "copy_seconds_per_byte", "copy_seconds_per_item", "hand_over_seconds", "num_cores", "time_slice_seconds",
          "sources"}
WARNING = "crossdock: warning: "


def warnings(done):
    return [line.removeprefix(WARNING) for line in done.stderr.splitlines() if line.startswith(WARNING)]


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
            self.assertEqual((warnings(done), warnings(simulated)), ([], []))
            self.assertIn(f"    CROSSDOCK_MACHINE={path} mpirun -n P program\n", done.stderr)
            sources = json.loads(path.read_text(encoding="utf-8"))["sources"]
            self.assertEqual(simulated.returncode, 0, simulated.stderr)
        for level, word in {"region": "measured", "node": "assumed", "network": "measured"}.items():
            self.assertEqual(sources[f"levels.{level}"].split(":")[0], word)

    def test_CopiesOfDevicesAreMeasured(self):
        done = crossdock("calibrate", "--seconds", 0.05, ranks=2, environment={"CROSSDOCK_DEVICE": "mock:1"})

        self.assertEqual(done.returncode, 0, done.stderr)
        machine = json.loads(done.stdout)
        copy = machine["device"]["copy"]
        network, between = (of["levels"]["network"]["eager"] for of in (machine, machine["device"]))
        self.assertTrue(machine["sources"]["device.copy"].startswith("measured: copies of a device, "))
        for name, cost in copy.items():
            self.assertGreater(cost, 0, name)
            self.assertAlmostEqual(between[name], network[name] + 2 * cost, delta=1e-6 * between[name])

    def test_OneProcessMeasuresCopies(self):
        done = crossdock("calibrate", "--seconds", 0.05)

        self.assertEqual(done.returncode, 0, done.stderr)
        machine = json.loads(done.stdout)
        self.assertEqual(machine["sources"]["levels.network"], "assumed: no pair of ranks at this level; as a copy")
        self.assertTrue(machine["description"].endswith("; messages not measured"))
        self.assertEqual(len(warnings(done)), 1)

    def test_OneNodeIsWarnedOf(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "machine.json"
            done = crossdock("calibrate", "--seconds", 0.05, "-o", path, ranks=2)
            used = [crossdock(verb, "dense:1", "--ranks", 4, "--topology", "2x2", "--machine", path)
                    for verb in ("explain", "simulate")]
            inside = crossdock("explain", "dense:1", "--ranks", 2, "--topology", "1x2", "--machine", path)
            machine = json.loads(path.read_text(encoding="utf-8"))

        sentence = ("all ranks are on one node: what messages between nodes cost is not measured, and assumed to be "
                    "what messages inside cost; start calibrate on two nodes at least")
        self.assertEqual((done.returncode, warnings(done)), (0, [sentence] * 2))  # before and after
        self.assertTrue(machine["description"].endswith("; messages between nodes not measured"))
        for one in used:
            self.assertEqual((one.returncode, warnings(one)), (0, [
                "the machine calibrated was not measured for messages between nodes: these numbers are assumed, as the "
                'file says under "sources"']))
        self.assertEqual(warnings(inside), [])

    def test_BadInputIsSaidOnce(self):
        unwritable = crossdock("calibrate", "--seconds", 60, "-o", "/no/such/folder/machine.json", ranks=2)
        mismatch = crossdock("calibrate", "--topology", "2x4", ranks=2)

        self.assertEqual(unwritable.returncode, 2)
        self.assertEqual(unwritable.stderr.count("cannot write /no/such/folder/machine.json"), 1)
        self.assertNotIn("ping-pong", unwritable.stderr)  # before anything is measured
        self.assertEqual(mismatch.returncode, 2)
        self.assertNotEqual(crossdock("calibrate", "--seconds", 0).returncode, 0)


if __name__ == "__main__":
    unittest.main()
