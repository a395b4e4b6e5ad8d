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

The border comes first, at index 0. It is never written out where products suffice. Bounds from
`operand` (read it first) give the rounding errors; factors such as 1.01 and 1.001 cover the
roundings of a bound's own few operations, and 1 + 1e-6 that of the norm of a small block.
"""

import math
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt
import scipy
from scipy.sparse.linalg import ArpackError, eigsh

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.cutnorm.operand import OPERATOR_ERROR, UNIT_ROUNDOFF, Operand, gamma

FAILURE_PROBABILITY = 1e-12  # of the randomised proof
# Rows or columns, whichever are fewer, up to which the deterministic proof is used. It takes three
# matrices of that many rows: 300 MB, and a few seconds.
CHOLESKY_LIMIT = 3500
_COLUMNS = 16  # columns of the random block; with degree 64 sigma_1 is inflated by about 0.2 %
_DEGREE = 64  # of the Chebyshev polynomial
_LARGE_DEGREE = 40  # for large dense matrices, whose products are slow; about 0.5 %
_LARGE_ENTRIES = 1 << 25  # above that a dense matrix is large
_KRYLOV_COLUMNS = 4  # block width and steps of the Lanczos estimate of sigma_1
_KRYLOV_STEPS = 12
_KRYLOV_SEED = 20060517  # fixed: the estimate proves nothing
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

    Args:
        operand: A, shape (n1, n2).
        d_U: positive weights of the rows of B, border first.
        d_V: positive weights of the columns of B, border first.
        bordered: whether B is A'.

    Attributes:
        left: D_U^{-1/2} as a vector.
        right: D_V^{-1/2} as a vector.
        shape: shape of B.
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
        """Return M @ block, or M^T @ block.

        Of A' = L A R^T: R^T takes row 0 off all other rows, and L puts minus the column sums on
        top.
        """
        first, last = (self.left, self.right) if transpose else (self.right, self.left)
        scaled = block * first[:, None]
        centred = scaled[1:] - scaled[0] if self.bordered else scaled
        image = self.operand.apply64(centred, transpose=transpose)
        if self.bordered:
            image = np.concatenate((-image.sum(axis=0, keepdims=True), image))
        product: FloatArray = image * last[:, None]
        return product

    def majorant_norm(self) -> float:
        """Return a bound on the norm of |D_U^{-1/2}| |L| |A| |R|^T |D_V^{-1/2}|.

        So it bounds sigma_1(M), and the errors of products. By Schur's test with the weights
        d^{1/2} on both sides: for K >= 0 and p, q > 0,

            ||K||_2^2 <= max_i (K p)_i / q_i * max_j (K^T q)_j / p_j.

        |A| of an operator is unknown: twice an estimate of its norm stands in, as a premise.
        """
        operand = self.operand
        if operand.kind == "operator":
            size = math.sqrt(self.shape[0] * self.shape[1]) if self.bordered else 1.0
            norm = operand.operator_norm_guess
            return norm * size * float(self.left.max() * self.right.max())
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

        An entry of the product passes through at most n1 + n2 + 16 roundings: of a sum along a row,
        for the border of one along a column, and a few for the scaling. So it is off by gamma of
        that many terms times the product of absolute values, whose norm `majorant_norm` bounds.
        """
        relative = gamma(self.shape[0] + self.shape[1] + 16)
        if self.operand.kind == "operator":
            relative += OPERATOR_ERROR
        return relative * self.majorant_norm()

    def dense(self) -> tuple[FloatArray, float]:
        """Return M written out, and a bound on ||M - fl(M)||_F. Not for operators.

        Inner entries carry at most four roundings. A border entry is a sum of at most n1 n2
        entries of A, summed row by row or column by column: its error is gamma_{n1+n2} times the
        absolute sum, plus the same four roundings.
        """
        operand = self.operand
        border = int(self.bordered)
        matrix = np.empty(self.shape)
        matrix[border:, border:] = operand.dense()
        border_error = 0.0
        if self.bordered:
            block = matrix[1:, 1:]
            row_sums, column_sums = block.sum(axis=1), block.sum(axis=0)
            matrix[1:, 0], matrix[0, 1:], matrix[0, 0] = -row_sums, -column_sums, row_sums.sum()
            rows, columns, total = operand.absolute[:3]
            squares = (  # of the absolute sums of border entries, scaled as the entries are
                float(((rows * self.left[1:]) ** 2).sum()) * self.right[0] ** 2
                + float(((columns * self.right[1:]) ** 2).sum()) * self.left[0] ** 2
                + (total * self.left[0] * self.right[0]) ** 2
            )
            border_error = gamma(sum(self.shape) + 8) * math.sqrt(squares) * 1.001
        matrix *= self.left[:, None]
        matrix *= self.right
        norm = float(np.linalg.norm(matrix))
        return matrix, border_error + 8.0 * UNIT_ROUNDOFF * norm * 1.001


def sigma_bound(
    scaled: ScaledMatrix, seed: int, cholesky_limit: int = CHOLESKY_LIMIT
) -> SigmaBound:
    """Return a proven bound on sigma_1(M).

    Args:
        scaled: M.
        seed: seed of the randomised proof.
        cholesky_limit: largest shorter side of A for the deterministic proof; the longer side may
            be four times as large.
    """
    operand = scaled.operand
    shorter, longer = min(operand.shape), max(operand.shape)
    if operand.kind != "operator" and shorter <= cholesky_limit and longer <= 4 * cholesky_limit:
        proof = "deterministic: Cholesky factorisation of t I - M^T M"
        return SigmaBound(cholesky_norm_bound(scaled), proof, 0.0)
    proof = (
        f"randomised, failure probability <= {FAILURE_PROBABILITY:g}: Chebyshev polynomial of M^T M"
    )
    if operand.kind == "operator":
        proof += ", if the operator's products are accurate to 2^-40 of its norm"
    is_fast = shorter * longer <= _LARGE_ENTRIES or operand.kind == "sparse"
    rng = np.random.default_rng([seed, 2])
    sigma = chebyshev_norm_bound(scaled, rng, degree=_DEGREE if is_fast else _LARGE_DEGREE)
    return SigmaBound(sigma, proof, FAILURE_PROBABILITY)


def cholesky_norm_bound(scaled: ScaledMatrix) -> float:
    """Return a bound on sigma_1(M), proven by a Cholesky factorisation that runs to completion.

    1. G = fl(M^T M) (over the shorter side) differs from the exact Gram matrix of fl(M) by at
       most gamma_n ||fl(M)||_F^2 in norm.
    2. If floating-point Cholesky of the symmetric H = fl(t I - G) completes, H + E is a Gram
       matrix with ||E|| <= gamma_{n+1} / (1 - gamma_{n+1}) trace(H) (Higham 2002, Theorem 10.3;
       Rump 2006), so lambda_min(H) >= -||E||.
    3. Hence lambda_max(G) <= t + ||E|| + u (t + max_j G_jj) and, with step 1 and
       sigma_1(M) <= sigma_1(fl(M)) + ||M - fl(M)||_F, a bound on sigma_1(M).

    No eigenvalue routine is trusted: one only suggests t, and a t that is too small makes the
    factorisation break down. Then t is raised.

    Returns:
        The bound, about 1e-9 relative above sigma_1 up to 160 rows, else 1e-4; infinite if M is not
        finite.
    """
    matrix, matrix_error = scaled.dense()
    if not math.isfinite(matrix_error):
        return math.inf
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T
    longer, gram = matrix.shape[0], matrix.T @ matrix
    del matrix  # the factorisation will take two more matrices as large as the Gram matrix
    n = gram.shape[0]
    diagonal = gram.diagonal().copy()
    trace = float(diagonal.sum()) * (1.0 + gamma(n + longer) * 2.0)
    gram_error = gamma(longer + 2) * trace * 1.001
    guess, slack = _largest_eigenvalue_guess(gram)
    np.negative(gram, out=gram)
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
    """Return an estimate of lambda_max from below and its likely relative error.

    No proof rests on either.
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
    # numpy's rather than scipy's: two BLAS libraries with threads of their own wait for each other.
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def chebyshev_norm_bound(
    multiplier: ScaledMatrix, rng: np.random.Generator, *, degree: int = _DEGREE
) -> float:
    """Return a bound on sigma_1(M) that fails with probability at most 1e-12 over `rng`.

    Let C = 2 M^T M / tau - I for any tau > 0, G a Gaussian block of s columns drawn after M is
    fixed, and Y_q the computed T_q(C) G by the three-term recurrence, with local errors E_j.
    Suppose sigma_1(M)^2 >= tau (1 + x) / 2 for some x >= 1, and let v be the singular vector, so
    that C v = z v with z >= x.

    1. Unrolling, Y_q = T_q(C) G + sum_j U_{q-j}(C) E_j with Chebyshev polynomials of the first
       and second kind: rounding is included, nothing is neglected.
    2. For z >= 1, U_m(z) <= (m + 1) T_m(z) and T_{q-j}(z) T_j(z) <= T_q(z). So

           ||v^T Y_q|| >= T_q(z) (||v^T G|| - r(z)),  r(z) = sum_j (q - j + 1) ||E_j|| / T_j(z),

       and r(z) <= r(x), as each T_j grows.
    3. ||v^T G||^2 is chi-square with s degrees of freedom. It is below its 1e-12 quantile c^2 with
       that probability. Otherwise ||Y_q||_2 >= T_q(x) (c - r(x)).
    4. So each x with T_q(x) (c - r(x)) > ||Y_q||_2 refutes the supposition for this x, and proves
       sigma_1(M)^2 < tau (1 + x) / 2. The left side grows with x; bisection finds an x close to
       the least that refutes.

    Lanczos, a lower bound, only suggests tau. With s = 16 and q = 64 the inflation of sigma_1 is
    about 0.2 percent (compare Kuczynski, Wozniakowski 1992, for Lanczos in exact arithmetic).
    The probability is over truly random G; the generator stands in for it.

    Args:
        multiplier: M.
        rng: a stream that M does not depend on.
        degree: q >= 1.

    Returns:
        The bound; infinite if the rounding error cannot be controlled.
    """
    transpose = multiplier.shape[1] > multiplier.shape[0]  # the shorter side carries the block
    error, majorant = multiplier.product_error(), multiplier.majorant_norm()
    if not math.isfinite(error * majorant):
        return math.inf
    tau = 1.001 * ritz_value(multiplier, transpose)
    if not (math.isfinite(tau) and tau > 0.0):
        return math.inf

    def gram_product(block: FloatArray) -> tuple[FloatArray, float]:
        """Return M^T M @ block, and a bound on its error in the Frobenius norm.

        The error of the first product is multiplied by the second, whose norm and error sum to
        at most majorant + error; the second product adds its own.
        """
        middle = multiplier.apply(block, transpose=transpose)
        image = multiplier.apply(middle, transpose=not transpose)
        first = error * (majorant + error) * float(np.linalg.norm(block))
        second = error * float(np.linalg.norm(middle))
        return image, (first + second) * 1.01

    previous = rng.standard_normal((min(multiplier.shape), _COLUMNS))  # Y_0 = G
    # G itself is exact; its term stands for the rounding of its norms.
    errors = [4.0 * UNIT_ROUNDOFF * float(np.linalg.norm(previous))]
    with np.errstate(over="ignore", invalid="ignore"):
        image, product_error = gram_product(previous)
        current = (2.0 / tau) * image - previous  # Y_1 = C Y_0
        errors.append(_local_error(2.0 / tau, product_error, image, current, previous))
        for _ in range(2, degree + 1):
            image, product_error = gram_product(current)
            following = (4.0 / tau) * image - 2.0 * current - previous  # 2 C Y_j - Y_{j-1}
            errors.append(_local_error(4.0 / tau, product_error, image, current, previous))
            previous, current = current, following
    if not bool(np.isfinite(current).all()):
        return math.inf
    block_norm = float(np.linalg.norm(current, 2)) * (1.0 + 1e-6)
    x = _least_refuting_x(block_norm, errors)
    return math.sqrt(tau * (1.0 + x) / 2.0) * (1.0 + 1e-12)


def _local_error(
    factor: float,
    product_error: float,
    image: FloatArray,
    current: FloatArray,
    previous: FloatArray,
) -> float:
    """Return a bound on ||E_j||_F: the error of the products, and the roundings of the sum.

    Args:
        factor: what the image is multiplied by.
        product_error: bound on the error of the image.
        image: M^T M times the last block.
        current: the block that the recurrence takes twice.
        previous: the block that it takes off once.
    """
    size = factor * float(np.linalg.norm(image))
    size += 2.0 * float(np.linalg.norm(current)) + float(np.linalg.norm(previous))
    return (factor * product_error + 8.0 * UNIT_ROUNDOFF * size) * 1.01


def _least_refuting_x(block_norm: float, errors: list[float]) -> float:
    """Return an x >= 1 with T_q(x) (c - r(x)) > ||Y_q||, close to the least.

    With x = cosh(a) it is T_j(x) = cosh(j a), and T_q(x) >= exp(q a) / 2.

    Args:
        block_norm: a bound on ||Y_q||_2.
        errors: bounds on ||E_j||, j = 0 to q.

    Returns:
        x; infinity if none is found.
    """
    degree = len(errors) - 1
    quantile = (  # c
        math.sqrt(2.0 * float(scipy.special.gammaincinv(_COLUMNS / 2.0, FAILURE_PROBABILITY)))
        * 0.999
    )
    orders = np.arange(degree + 1)
    weighted_errors = (degree - orders + 1) * np.asarray(errors)

    def refutes(angle: float) -> bool:
        remainder = float((weighted_errors / np.cosh(orders * angle)).sum()) * 1.01  # r(x)
        margin = quantile - remainder
        if not margin > 0.0:
            return False
        return degree * angle - math.log(2.0) + math.log(margin) > math.log(block_norm) + 1e-9

    low, high = 0.0, 1.0 / 64.0
    while not refutes(high):
        low, high = high, 2.0 * high
        if high > 8.0:
            return math.inf
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if refutes(middle) else (middle, high)
    return math.cosh(high) * (1.0 + 1e-12)


def ritz_value(multiplier: ScaledMatrix, transpose: bool) -> float:
    """Return the largest Ritz value of M^T M on a block Krylov space, a lower bound on sigma_1^2.

    Args:
        multiplier: M.
        transpose: True to use M M^T, the smaller one for a wide M.

    Returns:
        The value; infinite if products are not finite.
    """
    size = min(multiplier.shape)
    rng = np.random.default_rng(_KRYLOV_SEED)
    block = np.linalg.qr(rng.standard_normal((size, min(_KRYLOV_COLUMNS, size))))[0]
    basis: list[npt.NDArray[np.float64]] = []
    images: list[npt.NDArray[np.float64]] = []
    for step in range(min(_KRYLOV_STEPS, size // block.shape[1])):
        middle = multiplier.apply(block, transpose=transpose)
        if not bool(np.isfinite(middle).all()):
            return math.inf
        basis.append(block)
        images.append(middle)
        if step + 1 < _KRYLOV_STEPS:
            block = multiplier.apply(middle, transpose=not transpose)
            for _ in range(2):  # Gram-Schmidt, twice for accuracy
                for earlier in basis:
                    block -= earlier @ (earlier.T @ block)
            block = np.linalg.qr(block)[0]
    return float(np.linalg.norm(np.concatenate(images, axis=1), 2)) ** 2
