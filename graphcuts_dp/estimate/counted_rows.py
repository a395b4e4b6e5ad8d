"""The rows that a bounded table counts, and intervals for the count of all rows.

Where a user is the privacy unit, a table counts at most k rows of each user, the bound on
contributions. Its estimates and their intervals are of counted rows. With L the rows left out,

    counted rows of a cell <= all rows of the cell <= counted rows of the cell + L,

and of a sum of cells likewise, with one L. So a lower end for counted rows is one for all rows.

No private method has an upper end without a public maximum M of the rows of a user. If U is
epsilon'-DP for a user and P(U >= L) >= 1 - beta for all data, m more users of M rows, of which k
count, show that P(U >= L + m (M - k)) >= (1 - beta) e^(-m epsilon'); and without a maximum that
P(U = infinity) >= (1 - beta) e^(-epsilon').

With M, `measure.left_out` releases a noisy sum of L in which a user counts for at most M - k. Its
upper bound U and an interval of counted rows make one of all rows: [low, high + U]. Both share the
failure probability. A user with more than M rows counts for the rows that the table counts and
M - k more.

`CountedRows.sentence` is the one sentence with which tables, answers, pictures and reports begin.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self, final

from graphcuts_dp.confidence import DEFAULT_FAILURE, DEFAULT_PERCENT
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import CountMeasurement, NonlinearCounts
from graphcuts_dp.privacy.count_distribution import Change
from graphcuts_dp.privacy.count_noise import count_noise
from graphcuts_dp.privacy.level_noise import LevelNoise

NAME = "rows left out"  # of the measurement, and of its step of the budget plan
# Of the budget, for the sum of the rows left out. Its noise is that of M - k rows beside k rows for
# the cells, so it is wide; but a larger share widens every cell.
SHARE = Fraction(1, 10)
# Of the failure probability of an interval of all rows, for the upper bound of the rows left out.
# That bound has the wider noise, so it gets most.
_BOUND_FAILURE = 0.8
_LARGEST_FAILURE = 0.999  # of two tails together, for which radii are asked
_LARGEST_VARIANCE = 2.0**94  # of the noise, in squared grid units: 64-bit integers hold it
# The bound on users, as `PrivacyUnit.guarantee` states it: read of results that lack `CountedRows`.
_STATED_BOUND = re.compile(r"all rows of any one user.*? of which at most ([0-9,]+) count")


@final
class Failures(NamedTuple):
    """The parts of the failure probability of an interval of all rows.

    Attributes:
        counted: for both ends of the interval of counted rows.
        left_out: for the upper bound of the rows left out; 0 if none is needed.
    """

    counted: float
    left_out: float


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CountedRows:
    """The rows that a bounded table counts, and bounds on the others. May be published.

    Attributes:
        max_contributions: k, the most that counts of a user.
        what: what is counted, in the plural: "rows", "pairs" or "units of weight".
        per: whose contributions are bounded: "person", or with a bound in each period "person and
            month".
        known_max: M, what no user has more of, if that is publicly known; None if it is not.
        left_out: noisy sum of what is left out; None if it was not measured.
    """

    max_contributions: int
    what: str = "rows"
    per: str = "person"
    known_max: int | None = None
    left_out: CountMeasurement[NonlinearCounts] | None = None

    def __post_init__(self) -> None:
        known_max = self.max_contributions if self.known_max is None else self.known_max
        if not 1 <= self.max_contributions <= known_max:
            raise ValueError("a bound on contributions lies in 1..known_max")
        if (self.left_out is not None) is not (known_max > self.max_contributions):
            raise ValueError("a sum of what is left out belongs to a maximum above the bound")

    @property
    def sentence(self) -> str:
        """The sentence on what is counted and what is not, without its full stop."""
        least, most = 0.0, None
        if self.has_upper_end:
            least, most = self.at_least(DEFAULT_FAILURE), self.at_most(DEFAULT_FAILURE)
        return counted_sentence(
            self.max_contributions,
            what=self.what,
            per=self.per,
            least=least,
            most=most,
            known_max=self.known_max,
            confidence=f"{DEFAULT_PERCENT} each",
        )

    @classmethod
    def of_neighbours(cls, neighbours: str, what: str) -> Self | None:
        """Return the counted rows of a guarantee, for results that were saved before this class.

        Args:
            neighbours: of the guarantee.
            what: is counted, in the plural.

        Returns:
            None if the guarantee bounds no user.
        """
        bound = _STATED_BOUND.match(neighbours)
        if bound is None:
            return None
        per = "person and period" if "in any one period" in neighbours else "person"
        return cls(max_contributions=int(bound[1].replace(",", "")), what=what, per=per)

    def trend_warning(self, periods: int, by: str) -> str:
        """Return a warning of a trend that the bound alone causes, without its full stop, or "".

        A series with one bound for all of its periods counts what earlier periods have left of it.
        So later periods count fewer rows of the same people, whatever these do. The warning is for
        every such series: it follows from public facts alone.

        Args:
            periods: number of periods that the bound is for.
            by: what a period is, such as "month".
        """
        if self.per != "person" or periods < 2:
            return ""
        return (
            f"the bound is for all {periods:,} {by}s together, so later {by}s count fewer "
            f"{self.what} of the same people: do not read a decline, or any trend, from them"
        )

    @property
    def has_upper_end(self) -> bool:
        """True if intervals of all rows have an upper end."""
        return self.known_max is not None

    def failures(self, failure: float) -> Failures:
        """Return how an interval of all rows divides its failure probability.

        Without an upper end, an interval is wrong above the truth alone, with half of the
        probability with which an interval of counted rows is wrong at either end.

        Args:
            failure: of the interval, in (0, 1).
        """
        if not self.has_upper_end:
            return Failures(min(2 * failure, _LARGEST_FAILURE), 0.0)
        return left_out_failures(failure, measured=self.left_out is not None)

    def at_most(self, failure: float) -> float:
        """Return an upper bound of what is left out, which is too low with this probability.

        Raises:
            ValueError: nothing bounds it without `known_max`.
        """
        if not self.has_upper_end:
            raise ValueError("nothing bounds what is left out without a known maximum")
        if self.left_out is None:
            return 0.0
        return max(0, self._steps + self._radius(failure)) * self.left_out.unit

    def at_least(self, failure: float) -> float:
        """Return a lower bound of what is left out, which is too high with this probability."""
        if self.left_out is None:
            return 0.0
        return max(0, self._steps - self._radius(failure)) * self.left_out.unit

    @property
    def _steps(self) -> int:
        """The noisy sum in grid units."""
        assert self.left_out is not None  # noqa: S101  # the callers have looked
        return int(self.left_out.steps[0][0])

    def _radius(self, failure: float) -> int:
        """Return t in grid units with P(noise > t) = P(noise < -t) <= failure: it is symmetric."""
        assert self.left_out is not None  # noqa: S101  # the callers have looked
        return left_out_radius(self.left_out.noise, failure)

    def to_fields(self) -> dict[str, Any]:
        """Return plain values for receipts; `from_fields` reads them."""
        fields: dict[str, Any] = {
            "sentence": self.sentence,
            "max_contributions": self.max_contributions,
            "what": self.what,
            "per": self.per,
            "known_max": self.known_max,
            "left_out": None,
        }
        if self.left_out is not None:
            described, arrays = self.left_out.parts()
            fields["left_out"] = {**described, "steps": arrays["steps 0"].tolist()}
        return fields

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Read what `to_fields` returned.

        Raises:
            GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: it is something
                else.
        """
        stored = fields["left_out"]
        left_out = None
        if stored is not None:
            arrays = {"steps 0": stored["steps"]}
            left_out = CountMeasurement[NonlinearCounts].from_parts(NAME, stored, arrays)
            if left_out.map.kind != NonlinearCounts.kind or left_out.steps[0].shape != (1,):
                raise ValueError("there is another sum")
        return cls(
            max_contributions=fields["max_contributions"],
            what=str(fields["what"]),
            per=str(fields["per"]),
            known_max=fields["known_max"],
            left_out=left_out,
        )


def counted_sentence(
    bound: int,
    *,
    what: str,
    per: str = "person",
    least: float = 0.0,
    most: float | None = None,
    known_max: int | None = None,
    confidence: str = "",
) -> str:
    """Return the sentence on what a bounded table counts and leaves out, without its full stop.

    Args:
        bound: on the contributions of a user.
        what: is counted, in the plural.
        per: whose contributions are bounded.
        least: lower bound of what is left out; 0 if there is none.
        most: upper bound of it; None or infinite if there is none.
        known_max: what no user is known to have more of; None if nothing is known.
        confidence: of the bounds, if there are both, in words; empty if they are exact.
    """
    counts = f"counts are of at most {bound:,} {what} a {per}"
    if known_max is not None and known_max <= bound:
        return f"{counts}, which are all if nobody has more"
    amounts = [f"at least {math.floor(least):,}"] if least >= 1 else []  # rounded outward
    condition = ""
    if most is not None and math.isfinite(most):
        amounts.append(f"at most {math.ceil(most):,}")
        condition = f", if nobody has more than {known_max:,}" if known_max else ""
    if not amounts:
        return (
            f"{counts}; further {what} are left out, and nobody can say how many from this release"
        )
    if len(amounts) == 1 and confidence:
        confidence = DEFAULT_PERCENT
    scope = f" ({confidence})" if confidence else ""
    return f"{counts}; {' and '.join(amounts)} further {what} are left out{scope}{condition}"


def left_out_failures(failure: float, *, measured: bool) -> Failures:
    """Return how an interval of all rows with both ends divides its failure probability.

    Args:
        failure: of the interval, in (0, 1).
        measured: whether what is left out was measured; else nothing is left out.
    """
    if not measured:
        return Failures(failure, 0.0)
    return Failures((1 - _BOUND_FAILURE) * failure, _BOUND_FAILURE * failure)


def left_out_radius(noise: LevelNoise, failure: float) -> int:
    """Return t in grid units with P(noise > t) <= failure, for the sum of what is left out.

    The noise is symmetric, so each tail beyond a two-sided radius has half of its failure.

    Args:
        noise: with one parameter.
        failure: of one tail, in (0, 1).
    """
    return noise.kind.radius(noise.parameters[0], min(2 * failure, _LARGEST_FAILURE))


def left_out_noise(distribution: str, budget: Fraction, change: Change) -> LevelNoise:
    """Return the noise of the sum of what is left out, which costs `SHARE` of a budget.

    Args:
        distribution: name of the family, as of the cells.
        budget: of all, in the currency of the family.
        change: largest change of the sum, and the square of that.

    Raises:
        ParameterError: 64-bit integers do not hold such noise.
    """
    kind = count_noise(distribution)
    parameter = kind.parameter(budget * SHARE, change)
    if kind.variance(parameter) > _LARGEST_VARIANCE:
        raise ParameterError("epsilon is too small for this known_max")
    return LevelNoise(distribution, (parameter,))
