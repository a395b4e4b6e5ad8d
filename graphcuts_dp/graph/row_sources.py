"""Code private rows, from memory or from a table that is read once, in one pass. Private.

A coded row has the number of its cell, perhaps the key of its user, and a weight; `engine.Shape` is
the rule that numbers cells. Read `StreamedRows` first: a table that stays in files or an engine is
never read twice.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray, IntegerVector
from graphcuts_dp.errors import GraphCutsError
from graphcuts_dp.graph.engine import Shape
from graphcuts_dp.graph.row_store import RowStore
from graphcuts_dp.io.assemble import assemble
from graphcuts_dp.io.batches import TableBatch
from graphcuts_dp.io.codes import numbered_endpoints
from graphcuts_dp.io.convert import CONVERTED_ROWS, merge_batches, row_label
from graphcuts_dp.io.raw_edges import Options, RawEdges
from graphcuts_dp.io.tables import ReadingPlan
from graphcuts_dp.schema.bad_rows import BadRows

Marks = npt.NDArray[np.uint64]


@final
@dataclass(frozen=True, eq=False, repr=False)
class RowArrays:
    """Rows in memory, loops included. Private: its repr shows nothing.

    Attributes:
        endpoints: row numbers in the space of both endpoints of each row, shape (rows,) each.
        users: number of the user of each row; None if rows have no users.
        marks: a number for each user that depends on the user's name alone, shape (users,). The
            numbers in `users` depend on other users, so they must not decide which rows count.
        periods: number of the declared period of each row, -1 outside all of them; None without
            periods.
        weights: of each row, finite and not negative; None if they were not read.
        names: of each user, texts or integers; None if users are vertices, by their row numbers.
    """

    endpoints: tuple[IntegerVector, IntegerVector]
    users: IntegerVector | None = None
    marks: Marks = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    periods: IntegerVector | None = None
    weights: FloatArray | None = None
    names: Sequence[Any] | None = None

    def __repr__(self) -> str:
        return "RowArrays(private)"


class RowSource(ABC):
    """Rows that become a table of coded rows at their first use. Private."""

    def __init__(self) -> None:
        self._store: RowStore | None = None
        self._failure: GraphCutsError | None = None
        self._lock = threading.Lock()

    @abstractmethod
    def build_store(self, shape: Shape, *, unordered: bool) -> RowStore:
        """Return the coded rows."""

    def table(self, shape: Shape, *, unordered: bool) -> Any:
        """Return the coded rows as a relation of DuckDB.

        Args:
            shape: how rows become cells. The first call reads the rows, and later calls return the
                same relation. Their shapes may differ in `loops` and `per_period`, which change no
                coded row, and in nothing else.
            unordered: whether (a, b) and (b, a) are one pair.

        Raises:
            GraphCutsError: bad rows, unless these are left out; or rows that cannot be read.
        """
        with self._lock:
            if self._failure is not None:  # a stream cannot be read again
                raise self._failure
            if self._store is None:
                try:
                    self._store = self.build_store(shape, unordered=unordered)
                except GraphCutsError as problem:
                    self._failure = problem
                    raise
            return self._store.table

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"


@final
class RowsInMemory(RowSource):
    """Rows that are in memory. Private.

    Args:
        row_arrays: the rows.
    """

    def __init__(self, row_arrays: RowArrays) -> None:
        super().__init__()
        self._row_arrays = row_arrays

    def build_store(self, shape: Shape, *, unordered: bool) -> RowStore:
        """Return the coded rows."""
        import pyarrow as pa

        row_arrays = self._row_arrays
        has_period: Any = slice(None)  # which rows lie in a declared period; all without periods
        period = None
        if row_arrays.periods is not None:
            period = np.asarray(row_arrays.periods, dtype=np.int64)
            has_period = period >= 0
            period = period[has_period]
        first, second = (np.asarray(endpoint)[has_period] for endpoint in row_arrays.endpoints)
        columns: dict[str, Any] = {
            "cell": shape.cell_numbers(first, second, period, unordered=unordered)
        }
        if row_arrays.users is not None:
            columns["user_key"] = np.asarray(row_arrays.users)[has_period]
            # A user's name alone decides which of that user's rows are kept.
            columns["mark"] = row_arrays.marks.view(np.int64)[columns["user_key"]]
        if shape.counting == "weight" and row_arrays.weights is not None:
            columns["weight"] = np.asarray(row_arrays.weights)[has_period]
        return RowStore(pa.table(columns))


@final
class StreamedRows(RowSource):
    """Rows of a table that is read once, at its first use. Private.

    Args:
        plan: the role of each column.
        options: of the reader, with the public vertex set.
    """

    def __init__(self, plan: ReadingPlan, options: Options) -> None:
        super().__init__()
        self._plan, self._options = plan, options

    def build_store(self, shape: Shape, *, unordered: bool) -> RowStore:
        """Return the coded rows, read in one pass."""
        import pyarrow as pa

        plan, options = self._plan, self._options
        user_column = plan.schema.find("user")
        fields = [("cell", pa.int32() if shape.cell_count < 2**31 else pa.int64())]
        if shape.has_users:
            has_integer_keys = user_column is None or user_column.kind == "integer"
            fields.append(("user_key", pa.int64() if has_integer_keys else pa.large_string()))
        if shape.counting == "weight":
            fields.append(("weight", pa.float64()))
        schema, bad = pa.schema(fields), BadRows(skip=options.columns.skip)

        def batches() -> Iterator[Any]:
            for batch in merge_batches(plan.batches(options, bad), CONVERTED_ROWS):
                if not len(batch):  # all of its rows are bad
                    continue
                yield _code_batch(batch, plan, options, bad, schema, shape, unordered=unordered)
            bad.check(plan.table.error)

        return RowStore(batches(), schema=schema)


def _code_batch(
    batch: TableBatch,
    plan: ReadingPlan,
    options: Options,
    bad: BadRows,
    schema: Any,
    shape: Shape,
    *,
    unordered: bool,
) -> Any:
    """Return the coded rows of a batch, equal to those of `RowsInMemory`. Private."""
    import pyarrow as pa

    user = batch.columns.get("user")
    sources, targets = numbered_endpoints(batch)
    raw = RawEdges(
        sources=sources,
        targets=targets,
        weights=batch.weights,
        periods=batch.periods,
        users=np.arange(len(batch)),  # positions in the batch, to find those of sound rows below
        bad=bad,
        where=lambda position: row_label(int(batch.row_numbers[position])),
        error=plan.table.error,
    )
    _, edges, _ = assemble(raw, options, complete=False)
    if bad.has_refused_row:  # the table will be refused once all of it is read
        return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)
    period = raw.periods
    has_period = np.ones(len(edges.rows), np.bool_) if period is None else period >= 0
    columns: dict[str, Any] = {
        "cell": shape.cell_numbers(
            edges.rows[has_period],
            edges.columns[has_period],
            None if period is None else period[has_period],
            unordered=unordered,
        )
    }
    if shape.has_users and user is not None:
        columns["user_key"] = user.take(pa.array(np.asarray(raw.users)[has_period]))
    elif shape.has_users:
        user_is_source = plan.positions.user == plan.positions.source
        columns["user_key"] = (edges.rows if user_is_source else edges.columns)[has_period]
    if shape.counting == "weight":
        columns["weight"] = np.asarray(edges.weights)[has_period]
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in schema]
    return pa.record_batch(arrays, schema=schema)
