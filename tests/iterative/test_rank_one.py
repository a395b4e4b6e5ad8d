"""Rank-one distinguishers: proven shortfalls, norms of noise, sensitivities, certificates."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from helpers import random_graph
from scipy.sparse.linalg import ArpackNoConvergence

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative import power_method, rank_one
from graphcuts_dp.iterative.power_method import PowerRankOne, PowerSearch
from graphcuts_dp.iterative.rank_one import ResponseRankOne
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.privacy import count_noise as value_noise
from scripts.figures.random_graphs import planted_partition


def one_way():
    """More arcs from the first ten vertices to the others than elsewhere."""
    chance = np.full((19, 19), 0.2)
    chance[:10, 10:] = 0.8
    return gc.DirectedGraph.of(np.random.default_rng(4).random((19, 19)) < chance)


GRAPHS = {
    "plain": random_graph(24, 1, density=0.4),
    "bipartite": random_graph((14, 21), 2, density=0.4),
    "directed": one_way(),
    "weighted": random_graph((8, 17), 3, density=0.4, largest=3.0, max_weight=3.0),
}


def gap(found, graph, hypothesis):
    return found.sign * (found.query.value(graph) - hypothesis.estimate(found.query))


@pytest.mark.parametrize("name", GRAPHS)
def test_with_next_to_no_noise_pairs_and_cuts_are_nearly_the_best(name):
    graph = GRAPHS[name]
    universe = Universe.of(graph)
    hypothesis = DenseHypothesis.constant(universe, 0.2)
    best = np.linalg.norm(graph.dense() - hypothesis.dense(), 2)
    known = rank_one.matrix_search(universe, graph.dense()).find(hypothesis, SeededEntropy(0))
    noise = "laplace" if graph.weighted else "binary"
    bits = noise_distribution(noise, epsilon=50.0, max_weight=graph.max_weight)
    terms = {"universe": universe, "grid": Grid.of(graph), "rho": 1e6, "delta": 1e-6}
    for of in (
        ResponseRankOne(universe=universe, distribution=bits),
        PowerRankOne(steps=12, **terms),
    ):
        found = of.begin(graph, SeededEntropy(1)).find(hypothesis, SeededEntropy(2))
        assert gap(found, graph, hypothesis) > 0.95 * gap(known, graph, hypothesis), of
        assert of.shortfall(0.1) == math.inf
    off = graph.dense() - hypothesis.dense()
    pair = of.begin(graph, SeededEntropy(1)).pair(hypothesis.dense(), SeededEntropy(2))
    # The power method cuts long entries, and so loses even without noise.
    assert 0.8 * best < pair.left @ off @ pair.right <= best * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_partner_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    matrix = np.triu(rng.normal(size=(5, 5)), 1)
    wide = rng.normal(size=(5, 4))
    subsets, sides = (
        [np.array(bits) for bits in itertools.product((False, True), repeat=size)]
        for size in (5, 4)
    )
    for S in subsets[1:]:

        def value_of(T, S=S):  # each pair once
            return matrix[np.outer(S, T) | np.outer(T, S)].sum()

        partner, value = rank_one.best_partner((matrix + matrix.T) @ S, S, ordered=False)
        allowed = [T for T in subsets if not (S & T).any() or (S == T).all()]
        assert abs(value) == pytest.approx(max(abs(value_of(T)) for T in allowed))
        assert value == pytest.approx(value_of(partner))
        partner, value = rank_one.best_partner(wide.T @ S, S, ordered=True)
        assert abs(value) == pytest.approx(max(abs(S @ wide @ T) for T in sides))
        assert value == pytest.approx(S @ wide @ partner)


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


@pytest.mark.parametrize("bipartite", [False, True])
def test_cuts_without_noise_against_brute_force(bipartite):
    """At least half of the best disjoint cut on 30 random matrices, and four fifths on average."""
    rng = np.random.default_rng(8)
    universe = Universe(4, 4) if bipartite else Universe(6)
    hypothesis = DenseHypothesis.constant(universe, 0.0)
    ratios = []
    for _ in range(30):
        matrix = rng.normal(size=universe.shape)
        if not bipartite:
            matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
        found = rank_one.matrix_search(universe, matrix).find(hypothesis, SeededEntropy(0))
        value = found.sign * universe.answers([found.query], matrix)[0]
        ratios.append(value / all_cuts(matrix, bipartite=bipartite))
    assert min(ratios) > 0.5
    assert np.mean(ratios) > 0.8


@pytest.mark.parametrize("symmetric", [True, False])
def test_top_pairs_of_large_matrices(symmetric, monkeypatch):
    rng = np.random.default_rng(9)
    matrix = rng.normal(size=(300, 300 if symmetric else 280))
    if symmetric:
        matrix = -(matrix + matrix.T)
    best = np.linalg.norm(matrix, 2)
    for again in range(2):
        pair = rank_one.top_pair(matrix, symmetric=symmetric)
        assert pair.gap == pytest.approx(best)
        assert pair.left @ matrix @ pair.right == pytest.approx(best)
        assert np.linalg.norm(pair.left) == pytest.approx(1)
        if not again:
            for name in ("eigsh", "svds"):
                monkeypatch.setattr(rank_one, name, no_convergence)


def no_convergence(*_, **__):
    raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((0, 0)))


def worst_pair(X, universe):
    """By how much, squared, A X moves with the pair that moves it most, by enumeration."""
    lengths = np.square(X).sum(axis=1)
    shift = 0 if universe.symmetric else universe.shape[0]
    return max(int(lengths[i] + lengths[j + shift]) for i, j in zip(*universe.pairs(), strict=True))


def test_vectors_of_the_rank_one_are_cut_and_whole():
    """A spike is cut at 1/(2 sqrt(n)), so no vertex's pairs get much more noise than others'."""
    spike = np.zeros((16, 1))
    spike[3] = 7.0
    found = np.abs(power_method.on_grid(spike, 10))
    assert found.max() == found[3] == found.sum() == 2**10 / 8
    for universe in (Universe(3, 64), Universe(64, 3), Universe(64)):
        # Equal entries have enough steps on the longer side.
        whole, half = (
            PowerRankOne(universe=universe, grid=Grid(unit, 4, 4 * unit), rho=0.1, delta=1e-6)
            for unit in (1.0, 0.5)
        )
        assert 2**whole.vector_bits / math.sqrt(64) == 2**8
        assert half.usual_shortfall == pytest.approx(whole.usual_shortfall / 2)  # in weight


KINDS = {
    "plain": planted_partition(12, 2, 1.0, 0.1, seed=1),
    "bipartite": random_graph((9, 30), 5, density=0.6),
    "weighted": random_graph(12, 4, density=0.7, largest=3.0, max_weight=3.0),
    "directed": random_graph(10, 6, density=0.5, directed=True),
}


def setting(kind):
    return KINDS[kind], DenseHypothesis.constant(Universe.of(KINDS[kind]), 0.4)


@pytest.fixture
def quick_noise(monkeypatch):
    """Rounded normal noise: at thousands of steps nothing tells it from the discrete Gaussian,
    whose tables take a second for each certificate."""
    rng = np.random.default_rng(11)

    def normal(variance, size, _):
        return np.rint(rng.normal(scale=math.sqrt(variance), size=size)).astype(np.int64)

    monkeypatch.setattr(power_method, "sample_discrete_gaussian", normal)
    monkeypatch.setattr(value_noise, "sample_discrete_gaussian", normal)


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("quick_noise")
@pytest.mark.parametrize("kind", ["plain", "bipartite", "weighted"])
@pytest.mark.parametrize("rho", [0.5, 50.0])
def test_bounds_hold_as_often_as_they_guarantee(kind, rho):
    """120 certificates, each wrong with probability 0.3 at most: more than 72 wrong ones have
    probability below 1e-9. Beside sigma_1 the cut norm of disjoint sets is bounded, exactly."""
    graph, hypothesis = setting(kind)
    universe = Universe.of(graph)
    R = graph.dense() - hypothesis.dense()
    sigma, cut = np.linalg.norm(R, 2), all_cuts(R, bipartite=universe.bipartite)
    of = PowerRankOne(
        universe=universe, rho=1.0, delta=1e-6, grid=Grid.of(graph), certificate_rho=rho, beta=0.3
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


def test_the_start_is_as_long_as_it_guarantees():
    """Against the worst directions that are known: few equal entries, and all alike. 4000 starts
    each, shorter with probability 0.25 at most: 1250 have probability below 1e-9."""
    source, steps, n, runs = SeededEntropy(1), 40, 16, 4000
    radius = power_method.start_radius(steps, 3, 0.25)
    assert scipy.stats.binom.sf(1250, runs, 0.25) < 1e-9
    for count in (1, 2, 3, 16):
        v = np.zeros(n)
        v[:count] = 1 / math.sqrt(count)
        X = power_method.uniform_integers(steps, (runs * n, 3), source).reshape(runs, n, 3)
        lengths = np.linalg.norm(np.einsum("i,rik->rk", v, X), axis=1)
        short = (lengths <= radius).sum()
        assert short <= 1250
        # Not vacuous: a guarantee of twice the length fails.
        assert (lengths <= 2.2 * radius).sum() > 1250


def test_one_column_of_a_start_is_short_exactly_as_the_cube_is():
    """For v with two equal entries the density is the largest there is: sqrt(2)/(2 K + 1)."""
    radius = power_method.start_radius(1000, 1, 0.1)
    values = np.add.outer(np.arange(-1000, 1001), np.arange(-1000, 1001)).ravel() / math.sqrt(2)
    chance = (np.abs(values) <= radius).mean()
    assert 0.06 < chance <= 0.1


def test_the_noise_is_as_short_as_it_guarantees():
    columns = power_method.COLUMNS
    noise = np.random.default_rng(3).normal(scale=2.0, size=(20_000, columns))
    for failure in (0.3, 0.01):
        length = power_method.noise_length(4.0, columns, failure)
        longer = (np.linalg.norm(noise, axis=1) > length).sum()
        assert longer <= scipy.stats.binom.isf(1e-9, len(noise), failure)


def test_without_noise_the_bound_is_what_the_start_leaves():
    """sigma^T |z_0| = product of norms: here sigma = 8, and the start is half as long as it is."""

    def largest(start, *steps, most=100.0):
        names = ("norm", "noise", "scale", "rounding")
        made = [power_method.NoisyStep(**dict(zip(names, step, strict=True))) for step in steps]
        return power_method.largest_possible(start, made, most)

    steps = [(norm, 0.0, 1 / norm, 0.0) for norm in (4, 8, 8)]
    assert largest(0.5, *steps) == pytest.approx(8.0)
    assert largest(0.25, *steps) == pytest.approx(8 * 2 ** (1 / 3))
    assert largest(0.25, *steps, most=9.0) == 9.0
    assert largest(0.5, (4.0, 1.0, 0.25, 0.0)) == pytest.approx(10.0)
    assert largest(0.5, (4.0, 1e9, 0.25, 0.0)) == 100.0  # drowned
    sigma = largest(0.5, (4.0, 0.0, 0.25, 0.3), (1.0, 0.0, 1.0, 0.0))
    assert sigma * (sigma / 8 - 0.3) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.thorough
def test_planted_blocks_are_proven_to_be_found_and_noise_alone_is_not():
    """At the budget of epsilon = 1 and delta = 1e-6; deterministic, seeded."""
    n = 900
    graph = planted_partition(n, 2, 0.95, 0.05, seed=4)
    universe = Universe.of(graph)
    of = PowerRankOne(universe=universe, rho=0.0243, delta=1e-6, certificate_rho=0.0243)
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
    of = PowerRankOne(universe=Universe.of(graph), rho=1.0, delta=1e-6, certificate_rho=0.25)
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
    assert of.with_rho(1.0, rounds=4).certificate_rho == 0.5


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", KINDS)
def test_calls_and_certificates_spend_no_more_than_their_budget(kind, monkeypatch):
    """The products and the quotient that are really made, each with the variance of its noise: the
    exact costs of the worst pair of each add up to no more than rho, in fractions, and to nearly
    all of it."""
    graph, hypothesis = setting(kind)
    universe, grid = Universe.of(graph), Grid.of(graph)
    of = PowerRankOne(
        universe=universe, rho=0.3, delta=1e-6, grid=grid, steps=3, certificate_rho=0.2
    )
    spent, vectors, move = [], [], grid.sensitivity
    product, quotient = PowerSearch._noisy, power_method.ValueNoise
    sensitivity = power_method.quotient_sensitivity

    def noted_product(self, X, *rest):
        reached, variance = product(self, X, *rest)
        spent.append(worst_pair(X, universe) * move**2 / (2 * variance))
        return reached, variance

    def noted_quotient(left, right, of):
        vectors.append((left, right))
        return sensitivity(left, right, of)

    def noted_noise(kind, variance):
        left, right = vectors[-1]
        worst = max(
            abs(int(left[i] * right[j]) + (int(left[j] * right[i]) if universe.symmetric else 0))
            for i, j in zip(*universe.pairs(), strict=True)
        )
        spent.append(Fraction(worst * move) ** 2 / (2 * variance))
        return quotient(kind, variance)

    monkeypatch.setattr(PowerSearch, "_noisy", noted_product)
    monkeypatch.setattr(power_method, "quotient_sensitivity", noted_quotient)
    monkeypatch.setattr(power_method, "ValueNoise", noted_noise)
    search = of.begin(graph, SeededEntropy(1))
    search.find(hypothesis, SeededEntropy(2))
    assert len(spent) == of.products == 4
    assert Fraction(9, 10) * Fraction(0.3) < sum(spent) <= Fraction(0.3)
    spent.clear()
    search.certify(hypothesis, SeededEntropy(2))
    assert len(spent) == power_method.STEPS + 1
    assert Fraction(8, 10) * Fraction(0.2) < sum(spent) <= Fraction(0.2)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", ["plain", "bipartite"])
def test_an_iterative_release_ends_with_a_proven_error(kind):
    """The bound is for all cuts between disjoint sets; it is checked against the largest."""
    graph, _ = setting(kind)
    rule = gc.Learning(distinguisher="power-rank-one-certified", rounds=3)
    made = gc.release_iteratively(graph, epsilon=50.0, delta=1e-6, construction=rule, seed=3)
    assert made.accuracy.queries == "disjoint"
    bounds = made.accuracy.error, made.accuracy.graph_error
    for found, bound in zip((made.hypothesis.matrix, made.graph.dense()), bounds, strict=True):
        worst = all_cuts(graph.dense() - found, bipartite=kind == "bipartite")
        assert worst <= bound <= made.universe.size * (1 + 1e-6)
