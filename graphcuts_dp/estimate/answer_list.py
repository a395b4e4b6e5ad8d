"""A list of answers to cuts, which notebooks show as a table."""

from typing import TYPE_CHECKING, Any

from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.noisy_matrix import CutAnswer
from graphcuts_dp.pairs.linear_query import LinearQuery, is_query
from graphcuts_dp.pairs.queries import CutQuery

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("value", "low", "high", "confidence", "simultaneous", "estimate")


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

    def to_pandas(self) -> "pd.DataFrame":
        """One row an answer: value, low, high, confidence, simultaneous, estimate, together, mark.

        `mark` says of a seeded answer that it is not private, and is empty otherwise.
        """
        import pandas as pd

        rows = [
            (*self._row(answer), answer.together, "seeded: not private" if answer.seeded else "")
            for answer in self
        ]
        return pd.DataFrame(rows, columns=[*_COLUMNS, "together", "mark"])

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
