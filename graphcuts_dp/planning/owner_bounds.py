"""Which bound on owners to take: noise that grows with it, against what it leaves out."""

import math
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_contributions import CONFIDENCE, Contributions
from graphcuts_dp.privacy.guarantee import exact_epsilon


@final
@dataclass(frozen=True, kw_only=True)
class BoundRow:
    """The error to expect from one bound on owners.

    Attributes:
        at_most: the bound k.
        noise: standard deviation of a sum with discrete Laplace noise of rate epsilon/k.
        owners_above: how many owners have more, from the table.
        left_out: what is left out of all that there is: pairs, rows or units, from and to, see
            `Contributions.left_out`; the second is infinite where nobody can say it.
        left_out_by_seen: of the owners that noise cannot hide, at most, see
            `Contributions.left_out_by_seen`.
        error: root of the squares of the noise and of what is left out of one of the cells at
            most: of all owners where that is known, else of those that noise cannot hide.
    """

    at_most: int
    noise: float
    owners_above: int
    left_out: tuple[float, float]
    left_out_by_seen: float
    error: float


@final
@dataclass(frozen=True, kw_only=True)
class BoundPlan:
    """The error to expect from each bound on owners, in ascending order of the bounds.

    Attributes:
        rows: one for each bound of the table.
        best: the row with the least error.
        what: what the bounds count.
        confidence: probability with which all that is said of left-out rows holds; 1 where the
            table is public.
        hidden: how many owners noise can hide in each class.
    """

    rows: tuple[BoundRow, ...]
    best: BoundRow
    what: str
    confidence: float
    hidden: int

    @property
    def warning(self) -> str:
        """What no table can tell; empty where it says all."""
        if all(math.isfinite(row.left_out[1]) for row in self.rows):
            return ""
        return (
            f"noise can hide up to {self.hidden:,} owners of each size, and one owner may have any "
            f"number of {self.what}: nobody can privately say how many a bound leaves out at most. "
            "The bound suits the owners that show. If no owner can have more than a known number, "
            "say so (most=, --most)"
        )

    def __str__(self) -> str:
        title = f"left out ({self.what}), by owners that show, in all"
        lines = [f"{'at most':>9} {'noise':>9} {'owners above':>13} {title}"]
        for row in self.rows:
            low, high = row.left_out
            mark = "  <" if row is self.best else ""
            most = f"{high:,.0f}" if math.isfinite(high) else "unknown"
            lines.append(
                f"{row.at_most:>9,} {row.noise:>9,.1f} {max(0, row.owners_above):>13,} "
                f"{low:,.0f} .. {row.left_out_by_seen:,.0f} .. {most}{mark}"
            )
        lines.append(f"(what is left out: with confidence {self.confidence:.0%})")
        return "\n".join([*lines, *([self.warning] if self.warning else [])])


def plan_bounds(
    contributions: Contributions, *, epsilon: float, cells: int = 1, most: int | None = None
) -> BoundPlan:
    """Compare bounds on owners: the noise that each needs, and what it leaves out.

    Args:
        contributions: a noisy table that was bought (`release_contributions`), or a public one
            (`Contributions.public`).
        epsilon: of the release that the bound is for, for one owner, in [1e-6, 50].
        cells: over how many sums of a table the rows that are left out spread evenly, >= 1. A table
            has its noise in each cell; a single sum, all that is left out.
        most: what no owner has more of, if that is publicly known, >= 1: then the upper end of what
            is left out is known, and the bound is recommended by it.

    Raises:
        ParameterError: a number out of range.

    It reads the table alone, so it costs nothing. The error adds squares of the noise and of what
    is left out of a cell, for which the upper end stands. Where there is none, it is that of owners
    that noise cannot hide. Owners that it can hide are not weighed then: a bound that kept all
    their rows would need noise of as many rows as one of them has, which is no smaller an error.
    """
    exact = float(exact_epsilon(epsilon))
    if isinstance(cells, bool) or not isinstance(cells, int) or cells < 1:
        raise ParameterError("cells must be a whole number from 1 on")
    rows = []
    for at_most in contributions.bounds:
        noise = math.sqrt(0.5) / math.sinh(exact / at_most / 2)
        left_out = contributions.left_out(at_most, most=most)
        seen = contributions.left_out_by_seen(at_most, most=most)
        weighed = left_out[1] if math.isfinite(left_out[1]) else seen
        rows.append(
            BoundRow(
                at_most=at_most,
                noise=noise,
                owners_above=contributions.owners_above(at_most)[0],
                left_out=left_out,
                left_out_by_seen=seen,
                error=math.hypot(noise, weighed / cells),
            )
        )
    return BoundPlan(
        rows=tuple(rows),
        best=min(rows, key=lambda row: row.error),
        what=contributions.what,
        confidence=1.0 if contributions.rate is None else CONFIDENCE,
        hidden=contributions.radius,
    )
