"""Every table of the contract through every source: the same cells, or the same refusal."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphcuts_dp.errors import GraphCutsError
from tests.contract.sources import ELSEWHERE, SOURCES, SPARK, Source, spark_session
from tests.contract.table import Table
from tests.contract.tables import TABLES

# All pairs of a table and a source take minutes. These sources read every table in the quick tests,
# one for each kind of `Source.kind`; of the tables of each other source, one in so many.
ALWAYS = {"csv", "pandas objects", "arrow", "duckdb"}
ONE_IN = 12

pytestmark = pytest.mark.usefixtures("one_database", "_elsewhere")


@pytest.fixture(scope="module", autouse=True)
def _elsewhere() -> Iterator[None]:
    """The machine stands in a zone that no table names."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = ELSEWHERE
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def read(source: Source, table: Table, folder: Path, on_bad: str) -> dict | str:
    """The cells of a table, or the text of the error that refuses it."""
    folder.mkdir(parents=True)
    try:
        return table.cells(source.rows(table, folder, on_bad))
    except GraphCutsError as problem:
        return str(problem)


def private_texts(table: Table, kind: str) -> set[str]:
    """Values of rows that no message may quote: those that are not public, and long enough."""
    told = " ".join(
        map(repr, (table.vertices, table.periods, table.options, table.headers, table.user))
    )
    values = (value for each in table.columns.values() for value in each.of_kind(kind))
    texts = {str(value) for value in values if value is not None}
    return {each for each in texts if len(each) > 3 and each not in told} - {
        "2026-01-31",
        "True",
        "False",
    }


def check_refusal(table: Table, kind: str, faults: tuple[str, ...], message: dict | str) -> None:
    """The table is refused in one line that states all faults and quotes no value of a row."""
    assert isinstance(message, str), f"read as {message}"
    assert "\n" not in message
    for fault in faults:
        assert re.search(fault, message, re.IGNORECASE), message
    quoted = {each for each in private_texts(table, kind) if each in message}
    assert not quoted, message


def check(source: Source, table: Table, folder: Path) -> None:
    """The table has the outcome that it must have in this source."""
    outcome = table.outcome(source.kind)
    assert outcome is not None
    skipped = read(source, table, folder / "skip", "skip")
    if outcome.cells is None or outcome.faults:
        refusal = read(source, table, folder / "refuse", "refuse")
        check_refusal(table, source.kind, outcome.faults, refusal)
        if outcome.cells is not None:
            assert "on_bad" in refusal
    else:
        assert read(source, table, folder / "refuse", "refuse") == outcome.cells
    if outcome.cells is not None:
        assert skipped == outcome.cells
        return
    check_refusal(table, source.kind, outcome.faults, skipped)
    if outcome.by_type:
        empty = read(source, table.taken([]), folder / "empty", "skip")
        check_refusal(table, source.kind, outcome.faults, empty)


def marks_of(table_number: int, source_number: int, source: Source) -> list[pytest.MarkDecorator]:
    """Which pairs are left to the slow tests."""
    always = source.name in ALWAYS or (table_number + source_number) % ONE_IN == 0
    return [] if always else [pytest.mark.slow]


PAIRS = [
    pytest.param(
        table,
        source,
        id=f"{source.name}: {table.name}",
        marks=marks_of(table_number, source_number, source),
    )
    for source_number, source in enumerate(SOURCES.values())
    for table_number, table in enumerate(TABLES.values())
    if source.suits(table)
]


@pytest.mark.parametrize(("table", "source"), PAIRS)
def test_every_source_reads_the_same(table: Table, source: Source, tmp_path: Path) -> None:
    check(source, table, tmp_path)


@pytest.fixture(scope="module")
def _spark() -> Iterator[None]:
    with spark_session():
        yield


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_spark")
@pytest.mark.parametrize(
    "table", [pytest.param(each, id=each.name) for each in TABLES.values() if SPARK.suits(each)]
)
def test_spark_reads_the_same(table: Table, tmp_path: Path) -> None:
    check(SPARK, table, tmp_path)


def test_every_kind_of_source_always_reads_every_table() -> None:
    kinds = {source.kind for source in SOURCES.values()}
    assert {SOURCES[name].kind for name in ALWAYS} == kinds


def test_there_are_enough_tables_and_each_is_read() -> None:
    assert len(TABLES) >= 80
    for table in TABLES.values():
        assert any(source.suits(table) for source in SOURCES.values()), table.name
