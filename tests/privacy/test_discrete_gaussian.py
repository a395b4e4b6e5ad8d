"""The discrete Gaussian sampler: acceptance bit by bit, samples against exact probabilities."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import scipy.stats
from exact_reference import ScriptedEntropy, exp_between, floor_bits

from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.noise import sample_discrete_gaussian

VARIANCES = [Fraction(1, 9), Fraction(1), Fraction(7, 2), Fraction(1000, 3)]
SIZE = 8_000
LEVEL = 1e-8  # of a comparison; there are fewer than 20


def masses(variance, reach):
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * float(variance)))
    return k, weights / weights.sum()


@pytest.mark.parametrize("power", [Fraction(1, 1000), Fraction(1), Fraction(355, 113)])
@pytest.mark.parametrize("words", [1, 2, 3])
def test_events_are_decided_by_the_exact_probability(power, words):
    """Uniform numbers one unit below and above the cut, which agree with it on all words before."""
    bits = 64 * words
    cut = floor_bits(exp_between(-power), bits)
    for number, happens in ((cut - 1, True), (cut + 1, False)):
        pieces = [
            ((number >> (64 * k)) & (2**64 - 1)).to_bytes(8, "little")
            for k in reversed(range(words))
        ]
        source = ScriptedEntropy(*pieces)
        assert noise._happens(power, source) is happens
        assert not source.pieces or words > 1


def test_certain_events_need_no_bits():
    assert noise._happens(Fraction(0), ScriptedEntropy())


@pytest.mark.parametrize("variance", VARIANCES)
def test_acceptance_makes_the_distribution(variance):
    """Proposal times acceptance is proportional to the discrete Gaussian, on every integer."""
    t = math.isqrt(math.floor(variance)) + 1
    k = np.arange(-40, 41)
    shift = float(variance / t)
    product = -np.abs(k) / t - (np.abs(k) - shift) ** 2 / (2 * float(variance))
    distribution = -(k**2) / (2 * float(variance))
    assert np.ptp(product - distribution) < 1e-9


@pytest.mark.parametrize("variance", VARIANCES)
def test_samples_fit(variance):
    samples = sample_discrete_gaussian(variance, SIZE, SeededEntropy(1))
    reach = math.ceil(12 * math.sqrt(variance)) + 3
    k, distribution = masses(variance, reach)
    expected = distribution * SIZE
    keep = expected >= 50
    observed = np.array([np.count_nonzero(samples == value) for value in k[keep]])
    rest = SIZE - observed.sum(), SIZE - expected[keep].sum()
    statistic = ((observed - expected[keep]) ** 2 / expected[keep]).sum()
    if rest[1] > 50:
        statistic += (rest[0] - rest[1]) ** 2 / rest[1]
    assert scipy.stats.chi2.sf(statistic, keep.sum()) > LEVEL


def test_a_twin_that_rounds_a_continuous_gaussian_is_rejected():
    rng = np.random.default_rng(0)
    samples = np.rint(rng.normal(scale=0.5, size=10 * SIZE)).astype(int)
    _, distribution = masses(Fraction(1, 4), 5)
    zeros = int((samples == 0).sum())
    assert scipy.stats.binomtest(zeros, len(samples), distribution[5]).pvalue < LEVEL


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(20)])
def test_shifted_distributions_have_the_claimed_divergence(variance):
    """1/(2 variance)-zCDP for sensitivity 1, by exact summation."""
    k = np.arange(-1000, 1001)
    p, q = (-((k - shift) ** 2) / (2 * float(variance)) for shift in (0, 1))
    total = scipy.special.logsumexp(p)
    for order in (1.01, 2, 8, 30):
        divergence = (scipy.special.logsumexp(order * p + (1 - order) * q) - total) / (order - 1)
        assert divergence <= order / (2 * float(variance)) + 1e-9
