"""What the power method proves afterwards: bounds against exact singular values and cut norms."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from helpers import random_graph
from offline_calls import learn

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.offline import power_method
from graphcuts_dp.offline.power_method import (
    COLUMNS,
    STEPS,
    NoisyStep,
    PowerRankOne,
    PowerSearch,
    largest_possible,
    noise_length,
    quotient_sensitivity,
    start_radius,
)
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy import distributions
from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.figures.random_graphs import planted_partition


def all_cuts(R, *, bipartite):
    """The largest |1_S'R 1_T| over disjoint S and T (all, if bipartite), by enumeration."""
    best, places = 0.0, np.arange(len(R))
    for code in range(2 ** len(R)):
        S = (code >> places & 1).astype(float)
        sums = S @ R
        if not bipartite:
            sums = sums * (1 - S)
        best = max(best, sums[sums > 0].sum(), -sums[sums < 0].sum())
    return best


def setting(kind):
    """A graph, with noise so small or beta so large that bounds can fail, and a hypothesis."""
    if kind == "bipartite":
        graph = random_graph((9, 30), 5, density=0.6)
    elif kind == "directed":
        graph = random_graph(10, 6, density=0.5, directed=True)
    elif kind == "weighted":
        graph = random_graph(12, 4, density=0.7, largest=3.0, weight_cap=3.0)
    else:
        graph = planted_partition(12, 2, 1.0, 0.1, seed=1)
    return graph, DenseHypothesis.constant(Universe.of(graph), 0.4)


@pytest.fixture
def quick_noise(monkeypatch):
    """Rounded normal noise: at thousands of steps nothing tells it from the discrete Gaussian,
    whose tables take a second for each certificate."""
    rng = np.random.default_rng(11)

    def normal(variance, size, _):
        return np.rint(rng.normal(scale=math.sqrt(variance), size=size)).astype(np.int64)

    monkeypatch.setattr(power_method, "sample_discrete_gaussian", normal)
    monkeypatch.setattr(distributions, "sample_discrete_gaussian", normal)


@pytest.mark.usefixtures("quick_noise")
@pytest.mark.parametrize("kind", ["plain", "bipartite", "weighted"])
@pytest.mark.parametrize("rho", [0.5, 50.0])
def test_bounds_hold_as_often_as_they_promise(kind, rho):
    """120 certificates, each wrong with probability 0.3 at most: more than 72 wrong ones have
    probability below 1e-9. Beside sigma_1 the cut norm of disjoint sets is bounded, exactly."""
    graph, hypothesis = setting(kind)
    universe = Universe.of(graph)
    R = graph.dense() - hypothesis.dense()
    sigma, cut = np.linalg.norm(R, 2), all_cuts(R, bipartite=universe.bipartite)
    of = PowerRankOne(
        universe=universe, rho=1.0, delta=1e-6, grid=Grid.of(graph), certificate=rho, beta=0.3
    )
    source, wrong, runs = SeededEntropy(7), 0, 120
    for _ in range(runs):
        found = of.begin(graph, source).certify(hypothesis, source)
        value = found.pair.left @ R @ found.pair.right
        assert np.linalg.norm(found.pair.left) == pytest.approx(1)
        assert np.linalg.norm(found.pair.right) == pytest.approx(1)
        right = found.lower <= value and sigma <= found.upper and cut <= found.cut_bound
        wrong += not right
        if right and found.lower > 0:
            assert sigma <= found.upper / found.lower * value * (1 + 1e-9)
    assert scipy.stats.binom.sf(72, runs, 0.3) < 1e-9
    assert wrong <= 72


def test_the_start_is_as_long_as_it_promises():
    """Against the worst directions that are known: few equal entries, and all alike. 4000 starts
    each, shorter with probability 0.25 at most: 1250 have probability below 1e-9."""
    source, steps, n, runs = SeededEntropy(1), 40, 16, 4000
    radius = start_radius(steps, 3, 0.25)
    assert scipy.stats.binom.sf(1250, runs, 0.25) < 1e-9
    for count in (1, 2, 3, 16):
        v = np.zeros(n)
        v[:count] = 1 / math.sqrt(count)
        X = power_method.uniform_whole(steps, (runs * n, 3), source).reshape(runs, n, 3)
        lengths = np.linalg.norm(np.einsum("i,rik->rk", v, X), axis=1)
        short = (lengths <= radius).sum()
        assert short <= 1250
        # Not vacuous: a promise of twice the length fails.
        assert (lengths <= 2.2 * radius).sum() > 1250


def test_one_column_of_a_start_is_short_exactly_as_the_cube_is():
    """For v with two equal entries the density is the largest there is: sqrt(2)/(2 K + 1)."""
    radius = start_radius(1000, 1, 0.1)
    values = np.add.outer(np.arange(-1000, 1001), np.arange(-1000, 1001)).ravel() / math.sqrt(2)
    chance = (np.abs(values) <= radius).mean()
    assert 0.06 < chance <= 0.1


def test_the_noise_is_as_short_as_it_promises():
    rng = np.random.default_rng(3)
    noise = rng.normal(scale=2.0, size=(20_000, COLUMNS))
    for failure in (0.3, 0.01):
        longer = (np.linalg.norm(noise, axis=1) > noise_length(4.0, COLUMNS, failure)).sum()
        assert longer <= scipy.stats.binom.isf(1e-9, len(noise), failure)


def test_without_noise_the_bound_is_what_the_start_leaves():
    """sigma^T |z_0| = product of norms: here sigma = 8, and the start is half as long as it is."""
    steps = [NoisyStep(norm=norm, noise=0.0, scale=1 / norm, rounding=0.0) for norm in (4, 8, 8)]
    assert largest_possible(0.5, steps, 100.0) == pytest.approx(8.0)
    assert largest_possible(0.25, steps, 100.0) == pytest.approx(8 * 2 ** (1 / 3))
    assert largest_possible(0.25, steps, 9.0) == 9.0
    noisy = [NoisyStep(norm=4.0, noise=1.0, scale=0.25, rounding=0.0)]
    assert largest_possible(0.5, noisy, 100.0) == pytest.approx(10.0)
    drowned = [NoisyStep(norm=4.0, noise=1e9, scale=0.25, rounding=0.0)]
    assert largest_possible(0.5, drowned, 100.0) == 100.0
    rounded = [
        NoisyStep(norm=4.0, noise=0.0, scale=0.25, rounding=0.3),
        NoisyStep(norm=1.0, noise=0.0, scale=1.0, rounding=0.0),
    ]
    sigma = largest_possible(0.5, rounded, 100.0)
    assert sigma * (sigma / 8 - 0.3) == pytest.approx(1.0, rel=1e-6)


def test_planted_blocks_are_proven_to_be_found_and_noise_alone_is_not():
    """At the budget of epsilon = 1 and delta = 1e-6; deterministic, seeded."""
    n = 900
    graph = planted_partition(n, 2, 0.95, 0.05, seed=4)
    universe = Universe.of(graph)
    of = PowerRankOne(universe=universe, rho=0.0243, delta=1e-6, certificate=0.0243)
    missed = DenseHypothesis.constant(universe, 0.5)
    found = of.begin(graph, SeededEntropy(1)).certify(missed, SeededEntropy(2))
    assert found.lower < found.upper < 2 * found.lower
    block = np.arange(n) < n // 2
    learnt = DenseHypothesis(universe, np.where(block[:, None] == block, 0.95, 0.05))
    found = of.begin(graph, SeededEntropy(1)).certify(learnt, SeededEntropy(2))
    assert found.upper > 10 * found.lower
    # Even so it is proven to be better than nothing: no entry of the hypothesis can be off by more.
    assert found.upper <= n * 0.95


def test_a_certificate_is_bought_once_and_stated():
    graph, hypothesis = setting("plain")
    of = PowerRankOne(universe=Universe.of(graph), rho=1.0, delta=1e-6, certificate=0.25)
    assert (of.setup.rho, of.name) == (0.25, "power-rank-one-certified")
    search = of.begin(graph, SeededEntropy(1))
    bound = search.prove(hypothesis, SeededEntropy(2))
    found = of.begin(graph, SeededEntropy(1)).certify(hypothesis, SeededEntropy(2))
    assert bound == found.cut_bound == found.scale * found.upper
    plain = PowerRankOne(universe=Universe.of(graph), rho=1.0, delta=1e-6)
    assert plain.setup is None
    for spent in (search, plain.begin(graph, SeededEntropy(1))):
        assert spent.prove is None
        with pytest.raises(ParameterError, match="no budget"):
            spent.certify(hypothesis, SeededEntropy(2))
    tuned = of.with_rho(1.0, rounds=4)
    assert Fraction(tuned.rho) * 4 + Fraction(tuned.certificate) <= 1
    assert tuned.certificate == 0.5


@pytest.mark.parametrize("kind", ["plain", "bipartite", "weighted", "directed"])
def test_a_certificate_spends_no_more_than_its_budget(kind, monkeypatch):
    """Products and quotient with the variances of their noise: the exact costs of the worst pair
    of each add up to no more than rho, in fractions, and to nearly all of it."""
    graph, hypothesis = setting(kind)
    universe, grid = Universe.of(graph), Grid.of(graph)
    of = PowerRankOne(universe=universe, rho=1.0, delta=1e-6, grid=grid, certificate=0.3)
    spent, move = [], grid.sensitivity
    product, quotient = PowerSearch._noisy, power_method.ValueNoise
    ends = list(zip(*universe.pairs(), strict=True))
    shift = 0 if universe.symmetric else universe.shape[0]

    def noted_product(self, X, bits, dense, budget, source):
        reached, variance = product(self, X, bits, dense, budget, source)
        lengths = np.square(X).sum(axis=1)
        worst = max(int(lengths[i] + lengths[j + shift]) for i, j in ends)
        spent.append(worst * move**2 / (2 * variance))
        return reached, variance

    pairs = []

    def noted_quotient(left, right, of):
        pairs.append((left, right))
        return quotient_sensitivity(left, right, of)

    def noted_noise(kind, variance):
        left, right = pairs[-1]
        worst = max(
            abs(int(left[i] * right[j]) + (int(left[j] * right[i]) if universe.symmetric else 0))
            for i, j in ends
        )
        spent.append(Fraction(worst * move) ** 2 / (2 * variance))
        return quotient(kind, variance)

    monkeypatch.setattr(PowerSearch, "_noisy", noted_product)
    monkeypatch.setattr(power_method, "quotient_sensitivity", noted_quotient)
    monkeypatch.setattr(power_method, "ValueNoise", noted_noise)
    of.begin(graph, SeededEntropy(1)).certify(hypothesis, SeededEntropy(2))
    assert len(spent) == STEPS + 1
    assert Fraction(8, 10) * Fraction(0.3) < sum(spent) <= Fraction(0.3)


def test_the_sensitivity_of_a_quotient_by_enumeration():
    rng = np.random.default_rng(5)
    for universe in (Universe(5), Universe(3, 4), Universe(4, directed=True)):
        U, V = (rng.integers(-9, 10, size) for size in universe.shape)
        moves = [
            abs(U[i] * V[j] + (U[j] * V[i] if universe.symmetric else 0))
            for i, j in itertools.product(*map(range, universe.shape))
            if not universe.hollow or i != j
        ]
        assert max(moves) <= quotient_sensitivity(U, V, universe)


def test_an_iterative_release_ends_with_a_proven_error():
    """The bound is for all cuts between disjoint sets; it is checked against the largest."""
    graph = planted_partition(14, 2, 0.9, 0.2, seed=2)
    made = learn(
        graph,
        epsilon=50.0,
        delta=1e-6,
        distinguisher="power-rank-one-certified",
        rounds=3,
        seed=3,
    )
    assert made.accuracy.queries == "disjoint"
    worst = all_cuts(graph.dense() - made.hypothesis.matrix, bipartite=False)
    assert worst <= made.accuracy.error
    worst = all_cuts(graph.dense() - made.graph.dense(), bipartite=False)
    assert worst <= made.accuracy.graph_error
    bipartite = BipartiteGraph([0, 1], [1, 0], left=3, right=4)
    made = learn(
        bipartite, epsilon=9.0, delta=1e-6, distinguisher="power-rank-one-certified", seed=3
    )
    assert 0 < made.accuracy.error <= 12 * (1 + 1e-6)
