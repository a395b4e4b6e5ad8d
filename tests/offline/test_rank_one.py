"""Rank-one distinguishers: proven shortfalls, cuts against brute force, exact sensitivities."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from distinguisher_cases import disjoint_pairs
from helpers import random_graph
from scipy.sparse.linalg import ArpackNoConvergence

from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.adjacency import DirectedGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.offline import power_method, rank_one
from graphcuts_dp.offline.power_method import PowerRankOne, squared_sensitivity
from graphcuts_dp.offline.rank_one import (
    ResponseRankOne,
    best_partner,
    matrix_search,
    pair_places,
    pair_scale,
    subgaussian_norm,
    top_pair,
)
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.figures.gaussian_rank_one import GaussianRankOne
from scripts.figures.random_graphs import planted_partition


def one_way():
    """More arcs from the first ten vertices to the others than elsewhere."""
    chance = np.full((19, 19), 0.2)
    chance[:10, 10:] = 0.8
    return DirectedGraph.of(np.random.default_rng(4).random((19, 19)) < chance)


GRAPHS = {
    "plain": random_graph(24, 1, density=0.4),
    "bipartite": random_graph((14, 21), 2, density=0.4),
    "directed": one_way(),
    "weighted": random_graph((8, 17), 3, density=0.4, largest=3.0, weight_cap=3.0),
}


def made(graph, **options):
    """One of each kind, with next to no noise."""
    universe, grid = Universe.of(graph), Grid.of(graph)
    distribution = noise_distribution("laplace" if graph.weighted else "binary", epsilon=50.0,
                    weight_cap=graph.weight_cap)  # fmt: skip
    common = {"universe": universe, **options}
    return [
        ResponseRankOne(distribution=distribution, **common),
        GaussianRankOne(rho=1e4, delta=1e-6, grid=grid, **common),
        PowerRankOne(rho=1e6, delta=1e-6, grid=grid, steps=12, **common),
        PowerRankOne(rho=1e6, delta=1e-6, grid=grid, steps=12, vectors=2, **common),
    ]


def gap(found, graph, hypothesis):
    return found.sign * (found.query.value(graph) - hypothesis.estimate(found.query))


@pytest.mark.parametrize("name", GRAPHS)
def test_with_next_to_no_noise_the_pair_is_nearly_the_best(name):
    graph = GRAPHS[name]
    universe = Universe.of(graph)
    hypothesis = DenseHypothesis.constant(universe, 0.2)
    best = pair_scale(universe) * np.linalg.norm(graph.dense() - hypothesis.dense(), 2)
    for distinguisher in made(graph, answer="pair"):
        found = distinguisher.begin(graph, SeededEntropy(1)).find(hypothesis, SeededEntropy(2))
        # The power method cuts long entries, and so loses even without noise.
        least = 0.8 if isinstance(distinguisher, PowerRankOne) else 0.99
        assert least * best < gap(found, graph, hypothesis) <= best * (1 + 1e-9), distinguisher


@pytest.mark.parametrize("name", GRAPHS)
def test_with_next_to_no_noise_the_cut_is_as_good_as_without(name):
    graph = GRAPHS[name]
    hypothesis = DenseHypothesis.constant(Universe.of(graph), 0.2)
    search = matrix_search(Universe.of(graph), graph.dense(), "cut")
    without = gap(search.find(hypothesis, SeededEntropy(0)), graph, hypothesis)
    for distinguisher in made(graph):
        found = distinguisher.begin(graph, SeededEntropy(1)).find(hypothesis, SeededEntropy(2))
        assert isinstance(found.query, CutQuery)
        assert gap(found, graph, hypothesis) > 0.95 * without, distinguisher


def test_planted_blocks_are_found_at_epsilon_one():
    """Deterministic, seeded. The signal is far above the noise of both."""
    graph = planted_partition(240, 2, 0.95, 0.05, seed=4)
    universe = Universe.of(graph)
    hypothesis = DenseHypothesis.constant(universe, 0.5)
    block = np.arange(240) < 120
    best = abs(gap_of(CutQuery(block, ~block), graph, hypothesis))
    for distinguisher in (
        ResponseRankOne(universe=universe, distribution=noise_distribution("binary", epsilon=1.0)),
        PowerRankOne(universe=universe, rho=0.0243, delta=1e-6, steps=4),
    ):
        found = distinguisher.begin(graph, SeededEntropy(1)).find(hypothesis, SeededEntropy(2))
        assert gap(found, graph, hypothesis) > 0.9 * best


def gap_of(query, graph, hypothesis):
    return query.value(graph) - hypothesis.estimate(query)


@pytest.mark.parametrize("kind", ["response", "gaussian", "bipartite"])
def test_the_stated_shortfall_holds(kind):
    """80 runs, each short by more with probability 0.2 at most: more than 45 failures have
    probability below 1e-8. And the bound is not vacuous: below the best gap."""
    if kind == "bipartite":
        graph = random_graph((20, 40), 5, density=0.5)
    else:
        graph = planted_partition(36, 2, 1.0, 0.0, seed=1)
    universe = Universe.of(graph)
    if kind == "gaussian":
        of = GaussianRankOne(universe=universe, rho=5.0, delta=1e-6, answer="pair")
    else:
        of = ResponseRankOne(
            universe=universe, distribution=noise_distribution("binary", epsilon=3.0), answer="pair"
        )
    hypothesis = DenseHypothesis.constant(universe, 0.0)
    best = pair_scale(universe) * np.linalg.norm(graph.dense(), 2)
    source, short, runs = SeededEntropy(6), 0, 80 if kind != "gaussian" else 8
    for _ in range(runs):
        found = of.begin(graph, source).find(hypothesis, source)
        short += gap(found, graph, hypothesis) < best - of.shortfall(0.2)
    assert scipy.stats.binom.sf(45, 80, 0.2) < 1e-8
    assert short <= 45 * runs / 80
    assert of.shortfall(0.2) < 1.6 * best
    assert of.shortfall(0.2) == pytest.approx(pair_scale(universe) * of.unit_shortfall(0.2))


def test_nothing_is_promised_for_cuts_nor_for_the_power_method():
    for distinguisher in made(GRAPHS["plain"]):
        assert distinguisher.shortfall(0.1) == math.inf
    assert made(GRAPHS["plain"], answer="pair")[2].shortfall(0.1) == math.inf


def test_unit_pairs_hold_all_disjoint_cuts():
    rng = np.random.default_rng(7)
    matrix = rng.normal(size=(6, 6))
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    largest = max(abs(S @ matrix @ T) for S, T in disjoint_pairs(6))
    assert largest <= pair_scale(Universe(6)) * np.linalg.norm(matrix, 2)


def pairs_value(matrix, S, T):
    """A cut's value on a symmetric matrix, each pair once, by enumeration."""
    return sum(
        matrix[i, j]
        for i, j in itertools.combinations(range(len(matrix)), 2)
        if (S[i] and T[j]) or (S[j] and T[i])
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_best_partner_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(5, 5))
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    subsets = [np.array(bits) for bits in itertools.product((False, True), repeat=5)]
    for S in subsets[1:]:
        partner, value = best_partner(matrix @ S, S, ordered=False)
        allowed = [T for T in subsets if not (S & T).any() or (S == T).all()]
        best = max(abs(pairs_value(matrix, S, T)) for T in allowed)
        assert abs(value) == pytest.approx(best)
        assert value == pytest.approx(pairs_value(matrix, S, partner))
        wide = rng.normal(size=(5, 4))
        partner, value = best_partner(wide.T @ S, S, ordered=True)
        best = max(abs(S @ wide @ np.array(T)) for T in itertools.product((0, 1), repeat=4))
        assert abs(value) == pytest.approx(best)
        assert value == pytest.approx(S @ wide @ partner)


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
        found = matrix_search(universe, matrix, "cut").find(hypothesis, SeededEntropy(0))
        value = found.sign * universe.answers([found.query], matrix)[0]
        if bipartite:
            sides = [np.array(bits) for bits in itertools.product((0, 1), repeat=4)]
            best = max(abs(S @ matrix @ T) for S in sides for T in sides)
        else:
            best = max(abs(S @ matrix @ T) for S, T in disjoint_pairs(6))
        ratios.append(value / best)
    assert min(ratios) > 0.5
    assert np.mean(ratios) > 0.8


@pytest.mark.parametrize("name", GRAPHS)
def test_places_and_matrices_of_pairs(name):
    graph = GRAPHS[name]
    universe = Universe.of(graph)
    values = np.zeros(universe.size)
    values[pair_places(graph)] = graph.weights
    assert (universe.matrix_of(values) == graph.dense()).all()


@pytest.mark.parametrize("symmetric", [True, False])
def test_top_pairs_of_large_matrices(symmetric, monkeypatch):
    rng = np.random.default_rng(9)
    matrix = rng.normal(size=(300, 300 if symmetric else 280))
    if symmetric:
        matrix = -(matrix + matrix.T)
    best = np.linalg.norm(matrix, 2)
    for again in range(2):
        pair = top_pair(matrix, symmetric=symmetric)
        assert pair.gap == pytest.approx(best)
        assert pair.left @ matrix @ pair.right == pytest.approx(best)
        assert np.linalg.norm(pair.left) == pytest.approx(1)
        if not again:
            for name in ("eigsh", "svds"):
                monkeypatch.setattr(rank_one, name, no_convergence)


def no_convergence(*_, **__):
    raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((0, 0)))


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("universe", [Universe(4), Universe(2, 3), Universe(3, directed=True)])
def test_the_sensitivity_of_products_by_enumeration(universe, columns):
    """Every pair, which moves two rows of A X: A X moves by no more, and but for arcs by that."""
    rows, width = universe.shape
    shift, size = (0, rows) if universe.symmetric else (rows, rows + width)
    for seed in range(5):
        X = np.random.default_rng(seed).integers(-9, 10, size=(size, columns))
        largest = 0
        for i, j in zip(*universe.pairs(), strict=True):
            move = np.zeros((size, size), dtype=int)
            move[i, j + shift] = move[j + shift, i] = 1
            largest = max(largest, int(np.square(move @ X).sum()))
        if universe.directed:  # as if an arc could lead from a vertex to itself
            lengths = np.square(X).sum(axis=1)
            assert largest <= lengths[:rows].max() + lengths[rows:].max()
            largest = lengths[:rows].max() + lengths[rows:].max()
        assert squared_sensitivity(X, universe) == largest


@pytest.mark.parametrize("vectors", [1, 2])
@pytest.mark.parametrize("name", ["plain", "weighted"])
def test_a_call_spends_no_more_than_its_budget(name, vectors, monkeypatch):
    """The products a call really makes, each with the variance of its noise: the sum of the exact
    costs of the worst pair of each is within rho, in fractions."""
    graph = random_graph(7, 3, density=0.5)
    if name == "weighted":
        graph = random_graph((3, 5), 3, density=0.5, largest=0.7, weight_cap=0.7)
    universe, grid = Universe.of(graph), Grid.of(graph)
    of = PowerRankOne(universe=universe, rho=0.3, delta=1e-6, grid=grid, steps=3, vectors=vectors)
    seen, variances = [], []
    product, sample = power_method.PowerSearch._product, power_method.sample_discrete_gaussian

    def spy(self, X, *rest):
        seen.append(X.copy())
        return product(self, X, *rest)

    def noted(variance, size, source):
        variances.append((variance, size))
        return sample(variance, size, source)

    monkeypatch.setattr(power_method.PowerSearch, "_product", spy)
    monkeypatch.setattr(power_method, "sample_discrete_gaussian", noted)
    hypothesis = DenseHypothesis.constant(universe, 0.1)
    of.begin(graph, SeededEntropy(1)).find(hypothesis, SeededEntropy(2))
    spent = Fraction(0)
    step = int(grid.steps(np.array([graph.weight_cap]))[0])  # the largest move of a weight
    for X, (variance, size) in zip(seen, variances, strict=True):
        lengths = np.square(X).sum(axis=1)
        ends = [
            lengths[i] + lengths[j + (0 if universe.symmetric else universe.shape[0])]
            for i, j in zip(*universe.pairs(), strict=True)
        ]
        assert size == X.size
        spent += int(max(ends)) * step**2 / (2 * variance)
    assert len(seen) == of.products == 4
    assert Fraction(9, 10) * Fraction(0.3) < spent <= Fraction(0.3)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_double_is_symmetric_and_holds_each_pair_twice_in_steps(name):
    graph = GRAPHS[name]
    grid, rows = Grid.of(graph), Universe.of(graph).shape[0]
    double = power_method.double(graph, grid).toarray()
    assert (double == double.T).all()
    corner = double if isinstance(graph, Graph) else double[:rows, rows:]
    np.testing.assert_allclose(corner * grid.unit, graph.dense(), atol=grid.unit)
    assert np.abs(corner).max() <= grid.sensitivity
    assert np.count_nonzero(double) == 2 * len(graph.rows)


def test_budgets():
    response, gaussian, power, _ = made(GRAPHS["plain"])
    tuned = response.with_rho(0.02, rounds=5)
    assert Fraction(0.0199999) < tuned.distribution.epsilon**2 / 2 <= Fraction(0.02)
    assert tuned.call is None
    assert response.with_epsilon(Fraction(1, 3), rounds=9).setup.pure == Fraction(1, 3)
    assert gaussian.with_rho(0.02, rounds=5).setup.rho == 0.02
    assert gaussian.variance == Fraction(1, 20_000)
    tuned = power.with_rho(0.02, rounds=5)
    assert tuned.setup is None
    assert 5 * Fraction(tuned.call.rho) <= Fraction(0.02)


def test_vectors_of_the_power_method_are_cut_and_whole():
    """A spike is cut at 1/(2 sqrt(n)), so no vertex's pairs get much more noise than others'."""
    spike = np.zeros((16, 1))
    spike[3] = 7.0
    found = np.abs(power_method.on_grid(spike, 10))
    assert found.max() == found[3] == 2**10 / 8
    assert found.sum() == found[3]


@pytest.mark.parametrize("universe", [Universe(3, 9), Universe(9, 3), Universe(9)])
def test_a_rank_one_shortfall_allows_for_the_rounding_of_the_longer_side(universe):
    made = GaussianRankOne(universe=universe, grid=Grid(1.0, 3, 3.0), rho=0.1, delta=1e-6)
    norm = subgaussian_norm(
        float(made.variance), universe.shape, symmetric=universe.symmetric, failure=0.05
    )
    assert made.unit_shortfall(0.05) == pytest.approx(2 * (norm + made.grid.rounding(9)))
    assert made.grid.rounding(9) > made.grid.rounding(3) > 0


@pytest.mark.parametrize("made", [GaussianRankOne, PowerRankOne])
def test_usual_shortfalls_are_weights(made):
    """The same steps with half the weight each."""
    whole, half = (
        made(universe=Universe(9), grid=Grid(unit, 4, 4 * unit), rho=0.1, delta=1e-6)
        for unit in (1.0, 0.5)
    )
    assert half.usual_shortfall == pytest.approx(whole.usual_shortfall / 2)


@pytest.mark.parametrize("universe", [Universe(3, 64), Universe(64, 3), Universe(64)])
def test_vectors_of_equal_entries_have_enough_steps_on_the_longer_side(universe):
    made = PowerRankOne(universe=universe, grid=Grid(), rho=0.1, delta=1e-6)
    assert 2**made.vector_bits / math.sqrt(64) == 2**8
