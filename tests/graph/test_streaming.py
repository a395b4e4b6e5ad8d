"""Files that are read a block at a time: the same graphs and errors, in little memory."""

import gzip
import tracemalloc

import numpy as np
import pytest
from helpers import read_flat
from test_fast_rows import FILES, HEAD, read

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph import edge_lists
from graphcuts_dp.graph.adjacency import Graph, read_graph
from graphcuts_dp.graph.edge_store import sorted_merged
from graphcuts_dp.graph.gathered import Growing

MORE = {
    "names after integers": ("x.edges", "1 2\n2 3\n" * 20 + "3 ann\n" + "1 4\n" * 20),
    "wide integers later": ("x.edges", "1 2\n" * 20 + "99999999999 2\n" + "1 4\n" * 20),
    "negative integers later": ("x.edges", "1 2\n" * 20 + "-3 2\n" + "1 4\n" * 20),
    "a leading zero later": ("x.edges", "1 2\n" * 20 + "03 2\n" + "3 4\n" * 20),
    "comments between": ("x.edges", "1 2\n# c\n" * 30 + "2 3\n"),
    "a quoted cell over lines": (
        "x.csv",
        HEAD + "a,b,1\n" * 20 + '"c\n\nd",b,2\n' + "a,e,3\n" * 20,
    ),
    "a quoted name of the header": ("x.csv", 'source,target,"weight (kg)"\n' + "a,b,1\n" * 20),
    "a separator that changes": ("x.edges", "a b\n" * 20 + "a,c\n" * 20 + "a\tc\n" * 20),
    "a mark within": ("x.edges", "a b\n" * 40 + "\ufeffa c\n"),
    "carriage returns": ("x.edges", "a b\r" * 40 + "a c\r\n" * 40 + "a d\n"),
    "blanks at ends, and quotes": ("x.csv", HEAD + "a ,b,1\n" * 20 + '"a ",b,2\n' + "a,b ,3\n"),
    "a wrong row late": ("x.csv", HEAD + "a,b,1\n" * 40 + "a,b\n"),
    "a quote that never ends": ("x.csv", HEAD + "a,b,1\n" * 40 + 'a,"b,2\n' + "a,b,1\n" * 40),
    "long names": ("x.edges", f"{'x' * 300} b\n{'x' * 299} b\n" * 9 + "b c\n"),
    "rows of nothing": ("x.csv", HEAD + ",,\n" * 60 + "a,b,1\n"),
    "UTF-16": ("x.csv", (HEAD + "Zoë,b,1\n" * 40).encode("utf-16")),
    "other columns": ("x.csv", "time,from,to,weight\n" + "2020-01-01 10:00,7,8,2\n" * 40),
}


@pytest.mark.parametrize("kind", [*FILES, *MORE])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_of_any_size_give_what_the_whole_file_gives(tmp_path, monkeypatch, kind, size):
    name, content = (FILES.get(kind) or MORE[kind])[:2]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    whole = read(path)
    monkeypatch.setattr(edge_lists, "BLOCK", size)
    assert read(path) == whole
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    again = read(packed)
    if isinstance(whole, str):  # an error, which names the file
        assert again.replace(f"{name}.gz", name) == whole
    else:
        assert again == whole


def test_a_row_is_read_alike_whatever_other_rows_have_quotes(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(HEAD + 'a ,b,1\n"c ",b,1\n')
    assert read(path).labels == ("a", "b", "c ")


@pytest.mark.parametrize("place", [3, 30, 59])
def test_errors_name_the_line_in_whatever_block(tmp_path, monkeypatch, place):
    monkeypatch.setattr(edge_lists, "BLOCK", 20)
    path = tmp_path / "x.edges"
    lines = [f"{i} {i + 1}" for i in range(60)]
    for wrong, vertices in (("7 7 7", None), ("7 99", 70)):
        path.write_text("\n".join([*lines[:place], wrong, *lines[place:]]))
        with pytest.raises(FileFormatError, match=f"line {place + 1}: "):
            read_graph(path, vertices=vertices)


def peak_and_arrays(path, **options):
    """Most bytes in use while a file is read, and bytes of what comes out."""
    read_flat(path, **options)  # what is imported on first use
    tracemalloc.start()
    graph = read_flat(path, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    labels = 0 if graph.vertices.is_default else sum(72 for _ in graph.labels)
    return peak, graph.rows.nbytes + graph.columns.nbytes + graph.weights.nbytes + labels


FEW = 1 << 23  # bytes for blocks and tables, whatever the size of the file


@pytest.mark.parametrize("form", ["names", "packed weights"])
def test_a_large_file_takes_no_more_than_twice_the_memory_of_its_arrays(tmp_path, form):
    m = 500_000
    ends = np.random.default_rng(0).integers(0, 50_000, (m, 2)).tolist()
    names = "user" if form == "names" else ""
    weight = ",3" if form == "packed weights" else ""
    text = "source,target" + (",weight" if weight else "") + "\n"
    text += "".join(f"{names}{a},{names}{b}{weight}\n" for a, b in ends)
    path = tmp_path / ("x.csv.gz" if weight else "x.csv")
    path.write_bytes(gzip.compress(text.encode(), 1) if weight else text.encode())
    peak, arrays = peak_and_arrays(path)
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
    draw = np.random.default_rng(1)
    for piece in (1, 2, 7, 1 << 18):
        monkeypatch.setattr("graphcuts_dp.graph.edge_store.PIECE", piece)
        keys = draw.integers(0, 9, 60)
        weights = draw.integers(0, 3, 60).astype(float)
        expected = {}
        for key, weight in zip(keys.tolist(), weights.tolist(), strict=True):
            expected.setdefault(key, []).append(weight)
        how = {"max": max, "min": min, "sum": sum}[merge]
        merged = {key: how(values) for key, values in sorted(expected.items())}
        found = sorted_merged(keys.copy(), weights.copy(), merge)
        some = {key: weight for key, weight in merged.items() if weight}
        assert dict(zip(found[0].tolist(), found[1].tolist(), strict=True)) == some
        assert list(some) == found[0].tolist()


def test_arrays_of_a_caller_are_not_written_over():
    ends = np.array([[3, 3, 1], [1, 1, 1]])
    weights = np.array([1.0, 2.0, 4.0])
    graph = Graph(*ends, weights, vertices=4)
    assert graph.weights.tolist() == [2.0]
    assert ends.tolist() == [[3, 3, 1], [1, 1, 1]]
    assert weights.tolist() == [1.0, 2.0, 4.0]
