"""Properties of norms, validation, determinism, stopping, and the interface that the fits use."""

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cutnorm_matrices import small_matrices

import graphcuts_dp as gc
from graphcuts_dp import GraphError, MatrixError, ParameterError, cut_norm
from graphcuts_dp.cutnorm.exact import MAX_ENTRIES
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.cutnorm.spectral import prefix_cuts

infinity_to_one_norm = partial(cut_norm, norm="infinity-to-one")
normalised_cut_norm = partial(cut_norm, norm="normalised")
MOST = int(MAX_ENTRIES**0.5)  # rows of the largest square matrix that is solved
PLAIN = gc.Graph([0], [1], vertices=2)
FUNCTIONS = [cut_norm, infinity_to_one_norm, normalised_cut_norm]


def value(function: Any, matrix: Any) -> float:
    """The exact norm."""
    return float(function(matrix, method="exact").lower)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_distributions_of_norms(function: Any) -> None:
    rng = np.random.default_rng(1)
    for matrix in small_matrices(60, seed=2, largest=7):
        matrix = matrix.astype(float)
        other = rng.standard_normal(matrix.shape)
        norm = value(function, matrix)
        close = pytest.approx(norm, rel=1e-12, abs=1e-300)
        assert value(function, matrix + other) <= (norm + value(function, other)) * (1 + 1e-12)
        assert value(function, -matrix) == close
        assert value(function, matrix.T) == close
        assert value(function, 3.0 * matrix) == pytest.approx(3 * norm, rel=1e-12)
        rows, columns = (rng.permutation(size) for size in matrix.shape)
        assert value(function, matrix[np.ix_(rows, columns)]) == close
        assert value(function, np.pad(matrix, ((0, 1), (1, 0)))) == close
        assert value(function, 0 * matrix) == 0
        assert norm >= np.abs(matrix).max() * (1 - 1e-12)


def test_infinity_to_one_is_within_four_of_the_cut_norm() -> None:
    for matrix in small_matrices(60, seed=4):
        cut, signs = value(cut_norm, matrix), value(infinity_to_one_norm, matrix)
        assert cut <= signs * (1 + 1e-12)
        assert signs <= 4 * cut * (1 + 1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-30, 1e30, 1e200, 1e300])
@pytest.mark.parametrize("method", ["exact", "low-rank", "spectral"])
def test_extreme_scales(scale: float, method: Any) -> None:
    matrix = np.random.default_rng(5).standard_normal((6, 5))
    plain = cut_norm(matrix, method=method)
    scaled = cut_norm(matrix * scale, method=method)
    assert scaled.lower / scale == pytest.approx(plain.lower, rel=1e-9)
    assert scaled.upper / scale == pytest.approx(plain.upper, rel=1e-4)
    mixed = matrix.copy()
    mixed[0] *= scale
    assert cut_norm(mixed, method=method).upper >= cut_norm(mixed, method="exact").lower
    assert scaled.verify(matrix * scale) == scaled.lower


def test_overflowing_norm_is_still_bounded() -> None:
    certificate = cut_norm(np.full((3, 3), 1.7e308))
    assert certificate.upper == math.inf
    assert certificate.lower > 1.7e308


NO_MATRICES = [
    [[1.0, math.nan]],
    [[math.inf, 1.0]],
    sp.csr_array([[math.nan, 0.0]]),
    np.zeros((0, 3)),
    np.zeros(3),
    np.zeros((2, 2, 2)),
    [["a"]],
    [[1j]],
    [[1, 2], [3]],
    np.array([[2**53 + 1]]),
]


@pytest.mark.parametrize("matrix", NO_MATRICES)
def test_bad_matrices_are_refused(matrix: Any) -> None:
    for function in FUNCTIONS:
        with pytest.raises(MatrixError):
            function(matrix)


@pytest.mark.parametrize(
    ("error", "matrix", "options"),
    [
        (ParameterError, np.eye(3), {"norm": "nuclear"}),
        (ParameterError, np.eye(3), {"method": "magic"}),
        (ParameterError, np.eye(3), {"tolerance": -1}),
        (ParameterError, np.eye(3), {"tolerance": None}),
        (ParameterError, np.eye(3), {"time_limit": -1}),
        (ParameterError, np.eye(3), {"time_limit": "1 s"}),
        (ParameterError, np.eye(3), {"method": "low-rank", "seed": -1}),
        (GraphError, np.eye(3), {"other": np.ones((3, 3))}),
        (ParameterError, np.eye(3), {"norm": "infinity-to-one", "method": "spectral"}),
        (ParameterError, np.eye(3), {"norm": "normalised", "method": "sdp"}),
        (ParameterError, np.eye(3), {"norm": "normalised", "rank": 3}),
        (MatrixError, np.ones((150, 150)), {"method": "exact"}),
        (MatrixError, np.ones((MOST + 1, MOST + 1)), {"method": "exact"}),
        (MatrixError, np.ones((200, 200)), {"method": "sdp"}),
        (MatrixError, np.ones((40, 40)), {"norm": "normalised", "method": "exact"}),
        (MatrixError, np.eye(3), {"method": "low-rank", "start": LowRankSolver((2, 2))}),
        (GraphError, PLAIN, {"other": gc.BipartiteGraph([0], [1], left=2, right=2)}),
        (GraphError, PLAIN, {"other": gc.Graph([0], [1], vertices=4)}),
    ],
)
def test_bad_parameters_are_refused(error: Any, matrix: Any, options: Any) -> None:
    with pytest.raises(error):
        cut_norm(matrix, **options)


def test_what_is_of_another_shape_or_kind_is_refused() -> None:
    for arguments in (((2, 2), 0), ((2, 2), 2, np.int64)):
        with pytest.raises(ParameterError):
            LowRankSolver(*arguments)
    with pytest.raises(MatrixError):
        cut_norm(np.eye(3)).verify(np.eye(4))


def test_the_order_of_vertices_of_two_graphs_does_not_matter() -> None:
    g = gc.Graph([0, 1, 2], [1, 2, 3], vertices=list("abcd"))
    h = gc.Graph.of([("d", "a"), ("d", "b"), ("d", "c")], vertices=list("dcba"))
    same = gc.Graph.of([("a", "d"), ("b", "d"), ("c", "d")], vertices=list("abcd"))
    found = cut_norm(g, h)
    assert found.is_exact
    assert found.lower == cut_norm(g, same).lower > 0
    assert cut_norm(h, same).upper == 0
    sides = [gc.BipartiteGraph(*ends, left=2, right=3) for ends in (([0, 1], [0, 1]), ([0], [2]))]
    assert cut_norm(*sides).lower == cut_norm(*sides[::-1]).lower == 2


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_row_one_column_and_zeros(function: Any) -> None:
    row = np.array([[3, -1, 2, -5]])
    truth = {cut_norm: 6.0, infinity_to_one_norm: 11.0, normalised_cut_norm: 5.0}[function]
    assert function(row).lower == pytest.approx(truth, rel=1e-12)
    assert function(row.T).lower == pytest.approx(truth, rel=1e-12)
    assert function(np.zeros((3, 4))).ratio == 1.0
    assert function(sp.csr_array((50, 60))).is_exact


def test_same_seed_same_certificate() -> None:
    matrix = np.random.default_rng(7).standard_normal((80, 90))
    for method in ("low-rank", "spectral"):
        first, second = (cut_norm(matrix, method=method, seed=3) for _ in range(2))
        for field in dataclasses.fields(first):
            assert np.array_equal(getattr(first, field.name), getattr(second, field.name))


def test_structured_residuals_are_nearly_tight() -> None:
    rng = np.random.default_rng(8)
    groups = rng.integers(0, 2, 200)
    planted = np.where(groups[:, None] == groups, 0.3, -0.3)
    assert cut_norm(planted + 0.1 * rng.standard_normal((200, 200))).ratio <= 1.02
    assert cut_norm(rng.choice([-1.0, 1.0], (200, 200))).ratio <= 1.15
    weights = rng.random((150, 80))  # without a negative entry it is the sum
    certificate = cut_norm(weights, method="low-rank")
    assert certificate.S.all()
    assert certificate.T.all()
    assert certificate.ratio < 1 + 1e-9


def test_time_limit_and_tolerance() -> None:
    matrix = np.random.default_rng(10).standard_normal((300, 300))
    certificate = cut_norm(matrix, time_limit=0.0)
    assert certificate.stopped == "time"
    assert certificate.lower <= certificate.upper < math.inf
    longer = cut_norm(matrix, tolerance=0.01)
    assert certificate.ratio > longer.ratio  # the search goes on where there is time
    assert cut_norm(matrix, tolerance=0.5).stopped == "tolerance"
    small = cut_norm(matrix[:22, :22], method="exact", time_limit=0.0)
    assert small.stopped in ("time", "exact")
    assert small.upper < math.inf


def test_solver_for_the_fits() -> None:
    rng = np.random.default_rng(11)
    matrix = rng.standard_normal((30, 40))
    solver = LowRankSolver((30, 40), 16, seed=1)
    before = solver.value(matrix)
    after = solver.step(matrix, 50)
    assert after > before
    assert solver.value(matrix) == pytest.approx(after)
    P, Q = solver.subgradient_factors()
    gradient = P @ Q.T
    assert float((gradient * matrix).sum()) == pytest.approx(after)
    other = matrix + 0.1 * rng.standard_normal(matrix.shape)
    assert solver.value(other) == pytest.approx(float((gradient * other).sum()))
    batch = solver.round_batch(matrix, 64, 6)
    check_batch(batch, matrix, np.ones(len(batch.values)))
    assert len({(S.tobytes(), T.tobytes()) for S, T in zip(batch.S, batch.T, strict=True)}) == len(
        batch.values
    )
    assert abs(batch.values[0]) <= solver.upper_bound(matrix).value
    few = solver.round_batch(matrix)
    assert (few.S.shape[1], few.T.shape[1]) == (30, 40)


def check_batch(batch: Any, matrix: Any, sizes: Any) -> None:
    """Cuts with their values, the largest for its size first."""
    assert np.all(np.diff(np.abs(batch.values) / sizes) <= 1e-9)
    for S, T, cut in zip(batch.S, batch.T, batch.values, strict=True):
        assert float(matrix[np.ix_(S, T)].sum()) == pytest.approx(cut)


def test_warm_start_is_kept() -> None:
    matrix = np.random.default_rng(12).standard_normal((60, 60))
    solver = LowRankSolver((60, 60), 12)
    solver.step(matrix, 200)
    certificate = cut_norm(matrix, method="low-rank", start=solver)
    assert certificate.ratio <= 1.2
    zero = LowRankSolver((5, 6), 3)
    assert zero.step(np.zeros((5, 6)), 3) == 0.0
    assert np.allclose(np.linalg.norm(zero.U, axis=1), 1.0)


def test_prefix_cuts() -> None:
    matrix = np.random.default_rng(13).standard_normal((50, 70))
    for form in (matrix, sp.csr_array(matrix)):
        batch = prefix_cuts(form, 5)
        check_batch(batch, matrix, np.sqrt(batch.S.sum(axis=1) * batch.T.sum(axis=1)))


def test_momentum_solves_the_relaxation_in_three_quarters_of_the_alternations() -> None:
    """Distances from the limit: 1e-6 after 30 with momentum, 1e-5 to 3e-5 after 40 without."""
    for seed in range(3):
        matrix = np.random.default_rng(seed).standard_normal((150, 150))
        plain, moving = (LowRankSolver(matrix.shape, rank=24) for _ in range(2))
        assert moving.step(matrix, 30, momentum=0.85) > (1 + 5e-6) * plain.step(matrix, 40)


def test_momentum_goes_on_from_call_to_call_and_keeps_rows_of_length_one() -> None:
    matrix = np.random.default_rng(0).standard_normal((40, 60))
    matrix[:, 7] = 0.0
    at_once, by_parts = (LowRankSolver(matrix.shape, rank=12) for _ in range(2))
    at_once.step(matrix, 12, momentum=0.85)
    for _ in range(4):
        by_parts.step(matrix, 3, momentum=0.85)
    assert np.array_equal(at_once.V, by_parts.V)
    for rows in (at_once.U, at_once.V):
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0)
