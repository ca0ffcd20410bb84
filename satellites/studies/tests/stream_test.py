"""The study of streaming aggregation: exact messages, memory and times of buffers that fill and leave."""

import os
import unittest

import script


def study(nodes, processes, workers, items, buffer_items, *more, workload="histogram"):
    """By scheme."""
    found = script.json_of(os.environ["CROSSDOCK_STUDY"], "--nodes", nodes, "--processes", processes, "--workers",
                           workers, "--items", items, "--buffer-items", buffer_items, "--workloads", workload, *more)
    return {case["scheme"]: case for case in found["cases"]}


def messages(case):
    return case["messages_per_source"]["least"], case["messages_per_source"]["most"]


class Stream(unittest.TestCase):
    def test_BuffersThatNeverFillLeaveOnceAtTheEnd(self):
        found = study(4, 2, 2, 1000, 5000)

        self.assertEqual(messages(found["ww"]), (16, 16))
        self.assertEqual(messages(found["wps"]), (8, 8))
        self.assertEqual(messages(found["wsp"]), (8, 8))
        self.assertEqual(messages(found["pp"]), (8, 8))
        for scheme, sources in (("ww", 4), ("wps", 4), ("wsp", 4), ("pp", 2)):
            self.assertEqual(found[scheme]["messages_per_node"], sources * messages(found[scheme])[0])
            self.assertEqual(found[scheme]["full_messages_per_node"], 0)

    def test_OneBufferLeavesAsOftenAsItIsFull(self):
        for case in study(1, 1, 1, 1000, 10).values():
            self.assertEqual(messages(case), (100, 100))
            self.assertEqual(case["full_messages_per_node"], 100)
            self.assertEqual(case["buffered_items_per_process"], 10)

    def test_MessagesAndMemoryAreWithinTheBoundsOfTheStudy(self):
        found = study(4, 2, 2, 1000, 10)

        bounds = {"ww": (100, 116, 640 // 2), "wps": (100, 108, 320 // 2), "wsp": (100, 108, 320 // 2),
                  "pp": (200, 208, 160 // 2)}
        for scheme, (least, most, items) in bounds.items():
            case = found[scheme]
            self.assertEqual(case["messages_per_source_bounds"], {"least": least, "most": most})
            self.assertEqual(case["buffered_items_per_process_bound"], items)
            self.assertTrue(least <= messages(case)[0] <= messages(case)[1] <= most)
            self.assertLessEqual(case["buffered_items_per_process"], items)

    def test_EveryItemIsHandledOnceAndEveryAnswerComes(self):
        for workload in ("histogram", "index_gather"):
            for case in study(4, 2, 2, 1000, 10, workload=workload).values():
                self.assertEqual(case["latencies"], 4 * 1000)
                self.assertEqual(case["answer_messages_per_node"] > 0, workload == "index_gather")

    def test_AnItemTakesWhatTheMachineSays(self):
        """Pushed at 10 and 20 ns, handed over in 100 ns, handled at 130 and 140 ns."""
        found = study(1, 1, 1, 2, 2, "--item-ns", 10, "--schemes", "ww")

        self.assertAlmostEqual(found["ww"]["mean_latency_seconds"] * 1e9, 120)
        self.assertAlmostEqual(found["ww"]["simulated_seconds"] * 1e9, 140)
        self.assertEqual(found["ww"]["overhead_seconds_per_item"], 0)

    def test_OnlySharedBuffersAreContendedFor(self):
        found = study(2, 2, 2, 1000, 10)

        self.assertEqual({scheme for scheme, case in found.items() if case["contention_seconds_per_item"] > 0},
                         {"pp"})

    def test_AWorkerThatCollectsItemsTakesRoomForThemTogether(self):
        for workload, num_kinds in (("histogram", 1), ("index_gather", 2)):
            alone, together = (study(2, 2, 2, 1000, 10, "--schemes", "pp", "--collected-items", collected,
                                     workload=workload)["pp"] for collected in (1, 5))

            self.assertEqual(together["latencies"], alone["latencies"])
            # At most 100 ns for 5 items of a kind, and for what is left of them at the end: 4 places each.
            self.assertLessEqual(together["contention_seconds_per_item"], num_kinds * 1e-7 * (1 / 5 + 4 / 1000))
            self.assertGreater(alone["contention_seconds_per_item"], together["contention_seconds_per_item"])
            self.assertEqual(together["buffered_items_per_process_bound"],
                             alone["buffered_items_per_process_bound"] // 10 * (10 + 2 * 5))
            self.assertLessEqual(together["buffered_items_per_process"], together["buffered_items_per_process_bound"])

    def test_WorkersThatFlushTakeTurnsOnTheWayOut(self):
        """800 us to push, and 717 us of the way out while others handle what comes; 700 us more if it came last."""
        found = study(8, 8, 8, 20000, 100000, "--schemes", "ww")

        self.assertLess(found["ww"]["simulated_seconds"], 2000e-6)

    def test_ACommunicationThreadWorksOnEveryMessageBetweenProcessesTwice(self):
        """Of 4 x 2 processes 7 are others: the messages of their 2 workers to as many, from each of 2, out and in."""
        found = study(4, 2, 2, 1000, 5000, "--communication-thread", "--message-ns", 1000)

        for scheme, messages_of_process in (("ww", 2 * 7 * 2), ("wps", 2 * 7), ("wsp", 2 * 7), ("pp", 7)):
            self.assertAlmostEqual(found[scheme]["thread_seconds"], 2 * messages_of_process * 1e-6)
            self.assertEqual(found[scheme]["latencies"], 4 * 1000)

    def test_AThreadThatIsPaidByBytesTakesAsLongForMoreMessages(self):
        few, many = (study(2, 1, 2, 1000, items, "--communication-thread", "--message-ns", 0, "--message-byte-ns", 1,
                           "--schemes", "ww")["ww"] for items in (5000, 10))

        self.assertLess(few["messages_per_node"], many["messages_per_node"])
        self.assertAlmostEqual(few["thread_seconds"], many["thread_seconds"])

    def test_WithoutAThreadWorkersDoWhatItWouldDo(self):
        found = study(2, 1, 1, 1000, 5000, "--message-ns", 1000, "--schemes", "ww")["ww"]

        self.assertEqual(found["thread_seconds"], 0)
        self.assertAlmostEqual(found["overhead_seconds_per_item"] * 1e9, 2 * 1000 / 1000)

    def test_PingAckTakesWhatTheMachineSays(self):
        """Of 3 messages at 1 us, the last leaves at 3 us, or 100 ns later by way of the thread; it is received in
        1 us, after 544 ns on the way; and an acknowledgement takes 180 + 540 + 180 ns."""
        options = ["--workloads", "ping_ack", "--processes", 1, "--workers", 1, "--items", 3, "--buffer-items", 1,
                   "--message-ns", 1000]

        alone, by_thread = (script.json_of(os.environ["CROSSDOCK_STUDY"], *options, *more)["cases"][0]
                            for more in ([], ["--communication-thread"]))

        self.assertAlmostEqual(alone["simulated_seconds"] * 1e9, 3000 + 543.8 + 1000 + 900)
        self.assertAlmostEqual(by_thread["simulated_seconds"] * 1e9, 100 + 3000 + 543.8 + 1000 + 100 + 900)

    def test_TablesArePrintedAgainFromTheRecord(self):
        record, printed, again = script.quick("stream")

        self.assertEqual([name["scheme"] for name in record["scaling"][0]["cases"]], ["ww", "wps", "wsp", "pp", "pp"])
        self.assertEqual(len(record["latency"][0]["cases"]), 20)
        self.assertIn("| histogram | 2000 | ww | 16 to 16 | 1 to 16 |", printed)
        self.assertEqual(printed, again)


if __name__ == "__main__":
    unittest.main()
