"""Distance answers with noise on each of them: the baseline that every mechanism has to beat."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.distances.base import NoisySums
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import DistributionPair, LevelNoise, Spread, split_budget

_GRID_BITS = 16  # the diameter has 2^16 to 2^17 grid steps


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PerQuery(NoisySums):
    """Every answer as a query of its own: distances in whole steps, summed, plus integer noise.

    Guarantee: the distances from v are rounded down to whole steps of a public grid, each between 0
    and s_v = floor(ecc(v)/step), so a person who moves changes the sum at v by at most s_v, and all
    sums together by at most `changes` in sum and in sum of squares. That is what composing V
    queries costs, each with its exact sensitivity; noise is the same for all.

    Attributes:
        metric: the public map.
        people: n, public.
        step: of the grid, a power of two, in the units of the lengths.
        changes: see above.
        noise: with one parameter.
        spread: what it does to the answers.
        delta: for which a zCDP cost is stated.
    """

    metric: Metric
    people: int
    step: float
    changes: tuple[int, int]
    noise: LevelNoise
    spread: Spread
    delta: float
    name: str = "per-query"

    @classmethod
    def build(
        cls,
        metric: Metric,
        people: int,
        *,
        distribution: DistributionPair,
        epsilon: float | Fraction,
        delta: float,
    ) -> "PerQuery":
        """Choose grid and scale. Reads public things only.

        Raises:
            ParameterError: epsilon or delta out of range.
        """
        step = 2.0 ** (math.floor(math.log2(metric.diameter)) - _GRID_BITS)
        # Two searches on a tree round differently: one step more covers that.
        most = (np.floor(metric.eccentricities / step) + 1).astype(np.int64).tolist()
        changes = sum(most), sum(value**2 for value in most)
        spread = Spread(np.array([[1.0]]), np.array([[1.0]]), len(metric)).scaled(step / people)
        noise = split_budget(
            spread, [changes], distribution=distribution, epsilon=epsilon, delta=delta
        )
        return cls(
            metric=metric,
            people=people,
            step=step,
            changes=changes,
            noise=noise,
            spread=spread,
            delta=delta,
        )

    @property
    def rounding(self) -> float:
        """Half a step: distances are rounded down, and half a step is added."""
        return self.step / 2

    @property
    def cost(self) -> Cost:
        """What all answers cost together; see the class."""
        return self.noise.cost(delta=self.delta, changes=[self.changes])

    def answers(self, locations: Locations, source: EntropySource) -> FloatVector:
        """See `NoisySums.answers`."""
        sums = np.zeros(len(self.metric), dtype=np.int64)
        for rows, distances in self.metric.blocks():
            sums[rows] = np.floor(distances / self.step).astype(np.int64) @ locations.counts
        released = sums + self.noise.draw(0, len(sums), source)
        return np.asarray(released * (self.step / self.people) + self.step / 2, dtype=np.float64)
