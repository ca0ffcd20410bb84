"""Bad input and wrong usage: said once, never a hang, never exit code 0."""

import gzip
import json
import os
import pathlib
import unittest

from command_line import BAD_INPUT, DATA, InFolder, crossdock, own_lines

MATRIX = DATA / "D_10.mtx.gz"
VERBS = ["info", "demo", "explain", "try", "run", "trace", "why", "analyze", "simulate", "draw", "report", "export",
         "bench", "calibrate", "help"]
BENCHES = ["neighbor", "hypre", "exchange", "gather", "array", "combine", "stream"]


class BadInput(InFolder):
    def refuse_everywhere(self, sentence, file, topology, *more):
        """For verbs with and without MPI, with three ranks."""
        with self.subTest("analyze"):
            self.refuse(sentence, "analyze", file, "--ranks", 3, "--topology", topology, *more)
        with self.subTest("bench"):
            self.refuse(sentence, "bench", "neighbor", file, "--topology", topology, *more,
                        "--json", ranks=3)

    def test_FileThatIsNoMatrix(self):
        text = gzip.decompress(MATRIX.read_bytes())[:5000]
        text = text[:text.rindex(b"\n") + 1]
        for content, fault in [
                (MATRIX.read_bytes()[:2000], "the gzip data is truncated"),
                (text, f"7614 entries are announced, but the text has only {len(text)} bytes"),
                (b"no matrix\n", "Line 1: "),
                (bytes(range(7, 256)) + bytes(16), "this is no Matrix Market file, which is text: its byte 249 is 0")]:
            file = self.folder / "file.mtx"
            file.write_bytes(content)
            self.refuse_everywhere(f"{file}: {fault}", file, "1,2")
        self.refuse_everywhere("cannot open /no/such.mtx", "/no/such.mtx", "1,2")

    def test_WorkloadThatIsNone(self):
        for file, sentence in [("dense:0", '"dense:0": dense:K needs a positive number of items K'),
                               ("random:3", "random:3 needs more than 3 ranks; start more, or lower the number"),
                               ("random:x", '"random:x": random:K needs a positive number of partners K')]:
            self.refuse_everywhere(sentence, file, "1,2")
        self.write("part.txt", "level 0 rows 2 ranks 1 starts 0 1\n")
        for folder, sentence in [
                ("/no/such", "cannot open /no/such"),
                (self.folder, f"{self.folder}/part.txt, line 1: the starts do not ascend from 0 to 2")]:
            self.refuse(sentence, "bench", "neighbor", f"amg:{folder}", "--topology", "1,2", ranks=3)

    def test_RouteOrAlgorithmThatIsNoneOrDoesNotFit(self):
        self.refuse_everywhere('no route is called "sideways"; there are direct, ', MATRIX, "1,2", "--routes",
                               "direct,sideways")
        self.refuse_everywhere("grid:1x2 has too few places for 3 ranks; give larger sides", MATRIX, "1,2",
                               "--routes", "grid:1x2")
        for algorithm, sentence in [
                ("sideways", 'no exchange algorithm is called "sideways"; there are auto, personalized, '),
                ("rma", "the algorithm rma exchanges messages of one size only"),
                ("routed:grid:1x2", "grid:1x2 has too few places for 3 ranks; give larger sides")]:
            self.refuse(sentence, "bench", "exchange", MATRIX, "--topology", "1,2", "--algorithms",
                        f"nonblocking,{algorithm}", ranks=3)

    def test_PartitionThatIsNone(self):
        self.refuse_everywhere("the seed 'x' is not a number", MATRIX, "1,2", "--partition", "random:x")

    def test_TopologyThatDoesNotFit(self):
        sentence = 'topology "2x2" describes 4 ranks, but there are 3'
        self.refuse_everywhere(sentence, MATRIX, "2x2")
        for verb in (("info",), ("demo", MATRIX)):
            self.refuse(sentence, *verb, "--topology", "2x2", ranks=3)

    def test_MachineThatIsNoJson(self):
        for text, fault in [('{"name": oops}', "it is not JSON, from byte 10 on"),
                            ("no json", "it is not JSON, from byte 2 on"),
                            ("{}", 'the field "schema" is missing'), ("[1, 2]", "it is not an object")]:
            file = self.write("machine.json", text)
            with self.subTest(text):
                self.refuse(f"{file}: not a machine: {fault}", "explain", "dense:1", "--ranks", 4, "--topology", "2x2",
                            "--machine", file)

    def test_FileNameThatIsNoText(self):
        file = os.fsencode(self.folder) + b"/\xff.mtx.gz"
        pathlib.Path(os.fsdecode(file)).write_bytes(MATRIX.read_bytes())

        done = crossdock("analyze", os.fsdecode(file), "--ranks", 3, "--topology", "1,2", "--json")

        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["file"], f"{self.folder}/\ufffd.mtx.gz")

    def test_UnknownLevel(self):
        for ranks in (None, 3):
            self.refuse('there is no locality "rack"; there are node, socket, numa, l3', "info", "--level", "rack",
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

class WrongUsage(unittest.TestCase):
    def test_IsExplainedOnce(self):
        for arguments, sentence in [
                ((), "A subcommand is required"),
                (("bench",), "A subcommand is required"),
                (("demo", "--sideways"), "The following argument was not expected: --sideways"),
                (("analyze", MATRIX, "--ranks", 0, "--topology", "1"),
                 "--ranks: 0 is not an integer in [1, 2147483647]"),
                (("bench", "neighbor", MATRIX, "--iterations", 0),
                 "--iterations: 0 is not an integer in [1, 1000000000]"),
                (("bench", "neighbor", MATRIX, "--direction", "reverse", "--item-bytes", 12),
                 "--item-bytes: reverse adds doubles, so an item must be a multiple of 8 bytes"),
                (("bench", "neighbor", MATRIX, "--direction", "reverse", "--product"),
                 "--product: the product needs items of 8 bytes and the direction forward"),
                (("bench", "neighbor", MATRIX, "--peers", "x.so", "--item-bytes", 4),
                 "--peers: peers need items of 8 bytes and the direction forward"),
                (("bench", "neighbor", "amg:folder", "--product"),
                 "--product: a recorded hierarchy has no matrices to multiply with; name a Matrix Market file"),
                (("bench", "exchange", MATRIX, "--values", "sizes"),
                 "--values: sizes not in {pattern,indices}"),
                (("explain", "dense:1", "--ranks", 4, "--topology", "2x2", "--replay", 0),
                 "--replay: 0 is not an integer in [1, 1000]"),
                (("bench", "stream", "--workers", 0),
                 "--workers: 0 is not an integer in [1, 1000000000]")]:
            # Under mpirun one line is said for all ranks, whatever it says.
            for ranks in (None, 3) if arguments in ((), ("bench", "stream", "--workers", 0)) else (None,):
                done = crossdock(*arguments, ranks=ranks)

                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.splitlines().count(sentence), 1, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_MistypedVerbsGetTheNearest(self):
        for words, verb in [(("simluate", "x"), "simulate"), (("analyse",), "analyze"), (("Bench",), "bench"),
                            (("bench", "neighbour"), "neighbor"), (("help", "calibarte"), "calibrate")]:
            for ranks in (None, 3) if words[0] == "bench" else (None,):
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
            self.assertIn("default: a matrix of the installation", " ".join(crossdock(verb, "--help").stdout.split()))

    def test_HelpIsPrintedOnce(self):
        done = crossdock("analyze", "--help", ranks=3)

        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("Omit the plans with deduplication"), 1)


if __name__ == "__main__":
    unittest.main()
