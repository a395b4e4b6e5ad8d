"""Private data of public functions: which sources they take, and warnings of the conversion."""

import copy
import gc as garbage
import inspect
import warnings
import weakref
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import private_functions as functions
import pyarrow as pa
import pytest
import scipy.sparse as sp

import graphcuts_dp as gc
from graphcuts_dp import ConversionWarning, GraphError, KindError, ParameterError, PrivacyWarning
from graphcuts_dp.graph import private_data as conversion
from graphcuts_dp.graph.private_data import private_data
from graphcuts_dp.io import libraries
from graphcuts_dp.ledger import charges
from tests.audits.public_names import public_names

# Every graph of networkx is converted with this warning; tests of it use pytest.warns.
pytestmark = pytest.mark.filterwarnings("ignore:Weights of a networkx graph are not read")

N, EDGES = functions.N, functions.EDGES
FRAME = pd.DataFrame(EDGES, columns=["source", "target"])


def of_networkx():
    graph = nx.Graph()
    graph.add_nodes_from(reversed(range(N)))  # their order must not matter
    graph.add_edges_from(EDGES)
    return graph


SOURCES = {
    "graph": functions.graph,
    "networkx": of_networkx,
    "multigraph": lambda: nx.MultiGraph([*EDGES, *EDGES]),
    "igraph": lambda: igraph.Graph(n=N, edges=EDGES),
    "sparse array": lambda: sp.csr_array(functions.adjacency()),
    "sparse matrix": lambda: sp.lil_matrix(functions.adjacency()),
    "numpy": functions.adjacency,
    "pandas": FRAME.copy,
    "polars": lambda: pl.from_pandas(FRAME),
    "lazy polars": lambda: pl.from_pandas(FRAME).lazy(),
    "pyarrow": lambda: pa.Table.from_pandas(FRAME),
}
TABLES = {"pandas", "polars", "lazy polars", "pyarrow"}
READING_WEIGHTS = {
    "cut_errors",
    "evaluation.graph_cut_errors",
}  # of networkx, since they show true answers


def test_every_public_function_is_listed_by_what_it_reads():
    public_functions = {
        name
        for name, value in public_names().items()
        if inspect.isfunction(value) and name not in ("read_graph",)
    }
    assert public_functions == functions.LISTED - {"evaluation.graph_cut_errors"}


@pytest.mark.parametrize("name", functions.CONVERTING)
def test_functions_that_convert_graphs_say_so_in_their_annotation(name):
    home = public_names() | {"evaluation.graph_cut_errors": functions.graph_cut_errors}
    first = next(iter(inspect.signature(home[name]).parameters.values()))
    assert conversion.LibraryGraph in first.annotation.__args__


@pytest.fixture(scope="module")
def expected():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: call(functions.graph()) for name, call in functions.CONVERTING.items()}


@pytest.mark.thorough(cases=9)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", functions.CONVERTING)
def test_every_function_takes_every_source(name, source, expected):
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        assert functions.CONVERTING[name](SOURCES[source]()) == expected[name]
    kinds = {warning.category for warning in recorded}
    assert (PrivacyWarning in kinds) is (source in TABLES)
    ignores_weights = source == "networkx" and name not in READING_WEIGHTS
    assert (ConversionWarning in kinds) is (ignores_weights or source == "multigraph")
    for warning in recorded:
        if warning.category in (PrivacyWarning, ConversionWarning):
            assert warning.filename == functions.__file__  # the caller's line


@pytest.mark.parametrize("name", functions.CONVERTING)
@pytest.mark.parametrize(
    "value", [EDGES, dict(EDGES), None, 3, "graph", gc.Graph, iter(EDGES), np.arange(3)]
)
def test_values_that_are_no_graph_are_refused_with_a_type_error(name, value):
    if name == "open_session" and isinstance(value, str):
        return  # a path
    with pytest.raises(KindError) as error:
        functions.CONVERTING[name](value)
    assert isinstance(error.value, TypeError)
    assert isinstance(error.value, GraphError)


@pytest.mark.parametrize("name", functions.ROWS)
def test_functions_of_rows_refuse_graphs_and_name_the_conversion(name):
    for source in (FRAME, functions.graph(), of_networkx()):
        with pytest.raises(TypeError, match=r"Rows\.of"):
            functions.ROWS[name](source, epsilon=1.0)


@pytest.mark.parametrize("source", [of_networkx(), igraph.Graph(n=N, edges=EDGES), FRAME])
def test_true_answers_take_graphs_of_this_package_only(source):
    with pytest.raises(TypeError, match=r"Graph\.of"):
        gc.CutQuery([0]).value(source)
    with pytest.raises(TypeError, match=r"Graph\.of"):
        gc.answer_all([gc.CutQuery([0])], source)


def test_a_directed_graph_stays_directed():
    for source in (nx.DiGraph([(0, 1), (2, 1)]), igraph.Graph(3, [(0, 1), (2, 1)], directed=True)):
        graph = private_data(source)
        assert isinstance(graph, gc.DirectedGraph)
        assert graph == gc.DirectedGraph.of([(0, 1), (2, 1)])


def test_weights_need_a_bound_that_the_caller_states():
    source = igraph.Graph(2, [(0, 1)], edge_attrs={"weight": [2.0]})
    with pytest.raises(ParameterError, match=r"max_weight.*Graph\.of.*weighted=False"):
        gc.release_graph(source, epsilon=1.0)
    with pytest.raises(ParameterError, match="max_weight"):
        gc.release_graph(functions.adjacency().astype(float), epsilon=1.0)


def test_no_edge_of_networkx_decides_whether_there_are_weights():
    weighted = {"weight": 2.0}
    conversions = []
    for edges in ([], [(0, 1, {})], [(0, 1, weighted)], [(0, 1, weighted), (1, 2, {})]):
        source = nx.Graph()
        source.add_nodes_from(range(3))
        source.add_edges_from(edges)
        with pytest.warns(ConversionWarning, match=r"Graph\.of\(graph, max_weight") as caught:
            graph = private_data(source)
        conversions.append(
            (graph.weighted, graph.reading, [str(warning.message) for warning in caught])
        )
    assert not conversions[0][0]
    assert conversions == conversions[:1] * 4
    # What shows true answers anyway reads the weights.
    source = nx.Graph([(0, 1, weighted)])
    assert private_data(source, shows_truth=True).weights.tolist() == [2.0]


def test_weights_of_parallel_edges_are_added():
    multigraph = nx.MultiGraph()
    multigraph.add_edge("a", "b", weight=2.0)
    multigraph.add_edge("a", "b", weight=3.0)
    table = pd.DataFrame({"source": ["a", "b"], "target": ["b", "a"], "weight": [2.0, 3.0]})
    twice = sp.coo_array(([2.0, 3.0], ([0, 0], [1, 1])), shape=(2, 2))
    of_igraph = igraph.Graph(2, [(0, 1), (0, 1)], edge_attrs={"weight": [2.0, 3.0]})
    for source in (multigraph, table, twice, of_igraph, [("a", "b", 2.0), ("a", "b", 3.0)]):
        assert gc.Graph.of(source, tell=lambda _: None).weights.tolist() == [5.0]
    assert gc.Graph.of(table, merge="max").weights.tolist() == [3.0]
    assert nx.to_scipy_sparse_array(multigraph)[0, 1] == twice.tocsr()[0, 1] == 5  # as they do


def test_both_entries_of_a_pair_of_a_matrix_are_one_edge():
    matrix = np.array([[0.0, 2.0], [3.0, 0.0]])
    assert gc.Graph.of(matrix).weights.tolist() == [3.0]
    with pytest.raises(GraphError, match="transpose"):
        gc.Graph.of(matrix, merge="sum")


def test_without_weights_parallel_edges_are_one():
    with pytest.warns(ConversionWarning, match="one edge"):
        graph = gc.Graph.of(nx.MultiGraph([(0, 1), (0, 1)]))
    assert not graph.weighted
    assert graph.weights.tolist() == [1.0]


def test_unread_attributes_of_vertices_are_reported():
    source = of_networkx()
    nx.set_node_attributes(source, {0: "x", 3: "y"}, "club")
    with pytest.warns(ConversionWarning, match=r"'club'.*Groups\.of\('club', graph\)"):
        graph = gc.Graph.of(source)
    assert "'club'" in graph.reading
    assert "not kept" in graph._repr_html_()
    reported = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # whoever listens is not warned
        gc.Graph.of(source, tell=reported.append)
    assert reported == [graph.reading]


def test_unread_columns_are_reported():
    table = FRAME.assign(score=2)
    with pytest.raises(GraphError, match="weighted=False"):
        gc.Graph.of(table)  # is it a weight?
    with pytest.warns(ConversionWarning, match="ignored: 'score'"):
        gc.Graph.of(table, weighted=False)
    with pytest.warns(ConversionWarning, match="ignored: 'day'"):
        gc.Graph.of(FRAME.assign(day="Monday"))  # by its name it is a date, and no weight
    columns = gc.Columns(source="source", target="target")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # whoever names columns has chosen
        gc.Graph.of(table, columns=columns, weighted=False)


def _neighbours(kind: type) -> list[Any]:
    """Return two sources that differ in one edge, which has an attribute of its own."""
    nodes = [(0, {"club": "x"}), (1, {}), (2, {}), (3, {"age": 3})]
    pair = []
    for more in ([], [(2, 3, {"secret": 1, "weight": 1.0})]):
        source = kind()
        source.add_nodes_from(nodes)
        source.add_edges_from([(0, 1, {"weight": 1.0}), (1, 2, {"weight": 1.0}), *more])
        pair.append(source)
    return pair


def _visible(source: Any) -> tuple[Any, ...]:
    """Return all that a user sees of a converted graph without reading its edges."""
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        graph = private_data(source)
    messages = sorted(str(warning.message) for warning in recorded)
    return (
        messages,
        graph.reading,
        repr(graph),
        graph._repr_html_(),
        len(graph),
        list(graph),
        0 in graph,
    )


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_warnings_and_texts_of_a_conversion_do_not_depend_on_an_edge(kind):
    without, with_edge = map(_visible, _neighbours(kind))
    assert without == with_edge


def test_a_conversion_that_named_attributes_of_edges_would_be_detected(monkeypatch):
    def edge_attributes(graph):
        return sorted({name for *_, attributes in graph.edges(data=True) for name in attributes})

    monkeypatch.setattr(libraries, "unread_attributes", edge_attributes)
    without, with_edge = map(_visible, _neighbours(nx.Graph))
    assert without != with_edge


def test_a_release_of_a_table_states_that_its_vertices_are_not_private():
    with pytest.warns(PrivacyWarning, match="vertices="):
        release = gc.release_graph(FRAME, epsilon=1.0, fit="none")
    assert "not private in its vertex set" in str(release.guarantee)


def test_a_second_use_of_a_converted_graph_warns(monkeypatch):
    monkeypatch.setattr(charges, "_warned", False)
    source = of_networkx()
    gc.release_graph(source, epsilon=1.0, fit="none")
    with pytest.warns(PrivacyWarning, match="again without a store"):
        gc.release_graph(source, epsilon=1.0, fit="none")


@pytest.mark.thorough
def test_a_converted_graph_does_not_keep_its_source_alive():
    source = of_networkx()
    graph = private_data(source)
    reference = weakref.ref(source)
    del source
    garbage.collect()  # a graph of networkx refers to itself
    assert reference() is None
    assert copy.copy(graph).origin is None
    assert copy.deepcopy(graph) == graph


def test_a_graph_and_rows_are_taken_as_they_are():
    graph = functions.graph()
    rows = gc.Rows.empty(columns=gc.Columns(user="who"), vertices=3)
    assert private_data(graph) is graph
    assert private_data(rows) is rows
    with pytest.raises(TypeError, match="already"):
        gc.Graph.of(graph)
    with pytest.raises(TypeError, match="read_graph"):
        gc.Graph.of("mail.csv")
