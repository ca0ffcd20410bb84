"""An error that nobody catches ends all ranks, with one line of ours."""

import os
import re
import subprocess
import unittest


def run(where):
    return subprocess.run(["timeout", "120", *os.environ["CROSSDOCK_UNCAUGHT"].split(), where], check=False,
                          capture_output=True, text=True)


class Uncaught(unittest.TestCase):
    def expect(self, where, *sentences):
        done = run(where)
        self.assertNotIn(done.returncode, (0, 124), done.stderr)
        self.assertEqual(re.findall("^error: (.*)$", done.stderr, re.MULTILINE), list(sentences), done.stderr)
        for trace in ("Signal:", "backtrace", "terminate called", "[ 0]"):
            self.assertNotIn(trace, done.stderr)
        return done

    def test_AnErrorOfAllRanksIsPrintedOnce(self):
        done = self.expect("all", 'topology "5x9" describes 45 ranks, but there are 3')
        self.assertEqual(done.stdout.splitlines(), 3 * ["printed before the error"])

    def test_AnErrorOfOneRankEndsAll(self):
        self.expect("rank 1", "rank 1 has read a faulty line")

    def test_ThePeersOfAFaultyStartLetItSayWhy(self):
        self.expect("start", "rank 1 has arrays of 0 items and 2 slots, but its pattern needs 1 and 2; give arrays of "
                             "these lengths")

    def test_AnErrorOfAThreadEndsAll(self):
        self.expect("thread", "a thread of rank 0 has failed")


if __name__ == "__main__":
    unittest.main()
