"""Periods: ranges, lists, levels of them, and which period a date lies in."""

from datetime import date, datetime, timedelta
from itertools import pairwise

import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.schema.periods import around, kind_of

YEARS = gc.Periods.of("2023..2025")
DAYS = gc.Periods.of("2023-11-28..2024-03-02")


@pytest.mark.parametrize(
    ("source", "by", "count", "first_and_last"),
    [
        ("2026-01..2026-12", "month", 12, ("2026-01", "2026-12")),
        ("2025-11 .. 2026-02", "month", 4, ("2025-11", "2026-02")),
        ("2026-Q3..2027-Q2", "quarter", 4, ("2026-Q3", "2027-Q2")),
        ("2024-02-27..2024-03-02", "day", 5, ("2024-02-27", "2024-03-02")),
        ("2020..2023", "year", 4, ("2020", "2023")),
        ("2026-05", "month", 1, ("2026-05", "2026-05")),
        (["2026-01", "2026-03"], "month", 2, ("2026-01", "2026-03")),
        ([2020, 2021], "year", 2, ("2020", "2021")),
        ([date(2026, 1, 31), date(2026, 2, 1)], "day", 2, ("2026-01-31", "2026-02-01")),
        (["spring", "autumn"], "period", 2, ("spring", "autumn")),
        (["2026-01-01 08:00", "2026-01-01 09:00"], "period", 2, None),
        (DAYS, "day", 96, ("2023-11-28", "2024-03-02")),
    ],
)
def test_ranges_and_lists_are_periods_of_the_kind_of_their_labels(
    source, by, count, first_and_last
):
    periods = gc.Periods.of(source)
    assert (periods.by, len(periods.labels)) == (by, count)
    assert first_and_last is None or (periods.labels[0], periods.labels[-1]) == first_and_last
    assert periods == gc.Periods.of(list(periods.labels))
    assert hash(periods) == hash(gc.Periods(periods.labels))
    assert repr(periods).startswith(f"Periods({count} {by}: ")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "at least one period"),
        ("2026-02..2026-01", "ends before it begins"),
        ("2026-01..2026", "no range of periods"),
        ("month", "no range of periods"),
        ("spring..autumn", "no range of periods"),
        ("2026-13..2026-14", "there is no '2026-13'"),
        (["2025-02-29"], "there is no '2025-02-29'"),
        ("0001-01-01..2026-01-01", "at most 10,000 periods"),
        ([str(year) for year in range(10_001)], "at most 10,000 periods"),
        (["2026-02", "2026-01"], "in the order of time"),
        (["2026-01", "2026-01"], "occurs twice"),
        (["2026-01", "2026"], "not month and year in one list"),
        (["2026-01", "spring"], "not month and period in one list"),
        (["2026-01..2026-03"], "stands alone"),
        (["spring", " "], "text on one line"),
        (["spring", "late\nsummer"], "text on one line"),
        (["\u00c1", "A\u0301"], "two periods look alike"),
        (["spring", None], "periods are texts"),
        ([True], "periods are texts"),
        (5, "a range"),
    ],
)
def test_ranges_and_lists_that_are_no_periods_are_refused(source, message):
    with pytest.raises(ParameterError, match=message) as refused:
        gc.Periods.of(source)
    assert "\n" not in str(refused.value)


def labels_by_level(day: date) -> dict[str, str]:
    """Return the labels of the periods that a day lies in."""
    return {
        "day": f"{day:%Y-%m-%d}",
        "month": f"{day:%Y-%m}",
        "quarter": f"{day:%Y}-Q{(day.month - 1) // 3 + 1}",
        "year": f"{day:%Y}",
    }


@pytest.mark.parametrize(
    "by", ["day", "month", "quarter", "year", ("year", "month"), ("year", "quarter", "day")]
)
def test_levels_hold_the_days_of_a_calendar(by):
    days = [date(2023, 11, 28) + timedelta(number) for number in range(len(DAYS.labels))]
    names = [by] if isinstance(by, str) else list(by)
    tree = DAYS.tree(by)
    assert (tree.levels, tree.n) == (tuple(names), len(days))
    for name in names:
        labels_of_days = [labels_by_level(day)[name] for day in days]
        assert list(tree.labels(name)) == sorted(set(labels_of_days))
        assert tree.sizes(name).tolist() == [
            labels_of_days.count(label) for label in tree.labels(name)
        ]
    for above, name in pairwise(names):
        for code, label in enumerate(tree.labels(name)):
            day = next(day for day in days if labels_by_level(day)[name] == label)
            assert tree.labels(above)[tree.parents(name)[code]] == labels_by_level(day)[above]
    labels_of_days = [tree.labels()[code] for code in DAYS.codes(by)]
    assert labels_of_days == [labels_by_level(day)[names[-1]] for day in days]


@pytest.mark.parametrize("by", ["month", "week", "period", [], ["year", "year"]])
def test_levels_are_not_finer_than_the_periods(by):
    with pytest.raises(ParameterError):
        YEARS.tree(by)
    with pytest.raises(ParameterError, match="from the coarsest to the finest"):
        DAYS.tree(["month", "year"])


def test_periods_with_names_have_one_level():
    terms = gc.Periods.of(["spring", "autumn"])
    assert terms.tree("period") == terms.tree()
    with pytest.raises(ParameterError, match="the periods are names: tables of them are by 'per"):
        terms.tree("month")
    with pytest.raises(ParameterError, match="by 'year'; for others declare shorter periods, such"):
        gc.Periods.of("2026").tree("month")


def test_a_date_has_the_number_of_its_period_and_minus_one_without_one():
    months = gc.Periods.of("2026-01..2026-12")
    for value in ("2026-03-09", "2026-03-09T11:30:00", "2026-03", datetime(2026, 3, 9, 1)):
        assert months.number(value) == 2
    for value in (
        "2025-12",
        "2026",
        "2026-Q1",
        "2026-02-30",
        "March",
        "2026-03-09T11:30Z",
        None,
        2026.03,
    ):
        assert months.number(value) == -1
    quarters = gc.Periods.of("2026-Q1..2026-Q4")
    assert [quarters.number(f"2026-{month:02}-28") for month in range(1, 13)] == [
        (month - 1) // 3 for month in range(1, 13)
    ]
    terms = gc.Periods.of(["spring", "autumn"])
    assert [terms.number(name) for name in ("autumn", "spring", "winter")] == [1, 0, -1]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("2026", ("year", ["2026"])),
        ("2026-Q3", ("quarter", ["2026", "2026-Q3"])),
        ("2026-09", ("month", ["2026", "2026-Q3", "2026-09"])),
        ("2024-02-29", ("day", ["2024", "2024-Q1", "2024-02", "2024-02-29"])),
        ("2026-02-29", ("period", ["2026-02-29"])),  # there is no such day
        ("2026-13", ("period", ["2026-13"])),
        ("2026-01-17 08:30", ("period", ["2026-01-17 08:30"])),
        ("spring", ("period", ["spring"])),
        ("", ("period", [""])),
    ],
)
def test_what_a_label_names_and_the_periods_around_it(label, expected):
    assert (kind_of(label), list(around(label))) == expected


@pytest.mark.parametrize("text", ["2026-01-17 08", "2026-01-17 25:00", "2026-01-17T08:30+02:00"])
def test_text_behind_a_day_is_a_time_without_an_offset(text):
    assert not DAYS.is_one(text)


@pytest.mark.parametrize("text", ["2024-02..2024-04", "2023-Q4..2024-Q2", "2023..2024"])
def test_first_and_last_days_are_those_of_the_calendar(text):
    periods = gc.Periods.of(text)
    first_days, last_days = periods.days
    for number, (first, last) in enumerate(
        zip(first_days.tolist(), last_days.tolist(), strict=True)
    ):
        days = [date(1970, 1, 1) + timedelta(day) for day in (first - 1, first, last, last + 1)]
        numbers = [periods.number(day) for day in days]
        assert numbers[1:3] == [number, number]
        assert number not in (numbers[0], numbers[3])
    with pytest.raises(ParameterError, match="need periods of time"):
        _ = gc.Periods.of(["spring"]).days


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("spring,autumn", ["spring", "autumn"]),
        ("spring, late summer ,autumn", ["spring", "late summer", "autumn"]),
        ("2026-01,2026-02", ["2026-01", "2026-02"]),
        ("2026-01..2026-03,2026-06", ["2026-01", "2026-02", "2026-03", "2026-06"]),
        ("2024,2025..2026", ["2024", "2025", "2026"]),
        ("2026-Q1,2026-Q3..2026-Q4", ["2026-Q1", "2026-Q3", "2026-Q4"]),
    ],
)
def test_a_text_with_commas_is_a_list_of_periods_and_ranges(text, labels):
    assert gc.Periods.of(text) == gc.Periods.of(labels)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("spring,,autumn", "an empty name in the list of periods"),
        ("spring,autumn,", "an empty name in the list of periods"),
        (",", "an empty name in the list of periods"),
        ("spring,spring", "twice"),
        ("spring,2026-01", "not month and period in one list"),
        ("2026-02,2026-01", "in the order of time"),
        ("2026-01..2026-03,2026-02", "a period occurs twice"),
        ("2026-13,2026-14", "there is no '2026-13'"),
        ("spring,summer..autumn", "no range of periods: 'summer..autumn'"),
        (",".join(map(str, range(10_001))), "at most 10,000 periods"),
        ("0001..9999,2026..3000", "at most 10,000 periods"),
        ("spring", 'or list all labels, as "spring,autumn"'),
    ],
)
def test_a_text_that_is_no_list_of_periods_is_refused_on_one_line(text, problem):
    with pytest.raises(ParameterError, match=problem) as refused:
        gc.Periods.of(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("periods", "years"),
    [
        ("2026-01..2026-12", ("2026",)),
        ("2026-04..2026-12", ()),
        ("2025-12..2028-01", ("2026", "2027")),
        ("2026-Q1..2027-Q3", ("2026",)),
        ("2028-01-01..2028-12-31", ("2028",)),
        ("2028-01-02..2028-12-31", ()),
        ("2026-01-01..2026-12-31", ("2026",)),
        ("2026..2028", ()),
        ("spring,autumn", ()),
    ],
)
def test_years_are_whole_if_all_of_their_periods_are_declared(periods, years):
    assert gc.Periods.of(periods).whole_years == years
