"""Draws the plans of all ranks: draw_plan.py OUTPUT < data, as plan_picture.hpp describes them."""

import pathlib
import sys

import plotting  # first, as it says so where there is no matplotlib
from pictures import plan, style


def main():
    output = sys.argv[1]
    with style.own_style():
        figure = plan.draw(plotting.read_input())
    plotting.write_file(output, style.render(figure, pathlib.Path(output).suffix[1:]))


if __name__ == "__main__":
    main()
