"""Sets of vertices in queries, and groups, from objects of numpy, pandas, polars and networkx."""

from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import graphcuts_dp as gc
from graphcuts_dp import GraphError, KindError, QueryError, UnknownVertexError

PEOPLE = gc.VertexSet(["eve", "ann", "bob", "kim"])
MASK = [False, True, True, False]  # ann and bob
CLUB = nx.karate_club_graph()
NAMES = [f"m{node}" for node in CLUB]

AS_LABELS = {
    "list": ["ann", "bob"],
    "tuple": ("bob", "ann"),
    "set": {"ann", "bob"},
    "array of text": np.array(["ann", "bob"]),
    "array of objects": np.array(["ann", "bob"], dtype=object),
    "series of pandas": pd.Series(["ann", "bob"]),
    "index of pandas": pd.Index(["ann", "bob"]),
    "series of polars": pl.Series(["ann", "bob"]),
    "generator": lambda: (name for name in ("ann", "bob")),
    "keys": dict.fromkeys(["ann", "bob"]),
}
AS_TRUTH = {
    "list": MASK,
    "tuple": tuple(MASK),
    "list of numpy's": list(map(np.bool_, MASK)),
    "array": np.array(MASK),
    "array of objects": np.array(MASK, dtype=object),
    "series of pandas": pd.Series(MASK),
    "nullable series": pd.Series(MASK, dtype="boolean"),
    "by label": pd.Series([True, False, True, False], index=["bob", "kim", "ann", "eve"]),
    "series of polars": pl.Series(MASK),
    "generator": lambda: (is_in for is_in in MASK),
    "row numbers": PEOPLE.at([1, 2]),
    "row numbers in an array": PEOPLE.at(np.array([2, 1], dtype=np.uint8)),
}


def value_of(case: Any) -> Any:
    """Return the value of a case, which is a function for generators: they can be read once."""
    return case() if callable(case) else case


@pytest.mark.parametrize("subset", [*AS_LABELS.values(), *AS_TRUTH.values()])
def test_labels_and_truth_values_of_any_kind_are_a_set(subset):
    assert PEOPLE.mask(value_of(subset)).tolist() == MASK
    S, T = gc.CutQuery(value_of(subset)).masks(PEOPLE)
    assert S.tolist() == MASK
    assert T.tolist() == [not member for member in MASK]


@pytest.mark.parametrize("truth", AS_TRUTH.values())
def test_truth_values_are_the_same_query_as_the_name_of_a_group(truth):
    graph = gc.Graph.of([("ann", "bob"), ("bob", "eve")], vertices=PEOPLE.labels)
    groups = gc.Groups.of({"ann": "A", "bob": "A", "eve": "B", "kim": "B"}, graph)
    with gc.open_session(
        graph, epsilon=40, queries=3, method="laplace", groups=groups, seed=1
    ) as session:
        assert session.ask(value_of(truth)).value == session.ask("@A").value  # one query


def test_integers_are_labels_in_every_kind_of_list():
    vertices = gc.VertexSet([30, 10, 20])
    for holder in (list, tuple, np.array, pd.Series, pl.Series):
        assert vertices.mask(holder([10, 20])).tolist() == [False, True, True]
        with pytest.raises(UnknownVertexError, match="unknown vertex"):
            vertices.mask(holder([0, 1]))
    assert vertices.at([0, 1]).tolist() == [True, True, False]
    two = gc.VertexSet(2)
    assert two.mask(np.array([0, 1])).tolist() == [True, True]  # labels 0 and 1, not truth values
    assert two.mask(np.array([0, 1], dtype=bool)).tolist() == [False, True]


@pytest.mark.parametrize("rows", [[4], [-1], ["ann"], [0.0], [True], [[0]], np.array([0.0])])
def test_row_numbers_are_integers_in_range(rows):
    with pytest.raises(QueryError, match="row numbers"):
        PEOPLE.at(rows)


def test_no_row_numbers_are_the_empty_set():
    assert PEOPLE.at([]).tolist() == [False] * 4
    with pytest.raises(ValueError, match="read-only"):
        PEOPLE.at([])[0] = True


@pytest.mark.parametrize("mask", [[True], [True] * 5, np.ones(3, dtype=bool)])
def test_a_list_of_truth_values_of_another_length_is_refused(mask):
    with pytest.raises(QueryError, match="has length 4"):
        PEOPLE.mask(mask)


@pytest.mark.parametrize("mixed", [["ann", True], [True, "ann"], [pd.NA, True, True, False]])
def test_truth_values_among_labels_are_refused(mixed):
    with pytest.raises(KeyError):
        PEOPLE.mask(mixed)


def test_a_series_with_row_numbers_is_in_the_order_of_the_vertices():
    frame = pd.DataFrame({"name": PEOPLE.labels, "age": [20, 50, 60, 30]})
    assert PEOPLE.mask(frame["age"] > 40).tolist() == MASK
    shuffled = frame.set_index("name").sort_index()
    assert PEOPLE.mask(shuffled["age"] > 40).tolist() == MASK
    with pytest.raises(UnknownVertexError):
        PEOPLE.mask((frame["age"] > 40).sort_index(ascending=False))  # numbers are no labels here


# ------------------------------------------------------------------ groups

FACTIONS = {node: data["club"] for node, data in CLUB.nodes(data=True)}
SETS = [{v for v in CLUB if FACTIONS[v] == name} for name in ("Officer", "Mr. Hi")]
TABLE = pd.DataFrame({"vertex": list(CLUB), "club": list(FACTIONS.values())})
SOURCES = {
    "dict": FACTIONS,
    "list of sets": SETS,
    "tuple of lists": tuple(map(list, SETS)),
    "frozensets": frozenset(map(frozenset, SETS)),
    "pandas": TABLE,
    "polars": pl.from_pandas(TABLE),
    "pyarrow": pa.Table.from_pandas(TABLE),
    "series": TABLE.set_index("vertex")["club"],
}


@pytest.mark.parametrize("graph", [None, CLUB, gc.VertexSet(34)], ids=str)
@pytest.mark.parametrize("source", SOURCES)
def test_sets_tables_and_dicts_are_the_same_groups(source, graph):
    groups = gc.Groups.of(SOURCES[source], graph)
    assert groups.vertices == gc.VertexSet(34)
    assert len(groups.labels()) == 2
    parts = {frozenset(np.flatnonzero(groups.members(name)).tolist()) for name in groups.labels()}
    assert parts == set(map(frozenset, SETS))


def test_communities_are_numbered_in_their_order():
    groups = gc.Groups.of(SETS, CLUB, columns="faction")
    assert groups.levels == ("faction",)
    assert groups.labels() == (0, 1)
    assert groups.group_of(33) == 0


def test_an_attribute_of_vertices_is_a_level_of_groups():
    assert gc.Groups.of("club", CLUB) == gc.Groups.of(FACTIONS, CLUB, columns="club")
    other = igraph.Graph.from_networkx(nx.relabel_nodes(CLUB, dict(enumerate(NAMES))))
    other.vs["name"] = other.vs["_nx_name"]
    groups = gc.Groups.of("club", other)
    assert groups.group_of("m0") == "Mr. Hi"
    assert groups.vertices == gc.Graph.of(other, tell=lambda _: None).vertices
    with pytest.raises(GraphError, match="no vertex has an attribute 'cub'"):
        gc.Groups.of("cub", CLUB)
    for graph in (None, gc.VertexSet(34), gc.datasets.load("karate")):
        with pytest.raises(KindError, match=r"Groups\.read"):
            gc.Groups.of("club", graph)


def test_groups_of_a_clustering_of_igraph_have_its_names():
    other = igraph.Graph(3, [(0, 1)])
    other.vs["name"] = ["z", "y", "x"]
    groups = gc.Groups.of(other.connected_components(), other)
    assert groups.group_of("z") == groups.group_of("y") != groups.group_of("x")


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([{0, 1}, {1}], "in two of the sets"),
        ([{0, 1}, set()], "empty"),
        (["a", "b"], "one set of labels for each"),
        ([1, 2], "dict"),
        ([{0}, {1.5}], "strings or integers"),
    ],
)
def test_sets_that_overlap_or_have_no_labels_are_refused(sets, message):
    with pytest.raises(GraphError, match=message):
        gc.Groups.of(sets)


def test_vertices_outside_all_sets_need_a_default_group():
    with pytest.raises(GraphError, match="default_group"):
        gc.Groups.of([{0, 1}], gc.VertexSet(3))
    groups = gc.Groups.of([{0, 1}], gc.VertexSet(3), default_group="rest")
    assert groups.group_of(2) == "rest"


def test_groups_fit_a_graph_whose_vertices_are_in_another_order():
    graph = gc.Graph.of([("b", "a"), ("c", "a")], vertices=["c", "a", "b"])
    groups = gc.Groups.of([{"a"}, {"b", "c"}])
    assert groups.vertices.labels == ("a", "b", "c")
    reordered = groups.on(graph.vertices)
    assert reordered.group_of("a") == 0
    assert reordered.codes().tolist() == [1, 0, 1]
    flows = gc.release_flows(graph, groups, epsilon=40.0, seed=1)
    assert flows.between(0, 1).value == 2
    with pytest.raises(GraphError, match=r"Groups\.of\(source, graph\)"):
        gc.release_flows(graph, gc.Groups.of([{"a"}, {"b"}]), epsilon=1.0)


def test_values_that_are_no_groups_are_refused_with_a_type_error():
    for value in (3, None, gc.VertexSet(3)):
        with pytest.raises(TypeError, match="list of sets"):
            gc.Groups.of(value, gc.VertexSet(3))
