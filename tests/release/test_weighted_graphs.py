"""Releases of graphs with weights are sparse: few edges, whole weights, and they survive files."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import Classes, EdgeCounts
from graphcuts_dp.synth.budget_plans import EDGES, EDGES_SHARE

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

# Graphs of n vertices, or of n on each side.
GRAPH_CLASSES = {
    "undirected": lambda n, *edges, **options: gc.Graph(*edges, vertices=n, **options),
    "directed": lambda n, *edges, **options: gc.DirectedGraph(*edges, vertices=n, **options),
    "bipartite": lambda n, *edges, **options: gc.BipartiteGraph(*edges, left=n, right=n, **options),
}


def weighted_graph(kind, *, n=60, weight_unit=1.0, **options):
    """Return a random graph whose weights are 1..12 times a unit, by default the maximum."""
    rng = np.random.default_rng(0)
    rows, columns = np.triu_indices(n, 1)
    is_edge = rng.random(len(rows)) < 0.15
    weights = rng.geometric(0.3, is_edge.sum()).clip(max=12) * weight_unit
    options = options or {"max_weight": 12.0 * weight_unit}
    return GRAPH_CLASSES[kind](n, rows[is_edge], columns[is_edge], weights, **options)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", GRAPH_CLASSES)
def test_a_synthetic_graph_has_as_many_edges_as_the_true_one_and_whole_weights(kind):
    graph = weighted_graph(kind)
    release = gc.release_graph(graph, epsilon=20.0, seed=1)
    weights = release.graph.weights
    assert len(weights) == pytest.approx(len(graph.weights), rel=0.15)
    assert np.array_equal(weights, np.floor(weights))
    assert weights.max() <= 12
    assert abs(weights.sum() - release.expected.weights.sum()) <= release.fit.rounding
    assert release.certificate is not None


@pytest.mark.thorough
def test_fractional_weights_stay_fractional():
    graph = weighted_graph("undirected", n=40, weight_unit=0.05)
    weights = gc.release_graph(graph, epsilon=30.0, seed=1).graph.weights
    assert (weights % 1 > 0).mean() > 0.9
    assert weights.max() <= 0.6
    assert np.allclose(weights * 1e4, np.rint(weights * 1e4))  # at most four decimals


# Every second case is quick: any two values of different parameters occur together in one of them.
TINY_GRAPHS = [
    pytest.param(*values, marks=pytest.mark.slow if sum(indices) % 2 else ())
    for indices, values in zip(
        itertools.product(range(3), range(3), range(2)),
        itertools.product(GRAPH_CLASSES, ["laplace", "staircase", "discrete-laplace"], [0, 1]),
        strict=True,
    )
]


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(("kind", "noise", "edges"), TINY_GRAPHS)
def test_graphs_of_at_most_one_edge_are_released(kind, noise, edges):
    graph = GRAPH_CLASSES[kind](3, [0][:edges], [1][:edges], np.ones(edges), max_weight=3.0)
    release = gc.release_graph(graph, epsilon=1.0, noise=noise, seed=2)
    assert release.measurements.find(EdgeCounts) is not None
    assert (release.graph.weights <= 3).all()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("epsilon", "counts_edges"), [(1e-5, False), (1e-3, True), (0.1, True)])
def test_edges_are_not_counted_if_their_share_of_epsilon_is_tiny(epsilon, counts_edges):
    least_epsilon = 1e-6  # of a measurement
    graph = weighted_graph("undirected", n=10)
    release = gc.release_graph(graph, epsilon=epsilon, seed=3)
    assert (release.measurements.find(EdgeCounts) is not None) is counts_edges
    assert counts_edges is (epsilon * float(EDGES_SHARE) * 0.6 >= least_epsilon)


@pytest.mark.thorough
def test_weights_without_a_maximum_are_released_by_classes_of_weights():
    graph = weighted_graph("undirected", max_weight_change=1)
    release = gc.release_graph(graph, epsilon=20.0, seed=1)
    assert len(release.graph.weights) < 400
    assert release.measurements.find(Classes) is not None
    assert np.array_equal(release.graph.weights, np.floor(release.graph.weights))


@pytest.mark.parametrize(
    ("graph", "options"),
    [
        pytest.param(gc.Graph([0], [1], vertices=5), {}, id="no weights"),
        pytest.param(weighted_graph("undirected"), {"fit": "none"}, id="no synthetic graph"),
    ],
)
def test_edges_are_not_counted_if_no_weights_are_synthesised(graph, options):
    plan = gc.graph_job(graph, epsilon=1.0, **options).budget_plan
    assert EDGES not in {step.statistic for step in plan.steps}


def test_edges_of_weighted_graphs_are_counted_first_and_within_the_budget():
    plan = gc.graph_job(weighted_graph("undirected"), epsilon=1.0).budget_plan
    assert plan.steps[0].statistic == EDGES
    assert all(sum(run.amounts.values(), Fraction(0)) <= plan.amount for run in plan.possible_runs)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", GRAPH_CLASSES)
def test_a_release_with_weights_is_loaded_as_it_was_saved(kind, tmp_path):
    release = gc.release_graph(weighted_graph(kind), epsilon=5.0, seed=1)
    path = tmp_path / "synthetic.graphml"
    release.save(path)
    loaded = gc.Release.load(path)
    assert np.array_equal(loaded.graph.dense(), release.graph.dense())
    assert np.array_equal(loaded.expected.dense(), release.expected.dense())
    counts = release.measurements.find(EdgeCounts)
    loaded_counts = loaded.measurements.find(EdgeCounts)
    assert counts.steps[0] == loaded_counts.steps[0]
    assert loaded.answer([0, 1]).value == pytest.approx(release.answer([0, 1]).value)
