"""Starts the command line for the tests of this folder."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TESTS = pathlib.Path(__file__).parent
DATA = TESTS.parent.parent / "data"
TIMEOUT_SECONDS = 120
BAD_INPUT = 2


def crossdock(*arguments, ranks=None, stdout=subprocess.PIPE, environment=None, folder=None):
    """Runs crossdock, under mpirun if a number of ranks is given; a hang fails the test.

    `environment` are variables in addition to those of the test; `folder` is where it runs, if not here.
    """
    command = [os.environ["CROSSDOCK_TOOL"], *map(str, arguments)]
    if ranks is not None:
        command = os.environ["CROSSDOCK_MPIRUN"].split() + [str(ranks), *command]
    return subprocess.run(["timeout", str(TIMEOUT_SECONDS), *command], stdout=stdout,
                          stderr=subprocess.PIPE, text=True, check=False, cwd=folder,
                          env=os.environ | (environment or {}))


def crossdock_json(*arguments, ranks=None, environment=None):
    """Standard output, which must be one JSON document and nothing else."""
    done = crossdock(*arguments, "--json", ranks=ranks, environment=environment)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def own_lines(done):
    """What the command line says of a fault, without what launchers add."""
    return [line for line in done.stderr.splitlines() if line.startswith("crossdock: ")]


class Refusing(unittest.TestCase):
    def refuse(self, sentence, *arguments, ranks=None, environment=None):
        """Bad input is said once, in a line that begins so, and nothing else is printed."""
        done = crossdock(*arguments, ranks=ranks, environment=environment)

        said = own_lines(done) if ranks else done.stderr.splitlines()
        self.assertEqual((done.returncode, done.stdout, len(said)), (BAD_INPUT, "", 1), (arguments, done.stderr))
        self.assertTrue(said[0].startswith(f"crossdock: {sentence}"), said)

    def refuse_usage(self, *verb, cases):
        """Each of the cases, (more arguments, sentence), is said in a line of its own before the help."""
        for more, sentence in cases:
            done = crossdock(*verb, *more)

            self.assertEqual((done.returncode, done.stdout), (BAD_INPUT, ""), more)
            self.assertEqual(done.stderr.splitlines()[0], sentence)


class InFolder(Refusing):
    """With a folder that is removed behind each test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        file = self.folder / name
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file
