"""The top-m filter has the law of a full noisy matrix, and draws only what passes a threshold."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from contender_runs import differs_from_chance
from helpers import random_graph

from graphcuts_dp import Graph
from graphcuts_dp.plugins import SeededEntropy
from scripts.benchmark.contenders import tmf
from scripts.benchmark.contenders.tmf import filtered
from scripts.benchmark.subsets import uniform_subset
from tests.audits.top_m_laws import GraphSize, OutputKind, largest_entries


def output_chances(size: GraphSize, count: int, epsilon: float) -> dict[frozenset[int], float]:
    """Return the chance of each set of `count` pairs; neighbours differ in pair 0."""
    other_edges = set(range(1, 1 + size.others))
    return {
        frozenset(pairs): largest_entries(
            size, OutputKind(count, 0 in pairs, len(other_edges & set(pairs))), count, epsilon
        )
        for pairs in itertools.combinations(range(size.pairs), count)
    }


@pytest.mark.thorough
@pytest.mark.parametrize("few_pairs", [0, 1 << 12])
def test_outputs_have_the_law_of_a_full_noisy_matrix_and_not_that_of_half_the_epsilon(
    few_pairs, monkeypatch
):
    """3 of 6 pairs with noise on all, 1 of 276 by a threshold; chances are integrals."""
    monkeypatch.setattr(tmf, "_FEW_PAIRS", few_pairs)
    n, edges, count, runs = (4, 3, 3, 4000) if few_pairs else (24, 1, 1, 150)
    rows, columns = np.triu_indices(n, 1)
    graph = Graph(rows[:edges], columns[:edges], vertices=n)
    source, epsilon = SeededEntropy(5), 2 if few_pairs else 6
    counts = Counter()
    for _ in range(runs):
        a, b = filtered(graph, count, epsilon=Fraction(epsilon), source=source)
        counts[frozenset(np.searchsorted(rows * n + columns, a * n + b).tolist())] += 1
    size = GraphSize(len(rows), edges - 1, True)
    chances = output_chances(size, count, epsilon)
    assert sum(chances.values()) == pytest.approx(1, abs=1e-9)
    assert set(counts) <= set(chances)

    def is_rejected(chances: dict[frozenset[int], float]) -> bool:
        return any(
            differs_from_chance(counts[output], runs, chance) for output, chance in chances.items()
        )

    assert not is_rejected(chances)
    assert is_rejected(output_chances(size, count, epsilon / 2))


def test_equal_entries_are_taken_with_equal_chances():
    values, runs = np.array([2, 5, 2, 2, 1]), 2000
    source = SeededEntropy(3)
    counts = np.zeros(5)
    for _ in range(runs):
        counts[tmf._largest(values, 2, source)] += 1
    assert counts[1] == runs  # the largest entry
    assert counts[4] == 0  # the least one
    assert not any(differs_from_chance(counts[i], runs, 1 / 3) for i in (0, 2, 3))


def test_a_subset_is_uniform_and_needs_no_memory_for_the_whole_set():
    source, runs = SeededEntropy(4), 3000
    for count, size in ((2, 5), (4, 5), (0, 3), (3, 3)):
        samples = [tuple(uniform_subset(count, size, source).tolist()) for _ in range(runs)]
        expected = list(itertools.combinations(range(size), count))
        assert set(samples) == set(expected)
        for subset in expected if len(expected) > 1 else ():
            assert not differs_from_chance(samples.count(subset), runs, 1 / math.comb(size, count))
    assert len(uniform_subset(1000, 2**40, source)) == 1000


@pytest.mark.thorough
def test_exactly_as_many_pairs_are_returned_as_asked_for():
    """Fewer pass the threshold with a chance of e^-28, whatever the graph."""
    graph = random_graph(600, 1, density=0.002)
    for count in (1, 40, 2000):
        for seed in range(6):
            rows, columns = filtered(graph, count, epsilon=Fraction(1), source=SeededEntropy(seed))
            assert (rows < columns).all()
            assert len(np.unique(rows.astype(np.int64) * 600 + columns)) == len(rows) == count
