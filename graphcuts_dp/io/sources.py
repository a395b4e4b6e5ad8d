"""Tables of any library, and which reader takes a graph of another one, a matrix or a list.

The rules are those of files: loops are dropped, arcs are edges (unless a `DirectedGraph` is made),
parallel edges are merged, weights above the cap are clipped. Labels are strings or integers and
keep their type. Without `vertices` the labels are sorted: their order in the source may tell in
which order edges were added.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import FileFormatError, GraphError
from graphcuts_dp.frames import frame_of, made_frame
from graphcuts_dp.io.arrow import choose_columns, edges_of_table, pyarrow
from graphcuts_dp.io.assemble import (
    Ends,
    Options,
    RawEdges,
    as_numbers,
    numbered_labels,
    some_of,
)
from graphcuts_dp.io.edge_store import EdgeStore
from graphcuts_dp.io.gathered import ENDS
from graphcuts_dp.io.libraries import (
    edges_of_igraph,
    edges_of_list,
    edges_of_matrix,
    edges_of_networkx,
)
from graphcuts_dp.pairs.vertices import Label, vertex_sets
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.columns import Columns


def edges_of(source: Any, options: Options) -> RawEdges:
    """The edges of whatever `Graph.of` takes.

    Raises:
        GraphError: as `Graph.of`.
    """
    for library, read in (("networkx", edges_of_networkx), ("igraph", edges_of_igraph)):
        module = sys.modules.get(library)
        if module is not None and isinstance(source, module.Graph):
            return read(source, options)
    frame = None if sp.issparse(source) or isinstance(source, np.ndarray) else frame_of(source)
    streamed = hasattr(source, "__arrow_c_stream__")
    if frame is not None and not frame.implementation.is_pyarrow():
        return _of_frame(frame, options)
    if streamed:
        return _of_arrow(source, options)
    if options.columns != Columns():
        raise GraphError("columns= is for tables, and for graphs of networkx and igraph")
    if sp.issparse(source) or (isinstance(source, np.ndarray) and source.dtype.kind in "biufc"):
        return edges_of_matrix(source, options)
    return edges_of_list(source, options)


def rows_of(source: Any, options: Options) -> RawEdges:
    """The rows of a table.

    Raises:
        GraphError: as `Rows.of`.
    """
    frame = frame_of(source)
    if frame is None:
        raise GraphError("rows come from a table, such as one of pandas or polars")
    return _of_frame(frame, options)


def _of_frame(frame: Any, options: Options) -> RawEdges:
    try:
        places = choose_columns(frame.columns, options)
    except FileFormatError as problem:
        raise GraphError(str(problem)) from None
    columns: dict[str, Any] = {}
    for role, place in places.used.items():
        values = frame[:, place]
        if role == "period" and values.dtype.is_temporal():
            values = values.dt.to_string("%Y-%m-%d")
        columns[role] = values.to_numpy()
        if role == "period" and columns[role].dtype == object:  # dates of Python among others
            listed_values = columns[role] = columns[role].tolist()
            if not _all_are(listed_values, str):
                columns[role] = [str(each) if _is_day(each) else each for each in listed_values]
    bad = BadRows(skip=options.columns.skip)
    reading = places.reading(skip=bad.skip, text=False)
    return _labelled(columns, _row, bad, columns=places, reading=reading)


def _of_arrow(table: Any, options: Options) -> RawEdges:
    """Edges of a stream of batches, one at a time."""
    reader = pyarrow().RecordBatchReader.from_stream(table)
    damaged = "the table cannot be read to its end"
    return edges_of_table(lambda: (reader.schema, lambda **_: reader), options, damaged=damaged)


def to_frame(graph: EdgeStore, kind: Any = None) -> Any:
    """See `Graph.to_frame`."""
    columns: dict[str, Any] = {}
    for name, rows, vertices in zip(
        ("source", "target"), (graph.rows, graph.columns), vertex_sets(graph.space), strict=True
    ):
        labels = vertices.labels
        columns[name] = (
            rows.astype(np.int64) if vertices.is_default else [labels[row] for row in rows.tolist()]
        )
    if graph.weighted:
        columns["weight"] = graph.weights
    return made_frame(columns, kind)


def _row(position: int) -> str:
    return f"row {position} (counted from 0)"


def _labelled(
    parts: dict[str, Any], where: Callable[[int], str], bad: BadRows, **told: Any
) -> RawEdges:
    """Rows of columns in memory: of ends, and perhaps weights, owners and periods.

    Where bad rows are left out, an integer and its digits are one label: of which type a column is
    may depend on a single row.
    """
    good = np.ones(len(parts["source"]), dtype=np.bool_)
    sound = {role: _are_sound(each, role, floats=bad.skip) for role, each in parts.items()}
    for role, own in sound.items():
        if not own.all():
            bad.add(_WRONG.get(role, _WRONG_END), where(int(np.argmin(own))))
            good &= own
    if not good.all():
        parts = {role: some_of(values, good) for role, values in parts.items()}
    places = np.flatnonzero(good)
    labels = {role: _labels(part) for role, part in parts.items() if role != "weight"}
    ends = _coded([labels.pop(role) for role in ENDS], as_text=bad.skip)
    others = {role: _coded([part], as_text=bad.skip)[0] for role, part in labels.items()}
    return RawEdges(
        sources=ends[0],
        targets=ends[1],
        weights=as_numbers(parts["weight"])[0] if "weight" in parts else None,
        owners=others.get("owner"),
        periods=others.get("period"),
        as_text=bad.skip,
        bad=bad,
        where=lambda position: where(int(places[position])),
        **told,
    )


def _are_sound(values: Any, role: str, *, floats: bool) -> BoolVector:
    """Which entries of a column can be what they are for; each is looked at by itself.

    Args:
        values: the column.
        role: what it is for, such as "source".
        floats: whether floats that are integers will do beside strings.
    """
    if role == "weight":
        return as_numbers(values)[1]
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        small: BoolVector = values <= 2**63 - 1
        return small
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        whole: BoolVector = (values == np.floor(values)) & (np.abs(values) < 2.0**53)
        return whole
    listed_values = values.tolist() if isinstance(values, np.ndarray) else values
    if _all_are(listed_values, str, int):
        return np.ones(len(listed_values), dtype=np.bool_)
    good = (_is_label(value) or (floats and _is_whole(value)) for value in listed_values)
    return np.fromiter(good, dtype=np.bool_, count=len(listed_values))


def _all_are(values: Iterable[Any], *types: type) -> bool:
    """Whether all are of these very types, as in most columns; no subclass of one will do."""
    return set(map(type, values)) <= set(types)


def _is_day(value: Any) -> bool:
    """Whether something is a date or a time of Python; a missing one equals nothing."""
    return isinstance(value, date) and value == value


def _is_whole(value: Any) -> bool:
    """Whether something is a float that is an integer, as beside a gap in a column of integers."""
    return isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53


def _labels(values: Any) -> npt.NDArray[np.int64] | list[Label]:
    """Integers as an array, others as a list; all are sound."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return values.astype(np.int64)
    listed_values = values.tolist() if isinstance(values, np.ndarray) else values
    if len(listed_values) and _all_are(listed_values, str):
        return list(listed_values)
    labels = [str(value) if isinstance(value, str) else int(value) for value in listed_values]
    if labels and all(type(label) is int and abs(label) < 2**62 for label in labels):
        return np.array(labels, dtype=np.int64)
    return labels


def _coded(columns: list[Any], *, as_text: bool) -> Sequence[Ends]:
    """Columns of integers as they are; if one has other labels, all by the same numbers."""
    if all(isinstance(each, np.ndarray) for each in columns):
        return columns
    lists = [each.tolist() if isinstance(each, np.ndarray) else each for each in columns]
    return numbered_labels(*([*map(str, each)] if as_text else each for each in lists))


_WRONG_END = "edge ends must be strings or integers, and none may be missing"
_WRONG = {
    "weight": "the weight is not a number",
    "owner": "the owner must be a string or an integer, and may not be missing",
    "period": "the period must be a string, an integer or a time, and may not be missing",
}


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)
