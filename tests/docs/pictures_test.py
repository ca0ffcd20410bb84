"""No text of a committed picture crosses its frame, with the widest of the usual fonts."""

import unittest
from pathlib import Path

import drawings

PROJECT = Path(__file__).parents[2]
FRAME = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50">{}</svg>'


def beyond(content):
    return drawings.texts_beyond_frame(FRAME.format(content))


class Pictures(unittest.TestCase):
    def test_TextLiesWithinTheFrame(self):
        found = [path for folder in ("docs", "satellites") for path in sorted((PROJECT / folder).rglob("*.svg"))]

        self.assertGreaterEqual(len(found), 6)
        for path in found:
            with self.subTest(picture=path.relative_to(PROJECT)):
                self.assertEqual(drawings.texts_beyond_frame(path.read_text(encoding="utf-8")), [])

    def test_TextIsMeasuredFromItsAnchor(self):
        word = '<text style="font: 10px sans-serif; text-anchor: {}" x="{}" y="20">mmmm</text>'

        self.assertAlmostEqual(drawings.width("mmmm", 10), 38.96)
        self.assertEqual(beyond(word.format("start", 61)), [])
        self.assertEqual(beyond(word.format("start", 62)), ["mmmm"])
        self.assertEqual(beyond(word.format("middle", 80)), [])
        self.assertEqual(beyond(word.format("middle", 81)), ["mmmm"])
        self.assertEqual(beyond(word.format("end", 39)), [])
        self.assertEqual(beyond(word.format("end", 38)), ["mmmm"])

    def test_StylesOfClassesCount(self):
        sheet = "<style>text {{ font: 10px Arial; }} .b {{ font-weight: 600; }} @media print {{ text {{ font: 99px x; }} }}</style>"
        word = sheet + '<text class="{}" x="61" y="20">mmmm</text>'

        self.assertEqual(beyond(word.format("")), [])
        self.assertEqual(beyond(word.format("b")), ["mmmm"])

    def test_TransformationsAreFollowed(self):
        word = '<g transform="translate({} {}) scale(1 -1)"><text style="font: 10px x" transform="scale(1 -1) {}">mmmm</text></g>'

        self.assertEqual(beyond(word.format(61, 20, "")), [])
        self.assertEqual(beyond(word.format(62, 20, "")), ["mmmm"])
        self.assertEqual(beyond(word.format(90, 39, "rotate(-90)")), [])
        self.assertEqual(beyond(word.format(90, 38, "rotate(-90)")), ["mmmm"])
        self.assertEqual(beyond(word.format(61, 7, "")), ["mmmm"])
        self.assertEqual(beyond(word.format(61, 48, "")), ["mmmm"])

    def test_PartsOfATextHavePlacesOfTheirOwn(self):
        word = '<text style="font: 10px x" x="0" y="20"><tspan x="{} {}">ab</tspan></text>'

        self.assertEqual(beyond(word.format(80, 90)), [])
        self.assertEqual(beyond(word.format(80, 95)), ["ab"])

    def test_DrawingsMayDifferInTheLastDigitOnly(self):
        self.assertIsNone(drawings.difference('<path d="M 1.2 -3"/>', '<path d="M 1.3 -3.1"/>'))
        self.assertEqual(drawings.difference('<path d="M 1.2 -3"/>', '<path d="M 1.2 -3.2"/>'), "-3 is -3.2")
        self.assertEqual(drawings.difference("<text>ab 1</text>", "<text>ac 1</text>"), "'b #</text>' is 'c #</text>'")


if __name__ == "__main__":
    unittest.main()
