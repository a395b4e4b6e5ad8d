import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import kind_of, make_flat

import graphcuts_dp as gc
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph, read_graph

GRAPHS = {
    "default": Graph([0, 1], [1, 2], vertices=5),
    "strings": Graph([0, 1], [1, 2], [0.5, 3], vertices=["a", "b", "c d"]),
    "integers": Graph([0, 1], [1, 2], vertices=[-2, 7, 2**70]),
    "mixed": Graph([0, 1], [1, 2], vertices=[3, "3", "a"]),
    "arcs": DirectedGraph([0, 1, 2], [1, 0, 1], [1, 2.5, 1], vertices=["a", "b", "x", "y"]),
    "arcs of integers": DirectedGraph([0, 2], [2, 0], vertices=4),
    "no edges": Graph([], [], vertices=["b", "c"]),
    "sides": BipartiteGraph([0, 1], [1, 2], [1, 2.5], left=["a", "b"], right=["x", "y", "z"]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_networkx_and_igraph_bring_every_graph_back(name):
    graph = GRAPHS[name]
    kind = kind_of(graph)
    assert make_flat(graph.to_networkx(), **kind) == graph
    assert make_flat(graph.to_igraph(), **kind) == graph


@pytest.mark.parametrize("name", ["default", "strings", "sides", "arcs", "arcs of integers"])
def test_scipy_and_pandas_bring_every_graph_back(name):
    graph = GRAPHS[name]
    kind, weighted = kind_of(graph), graph.weighted
    sets = (graph.left, graph.right) if kind["bipartite"] else graph.vertices
    assert make_flat(graph.to_scipy(), vertices=sets, weighted=weighted, **kind) == graph
    assert make_flat(graph.to_frame(), vertices=sets, **kind) == graph


def test_shared_labels_go_to_igraph_but_not_to_networkx():
    graph = BipartiteGraph([0], [1], left=2, right=3)
    assert gc.BipartiteGraph.of(graph.to_igraph()) == graph
    with pytest.raises(GraphError, match="both sides"):
        graph.to_networkx()


def test_to_scipy_is_a_copy():
    graph = Graph([0], [1], vertices=2)
    graph.to_scipy().data[:] = 7
    assert graph.adjacency.max() == 1


def test_from_edges():
    expected = Graph([0, 1], [1, 2], vertices=["a", "b", "c"])
    assert gc.Graph.of([("b", "a"), ("a", "b"), ["c", "b"], ("c", "c")]) == expected
    assert gc.Graph.of(iter([("a", "b"), ("b", "c")]), vertices=["a", "b", "c"]) == expected
    assert gc.Graph.of(np.array([["a", "b"], ["b", "c"]])) == expected
    weighted = Graph([0, 1], [1, 2], [0.5, 2], vertices=3)
    assert gc.Graph.of([(0, 1, 0.5), (2, 1, 2)]) == weighted
    assert gc.Graph.of([], vertices=3) == Graph([], [], vertices=3)
    assert gc.Graph.of([(2**80, 1)]).labels == (1, 2**80)
    assert gc.Graph.of([(1, "1")]).labels == (1, "1")
    assert gc.Graph.of([(1, 2)], vertices=["1", 1, 2]).rows.tolist() == [1]
    sides = BipartiteGraph([0, 1], [1, 0], left=[5, 6], right=["x", "y"])
    assert gc.BipartiteGraph.of([(5, "y"), (6, "x")]) == sides
    assert gc.BipartiteGraph.of([(5, "y"), (6, "x")], vertices=([5, 6], list("xy"))) == sides


def test_rules_of_merging():
    arcs = [("a", "b", 1.0), ("b", "a", 2.5)]
    assert gc.Graph.of(arcs).weights.tolist() == [2.5]
    assert gc.Graph.of(arcs, merge="sum").weights.tolist() == [3.5]
    assert gc.Graph.of(arcs, merge="min").weights.tolist() == [min(arc[2] for arc in arcs)]
    assert gc.Graph.of(arcs, merge="sum", weight_cap=3).weights.tolist() == [3]
    assert gc.Graph.of([("a", "b", 1e308), ("b", "a", 1e308)], merge="sum").weights[0] < np.inf
    assert gc.Graph.of(arcs, weighted=False) == Graph([0], [1], vertices=["a", "b"])
    both = [(0, 1, 1.0), (1, 0, 2.0)]
    assert len(gc.BipartiteGraph.of(both, merge="sum").rows) == 2
    multi = nx.MultiDiGraph()
    multi.add_weighted_edges_from(arcs)
    assert gc.Graph.of(multi, merge="sum").weights.tolist() == [3.5]


def test_order_in_the_source_is_forgotten():
    graph = nx.Graph([("z", "b"), ("b", "a")])
    assert gc.Graph.of(graph).labels == ("a", "b", "z")
    assert gc.Graph.of(graph, vertices=list(graph)).labels == ("z", "b", "a")
    assert gc.Graph.of(igraph.Graph.TupleList(graph.edges)).labels == ("a", "b", "z")


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([("a",)], "pairs"),
        ([("a", "b"), ("a", "b", 1)], "pairs"),
        (np.zeros((2, 4)), "not square"),
        (7, "a graph is made of pairs"),
        ([("a", 1.5)], "strings or integers"),
        ([("a", None)], "strings or integers"),
        ([("a", True)], "strings or integers"),
        ([("a", "b", "heavy")], "not a number"),
        ([("a", "b", 1), ("a", "c", -1)], "edge 1 .* negative"),
        ([("a", "b", np.inf)], "edge 0"),
        ([], "no edges and no vertices"),
    ],
)
def test_bad_edges(edges, words):
    with pytest.raises(GraphError, match=words):
        gc.Graph.of(edges)


def test_bad_options():
    edges = [("a", "XsecretX")]
    with pytest.raises(GraphError, match="edge 0") as caught:
        gc.Graph.of(edges, vertices=["a", "b"])
    assert "XsecretX" not in str(caught.value)
    with pytest.raises(GraphError, match="weighted=True"):
        gc.Graph.of(edges, weighted=True)
    with pytest.raises(GraphError, match="pair"):
        gc.BipartiteGraph.of(edges, vertices=["a"])
    with pytest.raises(ParameterError, match="merge"):
        gc.Graph.of(edges, merge="mean")


def test_bad_networkx_and_igraph():
    with pytest.raises(GraphError, match="relabel"):
        gc.Graph.of(nx.grid_graph([2, 2]))
    with pytest.raises(GraphError, match="side for every vertex"):
        gc.BipartiteGraph.of(nx.path_graph(3))
    odd = nx.path_graph(3)
    nx.set_node_attributes(odd, {0: 0, 1: 0, 2: 1}, "bipartite")
    with pytest.raises(GraphError, match="same side"):
        gc.BipartiteGraph.of(odd)
    half = nx.path_graph(3)
    half[0][1]["weight"] = 2
    with pytest.raises(GraphError, match="no weight"):
        gc.Graph.of(half)
    assert not gc.Graph.of(half, weighted=False).weighted
    half[1][2]["weight"] = "x"
    with pytest.raises(GraphError, match="not a number"):
        gc.Graph.of(half)
    twins = igraph.Graph(2)
    twins.vs["name"] = ["a", "a"]
    with pytest.raises(GraphError, match="twice"):
        gc.Graph.of(twins)


def test_entries_of_a_sparse_matrix_that_stand_twice_add_up_as_in_scipy():
    twice = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert (
        gc.Graph.of(twice)
        == gc.Graph.of(twice.tocsr())
        == Graph([0, 1], [1, 2], [3, 4], vertices=3)
    )
    assert len(twice.data) == 3  # it is not written to


def test_sums_of_a_matrix_are_refused_unless_each_edge_stands_there_once():
    symmetric = np.array([[0, 2.0], [2, 0]])
    with pytest.raises(GraphError, match=r"one edge or two arcs.*add it to its transpose"):
        gc.Graph.of(symmetric, merge="sum")
    assert gc.Graph.of(np.triu(symmetric) * 2).weights.tolist() == [4]
    assert gc.Graph.of(symmetric, merge="sum", weighted=False) == Graph([0], [1], vertices=2)
    assert gc.DirectedGraph.of(symmetric, merge="sum").weights.tolist() == [2, 2]


def test_whether_there_are_weights_is_not_for_the_only_edge_to_tell():
    for edges in ([], [("a", "b", 2.0)]):
        assert gc.Graph.of(edges, vertices=["a", "b"], weight_cap=3).weighted
        graph = nx.Graph()
        graph.add_nodes_from("ab")
        graph.add_weighted_edges_from(edges)
        assert gc.Graph.of(graph, weight_cap=3).weighted
        with_attribute = igraph.Graph(2, [edge[:0] or (0, 1) for edge in edges])
        with_attribute.es["weight"] = [edge[2] for edge in edges]
        assert gc.Graph.of(with_attribute).weighted
    for options in ({"hide_change": 1}, {"weight_cap": 1.0}):
        with pytest.raises(GraphError, match="pass weighted=True or False"):
            make_flat([], vertices=2, **options)
        assert not make_flat([], vertices=2, weighted=False, **options).weighted


def test_bad_matrices_and_tables():
    for matrix in (np.ones((2, 3)), np.ones(3), np.ones((2, 2)) * 1j, np.zeros((0, 0))):
        with pytest.raises(GraphError):
            gc.Graph.of(matrix)
    with pytest.raises(GraphError, match="not finite"):
        gc.Graph.of(sp.coo_array(np.array([[0, np.nan], [0, 0]])))
    assert gc.Graph.of(np.array([[0, True], [False, 0]], dtype=bool)) == Graph([0], [1], vertices=2)
    frame = pd.DataFrame({"source": ["a", None], "target": ["b", "c"]})
    with pytest.raises(GraphError, match="strings or integers"):
        gc.Graph.of(frame)
    with pytest.raises(GraphError, match="together"):
        gc.Graph.of(frame, columns=gc.Columns(source="from"))
    with pytest.raises(GraphError, match="exactly one column 'from'"):
        gc.Graph.of(frame, columns=gc.Columns(source="from", target="to"))
    with pytest.raises(GraphError, match="column 3 is a weight; pass weight="):
        gc.Graph.of(frame.assign(other=1))
    for ends in ({"source": [0.5]}, {"source": [np.nan]}, {"source": [2.0**60]}):
        with pytest.raises(GraphError, match=r"row 0 .*strings or integers"):
            gc.Graph.of(pd.DataFrame(ends | {"target": [1]}))
    numbers = pd.DataFrame({"source": [0, 1], "target": [1, 2], "flights": [3, 4]})
    assert gc.Graph.of(numbers, columns=gc.Columns(weight="flights")).weights.tolist() == [3, 4]
    assert not gc.Graph.of(numbers, weighted=False).weighted
    columns = gc.Columns(weight="x", source="a")
    for other in (nx.path_graph(2), igraph.Graph(2), np.ones((2, 2)), [(1, 2)]):
        with pytest.raises(GraphError, match=r"columns=|only the weight"):
            gc.Graph.of(other, columns=columns)


def test_conversion_and_files_agree(tmp_path):
    graph = gc.Graph.of(nx.les_miserables_graph())
    graph.write(tmp_path / "x.gml")
    nx.write_gml(nx.les_miserables_graph(), tmp_path / "y.gml")
    assert read_graph(tmp_path / "x.gml") == read_graph(tmp_path / "y.gml") == graph
