"""HR12's learner as a mechanism for the answers of all vertices, beside the others of a plan.

Any metric into l1: distances to random sets of query points.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Unpack, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.distances.base import Answered
from graphcuts_dp.distances.embeddings import (
    L1Embedding,
    check_entries,
    exact_embedding,
    grid_unit,
    measured,
    on_grid,
)
from graphcuts_dp.distances.l1_plan import L1Plan, L1Terms
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.offline import release_distances
from graphcuts_dp.distances.projection import projection_embedding
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import DistributionPair


def bourgain_levels(queries: int) -> int:
    """Sizes of random sets: ceil(log2 k) + 1, from all k query points down to about one.

    Figure 3 prints log k. With k = 2 that leaves the set of all query points only, from which all
    of them have distance 0: the contraction is infinite. The proof needs a level with
    2^(level - 1) >= k, whose radius is at least d(x, y)/2: there its sum reaches d(x, y)/2.

    Source: HR12, Figure 3.
    """
    return math.ceil(math.log2(queries)) + 1 if queries > 1 else 1


def bourgain_repetitions(queries: int, points: int) -> int:
    """K = 512 (log2 k + log2 n): so many sets of each size. n is the number of points to embed.

    Source: HR12, Figure 3.
    """
    return math.ceil(512 * (math.log2(queries) + math.log2(points)))


def bourgain_embedding(
    metric: Metric,
    queries: npt.ArrayLike | None = None,
    *,
    public_seed: int,
    repetitions: int | None = None,
) -> L1Embedding:
    """Distances to random sets of query points, over their number: the 1-sensitive embedding.

    Coordinate (i, j) of x is d(x, S_ij)/(K levels); S_ij has each query point with probability
    2^-(i-1). By the triangle inequality no distance grows, whatever the sets: the expansion is at
    most 1 with certainty, so that HR12's min(1, .) around embedded distances is never needed; it
    would also not be a sum over coordinates any more. From an empty set all distances count as 0.
    The sets are public coins, the metric and the query points are public.

    Lengths that are not whole are rounded to 2^-24 of the diameter; the distortion is measured.

    Args:
        metric: of the map.
        queries: rows of the vertices that may be asked about, shape (k,); None for all.
        public_seed: of the sets.
        repetitions: K; None for the paper's, for which Theorem 11 is proven. The contraction is
            measured, and fewer do well.

    Raises:
        ParameterError: arguments out of range, a table of more than 2^27 entries, or an unlucky
            seed with too few repetitions.

    Source: HR12, Figure 3 and Theorem 11.
    """
    rows = np.arange(len(metric)) if queries is None else np.unique(np.asarray(queries, np.int64))
    if not len(rows) or rows[0] < 0 or rows[-1] >= len(metric):
        raise ParameterError("query points are row numbers of the map, at least one")
    levels = bourgain_levels(len(rows))
    count = bourgain_repetitions(len(rows), len(metric)) if repetitions is None else repetitions
    if count < 1:
        raise ParameterError("there is at least one repetition")
    check_entries(len(metric), count * levels)
    distances = metric.distances_from(rows)
    step = grid_unit(distances, float(distances.max()) or 1.0)
    raw = _set_distances(distances, levels, count, public_seed)
    return measured(on_grid(raw, step), step / (count * levels), distances, rows)


def _set_distances(distances: FloatMatrix, levels: int, count: int, seed: int) -> FloatMatrix:
    """d(x, S_ij), shape (V, levels * count)."""
    coins = np.random.default_rng(seed)
    size = len(distances)
    result = np.zeros((distances.shape[1], levels * count))
    for level in range(levels):
        for j in range(count):
            chosen = coins.random(size) < 2.0**-level
            if chosen.any():
                result[:, level * count + j] = distances[chosen].min(axis=0)
    return result


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

    typical = None  # how far off the learner is depends on where people are

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


def best_plan(embeddings: Sequence[L1Embedding], **terms: Unpack[L1Terms]) -> L1Plan:
    """The plan for the embedding that promises most: more dimensions distort less, but cost more.

    HR12 chooses the dimension where the additive error of the mechanism meets that of the
    embedding, up to constants; here both are numbers, and their sum is what is compared.

    Raises:
        ParameterError: a number out of range.

    Source: HR12, Remark 7.1.
    """
    plans = [L1Plan(embedding=embedding, **terms) for embedding in embeddings]
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
