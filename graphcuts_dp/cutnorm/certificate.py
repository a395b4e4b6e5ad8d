"""Upper bounds on cut norms, and the certificate that every method returns.

A matrix A has n1 rows and n2 columns. Three norms are bounded: the *cut norm* ||A||_C, the largest
|A(S, T)| over sets of rows S and of columns T, where A(S, T) is the sum of a_ij over S x T; the
*normalised* cut norm, the largest |A(S, T)| / sqrt(|S||T|); and the *infinity-to-one* norm
||A||_{inf->1}, the largest x^T A y over signs x, y. `bordered` is True for the cut norm and False
for the infinity-to-one norm.

A certificate holds a *witness*, the sets S and T whose value is a lower bound, and an upper bound.
Both are proven, whatever the method believed that found them:

- `witness_value` sums the entries of S x T again, and takes off the rounding error;
- `trivial_bound` and `scaling_bound` are theorems about the matrix;
- `build_certificate` puts both together, in the user's unit.

An `Operand` is the matrix A as all methods see it. Its `kind` is "dense", "sparse" or "operator";
an operator has products but no entries to look at. A matrix with extreme entries is multiplied by
a power of two; its bounds are then in the *scaled unit*, and `unscale_down` and `unscale_up` return
them in the user's unit, safely rounded. `operand.absolute` holds upper bounds on sums of |a_ij|:
`rows` (n1,) and `columns` (n2,), empty for an operator; `total`; and `one_sign`, of all positive or
all negative entries, whichever is larger. The last two are infinite for an operator.

**Scaling theorem.** Indices U and V mean rows and columns. For every matrix B and all positive
weights d_U of its rows and d_V of its columns, with the diagonal matrices D_U = diag(d_U) and
D_V = diag(d_V), with M = D_U^{-1/2} B D_V^{-1/2}, and signs x, y,

    x^T B y = (D_U^{1/2} x)^T M (D_V^{1/2} y) <= sigma_1(M) sqrt(sum d_U) sqrt(sum d_V),

because ||D_U^{1/2} x||^2 = sum d_U. Nothing is assumed about the weights: a converged method, a
stopped one or damaged memory may have made them, and the bound holds. `singular_values` proves
sigma_1(M) from above. For B = A the theorem bounds ||A||_{inf->1}. For B = A' it bounds 4 ||A||_C,
four times the cut norm; A' is the *bordered matrix*: A with one more row and column, which come
first and make all rows and columns sum to zero. The semidefinite relaxation of the norm (see
`low_rank`) has weights for which sigma_1 = 1 and the bound is its value.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatArray, RealMatrix
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.singular_values import (
    CHOLESKY_LIMIT,
    ScaledMatrix,
    ritz_value,
    sigma_bound,
)
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import MatrixError

EXACT_RELATIVE_GAP = 2.0**-40  # bounds that are closer differ by rounding alone
# Least weight of a row or column in units of its absolute sum. Any positive number keeps the
# theorem; tinier weights would make M, and its rounding errors, huge.
_WEIGHT_FLOOR = 1e-6

NormName = Literal["cut", "normalised", "infinity-to-one"]
Stopped = Literal["exact", "tolerance", "time", "iterations"]
_ENDS: dict[Stopped, str] = {  # why the work ended, in words
    "exact": "exactly",
    "tolerance": "within the tolerated ratio",
    "time": "until the time was up",
    "iterations": "until the search was exhausted",
}


@final
@dataclass(frozen=True)
class UpperBound:
    """A proven upper bound on a norm.

    Attributes:
        value: the bound, in the scaled unit of the operand; may be infinite.
        proof: the theorem, in words. Users read it as `upper_proof` of a certificate.
        failure_probability: over the random vectors of the proof; 0 if there are none.
        sigma: the bound on sigma_1(M) that the scaling theorem used; 0 for other theorems.
    """

    value: float
    proof: str
    failure_probability: float = 0.0
    sigma: float = 0.0


def smallest_bound(*bounds: UpperBound) -> UpperBound:
    """Return the smallest of several bounds on the same norm; the first one of equal ones.

    A deterministic bound holds whatever the others are. The smallest of k randomised ones fails
    only if one of them does, so its failure probability is the sum of theirs.
    """
    smallest = min(bounds, key=lambda bound: bound.value)
    if not smallest.failure_probability:
        return smallest
    return replace(smallest, failure_probability=sum(bound.failure_probability for bound in bounds))


def trivial_bound(operand: Operand, *, bordered: bool) -> UpperBound:
    """Return a sum of entries: of one sign for the cut norm, of all absolute values otherwise.

    A(S, T) is largest if S x T holds all positive entries and no others, were that possible; it is
    least with all negative ones. Infinite for an operator.

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
    short: bool = False,
) -> UpperBound:
    """Return the bound of the scaling theorem, or the trivial bound if that is smaller.

    Args:
        operand: the matrix A, shape (n1, n2).
        weights_U: any numbers, one for each row of A' (border first) or of A. Values that are not
            positive and finite are replaced: the theorem needs no more than positive weights.
        weights_V: any numbers, one for each column of A' or A.
        bordered: cut norm (True, B = A') or infinity-to-one norm (False, B = A).
        seed: seed of the randomised proof, whose stream no other code uses.
        cholesky_limit: see `sigma_bound`.
        short: see `sigma_bound`.
    """
    trivial = trivial_bound(operand, bordered=bordered)
    if operand.absolute.total == 0.0:
        return UpperBound(0.0, "deterministic: the matrix is zero")
    d_U = _positive_weights(weights_U, operand, rows=True, bordered=bordered)
    d_V = _positive_weights(weights_V, operand, rows=False, bordered=bordered)
    scaled = ScaledMatrix(operand, d_U, d_V, bordered=bordered)
    bound = sigma_bound(scaled, seed, cholesky_limit, short=short)
    # The factors above 1 cover the roundings of this and the next line, and those of the weights'
    # square roots in `ScaledMatrix`, which are a few units in the last place.
    lengths = math.sqrt(math.fsum(d_U)) * math.sqrt(math.fsum(d_V)) * (1.0 + 2.0**-48)
    value = bound.sigma * lengths * (0.25 if bordered else 1.0) * (1.0 + 2.0**-50)
    if math.isnan(value) or value >= trivial.value:
        return trivial
    proof = f"{bound.proof}, in the scaling theorem"
    return UpperBound(value, proof, bound.failure_probability, bound.sigma)


def sigma_estimate(
    operand: Operand, weights_U: RealMatrix, weights_V: RealMatrix, *, bordered: bool
) -> float:
    """Return an estimate of sigma_1(M) from below.

    It is about 1 if the relaxation is solved, and proves nothing.

    Args:
        operand: the matrix A.
        weights_U: see `scaling_bound`.
        weights_V: see `scaling_bound`.
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    d_U = _positive_weights(weights_U, operand, rows=True, bordered=bordered)
    d_V = _positive_weights(weights_V, operand, rows=False, bordered=bordered)
    scaled = ScaledMatrix(operand, d_U, d_V, bordered=bordered)
    # `ritz_value` estimates sigma_1^2, from M M^T (flag True) or M^T M, whichever is smaller.
    return math.sqrt(ritz_value(scaled, scaled.shape[1] > scaled.shape[0]))


@final
@dataclass(frozen=True, eq=False, repr=False)
class CutNormCertificate(Displayed):
    """A lower and an upper bound on a norm of a matrix, with the sets that reach the lower one.

    `lower` is recomputed in float64 from S and T alone, whatever the method believed, and rounded
    towards zero by more than the error of the summation; so it is at most the norm.
    `upper` is the smallest of several bounds, each a theorem about the matrix, rounded up;
    `upper_proof` names the theorem, and `failure_probability` is 0 unless it used random vectors.
    For a matrix of integers, whose norm is an integer, `upper` is rounded down to an integer after
    that.

    Attributes:
        lower: proven lower bound; the value of (S, T) up to rounding.
        upper: proven upper bound, at least `lower`; may be infinite for an operator.
        S: read-only mask of rows. For the infinity-to-one norm, the rows with sign +1.
        T: read-only mask of columns. For the infinity-to-one norm, the columns with sign +1.
        sign: +1 if the sum over (S, T) is at least zero, else -1.
        method: the method that found S and T.
        norm: which norm is bounded.
        stopped: why the work ended: "exact" (the bounds meet, or an exact method has tried all
            sets), "tolerance" (the tolerated ratio is proven), "time", or "iterations" (the search
            was exhausted).
        upper_proof: the theorem behind `upper`, in words.
        failure_probability: of `upper`, over the random vectors of its proof.
        normalised_lower: lower bound on the normalised cut norm; None if the method computes none.
        normalised_upper: upper bound on the normalised cut norm; None if the method computes none.

    Examples:
        >>> import numpy as np
        >>> certificate = gc.cut_norm(np.array([[1.0, -1.0], [-1.0, 1.0]]))
        >>> certificate.lower <= 1.0 <= certificate.upper
        True
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
        """Upper over lower bound: 1 if they are equal, also both 0; infinity if only lower is 0."""
        if self.upper == self.lower:
            return 1.0
        return self.upper / self.lower if self.lower > 0 else math.inf

    @property
    def is_exact(self) -> bool:
        """True if the bounds meet: they differ by at most 2^-40 of the value, which is rounding."""
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
            shape = f"{operand.shape[0]} x {operand.shape[1]}"
            raise MatrixError(f"the matrix is {shape}, not {self.S.size} x {self.T.size}")
        return operand.unscale_down(witness_value(operand, self.S, self.T, self.norm)[0])

    def _card(self) -> Card:
        rows, columns = int(self.S.sum()), int(self.T.sum())
        failure = self.failure_probability
        return Card(
            title=f"Certificate of a norm: {self.norm}",
            facts=(
                ("at least", self.lower),
                ("at most", self.upper),
                ("ratio", self.ratio),
                ("attained by", f"{rows:,} x {columns:,} of {self.S.size:,} x {self.T.size:,}"),
                ("found by", f"{self.method}, {_ENDS[self.stopped]}"),
                ("upper bound by", self.upper_proof),
                ("which may fail with probability", failure if failure else "0"),
            ),
        )

    def __repr__(self) -> str:
        return (
            f"CutNormCertificate({self.norm} norm in [{self.lower:.6g}, {self.upper:.6g}], "
            f"ratio {self.ratio:.4f}, |S|={int(self.S.sum())}, |T|={int(self.T.sum())}, "
            f"method={self.method!r}, stopped={self.stopped!r})"
        )


class MethodOutcome(NamedTuple):
    """The outcome of a method: two sets, an upper bound, and why the method ended.

    All numbers are in the scaled unit of the operand.

    Attributes:
        S: mask of rows, shape (n1,).
        T: mask of columns, shape (n2,).
        bound: upper bound on the norm.
        stopped: see `CutNormCertificate`.
        normalised: (lower, upper) bounds on the normalised cut norm; None if the method computes
            none.
    """

    S: BoolVector
    T: BoolVector
    bound: UpperBound
    stopped: Stopped
    normalised: tuple[float, float] | None = None


def witness_value(
    operand: Operand, S: BoolVector, T: BoolVector, norm: NormName
) -> tuple[float, int]:
    """Return a proven lower bound on a norm from sets S and T, and the sign of their sum.

    Args:
        operand: the matrix, scaled.
        S: mask of rows, shape (n1,).
        T: mask of columns, shape (n2,).
        norm: the norm that S and T bound.

    Returns:
        (lower, sign), in the scaled unit: `lower` is |sum| less the summation's error bound,
        divided by sqrt(|S||T|) for the normalised norm, and at least 0. The sign is 1 or -1.
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
        lower = math.nextafter(lower, 0.0)  # the subtraction rounds; without error it is exact
    if norm == "normalised" and lower > 0:
        size = int(S.sum()) * int(T.sum())
        if size > 1:  # else the quotient is exact
            # The factor covers the roundings of square root, division and this product.
            lower = lower / math.sqrt(size) * (1.0 - 2.0**-51)
    return lower, sign


def frozen_mask(mask: npt.ArrayLike) -> BoolVector:
    """Return a read-only copy of a mask."""
    copy = np.array(mask, dtype=np.bool_, copy=True)
    copy.setflags(write=False)
    return copy


def build_certificate(
    operand: Operand, outcome: MethodOutcome, *, method: str, norm: NormName
) -> CutNormCertificate:
    """Recompute the lower bound, tighten the upper one for integers, and undo the scaling.

    Args:
        operand: the matrix, scaled.
        outcome: sets and a bound; its reason to stop is replaced by "exact" if the bounds meet.
        method: the method that found them.
        norm: which norm is bounded.

    Returns:
        The certificate, in the unit of the matrix that the user gave.
    """
    lower, sign = witness_value(operand, outcome.S, outcome.T, norm)
    upper = outcome.bound.value
    if norm != "normalised" and operand.is_integer and math.isfinite(upper):
        # `is_integer` is False for scaled matrices, so this is the user's unit. The norm is an
        # integer that `upper` bounds, so the floor of `upper` bounds it too.
        upper = float(math.floor(upper))
    lower = operand.unscale_down(lower)
    normalised_lower = normalised_upper = None
    if outcome.normalised is not None:
        normalised_lower = operand.unscale_down(outcome.normalised[0])
        normalised_upper = operand.unscale_up(outcome.normalised[1])
    certificate = CutNormCertificate(
        lower=lower,
        upper=max(operand.unscale_up(upper), lower),
        S=frozen_mask(outcome.S),
        T=frozen_mask(outcome.T),
        sign=sign,
        method=method,
        norm=norm,
        stopped=outcome.stopped,
        upper_proof=outcome.bound.proof,
        failure_probability=outcome.bound.failure_probability,
        normalised_lower=normalised_lower,
        normalised_upper=normalised_upper,
    )
    return replace(certificate, stopped="exact") if certificate.is_exact else certificate


def _positive_weights(
    weights: RealMatrix, operand: Operand, *, rows: bool, bordered: bool
) -> FloatArray:
    """Return positive weights near arbitrary ones, of the rows or of the columns of B.

    Entries that are not finite become 0, and all below a floor are raised to it: 1e-14 of the
    largest weight, and `_WEIGHT_FLOOR` of the absolute sum of the row or column.
    """
    positive = np.nan_to_num(np.asarray(weights, dtype=np.float64), nan=0.0, posinf=0.0)
    positive = np.clip(positive, 0.0, 1e150)  # so that sums of weights do not overflow
    # One floor for each weight. The weights of the low-rank method are at most absolute sums of
    # rows and columns, so a small share of these is a floor that rarely changes a weight.
    floor = np.full(positive.shape, 1e-14 * float(positive.max()))
    if operand.kind != "operator":
        sums = operand.absolute.rows if rows else operand.absolute.columns
        if bordered:  # the border comes first; its absolute sum is at most twice the total
            sums = np.concatenate(([operand.absolute.total], sums))
        floor = np.maximum(floor, _WEIGHT_FLOOR * sums)
    positive = np.maximum(positive, floor)
    return np.where(positive > 0.0, positive, 1.0)  # 0 is left for rows without entries
