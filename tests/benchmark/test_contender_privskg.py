"""PrivSKG as a contender: its model against brute force, its moments, what it refuses."""

import itertools
import math

import numpy as np
import pytest
from helpers import random_graph

from scripts.benchmark.contenders import privskg
from scripts.benchmark.contenders.privskg import Initiator

MODEL = Initiator(a=0.9, b=0.4, c=0.2, levels=3)
GRAPH = random_graph(50, 6)


def kronecker(model):
    base = np.array([[model.a, model.b], [model.b, model.c]])
    found = np.ones((1, 1))
    for _ in range(model.levels):
        found = np.kron(found, base)
    return found


def test_chances_are_those_of_the_kronecker_power():
    everything = np.arange(8)
    found = MODEL.chances(everything, everything)
    assert found == pytest.approx(kronecker(MODEL))
    assert MODEL.degrees() == pytest.approx(found.sum(axis=1))


@pytest.mark.parametrize(
    "model", [MODEL, Initiator(a=0.5, b=0.5, c=0.5, levels=2), Initiator(a=1, b=0, c=1, levels=2)]
)
def test_expected_stars_are_sums_over_all_stars(model):
    chances = kronecker(model)
    n = len(chances)
    wanted = np.zeros(3)
    for centre in range(n):
        others = [chances[centre, other] for other in range(n) if other != centre]
        for size in (1, 2, 3):
            parts = (math.prod(star) for star in itertools.combinations(others, size))
            wanted[size - 1] += sum(parts)
    wanted[0] /= 2
    assert model.expected().values == pytest.approx(wanted)


def test_stars_of_a_graph_without_noise():
    degrees = np.bincount(np.concatenate([GRAPH.rows, GRAPH.columns]), minlength=50)
    found = privskg.counted_stars(degrees.astype(float), 0.0)
    assert found.edges == len(GRAPH.rows)
    assert found.pairs == sum(math.comb(int(d), 2) for d in degrees)
    assert found.triples == sum(math.comb(int(d), 3) for d in degrees)


def test_stars_are_unbiased_under_symmetric_noise():
    """Exactly: over noise of -2, 0 or 2, with chances 1/8, 3/4, 1/8, so of variance 1."""
    values, chances = np.array([-2.0, 0.0, 2.0]), np.array([1 / 8, 3 / 4, 1 / 8])
    for degree in (0, 1, 5):
        mean = sum(
            chance * privskg.counted_stars(np.array([degree + value]), 1.0).values
            for value, chance in zip(values, chances, strict=True)
        )
        assert mean == pytest.approx([degree / 2, math.comb(degree, 2), math.comb(degree, 3)])


@pytest.mark.parametrize(
    "model", [Initiator(a=0.95, b=0.5, c=0.2, levels=8), Initiator(a=0.8, b=0.6, c=0.3, levels=5)]
)
def test_the_fit_finds_the_moments_of_a_model(model):
    counts = model.expected()
    found = privskg.fitted(counts, model.levels)
    assert found.expected().values == pytest.approx(counts.values, rel=1e-2)
    assert found.a >= found.c


def test_a_fit_to_nothing_is_nearly_nothing():
    found = privskg.fitted(privskg.StarCounts(edges=-9.0, pairs=0.0, triples=-3.0), 4)
    assert 0 <= found.expected().edges < 8


def test_edges_have_the_chances_of_the_model(monkeypatch):
    """Vertices of the largest noisy degrees get the model's; fixed seed, 6 deviations."""
    monkeypatch.setattr(privskg, "_CHUNK", 20)
    order = np.array([4, 2, 0, 3, 1, 5])
    places = np.argsort(-MODEL.degrees(), kind="stable")[:6]
    chances = kronecker(MODEL)[np.ix_(places, places)]
    edges = 0.7 * np.triu(chances, 1).sum()
    runs, generator, counts = 3000, np.random.default_rng(3), np.zeros((6, 6))
    for _ in range(runs):
        rows, columns = privskg.sampled(MODEL, order, edges, generator)
        assert (rows != columns).all()
        np.add.at(counts, (rows, columns), 1)
    wanted = np.zeros((6, 6))
    wanted[np.ix_(order, order)] = np.triu(0.7 * chances, 1)
    spread = np.sqrt(runs * wanted * (1 - wanted))
    assert (np.abs(counts - runs * wanted) <= 6 * spread + 4).all()
