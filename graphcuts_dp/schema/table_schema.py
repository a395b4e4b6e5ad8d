"""Table schemas: the role and the kind of each column of a private table.

A `TableSchema` is decided before any row is read, from the options, the header and the stored types
of columns. No value in a row decides anything, not even by whether it can be converted. So one
person's rows cannot change how another's are read; and where bad rows are left out, whether a table
can be read does not depend on its rows.

The *stored type* of a column is that of Parquet, Arrow, or a typed column of a data frame. A column
without one, as in a text file, is text, and each of its values is converted by itself. A *role* is
the use of a column: source or target of an edge, its weight, its user or its period. The *kind* of
a column is what its role makes of its stored type.

A period is declared by its days, such as a month, or by a name, such as "spring". An instant with a
time zone (a timestamp) has a date in a zone only. That zone is public: it is the option
`time_zone`, or the zone of the stored type.

Vertices and users are matched by text: an integer is written in decimal, so that 1 and "1" are one
vertex and one user in every source. Floating-point numbers cannot be matched: -0.0 and 0.0 would be
two, and whether 7 or 7.0 is meant depends on the program that wrote them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.schema.column_search import ColumnPositions
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.time_zones import zone_of

if TYPE_CHECKING:
    import pyarrow as pa

Role = Literal["source", "target", "user", "period", "weight"]
# - "text": each value is converted by itself. This is also the kind of columns without a stored
#   type, whatever their role.
# - "integer": fits into 64 bits with a sign; of vertices, users or periods.
# - "large integer": may not fit into 64 bits, and becomes text; of vertices or users.
# - "number": of weights.
# - "date", "timestamp": of periods.
Kind = Literal["text", "integer", "large integer", "number", "date", "timestamp"]
IDENTIFIERS: tuple[Role, ...] = ("source", "target", "user")  # roles that are matched by text
MAX_DECIMAL_DIGITS = 76  # that a decimal number of Arrow can have


@final
@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column that is read.

    Attributes:
        role: its use.
        position: its number in the table, from 0.
        kind: the kind of its values, see `Kind`.
        stored: whether the column has a stored type; else each value is converted by itself.
        time_zone: of a column of periods, the public zone in which instants have their date. None
            if its values are dates, or times without a zone; and for other roles.
    """

    role: Role
    position: int
    kind: Kind = "text"
    stored: bool = False
    time_zone: str | None = None


@final
@dataclass(frozen=True, slots=True)
class TableSchema:
    """The columns of a table that are read.

    If the user is an endpoint, such as the source, the column of the endpoint is read for both, and
    there is no column with the role "user".
    """

    columns: tuple[TableColumn, ...]

    def __iter__(self) -> Iterator[TableColumn]:
        return iter(self.columns)

    def find(self, role: Role) -> TableColumn | None:
        """Return the column of a role; None if absent."""
        return next((column for column in self.columns if column.role == role), None)

    @property
    def time_zone(self) -> str | None:
        """The public zone in which instants have their date, see `TableColumn`; None if absent."""
        period = self.find("period")
        return None if period is None else period.time_zone

    def note(self) -> str:
        """Return a sentence for the user that names the time zone; empty if there is none."""
        zone = self.time_zone
        return "" if zone is None else f"Times fall into the periods of the time zone {zone}."


def table_schema(
    places: ColumnPositions,
    types: "Sequence[pa.DataType | None]",
    options: Columns,
    *,
    named_periods: bool = False,
    session_zone: bool = False,
) -> TableSchema:
    """Return the schema of a table from the positions and the stored types of its columns.

    Args:
        places: the position of each column that is read, by its role in `places.used`.
        types: the stored type of each column of the table, None for a column without one. Empty if
            no column has one.
        options: how the caller describes the columns.
        named_periods: whether the declared periods have names, and no days.
        session_zone: whether stored zones may not be trusted. DuckDB and Spark report the zone in
            which their session shows instants, which depends on the machine and not on the data.

    Raises:
        FileFormatError: a column whose stored type makes it unusable, whatever its rows hold.
        ParameterError: the stored time zone is unknown.
    """
    columns = []
    for name, position in places.used.items():
        role: Role = name  # type: ignore[assignment]  # the keys of `used` are roles
        stored_type = types[position] if types else None
        if stored_type is None:
            zone = options.time_zone if role == "period" else None
            columns.append(TableColumn(role, position, time_zone=zone))
            continue
        kind, zone = stored_kind(stored_type, role), None
        if role == "period":
            zone = _time_zone(
                stored_type, options, named_periods=named_periods, session_zone=session_zone
            )
        columns.append(TableColumn(role, position, kind, stored=True, time_zone=zone))
    return TableSchema(tuple(columns))


def stored_kind(stored_type: "pa.DataType", role: Role) -> Kind:
    """Return the kind of a column's values from their stored type and their role.

    Raises:
        FileFormatError: a column of this type cannot have the role.
    """
    if role == "period":
        return _period_kind(stored_type)
    return _weight_kind(stored_type) if role == "weight" else _identifier_kind(stored_type, role)


def _identifier_kind(stored_type: "pa.DataType", role: Role) -> Kind:
    """Return the kind of a column of vertices or users."""
    import pyarrow as pa

    values = _value_type(stored_type)
    if _is_text(values) or pa.types.is_null(values):
        return "text"
    if pa.types.is_integer(values) and not pa.types.is_uint64(values):
        return "integer"
    if _is_integral(values):
        return "large integer"
    if pa.types.is_floating(values):
        raise FileFormatError(
            f"the column of the {role} holds floating-point numbers, which are no exact keys: cast "
            f'it to integers (of pandas .astype("Int64")), read it as text (dtype=str), let us '
            f"read the file, or name another column by {role}="
        )
    raise FileFormatError(
        f"the column of the {role} holds neither integers nor text; name another by {role}="
    )


def _weight_kind(stored_type: "pa.DataType") -> Kind:
    """Return the kind of a column of weights: a number, also if all values are missing."""
    import pyarrow as pa

    types, values = pa.types, _value_type(stored_type)
    if types.is_integer(values) or types.is_floating(values) or types.is_decimal(values):
        return "number"
    if types.is_null(values):
        return "number"
    raise FileFormatError("the column of weights holds no numbers; name another by weight=")


def _period_kind(stored_type: "pa.DataType") -> Kind:
    """Return the kind of a column of periods."""
    import pyarrow as pa

    values = _value_type(stored_type)
    if pa.types.is_date(values):
        return "date"
    if pa.types.is_timestamp(values):
        return "timestamp"
    if _is_text(values) or pa.types.is_null(values):
        return "text"
    if pa.types.is_integer(values):
        return "integer"
    raise FileFormatError(
        "the column of the period holds neither dates, times, text nor integers; name another by "
        "period="
    )


def _time_zone(
    stored_type: "pa.DataType", options: Columns, *, named_periods: bool, session_zone: bool
) -> str | None:
    """Return the public zone of a column of periods with a stored type.

    1. Text and integers store no zone. The zone of their values is the caller's option, None if
       that is absent.
    2. Dates and times without a zone have none: None, and the option is refused.
    3. Timestamps with a zone: the caller's option; else the zone of the stored type.
    """
    kind, zone_option = _period_kind(stored_type), options.time_zone
    if kind in ("text", "integer"):
        return zone_option
    if named_periods:
        raise FileFormatError(
            "the column of the period holds dates or times, and the periods have names: pass "
            "periods= such as 2026-01..2026-12"
        )
    if options.date_format is not None:
        raise FileFormatError("date_format= is for text; the column of the period holds dates")
    stored_zone = getattr(_value_type(stored_type), "tz", None)
    if stored_zone is None:
        if zone_option is not None:
            raise FileFormatError(
                "the column of the period holds dates or times without a zone; leave out time_zone="
            )
        return None
    if zone_option is None and session_zone:
        raise FileFormatError(
            "the column of the period has times with a zone, and the program reports only that of "
            "its session: pass time_zone= such as Europe/Berlin"
        )
    zone_of(stored_zone)  # raises if it is unknown
    return zone_option or stored_zone


def _value_type(stored_type: "pa.DataType") -> "pa.DataType":
    """Return the type of the values; of a dictionary-encoded column, that of its dictionary."""
    import pyarrow as pa

    return (
        _value_type(stored_type.value_type) if pa.types.is_dictionary(stored_type) else stored_type
    )


def _is_text(stored_type: "pa.DataType") -> bool:
    """Return whether a type is one of the three types of text of Arrow."""
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_string(stored_type)
        or types.is_large_string(stored_type)
        or types.is_string_view(stored_type)
    )


def _is_integral(stored_type: "pa.DataType") -> bool:
    """Return whether all values of a type are integers that Arrow can write in decimal."""
    import pyarrow as pa

    if not pa.types.is_decimal(stored_type):
        return bool(pa.types.is_integer(stored_type))
    # A decimal number of Arrow is an integer of up to `precision` digits, times 10^-scale. With
    # scale > 0 it has digits behind the point. With scale <= 0 it is an integer: its digits, and
    # -scale zeros behind them.
    digits = stored_type.precision - stored_type.scale
    return bool(stored_type.scale <= 0 and digits <= MAX_DECIMAL_DIGITS)
