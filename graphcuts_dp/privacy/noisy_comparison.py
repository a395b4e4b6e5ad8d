"""The privacy cost of noisy answers that are shown only if they are far from a public guess.

A round adds discrete Laplace noise to a private count. If the noisy count is within a threshold T
of a public guess, the round is *silent*; else the noisy count is shown. After B shown counts no
more private data are read. The cost below does not depend on the number of silent rounds. It
replaces the proof of GRU12's Theorem 4.1, which does not hold as printed.

Papers: GRU12 is Gupta, Roth, Ullman, *Iterative Constructions and Private Data Release*, 2012.
"""

import math

import scipy

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import check_probability

_USELESS_EPSILON = 1e9  # stands for an infinite epsilon in the search
_OUTWARD = 1 + 1e-9  # factor of an epsilon: more than its floats lose


def comparison_moment(order: float, count_epsilon: float) -> float:
    """Return mu, the logarithm of the moment that each shown count contributes.

    With theta = exp(e) - 1 and K = a (a+1)/2 exp((a+2) e),

        mu = 2 artanh(K theta^2/(1 - a theta)).

    For small e, mu B/a is about (1 + a) e^2 B: twice the Renyi divergence of order 1 + a of B noisy
    counts that are always shown.

    Args:
        order: a > 0.
        count_epsilon: e > 0, the pure epsilon of one noisy count: its rate times its sensitivity.

    Returns:
        mu; infinity if a theta >= 1, or if the argument of artanh is not below 1.

    Privacy:
        By Theorem "Noisy comparison with a public guess", all rounds together are
        (epsilon, delta)-DP for every epsilon and delta >= exp(mu B - a epsilon). Guesses and
        queries may be chosen after earlier rounds.

    Source: ours.
    """
    theta = math.expm1(count_epsilon)
    denominator = 1 - order * theta
    log_numerator = (
        math.log(order * (order + 1) / 2) + (order + 2) * count_epsilon + 2 * math.log(theta)
    )
    if denominator <= 0 or log_numerator >= math.log(denominator):
        return math.inf
    return 2 * math.atanh(math.exp(log_numerator) / denominator)


def comparison_epsilon(count_epsilon: float, *, updates: float, delta: float) -> float:
    """Return nearly the least epsilon that `comparison_moment` proves for a delta, rounded up.

    Args:
        count_epsilon: e > 0, the pure epsilon of one noisy count.
        updates: B > 0, the largest number of shown counts.
        delta: in (0, 1).

    Raises:
        ParameterError: delta is out of range, or the noise is so small that the theorem says
            nothing.
    """
    check_probability("delta", delta)

    def epsilon_at(log_order: float) -> float:  # every order gives a valid epsilon
        order = math.exp(log_order)
        moment = comparison_moment(order, count_epsilon)
        return min(_USELESS_EPSILON, (moment * updates - math.log(delta)) / order)

    # mu is finite only below about 1/e; the best order is about sqrt(ln(1/delta)/B)/e.
    middle = math.log(math.sqrt(-math.log(delta) / updates) / count_epsilon)
    largest = min(middle + 3, -math.log(count_epsilon))
    best = scipy.optimize.minimize_scalar(
        epsilon_at, bounds=(largest - 12, largest), method="bounded"
    )
    if best.fun >= _USELESS_EPSILON:
        raise ParameterError("the noise is too small for a proven delta; use more noise")
    return float(best.fun) * _OUTWARD
