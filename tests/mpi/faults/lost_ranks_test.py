"""A rank that is stopped for a while changes no result; one that is killed leaves nothing behind."""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import time
import unittest

LAUNCHER = os.environ["CROSSDOCK_FAULTS"].split()
PROGRAM = os.path.realpath(LAUNCHER[-1])
NUM_RANKS = 4
# Of each list so many, unless all are wanted.
MOST = None if "CROSSDOCK_FAULTS_ALL" in os.environ else 1
STOPPED = (("start_*", 60), ("sparse_*:*RoundsEndAsUsual/batch_*", 40), ("neighbor_*", 60))
KILLED = ("start_shared_memory", "start_stream_direct_shared_memory", "sparse_fixed_shared_memory", "batch_read_rma",
          "start_persistent", "context")
# The launcher may still be clearing up when it returns.
PATIENCE_SECONDS = 10


def ranks_below(launcher):
    """The processes of the program that the launcher has started, directly or not."""
    parents, ranks = {}, []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if os.path.realpath(entry / "exe") == PROGRAM:
                ranks.append(int(entry.name))
        except OSError:
            pass  # it has ended meanwhile

    def is_below(process):
        while process in parents:
            process = parents[process]
            if process == launcher:
                return True
        return False

    return sorted(rank for rank in ranks if is_below(rank))


def shared_files(process):
    lines = pathlib.Path(f"/proc/{process}/maps").read_text().splitlines()
    return {line[line.index("/dev/shm/"):].removesuffix(" (deleted)") for line in lines if "/dev/shm/" in line}


def has_ended(process):
    """True for one that only waits for its parent to notice."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def send(number, processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def start(operations, rounds):
    environment = dict(os.environ, CROSSDOCK_FAULT_ROUNDS=str(rounds), CROSSDOCK_FAULT_SECONDS="60")
    program = subprocess.Popen([*LAUNCHER, f"--gtest_filter=*RoundsEndAsUsual/{operations}"], env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (len(ranks_below(program.pid)) < NUM_RANKS or not all(map(shared_files, ranks_below(program.pid)))) and \
            program.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.7)
    return program, ranks_below(program.pid)


class LostRanks(unittest.TestCase):
    def test_OneThatIsStoppedForThreeSecondsChangesNoResult(self):
        pick = random.Random(1)
        for operations, rounds in STOPPED[:MOST]:
            with self.subTest(operations):
                program, ranks = start(operations, rounds)
                self.assertEqual(len(ranks), NUM_RANKS, "it ended too early to be stopped")
                stopped = pick.choice(ranks)
                os.kill(stopped, signal.SIGSTOP)
                time.sleep(3)
                os.kill(stopped, signal.SIGCONT)
                said, _ = program.communicate(timeout=120)

                self.assertEqual(program.returncode, 0, said[-2000:])

    def test_OneThatIsKilledEndsAllAndLeavesNoSharedMemory(self):
        pick = random.Random(2)
        for operation in KILLED[:MOST]:
            with self.subTest(operation):
                program, ranks = start(operation, 1_000_000)
                self.addCleanup(program.kill)
                self.assertEqual(len(ranks), NUM_RANKS)
                send(signal.SIGSTOP, ranks)
                files = set().union(*(shared_files(rank) for rank in ranks))
                self.assertTrue(files)
                send(signal.SIGKILL, [pick.choice(ranks)])
                send(signal.SIGCONT, ranks)
                deadline = time.monotonic() + PATIENCE_SECONDS
                said, _ = program.communicate(timeout=PATIENCE_SECONDS)
                while not all(map(has_ended, ranks)) or any(map(os.path.exists, files)):
                    if time.monotonic() > deadline:
                        break
                    time.sleep(0.1)

                self.assertNotEqual(program.returncode, 0, said[-2000:])
                self.assertEqual([rank for rank in ranks if not has_ended(rank)], [])
                self.assertEqual(sorted(filter(os.path.exists, files)), [])


if __name__ == "__main__":
    unittest.main()
