"""The mean square error of random halves: its theorem, and the query that gives a bound on it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.mean_square import (
    GRID_STEPS,
    FittedWeights,
    RandomHalves,
    SquaredDistance,
    on_grid,
    random_halves,
)
from graphcuts_dp.estimate.measurement import CountMeasurement
from graphcuts_dp.measure.mean_square import measure_squared_distance, squared_distance
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.schema.layout import Layout

CAP = 2.5
KINDS = {
    "plain": (gc.Graph, None),
    "weighted": (gc.Graph, CAP),
    "two sides": (gc.BipartiteGraph, None),
    "two sides, weighted": (gc.BipartiteGraph, CAP),
    "directed": (gc.DirectedGraph, None),
    "directed, weighted": (gc.DirectedGraph, CAP),
}


def shape_of(kind, n=4):
    return (3, 2) if kind is gc.BipartiteGraph else (n, n)


def graph_of(kind, matrix, cap):
    """A graph of a matrix; of an undirected one its upper half counts."""
    rows, columns = np.nonzero(np.triu(matrix, 1) if kind is gc.Graph else matrix)
    named = {"vertices": len(matrix)}
    if kind is gc.BipartiteGraph:
        named = {"left": matrix.shape[0], "right": matrix.shape[1]}
    if cap is None:
        return kind(rows, columns, **named)
    return kind(rows, columns, matrix[rows, columns], **named, max_weight=cap)


def random_matrix(kind, rng, n=4, cap=None, fractions=True):
    """Weights of a fit, in [0, cap], or of a graph if there are no fractions of 1."""
    shape = shape_of(kind, n)
    values = rng.random(shape).round(4) if fractions else (rng.random(shape) < 0.5).astype(float)
    values *= cap or 1.0
    if kind is gc.Graph:
        values = np.triu(values, 1) + np.triu(values, 1).T
    elif kind is gc.DirectedGraph:
        np.fill_diagonal(values, 0)
    return values


def fitted_of(kind, matrix, cap):
    layout = Layout(matrix.shape, kind is gc.Graph, kind is gc.DirectedGraph)
    if cap is None:
        return FittedWeights.of_units(np.rint(matrix * GRID_STEPS).astype(np.uint16), layout)
    rows, columns = np.nonzero(np.triu(matrix, 1) if kind is gc.Graph else matrix)
    return FittedWeights.of_edges(rows, columns, matrix[rows, columns], layout, cap)


def pair_differences(kind, difference):
    """The difference of each pair of vertices, both arcs of a pair together."""
    if kind is gc.BipartiteGraph:
        return difference.ravel()
    both = difference if kind is gc.Graph else difference + difference.T
    return both[np.triu_indices(len(both), 1)]


def cut_error(kind, difference, inside):
    """The error of the cut between a set and the others, in both directions."""
    rows, columns = difference.shape
    left = inside[:rows]
    right = inside[rows:] if kind is gc.BipartiteGraph else inside[:columns]
    error = difference[left][:, ~right].sum()
    return error if kind is gc.Graph else error + difference[~left][:, right].sum()


def cut_errors(kind, difference, sets):
    return np.array([cut_error(kind, difference, np.array(inside)) for inside in sets])


@pytest.mark.parametrize("name", KINDS)
def test_random_halves_err_as_the_theorem_says(name):
    (kind, cap), rng = KINDS[name], np.random.default_rng(1)
    for _ in range(5):
        graph, fit = (random_matrix(kind, rng, 5, cap) for _ in range(2))
        difference = graph - fit
        count = sum(difference.shape) if kind is gc.BipartiteGraph else len(difference)
        errors = cut_errors(kind, difference, itertools.product([False, True], repeat=count))
        pairs = pair_differences(kind, difference)
        squared, total = (pairs**2).sum(), pairs.sum()
        assert errors.mean() == pytest.approx(total / 2)
        assert errors.var() == pytest.approx(squared / 4)
        assert (errors**2).mean() == pytest.approx((squared + total**2) / 4)
        exact = RandomHalves(
            total_error=abs(total),
            scatter=math.sqrt(squared) / 2,
            scatter_at_most=math.sqrt(squared) / 2,
            confidence=0.95,
            vertices=None,
            informative=True,
        )
        assert exact.root_mean_square**2 == pytest.approx((errors**2).mean())


@pytest.mark.parametrize("kind", [gc.Graph, gc.DirectedGraph])
@pytest.mark.parametrize("n", [4, 6, 8])
def test_equal_halves_err_by_less_than_is_stated(kind, n):
    rng = np.random.default_rng(n)
    everyone = [
        np.isin(np.arange(n), chosen) for chosen in itertools.combinations(range(n), n // 2)
    ]
    uniform = np.ones((n, n)) - np.eye(n)  # of which the bound is the mean square itself
    for difference in (uniform, *(random_matrix(kind, rng, n) - 0.4 * uniform for _ in range(5))):
        errors = cut_errors(kind, difference, everyone)
        pairs = pair_differences(kind, difference)
        squared, total = (pairs**2).sum(), pairs.sum()
        both = difference if kind is gc.Graph else difference + difference.T
        of_degrees = (both.sum(axis=1) ** 2).sum()
        stated = n * ((n - 2) * (squared + total**2) - of_degrees) / (4 * (n - 1) * (n - 3))
        assert (errors**2).mean() == pytest.approx(stated)
        halves = RandomHalves(
            total_error=abs(total),
            scatter=math.sqrt(squared) / 2,
            scatter_at_most=math.sqrt(squared) / 2,
            confidence=0.95,
            vertices=n,
            informative=True,
        )
        assert halves.equal_halves**2 >= (errors**2).mean()
        if difference is uniform:
            assert halves.equal_halves**2 == pytest.approx((errors**2).mean())


@pytest.mark.parametrize("n", [2, 3, 5, None])
def test_halves_of_odd_numbers_have_no_equal_sizes(n):
    halves = RandomHalves(
        total_error=1.0,
        scatter=1.0,
        scatter_at_most=1.0,
        confidence=0.95,
        vertices=n,
        informative=True,
    )
    assert halves.equal_halves is None


@pytest.mark.parametrize("name", KINDS)
def test_the_query_is_the_squared_distance_less_what_is_public(name):
    (kind, cap), rng = KINDS[name], np.random.default_rng(2)
    for _ in range(5):
        private = random_matrix(kind, rng, 6, cap, fractions=cap is not None)
        matrix = random_matrix(kind, rng, 6, cap)
        fitted = fitted_of(kind, matrix, cap)
        found = fitted.squares + squared_distance(graph_of(kind, private, cap), fitted, whole=False)
        steps = [on_grid(each, cap or 1.0) for each in (private, matrix)]
        assert found == (pair_differences(kind, steps[0] - steps[1]) ** 2).sum()
        assert 0 <= found <= fitted.most
        exact = (pair_differences(kind, private - matrix) ** 2).sum()
        assert math.sqrt(found) * fitted.unit == pytest.approx(math.sqrt(exact), abs=1e-3)
        assert fitted.total == pytest.approx(pair_differences(kind, matrix).sum())
        assert fitted.pairs == len(pair_differences(kind, matrix))


@pytest.mark.parametrize("name", KINDS)
def test_no_pair_changes_the_query_by_more_than_its_sensitivity(name):
    """Every pair of small graphs, from weight to weight, with fits at both limits and between."""
    (kind, cap), rng = KINDS[name], np.random.default_rng(3)
    largest = cap or 1.0
    values = (0.0, largest) if cap is None else (0.0, 0.3, 1.1, largest)
    reached = 0
    for base in (0.0, largest, None):
        for fit in (0.0, largest, None):
            ones = random_matrix(kind, rng, 4, None, fractions=False) * 0 + 1
            if kind is not gc.BipartiteGraph:
                np.fill_diagonal(ones, 0)
            fits = random_matrix(kind, rng, 4, cap) if fit is None else ones * fit
            fitted = fitted_of(kind, fits, cap)
            private = ones * base if base is not None else ones * random_values(values, ones, rng)
            for i, j in zip(*np.nonzero(ones), strict=True):
                queries = []
                for value in values:
                    changed = private.copy()
                    changed[i, j] = value
                    if kind is gc.Graph:
                        changed[j, i] = value
                    queries.append(
                        squared_distance(graph_of(kind, changed, cap), fitted, whole=False)
                    )
                reached = max(reached, max(queries) - min(queries))
                assert max(queries) - min(queries) <= fitted.sensitivity
    assert reached == fitted.sensitivity  # so none smaller would do


def random_values(values, ones, rng):
    chosen = rng.choice(values, ones.shape)
    return np.triu(chosen, 1) + np.triu(chosen, 1).T if len(set(ones.shape)) == 1 else chosen


def test_a_measurement_costs_what_it_was_given():
    graph = gc.DirectedGraph([0, 1], [1, 0], vertices=3)
    fitted = fitted_of(gc.DirectedGraph, np.zeros((3, 3)), None)
    measured = measure_squared_distance(
        graph, fitted, whole=False, epsilon=Fraction(1, 3), source=SeededEntropy(0)
    )
    assert measured.epsilon == Fraction(1, 3)
    assert measured.changes[0][0] == 3 * GRID_STEPS**2


def coverage(runs, seed, rate):
    """The share of runs in which the bound on the scatter is below the scatter."""
    fits = random_matrix(gc.Graph, np.random.default_rng(seed), 12)
    private = random_matrix(gc.Graph, np.random.default_rng(seed + 1), 12, fractions=False)
    fitted = fitted_of(gc.Graph, fits, None)
    query = squared_distance(graph_of(gc.Graph, private, None), fitted, whole=False)
    true_scatter = math.sqrt((pair_differences(gc.Graph, private - fits) ** 2).sum()) / 2
    source, missed = SeededEntropy(seed), 0
    noise = LevelNoise("laplace", (rate,))
    for drawn in noise.draw(0, runs, source).tolist():
        measured = CountMeasurement(
            name="squared distance",
            map=SquaredDistance(fitted.digest),
            steps=(np.array([query + drawn]),),
            unit=fitted.unit**2,
            noise=noise,
            changes=((GRID_STEPS**2, GRID_STEPS**4),),
        )
        halves = random_halves(measured, fitted, total=(0.0, 1.0), rounded=False, confidence=0.95)
        missed += halves.scatter_at_most < true_scatter
    return missed / runs


@pytest.mark.parametrize("runs", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_the_bound_on_the_scatter_fails_as_often_as_it_may(runs):
    """.04 of all runs, and not much less often."""
    share = coverage(runs, 5, Fraction(1, 2 * GRID_STEPS**2))
    spread = 4 * math.sqrt(0.04 * 0.96 / runs)
    assert 0.04 - spread <= share <= 0.04 + spread
