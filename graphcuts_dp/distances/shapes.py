"""Maps of a shape that makes distances cheap: trees, and grids with coordinates.

What the distances of a public map are made of: lengths of edges, or points and a norm.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import GraphError, ParameterError

COORDINATES = (("x", "y"), ("lon", "lat"), ("longitude", "latitude"))
MOST_POINTS = 2048  # all their distances are held


@final
@dataclass(frozen=True, eq=False)
class NormedPoints:
    """Points, all different, and the l_p norm that gives their distances.

    Attributes:
        points: shape (V, k), finite.
        p: in [1, 2].
    """

    points: FloatMatrix
    p: float

    @classmethod
    def of(cls, points: npt.ArrayLike, p: float) -> Self:
        """Checked.

        Raises:
            ParameterError: another shape, numbers that are not finite, the same point twice, too
                many points, or another p.
        """
        try:
            given = np.array(points, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("a coordinate of the points is not a number") from None
        if given.ndim != 2 or not given.size or not np.isfinite(given).all():
            raise ParameterError("points are finite numbers, shape (V, k)")
        if len(given) > MOST_POINTS:
            raise ParameterError(f"at most {MOST_POINTS:,} points, not {len(given):,}")
        if len(np.unique(given, axis=0)) != len(given):
            raise ParameterError("two points are the same; give each place once")
        if isinstance(p, bool) or not isinstance(p, int | float) or not 1 <= p <= 2:
            raise ParameterError(f"the p of a norm is a number from 1 to 2, not {p!r:.30}")
        given.flags.writeable = False
        return cls(given, float(p))

    def distances(self, rows: IntVector) -> FloatMatrix:
        """Distances from some points to all, shape (k, V)."""
        total = np.zeros((len(rows), len(self.points)))
        largest = float(np.ptp(self.points, axis=0).max()) or 1.0  # no power of it overflows
        for axis in self.points.T / largest:
            total += np.abs(axis[rows, None] - axis) ** self.p
        return np.asarray(total ** (1 / self.p) * largest)


def length_matrix(
    rows: npt.ArrayLike, columns: npt.ArrayLike, lengths: npt.ArrayLike, size: int
) -> sp.csr_array:
    """Symmetric matrix of the lengths of edges; of parallel edges the shortest, without loops.

    Args:
        rows: one end of each edge.
        columns: the other.
        lengths: > 0 and finite.
        size: number of vertices.

    Raises:
        GraphError: lists of different lengths, ends outside, or a length out of range.
    """
    first = np.asarray(rows, dtype=np.int64).reshape(-1)
    second = np.asarray(columns, dtype=np.int64).reshape(-1)
    length = np.asarray(lengths, dtype=np.float64).reshape(-1)
    if not len(first) == len(second) == len(length):
        raise GraphError("edge ends and lengths must have the same length")
    ends = np.concatenate([first, second])
    if len(ends) and (ends.min() < 0 or ends.max() >= size):
        raise GraphError("an edge of the map ends outside its vertex set")
    if not (np.isfinite(length) & (length > 0)).all():
        raise GraphError("a length of the map is not a positive, finite number")
    low, high = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((length, high, low))
    low, high, length = low[order], high[order], length[order]
    keep = low != high
    keep[1:] &= (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, length = low[keep], high[keep], length[keep]
    data = (np.concatenate([length, length]), (np.concatenate([low, high]), np.r_[high, low]))
    return sp.coo_array(data, shape=(size, size)).tocsr()


def attribute_coordinates(values: dict[str, list[Any]]) -> FloatMatrix | None:
    """The attributes of vertices that are coordinates, shape (V, 2), if all vertices have them."""
    for pair in COORDINATES:
        held = [values.get(key, [None]) for key in pair]
        if all(value is not None for column in held for value in column):
            return np.column_stack([numbers(column) for column in held])
    return None


def numbers(values: Any) -> FloatVector:
    """Lengths or coordinates as numbers.

    Raises:
        GraphError: one of them is none.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise GraphError("a length or coordinate of the map is not a number") from None


@final
@dataclass(frozen=True, eq=False)
class RootedTree:
    """A tree, with vertex 0 as its root.

    Attributes:
        order: all rows, each after its parent, shape (V,).
        parent: row of each vertex's parent, -1 for the root, shape (V,).
        length: of the edge to the parent, 0 for the root, shape (V,).
    """

    order: IntVector
    parent: IntVector
    length: FloatVector

    def sums(self, mass: FloatVector) -> FloatVector:
        """The sum over x of d(v, x) mass[x] for all v, shape (V,), in O(V).

        Crossing an edge of length l with mass b below it changes the sum by l (total - 2 b).
        """
        below = mass.copy()
        order = self.order.tolist()
        for v in reversed(order[1:]):
            below[self.parent[v]] += below[v]
        total = below[order[0]]
        result = np.empty(len(mass))
        result[order[0]] = self.depth @ mass
        for v in order[1:]:
            result[v] = result[self.parent[v]] + self.length[v] * (total - 2 * below[v])
        return result

    def distances_between(self, first: IntVector, second: IntVector) -> FloatVector:
        """Distances of pairs of vertices, in O(log V) each.

        Args:
            first: row numbers, shape (k,).
            second: row numbers, shape (k,).
        """
        u, v = np.array(first), np.array(second)
        swap = self._level[u] < self._level[v]
        u[swap], v[swap] = v[swap], u[swap]
        for power, above in reversed(list(enumerate(self._ancestors))):
            u = np.where(self._level[u] - self._level[v] >= 1 << power, above[u], u)
        for above in reversed(self._ancestors):
            apart = above[u] != above[v]
            u, v = np.where(apart, above[u], u), np.where(apart, above[v], v)
        meeting = np.where(u == v, u, self._ancestors[0][u])
        return np.asarray(self.depth[first] + self.depth[second] - 2 * self.depth[meeting])

    @cached_property
    def depth(self) -> FloatVector:
        """Distances to the root, shape (V,)."""
        depth = np.zeros(len(self.order))
        for v in self.order[1:].tolist():
            depth[v] = depth[self.parent[v]] + self.length[v]
        return depth

    @cached_property
    def _level(self) -> IntVector:
        """Numbers of edges to the root."""
        level = np.zeros(len(self.order), dtype=np.int64)
        for v in self.order[1:].tolist():
            level[v] = level[self.parent[v]] + 1
        return level

    @cached_property
    def _ancestors(self) -> list[IntVector]:
        """Rows 1, 2, 4, ... edges above; the root for what would be beyond it."""
        ancestors = [np.maximum(self.parent, 0)]
        while 1 << len(ancestors) <= self._level.max():
            ancestors.append(ancestors[-1][ancestors[-1]])
        return ancestors


def grid_positions(points: FloatMatrix, lengths: sp.csr_array) -> FloatMatrix | None:
    """Points whose l1 distances are the shortest ones, if the map is a grid; None if it is not.

    Args:
        points: given coordinates, shape (V, 2); only which of them are equal and their order count.
        lengths: symmetric matrix of the lengths of the edges.

    Returns:
        Shape (V, 2).
    """
    axes = [np.unique(points[:, axis], return_inverse=True) for axis in (0, 1)]
    places = np.column_stack([axis[1] for axis in axes])
    sizes = [len(axis[0]) for axis in axes]
    full = sizes[0] * sizes[1] == len(points) == len(np.unique(places @ [sizes[1], 1]))
    edges = sizes[0] * (sizes[1] - 1) + sizes[1] * (sizes[0] - 1)
    if not full or lengths.nnz != 2 * edges:
        return None
    entries = lengths.tocoo()
    steps = places[entries.col] - places[entries.row]
    if not (np.abs(steps).sum(axis=1) == 1).all():
        return None
    positions = np.zeros((len(points), 2))
    for axis in (0, 1):
        forward = steps[:, axis] == 1
        start = places[entries.row[forward], axis]
        gap = np.full(sizes[axis] - 1, -1.0)
        gap[start] = entries.data[forward]
        if (gap[start] != entries.data[forward]).any():
            return None
        positions[:, axis] = np.concatenate([[0.0], np.cumsum(gap)])[places[:, axis]]
    return positions
