import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import crossdock
from crossdock import planning

pytestmark = pytest.mark.one_rank
MATRIX = Path(__file__).parents[3] / "data/msc01050.mtx.gz"


@pytest.fixture(scope="module")
def matrix():
    return scipy.sparse.csr_array(scipy.io.mmread(MATRIX))


@pytest.fixture(scope="module")
def patterns(matrix):
    return planning.patterns_of_matrix(matrix, 8)


# As the demo of the command line counts them.
COUNTS = {"direct": (50, 28, 3821, 2120), "three_step": (31, 2, 4773, 994)}


@pytest.mark.parametrize("route", COUNTS)
def test_plans_are_proved_and_counted(patterns, route):
    plans = planning.compile_all("2x4", patterns, route)
    plans.verify()
    total = plans.analyze().total
    assert (total.messages.total, total.inter_region_messages.total, total.items.total,
            total.inter_region_items.total) == COUNTS[route]
    assert sum(stage.messages.total for stage in plans.analyze().stages) == total.messages.total


def test_statistics_are_records_and_tables(patterns):
    counted = planning.compile_all("2x4", patterns, "three_step").analyze()
    records = counted.records()
    assert [record["stage"] for record in records] == [0, 1, 2, "total"]
    assert records[-1]["messages_total"] == 31
    assert set(records[0]) == set(records[-1])
    assert counted._repr_html_().count("<tr>") == 5


def test_simulations_are_the_same_again(patterns):
    plans = planning.compile_all("2x4", patterns, "direct")
    first, again = plans.simulate(), plans.simulate()
    assert np.array_equal(first.finish_seconds, again.finish_seconds)
    assert first.finish_seconds.shape == (8,)
    assert first.slowest_seconds == first.finish_seconds.max() >= first.mean_seconds > 0
    spent = first.copying_seconds + first.messages_seconds + first.idle_seconds
    assert spent == pytest.approx(8 * first.slowest_seconds)
    noisy = plans.simulate(mean_noise_seconds=1e-5, seed=1)
    assert noisy.slowest_seconds > first.slowest_seconds
    assert planning.compile_all("2x4", patterns, "two_step").simulate("lassen", shares_memory=True).slowest_seconds > 0


def test_routes_are_estimated(patterns):
    estimates = planning.explain("2x4", patterns, "lassen")
    assert [one.seconds for one in estimates] == sorted(one.seconds for one in estimates)
    assert {"direct", "three_step"} <= {one.route for one in estimates}


@pytest.mark.skipif("CROSSDOCK_TOOL" not in os.environ, reason="the command line was not built")
@pytest.mark.parametrize("file", ["bcspwr10.mtx.gz", "msc01050.mtx.gz"])
def test_routes_are_estimated_as_by_the_command_line(file):
    path = MATRIX.parent / file
    ranks = planning.patterns_of_matrix(scipy.sparse.csr_array(scipy.io.mmread(path)), 64)
    printed = subprocess.run([os.environ["CROSSDOCK_TOOL"], "explain", path, "--ranks", "64", "--topology", "4x16",
                              "--json"], check=True, capture_output=True, text=True).stdout
    found = [(one["route"], one["seconds"]) for one in json.loads(printed)["candidates"]]
    assert [(one.route, one.seconds) for one in planning.explain("4x16", ranks)] == found


def test_estimates_name_what_they_assume(patterns):
    estimates = planning.explain("2x4", patterns, "lassen", item_bytes=16)
    assumptions = "lassen, topology 2x4, items of 16 bytes, ranks of a node share memory"
    assert estimates.assumptions == assumptions
    assert str(estimates).splitlines()[0] == f"estimated for {assumptions}"
    assert len(str(estimates).splitlines()) == 1 + len(estimates)
    assert f"<p>Estimated for {assumptions}.</p>" in estimates._repr_html_()
    apart = planning.explain("2x4", patterns, shares_memory=False)
    assert apart.assumptions == "generic_100g, topology 2x4, items of 8 bytes, messages inside nodes, too"


def test_many_ranks_are_planned_in_one_process():
    length = 4096
    ring = scipy.sparse.coo_array((np.ones(length), (np.arange(length), (np.arange(length) + 1) % length)),
                                  shape=(length, length))
    plans = planning.compile_all("64x64", planning.patterns_of_matrix(ring, length), "three_step")
    plans.verify()
    assert len(plans) == length
    assert plans.analyze().total.inter_region_messages.total == 64
    assert repr(plans) == "<Plans of 4096 ranks on 64x64 by three_step>"


def test_routes_and_machines_have_names():
    assert {"direct", "grid:2", "three_step"} <= set(planning.routes())
    assert "generic_100g" in planning.machines()


def test_plans_are_texts(patterns):
    plans = planning.compile_all("2x4", patterns, "direct")
    assert plans.to_string(3).startswith("rank 3 of 8: direct")
    assert '"crossdock.plan/1"' in plans.to_json(0)
    with pytest.raises(crossdock.RankOutOfRangeError, match=r"rank 8 is outside \[0, 8\)"):
        plans.to_string(8)


@pytest.mark.parametrize(("call", "error"), [
    (lambda patterns: planning.compile_all("2x4", patterns, "auto"), crossdock.UnknownRouteError),
    (lambda patterns: planning.compile_all("2x3", patterns, "direct"), crossdock.SizeMismatchError),
    (lambda patterns: planning.compile_all("2x4", [*patterns[:7], 3], "direct"), TypeError),
    (lambda patterns: planning.compile_all("rack", patterns, "direct"), crossdock.InvalidTopologyError),
    (lambda patterns: planning.compile_all("2x4", patterns, "direct").simulate("nowhere"), crossdock.FileError),
    (lambda patterns: planning.compile_all("2x4", patterns, "direct").simulate(item_bytes=0), ValueError),
    (lambda patterns: planning.explain("2x4", patterns, item_bytes=-8), crossdock.InvalidArgumentError),
    (lambda patterns: planning.patterns_of_matrix(scipy.sparse.eye_array(3), 0), crossdock.InvalidArgumentError),
])
def test_arguments_that_do_not_fit_are_refused(patterns, call, error):
    with pytest.raises(error):
        call(patterns)
