"""The noisy matrix: all that a release knows of the private graph."""

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, BinaryIO, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.queries import pairs_between
from graphcuts_dp.graph.vertices import BoolVector, VertexSet
from graphcuts_dp.privacy.laws import NoiseLaw, noise_law

_FORMAT = 1


@final
@dataclass(frozen=True)
class CutAnswer:
    """An estimate of a cut value.

    Attributes:
        value: unbiased estimate; may be negative.
        interval: (low, high) that holds the true value with probability `confidence`. Ends below
            zero are kept: they are part of the statement.
        confidence: in (0, 1).
        simultaneous: whether the confidence is for all cuts of the graph at once, so that the cut
            may have been chosen after looking at other answers; else it is for this cut alone,
            chosen before.
        seeded: whether the noise came from a seed, so that the answer is not private.
    """

    value: float
    interval: tuple[float, float]
    confidence: float
    simultaneous: bool = False
    seeded: bool = False

    def __str__(self) -> str:
        low, high = self.interval
        scope = "all cuts at once" if self.simultaneous else "this cut"
        mark = " [seeded: not private]" if self.seeded else ""
        return f"{self.value:.1f} in [{low:.1f}, {high:.1f}] ({self.confidence:.0%}, {scope}){mark}"


@final
@dataclass(frozen=True, eq=False)
class NoisyMatrix:
    """Randomised responses for all vertex pairs, with the law that made them.

    Attributes:
        steps: released integers: bits for binary noise, else grid steps. Shape (n, n), symmetric
            with zero diagonal, or (n_left, n_right).
        law: turns them into unbiased estimates.
        left: public vertex set of the rows.
        right: of the columns; the same object as `left` for an adjacency matrix.
    """

    steps: npt.NDArray[np.integer]
    law: NoiseLaw
    left: VertexSet
    right: VertexSet

    @property
    def symmetric(self) -> bool:
        """Whether this is a noisy adjacency matrix (else a biadjacency matrix)."""
        return self.left is self.right

    def estimate(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """Z with E[Z] = A off the diagonal, zero on it; dense, same shape as `steps`."""
        matrix = self.steps.astype(dtype)
        matrix -= matrix.dtype.type(self.law.offset)
        matrix *= matrix.dtype.type(self.law.unit)
        if self.symmetric:
            np.fill_diagonal(matrix, 0)
        return matrix

    def cut(
        self, S: BoolVector, T: BoolVector, *, confidence: float, simultaneous: bool
    ) -> tuple[float, float]:
        """Estimate of a cut and half the width of its interval.

        Args:
            S: mask of rows.
            T: mask of columns.
            confidence: in (0, 1).
            simultaneous: whether the interval holds for all cuts at once: the failure
                probability is then divided by the number of pairs (S, T), 2^(rows + columns).

        Returns:
            (value, radius). The sum of the released integers is exact.
        """
        pairs = pairs_between(S, T, bipartite=not self.symmetric)
        total = self._sum(S, T)
        if self.symmetric:
            both = S & T
            # Edges inside S and T lie twice in the block; the diagonal is zero.
            total -= self._sum(both, both) // 2
        log_failures = -math.log1p(-confidence)
        if simultaneous:
            log_failures += sum(self.steps.shape) * math.log(2)
        value = (total - pairs * self.law.offset) * self.law.unit
        return value, self.law.radius(pairs, log_failures=log_failures)

    def _sum(self, S: BoolVector, T: BoolVector) -> int:
        block = self.steps[S]
        if block.dtype.itemsize < 8:
            return int(block.sum(axis=0, dtype=np.int64)[T].sum())
        # Two halves: a sum of 64-bit integers could overflow.
        high, low = block >> 32, block & 0xFFFFFFFF
        return (int(high.sum(axis=0)[T].sum()) << 32) + int(low.sum(axis=0)[T].sum())

    def write(self, handle: BinaryIO, *, entropy: str) -> None:
        """Write all fields as a numpy archive without pickles; bits take n^2/16 bytes.

        Args:
            handle: where.
            entropy: where the noise came from, for whoever finds the file alone.
        """
        values = self.steps[np.triu_indices(len(self.left), 1)] if self.symmetric else self.steps
        header = {
            "format": _FORMAT,
            "entropy": entropy,
            "noise": self.law.name,
            "epsilon": [self.law.epsilon.numerator, self.law.epsilon.denominator],
            "weight_cap": self.law.weight_cap,
            "left": list(self.left.labels),
            "right": None if self.symmetric else list(self.right.labels),
        }
        np.savez_compressed(
            handle,
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            values=np.packbits(values.ravel().astype(bool)) if self._are_bits else values.ravel(),
        )

    @property
    def _are_bits(self) -> bool:
        return self.law.name == "binary"

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
            law = noise_law(
                header["noise"],
                epsilon=Fraction(*header["epsilon"]),
                weight_cap=header["weight_cap"],
            )
            left = VertexSet(header["left"])
            right = left if header["right"] is None else VertexSet(header["right"])
            return cls(_unpack(values, law, left, right), law, left, right)
        except FileFormatError:
            raise
        except Exception as problem:
            # Many kinds of damage, one thing to tell.
            raise FileFormatError("the file of the noisy matrix is damaged") from problem


def _unpack(
    values: npt.NDArray[Any], law: NoiseLaw, left: VertexSet, right: VertexSet
) -> npt.NDArray[np.integer]:
    symmetric = left is right
    pairs = len(left) * (len(left) - 1) // 2 if symmetric else len(left) * len(right)
    if law.name == "binary":
        if values.dtype != np.uint8 or len(values) != -(-pairs // 8):
            raise FileFormatError("the file of the noisy matrix is cut short")
        values = np.unpackbits(values, count=pairs)
    if values.shape != (pairs,) or values.dtype.kind not in "iu":
        raise FileFormatError("the file of the noisy matrix is cut short")
    return fill(values, left, right)


def fill(
    values: npt.NDArray[np.integer], left: VertexSet, right: VertexSet
) -> npt.NDArray[np.integer]:
    """The full matrix of one value for each pair, in the smallest integer type that holds them.

    Args:
        values: shape (pairs,); for one vertex set the pairs i < j row by row, for two all pairs.
        left: vertex set of the rows.
        right: of the columns; the same object for an adjacency matrix.
    """
    kind = np.result_type(
        np.min_scalar_type(values.min(initial=0)), np.min_scalar_type(values.max(initial=0))
    )
    if kind.kind == "f":
        kind = np.dtype(np.int64)  # numpy's common type of int8 and uint64 is a float
    if left is not right:
        return values.astype(kind).reshape(len(left), len(right))
    matrix = np.zeros((len(left), len(left)), dtype=kind)
    matrix[np.triu_indices(len(left), 1)] = values
    matrix |= matrix.T
    return matrix
