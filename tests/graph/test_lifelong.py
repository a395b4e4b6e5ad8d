"""Bounding what a user contributes in all periods together, before later periods are known."""

import random
from collections import Counter
from typing import Any

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


Row = tuple[str, str, str, str, float]  # user, origin, goal, date, amount
Steps = dict[tuple[int, int, int], int]  # grid units by period, first and second vertex


def rows_of(table: list[Row], counting: str = "rows", **options: Any) -> gc.Rows:
    """Return directed rows over three months."""
    frame = pandas.DataFrame(table, columns=["user", "origin", "goal", "date", "amount"])
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


def random_rows(seed: int, count: int = 60) -> list[Row]:
    rng = random.Random(seed)
    return [
        (
            f"u{rng.randrange(6)}",
            rng.choice(ZONES),
            rng.choice(ZONES),
            f"{rng.choice(MONTHS)}-10",
            rng.choice([0.3, 1.0, 2.5]),
        )
        for _ in range(count)
    ]


def bounded_in_turn(
    rows: gc.Rows, bound: int, used: UsedContributions | None = None, *, whole: bool = False
) -> tuple[Steps, UsedContributions]:
    """Bound the rows of each period in turn; return all cells, and what users have used then."""
    used = UsedContributions.none() if used is None else used
    unit, steps_of = gc.PrivacyUnit.user(max_contributions=bound), {}
    for period in range(len(MONTHS)):
        cells, used = lifelong_cells(rows, unit, used, period=period, whole=whole)
        for first, second, cell_period, steps in zip(
            cells.first, cells.second, cells.period, cells.steps, strict=True
        ):
            steps_of[int(cell_period), int(first), int(second)] = int(steps)
    return steps_of, used


def plain_steps(table: list[Row], bound: int, counting: str, *, whole: bool) -> Steps:
    """Return the same cells by plain Python, one user after the other."""
    total: Counter[tuple[int, int, int]] = Counter()
    for user in {row[0] for row in table}:
        remaining = bound * STEPS
        for period, month in enumerate(MONTHS):
            contributed: Counter[tuple[int, int, int]] = Counter()
            for row_user, origin, goal, date, amount in table:
                if row_user == user and date.startswith(month):
                    cell = period, ZONES.index(origin), ZONES.index(goal)
                    steps = int(amount * STEPS + 0.5) if counting == "weight" else STEPS
                    contributed[cell] = STEPS if counting == "users" else contributed[cell] + steps
            in_month = sum(contributed.values())
            for cell, steps in contributed.items():
                share = steps if in_month <= remaining else remaining * steps // in_month
                total[cell] += share // STEPS * STEPS if whole else share
            remaining -= min(in_month, remaining)
    return {cell: steps for cell, steps in total.items() if steps}


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("counting", ["rows", "users", "weight"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("bound", [1, 3, 1000])
def test_a_user_contributes_what_earlier_periods_leave_of_the_bound(counting, whole, bound):
    for seed in range(3):
        table = random_rows(seed)
        steps, _ = bounded_in_turn(rows_of(table, counting), bound, whole=whole)
        assert steps == plain_steps(table, bound, counting, whole=whole)


@pytest.mark.parametrize("tables", [2, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("counting", ["rows", "users", "weight"])
def test_removing_a_user_changes_all_periods_together_by_at_most_the_bound(counting, tables):
    """Some user reaches the bound, and no cell grows, since users do not depend on each other."""
    largest = 0
    for seed in range(tables):
        table, bound = random_rows(seed), 2
        whole, _ = bounded_in_turn(rows_of(table, counting), bound)
        for user in sorted({row[0] for row in table}):
            others = [row for row in table if row[0] != user]
            fewer, _ = bounded_in_turn(rows_of(others, counting), bound)
            changes = [whole[cell] - fewer.get(cell, 0) for cell in whole]
            assert set(fewer) <= set(whole)
            assert min(changes) >= 0
            assert sum(changes) <= bound * STEPS
            largest = max(largest, sum(changes))
    assert largest > 0.99 * bound * STEPS


def test_later_rows_do_not_change_cells_of_earlier_periods():
    early = [row for row in random_rows(1) if row[3] < "2026-03"]
    late = [row for row in random_rows(2) if row[3] >= "2026-03"]
    before, _ = bounded_in_turn(rows_of(early), 3)
    after, _ = bounded_in_turn(rows_of([*early, *late]), 3)
    assert {cell: steps for cell, steps in after.items() if cell[0] < 2} == before


def test_one_file_a_month_counts_as_one_table_that_grows():
    table, used, steps_of = random_rows(4), UsedContributions.none(), {}
    unit = gc.PrivacyUnit.user(max_contributions=3)
    for period, month in enumerate(MONTHS):
        rows = rows_of([row for row in table if row[3].startswith(month)])
        cells, used = lifelong_cells(rows, unit, used, period=period, whole=False)
        steps_of |= {
            (period, int(first), int(second)): int(steps)
            for first, second, steps in zip(cells.first, cells.second, cells.steps, strict=True)
        }
    assert steps_of == bounded_in_turn(rows_of(table), 3)[0]


def test_rows_in_files_have_the_same_users_as_rows_in_memory(tmp_path):
    """Files know users by name, rows in memory by numbers that depend on the other users."""
    table = random_rows(5)
    frame = pandas.DataFrame(table, columns=["user", "origin", "goal", "date", "amount"])
    frame.to_parquet(tmp_path / "trips.parquet")
    options = {"columns": COLUMNS, "vertices": ZONES, "kind": "directed"}
    options["periods"] = "2026-01..2026-03"
    streamed = gc.Rows.read(tmp_path / "trips.parquet", data_name="trips", **options)
    key = UsedContributions(bytes(range(32)), {})
    in_files, used_in_files = bounded_in_turn(streamed, 3, key)
    in_memory, used_in_memory = bounded_in_turn(rows_of(table), 3, key)
    assert in_files == in_memory
    assert used_in_files.steps == used_in_memory.steps


def test_an_integer_is_the_same_user_as_the_text_of_its_digits():
    text, numbers = (rows_of([(name, "a", "b", "2026-01-05", 1.0)] * 2) for name in ("17", 17))
    key = UsedContributions(bytes(32), {})
    unit = gc.PrivacyUnit.user(max_contributions=3)
    used = [lifelong_cells(rows, unit, key, period=0, whole=False)[1] for rows in (text, numbers)]
    assert used[0].steps == used[1].steps == {key.hash_of(17): 2 * STEPS}


def test_used_contributions_are_stored_unchanged_and_not_shown():
    _, used = bounded_in_turn(rows_of(random_rows(0)), 2)
    loaded = UsedContributions.from_arrays(used.to_arrays())
    assert (loaded.key, loaded.steps) == (used.key, used.steps)
    none = UsedContributions.none()
    assert UsedContributions.from_arrays(none.to_arrays()).steps == {}
    assert "u0" not in repr(used)
    assert used.key.hex() not in repr(used)


def test_amounts_of_2_to_the_31_are_divided_exactly():
    steps = np.array([2**31, 2**31, 1], dtype=np.int64)
    users, remaining = np.array([0, 0, 1]), np.array([2**30, 2**30], dtype=np.int64)
    bounded, totals = bounded_steps(steps, users, remaining)
    assert bounded.tolist() == [2**29, 2**29, 1]
    assert totals.tolist() == [2**30, 1]


def test_counting_edges_is_refused():
    rows = rows_of(random_rows(0), "edges")
    unit = gc.PrivacyUnit.user(max_contributions=3)
    with pytest.raises(ParameterError, match="per_period=True"):
        lifelong_cells(rows, unit, UsedContributions.none(), period=0, whole=False)
