"""Least squares over all numbers that were published of a table over time, for any window.

Of each cell the published numbers are C x plus noise (`time_strategy`), with the same C for all
cells and noise that is independent between cells. So the estimates of the sums x of the periods so
far are (C'WC)^-1 C'W y, for the published numbers y, their rows of C, and W, one over the variances
of their noise on the diagonal. A window, such as a year or the running total, is a sum of periods,
and its estimate the sum of theirs: that is the linear unbiased estimate of least variance, from
all that is known when it is asked for. A window that was estimated early becomes more accurate when
more periods are published.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.estimator import ROUNDING
from graphcuts_dp.estimate.measurement import CountMeasurement, MeasurementMap, registered
from graphcuts_dp.estimate.time_strategy import TimeStrategy
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import COUNTED, Counting
from graphcuts_dp.schema.group_tree import GroupTree


@final
@registered
@dataclass(frozen=True, eq=False, kw_only=True)
class SumsOverTime(MeasurementMap):
    """Map the true sums to the published numbers of a `TimeStrategy`, for each cell.

    The parts are its levels. A part has the numbers one after the other, and of each the finest
    cells in the order of their tree.

    Attributes:
        cells: the public cells, without periods.
        strategy: what is published with each period.
        published: how many periods are published.
        counting: what cells count, see `Rows`.
    """

    kind = "sums over time"
    note = (
        "sum over periods, by the whole coefficients of the strategy, = (released integer) * unit; "
        "cells in the order of rows, without those without pairs"
    )

    cells: CellTree
    strategy: TimeStrategy
    published: int
    counting: Counting

    @property
    def size(self) -> int:
        """Number of finest cells."""
        return self.cells.size(self.cells.depth - 1)

    def sizes(self, lengths: Any) -> list[int]:
        """Return for each level the number of published numbers times that of cells."""
        del lengths
        return [level.count(self.published) * self.size for level in self.strategy.levels]

    def stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return groups, strategy and what is published; no arrays."""
        cells = self.cells
        return {
            "rows": cells.rows.to_dict(),
            "columns": None if cells.one_set else cells.columns.to_dict(),
            "directed": cells.directed,
            "loops": cells.loops,
            "strategy": self.strategy.name,
            "horizon": list(self.strategy.periods),
            "published": self.published,
            "counting": self.counting,
        }, {}

    @classmethod
    def restored(cls, fields: Any, arrays: Any) -> "SumsOverTime":
        """Return the map that `stored` described.

        Raises:
            GraphCutsError, LookupError, TypeError, ValueError: if fields are not such.
        """
        del arrays
        rows, columns = (
            None if fields[side] is None else GroupTree.from_dict(fields[side])
            for side in ("rows", "columns")
        )
        strategy = TimeStrategy(name=fields["strategy"], periods=tuple(fields["horizon"]))
        published, counting = int(fields["published"]), fields["counting"]
        if rows is None or counting not in COUNTED or not 0 < published <= len(strategy.periods):
            raise ValueError("no such groups, or no such periods")
        cells = CellTree(
            rows, columns, directed=bool(fields["directed"]), loops=bool(fields["loops"])
        )
        return cls(cells=cells, strategy=strategy, published=published, counting=counting)


@final
@dataclass(frozen=True, eq=False)
class TimeEstimator:
    """Estimates of windows from the numbers that are published of a strategy. Public.

    Attributes:
        strategy: what is published with each period.
        noise: of each level.
        published: how many periods are published, > 0.
    """

    strategy: TimeStrategy
    noise: LevelNoise
    published: int

    @classmethod
    def of(cls, noisy: CountMeasurement[SumsOverTime]) -> "TimeEstimator":
        """Return the estimator of a measurement."""
        return cls(noisy.map.strategy, noisy.noise, noisy.map.published)

    @cached_property
    def _coefficients(self) -> FloatMatrix:
        """Return the coefficients of the published numbers in each period's estimate.

        Shape (numbers, periods).
        """
        rows = np.concatenate(
            [
                level.rows[: level.count(self.published), : self.published].astype(np.float64)
                for level in self.strategy.levels
            ]
        )
        weighted = rows / self._variances[:, None]
        solution = np.linalg.solve(weighted.T @ rows, weighted.T)  # (periods, numbers)
        return np.ascontiguousarray(solution.T)

    @cached_property
    def _level_of_number(self) -> IntVector:
        """Index of the level of each published number, in the order of `_coefficients`."""
        counts = [level.count(self.published) for level in self.strategy.levels]
        return np.repeat(np.arange(len(counts)), counts)

    @cached_property
    def _variances(self) -> FloatVector:
        """Bound on the variance of the noise of each published number, in squared grid units."""
        return self.noise.variances[self._level_of_number]

    def coefficients(self, first: int, stop: int) -> FloatVector:
        """Return those of the published numbers in the estimate of a window, shape (numbers,).

        Args:
            first: index of the first period of the window.
            stop: index after its last period, at most `published`.
        """
        return np.asarray(self._coefficients[:, first:stop].sum(axis=1))

    def deviation(self, first: int, stop: int) -> float:
        """Return the standard deviation of the error of a window of one cell, in grid units.

        Of Gaussian noise an upper bound. Arguments as for `coefficients`.
        """
        return float(np.sqrt(self.coefficients(first, stop) ** 2 @ self._variances))

    def radius(self, first: int, stop: int, cells: int, *, failure: float) -> float:
        """Return t with P(|error of a window of so many cells together| > t) <= failure, proven.

        In grid units, and without the rounding of floats; see `slack`.

        Args:
            first: as for `coefficients`.
            stop: as for `coefficients`.
            cells: number of cells that are added up, >= 1.
            failure: in (0, 1).
        """
        h = np.abs(self.coefficients(first, stop))
        levels = [h[self._level_of_number == index] for index in range(len(self.strategy.levels))]
        squares = np.array([[cells * float(level @ level) for level in levels]])
        largest = np.array([[float(level.max(initial=0.0)) for level in levels]])
        absolute = np.array([[cells * float(level.sum()) for level in levels]])
        parameters = np.array([float(parameter) for parameter in self.noise.parameters])
        (radius,) = self.noise.kind.combination_radii(
            parameters, squares, largest, absolute, failure
        )
        return float(radius)

    def estimates(self, numbers: FloatMatrix, first: int, stop: int) -> FloatVector:
        """Return the estimate of a window of each cell, in grid units, shape (cells,).

        Args:
            numbers: published numbers of all levels, one after the other, shape (numbers, cells).
            first: as for `coefficients`.
            stop: as for `coefficients`.
        """
        return np.asarray(self.coefficients(first, stop) @ numbers)

    def slack(self, numbers: FloatMatrix, first: int, stop: int) -> FloatVector:
        """Return a bound on the rounding of floats in each of the `estimates`, shape (cells,)."""
        # The solution of the normal equations is as exact as their condition, a few thousands.
        conditioned = ROUNDING * len(numbers)
        return np.asarray(conditioned * (np.abs(self.coefficients(first, stop)) @ np.abs(numbers)))


def stacked_numbers(noisy: CountMeasurement[SumsOverTime]) -> FloatMatrix:
    """Return the published numbers of all levels, in grid units, shape (numbers, cells)."""
    size = noisy.map.size
    return np.concatenate([part.astype(np.float64).reshape(-1, size) for part in noisy.steps])
