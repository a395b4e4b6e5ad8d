"""The private choice of a degree bound: its law, on all neighbours of a few vertices."""

from fractions import Fraction

import numpy as np
import pytest
from neighbours import all_graphs, changes_of_neighbours, pairs_of_vertices
from p_values import chi_square

from graphcuts_dp import BipartiteGraph, Graph, ParameterError
from graphcuts_dp.measure.statistics import (
    bound_candidates,
    bound_scores,
    choice_cost,
    choose_candidate,
    normalised_scores,
    score_rate,
)
from graphcuts_dp.plugins import SeededEntropy
from scripts.figures.random_graphs import planted_partition

N = 5  # vertices: 1,024 graphs


def probabilities_of_bounds(graph, epsilon, noise, *, penalty=4.0, normalise=True):
    """Return the probabilities of all candidates, in floats.

    Without `normalise` the scores keep the sensitivity of their own candidates, which is a mistake.
    """
    candidates = bound_candidates(graph)
    scores, changes = bound_scores(graph, candidates, noise=noise)
    if normalise:
        scores = normalised_scores(scores, changes, Fraction(penalty))
    weights = np.exp(epsilon / 2 * np.array([float(score) for score in scores]))
    return weights / weights.sum()


def losses_of_neighbours(epsilon, **options):
    """Return ln of the ratios of probabilities, for all neighbours that differ in one vertex."""
    graphs, weights = all_graphs("plain", N)
    logs = np.log([probabilities_of_bounds(graph, epsilon, 0.3, **options) for graph in graphs])
    return list(changes_of_neighbours(logs, weights, pairs_of_vertices("plain", N)))


@pytest.mark.thorough
def test_the_choice_keeps_epsilon_and_its_range_on_all_neighbours():
    losses = losses_of_neighbours(1.5)
    assert 0.3 < max(np.abs(loss).max() for loss in losses) <= 1.5
    assert max((loss.max(-1) - loss.min(-1)).max() for loss in losses) <= 1.5


@pytest.mark.thorough
def test_scores_that_are_not_normalised_exceed_epsilon():
    """The incorrect variant: the exponential mechanism with sensitivity 1 for every candidate."""
    losses = losses_of_neighbours(1.5, normalise=False)
    assert max(np.abs(loss).max() for loss in losses) > 1.5


def test_draws_have_the_stated_probabilities():
    graph = Graph([0, 0, 0, 0, 1], [1, 2, 3, 4, 2], vertices=N)
    candidates, source = bound_candidates(graph), SeededEntropy(3)
    assert candidates == (1.0, 2.0, 4.0)
    draws = [
        choose_candidate(graph, candidates, rate=Fraction(1), noise=0.5, source=source, beta=0.3)
        for _ in range(2000)
    ]
    expected = probabilities_of_bounds(graph, 2, 0.5, penalty=np.log(3 / 0.3))
    assert chi_square(np.bincount(draws, minlength=3), expected) > 1e-7
    assert expected.min() > 0.05  # so each candidate is tested


def test_the_chosen_bound_is_nearly_the_best():
    """With probability 1 - beta its score is below no other by more than the stated error."""
    graph = planted_partition(300, 1, 0.1, 0.1, seed=1)  # degrees about 30
    candidates = bound_candidates(graph)
    scores, changes = bound_scores(graph, candidates, noise=2.0)
    epsilon, beta = Fraction(1), 0.05
    error_in_changes = 4 * np.log(len(candidates) / beta)
    source = SeededEntropy(1)

    choices = [
        choose_candidate(graph, candidates, rate=epsilon / 2, noise=2.0, source=source)
        for _ in range(40)
    ]

    nearly_best = [
        choice
        for choice in choices
        if all(
            scores[choice] >= score - error_in_changes * change
            for score, change in zip(scores, changes, strict=True)
        )
    ]
    # At least 95 % of them; fewer than 28 of 40 has a probability below 1e-7.
    assert len(nearly_best) >= 28
    assert candidates[choices[-1]] in (16.0, 32.0, 64.0)


@pytest.mark.parametrize(
    ("graph", "candidates"),
    [
        pytest.param(Graph([], [], vertices=10), (1, 2, 4, 8, 16), id="undirected"),
        pytest.param(BipartiteGraph([], [], left=2, right=4), (1, 2, 4), id="bipartite"),
        pytest.param(Graph([], [], [], vertices=3, max_weight=5.0), (5, 10), id="weights"),
    ],
)
def test_candidates_are_powers_of_two_up_to_the_largest_possible_degree(graph, candidates):
    assert bound_candidates(graph) == candidates


def test_weights_without_a_maximum_need_candidates_of_the_caller():
    unbounded = Graph([], [], [], vertices=3, max_weight_change=1)
    with pytest.raises(ParameterError, match="candidates"):
        bound_candidates(unbounded)
    assert bound_candidates(unbounded, [3, 1.5]) == (1.5, 3)


@pytest.mark.parametrize(
    "candidates",
    [
        pytest.param([], id="none"),
        pytest.param([0.5], id="below one edge"),
        pytest.param([1, 2.0**30], id="above all degrees"),
        pytest.param([-1], id="negative"),
    ],
)
def test_impossible_candidates_are_refused(candidates):
    with pytest.raises(ParameterError):
        bound_candidates(Graph([], [], vertices=10), candidates)


def test_weights_are_scored_in_units_of_one_grid():
    graph = Graph([0, 0], [1, 2], [5.0, 2.5], vertices=3, max_weight=5.0)
    scores, changes = bound_scores(graph, (5.0, 10.0), noise=0.0)
    assert changes[1] == 2 * changes[0]
    assert [float(score / changes[0] * 5) for score in scores] == [5.0, 7.5]


def test_the_choice_costs_what_a_bounded_range_costs():
    """Cesar, Rogers 2021: epsilon of a bounded range is epsilon^2/8 of rho."""
    cost = choice_cost(score_rate(Fraction(1, 2)))
    assert cost.pure == Fraction(1, 2)
    assert cost.rho == pytest.approx(1 / 32)
