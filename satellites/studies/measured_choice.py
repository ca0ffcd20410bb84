#!/usr/bin/env python3
"""How good the chosen route is where it is measured: auto against all candidates, in one run.

usage: measured_choice.py --launcher "tools/emulated-cluster --nodes 4 --ppn 4 --" --machine machine.json FILE...
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys

import study

CANDIDATES = ["direct", "two_step", "three_step", "grid:2", "grid:3", "hypercube"]
TOLERANCE = 1.15


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--crossdock", default="build/release/tools/crossdock/crossdock")
    parser.add_argument("--launcher", default="mpirun -n 16", help="what starts all ranks of a command")
    parser.add_argument("--topology", default="4x4")
    parser.add_argument("--machine", required=True, help="that of the launcher, calibrated there")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("-o", "--output", help="write the record there")
    parser.add_argument("files", nargs="+", metavar="FILE")
    return parser.parse_args()


def bench(options, file):
    command = [*shlex.split(options.launcher), options.crossdock, "bench", "neighbor", file, "--topology",
               options.topology, "--routes", ",".join([*CANDIDATES, "auto"]), "--executors", "auto",
               "--iterations", str(options.iterations), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                          env=os.environ | {"CROSSDOCK_MACHINE": options.machine})
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def case_of(record, file, dedup):
    """The chosen route's time, as it was measured under its own name, over the best candidate's."""
    ours = {one["name"]: one for one in record["contenders"]
            if one["dedup"] is dedup and one["name"] in (*CANDIDATES, "auto")}
    seconds = {name: one["exchange_seconds"]["lower_quartile"] for name, one in ours.items()}
    chosen = ours["auto"]["routes"][0]
    best = min(CANDIDATES, key=seconds.get)
    return {"file": pathlib.Path(file).name, "dedup": dedup, "chosen": chosen, "best": best, "seconds": seconds,
            "ratio": seconds[chosen] / seconds[best],
            "choose_over_setup": ours["auto"]["choose_seconds"]["median"]
            / ours[chosen]["setup_seconds"]["median"]}


def main():
    options = arguments()
    cases = []
    for file in options.files:
        record = bench(options, file)
        for dedup in (False, True):
            case = case_of(record, file, dedup)
            cases.append(case)
            print(f"{case['file']:40} {str(dedup):6} {case['chosen']:12} {case['best']:12} {case['ratio']:6.2f}"
                  f" {case['choose_over_setup']:6.2f}")
    share = sum(case["ratio"] <= TOLERANCE for case in cases) / len(cases)
    print(f"{len(cases)} cases, within {TOLERANCE} times the best in {share:.0%}")
    if options.output:
        study.write({"schema": "crossdock.measured_choice/1", "topology": options.topology, "mpi": record["mpi"],
                     "tolerance": TOLERANCE, "share": share, "cases": cases}, options.output)


if __name__ == "__main__":
    main()
