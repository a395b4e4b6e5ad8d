"""Tables of groups: read the group of each vertex from a file, a dict or a data frame.

A table of groups has one row for each vertex, with a column that names the vertex and one column of
group labels for each level, from the coarsest to the finest. All that is read here is public:
groups appear in every result that is computed from them.

`read_levels` reads a text file for `Groups.read`, and `levels_of` a dict, sets or a frame for
`Groups.of`. Both return `Levels`: for each level the label of each vertex, in the order of the
vertices, None for no group. `schema.group_codes` turns them into numbered groups.

Terms used here:

- *key*: what names the vertex of a row. `key_column` is the number or the name of its column.
- *row*: a row of the table. The number of a vertex in the `VertexSet`, from 0, is `vertex_number`.
- `columns`: the columns of groups that the caller picks, by name or number from 0. None: all are
  left to the rules below.
- *cells*: the texts of one line of a text file.
- *frame*: a table of pandas, polars or the like. `frames.frame_of` gives all of them the same
  methods, those of the library narwhals; names of its columns are text.

A key is matched with a vertex by its text: 1 and "1" are one vertex, "007" and 7 are two. What
happens to a row about no vertex is said by `unknown`: "error" refuses it, "ignore" leaves it out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphcuts_dp.errors import FileFormatError, GraphError, KindError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.frames import frame_of
from graphcuts_dp.options import check_type
from graphcuts_dp.schema.column_search import (
    has_header,
    position_in_header,
    position_without_header,
)
from graphcuts_dp.schema.columns import Column, Columns
from graphcuts_dp.schema.file_bytes import read_unpacked
from graphcuts_dp.schema.library_graphs import plain_label, vertex_labels
from graphcuts_dp.schema.text_format import TextFormat
from graphcuts_dp.schema.text_rows import Row, labels_of, read_rows
from graphcuts_dp.schema.vertices import Label, VertexSet, label_order, only_numbers_rows

Levels = dict[str, list[Any]]  # for each level the label of each vertex, None for no group

# The command line can save a private partition of the vertices as a table of groups: a column of
# vertices and a column of parts. If its noise was drawn from a fixed seed, which voids the privacy
# guarantee, a third column `mark` says so in each row. Such a column holds no groups.
_MARK_HEADER = "mark"
_SEEDED_MARK = "seeded: not private"
# Headers, normalised by `_normalised`, of a column that names the vertices.
_KEY_HEADERS = (
    *("vertex", "id", "node", "name", "label", "person", "user", "email", "vertexid", "nodeid"),
    *("personid", "userid", "iata"),
)
_FORMATS = {".csv": TextFormat(","), ".tsv": TextFormat("\t"), ".txt": TextFormat()}


def read_levels(
    path: PathLike,
    vertices: VertexSet,
    columns: Sequence[Column] | None,
    vertex: Column | None,
    unknown: str,
    options: Columns,
) -> Levels:
    """Read the groups of vertices from a text file; see `Groups.read` for the arguments.

    Raises:
        FileFormatError: as `Groups.read`.
        ParameterError: an option out of range.
    """
    _check_unknown(unknown)
    if isinstance(columns, str | int):  # users also pass a single column
        columns = [columns]
    data = read_unpacked(path)  # whose errors name the file already
    try:
        if columns is not None and not columns:
            raise FileFormatError("pass columns=, at least one column of groups")
        header, rows = _read_text_table(path, data, columns, vertex, options)
        if header is None and not rows:
            raise FileFormatError("the file is empty")
        width = len(rows[0][1] if header is None else header)
        key_column = _key_position(header, width, vertex)
        # A caller who says `header=`, or who picks a column, knows whether there is a header. Else
        # the ending of the file's name has decided, which can be wrong.
        header_is_announced = (
            options.header is not None or columns is not None or vertex is not None
        )
        if header is not None and not header_is_announced:
            _check_header_is_no_row(header[key_column], vertices)
        positions = _group_positions(header, rows, width, key_column, columns)
        cells_of_levels = _cells_by_vertex(
            header, rows, width, key_column, positions, vertices, unknown
        )
        if header is None:
            names = [f"level {number}" for number in range(1, len(positions) + 1)]
        else:
            names = [header[position] for position in positions]
        if len(set(names)) != len(names) or not all(names):
            raise FileFormatError("two columns of groups have one name, or one has none")
        return {
            name: _typed_labels(cells) for name, cells in zip(names, cells_of_levels, strict=True)
        }
    except FileFormatError as problem:
        raise FileFormatError(f"{path!s}: {problem}") from None


def vertices_of_table(
    path: PathLike, columns: Sequence[Column] | None, vertex: Column | None, options: Columns
) -> VertexSet:
    """Return the vertices that a public table of groups names, in the order of its rows.

    Args:
        path: the file.
        columns: the columns of groups, of which only the type matters here: names show that there
            is a header. Unlike in `read_levels` this must be a sequence, not a single column.
        vertex: the column of vertices. None for the default of `Groups.read`.
        options: `header`, `delimiter` and `encoding` of the file.

    Raises:
        FileFormatError: no such table, or rows of different lengths.
        GraphError: no vertex, or one twice.
    """
    data = read_unpacked(path)  # whose errors name the file already
    try:
        header, rows = _read_text_table(path, data, columns, vertex, options)
        first_cells = header or (rows[0][1] if rows else [])
        width = len(first_cells)
        key_column = _key_position(header, width, vertex)
        if any(len(cells) != width for _, cells in rows):
            raise FileFormatError("rows have different numbers of columns; correct them")
        return VertexSet(labels_of([cells[key_column] for _, cells in rows]))
    except FileFormatError as problem:
        raise FileFormatError(f"{path!s}: {problem}") from None


def group_column_names(path: PathLike, options: Columns) -> list[str]:
    """Return the names of the columns of a public table beside that of the vertices.

    Args:
        path: the file.
        options: `header`, `delimiter` and `encoding` of the file.

    Raises:
        FileFormatError: no such table.
    """
    header, _ = _read_text_table(path, read_unpacked(path), None, None, options)
    key_column = _key_position(header, len(header or ()), None)
    return [name for position, name in enumerate(header or ()) if position != key_column]


def _read_text_table(
    path: PathLike,
    data: bytes,
    columns: Sequence[Column] | None,
    vertex: Column | None,
    options: Columns,
) -> tuple[list[str] | None, list[Row]]:
    """Return the header of a table, None if it has none, and its rows."""
    suffix = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    form = _FORMATS.get(suffix)
    if form is None:
        raise FileFormatError("groups are read from .csv, .tsv and .txt files")
    with_header = has_header(options.header, [*(columns or ()), vertex], form)
    return read_rows(data, form, replace(options, header=with_header))


def _key_position(header: Sequence[str] | None, width: int, vertex: Column | None) -> int:
    """Return the position of the column of vertices.

    That is the caller's column; else the only one whose header is one of `_KEY_HEADERS`; else the
    first column.
    """
    if vertex is not None:
        return _position(vertex, header, width)
    matches = [
        position for position, name in enumerate(header or ()) if _normalised(name) in _KEY_HEADERS
    ]
    return matches[0] if len(matches) == 1 else 0


def _position(column: Column, header: Sequence[str] | None, width: int) -> int:
    """Return the position of a column of a text table with or without a header."""
    if header is not None:
        return position_in_header(column, header)
    position = position_without_header(column)
    if position >= width:
        raise FileFormatError(f"there is no such column; the first row has {width} of them")
    return position


def _normalised(name: str) -> str:
    """Return a column name without case, blanks and signs.

    `schema.column_names` also drops brackets and types of Neo4j, which tables of groups lack.
    """
    return "".join(character for character in name if character.isalnum()).casefold()


def _check_header_is_no_row(key_name: str, vertices: VertexSet) -> None:
    """Refuse a header that nobody announced, if it names a vertex: it may be the first row."""
    if _vertex_number(vertices, key_name) is not None:
        raise FileFormatError(
            "the first line is about a vertex: pass header=False if the file has no header, else "
            "header=True"
        )


def _group_positions(
    header: list[str] | None,
    rows: list[Row],
    width: int,
    key_column: int,
    columns: Sequence[Column] | None,
) -> list[int]:
    """Return the positions of the columns of groups: the caller's, else the only one there is.

    In a table of one column each vertex is a group of its own.
    """
    if columns is None and width == 1:
        return [key_column]
    if columns is not None:
        positions = [_position(column, header, width) for column in columns]
    else:
        mark = _mark_position(header, rows)
        positions = [position for position in range(width) if position not in (key_column, mark)]
        if len(positions) != 1:
            raise FileFormatError(  # quotes no column: the file may be another one, and private
                "pass columns=, the columns of the groups from the coarsest level to the finest"
            )
    if not positions or len(set(positions)) != len(positions):
        raise FileFormatError("columns= names different columns, at least one")
    return positions


def _mark_position(header: list[str] | None, rows: list[Row]) -> int | None:
    """Return the position of the column that says of each row that a seed was used, else None."""
    if header is None or _MARK_HEADER not in header:
        return None
    position = header.index(_MARK_HEADER)
    for _, cells in rows:
        # Rows are not checked yet, and may be too short to have this cell.
        if position >= len(cells) or cells[position] != _SEEDED_MARK:
            return None
    return position


def _cells_by_vertex(
    header: list[str] | None,
    rows: list[Row],
    width: int,
    key_column: int,
    positions: Sequence[int],
    vertices: VertexSet,
    unknown: str,
) -> list[list[str | None]]:
    """Return the cells of some columns in the order of the vertices, None for a missing row.

    Args:
        header: the names of the columns; None without a header.
        rows: line number and cells of each row.
        width: the number of columns.
        key_column: position of the column of vertices.
        positions: of the columns to return.
        vertices: the vertex set.
        unknown: "error" or "ignore", see the module.

    Returns:
        For each of `positions` a list of n cells.

    Raises:
        FileFormatError: a row of another length, about no vertex, or about one that has a row.
    """
    cells_of_columns: list[list[str | None]] = [[None] * len(vertices) for _ in positions]
    has_row = [False] * len(vertices)
    for line, cells in rows:
        if len(cells) != width:
            raise FileFormatError(f"line {line}: expected {width} columns, as in the first row")
        vertex_number = _vertex_number(vertices, cells[key_column])
        if vertex_number is None:
            if unknown == "ignore":
                continue
            is_first_line = header is None and (line, cells) == rows[0]
            advice = ", or header=True if it names the columns" if is_first_line else ""
            raise FileFormatError(
                f"line {line}: not a vertex of the graph; correct it, or pass unknown='ignore'"
                + advice
            )
        if has_row[vertex_number]:
            raise FileFormatError(f"line {line}: this vertex has a row already")
        has_row[vertex_number] = True
        for column_cells, position in zip(cells_of_columns, positions, strict=True):
            column_cells[vertex_number] = cells[position]
    return cells_of_columns


def _typed_labels(cells: Sequence[str | None]) -> list[Label | None]:
    """Return labels: integers if all cells with text are integer literals, else text.

    Empty and missing cells become None.
    """
    filled = [number for number, cell in enumerate(cells) if cell]  # indexes of cells with text
    labels: list[Label | None] = [None] * len(cells)
    for number, label in zip(filled, labels_of([cell for cell in cells if cell]), strict=True):
        labels[number] = label
    return labels


def levels_of(
    source: Any,
    vertices: VertexSet | None,
    columns: Column | Sequence[Column] | None,
    vertex: Column | None,
    unknown: str,
) -> tuple[VertexSet, Levels, dict[str, list[Label]]]:
    """Return the groups of vertices in a dict, in sets, or in a frame; see `Groups.of`.

    Returns:
        The vertices, which are those of the source, sorted, if none were given; the levels; and for
        each level that is an ordered categorical column of pandas, the order of its groups.

    Raises:
        GraphError: no groups, as `Groups.of`.
        ParameterError: an option out of range.
    """
    _check_unknown(unknown)
    keys, labels_of_rows, order = _rows_of_groups(source, columns, vertex)
    if vertices is None:
        vertices = VertexSet(sorted(map(plain_label, keys), key=label_order))
    return vertices, _labels_by_vertex(vertices, keys, labels_of_rows, unknown), order


def _rows_of_groups(
    source: Any, columns: Column | Sequence[Column] | None, vertex: Column | None
) -> tuple[list[Any], Mapping[str, Sequence[Any]], dict[str, list[Label]]]:
    """Return the vertex of each row, its label on each level, and the order of some levels."""
    requested: list[Column] | None = None  # the columns that the caller picks
    if columns is not None:
        check_type("columns", columns, (str, int, Iterable), "names of columns, or None")
        requested = [columns] if isinstance(columns, str | int) else list(columns)
        for column in requested:
            check_type("a column", column, (str, int, np.integer), "a name or a number")
        if not requested or len(set(requested)) != len(requested):
            raise GraphError("columns are distinct names, for example ['state', 'county']")
    names = ["group"] if requested is None else [str(name) for name in requested]
    if hasattr(source, "membership") and hasattr(source, "graph"):  # a clustering of igraph
        source = dict(zip(vertex_labels(source.graph), source.membership, strict=True))
    if isinstance(source, Mapping):
        return list(source), _dict_columns(source, names), {}
    if isinstance(source, list | tuple | Set):
        keys, numbers = _members_of_sets(source)
        if len(names) != 1:
            raise GraphError("a list of sets has one level: pass one name, columns='community'")
        return keys, {names[0]: numbers}, {}
    # `numbered`: whether it is a table of pandas without column names, whose columns are 0, 1, ....
    source, numbered = _with_text_names(source)
    frame = frame_of(source)
    if frame is None:
        raise KindError(
            "groups are made of a dict, a list of sets, a table, or the name of an attribute of "
            "the vertices of a graph of networkx or igraph"
        )
    group_names = None if requested is None else [_frame_column(frame, name) for name in requested]
    if vertex is None:
        key_column = _key_name(source, frame, group_names or [], numbered=numbered)
    else:
        key_column = _frame_column(frame, vertex)
    if group_names is None:
        group_names = [name for name in frame.columns if name != key_column]
    if not group_names:
        raise GraphError("the table has no column of groups beside that of the vertices")
    columns_by_name = {name: frame[name].to_list() for name in group_names}
    order: dict[str, list[Label]] = {}
    for name, labels in columns_by_name.items():
        dtype: Any = getattr(frame[name].to_native(), "dtype", None)
        if getattr(dtype, "ordered", False):  # an ordered categorical column of pandas
            # Categories of the type need not occur in the column. `Groups` refuses an order with
            # labels that no vertex has.
            present = set(labels)
            order[name] = [label for label in dtype.categories if label in present]
    keys = _vertex_labels(source.index if key_column is None else frame[key_column])
    if numbered:
        # The names are "0", "1", ..., which say nothing: call the levels "level 1", "level 2", ....
        level_names = {name: f"level {number}" for number, name in enumerate(group_names, 1)}
        columns_by_name = {level_names[name]: labels for name, labels in columns_by_name.items()}
        order = {level_names[name]: labels for name, labels in order.items()}
    return keys, columns_by_name, order


def _members_of_sets(sets: Collection[Any]) -> tuple[list[Label], list[int]]:
    """Return the members of a list of sets, and the number of the set of each.

    Raises:
        GraphError: something else than sets of labels, a label in two of them, or a set of none.
    """
    keys: list[Label] = []
    numbers: list[int] = []
    for number, members in enumerate(sets):
        if isinstance(members, str | bytes | Mapping) or not isinstance(members, Iterable):
            raise GraphError(
                "groups as a list are one set of labels for each; of one label for each vertex "
                "make a dict: dict(zip(vertices, labels))"
            )
        labels = list(members)
        if not labels:
            raise GraphError(f"set {number} (counted from 0) of the groups is empty; leave it out")
        keys += labels
        numbers += [number] * len(labels)
    if len(set(keys)) != len(keys):
        raise GraphError("a vertex is in two of the sets; groups do not overlap")
    return keys, numbers


def _check_unknown(unknown: str) -> None:
    if not isinstance(unknown, str) or unknown not in ("error", "ignore"):
        raise ParameterError("unknown is 'error' or 'ignore'")


def _dict_columns(source: Mapping[Any, Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the labels of each level of a dict, in the order of its entries.

    Raises:
        GraphError: an entry does not have one label for each level.
    """
    entries = [
        labels if isinstance(labels, tuple | list) else (labels,) for labels in source.values()
    ]
    for number, labels in enumerate(entries, 1):
        if len(labels) != len(names):
            raise GraphError(f"entry {number} of the groups does not have one label for each level")
    return {name: [labels[index] for labels in entries] for index, name in enumerate(names)}


def _with_text_names(source: Any) -> tuple[Any, bool]:
    """Return a table of pandas with columns named by text, and whether they had numbers 0, 1, ...

    Numbers become text, "0", "1", .... A series without a name of text becomes the column "group".
    Other tables have text names already, and come back as they are.

    Raises:
        GraphError: other names than text, such as those of several levels.
    """
    if not hasattr(source, "set_axis"):  # not of pandas
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


def _frame_column(frame: Any, column: Column) -> str:
    """Return the name of a column of a frame that the caller picks, by name or number from 0."""
    names: list[str] = frame.columns
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(names):
        return names[column]
    if column not in names:
        raise GraphError("the table has no such column: pass columns= and vertex=")
    return str(column)


def _key_name(source: Any, frame: Any, group_names: Sequence[str], *, numbered: bool) -> str | None:
    """Return the column of vertices that the caller has not named; None for the index of pandas.

    The first of these that applies decides; no value of a row does:

    1. The table is of pandas, and its index names the vertices: it is the index of a series, or it
       has a name, or it is no default index, which only numbers the rows. But integers without a
       name may be what a selection of rows has left of a default index. If also exactly one column
       is called like vertices, this is open, and refused.
    2. The columns have no names, and the vertices are in the first one that holds no groups.
    3. The vertices are in the only column that is called like vertices, see `_KEY_HEADERS`.

    Args:
        source: the table as the caller passed it.
        frame: the same with a common interface, see `frames.frame_of`.
        group_names: columns that are known to hold groups.
        numbered: whether it is a table of pandas whose columns have no names.

    Raises:
        GraphError: the columns and the index leave it open.
    """
    candidates: list[str] = [name for name in frame.columns if name not in group_names]
    if numbered:
        keys = candidates[:1]
    else:
        keys = [name for name in candidates if _normalised(name) in _KEY_HEADERS]
    index = getattr(source, "index", None)
    if index is not None and not callable(index):  # arrays of Arrow have a method of this name
        is_series = not hasattr(source, "columns")
        is_named = any(name is not None for name in index.names)
        if is_series or is_named or not only_numbers_rows(index):
            may_be_row_numbers = (
                not is_series
                and not is_named
                and not numbered
                and getattr(index.dtype, "kind", "O") in "iu"
            )
            if may_be_row_numbers and len(keys) == 1:
                raise GraphError(
                    "the index and a column may both name the vertices: pass "
                    f"vertex={keys[0]!r:.60}, or name the index: frame.rename_axis('vertex')"
                )
            return None
    if len(keys) != 1:
        raise GraphError(
            "the table does not tell which column names the vertices: pass vertex=, or make them a "
            "named index: frame.rename_axis('vertex')"
        )
    return keys[0]


def _vertex_labels(column: Any) -> list[Any]:
    """Return the cells of a column or an index of vertices.

    Raises:
        GraphError: its type is that of floating-point numbers, which name no vertices.
    """
    if "float" in str(column.dtype).lower():
        raise GraphError(
            "the vertices of the table are floating-point numbers; cast them: astype('Int64')"
        )
    labels: list[Any] = column.to_list()
    return labels


def _labels_by_vertex(
    vertices: VertexSet,
    keys: Iterable[Any],
    labels_of_rows: Mapping[str, Sequence[Any]],
    unknown: str,
) -> Levels:
    """Return the labels of rows in the order of the vertices, None for a vertex without a row.

    Args:
        vertices: the vertex set.
        keys: the key of each row.
        labels_of_rows: for each level the label of each row.
        unknown: "error" or "ignore", see the module.

    Raises:
        GraphError: a row about no vertex, a vertex with two rows, or a level of which no row has a
            label. Rows about no vertex count in this last test, too.
    """
    vertex_numbers: list[int | None] = []  # of each row; None if it is about no vertex
    for row_number, key in enumerate(keys, 1):
        vertex_number = _vertex_number(vertices, key)
        if vertex_number is None and unknown == "error":
            raise GraphError(
                f"row {row_number} is about no vertex of the graph; or unknown='ignore'"
            )
        vertex_numbers.append(vertex_number)
    known_numbers = [number for number in vertex_numbers if number is not None]
    if len(set(known_numbers)) != len(known_numbers):
        raise GraphError("a vertex has two rows; keep one")
    levels: Levels = {}
    for level, row_labels in labels_of_rows.items():
        if not any(label is not None for label in row_labels):
            raise GraphError(f"no vertex has a group of level {level!r:.60}")
        vertex_labels: list[Any] = [None] * len(vertices)
        for vertex_number, label in zip(vertex_numbers, row_labels, strict=True):
            if vertex_number is not None:
                vertex_labels[vertex_number] = label
        levels[str(level)] = vertex_labels
    return levels


def _vertex_number(vertices: VertexSet, key: Any) -> int | None:
    """Return the number of the vertex with the same text as a key, None if there is none."""
    if isinstance(key, bool) or not isinstance(key, str | int | np.integer):
        return None
    vertex_number = vertices.find(key)
    if vertex_number is None:
        # The vertex of the key "7" may have the label 7, and that of the key 7 the label "7".
        vertex_number = vertices.find_text(key) if isinstance(key, str) else vertices.find(str(key))
    # `find_text` reads "007" as 7, which is another text.
    if vertex_number is None or str(vertices.labels[vertex_number]) != str(key):
        return None
    return vertex_number
