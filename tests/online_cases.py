# ruff: noqa: ARG002 (stubs keep the signatures of what they stand for)
"""Small mechanisms with numbers chosen by hand, for tests that need many firings."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from helpers import random_graph

from graphcuts_dp import CutQuery, Graph, Groups, Query
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.calibration_base import Tuning
from graphcuts_dp.plugins import Cost, FriezeKannanRule, Universe
from graphcuts_dp.privacy.sparse_vector import OneSidedPair
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.runner import read_state, stored_state
from graphcuts_dp.session.terms import METHODS as EVERY_METHOD

# The median lists all graphs, and refuses as many pairs as most tests have: test_median_sessions.
METHODS = [name for name in EVERY_METHOD if name != "median"]
CONSTRUCTIONS = ("multiplicative-weights", "frieze-kannan", "mirror-descent")
KINDS = {
    "plain": {"shape": 14, "seed": 1},
    "weighted": {"shape": 14, "seed": 2, "largest": 3.0, "max_weight": 3.0},
    "directed": {"shape": 14, "seed": 3, "directed": True},
    "bipartite": {"shape": (9, 11), "seed": 4, "largest": 5.0, "max_weight": 5.0},
}
EVERY_KIND = KINDS | {
    "sides": {"shape": (9, 11), "seed": 5},
    "uncapped": {"shape": 14, "seed": 6, "largest": 7.0, "max_weight_change": 1},
}
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


def suits(method, kind):
    """Whether a method is for such a graph."""
    if method == "binary":
        return "largest" not in EVERY_KIND[kind]
    return kind != "uncapped" or method not in CONSTRUCTIONS


def terms_of(method, **more):
    """What a session of a method needs to be told of delta, and more."""
    pure = method in ("laplace", "binary")
    return {"method": method, "delta": 0.0 if pure else 1e-6} | more


@dataclass(frozen=True)
class Halves:
    """A learner of one's own: Frieze-Kannan from nothing with half the tolerance."""

    universe: Universe
    name: str = "halves"
    version: Any = 1
    other: Any = None

    def construction(self, *, alpha, total_weight, total_error, value_error=None):
        return FriezeKannanRule(
            start=DenseHypothesis.constant(self.universe, 0.0),
            alpha=alpha / 2,
            start_potential=total_weight + total_error,
            value_error=value_error,
        )


def blocks_of(graph, blocks, *, shuffled=False):
    """Public groups of equal size, one after the other or of random vertices."""
    codes = np.arange(graph.n) * blocks // graph.n
    if shuffled:
        codes = np.random.default_rng(1).permutation(codes)
    return Groups(graph.vertices, {"block": [f"b{each}" for each in codes]})


class Weighed(Query):
    """A query of one's own: signed coefficients by the distance of the rows."""

    def coefficients(self, space):
        shape = Universe.over(space).shape
        rows, columns = np.indices(shape)
        found = np.sin(np.abs(rows - columns))
        if shape[0] == shape[1]:
            np.fill_diagonal(found, 0)
        return found


def graph_of(kind):
    """A small graph of one of `EVERY_KIND`."""
    options = dict(EVERY_KIND[kind])
    return random_graph(options.pop("shape"), **{"max_weight_change": None} | options)


def linear_queries(graph, seed=0):
    """Linear queries of every sort but cuts."""
    rng = np.random.default_rng(seed)
    rows, columns = Universe.of(graph).shape
    return [
        Query.rank_one(rng.random(rows), rng.random(columns)),
        Query.matrix(rng.normal(size=(rows, columns))),
        Query.matrix((rng.random((rows, columns)) < 0.1) * 2.5),
        Query.matrix(rng.choice([-1e-3, 1e-3], size=(rows, columns))),
        Weighed(),
    ]


def from_store(mechanism, state, *, lost=False, learnt=None, since=(), **changed):
    """The state as whoever opens a session again has it: from what the store keeps."""
    stored = replace(stored_state(mechanism, state), **changed)
    if lost:
        stored = replace(stored, secret=None)
    learnt = mechanism.hypothesis_bytes(state) if learnt is None else learnt
    return mechanism.restore(read_state(mechanism, stored), None, learnt, since)
