"""Draws the pictures of README.md and docs/gallery.md: gallery.py TOOL FOLDER.

`crossdock draw` draws them; here their numbers are rounded, which makes the files a third as long, and shared parts are
numbered, as matplotlib names them by digests of coordinates whose last bits depend on the processor.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).parents[2]
PICTURES = {
    "direct-32ranks": "data/msc01050.mtx.gz --ranks 32 --topology 4x8 --route direct",
    "three_step-32ranks": "data/msc01050.mtx.gz --ranks 32 --topology 4x8 --route three_step",
    "direct": "data/msc01050.mtx.gz --ranks 8 --topology 2x4 --route direct",
    "three_step": "data/msc01050.mtx.gz --ranks 8 --topology 2x4 --route three_step",
    "hypercube": "data/msc01050.mtx.gz --ranks 8 --topology 2x4 --route hypercube",
}


def shortened(svg):
    """The picture with coordinates of one decimal, without what only fills it."""
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<!DOCTYPE[^>]*>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"'DejaVu Sans'[^;\"]*sans-serif", "sans-serif", svg)
    svg = re.sub(r"-?\d+\.\d{2,}", lambda number: f"{round(float(number[0]), 1):g}", svg)
    return re.sub(r">\s+<", "><", re.sub(r"\s+", " ", svg)).strip() + "\n"


def numbered(svg):
    """The picture with names of shared parts in their order."""
    names = {}
    return re.sub(r'(?<=["#])[a-z][0-9a-f]{10}(?=[")])',
                  lambda name: names.setdefault(name[0], f"{name[0][0]}{len(names) + 1}"), svg)


def draw(tool, folder):
    for name, words in PICTURES.items():
        with tempfile.TemporaryDirectory() as scratch:
            drawn = pathlib.Path(scratch) / "plan.svg"
            command = [tool, "draw", *words.split(), "-o", drawn]
            subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
            picture = numbered(shortened(drawn.read_text(encoding="utf-8")))
            (pathlib.Path(folder) / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    draw(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2])
