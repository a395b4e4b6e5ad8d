"""Exact methods for the cut norm and the infinity-to-one norm: enumeration and branch and bound.

The cut norm of A, shape (n1, n2), is the largest |A(S, T)|, where A(S, T) is the sum of a_ij over
the rows i in S and the columns j in T. The infinity-to-one norm is the largest x^T A y over signs
x, y; its sets S and T hold the rows and columns of sign +1. The argument `bordered` is True for the
cut norm and False for the infinity-to-one norm.

**Enumeration** tries every set of the shorter side, with the best set of the other side. With the
column sums c = A^T 1_S, the best T takes the positive or the negative entries of c, so

    max_T |A(S, T)| = (sum_j |c_j| + |sum_j c_j|) / 2,

and for signs x the best y gives ||A^T x||_1. A set is a code: bit i says whether row i is in it.
The rows are split. The column sums of all sets of the *low rows*, the first twelve or fewer, are
tabulated once. Sets of the other, *high rows* follow each other in Gray code order: in each step
one high row enters or leaves, which adds the same vector to all columns of the table.

**Branch and bound** by HiGHS is for matrices too large to enumerate. Binary variables s_i and t_j
say whether row i is in S and column j in T. Each non-zero entry a_ij has a variable w_ij in [0, 1]
for the product s_i t_j, and sum a_ij w_ij is maximised. So w_ij needs only an upper limit if
a_ij > 0 (w_ij <= s_i and w_ij <= t_j), and only a lower one if a_ij < 0 (w_ij >= s_i + t_j - 1).
Sparse matrices of a hundred rows are solved in seconds; dense ones above about 40 rows rarely are.
HiGHS then stops at the time limit and returns the upper bound that it has reached.
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
_TABLE_BITS = 12  # low rows, at most; the table has 2^12 columns then
_TABLE_ENTRIES = 1 << 18  # entries of the table of column sums, at most: 2 MiB, which caches hold
# Gray code steps after which the column sums of the high rows are computed anew, so that rounding
# errors do not pile up, and the clock is read. The rounding bound of `enumerate_cuts` relies on it.
_STEPS_PER_FRESH_SUM = 64
_HIGHS_ERROR = 1e-6  # share of the absolute sum that HiGHS's tolerances may hide


class Optimum(NamedTuple):
    """The best sets that an exact method has tried, and an upper bound on the norm.

    Attributes:
        S: mask of rows, shape (n1,).
        T: mask of columns, shape (n2,).
        upper: at least the norm. From an enumeration it is proven: the computed maximum plus the
            rounding error of the column sums, which matrices of integers do not have; infinite if
            the time ran out. From branch and bound it relies on HiGHS being right up to its
            tolerances, for which 1e-6 of the sum of absolute entries is added; infinite if the time
            ran out before there was a bound.
        finished: True if S, T is optimal: an enumeration tried all sets, or HiGHS closed the gap.
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
    dense = operand.dense()  # float64, in the unit of the operand
    if min(dense.shape) > MAX_SIDE:
        raise MatrixError(
            f"the exact method tries 2^{min(dense.shape)} sets, 2^{MAX_SIDE} at most; "
            'use method="low-rank"'
        )
    transpose = dense.shape[0] > dense.shape[1]
    matrix = np.ascontiguousarray(dense.T if transpose else dense)  # (m, n), m <= n
    largest, row_set, finished = _largest_over_row_sets(matrix, bordered, deadline)
    # The best columns for these rows: of one sign for the cut norm, else those of positive sum.
    sums = matrix.T @ (row_set.astype(np.float64) if bordered else 2.0 * row_set - 1.0)
    if bordered:
        takes_positive = np.maximum(sums, 0).sum() >= np.maximum(-sums, 0).sum()
        column_set = sums > 0 if takes_positive else sums < 0
    else:
        column_set = sums >= 0
    rounding = 0.0
    if not operand.is_integer:
        # A column sum is the sum of a table entry (m roundings at most) and of a sum of high rows
        # (computed anew, then up to 64 Gray code steps). Intermediate sums reach three times the
        # absolute sum of the column: with signs each row counts twice, and `offset` once.
        # So each of the n column sums is off by at most gamma of m + 64 terms and a few more, times
        # three times its absolute sum, and adding them up takes n terms: m + n + 96 covers both.
        # The factor 1.01 covers the roundings of this line and of `largest + rounding`.
        rounding = 3.0 * gamma(sum(matrix.shape) + 96) * operand.absolute.total * 1.01
    S, T = (column_set, row_set) if transpose else (row_set, column_set)
    return Optimum(S, T, largest + rounding if finished else np.inf, finished)


def _largest_over_row_sets(
    matrix: FloatArray, bordered: bool, deadline: Deadline
) -> tuple[float, BoolVector, bool]:
    """Return the largest value over all sets of rows, that set, and whether all were tried.

    For indicators x in {0, 1} the column sums x^T A add up the rows of the set. Signs are
    x = 2 (indicators) - 1, so x^T A is twice the sum of the rows of the set, less the sum of all
    rows. In general: `factor` times the rows of the set, plus `offset`, which high sums include.

    Args:
        matrix: shape (m, n), m <= 30.
        bordered: cut norm (True) or infinity-to-one norm (False).
        deadline: when to stop; the set is then the best one so far.
    """
    m, n = matrix.shape
    low_rows = 1  # a table of at least two columns, however long they are
    if n < _TABLE_ENTRIES:
        low_rows = min(m, _TABLE_BITS, max(1, int(np.log2(_TABLE_ENTRIES / n))))
    offset, factor = (np.zeros(n), 1.0) if bordered else (-matrix.sum(axis=0), 2.0)
    # table[:, code]: `factor` times the column sums of the set of low rows with this code,
    # (n, 2^low_rows). Each step doubles it; the second half holds the sets with this row.
    table = np.zeros((n, 1))
    for row in range(low_rows):
        table = np.concatenate((table, table + factor * matrix[row][:, None]), axis=1)
    sums, values = np.empty_like(table), np.empty(table.shape[1])
    largest, best_code, finished = -1.0, 0, True  # -1: below all values, which are at least 0
    # A sign vector and its opposite have the same value. So row m - 1 keeps the sign -1: its bit,
    # the highest, is 0 in all sets that are tried (if there are high rows).
    high_sets = 1 << max(0, m - low_rows - (0 if bordered else 1))
    # `offset` plus `factor` times the column sums of the present set of high rows, (n,)
    high_sums = offset.copy()
    for step in range(high_sets):
        # The set of high rows: bit i is row low_rows + i. It differs in one bit from the last one.
        gray_code = step ^ (step >> 1)
        if step % _STEPS_PER_FRESH_SUM == 0:
            bits = (gray_code >> np.arange(m - low_rows)) & 1
            high_sums = offset + factor * (bits @ matrix[low_rows:])
            if deadline.passed():
                finished = False
                break
        else:
            flipped = (step & -step).bit_length() - 1  # the bit that changed: lowest 1 of `step`
            enters = gray_code >> flipped & 1
            high_sums += (factor if enters else -factor) * matrix[low_rows + flipped]
        np.add(table, high_sums[:, None], out=sums)  # c of all sets with these high rows
        if bordered:
            totals = sums.sum(axis=0)  # before `sums` is overwritten by absolute values
        np.abs(sums, out=sums)
        sums.sum(axis=0, out=values)  # sum_j |c_j| of each set: the value for signs
        if bordered:
            values += np.abs(totals)  # twice the value; halved in the end
        low_code = int(values.argmax())
        if values[low_code] > largest:
            largest, best_code = float(values[low_code]), (gray_code << low_rows) | low_code
    row_set = (best_code >> np.arange(m)) & 1 == 1
    return largest * (0.5 if bordered else 1.0), row_set, finished


def solve_program(operand: Operand, *, bordered: bool, deadline: Deadline = NEVER) -> Optimum:
    """Maximise over all pairs of sets by branch and bound.

    Args:
        operand: the matrix, dense or sparse, at most 20,000 non-zero entries.
        bordered: cut norm or infinity-to-one norm. For the cut norm (True) two programs are solved,
            for the largest A(S, T) and the largest -A(S, T). For the infinity-to-one norm (False)
            one is enough, as -x and y give the opposite value.
        deadline: when to stop. Of two programs the first gets half of the time, and the second all
            that is left then.

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
    sides = sum(operand.shape)  # number of rows and columns
    # Numbers of the variables s_i and t_j of each non-zero entry, (2, entries).
    variables = np.stack([rows, operand.shape[0] + columns])
    # A norm is at least 0; a value of -1 gives way to the first solution.
    best_value, upper, finished = -1.0, 0.0, True
    chosen = np.zeros(sides, dtype=np.bool_)  # mask S of the best solution, followed by its T
    signs = (1.0, -1.0) if bordered else (1.0,)
    for index, sign in enumerate(signs):
        solver, constant = _program(variables, sign * entries, sides, bordered=bordered)
        programs_left = len(signs) - index  # with this one
        seconds = deadline.seconds_left  # None without a deadline
        if seconds is not None:
            solver.setOptionValue("time_limit", seconds / programs_left)
        solver.run()
        info, status = solver.getInfo(), solver.getModelStatus()
        dual_bound = float(info.mip_dual_bound)
        bound = dual_bound if math.isfinite(dual_bound) else math.inf
        # HiGHS calls a program empty if it has no constraints, as that of a zero matrix. Its
        # largest value is 0, whatever the reported bound.
        is_empty = status == highspy.HighsModelStatus.kModelEmpty
        finished &= is_empty or status == highspy.HighsModelStatus.kOptimal
        upper = max(upper, constant + (0.0 if is_empty else bound))
        value = float(info.objective_function_value) + constant
        solution = np.array(solver.getSolution().col_value)  # of s, t, w; empty if none was found
        if len(solution) and math.isfinite(value) and value > best_value:
            best_value, chosen = value, solution[:sides] > 0.5
    S, T = np.split(chosen, [operand.shape[0]])
    return Optimum(S, T, upper + _HIGHS_ERROR * operand.absolute.total, finished)


def _program(
    variables: npt.NDArray[np.integer], entries: FloatArray, sides: int, *, bordered: bool
) -> tuple[Any, float]:
    """Return a solver of one maximisation, and the constant to add to its objective.

    Variables are numbered: s and t first, then one w for each non-zero entry. Constraints are
    w - s <= 0 and w - t <= 0 for positive entries, and w - s - t >= -1 for negative ones. The
    objective is sum a_ij w_ij; for signs see below.

    Args:
        variables: numbers of s and t of each non-zero entry, shape (2, entries); columns are
            numbered on from the rows.
        entries: the non-zero entries a_ij, shape (entries,).
        sides: number of rows and columns.
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    linear, constant = np.zeros(sides), 0.0
    if not bordered:
        # Signs are 2 s - 1 and 2 t - 1, and (2 s - 1)(2 t - 1) = 4 w - 2 s - 2 t + 1. So each entry
        # a_ij adds 4 a_ij to the coefficient of w, -2 a_ij to those of s and t, and a_ij to the
        # constant, which HiGHS does not get.
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
    # The constraints come in this order: w - s <= 0 and then w - t <= 0 for all positive entries,
    # each a pair of variables; then w - s - t >= -1 for all negative ones, triples of variables.
    # HiGHS takes the variables' numbers and coefficients of all constraints in one flat list each,
    # and the index at which each constraint starts.
    pairs = [  # two arrays of shape (positive entries, 2): (w, s) and (w, t)
        np.stack([products[positive], side_variables[positive]], axis=1)
        for side_variables in variables
    ]
    triples = np.stack(  # (w, s, t), shape (negative entries, 3)
        [products[negative], variables[0][negative], variables[1][negative]], axis=1
    )
    pair_count = 2 * int(positive.sum())
    lengths = np.repeat([2, 3], [pair_count, len(triples)])  # number of variables, by constraint
    lp.num_row_ = len(lengths)
    lp.row_lower_ = np.where(lengths == 2, -highspy.kHighsInf, -1)
    lp.row_upper_ = np.where(lengths == 2, 0, highspy.kHighsInf)
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    matrix.index_ = np.concatenate([*pairs, triples], axis=None).astype(np.int32)
    # Coefficients of w - s (or w - t), and of w - s - t.
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
