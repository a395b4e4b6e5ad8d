"""Fit in the spectral norm, by alternating directions.

It is kept for reproducing GRU12, section 6.2; the other fits err less on cuts. z is the noisy
matrix, and the *box* holds the matrices x with entries in [0, cap].
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import Fit, FitProblem, GapSearch, close_gap
from graphcuts_dp.synth.degree_matching import degree_matched_start

# The mass of `Spectral`, as a share of min(shape) sqrt(max(shape)) times the standard deviation of
# z's entries, which is about the sum of all singular values of noise. It converges fast with this.
_MASS_SHARE = 0.1


class Spectral(GapSearch):
    """Minimise sigma_1(x - z), the largest singular value, over the box.

    The normalised cut norm ||M||_NC = max |M(S,T)|/sqrt(|S||T|) and the spectral norm are within a
    logarithmic factor: ||M||_NC <= sigma_1(M) <= 2 H_n ||M||_NC, where H_n is about (ln n)/4 + 1
    (see `cutnorm.spectral`). So a minimiser of sigma_1 has
    |(x - A)(S,T)| <= 2 sigma_1(A - z) sqrt(|S||T|) for every S, T. That bound is small for small
    sets, yet measured errors were larger than those of the first-order fit on every kind of cut.

    It uses the alternating direction method of multipliers for: minimise sigma_1(y) subject to
    y = x - z, x in the box. With u the scaled multiplier of the equation, a round does three steps:

    1. Reduce all singular values of x - z + u that are above a level t to t. The level is such that
       they lose a given sum, the `mass`. The result is the new y.
    2. x <- project(y + z - u).
    3. u <- u + x - z - y.

    Step 1 minimises sigma_1(y) + (1/mass) ||y - (x - z + u)||^2/2 over y. Any mass gives a method
    that converges, some faster than others. What step 1 takes away, divided by the mass, is a
    matrix W of nuclear norm at most 1. The nuclear norm is dual to sigma_1, so the least
    <W, x - z> over the box is a lower bound on the minimum. Value and lower bound are right up to
    rounding (about 1e-9 of the value).

    Guarantee: with gap g as reported, sigma_1(x - A) <= (1 + 1/(1-g)) sigma_1(A - z).

    Source: GRU12 section 6.2; Nikiforov 2009 (the logarithm); Boyd et al. 2011 (the method).
    """

    method = "spectral"
    objective = "spectral norm"
    tolerance: float = 0.03
    most_rounds: ClassVar[Mapping[float, int]] = {math.inf: 60}  # each with a full decomposition
    one_thread = False  # decompositions are large
    best: float
    best_matrix: RealMatrix
    lower: float

    def __init__(self, problem: FitProblem, deadline: Deadline = NEVER) -> None:
        super().__init__(problem, deadline)
        z = problem.noisy
        self.x: RealMatrix = degree_matched_start(problem)
        self.u: RealMatrix = np.zeros_like(z)
        self.mass: float = _MASS_SHARE * min(z.shape) * math.sqrt(max(z.shape)) * float(z.std())

    def round(self) -> None:
        """Do the three steps, and compute the lower bound and the value."""
        self.rounds += 1
        problem, z = self.problem, self.problem.noisy
        unreduced = self.x - z + self.u
        excess = _excess(unreduced, self.mass, problem.symmetric)
        y = unreduced - excess
        if self.mass > 0:
            self.lower = max(self.lower, problem.dual_value(excess / self.mass))
        self.x = problem.project(y + z - self.u)
        self.u += self.x - z - y
        value = _spectral_norm(self.x - z, symmetric=problem.symmetric)
        if value < self.best:
            self.best, self.best_matrix = value, self.x


def _excess(matrix: RealMatrix, mass: float, symmetric: bool) -> RealMatrix:
    """Return what a matrix loses if all singular values above a level are reduced to the level.

    Args:
        matrix: any, symmetric if `symmetric`.
        mass: sum of what the singular values lose, >= 0, which determines the level. It is the
            nuclear norm of the result, or less if the matrix has a smaller one.
        symmetric: whether eigenvalues are computed in place of singular values.
    """
    left, values, right = _decompose(matrix, symmetric=symmetric)
    sizes = np.abs(values)
    descending = np.sort(sizes)[::-1]
    # If exactly the k largest values are reduced, they lose sum_{i <= k} (size_i - level) = mass.
    # levels[k - 1] solves this for the level. The right k is the largest one whose k-th value is
    # above its level.
    levels = (np.cumsum(descending) - mass) / np.arange(1, len(descending) + 1)
    above = np.flatnonzero(descending > levels)
    level = max(levels[above[-1] if len(above) else 0], 0.0)
    losses = np.sign(values) * np.maximum(sizes - level, 0.0)
    reduced = losses != 0
    excess: RealMatrix = (left[:, reduced] * losses[reduced]) @ right[reduced]
    return (excess + excess.T) / 2 if symmetric else excess


def _decompose(matrix: RealMatrix, *, symmetric: bool) -> tuple[Any, Any, Any]:
    """Return left, values, right with matrix = left diag(values) right.

    The values are singular values, or of a symmetric matrix eigenvalues, which have signs.
    """
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


spectral: partial[Fit] = partial(close_gap, Spectral)
