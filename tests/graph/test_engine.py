"""Cells of rows in any engine, beside plain Python, and what one owner changes."""

import datetime
import hashlib
import itertools
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import floor, isfinite

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphcuts_dp.graph.engine_tables import Engine, Shape, check_rows

from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError
from graphcuts_dp.estimate.measurement import STEPS
from graphcuts_dp.graph import engine as under_test
from graphcuts_dp.graph import engine_tables
from graphcuts_dp.graph.engine import (
    Cells,
    cells,
    clipped_cells,
    contributions,
    kept_cells,
    scaled_cells,
)

ZONES = ("b", "a", "d", "c")
MONTHS = ("2026-01", "2026-02", "2026-03")
COLUMNS = ("who", "from", "to", "when", "paid")


DATABASE = duckdb.connect(config={"threads": 2})  # one for all tests: to make one takes 17 ms


def relation(columns):
    connection = DATABASE.cursor()
    rows = columns if isinstance(columns, pa.Table) else pa.table(columns)  # noqa: F841  # by name
    return connection.sql("select * from rows")


ENGINES = {
    "duckdb": relation,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "lazy": lambda columns: pl.LazyFrame(columns, strict=False),
    "pandas": pd.DataFrame,
    "arrow": pa.table,
    "raw": lambda columns: pl.LazyFrame(columns, strict=False),
}


@pytest.fixture(autouse=True)
def raw_labels(request, monkeypatch):
    """For "raw": as with PySpark, ends are compared with lists, and numbered when collected."""
    case = getattr(request.node, "callspec", None)
    if case is not None and case.params.get("engine") == "raw":
        monkeypatch.setattr(engine_tables, "_JOINING", ())


def random_rows(rng, count, *, zones=ZONES, owners=6):
    """Rows as tuples in the order of COLUMNS."""
    day = datetime.date(2026, 1, 1)
    return [
        (
            f"p{rng.integers(owners)}",
            zones[rng.integers(len(zones))],
            zones[rng.integers(len(zones))],
            str(day + datetime.timedelta(days=int(rng.integers(100)))),
            round(rng.exponential(3), 3),
        )
        for _ in range(count)
    ]


def columns_of(rows):
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def shape_of(counting="rows", **options):
    given = {
        "counting": counting,
        "unordered": False,
        "loops": True,
        "source": "from",
        "target": "to",
        "owner": "who",
        "labels": (ZONES, ZONES),
    }
    if counting == "weight":
        given["weight"] = "paid"
    if options.get("periods"):
        given |= {"period": "when", "by": "month"}
    return Shape(**given | options)


SHAPES = {
    "one table": {},
    "unordered": {"unordered": True},
    "no loops": {"loops": False},
    "unordered, no loops": {"unordered": True, "loops": False},
    "months": {"periods": MONTHS},
    "months, unordered": {"periods": MONTHS[:2], "unordered": True, "loops": False},
    "quarters": {"periods": ("2026-Q2", "2026-Q1"), "by": "quarter"},
    "two sides": {"labels": (ZONES, tuple("eabcd")), "loops": False},
}
# What engines could see in different ways is tried with each of them.
HARD = ("unordered, no loops", "months, unordered", "quarters", "two sides")
FIELDS = ("first", "second", "period", "steps")
COUNTINGS = ("edges", "owners", "rows", "weight")


def tried(countings):
    """Counting, engine and shape: all of duckdb, which joins places by SQL, and of engines that
    know no places. Others join them in one way: all pairs of two of the three, for hard shapes."""
    names = [*HARD, *(name for name in SHAPES if name not in HARD)]
    found = list(itertools.product(countings, ("duckdb", "raw"), names))
    for turn, engine in enumerate(("polars", "lazy", "pandas", "arrow")):
        for place, name in enumerate(names if engine == "polars" else HARD):
            found.append((countings[(turn + place - 1) % len(countings)], engine, name))
    return found


# Plain Python: what each owner has in each cell.


def period_of(text, by):
    year, month = text[:4], int(text[5:7])
    return {
        "day": text[:10],
        "month": text[:7],
        "quarter": f"{year}-Q{(month + 2) // 3}",
        "year": year,
    }[by]


def steps_of(weight, shape, most):
    return floor(min(weight / shape.unit, most) * STEPS + 0.5)


def plain_parts(rows, shape, most=2**41):
    """{owner: {(period, first, second): rows, one, or steps}}."""
    found = defaultdict(Counter)
    left, right = (list(map(str, side)) for side in shape.labels)
    for who, source, target, when, paid in rows:
        if who is None or str(source) not in left or str(target) not in right:
            continue
        if shape.counting == "weight" and not (isfinite(paid) and paid >= 0):
            continue
        period = 0
        if shape.periods:
            label = period_of(when, shape.by)
            if label not in shape.periods:
                continue
            period = shape.periods.index(label)
        first, second = left.index(str(source)), right.index(str(target))
        if shape.one_set:
            if first == second and not shape.loops:
                continue
            if shape.unordered:
                first, second = min(first, second), max(first, second)
        amount = steps_of(paid, shape, most) if shape.counting == "weight" else 1
        found[who][period, first, second] += amount
        if shape.counting in ("edges", "owners"):
            found[who][period, first, second] = 1
    return found


def plain_cells(rows, shape, most=2**41):
    total = Counter()
    for own in plain_parts(rows, shape, most).values():
        total.update(own)
    unit = 1 if shape.counting == "weight" else STEPS
    if shape.counting == "edges":
        return dict.fromkeys(total, STEPS)
    return {cell: amount * unit for cell, amount in total.items() if amount}


def plain_scaled(rows, shape, at_most, whole=1):
    total = Counter()
    unit = 1 if shape.counting == "weight" else STEPS
    for own in plain_parts(rows, shape, at_most).values():
        every = sum(own.values()) * unit
        for cell, amount in own.items():
            share = Fraction(at_most * STEPS, max(every, at_most * STEPS))
            had = amount * unit
            if share < 1:
                had = min(had, 2**61 // (at_most * STEPS))
            total[cell] += floor(share * had) // whole * whole
    return {cell: amount for cell, amount in total.items() if amount}


def as_dict(found):
    keys = zip(found.period.tolist(), found.first.tolist(), found.second.tolist(), strict=True)
    cells_of = dict(zip(keys, found.steps.tolist(), strict=True))
    assert len(cells_of) == len(found.steps)
    assert list(cells_of) == sorted(cells_of)
    assert {each.dtype for each in vars(found).values()} == {np.dtype(np.int64)}
    return cells_of


@pytest.mark.parametrize(("counting", "engine", "name"), tried(COUNTINGS))
def test_cells_are_those_of_plain_python(counting, name, engine):
    rows = random_rows(np.random.default_rng(5), 60)
    shape = shape_of(counting, **SHAPES[name])
    table = ENGINES[engine](columns_of(rows))
    check_rows(table, shape)
    assert as_dict(cells(table, shape)) == plain_cells(rows, shape)


@pytest.mark.parametrize(("counting", "engine", "name"), tried(COUNTINGS[1:]))
def test_scaled_cells_are_those_of_plain_python(counting, name, engine):
    rows = random_rows(np.random.default_rng(6), 60)
    shape = shape_of(counting, **SHAPES[name])
    table = ENGINES[engine](columns_of(rows))
    for at_most in (1, 9):
        found = as_dict(scaled_cells(table, shape, at_most=at_most))
        assert found == plain_scaled(rows, shape, at_most)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("counting", COUNTINGS)
def test_contributions_are_those_of_plain_python(counting, engine):
    rows = random_rows(np.random.default_rng(7), 60)
    shape = shape_of(counting, **SHAPES["months, unordered"])
    parts = plain_parts(rows, shape).values()
    totals = (sum(own.values()) for own in parts)
    unit = STEPS if counting == "weight" else 1
    expected = sorted(-(-total // unit) for total in totals if total)
    found = contributions(ENGINES[engine](columns_of(rows)), shape)
    assert sorted(found.tolist()) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("at_most", [1, 2])
def test_clipped_cells_are_those_of_plain_python(at_most, engine):
    rows = random_rows(np.random.default_rng(8), 60)
    shape = shape_of("weight", owner=None, unit=0.7, **SHAPES["months"])
    found = clipped_cells(ENGINES[engine](columns_of(rows)), shape, at_most=at_most)
    assert as_dict(found) == plain_cells(rows, shape, at_most)


def plain_kept(rows, shape, at_most):
    """What an owner keeps is some of what they have, `at_most` in all where they have more."""
    return {
        who: (own, min(sum(own.values()), at_most)) for who, own in plain_parts(rows, shape).items()
    }


@pytest.mark.parametrize(
    ("counting", "name"),
    [
        *(("edges", "months, unordered"), ("owners", "quarters"), ("rows", "two sides")),
        *(("rows", "months, unordered"), ("edges", "two sides")),
    ],
)
def test_kept_cells_are_some_of_each_owner(counting, name):
    rows = random_rows(np.random.default_rng(9), 40, owners=3)
    shape = shape_of(counting, **SHAPES[name])
    everything = plain_cells(rows, shape)
    for at_most in (1, 4):
        union = Counter()
        for who, (own, count) in plain_kept(rows, shape, at_most).items():
            mine = [row for row in rows if row[0] == who]
            alone = as_dict(kept_cells(relation(columns_of(mine)), shape, at_most=at_most))
            assert sum(alone.values()) == count * STEPS
            assert all(alone[cell] <= own[cell] * STEPS for cell in alone)
            union.update(alone)
        found = as_dict(kept_cells(relation(columns_of(rows)), shape, at_most=at_most))
        if counting == "edges":
            union = dict.fromkeys(union, STEPS)
        assert found == union  # each owner keeps the same beside the others
    table = relation(columns_of(rows))
    assert as_dict(kept_cells(table, shape, at_most=1000)) == everything


def test_which_rows_are_kept_differs_between_owners():
    """All owners have all pairs: each pair is kept by as many owners, but for chance."""
    owners, at_most = 500, 10
    pairs = [(a, b) for a in range(9) for b in range(9)]
    who, (source, target) = np.repeat(np.arange(owners), 81), np.tile(np.array(pairs).T, owners)
    table = relation({"who": who, "from": source, "to": target})
    shape = shape_of("owners", labels=(range(9), range(9)))
    found = kept_cells(table, shape, at_most=at_most).steps / STEPS
    share = at_most / 81
    assert found.sum() == owners * at_most
    assert len(found) == 81
    # A count has variance owners * share * (1 - share); 81 of them with one sum, 80 degrees.
    spread = np.sum((found - owners * share) ** 2) / (owners * share * (1 - share) * 81 / 80)
    assert 37 < spread < 146  # of chi-squared with 80 degrees, but for 10^-5 on either side


# What one owner changes.

TABLES = 2_000
TOGETHER = 400  # random tables side by side in one: neither a vertex nor an owner is in two
BATCHES = {"months": 1, "months, unordered": 2, "quarters": 4, "one table": 3, "no loops": 5}


@cache
def tables_side_by_side(seed):
    """Rows of many small tables, the same without one owner of each, and the labels."""
    rng, before, after, labels = np.random.default_rng(seed), [], [], []
    for table in range(TOGETHER):
        rows = random_rows(rng, int(rng.integers(1, 30)), owners=int(rng.integers(1, 4)))
        labels += [f"{zone}{table}" for zone in ZONES]
        for row in rows:
            own = (f"{row[0]}-{table}", f"{row[1]}{table}", f"{row[2]}{table}", *row[3:])
            before.append(own)
            if row[0] != rows[0][0]:
                after.append(own)
    order = rng.permutation(len(before))
    return tuple(before[place] for place in order), tuple(after), tuple(labels)


def changes(before, after):
    """What differs in each of the tables, all cells of all periods together, in steps."""
    found = [0] * TOGETHER
    for cell in {*before, *after}:
        found[cell[1] // len(ZONES)] += abs(before.get(cell, 0) - after.get(cell, 0))
    return found


def largest_changes(bounded, counting, batches=BATCHES):
    """The most that removing an owner changes, over the bound, of each of the tables."""
    found = []
    for seed, (name, at_most) in enumerate(batches.items()):
        before, after, labels = tables_side_by_side(seed)
        shape = shape_of(counting, **SHAPES[name] | {"labels": (labels, labels)})
        tables = (as_dict(bounded(rows, shape, at_most)) for rows in (before, after))
        found += [change / (at_most * STEPS) for change in changes(*tables)]
    assert len(found) == TABLES or batches is not BATCHES
    return found


def by_scaling(engine):
    def bounded(rows, shape, at_most):
        return scaled_cells(ENGINES[engine](columns_of(rows)), shape, at_most=at_most)

    return bounded


def by_keeping(rows, shape, at_most):
    return kept_cells(relation(columns_of(rows)), shape, at_most=at_most)


def by_keeping_in_each_period(rows, shape, at_most):
    """A broken twin: the bound holds within a period, and is promised over all of them."""
    found = []
    for place, label in enumerate(shape.periods or ()):
        own = by_keeping(rows, replace(shape, periods=(label,)), at_most)
        found.append(replace(own, period=own.period + place))
    if not found:
        return by_keeping(rows, shape, at_most)
    return Cells(*(np.concatenate([getattr(own, each) for own in found]) for each in FIELDS))


@pytest.mark.parametrize(
    ("counting", "engine"),
    [
        *(("owners", "duckdb"), ("rows", "duckdb"), ("weight", "duckdb"), ("weight", "polars")),
        *(("owners", "lazy"), ("rows", "pandas"), ("weight", "arrow"), ("weight", "raw")),
    ],
)
def test_one_owner_changes_all_scaled_cells_together_by_at_most_the_bound(counting, engine):
    found = largest_changes(by_scaling(engine), counting)
    assert 0.99 < max(found) <= 1


@pytest.mark.parametrize("counting", COUNTINGS[:3])
def test_one_owner_changes_all_kept_cells_together_by_at_most_the_bound(counting):
    found = largest_changes(by_keeping, counting)
    assert max(found) == 1


def test_a_bound_within_each_period_is_seen():
    assert max(largest_changes(by_keeping_in_each_period, "rows", {"months": 1})) > 2


FAULTS = {  # as of an engine whose windows or joins are wrong
    "no owner is above": ("_MERGED", "> {bound}", "> {bound} + 1000"),
    "a join misses rows": (
        "_MERGED",
        "left join above on {same}",
        "left join above on {same} and cell > 3",
    ),
    "a window starts anew": ("_KEPT", "unbounded preceding", "2 preceding"),
    "a total is too small": ("_SCALED", "// total", "// (total - 1)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_owner_above_the_bound_is_refused(fault, monkeypatch):
    name, good, wrong = FAULTS[fault]
    query = getattr(under_test, name)
    assert good in query
    monkeypatch.setattr(under_test, name, query.replace(good, wrong))
    rows = random_rows(np.random.default_rng(1), 100)
    bounded = kept_cells if name == "_KEPT" else scaled_cells
    with pytest.raises(GraphError, match="above the bound"):
        bounded(relation(columns_of(rows)), shape_of("rows"), at_most=3)


@pytest.mark.parametrize("engine", ["polars", "lazy", "pandas", "arrow", "raw"])
def test_an_owner_above_the_bound_is_refused_of_any_engine(engine, monkeypatch):
    def wrong(parts, reading, at_most):
        return split(parts, reading, at_most + 1000)

    split = under_test._split
    monkeypatch.setattr(under_test, "_split", wrong)
    table = ENGINES[engine](columns_of(random_rows(np.random.default_rng(1), 60)))
    with pytest.raises(GraphError, match="above the bound"):
        scaled_cells(table, shape_of("rows"), at_most=3)


# Rows that cannot be used.

GOOD = ("p1", "a", "b", "2026-01-05", 1.0)
BAD = {
    "an end is missing": ("p1", None, "b", "2026-01-05", 1.0),
    "the owner is missing": (None, "a", "b", "2026-01-05", 1.0),
    "the period is missing": ("p1", "a", "b", None, 1.0),
    "the period is no date": ("p1", "a", "b", "May", 1.0),
    "no vertex": ("p1", "a", "secret", "2026-01-05", 1.0),
    "the weight is missing": ("p1", "a", "b", "2026-01-05", None),
    "negative or not finite": ("p1", "a", "b", "2026-01-05", -1.0),
    "not finite": ("p1", "a", "b", "2026-01-05", float("inf")),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_row_is_refused_or_left_out(kind, engine):
    rows = [GOOD] * 3 + [BAD[kind], ("p2", "c", "a", "2026-02-01", 2.5)]
    shape = shape_of("weight", periods=MONTHS)
    table = ENGINES[engine](columns_of(rows))
    with pytest.raises(GraphError, match=kind) as found:
        check_rows(table, shape)
    assert "on_bad='skip'" in str(found.value)
    assert "secret" not in str(found.value)
    assert not any(figure in str(found.value).replace("2026-01-31", "") for figure in "0123456789")
    check_rows(table, replace(shape, skip_bad=True))
    good = [row for row in rows if row is not BAD[kind]]
    assert as_dict(cells(table, shape)) == plain_cells(good, shape)
    assert as_dict(scaled_cells(table, shape, at_most=2)) == plain_scaled(good, shape, 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_all_kinds_of_bad_rows_are_told_at_once(engine):
    table = ENGINES[engine](columns_of([GOOD, *BAD.values()]))
    with pytest.raises(GraphError) as found:
        check_rows(table, shape_of("weight", periods=MONTHS))
    assert all(kind in str(found.value) for kind in BAD)
    assert "\n" not in str(found.value)


# Types of columns, and tables with nothing in them.


def test_no_row_gives_no_cell():
    types = dict.fromkeys(COLUMNS[:4], pl.String) | {"paid": pl.Float64}
    frame = pl.DataFrame(schema=types)
    tables = [frame, frame.lazy(), frame.to_arrow(), frame.to_pandas(), relation(frame.to_arrow())]
    for table in tables:
        for counting in COUNTINGS:
            shape = shape_of(counting, periods=MONTHS)
            check_rows(table, shape)
            assert as_dict(cells(table, shape)) == {}
            if counting != "edges":
                assert as_dict(scaled_cells(table, shape, at_most=2)) == {}
            assert contributions(table, shape).tolist() == []
    for counting in COUNTINGS[:3]:
        assert as_dict(kept_cells(tables[-1], shape_of(counting), at_most=2)) == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_in_which_all_is_missing_are_refused_or_give_nothing(engine):
    columns = columns_of([GOOD] * 3) | {"who": [None] * 3}
    table = ENGINES[engine](columns)
    with pytest.raises(GraphError):
        check_rows(table, shape_of())
    left_out = shape_of(skip_bad=True)
    assert as_dict(scaled_cells(table, left_out, at_most=2)) == {}


DATES = [datetime.date(2026, 1, 31), datetime.date(2026, 3, 31), datetime.date(2026, 4, 1)]
DATED = {
    "dates": pl.Series(DATES),
    "datetimes": pl.Series([datetime.datetime(d.year, d.month, d.day, 23, 59) for d in DATES]),
    "texts": pl.Series(list(map(str, DATES))),
    "texts with times": pl.Series([f"{date}T23:59:00+02:00" for date in DATES]),
    "categories": pl.Series(list(map(str, DATES)), dtype=pl.Categorical),
}
LABELS = {
    "day": tuple(map(str, DATES)),
    "month": ("2026-01", "2026-03", "2026-04"),
    "quarter": ("2026-Q1", "2026-Q2"),
    "year": ("2026",),
}


@pytest.mark.parametrize("form", [*ENGINES])
@pytest.mark.parametrize("kind", DATED)
@pytest.mark.parametrize("by", LABELS)
def test_periods_are_those_of_dates_and_iso_text(by, kind, form):
    frame = pl.DataFrame({"from": ["a"] * 3, "to": ["b"] * 3, "when": DATED[kind]})
    forms = {"duckdb": lambda: relation(frame.to_arrow()), "lazy": frame.lazy, "raw": frame.lazy}
    forms |= {"polars": frame.clone, "pandas": frame.to_pandas, "arrow": frame.to_arrow}
    table = forms[form]()
    shape = shape_of(owner=None, periods=LABELS[by], period="when", by=by)
    check_rows(table, shape)
    found = cells(table, shape)
    expected = {"day": [1, 1, 1], "month": [1, 1, 1], "quarter": [2, 1], "year": [3]}[by]
    assert found.period.tolist() == list(range(len(expected)))
    assert (found.steps / STEPS).tolist() == expected


@pytest.mark.parametrize("form", [*ENGINES])
@pytest.mark.parametrize("labels", [(3, 1, 2), ("3", "1", "2"), range(1, 4), (3, "1", 2)])
@pytest.mark.parametrize("dtype", ["int64", "int16", "uint64", "float64", "str"])
def test_integers_and_their_digits_are_one_label(dtype, labels, form):
    columns = pd.DataFrame({"from": [1, 2, 3, 3], "to": [2, 3, 1, 1]}).astype(dtype)
    arrow = pa.Table.from_pandas(columns)
    forms = {"duckdb": lambda: relation(arrow), "pandas": lambda: columns, "arrow": lambda: arrow}
    frame = pl.from_arrow(arrow)
    forms |= {"polars": lambda: frame, "lazy": frame.lazy, "raw": frame.lazy}
    shape = shape_of(owner=None, labels=(labels, labels))
    table = forms[form]()
    check_rows(table, shape)
    numbers = {str(label): place for place, label in enumerate(labels)}
    pairs = Counter((0, numbers[a], numbers[b]) for a, b in ("12", "23", "31", "31"))
    assert as_dict(cells(table, shape)) == {pair: STEPS * n for pair, n in pairs.items()}


def test_integers_with_missing_ones_are_floats_in_pandas_and_still_ids():
    table = pd.DataFrame({"from": [1, 2, None, 2.5], "to": [2, 3, 1, 1]})
    shape = shape_of(owner=None, labels=(range(4), range(4)))
    with pytest.raises(GraphError, match="an end is missing"):
        check_rows(table, shape)
    assert as_dict(cells(table, shape)) == {(0, 1, 2): STEPS, (0, 2, 3): STEPS}


REFUSED = {
    "no column": (GraphError, {"source": "frm"}, "no column 'frm'"),
    "ends that are numbers with fractions": (GraphError, {"source": "yes"}, "'yes' must hold"),
    "dates as ends": (GraphError, {"target": "date"}, "'date' must hold integers or text"),
    "a period of numbers": (GraphError, {"period": "paid"}, "'paid' must hold dates"),
    "dates without by": (ParameterError, {"period": "date", "by": None}, "pass by='month'"),
    "weights of text": (GraphError, {"counting": "weight", "weight": "to"}, "'to' must hold num"),
    "no weights": (
        ParameterError,
        {"counting": "weight", "weight": None},
        "needs the column of weights",
    ),
    "labels of one text": (GraphError, {"labels": ((1, "1"), (1, "1"))}, "one text"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("form", ["lazy", "duckdb", "pandas"])
def test_other_columns_and_options_are_refused_in_one_line(form, name):
    kind, options, text = REFUSED[name]
    frame = pl.DataFrame(columns_of([GOOD])).with_columns(date=DATES[0], yes=True)
    forms = {"lazy": frame.lazy, "pandas": frame.to_pandas}
    table = forms.get(form, lambda: relation(frame.to_arrow()))()
    shape = shape_of(**{"periods": MONTHS} | options)
    with pytest.raises(kind, match=text) as found:
        check_rows(table, shape)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("at_most", [0, 2**20 + 1, 1.5, True, None])
@pytest.mark.parametrize("bounded", [scaled_cells, kept_cells, clipped_cells])
def test_bounds_are_whole_numbers_in_range(bounded, at_most):
    with pytest.raises(ParameterError, match="at_most must be a whole number from 1 to 1,048,576"):
        bounded(relation(columns_of([GOOD])), shape_of(), at_most=at_most)


NOT_SO = {
    "edges by scaling": (scaled_cells, "duckdb", "edges", {}, "cannot be scaled"),
    "weights by choosing": (kept_cells, "duckdb", "weight", {}, "by scaling"),
    "choosing elsewhere": (kept_cells, "polars", "rows", {}, "by duckdb alone"),
    "clipped rows": (clipped_cells, "duckdb", "rows", {}, "is for counting='weight'"),
    "owners of nobody": (scaled_cells, "duckdb", "rows", {"owner": None}, "column of owners"),
}


@pytest.mark.parametrize("name", NOT_SO)
def test_ways_to_bound_that_do_not_fit_are_refused(name):
    bounded, form, counting, options, text = NOT_SO[name]
    with pytest.raises(ParameterError, match=text):
        bounded(ENGINES[form](columns_of([GOOD])), shape_of(counting, **options), at_most=2)


@pytest.mark.parametrize("table", [[1, 2], "trips.parquet", None, np.zeros(3)])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(GraphError, match="this is no table"):
        check_rows(table, shape_of())


def test_errors_of_an_engine_quote_no_row():
    frame = pl.LazyFrame(columns_of([GOOD])).with_columns(
        pl.col("to").map_batches(lambda column: column.cast(pl.Int64).cast(pl.String))
    )
    with pytest.raises(GraphError, match="the engine of the table failed") as found:
        cells(frame, shape_of())
    assert found.value.__cause__ is None
    assert len(str(found.value).splitlines()) == 1
    assert "'b'" not in str(found.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_large_weights_are_exact_or_refused(engine):
    """At the largest bound the products are above 2^60, where floats are off by hundreds."""
    large = float(2**20)
    rows = [("p", "a", "b", "2026-01-01", weight) for weight in (large, large - 0.7, 1 / 3, 9e30)]
    rows += [("p", "b", "a", "2026-01-01", weight) for weight in (large / 3, 1e-9, 77.123)]
    shape = shape_of("weight")
    table = ENGINES[engine](columns_of(rows))
    for at_most in (2**20, 2**20 - 1, 12345):
        found = as_dict(scaled_cells(table, shape, at_most=at_most))
        assert found == plain_scaled(rows, shape, at_most)
    heap = ENGINES[engine](columns_of(rows * 500))
    with pytest.raises(GraphError, match="larger unit"):
        cells(heap, replace(shape, unit=1e-30))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("per_period", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_bounds_of_each_period_and_whole_units(engine, per_period, whole):
    rows = random_rows(np.random.default_rng(12), 80)
    shape = shape_of("weight", periods=MONTHS, per_period=per_period)
    apart = [row if not per_period else (f"{row[0]} {row[3][:7]}", *row[1:]) for row in rows]
    expected = plain_scaled(apart, shape, 5, 1024 if whole else 1)
    table = ENGINES[engine](columns_of(rows))
    assert as_dict(scaled_cells(table, shape, at_most=5, whole=whole)) == expected


# Files and arrays, by duckdb.


@pytest.mark.parametrize("collated", ["columns", "connection"])
@pytest.mark.parametrize("counting", ["rows", "weight"])
def test_a_row_is_in_one_cell_however_text_is_collated(counting, collated):
    """Where "A" equals "a", a row of one of both vertices has once been in the cells of both."""
    connection, how = duckdb.connect(), "collate nocase" if collated == "columns" else ""
    if collated == "connection":
        connection.execute("set default_collation = 'nocase'")
    table = connection.sql(
        f"select 'A' {how} as \"from\", 'b' {how} as \"to\", 'Spring' {how} as \"when\","
        " 3.0 as paid, 1 as who"
    )
    labels = ("A", "a", "B", "b")
    shape = shape_of(counting, labels=(labels, labels), periods=("spring", "Spring"), by=None)
    step = STEPS if counting == "rows" else 3 * STEPS
    check_rows(table, shape)
    found = clipped_cells(table, shape, at_most=3) if counting == "weight" else cells(table, shape)
    assert as_dict(found) == {(1, 0, 3): step}
    assert as_dict(scaled_cells(table, shape, at_most=3)) == {(1, 0, 3): step}


@pytest.mark.parametrize("collated", ["columns", "connection"])
@pytest.mark.parametrize("bounded", [kept_cells, scaled_cells])
def test_owners_whose_names_a_table_takes_for_equal_are_bounded_apart(bounded, collated):
    """As one, "ann" and "ANN" would share a bound, and the rows of one decide about the other's."""
    connection, how = duckdb.connect(), "collate nocase" if collated == "columns" else ""
    if collated == "connection":
        connection.execute("set default_collation = 'nocase'")

    def cells_of(*owners):
        connection.execute(f"create or replace table t (who varchar {how}, a text, b text)")
        for owner, zone in owners:
            rows = [(owner, zone, other) for other in ZONES]
            connection.executemany("insert into t values (?, ?, ?)", rows)
        shape = shape_of(source="a", target="b")
        return as_dict(bounded(connection.table("t"), shape, at_most=2))

    ann, other = ("ann", ZONES[0]), ("ANN", ZONES[1])
    assert len(ZONES) > 2  # both are above the bound
    assert cells_of(ann, other) == cells_of(ann) | cells_of(other)


@pytest.mark.parametrize("owner", [b"\xff", [1], {"name": 1}])
@pytest.mark.parametrize("engine", ["duckdb", "lazy"])
def test_owners_of_which_no_text_can_be_made_are_refused_by_their_type(owner, engine):
    """Not by the first of them that cannot: where bad rows are left out, no row has a say."""
    columns = {"from": ["a"], "to": ["b"], "who": [owner]}
    shape = shape_of(skip_bad=True)
    for rows in (columns, {name: values[:0] for name, values in columns.items()}):
        schema = pl.DataFrame(columns).schema
        made = pl.DataFrame(rows, schema=schema)
        table = relation(made.to_arrow()) if engine == "duckdb" else made.lazy()
        with pytest.raises(GraphError, match="'who' must hold integers or text"):
            scaled_cells(table, shape, at_most=1)


def test_a_folder_of_parquet_gives_the_same_cells_however_it_is_split(tmp_path):
    rows = random_rows(np.random.default_rng(2), 500)
    shape = shape_of("weight", periods=MONTHS)
    frame = pl.DataFrame(columns_of(rows))
    (tmp_path / "one [2026]*.parquet").parent.mkdir(exist_ok=True)
    frame.write_parquet(tmp_path / "one [2026]*.parquet")
    parts = tmp_path / "parts" / "deep"
    parts.mkdir(parents=True)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    for place in range(0, 500, 90):
        shuffled[place : place + 90].write_parquet(parts / f"{place}.parquet")
    for bounded in (scaled_cells, kept_cells):
        if bounded is kept_cells:
            shape = shape_of("rows", periods=MONTHS)
        found = []
        for source in (tmp_path / "one [2026]*.parquet", tmp_path / "parts"):
            with Engine(source, memory=2**28, threads=2) as engine:
                found.append(as_dict(bounded(engine.table, shape, at_most=20)))
        assert found[0] == found[1]
        assert sum(found[0].values()) > 5 * 19 * STEPS


def test_columns_in_memory_are_a_table():
    rows = random_rows(np.random.default_rng(4), 200)
    codes = {name: place for place, name in enumerate(ZONES)}
    arrays = {
        "who": np.array([int(row[0][1:]) for row in rows]),
        "from": np.ma.array([codes[row[1]] for row in rows], mask=[False] * 200),
        "to": np.array([codes[row[2]] for row in rows], dtype=np.int32),
    }
    arrays["from"][7] = np.ma.masked
    del rows[7]
    coded = shape_of("rows", labels=(range(4), range(4)))
    with Engine(arrays) as engine:
        with pytest.raises(GraphError, match="an end is missing"):
            check_rows(engine.table, coded)
        found = as_dict(scaled_cells(engine.table, coded, at_most=9))
    shape = shape_of("rows")
    assert found == plain_scaled(rows, shape, 9)


def test_what_is_spilled_lies_in_a_private_folder_and_is_removed(tmp_path):
    engine = Engine({"a": np.arange(3)}, folder=tmp_path)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    engine.close()
    assert not folder.exists()
    engine = Engine({"a": np.arange(3)}, folder=tmp_path)
    del engine
    assert list(tmp_path.iterdir()) == []


def test_without_duckdb_a_line_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(FileFormatError, match=r"pip install 'graphcuts-dp\[tables\]'"):
        Engine({"a": np.arange(3)})


def test_what_does_not_fit_into_memory_and_disk_is_refused_in_a_line():
    with Engine({"who": np.arange(10**6)}, memory=2**24, threads=1) as engine:
        crossed = engine.table.query(
            "rows",
            "select array_agg(who)::varchar as who, 'a' as source, 'b' as target from rows",
        )
        shape = shape_of("rows", source="source", target="target")
        with pytest.raises(GraphError, match="does not fit into memory"):
            scaled_cells(crossed, shape, at_most=2)


@pytest.mark.parametrize("name", ["none.parquet", "empty"])
def test_a_path_without_parquet_is_refused(name, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileFormatError, match="no Parquet file"):
        Engine(tmp_path / name)


def test_a_file_that_is_no_parquet_is_refused_without_a_quote(tmp_path):
    (tmp_path / "a.parquet").write_text("secret,secret\n")
    with pytest.raises(FileFormatError, match="cannot be read as Parquet") as found:
        Engine(tmp_path / "a.parquet")
    assert "secret" not in str(found.value)


# The same before noise, whatever the engine.


def digest(found):
    columns = (getattr(found, name) for name in FIELDS)
    return hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql")
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.host", "localhost")
        .getOrCreate()
    )
    yield session
    session.stop()


def in_spark(session, rows):
    types = ("who string", "from string", "to string", "when date", "paid double")
    made = [(*row[:3], datetime.date.fromisoformat(row[3]), row[4]) for row in rows]
    return session.createDataFrame(made, ", ".join(f"`{a}` {b}" for a, b in map(str.split, types)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("counting", COUNTINGS)
def test_duckdb_polars_and_spark_have_the_same_cells(counting, name, spark):
    rows = random_rows(np.random.default_rng(11), 2_000, owners=100)
    shape = shape_of(counting, **SHAPES[name])
    tables = [ENGINES[engine](columns_of(rows)) for engine in ENGINES]
    dated = pl.DataFrame(columns_of(rows)).with_columns(pl.col("when").str.to_date())
    tables += [dated, in_spark(spark, rows), in_spark(spark, rows[::-1]).repartition(5)]
    for table in tables:
        check_rows(table, shape)
    assert len({digest(cells(table, shape)) for table in tables}) == 1
    if counting != "edges":
        found = {digest(scaled_cells(table, shape, at_most=7)) for table in tables}
        assert len(found) == 1
    totals = {tuple(sorted(contributions(table, shape).tolist())) for table in tables}
    assert len(totals) == 1
    if counting == "weight":
        assert len({digest(clipped_cells(table, shape, at_most=2)) for table in tables}) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", BAD)
def test_spark_refuses_or_leaves_out_a_bad_row(kind, spark):
    rows = [GOOD] * 3 + [BAD[kind], ("p2", "c", "a", "2026-02-01", 2.5)]
    shape = shape_of("weight", periods=MONTHS)
    names = ", ".join(f"`{name}` string" for name in COLUMNS[:4])
    table = spark.createDataFrame(rows, f"{names}, `paid` double")
    with pytest.raises(GraphError, match=kind):
        check_rows(table, shape)
    good = [row for row in rows if row is not BAD[kind]]
    assert as_dict(scaled_cells(table, shape, at_most=2)) == plain_scaled(good, shape, 2)


ENDED = """
import os, signal, sys
import numpy as np
from graphcuts_dp.graph.engine_tables import Engine
engine = Engine({"x": np.arange(3)}, folder=sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays(tmp_path):
    other = tmp_path / "graphcuts-dp-young"  # no lock yet
    other.mkdir()
    with Engine({"x": np.arange(3)}, folder=tmp_path):
        living = {path.name for path in tmp_path.iterdir()}
        subprocess.run([sys.executable, "-c", ENDED, str(tmp_path)], check=False)
        killed = {path.name for path in tmp_path.iterdir()} - living
        assert len(killed) == 1
        for lock in tmp_path.glob("*/in-use"):
            os.utime(lock, (0, 0))  # old, all of them
        with Engine({"x": np.arange(3)}, folder=tmp_path):
            now = {path.name for path in tmp_path.iterdir()}
            assert living < now
            assert not killed & now
    assert list(tmp_path.iterdir()) == [other]
