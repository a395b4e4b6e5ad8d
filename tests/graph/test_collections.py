"""Graphs as collections of vertices; copies, pickles and arrays of graphs and results."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError


def pickled(value: Any) -> Any:
    """Return a value as another process receives it."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301  # our own


GRAPHS = [
    gc.Graph.of([("a", "b", 1.0), ("b", "c", 2.0)], vertices=["c", "b", "a", "d"], max_weight=3),
    gc.DirectedGraph.of([(0, 1), (1, 0)], vertices=3),
    gc.BipartiteGraph.of([("a", "x")], vertices=(["a", "b"], ["x"])),
]
GROUPS = gc.Groups.of({"a": "one", "b": "one", "c": "two", "d": "two"}, GRAPHS[0])


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
def test_a_graph_is_the_collection_of_its_vertices(graph):
    sides = [graph.left, graph.right] if isinstance(graph, gc.BipartiteGraph) else [graph.vertices]
    labels = [label for side in sides for label in side.labels]
    assert list(graph) == labels
    assert len(graph) == len(labels)
    assert all(label in graph for label in labels)
    assert "nobody" not in graph
    assert 1.5 not in graph
    assert True not in graph
    assert graph  # never empty


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
def test_the_collection_of_vertices_does_not_depend_on_edges(graph):
    empty = graph.without_edges()
    assert list(graph) == list(empty)
    assert len(graph) == len(empty)


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
@pytest.mark.parametrize("make", [np.asarray, np.array, lambda g: np.add(g, 1), lambda g: g @ g])
def test_a_graph_is_no_array(graph, make):
    with pytest.raises(TypeError):
        make(graph)
    with pytest.raises(GraphCutsError, match="to_scipy"):
        np.asarray(graph)


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_are_equal_and_read_only(graph, copied):
    graph.to_scipy()
    if hasattr(graph, "adjacency"):
        assert graph.adjacency is not None  # a cache, which is not pickled
    other = copied(graph)
    assert other == graph
    assert type(other.space) is type(graph.space)
    for name in ("rows", "columns", "weights"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(other, name)[...] = 0
    assert (other.to_scipy() - graph.to_scipy()).nnz == 0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_of_groups_are_equal_and_read_only(copied):
    other = copied(GROUPS)
    assert other == GROUPS
    assert other.members("one").tolist() == GROUPS.members("one").tolist()
    for array in (other.codes(), other.sizes(), other.parents()):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_pickled_queries_and_results_give_the_same_answers():
    graph = GRAPHS[0]
    release = gc.release_graph(graph, epsilon=9.0, fit="none", groups=GROUPS)
    flows = gc.release_flows(graph, GROUPS, epsilon=1.0)
    query = gc.CutQuery(["a"], ["b", "c"])
    release_copy, flows_copy, query_copy = pickled((release, flows, query))
    assert release_copy.answer(query).interval == release.answer(query_copy).interval
    assert flows_copy.between("one", "two").value == flows.between("one", "two").value
    assert release_copy.guarantee == release.guarantee


def _private_arrays(graph: gc.Graph) -> list[bytes]:
    """Return the bytes of the edges of a graph, as they are in a pickle."""
    return [graph.rows.tobytes(), graph.columns.tobytes()]


def test_a_pickle_has_the_edges_of_a_graph_but_not_of_the_graph_of_a_result():
    rng = np.random.default_rng(1)
    n = 60
    edges = np.argwhere(np.triu(rng.random((n, n)) < 0.2, 1))
    graph = gc.Graph(edges[:, 0], edges[:, 1], vertices=n)
    release = gc.release_graph(graph, epsilon=1.0, fit="none")
    flows = gc.release_flows(graph, gc.Groups.of({v: v % 3 for v in range(n)}), epsilon=1.0)
    partition = gc.least_cut(graph, 0, 1, epsilon=1.0)
    for secret in _private_arrays(graph):
        assert secret in pickle.dumps(graph)
        for result in (release, flows, partition):
            assert secret not in pickle.dumps(result)


def test_pandas_stores_graphs_as_objects():
    series = pd.Series({"first": GRAPHS[0], "second": GRAPHS[1]})
    assert series["first"] is GRAPHS[0]


def test_joblib_passes_graphs_to_other_processes():
    seeds = np.random.SeedSequence(1).spawn(2)
    calls = [
        delayed(gc.release_graph)(GRAPHS[1], epsilon=9.0, fit="none", seed=seed) for seed in seeds
    ]
    releases = Parallel(n_jobs=2)(calls)
    here = [gc.release_graph(GRAPHS[1], epsilon=9.0, fit="none", seed=seed) for seed in seeds]
    for there, expected in zip(releases, here, strict=True):
        assert there.answer([0]).value == expected.answer([0]).value
        assert "seeded: not private" in repr(there)
