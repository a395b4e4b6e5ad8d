"""What a file or a library tells of a graph before it is one, and what the caller says about it.

The schema is all that a file tells beside its edges, all of it public: vertices, weighted or not,
weight cap. Formats that cannot say it themselves carry it as one line of JSON after the mark
`MARK`, so that a round trip keeps isolated vertices, the order and the types of labels, and the
weight cap.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatArray, IntegerVector
from graphcuts_dp.errors import FileFormatError, GraphCutsError, GraphError, ParameterError
from graphcuts_dp.graph.edge_store import EdgeStore, Merge
from graphcuts_dp.graph.gathered import CodedText
from graphcuts_dp.pairs.linear_query import one_set
from graphcuts_dp.pairs.vertices import Arcs, Label, VertexSet, labels_or_number, sets_in
from graphcuts_dp.tables.columns import ColumnPlaces, Columns
from graphcuts_dp.tables.rows import MARK


@dataclass(frozen=True, slots=True)
class Schema:
    """Public facts about a graph; None where nothing is said.

    Attributes:
        vertices: vertex set of a `Graph` or a `DirectedGraph`.
        sides: left and right vertex sets of a `BipartiteGraph`.
        directed: whether one of our own files holds a `DirectedGraph`; None: it is not ours.
        weighted: whether weights other than one are possible.
        weight_cap: public bound on any weight.
        note: public remark that goes with the graph.
    """

    vertices: VertexSet | None = None
    sides: tuple[VertexSet, VertexSet] | None = None
    directed: bool | None = None
    weighted: bool | None = None
    weight_cap: float | None = None
    note: str = ""


def token_table(vertices: VertexSet) -> dict[str, int]:
    """Row number of each label as text.

    Raises:
        GraphError: two labels look alike, such as 1 and "1".
    """
    table = {str(label): row for row, label in enumerate(vertices.labels)}
    if len(table) != len(vertices):
        raise GraphError('two vertex labels look alike as text, such as 1 and "1"; rename one')
    return table


def dump_schema(graph: EdgeStore, *, labels: bool = True) -> str:
    """The schema as one line of ASCII JSON; without the vertices if `labels` is False."""
    facts: dict[str, Any] = {}
    names = map(labels_or_number, sets_in(graph.space))
    if labels:
        sides = ("vertices",) if one_set(graph.space) else ("left", "right")
        facts.update(zip(sides, names, strict=True))
    if isinstance(graph.space, Arcs):
        facts["directed"] = True
    facts["weighted"] = graph.weighted
    if graph.weighted and graph.weight_cap is not None:
        facts["weight_cap"] = graph.weight_cap
    if graph.note:
        facts["note"] = graph.note
    return json.dumps(facts)


def load_schema(text: str) -> Schema:
    """Read what `dump_schema` wrote.

    Raises:
        FileFormatError: not such a line.
    """
    try:
        facts = json.loads(text)
        sides = None
        if "left" in facts or "right" in facts:
            sides = _vertex_set(facts["left"]), _vertex_set(facts["right"])
        weighted, cap = facts.get("weighted"), facts.get("weight_cap")
        if weighted not in (None, True, False) or isinstance(cap, bool | str | list | dict):
            raise TypeError
        directed = facts.get("directed", False)
        if not isinstance(directed, bool):
            raise TypeError
        if cap is not None and not (np.isfinite(cap) and cap > 0):
            raise ValueError
        return Schema(
            vertices=_vertex_set(facts["vertices"]) if "vertices" in facts else None,
            sides=sides,
            directed=directed,
            weighted=weighted,
            weight_cap=None if cap is None else float(cap),
            note=str(facts.get("note", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        raise FileFormatError(
            f"the comment '{MARK}' is damaged; repair it, or delete it and give vertices="
        ) from None


def _vertex_set(value: Any) -> VertexSet:
    if isinstance(value, str | dict):
        raise TypeError
    if isinstance(value, int) and value > 2**31:
        raise ValueError
    return VertexSet(value)


Ends = IntegerVector | CodedText | Sequence[Label]
GivenVertices = VertexSet | tuple[VertexSet, VertexSet] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the caller says about the source; see `Graph.read` for each."""

    columns: Columns = field(default_factory=Columns)
    vertices: GivenVertices = None
    weighted: bool | None = None
    weight_cap: float | None = None
    hide_change: float | None = None
    public_vertices: bool = False
    bipartite: bool = False
    directed: bool = False
    merge: Merge = "max"

    def __post_init__(self) -> None:
        cap = self.weight_cap
        if cap is not None and not (np.isfinite(cap) and cap > 0):
            raise ParameterError("weight_cap must be a positive, finite number")
        if self.merge not in ("max", "min", "sum"):
            raise ParameterError("merge must be 'max', 'min' or 'sum'")


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
