"""Expected graphs with given degrees: x_ij = min(1, t_i t_j)."""

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector

TOLERANCE = 1e-9  # of a row sum, relative to the mean degree
MAX_ROUNDS = 2000
_STANDSTILL = 1e-13  # change of the sums in a round, likewise, at which there is no use to go on
_LARGEST = 1e100
_SMALLEST = 1e-30  # lower degrees are zeros


def chung_lu_ends(degrees: npt.ArrayLike, *, max_rounds: int = MAX_ROUNDS) -> FloatVector:
    """The t whose matrix min(1, t_i t_j), with zero diagonal, has the given degrees as row sums.

    In a = ln t, the row sums are the gradient of a convex function less the degrees. A round solves
    every row for its own t_i with the others held, and goes half of the way in a: since both ends
    of a pair move, that minimises a majorant of the function. A row is solved exactly from sorted
    prefix sums, so a round takes O(n log n). Real graphs take 30 to 130 rounds; slow are graphs
    near a star, whose t are near 0 and infinity.

    Args:
        degrees: shape (n,), finite. Each is first brought into 0 .. number of other vertices of
            positive degree, which no row sum can leave.
        max_rounds: stop after so many rounds even if the sums do not match yet.

    Returns:
        t >= 0, shape (n,). Row sums match to 1e-9 of the mean degree if
        some t > 0 has those sums and max_rounds allows. Otherwise (a few degrees take more than
        the others have to give) they are as near as the rounds came.

    Source: Chung, Lu, "Connected components in random graphs with given expected degree
    sequences", 2002; there without the cap, for which max t_i t_j <= 1 is assumed.
    """
    wanted = np.array(degrees, dtype=np.float64)
    positive = wanted > _SMALLEST
    target = np.clip(wanted[positive], 0.0, max(positive.sum() - 1, 0))
    ends = np.zeros(len(wanted))
    if len(target) < 2:
        return ends
    t = np.clip(target / np.sqrt(target.sum()), 1 / _LARGEST, _LARGEST)
    before = np.full_like(t, np.inf)
    for _ in range(max_rounds):
        loops = np.minimum(t * t, 1.0)
        sums = _sums(t, t) - loops
        if _settled(sums, before, target):
            break
        t, before = np.sqrt(t * _solve(t, target + loops)), sums
    ends[positive] = t
    return ends


def chung_lu_directed_ends(
    rows: npt.ArrayLike, columns: npt.ArrayLike, *, max_rounds: int = MAX_ROUNDS
) -> tuple[FloatVector, FloatVector]:
    """The r and c whose matrix min(1, r_i c_j), with zero diagonal, has given row and column sums.

    As `chung_lu_bipartite_ends`; to what a row is to have, what its entry on the diagonal would be
    is added as the last step tells it, a small part of a row, which settles in a few rounds.

    Args:
        rows: wanted out-degrees, shape (n,), finite; negative ones count as 0. If the totals of
            rows and columns differ, both are scaled to their mean.
        columns: wanted in-degrees, likewise.
        max_rounds: stop after so many rounds even if the sums do not match yet.

    Returns:
        r and c, shape (n,) each, >= 0; sums as for `chung_lu_ends`.
    """
    return _two_sided_ends(rows, columns, max_rounds, hollow=True)


def chung_lu_bipartite_ends(
    rows: npt.ArrayLike, columns: npt.ArrayLike, *, max_rounds: int = MAX_ROUNDS
) -> tuple[FloatVector, FloatVector]:
    """The r and c whose matrix min(1, r_i c_j) has given row and column sums.

    Rows and columns are solved in turn, each exactly: iterative proportional fitting with a cap.

    Args:
        rows: wanted row sums, shape (n_left,), finite; negative ones count as 0. If the totals of
            rows and columns differ, both are scaled to their mean.
        columns: wanted column sums, shape (n_right,), likewise.
        max_rounds: stop after so many rounds even if the sums do not match yet.

    Returns:
        r and c, shapes (n_left,) and (n_right,), >= 0; sums as for `chung_lu_ends`.
    """
    return _two_sided_ends(rows, columns, max_rounds, hollow=False)


def _two_sided_ends(
    rows: npt.ArrayLike, columns: npt.ArrayLike, max_rounds: int, *, hollow: bool
) -> tuple[FloatVector, FloatVector]:
    """Rows and columns in turn; a hollow matrix has no entry on its diagonal."""
    wanted, others = (np.maximum(np.array(x, dtype=np.float64), 0.0) for x in (rows, columns))
    r, c = np.zeros(len(wanted)), np.zeros(len(others))
    left, right = wanted > _SMALLEST, others > _SMALLEST
    if not left.any() or not right.any():
        return r, c

    def loops(where: BoolVector) -> FloatVector:
        return np.minimum(r * c, 1.0)[where] if hollow else np.zeros(int(where.sum()))

    total = (wanted.sum() + others.sum()) / 2
    most = (right.sum() - right, left.sum() - left) if hollow else (right.sum(), left.sum())
    row_target = np.minimum(wanted * (total / wanted.sum()), most[0])[left]
    column_target = np.minimum(others * (total / others.sum()), most[1])[right]
    start = column_target / np.sqrt(max(column_target.sum(), _SMALLEST))
    c[right] = np.clip(start, 1 / _LARGEST, _LARGEST)
    before = np.full_like(column_target, np.inf)
    for _ in range(max_rounds):
        r[left] = _solve(c[right], row_target + loops(left))
        lost = loops(right)
        sums = _sums(r[left], c[right]) - lost
        if _settled(sums, before, column_target):
            break
        c[right], before = _solve(r[left], column_target + lost), sums
    return r, c


def _settled(sums: FloatVector, before: FloatVector, target: FloatVector) -> bool:
    scale = target.mean()
    near = np.abs(sums - target).max() <= TOLERANCE * scale
    return bool(near or np.abs(sums - before).max() <= _STANDSTILL * scale)


def _sorted_with_tails(t: FloatVector) -> tuple[FloatVector, FloatVector]:
    """The t from the largest down, and for k = 0..n the sum of all but the k largest."""
    falling = np.sort(t)[::-1]
    tails = np.zeros(len(t) + 1)
    tails[:-1] = np.cumsum(falling[::-1])[::-1]
    return falling, tails


def _sums(t: FloatVector, others: FloatVector) -> FloatVector:
    """Sum over i of min(1, t_i o_j), for each j."""
    falling, tails = _sorted_with_tails(t)
    # Capped are the t_i >= 1/o_j.
    capped = len(t) - np.searchsorted(falling[::-1], 1.0 / others, side="left")
    return np.asarray(capped + others * tails[capped])


def _solve(t: FloatVector, target: FloatVector) -> FloatVector:
    """The s_j with sum over i of min(1, t_i s_j) = target_j, for 0 < target_j <= len(t)."""
    falling, tails = _sorted_with_tails(t)
    k = np.arange(1, len(t) + 1)
    # The sum at s = 1/(k-th largest t), where the k-th entry just reaches its cap.
    at_cap = np.maximum.accumulate(k + tails[1:] / falling)
    capped = np.searchsorted(at_cap, target, side="right")
    full = capped == len(t)
    tail = np.where(full, 1.0, tails[capped])
    solution = np.where(full, 1.0 / falling[-1], (target - capped) / tail)
    # Sums that nothing reaches send t to 0 and infinity.
    return np.clip(solution, 1 / _LARGEST, _LARGEST)
