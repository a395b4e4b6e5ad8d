"""Graphs from and to networkx, igraph, scipy, pandas, and plain lists of edges.

The rules are those of files: loops are dropped, arcs are edges (unless `directed`), parallel edges
are merged, weights above the cap are clipped. Labels are strings or integers and keep their type.
Without `vertices` the labels are sorted: their order in the source may tell in which order edges
were added.

Graphs from Arrow tables in memory, and from all that hands out a stream of Arrow's batches.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.graph.arrow_tables import gather, is_label, is_number, pyarrow
from graphcuts_dp.graph.assemble import build, listed, split_sides
from graphcuts_dp.graph.edge_keys import Merge
from graphcuts_dp.graph.edge_store import Vertices
from graphcuts_dp.graph.matrices import matrix_edges
from graphcuts_dp.graph.raw_edges import Ends, GivenVertices, Options, RawEdges
from graphcuts_dp.graph.schema import Schema
from graphcuts_dp.pairs.vertices import Label, VertexSet

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import pandas as pd


def from_arrow(
    table: Any,
    *,
    source: str = "source",
    target: str = "target",
    weight: str = "weight",
    vertices: Vertices | tuple[Vertices, Vertices] | None = None,
    weighted: bool | None = None,
    weight_cap: float | None = None,
    hide_change: float | None = None,
    bipartite: bool = False,
    directed: bool = False,
    merge: Merge = "max",
) -> AnyGraph:
    """Make a graph from a table of pyarrow, polars, DuckDB or others with one row for each edge.

    Args:
        table: whatever has the method `__arrow_c_stream__`, such as `pyarrow.Table`, a
            `RecordBatchReader`, a polars `DataFrame` or a DuckDB relation; read a batch at a time.
            Ends are integers, or strings (perhaps by number); none may be null. A table has no
            isolated vertices: give `vertices`.
        source: column with the first (left) ends.
        target: column with the second (right) ends.
        weight: column with the weights; if there is none, the graph is simple.
        vertices: public vertex set: a count or labels; a pair of these if `bipartite`.
        weighted: None: use weights where there are any; False: ignore them; True: require them.
        weight_cap: public bound on any weight; larger ones are clipped to it.
        hide_change: 1 to have weights without a cap, see `read_graph`.
        bipartite: make a `BipartiteGraph`.
        directed: make a `DirectedGraph`.
        merge: weight of parallel edges: the largest ("max"), the smallest ("min") or their "sum".

    Raises:
        FileFormatError: pyarrow is not installed.
        GraphError: not such a table, no such columns, missing values, or what `assemble.build`
            refuses.
    """
    options = options_of(vertices, weighted, weight_cap, hide_change, bipartite, directed, merge)
    arrow = pyarrow()
    if not hasattr(table, "__arrow_c_stream__"):
        raise GraphError("not a table of Arrow; give one of pyarrow, polars or DuckDB")
    reader = arrow.RecordBatchReader.from_stream(table)
    kinds = dict(zip(reader.schema.names, reader.schema.types, strict=True))
    if source not in kinds or target not in kinds:
        raise GraphError("the table lacks the source or target column; name them")
    names = [source, target]
    if weight in kinds and weighted is not False:
        names.append(weight)
        if not is_number(kinds[weight]):
            raise GraphError("the column of weights holds no numbers; name another by weight=")
    if any(reader.schema.names.count(name) > 1 for name in names):
        raise GraphError("two columns have one name; rename one")
    if not is_label(kinds[source]) or is_label(kinds[source]) != is_label(kinds[target]):
        raise GraphError("the columns of ends hold integers both, or strings both")
    try:
        raw = gather(reader, names, error=GraphError, as_text=False)
    except arrow.ArrowException:  # which may quote rows
        raise GraphError("the table cannot be read to its end") from None
    return build(raw, options)


def from_edges(
    edges: Iterable[Any],
    *,
    vertices: Vertices | tuple[Vertices, Vertices] | None = None,
    weighted: bool | None = None,
    weight_cap: float | None = None,
    hide_change: float | None = None,
    bipartite: bool = False,
    directed: bool = False,
    merge: Merge = "max",
) -> AnyGraph:
    """Make a graph from pairs (source, target) or triples (source, target, weight).

    Args:
        edges: an iterable of tuples, all of the same length, or an array of shape (m, 2) or
            (m, 3). Ends are strings or integers; if `bipartite`, left before right.
        vertices: public vertex set: a count or labels; a pair of these if `bipartite`.
        weighted: None: use weights if the edges have them, of no edges those that a cap is given
            for; False: ignore them; True: require them.
        weight_cap: public bound on any weight; larger ones are clipped to it.
        hide_change: 1 to have weights without a cap, see `read_graph`.
        bipartite: make a `BipartiteGraph`.
        directed: make a `DirectedGraph`.
        merge: weight of parallel edges: the largest ("max"), the smallest ("min") or their "sum".

    Raises:
        GraphError: ends that are neither strings nor integers, or what `assemble.build` refuses.

    Examples:
        >>> gc.from_edges([("ann", "bob"), ("bob", "eve")], vertices=["ann", "bob", "eve", "kim"])
        Graph(n=4)
    """
    options = options_of(vertices, weighted, weight_cap, hide_change, bipartite, directed, merge)
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] not in (2, 3):
            raise GraphError("an array of edges has two columns, or three with weights")
        columns: list[Any] = [edges[:, column] for column in range(edges.shape[1])]
    else:
        rows = [tuple(edge) for edge in edges]
        lengths = {len(row) for row in rows}
        if len(lengths) > 1 or not lengths <= {2, 3}:
            raise GraphError("edges are all pairs, or all triples with a weight")
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    weights = numbers_of(columns[2]) if len(columns) == 3 and weighted is not False else None
    undeclared = not isinstance(edges, np.ndarray)
    return _build_labelled(
        ends_of(columns[0]), ends_of(columns[1]), weights, options, undeclared=undeclared
    )


def from_networkx(
    graph: "nx.Graph[Any]",
    *,
    weight: str = "weight",
    vertices: Vertices | tuple[Vertices, Vertices] | None = None,
    weighted: bool | None = None,
    weight_cap: float | None = None,
    hide_change: float | None = None,
    bipartite: bool = False,
    directed: bool = False,
    merge: Merge = "max",
) -> AnyGraph:
    """Make a graph from a networkx graph of any class; isolated nodes are kept.

    Args:
        graph: nodes are strings or integers. If `bipartite`, each has an attribute `bipartite`
            that is 0 (left) or 1 (right).
        weight: edge attribute with the weight.
        vertices: public vertex set: a count or labels; a pair of these if `bipartite`.
        weighted: None: use weights if all edges have them (some and not all is an error), of no
            edges those that a cap is given for; False: ignore them; True: require them.
        weight_cap: public bound on any weight; larger ones are clipped to it.
        hide_change: 1 to have weights without a cap, see `read_graph`.
        bipartite: make a `BipartiteGraph`.
        directed: make a `DirectedGraph` of a `DiGraph` or `MultiDiGraph`.
        merge: weight of parallel edges: the largest ("max"), the smallest ("min") or their "sum".

    Raises:
        GraphError: other nodes (relabel them), or what `assemble.build` refuses.

    Examples:
        >>> import networkx as nx
        >>> gc.from_networkx(nx.karate_club_graph(), weighted=False)
        Graph(n=34)
    """
    options = options_of(vertices, weighted, weight_cap, hide_change, bipartite, directed, merge)
    _check_direction(graph, options)
    nodes = _labels(graph.nodes)
    sides = [graph.nodes[node].get("bipartite") for node in graph.nodes]
    table = {node: row for row, node in enumerate(graph.nodes)}
    triples = list(graph.edges(data=weight))
    ends = [
        np.fromiter((table[edge[side]] for edge in triples), dtype=np.int64, count=len(triples))
        for side in (0, 1)
    ]
    weights = _attribute([edge[2] for edge in triples], options)
    return _build_rows(ends, nodes, sides, weights, options, declared=None)


def from_igraph(
    graph: "igraph.Graph",
    *,
    weight: str = "weight",
    vertices: Vertices | tuple[Vertices, Vertices] | None = None,
    weighted: bool | None = None,
    weight_cap: float | None = None,
    hide_change: float | None = None,
    bipartite: bool = False,
    directed: bool = False,
    merge: Merge = "max",
) -> AnyGraph:
    """Make a graph from an igraph graph; isolated vertices are kept.

    Args:
        graph: labels are the vertex attribute `name`, or 0..n-1 without it. If `bipartite`, the
            vertex attribute `type` is false (left) or true (right).
        weight: edge attribute with the weight.
        vertices: public vertex set: a count or labels; a pair of these if `bipartite`.
        weighted: None: use weights if there is such an attribute; False: ignore them; True:
            require them.
        weight_cap: public bound on any weight; larger ones are clipped to it.
        hide_change: 1 to have weights without a cap, see `read_graph`.
        bipartite: make a `BipartiteGraph`.
        directed: make a `DirectedGraph`.
        merge: weight of parallel edges: the largest ("max"), the smallest ("min") or their "sum".

    Raises:
        GraphError: names that are neither strings nor integers or are not distinct, or what
            `assemble.build` refuses.
    """
    options = options_of(vertices, weighted, weight_cap, hide_change, bipartite, directed, merge)
    _check_direction(graph, options)
    n = graph.vcount()
    attributes = graph.vs.attributes()
    nodes = _labels(graph.vs["name"] if "name" in attributes else range(n))
    sides: list[Any] = list(graph.vs["type"]) if "type" in attributes else [None] * n
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    declared = weight in graph.es.attributes()
    weights = _attribute(list(graph.es[weight]), options, declared=True) if declared else None
    return _build_rows(
        [pairs[:, 0], pairs[:, 1]], nodes, sides, weights, options, declared=declared
    )


def from_scipy(
    matrix: Any,
    *,
    vertices: Vertices | tuple[Vertices, Vertices] | None = None,
    weighted: bool | None = None,
    weight_cap: float | None = None,
    hide_change: float | None = None,
    bipartite: bool = False,
    directed: bool = False,
    merge: Merge = "max",
) -> AnyGraph:
    """Make a graph from a matrix, scipy sparse or dense; the diagonal is ignored.

    Args:
        matrix: shape (n, n). Both entries of a pair are one edge, whether they are equal or not,
            see `merge`. If `directed`, entry (u, v) is the arc u -> v. If `bipartite`, any shape:
            rows left, columns right. Entries of a sparse matrix that stand twice add up.
        vertices: labels of the rows, 0..n-1 when omitted; a pair of these if `bipartite`.
        weighted: None: use weights unless the entries are truth values; False: ignore them; True:
            require them.
        weight_cap: public bound on any weight; larger ones are clipped to it.
        hide_change: 1 to have weights without a cap, see `read_graph`.
        bipartite: make a `BipartiteGraph`.
        directed: make a `DirectedGraph`.
        merge: weight of a pair with two entries: the larger one ("max") or the smaller ("min"). A
            "sum" would count each edge of a symmetric matrix twice, and whether a matrix is
            symmetric is not for its entries to tell: to add up arcs, give `matrix + matrix.T`.

    Raises:
        GraphError: not real, not finite, negative, empty, not square, labels of wrong number, or
            merge="sum" for weights of an undirected graph.
    """
    options = options_of(vertices, weighted, weight_cap, hide_change, bipartite, directed, merge)
    if sp.issparse(matrix):
        matrix = sp.coo_array(matrix)
        matrix.sum_duplicates()
    kind = np.asarray(matrix).dtype if not sp.issparse(matrix) else matrix.dtype
    raw = matrix_edges(
        matrix,
        Schema(),
        bipartite=options.bipartite,
        directed=options.directed,
        unweighted=kind == np.bool_,
        error=GraphError,
    )
    return build(raw, options)


def from_pandas(
    frame: "pd.DataFrame",
    *,
    source: str = "source",
    target: str = "target",
    weight: str = "weight",
    vertices: Vertices | tuple[Vertices, Vertices] | None = None,
    weighted: bool | None = None,
    weight_cap: float | None = None,
    hide_change: float | None = None,
    bipartite: bool = False,
    directed: bool = False,
    merge: Merge = "max",
) -> AnyGraph:
    """Make a graph from a table with one row for each edge.

    Args:
        frame: ids are strings or integers. A table has no isolated vertices: give `vertices`.
        source: column with the first (left) ends.
        target: column with the second (right) ends.
        weight: column with the weights; if there is none, the graph is simple.
        vertices: public vertex set: a count or labels; a pair of these if `bipartite`.
        weighted: None: use weights where there are any; False: ignore them; True: require them.
        weight_cap: public bound on any weight; larger ones are clipped to it.
        hide_change: 1 to have weights without a cap, see `read_graph`.
        bipartite: make a `BipartiteGraph`.
        directed: make a `DirectedGraph`.
        merge: weight of parallel edges: the largest ("max"), the smallest ("min") or their "sum".

    Raises:
        GraphError: no such columns, missing ids, or what `assemble.build` refuses.

    Examples:
        >>> import pandas as pd
        >>> calls = pd.DataFrame({"caller": ["ann", "bob"], "called": ["bob", "eve"]})
        >>> gc.from_pandas(calls, source="caller", target="called", vertices=["ann", "bob", "eve"])
        Graph(n=3)
    """
    options = options_of(vertices, weighted, weight_cap, hide_change, bipartite, directed, merge)
    if source not in frame.columns or target not in frame.columns:
        raise GraphError("the table lacks the source or target column; name them")
    ends = [ends_of(frame[name].to_numpy(), _row) for name in (source, target)]
    weights = None
    if weight in frame.columns and weighted is not False:
        weights = numbers_of(frame[weight].to_numpy(), _row)
    return _build_labelled(ends[0], ends[1], weights, options, _row)


def to_networkx(graph: AnyGraph) -> "nx.Graph[Any]":
    """Make a networkx graph with the labels as nodes, and attributes `weight` and `bipartite`.

    A directed graph becomes a `DiGraph`.

    Raises:
        GraphError: a label occurs on both sides of a bipartite graph.

    Examples:
        >>> gc.to_networkx(gc.datasets.load("karate")).number_of_nodes()
        34
    """
    import networkx as nx

    result: nx.Graph[Any] = nx.DiGraph() if isinstance(graph, DirectedGraph) else nx.Graph()
    if not isinstance(graph, BipartiteGraph):
        left = right = list(graph.labels)
        result.add_nodes_from(left)
    else:
        left, right = list(graph.left.labels), list(graph.right.labels)
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


def to_igraph(graph: AnyGraph) -> "igraph.Graph":
    """Make an igraph `Graph`: vertex attributes `name` and `type` (if bipartite), edge `weight`."""
    import igraph

    directed = isinstance(graph, DirectedGraph)
    if not isinstance(graph, BipartiteGraph):
        labels, offset = list(graph.labels), 0
    else:
        labels, offset = [*graph.left.labels, *graph.right.labels], graph.shape[0]
    pairs = np.column_stack([graph.rows.astype(np.int64), graph.columns.astype(np.int64) + offset])
    result = igraph.Graph(n=len(labels), edges=pairs, directed=directed)
    result.vs["name"] = labels
    if isinstance(graph, BipartiteGraph):
        result.vs["type"] = [row >= offset for row in range(len(labels))]
    if graph.weighted:
        result.es["weight"] = graph.weights.tolist()
    return result


def to_scipy(graph: AnyGraph) -> sp.csr_array:
    """Make a copy of the adjacency matrix, or of the biadjacency matrix of a bipartite graph.

    Of a directed graph: row u, column v for u -> v.
    """
    return (graph.adjacency if isinstance(graph, Graph) else graph.biadjacency).copy()


def to_pandas(graph: AnyGraph) -> "pd.DataFrame":
    """Make a table with columns source, target and weight (if any), one row for each edge or arc.

    Isolated vertices are not in it; pass `vertices=graph.vertices` to `from_pandas`.
    """
    import pandas as pd

    sets = (graph.vertices,) * 2 if isinstance(graph, Graph) else (graph.left, graph.right)
    columns: dict[str, Any] = {}
    for name, rows, vertices in zip(
        ("source", "target"), (graph.rows, graph.columns), sets, strict=True
    ):
        labels = vertices.labels
        columns[name] = (
            rows.astype(np.int64) if vertices.is_default else [labels[row] for row in rows.tolist()]
        )
    if graph.weighted:
        columns["weight"] = graph.weights
    return pd.DataFrame(columns)


def options_of(
    vertices: Any,
    weighted: bool | None,
    weight_cap: float | None,
    hide_change: float | None,
    bipartite: bool,
    directed: bool,
    merge: Merge,
) -> Options:
    """The options of a reader, of what its caller gave.

    Raises:
        GraphError: vertices that do not fit.
    """
    given: GivenVertices
    if vertices is None:
        given = None
    elif bipartite:
        if not isinstance(vertices, tuple | list) or len(vertices) != 2:
            raise GraphError("vertices of a bipartite graph are a pair: left and right")
        given = _vertex_set(vertices[0]), _vertex_set(vertices[1])
    else:
        given = _vertex_set(vertices)
    return Options(
        vertices=given,
        weighted=weighted,
        weight_cap=weight_cap,
        hide_change=hide_change,
        bipartite=bipartite,
        directed=directed,
        merge=merge,
    )


def _check_direction(graph: Any, options: Options) -> None:
    if options.directed and not graph.is_directed():
        raise GraphError(
            "the graph is undirected; leave out directed=True, or make both arcs of each edge first"
        )


def _vertex_set(vertices: Any) -> VertexSet:
    return vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)


def _where(position: int) -> str:
    return f"edge {position} (counted from 0)"


def _row(position: int) -> str:
    return f"row {position} (counted from 0)"


def _build_labelled(
    sources: Ends,
    targets: Ends,
    weights: FloatArray | None,
    options: Options,
    where: Callable[[int], str] = _where,
    *,
    undeclared: bool = False,
) -> AnyGraph:
    if isinstance(sources, np.ndarray) != isinstance(targets, np.ndarray):
        sources, targets = listed(sources), listed(targets)
    raw = RawEdges(
        sources=sources,
        targets=targets,
        weights=weights,
        as_text=False,
        undeclared=undeclared,
        where=where,
    )
    return build(raw, options)


def _build_rows(
    ends: list[Any],
    nodes: list[Label],
    sides: list[Any],
    weights: FloatArray | None,
    options: Options,
    *,
    declared: bool | None,
) -> AnyGraph:
    if not options.bipartite:
        schema = Schema(vertices=VertexSet(nodes))
    else:
        ends, sets = split_sides(ends, nodes, sides, _where, GraphError)
        schema = Schema(sides=sets)
    raw = RawEdges(
        sources=ends[0],
        targets=ends[1],
        weights=weights,
        schema=schema,
        as_text=False,
        as_rows=True,
        arbitrary_order=True,
        undeclared=declared is None,
        where=_where,
    )
    return build(raw, options)


def _attribute(values: list[Any], options: Options, *, declared: bool = False) -> FloatArray | None:
    """The weights of edges, which all have one, or none has if it is not `declared`."""
    if options.weighted is False:
        return None
    if not declared and all(value is None for value in values):
        return None
    if any(value is None for value in values):
        raise GraphError("an edge has no weight though others have; add it, or pass weighted=False")
    return numbers_of(values)


def numbers_of(values: Any, where: Callable[[int], str] = _where) -> FloatArray:
    """Weights as floats, or a `GraphError` that tells where one is no number."""
    try:
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        for position, value in enumerate(values):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                raise GraphError(f"{where(position)}: the weight is not a number") from None
        raise GraphError("an edge weight is not a number") from None
    if weights.ndim != 1:
        raise GraphError("an edge weight is not a number")
    return weights


def ends_of(values: Any, where: Callable[[int], str] = _where) -> Ends:
    """Integer ends as an array, others as a checked list."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return values.astype(np.int64)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
            bad = (whole != values) | ~(np.abs(values) < 2.0**53)
        if not bad.any():
            return whole
        raise _bad_end(int(np.argmax(bad)), where)
    labels: list[Label] = []
    for position, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
        if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
            raise _bad_end(position, where)
        labels.append(str(value) if isinstance(value, str) else int(value))
    if labels and all(type(label) is int and abs(label) < 2**62 for label in labels):
        return np.array(labels, dtype=np.int64)
    return labels


def _bad_end(position: int, where: Callable[[int], str]) -> GraphError:
    return GraphError(
        f"{where(position)}: edge ends must be strings or integers, and none may be missing"
    )


def _labels(values: Iterable[Any]) -> list[Label]:
    return [_plain(value) for value in values]


def _plain(value: Any) -> Label:
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
        raise GraphError("vertex labels must be strings or integers; relabel the vertices first")
    return str(value) if isinstance(value, str) else int(value)
