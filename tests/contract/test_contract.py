"""Every table of the contract through every source: the same cells, or the same refusal."""

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphcuts_dp import GraphCutsError
from tests.contract.sources import ELSEWHERE, SOURCES, SPARK, Source, spark_session
from tests.contract.table import Table
from tests.contract.tables import TABLES

# All pairs of a table and a source take minutes. In the quick tests each table is read from these
# sources, one for each kind of `Source.kind`, and from one of the others, whose turn it is.
ALWAYS = ("arrow", "csv", "duckdb", "pandas objects")
FEWEST = 5  # tables that each other source reads in the quick tests

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


def is_good(table: Table, source: Source) -> bool:
    """Return whether a source can hold a table, and it has no fault there."""
    outcome = table.outcome(source.kind) if source.suits(table) else None
    return outcome is not None and outcome.cells is not None and not outcome.faults


def check(source: Source, table: Table, folder: Path, settings: tuple[str, ...]) -> None:
    """Check that the table has the outcome that it must have in this source.

    Args:
        source: which the table is read from.
        table: the table.
        folder: for files of the source; made here.
        settings: of `on_bad`, with which a table without bad rows is read.
    """
    outcome = table.outcome(source.kind)
    assert outcome is not None
    if is_good(table, source):
        for on_bad in settings:
            assert read(source, table, folder / on_bad, on_bad) == outcome.cells
        return
    refusal = read(source, table, folder / "refuse", "refuse")
    check_refusal(table, source.kind, outcome.faults, refusal)
    skipped = read(source, table, folder / "skip", "skip")
    if outcome.cells is not None:
        assert "on_bad" in refusal
        assert skipped == outcome.cells
        return
    check_refusal(table, source.kind, outcome.faults, skipped)
    if outcome.by_type:
        empty = read(source, table.taken([]), folder / "empty", "skip")
        check_refusal(table, source.kind, outcome.faults, empty)


def check_all(
    sources: list[Source], table: Table, folder: Path, settings: tuple[str, ...] = ("skip",)
) -> None:
    """Check a table in several sources; an error names the one that it is about."""
    for source in sources:
        try:
            check(source, table, folder / source.name, settings)
        except BaseException as problem:
            problem.add_note(f"source: {source.name}")
            raise


def fitting(table: Table, *, always: bool) -> list[Source]:
    """Return the sources that can hold a table: those of `ALWAYS`, or the others."""
    sources = (each for each in SOURCES.values() if (each.name in ALWAYS) is always)
    return [source for source in sources if source.suits(table)]


def in_turn(name: str) -> list[Source]:
    """Return the other source, if any, from which the table of this name is read."""
    others = fitting(TABLES[name], always=False)
    return others[list(TABLES).index(name) % len(others) :][:1] if others else []


@pytest.mark.thorough(cases=20)
@pytest.mark.parametrize("name", TABLES)
def test_every_kind_of_source_reads_the_same(name: str, tmp_path: Path) -> None:
    sources = fitting(TABLES[name], always=True) + in_turn(name)
    check_all(sources, TABLES[name], tmp_path)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("source", [SOURCES[name] for name in ALWAYS], ids=ALWAYS)
def test_bad_rows_that_would_be_refused_change_no_table_without_them(
    source: Source, tmp_path: Path
) -> None:
    """One table of each kind of graph and of each that is counted."""
    tables = {
        (table.kind, table.counting, frozenset(table.columns)): table
        for table in TABLES.values()
        if is_good(table, source)
    }
    for number, table in enumerate(tables.values()):
        check(source, table, tmp_path / str(number), ("refuse",))


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_every_source_reads_the_same(name: str, tmp_path: Path) -> None:
    sources = fitting(TABLES[name], always=True) + fitting(TABLES[name], always=False)
    check_all(sources, TABLES[name], tmp_path, ("skip", "refuse"))


@pytest.fixture(scope="module")
def _spark() -> Iterator[None]:
    with spark_session():
        yield


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_spark")
@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if SPARK.suits(table)])
def test_spark_reads_the_same(name: str, tmp_path: Path) -> None:
    check(SPARK, TABLES[name], tmp_path, ("skip", "refuse"))


def test_every_kind_of_source_always_reads_every_table() -> None:
    kinds = {source.kind for source in SOURCES.values()}
    assert {SOURCES[name].kind for name in ALWAYS} == kinds


def test_each_other_source_has_its_turn() -> None:
    turns = Counter(source.name for name in TABLES for source in in_turn(name))
    assert turns.keys() == SOURCES.keys() - set(ALWAYS)
    assert min(turns.values()) >= FEWEST, turns


def test_there_are_enough_tables_and_each_is_read() -> None:
    assert len(TABLES) >= 80
    for table in TABLES.values():
        assert any(source.suits(table) for source in SOURCES.values()), table.name
