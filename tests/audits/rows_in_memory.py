"""Rows with owners, made of arrays, and the graph of them in which owners are bounded."""

from typing import Any

import numpy as np
import numpy.typing as npt

import graphcuts_dp as gc
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.row_sources import Held
from graphcuts_dp.schema.counting import Counting
from graphcuts_dp.schema.vertices import Space


def rows_in_memory(
    space: Space,
    owners: npt.ArrayLike,
    marks: npt.NDArray[np.uint64],
    ends: tuple[npt.ArrayLike, npt.ArrayLike],
    weights: npt.NDArray[np.float64] | None = None,
    *,
    counting: Counting = "edges",
    **options: Any,
) -> gc.Rows:
    """Rows with owners, from numbers of owners, marks of these, and row numbers of both ends."""
    first, second = (np.asarray(end, dtype=np.int64) for end in ends)
    numbers = np.asarray(owners, dtype=np.int64)
    held = Held(ends=(first, second), owners=numbers, marks=marks, weights=weights)
    return gc.Rows.holding(space, held, counting=counting, **options)


def bounded(rows: gc.Rows, at_most: int) -> AnyGraph:
    """The graph of rows with owners, of which none has more."""
    return rows.bounded(gc.Protect.owner(at_most=at_most))
