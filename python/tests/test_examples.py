"""The examples compare their results themselves."""

import runpy
from pathlib import Path

import pytest
from mpi4py import MPI

PROJECT = Path(__file__).parents[2]
PROGRAMS = {"assembly.py": "assembled 3200 triangles", "conjugate_gradients.py": "solved 900 equations",
            "histogram.py": "counted", "pagerank.py": "PageRank of 500 vertices"}


def test_all_examples_are_run():
    assert {path.name for path in (PROJECT / "examples/python").glob("*.py")} == set(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_examples_find_what_one_process_finds(program, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", [program])
    runpy.run_path(str(PROJECT / "examples/python" / program), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith(PROGRAMS[program] if MPI.COMM_WORLD.rank == 0 else "")
    assert (printed == "") == (MPI.COMM_WORLD.rank != 0)


def test_pagerank_takes_a_file(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["pagerank.py", str(PROJECT / "data/bcspwr10.mtx.gz")])
    runpy.run_path(str(PROJECT / "examples/python/pagerank.py"), run_name="__main__")
    assert capsys.readouterr().out.startswith("PageRank of 5300 vertices" if MPI.COMM_WORLD.rank == 0 else "")
