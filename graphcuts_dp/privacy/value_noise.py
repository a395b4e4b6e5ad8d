"""Noise on one answer that is bought outright, with its tail and its price."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_gaussian, sample_discrete_laplace
from graphcuts_dp.privacy.tails import discrete_gaussian_radius, discrete_laplace_radius


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
        """The number of steps t with P(|noise| > t) <= failure, proven.

        Args:
            failure: in (0, 1).
        """
        if self.distribution == "laplace":
            return discrete_laplace_radius(float(self.parameter), failure=failure)
        return discrete_gaussian_radius(math.sqrt(self.parameter), failure=failure)
