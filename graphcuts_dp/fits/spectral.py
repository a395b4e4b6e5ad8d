"""The fit in the normalised cut norm: least spectral norm over the box."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
import scipy

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.deadline import Deadline
from graphcuts_dp.fits.base import Fit, FitProblem, degree_matched_start
from graphcuts_dp.progress import Progress, silent


@final
@dataclass(frozen=True)
class Spectral:
    """Minimise sigma_1(x - z) over the box by alternating directions.

    The normalised cut norm max |M(S,T)|/sqrt(|S||T|) and the spectral norm are within a
    logarithm: ||M||_NC <= sigma_1(M) <= 2 H_n ||M||_NC (see `cutnorm.spectral`). So a minimiser
    of sigma_1 has |(x - A)(S,T)| <= 2 sigma_1(A - z) sqrt(|S||T|) for every S, T. That bound is
    small for small sets, yet measured errors were larger than those of the first-order fit on
    every kind of cut: keep this one for reproducing the paper.

    Steps, with y a copy of x - z and u the scaled multiplier:

    1. y <- the singular values of x - z + u beyond t cut down to t, where t is such that what
       is cut off sums to `1/penalty`; what is cut off, times the penalty, is a matrix W of nuclear
       norm 1.
    2. x <- project(y + z - u).
    3. u <- u + x - z - y.

    W bounds the minimum from below: min <W, x - z> over the box. Value and lower bound are
    right up to rounding (about 1e-9 of the value).

    Guarantee: with gap g as reported, sigma_1(x - A) <= (1 + 1/(1-g)) sigma_1(A - z).

    Source: GRU12 section 6.2; Nikiforov 2009 (the logarithm); Boyd et al. 2011 (the method).

    Attributes:
        tolerance: stop when the gap is at most this.
        max_steps: most steps; each is one full eigenvalue or singular value decomposition.
        time_limit: seconds after which the best point so far is returned; None for no limit.
    """

    tolerance: float = 0.03
    max_steps: int = 60
    time_limit: float | None = None
    uses_degrees: ClassVar[bool] = False  # sums of noisy entries stand for them
    needs_cap: ClassVar[bool] = False

    def __call__(self, problem: FitProblem, *, progress: Progress = silent) -> Fit:
        """Run the steps above; same input, same output, unless the time limit strikes."""
        deadline = Deadline.after(self.time_limit)
        z = problem.noisy
        x = best_x = degree_matched_start(problem)
        u = np.zeros_like(z)
        best, lower = math.inf, 0.0
        # The cut-off mass at the solution is of the order of all singular values together.
        mass = 0.1 * min(z.shape) * math.sqrt(max(z.shape)) * float(z.std())
        stopped: Literal["gap", "rounds", "time"] = "rounds"
        steps = 0
        for steps in range(1, self.max_steps + 1):
            y = x - z + u
            cut_off = _excess(y, mass, problem.symmetric)
            y -= cut_off
            if mass > 0:
                lower = max(lower, problem.dual_value(cut_off / mass))
            x = problem.project(y + z - u)
            u += x - z - y
            value = _spectral_norm(x - z, symmetric=problem.symmetric)
            if value < best:
                best, best_x = value, x
            gap = 1.0 - lower / best if best > 0 else 0.0
            progress(steps / self.max_steps, f"spectral error {best:.4g}, gap {gap:.0%}")
            if gap <= self.tolerance:
                stopped = "gap"
                break
            if deadline.passed():
                stopped = "time"
                break
        return Fit(best_x, "spectral", "spectral norm", best, lower, steps, stopped)


def _excess(matrix: RealMatrix, mass: float, symmetric: bool) -> RealMatrix:
    """What to subtract to cut the largest singular values to one level, `mass` in total."""
    left, values, right = _decompose(matrix, symmetric=symmetric)
    sizes = np.abs(values)
    order = np.sort(sizes)[::-1]
    levels = (np.cumsum(order) - mass) / np.arange(1, len(order) + 1)
    used = int(np.flatnonzero(order > levels)[-1]) if (order > levels).any() else 0
    level = max(levels[used], 0.0)
    excess = np.sign(values) * np.maximum(sizes - level, 0.0)
    large = excess != 0
    cut_off: RealMatrix = (left[:, large] * excess[large]) @ right[large]
    return (cut_off + cut_off.T) / 2 if symmetric else cut_off


def _decompose(matrix: RealMatrix, *, symmetric: bool) -> tuple[Any, Any, Any]:
    if symmetric:
        values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
        return vectors, values, vectors.T
    return scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)  # type: ignore[no-any-return]


def _spectral_norm(matrix: RealMatrix, *, symmetric: bool) -> float:
    if symmetric:
        values = scipy.linalg.eigvalsh(matrix, check_finite=False)
        return float(max(abs(values[0]), abs(values[-1])))
    return float(scipy.linalg.svdvals(matrix, check_finite=False)[0])
