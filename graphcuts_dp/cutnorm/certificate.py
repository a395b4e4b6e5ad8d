"""What is proven of cut norms: upper bounds, and the certificate that every method returns.

A certificate holds a witness, and a bound that nothing can exceed.

**Scaling theorem.** For every matrix B and all positive weights d_U, d_V, with
M = D_U^{-1/2} B D_V^{-1/2}, and signs x, y,

    x^T B y = (D_U^{1/2} x)^T M (D_V^{1/2} y) <= sigma_1(M) sqrt(sum d_U) sqrt(sum d_V),

because ||D_U^{1/2} x||^2 = sum d_U. Nothing is assumed about the weights: wherever U and V come
from, converged or damaged, the bound holds. For B = A' it bounds 4 ||A||_C; for B = A it bounds
||A||_{inf->1}. At an optimal U, V the weights are dual optimal, sigma_1 = 1 and the bound is the
value of the relaxation.

**sigma_1 from above.** Lanczos and power iterations approach sigma_1 from below and prove nothing.
`cholesky_norm_bound` is deterministic; `chebyshev_norm_bound` is randomised with a stated failure
probability, by a Chebyshev polynomial of M^T M on a random block, for large matrices. Both account
for the rounding of every step.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt
import scipy
from scipy.sparse.linalg import ArpackError, eigsh

from graphcuts_dp.arrays import BoolVector, FloatArray, RealMatrix
from graphcuts_dp.cutnorm.operand import OPERATOR_ERROR, UNIT_ROUNDOFF, Operand, gamma
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import MatrixError

FAILURE_PROBABILITY = 1e-12
_COLUMNS = 16
_KRYLOV_COLUMNS = 4
_KRYLOV_STEPS = 12


def chebyshev_norm_bound(
    multiplier: "ScaledMatrix", rng: np.random.Generator, *, degree: int = 64
) -> float:
    """A bound on sigma_1(M) that fails with probability at most 1e-12 over `rng`.

    Let C = 2 M^T M / tau - I for any tau > 0, G a Gaussian block of s columns drawn after M is
    fixed, and Y_q the computed T_q(C) G by the three-term recurrence, with local errors E_j.
    Suppose sigma_1(M)^2 >= tau (1 + x) / 2 for some x >= 1, and let v be the singular vector, so
    that C v = z v with z >= x.

    1. Unrolling, Y_q = T_q(C) G + sum_j U_{q-j}(C) E_j with Chebyshev polynomials of the first
       and second kind: rounding is included, nothing is neglected.
    2. For z >= 1, U_m(z) <= (m + 1) T_m(z) and T_{q-j}(z) T_j(z) <= T_q(z). So ||v^T Y_q|| >=
       T_q(z) (||v^T G|| - r(z)), r(z) = sum_j (q - j + 1) ||E_j|| / T_j(z) <= r(x).
    3. ||v^T G||^2 is chi-square with s degrees of freedom, below its 1e-12 quantile c^2 with that
       probability. Otherwise ||Y_q||_2 >= T_q(x) (c - r(x)).
    4. The right side grows with x. Where it exceeds ||Y_q||_2 the supposition is false: so
       sigma_1(M)^2 < tau (1 + x) / 2 for the least such x, which bisection brackets from above.

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
    transpose = multiplier.shape[1] > multiplier.shape[0]
    error, majorant = multiplier.product_error(), multiplier.majorant_norm()
    if not math.isfinite(error * majorant):
        return math.inf
    tau = 1.001 * ritz_value(multiplier, transpose)
    if not (math.isfinite(tau) and tau > 0.0):
        return math.inf

    def gram(block: FloatArray) -> tuple[FloatArray, float]:
        middle = multiplier.apply(block, transpose=transpose)
        image = multiplier.apply(middle, transpose=not transpose)
        norms = float(np.linalg.norm(block)), float(np.linalg.norm(middle))
        return image, (error * (majorant + error) * norms[0] + error * norms[1]) * 1.01

    previous = rng.standard_normal((min(multiplier.shape), _COLUMNS))
    errors = [4.0 * UNIT_ROUNDOFF * float(np.linalg.norm(previous))]
    with np.errstate(over="ignore", invalid="ignore"):
        image, local = gram(previous)
        current = (2.0 / tau) * image - previous
        errors.append(_local_error(2.0 / tau, local, image, current, previous))
        for _ in range(2, degree + 1):
            image, local = gram(current)
            following = (4.0 / tau) * image - 2.0 * current - previous
            errors.append(_local_error(4.0 / tau, local, image, current, previous))
            previous, current = current, following
    if not bool(np.isfinite(current).all()):
        return math.inf
    reach = float(np.linalg.norm(current, 2)) * (1.0 + 1e-6)
    return math.sqrt(tau * (1.0 + _least_refuted(reach, errors)) / 2.0) * (1.0 + 1e-12)


def _local_error(
    factor: float,
    local: float,
    image: FloatArray,
    current: FloatArray,
    previous: FloatArray,
) -> float:
    """A bound on ||E_j||_F: the error of the products, and the roundings of the combination."""
    size = factor * float(np.linalg.norm(image))
    size += 2.0 * float(np.linalg.norm(current)) + float(np.linalg.norm(previous))
    return (factor * local + 8.0 * UNIT_ROUNDOFF * size) * 1.01


def _least_refuted(reach: float, errors: list[float]) -> float:
    """An x >= 1 with T_q(x) (c - r(x)) > reach, close to the least; infinity if none is found."""
    degree = len(errors) - 1
    quantile = (
        math.sqrt(2.0 * float(scipy.special.gammaincinv(_COLUMNS / 2.0, FAILURE_PROBABILITY)))
        * 0.999
    )
    orders = np.arange(degree + 1)
    weighted = (degree - orders + 1) * np.asarray(errors)

    def refuted(angle: float) -> bool:
        remainder = float((weighted / np.cosh(orders * angle)).sum()) * 1.01
        margin = quantile - remainder
        if not margin > 0.0:
            return False
        return degree * angle - math.log(2.0) + math.log(margin) > math.log(reach) + 1e-9

    low, high = 0.0, 1.0 / 64.0
    while not refuted(high):
        low, high = high, 2.0 * high
        if high > 8.0:
            return math.inf
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return math.cosh(high) * (1.0 + 1e-12)


def ritz_value(multiplier: "ScaledMatrix", transpose: bool) -> float:
    """The largest Ritz value of M^T M on a block Krylov space: a good tau, nothing more.

    Args:
        multiplier: M.
        transpose: True to use M M^T, the smaller one for a wide M.
    """
    size = min(multiplier.shape)
    rng = np.random.default_rng(20060517)
    block = np.linalg.qr(rng.standard_normal((size, min(_KRYLOV_COLUMNS, size))))[0]
    basis, images = [], []
    for step in range(min(_KRYLOV_STEPS, size // block.shape[1])):
        middle = multiplier.apply(block, transpose=transpose)
        if not bool(np.isfinite(middle).all()):
            return math.inf
        basis.append(block)
        images.append(middle)
        if step + 1 < _KRYLOV_STEPS:
            block = multiplier.apply(middle, transpose=not transpose)
            for _ in range(2):
                for earlier in basis:
                    block -= earlier @ (earlier.T @ block)
            block = np.linalg.qr(block)[0]
    return float(np.linalg.norm(np.concatenate(images, axis=1), 2)) ** 2


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
            operand.absolute.one_sign, "deterministic: the sum of all entries of one sign"
        )
    return UpperBound(operand.absolute.total, "deterministic: the sum of all absolute values")


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
    if operand.absolute.total == 0.0:
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
    proof = (
        f"randomised, failure probability <= {FAILURE_PROBABILITY:g}: Chebyshev polynomial of M^T M"
    )
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
        sums = operand.absolute.rows if rows else operand.absolute.columns
        if bordered:
            sums = np.concatenate(([operand.absolute.total], sums))
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
        image = self.operand.apply64(centred, transpose=transpose)
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
        rows, columns = operand.absolute.rows, operand.absolute.columns
        if self.bordered:
            total = [2.0 * operand.absolute.total]
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
        border = int(self.bordered)
        full = np.empty(self.shape)
        full[border:, border:] = operand.dense()
        error = 0.0
        if self.bordered:
            block = full[1:, 1:]
            rows, columns = block.sum(axis=1), block.sum(axis=0)
            full[1:, 0], full[0, 1:], full[0, 0] = -rows, -columns, rows.sum()
            weights = (
                float(((operand.absolute.rows * self.left[1:]) ** 2).sum()) * self.right[0] ** 2
                + float(((operand.absolute.columns * self.right[1:]) ** 2).sum())
                * self.left[0] ** 2
                + (operand.absolute.total * self.left[0] * self.right[0]) ** 2
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

    Returns:
        theta, about 1e-9 relative above sigma_1 up to 160 rows, else 1e-4; infinite if M is not.
    """
    matrix, matrix_error = scaled.dense()
    if not math.isfinite(matrix_error):
        return math.inf
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T
    longer, gram = matrix.shape[0], matrix.T @ matrix
    del matrix  # as large as the Gram matrix, of which the factorisation makes two more
    n = gram.shape[0]
    diagonal = gram.diagonal().copy()
    trace = float(diagonal.sum()) * (1.0 + gamma(n + longer) * 2.0)
    gram_error = gamma(longer + 2) * trace * 1.001
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
    start = np.random.default_rng(20060517).standard_normal(n)
    try:
        (found,) = eigsh(gram, k=1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)
    except ArpackError:  # zero, or so slow to converge that it gave up
        found = gram.diagonal().max()
    return max(float(found), tiny), 3e-4


def _cholesky_completes(matrix: FloatArray) -> bool:
    # numpy's rather than scipy's: two BLAS libraries with threads of their own wait for each other.
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


NormName = Literal["cut", "normalised", "infinity-to-one"]
Stopped = Literal["exact", "tolerance", "time", "iterations"]

EXACT_RELATIVE_GAP = 2.0**-40


@final
@dataclass(frozen=True, eq=False, repr=False)
class CutNormCertificate(Displayed):
    """A lower and an upper bound on a norm of a matrix, with the sets that reach the lower one.

    `lower` is recomputed in float64 from S and T alone, whatever the method believed, and rounded
    towards zero by more than the error of the summation; so it is at most the norm.
    `upper` is the smallest of several bounds, each a theorem about the matrix that was given, and
    is rounded up; `upper_proof` names the one that won and `failure_probability` is 0 unless the
    proof used random vectors.

    Attributes:
        lower: proven lower bound; the value of (S, T) up to rounding.
        upper: proven upper bound, at least `lower`; may be infinite for an operator.
        S: read-only mask of rows. For the infinity-to-one norm, the rows with sign +1.
        T: read-only mask of columns. For the infinity-to-one norm, the columns with sign +1.
        sign: +1 if the sum over (S, T) is at least zero, else -1.
        method: the method that found S and T.
        norm: which norm is bounded.
        stopped: why the work ended: "exact" (the bounds meet), "tolerance" (the asked ratio is
            proven), "time", or "iterations" (the search was exhausted).
        upper_proof: the theorem behind `upper`, in words.
        failure_probability: of `upper`, over the random vectors of its proof.
        normalised_lower: bounds on the normalised cut norm, if the method computed them.
        normalised_upper: see `normalised_lower`.
    """

    lower: float
    upper: float
    S: BoolVector
    T: BoolVector
    sign: int
    method: str
    norm: NormName
    stopped: Stopped
    upper_proof: str
    failure_probability: float = 0.0
    normalised_lower: float | None = field(default=None, kw_only=True)
    normalised_upper: float | None = field(default=None, kw_only=True)

    @property
    def ratio(self) -> float:
        """`upper / lower`: 1 when they meet (zero matrix included), infinity if only lower is 0."""
        if self.upper == self.lower:
            return 1.0
        return self.upper / self.lower if self.lower > 0 else math.inf

    @property
    def is_exact(self) -> bool:
        """Whether the bounds meet: equal, or apart by less than 2^-40 of the value (rounding)."""
        return self.upper - self.lower <= EXACT_RELATIVE_GAP * self.lower

    def verify(self, matrix: Any) -> float:
        """Recompute the lower bound from S and T on `matrix`, believing nothing stored.

        Args:
            matrix: the matrix that was certified, any form that `cut_norm` takes.

        Returns:
            A proven lower bound on the norm of `matrix`; equals `lower` for the same matrix.

        Raises:
            MatrixError: the matrix is not usable, or its shape does not fit S and T.
        """
        operand = Operand.from_matrix(matrix)
        if operand.shape != (self.S.size, self.T.size):
            sides = f"{operand.shape[0]} x {operand.shape[1]}"
            raise MatrixError(f"the matrix is {sides}, not {(self.S.size, self.T.size)}")
        return operand.unscale_down(witness_value(operand, self.S, self.T, self.norm)[0])

    def _card(self) -> Card:
        rows, columns = int(self.S.sum()), int(self.T.sum())
        doubt = self.failure_probability
        return Card(
            title=f"Certificate of a norm: {self.norm}",
            facts=(
                ("at least", self.lower),
                ("at most", self.upper),
                ("ratio", self.ratio),
                ("attained by", f"{rows:,} x {columns:,} of {self.S.size:,} x {self.T.size:,}"),
                ("found by", f"{self.method}, stopped by {self.stopped}"),
                ("upper bound by", self.upper_proof),
                ("which may fail with probability", doubt if doubt else "0"),
            ),
        )

    def __repr__(self) -> str:
        return (
            f"CutNormCertificate({self.norm} norm in [{self.lower:.6g}, {self.upper:.6g}], "
            f"ratio {self.ratio:.4f}, |S|={int(self.S.sum())}, |T|={int(self.T.sum())}, "
            f"method={self.method!r}, stopped={self.stopped!r})"
        )


class FoundSets(NamedTuple):
    """What a method found of a norm: sets, a bound in the scaled unit, and why it ended.

    Attributes:
        S: mask of rows.
        T: mask of columns.
        bound: on the norm.
        stopped: see `CutNormCertificate`.
        normalised: bounds on the normalised cut norm, if known.
    """

    S: BoolVector
    T: BoolVector
    bound: UpperBound
    stopped: Stopped
    normalised: tuple[float, float] | None = None


def witness_value(
    operand: Operand, S: BoolVector, T: BoolVector, norm: NormName
) -> tuple[float, int]:
    """A proven lower bound on what (S, T) attains, and the sign of the sum.

    Args:
        operand: the matrix, scaled.
        S: mask of rows, shape (n1,).
        T: mask of columns, shape (n2,).
        norm: which norm S and T witness.

    Returns:
        (lower, sign), in the scaled unit: `lower` is |sum| less the summation's error bound,
        divided by sqrt(|S||T|) for the normalised norm, never negative.
    """
    if norm == "infinity-to-one":
        x = 2.0 * S.astype(np.float64) - 1.0
        y = 2.0 * T.astype(np.float64) - 1.0
    else:
        x, y = S.astype(np.float64), T.astype(np.float64)
    value, error = operand.bilinear_form(x, y)
    sign = 1 if value >= 0 else -1
    lower = max(0.0, abs(value) - error)
    if error > 0 and lower > 0:
        lower = math.nextafter(lower, 0.0)
    if norm == "normalised" and lower > 0:
        size = int(S.sum()) * int(T.sum())
        lower = lower / math.sqrt(size) * (1.0 - 2.0**-51) if size > 1 else lower
    return lower, sign


def frozen_mask(mask: npt.ArrayLike) -> BoolVector:
    """A read-only copy of a mask."""
    copy = np.array(mask, dtype=np.bool_, copy=True)
    copy.setflags(write=False)
    return copy


def build_certificate(
    operand: Operand, found: FoundSets, *, method: str, norm: NormName
) -> CutNormCertificate:
    """Recompute the lower bound, tighten the upper one for integers, undo the scaling.

    Args:
        operand: the matrix, scaled.
        found: sets and a bound; the reason to stop is replaced by "exact" when the bounds meet.
        method: that found them.
        norm: which norm is bounded.

    Returns:
        The certificate, in the unit of the matrix that the user gave.
    """
    lower, sign = witness_value(operand, found.S, found.T, norm)
    upper = found.bound.value
    if norm != "normalised" and operand.is_integer and math.isfinite(upper):
        upper = float(math.floor(upper))  # the norm is an integer, so its floor bounds it too
    lower = operand.unscale_down(lower)
    certificate = CutNormCertificate(
        lower=lower,
        upper=max(operand.unscale_up(upper), lower),
        S=frozen_mask(found.S),
        T=frozen_mask(found.T),
        sign=sign,
        method=method,
        norm=norm,
        stopped=found.stopped,
        upper_proof=found.bound.proof,
        failure_probability=found.bound.failure_probability,
        normalised_lower=found.normalised and operand.unscale_down(found.normalised[0]),
        normalised_upper=found.normalised and operand.unscale_up(found.normalised[1]),
    )
    return replace(certificate, stopped="exact") if certificate.is_exact else certificate
