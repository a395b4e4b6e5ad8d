"""The game fit as part of a release: its point, its gap, its limits."""

import numpy as np
import pytest
from noisy_cases import planted, planted_bipartite, problem

from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.release.synthesis import release_graph
from graphcuts_dp.results.release import Release
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.first_order import FirstOrder
from graphcuts_dp.synth.methods import Fitting, QueryGame, default_rounds

GRAPH, _ = planted([12, 12], 0.6, 0.1)
PROBLEM = problem(GRAPH)


def test_the_gap_closes_and_the_value_is_a_cut_of_the_residual():
    short = QueryGame(max_rounds=50, tolerance=0)(PROBLEM)
    long = QueryGame()(PROBLEM)
    assert long.gap < 0.1 < short.gap
    for found in (short, long):
        certificate = cut_norm(found.matrix - PROBLEM.noisy)
        assert found.lower <= certificate.upper
        assert 0.97 * certificate.lower <= found.value <= certificate.upper
        assert np.array_equal(found.matrix, found.matrix.T)
        assert found.matrix.min() >= 0
        assert found.matrix.max() <= 1


def test_no_worse_in_the_cut_norm_than_the_relaxation():
    """Both minimise nearly the same norm: the game's value is at most first-order's."""
    relaxed = FirstOrder()(PROBLEM)
    assert QueryGame()(PROBLEM).value <= 1.02 * cut_norm(relaxed.matrix - PROBLEM.noisy).upper


def test_the_same_input_gives_the_same_output():
    first, second = (QueryGame(max_rounds=60)(PROBLEM) for _ in range(2))
    assert np.array_equal(first.matrix, second.matrix)
    assert (first.value, first.lower, first.rounds) == (second.value, second.lower, second.rounds)


def test_it_stops_at_its_tolerance_its_rounds_or_its_time():
    assert QueryGame(tolerance=0.5)(PROBLEM).stopped == "gap"
    few = QueryGame(max_rounds=7)(PROBLEM)
    assert (few.stopped, few.rounds) == ("rounds", 7)
    hurried = QueryGame(time_limit=1e-9)(PROBLEM)
    assert (hurried.stopped, hurried.rounds) == ("time", 1)
    assert default_rounds(100) > default_rounds(1000)


def test_weights_without_a_cap_have_no_lower_bound():
    noisy = np.random.default_rng(0).normal(1, 2, (12, 12))
    found = QueryGame(max_rounds=50)(FitProblem.of_matrix(noisy, symmetric=False, cap=np.inf))
    start = np.maximum(noisy, 0) - noisy
    assert found.lower == 0
    assert found.value < cut_norm(start).lower
    assert found.matrix.max() > 1


def test_a_constant_matrix_is_fitted():
    flat = FitProblem.of_matrix(np.full((6, 6), 1.5), symmetric=False)
    found = QueryGame()(flat)
    assert found.matrix == pytest.approx(np.ones((6, 6)))
    assert found.value == pytest.approx(18)
    assert found.gap < 1e-9


@pytest.mark.parametrize("unweighted", [False, True])
def test_a_release_with_this_fit(tmp_path, unweighted):
    made = release_graph(GRAPH, epsilon=1.0, seed=1, fit=Fitting("game", unweighted=unweighted))
    assert made.fit.method == "game"
    assert made.fit.objective == "cut norm"
    assert 0 < made.fit.lower <= made.certificate.upper
    path = tmp_path / "synthetic.graphml"
    made.save(path)
    assert Release.load(path).graph == made.graph


def test_a_bipartite_release_with_this_fit():
    graph, _ = planted_bipartite([8, 8], [6, 6], 0.7, 0.1)
    made = release_graph(graph, epsilon=1.0, fit="game", seed=0)
    assert made.graph.shape == (16, 12)
    assert made.fit.gap < 0.15


def test_the_smallest_graph():
    made = release_graph(Graph([0], [1], vertices=2), epsilon=9.0, fit="game", seed=0)
    assert made.certificate.upper >= made.fit.lower
