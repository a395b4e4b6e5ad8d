"""Noisy tables of the contributions of users, and what a bound on contributions would leave out.

The *contribution* of a user is how many rows (or pairs, or units of weight) of the data are theirs.
`Contributions` is a histogram of it: public *bounds* divide users into *classes*, and each class
has a noisy count of users. Class i holds users with more than bounds[i-1] and at most bounds[i];
the last class has no upper bound. From the table follows which bound on contributions is worth its
cost: rows of a user above the bound are left out, and noise grows with the bound.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
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

_FIRST_BOUNDS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70)
_POWERS_OF_TEN = (1, 10, 100, 1000)
BOUNDS = tuple(
    sorted({bound * power for bound in _FIRST_BOUNDS for power in _POWERS_OF_TEN} | {100_000})
)
_MOST_BOUNDS = 1000  # of a table


class _ClassAbove(NamedTuple):
    """A class of users above a bound on contributions.

    Attributes:
        users: noisy number of its users.
        least: the least that one of its users has beyond the bound.
        most: the most that one of its users has beyond the bound; infinite if not known.
    """

    users: int
    least: int
    most: float


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Contributions(Displayed):
    """Noisy numbers of users by their contributions. All of it may be published.

    Attributes:
        bounds: public upper bounds of the classes, ascending. The class above the last one has
            none.
        counts: noisy number of users of each class, whole numbers that may be negative, shape
            (bounds + 1,).
        rate: of the discrete Laplace noise of each count; None for a public table.
        what: what was counted: "pairs", "rows" or "units of weight".
        guarantee: of the table; None for a public one.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame(
        ...     {"user": [1, 1, 2], "source": ["a", "b", "a"], "target": ["b", "a", "b"]}
        ... )
        >>> rows = gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"))
        >>> made = gc.release_contributions(rows, epsilon=1.0)
        >>> made.guarantee.epsilon
        1.0
    """

    bounds: tuple[int, ...]
    counts: IntVector
    rate: Fraction | None = None
    what: str = "rows"
    guarantee: PrivacyGuarantee | None = None

    @classmethod
    def public(cls, bounds: tuple[int, ...], counts: list[int], what: str = "rows") -> Self:
        """Return a table that is public already, such as one of earlier years.

        Args:
            bounds: upper bounds of the classes, ascending.
            counts: number of users of each class, one more than bounds.
            what: what was counted: "pairs", "rows" or "units of weight".

        Raises:
            ParameterError: if bounds do not ascend, or the number of counts is another.
        """
        checked_bounds = check_bounds(bounds)
        if len(counts) != len(checked_bounds) + 1:
            raise ParameterError("a table of contributions has one count more than bounds")
        return cls(bounds=checked_bounds, counts=np.array(counts, dtype=np.int64), what=what)

    def users_above(self, bound: int, *, failure: float = DEFAULT_FAILURE) -> tuple[int, int]:
        """Return how many users have more than a bound, and the error of that number.

        Args:
            bound: one of `bounds`.
            failure: probability with which the error is larger, in (0, 1).

        Returns:
            The noisy number, and t with P(|error| > t) <= failure.

        Raises:
            ParameterError: if it is none of the bounds.
        """
        above = self.counts[self._bound_index(bound) + 1 :]
        if self.rate is None:
            return int(above.sum()), 0
        # The error is a sum of the noises of the classes above, each with coefficient 1. Of these
        # coefficients, `spread` has the sum of squares, the largest, and the sum; shape (1 sum, 1
        # level).
        class_count, one = np.array([[float(len(above))]]), np.array([[1.0]])
        spread = ErrorSpread(squares=class_count, largest=one, absolute=class_count)
        noise = LevelNoise("laplace", (self.rate,))
        radius = error_radii(noise, (0,), spread, failure=failure)  # level 0 is the only one
        return int(above.sum()), math.floor(radius[0])  # errors are whole numbers

    def left_out(self, bound: int, *, known_max: int | None = None) -> tuple[float, float]:
        """Return a lower and an upper bound of the rows (pairs, units) that each bound leaves out.

        Use it to compare bounds. For one bound that is known before the table is seen,
        `left_out_of_one` is far sharper.

        With the default confidence what is left out lies in this range, for all bounds at once,
        since then no count of users is wrong by more than `radius`.

        The upper end is infinite without `known_max`, unless the noise rules out users in the last
        class. It cannot be otherwise: the table has nearly the same distribution with and without
        one user, however many rows that user has. So no finite number could cover them all.

        Args:
            bound: one of `bounds`.
            known_max: largest contribution of a user, if that is publicly known, >= 1, rounded up
                to a whole number; None if it is not known.

        Raises:
            ParameterError: if it is none of the bounds, or `known_max` is no whole number from 1
                on.
        """
        check_known_max(known_max)
        low = high = 0.0
        for class_above in self._classes_above(bound, known_max):
            low += max(0, class_above.users - self.radius) * class_above.least
            most_users = max(0, class_above.users + self.radius)
            high += most_users * class_above.most if most_users else 0.0  # 0 times infinity is 0
        return low, high

    def left_out_of_one(self, bound: int, *, known_max: int | None = None) -> tuple[float, float]:
        """Return a lower and an upper bound of what one bound leaves out, chosen beforehand.

        With the default confidence what is left out lies in this range, for this bound alone: not
        for one that was chosen after a look at the table. Where `left_out` lets every count err by
        its largest error at once, here the noise of the sum itself counts:

            sum of least_c users_c - r <= left out <= sum of most_c users_c + R,

        with the most and the least that a user of class c has beyond the bound, and r and R radii
        of the noise of these sums, each too short with half of the failure probability. Users are
        at least 0 in each class, so the lower bound may end with any class. It is the largest of
        those for all last classes, which share its failure probability: classes of a few users with
        many rows would bring more noise than rows.

        Args:
            bound: one of `bounds`.
            known_max: largest contribution of a user, see `left_out`; None if it is not known, and
                the upper bound is infinite then.

        Raises:
            ParameterError: as `left_out`.
        """
        if self.rate is None:
            return self.left_out(bound, known_max=known_max)
        check_known_max(known_max)
        classes = self._classes_above(bound, known_max)
        if not classes:
            return 0.0, 0.0
        users = np.array([class_above.users for class_above in classes], dtype=np.float64)
        least = np.array([class_above.least for class_above in classes], dtype=np.float64)
        most = np.array([class_above.most for class_above in classes], dtype=np.float64)
        until = np.tri(len(classes))  # a row for each last class: 1 for the classes up to it
        sums = until @ (least * users)
        low = float((sums - self._sum_radii(until * least, DEFAULT_FAILURE / len(classes))).max())
        high = math.inf
        if math.isfinite(most[-1]):
            high = float(most @ users + self._sum_radii(most[None, :], DEFAULT_FAILURE)[0])
        return max(0.0, math.floor(low)), max(0.0, math.ceil(high) if high < math.inf else high)

    def _sum_radii(self, coefficients: FloatMatrix, failure: float) -> FloatVector:
        """Return t with P(noise of a sum > t) = P(noise < -t) <= failure/2, for each sum.

        Args:
            coefficients: of the counts of classes in each sum, >= 0, shape (sums, classes).
            failure: for both tails of one sum.
        """
        assert self.rate is not None  # noqa: S101  # the caller has looked
        spread = ErrorSpread(
            squares=(coefficients**2).sum(axis=1, keepdims=True),
            largest=coefficients.max(axis=1, keepdims=True),
            absolute=coefficients.sum(axis=1, keepdims=True),
        )
        return error_radii(LevelNoise("laplace", (self.rate,)), (0,), spread, failure=failure)

    def left_out_by_detected(self, bound: int, *, known_max: int | None = None) -> float:
        """Return about how many rows of detected users a bound leaves out, at most.

        Users are *detected* in classes whose count is above its error, so that there are users in
        them with the default confidence. For the classes with an upper bound this is an upper bound
        of what these users have beyond the bound. Users of the last class count with the least that
        they have, unless `known_max` is given.

        Args:
            bound: one of `bounds`.
            known_max: largest contribution of a user, see `left_out`; None if it is not known.

        Raises:
            ParameterError: if it is none of the bounds, or `known_max` is no whole number from 1
                on.
        """
        check_known_max(known_max)
        return sum(
            (users + self.radius) * (most if math.isfinite(most) else least)
            for users, least, most in self._classes_above(bound, known_max)
            if users > self.radius
        )

    def counted_at_least(self, bound: int) -> int:
        """Return a lower bound of the rows (pairs, units) that count with a bound.

        It holds with the default confidence for all bounds at once, and together with `left_out`,
        since both rest on counts of users of which none is wrong by more than `radius`.

        Args:
            bound: one of `bounds`.

        Raises:
            ParameterError: if it is none of the bounds.
        """
        self._bound_index(bound)
        fewest = (1, *(lower + 1 for lower in self.bounds))  # rows of a user of each class
        return sum(
            max(0, int(users) - self.radius) * min(least, bound)
            for users, least in zip(self.counts, fewest, strict=True)
        )

    def _classes_above(self, bound: int, known_max: int | None) -> list[_ClassAbove]:
        """Return the classes above a bound that can have users."""
        largest = math.inf if known_max is None else float(known_max)
        classes = []
        for class_index in range(self._bound_index(bound) + 1, len(self.counts)):
            least = self.bounds[class_index - 1] + 1
            if least > largest:
                break
            upper = self.bounds[class_index] if class_index < len(self.bounds) else math.inf
            classes.append(
                _ClassAbove(
                    users=int(self.counts[class_index]),
                    least=least - bound,
                    most=min(upper, largest) - bound,
                )
            )
        return classes

    @property
    def radius(self) -> int:
        """Bound on the errors of all counts at once, with the default confidence."""
        return 0 if self.rate is None else hidden_users(float(self.rate), len(self.counts))

    def _bound_index(self, bound: int) -> int:
        """Return the index of a bound, which is that of the class below it."""
        if bound not in self.bounds:
            raise ParameterError(f"{bound} is none of the bounds of this table")
        return self.bounds.index(bound)

    @property
    def names(self) -> list[str]:
        """The classes in words: "at most 1", "2 to 5", "over 5"."""
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
        source = "a public table" if guarantee is None else f"epsilon = {guarantee.epsilon:g}"
        if guarantee is not None and guarantee.warning:
            source += f", {guarantee.warning}"
        return classes_figure(
            self.names,
            self.counts.astype(np.float64),
            title=f"How many users have how many {self.what} ({source})",
            x_label=f"{self.what} of a user",
        )

    def to_frame(self, kind: Any = None) -> Any:
        """Return a table with the columns over, bound (missing for the last class) and users.

        Args:
            kind: of data frame, see `Graph.to_frame`.
        """
        columns = {"over": [0, *self.bounds], "bound": [*self.bounds, None], "users": self.counts}
        return made_frame(columns, kind)

    def _picture(self) -> "Figure | None":
        """Return the figure that `Displayed` shows."""
        return self.plot()

    def _card(self) -> Card:
        """Return the table that `Displayed` shows."""
        guarantee = self.guarantee
        public_facts = (("guarantee", "none: a public table"),)
        return Card(
            title=f"How many users have how many {self.what}",
            facts=public_facts if guarantee is None else guarantee.facts,
            columns=(self.what, "users, noisy"),
            rows=[(name, int(count)) for name, count in zip(self.names, self.counts, strict=True)],
            warning="" if guarantee is None else guarantee.warning,
        )

    def __repr__(self) -> str:
        return f"Contributions({self.what}, {len(self.bounds)} bounds)"


def hidden_users(rate: float, classes: int) -> int:
    """Return how many users of each class noise can hide, with the default confidence for all.

    Args:
        rate: of the noise of each count; of a table with one epsilon for all of it, that epsilon.
        classes: number of classes of users.
    """
    return discrete_laplace_radius(rate, failure=DEFAULT_FAILURE / classes)


def check_bounds(bounds: tuple[int, ...] | list[int] | None) -> tuple[int, ...]:
    """Return public candidates for a bound on contributions; `BOUNDS` if None.

    Raises:
        ParameterError: unless these are 1 to 1,000 ascending whole numbers from 1 on.
    """
    if bounds is None:
        return BOUNDS
    candidates = tuple(bounds)
    all_whole = all(
        isinstance(bound, int | np.integer) and not isinstance(bound, bool) for bound in candidates
    )
    if not (all_whole and 0 < len(candidates) <= _MOST_BOUNDS and candidates[0] >= 1):
        raise ParameterError(f"bounds are 1 to {_MOST_BOUNDS:,} whole numbers from 1 on, ascending")
    if any(a >= b for a, b in pairwise(candidates)):
        raise ParameterError("bounds must ascend")
    return tuple(map(int, candidates))


def check_known_max(known_max: int | None) -> None:
    """Check a publicly known largest contribution.

    Raises:
        ParameterError: if it is neither None nor a whole number from 1 on.
    """
    is_whole = isinstance(known_max, int | np.integer) and not isinstance(known_max, bool)
    if known_max is not None and not (is_whole and known_max >= 1):
        raise ParameterError("known_max must be a whole number from 1 on: what no user has more of")
