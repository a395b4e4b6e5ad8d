"""Graphs of networkx, igraph and scipy, tables of any library, and plain lists of edges.

The rules are those of files: loops are dropped, arcs are edges (unless a `DirectedGraph` is made),
parallel edges are merged, weights above the cap are clipped. Labels are strings or integers and
keep their type. Without `vertices` the labels are sorted: their order in the source may tell in
which order edges were added.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.frames import made_frame
from graphcuts_dp.io.assemble import (
    Ends,
    Options,
    RawEdges,
    Schema,
    as_numbers,
    edges_by_rows,
    listed_weights,
    numbered_labels,
    some_of,
)
from graphcuts_dp.io.codes import ENDS
from graphcuts_dp.io.edge_store import EdgeStore
from graphcuts_dp.io.matrices import matrix_edges
from graphcuts_dp.io.tables import edges_of_table, open_table
from graphcuts_dp.pairs.queries import one_set
from graphcuts_dp.pairs.vertices import Arcs, Label, sets_in, vertex_sets
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.columns import Columns

if TYPE_CHECKING:
    import igraph
    import networkx as nx


_FROM_LIBRARY: dict[str, Any] = {"literal_integers": False, "arbitrary_order": True}


def edges_of(source: Any, options: Options) -> RawEdges:
    """The edges of whatever `Graph.of` takes.

    Raises:
        GraphError: as `Graph.of`.
    """
    for library, read in (("networkx", _of_networkx), ("igraph", _of_igraph)):
        module = sys.modules.get(library)
        if module is not None and isinstance(source, module.Graph):
            return read(source, options)
    if not (sp.issparse(source) or isinstance(source, np.ndarray | list | tuple | set)):
        table = open_table(source)
        if table is not None:
            return edges_of_table(table, options)
    if options.columns != Columns():
        raise GraphError("columns= is for tables, and for graphs of networkx and igraph")
    if sp.issparse(source) or (isinstance(source, np.ndarray) and source.dtype.kind in "biufc"):
        return _of_matrix(source, options)
    return _of_list(source, options)


def _of_list(edges: Iterable[Any], options: Options) -> RawEdges:
    """Edges of pairs, or of triples with a weight."""
    try:
        rows = [tuple(edge) for edge in edges]
    except TypeError:
        raise GraphError(
            "a graph is made of pairs (source, target) or triples with a weight, a matrix, a table,"
            " or a graph of networkx or igraph"
        ) from None
    lengths = {len(row) for row in rows}
    if len(lengths) > 1 or not lengths <= {2, 3}:
        raise GraphError("edges are all pairs, or all triples with a weight")
    found: list[Any] = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    columns = dict(zip((*ENDS, "weight"), found, strict=False))
    if options.weighted is False:
        columns.pop("weight", None)
    return _labelled(columns, _where, BadRows(), undeclared=True)


def _of_matrix(matrix: Any, options: Options) -> RawEdges:
    if sp.issparse(matrix):
        matrix = sp.coo_array(matrix)
        matrix.sum_duplicates()
    return matrix_edges(
        matrix,
        Schema(),
        options,
        unweighted=matrix.dtype == np.bool_,
        error=GraphError,
    )


def _of_networkx(graph: "nx.Graph[Any]", options: Options) -> RawEdges:
    _check_direction(graph, options)
    nodes = [_plain(node) for node in graph.nodes]
    sides = [graph.nodes[node].get("bipartite") for node in graph.nodes]
    table = {node: row for row, node in enumerate(graph.nodes)}
    triples = list(graph.edges(data=_attribute(options)))
    ends = [
        np.fromiter((table[edge[side]] for edge in triples), dtype=np.int64, count=len(triples))
        for side in (0, 1)
    ]
    weights = listed_weights([edge[2] for edge in triples], options, None, _where)
    return edges_by_rows(
        ends, nodes, sides, weights, options, where=_where, undeclared=True, **_FROM_LIBRARY
    )


def _of_igraph(graph: "igraph.Graph", options: Options) -> RawEdges:
    _check_direction(graph, options)
    n = graph.vcount()
    attributes, weight = graph.vs.attributes(), _attribute(options)
    nodes = [_plain(name) for name in (graph.vs["name"] if "name" in attributes else range(n))]
    sides: list[Any] = list(graph.vs["type"]) if "type" in attributes else [None] * n
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weights = None
    if weight in graph.es.attributes():
        weights = listed_weights(list(graph.es[weight]), options, True, _where)
    ends = list(pairs.T)
    return edges_by_rows(ends, nodes, sides, weights, options, where=_where, **_FROM_LIBRARY)


def to_networkx(graph: EdgeStore) -> "nx.Graph[Any]":
    """See `Graph.to_networkx`."""
    import networkx as nx

    space = graph.space
    result: nx.Graph[Any] = nx.DiGraph() if isinstance(space, Arcs) else nx.Graph()
    left, right = (list(each.labels) for each in vertex_sets(space))
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
    """See `Graph.to_igraph`."""
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


def to_frame(graph: EdgeStore, kind: Any = None) -> Any:
    """See `Graph.to_frame`."""
    columns: dict[str, Any] = {}
    for name, rows, vertices in zip(
        ("source", "target"), (graph.rows, graph.columns), vertex_sets(graph.space), strict=True
    ):
        labels = vertices.labels
        columns[name] = (
            rows.astype(np.int64) if vertices.is_default else [labels[row] for row in rows.tolist()]
        )
    if graph.weighted:
        columns["weight"] = graph.weights
    return made_frame(columns, kind)


def _check_direction(graph: Any, options: Options) -> None:
    if options.directed and not graph.is_directed():
        raise GraphError(
            "the graph is undirected: it is no DirectedGraph; make both arcs of each edge first"
        )


def _where(position: int) -> str:
    return f"edge {position} (counted from 0)"


def _row(position: int) -> str:
    return f"row {position} (counted from 0)"


def _attribute(options: Options) -> str:
    columns = options.columns
    if columns != Columns(weight=columns.weight) or isinstance(columns.weight, int):
        raise GraphError("of a graph of networkx or igraph only the weight can be named")
    return columns.weight or "weight"


def _labelled(
    parts: dict[str, Any], where: Callable[[int], str], bad: BadRows, **told: Any
) -> RawEdges:
    """Rows of columns in memory: of ends, and perhaps weights, owners and periods.

    Where bad rows are left out, an integer and its digits are one label: of which type a column is
    may depend on a single row.
    """
    good = np.ones(len(parts["source"]), dtype=np.bool_)
    sound = {role: _are_sound(each, role, floats=bad.skip) for role, each in parts.items()}
    for role, own in sound.items():
        if not own.all():
            bad.add(_WRONG.get(role, _WRONG_END), where(int(np.argmin(own))))
            good &= own
    if not good.all():
        parts = {role: some_of(values, good) for role, values in parts.items()}
    places = np.flatnonzero(good)
    labels = {role: _labels(part) for role, part in parts.items() if role != "weight"}
    ends = _coded([labels[role] for role in ENDS])
    return RawEdges(
        sources=ends[0],
        targets=ends[1],
        weights=as_numbers(parts["weight"])[0] if "weight" in parts else None,
        literal_integers=False,
        bad=bad,
        where=lambda position: where(int(places[position])),
        **told,
    )


def _are_sound(values: Any, role: str, *, floats: bool) -> BoolVector:
    """Which entries of a column can be what they are for; each is looked at by itself.

    Args:
        values: the column.
        role: what it is for, such as "source".
        floats: whether floats that are integers will do beside strings.
    """
    if role == "weight":
        return as_numbers(values)[1]
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        small: BoolVector = values <= 2**63 - 1
        return small
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        whole: BoolVector = (values == np.floor(values)) & (np.abs(values) < 2.0**53)
        return whole
    listed_values = values.tolist() if isinstance(values, np.ndarray) else values
    if _all_are(listed_values, str, int):
        return np.ones(len(listed_values), dtype=np.bool_)
    good = (_is_label(value) or (floats and _is_whole(value)) for value in listed_values)
    return np.fromiter(good, dtype=np.bool_, count=len(listed_values))


def _all_are(values: Iterable[Any], *types: type) -> bool:
    """Whether all are of these very types, as in most columns; no subclass of one will do."""
    return set(map(type, values)) <= set(types)


def _is_day(value: Any) -> bool:
    """Whether something is a date or a time of Python; a missing one equals nothing."""
    return isinstance(value, date) and value == value


def _is_whole(value: Any) -> bool:
    """Whether something is a float that is an integer, as beside a gap in a column of integers."""
    return isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53


def _labels(values: Any) -> npt.NDArray[np.int64] | list[Label]:
    """Integers as an array, others as a list; all are sound."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return values.astype(np.int64)
    listed_values = values.tolist() if isinstance(values, np.ndarray) else values
    if len(listed_values) and _all_are(listed_values, str):
        return list(listed_values)
    labels = [str(value) if isinstance(value, str) else int(value) for value in listed_values]
    if labels and all(type(label) is int and abs(label) < 2**62 for label in labels):
        return np.array(labels, dtype=np.int64)
    return labels


def _coded(columns: list[Any]) -> Sequence[Ends]:
    """Columns of integers as they are; if one has other labels, all by the same numbers."""
    if all(isinstance(each, np.ndarray) for each in columns):
        return columns
    lists = [each.tolist() if isinstance(each, np.ndarray) else each for each in columns]
    return numbered_labels(*lists)


_WRONG_END = "edge ends must be strings or integers, and none may be missing"
_WRONG = {
    "weight": "the weight is not a number",
    "owner": "the owner must be a string or an integer, and may not be missing",
    "period": "the period must be a string, an integer or a time, and may not be missing",
}


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def _plain(value: Any) -> Label:
    if not _is_label(value):
        raise GraphError("vertex labels must be strings or integers; relabel the vertices first")
    return str(value) if isinstance(value, str) else int(value)
