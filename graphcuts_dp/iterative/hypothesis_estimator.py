"""The estimator of iterative releases: a hypothesis, or answers to a list, and their accuracy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.estimator import AnswerOptions, Estimates, QueryEstimate
from graphcuts_dp.iterative.accuracy import Accuracy, CountNoise, Law
from graphcuts_dp.iterative.query_digests import Digests
from graphcuts_dp.iterative.query_lists import CutList, QuestionList
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.queries.coefficients import Extent, as_cut
from graphcuts_dp.queries.graph_queries import GraphQuery, Question
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, RankOneQuery
from graphcuts_dp.queries.mixed_cuts import MixedCut, with_sides
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.vertices import Space

Listed = CutList | QuestionList | Digests | None
_FLOAT_ERROR = 1e-9  # relative: more than the rounding of a rank-one query's or a list's scale


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class HypothesisEstimator:
    """Estimate queries by a hypothesis, or by the values that were measured for a list.

    Where all disjoint cuts (bipartite: all cuts) are covered, so are rank-one queries, by the same
    bound E: draw vertex i into S with chance u_i, into T with v_i, else into neither; if
    u + v <= 1, then u' D v is the mean of the errors D of disjoint cuts, and at most E. Any other
    one is (u/a, v/a) times a^2, a = max(u + v), and so within a^2 E; of two sides within
    max(u) max(v) E. A cut of sets that mix both sides is a sum of two or three cuts.

    Attributes:
        universe: the public vertex pairs.
        hypothesis: in weight; None of answers alone.
        accuracy: a proven bound on errors at one confidence.
        cap: public largest weight of a pair.
        listed: the public list of queries; None if there is none.
        measured: the noisy values in the order of measuring, in weight; in the order of the list
            if all of it was measured.
        law: distribution of errors, for every confidence; None if only `accuracy` is known.
        statistics: whether the hypothesis is a graph without weights, which has statistics.
        clip_values: whether values are clipped to the possible range of a query; for hypotheses
            whose entries have no bounds.
    """

    universe: Universe
    hypothesis: DenseHypothesis | None
    accuracy: Accuracy
    cap: float
    listed: Listed
    measured: Sequence[float]
    law: Law | None
    statistics: bool
    clip_values: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the adjacency matrix."""
        return self.universe.shape

    @property
    def space(self) -> Space:
        """The public vertex sets."""
        return self.universe.space

    def estimate(self, queries: Sequence[Question], options: AnswerOptions) -> Estimates:
        """Estimate linear queries, and statistics by the median; see `Estimator.estimate`.

        The intervals of covered queries hold for all of them at once, whatever
        `options.simultaneous` is; the value is that of the hypothesis, whatever `options.estimate`
        is.

        Raises:
            QueryError: a query that does not fit or was not answered; a confidence other than that
                of `accuracy` where there is no law.
        """
        confidence, only_confidence = options.confidence, self.accuracy.confidence
        if self.law is None and confidence != only_confidence:
            raise QueryError(
                "this release was learned from a few answers: it has intervals for all queries at"
                f" once with confidence {only_confidence:g} alone"
            )
        sharing = None  # the number of queries that share the failure probability, if it is a list
        if isinstance(self.law, CountNoise) and self.listed is not None:
            sharing = len(self.listed)
        return Estimates(
            [
                self._statistic(query)
                if isinstance(query, GraphQuery)
                else self._linear(query, confidence)
                for query in queries
            ],
            together=1 if sharing is None else sharing,
            simultaneous=sharing is None,
        )

    def _linear(self, query: LinearQuery, confidence: float) -> QueryEstimate:
        """Estimate a linear query."""
        query = with_sides(query, self.space)
        if isinstance(query, RankOneQuery):
            query = as_cut(query, self.space) or query
        index = None if self.listed is None else self.listed.find(query)
        least, most = Extent.of(query, self.space).possible(self.cap)
        interval = least, most
        value, error = self._value(query, index), self._error(query, index, confidence)
        if error is not None:
            error_above = error
            if isinstance(self.law, CountNoise) and isinstance(query, CutQuery):
                error_above += self.law.grid.rounding(self.universe.pairs_between(query))
            interval = value - error, value + error_above
        if self.clip_values:
            value = min(max(value, least), most)
        return QueryEstimate(value, interval, most, least, certain=error is None)

    def _value(self, query: LinearQuery, index: int | None) -> float:
        """Return the measured value of a query at an index of the list, or the hypothesis's."""
        if index is not None and self.accuracy.queries == "measured":
            return self.measured[index]
        if self.hypothesis is None:
            raise QueryError(
                f"only the {len(self.measured):,} cuts of the list were answered, and this query"
                " is none of them"
            )
        return self.hypothesis.estimate(query)

    def _error(self, query: LinearQuery, index: int | None, confidence: float) -> float | None:
        """Return a proven bound on the error, in weight; None if none is proven for the query."""
        error, queries = self.accuracy.error, self.accuracy.queries
        if error is None or queries in ("listed", "measured"):
            if index is None:
                return None
            if self.law is None or confidence == self.accuracy.confidence:
                return error
            return self.law.error(math.nextafter(1 - confidence, 0))  # rounded down
        if isinstance(query, CutQuery):
            S, T = self.universe.masks(query)
            return error if self.universe.bipartite or not (S & T).any() else None
        if isinstance(query, MixedCut):
            return error * query.cut_count
        if not isinstance(query, RankOneQuery):
            return None
        u, v = query.vectors(self.universe.shape)
        bipartite = self.universe.bipartite
        scale = float(u.max() * v.max()) if bipartite else float((u + v).max()) ** 2
        return error * scale * (1 + _FLOAT_ERROR)

    def _statistic(self, query: GraphQuery) -> QueryEstimate:
        """Estimate a statistic by that of the hypothesis, a graph without weights."""
        if self.hypothesis is None or not self.statistics:
            raise QueryError(
                f"{query.statistic!r} is answered by releases of the construction 'median' alone"
            )
        sensitivity = query.sensitivity(self.space)
        edges = self.hypothesis.matrix[self.universe.pairs()]
        value = float(sensitivity * int(query.scaled_values(self.universe, edges[None, :])[0]))
        most, error = float(query.largest(self.space)), self.accuracy.error
        if error is None or not isinstance(self.listed, QuestionList) or query not in self.listed:
            return QueryEstimate(value, (0.0, most), most, certain=True)
        radius = sensitivity * math.floor(error / self.listed.scale + _FLOAT_ERROR)
        # The true statistic is between a multiple of its sensitivity and the next.
        return QueryEstimate(value, (value - radius, value + radius + sensitivity - 1), most)
