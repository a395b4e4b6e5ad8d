"""Public time zones, and the local date of an instant in one of them.

The zone of a table is public: an option, or the zone that the type of a column stores. The zone of
the machine is never read. All sources use the functions of this module, so that an instant falls
on one date, whoever reads it.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError

_QUARTER = 900  # seconds: offsets from UTC change at multiples of this, but for old exceptions
DAY_SECONDS = 86_400  # seconds
_FIXED = re.compile(r"([+-])(\d\d):?(\d\d)", re.ASCII)
_FIRST = (
    -62_135_596_800 + 2 * DAY_SECONDS
)  # seconds since 1970 of what Python can put into any zone
_LAST = 253_402_300_799 - 2 * DAY_SECONDS


@cache
def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name, such as "Europe/Berlin", "UTC" or "+02:00".

    Raises:
        ParameterError: no such zone is known.
    """
    fixed = _FIXED.fullmatch(name)
    if fixed is not None and int(fixed[2]) < 24 and int(fixed[3]) < 60:
        offset = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
        return timezone(-offset if fixed[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise ParameterError(
            f"unknown time zone {name!r:.60}: pass time_zone= such as Europe/Berlin or UTC"
        ) from None


def local_days(seconds: IntVector, zone: str) -> IntVector:
    """Return the local date of each instant, in days since 1970-01-01.

    Each result depends on its own instant and the zone alone. Instants outside the years 1 to 9999
    keep the date of UTC, which is in no period.

    Args:
        seconds: since 1970-01-01 in UTC, rounded down, shape (rows,).
        zone: name of the zone.
    """
    known = zone_of(zone)
    quarters, places = np.unique(seconds // _QUARTER, return_inverse=True)
    first = quarters * _QUARTER
    before, after = (_offsets(first + shift, known) for shift in (0, _QUARTER - 1))
    offsets = before[places]
    changing = (before != after)[places]
    if changing.any():
        offsets[changing] = _offsets(seconds[changing], known)
    days: IntVector = (seconds + offsets) // DAY_SECONDS
    return days


def _offsets(seconds: IntVector, zone: tzinfo) -> IntVector:
    """Return by how many seconds local time is ahead of UTC at each instant."""
    return np.array([_offset(second, zone) for second in seconds.tolist()], dtype=np.int64)


def _offset(second: int, zone: tzinfo) -> int:
    if not _FIRST <= second <= _LAST:
        return 0
    local = datetime.fromtimestamp(second, UTC).astimezone(zone)
    ahead = local.utcoffset()
    return 0 if ahead is None else round(ahead.total_seconds())
