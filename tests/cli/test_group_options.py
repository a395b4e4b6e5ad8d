"""Groups and directions on the command line: sets that name groups, and arcs that are read."""

import os

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, QueryError
from graphcuts_dp.cli.queries import read_set

UNITS = {"ann": "Sales", "bob": "Sales", "eve": "IT", "kim": "Board", "lee": "Board"}
EDGES = [("ann", "eve"), ("bob", "eve"), ("ann", "kim"), ("kim", "lee")]
RELEASE = ("release", "g.graphml", "out.graphml", "--epsilon", "30", "--seed", "1", "--groups")
TABLE = ("--groups", "staff.csv", "--groups-columns")
ANSWER = ("answer", "out.graphml")


@pytest.fixture
def graph(tmp_path):
    """A private graph and a public table, in the folder of the command."""
    graph = gc.Graph.of(EDGES, vertices=list(UNITS))
    graph.write(tmp_path / "g.graphml")
    rows = "".join(f"{vertex},{unit},x\n" for vertex, unit in UNITS.items())
    (tmp_path / "staff.csv").write_text("vertex,unit,room\n" + rows)
    return graph


def test_the_command_line_spells_groups_with_two_at_signs(graph, tmp_path):
    groups = gc.Groups.of(UNITS, graph, ["unit"])
    (tmp_path / "Sales").write_text("ann\n")
    vertices = graph.vertices
    assert read_set("@@Sales, lee", vertices, groups) == ["@Sales", "lee"]
    assert read_set(f"@{tmp_path / 'Sales'}", vertices, groups) == ["ann"]
    with pytest.raises(FileFormatError, match="@ is for files, type @@Sales for the group"):
        read_set("@Sales", vertices, groups)
    with pytest.raises(QueryError, match=r"give --groups FILE; .* is typed @./@Sales"):
        read_set("@@Sales", vertices)


@pytest.mark.usefixtures("graph")
def test_answers_of_a_release_name_its_groups_or_others(told, done, refused, tmp_path):
    assert "nowhere.csv" in refused(*RELEASE, "nowhere.csv")
    found = told(*RELEASE, "staff.csv", "--groups-columns", "levels=unit")
    assert set(found["epsilon_spent_on"]) >= {"groups", "entries"}
    assert "and the groups" in found["guarantee"]
    named = told(*ANSWER, "--from", "@@Sales", "--to", "@@IT,lee")
    assert named["value"] == pytest.approx(2, abs=0.01)
    assert named == told(*ANSWER, "--from", "ann,bob", "--to", "eve,lee")
    room = told(*ANSWER, *TABLE, "levels=room", "--from", "@@x", "--to", "@@x")
    assert room["value"] == pytest.approx(4, abs=0.01)
    assert "unknown group '@@x'" in refused(*ANSWER, "--from", "@@x")
    # With a table of groups and no query: each pair once, of the finest level of several.
    answers = told(*ANSWER, *TABLE, "levels=room/unit")["answers"]
    asked = {(each["S"], each["T"]): each["value"] for each in answers}
    assert len(asked) == 3 * 4 // 2
    assert asked["@IT", "@Sales"] == gc.load("out.graphml").answer(["ann", "bob"], ["eve"]).value
    assert "@IT - @Sales" in done(*ANSWER, *TABLE, "levels=unit")[0]
    done(*ANSWER, *TABLE, "levels=room", "--joint", "-o", "pairs.csv")
    assert (tmp_path / "pairs.csv").read_text().splitlines()[1].startswith("@x,@x,")
    assert "it needs --from" in refused(*ANSWER, *TABLE, "levels=unit", "--to", "ann")


def test_too_many_pairs_of_groups_are_refused(done, refused, tmp_path):
    (tmp_path / "in.edges").write_text("0 1\n")
    teams = "vertex,team\n" + "".join(f"{i},t{i}\n" for i in range(150))
    (tmp_path / "teams.csv").write_text(teams)
    made = ("release", "in.edges", "out.csv", "--epsilon", "6", "--vertices", "150", "--fit")
    done(*made, "none")
    said = refused("answer", "out.csv", "--groups", "teams.csv")
    assert "11,325 pairs of groups are too many" in said


LABELS = [f"v{i}" for i in range(15)]
READ = ("mail.edges", "--kind", "directed", "--vertices", "staff.txt")
S, T = "v0,v1,v2,v3", "v2,v3,v4,v5,v6"
CUT = gc.CutQuery(S.split(","), T.split(","))


@pytest.fixture
def mail(tmp_path):
    """A private directed graph, with arcs both ways, in a list that does not say so."""
    graph = random_graph(15, 2, density=0.4, directed=True, vertices=LABELS)
    names = np.array(LABELS)
    lines = zip(names[graph.rows], names[graph.columns], strict=True)
    (tmp_path / "mail.edges").write_text("".join(f"{a} {b}\n" for a, b in lines))
    (tmp_path / "staff.txt").write_text("\n".join(LABELS))
    clubs = "vertex,club\n" + "".join(f"v{i},{'XY'[i // 8]}\n" for i in range(15))
    (tmp_path / "clubs.csv").write_text(clubs)
    return graph


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_a_directed_release_its_answers_and_its_errors(done, told, refused, mail):
    """Tails and heads are the same vertices: one file of groups, and none for a right side."""
    line = ("release", READ[0], "made.graphml", *READ[1:], "--epsilon", "20")
    grouped = (*line, "--groups", "clubs.csv")
    assert "is for --kind bipartite" in refused(*grouped, "--right-groups", "clubs.csv")
    assert told(*grouped)["epsilon_spent_on"]["groups"] > 0
    assert "A pair that occurs in several lines counts once." in done(*line, "--force")[1]
    made = gc.Release.load("made.graphml")
    assert isinstance(made.graph, gc.DirectedGraph)
    assert "ordered pair is an arc" in str(made.guarantee)
    for first, second, query in ((S, T, CUT), (T, S, gc.CutQuery(CUT.T, CUT.S))):
        low, high = told("answer", "made.graphml", "--from", first, "--to", second)["interval"]
        assert low <= query.value(mail) <= high  # at epsilon = 20 no bit is wrong but for 1e-6
    rows = told("evaluate", "release", READ[0], "made.graphml", *READ[1:])["rows"]
    assert {"out of one vertex", "into one vertex"} <= {row["kind"] for row in rows}
    done("evaluate", "graphs", READ[0], "made.graphml", *READ[1:])
    assert told("evaluate", "cut-norm", *READ)["lower"] == len(mail.rows)


def test_files_of_the_other_kind_are_refused_in_the_words_of_the_command_line(
    refused, mail, tmp_path
):
    mail.write(tmp_path / "arcs.graphml")
    gc.Graph([0], [1], vertices=3).write(tmp_path / "edges.graphml")
    line = ("x.csv", "--epsilon", "1")
    assert "pass --kind directed" in refused("release", "arcs.graphml", *line)
    said = refused("release", "edges.graphml", *line, "--kind", "directed")
    assert "leave out --kind directed" in said


TABLE_OF_UNITS = ("--groups", "staff.csv", "--groups-columns", "levels=unit")


@pytest.fixture
def edges(tmp_path):
    """Edges that do not name all people of the public table."""
    (tmp_path / "mail.csv").write_text("source,target\nann,eve\nbob,eve\n")
    rows = "".join(f"{vertex},{unit}\n" for vertex, unit in UNITS.items())
    (tmp_path / "staff.csv").write_text("vertex,unit\n" + rows)


@pytest.mark.thorough(cases=2)
@pytest.mark.usefixtures("edges")
@pytest.mark.parametrize(
    "line",
    [
        ("flows", "mail.csv", "staff.csv", "out.csv", "--epsilon", "9"),
        ("release", "mail.csv", "out.csv", "--epsilon", "9", *TABLE_OF_UNITS),
        (
            *("session", "start", "mail.csv", "--store", "m.db", "--queries", "9"),
            *("--epsilon", "9", "--delta", "1e-6"),
            *("--method", "multiplicative-weights:start=groups", *TABLE_OF_UNITS),
        ),
    ],
    ids=lambda line: line[0],
)
def test_groups_name_the_vertices_of_a_graph(line, done, told, tmp_path):
    _, err = done(*line)
    assert "The public vertices are those of the groups" in err
    assert "not private in its vertex set" not in err
    if line[0] == "flows":
        assert "Board" in (tmp_path / "out.csv").read_text()  # whose vertices have no edges
    if line[0] == "release":
        assert told("answer", "out.csv", "--from", "kim")["value"] is not None
    if line[0] == "session":  # goes on with the same vertices, from another folder, too
        (tmp_path / "elsewhere").mkdir()
        os.chdir(tmp_path / "elsewhere")
        assert told("session", "ask", "../m.db", "--from", "kim")["value"] is not None


@pytest.mark.usefixtures("edges")
def test_groups_that_are_not_the_vertices_do_not_name_them(done, refused):
    line = ("release", "mail.csv", "out.csv", "--epsilon", "9", *TABLE_OF_UNITS[:3])
    _, err = done(*line, "unknown=ignore")
    assert "not private in its vertex set" in err
    assert "not a vertex of the graph" in refused(*line, "default-group=others", "--force")


@pytest.mark.usefixtures("edges")
def test_vertices_that_are_named_are_not_those_of_the_groups(done, refused, tmp_path):
    (tmp_path / "staff.txt").write_text("\n".join(["zoe", *UNITS]) + "\n")
    line = (
        "flows",
        "mail.csv",
        "staff.csv",
        "out.csv",
        "--epsilon",
        "9",
        "--vertices",
        "staff.txt",
    )
    assert "default-group" in refused(*line)
    done(*line, "--groups-columns", "default-group=others")


@pytest.mark.usefixtures("edges")
def test_a_session_that_began_with_groups_answers_about_them(told, done, refused, tmp_path):
    start = ("session", "start", "mail.csv", "--store", "m.db", "--queries", "9", "--epsilon", "50")
    start += ("--seed", "1")
    done(*start, "--name", "named", *TABLE_OF_UNITS)
    ask = ("session", "ask", "m.db", "--name", "named")
    assert told(*ask, "--from", "@@Sales", "--to", "@@IT")["value"] == pytest.approx(2, abs=1)
    assert told(*ask, *TABLE_OF_UNITS, "--from", "@@Sales", "--to", "@@IT")["value"] is not None
    (tmp_path / "staff.csv").unlink()  # which names the vertices
    assert "staff.csv" in refused(*ask, "--from", "ann")
