"""crossdock analyze --exchange: exact figures, without MPI."""

import unittest

from command_line import DATA, Refusing, crossdock, crossdock_json

MATRIX = DATA / "D_10.mtx.gz"
FIGURES = ["messages", "inter_region_messages", "message_bytes", "inter_region_message_bytes"]


def analyze(file, ranks, topology, *more):
    return crossdock_json("analyze", file, "--ranks", ranks, "--topology", topology, "--exchange", *more)


def by_name(found):
    return {report["name"]: report for report in found["algorithms"]}


class AnalyzeExchange(unittest.TestCase):
    def test_DocumentHasTheFieldsOfItsSchema(self):
        found = analyze(MATRIX, 16, "4x4", "--algorithms", "nbx,auto", "--partition", "random:1")

        self.assertEqual(list(found), ["schema", "file", "ranks", "regions", "topology", "partition",
                                       "values", "algorithms"])
        self.assertEqual(found["schema"], "crossdock.analyze.exchange/1")
        self.assertEqual((found["ranks"], found["regions"], found["topology"]), (16, 4, "4x4"))
        self.assertEqual((found["partition"], found["values"]), ("random:1", "indices"))
        for report in found["algorithms"]:
            self.assertEqual(list(report), ["name", "algorithm", *FIGURES, "reduction_words"])
            for name in FIGURES:
                self.assertEqual(list(report[name]), ["total", "max", "mean"])
        self.assertEqual([(report["name"], report["algorithm"]) for report in found["algorithms"]],
                         [("nbx", "nonblocking"), ("auto", "routed:locality:1")])

    def test_FiguresAreThoseOfTheExchangeItself(self):
        """Messages and bytes of all ranks together, as the library counts them over MPI."""
        several = ("personalized,nonblocking,locality_personalized,locality_nonblocking,locality_rma,"
                   "reduce_scatter,routed:grid:2,routed:three_step,routed:locality:1")
        for values, names in [("pattern", several + ",rma,rma_fence"), ("indices", several)]:
            sent = crossdock_json("bench", "exchange", MATRIX, "--topology", "2,3", "--algorithms",
                                  names, "--values", values, "--iterations", 1, "--warm-ups", 0,
                                  ranks=5)
            counted = by_name(analyze(MATRIX, 5, "2,3", "--algorithms", names, "--values", values))

            for contender in (one for one in sent["contenders"] if one["algorithm"] is not None):
                report = counted[contender["name"]]
                self.assertEqual({name: report[name]["total"] for name in FIGURES},
                                 {name: contender[name] for name in FIGURES}, contender["name"])

    def test_SixteenThousandRanksNeedNoMpirun(self):
        found = analyze(DATA / "bcspwr10.mtx.gz", 16384, "1024x16", "--algorithms",
                        "routed:direct,routed:hypercube,routed:grid:2,auto")

        most = {name: report["messages"]["max"] for name, report in by_name(found).items()}
        self.assertEqual((most["routed:direct"], most["routed:hypercube"]), (16383, 14))
        self.assertEqual(most["routed:grid:2"], 127 + 127)
        self.assertEqual(most["auto"], 7 * 3)

    def test_TableHasOneLinePerAlgorithm(self):
        done = crossdock("analyze", "dense:1", "--ranks", 8, "--topology", "2x4", "--exchange",
                         "--algorithms", "rsx,routed:hypercube", "--values", "pattern")

        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual(lines[-2], "rsx = reduce_scatter 56 7 32 4 224 28 128 16 48".split())
        self.assertEqual(lines[-1], "routed:hypercube 24 3 8 1 3072 384 1024 128 0".split())


class BadInput(Refusing):
    def test_AlgorithmThatIsNoneOrDoesNotFit(self):
        for algorithm, sentence in [
                ("rma", "the algorithm rma exchanges messages of one size only"),
                ("routed:grid:1x2", "grid:1x2 has too few places for 3 ranks; give larger sides"),
                ("sideways", 'no exchange algorithm is called "sideways"; there are auto, ')]:
            self.refuse(sentence, "analyze", MATRIX, "--ranks", 3, "--topology", "1,2", "--exchange", "--algorithms",
                        algorithm)

    def test_OptionsOfTheOtherAnalysis(self):
        self.refuse_usage("analyze", MATRIX, "--ranks", 3, "--topology", "1,2", cases=[
            (("--values", "pattern"), "--values requires --exchange"),
            (("--algorithms", "nbx"), "--algorithms requires --exchange"),
            (("--exchange", "--routes", "direct"), "--exchange excludes --routes"),
            (("--exchange", "--no-deduplicate"), "--exchange excludes --no-deduplicate"),
            (("--exchange", "--no-verify"), "--exchange excludes --no-verify"),
            (("--exchange", "--values", "sizes"), "--values: sizes not in {pattern,indices}")])


if __name__ == "__main__":
    unittest.main()
