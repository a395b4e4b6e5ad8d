"""The chi-square test of independence keeps its level on noisy tables, and detects dependence."""

import dataclasses

import networkx as nx
import numpy as np
import pytest
import scipy
from flow_cases import fast_noise
from statistic_cases import exact_flows, planted

from graphcuts_dp import Graph, Groups, QueryError, release_flows

LEVEL = 0.1  # probability of a rejection that the test may reach if groups are independent
# Shares of the groups, and number of edges.
INDEPENDENT_TABLES = {
    "even": ((0.25, 0.25, 0.25, 0.25), 500),
    "uneven": ((0.7, 0.2, 0.07, 0.03), 500),
    "mostly noise": ((0.4, 0.3, 0.2, 0.1), 40),
}


@pytest.fixture(scope="module")
def flows_of_four_groups():
    graph, _, groups, _ = planted(parts=4)
    return release_flows(graph, groups, epsilon=1.0, workload="part", seed=0)


def independent_flows(flows, shares, edges, count):
    """Generate releases of tables whose edges choose the groups of both endpoints independently.

    Args:
        flows: a release with the noise and the cells of all others.
        shares: probability of each group.
        edges: number of edges.
        count: number of releases.
    """
    rng = np.random.default_rng(0)
    first, second = flows.cells.cells(flows.cells.depth - 1)
    probabilities = shares[first] * shares[second] * np.where(first == second, 1, 2)
    for _ in range(count):
        table = rng.multinomial(edges, probabilities / probabilities.sum())
        table += fast_noise(rng, flows.noisy.noise, 0, len(first))
        release = dataclasses.replace(flows, noisy=dataclasses.replace(flows.noisy, steps=(table,)))
        release.__dict__["fit"] = flows.fit  # the same for all; computing it takes most of the time
        yield release


def p_value_without_noise(flows):
    """Return the p-value of the usual chi-square test, which takes the noisy table as exact."""
    table = flows.values()
    endpoints = np.maximum(table + np.diag(table.diagonal()), 0) + 1e-9
    expected = np.outer(endpoints.sum(axis=1), endpoints.sum(axis=1)) / endpoints.sum()
    statistic = ((endpoints - expected) ** 2 / expected).sum() / 2
    return scipy.stats.chi2.sf(statistic, 6)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("mostly noise", 200),
        *(pytest.param(name, 2000, marks=pytest.mark.slow) for name in INDEPENDENT_TABLES),
    ],
)
def test_independent_groups_are_rejected_no_more_often_than_the_level(
    flows_of_four_groups, name, count
):
    """The usual test rejects more often, unless the table is even."""
    assert flows_of_four_groups.noisy.map.measured_levels == (2,)
    shares, edges = INDEPENDENT_TABLES[name]
    rejections = rejections_of_usual_test = 0
    for flows in independent_flows(flows_of_four_groups, np.array(shares), edges, count):
        rejections += flows.independence_test(simulations=19).p_value <= LEVEL
        rejections_of_usual_test += p_value_without_noise(flows) <= LEVEL
    # A test of this level has more rejections with a probability below 1e-7.
    most_rejections = int(scipy.stats.binom.isf(1e-7, count, LEVEL))
    assert rejections <= most_rejections
    if name != "even":
        assert rejections_of_usual_test > most_rejections


def test_the_statistic_is_pearsons_and_dependence_is_detected():
    graph, networkx_graph, groups, group_of_vertex = planted(parts=4)
    test = exact_flows(graph, groups).independence_test("part", simulations=99)
    membership = np.eye(4)[group_of_vertex]
    adjacency = nx.to_numpy_array(networkx_graph, nodelist=range(graph.n))
    # Each edge is counted from both of its endpoints, which doubles the statistic.
    pearson = scipy.stats.chi2_contingency(
        membership.T @ adjacency @ membership, correction=False
    ).statistic
    assert test.statistic == pytest.approx(pearson / 2)
    assert (test.p_value, test.degrees_of_freedom) == (0.01, 6)


def test_a_test_with_a_seed_is_repeatable_and_detects_dependence_in_noise(flows_of_four_groups):
    first, second = (
        flows_of_four_groups.independence_test("part", simulations=99, seed=3) for _ in range(2)
    )
    assert first == second
    assert first.p_value == 0.01


def test_cells_without_pairs_are_not_expected_to_have_edges():
    """Each vertex is a group, so no edge lies within a group."""
    edges = np.random.default_rng(0).integers(0, 12, size=(60, 2))
    graph = Graph(*edges[edges[:, 0] != edges[:, 1]].T, vertices=12)
    groups = Groups(graph.vertices, {"vertex": list(range(12))})
    test = exact_flows(graph, groups).independence_test(simulations=99)
    assert test.p_value > 0.05
    assert test.degrees_of_freedom == 66 - 12


@pytest.mark.parametrize("simulations", [5, True, 2.5, 10**8])
def test_impossible_numbers_of_simulations_are_refused(flows_of_four_groups, simulations):
    with pytest.raises(QueryError, match="simulations"):
        flows_of_four_groups.independence_test(simulations=simulations)


def test_weights_are_tested_only_if_they_are_said_to_be_counts():
    graph = Graph([0, 1], [2, 3], [1.0, 2.0], vertices=4, max_weight_change=1)
    groups = Groups(graph.vertices, {"half": [0, 0, 1, 1]})
    flows = release_flows(graph, groups, epsilon=1.0, seed=0)
    with pytest.raises(QueryError, match="counts=True"):
        flows.independence_test()
    assert 0 < flows.independence_test(simulations=19, counts=True).p_value <= 1
