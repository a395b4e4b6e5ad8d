"""The public choice of a degree bound."""

import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import BudgetError, ParameterError
from scripts.figures.random_graphs import planted_partition

GRAPH = planted_partition(200, 1, 0.1, 0.1, seed=1)  # degrees about 20


def test_a_bound_is_chosen_and_used_from_one_store(tmp_path):
    store = tmp_path / "mail.db"
    chosen = gc.choose_degree_bound(GRAPH, epsilon=1.0, store=store)
    assert chosen.degree_bound in chosen.candidates == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    assert (chosen.guarantee.epsilon, chosen.guarantee.protects) == (1.0, "1 vertex")
    groups = gc.Groups(GRAPH.vertices, {"part": [v % 3 for v in range(200)]})
    gc.release_flows(
        GRAPH,
        groups,
        epsilon=1.0,
        store=store,
        protect=gc.Protect.vertex(degree_bound=chosen.degree_bound),
    )
    with pytest.raises(BudgetError, match="protect 1 vertex"):
        gc.release_flows(GRAPH, groups, epsilon=1.0, store=store)


def test_a_seeded_choice_is_repeatable_and_says_so():
    first, second = (gc.choose_degree_bound(GRAPH, epsilon=1.0, seed=3) for _ in range(2))
    assert first == second
    assert not first.guarantee.is_private


def test_the_noise_to_expect_moves_the_choice():
    bounds = [
        gc.choose_degree_bound(GRAPH, epsilon=50.0, noise=noise, seed=0).degree_bound
        for noise in (0.1, 1000.0)
    ]
    assert bounds[0] >= 16 > bounds[1] == 1


@pytest.mark.parametrize(
    "options", [{"noise": -1}, {"noise": True}, {"candidates": [0]}, {"candidates": [2.5]}]
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ParameterError):
        gc.choose_degree_bound(GRAPH, epsilon=1.0, **options)
    weighted = gc.Graph([0], [1], [0.5], vertices=3, weight_cap=0.5)
    with pytest.raises(ParameterError, match="whole numbers"):
        gc.choose_degree_bound(weighted, epsilon=1.0)
