"""Distinguishers over a list: exact counts, exact probabilities, shortfall, refusals.

Chi-square tests fail with probability 1e-7 if their seed were drawn at random.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from distinguisher_cases import check_frequencies, random_cuts
from helpers import random_graph

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.median import all_graphs
from graphcuts_dp.learn.rules import frieze_kannan
from graphcuts_dp.offline.distinguisher import SAMPLINGS, Exponential
from graphcuts_dp.offline.query_lists import SCORES, CutList, Scoring
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy

UNIVERSE = Universe(12)
GRAPH = random_graph(12, 1, density=0.4)


def tuned(queries, epsilon=Fraction(1), **options):
    return Exponential(queries=CutList(UNIVERSE, queries), epsilon=epsilon, **options)


def noisy_max_distribution(scores, rate):
    """P(i wins), ties to the first, by summing over the winner's noise."""
    r = math.exp(-rate)
    top = max(scores) - min(scores) + int(40 / rate) + 2
    chances = []
    for i, own in enumerate(scores):
        chance = 0.0
        for t in range(top):
            value = own + t
            term = (1 - r) * r**t
            for j, other in enumerate(scores):
                if j != i:
                    below = value - other + (0 if j < i else 1)  # its noise is less than this
                    term *= 1 - r**below if below > 0 else 0.0
            chance += term
        chances.append(chance)
    return np.array(chances)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_drawn_entries_have_the_stated_probabilities(sampling):
    scores = [4, 2, 2, 0, -3]
    rate = Fraction(1, 2)
    epsilon = rate * (1 << 20)  # a sub-step is 2^-20 of an edge
    found_by = tuned([CutQuery([0])] * 5, epsilon, score="signed", sampling=sampling)
    assert found_by.scoring.rate(epsilon) == rate
    source = SeededEntropy(1)
    drawn = [found_by.draw(np.array(scores), source) for _ in range(5000)]
    if sampling == "noisy-max":
        distribution = noisy_max_distribution(scores, float(rate))
    else:
        distribution = np.exp(float(rate) * np.array(scores))
        distribution /= distribution.sum()
    check_frequencies(np.bincount(drawn, minlength=5), distribution)


@pytest.mark.parametrize("monotone", [False, True])
def test_noisy_max_is_private_by_enumeration(monotone):
    """All neighbouring scores of three entries; twice the rate would break the promise."""
    rate, worst = 0.7, 0.0
    epsilon = rate if monotone else 2 * rate
    distributions = {}
    moves = itertools.product((0, 1) if monotone else (-1, 0, 1), repeat=3)
    for move in moves:
        for base in itertools.product((0,), (0, 2), (0, 1, 4)):
            one = distributions.setdefault(base, noisy_max_distribution(base, rate))
            other = noisy_max_distribution([b + d for b, d in zip(base, move, strict=True)], rate)
            worst = max(worst, np.abs(np.log(one / other)).max())
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.6 * epsilon


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("score", SCORES)
def test_shortfall_and_signs(score, sampling):
    """50 calls: each falls short with probability 1e-8 at most."""
    queries = random_cuts(UNIVERSE, 30, 2)
    found_by = tuned(queries, Fraction(20), score=score, sampling=sampling)
    hypothesis = DenseHypothesis.constant(UNIVERSE, 0.45)
    gaps = np.array([q.value(GRAPH) - hypothesis.estimate(q) for q in queries])
    source = SeededEntropy(3)
    search = found_by.begin(GRAPH, source)
    best = gaps.max() if score == "signed" else np.abs(gaps).max()
    for _ in range(50):
        found = search.find(hypothesis, source)
        gap = found.query.value(GRAPH) - hypothesis.estimate(found.query)
        assert (found.sign is None) is (score == "absolute")
        reached = abs(gap) if found.sign is None else found.sign * gap
        assert reached >= best - found_by.shortfall(1e-8)


def test_shortfall_is_that_of_the_paper():
    """DR14 Theorem 5.5, in edges: (2/epsilon) ln(k/gamma)."""
    found_by = tuned(random_cuts(UNIVERSE, 30, 2), Fraction(1, 2), score="absolute")
    assert found_by.shortfall(0.1) == pytest.approx(4 * math.log(300), abs=1e-5)


@pytest.mark.parametrize(("sampling", "factor"), [("exponential", 8), ("noisy-max", 2)])
def test_budgets(sampling, factor):
    found_by = tuned(random_cuts(UNIVERSE, 3, 2), sampling=sampling)
    shared = found_by.with_rho(0.05, rounds=10)
    assert 10 * shared.epsilon**2 / factor <= Fraction(0.05)
    assert 10 * shared.call.rho == pytest.approx(0.05, rel=1e-9)
    assert found_by.with_epsilon(Fraction(1), rounds=3).call.pure == Fraction(1, 3)
    assert (found_by.setup, found_by.name) == (None, "exponential")


@pytest.mark.parametrize(
    "graph",
    [
        GRAPH,
        random_graph(12, 1, density=0.4, largest=3.0, weight_cap=3.0),
        random_graph((2, 4), 2, density=0.4),
        random_graph(7, 2, density=0.4, directed=True),
    ],
    ids=["plain", "weighted", "sides", "arcs"],
)
def test_counts_of_a_list_are_exact(graph):
    grid, universe = Grid.of(graph), Universe.of(graph)
    queries = random_cuts(universe, 40, 5)
    listed = CutList(universe, queries)
    expected = [grid.count(query, graph) for query in queries]
    assert listed.counts(graph, grid).tolist() == expected
    assert listed.most_pairs == max(universe.pairs_between(query) for query in queries)


def test_lists_answer_as_their_queries():
    queries = random_cuts(UNIVERSE, 20, 6)
    cuts = CutList(UNIVERSE, queries)
    S, T = (np.array(masks) for masks in zip(*(UNIVERSE.masks(q) for q in queries), strict=True))
    assert list(map(repr, CutList.of_masks(UNIVERSE, S, T))) == list(map(repr, cuts))
    assert len(cuts[3:5]) == 2
    assert cuts[-1].value(GRAPH) == queries[-1].value(GRAPH)
    for hypothesis in (
        DenseHypothesis(UNIVERSE, GRAPH.dense() * 0.7),
        frieze_kannan(UNIVERSE, alpha=1.0, total_weight=20.0).initial(),
        all_graphs(Universe(4)),
    ):
        universe = hypothesis.universe
        some = random_cuts(universe, 20, 7)
        expected = [hypothesis.estimate(query) for query in some]
        np.testing.assert_allclose(CutList(universe, some).answers(hypothesis), expected)


def test_large_sparse_graphs():
    large = Graph([0, 5], [9999, 7], vertices=10_000)
    queries = [CutQuery(range(6)), CutQuery(range(9000, 10_000))]
    cuts = CutList(Universe(10_000), queries)
    assert cuts.counts(large, Grid()).tolist() == [2, 1]
    sparse = frieze_kannan(Universe(10_000), alpha=10.0, total_weight=50.0).initial()
    np.testing.assert_allclose(cuts.answers(sparse), sparse.estimate_all(queries))


def test_answers_of_a_hypothesis_far_off_overflow_nothing():
    scoring = Scoring(Universe(5), Grid(), "two-signed")
    found = scoring.rounded(np.array([1e200, -1e200, 3.0]))
    assert found.tolist() == [2**60, -(2**60), 3 * scoring.substeps]
