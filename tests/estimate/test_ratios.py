"""The parts of intervals of ratios: convex radii, and bounds on sums of squared shares."""

from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.estimate.tails import LineRadii, Side, ratio_bounds
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.results.flow_statistics import squared_shares

LAPLACE = LevelNoise("laplace", (Fraction(1, 2), Fraction(2)))
GAUSSIAN = LevelNoise("gaussian", (Fraction(9), Fraction(40)))
PLACES = (1, 2)


def told(seed, size=30):
    rng = np.random.default_rng(seed)
    return [np.zeros(1), rng.normal(size=size), rng.normal(size=3 * size)]


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("seed", range(5))
def test_radii_are_convex_and_a_norm(noise, seed):
    first, second = told(seed), told(seed + 100)
    line = LineRadii(noise, PLACES, first, second, failure=0.01)
    points = np.linspace(-3, 3, 25)
    radii = np.array([line.at(x, search=True) for x in points])
    assert (radii[1:-1] <= (radii[:-2] + radii[2:]) / 2 * (1 + 1e-3)).all()
    twice = LineRadii(noise, PLACES, [2 * part for part in first], second, failure=0.01)
    assert twice.at(0, search=True) == pytest.approx(2 * line.at(0, search=True), rel=1e-3)
    assert line.second() == pytest.approx(line.at(1e6, search=True) / 1e6, rel=1e-2)


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
def test_radii_hold_and_are_not_much_too_long(noise):
    rng = np.random.default_rng(0)
    first, second = told(1), told(2)
    radius = LineRadii(noise, PLACES, first, second, failure=0.01).at(0.7, search=True)
    sums = np.zeros(100_000)
    for place, parameter in zip(PLACES, noise.parameters, strict=True):
        weights = first[place] - 0.7 * second[place]
        for weight in weights:
            if noise.distribution == "laplace":
                chance = -np.expm1(-float(parameter))
                drawn = rng.geometric(chance, len(sums)) - rng.geometric(chance, len(sums))
            else:
                drawn = np.rint(rng.normal(size=len(sums)) * float(parameter) ** 0.5)
            sums += weight * drawn
    # 1 % is promised at most; Chernoff's bound pays a factor of about 1.3 over the quantile.
    assert (sums > radius).mean() < 0.01
    assert radius < 1.5 * np.quantile(sums, 0.99)


def test_ratios_without_noise_in_the_denominator_are_plain_intervals():
    top = Side(30.0, [np.zeros(1), np.ones(4), np.zeros(2)], 0.0)
    bottom = Side(100.0, [np.zeros(1), np.zeros(4), np.zeros(2)], 0.0)
    found = ratio_bounds(LAPLACE, PLACES, top, bottom, below=0.025, above=0.025)
    radius = LineRadii(LAPLACE, PLACES, top.told, bottom.told, failure=0.025).at(0, search=True)
    assert found.low == pytest.approx(0.3 - radius / 100, rel=1e-3)
    assert found.high == pytest.approx(0.3 + radius / 100, rel=1e-3)
    assert found.high >= 0.3 + radius / 100 * (1 - 1e-3)


def test_there_is_no_bound_where_the_denominator_may_be_nothing():
    ones = [np.zeros(1), np.ones(4), np.ones(2)]
    for value in (-1.0, 0.0, 5.0):
        found = ratio_bounds(
            LAPLACE, PLACES, Side(3.0, ones, 0.0), Side(value, ones, 0.0), below=0.1, above=0.1
        )
        assert (found.low, found.high) == (-np.inf, np.inf)


@pytest.mark.parametrize("seed", range(20))
def test_squared_shares_hold_for_all_shares_within_bounds(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    centre = rng.dirichlet(np.ones(size))
    low = np.maximum(centre - rng.random(size) * 0.2, 0)
    high = np.minimum(centre + rng.random(size) * 0.2, 1)
    least, most = squared_shares(low, high)
    shares = rng.dirichlet(20 * centre + 0.1, size=20_000)
    shares = np.concatenate([shares, centre[None]])
    inside = shares[((shares >= low) & (shares <= high)).all(axis=1)]
    sums = (inside**2).sum(axis=1)
    assert least <= sums.min()
    assert sums.max() <= most
    assert most - least < 1


def test_known_shares_have_known_squares():
    shares = np.array([0.5, 0.3, 0.2])
    assert squared_shares(shares, shares) == pytest.approx((0.38, 0.38), abs=1e-8)
    assert squared_shares(np.zeros(4), np.ones(4)) == pytest.approx((0.25, 1.0), abs=1e-8)
