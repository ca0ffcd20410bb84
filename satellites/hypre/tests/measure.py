#!/usr/bin/env python3
"""Times of BoomerAMG with and without libcrossdock_hypre.so, in turns.

usage: measure.py SOLVE LIBRARY RUNS PROBLEM SIZE CYCLES COMMAND...   one line of JSON; COMMAND starts the ranks
       measure.py --tables FILE                                       the page's tables
"""
import json
import os
import subprocess
import sys
from statistics import median

# Of each solve; what a program's first and later time steps take.
PARTS = ["set_up", "first_half", "second_half"]


def numbers_of(command, environment):
    """The lines of three numbers that it prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
    lines = [line.split() for line in done.stdout.splitlines()]
    return [list(map(float, words)) for words in lines if len(words) == 3]


def run(command, **environment):
    """Seconds of the two solves, one after the other, and microseconds of each level's exchanges in the second."""
    solves = [dict(zip(PARTS, one, strict=True)) for one in numbers_of([*command, "-time"], environment)]
    levels = numbers_of([*command, "-levels"], environment)
    return solves, [round(of_matrix + of_interpolation, 3)
                    for _, of_matrix, of_interpolation in levels[len(levels) // 2:]]


def measure(solve, library, runs, problem, size, cycles, *start):
    command = [*start, "env", f"LD_PRELOAD={library}"]
    arguments = [solve, problem, size, cycles]
    record = {"schema": "crossdock.hypre_unchanged/1", "command": " ".join(map(os.path.basename, start)),
              "problem": problem, "points_per_rank": int(size), "cycles": int(cycles),
              "hypre": [], "crossdock": [], "levels": {"hypre": [], "crossdock": []}}
    for _ in range(int(runs)):
        for name, off in ("hypre", ["CROSSDOCK_OFF=1"]), ("crossdock", []):
            solves, levels = run([*command, *off, *arguments])
            record[name].append(solves)
            record["levels"][name].append(levels)
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


def row_of_levels(record):
    """Microseconds of hypre in the exchanges of a cycle, and ratios to them, of medians, for each level."""
    hypre, ours = ([median(runs) for runs in zip(*record["levels"][name], strict=True)]
                   for name in ("hypre", "crossdock"))
    cells = [record["command"], f"`{record['problem']}`, {record['points_per_rank']}"]
    # The coarsest level may be one rank's.
    cells += [f"{theirs:.0f}, {own / theirs:.2f}" for theirs, own in zip(hypre, ours, strict=True) if theirs > 0]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    if sys.argv[1] == "--tables":
        with open(sys.argv[2], encoding="utf-8") as lines:
            records = list(map(json.loads, lines))
        print("\n".join([row(one) for row in (row_of, row_of_levels) for one in records]))
    else:
        print(json.dumps(measure(*sys.argv[1:])))
