"""The top-m filter has the law of a full noisy matrix, and draws only what passes a threshold."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from contender_runs import wrong_by_luck
from helpers import random_graph

from graphcuts_dp import Graph
from graphcuts_dp.plugins import SeededEntropy
from scripts.benchmark.contenders import tmf
from scripts.benchmark.contenders.tmf import filtered
from scripts.benchmark.subsets import uniform_subset
from tests.audits.top_m_laws import GraphSize, OutputKind, largest_entries


def law_of(size, count, epsilon):
    """Of every output of so many edges, by pairs that are kept: pair 0 is the one that differs."""
    edges = set(range(1, 1 + size.others)) | ({0} if size.pair else set())
    return {
        frozenset(kept): largest_entries(
            size, OutputKind(count, 0 in kept, len((edges - {0}) & set(kept))), count, epsilon
        )
        for kept in itertools.combinations(range(size.pairs), count)
    }


@pytest.mark.thorough
@pytest.mark.parametrize("few_pairs", [0, 1 << 12])
def test_the_law_of_what_is_kept(few_pairs, monkeypatch):
    """Of 3 of 6 pairs, by full noise; of 1 of 276, by a threshold. All against integrals."""
    monkeypatch.setattr(tmf, "_FEW_PAIRS", few_pairs)
    n, edges, count, runs = (4, 3, 3, 4000) if few_pairs else (24, 1, 1, 150)
    rows, columns = np.triu_indices(n, 1)
    graph = Graph(rows[:edges], columns[:edges], vertices=n)
    source, epsilon = SeededEntropy(5), 2 if few_pairs else 6
    seen = {}
    for _ in range(runs):
        a, b = filtered(graph, count, epsilon=Fraction(epsilon), source=source)
        kept = frozenset(np.searchsorted(rows * n + columns, a * n + b).tolist())
        seen[kept] = seen.get(kept, 0) + 1
    size = GraphSize(len(rows), edges - 1, True)
    law, other = (law_of(size, count, each) for each in (epsilon, epsilon / 2))
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    assert set(seen) <= set(law)

    def wrong(law):
        return any(wrong_by_luck(seen.get(kept, 0), runs, law[kept]) for kept in law)

    assert not wrong(law)
    assert wrong(other)


def test_equal_entries_are_taken_with_equal_chances():
    values, runs = np.array([2, 5, 2, 2, 1]), 2000
    source = SeededEntropy(3)
    kept = np.zeros(5)
    for _ in range(runs):
        kept[tmf._largest(values, 2, source)] += 1
    assert (kept[1], kept[4]) == (runs, 0)
    assert not any(wrong_by_luck(kept[i], runs, 1 / 3) for i in (0, 2, 3))


def test_a_subset_is_uniform():
    source, runs = SeededEntropy(4), 3000
    for count, size in ((2, 5), (4, 5), (0, 3), (3, 3)):
        drawn = [tuple(uniform_subset(count, size, source).tolist()) for _ in range(runs)]
        expected = list(itertools.combinations(range(size), count))
        assert set(drawn) == set(expected)
        for each in expected if len(expected) > 1 else ():
            assert not wrong_by_luck(drawn.count(each), runs, 1 / math.comb(size, count))
    assert len(uniform_subset(1000, 2**40, source)) == 1000


def test_as_many_pairs_pass_as_are_wanted():
    """Whatever the graph: too few of them pass with probability e^-28."""
    graph = random_graph(600, 1, density=0.002)
    for count in (1, 40, 2000):
        for seed in range(6):
            rows, columns = filtered(graph, count, epsilon=Fraction(1), source=SeededEntropy(seed))
            assert (rows < columns).all()
            assert len(np.unique(rows.astype(np.int64) * 600 + columns)) == len(rows) == count
