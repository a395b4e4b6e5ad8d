"""Maps of a shape that makes distances cheap: trees, and grids with coordinates."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector


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
