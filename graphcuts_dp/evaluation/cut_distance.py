"""The cut distance of two graphs on the same vertices. Reads both graphs as they are."""

from typing import Any

import scipy.sparse as sp

from graphcuts_dp.cutnorm.certificate import CutNormCertificate, NormName
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.pairs.queries import sides_of


def cut_distance(
    g: AnyGraph, h: AnyGraph, *, norm: NormName = "cut", **options: Any
) -> CutNormCertificate:
    """Bound ||A_g - A_h||_C, the largest difference of any cut of two labelled graphs.

    Args:
        g: a graph.
        h: a graph on the same vertices (in any order).
        norm: of the difference: "cut", or "infinity-to-one" or "normalised" in its place.
        options: for `cut_norm`.

    Returns:
        A certificate whose S and T are rows of g. Divide by n^2 for the distance of graph
        limits. NOT PRIVATE if one of the graphs is private.

    Raises:
        GraphError: other vertices, or graphs of two kinds.
        ParameterError: an unknown norm, or an option that it does not take.

    Source: Frieze, Kannan 1999; Lovasz, *Large Networks and Graph Limits*, section 8.1
    (without the minimum over relabellings).
    """
    check_kinds(g, h)
    rows, columns = (
        _rows_in(wanted, given) for wanted, given in zip(sides_of(g), sides_of(h), strict=True)
    )
    return cut_norm(matrix_of(g) - matrix_of(h)[rows][:, columns], norm=norm, **options)


def matrix_of(graph: AnyGraph) -> sp.csr_array:
    """The adjacency matrix, or that between two sides, or of arcs."""
    return graph.adjacency if isinstance(graph, Graph) else graph.biadjacency


def check_kinds(g: AnyGraph, h: AnyGraph) -> None:
    """Refuse two graphs of which only one is bipartite, or directed.

    Raises:
        GraphError: such graphs.
    """
    for kind, name in ((BipartiteGraph, "bipartite"), (DirectedGraph, "directed")):
        if isinstance(g, kind) != isinstance(h, kind):
            raise GraphError(f"one graph is {name} and the other is not")


def _rows_in(wanted: Any, given: Any) -> list[int]:
    """Row of each wanted label in the given set."""
    rows = [given.find(label) for label in wanted.labels]
    if len(wanted) != len(given) or None in rows:
        raise GraphError("the graphs have different vertices; read both with the same vertices=")
    return rows
