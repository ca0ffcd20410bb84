"""Usual mistakes that make a program hang: each rank writes a line, and `crossdock why` names the first cause."""

import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

LIMIT_SECONDS = 0.2
PATIENCE_SECONDS = 60
PAGE = pathlib.Path(__file__).parents[3] / "docs/hangs.md"

HALO = "exchange 2 of neighbor exchange #1 halo"
OTHER = "exchange 1 of neighbor exchange #1 other"
COMPUTES = "computes, or waits outside of crossdock and MPI (PLACE)"
BARRIER = "is now in MPI_Barrier (PLACE)"
ALL_WAIT = "; ranks 0, 1, 2 wait for it"

# What rank 3 of four does wrong, and what `why` says.
MISTAKES = {
    "skips_an_exchange": [f"rank 3 has not started {HALO}; it last ended {OTHER}, and {COMPUTES}{ALL_WAIT}"],
    "sits_in_mpi": [f"rank 3 has not started {HALO}; it last ended {OTHER}, and {BARRIER}{ALL_WAIT}"],
    "blocks_before_wait": [
        "rank 3 has started exchange 1 of neighbor exchange #1 routed, but is now in MPI_Barrier before it waits "
        "(PLACE); rank 2 waits for it"],
    "starts_another": [
        f"rank 3 waits in exchange 2 of neighbor exchange #1 other, and has not started {HALO}: all ranks must start "
        f"the same objects{ALL_WAIT}"],
    "makes_no_context": [
        f"rank 3 has written no line: it never came to crossdock, or its process has ended{ALL_WAIT}"],
    "makes_another": [
        f"rank 3 waits in {HALO}, and takes no part in making a distributed array: all ranks must start the same "
        f"objects{ALL_WAIT}"],
    "leaves_out_a_batch": [
        "rank 3 has not started exchange 1 of distributed array #1 table; it last made distributed array #1 table, "
        f"and {BARRIER}{ALL_WAIT}"],
    "skips_a_combination": [
        "rank 3 has not started exchange 2 of gather-scatter #1 shared; it last ended exchange 1 of gather-scatter #1 "
        f"shared, and {BARRIER}; rank 0 waits for it"],
    "does_not_drain": [
        "rank 3 takes no part in draining a stream; it last started exchange 1 of stream #1 numbers, "
        f"and {BARRIER}{ALL_WAIT}"],
    "awaits_what_goes_elsewhere": [
        f"rank {rank} has completed exchange 1 of sparse exchange #1 messages without sending to rank 0: their "
        "patterns or plans differ; rank 0 waits for it" for rank in (1, 2, 3)],
    "ends": [f"rank 3 has ended: it is in MPI_Finalize, and has not started {HALO}{ALL_WAIT}"],
    "patterns_differ": [
        "rank 3 has completed exchange 1 of neighbor exchange #1 given without sending to rank 0: their patterns or "
        "plans differ; rank 0 waits for it"],
}


def without_place(text):
    return re.sub(r"process \d+ on [^ )]+", "PLACE", text)


def why(*files):
    return subprocess.run([os.environ["CROSSDOCK_TOOL"], "why", *files], capture_output=True, text=True, check=False)


def hang(name, is_enough):
    """What the ranks of a program that hangs have written, once it is enough, or patience ends."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "lines")
        running = subprocess.Popen(
            ["timeout", str(PATIENCE_SECONDS), *os.environ["CROSSDOCK_MISTAKES"].split(), name],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"CROSSDOCK_WATCHDOG": f"{LIMIT_SECONDS}:{file}"})
        text = ""
        while running.poll() is None:
            time.sleep(0.02)
            before, text = text, file.read_text() if file.exists() else ""
            if text != before and is_enough(file):
                break
        running.terminate()
        running.wait()
        return file.read_text(), without_place(why(file).stdout).splitlines()


class Hangs(unittest.TestCase):
    maxDiff = None

    def test_WhyNamesTheFirstCause(self):
        for name, expected in MISTAKES.items():
            with self.subTest(name):
                _, said = hang(name, lambda file: without_place(why(file).stdout).splitlines() == expected)

                self.assertEqual(said, expected)

    def test_ThePageShowsWhatIsWritten(self):
        shown = [line.strip() for line in PAGE.read_text().splitlines() if line.startswith("    ")]
        line, cause = (next(text for text in shown if text.startswith(begin)) for begin in ("crossdock: ", "rank 3 "))

        expected = [without_place(cause)]
        text, said = hang("sits_in_mpi", lambda file: without_place(why(file).stdout).splitlines() == expected)

        self.assertEqual(said, expected)
        written = [without_place(one).replace(f"{LIMIT_SECONDS} s", "60.0 s") for one in text.splitlines()]
        self.assertIn(without_place(line), written)

    def test_ReadsWhatLaunchersPrefixAndRefusesTheRest(self):
        line = ("crossdock: rank {} of 2 waits | in making a context | for - | stage - | open sends to - "
                "| last nothing | 0.2 s, process 7 on n1")
        with tempfile.TemporaryDirectory() as folder:
            prefixed, other, empty = (pathlib.Path(folder, name) for name in ("prefixed", "other", "empty"))
            prefixed.write_text("[1,0]<stderr>: " + line.format(0) + "\n" + "crossdock: rank 9 of 2 waits | in x\n")
            other.write_text("something else\n" + line.format(1) + "\n")
            empty.write_text("crossdock: rank x of 2 waits\n")

            self.assertEqual(why(prefixed).stdout, "rank 1 has written no line: it never came to crossdock, or its "
                                                   "process has ended; rank 0 waits for it\n")
            self.assertEqual(why(prefixed, other).stdout,
                             "2 of 2 ranks have written a line, and none of them waits for one that does not\n")
            self.assertEqual((why(empty).returncode, why(empty).stderr),
                             (2, f"crossdock: no rank has written a line of CROSSDOCK_WATCHDOG to {empty}\n"))
            self.assertEqual(why(pathlib.Path(folder, "none")).returncode, 2)


if __name__ == "__main__":
    unittest.main()
