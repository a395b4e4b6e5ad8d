"""The public choice of a degree bound."""

import pytest

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, ParameterError
from scripts.figures.random_graphs import planted_partition

GRAPH = planted_partition(200, 1, 0.1, 0.1, seed=1)  # degrees about 20


def test_a_bound_is_chosen_and_used_from_one_store(tmp_path):
    store = tmp_path / "mail.db"
    chosen = gc.choose_degree_bound(GRAPH, epsilon=1.0, store=store)
    assert chosen.max_degree in chosen.candidates == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    assert (chosen.guarantee.epsilon, chosen.guarantee.privacy_unit) == (1.0, "1 vertex")
    groups = gc.Groups(GRAPH.vertices, {"part": [v % 3 for v in range(200)]})
    vertex = gc.PrivacyUnit.vertex(max_degree=chosen.max_degree)
    gc.release_flows(GRAPH, groups, epsilon=1.0, store=store, privacy_unit=vertex)
    with pytest.raises(BudgetError, match="is 1 vertex, that of this use"):
        gc.release_flows(GRAPH, groups, epsilon=1.0, store=store)


def test_the_noise_to_expect_moves_the_choice_and_a_seed_is_told():
    few, many = (
        gc.choose_degree_bound(GRAPH, epsilon=50.0, noise=noise, seed=0) for noise in (0.1, 1000.0)
    )
    assert few.max_degree >= 16 > many.max_degree == 1
    assert not few.guarantee.is_private


@pytest.mark.parametrize(
    ("graph", "options"),
    [
        *((GRAPH, {"noise": noise}) for noise in (-1, True)),
        *((GRAPH, {"candidates": [bound]}) for bound in (0, 2.5)),
        (gc.Graph([0], [1], [0.5], vertices=3, max_weight=0.5), {}),  # not whole numbers
    ],
)
def test_options_out_of_range_are_refused(graph, options):
    with pytest.raises(ParameterError):
        gc.choose_degree_bound(graph, epsilon=1.0, **options)
