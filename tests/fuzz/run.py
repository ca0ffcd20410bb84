#!/usr/bin/env python3
"""Tries the readers with inputs that nobody wrote; fails if one breaks.

usage: run.py BUILD [--seconds 60] [--only READER...] [--fast BUILD --executions NUMBER]
              [--record FILE --coverage BUILD]
       run.py --tables FILE

BUILD is a build folder of the preset fuzz. Inputs that break a reader, and new ones that reach more, stay in
BUILD/inputs. --fast first tries as many inputs as --executions says with a build of the preset fuzz-fast, which has no
sanitizers; what reaches more is then read with them. --record writes how often each reader was run, and which share of
its lines the inputs reach, for which BUILD of --coverage is one of the preset fuzz-coverage.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.append(str(PROJECT / "tools/plots"))
import records  # noqa: E402

# The sources of each reader, and how long an input may be.
READERS = {
    "matrix_market": (["tools/inputs/matrix_market.cpp"], 512),
    "matrix_market_gzip": (["tools/inputs/matrix_market.cpp"], 512),
    "pattern": (["tools/inputs/halo.cpp"], 512),
    "partition": (["tools/inputs/partition.cpp"], 256),
    "hierarchy": (["tools/inputs/hierarchy.cpp"], 512),
    "topology": (["src/topology/topology.cpp"], 64),
    "machine": (["src/model/machine.cpp"], 8192),
    "plan": (["src/plan/json.cpp"], 2048),
    "option_texts": (["src/route/registry.cpp", "src/route/grid_shape.cpp", "src/exchange/algorithm.cpp"], 48),
    "result_json": (None, None),  # of Python
}


def corpora(build, reader):
    """What was found, to which the fuzzer adds, and what is in the repository."""
    found = build / "inputs" / reader
    found.mkdir(parents=True, exist_ok=True)
    return [str(found), str(HERE / "corpus" / reader)]


def fuzz(build, reader, seconds, executions=None, also=()):
    """Executions, and what was said if the reader broke."""
    _, most_bytes = READERS[reader]
    until = f"-max_total_time={seconds}" if executions is None else f"-runs={executions}"
    done = subprocess.run(
        [build / "tests/fuzz" / f"fuzz_{reader}", until, f"-max_len={most_bytes}", "-seed=1",
         "-print_final_stats=1", "-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={build}/inputs/{reader}-",
         *corpora(build, reader), *also], capture_output=True, text=True, errors="replace", check=False)
    number = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    return int(number[1]) if number else 0, None if done.returncode == 0 else done.stderr[-4000:]


def fuzz_results(seconds, executions):
    """The same for what Python reads."""
    many = [f"--seconds={seconds}"] if executions is None else [f"--executions={executions}"]
    done = subprocess.run([sys.executable, "-B", HERE / "result_json.py", *many], capture_output=True, text=True,
                          errors="replace", check=False)
    if done.returncode != 0:
        return 0, (done.stdout + done.stderr)[-4000:]
    return json.loads(done.stdout)["executions"], None


def try_reader(reader, arguments):
    """A row of the record, and what was said if the reader broke."""
    if reader == "result_json":
        executions, said = fuzz_results(arguments.seconds, arguments.executions)
        return {"reader": reader, "executions": executions}, said
    one, said, also = {"reader": reader, "executions": 0}, None, []
    if arguments.fast:
        one["fast"], said = fuzz(arguments.fast, reader, arguments.seconds, arguments.executions)
        also = corpora(arguments.fast, reader)[:1]
    if said is None:
        one["executions"], said = fuzz(arguments.build, reader, arguments.seconds, also=also)
    if arguments.coverage:
        one["lines"], one["reached"] = line_coverage(arguments.build, arguments.coverage, reader, also)
    return one, said


def llvm(tool):
    """Of the version of Clang that cmake/clang.cmake takes."""
    return next(name for name in (f"llvm-{tool}-16", f"llvm-{tool}-19") if shutil.which(name))


def line_coverage(build, coverage, reader, also):
    """Lines of the reader's sources, and how many of them the inputs reach."""
    program = coverage / "tests/fuzz" / f"fuzz_{reader}"
    raw, merged = coverage / f"{reader}.profraw", coverage / f"{reader}.profdata"
    subprocess.run([program, "-runs=0", *corpora(build, reader), *also], env={"LLVM_PROFILE_FILE": str(raw)},
                   stderr=subprocess.DEVNULL, check=True)
    subprocess.run([llvm("profdata"), "merge", "-sparse", raw, "-o", merged], check=True)
    sources = [str(PROJECT / source) for source in READERS[reader][0]]
    said = subprocess.run([llvm("cov"), "export", "-summary-only", program, f"-instr-profile={merged}", *sources],
                          capture_output=True, text=True, check=True).stdout
    lines = json.loads(said)["data"][0]["totals"]["lines"]
    return lines["count"], lines["covered"]


def table(record):
    """Rows of Markdown."""
    lines = ["| reader | inputs tried | with sanitizers | lines reached |", "|---|---|---|---|"]
    for one in record:
        share = f"{100 * one['reached'] / one['lines']:.0f} %" if "lines" in one else "–"
        sanitized = "–" if one["reader"] == "result_json" else f"{one['executions']:,}"
        lines.append(f"| `{one['reader']}` | {one.get('fast', 0) + one['executions']:,} | {sanitized} | {share} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = lambda text: pathlib.Path(text).resolve()  # noqa: E731
    parser.add_argument("build", nargs="?", type=folder)
    parser.add_argument("--tables", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", nargs="+", default=list(READERS), choices=list(READERS))
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--coverage", type=folder)
    parser.add_argument("--fast", type=folder)
    parser.add_argument("--executions", type=int)
    arguments = parser.parse_args()
    if arguments.tables:
        print("\n".join(table(records.read(arguments.tables)["readers"])))
        return 0
    if arguments.build is None:
        parser.error("give a build folder")
    if (arguments.fast is None) != (arguments.executions is None):
        parser.error("--fast and --executions go together")
    record, num_broken = [], 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for one, said in pool.map(lambda reader: try_reader(reader, arguments), arguments.only):
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
