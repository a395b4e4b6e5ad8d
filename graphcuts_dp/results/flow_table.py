"""The noisy table between public groups: its estimates and intervals, as matrices and as columns.

Read first: `FlowTable.fit` and `FlowTable.estimates`, then `FlowTable._radii` (half widths) and
`FlowTable._bounds` (intervals from them).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.confidence import (
    DEFAULT_CONFIDENCE,
    DEFAULT_PERCENT,
    INTERVAL_COLUMNS,
    SIMULTANEOUS_COLUMNS,
)
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.consistency import (
    ErrorSpread,
    LeastSquares,
    RoundedFlows,
    Values,
    rounded_cells,
)
from graphcuts_dp.estimate.counted_rows import CountedRows
from graphcuts_dp.estimate.estimator import (
    AnswerOptions,
    Estimates,
    QueryEstimate,
    check_confidence,
)
from graphcuts_dp.estimate.margin_fit import MarginFit, least_squares
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement, place_variances
from graphcuts_dp.estimate.strategy import FlowStrategy
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.frames import made_frame
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.group_tree import GroupTree
from graphcuts_dp.schema.vertices import Label

Table = dict[str, npt.NDArray[Any]]  # columns of cells by name

# Columns of numbers that need not be whole.
NUMBERS = ("estimate", *INTERVAL_COLUMNS, *SIMULTANEOUS_COLUMNS)
ALL_NUMBERS = ("all_low", "all_high")  # intervals of all rows, where a bound leaves out some
_SUMS_SHARE = 0.02  # of the failure probability, for sums of cells: see `_radius_at_once`
_LEAST_LOG_FAILURE = -600.0  # a float can hold e to this power
ROUNDING = 1e-12  # relative to a value: more than floats lose in the two passes of the fit
_LOST = 2.0**-46  # relative to the largest sum: a small cell may be the difference of large ones
MOSTLY = 0.5  # share of numbers below their errors above which a table is mostly noise


class CellSum(NamedTuple):
    """A linear combination of the cells of a level, or of the grand total.

    Attributes:
        level_index: 0 for the grand total, else 1 plus the index of the level.
        coefficients: one for each cell, shape (cells,).
        union: whether they are 1 or 0, so that the sum is a weight, and not below 0.
        log_choices: of a union ln(1/w), where w is its share of the failure probability among all
            unions that could have been asked for; the shares of all unions add up to at most 1.
            None for a combination whose simultaneous interval adds up those of its cells.
    """

    level_index: int
    coefficients: FloatVector
    union: bool = False
    log_choices: float | None = None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FlowTable:
    """Measured sums and their estimates with intervals; see `Flows`, the only subclass."""

    noisy: CountMeasurement[CellSums]
    strategy: FlowStrategy
    guarantee: PrivacyGuarantee
    counted_rows: CountedRows | None = None

    @property
    def counted_sentence(self) -> str:
        """The sentence on which rows count and what is left out; empty where all count."""
        return "" if self.counted_rows is None else self.counted_rows.sentence

    @property
    def cells(self) -> CellTree:
        """The public cells."""
        return self.noisy.map.tree

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels, from the coarsest to the finest."""
        return self.cells.levels

    @property
    def groups(self) -> GroupTree:
        """Names and sizes of the groups; with two sides, those of the left one."""
        return self.cells.rows

    @property
    def right_groups(self) -> GroupTree:
        """Names and sizes of the groups of the right side; with one side, `groups`."""
        return self.cells.columns

    @property
    def periods(self) -> GroupTree | None:
        """Names of the periods and of their levels; None for one table without periods."""
        return self.cells.periods

    def labels(self, level: str | None) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
        """Return the labels of the groups of a level: of the rows and of the columns.

        Args:
            level: of the groups; the finest if None.
        """
        left, right = self.cells.names(self.cells.level_index(level))
        return self.groups.labels(left), self.right_groups.labels(right)

    @cached_property
    def variances(self) -> FloatVector:
        """Variances of a sum of each level, and last of a margin, in squared grid units.

        Infinite if not measured.
        """
        return place_variances(self.noisy.noise, self.noisy.map.noise_indices, self.cells.depth + 1)

    @cached_property
    def fit(self) -> LeastSquares | MarginFit:
        """The least squares by which the levels, and margins if measured, are made consistent."""
        return self.fit_on(self.cells)

    def fit_on(self, cells: CellTree) -> LeastSquares | MarginFit:
        """Return the least squares of a table with other periods that was measured like this one.

        Args:
            cells: of the other table.
        """
        margin_variance = float(self.variances[-1]) if self.noisy.map.margins else None
        return least_squares(cells, self.variances[:-1], margin_variance)

    @cached_property
    def estimates(self) -> Values:
        """Estimates in units of weight: of the grand total, then of the cells of each level."""
        sums = {
            index: values.astype(np.float64)
            for index, values in zip(self.noisy.map.noise_indices, self.noisy.steps, strict=True)
        }
        return [values * self.noisy.unit for values in self.fit.estimates(sums)]

    def values(self, level: str | None = None, period: str | None = None) -> FloatMatrix:
        """Return unbiased estimates of a level as a matrix, 0 where no pair is possible.

        Args:
            level: None for the finest.
            period: one of the level; None for the sums over all of them.

        Returns:
            Shape (groups, groups), symmetric for one vertex set without directions.

        Raises:
            QueryError: no such level or period.
        """
        level_index = self.cells.level_index(level)
        return self.cells.matrix(
            level_index, self.cells.summed(level_index, self.estimates[level_index], period)
        )

    def deviations(self, level: str | None = None, period: str | None = None) -> FloatMatrix:
        """Return standard deviations of the errors of `values`; upper bounds if noise is Gaussian.

        Args:
            level: of the groups; the finest if None.
            period: one of the level; None for the sums over all of them.

        Raises:
            QueryError: no such level or period.
        """
        level_index = self._level_index_of(level, period)
        variances = self.cells.summed(level_index, self.fit.variances[level_index], period)
        return self.cells.matrix(level_index, np.sqrt(variances) * self.noisy.unit)

    def intervals(
        self,
        level: str | None = None,
        period: str | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Return lower and upper bounds of the intervals of `values`, cut to what is possible.

        Args:
            level: None for the finest.
            period: one of the level; None for the sums over all of them.
            confidence: of each interval, in (0, 1).
            simultaneous: whether the intervals hold for all cells of all levels (and periods) at
                once; without a period, for all sums over the periods at once. Choose it for cells
                that are picked after looking at the table.

        Raises:
            QueryError: no such level or period, or a confidence out of range.
        """
        level_index = self._level_index_of(level, period)
        part = partial(self.cells.summed, level_index, period=period)
        radii = self._radii_of(level_index, period, confidence, simultaneous)
        low, high = self._bounds(level_index, radii, part)
        return self.cells.matrix(level_index, low), self.cells.matrix(level_index, high)

    def half_widths(
        self,
        level: str | None = None,
        period: str | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> FloatMatrix:
        """Return the half widths of the intervals of `values`, each for this number alone.

        These are the numbers after "\N{PLUS-MINUS SIGN}" everywhere. Intervals are cut to what is
        possible; half widths are not.

        Args:
            level: None for the finest.
            period: one of the level; None for the sums over all of them.
            confidence: of each interval, in (0, 1).

        Raises:
            QueryError: no such level or period, or a confidence out of range.
        """
        level_index = self._level_index_of(level, period)
        part = partial(self.cells.summed, level_index, period=period)
        radii = self._radii_of(level_index, period, confidence, False)
        lost = part(self.lost_by_rounding(level_index))
        return self.cells.matrix(level_index, radii + lost)

    def half_widths_of(self, level_index: int) -> FloatVector:
        """Return the half width of each cell of a level alone, of the default confidence.

        Args:
            level_index: 0 for the grand total, else 1 plus the index of a level.
        """
        radii = self._radii(level_index, DEFAULT_CONFIDENCE, False)
        return np.asarray(radii + self.lost_by_rounding(level_index))

    @property
    def noisy_numbers(self) -> tuple[int, int]:
        """Return how many numbers of the finest level are at most their ±, and how many there are.

        Each is compared with its own half width, of the default confidence. Both were published.
        """
        finest = self.cells.depth - 1
        widths = self.half_widths_of(finest)
        return int((np.abs(self.estimates[finest]) <= widths).sum()), len(widths)

    @property
    def noise_verdict(self) -> str:
        """Return a sentence if most numbers of the finest level are noise; else ""."""
        return noise_verdict(*self.noisy_numbers)

    def _radii_of(
        self, level_index: int, period: str | None, confidence: float, simultaneous: bool
    ) -> FloatVector:
        """Return the half widths of the cells of one period, or of the sums over all of them."""
        if period is None:
            return self._radii(level_index, confidence, simultaneous, together=True)
        radii = self._radii(level_index, confidence, simultaneous)
        return np.asarray(self.cells.summed(level_index, radii, period))

    def _level_index_of(self, level: str | None, period: str | None) -> int:
        """Return the index of a level; without a period at most that of the finest groups.

        That level has the coarsest periods. Cells add up over the levels, so the sums over all
        finer periods are those over the coarsest ones.

        Raises:
            QueryError: no such level, or several periods.
        """
        level_index = self.cells.level_index(level)
        if period is None:
            return min(level_index, len(self.groups.levels))
        if not isinstance(period, str):
            raise QueryError("name one period, or none for all together; `between` takes several")
        return level_index

    def to_frame(
        self,
        level: str | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
        kind: Any = None,
    ) -> Any:
        """Return the cells as a table, one row a cell.

        Columns are level, period if there are any, from, to, count, estimate, low, high and
        outside. `count` is the rounded cell, see `rounded`, and `estimate` the unbiased one: add up
        estimates, not counts. `low` and `high` are the interval of this cell alone, and `outside`
        says whether the rounded cell lies outside of it.

        Where a bound leaves out rows (see `counted_rows`), these are of counted rows; all_low is a
        lower bound for all rows, and with a known maximum all_high an upper one.

        Args:
            level: None for all levels, from the coarsest to the finest.
            confidence: of each interval, in (0, 1).
            simultaneous: whether to add the columns simultaneous_low and simultaneous_high:
                intervals that hold for all cells of all levels and periods at once, for cells that
                are picked after looking at the table.
            kind: see `Graph.to_frame`.

        Raises:
            QueryError: no such level, or a confidence out of range.
            ParameterError: see `Graph.to_frame`.
        """
        columns = self.columns(level, confidence=confidence, simultaneous=simultaneous)
        return made_frame(columns, kind)

    def columns(
        self,
        level: str | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
    ) -> Table:
        """Return the columns of `to_frame` as arrays, by name.

        Args:
            level: of the groups; all levels if None.
            confidence: of each interval, in (0, 1).
            simultaneous: whether to add the columns of simultaneous intervals.

        Raises:
            QueryError: no such level, or a confidence out of range.
        """
        level_indices = (
            range(1, self.cells.depth) if level is None else [self.cells.level_index(level)]
        )
        tables = [self.rows_of(index, confidence, simultaneous) for index in level_indices]
        return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}

    def rows_of(self, level_index: int, confidence: float, simultaneous: bool) -> Table:
        """Return the cells of a level as the columns of a table, see `to_frame`.

        Args:
            level_index: 1 plus the index of a level.
            confidence: of each interval, in (0, 1).
            simultaneous: whether to add the columns of simultaneous intervals.
        """
        a, b = self.cells.cells(level_index)
        left, right = (
            np.array(side, dtype=object) for side in self.labels(self.levels[level_index - 1])
        )
        low, high = self._bounds(level_index, self._radii(level_index, confidence, False))
        table: Table = {"level": np.full(len(a), self.levels[level_index - 1], dtype=object)}
        period_level = self.cells.period_level(level_index)
        if self.periods is not None and period_level is not None:
            labels = np.array(self.periods.labels(period_level), dtype=object)
            table["period"] = labels[self.cells.periods_of(level_index)]
        count = self.rounded().column(level_index)
        table |= {"from": left[a], "to": right[b], "count": count}
        table |= {"estimate": self.estimates[level_index], "low": low, "high": high}
        if simultaneous:
            at_once = self._bounds(level_index, self._radii(level_index, confidence, True))
            table |= dict(zip(SIMULTANEOUS_COLUMNS, at_once, strict=True))
        all_rows = self._all_rows_of(level_index, confidence)
        return table | all_rows | {"outside": (count < low) | (count > high)}

    def rounded(self) -> RoundedFlows:
        """Return possible whole numbers, at least 0, that add up too; biased for small cells.

        From the coarsest level down, each cell is divided among the cells within it: first into
        those numbers from 0 to what is possible that are nearest to the estimates in least squares,
        then these are rounded to whole grid units by largest remainders. Each of the coarsest
        periods begins with its own total. Post-processing of the estimates, which stay as they are.
        """
        return self._rounded

    @cached_property
    def _rounded(self) -> RoundedFlows:
        return rounded_cells(self.noisy, self.fit, self.estimates)

    def sentences(self, *, simultaneous: bool = False) -> tuple[str, ...]:
        """Return sentences on the numbers: the first line of a file of the table, notes elsewhere.

        Args:
            simultaneous: whether the table has simultaneous intervals.
        """
        rounding = (
            "Counts are rounded so that they add up over the levels; their sums over other cells "
            "are biased: add up the unbiased estimates."
        )
        interval = (
            f"From low to high is the {DEFAULT_PERCENT} interval of the cell alone; outside says "
            "that the count lies outside of it."
        )
        at_once = (
            "From simultaneous_low to simultaneous_high is an interval that holds for all cells at "
            "once: use it for cells that you pick after looking at the table."
        )
        counted: tuple[str, ...] = ()
        if self.counted_rows is not None:
            sentence = self.counted_rows.sentence
            counted = (f"{sentence[0].upper()}{sentence[1:]}.",)
        return (*counted, rounding, interval, *((at_once,) if simultaneous else ()))

    def _all_rows_of(self, level_index: int, confidence: float) -> Table:
        """Return the columns of intervals of all rows; none if no bound leaves out rows.

        See `estimate.counted_rows`.
        """
        counted_rows = self.counted_rows
        if counted_rows is None:
            return {}
        failures = counted_rows.failures(checked_failure(confidence))
        radii = self._radii(level_index, 1 - failures.counted, False)
        low, high = self._bounds(level_index, radii)
        if not counted_rows.has_upper_end:
            return {ALL_NUMBERS[0]: low}
        high = high + counted_rows.at_most(failures.left_out)
        high = np.minimum(high, self._most(self.cells.pairs(level_index)))
        return dict(zip(ALL_NUMBERS, (low, high), strict=True))

    def all_rows(
        self, query: CellSum, options: AnswerOptions
    ) -> tuple[float | None, float | None] | None:
        """Return an interval of a combination of cells in the table of all rows.

        Rows that are left out add at least 0 to every cell, and to all cells together no more than
        their upper bound, which the interval therefore needs only once.

        Args:
            query: the combination.
            options: confidence, and whether intervals hold at once.

        Returns:
            The interval, with None in place of a bound that does not exist; None if no bound
            leaves out rows.
        """
        counted_rows = self.counted_rows
        if counted_rows is None:
            return None
        failures = counted_rows.failures(checked_failure(options.confidence))
        (answer,) = self.estimate(
            [query], replace(options, confidence=1 - failures.counted)
        ).queries
        low, high = answer.interval
        smallest = min(float(query.coefficients.min(initial=0)), 0.0)
        largest = max(float(query.coefficients.max(initial=0)), 0.0)
        if not counted_rows.has_upper_end:
            return (None if smallest < 0 else low), (None if largest > 0 else high)
        left_out = counted_rows.at_most(failures.left_out)
        return low + smallest * left_out, min(high + largest * left_out, answer.most)

    def estimate(self, queries: Sequence[CellSum], options: AnswerOptions) -> Estimates:
        """Estimate linear combinations of cells; see `Estimator.estimate`.

        Typical errors are standard deviations: exact for Laplace noise, at most that for Gaussian
        noise. Intervals are cut to what is possible, in whole numbers where those are counted.
        """
        together = len(queries) if options.joint and queries else 1
        confidence = 1 - (1 - options.confidence) / together if together > 1 else options.confidence
        answers = [
            self._estimate(query, confidence, simultaneous=options.simultaneous)
            for query in queries
        ]
        return Estimates(answers, together, options.simultaneous)

    def _estimate(self, query: CellSum, confidence: float, *, simultaneous: bool) -> QueryEstimate:
        """Estimate one combination of cells."""
        level_index, coefficients, union, _ = query
        failure, noisy = checked_failure(confidence), self.noisy
        spread = self.fit.spread_of(self.fit.coefficients({level_index: coefficients}))
        measured = list(noisy.map.noise_indices)
        variance = float(spread.squares[0, measured] @ self.variances[measured])
        value = float(coefficients @ self.estimates[level_index])
        if simultaneous:
            radius = self._radius_at_once(query, spread, failure)
        else:
            steps = error_radii(noisy.noise, noisy.map.noise_indices, spread, failure=failure)
            radius = float(steps[0]) * noisy.unit
        lost = coefficients * self.lost_by_rounding(level_index)
        radius += ROUNDING * float(np.abs(coefficients) @ np.abs(self.estimates[level_index]))
        radius += self.lost_by_floats * float(np.abs(coefficients).sum())
        low = np.array([value - radius + np.minimum(lost, 0).sum()])
        high = np.array([value + radius + np.maximum(lost, 0).sum()])
        least, most = -np.inf, np.inf
        if union:
            pairs = self.cells.pairs(level_index)[coefficients > 0].sum(keepdims=True)
            low, high = self._possible(low, high, pairs)
            least, most = 0.0, float(self._most(pairs)[0])
        return QueryEstimate(
            value,
            (float(low[0]), float(high[0])),
            most,
            least,
            typical=math.sqrt(variance) * noisy.unit,
        )

    def _radius_at_once(self, query: CellSum, spread: ErrorSpread, failure: float) -> float:
        """Return the half width of a combination, in units of weight, that holds with all others.

        The failure probability is divided among two events. With .98 of it, the intervals of all
        cells hold at once, and so do their sums with any coefficients. With .02 of it, each union
        has an interval from its own noise, which fails with the share of it that `log_choices`
        states. If neither fails, the shorter of both intervals holds. A single cell has the first
        interval, with all of the failure probability, as in `intervals`.
        """
        noisy, sizes = self.noisy, np.abs(query.coefficients)
        log_choices = query.log_choices
        if log_choices is None or np.count_nonzero(sizes) <= 1:
            return float(sizes @ self._radii(query.level_index, 1 - failure, True))
        cells_failure = (1 - _SUMS_SHARE) * failure
        radius = float(sizes @ self._radii(query.level_index, 1 - cells_failure, True))
        log_failure = math.log(_SUMS_SHARE * failure) - log_choices
        if log_failure < _LEAST_LOG_FAILURE:
            return radius
        own_failure = math.exp(log_failure)
        steps = error_radii(noisy.noise, noisy.map.noise_indices, spread, failure=own_failure)
        return min(radius, float(steps[0]) * noisy.unit)

    def _radii(
        self, level_index: int, confidence: float, simultaneous: bool, *, together: bool = False
    ) -> FloatVector:
        """Return half widths of the intervals of the cells of a level, in units of weight.

        Args:
            level_index: 0 for the grand total, else 1 plus the index of a level.
            confidence: of each interval, in (0, 1).
            simultaneous: whether the intervals of all cells of all levels hold at once; with
                `together`, those of the sums over the periods of all cells of all levels of groups.
            together: whether to return half widths of the sums over the coarsest periods. The noise
                of these periods is independent, so that spreads add up.
        """
        noisy, count = self.noisy, len(self.cells.lengths(level_index))
        failure = checked_failure(confidence)
        if simultaneous and together and count > 1:
            group_levels = range(1, len(self.groups.levels) + 1)
            failure /= sum(len(self.cells.period_cells(index)[0]) for index in group_levels)
        elif simultaneous:
            failure /= self.cells.total_size
        spread = self.fit.spreads(level_index)
        if together:
            least = spread.largest if spread.least_largest is None else spread.least_largest
            squares, largest, absolute, least = (
                norms.reshape(count, -1, norms.shape[1])
                for norms in (spread.squares, spread.largest, spread.absolute, least)
            )
            spread = ErrorSpread(
                squares.sum(axis=0), largest.max(axis=0), absolute.sum(axis=0), least.max(axis=0)
            )
        indices = noisy.map.noise_indices
        radii: FloatVector = error_radii(noisy.noise, indices, spread, failure=failure)
        return radii * float(noisy.unit)

    def lost_by_rounding(self, level_index: int) -> FloatVector:
        """Return the most by which rounding weights down has lowered the sums, shape (cells,).

        Args:
            level_index: 0 for the grand total, else 1 plus the index of a level.
        """
        if self.noisy.map.integral or self.noisy.map.rounding == "none":
            return np.zeros(self.cells.size(level_index))
        grid_units = self.cells.pairs(level_index)
        if self.noisy.map.max_degree is not None:  # each bounded sum is rounded down itself, too
            finest_cells = np.ones(self.cells.size(self.cells.depth - 1), dtype=np.int64)
            for finer_index in range(self.cells.depth - 1, level_index, -1):
                finest_cells = self.cells.sums(finer_index, finest_cells)
            grid_units = grid_units + finest_cells
        return np.asarray(grid_units.astype(np.float64) * self.noisy.unit)

    @cached_property
    def lost_by_floats(self) -> float:
        """Return the most by which rounding errors of large sums move the estimate of a cell."""
        return _LOST * max(float(np.abs(sums).max(initial=0)) for sums in self.noisy.values)

    def _bounds(
        self,
        level_index: int,
        radii: FloatVector,
        part: Callable[[Any], Any] = lambda values: values,
    ) -> tuple[FloatVector, FloatVector]:
        """Return lower and upper bounds of intervals, cut to what is possible.

        Args:
            level_index: of the cells.
            radii: half widths, one for each number that `part` returns.
            part: selects or adds up cells, such as `CellTree.summed` for one period.
        """
        values, pairs = self.estimates[level_index], self.cells.pairs(level_index)
        radii = radii + part(ROUNDING * np.abs(values) + self.lost_by_floats)
        low, high = part(values) - radii, part(values + self.lost_by_rounding(level_index)) + radii
        return self._possible(low, high, part(pairs))

    def _possible(
        self, low: FloatVector, high: FloatVector, pairs: IntVector
    ) -> tuple[FloatVector, FloatVector]:
        """Return the parts of intervals that are possible for sums over numbers of pairs."""
        most = self._most(pairs)
        if self.noisy.map.integral:
            low, high = np.ceil(low), np.floor(high)
            # If no whole number lies in an interval, take the nearest ones on both sides.
            low, high = np.minimum(low, high), np.maximum(low, high)
        return np.clip(low, 0.0, most), np.clip(high, 0.0, most)

    def _most(self, pairs: IntVector) -> FloatVector:
        """Return the largest possible sums over numbers of pairs; infinite without a maximum."""
        max_weight, is_whole = self.noisy.map.max_weight, self.noisy.map.integral
        if max_weight is None:
            return np.full(len(pairs), np.inf)
        heaviest = math.floor(max_weight) if is_whole else max_weight
        most: FloatVector = np.nextafter(pairs * float(heaviest), np.inf).astype(np.float64)
        return np.floor(most) if is_whole else most


def noise_verdict(noisy: int, numbers: int, what: str = "this table") -> str:
    """Return a sentence if most numbers of a table are smaller than their own errors; else "".

    It compares published numbers with published errors, so it costs nothing.

    Args:
        noisy: number of the numbers that are smaller than their half width.
        numbers: number of all of them.
        what: the table, in words.
    """
    if noisy <= MOSTLY * numbers:
        return ""
    return (
        f"{noisy:,} of {numbers:,} numbers are smaller than their ± ({DEFAULT_PERCENT}): most of "
        f"{what} is noise"
    )


def checked_failure(confidence: float) -> float:
    """Return one minus a confidence, checked.

    Raises:
        QueryError: the confidence is no number between 0 and 1.
    """
    check_confidence(confidence)
    return 1 - confidence
