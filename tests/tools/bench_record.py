"""What the tests of crossdock bench share; --generate rewrites their golden files."""

import json
import sys
import unittest


def blank(record, *timings):
    """Without what differs from run to run and from machine to machine."""
    for name in ("mpi", "version", "file"):
        record[name] = ""
    for contender in record["contenders"]:
        for name in timings:
            contender[name] = dict.fromkeys(contender[name])
    return record


def check_seconds(test, seconds):
    ordered = [seconds[q] for q in ("min", "lower_quartile", "median", "max")]
    test.assertEqual(ordered, sorted(ordered))
    test.assertGreater(ordered[0], 0)


def main(golden, record):
    if "--generate" in sys.argv:
        golden.write_text(json.dumps(record(), indent=1) + "\n")
    else:
        unittest.main()
