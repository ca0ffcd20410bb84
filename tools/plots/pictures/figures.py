"""The figures of results, each a function that returns a matplotlib figure."""

import html
import operator
import re

import numpy as np
from matplotlib import colormaps
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import (
    EngFormatter,
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
)

from .style import BOX, GREY, INK, LINES, PAPER, new_figure, route_look, svg_of
from .words import PARTS_OF_TIME

WIDTH = 8.2
ROW = 0.25  # inches for one bar
MOST_STEPS = 256
MOST_LINES = 8
SAME = 0.005  # relative; curves that are nearer coincide
# From dark to light in a map for colour-blind people.
COLOURS_OF_PARTS = colormaps["cividis"](np.linspace(0.15, 1, len(PARTS_OF_TIME)))
SECONDS = EngFormatter(unit="s", sep="\N{NO-BREAK SPACE}")
SECONDS_IN_TEXT = EngFormatter(unit="s", places=1, sep="\N{NO-BREAK SPACE}")


def bar_style(route, dedup):
    colour, _ = route_look(route)
    return {"color": colour if dedup else "none", "edgecolor": colour, "linewidth": 1.2}


def plain_numbers(value, _at):
    """Numbers of messages and items: 0.5, 850, 12k, 3M."""
    return f"{value:g}" if value < 1000 else EngFormatter(sep="").format_eng(value)


def points_of(series, label, pick):
    """The number of each number of ranks, of one route and kind of plan."""
    return {
        ranks: pick(one)
        for ranks, results in sorted(series.items())
        for one in results
        if one.label == label
    }


def curves(series, picks, best):
    """[[results of one label]]: those together whose curves coincide for all `picks`, and at most MOST_LINES.

    These are `direct` and the ones that come nearest to what is `best`, min or max, on some number of ranks.
    """

    def coincide(one, other):
        for pick in picks:
            points, others = (points_of(series, label, pick) for label in (one.label, other.label))
            if points.keys() != others.keys():
                return False
            if any(abs(points[at] - others[at]) > SAME * abs(points[at]) for at in points):
                return False
        return True

    found = []
    for one in {one.label: one for ranks in series.values() for one in ranks}.values():
        twins = next((names for names in found if coincide(names[0], one)), None)
        if twins is None:
            found.append([one])
        else:
            twins.append(one)
    if len(found) <= MOST_LINES:
        return found
    pick = picks[0]
    tops = {ranks: best(map(pick, results)) for ranks, results in series.items()}

    def distance(names):
        if any(one.route == "direct" for one in names):
            return -1
        points = points_of(series, names[0].label, pick)
        return min(abs(points[ranks] - tops[ranks]) / (abs(tops[ranks]) or 1) for ranks in points)

    kept = sorted(found, key=distance)[:MOST_LINES]
    return [names for names in found if names in kept]


def draw_lines(axes, series, kind, pick, found=None):
    """A line for each curve of `found`, or of all that `pick` gives, with all the names it has.

    `kind` begins the ids of the lines.
    """
    for names in found or curves(series, [pick], min):
        one = names[0]
        points = points_of(series, one.label, pick)
        colour, marker = route_look(one.route)
        (line,) = axes.plot(
            list(points),
            list(points.values()),
            color=colour,
            marker=marker,
            markersize=5,
            linestyle="-" if one.dedup else (0, (3, 2)),
            markerfacecolor=colour if one.dedup else PAPER,
            label="\n= ".join(other.label for other in names),
        )
        line.set_gid(f"{kind}-{one.label}")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sorted(series)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ranks, _at: f"{ranks:.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("ranks")


def legend_right(axes):
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02))


def label_rows(axes, results):
    axes.set_yticks(range(len(results)), [one.label for one in results])
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)


def label_log(axis, formatter):
    """1, 2, 5, 10, ... on a logarithmic axis, or over many decades 1, 10, ..."""
    low, high = axis.get_view_interval()
    steps = (1,) if high > 2000 * low else (1, 2, 5)
    axis.set_major_locator(LogLocator(subs=steps, numticks=30))
    axis.set_major_formatter(formatter)
    axis.set_minor_formatter(NullFormatter())


def bars_height(results):
    return 0.75 + ROW * len(results)


def time_lines(series):
    figure = new_figure(WIDTH, 4.2)
    axes = figure.subplots()
    draw_lines(axes, series, "line", lambda timing: timing.slowest_seconds)
    axes.set_yscale("log")
    label_log(axes.yaxis, SECONDS)
    axes.set_ylabel("time of the slowest rank")
    legend_right(axes)
    return figure


def speedup_lines(series):
    figure = new_figure(WIDTH, 3.6)
    axes = figure.subplots()
    axes.axhline(1, color=INK, linewidth=0.8)
    pick = operator.attrgetter("speedup_over_direct")
    draw_lines(axes, series, "speedup", pick, curves(series, [pick], max))
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(plain_numbers)
    axes.set_ylabel("times as fast as direct")
    legend_right(axes)
    return figure


def time_bars(timings, what="time of the slowest rank"):
    figure = new_figure(WIDTH, bars_height(timings))
    axes = figure.subplots()
    for at, timing in enumerate(timings):
        (bar,) = axes.barh(
            at, timing.slowest_seconds, 0.72, **bar_style(timing.route, timing.dedup)
        )
        bar.set_gid(f"bar-{timing.label}")
    label_rows(axes, timings)
    axes.xaxis.set_major_formatter(SECONDS)
    axes.set_xlabel(what)
    return figure


def share_bars(timings):
    figure = new_figure(WIDTH, bars_height(timings) + 0.2)
    draw_shares(figure.subplots(), timings)
    return figure


def draw_shares(axes, timings):
    before = np.zeros(len(timings))
    for part, colour in zip(timings[0].shares, COLOURS_OF_PARTS):
        shares = np.array([timing.shares[part] for timing in timings])
        axes.barh(
            range(len(timings)),
            100 * shares,
            0.76,
            100 * before,
            color=colour,
            edgecolor=PAPER,
            linewidth=0.6,
            label=part,
        )
        before += shares
    label_rows(axes, timings)
    axes.set_xlim(0, 100)
    axes.set_xlabel("percent of the time of all ranks")
    legend_right(axes)


def finish_and_shares(timing, finish_seconds):
    """When how many ranks are done, and what they spend their time on."""
    figure = new_figure(WIDTH, 3.9)
    top, bottom = figure.subplots(2, 1, height_ratios=(2.3, 1))
    times = np.sort(finish_seconds)
    shown = np.unique(np.linspace(0, len(times) - 1, MOST_STEPS).astype(int))
    colour, _ = route_look(timing.route)
    (line,) = top.step([0, *times[shown]], [0, *(shown + 1)], where="post", color=colour, lw=1.6)
    line.set_gid("finish")
    top.xaxis.set_major_formatter(SECONDS)
    top.yaxis.set_major_formatter(plain_numbers)
    top.locator_params(axis="y", nbins=4, integer=True)
    top.set(xlabel="time", ylabel="ranks done", xlim=(0, None), ylim=(0, 1.04 * len(times)))
    draw_shares(bottom, [timing])
    return figure


def scale_counts(axes, series, noun):
    """A logarithmic axis for what is sent, with a linear part up to 1 if some ranks send nothing."""
    counts = [
        one.counts[noun][which]
        for all in series.values()
        for one in all
        for which in ("max", "mean")
    ]
    if min(counts) > 0:
        axes.set_yscale("log")
        label_log(axes.yaxis, plain_numbers)
    else:
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, 2 * max(1, *counts))
        axes.yaxis.set_major_formatter(plain_numbers)


def traffic_lines(series, noun):
    figure = new_figure(WIDTH, 3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    picks = {which: lambda one, which=which: one.counts[noun][which] for which in ("max", "mean")}
    found = curves(series, list(picks.values()), min)
    for axes, which, title in [(left, "max", "the rank that sends most"), (right, "mean", "mean")]:
        draw_lines(axes, series, which, picks[which], found)
        axes.set_title(title)
    scale_counts(left, series, noun)
    left.set_ylabel(f"{noun} sent")
    legend_right(right)
    return figure


def traffic_bars(traffic):
    nouns = list(traffic[0].counts)
    figure = new_figure(WIDTH, bars_height(traffic) + 0.55)
    top, bottom = figure.subfigures(2, 1, height_ratios=[bars_height(traffic) + 0.15, 0.3])
    for axes, noun in zip(top.subplots(1, len(nouns), sharey=True), nouns):
        for at, one in enumerate(traffic):
            count = one.counts[noun]
            axes.barh(at, count["max"], 0.72, **bar_style(one.route, one.dedup))
            axes.plot([count["mean"]] * 2, [at - 0.36, at + 0.36], color=INK, linewidth=2)
        axes.set_title(noun.replace(" ", "\n"), fontsize=9)
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter(plain_numbers)
        axes.set_xlim(left=0)
        label_rows(axes, traffic)
    handles = [
        Patch(facecolor="none", edgecolor=GREY, linewidth=1.2, label="the rank that sends most"),
        Line2D([], [], color=INK, linewidth=2, label="mean over the ranks"),
    ]
    legend = bottom.add_subplot()
    legend.set_axis_off()
    legend.legend(handles=handles, loc="center", ncols=2)
    return figure


def bench_bars(contenders, what="time of one exchange, slowest rank"):
    """The median as a dot, from the lower quartile to it a thick line, from least to most a thin one."""
    figure = new_figure(WIDTH, bars_height(contenders) + 0.3)
    axes = figure.subplots()
    for at, one in enumerate(contenders):
        is_route = one.route is not None
        colour, marker = route_look(one.route) if is_route else (INK, "o")
        seconds = one.seconds
        axes.plot([seconds["min"], seconds["max"]], [at, at], color=colour, linewidth=1)
        axes.plot(
            [seconds["lower_quartile"], seconds["median"]], [at, at], color=colour, linewidth=4
        )
        (median,) = axes.plot(
            seconds["median"],
            at,
            marker,
            color=colour,
            markersize=6.5,
            markeredgewidth=1.4,
            markerfacecolor=PAPER if is_route and not one.dedup else colour,
        )
        median.set_gid(f"median-{one.label}".replace(", ", "-"))
    label_rows(axes, contenders)
    axes.set_xscale("log")
    label_log(axes.xaxis, SECONDS)
    axes.set_xlabel(what)
    return figure


def call_marks(calls):
    """What one exchange took in the trial: by MPI and by the route, joined by a line."""
    figure = new_figure(WIDTH, bars_height(calls) + 0.3)
    axes = figure.subplots()
    handles = {"MPI": Line2D([], [], linestyle="", marker="o", color=INK)}
    for at, one in enumerate(calls):
        colour, marker = route_look(one.plan["route"])
        seconds = one.plan["seconds"]
        axes.plot([seconds["mpi"], seconds["route"]], [at, at], color=colour, linewidth=1)
        (by_mpi,) = axes.plot(seconds["mpi"], at, "o", color=INK, markersize=6.5)
        (by_route,) = axes.plot(
            seconds["route"],
            at,
            marker,
            color=colour,
            markersize=6.5,
            markeredgewidth=1.4,
            markerfacecolor=colour if one.plan["is_used"] else PAPER,
        )
        number = one.label.partition(":")[0]
        by_mpi.set_gid(f"mpi-{number}")
        by_route.set_gid(f"route-{number}")
        handles.setdefault(
            one.plan["route"], Line2D([], [], linestyle="", marker=marker, color=colour)
        )
    label_rows(axes, calls)
    axes.set_xscale("log")
    least, most = axes.dataLim.intervalx
    axes.set_xlim(least / 1.6, 1.6 * most)  # so wide that there is a label
    label_log(axes.xaxis, SECONDS)
    axes.set_xlabel("time of one exchange in the trial, slowest rank")
    axes.legend(handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=(1.01, 1.02))
    return figure


def to_html(drawing, identity, label):
    """A figure or the text of an SVG file as an element: its ids are unique in the page, which chooses its inks."""
    if not isinstance(drawing, str):
        drawing = svg_of(drawing)
    text = re.sub(r"<metadata>.*?</metadata>", "", drawing[drawing.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"([^>]*?) width="[^"]*"', r"\1\2", text, count=1)
    text = re.sub(r'\bid="', f'id="{identity}-', text)
    text = text.replace('href="#', f'href="#{identity}-').replace("url(#", f"url(#{identity}-")
    for colour, variable in [(INK, "ink"), (PAPER, "paper"), (LINES, "lines"), (BOX, "box")]:
        text = text.replace(colour, f"var(--{variable})")
    return text.replace("<svg", f'<svg role="img" aria-label="{html.escape(label)}"', 1)
