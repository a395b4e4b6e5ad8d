"""Products with a noisy matrix less an expected graph, against dense ones."""

import pickle

import numpy as np
import pytest
from noisy_cases import planted, planted_bipartite, planted_directed, problem

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.pairs import layout
from graphcuts_dp.synth.group_targets import (
    chung_lu_bipartite_ends,
    chung_lu_directed_ends,
    chung_lu_ends,
)
from graphcuts_dp.synth.structure import View


def views(kind, cap=1.0):
    """A view of Z, one of Z less the expected graph, and both as dense matrices."""
    if kind == "directed":
        given = problem(planted_directed((15, 20), 0.6, 0.1, 0.2)[0])
        r, c = chung_lu_directed_ends(np.linspace(1, 30, 35), np.linspace(30, 1, 35) ** 1.1)
        expected = cap * np.minimum(np.outer(r, c), 1)
        np.fill_diagonal(expected, 0)
    elif kind == "symmetric":
        given = problem(planted((15, 20), 0.6, 0.1)[0])
        r = c = chung_lu_ends(np.linspace(1, 30, 35))
        expected = cap * np.minimum(np.outer(r, c), 1)
        np.fill_diagonal(expected, 0)
    else:
        given = problem(planted_bipartite((15, 20), (10, 9), 0.6, 0.1)[0])
        r, c = chung_lu_bipartite_ends(np.linspace(1, 18, 35), np.linspace(2, 34, 19))
        expected = cap * np.minimum(np.outer(r, c), 1)
    assert (expected >= cap).any()  # somewhere the minimum matters
    Z = given.blocks.estimate()
    return [(View(given.blocks), Z, 0 * Z), (View(given.blocks, r, c, cap), Z - expected, expected)]


@pytest.mark.parametrize("rows_at_once", [None, 8])
@pytest.mark.parametrize("cap", [1.0, 2.5])
@pytest.mark.parametrize("kind", ["symmetric", "bipartite", "directed"])
def test_products_are_the_dense_ones(kind, cap, rows_at_once, monkeypatch):
    if rows_at_once:
        monkeypatch.setattr(layout, "_SMALL", 0)
        monkeypatch.setattr(layout, "_BLOCK_ENTRIES", 1)
    rng = np.random.default_rng(0)
    for view, dense, expected in views(kind, cap):
        n, m = dense.shape
        assert (view.shape, view.symmetric) == ((n, m), kind == "symmetric")
        right, left = rng.normal(size=(m, 3)), rng.normal(size=(n, 2))
        near = {"abs": 1e-4, "rel": 1e-4}  # float32
        assert view.times(right) == pytest.approx(dense @ right, **near)
        assert view.transposed_times(left) == pytest.approx(dense.T @ left, **near)
        assert view.square_sum() == pytest.approx((dense**2).sum(), rel=1e-5)
        assert view.expected_times(right) == pytest.approx(expected @ right, **near)
        if view.row_ends is not None:
            assert view.expected_column_sums() == pytest.approx(expected.sum(axis=0), **near)
        assert view.times(right).dtype == np.float64


def test_ends_near_a_star_stay_within_numbers():
    """Degrees that only a star has send one end to infinity and the others to zero."""
    n = 40
    star = Graph(np.zeros(n - 1, int), np.arange(1, n), vertices=n)
    given = problem(star)
    ends = np.full(n, 1e-70)
    ends[0] = 0.7e70
    view = View(given.blocks, ends, ends)
    assert view.expected_times(np.ones((n, 1)))[:, 0] == pytest.approx(
        [0.7 * (n - 1)] + [0.7] * (n - 1)
    )
    real = chung_lu_ends(star.dense().sum(axis=1) + 0.1)
    assert np.isfinite(View(given.blocks, real, real).times(np.ones((n, 1)))).all()


def test_a_view_travels_without_its_blocks():
    for view, dense, expected in views(True):
        sent = pickle.dumps(view)
        assert len(sent) < 2000 + 16 * len(dense)
        back = pickle.loads(sent)  # noqa: S301
        assert back.blocks is None
        block = view.blocks.map(lambda rows: rows)[0]
        assert np.array_equal(back.rows(block), view.rows(block))
        assert back.expected_rows(block) == pytest.approx(expected, abs=1e-6)
