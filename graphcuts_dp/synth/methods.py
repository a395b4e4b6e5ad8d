"""The table of fits, and the options that choose one: what `fit=` of a release can name.

A release measures a noisy matrix: an unbiased noisy weight for every pair of vertices. A fit makes
a synthetic graph from it, whose weights are at least 0; see `synth.base`. It reads noisy data
alone, so it costs no privacy. A `FitMethod` is a function that fits (`run`), and says whether it
uses noisy degrees (`uses_degrees`) and whether weights must have a public largest value
(`needs_cap`). To add a fit, write a function as `FitMethod` describes it, and name it in `FITS`.

Terms used here: the error of a cut is its weight in the synthetic graph less that in the noisy
matrix. A separation oracle finds a cut with a large error, for the cutting-plane fit. A mixture is
a weighted mean of a fit and the first-order fit. It is made if the worst error of the fit is not
proven to be below a bound that the true graph itself keeps with high probability.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from graphcuts_dp.cutnorm.relaxation import MAX_SIZE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.options import check, chosen, option
from graphcuts_dp.plug_ins import PlugInTable
from graphcuts_dp.synth.base import FitMethod, fit_of_plug_in
from graphcuts_dp.synth.cutting_plane import cutting_plane
from graphcuts_dp.synth.first_order import first_order
from graphcuts_dp.synth.maximum_entropy import maximum_entropy
from graphcuts_dp.synth.query_game import query_game
from graphcuts_dp.synth.separation_oracles import DEFAULT_ORACLE, ORACLES
from graphcuts_dp.synth.spectral_fit import spectral

# Fits by name. "auto" chooses one of them, and "none" is no fit; see `FitOptions.method`.
_OUR_FITS: Mapping[str, FitMethod] = {
    "maximum-entropy": FitMethod(maximum_entropy, uses_degrees=True, needs_cap=True),
    "first-order": FitMethod(first_order, has_gap=True),
    "cutting-plane": FitMethod(cutting_plane, has_gap=True),
    "game": FitMethod(query_game, has_gap=True),
    "spectral": FitMethod(spectral, has_gap=True),
}
FITS = PlugInTable("graphcuts_dp.fit_methods", "fit", _OUR_FITS, fit_of_plug_in)
FIT_NAMES = ("auto", *FITS, "none")


@final
@dataclass(frozen=True)
class FitOptions:
    """Options of how a synthetic graph is fitted to what was measured.

    A string gives them too, for example "cutting-plane:oracle=spectral,time-limit=60".

    Attributes:
        fit: a name, or a `FitMethod` of your own. "maximum-entropy" is right for all kinds of cuts.
            "first-order" has the least worst cut error against the noisy matrix, and is worse
            between communities. "cutting-plane" minimises the same error by a linear program, and
            takes long above about 150 vertices. "game" minimises it by the game of DR14, section
            5.3.3, for reference. "spectral" minimises the spectral norm of the difference from the
            noisy matrix instead, as GRU12, section 6.2, for reference. "none" keeps the noisy
            matrix alone. "auto" is maximum-entropy if weights have a public maximum, else
            first-order; with an oracle that is not the default it is cutting-plane.
        oracle: separation oracle of the cutting-plane fit: "low-rank" finds cuts by the
            relaxation of Alon and Naor in a few dimensions, "sdp" by the same relaxation as a
            semidefinite program (for reference, up to about 120 vertices, minutes each), and
            "spectral" by singular vectors, for the normalised cut norm. Other fits have none, and
            refuse one that is not the default.
        tolerance: largest gap at which the fit stops: how far its value may be above the least, as
            a fraction of the value, in [0, 1]. None for 0.05, and 0.03 for "spectral".
            "maximum-entropy" has no gap and refuses it.
        time_limit: seconds for everything after the noise: the fit, certificates (proofs of its
            worst cut error), and mixtures with the first-order fit; None for no limit. When the
            time is up, the best point so far is taken, with the proof that takes the least time.
            The limit does not cover reading the graph, drawing the noise, one step of the fit (with
            its spectrum, if any), rounding weights to 0 and 1, and the shortest certificates. It
            does not change the privacy of the release. If the fit exceeds the bound that mixtures
            are for, its summary says that it was stopped by time.
        certificate: whether 1 % of epsilon measures, after the fit, how far its cuts in random
            halves are from the private graph's: see `Release.random_halves`. Of a sparse release,
            of weights without a maximum, and without a fit nothing is measured for it.

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
        DEFAULT_ORACLE, help="How the cutting-plane fit finds violated cuts.", choices=ORACLES
    )
    tolerance: float | None = option(
        None,
        help="Gap at which fits that minimise a norm stop, as a fraction of their error.",
        least=0,
        most=1,
    )
    time_limit: float | None = option(
        None,
        help="Time limit of the fit and of certificates; the shortest form of both is always run.",
        unit="seconds",
        above=0,
    )

    certificate: bool = option(
        True,
        help="Measure the root mean square error of random halves with 1 % of epsilon.",
    )

    def __post_init__(self) -> None:
        check(self)
        if not isinstance(self.fit, str | FitMethod):
            raise ParameterError("fit is a name, or an object as `FitMethod` describes it")
        if self.oracle != DEFAULT_ORACLE and self.fit not in ("auto", "cutting-plane"):
            raise ParameterError("an oracle can be chosen for fit='cutting-plane' only")
        if self.fit == "none" and self.tolerance is not None:
            raise ParameterError("tolerance is for a fit; leave it out with fit='none'")

    @classmethod
    def of(cls, fit: str | FitMethod) -> Self:
        """Return the options that a string names, or the defaults with a method of your own.

        Args:
            fit: a name of a fit, perhaps with options after a colon; or a method.

        Raises:
            ParameterError: an unknown name, or options that do not fit together.
        """
        return chosen(fit, fit_options(), "fit") if isinstance(fit, str) else cls(fit)

    def method(self, max_weight: float | None) -> FitMethod | None:
        """Return the method that fits a graph; None for "none".

        Args:
            max_weight: public maximum weight of the graph; None without one.

        Raises:
            ParameterError: a fit that does not suit the graph's schema.
        """
        fit = self.fit
        if fit == "none":
            return None
        if fit == "auto":
            if self.oracle != DEFAULT_ORACLE:
                fit = "cutting-plane"
            else:
                fit = "first-order" if max_weight is None else "maximum-entropy"
        method = FITS[fit] if isinstance(fit, str) else fit
        if method.needs_cap and max_weight is None:
            name = f"fit {fit!r}" if isinstance(fit, str) else "this fit"
            raise ParameterError(
                f"{name} needs a public largest weight: give max_weight, or choose "
                "fit='first-order'"
            )
        if fit == "cutting-plane":  # the only fit with an option of its own
            run = partial(cutting_plane, oracle=self.oracle)
            max_size = MAX_SIZE if self.oracle == "sdp" else math.inf
            method = replace(method, run=run, max_size=max_size)
        if self.tolerance is not None:
            if not method.has_gap:
                raise ParameterError(
                    "this fit has no gap and takes no tolerance: leave it out, or choose "
                    "fit='first-order'"
                )
            method = replace(method, run=partial(method.run, tolerance=self.tolerance))
        return method


def fit_options() -> Mapping[str, Callable[..., FitOptions]]:
    """Return for each name of a fit the function that makes its `FitOptions`.

    Its keyword arguments are the other options: `oracle`, `tolerance`, `time_limit` and
    `certificate`.
    """
    return {name: partial(FitOptions, fit=name) for name in FIT_NAMES}
