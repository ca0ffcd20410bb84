"""A program that dies in the middle of exchanges leaves nothing of the library in /dev/shm."""

import os
import pathlib
import subprocess
import time
import unittest

# The launcher may still be clearing up when it returns.
PATIENCE_SECONDS = 10


class Crash(unittest.TestCase):
    def test_LeavesNoSharedMemoryBehind(self):
        done = subprocess.run(["timeout", "60", *os.environ["CROSSDOCK_CRASH"].split()],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        files = [pathlib.Path(line.removesuffix(" (deleted)")) for line in
                 done.stdout.splitlines() if line.startswith("/dev/shm/")]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(file.exists() for file in files) and time.monotonic() < deadline:
            time.sleep(0.1)

        self.assertNotIn(done.returncode, (0, 124), done.stderr)
        self.assertNotEqual(files, [], done.stderr)
        self.assertEqual([file for file in files if file.exists()], [])


if __name__ == "__main__":
    unittest.main()
