"""scripts/instructions reads callgrind's dumps, and finds what rose."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import tempfile
import unittest
from unittest import mock

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts/instructions"
LOADER = importlib.machinery.SourceFileLoader("instructions", str(SCRIPT))
instructions = importlib.util.module_from_spec(importlib.util.spec_from_loader("instructions", LOADER))
LOADER.exec_module(instructions)

# start: 13 + 8 of its own, a call of MPI, two of memcpy, and one of `copy`, which has 70 of its own.
DUMP = """\
version: 1
positions: line
events: Ir
summary: 5000

ob=(1) /usr/lib/libc.so.6
fn=(1) memcpy
0 40

ob=(2) /build/program
fl=(1) program.cpp
fn=(2) start
15 13
cob=(3) /usr/lib/libmpi.so.40
cfn=(3) MPI_Start
calls=1 0
+1 4000
+2 8
cob=(1)
cfi=(2) memcpy.c
cfn=(1)
calls=2 0
* 40
cfn=(4) copy
calls=1 0
-3 70

fn=(4)
20 30
fi=(3) moves.hpp
30 40

fn=(5) (below main)
cob=(1)
cfn=(6) __libc_start_main
calls=1 0
0 4131

totals: 5000
"""


def record(built_with="GNU 12", **counts):
    cases = [{"pattern": "run", "values": 1, "items": 10, "instructions": 100, "library_calls": 0}]
    cases[0].update(counts)
    return {"schema": instructions.SCHEMA, "built_with": built_with, "cases": cases}


def printed(function, *arguments):
    """What a function returns, and what it prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        return function(*arguments), output.getvalue()


def check(found):
    return printed(instructions.check, record(), found)


class Instructions(unittest.TestCase):
    def test_OwnInstructionsAndCallsOfOtherLibrariesThanMpiAreCounted(self):
        with tempfile.TemporaryDirectory() as folder:
            dump = pathlib.Path(folder) / "out.1"
            dump.write_text(DUMP)
            self.assertEqual(instructions.counts_of(dump, "/build/program"),
                             {"instructions": 91, "library_calls": 2})
            self.assertEqual(instructions.counts_of(dump, "/build/other"),
                             {"instructions": 0, "library_calls": 0})

    def test_AsManyAsRecordedWithinTheToleranceAreRight(self):
        for found in (95, 100, 105):
            code, output = check(record(instructions=found))
            self.assertEqual((code, output), (0, "all 1 cases within 5% of the record\n"))

    def test_MoreThanRecordedFailsAndSaysWhat(self):
        code, output = check(record(instructions=106))
        self.assertEqual(code, 1)
        self.assertIn("run, 1 values: instructions 100 -> 106", output)
        self.assertEqual(check(record(library_calls=1))[0], 1)

    def test_FewerThanRecordedIsFineAndSaidSo(self):
        code, output = check(record(instructions=94))
        self.assertEqual(code, 0)
        self.assertIn("fewer than recorded", output)
        self.assertIn("run, 1 values: instructions 100 -> 94", output)

    def test_OtherCasesThanRecordedFail(self):
        self.assertEqual(check(record(pattern="list"))[0], 1)

    def test_WhatAnotherCompilerBuiltIsNotCompared(self):
        with tempfile.TemporaryDirectory() as folder:
            recorded = pathlib.Path(folder) / "instructions.jsonl"
            recorded.write_text(json.dumps(record()))
            program = pathlib.Path(folder) / "program"
            program.write_text("#!/bin/sh\necho Clang 14\n")
            program.chmod(0o755)
            with mock.patch.object(instructions, "RECORD", recorded):
                code, output = printed(instructions.count_and_check, str(program))
        self.assertEqual(code, instructions.EXIT_SKIPPED)
        self.assertEqual(output, "skipped: recorded with GNU 12, built with Clang 14\n")


if __name__ == "__main__":
    unittest.main()
