"""Edges in the columns of Arrow tables, a batch of rows at a time; needs pyarrow, an extra.

Parquet files and Arrow files (`.arrow`, `.feather`, in the file or the stream form) give their
batches here, and `sources` those of whatever can hand out a stream of them.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import FileFormatError, GraphCutsError, GraphError
from graphcuts_dp.io.assemble import (
    Options,
    RawEdges,
    Schema,
    dump_schema,
    load_schema,
    token_table,
)
from graphcuts_dp.io.batches import TableBatch
from graphcuts_dp.io.codes import ENDS, Gathered, Identifiers, integers_of
from graphcuts_dp.io.edge_store import EdgeStore
from graphcuts_dp.pairs.vertices import vertex_sets
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.columns import ColumnPlaces, find_columns
from graphcuts_dp.schema.file_bytes import check_unpacked, size_of
from graphcuts_dp.schema.text_rows import MARK

if TYPE_CHECKING:
    import pyarrow as pa

_BUFFER = 1 << 20  # bytes of a column that are read at a time
_MOST_METADATA = 1 << 30  # bytes: vertex sets stand there
# The schema of a table, and what gives batches of some of its columns.
_Opened = tuple["pa.Schema", Callable[..., Iterable["pa.RecordBatch"]]]


def read_parquet(file: BinaryIO, options: Options) -> RawEdges:
    """Edges of a Parquet file: only the columns of the ends and the weight, a row group at a time.

    Raises:
        FileFormatError: pyarrow is not installed; a damaged file, no columns of ends, a null.
    """
    return _read_file(_open_parquet, file, options, kind="Parquet")


def _open_parquet(file: BinaryIO) -> "_Opened":
    from pyarrow import parquet

    rest: dict[str, Any] = {
        "thrift_string_size_limit": _MOST_METADATA,
        "memory_map": False,
        "pre_buffer": False,
        "buffer_size": _BUFFER,
    }
    stored = parquet.ParquetFile(file, **rest)
    return stored.schema_arrow, partial(stored.iter_batches, _ROWS, None, use_threads=False)


def write_parquet(graph: EdgeStore, handle: BinaryIO) -> None:
    """Write columns source, target and, if weighted, weight; the vertex set as metadata.

    Raises:
        FileFormatError: pyarrow is not installed.
        GraphError: two labels look alike as text.
    """
    schema, batches = tables_of(graph)
    from pyarrow import parquet

    with parquet.ParquetWriter(handle, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


_MAGIC = b"ARROW1"
_START = b"\xff\xff\xff\xff"  # of a message of a stream


def read_arrow(file: BinaryIO, options: Options) -> RawEdges:
    """Edges of an Arrow file, a batch at a time; only the columns of the ends and the weight.

    Raises:
        FileFormatError: pyarrow is not installed; a damaged file, no columns of ends, a null.
    """
    return _read_file(_open_arrow, file, options, kind="Arrow")


def _open_arrow(file: BinaryIO) -> "_Opened":
    arrow = pyarrow()
    head = file.read(len(_START) + 4)
    whole = head.startswith(_MAGIC)
    if not whole:  # its first message tells its length, for which memory would be taken
        length = int.from_bytes(head[len(_START) :], "little")
        if not head.startswith(_START) or length > size_of(file):
            raise FileFormatError("not a whole Arrow file, or damaged")

    def reader(included: list[int] | None = None) -> Any:
        some = arrow.ipc.IpcReadOptions(included_fields=included, use_threads=False)
        opening = arrow.ipc.open_file if whole else arrow.ipc.open_stream
        file.seek(0)
        return opening(file, options=some)

    schema = reader().schema

    def batches(columns: list[str]) -> Iterable["pa.RecordBatch"]:
        made = reader([schema.names.index(name) for name in columns])
        return map(made.get_batch, range(made.num_record_batches)) if whole else made

    return schema, batches


def write_arrow(graph: EdgeStore, handle: BinaryIO) -> None:
    """Write columns source, target and, if weighted, weight; the vertex set as metadata.

    Raises:
        FileFormatError: pyarrow is not installed.
        GraphError: two labels look alike as text.
    """
    schema, batches = tables_of(graph)
    with pyarrow().ipc.new_file(handle, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


_KEY = MARK.rstrip(":").encode()
_ROWS = 1 << 17  # worked on at a time, and in a row group that is written
_ROW_BYTES = 24  # what a row becomes
_MISSING = {
    **dict.fromkeys(ENDS, "an end"),
    "weight": "a weight",
    "owner": "the owner",
    "period": "the period",
}


def pyarrow() -> Any:
    """The package, which is loaded when the first table is read."""
    import pyarrow

    return pyarrow


def choose_columns(
    names: Sequence[str],
    options: Options,
    *,
    declared: bool | None = None,
    types: "Sequence[pa.DataType] | None" = None,
) -> ColumnPlaces:
    """Which columns hold the ends and the weight, by the rules of text files with a header.

    Raises:
        FileFormatError: the caller must say, or says what only text files have; a column that can
            be none of these, as its type tells.
    """
    given = options.columns
    if (given.header, given.delimiter, given.decimal) != (None, None, "."):
        raise FileFormatError(
            "the columns have names and types; leave out header=, delimiter= and decimal="
        )
    if len(names) < 2:
        raise FileFormatError("the table has fewer than two columns")
    columns = find_columns(names, given, weighted=options.weighted, declared=declared)
    if types is None:
        return columns
    if columns.weight is not None and not _is_number(types[columns.weight]):
        raise FileFormatError("the column of weights holds no numbers; name another by weight=")
    for role, place in columns.used.items():
        if role != "weight" and not is_label(types[place], times=role == "period"):
            what = "a column of ends" if role in ENDS else f"the column of the {role}"
            raise FileFormatError(
                f"{what} holds neither integers nor strings; name another by {role}="
            )
    if any(list(names).count(name) > 1 for name in used_names(names, columns).values()):
        raise FileFormatError("two columns have one name; rename one")
    return columns


def used_names(names: Sequence[str], columns: ColumnPlaces) -> dict[str, str]:
    """Names of the columns to read, by what they are: source, target and so on."""
    return {role: names[place] for role, place in columns.used.items()}


def gather(
    batches: Iterable["pa.RecordBatch"],
    names: Mapping[str, str],
    *,
    bad: BadRows,
    error: type[GraphCutsError],
    as_text: bool = True,
    packed: int | None = None,
) -> RawEdges:
    """Edges of batches of rows.

    Args:
        batches: tables that have the named columns.
        names: of their columns: source, target, perhaps weight, owner and period.
        bad: takes the rows that miss something.
        error: class of the errors to raise.
        as_text: whether an integer and its digits are one label, as in files.
        packed: bytes of the file that they come from, which must not unpack to far too much.

    Raises:
        GraphCutsError: of class `error`: the file unpacks to far too much.
    """
    gathered = Gathered({"user" if role == "owner" else role for role in names} - {"period"})
    periods = Identifiers(1) if "period" in names else None
    count = 0
    for batch in _small(batches):
        if packed is not None:
            check_unpacked((count + len(batch)) * _ROW_BYTES, packed)
        parts = {role: batch.column(name) for role, name in names.items()}
        good = np.ones(len(batch), dtype=np.bool_)
        for role, part in parts.items():
            parts[role] = part = part if role == "weight" else _plain(part)
            for what, lost in _lost(part, role):
                if lost.any():
                    bad.add(what, _row(count + int(np.argmax(lost))))
                    good &= ~lost
        rows: Sequence[int] = range(count, count + len(batch))
        if not good.all():
            parts = {role: part.filter(pyarrow().array(good)) for role, part in parts.items()}
            rows = (np.flatnonzero(good) + count).tolist()
        weights = _floats(parts["weight"]) if "weight" in parts else None
        columns = {
            "user" if role == "owner" else role: _ends(parts[role], as_text)
            for role in names
            if role != "weight"
        }
        if periods is not None:
            periods.add([columns.pop("period")])
        gathered.add(TableBatch(columns, weights, None, rows))
        count += len(batch)
    pyarrow().default_memory_pool().release_unused()
    fields = gathered.take()
    fields["owners"] = fields.pop("users", None)
    fields["periods"] = None if periods is None else periods.take()[0]
    return RawEdges(
        **fields,
        as_text=as_text,
        owned=True,
        bad=bad,
        where=lambda position: _row(gathered.place(position)),
        error=error,
    )


def _row(place: int) -> str:
    return f"row {place} (counted from 0)"


def _small(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    for batch in batches:
        for start in range(0, len(batch), _ROWS):
            yield batch.slice(start, _ROWS)


def is_label(kind: "pa.DataType", *, times: bool = False) -> str:
    """What a column of this type can hold as ends: "integers" or "strings"; empty if neither.

    Args:
        kind: the type.
        times: whether dates and times will do, which become strings such as "2026-01-31".
    """
    types = pyarrow().types
    if types.is_dictionary(kind):
        return is_label(kind.value_type, times=times)
    if types.is_integer(kind):
        return "integers"
    if times and (types.is_date(kind) or types.is_timestamp(kind)):
        return "strings"
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    return "strings" if any(is_one(kind) for is_one in texts) else ""


def _is_number(kind: "pa.DataType") -> bool:
    """Whether a column of this type can hold weights."""
    types = pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _plain(column: "pa.Array") -> "pa.Array":
    """A column of integers or of large strings, whatever it was made of; times become days."""
    arrow = pyarrow()
    if arrow.types.is_temporal(column.type):
        from pyarrow import compute

        column = compute.strftime(column, format="%Y-%m-%d")
    if arrow.types.is_dictionary(column.type):
        known = column.dictionary
        if not arrow.types.is_integer(known.type):
            known = known.cast(arrow.large_string())  # views of strings cannot be decoded
        column = known.take(column.indices)
    if arrow.types.is_integer(column.type):
        return column
    return column.cast(arrow.large_string())


def _lost(column: "pa.Array", role: str) -> Iterator[tuple[str, BoolVector]]:
    """What may be wrong with the entries of a column, and in which of them it is."""
    if column.null_count:
        lost = column.is_null().to_numpy(zero_copy_only=False)
        yield f"{_MISSING[role]} is missing (null); fill or filter such rows", lost
    if role != "weight" and column.type == pyarrow().uint64():
        large = column.fill_null(0).to_numpy() >= 2**63
        yield "an id is larger than 2^63 - 1; make the column one of strings", large


def _ends(column: "pa.Array", as_text: bool) -> "pa.Array":
    """Integers, or text; text that is integers as such if `as_text`."""
    arrow = pyarrow()
    if arrow.types.is_integer(column.type):
        return column.cast(arrow.int64())
    integers = integers_of(column) if as_text else None
    return column if integers is None else integers


def _floats(column: "pa.Array") -> npt.NDArray[np.float64]:
    values: npt.NDArray[np.float64] = column.cast(pyarrow().float64(), safe=False).to_numpy()
    return values


def _read_file(
    opening: Callable[[BinaryIO], "_Opened"], file: BinaryIO, options: Options, *, kind: str
) -> RawEdges:
    if not file.seekable():
        file = io.BytesIO(file.read())
    pyarrow()
    return edges_of_table(
        partial(opening, file),
        options,
        packed=size_of(file),
        damaged=f"not a whole {kind} file, or damaged",
    )


def edges_of_table(
    opening: Callable[[], "_Opened"], options: Options, *, damaged: str, packed: int | None = None
) -> RawEdges:
    """Edges of a file of tables, or of a table in memory.

    Args:
        opening: gives the schema, and what gives batches of some of the columns.
        options: the columns, and whether weights are read.
        damaged: what to say of one that cannot be read, which may hold anything.
        packed: bytes of the file; None of a table in memory.

    Raises:
        GraphCutsError: damaged, no columns of ends, or missing values: a FileFormatError of a file,
            a GraphError of a table.
    """
    in_memory, skip = packed is None, options.columns.skip
    error = GraphError if in_memory else FileFormatError
    try:
        table, batches = opening()
        told = None if in_memory else (table.metadata or {}).get(_KEY)
        schema = Schema() if told is None else load_schema(told.decode())
        columns = choose_columns(table.names, options, declared=schema.weighted, types=table.types)
        names = used_names(table.names, columns)
        kinds = {is_label(table.types[place]) for place in (columns.source, columns.target)}
        if in_memory and len(kinds) > 1:
            raise GraphError("the columns of ends hold integers both, or strings both")
        raw = gather(
            batches(columns=[*names.values()]),
            names,
            bad=BadRows(skip=skip),
            error=error,
            as_text=skip or not in_memory,
            packed=packed,
        )
        reading = columns.reading(skip=skip, text=False)
        return replace(raw, schema=schema, columns=columns, reading=reading)
    except GraphCutsError as problem:
        raise error(str(problem)) from None
    except Exception:  # noqa: BLE001, RUF100  # whatever a crafted file provokes; it may quote rows
        raise error(damaged) from None


def tables_of(graph: EdgeStore) -> tuple["pa.Schema", Iterator["pa.RecordBatch"]]:
    """Edges of a graph as batches of columns source, target and perhaps weight, and their schema.

    The vertex set, and the weight cap, are in the metadata of the schema under "graphcuts-dp".

    Raises:
        GraphError: two labels look alike as text.
    """
    arrow = pyarrow()
    sides = vertex_sets(graph.space)
    labels: list[Any] = []
    for vertices in sides:
        if vertices.is_default:
            labels.append(None)
        elif all(isinstance(label, int) and abs(label) < 2**63 for label in vertices.labels):
            labels.append(arrow.array(vertices.labels, type=arrow.int64()))
        else:
            labels.append(arrow.array(list(token_table(vertices)), type=arrow.string()))
    kinds = [arrow.int64() if each is None else each.type for each in labels]
    fields = [arrow.field(*each) for each in zip(("source", "target"), kinds, strict=True)]
    if graph.weighted:
        fields.append(arrow.field("weight", arrow.float64()))
    schema = arrow.schema(fields, metadata={_KEY: dump_schema(graph)})

    def batches() -> Iterator["pa.RecordBatch"]:
        for start in range(0, len(graph.rows), _ROWS):
            piece = slice(start, start + _ROWS)
            ends = zip(labels, (graph.rows[piece], graph.columns[piece]), strict=True)
            columns = [
                arrow.array(rows.astype(np.int64))
                if names is None
                else names.take(arrow.array(rows))
                for names, rows in ends
            ]
            if graph.weighted:
                columns.append(arrow.array(graph.weights[piece]))
            yield arrow.record_batch(columns, schema=schema)

    return schema, batches()
