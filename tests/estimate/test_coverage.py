"""Intervals hold as often as they say: 10^4 simulated releases, all cells, levels, and all at once.

Noise of the same distributions comes from numpy here, which is fast, and goes through the code of a
release from the noisy sums on. A sound interval of 95 % fails in at most 5 % of the releases; the
number of failures is then at most a binomial variable, whose quantile is the bound: each test is
wrong with probability below 1e-7 over its seed.
"""

from fractions import Fraction

import numpy as np
import pytest
import scipy
from flow_cases import random_groups
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp.estimate.consistency import ErrorSpread
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.privacy.level_noise import LevelNoise

RUNS = 10_000
CONFIDENCE = 0.95


def drawn(rng, noise, place, shape):
    """Noise of a place by numpy: differences of geometric variables, or rejection for Gaussians."""
    parameter = float(noise.parameters[place])
    if noise.distribution == "laplace":
        chance = -np.expm1(-parameter)
        return rng.geometric(chance, shape) - rng.geometric(chance, shape)
    reach = int(12 * parameter**0.5) + 2
    at = np.arange(-reach, reach + 1)
    weights = np.exp(-(at**2) / (2 * parameter))
    return rng.choice(at, size=shape, p=weights / weights.sum())


def allowed(cells):
    """As many failures of 5 % as one of so many sound intervals shows with probability 1e-7."""
    return scipy.stats.binom.isf(1e-7 / cells, RUNS, 1 - CONFIDENCE)


@pytest.mark.parametrize("options", [{}, {"workload": "top"}, {"delta": 1e-3, "noise": "gaussian"}])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_intervals_hold_cell_by_cell_and_all_at_once(options, epsilon):
    rng = np.random.default_rng(1)
    flows = gc.release_flows(
        random_graph(30, 1), random_groups(rng), epsilon=epsilon, seed=1, **options
    )
    cells, noisy, fit = flows.cells, flows.noisy, flows.fit
    errors = [np.zeros((RUNS, cells.size(place))) for place in range(cells.depth)]
    samples = [
        drawn(rng, noisy.noise, i, (RUNS, cells.size(place)))
        for i, place in enumerate(noisy.map.places)
    ]
    for run in range(RUNS):
        sums = {p: samples[i][run].astype(float) for i, p in enumerate(noisy.map.places)}
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
                error += coefficient * drawn(rng, noise, place, len(error))
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
    failures = (np.abs(drawn(rng, noise, 0, RUNS)) > 0.8 * radius).sum()
    assert failures > allowed(1)


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
