"""The top-m filter has the law of a full noisy matrix, and draws only what passes a threshold."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from contender_runs import run, wrong_by_luck
from helpers import random_graph

from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.benchmark.contenders import tmf
from scripts.benchmark.contenders.tmf import TMF, filtered
from scripts.benchmark.subsets import uniform_subset
from tests.audits.top_m_laws import (
    GraphSize,
    OutputKind,
    dropped_come_back,
    filled_up,
    largest_entries,
    outputs,
    pair_of_laws,
    passing_chance,
    pgb_chance,
)


def test_without_noise_it_is_the_graph():
    """At epsilon 50 the count is another one with probability 2 e^-5: with this seed it is not."""
    graph = random_graph(200, 3, density=0.02)
    assert run(TMF, graph, 50.0, seed=1).estimate == graph


def law_by_kind(size, count, epsilon):
    """Of every output of so many edges, by pairs that are kept: pair 0 is the one that differs."""
    found = {}
    edges = set(range(1, 1 + size.others)) | ({0} if size.pair else set())
    for kept in itertools.combinations(range(size.pairs), count):
        others = len((edges - {0}) & set(kept))
        kind = OutputKind(count, 0 in kept, others)
        found[frozenset(kept)] = largest_entries(size, kind, count, epsilon)
    return found


@pytest.mark.parametrize("few_pairs", [0, 1 << 12])
def test_the_law_of_what_is_kept(few_pairs, monkeypatch):
    """Of 3 of 6 pairs, by full noise; of 1 of 276, by a threshold. All against integrals."""
    monkeypatch.setattr(tmf, "_FEW_PAIRS", few_pairs)
    n, edges, count, runs = (4, 3, 3, 4000) if few_pairs else (24, 1, 1, 150)
    rows, columns = np.triu_indices(n, 1)
    graph = Graph(rows[:edges], columns[:edges], vertices=n)
    source, epsilon = SeededEntropy(5), Fraction(2) if few_pairs else Fraction(6)
    seen = {}
    for _ in range(runs):
        a, b = filtered(graph, count, epsilon=epsilon, source=source)
        kept = frozenset(np.searchsorted(rows * n + columns, a * n + b).tolist())
        seen[kept] = seen.get(kept, 0) + 1
    law = law_by_kind(GraphSize(len(rows), edges - 1, True), count, float(epsilon))
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    assert set(seen) <= set(law)
    wrong = [kept for kept, chance in law.items() if wrong_by_luck(seen.get(kept, 0), runs, chance)]
    assert not wrong
    other = law_by_kind(GraphSize(len(rows), edges - 1, True), count, float(epsilon) / 2)
    assert [
        kept for kept, chance in other.items() if wrong_by_luck(seen.get(kept, 0), runs, chance)
    ]


def test_equal_entries_are_taken_with_equal_chances():
    values, runs = np.array([2, 5, 2, 2, 1]), 2000
    source = SeededEntropy(3)
    kept = np.zeros(5)
    for _ in range(runs):
        kept[tmf._largest(values, 2, source)] += 1
    assert kept[1] == runs
    assert kept[4] == 0
    assert not any(wrong_by_luck(kept[i], runs, 1 / 3) for i in (0, 2, 3))


def test_a_subset_is_uniform():
    source, runs = SeededEntropy(4), 3000
    for count, size in ((2, 5), (4, 5), (0, 3), (3, 3)):
        seen = {}
        for _ in range(runs):
            chosen = tuple(uniform_subset(count, size, source).tolist())
            assert list(chosen) == sorted(set(chosen))
            seen[chosen] = seen.get(chosen, 0) + 1
        expected = math.comb(size, count)
        assert set(seen) <= set(itertools.combinations(range(size), count))
        assert len(seen) == expected
        assert expected == 1 or not any(
            wrong_by_luck(times, runs, 1 / expected) for times in seen.values()
        )
    assert len(uniform_subset(1000, 2**40, source)) == 1000


def test_as_many_pairs_pass_as_are_wanted():
    """Whatever the graph: too few of them pass with probability e^-28."""
    graph = random_graph(600, 1, density=0.002)
    for count in (1, 40, 2000):
        for seed in range(6):
            rows, columns = filtered(graph, count, epsilon=Fraction(1), source=SeededEntropy(seed))
            assert len(rows) == count
            assert len(np.unique(rows.astype(np.int64) * 600 + columns)) == count
            assert (rows < columns).all()


@pytest.mark.parametrize("law", [largest_entries, filled_up, dropped_come_back])
def test_chances_of_all_outputs_add_up(law):
    pair = pair_of_laws(law, 28, 2, Fraction(1), share=Fraction(1, 2))
    most = {"abs": 1e-9} if law is not filled_up else {"abs": 1e-3}  # it may never end
    assert pair.first.sum() == pytest.approx(1, **most)
    assert pair.second.sum() == pytest.approx(1, **most)
    assert len(pair.first) == len(list(outputs(GraphSize(28, 2, False))))


@pytest.mark.parametrize("pairs", [45, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_at_the_published_threshold_as_many_pairs_pass_as_there_are_edges(pairs, epsilon):
    """And not at that of PGB's code."""
    for count in (1, 20, pairs // 2 - 1):
        passing = [chance(pairs, count, epsilon) for chance in (passing_chance, pgb_chance)]
        # From the chance of an edge that of another pair: its threshold is higher by 1.
        others = []
        for chance in passing:
            threshold = 1 - np.sign(chance - 0.5) * -np.log(2 * min(chance, 1 - chance)) / epsilon
            tail = np.exp(-epsilon * abs(threshold)) / 2
            others.append(tail if threshold >= 0 else 1 - tail)
        expected = [
            count * chance + (pairs - count) * other
            for chance, other in zip(passing, others, strict=True)
        ]
        assert expected[0] == pytest.approx(count)
        assert count > pairs / 4 or expected[1] != pytest.approx(count, rel=0.01)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_what_is_published_exceeds_epsilon_and_the_filter_does_not(epsilon):
    losses = [
        pair_of_laws(law, 66, 1, Fraction(epsilon), share=share).loss(Claim(epsilon))
        for law, share in (
            (largest_entries, tmf.COUNT_SHARE),
            (filled_up, tmf.COUNT_SHARE),
            (dropped_come_back, Fraction(1, 2)),
        )
    ]
    assert losses[0] <= epsilon * (1 + 1e-9)
    assert losses[1] > epsilon
    assert losses[2] > epsilon
