"""Read the head of a private file: its format, columns and attributes, and no row.

A head is public, and independent of the rows: files that differ in rows alone have one head.
Columns are found by the same functions as for reading rows, on a table without rows.
`count_bad_rows` is the one exception: it reads the rows, and its numbers are not private.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, final

from graphcuts_dp.errors import FileFormatError, GraphCutsError
from graphcuts_dp.files import PathLike
from graphcuts_dp.io.arrow import open_folder, open_table_file
from graphcuts_dp.io.assemble import UNDIRECTED, assemble
from graphcuts_dp.io.batches import TableBatch
from graphcuts_dp.io.codes import BatchCollector
from graphcuts_dp.io.files import (
    FORMATS,
    check_columns,
    ending_of,
    naming_file,
    read_raw,
    schema_beside,
)
from graphcuts_dp.io.graphml import graphml_head
from graphcuts_dp.io.matrices import banner_of
from graphcuts_dp.io.raw_edges import Options, RawEdges, Schema, load_schema
from graphcuts_dp.io.tables import OpenedTable, ReadingPlan, plan_reading
from graphcuts_dp.io.text import batches_of, text_batches
from graphcuts_dp.schema.bad_rows import BadRows, CountedBadRows
from graphcuts_dp.schema.column_search import (
    ColumnPositions,
    find_columns,
    find_weight_attribute,
    has_header,
)
from graphcuts_dp.schema.columns import Column, Columns, column_of
from graphcuts_dp.schema.file_bytes import opened_unpacked
from graphcuts_dp.schema.table_schema import TableSchema
from graphcuts_dp.schema.text_format import TextFormat
from graphcuts_dp.schema.text_rows import (
    TextTable,
    declares_undirected,
    konect_weighted,
    open_text_head,
)
from graphcuts_dp.schema.vertices import VertexSet

if TYPE_CHECKING:
    import pyarrow as pa

_FORMAT_WORDS = {  # formats in words, by ending
    ".parquet": "a Parquet file",
    ".arrow": "an Arrow file",
    ".feather": "an Arrow file",
    ".graphml": "a graph in GraphML",
    ".gml": "a graph in GML",
    ".net": "a graph in Pajek's format",
    ".npz": "a sparse matrix of scipy",
}
_SEPARATORS = {"\t": "tabs", " ": "blanks", ",": "commas", ";": "semicolons", "|": "bars"}
_ZIP = b"PK"  # at the start of a file of scipy
_MOST_BANNER = 1024  # bytes of the first line of a MatrixMarket file


@final
@dataclass(frozen=True, kw_only=True)
class HeadColumn:
    """A column of a table, or a declared edge attribute of a graph.

    Attributes:
        name: "" if it may not be quoted.
        option_value: what the caller types to name it: its name, or its position from 0.
        type: type of its values, in words.
        role: what it is read as, "" if it is ignored.
    """

    name: str
    option_value: Column
    type: str
    role: str = ""


@final
@dataclass(frozen=True, kw_only=True)
class FileHead:
    """Public facts about a private file before any of its rows is read.

    Attributes:
        format_words: the format, in words.
        columns: all columns; of a graph the declared edge attributes; empty if they are unknown.
        open_ended: whether rows may have further columns, which the head does not show.
        positions: positions of the columns that are read; None if the file has no columns, or the
            caller must choose.
        has_header: whether a text file has a header; None for other files.
        schema: roles and types of the columns that are read; None for text and without `positions`.
        declared: facts that the file declares.
        lists_vertices: whether the file lists its vertices, beside its edges.
        has_weights: whether weights are read; None if only the edges show it. False without
            `positions`.
        is_directed: whether the file declares edges to have a direction; None if it is silent.
        without_weights: whether columns could be found only if no weights are read.
        problems: errors that the caller must resolve.
    """

    format_words: str
    columns: Sequence[HeadColumn] = ()
    open_ended: bool = False
    positions: ColumnPositions | None = None
    has_header: bool | None = None
    schema: TableSchema | None = None
    declared: Schema = field(default_factory=Schema)
    lists_vertices: bool = False
    has_weights: bool | None = None
    is_directed: bool | None = None
    without_weights: bool = False
    problems: Sequence[GraphCutsError] = ()

    @property
    def time_zone(self) -> str | None:
        """The public zone in which the instants of a stored period column have their date."""
        return None if self.schema is None else self.schema.time_zone


@final
@dataclass(frozen=True, kw_only=True)
class BadRowCounts:
    """Numbers of unusable rows of a private file. NOT PRIVATE: no noise hides these numbers.

    Attributes:
        rows: number of rows.
        skipped: number of rows that `on_bad="skip"` leaves out.
        faults: number of times each kind of fault was met; a row may have several.
        positions: where the first faults of each kind are, such as "line 3".
        outside_periods: number of usable rows of periods that are not declared, which no table
            counts; None if no periods are declared.
    """

    rows: int
    skipped: int
    faults: Mapping[str, int] = field(default_factory=dict)
    positions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    outside_periods: int | None = None

    @property
    def share(self) -> float:
        """The share of the rows that `on_bad="skip"` leaves out."""
        return self.skipped / self.rows if self.rows else 0.0


def read_head(path: PathLike, options: Options) -> FileHead:
    """Read the head of a file, or of a folder of Parquet files.

    Raises:
        FileFormatError: it does not exist, its ending is unknown, or it is damaged.
        ParameterError: no such encoding or delimiter.
    """
    if Path(path).is_dir():
        return _table_head(open_folder(path), options, "a folder of Parquet files, one table")
    ending = ending_of(path)
    file_format = FORMATS[ending]
    with naming_file(path), opened_unpacked(path) as file:
        check_columns(ending, options.columns)
        if file_format.text is not None:
            head = _text_head(file, options, file_format.text)
        elif file_format.opening is not None:
            table = open_table_file(file, file_format.opening)
            head = _table_head(table, options, _FORMAT_WORDS[ending])
        else:
            head = _graph_head(file, options, ending)
        if file_format.described_apart and head.declared == Schema():
            head = replace(head, declared=schema_beside(path))
    problem = _kind_problem(head, options)
    return head if problem is None else replace(head, problems=[*head.problems, problem])


def count_bad_rows(path: PathLike, options: Options) -> BadRowCounts:
    """Read all rows of a file and count those that cannot be used. NOT PRIVATE.

    Of a graph or a matrix, which is refused as a whole, only the edges are counted.

    Args:
        path: a file, or a folder of Parquet files.
        options: of the reader; endpoints outside the vertex set are counted if it is given.

    Raises:
        FileFormatError: the file cannot be read even without its bad rows.
    """
    bad = CountedBadRows()
    options = replace(options, columns=replace(options.columns, on_bad="skip"))
    if Path(path).is_dir():
        return _count_in_table(open_folder(path), options, bad)
    ending = ending_of(path)
    file_format = FORMATS[ending]
    text_format, opening = file_format.text, file_format.opening
    with naming_file(path):
        if opening is not None:
            with opened_unpacked(path) as file:
                return _count_in_table(open_table_file(file, opening), options, bad)
        if text_format is None:
            raw = read_raw(
                path, replace(options, columns=replace(options.columns, on_bad="refuse"))
            )
            raw.bad, edge_count = bad, len(raw.sources)
            assemble(raw, options)
            return BadRowCounts(
                rows=edge_count, skipped=0, faults=bad.counts, positions=bad.positions
            )
        with opened_unpacked(path) as file:
            table = text_batches(file, options, form=text_format, bad=bad)
            declared = table.schema
            if file_format.described_apart and declared == Schema():
                declared = schema_beside(path)
            converted, usable, outside = _count_rows(
                table.batches, table.roles, declared, options, bad, "line"
            )
            return BadRowCounts(
                rows=converted + bad.rows,
                skipped=converted + bad.rows - usable,
                faults=bad.counts,
                positions=bad.positions,
                outside_periods=outside,
            )


def _kind_problem(head: FileHead, options: Options) -> GraphCutsError | None:
    """Return why the file does not hold a graph of the kind to be read; None if it does.

    The kind is checked as it will be with edges: a graph without edges is assembled from the
    declarations of the head, and the error of that is the result.
    """
    if head.is_directed is False and options.directed:
        return FileFormatError(UNDIRECTED)
    vertices = options.vertices
    if vertices is None and head.declared.vertices is None and head.declared.sides is None:
        any_set = VertexSet(1)  # stands for vertices that only rows name
        vertices = (any_set, any_set) if options.bipartite else any_set
    # If only rows show whether there are weights, `max_weight` may fit.
    max_weight = None if head.has_weights is None else options.max_weight
    roles = ["source", "target", "weight"] if head.has_weights else ["source", "target"]
    try:
        assemble(
            _raw([], head.declared, roles),
            replace(options, vertices=vertices, max_weight=max_weight),
        )
    except GraphCutsError as problem:
        return problem
    return None


def _text_head(file: BinaryIO, options: Options, text_format: TextFormat) -> FileHead:
    """Read the head of a text file."""
    columns = options.columns
    try:
        has_header(columns.header, columns.named, text_format)
    except FileFormatError as problem:
        return FileHead(format_words="text", problems=[problem])
    table = open_text_head(file, text_format, columns)
    batches, without_weights, problems = _try_without_weights(
        lambda options: batches_of(table, options, BadRows(skip=columns.skip)), options
    )
    if len(table.first_cells) == 1:
        # `batches_of` has refused it: it is no table, or its lines have another separator.
        raise problems[0]
    column_positions = None if batches is None else batches.columns
    names: Sequence[str] = ()
    width = 0 if column_positions is None else column_positions.width
    if table.has_header:
        names = _public_names(table.first_cells, columns)
        width = len(table.first_cells)
        if column_positions is not None:
            column_positions = replace(column_positions, names=tuple(names))
    return FileHead(
        format_words=_text_format_words(table, text_format, columns),
        columns=[
            HeadColumn(
                name=names[position] if names else "",
                option_value=_option_value(position, names, table.first_cells),
                type="text",
                role=_role(position, column_positions),
            )
            for position in range(width)
        ],
        open_ended=not table.has_header,
        positions=column_positions,
        has_header=table.has_header,
        declared=Schema() if batches is None else batches.schema,
        has_weights=column_positions is not None and column_positions.weight is not None,
        is_directed=False if declares_undirected(table.konect_words) else None,
        without_weights=without_weights,
        problems=problems,
    )


def _try_without_weights(
    find: Callable[[Options], Any], options: Options
) -> tuple[Any, bool, list[GraphCutsError]]:
    """Call `find`, again without weights if that fails.

    Returns:
        The result, or None; whether it is one without weights; the problems that arose.
    """
    try:
        return find(options), False, []
    except GraphCutsError as problem:
        if options.weighted is None and options.columns.weight is None:
            try:
                return find(replace(options, weighted=False)), True, [problem]
            except GraphCutsError:
                pass
        return None, False, [problem]


def _text_format_words(table: TextTable, text_format: TextFormat, options: Columns) -> str:
    """Return how lines are split, in words."""
    delimiter = (
        table.reader.delimiter if table.has_header else options.delimiter or text_format.delimiter
    )
    separators = "commas or blanks"
    if delimiter is not None:
        separators = _SEPARATORS.get(delimiter, f"the character {delimiter!r}")
    elif text_format.konect:
        separators = "blanks"
    comment = ""
    if table.konect_words:
        weights = "with" if konect_weighted(table.konect_words) else "without"
        comment = f"; its first comment declares a third column {weights} weights"
    header = "with a header" if table.has_header else "without a header"
    return f"text {header}, {separators} between columns{comment}"


def _public_names(first_line: Sequence[str], options: Columns) -> list[str]:
    """Return the names of a header that may be quoted; "" in place of others.

    All are public where the caller says that there is a header, or names a column of it. Else the
    first line could be a row, and only words are quoted that are known here; or all of them, if so
    many are known that the line is certain to name columns.
    """
    if options.header or any(isinstance(column, str) for column in options.named):
        return list(first_line)
    if len(first_line) < 2:
        return [""] * len(first_line)
    by_position = Columns(source=0, target=1)
    return list(find_columns(first_line, by_position, weighted=False, declared=None).names)


def _option_value(position: int, names: Sequence[str], header: Sequence[str]) -> Column:
    """Return what the caller types to name a column: its name if possible, else its position.

    A name is possible if it may be quoted, is printable, and names one column.

    Args:
        position: position of the column.
        names: names of the columns, "" for one that may not be quoted; empty without a header.
        header: all names, also those that may not be quoted.
    """
    name = names[position] if names else ""
    can_be_typed = name and name == header[position] == name.strip() and name.isprintable()
    return (
        name if can_be_typed and header.count(name) == 1 and column_of(name) == name else position
    )


def _role(position: int, positions: ColumnPositions | None) -> str:
    """Return what a column is read as; "" if it is ignored, or not known yet."""
    if positions is None:
        return ""
    role_positions = {
        "source": positions.source,
        "target": positions.target,
        "user": positions.user,
        "period": positions.period,
        "weight": positions.weight,
    }
    return " and ".join(role for role, index in role_positions.items() if index == position)


def _table_head(table: OpenedTable, options: Options, format_words: str) -> FileHead:
    """Return the head of a table with stored types."""
    plan: ReadingPlan | None
    plan, without_weights, problems = _try_without_weights(
        lambda options: plan_reading(table, options), options
    )
    names = list(table.names)
    schema = None if plan is None else plan.schema
    column_positions = None if plan is None else replace(plan.positions, names=tuple(names))
    kinds = {} if schema is None else {column.position: column.kind for column in schema}
    return FileHead(
        format_words=format_words,
        columns=[
            HeadColumn(
                name=name,
                option_value=_option_value(position, names, names),
                type=_stored_type(table.types[position], kinds.get(position)),
                role=_role(position, column_positions),
            )
            for position, name in enumerate(names)
        ],
        positions=column_positions,
        schema=schema,
        declared=_declared(table) if plan is None else plan.declared,
        has_weights=column_positions is not None and column_positions.weight is not None,
        without_weights=without_weights,
        problems=problems,
    )


def _declared(table: OpenedTable) -> Schema:
    """Return the facts that a file of this package declares; an empty schema for other tables."""
    return Schema() if table.facts is None else load_schema(table.facts)


def _stored_type(stored: "pa.DataType | None", kind: str | None) -> str:
    """Return the type of a column in words: what it is read as, and how it is stored."""
    storage = f"stored as {stored!s:.60}"
    return storage if kind is None else f"{kind}, {storage}"


def _graph_head(file: BinaryIO, options: Options, ending: str) -> FileHead:
    """Read the head of a graph or a matrix, which lists its vertices."""
    if ending == ".mtx":
        return _matrix_head(file.readline(_MOST_BANNER))
    if ending == ".graphml":
        return _graphml_head(file.read(), options)
    start = file.read(4)
    if not start:
        raise FileFormatError("the file is empty")
    if ending == ".npz" and not start.startswith(_ZIP):
        raise FileFormatError("not a sparse matrix made by scipy.sparse.save_npz")
    return FileHead(format_words=_FORMAT_WORDS[ending], lists_vertices=True)


def _matrix_head(line: bytes) -> FileHead:
    """Return the head of a MatrixMarket file from its first line."""
    shape, entries, symmetry = banner_of(line)
    return FileHead(
        format_words=f"a MatrixMarket file: {shape}, {entries}, {symmetry}",
        lists_vertices=True,
        has_weights=entries != "pattern",
        is_directed=False if symmetry == "symmetric" else None,
    )


def _graphml_head(data: bytes, options: Options) -> FileHead:
    """Return the head of a GraphML file."""
    if not data.strip():
        raise FileFormatError("the file is empty")
    head = graphml_head(data)
    weight, problems = None, []
    try:
        weight = find_weight_attribute(
            head.names, head.numeric, options.columns, weighted=options.weighted
        )
    except FileFormatError as problem:
        problems.append(problem)
    return FileHead(
        format_words=(
            f"{_FORMAT_WORDS['.graphml']}, {'directed' if head.directed else 'undirected'}"
        ),
        columns=[
            HeadColumn(
                name=name,
                option_value=name,
                type="number" if is_number else "declared as no number",
                role="weight" if index == weight else "",
            )
            for index, (name, is_number) in enumerate(zip(head.names, head.numeric, strict=True))
            if head.of_edges[index] or index == weight
        ],
        lists_vertices=True,
        has_weights=weight is not None,
        is_directed=head.directed,
        without_weights=bool(problems),
        problems=problems,
    )


def _count_in_table(table: OpenedTable, options: Options, bad: CountedBadRows) -> BadRowCounts:
    """Count the bad rows of a table with stored types."""
    total = 0

    def read_columns(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        nonlocal total
        for values in table.read_columns(positions):
            total += len(values[0])
            yield values

    plan = plan_reading(replace(table, read_columns=read_columns), options)
    roles = {column.role for column in plan.schema}
    if options.periods is None:  # then batches have no numbers of periods
        roles.discard("period")
    _, usable, outside = _count_rows(plan.batches(options, bad), roles, plan.declared, options, bad)
    return BadRowCounts(
        rows=total,
        skipped=total - usable,
        faults=bad.counts,
        positions=bad.positions,
        outside_periods=outside,
    )


def _count_rows(
    batches: Iterable[TableBatch],
    roles: Iterable[str],
    declared: Schema,
    options: Options,
    bad: CountedBadRows,
    noun: str = "row",
) -> tuple[int, int, int | None]:
    """Count rows.

    Returns:
        The number of converted rows, that of usable ones, whose endpoints are public vertices, and
        that of usable ones of periods that are not declared; the last is None if no periods are
        declared. Afterwards `bad.rows` is the number of rows that could not be converted, without
        the converted ones that `assemble` leaves out.
    """
    converted = usable = 0
    outside = None if options.periods is None else 0
    for batch in batches:
        if not len(batch):
            continue
        raw = _raw([batch], declared, roles, bad, noun)
        converted += len(raw.sources)
        unconverted_count = bad.rows
        try:
            _, edges, _ = assemble(raw, options, complete=False)
            usable += len(edges.rows)
            if outside is not None and raw.periods is not None:
                outside += int((raw.periods < 0).sum())
        except GraphCutsError:
            if len(raw.sources):
                raise
            # No row of this batch is left, so that without a vertex set there is no vertex.
        bad.rows = unconverted_count
    return converted, usable, outside


def _raw(
    batches: Iterable[TableBatch],
    declared: Schema,
    roles: Iterable[str],
    bad: BadRows | None = None,
    noun: str = "row",
) -> RawEdges:
    """Return the edges of batches; `noun` is what messages call a row."""
    collector = BatchCollector(roles)
    for batch in batches:
        collector.add(batch)
    return RawEdges(
        **collector.take(),
        schema=declared,
        bad=BadRows() if bad is None else bad,
        where=lambda position: f"{noun} {collector.row_number(position)}",
        error=FileFormatError,
    )
