from pathlib import Path

import numpy as np
import pytest
from conftest import ring
from mpi4py import MPI

import crossdock
from crossdock import Pattern


def lists(entries):
    """What a NeighborList says, by rank."""
    return {int(rank): entries.indices[entries.offsets[e]:entries.offsets[e + 1]].tolist()
            for e, rank in enumerate(entries.ranks)}


def test_needed_indices_make_a_pattern(world):
    pattern = ring(world)
    previous, following = (world.rank - 1) % world.num_ranks, (world.rank + 1) % world.num_ranks
    assert (pattern.num_items, pattern.num_slots) == (3, 2)
    assert (pattern.rank, pattern.num_ranks) == (world.rank, world.num_ranks)
    if world.num_ranks > 2:
        assert lists(pattern.sends) == {previous: [0], following: [2]}
        assert lists(pattern.receives) == {previous: [0], following: [1]}


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
def test_indices_may_have_any_integer_type(world, dtype):
    owned = np.arange(2 * world.rank, 2 * world.rank + 2, dtype=dtype)[::-1]
    needed = np.array([0, 0, 1], dtype=dtype)
    pattern = Pattern.from_needed(world, owned, needed)
    expected = Pattern.from_needed(world, [2 * world.rank + 1, 2 * world.rank], [0, 0, 1])
    assert pattern == expected
    assert pattern.num_slots == 3


def test_a_range_may_have_steps_and_be_empty(world):
    size = world.num_ranks
    dealt = Pattern.from_needed(world, range(world.rank, 4 * size, size), [])
    assert (dealt.num_items, dealt.num_slots) == (4, 0)
    nothing = Pattern.from_needed(world, range(5, 5), np.array([]))
    assert (nothing.num_items, nothing.num_slots) == (0, 0)


@pytest.mark.parametrize(("owned", "needed", "error", "text"), [
    (lambda rank: range(rank, rank + 1), [-1], crossdock.IndexOutOfRangeError, "-1"),
    (lambda rank: range(rank, rank + 1), [2**63], crossdock.CountOverflowError, "does not fit into int64"),
    (lambda rank: range(2**70, 2**70 + 1), [], crossdock.CountOverflowError, "owned.start"),
    (lambda rank: [7, 7], [], crossdock.InvalidArgumentError, "7"),
    (lambda rank: [0.5], [], crossdock.InvalidArgumentError, "owned must be integers, not float64"),
    (lambda rank: range(rank, rank + 1), [[0]], crossdock.InvalidArgumentError, "needed must have one dimension"),
])
def test_what_is_wrong_on_one_rank_is_an_error_on_all(world, owned, needed, error, text):
    mine = world.rank == world.num_ranks - 1
    with pytest.raises(error, match=text):
        Pattern.from_needed(world, owned(world.rank) if mine else range(100 + world.rank, 101 + world.rank),
                            needed if mine else [])


def test_the_first_argument_is_a_context():
    with pytest.raises(TypeError, match="world must be a Context, not Intracomm"):
        Pattern.from_needed(MPI.COMM_WORLD, range(1), [])
    with pytest.raises(TypeError, match="a Pattern is made by"):
        Pattern()


def alltoallv(**changes):
    arguments = {"destinations": [1], "send_counts": [2], "sources": [0], "receive_counts": [3]}
    return Pattern.from_neighbor_alltoallv(1, 2, **(arguments | changes))


def test_arguments_of_mpi_make_a_pattern():
    pattern = alltoallv(send_displacements=[4])
    assert (pattern.num_items, pattern.num_slots) == (6, 3)
    assert lists(pattern.sends) == {1: [4, 5]}
    assert lists(pattern.receives) == {0: [0, 1, 2]}


def test_positions_with_equal_ids_are_one_item():
    pattern = alltoallv(send_ids=[9, 9])
    assert lists(pattern.sends) == {1: [0, 0]}


@pytest.mark.parametrize(("changes", "error"), [
    ({"destinations": [2]}, crossdock.RankOutOfRangeError),
    ({"destinations": [2**40]}, crossdock.CountOverflowError),
    ({"send_counts": [-1]}, crossdock.InvalidArgumentError),
    ({"send_counts": [1.5]}, TypeError),
    ({"send_counts": 1}, crossdock.SizeMismatchError),
    ({"sources": [0, 0], "receive_counts": [1, 1], "receive_displacements": [0, 0]}, crossdock.InvalidArgumentError),
    ({"send_ids": [1]}, crossdock.SizeMismatchError),
])
def test_arguments_that_do_not_fit_are_refused(changes, error):
    with pytest.raises(error):
        alltoallv(**changes)


def test_a_distributed_graph_makes_a_pattern(world):
    following, previous = (world.rank + 1) % world.num_ranks, (world.rank - 1) % world.num_ranks
    graph = MPI.COMM_WORLD.Create_dist_graph_adjacent([previous], [following])
    pattern = Pattern.from_dist_graph(graph, [2], [2])
    assert (lists(pattern.sends), lists(pattern.receives)) == ({following: [0, 1]}, {previous: [0, 1]})
    with pytest.raises(crossdock.SizeMismatchError):
        Pattern.from_dist_graph(graph, [2, 2], [2])
    graph.Free()
    with pytest.raises(crossdock.InvalidArgumentError, match="comm must be an mpi4py.MPI.Distgraphcomm"):
        Pattern.from_dist_graph(MPI.COMM_WORLD, [], [])


@pytest.fixture
def folder(tmp_path):
    """Rank 0's."""
    return MPI.COMM_WORLD.bcast(tmp_path)


def one_of_the_next(world):
    return Pattern.from_needed(world, [world.rank], [(world.rank + 1) % world.num_ranks])


@pytest.mark.parametrize(("of_path", "dtype", "item_bytes"), [
    (str, float, 8),
    (Path, (np.int32, 6), 24),
    (Path, "u1", 1),
])
def test_a_pattern_is_written(world, folder, of_path, dtype, item_bytes):
    assert one_of_the_next(world).write(world, of_path(folder / "own.mtx"), dtype) is None
    size = world.num_ranks
    if world.rank == 0:
        edges = [f"{(rank - 1) % size + 1} {rank + 1}" for rank in range(size)] if size > 1 else []
        assert (folder / "own.mtx").read_text().splitlines() == [
            "%%MatrixMarket matrix coordinate pattern general", f"% items of {item_bytes} bytes",
            f"{size} {size} {len(edges)}", *edges]
        assert (folder / "own.owners").read_text().split() == [str(rank) for rank in range(size)]
        assert sorted(file.name for file in folder.iterdir()) == ["own.mtx", "own.owners"]


def test_what_rank_0_says_counts(world, folder):
    mine = world.rank == 0
    one_of_the_next(world).write(world, folder / "own.mtx" if mine else "own", float if mine else "i2")
    assert world.rank != 0 or "% items of 8 bytes" in (folder / "own.mtx").read_text()


def test_a_written_pattern_is_read(world, folder):
    one_of_the_next(world).write(world, folder / "own.mtx")
    matrix = crossdock.DistributedMatrix.from_file(world, folder / "own.mtx")
    assert matrix.shape == (world.num_ranks, world.num_ranks)
    sent = np.ones(1) * world.rank
    assert world.num_ranks == 1 or (matrix @ sent).tolist() == [(world.rank + 1) % world.num_ranks]
    matrix.close()


@pytest.mark.parametrize(("path", "dtype", "error", "text"), [
    ("own.txt", float, crossdock.InvalidArgumentError, 'a pattern is written to a file .mtx, not to "own.txt"'),
    ("/missing/own.mtx", float, crossdock.FileError, "cannot write /missing/own.mtx"),
    (None, float, crossdock.InvalidArgumentError, "path must be a str or an os.PathLike, not NoneType"),
    ("own\0.mtx", float, crossdock.InvalidArgumentError, "embedded null byte"),
    ("own.mtx", object, crossdock.InvalidArgumentError, "Python objects"),
])
def test_rank_0_fails_to_write_on_all(world, folder, monkeypatch, path, dtype, error, text):
    monkeypatch.chdir(folder)
    mine = world.rank == 0
    with pytest.raises(error, match=text):
        one_of_the_next(world).write(world, path if mine else "own.mtx", dtype if mine else float)
    MPI.COMM_WORLD.Barrier()
    assert list(folder.iterdir()) == []


def test_what_is_wrong_on_the_last_rank_writes_nothing(world, folder):
    pattern, last = one_of_the_next(world), world.num_ranks - 1
    with pytest.raises(crossdock.InvalidArgumentError, match="path must be a str"):
        pattern.write(world, [] if world.rank == last else folder / "own.mtx")
    other = Pattern.from_neighbor_alltoallv(0, last + 2, destinations=[], send_counts=[], sources=[], receive_counts=[])
    text = f"the pattern of rank 0 of {last + 2} is given on rank {last}"
    with pytest.raises(crossdock.SizeMismatchError, match=text):
        (other if world.rank == last else pattern).write(world, folder / "own.mtx")
    MPI.COMM_WORLD.Barrier()
    assert list(folder.iterdir()) == []
    with pytest.raises(TypeError, match="world must be a Context, not Intracomm"):
        pattern.write(MPI.COMM_WORLD, folder / "own.mtx")
