"""Audits of whole releases and of other epsilons, beside those of tests.audits.responses.

Every audit may exceed the claimed epsilon with probability 1e-6 if its seed were drawn at random
(see evaluation.audit); the seeds are fixed.
"""

import numpy as np
import pytest

from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.release.releases import release_graph
from tests.audits import responses

RUNS = 2000  # of half the noise, 1.15 or more is found with each of the seeds that were tried
PAIRS = np.triu_indices(4, 1)
EMPTY = Graph([], [], vertices=4)
STAR = Graph([1, 1], [0, 2], vertices=4)
LARGER_STAR = Graph([1, 1, 1], [0, 2, 3], vertices=4)
LAST_PAIR = Graph([2], [3], vertices=4)


def vector(noisy):
    """The released integers of four vertices, or of two sides, one for each pair."""
    if noisy.symmetric:
        return noisy.steps[PAIRS].astype(float)
    return noisy.steps.ravel().astype(float)


def mechanism(distribution, seed=1):
    source = SeededEntropy(seed)
    return lambda graph, _: vector(randomized_response(graph, distribution, source))


@pytest.mark.parametrize("epsilon", [0.2, 3.0])
def test_other_epsilons(epsilon):
    found = audit(mechanism(distribution_for(EMPTY, "binary", epsilon)), EMPTY, LAST_PAIR)
    assert found.epsilon_lower <= epsilon, found.event


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_a_whole_release_hides_one_edge(noise):
    """Through the public function; every run has a seed of its own, for each graph another."""
    first, second = STAR, LARGER_STAR

    def release(graph, run):
        seed = 2 * run + int(graph == second)
        return vector(release_graph(graph, epsilon=1.0, noise=noise, fit="none", seed=seed).noisy)

    found = audit(release, first, second, runs=400)
    assert 0 < found.epsilon_lower <= 1.0, found.event


@pytest.mark.parametrize("noise", ["binary", "discrete-laplace"])
def test_the_helpers_of_the_twins_are_right(noise):
    """Unbroken, the pieces of the other twins pass the audit: what is caught is the mistake."""
    distribution = noise_distribution(noise, epsilon=1.0, weight_cap=1.0)
    source = SeededEntropy(7)

    def sound(graph, _):
        return responses._hidden(graph, distribution, responses._noise(distribution, source))

    found = audit(sound, EMPTY, LAST_PAIR, runs=RUNS)
    assert 0.4 < found.epsilon_lower <= 1.0, found.event
