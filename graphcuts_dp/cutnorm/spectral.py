"""The normalised cut norm ||A||_NC = max |A(S, T)| / sqrt(|S||T|), by prefixes of singular vectors.

A *prefix* of a vector is the set of its k largest entries, for some k. `prefix_cuts` looks for good
sets among pairs of prefixes and improves them, `largest_singular_value` bounds the norm from above,
and `exact_normalised` tries all sets of small matrices.

**Upper bound.** A(S, T) = 1_S^T A 1_T <= sigma_1(A) sqrt(|S||T|), so ||A||_NC <= sigma_1(A).

**Lower bound.** Let p, q be unit vectors with p^T A q = sigma_1. For x, y >= 0 with entries in
decreasing order x_1 >= x_2 >= ..., write x = sum_k (x_k - x_{k+1}) 1_{S_k} with S_k the k largest
entries, and y alike with T_l. If N is the largest |A(S_k, T_l)| / sqrt(k l), then

    x^T A y <= N (sum_k (x_k - x_{k+1}) sqrt(k)) (sum_l (y_l - y_{l+1}) sqrt(l)),
    sum_k (x_k - x_{k+1}) sqrt(k) = sum_k x_k (sqrt(k) - sqrt(k-1)) <= ||x|| sqrt(H_n),

with H_n = sum_k (sqrt(k) - sqrt(k-1))^2 ~ (ln n)/4 + 1; the equality is summation by parts, the
last step Cauchy-Schwarz. Now p = p+ - p- and q = q+ - q- with positive and negative parts, so
sigma_1 is a signed sum of four such forms, of the pairs (p+ or p-, q+ or q-). Each is at most
N sqrt(H_n1 H_n2) times the product of its norms, and these products sum to
(||p+|| + ||p-||)(||q+|| + ||q-||) <= 2. So

    sigma_1(A) <= 2 sqrt(H_n1 H_n2) N <= 2 sqrt(H_n1 H_n2) ||A||_NC,

and the best of all prefix pairs of the four pairs is within that factor of the norm.

Source: Nikiforov 2009, sharpened: H_n in place of buckets by powers of two; GRU12 section 6.2.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import ArpackError, LinearOperator, svds

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatArray, RealMatrix
from graphcuts_dp.cutnorm.certificate import UpperBound
from graphcuts_dp.cutnorm.cut_search import CutBatch, best_cuts
from graphcuts_dp.cutnorm.operand import Operand, gamma
from graphcuts_dp.cutnorm.singular_values import ScaledMatrix, sigma_bound

_SCAN_ENTRIES = 1 << 24  # entries of a dense matrix up to which all prefix pairs are tried: 128 MiB
_FULL_SVD = (
    128  # rows or columns, whichever are fewer, up to which all singular values are computed
)
_SUBSPACE_STEPS = 30  # of the subspace iteration where ARPACK cannot be used
_IMPROVEMENT_ROUNDS = 6
_SETS_AT_ONCE = 4096  # of an enumeration
_PROBES = 32  # random products from which norms of an operator's rows are estimated


def largest_singular_value(operand: Operand, seed: int = 0) -> UpperBound:
    """Return a proven upper bound on sigma_1(A), which bounds the normalised cut norm.

    Args:
        operand: the matrix.
        seed: seed of the random vectors, if the proof is randomised.
    """
    scaled = ScaledMatrix(
        operand, np.ones(operand.shape[0]), np.ones(operand.shape[1]), bordered=False
    )
    if operand.absolute.total == 0.0:
        return UpperBound(0.0, "deterministic: the matrix is zero")
    bound = sigma_bound(scaled, seed)
    proof = f"{bound.proof}; ||A||_NC <= sigma_1(A)"
    return UpperBound(bound.sigma, proof, bound.failure_probability, bound.sigma)


def prefix_cuts(matrix: Any, count: int = 8, *, pairs: int = 3, seed: int = 0) -> CutBatch:
    """Return cuts with large |A(S, T)| / sqrt(|S||T|) from the leading singular pairs.

    Of a dense matrix up to 2^24 entries all prefix pairs of the four sign pairs are tried, in
    O(n1 n2) by 2-D prefix sums. Of larger ones, and of sparse matrices and operators, prefixes of
    columns are tried whose sizes grow by powers of sqrt(2). Each cut is then improved: for a fixed
    T the best S of every size is a prefix of the sorted row sums, O(n log n), and the other way
    round.

    Args:
        matrix: shape (n1, n2): an array, a scipy sparse matrix or an `Operand`; not checked.
        count: number of cuts to return at most.
        pairs: number of singular pairs to use.
        seed: seed of the start vector of the singular value iteration.

    Returns:
        Distinct cuts, largest normalised value first; `values` holds A(S, T) itself.
    """
    operand = matrix if isinstance(matrix, Operand) else Operand(matrix)
    left, right = singular_pairs(operand, pairs, seed)
    is_small = operand.kind == "dense" and operand.shape[0] * operand.shape[1] <= _SCAN_ENTRIES
    column_sets = [
        _columns_of_best_prefix_pairs(operand, p, q) if is_small else _growing_prefixes(q)
        for p, q in zip(left.T, right.T, strict=True)
    ]
    return _improve_normalised(operand, np.concatenate(column_sets, axis=1), count)


def singular_pairs(operand: Operand, pairs: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return approximate leading singular vectors, shapes (n1, k) and (n2, k), k <= pairs.

    Small matrices have a full decomposition. Others use ARPACK, which needs more rows and columns
    than pairs; if it fails, and for small operators, subspace iteration takes over.

    Args:
        operand: the matrix.
        pairs: number of pairs.
        seed: seed of the start vectors.
    """
    smallest = min(operand.shape)
    if operand.kind != "operator" and (smallest <= _FULL_SVD or smallest <= pairs + 1):
        left, _, right = np.linalg.svd(operand.dense(), full_matrices=False)
        return left[:, :pairs], right[:pairs].T
    rng = np.random.default_rng([seed, 4])
    if smallest > pairs + 1:
        product = LinearOperator(
            operand.shape,
            matvec=lambda v: operand.apply(v.reshape(-1, 1)).ravel(),
            rmatvec=lambda v: operand.apply(v.reshape(-1, 1), transpose=True).ravel(),
            matmat=operand.apply,
            rmatmat=lambda columns: operand.apply(columns, transpose=True),
            dtype=operand.dtype,
        )
        try:
            start = rng.standard_normal(smallest).astype(operand.dtype)
            left, values, right = svds(product, k=pairs, v0=start, tol=1e-3, maxiter=300)
            order = np.argsort(-values)
            return left[:, order].astype(np.float64), right[order].T.astype(np.float64)
        except ArpackError:
            pass
    right = rng.standard_normal((operand.shape[1], min(pairs, smallest)))
    for _ in range(_SUBSPACE_STEPS):
        left = np.linalg.qr(operand.apply64(right))[0]
        right = np.linalg.qr(operand.apply64(left, transpose=True))[0]
    return left, right


def _columns_of_best_prefix_pairs(operand: Operand, p: FloatArray, q: FloatArray) -> BoolMatrix:
    """Return the column sets of the best prefix pairs of (p, q), (-p, q), (p, -q) and (-p, -q).

    Rows and columns are ordered by falling p and q. Then prefixes of -p are the last rows. With
    prefix[i, j], the sum over the first i rows and j columns, sums over last rows or columns are
    differences of entries of `prefix`.

    Returns:
        Shape (n2, 4).
    """
    rows, columns = np.argsort(-p, kind="stable"), np.argsort(-q, kind="stable")
    n1, n2 = operand.shape
    prefix = np.zeros((n1 + 1, n2 + 1))
    ordered = operand.data[np.ix_(rows, columns)]
    np.cumsum(ordered, axis=0, out=prefix[1:, 1:])
    np.cumsum(prefix[1:, 1:], axis=1, out=prefix[1:, 1:])
    all_rows, all_columns, total = prefix[-1:, :], prefix[:, -1:], prefix[-1, -1]
    row_factors = 1.0 / np.sqrt(np.arange(1, n1 + 1))  # 1 / sqrt(k) for k rows
    column_factors = 1.0 / np.sqrt(np.arange(1, n2 + 1))
    column_sets = np.zeros((n2, 4), dtype=np.bool_)
    for index in range(4):
        last_rows, last_columns = bool(index & 1), bool(index & 2)
        # sums[i, j]: over the first i rows, or all but these; over the first j columns, or all but
        # these.
        sums = prefix
        if last_rows and last_columns:
            sums = total - all_rows - all_columns + prefix
        elif last_rows:
            sums = all_rows - prefix
        elif last_columns:
            sums = all_columns - prefix
        # Without empty sets: i runs from 1, or of last rows to n1 - 1, when n1 - i rows are left.
        sums = sums[:-1] if last_rows else sums[1:]
        sums = sums[:, :-1] if last_columns else sums[:, 1:]
        scores = np.abs(sums)
        scores *= (row_factors[::-1] if last_rows else row_factors)[:, None]
        scores *= column_factors[::-1] if last_columns else column_factors
        best_column = int(scores.argmax()) % n2  # the scores are flattened row by row
        chosen = columns[best_column:] if last_columns else columns[: best_column + 1]
        column_sets[chosen, index] = True
    return column_sets


def _growing_prefixes(q: FloatArray) -> BoolMatrix:
    """Return prefixes of q and of -q whose sizes grow by sqrt(2), shape (n2, count)."""
    n = q.size
    count = 2 * max(1, math.ceil(math.log2(n))) + 1
    sizes = np.unique(np.minimum(n, np.ceil(2.0 ** (np.arange(count) / 2.0))).astype(int))
    ranks = np.empty(n, dtype=int)
    ranks[np.argsort(-q, kind="stable")] = np.arange(n)
    largest: BoolMatrix = ranks[:, None] < sizes
    smallest: BoolMatrix = ranks[:, None] >= n - sizes
    return np.concatenate((largest, smallest), axis=1)


def _improve_normalised(operand: Operand, T: BoolMatrix, count: int) -> CutBatch:
    """Alternate S <- best prefix for T, T <- best prefix for S, on a batch of column sets.

    Args:
        operand: the matrix.
        T: masks of columns, not empty, one set a column, shape (n2, sets).
        count: number of cuts to return at most.

    Returns:
        Distinct cuts, largest normalised value first; `values` holds A(S, T) itself.
    """
    for _ in range(_IMPROVEMENT_ROUNDS):
        S, _ = best_prefixes(operand.apply(T.astype(operand.dtype)))
        T, values = best_prefixes(operand.apply(S.astype(operand.dtype), transpose=True))
    sizes = np.sqrt(S.sum(axis=0, dtype=np.float64) * T.sum(axis=0))  # sqrt(|S||T|)
    normalised = best_cuts(CutBatch(S.T, T.T, values / sizes), count)
    sizes = np.sqrt(normalised.S.sum(axis=1, dtype=np.float64) * normalised.T.sum(axis=1))
    return CutBatch(normalised.S, normalised.T, normalised.values * sizes)


def best_prefixes(sums: RealMatrix) -> tuple[BoolMatrix, npt.NDArray[np.float64]]:
    """Return for each column c the set that maximises |sum of c over it| / sqrt(its size).

    It is a prefix of c sorted, upwards or downwards; so this is exact.

    Args:
        sums: shape (n, count).

    Returns:
        (masks of shape (n, count), signed sums over them).
    """
    sums = np.asarray(sums, dtype=np.float64)
    n, count = sums.shape
    order = np.argsort(-sums, axis=0, kind="stable")
    ordered = np.take_along_axis(sums, order, axis=0)
    roots = np.sqrt(np.arange(1, n + 1))[:, None]
    # Sums of the k largest and of the k smallest entries.
    largest_sums, smallest_sums = np.cumsum(ordered, axis=0), np.cumsum(ordered[::-1], axis=0)
    columns = np.arange(count)
    best_largest = (largest_sums / roots).argmax(axis=0)  # k - 1
    best_smallest = (smallest_sums / roots).argmin(axis=0)
    value_largest = largest_sums[best_largest, columns]
    value_smallest = smallest_sums[best_smallest, columns]
    takes_largest = value_largest / np.sqrt(best_largest + 1) >= -value_smallest / np.sqrt(
        best_smallest + 1
    )
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(n)[:, None], axis=0)
    masks = np.where(takes_largest, ranks <= best_largest, ranks >= n - 1 - best_smallest)
    return masks, np.where(takes_largest, value_largest, value_smallest)


def row_norm_weights(operand: Operand, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return estimates of the row and column norms of A': cheap weights for the scaling theorem.

    A' is A with a border row and column, which come first (see `certificate`). The norms are exact
    up to rounding for entries that are seen; for an operator they come from 32 random products.

    Args:
        operand: the matrix.
        seed: seed of the random products.

    Returns:
        Shapes (n1 + 1,) and (n2 + 1,).
    """
    rng = np.random.default_rng([seed, 6])
    row_sums = operand.apply64(np.ones((operand.shape[1], 1))).ravel()
    column_sums = operand.apply64(np.ones((operand.shape[0], 1)), transpose=True).ravel()
    if operand.kind == "operator":
        row_probes, column_probes = (
            rng.choice((-1.0, 1.0), (size, _PROBES)) / math.sqrt(_PROBES) for size in operand.shape
        )
        row_squares = np.square(operand.apply64(column_probes)).sum(axis=1)
        column_squares = np.square(operand.apply64(row_probes, transpose=True)).sum(axis=1)
    else:
        row_squares, column_squares = np.zeros(operand.shape[0]), np.zeros(operand.shape[1])
        for rows, block in operand.blocks():
            squares = block * block
            row_squares[rows] = np.asarray(squares.sum(axis=1)).ravel()
            column_squares += np.asarray(squares.sum(axis=0)).ravel()
    total = float(row_sums.sum())
    border_row = np.square(column_sums).sum() + total**2
    border_column = np.square(row_sums).sum() + total**2
    left = np.concatenate(([border_row], row_squares + row_sums**2))
    right = np.concatenate(([border_column], column_squares + column_sums**2))
    return np.sqrt(left), np.sqrt(right)


def exact_normalised(operand: Operand) -> tuple[BoolVector, BoolVector, float]:
    """Return the best pair of sets and a proven bound on the norm, by trying every set of one side.

    With |S| = k and |T| = l a computed sum is off by at most gamma times the absolute sum over
    S x T, itself at most that over the whole matrix; dividing by sqrt(k l) >= 1 only helps.

    Args:
        operand: the matrix, dense or sparse, shorter side at most 20.

    Returns:
        (S, T, upper).
    """
    dense = operand.dense()
    transpose = dense.shape[0] > dense.shape[1]
    matrix = dense.T if transpose else dense  # the rows are fewer
    m = matrix.shape[0]
    largest = -1.0
    row_set, column_set = np.ones(m, np.bool_), np.ones(matrix.shape[1], np.bool_)
    for start in range(1, 1 << m, _SETS_AT_ONCE):
        # Bit i of a code says whether row i is in the set.
        codes = np.arange(start, min(start + _SETS_AT_ONCE, 1 << m))
        row_sets = (codes[:, None] >> np.arange(m)) & 1 == 1  # (sets, m)
        column_sets, values = best_prefixes(matrix.T @ row_sets.T.astype(np.float64))
        scores = np.abs(values) / np.sqrt(row_sets.sum(axis=1) * column_sets.sum(axis=0))
        index = int(scores.argmax())
        if scores[index] > largest:
            largest = float(scores[index])
            row_set, column_set = row_sets[index], column_sets[:, index]
    rounding = gamma(sum(dense.shape) + 8) * operand.absolute.total * 1.01
    upper = largest * (1.0 + 2.0**-49) + (0.0 if operand.is_integer else rounding)
    S, T = (column_set, row_set) if transpose else (row_set, column_set)
    return S, T, upper
