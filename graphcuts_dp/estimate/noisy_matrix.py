"""The noisy matrix: all that a release knows of the private graph.

`NOISES` is what `noise=` of a release can name.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, BinaryIO, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector, IndexArray, IntVector
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.estimate.blocks import Blocks, RowBlock
from graphcuts_dp.pairs.queries import pairs_of_cut, sides_of
from graphcuts_dp.pairs.universe import Layout
from graphcuts_dp.pairs.vertices import Arcs, Space, VertexSet, sets_in
from graphcuts_dp.privacy.distributions import (
    BinaryResponse,
    LaplaceNoise,
    NoiseDistribution,
    TwoSidedGeometric,
)
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.noise import tail_chance

_FORMAT = 1


@final
@dataclass(frozen=True, eq=False)
class NoisyMatrix:
    """Randomised responses for all vertex pairs, with the distribution that made them.

    Attributes:
        blocks: released integers (bits for binary noise, else grid steps) with their distribution,
            in blocks of rows; symmetric with zero diagonal, or (n_left, n_right), or those of arcs
            with zero diagonal.
        space: what the pairs are of, public: one vertex set, two, or `Arcs`.
    """

    blocks: Blocks
    space: Space

    @property
    def left(self) -> VertexSet:
        """Public vertex set of the rows."""
        return sides_of(self.space)[0]

    @property
    def right(self) -> VertexSet:
        """Of the columns; the same object as `left` for a symmetric matrix."""
        return sides_of(self.space)[1]

    name = "entries"

    @property
    def epsilon(self) -> Fraction:
        """What all entries cost together, exactly: one pair changes one of them."""
        return self.distribution.epsilon

    @property
    def distribution(self) -> NoiseDistribution:
        """Turns released integers into unbiased estimates."""
        if self.blocks.distribution is None:
            raise ValueError("a noisy matrix is made by a distribution of noise")
        return self.blocks.distribution

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.blocks.shape

    @property
    def symmetric(self) -> bool:
        """Whether this is the noisy adjacency matrix of an undirected graph."""
        return isinstance(self.space, VertexSet)

    @property
    def directed(self) -> bool:
        """Whether it is that of a directed graph."""
        return isinstance(self.space, Arcs)

    @property
    def steps(self) -> npt.NDArray[np.integer]:
        """All released integers, dense: for small matrices and tests."""
        return np.concatenate(self.blocks.map(RowBlock.steps))

    def estimate(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """Z with E[Z] = A off the diagonal, zero on it; dense, for small matrices."""
        return self.blocks.estimate(dtype)

    def cut_value(self, S: BoolVector, T: BoolVector) -> float:
        """Estimate of a cut. The sum of the released integers is exact.

        Args:
            S: mask of rows.
            T: mask of columns.
        """
        total = self._sum(S, T)
        if self.symmetric:
            both = S & T
            # Edges inside S and T lie twice in the block; the diagonal is zero.
            total -= self._sum(both, both) // 2
        pairs = pairs_of_cut(S, T, self.space)
        return (total - pairs * self.distribution.offset) * self.distribution.unit

    def _sum(self, S: BoolVector, T: BoolVector) -> int:
        return sum(self.blocks.map(_block_sum, S, T))

    def vertex_sums(self) -> tuple[FloatVector, FloatVector]:
        """Estimates of the sums of the rows and of the columns; one array twice if symmetric."""
        layout, distribution = self.blocks.layout, self.distribution
        rows, columns = (side - layout.hollow for side in layout.shape)  # pairs of a vertex
        found = self.blocks.map(_block_vertex_sums)
        first = np.concatenate([sums for sums, _ in found]) - columns * distribution.offset
        first *= distribution.unit
        if self.symmetric:
            return first, first
        second = np.sum([sums for _, sums in found], axis=0) - rows * distribution.offset
        return first, second * distribution.unit

    def write(self, handle: BinaryIO, *, entropy: str) -> None:
        """Write all fields as a numpy archive without pickles; bits of a graph take n^2/16 bytes.

        Args:
            handle: where.
            entropy: where the noise came from, for whoever finds the file alone.
        """
        header = {
            "format": _FORMAT,
            "entropy": entropy,
            "noise": self.distribution.name,
            "epsilon": [self.distribution.epsilon.numerator, self.distribution.epsilon.denominator],
            "weight_cap": self.distribution.weight_cap,
            "left": list(self.left.labels),
            "right": list(self.right.labels) if len(sets_in(self.space)) == 2 else None,
        }
        if self.directed:
            header["directed"] = True
        np.savez_compressed(
            handle,
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            values=self._packed()
            if self.distribution.bits
            else np.concatenate(self.blocks.map(_pairs)),
        )

    def _packed(self) -> npt.NDArray[np.uint8]:
        """All bits, one for each pair in row order, eight a byte across the blocks."""
        layout = self.blocks.layout
        whole: list[npt.NDArray[np.uint8]] = []
        rest = np.empty(0, dtype=np.uint8)
        for bounds, packed in zip(layout.bounds(), self.blocks.map(_packed_pairs), strict=True):
            count = layout.pairs_before(bounds[1]) - layout.pairs_before(bounds[0])
            bits = np.concatenate([rest, np.unpackbits(packed, count=count)])
            end = len(bits) // 8 * 8
            whole.append(np.packbits(bits[:end]))
            rest = bits[end:]
        return np.concatenate([*whole, np.packbits(rest)])

    @classmethod
    def read(cls, handle: BinaryIO) -> Self:
        """Read what `write` wrote.

        Raises:
            FileFormatError: anything else, or a damaged file.
        """
        try:
            with np.load(handle, allow_pickle=False) as archive:
                header = json.loads(archive["header"].tobytes())
                values = archive["values"]
            if header["format"] != _FORMAT:
                raise FileFormatError("the noisy matrix was written by another version")
            distribution = noise_distribution(
                header["noise"],
                epsilon=Fraction(*header["epsilon"]),
                weight_cap=header["weight_cap"],
            )
            left = VertexSet(header["left"])
            space: Space = Arcs(left) if header.get("directed") is True else left
            if header["right"] is not None:
                space = left, VertexSet(header["right"])
            return cls(_unpack(values, distribution, space), space)
        except FileFormatError:
            raise
        except Exception as problem:
            # Many kinds of damage, one thing to tell.
            raise FileFormatError("the file of the noisy matrix is damaged") from problem


def _packed_pairs(block: RowBlock) -> npt.NDArray[np.uint8]:
    return np.packbits(_pairs(block))


def _pairs(block: RowBlock) -> npt.NDArray[Any]:
    return block.layout.fold(block.steps(), block.start)


def _block_sum(block: RowBlock, S: BoolVector, T: BoolVector) -> int:
    """Sum of the released integers of a block, exactly."""
    rows = block.data[S[block.start : block.stop]]
    if block.distribution is not None and block.distribution.bits:
        return int(np.bitwise_count(rows & np.packbits(T)).sum(dtype=np.int64))
    if rows.dtype.itemsize < 8:
        return int(rows.sum(axis=0, dtype=np.int64)[T].sum())
    # Two halves: a sum of 64-bit integers could overflow.
    high, low = rows >> 32, rows & 0xFFFFFFFF
    return (int(high.sum(axis=0)[T].sum()) << 32) + int(low.sum(axis=0)[T].sum())


def _block_vertex_sums(block: RowBlock) -> tuple[FloatVector, FloatVector]:
    """Sums of the released integers of the rows and of the columns of a block.

    In two halves, which integers add up exactly; each result is a float, rounded twice.
    """
    steps = block.steps()
    if steps.dtype.itemsize < 8:
        return steps.sum(axis=1, dtype=np.int64) + 0.0, steps.sum(axis=0, dtype=np.int64) + 0.0
    high, low = steps >> 32, steps & 0xFFFFFFFF
    sums = [high.sum(axis=axis) * 2.0**32 + low.sum(axis=axis) for axis in (1, 0)]
    return sums[0], sums[1]


def _unpack(values: npt.NDArray[Any], distribution: NoiseDistribution, space: Space) -> Blocks:
    layout = Layout.of(space)
    pairs = layout.pairs_before(layout.shape[0])
    length = -(-pairs // 8) if distribution.bits else pairs
    if values.shape != (length,) or values.dtype.kind not in "iu":
        raise FileFormatError("the file of the noisy matrix is cut short")
    if distribution.bits and values.dtype != np.uint8:
        raise FileFormatError("the file of the noisy matrix holds other numbers than bits")

    def part(start: int, stop: int) -> npt.NDArray[Any]:
        first, end = layout.pairs_before(start), layout.pairs_before(stop)
        if not distribution.bits:
            return values[first:end]
        bits = np.unpackbits(values[first // 8 : -(-end // 8)])
        return bits[first % 8 :][: end - first]

    parts = [partial(part, *bounds) for bounds in layout.bounds()]
    return Blocks.from_pairs(distribution, layout, parts)


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

    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Plain values for receipts, and arrays: the pairs and their integers."""
        rate = self.distribution.rate
        fields = {
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
        return fields, {"rows": self.rows, "columns": self.columns, "steps": self.steps}

    @classmethod
    def from_parts(
        cls, stored: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], space: Space
    ) -> Self:
        """Read what `parts` gave.

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


_GRID_BITS = 20  # the Laplace grid has 2^20 to 2^21 steps within its scale
_LARGEST_SCALE = 2**44  # of the noise, in steps: 64-bit integers hold it, and sums of it


def noise_distribution(
    name: str, *, epsilon: float | Fraction, weight_cap: float | None = None
) -> NoiseDistribution:
    """The distribution of a name: "binary", "laplace" or "discrete-laplace".

    Args:
        name: one of `NOISES`.
        epsilon: privacy parameter, in [1e-6, 50].
        weight_cap: public largest weight; None if neighbours differ by at most 1 in one weight.

    Raises:
        ParameterError: an unknown name, epsilon out of range, a cap that is not positive and
            finite, a fractional cap with discrete-laplace, or noise too large for 64 bits.
    """
    exact = exact_epsilon(epsilon)
    if weight_cap is not None and not (math.isfinite(weight_cap) and weight_cap > 0):
        raise ParameterError("weight_cap must be a positive, finite number")
    if (weight_cap or 1.0) / exact > _LARGEST_SCALE:
        raise ParameterError("the weight cap is too large for this epsilon; rescale the weights")
    return _distribution(name, exact, weight_cap)


@lru_cache(maxsize=64)  # distributions keep what they have computed of themselves
def _distribution(name: str, exact: Fraction, weight_cap: float | None) -> NoiseDistribution:
    if name not in NOISES:
        raise ParameterError(f"unknown noise {name!r}; choose one of {', '.join(NOISES)}")
    return NOISES[name](exact, weight_cap)


def _binary(epsilon: Fraction, weight_cap: float | None) -> NoiseDistribution:
    if weight_cap not in (None, 1.0):
        raise ParameterError("binary noise is for graphs without weights: use laplace noise")
    return BinaryResponse(epsilon, 1.0)


def _laplace(epsilon: Fraction, weight_cap: float | None) -> NoiseDistribution:
    scale = Fraction(weight_cap or 1.0) / epsilon
    step = math.floor(math.log2(scale)) - _GRID_BITS
    return LaplaceNoise(epsilon, weight_cap, min(step, -1))


def _discrete_laplace(epsilon: Fraction, weight_cap: float | None) -> NoiseDistribution:
    if weight_cap is not None and not float(weight_cap).is_integer():
        raise ParameterError(
            "discrete-laplace noise needs a whole-number weight cap: use laplace noise"
        )
    return LaplaceNoise(epsilon, weight_cap)


# The table of noises: what `noise=` of a release can name. Each is made from epsilon and the cap.
NOISES: Mapping[str, Callable[[Fraction, float | None], NoiseDistribution]] = {
    "binary": _binary,
    "laplace": _laplace,
    "discrete-laplace": _discrete_laplace,
}
