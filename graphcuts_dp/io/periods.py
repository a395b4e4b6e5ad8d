"""Number the declared periods of private dates and times, each value by itself.

The number depends on the value, the public periods and the public time zone alone. Equal values are
looked up once; that saves time and changes nothing.
"""

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.io.raw_edges import Options
from graphcuts_dp.schema.dates import date_of_text, local_date
from graphcuts_dp.schema.periods import DATES, Periods
from graphcuts_dp.schema.time_zones import DAY_SECONDS, local_days

if TYPE_CHECKING:
    import pyarrow as pa

UNDECLARED = -1  # number of a well-formed period that is not declared; its rows do not count
UNSOUND = -2  # number of a value that names no period; its row is bad
_DAY_LENGTH = 10  # characters of a day such as 2026-01-31
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # parts of one second
# A day with a time that names no offset; the time is ignored.
_DAY_AND_TIME = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?$"
)


def period_numbers_of_text(texts: "pa.Array", options: Options) -> tuple[IntVector, BoolVector]:
    """Return the number of the declared period that each text names.

    Args:
        texts: strings without nulls, shape (rows,).
        options: with the declared periods, and perhaps a time zone and how dates are written.

    Returns:
        For each text the number of its period, or `UNDECLARED`, or `UNSOUND`; and whether it is
        sound, which a text is if it names any period, declared or not.
    """
    from pyarrow import compute

    periods, columns = options.periods, options.columns
    assert periods is not None  # noqa: S101  # a period column is read only if there are periods
    if periods.by in DATES and columns.time_zone is None and columns.date_format is None:
        has_time = compute.match_substring_regex(texts, _DAY_AND_TIME)
        days = compute.utf8_slice_codeunits(texts, 0, _DAY_LENGTH)
        texts = compute.if_else(has_time, days, texts)
    encoded = texts.dictionary_encode()
    distinct_texts = encoded.dictionary.to_pylist()
    number_of = _period_parser(options)
    distinct_numbers = np.fromiter(
        map(number_of, distinct_texts), dtype=np.int64, count=len(distinct_texts)
    )
    numbers = distinct_numbers[encoded.indices.to_numpy()]
    return numbers, numbers > UNSOUND


def period_numbers_of_objects(
    values: Sequence[Any], options: Options
) -> tuple[IntVector, BoolVector]:
    """Number the periods that values of Python name: texts, integers, dates and times.

    Args:
        values: None among them is unsound.
        options: as for `period_numbers_of_text`, as is what is returned.
    """
    number_of_text = _period_parser(options)
    periods, zone = options.periods, options.columns.time_zone
    assert periods is not None  # noqa: S101

    def number_of(value: Any) -> int:
        if isinstance(value, str):
            return number_of_text(value)
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return number_of_text(str(int(value)))
        # NaT of pandas is a date that differs from itself.
        if isinstance(value, date) and value == value and periods.by in DATES:
            day = local_date(value, zone)
            return UNSOUND if day is None else periods.number(day)
        return UNSOUND

    def number_or_unsound(value: Any) -> int:
        try:
            return number_of(value)
        except Exception:  # noqa: BLE001, RUF100  # thousands of digits, or a day before year 1
            return UNSOUND

    numbers = np.fromiter(map(number_or_unsound, values), dtype=np.int64, count=len(values))
    return numbers, numbers > UNSOUND


def period_numbers_of_times(
    times: "pa.Array", options: Options, zone: str | None
) -> tuple[IntVector, BoolVector]:
    """Number the periods of stored dates and timestamps, all of which are sound except nulls.

    Args:
        times: of an Arrow date or timestamp type.
        options: with the declared periods.
        zone: the public time zone of instants; None for dates and for times without a zone.
    """
    import pyarrow as pa

    periods = options.periods
    assert periods is not None  # noqa: S101
    sound = times.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_date32(times.type):
        days = times.cast(pa.int32()).fill_null(0).to_numpy().astype(np.int64)
    else:
        unit = 1000 if pa.types.is_date64(times.type) else _UNITS_PER_SECOND[times.type.unit]
        seconds = times.cast(pa.int64()).fill_null(0).to_numpy() // unit
        days = seconds // DAY_SECONDS if zone is None else local_days(seconds, zone)
    first_days, last_days = periods.days
    numbers = np.searchsorted(first_days, days, side="right") - 1
    inside = (numbers >= 0) & (days <= last_days[numbers])
    return np.where(inside, numbers, UNDECLARED), sound


def _period_parser(options: Options) -> Callable[[str], int]:
    """Return a function that takes a text and returns the number of the period that it names."""
    periods, columns = options.periods, options.columns
    assert isinstance(periods, Periods)  # noqa: S101
    are_dates = periods.by in DATES

    def number_of(text: str) -> int:
        date_or_name = (
            date_of_text(text, columns.date_format, columns.time_zone) if are_dates else text
        )
        if date_or_name is None or not periods.is_one(date_or_name):
            return UNSOUND
        return periods.number(date_or_name)

    return number_of
