"""How much users have, as a noisy table: what a bound on each of them would leave out."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.consistency import ErrorSpread
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.frames import made_frame
from graphcuts_dp.privacy.count_noise import discrete_laplace_radius
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.level_noise import LevelNoise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70)
BOUNDS = tuple(
    sorted({step * 10**power for power in (0, 1, 2, 3) for step in _STEPS} - {0} | {100_000})
)
_MOST_BOUNDS = 1000


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Contributions(Displayed):
    """Noisy numbers of users by how much they have. All of it may be published.

    Attributes:
        bounds: the public upper ends of the classes, ascending; behind the last one is one more.
        counts: of the users in each class, noisy whole numbers, some of which may be negative,
            shape (bounds + 1,). Class i holds those with more than bounds[i-1] and at most
            bounds[i].
        rate: of the discrete Laplace noise of each count; None for a public table.
        what: what was counted: "pairs", "rows" or "units of weight".
        guarantee: of the table; None for a public one.
    """

    bounds: tuple[int, ...]
    counts: IntVector
    rate: Fraction | None = None
    what: str = "rows"
    guarantee: PrivacyGuarantee | None = None

    @classmethod
    def public(cls, bounds: tuple[int, ...], counts: list[int], what: str = "rows") -> Self:
        """A table that is known to everybody, such as one of earlier years.

        Args:
            bounds: as above.
            counts: of users in each class, one more than bounds.
            what: was counted.

        Raises:
            ParameterError: bounds that do not ascend, or another number of counts.
        """
        found = check_bounds(bounds)
        if len(counts) != len(found) + 1:
            raise ParameterError("a table of contributions has one count more than bounds")
        return cls(bounds=found, counts=np.array(counts, dtype=np.int64), what=what)

    def users_above(self, bound: int, *, failure: float = DEFAULT_FAILURE) -> tuple[int, int]:
        """Return how many users have more than a bound, and the error of that.

        Args:
            bound: one of `bounds`.
            failure: in (0, 1): the probability with which the error is larger.

        Returns:
            The noisy number, and t with P(|error| > t) <= failure.

        Raises:
            ParameterError: it is none of the bounds.
        """
        above = self.counts[self._place(bound) + 1 :]
        if self.rate is None:
            return int(above.sum()), 0
        classes, one = np.array([[float(len(above))]]), np.array([[1.0]])
        noise, spread = LevelNoise("laplace", (self.rate,)), ErrorSpread(classes, one, classes)
        radius = error_radii(noise, (0,), spread, failure=failure)
        return int(above.sum()), math.floor(radius[0])  # errors are whole numbers

    def left_out(self, bound: int, *, known_max: int | None = None) -> tuple[float, float]:
        """Return what a bound leaves out of all rows: pairs, rows or units, from and to.

        With the default confidence, what is left out lies in this range, for all bounds at once:
        no class has more or fewer users than its count says by more than `radius`. The upper end
        is infinite without `known_max`, unless the last class is empty beyond doubt. It cannot be
        otherwise: what is reported with and without one user has nearly the same distribution,
        however many rows that user has, so a finite number that covers them all could not hold.

        Args:
            bound: one of `bounds`.
            known_max: what no user has more of, if that is publicly known, >= 1; units rounded up.

        Raises:
            ParameterError: it is none of the bounds, or `known_max` no whole number from 1 on.
        """
        check_known_max(known_max)
        low = high = 0.0
        for users, least, largest in self._beyond(bound, known_max):
            low += max(0, users - self.radius) * least
            could = max(0, users + self.radius)
            high += could * largest if could else 0.0  # none of an infinite number is 0
        return low, high

    def left_out_by_detected(self, bound: int, *, known_max: int | None = None) -> float:
        """Return the most that a bound leaves out of the rows of users that noise cannot hide.

        Only classes that have users beyond doubt count. With the default confidence, all bounds
        at once, their users have no more rows beyond the bound than this. Of the class behind the
        last bound its least number counts, unless `known_max` is given.

        Args:
            bound: as for `left_out`.
            known_max: likewise.

        Raises:
            ParameterError: as for `left_out`.
        """
        check_known_max(known_max)
        return sum(
            (users + self.radius) * (largest if math.isfinite(largest) else least)
            for users, least, largest in self._beyond(bound, known_max)
            if users > self.radius
        )

    def _beyond(self, bound: int, known_max: int | None) -> list[tuple[int, int, float]]:
        """Of each class above a bound: its count, and what one user there has beyond the bound."""
        limit = math.inf if known_max is None else float(known_max)
        found = []
        for number in range(self._place(bound) + 1, len(self.counts)):
            least = self.bounds[number - 1] + 1
            if least > limit:
                break
            end = self.bounds[number] if number < len(self.bounds) else math.inf
            found.append((int(self.counts[number]), least - bound, min(end, limit) - bound))
        return found

    @property
    def radius(self) -> int:
        """No count is farther from the truth than this, with the default confidence."""
        if self.rate is None:
            return 0
        each = DEFAULT_FAILURE / len(self.counts)
        return discrete_laplace_radius(float(self.rate), failure=each)

    def _place(self, bound: int) -> int:
        if bound not in self.bounds:
            raise ParameterError(f"{bound} is none of the bounds of this table")
        return self.bounds.index(bound)

    @property
    def names(self) -> list[str]:
        """Of the classes, in words: "at most 1", "2 to 5", "over 5"."""
        names = [f"at most {self.bounds[0]:,}"]
        for low, high in pairwise(self.bounds):
            names.append(f"{high:,}" if high == low + 1 else f"{low + 1:,} to {high:,}")
        return [*names, f"over {self.bounds[-1]:,}"]

    def plot(self) -> "Figure":
        """Draw the noisy numbers of users by class, as a figure of matplotlib."""
        from graphcuts_dp.plotting.answer_lists import (
            classes_figure,  # matplotlib is slow to import
        )

        guarantee = self.guarantee
        told = "a public table" if guarantee is None else f"epsilon = {guarantee.epsilon:g}"
        if guarantee is not None and guarantee.warning:
            told += f", {guarantee.warning}"
        return classes_figure(
            self.names,
            self.counts.astype(np.float64),
            title=f"How many users have how many {self.what} ({told})",
            x_label=f"{self.what} of a user",
        )

    def to_frame(self, kind: Any = None) -> Any:
        """Return a table, as `Graph.to_frame`: over, bound (missing for the last), noisy users."""
        ends = [*self.bounds, None]
        return made_frame({"over": [0, *self.bounds], "bound": ends, "users": self.counts}, kind)

    def _picture(self) -> "Figure | None":
        return self.plot()

    def _card(self) -> Card:
        guarantee = self.guarantee
        public = (("guarantee", "none: a public table"),)
        return Card(
            title=f"How many users have how many {self.what}",
            facts=public if guarantee is None else guarantee.facts,
            columns=(self.what, "users, noisy"),
            rows=[(end, int(count)) for end, count in zip(self.names, self.counts, strict=True)],
            warning="" if guarantee is None else guarantee.warning,
        )

    def __repr__(self) -> str:
        return f"Contributions({self.what}, {len(self.bounds)} bounds)"


def check_bounds(bounds: tuple[int, ...] | list[int] | None) -> tuple[int, ...]:
    """Public candidates for a bound on users; `BOUNDS` if None.

    Raises:
        ParameterError: none, more than a thousand, or not ascending whole numbers from 1 on.
    """
    if bounds is None:
        return BOUNDS
    found = tuple(bounds)
    whole = all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in found)
    if not (whole and 0 < len(found) <= _MOST_BOUNDS and found[0] >= 1):
        raise ParameterError(f"bounds are 1 to {_MOST_BOUNDS:,} whole numbers from 1 on, ascending")
    if any(a >= b for a, b in pairwise(found)):
        raise ParameterError("bounds must ascend")
    return tuple(map(int, found))


def check_known_max(known_max: int | None) -> None:
    """Check what no user is known to have more of.

    Raises:
        ParameterError: not a whole number from 1 on.
    """
    whole = isinstance(known_max, int | np.integer) and not isinstance(known_max, bool)
    if known_max is not None and not (whole and known_max >= 1):
        raise ParameterError("known_max must be a whole number from 1 on: what no user has more of")
