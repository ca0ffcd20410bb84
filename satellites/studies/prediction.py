#!/usr/bin/env python3
"""How well simulations predict measured exchanges: calibrates the machine, times exchanges, and replays them.

usage: prediction.py --launcher "tools/emulated-cluster --nodes 4 --ppn 4 --" --topology 4x4 FILE...
       prediction.py --machine emulated_cluster.json --measured RECORD...

A RECORD is what bench neighbor printed before, on the same topology. Simulated are machines that nothing else
disturbs: compare with the minimum where other programs were running.
"""
import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

import study

ROUTES = ["direct", "two_step", "three_step"]
EXECUTORS = ["persistent", "shared_memory"]
TOLERANCE = 1.5
STATISTICS = ["min", "lower_quartile", "median"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--crossdock", default="build/release/tools/crossdock/crossdock")
    parser.add_argument("--launcher", default="mpirun -n 16", help="what starts all ranks of a command")
    parser.add_argument("--topology", default="4x4")
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--machine", help="a machine that was calibrated before; else that is done here")
    parser.add_argument("--seconds", type=float, default=60, help="for the calibration")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--measured", nargs="+", default=[], metavar="RECORD",
                        help="records of bench neighbor, in place of measuring")
    parser.add_argument("--folder", default="data", help="where the files of the records are")
    parser.add_argument("--statistic", default="min", choices=STATISTICS, help="of the times in the table")
    parser.add_argument("-o", "--output", help="write the record there")
    parser.add_argument("files", nargs="*", metavar="FILE")
    return parser.parse_args()


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit code {done.returncode}")
    return done.stdout


def calibrate(options):
    """The machine that the launcher starts ranks on."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "machine.json"
        run([*shlex.split(options.launcher), options.crossdock, "calibrate", "--seconds", str(options.seconds),
             "-o", str(path)])
        return study.read(path)


def cases_of(record, file):
    """The contenders that are simulated too, by route, deduplication and executor."""
    return [{"file": file, "route": one["name"], "dedup": one["dedup"], "executor": one["executor"],
             "measured": one["exchange_seconds"]}
            for one in record["contenders"] if one["name"] in ROUTES]


def measure(options, file):
    """Seconds of the slowest rank."""
    return cases_of(json.loads(run([
        *shlex.split(options.launcher), options.crossdock, "bench", "neighbor", file, "--topology", options.topology,
        "--routes", ",".join(ROUTES), "--executors", ",".join(EXECUTORS), "--baselines", "mpi_persistent",
        "--iterations", str(options.iterations), "--set-ups", "1", "--json"])), file)


def read_record(options, path):
    """The same, from what was measured before."""
    record = study.read(path)
    if record["topology"] != options.topology:
        sys.exit(f"{path}: topology {record['topology']}, not {options.topology}")
    file = record["file"]
    return cases_of(record, file if ":" in file else str(pathlib.Path(options.folder) / pathlib.Path(file).name))


def simulate(options, file, machine_file):
    """Simulated seconds, by the same."""
    times = {}
    for executor in EXECUTORS:
        found = json.loads(run([
            options.crossdock, "simulate", file, "--ranks", str(options.ranks), "--topology", options.topology,
            "--machine", machine_file, "--routes", ",".join(ROUTES), "--executor", executor, "--json"]))
        for one in found["routes"]:
            times[one["route"], one["dedup"], executor] = one["slowest_seconds"]
    return times


def compare(options, machine, cases):
    """Adds the simulated times to the cases."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "machine.json"
        path.write_text(json.dumps(machine), encoding="utf-8")
        for file in dict.fromkeys(case["file"] for case in cases):
            times = simulate(options, file, str(path))
            for case in cases:
                if case["file"] == file:
                    case["simulated_seconds"] = times[case["route"], case["dedup"], case["executor"]]


def orders(cases, statistic):
    """Whether the faster one of direct and three_step is the same, for each file, deduplication and executor."""
    groups = {}
    for case in cases:
        groups.setdefault((case["file"], case["dedup"], case["executor"]), {})[case["route"]] = case
    for key, routes in groups.items():
        a, b = routes["direct"], routes["three_step"]
        is_measured = a["measured"][statistic] < b["measured"][statistic]
        yield key, is_measured == (a["simulated_seconds"] < b["simulated_seconds"])


def summarize(cases, statistic):
    """How many are near, and how many in order."""
    ratios = [case["simulated_seconds"] / case["measured"][statistic] for case in cases]
    return {"median_ratio": statistics.median(ratios),
            "within_tolerance": statistics.mean(1 / TOLERANCE <= ratio <= TOLERANCE for ratio in ratios),
            "orders_right": statistics.mean(is_right for _, is_right in orders(cases, statistic))}


def print_table(cases, statistic):
    print(f"{'file':38} {'route':11} {'dedup':6} {'executor':14} {'measured':>10} {'simulated':>10} {'ratio':>6}")
    for case in cases:
        measured = case["measured"][statistic]
        print(f"{pathlib.Path(case['file']).name:38} {case['route']:11} {str(case['dedup']):6} {case['executor']:14} "
              f"{1e6 * measured:7.1f} us {1e6 * case['simulated_seconds']:7.1f} us "
              f"{case['simulated_seconds'] / measured:6.2f}")


def main():
    options = arguments()
    machine = study.read(options.machine) if options.machine else calibrate(options)
    cases = [case for path in options.measured for case in read_record(options, path)]
    cases += [case for file in options.files for case in measure(options, file)]
    compare(options, machine, cases)

    print_table(cases, options.statistic)
    summary = {statistic: summarize(cases, statistic) for statistic in STATISTICS}
    print(f"\n{len(cases)} cases{'':13} median ratio   within a factor {TOLERANCE}   "
          "direct against three_step in order")
    for statistic, found in summary.items():
        print(f"{statistic:20} {found['median_ratio']:14.2f} {100 * found['within_tolerance']:19.0f} % "
              f"{100 * found['orders_right']:34.0f} %")
    if options.output:
        for case in cases:
            case["file"] = pathlib.Path(case["file"]).name
        result = {"schema": "crossdock.prediction/1", "topology": options.topology,
                  "records": [pathlib.Path(path).name for path in options.measured], "tolerance": TOLERANCE,
                  "machine": machine, "summary": summary, "cases": cases}
        study.write(result, options.output)


if __name__ == "__main__":
    main()
