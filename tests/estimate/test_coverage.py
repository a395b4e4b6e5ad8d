"""Intervals hold as often as they say: 4,000 simulated releases, cells, levels, and all at once.

Noise of the same distributions comes from numpy here, which is fast, and goes through the code of a
release from the noisy sums on. A sound interval of 95 % fails in at most 5 % of the releases; the
number of failures is then at most a binomial variable, whose quantile is the bound: each test is
wrong with probability below 1e-7 over its seed.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy
from flow_cases import fast_noise, random_groups
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp.estimate.consistency import ErrorSpread
from graphcuts_dp.estimate.tails import LineRadii, Side, error_radii, ratio_bounds
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.results.flow_ratios import squared_shares

RUNS = 4000
CONFIDENCE = 0.95


def allowed(cells):
    """As many failures of 5 % as one of so many sound intervals shows with probability 1e-7."""
    return scipy.stats.binom.isf(1e-7 / cells, RUNS, 1 - CONFIDENCE)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("work", "delta"), [({}, 0), ({"accurate": "top"}, 0), ({"noise": "gaussian"}, 1e-3)]
)
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_intervals_hold_cell_by_cell_and_all_at_once(work, delta, epsilon):
    rng = np.random.default_rng(1)
    flows = gc.release_flows(
        random_graph(30, 1),
        random_groups(rng),
        epsilon=epsilon,
        delta=delta,
        workload=gc.FlowWorkload(**work, expected_cell=0),
        seed=1,
    )
    cells, noisy, fit = flows.cells, flows.noisy, flows.fit
    errors = [np.zeros((RUNS, cells.size(place))) for place in range(cells.depth)]
    samples = [
        fast_noise(rng, noisy.noise, i, (RUNS, cells.size(place)))
        for i, place in enumerate(noisy.map.measured_levels)
    ]
    for run in range(RUNS):
        sums = {p: samples[i][run].astype(float) for i, p in enumerate(noisy.map.measured_levels)}
        for place, values in enumerate(fit.estimates(sums)):
            errors[place][run] = values
    missed = np.zeros(RUNS, dtype=bool)
    for place in range(1, cells.depth):
        size = np.abs(errors[place]) * (1 - 1e-12)
        own = flows._radii(place, CONFIDENCE, False)
        assert ((size > own).sum(axis=0) <= allowed(cells.size(place))).all()
        missed |= (size > flows._radii(place, CONFIDENCE, True)).any(axis=1)
        spread = np.sqrt(fit.variances[place])
        assert (own < 3.2 * spread + 1).all()  # not so wide that nothing could fail
        measured = errors[place].std(axis=0)
        assert (np.abs(measured / spread - 1) < 0.12).all()
    assert missed.sum() <= allowed(1)
    total = np.abs(errors[0][:, 0])
    radius = (flows.total.interval[1] - flows.total.interval[0]) / 2
    assert (total > radius + 1).sum() <= allowed(1)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize("failure", [0.05, 0.002])
@pytest.mark.parametrize("parameter", [0.05, 0.8, 4.0])
def test_tail_bounds_of_combinations_hold_and_are_near(distribution, failure, parameter):
    rng = np.random.default_rng(2)
    noise = LevelNoise(distribution, (Fraction(parameter), Fraction(parameter) / 2))
    combinations = [
        ([1.0], []),
        ([2.5], []),
        ([0.9, *[-0.1] * 9], []),
        ([0.5, 0.5], [0.25]),
        ([1.0] * 30, [0.5] * 5),
        ([0.3], [0.7]),
    ]
    for first, second in combinations:
        table = np.zeros((3, 1, 2))
        for place, part in enumerate((first, second)):
            sizes = np.abs(np.array([*part, 0.0]))
            table[:, 0, place] = (sizes**2).sum(), sizes.max(), sizes.sum()
        radius = error_radii(noise, (0, 1), ErrorSpread(*table), failure=failure)[0]
        error = np.zeros(50_000)
        for place, part in enumerate((first, second)):
            for coefficient in part:
                error += coefficient * fast_noise(rng, noise, place, len(error))
        most = scipy.stats.binom.isf(1e-9, len(error), failure)
        assert (np.abs(error) > radius + 1e-9).sum() <= most
        step = max([*first, *second])
        if distribution == "gaussian" and parameter < 0.5:
            continue  # nearly always 0, where Chernoff's bound is long
        assert radius <= 1.6 * np.quantile(np.abs(error), 1 - failure) + 1.5 * step


def test_a_radius_that_is_too_short_is_noticed():
    """The power of the coverage test, for the exact tail of one noise."""
    rng = np.random.default_rng(3)
    noise = LevelNoise("laplace", (Fraction(1, 10),))
    one = ErrorSpread(*np.ones((3, 1, 1)))
    radius = error_radii(noise, (0,), one, failure=1 - CONFIDENCE)[0]
    failures = (np.abs(fast_noise(rng, noise, 0, RUNS)) > 0.8 * radius).sum()
    assert failures > allowed(1)


FAILURES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
COEFFICIENTS = (
    [1] * 2,
    [1] * 5,
    [1] * 16,
    [3] * 9,
    [4, 3],
    [4, 1, 1],
    [8, 1, 1, 1, 1],
    [8, *[2] * 8],
    [7, 7, 1],
    [16, 8, 4, 2, 1],
    [1, 2, 3, 4, 5, 6],
)


def failure_beyond(coefficients, rate, radius):
    """The exact P(|sum of c X| > radius) of discrete Laplace noise and whole coefficients c."""
    values, law = law_of_sizes(tuple(coefficients), rate)
    return float(law[values > radius].sum())


@cache
def law_of_sizes(coefficients, rate):
    """The size of each sum, and its probability."""
    size = 1 << 15  # of a circle on which sums are counted: what goes round it is below 1e-12
    steps = np.arange(size // 2)
    law = np.exp(-rate * steps) * np.tanh(rate / 2)
    transform = np.ones(size // 2 + 1)
    for c in coefficients:
        circle = np.zeros(size)
        np.add.at(circle, (steps * c) % size, law)
        np.add.at(circle, (-steps[1:] * c) % size, law[1:])
        transform = transform * np.fft.rfft(circle).real
    values = np.minimum(np.arange(size), size - np.arange(size))
    return values, np.fft.irfft(transform, size)


def spread_of(coefficients, bound, *, is_exact):
    """The spread of one combination, with bounds in the place of its largest coefficient."""
    sizes = np.array(coefficients, dtype=np.float64)
    numbers = (sizes**2).sum(), bound, sizes.sum(), (sizes**2).sum() / sizes.sum()
    tables = [np.array([[number]]) for number in numbers]
    return ErrorSpread(*(tables[:3] if is_exact else tables))


def most_short(rate, *, is_exact):
    """By which factor a radius from a bound on the largest coefficient fails too often, at most."""
    noise, worst = LevelNoise("laplace", (Fraction(rate),)), 0.0
    for coefficients in COEFFICIENTS:
        largest, most = max(coefficients), np.sqrt(np.square(coefficients).sum())
        for share in (0.0, 0.1, 0.5, 0.9, 1.0):
            bound = largest + share * (most - largest)
            spread = spread_of(coefficients, bound, is_exact=is_exact or not share)
            for failure in FAILURES:
                radius = error_radii(noise, (0,), spread, failure=failure)[0]
                found = failure_beyond(coefficients, float(Fraction(rate)), radius)
                worst = max(worst, found / failure)
    return worst


@pytest.mark.thorough
@pytest.mark.parametrize("rate", ["1/2", "1/8"])
def test_radii_from_bounds_on_coefficients_hold_at_every_confidence(rate):
    """Theorem "One exact tail in a sum of Laplace noises", also if a is known by bounds alone."""
    assert most_short(rate, is_exact=False) <= 1 + 1e-9


@pytest.mark.thorough
def test_an_upper_bound_in_the_place_of_the_largest_coefficient_is_too_short():
    """The incorrect variant: of few large noises more is near 0 than of many small ones."""
    assert most_short("1/8", is_exact=True) > 1.02


def test_one_noise_alone_has_its_exact_tail():
    noise = LevelNoise("laplace", (Fraction(1, 3),))
    ratio = np.exp(-1 / 3)
    for failure in (0.5, 0.05, 1e-6):
        one = ErrorSpread(*np.ones((3, 1, 1)))
        t = int(error_radii(noise, (0,), one, failure=failure)[0])
        assert 2 * ratio ** (t + 1) / (1 + ratio) <= failure < 2 * ratio**t / (1 + ratio)
        # The least of other noise passes a step of that tail, so it has another bound.
        beside = ErrorSpread(*(np.array([[x]]) for x in (1 + 1e-16, 1.0, 1 + 1e-8)))
        assert error_radii(noise, (0,), beside, failure=failure)[0] > t + 0.01
    nothing = ErrorSpread(*np.zeros((3, 1, 1)))
    assert error_radii(noise, (0,), nothing, failure=0.05).tolist() == [0]


# The parts of intervals of ratios: convex radii along a line of combinations.

LAPLACE = LevelNoise("laplace", (Fraction(1, 2), Fraction(2)))
GAUSSIAN = LevelNoise("gaussian", (Fraction(9), Fraction(40)))
PLACES = (1, 2)
EACH_NOISE = pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])


def parts(seed, size=30):
    rng = np.random.default_rng(seed)
    return [np.zeros(1), rng.normal(size=size), rng.normal(size=3 * size)]


@EACH_NOISE
@pytest.mark.parametrize("seed", range(5))
def test_radii_are_convex_and_a_norm(noise, seed):
    first, second = parts(seed), parts(seed + 100)
    line = LineRadii(noise, PLACES, first, second, failure=0.01)
    points = np.linspace(-3, 3, 25)
    radii = np.array([line.at(x, search=True) for x in points])
    assert (radii[1:-1] <= (radii[:-2] + radii[2:]) / 2 * (1 + 1e-3)).all()
    twice = LineRadii(noise, PLACES, [2 * part for part in first], second, failure=0.01)
    assert twice.at(0, search=True) == pytest.approx(2 * line.at(0, search=True), rel=1e-3)
    assert line.slope() == pytest.approx(line.at(1e6, search=True) / 1e6, rel=1e-2)


@pytest.mark.thorough(cases=1)
@EACH_NOISE
def test_radii_hold_and_are_not_much_too_long(noise):
    """1 % is guaranteed at most; Chernoff's bound pays a factor of about 1.3 over the quantile."""
    rng = np.random.default_rng(0)
    first, second = parts(1), parts(2)
    radius = LineRadii(noise, PLACES, first, second, failure=0.01).at(0.7, search=True)
    sums = np.zeros(50_000)
    for place in PLACES:
        for weight in first[place] - 0.7 * second[place]:
            sums += weight * fast_noise(rng, noise, place - 1, len(sums))
    assert (sums > radius).mean() < 0.01
    assert radius < 1.5 * np.quantile(sums, 0.99)


def test_ratios_without_noise_in_the_denominator_are_plain_intervals():
    top = Side(30.0, [np.zeros(1), np.ones(4), np.zeros(2)], 0.0)
    bottom = Side(100.0, [np.zeros(1), np.zeros(4), np.zeros(2)], 0.0)
    found = ratio_bounds(LAPLACE, PLACES, top, bottom, below=0.025, above=0.025)
    line = LineRadii(LAPLACE, PLACES, top.coefficients, bottom.coefficients, failure=0.025)
    radius = line.at(0, search=True)
    assert found.low == pytest.approx(0.3 - radius / 100, rel=1e-3)
    assert found.high == pytest.approx(0.3 + radius / 100, rel=1e-3)
    assert found.high >= 0.3 + radius / 100 * (1 - 1e-3)


def test_a_numerator_without_noise_leaves_that_of_the_denominator():
    """Only a numerator of 0 makes a ratio that is known, whatever the denominator is."""
    nothing, ones = [np.zeros(1), np.zeros(4), np.zeros(2)], [np.zeros(1), np.ones(4), np.zeros(2)]
    bottom = Side(100.0, ones, 0.0)
    found = ratio_bounds(
        LAPLACE, PLACES, Side(30.0, nothing, 0.0), bottom, below=0.025, above=0.025
    )
    radius = LineRadii(LAPLACE, PLACES, ones, nothing, failure=0.025).at(0, search=True)
    assert found.low == pytest.approx(30 / (100 + radius), rel=1e-3)
    assert found.high == pytest.approx(30 / (100 - radius), rel=1e-3)
    zero = ratio_bounds(LAPLACE, PLACES, Side(0.0, nothing, 0.0), bottom, below=0.025, above=0.025)
    assert zero == (0.0, 0.0)


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
