"""Convert graphs of networkx and igraph, matrices and lists of edges, and back.

Labels are strings or integers and keep their type; with public vertices they are matched by their
text, as everywhere. Without public vertices the labels are sorted, since their order in the source
may depend on the order in which edges were added.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import GraphError, KindError
from graphcuts_dp.io.assemble import (
    as_numbers,
    edges_by_rows,
    listed_weights,
    named_attribute,
    other_attributes,
)
from graphcuts_dp.io.codes import Identifiers
from graphcuts_dp.io.edge_store import EdgeStore
from graphcuts_dp.io.graphml import attributes_read
from graphcuts_dp.io.matrices import matrix_edges
from graphcuts_dp.io.numbering import numbered_labels
from graphcuts_dp.io.raw_edges import Options, RawEdges, Schema
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.column_search import shown_names
from graphcuts_dp.schema.library_graphs import plain_label, unread_attributes, vertex_labels
from graphcuts_dp.schema.vertices import Arcs, is_label, one_set, sets_in, vertex_sets

if TYPE_CHECKING:
    import igraph
    import networkx as nx

_PARALLEL = "A multigraph may join a pair several times: that is one edge, whose weights are added."
_WEIGHT = "weight"  # the edge attribute that both libraries take for the weight
# Types of rows that can be iterated but are no pair, and the message for each.
_NO_PAIRS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((Mapping,), "an edge is a dict; make a table: gc.Graph.of(pandas.DataFrame(records))"),
    ((Set,), "an edge is a set, which has no first endpoint; make it a tuple (source, target)"),
    ((str, bytes), "an edge is a string; make it a tuple (source, target)"),
)


def edges_of_list(edges: Iterable[Any], options: Options) -> RawEdges:
    """Read pairs, or triples with a weight; no value influences how another one is read.

    Raises:
        GraphError: something else than tuples, or tuples of different lengths.
    """
    if isinstance(edges, dict):
        raise KindError("a dict is no list of edges; pass tuples such as (source, target, weight)")
    try:
        rows = list(edges)
        for types, problem in _NO_PAIRS:
            if any(issubclass(kind, types) for kind in set(map(type, rows))):
                raise GraphError(problem)
        rows = list(map(tuple, rows))
    except TypeError:
        raise KindError(
            "a graph is made of pairs (source, target) or triples with a weight, a matrix, a table,"
            " or a graph of networkx or igraph"
        ) from None
    lengths = set(map(len, rows))
    if len(lengths) > 1 or not lengths <= {2, 3}:
        raise GraphError("edges are all pairs, or all triples with a weight")
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    sound = [_are_labels(values) for values in columns[:2]]
    faults = ["endpoints must be strings or integers, and none may be missing"] * 2
    weights = None
    if len(columns) == 3 and options.weighted is not False:
        weights, are_numbers = as_numbers(columns[2])
        sound.append(are_numbers)
        faults.append("the weight is not a number")
    bad, good = BadRows(), np.logical_and.reduce(sound)
    for fault, is_sound in zip(faults, sound, strict=True):
        if not is_sound.all():
            bad.add(fault, _where(int(np.argmin(is_sound))))
    good_indices = np.flatnonzero(good)
    good_labels = [list(compress(values, good)) for values in columns[:2]]
    first, second = _identifiers(good_labels, options)
    return RawEdges(
        sources=first,
        targets=second,
        weights=None if weights is None else weights[good],
        literal_integers=False,
        bad=bad,
        where=lambda position: _where(int(good_indices[position])),
        undeclared=True,
    )


def edges_of_matrix(matrix: Any, options: Options) -> RawEdges:
    """Read the non-zero entries of a matrix, dense or scipy sparse."""
    if sp.issparse(matrix):
        matrix = sp.coo_array(matrix)
    return matrix_edges(
        matrix,
        Schema(),
        options,
        unweighted=matrix.dtype == np.bool_,
        error=GraphError,
    )


def edges_of_networkx(graph: "nx.Graph[Any]", options: Options) -> RawEdges:
    """Read a graph of networkx, which declares no attributes of edges.

    Raises:
        GraphError: nodes that are neither text nor integers, or a wrong direction.
    """
    _check_direction(graph, options)
    nodes = vertex_labels(graph)
    sides = [graph.nodes[node].get("bipartite") for node in graph.nodes]
    row_of_node = {node: row for row, node in enumerate(graph.nodes)}
    weight_attribute = named_attribute(options)
    triples = list(graph.edges(data=weight_attribute or _WEIGHT))
    endpoints = [
        np.fromiter((row_of_node[edge[side]] for edge in triples), np.int64, len(triples))
        for side in (0, 1)
    ]
    declared = None if weight_attribute is None else True
    left_out = _vertex_attributes_note(graph) + ([_PARALLEL] if graph.is_multigraph() else [])
    weights = listed_weights([edge[2] for edge in triples], options, declared, _where)
    return edges_by_rows(
        endpoints,
        nodes,
        sides,
        weights,
        options,
        where=_where,
        reading=" ".join(
            filter(None, [other_attributes([weight_attribute or _WEIGHT]), *left_out])
        ),
        left_out=" ".join(left_out),
        undeclared=weight_attribute is None,
        arbitrary_order=True,
    )


def edges_of_igraph(graph: "igraph.Graph", options: Options) -> RawEdges:
    """Read a graph of igraph, which declares the attributes of edges.

    Raises:
        GraphError: names that are neither text nor integers, a wrong direction, or no such
            attribute.
    """
    _check_direction(graph, options)
    n = graph.vcount()
    vertex_attributes, edge_attributes = graph.vs.attributes(), graph.es.attributes()
    nodes = vertex_labels(graph)
    sides: list[Any] = list(graph.vs["type"]) if "type" in vertex_attributes else [None] * n
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    named, weights = named_attribute(options), None
    if named is not None and named not in edge_attributes:
        raise GraphError(f"the graph has no edge attribute {named!r:.60}; pass another weight=")
    weight = named or _WEIGHT
    if weight in edge_attributes:
        weights = listed_weights(list(graph.es[weight]), options, True, _where)
    edge_note = attributes_read(named, [name for name in edge_attributes if name != weight])
    left_out = [*filter(None, [edge_note]), *_vertex_attributes_note(graph)]
    return edges_by_rows(
        list(pairs.T),
        nodes,
        sides,
        weights,
        options,
        where=_where,
        reading=" ".join(left_out),
        # A caller who names an attribute knows them, and needs no warning.
        left_out="" if named else " ".join(left_out),
        arbitrary_order=True,
    )


def to_networkx(graph: EdgeStore) -> "nx.Graph[Any]":
    """Return a graph of networkx, as `Graph.to_networkx` describes."""
    import networkx as nx

    space = graph.space
    result: nx.Graph[Any] = nx.DiGraph() if isinstance(space, Arcs) else nx.Graph()
    left, right = (list(vertices.labels) for vertices in vertex_sets(space))
    if one_set(space):
        result.add_nodes_from(left)
    else:
        if not set(left).isdisjoint(right):
            raise GraphError("a label occurs on both sides; networkx needs distinct labels")
        result.add_nodes_from(left, bipartite=0)
        result.add_nodes_from(right, bipartite=1)
    first = [left[row] for row in graph.rows.tolist()]
    second = [right[column] for column in graph.columns.tolist()]
    if graph.weighted:
        result.add_weighted_edges_from(zip(first, second, graph.weights.tolist(), strict=True))
    else:
        result.add_edges_from(zip(first, second, strict=True))
    return result


def to_igraph(graph: EdgeStore) -> "igraph.Graph":
    """Return a graph of igraph, as `Graph.to_igraph` describes."""
    import igraph

    labels = [label for vertices in sets_in(graph.space) for label in vertices.labels]
    offset = 0 if one_set(graph.space) else graph.shape[0]
    pairs = np.column_stack([graph.rows.astype(np.int64), graph.columns.astype(np.int64) + offset])
    result = igraph.Graph(n=len(labels), edges=pairs, directed=isinstance(graph.space, Arcs))
    result.vs["name"] = labels
    if offset:
        result.vs["type"] = [row >= offset for row in range(len(labels))]
    if graph.weighted:
        result.es["weight"] = graph.weights.tolist()
    return result


def _are_labels(values: Sequence[Any]) -> BoolVector:
    """Return which values are labels: strings or integers."""
    if _is_plain(values):
        return np.ones(len(values), dtype=np.bool_)
    return np.fromiter(map(is_label, values), np.bool_, len(values))


def _is_plain(values: Sequence[Any]) -> bool:
    """Return whether all values have the type int or str itself, so that none needs a check."""
    return set(map(type, values)) <= {int, str}


def _identifiers(columns: Sequence[Sequence[Any]], options: Options) -> Sequence[Identifiers]:
    """Return both columns as arrays if all labels are integers, else as text by number.

    Labels become text if they will be looked up in a public vertex set.
    """
    labels = [values if _is_plain(values) else list(map(plain_label, values)) for values in columns]
    if all(set(map(type, values)) <= {int} for values in labels):
        try:
            return [np.array(values, dtype=np.int64) for values in labels]
        except OverflowError:
            pass
    if options.vertices is not None:
        labels = [list(map(str, values)) for values in labels]
    return numbered_labels(*labels)


def _vertex_attributes_note(graph: Any) -> list[str]:
    """Return a list of a sentence about the public attributes of vertices; [] if there are none."""
    names = unread_attributes(graph)
    if not names:
        return []
    advice = f"groups of one are made by Groups.of({names[0]!r:.60}, graph)"
    return [f"Attributes of vertices are not kept ({shown_names(names)}); {advice}."]


def _check_direction(graph: Any, options: Options) -> None:
    """Refuse an undirected graph for a `DirectedGraph`."""
    if options.directed and not graph.is_directed():
        raise GraphError(
            "the graph is undirected: it is no DirectedGraph; make both arcs of each edge first"
        )


def _where(position: int) -> str:
    """Return the position of an edge in words."""
    return f"edge {position} (counted from 0)"
