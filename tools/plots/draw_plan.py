"""Draws the plans of all ranks: draw_plan.py NAME.svg < data > picture.

plan_picture.hpp describes the data; the suffix of the name is the picture's format.
"""

import pathlib
import sys

import plotting  # first, as it says so where there is no matplotlib
from pictures import plan, style


def main():
    suffix = pathlib.Path(sys.argv[1]).suffix[1:]
    with style.own_style():
        figure = plan.draw(plotting.read_input())
    sys.stdout.buffer.write(style.render(figure, suffix))


if __name__ == "__main__":
    main()
