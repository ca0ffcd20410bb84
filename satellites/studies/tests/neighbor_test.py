"""satellites/studies/neighbor.py counts a hierarchy that can be counted by hand."""

import pathlib
import sys
import tempfile
import unittest

import script

sys.path.append(str(script.PROJECT / "satellites/studies"))
import neighbor

COLUMNS, ROWS = 16, 8
ROWS_OF_A_PART = 2


def messages():
    """Receiver, source, items: both to the parts above and below, 0 to left and right, 1 to above on the right."""
    for source in range(COLUMNS * ROWS):
        row, column = divmod(source, COLUMNS)
        for row_step, column_step, items in ((1, 0, "0 1"), (-1, 0, "0 1"), (0, 1, "0"), (0, -1, "0"), (1, 1, "1")):
            if 0 <= row + row_step < ROWS and 0 <= column + column_step < COLUMNS:
                receiver = (row + row_step) * COLUMNS + column + column_step
                yield f"{receiver} {source} {len(items.split())} {items}"


def hierarchy():
    """A level with neighbors, and one with a single row that nobody else needs."""
    num_parts = COLUMNS * ROWS
    starts = " ".join(str(ROWS_OF_A_PART * part) for part in range(num_parts + 1))
    last = " ".join(["0"] * num_parts + ["1"])
    return "\n".join([f"level 0 rows {ROWS_OF_A_PART * num_parts} ranks {num_parts} starts {starts}", *messages(),
                      f"level 1 rows 1 ranks {num_parts} starts {last}", ""])


class Neighbor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "part.txt").write_text(hierarchy())
            weak = pathlib.Path(folder) / "weak"  # has what hypre would make
            (weak / "rotated-32ranks").mkdir(parents=True)
            (weak / "rotated-32ranks/part.txt").write_text(hierarchy())
            cls.record, cls.printed, cls.again = script.quick("neighbor", folder, "--columns", COLUMNS, "--weak", weak)

    def case(self, scaling):
        return next(case for case in self.record["cases"] if case["scaling"] == scaling)

    def sent(self, route, is_deduplicated):
        level = self.case("strong")["levels"][0]
        return next(one["sent"] for one in level["routes"]
                    if (one["route"], one["dedup"]) == (route, is_deduplicated))

    def test_BetweenRegionsGoesWhatTheBorderNeeds(self):
        """Four parts in a row become a rank, 4 x 8 ranks; the border is between their rows 3 and 4.

        Up: 4 messages of 8 items, and 3 of one item to the rank on the right. Down: 4 of 8 items.
        """
        sent = self.sent("direct", False)

        self.assertEqual(sent["inter_region_messages"], {"total": 11, "max": 2, "mean": 11 / 32})
        self.assertEqual(sent["inter_region_items"]["total"], 4 * 8 + 3 + 4 * 8)

    def test_InsideRegionsRanksHaveTheirNeighbors(self):
        """Left and right 2 x 3 in 8 rows; up and down 2 x 4, and up on the right 3, in 6 pairs of rows."""
        sent = self.sent("direct", False)

        self.assertEqual(sent["intra_region_messages"]["total"], 8 * 6 + 6 * 11)
        self.assertEqual(sent["intra_region_messages"]["max"], 5)

    def test_ThreeStepCrossesOnceEachWayAndDeduplicationSavesWhatTwoRanksNeed(self):
        for is_deduplicated, num_items in ((False, 67), (True, 64)):
            sent = self.sent("three_step", is_deduplicated)

            self.assertEqual(sent["inter_region_messages"], {"total": 2, "max": 1, "mean": 2 / 32})
            self.assertEqual(sent["inter_region_items"]["total"], num_items)

    def test_WeakScalingCutsAProblemOfTheSameShapeAndLeavesOutEmptyLevels(self):
        weak = self.case("weak")

        self.assertEqual((weak["ranks"], weak["regions"], weak["nodes"]), (32, 2, 2))
        self.assertEqual([level["rows"] for level in weak["levels"]], [8 * 4 * ROWS_OF_A_PART])

    def test_LargeWeakScalingIsOfHierarchiesOfItsOwn(self):
        (case,) = self.record["large_weak"]
        finest = case["levels"][0]
        sent = {(one["route"], one["dedup"]): one["sent"]["inter_region_items"]["total"]
                for one in finest["routes"] if "sent" in one}

        self.assertEqual((case["ranks"], finest["rows"]), (32, COLUMNS * ROWS * ROWS_OF_A_PART))
        self.assertEqual(sent, {("direct", False): 67, ("three_step", False): 67, ("three_step", True): 64})
        self.assertEqual([one["factor"] for one in self.record["large_weak_overheads"]], [0.5, 0.25])

    def test_TheLargestMessageBetweenRegionsIsKept(self):
        case = next(one for one in self.record["cases"] if one["scaling"] == "strong")
        self.assertEqual([neighbor.way(case["levels"][0], name)["largest_between_items"] for name in neighbor.WAYS],
                         [8, 35, 32])

    def test_AFactorIsFittedToEachNumberOfTheStudy(self):
        fits = self.record["calibration"]

        self.assertEqual([one["fitted_to"] for one in fits], ["partial", "full"])
        for one in fits:
            self.assertTrue(1 / 8 < one["factor"] < 3 / 8)
            self.assertEqual([case["ranks"] for case in one["cases"]], [32])
            self.assertEqual([[(way["route"], way["dedup"]) for way in level["routes"]]
                              for level in one["cases"][0]["levels"]],
                             [[("direct", False), ("three_step", False), ("three_step", True)]] * 2)

    def test_LevelsAreNamedInRanges(self):
        self.assertEqual([neighbor.ranges(numbers) for numbers in ([], [4], [1, 3, 4, 5, 8])],
                         ["", "4", "1, 3 to 5, 8"])

    def test_TablesArePrintedAgainFromTheRecord(self):
        self.assertIn("| 0 | 256 | 2 / 1 | 5 / ", self.printed)
        self.assertEqual(self.printed, self.again)


if __name__ == "__main__":
    unittest.main()
