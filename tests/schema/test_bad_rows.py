"""Bad rows: all kinds are reported in one message, or each bad row is left out by itself."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from pyarrow import parquet

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphCutsError, GraphError, ParameterError
from graphcuts_dp.io import text as edge_lists
from graphcuts_dp.io.assemble import assemble
from graphcuts_dp.io.files import read_raw
from graphcuts_dp.io.numbering import codes_and_names
from graphcuts_dp.io.sources import edges_of
from graphcuts_dp.io.tables import edges_of_table, open_table
from graphcuts_dp.plugins import Options

ZONES = ["North", "South", "7"]
COLUMNS = {"source": "from", "target": "to", "user": "who", "period": "month", "weight": "paid"}
HEAD = "who;from;to;month;paid"
# Each line with its fault; None of a row that counts.
MESSY = [
    ("ann;North;South;2026-01;3,5", None),
    ("ann;North;North;2026-01;1", None),
    ('"ann";"South";7;2026-02;"2,25"', None),
    ("bob;;South;2026-01;1", "an endpoint is missing"),
    ("bob;North;Nowhere;2026-01;1", "not in the public vertex set"),
    ("bob;North;South;2026-01;abc", "no number"),
    ("bob;North;South;2026-01;3.5", "no number"),
    ("bob;North;South;2026-01;1.234,5", "no number"),
    ("bob;North;South;2026-01;nan", "negative or not finite"),
    ("bob;North;South;2026-01;-1", "negative or not finite"),
    (";North;South;2026-01;1", "the user is missing"),
    ("bob;North;South;;1", "the period is missing"),
    ("bob;North;South;2026-01", "expected 5 columns"),
    ("bob;North;South;2026-01;1;more", "expected 5 columns"),
    ('bob;"North;South;2026-01;1', "quotes"),
    ("bob;7;North;2026-02;1e1", None),
    (";;;;", None),  # an empty row of a spreadsheet
    ("", None),
    ("eve;South;7;2026-03;0", None),
]
# Words of the message for faults whose name above is not in it.
WORDS = {
    "no number": "not a number with a decimal comma",
    "quotes": "check its quotes, which end on their line",
}


def messy_file(ending: str, encoding: str) -> bytes:
    return (ending.join([HEAD, *(line for line, _ in MESSY)]) + ending).encode(encoding)


def good_rows() -> Iterator[tuple[str, str, str, str, float]]:
    """Yield the endpoints, user, period and weight of the rows of MESSY that count."""
    for line, fault in MESSY:
        cells = [cell.strip('"') for cell in line.split(";")]
        if fault is None and any(cells):
            user, first, second, month, weight = cells
            yield first, second, user, str(int(month[-2:]) - 1), float(weight.replace(",", "."))


def options(on_bad: str = "skip", *, vertices: Any = ZONES, **columns: Any) -> Options:
    """Return options for a file of directed rows, with these columns by name or number."""
    return Options(
        columns=gc.Columns(on_bad=on_bad, **columns),
        vertices=gc.VertexSet(vertices),
        weighted=None if "weight" in columns else False,
        periods=gc.Periods.of("2026-01..2026-03") if "period" in columns else None,
        directed=True,
    )


def rows_that_count(raw: Any, options: Options) -> list[tuple[Any, ...]]:
    """Return the endpoints, user, period and weight of each row that counts, in file order."""
    space, parts, _ = assemble(raw, options)
    names = space.vertices.labels
    columns = [
        [str(names[vertex]) for vertex in endpoints.tolist()]
        for endpoints in (parts.rows, parts.columns)
    ]
    if raw.users is not None:
        codes, names = codes_and_names(raw.users)
        columns.append([str(names[code]) for code in codes])
    if raw.periods is not None:
        columns.append([str(number) for number in raw.periods.tolist()])
    columns += [] if parts.weights is None else [parts.weights.tolist()]
    return list(zip(*columns, strict=True))


def rows_in(path: Path, options: Options) -> list[tuple[Any, ...]]:
    return rows_that_count(read_raw(path, options), options)


@pytest.mark.thorough(cases=15)
@pytest.mark.parametrize("block", [1, 40, 1 << 18])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_messy_table_without_its_bad_rows(put, monkeypatch, ending, encoding, block):
    monkeypatch.setattr(edge_lists, "BLOCK", block)
    encoding_option = {"encoding": encoding} if encoding == "cp1252" else {}
    read_options = options(**COLUMNS, decimal=",", **encoding_option)
    assert rows_in(put("x.csv", messy_file(ending, encoding)), read_options) == list(good_rows())


def test_all_kinds_are_told_in_one_line_with_the_first_line_of_each(put):
    path = put("x.csv", messy_file("\r\n", "utf-8"))
    read_options = options("refuse", **COLUMNS, decimal=",")
    with pytest.raises(FileFormatError) as error:
        rows_in(path, read_options)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith("correct such rows, or leave them out with on_bad='skip'")
    first_line_of = {}
    for number, (_, fault) in enumerate(MESSY, 2):
        first_line_of.setdefault(fault, number)
    del first_line_of[None]
    assert message.count("line ") == len(first_line_of)
    for fault, number in first_line_of.items():
        assert message.count(f"line {number}: ") == 1
        assert WORDS.get(fault, fault) in message.split(f"line {number}: ")[1].split(";")[0]
    for cell in chain.from_iterable(line.replace('"', "").split(";") for line, _ in MESSY[3:]):
        assert len(cell) < 3 or cell not in message


DATED = "from,to,when\nNorth,South,2026-01-17 08:30\nNorth,7,2026-02\nSouth,7,2027-01-01\n"
UNDATED = DATED + "South,North,\nNorth,Nowhere,\nNorth,South,2026\nNorth,South,2026-13\n"


@pytest.mark.parametrize("kind", ["x.csv", "x.parquet", "frame"])
def test_rows_name_a_period_or_are_bad(put, tmp_path, kind):
    read_options = replace(options(period="when"), periods=gc.Periods.of("2026-01..2026-12"))
    refusing = replace(read_options, columns=replace(read_options.columns, on_bad="refuse"))
    frame = pd.read_csv(put("x.csv", UNDATED), dtype=str)
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "x.parquet")

    def raw(options):
        if kind == "frame":
            return edges_of_table(open_table(frame), options)
        return read_raw(tmp_path / kind, options)

    sound = [("North", "South", "0"), ("North", "7", "1"), ("South", "7", "-1")]
    assert (
        rows_that_count(raw(read_options), read_options) == sound
    )  # -1 of a period that is not declared
    with pytest.raises(GraphCutsError) as error:
        rows_that_count(raw(refusing), refusing)
    message = str(error.value)
    words = "the period is missing" if kind == "x.csv" else "period"
    assert words in message
    assert "the period is no month, such as 2026-01-31" in message
    assert message.count("counted from 0" if kind != "x.csv" else "line ") == (
        3 if kind == "x.csv" else 2
    )


@pytest.mark.parametrize("kind", ["days", "times", "mixed"])
def test_dates_of_python_are_periods(kind):
    day, time = date(2026, 1, 17), datetime(2026, 2, 3, 8, 30)
    values = {"days": [day, None], "times": [time, pd.NaT], "mixed": [day, time, "2026-03", 7, 1.5]}
    column = pd.Series(values[kind], dtype=object)
    frame = pd.DataFrame({"from": "North", "to": "South", "when": column})
    read_options = replace(options(period="when"), periods=gc.Periods.of("2026-01..2026-12"))
    periods = [
        period
        for *_, period in rows_that_count(
            edges_of_table(open_table(frame), read_options), read_options
        )
    ]
    assert periods == {"days": ["0"], "times": ["1"], "mixed": ["0", "1", "2"]}[kind]


def test_other_names_of_periods_are_no_dates(put):
    read_options = replace(options(period="when"), periods=gc.Periods.of(["spring", "2026 autumn"]))
    lines = ["from,to,when", "North,South,spring", "North,7,2026 autumn", "North,7,winter", "7,7,"]
    rows = rows_in(put("x.csv", "\n".join(lines)), read_options)
    assert [period for *_, period in rows] == ["0", "1", "-1"]


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        (
            ";Nowhere;;2026-01;x",
            ["endpoint is missing", "user", "not a number", "public vertex set"],
        ),
        (";North;Nowhere;;1", ["user", "period", "public vertex set"]),
        ("ann;North;Nowhere;2026-01;-1", ["negative", "public vertex set"]),
        ("ann;;;;", ["endpoint is missing", "period", "weight is missing"]),
    ],
)
def test_all_faults_of_one_row_are_reported(put, row, kinds):
    with pytest.raises(FileFormatError) as error:
        rows_in(put("x.csv", f"{HEAD}\n{row}\n"), options("refuse", **COLUMNS))
    faults = str(error.value).split("line 2: ")[1:]
    assert len(faults) == len(kinds)
    assert all(any(kind in fault for fault in faults) for kind in kinds)


def test_one_fault_among_ten_blocks_is_reported_with_its_line(put, monkeypatch):
    monkeypatch.setattr(edge_lists, "BLOCK", 50)
    lines = ["ann;North;South;2026-01;1"] * 50
    for index in (0, 20, 49):
        with_fault = [*lines[:index], "ann;North;X;2026-01;1", *lines[index:]]
        path = put("x.csv", "\n".join([HEAD, *with_fault]))
        with pytest.raises(FileFormatError, match=f"line {index + 2}: a vertex is not"):
            rows_in(path, options("refuse", **COLUMNS))
        assert len(rows_in(path, options(**COLUMNS))) == 50


# ------------------------------------------------------------------ one row changes one row

BASE = [line.encode() for line, _ in MESSY]
PIECES = [
    *(
        b"\xff\xfe",
        b"\xfe\xff\0",
        b'"',
        b";",
        b",",
        b" ",
        b"\t",
        b"#",
        b"%",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xc3",
        b"\0",
        b"\x85",
    ),
    *(b"ann", b"North", b"South", b"7", b"07", b"2026-01", b"1", b"1,5", b"1.5", b"nan", b"1e999"),
    *("٣".encode(), "\u2028".encode(), b"sep=,", b"# graphcuts-dp: {}", b"% sym weighted"),
    *(b"x" * 300, b"9" * 30, b"-1", b"who;from;to;month;paid"),
]
CELLS = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=3).map(b"".join)
LINES = st.one_of(
    st.binary(max_size=30),
    st.lists(CELLS, min_size=4, max_size=6).map(b";".join),
    st.lists(CELLS, max_size=4).map(b" ".join),
)
EDGES = [
    *(b"South 7 2", b'"7" North 1', b"North", b"7 7 3 4", b"7,North,1,5"),
    *(b"# none", b"", b"7,7,1"),
]
LIST = {"source": 0, "target": 1, "weight": 2}
NO_HEAD = {"header": False, "delimiter": ";", "decimal": ","}
PLACES = NO_HEAD | {"user": 0, "source": 1, "target": 2, "period": 3, "weight": 4}
# Name, lines of the head, rows, and options.
FILES = {
    "csv": ("x.csv", [b"sep=;", HEAD.encode()], BASE, COLUMNS | {"decimal": ","}),
    "csv, points": ("x.csv", [b"# note", HEAD.encode()], BASE, COLUMNS),
    "csv without a header": ("x.csv", [], BASE, PLACES),
    "csv, old encoding": ("x.csv", [HEAD.encode()], BASE, COLUMNS | {"encoding": "ascii"}),
    "list": ("x.edges", [], EDGES, LIST),
    "list with names": ("x.edges", [b"# note", b"a b n"], EDGES, {"header": True, **LIST}),
    "list, no weights": ("x.txt", [], EDGES, {}),
    "list of KONECT": ("x.konect", [], EDGES, LIST),
    "list with commas for decimals": ("x.edges", [], EDGES, LIST | {"decimal": ","}),
    "list of numbers": ("x.edges", [], [b"1 2", b"2 0", b"0 0"], {"vertices": range(3)}),
    "list from one": ("x.edges", [], [b"1 2", b"2 3"], {"vertices": 3, "one_based": True}),
}


@st.composite
def lines(draw, rows):
    """A line of any kind, or one of these rows, perhaps with a piece replaced."""
    if draw(st.booleans()):
        line = draw(LINES)
    else:
        line = draw(st.sampled_from(rows))
        if draw(st.booleans()):
            start = draw(st.integers(0, len(line)))
            rest = line[draw(st.integers(start, len(line))) :]
            line = line[:start] + draw(st.sampled_from([b"", *PIECES])) + rest
    return line.replace(b"\n", b"").replace(b"\r", b"")


@pytest.mark.thorough
@pytest.mark.parametrize("examples", [80, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", FILES)
def test_any_one_line_changes_the_rows_that_count_by_that_row_or_not_at_all(
    put, monkeypatch, kind, examples
):
    monkeypatch.setattr(edge_lists, "BLOCK", 60)
    name, head, rows, columns = FILES[kind]
    read_options = options(**columns)

    def counted(lines):
        return rows_in(put(name, b"".join(line + b"\n" for line in [*head, *lines])), read_options)

    # Of the rows before each index, and from it on.
    counts = [(counted(rows[:index]), counted(rows[index:])) for index in range(len(rows) + 1)]
    changed = {True: 0, False: 0}

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(lines(rows), st.integers(0, len(rows)))
    def check_line(line, index):
        of_line, (above, below) = counted([line]), counts[index]
        assert len(of_line) <= 1
        assert counted([*rows[:index], line, *rows[index:]]) == above + of_line + below
        changed[bool(of_line)] += 1

    check_line()
    assert min(changed.values()) > 0


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "cp1252"])
@settings(max_examples=30, deadline=None, database=None, derandomize=True)
@given(line=st.text(st.characters() | st.sampled_from(";\ud800\udc00\u0a00N\u2029"), max_size=9))
def test_a_bad_line_of_another_encoding_changes_no_other_line(tmp_path_factory, encoding, line):
    path = tmp_path_factory.getbasetemp() / "x.csv"
    read_options = options(**COLUMNS, encoding=encoding)
    row = "ann;North;South;2026-01;1"
    bad_line = line.replace("\n", "").replace("\r", "")
    errors = "replace" if encoding == "cp1252" else "surrogatepass"
    counts = []
    for lines in (
        [HEAD, row, row],
        [HEAD, row, bad_line, row],
        [HEAD, row, f"{bad_line};{row}", row],
    ):
        path.write_bytes("\n".join(lines).encode(encoding, errors))
        counts.append(rows_in(path, read_options))
    assert counts[0] == counts[1] == counts[2] == [("North", "South", "ann", "0", 1.0)] * 2


def test_a_byte_that_is_no_character_of_an_encoding_makes_one_row_bad(put):
    """Byte 0x81 is no character of this encoding."""
    rows = [HEAD.encode(), b"ann;North;South;2026-01;1", b"\x81;North;South;2026-01;1"] * 2
    read_options = options(**COLUMNS, encoding="cp1252")
    assert len(rows_in(put("x.csv", b"\n".join(rows)), read_options)) == 2


def test_a_quote_that_takes_in_other_lines_would_be_detected():
    """By an incorrect variant: a parser whose records go on over several lines."""

    def records_over_lines(lines):
        text = "\n".join(lines)
        return [tuple(row) for row in csv.reader(io.StringIO(text), delimiter=";") if len(row) == 2]

    rows = [f"a{number};b" for number in range(8)]
    assert (
        len(records_over_lines([*rows[:2], 'x;"y', *rows[2:]])) < len(records_over_lines(rows)) - 1
    )


# ------------------------------------------------------------------ tables

TABLE = {
    "who": ["ann", None, "bob", "bob", "eve", "eve", "kim"],
    "from": ["North", "North", None, "South", "South", "Nowhere", "7"],
    "to": ["South", "South", "7", "7", "7", "7", "North"],
    "month": ["2026-01", "2026-01", "2026-01", None, "2026-01", "2026-01", "2026-02"],
    "paid": [1.5, 1.0, 1.0, 1.0, -1.0, 1.0, 2.0],
}
SOUND = [("North", "South", "ann", "0", 1.5), ("7", "North", "kim", "1", 2.0)]
KINDS = [
    *(("row 1 ", "user"), ("row 2 ", "endpoint"), ("row 3 ", "period")),
    *(("row 4 ", "negative"), ("row 5 ", "public vertex set")),
]


def raw_of(kind: str, folder: Path, read_options: Options) -> Any:
    """Return the rows of TABLE, read from a table of this kind."""
    table = pa.table(TABLE)
    if kind == "pandas":
        return edges_of_table(open_table(table.to_pandas()), read_options)
    if kind == "polars":
        return edges_of_table(open_table(pl.DataFrame(TABLE)), read_options)
    if kind == "stream":
        return edges_of(table.to_reader(2), read_options)
    if kind == "parquet":
        parquet.write_table(table, folder / "x.parquet")
        return read_raw(folder / "x.parquet", read_options)
    with pa.ipc.new_file(folder / "x.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return read_raw(folder / "x.arrow", read_options)


@pytest.mark.parametrize("kind", ["pandas", "polars", "stream", "parquet", "arrow"])
def test_gaps_of_a_table_are_left_out_or_reported_by_their_row(tmp_path, kind):
    read_options = options(**COLUMNS)
    assert rows_that_count(raw_of(kind, tmp_path, read_options), read_options) == SOUND
    refusing = options("refuse", **COLUMNS)
    with pytest.raises(GraphCutsError) as error:
        rows_that_count(raw_of(kind, tmp_path, refusing), refusing)
    message = str(error.value)
    assert message.count("(counted from 0)") == len(KINDS)
    for row, words in KINDS:
        assert words in message.split(row)[1].split(";")[0]


@pytest.mark.parametrize("odd", ["x", None, 2.5, float("nan"), "3", True, b"3", date(2026, 1, 1)])
@pytest.mark.parametrize("values", [[1, 2, 3], ["1", "2", "3"], [1, "2", np.int64(3)]])
def test_a_value_of_python_is_read_by_itself(values, odd):
    read_options = options(vertices=range(4))
    column = pd.Series([*values, odd], dtype=object)
    frame = pd.DataFrame({"source": column, "target": [0, 1, 2, 3]})
    found = rows_that_count(edges_of_table(open_table(frame), read_options), read_options)
    assert found == [("1", "0"), ("2", "1"), ("3", "2"), *([("3", "3")] if odd == "3" else [])]


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("kind", ["float64", "Float64", "bool"])
def test_a_stored_type_refuses_a_column_whatever_is_in_it(kind, rows):
    column = pd.Series([1.0] * rows, dtype=kind)
    frame = pd.DataFrame({"source": column, "target": column.astype("int64")})
    with pytest.raises(GraphError, match="floating-point" if "loat" in kind else "neither"):
        edges_of_table(open_table(frame), options(vertices=range(4)))


def test_ids_beyond_64_bits_are_no_vertices(tmp_path):
    column = pa.array([2**64 - 1, 1], pa.uint64())
    parquet.write_table(pa.table({"source": column, "target": column}), tmp_path / "x.parquet")
    assert rows_in(tmp_path / "x.parquet", options(vertices=3)) == [("1", "1")]
    frame = pd.DataFrame({"source": column.to_numpy(), "target": column.to_numpy()})
    with pytest.raises(GraphError, match=r"row 0 .*not in the public vertex set"):
        gc.Graph.of(frame, vertices=3)


# ------------------------------------------------------------------ notes, and graphs


@pytest.mark.parametrize("lines", [[], ["North;South;1"], ["a;b;c;d", "North;;x"]])
def test_the_note_about_left_out_rows_does_not_depend_on_them(put, lines):
    notes = []
    path = put("x.csv", "\n".join(["from;to;paid", *lines]))
    columns = gc.Columns(source="from", target="to", weight="paid", on_bad="skip")
    graph = gc.read_graph(
        path, columns=columns, vertices=ZONES, max_weight_change=1, tell=notes.append
    )
    assert len(graph.rows) == lines.count("North;South;1")
    read, left_out = notes[0].split(" Rows ")
    assert read == "Read as the endpoints of an edge: 'from', 'to'; as its weight: 'paid'."
    assert left_out == (
        "with a missing end, an end outside the vertex set, a weight that is no number >= 0 or "
        "other cells than the columns have are left out; how many is private."
    )


def test_vertices_of_bad_rows_alone_are_no_vertices(put):
    path = put("x.csv", "from,to,paid\na,b,1\nb,c,-1\nc,d,\ne,,1\n")
    columns = gc.Columns(source="from", target="to", weight="paid", on_bad="skip")
    graph = gc.read_graph(path, columns=columns, max_weight_change=1)
    assert graph.labels == ("a", "b")


def test_decimal_commas_are_read_if_they_are_declared(put):
    path = put("x.csv", "a;b;weight\n1;2;3,5\n2;3;1e1\n" + "3;1;0,25\n" * 3)
    graph = gc.read_graph(path, columns=gc.Columns(decimal=","), max_weight_change=1)
    assert graph.weights.tolist() == [3.5, 0.75, 10.0]
    quoted = put("y.csv", 'a,b,weight\n1,2,"3,5"\n')
    graph = gc.read_graph(quoted, columns=gc.Columns(decimal=","), max_weight_change=1)
    assert graph.weights.tolist() == [3.5]
    blanks = put("z.edges", "1 2 3,5\n")
    read_options = gc.Columns(decimal=",", weight=2)
    assert gc.read_graph(blanks, columns=read_options, max_weight_change=1).weights.tolist() == [
        3.5
    ]
    with pytest.raises(FileFormatError, match=r"line 2: .*pass decimal=',' for decimal commas"):
        gc.read_graph(path, max_weight_change=1)


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("x.mtx", {"on_bad": "skip"}, "are for edge lists"),
        ("x.parquet", {"decimal": ","}, "decimal= is for weights"),
        ("x.csv", {"on_bad": "skip", "encoding": "utf-7"}, "no line depends on others"),
        ("x.csv", {"on_bad": "skip", "encoding": "iso2022_jp"}, "no line depends on others"),
        ("x.edges", {"on_bad": "skip"}, "pass weight= or weighted=False"),
    ],
)
def test_options_that_do_not_fit_the_format_are_refused(tmp_path, name, columns, message):
    parquet.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "x.parquet")
    for other in ("x.mtx", "x.csv", "x.edges"):
        (tmp_path / other).write_text("a,b\n1,2\n")
    with pytest.raises(FileFormatError, match=message):
        gc.read_graph(tmp_path / name, columns=gc.Columns(**columns))


@pytest.mark.parametrize("choice", [{"decimal": ";"}, {"on_bad": "ignore"}])
def test_unknown_choices_are_refused(choice):
    with pytest.raises(ParameterError, match="choose one of"):
        gc.Columns(**choice)


def test_all_kinds_of_faults_in_a_list_of_edges_are_reported():
    with pytest.raises(GraphError) as error:
        gc.Graph.of(
            [("a", "b", 1), ("a", "c", 1), (None, "b", 1), ("b", "a", "x")], vertices=["a", "b"]
        )
    message = str(error.value)
    for number, words in ((1, "vertex set"), (2, "may be missing"), (3, "not a number")):
        assert words in message.split(f"edge {number} ")[1].split(";")[0]
    assert np.all([f"edge {number} " in message for number in (1, 2, 3)])
