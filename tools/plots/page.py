"""The HTML page of results, with its figures."""

import math
import pathlib
from html import escape

from matplotlib.colors import to_rgb
from pictures import figures
from pictures.style import own_style, route_look
from pictures.words import counted, shortened
from results import DECISIONS, short_name

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

    def add_figure(self, kind, title, finding, caption, drawing):
        """`title` heads the figure, `finding` says what it tells, and `caption` what it shows."""
        self.num_figures += 1
        svg = figures.to_html(drawing, f"figure{self.num_figures}", f"{title}. {caption}")
        heading = f"<h3>{escape(title)}</h3>\n"
        if finding:
            heading += f'<p class="finding">{escape(finding)}</p>\n'
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


LINES_NOTE = "Lines that coincide are one, with all their names; of many, the eight nearest to the best are drawn."


def fastest_of(timings):
    """The first one, and the names of all that take as long."""
    best = min(timings, key=lambda timing: timing.slowest_seconds)
    least = best.slowest_seconds
    tied = [one.label for one in timings if one.slowest_seconds <= (1 + figures.SAME) * least]
    return best, tied


def winner_sentence(timings, ranks):
    best, tied = fastest_of(timings)
    if len(tied) > 1:
        names = ", ".join(tied[:-1]) + f" and {tied[-1]}"
        return f"On {ranks} ranks {names} tie, {best.speedup_over_direct:.2f} times as fast as direct."
    if best.speedup_over_direct <= 1 + figures.SAME:
        return f"On {ranks} ranks no route is faster than direct."
    return f"On {ranks} ranks {best.label} is done first, {best.speedup_over_direct:.2f} times as fast as direct."


def add_times(page, simulations):
    page.add_section(
        "times",
        "Simulated time by route",
        "Of one exchange, simulated, not measured. Full lines, markers and bars: deduplicated plans; "
        f"dashed and hollow ones: each item travels once per destination. {LINES_NOTE}",
    )
    for group, series in simulations.items():
        most = max(series)
        said = winner_sentence(series[most], most)
        if len(series) > 1:
            title = f"Time of {group.title}"
            caption = f"Time of the slowest rank of {short_name(group.file)} against ranks."
            page.add_figure("time", title, said, caption, figures.time_lines(series))
        else:
            caption = f"Time of the slowest rank of {short_name(group.file)} on {most} ranks."
            figure = figures.time_bars(series[most])
            page.add_figure("time", f"Time of {group.title}", said, caption, figure)


def add_speedups(page, simulations):
    """Where there are several numbers of ranks; bars of times show the ratios already."""
    several = {group: series for group, series in simulations.items() if len(series) > 1}
    if not several:
        return
    page.add_section(
        "speedups",
        "Simulated speed-up over direct",
        "The time of direct by messages, which is not deduplicated, divided by that of the route: above 1 is faster. "
        + LINES_NOTE,
    )
    for group, series in several.items():
        least, most = min(series), max(series)
        gains = [fastest_of(series[ranks])[0].speedup_over_direct for ranks in (least, most)]
        change = "is" if abs(gains[1] - gains[0]) <= figures.SAME * gains[0] else "goes"
        span = f"{gains[0]:.2f}" if change == "is" else f"from {gains[0]:.2f} to {gains[1]:.2f}"
        said = f"From {least} to {most} ranks the best speed-up over direct {change} {span}."
        title = f"Speed-up of {group.title}"
        caption = f"Speed-up of {short_name(group.file)} against ranks."
        page.add_figure("speedup", title, said, caption, figures.speedup_lines(series))


def add_shares(page, simulations):
    if not simulations:
        return
    page.add_section(
        "shares",
        "Where the time goes",
        "Simulated: what ranks wait for and do, for the largest number of ranks.",
    )
    for group, series in simulations.items():
        most = max(series)
        best, _ = fastest_of(series[most])
        part = max(best.shares, key=best.shares.get)
        said = f"{best.label}, the fastest, spends most on {part}: {100 * best.shares[part]:.0f} %."
        title = f"Shares of {group.title}"
        caption = f"Shares of the time of all {most} ranks of {short_name(group.file)}."
        page.add_figure("share", title, said, caption, figures.share_bars(series[most]))


def sends_least(traffic, noun):
    """What the busiest rank sends where it sends least, next to direct."""
    least = min(traffic, key=lambda one: one.counts[noun]["max"])
    most = figures.plain_numbers(least.counts[noun]["max"], None)
    for one in traffic:
        if one.route == "direct" and one is not least:
            direct = figures.plain_numbers(one.counts[noun]["max"], None)
            return f"{most} with {least.label}, {direct} with {one.label}"
    return f"{most} with {least.label}, the least"


def add_traffic(page, traffic):
    page.add_section(
        "traffic",
        "Messages and items by route",
        "Counted in the plans of all ranks: what the rank sends that sends most, and the mean. " + LINES_NOTE,
    )
    for group, series in traffic.items():
        last = series[max(series)]
        if len(series) == 1:
            said = f"Inter-region messages of the busiest rank: {sends_least(last, 'inter-region messages')}."
            caption = f"What is sent in {short_name(group.file)} on {max(series)} ranks."
            page.add_figure("traffic", f"What {group.title} sends", said, caption, figures.traffic_bars(last))
            continue
        for noun in last[0].counts:
            said = f"{noun.capitalize()} of the busiest of {max(series)} ranks: {sends_least(last, noun)}."
            title = f"{noun.capitalize()} of {group.title}"
            caption = f"{noun.capitalize()} that are sent in {short_name(group.file)}, against ranks."
            page.add_figure("traffic", title, said, caption, figures.traffic_lines(series, noun))


def contest_sentence(bench):
    """The library's fastest, or the route that was judged, next to the fastest of what it is compared with.

    Whether that is a gain, crossdock has judged when it measured.
    """

    def fastest(some):
        return min(some, key=lambda one: one.seconds["median"], default=None)

    if bench.finding is not None:
        return bench.finding
    own = fastest([one for one in bench.contenders if one.route is not None and bench.judged in (None, one.route)])
    other = fastest([one for one in bench.contenders if one.is_reference])
    if own is None or other is None:
        return f"{fastest(bench.contenders).label} has the lowest median."
    reference = bench.reference.format(other.label)
    if own.ratio is None:
        ratio = own.seconds["median"] / other.seconds["median"]
        return (
            f"Undecided, as the record does not compare rounds: the median of {own.label} is {ratio:.2f} of that of "
            f"{reference}."
        )
    said = f"{own.label} needs {own.ratio.text} of the time of {reference}."
    return DECISIONS[own.ratio.decision] + said


def add_benches(page, benches):
    page.add_section(
        "measured",
        "Measured time by contender",
        "The marker is the median of the slowest rank's times; the thick line reaches to the lower quartile, "
        "the thin one from the fastest to the slowest. Black: what is not this library. Hollow: not deduplicated. "
        "Numbers in parentheses are the interval that the median of the rounds' ratios is in, with a confidence of 95 %. "
        "There is a gain if all of it is below 1 / 1.05.",
    )
    for one in benches:
        drawing = figures.bench_bars(one.contenders, f"time of {one.unit}, slowest rank")
        title, caption = f"{one.kind}, {one.title}", f"Recorded in {one.path}."
        page.add_figure("bench", title, contest_sentence(one), caption, drawing)


def add_choices(page, choices):
    page.add_section(
        "choices",
        "What auto takes",
        "What every candidate is estimated to cost, or where simulated, how long it takes; not measured.",
    )
    for one in choices:
        best, *others = one.candidates
        tied = [other.route for other in others if other.slowest_seconds <= (1 + figures.SAME) * best.slowest_seconds]
        said = f"auto takes {best.route}, whose time is mostly {one.dominating}"
        slower = [other for other in others if other.route == "direct" and other.route not in tied]
        if tied:
            said += f"; it ties with {', '.join(tied)}"
        if slower and best.slowest_seconds > 0:
            said += f"; direct would take {slower[0].slowest_seconds / best.slowest_seconds:.2f} times as long"
        what = "simulated time" if one.is_simulated else "estimated time"
        title, caption = f"Choice for {one.title}", f"{what.capitalize()} of the candidates, from {one.path}."
        page.add_figure("choice", title, f"{said}.", caption, figures.time_bars(one.candidates, what))


def add_drawings(page, drawings):
    page.add_section("plans", "Plans", "As crossdock draw drew them: who sends to whom, stage by stage.")
    for path, svg in drawings:
        page.add_figure("plan", f"Plan in {path}", "", f"Drawn by crossdock draw in {path}.", svg)


def sentence_of(calls):
    """As the drop-in ends its table."""
    saved = sum(one.saved_seconds for one in calls)
    num_planned = sum(one.num_planned for one in calls)
    if num_planned == 0:
        return f"no exchange followed a plan; set-ups took about {figures.SECONDS_IN_TEXT(abs(saved))}"
    exchanges = counted(num_planned, "exchange")
    if saved < 0:
        return f"lost about {figures.SECONDS_IN_TEXT(-saved)} in set-ups and {exchanges}"
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


def object_cells(one):
    seconds = figures.SECONDS_IN_TEXT
    starts = one.starts or 1
    cells = [
        f"{one.ranks:,}",
        f"{one.starts:,}",
        f"{escape(one.route)}<small>{escape(one.why)}</small>",
        f"{one.messages / starts:,.0f}",
        f"{one.bytes / starts:,.0f}",
        seconds(one.mean_seconds / starts),
        seconds(one.slowest_seconds / starts),
        f"rank {one.awaited['rank']}<small>{seconds(one.awaited['seconds'])} in all</small>" if one.awaited else "",
    ]
    return [
        f'<th scope="row">{escape(one.label)}<small>{escape(one.kind)}</small></th>',
        *(f"<td>{cell}</td>" for cell in cells),
    ]


def add_objects(page, objects):
    page.add_section(
        "objects",
        "What a program's objects did",
        "A row for each name. Messages and bytes are those of one exchange, over all ranks; times are those of one "
        "exchange, from its start until it is complete.",
    )
    head = ["object", "ranks", "exchanges", "route", "messages", "bytes", "mean", "slowest rank", "waited longest for"]
    for path, found in objects:
        page.add(f'<p><span class="path">{escape(path)}</span></p>')
        page.add(table("objects", head, map(object_cells, found)))
        drawn = sorted(found, key=lambda one: -one.mean_seconds)[:MOST_CALLS]
        slowest = drawn[0]
        part = max(slowest.shares, key=slowest.shares.get)
        page.add_figure(
            "objects",
            f"Where the time goes: {path}",
            f"{slowest.label} takes most, and of that most is {part}: {100 * slowest.shares[part]:.0f} %.",
            f"Shares of the time of {counted(len(drawn), 'name')}; overlap is what ranks spend outside of the object's calls.",
            figures.share_bars(drawn),
        )


def add_taken_over(page, taken_over):
    page.add_section(
        "calls",
        "Calls that the drop-in took over",
        "A row for each place in a program that calls, and each communicator. Times are those of one exchange in the "
        "trial, on the slowest rank. Savings assume these times for every exchange, minus the set-ups.",
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
                f"One exchange by MPI and by the route: {path}",
                f"In {sum(one.plan['is_used'] for one in drawn)} of {len(drawn)} the route is used.",
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


@own_style()
def html_of(results):
    page = Page()
    if results.simulations:
        add_wins(page, results.simulations)
        add_times(page, results.simulations)
        add_speedups(page, results.simulations)
        add_shares(page, results.simulations_with_shares())
    if results.choices:
        add_choices(page, results.choices)
    if results.traffic:
        add_traffic(page, results.traffic)
    if results.benches:
        add_benches(page, results.benches)
    if results.drawings:
        add_drawings(page, results.drawings)
    if results.objects:
        add_objects(page, results.objects)
    if results.taken_over:
        add_taken_over(page, results.taken_over)
    add_sources(page, results.sources)
    return page.to_html()
