"""`graphcuts-dp distances` as a user meets it."""

import csv
import json
from functools import partial

import pytest


@pytest.fixture
def call(command_line):
    return partial(command_line, "distances")


@pytest.fixture(autouse=True)
def files(tmp_path):
    edges = ["source,target,weight", *(f"v{i},v{i + 1},{1 + i % 3}" for i in range(11))]
    (tmp_path / "roads.csv").write_text("\n".join(edges))
    (tmp_path / "people.csv").write_text("vertex,people\n" + "v3,900\nv4,500\nv9,20\n")
    points = ["name,lat,lon", *(f"v{i},{40 + i / 10},{i}" for i in range(12))]
    (tmp_path / "points.csv").write_text("\n".join(points))
    (tmp_path / "parts.csv").write_text("source,target,weight\na,b,1\nc,d,2\n")
    (tmp_path / "negative.csv").write_text("source,target,weight\na,b,-1\n")
    (tmp_path / "nan.csv").write_text("source,target,weight\na,b,nan\n")
    (tmp_path / "strangers.csv").write_text("vertex\nv3\nsecret\n")
    (tmp_path / "empty.csv").write_text("")


BASE = ("roads.csv", "people.csv", "--epsilon", "1")


def test_table(call):
    status, out, err = call(*BASE, "--top", "3", "--seed", "1")
    assert (status, err) == (0, "")
    assert "hidden: where any one person is" in out
    assert "path of 12 vertices" in out
    assert "guarantees" in out
    assert "nearest 3 of 12" in out
    shown = [line.split()[0] for line in out.splitlines() if line.strip().startswith("v")]
    assert next(label for label in shown if label[1:].isdigit()) in ("v3", "v4")
    assert sum(label[1:].isdigit() for label in shown) == 3


def test_all_vertices_on_request(call):
    _, out, _ = call(*BASE, "--top", "0")
    assert "nearest 12 of 12" in out


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
    status, _, err = call(*BASE, "--output", "answers.csv")
    assert status == 2
    assert "exists" in err
    assert call(*BASE, "--output", "answers.csv", "--force")[0] == 0


@pytest.mark.parametrize("more", [(), ("--coordinates", "points.csv", "--unit", "km")])
def test_plot(call, tmp_path, more):
    status, _, err = call(*BASE, "--plot", "map.png", *more)
    assert status == 0
    assert "wrote map.png" in err
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert call(*BASE, "--plot", "map.pdf", *more)[0] == 0
    assert (tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")


def test_choices(call):
    gaussian = ("--mechanism", "histogram", "--noise", "gaussian", "--delta", "1e-6")
    status, out, _ = call(*BASE, *gaussian, "--json")
    assert status == 0
    assert (json.loads(out)["mechanism"], json.loads(out)["noise"]) == ("histogram", "gaussian")
    learner = ("--mechanism", "learner", "--delta", "1e-6", "--at-most", "2")
    status, out, _ = call("roads.csv", "people.csv", "--epsilon", "20", *learner, "--json")
    told = json.loads(out)
    assert (status, told["mechanism"], told["plan"]["rows"][0]["typical_error"]) == (
        0,
        "learner",
        None,
    )
    ones = json.loads(call(*BASE, "--ignore-lengths", "--json")[1])
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
        (("roads.csv", "people.csv", "--epsilon", "0"), "epsilon"),
        (("roads.csv", "people.csv", "--epsilon", "nan"), "epsilon"),
        ((*BASE, "--delta", "2"), "delta"),
        ((*BASE, "--mechanism", "magic"), "unknown mechanism"),
        ((*BASE, "--noise", "gaussian"), "delta"),
        ((*BASE, "--confidence", "1"), "confidence"),
        ((*BASE, "--top", "-1"), "--top"),
        ((*BASE, "--plot", "map.gif"), ".png or .pdf"),
        ((*BASE, "--plot", "none/map.png"), "does not exist"),
        ((*BASE, "--coordinates", "people.csv"), "columns x and y"),
        ((*BASE, "--coordinates", "none.csv"), "does not exist"),
        (("roads.csv", "people.csv"), "epsilon"),
    ],
)
def test_mistakes_are_one_line(call, arguments, message):
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
        ('"', "CSV"),
    ],
)
def test_bad_coordinates(call, tmp_path, text, message):
    (tmp_path / "bad.csv").write_text(text)
    status, _, err = call(*BASE, "--coordinates", "bad.csv")
    assert status == 2
    assert message in err


def test_help_has_an_example(call):
    status, out, _ = call("--help")
    assert status == 0
    assert "graphcuts-dp distances roads.csv people.csv" in out
    assert "--mechanism learner" in out
