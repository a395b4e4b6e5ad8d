"""What each column of a private table is, decided before any row is read.

Options, header and stored types decide; no value in a row does, not even by whether it can be
converted. So one person's rows cannot change how another's are read, and whether a table can be
read, where bad rows are left out, does not depend on rows. A column without a stored type (of a
text file, or values of Python) is text, and each of its values is converted by itself.

The matching key of vertices and users is text: an integer is written in decimal, so that 1 and "1"
are one vertex and one user in every source. Floating-point numbers are no keys: -0.0 and 0.0 would
be two, and which of 7 and 7.0 is meant depends on the program that wrote them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.schema.columns import ColumnPlaces, Columns
from graphcuts_dp.schema.time_zones import zone_of

if TYPE_CHECKING:
    import pyarrow as pa

Role = Literal["source", "target", "user", "period", "weight"]
# A large integer may need more than 64 bits with a sign: it is kept as text.
Kind = Literal["text", "integer", "large integer", "number", "date", "timestamp"]
IDENTIFIERS: tuple[Role, ...] = ("source", "target", "user")
MAX_DECIMAL_DIGITS = 76  # of a decimal number of Arrow
_OPTIONS = {"source": "source=", "target": "target=", "user": "user=", "period": "period="}


@final
@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column that is read.

    Attributes:
        role: what it is for.
        position: from 0.
        kind: what its values are.
        stored: whether its values have a stored type; else each is converted by itself.
        time_zone: of a period: the public zone in which instants have their date; None of dates,
            and of times without a zone.
    """

    role: Role
    position: int
    kind: Kind = "text"
    stored: bool = False
    time_zone: str | None = None


@final
@dataclass(frozen=True, slots=True)
class TableSchema:
    """The columns of a table that are read, each once."""

    columns: tuple[TableColumn, ...]

    def __iter__(self) -> Iterator[TableColumn]:
        return iter(self.columns)

    def find(self, role: Role) -> TableColumn | None:
        """Return the column of a role, or None if there is none."""
        return next((column for column in self.columns if column.role == role), None)

    @property
    def time_zone(self) -> str | None:
        """The public zone in which the instants of the period column have their date."""
        period = self.find("period")
        return None if period is None else period.time_zone

    def note(self) -> str:
        """Return a sentence that names the time zone; empty if there is none."""
        zone = self.time_zone
        return "" if zone is None else f"Times fall into the periods of the time zone {zone}."


def table_schema(
    places: ColumnPlaces,
    types: "Sequence[pa.DataType | None]",
    options: Columns,
    *,
    named_periods: bool = False,
    session_zone: bool = False,
) -> TableSchema:
    """Return the schema of a table from the positions and the stored types of its columns.

    Args:
        places: which column has which role.
        types: of all columns; None of a column without a stored type.
        options: how the caller describes the columns.
        named_periods: whether the declared periods have names, and no days.
        session_zone: whether stored zones are those of a program's session, as those of DuckDB and
            Spark are, and not of the data.

    Raises:
        FileFormatError: a column whose stored type makes it unusable, whatever its rows hold.
        ParameterError: the stored time zone is unknown.
    """
    columns = []
    for name, position in places.used.items():
        role: Role = "user" if name == "user" else name  # type: ignore[assignment]
        stored = types[position] if types else None
        if stored is None:
            zone = options.time_zone if role == "period" else None
            columns.append(TableColumn(role, position, time_zone=zone))
        else:
            kind, zone = stored_kind(stored, role), None
            if role == "period":
                zone = _time_zone(
                    stored, options, named_periods=named_periods, session_zone=session_zone
                )
            columns.append(TableColumn(role, position, kind, True, zone))
    return TableSchema(tuple(columns))


def stored_kind(stored: "pa.DataType", role: Role) -> Kind:
    """Return the kind of a column's values from their stored type and their role.

    Raises:
        FileFormatError: the type makes the column unusable for it.
    """
    if role == "period":
        return _period_kind(stored)
    return _weight_kind(stored) if role == "weight" else _identifier_kind(stored, role)


def _value_type(stored: "pa.DataType") -> "pa.DataType":
    """Return the type of the values; of a dictionary-encoded column, that of its dictionary."""
    import pyarrow as pa

    return _value_type(stored.value_type) if pa.types.is_dictionary(stored) else stored


def _is_text(stored: "pa.DataType") -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_string(stored) or types.is_large_string(stored) or types.is_string_view(stored)
    )


def _is_integral(stored: "pa.DataType") -> bool:
    """Return whether values are integers that can be written in decimal, whatever they are."""
    import pyarrow as pa

    if not pa.types.is_decimal(stored):
        return bool(pa.types.is_integer(stored))
    return bool(stored.scale <= 0 and stored.precision - stored.scale <= MAX_DECIMAL_DIGITS)


def _identifier_kind(stored: "pa.DataType", role: Role) -> Kind:
    import pyarrow as pa

    values = _value_type(stored)
    if _is_text(values) or pa.types.is_null(values):
        return "text"
    if pa.types.is_integer(values) and not pa.types.is_uint64(values):
        return "integer"
    if _is_integral(values):
        return "large integer"
    option = _OPTIONS[role]
    if pa.types.is_floating(values):
        raise FileFormatError(
            f"the column of the {role} holds floating-point numbers, which are no exact keys: cast "
            f'it to integers (of pandas .astype("Int64")), read it as text (dtype=str), let us '
            f"read the file, or name another column by {option}"
        )
    raise FileFormatError(
        f"the column of the {role} holds neither integers nor text; name another by {option}"
    )


def _weight_kind(stored: "pa.DataType") -> Kind:
    import pyarrow as pa

    types, values = pa.types, _value_type(stored)
    if types.is_integer(values) or types.is_floating(values) or types.is_decimal(values):
        return "number"
    if types.is_null(values):
        return "number"
    raise FileFormatError("the column of weights holds no numbers; name another by weight=")


def _period_kind(stored: "pa.DataType") -> Kind:
    import pyarrow as pa

    values = _value_type(stored)
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
    stored: "pa.DataType", options: Columns, *, named_periods: bool, session_zone: bool
) -> str | None:
    """Return the public zone of a stored column of periods; None if its values have none."""
    kind, zone_option = _period_kind(stored), options.time_zone
    if kind in ("text", "integer"):
        return zone_option
    if named_periods:
        raise FileFormatError(
            "the column of the period holds dates or times, and the periods have names: pass "
            "periods= such as 2026-01..2026-12"
        )
    if options.date_format is not None:
        raise FileFormatError("date_format= is for text; the column of the period holds dates")
    stored_zone = getattr(_value_type(stored), "tz", None)
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
