"""Embeddings of a public metric into l1, on a grid of whole numbers.

An embedding is a public table: a point for each vertex, computed from the map (and public coins)
alone. So it is 1-sensitive (HR12, Definition 6) by construction: moving a person moves that
person's point, and no other, and a database of people becomes a database of points with the same
neighbours. How much it distorts is also public: it is measured, not estimated.
"""

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.distances.metric import Metric, RootedTree, norm_distances
from graphcuts_dp.errors import ParameterError, QueryError

DIAMETER_UNITS = 2**24  # grid units in a diameter, if distances are not whole numbers
_MOST_ENTRIES = 2**27  # 1 GiB of coordinates
_REPETITIONS = (1, 2, 4)  # random sets of each size: few, since each coordinate costs budget
_DIRECTIONS = (4, 8, 16)  # numbers of projections
_PUBLIC_SEED = 0  # for random sets and directions, which are public


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class L1Embedding:
    """A point for each vertex, and bounds on the distances d of the map by those of the points.

    For all vertices x and all query vertices y, with D the l1 distance of their points times
    `unit`: D <= expansion (d(x,y) + rounding) and d(x,y) <= contraction (D + rounding).

    Attributes:
        points: whole numbers, at least 0 in each column, shape (V, l).
        unit: length of one grid unit, > 0.
        reach: bound on D between a vertex and a query vertex.
        diameter: bound on d between a vertex and a query vertex.
        expansion: see above, at least 1.
        contraction: see above, at least 1.
        rounding: bound on the change of a distance by rounding to the grid, as a length.
        queries: rows of the query vertices; None for all.

    Source: HR12, Definition 5.
    """

    points: IntMatrix
    unit: float
    reach: float
    diameter: float
    expansion: float = 1.0
    contraction: float = 1.0
    rounding: float = 0.0
    queries: frozenset[int] | None = None

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The largest change of each coordinate by moving a person, at least 1."""
        return tuple(max(1, int(width)) for width in self.points.max(axis=0))

    def check(self, row: int) -> None:
        """Refuse a vertex that may not be asked about.

        Raises:
            QueryError: no row of the map, or no query vertex of the embedding.
        """
        if not 0 <= row < len(self.points):
            raise QueryError(f"the map has rows 0 to {len(self.points) - 1}")
        if self.queries is not None and row not in self.queries:
            raise QueryError("not one of the query vertices that the embedding was made for")

    def distances_from(self, row: int) -> FloatVector:
        """Return distances between one vertex and all, shape (V,)."""
        return np.asarray(np.abs(self.points - self.points[row]).sum(axis=1) * self.unit)


@lru_cache(maxsize=1)  # both distributions of noise, and a plan and its run, need the same ones
def embeddings_of(metric: Metric) -> tuple[L1Embedding, ...]:
    """Return the exact embedding of a map if there is one, else embeddings of several dimensions.

    Points at the distances of an l_p norm are embedded by projections, other maps by Bourgain's
    sets.

    Raises:
        ParameterError: a map that is too large to embed.
    """
    if metric.l1_coordinates is not None or metric.tree is not None:
        return (exact_embedding(metric),)
    embeddings = []
    positions = metric.positions
    for count in _REPETITIONS if positions is None else _DIRECTIONS:
        with suppress(ParameterError):  # two vertices in one point, or a table that is too large
            if positions is None:
                embedding = bourgain_embedding(metric, public_seed=_PUBLIC_SEED, repetitions=count)
            else:
                embedding = projection_embedding(
                    positions, dimensions=count, public_seed=_PUBLIC_SEED, p=metric.p
                )
            embeddings.append(embedding)
    if not embeddings:
        raise ParameterError("no embedding of this map was found; choose another mechanism")
    return tuple(embeddings)


def has_small_exact_embedding(metric: Metric, *, most_coordinates: int) -> bool:
    """Return whether a map embeds exactly, into at most so many coordinates if it is a tree."""
    if metric.l1_coordinates is not None:
        return True
    if metric.tree is None:
        return False
    leaves = len(metric) - len(np.unique(metric.tree.parent[1:]))  # see `tree_points`
    return leaves <= most_coordinates


def exact_embedding(metric: Metric) -> L1Embedding:
    """Return the embedding of a path, a grid or a tree, without distortion.

    Paths, grids and points at l_1 distances have coordinates; those of a tree are positions on
    edge-disjoint paths, see `tree_points`. Whole lengths stay exact; others are rounded to 2^-24 of
    the diameter. Rounding a coordinate changes a distance by at most a unit. `rounding` counts all
    coordinates, also those that are left out of the table since they are 0 everywhere once rounded.

    Raises:
        ParameterError: another map.
    """
    if metric.l1_coordinates is not None:
        points = metric.l1_coordinates
    elif metric.tree is not None:
        points = tree_points(metric.tree)
    else:
        raise ParameterError(
            "only paths, grids and trees embed into l1 exactly here; use bourgain_embedding"
        )
    unit = grid_unit(points, metric.diameter)
    is_exact = bool((np.rint(points / unit) * unit == points).all())
    coordinate_count = int(np.count_nonzero(np.ptp(points, axis=0)))
    rounding = 0.0 if is_exact else coordinate_count * unit * (1 + 1e-6)
    return L1Embedding(
        points=on_grid(points, unit),
        unit=unit,
        reach=metric.diameter + rounding,
        diameter=metric.diameter,
        rounding=rounding,
    )


def tree_points(tree: RootedTree) -> FloatMatrix:
    """Return points whose l1 distances are those of a tree: one coordinate for each leaf.

    The edges are split into downward paths, each from a vertex's parent along farthest children to
    a leaf. A coordinate is the position of the vertex's nearest point on one of these paths:
    the way between two vertices runs on each path from one of these positions to the other. With a
    coordinate for each edge, its length below it and 0 elsewhere, the distances would be the same,
    but the budget would be cut into more shares.

    Returns:
        Shape (V, paths).

    Raises:
        ParameterError: more than 2^27 coordinates in all.
    """
    size = len(tree.parent)
    # Height of the tree below each vertex, and the child by which it is reached; -1 for leaves.
    height, farthest = np.zeros(size), np.full(size, -1)
    for v in reversed(tree.order[1:].tolist()):
        parent, height_by_v = tree.parent[v], height[v] + tree.length[v]
        if farthest[parent] < 0 or height_by_v > height[parent]:
            height[parent], farthest[parent] = height_by_v, v
    # The path that the edge to its parent lies on, for each vertex, and its position on this path.
    path, position = np.zeros(size, dtype=np.int64), np.zeros(size)
    path_count = 0
    root = int(tree.order[0])
    for v in tree.order[1:].tolist():
        parent = int(tree.parent[v])
        if farthest[parent] == v and parent != root:
            path[v], position[v] = path[parent], position[parent] + tree.length[v]
        else:
            path[v], position[v] = path_count, tree.length[v]
            path_count += 1
    _check_entries(size, path_count)
    points = np.zeros((size, max(path_count, 1)))
    for v in tree.order[1:].tolist():
        points[v] = points[tree.parent[v]]
        points[v, path[v]] = position[v]
    return points


def bourgain_embedding(
    metric: Metric,
    queries: npt.ArrayLike | None = None,
    *,
    public_seed: int,
    repetitions: int | None = None,
) -> L1Embedding:
    """Return the embedding by distances to random sets of query points: 1-sensitive coordinates.

    Coordinate (i, j) of x is d(x, S_ij)/(K L), with j = 1..K and i = 1..L, the levels; S_ij has
    each query point with probability 2^-(i-1). By the triangle inequality no distance grows,
    whatever the sets: the expansion is at most 1 with certainty, so that HR12's min(1, .) around
    embedded distances is never needed; it would also not be a sum over coordinates any more. From
    an empty set all distances count as 0. The sets are public coins, the metric and the query
    points are public.

    Lengths that are not whole are rounded to 2^-24 of the diameter; the distortion is measured.

    Args:
        metric: the metric of the map.
        queries: rows of the vertices that may be asked about, shape (k,); None for all.
        public_seed: seed of the random sets.
        repetitions: K; None for the paper's, for which Theorem 11 is proven. The contraction is
            measured, and fewer do well.

    Raises:
        ParameterError: a table of more than 2^27 entries, or an unlucky seed with too few
            repetitions.

    Source: HR12, Figure 3 and Theorem 11.
    """
    rows = np.arange(len(metric)) if queries is None else np.unique(np.asarray(queries, np.int64))
    levels = bourgain_levels(len(rows))
    if repetitions is None:
        repetitions = bourgain_repetitions(len(rows), len(metric))
    set_count = repetitions * levels
    _check_entries(len(metric), set_count)
    distances = metric.distances_from(rows)
    unit = grid_unit(distances, float(distances.max()) or 1.0)
    coins = np.random.default_rng(public_seed)
    to_sets = np.zeros((len(metric), set_count))
    for column in range(set_count):
        is_in_set = coins.random(len(rows)) < 2.0 ** -(column // repetitions)
        if is_in_set.any():
            to_sets[:, column] = distances[is_in_set].min(axis=0)
    return _with_distortion(on_grid(to_sets, unit), unit / set_count, distances, rows)


def bourgain_levels(queries: int) -> int:
    """Return the number of sizes of random sets: ceil(log2 k) + 1, from k points down to about one.

    Figure 3 prints log k. With k = 2 that leaves the set of all query points only, from which all
    of them have distance 0: the contraction is infinite. The proof needs a level with
    2^(level - 1) >= k, whose radius is at least d(x, y)/2: there its sum reaches d(x, y)/2.

    Source: HR12, Figure 3.
    """
    return math.ceil(math.log2(queries)) + 1 if queries > 1 else 1


def bourgain_repetitions(queries: int, points: int) -> int:
    """Return K = 512 (log2 k + log2 n), the number of sets of each size, for n points to embed.

    Source: HR12, Figure 3.
    """
    return math.ceil(512 * (math.log2(queries) + math.log2(points)))


def projection_embedding(
    positions: npt.ArrayLike, *, dimensions: int, public_seed: int, p: float = 2.0
) -> L1Embedding:
    """Return points whose l1 distances are nearly l_p distances of given positions, 1 < p <= 2.

    Each coordinate is a sum of the positions' coordinates with independent symmetric p-stable
    weights: of a difference v it is distributed as |v|_p times one such variable Z, so that the
    average of absolute values tends to |v|_p E|Z|, which is finite for p > 1. For p = 2 these are
    Gaussian weights; below 2 they have heavy tails, so that more dimensions are needed, and no
    number of them is guaranteed beforehand.

    The unit is chosen so that the largest ratio of an embedded distance to that of the map is 1.
    Then the contraction is at most (1 + a)/(1 - a) with probability 1 - failure, for p = 2 and
    (pi/a^2) ln(V^2/failure) dimensions. It is measured: all pairs are public. The directions are
    public coins, hence a seed; so the embedding depends neither on the people nor on the queries.

    Raises:
        ParameterError: too large a table, or an unlucky seed with too few dimensions.

    Source: HR12, Lemma 9, Theorem 10 and the remark after it (Johnson, Schechtman 1982).
    """
    points = np.asarray(positions, dtype=np.float64)
    _check_entries(len(points), dimensions)
    shape = points.shape[1], dimensions
    projected = points @ stable_variables(p, shape, np.random.default_rng(public_seed)) / dimensions
    rows = np.arange(len(points))
    unit = float(np.ptp(projected, axis=0).max()) / DIAMETER_UNITS
    table, distances = on_grid(projected, unit), norm_distances(points, p, rows)
    largest = float(_ratios(_embedded_distances(table, unit, rows), distances).max())
    return _with_distortion(table, unit / largest, distances, rows)


def stable_variables(
    p: float, shape: tuple[int, ...], source: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Draw symmetric p-stable variables, 1 < p <= 2, with characteristic function e^(-|t|^p).

    Source: Chambers, Mallows, Stuck 1976.
    """
    if p == 2:
        return math.sqrt(2) * source.standard_normal(shape)
    angle = math.pi * (source.random(shape) - 0.5)
    exponential = source.standard_exponential(shape)
    ratio = np.cos((1 - p) * angle) / exponential
    return np.asarray(np.sin(p * angle) / np.cos(angle) ** (1 / p) * ratio ** ((1 - p) / p))


def _with_distortion(
    points: IntMatrix, unit: float, distances: FloatMatrix, queries: IntVector
) -> L1Embedding:
    """Return an embedding with its exact distortion: over all vertices and these k query vertices.

    Args:
        points: shape (V, l).
        unit: length of a grid unit.
        distances: of the map, between query vertices and all, shape (k, V).
        queries: row numbers, shape (k,).

    Raises:
        ParameterError: see `_ratios`.
    """
    embedded = _embedded_distances(points, unit, queries)
    ratios = np.append(_ratios(embedded, distances), 1.0)
    slack = 1 + 1e-12  # rounding of floats
    return L1Embedding(
        points=points,
        unit=unit,
        reach=float(embedded.max()) * slack,
        diameter=float(distances.max()) * slack,
        expansion=float(ratios.max()) * slack,
        contraction=slack / float(ratios.min()),
        queries=None if len(queries) == len(points) else frozenset(queries.tolist()),
    )


def _embedded_distances(points: IntMatrix, unit: float, queries: IntVector) -> FloatMatrix:
    """Return l1 distances between the points of query vertices and of all, shape (k, V)."""
    return np.asarray(cdist(points[queries], points, "cityblock") * unit)


def _ratios(embedded: FloatMatrix, distances: FloatMatrix) -> FloatVector:
    """Return embedded distances over those of the map, for all pairs at a distance.

    Raises:
        ParameterError: two vertices at a distance have the same point, so that the contraction is
            infinite; draw again, or take more dimensions.
    """
    is_positive = distances > 0
    if not (embedded[is_positive] > 0).all():
        raise ParameterError(
            "the embedding maps two vertices to one point; take more dimensions or another seed"
        )
    return np.asarray(embedded[is_positive] / distances[is_positive])


def grid_unit(lengths: npt.NDArray[np.float64], diameter: float) -> float:
    """Return the length of a grid unit: 1 if all lengths are whole, else 2^-24 of the diameter.

    Diameters of 2^40 and more are divided, too: whole numbers of 64 bits hold the grid.
    """
    is_whole = bool((lengths == np.rint(lengths)).all()) and diameter < 2**40
    return 1.0 if is_whole else diameter / DIAMETER_UNITS


def on_grid(points: npt.NDArray[np.float64], unit: float) -> IntMatrix:
    """Return points in whole grid units, from 0 on; columns that are all 0 then are left out."""
    table = np.rint(points / unit).astype(np.int64)
    table -= table.min(axis=0)
    nonzero = table[:, table.max(axis=0) > 0]
    return nonzero if nonzero.shape[1] else table[:, :1]


def _check_entries(vertices: int, dimensions: int) -> None:
    """Refuse a table of more than 2^27 entries.

    Raises:
        ParameterError: it is larger.
    """
    if vertices * dimensions > _MOST_ENTRIES:
        raise ParameterError(
            f"an embedding of {vertices} vertices into {dimensions} dimensions is too large"
        )
