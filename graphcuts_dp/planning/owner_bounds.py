"""Which bound on owners to take: noise that grows with it, against what it leaves out."""

import math
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.measurements.noisy_contributions import Contributions
from graphcuts_dp.privacy.guarantee import exact_epsilon


@final
@dataclass(frozen=True, kw_only=True)
class BoundRow:
    """The error to expect from one bound on owners.

    Attributes:
        at_most: the bound k.
        noise: standard deviation of a sum with discrete Laplace noise of rate epsilon/k.
        owners_above: how many owners have more, from the table.
        left_out: what is left out of all that there is: pairs, rows or units, from and to; the
            second is infinite where owners are beyond the last bound of the table.
        error: root of the squares of the noise and of what is left out of one of the cells.
    """

    at_most: int
    noise: float
    owners_above: int
    left_out: tuple[float, float]
    error: float


@final
@dataclass(frozen=True, kw_only=True)
class BoundPlan:
    """The error to expect from each bound on owners, in ascending order of the bounds.

    Attributes:
        rows: one for each bound of the table.
        best: the row with the least error.
        what: what the bounds count.
    """

    rows: tuple[BoundRow, ...]
    best: BoundRow
    what: str

    def __str__(self) -> str:
        lines = [
            f"{'at most':>9} {'noise':>9} {'owners above':>13} {'left out (' + self.what + ')'}"
        ]
        for row in self.rows:
            low, high = row.left_out
            mark = "  <" if row is self.best else ""
            lines.append(
                f"{row.at_most:>9,} {row.noise:>9,.1f} {max(0, row.owners_above):>13,} "
                f"{low:,.0f} .. {high:,.0f}{mark}"
            )
        return "\n".join(lines)


def plan_bounds(contributions: Contributions, *, epsilon: float, cells: int = 1) -> BoundPlan:
    """Compare bounds on owners: the noise that each needs, and what it leaves out.

    Args:
        contributions: a noisy table that was bought (`release_contributions`), or a public one
            (`Contributions.public`).
        epsilon: of the release that the bound is for, for one owner, in [1e-6, 50].
        cells: over how many sums of a table the rows that are left out spread evenly, >= 1. A table
            has its noise in each cell; a single sum, all that is left out.

    Raises:
        ParameterError: a number out of range.

    It reads the table alone, so it costs nothing. The error adds squares of the noise and of what
    is left out of a cell, for which the middle of its range stands, or its lower end where there
    is no upper one.
    """
    exact = float(exact_epsilon(epsilon))
    if isinstance(cells, bool) or not isinstance(cells, int) or cells < 1:
        raise ParameterError("cells must be a whole number from 1 on")
    rows = []
    for at_most in contributions.bounds:
        noise = math.sqrt(0.5) / math.sinh(exact / at_most / 2)
        low, high = contributions.left_out(at_most)
        likely = (low + high) / 2 if math.isfinite(high) else low
        rows.append(
            BoundRow(
                at_most=at_most,
                noise=noise,
                owners_above=contributions.owners_above(at_most)[0],
                left_out=(low, high),
                error=math.hypot(noise, likely / cells),
            )
        )
    best = min(rows, key=lambda row: row.error)
    return BoundPlan(rows=tuple(rows), best=best, what=contributions.what)
