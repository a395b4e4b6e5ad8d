"""The high-pass filter and the topology sampler: exact laws, and what they refuse."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy
from contender_runs import run
from helpers import random_graph

from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.benchmark.contenders import high_pass_filter as filters
from scripts.benchmark.contenders import topology_sampler as sampler
from scripts.benchmark.contenders.high_pass_filter import HIGH_PASS_FILTER
from scripts.benchmark.contenders.topology_sampler import TOPOLOGY_SAMPLER

WEIGHTED = Graph([0, 1, 2], [1, 2, 3], [90.0, 80.0, 0.25], vertices=4, hide_change=1)


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


# The sampler.


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


@pytest.mark.parametrize(("edges", "chosen", "pairs"), [(60, 50, 500), (3000, 2500, 1_000_000)])
def test_weights_of_overlaps_are_those_of_binomials(edges, chosen, pairs, monkeypatch):
    """The floats, and the exact logarithms within the error that is stated."""
    seen, rate = [], Fraction(2)

    class Recorded:
        def __init__(self, log_weights, error, exact):
            seen.append((log_weights, error, exact))

        def draw(self, source):  # noqa: ARG002
            return 0

    monkeypatch.setattr(sampler, "Choice", Recorded)
    sampler.draw_overlap(edges, chosen, pairs, rate, SeededEntropy(0))
    ((found, error, exact),) = seen
    least, most = sampler.overlaps(edges, chosen, pairs)
    mode, again = sampler.overlap_log_weights(edges, chosen, pairs, rate)
    assert len(found) == most - least + 1
    assert (found == again).all()

    def log_weight(index):
        j = least + index
        return (
            float(Decimal(math.comb(edges, j) * math.comb(pairs - edges, chosen - j)).ln()) + 2 * j
        )

    places = {0, 7, max(mode - 1, 0), mode, mode + 1, min(mode + 20, most - least), most - least}
    for index in sorted(places):
        assert found[index] == pytest.approx(log_weight(index) - log_weight(mode), abs=1e-9)
        assert abs(float(exact(index)) - found[index]) < error
    assert found.max() == found[mode] == 0


def test_ranks_among_the_others():
    taken = np.array([0, 3, 4, 9])
    others = [place for place in range(12) if place not in taken]
    assert sampler.among_others(np.arange(8), taken).tolist() == others


def test_large_epsilon_gives_the_graph_back():
    """The size misses by one or more with probability below 2 e^-5, a set by 1e-16: fixed seed."""
    graph = random_graph(30, 2)
    made = run(TOPOLOGY_SAMPLER, graph, epsilon=50.0)
    both = set(zip(graph.rows, graph.columns, strict=True)) & set(
        zip(made.estimate.rows, made.estimate.columns, strict=True)
    )
    assert len(both) >= min(len(graph.rows), len(made.estimate.rows)) > 0
