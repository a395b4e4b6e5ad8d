"""Statistical tests of the samplers.

Tolerances. Each test compares about 10^6 samples of a fixed seed with an exact distribution at a
level of 1e-9 (`LEVEL`); there are fewer than 100 comparisons, so had the seeds been drawn at
random, the chance that any of them fails for a right sampler would be below 1e-6.
Chi-square cells hold at least 1000 expected samples, so that the chi-square distribution is nearly
right in the far tail too; exact summation below shows for the smallest cell that the true level is
under ten times the nominal one.
Each kind of test has a twin with a slightly broken sampler that it must reject.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from graphcuts_dp.privacy.noise import (
    _BLOCK,
    SeededEntropy,
    SystemEntropy,
    sample_discrete_laplace,
    sample_flips,
    sample_geometric,
)

SIZE = 10**6
LEVEL = 1e-9
LEAST = 1000  # expected samples in a cell


def chi_square(observed, expected):
    """p-value of a chi-square test."""
    assert expected.min() >= LEAST
    assert math.isclose(observed.sum(), expected.sum(), rel_tol=1e-9)
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return scipy.stats.chi2.sf(statistic, len(expected) - 1)


def laplace_cdf(k, rate):
    """P(K <= k) of the discrete Laplace distribution."""
    r = math.exp(-rate)
    k = np.asarray(k, dtype=float)
    return np.where(k < 0, np.exp(rate * k) / (1 + r), 1 - np.exp(-rate * (k + 1)) / (1 + r))


def geometric_cdf(k, rate):
    return np.where(np.asarray(k) < 0, 0.0, -np.expm1(-rate * (np.asarray(k, dtype=float) + 1)))


def fit_of(samples, cdf, rate, cells=60):
    """p-value of samples against a distribution function, in cells of about equal mass.

    The cells are fixed by the exact distribution, before the samples are seen.
    """
    reach = math.ceil(12 / rate)
    grid = np.arange(-reach, reach + 1, max(1, reach // 2000))
    edges = []
    done = 0.0
    for point, mass in zip(grid, cdf(grid), strict=True):
        if mass - done >= max(1 / cells, LEAST / SIZE):
            edges.append(point)
            done = mass
    while 1 - cdf(edges[-1]) < LEAST / SIZE:
        edges.pop()
    masses = np.diff(np.concatenate([[0.0], cdf(np.array(edges)), [1.0]]))
    observed = np.bincount(np.searchsorted(edges, samples, side="left"), minlength=len(masses))
    return chi_square(observed, masses * len(samples))


def test_the_level_is_honest_in_the_far_tail():
    """Exact probability, two cells with 1000 expected in one: still below ten times the level."""
    trials, p = SIZE, LEAST / SIZE
    critical = math.sqrt(scipy.stats.chi2.isf(LEVEL, 1) * trials * p * (1 - p))
    exact = scipy.stats.binom.sf(LEAST + critical, trials, p)
    exact += scipy.stats.binom.cdf(LEAST - critical, trials, p)
    assert exact < 10 * LEVEL


EPSILONS = [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(6)]
RATES = [Fraction(2), Fraction(7, 10), Fraction(1, 10), Fraction(1, 700), Fraction(3, 2**21)]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_flips_have_their_probability(epsilon):
    q = 1 / (1 + math.exp(epsilon))
    flips = int(sample_flips(epsilon, SIZE, SeededEntropy(1)).sum())
    assert chi_square(np.array([flips, SIZE - flips]), SIZE * np.array([q, 1 - q])) > LEVEL


@pytest.mark.parametrize("rate", RATES)
def test_geometric_samples_fit(rate):
    samples = sample_geometric(rate, SIZE, SeededEntropy(2))
    assert fit_of(samples, lambda k: geometric_cdf(k, float(rate)), float(rate)) > LEVEL


@pytest.mark.parametrize("rate", RATES)
def test_discrete_laplace_samples_fit(rate):
    samples = sample_discrete_laplace(rate, SIZE, SeededEntropy(3))
    assert fit_of(samples, lambda k: laplace_cdf(k, float(rate)), float(rate)) > LEVEL


def test_the_operating_systems_bits_fit_too():
    samples = sample_discrete_laplace(Fraction(1, 3), SIZE, SystemEntropy())
    assert fit_of(samples, lambda k: laplace_cdf(k, 1 / 3), 1 / 3) > LEVEL


@pytest.mark.parametrize("rate", RATES)
def test_low_digits_are_right_alone(rate):
    """The lowest binary digits, where a float sampler would have holes."""
    samples = sample_geometric(rate, SIZE, SeededEntropy(4)) % 8
    masses = np.exp(-float(rate) * np.arange(8))
    masses /= masses.sum()
    keep = masses * SIZE >= LEAST
    observed = np.bincount(samples, minlength=8)[keep]
    expected = masses[keep] * SIZE
    if not keep.all():
        observed = np.append(observed, SIZE - observed.sum())
        expected = np.append(expected, SIZE - expected.sum())
        merge = expected[-1] < LEAST
        if merge:
            observed = np.append(observed[:-2], observed[-2:].sum())
            expected = np.append(expected[:-2], expected[-2:].sum())
    assert chi_square(observed, expected) > LEVEL


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("probability", [1e-2, 1e-4])
def test_tails_on_both_sides(rate, probability):
    """Counts beyond a far point against the exact binomial distribution, at `LEVEL`."""
    samples = sample_discrete_laplace(rate, SIZE, SeededEntropy(5))
    far = math.ceil(-math.log(probability) / float(rate))
    tail = float(laplace_cdf(-far, float(rate)))
    for count in (int((samples <= -far).sum()), int((samples >= far).sum())):
        low = scipy.stats.binom.ppf(LEVEL / 2, SIZE, tail)
        high = scipy.stats.binom.isf(LEVEL / 2, SIZE, tail)
        assert low <= count <= high


@pytest.mark.parametrize("rate", RATES)
def test_signs_are_symmetric(rate):
    samples = sample_discrete_laplace(rate, SIZE, SeededEntropy(6))
    above, below = int((samples > 0).sum()), int((samples < 0).sum())
    assert scipy.stats.binomtest(above, above + below).pvalue > LEVEL
    # Sizes must not tell the sign.
    size = np.abs(samples)
    large = size > np.median(size[size > 0])
    counts = [int((samples[large] > 0).sum()), int(large.sum())]
    assert scipy.stats.binomtest(*counts).pvalue > LEVEL


def dependence(first, second, cells=6):
    """p-value of a chi-square test of independence, in cells by rank."""
    codes = []
    for values in (first, second):
        edges = np.unique(np.quantile(values, np.linspace(0, 1, cells + 1)[1:-1]))
        codes.append(np.searchsorted(edges, values, side="left"))
    table = np.zeros((codes[0].max() + 1, codes[1].max() + 1))
    np.add.at(table, tuple(codes), 1)
    return scipy.stats.chi2_contingency(table, correction=False).pvalue


@pytest.mark.parametrize("lag", [1, 2, 8])
def test_neighbouring_samples_are_independent(lag):
    for samples in (
        sample_flips(Fraction(1), SIZE, SeededEntropy(7)).astype(int),
        sample_discrete_laplace(Fraction(1, 4), SIZE, SeededEntropy(8)),
    ):
        start = np.arange(SIZE - lag)
        start = start[(start // lag) % 2 == 0]  # disjoint pairs
        assert dependence(samples[start], samples[start + lag]) > LEVEL


def test_samples_are_independent_across_blocks():
    samples = sample_discrete_laplace(Fraction(1, 4), 2 * _BLOCK, SeededEntropy(9))
    assert dependence(samples[:_BLOCK], samples[_BLOCK:]) > LEVEL
    flips = sample_flips(Fraction(1), 2 * _BLOCK, SeededEntropy(9)).astype(int)
    assert dependence(flips[:_BLOCK], flips[_BLOCK:]) > LEVEL


def test_digit_groups_are_independent():
    """Rate 3/2^21 is drawn in three groups; a stream used twice would tie them together."""
    samples = sample_geometric(Fraction(3, 2**21), SIZE, SeededEntropy(10))
    low, middle, high = samples % 512, (samples >> 9) % 512, samples >> 18
    assert dependence(low, middle) > LEVEL
    assert dependence(middle, high) > LEVEL
    assert dependence(low, high) > LEVEL


def test_twins_with_a_wrong_rate_are_rejected():
    samples = sample_discrete_laplace(Fraction(103, 1000), SIZE, SeededEntropy(3))
    assert fit_of(samples, lambda k: laplace_cdf(k, 0.1), 0.1) < LEVEL
    flips = int(sample_flips(Fraction(102, 100), SIZE, SeededEntropy(1)).sum())
    q = 1 / (1 + math.e)
    assert chi_square(np.array([flips, SIZE - flips]), SIZE * np.array([q, 1 - q])) < LEVEL


def test_a_twin_that_rounds_a_continuous_laplace_is_rejected():
    rng = np.random.default_rng(0)
    samples = np.rint(rng.laplace(scale=2.0, size=SIZE)).astype(int)
    assert fit_of(samples, lambda k: laplace_cdf(k, 0.5), 0.5) < LEVEL


def test_a_twin_without_low_digits_is_rejected():
    samples = sample_geometric(Fraction(1, 700), SIZE, SeededEntropy(4)) & ~1
    masses = np.exp(-np.arange(8) / 700)
    assert chi_square(np.bincount(samples % 8, minlength=8), SIZE * masses / masses.sum()) < LEVEL


def test_a_twin_that_repeats_samples_is_rejected():
    samples = sample_discrete_laplace(Fraction(1, 4), SIZE, SeededEntropy(8))
    samples[1 : SIZE // 20 : 2] = samples[0 : SIZE // 20 - 1 : 2]
    assert dependence(samples[::2], samples[1::2]) < LEVEL


def test_a_twin_that_leans_to_one_side_is_rejected():
    samples = sample_discrete_laplace(Fraction(1, 4), SIZE, SeededEntropy(6)) + (
        np.arange(SIZE) % 20 == 0
    )
    above, below = int((samples > 0).sum()), int((samples < 0).sum())
    assert scipy.stats.binomtest(above, above + below).pvalue < LEVEL
