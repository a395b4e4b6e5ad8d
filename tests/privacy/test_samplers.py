"""Statistical tests of the samplers.

Tolerances. Each test compares about 10^6 samples of a fixed seed with an exact distribution at a
level of 1e-9 (`LEVEL`); there are fewer than 100 comparisons, so had the seeds been drawn at
random, the chance that any of them fails for a right sampler would be below 1e-6, though several
look at the same samples. Chi-square cells hold at least 1000 expected samples, so that the
chi-square distribution is nearly right in the far tail too; exact summation below shows for the
smallest cell that the true level is under ten times the nominal one.
Each kind of test has a twin with a slightly broken sampler that it must reject.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
import scipy.stats
from p_values import chi_square, dependence

from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.entropy import SystemEntropy
from graphcuts_dp.privacy.noise import (
    _BLOCK,
    RefinableLaplace,
    sample_discrete_laplace,
    sample_flips,
    sample_geometric,
)

SIZE = 10**6
LEVEL = 1e-9
LEAST = 1000  # expected samples in a cell
EPSILONS = [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(6)]
RATES = [Fraction(2), Fraction(7, 10), Fraction(1, 10), Fraction(1, 700), Fraction(3, 2**21)]
QUARTER = Fraction(1, 4)


@lru_cache(maxsize=16)
def geometric(rate, size=SIZE):
    return sample_geometric(rate, size, SeededEntropy(2))


@lru_cache(maxsize=16)
def laplace(rate, size=SIZE):
    return sample_discrete_laplace(rate, size, SeededEntropy(3))


def fit_of_bits(bits, epsilon):
    """p-value of flips with probability 1/(1 + e^epsilon)."""
    q, flips = 1 / (1 + math.exp(epsilon)), int(bits.sum())
    return chi_square(np.array([flips, len(bits) - flips]), [q, 1 - q], LEAST)


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
    rate = float(rate)
    reach = math.ceil(12 / rate)
    grid = np.arange(-reach, reach + 1, max(1, reach // 2000))
    edges = []
    done = 0.0
    for point, mass in zip(grid, cdf(grid, rate), strict=True):
        if mass - done >= max(1 / cells, LEAST / SIZE):
            edges.append(point)
            done = mass
    masses = np.diff(np.concatenate([[0.0], cdf(np.array(edges), rate), [1.0]]))
    observed = np.bincount(np.searchsorted(edges, samples, side="left"), minlength=len(masses))
    return chi_square(observed, masses, LEAST)


def fit_of_low_digits(samples, rate):
    """p-value of the lowest binary digits, where a float sampler would have holes."""
    masses = np.exp(-float(rate) * np.arange(8))
    return chi_square(np.bincount(samples % 8, minlength=8), masses / masses.sum(), LEAST)


def fit_of_signs(samples):
    """p-values of as many above as below 0: of all, and of the larger half of those that are not 0.

    Sizes must not tell the sign.
    """
    size = np.abs(samples)
    large = size > np.median(size[size > 0])
    signs = [samples[samples != 0] > 0, samples[large] > 0]
    return [scipy.stats.binomtest(int(each.sum()), len(each)).pvalue for each in signs]


def test_the_level_is_honest_in_the_far_tail():
    """Exact probability, two cells with 1000 expected in one: still below ten times the level."""
    trials, p = SIZE, LEAST / SIZE
    critical = math.sqrt(scipy.stats.chi2.isf(LEVEL, 1) * trials * p * (1 - p))
    exact = scipy.stats.binom.sf(LEAST + critical, trials, p)
    exact += scipy.stats.binom.cdf(LEAST - critical, trials, p)
    assert exact < 10 * LEVEL


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_flips_have_their_probability(epsilon):
    assert fit_of_bits(sample_flips(epsilon, SIZE, SeededEntropy(1)), epsilon) > LEVEL


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("rate", RATES)
def test_geometric_samples_fit(rate):
    assert fit_of(geometric(rate), geometric_cdf, rate) > LEVEL
    assert fit_of_low_digits(geometric(rate), rate) > LEVEL


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("rate", RATES)
def test_discrete_laplace_samples_fit(rate):
    assert fit_of(laplace(rate), laplace_cdf, rate) > LEVEL
    assert min(fit_of_signs(laplace(rate))) > LEVEL


LEVELS = [(Fraction(1, 10), Fraction(1, 4)), (Fraction(1, 2), Fraction(9, 5))]


@lru_cache(maxsize=8)
def two_levels(coarse, fine):
    first = RefinableLaplace.draw(coarse, SIZE, SeededEntropy(4))
    return first.values, first.refined(fine, SeededEntropy(5)).values


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("coarse", "fine"), LEVELS)
def test_refined_noise_has_its_law_and_coarse_noise_is_that_and_something_apart(coarse, fine):
    first, second = two_levels(coarse, fine)
    assert fit_of(first, laplace_cdf, coarse) > LEVEL
    assert fit_of(second, laplace_cdf, fine) > LEVEL
    assert min(fit_of_signs(second)) > LEVEL
    assert dependence(second, first - second, cells=3) > LEVEL


def test_noise_may_be_refined_again():
    first = RefinableLaplace.draw(Fraction(1, 10), SIZE, SeededEntropy(6))
    second = first.refined(Fraction(1, 5), SeededEntropy(7))
    third = second.refined(Fraction(1), SeededEntropy(8))
    assert fit_of(third.values, laplace_cdf, 1) > LEVEL
    assert dependence(third.values, first.values - third.values, cells=3) > LEVEL


def test_twins_of_refined_noise_are_rejected():
    """Drawn anew it is no part of the coarse noise; with all of the finer rate it is too little."""
    coarse, fine = LEVELS[0]
    first, _ = two_levels(coarse, fine)
    anew = sample_discrete_laplace(fine, SIZE, SeededEntropy(5))
    assert dependence(anew, first - anew, cells=3) < LEVEL
    little = RefinableLaplace.draw(coarse, SIZE, SeededEntropy(4)).refined(
        coarse + fine, SeededEntropy(5)
    )
    assert fit_of(little.values, laplace_cdf, fine) < LEVEL


def test_refined_noise_of_big_integers_and_of_few_bits_keeps_its_type():
    """Rates near each other: their difference is far below either, its samples far above."""
    for rate in (Fraction(1, 2**70), Fraction(1, 3)):
        first = RefinableLaplace.draw(rate, 5, SeededEntropy(1))
        second = first.refined(rate * (1 + Fraction(1, 2**80)), SeededEntropy(2))
        assert second.values.dtype == first.values.dtype
        assert (second.values == first.values).all()
        assert str(first) == repr(first) == f"RefinableLaplace({rate})"


def test_the_operating_systems_bits_fit_too():
    rate = Fraction(1, 3)
    assert fit_of(sample_discrete_laplace(rate, SIZE, SystemEntropy()), laplace_cdf, rate) > LEVEL


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("lag", [1, 2, 8])
def test_neighbouring_samples_are_independent(lag):
    start = np.arange(SIZE - lag)
    start = start[(start // lag) % 2 == 0]  # disjoint pairs
    for samples in (
        sample_flips(Fraction(1), SIZE, SeededEntropy(7)).astype(int),
        laplace(QUARTER),
    ):
        assert dependence(samples[start], samples[start + lag]) > LEVEL


def test_samples_are_independent_across_blocks():
    samples = laplace(QUARTER, 2 * _BLOCK)
    flips = sample_flips(Fraction(1), 2 * _BLOCK, SeededEntropy(9)).astype(int)
    for drawn in (samples, flips):
        assert dependence(drawn[:_BLOCK], drawn[_BLOCK:]) > LEVEL


def test_digit_groups_are_independent():
    """Rate 3/2^21 is drawn in three groups; a stream used twice would tie them together."""
    samples = geometric(RATES[-1])
    low, middle, high = samples % 512, (samples >> 9) % 512, samples >> 18
    for first, second in ((low, middle), (middle, high), (low, high)):
        assert dependence(first, second) > LEVEL


def test_twins_with_a_wrong_rate_are_rejected():
    assert fit_of(laplace(Fraction(103, 1000)), laplace_cdf, 0.1) < LEVEL
    assert fit_of_bits(sample_flips(Fraction(102, 100), SIZE, SeededEntropy(1)), 1.0) < LEVEL


def test_a_twin_that_rounds_a_continuous_laplace_is_rejected():
    samples = np.rint(np.random.default_rng(0).laplace(scale=2.0, size=SIZE)).astype(int)
    assert fit_of(samples, laplace_cdf, 0.5) < LEVEL


def test_a_twin_without_low_digits_is_rejected():
    rate = Fraction(1, 700)
    assert fit_of_low_digits(geometric(rate) & ~1, rate) < LEVEL


def test_a_twin_that_repeats_samples_is_rejected():
    samples = laplace(QUARTER).copy()
    samples[1 : SIZE // 20 : 2] = samples[0 : SIZE // 20 - 1 : 2]
    assert dependence(samples[::2], samples[1::2]) < LEVEL


def test_a_twin_that_leans_to_one_side_is_rejected():
    assert fit_of_signs(laplace(QUARTER) + (np.arange(SIZE) % 20 == 0))[0] < LEVEL
