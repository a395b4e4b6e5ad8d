"""A public map cut in halves, the halves in halves, and so on down to single vertices."""

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from graphcuts_dp.distances.metric import FloatVector, IntVector, Metric

_SMALL = 8  # parts of so few vertices keep the order they have


@final
@dataclass(frozen=True, eq=False)
class Level:
    """The parts that are halved at one depth: places start..end-1 of the order, cut at middle.

    Attributes:
        start: first place of each part.
        middle: first place of its second half.
        end: the place after its last.
    """

    start: IntVector
    middle: IntVector
    end: IntVector


@final
@dataclass(frozen=True, eq=False)
class Parts:
    """Nested halves of the vertices; numbers of vertices of two halves differ by at most one.

    Attributes:
        order: rows in an order in which every part is an interval, shape (V,).
        levels: from the whole map down. Each vertex is in at most one part of a level.
    """

    order: IntVector
    levels: tuple[Level, ...]


def halve(metric: Metric) -> Parts:
    """Cut a map in halves of vertices that are near each other. Reads public things only.

    A part is cut at the median of d(a, x) - d(b, x), a and b being two far ends of it, with
    distances inside the part. Halves of a path are intervals. Any cut would be as private; it is
    the error that depends on it. O(V log^2 V) or so.
    """
    size = len(metric)
    order = np.arange(size)
    points = metric.l1_coordinates
    if points is not None and points.shape[1] == 1:
        order = np.argsort(points[:, 0], kind="stable")
    else:
        waiting = [(0, size)]
        while waiting:
            start, end = waiting.pop()
            if end - start <= _SMALL:
                continue
            rows = order[start:end]
            order[start:end] = rows[_along(metric.lengths[rows][:, rows])]
            middle = (start + end + 1) // 2
            waiting += [(start, middle), (middle, end)]
    return Parts(order=order, levels=_levels(size))


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


def _levels(size: int) -> tuple[Level, ...]:
    start, end = np.array([0]), np.array([size])
    levels: list[Level] = []
    while True:
        whole = end - start >= 2
        start, end = start[whole], end[whole]
        if not len(start):
            return tuple(levels)
        middle = (start + end + 1) // 2
        levels.append(Level(start=start, middle=middle, end=end))
        start, end = np.concatenate([start, middle]), np.concatenate([middle, end])
