"""Groups on the command line: `--groups FILE`, and sets that name them with @@."""

import json

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli.queries import read_set
from graphcuts_dp.errors import FileFormatError, QueryError

UNITS = {"ann": "Sales", "bob": "Sales", "eve": "IT", "kim": "Board", "lee": "Board"}
EDGES = [("ann", "eve"), ("bob", "eve"), ("ann", "kim"), ("kim", "lee")]


@pytest.fixture
def graph():
    return gc.Graph.of(EDGES, vertices=list(UNITS))


@pytest.fixture
def groups(graph):
    return gc.Groups.of(UNITS, graph, ["unit"])


@pytest.fixture
def files(graph, tmp_path):
    """A private graph and a public table, in the folder of the command."""
    graph.write(tmp_path / "g.graphml")
    rows = "".join(f"{vertex},{unit},x\n" for vertex, unit in UNITS.items())
    (tmp_path / "staff.csv").write_text("vertex,unit,room\n" + rows)


def test_the_command_line_spells_groups_with_two_at_signs(graph, groups, tmp_path):
    (tmp_path / "Sales").write_text("ann\n")
    vertices = graph.vertices
    assert read_set("@@Sales, lee", vertices, groups) == ["@Sales", "lee"]
    assert read_set(f"@{tmp_path / 'Sales'}", vertices, groups) == ["ann"]
    with pytest.raises(FileFormatError, match="@ is for files, type @@Sales for the group"):
        read_set("@Sales", vertices, groups)
    with pytest.raises(QueryError, match=r"give --groups FILE; .* is typed @./@Sales"):
        read_set("@@Sales", vertices)


@pytest.mark.usefixtures("files")
def test_a_session_is_asked_about_groups(call, tmp_path):
    (tmp_path / "cp1252.csv").write_bytes("vertex,unit\nann,Küche\n".encode("cp1252"))
    begin = ("session", "start", "g.graphml", "--store", "s.db", "--epsilon", "30")
    assert call(*begin, "--queries", "9,beta=1e-6", "--method", "laplace")[0] == 0
    ask = ("session", "ask", "s.db")
    table = ("--groups", "staff.csv", "--groups-columns", "levels=unit")
    status, told, _ = call(*ask, *table, "--from", "@@Sales", "--to", "@@IT", "--json")
    assert status == 0
    named = json.loads(told)
    assert named["interval"][0] <= 2 <= named["interval"][1]  # but once in 10^6 runs
    status, told, _ = call(*ask, "--from", "ann,bob", "--to", "eve", "--json")
    assert json.loads(told)["value"] == named["value"]  # the same query, on the record
    for options, wanted in (
        ((*table, "--from", "@@Sale"), "unknown group '@Sale'"),
        (("--from", "@@Sales"), "give --groups FILE"),
        ((*table[2:], "--from", "ann"), "need --groups FILE"),
        ((*table[:2], "--from", "ann"), "pass --groups-columns levels="),
        ((*table, "--from", "@Sales"), "type @@Sales for the group"),
        (
            ("--groups", "cp1252.csv", "--from", "ann"),
            "example --groups-columns encoding=cp1252 for Excel",
        ),
        (
            (*table, "--right-groups", "staff.csv", "--from", "ann"),
            "is for --kind bipartite",
        ),
    ):
        status, told, error = call(*ask, *options)
        assert (status, told) == (2, "")
        assert wanted in error
        assert error.count("\n") == 1


@pytest.mark.usefixtures("files")
def test_a_release_with_groups_says_what_they_cost(call, tmp_path):
    line = ("release", "g.graphml", "out.graphml", "--epsilon", "30", "--seed", "1")
    status, told, _ = call(
        *line, "--groups", "staff.csv", "--groups-columns", "levels=unit", "--json"
    )
    assert status == 0
    found = json.loads(told)
    assert set(found["epsilon_spent_on"]) >= {"groups", "entries"}
    assert "and the groups" in found["guarantee"]
    assert gc.Release.load(tmp_path / "out.graphml").measurements.values[0].name == "groups"
    status, _, error = call(*line, "--groups", "nowhere.csv", "--force")
    assert (status, error.count("nowhere.csv")) == (2, 1)


@pytest.mark.usefixtures("files")
def test_answers_of_a_release_name_its_groups_or_others(call):
    line = ("release", "g.graphml", "out.graphml", "--epsilon", "30", "--seed", "1", "--groups")
    assert call(*line, "staff.csv", "--groups-columns", "levels=unit")[0] == 0
    ask = ("answer", "out.graphml", "--json")
    named = call(*ask, "--from", "@@Sales", "--to", "@@IT,lee")
    assert named[0] == 0
    assert json.loads(named[1])["value"] == pytest.approx(2, abs=0.01)
    assert named[1] == call(*ask, "--from", "ann,bob", "--to", "eve,lee")[1]
    table = ("--groups", "staff.csv", "--groups-columns", "levels=room")
    everything = call(*ask, *table, "--from", "@@x", "--to", "@@x")
    assert json.loads(everything[1])["value"] == pytest.approx(4, abs=0.01)
    status, _, error = call(*ask, "--from", "@@x")
    assert status == 2
    assert "unknown group '@x'" in error


@pytest.mark.usefixtures("files")
def test_a_file_of_queries_names_groups(call, tmp_path):
    begin = ("session", "start", "g.graphml", "--store", "s.db", "--epsilon", "30")
    assert call(*begin, "--queries", "9", "--method", "laplace")[0] == 0
    lines = [{"S": "@Sales", "T": ["@IT", "lee"]}, {"S": ["ann", "bob"], "T": ["eve", "lee"]}]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    table = ("--groups", "staff.csv", "--groups-columns", "levels=unit")
    status, told, _ = call("session", "run", "s.db", "q.jsonl", *table)
    assert status == 0
    first, second = map(json.loads, told.splitlines())
    assert first["value"] == second["value"]
    assert first["S"] == "@Sales"
    status, _, error = call("session", "run", "s.db", "q.jsonl")
    assert status == 2
    assert "--groups FILE" in error


def test_a_directed_release_takes_one_file_of_groups(call, tmp_path):
    """Tails and heads are the same vertices: one file, and none for a right side."""
    (tmp_path / "arcs.edges").write_text("0 1\n1 2\n2 0\n3 0\n")
    (tmp_path / "clubs.csv").write_text("vertex,club\n0,X\n1,X\n2,Y\n3,Y\n")
    base = ("release", tmp_path / "arcs.edges", tmp_path / "made.csv", "--epsilon", "9")
    options = (
        "--kind",
        "directed",
        "--vertices",
        "4",
        "--groups",
        tmp_path / "clubs.csv",
        "--json",
    )
    status, out, err = call(*base, *options, "--force-hopeless")
    assert status == 0, err
    assert json.loads(out)["epsilon_spent_on"]["groups"] > 0
    assert isinstance(gc.Release.load(tmp_path / "made.csv").graph, gc.DirectedGraph)
    more = ("--right-groups", tmp_path / "clubs.csv", "--force")
    status, _, err = call(*base, *options, *more)
    assert status == 2
    assert "--right-groups is for --kind bipartite" in err


def test_all_pairs_of_groups_are_answered_at_once(call, tmp_path):
    """With a table of groups and no query: each pair once, and what is within each group."""
    (tmp_path / "in.edges").write_text("".join(f"{i} {(i + 1) % 12}\n" for i in range(12)))
    (tmp_path / "teams.csv").write_text(
        "vertex,half,team\n" + "".join(f"{i},{i // 6},t{i // 3}\n" for i in range(12))
    )
    made = ("release", "in.edges", "out.csv", "--epsilon", "6", "--vertices", "12")
    assert call(*made)[0] == 0
    table = ("answer", "out.csv", "--groups", "teams.csv", "--groups-columns")
    ask = (*table, "levels=half/team")  # the finest level of several
    status, told, err = call(*ask, "--json")
    assert status == 0, err
    answers = json.loads(told)["answers"]
    assert len(answers) == 4 * 5 // 2
    release = gc.Release.load(tmp_path / "out.csv")
    asked = {(each["S"], each["T"]): each["value"] for each in answers}
    assert asked["@t0", "@t1"] == release.answer([0, 1, 2], [3, 4, 5]).value
    assert asked["@t3", "@t3"] == release.answer([9, 10, 11], [9, 10, 11]).value
    status, told, _ = call(*table, "levels=half", "--joint", "-o", "pairs.csv")
    assert status == 0
    lines = (tmp_path / "pairs.csv").read_text().splitlines()
    assert lines[0].startswith("S,T,value,low,high")
    assert [line.split(",")[:2] for line in lines[1:]] == [["@0", "@0"], ["@0", "@1"], ["@1", "@1"]]
    assert "@t0 - @t1" in call(*ask)[1]
    status, _, err = call(*ask, "--to", "1")
    assert status == 2
    assert "they need --from" in err


def test_too_many_pairs_of_groups_are_refused(call, tmp_path):
    (tmp_path / "in.edges").write_text("0 1\n")
    (tmp_path / "teams.csv").write_text(
        "vertex,team\n" + "".join(f"{i},t{i}\n" for i in range(150))
    )
    made = ("release", "in.edges", "out.csv", "--epsilon", "6", "--vertices", "150", "--fit")
    assert call(*made, "none")[0] == 0
    status, _, err = call("answer", "out.csv", "--groups", "teams.csv")
    assert status == 2
    assert "11,325 pairs of groups are too many" in err
    assert err.count("\n") == 1
