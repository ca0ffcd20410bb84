"""What the scripts of the studies share: running a program, records and tables."""

import json
import math
import pathlib
import subprocess

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = PROJECT / "build/release/bench/studies"
RESULTS = PROJECT / "bench/results"
LINE_LENGTH = 200


def run(program, *arguments):
    """What a program prints, as JSON; how far it is goes to the terminal."""
    done = subprocess.run([str(program), *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def rounded(value):
    """Six digits are enough."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: rounded(entry) for name, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, list) else value


def text_of(value, indent=0):
    """JSON with what fits on a line on one line."""
    flat = json.dumps(value)
    if len(flat) + indent <= LINE_LENGTH or not isinstance(value, (dict, list)):
        return flat
    start = "\n" + " " * (indent + 1)
    if isinstance(value, dict):
        entries = [f"{json.dumps(name)}: {text_of(entry, indent + 1)}" for name, entry in value.items()]
        return "{" + start + ("," + start).join(entries) + "}"
    return "[" + start + ("," + start).join(text_of(entry, indent + 1) for entry in value) + "]"


def write(record, path):
    pathlib.Path(path).write_text(text_of(record) + "\n", encoding="utf-8")


def read(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def print_table(title, columns, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
