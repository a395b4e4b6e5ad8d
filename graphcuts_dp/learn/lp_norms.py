"""The l_p norm of numbers >= 0: gradients of its square, and the least point in a box.

`learn.potentials` builds its matrix norms from these. The *magnitudes* a of a matrix are numbers
>= 0: its absolute entries, the Euclidean norms of its rows, or its singular values. Let
1 < p <= 2, 1/p + 1/q = 1 and N = ||a||_p. The function

    Psi(a) = N^2/(2(p-1))   has the gradient   b = N (a/N)^(p-1)/(p-1).

Its convex conjugate is (p-1) ||b||_q^2/2, whose gradient maps b back to a.

Mirror descent corrects a matrix in three steps. `dual_magnitudes` maps its magnitudes a to b, the
magnitudes of the *dual* matrix theta. An update is added to theta. Then the way back: without
limits on entries `primal_magnitudes` maps b to a. If entries must stay in a box [low, high],
`box_minimiser` finds the matrix X of the box with the least Psi(X) - <theta, X>.
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


def primal_magnitudes(dual: FloatArray, p: float) -> FloatArray:
    """Return the a >= 0 for which `dual_magnitudes` is b: (p-1) ||b||_q (b/||b||_q)^(q-1).

    Args:
        dual: b >= 0.
        p: in (1, 2].
    """
    q = conjugate(p)
    norm = lp_norm(dual, q)
    if norm == 0 or p == 2:
        return dual.copy()
    primal: FloatArray = (dual / norm) ** (q - 1) * (norm * (p - 1))  # shape of `dual`
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

    The norm N = ||X||_{2,p} is the l_p norm of the Euclidean norms r_i = ||X_i|| of the rows. The
    gradient of Psi has magnitude N (r_i/N)^(p-1)/(p-1) in row i (see the module) and the direction
    X_i/r_i. So row i of it is X_i/t_i, with

        t_i = r_i^(2-p)/kappa,   kappa = N^(2-p)/(p-1).

    At the minimiser X_ij/t_i = theta_ij for an entry inside the box; other entries are at the bound
    on that side. So X_i = clip(t_i theta_i, low, high). Both t_i and kappa depend on norms of the
    unknown X. They are found by a search for N:

    1. Take any number N. It gives kappa. For this kappa, `_ClippedRows` finds the t_i of each row
       for which the clipped row has just the norm r_i in the formula of t_i. Call the rows X(N).
    2. X(N) is the minimiser if its norm is N. A larger N gives a larger kappa, smaller t_i and
       shorter rows: so ||X(N)||_{2,p} decreases in N, and ||X(N)||_{2,p} = N has one root.

    Args:
        theta: shape (n1, n2). The norm groups the entries of a row; if theta has one column, each
            entry is a row, and the norm is the plain l_p norm.
        p: in (1, 2].
        low: at most 0.
        high: at least 0.
    """
    if p == 2:  # Psi is ||X||^2/2, so the minimiser is the point of the box nearest to theta
        nearest: FloatArray = np.clip(theta, low, high)
        return nearest
    largest = float(np.abs(theta).max(initial=0.0))
    if largest == 0:
        return np.zeros_like(theta)
    # Work with theta/largest, so that powers neither over- nor underflow. With t_i times `largest`
    # the rows clip(t_i theta_i) stay the same. Since t_i = r_i^(2-p)/kappa, `rows_at` divides kappa
    # by `largest` for this.
    unit_theta = theta / largest
    rows = _ClippedRows(np.where(np.abs(unit_theta) < _NEGLIGIBLE, 0.0, unit_theta), p, low, high)

    def rows_at(norm: float) -> FloatArray:  # X(N), shape (n1, n2)
        return rows.at(norm ** (2 - p) / (p - 1) / largest)

    def norm_at(norm: float) -> float:  # ||X(N)||_{2,p}
        return lp_norm(row_norms(rows_at(norm)), p)

    # The bracket of the root N = norm_at(N), for brentq:
    # - Let U be the norm of the minimiser without a box: unclipped rows at U have norm U. The box
    #   only shortens rows, so norm_at(U) <= U. Since norm_at decreases, the root is at most U.
    # - From N <= U follows norm_at(N) >= norm_at(U). So N >= norm_at(U), which is least_norm.
    unclipped_norm = lp_norm(primal_magnitudes(row_norms(theta), p), p)
    norm = least_norm = norm_at(unclipped_norm)
    # If the box clips nothing, or only by rounding, least_norm is the root already. Else
    # norm_at(N) - N is >= 0 at least_norm in exact numbers. brentq raises if rounding makes it
    # negative; then least_norm is the root but for rounding, and is taken.
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
    """Rows clip(t_i theta_i, low, high) with kappa t_i = r_i^(2-p), where r_i is the row's norm.

    `at` finds them for any kappa. `box_minimiser` calls it for many kappa, so all that does not
    depend on kappa is computed once, in `__init__`.

    For one row, write t for t_i. As t grows from 0, an entry theta_ij of the row grows as
    t theta_ij, until it reaches its bound (high if positive, low if negative) at the *breakpoint*
    t = bound/theta_ij. Sort the breakpoints of the row. Between breakpoints k and k + 1 just k
    entries are at their bounds, and

        r_i^2 = ||clip(t theta_i)||^2 = C_k + A_k t^2,

    with C_k the sum of their squared bounds and A_k the sum of the other theta_ij^2. Put this into
    kappa t = r_i^(2-p):

        kappa(t) = (C_k + A_k t^2)^((2-p)/2) / t,

    which decreases in t from infinity to 0. So t for a given kappa is found in two steps:

    1. A breakpoint is below t just if kappa(breakpoint) > kappa. Count these: this is k.
    2. Solve the equation with C_k and A_k, by a formula if one of them is 0, else by Newton's
       method.

    Attributes:
        theta: shape (n1, n2), with p, low and high as given.
        bound_squares: C_k of each row and k, shape (n1, n2 + 1).
        inner_squares: A_k of each row and k, shape (n1, n2 + 1).
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
        self.bound_squares = np.hstack([zero, np.cumsum(sorted_bounds, axis=1)])
        sums_from_k = np.cumsum(sorted_squares[:, ::-1], axis=1)[:, ::-1]
        self.inner_squares = np.hstack([sums_from_k, zero])
        # kappa at each breakpoint t. Two kinds of breakpoints do not fit the formula:
        # - t = 0, where the bound is 0: kappa is infinite, so the entry is at its bound for every
        #   kappa.
        # - t = infinity, where theta_ij is 0: kappa is 0, so the bound is never reached.
        # The formula is computed with t = 1 in their stead, and its results there are replaced.
        regular = np.isfinite(sorted_breakpoints) & (sorted_breakpoints > 0)
        t = np.where(regular, sorted_breakpoints, 1.0)
        squared_norms = self.bound_squares[:, :-1] + self.inner_squares[:, :-1] * t**2  # r_i^2
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
        C = np.take_along_axis(self.bound_squares, k, axis=1)[:, 0]  # C_k, (n1,)
        A = np.take_along_axis(self.inner_squares, k, axis=1)[:, 0]  # A_k, (n1,)
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

        Newton's method looks for the zero of f(ln t) = ln(left side/right side). It starts left of
        the zero and never passes it:

        1. f is convex: ln(C + A t^2) is a log-sum-exp of functions linear in ln t, and -ln t is
           linear. f is decreasing, since the left side grows at most as t^(2-p) and p > 1.
        2. The start solves C^((2-p)/2) = kappa t. There C + A t^2 > C, so f > 0: it is left of the
           zero.
        3. The tangent of a convex function lies below it. So the zero of the tangent, the next
           point, is left of the zero of f too, and the points increase to it.

        Args:
            C: > 0, shape (rows,).
            A: > 0, shape (rows,).
            kappa: > 0.
        """
        power = (2 - self.p) / 2
        log_t = power * np.log(C) - math.log(kappa)
        for _ in range(_NEWTON_STEPS):
            growth = A * np.exp(2 * log_t)  # A t^2
            log_ratio = power * np.log(C + growth) - log_t - math.log(kappa)  # f
            descent = 1 - 2 * power * growth / (C + growth)  # -f', positive
            step = log_ratio / descent
            log_t += step
            if float(np.abs(step).max()) < _NEWTON_WIDTH:
                break
        return np.exp(log_t)
