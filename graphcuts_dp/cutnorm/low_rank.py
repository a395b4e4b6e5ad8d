"""The low-rank method: alternate on unit vectors, never forming the border.

The semidefinite relaxation of ||A'||_{inf->1} gives each row i of A' a unit vector u_i and each
column j a unit vector v_j, and maximises sum_ij a'_ij <u_i, v_j>. For fixed V the best U is
u_i = (A'V)_i / ||(A'V)_i||, and the other way round, so each half step can only raise the value.

The border is implicit. With index 0 for it, A' = L A R^T for L = [-1^T; I] and R = [-1^T; I]:

    A'V = L (A (V[1:] - V[0])),        A'^T U = R (A^T (U[1:] - U[0])),

where L W puts minus the column sums of W on top of W. One alternation costs two products of A
with k columns, and no n1 x n2 temporary.

Source: AN06 (Alon, Naor 2006) for the relaxation; GRU12 Lemma 6.2 for its use.
"""

import math
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, RealMatrix
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.rounding import CutBatch, gaussian, round_hyperplanes
from graphcuts_dp.cutnorm.upper_bound import UpperBound, scaling_bound, sigma_estimate
from graphcuts_dp.errors import ParameterError

_TINY = {np.dtype(kind): np.finfo(kind).tiny for kind in (np.float32, np.float64)}


def full_rank(shape: tuple[int, int]) -> int:
    """Columns with which the factored problem has no spurious local optimum: about sqrt(4(n+1)).

    The relaxation has n1 + n2 + 2 constraints, so an optimum of rank r with
    r (r + 1) / 2 <= n1 + n2 + 2 exists (Barvinok 1995, Pataki 1998).
    """
    return math.ceil(math.sqrt(2.0 * (shape[0] + shape[1] + 2))) + 1


def with_border(block: RealMatrix) -> RealMatrix:
    """Minus the column sums of `block` on top of it: shape (n, k) to (n + 1, k)."""
    bordered = np.empty((block.shape[0] + 1, block.shape[1]), dtype=block.dtype)
    bordered[1:] = block
    np.negative(block.sum(axis=0), out=bordered[0])
    return bordered


def row_norms(block: RealMatrix) -> RealMatrix:
    """Euclidean norms of the rows, shape (n,)."""
    norms: RealMatrix = np.sqrt(np.einsum("ij,ij->i", block, block))
    return norms


@final
class LowRankSolver:
    """Unit vectors for the rows and columns of A', kept between calls: a warm start.

    The matrix is an argument of every method, so that it may change between steps, as the residual
    x - z of a fit does. Index 0 of U and V is the border.

    Args:
        shape: (n1, n2) of the matrix, without the border.
        rank: number of columns k >= 1 of U and V; None takes `full_rank`, about 32 is enough
            inside an outer loop.
        dtype: float32 or float64, of U and V; best equal to that of the matrix.
        seed: of the random start and of the hyperplanes. This is not privacy noise.
        bordered: True for the cut norm, False for the infinity-to-one norm (no border).

    Attributes:
        U: shape (n1 + 1, k), unit rows (n1 without the border).
        V: shape (n2 + 1, k), unit rows (n2 without the border).
        weights_U: norms of the rows of A'V at the last step, shape of U's rows.
        weights_V: norms of the rows of A'^T U at the last step.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        rank: int | None = None,
        dtype: npt.DTypeLike = np.float64,
        seed: int = 0,
        *,
        bordered: bool = True,
    ) -> None:
        if rank is not None and rank < 1:
            raise ParameterError(f"rank must be at least 1, not {rank}")
        self.shape = shape
        self.rank = full_rank(shape) if rank is None else rank
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ParameterError(f"dtype must be float32 or float64, not {self.dtype}")
        self.seed = seed
        self.bordered = bordered
        self._rng = np.random.default_rng([seed, 1])
        border = int(bordered)
        self.U = self._random_rows(shape[0] + border)
        self.V = self._random_rows(shape[1] + border)
        self.weights_U: RealMatrix = np.ones(shape[0] + border, dtype=self.dtype)
        self.weights_V: RealMatrix = np.ones(shape[1] + border, dtype=self.dtype)
        self._before: RealMatrix | None = None  # V before its last move, where there is momentum

    def _random_rows(self, count: int) -> RealMatrix:
        rows = gaussian(self._rng, (count, self.rank), self.dtype)
        rows /= np.maximum(row_norms(rows), np.finfo(self.dtype).tiny)[:, None]
        return rows

    def _centred(self, vectors: RealMatrix) -> RealMatrix:
        return vectors[1:] - vectors[0] if self.bordered else vectors

    def _image(self, matrix: Any, vectors: RealMatrix, *, transpose: bool) -> RealMatrix:
        """A'V, or A'^T U if `transpose`."""
        centred = self._centred(vectors)
        if isinstance(matrix, Operand):
            block = matrix.apply_transpose(centred) if transpose else matrix.apply(centred)
        elif transpose:
            block = matrix.T @ centred
        else:
            block = matrix @ centred
        block = np.asarray(block, dtype=self.dtype)
        return with_border(block) if self.bordered else block

    def step(self, matrix: Any, iterations: int = 1, *, momentum: float = 0.0) -> float:
        """Alternate U <- rows of A'V, V <- rows of A'^T U, each normalised; zero rows stay put.

        Args:
            matrix: shape (n1, n2): an array, a scipy sparse matrix or an `Operand`; not checked.
            iterations: alternations, at least 1.
            momentum: by what part of the last move V goes on before the next, in [0, 1). For one
                matrix over many calls: with 0 the value never falls, with more it rises faster
                and may fall now and then.

        Returns:
            sum_ij a'_ij <u_i, v_j> / 4 at the new U and V (without the 1/4 if not bordered): a
            value between the norm over Grothendieck's constant and, once converged, above it.
        """
        for _ in range(iterations):
            V, self._before = self._moved_on(momentum), self.V.copy() if momentum else None
            self.weights_U = _normalise_into(self.U, self._image(matrix, V, transpose=False))
            self.weights_V = _normalise_into(self.V, self._image(matrix, self.U, transpose=True))
        return float(self.weights_V.sum(dtype=np.float64)) / self._divisor

    def _moved_on(self, momentum: float) -> RealMatrix:
        """V, a part of its last move farther; no row comes near zero, for |(1+m)v - m w| >= 1."""
        if self._before is None or not momentum:
            return self.V
        farther = self.V - self._before
        farther *= np.asarray(momentum, dtype=self.dtype)
        farther += self.V
        farther /= row_norms(farther)[:, None]
        return farther

    @property
    def _divisor(self) -> float:
        return 4.0 if self.bordered else 1.0

    def value(self, matrix: Any) -> float:
        """sum_ij a'_ij <u_i, v_j> / 4 for the present U and V (no 1/4 if not bordered)."""
        image = self._image(matrix, self.V, transpose=False)
        return float(np.einsum("ij,ij->", self.U, image, dtype=np.float64)) / self._divisor

    def subgradient_factors(self) -> tuple[RealMatrix, RealMatrix]:
        """(P, Q), shapes (n1, k) and (n2, k): P Q^T is the gradient of `value` in the matrix.

        That is G_ij = <u_i - u_0, v_j - v_0> / 4.
        """
        scale = np.asarray(1.0 / self._divisor, dtype=self.dtype)
        return self._centred(self.U) * scale, self._centred(self.V).copy()

    def round(self, matrix: Any, hyperplanes: int = 64) -> tuple[BoolVector, BoolVector]:
        """The best cut found from random hyperplanes with alternating improvement.

        Args:
            matrix: shape (n1, n2).
            hyperplanes: how many to draw, at least 1.

        Returns:
            Masks (S, T) of rows and columns; `round_batch` tells the value and the sign.
        """
        batch = self.round_batch(matrix, hyperplanes, 1)
        return batch.S[0], batch.T[0]

    def round_batch(self, matrix: Any, hyperplanes: int = 64, count: int = 8) -> CutBatch:
        """The `count` best distinct cuts from random hyperplanes, best first.

        Args:
            matrix: shape (n1, n2).
            hyperplanes: how many to draw, at least 1.
            count: how many cuts to return at most.
        """
        operand = _operand(matrix)
        return round_hyperplanes(
            operand, self.V, hyperplanes, count, self._rng, bordered=self.bordered
        )

    def upper_bound(self, matrix: Any) -> UpperBound:
        """A proven upper bound on the norm of `matrix`, whatever U and V are.

        Costs two products to refresh the weights and the proof of `scaling_bound`.

        Args:
            matrix: shape (n1, n2).
        """
        operand = _operand(matrix)
        weights_U = row_norms(self._image(operand, self.V, transpose=False))
        weights_V = row_norms(self._image(operand, self.U, transpose=True))
        return scaling_bound(operand, weights_U, weights_V, bordered=self.bordered, seed=self.seed)

    def sigma_estimate(self, matrix: Any) -> float:
        """sigma_1 of the scaling theorem at the last step's weights, from below: 1 when solved."""
        return sigma_estimate(
            _operand(matrix), self.weights_U, self.weights_V, bordered=self.bordered
        )

    def resized(self, rank: int) -> "LowRankSolver":
        """A solver with more columns that starts where this one stands, slightly perturbed.

        Args:
            rank: the new number of columns, at least the present one.
        """
        larger = LowRankSolver(self.shape, rank, self.dtype, self.seed, bordered=self.bordered)
        for new, old in ((larger.U, self.U), (larger.V, self.V)):
            new *= np.asarray(0.01, dtype=self.dtype)
            new[:, : self.rank] = old
            _normalise_into(new, new.copy())
        return larger


def _operand(matrix: Any) -> Operand:
    return matrix if isinstance(matrix, Operand) else Operand(matrix)


def _normalise_into(target: RealMatrix, image: RealMatrix) -> RealMatrix:
    """Write the normalised rows of `image` into `target` and return their norms."""
    norms = row_norms(image)
    tiny = _TINY[image.dtype]
    if norms.min() > tiny:
        np.divide(image, norms[:, None], out=target)
    else:
        np.divide(image, norms[:, None], out=target, where=(norms > tiny)[:, None])
    return norms
