"""A public map cut in parts, the parts in parts, and so on down to single vertices."""

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.distances.metric import Metric

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
