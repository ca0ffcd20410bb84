"""Runs a script of satellites/studies as a user does."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).parents[3]
PAGE = PROJECT / "satellites/studies/docs/studies.md"
sys.path.append(str(PROJECT / "tools/plots"))
import records

# How rows that come from a record begin, in docs/studies.md.
FIRST_CELLS = {"array": ("| Borůvka, ", "| neighborhood, ", "| overload, 256", "| overload, 8192"),
               "stream": ("| histogram |", "| index_gather |", "| 131072 ", "| 262144 ", "| 100 ns ", "| 25 ns "),
               "stream_thread": ("| PingAck, ", "| WPs, ", "| 2^20 ", "| 2^17 ", "| g = ", "| answered, "),
               "sdde": ("| constant |", "| variable |", "| mesh_", *(f"| {n} |" for n in (2, 4, 8, 16, 32, 64)),
                        "| SiH4 ", "| air04_gram ", "| ba6_", "| bcs", "| ca-", "| ckt", "| cnr", "| fast", "| ibm",
                        "| lux", "| mit8 ", "| pegase", "| rajat"),
               "neighbor": ("| strong ", "| partial 1.", "| full 1.", *(f"| {first}" for first in "x0123456789"))}


def json_of(command, *arguments):
    """The JSON document that a command prints."""
    called = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, check=True)
    return json.loads(called.stdout)


def rows_that_are_not_printed(section, name):
    """How many rows of this section of docs/studies.md come from the record, and those that are not in its tables."""
    printed = subprocess.run([sys.executable, PROJECT / f"satellites/studies/{name}.py", "--tables",
                              PROJECT / f"satellites/studies/results/study-{name}.jsonl"],
                             capture_output=True, text=True, check=True).stdout.splitlines()
    page = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [line for line in page.splitlines() if line.startswith(FIRST_CELLS[name])]
    return len(rows), [row for row in rows if row not in printed]


def quick(name, *arguments):
    """The record that `--quick` writes, and what is printed for it at once and again from the record."""
    script = [sys.executable, PROJECT / f"satellites/studies/{name}.py"]
    with tempfile.TemporaryDirectory() as output:
        record = pathlib.Path(output) / "record.json"
        program = ["--program", os.environ["CROSSDOCK_STUDY"]]
        printed = subprocess.run([*script, *map(str, arguments), "--quick", "-o", record, *program],
                                 capture_output=True, text=True, check=True).stdout
        again = subprocess.run([*script, "--tables", record], capture_output=True, text=True, check=True).stdout
        return records.read(record), printed, again
