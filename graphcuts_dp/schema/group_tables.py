"""Labels of groups: from files, tables and dicts to the codes of nested groups.

All that is read here is taken to be public: it comes out with every table of flows.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.frames import frame_of
from graphcuts_dp.schema.columns import Column, Columns, has_header, place_of, position_of
from graphcuts_dp.schema.file_bytes import TextFormat, read_unpacked
from graphcuts_dp.schema.text_rows import Row, labels_of, read_rows
from graphcuts_dp.schema.vertices import Label, VertexSet

Levels = dict[str, list[Any]]  # for each level the label of each vertex, in their order
SEEDED = "seeded: not private"  # in the column `mark` of a table of parts that a seed made
_VERTEX_HEADS = (
    *("vertex", "id", "node", "name", "label", "person", "user", "email", "vertexid", "nodeid"),
    *("personid", "userid", "iata"),
)
_FORMS = {".csv": TextFormat(","), ".tsv": TextFormat("\t"), ".txt": TextFormat()}


def read_levels(
    path: PathLike,
    vertices: VertexSet,
    columns: Sequence[Column] | None,
    vertex: Column | None,
    unknown: str,
    text: Columns,
) -> Levels:
    """The groups of vertices in a file; see `Groups.read`."""
    _check_unknown(unknown)
    if isinstance(columns, str | int):
        columns = [columns]
    data = read_unpacked(path)  # whose errors name the file already
    try:
        if columns is not None and not columns:
            raise FileFormatError("pass columns=, at least one column of groups")
        names, rows = _read(path, data, columns, vertex, text)
        announced = text.header is not None or columns is not None or vertex is not None
        return _table(names, rows, vertices, columns, vertex, unknown, announced)
    except FileFormatError as problem:
        raise FileFormatError(f"{path!s}: {problem}") from None


def vertices_of_table(
    path: PathLike, columns: Sequence[Column] | None, vertex: Column | None, text: Columns
) -> VertexSet:
    """The vertices that a public table of groups names, in the order of its rows.

    Raises:
        FileFormatError: no such table, or not one that tells them.
        GraphError: no vertex, or one twice.
    """
    data = read_unpacked(path)  # whose errors name the file already
    try:
        names, rows = _read(path, data, columns, vertex, text)
        width = len(names or (rows[0][1] if rows else ()))
        key = _key_column(names, width, vertex)
        if any(len(cells) != width for _, cells in rows):
            raise FileFormatError("rows have different numbers of columns; correct them")
        return VertexSet(labels_of([cells[key] for _, cells in rows]))
    except FileFormatError as problem:
        raise FileFormatError(f"{path!s}: {problem}") from None


def _read(
    path: PathLike,
    data: bytes,
    columns: Sequence[Column] | None,
    vertex: Column | None,
    text: Columns,
) -> tuple[list[str] | None, list[Row]]:
    """The names of the columns of a table, if it has them, and its rows."""
    form = _FORMS.get(Path(Path(path).name.lower().removesuffix(".gz")).suffix)
    if form is None:
        raise FileFormatError("groups are read from .csv, .tsv and .txt files")
    named = has_header(text.header, [*(columns or ()), vertex], form)
    return read_rows(data, form, replace(text, header=named))


def levels_of(
    source: Any,
    vertices: VertexSet,
    columns: Column | Sequence[Column] | None,
    vertex: Column | None,
    unknown: str,
) -> tuple[Levels, dict[str, list[Label]]]:
    """Return the groups of vertices in what `Groups.of` takes, and the order of categories.

    Raises:
        GraphError: no groups, as `Groups.of`.
        ParameterError: an option out of range.
    """
    _check_unknown(unknown)
    names = [columns] if isinstance(columns, str | int) else columns
    names = None if names is None else list(names)
    if names is not None and (not names or len(set(names)) != len(names)):
        raise GraphError("columns are distinct names, for example ['state', 'county']")
    if isinstance(source, Mapping):
        levels = ["group"] if names is None else [str(name) for name in names]
        return _placed(vertices, source, _of_dict(source, levels), unknown), {}
    source, numbered = _with_text_names(source)
    frame = frame_of(source)
    if frame is None:
        raise GraphError("groups are made of a dict or a table")
    picked = None if names is None else [_column_name(frame, name) for name in names]
    if vertex is None:
        key = _vertex_column(source, frame, picked or [], numbered=numbered)
    else:
        key = _column_name(frame, vertex)
    if picked is None:
        picked = [name for name in frame.columns if name != key]
    if not picked:
        raise GraphError("the table has no column of groups beside that of the vertices")
    values = {name: frame[name].to_list() for name in picked}
    order: dict[str, list[Label]] = {}
    for name in picked:
        kind: Any = getattr(frame[name].to_native(), "dtype", None)
        if getattr(kind, "ordered", False):  # of pandas
            present = set(values[name])
            order[name] = [label for label in kind.categories if label in present]
    keys = _labels_of_vertices(source.index if key is None else frame[key])
    if numbered:
        titles = {name: f"level {number}" for number, name in enumerate(picked, 1)}
        values = {titles[name]: column for name, column in values.items()}
        order = {titles[name]: labels for name, labels in order.items()}
    return _placed(vertices, keys, values, unknown), order


def _with_text_names(source: Any) -> tuple[Any, bool]:
    """Return a table of pandas with columns named by text, and whether they had numbers 0, 1, ...

    Raises:
        GraphError: other names than text, such as those of several levels.
    """
    if not hasattr(source, "set_axis"):  # only pandas has other names
        return source, False
    if not hasattr(source, "columns"):  # a series
        return (source if isinstance(source.name, str) else source.rename("group")), False
    names = list(source.columns)
    if all(isinstance(name, str) for name in names):
        return source, False
    if names == list(range(len(names))):
        return source.set_axis([str(name) for name in names], axis=1), True
    raise GraphError(
        "names of the columns of a table are text; rename them: frame.columns = ['vertex', 'group']"
    )


def _column_name(frame: Any, column: Column) -> str:
    """Return the name of a column that is given by its name, or by its place from 0."""
    names: list[str] = frame.columns
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(names):
        return names[column]
    if column not in names:
        raise GraphError("the table has no such column: pass columns= and vertex=")
    return str(column)


def _vertex_column(source: Any, frame: Any, picked: Sequence[str], *, numbered: bool) -> str | None:
    """Return the column of the vertices that nobody has named; None for the index of the table.

    An index that only numbers the rows never names vertices, and no row decides what it is.

    Raises:
        GraphError: neither the columns nor the index tell.
    """
    index = getattr(source, "index", None)
    others: list[str] = [name for name in frame.columns if name not in picked]
    heads = others[:1] if numbered else [n for n in others if _plain(n) in _VERTEX_HEADS]
    if index is not None and not callable(index):  # as it is of arrays of Arrow
        is_series = not hasattr(source, "columns")
        named = any(name is not None for name in index.names)
        if is_series or named or not _is_default_index(index):
            integers = getattr(index.dtype, "kind", "O") in "iu"
            if not (is_series or named or numbered) and integers and len(heads) == 1:
                raise GraphError(
                    "the index and a column may both name the vertices: pass "
                    f"vertex={heads[0]!r:.60}, or name the index: frame.rename_axis('vertex')"
                )
            return None
    if len(heads) != 1:
        raise GraphError(
            "the table does not tell which column names the vertices: pass vertex=, or make them a "
            "named index: frame.rename_axis('vertex')"
        )
    return heads[0]


def _is_default_index(index: Any) -> bool:
    """Whether an index of pandas holds the numbers of the rows."""
    bounds = (getattr(index, name, None) for name in ("start", "step"))
    return type(index).__name__ == "RangeIndex" and tuple(bounds) == (0, 1)


def _labels_of_vertices(column: Any) -> list[Any]:
    """Return the cells of a column or index of vertices.

    Raises:
        GraphError: its type is that of floating-point numbers, which name no vertices.
    """
    kind = column.dtype
    if "float" in str(kind).lower():
        raise GraphError(
            "the vertices of the table are floating-point numbers; cast them: astype('Int64')"
        )
    values: list[Any] = column.to_list()
    return values


def _of_dict(source: Mapping[Any, Any], names: list[str]) -> dict[str, list[Any]]:
    rows = [given if isinstance(given, tuple | list) else (given,) for given in source.values()]
    for place, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise GraphError(f"entry {place} of the groups does not have one label for each level")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _check_unknown(unknown: str) -> None:
    if unknown not in ("error", "ignore"):
        raise ParameterError("unknown is 'error' or 'ignore'")


def _placed(
    vertices: VertexSet, keys: Iterable[Any], values: Mapping[str, Sequence[Any]], unknown: str
) -> Levels:
    """Return columns in the order of the vertices, from rows about the vertices of `keys`.

    Vertices are matched by their text: 1 and "1" are one vertex, "007" and 7 are two.
    """
    rows: list[int | None] = []
    for place, key in enumerate(keys, 1):
        row = _row_of(vertices, key)
        if row is None and unknown == "error":
            raise GraphError(f"row {place} is about no vertex of the graph; or unknown='ignore'")
        rows.append(row)
    known = [row for row in rows if row is not None]
    if len(set(known)) != len(known):
        raise GraphError("a vertex has two rows; keep one")
    found: Levels = {}
    for name, column in values.items():
        if not any(value is not None for value in column):
            raise GraphError(f"no vertex has a group of level {name!r:.60}")
        held: list[Any] = [None] * len(vertices)
        for row, value in zip(rows, column, strict=True):
            if row is not None:
                held[row] = value
        found[str(name)] = held
    return found


def _row_of(vertices: VertexSet, key: Any) -> int | None:
    """Return the row of the vertex that a text or an integer names, None if there is none."""
    if isinstance(key, bool) or not isinstance(key, str | int | np.integer):
        return None
    row = vertices.find(key)
    if row is None:
        row = vertices.find(str(key)) if not isinstance(key, str) else vertices.find_text(key)
    return None if row is None or str(vertices.labels[row]) != str(key) else row


def _typed(cells: Sequence[str | None]) -> list[Label | None]:
    """Integers where all that is there are integer literals, else text."""
    present = [(place, cell) for place, cell in enumerate(cells) if cell]
    found: list[Label | None] = [None] * len(cells)
    for (place, _), label in zip(present, labels_of([cell for _, cell in present]), strict=True):
        found[place] = label
    return found


def _mark_column(header: list[str] | None, rows: list[Row]) -> int | None:
    """Where each row of a table of parts says that a seed made it; None of others."""
    if header is None or "mark" not in header:
        return None
    place = header.index("mark")
    return place if all(cells[place : place + 1] == [SEEDED] for _, cells in rows) else None


def _table(
    header: list[str] | None,
    rows: list[Row],
    vertices: VertexSet,
    columns: Sequence[Column] | None,
    vertex: Column | None,
    unknown: str,
    announced: bool,
) -> dict[str, list[Any]]:
    """The label of each vertex, for each level; `announced` says that somebody said how to read."""
    if header is None and not rows:
        raise FileFormatError("the file is empty")
    width = len(rows[0][1] if header is None else header)
    key = _key_column(header, width, vertex)
    if header is not None and not announced and _row_of(vertices, header[key]) is not None:
        raise FileFormatError(
            "the first line is about a vertex: pass header=False if the file has no header, else "
            "header=True"
        )
    if columns is not None:
        places = [_place(column, header, width) for column in columns]
    else:
        mark = _mark_column(header, rows)
        places = [place for place in range(width) if place not in (key, mark)]
        if len(places) != 1:
            raise FileFormatError(  # quotes no column: the file may be another one, and private
                "pass columns=, the columns of the groups from the coarsest level to the finest"
            )
    if not places or len(set(places)) != len(places):
        raise FileFormatError("columns= names different columns, at least one")
    held: list[list[str | None]] = [[None] * len(vertices) for _ in places]
    seen = [False] * len(vertices)
    for line, cells in rows:
        if len(cells) != width:
            raise FileFormatError(f"line {line}: expected {width} columns, as in the first row")
        row = _row_of(vertices, cells[key])
        if row is None:
            if unknown == "ignore":
                continue
            header_too = ", or header=True if it names the columns"
            raise FileFormatError(
                f"line {line}: not a vertex of the graph; correct it, or pass unknown='ignore'"
                + (header_too if header is None and (line, cells) == rows[0] else "")
            )
        if seen[row]:
            raise FileFormatError(f"line {line}: this vertex has a row already")
        seen[row] = True
        for column, place in zip(held, places, strict=True):
            column[row] = cells[place]
    names = [f"level {i}" if header is None else header[p] for i, p in enumerate(places, 1)]
    if len(set(names)) != len(names) or not all(names):
        raise FileFormatError("two columns of groups have one name, or one has none")
    return {name: _typed(column) for name, column in zip(names, held, strict=True)}


def _place(column: Column, header: list[str] | None, width: int) -> int:
    if header is not None:
        return position_of(column, header)
    place = place_of(column)
    if place >= width:
        raise FileFormatError(f"there is no such column; the first row has {width} of them")
    return place


def _key_column(header: list[str] | None, width: int, vertex: Column | None) -> int:
    if vertex is not None:
        return _place(vertex, header, width)
    known = [p for p, cell in enumerate(header or ()) if _plain(cell) in _VERTEX_HEADS]
    return known[0] if len(known) == 1 else 0


def _plain(cell: str) -> str:
    return "".join(c for c in cell if c.isalnum()).casefold()


def codes_of(vertices: VertexSet, level: str, given: Any) -> tuple[IntVector, list[Label]]:
    """Code of each vertex, -1 for none, and labels in the order of their first vertices."""
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != len(vertices):
        raise GraphError(f"level {level!r:.60} needs one label for each of the vertices")
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iuU":
        known, found = np.unique(given, return_inverse=True)
        if given.dtype.kind != "U" or known[0]:
            labels: list[Label] = known.tolist()
            return found.astype(np.int64), labels
    values = given.tolist() if isinstance(given, np.ndarray) else list(given)
    table: dict[Any, int] = {}
    try:
        raw = np.fromiter((table.setdefault(v, len(table)) for v in values), np.int64, len(values))
    except TypeError:
        raise _bad_label(level) from None
    codes: dict[Label, int] = {}
    places = []
    for value in table:
        # True equals 1 and has its hash, so what a dict holds is not enough.
        label = _plain_label(value, level)
        places.append(-1 if label is None else codes.setdefault(label, len(codes)))
    if any(isinstance(value, bool | np.bool_) for value in values):
        raise _bad_label(level)
    labels = list(codes)
    if len({str(label) for label in labels}) != len(labels):
        raise GraphError(f'two groups of level {level!r:.60} look alike, such as 1 and "1"')
    return np.array(places, dtype=np.int64)[raw], labels


def _plain_label(value: Any, level: str) -> Label | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value == "":
        return None
    if isinstance(value, float | np.floating):  # numbers of a column with gaps
        number = float(value)
        if math.isnan(number):
            return None
        if not (number.is_integer() and abs(number) < 2.0**53):
            raise _bad_label(level)
        return int(number)
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | int | np.integer):
        raise _bad_label(level)
    return str(value) if isinstance(value, str) else int(value)


def _bad_label(level: str) -> GraphError:
    return GraphError(f"groups of level {level!r:.60} must be strings or whole numbers")


def with_rest(
    vertices: VertexSet,
    level: str,
    own: tuple[IntVector, list[Label]],
    above: tuple[IntVector, tuple[Label, ...]],
    default_group: str | None,
) -> tuple[IntVector, list[Label]]:
    """Vertices without a group in a group of their own, one in each group of the level before."""
    codes, labels = own[0].copy(), list(own[1])
    (missing,) = np.nonzero(codes < 0)
    if default_group is None:
        # A vertex set that was inferred from private edges is private: no label, no number of it.
        example = f"{vertices.labels[int(missing[0])]!r:.60}"
        without = (
            "some vertices have"
            if vertices.inferred
            else f"{len(missing):,} vertices, such as {example}, have"
        )
        raise GraphError(
            f"{without} no group of level {level!r:.60}; add them, or pass default_group='other'"
        )
    for parent in np.unique(above[0][missing]).tolist():
        name = (
            default_group
            if not above[1] or above[1][parent] == default_group
            else f"{above[1][parent]}/{default_group}"
        )
        if name in labels:
            raise GraphError(
                f"default_group: {name!r:.60} is a group of level {level!r:.60} already"
            )
        codes[missing[above[0][missing] == parent]] = len(labels)
        labels.append(name)
    return codes, labels


def sorted_within(
    level: str,
    own: tuple[IntVector, list[Label]],
    above: IntVector,
    order: Sequence[Label] | None,
) -> tuple[IntVector, list[Label], IntVector]:
    """Codes in the order of enclosing groups and then of labels; and the enclosing groups."""
    codes, labels = own
    parent = np.zeros(len(labels), dtype=np.int64)
    parent[codes] = above
    (split,) = np.nonzero(parent[codes] != above)
    if len(split):
        name = labels[int(codes[split[0]])]
        raise GraphError(
            f"group {name!r:.60} of level {level!r:.60} lies in two groups of the level before; "
            "give the levels from the coarsest to the finest, and each group a name of its own"
        )
    ranks = {label: rank for rank, label in enumerate(labels if order is None else order)}
    if order is not None and (len(ranks) != len(order) or set(ranks) != set(labels)):
        raise GraphError(
            f"the order of level {level!r:.60} must name each of its groups once, and none "
            "without vertices"
        )

    def key(code: int) -> tuple[Any, ...]:
        label = labels[code]
        place = (isinstance(label, str), label) if order is None else (ranks[label],)
        return int(parent[code]), *place

    permutation = sorted(range(len(labels)), key=key)
    new = np.empty(len(labels), dtype=np.int64)
    new[permutation] = np.arange(len(labels))
    return new[codes], [labels[code] for code in permutation], parent[permutation]
