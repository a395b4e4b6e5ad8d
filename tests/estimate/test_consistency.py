"""Least squares on trees of cells, against dense linear algebra."""

from dataclasses import dataclass

import numpy as np
import pytest
from flow_cases import random_cells

from graphcuts_dp.estimate.consistency import LeastSquares

# Variances of the noise of the four levels; infinite for a level that was not measured.
VARIANCES = {
    "all levels": [2.0, 3.0, 5.0, 1.0],
    "two levels": [np.inf, 1.0, np.inf, 4.0],
    "the finest level": [np.inf, np.inf, np.inf, 2.0],
    "variances far apart": [1e-3, 1e3, 1.0, 1e2],
}


@dataclass(frozen=True)
class DenseProblem:
    """A least-squares problem as dense matrices.

    Attributes:
        to_levels: for each level, the matrix from finest cells to the cells of that level.
        measured_levels: indices of the measured levels.
        covariance: of the estimates of the finest cells.
        solution: matrix from all measured sums, level by level, to the finest cells.
    """

    to_levels: list[np.ndarray]
    measured_levels: list[int]
    covariance: np.ndarray
    solution: np.ndarray


def dense_problem(cells, variances):
    """Write the problem as min |design x - sums|^2, weighted by the precisions of the sums."""
    finest = cells.depth - 1
    to_levels = [np.eye(cells.size(finest))]
    for level in range(finest, 0, -1):
        to_parents = np.zeros((cells.size(level - 1), cells.size(level)))
        to_parents[cells.parents(level), np.arange(cells.size(level))] = 1
        to_levels.insert(0, to_parents @ to_levels[0])
    measured_levels = [level for level in range(cells.depth) if np.isfinite(variances[level])]
    design = np.concatenate([to_levels[level] for level in measured_levels])
    precisions = np.concatenate(
        [np.full(cells.size(level), 1 / variances[level]) for level in measured_levels]
    )
    covariance = np.linalg.inv(design.T @ (precisions[:, None] * design))
    return DenseProblem(
        to_levels, measured_levels, covariance, covariance @ (design.T * precisions)
    )


def coefficients_by_level(cells, measured_levels, row):
    """Divide coefficients of all measured sums by level, with zeros for the other levels."""
    sizes = [cells.size(level) if level in measured_levels else 0 for level in range(cells.depth)]
    parts = np.split(row, np.cumsum(sizes)[:-1])
    return [part if len(part) else np.zeros(cells.size(level)) for level, part in enumerate(parts)]


@pytest.fixture(params=["one set", "directed", "two sides"])
def cells(request):
    return random_cells(np.random.default_rng(0), request.param)


@pytest.fixture(params=VARIANCES)
def variances(request):
    return np.array(VARIANCES[request.param])


def assert_coefficients_equal(actual, cells, measured_levels, row):
    expected = coefficients_by_level(cells, measured_levels, row)
    for of_level, expected_of_level in zip(actual, expected, strict=True):
        assert np.allclose(of_level, expected_of_level, atol=1e-12)


def test_estimates_and_variances_are_those_of_dense_least_squares(cells, variances):
    dense, fit = dense_problem(cells, variances), LeastSquares(cells, variances)
    rng = np.random.default_rng(1)
    sums = {level: rng.normal(size=cells.size(level)) * 10 for level in dense.measured_levels}

    estimates = fit.estimates(sums)

    finest = dense.solution @ np.concatenate([sums[level] for level in dense.measured_levels])
    for level, to_level in enumerate(dense.to_levels):
        level_variances = np.diag(to_level @ dense.covariance @ to_level.T)
        assert np.allclose(estimates[level], to_level @ finest)
        assert np.allclose(fit.variances[level], level_variances, rtol=1e-9)


@pytest.mark.thorough(cases=3)
def test_coefficients_of_each_cell_are_those_of_dense_least_squares(cells, variances):
    dense, fit = dense_problem(cells, variances), LeastSquares(cells, variances)
    for level, to_level in enumerate(dense.to_levels):
        for cell, row in enumerate(to_level @ dense.solution):
            one_cell = np.eye(1, cells.size(level), cell)[0]
            coefficients = fit.coefficients({level: one_cell})
            assert_coefficients_equal(coefficients, cells, dense.measured_levels, row)


@pytest.mark.thorough(cases=4)
def test_spreads_of_a_level_are_those_of_the_coefficients_of_its_cells(cells, variances):
    dense, fit = dense_problem(cells, variances), LeastSquares(cells, variances)
    noise_variances = np.where(np.isfinite(variances), variances, 0.0)
    for level, to_level in enumerate(dense.to_levels):
        spread = fit.spreads(level)
        assert spread.least_largest is None  # so the largest coefficient is exact
        level_variances = np.diag(to_level @ dense.covariance @ to_level.T)
        assert np.allclose(spread.squares @ noise_variances, level_variances, rtol=1e-9)
        for cell in range(cells.size(level)):
            one_cell = np.eye(1, cells.size(level), cell)[0]
            spread_of_cell = fit.spread_of(fit.coefficients({level: one_cell}))
            assert np.allclose(spread_of_cell.squares[0], spread.squares[cell])
            assert np.allclose(spread_of_cell.absolute[0], spread.absolute[cell])
            assert np.allclose(spread_of_cell.largest[0], spread.largest[cell])


def test_coefficients_of_a_combination_of_several_levels_add_up(cells, variances):
    dense, fit = dense_problem(cells, variances), LeastSquares(cells, variances)
    rng = np.random.default_rng(2)
    combination = {level: rng.normal(size=cells.size(level)) for level in (0, 2, 3)}
    row = sum(combination[level] @ dense.to_levels[level] for level in combination)
    assert_coefficients_equal(
        fit.coefficients(combination), cells, dense.measured_levels, row @ dense.solution
    )
