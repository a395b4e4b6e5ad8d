"""Contenders that buy degrees, and the graphs that are made of these."""

from fractions import Fraction

import numpy as np
import pytest
from contender_runs import degrees_of, run
from helpers import random_graph

from graphcuts_dp.plugins import SeededEntropy
from scripts.benchmark.contenders import dp_1k, isotonic_degrees, realised
from scripts.benchmark.contenders.dp_1k import DP_1K, NoisyHistogram
from scripts.benchmark.contenders.isotonic_degrees import ISOTONIC_DEGREES
from scripts.benchmark.contenders.realised import with_blocks, with_degrees


def degrees(rows, columns, n):
    """Of a graph that is simple."""
    assert (rows < columns).all()
    assert len(np.unique(rows * n + columns)) == len(rows)
    return np.bincount(np.concatenate([rows, columns]), minlength=n)


def test_without_noise_the_sorted_degrees_and_the_histogram_are_realised():
    """At epsilon 50 one of 200 noises of rate 25 is not 0 with probability below 1e-8; of 30 of
    rate 11 below 2e-3. Whose the degrees are was not bought."""
    graph = random_graph(200, 5, density=0.05)
    true = degrees_of(graph)
    made = degrees_of(run(ISOTONIC_DEGREES, graph, 50.0, seed=1).estimate)
    np.testing.assert_array_equal(np.sort(made), np.sort(true))
    assert (made != true).any()
    assert (np.diff(made) < 0).any()
    noisy = dp_1k.measure_histogram(graph, epsilon=Fraction(50), source=SeededEntropy(0))
    assert noisy.largest == true.max()
    np.testing.assert_array_equal(noisy.counts, np.bincount(true))
    np.testing.assert_array_equal(dp_1k.degrees_of(noisy, 200), np.sort(true))
    made = run(DP_1K, graph, 50.0, seed=1).estimate
    assert (np.diff(degrees_of(made)) < 0).any()


def test_a_noisy_histogram_becomes_so_many_degrees():
    wanted = NoisyHistogram(4, np.array([2, -3, 5, 0, 1]))
    np.testing.assert_array_equal(dp_1k.degrees_of(wanted, 8), [0, 0, 2, 2, 2, 2, 2, 4])
    np.testing.assert_array_equal(dp_1k.degrees_of(wanted, 4), [0, 2, 2, 2])
    assert len(dp_1k.degrees_of(wanted, 1001)) == 1001
    nothing = NoisyHistogram(2, np.array([-1, 0, -4]))
    np.testing.assert_array_equal(dp_1k.degrees_of(nothing, 3), [0, 0, 0])


@pytest.mark.parametrize("seed", range(20))
def test_sensitivities_are_what_is_stated(seed):
    """Of all pairs of a graph: of degrees under a bound 4, and 4 is reached; of sorted ones 2."""
    graph = random_graph(9, seed, density=0.4)
    before, worst = degrees_of(graph), 0
    for row, column in zip(*np.triu_indices(9, 1), strict=True):
        after = before.copy()
        after[[row, column]] += 1 if graph.dense()[row, column] == 0 else -1
        assert np.abs(np.sort(after) - np.sort(before)).sum() == isotonic_degrees.SENSITIVITY
        for bound in range(1, 9):
            bins = [np.bincount(np.minimum(d, bound), minlength=9) for d in (before, after)]
            worst = max(worst, int(np.abs(bins[0] - bins[1]).sum()))
        assert abs(int(after.max()) - int(before.max())) <= 1
    assert worst == dp_1k.SENSITIVITY


def test_isotonic_regression_is_the_nearest_ascending_sequence():
    rng = np.random.default_rng(0)
    noisy = np.sort(rng.integers(0, 30, 40)) + rng.integers(-4, 5, 40)
    fitted = isotonic_degrees.ascending(noisy)
    assert (np.diff(fitted) >= 0).all()
    # The projection on a convex cone: blocks of equal values have the mean of the noisy ones.
    for value in np.unique(fitted):
        assert abs(noisy[fitted == value].mean() - value) <= 0.5 + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_degrees_that_a_graph_has_are_realised(seed):
    rng = np.random.default_rng(seed)
    wanted = degrees_of(random_graph(300, seed, density=rng.uniform(0.01, 0.2)))
    np.testing.assert_array_equal(degrees(*with_degrees(wanted, rng), 300), wanted)


def test_degrees_that_no_graph_has_are_not_passed():
    rng = np.random.default_rng(0)
    for wanted in ([5, 5, 0, 0, 0], [-3, 9, 1, 1], [1, 0, 0], [2, 2], [0]):
        n = len(wanted)
        found = degrees(*with_degrees(np.array(wanted), rng), n)
        assert (found <= np.clip(wanted, 0, n - 1)).all()
    assert len(with_degrees(np.array([-3, 9, 1, 1]), rng)[0]) >= 1


def test_realised_graphs_are_all_there():
    """Of 4 vertices of degrees 2, 2, 1, 1: joined hubs, in two ways, or a path of other order."""
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(200):
        rows, columns = with_degrees(np.array([2, 2, 1, 1]), rng)
        seen.add(frozenset(zip(rows.tolist(), columns.tolist(), strict=True)))
    full = {graph for graph in seen if len(graph) == 3}
    assert full == {frozenset({(0, 1), (0, 2), (1, 3)}), frozenset({(0, 1), (0, 3), (1, 2)})}


def test_pairs_within_a_block_are_counted_right():
    places = np.concatenate([np.arange(5000), 10**12 + np.arange(-3, 3), [2**44 - 1, 2**44]])
    rows, columns = realised.pairs_at(places)
    assert ((rows >= 0) & (rows < columns)).all()
    np.testing.assert_array_equal(columns * (columns - 1) // 2 + rows, places)


def test_blocks_have_the_degrees_in_expectation():
    """Sums of 40 graphs: a degree of one is a sum of independent pairs, of variance below it."""
    wanted = np.repeat([1, 3, 6, 10], [60, 100, 70, 66])
    rng, total, runs, inside = np.random.default_rng(3), np.zeros(len(wanted)), 40, 0
    for _ in range(runs):
        rows, columns = with_blocks(wanted, rng)
        total += degrees(rows, columns, len(wanted))
        inside += int((rows // 4 == columns // 4)[(rows >= 60) & (columns < 160)].sum())
    for degree in np.unique(wanted):
        of = wanted == degree
        noise = 6 * (2 * degree / (of.sum() * runs)) ** 0.5
        # Loops and pairs that are joined already are dropped: at most about a tenth, here.
        assert 0.9 * degree - noise < total[of].mean() / runs < degree + noise
    # Blocks of 4 vertices of degree 3, 25 of them: dense, while 0.03 of other pairs are joined.
    assert inside > 0.8 * runs * 25 * 6
