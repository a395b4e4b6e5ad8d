"""Names of columns that are odd: marks, quotes, duplicates, no names, names that are no text."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError

pytestmark = pytest.mark.usefixtures("one_database")
BOUND = gc.PrivacyUnit.user(max_contributions=1)
HOW: dict[str, Any] = {"vertices": ["a", "b"], "kind": "directed"}
BY_NAME = gc.Columns(source="o", target="d", user="who")
BY_PLACE = gc.Columns(source=0, target=1, user=2)
LINES = "a,b,u\na,b,u\na,b,v\n"


def users_of(rows: gc.Rows) -> float:
    """How many users the rows from a to b have."""
    cells = rows.cells(BOUND, whole=False)
    assert (cells.first.tolist(), cells.second.tolist()) == ([0], [1])
    return cells.steps[0] / 1024


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize(
    "content",
    [
        "o,d,who\n" + LINES,
        "\ufeffo,d,who\n" + LINES,
        '\ufeff"o","d","who"\n' + LINES,
        ' o , d,"who"\n' + LINES,
        "o,d,who\r\n" + LINES.replace("\n", "\r\n"),
        "o,d,who\r\n" + LINES.rstrip(),
        "\n\no,d,who\n\n" + LINES,
        "sep=;\no;d;who\n" + LINES.replace(",", ";"),
        "o;d;who\n" + LINES.replace(",", ";"),
        "o,d,who,,\n" + LINES.replace("\n", ",,\n"),
        "o,d,who,x,x\n" + LINES.replace("\n", ",1,2\n"),
        "d,who,o\n" + "b,u,a\nb,u,a\nb,v,a\n",
    ],
)
def test_headers_of_text(put: Callable[..., Path], content: str) -> None:
    for data in (content.encode(), content.removeprefix("\ufeff").encode("utf-16")):
        rows = gc.Rows.read(put("x.csv", data), columns=BY_NAME, **HOW)
        assert users_of(rows) == 2
        assert users_of(gc.Rows.read(io.BytesIO(data), columns=BY_NAME, **HOW)) == 2


@pytest.mark.parametrize(
    "header",
    ["o,o,who", "o,d,who,who", "O,d,who", "o d,who", "o,d", "a,b,u", '"o,d",who', "o,d,who\ufeff"],
)
@pytest.mark.parametrize("on_bad", ["refuse", "skip"])
def test_headers_of_text_that_are_refused(
    put: Callable[..., Path], header: str, on_bad: Any
) -> None:
    columns = gc.Columns(source="o", target="d", user="who", on_bad=on_bad)
    for lines in (LINES, ""):
        with pytest.raises(GraphCutsError) as caught:
            gc.Rows.read(put("x.csv", f"{header}\n{lines}"), columns=columns, **HOW)
        assert "\n" not in str(caught.value)


def test_text_without_a_header(put: Callable[..., Path]) -> None:
    columns = gc.Columns(source=0, target=1, user=2, header=False)
    for name, content in (("x.csv", LINES), ("x.edges", LINES.replace(",", " "))):
        assert users_of(gc.Rows.read(put(name, content), columns=columns, **HOW)) == 2


ROWS = [("a", "b", "u"), ("a", "b", "u"), ("a", "b", "v")]
NAMES: list[list[Any]] = [
    [0, 1, 2],
    [2, 1, 0],
    [None, 1.5, True],
    [("x", 1), ("x", 2), ("y", 1)],
    ["", " ", "  "],
    ["1", "0", "3"],
    [pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02"), "who"],
]


@pytest.mark.thorough(cases=10)
@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("kept", [False, True])
def test_names_of_pandas_that_are_no_text(names: list[Any], kept: bool) -> None:
    frame = pd.DataFrame(ROWS)
    frame.columns = pd.Index(names)
    rows = gc.Rows.of(frame, columns=BY_PLACE, data_name="trips" if kept else None, **HOW)
    assert users_of(rows) == 2
    graph = gc.Graph.of(frame, columns=gc.Columns(source=0, target=1), weighted=False)
    assert list(graph.labels) == ["a", "b"]


def with_duplicates(names: list[str]) -> pa.Table:
    columns = [*zip(*ROWS, strict=True), ("x", "y", "z"), ("1", "2", "3")]
    return pa.table([pa.array(column) for column in columns], names)


def of_pandas(table: pa.Table) -> pd.DataFrame:
    frame = pd.DataFrame({place: column.to_pylist() for place, column in enumerate(table.columns)})
    frame.columns = pd.Index(table.column_names)
    return frame


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("kind", ["arrow", "batches", "pandas", "parquet"])
def test_names_that_occur_twice(kind: str, kept: bool, tmp_path: Path) -> None:
    """Columns that are not read may share a name; of those that are, which is meant is unknown."""

    def rows_of(names: list[str]) -> gc.Rows:
        table = with_duplicates(names)
        how = HOW | {"columns": BY_NAME, "data_name": "trips" if kept else None}
        if kind == "parquet":
            parquet.write_table(table, tmp_path / "x.parquet")
            return gc.Rows.read(tmp_path / "x.parquet", **how)
        made = {"batches": lambda t: t.to_reader(1), "pandas": of_pandas}
        return gc.Rows.of(made.get(kind, lambda t: t)(table), **how)

    assert users_of(rows_of(["o", "d", "who", "x", "x"])) == 2
    with pytest.raises(GraphCutsError, match=r"name|column"):
        rows_of(["o", "d", "who", "who", "x"]).cells(BOUND, whole=False)
    with pytest.raises(GraphCutsError, match=r"name|column"):
        rows_of(["o", "o", "who", "x", "y"]).cells(BOUND, whole=False)
