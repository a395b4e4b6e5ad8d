"""Error bound of a private least cut, from public numbers alone.

`graphcuts_dp.cuts.least` adds discrete Laplace noise D to a cost of each vertex and releases the
least cut for these costs. Its proof shows that the released cut weighs more than the least one by
at most the sum of max(0, D) over the n vertices. Here a Chernoff bound is computed for that sum.
Noise is a whole number of grid units; a *grid unit* is a weight that the caller chooses.
"""

import math
from fractions import Fraction

import numpy as np

# The Chernoff bound holds for each exponent t in (0, rate). The least bound of 999 exponents is
# taken; these are their t/rate.
_TILTS = np.linspace(0.001, 0.999, 999)


def least_cut_excess(n: int, rate: float | Fraction, *, unit: float = 1.0, beta: float) -> float:
    """Return a bound on the excess weight of the private least cut of n vertices.

    The excess is at most the sum of n independent X = max(0, D), where D is discrete Laplace noise:
    P(X = k) = (1-r)/(1+r) r^k for k >= 1, with r = e^-rate. By Markov's inequality for e^(t sum X),

        P(sum X >= x) <= E[e^(tX)]^n e^(-tx)    for every 0 < t < rate,

    which is beta for x = (n ln E[e^(tX)] - ln beta)/t. The least such x of a grid of t is returned.

    Args:
        n: number of vertices.
        rate: rate of the noise, per grid unit.
        unit: weight of one grid unit.
        beta: probability that the excess is larger, in (0, 1).
    """
    rate = float(rate)
    tilts = rate * _TILTS  # t, shape (999,)
    r = math.exp(-rate)
    # E[e^(tX)] - 1 = r (e^t - 1)/((1 + r)(1 - r e^t)), with r e^t = e^(t - rate). The 1 is left out
    # to keep digits: for small t the expectation is near 1, and log1p takes the difference from 1.
    moments_minus_one = r / (1 + r) * np.expm1(tilts) / -np.expm1(tilts - rate)
    log_moments = np.log1p(moments_minus_one)
    return unit * float(np.min((n * log_moments - math.log(beta)) / tilts))
