"""satellites/studies/sdde.py sends what `crossdock analyze --exchange` counts, and makes the meshes that it says."""

import os
import pathlib
import sys
import tempfile
import unittest

import script

sys.path.append(str(script.PROJECT / "satellites/studies"))
import meshes
import sdde

DATA = script.PROJECT / "data"


class Sdde(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.record, cls.printed, cls.again = script.quick("sdde", DATA, "--variants", os.environ["CROSSDOCK_VARIANTS"])

    def test_MessagesAreThoseThatAnalyzeCounts(self):
        for case, values in zip(self.record["cases"], ("pattern", "indices")):
            names = [one["name"] for one in case["algorithms"] if one["name"] != "auto"]
            known = script.json_of(os.environ["CROSSDOCK_STUDY"], "analyze", DATA / "D_10.mtx.gz", "--ranks", 16,
                                   "--topology", "4x4", "--exchange", "--values", values, "--algorithms",
                                   ",".join(names), "--json")["algorithms"]
            found = {one["name"]: one for one in case["algorithms"]}
            for one in known:
                self.assertEqual(found[one["name"]]["messages"], one["messages"]["total"])
                self.assertEqual(found[one["name"]]["most_messages_to_other_nodes"],
                                 one["inter_region_messages"]["max"])

    def test_VariantsAreSimulatedOfTheSameMessages(self):
        largest = [case for case in self.record["cases"] if case["nodes"] == self.record["nodes"]]
        self.assertEqual(len(largest), 6)
        for case in self.record["cases"]:
            self.assertEqual("variants" in case, case in largest)
        for case in largest:
            self.assertEqual(list(case["variants"]), ["personalized", sdde.KNOWN, *sdde.AS_IN_THE_STUDY])
            self.assertEqual(case["variants"]["personalized"],
                             sdde.found_in(case)["personalized"]["simulated_seconds"])

    def test_OnlyMessagesOfOneSizeGoThroughWindows(self):
        names = [[one["name"] for one in case["algorithms"]] for case in self.record["cases"]]

        self.assertEqual([case["sizes"] for case in self.record["cases"][:2]], ["constant", "variable"])
        self.assertEqual(names[0], sdde.STANDARD + sdde.AWARE + sdde.OURS)
        self.assertEqual(names[1], [name for name in names[0] if name not in sdde.LEFT_OUT["variable"]])

    def test_MeshesFollowTheMatricesAndSomeAreScaled(self):
        self.assertEqual([(case["matrix"], case["nodes"]) for case in self.record["cases"][::2]],
                         [("D_10", 4), ("mesh_2d", 4), ("mesh_2d_shuffled", 2), ("mesh_2d_shuffled", 4)])

    def test_MeshesOfFullSizeHaveTheStudysAlgorithmsOnFewNodesAndOnMany(self):
        cases = self.record["full_size"]

        self.assertEqual([(case["matrix"], case["sizes"], case["nodes"]) for case in cases],
                         [(matrix, sizes, nodes) for matrix in sdde.FULL_SIZE for sizes in sdde.VALUES
                          for nodes in (2, 4)])
        # The shuffled mesh: of 16 ranks 12 are on other nodes, and 4 of 8.
        self.assertEqual([case["most_messages_to_other_nodes"] for case in cases[4:6]],
                         [{"standard": 4, "aware": 1}, {"standard": 12, "aware": 3}])
        self.assertEqual([one["name"] for one in cases[0]["algorithms"]], sdde.IN_THE_STUDY + sdde.AS_IN_THE_STUDY)
        self.assertEqual([one["name"] for one in cases[2]["algorithms"]],
                         sdde.IN_THE_STUDY[:2] + sdde.AS_IN_THE_STUDY)

    def test_TheBestOfOneKindIsComparedWithTheBestOfTheOther(self):
        times = {"personalized": 12e-6, "nonblocking": 6e-6, "rma": 9e-6, "rma_fence": 7e-6,
                 "locality_personalized": 4e-6, "locality_nonblocking": 5e-6}
        case = {"algorithms": [{"name": name, "simulated_seconds": seconds} for name, seconds in times.items()]}

        self.assertEqual(sdde.named(sdde.best(case, sdde.STANDARD)), "nonblocking 6")
        self.assertAlmostEqual(sdde.gain(case, sdde.AWARE, sdde.STANDARD), 1.5)
        self.assertAlmostEqual(sdde.gain_of_the_studys_way(case), 1.5)
        variants = dict(zip(sdde.AS_IN_THE_STUDY, (8e-6, 7.5e-6)))
        self.assertAlmostEqual(sdde.gain_of_the_studys_way({**case, "variants": variants}), 0.8)
        self.assertEqual(sdde.summary({"a": 0.5, "b": 2.0, "c": 16.0}),
                         ["6.17", "2.52", "0.50 (a)", "16.0 (c)", "2 of 3"])

    def test_TablesArePrintedAgainFromTheRecord(self):
        self.assertIn("| D_10 | 12 / 3 |", self.printed)
        self.assertEqual(self.printed, self.again)


class Meshes(unittest.TestCase):
    def test_NeighborsOfABoxAreAStepApart(self):
        self.assertEqual(sorted(meshes.edges((2, 3), meshes.CROSS_2, 1)),
                         [(1, 0), (2, 1), (3, 0), (4, 1), (4, 3), (5, 2), (5, 4)])
        self.assertEqual(len(list(meshes.edges((2, 3), meshes.TRIANGLES, 1))), 7 + 2)
        self.assertEqual(len(meshes.BOX_3), 13)
        # A box of 3 x 3 x 3 points has 7^3 pairs of points that are at most a step apart, with themselves.
        self.assertEqual(len(list(meshes.edges((3, 3, 3), meshes.BOX_3, 1))), (7 ** 3 - 27) // 2)

    def test_NumbersStayInTheirWindow(self):
        numbers = meshes.numbering(10, 4)

        self.assertEqual([sorted(numbers[:4]), sorted(numbers[4:8]), sorted(numbers[8:])],
                         [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
        self.assertNotEqual(numbers, list(range(10)))
        self.assertEqual(numbers, meshes.numbering(10, 4))

    def test_AFileHasAsManyLinesAsItSays(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mesh.mtx"
            meshes.write(path, (3, 3, 3), meshes.BOX_3)
            lines = path.read_text(encoding="ascii").splitlines()

        self.assertEqual(lines[:2], ["%%MatrixMarket matrix coordinate pattern symmetric", "27 27 158"])
        self.assertEqual(len(lines), 2 + 158)


if __name__ == "__main__":
    unittest.main()
