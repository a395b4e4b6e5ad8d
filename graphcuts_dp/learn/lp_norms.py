"""The l_p norm of numbers >= 0: gradients of its square, and the least point in a box.

`learn.potentials` builds its matrix norms from these. The *magnitudes* a of a matrix are numbers
>= 0: its absolute entries, the Euclidean norms of its rows, or its singular values. Let
1 < p <= 2, 1/p + 1/q = 1 and N = ||a||_p. The function

    Psi(a) = N^2/(2(p-1))   has the gradient   N (a/N)^(p-1)/(p-1),

and its convex conjugate is (p-1) ||b||_q^2/2. The gradient of the conjugate is the inverse map.

`box_minimiser` solves min Psi(x) - <theta, x> over a box, where Psi takes the norms of rows.
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
    dual: FloatArray = (magnitudes / norm) ** (p - 1) * (norm / (p - 1))
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

    The norm is the l_p norm of the Euclidean norms of the rows. The minimiser satisfies

        X_i = clip(t_i theta_i, low, high),   t_i = r_i^(2-p)/kappa,   r_i = ||X_i||,
        kappa = N^(2-p)/(p-1),                N = ||X||_{2,p}.

    For a given N each t_i is unique, so the rows X(N) are functions of N. A larger N makes all of
    them shorter: ||X(N)||_{2,p} decreases, and N is the root of ||X(N)||_{2,p} = N.

    Args:
        theta: shape (n1, n2). Its rows are the groups; one column gives a plain l_p norm.
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
    # With theta/largest for theta, t_i is `largest` times as large, and kappa is divided by it.
    unit_theta = theta / largest
    rows = _ClippedRows(np.where(np.abs(unit_theta) < _NEGLIGIBLE, 0.0, unit_theta), p, low, high)

    def rows_at(norm: float) -> FloatArray:
        return rows.at(norm ** (2 - p) / (p - 1) / largest)

    def norm_at(norm: float) -> float:
        return lp_norm(row_norms(rows_at(norm)), p)

    # The root lies between norm_at(unclipped_norm) and unclipped_norm, since norm_at decreases and
    # the box only shortens rows.
    unclipped_norm = lp_norm(primal_magnitudes(row_norms(theta), p), p)
    norm = least_norm = norm_at(unclipped_norm)
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
    """Rows clip(t_i theta_i, low, high), as functions of the multiplier kappa.

    An entry of a row reaches its bound at its breakpoint t = bound/theta. Sort the breakpoints of a
    row. Between breakpoint k and k + 1, k entries are at their bounds, and

        ||clip(t theta_i)||^2 = C_k + A_k t^2,

    with C_k the sum of their squared bounds and A_k the sum of the other theta^2. By t_i =
    r_i^(2-p)/kappa, t solves (C_k + A_k t^2)^((2-p)/2) = kappa t. Dividing by t gives kappa as a
    decreasing function of t: kappa at each breakpoint tells between which two of them t lies.

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
        # kappa at each breakpoint: infinite at t = 0, and 0 at t = infinity.
        regular = np.isfinite(sorted_breakpoints) & (sorted_breakpoints > 0)
        t = np.where(regular, sorted_breakpoints, 1.0)  # 1 stands in where kappa is set below
        squared_norms = self.constants[:, :-1] + self.slopes[:, :-1] * t**2
        self.kappas = np.where(regular, squared_norms ** ((2 - p) / 2) / t, 0.0)  # (n1, n2)
        self.kappas[sorted_breakpoints <= 0] = np.inf

    def at(self, kappa: float) -> FloatArray:
        """Return the rows for a given kappa > 0, shape (n1, n2)."""
        scales = self._scales(kappa)[:, None]
        rows: FloatArray = np.clip(self.theta * scales, self.low, self.high)
        return rows

    def _scales(self, kappa: float) -> FloatArray:
        """Return t_i of each row, shape (n1,); 0 for a row that stays 0."""
        k = (self.kappas > kappa).sum(axis=1)[:, None]  # entries at their bounds
        C = np.take_along_axis(self.constants, k, axis=1)[:, 0]
        A = np.take_along_axis(self.slopes, k, axis=1)[:, 0]
        power = (2 - self.p) / 2
        t = np.zeros(len(C))
        all_at_bounds = (A == 0) & (C > 0)  # C^power = kappa t
        t[all_at_bounds] = C[all_at_bounds] ** power / kappa
        none_at_bounds = (A > 0) & (C == 0)  # (A t^2)^power = kappa t
        t[none_at_bounds] = (A[none_at_bounds] ** power / kappa) ** (1 / (self.p - 1))
        some_at_bounds = (A > 0) & (C > 0)
        if some_at_bounds.any():
            t[some_at_bounds] = self._root(C[some_at_bounds], A[some_at_bounds], kappa)
        return t

    def _root(self, C: FloatArray, A: FloatArray, kappa: float) -> FloatArray:
        """Solve (C + A t^2)^((2-p)/2) = kappa t by Newton's method in ln t.

        The logarithm of the left side over the right is convex and decreasing in ln t. The first
        point, with A = 0, lies left of the root, from where Newton's method converges.
        """
        power = (2 - self.p) / 2
        log_t = power * np.log(C) - math.log(kappa)
        for _ in range(_NEWTON_STEPS):
            growth = A * np.exp(2 * log_t)  # A t^2
            log_ratio = power * np.log(C + growth) - log_t - math.log(kappa)
            step = log_ratio / (1 - 2 * power * growth / (C + growth))
            log_t += step
            if float(np.abs(step).max()) < _NEWTON_WIDTH:
                break
        return np.exp(log_t)
