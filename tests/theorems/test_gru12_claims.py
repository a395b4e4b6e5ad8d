"""Single steps of GRU12 computed from the paper's text alone: claims, errata and rates."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy

from scripts.figures.bounds import pure_cut_lower_bound, sized_cut_radius


def laplace_mass(low, high):
    """The probability that Lap(1) lies between two numbers."""
    return float(np.diff(scipy.stats.laplace.cdf([low, high]))[0])


@pytest.mark.parametrize("threshold", [4.0, 20.0])
def test_claim_4_5_an_update_has_a_chance_of_an_eighth(threshold):
    """In units of sigma: of the noise outside E1, the share that lies in E3, for every residual."""
    shares = []
    for residual in np.linspace(-2 * threshold, 2 * threshold, 801):
        low, high = -threshold - residual, threshold - residual
        update = laplace_mass(-math.inf, low - 1) + laplace_mass(high + 1, math.inf)
        possible = 1 - laplace_mass(low + 1, high - 1)
        shares.append(update / possible)
    assert min(shares) == pytest.approx(math.exp(-2), rel=1e-6)
    assert min(shares) > 1 / 8


def test_erratum_claim_4_7_has_121_for_191_and_8b_for_8():
    """With eps_0 = eps/(1000 sqrt(B) ln(4/delta)), B cancels; and B updates take 8B rounds."""
    assert Fraction(1936, 1000**2) == Fraction(121, 62500) != Fraction(191, 62500)
    # Each round outside E1 is an update with probability 1/8 at least: B of them end the run.
    for updates in (1, 5, 40):
        mean_rounds = updates + float(scipy.stats.nbinom(updates, 1 / 8).mean())
        assert mean_rounds == pytest.approx(8 * updates)


def test_erratum_azumas_inequality_needs_the_2():
    """A walk with steps of +-1 exceeds the printed tail, and not the one with 2 n eta^2."""
    n, distance = 100, 30
    above = sum(math.comb(n, k) for k in range(n + 1) if abs(2 * k - n) > distance) / 2**n
    assert above > 2 * math.exp(-(distance**2) / n)
    assert above <= 2 * math.exp(-(distance**2) / (2 * n))


def test_erratum_theorem_5_1_has_the_other_case():
    """If Q(D^t) is below the answer, Q(D^t - D) is at most -alpha: the printed sign is wrong."""
    alpha, truth = 1.0, 5.0
    for hypothesis, error in itertools.product((2.0, 3.9, 6.1, 8.0), (-0.99, 0.0, 0.99)):
        answer = truth + error
        assert abs(truth - hypothesis) >= alpha > abs(error)  # Definition 3.1, properties 2 and 3
        assert (hypothesis - truth <= -alpha) == (hypothesis < answer)
        assert (hypothesis - truth >= alpha) == (hypothesis > answer)


def test_errors_of_all_cuts_follow_their_sizes_as_section_6_1_says():
    """The radius is of order sqrt(n |S||T|), and all cuts of a small graph keep it."""
    for n in (30, 300, 3000):
        sizes = sorted({1, 2, n // 10, n // 2, n})
        for s, t in itertools.product(sizes, repeat=2):
            radius = sized_cut_radius(n, s, t, epsilon=1.0, beta=0.05)
            assert radius <= 12 * math.sqrt(n * s * t)
    n, broken = 7, 0
    sides = ((np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    count = sides.sum(axis=1).astype(int)
    radius = np.array(
        [[sized_cut_radius(n, s, t, epsilon=1.0, beta=0.05 / n**2) for t in count] for s in count]
    )
    rng = np.random.default_rng(0)
    for _ in range(40):
        errors = np.abs(sides @ rng.laplace(size=(n, n)) @ sides.T)
        broken += bool((errors > radius).any())
        assert (errors > radius / 9).any()  # the radius is not much too large
    assert broken <= 6  # of 40, each with a chance of at most .05


@pytest.mark.parametrize("epsilon", [0.05, 0.2])
def test_the_lower_bound_of_section_6_grows_as_n(epsilon):
    small, large = (pure_cut_lower_bound(n, epsilon=epsilon, beta=0.05) for n in (200, 800))
    assert small > 0
    assert large / small == pytest.approx(4, rel=0.2)
    # A mechanism that is private and has less error on such graphs would break it: noise has more.
    rng = np.random.default_rng(1)
    edges = 100  # pairs of 200 vertices
    worst = [np.abs(rng.laplace(scale=1 / epsilon, size=edges)).sum() / 2 for _ in range(50)]
    assert min(worst) > small


def test_graphs_of_the_packing_are_never_confused():
    """By brute force: graphs within 2 alpha on all sums differ in at most 4 alpha pairs."""
    m, alpha = 6, 1
    words = list(itertools.product((0, 1), repeat=m))
    subsets = np.array(words)
    for first, second in itertools.combinations(words, 2):
        difference = np.array(first) - np.array(second)
        if np.abs(subsets @ difference).max() <= 2 * alpha:
            assert np.abs(difference).sum() <= 4 * alpha
