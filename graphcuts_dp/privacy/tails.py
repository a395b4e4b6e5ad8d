"""How far noise on single answers can be off: proven half widths of intervals."""

import math

import scipy

from graphcuts_dp.privacy.distributions import BinaryResponse
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm


def discrete_gaussian_radius(scale: float, *, failure: float) -> int:
    """Half width t with P(|X| > t) <= failure for X ~ exp(-(x/scale)^2/2) on the integers.

    P(X >= x) is at most the continuous distribution's P(N >= x - 1).

    Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
    Proposition 25.
    """
    return math.ceil(scale * float(-scipy.special.ndtri(failure / 2)))


def discrete_laplace_radius(rate: float, *, failure: float) -> int:
    """Half width t, the least one, with P(|X| > t) <= failure for X ~ e^(-rate |x|).

    P(|X| >= x) = 2 e^(-rate x)/(1 + e^-rate) for whole x >= 1.
    """
    least = (math.log(2) - math.log1p(math.exp(-rate)) - math.log(failure)) / rate
    return max(0, math.ceil(least * (1 + 1e-12)) - 1)


def response_radius(distribution: BinaryResponse, pairs: int, *, failure: float) -> float:
    """Half width of an interval for the sum of so many entries under binary randomised response.

    `BinaryResponse.radius` is Chernoff's bound. The factor that it leaves out comes in here, see
    `NoiseSum.exponential_radius`. From thousands of pairs on this is 5 to 25 % shorter than
    Chernoff's, and 0.5 to 5 % longer than the normal approximation, which proves nothing (epsilon
    of 3 or less).

    The cut must have been chosen without looking at other answers from the same noisy matrix.

    Args:
        distribution: of the entries.
        pairs: number of entries in the sum, >= 0; a cut between S and T has |S||T|.
        failure: in (0, 1); P(|estimate - truth| > t) is at most this, whatever the truth.

    Source: Baillon, Cominetti, Vaisman, *A sharp uniform bound for the distribution of sums of
    Bernoulli trials*, 2016, for 0.4689.
    """
    if pairs == 0:
        return 0.0
    return NoiseSum.of([NoiseTerm(distribution.law, 1.0, pairs)]).exponential_radius(
        -math.log(failure)
    )
