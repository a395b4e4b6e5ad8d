"""Without one user, the cells of any table change by at most the bound, in every source."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.contract.neighbours import change, neighbours, random_table, users_of
from tests.contract.sources import SOURCES, SPARK, Source, spark_session
from tests.contract.table import Table, loose, text

pytestmark = pytest.mark.usefixtures("one_database")
PER_SOURCE = 2  # tables in quick tests: about 50 in all
MANY_PER_SOURCE = 2_000  # in slow ones
ON_SPARK = 50
AT_ONCE = 3  # users, and bad rows, that are removed from each table
ROUNDING = 1e-9


def check_random_tables(source: Source, count: int, folder: Path) -> None:
    """No user of so many random tables changes more than the bound, nor whether they are read."""
    names = sorted([*SOURCES, SPARK.name])
    rng = np.random.default_rng([59, names.index(source.name)])
    done = compared = 0
    while done < count:
        table = random_table(rng, source.kind)
        if not source.suits(table):
            continue
        found = neighbours(source, table, folder / f"{done} skip", most=AT_ONCE)
        assert found.disagreed == 0, table
        assert found.largest <= table.bound + ROUNDING, table
        assert found.of_bad_rows == 0, table
        compared += found.compared
        if done % 3 == 0:
            strict = neighbours(source, table, folder / f"{done} refuse", on_bad="refuse", most=1)
            assert max(strict.largest, strict.of_bad_rows) <= table.bound + ROUNDING, table
        done += 1
    assert compared > count  # most tables are read, and have several users


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_user_changes_at_most_the_bound(source: Source, tmp_path: Path) -> None:
    check_random_tables(source, PER_SOURCE, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_user_of_many_tables_changes_at_most_the_bound(source: Source, tmp_path: Path) -> None:
    check_random_tables(source, MANY_PER_SOURCE, tmp_path)


@pytest.fixture(scope="module")
def _spark() -> Iterator[None]:
    with spark_session():
        yield


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_spark")
def test_a_user_changes_at_most_the_bound_in_spark(tmp_path: Path) -> None:
    check_random_tables(SPARK, ON_SPARK, tmp_path)


# The tool itself.


def table_of(users: list) -> Table:
    count = len(users)
    columns = {"source": text(*"a" * count), "target": text(*"b" * count), "user": loose(*users)}
    return Table(name="x", columns=columns, bound=1)


def test_who_is_a_user() -> None:
    table = table_of([1, "1", " 1", 1.0, None, True, "a"])
    assert users_of(table, "object") == {"1": [0, 1], " 1": [2], None: [3, 4, 5], "a": [6]}
    found = users_of(table, "text")
    assert found == {"1": [0, 1, 2], "1.0": [3], None: [4], "True": [5], "a": [6]}


def test_how_far_cells_are_apart() -> None:
    before, after = {("a", "b", "1"): 2.0, ("a", "b", "2"): 1.0}, {("a", "b", "1"): 0.5}
    assert change(before, after, per_period=False) == 2.5
    assert change(before, after, per_period=True) == 1.5
    assert change({}, {}, per_period=True) == 0


def test_the_tool_sees_a_reader_that_types_a_column_by_its_rows(tmp_path: Path) -> None:
    """As a reader did that took a column for integers if all its rows were."""

    class ByRows(Source):
        def rows(self, table: Table, folder: Path, on_bad: str):  # noqa: ANN202, RUF100
            users = table.columns["user"].values
            mixed = any(isinstance(user, str) and not user.isdigit() for user in users)
            named = [user if mixed else str(user) for user in users]
            columns = table.columns | {"user": loose(*(f"{type(u)}{u}" for u in named))}
            return super().rows(replace(table, columns=columns), folder, on_bad)

    wrong = ByRows("wrong", "object", SOURCES["pandas objects"].make)
    table = table_of([1, "1", 2, "2", 3, "3", "a"])
    table = replace(table, expected={"object": None})  # type: ignore[dict-item]
    assert neighbours(wrong, table, tmp_path / "0").largest > 1
    assert neighbours(SOURCES["pandas objects"], table, tmp_path / "1").largest == 1
