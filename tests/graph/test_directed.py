"""Directed graphs: arcs as they are kept, asked for, read and written; against brute force."""

import pickle

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import graphcuts_dp as gc
from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError
from graphcuts_dp.graph.adjacency import (
    BipartiteGraph,
    DirectedGraph,
    Graph,
    from_rows_on,
    kind_of_graph,
    read_graph,
)
from graphcuts_dp.graph.files import describe_reading
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import Arcs, VertexSet

MIXED = """<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>
<edge source="a" target="b" directed="false"/></graph></graphml>"""
TRIANGLE = DirectedGraph([0, 1, 2, 1], [1, 2, 0, 0], vertices=["a", "b", "c", "d"])


def arcs_of(graph):
    return set(zip(graph.rows.tolist(), graph.columns.tolist(), strict=True))


def test_what_is_kept_of_arcs():
    graph = DirectedGraph([0, 1, 1, 0, 2, 1], [1, 0, 0, 1, 2, 2], [1, 2, 3, 4, 5, 0], vertices=3)
    assert arcs_of(graph) == {(0, 1), (1, 0)}
    assert graph.dense().tolist() == [[0, 4, 0], [3, 0, 0], [0, 0, 0]]
    assert (graph.adjacency.toarray() == graph.dense()).all()
    assert (graph.n, graph.shape, graph.labels) == (3, (3, 3), (0, 1, 2))
    grid = Grid.of(
        DirectedGraph(graph.rows, graph.columns, graph.weights, vertices=3, weight_cap=4)
    )
    assert grid.total(graph) == grid.steps(graph.weights).sum() > 0
    assert graph == DirectedGraph.of(np.array([[9, 4, 0], [3, 0, 0], [0, 0, 1]]))
    assert graph == from_rows_on(graph.space, [graph.dense()[:1], graph.dense()[1:]])
    assert from_rows_on(graph.space, [np.eye(3)]) == DirectedGraph([], [], [], vertices=3)
    assert graph != Graph([0], [1], [4], vertices=3)
    assert graph != BipartiteGraph([0, 1], [1, 0], [4, 3], left=3, right=3)
    assert BipartiteGraph([0, 1], [1, 0], [4, 3], left=3, right=3) != graph
    assert graph != DirectedGraph([0, 1], [1, 0], [4, 3], vertices="abc")
    assert repr(TRIANGLE) == "DirectedGraph(n=4)"
    assert repr(DirectedGraph([0], [1], [2.0], vertices=2, weight_cap=3, note="made")) == (
        "DirectedGraph(n=2, weighted, cap=3, made)"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DirectedGraph([0], [3], vertices=3), "outside the public vertex set"),
        (lambda: DirectedGraph([0], [1], [2.0], vertices=3, weight_cap=1), "more than weight_cap"),
        (lambda: DirectedGraph([0], [1], [-1.0], vertices=3), "negative"),
        (lambda: DirectedGraph([0], [1], vertices=3, hide_change=2), "hide_change"),
        (lambda: DirectedGraph.of(np.ones((2, 3))), "square"),
        (lambda: Universe(3, 4, directed=True), "one vertex set"),
    ],
)
def test_bad_arcs_are_refused(make, message):
    with pytest.raises(GraphError, match=message):
        make()


def test_the_pairs_of_a_space():
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
    assert again == arcs
    assert isinstance(again, Arcs)
    for space in (vertices, (vertices, VertexSet(3)), arcs):
        assert Universe.over(space).space == space
    assert "not private in its vertex set" in Universe.over(arcs).public
    assert Universe(3, directed=True).public == "the vertex set"
    assert Universe(3, directed=True) != Universe(3, 3)
    assert Universe(3, directed=True) != Universe(3)


NX_WRITERS = {".graphml": nx.write_graphml_xml, ".gml": nx.write_gml, ".net": nx.write_pajek}


@pytest.mark.parametrize("ending", NX_WRITERS)
def test_what_networkx_and_igraph_write(tmp_path, ending):
    arcs = [("a", "b", 2.0), ("b", "a", 1.0), ("b", "c", 1.0)]
    network, path = nx.DiGraph(), tmp_path / f"x{ending}"
    network.add_nodes_from("abcd")
    network.add_weighted_edges_from(arcs)
    NX_WRITERS[ending](network, path)
    expected = gc.DirectedGraph.of(arcs, vertices=list("abcd"))
    assert arcs_of(expected) == {(0, 1), (1, 0), (1, 2)}
    assert gc.DirectedGraph.read(path) == expected
    assert read_graph(path, weighted=False) == Graph([0, 1], [1, 2], vertices=list("abcd"))
    NX_WRITERS[ending](nx.path_graph(list("abc")), path)
    with pytest.raises(FileFormatError, match="undirected edges; it is no DirectedGraph"):
        gc.DirectedGraph.read(path)
    made = igraph.Graph(n=4, edges=[(0, 1), (1, 0), (1, 2)], directed=True)
    made.vs["name"] = made.vs["id"] = list("abcd")
    made.write(str(path), format=ending[1:].replace("net", "pajek"))
    assert gc.DirectedGraph.read(path) == DirectedGraph(
        expected.rows, expected.columns, vertices=list("abcd")
    )


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
def test_an_undirected_edge_is_never_two_arcs(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert len(read_graph(tmp_path / name).rows) == 1
    with pytest.raises(FileFormatError, match=r"it is no DirectedGraph|undirected"):
        gc.DirectedGraph.read(tmp_path / name)


def test_formats_that_say_nothing_are_taken_at_the_word(tmp_path):
    (tmp_path / "x.edges").write_text("b a\na b\nc b\nc c\nc b\n")
    found = gc.DirectedGraph.read(tmp_path / "x.edges")
    assert found == DirectedGraph([0, 1, 2], [1, 0, 1], vertices="abc")
    assert gc.DirectedGraph.read(tmp_path / "x.edges", vertices=list("abcd")) == DirectedGraph(
        [0, 1, 2], [1, 0, 1], vertices=list("abcd")
    )
    (tmp_path / "x.csv").write_text("target,source,weight\nx,y,3\nx,y,1\ny,x,2\n")
    for merge, weight in (("max", 3), ("min", 1), ("sum", 4)):
        assert gc.DirectedGraph.read(tmp_path / "x.csv", merge=merge) == DirectedGraph(
            [0, 1], [1, 0], [2, weight], vertices="xy"
        )
    (tmp_path / "out.x").write_text("% asym unweighted\n1 2\n3 2\n")
    found = gc.DirectedGraph.read(tmp_path / "out.x", columns=gc.Columns(one_based=True))
    assert found.dense().tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_matrices(tmp_path):
    matrix = np.array([[5.0, 1, 0], [1, 0, 0], [2, 0, 0]])
    expected = DirectedGraph([0, 1, 2], [1, 0, 0], [1, 1, 2], vertices=3)
    assert gc.DirectedGraph.of(matrix) == expected
    assert gc.DirectedGraph.of(sp.csr_array(matrix)) == expected
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(matrix))
    scipy.io.mmwrite(tmp_path / "x.mtx", sp.coo_array(matrix), symmetry="general")
    for name in ("x.npz", "x.mtx"):
        assert gc.DirectedGraph.read(tmp_path / name) == expected
    # Both arcs of each edge: a matrix that happens to be symmetric is no undirected graph.
    both = np.array([[0, 1.0], [1, 0]])
    assert gc.DirectedGraph.of(both) == DirectedGraph([0, 1], [1, 0], [1, 1], vertices=2)
    with pytest.raises(GraphError, match="not square"):
        gc.DirectedGraph.of(np.ones((2, 3)))


def test_libraries_tell_whether_edges_have_a_direction():
    for graph in (nx.path_graph(3), igraph.Graph(edges=[(0, 1)])):
        with pytest.raises(GraphError, match="undirected"):
            gc.DirectedGraph.of(graph)
    assert arcs_of(gc.DirectedGraph.of(nx.MultiDiGraph([(0, 1), (0, 1), (1, 0)]))) == {
        (0, 1),
        (1, 0),
    }
    assert len(gc.Graph.of(nx.DiGraph([(0, 1), (1, 0)])).rows) == 1


def test_what_reading_says_of_arcs():
    with pytest.raises(ParameterError, match="not both"):
        kind_of_graph(bipartite=True, directed=True)
    told = " ".join(describe_reading(vertices_given=True, weighted=True, directed=True))
    assert "Duplicate arcs are merged; the largest weight is kept." in told
    assert "reciprocal" not in told
