"""From vectors to sets: random hyperplanes, alternating improvement, and tabu search.

All of it works on signs x, y of the rows and columns of A' (or of A, for the infinity-to-one
norm). With border signs x_0, y_0 the cut is S = {i: x_i != x_0}, T = {j: y_j != y_0}, and
x^T A' y = 4 x_0 y_0 A(S, T).

Source: AN06 for hyperplanes.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolMatrix, RealMatrix
from graphcuts_dp.cutnorm.operand import Operand

MAX_ALTERNATIONS = 60


@final
@dataclass(frozen=True, eq=False)
class CutBatch:
    """Distinct cuts, largest absolute value first.

    Attributes:
        S: masks of rows, shape (count, n1).
        T: masks of columns, shape (count, n2).
        values: A(S, T) with its sign (x^T A y for the infinity-to-one norm), shape (count,);
            plain floating-point, not a proven bound.
    """

    S: BoolMatrix
    T: BoolMatrix
    values: npt.NDArray[np.float64]


def gaussian(rng: np.random.Generator, shape: tuple[int, int], dtype: np.dtype[Any]) -> RealMatrix:
    """Independent standard normal numbers in float32 or float64."""
    if dtype == np.float32:
        return rng.standard_normal(shape, dtype=np.float32)
    return rng.standard_normal(shape)


def round_hyperplanes(
    operand: Operand,
    V: RealMatrix,
    hyperplanes: int,
    count: int,
    rng: np.random.Generator,
    *,
    bordered: bool,
) -> CutBatch:
    """Cut the vectors by random hyperplanes and improve every cut by alternation.

    Args:
        operand: the matrix, (n1, n2).
        V: unit vectors of the columns, border first if bordered.
        hyperplanes: how many random directions.
        count: how many distinct cuts to keep.
        rng: where the directions come from.
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    directions = gaussian(rng, (V.shape[1], max(1, hyperplanes)), V.dtype)
    side = V @ directions >= 0
    T = side[1:] != side[0] if bordered else side
    return best_cuts(improve(operand, T, bordered=bordered), count)


def improve(operand: Operand, T: BoolMatrix, *, bordered: bool) -> CutBatch:
    """Alternate S <- best for T, T <- best for S, on a batch of cuts, until none improves.

    For a fixed T the best S holds either all rows with positive sum or all with negative sum,
    whichever total is larger; for the infinity-to-one norm it is the sign of the row sums.

    Args:
        operand: the matrix, (n1, n2).
        T: masks of columns, one cut a column, shape (n2, b).
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    T = T.copy()
    S = np.zeros((operand.shape[0], T.shape[1]), dtype=np.bool_)
    values = np.zeros(T.shape[1])
    active = np.arange(T.shape[1])
    for _ in range(MAX_ALTERNATIONS):
        indicator = _indicator(T[:, active], operand.dtype, bordered)
        new_S, _ = _best_side(operand.apply(indicator), bordered)
        indicator = _indicator(new_S, operand.dtype, bordered)
        new_T, new_values = _best_side(operand.apply_transpose(indicator), bordered)
        better = np.abs(new_values) > np.abs(values[active]) * (1.0 + 1e-6)
        changed = active[better]
        S[:, changed], T[:, changed] = new_S[:, better], new_T[:, better]
        values[changed] = new_values[better]
        active = changed
        if active.size == 0:
            break
    return CutBatch(S.T, T.T, values)


def _indicator(mask: BoolMatrix, dtype: np.dtype[Any], bordered: bool) -> RealMatrix:
    indicator: RealMatrix = mask.astype(dtype)
    if not bordered:
        indicator *= 2
        indicator -= 1
    return indicator


def _best_side(sums: RealMatrix, bordered: bool) -> tuple[BoolMatrix, npt.NDArray[np.float64]]:
    """The best mask for given sums, columnwise, and the signed values."""
    sums = np.asarray(sums)
    if not bordered:
        return sums >= 0, np.abs(sums).sum(axis=0, dtype=np.float64)
    positive = np.maximum(sums, 0).sum(axis=0, dtype=np.float64)
    negative = positive - sums.sum(axis=0, dtype=np.float64)
    upward = positive >= negative
    mask = np.where(upward, sums > 0, sums < 0)
    return mask, np.where(upward, positive, -negative)


def best_cuts(batch: CutBatch, count: int) -> CutBatch:
    """The `count` best distinct cuts of a batch.

    Args:
        batch: cuts in any order.
        count: how many to keep, at least 1.
    """
    order = np.argsort(-np.abs(batch.values), kind="stable")
    packed = [np.packbits(sides, axis=1) for sides in (batch.S, batch.T)]
    keys = np.concatenate(packed, axis=1)
    width, bits = keys.shape[1], keys.tobytes()
    chosen: list[int] = []
    seen: set[bytes] = set()
    for index in order.tolist():
        key = bits[index * width : (index + 1) * width]
        if key not in seen:
            seen.add(key)
            chosen.append(index)
        if len(chosen) >= count:
            break
    return CutBatch(
        np.ascontiguousarray(batch.S[chosen]),
        np.ascontiguousarray(batch.T[chosen]),
        batch.values[chosen],
    )
