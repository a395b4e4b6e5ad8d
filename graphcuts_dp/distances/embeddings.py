"""Embeddings of a public metric into l1, on a grid of whole numbers.

An embedding is a public table: a point for each vertex, computed from the map (and public coins)
alone. So it is 1-sensitive (HR12, Definition 6) by construction: moving a person moves that
person's point, and no other, and a database of people becomes a database of points with the same
neighbours. How much it distorts is also public: it is measured, not estimated.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.shapes import RootedTree
from graphcuts_dp.errors import ParameterError, QueryError

STEPS = 2**24  # of the grid, in a diameter, where distances are not whole numbers
_MOST_ENTRIES = 2**27  # 1 GiB of coordinates


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class L1Embedding:
    """A point for each vertex, and what its l1 distances say about the metric's.

    For all vertices x and all query vertices y, with D the l1 distance of their points times
    `unit`: D <= expansion (d(x,y) + rounding) and d(x,y) <= contraction (D + rounding).

    Attributes:
        points: whole numbers, each column's least is 0, shape (V, l).
        unit: length of one step, > 0.
        reach: no D between a vertex and a query vertex is larger.
        diameter: no d between them is larger.
        expansion: how much longer D can be than d, as a factor.
        contraction: how much shorter.
        rounding: what rounding to the grid adds, as a length.
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
        """Largest coordinate of each column, at least 1: what moving a person can change in it."""
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
        """D between one vertex and all, shape (V,)."""
        return np.asarray(np.abs(self.points - self.points[row]).sum(axis=1) * self.unit)


def exact_embedding(metric: Metric) -> L1Embedding:
    """The metric of a path, a grid or a tree, without distortion.

    Paths and grids by their coordinates; trees by the positions on edge-disjoint paths, see
    `tree_points`. Whole lengths stay exact; others are rounded to 2^-24 of the diameter, and
    `rounding` bounds what that adds up to.

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
    table = on_grid(points, unit)
    whole = bool((table * unit == points).all())
    rounding = 0.0 if whole else table.shape[1] * unit * (1 + 1e-6)
    return L1Embedding(
        points=table,
        unit=unit,
        reach=metric.diameter + rounding,
        diameter=metric.diameter,
        rounding=rounding,
    )


def tree_points(tree: RootedTree) -> FloatMatrix:
    """Points whose l1 distances are those of a tree: one coordinate for each leaf.

    The edges are split into downward paths, each from a vertex's parent along farthest children to
    a leaf. A coordinate is the position of the vertex's nearest point on one of these paths:
    the way between two vertices runs on each path from one of these positions to the other. A
    coordinate for each edge, 1 below it and 0 elsewhere times its length, would also do, but cuts
    the budget into more parts.

    Returns:
        Shape (V, paths).

    Raises:
        ParameterError: more than 2^27 coordinates in all.
    """
    size = len(tree.parent)
    height, farthest = np.zeros(size), np.full(size, -1)
    for v in reversed(tree.order[1:].tolist()):
        above, reach = tree.parent[v], height[v] + tree.length[v]
        if farthest[above] < 0 or reach > height[above]:
            height[above], farthest[above] = reach, v
    chain, position = np.zeros(size, dtype=np.int64), np.zeros(size)
    chains = 0
    root = int(tree.order[0])
    for v in tree.order[1:].tolist():
        above = int(tree.parent[v])
        if farthest[above] == v and above != root:
            chain[v], position[v] = chain[above], position[above] + tree.length[v]
        else:
            chain[v], position[v] = chains, tree.length[v]
            chains += 1
    check_entries(size, chains)
    points = np.zeros((size, max(chains, 1)))
    for v in tree.order[1:].tolist():
        points[v] = points[tree.parent[v]]
        points[v, chain[v]] = position[v]
    return points


def grid_unit(lengths: npt.NDArray[np.float64], diameter: float) -> float:
    """1 where all lengths are whole numbers below 2^40, else 2^-24 of the diameter."""
    whole = bool((lengths == np.rint(lengths)).all()) and diameter < 2**40
    return 1.0 if whole else diameter / STEPS


def on_grid(points: npt.NDArray[np.float64], unit: float) -> IntMatrix:
    """Points in whole steps, each column from 0 on; columns without extent are left out."""
    table = np.rint(points / unit).astype(np.int64)
    table -= table.min(axis=0)
    kept = table[:, table.max(axis=0) > 0]
    return kept if kept.shape[1] else table[:, :1]


def measured(
    points: IntMatrix, unit: float, distances: FloatMatrix, queries: IntVector
) -> L1Embedding:
    """An embedding with its exact distortion: over all vertices and these query vertices.

    Args:
        points: shape (V, l).
        unit: length of a step.
        distances: true ones, between query vertices and all, shape (k, V).
        queries: row numbers, shape (k,).

    Raises:
        ParameterError: two vertices at a distance have the same point, so that the contraction is
            infinite; draw again, or take more dimensions.
    """
    reach, farthest, expansion, contraction = 0.0, 0.0, 1.0, 1.0
    for row, true in zip(queries, distances, strict=True):
        found = np.abs(points - points[row]).sum(axis=1) * unit
        reach, farthest = max(reach, float(found.max())), max(farthest, float(true.max()))
        apart = true > 0
        if not (found[apart] > 0).all():
            raise ParameterError(
                "the embedding maps two vertices to one point; take more dimensions or another seed"
            )
        if apart.any():
            expansion = max(expansion, float((found[apart] / true[apart]).max()))
            contraction = max(contraction, float((true[apart] / found[apart]).max()))
    slack = 1 + 1e-12  # rounding of floats
    return L1Embedding(
        points=points,
        unit=unit,
        reach=reach * slack,
        diameter=farthest * slack,
        expansion=expansion * slack,
        contraction=contraction * slack,
        queries=None if len(queries) == len(points) else frozenset(queries.tolist()),
    )


def check_entries(vertices: int, dimensions: int) -> None:
    """Refuse a table that is too large.

    Raises:
        ParameterError: more than 2^27 entries.
    """
    if vertices * dimensions > _MOST_ENTRIES:
        raise ParameterError(
            f"an embedding of {vertices} vertices into {dimensions} dimensions is too large"
        )
