"""crossdock demo: what scripts/quickstart shows."""

import json
import os
import pathlib
import tempfile
import unittest

from command_line import DATA, crossdock, crossdock_json


def demo(*more):
    return crossdock("demo", DATA / "msc01050.mtx.gz", *more, ranks=8)


class Demo(unittest.TestCase):
    def test_EveryRouteIsVerifiedAndCounted(self):
        done = demo("--topology", "2x4")

        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertIn("direct 1 50 28 3821 2120 yes".split(), lines)
        self.assertIn("two_step 2 50 8 4317 994 yes".split(), lines)
        self.assertIn("three_step 3 31 2 4773 994 yes".split(), lines)

    def test_TraceHasItsTimeline(self):
        launcher = os.environ["CROSSDOCK_MPIRUN"].split()
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "trace.json"
            file.write_text("what an earlier program left")
            done = crossdock("trace", "-o", file, "--", *launcher, "2", os.environ["CROSSDOCK_TOOL"], "demo",
                             DATA / "msc01050.mtx.gz", "--topology", "2x1")
            self.assertEqual((done.returncode, done.stderr), (0, f"crossdock: CROSSDOCK_TRACE={file}\n"))
            events = json.loads(file.read_text().removesuffix(",\n") + "]")

        self.assertEqual({event["pid"] for event in events}, {0, 1})
        exchanges = [event["ph"] for event in events if event.get("cat") == "exchange"]
        self.assertEqual(exchanges.count("b"), exchanges.count("e"))
        routes = [line for line in done.stdout.splitlines() if line.endswith(" yes")]
        self.assertGreaterEqual(len(exchanges), 2 * 2 * len(routes))

    def test_ClosingSentenceSaysWhatWasSaved(self):
        done = demo()

        self.assertEqual(done.stdout.splitlines()[-1],
                         "three_step sends 2 messages between regions where direct sends 28, "
                         "with 994 items instead of 2120.")

    def test_OneRegionSavesNothing(self):
        done = demo("--topology", "1x8")

        self.assertEqual(done.stdout.splitlines()[-1],
                         "No route sends fewer messages between regions than direct.")

    def test_JsonHoldsTheSameFigures(self):
        found = crossdock_json("demo", DATA / "msc01050.mtx.gz", "--topology", "2x4", ranks=8)

        self.assertEqual(found["schema"], "crossdock.demo/1")
        self.assertEqual(found["topology"], "2x4")
        self.assertTrue(all(route["verified"] for route in found["routes"]))
        self.assertEqual(found["routes"][0],
                         {"route": "direct", "stages": 1, "messages": 50,
                          "inter_region_messages": 28, "items": 3821, "inter_region_items": 2120,
                          "verified": True})


if __name__ == "__main__":
    unittest.main()
