"""Strategies for sums that are published period after period: what is measured when, in public.

A table is published for each period of a *horizon*, such as 60 months, once the period is over. Let
x be the true sums of one cell in these periods. A `TimeStrategy` has a matrix C of whole numbers,
one column for each period and one row for each published number: C x plus independent noise is
published, row by row. A row is published with the last period that it reads, so none reads a period
that is not over. Everything else, such as the sum of any window of periods, is computed from what
was published (`time_estimator`).

- *independent*: C is the identity. Each period is measured by itself.
- *calendar-years*: the identity, and below it a row for each calendar year, which adds up its
  periods. A row of the data lies in one period and in one year, so both share the budget.
- *square-root*: the lower-triangular Toeplitz matrix of the coefficients of (1 - z)^(-1/2), rounded
  to whole multiples of 1/1024. Its square is the matrix of running totals, so both factors of
  running totals have short rows and columns. For Gaussian noise.

Rows of C with one noise are a *level* (`TimeLevel`), which has a share of the budget.

Privacy: Let one privacy unit change the cells of all periods by at most K grid units together, in
    the sum of |change|: K = group size * grid units of one change (`measure.updates`). One grid
    unit in period m changes the numbers of a level by column m of its rows of C, and a change of
    K by a sum of such columns with coefficients whose moduli add up to K, in any cells. So by
    convexity, in the numbers of a level,

        sum of |change|  <=  K max_m sum_r C_rm      sum of change^2  <=  K^2 max_m sum_r C_rm^2,

    with whole numbers on the right, for the rounded C itself (`TimeLevel.change`). Entries of C are
    at least 0. So the same holds if a row of the data is read by some of the published numbers
    only, such as a row that comes too late for the first ones.
    Numbers are published one after the other, and later data may depend on earlier ones. Each has
    fresh noise, and the bounds hold for all of them together whatever was published. So the costs
    add up as for adaptive composition: exactly for Laplace noise, and for Gaussian noise as zCDP,
    whose sum is bounded beforehand.

Source: Henzinger, Upadhyay 2022, and Fichtenberger, Henzinger, Upadhyay 2023 (the square root, with
constants); Denisov, McMahan, Rush, Smith, Thakurta 2022 (data that depend on earlier results);
Feldman, Zrnic 2021 (adaptive sums of zCDP below a bound).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.options import check_probability, no_choice
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetPlan, BudgetStep
from graphcuts_dp.privacy.count_distribution import Change
from graphcuts_dp.privacy.count_noise import count_noise
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.schema.periods import DATES, Periods

IntMatrix = npt.NDArray[np.int64]
INDEPENDENT, CALENDAR_YEARS, SQUARE_ROOT = "independent", "calendar-years", "square-root"
TIME_STRATEGIES = ("auto", INDEPENDENT, CALENDAR_YEARS, SQUARE_ROOT)
# Of the budget, for single periods; years get what is left. With Laplace noise, months and years of
# twelve, single months then have 1.47 times the error that they would have alone, and years .74
# times (`scripts/updates.py`).
PERIOD_SHARE = Fraction(33, 50)
_GRID = 1024  # of the rounded square root: entries are whole multiples of one over this
_MOST_PERIODS = 1200  # of a horizon: a hundred years of months
_LARGEST_SCALE = 2**47  # of the noise, in grid units of the published numbers: 64 bits hold it


@final
@dataclass(frozen=True, eq=False)
class TimeLevel:
    """Published numbers with noise of one kind, and what they add up. Public.

    Attributes:
        name: what they are, such as "month", "year" or "running sums".
        rows: coefficients >= 0 of the periods in each number, shape (numbers, periods), in the
            order in which they are published.
        share: of what the levels before have left of the budget.
    """

    name: str
    rows: IntMatrix
    share: Fraction

    @cached_property
    def published_with(self) -> IntVector:
        """Index of the period with which each number is published, shape (numbers,)."""
        last = self.rows.shape[1] - 1 - np.argmax(self.rows[:, ::-1] > 0, axis=1)
        return np.asarray(last, dtype=np.int64)

    def count(self, periods: int) -> int:
        """Return how many numbers are published when so many periods are."""
        return int((self.published_with < periods).sum())

    def change(self, largest: int) -> Change:
        """Return the largest sums of |change| and of change^2 of all numbers of the level.

        Args:
            largest: K, the largest sum of |change| of the true sums of all cells and periods.
        """
        absolute = int(self.rows.sum(axis=0).max())
        squared = int((self.rows**2).sum(axis=0).max())
        return largest * absolute, largest**2 * squared


@final
@dataclass(frozen=True, kw_only=True)
class TimeStrategy:
    """Choose what is published with each period of a horizon. Public.

    Attributes:
        name: "independent", "calendar-years" or "square-root".
        periods: labels of the horizon, in the order of time.

    Raises:
        ParameterError: an unknown strategy; calendar years of periods that lie in none or are
            years; or too many periods.
    """

    name: str
    periods: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.name not in TIME_STRATEGIES[1:]:
            raise ParameterError(no_choice("strategy", self.name, TIME_STRATEGIES))
        if len(self.periods) > _MOST_PERIODS:
            raise ParameterError(
                f"a horizon has at most {_MOST_PERIODS:,} periods: begin another series after it"
            )
        if self.name == CALENDAR_YEARS and not has_years(self.periods):
            raise ParameterError(
                "strategy='calendar-years' is for days, months or quarters: leave it out"
            )

    @classmethod
    def choose(
        cls, periods: Sequence[str], *, strategy: str = "auto", delta: float
    ) -> "TimeStrategy":
        """Return a strategy by its name, or the one that suits the noise.

        Args:
            periods: labels of the horizon.
            strategy: a name, or "auto": square-root where delta allows Gaussian noise, else
                calendar-years if the horizon has all periods of some year, else independent.
            delta: of the guarantee.

        Raises:
            ParameterError: as the class; or a square root without a delta.
        """
        if strategy == SQUARE_ROOT and not delta:
            raise ParameterError(
                "strategy='square-root' is for Gaussian noise: pass a delta, for example delta=1e-6"
            )
        if strategy == "auto":
            whole_years = Periods(tuple(periods)).whole_years
            strategy = CALENDAR_YEARS if whole_years else INDEPENDENT
            strategy = SQUARE_ROOT if delta else strategy
        return cls(name=strategy, periods=tuple(periods))

    @cached_property
    def levels(self) -> tuple[TimeLevel, ...]:
        """Return the published numbers, level by level."""
        count, kind = len(self.periods), Periods(self.periods).by
        if self.name == SQUARE_ROOT:
            return (TimeLevel("running sums", _rounded_square_root(count), ALL_LEFT),)
        identity = np.eye(count, dtype=np.int64)
        if self.name == INDEPENDENT:
            return (TimeLevel(kind, identity, ALL_LEFT),)
        codes = Periods(self.periods).codes("year")
        years = (codes == np.arange(codes[-1] + 1)[:, None]).astype(np.int64)
        return (
            TimeLevel(kind, identity, PERIOD_SHARE),
            TimeLevel("year", years, ALL_LEFT),
        )

    def budget_plan(self, *, epsilon: float | Fraction, delta: float) -> BudgetPlan:
        """Return how the budget is spent on the levels, for all periods of the horizon together.

        Args:
            epsilon: for one privacy unit, in [1e-6, 50].
            delta: of the same; above 0 for Gaussian noise.

        Raises:
            ParameterError: epsilon or delta is out of range.
        """
        check_probability("delta", delta, zero=True)
        kind = count_noise("gaussian" if delta else "laplace")
        noise = f"discrete {kind.name.capitalize()}"
        return BudgetPlan(
            steps=tuple(
                BudgetStep(statistic=level.name, share=level.share, noise=noise)
                for level in self.levels
            ),
            amount=kind.budget(exact_epsilon(epsilon), delta=delta),
            currency="epsilon" if kind.pure else "rho",
            delta=0.0 if kind.pure else delta,
        )

    def changes(self, largest: int) -> tuple[Change, ...]:
        """Return the change of each level; see `TimeLevel.change`."""
        return tuple(level.change(largest) for level in self.levels)

    def noise(self, plan: BudgetPlan, largest: int) -> LevelNoise:
        """Return the noise with which the levels cost exactly what the plan says.

        Args:
            plan: of `budget_plan`.
            largest: K, the largest change of the true sums of all cells and periods together.

        Raises:
            ParameterError: epsilon is so small that 64-bit integers do not hold the noise.
        """
        kind, left = (
            count_noise("laplace" if plan.currency == "epsilon" else "gaussian"),
            plan.amount,
        )
        parameters = []
        for step, change in zip(plan.steps, self.changes(largest), strict=True):
            amount = left * step.shares[0]
            parameters.append(kind.parameter(amount, change))
            left -= amount
        if any(kind.deviation(parameter) > _LARGEST_SCALE for parameter in parameters):
            raise ParameterError("epsilon is too small for this bound on contributions")
        return LevelNoise(kind.name, tuple(parameters))


def has_years(periods: Sequence[str]) -> bool:
    """Return whether periods are days, months or quarters, which lie in calendar years."""
    kind = Periods(tuple(periods)).by
    return kind in DATES and kind != "year"


def _rounded_square_root(count: int) -> IntMatrix:
    """Return the Toeplitz matrix of round(1024 c_k), shape (count, count).

    c_0 = 1 and c_k = c_(k-1) (2k - 1)/(2k) are the coefficients of (1 - z)^(-1/2). They fall to
    about 1/sqrt(pi k), so those of a hundred years of months round to 17 and more.
    """
    coefficient, column = Fraction(1), []
    for index in range(count):
        column.append(round(_GRID * coefficient))
        coefficient = coefficient * (2 * index + 1) / (2 * index + 2)
    lags = np.arange(count)[:, None] - np.arange(count)
    rounded = np.where(lags >= 0, np.array(column, dtype=np.int64)[np.maximum(lags, 0)], 0)
    return np.asarray(rounded, dtype=np.int64)
