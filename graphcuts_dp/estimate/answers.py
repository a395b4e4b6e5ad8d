"""Answers to cut queries as callers get them: limited to what is possible, as lists and tables.

The number to read is the `value`, which lies in its interval; the number to add up is the
`estimate`, which may be impossible, such as one below 0. These two words mean the same in all
results, tables and files.

An `Estimator` returns a `QueryEstimate` for each query. `answer_queries` turns it into a
`CutAnswer`: it cuts the interval to what the query can be on any graph, and adds what the interval
holds for. Queries are cuts, or any other linear functions of the weights, in spite of the name. The
type variable `Asked` stands for the queries that an estimator takes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from graphcuts_dp.confidence import INTERVAL_COLUMNS, SIMULTANEOUS_COLUMNS, percent
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.estimator import AnswerOptions, Asked, EstimateKind, Estimator
from graphcuts_dp.frames import made_frame
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, is_query
from graphcuts_dp.schema.value_bounds import possible_part

NO_GUARANTEE = "estimate, no guarantee"
_ROWS_SHOWN = 20  # of a list of answers, where it is displayed


@final
@dataclass(frozen=True)
class CutAnswer:
    """An estimate of the value of a cut, with its interval.

    Attributes:
        estimate: of the weight; sums are made of unbiased estimates. It may lie outside of the
            interval: an unbiased one can be negative, or more than the cut can weigh, and a shrunk
            one has no guarantee.
        interval: (low, high), which holds the true value with probability `confidence`, cut to what
            the pairs of the cut can weigh. `value` lies in it.
        confidence: in (0, 1]; 1 if the interval holds all possible values.
        simultaneous: whether the confidence is for all cuts of the graph at once, so that the cut
            may have been chosen after looking at other answers. Otherwise it is for cuts that were
            chosen before.
        together: how many cuts, chosen before, the confidence is for at once.
        seeded: whether the noise came from a seed, so that the answer is not private.
        kind: of the estimate. "unbiased"; "shrunk", towards the synthetic graph; or "model", that
            of a sparse release's model, for a cut that is no sum of measured numbers. The last two
            have no guarantee; the interval is proven for all three.
        typical_error: error of `estimate` that is to be expected, as a root mean square. Of
            unbiased ones it is the standard deviation of their noise; of others an estimate by a
            model of what the fit may have missed, no guarantee, and made for sets that were not
            chosen by looking at the private graph, as the neighbours of a vertex are. None of
            queries that are no cuts.

    Examples:
        >>> release = gc.release_graph(gc.datasets.load("karate"), epsilon=2.0)
        >>> answer = release.answer([0, 1], [2, 3])
        >>> low, high = answer.interval
        >>> low <= answer.value <= high
        True
    """

    estimate: float
    interval: tuple[float, float]
    confidence: float
    simultaneous: bool = False
    seeded: bool = False
    kind: EstimateKind = "unbiased"
    together: int = 1
    typical_error: float | None = None

    def __str__(self) -> str:
        low, high = self.interval
        scope = "this cut" if self.together == 1 else f"{self.together:,} cuts at once"
        scope = "all cuts at once" if self.simultaneous else scope
        mark = " [seeded: not private]" if self.seeded else ""
        note = "" if self.kind == "unbiased" else f" ({NO_GUARANTEE})"
        if note and self.typical_error is not None:
            note = f" (typical error {self.typical_error:.1f})" + note
        return (
            f"{self.value:.1f}{note} in [{low:.1f}, {high:.1f}] "
            f"({percent(self.confidence)}, {scope}){mark}"
        )

    @property
    def value(self) -> float:
        """The number to read: of the interval the nearest to the estimate. Biased, but possible."""
        return nearest_within(self.estimate, self.interval)


def nearest_within(estimate: float, interval: tuple[float, float]) -> float:
    """Return the number of an interval that is nearest to an estimate: the value of an answer.

    An unbiased estimate can be impossible, such as one below 0. It then lies outside of its
    interval, which holds possible values only. NaN stays NaN.
    """
    low, high = interval
    return min(max(estimate, low), high)


def answer_queries(
    estimator: Estimator[Asked], queries: Sequence[Asked], options: AnswerOptions, *, seeded: bool
) -> "AnswerList":
    """Answer queries by an estimator, in their order.

    Args:
        estimator: of the release.
        queries: on its vertex sets.
        options: see `Release.answer_all`.
        seeded: whether the noise came from a seed.
    """
    estimates = estimator.estimate(queries, options)
    return AnswerList(
        CutAnswer(
            estimate=estimate.value,
            # The part of the interval between the least and the most that the query can be; the
            # parameters come in the order (interval, most, least).
            interval=possible_part(estimate.interval, estimate.most, estimate.least),
            confidence=1.0 if estimate.certain else options.confidence,
            simultaneous=estimates.simultaneous,
            seeded=seeded,
            kind=estimate.kind,
            together=estimates.together,
            typical_error=estimate.typical,
        )
        for estimate in estimates.queries
    )


def whole_query(S: Any, T: Any) -> LinearQuery:
    """Return a query that was given either as an object or as the two sets of a cut.

    Args:
        S: a query, or the first set of a cut.
        T: the second set; None for the complement of S, or if S is a query.

    Raises:
        QueryError: if S is a query and T a set.
    """
    if not is_query(S):
        return CutQuery(S, T)
    if T is not None:
        raise QueryError("give either a whole query or two sets, not both")
    query: LinearQuery = S
    return query


class AnswerList(list[CutAnswer], Displayed):
    """A list of answers in the order of their queries, which can be shown as a table."""

    def to_frame(self, kind: Any = None) -> Any:
        """Return a table with one row for each answer.

        Its columns are value, low, high, confidence, simultaneous, kind, together, estimate and
        mark. If an interval holds for several cuts at once, they are simultaneous_low and
        simultaneous_high in place of low and high. Values lie in their intervals; estimates need
        not, and unbiased ones may be added up. The mark of a seeded answer says that it is not
        private; otherwise it is empty.

        Args:
            kind: of data frame, see `Graph.to_frame`.
        """
        rows = [
            (
                *self._row(answer),
                answer.together,
                answer.estimate,
                "seeded: not private" if answer.seeded else "",
            )
            for answer in self
        ]
        # In the order of the entries of `rows`.
        names = [*self._columns, "together", "estimate", "mark"]
        columns = {name: [row[index] for row in rows] for index, name in enumerate(names)}
        return made_frame(columns, kind)

    @property
    def interval_columns(self) -> tuple[str, str]:
        """Names of the columns of intervals: for each cut alone, or for several at once."""
        at_once = any(answer.simultaneous or answer.together > 1 for answer in self)
        return SIMULTANEOUS_COLUMNS if at_once else INTERVAL_COLUMNS

    @property
    def _columns(self) -> tuple[str, ...]:
        """The columns whose entries `_row` returns, in this order."""
        return ("value", *self.interval_columns, "confidence", "simultaneous", "kind")

    @staticmethod
    def _row(answer: CutAnswer) -> tuple[object, ...]:
        """Return the entries of `_columns` for an answer."""
        return (
            answer.value,
            *answer.interval,
            answer.confidence,
            answer.simultaneous,
            answer.kind,
        )

    def _card(self) -> Card:
        """Return what `Displayed` shows: a table of the first answers and how many there are."""
        seeded = any(answer.seeded for answer in self)
        return Card(
            title=f"{len(self):,} answers",
            columns=self._columns,
            rows=[self._row(answer) for answer in self[:_ROWS_SHOWN]],
            size=len(self),
            warning="seeded: not private" if seeded else "",
        )
