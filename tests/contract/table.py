"""A small private table as data: its columns, how it is read, and what must come of it.

What must come of it depends on the kind of source: "typed" sources store types (Parquet, Arrow,
typed columns of frames), "engine" are those of them that forget the zone of a timestamp (DuckDB,
Spark), "object" is a pandas frame whose columns have no type, "text" is a text file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Self

import pyarrow as pa

import graphcuts_dp as gc
from graphcuts_dp.schema.counting import STEPS
from graphcuts_dp.schema.vertices import vertex_sets

ROLES = ("source", "target", "user", "period", "weight")
HEADERS = {"source": "o", "target": "d", "user": "who", "period": "when", "weight": "paid"}
KINDS = ("typed", "engine", "object", "text")
MANY = 1_000  # a bound above what any user of a small table has
USER_OPTION = "user"  # what the public option is called that names the users


@dataclass(frozen=True)
class Column:
    """The values of a column, as each kind of source holds them.

    Attributes:
        values: as typed sources store them.
        type: the stored type; None if no type can hold them, as those of mixed columns.
        objects: as a pandas object column holds them; `values` if None.
        texts: cells of a text file; those of `values` if None.
        array: the Arrow array to store, such as a dictionary with a value twice; None: of `values`.
    """

    values: tuple[Any, ...]
    type: pa.DataType | None = None
    objects: tuple[Any, ...] | None = None
    texts: tuple[str, ...] | None = None
    array: Any = None

    def of_kind(self, kind: str) -> tuple[Any, ...]:
        """The values as a source of this kind holds them."""
        if kind == "object":
            return self.values if self.objects is None else self.objects
        if kind == "text":
            return tuple(map(text_of, self.values)) if self.texts is None else self.texts
        return self.values

    def stored(self) -> Any:
        """The column as an Arrow array of the stored type."""
        return pa.array(self.values, self.type) if self.array is None else self.array

    def taken(self, rows: Sequence[int]) -> "Column":
        """The column of these rows alone."""
        values, objects, texts = (
            None if each is None else tuple(each[row] for row in rows)
            for each in (self.values, self.objects, self.texts)
        )
        assert values is not None
        array = None if self.array is None else self.array.take(pa.array(rows, pa.int64()))
        return Column(values, self.type, objects, texts, array)

    def __len__(self) -> int:
        return len(self.values)


def text_of(value: Any) -> str:
    """A value as a text file has it; an empty cell if it is missing."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date):
        return str(value)
    return "" if value is None else str(value)


def stored(kind: pa.DataType, *values: Any, **others: Any) -> Column:
    """A column with a stored type."""
    return Column(tuple(values), kind, **others)


def text(*values: str | None, **others: Any) -> Column:
    """A column of text."""
    return Column(tuple(values), pa.string(), **others)


def whole(*values: int | None, kind: pa.DataType | None = None, **others: Any) -> Column:
    """A column of integers."""
    return Column(tuple(values), kind or pa.int64(), **others)


def number(*values: float | None, kind: pa.DataType | None = None, **others: Any) -> Column:
    """A column of floats."""
    return Column(tuple(values), kind or pa.float64(), **others)


def loose(*values: Any, **others: Any) -> Column:
    """A column of values that no single type can store: for objects and text files."""
    return Column(tuple(values), None, **others)


@dataclass(frozen=True)
class Outcome:
    """What must come of a table in sources of a kind.

    Attributes:
        cells: how much is in each cell once bad rows are left out; None if the table is refused
            whatever `on_bad` says.
        faults: regular expressions, each of which the refusal contains: with `on_bad="refuse"`
            of bad rows, or of the table. None of a table that is read.
        by_type: of a table that is refused: whether it is so from its types alone, without rows.
    """

    cells: Mapping[tuple[Any, ...], float] | None
    faults: tuple[str, ...] = ()
    by_type: bool = True


def reads(cells: Mapping[tuple[Any, ...], float]) -> Outcome:
    """The table has no bad rows."""
    return Outcome(cells)


def skips(cells: Mapping[tuple[Any, ...], float], *faults: str) -> Outcome:
    """The table has bad rows, of these kinds."""
    return Outcome(cells, faults)


def refused(*faults: str, by_type: bool = True) -> Outcome:
    """The table is refused, whatever `on_bad` says."""
    return Outcome(None, faults, by_type)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A private table, how it is read, and what must come of it.

    Attributes:
        name: of the table among all.
        columns: by role.
        others: columns that are not read, by header.
        headers: the names of columns, where they are not the usual ones.
        vertices: public.
        periods: public: those that are declared.
        options: further options of `gc.Columns`.
        counting: what a cell counts.
        weight_unit: of weights.
        kind: of the graph.
        user: the option that names the users, where it is not the column of users.
        bound: the bound on a user, or of a row without users.
        whole: whether whole rows are kept.
        per_period: whether users are bounded in each period.
        expected: outcomes by kind of source; a kind that is missing is that of "typed", and a
            table without the kind does not suit sources of that kind.
        sources: names of the sources that can hold the table; None: all of a kind in `expected`.
    """

    name: str
    columns: Mapping[str, Column]
    others: Mapping[str, Column] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    vertices: Any = ("a", "b")
    periods: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    counting: str = "rows"
    weight_unit: float = 1.0
    kind: str = "directed"
    user: str | None = None
    bound: int = MANY
    whole: bool = False
    per_period: bool = False
    expected: Mapping[str, Outcome] = field(default_factory=dict)
    sources: tuple[str, ...] | None = None
    but: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.columns["source"])

    @property
    def has_types(self) -> bool:
        """Whether typed sources can hold the table."""
        return all(
            each.type is not None for each in (*self.columns.values(), *self.others.values())
        )

    def outcome(self, kind: str) -> Outcome | None:
        """What must come of it in sources of a kind; None if these cannot hold it."""
        if kind in ("typed", "engine") and not self.has_types:
            return None
        if kind == "engine" and kind not in self.expected:
            kind = "typed"
        return self.expected.get(kind)

    def header(self, role: str) -> str:
        """The name of a column."""
        return self.headers.get(role, HEADERS[role])

    def named(self) -> dict[str, Column]:
        """All columns by their headers, in their order."""
        return {self.header(role): each for role, each in self.columns.items()} | dict(self.others)

    def arrow(self) -> pa.Table:
        """The table in Arrow, with its stored types."""
        named = self.named()
        return pa.table([each.stored() for each in named.values()], list(named))

    def taken(self, rows: Sequence[int]) -> Self:
        """The table of these rows alone."""
        return replace(
            self,
            columns={role: each.taken(rows) for role, each in self.columns.items()},
            others={name: each.taken(rows) for name, each in self.others.items()},
        )

    def reading(self, on_bad: str) -> dict[str, Any]:
        """The arguments of `gc.Rows.of`, and of `gc.Rows.read`."""
        names: dict[str, Any] = {
            USER_OPTION if role == "user" else role: self.header(role) for role in self.columns
        }
        if self.user is not None:
            names[USER_OPTION] = self.user
        return {
            "columns": gc.Columns(**{**names, "on_bad": on_bad, **self.options}),
            "counting": self.counting,
            "weight_unit": self.weight_unit,
            "vertices": self.vertices,
            "periods": self.periods,
            "kind": self.kind,
        }

    def privacy_unit(self) -> gc.PrivacyUnit:
        """Whom the cells of the table are bounded for."""
        if "user" in self.columns or self.user is not None:
            return gc.PrivacyUnit.user(max_contributions=self.bound, per_period=self.per_period)
        if self.counting == "edges":
            return gc.PrivacyUnit.edge()
        return gc.PrivacyUnit.row(self.bound if self.counting == "weight" else 1)

    def cells(self, rows: gc.Rows) -> dict[tuple[Any, ...], float]:
        """How much is in each cell, by the labels of its source, its target and its period."""
        cells = rows.cells(self.privacy_unit(), whole=self.whole)
        left, right = (side.labels for side in vertex_sets(rows.space))
        found = {}
        columns = (cells.first, cells.second, cells.period, cells.steps)
        for first, second, period, steps in zip(*(c.tolist() for c in columns), strict=True):
            at = (left[first], right[second])
            if rows.periods is not None:
                at = (*at, rows.periods.labels[period])
            found[at] = steps / STEPS
        return found
