"""Errors in closed form: the papers' rates, and mechanisms that ask each query once.

Rates leave out constants and the factors in delta and beta, as the papers do; they serve
comparisons between methods, not guarantees. `scripts.figures.bounds` has the guarantees.
"""

import math
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import ParameterError


@final
@dataclass(frozen=True, kw_only=True)
class AllCutsRates:
    """Rates for all cuts of a graph: the last column of GRU12's Table 1."""

    median: float
    multiplicative_weights: float
    frieze_kannan: float


@final
@dataclass(frozen=True, kw_only=True)
class BipartiteRates:
    """Rates for bipartite cuts: JT12, section 4.1."""

    multiplicative_weights: float
    frieze_kannan: float
    group_norm: float


# Mechanisms without a construction


def gru12_lemma_6_1(universe: float, *, log_queries: float, epsilon: float, beta: float) -> float:
    """Return sqrt(6 X ln(2|Q|/beta))/epsilon, the error of Laplace noise on pairs for all of Q.

    The statement prints ln(|Q|/beta), the proof 12 in place of 6; Theorem 6.5 gives this.

    Args:
        universe: X, number of pairs.
        log_queries: ln |Q|.
        epsilon: > 0.
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: Q is so large that Theorem 6.5's Gaussian range (error <= X/epsilon) is
            left.

    Source: GRU12, Lemma 6.1.
    """
    error = math.sqrt(6 * universe * (math.log(2 / beta) + log_queries)) / epsilon
    if error > universe / epsilon:
        raise ParameterError("too many queries for the bound: it needs |Q| <= (beta/2) e^(X/6)")
    return error


# GRU12, Table 1: the bounds "in this paper"


def table_1_median(n: float, *, log_queries: float, log_universe: float, epsilon: float) -> float:
    """Return n^(1/2) (ln k)^(3/4) (ln X)^(1/4) / epsilon^(1/2), for a database of n elements.

    Args:
        n: number of elements (edges).
        log_queries: ln k.
        log_universe: ln X.
        epsilon: > 0.

    Source: GRU12, Table 1, as are the next three.
    """
    return float(math.sqrt(n / epsilon) * log_queries**0.75 * log_universe**0.25)


def table_1_multiplicative_weights(
    n: float, *, log_queries: float, log_universe: float, epsilon: float
) -> float:
    """Return n^(1/2) (ln k)^(1/2) (ln X)^(1/4) / epsilon^(1/2); as for `table_1_median`."""
    return float(math.sqrt(n * log_queries / epsilon) * log_universe**0.25)


def table_1_frieze_kannan(
    n_2: float, *, log_queries: float, universe: float, epsilon: float
) -> float:
    """Return n_2^(1/4) (ln k)^(1/2) X^(1/4) / epsilon^(1/2).

    Args:
        n_2: squared Euclidean norm of the database; n for simple graphs.
        log_queries: ln k.
        universe: X.
        epsilon: > 0.
    """
    return float((n_2 * universe) ** 0.25 * math.sqrt(log_queries / epsilon))


def table_1_k_norm(queries: float, *, universe: float, epsilon: float) -> float:
    """Return sqrt(k) (ln(X/k))^(1/2)/epsilon: the average error of an answer, not the largest.

    Hardt and Talwar prove it for random queries, and for others only under the hyperplane
    conjecture. `bounds.k_norm_bound` is what holds for all answers at once.

    Args:
        queries: k <= X/2.
        universe: X.
        epsilon: > 0.

    Source: GRU12, Table 1, with its footnote 3.
    """
    return math.sqrt(queries * math.log(universe / queries)) / epsilon


def table_1_all_cuts(n: int, edges: float, *, epsilon: float) -> AllCutsRates:
    """Return the last column, for all cuts of a graph.

    |E|^(1/2) |V|^(3/4) (ln V)^(1/4), |E|^(1/2) |V|^(1/2) (ln V)^(1/4) and |E|^(1/4) |V|, all over
    epsilon^(1/2).

    Args:
        n: vertices |V|.
        edges: |E|.
        epsilon: > 0.
    """
    root, log = math.sqrt(epsilon), math.log(n) ** 0.25
    return AllCutsRates(
        median=math.sqrt(edges) * n**0.75 * log / root,
        multiplicative_weights=math.sqrt(edges * n) * log / root,
        frieze_kannan=edges**0.25 * n / root,
    )


def corollary_7_4_multiplicative_weights(
    n: int, edges: float, *, distinguisher: float, epsilon: float, delta: float
) -> float:
    """Return 2^(7/4) (T m/epsilon)^(1/2) (ln V ln(1/delta))^(1/4), if F(eps) = T/eps.

    The paper has 2^(5/4): it uses B = 2 m^2 ln V/alpha^2, but Theorem A.4 with X < V^2/2 pairs
    gives 8 m^2 ln V/alpha^2.

    Args:
        n: vertices V.
        edges: m.
        distinguisher: T.
        epsilon: > 0.
        delta: in (0, 1).

    Source: GRU12, Corollary 7.4; the guarantee with all its terms is `bounds.gru12_offline`.
    """
    logs = math.log(n) * math.log(1 / delta)
    return float(2**1.75 * math.sqrt(distinguisher * edges / epsilon) * logs**0.25)


def corollary_7_4_frieze_kannan(
    n: int, edges: float, *, distinguisher: float, epsilon: float, delta: float
) -> float:
    """Return 2 (m ln(1/delta))^(1/4) (V T/epsilon)^(1/2), the other half of the corollary."""
    root = (edges * math.log(1 / delta)) ** 0.25
    return float(2 * root * math.sqrt(n * distinguisher / epsilon))


# JT12, Theorem 3 and equations (2) to (7)


def theorem_3(
    zeta: float,
    start_potential: float,
    *,
    log_queries: float,
    epsilon: float = 1.0,
    delta: float = math.exp(-1),
    gamma: float = 1.0,
    order: float = 2.0,
) -> float:
    """Return (gamma ln k ln(1/delta)/epsilon)^(2/(s+2)) zeta^(s/(s+2)) Psi^(1/(s+2)).

    The paper prints the exponents s/(s+2) for gamma and 1/epsilon, and 2 for ln(1/delta); solving
    T = c gamma sqrt(B(T)) ln(1/delta) ln k/epsilon with B = (zeta/T)^s Psi gives 2/(s+2) for all.

    Args:
        zeta: largest dual norm of a query.
        start_potential: Psi, largest over C.
        log_queries: ln(k/beta).
        epsilon: > 0.
        delta: in (0, 1); the default drops its factor.
        gamma: distance of neighbours.
        order: s.

    Source: JT12, Theorem 3.
    """
    cost = gamma * log_queries * math.log(1 / delta) / epsilon
    return float((cost**2 * zeta**order * start_potential) ** (1 / (order + 2)))


def dual_pair_rate(zeta: float, truth_norm: float, log_queries: float) -> float:
    """Return (zeta ||x*|| ln k)^(1/2): `theorem_3` for Psi = ||x||^2 and s = 2.

    With l_2 norms this is equation (3); with (2,p) and (2,q) group norms (4); with Schatten norms
    (6), and (7) for the trace norm, where ||X||_{S_1} <= r^(1/2) ||X||_F.

    Args:
        zeta: largest dual norm of a query.
        truth_norm: ||x*||.
        log_queries: ln k; |S| ln |V_2| for all cuts with a given |S|.
    """
    return math.sqrt(zeta * truth_norm * log_queries)


def equation_2(edges: float, size: int, left: int, right: int) -> float:
    """Return (|E| |S| ln(|V_1||V_2|))^(1/2): multiplicative weights on bipartite cuts.

    Args:
        edges: |E|.
        size: |S|.
        left: |V_1|.
        right: |V_2|.
    """
    return math.sqrt(edges * size * math.log(left * right))


def imbalanced_rates(side: float, size: float) -> BipartiteRates:
    """Return equation (5) of section 4.1 and the line after it, without logarithms.

    Args:
        side: |V|, vertices on each side.
        size: |S|.
    """
    return BipartiteRates(
        multiplicative_weights=side ** (7 / 8) * size**0.5,
        frieze_kannan=side ** (11 / 16) * size**0.75,
        group_norm=side ** (5 / 8) * size**0.75,
    )


def power_law_rates(side: float, size: float, exponent: float) -> BipartiteRates:
    """Return rates of section 4.1's second family, without logarithms, 1 < exponent < 3/2.

    The paper prints V^(3/4-b/2)|S|^(3/4) for the group norm; the sum of the root degrees is
    V^(5/2-b), which makes it V^(5/4-b/2)|S|^(3/4).

    Args:
        side: |V|, vertices on each side.
        size: |S|.
        exponent: b of the power law.
    """
    return BipartiteRates(
        multiplicative_weights=side ** (1.5 - exponent / 2) * size**0.5,
        frieze_kannan=side ** (1 - exponent / 4) * size**0.75,
        group_norm=side ** (1.25 - exponent / 2) * size**0.75,
    )
