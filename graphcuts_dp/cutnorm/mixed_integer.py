"""The exact norm by branch and bound (HiGHS), for matrices too large to enumerate.

Binary s_i, t_j choose rows and columns, and w_ij stands for s_i t_j: at most both where its
coefficient is positive, at least s_i + t_j - 1 where it is negative. Sparse matrices of a hundred
rows are solved in seconds; dense ones above about 40 rows rarely are, and then the time limit
gives a bound.
"""

import math
import time
from dataclasses import dataclass
from typing import Any, final

import highspy
import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatArray
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.errors import MatrixError

MAX_ENTRIES = 20_000
_TRUST = 1e-6  # of the absolute sum: what HiGHS's tolerances may hide


@final
@dataclass(frozen=True, eq=False)
class ProgramResult:
    """The best sets found and a bound on all others.

    Attributes:
        S: mask of rows.
        T: mask of columns.
        upper: at least the norm, if HiGHS is right up to its tolerances; these are covered by
            widening it by 1e-6 of the sum of absolute entries. Infinite if no bound was found.
        finished: whether the search was completed.
    """

    S: BoolVector
    T: BoolVector
    upper: float
    finished: bool


def solve_program(
    operand: Operand, *, bordered: bool, time_limit: float | None = None
) -> ProgramResult:
    """Maximise over all pairs of sets by branch and bound.

    Args:
        operand: the matrix, dense or sparse, at most 20,000 non-zero entries.
        bordered: cut norm (True: both signs of the sum are tried) or infinity-to-one norm (False:
            opposite signs have the same value).
        time_limit: seconds, or None for no limit.

    Raises:
        MatrixError: an operator, or too many entries.
    """
    if operand.kind == "operator":
        raise MatrixError("the exact method needs the entries; an operator hides them")
    rows, columns = operand.data.nonzero()
    if len(rows) > MAX_ENTRIES:
        raise MatrixError(
            f'the exact method takes at most {MAX_ENTRIES:,} non-zero entries; use "low-rank"'
        )
    values = np.asarray(operand.data[rows, columns], dtype=np.float64).ravel()
    deadline = None if time_limit is None else time.monotonic() + time_limit
    best, upper, finished = -1.0, 0.0, True
    S, T = np.zeros(operand.shape[0], dtype=np.bool_), np.zeros(operand.shape[1], dtype=np.bool_)
    signs = (1.0, -1.0) if bordered else (1.0,)
    for left, sign in zip(range(len(signs), 0, -1), signs, strict=True):
        limit = None if deadline is None else max(0.0, deadline - time.monotonic()) / left
        program = _Program(operand.shape, rows, columns, sign * values, bordered=bordered)
        value, bound, chosen, done = program.solve(limit)
        finished &= done
        upper = max(upper, bound)
        if chosen is not None and value > best:
            best = value
            S, T = chosen[: operand.shape[0]], chosen[operand.shape[0] :]
    return ProgramResult(S, T, upper + _TRUST * operand.absolute_total, finished)


class _Program:
    """One maximisation: variables s, t, then one w for each non-zero entry."""

    def __init__(
        self,
        shape: tuple[int, int],
        rows: npt.NDArray[np.integer],
        columns: npt.NDArray[np.integer],
        values: FloatArray,
        *,
        bordered: bool,
    ) -> None:
        self._sides = shape[0] + shape[1]
        ends = np.stack([rows, shape[0] + columns])
        linear = np.zeros(self._sides)
        self._constant = 0.0
        if not bordered:
            # (2s - 1)(2t - 1) = 4w - 2s - 2t + 1
            np.subtract.at(linear, ends[0], 2 * values)
            np.subtract.at(linear, ends[1], 2 * values)
            self._constant, values = float(values.sum()), 4 * values
        total = self._sides + len(values)
        lp: Any = highspy.HighsLp()
        lp.num_col_ = total
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.col_cost_ = np.concatenate([linear, values])
        lp.col_lower_, lp.col_upper_ = np.zeros(total), np.ones(total)
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger] * self._sides + [kinds.kContinuous] * len(values)
        self._add_rows(lp, ends, values)
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-9}
        for option, value in options.items():
            self._solver.setOptionValue(option, value)
        self._solver.passModel(lp)

    def _add_rows(self, lp: Any, ends: npt.NDArray[np.integer], values: FloatArray) -> None:
        """Rows w <= s and w <= t for positive values, w >= s + t - 1 for negative ones."""
        products = self._sides + np.arange(len(values))
        up, down = values > 0, values < 0
        two = [np.stack([products[up], end[up]], axis=1) for end in ends]
        three = np.stack([products[down], ends[0][down], ends[1][down]], axis=1)
        count = 2 * int(up.sum())
        lengths = np.concatenate([np.full(count, 2), np.full(len(three), 3)])
        lp.num_row_ = len(lengths)
        lp.row_lower_ = np.concatenate(
            [np.full(count, -highspy.kHighsInf), np.full(len(three), -1)]
        )
        lp.row_upper_ = np.concatenate([np.zeros(count), np.full(len(three), highspy.kHighsInf)])
        matrix = lp.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        matrix.index_ = np.concatenate([*two, three], axis=None).astype(np.int32)
        pair, triple = np.array([1.0, -1.0]), np.array([1.0, -1.0, -1.0])
        matrix.value_ = np.concatenate([np.tile(pair, count), np.tile(triple, len(three))])

    def solve(self, limit: float | None) -> tuple[float, float, BoolVector | None, bool]:
        """(value found, bound, chosen rows and columns or None, whether it was completed)."""
        if limit is not None:
            self._solver.setOptionValue("time_limit", limit)
        self._solver.run()
        info = self._solver.getInfo()
        done = self._solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        bound = float(info.mip_dual_bound) if math.isfinite(info.mip_dual_bound) else math.inf
        if self._solver.getModelStatus() == highspy.HighsModelStatus.kModelEmpty:
            done, bound = True, 0.0
        solution = np.array(self._solver.getSolution().col_value)
        if len(solution) == 0 or not math.isfinite(info.objective_function_value):
            return -math.inf, bound + self._constant, None, done
        value = float(info.objective_function_value) + self._constant
        return value, bound + self._constant, solution[: self._sides] > 0.5, done
