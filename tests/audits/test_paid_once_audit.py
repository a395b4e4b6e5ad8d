"""Audit of iterative constructions whose distinguisher is paid once, and a twin that is caught.

Each audit may fail with probability 1e-6 if its seed were drawn at random. That the parts add up to
epsilon exactly is in tests/release.
"""

import numpy as np

from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import FriezeKannanLearner
from graphcuts_dp.offline.construction import IterativeConstruction
from graphcuts_dp.offline.rank_one import ResponseRankOne
from graphcuts_dp.offline.tuning import PureOffline
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy

UNIVERSE = Universe(4)
WITHOUT = Graph([], [], vertices=4)
WITH = Graph([0], [1], vertices=4)
EPSILON = 1.0


def released(epsilon, seed):
    """The total, the answers whose cut has the edge, the sum of both, and the pair's weight."""
    mechanism = IterativeConstruction(
        learner=FriezeKannanLearner(UNIVERSE),
        distinguisher=ResponseRankOne(
            universe=UNIVERSE, distribution=noise_distribution("binary", epsilon=1.0)
        ),
        calibration=PureOffline(universe=UNIVERSE, epsilon=epsilon, rounds=2),
        grid=Grid(),
        refits=4,
    )
    source = SeededEntropy(seed)

    def run(graph, _):
        outcome = mechanism.run(graph, source)
        masks = [UNIVERSE.masks(made.query) for made in outcome.transcript]
        values = np.array([made.value for made in outcome.transcript])
        edge = np.array([bool(S[0] & T[1] | S[1] & T[0]) for S, T in masks])
        weight = outcome.hypothesis.dense()[0, 1]
        return [
            outcome.total_weight,
            values @ edge,
            values @ edge + outcome.total_weight,
            edge.sum(),
            weight,
        ]

    return run


def test_the_release_keeps_its_promise():
    # Whether so few runs could tell otherwise is what the twin shows.
    found = audit(released(EPSILON, 1), WITHOUT, WITH, runs=500)
    assert found.epsilon_lower <= EPSILON, found.event


def test_a_twin_that_gives_every_part_too_much_is_caught():
    """Each of the three parts gets twelve times its share of epsilon."""
    found = audit(released(12 * EPSILON, 2), WITHOUT, WITH, runs=500)
    assert found.epsilon_lower > EPSILON, found.event
