"""The convex program behind the maximum-entropy fit: gradient, optimum, symmetry, absurd wishes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from noisy_cases import indicators, planted, planted_bipartite, planted_directed, problem

from graphcuts_dp.estimate import blocks
from graphcuts_dp.schema import layout as layout_module
from graphcuts_dp.synth import maximum_entropy as module
from graphcuts_dp.synth import targets
from graphcuts_dp.synth.maximum_entropy import (
    solve,
    synthetic_rows,
)
from graphcuts_dp.synth.targets import Targets

SIZES = (8, 8, 8)
KINDS = pytest.mark.parametrize("kind", ["undirected", "bipartite", "directed"])


def case(kind, *, noise="binary"):
    """A problem and the sums of its true graph over its true blocks."""
    left = right = indicators(SIZES)
    if kind == "undirected":
        graph = planted(SIZES, 0.7, 0.1)[0]
    elif kind == "directed":
        graph = planted_directed(SIZES, 0.7, 0.3, 0.1)[0]
    else:
        graph, right = planted_bipartite(SIZES, (5, 5, 5), 0.7, 0.1)[0], indicators((5, 5, 5))
    left, right = (frame / np.linalg.norm(frame, axis=0) for frame in (left, right))
    A = graph.dense()
    rows, columns = A.sum(axis=1) + 0.5, A.sum(axis=0) + 0.5
    columns *= rows.sum() / columns.sum()
    if kind == "undirected":
        right, columns = left, rows
    return problem(graph, noise=noise), Targets(rows, columns, left, right, left.T @ A @ right)


def matrix_of(given, solution, cap=1.0):
    return given.blocks.gather(
        synthetic_rows, solution[0], cap, width=given.shape[1], dtype=np.float64
    )


@pytest.mark.parametrize("noise", ["binary", "laplace"])
@KINDS
def test_the_gradient_is_that_of_the_value(kind, noise):
    """Central differences with step h: error of order h^2, and of rounding in float32 over h.

    With ridges large enough to be seen beside the sums.
    """
    given, sums = case(kind, noise=noise)
    dual = module._Dual(given.blocks, replace(sums, ridge=0.5, slack=2.0), 1.0)
    rng = np.random.default_rng(0)
    start = dual.start()
    point = start + rng.normal(0, 1.0, len(start))
    value, gradient = dual(point)
    assert np.isfinite(value)
    for _ in range(12):
        direction = rng.normal(size=len(point))
        direction /= np.linalg.norm(direction)
        h = 0.02
        slope = (dual(point + h * direction)[0] - dual(point - h * direction)[0]) / (2 * h)
        assert slope == pytest.approx(gradient @ direction, abs=0.01 * np.linalg.norm(gradient))


@KINDS
@pytest.mark.parametrize("equal", [True, False])
def test_the_start_has_the_wanted_total_and_of_a_large_matrix_the_wanted_sums(
    kind, equal, monkeypatch
):
    """Without evidence, of uneven sums: each row is within a fifth, where all were alike before."""
    monkeypatch.setattr(module, "_EQUAL_START_ENTRIES", 10**9 if equal else 0)
    given, sums = case(kind)
    n, m = given.shape
    rows = np.linspace(1.0, 9.0, n)
    columns = rows if kind == "undirected" else np.linspace(9.0, 1.0, m) * rows.sum() / (5 * m)
    dual = module._Dual(given.blocks, replace(sums, rows=rows, columns=columns), 1.0)
    a, b, theta = dual._split(dual.start())
    assert not theta.any()
    x = 1 / (1 + np.exp(-a[:, None] - b))
    assert x.sum() == pytest.approx(rows.sum(), rel=0.05)
    wanted = [(x.sum(axis=1), rows), (x.sum(axis=0), columns)]
    for found, sums_of_side in wanted:
        even = np.full(len(found), found.mean())
        assert found == pytest.approx(even if equal else sums_of_side, rel=1e-9 if equal else 0.2)


@pytest.mark.parametrize("rows_at_once", [None, 8])
@pytest.mark.parametrize("noise", ["binary", "laplace"])
@pytest.mark.parametrize("shift", [-20.0, 0.0, 300.0])
@KINDS
def test_sums_of_the_fit_are_those_of_the_written_matrix(
    kind, noise, shift, rows_at_once, monkeypatch
):
    """Value and gradient from float64 matrices of log-odds, also if these are very large."""
    if rows_at_once:
        monkeypatch.setattr(layout_module, "_SMALL", 0)
        monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 1)
    monkeypatch.setattr(module, "_ROWS_OF_PRODUCT", 3)
    given, sums = case(kind, noise=noise)
    sums = replace(sums, ridge=0.0, slack=0.0)
    dual = module._Dual(given.blocks, sums, 1.0)
    rng = np.random.default_rng(1)
    plain = rng.normal(0, 1.0, len(dual.scale))
    plain[: dual.degree_count] += shift / 2
    value, gradient = dual(plain / dual.scale)
    factors = dual.factors(plain / dual.scale)
    evidence = np.concatenate([block.evidence(np.float64) for block in given.blocks._rows])
    log_odds = factors.left.astype(float) @ factors.right.T.astype(float) + evidence
    if kind != "bipartite":
        np.fill_diagonal(log_odds, -60.0)
    x = 1 / (1 + np.exp(-log_odds))
    theta = dual._split(plain / dual.scale)[2]
    wished = float((theta * sums.frame_sums).sum())
    expected = dual.half * (np.logaddexp(0, log_odds).sum() - dual.strength * wished)
    a, b, _ = dual._split(plain / dual.scale)
    expected -= a @ sums.rows if dual.symmetric else a @ sums.rows + b @ sums.columns
    assert value == pytest.approx(expected, rel=1e-5, abs=1e-2)
    frame_sums = sums.left_frame.T @ x @ sums.right_frame - sums.frame_sums
    wanted = dual._join(
        x.sum(axis=1) - sums.rows,
        x.sum(axis=0) - sums.columns,
        dual.half * dual.strength * frame_sums,
    )
    assert gradient == pytest.approx(wanted, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("noise", ["binary", "laplace"])
@KINDS
def test_sums_come_out_but_for_the_stated_slack(kind, noise):
    """At the optimum of a convex program: sums wanted - sums had = ridge (a - mean a), and for the
    groups slack Theta; the search stops at a scaled gradient of 0.01."""
    given, sums = case(kind, noise=noise)
    solution = solve(given.blocks, sums, 1.0)
    assert solution[2] == "settled"
    x = matrix_of(given, solution)
    strength = math.sqrt(math.prod(given.shape))
    ridge = targets.RIDGE * strength
    a, b = solution[0].left[:, -2], solution[0].right[:, -1]
    # A row's curvature is at most a quarter of its length.
    near = 0.05 * math.sqrt(max(given.shape) / 4)
    assert np.abs(x.sum(axis=1) - sums.rows + ridge * (a - a.mean())).max() < near
    assert np.abs(x.sum(axis=0) - sums.columns + ridge * (b - b.mean())).max() < near
    theta = sums.left_frame.T @ solution[0].left[:, :-2] / strength
    had = sums.left_frame.T @ x @ sums.right_frame
    assert np.abs(had - sums.frame_sums + targets.SLACK * theta).max() < 0.05
    assert np.abs(had - sums.frame_sums).max() < 0.15 * np.abs(sums.frame_sums).max()


@KINDS
def test_no_other_matrix_with_those_sums_is_nearer_to_the_evidence(kind):
    """x sigma-shaped: in log-odds it differs from the evidence by sums of ends and of groups only,
    which is the condition of optimality for the largest relative entropy."""
    given, sums = case(kind)
    x = matrix_of(given, solve(given.blocks, sums, 1.0))
    evidence = given.blocks.gather(
        blocks.RowBlock.evidence, np.float64, width=given.shape[1], dtype=np.float64
    )
    hollow = kind != "bipartite"
    off = ~np.eye(len(x), dtype=bool) if hollow else np.ones(x.shape, dtype=bool)
    rest = np.zeros_like(x)
    rest[off] = np.log(x[off] / (1 - x[off])) - evidence[off]
    n, m = x.shape
    left, right = (
        np.column_stack([np.eye(k), f]) for k, f in ((n, sums.left_frame), (m, sums.right_frame))
    )
    # All a_i + b_j + q_i^T Theta r_j, as columns.
    ends = [np.outer(left[:, i], np.ones(m)) for i in range(n)]
    ends += [np.outer(np.ones(n), right[:, j]) for j in range(m)]
    ends += [np.outer(q, r) for q in sums.left_frame.T for r in sums.right_frame.T]
    basis = np.array([end[off] for end in ends]).T
    found = np.linalg.lstsq(basis, rest[off], rcond=None)[0]
    assert np.abs(basis @ found - rest[off]).max() < 2e-3  # float32


ABSURD = {
    "negative": lambda s: (-50 * np.ones_like(s), -1e3),
    "huge": lambda s: (1e9 * np.ones_like(s), 1e9),
    "one huge": lambda s: (np.where(np.arange(len(s)) == 0, 1e7, s), 0.0),
    "nothing": lambda s: (np.full_like(s, 1e-9), 0.0),
    "at odds": lambda s: (s, -1e6),
}


@pytest.mark.parametrize("wish", ABSURD)
@KINDS
def test_any_wish_gives_a_matrix_in_the_box(kind, wish):
    given, sums = case(kind)
    rows, groups = ABSURD[wish](sums.rows)
    columns = rows if kind == "undirected" else ABSURD[wish](sums.columns)[0]
    wanted = Targets(rows, columns, sums.left_frame, sums.right_frame, sums.frame_sums + groups)
    x = matrix_of(given, solve(given.blocks, wanted, 1.0))
    assert np.isfinite(x).all()
    assert 0 <= x.min() <= x.max() <= 1
    if wish == "huge":
        assert x.sum() > 0.9 * (x.size - len(x) * (kind != "bipartite"))
    if wish == "nothing":
        assert x.sum() < 0.1 * x.size


def test_a_cap_scales_the_matrix():
    """Capped noise of twice the cap, and twice the sums, are the same program in other units."""
    graph, _ = planted((8, 8), 0.7, 0.1)
    double = type(graph)(
        graph.rows, graph.columns, 2 * graph.weights, vertices=graph.n, max_weight=2.0
    )
    results = []
    for given, cap in ((graph, 1.0), (double, 2.0)):
        noisy = problem(given, noise="laplace")
        A = given.dense()
        frame = np.ones((16, 1)) / 4
        sums = Targets(A.sum(axis=1), A.sum(axis=1), frame, frame, frame.T @ A @ frame)
        results.append(matrix_of(noisy, solve(noisy.blocks, sums, cap), cap))
    assert np.abs(results[1] - 2 * results[0]).max() < 0.02


@pytest.mark.parametrize("rounds", [1, 3])
def test_rounds_and_time_end_the_search_at_a_point_of_the_box(rounds):
    given, sums = case("undirected")
    assert solve(given.blocks, sums, 1.0, rounds=rounds)[1:] == (rounds, "rounds")

    class Soon:
        rounds = 0

        def passed(self):
            self.rounds += 1
            return self.rounds == rounds

    found = solve(given.blocks, sums, 1.0, rounds=20, deadline=Soon())
    assert found[1:] == (rounds, "time")
    same = solve(given.blocks, sums, 1.0, rounds=rounds)
    assert np.array_equal(matrix_of(given, found), matrix_of(given, same))


def test_evidence_that_settles_everything():
    """Every bit a one at epsilon 40: no entry leaves any doubt, and nothing is divided by it."""
    graph, _ = planted_bipartite((6,), (5,), 1.0, 1.0)
    given = problem(graph, epsilon=40.0)
    rows, columns = np.full(6, 5.0), np.full(5, 6.0)
    sums = Targets(
        rows, columns, np.ones((6, 1)) / 6**0.5, np.ones((5, 1)) / 5**0.5, np.array([[30**0.5]])
    )
    assert matrix_of(given, solve(given.blocks, sums, 1.0)).min() == 1
