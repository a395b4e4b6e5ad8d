"""The normalised cut norm ||A||_NC = max |A(S, T)| / sqrt(|S||T|), by prefixes of singular vectors.

**Upper.** A(S, T) = 1_S^T A 1_T <= sigma_1(A) sqrt(|S||T|), so ||A||_NC <= sigma_1(A).

**Lower.** Let p, q be unit vectors with p^T A q = sigma_1. For x, y >= 0 with entries in
decreasing order x_1 >= x_2 >= ..., write x = sum_k (x_k - x_{k+1}) 1_{S_k} with S_k the k largest
entries, and y alike with T_l. If N is the largest |A(S_k, T_l)| / sqrt(k l), then

    x^T A y <= N (sum_k (x_k - x_{k+1}) sqrt(k)) (sum_l (y_l - y_{l+1}) sqrt(l)),
    sum_k (x_k - x_{k+1}) sqrt(k) = sum_k x_k (sqrt(k) - sqrt(k-1)) <= ||x|| sqrt(H_n),

H_n = sum_k (sqrt(k) - sqrt(k-1))^2 ~ (ln n)/4 + 1. Split p and q into positive and negative parts:
sigma_1 is a sum of four such forms, and (||p+|| + ||p-||)(||q+|| + ||q-||) <= 2. So

    sigma_1(A) <= 2 sqrt(H_n1 H_n2) N <= 2 sqrt(H_n1 H_n2) ||A||_NC,

and the scan of all prefix pairs of the four sign pairs is that good an approximation.

Source: Nikiforov 2009, sharpened: H_n in place of buckets by powers of two; GRU12 section 6.2.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import ArpackError, LinearOperator, svds

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatArray, RealMatrix
from graphcuts_dp.cutnorm.certificate import (
    ScaledMatrix,
    UpperBound,
    sigma_bound,
)
from graphcuts_dp.cutnorm.low_rank import CutBatch, best_cuts
from graphcuts_dp.cutnorm.operand import Operand, gamma

_SCAN_ENTRIES = 1 << 24
_FULL_SVD = 128


def largest_singular_value(operand: Operand, seed: int = 0) -> UpperBound:
    """A proven upper bound on sigma_1(A), which bounds the normalised cut norm.

    Args:
        operand: the matrix.
        seed: of the random vectors, if the proof is randomised.
    """
    scaled = ScaledMatrix(
        operand, np.ones(operand.shape[0]), np.ones(operand.shape[1]), bordered=False
    )
    if operand.absolute.total == 0.0:
        return UpperBound(0.0, "deterministic: the matrix is zero")
    sigma, proof, failure = sigma_bound(scaled, seed)
    return UpperBound(sigma, f"{proof}; ||A||_NC <= sigma_1(A)", failure, sigma)


def prefix_cuts(matrix: Any, count: int = 8, *, pairs: int = 3, seed: int = 0) -> CutBatch:
    """Cuts with large |A(S, T)| / sqrt(|S||T|) from the leading singular pairs.

    A dense matrix up to 2^24 entries is scanned in full: all prefix pairs of the four sign pairs,
    in O(n1 n2) by 2-D prefix sums. Above that, and for sparse matrices and operators, prefixes
    grow by powers of sqrt(2). Each cut is then improved: for a fixed T the best S of every size is
    a prefix of the sorted row sums, O(n log n), and the other way round.

    Args:
        matrix: shape (n1, n2): an array, a scipy sparse matrix or an `Operand`; not checked.
        count: how many cuts to return at most.
        pairs: how many singular pairs to use.
        seed: of the start vector of the singular value iteration.

    Returns:
        Distinct cuts, largest normalised value first; `values` holds A(S, T) itself.
    """
    operand = matrix if isinstance(matrix, Operand) else Operand(matrix)
    left, right = singular_pairs(operand, pairs, seed)
    small = operand.kind == "dense" and operand.shape[0] * operand.shape[1] <= _SCAN_ENTRIES
    starts = []
    for p, q in zip(left.T, right.T, strict=True):
        starts.append(_scanned_columns(operand, p, q) if small else _dyadic_columns(q))
    T = np.concatenate(starts, axis=1)
    return improve_normalised(operand, T, count)


def singular_pairs(operand: Operand, pairs: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Leading singular vectors, shapes (n1, k) and (n2, k), k <= pairs; approximate ones will do.

    Args:
        operand: the matrix.
        pairs: how many.
        seed: of the start vector.
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
    for _ in range(30):
        left = np.linalg.qr(operand.apply64(right))[0]
        right = np.linalg.qr(operand.apply64(left, transpose=True))[0]
    return left, right


def _scanned_columns(operand: Operand, p: FloatArray, q: FloatArray) -> BoolMatrix:
    """The best prefix pair of each of the four sign pairs: their column sets, shape (n2, 4)."""
    rows, columns = np.argsort(-p, kind="stable"), np.argsort(-q, kind="stable")
    n1, n2 = operand.shape
    sums = np.zeros((n1 + 1, n2 + 1))
    ordered = operand.data[np.ix_(rows, columns)]
    np.cumsum(ordered, axis=0, out=sums[1:, 1:])
    np.cumsum(sums[1:, 1:], axis=1, out=sums[1:, 1:])
    weights_rows = 1.0 / np.sqrt(np.arange(1, n1 + 1))
    weights_columns = 1.0 / np.sqrt(np.arange(1, n2 + 1))
    result = np.zeros((n2, 4), dtype=np.bool_)
    last_row, last_column, total = sums[-1:, :], sums[:, -1:], sums[-1, -1]
    for index in range(4):
        flip_rows, flip_columns = bool(index & 1), bool(index & 2)
        values = sums
        if flip_rows and flip_columns:  # the last n1 - i rows and the last n2 - j columns
            values = total - last_row - last_column + sums
        elif flip_rows:
            values = last_row - sums
        elif flip_columns:
            values = last_column - sums
        values = values[:-1] if flip_rows else values[1:]
        values = values[:, :-1] if flip_columns else values[:, 1:]
        scores = np.abs(values)
        scores *= (weights_rows[::-1] if flip_rows else weights_rows)[:, None]
        scores *= weights_columns[::-1] if flip_columns else weights_columns
        size = int(scores.argmax()) % n2
        result[columns[size:] if flip_columns else columns[: size + 1], index] = True
    return result


def _dyadic_columns(q: FloatArray) -> BoolMatrix:
    """Prefixes of q and of -q with sizes that grow by sqrt(2)."""
    n = q.size
    count = 2 * max(1, math.ceil(math.log2(n))) + 1
    sizes = np.unique(np.minimum(n, np.ceil(2.0 ** (np.arange(count) / 2.0))).astype(int))
    ranks = np.empty(n, dtype=int)
    ranks[np.argsort(-q, kind="stable")] = np.arange(n)
    largest: BoolMatrix = ranks[:, None] < sizes
    smallest: BoolMatrix = ranks[:, None] >= n - sizes
    return np.concatenate((largest, smallest), axis=1)


def improve_normalised(operand: Operand, T: BoolMatrix, count: int, rounds: int = 6) -> CutBatch:
    """Alternate S <- best prefix for T, T <- best prefix for S, on a batch of column sets.

    Args:
        operand: the matrix.
        T: masks of columns, not empty, one set a column, shape (n2, b).
        count: how many distinct cuts to return at most.
        rounds: alternations.
    """
    T = T.copy()
    S = np.zeros((operand.shape[0], T.shape[1]), dtype=np.bool_)
    values = np.zeros(T.shape[1])
    for _ in range(rounds):
        S, _ = best_prefixes(operand.apply(T.astype(operand.dtype)))
        T, values = best_prefixes(operand.apply(S.astype(operand.dtype), transpose=True))
    sizes = np.sqrt(S.sum(axis=0, dtype=np.float64) * T.sum(axis=0))
    order = best_cuts(CutBatch(S.T, T.T, values / sizes), count)
    sizes = np.sqrt(order.S.sum(axis=1, dtype=np.float64) * order.T.sum(axis=1))
    return CutBatch(order.S, order.T, order.values * sizes)


def best_prefixes(sums: RealMatrix) -> tuple[BoolMatrix, npt.NDArray[np.float64]]:
    """For each column c, the set that maximises |sum of c over it| / sqrt(its size).

    It is a prefix of c sorted, upwards or downwards; so this is exact.

    Args:
        sums: shape (n, b).

    Returns:
        (masks of shape (n, b), signed sums over them).
    """
    sums = np.asarray(sums, dtype=np.float64)
    n, batch = sums.shape
    order = np.argsort(-sums, axis=0, kind="stable")
    ordered = np.take_along_axis(sums, order, axis=0)
    roots = np.sqrt(np.arange(1, n + 1))[:, None]
    down, up = np.cumsum(ordered, axis=0), np.cumsum(ordered[::-1], axis=0)
    columns = np.arange(batch)
    best_down, best_up = (down / roots).argmax(axis=0), (up / roots).argmin(axis=0)
    value_down, value_up = down[best_down, columns], up[best_up, columns]
    downwards = value_down / np.sqrt(best_down + 1) >= -value_up / np.sqrt(best_up + 1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(n)[:, None], axis=0)
    masks = np.where(downwards, ranks <= best_down, ranks >= n - 1 - best_up)
    return masks, np.where(downwards, value_down, value_up)


def row_norm_weights(operand: Operand, seed: int) -> tuple[FloatArray, FloatArray]:
    """Estimates of the row and column norms of A', border first: cheap weights.

    Exact for entries that are seen; for an operator, from 32 random products.

    Args:
        operand: the matrix.
        seed: of the random products.
    """
    rng = np.random.default_rng([seed, 6])
    ones = [np.ones((size, 1)) for size in operand.shape]
    row_sums = operand.apply64(ones[1]).ravel()
    column_sums = operand.apply64(ones[0], transpose=True).ravel()
    if operand.kind == "operator":
        probes = [rng.choice((-1.0, 1.0), (size, 32)) / math.sqrt(32.0) for size in operand.shape]
        rows = np.square(operand.apply64(probes[1])).sum(axis=1)
        columns = np.square(operand.apply64(probes[0], transpose=True)).sum(axis=1)
    else:
        rows, columns = np.zeros(operand.shape[0]), np.zeros(operand.shape[1])
        for where, block in operand.blocks():
            squares = block * block
            rows[where] = np.asarray(squares.sum(axis=1)).ravel()
            columns += np.asarray(squares.sum(axis=0)).ravel()
    total = float(row_sums.sum())
    left = np.concatenate(([np.square(column_sums).sum() + total**2], rows + row_sums**2))
    right = np.concatenate(([np.square(row_sums).sum() + total**2], columns + column_sums**2))
    return np.sqrt(left), np.sqrt(right)


def exact_normalised(operand: Operand) -> tuple[BoolVector, BoolVector, float]:
    """The best pair of sets and a proven bound on the norm, by trying every set of one side.

    With |S| = k and |T| = l a computed sum is off by at most gamma times the absolute sum over
    S x T, itself at most that over the whole matrix; dividing by sqrt(k l) >= 1 only helps.

    Args:
        operand: the matrix, dense or sparse, shorter side at most 20.

    Returns:
        (S, T, upper).
    """
    dense = operand.dense()
    transpose = dense.shape[0] > dense.shape[1]
    rows = dense.T if transpose else dense
    m = rows.shape[0]
    best, subset, answer = -1.0, np.ones(m, np.bool_), np.ones(rows.shape[1], np.bool_)
    for start in range(1, 1 << m, 4096):
        codes = np.arange(start, min(start + 4096, 1 << m))
        bits = (codes[:, None] >> np.arange(m)) & 1 == 1
        masks, values = best_prefixes(rows.T @ bits.T.astype(np.float64))
        scores = np.abs(values) / np.sqrt(bits.sum(axis=1) * masks.sum(axis=0))
        index = int(scores.argmax())
        if scores[index] > best:
            best, subset, answer = float(scores[index]), bits[index], masks[:, index]
    slack = gamma(sum(dense.shape) + 8) * operand.absolute.total * 1.01
    upper = best * (1.0 + 2.0**-49) + (0.0 if operand.is_integer else slack)
    return (answer, subset, upper) if transpose else (subset, answer, upper)
