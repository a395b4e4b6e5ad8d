"""Cuts that one vertex cannot change by more than a bound, whatever it does with all of its edges.

The bounded cut. Let q count the weights w_e of some edges E_q of a graph, each once: those that
cross a cut, lie in a cell between groups, or all. For a bound D let

    f_D(q) = max sum of x_e over e in E_q, with 0 <= x_e <= w_e and, at every vertex v,
             sum of x_e over the edges e in E_q at v <= D.

Of a directed graph the edges at v are the arcs that leave it and those that enter it, together: D
bounds the sum of both. Of a bipartite graph v is a vertex of either side.

Theorem. Let G and G' have the same vertices, and differ in edges at one vertex v only, in any
number of them and in any weights. Let G - v be G without the edges at v, which is G' - v. Then
f_D(G - v) <= f_D(G) <= f_D(G - v) + D for every q at once, so |f_D(G) - f_D(G')| <= D.
Proof. An x for G - v, with 0 on the edges at v, is one for G: the first inequality. Take a best x
for G and drop what it has on the edges at v: that is an x for G - v, and at most D was dropped, by
the bound at v, since an edge at v counts once there. The same holds for G', and both values lie
within [f_D(G - v), f_D(G - v) + D]. Nothing in it needs weights that are whole or have a cap, or an
undirected graph. If public numbers say that v can have no more than d of weight in E_q, then at
most min(D, d) is dropped, and min(D, d) takes the place of D.

Rounding. Weights are counted in whole steps, rounded down one by one, which maps two graphs that
differ at v to two that do, and D is a whole number of steps. Then 2 f_D is whole (see
`bounded_sums`), and f_D is rounded down once more, where it is a half: floor(y/2) is monotone in y,
and floor((y + 2 D)/2) = floor(y/2) + D, so the theorem holds for what is counted here.

What it is. f_D(q) is never above the true value, and equal to it if no vertex has more than D of
weight within E_q: then x = w is allowed. Else it is smaller by at most the sum over all vertices of
what they have within E_q above D, and by at least half of that.

Source: Kasiviswanathan, Nissim, Raskhodnikova, Smith, *Analyzing Graphs with Node Differential
Privacy*, TCC 2013, section 4 (the number of edges); here for any set of edges, and with weights.
"""

import numpy as np

from graphcuts_dp.arrays import BoolVector, IntegerVector, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.graph.bounded_sums import BoundedEdges, doubled_sums

Ends = tuple[IntVector, IntVector]


def bounded_cut(
    graph: AnyGraph, S: BoolVector, T: BoolVector, *, bound: int, steps: IntVector | None = None
) -> int:
    """f_D of the edges with one end in S and the other in T, each once, rounded down. Private.

    Args:
        graph: the private graph.
        S: truth vector over the vertices (left ones, tails of arcs).
        T: likewise (right ones, heads of arcs).
        bound: D in steps; times the number of vertices at most 2^52.
        steps: weight of each edge of the graph in whole steps; None where each is one step.

    Guarantee: between graphs that differ in the edges at one vertex, however many, it differs by at
    most `bound`; see the module.
    """
    rows, columns = graph.rows, graph.columns
    counted = S[rows] & T[columns]
    two_sided = isinstance(graph, BipartiteGraph) or not (S & T).any()
    if isinstance(graph, Graph):
        turned = T[rows] & S[columns]
        counted |= turned
        if two_sided:  # the first end is the one in S
            rows, columns = np.where(turned, columns, rows), np.where(turned, rows, columns)
    first, second = ends_of(graph, rows[counted], columns[counted])
    edges = BoundedEdges(
        first,
        second,
        None if steps is None else steps[counted],
        vertices=vertices_of(graph),
        two_sided=two_sided,
    )
    return int(doubled_sums(edges, bound)[0]) // 2


def bounded_total(graph: AnyGraph, *, bound: int, steps: IntVector | None = None) -> int:
    """f_D of all edges, rounded down. Private; as `bounded_cut`, with the same guarantee."""
    left, right = (np.ones(size, dtype=np.bool_) for size in graph.shape)
    return bounded_cut(graph, left, right, bound=bound, steps=steps)


def ends_of(graph: AnyGraph, rows: IntegerVector, columns: IntegerVector) -> Ends:
    """Numbers of the vertices at both ends of edges; right ones of a bipartite graph come last."""
    first, second = rows.astype(np.int64), columns.astype(np.int64)
    return first, second + graph.shape[0] if isinstance(graph, BipartiteGraph) else second


def vertices_of(graph: AnyGraph) -> int:
    """How many vertices there are, on both sides together. Public."""
    return sum(graph.shape) if isinstance(graph, BipartiteGraph) else graph.shape[0]
