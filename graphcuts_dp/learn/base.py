"""What an iterative database construction is: a hypothesis, and a rule that corrects it.

A hypothesis answers queries. When the truth is found at least alpha above or below one of its
answers, the rule makes a better hypothesis out of it, and a potential argument bounds how often
that can happen: B(alpha) = start potential / least drop of an update. Everything here reads
noisy answers only, so it is post-processing.

Source: GRU12 section 3; DR14 section 5.2 (database update algorithms).
"""

from collections.abc import Sequence
from typing import Literal, Protocol, Self, TypeVar

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.pairs.queries import LinearQuery
from graphcuts_dp.pairs.universe import Universe

# +1: the true answer is above the hypothesis; -1: below.
Sign = Literal[1, -1]
# The paper's steps and constants to the letter, or the best that the same proof gives.
Rule = Literal["tight", "as printed"]


class Hypothesis(Protocol):
    """An immutable data structure that answers linear queries."""

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""

    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Answers to many queries, shape (len(queries),)."""

    def to_bytes(self) -> bytes:
        """The state, without the vertex labels; equal hypotheses give equal bytes."""

    @classmethod
    def from_bytes(cls, data: bytes, universe: Universe) -> Self:
        """The hypothesis that `to_bytes` wrote.

        Raises:
            FileFormatError: bytes that are damaged, of another kind, or for another universe.
        """


H = TypeVar("H", bound=Hypothesis)


class Construction(Protocol[H]):
    """An update rule with its start, tuned to one tolerance."""

    @property
    def alpha(self) -> float:
        """Tolerance: an update is due when an answer is off by at least this, in edges."""

    def initial(self) -> H:
        """The hypothesis before the first update; the same each time."""

    def update(
        self, hypothesis: H, query: LinearQuery, sign: Sign, value: float | None = None
    ) -> H:
        """A better hypothesis.

        Args:
            hypothesis: the present one; it is not changed.
            query: one whose true answer is at least alpha away from the hypothesis's.
            sign: +1 when the true answer is above, -1 when it is below.
            value: an estimate of the true answer, when there is one. Rules that need the sign
                only ignore it.

        Raises:
            QueryError: a query outside the class that the bound is for.
            HypothesisError: an update that cannot be made.
        """

    def least_drop(self, alpha: float) -> float:
        """By how much an update lowers the potential at least, if the rule is tuned to alpha."""

    def update_bound(self, alpha: float) -> float:
        """B(alpha): no update sequence is longer, if the rule is tuned to alpha."""


def checked_tuning(universe: Universe, alpha: float, rule: str, value_error: float | None) -> None:
    """Check what all rules with a step length have in common.

    Raises:
        ParameterError: a universe without pairs, alpha not positive, an unknown rule, or a
            negative value_error.
    """
    if not universe.size:
        raise ParameterError("a universe without vertex pairs has nothing to learn")
    if not 0 < alpha < np.inf:
        raise ParameterError(f"alpha must be a finite number > 0, not {alpha}")
    if rule not in ("tight", "as printed"):
        raise ParameterError(f"rule is 'tight' or 'as printed', not {rule!r}")
    if value_error is not None and not 0 <= value_error < np.inf:
        raise ParameterError(f"value_error must be a finite number >= 0, not {value_error}")


def step_length(alpha: float, off: float, value_error: float | None) -> float:
    """The longest step that is certainly not longer than the true discrepancy.

    Args:
        alpha: tolerance; an update is only due when the discrepancy is at least this.
        off: value minus estimate, times the sign.
        value_error: how far the value may be from the truth; None means alpha.
    """
    return max(alpha, off - (alpha if value_error is None else value_error))
