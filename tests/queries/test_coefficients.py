"""Rounding of coefficients to a grid, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp import VertexSet
from graphcuts_dp.queries.coefficients import CoefficientGrid, Extent
from graphcuts_dp.queries.linear import RankOneQuery


def largest_shift(grid, coefficients, exact):
    """The largest distance of a rounded coefficient from the exact one, in grid units."""
    units = grid.grid_units(coefficients).tolist()
    unit = Fraction(grid.unit)
    return max(abs(count - value / unit) for count, value in zip(units, exact, strict=True))


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("largest", [1.0, 0.7, 1 / 3, 1e-9, 3.1e12, 1.9])
def test_near_ties_are_rounded_by_no_more_than_the_bound(largest):
    """Coefficients as near as floats come to half units, just below the largest one."""
    grid = CoefficientGrid(Extent(largest, 0.0, largest, on_grid=False))
    bound = Fraction(grid.rounding_error(1, 1.0)) / Fraction(grid.unit)
    halves = grid.max_units - np.arange(2000) - 0.5  # exact: odd multiples of 1/2
    near = halves * grid.unit
    ties = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, np.inf), -near])
    shift = largest_shift(grid, ties, [Fraction(value) for value in ties.tolist()])
    assert Fraction(1, 2) <= shift <= bound
    if np.frexp(largest)[0] != 0.5:  # the division of ties is not exact
        assert shift > Fraction(1, 2) + Fraction(1, 1 << 26)


def test_products_near_ties_are_rounded_by_no_more_than_the_bound():
    """Coefficients u_0 v_1 + u_1 v_0 of a rank-one query, compared with exact products."""
    rng = np.random.default_rng(1)
    space, shifts = VertexSet(3), []
    for _ in range(2000):
        u0, v0, v1 = 1 - rng.random(3) / 8
        # Vertex 2 has the largest coefficient, with vertex 0. Choose u_1 for a tie.
        largest = RankOneQuery([u0, 0, 1], [v0, v1, 1]).sensitivity(space)
        unit = largest * 2.0**-30
        half = np.floor(0.97 * 2**30) + 0.5
        u1 = (half * unit - u0 * v1) / v0
        if not 0 <= u1 <= 1:
            continue
        query = RankOneQuery([u0, u1, 1], [v0, v1, 1])
        grid = CoefficientGrid(Extent.of(query, space))
        coefficient = query.coefficients_at(np.array([0]), np.array([1]), space)
        exact = Fraction(u0) * Fraction(v1) + Fraction(u1) * Fraction(v0)
        bound = Fraction(grid.rounding_error(1, 1.0)) / Fraction(grid.unit)
        shift = largest_shift(grid, coefficient, [exact])
        assert shift <= bound
        shifts.append(shift)
    assert max(shifts) > Fraction(1, 2) + Fraction(1, 1 << 25)


@pytest.mark.thorough
def test_coefficients_above_the_largest_one_found_are_cut_off_within_the_bound():
    """For points nearly on a line, rounding can make `sensitivity` too small."""
    rng = np.random.default_rng(2)
    n, too_small = 20, 0
    space = VertexSet(n)
    rows, columns = np.triu_indices(n, 1)
    for _ in range(400):
        a, b = 0.6 + rng.random(2) * 0.4
        u = rng.random(n) * 0.8
        v = np.clip((0.9 - a * u) / b, 0, 1)
        u[0], v[0] = b, a  # its coefficients with the others are a u_i + b v_i
        query = RankOneQuery(u, v)
        coefficients = query.coefficients_at(rows, columns, space)
        extent = Extent.of(query, space)
        too_small += coefficients.max() > extent.largest
        assert coefficients.max() <= extent.largest * (1 + 12 * n * 2.0**-53)
        grid = CoefficientGrid(extent)
        assert grid.grid_units(coefficients).max() == grid.max_units
        exact = [
            Fraction(u[i]) * Fraction(v[j]) + Fraction(u[j]) * Fraction(v[i])
            for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        ]
        bound = Fraction(grid.rounding_error(1, 1.0)) / Fraction(grid.unit)
        assert largest_shift(grid, coefficients, exact) <= bound
    assert too_small
