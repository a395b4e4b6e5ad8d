"""Degrees and block sums from noisy data: shrinkage that helps, and sums that fit each other.

Two estimates of sums between groups: each counts for what it is worth.

Blocks near the threshold: a block model finds what the spectrum merges.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from noisy_cases import gaussian, indicators, planted, planted_bipartite, planted_directed, problem
from noisy_numbers import total_of

from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.resources import Deadline
from graphcuts_dp.synth.block_model import best_structure, explained, fit_blocks
from graphcuts_dp.synth.structure import View, largest_triples, sharpened_structure
from graphcuts_dp.synth.targets import credible_sums, grid_for, posterior_means, weighed_sums


def heavy_tailed(count, seed):
    return np.minimum(3 * (1 + np.random.default_rng(seed).pareto(1.3, count)), 500)


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("seed", range(3))
def test_posterior_means_beat_raw_on_a_heavy_tail(distribution, seed):
    rng = np.random.default_rng(seed)
    true = heavy_tailed(500, seed)
    if distribution == "gaussian":
        observed = true + rng.normal(0, 10, 500)
        means = posterior_means(observed, 10.0, grid_for(observed))
    else:
        observed = true + rng.laplace(0, 10 / 2**0.5, 500)
        counts = [(observed, 2**0.5 / 10)]
        means = posterior_means(observed, math.inf, grid_for(observed), counts)
    assert ((means - true) ** 2).mean() < 0.6 * ((observed - true) ** 2).mean()
    # The tail is not shrunk away.
    large = true > 100
    assert np.abs(means[large] - true[large]).mean() < 20


@pytest.mark.parametrize("seed", range(3))
def test_equal_degrees_shrink_to_their_common_value(seed):
    """500 observations of 40 with deviation 10: their mean is off by 0.45."""
    observed = 40 + np.random.default_rng(seed).normal(0, 10, 500)
    grid = grid_for(observed)
    means = posterior_means(observed, 10.0, grid)
    assert means.mean() == pytest.approx(observed.mean(), abs=0.5)
    assert ((means - 40) ** 2).mean() < 0.1 * 10**2


@pytest.mark.parametrize("observed", [np.array([3.0]), np.full(7, -2.0), np.array([0.0, 1e12])])
def test_single_equal_and_far_observations(observed):
    grid = grid_for(observed)
    assert grid.min() >= observed.min()
    assert grid.max() <= observed.max()
    means = posterior_means(observed, 1.0, grid)
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
    known = replace(given, total=total_of(true, 1e-3))
    useless = replace(given, total=total_of(-1e30, 1e30))
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
    rows = noisy.steps[0].copy()
    rows[0] = huge
    broken = replace(given, degrees=(replace(noisy, steps=(rows,)),))
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


def frame_of(n, k, seed=0):
    columns = np.random.default_rng(seed).normal(size=(n, k))
    columns[:, 0] = 1.0
    return np.linalg.qr(columns)[0]


def noisy(k, deviation, seed):
    noise = np.random.default_rng(seed).normal(0, deviation, (k, k))
    return (noise + noise.T) / np.sqrt(2)


def away_from_ones(frame, matrix):
    """Without what touches the vector of ones, which both estimates have alike."""
    ones = frame.sum(axis=0) / np.linalg.norm(frame.sum(axis=0))
    keep = np.eye(len(ones)) - np.outer(ones, ones)
    return keep @ matrix @ keep


@pytest.mark.parametrize("symmetric", [True, False])
def test_what_noise_alone_explains_leaves_the_structure_as_it_is(symmetric):
    """A mean squared error of a tenth of the noise's, over 40 draws of ten or more numbers; without
    a weight it would be that of the noise, 36 of variance 1 a draw."""
    frame = frame_of(200, 7)
    errors = []
    for seed in range(40):
        seen = away_from_ones(frame, noisy(7, 1.0, seed))
        found = weighed_sums(
            seen, np.zeros((7, 7)), frame, frame, 1.0, largest=50.0, symmetric=symmetric
        )
        errors.append((found**2).sum() / (seen**2).sum())
    assert np.mean(errors) < 0.1


@pytest.mark.parametrize("symmetric", [True, False])
def test_what_noise_cannot_explain_is_taken_from_the_matrix(symmetric):
    frame = frame_of(200, 5)
    truth = away_from_ones(frame, noisy(5, 30.0, 1))
    seen = truth + away_from_ones(frame, noisy(5, 1.0, 2))
    found = weighed_sums(
        seen, np.zeros((5, 5)), frame, frame, 1.0, largest=100.0, symmetric=symmetric
    )
    assert found == pytest.approx(seen, abs=0.5)
    if symmetric:
        assert np.array_equal(found, found.T)


def test_noise_above_all_that_entries_can_be_counts_for_little():
    """Errors of a size that only the noise has: the matrix gets a weight of (5/1000)^2 at most."""
    frame = frame_of(200, 2)
    seen = away_from_ones(frame, noisy(2, 1000.0, 3))
    found = weighed_sums(seen, np.zeros((2, 2)), frame, frame, 1000.0, largest=5.0, symmetric=True)
    assert np.abs(found).max() <= 2.5e-5 * np.abs(seen).max()


def test_sums_that_the_vector_of_ones_tells_stay():
    frame = frame_of(50, 1)
    said = np.array([[7.0]])
    assert weighed_sums(said, said, frame, frame, 1.0, largest=9.0, symmetric=True) == said


def planted_noise(sizes, signal, seed=0):
    """Blocks whose entries are `signal` above those between them, unit noise."""
    block = np.repeat(np.arange(len(sizes)), sizes)
    expected = signal * ((block[:, None] == block) - 1 / len(sizes))
    return View(gaussian(expected.shape, symmetric=True, signal=expected, seed=seed)), block


def matrix_of(structure):
    return (structure.left * structure.sizes) @ structure.right.T


def error_of_blocks(structure, block, signal):
    """Mean error of the means of pairs of different blocks."""
    x, k = matrix_of(structure), block.max() + 1
    means = [x[np.ix_(block == a, block == b)].mean() for a in range(k) for b in range(a)]
    return float(np.abs(np.array(means) + signal / k).mean())


@pytest.mark.parametrize("seed", range(4))
def test_blocks_near_the_edge_are_told_apart(seed):
    """Four blocks of 100 whose eigenvalue is 1.7 times sqrt(n)."""
    signal = 1.7 * 20 / 100
    view, block = planted_noise([100] * 4, signal, seed)
    blocks = fit_blocks(view, largest_triples(view), 4, 1.0)
    found = blocks.left.argmax(axis=1)
    purity = sum(np.bincount(found[block == b], minlength=4).max() for b in range(4)) / len(block)
    assert purity > 0.8
    assert error_of_blocks(best_structure(view, 1.0), block, signal) < 0.25 * signal


def test_blocks_of_noise_are_no_structure():
    for seed in range(4):
        view = View(gaussian((300, 300), symmetric=True, seed=seed))
        assert len(best_structure(view, 1.0).sizes) == 0


@pytest.mark.parametrize("seed", [4, 5])
def test_blocks_that_are_not_found_again_are_no_structure(seed):
    """Twelve blocks that nothing can see: their likelihood alone would believe blocks of noise."""
    signal = 0.6 * math.sqrt(300) / 25
    view, block = planted_noise([25] * 12, signal, seed)
    expected = signal * ((block[:, None] == block) - 1 / 12)
    np.fill_diagonal(expected, 0)
    found = matrix_of(best_structure(view, 1.0))
    assert ((found - expected) ** 2).sum() <= 1.02 * (expected**2).sum()


def test_the_likelier_one_is_kept(monkeypatch):
    view, _ = planted_noise([100] * 4, 1.7 * 20 / 100)
    best = best_structure(view, 1.0)
    assert explained(best, view) >= explained(sharpened_structure(view), view)
    monkeypatch.setattr("graphcuts_dp.synth.block_model._MOST_VERTICES", 10)
    alone = best_structure(view, 1.0)
    assert np.array_equal(alone.sizes, sharpened_structure(view).sizes)


@pytest.mark.parametrize("kind", ["plain", "bipartite", "directed"])
def test_likelihood_against_the_dense_sum(kind):
    view, _ = planted_noise([60] * 3, 1.0)
    pairs = np.triu(np.ones((180, 180), dtype=bool), 1)
    if kind == "bipartite":
        view = View(Blocks.from_matrix(view.blocks.estimate()[:100], symmetric=False))
        pairs = np.ones((100, 180), dtype=bool)
    if kind == "directed":
        graph, _ = planted_directed([60] * 3, 0.6, 0.1, 0.1)
        view, pairs = View(problem(graph, epsilon=3.0).blocks), ~np.eye(180, dtype=bool)
    structure = best_structure(view, 1.0)
    assert len(structure.sizes)
    T, z = matrix_of(structure), view.blocks.estimate()
    dense = float((z * T - T**2 / 2)[pairs].sum())
    assert explained(structure, view) == pytest.approx(dense, rel=1e-4)


def test_no_time_for_a_second_contender():
    view, _ = planted_noise([100] * 4, 1.7 * 20 / 100)
    hurried = best_structure(view, 1.0, Deadline(0.0))
    assert len(hurried.sizes) <= 4
    assert np.isfinite(hurried.sizes).all()
