"""Public periods of time: days, months, quarters, years, or names such as terms of a school.

Whoever releases a table declares its periods. They are never taken from private rows: which periods
have rows would reveal something about single ones. `Periods` holds the declared labels, and says
which period a date lies in.

The *kind* of a label is "day" (2026-01-17), "month" (2026-01), "quarter" (2026-Q1), "year" (2026),
or "period" for any other name. All labels of a `Periods` are of one kind, which is its property
`by`. Arguments called `by` name one or several kinds, those of the levels of a tree.

Coarser periods hold finer ones, as groups do: `Periods.tree` returns them as a `GroupTree`, which
holds names, sizes and parents of nested groups, with periods in the place of vertices. The *number*
of a period is its index among the declared labels, from 0; the *code* of a period of a level of the
tree is its index within that level.

A *moment* is a day with a time, such as "2026-01-17 08:30". It lies in a period, and is no label of
one. `Periods.number` finds the period of a text; timestamps of other kinds are compared with
`Periods.days`.
"""

import re
from calendar import isleap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.schema.group_tree import GroupTree
from graphcuts_dp.schema.typed_names import split_names
from graphcuts_dp.schema.vertices import VertexSet

DATES = ("year", "quarter", "month", "day")  # kinds of dates, from the coarsest to the finest
_NAMED = "period"  # the kind of names that are no dates
_PARTS_OF_YEAR = {"year": 1, "quarter": 4, "month": 12}
_LABEL_LENGTH = {"year": 4, "quarter": 7, "month": 7, "day": 10}  # characters of a label of a date
_MOST_PERIODS = 10_000  # of a table
_RANGE = ".."  # between the first and the last period of a range
_EPOCH = date(1970, 1, 1).toordinal()  # from which days are counted
# A time of a day, without a zone: 08:30, 08:30:15 or 08:30:15.25.
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?"
# A date, and a day with a time. Groups: year, quarter, month, day.
_DATE = re.compile(rf"(\d{{4}})(?:-Q([1-4])|-(\d\d)(?:-(\d\d)(?:[T ]{_TIME})?)?)?", re.ASCII)
# A text that was probably meant as a date, such as 2026-13.
_LIKE_DATE = re.compile(r"\d{4}-(Q\d|\d\d?)(-\d\d?)?", re.ASCII)


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
        labels = self.labels
        if not isinstance(labels, tuple) or not all(isinstance(label, str) for label in labels):
            raise ParameterError("periods are texts; make them with Periods.of")
        _check_count(len(labels))
        if not all(
            label.strip() and label.isprintable() and _RANGE not in label for label in labels
        ):
            raise ParameterError(
                'labels of periods are text on one line; a range, "2026-01..2026-12", stands alone'
            )
        kinds = {_checked_kind(label) for label in labels}
        if len(kinds) > 1:
            raise ParameterError(
                "periods are all days, all months, all quarters, all years, or all other names, "
                f"not {' and '.join(sorted(kinds))} in one list"
            )
        try:
            VertexSet(labels)  # names of periods keep the rules of other labels
        except GraphError as problem:
            text = str(problem).replace("vertex label", "period")
            raise ParameterError(f"periods: {text}") from None
        if kinds != {_NAMED} and any(earlier > later for earlier, later in pairwise(labels)):
            raise ParameterError("list the periods in the order of time")

    @classmethod
    def of(cls, periods: "Periods | str | Iterable[str | int | date]") -> Self:
        """Make periods from a text, or from a list of labels.

        Args:
            periods: a text or a list. A text is a single day, month, quarter or year, as "2026-01";
                a range of them, as "2026-01..2026-12", which includes both; or several of these
                between commas in the order of time, as "2026-01..2026-06,2026-09". Names are
                written between commas, at least two: "spring,autumn". The items of a list, for
                example ["spring"], are labels as they are; a `date` becomes its day, and a
                `datetime` a name and no day, since it has a time.

        Raises:
            ParameterError: as for `Periods`, or neither a range nor a list.
        """
        if isinstance(periods, Periods):
            return cls(periods.labels)
        if isinstance(periods, str):
            return cls(_labels_of_text(periods))
        if not isinstance(periods, Iterable):
            raise ParameterError('periods are a range, "2026-01..2026-12", or a list of labels')
        labels = list(periods)
        if not all(
            isinstance(label, str | int | date) and not isinstance(label, bool) for label in labels
        ):
            raise ParameterError('periods are texts, such as "2026-01" or "spring"')
        return cls(tuple(str(label) for label in labels))

    @cached_property
    def by(self) -> str:
        """The kind of the periods: "day", "month", "quarter", "year", or "period" for names."""
        return _checked_kind(self.labels[0])

    @property
    def whole_years(self) -> tuple[str, ...]:
        """The calendar years of which all days, months or quarters are here; none of years."""
        if self.by not in DATES[1:]:
            return ()
        counts = Counter(label[:4] for label in self.labels)
        parts = {year: _PARTS_OF_YEAR.get(self.by, 365 + isleap(int(year))) for year in counts}
        return tuple(year for year, number in counts.items() if number == parts[year])

    def tree(self, by: str | Iterable[str] | None = None) -> GroupTree:
        """Return the periods on one or several nested levels.

        Args:
            by: kind of each level, from the coarsest to the finest, such as "month" or
                ["year", "month"]; None for these periods themselves.

        Returns:
            A tree whose sizes count these periods.

        Raises:
            ParameterError: an unknown kind, levels finer than these periods, or in another order.
        """
        kinds = self._level_kinds(by)
        labels: dict[str, list[str]] = {}
        sizes: list[IntVector] = []
        parents: list[IntVector] = []
        # For each declared period, the code of the period of the level before that holds it. Before
        # the first level, that is a single one for all.
        coarser_codes = np.zeros(len(self.labels), dtype=np.int64)
        for kind in kinds:
            # Periods are in the order of time, so those within one coarser period are neighbours,
            # and codes never decrease. `codes` below relies on that.
            code_of: dict[str, int] = {}
            codes = np.array(
                [
                    code_of.setdefault(_coarser_label(label, kind), len(code_of))
                    for label in self.labels
                ]
            )
            level_parents = np.zeros(len(code_of), dtype=np.int64)
            level_parents[codes] = coarser_codes
            labels[kind] = list(code_of)
            sizes.append(np.bincount(codes))
            parents.append(level_parents)
            coarser_codes = codes
        return GroupTree(labels, sizes, parents)

    def codes(self, by: str | Iterable[str] | None = None) -> IntVector:
        """Return for each period its code in the finest level of `tree(by)`, shape (periods,).

        Args:
            by: one level or several, as of `tree`.

        Raises:
            ParameterError: as `tree`.
        """
        # Periods within one period of the level are neighbours: the first `sizes[0]` of them have
        # code 0, the next `sizes[1]` code 1, and so on.
        sizes = self.tree(by).sizes()
        return np.repeat(np.arange(len(sizes)), sizes)

    def number(self, value: Any) -> int:
        """Return the number of the period in which a date, a time or a label lies; -1 if none.

        Args:
            value: a text such as "2026-01-17 08:30", a `date`, a `datetime` without a time zone, or
                a label.
        """
        text = str(value)
        number = self._numbers.get(text)
        if number is None and self.by != _NAMED and _date_kind(text) is not None:
            number = self._numbers.get(_coarser_label(text, self.by))
        return -1 if number is None else number

    def is_one(self, value: Any) -> bool:
        """Return whether a value could lie in a period of this kind, declared or not.

        A value that could, and lies in no declared period, is no bad row: it is left out. Of days,
        months, quarters and years, a date is such a value if it is at least as fine: 2026-01-17
        lies in a month, 2026 in none. Any text that is not empty could be the name of a period.

        Args:
            value: as for `number`.
        """
        text = str(value)
        if self.by == _NAMED:
            return bool(text)
        kind = _date_kind(text)
        return kind is not None and DATES.index(kind) >= DATES.index(self.by)

    @cached_property
    def days(self) -> tuple[IntVector, IntVector]:
        """The first and the last day of each period, counted from 1970-01-01, shape (periods,).

        Raises:
            ParameterError: the periods have names, and no days.
        """
        if self.by == _NAMED:
            raise ParameterError(
                "dates and times need periods of time: pass periods= such as 2026-01..2026-12"
            )
        ordinals = [_ordinal(label, self.by) for label in self.labels]
        starts = [_first_day(ordinal, self.by) for ordinal in ordinals]
        next_starts = [_first_day(ordinal + 1, self.by) for ordinal in ordinals]
        return np.array(starts, dtype=np.int64), np.array(next_starts, dtype=np.int64) - 1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The number of each period by its label."""
        return {label: number for number, label in enumerate(self.labels)}

    def _level_kinds(self, by: str | Iterable[str] | None) -> list[str]:
        """Return the kinds of the levels of `tree`, checked."""
        if by is None:
            by = self.by
        kinds = [by] if isinstance(by, str) else list(by)
        possible_kinds = [_NAMED]
        if self.by != _NAMED:
            possible_kinds = list(DATES[: DATES.index(self.by) + 1])
        if not kinds or any(kind not in (*DATES, _NAMED) for kind in kinds):
            raise ParameterError(
                "tables are by 'day', 'month', 'quarter', 'year', or by 'period' for other names"
            )
        if not set(kinds) <= set(possible_kinds):
            plural = "names" if self.by == _NAMED else f"{self.by}s"
            raise ParameterError(
                f"the periods are {plural}: tables of them are by "
                + " or ".join(repr(kind) for kind in reversed(possible_kinds))
                + "; for others declare shorter periods, such as 2026-01..2026-12"
            )
        if kinds != [kind for kind in possible_kinds if kind in kinds]:
            raise ParameterError(
                "name each level of periods once, from the coarsest to the finest: "
                "by=['year', 'month']"
            )
        return kinds

    def __repr__(self) -> str:
        first, last = self.labels[0], self.labels[-1]
        shown = repr(first) if len(self.labels) == 1 else f"{first!r} to {last!r}"
        return f"Periods({len(self.labels)} {self.by}: {shown})"


def kind_of(label: str) -> str:
    """Return the kind of a label: "day", "month", "quarter", "year", or "period" for other texts.

    A day with a time is a moment and not the label of a day, so its kind is "period".
    """
    kind = _date_kind(label)
    has_time = "T" in label or " " in label  # no date has these characters without a time
    return _NAMED if kind is None or has_time else kind


def around(label: str) -> tuple[str, ...]:
    """Return the periods that hold a period, from its year to itself.

    A month has ("2026", "2026-Q1", "2026-01"), a year only itself, as has a name. There is one
    period of each coarser kind, so period a holds period b if and only if `around(b)` begins with
    `around(a)`.
    """
    kind = kind_of(label)
    coarser_kinds = () if kind == _NAMED else DATES[: DATES.index(kind)]
    return (*(_coarser_label(label, coarser_kind) for coarser_kind in coarser_kinds), label)


def _checked_kind(label: str) -> str:
    """Return the kind of a label, see `kind_of`.

    Raises:
        ParameterError: it looks like a date, and there is no such date.
    """
    if _date_kind(label) is None and _LIKE_DATE.fullmatch(label):
        raise ParameterError(
            f"there is no {label!r}: days are 2026-01-17, months 2026-01, quarters 2026-Q1"
        )
    return kind_of(label)


def _date_kind(text: str) -> str | None:
    """Return the kind of a date, or "day" for a day with a time; None for another text."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, quarter, month, day = match.groups()
    try:
        date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    if quarter:
        return "quarter"
    if day:
        return "day"
    return "month" if month else "year"


def _coarser_label(text: str, kind: str) -> str:
    """Return the label of the period of a kind that holds a date.

    The text comes back as it is in three cases: `kind` is "period"; it is no date; or it is a date
    coarser than `kind`, as the year 2026 for months. `Periods.number` then finds no declared label
    with this text, so such values lie in no period.
    """
    date_kind = _date_kind(text)
    if kind == _NAMED or date_kind is None or DATES.index(date_kind) < DATES.index(kind):
        return text
    if kind == "quarter" and date_kind != "quarter":
        month = int(text[5:7])
        return f"{text[:4]}-Q{(month + 2) // 3}"
    # Labels of years, months and days are the first characters of finer dates. This holds for the
    # year of a quarter, too, and for the day of a moment.
    return text[: _LABEL_LENGTH[kind]]


def _labels_of_text(text: str) -> tuple[str, ...]:
    """Return the labels of the periods in a text: a range, or a list of labels and ranges."""
    parts = split_names(text)
    if len(parts) == 1:
        return _labels_of_range(text)
    _check_count(len(parts))
    labels: list[str] = []
    for part in parts:
        if not part:
            raise ParameterError("an empty name in the list of periods; write single commas")
        labels += _labels_of_range(part) if _RANGE in part else [part]
        _check_count(len(labels))
    return tuple(labels)


def _labels_of_range(text: str) -> tuple[str, ...]:
    """Return the labels of a range such as "2026-01..2026-12", or of a single date.

    Raises:
        ParameterError: no range, such as a single name, or one that ends before it begins.
    """
    first, dots, last = (part.strip() for part in text.partition(_RANGE))
    if not dots:  # a single date is the range from itself to itself
        last = first
    kinds = {_checked_kind(first), _checked_kind(last)}
    if len(kinds) > 1 or kinds == {_NAMED}:
        raise ParameterError(
            f"no range of periods: {text!r:.60}; write two days, months, quarters or years, as "
            '"2026-01..2026-12", or list all labels, as "spring,autumn"'
        )
    (kind,) = kinds
    start, stop = _ordinal(first, kind), _ordinal(last, kind)
    if stop < start:
        raise ParameterError("the range of periods ends before it begins")
    _check_count(stop - start + 1)
    return tuple(_label_of(ordinal, kind) for ordinal in range(start, stop + 1))


def _check_count(count: int) -> None:
    if not count:
        raise ParameterError('name at least one period, for example "2026-01..2026-12"')
    if count > _MOST_PERIODS:
        raise ParameterError(f"a table has at most {_MOST_PERIODS:,} periods; take coarser ones")


def _ordinal(label: str, kind: str) -> int:
    """Return the *ordinal* of a period: its number among all periods of its kind in time.

    Days are counted as `date.toordinal` counts them, from 1 for the first of January of the year 1.
    Years, quarters and months are counted from the year 0: year · parts + part, where `parts` is
    the number of such periods in a year, and `part` is the number of this one in its year, from 0.
    """
    if kind == "day":
        return date.fromisoformat(label).toordinal()
    year, part = int(label[:4]), label[5:].removeprefix("Q")
    return year * _PARTS_OF_YEAR[kind] + (int(part) - 1 if part else 0)


def _first_day(ordinal: int, kind: str) -> int:
    """Return the first day of a period by its ordinal, counted from 1970-01-01."""
    if kind == "day":
        return ordinal - _EPOCH
    parts = _PARTS_OF_YEAR[kind]
    year, part = divmod(ordinal, parts)
    if year > date.max.year:
        # `Periods.days` asks for the period after the last one, to get its last day. After
        # 9999-12-31, the last day that Python has, there is no `date`, but a number of a day.
        return date.max.toordinal() + 1 - _EPOCH
    month = 1 + part * (12 // parts)
    return date(year, month, 1).toordinal() - _EPOCH


def _label_of(ordinal: int, kind: str) -> str:
    """Return the label of a period by its ordinal; the inverse of `_ordinal`."""
    if kind == "day":
        return (date.min + timedelta(ordinal - 1)).isoformat()
    year, part = divmod(ordinal, _PARTS_OF_YEAR[kind])
    if kind == "year":
        return f"{year:04}"
    return f"{year:04}-Q{part + 1}" if kind == "quarter" else f"{year:04}-{part + 1:02}"
