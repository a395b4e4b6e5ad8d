"""B(alpha) from sizes: how many updates each construction can need on a simple graph.

The constants are the constructions' own; `UpdateBound` is also the type of their `update_bound`.
"""

import math
from collections.abc import Callable

from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.base import Rule
from graphcuts_dp.idc.frieze_kannan import frieze_kannan
from graphcuts_dp.idc.median import small_database_size
from graphcuts_dp.idc.mirror_descent import printed_step_size, proven_drop, step_size
from graphcuts_dp.idc.multiplicative_weights import multiplicative_weights

UpdateBound = Callable[[float], float]


def frieze_kannan_updates(
    n: int, edges: float, *, rule: Rule = "tight", disjoint: bool = False
) -> UpdateBound:
    """B of the Frieze-Kannan construction on simple graphs.

    Args:
        n: vertices.
        edges: m, in [0, n(n-1)/2].
        rule: "tight": m(1-d) N/alpha^2 for density d; "as printed": m X/alpha^2.
        disjoint: whether all queries have disjoint S and T, so that N = floor(n^2/4); else N = X.

    Raises:
        ParameterError: a number out of range.
    """
    universe = Universe(n)
    largest = universe.disjoint_norm_squared if disjoint else None
    return frieze_kannan(
        universe, alpha=1.0, mass=edges, rule=rule, largest_norm_squared=largest
    ).update_bound


def multiplicative_weights_updates(n: int, edges: float, *, rule: Rule = "tight") -> UpdateBound:
    """B of multiplicative weights on simple graphs.

    Args:
        n: vertices.
        edges: m, in (0, n(n-1)/2].
        rule: "tight": m^2 ln(X/m)/(2 alpha^2); "as printed": 4 m^2 ln X/alpha^2.

    Raises:
        ParameterError: a number out of range.
    """
    construction = multiplicative_weights(Universe(n), alpha=edges, mass=edges, rule=rule)
    at_edges = construction.update_bound(edges)
    # Past alpha = m the construction's own bound stays level; the paper's formula goes on.
    return lambda alpha: at_edges * (edges / alpha) ** 2


def median_updates(n: int, edges: float, queries: int, *, rule: Rule = "tight") -> UpdateBound:
    """B of the median construction on all multisets of pairs: their size times log2 X.

    GRU12 prints log where halving needs log2; both rules have log2.

    Args:
        n: vertices.
        edges: m > 0.
        queries: k, size of the class.
        rule: whose size of the multisets: see `small_database_size`.
    """
    bits = math.log2(max(2, Universe(n).size))
    return lambda alpha: (
        bits * small_database_size(alpha=alpha, mass=edges, queries=queries, rule=rule)
    )


def mirror_descent_updates(
    zeta: float, start_potential: float, *, order: float = 2.0, rule: Rule = "tight"
) -> UpdateBound:
    """B of mirror descent: start_potential over what a step proves.

    Args:
        zeta: largest dual norm of a query.
        start_potential: bound on Delta(truth; start).
        order: s of the potential.
        rule: "tight": s (zeta/alpha)^s Psi; "as printed": what JT12's step proves, 16/7 of that for
            s = 2.
    """
    step = printed_step_size if rule == "as printed" else step_size

    def updates(alpha: float) -> float:
        return start_potential / proven_drop(step(alpha, zeta, order), alpha, zeta, order)

    return updates
