"""What a mechanism for the answers of all vertices is, and those that add noise to counts.

Noisy counts on a tree of parts of the map.

The map is cut in parts of near vertices, these in parts, and so on down to single vertices: on a
path, intervals. Every part gets a noisy count of the people in it; n, which is public, and the
counts of the parts above correct those below; and the answer of a vertex v is the average of
d(v, x) over the counts at the vertices: the map's own distances, so no embedding distorts anything.
Noise in a part of small diameter moves mass over short ways only, so it matters little and gets
little of the budget: on a path the standard deviation of the answers is O(diameter/(n epsilon)),
without a logarithm of V.

Source: HR12 section 3 for the problem; Hay, Rastogi, Miklau, Suciu, *Boosting the Accuracy of
Differentially Private Histograms Through Consistency*, 2010, for counts on a tree; the budgets of
the levels follow from the distances.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, Unpack, final

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.shapes import RootedTree
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.level_noise import LevelBudget, LevelNoise, Spread, split_budget
from graphcuts_dp.privacy.noise import EntropySource


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
    def build(cls, metric: Metric, people: int, **budget: Unpack[LevelBudget]) -> "PerQuery":
        """Choose grid and scale. Reads public things only.

        Raises:
            ParameterError: epsilon or delta out of range.
        """
        step = 2.0 ** (math.floor(math.log2(metric.diameter)) - _GRID_BITS)
        # Two searches on a tree round differently: one step more covers that.
        most = (np.floor(metric.eccentricities / step) + 1).astype(np.int64).tolist()
        changes = sum(most), sum(value**2 for value in most)
        spread = Spread(np.array([[1.0]]), np.array([[1.0]]), len(metric)).scaled(step / people)
        return cls(
            metric=metric,
            people=people,
            step=step,
            changes=changes,
            noise=split_budget(spread, [changes], **budget),
            spread=spread,
            delta=budget["delta"],
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


_SMALL = 8  # parts of so few vertices keep the order they have


@final
@dataclass(frozen=True, eq=False)
class Level:
    """All parts of one depth: together they hold every vertex once.

    Attributes:
        start: first place of each part in the order, ascending; it ends where the next begins.
        parent: number of the part of the level above that it lies in, ascending.
        siblings: how many parts each part of the level above is cut into, at least 1.
    """

    start: IntVector
    parent: IntVector
    siblings: IntVector


@final
@dataclass(frozen=True, eq=False)
class Parts:
    """Nested parts of the vertices; the last level has one vertex in each.

    Attributes:
        order: rows in an order in which every part is an interval, shape (V,).
        fanout: the most parts that a part is cut into.
        levels: from the first cut of the whole map down.
    """

    order: IntVector
    fanout: int
    levels: tuple[Level, ...]


def nested_parts(order: IntVector, fanout: int) -> Parts:
    """Cut an order of the vertices in `fanout` parts, which are cut in `fanout`, and so on.

    Args:
        order: of the rows, such that near vertices are in the same halves of halves.
        fanout: a power of two from 2 on; from V on there is a single level, of vertices.
    """
    size = len(order)
    bounds, levels = np.array([0, size]), []
    while len(bounds) <= size:
        finer = bounds
        for _ in range(fanout.bit_length() - 1):
            finer = np.union1d(finer, (finer[:-1] + finer[1:] + 1) // 2)
        parent = np.searchsorted(bounds, finer[:-1], side="right") - 1
        levels.append(Level(start=finer[:-1], parent=parent, siblings=np.bincount(parent)))
        bounds = finer
    return Parts(order=order, fanout=min(fanout, size), levels=tuple(levels))


def halving_order(metric: Metric) -> IntVector:
    """An order of the vertices whose halves, halves of halves, ... are near each other. Public.

    A part is cut at the median of d(a, x) - d(b, x), a and b being two far ends of it, with
    distances inside the part; paths come in their order. Any order would be as private; it is the
    error that depends on it. O(V log^2 V) or so.
    """
    size = len(metric)
    points = metric.l1_coordinates
    if points is not None and points.shape[1] == 1:
        return np.argsort(points[:, 0], kind="stable")
    order = np.arange(size)
    waiting = [(0, size)]
    while waiting:
        start, end = waiting.pop()
        if end - start <= _SMALL:
            continue
        rows = order[start:end]
        order[start:end] = rows[_along(metric.lengths[rows][:, rows])]
        middle = (start + end + 1) // 2
        waiting += [(start, middle), (middle, end)]
    return order


def _along(lengths: sp.csr_array) -> IntVector:
    """The vertices of a part sorted from one far end to the other, component by component."""
    _, component = csgraph.connected_components(lengths, directed=False)
    first = _reach(lengths, 0)
    a = int(np.argmax(first))
    from_a = _reach(lengths, a)
    b = int(np.argmax(from_a))
    from_b = _reach(lengths, b)
    return np.lexsort((from_a, from_a - from_b, component != component[0], component))


def _reach(lengths: sp.csr_array, row: int) -> FloatVector:
    """Distances from a vertex; -1 to what cannot be reached."""
    found = np.asarray(csgraph.dijkstra(lengths, directed=False, indices=row))
    return np.where(np.isfinite(found), found, -1.0)


_FANOUTS = (4, 8, 16, 32, 64)


_EXACT_VERTICES = 8192  # on larger trees, one bound stands for the errors of all vertices


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class TreeCounts(NoisySums):
    """Noisy numbers of people in all parts of all levels of a public tree of parts.

    Guarantee: epsilon-DP, or rho-zCDP, for a change of one person's location. A person who moves
    leaves one part of a level and comes into another, or stays in the same: two counts of the level
    change by 1 each, or none. Moves between parts of the first level change two counts on every
    level, so epsilon = sum of 2 rate_j and rho = sum of 1/variance_j, exactly.

    Attributes:
        name: "tree-counts", or "histogram" when the only parts are the vertices.
        metric: the public map.
        people: n, public.
        parts: of the map.
        noise: with a parameter for each level.
        spread: what it does to the answers.
        delta: for which a zCDP cost is stated.
    """

    name: str
    metric: Metric
    people: int
    parts: Parts
    noise: LevelNoise
    spread: Spread
    delta: float

    @classmethod
    def build(cls, metric: Metric, people: int, **budget: Unpack[LevelBudget]) -> "TreeCounts":
        """Choose the parts and the scales with the least largest deviation, from public things.

        Raises:
            ParameterError: epsilon or delta out of range.
        """
        found = [
            cls._built("tree-counts", metric, people, parts, spread, budget)
            for parts, spread in _candidates(metric)[:-1]
        ]
        return min(found, key=lambda made: made.noise.deviations(made.spread).max())

    @classmethod
    def build_histogram(
        cls, metric: Metric, people: int, **budget: Unpack[LevelBudget]
    ) -> "TreeCounts":
        """Counts at the vertices alone: noise on each, and one shift so that they add up to n.

        Raises:
            ParameterError: epsilon or delta out of range.
        """
        parts, spread = _candidates(metric)[-1]
        return cls._built("histogram", metric, people, parts, spread, budget)

    @classmethod
    def _built(
        cls,
        name: str,
        metric: Metric,
        people: int,
        parts: Parts,
        spread: Spread,
        budget: LevelBudget,
    ) -> "TreeCounts":
        scaled = spread.scaled(1 / people)
        return cls(
            name=name,
            metric=metric,
            people=people,
            parts=parts,
            noise=split_budget(scaled, _changes(parts), **budget),
            spread=scaled,
            delta=budget["delta"],
        )

    @property
    def cost(self) -> Cost:
        """What all answers cost together; see the class."""
        return self.noise.cost(delta=self.delta, changes=_changes(self.parts))

    def noisy_counts(self, locations: Locations, source: EntropySource) -> list[IntVector]:
        """Fresh noise on the counts of all parts, by level: all that is ever read of the data."""
        return [
            exact + self.noise.draw(level, len(exact), source)
            for level, exact in enumerate(part_counts(self.parts, locations.counts))
        ]

    def answers(self, locations: Locations, source: EntropySource) -> FloatVector:
        """See `NoisySums.answers`."""
        released = self.noisy_counts(locations, source)
        counts = consistent_counts(self.parts, self.people, released)
        return self.metric.weighted_sums(counts) / self.people


@lru_cache(maxsize=1)  # a plan and its run, and both distributions of noise, need the same ones
def _candidates(metric: Metric) -> tuple[tuple[Parts, Spread], ...]:
    """Trees of all fan-outs with their spreads, and last the histogram. Public things only."""
    order = halving_order(metric)
    fanouts = [fanout for fanout in _FANOUTS if fanout < len(metric)] or [2]
    trees = [nested_parts(order, f) for f in (*fanouts, 1 << len(metric).bit_length())]
    return tuple(zip(trees, part_spreads(metric, trees), strict=True))


def _changes(parts: Parts) -> list[tuple[int, int]]:
    return [(2, 2)] * len(parts.levels)


def part_counts(parts: Parts, counts: IntVector) -> list[IntVector]:
    """The number of people in each part, by level. Private."""
    held = counts[parts.order]
    return [np.add.reduceat(held, level.start) for level in parts.levels]


def consistent_counts(
    parts: Parts, people: int, released: Sequence[IntVector | FloatVector]
) -> FloatVector:
    """Estimates of the numbers of people at the vertices from the counts of the parts.

    From the top down, what the parts of a part lack to its own count is shared evenly by them.
    Linear, and exact without noise.

    Args:
        parts: of the map.
        people: n.
        released: a count for each part, by level.

    Returns:
        Shape (V,), adding up to n.
    """
    held = np.array([float(people)])
    for level, noisy in zip(parts.levels, released, strict=True):
        lacking = (held - np.bincount(level.parent, weights=noisy)) / level.siblings
        held = noisy + lacking[level.parent]
    counts = np.empty_like(held)
    counts[parts.order] = held
    return counts


def part_spreads(metric: Metric, trees: Sequence[Parts]) -> list[Spread]:
    """The coefficients of the counts in n times the answers, for trees of parts of one order.

    A unit of noise on a part's count adds 1 to the part, spread evenly over its parts further down,
    and takes 1 from all its siblings together, itself included. So its coefficient in the answer of
    v is the mean of d(v, x) over the part minus that over the part above, in those weights.
    """
    size = len(metric)
    if metric.tree is not None and size > _EXACT_VERTICES:
        return [_bounded_spread(metric.tree, parts) for parts in trees]
    tables = [(np.zeros((size, len(p.levels))), np.zeros((size, len(p.levels)))) for p in trees]
    for rows, distances in metric.blocks():
        ordered = distances.T[trees[0].order]
        for parts, (squares, largest) in zip(trees, tables, strict=True):
            squares[rows], largest[rows] = _block_spread(ordered, parts)
    return [Spread(squares, largest, size) for squares, largest in tables]


def _block_spread(means: FloatMatrix, parts: Parts) -> tuple[FloatMatrix, FloatMatrix]:
    """Sums of squares and largest coefficients of k answers.

    Args:
        means: distances from the places of the order to the k vertices, shape (V, k).
        parts: of the map.

    Returns:
        Two tables, shape (k, levels).
    """
    shape = means.shape[1], len(parts.levels)
    squares, largest = np.zeros(shape), np.zeros(shape)
    for j in reversed(range(len(parts.levels))):
        siblings = parts.levels[j].siblings
        sums, highest, lowest = _over_siblings(means, siblings)
        above = sums / siblings[:, None]
        # Squares about the means, rounded up; the extreme siblings are the farthest from them.
        total = np.einsum("ij,ij->j", means, means)
        around = total - np.einsum("ij,ij->j", above, sums)
        squares[:, j] = np.maximum(around, 0) + 1e-13 * total
        largest[:, j] = np.maximum(highest - above, above - lowest).max(axis=0)
        means = above
    return squares, largest


def _over_siblings(
    values: FloatMatrix, siblings: IntVector
) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
    """Sums, maxima and minima over the rows of each run of so many; `reduceat` is much slower."""
    first = np.cumsum(siblings) - siblings
    if len(siblings) < siblings.max():
        runs = np.split(values, first[1:])
        tables = [np.array([f(run, axis=0) for run in runs]) for f in (np.sum, np.max, np.min)]
        return tables[0], tables[1], tables[2]
    sums = values[first]
    highest, lowest = sums.copy(), sums.copy()
    for i in range(1, int(siblings.max())):
        more = siblings > i
        if more.all():
            row = values[first + i]
            sums += row
        else:
            row = values[first + np.minimum(i, siblings - 1)]
            sums[more] += row[more]
        np.maximum(highest, row, out=highest)
        np.minimum(lowest, row, out=lowest)
    return sums, highest, lowest


def _bounded_spread(tree: RootedTree, parts: Parts) -> Spread:
    """Bounds for all vertices of a tree at once, in O(V log^2 V).

    By the triangle inequality a coefficient is at most the mean distance of its part to any vertex
    u, plus that of the part above: u is the vertex in the middle of the part above.
    """
    size = len(tree.order)
    weights = [np.ones(size)]  # of the vertices in their part of each level, from the last one up
    for level in parts.levels[:0:-1]:
        share = 1 / level.siblings[level.parent]
        weights.append(weights[-1] * np.repeat(share, np.diff(np.append(level.start, size))))
    squares, largest = [], []
    for level, weight in zip(parts.levels, reversed(weights), strict=True):
        first = np.cumsum(level.siblings) - level.siblings
        ends = np.append(level.start[first], size)
        centre = np.repeat(parts.order[(ends[:-1] + ends[1:]) // 2], np.diff(ends))
        far = weight * tree.distances_between(parts.order, centre)
        mean = np.add.reduceat(far, level.start)
        above_mean = np.add.reduceat(mean, first) / level.siblings
        bounds = (mean + above_mean[level.parent]) * (1 + 1e-9)
        bounds[level.siblings[level.parent] == 1] = 0  # alone: the count above replaces it
        squares.append(float((bounds**2).sum()))
        largest.append(float(bounds.max()))
    return Spread(np.array([squares]), np.array([largest]), size)
