"""GML and Pajek files that networkx 3 misreads or refuses: they are why our readers are our own."""

import pytest

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


@pytest.mark.parametrize("name", [*GML, *PAJEK])
def test_what_networkx_misreads_or_cannot_read_is_read_right(name, put):
    text, graph = (GML | PAJEK)[name]
    text, ending = (f"graph [\n{text}]\n", "gml") if name in GML else (text, "net")
    assert read_graph(put(f"x.{ending}", text), vertices=list(graph.labels)) == graph
