"""Cuts of a bipartite graph whose sets hold vertices of both sides.

A `CutQuery` of a bipartite graph has left vertices in S and right vertices in T. People also ask
for cuts as if the graph had one vertex set: S and T may then each hold vertices of both sides.
`with_sides` reads such a cut as a `MixedCut`. Releases and sessions call it on every linear query
before they answer, once names of groups have been read (see `group_names`).

Terms used here (`linear` has `CutQuery`):

- A *space* says which vertices a query is about: a `VertexSet`; a plain pair of two for a bipartite
  graph; or `Arcs`, the space of a directed graph, which is a pair of equal sets as well.
- A *set* S or T is written as vertex labels, a truth vector over one side, "*" for all vertices, or
  a `NamedSet`, which is a set of groups on one side. It makes its truth vector when asked, and
  iterates over the labels of its vertices.
- `side.find(label)` is the row number of a vertex on a side; None if it is not on this side.
"""

from collections.abc import Collection, Iterable
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, Subset
from graphcuts_dp.schema.vertices import Arcs, Label, NamedSet, Space, VertexSet


@final
class MixedCut(LinearQuery):
    """Edges of a bipartite graph with one endpoint in S and the other in T, each once.

    An edge counts if its left endpoint is in S and its right endpoint in T, or its left endpoint in
    T and its right endpoint in S. Coefficients are 0 or 1.

    Args:
        S: truth vectors over the left and over the right vertices, shapes (n_left,), (n_right,).
        T: the same.
    """

    def __init__(self, S: tuple[BoolVector, BoolVector], T: tuple[BoolVector, BoolVector]) -> None:
        self.S = S
        self.T = T

    def __repr__(self) -> str:
        S_left, S_right, T_left, T_right = (int(mask.sum()) for mask in (*self.S, *self.T))
        return f"MixedCut(S={S_left} + {S_right} vertices, T={T_left} + {T_right} vertices)"

    @property
    def cut_count(self) -> int:
        """Number of cuts with plus or minus sign that add up to this query; 2 or 3.

        Mechanisms that bound the error of each cut multiply the bound by this number, which
        therefore may be too large, but not too small. Write cut(A, B) for the cut between left
        vertices A and right vertices B. The query is

            cut(S_left, T_right) + cut(T_left, S_right) - cut(S_left & T_left, S_right & T_right),

        as the first two both count an edge whose endpoints are both in S and in T. The third cut is
        left out if one of its sets is empty; the other two always count.
        """
        overlaps = (self.S[0] & self.T[0]).any() and (self.S[1] & self.T[1]).any()
        return 3 if overlaps else 2

    def coefficients(self, space: Space) -> FloatMatrix:
        """Return 1 for each pair that counts, and 0 for others, shape (n_left, n_right).

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
        """Return 1 for each of these pairs that counts, and 0 for others, shape (k,)."""
        del space
        joined = (self.S[0][rows] & self.T[1][columns]) | (self.T[0][rows] & self.S[1][columns])
        return np.asarray(joined, dtype=np.float64)


def with_sides(query: LinearQuery, space: Space) -> LinearQuery:
    """Return a cut whose sets mix both sides as a `MixedCut`, and every other query unchanged.

    A cut whose S has left vertices alone and whose T has right vertices alone stays as it is. If S
    holds a right vertex and T is None, T means all vertices of both sides outside S.

    Args:
        query: any linear query; names of groups in its sets must have been read.
        space: the vertex set, both, or `Arcs`; only cuts over two sides change.

    Raises:
        QueryError: a label that both sides have, in a set that mixes them, since nobody can tell
            which vertex is meant; or an unknown vertex.
    """
    if not isinstance(query, CutQuery) or isinstance(space, VertexSet | Arcs):
        return query
    left, right = space
    if _is_on_side(query.S, left) and (query.T is None or _is_on_side(query.T, right)):
        return query
    S = _masks_of_both_sides(query.S, left, right)
    T = (~S[0], ~S[1]) if query.T is None else _masks_of_both_sides(query.T, left, right)
    return MixedCut(S, T)


def _is_on_side(subset: Subset, side: VertexSet) -> bool:
    """Return whether all vertices of a set are on this side.

    Truth vectors, "*" and named sets are taken to be: they do not say a side themselves, so S means
    left and T right vertices. If the other set mixes both sides, `_masks_of_both_sides` reads or
    refuses them in another way.
    """
    if isinstance(subset, np.ndarray | str | NamedSet):
        return True
    return all(side.find(label) is not None for label in subset)


def _masks_of_both_sides(
    subset: Subset, left: VertexSet, right: VertexSet
) -> tuple[BoolVector, BoolVector]:
    """Return the truth vectors of a set over the left and over the right vertices.

    "*" means all vertices of both sides here. A `NamedSet` is read by its labels.

    Raises:
        QueryError: a truth vector, a label of both sides, or an unknown vertex.
    """
    if isinstance(subset, str):  # "*": `CutQuery` refuses every other text
        return np.ones(len(left), dtype=np.bool_), np.ones(len(right), dtype=np.bool_)
    if isinstance(subset, np.ndarray):
        raise QueryError(
            "one set holds vertices of both sides, the other one is a truth vector: write labels"
        )
    # A list or tuple as it is; a `NamedSet` is only iterable, so its labels are listed.
    labels: Iterable[Label] = subset if isinstance(subset, Collection) else tuple(subset)
    left_labels: list[Label] = []
    right_labels: list[Label] = []
    for label in labels:
        left_row, right_row = left.find(label), right.find(label)
        if left_row is not None and right_row is not None:
            raise QueryError(
                f"{label!r:.60} is a vertex of both sides: in a set that mixes them nobody can tell"
                " which one is meant; ask for S on the left and T on the right"
            )
        if left_row is None and right_row is None:
            raise QueryError(f"unknown vertex {label!r:.60}; it is on neither side")
        (left_labels if left_row is not None else right_labels).append(label)
    return left.mask(left_labels), right.mask(right_labels)
