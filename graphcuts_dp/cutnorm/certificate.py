"""What every cut-norm method returns: a witness, and a bound that nothing can exceed."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.upper_bound import UpperBound
from graphcuts_dp.display import Card, Displayed

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
        operand.require_shape((self.S.size, self.T.size))
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
    operand: Operand,
    S: BoolVector,
    T: BoolVector,
    *,
    bound: UpperBound,
    method: str,
    norm: NormName,
    stopped: Stopped,
    normalised: tuple[float, float] | None = None,
) -> CutNormCertificate:
    """Recompute the lower bound, tighten the upper one for integers, undo the scaling.

    Args:
        operand: the matrix, scaled.
        S: mask of rows.
        T: mask of columns.
        bound: the proven upper bound in the scaled unit.
        method: name of the method.
        norm: which norm is bounded.
        stopped: why the method ended; replaced by "exact" when the bounds meet.
        normalised: bounds on the normalised cut norm in the scaled unit, if known.

    Returns:
        The certificate, in the unit of the matrix that the user gave.
    """
    lower, sign = witness_value(operand, S, T, norm)
    upper = bound.value
    if norm != "normalised" and operand.is_integer and math.isfinite(upper):
        upper = float(math.floor(upper))  # the norm is an integer, so its floor bounds it too
    lower = operand.unscale_down(lower)
    certificate = CutNormCertificate(
        lower=lower,
        upper=max(operand.unscale_up(upper), lower),
        S=frozen_mask(S),
        T=frozen_mask(T),
        sign=sign,
        method=method,
        norm=norm,
        stopped=stopped,
        upper_proof=bound.proof,
        failure_probability=bound.failure_probability,
        normalised_lower=None if normalised is None else operand.unscale_down(normalised[0]),
        normalised_upper=None if normalised is None else operand.unscale_up(normalised[1]),
    )
    if certificate.is_exact:
        object.__setattr__(certificate, "stopped", "exact")
    return certificate
