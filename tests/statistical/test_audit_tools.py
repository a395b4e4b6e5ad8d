"""The audit itself is audited: its bounds hold as often as it says, and are not vacuous."""

import math

import numpy as np
import pytest
import scipy.stats
from audit_tools import audit, clopper_pearson


@pytest.mark.parametrize("trials", [1, 7, 40])
@pytest.mark.parametrize("alpha", [0.2, 0.01])
def test_clopper_pearson_covers_for_every_probability(trials, alpha):
    """Exact coverage, summed over all outcomes, not simulated."""
    counts = np.arange(trials + 1)
    low, high = clopper_pearson(counts, trials, alpha)
    for p in np.linspace(0.001, 0.999, 61):
        mass = scipy.stats.binom.pmf(counts, trials, p)
        assert mass[low > p].sum() <= alpha * (1 + 1e-9)
        assert mass[high < p].sum() <= alpha * (1 + 1e-9)


def test_clopper_pearson_ends():
    low, high = clopper_pearson([0, 10], 10, 0.05)
    assert (low[0], high[1]) == (0, 1)
    assert math.isclose(high[0], 1 - 0.05 ** (1 / 10))  # rule of three
    assert math.isclose(low[1], 0.05 ** (1 / 10))


def flips(epsilon, rng):
    q = 1 / (1 + math.exp(epsilon))
    return lambda graph, _: np.array(graph) ^ (rng.random(len(graph)) < q)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_bound_is_below_a_known_epsilon_and_near_it(epsilon):
    rng = np.random.default_rng(3)
    found = audit(flips(epsilon, rng), [0, 0, 1], [0, 1, 1])
    # False alarm 1e-6. Power: with 2000 runs a frequency is off by at most 5.3 sd = 0.06.
    assert 0.55 * epsilon - 0.05 < found.epsilon_lower <= epsilon
    assert "y1" in found.event


def test_equal_inputs_show_nothing():
    rng = np.random.default_rng(4)
    assert audit(flips(1.0, rng), [0, 1], [0, 1]).epsilon_lower <= 0


def test_no_noise_is_caught_by_far():
    found = audit(lambda graph, _: np.array(graph), [0, 0], [0, 1], runs=1000)
    assert found.epsilon_lower > 3


def test_bounds_exceed_the_truth_no_more_often_than_claimed():
    """At alpha = 0.1 on 300 audits of a 1-DP mechanism: at most Binomial(300, 0.1), and 70 hits
    or more have probability below 1e-10."""
    rng = np.random.default_rng(5)
    wrong = sum(
        audit(flips(1.0, rng), [0], [1], runs=60, alpha=0.1).epsilon_lower > 1.0 for _ in range(300)
    )
    assert scipy.stats.binom.sf(69, 300, 0.1) < 1e-10
    assert wrong < 70
