"""The noisy matrix: a noisy weight of every pair of vertices, as a measurement.

Noise is added to the weight of every pair, in whole *grid units*. The released integers are kept in
blocks of rows (`Blocks`): bits for binary noise, else integers. The estimate of an entry is
(integer - offset) * unit, with the offset and the unit of the noise distribution. Sums are taken
over the integers and converted afterwards; they are exact, but for row and column sums of 64-bit
integers, which are rounded where blocks are joined.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector
from graphcuts_dp.estimate.base import PairMeasurement
from graphcuts_dp.estimate.blocks import Blocks, RowBlock
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.queries.linear import pairs_of_cut
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet

_LOW_32_BITS = 0xFFFFFFFF


@final
@dataclass(frozen=True, eq=False)
class NoisyMatrix(PairMeasurement):
    """Noisy weights of all pairs, with the distribution of their noise.

    Attributes:
        blocks: released integers in blocks of rows. Of an undirected graph the matrix is symmetric
            with zero diagonal; of a directed graph it has a zero diagonal; of a bipartite graph its
            shape is (n_left, n_right).
        space: the public vertex sets that say what pairs there are: one set, two, or `Arcs`.
    """

    blocks: Blocks
    space: Space

    name = "entries"

    @property
    def pair_noise(self) -> NoiseDistribution:
        """The noise of one pair."""
        return self.distribution

    @property
    def distribution(self) -> NoiseDistribution:
        """The noise of one pair, which converts released integers to unbiased estimates."""
        if self.blocks.distribution is None:
            raise ValueError("a noisy matrix is made by a distribution of noise")
        return self.blocks.distribution

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.blocks.shape

    @property
    def symmetric(self) -> bool:
        """True for the matrix of an undirected graph."""
        return isinstance(self.space, VertexSet)

    @property
    def directed(self) -> bool:
        """True for the matrix of a directed graph."""
        return isinstance(self.space, Arcs)

    @property
    def steps(self) -> npt.NDArray[np.integer]:
        """All released integers, dense: for small matrices and tests."""
        return np.concatenate(self.blocks.map(RowBlock.steps))

    def estimate(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """Return Z with E[Z] = A off the diagonal and zero on it, dense: for small matrices."""
        return self.blocks.estimate(dtype)

    def cut_value(self, S: BoolVector, T: BoolVector) -> float:
        """Return the estimate of a cut. The sum of the released integers is exact.

        Args:
            S: mask of the rows.
            T: mask of the columns.
        """
        integer_sum = self._block_sum(S, T)
        if self.symmetric:
            # Pairs with both ends in both sets were added twice. In rows and columns `both`, each
            # of them has two equal entries and the diagonal is 0: half of that sum is too much.
            both = S & T
            integer_sum -= self._block_sum(both, both) // 2
        pairs = pairs_of_cut(S, T, self.space)
        return (integer_sum - pairs * self.distribution.offset) * self.distribution.unit

    def _block_sum(self, S: BoolVector, T: BoolVector) -> int:
        """Return the sum of the released integers in rows S and columns T."""
        return sum(self.blocks.map(_sum_of_rows, S, T))

    def vertex_sums(self) -> tuple[FloatVector, ...]:
        """Return estimates of the sums of the rows, and of the columns unless symmetric."""
        layout, distribution = self.blocks.layout, self.distribution
        row_count, column_count = layout.shape
        # `hollow` is True (1) if rows and columns are the same vertices: a vertex has no pair with
        # itself then.
        pairs_of_row, pairs_of_column = column_count - layout.hollow, row_count - layout.hollow
        sums = self.blocks.map(_row_and_column_sums)
        row_sums = np.concatenate([rows for rows, _ in sums]) - pairs_of_row * distribution.offset
        row_sums *= distribution.unit
        if self.symmetric:
            return (row_sums,)
        column_sums = np.sum([columns for _, columns in sums], axis=0)
        column_sums = column_sums - pairs_of_column * distribution.offset
        return row_sums, column_sums * distribution.unit

    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return plain values for receipts, and one array of all pairs in row order.

        Bits are packed, so an undirected graph takes n^2/16 bytes.
        """
        distribution = self.distribution
        fields = {
            "noise": distribution.name,
            "epsilon": [distribution.epsilon.numerator, distribution.epsilon.denominator],
            "max_weight": distribution.max_weight,
            "offset": distribution.offset,
            "unit": distribution.unit,
            "standard_deviation": distribution.standard_deviation,
            "note": "estimate of an entry = (released integer - offset) * unit",
        }
        if distribution.bits:
            return fields, {"values": self._packed_pairs()}
        return fields, {"values": np.concatenate(self.blocks.map(_pairs))}

    def _packed_pairs(self) -> npt.NDArray[np.uint8]:
        """Return the bits of all pairs in row order, eight a byte.

        Blocks are unpacked a few at a time. Bits that fill no byte are carried to the next block.
        """
        packed: list[npt.NDArray[np.uint8]] = []
        carried = np.empty(0, dtype=np.uint8)
        for pairs in self.blocks.results(_pairs):
            bits = np.concatenate([carried, pairs.astype(np.uint8)])
            full = len(bits) // 8 * 8
            packed.append(np.packbits(bits[:full]))
            carried = bits[full:]
        return np.concatenate([*packed, np.packbits(carried)])

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: Mapping[str, Any], space: Space) -> Self:
        """Return the matrix that `parts` described.

        Raises:
            GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: if fields or arrays
                are not such.
        """
        distribution = noise_distribution(
            fields["noise"], epsilon=Fraction(*fields["epsilon"]), max_weight=fields["max_weight"]
        )
        if type(distribution) is LaplaceNoise:
            # Earlier versions had finer grids, so the unit is that of the file.
            # frexp writes a number as m 2^e with 1/2 <= m < 1. A power of 2 is 2^(e - 1).
            exponent = math.frexp(float(fields["unit"]))[1] - 1
            stored = LaplaceNoise(distribution.epsilon, distribution.max_weight, exponent)
            if stored.unit != fields["unit"]:
                raise ValueError("a step is a power of two")
            distribution = stored
        return cls(_unpacked(arrays["values"], distribution, space), space)


def _pairs(block: RowBlock) -> npt.NDArray[Any]:
    """Return the released integers of the pairs of a block, in row order."""
    # `fold` picks the entries of pairs from a matrix of rows, and lists them in row order.
    return block.layout.fold(block.steps(), block.start)


def _sum_of_rows(block: RowBlock, S: BoolVector, T: BoolVector) -> int:
    """Return the sum of the released integers of a block in rows S and columns T, exactly."""
    rows = block.data[S[block.start : block.stop]]
    if block.distribution is not None and block.distribution.bits:
        return int(np.bitwise_count(rows & np.packbits(T)).sum(dtype=np.int64))
    if rows.dtype.itemsize < 8:
        return int(rows.sum(axis=0, dtype=np.int64)[T].sum())
    # In two halves of 32 bits, since a sum of 64-bit integers could overflow. The upper half keeps
    # the sign, as >> does; the lower one is >= 0. Python integers join the sums.
    high, low = rows >> 32, rows & _LOW_32_BITS
    return (int(high.sum(axis=0)[T].sum()) << 32) + int(low.sum(axis=0)[T].sum())


def _row_and_column_sums(block: RowBlock) -> tuple[FloatVector, FloatVector]:
    """Return the sums of the released integers of the rows and of the columns of a block.

    Sums of integers are exact; those of 64-bit integers are taken in two halves of 32 bits, and are
    rounded where these are joined as floats.
    """
    steps = block.steps()
    if steps.dtype.itemsize < 8:
        return steps.sum(axis=1, dtype=np.int64) + 0.0, steps.sum(axis=0, dtype=np.int64) + 0.0
    high, low = steps >> 32, steps & _LOW_32_BITS
    row_sums = high.sum(axis=1) * 2.0**32 + low.sum(axis=1)
    column_sums = high.sum(axis=0) * 2.0**32 + low.sum(axis=0)
    return row_sums, column_sums


def _unpacked(values: npt.NDArray[Any], distribution: NoiseDistribution, space: Space) -> Blocks:
    """Return the blocks of the integers that a file holds, one for each pair in row order.

    Raises:
        ValueError: if the array is not such.
    """
    layout = Layout.of(space)
    pairs = layout.pairs_before(layout.shape[0])  # pairs in the rows before this one: all pairs
    length = -(-pairs // 8) if distribution.bits else pairs
    if values.shape != (length,) or values.dtype.kind not in "iu":
        raise ValueError("there is another number of entries")
    if distribution.bits and values.dtype != np.uint8:
        raise ValueError("these are other numbers than bits")
    bounds = layout.bounds()

    def pairs_of_block(index: int) -> npt.NDArray[Any]:
        first, stop = (layout.pairs_before(row) for row in bounds[index])
        if not distribution.bits:
            return values[first:stop]
        bits = np.unpackbits(values[first // 8 : -(-stop // 8)])
        return bits[first % 8 :][: stop - first]

    return Blocks.from_pairs(distribution, layout, pairs_of_block)
