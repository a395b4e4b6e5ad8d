"""What first-order descent does with one block of rows; it runs where the block lives.

A block keeps three arrays: the residual z - x, the running sum of the directions, and the best
point so far in 16 bits an entry. All are updated in pieces that stay in the processor's cache.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, RealMatrix
from graphcuts_dp.estimate.blocks import Blocks, RowBlock
from graphcuts_dp.synth.base import shifted

_PIECE = 1 << 16  # entries: a handful of such float32 arrays fit into a core's cache
_LEVELS = 65535  # of a stored best point


@final
@dataclass(frozen=True, kw_only=True)
class Move:
    """One step of a descent, the same for all blocks.

    Attributes:
        left: shape (rows, k).
        right: shape (columns, k): the new direction, scaled for the running sum, is
            left @ right^T with zero diagonal.
        fade: the running sum is multiplied by this first.
        length: x moves by this times the scaled direction.
        cap: upper side of the box.
        keep: whether the present point, before the move, is the best so far.
        bound: whether the sums that `move` returns are wanted.
    """

    left: RealMatrix
    right: RealMatrix
    fade: float
    length: float
    cap: float
    keep: bool
    bound: bool


@final
class Residual:
    """z - x as a matrix known by its products with thin ones.

    Args:
        blocks: that hold the residual.
        transpose: whether this is its transpose.
    """

    def __init__(self, blocks: Blocks, *, transpose: bool = False) -> None:
        self._blocks = blocks
        self._transpose = transpose

    @property
    def T(self) -> "Residual":
        """The transpose."""
        return Residual(self._blocks, transpose=not self._transpose)

    def __matmul__(self, thin: RealMatrix) -> RealMatrix:
        if self._transpose and not self._blocks.symmetric:
            total = np.zeros((self._blocks.shape[1], thin.shape[1]), dtype=thin.dtype)
            for part in self._blocks.results(_transposed_product, thin):
                total += part
            return total
        return self._blocks.gather(_product, thin, width=thin.shape[1], dtype=thin.dtype)


def _product(block: RowBlock, thin: RealMatrix) -> RealMatrix:
    product: RealMatrix = block.held["residual"] @ thin
    return product


def _transposed_product(block: RowBlock, thin: RealMatrix) -> RealMatrix:
    product: RealMatrix = block.held["residual"].T @ thin[block.start : block.stop]
    return product


def start(block: RowBlock, rows: FloatVector, columns: FloatVector, cap: float) -> None:
    """Hold the residual of x = clip(z + rows + columns), and nothing else yet."""
    residual = np.empty(block.shape, dtype=np.float32)
    for part, where in _pieces(block):
        np.subtract(part.estimate(), shifted(part, rows, columns, cap), out=residual[where])
    block.held["residual"] = residual
    block.held["average"] = np.zeros(block.shape, dtype=np.float32)


def move(block: RowBlock, step: Move) -> tuple[float, float]:
    """Keep the present point if it is the best, add the direction to the running sum W, and move.

    Returns:
        Where they are wanted, the sum of W's positive entries over these rows, and <W, z>.
    """
    residual, average = block.held["residual"], block.held["average"]
    if step.keep and "best" not in block.held:
        kind = np.float32 if math.isinf(step.cap) else np.uint16
        block.held["best"] = np.empty(block.shape, dtype=kind)
    direction = step.left[block.start : block.stop] @ step.right.T
    block.clear_diagonal(direction)
    positive = product = 0.0
    for part, where in _pieces(block):
        z = part.estimate()
        if step.keep:
            block.held["best"][where] = _stored(z - residual[where], step.cap)
        total, change, short = average[where], direction[where], residual[where]
        if step.fade != 1.0:
            total *= np.float32(step.fade)
        total += change
        if step.bound:
            positive += float(np.maximum(total, np.float32(0)).sum())
            product += float(np.vdot(total, z))
        change *= np.float32(step.length)
        short -= change
        # x = z - short within [0, cap]; numpy's clip between arrays is slower.
        np.minimum(short, z, out=short)
        z -= np.float32(step.cap)
        part.clear_diagonal(z)
        np.maximum(short, z, out=short)
    return positive, product


def return_to_best(block: RowBlock, cap: float) -> None:
    """Hold the residual of the best point again."""
    for part, where in _pieces(block):
        x = _restored(block.held["best"][where], cap)
        np.subtract(part.estimate(), x, out=block.held["residual"][where])


def best_point(block: RowBlock, cap: float) -> RealMatrix:
    """The best point; lets go of everything held."""
    best = block.held["best"]
    block.held.clear()
    return _restored(best, cap)


def _stored(x: RealMatrix, cap: float) -> npt.NDArray[Any]:
    """Entries of the box in 16 bits; as they are when the box has no upper side."""
    if math.isinf(cap):
        return x
    x *= np.float32(_LEVELS / cap)
    x += np.float32(0.5)
    return np.minimum(x, np.float32(_LEVELS), out=x).astype(np.uint16)


def _restored(stored: npt.NDArray[Any], cap: float) -> RealMatrix:
    x: RealMatrix = stored.astype(np.float32)
    if stored.dtype == np.uint16:
        x /= np.float32(_LEVELS)  # first: the highest level then is the cap itself
        x *= np.float32(cap)
    return x


def _pieces(block: RowBlock) -> Iterator[tuple[RowBlock, slice]]:
    """Parts of a block that fit into the cache, each with its place in the block."""
    for part in block.parts(_PIECE):
        yield part, slice(part.start - block.start, part.stop - block.start)
