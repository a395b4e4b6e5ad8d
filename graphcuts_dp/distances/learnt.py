"""HR12's learner as a mechanism for the answers of all vertices, beside the others of a plan.

Any metric into l1: distances to random sets of query points.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Unpack, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.distances.base import Answered
from graphcuts_dp.distances.coordinate import Profile, start_coordinate, step_coordinate
from graphcuts_dp.distances.coordinate_tuning import CoordinateTuning
from graphcuts_dp.distances.decomposable import DecomposableHypothesis
from graphcuts_dp.distances.embeddings import (
    STEPS,
    L1Embedding,
    check_entries,
    exact_embedding,
    grid_unit,
    measured,
    on_grid,
)
from graphcuts_dp.distances.l1_plan import L1Answer, L1Plan, L1Terms
from graphcuts_dp.distances.learner import PiecewiseLinear
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.shapes import NormedPoints
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
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


def projection_embedding(
    positions: npt.ArrayLike, *, dimensions: int, public_seed: int, p: float = 2.0
) -> L1Embedding:
    """Points whose l1 distances are nearly the l_p distances of given positions, 1 < p <= 2.

    Each coordinate is a sum of the positions' coordinates with independent symmetric p-stable
    weights: of a difference v it is distributed as |v|_p times one such variable Z, so that the
    average of absolute values tends to |v|_p E|Z|, which is finite for p > 1. For p = 2 these are
    Gaussian weights; below 2 they have heavy tails, so that more dimensions are needed, and no
    number of them is promised beforehand.

    Scaled so that the largest expansion of a pair is 1; then the contraction is at most
    (1 + a)/(1 - a) with probability 1 - failure, for p = 2 and (pi/a^2) ln(V^2/failure) dimensions.
    It is measured: all pairs are public. The directions are public coins that protect nothing,
    hence a seed; so the embedding is oblivious to the people, and also to the queries.

    Args:
        positions: public, of the vertices, finite and not all the same, shape (V, coordinates).
        dimensions: of the l1 space, >= 1.
        public_seed: of the directions.
        p: of the norm, in (1, 2].

    Raises:
        ParameterError: arguments out of range, or an unlucky seed with too few dimensions.

    Source: HR12, Lemma 9, Theorem 10 and the remark after it (Johnson, Schechtman 1982).
    """
    given = np.asarray(positions, dtype=np.float64)
    if given.ndim != 2 or not np.isfinite(given).all() or not np.ptp(given, axis=0).any():
        raise ParameterError("positions are finite, shape (V, coordinates), and not all the same")
    if dimensions < 1:
        raise ParameterError("a projection has at least one dimension")
    if not 1 < p <= 2:
        raise ParameterError(f"projections are for norms with 1 < p <= 2, not {p}")
    check_entries(len(given), dimensions)
    shape = given.shape[1], dimensions
    projected = given @ stable_variables(p, shape, np.random.default_rng(public_seed)) / dimensions
    rows = np.arange(len(given))
    true = NormedPoints(given, p).distances(rows)
    unit = float(np.ptp(projected, axis=0).max()) / STEPS
    raw = measured(on_grid(projected, unit), unit, true, rows)
    # The largest ratio of any pair, also where it is below 1, becomes 1.
    largest = max(
        float((raw.distances_from(row)[apart] / true[row][apart]).max())
        for row in rows.tolist()
        if (apart := true[row] > 0).any()
    )
    return measured(raw.points, unit / largest, true, rows)


def stable_variables(
    p: float, shape: tuple[int, ...], source: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Symmetric p-stable variables, with characteristic function e^(-|t|^p): public coins.

    Args:
        p: in (1, 2].
        shape: of the result.
        source: of the coins.

    Source: Chambers, Mallows, Stuck 1976.
    """
    if p == 2:
        return math.sqrt(2) * source.standard_normal(shape)
    angle = math.pi * (source.random(shape) - 0.5)
    wait = source.standard_exponential(shape)
    cosine = np.cos(angle)
    bent = np.cos((1 - p) * angle) / wait
    return np.asarray(np.sin(p * angle) / cosine ** (1 / p) * bent ** ((1 - p) / p))


@final
@dataclass(frozen=True)
class DistanceRelease:
    """A hypothesis that answers all vertices. Public.

    Attributes:
        plan: that it was made by.
        hypothesis: sums of distances in steps, for each coordinate.
        guaranteed: whether no coordinate ran out of tangents, which has probability 1 - beta.
        seed: of the noise, or None.
    """

    plan: L1Plan
    hypothesis: DecomposableHypothesis
    guaranteed: bool
    seed: int | None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What it promises to the people."""
        return self.plan.guarantee(self.seed)

    def answer(self, row: int) -> L1Answer:
        """About the vertex of one row of the map.

        Raises:
            QueryError: a row that may not be asked about.
        """
        self.plan.embedding.check(row)
        low, high = self.ranges
        return self.plan.answer(
            self.hypothesis,
            row,
            guaranteed=self.guaranteed,
            seed=self.seed,
            interval=(float(low[row]), float(high[row])),
        )

    @cached_property
    def ranges(self) -> tuple[FloatVector, FloatVector]:
        """Intervals of the average distances of all vertices, shape (V,) each."""
        rows = np.arange(len(self.plan.embedding.points))
        return self.plan.ranges(self.hypothesis, rows, guaranteed=self.guaranteed)

    def values(self) -> FloatVector:
        """Estimates for all vertices, shape (V,), promised for query vertices only."""
        points, people = self.plan.embedding.points, self.plan.people
        widths = np.array(self.plan.embedding.widths)
        total = np.zeros(len(points))
        for j, part in enumerate(self.hypothesis.parts):
            most = people * np.maximum(points[:, j], widths[j] - points[:, j])
            total += np.minimum(part.at(points[:, j]), most)
        scale = self.plan.embedding.unit / people
        return np.asarray(np.minimum(total * scale, self.plan.embedding.reach))


def release_distances(plan: L1Plan, locations: Locations, source: EntropySource) -> DistanceRelease:
    """Learn every coordinate at every position that a vertex has.

    HR12 asks on a grid of l/alpha points, and moves on between them since both the function and
    its hypothesis are 1-Lipschitz; queries are vertices here, so their positions are all there is.

    Guarantee: `plan.cost`, for moving any one person.

    Args:
        plan: with `queries` None.
        locations: private.
        source: of noise.

    Raises:
        ParameterError: a plan for a number of queries, or for other locations.

    Source: HR12, Theorem 2.
    """
    if plan.queries is not None:
        raise ParameterError("an offline release answers all vertices: plan with queries=None")
    profiles = plan.profiles(locations)
    found = [
        _learn(tuning, profile, np.unique(plan.embedding.points[:, j]), source)
        for j, (tuning, profile) in enumerate(zip(plan.tunings, profiles, strict=True))
    ]
    return DistanceRelease(
        plan=plan,
        hypothesis=DecomposableHypothesis(tuple(part for part, _ in found)),
        guaranteed=all(kept for _, kept in found),
        seed=source.seed,
    )


def _learn(
    tuning: CoordinateTuning, profile: Profile, positions: IntVector, source: EntropySource
) -> tuple[PiecewiseLinear, bool]:
    state = start_coordinate(tuning, source)
    for at in positions.tolist():
        state = step_coordinate(tuning, state, profile, at, source)
    return state.hypothesis, state.secret is not None
