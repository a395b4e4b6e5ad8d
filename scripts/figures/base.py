"""Hold what an experiment returns: a table, its parameters, and findings about a claim."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.resources import Progress


@final
@dataclass(frozen=True, kw_only=True)
class Finding:
    """A statement of a paper beside what was measured.

    Attributes:
        statement: which one, and what it says: "GRU12 Thm 6.5: error ~ sqrt(|S||T|)".
        claimed: the exponent or number claimed; None where the claim is an inequality in words.
        measured: what the table shows.
        tolerance: the two agree when they differ by at most this.
        agrees: whether they do.
        too_small: True if they do not agree, but the sizes of the run are too small to tell: see
            `exponent_uncertainty` and `at_full_size`.
    """

    statement: str
    claimed: float | None
    measured: float
    tolerance: float | None
    agrees: bool
    too_small: bool = False

    @property
    def verdict(self) -> str:
        """Return "yes", "NO" or "too small to tell", for tables."""
        if self.agrees:
            return "yes"
        return "too small to tell" if self.too_small else "NO"

    def __str__(self) -> str:
        claimed = "" if self.claimed is None else f", claimed {self.claimed:.3g}"
        words = {"yes": "agrees", "NO": "does not agree"}
        verdict = words.get(self.verdict, self.verdict)
        return f"{self.statement}: measured {self.measured:.3g}{claimed}: {verdict}"


@final
@dataclass(frozen=True, kw_only=True)
class Table:
    """The numbers of a figure. Not private: computed from simulated or public graphs.

    Attributes:
        columns: names, in the field's terms, with units where there are any.
        rows: plain strings and numbers, each as long as `columns`.
        parameters: all that the numbers depend on but the seed: plain values for JSON.
        findings: what the figure tests.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    parameters: Mapping[str, Any]
    findings: Sequence[Finding]

    @classmethod
    def of(
        cls,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        parameters: Mapping[str, Any],
        findings: Callable[["Table"], Sequence[Finding]],
    ) -> "Table":
        """Return a table with its findings."""
        table = cls(columns=columns, rows=rows, parameters=parameters, findings=())
        return replace(table, findings=findings(table))

    def where(self, **fixed: Any) -> list[dict[str, Any]]:
        """Return the rows in which these columns have these values, as dictionaries by column."""
        named = (dict(zip(self.columns, row, strict=True)) for row in self.rows)
        return [row for row in named if all(row[key] == fixed[key] for key in fixed)]

    def line(self, *columns: str, **fixed: Any) -> tuple[list[Any], ...]:
        """Return these columns of the rows in which others have these values."""
        rows = self.where(**fixed)
        return tuple([row[column] for row in rows] for column in columns)

    def series(
        self, by: str, column: str, **fixed: Any
    ) -> tuple[list[Any], npt.NDArray[np.float64]]:
        """Return a column by repetition, in the rows in which others have these values.

        Args:
            by: the column of places: x.
            column: y.
            fixed: values of other columns.

        Returns:
            (x in increasing order, y of shape (len(x), repetitions)); where a place has fewer
            repetitions than another, its first one stands again.
        """
        rows = self.where(**fixed)
        x = sorted({row[by] for row in rows})
        series = [[row[column] for row in rows if row[by] == value] for value in x]
        most = max(map(len, series), default=0)
        return x, np.array([repeats + repeats[:1] * (most - len(repeats)) for repeats in series])

    def middle(self, by: str, column: str, **fixed: Any) -> tuple[list[Any], list[float]]:
        """Return medians of a column over repetitions: (x, y)."""
        values_at: dict[Any, list[float]] = {}
        for x, y in zip(*self.line(by, column, **fixed), strict=True):
            values_at.setdefault(x, []).append(y)
        return sorted(values_at), [float(np.median(values_at[x])) for x in sorted(values_at)]


class Experiment(Protocol):
    """A function that measures."""

    def __call__(self, *, quick: bool, seed: int, progress: Progress) -> Table:
        """Measure; the same seed gives the same table, to the last digit.

        Args:
            quick: smaller sizes and fewer repetitions, in seconds instead of minutes; the same
                columns.
            seed: >= 0; all randomness comes from it.
            progress: called with the fraction done and a message.
        """
        ...


def finding(
    statement: str,
    measured: float,
    *,
    agrees: bool,
    claimed: float | None = None,
    tolerance: float | None = None,
    too_small: bool = False,
) -> Finding:
    """Return a finding; without a claimed number the claim is an inequality in words.

    Args:
        statement: see `Finding`, with `claimed` and `tolerance`.
        measured: what the table shows.
        agrees: whether the statement holds in the run.
        claimed: see `Finding`.
        tolerance: see `Finding`.
        too_small: whether the run is too small to tell, if it does not agree.
    """
    return Finding(
        statement=statement,
        claimed=claimed,
        measured=float(measured),
        tolerance=tolerance,
        agrees=bool(agrees),
        too_small=bool(too_small and not agrees),
    )


def near(
    statement: str,
    measured: float,
    *,
    claimed: float,
    tolerance: float,
    uncertainty: float = 0.0,
    too_small: bool = False,
) -> Finding:
    """Compare a number with the claimed one.

    Args:
        statement: see `Finding`, with `claimed` and `tolerance`.
        measured: what the table shows.
        claimed: see `Finding`.
        tolerance: see `Finding`.
        uncertainty: how far the number of a larger run may be from `measured`: a disagreement of at
            most tolerance and uncertainty is none.
        too_small: whether the run is too small for another reason.
    """
    error = abs(measured - claimed)
    return finding(
        statement,
        measured,
        agrees=error <= tolerance,
        claimed=claimed,
        tolerance=tolerance,
        too_small=too_small or error <= tolerance + uncertainty,
    )


def fitted_exponent(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the slope of the least-squares line through (ln x, ln y).

    Args:
        x: positive, shape (p,), at least two different values.
        y: positive, shape (p,).
    """
    return float(np.polyfit(np.log(np.asarray(x)), np.log(np.asarray(y)), 1)[0])


def exponent(
    statement: str,
    points: Sequence[npt.ArrayLike],
    claimed: float,
    tolerance: float,
    *,
    too_small: bool = False,
) -> Finding:
    """Compare the fitted exponent of y as a power of x, of points (x, y), with the claimed one.

    Args:
        statement: see `Finding`, with `claimed` and `tolerance`.
        points: x and y, positive, shape (p,) each.
        claimed: see `Finding`.
        tolerance: see `Finding`.
        too_small: whether the run is too small for a reason that the points do not show.
    """
    return near(
        statement,
        fitted_exponent(*points),
        claimed=claimed,
        tolerance=tolerance,
        uncertainty=exponent_uncertainty(*points),
        too_small=too_small,
    )


def exponent_uncertainty(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return how far the exponent of larger sizes may be from the fitted one.

    The larger of two numbers: half of the 95 % interval of the slope, from the scatter of the
    points around the line (Student's t with p - 2 degrees of freedom); and the drift, the
    difference of the slopes of the upper and of the lower half of the points, which share one if p
    is odd. Of two points it is infinite.

    Args:
        x: positive, shape (p,), at least two different values.
        y: positive, shape (p,).
    """
    log_x, log_y = (np.log(np.asarray(values, dtype=np.float64)) for values in (x, y))
    freedom = len(log_x) - 2
    if freedom < 1:
        return math.inf
    fit = scipy.stats.linregress(log_x, log_y)
    half_width = float(scipy.stats.t.ppf(0.975, freedom) * fit.stderr)
    order = np.argsort(log_x)
    lower, upper = order[: (len(order) + 1) // 2], order[len(order) // 2 :]
    slopes = [
        fitted_exponent(np.exp(log_x[half]), np.exp(log_y[half]))
        for half in (lower, upper)
        if np.ptp(log_x[half]) > 0
    ]
    drift = abs(slopes[-1] - slopes[0]) if len(slopes) > 1 else 0.0
    return max(half_width, drift)


def mean_uncertainty(values: npt.ArrayLike) -> float:
    """Return half of the 95 % interval of a mean, from the scatter of the values (Student's t).

    Args:
        values: independent, shape (k,), k >= 2.
    """
    numbers = np.asarray(values, dtype=np.float64)
    width = scipy.stats.t.ppf(0.975, len(numbers) - 1)
    return float(width * numbers.std(ddof=1) / math.sqrt(len(numbers)))


def at_full_size(measured: float, *, size: float, full: float, growth: float) -> float:
    """Return what a number grows to at the size of a full run, by the exponent that is claimed.

    A run whose number does not satisfy a statement about large sizes, but which satisfies it when
    it is extrapolated so, is too small to tell.

    Args:
        measured: at `size`.
        size: of the run, for example its number of vertices.
        full: the size of the full run; then the number is as measured.
        growth: exponent of the size that is claimed for the number.
    """
    return float(measured * (full / size) ** growth)


def at_most(statement: str, measured: float, limit: float = 1.0) -> Finding:
    """Return a finding on a number that the claim bounds from above, as an inequality in words."""
    return finding(statement, measured, agrees=measured <= limit)


def below(
    statement: str, measured: float, limit: float = 1.0, *, at_full: float | None = None
) -> Finding:
    """Compare a number with one that the claim puts strictly above it.

    Args:
        statement: see `Finding`.
        measured: what the table shows.
        limit: what the number has to be below.
        at_full: see `at_full_size`; None if the run has the size that is claimed.
    """
    too_small = at_full is not None and at_full < limit
    return finding(statement, measured, agrees=measured < limit, too_small=too_small)


def above(
    statement: str, measured: float, limit: float = 1.0, *, at_full: float | None = None
) -> Finding:
    """Compare a number with one that the claim puts strictly below it; see `below`."""
    too_small = at_full is not None and at_full > limit
    return finding(statement, measured, agrees=measured > limit, too_small=too_small)
