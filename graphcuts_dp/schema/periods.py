"""Public periods of time: days, months, quarters, years, or names such as terms of a school.

Periods are declared by whoever releases a table, and never looked for in private rows: which
periods have rows would tell of single ones. Coarser periods hold finer ones, as groups do.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Self, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.schema.group_tree import GroupTree
from graphcuts_dp.schema.vertices import VertexSet

DATES = ("year", "quarter", "month", "day")  # from the coarsest to the finest
_OTHER = "period"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?"  # of a day, without a zone
_FORM = re.compile(rf"(\d{{4}})(?:-Q([1-4])|-(\d\d)(?:-(\d\d)(?:[T ]{_TIME})?)?)?", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()
_MOST = 10_000
_RANGE = ".."


@final
@dataclass(frozen=True)
class Periods:
    """Public periods in their order, for tables with one part for each of them.

    Args:
        labels: one a period: all days ("2026-01-17"), all months ("2026-01"), all quarters
            ("2026-Q1"), all years ("2026"), in the order of time, or any other names; at most
            10,000, each once.

    Raises:
        ParameterError: no label, too many, one twice or of another kind, no such day or month, or
            dates that are not in the order of time.

    Examples:
        >>> gc.Periods.of("2026-01..2026-12").tree(["quarter", "month"])
        GroupTree(n=12; 4 quarter, 12 month)
    """

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.labels, tuple) or not all(isinstance(x, str) for x in self.labels):
            raise ParameterError("periods are texts; make them with Periods.of")
        _check_count(len(self.labels))
        if not all(x.strip() and x.isprintable() and _RANGE not in x for x in self.labels):
            raise ParameterError(
                'labels of periods are text on one line; a range, "2026-01..2026-12", stands alone'
            )
        kinds = {_kind(label) for label in self.labels}
        if len(kinds) > 1:
            raise ParameterError(
                "periods are all days, all months, all quarters, all years, or all other names, "
                f"not {' and '.join(sorted(kinds))} in one list"
            )
        try:
            VertexSet(self.labels)  # names of periods keep the rules of other labels
        except GraphError as problem:
            text = str(problem).replace("vertex label", "period")
            raise ParameterError(f"periods: {text}") from None
        if kinds != {_OTHER} and any(a > b for a, b in pairwise(self.labels)):
            raise ParameterError("list the periods in the order of time")

    @classmethod
    def of(cls, periods: "Periods | str | Iterable[str | int | date]") -> Self:
        """Make periods from a text, or from a list of labels.

        Args:
            periods: a range of days, months, quarters or years, such as "2026-01..2026-12" with
                both ends; a single one of them; all periods in their order in one text, between
                commas, where each may be such a range: "spring,autumn", "2026-01..2026-06,2026-09";
                or a list, for example ["spring", "autumn"], whose labels stay as they are.

        Raises:
            ParameterError: as for `Periods`, or neither a range nor a list.
        """
        if isinstance(periods, Periods):
            return cls(periods.labels)
        if isinstance(periods, str):
            return cls(_listed(periods))
        if not isinstance(periods, Iterable):
            raise ParameterError('periods are a range, "2026-01..2026-12", or a list of labels')
        labels = list(periods)
        if not all(isinstance(x, str | int | date) and not isinstance(x, bool) for x in labels):
            raise ParameterError('periods are texts, such as "2026-01" or "spring"')
        return cls(tuple(str(label) for label in labels))

    @cached_property
    def by(self) -> str:
        """What they are: "day", "month", "quarter", "year", or "period" for other names."""
        return _kind(self.labels[0])

    def tree(self, by: str | Iterable[str] | None = None) -> GroupTree:
        """The periods of a table on one or several nested levels, sizes counted in these periods.

        Args:
            by: name of each level, from the coarsest to the finest, such as "month" or
                ["year", "month"]; None for these periods themselves.

        Raises:
            ParameterError: an unknown name, levels finer than these periods, or in another order.
        """
        names = self._levels(by)
        of_each = [[_within(label, name) for label in self.labels] for name in names]
        labels = {name: list(dict.fromkeys(own)) for name, own in zip(names, of_each, strict=True)}
        sizes = [np.array([len(list(part)) for _, part in groupby(own)]) for own in of_each]
        parents = [np.zeros(len(sizes[0]), dtype=np.int64)]
        for above, own in pairwise(of_each):
            number = {label: code for code, label in enumerate(dict.fromkeys(above))}
            parent = dict(zip(own, above, strict=True))
            parents.append(np.array([number[above] for above in parent.values()]))
        return GroupTree(labels, sizes, parents)

    def codes(self, by: str | Iterable[str] | None = None) -> IntVector:
        """The code in the finest level of `tree(by)` that holds each period, shape (periods,).

        Raises:
            ParameterError: as `tree`.
        """
        sizes = self.tree(by).sizes()
        return np.repeat(np.arange(len(sizes)), sizes)

    def number(self, value: Any) -> int:
        """The number of the period that a date, a time or a label lies in; -1 for none of them.

        Args:
            value: a text such as "2026-01-17 08:30", a `date` or `datetime`, or a label.
        """
        text = str(value)
        found = self._numbers.get(text)
        if found is None and self.by != _OTHER and _kind_of(text) is not None:
            found = self._numbers.get(_within(text, self.by))
        return -1 if found is None else found

    def is_one(self, value: Any) -> bool:
        """Whether a date, a time or a label lies in a period of this kind, declared or not.

        Of days, months, quarters and years each date does; of other names every text does.
        """
        found = _kind_of(str(value))
        if self.by == _OTHER:
            return bool(str(value))
        return found is not None and DATES.index(found) >= DATES.index(self.by)

    @cached_property
    def days(self) -> tuple[IntVector, IntVector]:
        """The first and the last day of each period, counted from 1970-01-01, shape (periods,).

        Raises:
            ParameterError: the periods have names, and no days.
        """
        if self.by == _OTHER:
            raise ParameterError(
                "dates and times need periods of time: pass periods= such as 2026-01..2026-12"
            )
        ordinals = [_ordinal(label, self.by) for label in self.labels]
        starts = [_first_day(number, self.by) for number in ordinals]
        following = [_first_day(number + 1, self.by) for number in ordinals]
        return np.array(starts, dtype=np.int64), np.array(following, dtype=np.int64) - 1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    def _levels(self, by: str | Iterable[str] | None) -> list[str]:
        names = [self.by] if by is None else [by] if isinstance(by, str) else list(by)
        known = [_OTHER] if self.by == _OTHER else list(DATES[: DATES.index(self.by) + 1])
        if not names or any(name not in (*DATES, _OTHER) for name in names):
            raise ParameterError(
                "tables are by 'day', 'month', 'quarter', 'year', or by 'period' for other names"
            )
        if not set(names) <= set(known):
            raise ParameterError(
                f"the periods are {_named(self.by)}: tables of them are by "
                + " or ".join(repr(name) for name in reversed(known))
                + "; for others declare shorter periods, such as 2026-01..2026-12"
            )
        if names != [name for name in known if name in names]:
            raise ParameterError(
                "name each level of periods once, from the coarsest to the finest: "
                "by=['year', 'month']"
            )
        return names

    def __repr__(self) -> str:
        ends = self.labels[:: max(1, len(self.labels) - 1)]
        return f"Periods({len(self.labels)} {self.by}: {' to '.join(map(repr, ends))})"


def _named(kind: str) -> str:
    return "names" if kind == _OTHER else f"{kind}s"


def _check_count(count: int) -> None:
    if not count:
        raise ParameterError('name at least one period, for example "2026-01..2026-12"')
    if count > _MOST:
        raise ParameterError(f"a table has at most {_MOST:,} periods; take coarser ones")


def _kind(label: str) -> str:
    """What a label names.

    Raises:
        ParameterError: it looks like a date, and there is none.
    """
    if _kind_of(label) is None and re.fullmatch(r"\d{4}-(Q\d|\d\d?)(-\d\d?)?", label, re.ASCII):
        raise ParameterError(
            f"there is no {label!r}: days are 2026-01-17, months 2026-01, quarters 2026-Q1"
        )
    return kind_of(label)


def kind_of(label: str) -> str:
    """What a label names: "day", "month", "quarter" or "year"; "period" for any other text."""
    found = _kind_of(label)
    return found if found is not None and "T" not in label and " " not in label else _OTHER


def around(label: str) -> tuple[str, ...]:
    """The year, quarter and month that hold a label, as far as it has them, and itself, the last.

    Of two periods, one holds the other where its own are the beginning of the other's.
    """
    kind = kind_of(label)
    coarser = () if kind == _OTHER else DATES[: DATES.index(kind)]
    return (*(_within(label, each) for each in coarser), label)


def _kind_of(text: str) -> str | None:
    """Of a date, or a day with a time after it, what it names; None for another text."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    year, quarter, month, day = found.groups()
    try:
        date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    return "quarter" if quarter else "day" if day else "month" if month else "year"


def _within(text: str, kind: str) -> str:
    """The label of the period of a kind that holds a date; the text itself if it holds more."""
    own = _kind_of(text)
    if kind == _OTHER or own is None or DATES.index(own) < DATES.index(kind):
        return text
    if kind == "quarter" and own != "quarter":
        return f"{text[:4]}-Q{(int(text[5:7]) + 2) // 3}"
    return text[: {"year": 4, "quarter": 7, "month": 7, "day": 10}[kind]]


def _listed(text: str) -> tuple[str, ...]:
    """Return the periods of a text: a range, or a list between commas of labels and ranges."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1:
        return _range(text)
    _check_count(len(parts))
    labels: list[str] = []
    for part in parts:
        if not part:
            raise ParameterError("an empty name in the list of periods; write single commas")
        labels += _range(part) if _RANGE in part else [part]
        _check_count(len(labels))
    return tuple(labels)


def _range(text: str) -> tuple[str, ...]:
    """The periods from one to another, both with it."""
    first, dots, last = (part.strip() for part in text.partition(_RANGE))
    last = last if dots else first
    kinds = {_kind(first), _kind(last)}
    if len(kinds) > 1 or kinds == {_OTHER}:
        raise ParameterError(
            f"no range of periods: {text!r:.60}; write two days, months, quarters or years, as "
            '"2026-01..2026-12", or list all labels, as "spring,autumn"'
        )
    (kind,) = kinds
    begin, end = _ordinal(first, kind), _ordinal(last, kind)
    if end < begin:
        raise ParameterError("the range of periods ends before it begins")
    _check_count(end - begin + 1)
    return tuple(_label(number, kind) for number in range(begin, end + 1))


def _ordinal(label: str, kind: str) -> int:
    if kind == "day":
        return date.fromisoformat(label).toordinal()
    parts = {"year": 1, "quarter": 4, "month": 12}[kind]
    return int(label[:4]) * parts + (int(label[5:].removeprefix("Q")) - 1 if label[5:] else 0)


def _first_day(number: int, kind: str) -> int:
    """The first day of a period by its number in time, counted from 1970-01-01."""
    if kind == "day":
        return number - _EPOCH
    year, part = divmod(number, {"year": 1, "quarter": 4, "month": 12}[kind])
    month = 1 + part * (3 if kind == "quarter" else 1)
    if year > date.max.year:  # the day after the last one that Python knows
        return date.max.toordinal() + 1 - _EPOCH
    return date(year, month, 1).toordinal() - _EPOCH


def _label(number: int, kind: str) -> str:
    if kind == "day":
        return (date.min + timedelta(number - 1)).isoformat()
    if kind == "year":
        return f"{number:04}"
    year, part = divmod(number, 4 if kind == "quarter" else 12)
    return f"{year:04}-Q{part + 1}" if kind == "quarter" else f"{year:04}-{part + 1:02}"
