"""Proven upper bounds on cut norms: the scaling theorem and two ways to bound sigma_1 from above.

**Scaling theorem.** For every matrix B and all positive weights d_U, d_V, with
M = D_U^{-1/2} B D_V^{-1/2}, and signs x, y,

    x^T B y = (D_U^{1/2} x)^T M (D_V^{1/2} y) <= sigma_1(M) sqrt(sum d_U) sqrt(sum d_V),

because ||D_U^{1/2} x||^2 = sum d_U. Nothing is assumed about the weights: wherever U and V come
from, converged or damaged, the bound holds. For B = A' it bounds 4 ||A||_C; for B = A it bounds
||A||_{inf->1}. At an optimal U, V the weights are dual optimal, sigma_1 = 1 and the bound is the
value of the relaxation.

**sigma_1 from above.** Lanczos and power iterations approach sigma_1 from below and prove nothing.
`cholesky_norm_bound` is deterministic; `chebyshev_norm_bound` is randomised with a stated failure
probability. Both account for the rounding of every step.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatArray, RealMatrix
from graphcuts_dp.cutnorm.chebyshev import (
    FAILURE_PROBABILITY,
    chebyshev_norm_bound,
    ritz_value,
)
from graphcuts_dp.cutnorm.operand import OPERATOR_ERROR, UNIT_ROUNDOFF, Operand, gamma

CHOLESKY_LIMIT = 3500
_WEIGHT_FLOOR = 1e-6


@final
@dataclass(frozen=True)
class UpperBound:
    """A proven bound: its value, the theorem in words, and the chance that it fails.

    Attributes:
        value: the bound, in the unit of the operand; may be infinite.
        proof: which theorem.
        failure_probability: over the random vectors of the proof; 0 if there are none.
        sigma: the bound on sigma_1(M) that was proven, for the scaling theorem; else 0.
    """

    value: float
    proof: str
    failure_probability: float = 0.0
    sigma: float = 0.0


def trivial_bound(operand: Operand, *, bordered: bool) -> UpperBound:
    """Sums of entries: all of one sign for the cut norm, all absolute values otherwise.

    Args:
        operand: the matrix.
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    if bordered:
        return UpperBound(
            operand.one_sign_total, "deterministic: the sum of all entries of one sign"
        )
    return UpperBound(operand.absolute_total, "deterministic: the sum of all absolute values")


def scaling_bound(
    operand: Operand,
    weights_U: RealMatrix,
    weights_V: RealMatrix,
    *,
    bordered: bool,
    seed: int = 0,
    cholesky_limit: int = CHOLESKY_LIMIT,
) -> UpperBound:
    """The scaling theorem with a proven sigma_1, or the trivial bound if that is smaller.

    Args:
        operand: the matrix A, (n1, n2).
        weights_U: any numbers, one for each row of A' (border first) or of A; values that are not
            positive and finite are replaced, for the theorem asks for nothing but positivity.
        weights_V: the same for the columns.
        bordered: cut norm (True, B = A') or infinity-to-one norm (False, B = A).
        seed: of the random vectors of the randomised proof, a stream apart from all others.
        cholesky_limit: the deterministic proof is used up to this many rows or columns, whichever
            are fewer.
    """
    trivial = trivial_bound(operand, bordered=bordered)
    if operand.kind != "operator" and operand.absolute_total == 0.0:
        return UpperBound(0.0, "deterministic: the matrix is zero")
    d_U = _positive_weights(weights_U, operand, rows=True, bordered=bordered)
    d_V = _positive_weights(weights_V, operand, rows=False, bordered=bordered)
    scaled = ScaledMatrix(operand, d_U, d_V, bordered=bordered)
    sigma, proof, failure = sigma_bound(scaled, seed, cholesky_limit)
    proof += ", in the scaling theorem"
    total = math.sqrt(math.fsum(d_U)) * math.sqrt(math.fsum(d_V)) * (1.0 + 2.0**-48)
    value = sigma * total * (0.25 if bordered else 1.0) * (1.0 + 2.0**-50)
    if math.isnan(value) or value >= trivial.value:
        return trivial
    return UpperBound(value, proof, failure, sigma)


def sigma_estimate(
    operand: Operand, weights_U: RealMatrix, weights_V: RealMatrix, *, bordered: bool
) -> float:
    """An estimate of sigma_1(M) from below: tells whether the relaxation is solved, proves nothing.

    Args:
        operand: the matrix A.
        weights_U: as for `scaling_bound`.
        weights_V: as for `scaling_bound`.
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    d_U = _positive_weights(weights_U, operand, rows=True, bordered=bordered)
    d_V = _positive_weights(weights_V, operand, rows=False, bordered=bordered)
    scaled = ScaledMatrix(operand, d_U, d_V, bordered=bordered)
    return math.sqrt(ritz_value(scaled, scaled.shape[1] > scaled.shape[0]))


def sigma_bound(
    scaled: "ScaledMatrix", seed: int, cholesky_limit: int = CHOLESKY_LIMIT
) -> tuple[float, str, float]:
    """A proven bound on sigma_1(M), its proof in words, and the chance that it fails.

    Args:
        scaled: M.
        seed: of the randomised proof.
        cholesky_limit: largest shorter side for the deterministic proof.
    """
    operand = scaled.operand
    shorter, longer = min(operand.shape), max(operand.shape)
    if operand.kind != "operator" and shorter <= cholesky_limit and longer <= 4 * cholesky_limit:
        proof = "deterministic: Cholesky factorisation of t I - M^T M"
        return cholesky_norm_bound(scaled), proof, 0.0
    proof = "randomised, failure probability <= 1e-12: Chebyshev polynomial of M^T M"
    if operand.kind == "operator":
        proof += ", if the operator's products are accurate to 2^-40 of its norm"
    degree = 64 if shorter * longer <= 1 << 25 or operand.kind == "sparse" else 40
    sigma = chebyshev_norm_bound(scaled, np.random.default_rng([seed, 2]), degree=degree)
    return sigma, proof, FAILURE_PROBABILITY


def _positive_weights(
    weights: RealMatrix, operand: Operand, *, rows: bool, bordered: bool
) -> FloatArray:
    """Positive weights near the given ones: bad entries and tiny ones are raised to a floor."""
    clean = np.nan_to_num(np.asarray(weights, dtype=np.float64), nan=0.0, posinf=0.0)
    clean = np.clip(clean, 0.0, 1e150)
    largest = float(clean.max())
    floor: Any = 1e-14 * largest
    if operand.kind != "operator":
        sums = operand.row_absolute_sums if rows else operand.column_absolute_sums
        if bordered:
            sums = np.concatenate(([operand.absolute_total], sums))
        floor = np.maximum(floor, _WEIGHT_FLOOR * sums)
    clean = np.maximum(clean, floor)
    return np.where(clean > 0.0, clean, 1.0)


@final
class ScaledMatrix:
    """M = D_U^{-1/2} B D_V^{-1/2} with B = A' (implicit border) or A, in float64.

    Args:
        operand: A.
        d_U: positive weights of the rows of B.
        d_V: positive weights of the columns of B.
        bordered: whether B is A'.
    """

    def __init__(
        self, operand: Operand, d_U: FloatArray, d_V: FloatArray, *, bordered: bool
    ) -> None:
        self.operand = operand
        self.bordered = bordered
        self.left = 1.0 / np.sqrt(d_U)
        self.right = 1.0 / np.sqrt(d_V)
        self.shape = (d_U.size, d_V.size)

    def apply(self, block: FloatArray, *, transpose: bool = False) -> FloatArray:
        """M @ block, or M^T @ block."""
        first, last = (self.left, self.right) if transpose else (self.right, self.left)
        scaled = block * first[:, None]
        centred = scaled[1:] - scaled[0] if self.bordered else scaled
        apply = self.operand.apply_transpose64 if transpose else self.operand.apply64
        image = apply(centred)
        if self.bordered:
            image = np.concatenate((-image.sum(axis=0, keepdims=True), image))
        result: FloatArray = image * last[:, None]
        return result

    def majorant_norm(self) -> float:
        """A bound on the norm of |D_U^{-1/2}| |L| |A| |R|^T |D_V^{-1/2}|, and so on sigma_1(M).

        Schur's test with weights d^{1/2} on both sides: for K >= 0 and p, q > 0,
        ||K||_2^2 <= max_i (K p)_i / q_i * max_j (K^T q)_j / p_j.
        """
        operand = self.operand
        if operand.kind == "operator":
            size = math.sqrt(self.shape[0] * self.shape[1]) if self.bordered else 1.0
            norm = operand.operator_norm_guess
            return norm * size * float(self.left.max() * self.right.max())
        rows, columns = operand.row_absolute_sums, operand.column_absolute_sums
        if self.bordered:
            total = [2.0 * operand.absolute_total]
            rows = np.concatenate((total, 2.0 * rows))
            columns = np.concatenate((total, 2.0 * columns))
        product = float((rows * self.left**2).max()) * float((columns * self.right**2).max())
        return math.sqrt(product) * (1.0 + 2.0**-40)

    def product_error(self) -> float:
        """C with ||fl(M y) - M y|| <= c ||y||, and the same for M^T.

        Each entry of a product sums at most n1 n2 terms in two stages; gamma of both lengths and
        a few roundings for the scaling covers them (first order in the majorant).
        """
        relative = gamma(self.shape[0] + self.shape[1] + 16)
        if self.operand.kind == "operator":
            relative += OPERATOR_ERROR
        return relative * self.majorant_norm()

    def dense(self) -> tuple[FloatArray, float]:
        """M written out, and a bound on ||M - fl(M)||_F. Not for operators.

        Inner entries carry at most four roundings. A border entry is a sum of at most n1 n2
        entries of A, summed row by row or column by column: its error is gamma_{n1+n2} times the
        absolute sum, plus the same four roundings.
        """
        operand = self.operand
        inner = operand.data
        inner = inner.toarray() if operand.kind == "sparse" else inner
        border = int(self.bordered)
        full = np.empty(self.shape)
        full[border:, border:] = inner
        error = 0.0
        if self.bordered:
            block = full[1:, 1:]
            rows, columns = block.sum(axis=1), block.sum(axis=0)
            full[1:, 0], full[0, 1:], full[0, 0] = -rows, -columns, rows.sum()
            weights = (
                float(((operand.row_absolute_sums * self.left[1:]) ** 2).sum()) * self.right[0] ** 2
                + float(((operand.column_absolute_sums * self.right[1:]) ** 2).sum())
                * self.left[0] ** 2
                + (operand.absolute_total * self.left[0] * self.right[0]) ** 2
            )
            error = gamma(sum(self.shape) + 8) * math.sqrt(weights) * 1.001
        full *= self.left[:, None]
        full *= self.right
        return full, error + 8.0 * UNIT_ROUNDOFF * float(np.linalg.norm(full)) * 1.001


def cholesky_norm_bound(scaled: ScaledMatrix) -> float:
    """Theta >= sigma_1(M), proven by a Cholesky factorisation that runs to completion.

    1. G = fl(M^T M) (over the shorter side) differs from the exact Gram matrix of fl(M) by at
       most gamma_n ||fl(M)||_F^2 in norm.
    2. If floating-point Cholesky of the symmetric H = fl(t I - G) completes, H + E is a Gram
       matrix with ||E|| <= gamma_{n+1} / (1 - gamma_{n+1}) trace(H) (Higham 2002, Theorem 10.3;
       Rump 2006), so lambda_min(H) >= -||E||.
    3. Hence lambda_max(G) <= t + ||E|| + u (t + max_j G_jj) and, with step 1 and
       sigma_1(M) <= sigma_1(fl(M)) + ||M - fl(M)||_F, a bound on sigma_1(M).

    No eigenvalue routine is trusted: one only suggests t, and a t that is too small makes the
    factorisation break down.

    Args:
        scaled: M.

    Returns:
        theta, about 1e-9 relative above sigma_1 up to 160 rows, else 1e-4; infinite if M is not.
    """
    matrix, matrix_error = scaled.dense()
    if not math.isfinite(matrix_error):
        return math.inf
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T
    gram = matrix.T @ matrix
    n = gram.shape[0]
    diagonal = gram.diagonal().copy()
    trace = float(diagonal.sum()) * (1.0 + gamma(n + matrix.shape[0]) * 2.0)
    gram_error = gamma(matrix.shape[0] + 2) * trace * 1.001
    guess, slack = _largest_eigenvalue_guess(gram)
    np.negative(gram, out=gram)
    while slack < 1e6:
        shift = guess * (1.0 + slack)
        np.fill_diagonal(gram, shift - diagonal)
        if _cholesky_completes(gram):
            growth = gamma(n + 2)
            completion = growth / (1.0 - growth) * (n * shift) * 1.001
            rounding = 2.0 * UNIT_ROUNDOFF * (shift + float(diagonal.max()))
            bound = math.sqrt(shift + completion + rounding + gram_error) + matrix_error
            return bound * (1.0 + 2.0**-50)
        slack *= 4.0
    return math.inf


def _largest_eigenvalue_guess(gram: FloatArray) -> tuple[float, float]:
    """An estimate of lambda_max from below and its likely relative error; nothing rests on it."""
    n = gram.shape[0]
    tiny = float(np.finfo(np.float64).tiny)
    if n <= 160:
        return max(float(np.linalg.eigvalsh(gram)[-1]), tiny), 1e-9
    rng = np.random.default_rng(20060517)
    return max(_lanczos(gram, rng.standard_normal((n,)), 60), tiny), 3e-4


def _lanczos(gram: FloatArray, start: FloatArray, steps: int) -> float:
    """Largest Ritz value after `steps` Lanczos steps with full reorthogonalisation."""
    basis = np.zeros((steps, start.size))
    alphas: list[float] = []
    betas: list[float] = []
    vector = start * (1.0 / float(np.linalg.norm(start)))
    for step in range(steps):
        basis[step] = vector
        image: FloatArray = gram @ vector
        alphas.append(float(vector @ image))
        image -= basis[: step + 1].T @ (basis[: step + 1] @ image)
        image -= basis[: step + 1].T @ (basis[: step + 1] @ image)
        norm = float(np.linalg.norm(image))
        if norm <= 1e-10 * abs(alphas[0]) or step == steps - 1:
            break
        betas.append(norm)
        vector = image * (1.0 / norm)
    values = scipy.linalg.eigvalsh_tridiagonal(alphas, betas[: len(alphas) - 1])
    return float(values[-1])


def _cholesky_completes(matrix: FloatArray) -> bool:
    # numpy's rather than scipy's: two BLAS libraries with threads of their own wait for each other.
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
