"""Noise distributions for matrix entries, built from epsilon and the maximum weight.

Each function takes the exact epsilon and the public maximum weight. Without a maximum weight
(None), weights can be any size, and neighbouring graphs differ by at most 1 in the weight of one
pair; noise is then scaled for a change by 1. `noises` has the functions by name.
"""

from collections.abc import Callable
from fractions import Fraction

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.distributions import (
    BinaryResponse,
    LaplaceNoise,
    NoiseDistribution,
    fine_grid,
)
from graphcuts_dp.privacy.staircase import StaircaseNoise

# Exponent of the finest grid unit of weights without a maximum. The largest weight that can be
# read, 2^40, then has 2^62 units, which 64-bit integers hold.
_FINEST_UNBOUNDED_EXPONENT = -22


def binary_noise(epsilon: Fraction, max_weight: float | None) -> NoiseDistribution:
    """Return randomised response on bits, for graphs without weights.

    Raises:
        ParameterError: if the maximum weight is neither 1 nor None.
    """
    if max_weight not in (None, 1.0):
        raise ParameterError("binary noise is for graphs without weights: use laplace noise")
    return BinaryResponse(epsilon, 1.0)


def laplace_grid(epsilon: Fraction, max_weight: float | None) -> LaplaceNoise:
    """Return discrete Laplace noise on a grid that is fine beside its scale."""
    scale = Fraction(max_weight or 1.0) / epsilon
    exponent = fine_grid(scale)  # the grid unit is 2^exponent
    if max_weight is None:
        exponent = max(exponent, _FINEST_UNBOUNDED_EXPONENT)
    return LaplaceNoise(epsilon, max_weight, exponent)


def discrete_laplace_noise(epsilon: Fraction, max_weight: float | None) -> NoiseDistribution:
    """Return discrete Laplace noise on whole numbers.

    Raises:
        ParameterError: if the maximum weight is no whole number.
    """
    if max_weight is not None and not float(max_weight).is_integer():
        raise ParameterError(
            "discrete-laplace noise needs a whole-number maximum weight: use laplace noise"
        )
    return LaplaceNoise(epsilon, max_weight)


def staircase_noise(epsilon: Fraction, max_weight: float | None) -> NoiseDistribution:
    """Return staircase noise, whose variance is lower than that of Laplace noise for large epsilon.

    Raises:
        ParameterError: if there is no maximum weight.
    """
    if max_weight is None:
        raise ParameterError(
            "staircase noise needs a public maximum weight: give max_weight, or use laplace noise"
        )
    return StaircaseNoise.for_max_weight(epsilon, max_weight)


def noise_of_package(
    name: str, plug_in: object
) -> Callable[[Fraction, float | None], NoiseDistribution]:
    """Return the builder of a plug-in, which checks the distribution that the plug-in returns.

    Args:
        name: of the noise.
        plug_in: the object of its entry point: a function of epsilon and the maximum weight.

    Raises:
        ParameterError: the object is no function; or, from the builder, its result is no
            `NoiseDistribution` of this name.
    """
    if not callable(plug_in):
        raise ParameterError("its entry point must be a function of epsilon and the maximum weight")

    def build(epsilon: Fraction, max_weight: float | None) -> NoiseDistribution:
        distribution = plug_in(epsilon, max_weight)
        if not isinstance(distribution, NoiseDistribution) or distribution.name != name:
            raise ParameterError(
                f"the noise {name!r:.60} of an installed package must return a `NoiseDistribution` "
                "of this name; repair that package or uninstall it"
            )
        return distribution

    return build
