"""crossdock info: alone and under mpirun."""

import unittest

from command_line import crossdock, crossdock_json


class Info(unittest.TestCase):
    def test_NeedsNoMpirun(self):
        found = crossdock_json("info")

        self.assertEqual(found["schema"], "crossdock.info/1")
        self.assertEqual(found["mpi"]["ranks"], 1)
        self.assertEqual(found["topology"]["text"], "1")
        self.assertEqual(found["topology"]["level"], "node")

    def test_SaysWhatTheLibraryIs(self):
        found = crossdock_json("info")
        what = found["configuration"]
        lines = crossdock("info").stdout.splitlines()

        self.assertEqual((what["schema"], what["version"]), ("crossdock.configuration/1", found["version"]))
        self.assertEqual(what["mpi"]["library"], found["mpi"]["library"])
        self.assertTrue(what["build"]["with"]["tools"])
        self.assertEqual(lines[0], f"crossdock  {found['version']}, commit {what['commit'] or 'unknown'}")
        self.assertEqual(lines[1].split(",")[0], f"built      {what['build']['type']} by {what['build']['compiler']}")

    def test_SaysWhyPartsAreLeftOut(self):
        build = crossdock_json("info")["configuration"]["build"]
        lines = crossdock("info").stdout.splitlines()

        self.assertEqual(set(build["without"]), {part for part, is_there in build["with"].items() if not is_there})
        self.assertEqual([line for line in lines if line.startswith("left out ")],
                         [f"left out   {part}, as {reason}" for part, reason in build["without"].items()])

    def test_OneRankSpeaksForAll(self):
        found = crossdock_json("info", ranks=3)

        self.assertEqual(found["mpi"]["ranks"], 3)
        self.assertEqual(found["topology"]["region_sizes"], [3])

    def test_GivenTopologyIsShown(self):
        alone = crossdock_json("info", "--topology", "2x16,8")
        together = crossdock_json("info", "--topology", "1,2", ranks=3)

        self.assertEqual(alone["topology"]["region_sizes"], [16, 16, 8])
        self.assertIsNone(alone["topology"]["level"])
        self.assertEqual(together["topology"]["region_sizes"], [1, 2])

    def test_RoutesAreListedWithAnExampleAndASummary(self):
        routes = {route["name"]: route for route in crossdock_json("info")["routes"]}

        self.assertLessEqual({"direct", "two_step", "three_step", "grid", "hypercube", "locality"},
                             set(routes))
        self.assertLessEqual({"equal", "increase", "decrease", "hourglass", "inverse_hourglass"},
                             set(routes))
        self.assertEqual(routes["grid"]["example"], "grid:2")
        self.assertTrue(all(route["summary"] for route in routes.values()))

    def test_TableNamesTheTopology(self):
        done = crossdock("info", "--topology", "4x16")

        self.assertIn("topology   4x16 (as given), ranks: 64, regions: 4", done.stdout.splitlines())


if __name__ == "__main__":
    unittest.main()
