#!/usr/bin/env python3
"""Tries the readers with inputs that nobody wrote; fails if one breaks.

usage: run.py BUILD [--seconds 60] [--only READER...] [--record FILE --coverage BUILD]
       run.py --tables FILE

BUILD is a build folder of the preset fuzz. With --record it writes how often each reader was run, and which share of
its lines the inputs reach, for which BUILD of --coverage is one of the preset fuzz-coverage. Inputs that break a
reader, and new ones that reach more, stay in BUILD/inputs.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.append(str(PROJECT / "tools/plots"))
import records  # noqa: E402

# The sources of each reader, and how long an input may be.
READERS = {
    "matrix_market": (["tools/inputs/with/matrix_market.cpp"], 512),
    "matrix_market_gzip": (["tools/inputs/with/matrix_market.cpp"], 512),
    "pattern": (["tools/inputs/halo.cpp"], 512),
    "partition": (["tools/inputs/partition.cpp"], 256),
    "hierarchy": (["tools/inputs/hierarchy.cpp"], 512),
    "topology": (["src/topology/topology.cpp"], 64),
    "machine": (["src/model/machine.cpp"], 8192),
    "plan": (["src/plan/json.cpp"], 2048),
    "option_texts": (["src/route/registry.cpp", "src/route/grid_shape.cpp", "src/exchange/algorithm.cpp"], 48),
}


def corpora(build, reader):
    """What was found, to which the fuzzer adds, and what is in the repository."""
    found = build / "inputs" / reader
    found.mkdir(parents=True, exist_ok=True)
    return [str(found), str(HERE / "corpus" / reader)]


def fuzz(build, reader, seconds):
    """Executions, and what was said if the reader broke."""
    _, most_bytes = READERS[reader]
    done = subprocess.run(
        [build / "tests/fuzz" / f"fuzz_{reader}", f"-max_total_time={seconds}", f"-max_len={most_bytes}", "-seed=1",
         "-print_final_stats=1", "-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={build}/inputs/{reader}-",
         *corpora(build, reader)], capture_output=True, text=True, errors="replace", check=False)
    number = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    return int(number[1]) if number else 0, None if done.returncode == 0 else done.stderr[-4000:]


def line_coverage(build, coverage, reader):
    """Lines of the reader's sources, and how many of them the inputs reach."""
    program = coverage / "tests/fuzz" / f"fuzz_{reader}"
    raw, merged = coverage / f"{reader}.profraw", coverage / f"{reader}.profdata"
    subprocess.run([program, "-runs=0", *corpora(build, reader)], env={"LLVM_PROFILE_FILE": str(raw)},
                   stderr=subprocess.DEVNULL, check=True)
    subprocess.run(["llvm-profdata-16", "merge", "-sparse", raw, "-o", merged], check=True)
    sources = [str(PROJECT / source) for source in READERS[reader][0]]
    said = subprocess.run(["llvm-cov-16", "export", "-summary-only", program, f"-instr-profile={merged}", *sources],
                          capture_output=True, text=True, check=True).stdout
    lines = json.loads(said)["data"][0]["totals"]["lines"]
    return lines["count"], lines["covered"]


def table(record):
    """Rows of Markdown."""
    lines = ["| reader | inputs tried | seconds | lines reached |", "|---|---|---|---|"]
    for one in record:
        share = f"{100 * one['reached'] / one['lines']:.0f} %" if "lines" in one else "–"
        lines.append(f"| `{one['reader']}` | {one['executions']:,} | {one['seconds']:g} | {share} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--tables", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", nargs="+", default=list(READERS), choices=list(READERS))
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--coverage", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.tables:
        print("\n".join(table(records.read(arguments.tables)["readers"])))
        return 0
    if arguments.build is None:
        parser.error("give a build folder")
    build = arguments.build.resolve()
    record, num_broken = [], 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda reader: fuzz(build, reader, arguments.seconds), arguments.only)
        for reader, (executions, said) in zip(arguments.only, runs):
            one = {"reader": reader, "executions": executions, "seconds": arguments.seconds}
            if arguments.coverage:
                one["lines"], one["reached"] = line_coverage(build, arguments.coverage.resolve(), reader)
            record.append(one)
            print(json.dumps(one), flush=True)
            if said is not None:
                num_broken += 1
                print(said, flush=True)
    if arguments.record:
        records.write({"schema": "crossdock.fuzz/1", "readers": record}, arguments.record)
    return 1 if num_broken else 0


if __name__ == "__main__":
    sys.exit(main())
