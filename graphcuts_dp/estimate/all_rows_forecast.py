"""Widths of intervals of all rows, before anything is spent: a bound beside the known maximum.

A table with a bound k on users and a known maximum M has intervals of all rows that are as wide as
those of counted rows, the noise of the sum of what is left out, and what is left out. A table with
the bound M leaves nothing out, and its cells have the noise of M rows. `comparison_of_widths` says
which is narrower. What is left out is private, so it says from how many rows on.
"""

from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.confidence import DEFAULT_FAILURE, DEFAULT_PERCENT
from graphcuts_dp.estimate.counted_rows import left_out_failures, left_out_radius
from graphcuts_dp.estimate.margin_fit import fit_of
from graphcuts_dp.estimate.strategy import FlowStrategy
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.schema.cells import CellTree


@final
class AllRowsWidths(NamedTuple):
    """Widths of intervals of all rows, if no row is left out, in units of what is counted.

    Attributes:
        total: of the grand total.
        cell: of the widest cell of the finest level.
    """

    total: float
    cell: float


def all_rows_widths(
    cells: CellTree, strategy: FlowStrategy, *, unit: float, left_out: LevelNoise | None
) -> AllRowsWidths:
    """Return the widths to expect, of intervals of the default confidence.

    Args:
        cells: the public cells.
        strategy: of the levels.
        unit: of a grid unit.
        left_out: noise of the sum of what is left out, in grid units; None if nothing is.
    """
    failures = left_out_failures(DEFAULT_FAILURE, measured=left_out is not None)
    fit = fit_of(cells, strategy)
    finest = cells.depth - 1
    widest = np.zeros(cells.size(finest))
    widest[np.argmax(fit.variances[finest])] = 1.0
    widths = []
    for level_index, coefficients in ((0, np.ones(1)), (finest, widest)):
        spread = fit.spread_of(fit.coefficients({level_index: coefficients}))
        radii = error_radii(
            strategy.all_noise, strategy.noise_indices, spread, failure=failures.counted
        )
        width = 2 * float(radii[0])
        if left_out is not None:
            width += left_out_radius(left_out, failures.left_out)
        widths.append(width * unit)
    return AllRowsWidths(*widths)


def comparison_of_widths(
    at_bound: AllRowsWidths, at_known_max: AllRowsWidths, *, bound: int, known_max: int, what: str
) -> str:
    """Return which bound gives narrower intervals of all rows, for totals and for cells.

    Args:
        at_bound: widths with the bound, to which what is left out is added.
        at_known_max: widths with the known maximum as the bound.
        bound: on users.
        known_max: what no user has more of.
        what: is counted, in the plural.
    """
    parts = []
    for name, width, other in zip(("the total", "a cell"), at_bound, at_known_max, strict=True):
        shown = f"{width:,.0f} and what is left out, beside {other:,.0f}"
        verdict = f"{known_max:,} is narrower, whatever is left out"
        if other > width:
            verdict = (
                f"{bound:,} is narrower if fewer than {other - width:,.0f} {what} are left out, "
                f"else {known_max:,}"
            )
        parts.append(f"of {name}, {verdict} ({shown})")
    return (
        f"Widths of {DEFAULT_PERCENT} intervals of all {what} with max_contributions={bound} beside"
        f" max_contributions={known_max}, the known maximum: {'; '.join(parts)}."
    )
