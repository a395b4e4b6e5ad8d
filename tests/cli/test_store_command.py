"""`--store`, `--expect-head` and `graphcuts-dp store status`: one budget, seen and enforced."""

import json
import shutil

import numpy as np
import pytest

import graphcuts_dp as gc


@pytest.fixture
def mail(tmp_path):
    """A private graph in a folder of its own."""
    rng = np.random.default_rng(5)
    path = tmp_path / "private" / "mail.edges"
    path.parent.mkdir()
    path.write_text(
        "".join(f"{a} {b}\n" for a in range(30) for b in range(a) if rng.random() < 0.5)
    )
    return path


SESSION = ("--epsilon", "1", "--queries", "50", "--method", "laplace")
CAPPED = ("--store", "mail.db", "--budget", "2")


def errors(told):
    return [line for line in told.splitlines() if line.startswith("error")]


def release(mail, out, epsilon, *more):
    return ("release", mail, out, "--epsilon", epsilon, "--fit", "none", *more)


def test_a_release_beside_a_budget_is_charged_or_refused(call, mail):
    assert call("session", "start", mail, *CAPPED, *SESSION)[0] == 0
    status, _, err = call(*release(mail, "a.csv", 5, "--store", "mail.db"))
    assert status == 2
    assert "does not allow another use of epsilon = 5" in errors(err)[0]
    assert call(*release(mail, "a.csv", 0.5, "--store", "mail.db"))[0] == 0
    status, out, _ = call("session", "status", "mail.db")
    assert status == 0
    for words in ("session default", "release", "epsilon = 1.5", "epsilon = 2", "head"):
        assert words in out
    found = json.loads(call("session", "status", "mail.db", "--json")[1])
    assert [use["kind"] for use in found["uses"]] == ["session", "release"]
    assert all(use["user"] and use["time"] for use in found["uses"])
    assert found["epsilon"] == 1.5
    assert call("session", "status", "mail.db")[1].count("guarantee") == 1  # a release is none


@pytest.mark.parametrize("place", ["beside the graph", "in the working folder"])
def test_a_release_without_the_store_of_its_graph_is_reminded(call, mail, place, tmp_path):
    store = (mail.parent if place == "beside the graph" else tmp_path) / "s.db"
    assert call("session", "start", mail, "--store", store, *SESSION)[0] == 0
    status, _, err = call(*release(mail, "a.csv", 1))
    assert status == 2
    assert f"add --store {store}" in errors(err)[0]
    assert "--uncounted" in errors(err)[0]
    assert call(*release(mail, "a.csv", 1, "--uncounted"))[0] == 0
    assert len(gc.store_status(store).uses) == 1
    status, _, err = call(*release(mail, "b.csv", 1, "--uncounted", "--store", store))
    assert "not both" in errors(err)[0]


def test_iterative_releases_and_distances_are_charged_too(call, mail, tmp_path):
    iterative = ("release-iteratively", mail, "i.csv", "--epsilon", "1", *CAPPED)
    iterative += ("--construction", "multiplicative-weights:rounds=1")
    assert call(*iterative)[0] == 0
    assert call(*iterative, "--force", "--epsilon", "1.5")[0] == 2
    (tmp_path / "map.csv").write_text("source,target\n0,1\n1,2\n2,3\n")
    (tmp_path / "people.csv").write_text("vertex\n0\n0\n3\n")
    people = ("--store", "people.db", "--budget", "2")
    distances = ("distances", "map.csv", "people.csv", "--epsilon", "1.5")
    assert call(*distances, *people)[0] == 0
    assert "does not allow" in errors(call(*distances, *people)[2])[0]
    assert "add --store" in errors(call(*distances)[2])[0]
    assert "other private data" in errors(call(*distances, "--store", "mail.db")[2])[0]
    status, out, _ = call("session", "status", "people.db")
    assert (status, "distances" in out) == (0, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--budget", "2"), "add, for example, --store"),
        (("--store", "m.db", "--budget", "delta=0.1"), "--budget: give epsilon"),
        (("--store", "m.db", "--budget", "-1"), "epsilon must be"),
        (("--store", "m.db", "--budget", "2,delta=1"), "below 1"),
        (("--store", "x" * 300), "cannot have this name"),
        (("--store", "nowhere/m.db"), "cannot create the store"),
    ],
)
def test_wrong_options_about_the_store_are_one_line_and_make_nothing(
    call, mail, tmp_path, options, words
):
    before = sorted(tmp_path.rglob("*"))
    status, _, err = call(*release(mail, "a.csv", 1, *options))
    assert status == 2
    assert words in errors(err)[0]
    assert sorted(tmp_path.rglob("*")) == before


def test_every_command_that_opens_a_store_can_demand_its_head(call, mail, tmp_path):
    start = ("session", "start", mail, "--store", "mail.db", *SESSION)
    assert call(*start)[0] == 0
    shutil.copy("mail.db", "older.db")
    assert call("session", "ask", "mail.db", "--from", "1")[0] == 0
    head = json.loads(call("session", "status", "mail.db", "--json")[1])["head"]
    (tmp_path / "q.jsonl").write_text('{"S": [1]}\n')
    commands = [
        ("session", "status"),
        ("session", "status"),
        ("session", "export"),
        ("session", "ask", "--from", "1"),
        ("session", "run", "q.jsonl"),
        ("session", "repl"),
    ]
    for group, command, *more in commands:
        demand = ("--expect-head", head)
        status, _, err = call(group, command, "older.db", *more, *demand)
        assert status == 2, (group, command)
        assert "older copy" in errors(err)[0]
        if command != "repl":
            assert call(group, command, "mail.db", *more, *demand)[0] == 0
    assert call(*start[:4], "older.db", *SESSION, "--expect-head", head)[0] == 2
    assert head in call("session", "status", "mail.db")[1]
    assert head in call("session", "export", "mail.db")[1]
    status, _, err = call("session", "status", "mail.db", "--expect-head", "5")
    assert "a head is what" in errors(err)[0]
