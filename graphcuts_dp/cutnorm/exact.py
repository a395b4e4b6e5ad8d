"""Exact methods for the cut norm and the infinity-to-one norm: enumeration and branch and bound.

**Enumeration** tries every set on the shorter side, with the best answer on the other. With
c = A^T 1_S, the best T takes the positive or the negative entries of c, so

    max_T |A(S, T)| = (sum_j |c_j| + |sum_j c_j|) / 2,

and for signs x the best y gives ||A^T x||_1. A set is a code: bit i says whether row i is in it.
The column sums of all sets of the *low rows*, the first twelve or fewer, are tabulated once. Sets
of the other, *high rows* follow each other in Gray code order: one row enters or leaves, which
shifts the whole table.

**Branch and bound** by HiGHS is for matrices too large to enumerate. Binary s_i, t_j choose rows
and columns, and w_ij stands for s_i t_j: at most both where its coefficient is positive, at least
s_i + t_j - 1 where it is negative. Sparse matrices of a hundred rows are solved in seconds; dense
ones above about 40 rows rarely are, and then the time limit gives a bound.

The argument `bordered` is True for the cut norm and False for the infinity-to-one norm.
"""

import math
from typing import Any, NamedTuple

import highspy
import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatArray
from graphcuts_dp.cutnorm.operand import Operand, gamma
from graphcuts_dp.errors import MatrixError
from graphcuts_dp.resources import NEVER, Deadline

MAX_SIDE = 30  # rows or columns, whichever are fewer, up to which sets are enumerated
MAX_ENTRIES = 20_000  # non-zero entries up to which branch and bound is tried
_TABLE_BITS = 12  # low rows, at most
_TABLE_ENTRIES = 1 << 18  # entries of the table of column sums, at most: 2 MiB, which caches hold
_STEPS_PER_FRESH_SUM = 64  # steps after which column sums are computed anew and the clock is read
_HIGHS_ERROR = 1e-6  # share of the absolute sum that HiGHS's tolerances may hide


class Optimum(NamedTuple):
    """The best sets that an exact method has tried, and an upper bound on the norm.

    Attributes:
        S: mask of rows, shape (n1,).
        T: mask of columns, shape (n2,).
        upper: at least the norm. From an enumeration it is proven: the computed maximum plus the
            rounding error of the table, which integers do not have. From branch and bound it
            relies on HiGHS being right up to its tolerances, for which 1e-6 of the sum of absolute
            entries is added. Infinite if the time ran out before there was a bound.
        finished: whether all sets were tried.
    """

    S: BoolVector
    T: BoolVector
    upper: float
    finished: bool


def enumerate_cuts(operand: Operand, *, bordered: bool, deadline: Deadline = NEVER) -> Optimum:
    """Try every set of the shorter side.

    Args:
        operand: the matrix, dense or sparse, shorter side at most 30. The time doubles with each
            row.
        bordered: cut norm (True) or infinity-to-one norm (False).
        deadline: when to stop.

    Raises:
        MatrixError: the shorter side is above 30, or the matrix is an operator.
    """
    operand.require_entries("exact")
    dense = operand.dense()
    if min(dense.shape) > MAX_SIDE:
        raise MatrixError(
            f"the exact method tries 2^{min(dense.shape)} sets, 2^{MAX_SIDE} at most; "
            'use method="low-rank"'
        )
    transpose = dense.shape[0] > dense.shape[1]
    matrix = np.ascontiguousarray(dense.T if transpose else dense)  # the rows are fewer
    largest, row_set, finished = _largest_over_row_sets(matrix, bordered, deadline)
    sums = matrix.T @ (row_set.astype(np.float64) if bordered else 2.0 * row_set - 1.0)
    if bordered:
        upward = np.maximum(sums, 0).sum() >= np.maximum(-sums, 0).sum()
        column_set = sums > 0 if upward else sums < 0
    else:
        column_set = sums >= 0
    rounding = 0.0
    if not operand.is_integer:
        # A column sum passes through the table, 64 Gray steps and a fresh sum. Intermediate sums
        # reach three times the absolute sum.
        rounding = 3.0 * gamma(sum(matrix.shape) + 96) * operand.absolute.total * 1.01
    S, T = (column_set, row_set) if transpose else (row_set, column_set)
    return Optimum(S, T, largest + rounding if finished else np.inf, finished)


def _largest_over_row_sets(
    matrix: FloatArray, bordered: bool, deadline: Deadline
) -> tuple[float, BoolVector, bool]:
    """Return the largest value over all sets of rows, that set, and whether all were tried.

    A vector of indicators 0, 1 is the sum of its rows. A vector of signs is 2 (indicators) - 1:
    the same with each row taken twice and all rows taken off once.
    """
    m, n = matrix.shape
    low_rows = 1
    if n < _TABLE_ENTRIES:
        low_rows = min(m, _TABLE_BITS, max(1, int(np.log2(_TABLE_ENTRIES / n))))
    offset, factor = (np.zeros(n), 1.0) if bordered else (-matrix.sum(axis=0), 2.0)
    # table[:, code]: column sums of the low rows in the set of this code, (n, 2^low_rows)
    table = np.zeros((n, 1))
    for row in range(low_rows):
        table = np.concatenate((table, table + factor * matrix[row][:, None]), axis=1)
    sums, values = np.empty_like(table), np.empty(table.shape[1])
    largest, best_code, finished = -1.0, 0, True
    # A sign vector and its opposite have the same value, so the last sign is fixed.
    high_sets = 1 << max(0, m - low_rows - (0 if bordered else 1))
    high_sums = offset.copy()  # column sums of the high rows in the present set, (n,)
    for step in range(high_sets):
        gray_code = step ^ (step >> 1)  # differs from that of the last step in one bit
        if step % _STEPS_PER_FRESH_SUM == 0:  # so that rounding errors do not pile up
            bits = (gray_code >> np.arange(m - low_rows)) & 1
            high_sums = offset + factor * (bits @ matrix[low_rows:])
            if deadline.passed():
                finished = False
                break
        else:
            flipped = (step & -step).bit_length() - 1
            enters = gray_code >> flipped & 1
            high_sums += (factor if enters else -factor) * matrix[low_rows + flipped]
        np.add(table, high_sums[:, None], out=sums)
        if bordered:
            totals = sums.sum(axis=0)
        np.abs(sums, out=sums)
        sums.sum(axis=0, out=values)
        if bordered:
            values += np.abs(totals)
        low_code = int(values.argmax())
        if values[low_code] > largest:
            largest, best_code = float(values[low_code]), (gray_code << low_rows) | low_code
    row_set = (best_code >> np.arange(m)) & 1 == 1
    return largest * (0.5 if bordered else 1.0), row_set, finished


def solve_program(operand: Operand, *, bordered: bool, deadline: Deadline = NEVER) -> Optimum:
    """Maximise over all pairs of sets by branch and bound.

    Args:
        operand: the matrix, dense or sparse, at most 20,000 non-zero entries.
        bordered: cut norm (True: both signs of the sum are tried) or infinity-to-one norm (False:
            opposite signs have the same value).
        deadline: when to stop. The first sign gets half of the time.

    Raises:
        MatrixError: an operator, or too many entries.
    """
    operand.require_entries("exact")
    rows, columns = operand.data.nonzero()
    if len(rows) > MAX_ENTRIES:
        raise MatrixError(
            f'the exact method takes at most {MAX_ENTRIES:,} non-zero entries; use "low-rank"'
        )
    entries = np.asarray(operand.data[rows, columns], dtype=np.float64).ravel()
    sides = sum(operand.shape)
    variables = np.stack([rows, operand.shape[0] + columns])  # s_i and t_j of each entry
    best_value, upper, finished = -1.0, 0.0, True
    chosen = np.zeros(sides, dtype=np.bool_)  # rows, then columns
    signs = (1.0, -1.0) if bordered else (1.0,)
    for programs_left, sign in zip(range(len(signs), 0, -1), signs, strict=True):
        solver, constant = _program(variables, sign * entries, sides, bordered=bordered)
        seconds = deadline.seconds_left
        if seconds is not None:
            solver.setOptionValue("time_limit", seconds / programs_left)
        solver.run()
        info, status = solver.getInfo(), solver.getModelStatus()
        dual_bound = float(info.mip_dual_bound)
        bound = dual_bound if math.isfinite(dual_bound) else math.inf
        # HiGHS calls a program empty if it has no rows, as that of a zero matrix. Its value is 0.
        is_empty = status == highspy.HighsModelStatus.kModelEmpty
        finished &= is_empty or status == highspy.HighsModelStatus.kOptimal
        upper = max(upper, constant + (0.0 if is_empty else bound))
        value = float(info.objective_function_value) + constant
        solution = np.array(solver.getSolution().col_value)
        if len(solution) and math.isfinite(value) and value > best_value:
            best_value, chosen = value, solution[:sides] > 0.5
    S, T = np.split(chosen, [operand.shape[0]])
    return Optimum(S, T, upper + _HIGHS_ERROR * operand.absolute.total, finished)


def _program(
    variables: npt.NDArray[np.integer], entries: FloatArray, sides: int, *, bordered: bool
) -> tuple[Any, float]:
    """Return a solver of one maximisation, and a constant that its objective lacks.

    Variables are s and t, then one w for each non-zero entry. Constraints are w - s <= 0 and
    w - t <= 0 for positive entries, and w - s - t >= -1 for negative ones.

    Args:
        variables: numbers of s and t of each non-zero entry, shape (2, entries); columns are
            numbered on from the rows.
        entries: the non-zero entries a_ij, shape (entries,).
        sides: number of rows and columns.
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    linear, constant = np.zeros(sides), 0.0
    if not bordered:
        # Signs are 2 s - 1 and 2 t - 1, and (2 s - 1)(2 t - 1) = 4 w - 2 s - 2 t + 1.
        np.subtract.at(linear, variables[0], 2 * entries)
        np.subtract.at(linear, variables[1], 2 * entries)
        constant, entries = float(entries.sum()), 4 * entries
    variable_count = sides + len(entries)
    lp: Any = highspy.HighsLp()
    lp.num_col_ = variable_count
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = np.concatenate([linear, entries])
    lp.col_lower_, lp.col_upper_ = np.zeros(variable_count), np.ones(variable_count)
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger] * sides + [kinds.kContinuous] * len(entries)

    products = sides + np.arange(len(entries))  # numbers of the variables w
    positive, negative = entries > 0, entries < 0
    pairs = [  # (w, s), then (w, t)
        np.stack([products[positive], side_variables[positive]], axis=1)
        for side_variables in variables
    ]
    triples = np.stack(  # (w, s, t)
        [products[negative], variables[0][negative], variables[1][negative]], axis=1
    )
    pair_count = 2 * int(positive.sum())
    lengths = np.repeat([2, 3], [pair_count, len(triples)])  # of the constraints
    lp.num_row_ = len(lengths)
    lp.row_lower_ = np.where(lengths == 2, -highspy.kHighsInf, -1)
    lp.row_upper_ = np.where(lengths == 2, 0, highspy.kHighsInf)
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    matrix.index_ = np.concatenate([*pairs, triples], axis=None).astype(np.int32)
    pair_values, triple_values = np.array([1.0, -1.0]), np.array([1.0, -1.0, -1.0])
    matrix.value_ = np.concatenate(
        [np.tile(pair_values, pair_count), np.tile(triple_values, len(triples))]
    )
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-9}
    for option, setting in options.items():
        solver.setOptionValue(option, setting)
    solver.passModel(lp)
    return solver, constant
