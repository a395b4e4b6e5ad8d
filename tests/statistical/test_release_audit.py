"""Audits of randomised response on neighbouring graphs, and of broken twins that must be caught.

Every audit may exceed the claimed epsilon with probability 1e-6 if its seed were drawn at random
(see evaluation.audit); the seeds are fixed.
"""

from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.laws import LaplaceNoise, noise_law
from graphcuts_dp.release.randomized_response import law_for, randomized_response
from graphcuts_dp.release.synthesis import release_graph

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
    "bipartite corner": (
        BipartiteGraph([0], [0], left=2, right=3),
        BipartiteGraph([0, 1], [0, 2], left=2, right=3),
    ),
}


def vector(noisy):
    """The released integers, one for each pair."""
    if noisy.symmetric:
        return noisy.steps[np.triu_indices(len(noisy.left), 1)].astype(float)
    return noisy.steps.ravel().astype(float)


def mechanism(law, seed=1):
    source = SeededEntropy(seed)
    return lambda graph, _: vector(randomized_response(graph, law, source))


@pytest.mark.parametrize("noise", ["binary", "laplace", "discrete-laplace"])
@pytest.mark.parametrize("place", PLACES)
def test_one_edge_is_hidden(noise, place):
    first, second = PLACES[place]
    found = audit(mechanism(law_for(first, noise, 1.0)), first, second)
    assert 0.4 < found.epsilon_lower <= 1.0, found.event


@pytest.mark.parametrize("epsilon", [0.2, 3.0])
def test_other_epsilons(epsilon):
    first, second = PLACES["last pair"]
    found = audit(mechanism(law_for(first, "binary", epsilon)), first, second)
    assert found.epsilon_lower <= epsilon, found.event


@pytest.mark.parametrize(("noise", "cap"), [("laplace", 0.3), ("discrete-laplace", 2.0)])
def test_a_weight_is_hidden_within_the_cap(noise, cap):
    first = Graph([0], [1], [cap], vertices=4, weight_cap=cap)
    second = Graph([0, 2], [1, 3], [cap, cap], vertices=4, weight_cap=cap)
    found = audit(mechanism(law_for(first, noise, 1.0)), first, second)
    assert 0.4 < found.epsilon_lower <= 1.0, found.event


def test_a_change_of_one_weight_by_one_is_hidden_without_a_cap():
    first = Graph([0, 1], [1, 2], [30.25, 7.1], vertices=4)
    second = Graph([0, 1], [1, 2], [30.25, 8.1], vertices=4)
    found = audit(mechanism(law_for(first, "laplace", 1.0)), first, second)
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


def responses(graph, law, noise):
    """What `law` releases when its noise for the empty graph is `noise`."""
    noise = noise.copy()
    dense = graph.dense()[np.triu_indices(graph.n, 1)]
    if law.name == "binary":
        return (noise ^ dense.astype(np.int64)).astype(float)
    return noise + np.floor(dense / law.unit)


def draw(law, source, pairs=6):
    return law.respond(pairs, np.empty(0), np.empty(0, dtype=np.int64), source)


def half_the_noise(law):
    return mechanism(noise_law(law.name, epsilon=2 * law.epsilon, weight_cap=law.weight_cap))


def last_pair_not_noised(law):
    source = SeededEntropy(2)

    def twin(graph, _):
        released = responses(graph, law, draw(law, source))
        released[-1] = graph.dense()[2, 3] / (1 if law.name == "binary" else law.unit)
        return released

    return twin


def noise_reused_for_two_pairs(law):
    source = SeededEntropy(3)

    def twin(graph, _):
        noise = draw(law, source)
        noise[-1] = noise[2]
        return responses(graph, law, noise)

    return twin


def seed_reused(law):
    return lambda graph, _: vector(randomized_response(graph, law, SeededEntropy(4)))


def only_edges_are_noised(law):
    source = SeededEntropy(5)

    def twin(graph, _):
        edges = graph.dense()[np.triu_indices(graph.n, 1)] > 0
        released = responses(graph, law, draw(law, source))
        return np.where(edges, released, 0)

    return twin


def noise_from_the_density(law):
    """Epsilon split by the private number of edges."""
    source = SeededEntropy(6)

    def twin(graph, _):
        epsilon = law.epsilon * (1 + 2 * len(graph.rows))
        adapted = noise_law(law.name, epsilon=epsilon, weight_cap=1.0)
        return vector(randomized_response(graph, adapted, source))

    return twin


@pytest.mark.parametrize("noise", ["binary", "laplace", "discrete-laplace"])
@pytest.mark.parametrize(
    "twin",
    [
        half_the_noise,
        last_pair_not_noised,
        noise_reused_for_two_pairs,
        seed_reused,
        only_edges_are_noised,
        noise_from_the_density,
    ],
)
def test_broken_twins_are_caught(twin, noise):
    first, second = PLACES["last pair"]
    found = audit(twin(noise_law(noise, epsilon=1.0, weight_cap=1.0)), first, second)
    assert found.epsilon_lower > 1.0, found.event


def test_the_helpers_of_the_twins_are_right():
    """Unbroken, the same pieces pass the audit: what is caught above is the mistake."""
    first, second = PLACES["last pair"]
    for noise in ("binary", "discrete-laplace"):
        law = noise_law(noise, epsilon=1.0, weight_cap=1.0)
        source = SeededEntropy(7)

        def sound(graph, _, law=law, source=source):
            return responses(graph, law, draw(law, source))

        assert audit(sound, first, second).epsilon_lower <= 1.0


def test_a_twin_with_sensitivity_one_for_a_cap_of_two_is_caught():
    sound = LaplaceNoise(Fraction(1), None, 0)
    source = SeededEntropy(1)

    def cap_forgotten(graph, _):
        uncapped = Graph(graph.rows, graph.columns, graph.weights, vertices=graph.vertices)
        return vector(randomized_response(uncapped, sound, source))

    first = Graph([0], [1], [2.0], vertices=4, weight_cap=2.0)
    second = Graph([0, 2], [1, 3], [2.0, 2.0], vertices=4, weight_cap=2.0)
    assert audit(cap_forgotten, first, second).epsilon_lower > 1.0
    assert (
        audit(mechanism(law_for(first, "discrete-laplace", 1.0)), first, second).epsilon_lower <= 1
    )


def test_a_twin_that_clips_at_the_largest_weight_of_the_data_is_caught():
    """The cap must be public: calibrating to the observed one shows in the spread elsewhere."""
    source = SeededEntropy(8)

    def clipped(graph, _):
        cap = float(graph.weights.max())
        law = noise_law("laplace", epsilon=1.0, weight_cap=cap)
        ends = graph.rows, graph.columns, graph.weights
        capped = Graph(*ends, vertices=graph.vertices, weight_cap=cap)
        return vector(randomized_response(capped, law, source)) * law.unit

    first = Graph([0], [1], [0.25], vertices=4, weight_cap=8.0)
    second = Graph([0, 2], [1, 3], [0.25, 8.0], vertices=4, weight_cap=8.0)
    assert audit(clipped, first, second).epsilon_lower > 1.0
