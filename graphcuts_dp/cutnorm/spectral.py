"""The normalised cut norm ||A||_NC = max |A(S, T)| / sqrt(|S||T|), by prefixes of singular vectors.

A(S, T) is the sum of a_ij over a set of rows S and a set of columns T, not empty. `prefix_cuts`
finds good sets, `largest_singular_value` bounds the norm from above, and `exact_normalised` tries
all sets of small matrices. `row_norm_weights` serves the cut norm itself. Terms used here:

- *cut*: a pair (S, T). A `CutBatch` holds masks S, shape (count, n1), and T, shape (count, n2), one
  cut a row; other functions take and return masks with one set a column.
- *prefix* of a vector: the set of its k largest entries, for some k. Prefixes of q and of -q are
  both used: the k largest and the k smallest entries of q.
- *prefix pair* of (p, q): a prefix of p as S and a prefix of q as T.
- *singular pair*: a left singular vector p (of rows) and the right one q (of columns) of one
  singular value.
- *operator*: an `Operand` of which only products are known, not its entries.

**Upper bound.** A(S, T) = 1_S^T A 1_T <= sigma_1(A) sqrt(|S||T|), so ||A||_NC <= sigma_1(A).

**Lower bound.** Let p, q be unit vectors with p^T A q = sigma_1: the first singular pair.

1. Let x, y >= 0 be vectors, sorted so that x_1 >= x_2 >= ... and x_{n+1} = 0. Then x is the sum of
   (x_k - x_{k+1}) 1_{S_k}, where S_k is the prefix of k entries; y likewise with T_l.
2. Let N be the largest |A(S_k, T_l)| / sqrt(k l) over all k, l. By step 1,

       |x^T A y| <= N (sum_k (x_k - x_{k+1}) sqrt(k)) (sum_l (y_l - y_{l+1}) sqrt(l)).

3. Summation by parts and then Cauchy-Schwarz bound each factor:

       sum_k (x_k - x_{k+1}) sqrt(k) = sum_k x_k (sqrt(k) - sqrt(k-1)) <= ||x|| sqrt(H_n),

   with H_n = sum_k (sqrt(k) - sqrt(k-1))^2, about (ln n)/4 + 1.
4. Let p = p+ - p- and q = q+ - q- be the positive and negative parts. Then sigma_1 is a signed sum
   of four forms x^T A y, with x = p+ or p- and y = q+ or q-. From here on N is the largest of the
   four. Each form is at most N sqrt(H_n1 H_n2) ||x|| ||y||. The products ||x|| ||y|| sum to
   (||p+|| + ||p-||)(||q+|| + ||q-||) <= sqrt(2) sqrt(2) = 2, as ||p+||^2 + ||p-||^2 = 1. So

       sigma_1(A) <= 2 sqrt(H_n1 H_n2) N <= 2 sqrt(H_n1 H_n2) ||A||_NC.

A prefix of p+ is a prefix of p, and one of p- a prefix of -p. So the best prefix pair of (p, q),
(-p, q), (p, -q) and (-p, -q) is within the factor 2 sqrt(H_n1 H_n2) of the norm.

Source: Nikiforov 2009, sharpened: H_n in place of buckets by powers of two; GRU12 (Gupta, Roth,
Ullman 2012) section 6.2.
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
# Rows or columns, whichever are fewer, up to which all singular values are computed.
_FULL_SVD = 128
_SUBSPACE_STEPS = 30  # of the subspace iteration where ARPACK cannot be used
_IMPROVEMENT_ROUNDS = 6  # alternations of S and T after the search among prefixes
_SETS_AT_ONCE = 4096  # sets of rows that an enumeration handles in one array
_PROBES = 32  # random products from which norms of an operator's rows are estimated


def largest_singular_value(operand: Operand, seed: int = 0) -> UpperBound:
    """Return a proven upper bound on sigma_1(A), which bounds the normalised cut norm.

    Args:
        operand: the matrix.
        seed: seed of the random vectors, if the proof is randomised.

    Returns:
        The bound in the unit of the operand; its `sigma` is the same number.
    """
    # With weights 1 and without border, the scaled matrix is A itself.
    scaled = ScaledMatrix(
        operand, np.ones(operand.shape[0]), np.ones(operand.shape[1]), bordered=False
    )
    if operand.absolute.total == 0.0:
        return UpperBound(0.0, "deterministic: the matrix is zero")
    bound = sigma_bound(scaled, seed)
    proof = f"{bound.proof}; ||A||_NC <= sigma_1(A)"
    return UpperBound(
        bound.sigma, proof, failure_probability=bound.failure_probability, sigma=bound.sigma
    )


def prefix_cuts(matrix: Any, count: int = 8, *, pairs: int = 3, seed: int = 0) -> CutBatch:
    """Return cuts with large |A(S, T)| / sqrt(|S||T|) from the leading singular pairs.

    In a dense matrix of up to 2^24 entries all prefix pairs of (p, q), (-p, q), (p, -q), (-p, -q)
    are tried, in O(n1 n2) by two-dimensional prefix sums. In larger ones, sparse matrices and
    operators, prefixes of q and -q are tried whose sizes grow by powers of sqrt(2). Only column
    sets are kept. The improvement then finds the rows: for a fixed T the best S of every size is a
    prefix of the row sums over T, in O(n log n), and the other way round.

    Args:
        matrix: shape (n1, n2): an array, a scipy sparse matrix or an `Operand`; not checked.
        count: number of cuts to return at most.
        pairs: number of singular pairs (p, q) to use.
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
    """Return approximate leading left and right singular vectors, in the columns of two arrays.

    Small matrices have a full decomposition. Others use ARPACK, which needs more rows and columns
    than pairs; if it fails, and for small operators, subspace iteration takes over. Inaccurate
    vectors make worse cuts, but no bound relies on them.

    Args:
        operand: the matrix.
        pairs: number of singular pairs.
        seed: seed of the start vectors.

    Returns:
        (left, right), shapes (n1, k) and (n2, k), k <= pairs; larger singular values first.
    """
    smallest = min(operand.shape)
    if operand.kind != "operator" and (smallest <= _FULL_SVD or smallest <= pairs + 1):
        left, _, right = np.linalg.svd(operand.dense(), full_matrices=False)
        return left[:, :pairs], right[:pairs].T
    # 4 is the stream of this function; other modules use other numbers. It must not change.
    rng = np.random.default_rng([seed, 4])
    if smallest > pairs + 1:
        # `svds` takes arrays or linear operators, not an `Operand`.
        linear_operator = LinearOperator(
            operand.shape,
            matvec=lambda v: operand.apply(v.reshape(-1, 1)).ravel(),
            rmatvec=lambda v: operand.apply(v.reshape(-1, 1), transpose=True).ravel(),
            matmat=operand.apply,
            rmatmat=lambda columns: operand.apply(columns, transpose=True),
            dtype=operand.dtype,
        )
        try:
            start = rng.standard_normal(smallest).astype(operand.dtype)
            left, values, right = svds(linear_operator, k=pairs, v0=start, tol=1e-3, maxiter=300)
            order = np.argsort(-values)  # `svds` promises no order
            return left[:, order].astype(np.float64), right[order].T.astype(np.float64)
        except ArpackError:
            pass  # go on with the subspace iteration
    right = rng.standard_normal((operand.shape[1], min(pairs, smallest)))
    for _ in range(_SUBSPACE_STEPS):
        left = np.linalg.qr(operand.apply64(right))[0]
        right = np.linalg.qr(operand.apply64(left, transpose=True))[0]
    return left, right


def _columns_of_best_prefix_pairs(operand: Operand, p: FloatArray, q: FloatArray) -> BoolMatrix:
    """Return the column sets of the best prefix pairs of (p, q), (-p, q), (p, -q) and (-p, -q).

    Rows and columns are ordered by falling p and q. Then a prefix of p is a number of first rows,
    and a prefix of -p a number of last rows; columns alike. With prefix[i, j], the sum over the
    first i rows and first j columns, sums over last rows or columns are differences of entries of
    `prefix`.

    Args:
        operand: the matrix, dense.
        p: a vector of rows, shape (n1,).
        q: a vector of columns, shape (n2,).

    Returns:
        Masks of columns, shape (n2, 4), one set for each of the four pairs in this order.
    """
    rows, columns = np.argsort(-p, kind="stable"), np.argsort(-q, kind="stable")
    n1, n2 = operand.shape
    prefix = np.zeros((n1 + 1, n2 + 1))
    ordered = operand.data[np.ix_(rows, columns)]
    np.cumsum(ordered, axis=0, out=prefix[1:, 1:])
    np.cumsum(prefix[1:, 1:], axis=1, out=prefix[1:, 1:])
    # Sums over all rows and the first j columns (1, n2 + 1), and over all columns and the first i
    # rows (n1 + 1, 1).
    all_rows, all_columns, total = prefix[-1:, :], prefix[:, -1:], prefix[-1, -1]
    row_factors = 1.0 / np.sqrt(np.arange(1, n1 + 1))  # 1 / sqrt(k) for k rows
    column_factors = 1.0 / np.sqrt(np.arange(1, n2 + 1))
    column_sets = np.zeros((n2, 4), dtype=np.bool_)
    for index in range(4):
        last_rows, last_columns = bool(index & 1), bool(index & 2)
        # sums[i, j], shape (n1 + 1, n2 + 1): the sum over the first i rows (if `last_rows`, all but
        # these) and over the first j columns (if `last_columns`, all but these).
        sums = prefix
        if last_rows and last_columns:
            sums = total - all_rows - all_columns + prefix
        elif last_rows:
            sums = all_rows - prefix
        elif last_columns:
            sums = all_columns - prefix
        # Drop empty sets. Index i then stands for the first i + 1 rows, or for all but the first i,
        # which are n1 - i. Columns alike.
        sums = sums[:-1] if last_rows else sums[1:]
        sums = sums[:, :-1] if last_columns else sums[:, 1:]
        scores = np.abs(sums)  # times 1 / sqrt(|S||T|) below, (n1, n2)
        scores *= (row_factors[::-1] if last_rows else row_factors)[:, None]
        scores *= column_factors[::-1] if last_columns else column_factors
        best_column = int(scores.argmax()) % n2  # the scores are flattened row by row
        chosen = columns[best_column:] if last_columns else columns[: best_column + 1]
        column_sets[chosen, index] = True
    return column_sets


def _growing_prefixes(q: FloatArray) -> BoolMatrix:
    """Return prefixes of q and of -q whose sizes grow by sqrt(2), shape (n2, sets)."""
    n = q.size
    # Sizes 1, 2^(1/2), 2, 2^(3/2), ..., rounded up, each once; the last is n.
    count = 2 * max(1, math.ceil(math.log2(n))) + 1
    sizes = np.unique(np.minimum(n, np.ceil(2.0 ** (np.arange(count) / 2.0))).astype(int))
    ranks = np.empty(n, dtype=int)  # 0 for the largest entry of q
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
    # `best_cuts` orders by `values`. So these hold normalised values for the moment, and are
    # multiplied by sqrt(|S||T|) again afterwards.
    root_sizes = np.sqrt(S.sum(axis=0, dtype=np.float64) * T.sum(axis=0))  # sqrt(|S||T|), (sets,)
    normalised = best_cuts(CutBatch(S.T, T.T, values / root_sizes), count)
    root_sizes = np.sqrt(normalised.S.sum(axis=1, dtype=np.float64) * normalised.T.sum(axis=1))
    return CutBatch(normalised.S, normalised.T, normalised.values * root_sizes)


def best_prefixes(sums: RealMatrix) -> tuple[BoolMatrix, npt.NDArray[np.float64]]:
    """Return for each column c the nonempty set that maximises |sum of c over it| / sqrt(its size).

    Of all sets of one size k, the k largest entries have the largest sum and the k smallest the
    least. So the best set is a prefix of c or of -c, and this is exact up to rounding.

    Args:
        sums: shape (n, count): row sums over T for `count` sets T, or column sums over S.

    Returns:
        (masks, values): shape (n, count), and the signed sums of c over them, shape (count,).
    """
    sums = np.asarray(sums, dtype=np.float64)
    n, count = sums.shape
    order = np.argsort(-sums, axis=0, kind="stable")
    ordered = np.take_along_axis(sums, order, axis=0)
    roots = np.sqrt(np.arange(1, n + 1))[:, None]  # sqrt(k)
    # Row k - 1: sums of the k largest, and of the k smallest entries; (n, count).
    largest_sums, smallest_sums = np.cumsum(ordered, axis=0), np.cumsum(ordered[::-1], axis=0)
    columns = np.arange(count)
    best_largest = (largest_sums / roots).argmax(axis=0)  # k - 1 of the best prefix, (count,)
    best_smallest = (smallest_sums / roots).argmin(axis=0)
    value_largest = largest_sums[best_largest, columns]
    value_smallest = smallest_sums[best_smallest, columns]
    # The score of the k smallest entries counts if their sum is negative: it is minus the sum.
    score_largest = value_largest / np.sqrt(best_largest + 1)
    score_smallest = -value_smallest / np.sqrt(best_smallest + 1)
    takes_largest = score_largest >= score_smallest
    ranks = np.empty_like(order)  # 0 for the largest entry of each column
    np.put_along_axis(ranks, order, np.arange(n)[:, None], axis=0)
    masks = np.where(takes_largest, ranks <= best_largest, ranks >= n - 1 - best_smallest)
    return masks, np.where(takes_largest, value_largest, value_smallest)


def row_norm_weights(operand: Operand, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return estimates of the row and column norms of A': cheap weights for the scaling theorem.

    The *bordered matrix* A' is A with a border row and column, which come first and make all rows
    and columns sum to zero: its first row is (total, -column sums), its first column (total,
    -row sums). The scaling theorem of `certificate` bounds the cut norm with any positive weights.

    The norms are exact up to rounding for a dense or sparse matrix. For an operator squared row
    norms come from 32 random products: ||a_i||^2 is the mean of (a_i^T z)^2 over random signs z.

    Args:
        operand: the matrix.
        seed: seed of the random products.

    Returns:
        Shapes (n1 + 1,) and (n2 + 1,).
    """
    # 6 is the stream of this function; other modules use other numbers. It must not change.
    rng = np.random.default_rng([seed, 6])
    row_sums = operand.apply64(np.ones((operand.shape[1], 1))).ravel()
    column_sums = operand.apply64(np.ones((operand.shape[0], 1)), transpose=True).ravel()
    if operand.kind == "operator":
        # Random signs, over sqrt(32) so that sums of squares are means; (n1, 32) and (n2, 32).
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
    # Squared norms of the first row and column of A'; then of all, which gain one entry each.
    border_row = np.square(column_sums).sum() + total**2
    border_column = np.square(row_sums).sum() + total**2
    left = np.concatenate(([border_row], row_squares + row_sums**2))
    right = np.concatenate(([border_column], column_squares + column_sums**2))
    return np.sqrt(left), np.sqrt(right)


def exact_normalised(operand: Operand) -> tuple[BoolVector, BoolVector, float]:
    """Return the best pair of sets and a proven bound on the norm, by trying every set of one side.

    Rounding: gamma(m) = m u / (1 - m u), with u = 2^-53, bounds the relative error of a sum of m
    terms. A sum over S x T adds up at most n1 terms of a column and n2 column sums (or the other
    way round), so it is off by at most gamma(n1 + n2) times the absolute sum of all entries.
    Dividing by sqrt(|S||T|) >= 1 makes the error smaller.

    Args:
        operand: the matrix, dense or sparse, shorter side at most 20, which the caller checks.

    Returns:
        (S, T, upper): masks of shapes (n1,) and (n2,), and the bound in the unit of the operand.
    """
    dense = operand.dense()
    transpose = dense.shape[0] > dense.shape[1]
    matrix = dense.T if transpose else dense  # (m, n) with m <= n
    m = matrix.shape[0]
    largest = -1.0  # below all normalised values
    row_set, column_set = np.ones(m, np.bool_), np.ones(matrix.shape[1], np.bool_)
    for start in range(1, 1 << m, _SETS_AT_ONCE):
        # Bit i of a code says whether row i is in the set. Code 0, the empty set, is left out.
        codes = np.arange(start, min(start + _SETS_AT_ONCE, 1 << m))
        row_sets = (codes[:, None] >> np.arange(m)) & 1 == 1  # (sets, m)
        # Masks (n, sets) of the best columns for each set of rows, by its column sums.
        column_sets, values = best_prefixes(matrix.T @ row_sets.T.astype(np.float64))
        scores = np.abs(values) / np.sqrt(row_sets.sum(axis=1) * column_sets.sum(axis=0))
        index = int(scores.argmax())
        if scores[index] > largest:
            largest = float(scores[index])
            row_set, column_set = row_sets[index], column_sets[:, index]
    rounding = gamma(sum(dense.shape) + 8) * operand.absolute.total * 1.01
    # The factor covers the roundings of square root and division, also for integers, whose sums
    # are exact.
    upper = largest * (1.0 + 2.0**-49) + (0.0 if operand.is_integer else rounding)
    S, T = (column_set, row_set) if transpose else (row_set, column_set)
    return S, T, upper
