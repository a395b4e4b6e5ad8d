"""`graphcuts-dp distances` as a user meets it: all vertices at once, and sessions."""

import csv
import shutil
from functools import partial

import pytest


@pytest.fixture
def call(command_line):
    return partial(command_line, "distances")


FILES = ("roads.csv", "people.csv")
BASE = (*FILES, "--epsilon", "1", "--uncounted")
BEGIN = (*FILES, "--store", "p.db", "--epsilon", "4", "--queries", "3")
ON = ("--store", "p.db")
AT = ("--coordinates", "points.csv")


@pytest.fixture(autouse=True)
def files(tmp_path):
    edges = [f"v{i},v{i + 1},{1 + i % 3}" for i in range(11)]
    for name, text in {
        "roads.csv": "\n".join(["source,target,weight", *edges]),
        "plain.csv": "\n".join(edges).replace(",", ";"),
        "people.csv": "vertex,people\nv3,90000\nv4,50000\nv9,2000\n",
        "points.csv": "\n".join(["name,lat,lon", *(f"v{i},{40 + i / 10},{i}" for i in range(12))]),
        "parts.csv": "source,target,weight\na,b,1\nc,d,2\n",
        "negative.csv": "source,target,weight\na,b,-1\n",
        "strangers.csv": "vertex\nv3\nsecret\n",
        "few.csv": "v,x,y\nv0,1,2\n",
        "far.csv": "v,x,y\nv0,far,2\n",
    }.items():
        (tmp_path / name).write_text(text)


@pytest.mark.parametrize(("top", "shown"), [("3", 3), ("0", 12)])
def test_table(done, top, shown):
    out, err = done(*BASE, "--top", top, "--seed", "1")
    assert err == ""
    for words in ("neighbours       where any one person is", "path of 12 vertices", "not private"):
        assert words in out
    labels = [line.split()[0] for line in out.splitlines() if line.strip().startswith("v")]
    labels = [label for label in labels if label[1:].isdigit()]
    assert (labels[0] in ("v3", "v4"), len(labels)) == (True, shown)


@pytest.mark.thorough
def test_json_and_files(told, refused, tmp_path):
    write = ("--output", "answers.csv", "--plot", "map.png")
    found = told(*BASE, "--seed", "1", *write)
    assert found["best"] in ("v3", "v4")
    assert found["guarantee"]["entropy"] == "seeded: not private"
    assert found["files"] == ["answers.csv", "answers.csv.json", "map.png"]
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == [a["value"] for a in found["answers"]]
    assert "exists" in refused(*BASE, *write)
    told(*BASE, *write, "--force")


def test_choices(told):
    more = ("--delta", "1e-6", "--mechanism")
    found = told(*BASE, *more, "histogram", "--noise", "gaussian")
    assert (found["mechanism"], found["noise"]) == ("histogram", "gaussian")
    found = told(*FILES, "--epsilon", "20", *more, "learner", "--group-size", "2")
    assert (found["mechanism"], found["plan"]["rows"][0]["typical"]) == ("learner", None)
    assert told(*BASE, "--ignore-weights")["plan"]["diameter"] == 11
    plain = ("plain.csv", *BASE[1:], "--columns", "header=no,delimiter=;,weight=3")
    assert told(*plain)["plan"]["diameter"] == 21


def test_norms_of_coordinates(told):
    """Vertex v_i is at (i, 40 + i/10) degrees; the roads between them do not count."""
    found, longer = (told(*BASE, *AT, "--lp", p)["plan"] for p in ("1.5", "1"))
    assert found["map"] == "points"
    assert found["diameter"] < longer["diameter"]


def test_a_session_begins_is_asked_and_says_where_it_stands(done, told):
    out, _ = done(*BEGIN)
    for words in ("default (open)", "where any one person is", "0, 3 left"):
        assert words in out
    out, _ = done(*ON, "--ask", "v3", "--ask", "v9")
    assert [line.split(":")[0] for line in out.splitlines()] == ["v3", "v9"]
    assert "1 left" in out
    found = told(*ON, "--ask", "v9")
    (reply,) = found["replies"]
    assert (reply["vertex"], reply["guaranteed"]) == ("v9", True)
    assert reply["interval"][0] <= reply["value"] <= reply["interval"][1]
    assert (found["state"], found["answers"], found["remaining"]["queries"]) == ("open", 2, 1)
    assert [reply["vertex"] for reply in told(*ON)["replies"]] == ["v3", "v9"]
    assert "v9:" in done(*ON)[0]
    done(*ON, "--ask", "v0")
    assert "no guarantee" in done(*ON, "--ask", "v1", "--unguaranteed")[0]


def test_files_that_moved_and_norms_that_are_remembered(done, refused, tmp_path):
    done(*BEGIN, *AT, "--lp", "1")
    done(*ON, "--ask", "v3")
    for name in FILES:
        shutil.move(tmp_path / name, tmp_path / f"new-{name}")
    assert "name MAP and LOCATIONS" in refused(*ON, "--ask", "v3")
    done("new-roads.csv", "new-people.csv", *ON, "--ask", "v3")


def test_the_store_counts_a_session_with_the_rest(done, refused, command_line):
    done(*BEGIN, "--budget", "5", "--group-size", "1")
    assert "does not allow" in refused(*FILES, "--epsilon", "2", *ON, "--output", "x.csv")
    assert "add --store" in refused(*FILES, "--epsilon", "1")
    assert command_line("session", "status", "p.db")[1].count("distance session default") == 1


KEPT = ("--store", "kept.db", "--ask")


@pytest.mark.thorough(cases=14)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*BASE, "--lp", "1.5"), "--coordinates"),
        ((*BASE, "--lp", "3", *AT), "from 1 to 2"),
        (("roads.csv", "strangers.csv", "--epsilon", "1"), "line 3: not a vertex"),
        (("none.csv", "people.csv", "--epsilon", "1"), "does not exist"),
        (("parts.csv", "people.csv", "--epsilon", "1"), "not connected"),
        (("negative.csv", "people.csv", "--epsilon", "1"), "negative"),
        (("plain.csv", *BASE[1:], "--columns", "header=no"), "pass --columns delimiter="),
        ((*BASE, "--mechanism", "magic"), "unknown --mechanism magic"),
        ((*BASE, "--top", "-1"), "--top"),
        ((*BASE, "--plot", "map.gif"), ".png, .pdf or .svg"),
        ((*BASE, "--plot", "none/map.png"), "does not exist"),
        ((*BASE, "--coordinates", "people.csv"), "columns x and y"),
        ((*BASE, "--coordinates", "few.csv"), "no row for 11 vertices"),
        ((*BASE, "--coordinates", "far.csv"), "line 2: a coordinate is not a number"),
        (FILES, "give --epsilon"),
        ((), "name the map and the locations"),
        ((*FILES, "--queries", "3", "--epsilon", "1"), "kept in a store"),
        ((*BEGIN, "--group-size", "0"), "--group-size"),
        ((*BEGIN, "--budget", "1"), "does not allow"),
        ((*BEGIN, "--output", "x.csv"), "all vertices at once"),
        (BEGIN[2:], "needs the files MAP and LOCATIONS"),
        (("--store", "none.db", "--ask", "v3"), "none.db"),
        ((*KEPT, "v3", "--name", "other"), "there is: default"),
        (("people.csv", "people.csv", *KEPT, "v3"), "people.csv"),
    ],
)
def test_mistakes_are_one_line(done, refused, arguments, message):
    done(*FILES, *KEPT[:2], *BEGIN[4:])
    said = refused(*arguments)
    assert message in said
    assert "secret" not in said
