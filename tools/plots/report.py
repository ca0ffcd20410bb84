"""Makes one HTML page of results: report.py OUTPUT < [{"path": ..., "text": ...}, ...]."""

import math
import pathlib
import sys
from html import escape

import plotting  # first, as it says so where there is no matplotlib
from matplotlib.colors import to_rgb
from pictures import figures
from pictures.style import counted, own_style, route_look, shortened
from results import Results, short_name

MOST_CALLS = 40  # in a figure

STYLE = pathlib.Path(__file__).with_name("report.css")

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>crossdock report</title>
<style>
{style}</style>
</head>
<body>
<h1>crossdock report</h1>
<nav aria-label="Contents"><ul>
{contents}
</ul></nav>
{sections}
</body>
</html>
"""


class Page:
    """The parts of the page, in the order they were added."""

    def __init__(self):
        self.contents = []
        self.parts = []
        self.num_figures = 0

    def add_section(self, identity, title, note):
        self.contents.append(f'<li><a href="#{identity}">{escape(title)}</a></li>')
        self.parts.append(
            f'<h2 id="{identity}">{escape(title)}</h2>\n<p class="note">{escape(note)}</p>'
        )

    def add_figure(self, kind, title, caption, figure):
        """`title` heads the figure, and together with `caption` tells what it shows."""
        self.num_figures += 1
        svg = figures.to_html(figure, f"figure{self.num_figures}", f"{title}. {caption}")
        heading = f"<h3>{escape(title)}</h3>\n"
        self.parts.append(
            f'<figure class="{kind}">\n{heading}<div class="wide">{svg}</div>\n'
            f"<figcaption>{escape(caption)}</figcaption>\n</figure>"
        )

    def add(self, html):
        self.parts.append(html)

    def to_html(self):
        return PAGE.format(
            style=STYLE.read_text(),
            contents="\n".join(self.contents),
            sections="\n".join(self.parts),
        )


def table(kind, head, rows):
    """A table of cells that are HTML already."""
    cells = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table class="{kind}">\n<thead><tr>{cells}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def win_cell(timings):
    """The fastest route, tinted in its colour: the more, the further it is ahead of direct."""
    if timings is None:
        return "<td></td>"
    best = min(timings, key=lambda timing: timing.slowest_seconds)
    colour, _ = route_look(best.route)
    speedup = best.speedup_over_direct
    strength = 0.06 + 0.1 * math.log2(min(8.0, max(1.0, speedup)))
    rgb = ",".join(str(round(255 * part)) for part in to_rgb(colour))
    ahead = f"{speedup:.2f} \N{MULTIPLICATION SIGN} direct"
    return (
        f'<td style="--route:{colour};background:rgba({rgb},{strength:.2f})">{escape(best.label)}'
        f"<small>{ahead}, {figures.SECONDS_IN_TEXT(best.slowest_seconds)}</small></td>"
    )


def add_wins(page, simulations):
    page.add_section(
        "wins",
        "Where each route wins",
        "The route whose slowest rank is done first, its speed-up over direct, and its time; "
        "simulated, not measured.",
    )
    columns = sorted({ranks for series in simulations.values() for ranks in series})
    rows = [
        [
            f'<th scope="row">{escape(short_name(group.file))}<small>{escape(group.about)}</small></th>',
            *(win_cell(series.get(ranks)) for ranks in columns),
        ]
        for group, series in simulations.items()
    ]
    page.add(table("wins", ["file", *(f"{ranks} ranks" for ranks in columns)], rows))


def add_times(page, simulations):
    page.add_section(
        "times",
        "Simulated time by route",
        "Of one exchange, simulated, not measured. Full lines, markers and bars: deduplicated plans; "
        "dashed and hollow ones: each item travels once per destination.",
    )
    for group, series in simulations.items():
        if len(series) > 1:
            page.add_figure("time", group.title, "Time against ranks.", figures.time_lines(series))
        else:
            ((ranks, timings),) = series.items()
            figure = figures.time_bars(timings)
            page.add_figure("time", group.title, f"Time on {ranks} ranks.", figure)


def add_shares(page, simulations):
    if not simulations:
        return
    page.add_section(
        "shares",
        "Where the time goes",
        "Simulated: what ranks wait for and do, for the largest number of ranks.",
    )
    for group, series in simulations.items():
        caption = f"Shares of the time on {max(series)} ranks."
        page.add_figure("share", group.title, caption, figures.share_bars(series[max(series)]))


def add_traffic(page, traffic):
    page.add_section(
        "traffic",
        "Messages and items by route",
        "Counted in the plans of all ranks: what the rank sends that sends most, and the mean.",
    )
    for group, series in traffic.items():
        if len(series) == 1:
            (ranks,) = series
            caption = f"What is sent on {ranks} ranks."
            page.add_figure("traffic", group.title, caption, figures.traffic_bars(series[ranks]))
            continue
        for noun in next(iter(series.values()))[0].counts:
            caption = f"Against ranks: {noun}."
            page.add_figure("traffic", group.title, caption, figures.traffic_lines(series, noun))


def add_benches(page, benches):
    page.add_section(
        "measured",
        "Measured time by contender",
        "Of one exchange. The marker is the median; the thick line reaches to the lower quartile, "
        "the thin one from the fastest exchange to the slowest. Hollow: not deduplicated.",
    )
    for path, title, contenders in benches:
        page.add_figure("bench", title, f"Recorded in {path}.", figures.bench_bars(contenders))


def sentence_of(calls):
    """As the drop-in ends its table."""
    saved = sum(one.saved_seconds for one in calls)
    exchanges = counted(sum(one.num_planned for one in calls), "exchange")
    if saved < 0:
        return f"set-ups took about {figures.SECONDS_IN_TEXT(-saved)} more than {exchanges} saved"
    by_mpi = figures.SECONDS_IN_TEXT(sum(one.mpi_seconds for one in calls))
    return f"saved about {figures.SECONDS_IN_TEXT(saved)} of {by_mpi} in {exchanges}"


def call_cells(one):
    seconds = figures.SECONDS_IN_TEXT
    neighbors, size, route, messages, by_mpi, by_route = [""] * 6
    if one.plan is not None:
        neighbors, size = f"{one.plan['most_neighbors']:,}", f"{one.plan['bytes']:,}"
        route = escape(one.plan["route"])
        messages = "{route:,}<small>{direct:,} direct</small>".format_map(one.plan["messages"])
        by_mpi, by_route = map(seconds, one.plan["seconds"].values())
    cells = [
        f"{one.ranks:,}",
        neighbors,
        size,
        f"{one.num_calls:,}<small>{one.num_planned:,} by plan</small>",
        f"{route}<small>{escape(one.why)}</small>",
        messages,
        by_mpi,
        by_route,
        seconds(one.set_up_seconds),
        seconds(one.saved_seconds),
    ]
    return [
        f'<th scope="row">{escape(one.label)}<small>{escape(one.where)}</small></th>',
        *(f"<td>{cell}</td>" for cell in cells),
    ]


def add_taken_over(page, taken_over):
    page.add_section(
        "calls",
        "Calls that the drop-in took over",
        "A row for each place in a program that calls, and each communicator. Times are those of one exchange in the "
        "trial, on the slowest rank; what was saved is so if all exchanges took as long, and set-ups are taken off.",
    )
    head = [
        "call",
        "ranks",
        "neighbors",
        "bytes",
        "calls",
        "route",
        "messages between regions",
        "by MPI",
        "by the route",
        "set-up",
        "saved",
    ]
    for path, calls in taken_over:
        page.add(f'<p><span class="path">{escape(path)}</span>: {sentence_of(calls)}.</p>')
        page.add(table("calls", head, map(call_cells, calls)))
        tried = [one for one in calls if one.plan is not None]
        drawn = sorted(tried, key=lambda one: -one.num_calls * one.plan["seconds"]["mpi"])[:MOST_CALLS]
        if drawn:
            page.add_figure(
                "calls",
                "One exchange by MPI and by the route",
                f"{counted(len(drawn), 'call')} of {len(calls)} in {path}, those first that take MPI the "
                "most time. Hollow: not faster, so that MPI does the calls.",
                figures.call_marks(drawn),
            )


def add_sources(page, sources):
    page.add_section("sources", "Results read", "The files that this page was made of.")
    rows = [
        [
            f'<td class="path">{escape(path)}</td>',
            f"<td>{escape(record['schema'])}</td>",
            f'<td class="path">{escape(short_name(record["file"]))}</td>',
            f"<td>{record['ranks']}</td>",
            f"<td>{escape(shortened(record['topology']))}</td>",
        ]
        for path, record in sources
    ]
    page.add(table("sources", ["result", "schema", "file", "ranks", "topology"], rows))


def make_page(results):
    page = Page()
    if results.simulations:
        add_wins(page, results.simulations)
        add_times(page, results.simulations)
        add_shares(page, results.simulations_with_shares())
    if results.traffic:
        add_traffic(page, results.traffic)
    if results.benches:
        add_benches(page, results.benches)
    if results.taken_over:
        add_taken_over(page, results.taken_over)
    add_sources(page, results.sources)
    return page.to_html()


def main():
    results = Results(plotting.read_input())
    with own_style():
        page = make_page(results)
    plotting.write_file(sys.argv[1], page.encode())


if __name__ == "__main__":
    main()
