"""Noise on one answer that is bought outright, with its tail and its price.

The table of noises: what `noise=` of a release can name.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, final

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.distributions import BinaryResponse, LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.noise import sample_discrete_gaussian, sample_discrete_laplace
from graphcuts_dp.privacy.tails import discrete_gaussian_radius, discrete_laplace_radius

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


@final
@dataclass(frozen=True)
class ValueNoise:
    """Two-sided integer noise added to a count of grid steps.

    Guarantee for a count of sensitivity s steps: "laplace", P(k) proportional to e^(-r |k|), is
    (s r)-DP; "gaussian", P(k) proportional to e^(-k^2/(2 v)), is s^2/(2 v)-zCDP. Both exactly.

    Attributes:
        distribution: which of the two.
        parameter: r, or v in squared steps; > 0.

    Source: Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020, Theorem 4.
    """

    distribution: Literal["laplace", "gaussian"]
    parameter: Fraction

    def draw(self, source: EntropySource) -> int:
        """One sample, in steps."""
        return int(self.draw_many(1, source)[0])

    def draw_many(self, size: int, source: EntropySource) -> IntVector:
        """Independent samples, in steps, shape (size,)."""
        if self.distribution == "laplace":
            return sample_discrete_laplace(self.parameter, size, source)
        return sample_discrete_gaussian(self.parameter, size, source)

    @property
    def deviation(self) -> float:
        """A bound on the standard deviation, in steps."""
        if self.distribution == "laplace":
            return math.sqrt(2) / float(self.parameter)
        return math.sqrt(self.parameter)

    def cost(self, sensitivity: int, *, delta: float) -> Cost:
        """Of one answer whose count changes by so many steps; the class says why.

        Args:
            sensitivity: s, in steps.
            delta: for which the cost of Gaussian noise is stated, in (0, 1).
        """
        if self.distribution == "laplace":
            return Cost.of_pure(sensitivity * self.parameter)
        return Cost.of_rho(rounded_up(sensitivity**2 / (2 * self.parameter)), delta=delta)

    def radius(self, failure: float) -> int:
        """The number of steps t with P(|noise| > t) <= failure, proven."""
        if self.distribution == "laplace":
            return discrete_laplace_radius(float(self.parameter), failure=failure)
        return discrete_gaussian_radius(math.sqrt(self.parameter), failure=failure)
