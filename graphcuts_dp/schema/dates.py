"""Dates that are written as text, one value at a time: which date one names, if any.

Text without an offset from UTC is used as it is written. Text with one names an instant, whose date
depends on a zone: it is read where a time zone was given, and only there.
"""

import re
from datetime import UTC, date, datetime

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.schema.time_zones import zone_of

_SIGNS = "dmYyHMSfz%"  # the others depend on the language or the zone of the machine
_OFFSET = r"(?:[Zz]|[+-]\d\d(?::?\d\d)?)"
_ISO_INSTANT = re.compile(
    rf"\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?{_OFFSET}", re.ASCII
)


def check_date_format(form: str, *, zoned: bool) -> None:
    """Check how dates are written, such as "%d.%m.%Y %H:%M".

    Args:
        form: likewise.
        zoned: whether a time zone was given, for text that names an offset from UTC (%z).

    Raises:
        ParameterError: a sign that depends on the machine, no day, or an offset without a zone.
    """
    signs = re.findall("%(.?)", form.replace("%%", ""))
    if any(sign not in _SIGNS or not sign for sign in signs):
        raise ParameterError("date_format= has the signs %d %m %Y %y %H %M %S %f %z alone")
    if sorted(set(signs) & {"d", "m", "Y", "y"}) not in (["Y", "d", "m"], ["d", "m", "y"]):
        raise ParameterError("date_format= needs a day, a month and a year, such as %d.%m.%Y")
    if ("z" in signs) is not zoned:
        raise ParameterError(
            "date_format= with an offset (%z) and time_zone= belong together: pass both or neither"
        )


def dated_text(text: str, form: str | None, zone: str | None) -> str | None:
    """Return the date that a text names, such as "2026-01-31", or None if it names none.

    The result depends on this text and public options alone.

    Args:
        text: of one value.
        form: how dates are written; None for ISO 8601.
        zone: the time zone in which an instant has its date; None where text names no instants.
    """
    if form is None and zone is None:
        return text  # which `Periods` reads
    try:
        if form is not None:
            moment = datetime.strptime(text, form)  # noqa: DTZ007, RUF100  # zones are checked
        elif _ISO_INSTANT.fullmatch(text):
            moment = datetime.fromisoformat(text.upper().replace(",", "."))
        else:
            return None
        return day_of(moment, zone)
    except (ValueError, OverflowError):
        return None


def day_of(moment: date, zone: str | None) -> str | None:
    """Return the date of a date or time of Python, or None if it is of the other kind.

    Args:
        moment: a `date`, or a `datetime` with an offset if and only if there is a zone.
        zone: as for `dated_text`.
    """
    if not isinstance(moment, datetime):
        return None if zone is not None else moment.isoformat()
    offset = moment.utcoffset()
    if (offset is None) is not (zone is None):
        return None
    if zone is not None:
        moment = moment.astimezone(UTC).astimezone(zone_of(zone))
    return moment.date().isoformat()
