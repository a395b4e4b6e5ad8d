"""A bound on what a user contributes in all periods together, without knowing later ones."""

import random

import numpy as np
import pandas
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.graph.lifelong import UsedContributions, bounded_steps, lifelong_cells
from graphcuts_dp.schema.counting import STEPS

ZONES = ["a", "b", "c"]
MONTHS = ("2026-01", "2026-02", "2026-03")
COLUMNS = gc.Columns(source="origin", target="goal", user="user", period="date", weight=None)


def rows_of(listed, counting="rows", **options):
    frame = pandas.DataFrame(listed, columns=["user", "origin", "goal", "date", "amount"])
    columns = COLUMNS
    if counting == "weight":
        columns = gc.Columns(
            source="origin", target="goal", user="user", period="date", weight="amount"
        )
    return gc.Rows.of(
        frame.astype({"amount": "float64"}),
        columns=columns,
        vertices=ZONES,
        kind="directed",
        periods="2026-01..2026-03",
        counting=counting,
        **options,
    )


def random_rows(seed, count=60):
    drawn = random.Random(seed)
    return [
        (
            f"u{drawn.randrange(6)}",
            drawn.choice(ZONES),
            drawn.choice(ZONES),
            f"{drawn.choice(MONTHS)}-10",
            drawn.choice([0.3, 1.0, 2.5]),
        )
        for _ in range(count)
    ]


def counted(rows, bound, used=None, whole=False):
    """Steps by period, first and second vertex, of all periods in order; and what is used up."""
    used = UsedContributions.none() if used is None else used
    unit, found = gc.PrivacyUnit.user(max_contributions=bound), {}
    for period in range(3):
        cells, used = lifelong_cells(rows, unit, used, period=period, whole=whole)
        for first, second, number, steps in zip(
            cells.first, cells.second, cells.period, cells.steps, strict=True
        ):
            found[int(number), int(first), int(second)] = int(steps)
    return found, used


def oracle(listed, bound, counting, whole):
    """The same by hand, one user after the other."""
    found = {}
    for user in {row[0] for row in listed}:
        left = bound * STEPS
        for period, month in enumerate(MONTHS):
            cells = {}
            for name, origin, goal, date, amount in listed:
                if name == user and date.startswith(month):
                    cell = period, ZONES.index(origin), ZONES.index(goal)
                    steps = STEPS
                    if counting == "weight":
                        steps = int(amount * STEPS + 0.5)
                    cells[cell] = STEPS if counting == "users" else cells.get(cell, 0) + steps
            total = sum(cells.values())
            for cell, steps in cells.items():
                part = steps if total <= left else left * steps // total
                part = part // STEPS * STEPS if whole else part
                found[cell] = found.get(cell, 0) + part
            left -= min(total, left)
    return {cell: steps for cell, steps in found.items() if steps}


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("counting", ["rows", "users", "weight"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("bound", [1, 3, 1000])
def test_what_counts_is_what_is_left_of_the_bound(counting, whole, bound):
    for seed in range(3):
        listed = random_rows(seed)
        found, _ = counted(rows_of(listed, counting), bound, whole=whole)
        assert found == oracle(listed, bound, counting, whole)


@pytest.mark.parametrize("tables", [2, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("counting", ["rows", "users", "weight"])
def test_without_a_user_all_periods_together_change_by_the_bound_at_most(counting, tables):
    """And by that for some user; the cells of others stay as they are."""
    largest = 0
    for seed in range(tables):
        listed, bound = random_rows(seed), 2
        whole, _ = counted(rows_of(listed, counting), bound)
        for user in sorted({row[0] for row in listed}):
            others = [row for row in listed if row[0] != user]
            fewer, _ = counted(rows_of(others, counting), bound)
            changes = [whole[cell] - fewer.get(cell, 0) for cell in whole]
            assert set(fewer) <= set(whole)
            assert min(changes) >= 0
            assert sum(changes) <= bound * STEPS
            largest = max(largest, sum(changes))
    assert largest > 0.99 * bound * STEPS


def test_later_rows_change_nothing_that_was_counted():
    early = [row for row in random_rows(1) if row[3] < "2026-03"]
    late = [row for row in random_rows(2) if row[3] >= "2026-03"]
    before, _ = counted(rows_of(early), 3)
    after, _ = counted(rows_of([*early, *late]), 3)
    assert {cell: steps for cell, steps in after.items() if cell[0] < 2} == before


def test_one_file_a_month_counts_as_one_table_that_grows():
    listed, used, found = random_rows(4), UsedContributions.none(), {}
    for period, month in enumerate(MONTHS):
        only = rows_of([row for row in listed if row[3].startswith(month)])
        unit = gc.PrivacyUnit.user(max_contributions=3)
        cells, used = lifelong_cells(only, unit, used, period=period, whole=False)
        found |= {
            (period, int(first), int(second)): int(steps)
            for first, second, steps in zip(cells.first, cells.second, cells.steps, strict=True)
        }
    assert found == counted(rows_of(listed), 3)[0]


def test_rows_that_stay_in_files_name_the_same_users(tmp_path):
    """Their keys are names, those of rows in memory numbers that depend on other users."""
    listed = random_rows(5)
    frame = pandas.DataFrame(listed, columns=["user", "origin", "goal", "date", "amount"])
    frame.to_parquet(tmp_path / "trips.parquet")
    options = {"columns": COLUMNS, "vertices": ZONES, "kind": "directed"}
    options["periods"] = "2026-01..2026-03"
    streamed = gc.Rows.read(tmp_path / "trips.parquet", data_name="trips", **options)
    key = UsedContributions(bytes(range(32)), {})
    in_files, used_in_files = counted(streamed, 3, key)
    in_memory, used_in_memory = counted(rows_of(listed), 3, key)
    assert in_files == in_memory
    assert used_in_files.steps == used_in_memory.steps


def test_integers_are_named_by_their_digits():
    text, numbers = (rows_of([(name, "a", "b", "2026-01-05", 1.0)] * 2) for name in ("17", 17))
    key = UsedContributions(bytes(32), {})
    unit = gc.PrivacyUnit.user(max_contributions=3)
    used = [lifelong_cells(rows, unit, key, period=0, whole=False)[1] for rows in (text, numbers)]
    assert used[0].steps == used[1].steps == {key.hash_of(17): 2 * STEPS}


def test_counts_come_back_from_the_store_as_they_were():
    _, used = counted(rows_of(random_rows(0)), 2)
    again = UsedContributions.from_arrays(used.to_arrays())
    assert (again.key, again.steps) == (used.key, used.steps)
    none = UsedContributions.none()
    assert UsedContributions.from_arrays(none.to_arrays()).steps == {}
    assert "u0" not in repr(used)
    assert used.key.hex() not in repr(used)


def test_large_amounts_stay_exact():
    steps = np.array([2**31, 2**31, 1], dtype=np.int64)
    users, left = np.array([0, 0, 1]), np.array([2**30, 2**30], dtype=np.int64)
    found, totals = bounded_steps(steps, users, left)
    assert found.tolist() == [2**29, 2**29, 1]
    assert totals.tolist() == [2**30, 1]


def test_pairs_that_are_there_or_not_are_refused():
    rows = rows_of(random_rows(0), "edges")
    unit = gc.PrivacyUnit.user(max_contributions=3)
    with pytest.raises(ParameterError, match="per_period=True"):
        lifelong_cells(rows, unit, UsedContributions.none(), period=0, whole=False)
