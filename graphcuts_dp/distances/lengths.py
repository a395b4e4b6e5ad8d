"""What the distances of a public map are made of: lengths of edges, or points and a norm."""

from dataclasses import dataclass
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
