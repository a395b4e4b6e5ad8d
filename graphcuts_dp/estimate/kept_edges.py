"""Kept edges: the pairs whose noisy weight reached a public threshold, as a measurement.

Noise is added to the weight of every pair, in whole *grid units* (integers that stand for `unit`
weight each). Only pairs whose noisy weight is at least a public *threshold* are released. Most of
them are edges; some are *false edges*, which are pairs without weight and with large noise.

`KeptEdges` holds the released pairs. `threshold_for` chooses the threshold from noisy data.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IndexArray, IntVector
from graphcuts_dp.estimate.base import PairMeasurement
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.exceeding import tail_chance
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Space

FALSE_SHARE = 0.1  # expected false edges per edge at the default threshold
# Thresholds are multiples of the noise's scale over this. Noise that reaches a threshold is drawn
# by a sampler that skips the gaps between such pairs. It is made for one threshold and kept for
# later use, so that few different thresholds are better.
_THRESHOLDS_PER_SCALE = 8


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class KeptEdges(PairMeasurement):
    """All pairs whose noisy weight reached a threshold, in the order of pairs.

    Kept pairs with weight and kept pairs without look alike. The noisy weights are biased upwards,
    since small ones are missing.

    Privacy: The output has the law of the whole noisy matrix filtered by a public threshold. So it
        is a post-processing of noisy entries, and costs what these cost.

    Attributes:
        rows: row of each kept pair (the smaller vertex of an undirected graph), shape (k,).
        columns: its column, shape (k,).
        steps: released integers, in grid units, each at least the threshold; the noisy weight is
            steps * unit.
        threshold: public, in grid units, >= 1.
        distribution: of the noise of each pair.
        space: the vertex sets, which say what pairs there are.
    """

    rows: IndexArray
    columns: IndexArray
    steps: IntVector
    threshold: int
    distribution: LaplaceNoise
    space: Space

    name = "kept edges"

    @property
    def pair_noise(self) -> LaplaceNoise:
        """The noise of one pair."""
        return self.distribution

    @cached_property
    def layout(self) -> Layout:
        """The order of the pairs."""
        return Layout.of(self.space)

    @cached_property
    def weights(self) -> FloatVector:
        """Noisy weights, shape (k,)."""
        weights: FloatVector = self.steps * np.float64(self.unit)
        return weights

    @property
    def false_chance(self) -> float:
        """Probability that a pair without weight is kept."""
        return tail_chance(self.distribution.rate, self.threshold)

    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return plain values for receipts, and the arrays of pairs and integers."""
        rate = self.distribution.rate
        fields = {
            "threshold": self.threshold,
            "unit": self.unit,
            "log2_step": self.distribution.log2_step,  # unit = 2^log2_step
            "max_weight": self.distribution.max_weight,
            "epsilon": [self.epsilon.numerator, self.epsilon.denominator],
            "rate": [rate.numerator, rate.denominator],
            "false_chance": self.false_chance,
            "note": "noisy weight = (released integer) * unit; pairs below the threshold are "
            "not released, pairs without weight are kept with the false chance",
        }
        return fields, {"rows": self.rows, "columns": self.columns, "steps": self.steps}

    @classmethod
    def from_parts(
        cls, fields: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], space: Space
    ) -> Self:
        """Return the measurement that `parts` described.

        Raises:
            KeyError, TypeError, ValueError, ArithmeticError: if fields or arrays are not such.
        """
        max_weight = fields["max_weight"]
        distribution = LaplaceNoise(
            Fraction(*fields["epsilon"]),
            None if max_weight is None else float(max_weight),
            int(fields["log2_step"]),
        )
        if distribution.rate != Fraction(*fields["rate"]):
            raise ValueError("the noise is of another scale")
        kept_edges = cls(
            rows=np.array(arrays["rows"], dtype=np.int32),
            columns=np.array(arrays["columns"], dtype=np.int32),
            steps=np.array(arrays["steps"], dtype=np.int64),
            threshold=int(fields["threshold"]),
            distribution=distribution,
            space=space,
        )
        kept_edges.check()
        return kept_edges

    def check(self) -> None:
        """Check that pairs are in order, within the space, and reach the threshold.

        Raises:
            ValueError: if one of these does not hold.
        """
        if not self.rows.shape == self.columns.shape == self.steps.shape or self.rows.ndim != 1:
            raise ValueError("there is one value for each pair")
        if not len(self.rows):
            return
        row_count, column_count = self.layout.shape
        for vertices, size in ((self.rows, row_count), (self.columns, column_count)):
            if vertices.min() < 0 or vertices.max() >= size:
                raise ValueError("a pair lies outside the vertex set")
        if self.layout.symmetric and (self.rows >= self.columns).any():
            raise ValueError("a pair is the wrong way round")
        if self.layout.directed and (self.rows == self.columns).any():
            raise ValueError("a vertex is paired with itself")
        # Number of each pair in the order of all pairs.
        pair_indices = self.layout.places(self.rows.astype(np.int64), self.columns.astype(np.int64))
        if (np.diff(pair_indices) <= 0).any() or self.steps.min() < self.threshold:
            raise ValueError("pairs are out of order, or below the threshold")

    def __repr__(self) -> str:
        return f"KeptEdges(threshold={self.threshold * self.unit:g}, law={self.distribution.law})"


def threshold_for(
    distribution: LaplaceNoise, *, pairs: int, edges: float, false_share: float = FALSE_SHARE
) -> int:
    """Return about the least threshold with at most a given expected share of false edges.

    Of N pairs without weight, N e^(-rate T)/(1 + e^-rate) are expected to reach a threshold T. That
    is at most the share of the m edges if

        T >= ln(N/(share m (1 + e^-rate)))/rate.

    The result is the least multiple of an eighth of the noise's scale (of the whole number below
    it, in grid units, but at least 1) that satisfies this, and is at least one multiple.

    Args:
        distribution: of the noise of a pair.
        pairs: N, the number of pairs.
        edges: m, an estimate of the number of edges from noisy data; less than one counts as one.
        false_share: expected false edges per edge, > 0.

    Returns:
        In grid units, >= 1.
    """
    rate = float(distribution.rate)
    false_edges = false_share * max(edges, 1.0)
    multiple = max(1, math.floor(1 / (_THRESHOLDS_PER_SCALE * rate)))
    least = (math.log(pairs / false_edges) - math.log1p(math.exp(-rate))) / rate
    return max(1, math.ceil(least / multiple)) * multiple
