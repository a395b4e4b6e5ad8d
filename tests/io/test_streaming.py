"""Reading files in blocks, with little memory, and lines by Arrow.

Results are compared with those of reading line by line: neither blocks nor Arrow may change a graph
or an error.
"""

import gzip
import io
import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings

from graphcuts_dp import Columns, FileFormatError, Graph, GraphCutsError, read_graph
from graphcuts_dp.io import codes
from graphcuts_dp.io import text as edge_lists
from graphcuts_dp.io.codes import CodedText, GrowingArray, IdentifierColumns, integers_of
from graphcuts_dp.io.edge_store import sorted_merged
from graphcuts_dp.io.text import numbers_of, text_batches
from graphcuts_dp.plugins import Options
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.columns import parse_number
from graphcuts_dp.schema.text_format import TextFormat

HEAD = "source,target,weight\n"
FILES = {
    "names": ("x.csv", HEAD + "ann,bob,1\nbob,eve,2.5\n"),
    "blanks within": ("x.csv", HEAD + "Ann Lee,Bob,1\nBob,Eve,1e3\n"),
    "no last newline": ("x.csv", HEAD + "a,b,1\r\nb,c,2"),
    "not English": ("x.csv", HEAD + "Zoë,Łukasz,1\n"),
    "a further column": ("x.csv", "source,target,weight,time\na,b,1,\nb,c,2,now\n"),
    "blank list": ("x.edges", "a b\nb c\n"),
    "tab list": ("x.edges", "a\tb\nb\tc\n"),
    "comma list": ("x.edges", "a,b\nb,c\n"),
    "a row in two lines": ("x.edges", "a b\nb\nc\nc d\n"),
    "blanks at ends": ("x.csv", HEAD + "a, b,1\n b,c,2\n"),
    "odd blanks at ends": ("x.csv", HEAD + "a\u00a0,b,1\n"),
    "odd blanks in a list": ("x.edges", "a b\u2003\nb c\n"),
    "tabs and blanks": ("x.edges", "a b\nb\tc\n"),
    "two blanks": ("x.edges", "a b\nb  c\n"),
    "two blanks in three columns": ("x.edges", "a b 1\nb  c\n", {"weighted": False}),
    "aligned": ("x.edges", "   a   b\n  bb  c  \n" * 20),
    "tabs for blanks": ("x.konect", "a b\nb\tc\n\tc\t\td \n"),
    "one weight in another form": ("x.csv", HEAD + "a,b,1\n" * 9 + "b,c,1e-3\nc,d,.5\n"),
    "blanks before a comment": ("x.edges", "a b\n  # c d\n"),
    "a sign of comments in names": ("x.csv", HEAD + "a#1,b%,1\n#c,d,1\n"),
    "blanks and commas": ("x.edges", "a,b\nb b,c\n"),
    "comma later": ("x.edges", "a b\nb,c d\n"),
    "quotes": ("x.csv", HEAD + '"a","b",1\n'),
    "comment": ("x.edges", "a b\n# c d\nb c\n"),
    "empty id": ("x.csv", HEAD + "a,b,1\n,c,2\n"),
    "empty row": ("x.csv", HEAD + "a,b,1\n\nb,c,2\n"),
    "row of separators": ("x.csv", HEAD + "a,b,1\n,,\n"),
    "short then long": ("x.csv", HEAD + "a,b\nb,c,2,3\n"),
    "no number": ("x.csv", HEAD + "a,b,1\nb,c,x\n"),
    "odd number": ("x.csv", HEAD + "a,b,1\nb,c,1_0\n"),
    "odd digits": ("x.csv", HEAD + "a,b,1\nb,c,٣\n"),
    "not finite": ("x.csv", HEAD + "a,b,1\nb,c,nan\n"),
    "half a number": ("x.csv", HEAD + "a,b,1\nb,c,1e\n"),
    "not text": ("x.csv", (HEAD + "a,b,1\n").encode() + b"\xff,c,1\n"),
    "names after integers": ("x.edges", "1 2\n2 3\n" * 20 + "3 ann\n" + "1 4\n" * 20),
    "wide integers later": ("x.edges", "1 2\n" * 20 + "99999999999 2\n" + "1 4\n" * 20),
    "negative integers later": ("x.edges", "1 2\n" * 20 + "-3 2\n" + "1 4\n" * 20),
    "a leading zero later": ("x.edges", "1 2\n" * 20 + "03 2\n" + "3 4\n" * 20),
    "comments between": ("x.edges", "1 2\n# c\n" * 30 + "2 3\n"),
    "a quoted cell over lines": ("x.csv", HEAD + "a,b,1\n" * 20 + '"c\n\nd",b,2\na,e,3\n' * 20),
    "a quoted name of the header": ("x.csv", 'source,target,"weight (kg)"\n' + "a,b,1\n" * 20),
    "a separator that changes": ("x.edges", "a b\n" * 20 + "a,c\n" * 20 + "a\tc\n" * 20),
    "a mark within": ("x.edges", "a b\n" * 40 + "\ufeffa c\n"),
    "carriage returns": ("x.edges", "a b\r" * 40 + "a c\r\n" * 40 + "a d\n"),
    "blanks at ends, and quotes": ("x.csv", HEAD + "a ,b,1\n" * 20 + '"a ",b,2\n' + "a,b ,3\n"),
    "a wrong row late": ("x.csv", HEAD + "a,b,1\n" * 40 + "a,b\n"),
    "a quote that never ends": ("x.csv", HEAD + "a,b,1\n" * 40 + 'a,"b,2\n' + "a,b,1\n" * 40),
    "long names": ("x.edges", f"{'x' * 300} b\n{'x' * 299} b\n" * 9 + "b c\n"),
    "rows of nothing": ("x.csv", HEAD + ",,\n" * 60 + "a,b,1\n"),
    "a first row of nothing": ("x.edges", ",,\na,b\n"),
    "UTF-16": ("x.csv", (HEAD + "Zoë,b,1\n" * 40).encode("utf-16")),
    "other columns": ("x.csv", "time,from,to,weight\n" + "2020-01-01 10:00,7,8,2\n" * 40),
}


def graph_or_message(path: Path, **options: Any) -> Any:
    """Return the graph of a file, or the message with which it is refused."""
    try:
        return read_graph(path, **options)
    except GraphCutsError as problem:
        return str(problem)


@contextmanager
def line_by_line():
    """Read all lines by `RowReader.fields`, and none by Arrow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_lists._BlockReader, "_separator", lambda *_: b"")
        yield


@pytest.mark.thorough(cases=5)
@pytest.mark.parametrize("kind", FILES)
def test_arrow_and_blocks_of_any_size_read_what_is_read_line_by_line(put, monkeypatch, kind):
    name, content, *rest = FILES[kind]
    path, options = put(name, content), dict(*rest)
    with line_by_line():
        expected = graph_or_message(path, **options)
    assert graph_or_message(path, **options) == expected
    packed = put(f"{name}.gz", gzip.compress(path.read_bytes()))
    for size in (1, 7, 64):
        monkeypatch.setattr(edge_lists, "BLOCK", size)
        assert graph_or_message(path, **options) == expected
        result = graph_or_message(packed, **options)
        if isinstance(result, str):  # an error, which names the file
            result = result.replace(f"{name}.gz", name)
        assert result == expected


def test_arrow_reads_all_usual_lines(put, monkeypatch):
    """Only the first line goes to `fields`, to count columns."""
    calls = []
    split = edge_lists._BlockReader._rows_by_fields
    monkeypatch.setattr(
        edge_lists._BlockReader,
        "_rows_by_fields",
        lambda *arguments: calls.append(1) or split(*arguments),
    )
    for name, content in (
        ("x.csv", HEAD + "Ann Lee,Zoë,1\n b ,c#,2.5\n"),
        ("x.edges", "1 2\n 2  3\n3 4"),
        ("x.edges", "a\tb\nb\tc\n"),
        ("x.edges", "a,b\nb,c\n"),
    ):
        read_graph(put(name, content), max_weight_change=1)
    assert calls == []


PIECES = [
    *("a", "b", "7", "07", "-7", "-0", "0x1F", "9" * 19, "1.5", "1,5", "1e3", "nan", "1_0", "٣"),
    *(" ", "  ", "\t", ",", ",,", ";", '"', '""', "#", "%", "'", "\\", "\0", "\v", "\x1c", "\x85"),
    *("\u00a0", "\u2028", "\u3000", "\ufeff", "\udcff", "sep=;", "é", "x" * 300),
]
CELL = st.sampled_from(["a", "b", "7", "12", "0", "1.5", " a", "b ", "é b"])
ODD = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
ROWS = st.tuples(st.lists(CELL | ODD, min_size=2, max_size=4), st.sampled_from([",", " ", "\t"]))
LINE = ODD | ROWS.map(lambda row: row[1].join(row[0])) | st.sampled_from(["a b", "a,b,1", "1\t2"])
FORMS = {
    "csv": (TextFormat(","), {"header": False}),
    "csv, names": (TextFormat(","), {"header": True}),
    "semicolons": (TextFormat(","), {"header": False, "delimiter": ";", "decimal": ","}),
    "tsv": (TextFormat("\t"), {"header": False}),
    "list": (TextFormat(), {}),
    "list, decimal commas": (TextFormat(), {"decimal": ","}),
    "blanks": (TextFormat(), {"delimiter": " "}),
    "konect": (TextFormat(konect=True), {}),
    "an odd separator": (TextFormat(","), {"header": False, "delimiter": "\x1f"}),
}


def rows_and_faults(
    content: bytes, form: TextFormat, columns: dict[str, Any], weighted: bool
) -> Any:
    """Return good rows with line numbers, and the first line of each fault; or a message."""
    options = Options(columns=Columns(**columns), weighted=None if weighted else False)
    bad = BadRows(skip=options.columns.skip)
    rows = []
    try:
        table = text_batches(io.BytesIO(content), options, form=form, bad=bad)
        for batch in table.batches:
            columns = [[*map(str, column.to_pylist())] for column in batch.columns.values()]
            columns += [] if batch.weights is None else [batch.weights.astype(str).tolist()]
            rows += zip(map(int, batch.row_numbers), *columns, strict=True)
    except GraphCutsError as problem:
        return str(problem)
    return rows, bad._first


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("examples", [20, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", FORMS)
def test_arrow_reads_random_lines_like_reading_line_by_line(kind, weighted, skip, examples):
    form, format_options = FORMS[kind]
    header = b"source,target,weight\n" if format_options.get("header") else b""
    columns = {"source": 0, "target": 1} | format_options | ({"on_bad": "skip"} if skip else {})
    columns |= {"weight": 2} if weighted else {}

    @settings(max_examples=examples)
    @given(st.lists(LINE, max_size=8))
    @example(["a,b,1", '"c,d,2', "e,f,3"])
    def check(lines):
        content = header + "\n".join(lines).encode("utf-8", "surrogateescape")
        by_arrow = rows_and_faults(content, form, columns, weighted)
        with line_by_line():
            assert by_arrow == rows_and_faults(content, form, columns, weighted)

    check()


def test_quotes_of_one_row_do_not_change_how_others_are_read(put):
    assert graph_or_message(put("x.csv", HEAD + 'a ,b,1\n"c ",b,1\n')).labels == ("a", "b", "c ")


@pytest.mark.parametrize("index", [3, 30, 59])
def test_errors_name_the_line_of_the_file_and_not_of_its_block(put, monkeypatch, index):
    monkeypatch.setattr(edge_lists, "BLOCK", 20)
    lines = [f"{i} {i + 1}" for i in range(60)]
    for bad_line, vertices in (("7 7 7", None), ("7 99", 70)):
        path = put("x.edges", "\n".join([*lines[:index], bad_line, *lines[index:]]))
        with pytest.raises(FileFormatError, match=f"line {index + 1}: "):
            read_graph(path, vertices=vertices)


# ------------------------------------------------------------------ memory

BLOCK_BYTES = 12 << 20  # of blocks and what is made of them, whatever the size of the file


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["names", "packed weights"])
def test_a_large_file_takes_no_more_than_twice_the_memory_of_its_arrays(put, form):
    edges = 500_000 if form == "names" else 250_000
    endpoints = np.random.default_rng(0).integers(0, edges // 10, (edges, 2)).tolist()
    names, weight = ("user", "") if form == "names" else ("", ",3")
    text = "source,target" + (",weight" if weight else "") + "\n"
    text += "".join(f"{names}{a},{names}{b}{weight}\n" for a, b in endpoints)
    packed = gzip.compress(text.encode(), 1)
    path = put("x.csv.gz", packed) if weight else put("x.csv", text)
    read_graph(put("y.csv", "source,target\na,b\n"))  # imports modules that are needed
    tracemalloc.start()
    graph = read_graph(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    labels = 0 if graph.vertices.is_default else 72 * graph.n
    arrays = graph.rows.nbytes + graph.columns.nbytes + graph.weights.nbytes + labels
    assert peak < 2 * arrays + BLOCK_BYTES
    # A reader that keeps the text and two more arrays of each kind would be detected.
    assert peak + len(text) + 2 * arrays > 2 * arrays + BLOCK_BYTES


def test_a_growing_array_needs_at_most_a_fifth_more_memory_than_its_values():
    tracemalloc.start()
    grown = GrowingArray(np.int64)
    for start in range(0, 1 << 20, 1 << 12):
        grown.extend(np.arange(start, start + (1 << 12)))
    peak = tracemalloc.get_traced_memory()[1]
    values = grown.take()
    tracemalloc.stop()
    assert np.array_equal(values, np.arange(1 << 20))
    assert peak < 1.2 * values.nbytes
    assert len(grown) == 0


@pytest.mark.parametrize("merge", ["max", "min", "sum"])
def test_parallel_edges_are_merged_across_pieces(monkeypatch, merge):
    draw, merge_weights = np.random.default_rng(1), {"max": max, "min": min, "sum": sum}[merge]
    for piece in (1, 2, 7, 1 << 18):
        monkeypatch.setattr("graphcuts_dp.io.edge_store.PIECE", piece)
        keys, weights = draw.integers(0, 9, 60), draw.integers(0, 3, 60).astype(float)
        merged = {key: merge_weights(weights[keys == key]) for key in range(9)}
        edges = sorted_merged(keys.copy(), weights.copy(), merge)
        expected = [(key, weight) for key, weight in merged.items() if weight]
        assert list(zip(edges[0].tolist(), edges[1].tolist(), strict=True)) == expected


def test_arrays_of_the_caller_are_unchanged():
    endpoints, weights = np.array([[3, 3, 1], [1, 1, 1]]), np.array([1.0, 2.0, 4.0])
    assert Graph(*endpoints, weights, vertices=4).weights.tolist() == [2.0]
    assert endpoints.tolist() == [[3, 3, 1], [1, 1, 1]]
    assert weights.tolist() == [1.0, 2.0, 4.0]


# ------------------------------------------------------------------ numbers for names


def strings(values: list[str]) -> pa.Array:
    return pa.array(values, pa.large_string())


TOKENS = st.sampled_from(["", "a", "a\0", "é", "e\u0301", "x" * 300, *map(str, range(20)), "07"])


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("waiting", [0, 40, 1 << 26])
@settings(max_examples=60)
@given(batches=st.lists(st.lists(st.tuples(TOKENS, TOKENS), max_size=6), max_size=6))
def test_two_names_have_one_number_if_and_only_if_they_are_equal(waiting, batches):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codes, "_LEAST_COLLECTED", waiting)
        grown = IdentifierColumns(2)
        for rows in batches:
            columns = [strings([row[side] for row in rows]) for side in (0, 1)]
            grown.add([integers_of(column) or column for column in columns])
        columns_of_codes = grown.take()
    for side, column in enumerate(columns_of_codes):
        if isinstance(column, CodedText):
            assert len(set(column.names)) == len(column.names)
            names = [column.names[code] for code in column.codes]
        else:
            names = [*map(str, column.tolist())]
        assert names == [row[side] for rows in batches for row in rows]


def test_integers_are_stored_in_the_narrowest_type_that_holds_them():
    grown = IdentifierColumns(1)
    for values, kind in (
        ([1, 2], np.int32),
        ([2**40], np.int64),
        ([-(2**63), 2**63 - 1], np.int64),
    ):
        grown.add([pa.array(values, pa.int64())])
        assert grown._columns[0].values.dtype == kind
    assert grown.take()[0].tolist() == [1, 2, 2**40, -(2**63), 2**63 - 1]


@pytest.mark.parametrize("digits", range(1, 20))
def test_texts_are_integers_if_python_prints_them_so(digits):
    low = 0 if digits == 1 else 10 ** (digits - 1)
    values = [low, 10**digits - 1, (low + 10**digits) // 2]
    integers = integers_of(strings([*map(str, values)]).slice(1))
    assert integers is None if digits == 19 else integers.to_pylist() == values[1:]
    for text in (f"0{low}", f"{low}a", f"+{low}", f" {low}", f"0x{low}", f"{low}.0", f"-{low}", ""):
        assert integers_of(strings(["1", text])) is None


NUMBERS = st.text(st.sampled_from("0123456789.,-+eE_xinfaty() \t٣"), max_size=8)
NUMBERS |= st.floats().map(str) | st.sampled_from(["9" * 400, "0" * 400 + "1", "1." + "3" * 90])


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("decimal", [".", ","])
@settings(max_examples=150)
@given(texts=st.lists(NUMBERS, max_size=5))
def test_weights_are_what_python_reads(decimal, texts):
    weights, good = numbers_of(strings(texts), decimal)
    for text, weight, is_number in zip(texts, weights.tolist(), good.tolist(), strict=True):
        expected = parse_number(text, decimal)
        assert is_number == (expected is not None)
        assert not is_number or str(weight) == str(expected)
