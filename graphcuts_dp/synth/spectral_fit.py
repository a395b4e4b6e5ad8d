"""Fit in the spectral norm, by alternating directions.

It is kept for reproducing GRU12, section 6.2; the other fits err less on cuts.
"""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import FitProblem, GapSearch, close_gap
from graphcuts_dp.synth.degree_matching import degree_matched_start

_MASS_SHARE = 0.1  # of min(shape) sqrt(max(shape)) times the deviation of z; see `Spectral`


class Spectral(GapSearch):
    """Minimise sigma_1(x - z), the largest singular value, over the box.

    The normalised cut norm max |M(S,T)|/sqrt(|S||T|) and the spectral norm are within a
    logarithm: ||M||_NC <= sigma_1(M) <= 2 H_n ||M||_NC (see `cutnorm.spectral`). So a minimiser
    of sigma_1 has |(x - A)(S,T)| <= 2 sigma_1(A - z) sqrt(|S||T|) for every S, T. That bound is
    small for small sets, yet measured errors were larger than those of the first-order fit on
    every kind of cut: keep this one for reproducing the paper.

    It uses the alternating direction method of multipliers. With y a copy of x - z and u the scaled
    multiplier, a round does three steps:

    1. Cut the singular values of x - z + u down to a level t. It is chosen such that the sum of
       what is cut off is a constant, the `mass`. The rest is the new y.
    2. x <- project(y + z - u).
    3. u <- u + x - z - y.

    What is cut off, divided by the mass, is a matrix W of nuclear norm 1. The nuclear norm is dual
    to sigma_1, so the least <W, x - z> over the box is a lower bound on the minimum. Value and
    lower bound are right up to rounding (about 1e-9 of the value).

    Guarantee: with gap g as reported, sigma_1(x - A) <= (1 + 1/(1-g)) sigma_1(A - z).

    Source: GRU12 section 6.2; Nikiforov 2009 (the logarithm); Boyd et al. 2011 (the method).
    """

    method = "spectral"
    objective = "spectral norm"
    tolerance = 0.03
    most_rounds: ClassVar = {math.inf: 60}  # each with a full decomposition
    one_thread = False  # decompositions are large

    def __init__(self, problem: FitProblem, deadline: Deadline = NEVER) -> None:
        super().__init__(problem, deadline)
        z = problem.noisy
        self.x = degree_matched_start(problem)
        self.u = np.zeros_like(z)
        # Any mass is right. A tenth of the sum of all singular values of noise converges fast.
        self.mass = _MASS_SHARE * min(z.shape) * math.sqrt(max(z.shape)) * float(z.std())

    def round(self) -> None:
        """Do the three steps, and compute the lower bound and the value."""
        self.rounds += 1
        problem, z = self.problem, self.problem.noisy
        y = self.x - z + self.u
        cut_off = _excess(y, self.mass, problem.symmetric)
        y -= cut_off
        if self.mass > 0:
            self.lower = max(self.lower, problem.dual_value(cut_off / self.mass))
        self.x = problem.project(y + z - self.u)
        self.u += self.x - z - y
        value = _spectral_norm(self.x - z, symmetric=problem.symmetric)
        if value < self.best:
            self.best, self.best_matrix = value, self.x


def _excess(matrix: RealMatrix, mass: float, symmetric: bool) -> RealMatrix:
    """Return what is cut off if the largest singular values are cut to one level.

    Args:
        matrix: any, symmetric if `symmetric`.
        mass: sum of the singular values of what is cut off, >= 0.
        symmetric: whether eigenvalues are computed in place of singular values.
    """
    left, values, right = _decompose(matrix, symmetric=symmetric)
    sizes = np.abs(values)
    descending = np.sort(sizes)[::-1]
    # The level at which the k largest values lose the mass together, for k = 1, 2, ...; it is the
    # right one for the largest k whose k-th value is above it.
    levels = (np.cumsum(descending) - mass) / np.arange(1, len(descending) + 1)
    above = np.flatnonzero(descending > levels)
    level = max(levels[above[-1] if len(above) else 0], 0.0)
    excess = np.sign(values) * np.maximum(sizes - level, 0.0)
    large = excess != 0
    cut_off: RealMatrix = (left[:, large] * excess[large]) @ right[large]
    return (cut_off + cut_off.T) / 2 if symmetric else cut_off


def _decompose(matrix: RealMatrix, *, symmetric: bool) -> tuple[Any, Any, Any]:
    """Return the factors of a singular (or eigenvalue) decomposition; eigenvalues have signs."""
    if symmetric:
        values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
        return vectors, values, vectors.T
    return scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)  # type: ignore[no-any-return]


def _spectral_norm(matrix: RealMatrix, *, symmetric: bool) -> float:
    """Return the largest singular value."""
    if symmetric:
        values = scipy.linalg.eigvalsh(matrix, check_finite=False)
        return float(max(abs(values[0]), abs(values[-1])))
    return float(scipy.linalg.svdvals(matrix, check_finite=False)[0])


spectral = partial(close_gap, Spectral)
