"""Files that are read a block at a time, in little memory; rows that are split all at once.

Reading row by row is the measure: neither blocks nor the fast way may change a graph or an error.
"""

import gzip
import tracemalloc

import numpy as np
import pytest
from graphcuts_dp.io.gathered import Growing, NameTable, words_before

from graphcuts_dp.errors import FileFormatError, GraphCutsError
from graphcuts_dp.graph.adjacency import Graph, read_graph
from graphcuts_dp.io import gathered
from graphcuts_dp.io import text as edge_lists
from graphcuts_dp.io.edge_store import sorted_merged
from graphcuts_dp.io.text import split_cells

HEAD = "source,target,weight\n"
FAST = {
    "names": ("x.csv", HEAD + "ann,bob,1\nbob,eve,2.5\n"),
    "blanks within": ("x.csv", HEAD + "Ann Lee,Bob,1\nBob,Eve,1e3\n"),
    "no last newline": ("x.csv", HEAD + "a,b,1\r\nb,c,2"),
    "not English": ("x.csv", HEAD + "Zoë,Łukasz,1\n"),
    "a further column": ("x.csv", "source,target,weight,time\na,b,1,\nb,c,2,now\n"),
    "blank list": ("x.edges", "a b\nb c\n"),
    "tab list": ("x.edges", "a\tb\nb\tc\n"),
    "comma list": ("x.edges", "a,b\nb,c\n"),
}
CAREFUL = {
    "a row in two lines": ("x.edges", "a b\nb\nc\nc d\n"),
    "blanks at ends": ("x.csv", HEAD + "a, b,1\n b,c,2\n"),
    "odd blanks at ends": ("x.csv", HEAD + "a\u00a0,b,1\n"),
    "odd blanks in a list": ("x.edges", "a b\u2003\nb c\n"),
    "tabs and blanks": ("x.edges", "a b\nb\tc\n"),
    "two blanks": ("x.edges", "a b\nb  c\n"),
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
}
LONGER = {
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


def read(path):
    try:
        return read_graph(path)
    except GraphCutsError as problem:
        return str(problem)


@pytest.mark.parametrize("kind", [*FAST, *CAREFUL, *LONGER])
def test_the_fast_way_and_blocks_of_any_size_give_what_row_by_row_gives(put, monkeypatch, kind):
    name, content = (FAST | CAREFUL | LONGER)[kind]
    path, at_once, made = put(name, content), edge_lists._add_fast, []
    with monkeypatch.context() as careful:
        careful.setattr(edge_lists, "_add_fast", lambda *_: False)
        expected = read(path)

    def noted(*given):
        made.append(at_once(*given))
        return made[-1]

    monkeypatch.setattr(edge_lists, "_add_fast", noted)
    assert read(path) == expected
    if kind not in LONGER:
        assert any(made) == (kind in FAST)
    packed = put(f"{name}.gz", gzip.compress(path.read_bytes()))
    for size in (1, 7, 64):
        monkeypatch.setattr(edge_lists, "BLOCK", size)
        assert read(path) == expected
        again = read(packed)
        if isinstance(again, str):  # an error, which names the file
            again = again.replace(f"{name}.gz", name)
        assert again == expected


def test_a_row_is_read_alike_whatever_other_rows_have_quotes(put):
    assert read(put("x.csv", HEAD + 'a ,b,1\n"c ",b,1\n')).labels == ("a", "b", "c ")


@pytest.mark.parametrize("place", [3, 30, 59])
def test_errors_name_the_line_in_whatever_block(put, monkeypatch, place):
    monkeypatch.setattr(edge_lists, "BLOCK", 20)
    lines = [f"{i} {i + 1}" for i in range(60)]
    for wrong, vertices in (("7 7 7", None), ("7 99", 70)):
        path = put("x.edges", "\n".join([*lines[:place], wrong, *lines[place:]]))
        with pytest.raises(FileFormatError, match=f"line {place + 1}: "):
            read_graph(path, vertices=vertices)


# ------------------------------------------------------------------ memory

FEW = 1 << 23  # bytes for blocks and tables, whatever the size of the file


@pytest.mark.parametrize("form", ["names", "packed weights"])
def test_a_large_file_takes_no_more_than_twice_the_memory_of_its_arrays(put, form):
    m = 500_000 if form == "names" else 250_000
    ends = np.random.default_rng(0).integers(0, m // 10, (m, 2)).tolist()
    names, weight = ("user", "") if form == "names" else ("", ",3")
    text = "source,target" + (",weight" if weight else "") + "\n"
    text += "".join(f"{names}{a},{names}{b}{weight}\n" for a, b in ends)
    packed = gzip.compress(text.encode(), 1)
    path = put("x.csv.gz", packed) if weight else put("x.csv", text)
    read_graph(put("y.csv", "source,target\na,b\n"))  # what is imported on first use
    tracemalloc.start()
    graph = read_graph(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    labels = 0 if graph.vertices.is_default else 72 * graph.n
    arrays = graph.rows.nbytes + graph.columns.nbytes + graph.weights.nbytes + labels
    assert peak < 2 * arrays + FEW
    # A reader that keeps the text, or one more array of each kind, would be seen.
    assert peak + len(text) + arrays > 2 * arrays + FEW


def test_a_growing_array_grows_by_little():
    tracemalloc.start()
    grown = Growing(np.int64)
    for start in range(0, 1 << 20, 1 << 12):
        grown.extend(np.arange(start, start + (1 << 12)))
    peak = tracemalloc.get_traced_memory()[1]
    values = grown.take()
    tracemalloc.stop()
    assert np.array_equal(values, np.arange(1 << 20))
    assert peak < 1.2 * values.nbytes
    assert len(grown) == 0


@pytest.mark.parametrize("merge", ["max", "min", "sum"])
def test_edges_that_come_in_pieces_are_merged_across_them(monkeypatch, merge):
    draw, how = np.random.default_rng(1), {"max": max, "min": min, "sum": sum}[merge]
    for piece in (1, 2, 7, 1 << 18):
        monkeypatch.setattr("graphcuts_dp.io.edge_store.PIECE", piece)
        keys, weights = draw.integers(0, 9, 60), draw.integers(0, 3, 60).astype(float)
        merged = {key: how(weights[keys == key]) for key in range(9)}
        found = sorted_merged(keys.copy(), weights.copy(), merge)
        expected = [(key, weight) for key, weight in merged.items() if weight]
        assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected


def test_arrays_of_a_caller_are_not_written_over():
    ends, weights = np.array([[3, 3, 1], [1, 1, 1]]), np.array([1.0, 2.0, 4.0])
    assert Graph(*ends, weights, vertices=4).weights.tolist() == [2.0]
    assert ends.tolist() == [[3, 3, 1], [1, 1, 1]]
    assert weights.tolist() == [1.0, 2.0, 4.0]


# ------------------------------------------------------------------ numbers for names


def coded(pieces):
    """Numbers and names of pieces with a comma behind each, half of them after the others."""
    lengths = np.array([len(piece) for piece in pieces], dtype=np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    words, table, half = words_before(b",".join([*pieces, b""])), NameTable(), len(pieces) // 2
    halves = slice(half), slice(half, None)
    codes = [table.numbers(words, starts[at], lengths[at]) for at in halves]
    return np.concatenate(codes).tolist(), table.names()


def check_coded(pieces):
    codes, names = coded(pieces)
    assert len(set(names)) == len(names) == len(set(pieces))
    assert [names[number].encode() for number in codes] == pieces


@pytest.mark.parametrize("longest", [0, 1, 7, 8, 9, 16, 17, 40, 256])
def test_equal_pieces_and_no_others_get_one_number(longest):
    draw = np.random.default_rng(longest)
    sizes = draw.integers(0, longest + 1, 3_000)
    check_coded([bytes(draw.integers(97, 99, size).tolist()) for size in sizes])


def test_pieces_that_are_nearly_equal_are_not(monkeypatch):
    check_coded([b"", b"\0", b"\0\0", b"a", b"a\0", b"\0a", b"a" * 8, b"a" * 8 + b"\0", b""])
    whole = b"0123456789abcdefghijklmn"
    pieces = [whole[:place] + b"#" + whole[place + 1 :] for place in range(len(whole))]
    check_coded([whole, *pieces, whole, *reversed(pieces)])
    # Hashes that collide cost time, but no correctness.
    monkeypatch.setattr(gathered, "piece_hashes", lambda *given: given[-1] & np.uint64(0))
    check_coded([b"v%d" % (number % 50) for number in range(400)])


def test_no_pieces_and_names_of_any_length():
    assert coded([]) == ([], [])
    table, names = NameTable(), ["x" * 300, "y", "x" * 300, "z" * 256, "é"]
    assert [table.names()[number] for number in table.numbers_of(names)] == names
    assert len(table) == 4


# ------------------------------------------------------------------ digits, beside `int`


def cells_of(text):
    return split_cells(text, b" ", 2, (0, 1), inner_blanks=False)


def integers(rows):
    cells = cells_of("".join(f"{a} {b}\n" for a, b in rows).encode())
    ends = cells.integers(0), cells.integers(1)
    return None if ends[0] is None or ends[1] is None else (ends[0].tolist(), ends[1].tolist())


@pytest.mark.parametrize("digits", range(1, 19))
def test_integers_of_every_length(digits):
    draw = np.random.default_rng(digits)
    low = 0 if digits == 1 else 10 ** (digits - 1)
    values = [low, 10**digits - 1, *draw.integers(low, 10**digits, 50).tolist()]
    # Beside long ones stand short ones, whose words hold the bytes of their neighbours.
    rows = [(value, other) for value in values for other in (0, 7, value, 10, 99_999_999)]
    assert integers(rows) == ([a for a, _ in rows], [b for _, b in rows])


def test_what_is_no_plain_integer_is_declined():
    for token in ("01", "00", "0123456789", "1" * 19, "1a", "a1", "/9", ":1", "é"):
        for row in ((token, "5"), ("12345678901", token)):
            assert integers([("1", "2"), row]) is None
    for byte in set(range(256)) - set(b"0123456789\n \r,\t"):
        for place in range(17):
            token = bytearray(b"12345678912345678")
            token[place] = byte
            cells = cells_of(b"3 %s\n" % bytes(token))
            assert cells is None or cells.integers(1) is None, (byte, place)
    long = split_cells(b"a,%s\n" % (b"1" * 300), b",", 2, (0, 1), inner_blanks=False)
    assert long.texts(1) is None
