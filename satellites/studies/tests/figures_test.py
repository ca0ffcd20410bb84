"""satellites/studies/figures.py judges as it says, and the pages of docs show what the scripts print of the records."""

import subprocess
import sys
import unittest

import script

STUDIES = script.PROJECT / "satellites/studies"
DOCS = STUDIES / "docs"
sys.path.append(str(STUDIES))
import figures

PAGES = {"neighbor": ["neighbor"], "vpt": ["vpt"], "sdde": ["sdde"], "array": ["array"],
         "stream": ["stream", "stream_thread", "waste"]}
MOST_WORDS = 1500
WORDS_OF_A_REASON = 10


def text_of(page):
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def lines_of(name, folder):
    command = [sys.executable, "-B", STUDIES / f"{name}.py", "--tables", folder]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def rows_of(lines):
    return [line for line in lines if line.startswith("|")]


class Judging(unittest.TestCase):
    def test_NumbersAgreeWithinTheToleranceInBothDirections(self):
        self.assertTrue(figures.are_near((4, 5), (5, 4)))
        self.assertFalse(figures.are_near((4, 5), (4, 5.01)))
        self.assertFalse(figures.are_near((5.01, 4)))

    def test_AShareAgreesIfWhatItLeavesDoesToo(self):
        self.assertTrue(figures.share_is_near(0.38, 0.35))
        self.assertFalse(figures.share_is_near(0.59, 0.70))
        self.assertFalse(figures.share_is_near(0.97, 0.90))

    def test_ATableMayHaveOneOfTwentyNumbersOutside(self):
        self.assertTrue(figures.are_mostly_near(19 * [(1, 1)] + [(1, 2)]))
        self.assertFalse(figures.are_mostly_near(18 * [(1, 1)] + 2 * [(1, 2)]))

    def test_AFitIsNamedOnlyWhereItAgrees(self):
        self.assertEqual([figures.judged(True), figures.judged(True, fitted=True), figures.judged(False, fitted=True)],
                         ["agrees", "agrees by a fit", "differs"])

    def test_ComputationOfPlanningGrowsAsAPowerBetweenTwoSizes(self):
        def size(ranks, seconds):
            return {"ranks": ranks, "routes": [{"route": "direct", "planning_seconds": 1.0},
                                               {"route": "three_step", "planning_seconds": 1 + seconds}]}

        growth = {"sizes": [size(16, 2.0), size(64, 8.0)]}
        self.assertAlmostEqual(figures.planning_computation(growth, 32), 4.0)
        self.assertAlmostEqual(figures.planning_computation(growth, 16), 2.0)


class Pages(unittest.TestCase):
    def test_TheTableIsTheOneOfTheRecords(self):
        printed = lines_of("figures", STUDIES / "results")
        page = text_of("studies")

        self.assertEqual(" ".join(page.split("\n\n")[1].split()), printed[0])
        self.assertEqual(rows_of(page.splitlines())[-48:], rows_of(printed))
        self.assertEqual(len(rows_of(printed)), 2 + 46)

    def test_FindingsAreOfFiveKindsAndReasonsAreShort(self):
        rows = [row for of_study in figures.rows_of(STUDIES / "results").values() for row in of_study]

        self.assertEqual([row.finding for row in rows if row.finding not in figures.FINDINGS], [])
        self.assertEqual([row.figure for row in rows if bool(row.ours) == (row.finding == figures.MISSING)], [])
        self.assertEqual([row.why for row in rows if not 0 < len(row.why.split()) <= WORDS_OF_A_REASON], [])

    def test_TablesOfEachStudyComeFromItsRecords(self):
        for page, scripts in PAGES.items():
            with self.subTest(page):
                printed = [line for name in scripts for line in lines_of(name, STUDIES / f"results/study-{name}.jsonl")]
                rows = rows_of(text_of(page).splitlines())
                self.assertGreater(len(rows), 10)
                self.assertEqual([row for row in rows if row not in printed], [])

    def test_PagesOfStudiesAreShort(self):
        self.assertEqual([page for page in PAGES if len(text_of(page).split()) > MOST_WORDS], [])


if __name__ == "__main__":
    unittest.main()
