"""Cuts of two-sided graphs whose sets hold vertices of both sides."""

from collections.abc import Collection, Iterable
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.queries import CutQuery, Subset
from graphcuts_dp.pairs.vertices import Arcs, Label, NamedSet, Space, VertexSet


@final
class MixedCut(LinearQuery):
    """Edges of a bipartite graph with one end in S and the other in T, each once.

    S and T may each hold vertices of both sides, as in a graph that forgets its sides: an edge
    counts if its left end is in S and its right end in T, or its left end in T and its right end in
    S. Coefficients are 0 or 1.

    Args:
        S: masks of its left and of its right vertices.
        T: likewise.
    """

    def __init__(self, S: tuple[BoolVector, BoolVector], T: tuple[BoolVector, BoolVector]) -> None:
        self.S = S
        self.T = T

    def __repr__(self) -> str:
        return "MixedCut()"

    @property
    def parts(self) -> int:
        """Of how many cuts between a left and a right set it is the sum or difference.

        Two; and where both ends can be in both sets, what these two count twice is a third.
        """
        twice = (self.S[0] & self.T[0]).any() and (self.S[1] & self.T[1]).any()
        return 3 if twice else 2

    def coefficients(self, space: Space) -> FloatMatrix:
        """See `LinearQuery.coefficients`.

        Raises:
            QueryError: masks of other vertex sets.
        """
        shape = tuple(len(side) for side in space) if isinstance(space, tuple) else ()
        if shape != (len(self.S[0]), len(self.S[1])):
            raise QueryError("this query was made for other vertex sets")
        joined = np.logical_and.outer(self.S[0], self.T[1])
        joined |= np.logical_and.outer(self.T[0], self.S[1])
        return joined.astype(np.float64)

    def coefficients_at(
        self, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], space: Space
    ) -> FloatVector:
        """See `LinearQuery.coefficients_at`."""
        del space
        found = (self.S[0][rows] & self.T[1][columns]) | (self.T[0][rows] & self.S[1][columns])
        return np.asarray(found, dtype=np.float64)


def understood(query: LinearQuery, space: Space) -> LinearQuery:
    """A cut whose sets mix both sides as a `MixedCut`; every other query as it is.

    A set without T means all vertices outside S, on both sides, as soon as S holds a right vertex.
    Where S has left vertices and T right ones alone, nothing changes.

    Raises:
        QueryError: a label of the other side that both sides have, so that nobody can tell which
            vertex is meant; an unknown vertex.
    """
    if not isinstance(query, CutQuery) or isinstance(space, VertexSet | Arcs):
        return query
    left, right = space
    if _on_its_side(query.S, left) and (query.T is None or _on_its_side(query.T, right)):
        return query
    S = _split(query.S, left, right)
    T = (~S[0], ~S[1]) if query.T is None else _split(query.T, left, right)
    return MixedCut(S, T)


def _on_its_side(subset: Subset, side: VertexSet) -> bool:
    """Whether a set is on its side; what is unknown on both sides is left to `mask` to refuse."""
    if isinstance(subset, np.ndarray | str | NamedSet):
        return True
    return all(side.find(label) is not None for label in subset)


def _split(subset: Subset, left: VertexSet, right: VertexSet) -> tuple[BoolVector, BoolVector]:
    """The left and the right vertices of a set."""
    if isinstance(subset, str):  # no other text is a set
        return np.ones(len(left), dtype=np.bool_), np.ones(len(right), dtype=np.bool_)
    if isinstance(subset, np.ndarray):
        raise QueryError(
            "one set holds vertices of both sides, the other one is a truth vector: write labels"
        )
    labels: Iterable[Label] = subset if isinstance(subset, Collection) else tuple(subset)
    here: list[Label] = []
    there: list[Label] = []
    for label in labels:
        sides = left.find(label), right.find(label)
        if None not in sides:
            raise QueryError(
                f"{label!r:.60} is a vertex of both sides: in a set that mixes them nobody can tell"
                " which one is meant; ask for S on the left and T on the right"
            )
        if sides == (None, None):
            raise QueryError(f"unknown vertex {label!r:.60}; it is on neither side")
        (here if sides[0] is not None else there).append(label)
    return left.mask(here), right.mask(there)
