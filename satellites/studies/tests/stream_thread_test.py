"""The study of streaming aggregation with communication threads: its script."""

import unittest

import script


class StreamThread(unittest.TestCase):
    def test_TablesArePrintedAgainFromTheRecord(self):
        record, printed, again = script.quick("stream_thread")

        self.assertEqual([run["communication_thread"] for run in record["nodes"]], 2 * [True, True, False])
        self.assertEqual([case["scheme"] for case in record["nodes"][0]["cases"]], ["ww", "wps", "wsp", "pp", "pp"])
        self.assertIn("| PingAck, 1024 | 2672 ns a message |", printed)
        self.assertEqual(printed, again)


if __name__ == "__main__":
    unittest.main()
