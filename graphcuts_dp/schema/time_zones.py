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
# A quarter of an hour in seconds. Today offsets from UTC change at multiples of it only; some old
# ones changed within a quarter, which `local_days` notices.
_QUARTER_SECONDS = 900
# First and last second, since 1970-01-01 in UTC, that Python can show in every zone: the years 1 to
# 9999 without two days at both ends, as a local time must lie within these years, too.
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

    Instants that Python cannot show in every zone, see `_FIRST_SECOND`, have their date in UTC. It
    lies outside the years 1 to 9999, or within two days of their ends.

    Privacy: each date depends on its own instant and the public zone alone.

    Args:
        seconds: since 1970-01-01 in UTC, rounded down, shape (rows,).
        zone: name of the zone.
    """
    time_zone = zone_of(zone)
    # Offsets are looked up once for each quarter of an hour that occurs, at its first and last
    # second. Where these differ, the offset of each instant is looked up.
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
