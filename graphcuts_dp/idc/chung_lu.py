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
from graphcuts_dp.graph.linear_query import QueryFactors


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
    """C_ij = min(1, a_i b_j): expected graphs with given degrees; a constant is a special case.

    Args:
        a: shape (n,) or (n_left,), finite, >= 0.
        b: shape (n,) or (n_right,), likewise; equal to `a` if the universe is plain.

    Raises:
        ParameterError: not vectors, negative or not finite.
    """

    def __init__(self, a: npt.ArrayLike, b: npt.ArrayLike) -> None:
        self.a, self.b = (np.array(x, dtype=np.float64) for x in (a, b))
        for x in (self.a, self.b):
            if x.ndim != 1 or not len(x) or not ((x >= 0) & (x < np.inf)).all():
                raise ParameterError("degrees are vectors of finite numbers >= 0")
        # A capped pair has a_i b_j > 1. For each such i its j are the first few by falling b.
        self._heavy_a = np.flatnonzero(self.a * self.b.max() > 1)
        self._heavy_b = np.flatnonzero(self.b * self.a.max() > 1)
        self._heavy_b = self._heavy_b[np.argsort(-self.b[self._heavy_b], kind="stable")]
        falling = self.b[self._heavy_b]
        with np.errstate(divide="ignore"):
            least = 1 / self.a[self._heavy_a]
        self._capped = np.searchsorted(-falling, -least, side="left")

    @classmethod
    def constant(cls, shape: tuple[int, int], weight: float) -> "ChungLu":
        """The same weight in [0, 1] everywhere."""
        if not 0 <= weight <= 1:
            raise ParameterError(f"a density lies in [0, 1], not {weight:g}")
        root = np.sqrt(weight)
        return cls(np.full(shape[0], root), np.full(shape[1], root))

    @classmethod
    def from_degrees(cls, degrees: npt.ArrayLike, right: npt.ArrayLike | None = None) -> "ChungLu":
        """Pairs weigh d_i d_j / sum of degrees, at most 1. Noisy degrees below 0 count as 0.

        Args:
            degrees: noisy degrees of the vertices (left ones), shape (n,).
            right: noisy degrees of the right vertices (in-degrees of a directed graph, whose
                out-degrees are the others); None for a plain graph.

        Raises:
            ParameterError: not vectors, or not finite.
        """
        sides = [np.asarray(degrees, dtype=np.float64)]
        if right is not None:
            sides.append(np.asarray(right, dtype=np.float64))
        if not all(np.isfinite(side).all() for side in sides):
            raise ParameterError("degrees are vectors of finite numbers >= 0")
        sides = [np.maximum(side, 0) for side in sides]
        # Twice the number of edges of a plain graph, the mean of both sides' sums of others.
        total = sum(float(side.sum()) for side in sides) / len(sides)
        scale = np.sqrt(total) if total > 0 else 1.0
        return cls(sides[0] / scale, sides[-1] / scale)

    def bilinear(self, u: FloatVector, v: FloatVector) -> float:
        """The form u' C v, the diagonal included; O(n)."""
        # Not `u @ a`: threads of the linear algebra library would cost more than they save.
        uncapped = float(np.einsum("i,i", u, self.a)) * float(np.einsum("i,i", v, self.b))
        if not len(self._heavy_a):
            return uncapped
        weights = u[self._heavy_a]
        sums = np.zeros((2, len(self._heavy_b) + 1))
        np.cumsum(v[self._heavy_b] * self.b[self._heavy_b], out=sums[0, 1:])
        np.cumsum(v[self._heavy_b], out=sums[1, 1:])
        above = self.a[self._heavy_a] * sums[0, self._capped] - sums[1, self._capped]
        return uncapped - float(weights @ above)

    def diagonal_sum(self, x: FloatVector) -> float:
        """sum_i C_ii x_i."""
        return float(np.einsum("i,i", x, np.minimum(1.0, self.a * self.b)))

    def dense(self) -> FloatMatrix:
        """C, the diagonal included."""
        return np.minimum(1.0, np.outer(self.a, self.b))
