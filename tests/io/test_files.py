import gzip
import os
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import read_flat

import graphcuts_dp as gc
from graphcuts_dp import (
    BipartiteGraph,
    FileFormatError,
    Graph,
    GraphError,
    ParameterError,
    read_graph,
)
from graphcuts_dp.io.files import check_writable_graph, describe_reading, read_vertices

SECRET = "XsecretX"  # noqa: S105


# ------------------------------------------------------------------ plain edge lists


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n2 3\n",
        "1\t2\n2\t3",
        "1,2\n2,3\n",
        "1 2\r\n2 3\r\n",
        "1, 2\n2 , 3\n",
        "# SNAP\n#\n1 2\n\n2  3 \n# end\n",
        "% sym unweighted\n1 2\n2 3\n",
        "\ufeff1 2\n2 3\n",
        "2 1\n1 2\n3 2\n3 3\n",
        "  1 2\n2 3",
    ],
)
def test_ways_to_write_two_edges(put, text):
    expected = Graph([0, 1], [1, 2], vertices=[1, 2, 3])
    assert read_graph(put("x.edges", text)) == expected
    assert read_graph(put("x.txt.gz", gzip.compress(text.encode()))) == expected


@pytest.mark.parametrize("ids", ["1 07", "1 +2", "1 NA", "1 null", "1 1.0", "1 -0", "01 2"])
def test_ids_are_integers_only_if_all_are(put, ids):
    assert read_graph(put("x.edges", ids + "\n")).labels == tuple(sorted(ids.split()))


def test_below_a_header_a_hash_is_a_letter(put):
    assert read_graph(put("x.csv", "source,target\n#a,b\n%c,b\n")).labels == ("#a", "%c", "b")


def test_integers_sort_by_size_and_may_be_large_or_negative(put):
    graph = read_graph(put("x.edges", f"10 9\n-4 9\n{10**30} 10\n"))
    assert graph.labels == (-4, 9, 10, 10**30)
    spread = read_graph(put("x.edges", "0 900000000000000000\n7 0\n"))
    assert spread.labels == (0, 7, 9 * 10**17)


def test_weights(put):
    path, weight = put("x.edges", "a b 1.5\nb a 2\nb c 1e-3\nc d 0\n"), gc.Columns(weight=2)
    assert gc.read_graph(path, columns=weight).weights.tolist() == [3.5, 1e-3]
    assert gc.read_graph(path, columns=weight, merge="max").weights.tolist() == [2.0, 1e-3]
    capped = gc.read_graph(path, columns=weight, max_weight=3)
    assert (capped.weights.tolist(), capped.max_weight) == ([3.0, 1e-3], 3.0)
    assert not read_graph(path, weighted=False).weighted
    assert len(read_graph(path, weighted=False).rows) == 3


# ------------------------------------------------------------------ headers and columns


@pytest.mark.parametrize(
    "text",
    [
        *("a,b\nc,d\n", "head,tail\n1,2\n", "a,b,friend\nc,d,foe\n", "u,v\nc,d\n"),
        *("1,2\n2,3\n", "1,source\n2,target\n", "1,2,count\n2,3,4\n", "1,to,from\n2,3,4\n"),
    ],
)
def test_a_first_line_that_may_be_a_row_is_no_header_unless_the_caller_says_so(put, text):
    path = put("x.csv", text)
    options = {"source": 0, "target": 1, "weighted": False}
    if "from" not in text:
        with pytest.raises(FileFormatError, match="pass header=False if the file has no header"):
            read_graph(path)
    with pytest.raises(FileFormatError, match="columns by number: pass header=True if"):
        read_flat(path, **options)
    assert len(read_flat(path, header=True, **options).rows) == 1
    assert len(read_flat(path, header=False, **options).rows) == 2


@pytest.mark.parametrize("name", ["x.txt", "x.edges"])
def test_plain_lists_have_a_header_only_on_demand(put, name):
    listed, named = "# c\nant bee\na b\n", "From To\na b\n"
    assert len(read_graph(put(name, listed)).rows) == 2
    with pytest.raises(FileFormatError, match="pass header=True if it is, else header=False"):
        read_graph(put(name, named))
    for text in (listed, named):
        for header, edges in ((True, 1), (False, 2)):
            assert len(read_flat(put(name, text), header=header).rows) == edges


def test_columns(put):
    path = put("x.csv", "id,source,target,count,when\n1,a,b,5,x\n2,b,c,6,y\n")
    turned = gc.Columns(source="target", target="source", weight="id")
    for columns, weights in (
        (gc.Columns(), [5, 6]),
        (turned, [1, 2]),
        (gc.Columns(source=1, target=2, header=True), [5, 6]),
    ):
        assert gc.read_graph(path, columns=columns).weights.tolist() == weights
    wide = put("x.edges", "1 2 3 4\n")
    assert gc.read_graph(wide, columns=gc.Columns(weight=3)).weights.tolist() == [4]


# The rows of a file, options, and words of the error.
CHOICES = [
    ("a b\n", {"weighted": True}, "weighted=True"),
    ("a b\n", {"max_weight": 2}, "max_weight"),
    ("a b 2\n", {"max_weight": -1}, "max_weight"),
    ("a b 2\n", {"merge": "mean"}, "merge"),
    ("source,target,p,q\na,b,5,6\n", {}, "columns 3, 4 is a weight; pass weight= if so"),
    ("source,target\na,b\n", {"source": "source", "target": "nothing"}, "exactly one column"),
    ("1 2 3 4\n", {}, "line 1: further columns have no name"),
    *(
        ("1 2 3 4\n", columns, r"column|together|not both")
        for columns in (
            *({"source": 0}, {"source": 0, "target": 0}, {"weight": 1}, {"weight": 9}),
            *({"weight": -1}, {"weight": "b"}, {"weight": True}),
            {"weight": 2, "weighted": False},
        )
    ),
    *((text, {"one_based": True}, r"line 1: one_based") for text in ("0 1\n", "a 1\n", "-1 1\n")),
]


@pytest.mark.parametrize(("text", "options", "message"), CHOICES)
def test_what_does_not_fit_the_rows_is_refused(put, text, options, message):
    with pytest.raises((FileFormatError, ParameterError), match=message):
        read_flat(put("x.csv" if "source" in text else "x.edges", text), **options)


def test_konect(put):
    text = "% bip weighted\n% 3 3 3\n1 1 5 1082040961\n2 3 1 1082155839\n3 1\t2 108\n"
    for name in ("out.opsahl-ucforum", "x.konect", "out.moreno"):
        path = put(name, text)
        assert read_graph(path).labels == (1, 2, 3)
        assert gc.read_graph(path, columns=gc.Columns(one_based=True)).labels == (0, 1, 2)
        sides = gc.BipartiteGraph.read(path, columns=gc.Columns(one_based=True), vertices=(3, 4))
        assert sides == BipartiteGraph([0, 1, 2], [0, 2, 0], [5, 1, 2], left=3, right=4)
    with pytest.raises(FileFormatError, match="only read"):
        check_writable_graph(put("y", "").parent / "out.mine")


def test_one_based(put):
    columns = gc.Columns(one_based=True)
    for text in ("1 2\n2 3\n", "1 2\n\n2 3\n"):
        graph = gc.read_graph(put("x.edges", text), columns=columns, vertices=4)
        assert graph == Graph([0, 1], [1, 2], vertices=4)
    with pytest.raises(FileFormatError, match="edge lists"):
        gc.read_graph(put("z.gml", "graph [ ]"), columns=columns)


# ------------------------------------------------------------------ vertices


def test_vertices_as_count_labels_and_file(put):
    path = put("x.edges", "1 2\n2 3\n")
    assert read_graph(path, vertices=5) == Graph([1, 2], [2, 3], vertices=5)
    assert read_graph(path, vertices=[3, 2, 1, 0]) == Graph([0, 1], [1, 2], vertices=[3, 2, 1, 0])
    file = put("v.txt.gz", gzip.compress(b"3\r\n2\n1\n9\n\n"))
    assert read_graph(path, vertices=file).labels == (3, 2, 1, 9)
    assert read_graph(path, vertices=str(file)).labels == (3, 2, 1, 9)
    words = read_graph(put("w.edges", "1 2\n"), vertices=put("v.txt", "007\n#x y\n1\n2\n"))
    assert words.labels == ("007", "#x y", "1", "2")
    sides = gc.BipartiteGraph.read(path, vertices=([2, 1], 4))
    assert sides == BipartiteGraph([0, 1], [3, 2], left=[2, 1], right=4)
    assert read_graph(path, vertices=put("v", "1\n2\n3\n")).labels == (1, 2, 3)


# Rows, vertices that are given, and words of the error.
OUTSIDE = [
    *(
        (f"1 2\n2 {SECRET}\n", each, "line 2: a vertex is not in")
        for each in (5, [1, 2], ["1", "2"])
    ),
    ("0 1\n1 2\n", 2, "line 2"),
    ("1 2\n", [1, 1], "twice"),
    ("1 2\n", [1, "1"], "one text"),
]


@pytest.mark.parametrize(("text", "vertices", "message"), OUTSIDE)
def test_vertices_that_do_not_fit_are_refused(put, text, vertices, message):
    with pytest.raises((FileFormatError, GraphError), match=message) as error:
        read_graph(put("x.edges", text), vertices=vertices)
    assert SECRET not in str(error.value)


def test_bad_files_of_vertices(put):
    for content, message in (
        ("a\n\nb\n", "line 2: the label is empty"),
        (b"\xff\n", "UTF-8"),
        ("\n", "at least one vertex"),
    ):
        with pytest.raises((FileFormatError, GraphError), match=message):
            read_vertices(put("v.txt", content))
    for name, content in (("v.csv", "zone;district\na;x\n"), ("v.tsv", "a\tx\n")):
        with pytest.raises(FileFormatError, match="this is a table; vertices stand in a file with"):
            read_vertices(put(name, content))
    assert read_vertices(put("v.csv", "a\nLee, Ann\n")).labels == ("a", "Lee, Ann")
    with pytest.raises(GraphError, match="pair"):
        gc.BipartiteGraph.read(put("x.edges", "1 2\n"), vertices=5)


def test_given_vertices_for_files_that_declare_their_own(tmp_path):
    graph = Graph([0, 1], [1, 2], vertices=["a", "b", "c"])
    for ending in (".graphml", ".gml", ".net", ".mtx", ".npz", ".csv"):
        graph.write(tmp_path / f"x{ending}")
        given = read_graph(tmp_path / f"x{ending}", vertices=["c", "b", "a", "d"])
        assert given == Graph([2, 1], [1, 0], vertices=["c", "b", "a", "d"])
        with pytest.raises(FileFormatError, match="not in the public vertex set"):
            read_graph(tmp_path / f"x{ending}", vertices=["a", "b"])
    sp.save_npz(tmp_path / "x.npz", graph.adjacency)
    with pytest.raises(FileFormatError, match="differs from that of the matrix"):
        read_graph(tmp_path / "x.npz", vertices=4)


# ------------------------------------------------------------------ malformed rows

# Of MatrixMarket: what follows the words that begin such a file, and words of the error.
MATRICES = [
    ("coordinate real general\n3 3 2\n1 2 3\n1 XsecretX 3\n", 4),
    ("coordinate complex general\n1 1 0\n", "a graph needs"),
    ("coordinate real general\n2 2 1\n1 2 nan\n", 3),
    ("coordinate real general\n2 2 1\n1 2 -1\n", "negative"),
    (f"coordinate real general\n{10**11} {10**11} 0\n", "most"),
    ("coordinate pattern general\n2 1 2\n1 1\n2 1g\ufffdd\x16", "line 4: malformed row"),
    ("coordinate real general\n2 2 1\n1 2\n", "line 3: malformed row"),
    ("coordinate real general\n2 2 1\n1 2 1\n2 1 1\n", "not as many entries"),
    ("coordinate real general\n2 2 1\n0 2 1\n", "outside the matrix"),
    ("coordinate real general\n2 2 1\n1 3 1\n", "line 3: .* outside the matrix"),
    ("coordinate real general\n%\n\n2 2 2\n1 2 1\n\n2 3 1\n", "line 7: .* outside"),
    (f"coordinate real general\n2 2 1\n1 {2**32 + 2} 1\n", "line 3: .* outside"),
    (f"coordinate real general\n2 2 {10**17}\n1 2 1\n", "not as many entries"),
    (f"array real general\n{10**9} {10**9}\n1\n", "not as many entries"),
    ("coordinate real general\n2 2 1\n1 2 +3\n", "line 3: malformed row"),
    ("coordinate real general\n2 2 1\n1 2 1e5.\n", "line 3: malformed row"),
    ("coordinate real general\n2 2 2\n1 2 3\n% late\n2 1 3\n", "line 4: malformed row"),
    ("array real general\n1 2\n1 2\n", "line 3: malformed row"),
    ("coordinate real general\n2 2 -1\n", "line 2: expected 3 whole numbers"),
    (f"coordinate real general\n{'9' * 5000} 2 0\n", "line 2: expected 3 whole numbers"),
    ("coordinate real general\n% only comments\n", "line 3: expected 3 whole numbers"),
    ("array real general\n2 2\n1\n2\n3\n", "not as many entries"),
    ("array real symmetric\n2 3\n1\n2\n3\n", "symmetric matrix is square"),
    ("coordinate pattern symmetric\n4 2 2\n2 1\n3 2\n", "symmetric matrix is square"),
    ("array real general\n1 2\n1\nx\n", "line 4: malformed row"),
    # What scipy takes for another number without a word, which is why ours looks first.
    *(
        (f"coordinate {kind} general\n2 2 1\n1 2 {rest}\n", "line 3: malformed row")
        for kind, rest in (
            *(("real", "1x"), ("real", "1_0"), ("real", "0x10"), ("real", "1 7")),
            ("pattern", "7"),
        )
    ),
    # What ends the process of scipy, which reads on after the end of the text.
    ("coordinate real general\n2 2 1\n1 2 3\0\0\n", "malformed"),
    ("array real general\n0 2\n\n", "malformed"),
    ("array pattern general\n1 1\n1\n", "a graph needs"),
    ("coordinate real skew-symmetric\n2 2 1\n2 1 1\n", "a graph needs"),
]
BOMB = '<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'
# A file, and the line that its error names, or words.
WRONG = [
    ("x.edges", f"1 2\n3\n{SECRET} 4\n", 2),
    ("x.edges", f"1 2\n2 3\n\n# c\n{SECRET} 4 5\n", 5),
    ("x.edges", f"a b 1\na {SECRET} b\n", 2),
    ("x.edges", f"a b 1\na {SECRET} nan\n", 2),
    ("x.edges", f"a b 1\na {SECRET} -1\n", 2),
    ("x.edges", "1 2 1\n1 3 -1\n", 2),
    ("x.edges", "1 2 1\n1 3 inf\n", 2),
    ("x.edges", "1 2 1\n1 3 1_0\n", 2),
    ("x.edges", "1 2 1\n1 3 1e999\n", 2),
    ("x.edges", f"# c\n1 2\n{SECRET},3 4\n", 3),
    ("x.edges", f"1,2\n{SECRET} a,4\n", 2),
    ("x.edges", f"1,2\n,{SECRET}\n", 2),
    ("x.csv", f"source,target\na,b\n{SECRET},\n", 3),
    ("x.csv", f'source,target\n"a",b\n"{SECRET}\n', 3),
    ("x.csv", f'source,target\n"a",b\n{SECRET},"c"d\n', 3),
    ("x.csv", f'source,target\n"{SECRET}\nc",b\na,d\n', 2),
    ("x.csv", f'source,target\na,b\n{SECRET},"c\nd,"e\n', 3),
    ("x.edges", f"a b\n# graphcuts-dp: {SECRET}\nb c\n", 2),
    ("x.edges", f"a b\n\ufeff{SECRET} c\n", 2),
    ("x.edges", f"a b\n{SECRET} c\td\n", 2),
    ("out.x", f"1 2\n% sym weighted {SECRET}\n", 2),
    ("x.csv", f"source,target,weight\na,b,1\nc,{SECRET},\n", 3),
    ("x.csv", f"source,target,weight\na,b,1\nc,{SECRET}\n", 3),
    ("x.tsv", f"source\ttarget\na\tb\n{SECRET}\n", 3),
    ("x.net", f"*Vertices 2\n1 {SECRET}\n2\n*Edges\n1 2\n1\n", 6),
    ("x.net", f"*Vertices 2\n1 {SECRET}\n2\n*Edges\n1 3\n", 5),
    ("x.net", f"*Vertices 2\n9 {SECRET}\n", 2),
    ("x.net", f"*Vertices 2\n*Matrix\n0 {SECRET}\n", 3),
    ("x.net", "*Vertices 3\n*Matrix\n0 7 7\n0 7 7\n", "fewer rows than vertices"),
    ("x.net", "*Vertices 3\n*Matrix\n", "fewer rows than vertices"),
    ("x.net", "*Vertices 3 1\n*Matrix\n% nothing\n", "fewer rows than vertices"),
    ("x.net", "*Vertices 2\n*Matrix\n0 7\n0 7\n0 7\n", "line 5: .* more rows than vertices"),
    ("x.net", "*Vertices 3 1\n*Matrix\n7 7\n7 7\n", "line 4: .* more rows than vertices"),
    ("x.net", "*Vertices 2\n*Matrix\n0 7\n0\n", "line 4: .* wrong number of columns"),
    ("x.net", "*Vertices 2\n*Matrix\n0 7\n0 7 7\n", "line 4: .* wrong number of columns"),
    ("x.net", "*Vertices 3 1\n*Matrix\n0 7 7\n", "line 3: .* wrong number of columns"),
    *(
        ("x.net", f"*Vertices 2\n{first}\n{second}\n", r"line [45]: .*\*Matrix stands alone")
        for first, second in (
            ("*Matrix\n0 7\n7 0", "*Matrix :2"),
            ("*Matrix\n0 7\n7 0", "*Edges"),
            ("*Arcslist\n1 2", "*matrix"),
        )
    ),
    ("x.net", f"{SECRET}\n*Vertices 2\n", 1),
    ("x.net", f"*{SECRET}\n*Vertices 2\n", 1),
    ("x.net", f"*Vertices {SECRET}\n", 1),
    ("x.net", "*Edges\n1 2\n", 1),
    ("x.net", "*Vertices 30000000\n*Edges\n1 2\n", "far more vertices"),
    *(
        ("x.net", line.format("9" * 5000), r"line [12]: ")
        for line in ("*Vertices 3\n{0} x\n", "*Vertices {0}\n", "*Vertices 3 {0}\n")
    ),
    ("x.gml", f"graph [\n node [ id 1 ]\n edge [ source 1 target {SECRET} ]\n]\n", 3),
    ("x.gml", f'graph [\n node [ id 1 ]\n edge [ source 1 "{SECRET}" ]\n]\n', 3),
    ("x.gml", f'graph [\n node [ label "{SECRET}" ]\n]\n', 2),
    ("x.gml", f'graph [\n node [ id 1 ]\n edge [ source 1 label "{SECRET}" ]\n]\n', 3),
    ("x.gml", "graph [\n node [ id 1 ]\n]\n]\n", 4),
    ("x.graphml", f"<graphml>\n<graph>\n<node id='{SECRET}'>\n</graph></graphml>", 4),
    ("x.graphml", f"<graphml><graph>\n<node id='{SECRET}'/>\n<edge source='a'/></graph>", 3),
    ("x.graphml", f"<graphml><graph>\n<node/><node id='{SECRET}'/></graph></graphml>", 2),
    (
        "x.graphml",
        f"<graphml><graph>\n<node id='a'/>\n<edge source='a' target='{SECRET}'/></graph></graphml>",
        3,
    ),
    ("x.graphml", "<graphml><graph>\n<node id='a'><graph/></node></graph></graphml>", 2),
    ("x.graphml", "<graphml><graph>\n<hyperedge/></graph></graphml>", 2),
    ("x.edges", "", "no edges and no vertices"),
    ("x.edges", "# only a comment\n", "no edges and no vertices"),
    ("x.edges", "a\n", "fewer than two columns"),
    ("x.edges", "a:b\n", "fewer than two columns"),
    ("x.csv", "source target\na b\n", "fewer than two columns"),
    ("x.edges", b"a \xff\n", "UTF-8"),
    ("x.csv", "source,target\n", "no edges and no vertices"),
    ("x.edges", f"# graphcuts-dp: {{{SECRET}\na b\n", "damaged"),
    *(
        ("x.edges", f"# graphcuts-dp: {facts}\n0 1\n", "damaged")
        for facts in (
            *('{"vertices": "abc"}', '{"vertices": 3, "max_weight": -1}', "[1]"),
            '{"vertices": 99999999999}',
        )
    ),
    ("x.graphml", "", "empty"),
    ("x.graphml", BOMB, "DOCTYPE"),
    ("x.graphml", "<graphml/>", "no <graph>"),
    ("x.graphml", "<?xml version='1.0' encoding='klingon'?><graphml/>", "XML"),
    ("x.graphml", "<graphml><graph/></graphml>", "no vertices"),
    ("x.graphml", "<graphml><graph><node id='a'/><node id='a'/></graph></graphml>", "same id"),
    ("x.gml", "graph [", "not closed"),
    ("x.gml", "Creator 1", "exactly one graph"),
    ("x.gml", b"\xff\xff", "UTF-8"),
    ("x.net", b"\xff\xff", "UTF-8"),
    ("x.net", "% nothing", "no vertices"),
    ("x.npz", "nothing", "save_npz"),
    ("x.mtx", "nothing", "banner"),
    *(("x.mtx", f"%%MatrixMarket matrix {text}", told) for text, told in MATRICES),
    ("x.dat", "1 2\n", "unknown ending"),
    ("edges", "1 2\n", "unknown ending"),
    ("x.edges.gz", "1 2\n", "gzip"),
    ("x.edges.gz", gzip.compress(b"1 2\n" * 99, mtime=0)[:-9], "gzip"),
]


@pytest.mark.thorough(cases=78)
@pytest.mark.parametrize(("name", "content", "told"), WRONG)
def test_what_is_wrong_is_told_in_one_line_that_quotes_no_row(put, name, content, told):
    first = str(content).split("\n")[0].split()
    weight = 2 if name == "x.edges" and len(first) == 3 and first[0] != "#" else None
    message = rf"line {told}\b" if isinstance(told, int) else told
    with pytest.raises(FileFormatError, match=message) as error:
        gc.read_graph(put(name, content), columns=gc.Columns(weight=weight))
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_bad_indices_are_refused(tmp_path):
    members = {"format": np.array(b"coo"), "shape": [2, 2], "data": [1.0], "row": [7], "col": [0]}
    np.savez(tmp_path / "x.npz", **members)
    with pytest.raises(FileFormatError):
        read_graph(tmp_path / "x.npz")
    sp.save_npz(tmp_path / "x.npz", sp.coo_array(np.array([[0, 1j]])))
    with pytest.raises(FileFormatError, match="real entries"):
        read_graph(tmp_path / "x.npz")


# ------------------------------------------------------------------ exchange formats

END = "</graph></graphml>"
KEYS = '<graphml><key id="s" for="node" attr.name="bipartite"/><key id="w" for="edge" attr.name='
KEYS += '"weight"{}<graph><node id="a"><data key="s">0</data></node>'
ONE, TWO = KEYS.format("/>"), KEYS.format("/>") + '<node id="b"><data key="s">1</data></node>'
HALF = '<edge source="a" target="b"><data key="w">3</data></edge>\n<edge source="b" target="a"/>'
USUAL = TWO.replace('"weight"/>', '"weight"><default>5</default></key>') + HALF + END
VALUE = "graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 value 3 ] ]"
SECTIONS = (
    '*Network x\n*Vertices 3\n1 "a" 0.5 0.5 ic Red\n2 b\n*Arcslist\n1 2 3\n*Edges\n1 2 c Blue\n'
)
TABLE = "*Vertices 3\n*Matrix\n0 1 0\n0 0 2.5\n0 0 0\n"
# A file, options, and the graph or words of the error.
EXCHANGED = [
    (".graphml", TWO + HALF + END, {"weighted": False}, Graph([0], [1], vertices=["a", "b"])),
    (".graphml", USUAL, {}, Graph([0], [1], [8], vertices=["a", "b"])),
    (
        ".graphml",
        TWO + '<edge source="b" target="a"/>' + END,
        {"bipartite": True, "weighted": False},
        BipartiteGraph([0], [0], left=["a"], right=["b"]),
    ),
    (".gml", VALUE, {}, Graph([0], [1], [3], vertices=[1, 2])),
    (".net", SECTIONS, {}, Graph([1, 0], [2, 1], vertices=["3", "a", "b"])),
    (".net", TABLE, {}, Graph([0, 1], [1, 2], [1, 2.5], vertices=[1, 2, 3])),
    (
        ".net",
        "*Vertices 3 1\n*Matrix\n1 2\n",
        {"bipartite": True},
        BipartiteGraph([0, 0], [0, 1], [1, 2], left=[1], right=[2, 3]),
    ),
    (".graphml", TWO + HALF + END, {}, "line 2: an edge has no weight"),
    (".gml", VALUE.replace("value 3", "weight x"), {}, "not a number"),
    (
        ".graphml",
        TWO + '\n<edge source="b" target="b"/>' + END,
        {"bipartite": True, "weighted": False},
        "line 2: an edge joins",
    ),
    (".graphml", ONE + END, {"bipartite": True}, "each side"),
    (".net", "*Vertices 2\n*Edges\n1 2\n", {"bipartite": True}, "side for every vertex"),
]


@pytest.mark.parametrize(("ending", "text", "options", "expected"), EXCHANGED)
def test_exchange_formats(put, ending, text, options, expected):
    path = put(f"x{ending}", text)
    if not isinstance(expected, str):
        assert read_flat(path, **options) == expected
        return
    with pytest.raises(FileFormatError, match=expected):
        read_flat(path, **options)


# ------------------------------------------------------------------ what stands beside a file

LONELY = gc.Graph.of(
    [("Lee, Ann", "bob", 2.5), ("bob", "eve", 1.0)],
    vertices=["eve", "bob", "Lee, Ann", "kim"],
    max_weight=4,
)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_other_programs_read_the_rows_as_they_are(tmp_path, ending):
    path = tmp_path / f"mail{ending}"
    LONELY.write(path)
    frame = pd.read_csv(path, sep="\t" if ending == ".tsv" else ",")
    assert list(frame.columns) == ["source", "target", "weight"]
    found = {frozenset(row[:2]): row[2] for row in frame.itertuples(index=False)}
    assert found == {frozenset({"Lee, Ann", "bob"}): 2.5, frozenset({"bob", "eve"}): 1.0}
    (tmp_path / f"mail{ending}.schema.json").unlink()  # the rows are all there is
    assert set(gc.read_graph(path, max_weight=4).labels) == {"Lee, Ann", "bob", "eve"}


def test_a_comment_within_counts_more_than_what_stands_beside(put):
    path = put("x.csv", '# graphcuts-dp: {"vertices": 5, "weighted": false}\nsource,target\n0,1\n')
    put("x.csv.schema.json", '{"vertices": 9, "weighted": false}\n')
    assert read_graph(path).n == 5


@pytest.mark.parametrize("text", [b"", b"{", b'{"vertices": "abc"}', b"\xff", None])
def test_damage_beside_it_is_told(tmp_path, put, text):
    LONELY.write(tmp_path / "x.csv")
    if text is None:
        (tmp_path / "x.csv.schema.json").unlink()
        (tmp_path / "x.csv.schema.json").mkdir()
    else:
        put("x.csv.schema.json", text)
    message = r"cannot read x\.csv\.schema" if text is None else r"x\.csv\.schema\.json .* damaged"
    with pytest.raises(FileFormatError, match=message):
        read_graph(tmp_path / "x.csv")


def test_neither_file_is_replaced_unasked(tmp_path, put):
    beside = put("x.csv.schema.json", "mine")
    with pytest.raises(FileFormatError, match="exists"):
        LONELY.write(tmp_path / "x.csv")
    assert beside.read_text() == "mine"
    assert not (tmp_path / "x.csv").exists()
    LONELY.write(tmp_path / "x.csv", force=True)
    assert read_graph(tmp_path / "x.csv") == LONELY


# ------------------------------------------------------------------ paths


def test_paths_that_cannot_be_read(tmp_path, put):
    (tmp_path / "folder.edges").mkdir()
    (tmp_path / "null.edges").symlink_to("/dev/null")
    locked = put("x.edges", "1 2\n")
    locked.chmod(0)
    for path, message in (
        (tmp_path / "no.edges", "does not exist"),
        (tmp_path / "folder.edges", "is a folder"),
        ("a\0b.edges", "not a valid file name"),
        ("/dev/null", "a device or a pipe tells no format"),
        (tmp_path / "null.edges", "is a device, not a file"),
        *([(locked, "no permission")] if os.geteuid() else []),
    ):
        with pytest.raises(FileFormatError, match=message) as error:
            read_graph(path)
        assert str(error.value).count(str(path)) == 1


def test_a_pipe_without_a_writer_is_refused_and_one_with_a_writer_is_read(tmp_path):
    pipe = tmp_path / "x.edges"
    os.mkfifo(pipe)
    with pytest.raises(FileFormatError, match="a pipe that nothing writes into"):
        gc.read_graph(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # open to the end: no writer breaks
    for pause in (0.0, 0.05):  # seconds; whether the writer writes before or after we read
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
    assert read_vertices(f"/dev/fd/{readable}") == gc.VertexSet(["a", "b"])
    os.close(readable)


def test_notes_depend_on_options_alone():
    notes = describe_reading(
        has_public_vertices=False, weighted=True, has_maximum=True, merge="sum"
    )
    assert len(notes) == 4
    assert all(note.endswith(".") for note in notes)
    sides = {"has_public_vertices": True, "weighted": False, "bipartite": True}
    assert describe_reading(**sides) == ("A pair that occurs in several lines counts once.",)
    assert describe_reading(**sides, repeats=False) == ()
    (loops, merged) = describe_reading(has_public_vertices=True, weighted=False, repeats=False)
    assert loops == "Edges from a vertex to itself are dropped: they cross no cut."
    assert merged == "Reciprocal edges are merged."
    told = " ".join(describe_reading(has_public_vertices=True, weighted=True, directed=True))
    assert "A pair that occurs in several lines counts once; their weights are added up." in told
    assert "reciprocal" not in told
    of_a_matrix = describe_reading(has_public_vertices=True, weighted=True, repeats=False)
    assert of_a_matrix[-1] == "Reciprocal edges are merged; the largest weight is kept."
    of_pajek = describe_reading(has_public_vertices=True, weighted=True, list_or_matrix=True)
    assert of_pajek[-1] == "Of the two entries of a pair in a *Matrix, the larger one is kept."
    for options in ({"directed": True}, {"bipartite": True}, {"merge": "min"}):
        kept = describe_reading(
            has_public_vertices=True, weighted=True, list_or_matrix=True, **options
        )
        assert not any("*Matrix" in note for note in kept)
