"""The private choice of a degree bound: its law, on all neighbours of a few vertices."""

from fractions import Fraction

import numpy as np
import pytest
from neighbours import all_graphs, at_a_vertex, differences
from p_values import chi_square

from graphcuts_dp import BipartiteGraph, Graph, ParameterError
from graphcuts_dp.measure.statistics import (
    bound_candidates,
    bound_scores,
    choice_cost,
    normalised,
    pick_bound,
    score_rate,
)
from graphcuts_dp.plugins import SeededEntropy
from scripts.figures.random_graphs import planted_partition

N = 5


def law(graph, epsilon, noise, *, penalty=4.0, plain=False):
    """Probabilities of all candidates, in floats."""
    candidates = bound_candidates(graph)
    scores, changes = bound_scores(graph, candidates, noise=noise)
    new = scores if plain else normalised(scores, changes, Fraction(penalty))
    weights = np.exp(epsilon / 2 * np.array([float(s) for s in new]))
    return weights / weights.sum()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("plain", [False, True])
def test_the_law_keeps_epsilon_and_its_range_on_all_neighbours(plain):
    """The twin: the plain exponential mechanism of sensitivity 1 does not keep it."""
    graphs, choices = all_graphs("plain", N)
    logs = np.log([law(graph, 1.5, 0.3, plain=plain) for graph in graphs])
    losses = list(differences(logs, choices, at_a_vertex("plain", N)))
    worst = max(np.abs(loss).max() for loss in losses)
    span = max((loss.max(-1) - loss.min(-1)).max() for loss in losses)
    assert (0.3 < worst <= 1.5) != plain
    assert plain or span <= 1.5


def test_draws_have_the_law():
    graph = Graph([0, 0, 0, 0, 1], [1, 2, 3, 4, 2], vertices=N)
    source = SeededEntropy(3)
    candidates = bound_candidates(graph)
    assert candidates == (1.0, 2.0, 4.0)
    runs = 2000
    how = {"rate": Fraction(1), "noise": 0.5, "source": source, "beta": 0.3}
    drawn = [pick_bound(graph, candidates, **how) for _ in range(runs)]
    expected = law(graph, 2, 0.5, penalty=np.log(3 / 0.3))
    assert chi_square(np.bincount(drawn, minlength=3), expected) > 1e-7
    assert expected.min() > 0.05


def test_the_chosen_bound_is_nearly_the_best():
    graph = planted_partition(300, 1, 0.1, 0.1, seed=1)  # degrees about 30
    candidates = bound_candidates(graph)
    scores, changes = bound_scores(graph, candidates, noise=2.0)
    epsilon, beta = Fraction(1), 0.05
    t = 2 * np.log(len(candidates) / beta)
    source = SeededEntropy(1)
    good = 0
    for _ in range(40):
        i = pick_bound(graph, candidates, rate=epsilon / 2, noise=2.0, source=source)
        good += all(scores[i] >= u - 2 * t * D for u, D in zip(scores, changes, strict=True))
    # At least 95 % of them; fewer than 28 of 40 has a probability below 1e-7.
    assert good >= 28
    assert candidates[i] in (16.0, 32.0, 64.0)


def test_candidates_are_powers_of_two_up_to_all_degrees():
    assert bound_candidates(Graph([], [], vertices=10)) == (1, 2, 4, 8, 16)
    assert bound_candidates(BipartiteGraph([], [], left=2, right=4)) == (1, 2, 4)
    weighted = Graph([], [], [], vertices=3, max_weight=5.0)
    assert bound_candidates(weighted) == (5, 10)
    open_ended = Graph([], [], [], vertices=3, max_weight_change=1)
    with pytest.raises(ParameterError, match="candidates"):
        bound_candidates(open_ended)
    assert bound_candidates(open_ended, [3, 1.5]) == (1.5, 3)
    for wrong in ([], [0.5], [1, 2.0**30], [-1]):
        with pytest.raises(ParameterError):
            bound_candidates(Graph([], [], vertices=10), wrong)


def test_weights_are_scored_in_steps_of_one_grid():
    graph = Graph([0, 0], [1, 2], [5.0, 2.5], vertices=3, max_weight=5.0)
    scores, changes = bound_scores(graph, (5.0, 10.0), noise=0.0)
    assert changes[1] == 2 * changes[0]
    assert [float(s / changes[0] * 5) for s in scores] == [5.0, 7.5]


def test_the_cost_is_that_of_a_bounded_range():
    cost = choice_cost(score_rate(Fraction(1, 2)))
    assert cost.pure == Fraction(1, 2)
    assert cost.rho == pytest.approx(1 / 32)
