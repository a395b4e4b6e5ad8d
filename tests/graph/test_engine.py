"""Cells of coded rows, beside plain Python, and what one user changes."""

import datetime
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import floor, isfinite

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from graphcuts_dp import FileFormatError, GraphError, ParameterError
from graphcuts_dp.graph import engine as under_test
from graphcuts_dp.graph.engine import (
    Cells,
    Shape,
    clipped_cells,
    contributions,
    kept_cells,
    scaled_cells,
    unbounded_cells,
)
from graphcuts_dp.graph.row_store import RowStore
from graphcuts_dp.schema.counting import STEPS

ZONES = ("b", "a", "d", "c")
MONTHS = ("2026-01", "2026-02", "2026-03")
DATABASE = duckdb.connect(config={"threads": 2})  # one for all tests: to make one takes 17 ms


@dataclass(frozen=True, kw_only=True)
class Case:
    """How rows of these tests become cells: labels where a `Shape` has numbers."""

    counting: str = "rows"
    unordered: bool = False
    loops: bool = True
    owned: bool = True
    labels: tuple = (ZONES, ZONES)
    periods: tuple = ()
    by: str = "month"
    weight_unit: float = 1.0
    per_period: bool = False

    @property
    def one_set(self):
        return self.labels[0] is self.labels[1]

    @property
    def shape(self):
        return Shape(
            counting=self.counting,
            left=len(self.labels[0]),
            right=len(self.labels[1]),
            periods=len(self.periods or (0,)),
            one_set=self.one_set,
            loops=self.loops,
            has_users=self.owned,
            per_period=self.per_period,
            weight_unit=self.weight_unit,
        )

    def coded(self, rows):
        """Rows as a relation of coded ones; those of unknown labels do not count."""
        left, right = self.labels
        listed = []
        for who, source, target, when, paid in rows:
            period = (
                self.periods.index(label) if (label := self.period(when)) in self.periods else -1
            )
            if source in left and target in right and not (self.periods and period < 0):
                listed.append((who, left.index(source), right.index(target), period, paid))
        columns = [list(column) for column in zip(*listed, strict=True)] or [[]] * 5
        who, first, second, period, paid = columns
        numbers = [np.array(each, dtype=np.int64) for each in (first, second, period)]
        cell = self.shape.cell_numbers(
            *numbers[:2], numbers[2] if self.periods else None, unordered=self.unordered
        )
        made = {"cell": cell, "user_key": pa.array(who, pa.string())}
        if self.counting == "weight":
            made["weight"] = np.array(paid, dtype=np.float64)
        return DATABASE.from_arrow(pa.table(made))

    def period(self, when):
        return period_of(when, self.by) if self.periods else ""


def random_rows(rng, count, *, zones=ZONES, users=6):
    """Rows as tuples: who, from, to, when, paid."""
    day = datetime.date(2026, 1, 1)
    return [
        (
            f"p{rng.integers(users)}",
            zones[rng.integers(len(zones))],
            zones[rng.integers(len(zones))],
            str(day + datetime.timedelta(days=int(rng.integers(100)))),
            round(rng.exponential(3), 3),
        )
        for _ in range(count)
    ]


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
FIELDS = ("first", "second", "period", "steps")
COUNTINGS = ("edges", "users", "rows", "weight")


# Plain Python: what each user has in each cell.


def period_of(text, by):
    year, month = text[:4], int(text[5:7])
    return {
        "day": text[:10],
        "month": text[:7],
        "quarter": f"{year}-Q{(month + 2) // 3}",
        "year": year,
    }[by]


def steps_of(weight, shape, most):
    return floor(min(weight / shape.weight_unit, most) * STEPS + 0.5)


def plain_parts(rows, shape, most=2**41):
    """{user: {(period, first, second): rows, one, or steps}}."""
    found = defaultdict(Counter)
    left, right = (list(map(str, side)) for side in shape.labels)
    for who, source, target, when, paid in rows:
        if who is None or str(source) not in left or str(target) not in right:
            continue
        if shape.counting == "weight" and not (isfinite(paid) and paid >= 0):
            continue
        period = 0
        if shape.periods:
            label = shape.period(when)
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
        if shape.counting in ("edges", "users"):
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


def plain_scaled(rows, shape, bound, whole=1):
    total = Counter()
    unit = 1 if shape.counting == "weight" else STEPS
    for own in plain_parts(rows, shape, bound).values():
        every = sum(own.values()) * unit
        for cell, amount in own.items():
            share = Fraction(bound * STEPS, max(every, bound * STEPS))
            had = amount * unit
            if share < 1:
                had = min(had, 2**61 // (bound * STEPS))
            total[cell] += floor(share * had) // whole * whole
    return {cell: amount for cell, amount in total.items() if amount}


def as_dict(found):
    keys = zip(found.period.tolist(), found.first.tolist(), found.second.tolist(), strict=True)
    cells_of = dict(zip(keys, found.steps.tolist(), strict=True))
    assert len(cells_of) == len(found.steps)
    assert list(cells_of) == sorted(cells_of)
    columns = (found.period, found.first, found.second, found.steps)
    assert {column.dtype for column in columns} == {np.dtype(np.int64)}
    return cells_of


@pytest.mark.parametrize("counting", COUNTINGS)
@pytest.mark.parametrize("name", SHAPES)
def test_cells_are_those_of_plain_python(counting, name):
    rows = random_rows(np.random.default_rng(5), 60)
    case = Case(counting=counting, **SHAPES[name])
    assert as_dict(unbounded_cells(case.coded(rows), case.shape)) == plain_cells(rows, case)


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize("counting", COUNTINGS[1:])
@pytest.mark.parametrize("name", SHAPES)
def test_scaled_cells_are_those_of_plain_python(counting, name):
    rows = random_rows(np.random.default_rng(6), 60)
    case = Case(counting=counting, **SHAPES[name])
    table = case.coded(rows)
    for bound in (1, 9):
        found = as_dict(scaled_cells(table, case.shape, bound=bound))
        assert found == plain_scaled(rows, case, bound)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_contributions_are_those_of_plain_python(counting):
    rows = random_rows(np.random.default_rng(7), 60)
    case = Case(counting=counting, **SHAPES["months, unordered"])
    totals = (sum(own.values()) for own in plain_parts(rows, case).values())
    unit = STEPS if counting == "weight" else 1
    expected = sorted(-(-total // unit) for total in totals if total)
    assert sorted(contributions(case.coded(rows), case.shape).tolist()) == expected


@pytest.mark.parametrize("bound", [1, 2])
def test_clipped_cells_are_those_of_plain_python(bound):
    rows = random_rows(np.random.default_rng(8), 60)
    case = Case(counting="weight", owned=False, weight_unit=0.7, **SHAPES["months"])
    found = clipped_cells(case.coded(rows), case.shape, bound=bound)
    assert as_dict(found) == plain_cells(rows, case, bound)


def plain_kept(rows, case, bound):
    """What a user keeps is some of what they have, `bound` in all where they have more."""
    return {
        who: (own, min(sum(own.values()), bound)) for who, own in plain_parts(rows, case).items()
    }


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("counting", "name"),
    [
        *(("edges", "months, unordered"), ("users", "quarters"), ("rows", "two sides")),
        *(("rows", "months, unordered"), ("edges", "two sides")),
    ],
)
def test_kept_cells_are_some_of_each_user(counting, name):
    rows = random_rows(np.random.default_rng(9), 40, users=3)
    case = Case(counting=counting, **SHAPES[name])
    everything = plain_cells(rows, case)
    for bound in (1, 4):
        union = Counter()
        for who, (own, count) in plain_kept(rows, case, bound).items():
            mine = [row for row in rows if row[0] == who]
            alone = as_dict(kept_cells(case.coded(mine), case.shape, bound=bound))
            assert sum(alone.values()) == count * STEPS
            assert all(alone[cell] <= own[cell] * STEPS for cell in alone)
            union.update(alone)
        found = as_dict(kept_cells(case.coded(rows), case.shape, bound=bound))
        if counting == "edges":
            union = dict.fromkeys(union, STEPS)
        assert found == union  # each user keeps the same beside the others
    table = case.coded(rows)
    assert as_dict(kept_cells(table, case.shape, bound=1000)) == everything


def test_which_rows_are_kept_differs_between_users():
    """All users have all pairs: each pair is kept by as many users, but for chance."""
    users, bound = 500, 10
    pairs = np.arange(81)
    coded = pa.table({"cell": np.tile(pairs, users), "user_key": np.repeat(np.arange(users), 81)})
    shape = Shape(counting="users", left=9, right=9, one_set=True, has_users=True)
    found = kept_cells(DATABASE.from_arrow(coded), shape, bound=bound).steps / STEPS
    share = bound / 81
    assert found.sum() == users * bound
    assert len(found) == 81
    # A count has variance users * share * (1 - share); 81 of them with one sum, 80 degrees.
    spread = np.sum((found - users * share) ** 2) / (users * share * (1 - share) * 81 / 80)
    assert 37 < spread < 146  # of chi-squared with 80 degrees, but for 10^-5 on either side


def test_numbers_and_their_text_keep_the_same_rows():
    """Which rows are kept follows from the text of a user, whatever the column holds."""
    rng = np.random.default_rng(3)
    cell, user = rng.integers(81, size=400), rng.integers(20, size=400)
    shape = Shape(counting="rows", left=9, right=9, one_set=True, has_users=True)
    found = [
        as_dict(
            kept_cells(
                DATABASE.from_arrow(pa.table({"cell": cell, "user_key": users})),
                shape,
                bound=3,
            )
        )
        for users in (user, user.astype(str))
    ]
    assert found[0] == found[1]


# What one user changes.

TOGETHER = 120  # random tables side by side in one: neither a vertex nor a user is in two
MANY_TOGETHER = 400  # in slow tests
BATCHES = {"months": 1, "months, unordered": 2, "quarters": 4, "one table": 3, "no loops": 5}


@cache
def tables_side_by_side(seed, together):
    """Rows of many small tables, the same without one user of each, and the labels."""
    rng, before, after, labels = np.random.default_rng(seed), [], [], []
    for table in range(together):
        rows = random_rows(rng, int(rng.integers(1, 30)), users=int(rng.integers(1, 4)))
        labels += [f"{zone}{table}" for zone in ZONES]
        for row in rows:
            own = (f"{row[0]}-{table}", f"{row[1]}{table}", f"{row[2]}{table}", *row[3:])
            before.append(own)
            if row[0] != rows[0][0]:
                after.append(own)
    order = rng.permutation(len(before))
    return tuple(before[place] for place in order), tuple(after), tuple(labels)


def changes(before, after, together):
    """What differs in each of the tables, all cells of all periods together, in steps."""
    found = [0] * together
    for cell in {*before, *after}:
        found[cell[1] // len(ZONES)] += abs(before.get(cell, 0) - after.get(cell, 0))
    return found


def largest_changes(bounded, counting, batches=BATCHES, together=TOGETHER):
    """The most that removing a user changes, over the bound, of each of the tables."""
    found = []
    for seed, (name, bound) in enumerate(batches.items()):
        before, after, labels = tables_side_by_side(seed, together)
        case = Case(counting=counting, **SHAPES[name] | {"labels": (labels, labels)})
        tables = (as_dict(bounded(rows, case, bound)) for rows in (before, after))
        found += [change / (bound * STEPS) for change in changes(*tables, together)]
    assert len(found) == len(batches) * together
    return found


def by_scaling(rows, case, bound):
    return scaled_cells(case.coded(rows), case.shape, bound=bound)


def by_keeping(rows, case, bound):
    return kept_cells(case.coded(rows), case.shape, bound=bound)


def by_keeping_in_each_period(rows, case, bound):
    """An incorrect variant: the bound holds within a period, and is guaranteed over all of them."""
    found = []
    for place, label in enumerate(case.periods):
        own = by_keeping(rows, replace(case, periods=(label,)), bound)
        found.append(replace(own, period=own.period + place))
    if not found:
        return by_keeping(rows, case, bound)
    return Cells(*(np.concatenate([getattr(own, each) for own in found]) for each in FIELDS))


EACH_SIZE = pytest.mark.parametrize(
    "together", [TOGETHER, pytest.param(MANY_TOGETHER, marks=pytest.mark.slow)]
)


@pytest.mark.thorough(cases=1)
@EACH_SIZE
@pytest.mark.parametrize("counting", COUNTINGS[1:])
def test_one_user_changes_all_scaled_cells_together_by_at_most_the_bound(counting, together):
    found = largest_changes(by_scaling, counting, together=together)
    assert 0.99 < max(found) <= 1


@pytest.mark.thorough(cases=1)
@EACH_SIZE
@pytest.mark.parametrize("counting", COUNTINGS[:3])
def test_one_user_changes_all_kept_cells_together_by_at_most_the_bound(counting, together):
    found = largest_changes(by_keeping, counting, together=together)
    assert max(found) == 1


def test_a_bound_within_each_period_is_seen():
    assert max(largest_changes(by_keeping_in_each_period, "rows", {"months": 1})) > 2


FAULTS = {  # as of an engine whose windows or joins are wrong
    "no user is above": ("_MERGED", "> {bound}", "> {bound} + 1000"),
    "a join misses rows": (
        "_MERGED",
        "left join above on {join_on_user}",
        "left join above on {join_on_user} and cell > 3",
    ),
    "a window starts anew": ("_KEPT", "unbounded preceding", "2 preceding"),
    "a total is too small": ("_SCALED", "// total", "// (total - 1)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_user_above_the_bound_is_refused(fault, monkeypatch):
    name, good, wrong = FAULTS[fault]
    query = getattr(under_test, name)
    assert good in query
    monkeypatch.setattr(under_test, name, query.replace(good, wrong))
    rows = random_rows(np.random.default_rng(1), 100)
    bounded = kept_cells if name == "_KEPT" else scaled_cells
    with pytest.raises(GraphError, match="above the bound"):
        bounded(Case().coded(rows), Case().shape, bound=3)


# Bounds, and rows that do not fit them.

GOOD = ("p1", "a", "b", "2026-01-05", 1.0)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_no_row_gives_no_cell(counting):
    case = Case(counting=counting, periods=MONTHS)
    table = case.coded([])
    assert as_dict(unbounded_cells(table, case.shape)) == {}
    if counting != "edges":
        assert as_dict(scaled_cells(table, case.shape, bound=2)) == {}
    if counting != "weight":
        assert as_dict(kept_cells(table, case.shape, bound=2)) == {}
    assert contributions(table, case.shape).tolist() == []


@pytest.mark.parametrize("bound", [0, 2**20 + 1, 1.5, True, None])
@pytest.mark.parametrize("bounded", [scaled_cells, kept_cells, clipped_cells])
def test_bounds_are_whole_numbers_in_range(bounded, bound):
    with pytest.raises(ParameterError, match="the bound must be a whole number from 1 to 1,048,5"):
        bounded(Case().coded([GOOD]), Case().shape, bound=bound)


NOT_SO = {
    "edges by scaling": (scaled_cells, "edges", {}, "cannot be scaled"),
    "weights by choosing": (kept_cells, "weight", {}, "by scaling"),
    "clipped rows": (clipped_cells, "rows", {}, "is for counting='weight'"),
    "users of nobody": (scaled_cells, "rows", {"owned": False}, "column of users"),
}


@pytest.mark.parametrize("name", NOT_SO)
def test_ways_to_bound_that_do_not_fit_are_refused(name):
    bounded, counting, options, text = NOT_SO[name]
    case = Case(counting=counting, **options)
    with pytest.raises(ParameterError, match=text):
        bounded(case.coded([GOOD]), case.shape, bound=2)


def test_too_many_cells_are_refused():
    with pytest.raises(GraphError, match="too many cells"):
        Shape(counting="rows", left=2**31, right=2**31, periods=2)


def test_errors_of_the_database_quote_no_row():
    table = DATABASE.sql("select 'secret' as cell, 1 as user_key")
    with pytest.raises(GraphError, match="the database failed") as found:
        unbounded_cells(table, Case(loops=False).shape)
    assert found.value.__cause__ is None
    assert "secret" not in str(found.value)


def test_large_weights_are_exact_or_refused():
    """At the largest bound the products are above 2^60, where floats are off by hundreds."""
    large = float(2**20)
    rows = [("p", "a", "b", "2026-01-01", weight) for weight in (large, large - 0.7, 1 / 3, 9e30)]
    rows += [("p", "b", "a", "2026-01-01", weight) for weight in (large / 3, 1e-9, 77.123)]
    case = Case(counting="weight")
    for bound in (2**20, 2**20 - 1, 12345):
        found = as_dict(scaled_cells(case.coded(rows), case.shape, bound=bound))
        assert found == plain_scaled(rows, case, bound)
    tiny = replace(case, weight_unit=1e-30)
    with pytest.raises(GraphError, match="larger weight_unit"):
        unbounded_cells(tiny.coded(rows * 500), tiny.shape)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("per_period", [False, True])
def test_bounds_of_each_period_and_whole_units(per_period, whole):
    rows = random_rows(np.random.default_rng(12), 80)
    case = Case(counting="weight", periods=MONTHS, per_period=per_period)
    apart = [row if not per_period else (f"{row[0]} {row[3][:7]}", *row[1:]) for row in rows]
    expected = plain_scaled(apart, case, 5, 1024 if whole else 1)
    found = scaled_cells(case.coded(rows), case.shape, bound=5, whole=whole)
    assert as_dict(found) == expected


# The database.


def batches_of(case, rows, *sizes):
    """Coded rows in batches, and their schema."""
    table = case.coded(rows).to_arrow_table()
    starts = np.cumsum([0, *sizes])
    pieces = [
        table[start:stop] for start, stop in zip(starts, [*starts[1:], len(table)], strict=True)
    ]
    return (batch for piece in pieces for batch in piece.to_batches()), table.schema


@pytest.mark.parametrize("sizes", [(), (1, 2, 3), (100, 0, 300)])
def test_batches_give_the_same_cells_however_they_are_split(sizes):
    rows = random_rows(np.random.default_rng(2), 500)
    case = Case(periods=MONTHS)
    batches, schema = batches_of(case, rows, *sizes)
    with RowStore(batches, schema=schema, memory=2**28, threads=2) as engine:
        for _ in range(2):  # they are kept
            found = as_dict(scaled_cells(engine.table, case.shape, bound=20))
            assert found == plain_scaled(rows, case, 20)


def test_what_batches_raise_comes_out_as_it_is():
    def batches():
        yield pa.record_batch({"cell": [1]})
        raise GraphError("a row is bad")

    with pytest.raises(GraphError, match="a row is bad"):
        RowStore(batches(), schema=pa.schema([("cell", pa.int64())]))


COLUMN = pa.table({"cell": np.arange(3)})


def test_what_is_spilled_lies_in_a_private_folder_and_is_removed(tmp_path):
    engine = RowStore(COLUMN, folder=tmp_path)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    engine.close()
    assert not folder.exists()
    engine = RowStore(COLUMN, folder=tmp_path)
    del engine
    assert list(tmp_path.iterdir()) == []


def test_without_duckdb_a_line_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(FileFormatError, match=r"pip install 'graphcuts-dp\[tables\]'"):
        RowStore(COLUMN)


def test_what_does_not_fit_into_memory_and_disk_is_refused_in_a_line():
    users = pa.table({"user_key": np.arange(10**6)})
    with RowStore(users, memory=2**24, threads=1) as engine:
        crossed = engine.table.query(
            "rows", "select array_agg(user_key)::varchar as user_key, 0 as cell from rows"
        )
        shape = Shape(counting="rows", left=1, right=1, has_users=True)
        with pytest.raises(GraphError, match="does not fit into memory"):
            scaled_cells(crossed, shape, bound=2)


ENDED = """
import os, signal, sys
import pyarrow as pa
from graphcuts_dp.graph.row_store import RowStore
engine = RowStore(pa.table({"cell": [1]}), folder=sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays(tmp_path):
    other = tmp_path / "graphcuts-dp-young"  # no lock yet
    other.mkdir()
    with RowStore(COLUMN, folder=tmp_path):
        living = {path.name for path in tmp_path.iterdir()}
        subprocess.run([sys.executable, "-c", ENDED, str(tmp_path)], check=False)
        killed = {path.name for path in tmp_path.iterdir()} - living
        assert len(killed) == 1
        for lock in tmp_path.glob("*/in-use"):
            os.utime(lock, (0, 0))  # old, all of them
        with RowStore(COLUMN, folder=tmp_path):
            now = {path.name for path in tmp_path.iterdir()}
            assert living < now
            assert not killed & now
    assert list(tmp_path.iterdir()) == [other]
