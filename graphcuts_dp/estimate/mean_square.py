"""The mean-square certificate: bounds on the error of cuts of a fit in random halves.

A fit x and the private graph a differ by d = a - x on each pair of vertices. A *random half* is a
set S of vertices, each of which is in S with probability 1/2, independently. The error of the cut
between S and the others is the sum of d over the pairs that are cut. With the *squared distance* F,
the sum of d^2 over all pairs, and the *total error* D, the sum of d over all pairs, its mean is
D/2, its variance F/4, and its mean square (F + D^2)/4. (Proof: two pairs that share one vertex, or
none, are cut independently of each other; docs/mathematics.md.) So two numbers suffice: D, which is
bounded by measurements of the total weight, and F, which follows from one linear query of the
private graph once x is fixed (`measure.mean_square`). *Scatter* is the standard deviation,
sqrt(F)/2.

Pairs are those of vertices {i, j}. Of a directed graph both arcs of a pair count together, that is
a_ij + a_ji and x_ij + x_ji; the cut is then the weight of all arcs between S and the others. Of a
graph with two sides, S has vertices of both.

Weights are counted on a public grid: `GRID_STEPS` grid units are the largest weight. This module
reads public and noisy numbers alone. Read `random_halves` first.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.confidence import percent
from graphcuts_dp.estimate.measurement import CountMeasurement, MeasurementMap, registered
from graphcuts_dp.schema.layout import Layout

# Grid units of the largest weight. A graph without weights has the largest weight 1, and its fits
# have four decimals, so that these are whole numbers of grid units.
GRID_STEPS = 10**4
# Squared grid units by which one pair can change the squared distance; see `measure.mean_square`.
SENSITIVITY = GRID_STEPS**2
DIRECTED_SENSITIVITY = 3 * GRID_STEPS**2
FOR_TOTAL_ERROR = 0.2  # share of the failure probability for the bound on the total error
_CHUNK_ENTRIES = 1 << 20  # entries of the rows that are read at once
_OUTWARD = 1 + 1e-9  # factor on bounds: more than the floats below lose, relative

Units = npt.NDArray[np.uint16]
_Arrays = dict[str, npt.NDArray[Any]]


@final
@registered
@dataclass(frozen=True)
class SquaredDistance(MeasurementMap):
    """The squared distance of the private graph from a fit, less what is public.

    The integer is the sum over pairs of a^2 - 2 x a, in squared grid units.

    Attributes:
        fit_digest: SHA-256 of the fit, see `FittedWeights.digest`, in hexadecimal.
    """

    kind = "squared distance"
    note = (
        "sum over pairs of (private weight)^2 - 2 (fitted weight)(private weight) = (released "
        "integer) * unit"
    )

    fit_digest: str

    def sizes(self, lengths: Any) -> list[int]:
        """Return one part of one integer."""
        del lengths
        return [1]

    def stored(self) -> tuple[dict[str, Any], _Arrays]:
        """Return the digest of the fit."""
        return {"fit_digest": self.fit_digest}, {}

    @classmethod
    def restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, IntVector]) -> Self:
        """Return the map that `stored` described."""
        del arrays
        return cls(str(fields["fit_digest"]))


@final
@dataclass(frozen=True, eq=False)
class FittedWeights:
    """The public weights of a fit on the grid of the squared distance.

    Attributes:
        units: weights in grid units, shape `layout.shape`; a symmetric matrix has both halves.
        layout: which pairs there are.
        max_weight: public largest weight; 1 for a graph without weights.
        rounding: upper bound on the root of the sum over pairs of the squared differences between
            the weights and the grid, in units of weight.
        total: sum of the weights over all pairs.
    """

    units: Units
    layout: Layout
    max_weight: float
    rounding: float
    total: float

    @classmethod
    def of_units(cls, units: Units, layout: Layout) -> Self:
        """Return the weights of the fit of a graph without weights, which lie on the grid.

        Args:
            units: weights in units of 1/`GRID_STEPS`, shape `layout.shape`.
            layout: which pairs there are.
        """
        twice = 2 if layout.symmetric else 1
        total = int(units.sum(dtype=np.int64)) // twice / GRID_STEPS
        return cls(units, layout, 1.0, 0.0, total)

    @classmethod
    def of_edges(
        cls,
        rows: npt.NDArray[np.signedinteger[Any]],
        columns: npt.NDArray[np.signedinteger[Any]],
        weights: FloatVector,
        layout: Layout,
        max_weight: float,
    ) -> Self:
        """Return the weights of a fit whose graph has weights.

        Args:
            rows: row of each edge, shape (m,).
            columns: column of each edge, shape (m,).
            weights: fitted weight of each edge, in [0, max_weight], shape (m,).
            layout: which pairs there are.
            max_weight: public largest weight.
        """
        unit = max_weight / GRID_STEPS
        edge_units = on_grid(weights, max_weight)
        units = np.zeros(layout.shape, dtype=np.uint16)
        units[rows, columns] = edge_units
        if layout.symmetric:
            units[columns, rows] = edge_units
        squared_rounding = float(np.square(weights - edge_units * unit).sum())
        # The differences u, v of the two arcs of a directed pair: (u + v)^2 <= 2 u^2 + 2 v^2.
        rounding = math.sqrt(squared_rounding * (2 if layout.directed else 1)) * _OUTWARD
        return cls(units, layout, max_weight, rounding, math.fsum(weights))

    @property
    def unit(self) -> float:
        """Return the weight of a grid unit."""
        return self.max_weight / GRID_STEPS

    @property
    def sensitivity(self) -> int:
        """Return how much one pair, or one arc, can change the query, in squared grid units."""
        return DIRECTED_SENSITIVITY if self.layout.directed else SENSITIVITY

    @property
    def pairs(self) -> int:
        """Return the number of pairs of vertices."""
        rows, columns = self.layout.shape
        return rows * (columns - 1) // 2 if self.layout.hollow else rows * columns

    @cached_property
    def squares(self) -> int:
        """Return the exact sum over pairs of the squared weights, in squared grid units."""
        return sum(int(np.square(part).sum()) for part in self._pair_parts())

    @cached_property
    def most(self) -> int:
        """Return the exact largest squared distance of any graph, in squared grid units.

        The weight of a pair is at most c = `GRID_STEPS`, or 2 c for the two arcs of a directed
        pair, so that its difference from x is at most max(x, c - x), or max(x, 2 c - x).
        """
        largest = GRID_STEPS * (2 if self.layout.directed else 1)
        return sum(
            int(np.square(np.maximum(part, largest - part)).sum()) for part in self._pair_parts()
        )

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of layout, largest weight and weights, in hexadecimal."""
        hasher = hashlib.sha256(repr((self.layout, self.max_weight)).encode())
        for part in self._row_parts():
            hasher.update(np.ascontiguousarray(part, dtype="<u2").data)
        return hasher.hexdigest()

    def _row_parts(self) -> Iterator[Units]:
        """Iterate over the matrix, a few rows at a time."""
        height = max(1, _CHUNK_ENTRIES // self.units.shape[1])
        return (self.units[top : top + height] for top in range(0, len(self.units), height))

    def _pair_parts(self) -> Iterator[IntVector]:
        """Iterate over the weights of pairs of vertices in grid units, each pair once."""
        top = 0
        for part in self._row_parts():
            weights = part.astype(np.int64)
            if self.layout.directed:
                weights += self.units[:, top : top + len(part)].T
            if self.layout.hollow:
                above = np.arange(weights.shape[1]) > np.arange(top, top + len(part))[:, None]
                yield weights[above]
            else:
                yield weights.ravel()
            top += len(part)


def on_grid(weights: FloatVector, max_weight: float) -> IntVector:
    """Return weights in grid units, each rounded to the nearest, in 0..`GRID_STEPS`, shape (m,).

    Args:
        weights: at least 0, shape (m,).
        max_weight: public largest weight.
    """
    rounded: FloatVector = np.rint(weights / (max_weight / GRID_STEPS))
    return np.clip(rounded, 0, GRID_STEPS).astype(np.int64)


@final
@dataclass(frozen=True, kw_only=True)
class RandomHalves:
    """Proven bounds on the error of cuts of the fit between a random half and the others.

    The cut between a random half S and the others has an error of mean D/2 and of standard
    deviation sqrt(F)/2; see the module. Print it for a sentence.

    Attributes:
        total_error: upper bound on |D|, the error of the total weight of the fit.
        scatter: estimate of sqrt(F)/2.
        scatter_at_most: upper bound on sqrt(F)/2.
        confidence: probability over the noise that both bounds hold together.
        vertices: number of vertices; None if the graph has two vertex sets.
        informative: whether the bound on F is below the largest F of any graph. If it is not,
            epsilon is too small for this graph.
    """

    total_error: float
    scatter: float
    scatter_at_most: float
    confidence: float
    vertices: int | None
    informative: bool

    @property
    def root_mean_square(self) -> float:
        """Return an upper bound on the root mean square error, sqrt((F + D^2)/4)."""
        return math.hypot(self.scatter_at_most, self.total_error / 2) * _OUTWARD

    @property
    def equal_halves(self) -> float | None:
        """Return the same bound for halves of exactly n/2 vertices, all equally likely.

        It is None if n is odd or below four, or if there are two vertex sets. The mean square is
        n ((n-2)(F + D^2) - G)/(4 (n-1)(n-3)), where G is the sum over vertices of the squared error
        of their degrees; G >= 4 D^2/n, since the errors of the degrees add up to 2 D.
        """
        n = self.vertices
        if n is None or n % 2 or n < 4:
            return None
        squared_distance = 4 * self.scatter_at_most**2
        squared_total = self.total_error**2
        # The factor of D^2, n - 2 - 4/n, is positive, so the largest D is the worst.
        weighted = (n - 2) * squared_distance + (n - 2 - 4 / n) * squared_total
        mean_square = n * weighted / (4 * (n - 1) * (n - 3))
        return math.sqrt(mean_square) * _OUTWARD

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for receipts."""
        return {
            "of": "cuts of the fit between a random half of the vertices and the others",
            "total_error_at_most": self.total_error,
            "scatter": self.scatter,
            "scatter_at_most": self.scatter_at_most,
            "root_mean_square_at_most": self.root_mean_square,
            "confidence": self.confidence,
        }

    def __str__(self) -> str:
        if not self.informative:
            return (
                "what was measured of random halves is worthless: epsilon is too small for so few "
                f"vertices, and no graph could scatter by more than {self.scatter_at_most:,.3g}"
            )
        return (
            f"the total weight of the fit is wrong by at most {self.total_error:,.3g}; its cuts "
            "between random halves are wrong by half of that, and beyond it by about "
            f"{self.scatter:,.3g}, at most {self.scatter_at_most:,.3g} (root mean square; proven, "
            f"{percent(self.confidence)})"
        )


def random_halves(
    measured: CountMeasurement[SquaredDistance],
    fitted: FittedWeights,
    *,
    total: tuple[float, float],
    rounded: bool,
    confidence: float,
) -> RandomHalves:
    """Return bounds on the error of random halves.

    The squared distance is F = sum of x^2 + sum of (a^2 - 2 x a), of which the first is public, and
    the second is measured with noise k of the law P(k) proportional to e^(-rate |k|). With t such
    that P(k < -t) = e^(-rate (t+1))/(1 + e^(-rate)) is at most the failure probability of F, the
    measured F plus t is an upper bound. F is also at most `FittedWeights.most`. By the triangle
    inequality, rounding to the grid changes sqrt(F) by at most the root of the sum of its squares.

    Args:
        measured: the noisy query, in squared grid units.
        fitted: the fit that the query was asked for.
        total: interval of the total weight of the private graph, whose failure probability is
            `FOR_TOTAL_ERROR` (1 - confidence).
        rounded: whether weights of the private graph may lie between two points of the grid.
        confidence: probability that all bounds hold together, in (0, 1).
    """
    failure = (1 - confidence) * (1 - FOR_TOTAL_ERROR)
    rate = float(measured.rate)
    margin = _tail_radius(rate, failure)
    released = fitted.squares + int(measured.steps[0][0])
    upper = min(max(0, released + margin), fitted.most)
    rounding = fitted.rounding
    if rounded:  # each weight moves by half a grid unit at most, both arcs of a pair by one
        pair_rounding = fitted.unit * (1.0 if fitted.layout.directed else 0.5)
        rounding += pair_rounding * math.sqrt(fitted.pairs)
    low, high = total
    error = max(abs(high - fitted.total), abs(low - fitted.total))
    return RandomHalves(
        total_error=error * _OUTWARD + abs(fitted.total) * (_OUTWARD - 1),
        scatter=math.sqrt(max(released, 0)) * fitted.unit / 2,
        scatter_at_most=(math.sqrt(upper) * fitted.unit + rounding) / 2 * _OUTWARD,
        confidence=confidence,
        vertices=fitted.layout.shape[0] if fitted.layout.hollow else None,
        informative=upper < fitted.most,
    )


def _tail_radius(rate: float, failure: float) -> int:
    """Return t >= 0 with P(k < -t) at most `failure`; P(k) is proportional to e^(-rate |k|)."""
    radius = (-math.log(failure) - math.log1p(math.exp(-rate))) / rate
    return max(0, math.ceil(radius * _OUTWARD))
