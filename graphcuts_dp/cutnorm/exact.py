"""The exact norm by enumeration: every set on the shorter side, the best answer on the other.

With c = A^T 1_S, the best T takes the positive or the negative entries of c, so

    max_T |A(S, T)| = (sum_j |c_j| + |sum_j c_j|) / 2,

and for signs x the best y gives ||A^T x||_1. The sums of the low rows are tabulated once; each
subset of the high rows shifts the whole table.
"""

import time
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatArray
from graphcuts_dp.cutnorm.operand import Operand, gamma
from graphcuts_dp.errors import MatrixError

MAX_SIDE = 30
_TABLE_BITS = 12
_TABLE_ENTRIES = 1 << 18


@final
@dataclass(frozen=True, eq=False)
class ExactResult:
    """An optimal pair of sets and a proven bound on the optimum.

    Attributes:
        S: mask of rows.
        T: mask of columns.
        upper: at least the norm; above its computed value by the rounding of the table, and equal
            to it for integers. Infinite if the time ran out.
        finished: whether all sets were tried.
    """

    S: BoolVector
    T: BoolVector
    upper: float
    finished: bool


def enumeration_cost(shape: tuple[int, int]) -> float:
    """Entries that an enumeration touches: 2^(shorter side) times the longer side."""
    return 2.0 ** min(*shape, 1000) * max(shape)


def enumerate_cuts(
    operand: Operand, *, bordered: bool, time_limit: float | None = None
) -> ExactResult:
    """Try every set of the shorter side.

    Args:
        operand: the matrix, dense or sparse, shorter side at most 30 (24 takes seconds).
        bordered: cut norm (True) or infinity-to-one norm (False).
        time_limit: seconds, or None for no limit.

    Raises:
        MatrixError: the shorter side is above 30, or the matrix is an operator.
    """
    if operand.kind == "operator":
        raise MatrixError("the exact method needs the entries; an operator hides them")
    if min(operand.shape) > MAX_SIDE:
        raise MatrixError(
            f"the exact method tries 2^{min(operand.shape)} sets, 2^{MAX_SIDE} at most; "
            'use method="low-rank"'
        )
    dense = operand.data.toarray() if operand.kind == "sparse" else operand.data
    dense = np.asarray(dense, dtype=np.float64)
    transpose = dense.shape[0] > dense.shape[1]
    rows = np.ascontiguousarray(dense.T if transpose else dense)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    best, subset, finished = _scan(rows, bordered, deadline)
    sums = rows.T @ (subset.astype(np.float64) if bordered else 2.0 * subset - 1.0)
    if bordered:
        upward = np.maximum(sums, 0).sum() >= np.maximum(-sums, 0).sum()
        answer = sums > 0 if upward else sums < 0
    else:
        answer = sums >= 0
    slack = 0.0
    if not operand.is_integer:
        # a column sum: table, 64 Gray steps and a fresh start; intermediate sums reach 3 times |A|
        slack = 3.0 * gamma(sum(rows.shape) + 96) * operand.absolute_total * 1.01
    S, T = (answer, subset) if transpose else (subset, answer)
    return ExactResult(S, T, best + slack if finished else np.inf, finished)


def _scan(
    rows: FloatArray, bordered: bool, deadline: float | None
) -> tuple[float, BoolVector, bool]:
    """The best value, its subset of rows, and whether the scan was complete."""
    m, n = rows.shape
    low = min(m, _TABLE_BITS, max(1, int(np.log2(_TABLE_ENTRIES / n)) if n < _TABLE_ENTRIES else 1))
    offset, gain = (np.zeros(n), 1.0) if bordered else (-rows.sum(axis=0), 2.0)
    table = np.zeros((n, 1))
    for i in range(low):
        table = np.concatenate((table, table + gain * rows[i][:, None]), axis=1)
    work, values = np.empty_like(table), np.empty(table.shape[1])
    best, best_code, finished = -1.0, 0, True
    # a sign vector and its opposite have the same value: the last sign is fixed
    high_codes = 1 << max(0, m - low - (0 if bordered else 1))
    shift = offset.copy()
    for code in range(high_codes):
        gray = code ^ (code >> 1)
        if code % 64 == 0:  # recompute now and then: rounding does not pile up
            bits = (gray >> np.arange(m - low)) & 1
            shift = offset + gain * (bits @ rows[low:])
            if deadline is not None and time.monotonic() > deadline:
                finished = False
                break
        else:
            flipped = (code & -code).bit_length() - 1
            shift += (gain if gray >> flipped & 1 else -gain) * rows[low + flipped]
        np.add(table, shift[:, None], out=work)
        if bordered:
            total = work.sum(axis=0)
        np.abs(work, out=work)
        work.sum(axis=0, out=values)
        if bordered:
            values += np.abs(total)
        index = int(values.argmax())
        if values[index] > best:
            best, best_code = float(values[index]), (gray << low) | index
    subset = (best_code >> np.arange(m)) & 1 == 1
    return best * (0.5 if bordered else 1.0), subset, finished
