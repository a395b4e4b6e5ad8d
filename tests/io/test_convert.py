import csv
import io
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import make_flat

import graphcuts_dp as gc
from graphcuts_dp import BipartiteGraph, Graph, GraphError, ParameterError, VertexSet


def test_from_edges():
    expected = Graph([0, 1], [1, 2], vertices=["a", "b", "c"])
    assert gc.Graph.of([("b", "a"), ("a", "b"), ["c", "b"], ("c", "c")]) == expected
    assert gc.Graph.of(iter([("a", "b"), ("b", "c")]), vertices=["a", "b", "c"]) == expected
    assert gc.Graph.of(np.array([["a", "b"], ["b", "c"]])) == expected
    weighted = Graph([0, 1], [1, 2], [0.5, 2], vertices=3)
    assert gc.Graph.of([(0, 1, 0.5), (2, 1, 2)]) == weighted
    assert gc.Graph.of([], vertices=3) == Graph([], [], vertices=3)
    assert gc.Graph.of([(2**80, 1)]).labels == (1, 2**80)
    assert gc.Graph.of([(1, "a"), ("007", 7)]).labels == (1, 7, "007", "a")
    for given in ([1, 2], ["1", "2"], VertexSet(3)):  # by text, and as they are given
        for pair in ((1, 2), ("1", "2"), (np.int64(1), np.str_("2"))):
            graph = gc.Graph.of([pair], vertices=given)
            assert graph.labels == tuple(VertexSet(given).labels)
            assert len(graph.rows) == 1
    sides = BipartiteGraph([0, 1], [1, 0], left=[5, 6], right=["x", "y"])
    assert gc.BipartiteGraph.of([(5, "y"), (6, "x")]) == sides
    assert gc.BipartiteGraph.of([(5, "y"), (6, "x")], vertices=([5, 6], list("xy"))) == sides


@pytest.mark.filterwarnings("ignore:A multigraph may join:graphcuts_dp.errors.ConversionWarning")
def test_rules_of_merging():
    arcs = [("a", "b", 1.0), ("b", "a", 2.5)]
    assert gc.Graph.of(arcs).weights.tolist() == [3.5]
    assert gc.Graph.of(arcs, merge="max").weights.tolist() == [2.5]
    assert gc.Graph.of(arcs, merge="min").weights.tolist() == [min(arc[2] for arc in arcs)]
    assert gc.Graph.of(arcs, merge="sum", max_weight=3).weights.tolist() == [3]
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


def path_of_three(sides=None, weights=()):
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, dict(enumerate(sides or ())), "bipartite")
    nx.set_edge_attributes(graph, dict(zip(graph.edges, weights, strict=False)), "weight")
    return graph


def named_igraph(*names):
    graph = igraph.Graph(2)
    graph.vs["name"] = names
    return graph


COUNT = {"weight": "count"}
PAIR = [("a", "XsecretX")]
FRAME = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
ONE_COLUMN = gc.Columns(weight="x", source="a")
# What it is, options, and words of the error.
REFUSED = {
    "one end": ([("a",)], {}, "pairs"),
    "pairs and triples": ([("a", "b"), ("a", "b", 1)], {}, "pairs"),
    "an array that is no matrix": (np.zeros((2, 4)), {}, "not square"),
    "a number": (7, {}, "a graph is made of pairs"),
    **{
        f"the end {x}": ([("a", x)], {}, "edge 0 .*strings or integers")
        for x in (1.5, 7.0, None, True)
    },
    "bytes as an end": ([("a", b"x")], {}, "edge 0 .*strings or integers"),
    "two faults": (
        [(1.5, 2, 1), (1, 2, True)],
        {},
        r"edge 0 .*strings or integers.*; edge 1 .*weight",
    ),
    "records": ([{"source": "XsecretX", "target": "b"}], {}, "is a dict.*pandas"),
    "sets": ([{"a", "XsecretX"}], {}, "is a set.*tuple"),
    "strings": (["ab"], {}, "is a string.*tuple"),
    "a dict": ({("a", "XsecretX"): 1}, {}, "no list of edges"),
    **{
        f"1 and its text in {type(x).__name__}": (x, {}, r'one text, such as 1 and "1"; rename')
        for x in ([(1, "1")], nx.Graph([(1, "1")]), named_igraph(1, "1"))
    },
    "a weight in words": ([("a", "b", "heavy")], {}, "not a number"),
    **{f"the weight {x}": ([(1, 2, x)], {}, "not a number") for x in (True, None, "1_0", b"1")},
    "a named weight that no edge has": (path_of_three(), COUNT, "edge 0 .*no weight"),
    "a named weight that is not declared": (igraph.Graph(2), COUNT, "no edge attribute 'count'"),
    "a weight named and not read": (path_of_three(), COUNT | {"weighted": False}, "not both"),
    "a negative weight": ([("a", "b", 1), ("a", "c", -1)], {}, "edge 1 .* negative"),
    "an endless weight": ([("a", "b", np.inf)], {}, "edge 0"),
    "nothing": ([], {}, "no edges and no vertices"),
    "an end outside": (PAIR, {"vertices": ["a", "b"]}, "edge 0"),
    "no weights": (PAIR, {"weighted": True}, "weighted=True"),
    "one set for two sides": (PAIR, {"bipartite": True, "vertices": ["a"]}, "pair"),
    "an unknown merge": (PAIR, {"merge": "mean"}, "merge"),
    "nodes that are pairs": (nx.grid_graph([2, 2]), {}, "relabel"),
    "no sides": (path_of_three(), {"bipartite": True}, "side for every vertex"),
    "an edge within a side": (path_of_three([0, 0, 1]), {"bipartite": True}, "same side"),
    "an edge without a weight": (path_of_three(weights=[2]), {}, "no weight"),
    "a weight in words among others": (path_of_three(weights=[2, "x"]), {}, "not a number"),
    "a name twice": (named_igraph("a", "a"), {}, "twice"),
    **{
        f"a matrix of shape {x.shape}": (x, {}, "matrix")
        for x in (np.ones((2, 3)), np.ones(3), np.ones((2, 2)) * 1j, np.zeros((0, 0)))
    },
    "NaN in a matrix": (sp.coo_array(np.array([[0, np.nan], [0, 0]])), {}, "not finite"),
    **{
        f"{x} as an end": (FRAME.assign(target=["XsecretX", x]), {}, r"row 1 \(counted.*missing")
        for x in (None, float("nan"), pd.NA, pd.NaT)
    },
    "a gap among numbers": (FRAME.assign(target=[2.0, np.nan]), {}, "floating-point numbers"),
    "a word among weights": (FRAME.assign(weight=[1, "XsecretX"]), {}, "row 1 .*not a number"),
    **{
        f"a change of {x}": (
            [("a", "b", 7.0)],
            {"max_weight_change": x},
            "max_weight_change can only be 1",
        )
        for x in (0, 2, 0.5, -1, float("nan"))
    },
    "half of the columns": (FRAME, {"source": "from"}, "together"),
    "no such column": (FRAME, {"source": "from", "target": "to"}, "exactly one column 'from'"),
    "a column more": (FRAME.assign(other=1), {}, "column 3 is a weight; pass weight="),
    "one column": (FRAME[["source"]], {}, "fewer than two columns"),
    "lines that have a header": (FRAME, {"header": True}, "leave out header="),
    **{
        f"the end {x} of a table": (FRAME.assign(source=x), {}, r'astype\("Int64"\).*dtype=str')
        for x in (0.5, np.nan, 2.0**60)
    },
    **{
        f"columns of {type(x).__name__}": (x, {"columns": ONE_COLUMN}, r"columns=|only the weight")
        for x in (nx.path_graph(2), igraph.Graph(2), np.ones((2, 2)), [(1, 2)])
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_graph_is_refused_in_one_line(case):
    source, options, message = REFUSED[case]
    with pytest.raises((GraphError, ParameterError), match=message) as error:
        make_flat(source, **options)
    assert "XsecretX" not in str(error.value)
    assert "\n" not in str(error.value)


def test_records_are_read_as_the_message_advises():
    text = "sender,receiver\nann,bob\nbob,kim\n"
    for records in (csv.DictReader(io.StringIO(text)), list(csv.DictReader(io.StringIO(text)))):
        graph = gc.Graph.of(pd.DataFrame(records))
        assert graph == Graph([0, 1], [1, 2], vertices=["ann", "bob", "kim"])


def test_weights_of_any_number_are_read():
    weights = [1, 2.5, np.float32(0.5), np.int8(3), Decimal("0.25"), Fraction(1, 2), "1e2"]
    graph = gc.Graph.of([(0, i + 1, weight) for i, weight in enumerate(weights)])
    assert graph.weights.tolist() == [1, 2.5, 0.5, 3, 0.25, 0.5, 100]


@pytest.mark.parametrize("convert", [lambda graph: graph, igraph.Graph.from_networkx])
def test_the_weight_of_a_graph_of_a_library_can_be_named_and_the_rest_is_reported(convert):
    source, reports = nx.path_graph(3), []
    nx.set_edge_attributes(source, {(0, 1): 2, (1, 2): 5}, "count")
    plain = gc.Graph.of(convert(source), tell=reports.append)
    assert not plain.weighted
    named = gc.Graph.of(convert(source), columns=gc.Columns(**COUNT), tell=reports.append)
    assert named.weights.tolist() == [2, 5]
    assert "gnored" in reports[0]
    assert "'count'" in reports[1]


@pytest.mark.thorough
def test_lists_and_networkx_are_read_without_arrow():
    code = (
        "import sys, networkx as nx, graphcuts_dp as gc\n"
        "gc.Graph.of([('a', 'b', 2)]), gc.Graph.of(iter([(1, 2)])), gc.Graph.of(nx.path_graph(3))\n"
        "sys.exit('pyarrow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.filterwarnings("ignore:Read as the endpoints:graphcuts_dp.errors.ConversionWarning")
def test_columns_and_weights_that_are_chosen_or_left_out():
    numbers = pd.DataFrame({"source": [0, 1], "target": [1, 2], "flights": [3, 4]})
    assert gc.Graph.of(numbers, columns=gc.Columns(weight="flights")).weights.tolist() == [3, 4]
    for source in (numbers, path_of_three(weights=[2])):
        assert gc.Graph.of(source, weighted=False) == Graph([0, 1], [1, 2], vertices=3)
    assert gc.Graph.of(np.array([[0, True], [False, 0]], dtype=bool)) == Graph([0], [1], vertices=2)


def test_entries_of_a_sparse_matrix_that_stand_twice_add_up_as_in_scipy():
    twice = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert (
        gc.Graph.of(twice)
        == gc.Graph.of(twice.tocsr())
        == Graph([0, 1], [1, 2], [3, 4], vertices=3)
    )
    assert len(twice.data) == 3  # it is not written to
    graph = gc.Graph.of(twice)
    graph.to_scipy().data[:] = 9  # a copy
    assert graph.adjacency.max() == 4


def test_sums_of_a_matrix_are_refused_unless_each_edge_stands_there_once():
    symmetric = np.array([[0, 2.0], [2, 0]])
    with pytest.raises(GraphError, match=r"one edge or two arcs.*add it to its transpose"):
        gc.Graph.of(symmetric, merge="sum")
    assert gc.Graph.of(np.triu(symmetric) * 2).weights.tolist() == [4]
    assert gc.Graph.of(symmetric, merge="sum", weighted=False) == Graph([0], [1], vertices=2)
    assert gc.DirectedGraph.of(symmetric, merge="sum").weights.tolist() == [2, 2]


def test_whether_there_are_weights_is_not_for_the_only_edge_to_tell():
    for edges in ([], [("a", "b", 2.0)]):
        assert gc.Graph.of(edges, vertices=["a", "b"], max_weight=3).weighted
        graph = nx.Graph()
        graph.add_nodes_from("ab")
        graph.add_weighted_edges_from(edges)
        assert gc.Graph.of(graph, max_weight=3).weighted
        with_attribute = igraph.Graph(2, [edge[:0] or (0, 1) for edge in edges])
        with_attribute.es["weight"] = [edge[2] for edge in edges]
        assert gc.Graph.of(with_attribute).weighted
    for options in ({"max_weight_change": 1}, {"max_weight": 1.0}):
        with pytest.raises(GraphError, match="pass weighted=True or False"):
            make_flat([], vertices=2, **options)
        assert not make_flat([], vertices=2, weighted=False, **options).weighted
