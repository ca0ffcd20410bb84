"""Bad input and wrong usage: said once, never a hang, never exit code 0."""

import gzip
import json
import os
import pathlib
import tempfile
import unittest

from command_line import DATA, crossdock

MATRIX = DATA / "D_10.mtx.gz"
BAD_INPUT = 2
VERBS = ["info", "demo", "explain", "try", "run", "analyze", "simulate", "draw", "report", "export", "bench",
         "calibrate", "help"]
BENCHES = ["neighbor", "hypre", "exchange", "gather", "array", "combine", "stream"]


def own_lines(done):
    return [line for line in done.stderr.splitlines() if line.startswith("crossdock: ")]


class BadInput(unittest.TestCase):
    def refuse(self, sentence, *arguments, ranks=None):
        done = crossdock(*arguments, ranks=ranks)

        self.assertEqual(done.returncode, BAD_INPUT, arguments)
        self.assertEqual(own_lines(done), ["crossdock: " + sentence])
        self.assertEqual(done.stdout, "")
        if ranks is None:
            self.assertEqual(done.stderr, f"crossdock: {sentence}\n")

    def refuse_everywhere(self, sentence, file, topology, *more):
        """For verbs with and without MPI, with three ranks."""
        with self.subTest("analyze"):
            self.refuse(sentence, "analyze", file, "--ranks", 3, "--topology", topology, *more)
        with self.subTest("bench"):
            self.refuse(sentence, "bench", "neighbor", file, "--topology", topology, *more,
                        "--json", ranks=3)

    def test_MissingFile(self):
        self.refuse_everywhere("cannot open /no/such.mtx", "/no/such.mtx", "1,2")

    def test_TruncatedGzip(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "short.mtx.gz"
            file.write_bytes(MATRIX.read_bytes()[:2000])

            self.refuse_everywhere(f"{file}: the gzip data is truncated", file, "1,2")

    def test_TruncatedText(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "short.mtx"
            text = gzip.decompress(MATRIX.read_bytes())[:5000]
            text = text[:text.rindex(b"\n") + 1]
            file.write_bytes(text)

            self.refuse_everywhere(
                f"{file}: 7614 entries are announced, but the text has only {len(text)} bytes",
                file, "1,2")

    def test_MalformedFile(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "text.mtx"
            file.write_text("no matrix\n")

            for ranks in (None, 3):
                done = crossdock("demo", file, ranks=ranks)

                self.assertEqual(done.returncode, BAD_INPUT)
                self.assertEqual(len(own_lines(done)), 1)
                self.assertIn(str(file), own_lines(done)[0])

    def test_TopologyThatDoesNotFit(self):
        self.refuse_everywhere('topology "2x2" describes 4 ranks, but there are 3', MATRIX, "2x2")
        self.refuse('topology "2x2" describes 4 ranks, but there are 3', "info", "--topology", "2x2",
                    ranks=3)
        self.refuse('topology "2x2" describes 4 ranks, but there are 3', "demo", MATRIX, "--topology",
                    "2x2", ranks=3)

    def test_UnknownRoute(self):
        for arguments, ranks in [(("analyze", MATRIX, "--ranks", 3, "--topology", "1,2"), None),
                                 (("bench", "neighbor", MATRIX, "--topology", "1,2"), 3)]:
            done = crossdock(*arguments, "--routes", "direct,sideways", ranks=ranks)

            self.assertEqual(done.returncode, BAD_INPUT)
            self.assertEqual(len(own_lines(done)), 1)
            self.assertTrue(own_lines(done)[0].startswith(
                'crossdock: no route is called "sideways"; there are direct, '))

    def test_UnknownAlgorithm(self):
        done = crossdock("bench", "exchange", MATRIX, "--topology", "1,2", "--algorithms",
                         "nonblocking,sideways", ranks=3)

        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertEqual(len(own_lines(done)), 1)
        self.assertTrue(own_lines(done)[0].startswith(
            'crossdock: no exchange algorithm is called "sideways"; there are auto, personalized, '))

    def test_AlgorithmThatDoesNotFit(self):
        self.refuse("the algorithm rma exchanges messages of one size only", "bench", "exchange",
                    MATRIX, "--topology", "1,2", "--algorithms", "nonblocking,rma", ranks=3)
        self.refuse("grid:1x2 has too few places for 3 ranks; give larger sides", "bench", "exchange", MATRIX,
                    "--topology", "1,2", "--algorithms", "routed:grid:1x2", ranks=3)

    def test_RouteThatDoesNotFit(self):
        self.refuse_everywhere("grid:1x2 has too few places for 3 ranks; give larger sides", MATRIX, "1,2",
                               "--routes", "grid:1x2")

    def test_StreamThatDoesNotFit(self):
        self.refuse('unknown scheme "sideways"; there are auto, ww, wps, wsp, pp, node', "bench",
                    "stream", "--scheme", "sideways", "--table-bytes", 4096, ranks=3)
        self.refuse("a table of 16 bytes has no entry for each of 3 workers", "bench", "stream",
                    "--table-bytes", 16, ranks=3)

    def test_BadPartition(self):
        self.refuse_everywhere("the seed 'x' is not a number", MATRIX, "1,2", "--partition",
                               "random:x")

    def test_DensePatternWithoutItems(self):
        self.refuse_everywhere('"dense:0": dense:K needs a positive number of items K', "dense:0",
                               "1,2")

    def test_RandomPatternWithTooManyPartners(self):
        self.refuse_everywhere("random:3 needs more than 3 ranks", "random:3", "1,2")
        self.refuse_everywhere('"random:x": random:K needs a positive number of partners K', "random:x",
                               "1,2")

    def test_HierarchyThatIsNone(self):
        self.refuse("cannot open /no/such", "bench", "neighbor", "amg:/no/such", "--topology", "1,2",
                    ranks=3)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "part.txt").write_text("level 0 rows 2 ranks 1 starts 0 1\n")

            self.refuse(f"{folder}/part.txt, line 1: the starts do not ascend from 0 to 2", "bench",
                        "neighbor", f"amg:{folder}", "--topology", "1,2", ranks=3)

    def test_UnknownLevel(self):
        for ranks in (None, 3):
            self.refuse('locality "rack" is none of node, socket, numa, l3', "info", "--level", "rack",
                        ranks=ranks)

    def test_FullDisk(self):
        for verb in (("info",), ("analyze", MATRIX, "--ranks", 3, "--topology", "1,2")):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = crossdock(*verb, stdout=full)

            self.assertEqual(done.returncode, BAD_INPUT)
            self.assertEqual(own_lines(done), ["crossdock: cannot write to standard output"])

    def test_MoreRanksThanMemoryHasRoomFor(self):
        for verb in (("analyze", "random:3"), ("simulate", "random:3"), ("explain", "random:3"),
                     ("export", "random:3", "--route", "direct", "--format", "json"), ("analyze", "--array")):
            done = crossdock(*verb, "--ranks", 2147483647, "--topology", "1x2147483647")

            self.assertEqual((done.returncode, done.stdout), (BAD_INPUT, ""))
            self.assertRegex(done.stderr, r"^crossdock: what is kept of each of 2147483647 ranks needs about [0-9.]+ GiB "
                                          r"of memory, but may take [0-9.]+ [KMG]iB only\n$")

    def test_MachineThatIsNoJson(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "machine.json"
            for text, fault in [('{"name": oops}', "it is not JSON, from byte 10 on"),
                                ("no json", "it is not JSON, from byte 2 on"),
                                ("{}", 'the field "schema" is missing'),
                                ("[1, 2]", "it is not an object")]:
                file.write_text(text)
                with self.subTest(text):
                    self.refuse(f"{file}: not a machine: {fault}", "explain", "dense:1", "--ranks", 4, "--topology",
                                "2x2", "--machine", file)

    def test_MatrixThatIsNoText(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "garbage.mtx"
            file.write_bytes(bytes(range(7, 256)) + bytes(16))

            self.refuse_everywhere(f"{file}: this is no Matrix Market file, which is text: its byte 249 is 0", file,
                                   "1,2")

    def test_FileNameThatIsNoText(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.fsencode(folder) + b"/\xff.mtx.gz"
            pathlib.Path(os.fsdecode(file)).write_bytes(MATRIX.read_bytes())

            done = crossdock("analyze", os.fsdecode(file), "--ranks", 3, "--topology", "1,2", "--json")

            self.assertEqual(done.returncode, 0)
            self.assertEqual(json.loads(done.stdout)["file"], f"{folder}/\ufffd.mtx.gz")


class WrongUsage(unittest.TestCase):
    def test_IsExplainedOnce(self):
        for arguments, sentence in [
                ((), "A subcommand is required"),
                (("bench",), "A subcommand is required"),
                (("demo", "--sideways"), "The following argument was not expected: --sideways"),
                (("analyze", MATRIX, "--ranks", 0, "--topology", "1"),
                 "--ranks: Value 0 not in range 1 to 2147483647"),
                (("bench", "neighbor", MATRIX, "--iterations", 0),
                 "--iterations: Value 0 not in range 1 to 1000000000"),
                (("bench", "neighbor", MATRIX, "--direction", "reverse", "--item-bytes", 12),
                 "--item-bytes: what is added are doubles of 8 bytes"),
                (("bench", "neighbor", MATRIX, "--direction", "reverse", "--product"),
                 "--product: y = A x takes values of 8 bytes, forward"),
                (("bench", "neighbor", "amg:folder", "--product"),
                 "--product: a recorded hierarchy has no matrices"),
                (("bench", "exchange", MATRIX, "--values", "sizes"),
                 "--values: sizes not in {pattern,indices}"),
                (("bench", "stream", "--workers", 0),
                 "--workers: Value 0 not in range 1 to 1000000000")]:
            for ranks in (None, 3):
                done = crossdock(*arguments, ranks=ranks)

                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.splitlines().count(sentence), 1, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_NumberOutsideItsRangeIsToldTheRange(self):
        done = crossdock("explain", "dense:1", "--ranks", 4, "--topology", "2x2", "--replay", 0)

        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertEqual(done.stderr.splitlines()[0], "--replay: Value 0 not in range 1 to 1000")

    def test_MistypedVerbsGetTheNearest(self):
        for words, verb in [(("simluate", "x"), "simulate"), (("analyse",), "analyze"), (("Bench",), "bench"),
                            (("bench", "neighbour"), "neighbor"), (("help", "calibarte"), "calibrate")]:
            for ranks in (None, 3):
                done = crossdock(*words, ranks=ranks)

                self.assertEqual(done.returncode, BAD_INPUT)
                self.assertEqual(len(own_lines(done)), 1, done.stderr)
                self.assertTrue(own_lines(done)[0].endswith(f"; did you mean {verb}?"), done.stderr)
        done = crossdock("frobnicate")
        self.assertEqual(done.stderr, f'crossdock: "frobnicate" is none of {", ".join(VERBS)}\n')
        done = crossdock("bench", "frobnicate")
        self.assertEqual(done.stderr, f'crossdock: "frobnicate" is none of {", ".join(BENCHES)}\n')

    def test_HelpIsAVerb(self):
        for words, option in [(("help",), "--help"), (("help", "analyze"), "analyze --help"),
                              (("help", "bench", "stream"), "bench stream --help"), (("help", "help"), "--help")]:
            helped, asked = crossdock(*words), crossdock(*option.split())

            self.assertEqual((helped.returncode, helped.stderr), (0, ""))
            self.assertEqual(helped.stdout, asked.stdout)
        self.assertIn("Exit codes: 0 done;", crossdock("help").stdout)

    def test_HelpHasNoPathOfWhoBuiltIt(self):
        for words in [(verb,) for verb in VERBS] + [("bench", verb) for verb in BENCHES]:
            done = crossdock(*words, "--help")
            self.assertEqual(done.returncode, 0, words)
            self.assertNotIn(str(DATA.parent), done.stdout, words)
            self.assertNotIn("=/", done.stdout, words)
        for verb in ("demo", "try"):
            self.assertIn("default: a matrix that comes along", " ".join(crossdock(verb, "--help").stdout.split()))

    def test_HelpIsPrintedOnce(self):
        done = crossdock("analyze", "--help", ranks=3)

        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("Omit the plans with deduplication"), 1)


if __name__ == "__main__":
    unittest.main()
