"""Refined noise given the coarse copy that a decision saw: its exact law, by enumeration.

N1 = N2 + W, where W is 0 with probability (sinh(r/2)/sinh(s/2))^2, else coarse noise of its own
(theorem "Refining Laplace noise"). All probabilities below are products of these two laws.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.laws import TwoSidedGeometric
from graphcuts_dp.privacy.noise import RefinableLaplace
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm
from graphcuts_dp.privacy.refined_noise import CorrectedLaplace, LimitLaplace, RefinedRates

RATES = [
    (Fraction(1, 5), Fraction(6, 5)),
    (Fraction(1, 4), Fraction(3, 4)),
    (Fraction(1), Fraction(2)),
]
RANGE = 200  # of noises: what is beyond has a probability below 1e-20 (rates) or is not asked for
VALUES = np.arange(-RANGE, RANGE + 1)
COARSE = range(-25, 26)
LOG = math.log(20)


def laplace(rate, k):
    return math.tanh(rate / 2) * np.exp(-float(rate) * np.abs(k))


def beside(rates, w):
    """P(W = w)."""
    stay = (math.sinh(rates.coarse / 2) / math.sinh(rates.fine / 2)) ** 2
    return stay * (w == 0) + (1 - stay) * laplace(rates.coarse, w)


def given(rates, n):
    """P(N2 = a | N1 = n) for all a of `VALUES`."""
    return laplace(rates.fine, VALUES) * beside(rates, n - VALUES) / laplace(rates.coarse, n)


def rates_of(case):
    return RefinedRates(*case)


@pytest.mark.parametrize("case", RATES)
def test_tails_given_the_coarse_noise_are_the_formulas(case):
    rates = rates_of(case)
    for n in COARSE:
        law = given(rates, n)
        assert law.sum() == pytest.approx(1, abs=1e-12)
        for m in range(25):
            tail = law[np.abs(VALUES) >= m].sum()
            assert rates.conditional_tail(m, n) == pytest.approx(tail, abs=1e-12)
            assert tail <= rates.conditional_tail(m) + 1e-12
    # The bound for all n is attained in the limit, so no smaller one holds.
    assert given(rates, 60)[np.abs(VALUES) >= 3].sum() == pytest.approx(
        rates.conditional_tail(3), rel=1e-9
    )


@pytest.mark.parametrize("case", RATES)
def test_corrected_numbers_have_mean_0_given_the_coarse_noise(case):
    rates = rates_of(case)
    c = math.sinh(rates.coarse) / (math.cosh(rates.fine) - math.cosh(rates.coarse))
    assert rates.bias_correction == pytest.approx(c, rel=1e-12)
    variance = 0.0
    for n in range(-RANGE // 2, RANGE // 2 + 1):
        law, errors = given(rates, n), VALUES - c * np.sign(n - VALUES)
        assert law @ errors == pytest.approx(0, abs=1e-12)
        variance += laplace(rates.coarse, n) * (law @ errors**2)
        if n in (1, 20):  # without the correction there is a bias
            assert law @ VALUES > 0.1 * c
    assert CorrectedLaplace(rates, 2.0).variance == pytest.approx(4 * variance, rel=1e-6)


@pytest.mark.parametrize("case", RATES)
def test_fresh_numbers_have_noise_that_does_not_depend_on_the_coarse_one(case):
    """The law of N2 + change given N1 = n is Laplace noise of rate s - r, for every n."""
    rates = rates_of(case)
    r, s = float(rates.coarse), float(rates.fine)
    lengths = np.arange(RANGE + 1)
    theta = math.exp(r - s)
    stay = (1 - theta) / (1 - math.exp(-r - s))
    downwards = np.zeros(len(VALUES))
    downwards[RANGE - lengths] = np.where(
        lengths == 0, stay, (1 - stay) * (1 - theta) * theta ** (lengths - 1.0)
    )
    zero = (math.cosh(s - r) - 1) / (math.exp(r) * math.cosh(s) - 1)
    changes = {
        1: downwards,
        0: zero * (VALUES == 0) + (1 - zero) * laplace(rates.fresh, VALUES),
        -1: downwards[::-1],
    }
    for n in COARSE:
        law = given(rates, n)
        parts = [
            np.convolve(law * (np.sign(n - VALUES) == sign), change, mode="same")
            for sign, change in changes.items()
        ]
        centre = slice(RANGE - 30, RANGE + 31)
        np.testing.assert_allclose(
            sum(parts)[centre], laplace(rates.fresh, VALUES)[centre], atol=1e-12
        )
    # And these are the changes that are drawn.
    source = SeededEntropy(4)
    for sign, change in changes.items():
        drawn = rates.fresh_changes(np.full(20_000, sign), source)
        for value in range(-3, 4):
            chance = change[RANGE + value]
            error = 4 * math.sqrt(chance * (1 - chance) / 20_000) + 1e-12
            assert np.mean(drawn == value) == pytest.approx(chance, abs=error)


@pytest.mark.parametrize("case", RATES)
def test_the_limit_of_the_conditional_law_is_above_all_of_them(case):
    """Its tail above any m is the largest of all n >= 0, and its tail below -m that of each n."""
    rates = rates_of(case)
    limit = given(rates, 100)
    for n in range(30):
        law = given(rates, n)
        for m in range(1, 20):
            above, below = (
                [each[sign * VALUES >= m].sum() for each in (law, limit)] for sign in (1, -1)
            )
            assert above[0] <= above[1] + 1e-12
            assert below[0] == pytest.approx(below[1], abs=1e-12)
    stated, unit = LimitLaplace(rates, 0.5), 0.5
    assert stated.variance == pytest.approx(unit**2 * (limit @ VALUES**2), rel=1e-9)
    frequencies = np.linspace(0, 12, 7)
    transform = np.exp(1j * np.outer(frequencies, VALUES * unit)) @ limit
    np.testing.assert_allclose(
        stated.log_modulus(frequencies), np.log(np.abs(transform)), atol=1e-9
    )
    turned = np.exp(1j * stated.phase(frequencies)) * np.exp(stated.log_modulus(frequencies))
    agrees = np.isclose(turned, transform) | np.isclose(turned, transform.conj())
    assert agrees.all()
    for part in (0.2, 0.4):
        z = part * stated.mgf_limit
        generating = math.log(np.exp(z * unit * VALUES) @ limit)
        assert stated.log_mgf(z) == pytest.approx(generating, abs=1e-6)
        assert generating >= math.log(np.exp(-z * unit * VALUES) @ limit)
        fresh = TwoSidedGeometric(float(rates.fresh), unit)
        assert CorrectedLaplace(rates, unit).log_mgf(z) == fresh.log_mgf(z)


@pytest.mark.parametrize("case", RATES)
def test_the_interval_of_one_number_holds_given_every_coarse_noise(case):
    rates = rates_of(case)
    radius = rates.conditional_radius(LOG)
    assert rates.conditional_tail(radius + 1) <= 0.05 < rates.conditional_tail(radius)
    for n in (0, 1, 2, 3, 5, 8, 13, 40):
        law, missed = given(rates, n), 0.0
        for noise in range(-40, 41):
            low, high = rates.single_interval(n, noise, LOG)
            assert noise - radius <= low <= noise <= high <= noise + radius
            missed += law[RANGE + noise] * (not low <= 0 <= high)
        assert missed <= 0.05 + 1e-12


@pytest.mark.parametrize(
    ("ratio", "radius", "mean"), [(6, 0.535, 0.506), (3, 1.31, 1.11), (2, 2.71, 2.13)]
)
def test_lengths_for_small_rates(ratio, radius, mean):
    """In units of 1/r: .535 where noise of rate s alone would give .499, and .506 on average."""
    rate = Fraction(1, 10**5)
    rates = RefinedRates(rate, ratio * rate)
    assert rates.conditional_radius(LOG) * float(rate) == pytest.approx(radius, rel=0.01)
    source = SeededEntropy(1)
    coarse = RefinableLaplace.draw(rate, 300, source)
    fine = coarse.refined(ratio * rate, source)
    pairs = zip(coarse.values.tolist(), fine.values.tolist(), strict=True)
    intervals = np.array([rates.single_interval(*pair, LOG) for pair in pairs])
    half = (intervals[:, 1] - intervals[:, 0]).mean() / 2
    assert half * float(rate) == pytest.approx(mean, rel=0.05)


def test_a_branch_that_looks_at_the_noise_spoils_plain_intervals_and_not_these():
    """36 numbers, each of which is refined only where its coarse copy is far above the truth."""
    rates = RefinedRates(Fraction(1, 40), Fraction(6, 40))
    source, runs, cells = SeededEntropy(2), 1500, 36
    coarse = RefinableLaplace.draw(rates.coarse, 40 * runs * cells // 6, source)
    fine = coarse.refined(rates.fine, source)
    selected = np.flatnonzero(coarse.values > 40)[: runs * cells]
    n, a = coarse.values[selected], fine.values[selected]
    changes = rates.fresh_changes(np.sign(n - a), source)
    alone = np.array(
        [
            rates.single_interval(*pair, LOG)
            for pair in zip(n[:1000].tolist(), a[:1000].tolist(), strict=True)
        ]
    )
    sums = {
        "plain": (a, TwoSidedGeometric(float(rates.fine), 1.0)),
        "fresh": (a + changes, TwoSidedGeometric(float(rates.fresh), 1.0)),
    }
    misses = {"alone": np.mean((alone[:, 0] > 0) | (alone[:, 1] < 0))}
    for name, (errors, law) in sums.items():
        radius = NoiseSum.of([NoiseTerm(law, 1.0, cells)]).radius(LOG)
        totals = errors[: len(errors) // cells * cells].reshape(-1, cells).sum(axis=1)
        assert len(totals) > 1000
        misses[name] = np.mean(np.abs(totals) > radius)
    limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)
    assert misses["plain"] > 2 * limit
    assert misses["fresh"] < limit
    assert misses["alone"] < limit
