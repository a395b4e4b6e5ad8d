"""Groups of vertices: codes, nesting, what is refused, and every way to read them."""

import gzip

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers import owned_flat
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp.errors import (
    FileFormatError,
    GraphCutsError,
    GraphError,
    ParameterError,
    QueryError,
)
from graphcuts_dp.pairs.groups import GroupNames
from graphcuts_dp.pairs.queries import CutQuery

NAMES = ["ann", "bob", "cid", "dot", "eve"]
GRAPH = gc.Graph([0, 1], [1, 2], vertices=NAMES)
STATES = ["TX", "TX", "CA", "CA", "TX"]
TOWNS = ["waco", "austin", "fresno", "fresno", "austin"]
LEVELS = {"state": STATES, "town": TOWNS}
GROUPS = gc.Groups(GRAPH.vertices, LEVELS)


def test_codes_follow_the_enclosing_groups_and_then_the_names():
    assert GROUPS.levels == ("state", "town")
    assert GROUPS.labels("state") == ("CA", "TX")
    assert GROUPS.labels() == ("fresno", "austin", "waco")
    assert GROUPS.codes("state").tolist() == [1, 1, 0, 0, 1]
    assert GROUPS.codes().tolist() == [2, 1, 0, 0, 1]
    assert GROUPS.sizes("state").tolist() == [2, 3]
    assert GROUPS.sizes("town").tolist() == [2, 2, 1]
    assert GROUPS.parents("town").tolist() == [0, 1, 1]
    assert GROUPS.parents("state").tolist() == [0, 0]
    assert GROUPS.members("austin").tolist() == [False, True, False, False, True]
    assert GROUPS.group_of("eve", "state") == "TX"
    assert GROUPS.code("CA", "state") == 0
    assert GROUPS.n == 5
    inside = gc.CutQuery(GROUPS.members("TX", "state"), GROUPS.members("CA", "state"))
    assert inside.value(GRAPH) == 1
    assert repr(GROUPS) == "Groups(n=5; 2 state, 3 town)"
    with pytest.raises(ValueError, match="read-only"):
        GROUPS.codes()[0] = 1


def test_random_nested_levels_have_codes_that_agree_with_their_labels():
    rng = np.random.default_rng(0)
    fine = rng.integers(0, 12, size=200)
    coarse = np.array([f"p{code % 5}" for code in fine])
    groups = gc.Groups(gc.VertexSet(200), {"coarse": coarse, "fine": fine})
    for name, values in (("coarse", coarse), ("fine", fine)):
        labels = np.array(groups.labels(name))
        assert (labels[groups.codes(name)] == values).all()
        assert groups.sizes(name).tolist() == [int((values == label).sum()) for label in labels]
        assert (np.diff(groups.parents(name)) >= 0).all()
    assert (groups.parents("fine")[groups.codes("fine")] == groups.codes("coarse")).all()


def test_an_order_is_kept_within_enclosing_groups():
    ages = ["10-14", "5-9", "0-4", "5-9", "0-4"]
    plain = gc.Groups(GRAPH.vertices, {"age": ages})
    assert plain.labels() == ("0-4", "10-14", "5-9")
    ordered = gc.Groups(GRAPH.vertices, {"age": ages}, order={"age": ["0-4", "5-9", "10-14"]})
    assert ordered.labels() == ("0-4", "5-9", "10-14")
    numbers = gc.Groups(GRAPH.vertices, {"class": [10, 9, 9, 10, 2]})
    assert numbers.labels() == (2, 9, 10)
    for wrong in (["0-4", "5-9"], ["0-4", "5-9", "10-14", "15-19"], ["0-4", "5-9", "10-14", "5-9"]):
        with pytest.raises(GraphError, match="each of its groups once"):
            gc.Groups(GRAPH.vertices, {"age": ages}, order={"age": wrong})
    with pytest.raises(GraphError, match="names a level"):
        gc.Groups(GRAPH.vertices, {"age": ages}, order={"ages": []})


def test_vertices_without_a_group_are_refused_or_go_to_the_rest():
    towns = ["waco", None, "fresno", "", float("nan")]
    with pytest.raises(GraphError, match=r"3 vertices, such as 'bob', have no group.*rest='other'"):
        gc.Groups(GRAPH.vertices, {"state": STATES, "town": towns})
    made = gc.Groups(GRAPH.vertices, {"state": STATES, "town": towns}, rest="other")
    assert made.labels("town") == ("CA/other", "fresno", "TX/other", "waco")
    assert made.codes("town").tolist() == [3, 2, 1, 0, 2]
    states = ["TX", None, "CA", "CA", None]
    both = gc.Groups(
        GRAPH.vertices,
        {"state": states, "town": ["waco", None, "fresno", "fresno", ""]},
        rest="other",
        order={"state": ["TX", "CA"]},
    )
    assert both.labels("state") == ("TX", "CA", "other")
    assert both.labels("town") == ("waco", "fresno", "other")
    with pytest.raises(GraphError, match="'other' is a group of level"):
        gc.Groups(GRAPH.vertices, {"x": ["other", None, "a", "a", "a"]}, rest="other")
    with pytest.raises(GraphError, match="rest is the name"):
        gc.Groups(GRAPH.vertices, {"x": [1, 1, 2, 2, 2]}, rest="")


TWO, FLAT = {"a": ["x", "y"]}, [[0, 0]]
NESTED = {"a": ["x", "y"], "b": ["p", "q"]}, [[2, 1], [1, 2]]
NO_GROUPS = [
    *(((each,), "at least one level") for each in ({}, [["a"] * 5])),
    *((({name: STATES},), "not empty") for name in ("", 3)),
    *((({"state": each},), "one label for each") for each in (STATES[:4], "TXTXC")),
    *(
        (({"state": each},), "strings or whole numbers")
        for each in ([1.5] * 5, [[1]] * 5, [True, 1, 1, 1, 1])
    ),
    (({"state": [1, "1", 2, 2, 2]},), "look alike"),
    (({"state": ["e\u0301", "\u00e9", "a", "a", "a"]},), "group labels look alike"),
    (({"town": TOWNS, "state": STATES},), "lies in two groups"),
    (({"state": STATES, "town": ["x", "x", "x", "y", "z"]},), "lies in two groups"),
    (({"a": ["x"]}, [[2], [2]], [[0]]), "for every level"),
    ((TWO, [[2]], FLAT), "at least 1, and parents are in order"),
    ((TWO, [[2, 0]], FLAT), "at least 1"),
    ((TWO, [[2, 1.5]], FLAT), "whole numbers"),
    ((TWO, [[2, 1]], [[0, 1]]), "add up"),
    ((*NESTED, [[0, 0], [0, 1]]), "add up"),
    ((*NESTED, [[0, 0], [1, 0]]), "parents are in order"),
    (({"a": ["x", "x"]}, [[2, 1]], FLAT), "twice"),
]


@pytest.mark.parametrize(("given", "told"), NO_GROUPS)
def test_groups_and_trees_that_are_none_are_refused(given, told):
    with pytest.raises(GraphError, match=told):
        gc.Groups(GRAPH.vertices, *given) if len(given) == 1 else gc.GroupTree(*given)


def test_what_is_no_vertex_set_is_refused():
    two = gc.BipartiteGraph([0], [1], left=2, right=2)
    with pytest.raises(GraphError, match=r"pass graph\.vertices"):
        gc.Groups(GRAPH, LEVELS)
    with pytest.raises(GraphError, match=r"pass graph\.left or graph\.right"):
        gc.Groups.of({0: "a", 1: "b"}, two)
    assert gc.Groups.of({0: "a", 1: "b"}, two.right).labels() == ("a", "b")
    with pytest.raises(GraphError, match="a graph or a VertexSet"):
        gc.Groups.of({}, "mail.csv")


def test_unknown_names_are_refused():
    for call in (GROUPS.labels, GROUPS.codes, GROUPS.sizes, GROUPS.parents, GROUPS.place):
        with pytest.raises(QueryError, match=r"unknown level 'street'; there are 'state', 'town'"):
            call("street")
    with pytest.raises(QueryError, match=r"unknown group 'NY'; level 'state' has 2 groups"):
        GROUPS.members("NY", "state")
    with pytest.raises(QueryError, match=r"unknown group 'TX'.*say level='state'"):
        GROUPS.members("TX")
    with pytest.raises(QueryError, match="unknown vertex"):
        GROUPS.group_of("zoe")


def test_trees_come_back_and_compare():
    tree = GROUPS.tree
    again = gc.GroupTree.from_dict(tree.to_dict())
    assert again == tree
    assert hash(again) == hash(tree)
    assert repr(again) == "GroupTree(n=5; 2 state, 3 town)"
    assert again.code("austin") == 1
    assert gc.Groups(GRAPH.vertices, LEVELS) == GROUPS
    swapped = gc.Groups(
        GRAPH.vertices, {"state": STATES, "town": [*TOWNS[:2], "x", "x", *TOWNS[4:]]}
    )
    assert swapped != GROUPS
    assert GROUPS != "groups"
    moved = gc.Groups(GRAPH.vertices, {"town": ["a", "b", "a", "b", "b"]})
    other = gc.Groups(GRAPH.vertices, {"town": ["b", "a", "a", "b", "b"]})
    assert moved.tree == other.tree
    assert moved != other


def test_dicts_of_one_level_and_of_several():
    one = gc.Groups.of(dict(zip(NAMES, TOWNS, strict=True)), GRAPH, ["town"])
    assert one.labels() == ("austin", "fresno", "waco")
    pairs = dict(zip(NAMES, zip(STATES, TOWNS, strict=True), strict=True))
    assert gc.Groups.of(pairs, GRAPH, ["state", "town"]) == GROUPS
    del pairs["eve"]
    with pytest.raises(GraphError, match="'eve'"):
        gc.Groups.of(pairs, GRAPH, ["state", "town"])
    with pytest.raises(GraphError, match="row 5 is about no vertex"):
        gc.Groups.of(pairs | {"zoe": ("TX", "waco")}, GRAPH, ["state", "town"])
    with pytest.raises(GraphError, match="entry 1 of the groups does not have one label"):
        gc.Groups.of(pairs, GRAPH)
    with pytest.raises(GraphError, match="distinct names"):
        gc.Groups.of(pairs, GRAPH, ["state", "state"])


def rows_of(separator=",", head=("person", "state", "town")):
    rows = [head] if head else []
    rows += [(n, s, f'"{t}"') for n, s, t in zip(NAMES, STATES, TOWNS, strict=True)]
    return "".join(separator.join(row) + "\n" for row in rows)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_tables_in_every_dress(tmp_path, separator):
    file = tmp_path / "staff.csv"
    for data in (
        rows_of(separator).encode(),
        rows_of(separator).replace("\n", "\r\n").encode(),
        rows_of(separator).encode("utf-16"),
        b"\xef\xbb\xbf" + rows_of(separator).encode(),
    ):
        file.write_bytes(data)
        assert gc.Groups.read(file, GRAPH, columns=["state", "town"]) == GROUPS
        by_place = {"columns": [1, 2], "vertex": 0, "header": True}
        assert gc.Groups.read(file, GRAPH, **by_place) == GROUPS
    (tmp_path / "staff.csv.gz").write_bytes(gzip.compress(data))
    assert gc.Groups.read(tmp_path / "staff.csv.gz", GRAPH, columns=["state", "town"]) == GROUPS


def test_columns_by_place_without_a_header(tmp_path):
    file = tmp_path / "staff.csv"
    file.write_text(rows_of(head=None))
    with pytest.raises(FileFormatError, match="columns by number: pass header=True if"):
        gc.Groups.read(file, GRAPH, columns=[1, 2])
    made = gc.Groups.read(file, GRAPH, columns=[1, 2], header=False)
    assert made.levels == ("level 1", "level 2")
    assert made.labels("level 2") == GROUPS.labels()
    file.write_text("ann,1\nbob,2\ncid,2\ndot,10\neve,1\n")
    with pytest.raises(FileFormatError, match="the first line is about a vertex: pass header="):
        gc.Groups.read(file, GRAPH)
    assert gc.Groups.read(file, GRAPH, header=False).labels() == (1, 2, 10)
    file.write_text("zone,area\nann,x\nbob,x\ncid,x\ndot,y\neve,y\n")
    assert gc.Groups.read(file, GRAPH).levels == ("area",)
    listed = tmp_path / "staff.txt"
    listed.write_text("ann 1\nbob,2\ncid\t2\ndot 10\neve 1\n")
    assert gc.Groups.read(listed, GRAPH).labels() == (1, 2, 10)
    file.write_text("class,name\n1,ann\n2,bob\n2,cid\n10,dot\n1,eve\n")
    assert gc.Groups.read(file, GRAPH).labels() == (1, 2, 10)
    assert gc.Groups.read(file, GRAPH, columns=["class"]).levels == ("class",)


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("", {}, "empty"),
        ("name,a\nann,A\n", {}, "no group"),
        ("name,a\nann,K\xf6ln\n".encode("latin-1"), {}, "not UTF-8"),
        ("name,a\nann,A\n", {"unknown": "drop"}, "unknown is"),
        ("name,a,b\nann,A,B\n", {}, "pass columns=.*finest$"),
        ("ann,A\n", {}, "the first line is about a vertex"),
        ("name,a\nann,A\nann,B\n", {}, "line 3: this vertex has a row"),
        ("name,a\nann,A,B\n", {}, "line 2: expected 2 columns"),
        ("name,a\nzoe,A\n", {}, "line 2: not a vertex"),
        ("name,a\nann,A\n", {"columns": ["b"]}, "exactly one column 'b'"),
        ("name,a\nann,A\n", {"columns": ["a"], "header": False}, "needs a header"),
        ("name,a\nann,A\n", {"columns": [5], "header": True}, "no such column"),
        ("name,a\nann,A\n", {"columns": ["name"]}, "different columns"),
        ("name,a\nann,A\n", {"columns": []}, "at least one column"),
        ("name,a,a\nann,A,B\n", {"columns": [1, 2], "header": True}, "one name"),
        ('name,a\n"ann,A\n', {}, "quotes"),
        ("name;a,b\nann;A,B\n", {}, "delimiter="),
    ],
)
def test_tables_that_say_no_groups_are_refused(tmp_path, text, options, told):
    file = tmp_path / "staff.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(GraphCutsError, match=told) as caught:
        gc.Groups.read(file, GRAPH, **options)
    assert str(caught.value).startswith(str(file)) == isinstance(caught.value, FileFormatError)
    assert "\n" not in str(caught.value)


def test_other_files_encodings_and_rows_about_nobody(tmp_path):
    file = tmp_path / "staff.csv"
    file.write_bytes("id;unit\n0;K\xf6ln\n1;Bonn\n".encode("latin-1"))
    made = gc.Groups.read(file, gc.VertexSet(2), encoding="latin-1")
    assert made.labels() == ("Bonn", "K\xf6ln")
    file.write_text("name,a\nann,A\nzoe,B\nbob,C\n")
    made = gc.Groups.read(file, GRAPH, unknown="ignore", rest="-")
    assert made.labels() == ("-", "A", "C")
    for name, told in (("staff.xlsx", r"\.csv, \.tsv"), ("none.csv", "does not exist")):
        (tmp_path / "staff.xlsx").write_bytes(b"x")
        with pytest.raises(FileFormatError, match=told):
            gc.Groups.read(tmp_path / name, GRAPH)


def test_tables_of_pandas():
    frame = pd.DataFrame({"state": STATES, "town": TOWNS}, index=NAMES)
    assert gc.Groups.of(frame, GRAPH, ["state", "town"]) == GROUPS
    assert gc.Groups.of(frame, GRAPH) == GROUPS
    flat = frame.reset_index(names="who").sample(frac=1, random_state=1)
    assert gc.Groups.of(flat, GRAPH, ["state", "town"], vertex="who") == GROUPS
    assert gc.Groups.of(frame["town"], GRAPH).levels == ("town",)
    kind = pd.CategoricalDtype(["waco", "fresno", "austin", "dallas"], ordered=True)
    ordered = gc.Groups.of(frame["town"].astype(kind), GRAPH)
    assert ordered.labels() == ("waco", "fresno", "austin")
    gaps = pd.DataFrame({"unit": [1.0, np.nan, 2.0, 2.0, 1.0]}, index=NAMES)
    assert gc.Groups.of(gaps, GRAPH, rest="none").labels() == (1, 2, "none")
    nothing = pd.DataFrame({"unit": pd.array(["a", pd.NA, "b", "b", "a"])}, index=NAMES)
    assert gc.Groups.of(nothing, GRAPH, rest="none").labels() == ("a", "b", "none")
    for wrong in ({"columns": "county"}, {"vertex": "who"}):
        with pytest.raises(GraphError, match="no such column"):
            gc.Groups.of(frame, GRAPH, **wrong)
    more = pd.DataFrame({"town": [*TOWNS, "waco"]}, index=[*NAMES, "zoe"])
    with pytest.raises(GraphError, match="row 6 is about no vertex"):
        gc.Groups.of(more, GRAPH)
    assert gc.Groups.of(more, GRAPH, unknown="ignore").labels("town")
    with pytest.raises(GraphError, match="two rows"):
        gc.Groups.of(more.rename(index={"zoe": "ann"}), GRAPH)
    with pytest.raises(ParameterError, match="unknown is"):
        gc.Groups.of(frame, GRAPH, unknown="drop")


def test_attributes_of_networkx_igraph_and_graphml(tmp_path):
    source = nx.karate_club_graph()
    graph = gc.Graph.of(source, weighted=False)
    made = gc.Groups.of(source, graph, "club")
    assert made.labels() == ("Mr. Hi", "Officer")
    assert made.sizes().tolist() == [17, 17]
    twin = igraph.Graph.from_networkx(source)
    twin.vs["name"] = twin.vs["_nx_name"]
    assert gc.Groups.of(twin, graph, ["club"]) == made
    file = tmp_path / "karate.graphml"
    nx.write_graphml(source, file)
    assert gc.Groups.read(file, graph, columns=["club"]) == made
    twin.save(str(file))
    assert gc.Groups.read(file, graph, columns="club") == made
    for call in (
        lambda: gc.Groups.of(source, graph, "team"),
        lambda: gc.Groups.of(twin, graph, "team"),
    ):
        with pytest.raises(GraphError, match="no vertex has a group of level 'team'"):
            call()
    with pytest.raises(GraphError, match="distinct names"):
        gc.Groups.of(source, graph, [])
    with pytest.raises(FileFormatError, match="no attribute 'team'"):
        gc.Groups.read(file, graph, columns=["team"])
    with pytest.raises(FileFormatError, match="names of vertex attributes"):
        gc.Groups.read(file, graph)


def test_sides_of_bipartite_graphs_have_groups_of_their_own():
    source = nx.davis_southern_women_graph()
    for node, side in source.nodes(data="bipartite"):
        source.nodes[node]["letter"] = str(node)[0] if side == 0 else "E"
    graph = gc.BipartiteGraph.of(source)
    left = gc.Groups.of(source, graph.left, "letter")
    right = gc.Groups.of(source, graph.right, "letter")
    assert len(left.labels()) > 5
    assert right.labels() == ("E",)
    assert right.sizes().tolist() == [14]


@settings(max_examples=150)
@given(data=st.binary(max_size=200), ending=st.sampled_from([".csv", ".tsv", ".txt", ".graphml"]))
def test_any_bytes_are_groups_or_refused_in_one_line(tmp_path_factory, data, ending):
    file = tmp_path_factory.mktemp("any") / f"x{ending}"
    file.write_bytes(data)
    told = ""
    try:
        gc.Groups.read(file, GRAPH, columns=[1] if ending != ".graphml" else ["a"], rest="other")
    except GraphCutsError as problem:
        told = str(problem)
    assert "\n" not in told


_CELLS = st.sampled_from([*NAMES, "zoe", "A", "B", "1", "", '"A"', "é", "name", "\t", "#", "x;y"])


@settings(max_examples=150)
@given(
    rows=st.lists(st.lists(_CELLS, min_size=1, max_size=4), max_size=8),
    separator=st.sampled_from([",", ";", "\t", " "]),
    columns=st.sampled_from([None, [1], [1, 2], ["A"], [0]]),
    unknown=st.sampled_from(["error", "ignore"]),
)
def test_any_table_is_groups_or_refused_in_one_line(
    tmp_path_factory, rows, separator, columns, unknown
):
    file = tmp_path_factory.mktemp("any") / "x.csv"
    file.write_text("\n".join(separator.join(row) for row in rows))
    told, vertices = "", len(NAMES)
    try:
        made = gc.Groups.read(file, GRAPH, columns=columns, unknown=unknown, rest="other")
        vertices = int(made.sizes().sum())
    except GraphCutsError as problem:
        told = str(problem)
    assert "\n" not in told
    assert vertices == len(NAMES)


def test_groups_of_rows_with_owners_that_have_a_direction(tmp_path):
    frame = pd.DataFrame({"who": ["o"], "source": ["ann"], "target": ["bob"]})
    options = {"owner": "who", "vertices": NAMES}
    file = tmp_path / "staff.csv"
    file.write_text(rows_of())
    for more in ({}, {"directed": True}):
        rows = owned_flat(frame, **options, **more)
        assert gc.Groups.read(file, rows, columns=["state", "town"]) == GROUPS
    sides = gc.OwnedRows.of(
        frame, columns=gc.Columns(owner="who"), vertices=(NAMES, NAMES), bipartite=True
    )
    with pytest.raises(GraphError, match=r"pass the VertexSet of one, rows\.space\[0\]"):
        gc.Groups.read(file, sides, columns=["state", "town"])
    assert gc.Groups.read(file, sides.space[0], columns=["state", "town"]) == GROUPS


def test_queries_share_a_set_that_nobody_can_write_to():
    groups = gc.Groups(gc.Graph([], [], vertices=4).vertices, {"part": ["a", "a", "b", "b"]})
    first, second = (GroupNames(groups, groups).query("@a", "@b") for _ in range(2))
    known = first.masks(groups.vertices)[0]
    assert known is second.masks(groups.vertices)[0]
    with pytest.raises(ValueError, match="read-only"):
        known[0] = False
    mine = np.array([True, False, False, False])
    query = CutQuery(mine)
    mine[1] = True
    assert query.masks(groups.vertices)[0].tolist() == [True, False, False, False]
    part = mine[:]
    part.flags.writeable = False  # but `mine` still writes to it
    query = CutQuery(part)
    mine[2] = True
    assert query.masks(groups.vertices)[0].tolist() == [True, True, False, False]


def test_members_are_kept_within_bounds(monkeypatch):
    monkeypatch.setattr("graphcuts_dp.pairs.groups._KEPT_BYTES", 8)
    groups = gc.Groups(gc.Graph([], [], vertices=4).vertices, {"part": list("abcd")})
    for _ in range(2):
        for place, label in enumerate("abcd"):
            assert groups.members(label).tolist() == [i == place for i in range(4)]
            assert len(groups._members) <= 2


def test_a_name_is_a_label_as_it_is_written():
    groups = gc.Groups(gc.Graph([], [], vertices=3).vertices, {"part": [7, -3, 12]})
    assert groups.label_of_text("7") == 7
    assert groups.label_of_text("-3") == -3
    assert groups.label_of_text("007") is None
    assert groups.label_of_text("+7") is None
    assert groups.label_of_text("none") is None
