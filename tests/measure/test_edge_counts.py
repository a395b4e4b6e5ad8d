"""Numbers of edges: counted by brute force, on all neighbours of small graphs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.measure.edge_counts import count_edges, measure_edge_counts
from graphcuts_dp.plugins import SeededEntropy

PAIRS = [(0, 1), (0, 2), (1, 2)]
WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0)
KINDS = {
    "undirected": lambda *ends, **how: gc.Graph(*ends, vertices=3, **how),
    "directed": lambda *ends, **how: gc.DirectedGraph(*ends, vertices=3, **how),
    "bipartite": lambda *ends, **how: gc.BipartiteGraph(*ends, left=3, right=3, **how),
}


def graph_of(kind, weights, **how):
    edges = [(*pair, weight) for pair, weight in zip(PAIRS, weights, strict=True) if weight]
    rows, columns, values = (
        (list(each) for each in zip(*edges, strict=True)) if edges else ([],) * 3
    )
    return KINDS[kind](rows, columns, np.array(values, dtype=float), **how)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [{"max_weight": 2.0}, {"max_weight_change": 1}])
def test_one_pair_changes_each_number_by_at_most_one(kind, how):
    found = {}
    for weights in itertools.product(WEIGHTS, repeat=3):
        edges, fractional = (int(count[0]) for count in count_edges(graph_of(kind, weights, **how)))
        assert edges == sum(weight > 0 for weight in weights)
        assert fractional == sum(weight % 1 > 0 for weight in weights)
        found[weights] = edges, fractional
    largest = [0, 0]
    for weights, place in itertools.product(found, range(3)):
        for other in WEIGHTS:
            if "max_weight_change" in how and abs(other - weights[place]) > 1:
                continue
            neighbour = (*weights[:place], other, *weights[place + 1 :])
            for index in (0, 1):
                change = abs(found[weights][index] - found[neighbour][index])
                largest[index] = max(largest[index], change)
    assert largest == [1, 1]


def test_the_cost_is_all_of_epsilon_and_no_more():
    counts = measure_edge_counts(
        graph_of("undirected", (1, 0.5, 0), max_weight=2.0),
        epsilon=Fraction(3, 100),
        source=SeededEntropy(1),
    )
    assert counts.pure_cost == Fraction(3, 100)
    assert counts.noise.parameters == (Fraction(2, 100), Fraction(1, 100))
