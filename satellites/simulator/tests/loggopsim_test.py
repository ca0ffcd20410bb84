"""Strict LogGP beside LogGOPSim: makespans that it gave for schedules exported here.

Each record of golden/loggopsim.json has the arguments of an export, the SHA-256 of its text without comments, and the
makespan of LogGOPSim (spcl/LogGOPSim, commit d5bb14a) for that text with the parameters of its comment, g as recorded.
"""

import hashlib
import json
import pathlib
import statistics
import sys
import tempfile
import unittest

from command_line import DATA, TESTS, crossdock, crossdock_json

RECORDS = json.loads((TESTS / "golden/loggopsim.json").read_text())
MACHINE = json.loads((TESTS / "golden/machine-round.json").read_text())
PROJECT = DATA.parent
PAGE = PROJECT / "satellites/simulator/docs/simulator.md"
sys.path.append(str(PROJECT / "tools/plots"))
import records

EXPORTS = records.read(PROJECT / "bench/results/loggopsim-252exports.jsonl")["exports"]


def flat_machine(record):
    """The same o, L, G and S for all messages, and nothing but copies besides."""
    protocol = {"latency_seconds": record["L_seconds"], "seconds_per_byte": record["G_seconds"]}
    level = {"eager": protocol, "rendezvous": protocol, "rendezvous_bytes": record["S_bytes"],
             "send_overhead_seconds": record["o_seconds"], "receive_overhead_seconds": record["o_seconds"]}
    return MACHINE | {"levels": dict.fromkeys(MACHINE["levels"], level), "injection_seconds_per_byte": 0,
                      "matching_seconds": 0, "copy_seconds_per_byte": record["copy_seconds_per_byte"],
                      "copy_seconds_per_item": record["copy_seconds_per_item"]}


def arguments(record, machine):
    file = record["file"] if ":" in record["file"] else DATA / record["file"]
    return [file, "--ranks", record["ranks"], "--topology", record["topology"], "--machine", machine, "--item-bytes",
            record["item_bytes"], *([] if record["dedup"] else ["--no-deduplicate"])]


def picoseconds(record, machine, *charging):
    found = crossdock_json("simulate", *arguments(record, machine), "--routes", record["route"], *charging)
    return next(round(one["slowest_seconds"] * 1e12) for one in found["routes"] if one["dedup"] == record["dedup"])


def row(record, by_default):
    """As the page shows it."""
    cells = [record["file"].removesuffix(".mtx.gz"), record["ranks"], record["route"], f"{record['G_seconds'] * 1e9:g}",
             f"{record['g_seconds'] * 1e9:g}", f"{record['loggopsim_ps'] / 1e6:.4f}",
             f"{record.get('ours_ps', record['loggopsim_ps']) / 1e6:.4f}", f"{by_default / 1e6:.4f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


class LogGOPSim(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def machine(self, record):
        file = pathlib.Path(self.folder.name) / "flat.json"
        file.write_text(json.dumps(flat_machine(record)))
        return file

    def test_StrictLogGPTakesAsLong(self):
        """But in the last one, where LogGOPSim sorts more than 16 operations at once, not stably."""
        self.assertEqual([number for number, record in enumerate(RECORDS) if "ours_ps" in record], [7])
        for record in RECORDS:
            with self.subTest(file=record["file"], route=record["route"]):
                self.assertEqual(picoseconds(record, self.machine(record), "--loggp", "--gap", record["g_seconds"]),
                                 record.get("ours_ps", record["loggopsim_ps"]))

    def test_ExportsAreThoseItWasGiven(self):
        for record in RECORDS:
            with self.subTest(file=record["file"], route=record["route"]):
                done = crossdock("export", *arguments(record, self.machine(record)), "--route", record["route"],
                                 "--format", "goal", "--unit", record["unit"])

                lines = [line for line in done.stdout.splitlines(keepends=True) if not line.startswith("//")]
                self.assertEqual(hashlib.sha256("".join(lines).encode()).hexdigest(), record["goal_sha256"])

    def test_PageShowsThem(self):
        page = PAGE.read_text()
        for record in RECORDS:
            self.assertIn(row(record, picoseconds(record, self.machine(record), "--executor", "persistent")) + "\n",
                          page)


class ManyExports(unittest.TestCase):
    """What the page says of all exports is what their record has."""

    def test_RatiosAreThoseOfThePage(self):
        page = PAGE.read_text()
        for name, parameters in (("all", {one["parameters"] for one in EXPORTS}), ("G = 0", {"G=0"}),
                                 ("G = 1 ns, g = 0", {"G=1"})):
            some = [one for one in EXPORTS if one["parameters"] in parameters]
            cells = []
            for ours in ("loggp_ps", "default_ps"):
                ratios = [one[ours] / one["loggopsim_ps"] for one in some]
                cells.append(f"{statistics.median(ratios):.3f}, {min(ratios):.2f} to {max(ratios):.2f}")
            self.assertIn(f"| {name} | {len(some)} | {cells[0]} | {cells[1]} |\n", page)

    def test_AllAreEqualIfItSortsStably(self):
        self.assertEqual(sum(one["loggp_ps"] == one["loggopsim_ps"] for one in EXPORTS), 189)
        self.assertEqual([one for one in EXPORTS if one["loggp_ps"] != one["stable_sort_ps"]], [])


if __name__ == "__main__":
    unittest.main()
