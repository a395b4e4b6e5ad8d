"""The number of edges and that of fractional weights, counted on all neighbours of small graphs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.measure.edge_counts import count_edges, measure_edge_counts
from graphcuts_dp.plugins import SeededEntropy

PAIRS = [(0, 1), (0, 2), (1, 2)]
WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0)
GRAPH_CLASSES = {
    "undirected": lambda *edges, **options: gc.Graph(*edges, vertices=3, **options),
    "directed": lambda *edges, **options: gc.DirectedGraph(*edges, vertices=3, **options),
    "bipartite": lambda *edges, **options: gc.BipartiteGraph(*edges, left=3, right=3, **options),
}


def graph_of(kind, weights, **options):
    """Return a graph with these weights of `PAIRS`; pairs of weight 0 are no edges."""
    edges = [pair for pair, weight in zip(PAIRS, weights, strict=True) if weight]
    rows, columns = np.array(edges, dtype=int).reshape(-1, 2).T
    edge_weights = np.array([weight for weight in weights if weight], dtype=float)
    return GRAPH_CLASSES[kind](rows, columns, edge_weights, **options)


@pytest.mark.parametrize("kind", GRAPH_CLASSES)
@pytest.mark.parametrize(
    ("options", "max_change"),
    [
        pytest.param({"max_weight": 2.0}, 2.0, id="max_weight"),
        pytest.param({"max_weight_change": 1}, 1.0, id="max_weight_change"),
    ],
)
def test_one_pair_changes_each_count_by_at_most_one(kind, options, max_change):
    counts = {}
    for weights in itertools.product(WEIGHTS, repeat=3):
        edges, fractional = (
            int(count[0]) for count in count_edges(graph_of(kind, weights, **options))
        )
        assert edges == sum(weight > 0 for weight in weights)
        assert fractional == sum(weight % 1 > 0 for weight in weights)
        counts[weights] = np.array([edges, fractional])

    largest_change = np.zeros(2, dtype=int)
    for weights, pair, new_weight in itertools.product(counts, range(3), WEIGHTS):
        if abs(new_weight - weights[pair]) <= max_change:
            neighbour = (*weights[:pair], new_weight, *weights[pair + 1 :])
            change = np.abs(counts[weights] - counts[neighbour])
            largest_change = np.maximum(largest_change, change)
    assert largest_change.tolist() == [1, 1]


def test_the_two_counts_cost_all_of_epsilon_and_no_more():
    counts = measure_edge_counts(
        graph_of("undirected", (1, 0.5, 0), max_weight=2.0),
        epsilon=Fraction(3, 100),
        source=SeededEntropy(1),
    )
    assert counts.pure_cost == Fraction(3, 100)
    assert counts.noise.parameters == (Fraction(2, 100), Fraction(1, 100))
