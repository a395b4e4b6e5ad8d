"""Graphs of networkx, igraph and scipy, tables of any library, and plain lists of edges.

The rules are those of files: loops are dropped, arcs are edges (unless a `DirectedGraph` is made),
parallel edges are merged, weights above the cap are clipped. Labels are strings or integers and
keep their type. Without `vertices` the labels are sorted: their order in the source may tell in
which order edges were added.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import FileFormatError, GraphError
from graphcuts_dp.graph.arrow_tables import choose_columns, gather, is_label, pyarrow, used_names
from graphcuts_dp.graph.assemble import (
    Ends,
    Options,
    RawEdges,
    Schema,
    edges_by_rows,
    listed,
    listed_weights,
    numbers,
)
from graphcuts_dp.graph.edge_store import EdgeStore
from graphcuts_dp.graph.gathered import OTHERS
from graphcuts_dp.graph.matrices import matrix_edges
from graphcuts_dp.pairs.queries import one_set
from graphcuts_dp.pairs.vertices import Arcs, Label, sets_in, vertex_sets
from graphcuts_dp.tables.columns import Columns
from graphcuts_dp.tables.frames import frame_of, made_frame

if TYPE_CHECKING:
    import igraph
    import networkx as nx


_FROM_LIBRARY: dict[str, Any] = {"as_text": False, "arbitrary_order": True}


def edges_of(source: Any, options: Options) -> RawEdges:
    """The edges of whatever `Graph.of` takes.

    Raises:
        GraphError: as `Graph.of`.
    """
    for library, read in (("networkx", _of_networkx), ("igraph", _of_igraph)):
        module = sys.modules.get(library)
        if module is not None and isinstance(source, module.Graph):
            return read(source, options)
    frame = None if sp.issparse(source) or isinstance(source, np.ndarray) else frame_of(source)
    streamed = hasattr(source, "__arrow_c_stream__")
    if frame is not None and not frame.implementation.is_pyarrow():
        return _of_frame(frame, options)
    if streamed:
        return _of_arrow(source, options)
    if options.columns != Columns():
        raise GraphError("columns= is for tables, and for graphs of networkx and igraph")
    if sp.issparse(source) or (isinstance(source, np.ndarray) and source.dtype.kind in "biufc"):
        return _of_matrix(source, options)
    return _of_list(source, options)


def rows_of(source: Any, options: Options) -> RawEdges:
    """The rows of a table.

    Raises:
        GraphError: as `Rows.of`.
    """
    frame = frame_of(source)
    if frame is None:
        raise GraphError("rows come from a table, such as one of pandas or polars")
    return _of_frame(frame, options)


def _of_frame(frame: Any, options: Options) -> RawEdges:
    try:
        places = choose_columns(frame.columns, options)
    except FileFormatError as problem:
        raise GraphError(str(problem)) from None
    ends = [_ends(frame[:, place].to_numpy(), _row) for place in (places.source, places.target)]
    weights = None if places.weight is None else numbers(frame[:, places.weight].to_numpy(), _row)
    others: dict[str, Ends] = {}
    for role in OTHERS:
        if role not in places.used:
            continue
        values = frame[:, places.used[role]]
        if role == "period" and values.dtype.is_temporal():
            values = values.dt.to_string("%Y-%m-%d")
        try:
            others[f"{role}s"] = _ends(values.to_numpy(), _row)
        except GraphError as problem:
            raise GraphError(f"the column of the {role}: {problem}") from None
    return _labelled(ends, weights, _row, columns=places, **others)


def _of_arrow(table: Any, options: Options) -> RawEdges:
    """Edges of a stream of batches, one at a time."""
    arrow = pyarrow()
    reader = arrow.RecordBatchReader.from_stream(table)
    try:
        places = choose_columns(reader.schema.names, options, types=reader.schema.types)
    except FileFormatError as problem:
        raise GraphError(str(problem)) from None
    kinds = [is_label(reader.schema.types[place]) for place in (places.source, places.target)]
    if kinds[0] != kinds[1]:
        raise GraphError("the columns of ends hold integers both, or strings both")
    try:
        names = used_names(reader.schema.names, places)
        raw = gather(reader, names, error=GraphError, as_text=False)
    except arrow.ArrowException:  # which may quote rows
        raise GraphError("the table cannot be read to its end") from None
    return replace(raw, columns=places)


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
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    weights = (
        numbers(columns[2], _where) if len(columns) == 3 and options.weighted is not False else None
    )
    return _labelled([_ends(columns[0]), _ends(columns[1])], weights, _where, undeclared=True)


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
    ends: list[Ends], weights: FloatArray | None, where: Callable[[int], str], **told: Any
) -> RawEdges:
    if isinstance(ends[0], np.ndarray) != isinstance(ends[1], np.ndarray):
        ends = [listed(end) for end in ends]
    return RawEdges(
        sources=ends[0], targets=ends[1], weights=weights, as_text=False, where=where, **told
    )


def _ends(values: Any, where: Callable[[int], str] = _where) -> Ends:
    """Integer ends as an array, others as a checked list."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return values.astype(np.int64)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
            bad = (whole != values) | ~(np.abs(values) < 2.0**53)
        if not bad.any():
            return whole
        raise GraphError(f"{where(int(np.argmax(bad)))}: {_WRONG_END}")
    labels: list[Label] = []
    for position, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
        if not _is_label(value):
            raise GraphError(f"{where(position)}: {_WRONG_END}")
        labels.append(str(value) if isinstance(value, str) else int(value))
    if labels and all(type(label) is int and abs(label) < 2**62 for label in labels):
        return np.array(labels, dtype=np.int64)
    return labels


_WRONG_END = "edge ends must be strings or integers, and none may be missing"


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def _plain(value: Any) -> Label:
    if not _is_label(value):
        raise GraphError("vertex labels must be strings or integers; relabel the vertices first")
    return str(value) if isinstance(value, str) else int(value)
