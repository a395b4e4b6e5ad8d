"""The noisy table between public groups that statistics and pictures are made of."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.consistency import LeastSquares, Values
from graphcuts_dp.estimate.measurement import NoisyCells
from graphcuts_dp.estimate.strategy import FlowStrategy
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.pairs.cells import CellTree
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.results import flow_storage
from graphcuts_dp.tables.frames import made_frame

ROUNDING = 1e-12  # relative to a value: more than floats lose in the two passes


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FlowTable:
    """What was measured, its estimates with their intervals; see `Flows`, which is the only one."""

    noisy: NoisyCells
    strategy: FlowStrategy
    guarantee: PrivacyGuarantee

    @property
    def cells(self) -> CellTree:
        """The public cells."""
        return self.noisy.cells

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels, from the coarsest to the finest."""
        return self.cells.levels

    @property
    def groups(self) -> GroupTree:
        """Names and sizes of the groups; of two sides those of the left one."""
        return self.cells.rows

    @property
    def right_groups(self) -> GroupTree:
        """Names and sizes of the groups of the right side; else `groups`."""
        return self.cells.columns

    @cached_property
    def fit(self) -> LeastSquares:
        """The least squares by which the levels are made consistent."""
        return LeastSquares(self.cells, self.noisy.variances)

    @cached_property
    def estimates(self) -> Values:
        """Estimates of all cells, in units of weight: for place 0 (everything) and each level."""
        sums = {
            place: values.astype(np.float64)
            for place, values in zip(self.noisy.places, self.noisy.sums, strict=True)
        }
        return [values * self.noisy.unit for values in self.fit.estimates(sums)]

    def values(self, level: str | None = None) -> FloatMatrix:
        """Unbiased estimates of a level as a matrix, 0 where no pair of vertices is possible.

        Args:
            level: None for the finest.

        Returns:
            Shape (groups, groups), symmetric for one vertex set without directions.

        Raises:
            QueryError: no such level.
        """
        place = self.cells.place(level)
        return self.cells.matrix(place, self.estimates[place])

    def deviations(self, level: str | None = None) -> FloatMatrix:
        """Standard deviations of the errors of `values`, likewise; at most, for Gaussian noise.

        Raises:
            QueryError: no such level.
        """
        place = self.cells.place(level)
        return self.cells.matrix(place, np.sqrt(self.fit.variances[place]) * self.noisy.unit)

    def intervals(
        self,
        level: str | None = None,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Lower and upper ends of the intervals of `values`, cut to what is possible.

        Args:
            level: None for the finest.
            confidence: of each interval, in (0, 1).
            simultaneous: ask for intervals that hold for all cells of all levels at once. Choose
                it for cells that are picked after looking at the table.

        Raises:
            QueryError: no such level, or a confidence out of range.
        """
        place = self.cells.place(level)
        low, high = self._bounds(place, confidence, simultaneous)
        return self.cells.matrix(place, low), self.cells.matrix(place, high)

    def to_frame(
        self,
        level: str | None = None,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        kind: Any = None,
    ) -> Any:
        """The cells as a table with columns level, from, to, value, low, high.

        Args:
            level: None for all levels, from the coarsest to the finest.
            confidence: of each interval, in (0, 1).
            simultaneous: see `intervals`.
            kind: see `Graph.to_frame`.

        Raises:
            QueryError: no such level, or a confidence out of range.
            ParameterError: see `Graph.to_frame`.
        """
        columns = self.columns(level, confidence=confidence, simultaneous=simultaneous)
        return made_frame(columns, kind)

    def columns(
        self, level: str | None = None, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> flow_storage.Table:
        """The columns of `to_frame` as arrays, by name."""
        places = range(1, self.cells.depth) if level is None else [self.cells.place(level)]
        return flow_storage.joined([self._rows(p, confidence, simultaneous) for p in places])

    def _rows(self, place: int, confidence: float, simultaneous: bool) -> flow_storage.Table:
        """The cells of a place: columns of the table."""
        low, high = self._bounds(place, confidence, simultaneous)
        return flow_storage.rows_of(self.cells, place, (self.estimates[place], low, high))

    def _radii(self, place: int, confidence: float, simultaneous: bool) -> FloatVector:
        """Half widths of the intervals of the cells of a place, in units of weight."""
        failure = checked_failure(confidence) / (self.cells.total_size if simultaneous else 1)
        spread = self.fit.spreads(place)
        noisy = self.noisy
        radii: FloatVector = error_radii(noisy.noise, noisy.places, spread, failure=failure)
        return radii * float(noisy.unit)

    def _lost(self, place: int) -> FloatVector:
        """By how much rounding weights down can have lowered the sums."""
        if self.noisy.whole:
            return np.zeros(self.cells.size(place))
        steps = self.cells.pairs(place)
        if self.noisy.degree_bound is not None:  # each bounded sum is rounded down itself, too
            parts = np.ones(self.cells.size(self.cells.depth - 1), dtype=np.int64)
            for at in range(self.cells.depth - 1, place, -1):
                parts = self.cells.sums(at, parts)
            steps = steps + parts
        lost: FloatVector = steps.astype(np.float64) * self.noisy.unit
        return lost

    def _bounds(
        self, place: int, confidence: float, simultaneous: bool
    ) -> tuple[FloatVector, FloatVector]:
        values, radii = self.estimates[place], self._radii(place, confidence, simultaneous)
        slack = ROUNDING * np.abs(values)
        low, high = values - radii - slack, values + radii + self._lost(place) + slack
        return self._possible(low, high, self.cells.pairs(place))

    def _possible(
        self, low: FloatVector, high: FloatVector, pairs: IntVector
    ) -> tuple[FloatVector, FloatVector]:
        """The parts of intervals where sums over so many pairs can lie."""
        cap = self.noisy.weight_cap
        most: FloatVector = np.full(len(pairs), np.inf)
        if cap is not None:
            heaviest = math.floor(cap) if self.noisy.whole else cap
            most = np.nextafter(pairs * float(heaviest), np.inf).astype(np.float64)
        if self.noisy.whole:
            low, high, most = np.ceil(low), np.floor(high), np.floor(most)
            # No whole number lies between: take those beside.
            low, high = np.minimum(low, high), np.maximum(low, high)
        return np.clip(low, 0.0, most), np.clip(high, 0.0, most)


def checked_failure(confidence: float) -> float:
    """One minus a confidence.

    Raises:
        QueryError: it is no number between 0 and 1.
    """
    if isinstance(confidence, bool) or not isinstance(confidence, float | int):
        raise QueryError("confidence must be a number between 0 and 1, for example 0.95")
    if not 0 < confidence < 1:
        raise QueryError("confidence must lie between 0 and 1, for example 0.95")
    return 1 - confidence
