"""Potentials for mirror descent, with their norms, gradients and Bregman projections.

A potential is a convex function Psi of matrices x. It has order s for its own norm if for all x, y
of its domain

    Delta(x; y) = Psi(x) - Psi(y) - <grad Psi(y), x - y>  >=  ||x - y||^s/s.

Delta is its Bregman divergence. This inequality is all that the bound on the number of updates
needs. It follows from uniform convexity, JT12's Definition 3, which bounds Psi at the points
y + a (x - y) of a segment: subtract Psi(y), divide by a, and let a go to 0. Every potential here
has s = 2. The formulas of `learn.norms` are for any s, as in the paper; so `order` is an attribute.

Mirror descent corrects x: it computes theta = grad Psi(x) (`to_dual`), adds a multiple of the query
to theta, and takes the point with the least Psi(x) - <theta, x> (`minimise`).

Three of the norms share one form, Psi = ||x||_p^2/(2(p-1)), where ||.||_p is the l_p norm of the
*magnitudes* of x: absolute entries (`LpNorm`), Euclidean norms of rows (`GroupNorm`), or singular
values (`SchattenNorm`). JT12 prints these potentials without the 2, which doubles Psi at the start
and so the bound on updates. The fourth potential is `Entropy`.

Proof that the three have order 2. Let 1/p + 1/q = 1. ||.||_q^2/2 is (q-1)-smooth: its second
derivative in t along a line X + tH is at most (q-1) ||H||_q^2. By duality ||.||_p^2/2 is
1/(q-1)-strongly convex, and 1/(q-1) = p-1. For the smoothness for entries and singular values see
Ball, Carlen, Lieb 1994. For rows:

1. Let u_i = ||X_i + tH_i||^2 be the squared norms of the rows, and r = q/2 >= 1. The function is
   F = (sum u_i^r)^(1/r)/2. Write S = sum u_i^r.
2. F' = S^(1/r-1) sum u_i^(r-1) u_i'/2. F'' has three terms; the one that differentiates S has the
   factor 1/r - 1 <= 0, and is not positive. Drop it.
3. The term with u_i'' = 2 ||H_i||^2 is S^(1/r-1) sum u_i^(r-1) ||H_i||^2. By Hoelder with the
   exponents r/(r-1) and r it is at most (sum ||H_i||^(2r))^(1/r) = ||H||_{2,q}^2.
4. The term with u_i'^2 is (r-1) S^(1/r-1) sum u_i^(r-2) u_i'^2/2. Since |u_i'| <=
   2 u_i^(1/2) ||H_i||, it is at most 2 (r-1) times the term of step 3, and 2 (r-1) = q - 2.
5. Together F'' <= (1 + q - 2) ||H||_{2,q}^2.

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
Change = Callable[[FloatArray], FloatArray]  # maps magnitudes to new ones, of the same shape


class Potential(ABC):
    """A uniformly convex function Psi with its norm and its gradient.

    The domain of a potential is where it is finite: all x, or for `Entropy` all x >= 0 of its
    total. Arrays x and f are matrices, shape (n1, n2). `LpNorm` and `Entropy`, which look at
    entries alone, take any shape.

    Attributes:
        order: s >= 2, the order of uniform convexity.
    """

    order: float = 2.0

    @abstractmethod
    def value(self, x: FloatArray) -> float:
        """Return Psi(x)."""

    @abstractmethod
    def norm(self, x: FloatArray) -> float:
        """Return the norm in which Psi is uniformly convex."""

    @abstractmethod
    def dual_norm(self, f: FloatArray) -> float:
        """Return the dual norm of a query f.

        For a domain of all x it is as usual: the largest <f, z> with ||z|| <= 1, for an l_p norm
        the l_q norm. For `Entropy`, z must be a multiple of a difference of two points of the
        domain. That is enough for mirror descent, and smaller.
        """

    @abstractmethod
    def to_dual(self, x: FloatArray) -> FloatArray:
        """Return the gradient of Psi at x, of x's shape."""

    @abstractmethod
    def minimise(self, theta: FloatArray, domain: Domain = None) -> FloatArray:
        """Return the x of the domain with the least Psi(x) - <theta, x>.

        With theta = grad Psi(y) it is the x with the least Delta(x; y), since the two differ by a
        number without x: the Bregman projection of y on the domain. If y is in the domain, it is y
        itself: then `minimise` undoes `to_dual`.

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

    It is JT12's choice.

    Args:
        size: V: the number of rows (group norm) or of entries (l_p and Schatten norm).
    """
    log_size = math.log(size)
    return log_size / (log_size - 1) if log_size > 2 else 2.0


@dataclass(frozen=True)
class _PowerNorm(Potential):
    """||x||_p^2/(2(p-1)), where ||.||_p is the l_p norm of magnitudes of x.

    A subclass defines the magnitudes, and must override `_minimise_in_box` unless they are the
    Euclidean norms of rows.

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
        """Return the minimiser in the box if the magnitudes are the Euclidean norms of rows."""
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
        """Return the minimiser: an absolute entry is the norm of a row of one entry."""
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

    Delta(x; y) = M^2 KL(x/M || y/M) >= ||x - y||_1^2/2 (Pinsker). Differences z of points sum to 0,
    so <f, z> = <f - c, z> for any number c. With c in the middle of the range of f this is at most
    ||z||_1 times half the range. So the dual norm of f is half its range: 1/2 for queries with
    entries in [0, 1]. With that, the step multiplies weights by exp(+-4 alpha f/M), and
    B = M^2 KL/(2 alpha^2).

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
