"""The table of noises: what `noise=` of a release can name."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.distributions import BinaryResponse, LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.guarantee import exact_epsilon

_GRID_BITS = 20  # the Laplace grid has 2^20 to 2^21 steps within its scale
_LARGEST_SCALE = 2**44  # of the noise, in steps: 64-bit integers hold it, and sums of it


def noise_distribution(
    name: str, *, epsilon: float | Fraction, weight_cap: float | None = None
) -> NoiseDistribution:
    """The distribution of a name: "binary", "laplace" or "discrete-laplace".

    Args:
        name: one of `NOISES`.
        epsilon: privacy parameter, in [1e-6, 50].
        weight_cap: public largest weight; None if neighbours differ by at most 1 in one weight.

    Raises:
        ParameterError: an unknown name, epsilon out of range, a cap that is not positive and
            finite, a fractional cap with discrete-laplace, or noise too large for 64 bits.
    """
    exact = exact_epsilon(epsilon)
    if weight_cap is not None and not (math.isfinite(weight_cap) and weight_cap > 0):
        raise ParameterError("weight_cap must be a positive, finite number")
    if (weight_cap or 1.0) / exact > _LARGEST_SCALE:
        raise ParameterError("the weight cap is too large for this epsilon; rescale the weights")
    return _distribution(name, exact, weight_cap)


@lru_cache(maxsize=64)  # distributions keep what they have computed of themselves
def _distribution(name: str, exact: Fraction, weight_cap: float | None) -> NoiseDistribution:
    if name not in NOISES:
        raise ParameterError(f"unknown noise {name!r}; choose one of {', '.join(NOISES)}")
    return NOISES[name](exact, weight_cap)


def _binary(epsilon: Fraction, weight_cap: float | None) -> NoiseDistribution:
    if weight_cap not in (None, 1.0):
        raise ParameterError("binary noise is for graphs without weights: use laplace noise")
    return BinaryResponse(epsilon, 1.0)


def _laplace(epsilon: Fraction, weight_cap: float | None) -> NoiseDistribution:
    scale = Fraction(weight_cap or 1.0) / epsilon
    step = math.floor(math.log2(scale)) - _GRID_BITS
    return LaplaceNoise(epsilon, weight_cap, min(step, -1))


def _discrete_laplace(epsilon: Fraction, weight_cap: float | None) -> NoiseDistribution:
    if weight_cap is not None and not float(weight_cap).is_integer():
        raise ParameterError(
            "discrete-laplace noise needs a whole-number weight cap: use laplace noise"
        )
    return LaplaceNoise(epsilon, weight_cap)


# The table of noises: what `noise=` of a release can name. Each is made from epsilon and the cap.
NOISES: Mapping[str, Callable[[Fraction, float | None], NoiseDistribution]] = {
    "binary": _binary,
    "laplace": _laplace,
    "discrete-laplace": _discrete_laplace,
}
