"""Degrees and block sums from noisy data: shrinkage that helps, and sums that fit each other."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from noisy_cases import indicators, planted, planted_bipartite, planted_directed, problem

from graphcuts_dp.estimate.measurement import NoisyTotal
from graphcuts_dp.synth.credible_sums import (
    credible_sums,
    gaussian_log_likelihood,
    grid_for,
    laplace_log_likelihood,
    posterior_means,
)


def heavy_tailed(count, seed):
    return np.minimum(3 * (1 + np.random.default_rng(seed).pareto(1.3, count)), 500)


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("seed", range(3))
def test_posterior_means_beat_raw_on_a_heavy_tail(distribution, seed):
    rng = np.random.default_rng(seed)
    true = heavy_tailed(500, seed)
    if distribution == "gaussian":
        observed = true + rng.normal(0, 10, 500)
        likelihood = gaussian_log_likelihood(observed, grid_for(observed), 10.0)
    else:
        observed = true + rng.laplace(0, 10 / 2**0.5, 500)
        likelihood = laplace_log_likelihood(observed, grid_for(observed), 2**0.5 / 10)
    means = posterior_means(likelihood, grid_for(observed))
    assert ((means - true) ** 2).mean() < 0.6 * ((observed - true) ** 2).mean()
    # The tail is not shrunk away.
    large = true > 100
    assert np.abs(means[large] - true[large]).mean() < 20


@pytest.mark.parametrize("seed", range(3))
def test_equal_degrees_shrink_to_their_common_value(seed):
    """500 observations of 40 with deviation 10: their mean is off by 0.45."""
    observed = 40 + np.random.default_rng(seed).normal(0, 10, 500)
    grid = grid_for(observed)
    means = posterior_means(gaussian_log_likelihood(observed, grid, 10.0), grid)
    assert means.mean() == pytest.approx(observed.mean(), abs=0.5)
    assert ((means - 40) ** 2).mean() < 0.1 * 10**2


@pytest.mark.parametrize("observed", [np.array([3.0]), np.full(7, -2.0), np.array([0.0, 1e12])])
def test_single_equal_and_far_observations(observed):
    grid = grid_for(observed)
    assert grid.min() >= observed.min()
    assert grid.max() <= observed.max()
    means = posterior_means(gaussian_log_likelihood(observed, grid, 1.0), grid)
    assert means == pytest.approx(observed, rel=0.02, abs=1e-9)


CASES = {
    "undirected": (lambda: planted((60, 60), 0.5, 0.1)[0], 120, 120),
    "directed": (lambda: planted_directed((60, 60), 0.5, 0.1, 0.1)[0], 120, 120),
    "bipartite": (lambda: planted_bipartite((60, 60), (40, 40), 0.5, 0.1)[0], 120, 80),
}


@pytest.mark.parametrize("degrees", [None, 1])
@pytest.mark.parametrize("case", CASES)
def test_sums_fit_each_other(case, degrees):
    """Totals agree; frames are orthonormal; group sums, raked, have the degrees as margins."""
    make, n, m = CASES[case]
    given = problem(make(), degrees=degrees)
    sums = credible_sums(given, given.blocks.distribution)
    assert (len(sums.rows), len(sums.columns)) == (n, m)
    assert sums.rows.sum() == pytest.approx(sums.columns.sum())
    assert sums.rows.min() > 0
    k, l = sums.groups.shape  # noqa: E741
    assert sums.left.T @ sums.left == pytest.approx(np.eye(k), abs=1e-9)
    assert sums.right.T @ sums.right == pytest.approx(np.eye(l), abs=1e-9)
    ones = sums.right.T @ np.ones(m)
    assert sums.right @ ones == pytest.approx(np.ones(m), abs=1e-6)  # they span the ones
    assert sums.groups @ ones == pytest.approx(
        sums.left.T @ sums.rows, abs=0.02 * sums.rows.sum() / n
    )
    if case == "undirected":
        assert sums.columns is sums.rows
        assert sums.right is sums.left
        assert np.array_equal(sums.groups, sums.groups.T)


@pytest.mark.parametrize("case", CASES)
def test_noisy_degrees_make_better_degrees(case):
    make, _, _ = CASES[case]
    graph = make()
    errors = []
    for degrees in (None, 1):
        given = [problem(graph, epsilon=0.5, degrees=degrees, seed=seed) for seed in range(4)]
        found = [credible_sums(each, each.blocks.distribution).rows for each in given]
        errors.append(np.mean([((rows - graph.dense().sum(axis=1)) ** 2).mean() for rows in found]))
    raw = np.mean([((p.blocks.estimate() - graph.dense()).sum(axis=1) ** 2).mean() for p in given])
    assert errors[1] < 0.5 * errors[0] < 0.5 * raw


@pytest.mark.parametrize("degrees", [None, 4])
@pytest.mark.parametrize("case", CASES)
def test_a_better_total_is_used(case, degrees):
    make, _, _ = CASES[case]
    graph = make()
    true = graph.dense().sum()
    given = problem(graph, epsilon=0.2, degrees=degrees)
    known = replace(given, total=NoisyTotal(true, 1e-3, Fraction(1), Fraction(1)))
    useless = replace(given, total=NoisyTotal(-1e9, 1e30, Fraction(1), Fraction(1)))
    found, plain, same = (
        credible_sums(each, given.blocks.distribution).rows.sum()
        for each in (known, given, useless)
    )
    assert found == pytest.approx(true, rel=1e-3)
    assert abs(plain - true) > abs(found - true)
    assert same == pytest.approx(plain)


@pytest.mark.parametrize("huge", [10**6, -(10**6), 2**60])
def test_a_degree_out_of_all_bounds(huge):
    """Noise has tails: one vertex's count may be anything."""
    given = problem(planted((20, 20), 0.5, 0.1)[0], degrees=1)
    (noisy,) = given.degrees
    rows = noisy.rows.copy()
    rows[0] = huge
    broken = replace(given, degrees=(replace(noisy, rows=rows, columns=rows),))
    sums = credible_sums(broken, given.blocks.distribution)
    assert np.isfinite(sums.rows).all()
    assert np.isfinite(sums.groups).all()
    assert sums.rows.min() > 0


def test_true_blocks_get_their_sums():
    """Of blocks that are well seen: within a tenth, for graphs of each kind."""
    graph, _ = planted((100, 100), 0.6, 0.1)
    groups, A = indicators((100, 100)), graph.dense()
    for degrees in (None, 1):
        given = problem(graph, degrees=degrees)
        sums = credible_sums(given, given.blocks.distribution)
        inner = groups.T @ sums.left
        said, true = inner @ sums.groups @ inner.T, groups.T @ A @ groups
        assert said == pytest.approx(true, rel=0.1)


def test_a_denser_block_keeps_its_degrees():
    """Noisy degrees of little epsilon draw all degrees towards one mean, unless blocks are seen.

    Blocks of 160 and 100 have average degrees of 73 and 53. The sum of the noise over a block is
    about 300; without the blocks the sum of the degrees of the larger one errs by 1,000 and more.
    """
    sizes = (160, 130, 110, 100)
    errors = []
    for seed in range(3):
        graph, _ = planted(sizes, 0.4, 0.05, seed=seed)
        given = problem(graph, degrees=0.08, seed=seed)
        rows = credible_sums(given, given.blocks.distribution).rows
        errors.append(indicators(sizes).T @ (rows - graph.dense().sum(axis=1)))
    assert np.abs(errors).mean() < 400
