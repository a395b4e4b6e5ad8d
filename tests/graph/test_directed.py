"""Directed graphs: their arcs, files and refusals; graphs from blocks of dense rows."""

import pickle
from collections.abc import Iterator

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import (
    BipartiteGraph,
    DirectedGraph,
    FileFormatError,
    Graph,
    GraphError,
    ParameterError,
    VertexSet,
    read_graph,
)
from graphcuts_dp.graph.adjacency import graph_of_matrix_rows, kind_of_graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.plugins import Universe
from graphcuts_dp.schema.vertices import Arcs

MIXED = """<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>
<edge source="a" target="b" directed="false"/></graph></graphml>"""


def test_parallel_arcs_are_merged_and_loops_and_weights_of_0_left_out():
    graph = DirectedGraph([0, 1, 1, 0, 2, 1], [1, 0, 0, 1, 2, 2], [1, 2, 3, 4, 5, 0], vertices=3)
    assert graph.dense().tolist() == [[0, 4, 0], [3, 0, 0], [0, 0, 0]]
    assert (graph.adjacency.toarray() == graph.dense()).all()
    assert (graph.n, graph.shape, graph.labels) == (3, (3, 3), (0, 1, 2))
    capped = DirectedGraph(graph.rows, graph.columns, graph.weights, vertices=3, max_weight=4)
    grid = Grid.of(capped)
    assert grid.total(graph) == grid.steps(graph.weights).sum() > 0
    assert repr(capped) == "DirectedGraph(n=3, weighted, max_weight=4)"
    matrix = np.array([[9, 4, 0], [3, 0, 0], [0, 0, 1]])
    for same in (
        *(DirectedGraph.of(matrix), DirectedGraph.of(sp.csr_array(matrix))),
        graph_of_matrix_rows(graph.space, [graph.dense()[:1], graph.dense()[1:]]),
    ):
        assert graph == same
    for other in (
        Graph([0], [1], [4], vertices=3),
        BipartiteGraph([0, 1], [1, 0], [4, 3], left=3, right=3),
        DirectedGraph([0, 1], [1, 0], [4, 3], vertices="abc"),
    ):
        assert graph != other
        assert other != graph


REFUSED = {
    "an end outside": (lambda: DirectedGraph([0], [3], vertices=3), "outside the public vertex se"),
    "above the cap": (
        lambda: DirectedGraph([0], [1], [2.0], vertices=3, max_weight=1),
        "more than max_weight",
    ),
    "negative": (lambda: DirectedGraph([0], [1], [-1.0], vertices=3), "negative"),
    "a change": (
        lambda: DirectedGraph([0], [1], vertices=3, max_weight_change=2),
        "max_weight_change",
    ),
    "not square": (lambda: DirectedGraph.of(np.ones((2, 3))), "square"),
    "two sets": (lambda: Universe(3, 4, directed=True), "one vertex set"),
    "two kinds": (lambda: kind_of_graph(bipartite=True, directed=True), "not both"),
    "undirected, networkx": (lambda: DirectedGraph.of(nx.path_graph(3)), "undirected"),
    "undirected, igraph": (lambda: DirectedGraph.of(igraph.Graph(edges=[(0, 1)])), "undirected"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_directed_graph_is_refused(case):
    make, message = REFUSED[case]
    with pytest.raises((GraphError, ParameterError), match=message):
        make()


def test_a_space_of_arcs_is_equal_to_its_copies_and_not_to_two_vertex_sets():
    vertices = VertexSet(["a", "b"], inferred=True)
    arcs = Arcs(vertices)
    assert arcs != (vertices, vertices)
    assert (vertices, vertices) != arcs
    assert not arcs == (vertices, vertices)  # noqa: SIM201  # both operators are our own
    assert arcs == Arcs(VertexSet(["a", "b"]))
    assert hash(arcs) == hash(Arcs(VertexSet(["a", "b"])))
    assert arcs[0] is not arcs[1]
    assert arcs[1].inferred
    again = pickle.loads(pickle.dumps(arcs))  # noqa: S301  # our own
    assert (again, type(again)) == (arcs, Arcs)
    for space in (vertices, (vertices, VertexSet(3)), arcs):
        assert Universe.over(space).space == space
    assert "not private in its vertex set" in Universe.over(arcs).public
    assert Universe(3, directed=True).public == "the vertex set"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n"),
        ("out.x", "% sym unweighted\n1 2\n"),
        ("x.net", "*Vertices 2\n*Arcs\n1 2\n*Edges\n1 2\n"),
        ("x.gml", "graph [ node [ id 1 ] node [ id 2 ] edge [ source 2 target 1 ] ]"),
        ("x.graphml", MIXED),
    ],
)
def test_an_undirected_edge_is_never_two_arcs(put, name, text):
    path = put(name, text)
    assert len(read_graph(path).rows) == 1
    with pytest.raises(FileFormatError, match=r"it is no DirectedGraph|undirected"):
        gc.DirectedGraph.read(path)


def test_formats_without_a_direction_are_read_as_arcs(put):
    path = put("x.edges", "b a\na b\nc b\nc c\nc b\n")
    assert gc.DirectedGraph.read(path) == DirectedGraph([0, 1, 2], [1, 0, 1], vertices="abc")
    path = put("x.csv", "target,source,weight\nx,y,3\nx,y,1\ny,x,2\n")
    for merge, weight in (("max", 3), ("min", 1), ("sum", 4)):
        expected = DirectedGraph([0, 1], [1, 0], [2, weight], vertices="xy")
        assert gc.DirectedGraph.read(path, merge=merge) == expected
    path = put("out.x", "% asym unweighted\n1 2\n3 2\n")
    graph = gc.DirectedGraph.read(path, columns=gc.Columns(one_based=True))
    assert graph.dense().tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    # Both arcs of each edge: a matrix that happens to be symmetric is no undirected graph.
    scipy.io.mmwrite(put("x.mtx", ""), sp.coo_array([[0, 1.0], [1, 0]]), symmetry="general")
    both = gc.DirectedGraph.read(path.parent / "x.mtx")
    assert both == DirectedGraph([0, 1], [1, 0], [1, 1], vertices=2)


# ------------------------------------------------------------------ dense rows, a few at a time

ENTRIES = random_graph((11, 11), density=0.4, largest=1.0).dense()


def blocks_of_rows(matrix: np.ndarray, height: int) -> Iterator[np.ndarray]:
    return (matrix[start : start + height] for start in range(0, len(matrix), height))


@pytest.mark.parametrize("height", [1, 3, 11])
@pytest.mark.parametrize("weighted", [True, False])
def test_blocks_of_rows_make_the_graph_of_the_whole_matrix(height, weighted):
    options = {"weighted": weighted, "max_weight": 1.0 if weighted else None}
    # Only what lies above the diagonal is read.
    found = graph_of_matrix_rows(
        Universe(11).space, blocks_of_rows(ENTRIES, height), note="x", **options
    )
    assert found == Graph.of(np.triu(ENTRIES, 1) + np.triu(ENTRIES, 1).T, **options)
    assert found.note == "x"
    assert not found.weights.flags.writeable
    assert (found.rows.dtype, found.weights.dtype) == (np.int32, np.float64)
    wide = ENTRIES[:, :7].astype(np.float32)
    both = graph_of_matrix_rows(Universe(11, 7).space, blocks_of_rows(wide, height), **options)
    assert both == BipartiteGraph.of(wide, **options)


def test_blocks_without_entries_make_a_graph_without_edges():
    empty = graph_of_matrix_rows(
        VertexSet(4), blocks_of_rows(np.zeros((4, 4), dtype=np.uint8), 3), weighted=False
    )
    assert empty == Graph([], [], vertices=4)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((3, 4)), "3 rows for a matrix of 4"),
        (np.zeros((5, 4)), "5 rows for a matrix of 4"),
        (np.zeros((4, 5)), "as long as"),
        (np.full((4, 4), np.nan), "finite"),
        (np.full((4, 4), -1.0), "negative"),
        (np.full((4, 4), 2.0), "max_weight"),
    ],
)
def test_blocks_of_another_shape_or_with_bad_weights_are_refused(matrix, message):
    with pytest.raises(GraphError, match=message):
        graph_of_matrix_rows(VertexSet(4), blocks_of_rows(matrix, 2), max_weight=1.0)
