"""crossdock simulate: exact figures on a machine with round numbers, without MPI."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import time
import unittest

from command_line import DATA, TESTS, crossdock, crossdock_json

MATRIX = DATA / "D_10.mtx.gz"
GOLDEN = TESTS / "golden/simulate-D_10-4x4.json"
MACHINE = TESTS / "golden/machine-round.json"
BAD_INPUT = 2
INTERRUPTED = 130
# Rows 0 1, 2 3 and 4 5 of three ranks; level 1 has one row each.
HIERARCHY = """level 0 rows 6 ranks 3 starts 0 2 4 6
0 1 2 0 1
2 1 1 0
level 1 rows 3 ranks 3 starts 0 1 2 3
0 2 1 0
"""


def simulate(file, ranks, topology, *more, machine=MACHINE):
    return crossdock_json("simulate", file, "--ranks", ranks, "--topology", topology, "--machine", machine,
                          *more)


def rounded(value):
    """The same with numbers of ten digits: the last ones are the compiler's."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {name: rounded(entry) for name, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, list) else value


def slowest(found):
    return {result["route"] + ("+dedup" if result["dedup"] else ""): result["slowest_seconds"]
            for result in found["routes"]}


class Simulate(unittest.TestCase):
    def test_DocumentIsTheKnownOne(self):
        found = simulate(MATRIX, 16, "4x4", "--nodes", "2x8", "--routes", "direct,three_step", "--executor",
                         "persistent")

        found["file"] = MATRIX.name
        for result in found["routes"]:  # prices are proved in the room that makes them
            self.assertGreater(result.pop("priced_seconds"), 0)
            self.assertGreater(result.pop("estimated_seconds"), 0)
        self.assertEqual(rounded(found), rounded(json.loads(GOLDEN.read_text())))

    def test_EstimatesAreThoseOfExplain(self):
        """For every route, with and without deduplication; those that auto does not consider have none."""
        for file, ranks, topology, *more in [
                ("dense:4", 64, "4x16"), (MATRIX, 16, "4x4", "--nodes", "2x8"), ("random:5", 24, "3x8"),
                ("dense:1", 12, "1,3,8", "--executor", "persistent", "--item-bytes", 24), ("dense:1", 8, "1x8"),
                ("random:3", 16, "cyclic:4x4", "--nodes", "16x1")]:
            division = ("--ranks", ranks, "--topology", topology, *more)
            explained = {
                dedup: {one["route"]: one["seconds"] for one in
                        crossdock_json("explain", file, *division, *flags)["candidates"]}
                for dedup, flags in ((True, ()), (False, ("--no-deduplicate",)))}
            routes = [*explained[True], "locality:3"]
            for flags in ((), ("--no-deduplicate",)):
                found = crossdock_json("simulate", file, *division, *flags, "--routes", ",".join(routes))

                for one in found["routes"]:
                    self.assertEqual(one["estimated_seconds"], explained[one["dedup"]].get(one["route"]),
                                     (file, more, one["route"], one["dedup"]))
                self.assertEqual([one["route"] for one in found["routes"] if one["dedup"] != bool(flags)], routes)
                considered = explained[not flags]
                self.assertEqual(found["auto"], min(considered, key=considered.get))

    def test_TableShowsTheEstimateOfExplain(self):
        division = ("dense:4", "--ranks", 64, "--topology", "4x16")
        explained = [dict(line.split()[:2] for line in crossdock("explain", *division, *flags).stdout.splitlines()[4:-1])
                     for flags in (("--no-deduplicate",), ())]

        head, *rows = crossdock("simulate", *division, "--routes", "three_step,locality:3").stdout.splitlines()[5:-1]

        self.assertEqual(head.split()[6:8], ["estimated", "us"])
        self.assertEqual([row.replace(" *", "").split()[4] for row in rows],
                         [*(one["three_step"] for one in explained), "-", "-"])
        self.assertEqual(explained[1]["three_step"], "4.287")

    def test_OneMessageTakesWhatTheMachineSays(self):
        """Overheads of 0.3 us, latency 1 us, 7 bytes of 0.16 ns, 8 bytes copied on either side."""
        found = simulate("dense:1", 2, "2x1", "--routes", "direct", "--no-deduplicate")

        copy_us = 0.0008 + 0.001
        sender_done_us = copy_us + 0.3
        way_us = 1 + 7 * 0.00016
        self.assertAlmostEqual(slowest(found)["direct"] * 1e6,
                               sender_done_us + way_us + 0.3 + copy_us, places=9)

    def test_SharesAddUpToOne(self):
        found = simulate(MATRIX, 16, "4x4", "--executor", "shared_memory")

        for result in found["routes"]:
            self.assertAlmostEqual(sum(result["share_of_time"].values()), 1)

    def test_SpeedUpIsOverDirectByMessagesThatIsNotDeduplicated(self):
        direct = slowest(simulate(MATRIX, 16, "4x4", "--routes", "direct", "--no-deduplicate", "--executor",
                                  "persistent"))["direct"]

        for executor in ("persistent", "shared_memory"):
            found = simulate(MATRIX, 16, "4x4", "--routes", "two_step", "--executor", executor)

            for result in found["routes"]:
                self.assertAlmostEqual(result["speedup_over_direct"],
                                       direct / result["slowest_seconds"])

    def test_ALateRankDelaysWhatWaitsForIt(self):
        found = simulate("dense:1", 2, "2x1", "--routes", "direct", "--no-deduplicate", "--late", "1:0.5")
        early = simulate("dense:1", 2, "2x1", "--routes", "direct", "--no-deduplicate")

        self.assertAlmostEqual(slowest(found)["direct"], slowest(early)["direct"] + 0.5, places=12)

    def test_MachineIsAPresetUnlessAFileIsGiven(self):
        found = crossdock_json("simulate", "dense:1", "--ranks", 2, "--topology", "2x1")

        self.assertEqual(found["machine"], "generic_100g")

    def test_NoiseFollowsItsSeed(self):
        times = [slowest(simulate(MATRIX, 16, "4x4", "--routes", "direct", "--noise", 1e-6, "--seed",
                                  seed)) for seed in (1, 1, 2)]

        self.assertEqual(times[0], times[1])
        self.assertNotEqual(times[0], times[2])

    def test_FileDescribesTheMachine(self):
        described = json.loads(MACHINE.read_text())
        described["name"] = "slow"
        described["levels"]["network"]["eager"]["latency_seconds"] = 2.5e-6
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "slow.json"
            file.write_text(json.dumps(described))

            found = simulate("dense:1", 2, "2x1", "--routes", "direct", machine=file)

        usual = simulate("dense:1", 2, "2x1", "--routes", "direct")
        self.assertEqual(found["machine"], "slow")
        self.assertAlmostEqual(slowest(found)["direct"] - slowest(usual)["direct"], 1.5e-6)

    def test_HierarchyHasItsLevelsAndTheirSum(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "part.txt").write_text(HIERARCHY)

            found = simulate(f"amg:{folder}", 3, "1,2", "--routes", "direct,two_step")
            second = simulate(f"amg:{folder}:1", 3, "1,2", "--routes", "direct,two_step")

        self.assertEqual([level["level"] for level in found["levels"]], [0, 1])
        self.assertEqual(found["levels"][1]["routes"], second["levels"][0]["routes"])
        of_levels = [slowest(level) for level in found["levels"]]
        sums = slowest(found)
        for route in ("direct", "direct+dedup", "two_step", "two_step+dedup"):
            self.assertAlmostEqual(sums[route], of_levels[0][route] + of_levels[1][route], places=15)
        fastest = found["fastest_of_levels"]
        self.assertAlmostEqual(fastest["slowest_seconds"],
                               sum(min(times.values()) for times in of_levels), places=15)
        for level, times, entry in zip((0, 1), of_levels, fastest["levels"], strict=True):
            self.assertEqual(entry["level"], level)
            name = entry["route"] + ("+dedup" if entry["dedup"] else "")
            self.assertEqual(times[name], min(times.values()))

    def test_TableHasOneLinePerPlan(self):
        done = crossdock("simulate", "dense:1", "--ranks", 2, "--topology", "2x1", "--routes",
                         "direct", "--machine", MACHINE)

        lines = [line.split() for line in done.stdout.splitlines() if line.startswith("direct *")]
        self.assertEqual([line[:5] for line in lines],
                         [f"direct * {dedup} 1.605 1.605".split() for dedup in ("no", "yes")])
        self.assertEqual(done.stdout.splitlines()[-1],
                         "* fastest: direct; ties with direct with dedup. auto takes direct.")

    def test_TheFastestIsMarkedAndTheLegendIsThere(self):
        done = crossdock("simulate", MATRIX, "--ranks", 64, "--topology", "4x16", "--machine", MACHINE)
        found = simulate(MATRIX, 64, "4x16")

        lines = done.stdout.splitlines()
        best = min(found["routes"], key=lambda one: one["slowest_seconds"])
        rows = [line.split() for line in lines if " * " in line]
        self.assertEqual([(row[0], row[2] == "yes") for row in rows],
                         [(one["route"], one["dedup"]) for one in found["routes"]
                          if one["slowest_seconds"] < 1.005 * best["slowest_seconds"]])
        self.assertTrue(lines[-1].startswith(f"* fastest: {best['route']}"))
        self.assertIn("speed-up: how many times as fast as", done.stdout)
        self.assertEqual(found["executor"], "auto")
        self.assertEqual(found["fastest"], {"route": best["route"], "dedup": best["dedup"]})
        self.assertIn(f". auto takes {found['auto']}", lines[-1])

    def test_FirstProcessAloneAnswersUnderALauncher(self):
        done = crossdock("simulate", "dense:1", "--ranks", 4, "--topology", "2x2", "--json", ranks=3)

        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["ranks"], 4)


class StrictLogGP(unittest.TestCase):
    def test_GapsKeepRanksBusy(self):
        """Overheads of 0.3 us, latency 1 us, 7 bytes of 0.16 ns, copies of 1.8 ns. Rank 2 gets what the others send
        last, at the same moment."""
        found = simulate("dense:1", 3, "3x1", "--routes", "direct", "--no-deduplicate", "--loggp", "--gap", 0.5e-6)

        copy_us = 0.0018
        bytes_us = 7 * 0.00016
        last_send_us = 2 * copy_us + 0.5 + bytes_us
        last_receive_us = last_send_us + 0.3 + 1 + 0.5 + bytes_us
        self.assertAlmostEqual(slowest(found)["direct"] * 1e6, last_receive_us + 0.3 + bytes_us + copy_us, places=9)
        self.assertEqual((found["charging"], found["gap_seconds"], found["executor"]), ("loggp", 0.5e-6, "persistent"))

    def test_NothingIsHandedOver(self):
        """Inside regions: overheads of 0.1 us, latency 0.2 us, 7 bytes of 0.2 ns."""
        found = simulate("dense:1", 2, "1x2", "--routes", "direct", "--no-deduplicate", "--loggp")

        self.assertAlmostEqual(slowest(found)["direct"] * 1e6, 0.0018 + 0.1 + 0.2 + 0.1 + 0.0014 + 0.0018, places=9)

    def test_TableSaysSo(self):
        done = crossdock("simulate", "dense:1", "--ranks", 3, "--topology", "3x1", "--machine", MACHINE, "--loggp")

        self.assertIn("simulated on round, items of 8 bytes, messages everywhere, strict LogGP with g = 0 s\n",
                      done.stdout)

    def test_ExchangesHaveIt(self):
        found = simulate("dense:1", 8, "2x4", "--exchange", "--algorithms", "nbx", "--loggp")
        usual = simulate("dense:1", 8, "2x4", "--exchange", "--algorithms", "nbx")

        self.assertEqual((found["charging"], usual["charging"]), ("loggp", "links"))
        self.assertNotEqual(found["algorithms"][0]["slowest_seconds"], usual["algorithms"][0]["slowest_seconds"])

    def test_CoresThatAreSharedAreRefused(self):
        done = crossdock("simulate", "dense:1", "--ranks", 4, "--topology", "1x4", "--machine", "shared_cores",
                         "--loggp")

        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertEqual(done.stderr, "crossdock: strict LogGP has a core for each rank, but those of the machine "
                                      "shared_cores share cores\n")


class SimulateExchange(unittest.TestCase):
    def test_DocumentHasTheFieldsOfItsSchema(self):
        found = simulate(MATRIX, 16, "4x4", "--exchange", "--algorithms", "nbx,auto")

        self.assertEqual(list(found), ["schema", "file", "ranks", "regions", "topology", "nodes",
                                       "partition", "machine", "charging", "values", "algorithms"])
        self.assertEqual(found["schema"], "crossdock.simulate/1")
        # What auto takes depends on the machine; here a message between nodes costs a few inside.
        self.assertEqual([(one["name"], one["algorithm"]) for one in found["algorithms"]],
                         [("nbx", "nonblocking"), ("auto", "routed:locality:1")])
        for one in found["algorithms"]:
            self.assertEqual(list(one), ["name", "algorithm", "slowest_seconds", "mean_seconds",
                                         "speedup_over_personalized", "share_of_time", "total"])
            self.assertAlmostEqual(sum(one["share_of_time"].values()), 1)

    def test_AllAlgorithmsSendWhatAnalyzeCounts(self):
        found = simulate("dense:1", 8, "2x4", "--exchange", "--values", "pattern")
        counted = crossdock_json("analyze", "dense:1", "--ranks", 8, "--topology", "2x4", "--exchange",
                                 "--values", "pattern")

        self.assertEqual({one["name"]: one["total"]["messages"] for one in found["algorithms"]},
                         {one["name"]: one["messages"] for one in counted["algorithms"]})
        personalized = found["algorithms"][1]
        self.assertEqual((personalized["name"], personalized["speedup_over_personalized"]),
                         ("personalized", 1))

    def test_TwoRanksAgreeAndSend(self):
        """A message of 8 bytes leaves, then a round of 8 words, 64 bytes to add; then the other's has come."""
        found = simulate("dense:1", 2, "2x1", "--exchange", "--algorithms", "personalized")

        round_us = 0.3 + 1 + 63 * 0.00016 + 0.3 + 64 * 0.0001 + 0.001
        self.assertAlmostEqual(found["algorithms"][0]["slowest_seconds"] * 1e6, 0.3 + round_us + 0.3, places=6)


def wait_until_it_catches(one, pid):
    """Returns when the process has a handler for the signal."""
    caught = 0
    while not caught >> (one - 1) & 1:
        time.sleep(0.01)
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt:"))


class LongWork(unittest.TestCase):
    """Far more than what is done until it is interrupted."""

    COMMAND = [os.environ["CROSSDOCK_TOOL"], "simulate", "dense:1", "--ranks", "1024", "--topology",
               "64x16"]

    def test_InterruptEndsItWithALine(self):
        running = subprocess.Popen(self.COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        wait_until_it_catches(signal.SIGINT, running.pid)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        out, said = running.communicate(timeout=60)

        self.assertEqual(running.returncode, INTERRUPTED)
        self.assertEqual(out, "")
        self.assertRegex(said, r"^crossdock: simulate was interrupted at dense:1.*\n$")

    def test_TerminalShowsHowFarItIs(self):
        terminal, end = pty.openpty()
        with subprocess.Popen(self.COMMAND, stdout=subprocess.DEVNULL, stderr=end) as running:
            os.close(end)
            said = b""
            while b" (1 of 15)" not in said:
                said += os.read(terminal, 1000)
            running.send_signal(signal.SIGINT)
        os.close(terminal)

        self.assertEqual(running.returncode, INTERRUPTED)


class BadInput(unittest.TestCase):
    def refuse(self, sentence, *arguments):
        done = crossdock("simulate", *arguments)

        self.assertEqual(done.returncode, BAD_INPUT, arguments)
        self.assertEqual(done.stderr, f"crossdock: {sentence}\n")
        self.assertEqual(done.stdout, "")

    def test_MoreRanksThanRows(self):
        self.refuse(f"461 ranks are more than the 460 rows of {MATRIX}", MATRIX, "--ranks", 461,
                    "--topology", "461x1")

    def test_MoreRanksThanAHierarchyHas(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "part.txt").write_text(HIERARCHY)

            self.refuse(f"amg:{folder} was recorded on 3 ranks, which is fewer than 4; use at most as many",
                        f"amg:{folder}", "--ranks", 4, "--topology", "2x2")
            self.refuse(f"{folder} has 2 levels, of which none is number 2", f"amg:{folder}:2",
                        "--ranks", 3, "--topology", "1,2")

    def test_TopologyThatDoesNotFit(self):
        self.refuse('topology "2x2" describes 4 ranks, but there are 3', MATRIX, "--ranks", 3,
                    "--topology", "2x2")
        self.refuse('topology "2x2" describes 4 ranks, but there are 3', MATRIX, "--ranks", 3,
                    "--topology", "1,2", "--nodes", "2x2")

    def test_LateRankThatIsNone(self):
        for text in ("1", "1:", "1:x", "1:-1", "x:1", "1:2:3", "1:1e9", "1:nan"):
            self.refuse(f'"{text}" is no RANK:SECONDS with seconds in [0, 1000000]', MATRIX, "--ranks",
                        3, "--topology", "1,2", "--late", text)
        self.refuse("the late rank 3 is outside [0, 3)", MATRIX, "--ranks", 3, "--topology", "1,2",
                    "--late", "0:1,3:1")

    def test_MemoryThatDoesNotSuffice(self):
        done = crossdock("simulate", MATRIX, "--ranks", 16, "--topology", "4x4", "--routes",
                         "two_step", "--memory", "10k")

        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertRegex(done.stderr, r"^crossdock: .*D_10.mtx.gz: the route direct needs about "
                                      r"[0-9.]+ KiB of memory, but may take 10.0 KiB only\n$")

    def test_ExchangeThatDoesNotFit(self):
        self.refuse("the algorithm rma exchanges messages of one size only; take another one", MATRIX, "--ranks", 3,
                    "--topology", "1,2", "--exchange", "--algorithms", "rma")
        done = crossdock("simulate", MATRIX, "--ranks", 16, "--topology", "4x4", "--exchange", "--memory",
                         "10k")
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn("the algorithm personalized needs about ", done.stderr)

    def test_MachineThatIsNone(self):
        text = MACHINE.read_text()
        with tempfile.TemporaryDirectory() as folder:
            missing = f"{folder}/none.json"
            done = crossdock("simulate", MATRIX, "--ranks", 3, "--topology", "1,2", "--machine", missing)
            self.assertEqual(done.returncode, BAD_INPUT)
            self.assertIn(missing, done.stderr)
            self.assertEqual(text.count('"matching_seconds": 5e-09,'), 1)
            file = pathlib.Path(folder) / "bad.json"
            file.write_text(text.replace('"matching_seconds": 5e-09,', ""))

            done = crossdock("simulate", MATRIX, "--ranks", 3, "--topology", "1,2", "--machine", file)

            self.assertEqual(done.returncode, BAD_INPUT)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(str(file), done.stderr)
            self.assertIn("matching_seconds", done.stderr)


if __name__ == "__main__":
    unittest.main()
