"""Statistics of whole graphs: values, sensitivities by enumeration, refusals."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import QueryError
from graphcuts_dp.learn.median import all_graphs
from graphcuts_dp.plugins import Universe
from graphcuts_dp.queries.graph_queries import STATISTICS, GraphQuery


def graph_of(row, n):
    rows, columns = Universe(n).pairs()
    used = np.asarray(row, dtype=bool)
    return gc.Graph(rows[used], columns[used], vertices=n)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_many_graphs_at_once_are_counted_as_each_alone(name, n):
    universe, query = Universe(n), GraphQuery(name)
    family = all_graphs(universe) if n > 1 else None
    databases = np.zeros((1, 0)) if family is None else family.databases
    sensitivity = query.sensitivity(universe.space)
    found = query.scaled_values(universe, databases)
    for row, steps in list(zip(databases, found, strict=True))[:: max(1, len(found) // 64)]:
        value = query.value(graph_of(row, n))
        assert steps == value // sensitivity
        assert 0 <= value <= query.largest(universe.space)


@pytest.mark.parametrize("name", STATISTICS)
def test_values_are_those_of_networkx(name):
    for seed in range(8):
        made = nx.gnp_random_graph(7, 0.5, seed=seed)
        value = GraphQuery(name).value(gc.Graph.of(made))
        if name == "triangles":
            assert value == sum(nx.triangles(made).values()) // 3
        cuts = [
            sum((a in side) != (b in side) for a, b in made.edges)
            for size in range(1, 7)
            for side in map(set, itertools.combinations(range(7), size))
        ]
        if name != "triangles":
            assert value == (max(cuts) if name == "max-cut" else min(cuts))


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("n", [2, 4, 5])
def test_an_edge_more_raises_it_by_its_sensitivity_at_most(name, n):
    """All graphs and all their neighbours; some pair needs all of the sensitivity, and the steps
    change by 0 or 1."""
    universe, query = Universe(n), GraphQuery(name)
    databases = all_graphs(universe).databases
    steps = query.scaled_values(universe, databases)
    moves = []
    for pair in range(universe.size):
        without = np.flatnonzero(databases[:, pair] == 0)
        change = steps[without | (1 << pair)] - steps[without]
        assert set(change) <= {0, 1}
        some = without[:: max(1, len(without) // 40)]
        for row in some:
            first, second = graph_of(databases[row], n), graph_of(databases[row | 1 << pair], n)
            moves.append(query.value(second) - query.value(first))
    assert min(moves) >= 0
    assert max(moves) <= query.sensitivity(universe.space)
    complete, last = graph_of(databases[-1], n), graph_of(databases[-2], n)
    if name == "triangles" and n > 2:
        assert query.value(complete) - query.value(last) == query.sensitivity(universe.space)
    assert query.value(complete) == query.largest(universe.space)


def test_what_is_refused():
    with pytest.raises(QueryError, match="unknown statistic"):
        GraphQuery("diameter")
    with pytest.raises(QueryError, match="unknown statistic"):
        GraphQuery(["triangles"])
    for make in (lambda: gc.Query.matrix([["x"]]), lambda: gc.Query.rank_one({}, [1.0])):
        with pytest.raises(QueryError, match="are numbers"):
            make()
    with pytest.raises(QueryError, match="without weights"):
        GraphQuery("max-cut").value(gc.Graph([0], [1], [0.5], vertices=3))
    with pytest.raises(QueryError, match="one vertex set"):
        GraphQuery("triangles").value(gc.BipartiteGraph([0], [1], left=2, right=2))
    with pytest.raises(QueryError, match="up to 20"):
        GraphQuery("min-cut").value(gc.Graph([0], [1], vertices=21))
    assert GraphQuery("triangles").value(gc.Graph([0, 1, 2], [1, 2, 0], vertices=10**5)) == 1
    with pytest.raises(QueryError, match="no cut"):
        GraphQuery("triangles").masks(None)
    with pytest.raises(QueryError, match="no cut"):
        Universe(3).coefficients(GraphQuery("triangles"))
    assert math.comb(6, 3) == GraphQuery("triangles").largest(Universe(6).space)
