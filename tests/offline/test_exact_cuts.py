"""The exponential mechanism over all cuts, against enumeration.

Chi-square tests fail with probability 1e-7 if their seed were drawn at random.
"""

import decimal
import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from distinguisher_cases import (
    all_graphs,
    check_frequencies,
    disjoint_pairs,
    random_cuts,
)
from helpers import random_graph

from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.offline import distinguisher
from graphcuts_dp.offline.distinguisher import CutSampler, ExactCuts
from graphcuts_dp.offline.query_lists import SCORES
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy


def random_gaps(shape, seed, *, largest=3):
    gaps = np.random.default_rng(seed).integers(-largest, largest + 1, shape)
    if shape[0] == shape[1]:
        gaps = np.triu(gaps, 1)
        gaps = gaps + gaps.T
    return gaps


def distribution(gaps, rate, score, pairs):
    """Outcome -> probability by enumeration."""
    weights = {}
    for S, T in pairs:
        r = int(gaps[S][:, T].sum())
        name = (*S, *T)
        if score == "two-signed":
            weights |= {(name, 1): math.exp(rate * r), (name, -1): math.exp(-rate * r)}
        elif score == "absolute":
            weights[name, None] = math.exp(rate * abs(r))
        else:
            weights[name, 1] = math.exp(rate * r)
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def check_sampler(gaps, rate, score, draws, seed, *, bipartite=False, drawn_at=None):
    sampler = CutSampler(gaps, drawn_at or rate, score=score, bipartite=bipartite)
    source = SeededEntropy(seed)
    seen = Counter()
    for _ in range(draws):
        S, T, sign = sampler.draw(source)
        seen[(*S, *T), sign] += 1
    pairs = disjoint_pairs(len(gaps))
    if bipartite:
        sides = [itertools.product((False, True), repeat=size) for size in gaps.shape]
        pairs = [tuple(map(np.array, pair)) for pair in itertools.product(*sides)]
    expected = distribution(gaps, float(rate), score, pairs)
    assert set(seen) <= set(expected)
    check_frequencies([seen[o] for o in expected], list(expected.values()))


ARCS = np.random.default_rng(7).integers(-3, 4, (4, 4))
np.fill_diagonal(ARCS, 0)


@pytest.mark.parametrize("score", SCORES)
def test_probabilities_are_those_of_enumeration(score):
    check_sampler(random_gaps((4, 4), 1), Fraction(1, 5), score, 4000, 1)
    check_sampler(ARCS, Fraction(1, 5), score, 4000, 7)


@pytest.mark.slow
@pytest.mark.parametrize("score", SCORES)
def test_probabilities_are_those_of_enumeration_in_a_million_draws(score):
    check_sampler(random_gaps((6, 6), 2), Fraction(1, 5), score, 1_000_000, 2)


@pytest.mark.parametrize("shape", [(2, 4), (4, 2)])
@pytest.mark.parametrize("score", SCORES)
def test_bipartite_probabilities(shape, score):
    check_sampler(random_gaps(shape, 3), Fraction(1, 4), score, 2000, 3, bipartite=True)


def test_a_sampler_with_twice_the_rate_does_not_fit():
    with pytest.raises(AssertionError):
        check_sampler(
            random_gaps((4, 4), 1), Fraction(1, 5), "signed", 4000, 1, drawn_at=Fraction(2, 5)
        )


@pytest.mark.parametrize("score", SCORES)
def test_sums_in_floats_are_within_their_bound(score):
    """Also over several chunks, and with gaps that make e^x overflow."""
    gaps = random_gaps((12, 12), 4, largest=500)
    sampler = CutSampler(gaps, Fraction(3, 2), score=score, bipartite=False)
    sums = list(sampler._log_sums())
    for index in np.random.default_rng(5).integers(0, len(sampler._signs) << 12, 20):
        exact = sampler._exact_log_sum(int(index))
        chunk, row = divmod(int(index) & ((1 << 12) - 1), 1 << 10)
        found = sums[chunk][int(index) >> 12][row]
        assert abs(float(exact) - found) <= sampler._choice._error


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("weights", ["nothing", "much", "both"])
@pytest.mark.parametrize("directed", [False, True])
def test_privacy_by_enumeration_of_all_neighbours(score, weights, directed):
    """Log-ratios of all outcomes on all pairs of neighbours with 4 vertices, 3 if directed."""
    n = 3 if directed else 4
    matrix = np.full((n, n), 3.0 if weights == "much" else 0.0)
    if weights == "both":  # the pair {0, 1} is in a cut of large positive gap, and of negative
        matrix[0, 1:] = matrix[1:, 0] = (3, -10) if directed else (3, -10, 10)
    epsilon = Fraction(6)
    universe = Universe(n, directed=directed)
    tuned = ExactCuts(universe=universe, epsilon=epsilon, score=score)
    rate = tuned.scoring.rate(epsilon)
    hypothesis = DenseHypothesis(universe, matrix)
    distributions = {}
    pairs = list(disjoint_pairs(n))
    for bits, graph in all_graphs(n, directed=directed):
        gaps = tuned.counted(graph) - tuned.scoring.rounded(hypothesis.dense())
        distributions[bits] = np.log(list(distribution(gaps, float(rate), score, pairs).values()))
    worst = 0.0
    for bits, logs in distributions.items():
        for pair in range(6):
            other = tuple(bit != (i == pair) for i, bit in enumerate(bits))
            ratios = logs - distributions[other]
            worst = max(worst, np.abs(ratios).max())
            # the range that the zCDP bound rests on
            assert ratios.max() - ratios.min() <= float(epsilon) * (1 + 1e-9)
    assert worst <= float(epsilon) * (1 + 1e-9)
    if directed:  # gaps of both signs need a third vertex beside a pair
        assert worst >= 0.4 * float(epsilon)
    elif weights == "both" or score != "absolute":  # else all |gaps| move in one direction
        assert worst >= 0.9 * float(epsilon)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("directed", [False, True])
def test_shortfall_holds(score, directed):
    """The probability of falling short, by enumeration, is at most gamma for any gamma."""
    graph = random_graph(6, 6, density=0.5, directed=directed)
    universe = Universe.of(graph)
    hypothesis = DenseHypothesis.constant(universe, 0.3)
    tuned = ExactCuts(universe=universe, epsilon=Fraction(2), score=score)
    gaps = tuned.counted(graph) - tuned.scoring.rounded(hypothesis.dense())
    rate, unit = float(tuned.scoring.rate(tuned.epsilon)), tuned.scoring.unit
    found = distribution(gaps, rate, score, disjoint_pairs(6))

    def value(outcome):
        name, sign = outcome
        S, T = np.array(name[:6], bool), np.array(name[6:], bool)
        r = gaps[S][:, T].sum() * unit
        return abs(r) if sign is None else sign * r

    values = np.array([value(outcome) for outcome in found])
    chances = np.array(list(found.values()))
    for gamma in (0.5, 0.1, 1e-3):
        short = values < values.max() - tuned.shortfall(gamma)
        assert chances[short].sum() <= gamma


@pytest.mark.parametrize(("n", "epsilon"), [(14, 20), pytest.param(22, 50, marks=pytest.mark.slow)])
def test_found_cuts_are_near_the_largest_gap(n, epsilon):
    """Near the best of 2000 cuts, but for 1e-6 if the seed were drawn at random; 22 is the most."""
    graph, universe = random_graph(n, 10, density=0.4), Universe(n)
    hypothesis = DenseHypothesis.constant(universe, 0.4)
    tuned = ExactCuts(universe=universe, epsilon=Fraction(epsilon))
    source = SeededEntropy(10)
    found = tuned.begin(graph, source).find(hypothesis, source)
    gap = found.sign * (found.query.value(graph) - hypothesis.estimate(found.query))
    cuts = random_cuts(universe, 2000, 11, disjoint=True)
    best = max(abs(cut.value(graph) - hypothesis.estimate(cut)) for cut in cuts)
    assert gap >= best - tuned.shortfall(1e-6)


def test_weighted_graphs():
    graph = Graph([0, 1], [1, 2], weights=[2.5, 0.5], vertices=3, weight_cap=4.0)
    tuned = ExactCuts(universe=Universe(3), epsilon=Fraction(40), grid=Grid.of(graph))
    assert (tuned.counted(graph) * tuned.scoring.unit == graph.dense()).all()


def test_budgets():
    tuned = ExactCuts(universe=Universe(5), epsilon=Fraction(1))
    shared = tuned.with_rho(0.02, rounds=4)
    assert 4 * shared.call.rho <= 0.02 * (1 + 1e-12)
    assert 4 * shared.call.rho >= 0.02 * (1 - 1e-9)
    assert tuned.with_epsilon(Fraction(1), rounds=4).call.pure == Fraction(1, 4)
    assert tuned.setup is None
    assert tuned.shortfall(0.1) == pytest.approx(2 * (5 * math.log(3) + math.log(10)), rel=1e-3)


def test_bipartite_graphs_with_one_long_side():
    graph = BipartiteGraph([0, 1], [5, 30], left=3, right=40)
    tuned = ExactCuts(universe=Universe(3, 40), epsilon=Fraction(1))
    hypothesis, source = DenseHypothesis.constant(tuned.universe, 0.5), SeededEntropy(9)
    S, T = tuned.universe.masks(tuned.begin(graph, source).find(hypothesis, source).query)
    assert (len(S), len(T)) == (3, 40)


@pytest.mark.parametrize("largest", [0, 3, 10**6])
@pytest.mark.parametrize("score", SCORES)
def test_logarithms_are_within_the_error_that_the_draw_allows_for(monkeypatch, score, largest):
    """The draw is exact only if floats are off by no more than the error it is told."""
    told = []
    monkeypatch.setattr(distinguisher, "Choice", lambda *given: told.append(given))
    for shape in ((5, 5), (3, 6)):
        gaps = random_gaps(shape, 1, largest=largest)
        CutSampler(gaps, Fraction(1, 7), score=score, bipartite=shape == (3, 6))
        logs, error, exact = told.pop()
        with decimal.localcontext(prec=60):
            off = max(abs(Decimal(float(log)) - exact(i)) for i, log in enumerate(logs))
        assert off <= error < 1e-2


@pytest.mark.parametrize("score", ["signed", "two-signed"])
def test_gaps_that_no_exponential_of_a_float_holds(score):
    """Probabilities are 1 but for e^-2000."""
    gaps = np.array([[0, 2000, 0], [2000, 0, -2000], [0, -2000, 0]])
    sampler = CutSampler(gaps, Fraction(1), score=score, bipartite=False)
    for seed in range(10):
        S, T, sign = sampler.draw(SeededEntropy(seed))
        assert sign * gaps[S][:, T].sum() == 2000


@pytest.mark.parametrize(("score", "signs", "moves"), [("signed", 1, 1), ("two-signed", 2, 2)])
def test_the_shortfall_counts_every_pair_of_sets_and_sign(score, signs, moves):
    cuts = ExactCuts(universe=Universe(3, 4), epsilon=Fraction(1, 100), score=score)
    outcomes = 2**7 * signs
    found = cuts.shortfall(0.1)
    assert found == pytest.approx(100 * moves * math.log(outcomes / 0.1), rel=1e-3)
