"""Baselines: shapes, guarantees, values without noise, noise and refusals."""

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
def test_a_baseline_has_the_shape_of_the_graph_and_the_guarantee_that_was_set(graph, name, epsilon):
    make = BASELINES[name]
    baseline = make(graph, epsilon=epsilon, seed=1)
    matrix = baseline.matrix
    assert (baseline.name, matrix.shape) == (name, (40, 40))
    assert np.array_equal(matrix, matrix.T) or isinstance(graph, DirectedGraph)
    assert not matrix.diagonal().any()
    assert make is raw_matrix or ((matrix >= 0) & (matrix <= 1)).all()
    assert (baseline.guarantee.epsilon, baseline.guarantee.delta) == (epsilon, 0)
    assert not baseline.guarantee.is_private
    assert np.array_equal(make(graph, epsilon=epsilon, seed=1).matrix, matrix)
    assert make(graph, epsilon=epsilon).guarantee.is_private


@pytest.mark.parametrize("make", BASELINES.values())
def test_bipartite_and_weighted_graphs_have_nearly_their_weight_at_epsilon_50(make):
    two_sides = gc.datasets.load("davis_women")
    matrix = make(two_sides, epsilon=50, seed=0).matrix
    assert matrix.shape == two_sides.shape
    assert matrix.sum() == pytest.approx(len(two_sides.rows), abs=2)
    weighted = Graph([0, 1, 2], [1, 2, 3], [3.0, 3.0, 3.0], vertices=4, max_weight=3.0)
    baseline = make(weighted, epsilon=50, seed=0)
    assert baseline.matrix.sum() == pytest.approx(18, abs=2)
    assert np.array_equal(baseline.matrix, baseline.matrix.T)
    assert baseline.guarantee.neighbours == "the weight of any one pair, within 0 .. 3"


def test_without_noise_every_baseline_is_its_formula(graph):
    """At epsilon = 50 a draw is not 0 with a chance below 1e-9, all of them with one below 1e-6."""
    truth, edges = graph.dense(), len(graph.rows)
    assert density_only(graph, epsilon=50, seed=0).matrix[0, 1] == edges / Universe.of(graph).size
    chung_lu = noisy_degrees_chung_lu(graph, epsilon=50, seed=0).matrix
    tolerance = {"atol": 1e-6} if isinstance(graph, Graph) else {"rtol": 2e-3}
    for axis in (0, 1):
        np.testing.assert_allclose(chung_lu.sum(axis=axis), truth.sum(axis=axis), **tolerance)
    for make in (raw_matrix, elementwise_clip):
        np.testing.assert_allclose(make(graph, epsilon=50, seed=0).matrix, truth, atol=1e-9)
    filtered = top_m_filter(graph, epsilon=50, seed=0).matrix
    assert np.abs(filtered - truth).sum() / 2 <= 2  # its count has only a tenth of the budget


def test_the_raw_matrix_has_the_noise_of_a_release_with_the_same_seed(graph):
    noisy = gc.release_graph(graph, epsilon=1.0, fit="none", seed=7).noisy.estimate()
    np.testing.assert_array_equal(raw_matrix(graph, epsilon=1.0, seed=7).matrix, noisy)


def test_noisy_degrees_are_unbiased_and_noisy_weights_never_negative(graph):
    source = SeededEntropy(2)
    degrees = np.array([noisy_degrees(graph, Fraction(1), source) for _ in range(400)])
    truth = graph.dense().sum(axis=1)
    # Variance of the discrete Laplace at rate 1/2: 7.84; 16,000 draws, six deviations.
    assert abs((degrees - truth).mean()) < 6 * (7.84 / 16000) ** 0.5
    assert degrees.std(axis=0).mean() == pytest.approx(7.84**0.5, rel=0.1)
    empty = Graph([], [], vertices=3)
    assert {noisy_weight(empty, Fraction(1), source) for _ in range(100)} == {0, 1, 2, 3}


@pytest.mark.parametrize("make", BASELINES.values())
def test_unbounded_weights_single_vertices_and_epsilon_0_are_refused(make):
    unbounded = Graph([0], [1], [2.0], vertices=2, max_weight_change=1)
    cases = [
        (Graph([0], [1], [2.0], vertices=2), 1.0, "without a public bound"),
        (Graph([], [], vertices=1), 1.0, "one vertex"),
        (Graph([0], [1], vertices=2), 0.0, "epsilon"),
    ]
    if make in (raw_matrix, elementwise_clip):
        assert make(unbounded, epsilon=1.0, seed=0).matrix.shape == (2, 2)
    else:
        cases.append((unbounded, 1.0, "public bound"))
    for graph, epsilon, message in cases:
        with pytest.raises((GraphError, ParameterError), match=message):
            make(graph, epsilon=epsilon)
