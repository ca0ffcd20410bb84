#!/usr/bin/env python3
"""Times of BoomerAMG with and without libcrossdock_hypre.so, in turns.

usage: measure.py SOLVE LIBRARY RUNS PROBLEM SIZE CYCLES COMMAND...   one line of JSON; COMMAND starts the ranks
       measure.py --table FILE                                        the page's table
"""
import json
import os
import subprocess
import sys
from statistics import median

# Of each solve; what a program's first and later time steps take.
PARTS = ["set_up", "first_half", "second_half"]


def seconds_of(command, **environment):
    """Of the two solves, one after the other."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
    lines = [line.split() for line in done.stdout.splitlines()]
    return [dict(zip(PARTS, map(float, words), strict=True)) for words in lines if len(words) == len(PARTS)]


def measure(solve, library, runs, problem, size, cycles, *start):
    command = [*start, "env", f"LD_PRELOAD={library}"]
    arguments = [solve, problem, size, cycles, "-time"]
    record = {"schema": "crossdock.hypre_unchanged/1", "command": " ".join(map(os.path.basename, start)),
              "problem": problem, "points_per_rank": int(size), "cycles": int(cycles), "hypre": [], "crossdock": []}
    for _ in range(int(runs)):
        record["hypre"].append(seconds_of([*command, "CROSSDOCK_OFF=1", *arguments]))
        record["crossdock"].append(seconds_of([*command, *arguments]))
    return record


def row_of(record):
    """Milliseconds of hypre's cycle, and ratios to it, of medians of ratios between neighboring runs."""
    def ratio(solve, parts):
        return median(sum(ours[solve][part] for part in parts) / sum(hypre[solve][part] for part in parts)
                      for hypre, ours in zip(record["hypre"], record["crossdock"], strict=True))
    per_cycle = median(sum(run[1][part] for part in PARTS[1:]) for run in record["hypre"]) / record["cycles"]
    cells = [record["command"], f"`{record['problem']}`, {record['points_per_rank']}", record["cycles"],
             f"{per_cycle * 1e3:.2f}"]
    cells += [f"{ratio(solve, parts):.2f}" for solve in (0, 1) for parts in (PARTS[:1], PARTS[1:])]
    return f"| {' | '.join(map(str, [*cells, f'{ratio(1, PARTS[2:]):.2f}']))} |"


if __name__ == "__main__":
    if sys.argv[1] == "--table":
        with open(sys.argv[2], encoding="utf-8") as lines:
            print("\n".join(row_of(json.loads(line)) for line in lines))
    else:
        print(json.dumps(measure(*sys.argv[1:])))
