"""Draws the plans of all ranks, as tools/crossdock/plan_picture.hpp describes them."""

import math
import pathlib

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle

from .style import BETWEEN, BOX, INK, INSIDE, LINES, SKY, new_figure
from .words import counted, shortened

REGION_GAP = 0.8
PANELS_PER_ROW = {True: 6, False: 4}  # by whether messages are listed
MAX_REGION_LINES = 40
MAX_BARS = 128
THINNEST = 0.5
COLOUR_MAPS = {
    "inside a region": LinearSegmentedColormap.from_list("inside", ["#cfe3f2", INSIDE, "#00263c"]),
    "between regions": LinearSegmentedColormap.from_list(
        "between", ["#fae0cc", BETWEEN, "#461f00"]
    ),
}


def heading(data):
    """The file is named where there is one, and the rank where the plan is only one rank's."""
    dedup = "deduplicated" if data["dedup"] else "not deduplicated"
    lines = [f"{shortened(data['route'])}, {dedup}"]
    if "file" in data:
        file = shortened(pathlib.PurePath(data["file"]).name)
        lines.append(f"{file}, partition {shortened(data['partition'])}")
    regions = f"{counted(data['regions'], 'region')} ({shortened(data['topology'])})"
    whose = f"rank {data['rank']} of " if "rank" in data else ""
    lines.append(f"{whose}{counted(data['ranks'], 'rank')} in {regions}")
    between = counted(sum(data["sent"]["inter_region_messages"]), "message")
    lines.append(f"{between} between regions")
    return "\n".join(lines)


def stage_title(number, stage):
    return f"stage {number}\n{counted(stage['messages'], 'message')}, {counted(stage['items'], 'item')}"


def regions_of(data):
    return [place["region"] for place in data["places"]]


def region_starts(data):
    """The first place of each region."""
    regions = regions_of(data)
    return [at for at, region in enumerate(regions) if at == 0 or regions[at - 1] != region]


def scale_of(data):
    """What an axis of places counts."""
    in_order = all(at == place["rank"] for at, place in enumerate(data["places"]))
    return "rank" if in_order else "rank's place by region"


class MessagePanels:
    """Every message an arrow, from the sources on the left to the destinations on the right."""

    width, row_height = 2.3, 0.24

    def __init__(self, data):
        self.data = data
        self.regions = regions_of(data)
        num_before = {region: number for number, region in enumerate(dict.fromkeys(self.regions))}
        self.heights = [
            -(at + REGION_GAP * num_before[region]) for at, region in enumerate(self.regions)
        ]
        self.most = max((send[2] for stage in data["stages"] for send in stage["sends"]), default=1)
        crowd = max(stage["messages"] for stage in data["stages"])
        self.thickest = min(4.5, max(1.0, 32 / math.sqrt(max(crowd, 1))))

    def height(self):
        return 1.0 + self.row_height * (1 - self.heights[-1])

    def line_width(self, items):
        return THINNEST + (self.thickest - THINNEST) * math.sqrt(items / self.most)

    def draw(self, axes, number, stage):
        axes.set_axis_off()
        axes.set_title(stage_title(number, stage))
        axes.set_xlim(-0.2, 1.2)
        axes.set_ylim(self.heights[-1] - 0.9, 0.9)
        self.draw_regions(axes, number)
        for source, destination, items in sorted(stage["sends"], key=lambda send: -send[2]):
            self.draw_message(axes, number, source, destination, items)
        for at, place in enumerate(self.data["places"]):
            for x in (0, 1):
                axes.text(
                    x, self.heights[at], place["rank"], ha="center", va="center", fontsize=7.5
                )

    def draw_regions(self, axes, number):
        for region in sorted(set(self.regions)):
            inside = [
                height for at, height in enumerate(self.heights) if self.regions[at] == region
            ]
            bottom, top = min(inside) - 0.55, max(inside) + 0.55
            for x, side in enumerate(("sources", "destinations")):
                box = Rectangle((x - 0.1, bottom), 0.2, top - bottom, fc=BOX, ec="none")
                box.set_gid(f"region-{region}-stage{number}-{side}")
                axes.add_patch(box)

    def draw_message(self, axes, number, source, destination, items):
        between = self.regions[source] != self.regions[destination]
        width = self.line_width(items)
        arrow = FancyArrowPatch(
            (0.1, self.heights[source]),
            (0.9, self.heights[destination]),
            arrowstyle=f"-|>,head_length={2.5 + width},head_width={1 + width / 2}",
            shrinkA=1,
            shrinkB=0,
            linewidth=width,
            color=BETWEEN if between else INSIDE,
            joinstyle="miter",
            capstyle="butt",
        )
        ranks = [self.data["places"][place]["rank"] for place in (source, destination)]
        kind = "between" if between else "inside"
        arrow.set_gid(f"message-{kind}-stage{number}-{ranks[0]}-{ranks[1]}")
        axes.add_patch(arrow)

    def legend(self, axes):
        widths = sorted({1, math.ceil(self.most / 10), self.most})
        handles = [
            Line2D([], [], color=BETWEEN, lw=2.5, label="between regions"),
            Line2D([], [], color=INSIDE, lw=2.5, label="inside a region"),
        ] + [
            Line2D([], [], color=INK, lw=self.line_width(items), label=counted(items, "item"))
            for items in widths
        ]
        axes.set_axis_off()
        axes.legend(handles=handles, loc="center", ncols=len(handles))


class MatrixPanels:
    """The items from a few ranks to a few others, as a matrix of coloured cells."""

    width = 3.1

    def __init__(self, data):
        self.data = data
        self.width_of_cell = data["ranks_per_cell"]
        self.rows = -(-len(data["places"]) // self.width_of_cell)
        self.starts = region_starts(data)
        self.scale = scale_of(data)
        most = max((cell[2] for stage in data["stages"] for cell in stage["cells"]), default=1)
        self.norm = LogNorm(1, max(most, 2))

    def height(self):
        return 3.6

    def colours(self, stage):
        """A cell has the colour of what most of its items are: inside a region, or between two."""
        image = np.zeros((self.rows, self.rows, 4))
        for row, column, items, between in stage["cells"]:
            name = "between regions" if 2 * between > items else "inside a region"
            image[row, column] = COLOUR_MAPS[name](self.norm(items))
        return image

    def draw(self, axes, number, stage):
        ranks = len(self.data["places"])
        edge = self.rows * self.width_of_cell
        axes.set_title(stage_title(number, stage))
        image = axes.imshow(
            self.colours(stage), extent=(0, edge, edge, 0), interpolation="none", aspect="equal"
        )
        image.set_gid(f"matrix-stage{number}")
        axes.set(
            xlim=(0, ranks),
            ylim=(ranks, 0),
            xlabel=f"destination {self.scale}",
            ylabel=f"source {self.scale}",
        )
        axes.set_facecolor("white")  # on dark pages, too: dark cells have many items
        axes.grid(False)
        axes.locator_params(nbins=5, integer=True)
        if len(self.starts) <= MAX_REGION_LINES:
            for start in self.starts[1:]:
                axes.axhline(start, color=LINES, lw=0.5, zorder=0)
                axes.axvline(start, color=LINES, lw=0.5, zorder=0)

    def legend(self, axes):
        axes.set_axis_off()
        what = (
            "items"
            if self.width_of_cell == 1
            else f"items per {self.width_of_cell} x {self.width_of_cell} ranks"
        )
        for at, (name, colours) in enumerate(COLOUR_MAPS.items()):
            bar = axes.figure.colorbar(
                ScalarMappable(self.norm, colours),
                cax=axes.inset_axes((0.08 + 0.48 * at, 0.45, 0.36, 0.22)),
                orientation="horizontal",
            )
            bar.set_label(f"{what}, {name}")


def draw_bars(axes, data, noun):
    """What each rank sends; for many ranks the most and the mean of as many as share a cell."""
    all_sent = np.array(data["sent"][noun], dtype=float)
    between = np.array(data["sent"][f"inter_region_{noun}"], dtype=float)
    is_listed = data["ranks_per_cell"] == 0
    axes.set(
        xlabel="rank" if is_listed else scale_of(data),
        ylabel=f"{noun} sent",
        xlim=(-0.5, len(all_sent) - 0.5),
    )
    axes.grid(False, axis="x")
    axes.set_gid(f"sent-{noun}")
    if len(all_sent) <= MAX_BARS:
        at = np.arange(len(all_sent))
        axes.bar(at, between, width=0.8, color=BETWEEN, label="between regions")
        axes.bar(
            at, all_sent - between, width=0.8, bottom=between, color=INSIDE, label="inside a region"
        )
        if is_listed:
            ranks = [place["rank"] for place in data["places"]]
            axes.set_xticks(at, ranks, fontsize=6.5, rotation=90 if len(ranks) > 16 else 0)
    else:
        draw_envelope(axes, all_sent, data["ranks_per_cell"])
    axes.locator_params(axis="y", nbins=5, integer=True)
    axes.set_ylim(0, max(1, 1.06 * all_sent.max()))
    if not is_listed:
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.2)


def draw_envelope(axes, sent, width):
    starts = np.arange(0, len(sent), width)
    counts = np.diff(np.append(starts, len(sent)))
    middles = starts + (counts - 1) / 2
    axes.fill_between(
        middles,
        np.maximum.reduceat(sent, starts),
        step="mid",
        color=SKY,
        alpha=0.7,
        label=f"most of {width} ranks",
    )
    axes.step(
        middles,
        np.add.reduceat(sent, starts) / counts,
        where="mid",
        color=INK,
        lw=1.2,
        label="mean",
    )


def draw(data):
    is_listed = data["ranks_per_cell"] == 0
    panels = (MessagePanels if is_listed else MatrixPanels)(data)
    stages = data["stages"]
    columns = min(len(stages), PANELS_PER_ROW[is_listed])
    rows = -(-len(stages) // columns)
    width = max(7.5, 0.4 + columns * panels.width)
    heights = [1.0 + rows * panels.height(), 0.45 if is_listed else 0.7, 2.3]
    figure = new_figure(width, sum(heights))
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=heights)
    top.suptitle(heading(data), fontsize=11)
    for number, stage in enumerate(stages):
        panels.draw(top.add_subplot(rows, columns, number + 1), number, stage)
    panels.legend(middle.add_subplot())
    for axes, noun in zip(bottom.subplots(1, 2), ("messages", "items")):
        draw_bars(axes, data, noun)
    return figure
