"""Exchange files that networkx misreads or refuses: they are why our readers are our own."""

import networkx as nx
import numpy as np
import pytest
import scipy.io

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, Graph, read_graph

NODES = "node [ id 1 ]\nnode [ id 2 ]\nnode [ id 3 ]\n"
LABELLED = 'node [ id 1 label "1" ]\nnode [ id 2 label "2" ]\nnode [ id 3 label "3" ]\n'
EDGES = "edge [ source 1 target 2 ]\nedge [ source 2 target 3 ]\n"
TWICE = "edge [ source 1 target 2 ]\n"  # igraph writes it so, and never says that it may be
TWO = Graph([0, 1], [1, 2], vertices=[1, 2, 3])
THREE = "*Vertices 3\n1 a\n2 b\n3 c\n"
# What stands within `graph [ ]`, and the graph.
GML = {
    "a quotation mark in a comment": (f'{LABELLED}# 5" wide\n{EDGES}label "x"\n', TWO),
    "an edge that is there twice": (f"{LABELLED}{EDGES}{TWICE}", TWO),
    "labels that differ in line ends": (
        'node [ id 1 label "a\nb" ]\nnode [ id 2 label "a b"\n] ',
        Graph([], [], vertices=["a\nb", "a b"]),
    ),
    "labels with leading zeros": (
        "node [ id 1 label 07 ] node [ id 2 label 7 ] node [ id 3 label 8 ]\n",
        Graph([], [], vertices=["07", "7", "8"]),
    ),
    "nodes without labels": (NODES + EDGES, TWO),
    "a letter that is not ASCII": (
        'node [ id 1 label "é" ]\nnode [ id 2 label "b" ]\nedge [ source 1 target 2 ]\n',
        Graph([0], [1], vertices=["é", "b"]),
    ),
    "an exponent without a point": (
        f"{LABELLED}edge [ source 1 target 2 weight 1e-05 ]\n",
        Graph([0], [1], [1e-05], vertices=[1, 2, 3]),
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
NODE = '<node id="a"/>'
# What stands before `<graph>` and within it: networkx reads it, and we refuse it in these words.
GRAPHML = {
    "an entity": (
        '<!DOCTYPE graphml [<!ENTITY e "a">]>',
        '<node id="&e;"/><node id="b"/><edge source="a" target="b"/>',
        "DOCTYPE",
    ),
    "one id twice": ("", f'{NODE}{NODE}<node id="b"/>', "same id"),
    "an endpoint that is not declared": ("", f'{NODE}<edge source="a" target="b"/>', "line 2: "),
}
READERS = {"gml": nx.read_gml, "net": nx.read_pajek, "graphml": nx.read_graphml}


def content_of(graph, labels):
    """The edges by the text of their ends, with weights, and all labels."""
    edges = {
        (frozenset(map(str, ends)), float((data or {}).get("weight", 1)))
        for *ends, data in graph.edges(data=True)
    }
    return edges, sorted(map(str, labels))


def as_networkx_reads(path):
    """The same of a file, None where it is refused."""
    try:
        found = READERS[path.suffix[1:]](path)
    except Exception:
        return None
    return content_of(found, found)


@pytest.mark.parametrize("name", [*GML, *PAJEK])
def test_what_networkx_misreads_or_cannot_read_is_read_right(name, put):
    """Where networkx is mended, this fails: then drop the case, and the reader with the last."""
    text, graph = (GML | PAJEK)[name]
    text, ending = (f"graph [\n{text}]\n", "gml") if name in GML else (text, "net")
    path = put(f"x.{ending}", text)
    assert read_graph(path, vertices=list(graph.labels)) == graph
    assert as_networkx_reads(path) != content_of(graph.to_networkx(), graph.labels)


def graphml(graph, *, head="", keys=""):
    return f"{head}<graphml>{keys}\n<graph edgedefault='undirected'>{graph}</graph></graphml>\n"


@pytest.mark.parametrize("name", GRAPHML)
def test_what_networkx_reads_for_something_else_is_refused(name, put):
    head, graph, message = GRAPHML[name]
    path = put("x.graphml", graphml(graph, head=head))
    assert as_networkx_reads(path) is not None
    with pytest.raises(FileFormatError, match=message):
        read_graph(path)


@pytest.mark.parametrize("kind", ["int", "double"])
def test_no_value_is_quoted_as_networkx_does(put, kind):
    edge = '<node id="b"/><edge source="a" target="b"><data key="w">secret</data></edge>'
    key = f'<key id="w" for="edge" attr.name="weight" attr.type="{kind}"/>'
    path = put("x.graphml", graphml(NODE + edge, keys=key))
    with pytest.raises(ValueError, match="secret"):
        nx.read_graphml(path)
    with pytest.raises(FileFormatError, match="line 2: the weight is not a number") as error:
        read_graph(path)
    assert "secret" not in str(error.value)


# ------------------------------------------------------------------ attributes of edges


def attributed(**kinds):
    """A GraphML file with one edge that has these attributes, each of value 3."""
    keys = "".join(
        f'<key id="k{name}" for="edge" attr.name="{name}" attr.type="{kind}"/>'
        for name, kind in kinds.items()
    )
    data = "".join(f'<data key="k{name}">3</data>' for name in kinds)
    edge = f'<edge source="a" target="b">{data}</edge>'
    return graphml(f'{NODE}<node id="b"/>{edge}', keys=keys)


# Declared attributes, options, whether there are weights, and words of what is reported.
CHOSEN = [
    ({"weight": "double"}, {}, True, ""),
    ({"weight": "double", "kind": "string"}, {}, True, "Ignored edge attributes: 'kind'."),
    ({"count": "int"}, {}, True, "weight of an edge: 'count'."),
    ({"Count": "long", "label": "string"}, {}, True, "'Count'; ignored edge attributes: 'label'."),
    ({"value": "string"}, {}, False, "Ignored edge attributes: 'value'."),
    ({"id": "int", "time": "double"}, {}, False, "Ignored edge attributes: 'id', 'time'."),
    ({"trips": "int"}, {"weighted": False}, False, "Ignored edge attributes: 'trips'."),
    ({"trips": "int"}, {"columns": gc.Columns(weight="trips")}, True, "of an edge: 'trips'."),
    ({"weight": "int", "trips": "int"}, {"columns": gc.Columns(weight="trips")}, True, "'trips';"),
    ({"note": "string"}, {"columns": gc.Columns(weight="note")}, True, "of an edge: 'note'."),
]


@pytest.mark.parametrize(("kinds", "options", "weighted", "words"), CHOSEN)
def test_the_weight_follows_from_declared_attributes(put, kinds, options, weighted, words):
    reports = []
    graph = read_graph(put("x.graphml", attributed(**kinds)), tell=reports.append, **options)
    assert graph.weighted == weighted
    assert graph.weights.tolist() == [3 if weighted else 1]
    assert words in "".join(reports)
    assert bool(words) == bool(reports)


# Declared attributes, options, words of the refusal, and options that it advises.
UNCLEAR = [
    ({"trips": "int"}, {}, r"\('trips'\); pass weight=", {"columns": gc.Columns(weight="trips")}),
    ({"trips": "int"}, {}, "else weighted=False", {"weighted": False}),
    (
        {"trips": "int"},
        {"columns": gc.Columns(weight="trip")},
        "not exactly one edge attribute 'trip'; pass weight= with one of the names: 'trips'",
        {"columns": gc.Columns(weight="trips")},
    ),
    (
        {"trips": "int"},
        {"columns": gc.Columns(weight=0)},
        "with one of the names",
        {"columns": gc.Columns(weight="trips")},
    ),
    (
        {"count": "int"},
        {"columns": gc.Columns(weight="count"), "weighted": False},
        "not both",
        {"weighted": False},
    ),
    ({"count": "int"}, {"columns": gc.Columns(header=True)}, "but for weight=", {}),
]


@pytest.mark.parametrize(("kinds", "options", "message", "advised"), UNCLEAR)
def test_an_unclear_weight_is_refused_with_advice_that_works(put, kinds, options, message, advised):
    path = put("x.graphml", attributed(**kinds))
    with pytest.raises(FileFormatError, match=message):
        read_graph(path, **options)
    assert read_graph(path, **advised).n == 2


def test_a_key_below_the_graph_is_refused(put):
    path = put("x.graphml", attributed(count="int").replace("</graph>", '</graph><key id="late"/>'))
    with pytest.raises(FileFormatError, match="line 2: a <key> below <graph>; move it above"):
        read_graph(path)


def test_the_weight_of_gml_can_be_named(put):
    edges = "edge [ source 1 target 2 count 5 weight 2 ]\nedge [ source 2 target 3 count 7 ]\n"
    path, reports = put("x.gml", f"graph [\n{NODES}{edges}]\n"), []
    named = read_graph(path, columns=gc.Columns(weight="count"), tell=reports.append)
    assert named.weights.tolist() == [5, 7]
    with pytest.raises(FileFormatError, match="line 6: an edge has no weight"):
        read_graph(path, columns=gc.Columns(weight="weight"))
    assert not read_graph(path, weighted=False, tell=reports.append).weighted
    assert reports == [
        "Edge attributes other than 'count' are ignored; weight= names another one.",
        "Edge attributes other than 'weight' and 'value' are ignored; weight= names another one.",
    ]


# ------------------------------------------------------------------ a matrix in a Pajek file


def pajek_matrix(matrix, vertices=None):
    """A Pajek file with this matrix."""
    rows = len(matrix)
    head = f"*Vertices {rows}" if vertices is None else f"*Vertices {vertices} {rows}"
    names = [f'{row} "{row}"' for row in range(1, (vertices or rows) + 1)]
    lines = [head, *names, "*Matrix"]
    return "\n".join([*lines, *(" ".join(map(str, row)) for row in matrix.tolist())]) + "\n"


def integer_matrices():
    """Matrices with loops: symmetric, of arcs, and with one of the two triangles."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        arcs = rng.integers(0, 4, (5, 5)) * rng.integers(0, 2, (5, 5))
        yield from (arcs, arcs + arcs.T, np.triu(arcs), np.tril(arcs))


@pytest.mark.parametrize("merge", [None, "max", "min"])
def test_a_matrix_in_pajek_is_read_as_in_the_other_formats(put, merge):
    for matrix in integer_matrices():
        path, table = put("x.net", pajek_matrix(matrix)), put("x.mtx", "")
        scipy.io.mmwrite(table, matrix, symmetry="general")
        options = {"vertices": [1, 2, 3, 4, 5], "merge": merge}
        graph = read_graph(path, **options)
        assert graph == read_graph(table, **options)
        if merge is None:
            larger = np.maximum(matrix, matrix.T) * (1 - np.eye(5))
            assert (graph.adjacency.toarray() == larger).all()
        arcs = gc.DirectedGraph.read(path, **options)
        assert arcs == gc.DirectedGraph.read(table, **options)
        assert arcs.to_networkx().edges == without_loops(nx.read_pajek(path)).edges


def without_loops(graph):
    """The graph of networkx with its labels as integers and without loops."""
    graph = nx.DiGraph(nx.relabel_nodes(graph, int))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def test_a_matrix_in_pajek_has_no_sum_of_both_entries_as_none_declares_one(put):
    for matrix in integer_matrices():
        path = put("x.net", pajek_matrix(matrix))
        with pytest.raises(FileFormatError, match="does not declare whether two entries"):
            read_graph(path, merge="sum")
        assert gc.DirectedGraph.read(path, merge="sum") == gc.DirectedGraph.read(path)


def test_one_row_of_a_matrix_in_pajek_changes_the_pairs_of_its_vertex_alone(put):
    matrix = np.array([[0, 2, 3], [2, 0, 4], [3, 4, 0]])
    before = read_graph(put("x.net", pajek_matrix(matrix))).adjacency.toarray()
    matrix[0] = [5, 0, 9]
    after = read_graph(put("x.net", pajek_matrix(matrix))).adjacency.toarray()
    assert (before[1:, 1:] == after[1:, 1:]).all()
    assert after[0].tolist() == [0, 2, 9]


def test_a_matrix_of_two_sides_has_a_row_for_each_vertex_of_the_left_one(put):
    path = put("x.net", pajek_matrix(np.array([[1, 0, 2], [0, 3, 0]]), vertices=5))
    sides = gc.BipartiteGraph.read(path)
    assert sides == gc.BipartiteGraph([0, 0, 1], [0, 2, 1], [1, 2, 3], left=[1, 2], right=[3, 4, 5])
    for merge in (None, "sum"):  # a pair has one entry
        graph = Graph([0, 0, 1], [2, 4, 3], [1, 2, 3], vertices=[1, 2, 3, 4, 5])
        assert read_graph(path, merge=merge) == graph


@pytest.mark.parametrize("name", ["epsilon", "name", "side", "weight", "facts"])
def test_facts_about_a_graph_may_have_any_name(tmp_path, name):
    path = tmp_path / "x.graphml"
    sides = {"left": ["a", "b"], "right": ["a", "007"]}
    graph = gc.BipartiteGraph([0, 1], [1, 0], [1.0, 2.0], max_weight=4, **sides)
    graph.write(path, about={name: 1.5})
    assert gc.BipartiteGraph.read(path) == graph
    assert nx.read_graphml(path).graph[name] == 1.5


@pytest.mark.parametrize("about", [{"graphcuts_dp": 1.0}, {"author": "\0"}])
def test_facts_about_a_graph_that_a_file_cannot_hold_are_refused(tmp_path, about):
    with pytest.raises(FileFormatError, match=r"rename it|control character"):
        TWO.write(tmp_path / "x.graphml", about=about)
    assert list(tmp_path.iterdir()) == []
