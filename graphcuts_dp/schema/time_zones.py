"""Public time zones, and the local date of an instant in one of them.

The zone of a table is public: it is an option of the caller, or the zone that the stored type of a
column has. The zone of the machine is never read. All sources use the functions of this module, so
an instant falls on the same date whichever way it is read.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError

DAY_SECONDS = 86_400
# A quarter of an hour in seconds. Today the offset of a zone from UTC changes, as for summer time,
# at multiples of it only. Some old changes lie within a quarter, which `local_days` notices.
_QUARTER_SECONDS = 900
# First and last second, since 1970-01-01 in UTC, of which Python can tell the local time in every
# zone. Its dates have the years 1 to 9999. Local time differs from UTC by less than a day, so two
# days less at both ends keep the local time within these years, too.
_FIRST_SECOND = -62_135_596_800 + 2 * DAY_SECONDS
_LAST_SECOND = 253_402_300_799 - 2 * DAY_SECONDS
_FIXED_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)", re.ASCII)


@cache
def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name, such as "Europe/Berlin", "UTC" or "+02:00".

    Raises:
        ParameterError: no such zone is known.
    """
    match = _FIXED_OFFSET.fullmatch(name)
    if match is not None and int(match[2]) < 24 and int(match[3]) < 60:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise ParameterError(
            f"unknown time zone {name!r:.60}: pass time_zone= such as Europe/Berlin or UTC"
        ) from None


def local_days(seconds: IntVector, zone: str) -> IntVector:
    """Return the local date of each instant, in days since 1970-01-01, shape (rows,).

    Instants before `_FIRST_SECOND` and after `_LAST_SECOND` have their date in UTC instead. None of
    their dates lies in 0001-01-03 to 9999-12-29.

    Privacy: each date depends on its own instant and the public zone alone.

    Args:
        seconds: since 1970-01-01 in UTC, rounded down, shape (rows,).
        zone: name of the zone.
    """
    time_zone = zone_of(zone)
    # Looking up an offset is slow, and rows are many. So look up two offsets for each quarter of an
    # hour that occurs: at its first and at its last second. Where they are equal, all instants of
    # the quarter have this offset. Where they differ, look up the offset of each instant. This
    # relies on no zone changing its offset twice within a quarter.
    quarters, quarter_of_row = np.unique(seconds // _QUARTER_SECONDS, return_inverse=True)
    first_seconds = quarters * _QUARTER_SECONDS
    first_offsets = _offsets(first_seconds, time_zone)
    last_offsets = _offsets(first_seconds + _QUARTER_SECONDS - 1, time_zone)
    offsets = first_offsets[quarter_of_row]
    changes = (first_offsets != last_offsets)[quarter_of_row]
    if changes.any():
        offsets[changes] = _offsets(seconds[changes], time_zone)
    days: IntVector = (seconds + offsets) // DAY_SECONDS
    return days


def _offsets(seconds: IntVector, zone: tzinfo) -> IntVector:
    """Return by how many seconds local time is ahead of UTC at each instant."""
    return np.array([_offset(second, zone) for second in seconds.tolist()], dtype=np.int64)


def _offset(second: int, zone: tzinfo) -> int:
    """Return by how many seconds local time is ahead of UTC; 0 where Python cannot tell."""
    if not _FIRST_SECOND <= second <= _LAST_SECOND:
        return 0
    offset = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())
