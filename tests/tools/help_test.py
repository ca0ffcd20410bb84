"""What --help says: an example that works, and values in our own words."""

import unittest

from bad_input_test import BENCHES, VERBS
from command_line import InFolder, crossdock

ALL = [(verb,) for verb in VERBS[:-1]] + [("bench", benchmark) for benchmark in BENCHES]
# These start a program, or read what a program that hangs has written.
NEED_A_PROGRAM = [("run",), ("trace",), ("why",)]
QUICK = {("try",): ["--machine", "generic_100g", "--iterations", "2"], ("calibrate",): ["--seconds", "0.01"],
         **{("bench", name): ["--iterations", "1", "--warm-ups", "0"] for name in BENCHES},
         ("bench", "array"): ["--iterations", "1", "--warm-ups", "0", "--edges-per-rank", "1024"],
         ("bench", "hypre"): ["--iterations", "1", "--runs", "1", "--set-ups", "1"]}


class Help(InFolder):
    def test_NamesOfValuesAreOurs(self):
        for words in ALL:
            options = crossdock(*words, "--help").stdout.partition("\nExample: ")[0]

            for foreign in ("INT", "FLOAT", "TEXT", "{", "bounded", "Excludes:", "Needs:", " in ["):
                self.assertNotIn(foreign, options, words)
        text = crossdock("simulate", "--help").stdout
        for line in ("  FILE REQUIRED ", "  --ranks N REQUIRED ", "  --topology TOPOLOGY REQUIRED\n",
                     "  --machine MACHINE [generic_100g]\n", "  --gap NUMBER (needs --loggp)\n",
                     "  --executor auto|persistent|shared_memory [auto] (not with --exchange, --loggp)\n"):
            self.assertIn("\n" + line, text)
        self.assertIn("\n  --seconds SECONDS [20] ", crossdock("try", "--help").stdout)

    def test_ExamplesWork(self):
        result = crossdock("simulate", "dense:1", "--ranks", 4, "--topology", "2x2", "--json").stdout
        self.write("result.json", result)
        for words in ALL:
            example = crossdock(*words, "--help").stdout.partition("\nExample: ")[2].partition("\n")[0]

            self.assertIn(" ".join(("crossdock", *words)), example)
            if words in NEED_A_PROGRAM:
                continue
            before, _, behind = example.partition("crossdock ")
            done = crossdock(*behind.split(), *QUICK.get(words, []), ranks=before.split()[-1] if before else None,
                             folder=self.folder)
            if "this build has no hypre" not in done.stderr:
                self.assertEqual(done.returncode, 0, (example, done.stderr))
        self.assertEqual({file.name for file in self.folder.iterdir()},
                         {"result.json", "try.html", "plan.svg", "report.html", "machine.json"})


if __name__ == "__main__":
    unittest.main()
