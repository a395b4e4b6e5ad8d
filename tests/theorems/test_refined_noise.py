"""Coarse noise and its finer copy together cost what the finer one costs: their exact joint law.

The coarse noise is X - Y and the finer noise min(X, G) - min(Y, H), for geometric X, Y with
P(X >= x) = p^x, and geometric G, H with P(G >= k) = q^k. So p = e^-r and q = e^-(s - r) for coarse
noise of rate r and finer noise of rate s. All values are enumerated up to a probability of 1e-15.
"""

import itertools
import math

import numpy as np
import pytest

VALUES = 60  # of a geometric variable: .55^60 is below 1e-15
OUTCOMES = range(-8, 9)  # of each noise, in the joint law
RATES = pytest.mark.parametrize(("p", "q"), [(0.5, 0.55), (0.55, 0.3), (0.3, 0.5)])


def law_of_half(p, q):
    """Return P(X = x, min(X, G) = k), shape (x, k)."""
    x, k = np.arange(VALUES)[:, None], np.arange(VALUES)
    minimum_law = np.where(k == x, q**k, np.where(k < x, (1 - q) * q**k, 0.0))
    return (1 - p) * p**x * minimum_law


def joint_law(p, q):
    """Return the probabilities of (coarse, fine) noise for all pairs of `OUTCOMES`."""
    half = law_of_half(p, q)
    law = {}
    for coarse, fine in itertools.product(OUTCOMES, OUTCOMES):
        x, k = np.meshgrid(
            np.arange(max(0, coarse), VALUES), np.arange(max(0, fine), VALUES), indexing="ij"
        )
        y, minimum_of_y = x - coarse, k - fine
        inside = (y < VALUES) & (minimum_of_y < VALUES)
        law[coarse, fine] = float(
            (half[x[inside], k[inside]] * half[y[inside], minimum_of_y[inside]]).sum()
        )
    return law


def discrete_laplace(p, k):
    """Return the probability of k, proportional to p^|k|."""
    return (1 - p) / (1 + p) * p ** abs(k)


@RATES
def test_coarse_noise_is_finer_noise_plus_independent_noise(p, q):
    """P(coarse, fine) = P(fine) P(coarse - fine): the difference is 0, or coarse noise again."""
    fine_p = p * q
    probability_of_zero = fine_p * (1 - p) ** 2 / (p * (1 - fine_p) ** 2)
    for (coarse, fine), probability in joint_law(p, q).items():
        difference = (coarse == fine) * probability_of_zero
        difference += (1 - probability_of_zero) * discrete_laplace(p, coarse - fine)
        expected = discrete_laplace(fine_p, fine) * difference
        assert probability == pytest.approx(expected, abs=1e-14)


def largest_loss(first, second):
    """Return the largest |ln(P/Q)| over outcomes that both laws have."""
    return max(abs(math.log(first[key] / second[key])) for key in first.keys() & second.keys())


def laws_of_count(joint, p, count):
    """Return the laws of a noisy count, with and without a decision to refine it.

    Args:
        joint: law of (coarse, fine) noise.
        p: of the coarse noise.
        count: true count.

    Returns:
        The law of both noisy counts; that of both, for the outcomes whose coarse count is above 0;
        and that of the coarse count alone, for the other outcomes.
    """
    both = {(coarse + count, fine + count): chance for (coarse, fine), chance in joint.items()}
    refined = {counts: chance for counts, chance in both.items() if counts[0] > 0}
    not_refined = {
        (coarse + count,): discrete_laplace(p, coarse) for coarse in OUTCOMES if coarse + count <= 0
    }
    return both, refined, not_refined


@RATES
@pytest.mark.parametrize("is_copy", [True, False], ids=["finer copy", "independent noise"])
def test_both_counts_lose_what_the_finer_one_loses_if_it_is_a_copy(p, q, is_copy):
    """Independent noise would cost the coarse count, too: its loss is -ln p."""
    joint = joint_law(p, q)
    cost = -math.log(p * q)
    if not is_copy:
        joint = {
            (coarse, fine): discrete_laplace(p, coarse) * discrete_laplace(p * q, fine)
            for coarse, fine in joint
        }
        cost -= math.log(p)
    losses = map(largest_loss, laws_of_count(joint, p, 0), laws_of_count(joint, p, 1))
    loss_of_both, loss_if_refined, loss_if_not_refined = losses
    assert loss_of_both == pytest.approx(cost, rel=1e-9)
    assert loss_if_refined <= cost * (1 + 1e-9)
    assert loss_if_not_refined == pytest.approx(-math.log(p), rel=1e-12)
