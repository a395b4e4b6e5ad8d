"""Distance answers from one noisy count of people at each vertex."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.distances.level_noise import Law, LevelNoise, Spread, split_budget
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import FloatVector, Metric
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource

_CHANGES = [(2, 2)]  # two counts change by 1 each
_EXACT_VERTICES = 8192  # on larger trees, one bound stands for the errors of all vertices


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Histogram:
    """Noise on the number of people at each vertex, all made to add up to n by the same shift.

    Guarantee: a person who moves changes two counts by 1 each, so epsilon = 2 rate, or
    rho = 1/variance.

    Attributes:
        metric: the public map.
        people: n, public.
        noise: with one parameter.
        spread: what it does to the answers.
        delta: for which a zCDP cost is stated.
    """

    metric: Metric
    people: int
    noise: LevelNoise
    spread: Spread
    delta: float
    name: str = "histogram"
    rounding: float = 0.0

    @classmethod
    def build(
        cls,
        metric: Metric,
        people: int,
        *,
        law: Law,
        epsilon: float | Fraction,
        delta: float,
    ) -> "Histogram":
        """Choose the scale. Reads public things only.

        Raises:
            ParameterError: epsilon or delta out of range.
        """
        spread = _spread(metric).scaled(1 / people)
        noise = split_budget(spread, _CHANGES, law=law, epsilon=epsilon, delta=delta)
        return cls(metric=metric, people=people, noise=noise, spread=spread, delta=delta)

    @property
    def cost(self) -> Cost:
        """See the class."""
        return self.noise.cost(delta=self.delta, changes=_CHANGES)

    def answers(self, locations: Locations, source: EntropySource) -> FloatVector:
        """See `DistanceMechanism.answers`."""
        size = len(self.metric)
        released = locations.counts + self.noise.draw(0, size, source)
        counts = released + (self.people - int(released.sum())) / size
        return self.metric.weighted_sums(counts) / self.people


def _spread(metric: Metric) -> Spread:
    """The coefficient of the count at x in n times the answer of v is d(v, x) - mean of d(v, .)."""
    size = len(metric)
    if metric.tree is not None and size > _EXACT_VERTICES:
        # A deviation of at most diameter/2, and no coefficient above the diameter.
        bound = np.array([[size * metric.diameter**2 / 4]])
        return Spread(bound, np.array([[metric.diameter]]), size)
    squares, largest = np.zeros((size, 1)), np.zeros((size, 1))
    for rows, distances in metric.blocks():
        centred = distances - distances.mean(axis=1, keepdims=True)
        squares[rows, 0] = (centred**2).sum(axis=1)
        largest[rows, 0] = np.abs(centred).max(axis=1)
    return Spread(squares, largest, size)
