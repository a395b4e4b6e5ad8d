"""Embeddings of public metrics into l1: exact ones, rounding, and random projections."""

import math

import networkx as nx
import numpy as np
import pytest

from graphcuts_dp import ParameterError
from graphcuts_dp.distances.embeddings import (
    DIAMETER_UNITS,
    L1Embedding,
    bourgain_embedding,
    bourgain_levels,
    embeddings_of,
    exact_embedding,
    projection_embedding,
    stable_variables,
    tree_points,
)
from graphcuts_dp.distances.learner import best_learner
from graphcuts_dp.distances.metric import Metric


def random_tree(size: int, seed: int, *, whole: bool = True) -> Metric:
    rng = np.random.default_rng(seed)
    parents = [int(rng.integers(0, v)) for v in range(1, size)]
    lengths = rng.integers(1, 20, size - 1) if whole else rng.uniform(0.1, 9, size - 1)
    return Metric(parents, np.arange(1, size), lengths, vertices=size)


def embedded_distances(embedding: L1Embedding) -> np.ndarray:
    """Return the distances between all embedded vertices."""
    return np.array([embedding.distances_from(row) for row in range(len(embedding.points))])


@pytest.mark.parametrize(
    "metric",
    [
        Metric([], [], [], vertices=1),
        *(Metric.path(20), Metric.path(5, [3, 1, 4, 1]), Metric.grid(4, 7)),
        *(Metric.of(graph) for graph in (nx.star_graph(6), nx.balanced_tree(2, 4))),
        *(random_tree(40, seed) for seed in range(4)),
    ],
    ids=repr,
)
def test_whole_lengths_embed_exactly(metric):
    embedding = exact_embedding(metric)
    assert (embedding.unit, embedding.rounding) == (1, 0)
    assert (embedded_distances(embedding) == metric.matrix).all()
    # A coordinate that is equal for all vertices has width 1.
    assert embedding.widths == tuple(np.maximum(embedding.points.max(axis=0), 1))
    assert embedding.reach == metric.diameter


@pytest.mark.parametrize("seed", range(3))
def test_other_lengths_embed_up_to_the_stated_rounding(seed):
    metric = random_tree(60, seed, whole=False)
    embedding = exact_embedding(metric)
    error = np.abs(embedded_distances(embedding) - metric.matrix).max()
    assert 0 < error <= embedding.rounding < 1e-5 * metric.diameter
    assert embedded_distances(embedding).max() <= embedding.reach


def test_branches_that_are_rounded_to_nothing_count_in_the_rounding():
    """Three short leaves of a long path have no coordinates of their own."""
    path = [0.66921466, 0.87174768, 0.78117888, 0.49200581]
    lengths = [*path, *[0.49 * sum(path) / DIAMETER_UNITS] * 3]
    metric = Metric([0, 1, 2, 3, 1, 2, 3], range(1, 8), lengths, vertices=8)
    embedding = exact_embedding(metric)
    assert embedding.points.shape[1] < tree_points(metric.tree).shape[1]
    error = np.abs(embedded_distances(embedding) - metric.matrix).max()
    assert error > embedding.points.shape[1] * embedding.unit * (1 + 1e-6)
    assert error <= embedding.rounding


def test_a_tree_has_one_coordinate_for_each_leaf():
    for seed in range(5):
        metric = random_tree(50, seed)
        degrees = np.diff(metric.lengths.indptr)
        leaves = int((degrees[1:] == 1).sum())  # the root is no leaf of a rooted tree
        assert tree_points(metric.tree).shape == (50, leaves)


def test_a_metric_that_is_no_tree_is_refused_with_the_name_of_another_embedding():
    cycle = Metric.of(nx.cycle_graph(5))
    with pytest.raises(ParameterError, match="bourgain_embedding"):
        exact_embedding(cycle)
    assert bourgain_embedding(cycle, public_seed=1, repetitions=9).points.shape[0] == 5


def test_bourgain_levels_are_the_rounded_up_logarithm_and_one():
    assert [bourgain_levels(size) for size in (1, 2, 3, 4, 5, 1000)] == [1, 2, 3, 3, 4, 11]


def test_one_dimension_is_projected_without_contraction():
    embedding = projection_embedding([[0.0], [0.5], [1.0]], dimensions=1, public_seed=3)
    assert embedding.widths == (DIAMETER_UNITS,)
    assert embedding.contraction == pytest.approx(1, abs=1e-6)


POINTS = np.random.default_rng(3).uniform(size=(16, 2))
P = [1.0, 1.2, 1.5, 2.0]


def norm_distances(points: np.ndarray, p: float) -> np.ndarray:
    """Return the distances of all points in the p-norm."""
    return (np.abs(points[:, None] - points) ** p).sum(axis=2) ** (1 / p)


@pytest.mark.parametrize("p", P)
def test_points_have_the_distances_of_their_norm(p):
    metric = Metric.of_points(POINTS, p=p, vertices=[f"v{i}" for i in range(16)])
    assert metric.matrix == pytest.approx(norm_distances(POINTS, p))
    assert metric.diameter == pytest.approx(norm_distances(POINTS, p).max())
    assert metric.kind == "points"
    assert metric.row("v3") == 3
    assert metric.distances_from([4, 2]) == pytest.approx(norm_distances(POINTS, p)[[4, 2]])
    far = Metric.of_points(POINTS * 1e200, p=p)
    assert np.isfinite(far.diameter)


def test_points_with_the_1_norm_embed_exactly_in_any_dimension():
    points = np.random.default_rng(1).integers(0, 30, size=(12, 5))
    (embedding,) = embeddings_of(Metric.of_points(points, p=1))
    assert embedding.points.shape[1] == 5
    assert (embedded_distances(embedding) == norm_distances(points, 1)).all()


def test_whole_points_embed_exactly_wherever_they_are():
    """Even if no coordinate begins at 0, and one is equal for all points."""
    points = np.random.default_rng(2).integers(5, 30, size=(12, 3))
    points[:, 1] = 7
    (embedding,) = embeddings_of(Metric.of_points(points, p=1))
    assert (embedding.unit, embedding.rounding, embedding.points.shape[1]) == (1, 0, 2)
    assert (embedded_distances(embedding) == norm_distances(points, 1)).all()


@pytest.mark.parametrize("p", [1.2, 1.5, 2.0])
def test_stable_variables_have_their_characteristic_function(p):
    """Means of cosines over N draws have a deviation below 1/sqrt(2 N); six are allowed."""
    draws = 50_000
    variables = stable_variables(p, (draws,), np.random.default_rng(5))
    for t in (0.3, 1.0, 2.0):
        assert np.cos(t * variables).mean() == pytest.approx(
            math.exp(-(t**p)), abs=6 / math.sqrt(2 * draws)
        )
    other_variables = stable_variables(p - 0.3, (draws,), np.random.default_rng(5))
    assert abs(np.cos(2 * other_variables).mean() - math.exp(-(2**p))) > 6 / math.sqrt(2 * draws)


@pytest.mark.parametrize("p", [1.2, 1.5, 2.0])
def test_projected_distances_are_within_the_stated_expansion_and_contraction(p):
    embedding = projection_embedding(POINTS, dimensions=32, public_seed=1, p=p)
    distances = norm_distances(POINTS, p)
    embedded = embedded_distances(embedding)
    is_pair = distances > 0
    ratio = embedded[is_pair] / distances[is_pair]
    assert embedding.expansion == pytest.approx(1, abs=1e-6)
    assert ratio.max() <= embedding.expansion
    assert 1 / ratio.min() <= embedding.contraction * (1 + 1e-12)
    assert 1 < embedding.contraction < 6


def test_remark_7_1_the_dimension_grows_with_what_can_be_spent():
    """Contraction falls with the dimension, and noise grows with it: the least sum is chosen."""
    embeddings = [
        projection_embedding(POINTS, dimensions=count, public_seed=1) for count in (2, 4, 12, 32)
    ]
    terms = {"queries": None, "epsilon": 1.0, "delta": 0.0, "beta": 0.05}
    best_plans = []
    for people in (10**4, 10**7, 10**10):
        plans = [best_learner([embedding], people=people, **terms) for embedding in embeddings]
        best = best_learner(embeddings, people=people, **terms)
        assert best.radius == min(plan.radius for plan in plans)
        best_plans.append(best)
    dimensions = [plan.embedding.points.shape[1] for plan in best_plans]
    radii = [plan.radius for plan in best_plans]
    assert dimensions == sorted(dimensions)
    assert dimensions[0] < dimensions[-1]
    assert radii == sorted(radii, reverse=True)
