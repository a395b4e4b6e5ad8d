"""The table of noises for matrix entries, and the grid on which sums of weights are counted.

`NOISES` has what `noise=` of a release can name; `noise_distribution` returns the distribution of a
name. A *grid unit* is the weight that a released integer of 1 stands for. The *maximum weight* of a
pair is public; it is also called its *cap*.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noise_builders import (
    binary_noise,
    discrete_laplace_noise,
    laplace_grid,
    noise_of_package,
    staircase_noise,
)
from graphcuts_dp.plug_ins import PlugInTable
from graphcuts_dp.privacy.distributions import BinaryResponse, LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.guarantee import exact_epsilon

# Each builder takes epsilon and the maximum weight, or None.
_OUR_NOISES: Mapping[str, Callable[[Fraction, float | None], NoiseDistribution]] = {
    "binary": binary_noise,
    "laplace": laplace_grid,
    "discrete-laplace": discrete_laplace_noise,
    "staircase": staircase_noise,
}
NOISES = PlugInTable("graphcuts_dp.noises", "noise", _OUR_NOISES, noise_of_package, private=True)
# In grid units. A sum of 2^31 such entries is at most 2^62, so that 64 bits hold it and its noise.
LARGEST_ENTRY = 2**31
_LEAST_MAX_WEIGHT = 1e-300  # below this, floats lose digits of a grid unit
_LARGEST_SCALE = 2**44  # maximum weight over epsilon: 64-bit integers hold such noise and its sums
# The default noise is staircase where its deviation is at most this times that of Laplace noise.
_WORTH_CHANGING = 0.9


def noise_distribution(
    name: str, *, epsilon: float | Fraction, max_weight: float | None = None
) -> NoiseDistribution:
    """Return the distribution of a name.

    Args:
        name: one of `NOISES`.
        epsilon: privacy parameter, in [1e-6, 50].
        max_weight: public largest weight; None if neighbours differ by at most 1 in the weight of
            one pair.

    Raises:
        ParameterError: if the name is unknown, epsilon is out of range, the maximum weight is not
            positive and finite or not one that this noise can have, or the noise would be too large
            for 64 bits.
    """
    exact = exact_epsilon(epsilon)
    if max_weight is not None and not (
        math.isfinite(max_weight) and max_weight > _LEAST_MAX_WEIGHT
    ):
        raise ParameterError("max_weight must be a positive, finite number above 1e-300")
    if (max_weight or 1.0) / exact > _LARGEST_SCALE:
        raise ParameterError(
            "the maximum weight is too large for this epsilon; rescale the weights"
        )
    return _cached_distribution(name, exact, max_weight)


@lru_cache(maxsize=64)
def _cached_distribution(
    name: str, epsilon: Fraction, max_weight: float | None
) -> NoiseDistribution:
    """Return the distribution of a name; cached, since distributions keep radii they computed."""
    if name not in NOISES:
        raise ParameterError(f"unknown noise {name!r}; choose one of {', '.join(NOISES)}")
    return NOISES[name](epsilon, max_weight)


def best_capped_noise(epsilon: float | Fraction, max_weight: float) -> str:
    """Return the name of the better noise for weights with a maximum, from public numbers alone.

    It is "staircase" where its standard deviation is lower than that of "laplace" by a tenth or
    more, which begins at epsilon = 2.25 for any maximum weight; else "laplace".

    Args:
        epsilon: of the entries, in [1e-6, 50].
        max_weight: public largest weight.

    Raises:
        ParameterError: as for `noise_distribution`.
    """
    laplace, staircase = (
        noise_distribution(name, epsilon=epsilon, max_weight=max_weight).standard_deviation
        for name in ("laplace", "staircase")
    )
    return "staircase" if staircase <= _WORTH_CHANGING * laplace else "laplace"


def sums_grid(distribution: NoiseDistribution, *, without_maximum: bool = False) -> LaplaceNoise:
    """Return the grid to which weights are rounded down before they are added up.

    The grid is given as Laplace noise on it, since that is what sums have. Its epsilon is that of
    the entries; callers take only the `unit`, the maximum weight, and the `sensitivity_steps`
    (maximum weight in grid units, rounded up), and scale the noise of the sums by themselves.

    Args:
        distribution: of the entries of the same release.
        without_maximum: whether weights may have no maximum.

    Raises:
        ParameterError: if weights have no maximum, or one so large that sums could overflow.
    """
    max_weight = distribution.max_weight
    if max_weight is None and not without_maximum:
        raise ParameterError(
            "sums of weights have no bounded sensitivity without a public maximum weight: give "
            "max_weight, or choose mechanism='randomized-response'"
        )
    if isinstance(distribution, LaplaceNoise):
        grid = distribution
    elif isinstance(distribution, BinaryResponse):
        grid = LaplaceNoise(distribution.epsilon, max_weight)
    else:
        grid = laplace_grid(distribution.epsilon, max_weight)
    if max_weight is not None and grid.sensitivity_steps > LARGEST_ENTRY:
        raise ParameterError(
            "the maximum weight is too large for sums of weights: rescale the weights, or choose "
            "mechanism='randomized-response'"
        )
    return grid
