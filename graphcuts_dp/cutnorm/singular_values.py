"""Proven upper bounds on sigma_1, the largest singular value of a scaled matrix.

Lanczos and power iterations approach sigma_1 from below and prove nothing. Here are two proofs from
above, which account for the rounding of every step:

- `cholesky_norm_bound`: deterministic, by a Cholesky factorisation; for matrices that fit;
- `chebyshev_norm_bound`: randomised with a stated failure probability, by a Chebyshev polynomial of
  M^T M on a random block; for large matrices and operators.

`sigma_bound` chooses between them. The matrix is M = D_U^{-1/2} B D_V^{-1/2}, a `ScaledMatrix`,
with positive weights d_U of the rows and d_V of the columns of B. For the infinity-to-one norm B is
A itself. For the cut norm B is the *bordered matrix* A', which has one row and one column more, so
that all its rows and columns sum to zero:

    A' = [[1^T A 1, -1^T A], [-A 1, A]] = L A R^T  with  L = [-1^T; I] and R = [-1^T; I].

The border comes first, at index 0. It is never written out where products suffice.

A is an `Operand`. This module uses of it:

- `kind`: "dense", "sparse" or "operator", which has products but no entries to look at. That its
  products are accurate to `OPERATOR_ERROR` times its norm is a *premise*, assumed and not proven;
- `apply64`: products in float64, and `dense()`: the entries in float64;
- `absolute`: upper bounds on sums of |a_ij|: `rows` (n1,), `columns` (n2,) and `total`;
- `operator_norm_guess`: twice an estimate of sigma_1(A), used for operators only;
- `gamma(m)` = m u / (1 - m u): a float64 sum of m terms is off by at most gamma(m) times its
  absolute sum. u is `UNIT_ROUNDOFF`, 2^-53.

fl(...) is the computed value of an expression. Terms added to m in gamma(m), factors such as 1.01
and 1.001, and differences of powers of two from 1 cover the roundings of a bound's own few
operations; 1 + 1e-6 covers that of the norm of a small block. All may be raised, never lowered.
"""

import math
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt
import scipy
from scipy.sparse.linalg import ArpackError, eigsh

from graphcuts_dp.arrays import FloatArray, RealMatrix
from graphcuts_dp.cutnorm.operand import OPERATOR_ERROR, UNIT_ROUNDOFF, Operand, gamma

FAILURE_PROBABILITY = 1e-12  # of the randomised proof
# Rows or columns, whichever are fewer, up to which the deterministic proof is used. It takes three
# matrices of that many rows: 300 MB, and a few seconds.
CHOLESKY_LIMIT = 3500
# The same of short proofs: from about 600 rows on the randomised proof of low degree takes less
# time, but the deterministic one takes less than a second up to this limit.
_SHORT_CHOLESKY_LIMIT = 2048
# Columns of the random block and degree of the Chebyshev polynomial: of sparse matrices and small
# operators, of large operators, of dense matrices, whose products are slow, and of short proofs.
# The bound is then about 0.2, 0.3, 0.7 and 3 % above sigma_1. (The relaxation behind the bound on a
# cut norm is 12 to 17 % above the best cut of noise in any case.)
_COLUMNS = 16
_DEGREE = 64
_LARGE_DEGREE = 40
_DENSE_DEGREE = 24
_SHORT_DEGREE = 12
_LARGE_ENTRIES = 1 << 25  # n1 n2 above which an operator is large
_KRYLOV_COLUMNS = 4  # block width of the Lanczos estimate of sigma_1
# Blocks of its Krylov space: of an estimate for its own sake, and of one that only suggests tau.
_KRYLOV_STEPS = 12
_FEW_KRYLOV_STEPS = 5
_KRYLOV_SEED = 20060517  # fixed: the estimate proves nothing, and depends on the matrix alone
_FULL_EIGENVALUES = 160  # rows up to which all eigenvalues are computed, in milliseconds


class SigmaBound(NamedTuple):
    """A proven bound on sigma_1(M).

    Attributes:
        sigma: the bound; may be infinite.
        proof: the proof in words.
        failure_probability: over the random vectors of the proof; 0 if there are none.
    """

    sigma: float
    proof: str
    failure_probability: float


@final
class ScaledMatrix:
    """M = D_U^{-1/2} B D_V^{-1/2} with B = A' (implicit border) or B = A, in float64.

    The computed `left` and `right` count as exact: M is the matrix with these diagonals, and its
    weights are 1 / left^2 and 1 / right^2, which differ from d_U and d_V by a few u. The factor
    1 + 2^-48 in `certificate.scaling_bound` covers that.

    Args:
        operand: A, shape (n1, n2).
        d_U: positive weights of the rows of B, border first if bordered.
        d_V: positive weights of the columns of B, border first if bordered.
        bordered: True if B is A', of shape (n1 + 1, n2 + 1); False if B is A.

    Attributes:
        left: the diagonal of D_U^{-1/2}, one number for each row of B.
        right: the diagonal of D_V^{-1/2}, one number for each column of B.
        shape: shape of B, and of M.
    """

    def __init__(
        self, operand: Operand, d_U: FloatArray, d_V: FloatArray, *, bordered: bool
    ) -> None:
        self.operand = operand
        self.bordered = bordered
        self.left: npt.NDArray[np.float64] = 1.0 / np.sqrt(d_U)
        self.right: npt.NDArray[np.float64] = 1.0 / np.sqrt(d_V)
        self.shape: tuple[int, int] = (d_U.size, d_V.size)

    def apply(
        self, block: FloatArray, *, transpose: bool = False, coarse: bool = False
    ) -> FloatArray:
        """Return M @ block, or M^T @ block.

        With A' = L A R^T: R^T subtracts row 0 from all other rows (and drops it), and L puts minus
        the column sums on top. A'^T = R A^T L^T works alike.

        Args:
            block: shape (columns of M, count), or (rows of M, count) if `transpose`.
            transpose: True to multiply by M^T.
            coarse: whether products have the precision of the matrix, which proves nothing.
        """
        first, last = (self.left, self.right) if transpose else (self.right, self.left)
        weighted = block * first[:, None]
        centred = weighted[1:] - weighted[0] if self.bordered else weighted
        if coarse:
            columns: RealMatrix = centred.astype(self.operand.dtype)
            image = self.operand.apply(columns, transpose=transpose).astype(np.float64)
        else:
            image = self.operand.apply64(centred, transpose=transpose)
        if self.bordered:
            image = np.concatenate((-image.sum(axis=0, keepdims=True), image))
        product: FloatArray = image * last[:, None]
        return product

    def normal_product(
        self, block: FloatArray, *, transpose: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return M^T M @ block and M @ block, or M M^T @ block and M^T @ block.

        A dense matrix with at most as many columns as rows is read once for both products. With
        W = A R^T D_V^{-1/2} @ block and E the diagonal of D_U^{-1}, of which e_0 is the first
        entry and E' the others, L^T E L W = E' W + e_0 1 1^T W. So A^T E' W is what the second
        product of A adds up, and (A^T 1)(e_0 1^T W) is added to it.

        Args:
            block: as in `apply`.
            transpose: True for M M^T.
        """
        if transpose or self.operand.kind != "dense":
            middle = self.apply(block, transpose=transpose)
            return self.apply(middle, transpose=not transpose), middle
        weighted = block * self.right[:, None]
        weights = self.left**2
        if not self.bordered:
            images, total = self.operand.normal_product64(weighted, weights)
        else:
            centred = weighted[1:] - weighted[0]
            images, total = self.operand.normal_product64(centred, weights[1:])
            sums = images.sum(axis=0, keepdims=True)
            total += self._column_sums[:, None] * (weights[0] * sums)
            total = np.concatenate((-total.sum(axis=0, keepdims=True), total))
            images = np.concatenate((-sums, images))
        return total * self.right[:, None], images * self.left[:, None]

    @cached_property
    def _column_sums(self) -> FloatArray:
        """A^T 1, shape (n2,)."""
        ones = np.ones((self.operand.shape[0], 1))
        sums: FloatArray = self.operand.apply64(ones, transpose=True).ravel()
        return sums

    def majorant_norm(self) -> float:
        """Return a bound on the norm of |D_U^{-1/2}| |L| |A| |R|^T |D_V^{-1/2}|.

        Bars around a matrix mean absolute values of its entries. (L and R are the identity if not
        bordered.) So it bounds sigma_1(M), and the size of what a product adds up. Schur's test
        says, for a matrix K >= 0 and vectors p, q > 0,

            ||K||_2^2 <= max_i (K p)_i / q_i * max_j (K^T q)_j / p_j.

        Here K is the matrix above, p = d_V^{1/2} and q = d_U^{1/2}. Then (K p)_i / q_i is row sum i
        of |L| |A| |R|^T over d_U[i], and the second factor has the column sums over d_V[j]. As
        |R|^T 1 = 2 and |L| adds a row of column sums, these row sums are twice those of |A|, after
        a first one of twice its total; column sums alike.

        |A| of an operator is unknown. There ||L||^2 = n1 + 1 and ||R||^2 = n2 + 1 multiply twice an
        estimate of ||A||, as a premise.
        """
        operand = self.operand
        if operand.kind == "operator":
            # ||L|| ||R||
            border_norm = math.sqrt(self.shape[0] * self.shape[1]) if self.bordered else 1.0
            norm = operand.operator_norm_guess
            return norm * border_norm * float(self.left.max() * self.right.max())
        row_sums, column_sums = operand.absolute.rows, operand.absolute.columns
        if self.bordered:
            border_sum = [2.0 * operand.absolute.total]
            row_sums = np.concatenate((border_sum, 2.0 * row_sums))
            column_sums = np.concatenate((border_sum, 2.0 * column_sums))
        product = float((row_sums * self.left**2).max()) * float(
            (column_sums * self.right**2).max()
        )
        return math.sqrt(product) * (1.0 + 2.0**-40)

    def product_error(self) -> float:
        """Return c with ||fl(M y) - M y|| <= c ||y||, and the same for M^T.

        fl(...) is what `apply` computes. An entry of the product passes through at most
        n1 + n2 + 16 roundings: of a sum along a row, for the border of one along a column, and a
        few for the scaling. So it is off by at most gamma of that many terms times the same entry
        of |D_U^{-1/2}| |L| |A| |R|^T |D_V^{-1/2}| |y|, and `majorant_norm` bounds the norm of that
        matrix. A change of `apply` that adds roundings must raise the 16. The second product of
        `normal_product` splits A^T L^T into A^T and (A^T 1) times the border: the moduli that it
        adds up are the same, in as many roundings.
        """
        relative = gamma(self.shape[0] + self.shape[1] + 16)
        if self.operand.kind == "operator":
            relative += OPERATOR_ERROR
        return relative * self.majorant_norm()

    def dense(self) -> tuple[FloatArray, float]:
        """Return fl(M) written out, and a bound on ||M - fl(M)||_F. Not for operators.

        Entries are multiplied by two numbers, which takes two roundings; 8 u times the norm of M
        covers them amply. A border entry is a sum of entries of A first, and the corner one of row
        sums: their errors are at most gamma(n1 + n2) times their absolute sums.
        """
        operand = self.operand
        border = int(self.bordered)
        matrix = np.empty(self.shape)
        matrix[border:, border:] = operand.dense()
        border_error = 0.0
        if self.bordered:
            block = matrix[1:, 1:]  # A
            row_sums, column_sums = block.sum(axis=1), block.sum(axis=0)
            matrix[1:, 0], matrix[0, 1:], matrix[0, 0] = -row_sums, -column_sums, row_sums.sum()
            # The Frobenius norm of the border if all entries of A had one sign, scaled as M is:
            # squares of its column, its row and its corner.
            absolute = operand.absolute
            column_squares = float(((absolute.rows * self.left[1:]) ** 2).sum())
            row_squares = float(((absolute.columns * self.right[1:]) ** 2).sum())
            squares = (
                column_squares * self.right[0] ** 2
                + row_squares * self.left[0] ** 2
                + (absolute.total * self.left[0] * self.right[0]) ** 2
            )
            border_error = gamma(sum(self.shape) + 8) * math.sqrt(squares) * 1.001
        matrix *= self.left[:, None]
        matrix *= self.right
        norm = float(np.linalg.norm(matrix))
        return matrix, border_error + 8.0 * UNIT_ROUNDOFF * norm * 1.001


def sigma_bound(
    scaled: ScaledMatrix, seed: int, cholesky_limit: int = CHOLESKY_LIMIT, *, short: bool = False
) -> SigmaBound:
    """Return a proven bound on sigma_1(M).

    Args:
        scaled: M.
        seed: seed of the randomised proof.
        cholesky_limit: largest shorter side of A for the deterministic proof; the longer side may
            be up to four times this limit.
        short: whether the proof takes the least time, for a bound that is about 2 % looser.
    """
    operand = scaled.operand
    if short:
        cholesky_limit = min(cholesky_limit, _SHORT_CHOLESKY_LIMIT)
    shorter, longer = min(operand.shape), max(operand.shape)
    if operand.kind != "operator" and shorter <= cholesky_limit and longer <= 4 * cholesky_limit:
        proof = "deterministic: Cholesky factorisation of t I - M^T M"
        return SigmaBound(cholesky_norm_bound(scaled), proof, 0.0)
    proof = (
        f"randomised, failure probability <= {FAILURE_PROBABILITY:g}: Chebyshev polynomial of M^T M"
    )
    if operand.kind == "operator":
        proof += ", if the operator's products are accurate to 2^-40 of its norm"
    if short:
        degree = _SHORT_DEGREE
    elif operand.kind == "dense":
        degree = _DENSE_DEGREE
    else:
        is_fast = shorter * longer <= _LARGE_ENTRIES or operand.kind == "sparse"
        degree = _DEGREE if is_fast else _LARGE_DEGREE
    # Stream 2 is used by no other code, so M does not depend on it: the proof relies on that.
    rng = np.random.default_rng([seed, 2])
    sigma = chebyshev_norm_bound(scaled, rng, degree=degree)
    return SigmaBound(sigma, proof, FAILURE_PROBABILITY)


def cholesky_norm_bound(scaled: ScaledMatrix) -> float:
    """Return a bound on sigma_1(M), proven by a Cholesky factorisation that runs to completion.

    Let n be the shorter side of M and N the longer one (`longer`), and transpose M if it is wide.

    1. The computed n x n Gram matrix G = fl(M^T M) differs from the exact one of fl(M) by at most
       gamma(N) ||fl(M)||_F^2 in norm: `gram_error`. (||fl(M)||_F^2 is the trace of the latter.)
    2. If floating-point Cholesky of the symmetric H = fl(t I - G) completes, H + E is a Gram
       matrix with ||E|| <= gamma(n+1) / (1 - gamma(n+1)) trace(H) (Higham 2002, Theorem 10.3;
       Rump 2006), so lambda_min(H) >= -||E||. As G_jj >= 0, trace(H) <= n t: `completion`.
    3. H differs from t I - G on the diagonal alone, by at most u (t + max_j G_jj): `rounding`.
    4. Hence lambda_max(G) <= t + completion + rounding, and
       sigma_1(M) <= sqrt(lambda_max(G) + gram_error) + ||M - fl(M)||_F.

    No eigenvalue routine is trusted: one only suggests t, and a t that is too small makes the
    factorisation break down. Then t is raised.

    Returns:
        The bound, relatively about 1e-9 above sigma_1 if n <= 160, else about 1e-4; infinite if M
        is not finite.
    """
    matrix, matrix_error = scaled.dense()  # fl(M)
    if not math.isfinite(matrix_error):
        return math.inf
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T
    longer, gram = matrix.shape[0], matrix.T @ matrix
    del matrix  # frees memory: the factorisation takes two more matrices as large as `gram`
    n = gram.shape[0]
    diagonal = gram.diagonal().copy()
    # At least the exact trace: the factor covers the roundings of the diagonal and of its sum.
    trace = float(diagonal.sum()) * (1.0 + gamma(n + longer) * 2.0)
    gram_error = gamma(longer + 2) * trace * 1.001
    # t = guess * (1 + slack). The slack grows until the factorisation completes.
    guess, slack = _largest_eigenvalue_guess(gram)
    np.negative(gram, out=gram)  # in place; from here on `gram` holds H
    while slack < 1e6:
        shift = guess * (1.0 + slack)  # t
        np.fill_diagonal(gram, shift - diagonal)
        if _cholesky_completes(gram):
            growth = gamma(n + 2)
            completion = growth / (1.0 - growth) * (n * shift) * 1.001  # ||E||
            rounding = 2.0 * UNIT_ROUNDOFF * (shift + float(diagonal.max()))
            bound = math.sqrt(shift + completion + rounding + gram_error) + matrix_error
            return bound * (1.0 + 2.0**-50)
        slack *= 4.0
    return math.inf


def _largest_eigenvalue_guess(gram: FloatArray) -> tuple[float, float]:
    """Return an estimate of lambda_max of a Gram matrix, and its likely relative error.

    The estimate is positive, so that a multiple of it can be a bound. No proof rests on either.
    """
    n = gram.shape[0]
    tiny = float(np.finfo(np.float64).tiny)
    if n <= _FULL_EIGENVALUES:
        return max(float(np.linalg.eigvalsh(gram)[-1]), tiny), 1e-9
    start = np.random.default_rng(_KRYLOV_SEED).standard_normal(n)
    try:
        (estimate,) = eigsh(gram, k=1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)
    except ArpackError:  # a zero matrix, or one for which it converges too slowly
        estimate = gram.diagonal().max()
    return max(float(estimate), tiny), 3e-4


def _cholesky_completes(matrix: FloatArray) -> bool:
    """Return True if the factorisation of a symmetric matrix runs to completion."""
    # numpy's rather than scipy's: two BLAS libraries with threads of their own wait for each other.
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def chebyshev_norm_bound(
    scaled: ScaledMatrix,
    rng: np.random.Generator,
    *,
    degree: int = _DEGREE,
) -> float:
    """Return a bound on sigma_1(M) that fails with probability at most 1e-12 over `rng`.

    The idea: T_q, the Chebyshev polynomial of degree q, is at most 1 on [-1, 1] and grows fast
    above 1. If M^T M had an eigenvalue well above tau, T_q(C) of a random block would be huge with
    near certainty. It is computed and is not, so M^T M has no such eigenvalue.

    Let C = 2 M^T M / tau - I for any tau > 0, and Y_0 a Gaussian block of s columns, drawn after M
    is fixed. The recurrence Y_1 = C Y_0, Y_{j+1} = 2 C Y_j - Y_{j-1} gives Y_q = T_q(C) Y_0 in
    exact arithmetic. From here on Y_j are the computed blocks. They obey the recurrence up to a
    local error E_j, the error of step j alone: Y_{j+1} = 2 C Y_j - Y_{j-1} + E_{j+1}. Suppose
    sigma_1(M)^2 >= tau (1 + x) / 2 for some x >= 1, and let v be the right singular vector of
    sigma_1, so that C v = z v with z >= x.

    1. Unrolling the recurrence, Y_q = T_q(C) Y_0 + sum_{j=1..q} U_{q-j}(C) E_j with Chebyshev
       polynomials T, U of the first and second kind: rounding is included, nothing is neglected.
       Multiplied by v^T from the left, C becomes the number z.
    2. For z >= 1, U_m(z) <= (m + 1) T_m(z) and T_{q-j}(z) T_j(z) <= T_q(z), so
       U_{q-j}(z) <= (q - j + 1) T_q(z) / T_j(z). Hence

           ||v^T Y_q|| >= T_q(z) (||v^T Y_0|| - r(z)),
           r(z) = sum_{j=0..q} (q - j + 1) ||E_j|| / T_j(z).

       E_0 is 0 in the theorem; the code has a small number that covers the rounding of norms. As
       each T_j grows with z, T_q(z) >= T_q(x) and r(z) <= r(x).
    3. ||v^T Y_0||^2 is chi-square with s degrees of freedom. With probability 1e-12 it is below its
       1e-12 quantile c^2. Otherwise ||Y_q||_2 >= ||v^T Y_q|| >= T_q(x) (c - r(x)).
    4. So each x with T_q(x) (c - r(x)) > ||Y_q||_2 refutes the supposition for this x, and proves
       sigma_1(M)^2 < tau (1 + x) / 2. The left side grows with x; bisection finds an x close to
       the least that refutes. The failure event of step 3 does not depend on x, so trying many x
       costs no probability.

    A lower bound by Lanczos only suggests tau; any tau > 0 gives a proof. With s = 16 and q = 64
    the bound is about 0.2 percent above sigma_1 (compare Kuczynski, Wozniakowski 1992, for Lanczos
    in exact arithmetic). The probability is over a truly random Y_0; the generator stands in for
    it.

    If M is wide, M^T takes its place, which has the same sigma_1, so that blocks have as many rows
    as the shorter side.

    Args:
        scaled: M.
        rng: a stream that M does not depend on.
        degree: q >= 1.

    Returns:
        The bound; infinite if the rounding error cannot be controlled.
    """
    transpose = scaled.shape[1] > scaled.shape[0]  # True: M^T in place of M
    # Bounds on the error of one product M y, over ||y||, and on sigma_1(M).
    error, majorant = scaled.product_error(), scaled.majorant_norm()
    if not math.isfinite(error * majorant):
        return math.inf
    tau = 1.001 * ritz_value(scaled, transpose, _FEW_KRYLOV_STEPS)
    if not (math.isfinite(tau) and tau > 0.0):
        return math.inf

    def gram_product(block: FloatArray) -> tuple[FloatArray, float]:
        """Return M^T M @ block, and a bound on its error in the Frobenius norm.

        The first product, M @ block, is off by error * ||block||. The second product multiplies
        that by at most majorant + error, and adds its own error.
        """
        image, middle = scaled.normal_product(block, transpose=transpose)
        first_error = error * (majorant + error) * float(np.linalg.norm(block))
        second_error = error * float(np.linalg.norm(middle))
        return image, (first_error + second_error) * 1.01

    # `previous`, `current` and `following` are Y_{j-1}, Y_j and Y_{j+1}, shape (shorter side, s).
    previous = rng.standard_normal((min(scaled.shape), _COLUMNS))  # Y_0
    errors = [4.0 * UNIT_ROUNDOFF * float(np.linalg.norm(previous))]  # bounds on ||E_0||, ...
    with np.errstate(over="ignore", invalid="ignore"):
        image, product_error = gram_product(previous)
        current = (2.0 / tau) * image - previous  # Y_1 = C Y_0
        # Y_1 takes no block twice; passing Y_1 itself as that block only raises the bound on E_1.
        errors.append(_local_error(2.0 / tau, product_error, image, current, previous))
        for _ in range(2, degree + 1):
            image, product_error = gram_product(current)
            following = (4.0 / tau) * image - 2.0 * current - previous  # 2 C Y_j - Y_{j-1}
            errors.append(_local_error(4.0 / tau, product_error, image, current, previous))
            previous, current = current, following
    if not bool(np.isfinite(current).all()):
        return math.inf
    block_norm = float(np.linalg.norm(current, 2)) * (1.0 + 1e-6)  # of Y_q
    x = _least_refuting_x(block_norm, errors)
    return math.sqrt(tau * (1.0 + x) / 2.0) * (1.0 + 1e-12)


def _local_error(
    factor: float,
    product_error: float,
    image: FloatArray,
    current: FloatArray,
    previous: FloatArray,
) -> float:
    """Return a bound on ||E_j||_F, the error of fl(factor * image - 2 current - previous).

    It is the error of the products in `image`, and the roundings of the sum.

    Args:
        factor: what the image is multiplied by.
        product_error: bound on the error of the image, in the Frobenius norm.
        image: M^T M times the last block.
        current: the block that the recurrence subtracts twice.
        previous: the block that it subtracts once.
    """
    size = factor * float(np.linalg.norm(image))
    size += 2.0 * float(np.linalg.norm(current)) + float(np.linalg.norm(previous))
    return (factor * product_error + 8.0 * UNIT_ROUNDOFF * size) * 1.01


def _least_refuting_x(block_norm: float, errors: list[float]) -> float:
    """Return an x >= 1 with T_q(x) (c - r(x)) > ||Y_q||, close to the least.

    For the names see `chebyshev_norm_bound`. x is searched for as cosh(angle), since
    T_j(cosh(a)) = cosh(j a), and T_q >= exp(q a) / 2 has a logarithm without overflow.

    Args:
        block_norm: a bound on ||Y_q||_2.
        errors: bounds on ||E_j||, j = 0 to q.

    Returns:
        x; infinity if none is found up to cosh(8), about 1490.
    """
    degree = len(errors) - 1  # q
    # c: a chi-square variable of s degrees is twice a gamma variable of shape s / 2. The factor
    # 0.999 covers the inaccuracy of scipy's quantile.
    chi_square_quantile = 2.0 * float(
        scipy.special.gammaincinv(_COLUMNS / 2.0, FAILURE_PROBABILITY)
    )
    quantile = math.sqrt(chi_square_quantile) * 0.999
    orders = np.arange(degree + 1)  # j
    weighted_errors = (degree - orders + 1) * np.asarray(errors)

    def refutes(angle: float) -> bool:
        """Return True if log(T_q(x)) + log(c - r(x)) > log ||Y_q||, for x = cosh(angle)."""
        remainder = float((weighted_errors / np.cosh(orders * angle)).sum()) * 1.01  # r(x)
        margin = quantile - remainder
        if not margin > 0.0:
            return False
        return degree * angle - math.log(2.0) + math.log(margin) > math.log(block_norm) + 1e-9

    # Angles: `high` doubles until it refutes, then bisection. `high` refutes at every moment.
    low, high = 0.0, 1.0 / 64.0
    while not refutes(high):
        low, high = high, 2.0 * high
        if high > 8.0:
            return math.inf
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if refutes(middle) else (middle, high)
    return math.cosh(high) * (1.0 + 1e-12)


def ritz_value(scaled: ScaledMatrix, transpose: bool, steps: int = _KRYLOV_STEPS) -> float:
    """Return the largest Ritz value of M^T M on a block Krylov space, a lower bound on sigma_1^2.

    For an orthonormal basis Q of the space it is ||M Q||_2^2. With rounding it is an estimate.

    Args:
        scaled: M.
        transpose: True to use M M^T. It must be True just if M is wide (more columns than rows), as
            blocks have as many rows as the shorter side.
        steps: blocks of the space.

    Returns:
        The value; infinite if products are not finite.
    """
    size = min(scaled.shape)
    rng = np.random.default_rng(_KRYLOV_SEED)
    block = np.linalg.qr(rng.standard_normal((size, min(_KRYLOV_COLUMNS, size))))[0]
    basis: list[npt.NDArray[np.float64]] = []  # blocks of Q, orthonormal
    images: list[npt.NDArray[np.float64]] = []  # M times each
    for step in range(min(steps, size // block.shape[1])):
        middle = scaled.apply(block, transpose=transpose, coarse=True)
        if not bool(np.isfinite(middle).all()):
            return math.inf
        basis.append(block)
        images.append(middle)
        if step + 1 < steps:
            block = scaled.apply(middle, transpose=not transpose, coarse=True)
            # Gram-Schmidt against all blocks, twice for accuracy; and again with unit columns, as
            # nothing but rounding may be left of some, in any direction.
            for _ in range(2):
                for _ in range(2):
                    for earlier in basis:
                        block -= earlier @ (earlier.T @ block)
                block = np.linalg.qr(block)[0]
    return float(np.linalg.norm(np.concatenate(images, axis=1), 2)) ** 2
