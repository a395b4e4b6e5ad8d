import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import kind_of

from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.graph.convert import (
    from_edges,
    from_igraph,
    from_networkx,
    from_pandas,
    from_scipy,
    to_igraph,
    to_networkx,
    to_pandas,
    to_scipy,
)
from graphcuts_dp.graph.files import read_graph, write_graph

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
    assert from_networkx(to_networkx(graph), **kind) == graph
    assert from_igraph(to_igraph(graph), **kind) == graph


@pytest.mark.parametrize("name", ["default", "strings", "sides", "arcs", "arcs of integers"])
def test_scipy_and_pandas_bring_every_graph_back(name):
    graph = GRAPHS[name]
    kind, weighted = kind_of(graph), graph.weighted
    sets = (graph.left, graph.right) if kind["bipartite"] else graph.vertices
    assert from_scipy(to_scipy(graph), vertices=sets, weighted=weighted, **kind) == graph
    assert from_pandas(to_pandas(graph), vertices=sets, **kind) == graph


def test_shared_labels_go_to_igraph_but_not_to_networkx():
    graph = BipartiteGraph([0], [1], left=2, right=3)
    assert from_igraph(to_igraph(graph), bipartite=True) == graph
    with pytest.raises(GraphError, match="both sides"):
        to_networkx(graph)


def test_to_scipy_is_a_copy():
    graph = Graph([0], [1], vertices=2)
    to_scipy(graph).data[:] = 7
    assert graph.adjacency.max() == 1


def test_from_edges():
    expected = Graph([0, 1], [1, 2], vertices=["a", "b", "c"])
    assert from_edges([("b", "a"), ("a", "b"), ["c", "b"], ("c", "c")]) == expected
    assert from_edges(iter([("a", "b"), ("b", "c")]), vertices=["a", "b", "c"]) == expected
    assert from_edges(np.array([["a", "b"], ["b", "c"]])) == expected
    assert from_edges(np.array([[0, 1], [1, 2]]), vertices=4) == Graph([0, 1], [1, 2], vertices=4)
    weighted = Graph([0, 1], [1, 2], [0.5, 2], vertices=3)
    assert from_edges(np.array([[0, 1, 0.5], [1, 2, 2]])) == weighted
    assert from_edges([(0, 1, 0.5), (2, 1, 2)]) == weighted
    assert from_edges([], vertices=3) == Graph([], [], vertices=3)
    assert from_edges([(2**80, 1)]).labels == (1, 2**80)
    assert from_edges([(1, "1")]).labels == (1, "1")
    assert from_edges([(1, 2)], vertices=["1", 1, 2]).rows.tolist() == [1]
    sides = BipartiteGraph([0, 1], [1, 0], left=[5, 6], right=["x", "y"])
    assert from_edges([(5, "y"), (6, "x")], bipartite=True) == sides
    assert from_edges([(5, "y"), (6, "x")], bipartite=True, vertices=([5, 6], "xy")) == sides


def test_rules_of_merging():
    arcs = [("a", "b", 1.0), ("b", "a", 2.5)]
    assert from_edges(arcs).weights.tolist() == [2.5]
    assert from_edges(arcs, merge="sum").weights.tolist() == [3.5]
    assert from_edges(arcs, merge="min").weights.tolist() == [min(arc[2] for arc in arcs)]
    assert from_edges(arcs, merge="sum", weight_cap=3).weights.tolist() == [3]
    assert from_edges([("a", "b", 1e308), ("b", "a", 1e308)], merge="sum").weights[0] < np.inf
    assert from_edges(arcs, weighted=False) == Graph([0], [1], vertices=["a", "b"])
    both = [(0, 1, 1.0), (1, 0, 2.0)]
    assert len(from_edges(both, merge="sum", bipartite=True).rows) == 2
    multi = nx.MultiDiGraph()
    multi.add_weighted_edges_from(arcs)
    assert from_networkx(multi, merge="sum").weights.tolist() == [3.5]


def test_order_in_the_source_is_forgotten():
    graph = nx.Graph([("z", "b"), ("b", "a")])
    assert from_networkx(graph).labels == ("a", "b", "z")
    assert from_networkx(graph, vertices=list(graph)).labels == ("z", "b", "a")
    assert from_igraph(igraph.Graph.TupleList(graph.edges)).labels == ("a", "b", "z")


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([("a",)], "pairs"),
        ([("a", "b"), ("a", "b", 1)], "pairs"),
        (np.zeros((2, 4)), "two columns"),
        ([("a", 1.5)], "strings or integers"),
        ([("a", None)], "strings or integers"),
        ([("a", True)], "strings or integers"),
        (np.array([[0.5, 1.0]]), "strings or integers"),
        (np.array([[np.nan, 1.0]]), "strings or integers"),
        ([("a", "b", "heavy")], "not a number"),
        ([("a", "b", 1), ("a", "c", -1)], "edge 1 .* negative"),
        ([("a", "b", np.inf)], "edge 0"),
        ([], "no edges and no vertices"),
    ],
)
def test_bad_edges(edges, words):
    with pytest.raises(GraphError, match=words):
        from_edges(edges)


def test_bad_options():
    edges = [("a", "XsecretX")]
    with pytest.raises(GraphError, match="edge 0") as caught:
        from_edges(edges, vertices=["a", "b"])
    assert "XsecretX" not in str(caught.value)
    with pytest.raises(GraphError, match="weighted=True"):
        from_edges(edges, weighted=True)
    with pytest.raises(GraphError, match="pair"):
        from_edges(edges, bipartite=True, vertices=["a"])
    with pytest.raises(ParameterError, match="merge"):
        from_edges(edges, merge="mean")


def test_bad_networkx_and_igraph():
    with pytest.raises(GraphError, match="relabel"):
        from_networkx(nx.grid_graph([2, 2]))
    with pytest.raises(GraphError, match="side for every vertex"):
        from_networkx(nx.path_graph(3), bipartite=True)
    odd = nx.path_graph(3)
    nx.set_node_attributes(odd, {0: 0, 1: 0, 2: 1}, "bipartite")
    with pytest.raises(GraphError, match="same side"):
        from_networkx(odd, bipartite=True)
    half = nx.path_graph(3)
    half[0][1]["weight"] = 2
    with pytest.raises(GraphError, match="no weight"):
        from_networkx(half)
    assert not from_networkx(half, weighted=False).weighted
    half[1][2]["weight"] = "x"
    with pytest.raises(GraphError, match="not a number"):
        from_networkx(half)
    twins = igraph.Graph(2)
    twins.vs["name"] = ["a", "a"]
    with pytest.raises(GraphError, match="twice"):
        from_igraph(twins)


def test_entries_of_a_sparse_matrix_that_stand_twice_add_up_as_in_scipy():
    twice = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert (
        from_scipy(twice) == from_scipy(twice.tocsr()) == Graph([0, 1], [1, 2], [3, 4], vertices=3)
    )
    assert len(twice.data) == 3  # it is not written to


def test_sums_of_a_matrix_are_refused_unless_each_edge_stands_there_once():
    symmetric = np.array([[0, 2.0], [2, 0]])
    with pytest.raises(GraphError, match=r"one edge or two arcs.*add it to its transpose"):
        from_scipy(symmetric, merge="sum")
    assert from_scipy(np.triu(symmetric) * 2).weights.tolist() == [4]
    assert from_scipy(symmetric, merge="sum", weighted=False) == Graph([0], [1], vertices=2)
    assert from_scipy(symmetric, merge="sum", directed=True).weights.tolist() == [2, 2]


def test_whether_there_are_weights_is_not_for_the_only_edge_to_tell():
    for edges in ([], [("a", "b", 2.0)]):
        assert from_edges(edges, vertices=["a", "b"], weight_cap=3).weighted
        graph = nx.Graph()
        graph.add_nodes_from("ab")
        graph.add_weighted_edges_from(edges)
        assert from_networkx(graph, weight_cap=3).weighted
        with_attribute = igraph.Graph(2, [edge[:0] or (0, 1) for edge in edges])
        with_attribute.es["weight"] = [edge[2] for edge in edges]
        assert from_igraph(with_attribute).weighted
    for options in ({"hide_change": 1}, {"weight_cap": 1.0}):
        with pytest.raises(GraphError, match="pass weighted=True or False"):
            from_edges([], vertices=2, **options)
        assert not from_edges([], vertices=2, weighted=False, **options).weighted


def test_bad_matrices_and_tables():
    for matrix in (np.ones((2, 3)), np.ones(3), np.ones((2, 2)) * 1j, np.zeros((0, 0))):
        with pytest.raises(GraphError):
            from_scipy(matrix)
    with pytest.raises(GraphError, match="not finite"):
        from_scipy(sp.coo_array(np.array([[0, np.nan], [0, 0]])))
    assert from_scipy(np.array([[0, True], [False, 0]], dtype=bool)) == Graph([0], [1], vertices=2)
    frame = pd.DataFrame({"source": ["a", None], "target": ["b", "c"]})
    with pytest.raises(GraphError, match="strings or integers"):
        from_pandas(frame)
    with pytest.raises(GraphError, match="lacks"):
        from_pandas(frame, source="from")
    numbers = pd.DataFrame({"source": [0, 1], "target": [1, 2], "flights": [3, 4]})
    assert from_pandas(numbers, weight="flights").weights.tolist() == [3, 4]
    assert not from_pandas(numbers).weighted


def test_conversion_and_files_agree(tmp_path):
    graph = from_networkx(nx.les_miserables_graph())
    write_graph(graph, tmp_path / "x.gml")
    nx.write_gml(nx.les_miserables_graph(), tmp_path / "y.gml")
    assert read_graph(tmp_path / "x.gml") == read_graph(tmp_path / "y.gml") == graph
