"""What the scripts of the studies share: running a program, records and tables."""

import argparse
import json
import math
import pathlib
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "tools/plots"))
from records import read, write  # the scripts call study.read and study.write

PROGRAMS = PROJECT / "build/release/satellites/studies"
MEASUREMENTS = PROJECT / "bench/results"
RESULTS = PROJECT / "satellites/studies/results"


def run(program, *arguments):
    """What a program prints, as JSON; how far it is goes to the terminal."""
    done = subprocess.run([str(program), *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def parser(description, name):
    """For the options that all scripts have; `name` is that of the record and of the program."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("-o", dest="output", default=RESULTS / f"study-{name}.jsonl")
    result.add_argument("--program", default=PROGRAMS / f"crossdock_study_{name}")
    result.add_argument("--quick", action="store_true")
    result.add_argument("--tables", metavar="RECORD")
    return result


def finish(arguments, make_record, print_tables):
    """Reads a record or makes it, and prints its tables."""
    if arguments.tables:
        record = read(arguments.tables)
    else:
        record = rounded(make_record(arguments))
        write(record, arguments.output)
    print_tables(record)


def rounded(value):
    """Six digits are enough."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: rounded(entry) for name, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, list) else value


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def print_table(title, columns, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
