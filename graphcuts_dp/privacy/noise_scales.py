"""Scales of noise for a privacy guarantee: sparse vector tests and Gaussian noise.

- `sparse_vector_scales`: noise of the tests of a session, of smallest error for a zCDP budget.
- `gaussian_scale`: the smallest standard deviation of real Gaussian noise for (epsilon, delta).
- `discrete_gaussian_scale` and `discrete_gaussian_delta`: the same for discrete Gaussian noise on
  several whole-number answers.
- `at_most`: a noise rate (1/scale) as an exact short fraction.

Gaussian scales are rounded up and deltas are upper bounds, since callers state them as proven. The
scales of sparse vector tests are plain floats: callers turn them into exact rates by `at_most`, and
compute the cost that they state from those rates. Theorems are in docs/mathematics.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import scipy

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import check_positive, check_probability
from graphcuts_dp.privacy.composition import zcdp_delta, zcdp_rho

# Union bounds of `sparse_vector_scales`: noise of a threshold gets beta/2, shared by all
# thresholds. Noise of queries gets the other beta/2, half for each of the two tests, so beta/4.
_THRESHOLD_SHARES, _TEST_SHARES = 2, 4
_OUTWARD = 1 + 1e-9  # factor of a scale: more than the error of its search
_LARGEST_LOG_RATIO = 1e3  # stands for infinity in a search for a root, which needs finite values
_RATE_BITS = 45  # a rate is rounded down to about this many binary digits


@final
@dataclass(frozen=True, kw_only=True)
class SparseVectorScales:
    """Noise of two one-sided AboveThreshold tests, each restarted whenever it fires.

    A *discrepancy* is the difference between a private answer and the public answer of a
    hypothesis. One test looks for a large positive discrepancy, the other for a large negative one.
    Each has sensitivity 1, and between neighbours all discrepancies change in one direction.

    A test adds noise Exp(b1) to its threshold once, and fresh noise Exp(b2) to each discrepancy. It
    *fires* at the first noisy discrepancy that reaches the noisy threshold, and is then restarted
    with new noise. From its start until it fires, its privacy loss has range eta = 1/b1 + 2/b2
    (largest minus smallest), so it is eta^2/8-zCDP.

    The caller chooses a level alpha and uses the threshold alpha + margin. Then, with probability
    1 - beta, each query at which a test fires has a discrepancy of at least alpha, and each other
    query has one below alpha + slack. alpha itself needs no field here.

    Attributes:
        range: eta.
        threshold_scale: b1, mean of the noise of a threshold.
        query_scale: b2, mean of the noise of a query.
        margin: b2 L2, the threshold minus alpha.
        slack: b1 L1 + b2 L2 = (sqrt(L1) + sqrt(2 L2))^2/eta, the largest error minus alpha.
        log_thresholds: L1 = ln(2 (c+2)/beta), for c restarts and so c + 2 thresholds.
        log_tests: L2 = ln(4 (k+c)/beta), for k queries.
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
    """Return the scales with the smallest slack, for at most c restarts of the two tests together.

    The two tests and their c restarts are c + 2 runs of range eta. They spend
    rho = (c+2) eta^2/8, which gives eta. Noise Exp(b) exceeds b L with probability e^-L. So, except
    with probability beta, no threshold has more noise than b1 L1, and no test more than b2 L2;
    there are at most k + c tests on each side, since the query at which a test fires is asked
    again. b1 and b2 minimise the slack b1 L1 + b2 L2 under eta = 1/b1 + 2/b2, by Lagrange's rule.

    Args:
        rho: zCDP budget, > 0.
        updates: c >= 0, the number of restarts. Each goes with an update of the hypothesis; a
            float, since callers also try estimates of it.
        queries: k >= 1.
        beta: failure probability, in (0, 1).

    Raises:
        ParameterError: a number is out of range.
    """
    check_positive(rho=rho)
    if not (updates >= 0 and queries >= 1):
        raise ParameterError("updates must be at least 0 and queries at least 1")
    check_probability("beta", beta)
    eta = math.sqrt(8 * rho / (updates + 2))
    log_thresholds = math.log(_THRESHOLD_SHARES * (updates + 2) / beta)
    log_tests = math.log(_TEST_SHARES * (queries + updates) / beta)
    root_sum = math.sqrt(log_thresholds) + math.sqrt(2 * log_tests)
    query_scale = 2 * root_sum / (eta * math.sqrt(2 * log_tests))
    return SparseVectorScales(
        range=eta,
        threshold_scale=root_sum / (eta * math.sqrt(log_thresholds)),
        query_scale=query_scale,
        margin=query_scale * log_tests,
        slack=root_sum**2 / eta,
        log_thresholds=log_thresholds,
        log_tests=log_tests,
    )


def gaussian_scale(*, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest standard deviation of Gaussian noise that is (epsilon, delta)-DP.

    Args:
        epsilon: > 0.
        delta: in (0, 1).
        sensitivity: in the Euclidean norm, > 0; sqrt(k) for k queries of sensitivity 1.

    Raises:
        ParameterError: a number is out of range.

    Source: Balle, Wang, *Improving the Gaussian Mechanism*, 2018, Theorem 8.
    """
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    check_probability("delta", delta)

    def log_ratio(log_scale: float) -> float:
        """Return ln(delta of the scale) - ln delta, which falls with the scale."""
        return _gaussian_log_delta(epsilon, math.exp(-log_scale)) - math.log(delta)

    # Bracket the root: the scale, in units of the sensitivity, lies in e^low..e^high.
    high = 1.0
    while log_ratio(high) > 0:
        high += 1
    low = high - 1
    while log_ratio(low) <= 0:
        low -= 1
    log_scale = float(
        scipy.optimize.brentq(
            lambda x: max(log_ratio(x), -_LARGEST_LOG_RATIO), low, high, xtol=1e-12
        )
    )
    return sensitivity * math.exp(log_scale) * _OUTWARD


def discrete_gaussian_scale(*, epsilon: float, delta: float, queries: int) -> float:
    """Return the scale s of discrete Gaussian noise for k whole-number answers of sensitivity 1.

    The noise is P(x) proportional to exp(-(x/s)^2/2). All k answers together are
    (epsilon, delta)-DP, also if queries are chosen after earlier answers. The smaller of two proven
    scales is returned:

    1. From zCDP: s^2 = k/(2 rho), for the largest rho that (epsilon, delta) allows.
    2. From Theorem "The sum of discrete Gaussian noises": delta is nearly that of the Gaussian
       mechanism of sensitivity sqrt(k). At (1, 1e-6) this saves 4 % for k = 30, and 7 % from
       k = 1000 on.

    Args:
        epsilon: > 0.
        delta: in (0, 1).
        queries: k >= 1.

    Raises:
        ParameterError: a number is out of range.

    Source: 1. Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
    Theorem 4. 2. Kairouz, Liu, Steinke, *The Distributed Discrete Gaussian Mechanism*, 2021.
    """
    if not queries >= 1:
        raise ParameterError(f"queries must be at least 1, not {queries}")
    from_zcdp = math.sqrt(queries / (2 * zcdp_rho(epsilon=epsilon, delta=delta))) * _OUTWARD
    # Proof 2 cannot give less than the scale of real Gaussian noise.
    lower_limit = gaussian_scale(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(queries))

    def log_ratio(scale: float) -> float:
        """Return ln(delta of the scale by proof 2) - ln delta."""
        return _summed_log_delta(scale, epsilon, queries) - math.log(delta)

    if lower_limit >= from_zcdp or log_ratio(from_zcdp) > 0:
        return from_zcdp
    if log_ratio(lower_limit) <= 0:
        return lower_limit
    # From here on log_ratio is > 0 at `lower_limit` and <= 0 at `from_zcdp`. It is infinite where
    # the theorem has no bound, so it is clipped.
    scale = scipy.optimize.brentq(
        lambda x: min(_LARGEST_LOG_RATIO, log_ratio(x)), lower_limit, from_zcdp, rtol=1e-10
    )
    return float(scale) * _OUTWARD


def discrete_gaussian_delta(scale: float, *, epsilon: float, queries: int) -> float:
    """Return delta for k whole-number answers of sensitivity 1 with discrete Gaussian noise.

    It is the smaller of the deltas of the two proofs of `discrete_gaussian_scale`.

    Args:
        scale: s > 0.
        epsilon: > 0.
        queries: k >= 1.
    """
    summed = _summed_log_delta(scale, epsilon, queries)
    return min(zcdp_delta(queries / (2 * scale**2), epsilon), math.exp(min(0.0, summed)))


def at_most(rate: float) -> Fraction:
    """Return a fraction below `rate` by a few parts in 10^13, with a short denominator.

    It is a multiple of 2^-n, for the n at which rate 2^n has about 45 binary digits. Rates are
    exact in samplers and costs; rounding them down only makes noise larger.
    """
    shift = _RATE_BITS - math.frexp(rate)[1]
    return Fraction(math.floor(math.ldexp(rate * (1 - 1e-13), shift)), 1) / Fraction(2) ** shift


def _summed_log_delta(scale: float, epsilon: float, queries: int) -> float:
    """Return ln delta by Theorem "The sum of discrete Gaussian noises".

    The sum of the k noises is within a factor e^t of a discrete Gaussian of variance v = k s^2,
    with t = 10 (k-1) exp(-pi^2 s^2). Let p be the density of the normal law of variance v, and
    epsilon' = epsilon - 2 t. delta of the sum is at most e^t times the sum over integers x of the
    positive part of p(x) - e^epsilon' p(x + k). The integral over x is delta of the Gaussian
    mechanism of sensitivity k and variance v at epsilon'. A sum over integers exceeds the integral
    by at most the largest summand, which is at most the largest p(x) where summands are positive.

    Returns:
        Infinity if the theorem has no bound.
    """
    closeness = 10 * (queries - 1) * math.exp(-((math.pi * scale) ** 2))  # t
    epsilon_left = epsilon - 2 * closeness  # epsilon'
    # The theorem holds for s >= 1/2; scales below 1 are left to proof 1 here.
    if scale < 1 or epsilon_left <= 0:
        return math.inf
    variance = queries * scale**2
    # Summands are positive from x = epsilon' s^2 - k/2 on, and p is largest at the x nearest to 0.
    first_positive = max(0.0, epsilon_left * scale**2 - queries / 2)
    log_largest = -(first_positive**2) / (2 * variance) - math.log(2 * math.pi * variance) / 2
    # Sensitivity k over the deviation sqrt(k) s.
    log_gaussian = _gaussian_log_delta(epsilon_left, math.sqrt(queries) / scale)
    return closeness + float(np.logaddexp(log_gaussian, log_largest))


def _gaussian_log_delta(epsilon: float, ratio: float) -> float:
    """Return ln delta of the Gaussian mechanism, with real noise.

    For the normal distribution function Phi,

        delta = Phi(r/2 - epsilon/r) - exp(epsilon) Phi(-r/2 - epsilon/r).

    Args:
        epsilon: > 0.
        ratio: r, the sensitivity over the standard deviation.

    Returns:
        -infinity if both terms agree to the last bit.
    """
    half_shift, offset = ratio / 2, epsilon / ratio
    log_first = float(scipy.special.log_ndtr(half_shift - offset))
    log_second = epsilon + float(scipy.special.log_ndtr(-half_shift - offset))
    relative_difference = -math.expm1(log_second - log_first)
    if relative_difference <= 0:
        return -math.inf
    return log_first + math.log(relative_difference)
