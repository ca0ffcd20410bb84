"""The examples print what the pages show, and the pictures of plans are what `crossdock draw` draws."""

import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import drawings
import pages

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "tools/plots"))
import gallery

EXAMPLES = Path(os.environ["CROSSDOCK_EXAMPLES"])
# Debian 12's; another version draws other coordinates.
MATPLOTLIB = "3.6.3"
AGAIN = "run python3 tools/plots/gallery.py build/release/tools/crossdock/crossdock docs/gallery"


def version_of_matplotlib():
    done = subprocess.run(["/usr/bin/python3", "-c", "import matplotlib; print(matplotlib.__version__)"], check=False,
                          capture_output=True, text=True)
    return done.stdout.strip()


class Gallery(unittest.TestCase):
    def test_ExamplesPrintWhatThePagesShow(self):
        num_run = 0
        for page in ("docs/gallery.md", "docs/tutorial.md"):
            for variables, ranks, program, output in pages.runs((PROJECT / page).read_text()):
                with self.subTest(page=page, program=program):
                    command = ["timeout", "300", *os.environ["CROSSDOCK_MPIRUN"].split(), ranks, EXAMPLES / program]
                    done = subprocess.run(command, env=os.environ | variables, check=False, capture_output=True,
                                          text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    # Ranks print in any order.
                    self.assertEqual(sorted(done.stdout.splitlines()), sorted(output))
                    num_run += 1
        self.assertGreaterEqual(num_run, 14)

    @unittest.skipUnless(version_of_matplotlib() == MATPLOTLIB, f"needs matplotlib {MATPLOTLIB}")
    def test_PicturesAreWhatIsDrawn(self):
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.dict(os.environ, CROSSDOCK_PYTHON="/usr/bin/python3"):
                gallery.draw(os.environ["CROSSDOCK_TOOL"], folder)
            for name in gallery.PICTURES:
                with self.subTest(picture=name):
                    drawn, shown = (path.read_text(encoding="utf-8")
                                    for path in (Path(folder) / f"{name}.svg", PROJECT / f"docs/gallery/{name}.svg"))
                    self.assertIsNone(drawings.difference(drawn, shown), AGAIN)

    def test_SharedPartsAreNamedInTheirOrder(self):
        drawn = '<path id="m0123456789"/><g clip-path="url(#pabcdef0123)"/><use href="#m0123456789"/><g style="fill: #d55e00"/>'

        self.assertEqual(gallery.numbered(drawn),
                         '<path id="m1"/><g clip-path="url(#p2)"/><use href="#m1"/><g style="fill: #d55e00"/>')

    def test_APageShowsTheCommandOfEveryPicture(self):
        text = "".join((PROJECT / f"docs/{page}.md").read_text() for page in ("gallery", "is-it-for-me"))
        shown = [f"crossdock draw {words} -o {name}.svg" for name, words in gallery.PICTURES.items()]

        self.assertEqual([command for command in shown if command not in text], [])


if __name__ == "__main__":
    unittest.main()
