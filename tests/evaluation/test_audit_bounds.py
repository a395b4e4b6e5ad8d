"""Bounds of audits: they hold as often as claimed, and are near a known epsilon."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

from graphcuts_dp.evaluation.audit import Claim, Neighbours, audit, audit_worst, clopper_pearson

Mechanism = Callable[[list[int], object], np.ndarray]


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


def test_clopper_pearson_intervals_of_no_success_and_of_all_have_their_closed_form():
    low, high = clopper_pearson([0, 10], 10, 0.05)
    assert (low[0], high[1]) == (0, 1)
    assert math.isclose(high[0], 1 - 0.05 ** (1 / 10))  # rule of three
    assert math.isclose(low[1], 0.05 ** (1 / 10))


def randomized_response(epsilon: float, rng: np.random.Generator) -> Mechanism:
    """Return a mechanism that flips each bit of a list with exactly this epsilon."""
    q = 1 / (1 + math.exp(epsilon))
    return lambda graph, _: np.array(graph) ^ (rng.random(len(graph)) < q)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_bound_is_below_a_known_epsilon_and_near_it(epsilon):
    rng = np.random.default_rng(3)
    result = audit(randomized_response(epsilon, rng), [0, 0, 1], [0, 1, 1])
    # The bound fails with a chance of 1e-6. Of 2000 runs a share has an error of at most 0.06, or
    # 5.3 standard deviations, which lowers the bound by no more than this.
    assert 0.55 * epsilon - 0.05 < result.epsilon_lower <= epsilon
    assert "y1" in result.event
    assert (
        audit(randomized_response(epsilon, rng), [0, 1], [0, 1]).epsilon_lower <= 0
    )  # equal inputs


@pytest.mark.thorough
def test_bounds_exceed_the_truth_no_more_often_than_claimed():
    """In 300 audits of a 1-DP mechanism at alpha = 0.1, 70 failures have a chance below 1e-10."""
    rng = np.random.default_rng(5)
    failures = sum(
        audit(randomized_response(1.0, rng), [0], [1], runs=60, alpha=0.1).epsilon_lower > 1.0
        for _ in range(300)
    )
    assert scipy.stats.binom.sf(69, 300, 0.1) < 1e-10
    assert failures < 70


def test_the_bound_of_an_event_is_that_of_the_best_order():
    """Of zCDP: the largest bound over all orders of its definition."""
    orders = 1 + np.geomspace(1e-3, 1e3, 20_000)
    for p, q in [(0.5, 0.1), (0.9, 0.2), (0.01, 0.001)]:
        bounds = math.log(p) / (orders - 1) - math.log(q) / orders
        assert Claim(1.0, kind="rho").bound(p, q) == pytest.approx(bounds.max(), rel=1e-6)
    assert Claim(1.0, 0.05).bound(0.5, 0.1) == pytest.approx(math.log(4.5))


def test_an_audit_of_several_pairs_finds_the_one_that_leaks():
    rng = np.random.default_rng(6)

    def draw(data, _, count):
        bits = (rng.random((count, 1)) < 1 / (1 + math.e)) ^ (data > 0)
        return bits if data < 2 else np.ones((count, 1))

    pairs = [Neighbours("sound", 0, 1), Neighbours("leaks", 0, 2)]
    result = audit_worst(draw, pairs, training=500, runs=1000, claim=Claim(1.0))
    assert result.pair == "leaks"
    assert result.epsilon_lower > 1.0


def test_an_audit_detects_of_a_mechanism_at_its_claim_what_is_visible():
    """Shares of 2000 runs have an error of at most 0.06, or 5.3 standard deviations."""
    rng = np.random.default_rng(7)
    bound = audit(randomized_response(1.0, rng), [0], [1]).epsilon_lower
    assert bound == pytest.approx(Claim(1.0).detectable_loss(2000), abs=0.2)
    shift = math.sqrt(2 * 0.5)

    def normal(mean, _):
        return [rng.normal(mean)]

    rho = Claim(0.5, kind="rho")
    bound = audit(normal, 0.0, shift, claim=rho).epsilon_lower
    assert 0.4 * rho.detectable_loss(2000) < bound <= rho.value
