"""Starts the command line for the tests of this folder."""

import json
import os
import pathlib
import subprocess

TESTS = pathlib.Path(__file__).parent
DATA = TESTS.parent.parent / "data"
TIMEOUT_SECONDS = 120


def crossdock(*arguments, ranks=None, stdout=subprocess.PIPE, environment=None):
    """Runs crossdock, under mpirun if a number of ranks is given; a hang fails the test.

    `environment` are variables in addition to those of the test.
    """
    command = [os.environ["CROSSDOCK_TOOL"], *map(str, arguments)]
    if ranks is not None:
        command = os.environ["CROSSDOCK_MPIRUN"].split() + [str(ranks), *command]
    return subprocess.run(["timeout", str(TIMEOUT_SECONDS), *command], stdout=stdout,
                          stderr=subprocess.PIPE, text=True, check=False,
                          env=os.environ | (environment or {}))


def crossdock_json(*arguments, ranks=None, environment=None):
    """Standard output, which must be one JSON document and nothing else."""
    done = crossdock(*arguments, "--json", ranks=ranks, environment=environment)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)
