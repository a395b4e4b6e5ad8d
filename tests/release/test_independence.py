"""The chi-square test holds its level on noisy tables, and finds what is there."""

import dataclasses

import networkx as nx
import numpy as np
import pytest
import scipy
from flow_cases import fast_noise
from statistic_cases import exact_flows, planted

from graphcuts_dp import Graph, Groups, QueryError, release_flows

TABLES, LEVEL = 2000, 0.1


def null_flows(model, shares, edges, count, seed=0):
    """Releases of tables whose edges pick both ends independently, a group a with shares[a]."""
    rng = np.random.default_rng(seed)
    a, b = model.cells.cells(model.cells.depth - 1)
    chances = shares[a] * shares[b] * np.where(a == b, 1, 2)
    for _ in range(count):
        table = rng.multinomial(edges, chances / chances.sum())
        table += fast_noise(rng, model.noisy.noise, 0, len(a))
        noisy = dataclasses.replace(model.noisy, steps=(table,))
        found = dataclasses.replace(model, noisy=noisy)
        found.__dict__["fit"] = model.fit
        yield found


@pytest.fixture(scope="module")
def model():
    graph, _, groups, _ = planted(parts=4)
    return release_flows(graph, groups, epsilon=1.0, workload="part", seed=0)


CASES = {
    "even": ((0.25, 0.25, 0.25, 0.25), 500),
    "uneven": ((0.7, 0.2, 0.07, 0.03), 500),
    "mostly noise": ((0.4, 0.3, 0.2, 0.1), 40),
}


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("mostly noise", 200),
        *(pytest.param(kind, TABLES, marks=pytest.mark.slow) for kind in CASES),
    ],
)
def test_the_level_holds(model, kind, count):
    # Rejections that a test of this level passes with a chance of less than 1e-7.
    most = int(scipy.stats.binom.isf(1e-7, count, LEVEL))
    assert model.noisy.map.measured_levels == (2,)
    shares, edges = CASES[kind]
    rejected = plain = 0
    for flows in null_flows(model, np.array(shares), edges, count):
        rejected += flows.independence_test(simulations=19).p_value <= LEVEL
        table = flows.values()
        ends = np.maximum(table + np.diag(table.diagonal()), 0) + 1e-9
        expected = np.outer(ends.sum(1), ends.sum(1)) / ends.sum()
        statistic = ((ends - expected) ** 2 / expected).sum() / 2
        plain += scipy.stats.chi2.sf(statistic, 6) <= LEVEL
    assert rejected <= most
    if kind != "even":  # the twin: the test for tables without noise
        assert plain > most


def test_dependence_is_found_and_the_statistic_is_pearsons(model):
    graph, same, groups, codes = planted(parts=4)
    found = exact_flows(graph, groups).independence_test("part", simulations=99)
    member = np.eye(4)[codes]
    ends = member.T @ nx.to_numpy_array(same, nodelist=range(graph.n)) @ member
    # Every edge from both of its ends: twice the statistic.
    pearson = scipy.stats.chi2_contingency(ends, correction=False).statistic / 2
    assert found.statistic == pytest.approx(pearson)
    assert (found.p_value, found.degrees_of_freedom) == (0.01, 6)
    noisy, again = (model.independence_test("part", simulations=99, seed=3) for _ in range(2))
    assert noisy == again
    assert noisy.p_value == 0.01


def test_impossible_cells_are_not_expected():
    edges = np.random.default_rng(0).integers(0, 12, size=(60, 2))
    graph = Graph(*edges[edges[:, 0] != edges[:, 1]].T, vertices=12)
    alone = Groups(graph.vertices, {"vertex": list(range(12))})
    found = exact_flows(graph, alone).independence_test(simulations=99)
    assert found.p_value > 0.05
    assert found.degrees_of_freedom == 66 - 12


def test_refusals(model):
    for simulations in (5, True, 2.5, 10**8):
        with pytest.raises(QueryError, match="simulations"):
            model.independence_test(simulations=simulations)
    weighted = Graph([0, 1], [2, 3], [1.0, 2.0], vertices=4, max_weight_change=1)
    groups = Groups(weighted.vertices, {"half": [0, 0, 1, 1]})
    flows = release_flows(weighted, groups, epsilon=1.0, seed=0)
    with pytest.raises(QueryError, match="counts=True"):
        flows.independence_test()
    assert 0 < flows.independence_test(simulations=19, counts=True).p_value <= 1
