"""The noisy matrix: all that a release knows of the private graph."""

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, BinaryIO, Literal, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.estimate.blocks import Blocks, LocalBlocks, RowBlock
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.pairs.linear_query import sides_of
from graphcuts_dp.pairs.queries import pairs_of_cut
from graphcuts_dp.pairs.vertices import Arcs, Space, VertexSet, sets_in
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.value_noise import noise_distribution

_FORMAT = 1
EstimateKind = Literal["unbiased", "shrunk", "model"]
NO_GUARANTEE = "estimate, no guarantee"


@final
@dataclass(frozen=True)
class CutAnswer:
    """An estimate of the value of a cut, with its interval.

    Attributes:
        value: the estimate. An unbiased one may be negative, or more than the cut can weigh, and
            then lies outside of the interval; a shrunk one may lie outside of it, too.
        interval: (low, high) that holds the true value with probability `confidence`, cut to what
            the pairs of the cut can weigh.
        confidence: in (0, 1).
        simultaneous: whether the confidence is for all cuts of the graph at once, so that the cut
            may have been chosen after looking at other answers; else it is for this cut alone,
            chosen before.
        together: how many cuts, chosen before, the confidence is for at once.
        seeded: whether the noise came from a seed, so that the answer is not private.
        estimate: which kind of estimate `value` is: "unbiased", or "shrunk", which has no
            guarantee; the interval is the same proven one. Or "model": what a sparse release's
            model says where nothing was measured that tells this cut, also without guarantee.
        typical_error: of an estimate of a model, by the model itself and so no proof; else None.
    """

    value: float
    interval: tuple[float, float]
    confidence: float
    simultaneous: bool = False
    seeded: bool = False
    estimate: EstimateKind = "unbiased"
    together: int = 1
    typical_error: float | None = None

    def __str__(self) -> str:
        low, high = self.interval
        scope = "this cut" if self.together == 1 else f"{self.together:,} cuts at once"
        scope = "all cuts at once" if self.simultaneous else scope
        mark = " [seeded: not private]" if self.seeded else ""
        note = "" if self.typical_error is None else f" +- {self.typical_error:.1f} typically"
        note += "" if self.estimate == "unbiased" else f" ({NO_GUARANTEE})"
        return (
            f"{self.value:.1f}{note} in [{low:.1f}, {high:.1f}] "
            f"({self.confidence:.0%}, {scope}){mark}"
        )


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
    return LocalBlocks.from_pairs(distribution, layout, parts)
