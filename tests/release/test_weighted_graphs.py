"""Releases of graphs with weights are sparse: few edges, whole weights, and they survive files."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import graph_job
from graphcuts_dp.estimate.measurement import Classes, EdgeCounts
from graphcuts_dp.synth.budget_plans import EDGES, EDGES_SHARE

KINDS = {
    "undirected": lambda n, *ends, **how: gc.Graph(*ends, vertices=n, **how),
    "directed": lambda n, *ends, **how: gc.DirectedGraph(*ends, vertices=n, **how),
    "bipartite": lambda n, *ends, **how: gc.BipartiteGraph(*ends, left=n, right=n, **how),
}
pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


def weighted(kind, n=60, share=0.15, step=1.0, seed=0, **how):
    rng = np.random.default_rng(seed)
    rows, columns = np.triu_indices(n, 1)
    kept = rng.random(len(rows)) < share
    weights = rng.geometric(0.3, kept.sum()).clip(max=12) * step
    how = how or {"max_weight": 12.0 * step}
    return KINDS[kind](n, rows[kept], columns[kept], weights, **how)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_edges_are_few_and_whole(kind):
    graph = weighted(kind)
    release = gc.release_graph(graph, epsilon=20.0, seed=1)
    assert len(release.graph.weights) == pytest.approx(len(graph.weights), rel=0.15)
    assert np.array_equal(release.graph.weights, np.floor(release.graph.weights))
    assert release.graph.weights.max() <= 12
    moved = abs(release.graph.weights.sum() - release.expected.weights.sum())
    assert release.fit is not None
    assert release.fit.rounding is not None
    assert moved <= release.fit.rounding
    assert release.certificate is not None


@pytest.mark.thorough
def test_fractional_weights_stay_fractional():
    release = gc.release_graph(weighted("undirected", n=40, step=0.05), epsilon=30.0, seed=1)
    weights = release.graph.weights
    assert (weights % 1 > 0).mean() > 0.9
    assert weights.max() <= 0.6
    assert np.allclose(weights * 1e4, np.rint(weights * 1e4))


# Every second one is quick: each two of kind, noise and number of edges stand in one of them.
TINY = [
    pytest.param(*case, marks=pytest.mark.slow if sum(indices) % 2 else ())
    for indices, case in zip(
        itertools.product(range(3), range(3), range(2)),
        itertools.product(KINDS, ["laplace", "staircase", "discrete-laplace"], [0, 1]),
        strict=True,
    )
]


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(("kind", "noise", "edges"), TINY)
def test_tiny_graphs(kind, noise, edges):
    graph = KINDS[kind](3, [0][:edges], [1][:edges], np.ones(edges), max_weight=3.0)
    release = gc.release_graph(graph, epsilon=1.0, noise=noise, seed=2)
    assert release.measurements.find(EdgeCounts) is not None
    assert (release.graph.weights <= 3).all()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", [1e-5, 1e-3, 0.1])
def test_a_small_epsilon(epsilon):
    release = gc.release_graph(weighted("undirected", n=10), epsilon=epsilon, seed=3)
    counted = release.measurements.find(EdgeCounts)
    assert (counted is None) == (epsilon * float(EDGES_SHARE) * 0.6 < 1e-6)


def test_weights_without_a_maximum():
    release = gc.release_graph(weighted("undirected", max_weight_change=1), epsilon=20.0, seed=1)
    assert len(release.graph.weights) < 400
    assert release.measurements.find(Classes) is not None
    assert np.array_equal(release.graph.weights, np.floor(release.graph.weights))


def test_no_counts_without_a_graph_or_weights():
    plain = gc.Graph([0], [1], vertices=5)
    for job in (
        graph_job(plain, epsilon=1.0),
        graph_job(weighted("undirected"), epsilon=1.0, fit="none"),
    ):
        assert EDGES not in {step.statistic for step in job.budget_plan.steps}
    plan = graph_job(weighted("undirected"), epsilon=1.0).budget_plan
    assert plan.steps[0].statistic == EDGES
    assert all(sum(run.amounts.values(), Fraction(0)) <= plan.amount for run in plan.possible_runs)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", KINDS)
def test_files(kind, tmp_path):
    release = gc.release_graph(weighted(kind), epsilon=5.0, seed=1)
    path = tmp_path / "synthetic.graphml"
    release.save(path)
    again = gc.Release.load(path)
    for name in ("graph", "expected"):
        assert np.array_equal(getattr(again, name).dense(), getattr(release, name).dense())
    edges, same = (each.measurements.find(EdgeCounts) for each in (release, again))
    assert edges is not None
    assert same is not None
    assert edges.steps[0] == same.steps[0]
    assert again.answer([0, 1]).value == pytest.approx(release.answer([0, 1]).value)
