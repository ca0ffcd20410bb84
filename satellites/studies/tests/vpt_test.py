"""satellites/studies/vpt.py counts what the reference counts."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

import script

sys.path.append(str(script.PROJECT / "satellites/studies"))
import vpt

REFERENCE = script.PROJECT / "tests/golden/traffic_small.json"


def free_machine():
    """A preset of whose numbers all are 0."""
    machine = json.loads((script.PROJECT / "machines/bluegene_q.json").read_text())

    def free(value):
        return {name: free(one) for name, one in value.items()} if isinstance(value, dict) else 0

    return {name: value if name in ("schema", "description", "sources") else "free" if name == "name" else free(value)
            for name, value in machine.items()}


class Vpt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.record, cls.printed, cls.again = script.quick("vpt", script.PROJECT / "data")
        cls.matrix = cls.record["runs"][0]["matrices"][0]

    def test_CountsAreThoseOfTheReference(self):
        cases = json.loads(REFERENCE.read_text())
        known = next(case["routes"] for case in cases if (case["matrix"], case["ranks"]) == ("D_10", 16))

        for route, name in zip(self.matrix["routes"], ("direct", "grid:4x4")):
            for what in ("messages", "items"):
                sent = {number: route["sent"][what][number] for number in ("total", "max")}
                self.assertEqual(sent, known[name][what])

    def test_OneDimensionIsDirectAndFourAreTheHypercubeOf16Ranks(self):
        self.assertEqual([(route["route"], route["dimensions"], route["most_messages"])
                          for route in self.matrix["routes"]],
                         [("direct", 1, 15), ("grid:2", 2, 6), ("grid:3", 3, 5), ("hypercube", 4, 4)])

    def test_NoRankSendsMoreMessagesThanTheBound(self):
        for route in self.matrix["routes"]:
            self.assertLessEqual(route["sent"]["messages"]["max"], route["most_messages"])

    def test_DrawnPatternsHaveTheMessagesOfTheStudy(self):
        (drawn,) = self.record["table_2"][0]["matrices"]
        direct, *_, hypercube = (route["sent"] for route in drawn["routes"])
        self.assertEqual((direct["messages"]["max"], hypercube["messages"]["max"]), (44, 6))
        self.assertIn("| 64 | 1 | 44, 44 | 22.9, 23.2 | 2105, 2105 | 573 |", self.printed)
        self.assertIn("| 64 | 6 | 6, 6 | 5.5, 6.0 | 5022, 5178 | 287 |", self.printed)

    def test_MovingSubmessagesTakesTheStudysAlgorithmTime(self):
        free, dear, dearer = (run["matrices"][0]["routes"][-1]["times"] for run in self.record["table_2"])
        times = [free["fitted, 2.4"], dear["submessages 0.1 us, 2.4"], dearer["submessages 0.3 us, 2.4"]]
        first, second, third = (one["stored_and_forwarded_seconds"] for one in times)
        self.assertLess(first, second)
        self.assertLess(second, third)
        self.assertNotIn("stored_and_forwarded_seconds", self.record["table_2"][0]["matrices"][0]["routes"][0]["times"])

    def test_TheFittedTimesOrderDimensionsAsTheStudyDoes(self):
        self.assertIn("64 ranks: 13 of 13 pairs of n", self.printed)

    def test_ProductsHaveTheNonzerosAndThePartnersOfRanks(self):
        (run,) = self.record["products"]
        (matrix,) = run["matrices"]
        self.assertEqual((run["ranks"], matrix["nonzeros"]), (16, {"total": 7614, "max": 670, "mean": 475.875}))
        self.assertEqual(matrix["partners"], {"least": 13, "lower_quartile": 14, "median": 14, "upper_quartile": 14,
                                              "percentile_95": 15, "most": 15})
        self.assertIn("| 16 | D_10 | 7614 | 13 | 14 | 14 | 14.2 | 14 | 15 | 15 | 1.1 |", self.printed)

    def test_TheCrayIsFittedToDirectAndTwoDimensionsOfTable3(self):
        fit = vpt.cray_fit()

        for n in (1, 2):
            most, _, _, microseconds = vpt.TABLE_3[4096][n]
            self.assertAlmostEqual(1e6 * (most * fit["message"] + fit["fixed"]), microseconds)

    def test_ALineHasTheRowsThatItIsNear(self):
        rows = [(m, 0, w, 1 + 2 * m + 3 * w) for m, w in ((9, 1), (5, 2), (4, 7), (2, 9), (1, 12))]

        self.assertEqual(vpt.most_rows_of_a_line(rows, 1.01), 5)
        self.assertEqual(vpt.most_rows_of_a_line([*rows, (5, 0, 2, 34)], 1.01), 5)  # told twice as slow as another

    def test_TheLocalProductIsFittedToTable2(self):
        self.assertIn("| 3957324 | 16.6 | 60.3 | 8.5 % | 9.7 % |", self.printed)

    def test_AProductWithoutExchangeIsItsNonzeros(self):
        # 4 x 4 ones, 8 on each of two ranks; on this machine messages take no time.
        with tempfile.TemporaryDirectory() as folder:
            file, machine = (pathlib.Path(folder) / name for name in ("ones.mtx", "free.json"))
            entries = "".join(f"{row} {column}\n" for row in range(1, 5) for column in range(1, 5))
            file.write_text(f"%%MatrixMarket matrix coordinate pattern general\n4 4 16\n{entries}")
            machine.write_text(json.dumps(free_machine()))
            record = script.json_of(os.environ["CROSSDOCK_STUDY"], file, "--ranks", 2, "--node-size", 2, "--partition",
                                    "block", "--machines", machine, "--nonzero-seconds", 0.25)
        (direct,) = record["matrices"][0]["routes"][:1]
        self.assertEqual(direct["times"]["free"]["product_seconds"], 2)

    def test_AllToAllIsForwardedAsTheFormulaOfTheStudyHasIt(self):
        # 256 ranks and n dimensions: 1.88, 3.01 and 4.02 times the volume of direct for n = 2, 4 and 8.
        record = script.json_of(os.environ["CROSSDOCK_STUDY"], "dense:1", "--ranks", 256, "--dimensions", "2,4,8",
                                "--partition", "block")
        sent = [route["sent"] for route in record["matrices"][0]["routes"]]
        self.assertEqual([one["items"]["total"] for one in sent], [65280, 122880, 196608, 262144])
        self.assertEqual([one["items_at_once"]["max"] for one in sent], [510, 705, 609, 481])

    def test_AllToAllOnARingLoadsLinksInEachStage(self):
        # Directly a link carries 8 bytes to the next rank and 8 halfway round; then 2 submessages of 8 + 8 bytes.
        record = script.json_of(os.environ["CROSSDOCK_STUDY"], "dense:1", "--ranks", 4, "--node-size", 1,
                                "--dimensions", 2, "--partition", "block", "--torus", 4)
        self.assertEqual([route["link_bytes"] for route in record["matrices"][0]["routes"]], [[[16]], [[32], [32]]])

    def test_MappingForwardsLessAndNeverMoreThanAtTheLeast(self):
        (matrix,) = self.record["mapping"]["matrices"]
        self.assertEqual([route["dimensions"] for route in matrix["routes"]], [2, 6])
        for route in matrix["routes"]:
            self.assertLessEqual(matrix["direct_items"], route["least_items"])
            for mapping in ("inside_nodes", "everywhere"):
                self.assertLess(route[mapping]["items"], route["items"])
                self.assertLessEqual(route["least_items"], route[mapping]["items"])

    def test_TablesArePrintedAgainFromTheRecord(self):
        self.assertIn("| 16 | 8 | D_10 | 15 | 14 |", self.printed)
        self.assertEqual(self.printed, self.again)


if __name__ == "__main__":
    unittest.main()
