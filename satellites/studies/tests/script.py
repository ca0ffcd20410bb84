"""Runs a script of satellites/studies as a user does."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).parents[3]
sys.path.append(str(PROJECT / "tools/plots"))
import records

def json_of(command, *arguments):
    """The JSON document that a command prints."""
    called = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, check=True)
    return json.loads(called.stdout)


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
