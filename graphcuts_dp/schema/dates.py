"""Dates that are written as text: which local date one value names, if any.

A text with an offset from UTC, such as 2026-01-31T08:30+01:00, names an *instant*. Its date depends
on a time zone, so it can be read only where the caller or the data name a public one. A text
without an offset names a date or a local time, which is used as it is written.
"""

import re
from datetime import UTC, date, datetime

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.schema.time_zones import zone_of

# Directives of `strptime` that a format may have. Others depend on the language or the time zone of
# the machine (%B, %Z), or name a date by other numbers than day, month and year (%j, %G).
_DIRECTIVES = "dmYyHMSfz%"
# Usual ways to write dates beside ISO 8601, each with an example.
DATE_EXAMPLES = {
    "%d.%m.%Y": "31.01.2026",
    "%d/%m/%Y": "31/01/2026",
    "%m/%d/%Y": "01/31/2026",
    "%d.%m.%Y %H:%M": "31.01.2026 08:30",
    "%Y%m%d": "20260131",
}
_OFFSET = r"(?:[Zz]|[+-]\d\d(?::?\d\d)?)"
_ISO_INSTANT = re.compile(
    rf"\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?{_OFFSET}", re.ASCII
)


def check_date_format(date_format: str, *, zoned: bool) -> None:
    """Check the format in which dates are written.

    Args:
        date_format: with directives of `strptime`, such as "%d.%m.%Y %H:%M".
        zoned: whether there is a time zone. Texts then need an offset from UTC (%z).

    Raises:
        ParameterError: a directive that is not supported; a format without day, month or year; an
            offset (%z) without a time zone, or a time zone without an offset.
    """
    directives = re.findall("%(.?)", date_format.replace("%%", ""))
    if any(directive not in _DIRECTIVES or not directive for directive in directives):
        raise ParameterError("date_format= may have %d %m %Y %y %H %M %S %f %z only")
    date_directives = sorted(set(directives) & {"d", "m", "Y", "y"})
    if date_directives not in (["Y", "d", "m"], ["d", "m", "y"]):
        raise ParameterError("date_format= needs a day, a month and a year, such as %d.%m.%Y")
    if ("z" in directives) is not zoned:
        raise ParameterError(
            "date_format= with an offset (%z) and time_zone= belong together: pass both or neither"
        )


def date_of_text(text: str, date_format: str | None, zone: str | None) -> str | None:
    """Return the date that a text names as YYYY-MM-DD, or None if it names none.

    Without a format and a zone any text comes back unchanged and unchecked: it may be a date, or
    the name of a period such as "spring". `schema.periods.Periods`, the public list of periods,
    looks it up later.

    Privacy: the result depends on this text and public options alone.

    Args:
        text: one value.
        date_format: how dates are written; None for ISO 8601.
        zone: the public time zone in which instants have their date. None: texts name no instants.
    """
    if date_format is None and zone is None:
        return text
    try:
        if date_format is not None:
            # The format has %z if and only if there is a zone, see `check_date_format`. So the
            # moment has an offset exactly then, and `local_date` does not return None for it.
            moment = datetime.strptime(text, date_format)  # noqa: DTZ007, RUF100
        elif _ISO_INSTANT.fullmatch(text):
            moment = datetime.fromisoformat(text.upper().replace(",", "."))
        else:
            return None
        return local_date(moment, zone)
    except (ValueError, OverflowError):
        return None


def local_date(moment: date, zone: str | None) -> str | None:
    """Return a local date as YYYY-MM-DD.

    None if `moment` has an offset and there is no zone, or there is a zone and it has no offset.

    Args:
        moment: a `date`, or a `datetime` with or without an offset from UTC.
        zone: the public time zone in which instants have their date. None: `moment` is no instant.
    """
    if not isinstance(moment, datetime):
        return None if zone is not None else moment.isoformat()
    offset = moment.utcoffset()
    if (offset is None) is not (zone is None):
        return None
    if zone is not None:
        # Convert to UTC first. If `moment.tzinfo` were the zone itself, `astimezone(zone)` would
        # return `moment` unchanged, even a local time that daylight saving skips.
        moment = moment.astimezone(UTC).astimezone(zone_of(zone))
    return moment.date().isoformat()
