"""Queries that name public groups, alone and in sessions."""

import json

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import GraphError, QueryError
from graphcuts_dp.queries.group_names import members
from graphcuts_dp.session.session import session_of

LABELS = ["ann", "bob", "eve", "kim", "lee", "@IT"]
UNITS = ["Sales", "Sales", "IT", "Board", "Board", "Board"]
PARTS = ["trade", "trade", "trade", "top", "top", "top"]


@pytest.fixture
def graph():
    edges = [("ann", "eve"), ("bob", "eve"), ("ann", "kim"), ("kim", "lee")]
    return gc.Graph.of(edges, vertices=LABELS)


@pytest.fixture
def groups(graph):
    return gc.Groups(graph.vertices, {"part": PARTS, "unit": UNITS})


def set_of(*labels):
    return np.array([label in labels for label in LABELS])


def test_names_unions_and_levels_stand_for_their_vertices(groups):
    for given, wanted in (
        ("@Sales", set_of("ann", "bob")),
        (["@Sales", "lee"], set_of("ann", "bob", "lee")),
        (["@Sales", "@Board"], set_of("ann", "bob", "kim", "lee", "@IT")),
        ("@trade", set_of("ann", "bob", "eve")),
        ("@part:top", set_of("kim", "lee", "@IT")),
    ):
        assert np.array_equal(members(given, groups), wanted)
    mask = set_of("ann")
    assert members(mask, groups) is mask
    assert members(["ann"], groups) == ["ann"]


TWICE = {"a": list("xxxyyy"), "b": list("xuuyvv")}


@pytest.mark.parametrize(
    ("levels", "given", "told"),
    [
        (None, "Sales", "the name of a group, such as '@Sales'"),
        (None, "@Sale", "unknown group '@Sale'"),
        (None, "@part:Sales", "unknown group"),
        (None, "@IT", "is a vertex and the name of a group"),
        (None, ["@Sales", "joe"], "unknown vertex 'joe'"),
        (TWICE, "@x", "'@a:x', '@b:x'"),
    ],
)
def test_what_is_unknown_or_may_mean_two_things_is_refused(graph, groups, levels, given, told):
    groups = groups if levels is None else gc.Groups(graph.vertices, levels)
    with pytest.raises(QueryError, match=told):
        members(given, groups)


def test_a_name_of_two_levels_may_be_told_or_be_the_same(graph):
    groups = gc.Groups(graph.vertices, TWICE)
    assert np.array_equal(members("@b:x", groups), set_of("ann"))
    same = gc.Groups(graph.vertices, {"a": UNITS, "b": UNITS})
    assert np.array_equal(members("@Sales", same), set_of("ann", "bob"))


def opened(graph, folder, **options):
    terms = {"epsilon": 30.0, "queries": 9, "method": "laplace", "seed": 1} | options
    return session_of(graph, store=folder / "s.db", **terms)


def test_a_session_answers_names_as_the_sets_that_they_stand_for(graph, groups, tmp_path):
    with opened(graph, tmp_path, groups=groups) as session:
        first = session.ask("@Sales", ["@unit:IT"])
        assert first.value == 2.0
        again = session.ask(["ann", "bob"], ["eve"])
        assert again == session.ask("@Sales", ["eve"])
        assert session.remaining.queries == 8  # all of these are one query
        union = session.ask_all([gc.CutQuery(["@Sales", "eve"])])[0]
        assert union.value == 1.0
        assert session.cost([gc.CutQuery(["@Sales", "eve"])]).free == 1
        assert "Sales" not in json.dumps(session.export())
    with opened(graph, tmp_path) as session:  # groups are not kept
        with pytest.raises(QueryError, match="open the session, or make the release, with groups="):
            session.ask("@Sales", ["eve"])
        with pytest.raises(QueryError, match="unknown vertex '@Sales'"):
            session.ask(["@Sales"], ["eve"])
    other = gc.Groups(gc.VertexSet(6), {"unit": UNITS})
    with pytest.raises(GraphError, match="other vertices"):
        opened(graph, tmp_path, groups=other)


def test_a_bipartite_session_has_groups_of_both_sides(tmp_path):
    graph = gc.BipartiteGraph([0, 1, 2], [0, 0, 1], left=3, right=2)
    sides = gc.Groups(graph.left, {"g": ["a", "a", "b"]}), gc.Groups(graph.right, {"g": ["a", "c"]})
    with opened(graph, tmp_path, groups=sides) as session:
        assert session.ask("@a", "@a").value == 2.0
        assert session.ask("@b", "@c").value == 1.0
        with pytest.raises(QueryError, match="unknown group '@c'"):
            session.ask("@c", "@a")
