"""Noisy counts of people: answers for all vertices at once, by a tree of parts of the map.

The map is cut into parts of near vertices, these into parts, and so on down to single vertices; on
a path the parts are intervals. Every part gets a noisy count of the people in it. The public number
n, and the counts of parts above, correct the counts below. The answer of a vertex v is the average
of d(v, x) over the counts at the vertices, with the distances of the map itself, so no embedding
distorts it. Noise in a part of small diameter moves people over short distances only, so it matters
little and gets little of the budget: on a path the standard deviation of the answers is
O(diameter/(n epsilon)), without a logarithm of V.

Source: HR12 section 3 for the problem; Hay, Rastogi, Miklau, Suciu, *Boosting the Accuracy of
Differentially Private Histograms Through Consistency*, 2010, for counts on a tree; the budgets of
the levels follow from the distances.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import NamedTuple, Unpack, final

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric, RootedTree
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_distribution import Change
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import (
    LevelBudget,
    LevelNoise,
    Spread,
    split_budget,
)

_GRID_BITS = 16  # the diameter has 2^16 to 2^17 grid units
_SORTED_VERTICES = 8  # parts of at most so many vertices keep their order
_FANOUTS = (4, 8, 16, 32, 64)
_EXACT_VERTICES = 8192  # on larger trees, one bound stands for the errors of all vertices
_CHANGE_BY_MOVE = (2, 2)  # of the counts of a level: the sum, and the sum of squares


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class NoisySums:
    """Answer the distance queries of all vertices by a public linear map of noisy counts.

    Guarantee: epsilon-DP, or rho-zCDP, for a change of one person's location, which changes the
    exact counts of each level by no more than `changes`: see the functions that return it.

    Attributes:
        name: the name of the mechanism, as it is typed.
        exact: (people at the vertices) -> whole numbers by level. Private.
        estimates: (such numbers with noise) -> answers, shape (V,).
        noise: the noise, with a parameter for each level of counts.
        spread: the effect of the noise on the answers, in the units of the map's lengths.
        changes: the change of each level by a move of one person, see `LevelNoise.cost`.
        delta: the delta for which a zCDP cost is stated.
        rounding: largest error of an answer besides noise, in the units of the lengths.
    """

    name: str
    exact: Callable[[IntVector], list[IntVector]]
    estimates: Callable[[list[IntVector]], FloatVector]
    noise: LevelNoise
    spread: Spread
    changes: Sequence[Change]
    delta: float
    rounding: float = 0.0

    @property
    def noise_parameters(self) -> tuple[Fraction, ...]:
        """Rates or variances of the noise, exactly."""
        return self.noise.parameters

    @cached_property
    def typical(self) -> float:
        """The largest standard deviation of an answer."""
        return float(self.noise.deviations(self.spread).max())

    @property
    def cost(self) -> Cost:
        """Cost of all answers together, for a change of one person's location."""
        return self.noise.cost(delta=self.delta, changes=self.changes)

    @property
    def budget_plan(self) -> BudgetPlan:
        """Budget plan: the shares of the levels of counts."""
        levels = zip(self.noise.parameters, self.changes, strict=True)
        kind = self.noise.distribution
        costs = {
            f"{self.name}, level {level}": LevelNoise(kind, (parameter,)).cost(
                delta=self.delta, changes=[change]
            )
            for level, (parameter, change) in enumerate(levels)
        }
        return BudgetPlan.of_costs(costs, f"discrete {kind.capitalize()}", self.cost)

    def radii(self, *, confidence: float) -> FloatVector:
        """Return proven bounds on the errors of all answers at once, before anything is measured.

        Shape (V,), or (1,) for one bound on all errors; in the units of the lengths.
        """
        return self.noise.radii(self.spread, failure=1 - confidence) + self.rounding

    def noisy(self, locations: Locations, source: EntropySource) -> list[IntVector]:
        """Add fresh noise to the exact numbers of each level; nothing else is read of the data."""
        return [
            exact + self.noise.draw(level, len(exact), source)
            for level, exact in enumerate(self.exact(locations.counts))
        ]

    def answer_all(
        self, locations: Locations, source: EntropySource, *, confidence: float
    ) -> tuple[FloatVector, FloatVector]:
        """Return estimates of all vertices, and half widths of simultaneous intervals, (V,)."""
        values = self.estimates(self.noisy(locations, source))
        return values, np.broadcast_to(self.radii(confidence=confidence), values.shape)


class Level(NamedTuple):
    """All parts of one depth: together they hold every vertex once.

    Attributes:
        start: first index of each part in the order, ascending; a part stops where the next starts.
        parent: for each part the number of the part of the level above that holds it, ascending.
        child_counts: for each part of the level above the number of parts that it is cut into.
    """

    start: IntVector
    parent: IntVector
    child_counts: IntVector


class Parts(NamedTuple):
    """Nested parts of the vertices; the last level has one vertex in each.

    Attributes:
        order: rows in an order in which every part is an interval, shape (V,).
        levels: from the first cut of the whole map down.
    """

    order: IntVector
    levels: tuple[Level, ...]


def per_query(metric: Metric, people: int, **budget: Unpack[LevelBudget]) -> NoisySums:
    """Return the mechanism that adds noise to the sum of distances of each vertex, in grid units.

    Guarantee: the distances from v are rounded down to whole units of a public grid, each between 0
    and s_v = floor(ecc(v)/unit) + 1, where 1 covers the rounding of floats. So a person who moves
    changes the sum at v by at most s_v, and all sums together by at most `changes` in sum and in
    sum of squares. That is the cost of composing V queries of sensitivity s_v; all get the same
    noise. Estimates have half a unit added, so the error of rounding down is at most half a unit.

    Raises:
        ParameterError: epsilon or delta out of range.
    """
    unit = 2.0 ** (math.floor(math.log2(metric.diameter)) - _GRID_BITS)
    # On trees, eccentricities and distances come from different searches, whose rounding may
    # differ: + 1 covers that.
    sensitivities = (np.floor(metric.eccentricities / unit) + 1).astype(np.int64).tolist()
    changes = [(sum(sensitivities), sum(value**2 for value in sensitivities))]
    one = np.array([[1.0]])  # each answer is a single noisy sum with coefficient 1
    spread = Spread(one, one, len(metric)).scaled(unit / people)

    def exact(counts: IntVector) -> list[IntVector]:
        block_sums = [
            np.floor(distances / unit).astype(np.int64) @ counts for _, distances in metric.blocks()
        ]
        return [np.concatenate(block_sums)]

    return NoisySums(
        name="per-query",
        exact=exact,
        estimates=lambda released: np.asarray(released[0] * (unit / people) + unit / 2),
        noise=split_budget(spread, changes, **budget),
        spread=spread,
        changes=changes,
        delta=budget["delta"],
        rounding=unit / 2,
    )


def tree_counts(metric: Metric, people: int, **budget: Unpack[LevelBudget]) -> NoisySums:
    """Return noisy numbers of people in all parts of all levels of a public tree of parts.

    Of several fan-outs, that with the smallest `NoisySums.typical` is taken.

    Guarantee: a person who moves from one part of a level to another changes two counts of the
    level by 1 each; a move within a part changes none. Moves between parts of the first level
    change two counts on every level, so epsilon = sum of 2 rate_j and rho = sum of 1/variance_j,
    exactly.

    Raises:
        ParameterError: epsilon or delta out of range.
    """
    trees = _nested_parts_of(metric)[:-1]
    candidates = [_counts_of_parts("tree-counts", *tree, metric, people, budget) for tree in trees]
    return min(candidates, key=lambda sums: sums.typical)


def histogram(metric: Metric, people: int, **budget: Unpack[LevelBudget]) -> NoisySums:
    """Return noisy counts at the vertices, and one shift so that they add up to n.

    Raises:
        ParameterError: epsilon or delta out of range.
    """
    return _counts_of_parts("histogram", *_nested_parts_of(metric)[-1], metric, people, budget)


def _counts_of_parts(
    name: str, parts: Parts, spread: Spread, metric: Metric, people: int, budget: LevelBudget
) -> NoisySums:
    """Return the mechanism that counts the people of each part.

    Args:
        name: see `NoisySums`.
        parts: public parts of the map.
        spread: coefficients of the counts in n times the answers, see `part_spreads`.
        metric: the public map.
        people: n.
        budget: of all levels together.

    Raises:
        ParameterError: epsilon or delta out of range.
    """
    spread, changes = spread.scaled(1 / people), [_CHANGE_BY_MOVE] * len(parts.levels)

    def estimates(released: list[IntVector]) -> FloatVector:
        return metric.weighted_sums(consistent_counts(parts, people, released)) / people

    return NoisySums(
        name=name,
        exact=partial(part_counts, parts),
        estimates=estimates,
        noise=split_budget(spread, changes, **budget),
        spread=spread,
        changes=changes,
        delta=budget["delta"],
    )


@lru_cache(maxsize=1)  # a plan, its run and both distributions of noise need the same trees
def _nested_parts_of(metric: Metric) -> list[tuple[Parts, Spread]]:
    """Return the parts of all fan-outs with their spreads; the last is the histogram. Public."""
    order = halving_order(metric)
    fanouts = [fanout for fanout in _FANOUTS if fanout < len(metric)] or [2]
    fanouts.append(1 << len(metric).bit_length())  # above V: the histogram, of a single level
    trees = [nested_parts(order, fanout) for fanout in fanouts]
    return list(zip(trees, part_spreads(metric, trees), strict=True))


def nested_parts(order: IntVector, fanout: int) -> Parts:
    """Cut an order of the vertices into `fanout` parts, these into `fanout` parts, and so on.

    In the order of rows, near vertices are in the same halves of halves. The fan-out is a power of
    two; from V on there is a single level, of vertices.
    """
    size = len(order)
    bounds, levels = np.array([0, size]), []
    while len(bounds) <= size:
        finer = bounds
        for _ in range(fanout.bit_length() - 1):
            finer = np.union1d(finer, (finer[:-1] + finer[1:] + 1) // 2)
        parent = np.searchsorted(bounds, finer[:-1], side="right") - 1
        levels.append(Level(finer[:-1], parent, np.bincount(parent)))
        bounds = finer
    return Parts(order, tuple(levels))


def halving_order(metric: Metric) -> IntVector:
    """Return an order of the vertices whose halves, halves of halves, ... are compact. Public.

    A part is cut at the median of d(a, x) - d(b, x), where a and b are two vertices of the part
    that are far apart, and distances are inside the part; paths keep their order. Any order would
    be as private; only the error depends on it. The time is about O(V log^2 V).
    """
    size = len(metric)
    points = metric.l1_coordinates
    if points is not None and points.shape[1] == 1:
        return np.argsort(points[:, 0], kind="stable")
    order = np.arange(size)
    slices = [(0, size)]
    while slices:
        start, stop = slices.pop()
        if stop - start <= _SORTED_VERTICES:
            continue
        rows = order[start:stop]
        order[start:stop] = rows[_order_along(metric.lengths[rows][:, rows])]
        middle = (start + stop + 1) // 2
        slices += [(start, middle), (middle, stop)]
    return order


def _order_along(lengths: sp.csr_array) -> IntVector:
    """Return the vertices of a part by component, sorted from one far vertex to another."""
    _, component = csgraph.connected_components(lengths, directed=False)
    a = int(np.argmax(_distances_within(lengths, 0)))
    from_a = _distances_within(lengths, a)
    b = int(np.argmax(from_a))
    from_b = _distances_within(lengths, b)
    return np.lexsort((from_a, from_a - from_b, component))


def _distances_within(lengths: sp.csr_array, row: int) -> FloatVector:
    """Return distances from a vertex within a part; -1 for vertices that cannot be reached."""
    distances = np.asarray(csgraph.dijkstra(lengths, directed=False, indices=row))
    return np.where(np.isfinite(distances), distances, -1.0)


def part_counts(parts: Parts, counts: IntVector) -> list[IntVector]:
    """Return the number of people in each part, by level. Private."""
    sorted_counts = counts[parts.order]
    return [np.add.reduceat(sorted_counts, level.start) for level in parts.levels]


def consistent_counts(
    parts: Parts, people: int, released: Sequence[IntVector | FloatVector]
) -> FloatVector:
    """Return estimates of the numbers of people at the vertices, from the counts of the parts.

    From the top down, the difference between the estimate of a part and the sum of the noisy counts
    of its parts is shared evenly by these. The estimates are linear in the counts, exact without
    noise, and add up to n.
    """
    estimates = np.array([float(people)])
    for level, noisy in zip(parts.levels, released, strict=True):
        corrections = (estimates - np.bincount(level.parent, weights=noisy)) / level.child_counts
        estimates = noisy + corrections[level.parent]
    counts = np.empty_like(estimates)
    counts[parts.order] = estimates
    return counts


def part_spreads(metric: Metric, trees: Sequence[Parts]) -> list[Spread]:
    """Return the coefficients of counts in n times the answers, for trees of parts of one order.

    A unit of noise on a part's count adds 1 to the part, divided evenly among its parts at each
    level below, and takes 1 from all parts of the part above, itself included. So its coefficient
    in n times the answer of v is the mean of d(v, x) over the part minus that over the part above,
    with these weights.
    """
    size = len(metric)
    if metric.tree is not None and size > _EXACT_VERTICES:
        return [_bounded_spread(metric.tree, parts) for parts in trees]
    shapes = [(size, len(parts.levels)) for parts in trees]
    spreads = [Spread(np.zeros(shape), np.zeros(shape), size) for shape in shapes]
    for rows, distances in metric.blocks():
        ordered_distances = distances.T[trees[0].order]
        for parts, spread in zip(trees, spreads, strict=True):
            spread.squares[rows], spread.largest[rows] = _block_spread(ordered_distances, parts)
    return spreads


def _block_spread(distances: FloatMatrix, parts: Parts) -> tuple[FloatMatrix, FloatMatrix]:
    """Return sums of squares and largest coefficients of k answers, both of shape (k, levels).

    Args:
        distances: from the vertices, in the order of the parts, to the k vertices, shape (V, k).
        parts: nested parts of the vertices.
    """
    means = distances  # those over parts of a level, from the last level up
    squares, largest = (np.zeros((means.shape[1], len(parts.levels))) for _ in range(2))
    for j, level in reversed(list(enumerate(parts.levels))):
        size = len(level.parent)
        membership = sp.csr_array((np.ones(size), (level.parent, np.arange(size))))
        sums = membership @ means
        means_above = sums / level.child_counts[:, None]
        # Sums of squared differences from the means above, rounded up.
        total = np.einsum("ij,ij->j", means, means)
        squared_differences = total - np.einsum("ij,ij->j", means_above, sums)
        squares[:, j] = np.maximum(squared_differences, 0) + 1e-13 * total
        largest[:, j] = np.abs(means - means_above[level.parent]).max(axis=0)
        means = means_above
    return squares, largest


def _bounded_spread(tree: RootedTree, parts: Parts) -> Spread:
    """Return bounds for all vertices of a tree at once, in O(V log^2 V).

    By the triangle inequality a coefficient is at most the mean distance of its part to any vertex
    u, plus that of the part above: u is the vertex in the middle of the part above.
    """
    size = len(tree.order)
    # Weight of each vertex in its part's mean, for each level from the last one up.
    weights = [np.ones(size)]
    for level in parts.levels[:0:-1]:
        share = 1 / level.child_counts[level.parent]
        weights.append(weights[-1] * np.repeat(share, np.diff(np.append(level.start, size))))
    squares, largest = [], []
    for level, weight in zip(parts.levels, reversed(weights), strict=True):
        # For each part of the level above: the first of its parts, and where it starts.
        first_child = np.cumsum(level.child_counts) - level.child_counts
        bounds_above = np.append(level.start[first_child], size)
        middles = parts.order[(bounds_above[:-1] + bounds_above[1:]) // 2]
        centre = np.repeat(middles, np.diff(bounds_above))
        weighted = weight * tree.distances_between(parts.order, centre)
        mean = np.add.reduceat(weighted, level.start)
        mean_above = np.add.reduceat(mean, first_child) / level.child_counts
        bounds = (mean + mean_above[level.parent]) * (1 + 1e-9)
        bounds[level.child_counts[level.parent] == 1] = 0  # an only part has the count above it
        squares.append(float((bounds**2).sum()))
        largest.append(float(bounds.max()))
    return Spread(np.array([squares]), np.array([largest]), size)
