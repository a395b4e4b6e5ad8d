"""PrivSKG as a contender: its model against brute force, and its moments."""

import functools
import itertools
import math

import numpy as np
import pytest
from contender_runs import degrees_of
from helpers import random_graph

from scripts.benchmark.contenders import privskg
from scripts.benchmark.contenders.privskg import Initiator

MODEL = Initiator(a=0.9, b=0.4, c=0.2, levels=3)


def kronecker_power(model: Initiator) -> np.ndarray:
    """Return the matrix of the chances of all edges, loops included."""
    initiator = np.array([[model.a, model.b], [model.b, model.c]])
    return functools.reduce(np.kron, [initiator] * model.levels)


def test_chances_are_those_of_the_kronecker_power():
    vertices = np.arange(8)
    chances = MODEL.chances(vertices, vertices)
    assert chances == pytest.approx(kronecker_power(MODEL))
    assert MODEL.degrees() == pytest.approx(chances.sum(axis=1))


@pytest.mark.parametrize(
    "model", [MODEL, Initiator(a=0.5, b=0.5, c=0.5, levels=2), Initiator(a=1, b=0, c=1, levels=2)]
)
def test_expected_stars_are_sums_over_all_stars(model):
    chances, stars = kronecker_power(model), np.zeros(3)
    for centre in range(len(chances)):
        others = np.delete(chances[centre], centre)
        stars += [sum(map(math.prod, itertools.combinations(others, k))) for k in (1, 2, 3)]
    stars[0] /= 2  # an edge is a star of both endpoints
    assert model.expected().values == pytest.approx(stars)


def test_stars_are_counted_exactly_without_noise():
    degrees = degrees_of(random_graph(50, 6))
    stars = privskg.counted_stars(degrees.astype(float), 0.0)
    assert stars.edges == degrees.sum() / 2
    assert stars.pairs == sum(math.comb(int(d), 2) for d in degrees)
    assert stars.triples == sum(math.comb(int(d), 3) for d in degrees)


def test_stars_are_unbiased_under_symmetric_noise():
    """Exactly, for noise of -2, 0 or 2 with chances 1/8, 3/4 and 1/8, which has variance 1."""
    for degree in (0, 1, 5):
        mean = sum(
            chance * privskg.counted_stars(np.array([degree + value]), 1.0).values
            for value, chance in ((-2.0, 1 / 8), (0.0, 3 / 4), (2.0, 1 / 8))
        )
        assert mean == pytest.approx([degree / 2, math.comb(degree, 2), math.comb(degree, 3)])


@pytest.mark.parametrize(
    "model", [Initiator(a=0.95, b=0.5, c=0.2, levels=8), Initiator(a=0.8, b=0.6, c=0.3, levels=5)]
)
def test_the_fit_finds_the_moments_of_a_model(model):
    counts = model.expected()
    fit = privskg.fitted(counts, model.levels)
    assert fit.expected().values == pytest.approx(counts.values, rel=1e-2)
    assert fit.a >= fit.c


def test_a_fit_to_negative_counts_has_few_edges():
    fit = privskg.fitted(privskg.StarCounts(edges=-9.0, pairs=0.0, triples=-3.0), 4)
    assert 0 <= fit.expected().edges < 8


@pytest.mark.thorough
def test_edges_have_the_chances_of_the_model(monkeypatch):
    """Vertices of the largest noisy degrees get the model's largest ones.

    The seed is fixed; counts may differ by 6 deviations.
    """
    monkeypatch.setattr(privskg, "_CHUNK", 20)
    order = np.array([4, 2, 0, 3, 1, 5])
    model_vertices = np.argsort(-MODEL.degrees(), kind="stable")[:6]
    chances = 0.7 * np.triu(kronecker_power(MODEL)[np.ix_(model_vertices, model_vertices)], 1)
    runs, generator, counts = 3000, np.random.default_rng(3), np.zeros((6, 6))
    for _ in range(runs):
        rows, columns = privskg.sampled(MODEL, order, chances.sum(), generator)
        assert (rows != columns).all()
        np.add.at(counts, (rows, columns), 1)
    expected = np.zeros((6, 6))
    expected[np.ix_(order, order)] = chances
    deviations = np.sqrt(runs * expected * (1 - expected))
    assert (np.abs(counts - runs * expected) <= 6 * deviations + 4).all()
