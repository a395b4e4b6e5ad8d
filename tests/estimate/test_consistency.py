"""Least squares on trees of cells, against dense linear algebra."""

import numpy as np
import pytest
from flow_cases import random_cells

from graphcuts_dp.estimate.consistency import LeastSquares


def dense_problem(cells, variances):
    """The matrix from finest cells to all cells, and the covariance of the estimates."""
    last = cells.depth - 1
    up = [np.eye(cells.size(last))]
    for place in range(last, 0, -1):
        step = np.zeros((cells.size(place - 1), cells.size(place)))
        step[cells.parents(place), np.arange(cells.size(place))] = 1
        up.insert(0, step @ up[0])
    measured = [p for p in range(cells.depth) if np.isfinite(variances[p])]
    design = np.concatenate([up[p] for p in measured])
    precision = np.concatenate([np.full(cells.size(p), 1 / variances[p]) for p in measured])
    covariance = np.linalg.inv(design.T @ (precision[:, None] * design))
    solve = covariance @ (design.T * precision)
    return up, measured, covariance, solve


def split(cells, measured, row):
    """A row of coefficients of all measured sums, by place."""
    sizes = [cells.size(p) if p in measured else 0 for p in range(cells.depth)]
    parts = np.split(row, np.cumsum(sizes)[:-1])
    return [part if len(part) else np.zeros(cells.size(p)) for p, part in enumerate(parts)]


VARIANCES = [
    [2.0, 3.0, 5.0, 1.0],
    [np.inf, 1.0, np.inf, 4.0],
    [np.inf, np.inf, np.inf, 2.0],
    [1e-3, 1e3, 1.0, 1e2],
]


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize("kind", ["one set", "directed", "two sides"])
@pytest.mark.parametrize("number", range(len(VARIANCES)))
def test_estimates_and_their_noise_are_those_of_dense_least_squares(kind, number):
    """Also of a combination of several places at once."""
    rng = np.random.default_rng(number)
    cells = random_cells(rng, kind)
    variances = np.array(VARIANCES[number])
    up, measured, covariance, solve = dense_problem(cells, variances)
    fit = LeastSquares(cells, variances)

    def check(told, row):
        for own, exact in zip(told, split(cells, measured, row), strict=True):
            assert np.allclose(own, exact, atol=1e-12)

    sums = {p: rng.normal(size=cells.size(p)) * 10 for p in measured}
    finest = solve @ np.concatenate([sums[p] for p in measured])
    found = fit.estimates(sums)
    for place in range(cells.depth):
        exact = up[place] @ covariance @ up[place].T
        assert np.allclose(found[place], up[place] @ finest)
        assert np.allclose(fit.variances[place], np.diag(exact), rtol=1e-9)
        spread = fit.spreads(place)
        weights = np.where(np.isfinite(variances), variances, 0.0)
        assert np.allclose(spread.squares @ weights, np.diag(exact), rtol=1e-9)
        for cell, row in enumerate(up[place] @ solve):
            told = fit.coefficients({place: np.eye(1, cells.size(place), cell)[0]})
            check(told, row)
            exactly = fit.spread_of(told)
            assert np.allclose(exactly.squares[0], spread.squares[cell])
            assert np.allclose(exactly.absolute[0], spread.absolute[cell])
            assert np.allclose(exactly.largest[0], spread.largest[cell])
        assert spread.least_largest is None  # so the largest must be exact
    wanted = {p: rng.normal(size=cells.size(p)) for p in (0, 2, 3)}
    check(fit.coefficients(wanted), sum(wanted[p] @ up[p] for p in wanted) @ solve)
