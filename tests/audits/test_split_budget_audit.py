"""Audits of releases that split their budget: noisy total, noisy degrees, noisy entries.

As in test_release_audit, each may fail with probability 1e-6 if its seed were drawn at random.
Twins that reuse noise, do not round weights or choose by the true total are in
tests.audits.budgets; tests/audits/test_audit_registry.py sees that they are caught.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.measure.statistics import measure_degrees, measure_total
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release.allocation import measure
from graphcuts_dp.release.choice import Response
from graphcuts_dp.results.release import Release

# A graph, a neighbour with one pair more, that pair, the distribution of noise.
CASES = {
    "empty": (Graph([], [], vertices=4), Graph([2], [3], vertices=4), (2, 3), "binary"),
    "hub": (
        Graph([1, 1], [0, 2], vertices=4),
        Graph([1, 1, 1], [0, 2, 3], vertices=4),
        (1, 3),
        "binary",
    ),
    "bipartite": (
        BipartiteGraph([0], [0], left=2, right=3),
        BipartiteGraph([0, 1], [0, 2], left=2, right=3),
        (1, 2),
        "binary",
    ),
    "directed": (
        DirectedGraph([0], [1], vertices=3),
        DirectedGraph([0, 1], [1, 0], vertices=3),
        (1, 0),
        "binary",
    ),
    "whole weights": (
        Graph([0], [1], [2.0], vertices=4, weight_cap=2.0),
        Graph([0, 2], [1, 3], [2.0, 2.0], vertices=4, weight_cap=2.0),
        (2, 3),
        "discrete-laplace",
    ),
    "weights": (
        BipartiteGraph([0], [1], [0.25], left=3, right=2, weight_cap=0.3),
        BipartiteGraph([0, 2], [1, 1], [0.25, 0.3], left=3, right=2, weight_cap=0.3),
        (2, 1),
        "laplace",
    ),
}


def sums(graph):
    dense = graph.dense()
    return dense.sum(axis=1), dense.sum(axis=0)


def seen(noisy, first, second, pair):
    """What noisy degrees show of a pair: growth of its two ends, also together, and the log
    likelihood ratio of the neighbours, the most telling number there is."""
    ends = np.array([noisy.rows[pair[0]], noisy.columns[pair[1]]]) * noisy.unit
    before, after = (np.array([s[0][pair[0]], s[1][pair[1]]]) for s in (sums(first), sums(second)))
    growth = ends - before
    rate = float(noisy.rate) / noisy.unit
    loss = rate * (np.abs(ends - before) - np.abs(ends - after)).sum()
    return [*growth, growth.min(), growth.max(), loss, *(ends % 1)]


def degrees(case, epsilon, seed=1):
    first, second, pair, noise = CASES[case]
    distribution, source = distribution_for(first, noise, 1.0), SeededEntropy(seed)

    def mechanism(graph, _):
        noisy = measure_degrees(graph, distribution, epsilon=Fraction(epsilon), source=source)
        return seen(noisy, first, second, pair)

    return mechanism, first, second


def totals(case, epsilon, seed=1):
    first, second, _, noise = CASES[case]
    distribution, source = distribution_for(first, noise, 1.0), SeededEntropy(seed)

    def mechanism(graph, _):
        return [measure_total(graph, distribution, epsilon=Fraction(epsilon), source=source).value]

    return mechanism, first, second


@pytest.mark.parametrize("case", CASES)
def test_noisy_degrees_hide_one_pair(case):
    found = audit(*degrees(case, 1), runs=2400)
    assert 0.25 < found.epsilon_lower <= 1.0, found.event


@pytest.mark.parametrize("case", CASES)
def test_the_noisy_total_hides_one_pair(case):
    found = audit(*totals(case, 1), runs=2400)
    assert 0.25 < found.epsilon_lower <= 1.0, found.event


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), 3])
def test_other_epsilons(epsilon):
    assert audit(*degrees("hub", epsilon), runs=1600).epsilon_lower <= epsilon
    assert audit(*totals("hub", epsilon), runs=1600).epsilon_lower <= epsilon


def everything(data, first, second, pair):
    """All that a release draws, as far as it tells of one pair; and the whole loss."""
    entry = loss_of_entry(data.noisy, pair)
    of_degrees = of_total = 0.0
    if data.degrees is not None:
        of_degrees = seen(data.degrees, first, second, pair)[4]
    if data.total is not None:
        value = data.total.value
        before, after = (sums(graph)[0].sum() for graph in (first, second))
        of_total = math.sqrt(2) / data.total.deviation * (abs(value - before) - abs(value - after))
    parts = [entry, of_degrees, of_total, data.degrees is None]
    return [*parts, entry + of_degrees + of_total]


def loss_of_entry(noisy, pair):
    """Log likelihood ratio of the largest weight and none, in which the neighbours differ."""
    return noisy.distribution.evidence(noisy.steps[pair].reshape(1))[0]


FAST, SLOW = ("hub", "weights"), pytest.mark.slow  # half a minute each


def whole(case, mechanism, epsilon=1.0, seed=1):
    first, second, pair, noise = CASES[case]
    source = SeededEntropy(seed)

    def run(graph, _):
        bought = measure(
            graph, epsilon=epsilon, noise=noise, source=source, response=Response(mechanism)
        )
        return everything(Release(measurements=bought), first, second, pair)

    return run, first, second


@pytest.mark.parametrize(
    ("case", "mechanism"),
    [
        *(pytest.param(case, "auto", marks=[] if case in FAST else SLOW) for case in CASES),
        ("hub", "degrees+response"),
    ],
)
def test_all_parts_together_hide_one_pair(case, mechanism):
    # No single number tells much where the budget has three parts: more runs show it.
    found = audit(*whole(case, mechanism), runs=4000)
    assert 0.05 < found.epsilon_lower <= 1.0, found.event


# Broken twins. Each is a mistake that somebody could make; the very same audit must catch it.


@pytest.mark.parametrize("case", CASES)
def test_degrees_with_sensitivity_one_are_caught(case):
    """Each end alone then keeps epsilon; both together do not."""
    assert audit(*degrees(case, 2), runs=2400).epsilon_lower > 1.0


@pytest.mark.parametrize("case", ["hub", "weights"])
def test_a_total_calibrated_to_half_a_pair_is_caught(case):
    assert audit(*totals(case, 2), runs=2400).epsilon_lower > 1.0


@pytest.mark.parametrize("case", ["hub", "whole weights"])
def test_parts_that_each_get_all_of_epsilon_are_caught(case):
    first, second, pair, noise = CASES[case]
    distribution, source = distribution_for(first, noise, 1.0), SeededEntropy(2)

    def twin(graph, _):
        noisy = measure_degrees(graph, distribution, epsilon=Fraction(1), source=source)
        of_degrees = seen(noisy, first, second, pair)[4]
        of_entry = loss_of_entry(randomized_response(graph, distribution, source), pair)
        return [of_degrees, of_entry, of_degrees + of_entry]

    found = audit(twin, first, second, runs=2400)
    assert found.epsilon_lower > 1.0, found.event
