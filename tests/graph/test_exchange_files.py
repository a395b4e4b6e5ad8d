"""GML and Pajek files that networkx or igraph misreads or refuses, and ours reads right.

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
TWICE = "edge [ source 1 target 2 ]\n"  # igraph writes it so, and never says that it may be
TWO = Graph([0, 1], [1, 2], vertices=[1, 2, 3])
THREE = "*Vertices 3\n1 a\n2 b\n3 c\n"
# What stands within `graph [ ]`, and the graph.
GML = {
    "a quotation mark in a comment": (f'{NODES}# 5" wide\n{EDGES}label "x"\n', TWO),
    "an edge that is there twice": (f"{NODES}{EDGES}{TWICE}", TWO),
    "labels that differ in line ends": (
        'node [ id 1 label "a\nb" ]\nnode [ id 2 label "a b"\n] ',
        Graph([], [], vertices=["a\nb", "a b"]),
    ),
    "labels with leading zeros": (
        "node [ id 1 label 07 ] node [ id 2 label 7 ] node [ id 3 label 8 ]\n",
        Graph([], [], vertices=["07", "7", "8"]),
    ),
}
PAJEK = {
    "a comment": (
        "*Vertices 2\n1 a\n2 b\n*Edges\n% two words\n1 2\n",
        Graph([0], [1], vertices="ab"),
    ),
    "two sections": (
        f"{THREE}*Edges\n1 2\n*Arcs :1 x\n2 3\n",
        Graph([0, 1], [1, 2], vertices="abc"),
    ),
    "lists": (f"{THREE}*Edgeslist\n1 2 3\n", Graph([0, 0], [1, 2], vertices="abc")),
    "one label twice": (
        "*Vertices 3\n1 a\n2 a\n3 b\n*Edges\n1 3\n2 3\n",
        Graph([0, 1], [2, 2], vertices=[1, 2, 3]),
    ),
    "a backslash": (
        "*Vertices 2\n1 a\\b\n2 ab\n*Edges\n1 2\n",
        Graph([0], [1], vertices=["a\\b", "ab"]),
    ),
    "two sides": (
        THREE.replace("3\n", "3 1\n", 1) + "*Edges\n1 2\n",
        Graph([0], [1], vertices="abc"),
    ),
    "no labels": ("*Vertices 3\n*Edges\n1 2\n2 3\n", TWO),
    "an apostrophe": (
        "*Vertices 2\n1 O'Neil\n2 b\n*Edges\n1 2\n",
        Graph([0], [1], vertices=["O'Neil", "b"]),
    ),
    "a matrix": ("*Vertices 2\n*Matrix\n0 2.5\n0 0\n", Graph([0], [1], [2.5], vertices=[1, 2])),
}


def theirs(name, text):
    """How many vertices and edges networkx finds; None where it refuses."""
    try:
        if name in GML:
            found = nx.parse_gml(text, label="id" if "edge" in text else "label")
        else:
            found = nx.parse_pajek(text)
    except (nx.NetworkXError, ValueError, StopIteration, RuntimeError):
        return None
    return found.number_of_nodes(), found.number_of_edges()


@pytest.mark.parametrize("name", [*GML, *PAJEK])
def test_what_networkx_misreads_or_cannot_read(name, put):
    text, graph = (GML | PAJEK)[name]
    text, ending = (f"graph [\n{text}]\n", "gml") if name in GML else (text, "net")
    assert theirs(name, text) != (graph.n, len(graph.rows))
    assert read_graph(put(f"x.{ending}", text), vertices=list(graph.labels)) == graph


def test_a_vertex_that_is_not_declared(put):
    text = "*Vertices 2\n1 a\n2 b\n*Edges\n1 3\n"
    assert theirs("net", text) == (3, 1)
    with pytest.raises(FileFormatError, match=r"line 5: an edge ends at a vertex"):
        read_graph(put("x.net", text))


def test_networkx_takes_a_number_with_an_exponent_for_its_first_digit(tmp_path):
    """igraph writes such weights."""
    path = tmp_path / "x.gml"
    igraph.Graph([(0, 1)], edge_attrs={"weight": [1e-5]}).write_gml(str(path))
    assert [weight for _, _, weight in nx.read_gml(path, label="id").edges(data="weight")] == [1]
    assert read_graph(path).weights.tolist() == [1e-5]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_igraph_reads_a_weight_by_what_other_edges_have(put):
    """One edge must not decide how another is read."""
    edges = "edge [ source 1 target 2 weight 0.1234567890123456 ]\n{}\n"
    text = f"graph [\n{NODES}{edges}]\n"
    found = []
    for other in ("", 'edge [ source 2 target 3 weight "1" ]'):
        path = put("x.gml", text.format(other))
        found.append(igraph.Graph.Read_GML(str(path)).es["weight"][0])
        assert read_graph(path).weights[0] == 0.1234567890123456
    assert found[0] == 0.1234567890123456
    assert float(found[1]) != 0.1234567890123456
