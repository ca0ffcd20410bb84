"""What the tests of crossdock bench share; --generate rewrites their golden files."""

import fractions
import re
import sys
import unittest

from command_line import TESTS

sys.path.append(str(TESTS.parents[1] / "tools/plots"))
import records


def blank(record, *timings):
    """Without what differs from run to run and from machine to machine."""
    for name in ("mpi", "version", "file"):
        record[name] = ""
    for contender in record["contenders"]:
        for name in timings:
            contender[name] = dict.fromkeys(contender[name])
    return record


def check_seconds(test, seconds):
    ordered = [seconds[q] for q in ("min", "lower_quartile", "median", "upper_quartile", "max")]
    test.assertEqual(len(seconds), len(ordered))
    test.assertEqual(ordered, sorted(ordered))
    test.assertGreaterEqual(ordered[0], 0)  # a clock may be too coarse for what is short


def check_judged(test, contenders, seconds, is_reference):
    """Each has the ratio of its rounds to those of the fastest reference, whose own is 1."""
    for one in contenders:
        test.assertEqual(list(one["ratio"]), ["median", "lower", "upper", "decision"])
        test.assertIn(one["ratio"]["decision"], ("gain", "no_gain", "undecided"))
    fastest = min(filter(is_reference, contenders), key=lambda one: one[seconds]["median"])
    test.assertEqual(fastest["ratio"]["median"], 1)


def rows_of(output):
    """The rows of the first table that compares contenders, as {column: cell}; "messages inter-region" is a column."""
    lines = output[output.index("\ncontender ") + 1:].partition("\n\n")[0].splitlines()
    head, *rows = [re.split(" {2,}", line) for line in lines]
    head = [name if head.count(name) == 1 else f"{head[at - 1]} {name}" for at, name in enumerate(head)]
    return [dict(zip(head, row)) for row in rows if len(row) == len(head)]


def rounded(text):
    """Between which numbers one lies that is printed so."""
    half = fractions.Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
    return fractions.Fraction(text) - half, fractions.Fraction(text) + half


def check_ratio(test, ratio, median, reference):
    """Whether there are numbers that are printed so, of which the first is the second divided by the third."""
    least, most = rounded(ratio)
    least_median, most_median = rounded(median)
    least_reference, most_reference = rounded(reference)
    test.assertLessEqual(least * least_reference, most_median, (ratio, median, reference))
    test.assertGreaterEqual(most * most_reference, least_median, (ratio, median, reference))


def check_ratios(test, output, *names, which="that uses MPI alone"):
    """That a table's ratios are to the fastest of those of these names, as it says; whoever that is.

    Returns its rows.
    """
    rows = rows_of(output)
    named = re.search(f"ratio: median divided by that of (.*), the fastest {which}; less than 1 is faster", output)[1]
    test.assertIn(named, names)
    known = {row["contender"].partition(" = ")[0]: row["median"] for row in rows}
    medians = {name: known[name] for name in names}
    test.assertEqual(float(medians[named]), min(map(float, medians.values())))
    for row in rows:
        check_ratio(test, row["ratio"], row["median"], medians[named])
    return rows


def main(golden, record):
    if "--generate" in sys.argv:
        records.write(record(), golden)
    else:
        unittest.main()
