"""The privacy cost of noisy answers that are shown only if they are far from a public guess.

A round adds discrete Laplace noise to a private count. If the noisy count is within a threshold T
of a public guess, the round is *silent*; else the noisy count is shown. Each shown count is an
*update*: the caller corrects its guesses by it. After B updates no more private data are read. The
cost below does not depend on the number of silent rounds.

The proof bounds an exponential moment of the privacy loss of all rounds, of an order a > 0. In the
formulas, count_epsilon is the pure epsilon of one noisy count alone, and epsilon and delta are
those of all rounds together. Theorem "Noisy comparison with a public guess" of docs/mathematics.md
has the proof. It replaces that of GRU12's Theorem 4.1, which does not hold as printed.

Papers: GRU12 is Gupta, Roth, Ullman, *Iterative Constructions and Private Data Release*, 2012.
"""

import math

import scipy

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import check_probability

_USELESS_EPSILON = 1e9  # stands for an infinite epsilon: the search needs finite values
_OUTWARD = 1 + 1e-9  # factor of the returned epsilon: more than rounding errors of floats


def comparison_moment(order: float, count_epsilon: float) -> float:
    """Return mu: each shown count multiplies the moment of the privacy loss by at most exp(mu).

    The moment of order a is the mean of exp(a * privacy loss). With

        theta = exp(count_epsilon) - 1,   K = a (a+1)/2 * exp((a+2) count_epsilon),

    mu = 2 artanh(K theta^2/(1 - a theta)). Silent rounds do not add to the moment.

    Args:
        order: a > 0.
        count_epsilon: > 0, the pure epsilon of one noisy count: the rate of its noise times its
            sensitivity.

    Returns:
        mu; infinity if a theta >= 1, or if the argument of artanh is not below 1: then the theorem
        has no bound at this order.

    Privacy:
        The moment of all rounds is at most exp(mu B). By Markov's inequality the privacy loss
        exceeds epsilon with probability at most delta = exp(mu B - a epsilon), so all rounds
        together are (epsilon, delta)-DP. Guesses and queries may be chosen after earlier rounds.

    Source: ours.
    """
    theta = math.expm1(count_epsilon)
    denominator = 1 - order * theta
    # ln(K theta^2), as a logarithm since K overflows at large orders.
    log_numerator = (
        math.log(order * (order + 1) / 2) + (order + 2) * count_epsilon + 2 * math.log(theta)
    )
    if denominator <= 0 or log_numerator >= math.log(denominator):
        return math.inf
    return 2 * math.atanh(math.exp(log_numerator) / denominator)


def comparison_epsilon(count_epsilon: float, *, updates: float, delta: float) -> float:
    """Return nearly the least epsilon that `comparison_moment` proves for a delta, rounded up.

    Solving delta = exp(mu B - a epsilon) for epsilon gives (mu B + ln(1/delta))/a. Every order a
    gives a valid epsilon; the least one is searched over ln a. An inexact search only makes the
    epsilon larger.

    Args:
        count_epsilon: > 0, the pure epsilon of one noisy count.
        updates: B > 0, the largest number of shown counts. May be fractional.
        delta: in (0, 1).

    Raises:
        ParameterError: delta is out of range, or the noise is so small that the theorem says
            nothing.
    """
    check_probability("delta", delta)

    def epsilon_at(log_order: float) -> float:
        order = math.exp(log_order)
        moment = comparison_moment(order, count_epsilon)
        return min(_USELESS_EPSILON, (moment * updates - math.log(delta)) / order)

    # For a small count_epsilon, mu is about a (1 + a) count_epsilon^2. So the least epsilon lies
    # near the order sqrt(ln(1/delta)/B)/count_epsilon, and mu is infinite from about
    # 1/count_epsilon on. The search goes from e^3 times the former, at most the latter, down to
    # e^-12 of its start.
    log_estimate = math.log(math.sqrt(-math.log(delta) / updates) / count_epsilon)
    largest = min(log_estimate + 3, -math.log(count_epsilon))
    best = scipy.optimize.minimize_scalar(
        epsilon_at, bounds=(largest - 12, largest), method="bounded"
    )
    if best.fun >= _USELESS_EPSILON:
        raise ParameterError("the noise is too small for a proven delta; use more noise")
    return float(best.fun) * _OUTWARD
