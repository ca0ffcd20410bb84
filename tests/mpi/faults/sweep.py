#!/usr/bin/env python3
"""Refuses every k-th allocation and call of MPI in turn, on 1, 2 and 4 ranks, and records what came of it.

usage: sweep.py [--record FILE] [--ranks 1 2 4] [--only REGEX] -- LAUNCHER PROGRAM
       sweep.py --tables FILE

LAUNCHER ends in the option that takes the number of ranks. Each operation is a run of its own, so that one that hangs
ends no other.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tools/plots"))
import records  # noqa: E402

TESTS = ("MemoryThatIsRefusedOnOneRankFailsOnAllOrNone", "CallsThatFailOnOneRankFailOnAllOrNone",
         "CallsThatFailAgainFailOnAllOrNone")
# What the rows of the table are: the first that an operation's name fits.
ROWS = (("contexts, made and closed", "context|close_context"),
        ("neighbor exchanges, set up", "neighbor|duplicate|prepare|found"),
        ("neighbor exchanges, started and waited for",
         "start_((lazy|new_size)_)?(persistent|shared_memory|auto)|forward_records"),
        ("sparse exchanges", "sparse"),
        ("arrays, made and closed", "array|close_array"),
        ("batches", "batch|start_batch"),
        ("gather-scatters", "gather|start_gather|flag_duplicates"),
        ("streams", "stream|start_stream|close_stream|request_stream"),
        ("patterns and topologies", "pattern|discovered_topology"),
        ("all these in C", "c_"))
COUNTED = ("tried", "thrown", "told")
REFUSED = {"memory": "memory", "call": "calls of MPI", "question": "calls of MPI"}


def operations(program):
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter=*{TESTS[0]}*"], capture_output=True,
                            text=True, check=True).stdout
    return [line.split()[0].split("/")[1] for line in listed.splitlines() if line.startswith("  ")]


def sweep(launcher, program, ranks, operation, folder):
    """The lines of the record, and what the program said if it failed."""
    record = pathlib.Path(folder, f"{operation}-{ranks}.jsonl")
    tests = ":".join(f"*{test}/{operation}" for test in TESTS)
    done = subprocess.run(["timeout", "900", *launcher, str(ranks), program, f"--gtest_filter={tests}"],
                          env=dict(os.environ, CROSSDOCK_FAULT_STRIDE="1", CROSSDOCK_FAULT_RECORD=str(record)),
                          capture_output=True, text=True, check=False)
    lines = record.read_text().splitlines() if record.exists() else []
    return lines, None if done.returncode == 0 else done.stdout + done.stderr


def row_of(operation):
    name = operation.removeprefix("first_")
    return next(row for row, pattern in ROWS if re.match(pattern, name))


def summed(lines):
    """The record: sums over the operations of an object, for each number of ranks and kind of fault."""
    sums = collections.defaultdict(collections.Counter)
    for one in map(json.loads, lines):
        sums[row_of(one["operation"]), one["ranks"], one["kind"]].update(
            {"operations": 1, **{name: one[name] for name in COUNTED}})
    return [dict(zip(("object", "ranks", "kind"), key), **values) for key, values in sums.items()]


def table(record):
    """Rows of Markdown: what was tried, and what came of it."""
    sums = collections.Counter()
    for one in record:
        place = one["object"], REFUSED[one["kind"].removesuffix("_twice")]
        for name in COUNTED:
            sums[*place, name] += one[name]
    lines = ["| object | refused | tried | done all the same | failed | failed on the others by `peer_failed` |",
             "|---|---|---|---|---|---|"]
    total = collections.Counter()
    for row, _ in ROWS:
        for refused in ("memory", "calls of MPI"):
            tried, thrown, told = (sums[row, refused, name] for name in COUNTED)
            if tried == 0:
                continue
            total.update(tried=tried, thrown=thrown, told=told)
            lines.append(f"| {row} | {refused} | {tried:,} | {tried - thrown:,} | {thrown:,} | {told:,} |")
    lines.append(f"| all | | {total['tried']:,} | {total['tried'] - total['thrown']:,} | {total['thrown']:,} | "
                 f"{total['told']:,} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", metavar="FILE")
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--only", default="")
    parser.add_argument("command", nargs="*")
    arguments = parser.parse_args()
    if arguments.tables:
        print("\n".join(table(records.read(arguments.tables)["faults"])))
        return 0
    if not arguments.command:
        parser.error("give a launcher and the program, after --")
    *launcher, program = arguments.command
    chosen = [one for one in operations(program) if re.search(arguments.only, one)]
    if not chosen:
        parser.error(f"no operation is named like {arguments.only}")
    lines, num_failed = [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [(ranks, operation) for ranks in arguments.ranks for operation in chosen]
        for run, (found, said) in zip(runs, pool.map(lambda run: sweep(launcher, program, *run, folder), runs)):
            lines += found
            if said is not None:
                num_failed += 1
                print(f"{run[1]} on {run[0]} ranks:\n{said[-4000:]}", flush=True)
    if arguments.record:
        records.write({"schema": "crossdock.faults/1", "faults": summed(lines)}, arguments.record)
    tried = sum(json.loads(line)["tried"] for line in lines)
    print(f"{len(runs)} runs, {tried} calls refused, {num_failed} runs failed")
    return 1 if num_failed else 0


if __name__ == "__main__":
    sys.exit(main())
