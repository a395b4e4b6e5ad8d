"""A release as a distinguisher: it names the largest released gap, within twice its radius."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from distinguisher_cases import random_cuts
from helpers import random_graph

from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.rank_one import Released
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy

UNIVERSE = Universe(12)
GRAPH = random_graph(12, 1, density=0.4)
CUTS = CutList(UNIVERSE, random_cuts(UNIVERSE, 30, 2))
HALF = DenseHypothesis.constant(UNIVERSE, 0.5)


def released(epsilon=1.0, noise="binary", cap=None, **options):
    distribution = noise_distribution(noise, epsilon=epsilon, weight_cap=cap)
    return Released(queries=CUTS, distribution=distribution, **options)


def test_it_names_the_largest_released_gap_and_its_sign():
    gaps = released().answers(GRAPH, SeededEntropy(1)) - CUTS.answers(HALF)
    worst = int(np.argmax(np.abs(gaps)))
    search = released().begin(GRAPH, SeededEntropy(1))
    for seed in (9, 10):  # draws nothing more
        found = search.find(HALF, SeededEntropy(seed))
        assert found.query in CUTS[worst : worst + 1]
        assert found.sign == np.sign(gaps[worst])
    off = np.abs(gaps).max() + released().radius(0.05)
    assert search.prove(HALF, SeededEntropy(9)) == off


@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_dr14_the_reduction_of_section_5_3_2(noise):
    """True signed gaps are within 2 r of the largest, at every call, as often as is promised.

    Also every hypothesis's error is within what is proven. More failures than are allowed have
    probability 1e-6 if each run fails with probability gamma.
    """
    gamma, runs = 0.2, 60
    weights = {"weights": np.full(len(GRAPH.rows), 0.7), "weight_cap": 1.0}
    weights = weights if noise == "laplace" else {}
    graph = Graph(GRAPH.rows, GRAPH.columns, vertices=12, **weights)
    of = released(4.0, noise=noise, cap=weights.get("weight_cap"), beta=gamma)
    grid = Grid.of(graph)
    truth = CUTS.counts(graph, grid) * grid.unit
    hypotheses = [DenseHypothesis.constant(UNIVERSE, level) for level in (0.0, 0.3, 0.5, 1.0)]
    short, wrong = of.shortfall(gamma), 0
    for seed in range(runs):
        search = of.begin(graph, SeededEntropy(seed))
        failed = False
        for hypothesis in hypotheses:
            gaps = truth - CUTS.answers(hypothesis)
            found = search.find(hypothesis, SeededEntropy(0))
            failed |= found.sign * gaps[CUTS.find(found.query)] < np.abs(gaps).max() - short
            failed |= np.abs(gaps).max() > search.prove(hypothesis, SeededEntropy(0))
        wrong += failed
    assert wrong <= scipy.stats.binom.isf(1e-6, runs, gamma)
    assert short < np.abs(truth).max() * 3  # it says something


def test_budgets_are_what_the_noise_costs():
    of = released(2.0)
    assert of.call is None
    assert of.setup.pure == of.distribution.epsilon == 2
    assert of.with_epsilon(of.distribution.epsilon / 4, rounds=7).setup.epsilon == 0.5
    assert of.with_rho(0.02, rounds=3).setup.rho == pytest.approx(0.02)
    assert of.with_rho(0.02, rounds=3).setup.pure ** 2 <= 2 * Fraction(0.02)
    assert of.shortfall(0.01) > of.shortfall(0.1) > of.usual_shortfall


def test_the_radius_is_that_of_the_largest_cut_in_a_union():
    (cut,) = cuts = [CutQuery(range(6))]
    of = Released(queries=CutList(UNIVERSE, cuts), distribution=released().distribution)
    pairs = UNIVERSE.pairs_between(cut)
    assert of.radius(0.1) == of.distribution.radius(pairs, log_failures=math.log(10))
    assert released().radius(0.1) >= max(
        of.distribution.radius(UNIVERSE.pairs_between(query), log_failures=math.log(300))
        for query in CUTS
    )
