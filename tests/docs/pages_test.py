"""What the readers of pages find, and what they find wrong, in small texts."""

import tempfile
import unittest
from pathlib import Path

import pages


def faults(text, other="# Other page\n"):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "other.md").write_text(other)
        page = Path(folder) / "page.md"
        page.write_text(text)
        return list(pages.faults_of_links(page))


class Links(unittest.TestCase):
    def test_LinksToPagesAndHeadingsPass(self):
        self.assertEqual(faults("# `Here` it is\n[a](other.md) [b\nc](other.md#other-page) [`d`](#here-it-is)\n"), [])
        self.assertEqual(faults("[a](https://example.org/none) [b](.)\n"), [])

    def test_WrongLinksAndAnchorsAreFound(self):
        self.assertEqual(faults("[a](none.md)"), ["page.md: there is no none.md"])
        self.assertEqual(faults("[a](other.md#none)"), ["page.md: other.md has no heading for #none"])
        self.assertEqual(faults("# Here\n[a](#there)"), ["page.md: page.md has no heading for #there"])

    def test_CodeHasNoLinksAndNoHeadings(self):
        self.assertEqual(faults("```\n[a](none.md)\n```\n\n    [b](none.md)\n\n`[c](none.md)`\n"), [])
        self.assertEqual(pages.anchors("```\n# no heading\n```\n## One\n## One\n"), ["one", "one-1"])

    def test_WordsAreThoseOfSentences(self):
        text = "# Two words\n\nThree `in a row` more.\n\n| no | word |\n|---|---|\n\n    no word\n\n```\nno word\n```\n"
        self.assertEqual(pages.num_words(text), 5)


class Commands(unittest.TestCase):
    def test_CommandsInCodeAreFound(self):
        text = ("Say `crossdock explain\nFILE`, or:\n\n    mpirun -n 8 crossdock bench neighbor FILE \\\n"
                "        --json > out.json   # times\n\n```sh\ncrossdock info [--level node|socket]\n```\n")
        self.assertEqual(list(pages.crossdock_commands(text)), [
            (["info"], False), (["bench", "neighbor", "FILE", "--json"], True), (["explain", "FILE"], False)])

    def test_SentencesAreNoCommands(self):
        self.assertEqual(list(pages.crossdock_commands("crossdock sends few messages.\n`crossdock::core`\n")), [])

    def test_UnknownOptionsAreFound(self):
        words = ["simulate", "FILE", "--ranks", "8", "--rank", "-o", "x", "-1"]
        self.assertEqual(pages.unknown_options(words, "  --ranks INT  -o,--output TEXT"), ["--rank"])
        self.assertEqual(pages.unknown_options(["run", "--route", "x", "--", "mpirun", "-x", "A"], "--route"), [])

    def test_VerbsOfBenchmarksAreTwoWords(self):
        self.assertEqual(pages.verbs(["bench", "array", "--json"]), ["bench", "array"])
        self.assertEqual(pages.verbs(["draw", "FILE"]), ["draw"])


class TablesAndPrograms(unittest.TestCase):
    def test_RoutesOfATableAreNamedOnceWithoutParameters(self):
        table = "| route | stages |\n|---|---|\n| `direct` | 1 |\n| [`grid:KxL`](#grid) | 2 |\n| `grid:n` | n |\n\n"
        self.assertEqual(pages.route_names(table), ["direct", "grid"])

    def test_WrappedRowsOfTablesAreFound(self):
        self.assertEqual(pages.broken_rows("| a | b |\n|---|---|\n| 1 | two\nlines |\n\nText\n"), ["lines |"])

    def test_ProgramsComeWithTheExamplesNamedBefore(self):
        text = "[a](examples/a.cpp)\n\n```cpp\nint x;\n```\n\n[b](../examples/b.c)\n\n```c\nint main(void) {}\n```\n"
        self.assertEqual(list(pages.programs(text)), [(["examples/a.cpp", "examples/b.c"], "int main(void) {}\n")])

    def test_OutputOfExamplesFollowsTheirCommands(self):
        text = "A:\n\n    B=1 mpirun -n 4 build/install/examples/example_x\n\n    one\n    two\n\n" \
               "    mpirun -n 2 build/install/examples/example_y\n\nNo output.\n"
        self.assertEqual(list(pages.runs(text)), [({"B": "1"}, "4", "example_x", ["one", "two"])])


if __name__ == "__main__":
    unittest.main()
