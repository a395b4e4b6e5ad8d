"""GML and Pajek files that networkx or igraph misreads, and ours reads right or refuses.

They are why these two readers are our own. Where one of these tests says that a library has learnt
to read its file, ours may go.
"""

import igraph
import networkx as nx
import pytest

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import Graph, read_graph

NODES = "node [ id 1 ]\nnode [ id 2 ]\nnode [ id 3 ]\n"
EDGES = "edge [ source 1 target 2 ]\nedge [ source 2 target 3 ]\n"
TWO = Graph([0, 1], [1, 2], vertices=[1, 2, 3])


def gml(tmp_path, text):
    path = tmp_path / "x.gml"
    path.write_text(text)
    return path


def test_networkx_takes_a_number_with_an_exponent_for_its_first_digit(tmp_path):
    """igraph writes such weights."""
    small = igraph.Graph([(0, 1)], edge_attrs={"weight": [1e-5]})
    small.write_gml(str(tmp_path / "x.gml"))
    assert "1e-05" in (tmp_path / "x.gml").read_text()
    theirs = nx.read_gml(tmp_path / "x.gml", label="id")
    assert [weight for _, _, weight in theirs.edges(data="weight")] == [1]
    assert read_graph(tmp_path / "x.gml").weights.tolist() == [1e-5]


TWICE = "edge [ source 1 target 2 ]\n"  # igraph writes it so, and never says that it may be
# What it is: the file, how many edges networkx finds (None: it refuses), and what is there.
GML = {
    "a quotation mark in a comment": (f'{NODES}# 5" wide\n{EDGES}label "x"\n', 0, TWO),
    "an edge that is there twice": (f"{NODES}{EDGES}{TWICE}", None, TWO),
    "labels that differ in line ends": (
        'node [ id 1 label "a\nb" ]\nnode [ id 2 label "a b"\n] ',
        None,
        Graph([], [], vertices=["a\nb", "a b"]),
    ),
    "labels with leading zeros": (
        "node [ id 1 label 07 ] node [ id 2 label 7 ] node [ id 3 label 8 ]\n",
        None,
        Graph([], [], vertices=["07", "7", "8"]),
    ),
}


@pytest.mark.parametrize("name", GML)
def test_what_networkx_misreads_in_gml_files(name, tmp_path):
    text, edges, graph = GML[name]
    text = f"graph [\n{text}]\n"
    if edges is None:
        with pytest.raises(nx.NetworkXError, match="duplicated"):
            nx.parse_gml(text, label="id" if "edge" in text else "label")
    else:
        assert nx.parse_gml(text, label="id").number_of_edges() == edges
    assert read_graph(gml(tmp_path, text), vertices=list(graph.labels)) == graph


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_igraph_reads_a_weight_by_what_other_edges_have(tmp_path):
    """One edge must not decide how another is read."""
    edges = "edge [ source 1 target 2 weight 0.1234567890123456 ]\n{}\n"
    text = f"graph [\n{NODES}{edges}]\n"
    found = []
    for other in ("", 'edge [ source 2 target 3 weight "1" ]'):
        path = gml(tmp_path, text.format(other))
        found.append(igraph.Graph.Read_GML(str(path)).es["weight"][0])
        assert read_graph(path).weights[0] == 0.1234567890123456
    assert found[0] == 0.1234567890123456
    assert float(found[1]) != 0.1234567890123456


# What networkx makes of Pajek files without a word: (text, its vertices, its edges).
PAJEK = {
    "a comment": ("*Vertices 2\n1 a\n2 b\n*Edges\n% two words\n1 2\n", 4, 2),
    "two sections": ("*Vertices 3\n1 a\n2 b\n3 c\n*Edges\n1 2\n*Arcs :1 x\n2 3\n", 5, 3),
    "lists": ("*Vertices 3\n1 a\n2 b\n3 c\n*Edgeslist\n1 2 3\n", 3, 1),
    "one label twice": ("*Vertices 3\n1 a\n2 a\n3 b\n*Edges\n1 3\n2 3\n", 2, 2),
    "a vertex that is not declared": ("*Vertices 2\n1 a\n2 b\n*Edges\n1 3\n", 3, 1),
    "a backslash": ("*Vertices 2\n1 a\\b\n2 ab\n*Edges\n1 2\n", 1, 1),
}
OURS = {
    "a comment": Graph([0], [1], vertices=["a", "b"]),
    "two sections": Graph([0, 1], [1, 2], vertices=["a", "b", "c"]),
    "lists": Graph([0, 0], [1, 2], vertices=["a", "b", "c"]),
    "one label twice": Graph([0, 1], [2, 2], vertices=[1, 2, 3]),
    "a backslash": Graph([0], [1], vertices=["a\\b", "ab"]),
}


@pytest.mark.parametrize("name", PAJEK)
def test_what_networkx_misreads_in_pajek_files(name, tmp_path):
    text, vertices, edges = PAJEK[name]
    path = tmp_path / "x.net"
    path.write_text(text)
    theirs = nx.parse_pajek(text)
    assert (theirs.number_of_nodes(), theirs.number_of_edges()) == (vertices, edges)
    if name in OURS:
        assert read_graph(path, vertices=list(OURS[name].labels)) == OURS[name]
        return
    with pytest.raises(FileFormatError, match=r"line 5: an edge ends at a vertex"):
        read_graph(path)


@pytest.mark.parametrize(
    "text",
    [
        "*Vertices 3 1\n1 a\n2 b\n3 c\n*Edges\n1 2\n",
        "*Vertices 3\n*Edges\n1 2\n2 3\n",
        "*Vertices 2\n1 O'Neil\n2 b\n*Edges\n1 2\n",
        "*Vertices 2\n*Matrix\n0 2.5\n0 0\n",
    ],
)
def test_what_networkx_cannot_read_in_pajek_files(text, tmp_path):
    path = tmp_path / "x.net"
    path.write_text(text)
    with pytest.raises((ValueError, StopIteration, RuntimeError)):
        nx.parse_pajek(text)
    assert len(read_graph(path).rows) in (1, 2)
