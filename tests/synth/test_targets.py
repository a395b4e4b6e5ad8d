"""Targets of a synthetic graph: degrees, and sums between soft or public groups.

In order: shrinkage of degrees, targets of a fit, the combination of two estimates of sums by their
precisions, sums between public groups, and the Chung-Lu matrix of given degrees.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from group_cases import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_cases import indicators, planted, planted_bipartite, planted_directed, problem
from noisy_numbers import total_of

import graphcuts_dp as gc
from graphcuts_dp import Groups
from graphcuts_dp.estimate.measurement import CellSums, Degrees
from graphcuts_dp.plugins import FitProblem
from graphcuts_dp.resources import Deadline
from graphcuts_dp.synth import chung_lu as chung_lu_module
from graphcuts_dp.synth import empirical_bayes
from graphcuts_dp.synth.group_sums import CellEstimates, shrunk
from graphcuts_dp.synth.targets import combined_sums, credible_sums


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("seed", range(3))
def test_posterior_means_of_heavy_tailed_degrees_beat_observations(distribution, seed):
    """And large degrees, of which there are few, keep their size."""
    rng, deviation = np.random.default_rng(seed), 10.0
    true = np.minimum(3 * (1 + rng.pareto(1.3, 500)), 500)
    if distribution == "gaussian":
        observed = true + rng.normal(0, deviation, 500)
        grid = empirical_bayes.grid_for(observed)
        means = empirical_bayes.posterior_means(observed, deviation, grid)
    else:
        scale = deviation / 2**0.5
        observed = true + rng.laplace(0, scale, 500)
        grid = empirical_bayes.grid_for(observed)
        means = empirical_bayes.posterior_means(observed, math.inf, grid, [(observed, 1 / scale)])
    assert ((means - true) ** 2).mean() < 0.6 * ((observed - true) ** 2).mean()
    is_large = true > 100
    assert np.abs(means[is_large] - true[is_large]).mean() < 20


@pytest.mark.parametrize(
    "observed",
    [
        pytest.param(np.array([3.0]), id="one"),
        pytest.param(np.full(7, -2.0), id="equal"),
        pytest.param(np.array([0.0, 1e12]), id="far apart"),
    ],
)
def test_observations_without_a_distribution_are_hardly_changed(observed):
    grid = empirical_bayes.grid_for(observed)
    assert grid.min() >= observed.min()
    assert grid.max() <= observed.max()
    means = empirical_bayes.posterior_means(observed, 1.0, grid)
    assert means == pytest.approx(observed, rel=0.02, abs=1e-9)


KINDS = pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])


def graph_of_two_blocks(kind, size=60):
    """Return a graph with two blocks of this size, on either side."""
    if kind == "undirected":
        return planted((size,) * 2, 0.5, 0.1)[0]
    if kind == "directed":
        return planted_directed((size,) * 2, 0.5, 0.1, 0.1)[0]
    return planted_bipartite((size,) * 2, (size * 2 // 3,) * 2, 0.5, 0.1)[0]


def targets_of(fit_problem, *deadline):
    return credible_sums(fit_problem, fit_problem.blocks.distribution, *deadline)


@pytest.mark.thorough(cases=1)
@KINDS
@pytest.mark.parametrize("degrees_epsilon", [None, 1])
def test_targets_fit_each_other(kind, degrees_epsilon):
    """Totals agree, frames are orthonormal, and sums of soft groups have the degrees as margins."""
    graph = graph_of_two_blocks(kind)
    for seed in range(2):
        targets = targets_of(problem(graph, epsilon=0.5, degrees=degrees_epsilon, seed=seed))
        assert (len(targets.rows), len(targets.columns)) == graph.shape
        assert targets.rows.sum() == pytest.approx(targets.columns.sum())
        assert targets.rows.min() > 0
        for frame in (targets.left_frame, targets.right_frame):
            assert frame.T @ frame == pytest.approx(np.eye(frame.shape[1]), abs=1e-9)
        ones_in_frame = targets.right_frame.sum(axis=0)
        ones = targets.right_frame @ ones_in_frame  # so the frame spans the vector of ones
        assert ones == pytest.approx(np.ones(graph.shape[1]), abs=1e-6)
        margins = targets.frame_sums @ ones_in_frame
        tolerance = 0.02 * targets.rows.mean()
        assert margins == pytest.approx(targets.left_frame.T @ targets.rows, abs=tolerance)
        if kind == "undirected":
            assert targets.columns is targets.rows
            assert targets.right_frame is targets.left_frame
            assert np.array_equal(targets.frame_sums, targets.frame_sums.T)


@pytest.mark.thorough(cases=1)
@KINDS
def test_noisy_degrees_halve_the_error_of_degrees_which_is_half_that_of_noisy_entries(kind):
    """Mean squared errors of two draws."""
    graph = graph_of_two_blocks(kind)
    true = graph.dense().sum(axis=1)

    def mean_squared_error(degrees_of, degrees_epsilon):
        problems = [
            problem(graph, epsilon=0.5, degrees=degrees_epsilon, seed=seed) for seed in range(2)
        ]
        return np.mean([(degrees_of(fit_problem) - true) ** 2 for fit_problem in problems])

    of_entries = mean_squared_error(lambda fit_problem: targets_of(fit_problem).rows, None)
    with_degrees = mean_squared_error(lambda fit_problem: targets_of(fit_problem).rows, 1)
    of_noisy_matrix = mean_squared_error(
        lambda fit_problem: fit_problem.blocks.estimate().sum(axis=1), 1
    )
    assert with_degrees < 0.5 * of_entries < 0.5 * of_noisy_matrix


@pytest.mark.parametrize("degrees_epsilon", [None, 4])
@KINDS
def test_a_noisy_total_is_used_if_it_is_precise(kind, degrees_epsilon):
    graph = graph_of_two_blocks(kind, 20)
    true = graph.dense().sum()
    without_total = problem(graph, epsilon=0.2, degrees=degrees_epsilon)
    with_precise_total = replace(without_total, total=total_of(true, 1e-3))
    with_useless_total = replace(without_total, total=total_of(-1e30, 1e30))
    precise, unused, useless = (
        targets_of(fit_problem, Deadline(0.0)).rows.sum()
        for fit_problem in (with_precise_total, without_total, with_useless_total)
    )
    assert precise == pytest.approx(true, rel=1e-3)
    assert abs(unused - true) > abs(precise - true)
    assert useless == pytest.approx(unused)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("degrees_epsilon", [None, 1])
def test_clearly_detected_blocks_have_their_true_sums_within_a_tenth(degrees_epsilon):
    graph, _ = planted((100, 100), 0.6, 0.1)
    groups, weights = indicators((100, 100)), graph.dense()
    targets = targets_of(problem(graph, degrees=degrees_epsilon))
    to_frame = groups.T @ targets.left_frame
    block_sums = to_frame @ targets.frame_sums @ to_frame.T
    assert block_sums == pytest.approx(groups.T @ weights @ groups, rel=0.1)


@pytest.mark.thorough
def test_degrees_are_not_shrunk_towards_one_mean_if_blocks_are_detected():
    """Blocks of 160 and 100 vertices have mean degrees of 73 and 53.

    The noise of the sum over a block is about 300. Without the blocks, noisy degrees of little
    epsilon would be shrunk to one mean, and the sum over the largest block err by 1,000 and more.
    """
    sizes = (160, 130, 110, 100)
    graph, _ = planted(sizes, 0.4, 0.05)
    degrees = targets_of(problem(graph, degrees=0.08)).rows
    errors_of_blocks = indicators(sizes).T @ (degrees - graph.dense().sum(axis=1))
    assert np.abs(errors_of_blocks).mean() < 400


# Two estimates of the sums along a frame: those of the noisy matrix, and those of a model.


def random_frame(n, k):
    """Return k orthonormal columns that span the vector of ones."""
    columns = np.random.default_rng(0).normal(size=(n, k))
    columns[:, 0] = 1.0
    return np.linalg.qr(columns)[0]


def symmetric_noise(frame, deviation, seed):
    """Return noise of sums along a frame that is 0 on the vector of ones, as both estimates are."""
    k = frame.shape[1]
    noise = np.random.default_rng(seed).normal(0, deviation, (k, k))
    ones = frame.sum(axis=0) / np.linalg.norm(frame.sum(axis=0))
    projection = np.eye(k) - np.outer(ones, ones)
    return projection @ (noise + noise.T) @ projection / np.sqrt(2)


def combined_with_zeros(matrix_sums, frame, deviation, largest_error, *, symmetric=True):
    """Combine sums of the noisy matrix with a model all of whose sums are 0."""
    return combined_sums(
        matrix_sums,
        np.zeros(matrix_sums.shape),
        frame,
        frame,
        deviation,
        largest_error=largest_error,
        symmetric=symmetric,
    )


SYMMETRIES = pytest.mark.parametrize("symmetric", [True, False])


@SYMMETRIES
def test_sums_that_noise_explains_are_taken_from_the_model(symmetric):
    """The mean squared error is a tenth of that of the noisy sums, over 40 draws of 36 sums."""
    frame, ratios = random_frame(200, 7), []
    for seed in range(40):
        noise = symmetric_noise(frame, 1.0, seed)
        combined = combined_with_zeros(noise, frame, 1.0, 50.0, symmetric=symmetric)
        ratios.append((combined**2).sum() / (noise**2).sum())
    assert np.mean(ratios) < 0.1


@SYMMETRIES
def test_sums_far_above_the_noise_are_taken_from_the_noisy_matrix(symmetric):
    frame = random_frame(200, 5)
    matrix_sums = symmetric_noise(frame, 30.0, 1) + symmetric_noise(frame, 1.0, 2)
    combined = combined_with_zeros(matrix_sums, frame, 1.0, 100.0, symmetric=symmetric)
    assert combined == pytest.approx(matrix_sums, abs=0.5)
    assert not symmetric or np.array_equal(combined, combined.T)


def test_noise_far_above_all_possible_errors_counts_for_little():
    """The noisy matrix has a weight of at most (5/1000)^2."""
    frame = random_frame(200, 2)
    noise = symmetric_noise(frame, 1000.0, 3)
    combined = combined_with_zeros(noise, frame, 1000.0, 5.0)
    assert np.abs(combined).max() <= 2.5e-5 * np.abs(noise).max()


def test_sums_on_which_both_estimates_agree_stay():
    frame, total = random_frame(50, 1), np.array([[7.0]])
    combined = combined_sums(total, total, frame, frame, 1.0, largest_error=9.0, symmetric=True)
    assert combined == total


# Sums between public groups.

GROUP_OF_VERTEX = np.repeat(np.arange(4), (30, 20, 25, 15))
PROBABILITIES = np.array(
    [[0.5, 0.1, 0.02, 0.3], [0.1, 0.2, 0.4, 0.05], [0.02, 0.4, 0.3, 0.1], [0.3, 0.05, 0.1, 0.6]]
)
GRAPHS_WITH_GROUPS = pytest.mark.parametrize("kind", ["graph", "weights", "two sides"])


def graph_with_groups(kind):
    """Return a graph of different blocks, groups that are these blocks, and a suitable noise."""
    rng, group_of_column = np.random.default_rng(0), GROUP_OF_VERTEX[::2]
    if kind == "two sides":
        probabilities = PROBABILITIES[GROUP_OF_VERTEX][:, group_of_column]
        graph = gc.BipartiteGraph(
            *np.nonzero(rng.random((90, 45)) < probabilities), left=90, right=45
        )
        groups = (
            Groups(graph.left, {"g": GROUP_OF_VERTEX.tolist()}),
            Groups(graph.right, {"g": group_of_column.tolist()}),
        )
        return graph, groups, "binary"
    probabilities = PROBABILITIES[GROUP_OF_VERTEX][:, GROUP_OF_VERTEX]
    rows, columns = np.nonzero(np.triu(rng.random((90, 90)) < probabilities, 1))
    if kind == "weights":
        weights = np.full(len(rows), 1.5)
        graph = gc.Graph(rows, columns, weights, vertices=90, max_weight=2.0)
    else:
        graph = gc.Graph(rows, columns, vertices=90)
    groups = Groups(graph.vertices, {"g": GROUP_OF_VERTEX.tolist()})
    return graph, groups, "laplace" if kind == "weights" else "binary"


def graph_and_problem(kind, mechanism):
    """Return a graph, and the fit problem of its noisy entries, degrees and sums of groups."""
    graph, groups, noise = graph_with_groups(kind)
    measurements = drawn(graph, groups, mechanism, noise=noise, epsilon=8.0).measurements
    entries, sums = measurements.values[-1], measurements.find(CellSums)
    max_weight = entries.distribution.max_weight
    return graph, FitProblem(entries.blocks, max_weight, measurements.find(Degrees), None, sums)


@pytest.mark.thorough(cases=1)
@GRAPHS_WITH_GROUPS
@pytest.mark.parametrize("mechanism", ["randomized-response", "degrees+randomized-response"])
def test_degrees_and_sums_between_groups_agree_and_are_near_the_truth(kind, mechanism):
    graph, fit_problem = graph_and_problem(kind, mechanism)
    targets = targets_of(fit_problem)
    cells = CellEstimates.of(fit_problem.groups)
    left, right = cells.indicators
    left_lengths, right_lengths = (np.sqrt(groups.sum(axis=0)) for groups in (left, right))
    left_count, right_count = cells.groups.shape
    # The frame begins with the groups.
    assert np.allclose(targets.left_frame[:, :left_count] * left_lengths, left)
    group_sums = targets.frame_sums[:left_count, :right_count]
    group_sums = group_sums * np.outer(left_lengths, right_lengths)
    assert np.allclose(group_sums.sum(axis=1), left.T @ targets.rows)
    assert np.allclose(group_sums.sum(axis=0), right.T @ targets.columns)
    if targets.slack.shape != cells.groups.shape:  # the frame has other columns as well
        assert (targets.slack[:left_count, :right_count] < targets.slack.max()).all()
    two_deviations = 2 * np.sqrt(cells.variances.max())
    assert np.abs(group_sums - left.T @ graph.dense() @ right).max() <= 6 * two_deviations


@pytest.mark.thorough(cases=1)
@GRAPHS_WITH_GROUPS
def test_a_synthetic_graph_with_groups_has_better_sums_between_them(kind):
    graph, groups, noise = graph_with_groups(kind)
    with_groups, without_groups = (
        gc.release_graph(graph, epsilon=2.0, noise=noise, groups=groups_or_none, seed=2)
        for groups_or_none in (groups, None)
    )
    cells = CellEstimates.of(with_groups.measurements.find(CellSums))
    left, right = cells.indicators
    error, error_without_groups = (
        np.abs(left.T @ (release.graph.dense() - graph.dense()) @ right).mean()
        for release in (with_groups, without_groups)
    )
    assert error <= 6 * np.sqrt(cells.variances.max())
    assert error < error_without_groups


@pytest.mark.parametrize("kind", ["graph", "two sides"])
def test_estimates_of_cells_are_generalised_least_squares_of_three_measurements(kind):
    """Of the cells, of the noisy entries in each cell, and of degrees: against dense matrices."""
    _, fit_problem = graph_and_problem(kind, "degrees+randomized-response")
    cells = CellEstimates.of(fit_problem.groups)
    left_count, right_count = cells.groups.shape
    rng, cell_count, entry_variance = np.random.default_rng(1), len(cells.values), 0.9
    entry_sums = rng.normal(size=cell_count) * 50
    volumes = tuple(rng.normal(size=count) * 50 for count in cells.groups.shape)
    volume_variances = tuple(rng.random(count) + 1 for count in cells.groups.shape)

    estimates = cells.with_entries(entry_sums, entry_variance)
    estimates = estimates.with_volumes(volumes, volume_variances)

    # How often a cell counts in the volume of each group; rows first, then columns.
    volume_of_cell = np.zeros((left_count + right_count, cell_count))
    for cell, (a, b) in enumerate(zip(*cells.groups.ends, strict=True)):
        volume_of_cell[a, cell] += 1
        volume_of_cell[b if cells.symmetric else left_count + b, cell] += 1
    if cells.symmetric:
        volume_of_cell = volume_of_cell[:left_count]
        volumes, volume_variances = volumes[:1], volume_variances[:1]
    design = np.vstack([np.eye(cell_count), np.eye(cell_count), volume_of_cell])
    values = np.concatenate([cells.values, entry_sums, *volumes])
    variances = np.concatenate(
        [cells.variances, entry_variance * cells.groups.pairs, *volume_variances]
    )
    covariance = np.linalg.inv(design.T @ (design / variances[:, None]))
    assert np.allclose(estimates.values, covariance @ design.T @ (values / variances))
    assert np.allclose(estimates.variances, np.diag(covariance))


@pytest.mark.parametrize(
    ("spread", "largest_ratio"),
    [
        pytest.param(0.0, 0.15, id="as degrees expect"),
        pytest.param(3.0, 1.05, id="far from what degrees expect"),
    ],
)
def test_sums_are_shrunk_to_what_degrees_expect_if_noise_explains_the_difference(
    spread, largest_ratio
):
    rng, deviation = np.random.default_rng(8), 30.0
    expected = rng.random(300) * 50 + 20
    noise = rng.normal(size=300) * deviation
    truth = expected * (1 + spread * rng.normal(size=300))
    estimates = shrunk(truth + noise, expected, np.full(300, deviation**2), cap=1.0)
    assert np.abs(estimates - truth).mean() < largest_ratio * np.abs(noise).mean()


# The Chung-Lu matrix: min(r_i c_j, 1), with given row and column sums.


def chung_lu_matrix(kind, rows, columns):
    """Return the matrix for these degrees, and check that it is one of probabilities of edges."""
    if kind == "graph":
        r, c = chung_lu_module.chung_lu_factors(rows)
    else:
        r, c = chung_lu_module.chung_lu_factors(rows, columns, hollow=kind == "arcs")
    x = np.minimum(np.outer(r, c), 1.0)
    if kind != "two sides":
        np.fill_diagonal(x, 0.0)
    assert np.isfinite(x).all()
    assert x.min(initial=0) >= 0
    assert kind != "graph" or np.array_equal(x, x.T)
    return x


KINDS_OF_MATRICES = st.sampled_from(["graph", "arcs", "two sides"])
FACTORS = st.lists(st.floats(0.1, 2.0), min_size=8, max_size=30)


@settings(max_examples=60, deadline=None)
@given(KINDS_OF_MATRICES, FACTORS, FACTORS, st.randoms(use_true_random=False))
def test_the_sums_of_a_chung_lu_matrix_give_a_matrix_of_the_same_sums(kind, r, c, random):
    c = {"graph": r, "arcs": random.sample(r, len(r)), "two sides": c}[kind]
    original = np.minimum(np.outer(r, c), 1.0)
    if kind != "two sides":
        np.fill_diagonal(original, 0.0)
    x = chung_lu_matrix(kind, original.sum(axis=1), original.sum(axis=0))
    tolerance = 1e-4 * original.sum(axis=1).mean()
    for axis in (0, 1):
        assert np.abs(x.sum(axis=axis) - original.sum(axis=axis)).max() <= tolerance


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(KINDS_OF_MATRICES, st.lists(st.integers(-5, 40), min_size=1, max_size=30))
def test_any_degrees_give_a_matrix_in_which_those_below_1_have_no_edges(kind, degrees):
    x = chung_lu_matrix(kind, degrees, degrees[::-1])
    assert not x[np.array(degrees) <= 0].any()


@pytest.mark.parametrize(
    ("kind", "rows", "columns", "expected"),
    [
        ("graph", [], [], []),
        ("graph", [3.0], [], [0]),
        ("graph", [0, -1, 0], [], [0, 0, 0]),
        ("graph", [4] * 5, [], [4] * 5),
        # One vertex has a larger degree than the others allow: these come near their own degrees.
        ("graph", [50, 1, 1, 1, 1], [], [4, 1, 1, 1, 1]),
        ("graph", [1e300, 1e-300, 1, 1], [], None),
        ("arcs", [5, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1], [5, 0, 0, 0, 0, 0]),
        ("arcs", [1, 1, 1], [3, 0, 0], None),
        ("arcs", [2, 2, 2], [2, 2, 2], [2, 2, 2]),
        ("two sides", [0, 0], [1, 2, 3], [0, 0]),
        # Totals that differ, 6 and 4, are replaced by their mean.
        ("two sides", [1, 3, 1, 1], [1, 1, 2, 0, 0, 0], [5 / 6, 15 / 6, 5 / 6, 5 / 6]),
    ],
)
def test_extreme_degrees_give_a_matrix_without_warnings(kind, rows, columns, expected):
    """Its row sums are checked unless None."""
    x = chung_lu_matrix(kind, rows, columns)
    if expected is not None:
        assert x.sum(axis=1) == pytest.approx(expected, abs=0.01)


def test_the_matrix_for_degrees_of_a_real_graph_has_these_degrees():
    graph = gc.datasets.load("us_flights_2008")
    degrees = np.bincount(np.r_[graph.rows, graph.columns])
    sums = chung_lu_matrix("graph", degrees, []).sum(axis=1)
    assert np.abs(sums - degrees).max() <= 1e-6
