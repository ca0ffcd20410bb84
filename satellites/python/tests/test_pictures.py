import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse

import crossdock
from crossdock import Topology, planning

pytestmark = pytest.mark.one_rank
SVG = "{http://www.w3.org/2000/svg}"


class Reader(HTMLParser):
    """The cells of tables, row after row."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.text = [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.text = ""

    def handle_data(self, data):
        if self.text is not None:
            self.text += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1].append(self.text)
            self.text = None


def names(thing):
    """What the parts of a picture are called."""
    return [part.get("id") for part in ElementTree.fromstring(thing._repr_svg_()).iter() if part.get("id")]


def texts(thing):
    return ["".join(part.itertext()) for part in ElementTree.fromstring(thing._repr_svg_()).iter(f"{SVG}text")]


def parts(thing, start):
    return [name.removeprefix(start) for name in names(thing) if name.startswith(start)]


def places(thing, name):
    """How far right the points of a part's first path are, from the leftmost one."""
    (part,) = (part for part in ElementTree.fromstring(thing._repr_svg_()).iter() if part.get("id") == name)
    numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", part.find(f".//{SVG}path").get("d"))]
    return np.unique(numbers[::2]) - min(numbers[::2])


def ring_patterns(num_ranks):
    """Every rank needs the one value of the next one."""
    rows = np.arange(num_ranks)
    return planning.patterns_of_matrix(
        scipy.sparse.coo_array((np.ones(num_ranks), (rows, (rows + 1) % num_ranks)), shape=(num_ranks,) * 2), num_ranks)


def every_pair(num_ranks):
    return planning.patterns_of_matrix(scipy.sparse.csr_array(np.ones((num_ranks, num_ranks))), num_ranks)


@pytest.fixture
def plans():
    return planning.compile_all("2x2", ring_patterns(4), "direct")


def test_plans_show_an_arrow_for_each_message(plans):
    assert sorted(parts(plans, "message-")) == ["between-stage0-0-3", "between-stage0-2-1", "inside-stage0-1-0",
                                                "inside-stage0-3-2"]
    shown = texts(plans)
    assert {"direct, deduplicated", "4 ranks in 2 regions (2x2)", "2 messages between regions",
            "4 messages, 4 items"} <= set(shown)
    assert Counter(names(plans)).most_common(1)[0][1] == 1


def test_plans_show_their_counts_in_a_table(plans):
    page = plans._repr_html_()
    assert Reader(page).rows == [
        ["route", "stage", "messages total", "messages max", "items total", "items max", "inter-region messages total",
         "inter-region messages max", "inter-region items total", "inter-region items max"],
        ["direct", "0", "4", "1", "4", "1", "2", "1", "2", "1"],
        ["direct", "total", "4", "1", "4", "1", "2", "1", "2", "1"]]
    assert plans.analyze()._repr_html_().endswith(page[page.index("<table"):])


def test_pictures_of_a_page_have_names_of_their_own(plans):
    page = plans._repr_html_() + plans.analyze()._repr_html_() + plans.simulate()._repr_html_()
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids)) > 0
    assert set(re.findall(r"url\(#([^)]*)\)", page)) | set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)
    assert page.count("<svg role=\"img\" aria-label=") == 3
    assert 'aria-label="&lt;Plans of 4 ranks on 2x2 by direct&gt;"' in page
    assert plans._repr_html_() == plans._repr_html_()


def test_statistics_have_a_bar_for_each_stage():
    counted = planning.compile_all("2x2", every_pair(4), "three_step").analyze()
    shown = texts(counted)
    assert [text for text in shown if text in ("stage 0", "stage 1", "stage 2", "all stages")] == [
        "stage 0", "stage 1", "stage 2", "all stages"]
    assert {"inter-region", "the rank that sends most", "mean over the ranks"} <= set(shown)


def test_simulations_show_when_ranks_are_done(plans):
    simulated = plans.simulate("lassen")
    assert parts(simulated, "finish") == [""]
    assert {"waiting", "copying", "region", "node", "network", "direct"} <= set(texts(simulated))
    head, row = Reader(simulated._repr_html_()).rows
    shown = dict(zip(head, row))
    assert (shown["route"], shown["machine"], shown["ranks"]) == ("direct", "lassen", "4")
    assert shown["slowest seconds"] == f"{simulated.slowest_seconds:.4g}"
    (record,) = simulated.records()
    shares = [share for name, share in record.items() if name.endswith("_share")]
    assert len(shares) == 5
    assert sum(shares) == pytest.approx(1)
    steps = places(simulated, "finish")
    assert steps / steps[-1] == pytest.approx(
        np.unique([0, *simulated.finish_seconds]) / simulated.slowest_seconds, abs=1e-4)
    assert record["network_share"] == pytest.approx(simulated.network_seconds / (4 * simulated.slowest_seconds))


def test_simulations_have_a_bar_or_a_line_for_each_route():
    def simulations(num_ranks):
        patterns = every_pair(num_ranks)
        return [planning.compile_all(f"{num_ranks // 2}x2", patterns, route, deduplicate=route == "direct").simulate()
                for route in ("direct", "two_step")]

    bars, lines = planning.Simulations(simulations(4)), planning.Simulations([*simulations(4), *simulations(8)])
    assert parts(bars, "bar-") == parts(lines, "line-") == ["direct", "two_step, not deduplicated"]
    assert [text for text in texts(lines) if text in ("4", "8")] == ["4", "8"]
    assert [(record["route"], record["ranks"], record["deduplicate"]) for record in lines.records()] == [
        ("direct", 4, True), ("two_step", 4, False), ("direct", 8, True), ("two_step", 8, False)]
    assert [row[:4] for row in Reader(bars._repr_html_()).rows] == [
        ["route", "machine", "deduplicate", "ranks"], ["direct", "generic_100g", "True", "4"],
        ["two_step", "generic_100g", "False", "4"]]
    assert planning.Simulations()._repr_html_().endswith("<tbody></tbody></table>")


def test_estimates_have_a_bar_for_each_route():
    estimates = planning.explain("2x2", every_pair(4), "lassen")
    assert parts(estimates, "bar-") == [one.route for one in estimates]
    widths = [places(estimates, f"bar-{one.route}")[-1] for one in estimates]
    assert widths == pytest.approx([one.seconds / estimates[-1].seconds * widths[-1] for one in estimates], rel=1e-4)
    assert Reader(estimates._repr_html_()).rows == [
        ["route", "seconds", "most of it"],
        *([one.route, f"{one.seconds:.4g}", one.dominating_term] for one in estimates)]
    assert estimates.records()[0] == {"route": estimates[0].route, "seconds": estimates[0].seconds,
                                      "dominating_term": estimates[0].dominating_term}
    assert "<tbody></tbody></table>" in planning.RouteEstimates()._repr_html_()


def test_topologies_show_the_ranks_of_each_region():
    regions = Topology("cyclic:2x3")
    assert parts(regions, "rank-") == ["0-region-0", "2-region-0", "4-region-0", "1-region-1", "3-region-1",
                                       "5-region-1"]
    assert parts(regions, "region-") == ["0", "1"]
    assert texts(regions)[-1] == "cyclic:2x3: 6 ranks in 2 regions"
    assert Reader(regions._repr_html_()).rows == [["region", "ranks", "which"], ["0", "3", "0, 2, 4"],
                                                  ["1", "3", "1, 3, 5"]]
    assert Reader(Topology("4,1")._repr_html_()).rows[1:] == [["0", "4", "0-3"], ["1", "1", "4"]]


def test_topologies_of_many_ranks_show_sizes():
    regions = Topology.from_regions(np.arange(1025) // 4)
    assert (parts(regions, "sizes"), parts(regions, "rank-")) == ([""], [])
    assert "1,025 ranks in 257 regions" in texts(regions)[-1]
    assert Reader(regions._repr_html_()).rows == [["regions", "ranks of each"], ["1", "1"], ["256", "4"]]


def test_a_plan_of_many_neighbors_is_a_matrix():
    text = planning.compile_all("20x2", every_pair(40), "direct").to_json(3)
    plan = crossdock.Plan(Topology("20x2"), text, "")
    assert parts(plan, "matrix-") == ["stage0"]
    assert "78 messages, 78 items" in texts(plan)


def test_figures_are_matplotlibs(plans, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    size = pyplot.rcParams["font.size"]
    figure = plans.plot()
    figure.savefig(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    assert plans.plot()._repr_svg_() == plans._repr_svg_()
    assert pyplot.get_fignums() == []
    assert pyplot.rcParams["font.size"] == size


def test_without_matplotlib_there_are_tables(plans, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("crossdock._pictures")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for thing in (plans, plans.analyze(), plans.simulate(), Topology("2x2")):
        assert thing._repr_svg_() is None
        assert thing._repr_html_().startswith("<table>")
        with pytest.raises(ImportError, match="^pictures need matplotlib, as pip install matplotlib installs it$"):
            thing.plot()


def test_a_machine_is_a_table_of_levels():
    machine = planning.Machine.load("lassen")
    rows = Reader(machine._repr_html_()).rows
    assert [row[:2] for row in rows] == [["machine", "level"], *(["lassen", level] for level in machine.levels)]
    assert rows[-1][rows[0].index("eager_latency_seconds")] == f"{machine.levels['network'].eager.latency_seconds:.4g}"
