"""Audits of distinguishers and of the iterative construction, and broken twins that are caught.

Each audit may fail with probability 1e-6 if its seed were drawn at random. Exact losses are in
tests/distinguishers; here the code runs as it is.
"""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.learn.learners import FriezeKannanLearner
from graphcuts_dp.offline.construction import IterativeConstruction
from graphcuts_dp.offline.distinguisher import (
    ExactCuts,
    ExactCutsSearch,
    Exponential,
    ExponentialSearch,
)
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.tuning import OfflineTuning
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.value_noise import ValueNoise

UNIVERSE = Universe(4)
WITHOUT = Graph([], [], vertices=4)
WITH = Graph([0], [1], vertices=4)
EPSILON = Fraction(1)
# One cut has the edge {0, 1}, the other has not.
QUERIES = CutList(UNIVERSE, [CutQuery([0], [1]), CutQuery([2], [3])])
START = DenseHypothesis.constant(UNIVERSE, 0.0)


def found_by(distinguisher, seed, *, broken=False):
    """Whether the cut has the edge, and its sign; the twin's counts are four times too large."""
    source = SeededEntropy(seed)
    searches = {}
    for graph in (WITHOUT, WITH):
        search = distinguisher.begin(graph, source)
        if broken and isinstance(search, ExponentialSearch):
            search._counts = search._counts * 4
        elif broken and isinstance(search, ExactCutsSearch):
            search._matrix = search._matrix * 4
        searches[graph is WITH] = search

    def run(graph, _):
        found = searches[graph is WITH].find(START, source)
        S, T = UNIVERSE.masks(found.query)
        return [bool(S[0] & T[1] | S[1] & T[0]), found.sign or 0, S[2] & T[3] | S[3] & T[2]]

    return run


@pytest.mark.parametrize("sampling", ["exponential", "noisy-max"])
def test_exponential_keeps_its_promise(sampling):
    honest = Exponential(queries=QUERIES, epsilon=EPSILON, sampling=sampling, score="signed")
    found = audit(found_by(honest, 1), WITHOUT, WITH, runs=2500)
    assert 0.2 < found.epsilon_lower <= float(EPSILON), found.event


@pytest.mark.parametrize("sampling", ["exponential", "noisy-max"])
def test_a_twin_that_has_the_sensitivity_wrong_is_caught(sampling):
    """Counts four times as large as the promise takes them for."""
    twin = Exponential(queries=QUERIES, epsilon=EPSILON, sampling=sampling, score="signed")
    found = audit(found_by(twin, 2, broken=True), WITHOUT, WITH, runs=2000)
    assert found.epsilon_lower > float(EPSILON), found.event


def test_exact_cuts_keeps_its_promise():
    honest = ExactCuts(universe=UNIVERSE, epsilon=EPSILON, score="signed")
    found = audit(found_by(honest, 3), WITHOUT, WITH, runs=2500)
    assert 0.1 < found.epsilon_lower <= float(EPSILON), found.event


def test_a_twin_of_exact_cuts_is_caught():
    twin = ExactCuts(universe=UNIVERSE, epsilon=EPSILON, score="signed")
    found = audit(found_by(twin, 4, broken=True), WITHOUT, WITH, runs=2000)
    assert found.epsilon_lower > float(EPSILON), found.event


@dataclass(frozen=True)
class Fixed:
    """A tuning of two rounds, and its price: a third of epsilon for the total, the rest for them.

    factor 1 is honest; factor f spends f times what it says.
    """

    factor: int = 1
    rounds: int = 2

    @property
    def cost(self):
        return Cost.of_pure(EPSILON)

    def with_total(self, sensitivity):
        noise = ValueNoise("laplace", self.factor * EPSILON / 3 / sensitivity)
        return noise, 1, Cost.of_pure(EPSILON / 3), self

    def tune(self, update_bound, distinguisher, *, one, steps):  # noqa: ARG002
        each = self.factor * EPSILON * 2 / 3 / (2 * self.rounds)
        return OfflineTuning(
            rounds=self.rounds,
            alpha=2.0,
            threshold=None,
            distinguisher=distinguisher.with_epsilon(each * self.rounds, rounds=self.rounds),
            noise=ValueNoise("laplace", each / steps),
            value_error=0.1,
            error=None,
            cost=self.cost,
        )


def released(calibration, seed):
    """The total, and the two answers with their queries and what was learnt from them."""
    mechanism = IterativeConstruction(
        learner=FriezeKannanLearner(UNIVERSE),
        distinguisher=Exponential(queries=QUERIES, epsilon=EPSILON, score="signed"),
        calibration=calibration,
        grid=Grid(),
    )
    source = SeededEntropy(seed)

    def run(graph, _):
        outcome = mechanism.run(graph, source)
        edge = [m.value for m in outcome.transcript if UNIVERSE.masks(m.query)[0][0]]
        return [
            outcome.total_weight,
            sum(edge) + outcome.total_weight,
            len(edge),
            max(edge, default=-50),
        ]

    return run


def test_the_whole_mechanism_keeps_its_promise():
    # Whether so few runs could tell otherwise is what the twin shows.
    found = audit(released(Fixed(), 5), WITHOUT, WITH, runs=1000)
    assert found.epsilon_lower <= float(EPSILON), found.event


def test_a_twin_that_spends_too_much_is_caught():
    found = audit(released(Fixed(factor=8), 6), WITHOUT, WITH, runs=1000)
    assert found.epsilon_lower > float(EPSILON), found.event
