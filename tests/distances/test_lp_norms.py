"""Distances of l_p norms: points as a map, p-stable projections, the choice of the dimension."""

import math

import numpy as np
import pytest

from graphcuts_dp.distances import Locations, Metric, answer_distances, embeddings
from graphcuts_dp.distances.embeddings import embeddings_of, projection_embedding, stable_variables
from graphcuts_dp.distances.learner import best_learner
from graphcuts_dp.distances.locations import all_distances
from graphcuts_dp.errors import GraphError, ParameterError

POINTS = np.random.default_rng(3).uniform(size=(16, 2))
P = [1.0, 1.2, 1.5, 2.0]


def norms(points, p):
    return (np.abs(points[:, None] - points) ** p).sum(axis=2) ** (1 / p)


@pytest.mark.parametrize("p", P)
def test_points_have_the_distances_of_their_norm(p):
    metric = Metric.of_points(POINTS, p=p, vertices=[f"v{i}" for i in range(16)])
    assert metric.matrix == pytest.approx(norms(POINTS, p))
    assert metric.diameter == pytest.approx(norms(POINTS, p).max())
    assert metric.kind == "points"
    assert metric.row("v3") == 3
    assert metric.distances_from([4, 2]) == pytest.approx(norms(POINTS, p)[[4, 2]])
    far = Metric.of_points(POINTS * 1e200, p=p)
    assert np.isfinite(far.diameter)


def test_sums_of_coordinates_embed_exactly_whatever_their_number():
    points = np.random.default_rng(1).integers(0, 30, size=(12, 5))
    (embedding,) = embeddings_of(Metric.of_points(points, p=1))
    assert embedding.points.shape[1] == 5
    found = np.array([embedding.distances_from(row) for row in range(12)])
    assert (found == norms(points, 1)).all()


@pytest.mark.parametrize("p", [1.2, 1.5, 2.0])
def test_stable_variables_have_their_characteristic_function(p):
    """Means of cosines over N draws have deviation below 1/sqrt(2 N): six of them are allowed."""
    draws = 200_000
    drawn = stable_variables(p, (draws,), np.random.default_rng(5))
    for t in (0.3, 1.0, 2.0):
        assert np.cos(t * drawn).mean() == pytest.approx(
            math.exp(-(t**p)), abs=6 / math.sqrt(2 * draws)
        )
    wrong = stable_variables(p - 0.3, (draws,), np.random.default_rng(5))
    assert abs(np.cos(2 * wrong).mean() - math.exp(-(2**p))) > 6 / math.sqrt(2 * draws)


@pytest.mark.parametrize("p", [1.2, 1.5, 2.0])
def test_projections_neither_lengthen_nor_shorten_more_than_they_say(p):
    embedding = projection_embedding(POINTS, dimensions=32, public_seed=1, p=p)
    true = norms(POINTS, p)
    found = np.array([embedding.distances_from(row) for row in range(16)])
    apart = true > 0
    ratio = found[apart] / true[apart]
    assert embedding.expansion == pytest.approx(1, abs=1e-6)
    assert ratio.max() <= embedding.expansion
    assert 1 / ratio.min() <= embedding.contraction * (1 + 1e-12)
    assert 1 < embedding.contraction < 6


@pytest.mark.parametrize("p", [1.0, 1.5])
def test_theorem_10_for_other_norms(p, monkeypatch):
    """Each run holds but for a chance of 1e-8."""
    monkeypatch.setattr(embeddings, "_DIRECTIONS", (3,))  # each has tables of noise to be made
    metric = Metric.of_points(POINTS[:8], p=p)
    here = Locations(metric, np.random.default_rng(2).multinomial(10**7, [1 / 8] * 8))
    truth = all_distances(here)
    answers = answer_distances(
        metric, here, epsilon=2.0, mechanism="learner", confidence=1 - 1e-8, seed=1
    )
    assert (np.abs(answers.values - truth) <= answers.radii).all()
    assert answers.radii.max() < metric.diameter / 2
    if p == 1:
        assert answers.radii.max() < metric.diameter / 50  # the embedding is exact


def test_remark_7_1_the_dimension_grows_with_what_can_be_spent():
    """Contraction falls with the dimension, noise grows with it: the least sum is taken."""
    embeddings = [
        projection_embedding(POINTS, dimensions=count, public_seed=1) for count in (2, 4, 12, 32)
    ]
    terms = {"queries": None, "epsilon": 1.0, "delta": 0.0, "beta": 0.05}
    chosen = []
    for people in (10**4, 10**7, 10**10):
        plans = [best_learner([one], people=people, **terms) for one in embeddings]
        best = best_learner(embeddings, people=people, **terms)
        assert best.radius == min(plan.radius for plan in plans)
        chosen.append(best)
    dimensions = [plan.embedding.points.shape[1] for plan in chosen]
    radii = [plan.radius for plan in chosen]
    assert dimensions == sorted(dimensions)
    assert dimensions[0] < dimensions[-1]
    assert radii == sorted(radii, reverse=True)


@pytest.mark.parametrize(
    ("points", "p", "message"),
    [
        (POINTS, 0.9, "from 1 to 2"),
        (POINTS, 2.1, "from 1 to 2"),
        (POINTS, True, "from 1 to 2"),
        (POINTS, float("nan"), "from 1 to 2"),
        ([[0, 0], [0, 0]], 2, "the same"),
        ([[0, math.inf]], 2, "finite"),
        ([1, 2], 2, "shape"),
        (np.arange(2049)[:, None], 2, "at most 2,048"),
    ],
)
def test_what_is_no_set_of_points_is_refused(points, p, message):
    with pytest.raises(ParameterError, match=message):
        Metric.of_points(points, p=p)


def test_other_refusals():
    with pytest.raises(GraphError, match="one label for each"):
        Metric.of_points(POINTS, vertices=15)
    with pytest.raises(GraphError, match="not a number"):
        Metric.of_points([["x"]])
