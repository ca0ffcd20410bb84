"""Draws the README's picture, docs/gain.svg, from the records: gain.py RESULTS > PICTURE.

Each row is a case, each mark a median time divided by that of the fastest contender which uses
MPI alone: its collectives, or persistent requests written by hand.
The picture is written without matplotlib, so that every machine gets the same bytes.
"""

import dataclasses
import math
import pathlib
import sys
from html import escape

import records

MPI = {
    "mpi_persistent",
    "mpi_neighbor_alltoallv",
    "mpi_ineighbor_alltoallv",
    "mpi_neighbor_alltoallv_init",
    "mpi_alltoall",
    "mpi_alltoallv",
    "plain",
    "alltoallv",
}
# PETSc's star forests, and the algorithms that others published for the sparse exchange.
OTHERS = {
    "petsc_sf",
    "petsc_sf_basic",
    "petsc_sf_neighbor",
    "personalized",
    "nonblocking",
    "rma",
    "rma_fence",
    "locality_personalized",
    "locality_nonblocking",
    "reduce_scatter",
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A row of the picture, and the record that it comes from."""

    label: str
    record: str


CASES = {
    "neighbor_exchange": [
        Case("all to all, 8 nodes", "neighbor-dense1-emulated8x4"),
        Case("matrix SiH4, 4 nodes", "neighbor-SiH4-emulated4x4"),
        Case("matrix bcsstk25, 4 nodes", "neighbor-bcsstk25-emulated4x4"),
        Case("matrix SiH4, 1 node", "neighbor-SiH4-8ranks-2x4"),
        Case("matrix radfr1, 1 node", "neighbor-radfr1-8ranks-2x4"),
    ],
    "sparse_exchange": [
        Case("all to all, 8 nodes", "exchange-dense1-emulated8x4"),
        Case("matrix bcspwr10, 4 nodes", "exchange-bcspwr10-pattern-emulated4x4"),
        Case("matrix msc01050, 1 node", "exchange-msc01050-8ranks-2x4"),
    ],
    "distributed_array": [
        Case("graph R-MAT, 4 nodes", "array-boruvka-rmat-131072-emulated4x4"),
        Case("graph G(n,m), 4 nodes", "array-boruvka-gnm-32768-emulated4x4"),
    ],
    "stream": [
        Case("histogram, 1 node", "stream-histogram-256m-8ranks"),
        Case("index gather, 1 node", "stream-index_gather-256m-8ranks"),
    ],
}


@dataclasses.dataclass(frozen=True)
class Mark:
    """A kind of contender: its name in the legend, and how it is drawn around (0, 0)."""

    kind: str
    legend: str
    shape: str


MARKS = [
    Mark("other", "PETSc or a published algorithm, the faster", '<path class="other" d="M-4 -4h8v8h-8z"/>'),
    Mark("direct", "route direct", '<circle class="direct" r="5.5"/>'),
    Mark("three_step", "route three_step", '<path class="three_step" d="M0 -5l5 5l-5 5l-5 -5z"/>'),
    Mark("auto", "route auto", '<circle class="auto" r="8.5"/>'),
]

WIDTH, ROW = 700, 20
LEFT, RIGHT, TOP = 210, 680, 66  # of what the axis spans, and of the first row
LOWEST, HIGHEST = 0.25, 2.5
TICKS = [0.25, 0.5, 1, 2]

LIGHT = {"paper": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#d1d9e0", "direct": "#0072b2",
         "three_step": "#d55e00"}
DARK = {"paper": "#0d1117", "ink": "#f0f6fc", "soft": "#9198a1", "line": "#3d444d", "direct": "#56b4e9",
        "three_step": "#ff9d4d"}
# Not by variables of CSS, which some programs that show pictures do not know.
COLORS = """
  text { fill: %(ink)s; }
  .soft { fill: %(soft)s; }
  .paper { fill: %(paper)s; }
  .line, .row { stroke: %(line)s; }
  .mpi { stroke: %(ink)s; }
  .direct { fill: %(direct)s; }
  .three_step { fill: %(three_step)s; }
  .auto { stroke: %(ink)s; }
  .other { fill: %(paper)s; stroke: %(soft)s; }
"""
SHAPES = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
  .heading { font-weight: 600; }
  .middle { text-anchor: middle; }
  .end { text-anchor: end; }
  .row { stroke-dasharray: 1 4; }
  .mpi, .auto, .other { stroke-width: 1.5; }
  .auto { fill: none; }
"""
STYLE = f"{SHAPES}{COLORS % LIGHT}  @media (prefers-color-scheme: dark) {{{COLORS % DARK}  }}\n"


def kind_of(contender):
    """MPI, one of MARKS, or None: a route that the picture leaves out."""
    name = contender["name"]
    if name in MPI:
        return "mpi"
    if name in OTHERS:
        return "other"
    # The defaults: an item travels once for several ranks, ranks of a node share memory.
    if contender.get("dedup") is False or contender.get("executor") == "persistent":
        return None
    if name == "stream":
        is_default = (contender["scheme"], contender["buffer_items"]) == ("ww", 8192)
        return contender["route"] if is_default else None
    route = name.removeprefix("routed:").removesuffix("/auto")
    return route if route in [mark.kind for mark in MARKS] else None


def ratios(record):
    """The fastest time of each kind over the fastest of MPI's, of medians."""
    fastest = {}
    for contender in record["contenders"]:
        kind = kind_of(contender)
        seconds = contender.get("exchange_seconds") or contender.get("seconds")
        if kind:
            fastest[kind] = min(seconds["median"], fastest.get(kind, math.inf))
    return {kind: seconds / fastest["mpi"] for kind, seconds in fastest.items() if kind != "mpi"}


def across(ratio):
    """Where a ratio lies, on a logarithmic axis."""
    if not LOWEST <= ratio <= HIGHEST:
        raise ValueError(f"{ratio} is beyond the axis")
    return LEFT + (RIGHT - LEFT) * math.log(ratio / LOWEST) / math.log(HIGHEST / LOWEST)


def text(x, y, words, classes=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}">{escape(words)}</text>'


def placed(mark, x, y, title=""):
    titled = f"<title>{escape(title)}</title>" if title else ""
    return f'<g transform="translate({x:.1f} {y:.1f})">{titled}{mark.shape}</g>'


def legend():
    x = 12
    for mark in [*MARKS[1:], MARKS[0]]:
        yield placed(mark, x + 8, 20)
        yield text(x + 22, 24.5, mark.legend)
        x += 40 + 6.7 * len(mark.legend)


def axis(bottom):
    yield text(across(1) - 12, 50, "\N{LEFTWARDS ARROW} faster than MPI", "soft end")
    yield text(across(1) + 12, 50, "slower \N{RIGHTWARDS ARROW}", "soft")
    for ratio in TICKS:
        x = across(ratio)
        yield f'<path class="{"mpi" if ratio == 1 else "line"}" d="M{x:.1f} 56V{bottom}"/>'
        yield text(x, bottom + 17, f"{ratio:g}", "soft middle")
    yield text(
        (LEFT + RIGHT) / 2, bottom + 36, "time / time of the fastest MPI contender", "soft middle"
    )


def row(case, record, y):
    yield text(24, y + 4.5, case.label)
    yield f'<path class="row" d="M{LEFT} {y}H{RIGHT}"/>'
    found = ratios(record)
    for mark in MARKS:
        if mark.kind in found:
            ratio = found[mark.kind]
            yield placed(mark, across(ratio), y, f"{case.record}: {mark.legend} {ratio:.2f}")


def picture(results):
    parts, y = [], TOP
    for heading, cases in CASES.items():
        parts.append(text(12, y + 4.5, heading, "heading"))
        for case in cases:
            y += ROW
            record = records.read(results / f"{case.record}-openmpi.jsonl")
            parts += row(case, record, y)
        y += ROW + 5
    bottom = y - ROW + 8
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 48}" role="img">',
        "<title>Time of crossdock relative to MPI, by case</title>",
        f"<style>{STYLE}</style>",
        '<rect class="paper" width="100%" height="100%" rx="6"/>',
    ]
    return "\n".join([*head, *legend(), *axis(bottom), *parts, "</svg>\n"])


if __name__ == "__main__":
    sys.stdout.write(picture(pathlib.Path(sys.argv[1])))
