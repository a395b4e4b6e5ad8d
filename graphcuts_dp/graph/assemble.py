"""From the edges a file or a library gives to a graph: one set of rules for all of them.

Vertices: those that the caller gives, else those that the source declares, else those that occur.
They are sorted, unless the caller or a file of ours gives an order. Loops are dropped; arcs are
edges, unless a directed graph is asked for; parallel edges are merged; weights above the cap are
clipped to it. No error tells more of the private edges than where the source breaks a rule.

Undirected edges are never read as two arcs: what hides one arc would then hide half an edge.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat
from typing import Any, Literal, cast

import numpy as np

from graphcuts_dp.arrays import FloatArray, IntVector
from graphcuts_dp.errors import GraphCutsError, GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, on_space
from graphcuts_dp.graph.coded_text import CodedText
from graphcuts_dp.graph.schema import Schema, is_integer_literal, labels_of, token_table
from graphcuts_dp.graph.vertices import Arcs, Label, Space, VertexSet

Ends = IntVector | CodedText | Sequence[Label]
Merge = Literal["max", "min", "sum"]
GivenVertices = VertexSet | tuple[VertexSet, VertexSet] | None
UNDIRECTED = "the source holds undirected edges; leave out directed=True"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RawEdges:
    """Edges as the source names them.

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
        anonymous: with `as_rows`: the source has rows but no labels, given ones are put on them.
        reading: which columns were read, and which ignored; empty if the format leaves no choice.
        where: tells the place of an edge by its position, such as "line 3".
        error: class of the errors to raise.
    """

    sources: Ends
    targets: Ends
    weights: FloatArray | None = None
    schema: Schema = field(default_factory=Schema)
    as_text: bool = True
    as_rows: bool = False
    anonymous: bool = False
    arbitrary_order: bool = False
    reading: str = ""
    where: Callable[[int], str]
    error: type[GraphCutsError] = GraphError


def build(raw: RawEdges, options: Options) -> AnyGraph:
    """Graph of the edges, by the rules of this module.

    Raises:
        GraphCutsError: of the class `raw.error`: an end outside the vertex set, a weight that is
            negative or not finite, no vertices, or options that do not fit the source.
    """
    _check_kind(raw, options)
    weights = _weights(raw, options)
    rows, columns, sets = _row_numbers(raw, options)
    cap = options.weight_cap
    if weights is not None:
        if cap is None:
            cap = raw.schema.weight_cap
        if options.merge != "max":  # which the graph does by itself
            add = options.merge == "sum"
            ordered = options.bipartite or options.directed
            rows, columns, weights = _merged(rows, columns, weights, ordered, add)
        if cap is not None:
            weights = np.minimum(weights, cap)
    elif cap not in (None, 1.0):
        raise raw.error("weight_cap needs weights; the source has none, or weighted=False")
    rest: dict[str, Any] = {
        "weight_cap": cap,
        "hide_change": options.hide_change,
        "note": raw.schema.note,
    }
    space: Space = (sets[0], sets[1]) if options.bipartite else sets[0]
    if options.directed:
        space = Arcs(sets[0])
    return on_space(space, rows, columns, weights, **rest)


def _check_kind(raw: RawEdges, options: Options) -> None:
    if raw.schema.sides is not None and not options.bipartite:
        raise raw.error("the source holds a bipartite graph; pass bipartite=True")
    if raw.schema.vertices is not None and options.bipartite:
        raise raw.error("the source declares one vertex set, not two; leave out bipartite=True")
    if raw.schema.directed and not options.directed:
        raise raw.error("the source holds a directed graph; pass directed=True")
    if options.directed and raw.schema.directed is False:
        raise raw.error(UNDIRECTED)


def _weights(raw: RawEdges, options: Options) -> FloatArray | None:
    if options.weighted is False or (options.weighted is None and raw.schema.weighted is False):
        return None
    if raw.weights is None:
        if options.weighted or raw.schema.weighted:
            if len(raw.sources):
                raise raw.error("the source has no weights; leave out weighted=True")
            return np.zeros(0)
        return None
    good = np.isfinite(raw.weights) & (raw.weights >= 0)
    if not good.all():
        place = raw.where(int(np.argmin(good)))
        raise raw.error(f"{place}: a weight is negative or not finite; weights must be >= 0")
    return raw.weights


def _row_numbers(
    raw: RawEdges, options: Options
) -> tuple[IntVector, IntVector, tuple[VertexSet, ...]]:
    declared = raw.schema.sides if options.bipartite else raw.schema.vertices
    given = options.vertices
    if raw.as_rows:
        return _relabelled(raw, given, declared)
    ends: list[Ends] = [raw.sources, raw.targets]
    if options.one_based:
        ends = [_shifted(end, raw) for end in ends]
    public = given if given is not None else declared
    if public is None:
        rows, columns, found = _occurring(ends, raw, options.bipartite)
        if options.public_vertices:
            return rows, columns, found
        return rows, columns, tuple(VertexSet(each, inferred=True) for each in found)
    sets = public if isinstance(public, tuple) else (public,)
    places = [
        _find(end, vertices, raw) for end, vertices in zip(ends, (sets[0], sets[-1]), strict=True)
    ]
    return places[0], places[1], sets


def _relabelled(
    raw: RawEdges, given: GivenVertices, declared: GivenVertices
) -> tuple[IntVector, IntVector, tuple[VertexSet, ...]]:
    """Row numbers as they are, or moved to where the given vertex set has the same labels."""
    assert declared is not None  # noqa: S101  # rows are rows of something
    old = declared if isinstance(declared, tuple) else (declared,)
    ends = [np.asarray(raw.sources, dtype=np.int64), np.asarray(raw.targets, dtype=np.int64)]
    if given is None and not raw.arbitrary_order:
        return ends[0], ends[1], old
    if given is None:
        new = tuple(VertexSet(sorted(vertices.labels, key=_label_order)) for vertices in old)
    else:
        new = given if isinstance(given, tuple) else (given,)
    if raw.anonymous:
        if [len(vertices) for vertices in old] != [len(vertices) for vertices in new]:
            raise raw.error("the number of given vertices differs from that of the matrix")
        return ends[0], ends[1], new
    moves = []
    for before, after in zip(old, new, strict=True):
        names = list(map(str, before.labels)) if raw.as_text else list(before.labels)
        moves.append(_find(names, after, raw, of_edges=False))
    return moves[0][ends[0]], moves[-1][ends[1]], new


def _shifted(ends: Ends, raw: RawEdges) -> Ends:
    """Ids 1, 2, ... as 0, 1, ..."""
    if isinstance(ends, np.ndarray):
        bad = ends < 1
        if bad.any():
            raise raw.error(f"{raw.where(int(np.argmax(bad)))}: one_based ids are 1 or more")
        return ends - 1
    labels = listed(ends)
    for position, end in enumerate(labels):
        if not is_integer_literal(str(end)) or str(end)[0] in "-0":
            raise raw.error(f"{raw.where(position)}: one_based needs integer ids of 1 or more")
    return [str(int(end) - 1) for end in labels]


def _find(ends: Ends, vertices: VertexSet, raw: RawEdges, *, of_edges: bool = True) -> IntVector:
    """Row numbers of the ends in a public vertex set."""
    rows: IntVector
    if isinstance(ends, np.ndarray) and vertices.is_default:
        rows = np.where(ends < len(vertices), ends, -1)
    elif isinstance(ends, np.ndarray):
        distinct, inverse = np.unique(ends, return_inverse=True)
        names: list[Any] = distinct.tolist()
        if raw.as_text:
            names = list(map(str, names))
        look = _lookup(vertices, raw)
        rows = np.array([look(name, -1) for name in names], dtype=np.int64)[inverse]
    elif isinstance(ends, CodedText):
        look = _lookup(vertices, raw)
        rows = np.array([look(name, -1) for name in ends.names], dtype=np.int64)[ends.codes]
    else:
        look = _lookup(vertices, raw)
        rows = np.fromiter(map(look, ends, repeat(-1)), dtype=np.int64, count=len(ends))
    if len(rows) and rows.min() < 0:
        place = f"{raw.where(int(np.argmax(rows < 0)))}: " if of_edges else ""
        hint = "" if not vertices.is_default else f" 0..{len(vertices) - 1}"
        raise raw.error(f"{place}a vertex is not in the public vertex set{hint}")
    return rows


def _lookup(vertices: VertexSet, raw: RawEdges) -> Callable[[Any, int], int]:
    if not raw.as_text:
        table: dict[Any, int] = {label: row for row, label in enumerate(vertices.labels)}
        return table.get
    return token_table(vertices).get


def _occurring(
    ends: list[Ends], raw: RawEdges, bipartite: bool
) -> tuple[IntVector, IntVector, tuple[VertexSet, ...]]:
    """The vertices that occur, sorted, and row numbers in them."""
    if not len(ends[0]):
        raise raw.error("no edges and no vertices; give the public vertex set with vertices=")
    if bipartite:
        left, rows = _ranked(ends[0], raw)
        right, columns = _ranked(ends[1], raw)
        return rows, columns, (left, right)
    vertices, both = _ranked(_joined(*ends), raw)
    return both[: len(ends[0])], both[len(ends[0]) :], (vertices,)


def _joined(first: Ends, second: Ends) -> Ends:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.concatenate([first, second])
    if isinstance(first, CodedText) and isinstance(second, CodedText):
        return CodedText(np.concatenate([first.codes, second.codes]), first.names)
    return [*listed(first), *listed(second)]


def listed(ends: Ends) -> Sequence[Label]:
    """The ends as labels, one after the other."""
    if isinstance(ends, np.ndarray):
        return cast(list[Label], ends.tolist())
    return ends.listed() if isinstance(ends, CodedText) else ends


def _ranked(ends: Ends, raw: RawEdges) -> tuple[VertexSet, IntVector]:
    if isinstance(ends, np.ndarray):
        labels, rows = _ranked_integers(ends)
        return VertexSet(labels), rows
    if isinstance(ends, CodedText):
        used, found = _ranked_integers(ends.codes)
        distinct: list[Label] = [ends.names[i] for i in used.tolist()]
    else:
        # One pass over the ends: each new one gets the next number.
        table: defaultdict[Label, int] = defaultdict(count().__next__)
        found = np.fromiter(map(table.__getitem__, ends), dtype=np.int64, count=len(ends))
        distinct = list(table)
    names = labels_of(cast(list[str], distinct)) if raw.as_text else distinct
    alike = len({type(name) for name in names}) == 1  # then no key is needed, which is faster
    key: Any = names.__getitem__ if alike else lambda i: _label_order(names[i])
    order = sorted(range(len(names)), key=key)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return VertexSet([names[i] for i in order]), ranks[found]


def _label_order(label: Label) -> tuple[bool, Label]:
    return isinstance(label, str), label  # integers by size, then strings by letters


def _ranked_integers(ends: IntVector) -> tuple[IntVector, IntVector]:
    low, high = int(ends.min()), int(ends.max())
    if high - low >= 4 * len(ends) + 1024:
        labels, rows = np.unique(ends, return_inverse=True)
        return labels, rows.astype(np.int64)
    shifted = ends - low if low else ends
    present = np.zeros(high - low + 1, dtype=np.bool_)
    present[shifted] = True
    labels = np.flatnonzero(present) + low
    if len(labels) == len(present):
        return labels, shifted
    return labels, (np.cumsum(present) - 1)[shifted]


def _merged(
    rows: IntVector, columns: IntVector, weights: FloatArray, ordered: bool, add: bool
) -> tuple[IntVector, IntVector, FloatArray]:
    """One edge between the same two vertices: the sum of their weights, or the smallest."""
    if not len(rows):
        return rows, columns, weights
    if not ordered:
        rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
    keys = (rows << np.int64(32)) | columns
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    with np.errstate(over="ignore"):
        total = (np.add if add else np.minimum).reduceat(weights[order], first)
    return rows[order][first], columns[order][first], np.minimum(total, np.finfo(float).max)


def split_sides(
    ends: Sequence[IntVector],
    labels: Sequence[Label],
    sides: Sequence[int | None],
    where: Callable[[int], str],
    error: type[GraphCutsError],
) -> tuple[list[IntVector], tuple[VertexSet, VertexSet]]:
    """Row numbers within the left and the right side, and both vertex sets.

    Args:
        ends: row numbers of both ends of each edge among all vertices.
        labels: label of each vertex.
        sides: for each vertex 0 (left) or 1 (right); None where the source does not tell.
        where: place of an edge.
        error: class of the errors to raise.

    Raises:
        GraphCutsError: a vertex without a side, an edge within a side, or an empty side.
    """
    if len(sides) != len(labels) or not all(side in (0, 1) for side in sides):
        raise error(
            "bipartite=True needs a side for every vertex: attribute bipartite 0 or 1 (or igraph's "
            "type; in Pajek '*Vertices n n_left')"
        )
    side = np.array(sides, dtype=np.int64)
    if not 0 < side.sum() < len(side):
        raise error("a bipartite graph needs at least one vertex on each side")
    within = np.where(side == 0, np.cumsum(side == 0), np.cumsum(side == 1)) - 1
    wrong = side[ends[0]] == side[ends[1]]
    if wrong.any():
        place = where(int(np.argmax(wrong)))
        raise error(f"{place}: an edge joins two vertices of the same side")
    turned = side[ends[0]] == 1
    left, right = np.where(turned, ends[1], ends[0]), np.where(turned, ends[0], ends[1])
    sets = [
        VertexSet([label for label, own in zip(labels, sides, strict=True) if own == wanted])
        for wanted in (0, 1)
    ]
    return [within[left], within[right]], (sets[0], sets[1])
