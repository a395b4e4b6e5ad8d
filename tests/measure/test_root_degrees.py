"""The noisy sum of root degrees: its sensitivity, its exactness, and that it bounds the norm."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.statistics import ROOT_STEPS, buy_root_degrees, root_degrees
from graphcuts_dp.privacy.distributions import ValueNoise
from graphcuts_dp.privacy.noise import SeededEntropy

PAIRS = list(itertools.product(range(2), range(3)))


def simple(chosen):
    return gc.BipartiteGraph([p[0] for p in chosen], [p[1] for p in chosen], left=2, right=3)


def weighted(weights, cap=3.0):
    present = [(pair, weight) for pair, weight in zip(PAIRS, weights, strict=True) if weight]
    ends = [[pair[side] for pair, _ in present] for side in (0, 1)]
    return gc.BipartiteGraph(
        *ends, [weight for _, weight in present], left=2, right=3, weight_cap=cap
    )


def test_changing_a_pair_moves_the_sum_by_1024_steps_at_most_and_by_that_once():
    """All graphs on 2 x 3 vertices and all their neighbours."""
    found = {
        bits: root_degrees(simple(list(itertools.compress(PAIRS, bits))), Grid())
        for bits in itertools.product((0, 1), repeat=6)
    }
    changes = [
        abs(found[bits] - found[(*bits[:k], 1 - bits[k], *bits[k + 1 :])])
        for bits, k in itertools.product(found, range(6))
    ]
    assert max(changes) == ROOT_STEPS


def test_changing_a_weight_moves_the_sum_by_1024_steps_at_most():
    rng, largest = np.random.default_rng(4), 0
    for _ in range(300):
        weights = rng.choice([0.0, 0.001, 0.7, 1.5, 2.999, 3.0], size=6)
        other = weights.copy()
        other[rng.integers(6)] = rng.choice([0.0, 0.0005, 3.0, 2.5])
        first, second = weighted(weights), weighted(other)
        moved = root_degrees(first, Grid.of(first)) - root_degrees(second, Grid.of(second))
        largest = max(largest, abs(moved))
    assert 0.9 * ROOT_STEPS < largest <= ROOT_STEPS


def test_it_bounds_the_group_norm_and_is_within_a_step_a_row_of_the_roots():
    rng = np.random.default_rng(5)
    for _ in range(50):
        weights = rng.random(6) * 3 * (rng.random(6) < 0.7)
        graph = weighted(weights)
        steps = root_degrees(graph, Grid.of(graph))
        matrix = weights.reshape(2, 3) / 3.0
        roots = float(np.sqrt(matrix.sum(axis=1)).sum())
        assert roots * ROOT_STEPS - 2.01 <= steps <= roots * ROOT_STEPS + 1e-6
        assert (steps + 2.01) / ROOT_STEPS >= np.linalg.norm(matrix, axis=1).sum()


def test_what_is_bought_is_not_below_the_truth_where_the_noise_is_within_its_radius():
    graph = simple([(0, 0), (0, 1), (1, 2)])
    noise = ValueNoise("gaussian", Fraction(50 * ROOT_STEPS) ** 2)
    radius = noise.radius(1e-9)
    truth = math.sqrt(2) + 1
    for seed in range(50):
        bought = buy_root_degrees(graph, Grid(), noise, radius, SeededEntropy(seed))
        assert truth <= bought <= truth + (2 * radius + 3) / ROOT_STEPS


def test_other_graphs_are_refused():
    with pytest.raises(ParameterError, match="of bipartite graphs"):
        root_degrees(gc.Graph([0], [1], vertices=3), Grid())
    graph = simple(PAIRS)
    with pytest.raises(ParameterError, match="whose edges are to be hidden"):
        root_degrees(graph, Grid.of_vertices(graph, 2))
