"""HR12's learner as a mechanism for the answers of all vertices, beside the others of a plan."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.distances.base import Answered
from graphcuts_dp.distances.bourgain import bourgain_embedding
from graphcuts_dp.distances.embeddings import L1Embedding, exact_embedding
from graphcuts_dp.distances.l1_plan import L1Plan
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.offline import release_distances
from graphcuts_dp.distances.projection import projection_embedding
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import DistributionPair

_REPETITIONS = (1, 2, 4)  # of each size of random sets: few, since coordinates are dear
_DIRECTIONS = (4, 8, 16)  # of projections
_PUBLIC_SEED = 0  # of random sets and directions, which protect nothing


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LearntDistances:
    """The offline mechanism on an l1 embedding of the map; answers are the middles of intervals.

    Guarantee: the cost of the plan's tunings, for moving any one person.

    Attributes:
        plan: what is learnt, and with which noise.

    Source: HR12, Theorems 2, 7 and 8.
    """

    plan: L1Plan
    name: str = "learner"

    @classmethod
    def build(
        cls,
        metric: Metric,
        people: int,
        *,
        distribution: DistributionPair,
        epsilon: float | Fraction,
        delta: float,
        confidence: float = 0.95,
    ) -> "LearntDistances":
        """Choose the embedding and the noise. Reads public things only.

        Paths, grids, trees and points at l_1 distances have an exact embedding. Of the embeddings
        of other maps that one is taken whose dimension promises most.

        Args:
            metric: the public map.
            people: n, public.
            distribution: "laplace" for a pure budget, "gaussian" for zCDP.
            epsilon: in [1e-6, 50].
            delta: in (0, 1) for "gaussian"; else it is not spent.
            confidence: that all intervals hold at once.

        Raises:
            ParameterError: a number out of range, or a map that is too large to embed.
        """
        return cls(
            plan=best_plan(
                embeddings_of(metric),
                people=people,
                queries=None,
                epsilon=epsilon,
                delta=delta if distribution == "gaussian" else 0.0,
                beta=1 - confidence,
            )
        )

    @property
    def noise_parameters(self) -> tuple[Fraction, ...]:
        """Rates or variances of values and counts, coordinate by coordinate."""
        pairs = ((t.value_noise, t.count_noise) for t in self.plan.tunings)
        return tuple(noise.parameter for pair in pairs for noise in pair)

    @property
    def typical(self) -> float | None:
        """None: how far off the learner is depends on where people are."""
        return None

    @property
    def cost(self) -> Cost:
        """See `L1Plan.built_cost`."""
        return self.plan.built_cost

    def radii(self, *, confidence: float) -> FloatVector:
        """See `DistanceMechanism`.

        Raises:
            ParameterError: a confidence that the noise was not tuned for.
        """
        self._check(confidence)
        return np.array([self.plan.radius])

    def answered(
        self, locations: Locations, source: EntropySource, *, confidence: float
    ) -> Answered:
        """See `DistanceMechanism`.

        Raises:
            ParameterError: a confidence that the noise was not tuned for.
        """
        self._check(confidence)
        low, high = release_distances(self.plan, locations, source).ranges
        return Answered((low + high) / 2, (high - low) / 2)

    def _check(self, confidence: float) -> None:
        if confidence > (1 - self.plan.beta) * (1 + 1e-12):
            raise ParameterError("the learner was tuned for a smaller confidence")


def best_plan(
    embeddings: Sequence[L1Embedding],
    *,
    people: int,
    queries: int | None,
    epsilon: float | Fraction,
    delta: float,
    beta: float,
) -> L1Plan:
    """The plan for the embedding that promises most: more dimensions distort less, but cost more.

    HR12 chooses the dimension where the additive error of the mechanism meets that of the
    embedding, up to constants; here both are numbers, and their sum is what is compared.

    Args:
        embeddings: of one map, at least one.
        people: as for `L1Plan`, as are the others.
        queries: likewise.
        epsilon: likewise.
        delta: likewise.
        beta: likewise.

    Raises:
        ParameterError: a number out of range.

    Source: HR12, Remark 7.1.
    """
    plans = [
        L1Plan(
            embedding=embedding,
            people=people,
            queries=queries,
            epsilon=epsilon,
            delta=delta,
            beta=beta,
        )
        for embedding in embeddings
    ]
    return min(plans, key=lambda plan: plan.radius)


def learnt_cheaply(metric: Metric, *, most_coordinates: int) -> bool:
    """Whether the learner has an exact embedding of so few coordinates that trying it costs little.

    Args:
        metric: the public map.
        most_coordinates: what counts as few.
    """
    if metric.l1_coordinates is not None:
        return True
    if metric.tree is None:
        return False
    ends = np.bincount(metric.tree.parent[1:], minlength=len(metric)) == 0
    return int(ends.sum()) <= most_coordinates


@lru_cache(maxsize=1)  # both distributions of noise, and a plan and its run, need the same ones
def embeddings_of(metric: Metric) -> tuple[L1Embedding, ...]:
    """The exact embedding of a map, or others of several dimensions.

    Of points at the distances of an l_p norm by projections, of other maps by Bourgain's sets.

    Raises:
        ParameterError: a map that is too large to embed.
    """
    if metric.l1_coordinates is not None or metric.tree is not None:
        return (exact_embedding(metric),)
    found = []
    placed = metric.positions
    for count in _REPETITIONS if placed is None else _DIRECTIONS:
        with suppress(ParameterError):  # two vertices in one point, or a table that is too large
            if placed is None:
                made = bourgain_embedding(metric, public_seed=_PUBLIC_SEED, repetitions=count)
            else:
                made = projection_embedding(
                    placed.points, dimensions=count, public_seed=_PUBLIC_SEED, p=placed.p
                )
            found.append(made)
    if not found:
        raise ParameterError("no embedding of this map was found; choose another mechanism")
    return tuple(found)
