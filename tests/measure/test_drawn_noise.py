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

pytestmark = pytest.mark.parametrize("seed", range(3))

EPSILON = Fraction(1, 50)  # noise of about 70 and more, so that it is rarely 0
EDGES = [0, 0, 1, 2, 3], [1, 2, 2, 3, 4]
GRAPHS = {
    "undirected": gc.Graph(*EDGES, vertices=6),
    "directed": gc.DirectedGraph(*EDGES, vertices=6),
    "bipartite": gc.BipartiteGraph(*EDGES, left=5, right=7),
}
TWO_GROUPS = ["a", "a", "b", "b", "b", "b"]
COEFFICIENTS = np.array([70, -200, 3])  # of the sums a-a, a-b and b-b


def laplace_noise(rate, sizes, seed):
    """Draw noise for several measurements of these sizes, one after the other."""
    source = SeededEntropy(seed)
    return [sample_discrete_laplace(Fraction(rate), size, source).tolist() for size in sizes]


def refined_noise(rate, finer_rate, sizes, seed, refining_seed):
    """Draw the finer noise of refined measurements: minima of geometric variables.

    Coarse noise is X - Y for two geometric variables, drawn from `seed`. The finer noise is
    min(X, G) - min(Y, H), with G and H drawn from `refining_seed`.
    """
    source, refining_source = SeededEntropy(seed), SeededEntropy(refining_seed)
    noise = []
    for size in sizes:
        coarse = [sample_geometric(Fraction(rate), size, source) for _ in range(2)]
        up, down = (
            np.minimum(half, sample_geometric(finer_rate - rate, size, refining_source))
            for half in coarse
        )
        noise.append((up - down).tolist())
    return noise


def true_degrees(graph):
    weights = graph.dense()
    return weights.sum(axis=1).astype(int), weights.sum(axis=0).astype(int)


def noise_of(measurement, truths):
    """Return what a measurement added to the true values of each of its arrays."""
    return [(noisy - true).tolist() for noisy, true in zip(measurement.steps, truths, strict=False)]


@pytest.mark.parametrize("kind", GRAPHS)
def test_degrees_have_noise_of_half_the_rate(kind, seed):
    """An edge changes two degrees by one."""
    graph = GRAPHS[kind]
    entries = distribution_for(graph, "discrete-laplace", 1.0)
    measurement = statistics.measure_degrees(
        graph, entries, epsilon=EPSILON, source=SeededEntropy(seed)
    )
    sizes = map(len, measurement.steps)
    expected = laplace_noise(EPSILON / 2, sizes, seed)
    assert noise_of(measurement, true_degrees(graph)) == expected
    assert measurement.rate * 2 == measurement.epsilon == EPSILON


@pytest.mark.parametrize("kind", GRAPHS)
def test_refined_degrees_have_the_finer_part_of_the_coarse_noise(kind, seed):
    graph, finer_epsilon = GRAPHS[kind], 5 * EPSILON
    entries = distribution_for(graph, "discrete-laplace", 1.0)
    refinable = statistics.measure_refinable_degrees(
        graph, entries, epsilon=EPSILON, source=SeededEntropy(seed), name="early degrees"
    )
    coarse = refinable.measurement
    fine = refinable.refined(finer_epsilon, SeededEntropy(seed + 9), name="degrees").measurement
    sizes = [len(side) for side in coarse.steps]
    truths = true_degrees(graph)
    assert noise_of(coarse, truths) == laplace_noise(EPSILON / 2, sizes, seed)
    assert noise_of(fine, truths) == refined_noise(
        EPSILON / 2, finer_epsilon / 2, sizes, seed, seed + 9
    )
    assert (coarse.name, coarse.epsilon) == ("early degrees", EPSILON)
    assert (fine.name, fine.epsilon, fine.rate * 2) == ("degrees", finer_epsilon, finer_epsilon)
    assert "_noise" not in repr(refinable)
    assert not any(array.flags.writeable for array in (*fine.steps, *coarse.steps))


@pytest.mark.parametrize("weighted", [False, True])
def test_refined_sums_between_groups_have_the_finer_part_of_the_coarse_noise(weighted, seed):
    graph = GRAPHS["undirected"]
    if weighted:
        graph = gc.Graph(*EDGES, [0.5, 0.25, 1.0, 1.0, 2.0], vertices=6, max_weight=2.0)
    groups = gc.Groups(graph.vertices, {"g": TWO_GROUPS})
    sides, finer_epsilon = (groups, groups), 6 * EPSILON
    refinable = measure_refinable_groups(
        graph,
        sides,
        epsilon=EPSILON,
        most=finer_epsilon,
        whole=False,
        name="groups",
        source=SeededEntropy(seed),
    )
    fine = refinable.refined(finer_epsilon, SeededEntropy(seed + 9), name="groups").measurement
    grid = grid_of_cells(graph, epsilon=float(finer_epsilon), whole=False)
    true_sums = sums_of_cells(graph, sides, cell_tree(graph, sides), grid)[-1]
    assert fine.unit == refinable.measurement.unit == grid.unit
    rate, finer_rate = (epsilon / grid.sensitivity for epsilon in (EPSILON, finer_epsilon))
    assert noise_of(fine, [true_sums]) == refined_noise(
        rate, finer_rate, [len(true_sums)], seed, seed + 9
    )
    assert fine.epsilon == finer_epsilon


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_total_has_noise_of_the_whole_rate(kind, seed):
    """The total of an undirected graph counts each edge twice, with twice the noise."""
    graph = GRAPHS[kind]
    entries = distribution_for(graph, "discrete-laplace", 1.0)
    measurement = statistics.measure_total(
        graph, entries, epsilon=EPSILON, source=SeededEntropy(seed)
    )
    counts_of_edge = 2 if kind == "undirected" else 1
    (expected,) = laplace_noise(EPSILON, [1], seed)
    assert [measurement.total / counts_of_edge - len(EDGES[0])] == expected


def test_counts_of_classes_of_weights_have_noise_of_half_the_rate(seed):
    """A weight that changes leaves one class and enters another."""
    weights = [0.5, 2.0, 9.0, 40.0, 300.0]
    graph = gc.Graph(*EDGES, weights, vertices=6, max_weight_change=1)
    entries = sparse_distribution(graph, "discrete-laplace", 1.0)
    measurement = statistics.measure_weight_counts(
        graph, entries, epsilon=EPSILON, source=SeededEntropy(seed)
    )
    steps = np.floor(np.array(weights) / measurement.map.step)
    class_bounds = [*measurement.map.lower, np.inf]
    true_counts, _ = np.histogram(steps, class_bounds)
    assert len(true_counts) > 1
    expected = laplace_noise(EPSILON / 2, [len(true_counts)], seed)
    assert noise_of(measurement, [true_counts]) == expected


def test_numbers_of_contributions_have_noise_of_the_whole_rate(seed):
    rows_of_users = [1, 1, 2, 5, 9]
    row_count = sum(rows_of_users)
    rows = rows_in_memory(
        gc.VertexSet(20),
        np.repeat(np.arange(5), rows_of_users),
        np.arange(5, dtype=np.uint64),
        (np.zeros(row_count, dtype=int), 1 + np.arange(row_count)),
    )
    bounds = (1, 2, 4)
    noisy_counts = statistics.measure_contributions(
        rows, bounds, rate=EPSILON, source=SeededEntropy(seed)
    )
    true_counts = [2, 1, 0, 2]  # of users with at most 1, 2 or 4 rows, and with more
    assert statistics.class_counts(rows, bounds).tolist() == true_counts
    assert [(noisy_counts - true_counts).tolist()] == laplace_noise(EPSILON, [4], seed)


def graph_and_cells():
    """Return the undirected graph, its groups on both sides, and the cells between groups."""
    graph = GRAPHS["undirected"]
    groups = gc.Groups(graph.vertices, {"g": TWO_GROUPS})
    return graph, (groups, groups), cell_tree(graph, (groups, groups))


DISTRIBUTIONS = pytest.mark.parametrize("distribution", ["laplace", "gaussian"])


def value_noise(distribution, scale):
    """Return noise of rate 1/scale, or of variance scale^2."""
    scale = Fraction(scale)
    return ValueNoise(distribution, scale**2 if distribution == "gaussian" else 1 / scale)


@DISTRIBUTIONS
def test_sums_between_groups_have_the_noise_of_sessions(distribution, seed):
    graph, sides, cells = graph_and_cells()
    grid, noise = Grid.of(graph), value_noise(distribution, 1 / EPSILON)
    true_sums = sums_of_cells(graph, sides, cells, grid)[-1]
    sums = measure_group_sums(graph, sides, cells, grid, noise, SeededEntropy(seed))
    assert (sums - true_sums).tolist() == noise.draw_many(3, SeededEntropy(seed)).tolist()


@DISTRIBUTIONS
def test_a_weighted_sum_has_the_noise_of_sessions(distribution, seed):
    graph, sides, cells = graph_and_cells()
    grid = Grid.of(graph)
    noise = value_noise(distribution, weighted_sensitivity(COEFFICIENTS) / EPSILON)
    true_sums = sums_of_cells(graph, sides, cells, grid)[-1]
    weighted = measure_weighted_sum(
        graph, sides, cells, grid, COEFFICIENTS, noise, SeededEntropy(seed)
    )
    assert weighted - int(COEFFICIENTS @ true_sums) == noise.draw(SeededEntropy(seed))


@DISTRIBUTIONS
def test_cells_of_each_level_have_the_noise_of_their_level(distribution, seed):
    graph, sides, cells = graph_and_cells()
    noise = LevelNoise(distribution, (Fraction(1, 40), Fraction(1, 60)))
    grid = grid_of_cells(graph, epsilon=1.0)
    measurement = measure_cells(
        graph,
        sides,
        cells,
        measured_levels=(0, 1),
        noise=noise,
        grid=grid,
        source=SeededEntropy(seed),
    )
    source = SeededEntropy(seed)
    true_sums = sums_of_cells(graph, sides, cells, grid)
    assert noise_of(measurement, true_sums) == [
        noise.draw(level, len(sums), source).tolist() for level, sums in enumerate(true_sums)
    ]


@DISTRIBUTIONS
@pytest.mark.parametrize(
    ("measure", "exact_norm", "sensitivity", "upward_rounding"),
    [
        pytest.param(
            private_norms.measure_root_degrees,
            private_norms.root_degrees,
            private_norms.ROOT_STEPS,
            5,
            id="root degrees",
        ),
        pytest.param(
            private_norms.measure_nuclear_norm,
            private_norms.nuclear_norm,
            private_norms.NUCLEAR_STEPS,
            2,
            id="nuclear norm",
        ),
    ],
)
def test_norms_have_the_noise_of_sessions(
    measure, exact_norm, sensitivity, upward_rounding, distribution, seed
):
    graph, grid = GRAPHS["bipartite"], Grid()
    scale = 3 * sensitivity
    noise = value_noise(distribution, scale)
    radius = 9 * scale  # larger than the noise, so that the norm is not clipped at 0
    added = noise.draw(SeededEntropy(seed))
    assert 0 < abs(added) < radius
    norm = measure(graph, grid, noise, radius, SeededEntropy(seed))
    units_of_one = 1024
    expected = exact_norm(graph, grid) + added + radius + upward_rounding
    assert norm * units_of_one == expected
