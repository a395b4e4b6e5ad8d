"""Potentials for mirror descent, with their norms, gradients and Bregman projections.

A potential is a convex function Psi of matrices x. It has order s for its own norm if for all x, y
of its domain

    Delta(x; y) = Psi(x) - Psi(y) - <grad Psi(y), x - y>  >=  ||x - y||^s/s.

Delta is its Bregman divergence. This inequality is all that the bound on the number of updates
needs. It follows from uniform convexity, JT12's Definition 3, which bounds Psi at the points
y + a (x - y) of a segment: subtract Psi(y), divide by a, and let a go to 0. Every potential here
has s = 2.

Three of the norms share one form, Psi = ||x||_p^2/(2(p-1)), where ||.||_p is the l_p norm of the
*magnitudes* of x: absolute entries (`LpNorm`), Euclidean norms of rows (`GroupNorm`), or singular
values (`SchattenNorm`). They have order 2, since ||.||_q^2/2 with 1/p + 1/q = 1 is (q-1)-smooth, so
||.||_p^2/2 is (p-1)-strongly convex. For entries and singular values see Ball, Carlen, Lieb 1994.
For rows: along a line X + tH let u_i(t) = ||X_i + tH_i||^2 be the squared norms of the rows. Then
||X + tH||_{2,q}^2/2 = ||u(t)||_{q/2}/2. Its second derivative in t is at most
(1 + (q - 2)) ||H||_{2,q}^2: the part with u'' = 2 ||H_i||^2 gives the 1, the part with
|u'| <= 2 ||X_i + tH_i|| ||H_i|| gives q - 2, both by Hoelder. JT12 prints these potentials without
the 2, which costs twice the updates. The fourth is `Entropy`.

The gradients and minimisers of l_p norms of magnitudes are in `learn.lp_norms`.

Source: JT12, sections 3.2, 4.1 and 4.2.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.lp_norms import (
    box_minimiser,
    conjugate,
    dual_magnitudes,
    lp_norm,
    primal_magnitudes,
    rescaled_rows,
    row_norms,
)
from graphcuts_dp.resources import one_blas_thread


@final
@dataclass(frozen=True)
class Box:
    """The set of x with low <= x <= high in every entry: [0, 1] for simple graphs.

    Attributes:
        low: at most 0, public.
        high: at least 0, public.
    """

    low: float = 0.0
    high: float = 1.0


Domain = Box | None  # None: all x at which the potential is finite
Change = Callable[[FloatArray], FloatArray]  # a function of magnitudes


class Potential(ABC):
    """A uniformly convex function with its norm and its gradient.

    The domain of a potential is where it is finite: all x, or for `Entropy` all x >= 0 of its
    total. Arrays x and f are matrices, shape (n1, n2). `LpNorm` and `Entropy`, which look at
    entries alone, take any shape.

    Attributes:
        order: s >= 2, the order of uniform convexity.
    """

    order = 2.0

    @abstractmethod
    def value(self, x: FloatArray) -> float:
        """Return Psi(x)."""

    @abstractmethod
    def norm(self, x: FloatArray) -> float:
        """Return the norm in which Psi is uniformly convex."""

    @abstractmethod
    def dual_norm(self, f: FloatArray) -> float:
        """Return the largest <f, x - y> over points x, y of the domain with ||x - y|| <= 1.

        If the domain is all x, this is the dual norm as usual: for an l_p norm the l_q norm.
        """

    @abstractmethod
    def to_dual(self, x: FloatArray) -> FloatArray:
        """Return the gradient of Psi at x, of x's shape."""

    @abstractmethod
    def minimise(self, theta: FloatArray, domain: Domain = None) -> FloatArray:
        """Return the x of the domain with the least Psi(x) - <theta, x>.

        With theta = grad Psi(y) this is the Bregman projection of y on the domain. If y is in the
        domain, it is y itself: then `minimise` undoes `to_dual`.

        Args:
            theta: of the shape of x.
            domain: a box; None for all x at which Psi is finite.

        Raises:
            ParameterError: the potential has no projection on a box.
        """


def bregman(potential: Potential, x: FloatArray, y: FloatArray) -> float:
    """Return Delta(x; y) = Psi(x) - Psi(y) - <grad Psi(y), x - y>.

    Args:
        potential: Psi.
        x: any point of its domain.
        y: a point of the same shape at which Psi has a gradient.
    """
    slope = float(np.vdot(potential.to_dual(y), x - y))
    return potential.value(x) - potential.value(y) - slope


def near_one(size: int) -> float:
    """Return the exponent p = ln V/(ln V - 1) near 1, whose dual exponent is ln V; at most 2.

    Args:
        size: V: the number of rows (group norm), of entries (l_p), or of n1 n2 (Schatten).
    """
    log_size = math.log(size)
    return log_size / (log_size - 1) if log_size > 2 else 2.0


@dataclass(frozen=True)
class _PowerNorm(Potential):
    """||x||_p^2/(2(p-1)), where ||.||_p is the l_p norm of magnitudes of x.

    Attributes:
        p: in (1, 2].

    Raises:
        ParameterError: p out of range.
    """

    p: float

    def __post_init__(self) -> None:
        if not 1 < self.p <= 2:
            raise ParameterError(f"the exponent p must be in (1, 2], not {self.p}")

    @abstractmethod
    def magnitudes(self, x: FloatArray) -> FloatArray:
        """Return the numbers >= 0 of which the l_p norm is taken."""

    @abstractmethod
    def with_magnitudes(self, x: FloatArray, change: Change) -> FloatArray:
        """Return x with its magnitudes changed: signs, directions or singular vectors stay."""

    def value(self, x: FloatArray) -> float:
        """Return ||x||_p^2/(2(p-1))."""
        return self.norm(x) ** 2 / (2 * (self.p - 1))

    def norm(self, x: FloatArray) -> float:
        """Return ||x||_p."""
        return lp_norm(self.magnitudes(x), self.p)

    def dual_norm(self, f: FloatArray) -> float:
        """Return ||f||_q with 1/p + 1/q = 1, of the same magnitudes."""
        return lp_norm(self.magnitudes(f), conjugate(self.p))

    def to_dual(self, x: FloatArray) -> FloatArray:
        """Return the gradient, see `Potential.to_dual`."""
        return self.with_magnitudes(x, lambda magnitudes: dual_magnitudes(magnitudes, self.p))

    def minimise(self, theta: FloatArray, domain: Domain = None) -> FloatArray:
        """Return the minimiser, see `Potential.minimise`."""
        if isinstance(domain, Box):
            return self._minimise_in_box(theta, domain)
        return self.with_magnitudes(theta, lambda magnitudes: primal_magnitudes(magnitudes, self.p))

    def _minimise_in_box(self, theta: FloatArray, box: Box) -> FloatArray:
        """Return the minimiser for norms of rows; classes with other magnitudes override this."""
        return box_minimiser(theta, self.p, box.low, box.high)


@final
@dataclass(frozen=True)
class LpNorm(_PowerNorm):
    """||x||_p^2/(2(p-1)) of the entries. With p = 2 mirror descent is the Frieze-Kannan update.

    Attributes:
        p: in (1, 2].
    """

    p: float = 2.0

    def magnitudes(self, x: FloatArray) -> FloatArray:
        """Return the absolute entries."""
        return np.abs(x)

    def with_magnitudes(self, x: FloatArray, change: Change) -> FloatArray:
        """Change the absolute entries and keep the signs."""
        return np.copysign(change(np.abs(x)), x)

    def _minimise_in_box(self, theta: FloatArray, box: Box) -> FloatArray:
        """Return the minimiser: each entry is a row of its own."""
        rows = theta.reshape(-1, 1)
        return box_minimiser(rows, self.p, box.low, box.high).reshape(theta.shape)


@final
@dataclass(frozen=True)
class GroupNorm(_PowerNorm):
    """||X||_{2,p}^2/(2(p-1)): the l_p norm of the Euclidean norms of the rows.

    It is for bipartite graphs whose left degrees differ much. With p near 1, ||X||_{2,p} is near
    the sum of the square roots of the degrees, and the dual norm of one query near the root of |T|.

    Attributes:
        p: in (1, 2]; JT12 takes `near_one(number of rows)`.
    """

    def magnitudes(self, x: FloatArray) -> FloatArray:
        """Return the Euclidean norms of the rows of X, shape (n1,)."""
        return row_norms(x)

    def with_magnitudes(self, x: FloatArray, change: Change) -> FloatArray:
        """Change the norms of the rows and keep their directions."""
        norms = row_norms(x)
        return rescaled_rows(x, norms, change(norms))


@final
@dataclass(frozen=True)
class SchattenNorm(_PowerNorm):
    """||X||_{S_p}^2/(2(p-1)): the l_p norm of the singular values, for matrices of low rank.

    Its Bregman projection on a box has no closed form and is not implemented.

    Attributes:
        p: in (1, 2]; JT12 takes `near_one(n1 * n2)`.
    """

    def magnitudes(self, x: FloatArray) -> FloatArray:
        """Return the singular values of X, shape (min(n1, n2),)."""
        with one_blas_thread():  # several threads are very slow on small matrices
            return np.asarray(np.linalg.svd(x, compute_uv=False))

    def with_magnitudes(self, x: FloatArray, change: Change) -> FloatArray:
        """Change the singular values and keep the singular vectors."""
        with one_blas_thread():
            left, singular_values, right = np.linalg.svd(x, full_matrices=False)
        changed: FloatArray = (left * change(singular_values)) @ right
        return changed

    def _minimise_in_box(self, theta: FloatArray, box: Box) -> FloatArray:  # noqa: ARG002
        """Refuse a box.

        Raises:
            ParameterError: always.
        """
        raise ParameterError("the Schatten norm has no projection on a box; use None")


@final
@dataclass(frozen=True)
class Entropy(Potential):
    """M sum x ln x on x >= 0 with sum x = M. With it mirror descent is multiplicative weights.

    Delta(x; y) = M^2 KL(x/M || y/M) >= ||x - y||_1^2/2 (Pinsker). Differences of points sum to 0,
    so the dual norm of f is half its range: 1/2 for queries with entries in [0, 1]. With that,
    the step is exp(+-4 alpha f/M), and B = M^2 KL/(2 alpha^2).

    Attributes:
        total: M > 0, public: a noisy number of edges, not the private one.
    """

    total: float

    def value(self, x: FloatArray) -> float:
        """Return M sum x ln x, with 0 ln 0 = 0."""
        positive = x[x > 0]
        return self.total * float(positive @ np.log(positive))

    def norm(self, x: FloatArray) -> float:
        """Return ||x||_1."""
        return float(np.abs(x).sum())

    def dual_norm(self, f: FloatArray) -> float:
        """Return half the range of f: (max f - min f)/2."""
        return float(f.max() - f.min()) / 2

    def to_dual(self, x: FloatArray) -> FloatArray:
        """Return M (1 + ln x); entries that underflowed to 0 count as the least normal float."""
        return self.total * (1 + np.log(np.maximum(x, np.finfo(np.float64).tiny)))

    def minimise(self, theta: FloatArray, domain: Domain = None) -> FloatArray:
        """Return the minimiser M exp(theta/M)/sum exp(theta/M), see `Potential.minimise`.

        Raises:
            ParameterError: a box: the total is fixed already.
        """
        if domain is not None:
            raise ParameterError("the entropy takes no domain: its total is fixed already")
        weights = np.exp((theta - theta.max()) / self.total)  # without overflow
        minimiser: FloatArray = weights * (self.total / weights.sum())
        return minimiser
