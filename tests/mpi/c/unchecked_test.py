"""How programs end that look at no status: as programs with an error in a call of MPI's."""

import os
import subprocess
import unittest


def run(program, *words):
    return subprocess.run(["timeout", "120", *os.environ["CROSSDOCK_MPIRUN"].split(), program, *words],
                          check=False, capture_output=True, text=True)


class Unchecked(unittest.TestCase):
    def test_AnErrorEndsThePrograms(self):
        for program in os.environ["CROSSDOCK_UNCHECKED"].split(":"):
            for words in ([], ["freed"]):
                with self.subTest(program=program, words=words):
                    # Open MPI's mpirun sometimes ends before it has got the sentence.
                    for _ in range(8):
                        done = run(program, *words)
                        self.assertNotIn(done.returncode, (0, 124), done.stderr)
                        self.assertNotIn("slot", done.stdout)
                        if "crossdock: " in done.stderr:
                            break
                    self.assertIn("crossdock: ", done.stderr)
                    self.assertIn("exchange", done.stderr)

    def test_ErrorsAreReturnedWhereTheProgramSaysSo(self):
        for program in os.environ["CROSSDOCK_UNCHECKED"].split(":"):
            with self.subTest(program=program):
                done = run(program, "returned")
                self.assertEqual((done.returncode, done.stdout), (0, "invalid_state, slot 0\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
