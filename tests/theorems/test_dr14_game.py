"""DR14 section 5.3.3: the value of the query release game, and no regret makes it fair."""

import numpy as np
import pytest
from helpers import random_graph
from noisy_cases import matrix_problem
from norm_reference import (
    NOISES,
    exact_cut_norm,
    instances,
)

import graphcuts_dp as gc
from graphcuts_dp.synth.cutting_plane import QueryGame, cutting_plane, query_game

ROUNDING = 1 + 1e-9


class BestResponse:
    """A query player who finds the largest cut, by enumeration."""

    objective = "cut norm"

    def separate(self, residual):
        found = gc.cut_norm(residual, method="exact")
        return [(found.S, found.T)]


def problems(count):
    """(A, z, problem): graphs of several densities, every third one bipartite, all noises."""
    for seed in range(count):
        densities = (0.1, 0.4, 0.8, 0.1)
        for A, z, symmetric in instances(
            NOISES[seed % 3], (5, 6, 7, 8), [seed], bipartite=3, densities=densities
        ):
            yield A, z, matrix_problem(z, symmetric)


def test_no_regret_against_best_responses_is_an_approximate_equilibrium():
    """||average - z||_C <= payoff <= value of the game + regret bound, after any round."""
    for _, z, problem in problems(12):
        play = QueryGame(problem, oracle=BestResponse())
        for _ in range(60):
            play.play()
            reached = exact_cut_norm(play.average - z)
            assert reached <= play.payoff * ROUNDING
            assert play.payoff <= (play.bound + play.regret_bound) * ROUNDING
            assert play.bound <= reached * ROUNDING


def test_the_regret_bound_falls_as_one_over_the_root_of_the_rounds():
    play = QueryGame(next(problems(1))[2], oracle=BestResponse())
    bounds = {}
    for _ in range(400):
        play.play()
        bounds[play.rounds] = play.regret_bound
    assert bounds[400] < 0.6 * bounds[100] < 0.6 * 0.6 * bounds[25]


def test_a_data_player_who_steps_the_wrong_way_breaks_the_bound():
    play = QueryGame(next(problems(1))[2], oracle=BestResponse())
    play.scale *= -1
    for _ in range(400):
        play.play()
    play.scale *= -1
    assert play.payoff > play.bound + play.regret_bound


def test_the_value_of_the_game_is_that_of_the_linear_program():
    for A, z, problem in problems(3):
        found = query_game(problem, tolerance=0.08)
        exact = cutting_plane(problem, tolerance=0.01)
        assert found.lower <= exact.value * (1 + 1e-6)
        assert exact.lower <= found.value * (1 + 1e-6)
        assert found.value == pytest.approx(exact_cut_norm(found.matrix - z), rel=1e-9)
        g, noise_norm = found.gap, exact_cut_norm(A - z)
        assert found.lower <= noise_norm * ROUNDING
        assert exact_cut_norm(found.matrix - A) <= (1 + 1 / (1 - g)) * noise_norm * ROUNDING
        assert g <= 0.08 or found.stopped == "rounds"


def test_against_the_true_database_the_value_is_zero():
    """Proposition 5.16: the data player can play the database itself."""
    A = random_graph(9, 3, density=0.4).dense()
    found = query_game(matrix_problem(A, symmetric=True))
    assert found.value == found.lower == found.gap == 0
    assert np.array_equal(found.matrix, A)
