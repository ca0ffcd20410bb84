import json
import runpy
from pathlib import Path

PROJECT = Path(__file__).parents[3]


def test_the_benchmark_records_all_contenders(world, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["neighbor.py", str(PROJECT / "data/bcspwr10.mtx.gz"), "--iterations", "3",
                                     "--warm-ups", "1"])
    runpy.run_path(str(PROJECT / "satellites/python/bench/neighbor.py"), run_name="__main__")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    if world.rank != 0:
        assert lines == []
        return
    assert lines[0]["schema"] == "crossdock.bench.python.neighbor/1"
    assert (lines[0]["ranks"], lines[0]["iterations"]) == (world.num_ranks, 3)
    assert [one["name"] for _, one in lines[1:]] == ["direct", "auto", "mpi4py_neighbor_alltoallv",
                                                     "mpi4py_neighbor_objects"]
    assert all(one["exchange_seconds"]["min"] > 0 for _, one in lines[1:])
