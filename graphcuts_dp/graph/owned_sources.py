"""Rows with owners from files and from pandas: which column tells whose a row is."""

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphcuts_dp.arrays import IntegerVector
from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.assemble import listed, numbered
from graphcuts_dp.graph.columns import Column, ColumnPlaces, TextOptions
from graphcuts_dp.graph.convert import ends_of, numbers_of, options_of
from graphcuts_dp.graph.edge_store import Vertices
from graphcuts_dp.graph.file_bytes import opened_unpacked
from graphcuts_dp.graph.files import VertexSource, ending_of, public_vertices_of
from graphcuts_dp.graph.formats import FORMATS, FileFormat
from graphcuts_dp.graph.gathered import CodedText
from graphcuts_dp.graph.owned_rows import Counting, Marks, OwnedRows, check_counting
from graphcuts_dp.graph.raw_edges import Ends, Options, RawEdges

if TYPE_CHECKING:
    import pandas as pd

_NO_VERTICES = (
    "rows with owners need the public vertex set, since which vertices they name is private: pass "
    "vertices="
)


def read_owned(  # noqa: PLR0913  # all that a file may leave open
    path: PathLike,
    *,
    owner: Column,
    counting: Counting = "edges",
    unit: float = 1.0,
    vertices: VertexSource | tuple[VertexSource, VertexSource] | None = None,
    public_vertices_from_file: bool = False,
    bipartite: bool = False,
    directed: bool = False,
    one_based: bool = False,
    header: bool | None = None,
    source: Column | None = None,
    target: Column | None = None,
    weight: Column | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> OwnedRows:
    """Read private rows that each belong to one owner: a sender, a payer, a patient.

    Args:
        path: an edge list or a table (Parquet, Arrow); its ending tells which, see `read_graph`.
        owner: the column that names the owner of each row, by its name or its place from 0; or
            "tail": the owner is the first end of the row (unless the header has a column of this
            name). It may be the column of either end.
        counting: what the graph of the rows tells of a pair: "edges": whether any owner has it;
            "owners": how many have it; "rows": how many rows name it; "weight": the sum of their
            weights, in whole units.
        unit: public weight of one unit, > 0; for `counting="weight"` only.
        vertices: the public vertex set, as for `read_graph`. It must be given here.
        public_vertices_from_file: say that the vertices that occur in this file are public.
        bipartite: read two sides, as for `read_graph`.
        directed: read arcs, likewise.
        one_based: likewise, of the ends.
        header: likewise.
        source: likewise.
        target: likewise.
        weight: likewise; read for `counting="weight"` only.
        delimiter: likewise.
        encoding: likewise.
        tell: called with a sentence that names the columns that were read and ignored.

    A file whose owners have a column of their own is read twice.

    Raises:
        FileFormatError: as `read_graph`; no such column, a row without owner, or a file without
            columns.
        GraphError: `vertices` holds a label twice, or none.
        ParameterError: no vertices, or options that do not fit each other.
    """
    check_counting(counting, unit)
    if vertices is None and not public_vertices_from_file:
        raise ParameterError(_NO_VERTICES)
    if weight is not None and counting != "weight":
        raise ParameterError("weight= is for counting='weight'")
    form = FORMATS[ending_of(path)]
    if not form.columns:
        raise FileFormatError(f"{path!s}: owners stand in a column of an edge list or a table")
    options = Options(
        vertices=public_vertices_of(vertices, bipartite),
        weighted=None if counting == "weight" else False,
        public_vertices=public_vertices_from_file,
        bipartite=bipartite,
        directed=directed,
        one_based=one_based,
    )
    text = TextOptions(header, source, target, weight, delimiter, encoding, owner)
    try:
        raw = _raw(path, form, options, text)
        places = raw.columns
        assert places is not None  # noqa: S101  # of a format with columns
        if tell is not None and raw.reading:
            tell(raw.reading)
        own = None
        if places.owner not in (places.source, places.target):
            own = _read_owners(path, form, places, text, len(raw.sources))
        return _owned(raw, options, own, places.owner == places.source, counting, unit)
    except (FileFormatError, GraphError) as problem:
        raise FileFormatError(f"{path!s}: {problem}") from None


def _read_owners(
    path: PathLike, form: FileFormat, places: ColumnPlaces, text: TextOptions, count: int
) -> Ends:
    """The owner of each row, by another look at the file."""
    named = bool(places.names) if form.encoded else None
    again = TextOptions(
        header=named,
        source=places.owner,
        target=places.source,
        delimiter=text.delimiter,
        encoding=text.encoding,
    )
    try:
        raw = _raw(path, form, Options(weighted=False), again)
    except FileFormatError as problem:
        raise FileFormatError(f"the column of owners: {problem}") from None
    if len(raw.sources) != count:
        raise FileFormatError("the file has changed while it was read")
    return raw.sources


def _raw(path: PathLike, form: FileFormat, options: Options, text: TextOptions) -> RawEdges:
    with opened_unpacked(path) as file:
        return form.read(file if form.streamed else file.read(), options, text)


def owned_from_pandas(
    frame: "pd.DataFrame",
    *,
    owner: str,
    counting: Counting = "edges",
    unit: float = 1.0,
    source: str = "source",
    target: str = "target",
    weight: str = "weight",
    vertices: Vertices | tuple[Vertices, Vertices] | None = None,
    bipartite: bool = False,
    directed: bool = False,
) -> OwnedRows:
    """Make private rows, each with its owner, from a table.

    Args:
        frame: ids are strings or integers, and none is missing.
        owner: the column that names the owner of each row; it may be that of either end.
        counting: as for `read_owned`.
        unit: likewise.
        source: column with the first (left) ends.
        target: column with the second (right) ends.
        weight: column with the weights; read for `counting="weight"` only.
        vertices: public vertex set: a count or labels; a pair of these if `bipartite`. It must be
            given.
        bipartite: make a `BipartiteGraph` of the rows.
        directed: make a `DirectedGraph` of them.

    Raises:
        GraphError: no such columns, missing ids, an end outside the vertex set, or weights that
            are negative or not finite.
        ParameterError: no vertices, or options that do not fit each other.
    """
    check_counting(counting, unit)
    if vertices is None:
        raise ParameterError(_NO_VERTICES)
    columns = (source, target, owner, *([weight] if counting == "weight" else []))
    for name, what in zip(columns, ("source", "target", "owner", "weight"), strict=False):
        if name not in frame.columns:
            raise GraphError(f"the table lacks the {what} column; name it")
    options = options_of(vertices, None, None, None, bipartite, directed, "max")

    def where(position: int) -> str:
        return f"row {position} (counted from 0)"

    weights = numbers_of(frame[weight].to_numpy(), where) if counting == "weight" else None
    first, second = (ends_of(frame[name].to_numpy(), where) for name in (source, target))
    if isinstance(first, np.ndarray) != isinstance(second, np.ndarray):
        first, second = listed(first), listed(second)
    raw = RawEdges(sources=first, targets=second, weights=weights, as_text=False, where=where)
    own = None
    if owner not in (source, target):
        try:
            own = ends_of(frame[owner].to_numpy(), where)
        except GraphError as problem:
            raise GraphError(f"the column of owners: {problem}") from None
    return _owned(raw, options, own, owner == source, counting, unit)


def _owned(
    raw: RawEdges,
    options: Options,
    own: Ends | None,
    tail: bool,
    counting: Counting,
    unit: float,
) -> OwnedRows:
    if counting == "weight" and raw.weights is None:
        raise raw.error("there is no column of weights; name it by weight=, or count rows")
    space, parts, _ = numbered(raw, options)
    if own is None:
        owners = np.array(parts.rows if tail else parts.columns)  # the ends may be written over
        # Row numbers in the public vertex set: they follow from no row.
        marks = np.arange(max(_sizes(space)), dtype=np.uint64)
    else:
        owners, names = _numbers(own)
        marks = _marks(names)
    return OwnedRows(
        space,
        owners,
        marks,
        (parts.rows, parts.columns),
        parts.weights,
        counting=counting,
        unit=unit,
        owner_is_tail=own is None and tail,
    )


def _sizes(space: Any) -> tuple[int, ...]:
    return tuple(map(len, space)) if isinstance(space, tuple) else (len(space),)


def _numbers(own: Ends) -> tuple[IntegerVector, Sequence[Any]]:
    """A number for each owner, and the names by number."""
    if isinstance(own, CodedText):
        return own.codes, own.names
    if isinstance(own, np.ndarray):
        distinct, numbers = np.unique(own, return_inverse=True)
        return numbers, distinct.tolist()
    table: dict[Any, int] = {}
    numbers = np.fromiter(
        (table.setdefault(name, len(table)) for name in own), dtype=np.int64, count=len(own)
    )
    return numbers, list(table)


def _marks(names: Sequence[Any]) -> Marks:
    """A number for each name that follows from it alone, whatever other names there are.

    Integers and their digits are one name: whether a file's names are all integers is not one
    owner's affair.
    """
    digests = (
        hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8) for name in names
    )
    joined = b"".join(each.digest() for each in digests)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64)
