"""Flows beside the truth."""

import networkx as nx
import numpy as np
import pytest
from statistic_cases import exact_flows, planted

import graphcuts_dp as gc
from graphcuts_dp.errors import GraphError
from graphcuts_dp.evaluation.flow_error import flow_errors


def test_the_truth_is_counted_edge_by_edge():
    graph, same, groups, codes = planted(parts=4)
    found = flow_errors(graph, groups, exact_flows(graph, groups), "part")
    expected = np.zeros((4, 4))
    for a, b in same.edges:
        first, second = sorted((codes[a], codes[b]))
        expected[first, second] += 1
    expected = np.triu(expected) + np.triu(expected, 1).T
    assert found.truth.tolist() == expected.tolist()
    assert found.values == pytest.approx(expected)
    assert found.covered == 1
    assert found.root_mean_square == pytest.approx(0, abs=1e-9)
    assert found.mark == "not private: evaluation"
    assert nx.number_of_edges(same) == np.triu(found.truth).sum()


def test_directions_and_two_sides_are_counted_arc_by_arc():
    """At an epsilon of 50 noise is 0 but once in 10^20 cells."""
    arcs = gc.DirectedGraph([0, 1, 1, 3], [1, 0, 2, 2], vertices=4)
    groups = gc.Groups(arcs.vertices, {"part": ["a", "a", "b", "b"]})
    found = flow_errors(arcs, groups, gc.release_flows(arcs, groups, epsilon=50, seed=1))
    assert found.truth.tolist() == [[2, 1], [0, 1]]
    assert found.values == pytest.approx(found.truth)
    films = gc.BipartiteGraph([0, 1, 1], [0, 0, 2], left=2, right=3)
    sides = (
        gc.Groups(films.left, {"town": ["x", "y"]}),
        gc.Groups(films.right, {"kind": ["k", "l", "l"]}),
    )
    flows = gc.release_flows(films, sides, epsilon=50, seed=1)
    both = flow_errors(films, sides, flows)
    assert both.truth.tolist() == [[1, 0], [1, 1]]
    assert both.values == pytest.approx(both.truth)
    assert (both.labels, both.right_labels) == (("x", "y"), ("k", "l"))
    with pytest.raises(GraphError, match="a pair of Groups"):
        flow_errors(films, sides[0], flows)
    plain = gc.Graph([0], [1], vertices=4)
    own = gc.Groups(plain.vertices, {"part": ["a", "a", "b", "b"]})
    with pytest.raises(GraphError, match="not of one another"):
        flow_errors(plain, own, gc.release_flows(arcs, groups, epsilon=50, seed=1))


def test_flows_of_another_graph_are_refused():
    graph, _, groups, _ = planted(parts=4)
    _, _, others, _ = planted(parts=3)
    with pytest.raises(GraphError, match="not of one another"):
        flow_errors(graph, others, exact_flows(graph, groups))
