import json
from dataclasses import replace
from pathlib import Path

import pytest
import scipy.sparse
from mpi4py import MPI

import crossdock
from crossdock import Context, planning
from crossdock.planning import Machine

FILE = Path(__file__).parents[3] / "machines/quartz.json"
SECONDS = 0.01


def test_calibrating_gives_all_ranks_one_machine(world):
    machine = planning.calibrate(world, SECONDS, name="tiny")
    assert len(set(MPI.COMM_WORLD.allgather(machine.to_json()))) == 1
    assert machine.name == "tiny"
    assert f", regions {world.topology}, nodes " in machine.description
    assert list(machine.levels) == ["self", "region", "node", "network"]
    assert machine.sources["levels.region"].startswith("measured" if world.num_ranks > 1 else "assumed")
    assert {"copies of one run", "gathers of 8 bytes"} <= set(machine.fit_errors)
    assert all(share >= 0 for share in machine.fit_errors.values())


def test_calibrating_is_for_the_regions_of_the_context():
    size = MPI.COMM_WORLD.size
    with Context(MPI.COMM_WORLD, f"{size}x1", nodes=f"{size}x1") as world:
        machine = planning.calibrate(world, SECONDS)
    assert machine.sources["levels.network"].startswith("measured" if size > 1 else "assumed")
    assert machine.sources["levels.region"].startswith("assumed")
    missing = "" if size > 1 else "; messages not measured"
    assert machine.description.endswith(f"regions {world.topology}, nodes {world.topology}{missing}")


def test_a_calibrated_machine_is_a_contexts_and_a_simulations(world):
    machine = planning.calibrate(world, SECONDS)
    with Context(MPI.COMM_WORLD, machine=machine) as other:
        assert other.machine == machine
    patterns = planning.patterns_of_matrix(scipy.sparse.csr_array([[1, 1], [1, 1]]), 2)
    simulated = planning.compile_all("1x2", patterns, "direct").simulate(machine)
    assert simulated.machine == "calibrated"
    assert simulated.slowest_seconds > 0
    assert planning.explain("1x2", patterns, machine)[0].seconds > 0


def test_a_machine_may_be_changed():
    lassen = Machine.load("lassen")
    slow = replace(lassen, name="slow", copy_seconds_per_item=1e-3)
    patterns = planning.patterns_of_matrix(scipy.sparse.csr_array([[1, 1], [1, 1]]), 2)
    plans = planning.compile_all("2x1", patterns, "direct")
    assert plans.simulate(lassen).slowest_seconds == plans.simulate("lassen").slowest_seconds < 1e-3
    assert plans.simulate(slow).slowest_seconds > 1e-3
    assert plans.simulate(slow).machine == "slow"


def test_machines_are_those_of_the_files():
    quartz = Machine.load("quartz")
    assert quartz == Machine.load(str(FILE)) == Machine.load(quartz.to_json())
    assert json.loads(quartz.to_json()) == json.loads(FILE.read_text(encoding="utf-8"))
    assert quartz.fit_errors == {}
    assert [record["level"] for record in quartz.records()] == ["self", "region", "node", "network"]
    with Context(MPI.COMM_WORLD, machine="quartz") as world:
        assert world.machine == quartz
    with pytest.raises(crossdock.InvalidStateError):
        world.machine  # noqa: B018


@pytest.mark.parametrize("seconds", [0, -1.0, 3601, float("nan"), float("inf"), "1", None])
def test_times_that_are_none_are_an_error_on_all_ranks(world, seconds):
    mine = seconds if world.rank == world.num_ranks - 1 else SECONDS
    with pytest.raises(crossdock.InvalidArgumentError):
        planning.calibrate(world, mine)


def test_names_that_differ_are_an_error_on_all_ranks(world):
    with pytest.raises(crossdock.InvalidArgumentError, match="name must be a str, not int"):
        planning.calibrate(world, SECONDS, name=3 if world.rank == 0 else "mine")
    if world.num_ranks > 1:
        with pytest.raises(crossdock.InvalidArgumentError):
            planning.calibrate(world, SECONDS, name=f"of rank {world.rank}")


def test_machines_that_are_none_are_refused_on_all_ranks():
    lassen = Machine.load("lassen")
    with pytest.raises(crossdock.FileError):
        Machine.load("nowhere")
    with pytest.raises(crossdock.InvalidArgumentError, match="matching_seconds is -1"):
        Context(MPI.COMM_WORLD, machine=replace(lassen, matching_seconds=-1.0))
    with pytest.raises(crossdock.ParseError):
        Context(MPI.COMM_WORLD, machine=replace(lassen, levels={}))
    if MPI.COMM_WORLD.size > 1:
        mine = lassen if MPI.COMM_WORLD.rank == 0 else "lassen"
        with pytest.raises(crossdock.InvalidArgumentError):
            Context(MPI.COMM_WORLD, machine=mine)
