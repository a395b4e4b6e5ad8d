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
from typing import Any, BinaryIO, ClassVar, Self, get_args

import numpy as np

from graphcuts_dp.arrays import IntegerVector, IntVector
from graphcuts_dp.errors import FileFormatError, KindError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.final_classes import final
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph import engine
from graphcuts_dp.graph.adjacency import AnyGraph, from_parts_on
from graphcuts_dp.graph.engine import Cells, Shape, check_bound
from graphcuts_dp.graph.row_sources import Marks, RowArrays, RowsInMemory, RowSource, StreamedRows
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
from graphcuts_dp.options import no_choice
from graphcuts_dp.privacy.privacy_unit import NO_PERIODS, PrivacyUnit
from graphcuts_dp.schema.columns import TAIL, Columns
from graphcuts_dp.schema.counting import CONTRIBUTED, STEPS, Counting, Reach, counts_once
from graphcuts_dp.schema.periods import DATES, Periods
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet, sets_in, vertex_sets

COUNTINGS: tuple[Counting, ...] = get_args(Counting)
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
            weights, in units; "users": how many users have it; "edges": whether any has.
        weight_unit: public: weight of one unit, > 0; for `counting="weight"` only.
        periods: public: the periods that were declared; None where rows have none.
        owned: public: whether each row has a user.
        user_is_source: public: whether the user of a row is its first end.
        data_name: public: the name that the rows are known by where they stay in an engine; or
            None.
        row_arrays: the rows, where they are in memory. Private.
        period_column: public: the name or number of the column that tells the period, and how its
            times become dates.
        user_column: public: the name of the column of users, where rows stay in an engine.
        endpoint_columns: public: likewise, of both endpoints.
        reading: public: a sentence that names the columns that were read and ignored, where a file
            was read into memory.

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
    reading: str = field(default="", repr=False)
    _source: RowSource | None = field(default=None, repr=False)  # None of no rows

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
            columns: as for `Graph.read`; `user` may be the column of either end;
                `period` is needed for `periods`, `weight` is read for `counting="weight"` only.
            counting: as the attribute.
            weight_unit: likewise.
            vertices: the public vertex set, as for `Graph.read`; which vertices rows name is
                private, so it must be given.
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
        options = _options(
            columns,
            vertices,
            counting,
            weight_unit,
            periods,
            kind,
            inferred=public_vertices_from_file,
        )
        if not isinstance(path, str | os.PathLike):
            raw = _of_stream(path, options, data_name)
            with naming_file(_STREAM):
                return cls._of_arrays(raw, options)
        if data_name is not None or Path(path).is_dir():
            return cls._staying(plan_reading(open_folder(path), options), options, data_name)
        if not FORMATS[ending_of(path)].columns:
            raise FileFormatError(f"{path!s}: rows stand in an edge list or a table")
        with naming_file(path):
            return cls._of_arrays(read_raw(path, options), options)

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
            counting: likewise.
            weight_unit: likewise.
            vertices: public vertex set: a count or labels; a pair of these for two sides. It must
                be given.
            periods: as for `read`.
            kind: likewise.
            data_name: likewise.

        Raises:
            GraphError: no table, no such columns, missing ids, an end outside the vertex set, or
                weights that are negative or not finite.
            ParameterError: no vertices, or options that do not fit each other.
        """
        options = _options(columns, vertices, counting, weight_unit, periods, kind)
        opened = open_table(table)
        if opened is None:
            raise not_a_table_error()
        if data_name is not None or opened.lazy:
            return cls._staying(plan_reading(opened, options), options, data_name)
        return cls._of_arrays(edges_of_table(opened, options), options)

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
        """No rows, of the schema that options for `read` give: for forecasts. Reads no rows.

        Args:
            columns: as for `read`.
            counting: likewise.
            weight_unit: likewise.
            vertices: likewise.
            periods: likewise.
            kind: likewise.

        Raises:
            ParameterError: no vertices, or options that do not fit each other.
        """
        return cls._without(_options(columns, vertices, counting, weight_unit, periods, kind))

    @classmethod
    def _without(cls, options: Options) -> Self:
        """No rows, on the vertices that were given."""
        columns, periods = options.columns, options.periods
        given = options.vertices
        assert given is not None  # noqa: S101  # the caller has looked
        return cls(
            space=options.space(given if isinstance(given, tuple) else (given,)),
            counting=options.counting,
            weight_unit=float(options.weight_unit),
            periods=periods,
            owned=columns.user is not None,
            user_is_source=columns.user is not None and columns.user in (TAIL, columns.source),
            period_column=_period_column(options, columns.time_zone),
        )

    @classmethod
    def _of_arrays(cls, raw: RawEdges, options: Options) -> Self:
        """Rows that were read into memory."""
        counting = options.counting
        if counting == "weight" and raw.weights is None:
            raise raw.error("there is no column of weights; name it by weight=, or count rows")
        places, columns, periods = raw.columns, options.columns, options.periods
        owned = columns.user is not None
        tail = owned and raw.users is None and (places is None or places.user == places.source)
        space, parts, _ = numbered(raw, options)
        own, named = raw.users, raw.periods  # of rows that count
        users: IntegerVector | None = None
        names: Sequence[Any] | None = None
        marks: Marks = np.zeros(0, dtype=np.uint64)
        if own is not None:
            users, names = codes_and_names(own)
            marks = _marks(names)
        elif owned:
            users = np.array(parts.rows if tail else parts.columns)  # ends may be written over
            # Row numbers in the public vertex set: they follow from no row.
            marks = np.arange(max(map(len, sets_in(space))), dtype=np.uint64)
        row_arrays = RowArrays(
            ends=(parts.rows, parts.columns),
            users=users,
            marks=marks,
            periods=None if named is None else np.asarray(named),
            weights=parts.weights,
            names=names,
        )
        found = cls.of_arrays(
            space,
            row_arrays,
            counting=counting,
            weight_unit=options.weight_unit,
            periods=periods,
            user_is_source=tail,
        )
        return replace(
            found,
            period_column=_period_column(options, raw.time_zone or columns.time_zone),
            reading=raw.reading,
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
        """Rows that are in memory, as arrays.

        Args:
            space: public: the vertices that rows may join.
            row_arrays: the rows.
            counting: as the attribute.
            weight_unit: likewise.
            periods: likewise.
            user_is_source: likewise.

        Raises:
            ParameterError: another counting, or a unit that is none or not asked for.
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

    @classmethod
    def _staying(cls, plan: ReadingPlan, options: Options, data_name: str | None) -> Self:
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
            user_is_source=found.owned and places.user == places.source,
            data_name=data_name,
            reading=plan.reading,
            period_column=_period_column(options, plan.schema.time_zone),
            user_column="" if places.user is None else plan.table.names[places.user],
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
        """Public: what the bound on a user counts: "pairs", "rows" or "units of weight"."""
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
        """Public: how coded rows become cells, and how what they count is bounded.

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
            owned=self.owned,
            marked=self.row_arrays is not None and self.owned,
            per_period=per_period,
            weight_unit=self.weight_unit,
        )

    def coded_table(self) -> Any:
        """Return the coded rows as a relation of DuckDB; see `Shape`. Private.

        Raises:
            GraphCutsError: bad rows, unless these are left out; or rows that cannot be read.
        """
        assert self._source is not None  # noqa: S101  # the caller has looked
        unordered = isinstance(self.space, VertexSet)
        return self._source.table(self.shape_of_cells(), unordered=unordered)

    @property
    def without_any(self) -> bool:
        """Public: whether these are no rows at all, of a schema that is known; see `empty`."""
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
        """What each pair counts in each period, of which nobody has too much. Private.

        Args:
            privacy_unit: of "edges": pairs, each of which counts once, are as they are; of "rows":
                a row counts for at most `steps` units of weight, or 1; of a user: at most `steps`
                pairs, rows or units count, in each period if `per_period`, else altogether.
            whole: of a user: `steps` whole rows are kept, or whole units of weight; else each
                row counts for a share, so that they count for `steps` together.
            loops: whether rows whose ends are equal count.
            known_max: of a user: to count what bounding leaves out, too, see `most_left_out`.

        Raises:
            ParameterError: rows that cannot be bounded so.
            GraphError: bad rows, unless these are to be skipped.

        Sensitivity: between rows and the same without one of these, or without all those of one
        user, the steps of all cells change by at most `steps` times `STEPS` together; of "edges",
        and of "rows" that are counted, so does one cell by `STEPS` for each of the `steps` changes;
        see `scaled_cells`, `kept_cells`, `clipped_cells`.
        """
        steps = privacy_unit.group_size
        privacy_unit.check_rows(
            self.counting, has_users=self.owned, has_periods=self.periods is not None
        )
        check_bound(steps)
        self.most_left_out(privacy_unit, whole=whole, known_max=known_max)
        if self._source is None:
            return replace(Cells.none(), left_out=None if known_max is None else 0)
        table = self.coded_table()
        shape = self.shape_of_cells(loops=loops, per_period=privacy_unit.per_period)
        if privacy_unit.kind == "user":
            if self._keeps_rows(whole):
                return engine.kept_cells(table, shape, bound=steps, known_max=known_max)
            return engine.scaled_cells(table, shape, bound=steps, whole=whole, known_max=known_max)
        if self.counting == "weight":
            return engine.clipped_cells(table, shape, bound=steps)
        return engine.cells(table, shape)

    def most_left_out(
        self, privacy_unit: PrivacyUnit, *, whole: bool, known_max: int | None
    ) -> int:
        """Public: the sensitivity of what bounding users leaves out, in steps; 0 without known_max.

        See `engine.most_left_out`.

        Args:
            privacy_unit: as for `cells`.
            whole: likewise.
            known_max: likewise.

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

    def _keeps_rows(self, whole: bool) -> bool:
        """Return whether whole rows or pairs of a user are kept, and none is scaled down."""
        return self.counting != "weight" and (whole or self.counting == "edges")

    def bounded(self, privacy_unit: PrivacyUnit) -> AnyGraph:
        """The graph of these rows, of which nobody has too much. Private.

        Without weights for "edges"; else with weights that are whole numbers and no cap, of which
        a change by one is a step (`max_weight_change=1`). Loops are left out.

        Args:
            privacy_unit: as for `cells`.

        Raises:
            ParameterError: rows that cannot be bounded so, or that have periods.
            GraphError: as for `cells`.

        Sensitivity: graphs of neighbours are the ends of a path of at most `steps` graphs more,
        each of which differs from the one before in one pair: an edge, or 1 of its weight. What an
        user contributes are whole numbers that add up to at most `steps` (see `cells`), and a sum
        of contributions loses at most so many ones; so does a union of sets of which one has at
        most so many pairs.
        """
        if self.periods is not None:
            raise ParameterError(
                "rows with periods are for release_flows; leave out periods= for a graph of them"
            )
        two_sides = not isinstance(self.space, VertexSet | Arcs)
        found = self.cells(privacy_unit, whole=True, loops=two_sides)
        weights = (found.steps // STEPS).astype(np.float64) if self.weighted else None
        return from_parts_on(
            self.space,
            EdgeParts(found.first, found.second, weights, owned=True),
            merge="sum",
            max_weight=None,
            max_weight_change=1 if self.weighted else None,
            note=f"weights in units of {self.weight_unit:g}" if self.counting == "weight" else "",
        )

    def contributions(self, *, per_period: bool = False) -> IntVector:
        """How many pairs, rows or units each user has that has any, in no order. Private.

        Units are rounded up: a user is above a bound if and only if this number is.

        Args:
            per_period: whether a user counts in each period as one of its own.

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
    def max_weight(self) -> float | None:
        """Public: how much a pair can count."""
        return None if self.weighted else 1.0


PrivateData = AnyGraph | Rows


def without_rows(data: PrivateData) -> PrivateData:
    """Data of the same schema without any row: all that is public of them, and nothing else.

    Raises:
        KindError: neither a graph nor rows.
    """
    if isinstance(data, Rows):
        return replace(data, row_arrays=None, _source=None)
    if not isinstance(data, AnyGraph):
        raise KindError("the first argument must be a Graph; make one by Graph.of, or read_graph")
    return data.without_edges()


def check_counting(counting: Any, weight_unit: float) -> None:
    """Check what rows are to count.

    Raises:
        ParameterError: another counting, or a unit that is none or not asked for.
    """
    if counting not in COUNTINGS:
        raise ParameterError(no_choice("counting", counting, COUNTINGS))
    good = not isinstance(weight_unit, bool) and isinstance(weight_unit, int | float | np.number)
    # Engines that divide by multiplying need a finite reciprocal, which smaller units have not.
    if not good or not _SMALLEST_UNIT <= weight_unit < np.inf:
        raise ParameterError(
            "weight_unit must be a positive, finite number: the weight of one step"
        )
    if weight_unit != 1 and counting != "weight":
        raise ParameterError("weight_unit is for counting='weight'")


def counted_rows(
    rows: Rows,
    privacy_unit: PrivacyUnit,
    *,
    whole: bool,
    by: str | Sequence[str] | None = None,
    known_max: int | None = None,
) -> PairCounts:
    """What pairs count in rows, as a table of flows measures it. Private; see `Rows.cells`.

    Args:
        rows: private.
        privacy_unit: as for `Rows.cells`.
        whole: likewise.
        by: levels of periods; numbers of periods are codes of the finest one.
        known_max: as for `Rows.cells`.
    """
    found = rows.cells(privacy_unit, whole=whole, known_max=known_max)
    if rows.periods is not None:
        found = replace(found, period=rows.periods.codes(by)[found.period])
    return PairCounts(found, STEPS if whole else 1, rows.counting)


def reach_of(data: PrivateData) -> Reach | None:
    """What one user's rows can change; None for a graph. Reads the schema only."""
    return (
        Reach(counts_once(data.counting), data.user_is_source) if isinstance(data, Rows) else None
    )


def bounded_graph(data: PrivateData, privacy_unit: PrivacyUnit) -> AnyGraph:
    """The graph of private data: of rows, that in which nobody has too much. Private.

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
    """Return the graph of private data, and the privacy unit, for what is made of noisy pairs.

    Args:
        data: a graph, or rows.
        privacy_unit: as users type it, see `PrivacyUnit.of_pairs`.
        epsilon: that was asked for.

    Raises:
        KindError: neither a graph nor rows.
        ParameterError: as `PrivacyUnit.of_pairs` and `bounded_graph`.
    """
    if not isinstance(data, PrivateData):
        raise KindError("the first argument must be a Graph; make one by Graph.of, or read_graph")
    unit = PrivacyUnit.of_pairs(privacy_unit, pairs_of_vertex=max(data.shape) - 1, epsilon=epsilon)
    return bounded_graph(data, unit), unit


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


def _of_stream(stream: Any, options: Options, data_name: str | None) -> RawEdges:
    """Rows of an open binary file of CSV, which is read as one that ends in .csv."""
    if isinstance(stream, io.TextIOBase) or not hasattr(stream, "read"):
        raise ParameterError("rows are read from a file name, or from a binary sys.stdin.buffer")
    if data_name is not None:
        raise ParameterError("data_name= is for rows that stay in files: a stream is read once")
    with naming_file(_STREAM):
        return FORMATS[".csv"].read(stream, options)


def _options(
    columns: Columns,
    vertices: Any,
    counting: Counting,
    weight_unit: float,
    periods: Any,
    kind: str,
    *,
    inferred: bool = False,
) -> Options:
    """The options of a reader of rows, checked."""
    check_counting(counting, weight_unit)
    if vertices is None and not inferred:
        raise ParameterError(
            "rows need the public vertex set, since which vertices they name is private: pass "
            "vertices="
        )
    if columns.weight is not None and counting != "weight":
        raise ParameterError("weight= is for counting='weight'")
    if counting == "users" and columns.user is None:
        raise ParameterError("counting='users' needs the column of the users: user=")
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
        weight_unit=weight_unit,
    )


def _marks(names: Sequence[Any]) -> Marks:
    """A number for each name that follows from it alone, whatever other names there are.

    Integers and their digits are one name: whether a file's names are all integers is not one
    user's affair.
    """
    digests = (
        hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8) for name in names
    )
    joined = b"".join(each.digest() for each in digests)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64)
