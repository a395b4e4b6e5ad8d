"""The error that an online mechanism guarantees, from sizes alone: no data is read.

A construction needs at most B(alpha) updates, and the fewer it needs, the less noise each of its
answers gets; so alpha depends on a threshold T that depends on B(alpha). The functions here solve
that circle. B is an argument: the `update_bound` of any construction, or a function of sizes from
`learn.update_bounds`.

The papers' modes keep the printed constants, corrected where a proof needs it (each docstring
says where). At epsilon = 1 the errors of GRU12's and JT12's exceed every cut of graphs up to 10^5
vertices, and DR14's seldom stays under half of the edges; `tight_online` is what the same ideas
give today. No bound here knows that answering 0 is never off by more than m.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import scipy

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.update_bounds import UpdateBound
from graphcuts_dp.privacy.composition import sparse_vector_scales, zcdp_rho

_MOST_UPDATES = 1e15
_SMALLEST, _LARGEST = 1e-12, 1e30  # where the roots are sought, in edges


@final
@dataclass(frozen=True, kw_only=True)
class ErrorBound:
    """What a mechanism promises about all its answers.

    Attributes:
        mechanism: which one.
        alpha: tolerance that the construction is tuned to, in edges.
        updates: cap on the number of updates, >= 0.
        threshold: what (noisy) discrepancies are compared with, in edges.
        error: with probability 1 - beta, no answer is farther from the truth than this.
    """

    mechanism: str
    alpha: float
    updates: int
    threshold: float
    error: float


@final
@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The constants of a paper's mechanism that compares noisy answers with the hypothesis.

    Its noise is sigma = noise sqrt(B(alpha)) ln(4/delta)/epsilon, its threshold
    T = 4 sigma ln(2k/beta).

    Attributes:
        mechanism: which one.
        noise: see above.
        tolerance: alpha in thresholds.
        error: likewise.
    """

    mechanism: str
    noise: float
    tolerance: float
    error: float


COMPARISONS = {
    "gru12": Comparison(mechanism="GRU12 Alg. 1", noise=1000, tolerance=3 / 4, error=5 / 4),
    "jt12": Comparison(mechanism="JT12 Alg. 1", noise=100, tolerance=1 / 2, error=2),
}


def _compared(
    known: Comparison,
    update_bound: UpdateBound,
    *,
    queries: float,
    epsilon: float,
    delta: float,
    beta: float,
) -> ErrorBound:
    """The bound of a comparison: the alpha with alpha = tolerance T, and T depends on B(alpha)."""
    checked_promise(queries, epsilon, delta, beta)

    def threshold(alpha: float) -> float:
        sigma = known.noise * math.sqrt(update_bound(alpha)) * math.log(4 / delta) / epsilon
        return 4 * sigma * math.log(2 * queries / beta)

    alpha = solve_circle(lambda alpha: known.tolerance * threshold(alpha))
    return ErrorBound(
        mechanism=known.mechanism,
        alpha=alpha,
        updates=whole(update_bound(alpha)),
        threshold=alpha / known.tolerance,
        error=alpha / known.tolerance * known.error,
    )


def gru12_online(update_bound: UpdateBound, **promise: float) -> ErrorBound:
    """GRU12's Algorithm 1: alpha = 3T/4 with T = 4 sigma ln(2k/beta).

    sigma = 1000 sqrt(B(alpha)) ln(4/delta)/epsilon. The error is 5T/4 = 5 alpha/3 (Theorem 4.9
    calls it alpha), and equation (3) needs ln(2k/beta) where it prints ln(k/beta).

    Args:
        update_bound: B.
        promise: `queries`, `epsilon`, `delta` in (0, 1) and `beta`, as for `tight_online`.

    Raises:
        ParameterError: a number out of range, or no alpha solves the equation.

    Source: GRU12, section 4.
    """
    return _compared(COMPARISONS["gru12"], update_bound, **promise)


def jt12_online(update_bound: UpdateBound, *, gamma: float = 1.0, **promise: float) -> ErrorBound:
    """JT12's Algorithm 1: T = (4/epsilon0) ln(2k/beta), error 2T, updates where |d| >= T/2.

    epsilon0 = epsilon/(100 gamma sqrt(B) ln(4/delta)). The paper takes B as given, but it is
    B(T/2): the circle is solved here.

    Args:
        update_bound: B.
        gamma: l_1 distance of neighbours, > 0.
        promise: as for `gru12_online`; the theorem's own beta is half of this one.

    Raises:
        ParameterError: a number out of range, or no T solves the equation.

    Source: JT12, Algorithm 1 and Theorem 2.
    """
    if not gamma > 0:
        raise ParameterError(f"gamma must be positive, not {gamma}")
    known = COMPARISONS["jt12"]
    return _compared(replace(known, noise=known.noise * gamma), update_bound, **promise)


def dr14_online(
    update_bound: UpdateBound, *, queries: float, epsilon: float, delta: float, beta: float
) -> ErrorBound:
    """DR14's Algorithm 11 (NumericSparse): threshold 2 alpha, error 3 alpha.

    alpha = (1 + sqrt(512)) sqrt(c ln(2/delta)) (ln 2k + ln(4c/beta))/epsilon with c = B(alpha), or
    9 c (ln 2k + ln(4c/beta))/epsilon for delta = 0. NumericSparse is asked 2k queries: the printed
    threshold for delta > 0 has ln k. Answers count edges: the book's alpha times m.

    Args:
        update_bound: B, of unnormalised databases.
        queries: k >= 1.
        epsilon: > 0.
        delta: in [0, 1).
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: a number out of range, or no alpha solves the equation.

    Source: DR14, Algorithm 11 and Theorems 5.14 and 5.15.
    """
    checked_promise(queries, epsilon, delta or 0.5, beta)

    def accuracy(alpha: float) -> float:
        updates = max(1.0, update_bound(alpha))
        logs = math.log(2 * queries) + math.log(4 * updates / beta)
        if delta == 0:
            return 9 * updates * logs / epsilon
        return (1 + math.sqrt(512)) * math.sqrt(updates * math.log(2 / delta)) * logs / epsilon

    alpha = solve_circle(accuracy)
    return ErrorBound(
        mechanism="DR14 Alg. 11",
        alpha=alpha,
        updates=whole(update_bound(alpha)),
        threshold=2 * alpha,
        error=3 * alpha,
    )


def tight_online(
    update_bound: UpdateBound, *, queries: float, epsilon: float, delta: float, beta: float
) -> ErrorBound:
    """Two one-sided sparse vectors under zCDP, no numeric answers: error alpha + slack.

    c = floor(B(alpha)) updates are allowed, and alpha is chosen for the least error; see
    `sparse_vector_scales`. The cap c holds whether or not B is right.

    Args:
        update_bound: B.
        queries: k >= 1.
        epsilon: > 0.
        delta: in (0, 1).
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: a number out of range.
    """
    checked_promise(queries, epsilon, delta, beta)
    rho = zcdp_rho(epsilon=epsilon, delta=delta)

    def slack(updates: float) -> float:
        scales = sparse_vector_scales(rho=rho, updates=updates, queries=queries, beta=beta)
        return scales.slack

    def error(log_updates: float) -> float:
        updates = math.exp(log_updates)
        return _alpha_for(update_bound, updates) + slack(updates)

    top = math.log(_MOST_UPDATES)
    found = math.exp(scipy.optimize.minimize_scalar(error, bounds=(0, top), method="bounded").x)
    # The best whole number, the smallest alpha for it, and its neighbours if B has jumps.
    updates = min(
        {0, 1, math.floor(found), math.ceil(found)},
        key=lambda c: _alpha_for(update_bound, c) + slack(c),
    )
    alpha = _alpha_for(update_bound, updates)
    scales = sparse_vector_scales(rho=rho, updates=updates, queries=queries, beta=beta)
    return ErrorBound(
        mechanism="tight",
        alpha=alpha,
        updates=updates,
        threshold=alpha + scales.margin,
        error=alpha + scales.slack,
    )


# Shared with the offline mechanisms of `evaluation.bounds`


def checked_promise(queries: float, epsilon: float, delta: float, beta: float) -> None:
    """Check what a promise is made of: k >= 1, epsilon > 0, delta and beta in (0, 1).

    Raises:
        ParameterError: a number out of range.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError(f"epsilon must be positive and finite, not {epsilon}")
    if not queries >= 1:
        raise ParameterError(f"queries must be at least 1, not {queries}")
    for name, number in (("delta", delta), ("beta", beta)):
        if not 0 < number < 1:
            raise ParameterError(f"{name} must be between 0 and 1, not {number}")


def whole(updates: float) -> int:
    """Updates that B allows: a solved alpha may put B a rounding error under a whole number."""
    return math.floor(updates * (1 + 1e-9))


def solve_circle(right_side: Callable[[float], float]) -> float:
    """The alpha with alpha = right_side(alpha), which falls in alpha; from above if it jumps."""

    def excess(log_alpha: float) -> float:
        right = right_side(math.exp(log_alpha))
        return log_alpha - math.log(right) if right > 0 else math.inf

    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    if excess(low) >= 0 or excess(high) <= 0:
        raise ParameterError("no tolerance solves the mechanism's equation: check the bound on B")
    root = float(
        scipy.optimize.brentq(lambda x: max(-1e3, min(1e3, excess(x))), low, high, xtol=1e-13)
    )
    while excess(root) < 0:  # on the wrong side of a jump, or of the last bit
        root += 1e-12
    return math.exp(root)


def _alpha_for(update_bound: UpdateBound, updates: float) -> float:
    """The least alpha, within 1e-12, with B(alpha) < updates + 1: no more than `updates` happen."""

    def excess(log_alpha: float) -> float:
        return math.log(update_bound(math.exp(log_alpha))) - math.log(updates + 1)

    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    if update_bound(_LARGEST) >= updates + 1:
        return _LARGEST  # never few enough; no such cap is best
    if update_bound(_SMALLEST) < updates + 1:
        return _SMALLEST
    root = float(scipy.optimize.brentq(excess, low, high, xtol=1e-13))
    while excess(root) >= 0:
        root += 1e-12
    return math.exp(root)
