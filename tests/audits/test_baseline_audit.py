"""Audits of the baselines on neighbouring graphs, and of broken twins that must be caught.

As in test_release_audit, each may fail with probability 1e-6 if its seed were drawn at random.
Most baselines as a whole, and twins that read true counts or degrees, are in
tests.audits.releases; tests/audits/test_audit_registry.py runs them.
"""

import functools
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.entropy import SeededEntropy
from scripts.benchmark import baselines
from scripts.benchmark.baselines import (
    chung_lu,
    elementwise_clip,
    noisy_degrees,
    noisy_degrees_chung_lu,
    noisy_weight,
    raw_matrix,
)

EMPTY = Graph([], [], vertices=4)
ONE_EDGE = Graph([2], [3], vertices=4)
STAR = Graph([1, 1], [0, 2], vertices=4)
LARGER_STAR = Graph([1, 1, 1], [0, 2, 3], vertices=4)
PAIRS = np.triu_indices(4, 1)
EPSILON = Fraction(1)


def counted(epsilon):
    source = SeededEntropy(1)
    return lambda graph, _: [noisy_weight(graph, epsilon, source)]


def degrees_of(epsilon, before=EMPTY, ends=(2, 3)):
    """Growth of the degrees, and the least and largest of the two that the edge changes."""
    source = SeededEntropy(2)
    start = before.dense().sum(axis=1)

    def mechanism(graph, _):
        growth = noisy_degrees(graph, epsilon, source) - start
        both = growth[list(ends)]
        return [*growth, both.min(), both.max()]

    return mechanism


def test_the_count_hides_one_edge():
    found = audit(counted(EPSILON), EMPTY, ONE_EDGE)
    assert 0.6 < found.epsilon_lower <= 1.0, found.event


@pytest.mark.parametrize(
    ("first", "second", "ends"), [(EMPTY, ONE_EDGE, (2, 3)), (STAR, LARGER_STAR, (1, 3))]
)
def test_the_degrees_hide_one_edge(first, second, ends):
    found = audit(degrees_of(EPSILON, first, ends), first, second)
    assert 0.5 < found.epsilon_lower <= 1.0, found.event


@pytest.fixture
def few_rounds(monkeypatch):
    """Noisy degrees of four vertices seldom fit a graph: do not wait for them."""
    monkeypatch.setattr(baselines, "chung_lu", functools.partial(chung_lu, max_rounds=10))


@pytest.mark.usefixtures("few_rounds")
def test_a_baseline_from_degrees_hides_one_edge():
    """Through the public function; every run has a seed of its own, for each graph another."""

    def mechanism(graph, run):
        seed = 2 * run + int(graph == LARGER_STAR)
        matrix = noisy_degrees_chung_lu(graph, epsilon=1.0, seed=seed).matrix[PAIRS]
        return [*matrix, matrix.sum()]

    found = audit(mechanism, STAR, LARGER_STAR, runs=1600)
    assert found.epsilon_lower <= 1.0, found.event


# Broken twins. Each is a mistake that somebody could make; the very same audit must catch it.


def test_a_count_with_half_the_noise_is_caught():
    assert audit(counted(2 * EPSILON), EMPTY, ONE_EDGE).epsilon_lower > 1.0


def test_degrees_with_sensitivity_one_are_caught():
    """Each end alone then keeps epsilon; both together do not."""
    assert audit(degrees_of(2 * EPSILON), EMPTY, ONE_EDGE).epsilon_lower > 1.0


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize("make", [noisy_degrees_chung_lu, raw_matrix, elementwise_clip])
def test_a_baseline_with_too_little_noise_is_caught(make):
    def twin(graph, run):
        seed = 2 * run + int(graph == ONE_EDGE)
        return make(graph, epsilon=3.0, seed=seed).matrix[PAIRS]

    assert audit(twin, EMPTY, ONE_EDGE, runs=800).epsilon_lower > 1.0
