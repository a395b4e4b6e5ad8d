"""The convex program of the maximum-entropy fit: gradient, optimum, slack, extreme targets.

The notation (evidence, multipliers a, b and Theta, frames) is that of `synth.maximum_entropy`.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from noisy_cases import indicators, planted, planted_bipartite, planted_directed, problem

from graphcuts_dp.estimate import blocks
from graphcuts_dp.schema import layout as layout_module
from graphcuts_dp.synth import maximum_entropy as module
from graphcuts_dp.synth.maximum_entropy import solve, synthetic_rows
from graphcuts_dp.synth.targets import RIDGE, SLACK, Targets

BLOCK_SIZES = (8, 8, 8)
RIGHT_SIZES = (5, 5, 5)  # of bipartite graphs
KINDS = pytest.mark.parametrize("kind", ["undirected", "bipartite", "directed"])


def problem_and_targets(kind, *, noise="binary"):
    """Return a fit problem, and as targets the sums of its true graph over its true blocks."""
    row_blocks = column_blocks = indicators(BLOCK_SIZES)
    if kind == "undirected":
        graph, _ = planted(BLOCK_SIZES, 0.7, 0.1)
    elif kind == "directed":
        graph, _ = planted_directed(BLOCK_SIZES, 0.7, 0.3, 0.1)
    else:
        graph, _ = planted_bipartite(BLOCK_SIZES, RIGHT_SIZES, 0.7, 0.1)
        column_blocks = indicators(RIGHT_SIZES)
    left, right = (frame / np.linalg.norm(frame, axis=0) for frame in (row_blocks, column_blocks))
    weights = graph.dense()
    rows, columns = weights.sum(axis=1) + 0.5, weights.sum(axis=0) + 0.5
    columns *= rows.sum() / columns.sum()
    if kind == "undirected":
        right, columns = left, rows
    targets = Targets(rows, columns, left, right, left.T @ weights @ right)
    return problem(graph, noise=noise), targets


def fitted_matrix(fit_problem, solution, max_weight=1.0):
    """Return the matrix of a solution: factors, number of rounds, and what ended them."""
    return fit_problem.blocks.gather(
        synthetic_rows, solution[0], max_weight, width=fit_problem.shape[1], dtype=np.float64
    )


@pytest.mark.parametrize("noise", ["binary", "laplace"])
@KINDS
def test_the_gradient_is_that_of_the_value(kind, noise):
    """By central differences of step h, with errors of order h^2 and of float32 rounding over h.

    The penalties are as large as the sums, so that errors in them would show.
    """
    fit_problem, targets = problem_and_targets(kind, noise=noise)
    dual = module._Dual(fit_problem.blocks, replace(targets, ridge=0.5, slack=2.0), 1.0)
    rng, h = np.random.default_rng(0), 0.02
    start = dual.start()
    point = start + rng.normal(0, 1.0, len(start))
    value, gradient = dual(point)
    assert np.isfinite(value)
    for _ in range(12):
        direction = rng.normal(size=len(point))
        direction /= np.linalg.norm(direction)
        slope = (dual(point + h * direction)[0] - dual(point - h * direction)[0]) / (2 * h)
        assert slope == pytest.approx(gradient @ direction, abs=0.01 * np.linalg.norm(gradient))


def matrix_of_start(kind):
    """Return uneven row and column targets, and the matrix of the start without evidence."""
    fit_problem, targets = problem_and_targets(kind)
    n, m = fit_problem.shape
    rows = np.linspace(1.0, 9.0, n)
    columns = rows if kind == "undirected" else np.linspace(9.0, 1.0, m) * rows.sum() / (5 * m)
    dual = module._Dual(fit_problem.blocks, replace(targets, rows=rows, columns=columns), 1.0)
    a, b, theta = dual._split(dual.start())
    assert not theta.any()
    return rows, columns, 1 / (1 + np.exp(-a[:, None] - b))


@KINDS
def test_the_start_of_a_small_matrix_has_the_target_total_in_equal_rows_and_columns(
    kind, monkeypatch
):
    monkeypatch.setattr(module, "_EQUAL_START_ENTRIES", 10**9)
    rows, _, x = matrix_of_start(kind)
    assert x.sum() == pytest.approx(rows.sum(), rel=0.05)
    for sums in (x.sum(axis=1), x.sum(axis=0)):
        assert sums == pytest.approx(np.full(len(sums), sums.mean()), rel=1e-9)


@KINDS
def test_the_start_of_a_large_matrix_has_row_and_column_sums_near_their_targets(kind, monkeypatch):
    monkeypatch.setattr(module, "_EQUAL_START_ENTRIES", 0)
    rows, columns, x = matrix_of_start(kind)
    assert x.sum() == pytest.approx(rows.sum(), rel=0.05)
    assert x.sum(axis=1) == pytest.approx(rows, rel=0.2)
    assert x.sum(axis=0) == pytest.approx(columns, rel=0.2)


@pytest.mark.parametrize("rows_at_once", [None, 8])
@pytest.mark.parametrize("noise", ["binary", "laplace"])
@pytest.mark.parametrize("shift", [-20.0, 0.0, 300.0])
@KINDS
def test_value_and_gradient_are_those_of_dense_matrices(
    kind, noise, shift, rows_at_once, monkeypatch
):
    """Of float64 matrices of log-odds, also if these are very large."""
    if rows_at_once:
        monkeypatch.setattr(layout_module, "_SMALL", 0)
        monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 1)
    monkeypatch.setattr(module, "_ROWS_OF_PRODUCT", 3)
    fit_problem, targets = problem_and_targets(kind, noise=noise)
    targets = replace(targets, ridge=0.0, slack=0.0)
    dual = module._Dual(fit_problem.blocks, targets, 1.0)
    multipliers = np.random.default_rng(1).normal(0, 1.0, len(dual.scale))
    multipliers[: dual.degree_count] += shift / 2
    point = multipliers / dual.scale

    value, gradient = dual(point)

    factors = dual.factors(point)
    evidence = np.concatenate([block.evidence(np.float64) for block in fit_problem.blocks._rows])
    log_odds = factors.left.astype(float) @ factors.right.T.astype(float) + evidence
    if kind != "bipartite":
        np.fill_diagonal(log_odds, -60.0)
    a, b, theta = dual._split(point)
    theta_part = dual.strength * float((theta * targets.frame_sums).sum())
    expected_value = dual.half * (np.logaddexp(0, log_odds).sum() - theta_part)
    expected_value -= a @ targets.rows
    if not dual.symmetric:
        expected_value -= b @ targets.columns
    assert value == pytest.approx(expected_value, rel=1e-5, abs=1e-2)

    x = 1 / (1 + np.exp(-log_odds))
    excess_of_frames = targets.left_frame.T @ x @ targets.right_frame - targets.frame_sums
    expected_gradient = dual._join(
        x.sum(axis=1) - targets.rows,
        x.sum(axis=0) - targets.columns,
        dual.half * dual.strength * excess_of_frames,
    )
    assert gradient == pytest.approx(expected_gradient, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("noise", ["binary", "laplace"])
@KINDS
def test_sums_are_the_targets_up_to_the_stated_slack(kind, noise):
    """At the optimum target - sum = ridge (a - mean a), and slack Theta for pairs of soft groups.

    The search ends at a scaled gradient of 0.01.
    """
    fit_problem, targets = problem_and_targets(kind, noise=noise)
    factors, _, stopped = solution = solve(fit_problem.blocks, targets, 1.0)
    assert stopped == "settled"
    x = fitted_matrix(fit_problem, solution)
    strength = math.sqrt(math.prod(fit_problem.shape))
    ridge = RIDGE * strength
    a, b = factors.left[:, -2], factors.right[:, -1]
    # The curvature of a row is at most a quarter of its length.
    tolerance = 0.05 * math.sqrt(max(fit_problem.shape) / 4)
    assert np.abs(x.sum(axis=1) - targets.rows + ridge * (a - a.mean())).max() < tolerance
    assert np.abs(x.sum(axis=0) - targets.columns + ridge * (b - b.mean())).max() < tolerance
    theta = targets.left_frame.T @ factors.left[:, :-2] / strength
    excess = targets.left_frame.T @ x @ targets.right_frame - targets.frame_sums
    assert np.abs(excess + SLACK * theta).max() < 0.05
    assert np.abs(excess).max() < 0.15 * np.abs(targets.frame_sums).max()


@KINDS
def test_no_other_matrix_with_the_same_sums_is_nearer_to_the_evidence(kind):
    """The condition of optimality: log-odds less evidence is some a_i + b_j + q_i^T Theta r_j."""
    fit_problem, targets = problem_and_targets(kind)
    x = fitted_matrix(fit_problem, solve(fit_problem.blocks, targets, 1.0))
    evidence = fit_problem.blocks.gather(
        blocks.RowBlock.evidence, np.float64, width=fit_problem.shape[1], dtype=np.float64
    )
    n, m = x.shape
    is_pair = np.ones(x.shape, dtype=bool) if kind == "bipartite" else ~np.eye(n, dtype=bool)
    difference = np.log(x[is_pair] / (1 - x[is_pair])) - evidence[is_pair]
    # All matrices a_i + b_j + q_i^T Theta r_j, as linear combinations of columns.
    terms = [np.outer(row, np.ones(m)) for row in np.eye(n)]
    terms += [np.outer(np.ones(n), column) for column in np.eye(m)]
    terms += [np.outer(q, r) for q in targets.left_frame.T for r in targets.right_frame.T]
    basis = np.array([term[is_pair] for term in terms]).T
    coefficients, *_ = np.linalg.lstsq(basis, difference, rcond=None)
    assert np.abs(basis @ coefficients - difference).max() < 2e-3  # rounding of float32


# Of the true sums of a side: its targets, and what is added to the targets of soft groups.
EXTREME_TARGETS = {
    "negative": lambda sums: (-50 * np.ones_like(sums), -1e3),
    "huge": lambda sums: (1e9 * np.ones_like(sums), 1e9),
    "one huge": lambda sums: (np.where(np.arange(len(sums)) == 0, 1e7, sums), 0.0),
    "nothing": lambda sums: (np.full_like(sums, 1e-9), 0.0),
    "contradictory": lambda sums: (sums, -1e6),
}


@pytest.mark.parametrize("name", EXTREME_TARGETS)
@KINDS
def test_any_targets_give_a_matrix_in_the_box(kind, name):
    fit_problem, targets = problem_and_targets(kind)
    rows, added_to_groups = EXTREME_TARGETS[name](targets.rows)
    columns = rows if kind == "undirected" else EXTREME_TARGETS[name](targets.columns)[0]
    extreme = replace(
        targets, rows=rows, columns=columns, frame_sums=targets.frame_sums + added_to_groups
    )
    x = fitted_matrix(fit_problem, solve(fit_problem.blocks, extreme, 1.0))
    assert np.isfinite(x).all()
    assert 0 <= x.min() <= x.max() <= 1
    pairs = x.size if kind == "bipartite" else x.size - len(x)
    if name == "huge":
        assert x.sum() > 0.9 * pairs
    if name == "nothing":
        assert x.sum() < 0.1 * x.size


def test_twice_the_maximum_weight_and_twice_the_sums_give_twice_the_matrix():
    """The same program in other units."""
    graph, _ = planted((8, 8), 0.7, 0.1)
    doubled = type(graph)(
        graph.rows, graph.columns, 2 * graph.weights, vertices=graph.n, max_weight=2.0
    )
    frame = np.ones((16, 1)) / 4
    matrices = []
    for one_graph, max_weight in ((graph, 1.0), (doubled, 2.0)):
        fit_problem = problem(one_graph, noise="laplace")
        weights = one_graph.dense()
        degrees = weights.sum(axis=1)
        targets = Targets(degrees, degrees, frame, frame, frame.T @ weights @ frame)
        solution = solve(fit_problem.blocks, targets, max_weight)
        matrices.append(fitted_matrix(fit_problem, solution, max_weight))
    assert np.abs(matrices[1] - 2 * matrices[0]).max() < 0.02


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_end_of_time_and_the_most_rounds_end_the_search_at_the_same_point(rounds):
    class DeadlineAfterRounds:
        calls = 0

        def passed(self):
            self.calls += 1
            return self.calls == rounds

    fit_problem, targets = problem_and_targets("undirected")
    by_rounds = solve(fit_problem.blocks, targets, 1.0, rounds=rounds)
    by_time = solve(fit_problem.blocks, targets, 1.0, rounds=20, deadline=DeadlineAfterRounds())
    assert by_rounds[1:] == (rounds, "rounds")
    assert by_time[1:] == (rounds, "time")
    assert np.array_equal(
        fitted_matrix(fit_problem, by_time), fitted_matrix(fit_problem, by_rounds)
    )


def test_evidence_without_any_doubt_is_followed():
    """All edges at epsilon 40: the slope of each sigmoid is 0, and nothing may be divided by it."""
    graph, _ = planted_bipartite((6,), (5,), 1.0, 1.0)
    fit_problem = problem(graph, epsilon=40.0)
    left_frame, right_frame = np.ones((6, 1)) / 6**0.5, np.ones((5, 1)) / 5**0.5
    targets = Targets(
        np.full(6, 5.0), np.full(5, 6.0), left_frame, right_frame, np.array([[30**0.5]])
    )
    x = fitted_matrix(fit_problem, solve(fit_problem.blocks, targets, 1.0))
    assert x.min() == 1
