"""The errors that the papers' mechanisms guarantee, from sizes alone: no data is read.

The online ones live in `idc.online_bounds`, where a session finds them too, and are named here
again. The offline ones ask a distinguisher for the worst query.
"""

import math
from collections.abc import Callable

from graphcuts_dp.idc.online_bounds import (
    ErrorBound,
    checked_promise,
    dr14_online,
    gru12_online,
    jt12_online,
    solve_circle,
    tight_online,
    whole,
)
from graphcuts_dp.idc.update_bounds import UpdateBound

__all__ = [
    "ErrorBound",
    "dr14_offline",
    "dr14_online",
    "gru12_offline",
    "gru12_online",
    "jt12_online",
    "tight_online",
]


def dr14_offline(
    update_bound: UpdateBound, *, queries: float, epsilon: float, delta: float, beta: float
) -> ErrorBound:
    """DR14's IC mechanism with the exponential mechanism as distinguisher.

    alpha = 64 sqrt(B(alpha/2) ln(1/delta)) ln(|Q|/gamma)/epsilon with gamma = beta/(2B), or
    32 B(alpha/2) ln(|Q|/gamma)/epsilon for delta = 0. Theorem 5.7 prints 16 and 8, which do not
    follow from its Theorem 5.6. Answers count edges.

    Args:
        update_bound: B, of unnormalised databases.
        queries: |Q| >= 1.
        epsilon: > 0.
        delta: in [0, 1).
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: a number out of range, or no alpha solves the equation.

    Source: DR14, Theorems 5.3 to 5.7.
    """
    checked_promise(queries, epsilon, delta or 0.5, beta)

    def accuracy(alpha: float) -> float:
        rounds = max(1.0, update_bound(alpha / 2))
        logs = math.log(queries) + math.log(2 * rounds / beta)
        if delta == 0:
            return 32 * rounds * logs / epsilon
        return 64 * math.sqrt(rounds * math.log(1 / delta)) * logs / epsilon

    alpha = solve_circle(accuracy)
    return ErrorBound(
        mechanism="DR14 IC",
        alpha=alpha,
        updates=whole(update_bound(alpha / 2)),
        threshold=0.75 * alpha,
        error=alpha,
    )


def gru12_offline(
    update_bound: UpdateBound,
    *,
    distinguisher: Callable[[float], float],
    epsilon: float,
    delta: float,
    beta: float,
) -> ErrorBound:
    """GRU12's Algorithm 3 with any distinguisher: error 3 alpha/2.

    alpha = max(16 sqrt(B ln(1/delta)) ln(2B/beta)/epsilon, 2 F(epsilon/(4 sqrt(B ln(1/delta))))).
    The paper runs B(alpha) rounds and claims error alpha; updates have a discrepancy of alpha/2, so
    B is B(alpha/2), and the test that stops leaves a gap up to alpha, so F adds to that.

    Args:
        update_bound: B.
        distinguisher: F: at privacy eps, the query found is within F(eps) of the worst, except with
            probability beta/(2B).
        epsilon: > 0.
        delta: in (0, 1).
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: a number out of range, or no alpha solves the equation.

    Source: GRU12, Algorithm 3 and Theorem 7.3.
    """
    checked_promise(1, epsilon, delta, beta)

    def accuracy(alpha: float) -> float:
        rounds = max(1.0, update_bound(alpha / 2))
        share = epsilon / (4 * math.sqrt(rounds * math.log(1 / delta)))
        return max(4 * math.log(2 * rounds / beta) / share, 2 * distinguisher(share))

    alpha = solve_circle(accuracy)
    return ErrorBound(
        mechanism="GRU12 Alg. 3",
        alpha=alpha,
        updates=whole(update_bound(alpha / 2)),
        threshold=0.75 * alpha,
        error=1.5 * alpha,
    )
