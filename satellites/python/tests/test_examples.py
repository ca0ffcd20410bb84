"""The examples compare their results themselves."""

import runpy
from pathlib import Path

import pytest
from mpi4py import MPI

PROJECT = Path(__file__).parents[3]
EXAMPLES = PROJECT / "examples/python"
DATA = PROJECT / "data"
PROGRAMS = {"assembly.py": "assembled 3200 triangles", "breadth_first_search.py": "reached 1554 of 2048 vertices",
            "conjugate_gradients.py": "solved 1050 equations", "histogram.py": "counted 100000",
            "mesh.py": "smoothed 3000 vertices", "pagerank.py": "PageRank of 1024 vertices",
            "spmv.py": "multiplied 1050 x 1050, msc01050.mtx.gz"}


@pytest.fixture
def run(capsys, monkeypatch):
    """Runs a program and returns what it prints, which rank 0 alone does."""
    def run_program(program, *arguments):
        monkeypatch.setattr("sys.argv", [program, *map(str, arguments)])
        monkeypatch.syspath_prepend(EXAMPLES)
        runpy.run_path(str(EXAMPLES / program), run_name="__main__")
        printed = capsys.readouterr().out
        assert (printed == "") == (MPI.COMM_WORLD.rank != 0)
        return MPI.COMM_WORLD.bcast(printed)
    return run_program


def test_all_examples_are_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*PROGRAMS, "rmat.py"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_examples_find_what_one_process_finds(program, run):
    first = run(program).splitlines()[0]
    if program == "histogram.py":
        assert first == f"counted {100_000 * MPI.COMM_WORLD.size} keys on {MPI.COMM_WORLD.size} ranks"
    else:
        assert first.startswith(PROGRAMS[program])
        assert f"on {MPI.COMM_WORLD.size} ranks" in first


def test_pagerank_takes_a_file(run):
    assert run("pagerank.py", DATA / "bcspwr10.mtx.gz").startswith("PageRank of 5300 vertices")


def test_products_take_files(run):
    assert run("spmv.py", DATA / "bibd_49_3.mtx.gz", DATA / "bcspwr10.mtx.gz").splitlines() == [
        f"multiplied 1176 x 18424, bibd_49_3.mtx.gz, on {MPI.COMM_WORLD.size} ranks",
        f"multiplied 5300 x 5300, bcspwr10.mtx.gz, on {MPI.COMM_WORLD.size} ranks"]


@pytest.mark.one_rank
def test_graphs_are_the_same_in_any_parts(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import numpy as np
    import rmat

    whole = rmat.edges(9, 1000)
    assert np.array_equal(np.concatenate([rmat.edges(9, 1000, part, 7) for part in range(7)]), whole)
    assert 0 <= whole.min() and whole.max() < 512
    # Three quarters of the edges begin in the first half of the vertices, and so do those within it.
    assert np.mean(whole[:, 0] < 256) == pytest.approx(0.76, abs=0.04)
