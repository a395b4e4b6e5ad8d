"""The high-pass filter, the topology sampler and LouvainDP: exact laws of what passes."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from contender_runs import edges_of, follows, run
from helpers import random_graph

from graphcuts_dp import Graph
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.plugins import SeededEntropy
from scripts.benchmark.contenders import high_pass_filter as filters
from scripts.benchmark.contenders import louvain_dp
from scripts.benchmark.contenders import topology_sampler as sampler

RATIO = math.exp(-1)  # of discrete Laplace noise of rate 1


def noisy_law(true, values):
    """Chances of these values of a count with discrete Laplace noise, of more, and of less."""
    law = (1 - RATIO) / (1 + RATIO) * RATIO ** np.abs(np.array(values) - true)
    more = RATIO ** (values[-1] + 1 - true) / (1 + RATIO)
    return [*law, more, 1 - law.sum() - more]


def counted(kept, values):
    """How often each value came out, then larger ones, then nothing."""
    found = [int((kept == value).sum()) for value in values]
    return [*found, int((kept > values[-1]).sum()), int((kept == 0).sum())]


# The filter.


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 7.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.6])
@pytest.mark.parametrize("cap", [None, 1.0, 30.0])
def test_the_threshold_is_the_least_that_delta_allows(epsilon, delta, cap):
    name = "laplace" if cap is None else "discrete-laplace"
    noise = noise_distribution(name, epsilon=epsilon, max_weight=cap)
    threshold = filters.threshold_of(noise, delta)
    assert threshold > noise.sensitivity_steps
    assert filters.passing_delta(noise, threshold) <= delta
    if threshold > noise.sensitivity_steps + 1:
        slack = 1 + 1e-6 + 2 * float(noise.rate) * (noise.unit < 1)
        assert filters.passing_delta(noise, threshold - 1) * slack > delta


def test_what_passes_has_the_law_of_noise_beyond_the_threshold():
    noise = noise_distribution("discrete-laplace", epsilon=1.0, max_weight=None)
    weights, values = np.full(60_000, 3.0), range(4, 12)
    kept = filters.passed(weights, noise, threshold=4, source=SeededEntropy(1))
    assert follows(counted(kept, values), noisy_law(3, values))


def test_heavy_edges_pass_and_light_ones_do_not():
    """P(a wrong one) is below 3 e^-50, by the thresholds of epsilon = 50 and delta = 1e-6."""
    weighted = Graph([0, 1, 2], [1, 2, 3], [90.0, 80.0, 0.25], vertices=4, max_weight_change=1)
    made = run(filters.HIGH_PASS_FILTER, weighted, epsilon=50.0)
    assert made.estimate.rows.tolist() == [0, 1]
    assert made.estimate.weights == pytest.approx([90, 80], abs=2)
    assert made.guarantee.delta <= 1e-6
    assert "change of any one pair's weight by at most 1" in made.guarantee.neighbours


# The sampler.


@pytest.mark.thorough
def test_sets_have_the_chances_of_the_exponential_mechanism():
    """All sets of four of nine pairs, three of which are edges, by brute force and by runs."""
    edges, rate = np.array([1, 4, 8]), Fraction(3, 2)
    sets = list(itertools.combinations(range(9), 4))
    overlaps = [len(set(each) & {1, 4, 8}) for each in sets]
    weights = np.exp(1.5 * np.array(overlaps))
    chances = [sampler.set_chance(overlap, 3, 4, 9, rate) for overlap in overlaps]
    assert chances == pytest.approx(weights / weights.sum())
    source, counts = SeededEntropy(2), dict.fromkeys(sets, 0)
    for _ in range(12_000):
        drawn = sampler.sampled_topology(edges, 4, 9, rate=rate, source=source)
        counts[tuple(drawn.tolist())] += 1
    assert follows(list(counts.values()), chances)


@pytest.mark.parametrize(("edges", "chosen"), [(0, 3), (3, 0), (6, 6), (6, 2), (2, 5), (0, 0)])
def test_sets_at_the_ends_of_what_is_possible(edges, chosen):
    source = SeededEntropy(3)
    for _ in range(20):
        own = np.arange(edges)
        drawn = sampler.sampled_topology(own, chosen, 6, rate=Fraction(1), source=source)
        assert len(set(drawn.tolist()) & set(range(6))) == len(drawn) == chosen


@pytest.mark.parametrize(("edges", "chosen", "pairs"), [(60, 50, 500), (3000, 2500, 1_000_000)])
def test_weights_of_overlaps_are_those_of_binomials(edges, chosen, pairs, monkeypatch):
    """The floats, and the exact logarithms within the error that is stated."""
    seen, rate = [], Fraction(2)

    class Recorded:
        def __init__(self, *given):
            seen.append(given)

        def draw(self, source):  # noqa: ARG002
            return 0

    monkeypatch.setattr(sampler, "Choice", Recorded)
    sampler.draw_overlap(edges, chosen, pairs, rate, SeededEntropy(0))
    ((found, error, exact),) = seen
    least, most = sampler.overlaps(edges, chosen, pairs)
    mode, again = sampler.overlap_log_weights(edges, chosen, pairs, rate)
    assert len(found) == most - least + 1
    assert (found == again).all()
    assert found.max() == found[mode] == 0

    def log_weight(index):
        j = least + index
        ways = math.comb(edges, j) * math.comb(pairs - edges, chosen - j)
        return float(Decimal(ways).ln()) + 2 * j

    for index in {0, 7, max(mode - 1, 0), mode + 1, min(mode + 20, most - least), most - least}:
        assert found[index] == pytest.approx(log_weight(index) - log_weight(mode), abs=1e-9)
        assert abs(float(exact(index)) - found[index]) < error


def test_ranks_among_the_others():
    taken = np.array([0, 3, 4, 9])
    others = [place for place in range(12) if place not in taken]
    assert sampler.among_others(np.arange(8), taken).tolist() == others


def test_large_epsilon_gives_the_graph_back():
    """The size misses by one or more with probability below 2 e^-5, a set by 1e-16: fixed seed."""
    graph = random_graph(30, 2)
    made = run(sampler.TOPOLOGY_SAMPLER, graph, epsilon=50.0).estimate
    assert len(edges_of(graph) & edges_of(made)) >= min(len(graph.rows), len(made.rows)) > 0


# LouvainDP and its block model.


def test_cells_that_pass_have_the_law_of_noise_on_every_cell():
    """Of four cells with 0, 0, 1 and 3 edges: cell by cell, and two of them together."""
    counts, threshold, runs, source = np.array([0, 0, 1, 3]), 2, 6000, SeededEntropy(1)
    given = {"rate": Fraction(1), "threshold": threshold, "source": source}
    shown = np.array([louvain_dp.passing_cells(counts, **given) for _ in range(runs)])
    values = range(threshold, 7)
    for cell, count in enumerate(counts):
        assert follows(counted(shown[:, cell], values), noisy_law(count, values))
    passed = shown[:, :2] > 0
    both = [(passed == pair).all(axis=1).sum() for pair in itertools.product((0, 1), repeat=2)]
    q = RATIO**threshold / (1 + RATIO)
    assert follows(both, [(1 - q) ** 2, q * (1 - q), q * (1 - q), q**2])


@pytest.mark.parametrize(("filled", "cells"), [(0, 1), (1, 1), (50, 1000), (999, 1000), (-5, 10)])
def test_about_as_many_empty_cells_pass_as_there_are_filled_ones(filled, cells):
    threshold = louvain_dp.filter_threshold(filled, cells, Fraction(1, 3))
    taken = min(max(filled, 1), cells)
    passing, before = (
        (cells - taken) * math.exp(-least / 3) / (1 + math.exp(-1 / 3))
        for least in (threshold, threshold - 1)
    )
    assert threshold >= 1
    assert passing <= taken * (1 + 1e-9)
    assert threshold == 1 or before > taken * (1 - 1e-9)


def test_blocks_hold_the_edges_at_a_large_epsilon():
    """Of the matrix at most 15 cells of rate 25: one is off with probability below 30 e^-25."""
    graph, communities = random_graph(70, 5), np.arange(70) % 3
    noise = {"rate": Fraction(50), "source": SeededEntropy(2)}
    density = louvain_dp.block_densities(graph, communities, **noise)
    for a, b in itertools.product(range(3), repeat=2):
        block = graph.dense()[communities == a][:, communities == b]
        pairs = block.size - (a == b) * len(block)
        assert density[a, b] == pytest.approx(block.sum() / pairs)
    matrix = run(louvain_dp.LOUVAIN_DP, graph, 50.0).estimate
    assert matrix.sum() / 2 == pytest.approx(len(graph.rows), abs=2)
