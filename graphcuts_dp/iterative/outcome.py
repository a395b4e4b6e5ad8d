"""What iterative constructions measure and give; all of it is public."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.distinguishers.power_certificate import PowerCertificate
from graphcuts_dp.graph.graph_queries import Question
from graphcuts_dp.graph.linear_query import LinearQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.base import Hypothesis
from graphcuts_dp.iterative.tuning import OfflineTuning


@final
@dataclass(frozen=True, kw_only=True)
class Measured:
    """A query that a round has found, with its noisy answer. Public.

    Attributes:
        round: from 1.
        query: the cut, or whatever was asked for in a list.
        value: noisy answer, in weight.
        updated: whether the hypothesis was corrected by it.
    """

    round: int
    query: Question
    value: float
    updated: bool


@final
@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run gives. Public.

    Attributes:
        hypothesis: the last one; answers in units.
        tuning: that was used.
        total_weight: total weight that the construction was given, in units.
        total_error: how far it may be from the true one.
        transcript: what was bought, in order.
        stopped: "accurate": a round found no gap above the threshold; "rounds": all were used.
        error: in units; with probability 1 - beta no query of the distinguisher's class is farther
            off. None where the distinguisher proves nothing.
        certificate: of a distinguisher that proves afterwards what it found; else None.
    """

    hypothesis: Hypothesis
    tuning: OfflineTuning
    total_weight: float
    total_error: float
    transcript: tuple[Measured, ...]
    stopped: str
    error: float | None
    certificate: PowerCertificate | None = None


@final
@dataclass(frozen=True)
class InWeight:
    """A hypothesis whose answers are in units, shown in weight.

    Attributes:
        units: the hypothesis.
        one: weight of a unit.
    """

    units: Any
    one: float

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        universe: Universe = self.units.universe
        return universe

    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query, in weight."""
        return float(self.units.estimate(query)) * self.one

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Answers to many queries, in weight."""
        return np.asarray(self.units.estimate_all(queries)) * self.one

    def dense(self) -> FloatMatrix:
        """The matrix, in weight."""
        return np.asarray(self.units.dense()) * self.one
