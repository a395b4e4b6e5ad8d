"""What each measurement adds to a true count is the exact sampler's noise, all of it, and no other.

The sampler is called again with the same seed, at the rate that the measurement's guarantee names;
so noise that is left out of one entry, halved, or drawn once for two of them differs at once.
"""

from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure import private_norms, statistics
from graphcuts_dp.measure.cells import (
    cell_tree,
    grid_of_cells,
    measure_cells,
    measure_group_sums,
    measure_refinable_groups,
    measure_weighted_sum,
    sums_of_cells,
    weighted_sensitivity,
)
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.plugins import SeededEntropy, ValueNoise
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.noise import sample_discrete_laplace, sample_geometric
from graphcuts_dp.release.measuring import sparse_distribution
from tests.audits.rows_in_memory import rows_in_memory

EPSILON = Fraction(1, 50)  # noise of about 70 and more: that it is 0 by chance is rare
pytestmark = pytest.mark.parametrize("seed", range(3))
ENDS = [0, 0, 1, 2, 3], [1, 2, 2, 3, 4]
GRAPHS = {
    "undirected": gc.Graph(*ENDS, vertices=6),
    "directed": gc.DirectedGraph(*ENDS, vertices=6),
    "bipartite": gc.BipartiteGraph(*ENDS, left=5, right=7),
}
COEFFICIENTS = np.array([70, -200, 3])


def laplace(rate, sizes, seed):
    """What the sampler draws for so many counts, one call after the other."""
    source = SeededEntropy(seed)
    return [sample_discrete_laplace(Fraction(rate), size, source).tolist() for size in sizes]


def degrees_of(graph):
    dense = graph.dense()
    return dense.sum(axis=1).astype(int), dense.sum(axis=0).astype(int)


@pytest.mark.parametrize("kind", GRAPHS)
def test_degrees(kind, seed):
    graph = GRAPHS[kind]
    entries = distribution_for(graph, "discrete-laplace", 1.0)
    made = statistics.measure_degrees(graph, entries, epsilon=EPSILON, source=SeededEntropy(seed))
    noise = [side - true for side, true in zip(made.steps, degrees_of(graph), strict=False)]
    # An edge changes two degrees by one: a rate of epsilon/2 for each.
    expected = laplace(EPSILON / 2, map(len, made.steps), seed)
    assert [each.tolist() for each in noise] == expected
    assert made.rate * 2 == made.epsilon == EPSILON


def refined(rate, finer, sizes, seed, other):
    """The lesser of what the sampler draws with one seed and with another, for so many counts."""
    first, second = SeededEntropy(seed), SeededEntropy(other)
    found = []
    for size in sizes:
        halves = [sample_geometric(Fraction(rate), size, first) for _ in range(2)]
        up, down = (
            np.minimum(half, sample_geometric(finer - rate, size, second)) for half in halves
        )
        found.append((up - down).tolist())
    return found


@pytest.mark.parametrize("kind", GRAPHS)
def test_refined_degrees(kind, seed):
    graph, finer = GRAPHS[kind], 5 * EPSILON
    entries = distribution_for(graph, "discrete-laplace", 1.0)
    first = statistics.measure_refinable_degrees(
        graph, entries, epsilon=EPSILON, source=SeededEntropy(seed), name="early degrees"
    )
    true = degrees_of(graph)
    coarse = [side - sums for side, sums in zip(first.measurement.steps, true, strict=False)]
    sizes = [len(each) for each in coarse]
    assert [each.tolist() for each in coarse] == laplace(EPSILON / 2, sizes, seed)
    made = first.refined(finer, SeededEntropy(seed + 9), name="degrees").measurement
    noise = [side - sums for side, sums in zip(made.steps, true, strict=False)]
    assert [each.tolist() for each in noise] == refined(
        EPSILON / 2, finer / 2, sizes, seed, seed + 9
    )
    assert (made.name, made.epsilon, made.rate * 2) == ("degrees", finer, finer)
    assert (first.measurement.name, first.measurement.epsilon) == ("early degrees", EPSILON)
    assert "_noise" not in repr(first)
    assert not any(each.flags.writeable for each in (*made.steps, *first.measurement.steps))


@pytest.mark.parametrize("weighted", [False, True])
def test_refined_sums_between_groups(weighted, seed):
    graph = gc.Graph(*ENDS, [0.5, 0.25, 1.0, 1.0, 2.0], vertices=6, max_weight=2.0)
    graph = graph if weighted else GRAPHS["undirected"]
    groups = gc.Groups(graph.vertices, {"g": ["a", "a", "b", "b", "b", "b"]})
    finer, sides = 6 * EPSILON, (groups, groups)
    first = measure_refinable_groups(
        graph,
        sides,
        epsilon=EPSILON,
        most=finer,
        whole=False,
        name="groups",
        source=SeededEntropy(seed),
    )
    made = first.refined(finer, SeededEntropy(seed + 9), name="groups").measurement
    grid = grid_of_cells(graph, epsilon=float(finer), whole=False)
    true = sums_of_cells(graph, sides, cell_tree(graph, sides), grid)[-1]
    assert made.unit == first.measurement.unit == grid.unit
    rates = [each / grid.sensitivity for each in (EPSILON, finer)]
    assert (made.steps[0] - true).tolist() == refined(*rates, [len(true)], seed, seed + 9)[0]
    assert made.epsilon == finer


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_total(kind, seed):
    graph = GRAPHS[kind]
    entries = distribution_for(graph, "discrete-laplace", 1.0)
    made = statistics.measure_total(graph, entries, epsilon=EPSILON, source=SeededEntropy(seed))
    twice = 2 if kind == "undirected" else 1
    assert made.total / twice - len(ENDS[0]) == laplace(EPSILON, [1], seed)[0][0]


def test_counts_of_weights(seed):
    weights = [0.5, 2.0, 9.0, 40.0, 300.0]
    graph = gc.Graph(*ENDS, weights, vertices=6, max_weight_change=1)
    entries = sparse_distribution(graph, "discrete-laplace", 1.0)
    made = statistics.measure_weight_counts(
        graph, entries, epsilon=EPSILON, source=SeededEntropy(seed)
    )
    steps = np.floor(np.array(weights) / made.map.step)
    true = np.array([((steps >= a) & (steps < b)).sum() for a, b in _classes(made.map.lower)])
    assert len(true) > 1
    assert (made.steps[0] - true).tolist() == laplace(EPSILON / 2, [len(true)], seed)[0]


def _classes(lower):
    return zip(lower, [*lower[1:], np.inf], strict=True)


def test_contributions(seed):
    sizes = [1, 1, 2, 5, 9]
    rows = rows_in_memory(
        gc.VertexSet(20),
        np.repeat(np.arange(5), sizes),
        np.arange(5, dtype=np.uint64),
        (np.zeros(sum(sizes), dtype=int), 1 + np.arange(sum(sizes))),
    )
    bounds = (1, 2, 4)
    counts = statistics.measure_contributions(
        rows, bounds, rate=EPSILON, source=SeededEntropy(seed)
    )
    assert statistics.class_counts(rows, bounds).tolist() == [2, 1, 0, 2]
    assert (counts - [2, 1, 0, 2]).tolist() == laplace(EPSILON, [4], seed)[0]


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_sums_between_groups(distribution, seed):
    graph = GRAPHS["undirected"]
    groups = gc.Groups(graph.vertices, {"g": ["a", "a", "b", "b", "b", "b"]})
    sides, grid = (groups, groups), Grid.of(graph)
    cells = cell_tree(graph, sides)
    true = sums_of_cells(graph, sides, cells, grid)[-1]
    noise = ValueNoise(distribution, 1 / EPSILON**2 if distribution == "gaussian" else EPSILON)
    sums = measure_group_sums(graph, sides, cells, grid, noise, SeededEntropy(seed))
    assert (sums - true).tolist() == noise.draw_many(3, SeededEntropy(seed)).tolist()

    wide = weighted_sensitivity(COEFFICIENTS)
    noise = ValueNoise(distribution, noise.parameter * (wide**2 if distribution[0] == "g" else 1))
    bought = measure_weighted_sum(
        graph, sides, cells, grid, COEFFICIENTS, noise, SeededEntropy(seed)
    )
    assert bought - int(COEFFICIENTS @ true) == noise.draw(SeededEntropy(seed))

    level = LevelNoise(distribution, (Fraction(1, 40), Fraction(1, 60)))
    grid = grid_of_cells(graph, epsilon=1.0)
    source = SeededEntropy(seed)
    made = measure_cells(
        graph,
        sides,
        cells,
        measured_levels=(0, 1),
        noise=level,
        grid=grid,
        source=SeededEntropy(seed),
    )
    exact = sums_of_cells(graph, sides, cells, grid)
    for number, sums in enumerate(made.steps):
        drawn = level.draw(number, len(sums), source)
        assert (sums - exact[number]).tolist() == drawn.tolist()


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("buy", "exact", "steps", "rounded"),
    [
        (
            private_norms.measure_root_degrees,
            private_norms.root_degrees,
            private_norms.ROOT_STEPS,
            5,
        ),
        (
            private_norms.measure_nuclear_norm,
            private_norms.nuclear_norm,
            private_norms.NUCLEAR_STEPS,
            2,
        ),
    ],
)
def test_norms(buy, exact, steps, rounded, distribution, seed):
    graph, grid = GRAPHS["bipartite"], Grid()
    scale = 3 * steps
    noise = ValueNoise(
        distribution, Fraction(scale**2 if distribution == "gaussian" else Fraction(1, scale))
    )
    radius = 9 * scale  # what is drawn lies within: the bought norm is not cut at 0
    drawn = noise.draw(SeededEntropy(seed))
    assert 0 < abs(drawn) < radius
    bought = buy(graph, grid, noise, radius, SeededEntropy(seed))
    # Both count 1,024 steps for a norm of 1.
    assert bought * 1024 == exact(graph, grid) + drawn + radius + rounded
