"""What an experiment returns: a table, its parameters, and what was found about a claim."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np
import numpy.typing as npt

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
    """

    statement: str
    claimed: float | None
    measured: float
    tolerance: float | None
    agrees: bool

    def __str__(self) -> str:
        claimed = "" if self.claimed is None else f", claimed {self.claimed:.3g}"
        verdict = "agrees" if self.agrees else "does not agree"
        return f"{self.statement}: measured {self.measured:.3g}{claimed}: {verdict}"


@final
@dataclass(frozen=True, kw_only=True)
class Table:
    """The numbers of a figure. Not private: computed from graphs that are made or public.

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
        """A table with what is found in it."""
        table = cls(columns=columns, rows=rows, parameters=parameters, findings=())
        return replace(table, findings=findings(table))

    def where(self, **fixed: Any) -> list[dict[str, Any]]:
        """The rows in which these columns have these values, as dictionaries by column."""
        named = (dict(zip(self.columns, row, strict=True)) for row in self.rows)
        return [row for row in named if all(row[key] == fixed[key] for key in fixed)]

    def line(self, *columns: str, **fixed: Any) -> tuple[list[Any], ...]:
        """These columns of the rows in which others have these values."""
        rows = self.where(**fixed)
        return tuple([row[column] for row in rows] for column in columns)

    def series(
        self, by: str, column: str, **fixed: Any
    ) -> tuple[list[Any], npt.NDArray[np.float64]]:
        """A column by repetition, in the rows in which others have these values.

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
        found = [[row[column] for row in rows if row[by] == place] for place in x]
        most = max(map(len, found), default=0)
        return x, np.array([each + each[:1] * (most - len(each)) for each in found])

    def middle(self, by: str, column: str, **fixed: Any) -> tuple[list[Any], list[float]]:
        """The same with medians over repetitions: (x, y)."""
        places: dict[Any, list[float]] = {}
        for x, y in zip(*self.line(by, column, **fixed), strict=True):
            places.setdefault(x, []).append(y)
        return sorted(places), [float(np.median(places[x])) for x in sorted(places)]


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
) -> Finding:
    """A finding; without a claimed number the claim is an inequality in words."""
    return Finding(
        statement=statement,
        claimed=claimed,
        measured=float(measured),
        tolerance=tolerance,
        agrees=bool(agrees),
    )


def near(statement: str, measured: float, *, claimed: float, tolerance: float) -> Finding:
    """A number beside the claimed one."""
    agrees = abs(measured - claimed) <= tolerance
    return finding(statement, measured, agrees=agrees, claimed=claimed, tolerance=tolerance)


def fitted_exponent(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Slope of the least-squares line through (ln x, ln y).

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
) -> Finding:
    """The fitted exponent of y as a power of x, of points (x, y), beside the claimed one."""
    return near(statement, fitted_exponent(*points), claimed=claimed, tolerance=tolerance)


def at_most(statement: str, measured: float, limit: float = 1.0) -> Finding:
    """A number that the claim bounds from above: an inequality in words."""
    return finding(statement, measured, agrees=measured <= limit)


def below(statement: str, measured: float, limit: float = 1.0) -> Finding:
    """A number that the claim puts strictly below another."""
    return finding(statement, measured, agrees=measured < limit)


def above(statement: str, measured: float, limit: float = 1.0) -> Finding:
    """A number that the claim puts strictly above another."""
    return finding(statement, measured, agrees=measured > limit)
