"""The cut distance of two graphs on the same vertices. Reads both graphs as they are."""

from typing import Any

from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph


def cut_distance(g: AnyGraph, h: AnyGraph, **options: Any) -> CutNormCertificate:
    """||A_g - A_h||_C: the largest difference of any cut of two labelled graphs, matrix form.

    Args:
        g: a graph.
        h: a graph on the same vertices (in any order).
        options: for `cut_norm`.

    Returns:
        A certificate whose S and T are rows of g. Divide by n^2 for the distance of graph
        limits. NOT PRIVATE if one of the graphs is private.

    Raises:
        GraphError: other vertices, or one graph is bipartite and the other is not.

    Source: Frieze, Kannan 1999; Lovasz, *Large Networks and Graph Limits*, section 8.1
    (without the minimum over relabellings).
    """
    if isinstance(g, Graph) and isinstance(h, Graph):
        order = _rows_in(g.vertices, h.vertices)
        return cut_norm(g.adjacency - h.adjacency[order][:, order], **options)
    if isinstance(g, Graph) or isinstance(h, Graph):
        raise GraphError("one graph is bipartite and the other is not")
    rows, columns = _rows_in(g.left, h.left), _rows_in(g.right, h.right)
    return cut_norm(g.biadjacency - h.biadjacency[rows][:, columns], **options)


def _rows_in(wanted: Any, given: Any) -> list[int]:
    """Row of each wanted label in the given set."""
    rows = [given.find(label) for label in wanted.labels]
    if len(wanted) != len(given) or None in rows:
        raise GraphError("the graphs have different vertices; read both with the same vertices=")
    return rows
