"""Contenders that measure degrees, and graphs that are drawn with given degrees."""

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


def degrees_of_simple(rows: np.ndarray, columns: np.ndarray, n: int) -> np.ndarray:
    """Return the degrees of edges, which must be those of a simple graph."""
    assert (rows < columns).all()
    assert len(np.unique(rows * n + columns)) == len(rows)
    return np.bincount(np.concatenate([rows, columns]), minlength=n)


def test_without_noise_a_release_has_the_sorted_degrees_at_other_vertices():
    """Which vertex has which degree is not measured. The seed is fixed.

    At epsilon 50, noise of rate 25 on 200 degrees is not 0 everywhere with a chance below 1e-8,
    and noise of rate 11 on 30 counts with one below 2e-3.
    """
    graph = random_graph(200, 5, density=0.05)
    true = degrees_of(graph)
    drawn_degrees = degrees_of(run(ISOTONIC_DEGREES, graph, 50.0, seed=1).estimate)
    np.testing.assert_array_equal(np.sort(drawn_degrees), np.sort(true))
    assert (drawn_degrees != true).any()
    assert (np.diff(drawn_degrees) < 0).any()
    noisy = dp_1k.measure_histogram(graph, epsilon=Fraction(50), source=SeededEntropy(0))
    assert noisy.largest == true.max()
    np.testing.assert_array_equal(noisy.counts, np.bincount(true))
    np.testing.assert_array_equal(dp_1k.degrees_of(noisy, 200), np.sort(true))
    estimate = run(DP_1K, graph, 50.0, seed=1).estimate
    assert (np.diff(degrees_of(estimate)) < 0).any()


def test_a_noisy_histogram_is_turned_into_a_degree_for_each_vertex():
    histogram = NoisyHistogram(4, np.array([2, -3, 5, 0, 1]))
    np.testing.assert_array_equal(dp_1k.degrees_of(histogram, 8), [0, 0, 2, 2, 2, 2, 2, 4])
    np.testing.assert_array_equal(dp_1k.degrees_of(histogram, 4), [0, 2, 2, 2])
    assert len(dp_1k.degrees_of(histogram, 1001)) == 1001
    empty_histogram = NoisyHistogram(2, np.array([-1, 0, -4]))
    np.testing.assert_array_equal(dp_1k.degrees_of(empty_histogram, 3), [0, 0, 0])


@pytest.mark.parametrize("seed", range(20))
def test_the_stated_sensitivities_are_the_largest_changes_by_one_edge(seed):
    """4 for the histogram of degrees below a bound, 2 for sorted degrees; over all pairs."""
    graph = random_graph(9, seed, density=0.4)
    before, worst = degrees_of(graph), 0
    for row, column in zip(*np.triu_indices(9, 1), strict=True):
        after = before.copy()
        after[[row, column]] += 1 if graph.dense()[row, column] == 0 else -1
        assert np.abs(np.sort(after) - np.sort(before)).sum() == isotonic_degrees.SENSITIVITY
        for bound in range(1, 9):
            bins = [
                np.bincount(np.minimum(vector, bound), minlength=9) for vector in (before, after)
            ]
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
def test_degrees_of_a_graph_are_realised_exactly(seed):
    rng = np.random.default_rng(seed)
    degrees = degrees_of(random_graph(300, seed, density=rng.uniform(0.01, 0.2)))
    np.testing.assert_array_equal(degrees_of_simple(*with_degrees(degrees, rng), 300), degrees)


def test_degrees_that_no_graph_has_are_never_exceeded():
    rng = np.random.default_rng(0)
    for degrees in ([5, 5, 0, 0, 0], [-3, 9, 1, 1], [1, 0, 0], [2, 2], [0]):
        n = len(degrees)
        drawn_degrees = degrees_of_simple(*with_degrees(np.array(degrees), rng), n)
        assert (drawn_degrees <= np.clip(degrees, 0, n - 1)).all()
    assert len(with_degrees(np.array([-3, 9, 1, 1]), rng)[0]) >= 1


def test_every_graph_with_the_degrees_can_be_drawn():
    """Two paths have the degrees 2, 2, 1, 1."""
    rng = np.random.default_rng(1)
    graphs = set()
    for _ in range(200):
        rows, columns = with_degrees(np.array([2, 2, 1, 1]), rng)
        graphs.add(frozenset(zip(rows.tolist(), columns.tolist(), strict=True)))
    complete = {graph for graph in graphs if len(graph) == 3}
    assert complete == {frozenset({(0, 1), (0, 2), (1, 3)}), frozenset({(0, 1), (0, 3), (1, 2)})}


def test_pairs_are_found_by_their_number_up_to_2_to_the_44():
    numbers = np.concatenate([np.arange(5000), 10**12 + np.arange(-3, 3), [2**44 - 1, 2**44]])
    rows, columns = realised.pairs_at(numbers)
    assert ((rows >= 0) & (rows < columns)).all()
    np.testing.assert_array_equal(columns * (columns - 1) // 2 + rows, numbers)


def test_blocks_have_the_degrees_in_expectation():
    """A degree is a sum of independent pairs, so its variance is below its mean; 40 graphs."""
    degrees = np.repeat([1, 3, 6, 10], [60, 100, 70, 66])
    rng, total, runs, inside = np.random.default_rng(3), np.zeros(len(degrees)), 40, 0
    for _ in range(runs):
        rows, columns = with_blocks(degrees, rng)
        total += degrees_of_simple(rows, columns, len(degrees))
        inside += int((rows // 4 == columns // 4)[(rows >= 60) & (columns < 160)].sum())
    for degree in np.unique(degrees):
        has_degree = degrees == degree
        noise = 6 * (2 * degree / (has_degree.sum() * runs)) ** 0.5
        # Loops and pairs that are joined already are dropped: at most about a tenth, here.
        assert 0.9 * degree - noise < total[has_degree].mean() / runs < degree + noise
    # Blocks of 4 vertices of degree 3, 25 of them: dense, while 0.03 of other pairs are joined.
    assert inside > 0.8 * runs * 25 * 6
