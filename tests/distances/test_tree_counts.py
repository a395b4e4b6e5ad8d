"""Noisy counts: exact post-processing, sensitivities by enumeration, spreads by brute force."""

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcuts_dp.distances import counts as counts_module
from graphcuts_dp.distances.counts import (
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


def some_maps():
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


MAPS = some_maps()
each_map = pytest.mark.parametrize("metric", MAPS.values(), ids=MAPS.keys())


FANOUTS = (2, 4, 8, 64)


def trees(metric):
    order = halving_order(metric)
    return [nested_parts(order, fanout) for fanout in FANOUTS]


@each_map
def test_parts_are_nested(metric):
    for fanout, parts in zip(FANOUTS, trees(metric), strict=True):
        assert sorted(parts.order) == list(range(len(metric)))
        above = [(0, len(metric))]
        for level in parts.levels:
            ends = [*level.start[1:], len(metric)]
            here = list(zip(level.start, ends, strict=True))
            assert len(here) == len(set(here)) == len(level.parent)
            for (start, end), parent in zip(here, level.parent, strict=True):
                assert above[parent][0] <= start < end <= above[parent][1]
            assert level.siblings.tolist() == np.bincount(level.parent).tolist()
            assert level.siblings.max() <= fanout
            above = here
        assert len(above) == len(metric)
    assert len(trees(metric)[-1].levels) == 1


def test_a_path_keeps_its_order():
    order = halving_order(Metric([2, 0, 3], [0, 3, 1], [1.0, 2.0, 4.0], vertices=4))
    assert order.tolist() in ([2, 0, 3, 1], [1, 3, 0, 2])


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=40),
    st.sampled_from([2, 4, 16, 64]),
    st.integers(0, 99),
)
def test_without_noise_the_counts_come_back(counts, fanout, seed):
    size = len(counts)
    random = np.random.default_rng(seed)
    parts = nested_parts(random.permutation(size), fanout)
    row_arrays = np.array(counts)
    found = consistent_counts(parts, int(row_arrays.sum()), part_counts(parts, row_arrays))
    assert np.allclose(found, counts, atol=1e-9)
    noisy = [c + random.integers(-5, 6, len(c)) for c in part_counts(parts, row_arrays)]
    assert consistent_counts(parts, 77, noisy).sum() == pytest.approx(77)


@each_map
def test_coefficients_are_those_of_unit_noise(metric):
    all_parts = trees(metric)
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
def test_bounds_for_large_trees_hold(kind):
    metric = MAPS[kind]
    all_parts = trees(metric)
    for parts, exact in zip(all_parts, part_spreads(metric, all_parts), strict=True):
        bound = counts_module._bounded_spread(metric.tree, parts)
        assert (exact.squares <= bound.squares * (1 + 1e-9)).all()
        assert (exact.largest <= bound.largest * (1 + 1e-9)).all()
    first, second = (pairs.ravel() for pairs in np.indices(metric.matrix.shape))
    apart = metric.tree.distances_between(first, second)
    assert np.allclose(apart, metric.matrix[first, second])
    assert MAPS["grid"].tree is MAPS["graph"].tree is None


def test_bounds_for_large_trees_are_within_a_factor_of_two():
    metric = Metric.path(512)
    parts = nested_parts(halving_order(metric), 8)
    (exact,) = part_spreads(metric, [parts])
    bound = counts_module._bounded_spread(metric.tree, parts)
    ratio = np.sqrt(bound.squares[0] / exact.squares.max(axis=0))
    assert (ratio >= 1 - 1e-9).all()
    assert (ratio < 2).all()


def losses(made, size):
    """Changes of each level, in sum and in squares, for all moves of one person."""
    rows = np.eye(size, dtype=np.int64)
    for x, y in itertools.permutations(range(size), 2):
        levels = zip(made.exact(rows[y]), made.exact(rows[x]), strict=True)
        moved = [after - before for after, before in levels]
        yield [(int(np.abs(d).sum()), int((d**2).sum())) for d in moved]


@each_map
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_cost_is_the_largest_loss_of_all_neighbours(metric, epsilon):
    def worst(made, loss):
        """Of a level that is moved by so much and so many squares, summed over levels."""
        levels = made.noise.parameters
        return max(
            sum(loss(number, *move) for number, move in zip(levels, moves, strict=True))
            for moves in losses(made, len(metric))
        )

    laplace = tree_counts(metric, 5, distribution="laplace", epsilon=epsilon, delta=0)
    assert max(total for moves in losses(laplace, len(metric)) for total, _ in moves) == 2
    found = worst(laplace, lambda rate, total, _: rate * total)
    assert Fraction(epsilon) * Fraction(999, 1000) < found == laplace.cost.pure <= Fraction(epsilon)
    gaussian = tree_counts(metric, 5, distribution="gaussian", epsilon=epsilon, delta=1e-6)
    found = float(worst(gaussian, lambda variance, _, squares: squares / (2 * variance)))
    assert found <= gaussian.cost.rho <= found * (1 + 1e-9)
    assert found <= zcdp_rho(epsilon=epsilon, delta=1e-6)


@each_map
def test_other_mechanisms_cost_what_their_worst_move_loses(metric):
    matrix = metric.matrix
    flat = histogram(metric, 5, distribution="laplace", epsilon=1.0, delta=0)
    assert flat.cost.pure == 2 * flat.noise.parameters[0] == 1
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    assert np.allclose(flat.spread.squares[:, 0], (centred**2).sum(axis=1) / 25)
    assert np.allclose(flat.spread.largest[:, 0], np.abs(centred).max(axis=1) / 5)
    queries = per_query(metric, 5, distribution="laplace", epsilon=1.0, delta=0)
    for ((total, squares),) in losses(queries, len(metric)):
        assert total <= queries.changes[0][0]
        assert squares <= queries.changes[0][1]
    step = 2 * queries.rounding
    assert queries.changes[0][0] <= (np.floor(matrix.max(axis=1) / step) + 1).sum()
    assert queries.cost.pure == 1


def test_more_levels_get_budgets_that_add_up():
    metric = Metric.path(300)
    built = tree_counts(metric, 100, distribution="laplace", epsilon=0.7, delta=0)
    shares = [float(2 * rate / Fraction(0.7)) for rate in built.noise.parameters]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    deviation = built.noise.deviations(built.spread).max() / metric.diameter
    assert deviation < 6 / (100 * 0.7)  # without a logarithm of the number of vertices
    longer = tree_counts(Metric.path(2400), 100, distribution="laplace", epsilon=0.7, delta=0)
    assert longer.noise.deviations(longer.spread).max() / 2399 < 1.15 * deviation


def test_distances_are_rounded_by_half_a_step_at_most(monkeypatch):
    """Down to a step, and half a step is added: without noise that is all the error there is."""
    metric = Metric.path(40, np.random.default_rng(0).uniform(0.1, 1.0, 39))
    made = per_query(metric, 1, distribution="laplace", epsilon=1.0, delta=0)
    monkeypatch.setattr(LevelNoise, "draw", lambda _, __, size, ___: np.zeros(size, np.int64))
    here = Locations(metric, 1 * (np.arange(40) == 7))
    answers, _ = made.answer_all(here, None, confidence=0.95)
    off = np.abs(answers - metric.matrix[7]).max()
    assert off <= made.rounding * (1 + 1e-6) < 1.1 * off
