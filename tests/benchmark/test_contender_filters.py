"""The high-pass filter and the topology sampler: exact laws, and what they refuse."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy
from helpers import random_graph

from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.value_noise import noise_distribution
from scripts.benchmark.contenders import high_pass_filter as filters
from scripts.benchmark.contenders import topology_sampler as sampler
from scripts.benchmark.contenders.high_pass_filter import HIGH_PASS_FILTER
from scripts.benchmark.contenders.topology_sampler import TOPOLOGY_SAMPLER
from scripts.benchmark.subsets import uniform_subset

WEIGHTED = Graph([0, 1, 2], [1, 2, 3], [90.0, 80.0, 0.25], vertices=4, hide_change=1)
GRAPHS = (
    Graph([0, 1], [1, 2], vertices=4),
    DirectedGraph([0, 1], [1, 0], vertices=3),
    BipartiteGraph([0, 1], [2, 0], left=2, right=3),
)


def run(contender, graph, epsilon=1.0, delta=1e-6, seed=7):
    return contender.method(graph, epsilon=epsilon, delta=delta, groups=None, seed=seed)


# The filter.


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 7.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.6])
@pytest.mark.parametrize("cap", [None, 1.0, 30.0])
def test_the_threshold_is_the_least_that_delta_allows(epsilon, delta, cap):
    name = "laplace" if cap is None else "discrete-laplace"
    noise = noise_distribution(name, epsilon=epsilon, weight_cap=cap)
    threshold = filters.threshold_of(noise, delta)
    assert threshold > noise.sensitivity_steps
    assert filters.passing_delta(noise, threshold) <= delta
    if threshold > noise.sensitivity_steps + 1:
        slack = 1 + 1e-6 + 2 * float(noise.rate) * (noise.unit < 1)
        assert filters.passing_delta(noise, threshold - 1) * slack > delta


def test_what_passes_has_the_law_of_noise_beyond_the_threshold():
    noise = noise_distribution("discrete-laplace", epsilon=1.0, weight_cap=None)
    runs, threshold, weight = 60_000, 4, 3.0
    kept = filters.passed(
        np.full(runs, weight), noise, threshold=threshold, source=SeededEntropy(1)
    )
    ratio = math.exp(-1)
    law = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k - 3) for k in range(4, 12)}
    values = [0, *law, 12]
    chances = np.array([0.0, *law.values(), ratio**9 / (1 + ratio)])
    chances[0] = 1 - chances.sum()
    counts = [int((kept == value).sum()) for value in values[:-1]]
    counts.append(runs - sum(counts))
    assert scipy.stats.chisquare(counts, chances * runs).pvalue > 1e-6


def test_heavy_edges_pass_and_light_ones_do_not():
    """P(a wrong one) is below 3 e^-50, by the thresholds of epsilon = 50 and delta = 1e-6."""
    made = run(HIGH_PASS_FILTER, WEIGHTED, epsilon=50.0)
    assert made.estimate.rows.tolist() == [0, 1]
    assert made.estimate.weights == pytest.approx([90, 80], abs=2)
    assert made.guarantee.delta <= 1e-6
    assert made.guarantee.epsilon == 50
    assert "change of any one pair's weight by at most 1" in made.guarantee.neighbours


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_kind_of_graph_is_filtered(graph):
    made = run(HIGH_PASS_FILTER, graph, epsilon=20.0, delta=0.6)
    assert type(made.estimate) is type(graph)
    assert made.estimate.shape == graph.shape


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, True])
def test_the_filter_needs_a_delta(delta):
    with pytest.raises(ParameterError, match="delta"):
        run(HIGH_PASS_FILTER, WEIGHTED, delta=delta)


def test_the_filter_refuses_weights_without_a_bound():
    with pytest.raises(ParameterError, match="weight_cap"):
        run(HIGH_PASS_FILTER, Graph([0], [1], [2.5], vertices=3))


# The sampler.


@pytest.mark.parametrize("contender", [HIGH_PASS_FILTER, TOPOLOGY_SAMPLER])
def test_one_vertex_and_bad_numbers_are_refused(contender):
    with pytest.raises(GraphError, match="one vertex"):
        run(contender, Graph([], [], vertices=1))
    for epsilon in (0, -1.0, math.nan, 1e9):
        with pytest.raises(ParameterError, match="epsilon"):
            run(contender, GRAPHS[0], epsilon=epsilon)
    with pytest.raises(ParameterError, match="seed"):
        run(contender, GRAPHS[0], seed=-1)


def test_the_sampler_refuses_weights():
    with pytest.raises(GraphError, match="weights"):
        run(TOPOLOGY_SAMPLER, WEIGHTED)


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_kind_of_graph_is_sampled(graph):
    for seed in range(6):
        made = run(TOPOLOGY_SAMPLER, graph, seed=seed)
        assert type(made.estimate) is type(graph)
        assert made.estimate.shape == graph.shape
        assert not made.estimate.weighted
        assert made.guarantee.epsilon == 1
        assert made.guarantee.delta == 0


def test_sets_have_the_chances_of_the_exponential_mechanism():
    """All sets of four of nine pairs, three of which are edges, by brute force and by runs."""
    edges, rate = np.array([1, 4, 8]), Fraction(3, 2)
    sets = list(itertools.combinations(range(9), 4))
    weights = np.array([math.exp(1.5 * len(set(each) & {1, 4, 8})) for each in sets])
    chances = weights / weights.sum()
    for each, chance in zip(sets, chances, strict=True):
        overlap = len(set(each) & {1, 4, 8})
        assert sampler.set_chance(overlap, 3, 4, 9, rate) == pytest.approx(chance)
    source, runs = SeededEntropy(2), 12_000
    counts = np.zeros(len(sets))
    for _ in range(runs):
        drawn = sampler.sampled_topology(edges, 4, 9, rate=rate, source=source)
        counts[sets.index(tuple(drawn.tolist()))] += 1
    assert scipy.stats.chisquare(counts, chances * runs).pvalue > 1e-6


@pytest.mark.parametrize(("edges", "chosen"), [(0, 3), (3, 0), (6, 6), (6, 2), (2, 5), (0, 0)])
def test_sets_at_the_ends_of_what_is_possible(edges, chosen):
    source = SeededEntropy(3)
    for _ in range(20):
        drawn = sampler.sampled_topology(
            np.arange(edges), chosen, 6, rate=Fraction(1), source=source
        )
        assert len(set(drawn.tolist())) == chosen
        assert all(0 <= place < 6 for place in drawn)


def test_weights_of_overlaps_are_those_of_binomials():
    edges, chosen, pairs, rate = 60, 50, 500, Fraction(2)
    least, most = sampler.overlaps(edges, chosen, pairs)
    mode, found = sampler.overlap_log_weights(edges, chosen, pairs, rate)
    exact = [
        math.log(math.comb(edges, j) * math.comb(pairs - edges, chosen - j)) + 2 * j
        for j in range(least, most + 1)
    ]
    assert mode == int(np.argmax(exact))
    assert found == pytest.approx(np.array(exact) - max(exact), abs=1e-9)


def test_exact_logarithms_agree_with_the_floats(monkeypatch):
    seen = []

    class Recorded:
        def __init__(self, log_weights, error, exact):
            seen.append((log_weights, error, exact))

        def draw(self, source):  # noqa: ARG002
            return 0

    monkeypatch.setattr(sampler, "Choice", Recorded)
    sampler.draw_overlap(60, 50, 500, Fraction(2), SeededEntropy(0))
    ((log_weights, error, exact),) = seen
    for index in range(len(log_weights)):
        assert abs(float(exact(index)) - log_weights[index]) < error


def test_ranks_among_the_others():
    taken = np.array([0, 3, 4, 9])
    others = [place for place in range(12) if place not in taken]
    assert sampler.among_others(np.arange(8), taken).tolist() == others


def test_subsets_are_uniform():
    source, runs = SeededEntropy(4), 8000
    for count in (2, 4):
        sets = list(itertools.combinations(range(6), count))
        found = np.zeros(len(sets))
        for _ in range(runs):
            found[sets.index(tuple(uniform_subset(count, 6, source).tolist()))] += 1
        assert scipy.stats.chisquare(found).pvalue > 1e-6


def test_large_epsilon_gives_the_graph_back():
    """The size misses by one or more with probability below 2 e^-5, a set by 1e-16: fixed seed."""
    graph = random_graph(30, 2)
    made = run(TOPOLOGY_SAMPLER, graph, epsilon=50.0)
    both = set(zip(graph.rows, graph.columns, strict=True)) & set(
        zip(made.estimate.rows, made.estimate.columns, strict=True)
    )
    assert len(both) >= min(len(graph.rows), len(made.estimate.rows)) > 0


def test_a_hundred_thousand_vertices_are_no_burden():
    """The work grows with the number of edges, not of pairs: this would not fit into memory."""
    generator = np.random.default_rng(0)
    ends = generator.integers(0, 100_000, (2, 200_000))
    graph = Graph(ends[0], ends[1], vertices=100_000)
    made = run(TOPOLOGY_SAMPLER, graph)
    assert abs(len(made.estimate.rows) - len(graph.rows)) < 300  # e^-30
    assert run(HIGH_PASS_FILTER, graph, delta=1e-9).estimate.shape == graph.shape
