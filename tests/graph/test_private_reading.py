"""What reading must not let out: times as weights, weights without a bound, vertices from edges."""

import os
import threading
import unicodedata

import pandas as pd
import pytest
from helpers import read_flat, read_owned_flat

import graphcuts_dp as gc
from graphcuts_dp.errors import FileFormatError, GraphError, LedgerError, ParameterError
from graphcuts_dp.session.session import session_of

learn = gc.release_iteratively

TIMES = "Patient ID,Contacted Person,Time Stamp\n1,2,1597427261\n2,3,1597427999\n"
MARK = "not private in its vertex set"


# ------------------------------------------------------------------ weights


@pytest.mark.parametrize("name", ["x.edges", "x.csv", "x.tsv", "x.txt", "out.x"])
def test_a_column_without_a_name_is_never_a_weight_unless_the_caller_says_so(put, name):
    separator = {"x.csv": ",", "x.tsv": "\t"}.get(name, " ")
    path = put(name, "1 2 1597427261\n2 3 1597427999\n".replace(" ", separator))
    none = {"header": False}
    with pytest.raises(FileFormatError, match="line 1: the third column has no name; pass weight="):
        read_flat(path, **none)
    with pytest.raises(FileFormatError, match="no name"):
        read_flat(path, weighted=True, **none)
    assert read_flat(path, weighted=False, **none) == gc.Graph.of([(1, 2), (2, 3)])
    assert read_flat(path, weight=2, **none).weights.tolist() == [1597427261, 1597427999]


def test_a_column_with_an_odd_name_is_not_a_weight_and_is_told_to_be_ignored(put):
    told = []
    graph = gc.read_graph(put("x.csv", TIMES), tell=told.append)
    assert graph == gc.Graph.of([(1, 2), (2, 3)])
    assert told == ["Read as the ends of an edge: column 1, column 2; ignored: 'timestamp'."]


@pytest.mark.parametrize("empty", [True, False])
def test_whether_there_are_weights_does_not_depend_on_rows(put, empty):
    rows = "" if empty else "a,b,1\n"
    options = {"vertices": ["a", "b"]}
    assert read_flat(put("x.csv", "from,to,weight\n" + rows), **options).weighted
    assert not read_flat(put("x.csv", "from,to,time\n" + rows), **options).weighted
    assert read_flat(put("x.edges", rows), weight=2, **options).weighted
    assert not read_flat(put("x.edges", rows), weighted=False, **options).weighted


def opened(graph, folder, method):
    options = {"epsilon": 1.0, "delta": 1e-6, "queries": 5, "method": method}
    with session_of(graph, store=folder / f"{method}.db", **options) as session:
        return session


DOORS = {
    "release": lambda g, _: gc.release_graph(g, epsilon=40.0, noise="laplace", fit="none"),
    "release of whole numbers": lambda g, _: gc.release_graph(
        g, epsilon=40.0, noise="discrete-laplace", fit="none"
    ),
    "session, laplace": lambda g, folder: opened(g, folder, "laplace"),
    "session, gaussian": lambda g, folder: opened(g, folder, "gaussian"),
}


def test_iterative_releases_and_sensing_need_a_cap_and_no_word_will_do():
    heavy = gc.Graph.of([("a", "b", 7.0)], vertices=["a", "b", "c"], hide_change=1)
    ratings = gc.BipartiteGraph.of([("a", "b", 7.0)], hide_change=1)
    for run in (
        lambda: learn(heavy, epsilon=1.0, delta=1e-6),
        lambda: learn(
            ratings, [gc.CutQuery(["a"], ["b"])], epsilon=1.0, delta=1e-6, construction="sensing"
        ),
    ):
        with pytest.raises(ParameterError, match="weight_cap"):
            run()


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("door", DOORS)
def test_weights_need_a_cap_or_a_word_at_every_door(tmp_path, door):
    edges = [("a", "b", 7.0), ("b", "c", 1.0)]
    with pytest.raises(ParameterError, match=r"weight_cap=.*weighted=False.*hide_change=1"):
        DOORS[door](gc.Graph.of(edges, vertices=["a", "b", "c"]), tmp_path)
    assert list(tmp_path.iterdir()) == []
    said = gc.Graph.of(edges, vertices=["a", "b", "c"], hide_change=1)
    promise = DOORS[door](said, tmp_path).guarantee
    assert promise.neighbours.endswith("by at most 1; an edge that weighs more is not")
    capped = gc.Graph.of(edges, vertices=["a", "b", "c"], weight_cap=7)
    (tmp_path / "two").mkdir()
    assert "within 0 .. 7" in DOORS[door](capped, tmp_path / "two").guarantee.neighbours


NAMES = ["x", "y", "ann", "bob", "cat", "dan", "zed"]


@pytest.mark.parametrize(
    ("rows", "read", "said"),
    [
        (["x,y,5\n", "ann,bob,NA\n", "cat,dan,7\n"], read_flat, {"weighted": False}),
        (["x,y,zed\n", "x,ann,NA\n", "y,bob,7\n"], read_owned_flat, {"owner": 2}),
    ],
)
def test_no_row_and_no_owner_decides_whether_there_is_a_header(put, rows, read, said):
    """Without its first line, a file that was guessed to have none was guessed to have one."""
    said = {"source": 0, "target": 1, "vertices": NAMES} | said
    for kept in (rows, rows[1:]):
        path = put("x.csv", "".join(kept))
        with pytest.raises(FileFormatError, match="columns by number: pass header=True if"):
            read(path, **said)
        for made in (read(path, **said, header=False), read(put("x.edges", "".join(kept)), **said)):
            graph = made if read is read_flat else made.bounded(at_most=9)
            assert len(graph.rows) == len(kept)


def test_no_row_decides_what_separates_the_others(put):
    vertices = ["a", "b", "c", "a;b"]
    for first in ("a b\n", "a,b\n", "a\tb\n"):
        graph = gc.read_graph(put("x.edges", first + "b c\nb,a\n"), vertices=vertices)
        assert len(graph.rows) == 2
    with pytest.raises(FileFormatError, match="pass delimiter="):
        gc.read_graph(put("x.edges", "a;b\n"), vertices=vertices)


# ------------------------------------------------------------------ the vertex set


def guarantees(graph, folder):
    """Of all doors that take a graph without weights."""
    yield gc.release_graph(graph, epsilon=9.0, seed=0, fit="none").guarantee
    for method in ("gaussian", "binary", "multiplicative-weights"):
        yield opened(graph, folder, method).guarantee
    made = learn(
        graph, epsilon=9.0, delta=1e-6, seed=0, construction="multiplicative-weights:rounds=1"
    )
    yield made.guarantee
    yield learn(graph, [gc.CutQuery(["a"])], epsilon=1.0, seed=0, construction="net").guarantee


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_vertices_from_edges_are_marked_in_every_guarantee_unless_they_are_said_to_be_public(
    put, tmp_path
):
    path = put("x.csv", "source,target\na,b\nb,c\n")
    for options in ({"vertices": ["a", "b", "c"]}, {"public_vertices_from_file": True}):
        assert MARK not in str(next(guarantees(read_flat(path, **options), tmp_path)))
    found = list(guarantees(gc.read_graph(path), tmp_path))
    assert len(found) == 6
    for promise in found:
        assert MARK in promise.public
        assert MARK in str(promise)
        assert MARK in promise.to_dict()["public"]


def test_vertices_of_tables_are_marked_and_those_that_a_source_lists_are_not(tmp_path):
    pairs = [("a", "b"), ("b", "c")]
    table = pd.DataFrame(pairs, columns=["source", "target"])
    for graph in (gc.Graph.of(pairs), gc.Graph.of(table)):
        assert graph.vertices.inferred
    listed = gc.Graph.of(gc.Graph.of(pairs).to_networkx())
    assert not listed.vertices.inferred
    for ending in (".edges", ".csv", ".graphml", ".gml", ".net", ".mtx", ".npz"):
        listed.write(tmp_path / f"x{ending}")
        assert not gc.read_graph(tmp_path / f"x{ending}").vertices.inferred
    sides = gc.BipartiteGraph.of(pairs)
    promise = gc.release_graph(sides, epsilon=1.0, fit="none").guarantee
    assert promise.public == f"both vertex sets (taken from the edges: {MARK})"
    assert not gc.datasets.load("us-flights").vertices.inferred
    made = gc.release_graph(gc.Graph.of(pairs), epsilon=9.0, seed=0)
    made.save(tmp_path / "s.csv")
    assert MARK in (tmp_path / "s.csv.json").read_text()
    assert MARK in gc.Release.load(tmp_path / "s.csv").guarantee.public


@pytest.mark.parametrize("size", [10**98, 2**63, 2**31])
def test_vertex_sets_of_any_size_are_refused_in_words(size):
    for labels in (size, range(size), range(1, size + 2), range(0, -2 * size, -2)):
        with pytest.raises(GraphError, match=r"at most 2,147,483,647 vertices"):
            gc.VertexSet(labels)


# ------------------------------------------------------------------ labels and rows


def test_one_name_in_two_unicode_spellings_is_refused_without_quoting_it(put):
    name = "zoë"
    rows = "".join(f"{unicodedata.normalize(form, name)},b\n" for form in ("NFC", "NFD"))
    path = put("x.csv", "source,target\n" + rows)
    with pytest.raises(FileFormatError, match=r"two Unicode spellings.*NFC") as caught:
        gc.read_graph(path)
    assert "zo" not in str(caught.value)
    with pytest.raises(GraphError, match="two Unicode spellings"):
        gc.VertexSet([unicodedata.normalize(form, name) for form in ("NFC", "NFD")])
    assert gc.VertexSet(["zoë", "zoé", "zoe"])


# ------------------------------------------------------------------ what is no regular file


def test_a_pipe_without_a_writer_is_refused_and_one_with_a_writer_is_read(tmp_path):
    pipe = tmp_path / "x.edges"
    os.mkfifo(pipe)
    with pytest.raises(FileFormatError, match="a pipe that nothing writes into"):
        gc.read_graph(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # open to the end: no writer breaks
    for pause in (0.0, 0.2):  # seconds; whether the writer writes before or after we read
        writer = os.open(pipe, os.O_WRONLY)
        later = threading.Timer(
            pause, lambda end: (os.write(end, b"a b\nb c\n"), os.close(end)), [writer]
        )
        later.start()
        assert gc.read_graph(pipe) == gc.Graph.of([("a", "b"), ("b", "c")])
        later.join()
    os.close(reader)


def test_what_bash_makes_of_a_process_is_read_as_a_list_of_labels():
    readable, writable = os.pipe()
    os.write(writable, b"a\nb\n")
    os.close(writable)
    graph = gc.Graph.of([("a", "b")], vertices=["a", "b"])
    assert gc.graph.files.read_vertices(f"/dev/fd/{readable}") == graph.vertices
    os.close(readable)


def test_devices_are_refused_in_words(tmp_path):
    with pytest.raises(FileFormatError, match="a device or a pipe tells no format"):
        gc.read_graph("/dev/null")
    (tmp_path / "x.edges").symlink_to("/dev/null")
    with pytest.raises(FileFormatError, match="is a device, not a file"):
        gc.read_graph(tmp_path / "x.edges")


@pytest.mark.parametrize("name", ["x" * 300 + ".db", "a\0b.db"])
def test_a_store_cannot_have_a_name_that_no_file_can(name):
    graph = gc.Graph([0], [1], vertices=3)
    with pytest.raises(LedgerError, match="the store cannot have this name"):
        gc.open_session(graph, store=name, epsilon=1.0, queries=3)
