"""Kept edges: the law of the whole noisy matrix, filtered; for all graphs on a few vertices.

The filter reads no edge, so a mechanism of this law is as private as the noisy matrix.

Chi-square tests take fixed seeds at a level of 1e-9, and there are fewer than 100 of them: the
probability of a false alarm, if seeds were drawn at random, is below 1e-6.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from p_values import chi_square

import graphcuts_dp as gc
from graphcuts_dp.estimate.kept_edges import FALSE_SHARE, KeptEdges, threshold_for
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.measure.entries import measure_kept_edges, row_parts
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.schema.layout import Layout

LEVEL = 1e-9  # of chi-square tests
RUNS = 1000
TRIANGLE = np.array([(0, 1), (0, 2), (1, 2)])  # the pairs of three vertices


def triangle(weights):
    """Return a graph on three vertices with these whole weights; pairs of weight 0 are no edges."""
    edge_weights = np.array(weights, dtype=float)
    is_edge = edge_weights > 0
    rows, columns = TRIANGLE[is_edge].T
    return gc.Graph(rows, columns, edge_weights[is_edge], vertices=3, max_weight_change=1)


def law_of_pair(weight, rate, threshold):
    """Return P(dropped), P(at the threshold), P(above it) of weight plus noise."""
    ratio = math.exp(-rate)

    def probability_of_reaching(least):
        noise = least - weight
        tail = ratio ** abs(noise) / (1 + ratio)
        return tail if noise >= 1 else 1 - ratio * tail

    kept, above = probability_of_reaching(threshold), probability_of_reaching(threshold + 1)
    return [1 - kept, kept - above, above]


def outcome_index(kept):
    """Return a number below 27 that says which pairs are dropped, at the threshold, or above."""
    outcomes = np.zeros(3, dtype=int)
    pair_indices = kept.layout.places(kept.rows.astype(int), kept.columns.astype(int))
    outcomes[pair_indices] = np.where(kept.steps == kept.threshold, 1, 2)
    return int(outcomes @ [9, 3, 1])


def p_value_of_filter(weights, measure):
    """Test whether a mechanism has the law of the filtered noisy matrix of a triangle."""
    rate, threshold, source = Fraction(1, 2), 2, SeededEntropy(11)
    graph = triangle(weights)
    counts = np.zeros(27)
    for _ in range(RUNS):
        counts[outcome_index(measure(graph, LaplaceNoise(rate), threshold, source))] += 1
    laws = [law_of_pair(weight, float(rate), threshold) for weight in weights]
    expected = [math.prod(probabilities) for probabilities in itertools.product(*laws)]
    return chi_square(counts, expected, least=20)


def measure(graph, distribution, threshold, source):
    return measure_kept_edges(graph, distribution, threshold=threshold, source=source)


def measure_and_keep_all_edges(graph, distribution, threshold, source):
    """The incorrect variant: edges are never dropped."""
    kept = measure(graph, distribution, threshold, source)
    steps = np.zeros((3, 3), dtype=np.int64)
    steps[kept.rows, kept.columns] = kept.steps
    edges = graph.rows, graph.columns
    steps[edges] = np.maximum(steps[edges], threshold)
    rows, columns = np.nonzero(steps)
    return replace(kept, rows=rows, columns=columns, steps=steps[rows, columns])


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    "weights",
    [
        # Slow cases have only weights that the other cases have, too.
        pytest.param((0, 0, 0), marks=pytest.mark.slow, id="weights 0 0 0"),
        pytest.param((0, 0, 1), id="weights 0 0 1"),
        pytest.param((1, 1, 0), marks=pytest.mark.slow, id="weights 1 1 0"),
        pytest.param((1, 1, 1), marks=pytest.mark.slow, id="weights 1 1 1"),
        pytest.param((3, 0, 2), id="weights 3 0 2"),
    ],
)
def test_the_law_is_that_of_the_filtered_matrix(weights):
    assert p_value_of_filter(weights, measure) > LEVEL


@pytest.mark.thorough
def test_a_filter_that_keeps_all_edges_is_detected():
    assert p_value_of_filter((1, 0, 1), measure_and_keep_all_edges) < LEVEL


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(gc.Graph([0], [1], vertices=9), id="undirected"),
        pytest.param(gc.DirectedGraph([0], [1], vertices=7), id="directed"),
        pytest.param(gc.BipartiteGraph([0], [1], left=4, right=6), id="bipartite"),
        pytest.param(gc.Graph([0], [1], vertices=300), id="several parts"),
    ],
)
def test_pair_indices_are_turned_into_rows_and_columns_and_back(graph):
    layout = Layout.of(graph.space)
    parts = row_parts(layout)
    assert parts[0][0] == 0
    assert parts[-1][1] == layout.shape[0]
    for start, stop in parts:
        indices = np.arange(layout.pairs_before(start), layout.pairs_before(stop))
        rows, columns = layout.ends(indices, start, stop)
        assert rows.min(initial=start) >= start
        assert rows.max(initial=start) < stop
        assert columns.max(initial=0) < layout.shape[1]
        assert np.array_equal(layout.places(rows.astype(int), columns.astype(int)), indices)


GRAPH_CLASSES = {"plain": gc.Graph, "directed": gc.DirectedGraph, "bipartite": gc.BipartiteGraph}
EDGES = 3000


def random_graph(kind):
    """Return a graph of 3,000 edges with heavy whole weights."""
    rng, n = np.random.default_rng(3), 400
    rows, columns = rng.integers(0, n, (2, EDGES))
    weights = np.ceil(rng.lognormal(3, 1, EDGES))
    vertices = {"left": n, "right": n} if kind == "bipartite" else {"vertices": n}
    return GRAPH_CLASSES[kind](rows, columns, weights, **vertices, max_weight_change=1)


@pytest.mark.parametrize("kind", GRAPH_CLASSES)
@pytest.mark.parametrize("noise", ["discrete-laplace", "laplace"])
def test_large_weights_are_kept_with_their_noise(kind, noise):
    graph, distribution = random_graph(kind), noise_distribution(noise, epsilon=2.0)
    layout = Layout.of(graph.space)
    pairs = layout.pairs_before(layout.shape[0])
    threshold = threshold_for(distribution, pairs=pairs, edges=EDGES)

    kept = measure(graph, distribution, threshold, SeededEntropy(4))

    kept.check()
    assert kept.weights.min() >= threshold * distribution.unit
    weights = graph.dense()
    kept_weights = weights[kept.rows, kept.columns]
    largest_noise = 20  # 40 scales of the noise, which it exceeds with probability e^-40
    assert (np.abs(kept.weights - kept_weights)[kept_weights > 0] < largest_noise).all()
    certainly_kept = kept.threshold * kept.unit + largest_noise
    heavy_edges = (weights > certainly_kept).sum() // (2 if kind == "plain" else 1)
    assert (kept_weights > certainly_kept).sum() == heavy_edges > 100
    # False edges are binomial; 6.2 deviations have a probability below 1e-9.
    expected_false = (pairs - len(graph.rows)) * kept.false_chance
    assert abs((kept_weights == 0).sum() - expected_false) < 6.2 * math.sqrt(expected_false)
    assert expected_false <= FALSE_SHARE * EDGES


@pytest.fixture(scope="module")
def plain_graph():
    return random_graph("plain")


@pytest.fixture
def kept_edges(plain_graph):
    return measure(plain_graph, LaplaceNoise(Fraction(1)), 9, SeededEntropy(4))


def assert_same_edges(first, second):
    assert np.array_equal(first.steps, second.steps)
    assert np.array_equal(first.rows, second.rows)


def test_kept_edges_of_a_seed_are_repeatable(kept_edges, plain_graph):
    again = measure(plain_graph, LaplaceNoise(Fraction(1)), 9, SeededEntropy(4))
    assert_same_edges(kept_edges, again)


def test_kept_edges_are_restored_from_their_parts(kept_edges, plain_graph):
    loaded = KeptEdges.from_parts(*kept_edges.parts(), plain_graph.space)
    assert_same_edges(kept_edges, loaded)
    assert loaded.epsilon == kept_edges.epsilon == 1


def test_the_number_of_kept_edges_is_not_printed(kept_edges):
    assert str(len(kept_edges.rows)) not in repr(kept_edges)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        pytest.param("rows", lambda rows: rows[::-1], id="rows not sorted"),
        pytest.param("columns", lambda columns: columns + 1000, id="columns outside"),
        pytest.param("steps", lambda steps: steps * 0, id="values below the threshold"),
        pytest.param("steps", lambda steps: steps[1:], id="a value missing"),
    ],
)
def test_damaged_kept_edges_are_refused(name, damage, kept_edges, plain_graph):
    fields, arrays = kept_edges.parts()
    arrays[name] = damage(arrays[name])
    with pytest.raises(ValueError, match=r"pair|value"):
        KeptEdges.from_parts(fields, arrays, plain_graph.space)


@pytest.mark.parametrize("noise", ["laplace", "discrete-laplace"])
@pytest.mark.parametrize(("pairs", "edges"), [(10**6, 10**4), (5 * 10**11, 10**7)])
def test_the_threshold_is_the_least_that_keeps_the_share_of_false_edges(noise, pairs, edges):
    distribution = noise_distribution(noise, epsilon=0.65)
    threshold = threshold_for(distribution, pairs=pairs, edges=edges)
    no_edges = measure(
        gc.Graph([], [], vertices=2), LaplaceNoise(Fraction(1), 1.0), 50, SeededEntropy(1)
    )
    kept = replace(no_edges, threshold=threshold, distribution=distribution)
    expected_false = pairs * kept.false_chance
    assert expected_false <= FALSE_SHARE * edges
    one_step_lower = math.exp(max(float(distribution.rate), 1 / 8))
    assert expected_false * one_step_lower > FALSE_SHARE * edges * (1 - 1e-9)


@pytest.mark.parametrize(
    ("max_weight", "threshold", "message"),
    [
        pytest.param(5.0, 3, "maximum weight|bound", id="noise for another maximum weight"),
        pytest.param(None, 0, "threshold", id="threshold 0"),
    ],
)
def test_noise_or_thresholds_that_do_not_suit_the_graph_are_refused(
    max_weight, threshold, message, plain_graph
):
    with pytest.raises(gc.ParameterError, match=message):
        measure(plain_graph, LaplaceNoise(Fraction(1), max_weight), threshold, SeededEntropy(1))
