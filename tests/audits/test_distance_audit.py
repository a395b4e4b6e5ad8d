"""Audits of the distance mechanisms on neighbouring locations, and of broken twins.

A run gives the likelihood ratio of what was released under the honest mechanism's distribution,
which is the event that tells the two neighbours apart best. Each audit may fail with probability
1e-6 if its seed were drawn at random; the exact losses of all neighbours are enumerated in
tests/distances/test_tree_counts.py. Here the code runs as it is.
"""

from dataclasses import replace

import numpy as np

from graphcuts_dp.distances.counts import PerQuery, TreeCounts, part_counts
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.level_noise import LevelNoise

MAP = Metric.path(4)
HERE, THERE = Locations(MAP, [2, 0, 1, 0]), Locations(MAP, [1, 0, 1, 1])
TREE = TreeCounts.build(MAP, 3, distribution="laplace", epsilon=1.0, delta=0)
HISTOGRAM = TreeCounts.build_histogram(MAP, 3, distribution="laplace", epsilon=1.0, delta=0)
QUERIES = PerQuery.build(MAP, 3, distribution="laplace", epsilon=1.0, delta=0)
RUNS = 4000


def ratio_of_counts(honest, mechanism, seed):
    """Log likelihood ratio of the noisy counts, HERE against THERE."""
    source = SeededEntropy(seed)
    here, there = (part_counts(honest.parts, place.counts) for place in (HERE, THERE))

    def run(locations, _):
        released = mechanism.noisy_counts(locations, source)
        levels = zip(honest.noise.parameters, released, here, there, strict=True)
        return [
            sum(
                float(rate) * (np.abs(noisy - b) - np.abs(noisy - a)).sum()
                for rate, noisy, a, b in levels
            )
        ]

    return run


def ratio_of_answers(mechanism, seed):
    """The same of answers that have noise each."""
    source = SeededEntropy(seed)
    a, b = (MAP.matrix @ place.counts / 3 for place in (HERE, THERE))

    def run(locations, _):
        answers = mechanism.answers(locations, source)
        return [(np.abs(answers - b) - np.abs(answers - a)).sum()]

    return run


def test_noisy_counts_keep_their_promise():
    assert len(TREE.parts.levels) == 2
    found = audit(ratio_of_counts(TREE, TREE, 1), HERE, THERE, runs=RUNS)
    assert 0.1 < found.epsilon_lower <= 1.0, found.event
    found = audit(ratio_of_counts(HISTOGRAM, HISTOGRAM, 2), HERE, THERE, runs=RUNS)
    assert 0.3 < found.epsilon_lower <= 1.0, found.event


def test_answers_of_noisy_counts_keep_the_promise():
    source = SeededEntropy(3)
    found = audit(lambda place, _: TREE.answers(place, source), HERE, THERE, runs=2 * RUNS)
    assert 0 < found.epsilon_lower <= 1.0, found.event


def test_a_twin_that_hides_removing_instead_of_replacing_is_caught():
    """Removing a person changes one count of a level by 1, replacing one changes two."""
    rates = tuple(2 * rate for rate in HISTOGRAM.noise.parameters)
    twin = replace(HISTOGRAM, noise=LevelNoise("laplace", rates))
    found = audit(ratio_of_counts(HISTOGRAM, twin, 4), HERE, THERE, runs=RUNS)
    assert found.epsilon_lower > 1.0, found.event


class ReusedNoise:
    """A twin that draws noise for the vertices once, and takes it for the larger parts too."""

    def __init__(self, seed):
        self.source = SeededEntropy(seed)

    def __call__(self, locations, _):
        large, small = part_counts(TREE.parts, locations.counts)
        noise = TREE.noise.draw(1, 4, self.source)
        return [large[0] + noise[0], small[0] + noise[0]]


def test_a_twin_that_reuses_noise_on_the_levels_is_caught():
    """The difference of the two counts has no noise: it tells who is in the second vertex."""
    here, there = Locations(MAP, [2, 0, 1, 0]), Locations(MAP, [1, 1, 1, 0])
    found = audit(ReusedNoise(6), here, there, runs=1000)
    assert found.epsilon_lower > 1.0, found.event


def test_answers_with_noise_on_each_keep_the_promise():
    found = audit(ratio_of_answers(QUERIES, 7), HERE, THERE, runs=RUNS)
    assert 0.1 < found.epsilon_lower <= 1.0, found.event


def test_a_twin_that_forgets_that_there_are_many_queries_is_caught():
    rates = tuple(4 * rate for rate in QUERIES.noise.parameters)
    twin = replace(QUERIES, noise=LevelNoise("laplace", rates))
    found = audit(ratio_of_answers(twin, 8), HERE, THERE, runs=RUNS)
    assert found.epsilon_lower > 1.0, found.event
