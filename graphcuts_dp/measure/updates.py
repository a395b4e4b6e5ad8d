"""Measure the noisy numbers that a table of flows over time publishes with one period.

`estimate.time_strategy` determines what is published when. The numbers that are published with a
period may be sums over earlier periods, too, such as a year or a running sum. The rows of earlier
periods may have been deleted or changed since. So the true sums of a period are stored in the
secret part of the state of a store, as long as later numbers need them. No noise is stored.
"""

import io
from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np

from graphcuts_dp.array_archive import most_unpacked, read_arrays, write_arrays
from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.errors import FileFormatError, LedgerError
from graphcuts_dp.estimate.time_strategy import IntMatrix, TimeStrategy
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.lifelong import (
    UsedContributions,
    has_lifelong_bound,
    lifelong_cells,
)
from graphcuts_dp.graph.rows import PairCounts, Rows
from graphcuts_dp.measure.cells import sums_of_cells
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import STEPS
from graphcuts_dp.schema.groups import Sides

_ALWAYS_ALLOWED = 1 << 22  # unpacked bytes of an archive of any size
_SUMS, _USED = "sums ", "used/"  # prefixes of the names of arrays in a packed state


@final
@dataclass(frozen=True, eq=False)
class UpdateState:
    """Private state that later periods of a table over time need; its repr shows nothing.

    Attributes:
        sums: true sums of the finest cells in grid units, by the index of their period, for the
            periods that later numbers need.
        used: steps that each user has used of a bound for all periods; None if no such bound holds.
    """

    sums: dict[int, IntVector] = field(default_factory=dict, repr=False)
    used: UsedContributions | None = field(default=None, repr=False)

    @classmethod
    def start(cls, privacy_unit: PrivacyUnit) -> Self:
        """Return the state before the first period."""
        lifelong = has_lifelong_bound(privacy_unit)
        return cls({}, UsedContributions.none() if lifelong else None)

    def check(self, strategy: TimeStrategy, privacy_unit: PrivacyUnit, *, period: int) -> None:
        """Refuse a state that lacks what a period needs, because its secret part was lost.

        Args:
            strategy: what is published when.
            privacy_unit: of the guarantee.
            period: index of the next period, after the first one.

        Raises:
            LedgerError: it lacks something, so that the series cannot continue.
        """
        needed = _periods_needed_from(strategy, period)[:period]
        has_sums = all(index in self.sums for index in np.flatnonzero(needed).tolist())
        if not has_sums or (has_lifelong_bound(privacy_unit) and self.used is None):
            raise LedgerError(
                "the store has lost the secret state of this series, which cannot go on: begin "
                "another series, which costs epsilon again"
            )

    def pack(self) -> bytes | None:
        """Return bytes for the secret part of a store's state; None if nothing is kept."""
        arrays: dict[str, Any] = {f"{_SUMS}{index}": sums for index, sums in self.sums.items()}
        if self.used is not None:
            arrays |= {f"{_USED}{name}": array for name, array in self.used.to_arrays().items()}
        if not arrays:
            return None
        buffer = io.BytesIO()
        write_arrays(buffer, arrays, always_allowed=_ALWAYS_ALLOWED)
        return buffer.getvalue()

    @classmethod
    def unpack(cls, secret: bytes | None) -> Self:
        """Read what `pack` returned.

        Raises:
            LedgerError: it is something else.
        """
        if secret is None:
            return cls()
        try:
            limit = most_unpacked(len(secret), _ALWAYS_ALLOWED)
            arrays = read_arrays(io.BytesIO(secret), limit=limit)
            used = {
                name.removeprefix(_USED): array
                for name, array in arrays.items()
                if name.startswith(_USED)
            }
            sums = {
                int(name.removeprefix(_SUMS)): array
                for name, array in arrays.items()
                if name.startswith(_SUMS)
            }
            return cls(sums, UsedContributions.from_arrays(used) if used else None)
        except (FileFormatError, ValueError, LookupError):
            raise LedgerError("the state of a table over time is damaged") from None


def true_sums(
    rows: Rows,
    sides: Sides,
    cells: CellTree,
    state: UpdateState,
    *,
    period: int,
    grid: Grid,
    whole: bool,
    privacy_unit: PrivacyUnit,
) -> UpdateState:
    """Return the state with the true sums of one more period. Private.

    Args:
        rows: private; those of other periods do not count.
        sides: public groups of both endpoints.
        cells: the public cells, without periods.
        state: the state after the previous periods.
        period: index of the period in the horizon, which is the declared periods of the rows.
        grid: the grid that rows are counted on.
        whole: whether a grid unit is a whole row or unit of weight, and no share of one.
        privacy_unit: of the guarantee.

    Raises:
        ParameterError: rows that cannot be bounded so.
        GraphError: bad rows, unless these are left out.
        LedgerError: the state has no counts of users, which a bound for all periods needs.

    Sensitivity: between neighbours, the sums of all cells and all periods together change by at
    most K = group size * `grid.sensitivity` in the sum of |change|. For users with a bound for all
    periods that is the theorem of `graph.lifelong`. In the other cases, neighbours differ in the
    rows of one period, or by `group_size` changes of which each lies in one period. The sums of a
    period are a function of its own rows, and change by at most the sensitivity of `Rows.cells`,
    since each row lies in one period, and each pair in a period in one cell.
    """
    used = state.used
    if has_lifelong_bound(privacy_unit):
        if used is None:  # see `UpdateState.check`
            raise LedgerError("this state has no counts of users: begin with UpdateState.start")
        period_cells, used = lifelong_cells(rows, privacy_unit, used, period=period, whole=whole)
    else:
        period_cells = rows.cells(privacy_unit, whole=whole).of_period(period)
    counts = PairCounts(period_cells, STEPS if whole else 1, rows.counting)
    sums = sums_of_cells(counts, sides, cells, grid)[-1]  # of the finest level
    return UpdateState({**state.sums, period: sums}, used)


def measure_period(
    state: UpdateState,
    strategy: TimeStrategy,
    noise: LevelNoise,
    *,
    period: int,
    source: EntropySource,
) -> tuple[tuple[IntMatrix, ...], UpdateState]:
    """Return the noisy numbers that are published with a period, and the state to keep.

    Args:
        state: with the true sums of this period, of `true_sums`. Private.
        strategy: what is published when.
        noise: of each level of the strategy.
        period: index of the period.
        source: where the noise comes from.

    Returns:
        For each level the numbers that are published now, shape (0 or 1, cells); and the state
        without the sums that no later number needs. The numbers may be shown once the state is
        stored.

    Guarantee: the numbers of all periods of the horizon together cost `noise.cost` with the changes
    of `strategy.changes(K)`, whatever comes later: the proof is in `estimate.time_strategy`, and K
    in `true_sums`. Numbers are whole: whole coefficients times whole sums, plus noise on whole
    numbers. 64 bits hold them, or they are taken modulo 2^64, which is post-processing.
    """
    published = []
    for level_index, level in enumerate(strategy.levels):
        # Coefficients of the periods in each number, shape (numbers, periods).
        coefficients = level.rows[level.published_with == period]
        numbers = np.zeros((len(coefficients), len(state.sums[period])), dtype=np.int64)
        for values, factors in zip(numbers, coefficients, strict=True):
            for read_period in np.flatnonzero(factors).tolist():
                values += factors[read_period] * state.sums[read_period]
            values += noise.draw(level_index, len(values), source)
        published.append(numbers)
    needed = _periods_needed_from(strategy, period + 1)
    sums = {index: array for index, array in state.sums.items() if needed[index]}
    is_last = period == len(strategy.periods) - 1
    return tuple(published), UpdateState(sums, None if is_last else state.used)


def _periods_needed_from(strategy: TimeStrategy, period: int) -> BoolVector:
    """Return which periods the numbers sum that are published with this period or later."""
    coefficients = [level.rows[level.published_with >= period] for level in strategy.levels]
    return np.asarray(np.concatenate(coefficients).any(axis=0))
