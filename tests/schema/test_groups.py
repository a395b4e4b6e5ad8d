"""Groups of vertices: codes, nesting, what is refused, and every way to read them."""

import gzip
from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import owned_flat
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import CutQuery, FileFormatError, GraphCutsError, GraphError, QueryError
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.queries.group_names import GroupNames

NAMES = ["ann", "bob", "cid", "dot", "eve"]
GRAPH = gc.Graph([0, 1], [1, 2], vertices=NAMES)
STATES = ["TX", "TX", "CA", "CA", "TX"]
TOWNS = ["waco", "austin", "fresno", "fresno", "austin"]
LEVELS = {"state": STATES, "town": TOWNS}
GROUPS = gc.Groups(GRAPH.vertices, LEVELS)
AGES = ["10-14", "5-9", "0-4", "5-9", "0-4"]
ORDER = ["0-4", "5-9", "10-14"]
BOTH = ["state", "town"]


def test_codes_follow_the_enclosing_groups_and_then_the_names():
    assert GROUPS.levels == ("state", "town")
    assert GROUPS.labels("state") == ("CA", "TX")
    assert GROUPS.labels() == ("fresno", "austin", "waco")
    assert GROUPS.codes("state").tolist() == [1, 1, 0, 0, 1]
    assert GROUPS.codes().tolist() == [2, 1, 0, 0, 1]
    assert GROUPS.sizes("town").tolist() == [2, 2, 1]
    assert GROUPS.parents("town").tolist() == [0, 1, 1]
    assert GROUPS.parents("state").tolist() == [0, 0]
    assert GROUPS.members("austin").tolist() == [False, True, False, False, True]
    assert (GROUPS.group_of("eve", "state"), GROUPS.code("CA", "state")) == ("TX", 0)
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
    assert gc.Groups(GRAPH.vertices, {"age": AGES}).labels() == ("0-4", "10-14", "5-9")
    ordered = gc.Groups(GRAPH.vertices, {"age": AGES}, order={"age": ORDER})
    assert ordered.labels() == tuple(ORDER)
    assert gc.Groups(GRAPH.vertices, {"class": [10, 9, 9, 10, 2]}).labels() == (2, 9, 10)


def test_vertices_without_a_group_go_to_the_rest():
    towns = ["waco", None, "fresno", "", float("nan")]
    groups = gc.Groups(GRAPH.vertices, {"state": STATES, "town": towns}, default_group="other")
    assert groups.labels("town") == ("CA/other", "fresno", "TX/other", "waco")
    assert groups.codes("town").tolist() == [3, 2, 1, 0, 2]
    gaps = {"state": ["TX", None, "CA", "CA", None], "town": ["waco", None, *["fresno"] * 2, ""]}
    both = gc.Groups(GRAPH.vertices, gaps, default_group="other", order={"state": ["TX", "CA"]})
    assert both.labels("state") == ("TX", "CA", "other")
    assert both.labels("town") == ("waco", "fresno", "other")


GAPS = ["waco", None, "fresno", "", float("nan")]
TWO, FLAT = {"a": ["x", "y"]}, [[0, 0]]
NESTED = {"a": ["x", "y"], "b": ["p", "q"]}, [[2, 1], [1, 2]]
# Arguments of groups, or of a tree of groups where there are several, and words of the error.
NO_GROUPS = [
    *(((each,), {}, "at least one level") for each in ({}, [["a"] * 5])),
    *((({name: STATES},), {}, "not empty") for name in ("", 3)),
    *((({"state": each},), {}, "one label for each") for each in (STATES[:4], "TXTXC")),
    *(
        (({"state": each},), {}, "strings or whole numbers")
        for each in ([1.5] * 5, [[1]] * 5, [True, 1, 1, 1, 1])
    ),
    (({"state": [1, "1", 2, 2, 2]},), {}, "look alike"),
    (({"state": ["e\u0301", "\u00e9", "a", "a", "a"]},), {}, "group labels look alike"),
    (({"town": TOWNS, "state": STATES},), {}, "lies in two groups"),
    (({"state": STATES, "town": ["x", "x", "x", "y", "z"]},), {}, "lies in two groups"),
    *(
        (({"age": AGES},), {"order": {"age": wrong}}, "each of its groups once")
        for wrong in (ORDER[:2], [*ORDER, "15-19"], [*ORDER, "5-9"])
    ),
    (({"age": AGES},), {"order": {"ages": []}}, "names a level"),
    (({"town": GAPS},), {}, "3 vertices, such as 'bob', have no group.*default_group='other'"),
    (
        ({"x": ["other", None, "a", "a", "a"]},),
        {"default_group": "other"},
        "'other' is a group of level",
    ),
    (({"x": [1, 1, 2, 2, 2]},), {"default_group": ""}, "default_group is the name"),
    (({"a": ["x"]}, [[2], [2]], [[0]]), {}, "for every level"),
    ((TWO, [[2]], FLAT), {}, "at least 1, and parents are in order"),
    ((TWO, [[2, 0]], FLAT), {}, "at least 1"),
    ((TWO, [[2, 1.5]], FLAT), {}, "whole numbers"),
    ((TWO, [[2, 1]], [[0, 1]]), {}, "add up"),
    ((*NESTED, [[0, 0], [0, 1]]), {}, "add up"),
    ((*NESTED, [[0, 0], [1, 0]]), {}, "parents are in order"),
    (({"a": ["x", "x"]}, [[2, 1]], FLAT), {}, "twice"),
]


@pytest.mark.parametrize(("levels", "options", "message"), NO_GROUPS)
def test_groups_and_trees_that_are_none_are_refused(levels, options, message):
    make = gc.GroupTree if len(levels) > 1 else partial(gc.Groups, GRAPH.vertices)
    with pytest.raises(GraphError, match=message):
        make(*levels, **options)


@pytest.mark.parametrize("labels", ["ab", "abcdefg"])
def test_groups_missing_for_private_vertices_are_refused_without_a_label_or_a_number(labels):
    inferred = gc.VertexSet(labels, inferred=True)
    with pytest.raises(GraphError, match=r"^some vertices have no group of level 'town'; add them"):
        gc.Groups(inferred, {"town": ["x", *[None] * (len(labels) - 1)]})


def test_a_graph_is_no_vertex_set():
    with pytest.raises(GraphError, match=r"pass graph\.vertices"):
        gc.Groups(GRAPH, LEVELS)


def test_unknown_names_are_refused():
    for call in (GROUPS.labels, GROUPS.codes, GROUPS.sizes, GROUPS.parents, GROUPS.level_index):
        with pytest.raises(QueryError, match=r"unknown level 'street'; there are 'state', 'town'"):
            call("street")
    with pytest.raises(QueryError, match=r"unknown group 'NY'; level 'state' has 2 groups"):
        GROUPS.members("NY", "state")
    with pytest.raises(QueryError, match=r"unknown group 'TX'.*say level='state'"):
        GROUPS.members("TX")
    with pytest.raises(QueryError, match="unknown vertex"):
        GROUPS.group_of("zoe")


def test_trees_come_back_and_compare():
    again = gc.GroupTree.from_dict(GROUPS.tree.to_dict())
    assert (again, hash(again)) == (GROUPS.tree, hash(GROUPS.tree))
    assert repr(again) == "GroupTree(n=5; 2 state, 3 town)"
    assert again.code("austin") == 1
    assert gc.Groups(GRAPH.vertices, LEVELS) == GROUPS
    renamed = ["x" if town == "fresno" else town for town in TOWNS]
    assert gc.Groups(GRAPH.vertices, LEVELS | {"town": renamed}) != GROUPS
    assert GROUPS != "groups"
    moved, other = (gc.Groups(GRAPH.vertices, {"town": list(each)}) for each in ("ababb", "baabb"))
    assert moved.tree == other.tree
    assert moved != other


# ------------------------------------------------------------------ of something in memory

PAIRS = dict(zip(NAMES, zip(STATES, TOWNS, strict=True), strict=True))
FRAME = pd.DataFrame(LEVELS, index=NAMES)
MORE = pd.DataFrame({"town": [*TOWNS, "waco"]}, index=[*NAMES, "zoe"])
TWO_SIDES = gc.BipartiteGraph([0], [1], left=2, right=2)


def test_dicts_of_one_level_and_of_several():
    one = gc.Groups.of(dict(zip(NAMES, TOWNS, strict=True)), GRAPH, ["town"])
    assert one.labels() == ("austin", "fresno", "waco")
    assert gc.Groups.of(PAIRS, GRAPH, BOTH) == GROUPS
    assert gc.Groups.of({0: "a", 1: "b"}, TWO_SIDES.right).labels() == ("a", "b")


def test_tables_of_pandas():
    assert gc.Groups.of(FRAME, GRAPH, BOTH) == gc.Groups.of(FRAME, GRAPH) == GROUPS
    flat = FRAME.reset_index(names="who").sample(frac=1, random_state=1)
    assert gc.Groups.of(flat, GRAPH, BOTH, vertex="who") == GROUPS
    assert gc.Groups.of(FRAME["town"], GRAPH).levels == ("town",)
    kind = pd.CategoricalDtype(["waco", "fresno", "austin", "dallas"], ordered=True)
    ordered = gc.Groups.of(FRAME["town"].astype(kind), GRAPH)
    assert ordered.labels() == ("waco", "fresno", "austin")
    gaps = pd.DataFrame({"unit": [1.0, np.nan, 2.0, 2.0, 1.0]}, index=NAMES)
    assert gc.Groups.of(gaps, GRAPH, default_group="none").labels() == (1, 2, "none")
    nothing = pd.DataFrame({"unit": pd.array(["a", pd.NA, "b", "b", "a"])}, index=NAMES)
    assert gc.Groups.of(nothing, GRAPH, default_group="none").labels() == ("a", "b", "none")
    assert gc.Groups.of(MORE, GRAPH, unknown="ignore").labels("town")


FLAT_FRAME = pd.DataFrame({"town": TOWNS, "vertex": NAMES, "state": STATES})
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", ["vertex", "id", "Node ID", "name"])
def test_a_known_column_names_the_vertices_of_a_table_whose_rows_have_numbers(kind, head):
    rows = {"town": TOWNS[::-1], head: NAMES[::-1], "state": STATES[::-1]}
    frame = KINDS[kind](rows)
    assert gc.Groups.of(frame, GRAPH, BOTH) == GROUPS
    assert gc.Groups.of(frame, GRAPH, "town").labels() == ("austin", "fresno", "waco")
    assert gc.Groups.of(KINDS[kind]({"g": list("xxyyx"), head: NAMES}), GRAPH).levels == ("g",)
    assert gc.Groups.of(frame, GRAPH, [2, 0], vertex=1) == GROUPS


def test_numbers_of_rows_are_no_vertices():
    """Vertices 0 and 1 are in y; 1 to 4 are not those of rows 1 to 4."""
    frame = pd.DataFrame({"g": ["x", "x", "y", "y"], "vertex": [2, 3, 0, 1]})
    groups = gc.Groups.of(frame, gc.VertexSet(4))
    assert [groups.group_of(vertex) for vertex in range(4)] == ["y", "y", "x", "x"]
    rows = gc.Rows.of(
        pd.DataFrame({"o": [0] * 1000, "d": [1] * 1000}),
        columns=gc.Columns(source="o", target="d"),
        vertices=4,
    )
    flows = gc.release_flows(
        rows,
        gc.Groups.of(frame, rows),
        epsilon=40.0,
        workload=gc.FlowWorkload(expected_cell=0),
        seed=1,
    )
    table = flows.to_frame(kind="pandas").set_index(["from", "to"])["estimate"]
    assert table["y", "y"] == pytest.approx(1000, abs=5)
    frame = pd.DataFrame({"vertex": [1, 2, 3, 4], "g": ["x", "x", "y", "y"]})
    for options in ({}, {"columns": ["g"], "unknown": "ignore", "default_group": "z"}):
        groups = gc.Groups.of(frame, gc.VertexSet([1, 2, 3, 4]), **options)
        assert [groups.group_of(vertex) for vertex in (1, 2, 3, 4)] == ["x", "x", "y", "y"]


def test_an_index_that_holds_labels_names_the_vertices():
    towns = FLAT_FRAME.set_index("vertex")
    assert gc.Groups.of(towns, GRAPH, BOTH) == GROUPS
    numbers = pd.DataFrame({"name": TOWNS}, index=[3, 1, 0, 2, 4])
    named = gc.Groups.of(numbers.rename_axis("vertex"), gc.VertexSet(5))
    assert [named.group_of(vertex) for vertex in (3, 1, 0, 2, 4)] == TOWNS
    assert gc.Groups.of(numbers, gc.VertexSet(5), ["name"]) == named
    ranged = pd.DataFrame({"name": TOWNS}, index=pd.RangeIndex(5, name="vertex"))
    assert gc.Groups.of(ranged, gc.VertexSet(5)).codes().tolist() == [2, 0, 1, 1, 0]
    series = pd.Series(TOWNS, name="town")
    assert gc.Groups.of(series, gc.VertexSet(5)).codes().tolist() == [2, 0, 1, 1, 0]


@pytest.mark.parametrize("labels", [[1, 2, 3, 7], ["1", "2", "3", "7"]])
@pytest.mark.parametrize("kind", [int, str, np.int32, object])
def test_a_number_and_its_digits_are_one_vertex(labels, kind):
    values = [7, "3", 2, "1"] if kind is object else [kind(value) for value in (7, 3, 2, 1)]
    vertices = gc.VertexSet(labels)
    sources = (
        dict(zip(values, "aabb", strict=True)),
        pd.DataFrame({"vertex": pd.Series(values, dtype=object), "g": list("aabb")}),
        pd.Series(list("aabb"), index=pd.Index(values, dtype=object)),
    )
    for source in sources:
        groups = gc.Groups.of(source, vertices)
        assert [groups.group_of(vertex) for vertex in labels] == ["b", "b", "a", "a"]
    with pytest.raises(GraphError, match="row 4 is about no vertex"):
        gc.Groups.of({1: "a", 2: "a", 3: "a", "007": "a"}, vertices)
    with pytest.raises(GraphError, match="two rows"):
        gc.Groups.of({1: "a", "1": "a", 2: "b", 3: "b", 7: "b"}, vertices)


def test_a_table_of_pandas_without_names():
    graph = gc.Graph.of([(1, 2), (2, 3)])
    frame = pd.DataFrame([(1, "x", 9.0), (2, "y", 8.0), (3, "x", 9.0)])
    groups = gc.Groups.of(frame[[0, 1]], graph)
    assert (groups.levels, groups.codes().tolist()) == (("level 1",), [0, 1, 0])
    assert gc.Groups.of(frame, graph, [1]) == gc.Groups.of(frame, graph, 1, vertex=0) == groups
    assert gc.Groups.of(frame, graph).levels == ("level 1", "level 2")
    indexed = frame[[1, 2]].set_index(frame[0])
    indexed.columns = range(2)
    assert gc.Groups.of(indexed, graph, 0) == groups
    assert gc.Groups.of(indexed[1], graph).labels() == (8, 9)


NO_VERTICES = [
    (FLAT_FRAME.rename(columns={"vertex": "who"}), {}, "pass vertex=, or make them a named index"),
    (FLAT_FRAME[["town"]], {}, "pass vertex=, or make"),
    (FLAT_FRAME.assign(id=NAMES), {"columns": BOTH}, "pass vertex=, or make"),
    (pl.Series("town", TOWNS), {}, "pass vertex=, or make"),
    (FLAT_FRAME.iloc[[1, 0, 2, 3, 4]], {}, "pass vertex='vertex', or name the index"),
    (FLAT_FRAME[1:], {}, "pass vertex='vertex', or name the index"),
    (FLAT_FRAME[["vertex"]], {}, "no column of groups"),
    (FLAT_FRAME.set_axis([1, 2, 3], axis=1), {}, r"rename them: frame\.columns = "),
    (FLAT_FRAME.set_axis([0, "b", "c"], axis=1), {}, r"rename them: frame\.columns = "),
    (FLAT_FRAME.set_axis([list("aab"), list("xyz")], axis=1), {}, r"rename them: frame\.col"),
    (pd.DataFrame({"vertex": [1.0, 2.0], "g": ["a", "b"]}), {}, "cast them: astype"),
    (pd.DataFrame({"g": ["a", "b"]}, index=[1.0, 2.0]), {}, "cast them: astype"),
    (FLAT_FRAME, {"vertex": 3}, "no such column"),
    (FLAT_FRAME, {"columns": [True]}, "no such column"),
]


@pytest.mark.parametrize(("source", "options", "message"), NO_VERTICES)
def test_a_table_that_does_not_tell_its_vertices_is_refused(source, options, message):
    with pytest.raises(GraphError, match=message) as error:
        gc.Groups.of(source, GRAPH, **options)
    assert "\n" not in str(error.value)


def test_the_advice_about_vertices_of_a_table_works():
    shuffled = FLAT_FRAME.iloc[[1, 0, 2, 3, 4]]
    assert gc.Groups.of(shuffled, GRAPH, BOTH, vertex="vertex") == GROUPS
    indexed = FLAT_FRAME.set_axis(NAMES)[BOTH]
    assert gc.Groups.of(indexed.rename_axis("vertex"), GRAPH) == GROUPS
    floats = pd.DataFrame({"vertex": [1.0, 2.0], "g": ["a", "b"]})
    vertices = gc.VertexSet([1, 2])
    assert gc.Groups.of(floats.astype({"vertex": "Int64"}), vertices).labels() == ("a", "b")
    numbered = FLAT_FRAME.set_axis([1, 2, 3], axis=1)
    numbered.columns = ["town", "vertex", "state"]
    assert gc.Groups.of(numbered, GRAPH, BOTH) == GROUPS


@pytest.mark.parametrize("mark", [SEEDED_WARNING, "seeded"])
def test_marks_of_a_seeded_table_are_no_groups(tmp_path, mark):
    file = tmp_path / "parts.csv"
    file.write_text("vertex,part,mark\n" + "".join(f"{name},2,{mark}\n" for name in NAMES))
    if mark == SEEDED_WARNING:
        assert gc.Groups.read(file, GRAPH).labels() == (2,)
    else:
        with pytest.raises(FileFormatError, match="pass columns="):
            gc.Groups.read(file, GRAPH)


def test_sides_of_bipartite_graphs_have_groups_of_their_own():
    source = nx.davis_southern_women_graph()
    letters = {n: str(n)[0] if side == 0 else "E" for n, side in source.nodes(data="bipartite")}
    graph = gc.BipartiteGraph.of(source)
    left, right = (
        gc.Groups.of(letters, side, "letter", unknown="ignore")
        for side in (graph.left, graph.right)
    )
    assert len(left.labels()) > 5
    assert right.sizes().tolist() == [14]


# What groups are made of, of which graph, options, and words of the error.
OF_NOTHING = [
    ({name: PAIRS[name] for name in NAMES[:4]}, GRAPH, {"columns": BOTH}, "'eve'"),
    (PAIRS | {"zoe": ("TX", "waco")}, GRAPH, {"columns": BOTH}, "row 6 is about no vertex"),
    (PAIRS, GRAPH, {}, "entry 1 of the groups does not have one label"),
    (PAIRS, GRAPH, {"columns": ["state", "state"]}, "distinct names"),
    (FRAME, GRAPH, {"columns": "county"}, "no such column"),
    (FRAME, GRAPH, {"vertex": "who"}, "no such column"),
    (FRAME, GRAPH, {"unknown": "drop"}, "unknown is"),
    (MORE, GRAPH, {}, "row 6 is about no vertex"),
    (MORE.rename(index={"zoe": "ann"}), GRAPH, {}, "two rows"),
    (dict.fromkeys(NAMES), GRAPH, {}, "no vertex has a group of"),
    (FRAME, GRAPH, {"columns": []}, "distinct names"),
    (nx.karate_club_graph(), GRAPH, {"columns": "club"}, "made of a dict, a list of sets"),
    ({0: "a", 1: "b"}, TWO_SIDES, {}, r"pass graph\.left or graph\.right"),
    ({}, "mail.csv", {}, "a graph or a VertexSet"),
]


@pytest.mark.parametrize(("source", "graph", "options", "message"), OF_NOTHING)
def test_what_makes_no_groups_is_refused(source, graph, options, message):
    with pytest.raises(GraphCutsError, match=message) as error:
        gc.Groups.of(source, graph, **options)
    assert "\n" not in str(error.value)


# ------------------------------------------------------------------ files

HEADED, BARE = gc.Columns(header=True), gc.Columns(header=False)


def rows_of(separator=",", head=("person", "state", "town")):
    rows = [head] if head else []
    rows += [(n, s, f'"{t}"') for n, s, t in zip(NAMES, STATES, TOWNS, strict=True)]
    return "".join(separator.join(row) + "\n" for row in rows)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_tables_in_every_dress(tmp_path, separator):
    file, text = tmp_path / "staff.csv", rows_of(separator)
    for data in (
        *(text.encode(), text.replace("\n", "\r\n").encode(), text.encode("utf-16")),
        b"\xef\xbb\xbf" + text.encode(),
    ):
        file.write_bytes(data)
        assert gc.Groups.read(file, GRAPH, columns=BOTH) == GROUPS
        by_place = {"columns": [1, 2], "vertex": 0, "text": HEADED}
        assert gc.Groups.read(file, GRAPH, **by_place) == GROUPS
    (tmp_path / "staff.csv.gz").write_bytes(gzip.compress(data))
    assert gc.Groups.read(tmp_path / "staff.csv.gz", GRAPH, columns=BOTH) == GROUPS


# A file, options, and the names of the levels and the labels that are read.
READ = [
    (rows_of(head=None), {"columns": [1, 2], "text": BARE}, "level 2", GROUPS.labels()),
    ("ann,1\nbob,2\ncid,2\ndot,10\neve,1\n", {"text": BARE}, "level 1", (1, 2, 10)),
    ("name\nann\nbob\ncid\ndot\neve\n", {}, "name", ("ann", "bob", "cid", "dot", "eve")),
    ("zone,area\nann,x\nbob,x\ncid,x\ndot,y\neve,y\n", {}, "area", ("x", "y")),
    ("class,name\n1,ann\n2,bob\n2,cid\n10,dot\n1,eve\n", {}, "class", (1, 2, 10)),
    (
        "name,a\nann,A\nzoe,B\nbob,C\n",
        {"unknown": "ignore", "default_group": "-"},
        "a",
        ("-", "A", "C"),
    ),
    (
        "name;unit\nann;K\xf6ln\nbob;Bonn\n".encode("latin-1"),
        {"text": gc.Columns(encoding="latin-1"), "default_group": "-"},
        "unit",
        ("-", "Bonn", "K\xf6ln"),
    ),
]


@pytest.mark.parametrize(("text", "options", "level", "labels"), READ)
def test_which_column_is_which(tmp_path, text, options, level, labels):
    file = tmp_path / "staff.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    made = gc.Groups.read(file, GRAPH, **options)
    assert (made.levels[-1], made.labels()) == (level, labels)


def test_lists_have_no_header(tmp_path):
    (tmp_path / "staff.txt").write_text("ann 1\nbob,2\ncid\t2\ndot 10\neve 1\n")
    assert gc.Groups.read(tmp_path / "staff.txt", GRAPH).labels() == (1, 2, 10)
    (tmp_path / "staff.xlsx").write_bytes(b"x")
    for name, message in (
        ("staff.xlsx", r"\.csv, \.tsv"),
        ("none.csv", f"^{tmp_path}/none.csv does not exist"),
    ):
        with pytest.raises(FileFormatError, match=message):
            gc.Groups.read(tmp_path / name, GRAPH)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "empty"),
        ("name,a\nann,A\n", {}, "no group"),
        ("name,a\nann,K\xf6ln\n".encode("latin-1"), {}, "not UTF-8"),
        ("name,a\nann,A\n", {"unknown": "drop"}, "unknown is"),
        ("name,a,b\nann,A,B\n", {}, "pass columns=.*finest$"),
        ("ann,A\n", {}, "the first line is about a vertex: pass header="),
        ("ann,A\n", {"columns": [1]}, "columns by number: pass header=True if"),
        ("name,a\nann,A\nann,B\n", {}, "line 3: this vertex has a row"),
        ("name,a\nann,A,B\n", {}, "line 2: expected 2 columns"),
        ("name,a\nzoe,A\n", {}, "line 2: not a vertex"),
        ("name,a\nann,A\n", {"columns": ["b"]}, "exactly one column 'b'"),
        ("name,a\nann,A\n", {"columns": ["a"], "text": BARE}, "needs a header"),
        ("name,a\nann,A\n", {"columns": [5], "text": HEADED}, "no such column"),
        ("name,a\nann,A\n", {"columns": ["a", "a"]}, "different columns"),
        ("name,a\nann,A\n", {"columns": []}, "at least one column"),
        ("name,a,a\nann,A,B\n", {"columns": [1, 2], "text": HEADED}, "one name"),
        ('name,a\n"ann,A\n', {}, "quotes"),
        ("name;a,b\nann;A,B\n", {}, "delimiter="),
    ],
)
def test_tables_that_say_no_groups_are_refused(tmp_path, text, options, message):
    file = tmp_path / "staff.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(GraphCutsError, match=message) as error:
        gc.Groups.read(file, GRAPH, **options)
    assert str(error.value).startswith(str(file)) == isinstance(error.value, FileFormatError)
    assert "\n" not in str(error.value)


CELLS = st.sampled_from([*NAMES, "zoe", "A", "B", "1", "", '"A"', "é", "name", "\t", "#", "x;y"])
TABLES = st.builds(
    lambda rows, separator: "\n".join(map(separator.join, rows)).encode(),
    st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=8),
    st.sampled_from([",", ";", "\t", " "]),
)


@pytest.mark.thorough
@settings(max_examples=250)
@given(
    data=TABLES | st.binary(max_size=200),
    ending=st.sampled_from([".csv", ".csv", ".tsv", ".txt", ".graphml"]),
    columns=st.sampled_from([None, [1], [1, 2], ["A"], [0]]),
    unknown=st.sampled_from(["error", "ignore"]),
)
def test_any_bytes_are_groups_or_refused_in_one_line(
    tmp_path_factory, data, ending, columns, unknown
):
    file = tmp_path_factory.getbasetemp() / f"any{ending}"
    file.write_bytes(data)
    told, vertices = "", len(NAMES)
    try:
        made = gc.Groups.read(file, GRAPH, columns=columns, unknown=unknown, default_group="other")
        vertices = int(made.sizes().sum())
    except GraphCutsError as problem:
        told = str(problem)
    assert "\n" not in told
    assert vertices == len(NAMES)


def test_groups_of_rows_with_users_that_have_a_direction(tmp_path):
    frame = pd.DataFrame({"who": ["o"], "source": ["ann"], "target": ["bob"]})
    file = tmp_path / "staff.csv"
    file.write_text(rows_of())
    for more in ({}, {"directed": True}):
        rows = owned_flat(frame, user="who", vertices=NAMES, **more)
        assert gc.Groups.read(file, rows, columns=BOTH) == GROUPS
    sides = owned_flat(frame, user="who", vertices=(NAMES, NAMES), bipartite=True)
    with pytest.raises(GraphError, match=r"pass the VertexSet of one, rows\.space\[0\]"):
        gc.Groups.read(file, sides, columns=BOTH)
    assert gc.Groups.read(file, sides.space[0], columns=BOTH) == GROUPS


# ------------------------------------------------------------------ sets of vertices


def test_queries_share_a_set_that_nobody_can_write_to():
    groups = gc.Groups(gc.VertexSet(4), {"part": ["a", "a", "b", "b"]})
    first, second = (GroupNames(groups, groups).query("@a", "@b") for _ in range(2))
    known = first.masks(groups.vertices)[0]
    assert known is second.masks(groups.vertices)[0]
    with pytest.raises(ValueError, match="read-only"):
        known[0] = False
    mine = np.array([True, False, False, False])
    part = mine[:]
    part.flags.writeable = False  # but `mine` still writes to it
    queries = CutQuery(mine), CutQuery(part)
    mine[1] = True
    for query in queries:
        assert query.masks(groups.vertices)[0].tolist() == [True, False, False, False]


def test_members_are_kept_within_bounds(monkeypatch):
    monkeypatch.setattr("graphcuts_dp.schema.groups._KEPT_BYTES", 8)
    groups = gc.Groups(gc.VertexSet(4), {"part": list("abcd")})
    for place, label in [*enumerate("abcd")] * 2:
        assert groups.members(label).tolist() == [i == place for i in range(4)]
        assert len(groups._members) <= 2


def test_a_name_is_a_label_as_it_is_written():
    groups = gc.Groups(gc.VertexSet(3), {"part": [7, -3, 12]})
    found = [groups.label_of_text(text) for text in ("7", "-3", "007", "+7", "none")]
    assert found == [7, -3, None, None, None]
