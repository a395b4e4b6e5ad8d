"""`graphcuts-dp distance-session` as a user meets it."""

import json
import shutil

import pytest


@pytest.fixture
def call(command_line, tmp_path):
    edges = ["source,target,weight", *(f"v{i},v{i + 1},{1 + i % 3}" for i in range(11))]
    (tmp_path / "roads.csv").write_text("\n".join(edges))
    (tmp_path / "people.csv").write_text("vertex,people\n" + "v3,90000\nv4,50000\nv9,2000\n")
    (tmp_path / "strangers.csv").write_text("vertex\nv3\nsecret\n")
    return lambda *arguments: command_line("distance-session", *arguments)


BEGIN = ("start", "roads.csv", "people.csv", "--store", "p.db", "--epsilon", "4", "--queries", "3")


def test_start_ask_status(call):
    status, out, err = call(*BEGIN)
    assert (status, err) == (0, "")
    assert "default (open)" in out
    assert "where any one person is" in out
    assert "0, 3 left" in out
    status, out, _ = call("ask", "p.db", "v3", "v9")
    assert status == 0
    assert [line.split(":")[0] for line in out.splitlines()] == ["v3", "v9"]
    assert "2 left" in out
    status, again, _ = call("ask", "p.db", "v9", "--json")
    told = json.loads(again)["answers"][0]
    assert told["vertex"] == "v9"
    assert told["guaranteed"]
    assert told["interval"][0] <= told["value"] <= told["interval"][1]
    status, out, _ = call("status", "p.db", "--json")
    told = json.loads(out)
    assert (told["state"], told["answers"], told["queries_left"]) == ("open", 2, 1)
    assert [reply["vertex"] for reply in told["history"]] == ["v3", "v9"]
    assert "v9:" in call("status", "p.db")[1]


def test_it_runs_out(call):
    call(*BEGIN)
    status, _, err = call("ask", "p.db", "v0", "v1", "v2", "v3")
    assert status == 2
    assert "run out" in err
    status, out, _ = call("ask", "p.db", "v0", "v3", "--unguaranteed")
    assert status == 0
    assert "no guarantee" in out


def test_files_that_moved(call, tmp_path):
    call(*BEGIN)
    for name in ("roads.csv", "people.csv"):
        shutil.move(tmp_path / name, tmp_path / f"new-{name}")
    status, _, err = call("ask", "p.db", "v3")
    assert status == 2
    assert "pass --map" in err
    status, _, err = call("ask", "p.db", "v3", "--map", "new-roads.csv")
    assert "pass --locations" in err
    there = ("--map", "new-roads.csv", "--locations", "new-people.csv")
    assert call("ask", "p.db", "v3", *there)[0] == 0


def test_norms_of_coordinates_are_remembered(call, tmp_path):
    rows = ["vertex,x,y", *(f"v{i},{i},{i % 4}" for i in range(12))]
    (tmp_path / "points.csv").write_text("\n".join(rows))
    status, _, err = call(*BEGIN, "--coordinates", "points.csv", "--lp", "1")
    assert status == 0, err
    assert call("ask", "p.db", "v3")[0] == 0
    assert call("status", "p.db", "--map", "roads.csv")[0] == 0


def test_the_store_counts_it_with_the_rest(call, command_line):
    call(*BEGIN, "--budget-epsilon", "5", "--at-most", "1")
    status, _, err = command_line(
        "distances", "roads.csv", "people.csv", "--epsilon", "2", "--store", "p.db"
    )
    assert status == 2
    assert "does not allow" in err
    assert command_line("store", "status", "p.db")[1].count("distance session default") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*BEGIN[:5], "--epsilon", "0", "--queries", "3"), "epsilon"),
        ((*BEGIN[:5], "--epsilon", "4", "--queries", "0"), "queries"),
        ((*BEGIN, "--at-most", "0"), "at_most"),
        ((*BEGIN, "--delta", "1"), "delta"),
        ((*BEGIN, "--budget-epsilon", "1"), "does not allow"),
        (("start", "roads.csv", "strangers.csv", *BEGIN[3:]), "line 3: not a vertex"),
        (("start", "none.csv", "people.csv", *BEGIN[3:]), "does not exist"),
        (("ask", "none.db", "v3"), "none.db"),
        (("ask", "kept.db", "v99"), "'v99' is not a vertex"),
        (("ask", "kept.db", "v3", "--name", "other"), "there is: default"),
        (("status", "kept.db", "--map", "people.csv"), "people.csv"),
    ],
)
def test_mistakes_are_one_line(call, arguments, message):
    call(*BEGIN[:4], "kept.db", *BEGIN[5:])
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert "secret" not in err


@pytest.mark.parametrize("command", ["start", "ask", "status"])
def test_help_has_an_example(call, command):
    status, out, _ = call(command, "--help")
    assert status == 0
    assert f"Example: graphcuts-dp distance-session {command}" in out
