"""Graphs that are written and read back, by this package and by other programs."""

import gzip
import io
import re
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from helpers import kind_of, make_flat, read_flat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import (
    BipartiteGraph,
    DirectedGraph,
    FileFormatError,
    Graph,
    GraphError,
    read_graph,
)
from graphcuts_dp.io.files import FORMATS

WRITTEN = [ending for ending in FORMATS if ending != ".konect"]
QUOTING = [".csv", ".tsv", ".mtx", ".npz", ".graphml", ".gml", ".net"]
ODD = [
    *("a b", "c,d", 'q"x', "é#", "#h", "x&<y>", "t\tb", "&amp;", "007", "-0", "+1"),
    *("NA", "null", " lead", "trail ", "%p", "n0", "'", "1e5", "\ufeffbom", "]", "日本"),
    *(5, -3, 10**20),
]
GRAPHS = {
    "default": Graph([0, 1], [1, 2], vertices=5),
    "strings": Graph([0, 1], [1, 2], vertices=["n1", "n0", "1", "02"]),
    "placeholders": Graph([0, 1], [1, 2], vertices=["n0", "n1", "n2"]),
    "integers": Graph([0, 1], [1, 2], [0.1, 3.0], vertices=[7, -2, 2**40]),
    "digits": Graph([0], [1], vertices=["0", "1", "2"]),
    "extreme": Graph([0, 1, 0], [1, 2, 2], [1e-300, 1.7e308, 1 / 3], vertices=4),
    "capped": Graph([0], [1], [2.0], vertices=3, max_weight=2.5),
    "no edges": Graph([], [], vertices=3),
    "no weights": Graph([], [], [], vertices=3, max_weight=7),
    "one vertex": Graph([], [], vertices=["only"]),
    "sides": BipartiteGraph([0, 1], [1, 2], [1, 2.5], left=["a", "b", "c"], right=["x", 4, "&"]),
    "same on both": BipartiteGraph([0, 1], [1, 2], left=3, right=4),
    "arcs": DirectedGraph([0, 1, 2, 1], [1, 0, 1, 2], vertices=["a", "&", "n1", "alone"]),
    "weighted arcs": DirectedGraph([0, 1, 4], [1, 0, 2], [0.5, 2, 1], vertices=5, max_weight=2),
    "no arcs": DirectedGraph([], [], vertices=2),
    "as many": BipartiteGraph([0], [1], left=2, right=2),
    "words of a header": Graph([0], [1], vertices=["source", "target"]),
    "shared names": BipartiteGraph([0, 1], [1, 1], left=["a", "b"], right=["a", "n0", "z"]),
}


@pytest.mark.thorough(cases=66)
@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("ending", WRITTEN)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_is_read_as_it_was_written(tmp_path, name, ending, packed):
    graph, path = GRAPHS[name], tmp_path / f"graph{ending}{packed}"
    graph.write(path)
    assert read_flat(path, **kind_of(graph)) == graph


@pytest.mark.parametrize("ending", WRITTEN)
def test_a_packed_file_may_end_in_capitals(tmp_path, ending):
    graph, path = GRAPHS["arcs"], tmp_path / f"graph{ending}.GZ"
    graph.write(path)
    assert read_flat(path, **kind_of(graph)) == graph


PLAIN_LISTS, EXCHANGE = [".edges", ".edgelist", ".txt"], [".graphml", ".gml", ".net"]
BREAKS = ["n\nl", "r\rl"]
# Endings, labels that such a file cannot hold, and words of the error.
UNWRITABLE = [
    (PLAIN_LISTS, ["a b", "a,b", "#a", "%a", "a\n", "\ufeffa"], "write .csv"),
    (PLAIN_LISTS, [""], "empty label"),
    ([".csv", ".tsv"], BREAKS, "line break"),
    (EXCHANGE, ["\0", "\x1b", "\x85", "\ufffe", "\ud800"], "control character"),
    ([".edges", ".csv", ".tsv"], ["\ud800"], "not valid Unicode"),
    ([".gml"], ["é", "北京", "t\tb", "()", "[]", *BREAKS], "write .graphml"),
    ([".net"], ['q"x', "a\\", "a\\\\b", *BREAKS], "write .graphml"),
]


@pytest.mark.parametrize(
    ("ending", "label", "message"),
    [(end, label, message) for ends, some, message in UNWRITABLE for end in ends for label in some],
)
def test_labels_that_a_format_cannot_hold_are_refused(tmp_path, ending, label, message):
    with pytest.raises(FileFormatError, match=message):
        Graph([0], [1], vertices=[label, "1"]).write(tmp_path / f"x{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", QUOTING)
def test_odd_labels_are_read_as_they_were_written(tmp_path, ending):
    labels = ODD if ending in (".csv", ".tsv", ".net") else ODD + BREAKS
    if ending == ".gml":
        labels = [label for label in labels if re.fullmatch("[ -~]*", str(label))]
    if ending == ".net":
        labels = [label for label in labels if '"' not in str(label)]
    edges = np.arange(len(labels) - 1)
    graph = Graph(edges, edges + 1, vertices=labels)
    graph.write(tmp_path / f"odd{ending}")
    assert read_graph(tmp_path / f"odd{ending}") == graph


@pytest.mark.parametrize("ending", WRITTEN)
def test_a_graph_of_one_kind_is_read_as_no_other(tmp_path, ending):
    path, kinds = tmp_path / f"x{ending}", (Graph, BipartiteGraph, DirectedGraph)
    for name in ("no edges", "strings", "same on both", "as many", "no arcs", "weighted arcs"):
        graph = GRAPHS[name]
        graph.write(path, force=True)
        for kind in kinds:
            if kind is not type(graph):
                with pytest.raises(
                    FileFormatError, match=r"make it a|it is no|side for every|undirected|square"
                ):
                    kind.read(path)


labels = st.one_of(
    st.integers(-(10**9), 10**9),
    st.text(st.sampled_from("a1&;#\\ '\"<[]()%*"), min_size=1, max_size=5),
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=5),
)


@st.composite
def graphs(draw):
    names = draw(st.lists(labels, min_size=1, max_size=8, unique_by=str))
    vertices = st.integers(0, len(names) - 1)
    rows = draw(st.lists(st.tuples(vertices, vertices), max_size=12))
    weighted = draw(st.booleans())
    numbers = st.floats(0, 1e300, allow_nan=False)
    weights = [draw(numbers) for _ in rows] if weighted else None
    return Graph([r for r, _ in rows], [c for _, c in rows], weights, vertices=names)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graph=graphs(), ending=st.sampled_from(QUOTING))
def test_random_graphs_are_read_as_they_were_written(tmp_path_factory, graph, ending):
    path = tmp_path_factory.mktemp("any") / f"x{ending}"
    try:
        graph.write(path)
    except FileFormatError:
        assert ending in (".gml", ".net")
        return
    assert read_graph(path) == graph


READ_BY = {
    (".graphml", "networkx"): nx.read_graphml,
    (".gml", "networkx"): nx.read_gml,
    (".net", "networkx"): nx.read_pajek,
    **{(ending, "igraph"): lambda path: igraph.Graph.Read(str(path)) for ending in EXCHANGE},
    **{(ending, "ours"): read_graph for ending in EXCHANGE},
}
NAMES = [
    "R&D",
    "Köln",
    "北京",
    'he "x"',
    "&amp;",
    "&#34;",
    "a\\b",
    "O'N",
    "] [",
    " <x> ",
    "😀",
    "#h",
]


def names_read(path: Path, program: str) -> list[str]:
    """Return the vertex names of a file as a program reads them."""
    graph = READ_BY[path.suffix, program](path)
    if program == "networkx":
        return list(graph)
    if program == "ours":
        return list(map(str, graph.labels))
    return graph.vs["label" if path.suffix == ".gml" else "name"]


@pytest.mark.thorough(cases=80)
@pytest.mark.parametrize("program", ["networkx", "igraph", "ours"])
@pytest.mark.parametrize("ending", EXCHANGE)
@pytest.mark.parametrize("name", NAMES)
def test_all_programs_read_a_name_as_it_is_or_it_is_refused(tmp_path, name, ending, program):
    path = tmp_path / f"x{ending}"
    is_refused = {".gml": not name.isascii(), ".net": '"' in name, ".graphml": False}[ending]
    graph = Graph([0], [1], vertices=[name, "b"])
    if is_refused:
        with pytest.raises(FileFormatError, match=r"write \.graphml"):
            graph.write(path)
        path = path.with_suffix(".graphml")  # as advised
    graph.write(path)
    assert names_read(path, program) == [name, "b"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graph=graphs(), ending=st.sampled_from(EXCHANGE))
def test_all_programs_read_the_same_names_of_random_graphs(tmp_path_factory, graph, ending):
    path = tmp_path_factory.mktemp("names") / f"x{ending}"
    try:
        Graph(graph.rows, graph.columns, vertices=graph.vertices).write(path)
    except FileFormatError:
        return
    for program in ("networkx", "igraph", "ours"):
        assert names_read(path, program) == list(map(str, graph.labels))


@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_survives_the_conversion_to_libraries_and_back(name):
    graph, kind = GRAPHS[name], kind_of(GRAPHS[name])
    sets = (graph.left, graph.right) if kind["bipartite"] else graph.vertices
    public = {"vertices": sets, "weighted": graph.weighted, "max_weight": graph.max_weight}
    for converted in (graph.to_scipy(), graph.to_frame(), graph.to_igraph()):
        assert make_flat(converted, **public, **kind) == graph
    # Vertices without edges are there, too; their order is that of their names.
    assert make_flat(graph.to_igraph(), **kind).shape == graph.shape
    if name in ("same on both", "as many", "shared names"):
        with pytest.raises(GraphError, match="both sides"):
            graph.to_networkx()
    else:
        assert make_flat(graph.to_networkx(), **public, **kind) == graph
        assert make_flat(graph.to_networkx(), **kind).shape == graph.shape


NX_WRITERS = [
    (".graphml", nx.write_graphml_xml),
    (".graphml", nx.write_graphml),
    (".gml", nx.write_gml),
    (".net", nx.write_pajek),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("ending", "write"), NX_WRITERS)
def test_files_of_networkx_are_read(tmp_path, ending, write):
    path, graph = tmp_path / f"x{ending}", nx.Graph()
    graph.add_nodes_from(["z", "a b", 'q"x', "é", "&z"])
    graph.add_weighted_edges_from([("a b", 'q"x', 2.5), ("é", "&z", 1e-7)])
    write(graph, path)
    read_back = read_graph(path)
    assert read_back.labels == ("&z", "a b", 'q"x', "z", "é")  # sorted: the order may tell of edges
    assert read_back.weights.tolist() == [1e-7, 2.5]
    with pytest.raises(FileFormatError, match="undirected edges; it is no DirectedGraph"):
        gc.DirectedGraph.read(path)
    arcs = nx.MultiDiGraph()
    arcs.add_weighted_edges_from([("3", "1", 2), ("1", "3", 5), ("1", "1", 1)])
    write(arcs, path)
    expected = DirectedGraph([0, 1], [1, 0], [5, 2], vertices=list(read_graph(path).labels))
    assert gc.DirectedGraph.read(path) == expected
    assert read_graph(path).weights.tolist() == [7]
    assert read_graph(path, max_weight=6).weights.tolist() == [6]
    assert read_graph(path, merge="max").weights.tolist() == [5]
    women = nx.davis_southern_women_graph()
    women.graph.clear()
    write(women, path)
    assert read_graph(path).n == 32
    if ending != ".net":
        assert gc.BipartiteGraph.read(path).shape == (18, 14)


@pytest.mark.parametrize(
    ("ending", "form"), [(".graphml", "graphml"), (".gml", "gml"), (".net", "pajek")]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_files_of_igraph_are_read(tmp_path, ending, form):
    path, names = tmp_path / f"x{ending}", ["b", 'a "q"', "é c"]
    graph = igraph.Graph([(0, 1), (2, 1)])
    graph.vs["name"], graph.vs["type"] = names, [False, True, False]
    graph.es["weight"] = [0.5, 3]
    graph.write(str(path), format=form)
    assert read_graph(path) == Graph([0, 0], [1, 2], [0.5, 3], vertices=['a "q"', "b", "é c"])
    sides = gc.BipartiteGraph.read(path)
    assert (list(sides.left.labels), list(sides.right.labels)) == (["b", "é c"], ['a "q"'])
    arcs = igraph.Graph(n=4, edges=[(0, 1), (1, 0), (1, 2)], directed=True)
    arcs.vs["name"] = arcs.vs["id"] = list("abcd")
    arcs.write(str(path), format=form)
    expected = DirectedGraph([0, 1, 1], [1, 0, 2], vertices=list("abcd"))
    assert gc.DirectedGraph.read(path) == expected
    assert len(read_graph(path).rows) == 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_other_programs_read_our_files(tmp_path):
    graph = Graph([0, 1], [1, 2], [1e-7, 1e300], vertices=["a b", 'q"x', "c", "alone"])
    for ending, read in ((".graphml", nx.read_graphml), (".gml", nx.read_gml)):
        graph.write(tmp_path / f"x{ending}")
        network = read(tmp_path / f"x{ending}")
        assert list(network) == list(graph.labels)
        assert network["a b"]['q"x']["weight"] == 1e-7
    assert igraph.Graph.Read_GraphML(str(tmp_path / "x.graphml")).vs["name"] == list(graph.labels)
    assert igraph.Graph.Read_GML(str(tmp_path / "x.gml")).vs["label"] == list(graph.labels)
    Graph([0, 1], [1, 2], [1e-7, 1e300], vertices=4).write(tmp_path / "x.net")
    assert igraph.Graph.Read_Pajek(str(tmp_path / "x.net")).es["weight"] == [1e-7, 1e300]
    graph.write(tmp_path / "x.mtx")
    graph.write(tmp_path / "x.npz")
    read = scipy.io.mmread(tmp_path / "x.mtx", spmatrix=False)
    for matrix in (read, sp.load_npz(tmp_path / "x.npz")):
        assert (abs(sp.csr_array(matrix) - graph.adjacency)).max() == 0


def test_files_of_scipy_are_read(tmp_path):
    npz, mtx = tmp_path / "x.npz", tmp_path / "x.mtx"
    arcs = sp.coo_array(([1.0, 2.0, 9.0], ([0, 1, 2], [1, 0, 2])), shape=(3, 3))
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        sp.save_npz(npz, arcs.asformat(kind))
        assert read_graph(npz) == Graph([0], [1], [2.0], vertices=3)
        assert gc.DirectedGraph.read(npz) == DirectedGraph([0, 1], [1, 0], [1, 2], vertices=3)
    scipy.io.mmwrite(mtx, arcs)
    with pytest.raises(FileFormatError, match=r"one edge or two arcs.*add it to its transpose"):
        read_graph(mtx, merge="sum")
    assert not read_graph(mtx, merge="sum", weighted=False).weighted
    scipy.io.mmwrite(mtx, arcs + arcs.T)
    assert read_graph(mtx, merge="sum").weights.tolist() == [3.0]  # once each
    scipy.io.mmwrite(mtx, np.ones((2, 3)))
    assert gc.BipartiteGraph.read(mtx).shape == (2, 3)
    with pytest.raises(FileFormatError, match="BipartiteGraph"):
        read_graph(mtx)


@pytest.mark.parametrize("ending", [".gml", ".net"])
def test_a_file_that_declares_no_weights_gets_none_from_its_edges(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    Graph([0], [1], vertices=2).write(path)
    text = path.read_text()
    old, new = {".gml": ("target 1 ]", "target 1 weight 3 ]"), ".net": ("1 2\n", "1 2 3\n")}[ending]
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(FileFormatError, match=r"line \d+: an edge has a weight though.*weighted=T"):
        read_graph(path)
    assert not read_graph(path, weighted=False).weighted
    assert read_graph(path, weighted=True).weights.tolist() == [3]


def test_packed_files_have_no_time_stamp(tmp_path):
    for name in ("a.edges.gz", "b.edges.gz"):
        GRAPHS["default"].write(tmp_path / name)
    assert (tmp_path / "a.edges.gz").read_bytes() == (tmp_path / "b.edges.gz").read_bytes()
    assert gzip.GzipFile(fileobj=io.BytesIO((tmp_path / "a.edges.gz").read_bytes())).mtime is None
