"""Convert the columns of a table of any source, by one rule for each role.

The result of a conversion, and whether its row is bad, depends on the value, the public schema and
the options alone; see `schema.table_schema`. Columns with a stored type are Arrow arrays, others
lists of Python values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatArray, IntVector
from graphcuts_dp.io.batches import TableBatch
from graphcuts_dp.io.periods import (
    period_numbers_of_objects,
    period_numbers_of_text,
    period_numbers_of_times,
)
from graphcuts_dp.io.raw_edges import Options
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.columns import parse_number
from graphcuts_dp.schema.table_schema import (
    IDENTIFIERS,
    MAX_DECIMAL_DIGITS,
    TableColumn,
    TableSchema,
)

if TYPE_CHECKING:
    import pyarrow as pa

CONVERTED_ROWS = 1 << 17  # rows converted at a time: their arrays fit in the processor's cache
_NO_ENDPOINT = "an endpoint is missing, as in exports of databases that hold vertices among edges"
MISSING = {
    "source": _NO_ENDPOINT,
    "target": _NO_ENDPOINT,
    "user": "the user is missing",
    "weight": "the weight is missing",
    "period": "the period is missing",
}
_WRONG_ENDPOINT = "an endpoint is neither text nor an integer"
_WRONG_TYPE = {
    "source": _WRONG_ENDPOINT,
    "target": _WRONG_ENDPOINT,
    "user": "the user is neither text nor an integer",
}
_NO_NUMBER = "the weight is not a number; weighted=False reads none"
_INTEGER_LIMIT = 2**63  # integers of smaller absolute value stay 64-bit integers
_LARGEST_INTEGER = np.uint64(_INTEGER_LIMIT - 1)


def convert_batches(
    parts: Iterable[Mapping[str, Any]], schema: TableSchema, options: Options, bad: BadRows
) -> Iterator[TableBatch]:
    """Yield the rows of a table that are sound, converted, a batch at a time.

    Args:
        parts: the columns of some rows by role, each an Arrow array or a list of Python values.
        schema: role and type of each column.
        options: options of the reader, with the declared periods if a period is read.
        bad: collects the kinds of bad rows.
    """
    start = 0
    for part in parts:
        count = len(next(iter(part.values())))
        for first in range(0, count, CONVERTED_ROWS):
            piece = {role: values[first : first + CONVERTED_ROWS] for role, values in part.items()}
            yield _convert(piece, schema, options, bad, start + first)
        start += count


def row_label(number: int) -> str:
    """Return the position of a row of a table in words, for a message."""
    return f"row {number} (counted from 0)"


def period_fault(options: Options) -> str:
    """Return the fault of a value that names no period of the declared kind."""
    assert options.periods is not None  # noqa: S101
    columns, by = options.columns, options.periods.by
    if columns.date_format is not None:
        return "the period is not a date in the form of date_format="
    if columns.time_zone is not None:
        return "the period is not a time with an offset, as time_zone= needs"
    if by == "period":
        return "the period is neither text nor an integer"
    return (
        f"the period is no {by}, such as 2026-01-31; pass date_format= for dates in another order, "
        "or time_zone= for times with an offset"
    )


def merge_batches(batches: Iterable[TableBatch], rows: int) -> Iterator[TableBatch]:
    """Yield the rows of batches in batches of at least `rows` rows; the last may have fewer."""
    waiting: list[TableBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += len(batch)
        if count >= rows:
            yield join_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield join_batches(waiting)


def join_batches(batches: Sequence[TableBatch]) -> TableBatch:
    """Return the rows of several batches as one."""
    import pyarrow as pa

    if len(batches) == 1:
        return batches[0]
    identifiers = {}
    for role in batches[0].columns:
        parts = [batch.columns[role] for batch in batches]
        if len({part.type for part in parts}) > 1:
            parts = [part.cast(pa.large_string()) for part in parts]
        identifiers[role] = pa.concat_arrays(parts)
    weights = [batch.weights for batch in batches if batch.weights is not None]
    periods = [batch.periods for batch in batches if batch.periods is not None]
    row_numbers = [_as_array(batch.row_numbers) for batch in batches]
    return TableBatch(
        identifiers,
        np.concatenate(weights) if weights else None,
        np.concatenate(periods) if periods else None,
        np.concatenate(row_numbers),
    )


def _convert(
    part: Mapping[str, Any], schema: TableSchema, options: Options, bad: BadRows, start: int
) -> TableBatch:
    """Return the sound rows of a part of a table, whose first row has the number `start`."""
    count = len(next(iter(part.values())))
    good = np.ones(count, dtype=np.bool_)
    identifiers: dict[str, Any] = {}
    weights: FloatArray | None = None
    periods: IntVector | None = None

    def check(sound: BoolVector, fault: str) -> None:
        nonlocal good
        if not sound.all():
            position = row_label(start + int(np.argmin(sound)))
            bad.add(fault, position, int(np.count_nonzero(~sound)))
            good = good & sound

    for column in schema:
        values = part[column.role]
        present = _present(values)
        check(present, MISSING[column.role])
        if column.role in IDENTIFIERS:
            identifiers[column.role], sound = _identifiers(values)
            check(sound | ~present, _WRONG_TYPE[column.role])
        elif column.role == "weight":
            weights, sound = _weights(values, options.columns.decimal)
            check(sound | ~present, _NO_NUMBER)
        elif options.periods is not None:
            periods, sound = _period_numbers(values, column, options)
            check(sound | ~present, period_fault(options))
    batch = TableBatch(identifiers, weights, periods, range(start, start + count))
    return batch if good.all() else batch.take(np.flatnonzero(good))


def _present(values: Any) -> BoolVector:
    """Return which values are present: neither null, None, NaN, pandas.NA nor NaT."""
    if isinstance(values, list):
        is_present = (value is not None and not _is_missing(value) for value in values)
        return np.fromiter(is_present, dtype=np.bool_, count=len(values))
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        # Null where the index is null, false where the entry of the dictionary is.
        entries = values.dictionary.is_valid().take(values.indices)
        present: BoolVector = entries.fill_null(False).to_numpy(zero_copy_only=False)
        return present
    if not values.null_count:
        return np.ones(len(values), dtype=np.bool_)
    valid: BoolVector = values.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _is_missing(value: Any) -> bool:
    """Return whether a value of Python is a mark of a missing one: NaN, pandas.NA, NaT."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    return type(value) in (float, np.float64, np.float32) and bool(np.isnan(value))


def _identifiers(values: Any) -> "tuple[pa.Array, BoolVector]":
    """Return identifiers as 64-bit integers or as text, and which values are identifiers.

    An integer and its decimal text are one identifier, so both forms are equivalent, see
    `io.codes`.
    """
    import pyarrow as pa

    if isinstance(values, list):
        if set(map(type, values)) == {int} and all(
            -_INTEGER_LIMIT < value < _INTEGER_LIMIT for value in values
        ):
            return pa.array(values, pa.int64()), np.ones(len(values), dtype=np.bool_)
        texts = [_text_of(value) for value in values]
        sound = np.fromiter((text is not None for text in texts), np.bool_, len(texts))
        return pa.array(["" if text is None else text for text in texts], pa.large_string()), sound
    if pa.types.is_dictionary(values.type):
        values = _dictionary_values(values)
    types, stored = pa.types, values.type
    if types.is_decimal(stored):
        values = values.cast(pa.decimal256(MAX_DECIMAL_DIGITS, 0)).cast(pa.large_string())
    elif types.is_integer(stored):
        large = (
            types.is_uint64(stored) and (values.fill_null(0).to_numpy() > _LARGEST_INTEGER).any()
        )
        values = values.cast(pa.large_string() if large else pa.int64())
    else:
        return _check_text(_fill_nulls(values.cast(pa.large_string()), ""))
    sound = np.ones(len(values), dtype=np.bool_)
    return _fill_nulls(values, "" if types.is_large_string(values.type) else 0), sound


def _dictionary_values(values: "pa.Array") -> "pa.Array":
    """Decode a dictionary-encoded column of integers or text."""
    import pyarrow as pa

    entries = values.dictionary
    if pa.types.is_decimal(entries.type):
        entries = entries.cast(pa.decimal256(MAX_DECIMAL_DIGITS, 0)).cast(pa.large_string())
    elif not pa.types.is_integer(entries.type):
        entries = entries.cast(pa.large_string())  # `take` does not support the type string_view
    return entries.take(values.indices)


def _check_text(values: "pa.Array") -> "tuple[pa.Array, BoolVector]":
    """Return text, empty for a value that is not Unicode, and which values are Unicode."""
    import pyarrow as pa

    sound = np.ones(len(values), dtype=np.bool_)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        texts = [_unicode(data) for data in values.cast(pa.large_binary()).to_pylist()]
        sound = np.fromiter((text is not None for text in texts), np.bool_, len(texts))
        values = pa.array([text or "" for text in texts], pa.large_string())
    return values, sound


def _unicode(data: bytes) -> str | None:
    """Return bytes of UTF-8 as text; None for other bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _text_of(value: Any) -> str | None:
    """Return an identifier as text, an integer in decimal; None if it is no identifier."""
    try:
        if isinstance(value, str):
            text = str.__str__(value)  # a subclass may show itself as something else
            return text if _is_unicode(text) else None
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return str(int(value))
    except Exception:  # noqa: BLE001, RUF100  # of a class of somebody's own, or too many digits
        return None
    return None


def _is_unicode(text: str) -> bool:
    """Return whether text can be written as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate
        return False
    return True


def _weights(values: Any, decimal: str) -> tuple[FloatArray, BoolVector]:
    """Return weights as 64-bit floats, and which are numbers; a stored NaN counts as one.

    `assemble` checks that numbers are finite and not negative.
    """
    if isinstance(values, list):
        numbers = [_weight_of(value, decimal) for value in values]
        sound = np.fromiter((number is not None for number in numbers), np.bool_, len(numbers))
        weights = np.array([np.nan if number is None else number for number in numbers])
        return weights.astype(np.float64), sound
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    stored: FloatArray = _fill_nulls(values.cast(pa.float64(), safe=False), np.nan).to_numpy()
    return stored, np.ones(len(values), dtype=np.bool_)


def _weight_of(value: Any, decimal: str) -> float | None:
    """Return a weight as a float; None if the value is no number."""
    numbers = (int, float, Decimal, np.integer, np.floating)
    try:
        if isinstance(value, str):
            return parse_number(str.__str__(value), decimal)
        if isinstance(value, bool | np.bool_) or not isinstance(value, numbers):
            return None
        return float(value)
    except Exception:  # noqa: BLE001, RUF100  # of a class of somebody's own, or too large
        return None


def _period_numbers(
    values: Any, column: TableColumn, options: Options
) -> tuple[IntVector, BoolVector]:
    if isinstance(values, list):
        return period_numbers_of_objects(values, options)
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        temporal = pa.types.is_temporal(values.type.value_type)
        values = values.dictionary_decode() if temporal else _dictionary_values(values)
    if column.kind in ("date", "timestamp"):
        return period_numbers_of_times(values, options, column.time_zone)
    texts, is_unicode = _check_text(_fill_nulls(values.cast(pa.large_string()), ""))
    numbers, sound = period_numbers_of_text(texts, options)
    return numbers, sound & is_unicode


def _as_array(numbers: Sequence[int] | IntVector) -> IntVector:
    """Return row numbers as an array; `np.asarray` would convert a range number by number."""
    if isinstance(numbers, range):
        return np.arange(numbers.start, numbers.stop, numbers.step)
    return np.asarray(numbers, dtype=np.int64)


def _fill_nulls(values: "pa.Array", replacement: Any) -> "pa.Array":
    """Return a column with a replacement for nulls; the column itself if it has no null."""
    return values.fill_null(replacement) if values.null_count else values
