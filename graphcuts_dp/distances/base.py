"""What a mechanism for the answers of all vertices is."""

from typing import Protocol

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise, Spread


class DistanceMechanism(Protocol):
    """Answers the distance queries of all vertices at once. It is made from public things."""

    @property
    def name(self) -> str:
        """The name under which users ask for it."""
        ...

    @property
    def noise(self) -> LevelNoise:
        """The noise it draws."""
        ...

    @property
    def spread(self) -> Spread:
        """What that noise does to the answers, in the units of the map's lengths."""
        ...

    @property
    def rounding(self) -> float:
        """The most by which answers are off besides noise, in the units of the lengths."""
        ...

    @property
    def cost(self) -> Cost:
        """What one call of `answers` spends, for a change of one person's location."""
        ...

    def answers(self, locations: Locations, source: EntropySource) -> FloatVector:
        """Estimates for all vertices, shape (V,); the only place that reads the locations."""
        ...
