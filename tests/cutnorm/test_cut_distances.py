"""The cut distance of two graphs, whatever the order of their vertices."""

import networkx as nx
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import GraphError


def test_the_order_of_vertices_does_not_matter():
    g = gc.Graph.of(nx.path_graph(["a", "b", "c", "d"]))
    h = gc.Graph.of([("d", "a"), ("d", "b"), ("d", "c")], vertices=["d", "c", "b", "a"])
    same = gc.Graph.of([("a", "d"), ("b", "d"), ("c", "d")], vertices=["a", "b", "c", "d"])
    found = gc.cut_norm(g, h)
    assert found.is_exact
    assert found.lower == gc.cut_norm(g, same).lower
    assert gc.cut_norm(h, same).upper == 0


def test_cut_distance_is_a_metric():
    graphs = [gc.Graph.of(nx.gnp_random_graph(8, p, seed=1)) for p in (0.2, 0.5, 0.9)]
    d = [[gc.cut_norm(g, h).lower for h in graphs] for g in graphs]
    assert d[0][2] <= d[0][1] + d[1][2]
    assert d[0][1] == d[1][0] > 0


def test_bipartite_graphs():
    g = gc.BipartiteGraph([0, 1], [0, 1], left=2, right=3)
    h = gc.BipartiteGraph([0], [2], left=2, right=3)
    assert gc.cut_norm(g, h).lower == 2
    with pytest.raises(GraphError, match="bipartite"):
        gc.cut_norm(g, gc.Graph([0], [1], vertices=2))


def test_other_vertices_are_refused():
    with pytest.raises(GraphError, match="different vertices"):
        gc.cut_norm(gc.Graph([0], [1], vertices=3), gc.Graph([0], [1], vertices=4))
