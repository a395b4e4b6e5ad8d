"""What a mechanism for the answers of all vertices is."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise, Spread


@final
@dataclass(frozen=True, eq=False)
class Answered:
    """Estimates for all vertices, and how far off they are at most. Public.

    Attributes:
        values: in the units of the map's lengths, shape (V,).
        radii: half widths of intervals that hold at once with the confidence that was asked for,
            shape (V,).
    """

    values: FloatVector
    radii: FloatVector


class DistanceMechanism(Protocol):
    """Answers the distance queries of all vertices at once. It is made from public things."""

    @property
    def name(self) -> str:
        """The name under which users ask for it."""

    @property
    def noise_parameters(self) -> tuple[Fraction, ...]:
        """Rates or variances of its noise, exactly."""

    @property
    def typical(self) -> float | None:
        """The largest standard deviation of an answer; None where no formula tells it."""

    @property
    def cost(self) -> Cost:
        """What one call of `answered` spends, for a change of one person's location."""

    def radii(self, *, confidence: float) -> FloatVector:
        """How far off the answers are at most, beforehand: all at once with this probability.

        Shape (V,), or (1,) for one bound on all. In the units of the lengths; proven.
        """

    def answered(
        self, locations: Locations, source: EntropySource, *, confidence: float
    ) -> Answered:
        """The only place that reads the locations."""


class NoisySums:
    """What mechanisms share whose answers are a public linear map of noisy counts.

    Attributes:
        noise: the noise they draw.
        spread: what that noise does to the answers, in the units of the map's lengths.
        rounding: the most by which answers are off besides noise, likewise.
    """

    noise: LevelNoise
    spread: Spread

    @property
    def rounding(self) -> float:
        """See the class."""
        return 0.0

    @property
    def noise_parameters(self) -> tuple[Fraction, ...]:
        """See `DistanceMechanism`."""
        return self.noise.parameters

    @property
    def typical(self) -> float | None:
        """See `DistanceMechanism`."""
        return float(self.noise.deviations(self.spread).max())

    def radii(self, *, confidence: float) -> FloatVector:
        """See `DistanceMechanism`."""
        return self.noise.radii(self.spread, failure=1 - confidence) + self.rounding

    def answered(
        self, locations: Locations, source: EntropySource, *, confidence: float
    ) -> Answered:
        """See `DistanceMechanism`."""
        values = self.answers(locations, source)
        return Answered(values, np.broadcast_to(self.radii(confidence=confidence), values.shape))

    def answers(self, locations: Locations, source: EntropySource) -> FloatVector:
        """Estimates for all vertices, shape (V,); the only place that reads the locations."""
        raise NotImplementedError
