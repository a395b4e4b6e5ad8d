"""l_p norms of magnitudes: their dual maps, and the minimiser on a box.

Magnitudes are numbers a >= 0: absolute entries, Euclidean norms of rows, or singular values. With
N = ||a||_p, the potential N^2/(2(p-1)) has the gradient N (a/N)^(p-1) / (p-1), and its conjugate
is (p-1) ||b||_q^2 / 2 with 1/p + 1/q = 1.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import ParameterError

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

    Raises:
        ParameterError: 0 is not in the box.

    Optimality: X_i = clip(t_i theta_i) with t_i = r_i^(2-p)/kappa, r_i = ||X_i||,
    kappa = N^(2-p)/(p-1), N = ||X||_{2,p}. For a given N, each row's t_i is unique; larger N
    makes all rows shorter, so N is the root of a decreasing function.
    """
    if not low <= 0 <= high:
        raise ParameterError("the box must contain the start")
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
