"""The table of fits, what `fit=` of a release can name, and the fit in the spectral norm."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, final

import numpy as np
import scipy

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import check, chosen, option
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import (
    FitMethod,
    FitProblem,
    GapSearch,
    close_gap,
    degree_matched_start,
)
from graphcuts_dp.synth.cutting_plane import ORACLES, cutting_plane, query_game
from graphcuts_dp.synth.first_order import first_order
from graphcuts_dp.synth.maximum_entropy import maximum_entropy


class Spectral(GapSearch):
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
    """

    method = "spectral"
    objective = "spectral norm"
    tolerance = 0.03
    most_rounds: ClassVar = {math.inf: 60}  # of a full decomposition each
    one_thread = False

    def __init__(self, problem: FitProblem, deadline: Deadline = NEVER) -> None:
        super().__init__(problem, deadline)
        z = problem.noisy
        self.x = degree_matched_start(problem)
        self.u = np.zeros_like(z)
        # The cut-off mass at the solution is of the order of all singular values together.
        self.mass = 0.1 * min(z.shape) * math.sqrt(max(z.shape)) * float(z.std())

    def round(self) -> None:
        """The three steps above, and the bound."""
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


spectral = partial(close_gap, Spectral)

FITS: Mapping[str, FitMethod] = {
    "maximum-entropy": FitMethod(maximum_entropy, uses_degrees=True, needs_cap=True),
    "first-order": FitMethod(first_order),
    "cutting-plane": FitMethod(cutting_plane),
    "game": FitMethod(query_game),
    "spectral": FitMethod(spectral),
}
FIT_NAMES = ("auto", *FITS, "none")
_ORACLE = next(iter(ORACLES))


@final
@dataclass(frozen=True)
class FitOptions:
    """How a synthetic graph is fitted to what was measured; a string names it, too.

    For example "cutting-plane:oracle=spectral,time-limit=60".

    Attributes:
        fit: "maximum-entropy" (right for all kinds of cuts), "first-order" (least worst cut error
            against the noisy matrix; worse between communities), "cutting-plane" (the same as a
            linear program, to about 150 vertices), "game" (likewise, as the game of DR14 section
            5.3.3; a reference), "spectral" (least spectral norm, as GRU12 section 6.2; a
            reference), "none" (only the noisy matrix), or "auto": maximum-entropy where weights
            have a public bound, else first-order. Or a function of your own, see `FitMethod`.
        oracle: separation oracle of the cutting-plane fit, "cut-norm" or "spectral".
        time_limit: seconds for everything after the noise: the fit, certificates, mixtures; None
            for no limit. When they are over the best point so far is taken, with the shortest
            proof. Not bounded: reading the graph, drawing the noise, one step of the fit (with its
            spectrum, if any), a rounding to weights 0 and 1, the shortest certificates. With it the
            release is as private; its bound on mixtures may be missed, and then the summary of the
            fit says that it was stopped by time.

    Raises:
        ParameterError: an option out of range, or options that do not fit together.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> fit = gc.FitOptions("cutting-plane", oracle="spectral", time_limit=5.0)
        >>> release = gc.release_graph(club, epsilon=4.0, fit=fit)
    """

    fit: str | FitMethod = option(
        "auto", help="How the graph is fitted.", choices=FIT_NAMES, parse=str
    )
    oracle: str = option(
        "cut-norm", help="How the cutting-plane fit finds violated cuts.", choices=tuple(ORACLES)
    )
    time_limit: float | None = option(
        None,
        help="Time limit of the fit and of certificates; the shortest form of both is always run.",
        unit="seconds",
        above=0,
    )

    def __post_init__(self) -> None:
        check(self)
        if not isinstance(self.fit, str | FitMethod):
            raise ParameterError("fit is a name, or an object as `FitMethod` describes it")
        if self.oracle != _ORACLE and self.fit not in ("auto", "cutting-plane"):
            raise ParameterError("an oracle can be chosen for fit='cutting-plane' only")

    @classmethod
    def of(cls, fit: str | FitMethod) -> Self:
        """The fit that a string names, or an object of one's own with the other defaults.

        Raises:
            ParameterError: an unknown name, or options that do not fit together.
        """
        return chosen(fit, FIT_OPTIONS, "fit") if isinstance(fit, str) else cls(fit)

    def method(self, max_weight: float | None) -> FitMethod | None:
        """What fits a graph of this public largest weight; None for "none".

        Raises:
            ParameterError: a fit that does not suit the graph's schema.
        """
        fit = self.fit
        if fit == "none":
            return None
        if fit == "auto":
            fit = "first-order" if max_weight is None else "maximum-entropy"
            fit = fit if self.oracle == _ORACLE else "cutting-plane"
        method = FITS[fit] if isinstance(fit, str) else fit
        if method.needs_cap and max_weight is None:
            name = f"fit {fit!r}" if isinstance(fit, str) else "this fit"
            raise ParameterError(
                f"{name} needs a public largest weight: give max_weight, or choose "
                "fit='first-order'"
            )
        if fit == "cutting-plane":
            method = replace(method, run=partial(cutting_plane, oracle=self.oracle))
        return method


# What `fit=` can name.
FIT_OPTIONS: Mapping[str, Callable[..., FitOptions]] = {
    name: partial(FitOptions, fit=name) for name in FIT_NAMES
}
