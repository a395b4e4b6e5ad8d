"""From the edges a file or a library gives to a graph: one set of rules for all of them.

Vertices: those that the caller gives, else those that the source declares, else those that occur.
They are sorted, unless the caller or a file of ours gives an order. Loops are dropped; arcs are
edges, unless a directed graph is asked for; parallel edges are one edge, whose weights are added;
weights above the cap are clipped to it. No error tells more of the private edges than where the
source breaks a rule.

Undirected edges are never read as two arcs: what hides one arc would then hide half an edge.

The schema is all that a file tells beside its edges, all of it public: vertices, weighted or not,
maximum weight. Formats that cannot say it themselves carry it as one line of JSON after the mark
`MARK`, so that a round trip keeps isolated vertices, the order and the types of labels, and the
maximum weight.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import compress, count, repeat
from numbers import Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatArray, IntegerVector, IntVector
from graphcuts_dp.errors import FileFormatError, GraphCutsError, GraphError, ParameterError
from graphcuts_dp.former_names import current
from graphcuts_dp.io.codes import CodedText, Ends
from graphcuts_dp.io.edge_store import (
    ABOVE_OPEN,
    ADDED,
    LARGEST_OPEN,
    EdgeParts,
    EdgeStore,
    Merge,
    pieces,
)
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.columns import ColumnPlaces, Columns, is_integer_literal, parse_number
from graphcuts_dp.schema.counting import Counting
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.text_rows import MARK, labels_of
from graphcuts_dp.schema.vertices import (
    Arcs,
    Label,
    Space,
    VertexSet,
    label_order,
    labels_or_number,
    one_set,
    sets_in,
)


@dataclass(frozen=True, slots=True)
class Schema:
    """Public facts about a graph; None where nothing is said.

    Attributes:
        vertices: vertex set of a `Graph` or a `DirectedGraph`.
        sides: left and right vertex sets of a `BipartiteGraph`.
        directed: whether one of our own files holds a `DirectedGraph`; None: it is not ours.
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


def token_table(vertices: VertexSet) -> dict[str, int]:
    """Return the row number of each label as text; a `VertexSet` has each text once."""
    return vertices.text_index


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
    if graph.weighted and graph.max_weight is not None:
        facts["max_weight"] = graph.max_weight
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
        weighted, cap = facts.get("weighted"), current(facts).get("max_weight")
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
            max_weight=None if cap is None else float(cap),
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


GivenVertices = VertexSet | tuple[VertexSet, VertexSet] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the caller says about the source; see `Graph.read` for each.

    Attributes:
        columns: which columns are read, and how.
        vertices: the public vertex sets; None to take those of the source.
        weighted: whether weights are read; None to follow the source.
        max_weight: public maximum of a weight.
        max_weight_change: 1, or None: how much neighbours differ in a weight without a maximum.
        public_vertices: whether vertices that occur in edges are declared to be public.
        bipartite: whether there are two sides.
        directed: whether edges are arcs.
        merge: weight of an edge that occurs several times: "max", "min" or "sum".
        periods: those that are declared for rows with periods.
        counting: what rows count; of a graph it is not asked.
        weight_unit: the weight of one step of what they count.
    """

    columns: Columns = field(default_factory=Columns)
    vertices: GivenVertices = None
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

    def space(self, sets: tuple[VertexSet, ...]) -> Space:
        """What may be joined of one vertex set, or of two.

        Args:
            sets: the vertex set, or two.
        """
        if self.bipartite:
            return sets[0], sets[1]
        return Arcs(sets[0]) if self.directed else sets[0]

    def __post_init__(self) -> None:
        cap = self.max_weight
        if cap is not None and not (np.isfinite(cap) and cap > 0):
            raise ParameterError("max_weight must be a positive, finite number")
        if self.merge not in (None, "max", "min", "sum"):
            raise ParameterError("merge must be 'max', 'min' or 'sum'")


@dataclass(slots=True, kw_only=True, repr=False)
class RawEdges:
    """Edges as the source names them, once: `build` takes them out.

    Attributes:
        sources: first (for bipartite graphs: left) ends. Integers in an array, or labels by
            number (both ends then have one list of names), or with `as_rows` row numbers in the
            vertex sets of `schema`.
        targets: second (right) ends, likewise.
        weights: one for each edge, or None.
        users: of each edge: integers or names, which share no numbers with the ends; None where
            none is asked for, or where the user is one of the ends.
        periods: number of the declared period of each edge, -1 for another one; None without.
        schema: what the source declares.
        literal_integers: whether ends that are text become integer labels where all of them are
            literals of integers, as in text files, which have no types.
        as_rows: ends are row numbers.
        arbitrary_order: the source is in an order that may tell of its edges, such as that of
            their first occurrence; labels are then sorted.
        owned: nobody else has the arrays, so that `build` may write what it makes into them.
        anonymous: with `as_rows`: the source has rows but no labels, given ones are put on them.
        both_ways: a pair may be named in both directions, and the source does not declare whether
            that is one edge or two arcs.
        undeclared: whether there are weights is told by the edges alone.
        columns: which columns were read, if there are columns.
        reading: sentences that say so, and which rows are left out; they depend on no row.
        left_out: of these, what is joined or left out although the caller has said nothing of it;
            it depends on the kind of source, its vertices and its declared names alone.
        time_zone: public: in which the times of rows have their dates; None without.
        bad: the kinds of bad rows that were met; where these are left out, `numbered` leaves out
            those of its own tests.
        where: tells the place of an edge by its position, such as "line 3".
        error: class of the errors to raise.
    """

    sources: Ends
    targets: Ends
    weights: FloatArray | None = None
    users: Ends | None = None
    periods: IntVector | None = None
    schema: Schema = field(default_factory=Schema)
    literal_integers: bool = True
    as_rows: bool = False
    owned: bool = False
    anonymous: bool = False
    both_ways: bool = False
    undeclared: bool = False
    arbitrary_order: bool = False
    columns: ColumnPlaces | None = None
    reading: str = ""
    left_out: str = ""
    time_zone: str | None = None
    bad: BadRows = field(default_factory=BadRows)
    where: Callable[[int], str]
    error: type[GraphCutsError] = GraphError

    def keep(self, good: BoolVector) -> None:
        """Keep some rows. Where bad ones are refused, that is done later: nothing changes here.

        Args:
            good: whether each row is kept, shape (rows,).
        """
        if not self.bad.skip or good.all():
            return
        for name in ("sources", "targets", "weights", "users", "periods"):
            values = getattr(self, name)
            setattr(self, name, None if values is None else some_of(values, good))


def merging(raw: RawEdges, options: Options) -> Merge:
    """Return what becomes of the weights of parallel edges.

    They are added if nothing else is said; but both entries of a pair in a matrix that does not
    declare whether they are one edge or two give the larger one.
    """
    return options.merge or ("max" if raw.both_ways else ADDED)


UNDIRECTED = "the source holds undirected edges; it is no DirectedGraph"


def some_of(values: Any, good: BoolVector) -> Any:
    """Some of the ends, users, periods or weights of rows."""
    if isinstance(values, np.ndarray):
        return values[good]
    if isinstance(values, CodedText):
        return CodedText(values.codes[good], values.names)
    return list(compress(values, good))


def numbered(
    raw: RawEdges, options: Options, *, complete: bool = True
) -> tuple[Space, EdgeParts, float | None]:
    """What may be joined, the edges by row numbers in it, and the cap on weights if there is one.

    Bad rows are left out of the users and periods, too, if `raw.bad` says so.

    Args:
        raw: the edges.
        options: of the reader.
        complete: whether these are all rows of the source, so that bad ones are refused now.

    Raises:
        GraphCutsError: of the class `raw.error`: bad rows, all kinds at once, such as an end
            outside the vertex set, or a weight that is negative or not finite; no vertices, or
            options that do not fit the source.
    """
    _check_kind(raw, options)
    raw.weights = _weights(raw, options)
    rows, columns, sets = row_numbers(raw, options)
    if complete:
        raw.bad.check(raw.error)
    known = (rows >= 0) & (columns >= 0)
    if not known.all():
        raw.keep(known)
        rows, columns = rows[known], columns[known]
    weights = raw.weights
    cap = options.max_weight
    if weights is not None:
        if cap is None:
            cap = raw.schema.max_weight
    elif cap not in (None, 1.0):
        raise raw.error(
            "max_weight needs weights, and none were read; does a column hold them? pass "
            "weight= if so, and no weighted=False"
        )
    parts = EdgeParts(rows, columns, weights, owned=raw.owned)
    # From here on they are in `parts` alone, which the graph empties as it goes.
    raw.sources = raw.targets = np.zeros(0, dtype=np.int64)
    raw.weights = None
    return options.space(sets), parts, cap


def _check_kind(raw: RawEdges, options: Options) -> None:
    if raw.schema.sides is not None and not options.bipartite:
        raise raw.error("the source holds a bipartite graph; make it a BipartiteGraph")
    if raw.schema.vertices is not None and options.bipartite:
        raise raw.error("the source declares one vertex set, not two; it is no BipartiteGraph")
    if raw.schema.directed and not options.directed:
        raise raw.error("the source holds a directed graph; make it a DirectedGraph")
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
        if raw.undeclared and options.weighted is None and not len(raw.sources):
            return _no_weights(raw, options)
        return None
    if raw.both_ways and options.merge == "sum":
        raise raw.error(
            "the matrix does not declare whether two entries of a pair are one edge or two arcs: "
            "leave out merge='sum' if it is symmetric, or add it to its transpose first"
        )
    good = np.isfinite(raw.weights) & (raw.weights >= 0)
    if not good.all():
        place = raw.where(int(np.argmin(good)))
        bad = int(np.count_nonzero(~good))
        raw.bad.add("a weight is negative or not finite; weighted=False reads none", place, bad)
        raw.keep(good)
    cap = raw.schema.max_weight if options.max_weight is None else options.max_weight
    if cap is None and options.max_weight_change is not None:
        known = raw.weights <= LARGEST_OPEN
        if raw.bad.skip:
            # Left out, a row of 2^40 + 1 would move the weight of its pair by 2^40 where it
            # changes by 1. So it counts as 2^40, as sums of rows do.
            return np.minimum(raw.weights, LARGEST_OPEN)
        if not known.all():
            raw.bad.add(ABOVE_OPEN, raw.where(int(np.argmin(known))))
    return raw.weights


def _no_weights(raw: RawEdges, options: Options) -> FloatArray | None:
    """The weights of no edges, which the options must tell: with one edge more it would do so."""
    if options.max_weight not in (None, 1.0):
        return np.zeros(0)  # edges without weights would be refused
    if options.max_weight is not None or options.max_weight_change is not None:
        raise raw.error("nothing declares whether there are weights; pass weighted=True or False")
    return None  # an edge with a weight, which has no bound then, would be refused later


def edges_by_rows(
    ends: Sequence[IntegerVector],
    labels: Sequence[Label],
    sides: Sequence[int | None],
    weights: FloatArray | None,
    options: Options,
    *,
    schema: Schema = Schema(),  # frozen
    where: Callable[[int], str],
    error: type[GraphCutsError] = GraphError,
    **told: Any,
) -> RawEdges:
    """Edges between vertices that the source lists.

    Args:
        ends: row numbers of both ends of each edge among all vertices.
        labels: label of each vertex.
        sides: for each vertex 0 (left) or 1 (right); None where the source does not tell.
        weights: of each edge, or None.
        options: whether there are two sides.
        schema: what else the source declares.
        where: place of an edge.
        error: class of the errors to raise.
        told: other fields of `RawEdges`.

    Raises:
        GraphCutsError: of two sides: a vertex without one, an edge within one, or an empty one;
            else a label twice.
    """
    if options.bipartite:
        ends, sets = _split_sides(ends, labels, sides, where, error)
        schema = replace(schema, sides=sets)
    elif len(set(labels)) != len(labels):
        raise error("a vertex label occurs twice; if meant, make it a BipartiteGraph")
    else:
        schema = replace(schema, vertices=VertexSet(labels))
    return RawEdges(
        sources=ends[0],
        targets=ends[1],
        weights=weights,
        schema=schema,
        as_rows=True,
        where=where,
        error=error,
        **told,
    )


def named_attribute(options: Options) -> str | None:
    """Return the edge attribute that the caller names as the weight, None if none is named.

    Raises:
        GraphError: something else is said about columns, or the weights shall not be read.
    """
    columns = options.columns
    if columns != Columns(weight=columns.weight, encoding=columns.encoding) or isinstance(
        columns.weight, int
    ):
        raise GraphError("of a graph only the weight can be named: columns=Columns(weight=NAME)")
    if columns.weight is not None and options.weighted is False:
        raise GraphError("pass weight= or weighted=False, not both")
    return columns.weight


def other_attributes(read: Sequence[str]) -> str:
    """Return a sentence about the edge attributes of a source that declares none of them."""
    names = " and ".join(map(repr, read))
    return f"Edge attributes other than {names:.60} are ignored; weight= names another one."


def listed_weights(
    values: Sequence[Any],
    options: Options,
    declared: bool | None,
    where: Callable[[int], str],
    error: type[GraphCutsError] = GraphError,
) -> FloatArray | None:
    """The weights of edges that each tell their own; None if there are none.

    Args:
        values: numbers, or text; None of an edge that tells none.
        options: whether weights are read.
        declared: whether the source says that there are weights; None if it does not say.
        where: place of an edge.
        error: class of the errors to raise.

    Raises:
        GraphCutsError: an edge with a weight where none shall be, or without one, or no number.
    """
    if options.weighted is False:
        return None
    missing = [value is None for value in values]
    if not declared and all(missing):
        return None
    if declared is False and options.weighted is None:
        raise error(
            f"{where(missing.index(False))}: an edge has a weight though the file declares that "
            "none has; pass weighted=True or weighted=False"
        )
    if any(missing):
        raise error(
            f"{where(missing.index(True))}: an edge has no weight though others have, or weights "
            "are declared; add it, or pass weighted=False"
        )
    return numbers(values, where, error)


def numbers(
    values: Any, where: Callable[[int], str], error: type[GraphCutsError] = GraphError
) -> FloatArray:
    """Weights as floats; an error tells where one is no number."""
    weights, good = as_numbers(values)
    if not good.all():
        raise error(f"{where(int(np.argmin(good)))}: the weight is not a number")
    return weights


def as_numbers(values: Any) -> tuple[FloatArray, BoolVector]:
    """Weights as floats, and which of them are numbers; in place of others there is NaN."""
    stored = isinstance(values, np.ndarray) and values.dtype.kind in "iuf"
    if stored or set(map(type, values)) <= {int, float}:
        with suppress(OverflowError):
            return np.asarray(values, dtype=np.float64), np.ones(len(values), dtype=np.bool_)
    converted = [_number(value) for value in values]
    good = np.fromiter((number is not None for number in converted), np.bool_, len(converted))
    return np.array(converted, dtype=np.float64), good


def _number(value: Any) -> float | None:
    """Return a number, or a text of one, as a float; None of a truth value and of all else."""
    if isinstance(value, str):
        return parse_number(value)
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):
        return None


def _split_sides(
    ends: Sequence[IntegerVector],
    labels: Sequence[Label],
    sides: Sequence[int | None],
    where: Callable[[int], str],
    error: type[GraphCutsError],
) -> tuple[list[IntVector], tuple[VertexSet, VertexSet]]:
    """Row numbers within the left and the right side, and both vertex sets."""
    if len(sides) != len(labels) or not all(side in (0, 1) for side in sides):
        raise error(
            "a BipartiteGraph needs a side for every vertex: attribute bipartite 0 or 1 (or "
            "igraph's type; in Pajek '*Vertices n n_left')"
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


_Change = Callable[[IntegerVector], IntegerVector]


def row_numbers(
    raw: RawEdges, options: Options
) -> tuple[IntegerVector, IntegerVector, tuple[VertexSet, ...]]:
    """Row numbers of both ends of each edge, and the vertex set, or both sets, that they count in.

    Raises:
        GraphCutsError: of the class `raw.error`: an end outside the given set, or no vertices.
    """
    declared = raw.schema.sides if options.bipartite else raw.schema.vertices
    given = options.vertices
    if raw.as_rows:
        return _relabelled(raw, given, declared)
    ends = _shifted(raw) if options.columns.one_based else [raw.sources, raw.targets]
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
) -> tuple[IntegerVector, IntegerVector, tuple[VertexSet, ...]]:
    """Row numbers as they are, or moved to where the given vertex set has the same labels."""
    assert declared is not None  # noqa: S101  # rows are rows of something
    old = declared if isinstance(declared, tuple) else (declared,)
    ends = [np.asarray(raw.sources, dtype=np.int64), np.asarray(raw.targets, dtype=np.int64)]
    if given is None and not raw.arbitrary_order:
        return ends[0], ends[1], old
    if given is None:
        new = tuple(VertexSet(sorted(vertices.labels, key=label_order)) for vertices in old)
    else:
        new = given if isinstance(given, tuple) else (given,)
    if raw.anonymous:
        if [len(vertices) for vertices in old] != [len(vertices) for vertices in new]:
            raise raw.error("the number of given vertices differs from that of the matrix")
        return ends[0], ends[1], new
    moves = []
    for before, after in zip(old, new, strict=True):
        names = list(map(str, before.labels))
        moves.append(_find(numbered_labels(names)[0], after, raw, of_edges=False))
    return moves[0][ends[0]], moves[-1][ends[1]], new


def numbered_labels(*ends: Sequence[Label]) -> list[CodedText]:
    """Lists of labels by number, in the order in which they come first in any of them."""
    table: defaultdict[Label, int] = defaultdict(count().__next__)
    codes = [
        np.fromiter(map(table.__getitem__, each), dtype=np.int64, count=len(each)) for each in ends
    ]
    names = cast(list[str], list(table))
    return [CodedText(each, names) for each in codes]


def codes_and_names(ends: Ends) -> tuple[IntegerVector, Sequence[Any]]:
    """Ends, users or periods by number, and what each number stands for."""
    if isinstance(ends, CodedText):
        return ends.codes, ends.names
    distinct, codes = np.unique(ends, return_inverse=True)
    return codes, distinct.tolist()


def _shifted(raw: RawEdges) -> list[Ends]:
    """Ids 1, 2, ... as 0, 1, ...; both ends of each edge."""
    names: list[str] = []  # of ids that are none, empty ones
    if isinstance(raw.sources, CodedText):
        names = [_less_by_one(str(name)) for name in raw.sources.names]
    known = np.array([*map(bool, names)], dtype=np.bool_)
    good = np.ones(len(raw.sources), dtype=np.bool_)
    for ends in (raw.sources, raw.targets):
        good &= known[ends.codes] if isinstance(ends, CodedText) else ends >= 1
    if not good.all():
        place, bad = raw.where(int(np.argmin(good))), int(np.count_nonzero(~good))
        raw.bad.add("one_based needs integer ids of 1 or more", place, bad)
        raw.keep(good)
        raw.bad.check(raw.error)  # what is no number cannot be looked up
    return [
        CodedText(ends.codes, names)
        if isinstance(ends, CodedText)
        else _changed(ends, lambda piece: piece - 1, raw.owned)
        for ends in (raw.sources, raw.targets)
    ]


def _less_by_one(name: str) -> str:
    plain = is_integer_literal(name) and name[0] not in "-0" and len(name) < 4000
    return str(int(name) - 1) if plain else ""


def _find(
    ends: IntegerVector | CodedText, vertices: VertexSet, raw: RawEdges, *, of_edges: bool = True
) -> IntegerVector:
    """Row numbers of the ends in a public vertex set."""
    rows: IntegerVector
    if isinstance(ends, np.ndarray) and vertices.is_default:
        n = len(vertices)
        rows = _changed(ends, lambda piece: np.where(piece < n, piece, -1), raw.owned)
    elif isinstance(ends, np.ndarray):
        distinct, (codes,) = _coded([ends], raw.owned)
        rows = _looked_up(codes, list(map(str, distinct.tolist())), vertices, raw)
    else:
        rows = _looked_up(ends.codes, [*map(str, ends.names)], vertices, raw)
    if len(rows) and rows.min() < 0:
        hint = "" if not vertices.is_default else f" 0..{len(vertices) - 1}"
        what = f"a vertex is not in the public vertex set{hint}"
        if not of_edges:
            raise raw.error(what)
        place, bad = raw.where(int(np.argmax(rows < 0))), int(np.count_nonzero(rows < 0))
        raw.bad.add(f"{what} that vertices= tells", place, bad)
    return rows


def _looked_up(
    codes: IntegerVector, names: Sequence[Any], vertices: VertexSet, raw: RawEdges
) -> IntegerVector:
    look = token_table(vertices).get
    table = np.fromiter(map(look, names, repeat(-1)), dtype=np.int32, count=len(names))
    return _changed(codes, table.__getitem__, raw.owned)


def _occurring(
    ends: list[IntegerVector | CodedText], raw: RawEdges, bipartite: bool
) -> tuple[IntegerVector, IntegerVector, tuple[VertexSet, ...]]:
    """The vertices that occur, sorted, and row numbers in them."""
    if not len(ends[0]):
        raw.bad.check(raw.error)
        raise raw.error("no edges and no vertices; give the public vertex set with vertices=")
    if bipartite:
        left, (rows,) = _ranked(ends[:1], raw)
        right, (columns,) = _ranked(ends[1:], raw)
        return rows, columns, (left, right)
    vertices, (rows, columns) = _ranked(ends, raw)
    return rows, columns, (vertices,)


def _ranked(
    ends: list[IntegerVector | CodedText], raw: RawEdges
) -> tuple[VertexSet, list[IntegerVector]]:
    """The vertices that occur in some arrays of ends, sorted, and row numbers in them."""
    found: list[IntegerVector]
    if all(isinstance(each, np.ndarray) for each in ends):
        labels, found = _coded(cast(list[IntegerVector], ends), raw.owned)
        return VertexSet(labels), found
    texts = cast(list[CodedText], ends)
    used, found = _coded([text.codes for text in texts], raw.owned)
    names = texts[0].names
    distinct = [names[i] for i in used.tolist()]
    labelled: Sequence[Label] = labels_of(distinct) if raw.literal_integers else distinct
    alike = len({type(name) for name in labelled}) == 1  # then no key is needed, which is faster
    key: Any = labelled.__getitem__ if alike else lambda i: label_order(labelled[i])
    order = sorted(range(len(labelled)), key=key)
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order))
    vertices = VertexSet([labelled[i] for i in order])
    return vertices, [_changed(codes, ranks.__getitem__, raw.owned) for codes in found]


def _coded(ends: list[IntegerVector], owned: bool) -> tuple[IntVector, list[IntegerVector]]:
    """The distinct integers of some arrays, sorted, and for each entry its place among them."""
    size = sum(map(len, ends))
    low = min(int(each.min()) for each in ends if len(each)) if size else 0
    high = max(int(each.max()) for each in ends if len(each)) if size else -1
    if high - low >= 4 * size + 1024:
        labels = _distinct(ends)
        return labels, [_changed(each, lambda p: _places(labels, p), owned) for each in ends]
    present = np.zeros(high - low + 1, dtype=np.bool_)
    for each in ends:
        for piece in pieces(each):
            present[piece - low] = True
    labels = np.flatnonzero(present) + low
    if len(labels) == len(present):
        return labels, [_changed(each, lambda piece: piece - low, owned) for each in ends]
    table = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return labels, [_changed(each, lambda piece: table[piece - low], owned) for each in ends]


def _distinct(ends: list[IntegerVector]) -> IntVector:
    """The distinct integers of some arrays, sorted; pieces join when as many have come."""
    found = np.empty(0, dtype=np.int64)
    pending: list[npt.NDArray[Any]] = []
    count = 0
    for each in ends:
        for piece in pieces(each):
            pending.append(np.unique(piece))
            count += len(pending[-1])
            if count > len(found):
                found, pending, count = np.unique(np.concatenate([found, *pending])), [], 0
    return np.unique(np.concatenate([found, *pending])).astype(np.int64)


def _places(labels: IntVector, piece: IntegerVector) -> IntegerVector:
    distinct, inverse = np.unique(piece, return_inverse=True)
    return np.searchsorted(labels, distinct)[inverse]


def _changed(ends: IntegerVector, change: _Change, owned: bool) -> IntegerVector:
    """change(ends), where they are if they may be written over."""
    out = ends if owned and ends.flags.writeable else np.empty(len(ends), dtype=ends.dtype)
    for old, new in zip(pieces(ends), pieces(out), strict=True):
        new[:] = change(old)
    return out
