"""Row sums of the capped Chung-Lu matrix are the degrees asked for, wherever that is possible."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from scripts.benchmark.baselines import chung_lu, chung_lu_bipartite, chung_lu_directed


def off_diagonal(weights, columns=None):
    """min(1, w_i v_j), the diagonal zero when both sides are one."""
    matrix = np.minimum(np.outer(weights, weights if columns is None else columns), 1.0)
    if columns is None:
        np.fill_diagonal(matrix, 0.0)
    return matrix


weights = st.lists(st.floats(0.1, 2.0), min_size=8, max_size=30)


@settings(max_examples=25, deadline=None)
@given(weights)
def test_the_degrees_of_such_a_matrix_give_degrees_back(t):
    wanted = off_diagonal(t).sum(axis=1)
    x = chung_lu(wanted)
    assert np.abs(x.sum(axis=1) - wanted).max() <= 1e-4 * wanted.mean()


@settings(max_examples=25, deadline=None)
@given(weights, st.randoms(use_true_random=False))
def test_directed_sums_are_given_back(r, random):
    c = random.sample(r, len(r))
    wanted = np.minimum(np.outer(r, c), 1.0)
    np.fill_diagonal(wanted, 0.0)
    x = chung_lu_directed(wanted.sum(axis=1), wanted.sum(axis=0))
    assert not x.diagonal().any()
    mean = wanted.sum(axis=1).mean()
    for axis in (0, 1):
        assert np.abs(x.sum(axis=axis) - wanted.sum(axis=axis)).max() <= 1e-4 * mean


def test_directed_degrees_at_the_edge():
    """No arcs, one vertex, a star, only one vertex with arcs in: numbers, and no warnings."""
    for rows, columns in (
        ([0, 0], [0, 0]),
        ([1], [1]),
        ([5, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1]),
        ([1, 1, 1], [3, 0, 0]),
        ([2, 2, 2], [2, 2, 2]),
        ([-1, 4], [3, -2]),
    ):
        x = chung_lu_directed(rows, columns)
        assert np.isfinite(x).all()
        assert ((x >= 0) & (x <= 1)).all()
        assert not x.diagonal().any()
    full = chung_lu_directed([2, 2, 2], [2, 2, 2])
    assert full == pytest.approx(1 - np.eye(3))
    star = chung_lu_directed([5, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1])
    assert star.sum(axis=1) == pytest.approx([5, 0, 0, 0, 0, 0])


@settings(max_examples=25, deadline=None)
@given(weights, weights)
def test_bipartite_sums_are_given_back(r, c):
    wanted = off_diagonal(r, c)
    x = chung_lu_bipartite(wanted.sum(axis=1), wanted.sum(axis=0))
    assert np.abs(x.sum(axis=1) - wanted.sum(axis=1)).max() <= 1e-4 * wanted.sum(axis=1).mean()
    assert np.abs(x.sum(axis=0) - wanted.sum(axis=0)).max() <= 1e-4 * wanted.sum(axis=1).mean()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-5, 40), min_size=1, max_size=30))
def test_whatever_the_degrees_it_is_a_graph(degrees):
    x = chung_lu(degrees, max_rounds=50)
    assert x.shape == (len(degrees), len(degrees))
    assert (x >= 0).all()
    assert (x <= 1).all()
    assert np.array_equal(x, x.T)
    assert not x.diagonal().any()
    assert not x[np.array(degrees) <= 0].any()
    y = chung_lu_bipartite(degrees, degrees[::-1], max_rounds=50)
    assert (y >= 0).all()
    assert (y <= 1).all()


def test_the_form_is_a_product_below_the_cap():
    x = chung_lu([8, 5, 3, 2, 2, 2, 2])
    free = x[2:, :2]
    assert np.linalg.matrix_rank(free[:, 1:], tol=1e-9) == 1
    assert x[2, 3] * x[4, 5] == pytest.approx(x[2, 4] * x[3, 5])
    assert x[0, 1] == 1.0


def test_the_degrees_of_a_real_graph():
    graph = gc.datasets.load("us_flights_2008")
    degrees = np.bincount(np.r_[graph.rows, graph.columns])
    assert np.abs(chung_lu(degrees).sum(axis=1) - degrees).max() <= 1e-6


def test_edge_cases():
    assert chung_lu([]).shape == (0, 0)
    assert not chung_lu([3.0]).any()
    assert not chung_lu([0, -1, 0]).any()
    np.testing.assert_allclose(chung_lu([4] * 5), 1 - np.eye(5), atol=1e-8)
    assert not chung_lu_bipartite([0, 0], [1, 2, 3]).any()
    # One vertex asks for more than the others have: they come near their own degrees.
    star = chung_lu([50, 1, 1, 1, 1])
    assert star.sum(axis=1) == pytest.approx([4, 1, 1, 1, 1], abs=0.01)
    assert np.isfinite(chung_lu([1e300, 1e-300, 1, 1])).all()


def test_unequal_totals_meet_in_the_middle():
    x = chung_lu_bipartite([1, 3, 1, 1], [1, 1, 2, 0, 0, 0])
    assert x.sum() == pytest.approx(5)
    assert x.sum(axis=1) == pytest.approx([5 / 6, 15 / 6, 5 / 6, 5 / 6])
    assert x.sum(axis=0) == pytest.approx([1.25, 1.25, 2.5, 0, 0, 0])
