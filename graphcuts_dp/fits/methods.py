"""The table of fits: what `fit=` of a release can name."""

from collections.abc import Callable, Mapping
from typing import Literal

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.fits.base import FitMethod
from graphcuts_dp.fits.cutting_plane import CuttingPlane
from graphcuts_dp.fits.first_order import FirstOrder
from graphcuts_dp.fits.game import QueryGame
from graphcuts_dp.fits.maximum_entropy import MaximumEntropy
from graphcuts_dp.fits.spectral import Spectral

Oracle = Literal["cut-norm", "spectral"]
ORACLES: tuple[Oracle, ...] = ("cut-norm", "spectral")

# Each makes a fit from an oracle, which most do not have, and a time limit in seconds or None.
FITS: Mapping[str, Callable[[Oracle, float | None], FitMethod]] = {
    "maximum-entropy": lambda _, limit: MaximumEntropy(time_limit=limit),
    "first-order": lambda _, limit: FirstOrder(time_limit=limit),
    "cutting-plane": lambda oracle, limit: CuttingPlane(oracle=oracle, time_limit=limit),
    "game": lambda _, limit: QueryGame(time_limit=limit),
    "spectral": lambda _, limit: Spectral(time_limit=limit),
}
FIT_NAMES = ("auto", *FITS, "none")


def fit_method(
    fit: str | FitMethod,
    *,
    weight_cap: float | None,
    oracle: str = "cut-norm",
    time_limit: float | None = None,
) -> FitMethod | None:
    """The fit of a name, of "auto", or a given one; None for "none".

    Args:
        fit: one of `FIT_NAMES`, or an object that satisfies `FitMethod`.
        weight_cap: public largest weight of the graph, or None.
        oracle: one of `ORACLES`, for "cutting-plane".
        time_limit: seconds, or None; an object has its own.

    Raises:
        ParameterError: an option out of range, or a fit that does not suit the graph's schema.
    """
    chosen = next((name for name in ORACLES if name == oracle), None)
    if chosen is None:
        raise ParameterError(f"unknown oracle {oracle!r}; choose one of {', '.join(ORACLES)}")
    if time_limit is not None and not time_limit > 0:
        raise ParameterError("time_limit must be a positive number of seconds")
    if isinstance(fit, str):
        if fit not in FIT_NAMES:
            raise ParameterError(f"unknown fit {fit!r}; choose one of {', '.join(FIT_NAMES)}")
        if fit == "auto":
            fit = "first-order" if weight_cap is None else "maximum-entropy"
            fit = fit if chosen == "cut-norm" else "cutting-plane"
        if fit != "cutting-plane" and chosen != "cut-norm":
            raise ParameterError("an oracle can be chosen for fit='cutting-plane' only")
        method = None if fit == "none" else FITS[fit](chosen, time_limit)
    elif callable(fit):
        if time_limit is not None or chosen != "cut-norm":
            raise ParameterError("an object given as fit has its own oracle and time_limit")
        method = fit
    else:
        raise ParameterError("fit is a name, or an object as `FitMethod` describes it")
    if method is not None and method.needs_cap and weight_cap is None:
        name = f"fit {fit!r}" if isinstance(fit, str) else "this fit"
        raise ParameterError(
            f"{name} needs a public largest weight: give weight_cap, or choose fit='first-order'"
        )
    return method
