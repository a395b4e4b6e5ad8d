"""Each part of a contender draws noise of the scale that its share of epsilon pays for.

What a contender states is added up from its rates; here it is seen that these are the rates of what
is drawn, and that nothing else is drawn.
"""

from fractions import Fraction

import numpy as np
import pytest
from helpers import random_graph

from graphcuts_dp.measure import statistics
from graphcuts_dp.privacy.entropy import SeededEntropy
from scripts.benchmark.contenders import (
    high_pass_filter,
    johnson_lindenstrauss,
    louvain_dp,
    privgraph,
    privskg,
    super_graph,
    topology_sampler,
)

GRAPH = random_graph(45, 8)
EPSILON = Fraction(3, 2)


@pytest.fixture
def drawn(monkeypatch):
    """What is drawn, as (name, rate or variance, how many)."""
    seen = []

    def record(module, name):
        honest = getattr(module, name)

        def recorded(*arguments, **named):
            *_, source = (*arguments, *named.values())
            assert source is not None
            rate = named.get("rate", arguments[0] if arguments else None)
            size = arguments[1] if len(arguments) > 1 else None
            seen.append((name, rate, size))
            return honest(*arguments, **named)

        monkeypatch.setattr(module, name, recorded)

    record_all = (
        (super_graph, "sample_discrete_laplace"),
        (privgraph, "sample_discrete_laplace"),
        (louvain_dp, "sample_discrete_laplace"),
        (louvain_dp, "sample_exceeding"),
        (topology_sampler, "sample_discrete_laplace"),
        (high_pass_filter, "sample_discrete_laplace"),
        (johnson_lindenstrauss, "sample_discrete_gaussian"),
        (statistics, "sample_discrete_laplace"),
    )
    for module, name in record_all:
        record(module, name)
    return seen


def run(method, graph=GRAPH, delta=1e-6):
    return method(graph, epsilon=float(EPSILON), delta=delta, groups=None, seed=3)


def test_privgraph(drawn, monkeypatch):
    moved = []
    honest = privgraph.exponential_choice

    def chosen(scores, rate, source):
        moved.append((rate, len(scores)))
        return honest(scores, rate, source)

    monkeypatch.setattr(privgraph.adjusted, "__kwdefaults__", {"choose": chosen})
    rates = privgraph.PrivGraphRates.of(EPSILON)
    measured = privgraph.measure_privgraph(GRAPH, rates, SeededEntropy(1), group_size=9)
    third, kinds = EPSILON / 3, len(measured.between)
    assert drawn == [
        ("sample_discrete_laplace", third, 15),
        ("sample_discrete_laplace", third / 2, 45),
        ("sample_discrete_laplace", third, kinds),
    ]
    assert moved == [(third / 2, int(measured.start.max()) + 1)] * 45
    assert sorted(measured.order.tolist()) == list(range(45))
    first, second = super_graph.cell_ends(int(measured.communities.max()) + 1)
    assert not measured.between[first == second].any()
    drawn.clear()
    run(privgraph.privgraph)
    assert [each[1] for each in drawn] == [third, third / 2, third]


def test_louvain(drawn):
    run(louvain_dp.louvain_dp)
    cells = 3 * 4 // 2  # of groups of 16, 16 and 13 vertices
    names = [each[0] for each in drawn]
    assert names == [
        "sample_discrete_laplace",
        "sample_exceeding",
        "sample_discrete_laplace",
        "sample_discrete_laplace",
    ]
    rates = [each[1] for each in drawn]
    assert rates == [EPSILON / 50, EPSILON * 12 / 25, EPSILON * 12 / 25, EPSILON / 2]
    assert sum(rates) - rates[1] == EPSILON
    assert drawn[0][2] == 1
    assert drawn[2][2] <= cells


def test_the_topology_sampler(drawn, monkeypatch):
    sets = []
    honest = topology_sampler.sampled_topology

    def sampled(edges, chosen, pairs, *, rate, source):
        sets.append((len(edges), pairs, rate))
        return honest(edges, chosen, pairs, rate=rate, source=source)

    monkeypatch.setattr(topology_sampler, "sampled_topology", sampled)
    run(topology_sampler.topology_sampler)
    assert drawn == [("sample_discrete_laplace", EPSILON / 10, 1)]
    assert sets == [(len(GRAPH.rows), 45 * 44 // 2, EPSILON * 9 / 10)]


def test_the_filter(drawn):
    run(high_pass_filter.high_pass_filter)
    assert drawn == [("sample_discrete_laplace", EPSILON, len(GRAPH.rows))]


def test_the_projection(drawn):
    run(johnson_lindenstrauss.johnson_lindenstrauss)
    noise = johnson_lindenstrauss.projection_noise(
        epsilon=float(EPSILON), delta=1e-6, rows=johnson_lindenstrauss.rows_for(45)
    )
    assert drawn == [
        ("sample_discrete_gaussian", noise.vertex_variance, 45 * noise.rows),
        ("sample_discrete_gaussian", 2**20, len(GRAPH.rows) * noise.rows),
    ]


def test_the_kronecker_model(drawn):
    run(privskg.privskg)
    assert drawn == [("sample_discrete_laplace", EPSILON / 2, 45)]


def test_random_groups_do_not_read_the_graph():
    """One seed, other graphs: the same groups of a public size."""
    first = super_graph.random_groups(45, 9, SeededEntropy(4))
    again = super_graph.random_groups(45, 9, SeededEntropy(4))
    assert np.array_equal(first, again)
    assert np.bincount(first).tolist() == [9] * 5
    other = super_graph.random_groups(45, 9, SeededEntropy(5))
    assert not np.array_equal(first, other)
