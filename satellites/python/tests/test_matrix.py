from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
import scipy.sparse.linalg
from test_neighbor import expect_peers_to_learn

import crossdock
from crossdock import DistributedMatrix, NeighborExchange, Pattern, planning

DATA = Path(__file__).parents[3] / "data"
FILES = ["bcspwr10.mtx.gz", "lp_woodw.mtx.gz", "msc01050.mtx.gz"]


def whole(file):
    return scipy.sparse.csr_array(scipy.io.mmread(DATA / file))


def integers(length, columns=()):
    return np.random.default_rng(3).integers(-4, 5, size=(length, *columns)).astype(float)


def pattern_of(matrix):
    """The matrix with small integers, of which sums are exact."""
    small = matrix.copy()
    small.data = np.arange(small.nnz) % 7 - 3.0
    return small


@pytest.fixture(params=FILES)
def file(request):
    return request.param


@pytest.mark.parametrize("columns", [(), (1,), (5,)], ids=str)
def test_products_are_those_of_scipy(world, file, columns):
    full = pattern_of(whole(file))
    with DistributedMatrix.from_file(world, DATA / file) as blocks:
        rows, own = blocks.rows, blocks.columns
    mine = full[rows.start:rows.stop]
    with DistributedMatrix.from_scipy(world, mine, num_local_columns=len(own)) as matrix:
        assert matrix.shape == full.shape
        assert (matrix.rows, matrix.columns) == (rows, own)
        x, y = integers(full.shape[1], columns), integers(full.shape[0], columns)
        assert np.array_equal(matrix @ x[own.start:own.stop], (full @ x)[rows.start:rows.stop])
        assert np.array_equal(matrix.T @ y[rows.start:rows.stop], (full.T @ y)[own.start:own.stop])
        assert matrix.T.shape == full.T.shape
        assert matrix.T.T is matrix


def test_a_file_is_read_as_scipy_does(world, file):
    full = whole(file)
    with DistributedMatrix.from_file(world, DATA / file) as matrix:
        x = integers(full.shape[1])
        here = matrix @ x[matrix.columns.start:matrix.columns.stop]
        assert np.allclose(here, (full @ x)[matrix.rows.start:matrix.rows.stop], rtol=1e-12, atol=1e-9)
        needed = np.unique(full[matrix.rows.start:matrix.rows.stop].indices)
        assert np.array_equal(matrix.ghost_columns, needed[~np.isin(needed, matrix.columns)])


@pytest.mark.parametrize("dtype", ["f4", "i8", "c16"])
def test_dtypes_are_those_of_scipy(world, dtype):
    full = pattern_of(whole("bcspwr10.mtx.gz"))
    rows = crossdock._matrix._blocks(full.shape[0], world.num_ranks)[world.rank:world.rank + 2]
    with DistributedMatrix.from_scipy(world, full[rows[0]:rows[1]]) as matrix:
        x = integers(full.shape[1]).astype(dtype)
        result = matrix @ x[rows[0]:rows[1]]
        expected = (full @ x)[rows[0]:rows[1]]
        assert result.dtype == expected.dtype
        assert np.array_equal(result, expected)


def test_solvers_of_scipy_take_it(world):
    length = 40
    laplace = scipy.sparse.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(length, length)).tocsr()
    rows = crossdock._matrix._blocks(length, world.num_ranks)[world.rank:world.rank + 2]
    with DistributedMatrix.from_scipy(world, laplace[rows[0]:rows[1]]) as matrix:
        operator = matrix.as_linear_operator()
        x = integers(length)
        assert np.array_equal(operator @ x, laplace @ x)
        assert np.array_equal(operator.T @ x, laplace.T @ x)
        found, info = scipy.sparse.linalg.cg(operator, x, rtol=1e-10)
        assert info == 0
        assert np.allclose(laplace @ found, x, atol=1e-8)


def test_ranks_may_have_no_rows(world):
    full = scipy.sparse.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
    last = world.rank == world.num_ranks - 1
    mine = full if last else scipy.sparse.csr_array((0, 2))
    with DistributedMatrix.from_scipy(world, mine) as matrix:
        assert (matrix @ np.ones(2 if last else 0)).tolist() == ([3.0, 7.0] if last else [])


@pytest.mark.parametrize(("rows", "options", "text"), [
    (np.eye(3), {}, "rows must be a sparse array of SciPy, not ndarray"),
    (scipy.sparse.csr_array((1, 2)), {}, "rows have 2 columns, but the ranks have"),
    (scipy.sparse.csr_array((1, 1)), {"num_local_columns": -1}, "num_local_columns must be at least 0, not -1"),
    (scipy.sparse.csr_array((1, 1)), {"route": 4}, "route must be a str, not int"),
])
def test_what_is_wrong_on_one_rank_is_an_error_on_all(world, rows, options, text):
    if world.rank != world.num_ranks - 1:
        rows, options = scipy.sparse.csr_array((0, 1)), {}
    with pytest.raises(crossdock.InvalidArgumentError, match=text):
        DistributedMatrix.from_scipy(world, rows, **options)


def test_files_that_are_none_are_an_error_on_all_ranks(world, tmp_path):
    with pytest.raises(crossdock.FileError, match="nowhere"):
        DistributedMatrix.from_file(world, "/nowhere.mtx")
    broken = tmp_path / "broken.mtx"
    broken.write_text("no matrix\n")
    with pytest.raises(crossdock.InvalidArgumentError):
        DistributedMatrix.from_file(world, broken)


def test_vectors_that_do_not_fit_are_refused(world):
    with pytest.raises(TypeError, match="a DistributedMatrix is made by"):
        DistributedMatrix()
    rows = scipy.sparse.csr_array((1, world.num_ranks))
    matrix = DistributedMatrix.from_scipy(world, rows)
    for x, text in ((np.zeros(2), r"x has shape \(2,\), but this rank has 1 columns"),
                    (np.zeros((1, 1, 1)), r"x has shape \(1, 1, 1\)"), (1.0, r"x has shape \(\)"),
                    (np.zeros((1, 0)), "x has no columns")):
        with pytest.raises(ValueError, match=text):
            matrix @ x
    with pytest.raises(ValueError, match="but this rank has 1 rows"):
        matrix.T @ np.zeros(2)
    matrix.close()
    with pytest.raises(crossdock.InvalidStateError, match="the exchange is closed"):
        matrix @ np.zeros(1)


def test_peers_learn_of_a_vector_that_does_not_fit(world):
    if world.num_ranks == 1:
        return
    rank, size = world.rank, world.num_ranks
    shifted = np.roll(np.eye(size), 1, axis=1)[rank:rank + 1]
    with DistributedMatrix.from_scipy(world, scipy.sparse.csr_array(shifted), route="direct") as matrix:

        def product():
            assert (matrix @ np.array([rank + 0.5])).tolist() == [(rank + 1) % size + 0.5]

        def transposed_product():
            assert (matrix.T @ np.array([rank + 0.5])).tolist() == [(rank - 1) % size + 0.5]

        expect_peers_to_learn(world, product, lambda: matrix @ np.zeros(2), {0})
        expect_peers_to_learn(world, transposed_product, lambda: matrix.T @ np.zeros(2), {2 % size})


def test_rows_make_a_pattern(world, file):
    full = whole(file)
    with DistributedMatrix.from_file(world, DATA / file) as matrix:
        mine = full[matrix.rows.start:matrix.rows.stop]
        pattern = crossdock.Pattern.from_matrix(world, mine, matrix.columns)
        assert pattern == crossdock.Pattern.from_needed(world, matrix.columns, matrix.ghost_columns)


@pytest.mark.parametrize(("rows", "owned", "error", "text"), [
    (np.eye(2), range(0), crossdock.InvalidArgumentError, "rows must be a sparse array of SciPy, not ndarray"),
    (scipy.sparse.csr_array((1, 1)), [0], crossdock.InvalidArgumentError,
     r"owned must be a range of step 1, not \[0\]"),
    (scipy.sparse.csr_array((1, 1)), range(0, 4, 2), crossdock.InvalidArgumentError, "owned must be a range of step 1"),
    (scipy.sparse.csr_array([[0.0, 1.0]]), range(0), crossdock.IndexOutOfRangeError, "1"),
])
def test_rows_that_make_no_pattern_are_an_error_on_all_ranks(world, rows, owned, error, text):
    if world.rank != world.num_ranks - 1:
        rows, owned = scipy.sparse.csr_array((0, 1)), range(0)
    with pytest.raises(error, match=text):
        crossdock.Pattern.from_matrix(world, rows, owned)


def test_products_read_no_longer_indices_than_they_need(world):
    with DistributedMatrix.from_scipy(world, scipy.sparse.csr_array(np.eye(3 * world.num_ranks)[:3])) as matrix:
        parts = (matrix._inner.inside, matrix._inner.outside)
        assert [part.indices.dtype for part in parts] == [part.indptr.dtype for part in parts] == [np.int32] * 2


def test_patterns_are_those_that_ranks_find_together(world):
    file = "msc01050.mtx.gz"
    mine = planning.patterns_of_matrix(whole(file), world.num_ranks)[world.rank]
    with DistributedMatrix.from_file(world, DATA / file) as blocks:
        assert Pattern.from_needed(world, blocks.columns, blocks.ghost_columns) == mine
    with NeighborExchange(world, mine, route="direct") as halo:
        assert halo.num_slots == mine.num_slots
