"""The discrete Gaussian sampler: what keeps a proposal, samples against exact probabilities."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import scipy.stats
from exact_reference import ScriptedEntropy, exp_between, floor_bits

from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.noise import sample_discrete_gaussian, wide_context

VARIANCES = [Fraction(1, 9), Fraction(1), Fraction(7, 2), Fraction(1000, 3)]
EXTREMES = [Fraction(1, 10**400), Fraction(1, 1400), Fraction(2) ** 80, Fraction(3) ** 200]
SIZE = 100_000
LEVEL = 1e-8  # of a comparison; there are fewer than 20


def masses(variance, reach):
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * float(variance)))
    return k, weights / weights.sum()


def proposals_of(variance):
    """Proposals near 0, where nearly all stay, and far out; the farthest are never kept."""
    t = math.isqrt(math.floor(variance)) + 1
    sizes = {0, 1, 2, t - 1, t, 2 * t, 5 * t, 13 * t, 40 * t, round(variance / t)}
    return [sign * size for size in sorted(sizes) for sign in (-1, 1)]


def power_of(y, variance):
    t = math.isqrt(math.floor(variance)) + 1
    return (abs(y) - variance / t) ** 2 / (2 * variance)


def cut_of(y, variance, bits):
    """floor(2^bits times the probability that y stays)."""
    power = power_of(y, variance)
    if power > 1000:
        return 0
    if power < Fraction(1, 2**300):
        return (1 << bits) - 1
    return floor_bits(exp_between(-power), bits)


def as_array(y, count):
    narrow = abs(y) < 2**62
    return np.array([y] * count, dtype=np.int64 if narrow else object)


@pytest.mark.parametrize("variance", VARIANCES + EXTREMES)
def test_every_first_word_that_decides_does_so_as_the_exact_probability_does(variance, monkeypatch):
    """All 2^16 beginnings, each with the least and the largest end; and words around the cut.

    What is kept is below the cut, what is not is above it, and what is left to more bits is near
    it: so the probability of staying is the exact one on every proposal.
    """
    left_open = []
    monkeypatch.setattr(noise, "happens", lambda *_, prefix, **__: bool(left_open.append(prefix)))
    heads = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    ends = np.concatenate([heads, heads | np.uint64(2**48 - 1)])
    for y in proposals_of(variance):
        cut = cut_of(y, variance, 64)
        near = [cut + sign * 2**k for k in range(45) for sign in (-1, 1)] + [cut]
        near = np.array([word for word in near if 0 <= word < 2**64], dtype=np.uint64)
        words = np.concatenate([ends, near])
        left_open.clear()
        kept = noise._kept(
            as_array(y, len(words)), variance, ScriptedEntropy(words.astype("<u8").tobytes())
        )
        doubtful = np.isin(words, np.array(left_open, dtype=np.uint64))
        assert not kept[doubtful].any()
        assert (words[kept] < np.uint64(cut)).all()
        assert (words[~kept & ~doubtful] > np.uint64(cut)).all()
        assert cut in left_open
        assert max(abs(word - cut) for word in left_open) <= max(1, cut * 2.0**-29)


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(7, 2), Fraction(2) ** 80])
@pytest.mark.parametrize("words", [2, 3])
def test_a_first_word_at_the_cut_is_decided_by_more_bits_exactly(variance, words):
    """Uniform numbers one unit below and above the cut, which agree with it on all words before."""
    t = math.isqrt(math.floor(variance)) + 1
    for y in (-t, 2 * t):
        bits = 64 * words
        cut = cut_of(y, variance, bits)
        for number, stays in ((cut - 1, True), (cut + 1, False)):
            pieces = [
                ((number >> (64 * k)) & (2**64 - 1)).to_bytes(8, "little")
                for k in reversed(range(words))
            ]
            source = ScriptedEntropy(*pieces)
            assert noise._kept(as_array(y, 1), variance, source)[0] == stays
            assert not source.pieces


def test_a_proposal_of_power_zero_stays():
    """variance = 2t: then |y| = 2 stays whatever bits come; ones alone ask for more of them."""
    source = ScriptedEntropy(b"\xff" * 8, b"\xff" * 8, bytes(8))
    assert power_of(2, Fraction(6)) == 0
    assert noise._kept(np.array([2]), Fraction(6), source)[0]
    assert not source.pieces


def test_floats_are_as_right_as_the_margin_supposes():
    """Of exp on all powers that decide, and of the whole chance: far below the margin."""
    powers = np.concatenate([np.linspace(0, 700, 3001), np.logspace(-300, 2, 500)])
    found = np.exp(-powers)
    with_digits = wide_context(60)
    for power, value in zip(powers, found, strict=True):
        exact = with_digits.exp(-Decimal(float(power)))
        assert abs(Decimal(float(value)) - exact) <= exact * Decimal(2) ** -45


@pytest.mark.parametrize("variance", VARIANCES + EXTREMES)
def test_acceptance_makes_the_distribution(variance):
    """Proposal times acceptance is proportional to the discrete Gaussian, on every integer."""
    t = math.isqrt(math.floor(variance)) + 1
    left = {
        Fraction(abs(y), t) + power_of(y, variance) - Fraction(y**2) / (2 * variance)
        for y in proposals_of(variance)
    }
    assert len(left) == 1


def test_decimals_decide_hardly_any_proposal(monkeypatch):
    """Expected: 2e-4 of so many, so that more than 8 have a probability below 1e-30."""
    asked = []
    happens = noise.happens
    monkeypatch.setattr(
        noise, "happens", lambda *given, **named: asked.append(1) or happens(*given, **named)
    )
    sample_discrete_gaussian(Fraction(50, 3), SIZE, SeededEntropy(1))
    assert len(asked) <= 8


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


@pytest.mark.parametrize("bits", [30, 60])
def test_samples_of_huge_scales_fit(bits):
    """In 40 cells of equal mass; sums over so many integers are integrals to 12 digits."""
    scale, count = 2**bits, 40_000 if bits > 52 else SIZE
    samples = sample_discrete_gaussian(Fraction(scale) ** 2, count, SeededEntropy(bits))
    cells = np.floor(40 * scipy.stats.norm.cdf((samples / scale).astype(float))).astype(int)
    assert scipy.stats.chisquare(np.bincount(cells, minlength=40)).pvalue > LEVEL
    assert samples.dtype == (np.int64 if bits <= 52 else object)
    low = np.array([int(sample) & 15 for sample in samples])  # the last bits are uniform
    assert scipy.stats.chisquare(np.bincount(low, minlength=16)).pvalue > LEVEL


def test_noise_of_almost_no_variance_is_zero():
    """P(not 0) is below e^-(10^399)."""
    assert not sample_discrete_gaussian(Fraction(1, 10**400), 1000, SeededEntropy(1)).any()


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
