"""Draws a topology: the ranks of each region."""

import numpy as np
from matplotlib.patches import Rectangle

from .style import BLUE, BOX, INK, new_figure
from .words import counted, shortened

MOST_RANKS = 512  # that are drawn one by one
RANKS_PER_ROW = 8  # of a region
RANKS_PER_LINE = 24  # of the picture, about
CELL = 0.3  # inches


def heading(text, num_ranks, sizes):
    regions = counted(len(sizes), "region")
    return f"{shortened(text)}: {counted(num_ranks, 'rank')} in {regions}"


def draw(text, regions):
    """`regions` has the ranks of each region."""
    sizes = [len(ranks) for ranks in regions]
    title = heading(text, sum(sizes), sizes)
    return draw_sizes(title, sizes) if sum(sizes) > MOST_RANKS else draw_ranks(title, regions)


def draw_ranks(title, regions):
    """A box for each region, with the numbers of its ranks."""
    columns = min(RANKS_PER_ROW, max(map(len, regions)))
    rows = -(-max(map(len, regions)) // columns)
    per_line = min(len(regions), max(1, RANKS_PER_LINE // (columns + 1)))
    lines = -(-len(regions) // per_line)
    width, height = per_line * (columns + 1), lines * (rows + 1)
    figure = new_figure(max(3.5, CELL * width + 0.2), CELL * height + 0.5)
    figure.suptitle(title, fontsize=10)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), aspect="equal")
    for region, ranks in enumerate(regions):
        left, top = region % per_line * (columns + 1), region // per_line * (rows + 1)
        corner = min(columns, len(ranks)), -(-len(ranks) // columns)
        box = Rectangle((left, top), *corner, fc=BOX, ec="none")
        box.set_gid(f"region-{region}")
        axes.add_patch(box)
        for at, rank in enumerate(ranks):
            x, y = left + at % columns + 0.5, top + at // columns + 0.5
            label = axes.text(x, y, rank, ha="center", va="center", fontsize=7.5)
            label.set_gid(f"rank-{rank}-region-{region}")
    return figure


def draw_sizes(title, sizes):
    """How many ranks each region has."""
    figure = new_figure(7.5, 2.2)
    figure.suptitle(title, fontsize=10, color=INK)
    axes = figure.subplots()
    edges = np.arange(len(sizes) + 1)
    axes.stairs(sizes, edges, fill=True, color=BLUE).set_gid("sizes")
    axes.set(xlabel="region", ylabel="ranks", xlim=(0, len(sizes)), ylim=(0, 1.08 * max(sizes)))
    axes.locator_params(nbins=5, integer=True)
    return figure
