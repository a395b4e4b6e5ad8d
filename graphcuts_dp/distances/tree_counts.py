"""Distance answers from noisy counts on a tree of halves of the map.

On a path, a binary tree over intervals of vertices; on any map, nested halves of near vertices.
Each part that is halved has one number: people in its first half minus people in its second. The
whole has n, which is public. So the counts of all parts follow, down to single vertices, and the
answer of a vertex v is the average of d(v, x) over them: the map's own distances, so no embedding
distorts anything. Noise in a part of small diameter moves mass over short ways only, so it matters
little and gets little of the budget: on a path the largest error is O(diameter/(n epsilon)),
without a logarithm of V in the standard deviation.

Source: HR12 section 3 for the problem; Xiao, Wang, Gehrke, *Differential Privacy via Wavelet
Transforms*, 2010, for Haar coefficients; the budgets of the levels follow from the distances.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.distances.level_noise import Law, LevelNoise, Spread, split_budget
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import FloatMatrix, FloatVector, IntVector, Metric
from graphcuts_dp.distances.parts import Level, Parts, halve
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource

_EXACT_VERTICES = 8192  # on larger trees, one bound stands for the errors of all vertices


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class TreeCounts:
    """Noisy differences of halves, on all levels of a public tree of parts.

    Guarantee: epsilon-DP, or rho-zCDP, for a change of one person's location. Let x move to y, and
    let their parts differ below level k. Then at level k one difference changes by 2; further down
    two differences of a level change by 1 each, on the sides of x and of y, or fewer where a side
    has come to a single vertex; above, none changes. So the differences of a level change by at
    most 2 in sum: epsilon = sum of 2 rate_j. In squares they change by 4 at level k and by 2 below:
    rho = 2/v_k + sum over j > k of 1/v_j, which is largest for k = 0 if every v_k >= v_0/2, and
    `build` sees to that.

    Attributes:
        metric: the public map.
        people: n, public.
        parts: of the map.
        noise: with a parameter for each level.
        spread: what it does to the answers.
        delta: for which a zCDP cost is stated.
    """

    metric: Metric
    people: int
    parts: Parts
    noise: LevelNoise
    spread: Spread
    delta: float
    name: str = "tree-counts"
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
    ) -> "TreeCounts":
        """Choose the parts and the scales. Reads public things only.

        Raises:
            ParameterError: epsilon or delta out of range.
        """
        parts = halve(metric)
        spread = part_spread(metric, parts).scaled(1 / people)
        noise = split_budget(spread, changes(parts), law=law, epsilon=epsilon, delta=delta)
        if law == "gaussian":
            least = noise.parameters[0] / 2
            noise = LevelNoise(law, tuple(max(least, variance) for variance in noise.parameters))
        return cls(
            metric=metric, people=people, parts=parts, noise=noise, spread=spread, delta=delta
        )

    @property
    def cost(self) -> Cost:
        """See the class."""
        return self.noise.cost(delta=self.delta, changes=changes(self.parts))

    def answers(self, locations: Locations, source: EntropySource) -> FloatVector:
        """See `DistanceMechanism.answers`; the differences are the only things read."""
        released = [
            exact + self.noise.draw(level, len(exact), source)
            for level, exact in enumerate(differences(self.parts, locations.counts))
        ]
        counts = counts_from(self.parts, self.people, released)
        return self.metric.weighted_sums(counts) / self.people


def changes(parts: Parts) -> list[tuple[int, int]]:
    """By how much a level's differences change between neighbours, in sum and in sum of squares.

    For a move between the two halves of the whole map; see `TreeCounts`.
    """
    return [(2, 4 if level == 0 else 2) for level in range(len(parts.levels))]


def differences(parts: Parts, counts: IntVector) -> list[IntVector]:
    """First half minus second half, for each part that is halved, by level. Private."""
    held = np.concatenate([[0], np.cumsum(counts[parts.order])])
    return [2 * held[level.middle] - held[level.start] - held[level.end] for level in parts.levels]


def counts_from(parts: Parts, people: int, released: list[IntVector]) -> FloatVector:
    """Estimates of the numbers of people at the vertices, shape (V,); exact without noise."""
    held = np.zeros(len(parts.order))
    held[0] = people
    for level, difference in zip(parts.levels, released, strict=True):
        whole = held[level.start]
        held[level.start] = (whole + difference) / 2
        held[level.middle] = (whole - difference) / 2
    counts = np.empty_like(held)
    counts[parts.order] = held
    return counts


def part_spread(metric: Metric, parts: Parts) -> Spread:
    """Coefficients of the differences in n times the answers.

    A unit of noise in a part's difference adds 1/2 to its first half and takes 1/2 from the second,
    spread evenly over halves further down. So its coefficient in the answer of v is half the
    difference of the means of d(v, x) over the two halves, in those weights.
    """
    if metric.tree is not None and len(metric) > _EXACT_VERTICES:
        return _bounded_spread(metric, parts)
    shape = len(metric), len(parts.levels)
    squares, largest = np.zeros(shape), np.zeros(shape)
    for rows, distances in metric.blocks():
        squares[rows], largest[rows] = _block_spread(distances[:, parts.order], parts)
    return Spread(squares, largest, len(metric))


def _block_spread(means: FloatMatrix, parts: Parts) -> tuple[FloatMatrix, FloatMatrix]:
    """Sums of squares and largest coefficients; `means` starts as distances, and is used up."""
    shape = len(means), len(parts.levels)
    squares, largest = np.zeros(shape), np.zeros(shape)
    for j in reversed(range(len(parts.levels))):
        level = parts.levels[j]
        first, second = means[:, level.start], means[:, level.middle]
        half_gap = np.abs(first - second) / 2
        squares[:, j], largest[:, j] = (half_gap**2).sum(axis=1), half_gap.max(axis=1)
        means[:, level.start] = (first + second) / 2
    return squares, largest


def _bounded_spread(metric: Metric, parts: Parts) -> Spread:
    """Bounds for all vertices of a tree at once, in O(V log^2 V).

    By the triangle inequality no coefficient is above half the sum of the two halves' mean
    distances to any one vertex u of the part: here the first of the second half. At the ends of a
    path that is what the coefficients are.
    """
    depth = np.zeros(len(metric))  # how often a place was halved
    for level in parts.levels:
        depth[_places(level)] += 1
    squares, largest = [], []
    for j, level in enumerate(parts.levels):
        places, size = _places(level), level.end - level.start
        centre = np.repeat(parts.order[level.middle], size)
        distances = metric.distances_between(parts.order[places], centre)
        heavy = distances * np.exp2(j - depth[places])
        bounds = np.add.reduceat(heavy, np.cumsum(size) - size) * (1 + 1e-9)
        squares.append(float((bounds**2).sum()))
        largest.append(float(bounds.max()))
    return Spread(np.array([squares]), np.array([largest]), len(metric))


def _places(level: Level) -> IntVector:
    """All places of the parts of a level, part by part."""
    size = level.end - level.start
    offset = np.repeat(level.start - (np.cumsum(size) - size), size)
    return np.asarray(np.arange(int(size.sum())) + offset)
