"""Sequential audits refute what is broken, hardly ever what is sound, and stop at both."""

import math

import numpy as np
import pytest
import scipy.stats

from graphcuts_dp.evaluation.audit import Claim, Neighbours
from tests.audits.sequential import (
    MISS,
    audit_until_decided,
    least_beside,
    line_of,
    ratio_until_decided,
)

PAIR = [Neighbours("a bit", 0, 1)]
CLAIMS = {"epsilon": Claim(1.0), "delta": Claim(1.0, 0.02), "rho": Claim(0.5, kind="rho")}


def response(epsilon, delta, rng):
    """Randomised response of a bit, which is given away with probability delta, beside others."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def draw(bit, _, count):
        kept = rng.random(count) < (keep if bit else 1 - keep)
        output = np.where(rng.random(count) < delta, 2 + bit, kept)
        return np.column_stack([output, rng.random((count, 2))])

    return draw


def normal(factor, rng):
    """A bit with normal noise of variance 1, divided by a factor, beside others."""

    def draw(bit, _, count):
        return rng.normal(size=(count, 3)) + np.array([factor * bit, 0, 0])

    return draw


MECHANISMS = {
    "epsilon": lambda factor, rng: response(factor, 0.0, rng),
    "delta": lambda factor, rng: response(factor, 0.02, rng),
    "rho": normal,
}


def outcomes(kind, factor, *, runs, alpha=1e-6, miss=0.0, most=8000):
    """Whether each of several mechanisms was refuted, and after how many runs."""
    draw, claim = MECHANISMS[kind](factor, np.random.default_rng(1)), CLAIMS[kind]
    terms = {"most": most, "claim": claim, "alpha": alpha, "miss": miss}
    results = [audit_until_decided(draw, PAIR, **terms) for _ in range(runs)]
    refuted = [result.epsilon_lower > claim.value for result, _ in results]
    return np.array(refuted), np.array([count for _, count in results])


@pytest.mark.parametrize("kind", CLAIMS)
def test_lines_lie_beyond_all_that_a_claim_allows(kind):
    """And touch it, where the claim is of a rho."""
    claim, chances = CLAIMS[kind], np.linspace(0.001, 0.999, 400)
    for near in (0.01, 0.3, 0.9, 0.999):
        slope, intercept = line_of(claim, near)
        beside = least_beside(claim, chances)
        assert (chances <= slope * beside + intercept + 1e-12).all()
        assert slope * least_beside(claim, near) + intercept == pytest.approx(
            max(near, claim.delta)
        )
    losses = claim.bound(chances, least_beside(claim, chances))
    assert losses[chances > claim.delta] == pytest.approx(claim.value)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", CLAIMS)
def test_a_sound_mechanism_is_refuted_no_more_often_than_stated(kind):
    """At alpha = 0.1, whenever one looks; 30 of 100 or more have probability below 1e-7."""
    refuted, _ = outcomes(kind, 1.0, runs=100, alpha=0.1, most=300)
    assert scipy.stats.binom.sf(29, 100, 0.1) < 1e-7
    assert refuted.sum() < 30


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", CLAIMS)
def test_half_the_noise_is_noticed_and_a_sound_mechanism_passes_soon(kind):
    """At most 1 in 60 is missed, where events show less than all of the loss."""
    noticed, _ = outcomes(kind, 2.0, runs=60, miss=MISS)
    assert noticed.sum() >= 59
    refuted, runs = outcomes(kind, 1.0, runs=60, miss=MISS)
    assert not refuted.any()
    assert runs.mean() < 250


@pytest.mark.parametrize("kind", CLAIMS)
def test_what_shows_the_neighbours_as_they_are_is_refuted_at_once(kind):
    refuted, runs = outcomes(kind, 40.0, runs=10)
    assert refuted.all()
    assert runs.max() < 500


def test_the_loss_that_is_proven_is_below_the_true_one_and_not_by_much():
    draw = response(2.0, 0.0, np.random.default_rng(2))
    terms = {"most": 4000, "alpha": 1e-6, "claim": Claim(2.0)}
    result, runs = audit_until_decided(draw, PAIR, **terms)
    assert runs == 4000
    assert 1.5 < result.epsilon_lower <= 2.0
    assert result.pair == "a bit"


def laws(slope, rng):
    """Ratios of a count of 0 or 1 in five parts, whose noise is divided by the slope."""
    rate = 1 / 5

    def draw(truth, count):
        drawn = rng.geometric(-math.expm1(-slope * rate), (2, count, 5))
        noisy = truth + drawn[0] - drawn[1]
        return rate * (np.abs(noisy - 1) - np.abs(noisy)).sum(axis=1)

    return draw


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("slope", "refuted"), [(1.0, False), (2.0, True)])
def test_ratios_are_decided_as_soon(slope, refuted):
    for seed in range(20):
        draw = laws(slope, np.random.default_rng(seed))
        terms = {"most": 8000, "claim": Claim(1.0), "alpha": 1e-6, "miss": MISS}
        result, runs = ratio_until_decided(draw, PAIR, **terms)
        assert (result.epsilon_lower > 1.0) == refuted
        assert runs < 4000


def test_a_sound_law_is_refuted_no_more_often_than_stated():
    """At alpha = 0.1; 30 of 100 or more have probability below 1e-7."""
    refuted = 0
    for seed in range(100):
        draw = laws(1.0, np.random.default_rng(seed))
        terms = {"most": 120, "claim": Claim(1.0), "alpha": 0.1}
        refuted += ratio_until_decided(draw, PAIR, **terms)[0].epsilon_lower > 1 + 1e-9
    assert scipy.stats.binom.sf(29, 100, 0.1) < 1e-7
    assert refuted < 30
