"""The structure test and the unevenness of degrees: values, proofs and sensitivities."""

import itertools
import math
from fractions import Fraction
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import solve_triangular

from graphcuts_dp import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.measure import structure_test
from graphcuts_dp.measure.structure_test import (
    STRUCTURE_CHANGE,
    STRUCTURE_STEPS,
    degrees_of_sides,
    measure_structure,
    measure_unevenness,
    proven_value,
    smoothed_value,
    structure_count,
    unevenness,
)
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.synth.detected_structure import MOST_TESTED, StructureSetting


def graph_of(edges, n):
    rows, columns = np.array(list(edges), dtype=int).reshape(-1, 2).T
    return Graph(rows, columns, vertices=n)


def setting_of(n, total):
    return StructureSetting.of(Layout((n, n), symmetric=True), total)


def flipped(edges, pair):
    return edges ^ {pair}


def random_edges(n, density, seed):
    random = np.random.default_rng(seed)
    return frozenset(
        pair for pair in itertools.combinations(range(n), 2) if random.random() < density
    )


def two_cliques(n):
    return frozenset(pair for pair in itertools.combinations(range(n), 2) if sum(pair) % 2 == 0)


def two_parts(n):
    return frozenset(pair for pair in itertools.combinations(range(n), 2) if sum(pair) % 2)


def star(n):
    return frozenset((0, leaf) for leaf in range(1, n))


SHAPES = {
    "empty": lambda _: frozenset(),
    "complete": lambda n: frozenset(itertools.combinations(range(n), 2)),
    "star": star,
    "two stars": lambda n: frozenset((a, b) for a in (0, 1) for b in range(2, n)),
    "two cliques": two_cliques,
    "two parts": two_parts,
    "threshold": lambda n: frozenset((a, b) for a in range(n) for b in range(a) if a + b < n),
    "clique": lambda n: frozenset(itertools.combinations(range(n // 3), 2)),
    "random": lambda n: random_edges(n, 0.3, 1),
}


@pytest.fixture
def quick_rounds(monkeypatch):
    """No more rounds than it takes: values are proven all the same."""
    monkeypatch.setattr(structure_test, "_ROUNDS", 1)


def up_to_names(pairs, n):
    """One graph of each class of graphs that differ in the names of their vertices, as bits."""
    pair_index = {frozenset(pair): index for index, pair in enumerate(pairs)}
    renamed = [
        [pair_index[frozenset((names[a], names[b]))] for a, b in pairs]
        for names in itertools.permutations(range(n))
    ]
    graphs = np.array(list(itertools.product((0, 1), repeat=len(pairs))))
    codes = graphs[:, renamed] @ (1 << np.arange(len(pairs)))
    smallest = graphs @ (1 << np.arange(len(pairs))) == codes.min(axis=1)
    return [tuple(map(int, bits)) for bits in graphs[smallest]]


@pytest.mark.thorough
@pytest.mark.usefixtures("quick_rounds")
@pytest.mark.parametrize(
    "density", [0.25, *(pytest.param(density, marks=pytest.mark.slow) for density in (0.5, 0.8))]
)
def test_no_flip_of_a_small_graph_changes_the_count_by_more_than_proven(density):
    """All 34 graphs of five vertices that differ in more than names, and all flips of each."""
    setting = setting_of(5, density * 20)
    pairs = list(itertools.combinations(range(5), 2))

    @cache
    def count_of(bits):
        matrix = np.full((5, 5), -setting.density)
        for (a, b), bit in zip(pairs, bits, strict=True):
            matrix[a, b] = matrix[b, a] = bit - setting.density
        np.fill_diagonal(matrix, 0)
        values = [smoothed_value(sign * matrix, setting.tau).value for sign in (1, -1)]
        return math.floor(max(values) * STRUCTURE_STEPS)

    graphs = up_to_names(pairs, 5)
    assert len(graphs) == 34
    largest = max(
        abs(count_of(bits) - count_of((*bits[:index], 1 - bits[index], *bits[index + 1 :])))
        for bits in graphs
        for index in range(len(pairs))
    )
    assert largest <= STRUCTURE_CHANGE
    assert largest > 0.55 * STRUCTURE_CHANGE


def arcs(pairs, weights):
    """A directed graph on three vertices."""
    del weights
    return DirectedGraph(*np.array(pairs, dtype=int).reshape(-1, 2).T, vertices=3)


def two_sides(pairs, weights):
    """Two vertices beside four."""
    del weights
    return BipartiteGraph(*np.array(pairs, dtype=int).reshape(-1, 2).T, left=2, right=4)


def weighted(pairs, weights):
    """Four vertices, with weights of at most 5."""
    rows, columns = np.array(pairs, dtype=int).reshape(-1, 2).T
    return Graph(rows, columns, 5.0 * np.array(weights), vertices=4, max_weight=5.0)


KINDS = {
    arcs: ([(a, b) for a in range(3) for b in range(3) if a != b], (0, 1)),
    two_sides: ([(a, b) for a in range(2) for b in range(4)], (0, 1)),
    weighted: (list(itertools.combinations(range(4), 2)), (0, 0.4, 1)),
}


@pytest.mark.thorough(cases=2)
@pytest.mark.usefixtures("quick_rounds")
@pytest.mark.parametrize("density", [0.25, pytest.param(0.7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", KINDS)
def test_no_change_of_a_pair_changes_what_is_counted_by_more_than_proven(make, density):
    """All directed, two-sided and weighted graphs of a size, and all changes of one pair."""
    pairs, levels = KINDS[make]
    counts, sums = {}, {}
    for weights in itertools.product(levels, repeat=len(pairs)):
        edges = [(pair, weight) for pair, weight in zip(pairs, weights, strict=True) if weight]
        graph = make([pair for pair, _ in edges], [weight for _, weight in edges])
        layout = Layout.of(graph.space)
        total = density * math.prod(layout.shape)
        counts[weights] = structure_count(graph, StructureSetting.of(layout, total))
        sums[weights] = unevenness(degrees_of_sides(graph))
    step = STRUCTURE_STEPS if make is weighted else 1
    for values, most, least in ((counts, STRUCTURE_CHANGE, 0.2), (sums, 2 * step, 0.99)):
        largest = max(
            abs(value - values[(*weights[:place], level, *weights[place + 1 :])])
            for weights, value in values.items()
            for place in range(len(pairs))
            for level in levels
        )
        assert largest <= most
        assert largest > least * most


def test_weights_without_a_maximum_are_refused():
    graph = Graph([0], [1], [3.0], vertices=5)
    with pytest.raises(TypeError, match="maximum"):
        structure_count(graph, setting_of(5, 3.0))


@pytest.mark.thorough(cases=4)
@pytest.mark.usefixtures("quick_rounds")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("density", [0.1, 0.5])
def test_no_flip_of_a_larger_graph_changes_the_count_by_more_than_proven(shape, density):
    n = 20
    setting, edges = setting_of(n, density * n * (n - 1)), SHAPES[shape](20)
    count = structure_count(graph_of(edges, n), setting)
    pairs = [(0, 1), (0, 2), (0, 19), (1, 2), (3, 4), (3, 5), (10, 18), (17, 18)]
    changes = [
        abs(structure_count(graph_of(flipped(edges, pair), n), setting) - count) for pair in pairs
    ]
    assert max(changes) <= STRUCTURE_CHANGE
    if (shape, density) == ("two cliques", 0.1):
        assert max(changes) > 0.85 * STRUCTURE_CHANGE


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_value_is_that_of_another_solver(shape, sign):
    n, tau = 7, 0.8
    matrix = graph_of(SHAPES[shape](n), n).dense().astype(float) - 0.3 * (1 - np.eye(n))
    y = cp.Variable(n)
    objective = cp.sum(y) - tau * cp.log_det(cp.diag(y) - sign * matrix)
    expected = cp.Problem(cp.Minimize(objective)).solve(solver="SCS", eps=1e-7, max_iters=50_000)
    value, width = smoothed_value(sign * matrix, tau)
    assert value == pytest.approx(expected, abs=2e-3)
    assert 0 < width <= 1 / 64


@pytest.mark.parametrize("seed", range(4))
def test_the_width_covers_what_points_near_the_minimiser_miss(seed):
    """Theorem "Certified values of the structure test", at points that are no minimiser."""
    random = np.random.default_rng(seed)
    n, tau = 12, 0.7
    matrix = graph_of(random_edges(n, 0.4, seed), n).dense().astype(float) - 0.4 * (1 - np.eye(n))
    best = smoothed_value(matrix, tau).value
    y = _minimiser(matrix, tau)
    for size in (1e-1, 1e-2, 3e-3, 1e-3, 1e-5):
        point = y + size * random.standard_normal(n)
        factor = np.linalg.cholesky(np.diag(point) - matrix)
        inverse = solve_triangular(factor, np.eye(n), lower=True)
        proven = proven_value(matrix, tau, point, factor, inverse)
        true = point.sum() - 2 * tau * np.log(factor.diagonal()).sum()
        if proven is None:
            assert size > 1e-4
        else:
            assert proven.value == pytest.approx(true, abs=1e-9)
            assert best - 1e-6 <= true <= best + proven.width + 1e-6
    factor = np.linalg.cholesky(np.diag(y) - matrix)
    inverse = solve_triangular(factor, np.eye(n), lower=True)
    assert proven_value(matrix, tau, y, factor, inverse) is not None
    # Nothing is proven by a wrong factor, a wrong inverse, or numbers that are none.
    assert proven_value(matrix, tau, y, 1.1 * factor, inverse / 1.1) is None
    assert proven_value(matrix, tau, y, factor, 1.1 * inverse) is None
    assert proven_value(matrix, tau, y + np.nan, factor, inverse) is None
    assert proven_value(matrix, tau, y, factor, inverse * np.nan) is None


def _minimiser(matrix, tau):
    """By plain damped Newton steps."""
    y = np.full(len(matrix), np.linalg.eigvalsh(matrix)[-1] + 3 * tau)
    for _ in range(300):
        X = tau * np.linalg.inv(np.diag(y) - matrix)
        gradient = 1 - X.diagonal()
        step = -np.linalg.solve(X * X / tau, gradient)
        decrement = math.sqrt(max(-float(gradient @ step) / tau, 0.0))
        y = y + step / (1 + decrement)
    return y


HUBS = ("star", "two stars")  # take the most rounds


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    ("shape", "n"),
    [
        *itertools.product(SHAPES, (8, 40)),
        *((shape, 90) for shape in HUBS),
        *(pytest.param(shape, 90, marks=pytest.mark.slow) for shape in SHAPES if shape not in HUBS),
    ],
)
def test_the_rounds_that_every_graph_gets_are_enough(shape, n, monkeypatch):
    """So that time tells nothing: of hubs, heavy tails, and a density that is far off."""
    monkeypatch.setattr(structure_test, "_MOST_ROUNDS", structure_test._ROUNDS)
    matrix = graph_of(SHAPES[shape](n), n).dense().astype(float)
    for density in (1 / n, 0.3, 1 - 1 / n):
        setting = setting_of(n, density * n * (n - 1))
        centred = np.where(np.eye(n) > 0, 0, matrix - setting.density)
        for sign in (1, -1):
            assert smoothed_value(sign * centred, setting.tau) is not None


def test_a_value_that_is_not_proven_is_replaced_by_a_public_one(monkeypatch):
    monkeypatch.setattr(structure_test, "_ROUNDS", 1)
    monkeypatch.setattr(structure_test, "_MOST_ROUNDS", 2)
    n = 30
    setting = setting_of(n, 0.2 * n * (n - 1))
    counts = {structure_count(graph_of(make(n), n), setting) for make in (star, two_cliques)}
    assert counts == {STRUCTURE_STEPS * n**2}


def test_a_part_of_many_vertices_is_tested_and_chosen_without_regard_to_the_graph(monkeypatch):
    monkeypatch.setattr(structure_test, "_ROUNDS", 1)
    n = MOST_TESTED + 40
    setting = setting_of(n, 0.1 * n * (n - 1))
    assert len(setting.rows) == MOST_TESTED
    assert np.array_equal(setting.rows, setting_of(n, 7.0).rows)
    outside = np.setdiff1d(np.arange(n), setting.rows)
    edges = random_edges(n, 0.02, 3)
    more = edges | {(int(outside[0]), int(outside[1]))}
    counts = [structure_count(graph_of(each, n), setting) for each in (edges, more)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(("left", "right"), [(40, 1000), (1000, 40), (200, 350), (60, 90)])
def test_of_two_sides_the_smaller_one_is_tested_first(left, right):
    setting = StructureSetting.of(Layout((left, right), symmetric=False), 0.1 * left * right)
    tested = len(setting.rows), len(setting.columns)
    assert sum(tested) == min(left + right, MOST_TESTED)
    assert min(tested) == min(left, right, MOST_TESTED // 2)


@pytest.mark.parametrize("n", [5, 6])
def test_no_flip_changes_the_unevenness_by_more_than_two(n):
    largest = 0
    for seed in range(60):
        edges = random_edges(n, seed / 60, seed)
        before = unevenness([graph_of(edges, n).dense().sum(axis=0).astype(int)])
        for pair in itertools.combinations(range(n), 2):
            degrees = graph_of(flipped(edges, pair), n).dense().sum(axis=0).astype(int)
            largest = max(largest, abs(unevenness([degrees]) - before))
            middle = int(np.median(degrees))
            assert unevenness([degrees]) == np.abs(degrees - middle).sum()
    assert largest == 2


def test_noise_costs_what_was_asked_for():
    graph = graph_of(two_cliques(12), 12)
    setting, source = setting_of(12, 60.0), SeededEntropy(0)
    epsilon = Fraction(1, 7)
    for measured, change in (
        (measure_structure(graph, setting, epsilon=epsilon, source=source), 2064),
        (measure_unevenness(graph, epsilon=epsilon, source=source), 2),
    ):
        assert measured.cost().pure == epsilon
        assert measured.changes == ((change, change**2),)
    assert STRUCTURE_CHANGE == 2064
    errors = [
        measure_structure(graph, setting, epsilon=Fraction(50), source=SeededEntropy(seed)).values[
            0
        ][0]
        for seed in range(3)
    ]
    true = structure_count(graph, setting) / STRUCTURE_STEPS
    assert np.abs(np.array(errors) - true).max() < 1.2  # 30 scales of the noise
