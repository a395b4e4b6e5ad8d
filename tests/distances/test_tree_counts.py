"""Counts on a hierarchy of parts: consistent estimates, sensitivities, and variances.

Sensitivities are compared with all neighbours, variances with estimates of unit noise.
"""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcuts_dp.distances import counts as counts_module
from graphcuts_dp.distances.counts import (
    Parts,
    consistent_counts,
    halving_order,
    histogram,
    nested_parts,
    part_counts,
    part_spreads,
    per_query,
    tree_counts,
)
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.level_noise import LevelNoise


def metrics_by_kind() -> dict[str, Metric]:
    random = np.random.default_rng(5)
    parents = [int(random.integers(max(0, v - 4), v)) for v in range(1, 13)]
    ring = nx.cycle_graph(9)
    ring.add_edge(0, 4)
    return {
        "path": Metric.path(11, random.uniform(0.1, 2, 10)),
        "tree": Metric(range(1, 13), parents, random.uniform(0.1, 2, 12), vertices=13),
        "star": Metric.of(nx.star_graph(7)),
        "grid": Metric.grid(3, 4),
        "graph": Metric.of(ring),
    }


MAPS = metrics_by_kind()
each_map = pytest.mark.parametrize("metric", MAPS.values(), ids=MAPS.keys())


FANOUTS = (2, 4, 8, 64)


def hierarchies(metric: Metric) -> list[Parts]:
    """Return the parts of a metric for each fanout."""
    order = halving_order(metric)
    return [nested_parts(order, fanout) for fanout in FANOUTS]


@each_map
def test_every_part_lies_in_its_parent_and_the_last_parts_are_vertices(metric):
    for fanout, parts in zip(FANOUTS, hierarchies(metric), strict=True):
        assert sorted(parts.order) == list(range(len(metric)))
        above = [(0, len(metric))]
        for level in parts.levels:
            stops = [*level.start[1:], len(metric)]
            slices = list(zip(level.start, stops, strict=True))
            assert len(slices) == len(set(slices)) == len(level.parent)
            for (start, stop), parent in zip(slices, level.parent, strict=True):
                assert above[parent][0] <= start < stop <= above[parent][1]
            assert level.child_counts.tolist() == np.bincount(level.parent).tolist()
            assert level.child_counts.max() <= fanout
            above = slices
        assert len(above) == len(metric)
    assert len(hierarchies(metric)[-1].levels) == 1


def test_vertices_of_a_path_keep_their_order():
    order = halving_order(Metric([2, 0, 3], [0, 3, 1], [1.0, 2.0, 4.0], vertices=4))
    assert order.tolist() in ([2, 0, 3, 1], [1, 3, 0, 2])


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=40),
    st.sampled_from([2, 4, 16, 64]),
    st.integers(0, 99),
)
def test_consistent_counts_are_exact_without_noise_and_keep_the_total(counts, fanout, seed):
    size = len(counts)
    random = np.random.default_rng(seed)
    parts = nested_parts(random.permutation(size), fanout)
    count_array = np.array(counts)
    estimates = consistent_counts(parts, int(count_array.sum()), part_counts(parts, count_array))
    assert np.allclose(estimates, counts, atol=1e-9)
    noisy = [
        level + random.integers(-5, 6, len(level)) for level in part_counts(parts, count_array)
    ]
    assert consistent_counts(parts, 77, noisy).sum() == pytest.approx(77)


@each_map
def test_spreads_are_those_of_estimates_from_unit_noise(metric):
    all_parts = hierarchies(metric)
    for parts, spread in zip(all_parts, part_spreads(metric, all_parts), strict=True):
        for j, level in enumerate(parts.levels):
            columns = []
            for i in range(len(level.start)):
                noise = [np.zeros(len(other.start)) for other in parts.levels]
                noise[j][i] = 1
                columns.append(metric.matrix @ consistent_counts(parts, 0, noise))
            coefficients = np.column_stack(columns)
            assert np.allclose(spread.squares[:, j], (coefficients**2).sum(axis=1))
            assert np.allclose(spread.largest[:, j], np.abs(coefficients).max(axis=1))


@pytest.mark.parametrize("kind", ["path", "tree", "star"])
def test_the_spread_of_large_trees_is_bounded_from_above(kind):
    metric = MAPS[kind]
    all_parts = hierarchies(metric)
    for parts, exact in zip(all_parts, part_spreads(metric, all_parts), strict=True):
        bound = counts_module._bounded_spread(metric.tree, parts)
        assert (exact.squares <= bound.squares * (1 + 1e-9)).all()
        assert (exact.largest <= bound.largest * (1 + 1e-9)).all()
    first, second = (pairs.ravel() for pairs in np.indices(metric.matrix.shape))
    distances = metric.tree.distances_between(first, second)
    assert np.allclose(distances, metric.matrix[first, second])
    assert MAPS["grid"].tree is MAPS["graph"].tree is None


def test_the_bound_for_large_trees_is_at_most_twice_the_deviation():
    metric = Metric.path(512)
    parts = nested_parts(halving_order(metric), 8)
    (exact,) = part_spreads(metric, [parts])
    bound = counts_module._bounded_spread(metric.tree, parts)
    ratio = np.sqrt(bound.squares[0] / exact.squares.max(axis=0))
    assert (ratio >= 1 - 1e-9).all()
    assert (ratio < 2).all()


def changes_of_moves(mechanism: Any, size: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the L1 and squared L2 change of each level, for every move of one person."""
    rows = np.eye(size, dtype=np.int64)
    for x, y in itertools.permutations(range(size), 2):
        levels = zip(mechanism.exact(rows[y]), mechanism.exact(rows[x]), strict=True)
        differences = [after - before for after, before in levels]
        yield [
            (int(np.abs(difference).sum()), int((difference**2).sum()))
            for difference in differences
        ]


@each_map
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_cost_is_the_largest_of_all_neighbours(metric, epsilon):
    def largest_cost(mechanism, cost_of_level):
        """Return the largest sum over levels, of the cost of their change at their noise."""
        parameters = mechanism.noise.parameters
        return max(
            sum(
                cost_of_level(number, *change)
                for number, change in zip(parameters, changes, strict=True)
            )
            for changes in changes_of_moves(mechanism, len(metric))
        )

    laplace = tree_counts(metric, 5, distribution="laplace", epsilon=epsilon, delta=0)
    assert (
        max(total for changes in changes_of_moves(laplace, len(metric)) for total, _ in changes)
        == 2
    )
    largest = largest_cost(laplace, lambda rate, total, _: rate * total)
    assert (
        Fraction(epsilon) * Fraction(999, 1000) < largest == laplace.cost.pure <= Fraction(epsilon)
    )
    gaussian = tree_counts(metric, 5, distribution="gaussian", epsilon=epsilon, delta=1e-6)
    largest = float(largest_cost(gaussian, lambda variance, _, squares: squares / (2 * variance)))
    assert largest <= gaussian.cost.rho <= largest * (1 + 1e-9)
    assert largest <= zcdp_rho(epsilon=epsilon, delta=1e-6)


@each_map
def test_the_cost_of_other_mechanisms_is_that_of_their_worst_move(metric):
    matrix = metric.matrix
    flat = histogram(metric, 5, distribution="laplace", epsilon=1.0, delta=0)
    assert flat.cost.pure == 2 * flat.noise.parameters[0] == 1
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    assert np.allclose(flat.spread.squares[:, 0], (centred**2).sum(axis=1) / 25)
    assert np.allclose(flat.spread.largest[:, 0], np.abs(centred).max(axis=1) / 5)
    queries = per_query(metric, 5, distribution="laplace", epsilon=1.0, delta=0)
    for ((total, squares),) in changes_of_moves(queries, len(metric)):
        assert total <= queries.changes[0][0]
        assert squares <= queries.changes[0][1]
    unit = 2 * queries.rounding
    assert queries.changes[0][0] <= (np.floor(matrix.max(axis=1) / unit) + 1).sum()
    assert queries.cost.pure == 1


def test_budgets_of_levels_add_up_and_the_error_hardly_grows_with_the_vertices():
    metric = Metric.path(300)
    counts = tree_counts(metric, 100, distribution="laplace", epsilon=0.7, delta=0)
    shares = [float(2 * rate / Fraction(0.7)) for rate in counts.noise.parameters]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    deviation = counts.noise.deviations(counts.spread).max() / metric.diameter
    assert deviation < 6 / (100 * 0.7)  # without a logarithm of the number of vertices
    longer = tree_counts(Metric.path(2400), 100, distribution="laplace", epsilon=0.7, delta=0)
    assert longer.noise.deviations(longer.spread).max() / 2399 < 1.15 * deviation


def test_the_error_of_rounded_distances_is_at_most_half_a_grid_unit(monkeypatch):
    """Rounded down, plus half a unit; here without noise."""
    metric = Metric.path(40, np.random.default_rng(0).uniform(0.1, 1.0, 39))
    mechanism = per_query(metric, 1, distribution="laplace", epsilon=1.0, delta=0)
    monkeypatch.setattr(LevelNoise, "draw", lambda _, __, size, ___: np.zeros(size, np.int64))
    locations = Locations(metric, 1 * (np.arange(40) == 7))
    answers, _ = mechanism.answer_all(locations, None, confidence=0.95)
    error = np.abs(answers - metric.matrix[7]).max()
    assert error <= mechanism.rounding * (1 + 1e-6) < 1.1 * error
