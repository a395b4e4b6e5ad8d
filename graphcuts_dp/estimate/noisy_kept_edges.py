"""The noisy weights that reached a public threshold, with the pairs that they belong to."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IndexArray, IntVector
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.pairs.vertices import Space
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.noise_laws import TwoSidedGeometric
from graphcuts_dp.privacy.sparse_noise import tail_chance

_GRAINS = 8  # of a threshold within the scale of the noise


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class KeptEdges:
    """All pairs whose noisy weight reached a threshold, in the order of pairs.

    What comes out has the law of the whole noisy matrix filtered by a public threshold: kept pairs
    with weight, and pairs without, look alike. Values are biased upwards, since small ones are
    missing.

    Attributes:
        rows: row of each kept pair (of an undirected graph the smaller end), shape (k,).
        columns: its column, shape (k,).
        steps: released integers, each at least the threshold; the noisy weight is steps * unit.
        threshold: public, in steps, >= 1.
        distribution: of the noise of each pair.
        space: which pairs there are.
    """

    rows: IndexArray
    columns: IndexArray
    steps: IntVector
    threshold: int
    distribution: LaplaceNoise
    space: Space

    name = "kept edges"

    @property
    def epsilon(self) -> Fraction:
        """What it cost, exactly: what the whole noisy matrix costs."""
        return self.distribution.epsilon

    @property
    def unit(self) -> float:
        """Weight of a step."""
        return self.distribution.unit

    @property
    def law(self) -> TwoSidedGeometric:
        """Of the noise on each pair before the filter, in weight."""
        return self.distribution.law

    @cached_property
    def layout(self) -> Layout:
        """How pairs are ordered."""
        return Layout.of(self.space)

    @property
    def pairs(self) -> int:
        """How many pairs there are, public."""
        return self.layout.pairs_before(self.layout.shape[0])

    @cached_property
    def weights(self) -> FloatVector:
        """Noisy weights in units of weight, shape (k,)."""
        weights: FloatVector = self.steps * np.float64(self.unit)
        return weights

    @property
    def false_chance(self) -> float:
        """Probability that a pair without weight is kept."""
        return tail_chance(self.distribution.rate, self.threshold)

    def to_dict(self) -> dict[str, Any]:
        """For receipts: plain values; the pairs are in a file of their own."""
        rate = self.distribution.rate
        return {
            "threshold": self.threshold,
            "unit": self.unit,
            "log2_step": self.distribution.log2_step,
            "weight_cap": self.distribution.weight_cap,
            "epsilon": [self.epsilon.numerator, self.epsilon.denominator],
            "rate": [rate.numerator, rate.denominator],
            "false_chance": self.false_chance,
            "note": "noisy weight = (released integer) * unit; pairs below the threshold are "
            "not released, pairs without weight are kept with the false chance",
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The pairs and their integers, for files."""
        return {"rows": self.rows, "columns": self.columns, "steps": self.steps}

    @classmethod
    def from_parts(
        cls, stored: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], space: Space
    ) -> Self:
        """Read what `to_dict` and `arrays` gave.

        Raises:
            KeyError, TypeError, ValueError, ArithmeticError: it is something else.
        """
        cap = stored["weight_cap"]
        distribution = LaplaceNoise(
            Fraction(*stored["epsilon"]),
            None if cap is None else float(cap),
            int(stored["log2_step"]),
        )
        if distribution.rate != Fraction(*stored["rate"]):
            raise ValueError("the noise is of another scale")
        rows, columns = (np.array(arrays[name], dtype=np.int32) for name in ("rows", "columns"))
        steps = np.array(arrays["steps"], dtype=np.int64)
        found = cls(
            rows=rows,
            columns=columns,
            steps=steps,
            threshold=int(stored["threshold"]),
            distribution=distribution,
            space=space,
        )
        found.check()
        return found

    def check(self) -> None:
        """Check that pairs are in order, within the space, and reach the threshold.

        Raises:
            ValueError: they are not.
        """
        if not self.rows.shape == self.columns.shape == self.steps.shape or self.rows.ndim != 1:
            raise ValueError("there is one value for each pair")
        if not len(self.rows):
            return
        shape = self.layout.shape
        ends = (self.rows, shape[0]), (self.columns, shape[1])
        if any(each.min() < 0 or each.max() >= size for each, size in ends):
            raise ValueError("a pair lies outside the vertex set")
        if self.layout.symmetric and (self.rows >= self.columns).any():
            raise ValueError("a pair is the wrong way round")
        if self.layout.directed and (self.rows == self.columns).any():
            raise ValueError("a vertex is paired with itself")
        places = self.layout.places(self.rows.astype(np.int64), self.columns.astype(np.int64))
        if (np.diff(places) <= 0).any() or self.steps.min() < self.threshold:
            raise ValueError("pairs are out of order, or below the threshold")

    def __repr__(self) -> str:
        return f"KeptEdges(threshold={self.threshold * self.unit:g}, law={self.law})"


def pairs_at(
    layout: Layout, places: IntVector, start: int = 0, stop: int | None = None
) -> tuple[IntVector, IntVector]:
    """Row and column of each place in the order of pairs; the inverse of `Layout.places`.

    Args:
        layout: which pairs there are.
        places: shape (k,).
        start: no place lies in rows before this one.
        stop: nor in this row or later ones; None for the end.
    """
    stop = layout.shape[0] if stop is None else stop
    before = layout.pairs_before(np.arange(start, stop + 1, dtype=np.int64))
    rows = np.searchsorted(before, places, side="right") - 1
    along = places - before[rows]
    rows += start
    if layout.symmetric:
        along += rows + 1
    elif layout.directed:
        along += along >= rows
    return rows, along


def threshold_for(
    distribution: LaplaceNoise, *, pairs: int, edges: float, false_share: float = 0.05
) -> int:
    """The least threshold at which false edges are expected to be a share of the edges, at most.

    N e^(-rate T)/(1 + e^-rate) <= share m, so that T >= ln(N/(share m (1 + e^-rate)))/rate; that is
    rounded up to an eighth of the noise's scale, so that few samplers of gaps are made.

    Args:
        distribution: of the noise.
        pairs: N, how many pairs there are.
        edges: m, from noisy data; less than one counts as one.
        false_share: false edges for each edge.

    Returns:
        In steps, >= 1.
    """
    rate = float(distribution.rate)
    wanted = false_share * max(edges, 1.0)
    grain = max(1, math.floor(1 / (_GRAINS * rate)))
    least = (math.log(pairs / wanted) - math.log1p(math.exp(-rate))) / rate
    return max(1, math.ceil(least / grain)) * grain
