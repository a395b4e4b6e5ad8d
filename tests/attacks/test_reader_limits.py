"""Files that are made to hurt: lines of 10 MB, mixed encodings, pickles, entities, memory.

Whatever a file holds, reading it takes at most `MOST` times the bytes that it unpacks to, and a
packed one unpacks to 200 times its size or 64 MiB, whichever is more (`schema.unpacking`). Beside
what is here: random damage to files of every format, zip bombs (`test_fuzz_readers`, `test_files`).
"""

import io
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from command_runs import no_hang

import graphcuts_dp as gc
from graphcuts_dp import BipartiteGraph, Graph, GraphCutsError, read_graph
from graphcuts_dp.io.files import FORMATS

TEXTS = [ending for ending in FORMATS if ending not in (".npz", ".konect")]
ALL = [*TEXTS, ".npz"]
SAME = (".edgelist", ".txt", ".tsv", ".feather")  # as others, but for the name
MOST = 40  # bytes in use at the peak, for each byte of the file
ALWAYS = 1 << 20


def graph_or_error(path):
    """A graph, or an error that is short and in one line; None for the graph then."""
    try:
        with no_hang():
            graph = read_graph(path)
    except GraphCutsError as problem:
        text = str(problem)
        assert "\n" not in text
        assert len(text) < 400 + len(str(path))
        return None
    assert isinstance(graph, Graph | BipartiteGraph)
    return graph


def peak_of(path):
    """Most bytes in use at once while a file is read."""
    tracemalloc.start()
    try:
        graph_or_error(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LONG = 10_000_000
PIECES = {
    "a label": b"x" * LONG,
    "digits": b"9" * LONG,
    "blanks": b" " * LONG,
    "quotes": b'"' * LONG,
    "many words": b"0 1 " * (LONG // 4),
    "commas": b"," * LONG,
    "brackets": b"[" * LONG,
    "angles": b"<a " * (LONG // 3),
    "zero bytes": bytes(LONG),
}
FRAMES = {
    ".graphml": (b"<graphml><graph><node id='", b"'/></graph></graphml>"),
    ".gml": (b"graph [ node [ id ", b" ] ]"),
    ".net": (b"*Vertices 2\n1 ", b"\n*Edges\n1 2\n"),
    ".mtx": (b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n", b"\n"),
}


LINES = [ending for ending in TEXTS if ending not in SAME]
SOON = ("a label", "digits")


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    "piece", [p if p in SOON else pytest.param(p, marks=pytest.mark.slow) for p in PIECES]
)
@pytest.mark.parametrize("ending", LINES)
def test_lines_of_ten_megabytes(ending, piece, tmp_path):
    path = tmp_path / f"x{ending}"
    before, after = FRAMES.get(ending, (b"0 1\n0 ", b"\n"))
    for text in (PIECES[piece], before + PIECES[piece] + after):
        path.write_bytes(text)
        assert peak_of(path) < MOST * len(text) + ALWAYS


ENCODINGS = {
    "latin-1 after UTF-8": "ä ö\n".encode() + "ß é\n".encode("latin-1"),
    "UTF-16 with a mark": "ann bob\n".encode("utf-16"),
    "UTF-16 without": "ann bob\n".encode("utf-16-le"),
    "UTF-32": "ann bob\n".encode("utf-32"),
    "UTF-8 cut in a letter": "ann böb\n".encode()[:6],
    "a surrogate": b"ann b\xed\xa0\x80b\n",
    "overlong": b"ann b\xc0\xafb\n",
    "a mark in the middle": b"ann bob\n\xef\xbb\xbfeve kim\n",
    "UTF-7": b"ann b+APY-b\n",
    "line ends of all kinds": b"0 1\r\n1 2\r2 3\n\x0b\x0c3 4\x854 5\n",
    "an escape": b"ann \x1b[31mbob\n",
    "EBCDIC": "ann bob\n".encode("cp500"),
}


@pytest.mark.parametrize("ending", ALL)
def test_mixed_encodings(ending, tmp_path):
    before, after = FRAMES.get(ending, (b"", b""))
    path = tmp_path / f"x{ending}"
    whole = [(name, before + data + after) for name, data in ENCODINGS.items()]
    for name, text in [*ENCODINGS.items(), *whole]:
        path.write_bytes(text)
        graph = graph_or_error(path)
        # What is not UTF-8 is refused, never guessed.
        assert graph is None or not name.startswith(("latin", "UTF-8", "overlong", "a surr"))


def shouting(tmp_path):
    """A pickle that makes a file when it is opened."""

    class Shout:
        def __reduce__(self):
            return (open, (str(tmp_path / "opened"), "w"))

    return Shout()


def test_pickles_are_refused_and_not_opened(tmp_path):
    """As arrays of objects in every member that a matrix has, and as the whole file."""
    path = tmp_path / "x.npz"
    gc.Graph.of([(0, 1), (1, 2)]).write(path)
    with np.load(path) as stored:
        members = dict(stored)
    assert len(members) >= 3
    for name in members:
        np.savez(path, **(members | {name: np.array([shouting(tmp_path)], dtype=object)}))
        assert graph_or_error(path) is None
    path.write_bytes(pickle.dumps(shouting(tmp_path)))
    assert graph_or_error(path) is None
    assert not (tmp_path / "opened").exists()
    # The trap works: numpy opens it when it is told to.
    np.savez(path, x=np.array([shouting(tmp_path)], dtype=object))
    with np.load(path, allow_pickle=True) as stored:
        stored["x"][0].close()
    assert (tmp_path / "opened").exists()


BOMBS = {
    "laughs": '<!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><graphml>&b;</graphml>',
    "blow-up": f'<!DOCTYPE g [<!ENTITY a "{"a" * 50_000}">]><graphml>{"&a;" * 50_000}</graphml>',
    "a file": '<!DOCTYPE g [<!ENTITY a SYSTEM "file:///etc/hostname">]><graphml>&a;</graphml>',
    "a parameter": '<!DOCTYPE g [<!ENTITY % a SYSTEM "x.dtd"> %a;]><graphml/>',
    "a doctype": '<!DOCTYPE g SYSTEM "http://localhost/x.dtd"><graphml/>',
    "unknown": "<graphml>&secret;</graphml>",
    "UTF-16": '<!DOCTYPE g [<!ENTITY a "ha">]><graphml>&a;</graphml>',
    "nesting": "<graphml>" + "<graph>" * 200_000,
    "attributes": "<graphml " + " ".join(f'a{i}=""' for i in range(50_000)) + "/>",
}


@pytest.mark.parametrize("name", BOMBS)
def test_entities_are_refused(name, tmp_path):
    path = tmp_path / "x.graphml"
    path.write_bytes(BOMBS[name].encode("utf-16" if name == "UTF-16" else "utf-8"))
    assert peak_of(path) < MOST * path.stat().st_size + ALWAYS
    assert graph_or_error(path) is None


@pytest.mark.thorough
def test_archives_that_lie_about_their_sizes(tmp_path):
    """The directory says 10 bytes, the member unpacks to 128 MiB."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", bytes(1 << 27))
    data = packed.getvalue()
    true = (1 << 27).to_bytes(4, "little")
    assert data.count(true) >= 1
    path = tmp_path / "x.npz"
    path.write_bytes(data.replace(true, (10).to_bytes(4, "little")))
    assert peak_of(path) < 1 << 24
    assert graph_or_error(path) is None


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("ending", [*LINES, ".npz"])
def test_memory_is_a_multiple_of_the_file(ending, tmp_path):
    rng = np.random.default_rng(0)
    n, m = 2_000, 16_000
    weights = rng.random(m)
    graph = Graph(*rng.integers(0, n, (2, m)), weights, vertices=n, max_weight=1.0)
    path = tmp_path / f"x{ending}"
    graph.write(path)
    size = path.stat().st_size
    assert peak_of(path) < MOST * size + ALWAYS
    # Damage in the last line: as much is read before it is seen.
    path.write_bytes(path.read_bytes()[:-20] + b"\xff\xff\n")
    assert peak_of(path) < MOST * size + ALWAYS


def test_a_twin_that_takes_more_memory_is_seen(tmp_path, monkeypatch):
    path = tmp_path / "x.edges"
    path.write_text("0 1\n" * 100_000)
    read = read_graph

    def greedy(file):
        kept = bytes(2 * MOST * file.stat().st_size)
        return read(file) if kept else None

    monkeypatch.setitem(globals(), "read_graph", greedy)
    assert peak_of(path) > MOST * path.stat().st_size + ALWAYS
