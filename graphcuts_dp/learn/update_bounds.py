"""B(alpha) from sizes: how many updates each construction can need on a simple graph.

These are the formulas of the constructions' own `update_bound`, without a vertex set in memory;
`UpdateBound` is also the type of that. Sizes are a number of vertices, or a pair (left, right) for
a bipartite graph.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.pairs.universe import Universe

UpdateBound = Callable[[float], float]
SHOWN = 1.5  # times s sqrt(n): see planning/synthetic.py, and bench_fit_quality.py


@final
@dataclass(frozen=True)
class ArcsOn:
    """The size of a directed graph: its number of vertices."""

    n: int


Size = int | tuple[int, int] | ArcsOn


def shape_of(n: Size) -> tuple[int, int]:
    """Of the matrix of a graph."""
    if isinstance(n, tuple):
        return n
    return (n.n, n.n) if isinstance(n, ArcsOn) else (n, n)


def size_of(universe: Universe) -> Size:
    """The public size of a graph on these pairs."""
    if universe.bipartite:
        return universe.shape
    return ArcsOn(universe.shape[0]) if universe.directed else universe.shape[0]


def pairs_of(n: Size) -> int:
    """X: n(n-1)/2, or left * right, or n(n-1) arcs."""
    rows, columns = shape_of(n)
    if isinstance(n, int):
        return n * (n - 1) // 2
    return rows * (columns - isinstance(n, ArcsOn))


def largest_disjoint_cut(n: Size) -> int:
    """Most pairs between disjoint S and T: floor(n^2/4), or X if bipartite."""
    return pairs_of(n) if isinstance(n, tuple) else shape_of(n)[0] ** 2 // 4


def frieze_kannan_updates(
    n: Size, edges: float, *, rule: Rule = "tight", disjoint: bool = False
) -> UpdateBound:
    """B of the Frieze-Kannan construction on simple graphs.

    Args:
        n: vertices, (left, right), or `ArcsOn`.
        edges: m, in [0, X].
        rule: "tight": m(1-d) N/alpha^2 for density d; "as printed": m X/alpha^2.
        disjoint: whether all queries have disjoint S and T, so that N = floor(n^2/4); else N = X.

    Raises:
        ParameterError: a number out of range.
    """
    pairs = _checked(n, edges)
    if rule == "as printed":
        constant = edges * pairs
    else:
        constant = edges * (1 - edges / pairs) * (largest_disjoint_cut(n) if disjoint else pairs)
    return lambda alpha: constant / alpha**2


def multiplicative_weights_updates(n: Size, edges: float, *, rule: Rule = "tight") -> UpdateBound:
    """B of multiplicative weights on simple graphs.

    Args:
        n: vertices, (left, right), or `ArcsOn`.
        edges: m, in (0, X].
        rule: "tight": m^2 ln(X/m)/(2 alpha^2); "as printed": 4 m^2 ln X/alpha^2.

    Raises:
        ParameterError: a number out of range.
    """
    pairs = _checked(n, edges)
    if not edges > 0:
        raise ParameterError("multiplicative weights need a graph with edges")
    if rule == "as printed":
        constant = 4 * edges**2 * math.log(pairs)
    else:
        constant = edges**2 * math.log(pairs / max(1.0, edges)) / 2
    return lambda alpha: constant / alpha**2


def at_least_one(update_bound: UpdateBound) -> UpdateBound:
    """One update must be paid for even where B says that none happens: the cap must be hard."""
    return lambda alpha: max(1.0, update_bound(alpha))


def _checked(n: Size, edges: float) -> int:
    pairs = pairs_of(n)
    if not (pairs > 0 and 0 <= edges <= pairs):
        raise ParameterError(f"edges must lie between 0 and the number of pairs, {pairs:,}")
    return pairs


def degrees_needed(n: Size, *, epsilon: float) -> tuple[float, float]:
    """Average degrees from which communities, and single edges, can show in a synthetic graph.

    Args:
        n: vertices, (left, right), or `ArcsOn`; of a bipartite graph the average degree is
            m/sqrt(left right), of a directed one the average number of arcs that leave a vertex.
        epsilon: privacy of one edge.
    """
    root, side = root_and_side(n)
    single = side * pairs_of(n) / (1 + math.exp(epsilon))
    return SHOWN * root / (2 * math.sinh(epsilon / 2)), single


def root_and_side(n: Size) -> tuple[float, float]:
    """Root of n, and average degree over number of edges, or what they are for two sides."""
    rows, columns = shape_of(n)
    ends = 2 if isinstance(n, int) else 1
    return (math.sqrt(rows) + math.sqrt(columns)) / 2, ends / math.sqrt(rows * columns)
