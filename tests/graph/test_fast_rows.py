"""Rows that are split all at once: the same graphs and the same errors as row by row."""

import pytest

from graphcuts_dp.errors import GraphCutsError
from graphcuts_dp.graph import edge_lists
from graphcuts_dp.graph.adjacency import read_graph

HEAD = "source,target,weight\n"
FILES = {
    "a row in two lines": ("x.edges", "a b\nb\nc\nc d\n", False),
    "names": ("x.csv", HEAD + "ann,bob,1\nbob,eve,2.5\n", True),
    "blanks within": ("x.csv", HEAD + "Ann Lee,Bob,1\nBob,Eve,1e3\n", True),
    "no last newline": ("x.csv", HEAD + "a,b,1\r\nb,c,2", True),
    "not English": ("x.csv", HEAD + "Zoë,Łukasz,1\n", True),
    "a further column": ("x.csv", "source,target,weight,time\na,b,1,\nb,c,2,now\n", True),
    "blank list": ("x.edges", "a b\nb c\n", True),
    "tab list": ("x.edges", "a\tb\nb\tc\n", True),
    "comma list": ("x.edges", "a,b\nb,c\n", True),
    "blanks at ends": ("x.csv", HEAD + "a, b,1\n b,c,2\n", False),
    "odd blanks at ends": ("x.csv", HEAD + "a\u00a0,b,1\n", False),
    "odd blanks in a list": ("x.edges", "a b\u2003\nb c\n", False),
    "tabs and blanks": ("x.edges", "a b\nb\tc\n", False),
    "two blanks": ("x.edges", "a b\nb  c\n", False),
    "blanks and commas": ("x.edges", "a,b\nb b,c\n", False),
    "comma later": ("x.edges", "a b\nb,c d\n", False),
    "quotes": ("x.csv", HEAD + '"a","b",1\n', False),
    "comment": ("x.edges", "a b\n# c d\nb c\n", False),
    "empty id": ("x.csv", HEAD + "a,b,1\n,c,2\n", False),
    "empty row": ("x.csv", HEAD + "a,b,1\n\nb,c,2\n", False),
    "row of separators": ("x.csv", HEAD + "a,b,1\n,,\n", False),
    "short then long": ("x.csv", HEAD + "a,b\nb,c,2,3\n", False),
    "no number": ("x.csv", HEAD + "a,b,1\nb,c,x\n", False),
    "odd number": ("x.csv", HEAD + "a,b,1\nb,c,1_0\n", False),
    "odd digits": ("x.csv", HEAD + "a,b,1\nb,c,٣\n", False),
    "not finite": ("x.csv", HEAD + "a,b,1\nb,c,nan\n", False),
    "half a number": ("x.csv", HEAD + "a,b,1\nb,c,1e\n", False),
    "not text": ("x.csv", (HEAD + "a,b,1\n").encode() + b"\xff,c,1\n", False),
}


def read(path):
    try:
        return read_graph(path)
    except GraphCutsError as problem:
        return str(problem)


@pytest.mark.parametrize("kind", FILES)
def test_rows_split_at_once_give_what_row_by_row_gives(tmp_path, monkeypatch, kind):
    name, content, is_fast = FILES[kind]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    made = []
    whole = edge_lists._add_fast

    def noted(*given):
        made.append(whole(*given))
        return made[-1]

    monkeypatch.setattr(edge_lists, "_add_fast", noted)
    fast = read(path)
    assert any(made) == is_fast
    monkeypatch.setattr(edge_lists, "_add_fast", lambda *_: False)
    assert read(path) == fast
