"""Audits of randomised response on neighbouring graphs, and of broken twins that must be caught.

Every audit may exceed the claimed epsilon with probability 1e-6 if its seed were drawn at random
(see evaluation.audit); the seeds are fixed. More twins are in tests.audits.responses, of every
distribution of noise and of weights; tests/audits/test_audit_registry.py sees that they are
caught.
"""

import numpy as np
import pytest

from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.value_noise import noise_distribution
from graphcuts_dp.release.synthesis import release_graph
from tests.audits import responses

RUNS = 2000  # of half the noise, 1.15 or more is found with each of the seeds that were tried
PAIRS = np.triu_indices(4, 1)
EMPTY = Graph([], [], vertices=4)
STAR = Graph([1, 1], [0, 2], vertices=4)
PLACES = {
    "first pair": (EMPTY, Graph([0], [1], vertices=4)),
    "last pair": (EMPTY, Graph([2], [3], vertices=4)),
    "hub": (STAR, Graph([1, 1, 1], [0, 2, 3], vertices=4)),
    "isolated vertex": (
        Graph([0, 0, 1], [1, 2, 2], vertices=4),
        Graph([0, 0, 1, 0], [1, 2, 2, 3], vertices=4),
    ),
    "arc beside its reverse": (
        DirectedGraph([0], [1], vertices=3),
        DirectedGraph([0, 1], [1, 0], vertices=3),
    ),
    "bipartite corner": (
        BipartiteGraph([0], [0], left=2, right=3),
        BipartiteGraph([0, 1], [0, 2], left=2, right=3),
    ),
}


def vector(noisy):
    """The released integers of four vertices, or of two sides, one for each pair."""
    if noisy.symmetric:
        return noisy.steps[PAIRS].astype(float)
    return noisy.steps.ravel().astype(float)


def mechanism(distribution, seed=1):
    source = SeededEntropy(seed)
    return lambda graph, _: vector(randomized_response(graph, distribution, source))


@pytest.mark.parametrize("noise", ["binary", "laplace", "discrete-laplace"])
@pytest.mark.parametrize("place", PLACES)
def test_one_edge_is_hidden(noise, place):
    first, second = PLACES[place]
    found = audit(mechanism(distribution_for(first, noise, 1.0)), first, second, runs=RUNS)
    assert 0.4 < found.epsilon_lower <= 1.0, found.event


@pytest.mark.parametrize("epsilon", [0.2, 3.0])
def test_other_epsilons(epsilon):
    first, second = PLACES["last pair"]
    found = audit(mechanism(distribution_for(first, "binary", epsilon)), first, second)
    assert found.epsilon_lower <= epsilon, found.event


@pytest.mark.parametrize(("noise", "cap"), [("laplace", 0.3), ("discrete-laplace", 2.0)])
def test_a_weight_is_hidden_within_the_cap(noise, cap):
    first = Graph([0], [1], [cap], vertices=4, weight_cap=cap)
    second = Graph([0, 2], [1, 3], [cap, cap], vertices=4, weight_cap=cap)
    found = audit(mechanism(distribution_for(first, noise, 1.0)), first, second, runs=RUNS)
    assert 0.4 < found.epsilon_lower <= 1.0, found.event


def test_a_change_of_one_weight_by_one_is_hidden_without_a_cap():
    first = Graph([0, 1], [1, 2], [30.25, 7.1], vertices=4, hide_change=1)
    second = Graph([0, 1], [1, 2], [30.25, 8.1], vertices=4, hide_change=1)
    found = audit(mechanism(distribution_for(first, "laplace", 1.0)), first, second, runs=RUNS)
    assert 0.4 < found.epsilon_lower <= 1.0, found.event


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_a_whole_release_hides_one_edge(noise):
    """Through the public function; every run has a seed of its own, for each graph another."""
    first, second = PLACES["hub"]

    def release(graph, run):
        seed = 2 * run + int(graph == second)
        return vector(release_graph(graph, epsilon=1.0, noise=noise, fit="none", seed=seed).noisy)

    found = audit(release, first, second, runs=1600)
    assert 0.25 < found.epsilon_lower <= 1.0, found.event


# Broken twins. Each is a mistake that somebody could make; the very same audit must catch it.


def half_the_noise(distribution):
    return mechanism(
        noise_distribution(
            distribution.name, epsilon=2 * distribution.epsilon, weight_cap=distribution.weight_cap
        )
    )


def seed_reused(distribution):
    return lambda graph, _: vector(randomized_response(graph, distribution, SeededEntropy(4)))


@pytest.mark.parametrize("noise", ["binary", "laplace", "discrete-laplace"])
@pytest.mark.parametrize(("twin", "runs"), [(half_the_noise, RUNS), (seed_reused, 400)])
def test_broken_twins_are_caught(twin, runs, noise):
    first, second = PLACES["last pair"]
    distribution = noise_distribution(noise, epsilon=1.0, weight_cap=1.0)
    found = audit(twin(distribution), first, second, runs=runs)
    assert found.epsilon_lower > 1.0, found.event


@pytest.mark.parametrize("noise", ["binary", "discrete-laplace"])
def test_the_helpers_of_the_twins_are_right(noise):
    """Unbroken, the pieces of the other twins pass the audit: what is caught is the mistake."""
    distribution = noise_distribution(noise, epsilon=1.0, weight_cap=1.0)
    source = SeededEntropy(7)

    def sound(graph, _):
        return responses._hidden(graph, distribution, responses._noise(distribution, source))

    found = audit(sound, *PLACES["last pair"], runs=RUNS)
    assert 0.4 < found.epsilon_lower <= 1.0, found.event
