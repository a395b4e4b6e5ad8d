"""Dates that are written as text, one value at a time: which date one names, if any.

Text without an offset from UTC is used as it is written. Text with one names an instant, whose date
depends on a zone: it is read where a time zone was given, and only there.
"""

import re
from datetime import UTC, date, datetime

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.schema.time_zones import zone_of

_DIRECTIVES = "dmYyHMSfz%"  # the others depend on the language or the zone of the machine
_OFFSET = r"(?:[Zz]|[+-]\d\d(?::?\d\d)?)"
_ISO_INSTANT = re.compile(
    rf"\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?{_OFFSET}", re.ASCII
)


def check_date_format(date_format: str, *, zoned: bool) -> None:
    """Check how dates are written, such as "%d.%m.%Y %H:%M".

    Args:
        date_format: likewise.
        zoned: whether a time zone was given, for text that names an offset from UTC (%z).

    Raises:
        ParameterError: a directive that depends on the machine, no day, or a zone without an
            offset.
    """
    directives = re.findall("%(.?)", date_format.replace("%%", ""))
    if any(directive not in _DIRECTIVES or not directive for directive in directives):
        raise ParameterError("date_format= may have %d %m %Y %y %H %M %S %f %z only")
    if sorted(set(directives) & {"d", "m", "Y", "y"}) not in (["Y", "d", "m"], ["d", "m", "y"]):
        raise ParameterError("date_format= needs a day, a month and a year, such as %d.%m.%Y")
    if ("z" in directives) is not zoned:
        raise ParameterError(
            "date_format= with an offset (%z) and time_zone= belong together: pass both or neither"
        )


def date_of_text(text: str, date_format: str | None, zone: str | None) -> str | None:
    """Return the date that a text names as YYYY-MM-DD, or None if it names none.

    Without `date_format` and `zone` the text comes back as it is: `Periods` reads it. The result
    depends on this text and public options alone.

    Args:
        text: of one value.
        date_format: how dates are written; None for ISO 8601.
        zone: the time zone in which an instant has its date; None where text names no instants.
    """
    if date_format is None and zone is None:
        return text  # which `Periods` reads
    try:
        if date_format is not None:
            moment = datetime.strptime(text, date_format)  # noqa: DTZ007, RUF100  # zones are checked
        elif _ISO_INSTANT.fullmatch(text):
            moment = datetime.fromisoformat(text.upper().replace(",", "."))
        else:
            return None
        return local_date(moment, zone)
    except (ValueError, OverflowError):
        return None


def local_date(moment: date, zone: str | None) -> str | None:
    """Return the local date as YYYY-MM-DD; None if just one of offset and zone is there.

    Args:
        moment: a `date`, or a `datetime`.
        zone: as for `date_of_text`.
    """
    if not isinstance(moment, datetime):
        return None if zone is not None else moment.isoformat()
    offset = moment.utcoffset()
    if (offset is None) is not (zone is None):
        return None
    if zone is not None:
        moment = moment.astimezone(UTC).astimezone(zone_of(zone))
    return moment.date().isoformat()
