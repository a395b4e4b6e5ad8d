"""Cells of coded rows: equal to a slow count in Python, and bounded in what one user changes.

Rows of these tests are tuples (user, source, target, date, weight) with labels; `Case.coded` turns
them into the numbers that the engine takes.
"""

import datetime
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil, floor, isfinite

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from graphcuts_dp import FileFormatError, GraphError, ParameterError
from graphcuts_dp.graph import engine
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

Row = tuple[str, str, str, str, float]  # user, source, target, date, weight
Amounts = dict[tuple[int, int, int], int]  # of cells (period, first, second)

ZONES = ("b", "a", "d", "c")
MONTHS = ("2026-01", "2026-02", "2026-03")
DATABASE = duckdb.connect(config={"threads": 2})  # one for all tests: a connection takes 17 ms
LARGEST_BOUND = 2**20  # of what one user may contribute
MOST_UNITS = 2**41  # of one row without a bound


@dataclass(frozen=True, kw_only=True)
class Case:
    """How rows become cells: a `Shape`, with labels where it has numbers.

    Attributes:
        labels: of the first and of the second endpoints; the same tuple for one vertex set.
        periods: labels of the periods; empty without periods.
        by: length of a period.
    """

    counting: str = "rows"
    unordered: bool = False
    loops: bool = True
    owned: bool = True
    labels: tuple[tuple[str, ...], tuple[str, ...]] = (ZONES, ZONES)
    periods: tuple[str, ...] = ()
    by: str = "month"
    weight_unit: float = 1.0
    per_period: bool = False

    @property
    def one_set(self) -> bool:
        return self.labels[0] is self.labels[1]

    @property
    def shape(self) -> Shape:
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

    def coded(self, rows: Iterable[Row]) -> duckdb.DuckDBPyRelation:
        """Return the rows in code, without those of unknown labels."""
        left, right = self.labels
        coded_rows = []
        for user, source, target, date, weight in rows:
            label = self.period(date)
            if source in left and target in right and label in (self.periods or ("",)):
                period = self.periods.index(label) if self.periods else 0
                coded_rows.append((user, left.index(source), right.index(target), period, weight))
        columns = [list(column) for column in zip(*coded_rows, strict=True)] or [[]] * 5
        users, *vertices_and_periods, weights = columns
        first, second, periods = np.array(vertices_and_periods, dtype=np.int64)
        cells = self.shape.cell_numbers(
            first, second, periods if self.periods else None, unordered=self.unordered
        )
        table = {"cell": cells, "user_key": pa.array(users, pa.string())}
        if self.counting == "weight":
            table["weight"] = np.array(weights, dtype=np.float64)
        return DATABASE.from_arrow(pa.table(table))

    def period(self, date: str) -> str:
        """Return the label of the period of a date, "" without periods."""
        return period_label(date, self.by) if self.periods else ""


def random_rows(rng: np.random.Generator, count: int, *, users: int = 6) -> list[Row]:
    """Draw rows of a hundred days from 1 January 2026."""
    first_day = datetime.date(2026, 1, 1)
    return [
        (
            f"p{rng.integers(users)}",
            ZONES[rng.integers(len(ZONES))],
            ZONES[rng.integers(len(ZONES))],
            str(first_day + datetime.timedelta(days=int(rng.integers(100)))),
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


# The same in plain Python: what each user contributes to each cell, then the cells.


def period_label(date: str, by: str) -> str:
    year, month = date[:4], int(date[5:7])
    return {
        "day": date[:10],
        "month": date[:7],
        "quarter": f"{year}-Q{(month + 2) // 3}",
        "year": year,
    }[by]


def rounded_steps(weight: float, case: Case, most_units: int) -> int:
    return floor(min(weight / case.weight_unit, most_units) * STEPS + 0.5)


def plain_contributions(
    rows: Iterable[Row], case: Case, most_units: int = MOST_UNITS
) -> dict[str, Amounts]:
    """Return what each user has in each cell: rows, 1, or grid units of weight."""
    contributions_of: dict[str, Amounts] = defaultdict(Counter)
    left, right = (list(map(str, side)) for side in case.labels)
    for user, source, target, date, weight in rows:
        if user is None or str(source) not in left or str(target) not in right:
            continue
        if case.counting == "weight" and not (isfinite(weight) and weight >= 0):
            continue
        period = 0
        if case.periods:
            label = case.period(date)
            if label not in case.periods:
                continue
            period = case.periods.index(label)
        first, second = left.index(str(source)), right.index(str(target))
        if case.one_set:
            if first == second and not case.loops:
                continue
            if case.unordered:
                first, second = min(first, second), max(first, second)
        is_weight = case.counting == "weight"
        amount = rounded_steps(weight, case, most_units) if is_weight else 1
        contributions_of[user][period, first, second] += amount
        if case.counting in ("edges", "users"):
            contributions_of[user][period, first, second] = 1
    return contributions_of


def plain_cells(rows: Iterable[Row], case: Case, most_units: int = MOST_UNITS) -> Amounts:
    """Return the grid units in each cell if no user is bounded."""
    total: Counter[tuple[int, int, int]] = Counter()
    for contribution in plain_contributions(rows, case, most_units).values():
        total.update(contribution)
    if case.counting == "edges":
        return dict.fromkeys(total, STEPS)
    steps = 1 if case.counting == "weight" else STEPS
    return {cell: amount * steps for cell, amount in total.items() if amount}


def plain_scaled(rows: Iterable[Row], case: Case, bound: int, whole: int = 1) -> Amounts:
    """Return the grid units in each cell if each user is scaled down to the bound.

    Args:
        whole: amounts are rounded down to multiples of this, in grid units.
    """
    total: Counter[tuple[int, int, int]] = Counter()
    steps = 1 if case.counting == "weight" else STEPS
    for contribution in plain_contributions(rows, case, bound).values():
        contributed = sum(contribution.values()) * steps
        share = Fraction(bound * STEPS, max(contributed, bound * STEPS))
        for cell, count in contribution.items():
            amount = count * steps
            if share < 1:
                # The engine clips the dividend to 61 bits before it divides.
                amount = min(amount, 2**61 // (bound * STEPS))
            total[cell] += floor(share * amount) // whole * whole
    return {cell: amount for cell, amount in total.items() if amount}


def as_dict(cells: Cells) -> Amounts:
    """Return the grid units in each cell; check order, uniqueness and types of the arrays."""
    keys = zip(cells.period.tolist(), cells.first.tolist(), cells.second.tolist(), strict=True)
    amounts = dict(zip(keys, cells.steps.tolist(), strict=True))
    assert len(amounts) == len(cells.steps)
    assert list(amounts) == sorted(amounts)
    columns = (cells.period, cells.first, cells.second, cells.steps)
    assert {column.dtype for column in columns} == {np.dtype(np.int64)}
    return amounts


@pytest.mark.thorough(cases=22)
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
        scaled = scaled_cells(table, case.shape, bound=bound)
        assert as_dict(scaled) == plain_scaled(rows, case, bound)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_contributions_are_those_of_plain_python(counting):
    rows = random_rows(np.random.default_rng(7), 60)
    case = Case(counting=counting, **SHAPES["months, unordered"])
    totals = [sum(amounts.values()) for amounts in plain_contributions(rows, case).values()]
    unit = STEPS if counting == "weight" else 1
    expected = sorted(ceil(Fraction(total, unit)) for total in totals if total)
    assert sorted(contributions(case.coded(rows), case.shape).tolist()) == expected


@pytest.mark.parametrize("bound", [1, 2])
def test_clipped_cells_are_those_of_plain_python(bound):
    rows = random_rows(np.random.default_rng(8), 60)
    case = Case(counting="weight", owned=False, weight_unit=0.7, **SHAPES["months"])
    clipped = clipped_cells(case.coded(rows), case.shape, bound=bound)
    assert as_dict(clipped) == plain_cells(rows, case, bound)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("counting", "name"),
    [
        *(("edges", "months, unordered"), ("users", "quarters"), ("rows", "two sides")),
        *(("rows", "months, unordered"), ("edges", "two sides")),
    ],
)
def test_a_user_keeps_as_much_as_the_bound_allows_whoever_else_has_rows(counting, name):
    rows = random_rows(np.random.default_rng(9), 40, users=3)
    case = Case(counting=counting, **SHAPES[name])
    for bound in (1, 4):
        sum_of_users = Counter()
        for user, contribution in plain_contributions(rows, case).items():
            rows_of_user = [row for row in rows if row[0] == user]
            kept = as_dict(kept_cells(case.coded(rows_of_user), case.shape, bound=bound))
            assert sum(kept.values()) == min(sum(contribution.values()), bound) * STEPS
            assert all(kept[cell] <= contribution[cell] * STEPS for cell in kept)
            sum_of_users.update(kept)
        if counting == "edges":
            sum_of_users = dict.fromkeys(sum_of_users, STEPS)
        assert as_dict(kept_cells(case.coded(rows), case.shape, bound=bound)) == sum_of_users
    kept = kept_cells(case.coded(rows), case.shape, bound=1000)
    assert as_dict(kept) == plain_cells(rows, case)


def test_users_with_the_same_pairs_keep_different_ones():
    """All users have all pairs: each pair is kept by as many users, but for chance."""
    users, bound = 500, 10
    pairs = np.arange(81)
    coded = pa.table({"cell": np.tile(pairs, users), "user_key": np.repeat(np.arange(users), 81)})
    shape = Shape(counting="users", left=9, right=9, one_set=True, has_users=True)
    users_of_pair = kept_cells(DATABASE.from_arrow(coded), shape, bound=bound).steps / STEPS
    share = bound / 81
    assert users_of_pair.sum() == users * bound
    assert len(users_of_pair) == 81
    # A count has variance users * share * (1 - share); 81 counts of fixed sum have 80 degrees of
    # freedom. Chi-squared lies outside the interval with a chance of 10^-5 on either side.
    squares = np.sum((users_of_pair - users * share) ** 2)
    chi_squared = squares / (users * share * (1 - share) * 81 / 80)
    assert 37 < chi_squared < 146


def test_users_as_numbers_keep_the_same_rows_as_users_as_texts():
    rng = np.random.default_rng(3)
    cells, users = rng.integers(81, size=400), rng.integers(20, size=400)
    shape = Shape(counting="rows", left=9, right=9, one_set=True, has_users=True)

    def kept(user_key: np.ndarray) -> Amounts:
        coded = pa.table({"cell": cells, "user_key": user_key})
        return as_dict(kept_cells(DATABASE.from_arrow(coded), shape, bound=3))

    assert kept(users) == kept(users.astype(str))


# What one user changes. A query takes milliseconds however few rows it has, so many small tables
# lie side by side in one: no vertex and no user is in two of them.

TABLES = 120
MANY_TABLES = 400  # in slow tests
BOUNDS = {"months": 1, "months, unordered": 2, "quarters": 4, "one table": 3, "no loops": 5}


@cache
def tables_side_by_side(
    seed: int, tables: int
) -> tuple[tuple[Row, ...], tuple[Row, ...], tuple[str, ...]]:
    """Return rows of many small tables, the same without one user of each, and all labels."""
    rng, before, after, labels = np.random.default_rng(seed), [], [], []
    for table in range(tables):
        rows = random_rows(rng, int(rng.integers(1, 30)), users=int(rng.integers(1, 4)))
        removed_user = rows[0][0]
        labels += [f"{zone}{table}" for zone in ZONES]
        for user, source, target, date, weight in rows:
            row = (f"{user}-{table}", f"{source}{table}", f"{target}{table}", date, weight)
            before.append(row)
            if user != removed_user:
                after.append(row)
    order = rng.permutation(len(before))
    return tuple(before[index] for index in order), tuple(after), tuple(labels)


def changes(before: Amounts, after: Amounts, tables: int) -> list[int]:
    """Return the L1 distance in grid units, over all cells and periods, for each of the tables."""
    change_of_table = [0] * tables
    for cell in {*before, *after}:
        _, first, _ = cell
        change_of_table[first // len(ZONES)] += abs(before.get(cell, 0) - after.get(cell, 0))
    return change_of_table


Bounding = Callable[[Iterable[Row], Case, int], Cells]


def relative_changes(
    bounding: Bounding,
    counting: str,
    bounds: dict[str, int] = BOUNDS,
    tables: int = TABLES,
) -> list[float]:
    """Return what removing a user changes, over the bound, for each table of each shape."""
    relative = []
    for seed, (name, bound) in enumerate(bounds.items()):
        before, after, labels = tables_side_by_side(seed, tables)
        case = Case(counting=counting, **SHAPES[name] | {"labels": (labels, labels)})
        amounts = (as_dict(bounding(rows, case, bound)) for rows in (before, after))
        relative += [change / (bound * STEPS) for change in changes(*amounts, tables)]
    assert len(relative) == len(bounds) * tables
    return relative


def by_scaling(rows: Iterable[Row], case: Case, bound: int) -> Cells:
    return scaled_cells(case.coded(rows), case.shape, bound=bound)


def by_keeping(rows: Iterable[Row], case: Case, bound: int) -> Cells:
    return kept_cells(case.coded(rows), case.shape, bound=bound)


def by_keeping_in_each_period(rows: Iterable[Row], case: Case, bound: int) -> Cells:
    """Bound users within each period: an incorrect variant, if the bound is over all periods."""
    cells_of_periods = []
    for index, label in enumerate(case.periods):
        cells = by_keeping(rows, replace(case, periods=(label,)), bound)
        cells_of_periods.append(replace(cells, period=cells.period + index))
    return Cells(
        *(np.concatenate([getattr(cells, field) for cells in cells_of_periods]) for field in FIELDS)
    )


EACH_SIZE = pytest.mark.parametrize(
    "tables", [TABLES, pytest.param(MANY_TABLES, marks=pytest.mark.slow)]
)


@pytest.mark.thorough(cases=1)
@EACH_SIZE
@pytest.mark.parametrize("counting", COUNTINGS[1:])
def test_one_user_changes_all_scaled_cells_together_by_at_most_the_bound(counting, tables):
    relative = relative_changes(by_scaling, counting, tables=tables)
    assert 0.99 < max(relative) <= 1


@pytest.mark.thorough(cases=1)
@EACH_SIZE
@pytest.mark.parametrize("counting", COUNTINGS[:3])
def test_one_user_changes_all_kept_cells_together_by_at_most_the_bound(counting, tables):
    assert max(relative_changes(by_keeping, counting, tables=tables)) == 1


def test_a_bound_within_each_period_is_detected_as_too_weak():
    assert max(relative_changes(by_keeping_in_each_period, "rows", {"months": 1})) > 2


# Statement of the engine, a part of it, and the part of a database whose windows, joins or
# divisions are wrong.
FAULTS = {
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
def test_a_result_in_which_a_user_is_above_the_bound_is_refused(fault, monkeypatch):
    name, correct, wrong = FAULTS[fault]
    statement = getattr(engine, name)
    assert correct in statement
    monkeypatch.setattr(engine, name, statement.replace(correct, wrong))
    rows = random_rows(np.random.default_rng(1), 100)
    bounded_cells = kept_cells if name == "_KEPT" else scaled_cells
    with pytest.raises(GraphError, match="above the bound"):
        bounded_cells(Case().coded(rows), Case().shape, bound=3)


# Bounds that are refused, and rows that do not fit them.

ROW = ("p1", "a", "b", "2026-01-05", 1.0)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_no_rows_have_no_cells_and_no_contributions(counting):
    case = Case(counting=counting, periods=MONTHS)
    table = case.coded([])
    assert as_dict(unbounded_cells(table, case.shape)) == {}
    if counting != "edges":
        assert as_dict(scaled_cells(table, case.shape, bound=2)) == {}
    if counting != "weight":
        assert as_dict(kept_cells(table, case.shape, bound=2)) == {}
    assert contributions(table, case.shape).tolist() == []


@pytest.mark.parametrize("bound", [0, LARGEST_BOUND + 1, 1.5, True, None])
@pytest.mark.parametrize("bounded_cells", [scaled_cells, kept_cells, clipped_cells])
def test_a_bound_that_is_no_whole_number_in_range_is_refused(bounded_cells, bound):
    with pytest.raises(ParameterError, match="the bound must be a whole number from 1 to 1,048,5"):
        bounded_cells(Case().coded([ROW]), Case().shape, bound=bound)


MISMATCHES = {
    "edges by scaling": (scaled_cells, {"counting": "edges"}, "cannot be scaled"),
    "weights by choosing": (kept_cells, {"counting": "weight"}, "by scaling"),
    "clipped rows": (clipped_cells, {"counting": "rows"}, "is for counting='weight'"),
    "no users": (scaled_cells, {"counting": "rows", "owned": False}, "column of users"),
}


@pytest.mark.parametrize("mismatch", MISMATCHES)
def test_a_way_to_bound_that_does_not_fit_what_is_counted_is_refused(mismatch):
    bounded_cells, options, message = MISMATCHES[mismatch]
    case = Case(**options)
    with pytest.raises(ParameterError, match=message):
        bounded_cells(case.coded([ROW]), case.shape, bound=2)


def test_more_cells_than_64_bits_can_number_are_refused():
    with pytest.raises(GraphError, match="too many cells"):
        Shape(counting="rows", left=2**31, right=2**31, periods=2)


def test_errors_of_the_database_quote_no_row():
    table = DATABASE.sql("select 'secret' as cell, 1 as user_key")
    with pytest.raises(GraphError, match="the database failed") as refused:
        unbounded_cells(table, Case(loops=False).shape)
    assert refused.value.__cause__ is None
    assert "secret" not in str(refused.value)


def test_large_weights_are_exact_or_refused():
    """At the largest bound the products are above 2^60, where 64-bit floats have gaps of 256."""
    large = float(LARGEST_BOUND)
    rows = [("p", "a", "b", "2026-01-01", weight) for weight in (large, large - 0.7, 1 / 3, 9e30)]
    rows += [("p", "b", "a", "2026-01-01", weight) for weight in (large / 3, 1e-9, 77.123)]
    case = Case(counting="weight")
    for bound in (LARGEST_BOUND, LARGEST_BOUND - 1, 12345):
        scaled = scaled_cells(case.coded(rows), case.shape, bound=bound)
        assert as_dict(scaled) == plain_scaled(rows, case, bound)
    tiny_unit = replace(case, weight_unit=1e-30)
    with pytest.raises(GraphError, match="larger weight_unit"):
        unbounded_cells(tiny_unit.coded(rows * 500), tiny_unit.shape)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("per_period", [False, True])
def test_scaling_in_each_period_and_to_whole_units_is_that_of_plain_python(per_period, whole):
    rows = random_rows(np.random.default_rng(12), 80)
    case = Case(counting="weight", periods=MONTHS, per_period=per_period)
    # A user of each month is one of its own.
    users = [f"{user} {date[:7]}" if per_period else user for user, _, _, date, _ in rows]
    rows_of_users = [(user, *row[1:]) for user, row in zip(users, rows, strict=True)]

    scaled = scaled_cells(case.coded(rows), case.shape, bound=5, whole=whole)

    assert as_dict(scaled) == plain_scaled(rows_of_users, case, 5, STEPS if whole else 1)


# The row store.


def batches_of(
    case: Case, rows: list[Row], *sizes: int
) -> tuple[Iterator[pa.RecordBatch], pa.Schema]:
    """Return coded rows in batches of these sizes and one with the remaining rows; their schema."""
    table = case.coded(rows).to_arrow_table()
    starts = np.cumsum([0, *sizes])
    slices = [
        table[start:stop] for start, stop in zip(starts, [*starts[1:], len(table)], strict=True)
    ]
    return (batch for part in slices for batch in part.to_batches()), table.schema


@pytest.mark.parametrize("sizes", [(), (1, 2, 3), (100, 0, 300)])
def test_batches_give_the_same_cells_however_they_are_split(sizes):
    rows = random_rows(np.random.default_rng(2), 500)
    case = Case(periods=MONTHS)
    batches, schema = batches_of(case, rows, *sizes)
    with RowStore(batches, schema=schema, memory=2**28, threads=2) as store:
        for _ in range(2):  # batches can be read once, the store twice
            scaled = scaled_cells(store.table, case.shape, bound=20)
            assert as_dict(scaled) == plain_scaled(rows, case, 20)


def test_an_error_of_the_source_of_rows_is_raised_unchanged():
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"cell": [1]})
        raise GraphError("a row is bad")

    with pytest.raises(GraphError, match="a row is bad"):
        RowStore(batches(), schema=pa.schema([("cell", pa.int64())]))


COLUMN = pa.table({"cell": np.arange(3)})


def test_rows_on_disk_lie_in_a_private_folder_that_goes_with_the_store(tmp_path):
    store = RowStore(COLUMN, folder=tmp_path)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    store.close()
    assert not folder.exists()
    store = RowStore(COLUMN, folder=tmp_path)
    del store
    assert list(tmp_path.iterdir()) == []


def test_without_duckdb_the_error_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(FileFormatError, match=r"pip install 'graphcuts-dp\[tables\]'"):
        RowStore(COLUMN)


def test_a_query_that_needs_more_memory_than_allowed_is_refused():
    users = pa.table({"user_key": np.arange(10**6)})
    with RowStore(users, memory=2**24, threads=1) as store:
        one_long_key = store.table.query(
            "rows", "select array_agg(user_key)::varchar as user_key, 0 as cell from rows"
        )
        shape = Shape(counting="rows", left=1, right=1, has_users=True)
        with pytest.raises(GraphError, match="does not fit into memory"):
            scaled_cells(one_long_key, shape, bound=2)


# Opens a store in a folder, and dies before it can be removed.
KILLED_PROCESS = """
import os, signal, sys
import pyarrow as pa
from graphcuts_dp.graph.row_store import RowStore
store = RowStore(pa.table({"cell": [1]}), folder=sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays(tmp_path):
    without_lock = tmp_path / "graphcuts-dp-young"  # of a process that has just begun
    without_lock.mkdir()
    with RowStore(COLUMN, folder=tmp_path):
        living = {path.name for path in tmp_path.iterdir()}
        subprocess.run([sys.executable, "-c", KILLED_PROCESS, str(tmp_path)], check=False)
        killed = {path.name for path in tmp_path.iterdir()} - living
        assert len(killed) == 1
        for lock in tmp_path.glob("*/in-use"):
            os.utime(lock, (0, 0))  # past the time in which a process locks its folder
        with RowStore(COLUMN, folder=tmp_path):
            left = {path.name for path in tmp_path.iterdir()}
            assert living < left
            assert not killed & left
    assert list(tmp_path.iterdir()) == [without_lock]
