"""Zero-concentrated differential privacy (zCDP) and what it means as (epsilon, delta)."""

import math

from scipy.optimize import brentq, minimize_scalar

from graphcuts_dp.errors import ParameterError

_SLACK = 1e-7  # relative: more than the minimum and the root can be off


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The delta for which rho-zCDP implies (epsilon, delta)-differential privacy.

    delta = inf over a > 1 of exp((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1). Every a gives a
    valid delta, so an inexact minimum errs to a weaker claim.

    Args:
        rho: > 0.
        epsilon: > 0.

    Returns:
        delta in (0, 1].

    Raises:
        ParameterError: rho or epsilon out of range.

    Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
    Corollary 13.
    """
    for name, number in (("rho", rho), ("epsilon", epsilon)):
        if not (math.isfinite(number) and number > 0):
            raise ParameterError(f"{name} must be positive and finite, not {number}")
    return math.exp(_log_delta(rho, epsilon))


def zcdp_rho(*, epsilon: float, delta: float) -> float:
    """The largest rho for which rho-zCDP implies (epsilon, delta)-differential privacy.

    Rounded down. (1, 1e-6) allows 0.02436.

    Args:
        epsilon: > 0.
        delta: in (0, 1).

    Raises:
        ParameterError: epsilon or delta out of range.
    """
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be between 0 and 1, not {delta}")
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError(f"epsilon must be positive and finite, not {epsilon}")

    def excess(log_rho: float) -> float:
        return _log_delta(math.exp(log_rho), epsilon) - math.log(delta)

    low = math.log(epsilon) - 1
    while excess(low) > 0:
        low -= 2
    high = low + 2
    while excess(high) < 0:
        high += 2
    return math.exp(float(brentq(excess, low, high, xtol=1e-12))) * (1 - _SLACK)


def _log_delta(rho: float, epsilon: float) -> float:
    def at(log_excess: float) -> float:
        excess = math.exp(log_excess)  # a - 1
        a = 1 + excess
        return excess * (a * rho - epsilon) - a * math.log1p(1 / excess) - log_excess

    # The best a is at most about (epsilon + rho)/(2 rho) + 1/epsilon; a wide bracket costs little.
    largest = math.log(10 * (1 + epsilon / rho + 1 / epsilon))
    found = minimize_scalar(at, bounds=(-20.0, largest), method="bounded", options={"xatol": 1e-9})
    return min(0.0, float(found.fun))
