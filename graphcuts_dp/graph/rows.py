"""Hold private rows: trips, calls, payments; two endpoints, perhaps a user, a period, an amount.

Rows are read into memory, or stay in Parquet files, a database or a cluster until their first use,
when they are read once. In both cases each row becomes a few whole numbers, which `graph.engine`
groups and bounds. Its results are sums for pairs, whose change by one user, or by one row, is
bounded. The class `Rows` has all ways to make rows and to count them. Below it are functions that
take private data of any kind, rows or a graph.
"""

import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np

from graphcuts_dp.arrays import IntegerVector, IntVector
from graphcuts_dp.errors import FileFormatError, KindError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.final_classes import final
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph import engine
from graphcuts_dp.graph.adjacency import AnyGraph, graph_of_parts
from graphcuts_dp.graph.engine import Cells, Shape, check_bound
from graphcuts_dp.graph.row_options import (
    VertexSources,
    check_counting,
    period_column,
    row_options,
)
from graphcuts_dp.graph.row_sources import Marks, RowArrays, RowsInMemory, RowSource, StreamedRows
from graphcuts_dp.io.arrow import open_folder
from graphcuts_dp.io.assemble import assemble
from graphcuts_dp.io.edge_store import EdgeParts
from graphcuts_dp.io.files import (
    FORMATS,
    ending_of,
    naming_file,
    read_raw,
)
from graphcuts_dp.io.numbering import codes_and_names
from graphcuts_dp.io.raw_edges import Options, RawEdges
from graphcuts_dp.io.tables import (
    ReadingPlan,
    edges_of_table,
    not_a_table_error,
    open_table,
    plan_reading,
)
from graphcuts_dp.privacy.privacy_unit import NO_PERIODS, PrivacyUnit
from graphcuts_dp.schema.columns import TAIL, Columns
from graphcuts_dp.schema.counting import CONTRIBUTED, STEPS, Counting, Reach, counts_once
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet, sets_in, vertex_sets

_STREAM_NAME = "the rows that come in"  # what messages call a stream, which has no file name
_NO_WEIGHTS = "there is no column of weights; name it by weight=, or count rows"
_NO_GRAPH = "the first argument must be a Graph; make one by Graph.of, or read_graph"


@final
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Rows:
    """Private rows, each with two endpoints. Its repr shows only the schema.

    `Rows.read` and `Rows.of` make them. Rows whose endpoints are equal count in a table of flows,
    in a cell of their own; a graph of the rows has no loops.

    Attributes:
        space: public: the vertices that rows may join.
        counting: what a pair counts: "rows": how many rows join it; "weight": the sum of their
            weights, in units; "users": how many users have such a row; "edges": 1 if it has a row.
        weight_unit: public: weight of one unit, > 0; for `counting="weight"` only.
        periods: public: the declared periods; None without periods.
        owned: public: whether each row has a user.
        user_is_source: public: whether the user of a row is its source.
        data_name: public: the name by which a store knows rows that stay in an engine; None if
            absent.
        row_arrays: the rows, if they are in memory. Private.
        period_column: public: in words the column of periods, and how its times become dates.
        user_column: public: the name of the column of users, if rows stay in an engine; else "".
        endpoint_columns: public: the names of the columns of endpoints, if rows stay in an engine.
        named_columns: public: the columns of users, sources, targets and weights as the caller
            named them, by role.
        on_bad: public: "skip" if rows that could not be used were left out, else "refuse".
        reading: public: sentences that name the columns that were read and ignored.

    Examples:
        >>> trips = [("ann", "a", "b"), ("ann", "b", "a"), ("bo", "a", "b")]
        >>> import pandas
        >>> frame = pandas.DataFrame(trips, columns=["user", "source", "target"])
        >>> rows = gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"))
        >>> unit = gc.PrivacyUnit.user(max_contributions=2)
        >>> zones = gc.Groups(gc.VertexSet(["a", "b"]), {"zone": ["a", "b"]})
        >>> gc.release_flows(rows, zones, epsilon=1.0, privacy_unit=unit).guarantee.epsilon
        1.0
    """

    space: Space
    counting: Counting = "rows"
    weight_unit: float = 1.0
    periods: Periods | None = None
    owned: bool = False
    user_is_source: bool = False
    data_name: str | None = None
    row_arrays: RowArrays | None = field(default=None, repr=False)
    period_column: str = ""
    user_column: str = ""
    endpoint_columns: tuple[str, ...] = ()
    named_columns: tuple[tuple[str, str], ...] = ()
    on_bad: str = "refuse"
    reading: str = field(default="", repr=False)
    _source: RowSource | None = field(default=None, repr=False)  # None if there is no row

    @classmethod
    @refuses_former_options()
    def read(
        cls,
        path: PathLike | BinaryIO,
        *,
        columns: Columns,
        counting: Counting = "rows",
        weight_unit: float = 1.0,
        vertices: VertexSources = None,
        public_vertices_from_file: bool = False,
        periods: Periods | Sequence[str] | str | None = None,
        kind: str = "undirected",
        data_name: str | None = None,
    ) -> Self:
        """Read private rows: trips, calls, payments.

        Args:
            path: an edge list or a table (Parquet, Arrow); its ending tells which. Or a folder of
                Parquet files, whose rows stay there, as those of a single one do with `data_name`.
                Or an open binary file of CSV, such as `sys.stdin.buffer`, read once to its end.
            columns: as for `Graph.read`; `user` may be the column of either endpoint;
                `period` is needed for `periods`, `weight` is read for `counting="weight"` only.
            counting: as the attribute.
            weight_unit: as the attribute.
            vertices: the public vertex set, as for `Graph.read`. It must be passed, since the
                vertices that occur in rows are private.
            public_vertices_from_file: say that the vertices that occur in this file are public.
            periods: public: the periods of the rows, such as "2026-01..2026-12" or a list. Rows of
                other periods do not count.
            kind: "undirected", "directed" or "bipartite".
            data_name: a name, such as "trips-2026", by which a store knows rows that stay in an
                engine.

        Raises:
            FileFormatError: as `Graph.read`; no such column, or a file without columns.
            GraphError: `vertices` holds a label twice, or none.
            ParameterError: no vertices, or options that do not fit each other.
        """
        options = row_options(
            columns,
            vertices,
            counting,
            weight_unit,
            periods,
            kind,
            public_vertices_from_file=public_vertices_from_file,
        )
        if not isinstance(path, str | os.PathLike):
            raw = _of_stream(path, options, data_name)
            with naming_file(_STREAM_NAME):
                return cls._of_raw_edges(raw, options)
        if data_name is not None or Path(path).is_dir():
            return cls._of_plan(plan_reading(open_folder(path), options), options, data_name)
        if not FORMATS[ending_of(path)].columns:
            raise FileFormatError(f"{path!s}: rows stand in an edge list or a table")
        with naming_file(path):
            return cls._of_raw_edges(read_raw(path, options), options)

    @classmethod
    @refuses_former_options()
    def of(
        cls,
        table: Any,
        *,
        columns: Columns,
        counting: Counting = "rows",
        weight_unit: float = 1.0,
        vertices: VertexSources = None,
        periods: Periods | Sequence[str] | str | None = None,
        kind: str = "undirected",
        data_name: str | None = None,
    ) -> Self:
        """Make private rows of a table of any library.

        Args:
            table: of pandas, Polars, Arrow, ..., with ids that are strings or integers. A lazy one
                (DuckDB, Polars, PySpark, Dask, Ibis) stays where it is, as every table does with
                `data_name`.
            columns: as for `read`, by name.
            counting: as for `read`.
            weight_unit: as for `read`.
            vertices: public vertex set: a count or labels; a pair of these for two sides. It must
                be passed.
            periods: as for `read`.
            kind: as for `read`.
            data_name: as for `read`.

        Raises:
            GraphError: no table, no such columns, missing ids, an endpoint outside the vertex set,
                or weights that are negative or not finite.
            ParameterError: no vertices, or options that do not fit each other.
        """
        options = row_options(columns, vertices, counting, weight_unit, periods, kind)
        source = open_table(table)
        if source is None:
            raise not_a_table_error()
        if data_name is not None or source.lazy:
            return cls._of_plan(plan_reading(source, options), options, data_name)
        return cls._of_raw_edges(edges_of_table(source, options), options)

    @classmethod
    @refuses_former_options()
    def empty(
        cls,
        *,
        columns: Columns,
        counting: Counting = "rows",
        weight_unit: float = 1.0,
        vertices: VertexSources = None,
        periods: Periods | Sequence[str] | str | None = None,
        kind: str = "undirected",
    ) -> Self:
        """Return an object without rows, for forecasts, of the schema that options describe.

        Args:
            columns: as for `read`.
            counting: as for `read`.
            weight_unit: as for `read`.
            vertices: as for `read`.
            periods: as for `read`.
            kind: as for `read`.

        Raises:
            ParameterError: no vertices, or options that do not fit each other.
        """
        return cls._without_rows(
            row_options(columns, vertices, counting, weight_unit, periods, kind)
        )

    @classmethod
    def of_arrays(
        cls,
        space: Space,
        row_arrays: RowArrays,
        *,
        counting: Counting = "rows",
        weight_unit: float = 1.0,
        periods: Periods | None = None,
        user_is_source: bool = False,
    ) -> Self:
        """Return rows of arrays in memory.

        Args:
            space: public: the vertices that rows may join.
            row_arrays: the rows.
            counting: as the attribute.
            weight_unit: as the attribute.
            periods: as the attribute.
            user_is_source: as the attribute.

        Raises:
            ParameterError: as `check_counting`.
        """
        check_counting(counting, weight_unit)
        return cls(
            space=space,
            counting=counting,
            weight_unit=float(weight_unit),
            periods=periods,
            owned=row_arrays.users is not None,
            user_is_source=user_is_source,
            row_arrays=row_arrays,
            _source=RowsInMemory(row_arrays),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix of their graph. Public."""
        left, right = vertex_sets(self.space)
        return len(left), len(right)

    @property
    def weighted(self) -> bool:
        """True if the graph of these rows has weights. Public."""
        return self.counting != "edges"

    @property
    def what(self) -> str:
        """Word for what a bound on users counts: "pairs", "rows" or "units of weight". Public."""
        return CONTRIBUTED[self.counting]

    def privacy_unit(self, privacy_unit: PrivacyUnit) -> str:
        """Return the privacy unit in few words, with its period if it is for one. Public.

        Args:
            privacy_unit: as in `release_flows`.
        """
        if self.periods is None or not (privacy_unit.per_period or privacy_unit.kind == "edge"):
            return str(privacy_unit)
        return f"{replace(privacy_unit, per_period=False)} in one {self.periods.by}"

    def shape_of_cells(self, *, loops: bool = True, per_period: bool = False) -> Shape:
        """Return how coded rows become cells, and who is bounded. Public.

        Args:
            loops: whether pairs of a vertex with itself count.
            per_period: whether each period has cells of its own.
        """
        left, right = vertex_sets(self.space)
        return Shape(
            counting=self.counting,
            left=len(left),
            right=len(right),
            periods=1 if self.periods is None else len(self.periods.labels),
            one_set=left is right,
            loops=loops,
            has_users=self.owned,
            has_marks=self.row_arrays is not None and self.owned,
            per_period=per_period,
            weight_unit=self.weight_unit,
        )

    def coded_table(self) -> Any:
        """Return the coded rows as a relation of DuckDB; see `Shape`. Private.

        Raises:
            GraphCutsError: bad rows, unless these are left out; or rows that cannot be read.
        """
        assert self._source is not None  # noqa: S101  # the caller has checked
        unordered = isinstance(self.space, VertexSet)
        return self._source.table(self.shape_of_cells(), unordered=unordered)

    @property
    def without_any(self) -> bool:
        """True if there is only a schema, as of `empty` and `without_rows`. Public."""
        return self._source is None

    def names_of_users(self, keys: Sequence[Any]) -> list[Any]:
        """Return the names of users by their keys in `coded_table`. Private.

        Args:
            keys: numbers where rows are in memory, or users are vertices; names elsewhere.

        Returns:
            Texts or integers; of users that are vertices, their row numbers in the public set.
        """
        names = None if self.row_arrays is None else self.row_arrays.names
        return list(keys) if names is None else [names[int(key)] for key in keys]

    def cells(
        self,
        privacy_unit: PrivacyUnit,
        *,
        whole: bool,
        loops: bool = True,
        known_max: int | None = None,
    ) -> Cells:
        """Return what each pair counts in each period, bounded for the privacy unit. Private.

        Args:
            privacy_unit: with group size k. "edge": each pair counts once, and nothing is bounded;
                "row": a row counts at most k units of weight, or 1; "user": of a user at most k
                pairs, rows or units count, in each period if `per_period`, else altogether.
            whole: how a user with more than k rows, pairs or units is bounded. True keeps k rows or
                pairs; weights are scaled, and each cell is rounded down to whole units. False
                scales all of them, so that together they count for k; for "edges" it keeps k pairs.
            loops: whether rows whose endpoints are equal count.
            known_max: the most rows or pairs that any user is known to have, M of
                `engine.most_left_out`, to count what bounding users leaves out; None not to count
                it.

        Raises:
            ParameterError: rows that cannot be bounded so.
            GraphError: bad rows, unless these are to be skipped.

        Sensitivity: between rows and the same rows without one of them, or without all those of one
        user, all cells together change by at most k `STEPS` steps in L1. For "edge", and for "row"
        if rows are counted, each of the k changes changes one cell, by at most `STEPS`. See
        `scaled_cells`, `kept_cells`, `clipped_cells`.
        """
        bound = privacy_unit.group_size
        privacy_unit.check_rows(
            self.counting, has_users=self.owned, has_periods=self.periods is not None
        )
        check_bound(bound)
        self.most_left_out(privacy_unit, whole=whole, known_max=known_max)  # checks `known_max`
        if self._source is None:
            return replace(Cells.none(), left_out=None if known_max is None else 0)
        table = self.coded_table()
        shape = self.shape_of_cells(loops=loops, per_period=privacy_unit.per_period)
        if privacy_unit.kind == "user":
            if self._keeps_rows(whole):
                return engine.kept_cells(table, shape, bound=bound, known_max=known_max)
            return engine.scaled_cells(table, shape, bound=bound, whole=whole, known_max=known_max)
        if self.counting == "weight":
            return engine.clipped_cells(table, shape, bound=bound)
        return engine.unbounded_cells(table, shape)

    def most_left_out(
        self, privacy_unit: PrivacyUnit, *, whole: bool, known_max: int | None
    ) -> int:
        """Return the most steps that bounding leaves out of one user. Public.

        It is the sensitivity of what bounding leaves out, see `engine.most_left_out`, and 0 if
        `known_max` is None.

        Args:
            privacy_unit: as for `cells`.
            whole: as for `cells`.
            known_max: as for `cells`.

        Raises:
            ParameterError: weights, or another privacy unit than a user; `known_max` below the
                bound, or no whole number from 1 to 2^20.
        """
        if known_max is None:
            return 0
        if privacy_unit.kind != "user":
            raise ParameterError(
                "known_max is what no user has more rows of: it is for privacy_unit='user'"
            )
        return engine.most_left_out(
            self.shape_of_cells(per_period=privacy_unit.per_period),
            bound=privacy_unit.group_size,
            known_max=known_max,
            kept=self._keeps_rows(whole),
        )

    def bounded(self, privacy_unit: PrivacyUnit) -> AnyGraph:
        """Return the graph of these rows, bounded for the privacy unit. Private.

        It has no weights for "edges"; else weights are whole numbers without a maximum, and a
        change by 1 is one step (`max_weight_change=1`). Loops are left out.

        Args:
            privacy_unit: with group size k; as for `cells`.

        Raises:
            ParameterError: rows that cannot be bounded so, or that have periods.
            GraphError: as for `cells`.

        Sensitivity: the graphs of neighbours are joined by a chain of at most k changes, each of
        one pair: an edge, or 1 of its weight. Proof: a user contributes whole numbers that add up
        to at most k (see `cells`). Without the user, sums of contributions are lower by these, and
        a union of sets of pairs loses at most the k pairs of one set.
        """
        if self.periods is not None:
            raise ParameterError(
                "rows with periods are for release_flows; leave out periods= for a graph of them"
            )
        two_sides = not isinstance(self.space, VertexSet | Arcs)
        cells = self.cells(privacy_unit, whole=True, loops=two_sides)
        weights = (cells.steps // STEPS).astype(np.float64) if self.weighted else None
        return graph_of_parts(
            self.space,
            EdgeParts(cells.first, cells.second, weights, owned=True),
            merge="sum",
            max_weight=None,
            max_weight_change=1 if self.weighted else None,
            note=f"weights in units of {self.weight_unit:g}" if self.counting == "weight" else "",
        )

    def contributions(self, *, per_period: bool = False) -> IntVector:
        """Return the number of pairs, rows or units of each user that has any. Private.

        The numbers are sorted. Units are rounded up, so that a user is above a bound if and only if
        the user's number is.

        Args:
            per_period: whether a user counts in each period as another user.

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
        unit = f" in units of {self.weight_unit:g}" if self.counting == "weight" else ""
        periods = "" if self.periods is None else f", {len(self.periods.labels)} periods"
        return f"Rows(n={sizes}{kind}, {self.counting}{unit}{periods})"

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # a hash would be a fingerprint of the rows

    @classmethod
    def _of_raw_edges(cls, raw: RawEdges, options: Options) -> Self:
        """Return the rows of raw edges, which are taken out of `raw`."""
        counting, positions = options.counting, raw.columns
        if counting == "weight" and raw.weights is None:
            raise raw.error(_NO_WEIGHTS)
        has_users = options.columns.user is not None
        # Users without a column of their own are those of an endpoint.
        user_is_endpoint = has_users and raw.users is None
        user_is_source = user_is_endpoint and (
            positions is None or positions.user == positions.source
        )
        space, parts, _ = assemble(raw, options)  # takes bad rows out of `raw`
        users: IntegerVector | None = None
        names: Sequence[Any] | None = None
        marks: Marks = np.zeros(0, dtype=np.uint64)
        if raw.users is not None:
            users, names = codes_and_names(raw.users)
            marks = _marks(names)
        elif user_is_endpoint:
            # A copy, since arrays of endpoints may be written over.
            users = np.array(parts.rows if user_is_source else parts.columns)
            # Row numbers in the public vertex set depend on no other user, so they can be marks.
            marks = np.arange(max(map(len, sets_in(space))), dtype=np.uint64)
        row_arrays = RowArrays(
            endpoints=(parts.rows, parts.columns),
            users=users,
            marks=marks,
            periods=None if raw.periods is None else np.asarray(raw.periods),
            weights=parts.weights,
            names=names,
        )
        rows = cls.of_arrays(
            space,
            row_arrays,
            counting=counting,
            weight_unit=options.weight_unit,
            periods=options.periods,
            user_is_source=user_is_source,
        )
        return replace(
            rows,
            period_column=period_column(options, raw.time_zone or options.columns.time_zone),
            named_columns=_named_columns(options.columns),
            on_bad=options.columns.on_bad,
            reading=raw.reading,
        )

    @classmethod
    def _of_plan(cls, plan: ReadingPlan, options: Options, data_name: str | None) -> Self:
        """Return the rows of a table that stay where they are until their first use."""
        if options.vertices is None:
            raise ParameterError(
                "folders and tables that stay in an engine need vertices=, a count or labels"
            )
        positions, names = plan.positions, plan.table.names
        if options.counting == "weight" and positions.weight is None:
            raise plan.table.error(_NO_WEIGHTS)
        rows = cls._without_rows(options)
        return replace(
            rows,
            user_is_source=rows.owned and positions.user == positions.source,
            data_name=data_name,
            reading=plan.reading,
            period_column=period_column(options, plan.schema.time_zone),
            user_column="" if positions.user is None else names[positions.user],
            endpoint_columns=(names[positions.source], names[positions.target]),
            _source=StreamedRows(plan, options),
        )

    @classmethod
    def _without_rows(cls, options: Options) -> Self:
        """Return an object without rows, of the schema of options with public vertices."""
        columns, vertices = options.columns, options.vertices
        assert vertices is not None  # noqa: S101  # the caller has checked
        has_users = columns.user is not None
        return cls(
            space=options.space(vertices if isinstance(vertices, tuple) else (vertices,)),
            counting=options.counting,
            weight_unit=float(options.weight_unit),
            periods=options.periods,
            owned=has_users,
            user_is_source=has_users and columns.user in (TAIL, columns.source),
            period_column=period_column(options, columns.time_zone),
            named_columns=_named_columns(columns),
            on_bad=columns.on_bad,
        )

    def _keeps_rows(self, whole: bool) -> bool:
        """Return whether users are bounded by keeping whole rows or pairs, not by scaling."""
        return self.counting != "weight" and (whole or self.counting == "edges")


@final
@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of pairs in periods, bounded for a privacy unit. Private.

    Attributes:
        cells: the counts, in steps: a row, or a unit of weight, has `STEPS` steps.
        step: how many steps one grid unit of a measurement has: `STEPS` if whole rows or units are
            counted, else 1.
        counting: public: what is counted, as of `Rows`.
    """

    cells: Cells
    step: int
    counting: Counting

    @property
    def weighted(self) -> bool:
        """True if a pair can count more than 1. Public."""
        return self.counting != "edges"

    @property
    def max_weight(self) -> float | None:
        """The most that a pair can count; None if there is no such bound. Public."""
        return None if self.weighted else 1.0


PrivateData = AnyGraph | Rows


def without_rows(data: PrivateData) -> PrivateData:
    """Return data of the same schema without any row: their public facts, and nothing else.

    Raises:
        KindError: neither a graph nor rows.
    """
    if isinstance(data, Rows):
        return replace(data, row_arrays=None, _source=None)
    if not isinstance(data, AnyGraph):
        raise KindError(_NO_GRAPH)
    return data.without_edges()


def counted_rows(
    rows: Rows,
    privacy_unit: PrivacyUnit,
    *,
    whole: bool,
    by: str | Sequence[str] | None = None,
    known_max: int | None = None,
) -> PairCounts:
    """Return the counts of pairs that a table of flows measures. Private.

    Args:
        rows: private.
        privacy_unit: as for `Rows.cells`.
        whole: as for `Rows.cells`.
        by: one level of periods or several, as of `Periods.codes`; the result has the periods of
            the finest one.
        known_max: as for `Rows.cells`.

    Sensitivity: that of `Rows.cells`; numbering periods in another way changes no count.
    """
    cells = rows.cells(privacy_unit, whole=whole, known_max=known_max)
    if rows.periods is not None:
        cells = replace(cells, period=rows.periods.codes(by)[cells.period])
    return PairCounts(cells, STEPS if whole else 1, rows.counting)


def reach_of(data: PrivateData) -> Reach | None:
    """Return limits on what one user's rows can change; None for a graph. Reads the schema only."""
    if not isinstance(data, Rows):
        return None
    return Reach(once=counts_once(data.counting), tail=data.user_is_source)


def bounded_graph(data: PrivateData, privacy_unit: PrivacyUnit) -> AnyGraph:
    """Return the graph of private data; that of rows is bounded for the privacy unit. Private.

    Between neighbours it changes by at most `privacy_unit.group_size` steps: see `Rows.bounded`.

    Args:
        data: a graph, or rows.
        privacy_unit: what neighbouring data differ by.

    Raises:
        ParameterError: the unit is a user or a row, and a graph has none; or rows that
            cannot be bounded so.
    """
    if isinstance(data, Rows):
        return data.bounded(privacy_unit)
    if privacy_unit.kind in ("user", "row"):
        raise ParameterError(
            f"privacy_unit={privacy_unit.kind!r} needs rows, not a graph: read them by Rows.read"
        )
    return data


def paired_graph(
    data: PrivateData, privacy_unit: str | PrivacyUnit, *, epsilon: float
) -> tuple[AnyGraph, PrivacyUnit]:
    """Return the bounded graph of private data and the privacy unit, for releases of pairs.

    Args:
        data: a graph, or rows.
        privacy_unit: as users type it, see `PrivacyUnit.of_pairs`.
        epsilon: of the release.

    Raises:
        KindError: neither a graph nor rows.
        ParameterError: as `PrivacyUnit.of_pairs` and `bounded_graph`.
    """
    if not isinstance(data, PrivateData):
        raise KindError(_NO_GRAPH)
    unit = PrivacyUnit.of_pairs(privacy_unit, pairs_of_vertex=max(data.shape) - 1, epsilon=epsilon)
    return bounded_graph(data, unit), unit


def _of_stream(stream: Any, options: Options, data_name: str | None) -> RawEdges:
    """Return the rows of an open binary file, which is read as one that ends in .csv."""
    if isinstance(stream, io.TextIOBase) or not hasattr(stream, "read"):
        raise ParameterError("rows are read from a file name, or from a binary sys.stdin.buffer")
    if data_name is not None:
        raise ParameterError("data_name= is for rows that stay in files: a stream is read once")
    with naming_file(_STREAM_NAME):
        return FORMATS[".csv"].read(stream, options)


def _named_columns(columns: Columns) -> tuple[tuple[str, str], ...]:
    """Return the columns that a caller named, by role; "" for one that the header determines."""
    roles = {
        "users": columns.user,
        "sources": columns.source,
        "targets": columns.target,
        "weights": columns.weight,
    }
    return tuple((role, "" if name is None else str(name)) for role, name in roles.items())


def _marks(names: Sequence[Any]) -> Marks:
    """Return a number for each name that depends on that name alone, not on other names.

    Marks decide which rows of a user count. An integer and its decimal digits are one name, since
    whether all names of a file are integers depends on other users.
    """
    digests = (
        hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for name in names
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
