"""satellites/studies/choice_rules.py, on a record whose regrets are plain."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import script

SCRIPT = script.PROJECT / "satellites/studies/choice_rules.py"
sys.path.append(str(SCRIPT.parent))
import choice_rules


def case(file, ranks, neighbors, machine="quartz", **seconds):
    """`seconds` of each route; the estimates chose `direct`, and everything else the best."""
    best = min(seconds.values())
    return {"file": file, "ranks": ranks, "machine": machine, "counts": {"most_neighbors": neighbors},
            "best_seconds": best, "candidates": {route: {"seconds": one} for route, one in seconds.items()},
            "regret": seconds["direct"] / best - 1, "regret_of_the_lowest_price": 0.0,
            "regret_with_2_replayed": 0.0, "regret_with_3_replayed": 0.0}


# On 4 ranks `direct` is best; on 8 it is with few neighbors, and else `hypercube`. That is what all matrices say.
CASES = [one for file in ("x", "y", "z")
         for one in (case(file, 4, 3, direct=1.0, two_step=1.5, hypercube=2.0),
                     case(file, 8, 5, direct=1.0, two_step=1.25, hypercube=1.5),
                     case(file, 8, 8, direct=2.0, two_step=1.25, hypercube=1.0),
                     case(file, 8, 9, direct=2.0, two_step=1.25, hypercube=1.0))]


class ChoiceRules(unittest.TestCase):
    def test_ARuleIsAsGoodAsWhatItsCellsHaveInCommon(self):
        self.assertEqual(choice_rules.scores_of(CASES),
                         {"one route everywhere": (2 / 4, 1.5 / 4),
                          "a table by machine and ranks": (3 / 4, 0.5 / 4),
                          "the same, and by the number of neighbors": (1, 0),
                          "`choose_route`: estimates": (2 / 4, 2 / 4),
                          "the lowest price of compiled plans": (1, 0),
                          "`choose_by_replay` of the 2 lowest prices": (1, 0),
                          "`choose_by_replay` of the 3 lowest prices": (1, 0)})

    def test_AMatrixDoesNotTeachItsOwnAnswer(self):
        own = [case("x", 4, 3, direct=1.0, two_step=2.0), case("y", 4, 3, direct=1.5, two_step=1.0)]

        self.assertEqual(choice_rules.regrets_of_rules(own)["a table by machine and ranks"], [1.0, 0.5])

    def test_WhereARuleHasLearnedNothingTheOneBeforeItSays(self):
        alone = [case("x", 4, 3, direct=3.0, two_step=1.0), case("y", 8, 3, direct=2.0, two_step=1.0)]

        self.assertEqual(choice_rules.regrets_of_rules(alone)["the same, and by the number of neighbors"], [0.0, 0.0])

    def test_ARouteThatIsNoCandidateIsDirect(self):
        self.assertEqual(choice_rules.regret(CASES[0], "locality:2"), 0.0)
        nothing = {"best_seconds": 0, "candidates": {"direct": {"seconds": 0}}}
        self.assertEqual(choice_rules.regret(nothing, "direct"), 0)

    def test_ThereIsATableForRanksThatShareCores(self):
        slow = [case(file, 4, 3, machine="shared_cores", direct=1.5, two_step=1.0) for file in ("x", "y")]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "record.jsonl"
            script.records.write({"schema": "crossdock.selection/1", "cases": CASES + slow}, path)
            printed = subprocess.run([sys.executable, "-B", SCRIPT, path, path],
                                     capture_output=True, text=True, check=True).stdout

        alone, sharing = printed.split("Ranks that share cores")
        self.assertIn("| a table by machine and ranks | 75 % | 12.5 % | 75 % | 12.5 % |\n", alone)
        self.assertIn("| `choose_route`: estimates | 0 % | 50.0 % | 0 % | 50.0 % |\n", sharing)


if __name__ == "__main__":
    unittest.main()
