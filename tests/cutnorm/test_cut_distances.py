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


def test_graphs_of_two_sides_and_of_other_vertices():
    g = gc.BipartiteGraph([0, 1], [0, 1], left=2, right=3)
    h = gc.BipartiteGraph([0], [2], left=2, right=3)
    plain = gc.Graph([0], [1], vertices=2)
    assert gc.cut_norm(g, h).lower == gc.cut_norm(h, g).lower == 2
    with pytest.raises(GraphError, match="bipartite"):
        gc.cut_norm(g, plain)
    with pytest.raises(GraphError, match="different vertices"):
        gc.cut_norm(plain, gc.Graph([0], [1], vertices=4))
