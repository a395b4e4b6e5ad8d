"""Every baseline is a matrix with a guarantee, and does what its name says."""

from fractions import Fraction

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import DirectedGraph, Graph, GraphError, ParameterError
from graphcuts_dp.plugins import SeededEntropy, Universe
from scripts.benchmark.baselines import (
    BASELINES,
    density_only,
    elementwise_clip,
    noisy_degrees,
    noisy_degrees_chung_lu,
    noisy_weight,
    raw_matrix,
    top_m_filter,
)


@pytest.fixture(scope="module", params=[False, True], ids=["undirected", "directed"])
def graph(request):
    return random_graph(40, 0, directed=request.param)


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_shape_and_guarantee(graph, name, epsilon):
    make = BASELINES[name]
    made = make(graph, epsilon=epsilon, seed=1)
    x = made.matrix
    assert (made.name, x.shape) == (name, (40, 40))
    assert np.array_equal(x, x.T) or isinstance(graph, DirectedGraph)
    assert not x.diagonal().any()
    assert make is raw_matrix or ((x >= 0) & (x <= 1)).all()
    assert (made.guarantee.epsilon, made.guarantee.delta) == (epsilon, 0)
    assert not made.guarantee.is_private
    assert np.array_equal(make(graph, epsilon=epsilon, seed=1).matrix, x)
    assert make(graph, epsilon=epsilon).guarantee.is_private


@pytest.mark.parametrize("make", BASELINES.values())
def test_other_kinds_of_graphs(make):
    """At epsilon = 50 as below: two sides, and weights within a cap."""
    two_sides = gc.datasets.load("davis_women")
    made = make(two_sides, epsilon=50, seed=0).matrix
    assert made.shape == two_sides.shape
    assert made.sum() == pytest.approx(len(two_sides.rows), abs=2)
    weighted = Graph([0, 1, 2], [1, 2, 3], [3.0, 3.0, 3.0], vertices=4, max_weight=3.0)
    made = make(weighted, epsilon=50, seed=0)
    assert made.matrix.sum() == pytest.approx(18, abs=2)
    assert np.array_equal(made.matrix, made.matrix.T)
    assert made.guarantee.neighbours == "the weight of any one pair, within 0 .. 3"


def test_without_noise_each_is_what_it_should_be(graph):
    """At epsilon = 50 a noise other than 0 has probability below 1e-9 a draw, here below 1e-6."""
    truth, edges = graph.dense(), len(graph.rows)
    assert density_only(graph, epsilon=50, seed=0).matrix[0, 1] == edges / Universe.of(graph).size
    chung_lu = noisy_degrees_chung_lu(graph, epsilon=50, seed=0).matrix
    near = {"atol": 1e-6} if isinstance(graph, Graph) else {"rtol": 2e-3}
    for axis in (0, 1):
        np.testing.assert_allclose(chung_lu.sum(axis=axis), truth.sum(axis=axis), **near)
    for make in (raw_matrix, elementwise_clip):
        np.testing.assert_allclose(make(graph, epsilon=50, seed=0).matrix, truth, atol=1e-9)
    kept = top_m_filter(graph, epsilon=50, seed=0).matrix
    assert np.abs(kept - truth).sum() / 2 <= 2  # its count has only a tenth of the budget


def test_the_same_seed_gives_the_noise_of_a_release(graph):
    noisy = gc.release_graph(graph, epsilon=1.0, fit="none", seed=7).noisy.estimate()
    np.testing.assert_array_equal(raw_matrix(graph, epsilon=1.0, seed=7).matrix, noisy)


def test_counts_and_degrees_are_noisy_but_right_on_average(graph):
    source = SeededEntropy(2)
    degrees = np.array([noisy_degrees(graph, Fraction(1), source) for _ in range(400)])
    truth = graph.dense().sum(axis=1)
    # Variance of the discrete Laplace at rate 1/2: 7.84; 16,000 draws, six deviations.
    assert abs((degrees - truth).mean()) < 6 * (7.84 / 16000) ** 0.5
    assert degrees.std(axis=0).mean() == pytest.approx(7.84**0.5, rel=0.1)
    empty = Graph([], [], vertices=3)
    assert {noisy_weight(empty, Fraction(1), source) for _ in range(100)} == {0, 1, 2, 3}


@pytest.mark.parametrize("make", BASELINES.values())
def test_what_is_refused(make):
    hidden = Graph([0], [1], [2.0], vertices=2, max_weight_change=1)
    cases = [
        (Graph([0], [1], [2.0], vertices=2), 1.0, "without a public bound"),
        (Graph([], [], vertices=1), 1.0, "one vertex"),
        (Graph([0], [1], vertices=2), 0.0, "epsilon"),
    ]
    if make in (raw_matrix, elementwise_clip):
        assert make(hidden, epsilon=1.0, seed=0).matrix.shape == (2, 2)
    else:
        cases.append((hidden, 1.0, "public bound"))
    for graph, epsilon, message in cases:
        with pytest.raises((GraphError, ParameterError), match=message):
            make(graph, epsilon=epsilon)
