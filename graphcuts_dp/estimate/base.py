"""The base of all measurements of a private graph.

A *measurement* is a set of noisy numbers that may be published, with the *law* of their noise and
their privacy *cost*. The kinds are `CountMeasurement` (counts, such as degrees), `NoisyMatrix`
(every pair) and `KeptEdges` (pairs above a threshold).

An estimate is (released integer - offset) * unit or (released integer) * unit; these are the
*values* of a measurement. The unit is the weight of a grid unit, or 1 where vertices or pairs are
counted.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.laws import NoiseLaw


class Measurement(ABC):
    """Noisy numbers measured on a private graph, with their law and their cost. Public.

    Each number is a count, in whole grid units, plus integer noise of a known law. Most
    measurements count a linear map of the weights of pairs: the total, degrees, sums between groups
    (`CountMeasurement`), the weight of every pair (`NoisyMatrix`), or of pairs above a threshold
    (`KeptEdges`). A `CountMeasurement` whose map is `NonlinearCounts` counts something else, and
    states the reason for its sensitivity.

    Attributes:
        name: as receipts have it.
    """

    name: str

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """Law of the noise of one number, in the units of its values (not in grid units)."""

    @abstractmethod
    def cost(self, *, delta: float = 0.0) -> Cost:
        """Return the cost of all numbers together, from the scales of their noise.

        Args:
            delta: for Gaussian noise, whose cost is a rho: the delta for which epsilon is computed
                from rho. Ignored by other noise.
        """

    @abstractmethod
    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the measurement as plain values, which receipts show, and arrays, for files."""

    @property
    def epsilon(self) -> Fraction:
        """Exact epsilon of the cost, for the neighbours for which the noise was scaled.

        Raises:
            ParameterError: if the noise has no pure cost, such as Gaussian noise; see `cost`.
        """
        pure = self.pure_cost
        if pure is None:
            raise ParameterError(f"{self.noise_name} noise has no pure cost")
        return pure

    @property
    @abstractmethod
    def pure_cost(self) -> Fraction | None:
        """Exact epsilon of the cost, or None if the noise has no pure cost."""

    @property
    @abstractmethod
    def noise_name(self) -> str:
        """Name of the distribution of the noise."""


class PairMeasurement(Measurement):
    """Noisy weights of pairs, each with independent noise of one distribution.

    Privacy: Neighbours differ in the weight of one pair, so all numbers together cost what
        the noise of one pair costs.
    """

    @property
    @abstractmethod
    def pair_noise(self) -> NoiseDistribution:
        """The noise of one pair."""

    def cost(self, *, delta: float = 0.0) -> Cost:
        """Return the cost of the noise of one pair; see `Measurement.cost`."""
        del delta  # the noise of a pair states its own
        return self.pair_noise.cost

    @property
    def pure_cost(self) -> Fraction | None:
        """Exact epsilon of the cost, or None if the noise has no pure cost."""
        return self.pair_noise.cost.pure

    @property
    def noise_name(self) -> str:
        """Name of the distribution of the noise."""
        return self.pair_noise.name

    @property
    def unit(self) -> float:
        """Weight of a grid unit: what an integer of 1 stands for."""
        return self.pair_noise.unit

    @property
    def law(self) -> NoiseLaw:
        """Law of the noise of one pair, in units of weight."""
        return self.pair_noise.law
