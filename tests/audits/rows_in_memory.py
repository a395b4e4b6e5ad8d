"""Rows with users, made of arrays, and the graph of them in which users are bounded."""

from typing import Any

import numpy as np
import numpy.typing as npt

import graphcuts_dp as gc
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.row_sources import RowArrays
from graphcuts_dp.schema.counting import Counting
from graphcuts_dp.schema.vertices import Space


def rows_in_memory(
    space: Space,
    users: npt.ArrayLike,
    marks: npt.NDArray[np.uint64],
    ends: tuple[npt.ArrayLike, npt.ArrayLike],
    weights: npt.NDArray[np.float64] | None = None,
    *,
    counting: Counting = "edges",
    **options: Any,
) -> gc.Rows:
    """Rows with users, from numbers of users, marks of these, and row numbers of both ends."""
    first, second = (np.asarray(end, dtype=np.int64) for end in ends)
    numbers = np.asarray(users, dtype=np.int64)
    row_arrays = RowArrays(endpoints=(first, second), users=numbers, marks=marks, weights=weights)
    return gc.Rows.of_arrays(space, row_arrays, counting=counting, **options)


def bounded(rows: gc.Rows, bound: int) -> AnyGraph:
    """The graph of rows with users, of which none has more."""
    return rows.bounded(gc.PrivacyUnit.user(max_contributions=bound))
