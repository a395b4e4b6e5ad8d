"""`graphcuts-dp distances` as a user meets it: all vertices at once, and sessions."""

import csv
import json
import shutil
from functools import partial

import pytest


@pytest.fixture
def call(command_line):
    return partial(command_line, "distances")


@pytest.fixture(autouse=True)
def files(tmp_path):
    edges = ["source,target,weight", *(f"v{i},v{i + 1},{1 + i % 3}" for i in range(11))]
    (tmp_path / "roads.csv").write_text("\n".join(edges))
    (tmp_path / "people.csv").write_text("vertex,people\n" + "v3,90000\nv4,50000\nv9,2000\n")
    points = ["name,lat,lon", *(f"v{i},{40 + i / 10},{i}" for i in range(12))]
    (tmp_path / "points.csv").write_text("\n".join(points))
    (tmp_path / "parts.csv").write_text("source,target,weight\na,b,1\nc,d,2\n")
    (tmp_path / "negative.csv").write_text("source,target,weight\na,b,-1\n")
    (tmp_path / "nan.csv").write_text("source,target,weight\na,b,nan\n")
    (tmp_path / "strangers.csv").write_text("vertex\nv3\nsecret\n")
    (tmp_path / "empty.csv").write_text("")


FILES = ("roads.csv", "people.csv")
BASE = (*FILES, "--epsilon", "1", "--uncounted")
BEGIN = (*FILES, "--store", "p.db", "--epsilon", "4", "--queries", "3")
ON = ("--store", "p.db")


@pytest.mark.parametrize(("top", "shown"), [("3", 3), ("0", 12)])
def test_table(call, top, shown):
    status, out, err = call(*BASE, "--top", top, "--seed", "1")
    assert (status, err) == (0, "")
    assert "hidden           where any one person is" in out
    assert "path of 12 vertices" in out
    assert "not private" in out
    assert "Nearest first" in out
    labels = [line.split()[0] for line in out.splitlines() if line.strip().startswith("v")]
    labels = [label for label in labels if label[1:].isdigit()]
    assert labels[0] in ("v3", "v4")
    assert len(labels) == shown


def test_json_and_files(call, tmp_path):
    status, out, err = call(*BASE, "--seed", "1", "--output", "answers.csv", "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told["best"] in ("v3", "v4")
    assert told["guarantee"]["entropy"] == "seeded: not private"
    assert told["files"] == ["answers.csv", "answers.csv.json"]
    with (tmp_path / "answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == [a["value"] for a in told["answers"]]
    assert "exists" in call(*BASE, "--output", "answers.csv")[2]
    assert call(*BASE, "--output", "answers.csv", "--force")[0] == 0


@pytest.mark.parametrize(
    ("plot", "magic", "more"),
    [("map.png", b"\x89PNG", ()), ("map.pdf", b"%PDF", ("--coordinates", "points.csv"))],
)
def test_plot(call, tmp_path, plot, magic, more):
    status, _, err = call(*BASE, "--plot", plot, *more)
    assert status == 0
    assert f"May be published: {plot}" in err
    assert (tmp_path / plot).read_bytes().startswith(magic)


def test_choices(call):
    gaussian = ("--mechanism", "histogram", "--noise", "gaussian", "--delta", "1e-6")
    told = json.loads(call(*BASE, *gaussian, "--json")[1])
    assert (told["mechanism"], told["noise"]) == ("histogram", "gaussian")
    learner = ("--mechanism", "learner", "--delta", "1e-6", "--at-most", "2")
    told = json.loads(call(*FILES, "--epsilon", "20", *learner, "--json")[1])
    assert (told["mechanism"], told["plan"]["rows"][0]["typical"]) == ("learner", None)
    ones = json.loads(call(*BASE, "--ignore-weights", "--json")[1])
    assert ones["plan"]["diameter"] == 11


@pytest.mark.parametrize("mechanism", ["auto", "learner"])
def test_norms_of_coordinates(call, tmp_path, mechanism):
    """Vertex v_i is at (i, 40 + i/10) degrees; the roads between them do not count."""
    options = ("--coordinates", "points.csv", "--lp", "1.5", "--mechanism", mechanism)
    status, out, err = call(*BASE, *options, "--plot", "map.png", "--json")
    assert status == 0, err
    told = json.loads(out)
    assert told["plan"]["map"] == "points"
    assert (tmp_path / "map.png").exists()
    longer = json.loads(call(*BASE, *options[:3], "1", "--json")[1])["plan"]["diameter"]
    assert told["plan"]["diameter"] < longer


# Sessions


def test_a_session_begins_is_asked_and_says_where_it_stands(call):
    status, out, err = call(*BEGIN)
    assert (status, err) == (0, "")
    for words in ("default (open)", "where any one person is", "0, 3 left"):
        assert words in out
    status, out, _ = call(*ON, "--ask", "v3", "--ask", "v9")
    assert [line.split(":")[0] for line in out.splitlines()] == ["v3", "v9"]
    assert "1 left" in out
    told = json.loads(call(*ON, "--ask", "v9", "--json")[1])
    (reply,) = told["replies"]
    assert (reply["vertex"], reply["guaranteed"]) == ("v9", True)
    assert reply["interval"][0] <= reply["value"] <= reply["interval"][1]
    assert (told["state"], told["answers"], told["remaining"]["queries"]) == ("open", 2, 1)
    told = json.loads(call(*ON, "--json")[1])
    assert [reply["vertex"] for reply in told["replies"]] == ["v3", "v9"]
    assert "v9:" in call(*ON)[1]


def test_a_session_that_has_run_out_says_so(call):
    status, _, err = call(*BEGIN, "--ask", "v0", "--ask", "v1", "--ask", "v2", "--ask", "v3")
    assert status == 2
    assert "run out" in err
    status, out, _ = call(*ON, "--ask", "v0", "--ask", "v3", "--unguaranteed")
    assert status == 0
    assert "no guarantee" in out


def test_files_that_moved_and_norms_that_are_remembered(call, tmp_path):
    assert call(*BEGIN, "--coordinates", "points.csv", "--lp", "1")[0] == 0
    assert call(*ON, "--ask", "v3")[0] == 0
    for name in FILES:
        shutil.move(tmp_path / name, tmp_path / f"new-{name}")
    status, _, err = call(*ON, "--ask", "v3")
    assert status == 2
    assert "name MAP and LOCATIONS" in err
    assert call("new-roads.csv", "new-people.csv", *ON, "--ask", "v3")[0] == 0


def test_the_store_counts_a_session_with_the_rest(call, command_line):
    call(*BEGIN, "--budget", "5", "--at-most", "1")
    status, _, err = call(*FILES, "--epsilon", "2", *ON, "--output", "x.csv")
    assert status == 2
    assert "does not allow" in err
    assert command_line("session", "status", "p.db")[1].count("distance session default") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*BASE, "--lp", "1.5"), "--coordinates"),
        ((*BASE, "--lp", "3", "--coordinates", "points.csv"), "from 1 to 2"),
        (("roads.csv", "strangers.csv", "--epsilon", "1"), "line 3: not a vertex"),
        (("roads.csv", "empty.csv", "--epsilon", "1"), "the file is empty"),
        (("roads.csv", "none.csv", "--epsilon", "1"), "does not exist"),
        (("none.csv", "people.csv", "--epsilon", "1"), "does not exist"),
        (("parts.csv", "people.csv", "--epsilon", "1"), "not connected"),
        (("negative.csv", "people.csv", "--epsilon", "1"), "negative"),
        (("nan.csv", "people.csv", "--epsilon", "1"), "nan.csv"),
        ((*FILES, "--epsilon", "nan"), "epsilon"),
        ((*BASE, "--delta", "2"), "delta"),
        ((*BASE, "--mechanism", "magic"), "unknown --mechanism magic"),
        ((*BASE, "--noise", "gaussian"), "delta"),
        ((*BASE, "--confidence", "1"), "confidence"),
        ((*BASE, "--top", "-1"), "--top"),
        ((*BASE, "--plot", "map.gif"), ".png or .pdf"),
        ((*BASE, "--plot", "none/map.png"), "does not exist"),
        ((*BASE, "--coordinates", "people.csv"), "columns x and y"),
        ((*BASE, "--coordinates", "none.csv"), "does not exist"),
        (FILES, "give --epsilon"),
        ((), "name the map and the locations"),
        ((*FILES, "--queries", "3", "--epsilon", "1"), "kept in a store"),
        ((*FILES, *ON, "--epsilon", "0", "--queries", "3"), "epsilon"),
        ((*FILES, *ON, "--epsilon", "4", "--queries", "0"), "queries"),
        ((*BEGIN, "--at-most", "0"), "--at-most"),
        ((*BEGIN, "--delta", "1"), "delta"),
        ((*BEGIN, "--budget", "1"), "does not allow"),
        ((*BEGIN, "--output", "x.csv"), "all vertices at once"),
        (("roads.csv", "strangers.csv", *BEGIN[2:]), "line 3: not a vertex"),
        (BEGIN[2:], "needs the files MAP and LOCATIONS"),
        (("--store", "none.db", "--ask", "v3"), "none.db"),
        (("--store", "kept.db", "--ask", "v99"), "'v99' is not a vertex"),
        (("--store", "kept.db", "--ask", "v3", "--name", "other"), "there is: default"),
        (("people.csv", "people.csv", "--store", "kept.db", "--ask", "v3"), "people.csv"),
    ],
)
def test_mistakes_are_one_line(call, arguments, message):
    call(*FILES, "--store", "kept.db", *BEGIN[4:])
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert "secret" not in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v,x,y\nv0,1,2\n", "no row for 11 vertices"),
        ("v,x,y\nv0,far,2\n", "line 2: a coordinate is not a number"),
        ("v,x,y\nv0,inf,2\n", "line 2: a coordinate is not finite"),
        ("v,x,y\nv0,1\n", "line 2"),
        ('"', "malformed row: check its quotes"),
    ],
)
def test_bad_coordinates(call, tmp_path, text, message):
    (tmp_path / "bad.csv").write_text(text)
    status, _, err = call(*BASE, "--coordinates", "bad.csv")
    assert status == 2
    assert message in err
