"""Flows beside the truth."""

import networkx as nx
import numpy as np
import pytest
from statistic_cases import exact_flows, planted

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


def test_flows_of_another_graph_are_refused():
    graph, _, groups, _ = planted(parts=4)
    _, _, others, _ = planted(parts=3)
    with pytest.raises(GraphError, match="not of one another"):
        flow_errors(graph, others, exact_flows(graph, groups))
