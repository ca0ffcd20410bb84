"""Tests run on all ranks alike, or marked as one_rank on rank 0; the first failure of any of them ends all."""

import sys

import pytest
from mpi4py import MPI

import crossdock


@pytest.fixture
def world():
    with crossdock.Context(MPI.COMM_WORLD) as made:
        yield made


@pytest.fixture
def halo(world):
    """The exchange of `ring`."""
    with crossdock.NeighborExchange(world, ring(world)) as made:
        yield made


@pytest.fixture
def lazy_halo(world):
    """As `halo`, for items of any size."""
    with crossdock.NeighborExchange(world, ring(world), None) as made:
        yield made


def ring(world):
    """Every rank owns 3 values, and needs the one before its first and the one after its last."""
    first, length = 3 * world.rank, 3 * world.num_ranks
    return crossdock.Pattern.from_needed(world, range(first, first + 3), [(first - 1) % length, (first + 3) % length])


def pytest_configure(config):
    config.addinivalue_line("markers", "one_rank: needs no other ranks, and runs on rank 0 alone")


def pytest_collection_modifyitems(items):
    if MPI.COMM_WORLD.rank != 0:
        items[:] = [item for item in items if item.get_closest_marker("one_rank") is None]


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.failed:
        print(f"rank {MPI.COMM_WORLD.rank}: {report.nodeid}\n{report.longreprtext}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    # One rank's progress says it for all.
    if MPI.COMM_WORLD.rank != 0:
        session.config.pluginmanager.unregister(name="terminalreporter")
