"""Sparse rounding of weights keeps the expectation of each pair, and the counts of edges."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.synth import sparse_weights
from graphcuts_dp.synth.sparse_weights import WeightCounts, round_to_weights

STARTS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def fit(n=60, total=900.0, cap=20.0, seed=0):
    """Expected weights of a graph with uneven degrees."""
    factors = np.random.default_rng(seed).lognormal(0, 0.8, n)
    matrix = np.triu(np.outer(factors, factors), 1)
    matrix += matrix.T
    return np.minimum(matrix * (2 * total / matrix.sum()), cap)


def counts(edges=200.0, *, integral=True, starts=STARTS, shares=None):
    shares = np.ones(len(starts)) / len(starts) if shares is None else np.array(shares)
    return WeightCounts(edges, starts, edges * shares, integral)


def rounded(matrix, known, *, cap=20.0, symmetric=True, seed=0):
    return round_to_weights(matrix, known, cap=cap, symmetric=symmetric, source=SeededEntropy(seed))


def with_one_law(monkeypatch):
    """Keep the laws of the first rounding for the others of the same fit, to save time."""
    made, fitted = [], sparse_weights._fitted_laws

    def once(*arguments):
        if not made:
            made.append(fitted(*arguments))
        return made[0]

    monkeypatch.setattr(sparse_weights, "_fitted_laws", once)


def test_edges_and_classes_are_those_that_were_counted():
    known = counts(240.0, shares=[0.3, 0.3, 0.2, 0.1, 0.1])
    weights = np.triu(rounded(fit(), known))
    weights = weights[weights > 0]
    assert abs(len(weights) - 240) <= 8  # four standard deviations
    classes = np.bincount(np.searchsorted(STARTS, weights, side="right") - 1, minlength=5)
    assert np.abs(classes - [72, 72, 48, 24, 24]).max() <= 20  # means come first


@pytest.mark.thorough
@pytest.mark.parametrize("runs", [300, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("integral", [True, False])
def test_expected_weights_are_kept(symmetric, integral, runs, monkeypatch):
    matrix = fit(12, total=60.0)
    with_one_law(monkeypatch)
    seeds = range(runs)
    drawn = np.array(
        [
            rounded(matrix, counts(20.0, integral=integral), symmetric=symmetric, seed=seed)
            for seed in seeds
        ]
    )
    errors = drawn.mean(axis=0) - matrix
    # Weights are multiples of 10^-4, and those within classes are rounded to them.
    allowed = 4.9 * drawn.std(axis=0) / math.sqrt(runs) + 1e-3
    assert (np.abs(errors) <= allowed).all()
    total = drawn.sum(axis=(1, 2))
    assert abs(total.mean() - matrix.sum()) <= 4.9 * total.std() / math.sqrt(runs) + 1e-2


def test_sums_are_nearer_to_the_expected_ones_than_with_independent_coins(monkeypatch):
    matrix = fit(100, total=2000.0)
    with_one_law(monkeypatch)
    ours = np.array([rounded(matrix, counts(400.0), seed=seed) for seed in range(40)])
    pair_variances = (ours - matrix).var(axis=0)  # what independent pairs would add up to
    degrees = (ours.sum(axis=2) - matrix.sum(axis=1)) ** 2
    assert degrees.mean() < 0.5 * pair_variances.sum(axis=1).mean()
    totals = (ours.sum(axis=(1, 2)) - matrix.sum()) ** 2 / 4
    assert totals.mean() < 0.2 * np.triu(pair_variances).sum()


@pytest.mark.thorough
@pytest.mark.parametrize("examples", [15, pytest.param(40, marks=pytest.mark.slow)])
def test_weights_are_whole_and_within_the_maximum(examples):
    settings(max_examples=examples, deadline=None)(check_weights)()


@given(
    n=st.integers(2, 9),
    cap=st.sampled_from([1e-6, 0.3, 1.0, 2.5, 7.0, 1e6, math.inf]),
    edges=st.floats(-50.0, 100.0),
    integral=st.booleans(),
    symmetric=st.booleans(),
    seed=st.integers(0, 99),
)
def check_weights(n, cap, edges, integral, symmetric, seed):
    rng = np.random.default_rng(seed)
    largest = 50.0 if cap == math.inf else cap
    matrix = rng.random((n, n)) * largest * (rng.random((n, n)) < 0.6)
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T if symmetric else matrix
    starts = np.unique(np.concatenate([[min(largest, 1e-7)], largest / 2.0 ** np.arange(5)]))
    known = counts(edges, integral=integral, starts=starts)
    drawn = rounded(matrix, known, cap=cap, symmetric=symmetric, seed=seed)
    assert (drawn >= 0).all()
    assert (drawn <= cap).all()
    assert not drawn[matrix == 0].any()
    if symmetric:
        assert np.array_equal(drawn, drawn.T)
    if integral and cap >= 1:
        assert np.array_equal(drawn, np.floor(drawn))


def test_a_fit_without_weight_has_no_edges():
    assert not rounded(np.zeros((4, 4)), counts(10.0)).any()


def test_a_number_of_edges_that_the_weight_does_not_allow_is_approached():
    matrix = fit(40, total=100.0)
    assert np.triu(rounded(matrix, counts(5000.0)) > 0).sum() == pytest.approx(100, abs=6)
    assert np.triu(rounded(matrix, counts(-20.0)) > 0).sum() <= 12


def test_shares_are_the_nearest_that_add_up():
    shares = WeightCounts(10.0, STARTS, np.array([8.0, 6.0, -3.0, 0.0, 1.0]), True).shares()
    assert shares.sum() == pytest.approx(1.0)
    assert shares == pytest.approx([0.6, 0.4, 0, 0, 0])
