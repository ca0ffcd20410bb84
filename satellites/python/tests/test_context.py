import gc

import numpy as np
import pytest
from mpi4py import MPI

import crossdock
from crossdock import Context, Topology


def test_a_context_knows_its_ranks(world):
    assert (world.rank, world.num_ranks) == (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
    assert world.topology.num_ranks == world.num_ranks


def test_a_topology_may_be_given_as_text_or_object():
    size = MPI.COMM_WORLD.size
    for topology in (f"{size}x1", Topology(f"{size}x1"), Topology.from_regions(np.arange(size))):
        with Context(MPI.COMM_WORLD, topology) as world:
            assert world.topology == Topology(f"{size}x1")
            assert world.topology.num_regions == size


def test_contexts_with_other_regions_or_nodes_share_the_communicator(world):
    size = world.num_ranks
    together = world.with_topology(f"1x{size}")
    apart = world.with_nodes(Topology(f"{size}x1"))
    assert (together.topology, apart.topology) == (Topology(f"1x{size}"), world.topology)
    for one in (together, apart):
        with crossdock.NeighborExchange(one, crossdock.Pattern.from_needed(one, [one.rank], [0])) as halo:
            assert halo.forward(np.array([one.rank + 7])).tolist() == [7]
            if one is together:
                assert halo.statistics().inter_region_messages == 0
    with pytest.raises(crossdock.InvalidTopologyError):
        world.with_topology("2 times 4")
    with pytest.raises(TypeError):
        world.with_nodes(4)
    wrong = world.with_topology(f"1x{size + 1}")
    with pytest.raises(crossdock.Error):
        crossdock.NeighborExchange(wrong, crossdock.Pattern.from_needed(world, [world.rank], [0]))
    apart.close()
    assert not world.is_open and not together.is_open


def test_objects_of_a_name_are_reported(world):
    with Context(MPI.COMM_WORLD, report="objects") as measured:
        own = crossdock.Pattern.from_needed(measured, [measured.rank], [0])
        with crossdock.NeighborExchange(measured, own, name="halo of p", route="direct") as halo:
            for _ in range(3):
                halo.forward(np.zeros(1))
        with crossdock.NeighborExchange(measured, own) as unnamed, crossdock.GatherScatter(measured, [1]) as shared:
            assert not unnamed.is_active and not shared.is_active
        crossdock.sparse_exchange(measured, {measured.rank: np.zeros(2)}, name="asked")
        told = measured.reports()
        assert [(one["kind"], one["starts"]) for one in told] == [
            ("neighbor exchange", 3), ("neighbor exchange", 0), ("gather-scatter", 0), ("sparse exchange", 1)]
        assert (told[0]["name"], told[0]["route"], told[0]["why"]) == ("halo of p", "direct", "given")
        assert told[1]["name"] == told[2]["name"]
        assert told[1]["name"].startswith("test_context.py:")
        assert told[3]["name"] == "asked"
    assert world.reports() == []


def test_topologies_answer():
    regions = Topology("cyclic:2x3")
    assert [regions.region_of(rank) for rank in range(6)] == [0, 1, 0, 1, 0, 1]
    assert regions.local_rank(5) == 2
    assert regions.region_size(1) == 3
    assert regions.rank_at(1, 2) == 5
    assert (str(regions), repr(regions)) == ("cyclic:2x3", "Topology('cyclic:2x3')")
    assert len({regions, Topology("list:0,1,0,1,0,1")}) == 1
    assert regions != "cyclic:2x3"


def test_discovering_needs_a_level_that_exists(world):
    assert Topology.discover(world).num_ranks == world.num_ranks
    with pytest.raises(crossdock.InvalidTopologyError):
        Topology.discover(world, "rack")


@pytest.mark.parametrize(("make", "error", "text"), [
    (lambda: Topology("4x"), crossdock.InvalidTopologyError, "4x"),
    (lambda: Topology("99999999999x1"), crossdock.InvalidTopologyError, "99999999999"),
    (lambda: Topology.from_regions(np.array([], int)), crossdock.InvalidTopologyError, "no ranks"),
    (lambda: Topology.from_regions([-1, 0]), crossdock.InvalidTopologyError, "-1"),
    (lambda: Topology.from_regions([0.5]), TypeError, "regions must be integers, not float64"),
    (lambda: Topology.from_regions([[0, 1]]), ValueError, "regions must have one dimension, not 2"),
    (lambda: Topology.from_regions([2**32]), crossdock.CountOverflowError,
     "regions has 4294967296, which does not fit into int32"),
    (lambda: Topology("2x2").region_of(4), crossdock.RankOutOfRangeError, "4"),
    (lambda: Topology("2x2").region_of("0"), TypeError, "incompatible"),
])
def test_topologies_that_are_none_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_what_is_no_communicator_is_refused():
    for comm in (None, 3, MPI.COMM_WORLD.Get_group()):
        with pytest.raises(TypeError, match="comm must be a communicator of mpi4py, not"):
            Context(comm)
    with pytest.raises(crossdock.InvalidArgumentError, match="MPI_COMM_NULL"):
        Context(MPI.COMM_NULL)


def test_options_of_another_type_are_an_error_on_all_ranks():
    mine = 5 if MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1 else "node"
    with pytest.raises(crossdock.InvalidArgumentError, match="topology must be a Topology or a str, not int") as raised:
        Context(MPI.COMM_WORLD, mine)
    assert raised.value.rank == MPI.COMM_WORLD.size - 1


def test_a_closed_context_refuses_all_but_closing(world):
    other = Context(MPI.COMM_WORLD)
    other.close()
    other.close()
    assert not other.is_open
    with pytest.raises(crossdock.InvalidStateError, match="the context is closed"):
        crossdock.Pattern.from_needed(other, range(0), [])


def test_contexts_of_parts_are_independent(world):
    comm = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2)
    with Context(comm) as part:
        assert part.num_ranks == (world.num_ranks + 1 - world.rank % 2) // 2
    comm.Free()


def test_closing_names_what_was_destroyed_before_it_was_complete():
    world = Context(MPI.COMM_WORLD)
    rank, size = world.rank, world.num_ranks
    ring = crossdock.Pattern.from_needed(world, [rank], [(rank + 1) % size, (rank - 1) % size])
    halo = crossdock.NeighborExchange(world, ring, name="halo")
    halo.start(np.ones(1), np.zeros(2))
    stream = crossdock.Stream(world, np.int64, lambda items: None, name="numbers")
    stream.push(np.full(3, rank), np.ones(3, np.int64))
    del stream, halo
    gc.collect()
    with pytest.raises(crossdock.InvalidStateError, match="rank 0 destroyed a stream, numbers, before its drain.* in "
                       f"all, {5 * size} items are lost"):
        world.close()
    assert world.is_open
    world.close()
    assert not world.is_open


def test_a_dropped_context_communicates_nothing():
    Context(MPI.COMM_WORLD)
    gc.collect()


def test_errors_have_a_class_for_each_status():
    classes = [crossdock.errors.from_code(code, "text", 3) for code in range(1, 18)]
    assert len({type(one) for one in classes}) == 17
    assert all(isinstance(one, crossdock.Error) and one.rank == 3 and str(one) == "text" for one in classes)
