"""Describe the edges of a source before they become a graph: schema, options, identifiers.

Every reader hands over `RawEdges`; `io.assemble` makes a graph of them.

A `Schema` holds the facts that a source states beside its edges, all of them public: vertices,
weighted or not, maximum weight. Formats that cannot hold them have them as one line of JSON after
the mark `MARK`, so that a round trip keeps isolated vertices, the order and the types of
labels, and the maximum weight.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatArray, IntVector
from graphcuts_dp.errors import FileFormatError, GraphCutsError, GraphError, ParameterError
from graphcuts_dp.former_names import current
from graphcuts_dp.io.codes import CodedText, Identifiers
from graphcuts_dp.io.edge_store import EdgeStore, Merge
from graphcuts_dp.options import check_type, is_number
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.column_search import ColumnPositions
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.counting import Counting
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.text_rows import MARK
from graphcuts_dp.schema.vertices import (
    Arcs,
    Space,
    VertexSet,
    labels_or_number,
    one_set,
    sets_in,
)

# A public vertex set, or the left and the right one; None if the caller or the source has none.
PublicVertices = VertexSet | tuple[VertexSet, VertexSet] | None
_MOST_VERTICES = 2**31  # that a schema may declare: row numbers are 32-bit integers


@dataclass(frozen=True, slots=True)
class Schema:
    """Public facts about a graph; None where the source does not state them.

    Attributes:
        vertices: vertex set of a `Graph` or a `DirectedGraph`.
        sides: left and right vertex sets of a `BipartiteGraph`.
        directed: whether a file of this package holds a `DirectedGraph`; None for other files.
        weighted: whether weights other than one are possible.
        max_weight: public bound on any weight.
        note: public remark that goes with the graph.
    """

    vertices: VertexSet | None = None
    sides: tuple[VertexSet, VertexSet] | None = None
    directed: bool | None = None
    weighted: bool | None = None
    max_weight: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a reader, checked; `Graph.read` describes them.

    Attributes:
        columns: which columns are read, and how.
        vertices: the public vertex sets; None to take those of the source.
        weighted: whether weights are read; None to follow the source.
        max_weight: public maximum of a weight.
        max_weight_change: 1 for weights without a maximum: neighbours then differ in a weight by at
            most 1. None for other weights.
        public_vertices: whether vertices that occur in edges are declared to be public.
        bipartite: whether there are two sides.
        directed: whether edges are arcs.
        merge: weight of an edge that occurs several times: "max", "min" or "sum".
        periods: the declared periods of rows.
        counting: what rows count; unused for graphs.
        weight_unit: weight of one unit of what rows count.
    """

    columns: Columns = field(default_factory=Columns)
    vertices: PublicVertices = None
    weighted: bool | None = None
    max_weight: float | None = None
    max_weight_change: float | None = None
    public_vertices: bool = False
    bipartite: bool = False
    directed: bool = False
    merge: Merge | None = None
    periods: Periods | None = None
    counting: Counting = "rows"
    weight_unit: float = 1.0

    def __post_init__(self) -> None:
        check_type("columns", self.columns, Columns, "a gc.Columns")
        check_type("weighted", self.weighted, (bool, NoneType), "True, False or None")
        maximum = self.max_weight
        if maximum is not None and not (is_number(maximum) and 0 < maximum < np.inf):
            raise ParameterError("max_weight must be a positive, finite number")
        check_type("max_weight_change", self.max_weight_change, (Real, NoneType), "1 or None")
        check_type("merge", self.merge, (str, NoneType), "'max', 'min' or 'sum'")
        if self.merge not in (None, "max", "min", "sum"):
            raise ParameterError("merge must be 'max', 'min' or 'sum'")

    def space(self, sets: tuple[VertexSet, ...]) -> Space:
        """Return the pairs that a graph on these vertex sets may join.

        Args:
            sets: the vertex set, or two.
        """
        if self.bipartite:
            left, right = sets
            return left, right
        return Arcs(sets[0]) if self.directed else sets[0]


@dataclass(slots=True, kw_only=True, repr=False)
class RawEdges:
    """Edges by the identifiers of their source. `assemble` takes the arrays out, to save memory.

    Attributes:
        sources: first endpoints (left ones of bipartite graphs). With `as_rows` they are row
            numbers in the vertex sets of `schema`; else an array of integers, or a `CodedText`
            whose names both endpoints share.
        targets: second endpoints (right ones), in the same form.
        weights: one for each edge, or None.
        users: user of each edge: integers or names, numbered apart from the endpoints; None if
            users are not read, or if the user is an endpoint.
        periods: number of the declared period of each edge, -1 outside them; None without periods.
        schema: public facts that the source declares.
        literal_integers: whether text endpoints become integer labels if all of them are literals
            of integers, as in text files, which have no types.
        as_rows: whether endpoints are row numbers, not identifiers.
        arbitrary_order: whether the order of the vertices may depend on the edges, such as that of
            their first occurrence; labels are then sorted.
        owned: whether the graph may overwrite the arrays, since no other object uses them.
        anonymous: whether the vertices of the source have no labels, as those of a matrix. The
            labels that the caller passes are then theirs, in order. With `as_rows` only.
        both_ways: whether the source may hold (u, v) and (v, u) without a declaration whether they
            are one edge or two arcs, as a matrix does.
        undeclared: whether the source does not declare whether there are weights, so that only
            edges show it.
        columns: which columns were read, if there are columns.
        reading: sentences about columns that were read and rows that are left out; they depend on
            no row.
        left_out: text of a warning about data that are joined or left out although no option of
            the caller says so; a part of `reading`. It depends on the kind of source, its vertices
            and its declared names alone.
        time_zone: public: the time zone in which times of rows have their dates; None if absent.
        bad: collects the kinds of bad rows, those that `assemble` detects, too.
        where: returns the position of an edge in the source in words, such as "line 3", by the
            index of the edge.
        error: class of the errors to raise.
    """

    sources: Identifiers
    targets: Identifiers
    weights: FloatArray | None = None
    users: Identifiers | None = None
    periods: IntVector | None = None
    schema: Schema = field(default_factory=Schema)
    literal_integers: bool = True
    as_rows: bool = False
    owned: bool = False
    anonymous: bool = False
    both_ways: bool = False
    undeclared: bool = False
    arbitrary_order: bool = False
    columns: ColumnPositions | None = None
    reading: str = ""
    left_out: str = ""
    time_zone: str | None = None
    bad: BadRows = field(default_factory=BadRows)
    where: Callable[[int], str]
    error: type[GraphCutsError] = GraphError

    def keep(self, good: BoolVector) -> None:
        """Leave out bad rows if `bad` skips them; else keep all, since `bad.check` will raise.

        Args:
            good: whether each row is kept, shape (rows,).
        """
        if not self.bad.skip or good.all():
            return
        for name in ("sources", "targets", "weights", "users", "periods"):
            values = getattr(self, name)
            if isinstance(values, CodedText):
                setattr(self, name, CodedText(values.codes[good], values.names))
            elif values is not None:
                setattr(self, name, values[good])


def dump_schema(graph: EdgeStore, *, labels: bool = True) -> str:
    """Return the schema as one line of ASCII JSON; without the vertices if `labels` is False."""
    facts: dict[str, Any] = {}
    if labels:
        keys = ("vertices",) if one_set(graph.space) else ("left", "right")
        facts.update(zip(keys, map(labels_or_number, sets_in(graph.space)), strict=True))
    if isinstance(graph.space, Arcs):
        facts["directed"] = True
    facts["weighted"] = graph.weighted
    if graph.weighted and graph.max_weight is not None:
        facts["max_weight"] = graph.max_weight
    if graph.note:
        facts["note"] = graph.note
    return json.dumps(facts)


def load_schema(text: str) -> Schema:
    """Parse a line that `dump_schema` wrote.

    Raises:
        FileFormatError: another line.
    """
    try:
        facts = json.loads(text)
        sides = None
        if "left" in facts or "right" in facts:
            sides = _vertex_set(facts["left"]), _vertex_set(facts["right"])
        weighted, max_weight = facts.get("weighted"), current(facts).get("max_weight")
        if weighted not in (None, True, False):
            raise TypeError
        if isinstance(max_weight, bool | str | list | dict):
            raise TypeError
        directed = facts.get("directed", False)
        if not isinstance(directed, bool):
            raise TypeError
        if max_weight is not None and not (np.isfinite(max_weight) and max_weight > 0):
            raise ValueError
        return Schema(
            vertices=_vertex_set(facts["vertices"]) if "vertices" in facts else None,
            sides=sides,
            directed=directed,
            weighted=weighted,
            max_weight=None if max_weight is None else float(max_weight),
            note=str(facts.get("note", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        raise FileFormatError(
            f"the comment '{MARK}' is damaged; repair it, or delete it and give vertices="
        ) from None


def _vertex_set(value: Any) -> VertexSet:
    """Return the vertex set of a count or a list of labels in JSON."""
    if isinstance(value, str | dict):
        raise TypeError
    if isinstance(value, int) and value > _MOST_VERTICES:
        raise ValueError
    return VertexSet(value)
