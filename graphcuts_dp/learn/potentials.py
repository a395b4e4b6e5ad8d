"""Potentials for mirror descent: dual maps, norms, Bregman divergences and projections.

A potential Psi of order s satisfies, for its own norm and all x, y of its domain,

    Delta(x; y) = Psi(x) - Psi(y) - <grad Psi(y), x - y>  >=  ||x - y||^s / s.

That is JT12's Definition 3 after dividing by alpha and letting alpha go to 0; it is all that the
bound on the number of updates needs. Every potential here has s = 2.

The three norms share one form, Psi = ||x||_p^2 / (2(p-1)), where ||.||_p is the l_p norm of the
entries, of the Euclidean norms of the rows, or of the singular values. ||.||_q^2 / 2 with
1/p + 1/q = 1 is (q-1)-smooth, so ||.||_p^2 / 2 is (p-1)-strongly convex: for entries and singular
values see Ball, Carlen, Lieb 1994; for rows, the second derivative of Phi(u)/2,
Phi(u) = ||u||_{q/2}, u_i = ||X_i + tH_i||^2, is at most (1 + (q - 2)) ||H||_{2,q}^2 by Hoelder.
JT12 prints the potential without the 2, which costs twice the updates.

Source: JT12, sections 3.2, 4.1 and 4.2.

l_p norms of magnitudes: their dual maps, and the minimiser on a box.

Magnitudes are numbers a >= 0: absolute entries, Euclidean norms of rows, or singular values. With
N = ||a||_p, the potential N^2/(2(p-1)) has the gradient N (a/N)^(p-1) / (p-1), and its conjugate
is (p-1) ||b||_q^2 / 2 with 1/p + 1/q = 1.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.resources import one_blas_thread

_NEWTON_STEPS = 60  # quadratic convergence; reached only by the last bit's rounding


def conjugate(p: float) -> float:
    """The dual exponent q = p/(p-1)."""
    return p / (p - 1)


def lp(magnitudes: npt.NDArray[Any], p: float) -> float:
    """The l_p norm of numbers >= 0, safe from overflow."""
    largest = float(magnitudes.max(initial=0.0))
    if largest == 0:
        return 0.0
    return float(largest * ((magnitudes / largest) ** p).sum() ** (1 / p))


def row_norms(x: FloatArray) -> FloatArray:
    """Euclidean norms of the rows, shape (n1,)."""
    norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", x, x))
    return norms


def rescaled_rows(x: FloatArray, norms: FloatArray, target: FloatArray) -> FloatArray:
    """Rows of x with new norms; zero rows stay zero."""
    factors = np.divide(target, norms, out=np.zeros_like(norms), where=norms > 0)
    scaled: FloatArray = x * factors[:, None]
    return scaled


def dual_magnitudes(magnitudes: FloatArray, p: float) -> FloatArray:
    """The gradient of ||a||_p^2 / (2(p-1)) at a >= 0: N (a/N)^(p-1) / (p-1)."""
    norm = lp(magnitudes, p)
    if norm == 0 or p == 2:
        return magnitudes.copy()
    dual: FloatArray = (magnitudes / norm) ** (p - 1) * (norm / (p - 1))
    return dual


def primal_magnitudes(magnitudes: FloatArray, p: float) -> FloatArray:
    """The gradient of (p-1) ||b||_q^2 / 2 at b >= 0: the inverse of `dual_magnitudes`."""
    q = conjugate(p)
    norm = lp(magnitudes, q)
    if norm == 0 or p == 2:
        return magnitudes.copy()
    primal: FloatArray = (magnitudes / norm) ** (q - 1) * (norm * (p - 1))
    return primal


def box_minimiser(theta: FloatArray, p: float, low: float, high: float) -> FloatArray:
    """The X with low <= X <= high and the least ||X||_{2,p}^2 / (2(p-1)) - <theta, X>.

    Args:
        theta: shape (n1, n2); its rows are the groups, single entries for a plain l_p norm.
        p: in (1, 2].
        low: at most 0.
        high: at least 0.

    Optimality: X_i = clip(t_i theta_i) with t_i = r_i^(2-p)/kappa, r_i = ||X_i||,
    kappa = N^(2-p)/(p-1), N = ||X||_{2,p}. For a given N, each row's t_i is unique; larger N
    makes all rows shorter, so N is the root of a decreasing function.
    """
    if p == 2:
        nearest: FloatArray = np.clip(theta, low, high)
        return nearest
    largest = float(np.abs(theta).max(initial=0.0))
    if largest == 0:
        return np.zeros_like(theta)
    unit = theta / largest
    # Entries so small end at 0 to the last bit, and their breakpoints would overflow.
    rows = _ClippedRows(np.where(np.abs(unit) < 1e-100, 0.0, unit), p, low, high)

    def rows_at(norm: float) -> FloatArray:
        return rows.at(norm ** (2 - p) / (p - 1) / largest)

    def norm_at(norm: float) -> float:
        return lp(row_norms(rows_at(norm)), p)

    most = lp(primal_magnitudes(row_norms(theta), p), p)  # the norm without a box
    norm = least = norm_at(most)
    if least < most and norm_at(least) > least:
        root = scipy.optimize.brentq(
            lambda n: norm_at(n) - n, least, most, xtol=1e-15 * most, rtol=1e-15
        )
        norm = float(root)
    return rows_at(norm)


class _ClippedRows:
    """Rows clip(t_i theta_i, low, high), as functions of the multiplier kappa.

    ||clip(t theta_i)||^2 = C_k + A_k t^2 while k entries are at their bound, so every row is one
    sorted list of breakpoints with running sums, and t solves (C_k + A_k t^2)^((2-p)/2) = kappa t.
    """

    def __init__(self, theta: FloatArray, p: float, low: float, high: float) -> None:
        self.theta, self.p, self.low, self.high = theta, p, low, high
        bounds = np.where(theta > 0, high, low)
        at = np.full_like(theta, np.inf)
        np.divide(bounds, theta, out=at, where=theta != 0)
        order = np.argsort(at, axis=1)
        self.breaks = np.take_along_axis(at, order, axis=1)
        bounded = np.where(np.isfinite(at), bounds**2, 0.0)
        clipped = np.take_along_axis(bounded, order, axis=1)
        growing = np.take_along_axis(theta**2, order, axis=1)
        zero = np.zeros((len(theta), 1))
        self.constant = np.hstack([zero, np.cumsum(clipped, axis=1)])
        tails = np.cumsum(growing[:, ::-1], axis=1)[:, ::-1]
        self.slope = np.hstack([tails, zero])
        # kappa at each breakpoint, decreasing along a row; 0 < t < inf needs a guard at both ends.
        finite = np.isfinite(self.breaks) & (self.breaks > 0)
        t = np.where(finite, self.breaks, 1.0)
        squares = self.constant[:, :-1] + self.slope[:, :-1] * t**2
        self.kappas = np.where(finite, squares ** ((2 - p) / 2) / t, 0.0)
        self.kappas[self.breaks <= 0] = np.inf

    def _scales(self, kappa: float) -> FloatArray:
        """t_i for each row; 0 for a row that stays 0."""
        k = (self.kappas > kappa).sum(axis=1)[:, None]
        C = np.take_along_axis(self.constant, k, axis=1)[:, 0]
        A = np.take_along_axis(self.slope, k, axis=1)[:, 0]
        moving = (A > 0) & (C > 0)
        t = np.zeros(len(C))
        only_bounds = (A == 0) & (C > 0)
        t[only_bounds] = C[only_bounds] ** ((2 - self.p) / 2) / kappa
        free = (A > 0) & (C == 0)
        t[free] = (A[free] ** ((2 - self.p) / 2) / kappa) ** (1 / (self.p - 1))
        if moving.any():
            t[moving] = self._root(C[moving], A[moving], kappa)
        return t

    def _root(self, C: FloatArray, A: FloatArray, kappa: float) -> FloatArray:
        """Newton in ln t: the function is convex and decreasing, and starts left of its root."""
        power = (2 - self.p) / 2
        log_t = power * np.log(C) - math.log(kappa)
        for _ in range(_NEWTON_STEPS):
            grown = A * np.exp(2 * log_t)
            value = power * np.log(C + grown) - log_t - math.log(kappa)
            step = value / (1 - 2 * power * grown / (C + grown))
            log_t += step
            if float(np.abs(step).max()) < 1e-15:
                break
        return np.exp(log_t)

    def at(self, kappa: float) -> FloatArray:
        """The rows for a given kappa > 0."""
        scales = self._scales(kappa)[:, None]
        rows: FloatArray = np.clip(self.theta * scales, self.low, self.high)
        return rows


@final
@dataclass(frozen=True)
class Box:
    """All x with low <= x <= high entrywise: [0, 1] for simple graphs.

    Attributes:
        low: finite, public.
        high: finite, above low, public.
    """

    low: float = 0.0
    high: float = 1.0


Domain = Box | None
Change = Callable[[FloatArray], FloatArray]  # of magnitudes


class Potential(ABC):
    """A uniformly convex function with its norm and its dual map.

    Arrays x and f are matrices, shape (n1, n2); those of entries alone may have any one shape.

    Attributes:
        order: s >= 2, of the uniform convexity.
    """

    order = 2.0

    @abstractmethod
    def value(self, x: FloatArray) -> float:
        """Psi(x)."""

    @abstractmethod
    def norm(self, x: FloatArray) -> float:
        """The norm that Psi is uniformly convex in."""

    @abstractmethod
    def dual_norm(self, f: FloatArray) -> float:
        """The largest <f, u> over differences u of points of the domain with ||u|| <= 1."""

    @abstractmethod
    def to_dual(self, x: FloatArray) -> FloatArray:
        """The gradient of Psi at x, of x's shape."""

    @abstractmethod
    def minimise(self, theta: FloatArray, domain: Domain = None) -> FloatArray:
        """The x of the domain (None: wherever Psi is finite) with the least Psi(x) - <theta, x>.

        With theta = grad Psi(y) this is the Bregman projection of y, and y itself if y is in the
        domain: the inverse of `to_dual`.

        Raises:
            ParameterError: the potential has no such projection.
        """


def bregman(potential: Potential, x: FloatArray, y: FloatArray) -> float:
    """Delta(x; y) = Psi(x) - Psi(y) - <grad Psi(y), x - y>, at least ||x - y||^s / s.

    Args:
        potential: Psi.
        x: any point of its domain.
        y: a point of the same shape, where Psi has a gradient.
    """
    slope = float(np.vdot(potential.to_dual(y), x - y))
    return potential.value(x) - potential.value(y) - slope


def near_one(size: int) -> float:
    """The exponent p = ln V / (ln V - 1), near 1, whose dual exponent is ln V.

    Args:
        size: V: the number of rows (group norm), of entries (l_p), or of n1 n2 (Schatten). At most
            e^2 gives 2.
    """
    log = math.log(size)
    return log / (log - 1) if log > 2 else 2.0


@dataclass(frozen=True)
class _PowerNorm(Potential):
    """||x||_p^2 / (2(p-1)) where ||.||_p is the l_p norm of some magnitudes of x.

    Raises:
        ParameterError: p out of range.
    """

    p: float

    def __post_init__(self) -> None:
        if not 1 < self.p <= 2:
            raise ParameterError(f"the exponent p must be in (1, 2], not {self.p}")

    @abstractmethod
    def magnitudes(self, x: FloatArray) -> FloatArray:
        """What the l_p norm is taken of."""

    @abstractmethod
    def with_magnitudes(self, x: FloatArray, change: Change) -> FloatArray:
        """x with its magnitudes changed, and all else as it is."""

    def value(self, x: FloatArray) -> float:
        """||x||_p^2 / (2(p-1))."""
        return self.norm(x) ** 2 / (2 * (self.p - 1))

    def norm(self, x: FloatArray) -> float:
        """||x||_p of the magnitudes."""
        return lp(self.magnitudes(x), self.p)

    def dual_norm(self, f: FloatArray) -> float:
        """||f||_q of the magnitudes, 1/p + 1/q = 1."""
        return lp(self.magnitudes(f), conjugate(self.p))

    def to_dual(self, x: FloatArray) -> FloatArray:
        """See `Potential`."""
        return self.with_magnitudes(x, lambda magnitudes: dual_magnitudes(magnitudes, self.p))

    def minimise(self, theta: FloatArray, domain: Domain = None) -> FloatArray:
        """See `Potential`."""
        if isinstance(domain, Box):
            return self._in_box(theta, domain)
        return self.with_magnitudes(theta, lambda found: primal_magnitudes(found, self.p))

    def _in_box(self, theta: FloatArray, box: Box) -> FloatArray:
        return box_minimiser(theta, self.p, box.low, box.high)


@final
@dataclass(frozen=True)
class LpNorm(_PowerNorm):
    """||x||_p^2 / (2(p-1)) of the entries; p = 2 makes mirror descent the Frieze-Kannan update.

    Raises:
        ParameterError: p out of range.
    """

    p: float = 2.0

    def magnitudes(self, x: FloatArray) -> FloatArray:
        """Of the entries."""
        return np.abs(x)

    def with_magnitudes(self, x: FloatArray, change: Change) -> FloatArray:
        """See `_PowerNorm`."""
        return np.copysign(change(np.abs(x)), x)

    def _in_box(self, theta: FloatArray, box: Box) -> FloatArray:
        rows = theta.reshape(-1, 1)
        return box_minimiser(rows, self.p, box.low, box.high).reshape(theta.shape)


@final
@dataclass(frozen=True)
class GroupNorm(_PowerNorm):
    """||X||_{2,p}^2 / (2(p-1)): the l_p norm of the rows' Euclidean norms.

    For bipartite graphs whose left degrees differ much: ||X||_{2,p} is near the sum of the square
    roots of the degrees when p is near 1, and one query's dual norm near the root of its |T|.

    Attributes:
        p: in (1, 2]; JT12 takes `near_one(number of rows)`.

    Raises:
        ParameterError: p out of range.
    """

    def magnitudes(self, x: FloatArray) -> FloatArray:
        """Euclidean norms of the rows of X, shape (n1, n2)."""
        return row_norms(x)

    def with_magnitudes(self, x: FloatArray, change: Change) -> FloatArray:
        """See `_PowerNorm`."""
        norms = row_norms(x)
        return rescaled_rows(x, norms, change(norms))


@final
@dataclass(frozen=True)
class SchattenNorm(_PowerNorm):
    """||X||_{S_p}^2 / (2(p-1)): the l_p norm of the singular values, for matrices of low rank.

    It has no projection on a box: the Bregman projection has no closed form there.

    Attributes:
        p: in (1, 2]; JT12 takes `near_one(n1 * n2)`.

    Raises:
        ParameterError: p out of range.
    """

    def magnitudes(self, x: FloatArray) -> FloatArray:
        """Singular values of X, shape (n1, n2)."""
        with one_blas_thread():  # threads that wait for each other make small ones very slow
            return np.asarray(np.linalg.svd(x, compute_uv=False))

    def with_magnitudes(self, x: FloatArray, change: Change) -> FloatArray:
        """See `_PowerNorm`."""
        with one_blas_thread():
            left, values, right = np.linalg.svd(x, full_matrices=False)
        changed: FloatArray = (left * change(values)) @ right
        return changed

    def _in_box(self, theta: FloatArray, box: Box) -> FloatArray:  # noqa: ARG002
        raise ParameterError("the Schatten norm has no projection on a box; use None")


@final
@dataclass(frozen=True)
class Entropy(Potential):
    """M sum x ln x on x >= 0 with sum x = M; mirror descent becomes multiplicative weights.

    Delta(x; y) = M^2 KL(x/M || y/M) >= ||x - y||_1^2 / 2 (Pinsker). Differences of points sum to
    0, so the dual norm of f is half its range: queries with entries in [0, 1] have 1/2. With that,
    the step is exp(+-4 alpha f / M) and B = M^2 KL / (2 alpha^2).

    Attributes:
        total: M > 0, public: a noisy number of edges, not the private one.
    """

    total: float

    def value(self, x: FloatArray) -> float:
        """M sum x ln x, with 0 ln 0 = 0."""
        positive = x[x > 0]
        return self.total * float(positive @ np.log(positive))

    def norm(self, x: FloatArray) -> float:
        """||x||_1."""
        return float(np.abs(x).sum())

    def dual_norm(self, f: FloatArray) -> float:
        """Half the range of f: (max f - min f)/2."""
        return float(f.max() - f.min()) / 2

    def to_dual(self, x: FloatArray) -> FloatArray:
        """M (1 + ln x); entries that underflowed to 0 count as the smallest positive number."""
        return self.total * (1 + np.log(np.maximum(x, np.finfo(np.float64).tiny)))

    def minimise(self, theta: FloatArray, domain: Domain = None) -> FloatArray:
        """See `Potential.minimise`.

        Raises:
            ParameterError: a box: the total is fixed already.
        """
        if domain is not None:
            raise ParameterError("the entropy takes no domain: its total is fixed already")
        weights = np.exp((theta - theta.max()) / self.total)
        share: FloatArray = weights * (self.total / weights.sum())
        return share
