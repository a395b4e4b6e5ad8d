"""The capped Chung-Lu matrix: what a graph of given degrees and no other structure expects.

The matrix min(1, r_i c_j) has a factor r_i for each row and c_j for each column; the minimum keeps
entries within [0, 1], so that they can be probabilities of edges. `chung_lu_factors` finds the
factors for given row and column sums (the degrees). A symmetric matrix has r = c, and a matrix is
*hollow* if its diagonal is zero, since no vertex is paired with itself.

The two helpers at the end know one side's factors and look at the other side's. So t_i stands for
the known factors and s_j for the others, rows or columns.
"""

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector

MAX_ROUNDS = 2000  # real graphs take 30 to 130, graphs near a star many more
_TOLERANCE = 1e-9  # error of a sum, in mean degrees, at which it counts as reached
_STANDSTILL = 1e-13  # change of a sum in a round, in mean degrees, at which going on is useless
_LARGEST_FACTOR = 1e100  # factors of sums that nothing reaches would tend to infinity or to 0
_SMALLEST_DEGREE = 1e-30  # wanted sums below it count as 0


def chung_lu_factors(
    rows: npt.ArrayLike,
    columns: npt.ArrayLike | None = None,
    *,
    hollow: bool = True,
    max_rounds: int = MAX_ROUNDS,
) -> tuple[FloatVector, FloatVector]:
    """Return the r and c for which the matrix min(1, r_i c_j) has given row and column sums.

    Two sides (not symmetric): all rows are solved for r with c fixed, then all columns for c with r
    fixed, and so on: iterative proportional fitting with a cap.

    Symmetric, r = c: every row is solved for its own factor with all others fixed, and the factor
    becomes the geometric mean of its old and its solved value. So its logarithm makes half of the
    step; with whole steps both endpoints of a pair would make up for the same error. Half steps
    converge: the row sums minus the degrees are the gradient of a convex function of the
    logarithms, and half steps minimise another function, which is nowhere less and touches the
    first one at the old values. So the convex function falls in every round. Graphs near a star are
    slow, since their factors tend to 0 and infinity.

    Hollow: the wanted sum of a row is raised by the row's diagonal entry min(1, r_i c_i) of the
    round before. It is a small part of a row and stands still after a few rounds.

    A row is solved exactly from sorted prefix sums, so a round takes O(n log n).

    Args:
        rows: wanted row sums, shape (n_left,), finite. Negative ones count as 0. A sum larger than
            the number of columns with a positive sum is cut to that number.
        columns: wanted column sums, shape (n_right,), with the same rules; None if the matrix is
            symmetric. If the totals of rows and columns differ, both are scaled to their mean.
        hollow: whether the matrix has a zero diagonal.
        max_rounds: stop after so many rounds even if the sums do not match yet.

    Returns:
        r and c, shapes (n_left,) and (n_right,), >= 0; one object twice if the matrix is symmetric.
        Sums match to 1e-9 of the mean degree if some positive factors have those sums and
        `max_rounds` allows. Otherwise (a few rows want more than all others can give) they are as
        near as the rounds came.

    Source: Chung, Lu, "Connected components in random graphs with given expected degree
    sequences", 2002; there without the cap, for which max t_i t_j <= 1 is assumed.
    """
    symmetric = columns is None
    row_sums = np.maximum(np.array(rows, dtype=np.float64), 0.0)
    column_sums = (
        row_sums if columns is None else np.maximum(np.array(columns, dtype=np.float64), 0.0)
    )
    r, c = np.zeros(len(row_sums)), np.zeros(len(column_sums))
    # Rows and columns that take part; the factors of all others stay 0.
    used_rows, used_columns = row_sums > _SMALLEST_DEGREE, column_sums > _SMALLEST_DEGREE
    if not used_rows.any() or not used_columns.any() or (symmetric and used_rows.sum() < 2):
        return (c, c) if symmetric else (r, c)

    def diagonal(used: BoolVector) -> FloatVector:
        """Return the entries min(1, r_i c_i) that a hollow matrix lacks; zeros if it lacks none."""
        return np.minimum(r * c, 1.0)[used] if hollow else np.zeros(int(used.sum()))

    total = (row_sums.sum() + column_sums.sum()) / 2
    if hollow:  # a used row cannot count the column of its own vertex
        largest_row, largest_column = (
            used_columns.sum() - used_columns,
            used_rows.sum() - used_rows,
        )
    else:
        largest_row, largest_column = used_columns.sum(), used_rows.sum()
    # Both sides scaled to the mean total, and cut to what is possible; of the used ones alone.
    row_target = np.minimum(row_sums * (total / row_sums.sum()), largest_row)[used_rows]
    column_target = np.minimum(column_sums * (total / column_sums.sum()), largest_column)
    column_target = column_target[used_columns]
    # Without a cap, the matrix d_i d_j / sum d has the degrees d: start from its factors.
    start = column_target / np.sqrt(max(column_target.sum(), _SMALLEST_DEGREE))
    c[used_columns] = np.clip(start, 1 / _LARGEST_FACTOR, _LARGEST_FACTOR)
    previous_sums = np.full_like(column_target, np.inf)
    for _ in range(max_rounds):
        if symmetric:  # r is c before this round
            r[used_rows] = c[used_columns]
        else:
            r[used_rows] = _solve_factors(c[used_columns], row_target + diagonal(used_rows))
        diagonal_entries = diagonal(used_columns)
        sums = _capped_sums(r[used_rows], c[used_columns]) - diagonal_entries
        if _converged(sums, previous_sums, column_target):
            break
        solved = _solve_factors(r[used_rows], column_target + diagonal_entries)
        c[used_columns] = np.sqrt(c[used_columns] * solved) if symmetric else solved
        previous_sums = sums
    return (c, c) if symmetric else (r, c)


def _converged(sums: FloatVector, previous_sums: FloatVector, target: FloatVector) -> bool:
    """Tell whether the sums reach the target, or move no more."""
    mean_degree = target.mean()
    reached = np.abs(sums - target).max() <= _TOLERANCE * mean_degree
    return bool(reached or np.abs(sums - previous_sums).max() <= _STANDSTILL * mean_degree)


def _sorted_with_tails(t: FloatVector) -> tuple[FloatVector, FloatVector]:
    """Return t in falling order, and for k = 0..n the sum of all of t but the k largest."""
    falling = np.sort(t)[::-1]
    tails = np.zeros(len(t) + 1)
    tails[:-1] = np.cumsum(falling[::-1])[::-1]
    return falling, tails


def _capped_sums(t: FloatVector, s: FloatVector) -> FloatVector:
    """Return sum over i of min(1, t_i s_j), for each j."""
    falling, tails = _sorted_with_tails(t)
    # The entries with t_i >= 1/s_j are capped, and count 1 each.
    capped = len(t) - np.searchsorted(falling[::-1], 1.0 / s, side="left")
    return np.asarray(capped + s * tails[capped])


def _solve_factors(t: FloatVector, target: FloatVector) -> FloatVector:
    """Return the s_j with sum over i of min(1, t_i s_j) = target_j, for 0 < target_j <= len(t).

    The sum rises with s_j. With t in falling order, the first entries are capped first. If exactly
    k of them are, the sum is k + s_j tails[k], where tails[k] is the sum of the other t's; this is
    solved for s_j. To find k, the sum is computed at each s_j where one more entry reaches the cap,
    and the target is compared with these sums.
    """
    falling, tails = _sorted_with_tails(t)
    k = np.arange(1, len(t) + 1)
    # The sum at s = 1/(k-th largest t), where the k-th entry just reaches 1. It rises with k; the
    # running maximum repairs what rounding breaks of that.
    sum_when_capped = np.maximum.accumulate(k + tails[1:] / falling)
    capped = np.searchsorted(sum_when_capped, target, side="right")
    all_capped = capped == len(t)
    tail = np.where(all_capped, 1.0, tails[capped])
    solution = np.where(all_capped, 1.0 / falling[-1], (target - capped) / tail)
    return np.clip(solution, 1 / _LARGEST_FACTOR, _LARGEST_FACTOR)
