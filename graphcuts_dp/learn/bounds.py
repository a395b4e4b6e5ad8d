"""Bounds on updates and errors of learning sessions, from public numbers alone.

A session keeps a public hypothesis h of the private graph D and tests for each query whether h
answers it within a tolerance alpha. If not, an update rule (`learn.rules`) corrects h. A potential,
which is a distance between D and h, falls with each update by at least a least drop. So there are

    B(alpha) = potential at the start / least drop

updates at most. An `UpdateBound` is this function B. The file has two parts:

1. B of multiplicative weights and of Frieze-Kannan. B of mirror descent is in `learn.norms`.
2. The error of an online mechanism: GRU12's, JT12's, DR14's, and the tight one of this package.
   Noise must be paid for each of the B(alpha) updates. So the tolerance alpha depends on a
   threshold T, which depends on B(alpha). The functions here solve this circular equation for any
   B that does not increase with alpha. The papers' mechanisms keep the printed constants; each
   function says where a proof needs another one.

`learn.calibrations` tunes the noise of sessions by the second part: privacy does not rest on these
functions, but accuracy does. `tight_online` is the best that the ideas of the papers give.

In the formulas m is the total weight of the graph, which is the number of edges if all weights are
1; X the number of vertex pairs, d = m/X the density, k the number of queries, c the largest number
of updates. A session knows m only up to an error: then M is the known value. A size n (`Size`) is a
number of vertices, a pair (left, right) of a bipartite graph, or `ArcsOn(n)` of a directed graph
with n vertices. A `Rule` is "as printed" for the start and the steps of a paper, "tight" for the
best of the same proof.

Source: GRU12, section 4; each function names its own.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import scipy

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.sizes import Size, largest_disjoint_cut, pairs_of
from graphcuts_dp.options import check_positive, check_probability
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.noise_scales import sparse_vector_scales

UpdateBound = Callable[[float], float]

# The papers' mechanisms compare discrepancies with a threshold T. In units of T:
PAPER_TOLERANCES: Mapping[str, float] = {"gru12": 3 / 4, "jt12": 1 / 2, "dr14": 1 / 2}  # alpha
PAPER_ERRORS: Mapping[str, float] = {"gru12": 5 / 4, "jt12": 2, "dr14": 3 / 2}  # of all answers
# Constants of the noise; the function of each paper has the formula.
PAPER_NOISE: Mapping[str, float] = {"gru12": 1000, "jt12": 100, "dr14": 1 + math.sqrt(512)}

_LEAST_ALPHA, _LARGEST_ALPHA = 1e-12, 1e30  # between which tolerances are sought, in edges
_MOST_UPDATES = 1e15  # up to which `tight_online` seeks the best number of updates
_ROOT_WIDTH = 1e-13  # of ln alpha: width at which the root finder stops
_NUDGE = 1e-12  # of ln alpha: step by which a root is moved to the safe side
_CLAMP = 1e3  # largest modulus of a logarithm given to the root finder, which takes no infinity
_ROUNDING = 1e-9  # relative: by how much B of a solved alpha can miss a whole number


# Update bounds


def squared_start(
    pairs: int, total_weight: float, *, total_error: float = 0.0, rule: Rule = "tight"
) -> tuple[float, float]:
    """Return the density d of Frieze-Kannan's first hypothesis, and a bound on ||D - d||^2.

    "as printed": d = 0 and ||D||^2 <= m, since weights in [0, 1] have D_ij^2 <= D_ij.

    "tight": d = M/X, where M is `total_weight`, the known total, and m is the true one. Then, as
    d^2 X = d M,

        ||D - d||^2 = sum D_ij^2 - 2 d m + d^2 X
                   <= m (1 - 2 d) + d M
                    = M (1 - 2 d) + d M + (m - M) (1 - 2 d)
                    = M (1 - d) + (m - M) (1 - 2 d).

    The last term is at most total_error |1 - 2 d|.

    Args:
        pairs: X.
        total_weight: M, the total weight or a noisy value of it.
        total_error: how far the true total m may be from M, >= 0.
        rule: see `Rule`.
    """
    density = total_weight / max(pairs, 1) if rule == "tight" else 0.0
    return density, total_weight * (1 - density) + total_error * abs(1 - 2 * density)


def squared_drop(alpha: float, largest_norm_squared: float, *, step: float | None = None) -> float:
    """Return the least drop of ||D - h||^2 in a Frieze-Kannan update: alpha^2 / max ||q||^2.

    With a step e of one's own it is e (2 alpha - e)/max ||q||^2, which is largest for e = alpha
    and proves nothing from e = 2 alpha on.

    Args:
        alpha: least discrepancy of an update, in edges.
        largest_norm_squared: largest ||q||^2 of a query; X as printed.
        step: e > 0, in edges; None for alpha.
    """
    step = alpha if step is None else step
    return step * (2 * alpha - step) / largest_norm_squared


def entropy_start(
    pairs: int, total_weight: float, *, total_error: float = 0.0, rule: Rule = "tight"
) -> float:
    """Return a bound on KL(D/m || h/m) for a uniform h: ln(X/m); as printed ln X.

    Divide weights in [0, 1] of total m by m: then they are a probability distribution without a
    probability above 1/m. Its entropy is at least ln m, and never negative. So KL from the uniform
    distribution, ln X minus the entropy, is at most ln X - max(ln m, 0).

    Args:
        pairs: X.
        total_weight: M, the total weight m or a noisy value of it.
        total_error: how far m may be from M, >= 0.
        rule: see `Rule`.
    """
    least_total = max(1.0, total_weight - total_error)  # 1 stands for a smaller m: ln 1 = 0
    entropy = math.log(least_total) if rule == "tight" else 0.0
    return math.log(pairs) - entropy


def entropy_drop(
    share: float, *, span: float = 1.0, rule: Rule = "tight", eta: float | None = None
) -> float:
    """Return the least drop of the relative entropy in an update of multiplicative weights.

    The relative entropy is one of distributions: the weights of the truth and of the hypothesis are
    divided by their total m, and so is the tolerance. "tight": 2 (alpha/(m span))^2. "as printed":
    alpha^2/(4 m^2), for a span of 1. GRU12 prints alpha^2/(4 n) after Claim A.5, where n is its
    total weight; its own theorem needs the square of n.

    With a factor eta of one's own it is eta share - eta^2 span^2/8 (Hoeffding's lemma), or as
    printed eta share - eta^2 for eta up to 1 (GRU12 Lemma A.6). The best eta is 4 share/span^2, or
    as printed share/2.

    Args:
        share: alpha/m, at most `span`.
        span: length of an interval that holds 0 and all coefficients of a query: 1 for cuts. Not
            read as printed.
        rule: see `Rule`.
        eta: > 0; None for the best one of the rule.

    Returns:
        The drop; not positive if nothing is proven for this eta.
    """
    if eta is not None and rule == "as printed":
        return eta * share - eta**2 if eta <= 1 else -math.inf
    if eta is not None:
        return eta * share - (eta * span) ** 2 / 8
    return share**2 / 4 if rule == "as printed" else 2 * (share / span) ** 2


def frieze_kannan_updates(
    n: Size, edges: float, rule: Rule = "tight", disjoint: bool = False
) -> UpdateBound:
    """Return B of the Frieze-Kannan construction on simple graphs.

    "tight": B(alpha) = m (1 - d) N/alpha^2, where N is the most pairs of a query. "as printed":
    m X/alpha^2.

    Args:
        n: size of the graph.
        edges: m, in [0, X].
        rule: see `Rule`.
        disjoint: whether all queries have disjoint S and T: then N = floor(n^2/4), else N = X.
    """
    pairs = pairs_of(n)
    largest_query = largest_disjoint_cut(n) if disjoint and rule == "tight" else pairs
    _, start = squared_start(pairs, edges, rule=rule)
    return lambda alpha: start / squared_drop(alpha, largest_query)


def multiplicative_weights_updates(
    n: Size, edges: float, *, rule: Rule = "tight", span: float = 1.0
) -> UpdateBound:
    """Return B of multiplicative weights on simple graphs.

    "tight": B(alpha) = m^2 span^2 ln(X/m)/(2 alpha^2). "as printed": 4 m^2 ln X/alpha^2.

    Args:
        n: size of the graph.
        edges: m, in (0, X].
        rule: see `Rule`.
        span: see `entropy_drop`.
    """
    start = entropy_start(pairs_of(n), edges, rule=rule)
    return lambda alpha: start / entropy_drop(alpha / edges, span=span, rule=rule)


def at_least_one(update_bound: UpdateBound) -> UpdateBound:
    """Return max(1, B), with which the noise of the papers' mechanisms is computed.

    Privacy must not depend on B being right. So one update is paid for even if B < 1.
    """
    return lambda alpha: max(1.0, update_bound(alpha))


# Errors of online mechanisms


@final
@dataclass(frozen=True, kw_only=True)
class ErrorBound:
    """Guarantee of an online mechanism for all its answers.

    Attributes:
        alpha: tolerance that the construction is tuned to, in edges.
        updates: largest number of updates, >= 0.
        threshold: T, with which discrepancies are compared, in edges.
        error: with probability 1 - beta, no answer differs from the truth by more, in edges.
    """

    alpha: float
    updates: int
    threshold: float
    error: float


def gru12_online(
    update_bound: UpdateBound, *, queries: float, epsilon: float, delta: float, beta: float
) -> ErrorBound:
    """Return the error of GRU12's Algorithm 1: alpha = 3T/4 with T = 4 sigma ln(2k/beta).

    Noise of scale sigma = 1000 sqrt(B(alpha)) ln(4/delta)/epsilon is added to each true answer
    before the comparison. The error is 5T/4 = 5 alpha/3, which Theorem 4.9 calls alpha. Equation
    (3) needs ln(2k/beta) where it prints ln(k/beta).

    Args:
        update_bound: B.
        queries: k >= 1.
        epsilon: > 0.
        delta: in (0, 1).
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: no alpha solves the equation.

    Source: GRU12, section 4.
    """

    def threshold(updates: float) -> float:
        sigma = PAPER_NOISE["gru12"] * math.sqrt(updates) * math.log(4 / delta) / epsilon
        return 4 * sigma * math.log(2 * queries / beta)

    return _paper_bound("gru12", update_bound, threshold)


def jt12_online(
    update_bound: UpdateBound,
    *,
    gamma: float = 1.0,
    queries: float,
    epsilon: float,
    delta: float,
    beta: float,
) -> ErrorBound:
    """Return the error of JT12's Algorithm 1: 2T with T = (4/epsilon0) ln(2k/beta).

    epsilon0 = epsilon/(100 gamma sqrt(B) ln(4/delta)). Updates have a discrepancy of at least
    alpha = T/2. The paper takes B as a number, but it is B(T/2): the circular equation is solved
    here.

    Args:
        update_bound: B.
        gamma: l_1 distance of neighbours, > 0.
        queries: k >= 1.
        epsilon: > 0.
        delta: in (0, 1).
        beta: probability of failure, in (0, 1). In the theorem the failure is 2 beta, and the
            logarithm ln(k/beta). In terms of the failure this is ln(2k/beta).

    Raises:
        ParameterError: no T solves the equation.

    Source: JT12, Algorithm 1 and Theorem 2.
    """

    def threshold(updates: float) -> float:
        scale = PAPER_NOISE["jt12"] * gamma * math.sqrt(updates) * math.log(4 / delta) / epsilon
        return 4 * scale * math.log(2 * queries / beta)

    return _paper_bound("jt12", update_bound, threshold)


def dr14_online(
    update_bound: UpdateBound, *, queries: float, epsilon: float, delta: float, beta: float
) -> ErrorBound:
    """Return the error of DR14's Algorithm 11 (NumericSparse): threshold 2 alpha, error 3 alpha.

    With c = B(alpha), alpha = (1 + sqrt(512)) sqrt(c ln(2/delta)) (ln 2k + ln(4c/beta))/epsilon,
    or 9 c (ln 2k + ln(4c/beta))/epsilon for delta = 0. Both signs of a discrepancy are asked, so
    NumericSparse is asked 2k queries, and the logarithm is of 2k. The book prints ln k for
    delta > 0. Answers count edges here: this alpha is the book's times m.

    Args:
        update_bound: B, of an alpha in edges. (The book divides databases by their total.)
        queries: k >= 1.
        epsilon: > 0.
        delta: in [0, 1).
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: no alpha solves the equation.

    Source: DR14, Algorithm 11 and Theorems 5.14 and 5.15.
    """

    def threshold(updates: float) -> float:
        c = max(1.0, updates)
        logs = math.log(2 * queries) + math.log(4 * c / beta)
        if delta == 0:
            return 2 * 9 * c * logs / epsilon
        return 2 * PAPER_NOISE["dr14"] * math.sqrt(c * math.log(2 / delta)) * logs / epsilon

    return _paper_bound("dr14", update_bound, threshold)


def _paper_bound(
    paper: str, update_bound: UpdateBound, threshold: Callable[[float], float]
) -> ErrorBound:
    """Solve alpha = tolerance * T(B(alpha)) and return the guarantee that follows.

    Args:
        paper: key of `PAPER_TOLERANCES`.
        update_bound: B.
        threshold: T, as a function of the number of updates.

    Raises:
        ParameterError: no alpha solves the equation.
    """
    tolerance = PAPER_TOLERANCES[paper]
    alpha = solve_circle(lambda alpha: tolerance * threshold(update_bound(alpha)))
    return ErrorBound(
        alpha=alpha,
        updates=allowed_updates(update_bound(alpha)),
        threshold=alpha / tolerance,
        error=alpha / tolerance * PAPER_ERRORS[paper],
    )


def tight_online(
    update_bound: UpdateBound, *, queries: float, epsilon: float, delta: float, beta: float
) -> ErrorBound:
    """Return the least error of two one-sided sparse vectors under zCDP: alpha + slack.

    c = floor(B(alpha)) updates are allowed. More updates allow a smaller alpha but need more noise,
    which is the slack. The c with the least error is chosen. No answers are measured. At most c
    updates happen whether or not B is right.

    `sparse_vector_scales` gives the noise for c, k and beta, with two lengths, `margin` and
    `slack`. The tests compare noisy discrepancies with the threshold alpha + margin. Then, with
    probability 1 - beta, two things hold for all queries. If a test fires, the true discrepancy is
    at least alpha. If none fires, it is below alpha + slack.

    Args:
        update_bound: B.
        queries: k >= 1.
        epsilon: > 0.
        delta: in (0, 1).
        beta: probability of failure, in (0, 1).
    """
    rho = zcdp_rho(epsilon=epsilon, delta=delta)

    def bound(updates: float) -> ErrorBound:
        alpha = least_alpha(update_bound, updates)
        scales = sparse_vector_scales(rho=rho, updates=updates, queries=queries, beta=beta)
        return ErrorBound(
            alpha=alpha,
            updates=math.floor(updates),
            threshold=alpha + scales.margin,
            error=alpha + scales.slack,
        )

    # Search over real numbers first: ln c in [0, ln _MOST_UPDATES].
    best_updates = math.exp(
        scipy.optimize.minimize_scalar(
            lambda log_updates: bound(math.exp(log_updates)).error,
            bounds=(0, math.log(_MOST_UPDATES)),
            method="bounded",
        ).x
    )
    # Then compare the whole numbers beside it, and 0 and 1, which the search does not reach.
    candidates = {0, 1, math.floor(best_updates), math.ceil(best_updates)}
    return min(map(bound, candidates), key=lambda candidate: candidate.error)


def least_alpha(update_bound: UpdateBound, updates: float) -> float:
    """Return the least alpha at which B allows no more than c = `updates` updates.

    B decreases. The number of updates is whole, so B allows at most c where B(alpha) < c + 1. The
    search of `tight_online` also calls this with a c that is not whole; then c + 1 is a smooth
    stand-in. The returned alpha satisfies the inequality, and is at most a relative 1e-12 or so
    above the least one. If no alpha in [1e-12, 1e30] does, 1e30 is returned.
    """

    def excess(log_alpha: float) -> float:
        # Called only after the checks below, so B is positive at the least alpha. B of this package
        # does not fall to 0 at a larger alpha, where the logarithm would raise.
        return math.log(update_bound(math.exp(log_alpha))) - math.log(updates + 1)

    low, high = math.log(_LEAST_ALPHA), math.log(_LARGEST_ALPHA)
    if update_bound(_LARGEST_ALPHA) >= updates + 1:
        return _LARGEST_ALPHA  # an error so large that this number of updates is never chosen
    if update_bound(_LEAST_ALPHA) < updates + 1:
        return _LEAST_ALPHA
    root = float(scipy.optimize.brentq(excess, low, high, xtol=_ROOT_WIDTH))
    while excess(root) >= 0:
        root += _NUDGE
    return math.exp(root)


def solve_circle(right_side: Callable[[float], float]) -> float:
    """Solve alpha = right_side(alpha), where the right side decreases with alpha.

    If the right side jumps over the diagonal, the alpha just above the jump is returned.

    Raises:
        ParameterError: there is no solution between 1e-12 and 1e30.
    """

    def excess(log_alpha: float) -> float:
        right = right_side(math.exp(log_alpha))
        return log_alpha - math.log(right) if right > 0 else math.inf

    low, high = math.log(_LEAST_ALPHA), math.log(_LARGEST_ALPHA)
    if excess(low) >= 0 or excess(high) <= 0:
        raise ParameterError("no tolerance solves the mechanism's equation: check the bound on B")
    root = float(
        scipy.optimize.brentq(
            lambda log_alpha: max(-_CLAMP, min(_CLAMP, excess(log_alpha))),
            low,
            high,
            xtol=_ROOT_WIDTH,
        )
    )
    while excess(root) < 0:  # below a jump, or below the solution by a rounding error
        root += _NUDGE
    return math.exp(root)


def allowed_updates(bound: float) -> int:
    """Round B down to the number of updates that it allows.

    B of a solved alpha can be a rounding error below a whole number; it counts as that number.
    """
    return math.floor(bound * (1 + _ROUNDING))


def checked_guarantee(queries: float, epsilon: float, delta: float, beta: float) -> None:
    """Check the numbers of a guarantee: k >= 1, epsilon > 0, delta and beta in (0, 1).

    A caller that allows delta = 0 has to pass another delta for the check.

    Raises:
        ParameterError: a number out of range.
    """
    check_positive(epsilon=epsilon)
    if not queries >= 1:
        raise ParameterError(f"queries must be at least 1, not {queries}")
    check_probability("delta", delta)
    check_probability("beta", beta)
