"""What auto gains, from the records: the README's picture, docs/gain.svg, and the table of docs/is-it-for-me.md.

usage: gain.py RESULTS > docs/gain.svg
       gain.py RESULTS --table

Each row is a case, each mark a median time divided by that of the fastest contender that does without crossdock: MPI's
collectives, persistent requests written by hand, or for a gather-scatter gslib's methods. Every record has `auto`.
The picture is written without matplotlib, so that every machine gets the same bytes.
"""

import dataclasses
import math
import pathlib
import sys
from html import escape

import records

MPI = {
    "hypre",
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
    "Halo exchange": [
        Case("AMG levels, 3D Laplacian, 4 nodes", "hypre-27pt-emulated4x4"),
        Case("graph of co-authors, 4 nodes", "product-ca-condmat-emulated4x4"),
        Case("molecule, 4 nodes", "product-SiH4-emulated4x4"),
        Case("linear program, 4 nodes", "product-fast0507_kkt-emulated4x4"),
        Case("electronics, 4 nodes", "product-ckt11752_dc_1-emulated4x4"),
        Case("AMG levels, 3D Laplacian, 1 node", "hypre-27pt-8ranks-2x4"),
    ],
    "Gather-scatter, against gslib": [
        Case("spectral elements, 4 nodes", "gather-hex72-emulated4x4"),
        Case("spectral elements, 1 node", "gather-hex72-8ranks-2x4"),
    ],
    "Sparse exchange": [
        Case("all to all, 8 nodes", "exchange-dense1-emulated8x4"),
        Case("power grid, 4 nodes", "exchange-bcspwr10-pattern-emulated4x4"),
        Case("stiffness matrix, 1 node", "exchange-msc01050-8ranks-2x4"),
    ],
    "Distributed array": [
        Case("spanning forest, scale-free, 4 nodes", "array-boruvka-rmat-131072-emulated4x4"),
        Case("spanning forest, uniform, 4 nodes", "array-boruvka-gnm-32768-emulated4x4"),
    ],
}


@dataclasses.dataclass(frozen=True)
class Mark:
    """A kind of contender: its name in the legend, and how it is drawn around (0, 0)."""

    kind: str
    legend: str
    shape: str


MARKS = [
    Mark("other", "a published algorithm, or one-sided MPI", '<path class="other" d="M-4 -4h8v8h-8z"/>'),
    Mark("direct", "route direct", '<circle class="direct" r="5.5"/>'),
    Mark("three_step", "route three_step", '<path class="three_step" d="M0 -5l5 5l-5 5l-5 -5z"/>'),
    Mark("auto", "auto, the default", '<circle class="auto" r="8.5"/>'),
]

WIDTH, ROW = 700, 20
LEFT, RIGHT, TOP = 290, 680, 86  # of what the axis spans, and of the first row
LEGEND = {"auto": (12, 20), "direct": (12, 40), "three_step": (180, 20), "other": (180, 40)}
LOWEST, HIGHEST = 0.18, 2.5
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
    if name in MPI or contender.get("baseline"):
        return "mpi"
    if name in OTHERS:
        return "other"
    # The defaults: an item travels once for several ranks, ranks of a node share memory.
    if contender.get("dedup") is False or contender.get("executor") == "persistent":
        return None
    route = name.removeprefix("routed:").removesuffix("/auto")
    return route if route in [mark.kind for mark in MARKS] else None


def seconds_of(contender):
    for name in ("exchange_seconds", "combine_seconds", "seconds"):
        if name in contender:
            return contender[name]["median"]
    raise ValueError(f"{contender['name']} has no times")


def ratios(record):
    """The fastest time of each kind over the fastest of MPI's, of medians; of levels, one after the other, of their sums."""
    sums = {}
    for one in record.get("levels") or [record]:
        for at, contender in enumerate(one["contenders"]):
            sums[at] = (contender, sums[at][1] + seconds_of(contender) if at in sums else seconds_of(contender))
    fastest = {}
    for contender, seconds in sums.values():
        if kind := kind_of(contender):
            fastest[kind] = min(seconds, fastest.get(kind, math.inf))
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
    for mark in MARKS:
        x, y = LEGEND[mark.kind]
        yield placed(mark, x + 8, y)
        yield text(x + 22, y + 4.5, mark.legend)


def axis(bottom):
    yield text(across(1) - 12, TOP - 16, "\N{LEFTWARDS ARROW} faster with crossdock", "soft end")
    yield text(across(1) + 12, TOP - 16, "slower \N{RIGHTWARDS ARROW}", "soft")
    for ratio in TICKS:
        x = across(ratio)
        yield f'<path class="{"mpi" if ratio == 1 else "line"}" d="M{x:.1f} {TOP - 10}V{bottom}"/>'
        yield text(x, bottom + 17, f"{ratio:g}", "soft middle")
    yield text(
        (LEFT + RIGHT) / 2, bottom + 36, "time / time of MPI alone, or of gslib", "soft middle"
    )


def read(results, case):
    return records.read(results / f"{case.record}-openmpi.jsonl")


def row(case, record, y):
    yield text(24, y + 4.5, case.label)
    yield f'<path class="row" d="M{LEFT} {y}H{RIGHT}"/>'
    found = ratios(record)
    for mark in MARKS:
        if mark.kind in found:
            ratio = found[mark.kind]
            yield placed(mark, across(ratio), y, f"{case.record}: {mark.legend} {ratio:.2f}")


def table(results):
    yield "| | case | `auto` | `direct` | record |"
    yield "|---|---|---|---|---|"
    for heading, cases in CASES.items():
        for case in cases:
            found = ratios(read(results, case))
            auto, direct = (f"{found[kind]:.2f}" if kind in found else "" for kind in ("auto", "direct"))
            auto = f"**{auto}**" if found["auto"] > 1 else auto
            link = f"[`{case.record}`](../bench/results/{case.record}-openmpi.jsonl)"
            yield f"| {heading} | {case.label} | {auto} | {direct} | {link} |"


def picture(results):
    parts, y = [], TOP
    for heading, cases in CASES.items():
        parts.append(text(12, y + 4.5, heading, "heading"))
        for case in cases:
            y += ROW
            parts += row(case, read(results, case), y)
        y += ROW + 5
    bottom = y - ROW + 8
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 48}" role="img">',
        "<title>Time with crossdock relative to the time without, by case</title>",
        f"<style>{STYLE}</style>",
        '<rect class="paper" width="100%" height="100%" rx="6"/>',
    ]
    return "\n".join([*head, *legend(), *axis(bottom), *parts, "</svg>\n"])


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    sys.stdout.write("\n".join([*table(folder), ""]) if sys.argv[2:] == ["--table"] else picture(folder))
