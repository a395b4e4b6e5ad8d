"""Kept edges given noisy degrees: the best linear estimate, against one solved densely."""

import numpy as np
import pytest

from graphcuts_dp.synth import sparse_fit
from graphcuts_dp.synth.sparse_fit import corrections


def made(seed, *, residual=40.0):
    """Kept edges with noise, residual degrees and noisy degrees of 60 vertices."""
    rng = np.random.default_rng(seed)
    n = 60
    ends = np.array([(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.12]).T
    spread = rng.uniform(0.5, 30, ends.shape[1])
    error = rng.normal(0, np.sqrt(spread))
    rest = rng.gamma(4, residual / 4, n)
    at = np.bincount(ends[0], error, minlength=n) + np.bincount(ends[1], error, minlength=n)
    noisy = rest + rng.normal(0, 3.0, n) - at  # noisy degree less kept weights that are too high
    return ends, spread, error, noisy, rest


def dense(ends, spread, left, noise):
    """By least squares of everything: the same as the best linear estimate."""
    n, kept = len(left), ends.shape[1]
    incidence = np.zeros((n, kept))
    incidence[ends[0], np.arange(kept)] = incidence[ends[1], np.arange(kept)] = 1
    own = incidence @ spread
    variance = max(left.var() - (own + noise).mean(), 0.0)
    matrix = incidence * spread @ incidence.T + (variance + noise) * np.eye(n)
    return spread * (incidence.T @ np.linalg.solve(matrix, left - left.mean()))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_best_linear_estimate(seed, monkeypatch):
    ends, spread, _, left, _ = made(seed)
    left = left + 1000  # so that no residual degree comes near 0
    monkeypatch.setattr(sparse_fit, "_NEAR", 1e-9)
    monkeypatch.setattr(sparse_fit, "_ROUNDS", 500)
    found = corrections((ends[0], ends[1]), spread, left, 9.0, np.zeros(60))
    np.testing.assert_allclose(found, dense(ends, spread, left, 9.0), rtol=1e-6, atol=1e-9)


def test_few_rounds_are_enough():
    ends, spread, _, left, _ = made(5)
    found = corrections((ends[0], ends[1]), spread, left + 1000, 9.0, np.zeros(60))
    right = dense(ends, spread, left + 1000, 9.0)
    assert np.abs(found - right).max() < 0.02 * np.abs(right).max()


@pytest.mark.parametrize("residual", [0.01, 5.0, 40.0])
def test_kept_weights_and_degrees_come_nearer_to_the_truth(residual):
    before, after, degrees = [], [], []
    for seed in range(10, 30):
        ends, spread, error, left, _ = made(seed, residual=residual)
        added = corrections((ends[0], ends[1]), spread, left, 9.0, np.zeros(60))
        before.append((error**2).sum())
        after.append(((error + added) ** 2).sum())
        sums = np.bincount(ends[0], error + added, minlength=60)
        sums += np.bincount(ends[1], error + added, minlength=60)
        degrees.append(np.abs(sums).mean())
    assert sum(after) < sum(before)
    if residual < 1:  # then degrees tell all of it: nothing but their own noise is left
        assert np.mean(degrees) < 3.0
        assert sum(after) < 0.9 * sum(before)


def test_residual_degrees_stay_above_zero():
    """Where kept edges weigh more than a degree, it is they that are too heavy."""
    ends = np.array([0, 0, 0]), np.array([1, 2, 3])
    left = np.array([-50.0, 20.0, 30.0, 10.0])
    added = corrections(ends, np.full(3, 25.0), left, 1.0, np.zeros(4))
    assert added.sum() < -30


def test_nothing_kept_is_nothing_to_correct():
    none = np.zeros(0, dtype=np.int64)
    assert len(corrections((none, none), np.zeros(0), np.ones(4), 1.0, np.zeros(4))) == 0
