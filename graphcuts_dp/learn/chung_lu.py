"""Chung-Lu matrices: a start in 2 n numbers, and answers from a bilinear form.

Source: Chung, Lu, *Connected components in random graphs with given expected degree sequences*,
Annals of Combinatorics 2002.
"""

from collections.abc import Callable
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.pairs.queries import QueryFactors


def answer_bilinear(
    factors: QueryFactors,
    hollow: bool,
    bilinear: Callable[[FloatVector, FloatVector], float],
    diagonal_sum: Callable[[FloatVector], float],
) -> float:
    """The answer to a query with factors from a bilinear form.

    Args:
        factors: `query.factors(space)`.
        hollow: whether no vertex is paired with itself.
        bilinear: (u, v) to u' C v, the diagonal of C included.
        diagonal_sum: x to sum_i C_ii x_i; only called if hollow.
    """
    answer = bilinear(factors.left, factors.right)
    if not hollow:
        return answer
    if factors.overlap is None:
        return answer - diagonal_sum(factors.left * factors.right)
    if not factors.overlap.any():
        return answer
    # Pairs inside both were counted twice, and vertices of both with themselves once.
    both = factors.overlap
    return answer - (bilinear(both, both) + diagonal_sum(both)) / 2


@final
class ChungLu:
    """C_ij = a_i b_j, at most 1: expected graphs with given degrees; a constant is a special case.

    Args:
        a: shape (n,) or (n_left,), finite, >= 0.
        b: shape (n,) or (n_right,), likewise; equal to `a` if the universe is plain.

    Raises:
        ParameterError: not vectors, negative or not finite, or a product above 1.
    """

    def __init__(self, a: npt.ArrayLike, b: npt.ArrayLike) -> None:
        self.a, self.b = (np.array(x, dtype=np.float64) for x in (a, b))
        for x in (self.a, self.b):
            if x.ndim != 1 or not len(x) or not ((x >= 0) & (x < np.inf)).all():
                raise ParameterError("degrees are vectors of finite numbers >= 0")
        if self.a.max() * self.b.max() > 1:
            raise ParameterError("the weight of a pair at the start is at most 1")

    @classmethod
    def constant(cls, shape: tuple[int, int], weight: float) -> "ChungLu":
        """The same weight in [0, 1] everywhere."""
        if not 0 <= weight <= 1:
            raise ParameterError(f"a density lies in [0, 1], not {weight:g}")
        root = np.sqrt(weight)
        return cls(np.full(shape[0], root), np.full(shape[1], root))

    def bilinear(self, u: FloatVector, v: FloatVector) -> float:
        """The form u' C v, the diagonal included; O(n)."""
        # Not `u @ a`: threads of the linear algebra library would cost more than they save.
        return float(np.einsum("i,i", u, self.a)) * float(np.einsum("i,i", v, self.b))

    def diagonal_sum(self, x: FloatVector) -> float:
        """sum_i C_ii x_i."""
        return float(np.einsum("i,i", x, self.a * self.b))

    def dense(self) -> FloatMatrix:
        """C, the diagonal included."""
        return np.outer(self.a, self.b)
