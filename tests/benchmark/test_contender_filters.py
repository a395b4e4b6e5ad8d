"""The high-pass filter, the topology sampler and LouvainDP: exact laws of their outputs."""

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


def noisy_law(true_count: int, values: range) -> list[float]:
    """Return the chances of each value of a noisy count, of larger ones, and of smaller ones."""
    chances = (1 - RATIO) / (1 + RATIO) * RATIO ** np.abs(np.array(values) - true_count)
    larger = RATIO ** (values[-1] + 1 - true_count) / (1 + RATIO)
    return [*chances, larger, 1 - chances.sum() - larger]


def outcome_counts(outcomes: np.ndarray, values: range) -> list[int]:
    """Return how often each value occurs, then larger ones, then 0, of values below a threshold."""
    counts = [int((outcomes == value).sum()) for value in values]
    return [*counts, int((outcomes > values[-1]).sum()), int((outcomes == 0).sum())]


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


def test_weights_that_pass_have_the_law_of_noise_beyond_the_threshold():
    noise = noise_distribution("discrete-laplace", epsilon=1.0, max_weight=None)
    weights, values = np.full(60_000, 3.0), range(4, 12)
    outcomes = filters.passed(weights, noise, threshold=4, source=SeededEntropy(1))
    assert follows(outcome_counts(outcomes, values), noisy_law(3, values))


def test_heavy_edges_pass_and_light_ones_do_not():
    """An error has a chance below 3 e^-50, by the threshold of epsilon = 50 and delta = 1e-6."""
    weighted = Graph([0, 1, 2], [1, 2, 3], [90.0, 80.0, 0.25], vertices=4, max_weight_change=1)
    release = run(filters.HIGH_PASS_FILTER, weighted, epsilon=50.0)
    assert release.estimate.rows.tolist() == [0, 1]
    assert release.estimate.weights == pytest.approx([90, 80], abs=2)
    assert release.guarantee.delta <= 1e-6
    assert "change of any one pair's weight by at most 1" in release.guarantee.neighbours


# The sampler.


@pytest.mark.thorough
def test_sets_have_the_chances_of_the_exponential_mechanism():
    """On all sets of four of nine pairs, three of which are edges."""
    edges, rate = np.array([1, 4, 8]), Fraction(3, 2)
    sets = list(itertools.combinations(range(9), 4))
    overlaps = [len(set(pairs) & {1, 4, 8}) for pairs in sets]
    weights = np.exp(1.5 * np.array(overlaps))
    chances = [sampler.set_chance(overlap, 3, 4, 9, rate) for overlap in overlaps]
    assert chances == pytest.approx(weights / weights.sum())
    source, counts = SeededEntropy(2), dict.fromkeys(sets, 0)
    for _ in range(12_000):
        sample = sampler.sampled_topology(edges, 4, 9, rate=rate, source=source)
        counts[tuple(sample.tolist())] += 1
    assert follows(list(counts.values()), chances)


@pytest.mark.parametrize(("edges", "size"), [(0, 3), (3, 0), (6, 6), (6, 2), (2, 5), (0, 0)])
def test_a_sampled_set_has_the_size_asked_for_even_if_it_has_no_pair_or_all(edges, size):
    source = SeededEntropy(3)
    for _ in range(20):
        sample = sampler.sampled_topology(
            np.arange(edges), size, 6, rate=Fraction(1), source=source
        )
        assert len(set(sample.tolist()) & set(range(6))) == len(sample) == size


@pytest.mark.parametrize(("edges", "size", "pairs"), [(60, 50, 500), (3000, 2500, 1_000_000)])
def test_log_weights_of_overlaps_are_those_of_binomials_within_the_stated_error(
    edges, size, pairs, monkeypatch
):
    calls, rate = [], Fraction(2)

    class Recorded:
        def __init__(self, *arguments):
            calls.append(arguments)

        def draw(self, source):  # noqa: ARG002
            return 0

    monkeypatch.setattr(sampler, "Choice", Recorded)
    sampler.draw_overlap(edges, size, pairs, rate, SeededEntropy(0))
    ((log_weights, stated_error, exact),) = calls
    least, most = sampler.overlaps(edges, size, pairs)
    mode, expected = sampler.overlap_log_weights(edges, size, pairs, rate)
    assert len(log_weights) == most - least + 1
    assert (log_weights == expected).all()
    assert log_weights.max() == log_weights[mode] == 0

    def log_weight(index):
        j = least + index
        ways = math.comb(edges, j) * math.comb(pairs - edges, size - j)
        return float(Decimal(ways).ln()) + 2 * j

    for index in {0, 7, max(mode - 1, 0), mode + 1, min(mode + 20, most - least), most - least}:
        assert log_weights[index] == pytest.approx(log_weight(index) - log_weight(mode), abs=1e-9)
        assert abs(float(exact(index)) - log_weights[index]) < stated_error


def test_ranks_count_the_pairs_that_are_not_taken():
    taken = np.array([0, 3, 4, 9])
    others = [pair for pair in range(12) if pair not in taken]
    assert sampler.among_others(np.arange(8), taken).tolist() == others


def test_a_large_epsilon_returns_nearly_all_edges():
    """A wrong size has a chance below 2 e^-5, a wrong set one of 1e-16: the seed is fixed."""
    graph = random_graph(30, 2)
    estimate = run(sampler.TOPOLOGY_SAMPLER, graph, epsilon=50.0).estimate
    assert len(edges_of(graph) & edges_of(estimate)) >= min(len(graph.rows), len(estimate.rows)) > 0


# LouvainDP and its block model.


def test_cells_that_pass_have_the_law_of_noise_on_every_cell():
    """On four cells with 0, 0, 1 and 3 edges."""
    counts, threshold, runs, source = np.array([0, 0, 1, 3]), 2, 6000, SeededEntropy(1)
    options = {"rate": Fraction(1), "threshold": threshold, "source": source}
    outcomes = np.array([louvain_dp.passing_cells(counts, **options) for _ in range(runs)])
    values = range(threshold, 7)
    for cell, count in enumerate(counts):
        assert follows(outcome_counts(outcomes[:, cell], values), noisy_law(count, values))
    # The two empty cells pass independently, each with the same chance.
    passed = outcomes[:, :2] > 0
    counts_of_pairs = [
        (passed == pair).all(axis=1).sum() for pair in itertools.product((0, 1), repeat=2)
    ]
    chance = RATIO**threshold / (1 + RATIO)
    one = chance * (1 - chance)
    assert follows(counts_of_pairs, [(1 - chance) ** 2, one, one, chance**2])


@pytest.mark.parametrize(("filled", "cells"), [(0, 1), (1, 1), (50, 1000), (999, 1000), (-5, 10)])
def test_about_as_many_empty_cells_pass_as_there_are_filled_ones(filled, cells):
    threshold = louvain_dp.filter_threshold(filled, cells, Fraction(1, 3))
    filled_cells = min(max(filled, 1), cells)
    passing, passing_below = (
        (cells - filled_cells) * math.exp(-least / 3) / (1 + math.exp(-1 / 3))
        for least in (threshold, threshold - 1)
    )
    assert threshold >= 1
    assert passing <= filled_cells * (1 + 1e-9)
    assert threshold == 1 or passing_below > filled_cells * (1 - 1e-9)


def test_densities_of_blocks_are_exact_at_a_large_epsilon():
    """One of at most 15 cells with noise of rate 25 is wrong with a chance below 30 e^-25."""
    graph, communities = random_graph(70, 5), np.arange(70) % 3
    noise = {"rate": Fraction(50), "source": SeededEntropy(2)}
    density = louvain_dp.block_densities(graph, communities, **noise)
    for a, b in itertools.product(range(3), repeat=2):
        block = graph.dense()[communities == a][:, communities == b]
        pairs = block.size - (a == b) * len(block)
        assert density[a, b] == pytest.approx(block.sum() / pairs)
    matrix = run(louvain_dp.LOUVAIN_DP, graph, 50.0).estimate
    assert matrix.sum() / 2 == pytest.approx(len(graph.rows), abs=2)
