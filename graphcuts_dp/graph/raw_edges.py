"""What a file or a library tells of a graph before it is one, and what the caller says about it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from graphcuts_dp.arrays import FloatArray, IntegerVector
from graphcuts_dp.errors import GraphCutsError, GraphError, ParameterError
from graphcuts_dp.graph.columns import ColumnPlaces
from graphcuts_dp.graph.edge_keys import Merge
from graphcuts_dp.graph.gathered import CodedText
from graphcuts_dp.graph.schema import Schema
from graphcuts_dp.pairs.vertices import Label, VertexSet

Ends = IntegerVector | CodedText | Sequence[Label]
GivenVertices = VertexSet | tuple[VertexSet, VertexSet] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the caller says about the source; see `read_graph` for each."""

    vertices: GivenVertices = None
    weighted: bool | None = None
    weight_cap: float | None = None
    hide_change: float | None = None
    public_vertices: bool = False
    bipartite: bool = False
    directed: bool = False
    one_based: bool = False
    merge: Merge = "max"

    def __post_init__(self) -> None:
        cap = self.weight_cap
        if cap is not None and not (np.isfinite(cap) and cap > 0):
            raise ParameterError("weight_cap must be a positive, finite number")
        if self.merge not in ("max", "min", "sum"):
            raise ParameterError("merge must be 'max', 'min' or 'sum'")
        if self.bipartite and self.directed:
            raise ParameterError("a graph is bipartite or directed, not both: leave one out")


@dataclass(slots=True, kw_only=True)
class RawEdges:
    """Edges as the source names them, once: `build` takes them out.

    Attributes:
        sources: first (for bipartite graphs: left) ends. Integers in an array, or labels in a
            list or by number (both ends then have one list of names), or with `as_rows` row
            numbers in the vertex sets of `schema`.
        targets: second (right) ends, likewise.
        weights: one for each edge, or None.
        schema: what the source declares.
        as_text: ends are text from a file; an integer id and its digits are then the same.
        as_rows: ends are row numbers.
        arbitrary_order: the source is in an order that may tell of its edges, such as that of
            their first occurrence; labels are then sorted.
        owned: nobody else has the arrays, so that `build` may write what it makes into them.
        anonymous: with `as_rows`: the source has rows but no labels, given ones are put on them.
        both_ways: a pair may be named in both directions, and the source does not declare whether
            that is one edge or two arcs.
        undeclared: whether there are weights is told by the edges alone.
        columns: which columns were read, if there are columns.
        where: tells the place of an edge by its position, such as "line 3".
        error: class of the errors to raise.
    """

    sources: Ends
    targets: Ends
    weights: FloatArray | None = None
    schema: Schema = field(default_factory=Schema)
    as_text: bool = True
    as_rows: bool = False
    owned: bool = False
    anonymous: bool = False
    both_ways: bool = False
    undeclared: bool = False
    arbitrary_order: bool = False
    columns: ColumnPlaces | None = None
    where: Callable[[int], str]
    error: type[GraphCutsError] = GraphError

    @property
    def reading(self) -> str:
        """Which columns were read, and which ignored; empty if there was nothing to choose."""
        return "" if self.columns is None else str(self.columns)
