"""What iterative constructions measure and give; all of it is public.

What all iterative releases begin and end with: universe, list of queries, synthetic graph.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, from_rows_on
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.learn.learners import MOST_DENSE_VERTICES
from graphcuts_dp.offline.cut_list import CutList
from graphcuts_dp.offline.power_certificate import PowerCertificate
from graphcuts_dp.offline.question_list import QuestionList
from graphcuts_dp.offline.tuning import OfflineTuning
from graphcuts_dp.pairs.graph_queries import GraphQuery, Question
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.mixed_cuts import understood
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change

MEDIAN = "median"  # beside the table of constructions: its hypothesis is no matrix
LEARNT_BY = (*CONSTRUCTIONS, MEDIAN)


def universe_of(graph: AnyGraph) -> Universe:
    """The public pairs of a graph.

    Raises:
        GraphError: something else than a graph, or one without pairs.
        ParameterError: more vertices than a matrix of all pairs can be held for.
    """
    if not isinstance(graph, AnyGraph):
        raise GraphError(
            "the first argument must be a Graph; build one with read_graph or from_..."
        )
    universe = Universe.of(graph)
    if not universe.size:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    if max(universe.shape) > MOST_DENSE_VERTICES:
        raise ParameterError(
            f"an iterative construction holds a number for each pair: up to {MOST_DENSE_VERTICES}"
            " vertices; use release_graph"
        )
    return universe


def as_list(universe: Universe, queries: Iterable[Question]) -> CutList | QuestionList:
    """A public list of queries.

    Raises:
        ParameterError: a list for other vertices, or an empty one.
        QueryError: a query that does not fit.
    """
    if isinstance(queries, CutList | QuestionList):
        if queries.universe != universe:
            raise ParameterError("the queries are for other vertices than the graph's")
        return queries
    given = [
        each if isinstance(each, GraphQuery) else understood(each, universe.space)
        for each in queries
    ]
    cuts = [each for each in given if isinstance(each, CutQuery)]
    return CutList(universe, cuts) if len(cuts) == len(given) else QuestionList(universe, given)


def synthetic_graph(graph: AnyGraph, weights: FloatMatrix, cap: float, note: str) -> AnyGraph:
    """A graph with these weights on the vertices of another, of which the schema is read only."""

    def rows() -> Iterator[FloatMatrix]:
        yield from (weights[start : start + 512] for start in range(0, len(weights), 512))

    return from_rows_on(graph.space, rows(), weighted=True, weight_cap=cap, note=note)


def pair_promise(
    universe: Universe,
    grid: Grid,
    cost: Cost,
    *,
    seed: int | None,
    parts: tuple[tuple[str, float], ...],
    public: str = "",
) -> PrivacyGuarantee:
    """What a mechanism of this cost promises for one pair, with what else of it is public."""
    return PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours=hidden_change(
            weighted=grid.weighted, weight_cap=grid.cap, directed=universe.directed
        ),
        public=universe.public + (", the weight cap" if grid.weighted else "") + public,
        seed=seed,
        parts=parts,
    )


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
    """A hypothesis whose answers are in units, shown in weight."""

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
