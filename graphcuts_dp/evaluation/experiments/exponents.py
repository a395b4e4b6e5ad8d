"""Exponents of power laws from measured points, and findings about them."""

import numpy as np
import numpy.typing as npt

from graphcuts_dp.evaluation.experiments.base import Finding


def fitted_exponent(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Slope of the least-squares line through (ln x, ln y).

    Args:
        x: positive, shape (p,), at least two different values.
        y: positive, shape (p,).
    """
    return float(np.polyfit(np.log(np.asarray(x)), np.log(np.asarray(y)), 1)[0])


def exponent_finding(
    statement: str, x: npt.ArrayLike, y: npt.ArrayLike, *, claimed: float, tolerance: float
) -> Finding:
    """The fitted exponent of y as a power of x beside the claimed one."""
    measured = fitted_exponent(x, y)
    return Finding(
        statement=statement,
        claimed=claimed,
        measured=measured,
        tolerance=tolerance,
        agrees=abs(measured - claimed) <= tolerance,
    )
