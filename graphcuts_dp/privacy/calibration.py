"""Scales of noise from what is promised, and what comparisons with a public guess cost."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import scipy

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import zcdp_delta, zcdp_rho

TOTAL_SHARE = Fraction(1, 40)  # of a construction's budget and beta, for a noisy total weight

_OF_THRESHOLDS, _OF_TESTS = 2, 4  # half of beta is for each, and tests have two sides


@final
@dataclass(frozen=True, kw_only=True)
class SparseVectorScales:
    """Noise of two one-sided AboveThreshold instances, restarted whenever one fires.

    One instance compares monotone queries of sensitivity 1, plus Exp(b2) each, with a threshold
    plus Exp(b1). Its privacy loss has range eta = 1/b1 + 2/b2, so it is eta^2/8-zCDP. With
    probability 1 - beta, every test that fires has a discrepancy of at least alpha, and every
    silent one less than alpha + slack, if the threshold is alpha + margin.

    Attributes:
        range: eta.
        threshold_scale: b1, mean of the threshold's noise.
        query_scale: b2, mean of a query's noise.
        margin: b2 ln(4(k+c)/beta): threshold minus alpha.
        slack: (sqrt(L1) + sqrt(2 L2))^2 / eta: largest error minus alpha.
        log_thresholds: L1 = ln(2(c+2)/beta).
        log_tests: L2 = ln(4(k+c)/beta).
    """

    range: float
    threshold_scale: float
    query_scale: float
    margin: float
    slack: float
    log_thresholds: float
    log_tests: float


def sparse_vector_scales(
    *, rho: float, updates: float, queries: float, beta: float
) -> SparseVectorScales:
    """The scales with the smallest slack, for at most c restarts in all.

    c + 2 instances of range eta spend rho = (c+2) eta^2/8. L1 = ln(2(c+2)/beta) covers their
    thresholds and L2 = ln(4(k+c)/beta) the tests on both sides of k queries, repeated after each
    update; b1 and b2 minimise b1 L1 + b2 L2 for that eta.

    Args:
        rho: zCDP budget, > 0.
        updates: c >= 0.
        queries: k >= 1.
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: a number out of range.
    """
    if not (math.isfinite(rho) and rho > 0):
        raise ParameterError(f"rho must be positive and finite, not {rho}")
    if not (updates >= 0 and queries >= 1):
        raise ParameterError("updates must be at least 0 and queries at least 1")
    if not 0 < beta < 1:
        raise ParameterError(f"beta must be between 0 and 1, not {beta}")
    eta = math.sqrt(8 * rho / (updates + 2))
    log_thresholds = math.log(_OF_THRESHOLDS * (updates + 2) / beta)
    log_tests = math.log(_OF_TESTS * (queries + updates) / beta)
    both = math.sqrt(log_thresholds) + math.sqrt(2 * log_tests)
    query_scale = 2 * both / (eta * math.sqrt(2 * log_tests))
    return SparseVectorScales(
        range=eta,
        threshold_scale=both / (eta * math.sqrt(log_thresholds)),
        query_scale=query_scale,
        margin=query_scale * log_tests,
        slack=both**2 / eta,
        log_thresholds=log_thresholds,
        log_tests=log_tests,
    )


def gaussian_scale(*, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The smallest standard deviation of Gaussian noise that is (epsilon, delta)-private.

    Args:
        epsilon: > 0.
        delta: in (0, 1).
        sensitivity: in the Euclidean norm, > 0; sqrt(k) for k queries of sensitivity 1.

    Raises:
        ParameterError: a number out of range.

    Source: Balle, Wang, *Improving the Gaussian Mechanism*, 2018, Theorem 8.
    """
    for name, number in (("epsilon", epsilon), ("sensitivity", sensitivity)):
        if not (math.isfinite(number) and number > 0):
            raise ParameterError(f"{name} must be positive and finite, not {number}")
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be between 0 and 1, not {delta}")

    def excess(log_scale: float) -> float:
        return _gaussian_log_delta(epsilon, math.exp(-log_scale)) - math.log(delta)

    high = 1.0
    while excess(high) > 0:
        high += 1
    low = high - 1
    while excess(low) <= 0:
        low -= 1
    root = float(scipy.optimize.brentq(lambda x: max(excess(x), -1e3), low, high, xtol=1e-12))
    return sensitivity * math.exp(root) * (1 + 1e-9)


def discrete_gaussian_scale(*, epsilon: float, delta: float, queries: int) -> float:
    """Scale s of discrete Gaussian noise on each of k integer queries of sensitivity 1.

    All k answers together are (epsilon, delta)-private, also for queries chosen one after the
    other. The smaller of two scales that are proven to do:

    1. zCDP: s^2 = k/(2 rho).
    2. The sum of the k noises decides. It is within a factor e^(+-t) of a discrete Gaussian of
       variance v = k s^2, t = 10 (k-1) exp(-pi^2 s^2). For that one, delta is a sum over integers
       of a log-concave function that lies under the density of the Gaussian mechanism of
       sensitivity sqrt(k): at most that mechanism's delta plus the function's largest value. At
       (1, 1e-6) and k = 30 this saves 4 % over the first, from k = 1000 on 7 %.

    Raises:
        ParameterError: a number out of range.

    Source: 1. Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
    Theorem 4 (exp(-(x/s)^2/2) over the integers); 2. Kairouz, Liu, Steinke, *The Distributed
    Discrete Gaussian Mechanism*, 2021, for t.
    """
    if not queries >= 1:
        raise ParameterError(f"queries must be at least 1, not {queries}")
    plain = math.sqrt(queries / (2 * zcdp_rho(epsilon=epsilon, delta=delta))) * (1 + 1e-9)
    least = gaussian_scale(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(queries))

    def excess(scale: float) -> float:
        return _summed_log_delta(scale, epsilon, queries) - math.log(delta)

    if least >= plain or excess(plain) > 0:
        return plain
    if excess(least) <= 0:
        return least
    return float(scipy.optimize.brentq(lambda x: min(1e3, excess(x)), least, plain, rtol=1e-10)) * (
        1 + 1e-9
    )


def discrete_gaussian_delta(scale: float, *, epsilon: float, queries: int) -> float:
    """The delta of k integer queries of sensitivity 1, each with discrete Gaussian noise.

    The smaller of what the two proofs of `discrete_gaussian_scale` give.

    Args:
        scale: s, > 0.
        epsilon: > 0.
        queries: k >= 1.
    """
    summed = _summed_log_delta(scale, epsilon, queries)
    return min(zcdp_delta(queries / (2 * scale**2), epsilon), math.exp(min(0.0, summed)))


def _summed_log_delta(scale: float, epsilon: float, queries: int) -> float:
    """Logarithm of the delta by the second proof of `discrete_gaussian_scale`, or infinity."""
    apart = 10 * (queries - 1) * math.exp(-((math.pi * scale) ** 2))
    left = epsilon - 2 * apart
    if scale < 1 or left <= 0:  # the theorem needs s >= 1/2
        return math.inf
    variance = queries * scale**2
    start = max(0.0, left * scale**2 - queries / 2)  # beyond it the function is positive
    highest = -(start**2) / (2 * variance) - math.log(2 * math.pi * variance) / 2
    body = _gaussian_log_delta(left, math.sqrt(queries) / scale)
    return apart + float(np.logaddexp(body, highest))


def _gaussian_log_delta(epsilon: float, ratio: float) -> float:
    """Logarithm of the Gaussian mechanism's delta; `ratio` is sensitivity over deviation."""
    near, far = ratio / 2, epsilon / ratio
    above, below = (
        float(scipy.special.log_ndtr(near - far)),
        epsilon + float(scipy.special.log_ndtr(-near - far)),
    )
    # ln(e^above - e^below), which is -inf when they agree to the last bit
    gap = -math.expm1(below - above)
    return above + math.log(gap) if gap > 0 else -math.inf


def at_most(rate: float) -> Fraction:
    """A fraction below `rate` by a few parts in 10^13, that is not long to write."""
    shift = 45 - math.frexp(rate)[1]
    return Fraction(math.floor(math.ldexp(rate * (1 - 1e-13), shift)), 1) / Fraction(2) ** shift


def comparison_moment(order: float, each: float) -> float:
    """The moment of noisy answers that are shown only where they are far from a public guess.

    A round adds discrete Laplace noise to a private count. If the noisy count is within T of a
    public guess, the round is silent; else it shows the noisy count. After B rounds that have
    shown one, nothing is read any more. How many rounds are silent plays no part in the cost.

    Theorem. Let one noisy count be e-DP (e = rate times sensitivity), theta = exp(e) - 1, and
    for an order a > 0 with a theta < 1

        K = a (a+1)/2 exp((a+2) e),    mu = 2 artanh(K theta^2/(1 - a theta)),

    if that argument is below 1. Then all rounds together are (epsilon, delta)-DP for every
    epsilon and delta >= exp(mu B - a epsilon), also when guesses and queries are chosen after
    earlier rounds.

    Proof. 1. One round, with fixed history: let P and P' be the probabilities of its outputs on
    two neighbours, x and y those of showing a count, and w = 1 - P'/P at an output. The output
    is computed from a noisy count, so P'/P lies in [exp(-e), exp(e)], and |w| <= theta.

    2. By Taylor's formula (P/P')^a = (1 - w)^-a <= 1 + a w + K w^2: the remainder has a factor
    (1 - z)^(-a-2) with z between 0 and w, and 1 - z >= exp(-e).

    3. Sum of P (P/P')^a over counts that are shown: at most x + a (x - y) + K theta^2 x, since
    P w sums to x - y. Hence also |x - y| <= theta x.

    4. At silence, P = 1 - x and P w = y - x, so P (P/P')^a <= 1 - x + a (y - x) + K w (y - x),
    and w (y - x) <= theta |y - x| <= theta^2 x.

    5. So the mean S of (P/P')^a exp(-mu [a count is shown]) is at most 1 - (1 - exp(-mu)) (x +
    a (x - y)) + (1 + exp(-mu)) K theta^2 x. As x + a (x - y) >= (1 - a theta) x and (1 -
    exp(-mu))/(1 + exp(-mu)) = tanh(mu/2) = K theta^2/(1 - a theta), S <= 1.

    6. Let Psi be the privacy loss of all rounds, the logarithm of the ratio of probabilities of
    what was shown, and N <= B the number of counts shown. By 5, exp(a Psi - mu N) has mean at
    most 1, round after round; so exp(a Psi) has mean at most exp(mu B), and P(Psi > epsilon) <=
    exp(mu B - a epsilon) by Markov. A loss that passes epsilon with probability delta at most
    is (epsilon, delta)-DP.

    For small e this is about (1 + a) e^2 B in Renyi divergence of order 1 + a: B noisy counts
    that are always shown cost half of it.

    Args:
        order: a > 0.
        each: e > 0, the pure epsilon of one noisy count.

    Returns:
        mu; infinite where the theorem says nothing.

    Source: our own; in place of the proof of GRU12's Theorem 4.1, which does not hold as
    printed. Claim 4.3 bounds ln(2 (1 + e/(sigma - 1))), which is above ln 2, by 2e/(sigma - 1),
    which falls to 0. Claim 4.7 takes the loss of a silent round as 0 outside of H, where only
    the loss given the event E1 is; it uses epsilon0 for terms that Claim 4.3 bounds by 11
    epsilon0, E|H| <= 8 for 8 B, and Azuma's inequality without the 2 in its exponent. The
    constant 1000 is large enough to make up for all that.
    """
    theta = math.expm1(each)
    room = 1 - order * theta
    log_factor = math.log(order * (order + 1) / 2) + (order + 2) * each + 2 * math.log(theta)
    if room <= 0 or log_factor >= math.log(room):
        return math.inf
    return 2 * math.atanh(math.exp(log_factor) / room)


def comparison_epsilon(each: float, *, updates: float, delta: float) -> float:
    """Nearly the least epsilon that `comparison_moment` proves for a delta, rounded up.

    Args:
        each: e > 0, the pure epsilon of one noisy count.
        updates: B > 0, how many are shown at most.
        delta: in (0, 1).

    Raises:
        ParameterError: delta out of range, or noise so small that the theorem says nothing.
    """
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be between 0 and 1, not {delta}")

    def at(log_order: float) -> float:  # every order gives a valid epsilon
        order = math.exp(log_order)
        moment = comparison_moment(order, each)
        return min(1e9, (moment * updates - math.log(delta)) / order)

    # mu is finite only below about 1/e; the best order is about sqrt(ln(1/delta)/B)/e.
    middle = math.log(math.sqrt(-math.log(delta) / updates) / each)
    top = min(middle + 3, -math.log(each))
    found = scipy.optimize.minimize_scalar(at, bounds=(top - 12, top), method="bounded")
    if found.fun >= 1e9:
        raise ParameterError("the noise is too small for a proven delta; use more noise")
    return float(found.fun) * (1 + 1e-9)
