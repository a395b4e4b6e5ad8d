"""What all measurements of a private graph have in common."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.laws import NoiseLaw


class Measurement(ABC):
    """Noisy numbers that were measured of a private graph, with their law and their cost. Public.

    Each number is a count on a grid plus noise of a known law. Most count a linear map of the
    weights of pairs: the total, degrees, sums between groups (`CountMeasurement`), the weight of
    every pair (`NoisyMatrix`), or of those above a threshold (`KeptEdges`). Others, whose counts
    are `NonlinearCounts`, have a sensitivity proof and no linear map.

    Attributes:
        name: as receipts name it.
    """

    name: str

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """The law of the noise of one number, in the units of its values."""

    @abstractmethod
    def cost(self, *, delta: float = 0.0) -> Cost:
        """Return what all of it cost together, from the scales of its noise.

        Args:
            delta: for which a cost in rho is stated; noise that states its own does not need it.
        """

    @abstractmethod
    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return plain values for receipts, and arrays."""

    @property
    def epsilon(self) -> Fraction:
        """What it cost, exactly, for neighbours that differ in one pair.

        Raises:
            ParameterError: the noise has no pure cost, as Gaussian noise; see `cost`.
        """
        pure = self.pure_cost
        if pure is None:
            raise ParameterError(f"{self.noise_name} noise has no pure cost")
        return pure

    @property
    @abstractmethod
    def pure_cost(self) -> Fraction | None:
        """Exact epsilon of a pure cost, or None if the noise has none."""

    @property
    @abstractmethod
    def noise_name(self) -> str:
        """Name of the distribution of the noise."""


class PairMeasurement(Measurement):
    """Noisy weights of pairs, each with noise of one distribution, which states its own cost."""

    @property
    @abstractmethod
    def pair_noise(self) -> NoiseDistribution:
        """The noise of one pair; neighbours differ in one of the weights."""

    def cost(self, *, delta: float = 0.0) -> Cost:
        """See `Measurement.cost`: that of the noise of one pair."""
        del delta  # the noise of a pair states its own
        return self.pair_noise.cost

    @property
    def pure_cost(self) -> Fraction | None:
        """See `Measurement.pure_cost`."""
        return self.pair_noise.cost.pure

    @property
    def noise_name(self) -> str:
        """See `Measurement.noise_name`."""
        return self.pair_noise.name

    @property
    def unit(self) -> float:
        """What a step of the grid stands for, as a weight."""
        return self.pair_noise.unit

    @property
    def law(self) -> NoiseLaw:
        """See `Measurement.law`."""
        return self.pair_noise.law
