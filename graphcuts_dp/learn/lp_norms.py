"""The l_p norm of numbers >= 0: gradients of its square, and the least point in a box.

`learn.potentials` builds its matrix norms from these. The *magnitudes* a of a matrix are numbers
>= 0: its absolute entries, the Euclidean norms of its rows, or its singular values. Let
1 < p <= 2, 1/p + 1/q = 1 and N = ||a||_p. The function

    Psi(a) = N^2/(2(p-1))   has the gradient   N (a/N)^(p-1)/(p-1),

and its convex conjugate is (p-1) ||b||_q^2/2. The gradient of the conjugate is the inverse map.

In mirror descent `to_dual` is this gradient: it maps a hypothesis to its *dual*, to which updates
are added. `box_minimiser` leads back: it finds the x of a box with the least Psi(x) - <theta, x>
for a dual theta, where Psi takes the norms of rows.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatArray

_NEWTON_STEPS = 60  # upper limit, reached only if rounding keeps steps above the next constant
_NEWTON_WIDTH = 1e-15  # step in ln t at which Newton's method stops: the rounding error of a float
_NEGLIGIBLE = 1e-100  # entries this small, relative to the largest, are 0 in the minimiser
_ROOT_WIDTH = 1e-15  # relative width of the search for a norm


def conjugate(p: float) -> float:
    """Return the dual exponent q = p/(p-1)."""
    return p / (p - 1)


def lp_norm(magnitudes: npt.NDArray[Any], p: float) -> float:
    """Return the l_p norm of numbers >= 0, without overflow."""
    largest = float(magnitudes.max(initial=0.0))
    if largest == 0:
        return 0.0
    return float(largest * ((magnitudes / largest) ** p).sum() ** (1 / p))


def dual_magnitudes(magnitudes: FloatArray, p: float) -> FloatArray:
    """Return the gradient of ||a||_p^2/(2(p-1)) at a >= 0: N (a/N)^(p-1)/(p-1)."""
    norm = lp_norm(magnitudes, p)
    if norm == 0 or p == 2:
        return magnitudes.copy()
    dual: FloatArray = (magnitudes / norm) ** (p - 1) * (norm / (p - 1))  # shape of magnitudes
    return dual


def primal_magnitudes(magnitudes: FloatArray, p: float) -> FloatArray:
    """Return the gradient of (p-1) ||b||_q^2/2 at b >= 0: the inverse of `dual_magnitudes`."""
    q = conjugate(p)
    norm = lp_norm(magnitudes, q)
    if norm == 0 or p == 2:
        return magnitudes.copy()
    primal: FloatArray = (magnitudes / norm) ** (q - 1) * (norm * (p - 1))
    return primal


def row_norms(x: FloatArray) -> FloatArray:
    """Return the Euclidean norms of the rows, shape (n1,)."""
    norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", x, x))
    return norms


def rescaled_rows(x: FloatArray, norms: FloatArray, target: FloatArray) -> FloatArray:
    """Return x with its rows scaled from norms to target norms; zero rows stay zero."""
    factors = np.divide(target, norms, out=np.zeros_like(norms), where=norms > 0)
    scaled: FloatArray = x * factors[:, None]
    return scaled


def box_minimiser(theta: FloatArray, p: float, low: float, high: float) -> FloatArray:
    """Return the X in [low, high] with the least ||X||_{2,p}^2/(2(p-1)) - <theta, X>.

    The norm N = ||X||_{2,p} is the l_p norm of the Euclidean norms r_i = ||X_i|| of the rows. By
    the formula of the gradient (see the module), grad Psi(X)_i = X_i/t_i with

        t_i = r_i^(2-p)/kappa,   kappa = N^(2-p)/(p-1).

    At the minimiser an entry inside the box has gradient theta, and another is at its bound: so
    X_i = clip(t_i theta_i, low, high). N is found in two steps:

    1. Choose a number N. It gives kappa. For this kappa, `_ClippedRows` finds in each row the one
       t_i that fits the row's own norm r_i. Call the rows X(N).
    2. X(N) is the minimiser if its norm is N. A larger N gives a larger kappa, smaller t_i and
       shorter rows: so ||X(N)||_{2,p} decreases in N, and there is one root of ||X(N)||_{2,p} = N.

    Args:
        theta: shape (n1, n2). The norm groups the entries of a row; if theta has one column, each
            entry is a row, and the norm is the plain l_p norm.
        p: in (1, 2].
        low: at most 0.
        high: at least 0.
    """
    if p == 2:  # the norm is Euclidean
        nearest: FloatArray = np.clip(theta, low, high)
        return nearest
    largest = float(np.abs(theta).max(initial=0.0))
    if largest == 0:
        return np.zeros_like(theta)
    # Work with theta/largest, so that powers neither over- nor underflow. Rows clip(t_i theta_i)
    # stay the same if t_i is multiplied by `largest`, and t_i = r_i^(2-p)/kappa is so if kappa is
    # divided by `largest`: `rows_at` does that.
    unit_theta = theta / largest
    rows = _ClippedRows(np.where(np.abs(unit_theta) < _NEGLIGIBLE, 0.0, unit_theta), p, low, high)

    def rows_at(norm: float) -> FloatArray:  # X(N)
        return rows.at(norm ** (2 - p) / (p - 1) / largest)

    def norm_at(norm: float) -> float:
        return lp_norm(row_norms(rows_at(norm)), p)

    # The bracket of the root. Without the box, the minimiser has norm U = unclipped_norm. The box
    # only shortens rows, so norm_at(U) <= U, and the root N is at most U. Since norm_at decreases,
    # N = norm_at(N) >= norm_at(U) = least_norm: so the root lies in [least_norm, U].
    unclipped_norm = lp_norm(primal_magnitudes(row_norms(theta), p), p)
    norm = least_norm = norm_at(unclipped_norm)
    # If the box clips nothing, or only by rounding, least_norm is the root already. Else brentq
    # needs a positive value of norm_at(N) - N at the lower end, which rounding can deny.
    if least_norm < unclipped_norm and norm_at(least_norm) > least_norm:
        root = scipy.optimize.brentq(
            lambda candidate: norm_at(candidate) - candidate,
            least_norm,
            unclipped_norm,
            xtol=_ROOT_WIDTH * unclipped_norm,
            rtol=_ROOT_WIDTH,
        )
        norm = float(root)
    return rows_at(norm)


class _ClippedRows:
    """Rows clip(t_i theta_i, low, high), where t_i = r_i^(2-p)/kappa for a given kappa.

    For one row, write t for t_i. As t grows from 0, an entry theta_ij of the row grows as
    t theta_ij, until it reaches its bound (high if positive, low if negative) at the *breakpoint*
    t = bound/theta_ij. Sort the breakpoints of the row. Between breakpoints k and k + 1 just k
    entries are at their bounds, and

        r_i^2 = ||clip(t theta_i)||^2 = C_k + A_k t^2,

    with C_k the sum of their squared bounds and A_k the sum of the other theta_ij^2. Put this into
    kappa t = r_i^(2-p):

        kappa(t) = (C_k + A_k t^2)^((2-p)/2) / t,

    which decreases in t from infinity to 0. So to find t for a given kappa: count the breakpoints
    with kappa(breakpoint) > kappa, which are those that t has passed. The count is k. Then solve
    the equation with C_k and A_k, by a formula if one of them is 0, else by Newton's method.

    Attributes:
        theta: shape (n1, n2), with p, low and high as given.
        constants: C_k of each row and k, shape (n1, n2 + 1).
        slopes: A_k of each row and k, shape (n1, n2 + 1).
        kappas: kappa at the sorted breakpoints of each row, decreasing, shape (n1, n2).

    Args:
        theta: shape (n1, n2).
        p: in (1, 2).
        low: at most 0.
        high: at least 0.
    """

    def __init__(self, theta: FloatArray, p: float, low: float, high: float) -> None:
        self.theta, self.p, self.low, self.high = theta, p, low, high
        bounds = np.where(theta > 0, high, low)
        breakpoints = np.full_like(theta, np.inf)  # an entry 0 never reaches a bound
        np.divide(bounds, theta, out=breakpoints, where=theta != 0)
        order = np.argsort(breakpoints, axis=1)
        sorted_breakpoints = np.take_along_axis(breakpoints, order, axis=1)
        squared_bounds = np.where(np.isfinite(breakpoints), bounds**2, 0.0)
        sorted_bounds = np.take_along_axis(squared_bounds, order, axis=1)
        sorted_squares = np.take_along_axis(theta**2, order, axis=1)
        zero = np.zeros((len(theta), 1))
        self.constants = np.hstack([zero, np.cumsum(sorted_bounds, axis=1)])  # C_k, (n1, n2 + 1)
        sums_from_k = np.cumsum(sorted_squares[:, ::-1], axis=1)[:, ::-1]
        self.slopes = np.hstack([sums_from_k, zero])  # A_k, (n1, n2 + 1)
        # kappa at each breakpoint t. At t = 0 (a bound 0) kappa is infinite: the entry is at its
        # bound for every kappa. At t = infinity (an entry 0) it is 0: the bound is never reached.
        # Both are put in by hand, and t = 1 stands in for them in the formula.
        regular = np.isfinite(sorted_breakpoints) & (sorted_breakpoints > 0)
        t = np.where(regular, sorted_breakpoints, 1.0)
        squared_norms = self.constants[:, :-1] + self.slopes[:, :-1] * t**2
        self.kappas = np.where(regular, squared_norms ** ((2 - p) / 2) / t, 0.0)  # (n1, n2)
        self.kappas[sorted_breakpoints <= 0] = np.inf

    def at(self, kappa: float) -> FloatArray:
        """Return the rows for a given kappa > 0, shape (n1, n2)."""
        scales = self._scales(kappa)[:, None]
        rows: FloatArray = np.clip(self.theta * scales, self.low, self.high)
        return rows

    def _scales(self, kappa: float) -> FloatArray:
        """Return t_i of each row, shape (n1,); 0 for a row that stays 0 (A = C = 0)."""
        # kappa(t) decreases: a breakpoint with a larger kappa than the given one lies below t_i, so
        # its entry is at its bound.
        k = (self.kappas > kappa).sum(axis=1)[:, None]  # number of such entries, (n1, 1)
        C = np.take_along_axis(self.constants, k, axis=1)[:, 0]
        A = np.take_along_axis(self.slopes, k, axis=1)[:, 0]
        power = (2 - self.p) / 2
        t = np.zeros(len(C))
        all_at_bounds = (A == 0) & (C > 0)  # C^power = kappa t
        t[all_at_bounds] = C[all_at_bounds] ** power / kappa
        # (A t^2)^power = kappa t. With 2 power = 2 - p it is A^power/kappa = t^(p-1).
        none_at_bounds = (A > 0) & (C == 0)
        t[none_at_bounds] = (A[none_at_bounds] ** power / kappa) ** (1 / (self.p - 1))
        some_at_bounds = (A > 0) & (C > 0)
        if some_at_bounds.any():
            t[some_at_bounds] = self._root(C[some_at_bounds], A[some_at_bounds], kappa)
        return t

    def _root(self, C: FloatArray, A: FloatArray, kappa: float) -> FloatArray:
        """Solve (C + A t^2)^((2-p)/2) = kappa t by Newton's method in ln t.

        Newton's method looks for the zero of the logarithm of the left side over the right side,
        as a function of ln t. That function is convex and decreasing. The first point solves the
        equation with A = 0; there the function is >= 0, so the point is not beyond the zero. From
        such a point Newton's method approaches the zero of a convex function without passing it.

        Args:
            C: > 0, shape (rows,).
            A: > 0, shape (rows,).
            kappa: > 0.
        """
        power = (2 - self.p) / 2
        log_t = power * np.log(C) - math.log(kappa)
        for _ in range(_NEWTON_STEPS):
            growth = A * np.exp(2 * log_t)  # A t^2
            log_ratio = power * np.log(C + growth) - log_t - math.log(kappa)
            slope = 1 - 2 * power * growth / (C + growth)  # minus the derivative of log_ratio
            step = log_ratio / slope
            log_t += step
            if float(np.abs(step).max()) < _NEWTON_WIDTH:
                break
        return np.exp(log_t)
