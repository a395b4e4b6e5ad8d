"""Assemble a graph's edges from those of a file or a library, by one set of rules for all of them.

Vertices are those that the caller passes, else those that the source declares, else those that
occur. They are sorted, unless the caller or a file of this package gives an order. Loops are
dropped; arcs are edges, unless a directed graph is read; parallel edges are one edge, whose weights
are added; weights above the maximum are clipped to it. Errors reveal no more of the private edges
than the position at which the source breaks a rule.

Undirected edges are never read as two arcs: a guarantee for one arc would then hide half an edge.

Read `assemble` first. Below it are functions that readers call before it: `edges_by_rows` for
sources whose edges are row numbers in a list of vertices, `named_attribute` for graphs whose edges
have attributes, and `listed_weights` for weights of any type.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatArray, IntegerVector, IntVector
from graphcuts_dp.errors import GraphCutsError, GraphError
from graphcuts_dp.io.edge_store import ABOVE_OPEN, DEFAULT_MERGE, LARGEST_OPEN, EdgeParts, Merge
from graphcuts_dp.io.numbering import row_numbers
from graphcuts_dp.io.raw_edges import Options, RawEdges, Schema
from graphcuts_dp.schema.columns import Columns, parse_number
from graphcuts_dp.schema.vertices import Label, Space, VertexSet

# The error of undirected edges for a `DirectedGraph`.
UNDIRECTED = "the source holds undirected edges; it is no DirectedGraph"


def assemble(
    raw: RawEdges, options: Options, *, complete: bool = True
) -> tuple[Space, EdgeParts, float | None]:
    """Return the space of a graph, its edges by row numbers, and the maximum weight or None.

    The arrays of edges move from `raw` to the result. The users and periods stay in `raw`, without
    those of bad rows if bad rows are skipped.

    Args:
        raw: the edges.
        options: of the reader.
        complete: whether `raw` has all rows of the source, so that bad ones are refused now. Else
            the caller refuses them after the last batch.

    Raises:
        GraphCutsError: of the class `raw.error`: bad rows, all kinds at once, such as an endpoint
            outside the vertex set, or a weight that is negative or not finite; no vertices, or
            options that do not fit the source.
    """
    _check_kind(raw, options)
    max_weight = raw.schema.max_weight if options.max_weight is None else options.max_weight
    raw.weights = _sound_weights(raw, options, max_weight)
    rows, columns, sets = row_numbers(raw, options)
    if complete:
        raw.bad.check(raw.error)
    is_known = (rows >= 0) & (columns >= 0)
    if not is_known.all():
        raw.keep(is_known)
        rows, columns = rows[is_known], columns[is_known]
    if raw.weights is None:
        if options.max_weight not in (None, 1.0):  # 1 is what an edge without a weight counts
            raise raw.error(
                "max_weight needs weights, and none were read; does a column hold them? pass "
                "weight= if so, and no weighted=False"
            )
        max_weight = options.max_weight
    parts = EdgeParts(rows, columns, raw.weights, owned=raw.owned)
    # From here on the arrays are in `parts` alone, which the graph empties.
    raw.sources = raw.targets = np.zeros(0, dtype=np.int64)
    raw.weights = None
    return options.space(sets), parts, max_weight


def merge_rule(raw: RawEdges, options: Options) -> Merge:
    """Return how the weights of parallel edges are merged.

    They are added by default. In a matrix that does not declare whether the two entries of a pair
    are one edge or two, the larger entry counts.
    """
    return options.merge or ("max" if raw.both_ways else DEFAULT_MERGE)


def edges_by_rows(
    endpoints: Sequence[IntegerVector],
    labels: Sequence[Label],
    sides: Sequence[int | None],
    weights: FloatArray | None,
    options: Options,
    *,
    schema: Schema = Schema(),  # noqa: B008  # frozen
    where: Callable[[int], str],
    error: type[GraphCutsError] = GraphError,
    **other_fields: Any,
) -> RawEdges:
    """Return edges between vertices that the source lists.

    Args:
        endpoints: row numbers of both endpoints of each edge among all vertices.
        labels: label of each vertex.
        sides: for each vertex 0 (left) or 1 (right); None if the source does not say.
        weights: of each edge, or None.
        options: whether there are two sides.
        schema: other facts that the source declares.
        where: returns the position of an edge in words.
        error: class of the errors to raise.
        other_fields: of `RawEdges`.

    Raises:
        GraphCutsError: of two sides: a vertex without one, an edge within one, or an empty one;
            else a label twice.
    """
    if options.bipartite:
        endpoints, sets = _split_sides(endpoints, labels, sides, where, error)
        schema = replace(schema, sides=sets)
    elif len(set(labels)) != len(labels):
        raise error("a vertex label occurs twice; if meant, make it a BipartiteGraph")
    else:
        schema = replace(schema, vertices=VertexSet(labels))
    return RawEdges(
        sources=endpoints[0],
        targets=endpoints[1],
        weights=weights,
        schema=schema,
        as_rows=True,
        where=where,
        error=error,
        **other_fields,
    )


def named_attribute(options: Options) -> str | None:
    """Return the edge attribute that the caller names as the weight; None if there is no such name.

    Raises:
        GraphError: an option of columns other than the weight and the encoding is set, the weight
            is no name, or one is named and `weighted` is False.
    """
    columns = options.columns
    if columns != Columns(weight=columns.weight, encoding=columns.encoding) or isinstance(
        columns.weight, int
    ):
        raise GraphError("of a graph only the weight can be named: columns=Columns(weight=NAME)")
    if columns.weight is not None and options.weighted is False:
        raise GraphError("pass weight= or weighted=False, not both")
    return columns.weight


def other_attributes(weight_names: Sequence[str]) -> str:
    """Return a sentence for the user: which edge attributes are read, if a source declares none."""
    names = " and ".join(map(repr, weight_names))
    return f"Edge attributes other than {names:.60} are ignored; weight= names another one."


def listed_weights(
    values: Sequence[Any],
    options: Options,
    declared: bool | None,
    where: Callable[[int], str],
    error: type[GraphCutsError] = GraphError,
) -> FloatArray | None:
    """Return the weights of edges as numbers; None for a graph without weights.

    Args:
        values: of each edge a number, or text, or None if it has no weight.
        options: whether weights are read.
        declared: whether the source declares that there are weights; None if it declares nothing.
        where: returns the position of an edge in words.
        error: class of the errors to raise.

    Raises:
        GraphCutsError: an edge with a weight though the source declares that there are none,
            without one though weights are declared or others have them, or one that is no number.
    """
    if options.weighted is False:
        return None
    is_missing = [value is None for value in values]
    if not declared and all(is_missing):
        return None
    if declared is False and options.weighted is None:
        raise error(
            f"{where(is_missing.index(False))}: an edge has a weight though the file declares that "
            "none has; pass weighted=True or weighted=False"
        )
    if any(is_missing):
        raise error(
            f"{where(is_missing.index(True))}: an edge has no weight though others have, or "
            "weights are declared; add it, or pass weighted=False"
        )
    return numbers(values, where, error)


def numbers(
    values: Any, where: Callable[[int], str], error: type[GraphCutsError] = GraphError
) -> FloatArray:
    """Return weights as floats.

    Raises:
        GraphCutsError: one is no number; the message has its position.
    """
    weights, are_numbers = as_numbers(values)
    if not are_numbers.all():
        raise error(f"{where(int(np.argmin(are_numbers)))}: the weight is not a number")
    return weights


def as_numbers(values: Any) -> tuple[FloatArray, BoolVector]:
    """Return weights as floats, NaN for a value that is no number, and which values are numbers."""
    has_numeric_type = isinstance(values, np.ndarray) and values.dtype.kind in "iuf"
    if has_numeric_type or set(map(type, values)) <= {int, float}:
        with suppress(OverflowError):
            return np.asarray(values, dtype=np.float64), np.ones(len(values), dtype=np.bool_)
    floats = [_number(value) for value in values]
    are_numbers = np.fromiter((number is not None for number in floats), np.bool_, len(floats))
    return np.array(floats, dtype=np.float64), are_numbers


def _check_kind(raw: RawEdges, options: Options) -> None:
    """Refuse a source that declares another kind of graph than the one that is read."""
    if raw.schema.sides is not None and not options.bipartite:
        raise raw.error("the source holds a bipartite graph; make it a BipartiteGraph")
    if raw.schema.vertices is not None and options.bipartite:
        raise raw.error("the source declares one vertex set, not two; it is no BipartiteGraph")
    if raw.schema.directed and not options.directed:
        raise raw.error("the source holds a directed graph; make it a DirectedGraph")
    if options.directed and raw.schema.directed is False:
        raise raw.error(UNDIRECTED)


def _sound_weights(raw: RawEdges, options: Options, max_weight: float | None) -> FloatArray | None:
    """Return the weights of edges; None if the graph has none.

    Weights that are negative, not finite or too large to count are noted in `raw.bad`. If bad rows
    are skipped, edges with negative or infinite weights are removed from `raw`, and large weights
    are clipped.

    Raises:
        GraphCutsError: as `_absent_weights`; or merge="sum" might add the two entries of one edge.
    """
    if options.weighted is False or (options.weighted is None and raw.schema.weighted is False):
        return None
    if raw.weights is None:
        return _absent_weights(raw, options)
    if raw.both_ways and options.merge == "sum":
        raise raw.error(
            "the matrix does not declare whether two entries of a pair are one edge or two arcs: "
            "leave out merge='sum' if it is symmetric, or add it to its transpose first"
        )
    good = np.isfinite(raw.weights) & (raw.weights >= 0)
    if not good.all():
        position, bad_count = raw.where(int(np.argmin(good))), int(np.count_nonzero(~good))
        fault = "a weight is negative or not finite; weighted=False reads none"
        raw.bad.add(fault, position, bad_count)
        raw.keep(good)
    if max_weight is None and options.max_weight_change is not None:
        if raw.bad.skip:
            # If a row of weight 2^40 + 1 were left out, a change of its weight by 1 would change
            # that of its pair by 2^40. So it counts as 2^40 (`LARGEST_OPEN`), as a larger sum does.
            return np.minimum(raw.weights, LARGEST_OPEN)
        is_countable = raw.weights <= LARGEST_OPEN
        if not is_countable.all():
            raw.bad.add(ABOVE_OPEN, raw.where(int(np.argmin(is_countable))))
    return raw.weights


def _absent_weights(raw: RawEdges, options: Options) -> FloatArray | None:
    """Return the weights of a source that has none: None, or an empty array if it has no edges.

    Raises:
        GraphCutsError: edges have no weights, though weights are asked for or declared; or there
            are no edges, and the options do not decide.
    """
    if options.weighted or raw.schema.weighted:
        if len(raw.sources):
            raise raw.error("the source has no weights; leave out weighted=True")
        return np.zeros(0)
    if raw.undeclared and options.weighted is None and not len(raw.sources):
        return _weights_of_no_edges(raw, options)
    return None


def _weights_of_no_edges(raw: RawEdges, options: Options) -> FloatArray | None:
    """Return the weights of a source without edges that does not declare whether it has weights.

    They are an empty array, or None for a graph without weights. A source with one edge more would
    show whether there are weights, so only options may decide.

    Raises:
        GraphCutsError: the options do not decide.
    """
    if options.max_weight not in (None, 1.0):
        return np.zeros(0)  # edges without weights would be refused
    if options.max_weight is not None or options.max_weight_change is not None:
        raise raw.error("nothing declares whether there are weights; pass weighted=True or False")
    return None  # a graph with weights would be refused later, since nothing would bound them


def _split_sides(
    endpoints: Sequence[IntegerVector],
    labels: Sequence[Label],
    sides: Sequence[int | None],
    where: Callable[[int], str],
    error: type[GraphCutsError],
) -> tuple[list[IntVector], tuple[VertexSet, VertexSet]]:
    """Return row numbers within the left and the right side of each edge, and both vertex sets.

    Arguments are those of `edges_by_rows`.
    """
    if len(sides) != len(labels) or not all(side in (0, 1) for side in sides):
        raise error(
            "a BipartiteGraph needs a side for every vertex: attribute bipartite 0 or 1 (or "
            "igraph's type; in Pajek '*Vertices n n_left')"
        )
    side = np.array(sides, dtype=np.int64)
    if not 0 < side.sum() < len(side):
        raise error("a bipartite graph needs at least one vertex on each side")
    row_within_side = np.where(side == 0, np.cumsum(side == 0), np.cumsum(side == 1)) - 1
    first, second = endpoints
    joins_one_side = side[first] == side[second]
    if joins_one_side.any():
        position = where(int(np.argmax(joins_one_side)))
        raise error(f"{position}: an edge joins two vertices of the same side")
    starts_right = side[first] == 1
    left_vertex = np.where(starts_right, second, first)
    right_vertex = np.where(starts_right, first, second)
    left, right = (
        VertexSet(
            [
                label
                for label, vertex_side in zip(labels, sides, strict=True)
                if vertex_side == set_side
            ]
        )
        for set_side in (0, 1)
    )
    return [row_within_side[left_vertex], row_within_side[right_vertex]], (left, right)


def _number(value: Any) -> float | None:
    """Return a number, or the text of one, as a float; None for other values and truth values."""
    if isinstance(value, str):
        return parse_number(value)
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):
        return None
