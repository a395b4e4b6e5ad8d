"""Answers as callers get them: with labels, cut to what is possible, as lists and tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from graphcuts_dp.confidence import percent
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.estimator import AnswerOptions, Asked, EstimateKind, Estimator
from graphcuts_dp.frames import made_frame
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, is_query
from graphcuts_dp.schema.value_bounds import possible_part

NO_GUARANTEE = "estimate, no guarantee"
# Of a failure probability, where the total weight is needed beside what else can fail.
FOR_TOTAL = 0.1
_COLUMNS = ("value", "low", "high", "confidence", "simultaneous", "estimate")


@final
@dataclass(frozen=True)
class CutAnswer:
    """An estimate of the value of a cut, with its interval.

    Attributes:
        value: the estimate. An unbiased one may be negative, or more than the cut can weigh, and
            then lies outside of the interval; a shrunk one may lie outside of it, too. As text, it
            is moved to the nearest end of the interval.
        interval: (low, high) that holds the true value with probability `confidence`, cut to what
            the pairs of the cut can weigh.
        confidence: in (0, 1).
        simultaneous: whether the confidence is for all cuts of the graph at once, so that the cut
            may have been chosen after looking at other answers; else it is for this cut alone,
            chosen before.
        together: how many cuts, chosen before, the confidence is for at once.
        seeded: whether the noise came from a seed, so that the answer is not private.
        estimate: which kind of estimate `value` is: "unbiased", or "shrunk", which has no
            guarantee; the interval is the same proven one. Or "model": what a sparse release's
            model says where nothing was measured that tells this cut, also without guarantee.
        typical_error: of an estimate of a model, by the model itself and so no proof; else None.
    """

    value: float
    interval: tuple[float, float]
    confidence: float
    simultaneous: bool = False
    seeded: bool = False
    estimate: EstimateKind = "unbiased"
    together: int = 1
    typical_error: float | None = None

    def __str__(self) -> str:
        low, high = self.interval
        scope = "this cut" if self.together == 1 else f"{self.together:,} cuts at once"
        scope = "all cuts at once" if self.simultaneous else scope
        mark = " [seeded: not private]" if self.seeded else ""
        note = "" if self.typical_error is None else f" +- {self.typical_error:.1f} typically"
        note += "" if self.estimate == "unbiased" else f" ({NO_GUARANTEE})"
        return (
            f"{self.possible:.1f}{note} in [{low:.1f}, {high:.1f}] "
            f"({percent(self.confidence)}, {scope}){mark}"
        )

    @property
    def possible(self) -> float:
        """The value in the interval that is nearest to the estimate: it is biased, but possible."""
        return nearest_within(self.value, self.interval)


def nearest_within(value: float, interval: tuple[float, float]) -> float:
    """The number of an interval that is nearest to an estimate: what people are shown of it.

    An unbiased estimate can be impossible, as one below 0 is, and then lies beside its interval,
    which holds what is possible alone. NaN stays NaN.
    """
    low, high = interval
    return min(max(value, low), high)


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
            value=each.value,
            interval=possible_part(each.interval, each.most, each.least),
            confidence=1.0 if each.certain else options.confidence,
            simultaneous=estimates.simultaneous,
            seeded=seeded,
            estimate=each.kind,
            together=estimates.together,
            typical_error=each.typical,
        )
        for each in estimates.queries
    )


def whole_query(S: Any, T: Any) -> LinearQuery:
    """What was asked: a whole query, or the cut between two sets.

    Raises:
        QueryError: a whole query, and a set beside it.
    """
    if not is_query(S):
        return CutQuery(S, T)
    if T is not None:
        raise QueryError("give either a whole query or two sets, not both")
    query: LinearQuery = S
    return query


class AnswerList(list[CutAnswer], Displayed):
    """Answers in the order of their queries: a list, and more for those who look at it."""

    def to_frame(self, kind: Any = None) -> Any:
        """One row an answer: value, low, high, confidence, simultaneous, estimate, together, mark.

        Of a kind as for `Graph.to_frame`. `mark` says of a seeded answer that it is not private,
        and is empty otherwise.
        """
        rows = [
            (*self._row(answer), answer.together, "seeded: not private" if answer.seeded else "")
            for answer in self
        ]
        names = [*_COLUMNS, "together", "mark"]
        return made_frame({name: [row[i] for row in rows] for i, name in enumerate(names)}, kind)

    @staticmethod
    def _row(answer: CutAnswer) -> tuple[object, ...]:
        return (
            answer.value,
            *answer.interval,
            answer.confidence,
            answer.simultaneous,
            answer.estimate,
        )

    def _card(self) -> Card:
        seeded = any(answer.seeded for answer in self)
        return Card(
            title=f"{len(self):,} answers",
            columns=_COLUMNS,
            rows=[self._row(answer) for answer in self[:20]],
            size=len(self),
            warning="seeded: not private" if seeded else "",
        )
