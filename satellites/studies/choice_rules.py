#!/usr/bin/env python3
"""How the choice by estimates compares with rules that are learned from the same records: prints tables.

usage: satellites/studies/choice_rules.py [MESSAGES SHARED_MEMORY]

The arguments are records of crossdock_selection; without any they are those in bench/results.

A rule names a route for all cases of a cell: for all, for those of a machine and a number of ranks, or for those of
these that have about as many neighbors. It is the route that is most often close to the best in the cell, and it is
learned without the matrix that it is judged by.
"""
import argparse
import collections
import functools

import study

RECORDS = [study.MEASUREMENTS / "selection.jsonl", study.MEASUREMENTS / "selection-shared-memory.jsonl"]
TOLERANCE = 0.05
RECORDED = [("`choose_route`: estimates", "regret"),
            ("the lowest price of compiled plans", "regret_of_the_lowest_price"),
            ("`choose_by_replay` of the 2 lowest prices", "regret_with_2_replayed"),
            ("`choose_by_replay` of the 3 lowest prices", "regret_with_3_replayed")]


def everywhere(_):
    return ()


def by_machine_and_ranks(case):
    return case["machine"], case["ranks"]


def by_neighbors_too(case):
    """How many digits the number of neighbors has, with base 8: fewer than 8, than 64, than 512, or more."""
    return *by_machine_and_ranks(case), len(f"{case['counts']['most_neighbors']:o}")


# Where a rule has learned nothing of a cell, the one before it says what to take.
RULES = [("one route everywhere", everywhere),
         ("a table by machine and ranks", by_machine_and_ranks),
         ("the same, and by the number of neighbors", by_neighbors_too)]


def regret(case, route):
    """How much longer than the best; a route that is none here leaves the items to `direct`."""
    seconds = case["candidates"].get(route, case["candidates"]["direct"])["seconds"]
    return seconds / case["best_seconds"] - 1 if case["best_seconds"] > 0 else 0


def score(regrets):
    """The share of those that are close, and the mean."""
    regrets = list(regrets)
    return sum(one <= TOLERANCE for one in regrets) / len(regrets), sum(regrets) / len(regrets)


def best_route(cases):
    """The one that is most often close to the best; of equal ones that of the least regret."""
    def rank(route):
        share, mean = score(regret(case, route) for case in cases)
        return -share, mean, route
    return min({route for case in cases for route in case["candidates"]}, key=rank)


def learned(cases, cells):
    """The route of each cell of each rule."""
    members = collections.defaultdict(list)
    for case in cases:
        for cell_of in cells:
            members[cell_of, cell_of(case)].append(case)
    return {cell: best_route(those) for cell, those in members.items()}


def regrets_of_rules(cases):
    """For each rule the regrets of all cases, each learned from the other matrices."""
    cells = [cell_of for _, cell_of in RULES]
    regrets = {name: [] for name, _ in RULES}
    for file in dict.fromkeys(case["file"] for case in cases):
        routes = learned([case for case in cases if case["file"] != file], cells)
        for case in (case for case in cases if case["file"] == file):
            route = "direct"
            for name, cell_of in RULES:
                route = routes.get((cell_of, cell_of(case)), route)
                regrets[name].append(regret(case, route))
    return regrets


@functools.cache
def shares_cores(machine):
    """Whether ranks of a preset share cores."""
    return study.read(study.PROJECT / f"machines/{machine}.json")["num_cores"] > 0


def scores_of(cases):
    """The share that is close to the best and the mean regret, by way to choose."""
    found = {name: score(regrets) for name, regrets in regrets_of_rules(cases).items()}
    return found | {name: score(case[key] for case in cases) for name, key in RECORDED}


def text_of(share, mean):
    return f"{100 * share:.0f} %", f"{100 * mean:.1f} %"


def print_scores(title, records, counts):
    """A row for each way to choose; of the cases for which `counts` is true."""
    columns = [scores_of([case for case in record if counts(case)]) for record in records]
    study.print_table(title, ["choice", "messages: within 1.05 times the best", "mean regret",
                              "shared memory: within 1.05", "mean regret"],
                      [[name, *(text for column in columns for text in text_of(*column[name]))]
                       for name in columns[0]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="*", default=RECORDS, metavar="RECORD")
    records = [study.read(path)["cases"] for path in parser.parse_args().records]
    print_scores("Ranks with a core each", records, lambda case: not shares_cores(case["machine"]))
    print_scores("Ranks that share cores", records, lambda case: shares_cores(case["machine"]))


if __name__ == "__main__":
    main()
