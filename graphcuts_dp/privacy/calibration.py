"""Scales of noise from what is promised."""

import math
from dataclasses import dataclass
from typing import final

from scipy.optimize import brentq
from scipy.special import log_ndtr

from graphcuts_dp.errors import ParameterError


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
    """

    range: float
    threshold_scale: float
    query_scale: float
    margin: float
    slack: float


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
    log_thresholds = math.log(2 * (updates + 2) / beta)
    log_tests = math.log(4 * (queries + updates) / beta)
    both = math.sqrt(log_thresholds) + math.sqrt(2 * log_tests)
    query_scale = 2 * both / (eta * math.sqrt(2 * log_tests))
    return SparseVectorScales(
        range=eta,
        threshold_scale=both / (eta * math.sqrt(log_thresholds)),
        query_scale=query_scale,
        margin=query_scale * log_tests,
        slack=both**2 / eta,
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
        scale = math.exp(log_scale)
        near, far = 1 / (2 * scale), epsilon * scale
        above, below = float(log_ndtr(near - far)), epsilon + float(log_ndtr(-near - far))
        # ln(e^above - e^below), which is -inf when they agree to the last bit
        gap = -math.expm1(below - above)
        return above + math.log(gap) - math.log(delta) if gap > 0 else -math.inf

    high = 1.0
    while excess(high) > 0:
        high += 1
    low = high - 1
    while excess(low) <= 0:
        low -= 1
    root = float(brentq(lambda x: max(excess(x), -1e3), low, high, xtol=1e-12))
    return sensitivity * math.exp(root) * (1 + 1e-9)
