"""The study of combined requests: counts that are exact, and those that `crossdock analyze --array` has."""

import os
import unittest

import script

MACHINE = script.PROJECT / "tests/tools/golden/machine-round.json"
ROUTES = "direct,three_step,locality:1,grid:2,hypercube,decrease"


def study(ranks, per_node, *more):
    return script.json_of(os.environ["CROSSDOCK_STUDY"], "--ranks", ranks, "--per-node", per_node, *more)["cases"]


def analyze(*arguments):
    return script.json_of(os.environ["CROSSDOCK_TOOL"], "analyze", "--array", "--json", *arguments)["contenders"]


def by_name(case):
    return {one["name"]: one for one in case["contenders"]}


def overload(ranks, entries, requests, *more, per_node=4):
    [case] = study(ranks, per_node, "--workloads", "overload", "--entries", entries, "--requests-per-rank", requests,
                   *more)
    return by_name(case)


class Array(unittest.TestCase):
    @unittest.skipUnless("CROSSDOCK_TOOL" in os.environ, "the command line is not built")
    def test_MessagesAndRequestsAreThoseThatAnalyzeCounts(self):
        for graph in ("rmat", "rgg"):
            [case] = study(54, 12, "--workloads", "boruvka", "--graphs", graph, "--edges-per-rank", 64,
                           "--routes", ROUTES, "--uncombined", "grid:2")
            common = ("--ranks", 54, "--topology", "4x12,6", "--graph", graph, "--vertices-per-rank", 4,
                      "--edges-per-rank", 64)
            known = analyze(*common, "--routes", ROUTES)
            known += analyze(*common, "--routes", "grid:2", "--combine", "none")[1:]
            found = by_name(case)

            self.assertEqual(len(found), len(known))
            for one in known:
                route, _, strategy = one["name"].partition("/")
                name = route + ("/none" if strategy == "none" else "")
                stages = one["counts"]["stages"]
                empty = 0 if route == "plain" else sum(stage["empty_messages"]["total"] for stage in stages)
                self.assertEqual(found[name]["messages"],
                                 sum(stage["messages"]["total"] for stage in stages) + empty, name)
                self.assertEqual(found[name]["items"], sum(stage["items"]["total"] for stage in stages), name)

    def test_ARouteDecidesHowOftenAnEntryIsAskedFor(self):
        found = overload(64, 64, 128, "--routes", "direct,grid:8x8,hypercube")

        self.assertEqual({name: one["arrived_most"] for name, one in found.items()},
                         {"plain": 126, "direct": 63, "grid:8x8": 7, "hypercube": 1, "grid:2/none": 112,
                          "hypercube/none": 64})
        self.assertEqual(found["hypercube"]["messages_most"], 6)
        self.assertEqual(found["grid:8x8"]["messages_most"], 14)

    def test_EveryRankWritesAndReadsEachEntryOfOneRankOnce(self):
        [case] = study(64, 4, "--workloads", "overload_one", "--entries", 10,
                       "--routes", "direct,grid:8x8,hypercube", "--uncombined", "grid:8x8")
        found = by_name(case)

        self.assertEqual(case["batches"], 2)
        self.assertEqual({name: one["arrived_most"] for name, one in found.items()},
                         {"plain": 2 * 630, "direct": 2 * 630, "grid:8x8": 2 * 70, "hypercube": 2 * 10,
                          "grid:8x8/none": 2 * 560})
        for one in found.values():
            self.assertEqual(list(one["seconds_of"]), ["read", "write"])
            self.assertAlmostEqual(sum(one["seconds_of"].values()), one["simulated_seconds"])

    def test_ABatchTakesWhatTheMachineSays(self):
        """Two ranks on two nodes that ask each other once: overheads of 0.3 us, latency 1 us, a byte 0.16 ns."""
        found = overload(2, 2, 2, "--routes", "direct", "--machine", MACHINE, per_node=1)

        def copies_us(length, items):
            return length * 0.0001 + items * 0.001

        def way_us(length):
            return 0.3 + 1 + (length - 1) * 0.00016 + 0.3

        # Three passes of sorting two requests; one stays. Back comes a value of 8 bytes.
        request_us = copies_us(3 * 16, 3 * 2) + copies_us(96, 1) + way_us(96) + copies_us(96, 1)
        reply_us = copies_us(8, 1) + way_us(8) + copies_us(8, 1)
        self.assertAlmostEqual(found["direct"]["simulated_seconds"] * 1e6, request_us + reply_us, places=6)

        # As the study has it: a count of 4 bytes comes first, the request has no head, and all sort in three passes, or
        # in lg 2 + 1 by comparisons.
        count_us = copies_us(4, 1) + way_us(4) + copies_us(4, 1)
        request_us = copies_us(16, 1) + way_us(16) + copies_us(16, 1)
        for sorting, num_passes in ((), 3), (("--comparisons",), 2):
            found = overload(2, 2, 2, "--routes", "direct", "--machine", MACHINE, "--collective-stages", *sorting,
                             per_node=1)
            sorting_us = copies_us(num_passes * 16, num_passes * 2)
            for name in ("direct", "plain"):
                self.assertAlmostEqual(found[name]["sorting_seconds"] * 1e6, sorting_us)
                self.assertAlmostEqual(found[name]["simulated_seconds"] * 1e6,
                                       sorting_us + count_us + request_us + reply_us, places=6)

    def test_ASearchLooksAtTheReceivesThatWait(self):
        """The message of rank 0's third receive comes first: in each of 2 batches it looks at 2 + 1 others, in 5 ns."""
        found, searched = (by_name(study(4, 1, "--workloads", "overload_one", "--entries", 1, "--machine", MACHINE,
                                         "--routes", "grid:2x2", "--uncombined", "none", *more)[0])
                           for more in ((), ("--search",)))

        self.assertAlmostEqual(1e9 * (searched["plain"]["simulated_seconds"] - found["plain"]["simulated_seconds"]),
                               2 * (2 + 1) * 5)
        self.assertEqual(searched["grid:2x2"], found["grid:2x2"])

    def test_VerticesThatHoldTheirOwnEdgesAskForNeighborsAndParentsOnly(self):
        held, drawn, parents = (by_name(case)["plain"] for case in study(
            16, 4, "--workloads", "neighbors,neighborhood,pointers", "--graphs", "rgg", "--edges-per-rank", 256,
            "--routes", "grid:2", "--uncombined", "none"))

        self.assertEqual(held["items"], drawn["items"])  # a rank draws the edges of its own vertices
        self.assertLess(parents["items"], held["items"])

    def test_ScramblingTakesRequestsFromTheRankThatHasMost(self):
        cases = study(64, 8, "--workloads", "boruvka", "--graphs", "rmat_unscrambled,rmat", "--edges-per-rank", 256,
                      "--routes", "hypercube", "--uncombined", "hypercube")
        unscrambled, scrambled = (by_name(case)["plain"]["received_most"] for case in cases)

        self.assertGreater(unscrambled, 2 * scrambled)

    def test_TablesArePrintedAgainFromTheRecord(self):
        record, printed, again = script.quick("array")

        self.assertEqual([(run["ranks"], run["stages"]) for run in record["runs"]],
                         [(16, "messages"), (16, "collectives")])
        self.assertIn("boruvka rmat_unscrambled, 16 ranks", printed)
        self.assertEqual(printed, again)


if __name__ == "__main__":
    unittest.main()
