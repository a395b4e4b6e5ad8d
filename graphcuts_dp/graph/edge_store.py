"""What all kinds of graphs keep: edges as sorted arrays, each pair once."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatArray, IndexArray, IntegerVector
from graphcuts_dp.display import Card, Displayed, size_text
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.edge_keys import (
    MOST_ROWS,
    EdgeParts,
    Merge,
    pair_keys,
    sorted_distinct,
    sorted_merged,
    unpacked_keys,
)
from graphcuts_dp.pairs.vertices import Label, VertexSet

Vertices = VertexSet | int | Iterable[Label]


class EdgeStore(Displayed):
    """Edges of any kind of graph, each pair once, sorted, read-only.

    Attributes:
        rows: first end of each edge (row number; for `Graph` always the smaller, for
            `DirectedGraph` the vertex that the arc leaves).
        columns: second end of each edge.
        weights: one positive number for each edge; all ones when the graph is not weighted.
        weighted: public: whether weights other than one are possible.
        weight_cap: public upper bound on any weight; 1 for graphs without weights, else None if
            no bound was given.
        hide_change: 1 if the owner of weights without a cap accepts that a change of a weight by
            at most 1 is all that is hidden; else None. Neither compared nor written to files.
        note: what everybody who meets the graph should know, such as "seeded: not private"; shown
            by `repr`, written to files, not compared.
    """

    rows: IndexArray
    columns: IndexArray
    weights: FloatArray
    weighted: bool
    weight_cap: float | None
    hide_change: float | None
    note: str
    _ordered: ClassVar[bool] = False  # whether (u, v) and (v, u) are two pairs
    _loops: ClassVar[bool] = False  # whether u and v may have one row number

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the matrix of all pairs, public."""
        raise NotImplementedError

    def check_bounded(self) -> None:
        """Check that it is said which change of a weight is to be hidden. Reads the schema only.

        Every mechanism asks for it before it is made.

        Raises:
            ParameterError: weights have neither a cap, nor is `hide_change` given.
        """
        if self.weighted and self.weight_cap is None and self.hide_change is None:
            raise ParameterError(
                "weights without a public cap: pass weight_cap= when you read the graph, or read "
                "it without its weights (weighted=False), or pass hide_change=1 to hide no more "
                "than a change of a weight by 1, and no edge that weighs more"
            )

    def _say(self, note: str, hide_change: float | None) -> None:
        if hide_change not in (None, 1):
            raise GraphError("hide_change can only be 1; scale the weights, or give weight_cap")
        self.note, self.hide_change = note, hide_change

    def _store(
        self,
        parts: EdgeParts,
        *,
        weight_cap: float | None,
        clip: bool = False,
        merge: Merge = "max",
    ) -> None:
        """Keep edges, each pair once; empties the parts.

        Args:
            parts: ends within the shape, and weights that are finite and not negative.
            weight_cap: as for `Graph`.
            clip: put weights above the cap down to it, rather than refuse them.
            merge: weight of a pair that occurs more than once.
        """
        if weight_cap is not None and not (np.isfinite(weight_cap) and weight_cap > 0):
            raise GraphError("weight_cap must be a positive, finite number")
        if parts.weights is None and weight_cap not in (None, 1.0):
            raise GraphError("weight_cap needs a weighted graph")
        keys, weights = pair_keys(parts, ordered=self._ordered, loops=self._loops)
        if weights is None:
            keys = sorted_distinct(keys)
            self.weighted, self.weight_cap = False, 1.0
        else:
            keys, weights = sorted_merged(keys, weights, merge)
            if weight_cap is not None and clip:
                np.minimum(weights, weight_cap, out=weights)
            elif weight_cap is not None and weights.max(initial=0) > weight_cap:
                raise GraphError(
                    "an edge weighs more than weight_cap; raise it or clip the weights"
                )
            self.weighted = True
            self.weight_cap = None if weight_cap is None else float(weight_cap)
        rows, columns = unpacked_keys(keys)
        del keys
        self._freeze(rows, columns, np.ones(len(rows)) if weights is None else weights)

    def _store_rows(
        self,
        parts: Iterable[npt.NDArray[Any]],
        shape: tuple[int, int],
        *,
        above_diagonal: bool = False,
        loops: bool = True,
        weighted: bool,
        weight_cap: float | None,
    ) -> None:
        """Keep the non-zero entries of a dense matrix that comes a few rows at a time."""
        rows, columns, masses = [], [], []
        start = 0
        for part in parts:
            if part.ndim != 2 or part.shape[1] != shape[1]:
                raise GraphError("rows of a matrix must be as long as there are columns")
            _checked_weights(part)
            row, column = np.nonzero(np.triu(part, start + 1) if above_diagonal else part)
            if not loops:
                row, column = row[row + start != column], column[row + start != column]
            masses.append(part[row, column].astype(np.float64) if weighted else len(row))
            rows.append((row + start).astype(np.int32))
            columns.append(column.astype(np.int32))
            start += len(part)
        if start != shape[0]:
            raise GraphError(f"{start} rows for a matrix of {shape[0]}")
        self.weighted, self.weight_cap = weighted, weight_cap if weighted else 1.0
        weights = np.concatenate(masses) if weighted else np.ones(sum(masses))
        if weighted and weight_cap is not None and weights.max(initial=0) > weight_cap:
            raise GraphError("an edge weighs more than weight_cap; raise it or clip the weights")
        self._freeze(np.concatenate(rows), np.concatenate(columns), weights)

    def _freeze(self, rows: IndexArray, columns: IndexArray, weights: FloatArray) -> None:
        self.rows, self.columns, self.weights = rows, columns, weights
        for array in (self.rows, self.columns, self.weights):
            array.flags.writeable = False

    def _same_edges(self, other: "EdgeStore") -> bool:
        return (
            self.weighted == other.weighted
            and self.weight_cap == other.weight_cap
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.columns, other.columns)
            and np.array_equal(self.weights, other.weights)
        )

    def _card(self) -> Card:
        weights: object = "none: an edge is there or not"
        if self.weighted:
            cap = self.weight_cap
            weights = "up to a cap of " + f"{cap:g}" if cap is not None else "without a cap"
        return Card(
            title=type(self).__name__,
            facts=(
                ("vertices", size_text(self.shape if self._loops else self.shape[:1])),
                ("weights", weights),
                ("edges", "not shown: they may be private, and so may their number"),
            ),
            warning=self.note,
        )

    def _schema(self) -> str:
        note = f", {self.note}" if self.note else ""
        if not self.weighted:
            return note
        cap = "" if self.weight_cap is None else f", cap={self.weight_cap:g}"
        return f", weighted{cap}{note}"


def checked_parts(
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    shape: tuple[int, int],
) -> EdgeParts:
    """Edge ends as integers within the shape, and weights of the same length.

    Raises:
        GraphError: they are not; a weight is negative or not finite.
    """
    ends = []
    for given in (rows, columns):
        array = np.asarray(given)
        if array.size == 0:
            array = array.astype(np.int64).reshape(-1)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise GraphError("edge ends must be one-dimensional arrays of row numbers")
        ends.append(array)
    check_ends(ends[0], ends[1], shape)
    mass = None if weights is None else np.array(weights, dtype=np.float64).reshape(-1)
    if len(ends[0]) != len(ends[1]) or (mass is not None and len(mass) != len(ends[0])):
        raise GraphError("edge ends and weights must have the same length")
    if mass is not None:
        _checked_weights(mass)
    return EdgeParts(ends[0], ends[1], mass, owned=True)


def check_ends(rows: IntegerVector, columns: IntegerVector, shape: tuple[int, int]) -> None:
    """Check that row numbers lie within a shape.

    Raises:
        GraphError: one does not.
    """
    for array, size in ((rows, shape[0]), (columns, shape[1])):
        if size > MOST_ROWS:
            raise GraphError("a graph has at most 2**31 vertices on a side")
        if array.size and (array.min() < 0 or array.max() >= size):
            raise GraphError("an edge end lies outside the public vertex set")


def _checked_weights(weights: FloatArray) -> FloatArray:
    if not np.isfinite(weights).all():
        raise GraphError("an edge weight is not a finite number")
    if (weights < 0).any():
        raise GraphError("an edge weight is negative; weights must be >= 0")
    return weights


def as_coo(matrix: npt.ArrayLike) -> sp.coo_array:
    """The entries of a matrix that are not zero.

    Raises:
        GraphError: not two-dimensional, not real, or empty.
    """
    if not sp.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":  # type: ignore[union-attr]
        raise GraphError("a matrix of a graph has two dimensions and real entries")
    entries = sp.coo_array(matrix, dtype=np.float64)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    if 0 in entries.shape:
        raise GraphError("a graph needs at least one vertex")
    return entries


def matrix_weights(matrix: Any, weights: FloatArray, weighted: bool | None) -> FloatArray | None:
    """The weights of a graph that is made of a matrix; None for a simple one.

    Whether there are any is told by the type of the entries where the caller does not say it.

    Raises:
        GraphError: negative or not finite.
    """
    # Checked here too: the simple graph of a matrix must not be built on NaN entries.
    _checked_weights(weights)
    if weighted is None:
        kind = matrix.dtype if sp.issparse(matrix) else np.asarray(matrix).dtype
        weighted = kind != np.bool_
    if weighted:
        return weights
    return None


def matching(vertices: Vertices | None, size: int) -> VertexSet:
    """The vertex set of the rows or columns of a matrix; 0..size-1 if none is given.

    Raises:
        GraphError: another number of labels.
    """
    if vertices is None:
        return VertexSet(size)
    found = vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)
    if len(found) != size:
        raise GraphError(f"{len(found)} labels for a matrix with {size} rows or columns")
    return found
