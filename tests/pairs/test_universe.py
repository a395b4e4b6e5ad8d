"""Queries as vectors over the pairs, against one look at each pair; matrix queries."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp.errors import MatrixError, QueryError
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery, answer_all
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import VertexSet
from scripts.figures.update_sequence import checked

SHAPES = [(1, None), (2, None), (3, None), (7, None), (1, 1), (1, 5), (6, 4)]


def random_queries(universe, rng, count=12):
    n_left, n_right = universe.shape
    for _ in range(count):
        share = rng.random(2)
        yield CutQuery(rng.random(n_left) < share[0], rng.random(n_right) < share[1])
        yield RankOneQuery(rng.random(n_left), rng.random(n_right))
        yield MatrixQuery(rng.normal(size=universe.shape))


def random_matrix(universe, rng):
    matrix = rng.random(universe.shape)
    return checked(universe, matrix if universe.bipartite else (matrix + matrix.T) / 2)


def pairs(universe):
    if universe.bipartite:
        return list(itertools.product(*map(range, universe.shape)))
    return list(itertools.combinations(range(universe.shape[0]), 2))


def answer_on_pair(universe, query, i, j):
    """The query's coefficient, read off a matrix with one pair."""
    one = np.zeros(universe.shape)
    one[i, j] = 1
    if not universe.bipartite:
        one[j, i] = 1
    return query.value(one, bipartite=universe.bipartite)


@pytest.mark.parametrize("shape", SHAPES)
def test_coefficients_norms_and_ranges(shape):
    universe, rng = Universe(*shape), np.random.default_rng(1)
    assert universe.size == len(pairs(universe))
    assert list(zip(*universe.pairs(), strict=True)) == pairs(universe)
    for query in random_queries(universe, rng):
        values = np.array([answer_on_pair(universe, query, i, j) for i, j in pairs(universe)])
        coefficients = universe.coefficients(query)
        assert np.allclose(coefficients[universe.pairs()], values, atol=1e-12)
        if not universe.bipartite:
            assert np.array_equal(coefficients, coefficients.T)
            assert not coefficients.diagonal().any()
        assert universe.norm_squared(query) == pytest.approx(values @ values, abs=1e-9)
        low, high = universe.coefficient_range(query)
        assert low <= min(values, default=0) + 1e-12
        assert high >= max(values, default=0) - 1e-12
        if not isinstance(query, CutQuery):
            assert high == pytest.approx(max([0, *values]))
            assert low == pytest.approx(min([0, *values]))
        assert query.sensitivity(universe.space) == pytest.approx(
            max(np.abs(values), default=0), abs=1e-12
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_is_the_sum_of_coefficients_times_weights(shape):
    universe, rng = Universe(*shape), np.random.default_rng(2)
    matrix = random_matrix(universe, rng)
    queries = list(random_queries(universe, rng))
    answers = universe.answers(queries, matrix)
    assert np.allclose(answers, answer_all(queries, matrix, bipartite=universe.bipartite))
    for query, answer in zip(queries, answers, strict=True):
        assert answer == pytest.approx(universe.total(universe.coefficients(query) * matrix))
        single = query.value(matrix, bipartite=universe.bipartite)
        assert answer == pytest.approx(single, abs=1e-9)


def test_the_norm_of_a_rank_one_query_on_nearly_one_vertex():
    """A norm that is too small would make the step of an update too long."""
    u = np.array([0.3, 1e-12, 0])
    found = Universe(3).norm_squared(RankOneQuery(u, u))
    assert found == pytest.approx((2 * 0.3 * 1e-12) ** 2, rel=1e-9)
    assert Universe(2).norm_squared(RankOneQuery([0.3, 0], [0.7, 0])) == 0


def test_most_pairs_between_disjoint_sets():
    for n in range(2, 8):
        universe = Universe(n)
        masks = (np.array(mask, dtype=bool) for mask in np.ndindex(*[2] * n))
        best = max(universe.norm_squared(CutQuery(mask)) for mask in masks)
        assert universe.disjoint_norm_squared == best
    assert Universe(3, 5).disjoint_norm_squared == 15


def test_labels_and_identity():
    letters = Universe(["a", "b", "c"])
    assert letters.answers([CutQuery(["a"], ["b", "c"])], np.ones((3, 3)) - np.eye(3))[0] == 2
    assert letters == Universe(VertexSet(["a", "b", "c"]))
    assert letters != Universe(3)
    assert Universe(3) != Universe(3, 3)
    assert hash(Universe(3, 4)) == hash(Universe(3, 4))
    one = VertexSet(4)
    both = Universe(one, one)
    # Two sides with one vertex set are still two.
    assert both.bipartite
    assert both.answers([CutQuery([0], [0])], np.ones((4, 4)))[0] == 1
    assert repr(both) == "Universe(shape=(4, 4), bipartite=True)"


def test_matrices_that_are_none_over_the_universe():
    for matrix, message in [
        (np.ones((2, 2)), "shape"),
        ([[0, 1, 0], [0, 0, 0], [0, 0, 0]], "must be symmetric"),
        (-np.ones((3, 3)), "outside"),
        (np.full((3, 3), np.nan), "symmetric|outside"),
        (np.full((3, 3), 1.5), "outside"),
    ]:
        with pytest.raises(MatrixError, match=message):
            checked(Universe(3), matrix, upper=1)
    kept = checked(Universe(2), np.ones((2, 2)))
    assert kept.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(MatrixError, match="finite"):
        checked(Universe(1, 1), [[np.inf]])


# Matrix queries.


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6), st.booleans())
def test_a_matrix_query_is_the_sum_over_entries(n, seed, weighted):
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(n, n))
    rows, columns = np.nonzero(np.triu(rng.random((n, n)) < 0.5, 1))
    graph = gc.Graph(rows, columns, rng.random(len(rows)) if weighted else None, vertices=n)
    query = MatrixQuery(C)
    truth = sum(C[i, j] * graph.dense()[i, j] for i in range(n) for j in range(n))
    assert query.value(graph) == pytest.approx(truth, abs=1e-9)
    assert query.value(graph.dense()) == pytest.approx(truth, abs=1e-9)
    largest = max(abs(C[i, j] + C[j, i]) for i, j in itertools.combinations(range(n), 2))
    assert query.sensitivity(graph) == pytest.approx(largest)


def test_a_rank_one_query_is_the_matrix_query_of_its_product():
    rng = np.random.default_rng(3)
    u, v = rng.random(6), rng.random(6)
    graph = gc.Graph([0, 1, 2], [3, 4, 5], vertices=6)
    one, other = RankOneQuery(u, v), MatrixQuery(np.outer(u, v))
    assert one.value(graph) == pytest.approx(other.value(graph))
    assert one.sensitivity(graph) == pytest.approx(other.sensitivity(graph))
    both = gc.BipartiteGraph([0, 1], [3, 4], left=6, right=6)
    assert one.value(both) == pytest.approx(other.value(both))
    assert one.sensitivity(both) == pytest.approx(other.sensitivity(both))


def test_mixed_batches_keep_their_order():
    rng = np.random.default_rng(4)
    graph = gc.Graph([0, 1, 2], [3, 4, 0], vertices=5)
    both = gc.BipartiteGraph([0, 1, 2], [3, 4, 0], left=3, right=5)
    for data, universe in ((graph, Universe(5)), (both, Universe(3, 5))):
        queries = list(random_queries(universe, rng))
        rng.shuffle(queries)
        single = [query.value(data) for query in queries]
        assert np.allclose(answer_all(queries, data), single)


def test_a_matrix_query_is_checked_and_copied():
    for C in ([[np.nan]], [[np.inf]], [1.0], np.zeros((0, 0))):
        with pytest.raises(QueryError, match="finite"):
            MatrixQuery(C)
    graph = gc.Graph([0], [1], vertices=2)
    with pytest.raises(QueryError, match="shape"):
        MatrixQuery(np.ones((3, 3))).value(graph)
    with pytest.raises(QueryError, match="shape"):
        MatrixQuery(np.ones((3, 3))).sensitivity(graph)
    C = np.ones((2, 2))
    query = gc.Query.matrix(C)
    C[:] = 0
    assert query.value(graph) == 2
