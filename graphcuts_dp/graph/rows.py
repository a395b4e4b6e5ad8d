"""Private rows: trips, calls, payments, with two endpoints, perhaps a user, a period, an amount.

Rows are read into memory, or stay where they lie, in Parquet files, a database, a cluster, until
they are first asked for; then they are read once. Either way each becomes a few whole numbers,
which `graph.engine` groups and bounds, and only sums of pairs come out. What one user, or one row,
can change in these sums is bounded there.
"""

import hashlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Self, final, get_args

import numpy as np

from graphcuts_dp.arrays import IntegerVector, IntVector
from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph import engine
from graphcuts_dp.graph.adjacency import AnyGraph, from_parts_on
from graphcuts_dp.graph.engine import Cells, Shape, check_at_most
from graphcuts_dp.graph.row_sources import Held, HeldRows, Marks, RowSource, StreamedRows
from graphcuts_dp.io.arrow import open_folder
from graphcuts_dp.io.assemble import Options, RawEdges, codes_and_names, numbered
from graphcuts_dp.io.edge_store import EdgeParts
from graphcuts_dp.io.files import (
    FORMATS,
    VertexSource,
    ending_of,
    naming_file,
    public_vertices_of,
    read_raw,
)
from graphcuts_dp.io.tables import (
    ReadingPlan,
    edges_of_table,
    not_a_table_error,
    open_table,
    plan_reading,
)
from graphcuts_dp.privacy.guarantee import NO_PERIODS, Protect
from graphcuts_dp.schema.columns import TAIL, Columns
from graphcuts_dp.schema.counting import STEPS, Counting, Reach, counts_once
from graphcuts_dp.schema.periods import DATES, Periods
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet, sets_in, vertex_sets

COUNTINGS: tuple[Counting, ...] = get_args(Counting)
_UNIT_NAMES = {"edges": "pairs", "owners": "pairs", "rows": "rows", "weight": "units of weight"}
VertexSources = VertexSource | tuple[VertexSource, VertexSource] | None
_SMALLEST_UNIT = float(np.finfo(np.float64).tiny)
_STREAM = "the rows that come in"


@final
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Rows:
    """Private rows, each with two ends. Its repr shows only the schema.

    Made by `Rows.read` and `Rows.of`. Rows whose two ends are equal count in a table of flows, in a
    cell of their own; a graph of the rows has no loops.

    Attributes:
        space: public: the vertices that rows may join.
        counting: what a pair counts: "rows": how many rows name it; "weight": the sum of their
            weights, in units; "owners": how many owners have it; "edges": whether any has.
        unit: public: weight of one unit, > 0; for `counting="weight"` only.
        periods: public: the periods that were declared; None where rows have none.
        owned: public: whether each row has an owner.
        owner_is_tail: public: whether the owner of a row is its first end.
        data: public: the name that the rows are known by where they stay in an engine; or None.
        held: the rows, where they are in memory. Private.
        period_column: public: the name or number of the column that tells the period, and how its
            times become dates.
        user_column: public: the name of the column of users, where rows stay in an engine.
        endpoint_columns: public: likewise, of both endpoints.
        reading: public: a sentence that names the columns that were read and ignored, where a file
            was read into memory.
    """

    space: Space
    counting: Counting = "rows"
    unit: float = 1.0
    periods: Periods | None = None
    owned: bool = False
    owner_is_tail: bool = False
    data: str | None = None
    held: Held | None = field(default=None, repr=False)
    period_column: str = ""
    user_column: str = ""
    endpoint_columns: tuple[str, ...] = ()
    reading: str = field(default="", repr=False)
    _source: RowSource | None = field(default=None, repr=False)  # None of no rows

    @classmethod
    def read(
        cls,
        path: PathLike | BinaryIO,
        *,
        columns: Columns,
        counting: Counting = "rows",
        unit: float = 1.0,
        vertices: VertexSources = None,
        public_vertices_from_file: bool = False,
        periods: Periods | Sequence[str] | str | None = None,
        kind: str = "undirected",
        data: str | None = None,
    ) -> Self:
        """Read private rows: trips, calls, payments.

        Args:
            path: an edge list or a table (Parquet, Arrow); its ending tells which. Or a folder of
                Parquet files, whose rows stay there, as those of a single one do with `data`. Or
                an open binary file of CSV, such as `sys.stdin.buffer`, read once to its end.
            columns: as for `Graph.read`; `owner` may be the column of either end;
                `period` is needed for `periods`, `weight` is read for `counting="weight"` only.
            counting: as the attribute.
            unit: likewise.
            vertices: the public vertex set, as for `Graph.read`; which vertices rows name is
                private, so it must be given.
            public_vertices_from_file: say that the vertices that occur in this file are public.
            periods: public: the periods of the rows, such as "2026-01..2026-12" or a list. Rows of
                other periods do not count.
            kind: "undirected", "directed" or "bipartite".
            data: a name, such as "trips-2026", by which a store knows rows that stay in an engine.

        Raises:
            FileFormatError: as `Graph.read`; no such column, or a file without columns.
            GraphError: `vertices` holds a label twice, or none.
            ParameterError: no vertices, or options that do not fit each other.
        """
        options = _options(
            columns, vertices, counting, unit, periods, kind, inferred=public_vertices_from_file
        )
        if not isinstance(path, str | os.PathLike):
            raw = _of_stream(path, options, data)
            with naming_file(_STREAM):
                return cls._holding(raw, options)
        if data is not None or Path(path).is_dir():
            return cls._staying(plan_reading(open_folder(path), options), options, data)
        if not FORMATS[ending_of(path)].columns:
            raise FileFormatError(f"{path!s}: rows stand in an edge list or a table")
        with naming_file(path):
            return cls._holding(read_raw(path, options), options)

    @classmethod
    def of(
        cls,
        table: Any,
        *,
        columns: Columns,
        counting: Counting = "rows",
        unit: float = 1.0,
        vertices: VertexSources = None,
        periods: Periods | Sequence[str] | str | None = None,
        kind: str = "undirected",
        data: str | None = None,
    ) -> Self:
        """Make private rows of a table of any library.

        Args:
            table: of pandas, Polars, Arrow, ..., with ids that are strings or integers. A lazy one
                (DuckDB, Polars, PySpark, Dask, Ibis) stays where it is, as every table does with
                `data`.
            columns: as for `read`, by name.
            counting: likewise.
            unit: likewise.
            vertices: public vertex set: a count or labels; a pair of these for two sides. It must
                be given.
            periods: as for `read`.
            kind: likewise.
            data: likewise.

        Raises:
            GraphError: no table, no such columns, missing ids, an end outside the vertex set, or
                weights that are negative or not finite.
            ParameterError: no vertices, or options that do not fit each other.
        """
        options = _options(columns, vertices, counting, unit, periods, kind)
        opened = open_table(table)
        if opened is None:
            raise not_a_table_error()
        if data is not None or opened.lazy:
            return cls._staying(plan_reading(opened, options), options, data)
        return cls._holding(edges_of_table(opened, options), options)

    @classmethod
    def empty(
        cls,
        *,
        columns: Columns,
        counting: Counting = "rows",
        unit: float = 1.0,
        vertices: VertexSources = None,
        periods: Periods | Sequence[str] | str | None = None,
        kind: str = "undirected",
    ) -> Self:
        """No rows, of the schema that options for `read` give: for forecasts. Reads no rows.

        Args:
            columns: as for `read`.
            counting: likewise.
            unit: likewise.
            vertices: likewise.
            periods: likewise.
            kind: likewise.

        Raises:
            ParameterError: no vertices, or options that do not fit each other.
        """
        return cls._without(_options(columns, vertices, counting, unit, periods, kind))

    @classmethod
    def _without(cls, options: Options) -> Self:
        """No rows, on the vertices that were given."""
        columns, periods = options.columns, options.periods
        given = options.vertices
        assert given is not None  # noqa: S101  # the caller has looked
        return cls(
            space=options.space(given if isinstance(given, tuple) else (given,)),
            counting=options.counting,
            unit=float(options.unit),
            periods=periods,
            owned=columns.owner is not None,
            owner_is_tail=columns.owner is not None and columns.owner in (TAIL, columns.source),
            period_column=_period_column(options, columns.time_zone),
        )

    @classmethod
    def _holding(cls, raw: RawEdges, options: Options) -> Self:
        """Rows that were read into memory."""
        counting = options.counting
        if counting == "weight" and raw.weights is None:
            raise raw.error("there is no column of weights; name it by weight=, or count rows")
        places, columns, periods = raw.columns, options.columns, options.periods
        owned = columns.owner is not None
        tail = owned and raw.users is None and (places is None or places.owner == places.source)
        space, parts, _ = numbered(raw, options)
        own, named = raw.users, raw.periods  # of rows that count
        owners: IntegerVector | None = None
        marks: Marks = np.zeros(0, dtype=np.uint64)
        if own is not None:
            owners, names = codes_and_names(own)
            marks = _marks(names)
        elif owned:
            owners = np.array(parts.rows if tail else parts.columns)  # ends may be written over
            # Row numbers in the public vertex set: they follow from no row.
            marks = np.arange(max(map(len, sets_in(space))), dtype=np.uint64)
        held = Held(
            ends=(parts.rows, parts.columns),
            owners=owners,
            marks=marks,
            periods=None if named is None else np.asarray(named),
            weights=parts.weights,
        )
        found = cls.holding(
            space,
            held,
            counting=counting,
            unit=options.unit,
            periods=periods,
            owner_is_tail=tail,
        )
        return replace(
            found,
            period_column=_period_column(options, raw.time_zone or columns.time_zone),
            reading=raw.reading,
        )

    @classmethod
    def holding(
        cls,
        space: Space,
        held: Held,
        *,
        counting: Counting = "rows",
        unit: float = 1.0,
        periods: Periods | None = None,
        owner_is_tail: bool = False,
    ) -> Self:
        """Rows that are in memory, as arrays.

        Args:
            space: public: the vertices that rows may join.
            held: the rows.
            counting: as the attribute.
            unit: likewise.
            periods: likewise.
            owner_is_tail: likewise.

        Raises:
            ParameterError: another counting, or a unit that is none or not asked for.
        """
        check_counting(counting, unit)
        return cls(
            space=space,
            counting=counting,
            unit=float(unit),
            periods=periods,
            owned=held.owners is not None,
            owner_is_tail=owner_is_tail,
            held=held,
            _source=HeldRows(held),
        )

    @classmethod
    def _staying(cls, plan: ReadingPlan, options: Options, data: str | None) -> Self:
        """Return rows that stay where they are until they are first asked for."""
        if options.vertices is None:
            raise ParameterError(
                "folders and tables that stay in an engine need vertices=, a count or labels"
            )
        places = plan.columns
        if options.counting == "weight" and places.weight is None:
            raise plan.table.error(
                "there is no column of weights; name it by weight=, or count rows"
            )
        found = cls._without(options)
        return replace(
            found,
            owner_is_tail=found.owned and places.owner == places.source,
            data=data,
            reading=plan.reading,
            period_column=_period_column(options, plan.schema.time_zone),
            user_column="" if places.owner is None else plan.table.names[places.owner],
            endpoint_columns=tuple(
                plan.table.names[place] for place in (places.source, places.target)
            ),
            _source=StreamedRows(plan, options),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Public: of the matrix of their graph."""
        left, right = vertex_sets(self.space)
        return len(left), len(right)

    @property
    def weighted(self) -> bool:
        """Public: whether the graph of these rows has weights."""
        return self.counting != "edges"

    @property
    def what(self) -> str:
        """Public: what the bound on an owner counts: "pairs", "rows" or "units of weight"."""
        return _UNIT_NAMES[self.counting]

    def protects(self, protection: Protect) -> str:
        """Public: whom a promise protects, in few words; in one period where it is for one."""
        if self.periods is None or not (protection.per_period or protection.kind == "edges"):
            return str(protection)
        return f"{replace(protection, per_period=False)} in one {self.periods.by}"

    def shape_of_cells(self, *, loops: bool = True, per_period: bool = False) -> Shape:
        """Public: how coded rows become cells, and how what they count is bounded."""
        left, right = vertex_sets(self.space)
        return Shape(
            counting=self.counting,
            left=len(left),
            right=len(right),
            periods=1 if self.periods is None else len(self.periods.labels),
            one_set=left is right,
            loops=loops,
            owned=self.owned,
            marked=self.held is not None and self.owned,
            per_period=per_period,
            unit=self.unit,
        )

    def coded_table(self) -> Any:
        """Return the coded rows as a relation of DuckDB; see `Shape`. Private.

        Raises:
            GraphCutsError: bad rows, unless these are left out; or rows that cannot be read.
        """
        assert self._source is not None  # noqa: S101  # the caller has looked
        unordered = isinstance(self.space, VertexSet)
        return self._source.table(self.shape_of_cells(), unordered=unordered)

    def cells(self, protection: Protect, *, whole: bool, loops: bool = True) -> Cells:
        """What each pair counts in each period, of which nobody has too much. Private.

        Args:
            protection: of "edges": pairs, each of which counts once, are as they are; of "rows": a
                row counts for at most `steps` units of weight, or 1; of an owner: at most `steps`
                pairs, rows or units count, in each period if `per_period`, else altogether.
            whole: of an owner: `steps` whole rows are kept, or whole units of weight; else each
                row counts for a share, so that they count for `steps` together.
            loops: whether rows whose ends are equal count.

        Raises:
            ParameterError: rows that cannot be bounded so.
            GraphError: bad rows, unless these are to be skipped.

        Sensitivity: between rows and the same without one of these, or without all those of one
        owner, the steps of all cells change by at most `steps` times `STEPS` together; of "edges",
        and of "rows" that are counted, so does one cell by `STEPS` for each of the `steps` changes;
        see `scaled_cells`, `kept_cells`, `clipped_cells`.
        """
        steps = protection.steps
        protection.check_rows(self.counting, owned=self.owned, periods=self.periods is not None)
        check_at_most(steps)
        if self._source is None:
            return Cells.none()
        table = self.coded_table()
        shape = self.shape_of_cells(loops=loops, per_period=protection.per_period)
        if protection.kind == "owner":
            if self.counting != "weight" and (whole or self.counting == "edges"):
                return engine.kept_cells(table, shape, at_most=steps)
            return engine.scaled_cells(table, shape, at_most=steps, whole=whole)
        if self.counting == "weight":
            return engine.clipped_cells(table, shape, at_most=steps)
        return engine.cells(table, shape)

    def bounded(self, protection: Protect) -> AnyGraph:
        """The graph of these rows, of which nobody has too much. Private.

        Without weights for "edges"; else with weights that are whole numbers and no cap, of which
        a change by one is a step (`hide_change=1`). Loops are left out.

        Args:
            protection: as for `cells`.

        Raises:
            ParameterError: rows that cannot be bounded so, or that have periods.
            GraphError: as for `cells`.

        Sensitivity: graphs of neighbours are the ends of a path of at most `steps` graphs more,
        each of which differs from the one before in one pair: an edge, or 1 of its weight. What an
        owner contributes are whole numbers that add up to at most `steps` (see `cells`), and a sum
        of contributions loses at most so many ones; so does a union of sets of which one has at
        most so many pairs.
        """
        if self.periods is not None:
            raise ParameterError(
                "rows with periods are for release_flows; leave out periods= for a graph of them"
            )
        two_sides = not isinstance(self.space, VertexSet | Arcs)
        found = self.cells(protection, whole=True, loops=two_sides)
        weights = (found.steps // STEPS).astype(np.float64) if self.weighted else None
        return from_parts_on(
            self.space,
            EdgeParts(found.first, found.second, weights, owned=True),
            merge="sum",
            weight_cap=None,
            hide_change=1 if self.weighted else None,
            note=f"weights in units of {self.unit:g}" if self.counting == "weight" else "",
        )

    def contributions(self, *, per_period: bool = False) -> IntVector:
        """How many pairs, rows or units each owner has that has any, in no order. Private.

        Units are rounded up: an owner is above a bound if and only if this number is.

        Args:
            per_period: whether an owner counts in each period as one of its own.

        Raises:
            ParameterError: rows without periods have none for each of them.
        """
        if per_period and self.periods is None:
            raise ParameterError(NO_PERIODS)
        if self._source is None:
            return np.zeros(0, dtype=np.int64)
        return engine.contributions(self.coded_table(), self.shape_of_cells(per_period=per_period))

    def __repr__(self) -> str:
        sizes = " x ".join(str(len(side)) for side in sets_in(self.space))
        kind = ", directed" if isinstance(self.space, Arcs) else ""
        unit = f" in units of {self.unit:g}" if self.counting == "weight" else ""
        periods = "" if self.periods is None else f", {len(self.periods.labels)} periods"
        return f"Rows(n={sizes}{kind}, {self.counting}{unit}{periods})"

    __hash__ = None  # type: ignore[assignment]  # a hash would be a fingerprint of the rows


@final
@dataclass(frozen=True, eq=False)
class PairCounts:
    """What each pair counts in each period, of which nobody has too much. Private.

    Attributes:
        found: the counts, in parts of a row or unit: `STEPS` of them.
        step: how many of these parts one step of the counting is: 1, or `STEPS` of whole numbers.
        counting: public: what it is that counts, as of `Rows`.
    """

    found: Cells
    step: int
    counting: Counting

    @property
    def weighted(self) -> bool:
        """Public: whether a pair can count more than 1."""
        return self.counting != "edges"

    @property
    def weight_cap(self) -> float | None:
        """Public: how much a pair can count."""
        return None if self.weighted else 1.0


PrivateData = AnyGraph | Rows


def without_rows(data: PrivateData) -> PrivateData:
    """Data of the same schema without any row: all that is public of them, and nothing else.

    Raises:
        GraphError: neither a graph nor rows.
    """
    if isinstance(data, Rows):
        return replace(data, held=None, _source=None)
    if not isinstance(data, AnyGraph):
        raise GraphError("the first argument must be a Graph; make one by Graph.of, or read_graph")
    return data.without_edges()


def check_counting(counting: Any, unit: float) -> None:
    """Check what rows are to count.

    Raises:
        ParameterError: another counting, or a unit that is none or not asked for.
    """
    if counting not in COUNTINGS:
        listed = ", ".join(f"{name!r}" for name in COUNTINGS)
        raise ParameterError(f"unknown counting {counting!r:.40}; it is one of {listed}")
    good = not isinstance(unit, bool) and isinstance(unit, int | float | np.number)
    # Engines that divide by multiplying need a finite reciprocal, which smaller units have not.
    if not good or not _SMALLEST_UNIT <= unit < np.inf:
        raise ParameterError("unit must be a positive, finite number: the weight of one step")
    if unit != 1 and counting != "weight":
        raise ParameterError("unit is for counting='weight'")


def counted_rows(
    rows: Rows, protection: Protect, *, whole: bool, by: str | Sequence[str] | None = None
) -> PairCounts:
    """What pairs count in rows, as a table of flows measures it. Private; see `Rows.cells`.

    Args:
        rows: private.
        protection: as for `Rows.cells`.
        whole: likewise.
        by: levels of periods; numbers of periods are codes of the finest one.
    """
    found = rows.cells(protection, whole=whole)
    if rows.periods is not None:
        found = replace(found, period=rows.periods.codes(by)[found.period])
    return PairCounts(found, STEPS if whole else 1, rows.counting)


def reach_of(data: PrivateData) -> Reach | None:
    """What one owner's rows can change; None for a graph. Reads the schema only."""
    return Reach(counts_once(data.counting), data.owner_is_tail) if isinstance(data, Rows) else None


def bounded_graph(data: PrivateData, protection: Protect) -> AnyGraph:
    """The graph of private data: of rows, that in which nobody has too much. Private.

    Between neighbours it changes by at most `protection.steps` steps: see `Rows.bounded`.

    Args:
        data: a graph, or rows.
        protection: whom the promise is for.

    Raises:
        ParameterError: owners or rows shall be protected of a graph, which has none; or rows that
            cannot be bounded so.
    """
    if isinstance(data, Rows):
        return data.bounded(protection)
    if protection.kind in ("owner", "rows"):
        raise ParameterError(
            f"protect={protection.kind!r} needs rows, not a graph: read the file with Rows.read"
        )
    return data


def paired_graph(
    data: PrivateData, protect: str | Protect, *, at_most: int | None, epsilon: float
) -> tuple[AnyGraph, Protect]:
    """The graph of private data, for what is made of noisy pairs, and whom that can protect.

    Args:
        data: a graph, or rows.
        protect: as users type it, see `Protect.of_pairs`.
        at_most: likewise.
        epsilon: that was asked for.

    Raises:
        GraphError: neither a graph nor rows.
        ParameterError: as `Protect.of_pairs` and `bounded_graph`.
    """
    if not isinstance(data, PrivateData):
        raise GraphError("the first argument must be a Graph; make one by Graph.of, or read_graph")
    protection = Protect.of_pairs(
        protect, at_most=at_most, others=max(data.shape) - 1, epsilon=epsilon
    )
    return bounded_graph(data, protection), protection


def _period_column(options: Options, zone: str | None) -> str:
    """Return what tells the periods of rows: the column, and how its times become dates.

    Uses of one store that tell them in different ways share no period; see `ledger.uses`.
    """
    if options.periods is None:
        return ""
    form = options.columns.date_format
    how = ("" if form is None else f" as {form}") + ("" if zone is None else f" in {zone}")
    return _told(options.columns.period) + how


def _told(column: int | str | None) -> str:
    """A column by its number or its name, of which no two are one text: 3 and "3" are two."""
    named = isinstance(column, str) and (
        column[:1] in {*'0123456789-"'} or " in " in column or " as " in column
    )
    return json.dumps(column) if named else str(column)


def _of_stream(stream: Any, options: Options, data: str | None) -> RawEdges:
    """Rows of an open binary file of CSV, which is read as one that ends in .csv."""
    if isinstance(stream, io.TextIOBase) or not hasattr(stream, "read"):
        raise ParameterError("rows are read from a file name, or from a binary sys.stdin.buffer")
    if data is not None:
        raise ParameterError("data= is for rows that stay in files: a stream is read once")
    with naming_file(_STREAM):
        return FORMATS[".csv"].read(stream, options)


def _options(
    columns: Columns,
    vertices: Any,
    counting: Counting,
    unit: float,
    periods: Any,
    kind: str,
    *,
    inferred: bool = False,
) -> Options:
    """The options of a reader of rows, checked."""
    check_counting(counting, unit)
    if vertices is None and not inferred:
        raise ParameterError(
            "rows need the public vertex set, since which vertices they name is private: pass "
            "vertices="
        )
    if columns.weight is not None and counting != "weight":
        raise ParameterError("weight= is for counting='weight'")
    if counting == "owners" and columns.owner is None:
        raise ParameterError("counting='owners' needs the column of the owners: owner=")
    if (columns.period is None) is not (periods is None):
        raise ParameterError(
            "periods= declares the periods that the column period= tells: pass both, or neither"
        )
    declared = None if periods is None else Periods.of(periods)
    timed = columns.time_zone is not None or columns.date_format is not None
    if timed and (declared is None or declared.by not in DATES):
        raise ParameterError(
            "time_zone= and date_format= are for periods of time, such as 2026-01..2026-12"
        )
    if kind not in ("undirected", "directed", "bipartite"):
        raise ParameterError(f"unknown kind {kind!r:.40}: undirected, directed or bipartite")
    return Options(
        columns=columns,
        vertices=public_vertices_of(vertices, kind == "bipartite"),
        public_vertices=inferred,
        periods=declared,
        weighted=None if counting == "weight" else False,
        bipartite=kind == "bipartite",
        directed=kind == "directed",
        counting=counting,
        unit=unit,
    )


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
