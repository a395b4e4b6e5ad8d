"""Private choices among public candidates by whole scores, with exactly the stated distribution."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.exact_choice import Choice
from graphcuts_dp.privacy.noise import sample_geometric

_LOGARITHM_ERROR = 2.0**-40  # of float logarithms that are within 100 of the largest


def noisy_maximum(scores: IntVector, rate: Fraction, source: EntropySource) -> int:
    """The candidate whose score plus noise is largest; of equal ones, the first.

    Noise is G >= 0 with P(G >= k) = e^(-rate k) for whole k >= 0, independent for each candidate.

    Guarantee: if each score differs by at most s between neighbours, (2 s rate)-DP; if moreover
    all of them differ in the same direction, (s rate)-DP.
    Proof. Fix the noise of all candidates but i. Then i is chosen just when u_i + G_i >= t_i, where
    t_i = max over j != i of u_j + G_j, plus 1 for a j that comes before i: whole numbers all. On a
    neighbour the least G_i that will do, max(t_i - u_i, 0), is larger by at most 2 s (by at most s
    in the second case, where t_i - u_i is a difference of numbers that move together), so the
    probability is at least e^(-2 s rate) times as large, for each noise of the others.

    Accuracy: the chosen score is within k of the largest but for probability
    (candidates - 1) e^(-rate (k + 1)), since a candidate more than k below the best one can win
    only with G > k. See `shortfall`.

    Args:
        scores: of the candidates, whole numbers below 2^62 in size, shape (candidates,). Private.
        rate: > 0.
        source: where the noise comes from.

    Source: DR14 section 3.3 (report noisy max); with exponential noise it is never worse than the
    exponential mechanism of the same epsilon (McKenna, Sheldon 2020; Ding et al. 2021).
    """
    noise = sample_geometric(rate, len(scores), source)
    return int(np.argmax(scores + noise))


def shortfall(candidates: int, rate: Fraction, *, failure: float) -> int:
    """By how much the score of `noisy_maximum` may stay below the largest, rounded up.

    Args:
        candidates: how many there are, >= 1.
        rate: as for `noisy_maximum`.
        failure: in (0, 1): the probability with which it may stay further below.
    """
    if candidates == 1:
        return 0
    steps = math.log((candidates - 1) / failure) / float(rate) * (1 + 1e-12)
    return max(0, math.ceil(steps) - 1)


def exponential_choice(scores: IntVector, rate: Fraction, source: EntropySource) -> int:
    """The exponential mechanism, exactly: candidate i has probability ~ e^(rate u_i).

    Guarantee: if each score differs by at most s between neighbours, the privacy loss has range
    2 s rate: (2 s rate)-DP, and (2 s rate)^2/8-zCDP, a quarter of what is proven for
    `noisy_maximum`. Half the range if all scores differ in the same direction.

    Accuracy: the chosen score is within t of the largest but for probability
    (candidates - 1) e^(-rate t).

    Args:
        scores: of the candidates, whole numbers below 2^62 in size, shape (candidates,). Private.
        rate: > 0.
        source: where the noise comes from.

    Source: McSherry, Talwar 2007; zCDP: Cesar, Rogers 2021.
    """
    return exponential_choices(scores, rate, 1, source)[0]


def exponential_choices(
    scores: IntVector, rate: Fraction, count: int, source: EntropySource
) -> list[int]:
    """Several independent draws of `exponential_choice` with the same scores.

    Guarantee: that of one draw, for each of them.

    Args:
        scores: as for `exponential_choice`. Private.
        rate: > 0.
        count: how many, >= 1.
        source: where the noise comes from.
    """
    behind = scores - scores.max()

    def exact(index: int) -> Decimal:
        return int(behind[index]) * Decimal(rate.numerator) / Decimal(rate.denominator)

    choice = Choice(behind * float(rate), _LOGARITHM_ERROR, exact)
    return [choice.draw(source) for _ in range(count)]
