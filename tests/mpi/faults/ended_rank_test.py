"""Ranks that end one after the other: the others hear of it, and go on. The launcher of Open MPI 5 does not always end
after that, with any program, so that it is ended once all has been said."""

import os
import subprocess
import unittest

LAUNCHER = os.environ["CROSSDOCK_LAUNCHER"].split()
PATIENCE_SECONDS = 100


def lines_until(is_last, num_ranks, program):
    """What the ranks say on standard output, until `is_last` of the lines."""
    running = subprocess.Popen(["timeout", "-k", "5", str(PATIENCE_SECONDS), *LAUNCHER, str(num_ranks), program],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    lines = []
    try:
        for line in running.stdout:
            said = line.strip("\0 \n")  # Open MPI 5.0.7 forwards null characters, too
            if said:
                lines.append(said)
            if is_last(lines):
                break
    finally:
        running.terminate()
        running.communicate(timeout=PATIENCE_SECONDS)
    return lines


class EndedRanks(unittest.TestCase):
    def test_OthersHearOfItInEachKindOfOperationAndGoOn(self):
        lines = lines_until(lambda said: "passed" in said[-1] or "wrong" in said[-1], 24, os.environ["CROSSDOCK_ENDED"])

        self.assertEqual(lines[-1], "18 passed, 0 failed", "\n".join(lines))

    def test_TheExampleGoesOnWithThreeOfFour(self):
        lines = lines_until(lambda said: len(said) == 6, 4, os.environ["CROSSDOCK_SHRINK"])

        self.assertEqual(sorted(lines), sorted(3 * ["rank 1 has ended"] +
                                               [f"rank {r} of 3 got {(r + 1) % 3}" for r in range(3)]))


if __name__ == "__main__":
    unittest.main()
