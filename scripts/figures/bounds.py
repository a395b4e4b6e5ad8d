"""Compute the errors that the papers' mechanisms guarantee, from sizes alone: no data is read.

Those of online mechanisms are in `graphcuts_dp.learn.bounds`, where sessions use them too. The
offline mechanisms here search for the worst query with a distinguisher.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy

from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bounds import (
    ErrorBound,
    UpdateBound,
    allowed_updates,
    checked_guarantee,
    solve_circle,
)
from graphcuts_dp.learn.norms import printed_step_size, proven_drop, step_size
from graphcuts_dp.learn.sizes import Size, pairs_of
from graphcuts_dp.privacy.noisy_comparison import comparison_moment
from scripts.figures.small_databases import small_database_size


def dr14_offline(
    update_bound: UpdateBound, *, queries: float, epsilon: float, delta: float, beta: float
) -> ErrorBound:
    """Return the error of DR14's IC mechanism with the exponential mechanism as distinguisher.

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
    checked_guarantee(queries, epsilon, delta or 0.5, beta)

    def accuracy(alpha: float) -> float:
        rounds = max(1.0, update_bound(alpha / 2))
        logs = math.log(queries) + math.log(2 * rounds / beta)
        if delta == 0:
            return 32 * rounds * logs / epsilon
        return 64 * math.sqrt(rounds * math.log(1 / delta)) * logs / epsilon

    return _solved(accuracy, update_bound, 1.0)


def gru12_offline(
    update_bound: UpdateBound,
    *,
    distinguisher: Callable[[float], float],
    epsilon: float,
    delta: float,
    beta: float,
) -> ErrorBound:
    """Return the error of GRU12's Algorithm 3 with any distinguisher: 3 alpha/2.

    alpha = max(16 sqrt(B ln(1/delta)) ln(2B/beta)/epsilon, 2 F(epsilon/(4 sqrt(B ln(1/delta))))).
    The paper runs B(alpha) rounds and claims error alpha. But updates correct errors of alpha/2, so
    B is B(alpha/2); and the test that stops leaves an error of up to alpha, to which F adds.

    Args:
        update_bound: B.
        distinguisher: F: with privacy eps, the chosen query is within F(eps) of the worst, except
            with probability beta/(2B).
        epsilon: > 0.
        delta: in (0, 1).
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: a number out of range, or no alpha solves the equation.

    Source: GRU12, Algorithm 3 and Theorem 7.3.
    """
    checked_guarantee(1, epsilon, delta, beta)

    def accuracy(alpha: float) -> float:
        rounds = max(1.0, update_bound(alpha / 2))
        share = epsilon / (4 * math.sqrt(rounds * math.log(1 / delta)))
        return max(4 * math.log(2 * rounds / beta) / share, 2 * distinguisher(share))

    return _solved(accuracy, update_bound, 1.5)


def _solved(
    accuracy: Callable[[float], float], update_bound: UpdateBound, factor: float
) -> ErrorBound:
    """Return the guarantee of an offline mechanism, whose error is a factor times alpha."""
    alpha = solve_circle(accuracy)
    updates = allowed_updates(update_bound(alpha / 2))
    return ErrorBound(
        alpha=alpha,
        updates=updates,
        threshold=0.75 * alpha,
        error=factor * alpha,
    )


def gru12_lemma_6_1_general(
    universe: float, *, log_queries: float, epsilon: float, beta: float
) -> float:
    """Bound the error of Laplace noise on every pair, for any linear queries of [0, 1].

    The result is the smaller one of two bounds, each in units of 1/epsilon and for the best s in
    (0, 1). The first is Chernoff's bound for each query, with a union over Q:
    (-X ln(1 - s^2) + ln(2|Q|/beta))/s. The second is for all of [0, 1]^X at once: the error of a
    query is at most the sum of the positive noises, or of the negative ones, which is at most
    (X ln((1 + 1/(1 - s))/2) + ln(2/beta))/s.

    The lemma's O(sqrt(X ln(X/beta) ln(|Q|/beta))) follows from these two bounds, but not from its
    own proof: with noise cut off at L = ln(2X/beta), Hoeffding's exponent is alpha^2/(2 X L^2). The
    proof continues with L in place of L^2; it proves L sqrt(2 X ln(4|Q|/beta)).

    Args:
        universe: X >= 1, number of pairs.
        log_queries: ln |Q| >= 0; infinite for all of [0, 1]^X.
        epsilon: > 0.
        beta: probability of a larger error of any query, in (0, 1).

    Source: GRU12, Lemma 6.1, "for general Q"; where its first half holds, `rates.gru12_lemma_6_1`.
    """
    once = math.log(2 / beta)

    def for_each(s: float) -> float:
        return (-universe * math.log1p(-(s**2)) + once + log_queries) / s

    def for_all(s: float) -> float:
        return (universe * math.log((1 + 1 / (1 - s)) / 2) + once) / s

    return min(_least(for_each), _least(for_all)) / epsilon


def sized_cut_radius(n: int, s: int, t: int, *, epsilon: float, beta: float) -> float:
    """Return a bound on the noise of all cuts with |S| = s and |T| = t.

    The noise is Lap(1/epsilon) on each pair of vertices. The bound is Theorem 6.5 with a union over
    these binom(n, s) binom(n, t) cuts, and is at most of order sqrt(n s t)/epsilon.

    Args:
        n: number of vertices.
        s, t: sizes of S and T, from 1 to n.
        epsilon: > 0.
        beta: probability that any of these cuts has more noise, in (0, 1).

    Source: GRU12, section 6.1.
    """
    log_cuts = math.log(math.comb(n, s)) + math.log(math.comb(n, t))
    exponent = math.log(2 / beta) + log_cuts
    terms = s * t
    if 6 * exponent <= terms:
        return math.sqrt(6 * terms * exponent) / epsilon
    return 6 * exponent / epsilon


def pure_cut_lower_bound(n: int, *, epsilon: float, beta: float) -> float:
    """Return an error that each (epsilon, 0)-private mechanism has on some graph and cut.

    On some graph the error is at least this with probability above beta. The bound grows as n.

    Take m = n/2 disjoint pairs of vertices, and graphs that have an edge in w of these pairs. If
    all errors of answers are at most alpha, all sums over subsets of the pairs are known to
    2 alpha, so graphs that differ in more than 4 alpha pairs can be told apart. There is a set C of
    such graphs any two of which differ in at least w pairs, of size binom(m, w) over the number of
    graphs that differ from one in fewer. Any two differ by at most 2w edges, so that each graph of
    C is decoded from another one's answers with probability (1 - beta) exp(-2 w epsilon) at least.
    These probabilities add up to at most 1. So if |C| (1 - beta) exp(-2 w epsilon) > 1, some error
    is at least w/4.

    Args:
        n: number of vertices, at least 2.
        epsilon: > 0.
        beta: probability of a larger error that is allowed, in (0, 1).

    Source: GRU12, section 6, which says without a proof that no error is o(|V|).
    """
    m = n // 2
    largest = 0
    for w in range(1, m + 1):
        near = sum(math.comb(w, j) * math.comb(m - w, j) for j in range((w - 1) // 2 + 1))
        log_size = math.log(math.comb(m, w)) - math.log(near)
        if log_size + math.log1p(-beta) > 2 * w * epsilon:
            largest = w
    return largest / 4


def k_norm_bound(queries: int, *, epsilon: float, beta: float) -> float:
    """Return the largest error of the K-norm mechanism, for any k linear queries.

    Its noise is a point of a body K, stretched by a Gamma variable of shape k + 1 and scale
    1/epsilon. K is spanned by the columns of the queries, whose coefficients lie in [-1, 1], so
    no coordinate of its points is larger than 1, and the bound is the quantile of that variable.
    It grows with k, while that of Laplace noise on each answer grows with k ln k. The typical error
    is smaller, the more so the smaller K is than the cube; see `rates.table_1_k_norm`.

    Args:
        queries: k >= 1, asked at once.
        epsilon: > 0.
        beta: probability of a larger error of any answer, in (0, 1).

    Source: Hardt, Talwar 2010, section 4; GRU12, Table 1.
    """
    return float(scipy.stats.gamma.isf(beta, queries + 1)) * (1 + 1e-9) / epsilon


def _least(bound: Callable[[float], float]) -> float:
    """Return nearly the minimum over s in (0, 1); every value is a bound."""
    logits = np.linspace(-12, 12, 97)
    best = min(logits.tolist(), key=lambda logit: bound(_part(logit)))
    minimum = scipy.optimize.minimize_scalar(
        lambda logit: bound(_part(logit)), bounds=(best - 0.25, best + 0.25), method="bounded"
    )
    return min(bound(_part(best)), float(minimum.fun)) * (1 + 1e-12)


def _part(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def comparison_log_delta(
    order: float, count_epsilon: float, *, updates: float, epsilon: float
) -> float:
    """Return the theorem's mu B - a epsilon: the logarithm of a delta that the theorem proves.

    Args:
        order: a > 0.
        count_epsilon: > 0, the pure epsilon of one noisy count.
        updates: B >= 0.
        epsilon: > 0.
    """
    return comparison_moment(order, count_epsilon) * updates - order * epsilon


def median_updates(n: Size, edges: float, queries: int, *, rule: Rule = "tight") -> UpdateBound:
    """Return B of the median construction on all multisets of pairs: their size times log2 X.

    GRU12 prints log where halving needs log2; both rules have log2.

    Args:
        n: vertices, (left, right), or `ArcsOn`.
        edges: m > 0.
        queries: k, size of the class.
        rule: decides the size of the multisets: see `small_database_size`.
    """
    bits = math.log2(max(2, pairs_of(n)))
    return lambda alpha: (
        bits * small_database_size(alpha=alpha, total_weight=edges, queries=queries, rule=rule)
    )


def mirror_descent_updates(
    zeta: float, start_potential: float, *, order: float = 2.0, rule: Rule = "tight"
) -> UpdateBound:
    """Return B of mirror descent: the first potential over the proven drop of a step.

    Args:
        zeta: largest dual norm of a query.
        start_potential: bound on Delta(truth; start).
        order: s of the potential.
        rule: "tight" for s (zeta/alpha)^s Psi; "as printed" for the bound that JT12's step proves,
            for s = 2 larger by 16/7.
    """
    step = printed_step_size if rule == "as printed" else step_size

    def updates(alpha: float) -> float:
        return start_potential / proven_drop(step(alpha, zeta, order), alpha, zeta, order)

    return updates


def printed_update_bound(alpha: float, zeta: float, order: float, start_potential: float) -> float:
    """Return 2^(s-1) s^s zeta^s Psi / (T^s (s-1)^(s-1)), T = 2 alpha: B as JT12, Alg. 2 prints it.

    It is not proven for the printed step. For s = 2 it equals the bound that `step_size` proves;
    for larger s it is larger.
    """
    factor = order**order / (2 * (order - 1) ** (order - 1))
    return float(factor * (zeta / alpha) ** order * start_potential)
