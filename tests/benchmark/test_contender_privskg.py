"""PrivSKG as a contender: its model against brute force, and its moments."""

import itertools
import math

import numpy as np
import pytest
from contender_runs import degrees_of
from helpers import random_graph

from scripts.benchmark.contenders import privskg
from scripts.benchmark.contenders.privskg import Initiator

MODEL = Initiator(a=0.9, b=0.4, c=0.2, levels=3)


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
    chances, wanted = kronecker(model), np.zeros(3)
    for centre in range(len(chances)):
        others = np.delete(chances[centre], centre)
        wanted += [sum(map(math.prod, itertools.combinations(others, k))) for k in (1, 2, 3)]
    wanted[0] /= 2
    assert model.expected().values == pytest.approx(wanted)


def test_stars_of_a_graph_without_noise():
    degrees = degrees_of(random_graph(50, 6))
    found = privskg.counted_stars(degrees.astype(float), 0.0)
    assert found.edges == degrees.sum() / 2
    assert found.pairs == sum(math.comb(int(d), 2) for d in degrees)
    assert found.triples == sum(math.comb(int(d), 3) for d in degrees)


def test_stars_are_unbiased_under_symmetric_noise():
    """Exactly: over noise of -2, 0 or 2, with chances 1/8, 3/4, 1/8, so of variance 1."""
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
    chances = 0.7 * np.triu(kronecker(MODEL)[np.ix_(places, places)], 1)
    runs, generator, counts = 3000, np.random.default_rng(3), np.zeros((6, 6))
    for _ in range(runs):
        rows, columns = privskg.sampled(MODEL, order, chances.sum(), generator)
        assert (rows != columns).all()
        np.add.at(counts, (rows, columns), 1)
    wanted = np.zeros((6, 6))
    wanted[np.ix_(order, order)] = chances
    spread = np.sqrt(runs * wanted * (1 - wanted))
    assert (np.abs(counts - runs * wanted) <= 6 * spread + 4).all()
