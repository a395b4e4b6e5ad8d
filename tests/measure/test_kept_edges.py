"""Kept edges: the law of the whole noisy matrix, filtered; for all graphs on a few vertices.

Filtering reads no edge, so the mechanism of this law is as private as the noisy matrix.

Chi-square tests take fixed seeds at a level of 1e-9, and there are fewer than 100 of them: the
chance of a false alarm, had seeds been drawn at random, is below 1e-6.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from p_values import chi_square

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.estimate.kept_edges import FALSE_SHARE, KeptEdges, threshold_for
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.measure.entries import measure_kept_edges, row_parts
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.schema.layout import Layout

LEVEL = 1e-9
RUNS = 1000


def triangle(weights):
    """The graph on three vertices with these whole weights, any of them 0."""
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    kept = np.array(weights) > 0
    return gc.Graph(
        *pairs[kept].T, np.array(weights, dtype=float)[kept], vertices=3, max_weight_change=1
    )


def law_of(steps, rate, threshold):
    """P(dropped), P(the threshold), P(more) of a pair of so many steps: noise added, filtered."""
    ratio = math.exp(-rate)

    def reaches(least):  # P(steps + noise >= least)
        k = least - steps
        tail = ratio ** abs(k) / (1 + ratio)
        return tail if k >= 1 else 1 - ratio * tail

    kept, more = reaches(threshold), reaches(threshold + 1)
    return [1 - kept, kept - more, more]


def patterns(kept):
    digits = np.zeros(3, dtype=int)
    places = kept.layout.places(kept.rows.astype(int), kept.columns.astype(int))
    digits[places] = np.where(kept.steps == kept.threshold, 1, 2)
    return int(digits @ [9, 3, 1])


def p_value(weights, measure):
    rate, threshold, source = Fraction(1, 2), 2, SeededEntropy(11)
    graph = triangle(weights)
    counts = np.zeros(27)
    for _ in range(RUNS):
        counts[patterns(measure(graph, LaplaceNoise(rate), threshold, source))] += 1
    laws = [law_of(steps, 0.5, threshold) for steps in weights]
    expected = [math.prod(cell) for cell in itertools.product(*laws)]
    return chi_square(counts, expected, least=20)


def honest(graph, distribution, threshold, source):
    return measure_kept_edges(graph, distribution, threshold=threshold, source=source)


def never_on_edges(graph, distribution, threshold, source):
    """Broken: false edges everywhere, and edges themselves never dropped."""
    kept = honest(graph, distribution, threshold, source)
    steps = np.zeros((3, 3), dtype=np.int64)
    steps[kept.rows, kept.columns] = kept.steps
    ends = graph.rows, graph.columns
    steps[ends] = np.maximum(steps[ends], threshold)
    rows, columns = np.nonzero(steps)
    return replace(kept, rows=rows, columns=columns, steps=steps[rows, columns])


SLOW = ((0, 0, 0), (1, 1, 0), (1, 1, 1))  # pairs of the same weights as the others have


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    "weights",
    [
        pytest.param(
            weights, marks=pytest.mark.slow if weights in SLOW else (), id=f"weights{index}"
        )
        for index, weights in enumerate([(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1), (3, 0, 2)])
    ],
)
def test_the_law_is_that_of_the_filtered_matrix(weights):
    assert p_value(weights, honest) > LEVEL


@pytest.mark.thorough
def test_a_broken_filter_is_noticed():
    assert p_value((1, 0, 1), never_on_edges) < LEVEL


SPACES = [
    gc.Graph([0], [1], vertices=9),
    gc.DirectedGraph([0], [1], vertices=7),
    gc.BipartiteGraph([0], [1], left=4, right=6),
    gc.Graph([0], [1], vertices=300),
]


@pytest.mark.parametrize("graph", SPACES, ids=lambda graph: type(graph).__name__)
def test_places_are_turned_into_pairs(graph):
    layout = Layout.of(graph.space)
    bounds = row_parts(layout)
    assert bounds[0][0] == 0
    assert bounds[-1][1] == layout.shape[0]
    for start, stop in bounds:
        first, end = layout.pairs_before(start), layout.pairs_before(stop)
        rows, columns = layout.ends(np.arange(end - first) + first, start, stop)
        assert rows.min(initial=start) >= start
        assert rows.max(initial=start) < stop
        assert columns.max(initial=0) < layout.shape[1]
        places = layout.places(rows.astype(int), columns.astype(int))
        assert np.array_equal(places, np.arange(first, end))


KINDS = {"plain": gc.Graph, "directed": gc.DirectedGraph, "bipartite": gc.BipartiteGraph}


def random_kind(kind):
    rng = np.random.default_rng(3)
    n, m = 400, 3000
    rows, columns = rng.integers(0, n, (2, m))
    weights = np.ceil(rng.lognormal(3, 1, m))
    sides = {"left": n, "right": n} if kind == "bipartite" else {"vertices": n}
    return KINDS[kind](rows, columns, weights, **sides, max_weight_change=1)


PLAIN = random_kind("plain")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", ["discrete-laplace", "laplace"])
def test_large_weights_are_kept_with_their_noise(kind, noise):
    graph = random_kind(kind)
    distribution = noise_distribution(noise, epsilon=2.0)
    layout = Layout.of(graph.space)
    pairs = layout.pairs_before(layout.shape[0])
    threshold = threshold_for(distribution, pairs=pairs, edges=3000)
    kept = measure_kept_edges(graph, distribution, threshold=threshold, source=SeededEntropy(4))
    kept.check()
    assert kept.weights.min() >= threshold * distribution.unit
    dense = graph.dense()
    true = dense[kept.rows, kept.columns]
    # A noise above 40 scales (here 20) has a chance below e^-40 each.
    assert (np.abs(kept.weights - true)[true > 0] < 20).all()
    heavy = (dense > kept.threshold * kept.unit + 20).sum() // (2 if kind == "plain" else 1)
    assert (true > kept.threshold * kept.unit + 20).sum() == heavy > 100
    # False ones: binomial, at most a tenth of 3000 expected.
    expected = (pairs - len(graph.rows)) * kept.false_chance
    assert abs((true == 0).sum() - expected) < 6.2 * math.sqrt(expected)
    assert expected <= FALSE_SHARE * 3000


def test_it_is_repeatable_and_reads_back():
    distribution = LaplaceNoise(Fraction(1))
    first, again = (honest(PLAIN, distribution, 9, SeededEntropy(4)) for _ in range(2))
    read = KeptEdges.from_parts(*first.parts(), PLAIN.space)
    for same in (again, read):
        assert np.array_equal(same.steps, first.steps)
        assert np.array_equal(same.rows, first.rows)
    assert read.epsilon == first.epsilon == 1
    assert str(len(first.rows)) not in repr(first)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("rows", lambda a: a[::-1]),
        ("columns", lambda a: a + 1000),
        ("steps", lambda a: a * 0),
        ("steps", lambda a: a[1:]),
    ],
)
def test_damaged_pairs_are_refused(name, damage):
    kept = honest(PLAIN, LaplaceNoise(Fraction(1)), 9, SeededEntropy(4))
    fields, arrays = kept.parts()
    arrays[name] = damage(arrays[name])
    with pytest.raises(ValueError, match=r"pair|value"):
        KeptEdges.from_parts(fields, arrays, PLAIN.space)


def test_false_edges_are_the_guaranteed_share():
    empty = gc.Graph([], [], vertices=2)
    none = honest(empty, LaplaceNoise(Fraction(1), 1.0), 50, SeededEntropy(1))
    for name in ("laplace", "discrete-laplace"):
        for pairs, edges in ((10**6, 10**4), (5 * 10**11, 10**7)):
            distribution = noise_distribution(name, epsilon=0.65)
            threshold = threshold_for(distribution, pairs=pairs, edges=edges)
            kept = replace(none, threshold=threshold, distribution=distribution)
            assert pairs * kept.false_chance <= FALSE_SHARE * edges
            step = math.exp(max(float(distribution.rate), 1 / 8))
            assert pairs * kept.false_chance * step > FALSE_SHARE * edges * (1 - 1e-9)


def test_what_does_not_suit_the_graph_is_refused():
    for cap, threshold, words in ((5.0, 3, "maximum weight|bound"), (None, 0, "threshold")):
        with pytest.raises(ParameterError, match=words):
            honest(PLAIN, LaplaceNoise(Fraction(1), cap), threshold, SeededEntropy(1))
