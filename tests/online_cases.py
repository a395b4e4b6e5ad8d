# ruff: noqa: ARG002 (stubs keep the signatures of what they stand for)
"""Small mechanisms with numbers chosen by hand, for tests that need many firings."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.calibrations import Tuning
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.sparse_vector import OneSidedPair
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.runner import read_state, stored_state

EDGE = CutQuery([0], [1])
UNIVERSE = Universe(4)


@dataclass(frozen=True)
class Stubborn:
    """A construction that never learns: its bound on updates is wrong."""

    alpha: float
    universe: Universe = UNIVERSE

    def initial(self):
        return DenseHypothesis.constant(self.universe, 0.0)

    def update(self, hypothesis, query, sign, value=None):
        return hypothesis

    def update_bound(self, alpha):
        return 1.0


@dataclass(frozen=True)
class StubbornLearner:
    universe: Universe = UNIVERSE
    name: str = "stubborn"

    def construction(self, *, alpha, total_weight, total_error):
        return Stubborn(alpha, self.universe)

    def check(self, query):
        self.universe.masks(query)


@dataclass(frozen=True)
class Fixed:
    """A calibration of given rates, threshold and cap."""

    r1: Fraction = Fraction(1, 5)
    r2: Fraction = Fraction(1)
    threshold: int = 1
    updates: int = 2
    queries: int = 50
    beta: float = 0.05
    name: str = "fixed"

    @property
    def epsilon(self):
        return (self.updates + 2) * (self.r1 + self.r2)

    @property
    def cost(self):
        return Cost.of_pure(self.epsilon)

    def tune(self, update_bound, sensitivity):
        return Tuning(
            alpha=1.0,
            updates=self.updates,
            queries=self.queries,
            test=OneSidedPair(
                self.r1 / sensitivity, self.r2 / sensitivity, Fraction(self.threshold)
            ),
            error=10,
            halts=False,
        )


def toy(total_weight=1.0, **numbers):
    return OnlineMechanism(
        learner=StubbornLearner(),
        calibration=Fixed(**numbers),
        grid=Grid(),
        total_weight=total_weight,
    )


def toy_graph(edges=0):
    return Graph([0] * edges, [1] * edges, vertices=4)


def two_communities(n, seed, inside=0.5, across=0.02):
    """Two halves, dense inside; cuts between them are far from uniform."""
    rng = np.random.default_rng(seed)
    rows, columns = np.triu_indices(n, 1)
    together = (rows < n // 2) == (columns < n // 2)
    kept = rng.random(len(rows)) < np.where(together, inside, across)
    return Graph(rows[kept], columns[kept], vertices=n)


def from_store(mechanism, state, *, lost=False, learnt=None, since=(), **changed):
    """The state as whoever opens a session again has it: from what the store keeps."""
    stored = replace(stored_state(mechanism, state), **changed)
    if lost:
        stored = replace(stored, secret=None)
    learnt = mechanism.learnt(state) if learnt is None else learnt
    return mechanism.resumed(read_state(mechanism, stored), None, learnt, since)
