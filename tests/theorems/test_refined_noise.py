"""Coarse noise and its finer copy together cost what the finer one costs: their exact joint law.

Brute force: all values of the two geometric variables of the coarse noise, and of the two that they
are compared with, up to where what is left has a probability below 1e-15.
"""

import itertools
import math

import numpy as np
import pytest

MOST = 60  # .55^60 is below 1e-15
RANGE = range(-8, 9)  # of outcomes that are looked at
CASES = [(0.5, 0.55), (0.55, 0.3), (0.3, 0.5)]  # e^-r and e^-(s - r)


def halves(p, q):
    """P(X = x, min(X, G) = k) of P(X >= x) = p^x and P(G >= k) = q^k, shape (x, k)."""
    x, k = np.arange(MOST)[:, None], np.arange(MOST)
    met = np.where(k < x, (1 - q) * q**k, 0.0)
    return (1 - p) * p**x * np.where(k == x, q**k, met)


def joint(p, q):
    """P(X - Y = c, X' - Y' = f) for c and f in `RANGE`, as a dictionary; X' = min(X, G)."""
    half = halves(p, q)
    found = dict.fromkeys(itertools.product(RANGE, RANGE), 0.0)
    for c, f in found:
        # Y = X - c and Y' = X' - f.
        x, k = np.meshgrid(np.arange(max(0, c), MOST), np.arange(max(0, f), MOST), indexing="ij")
        inside = (x - c < MOST) & (k - f < MOST)
        found[c, f] = float((half[x[inside], k[inside]] * half[x[inside] - c, k[inside] - f]).sum())
    return found


def laplace(p, k):
    return (1 - p) / (1 + p) * p ** abs(k)


@pytest.mark.parametrize(("p", "q"), CASES)
def test_coarse_noise_is_finer_noise_and_something_that_does_not_depend_on_it(p, q):
    """P(c, f) = P(f) P(c - f): what is beside the finer noise is 0, or coarse noise of its own."""
    fine, both = p * q, joint(p, q)
    stays = fine * (1 - p) ** 2 / (p * (1 - fine) ** 2)
    for (c, f), chance in both.items():
        beside = (c == f) * stays + (1 - stays) * laplace(p, c - f)
        assert chance == pytest.approx(laplace(fine, f) * beside, abs=1e-14)


def worst_loss(first, second):
    """The largest |ln(P/Q)| over outcomes that both of two laws have."""
    return max(abs(math.log(first[k] / second[k])) for k in first.keys() & second.keys())


@pytest.mark.parametrize(("p", "q"), CASES)
def test_both_together_lose_what_the_finer_one_loses_and_a_branch_what_it_shows(p, q):
    """Of counts 0 and 1. Refined only where the coarse number is above 0: it shows which it is."""
    both = joint(p, q)
    apart = {(c, f): laplace(p, c) * laplace(p * q, f) for c, f in both}

    def outcomes(law, count):
        shifted = {(c + count, f + count): chance for (c, f), chance in law.items()}
        refined = {place: chance for place, chance in shifted.items() if place[0] > 0}
        stopped = {(c + count,): laplace(p, c) for c in RANGE if c + count <= 0}
        return shifted, refined, stopped

    for law, cost in ((both, -math.log(p * q)), (apart, -math.log(p * q) - math.log(p))):
        before, after = outcomes(law, 0), outcomes(law, 1)
        together, refined, stopped = map(worst_loss, before, after)
        assert together == pytest.approx(cost, rel=1e-9)
        assert refined <= cost * (1 + 1e-9)
        assert stopped == pytest.approx(-math.log(p), rel=1e-12)
