"""`release-net` on the command line, and answers from what it wrote."""

import json

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import main

COMMON = ["--epsilon", "2", "--seed", "1", "--vertices", "5"]


@pytest.fixture
def files(tmp_path):
    graph = gc.Graph([0, 1, 2], [1, 2, 3], vertices=5)
    graph.write(tmp_path / "in.csv")
    (tmp_path / "cuts.jsonl").write_text('{"S": [0, 1]}\n{"S": [0], "T": [2, 4]}\n')
    return tmp_path


@pytest.fixture
def call(files, monkeypatch, capsys):
    """Run a command in the folder of the files; returns exit status, output and errors."""
    monkeypatch.chdir(files)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["graphcuts-dp", *words])
        status = main._status()
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def release(call):
    def run(*options):
        cuts = [] if "--queries" in options else ["--queries", "cuts.jsonl"]
        return call("release-net", "in.csv", "out.graphml", *COMMON, *cuts, *options)

    return run


def test_chooses_a_graph_and_says_how_far_it_is_off(release, files):
    status, out, err = release("--json")
    assert status == 0, err
    facts = json.loads(out)
    assert len(facts["files"]) == 3
    loaded = gc.NetRelease.load(files / "out.graphml")
    assert facts["error_at_most"] == loaded.error_bound(0.05)
    assert (facts["members"], facts["queries"]) == (loaded.members, 2)
    assert not loaded.guarantee.is_private


def test_a_public_number_of_edges_makes_the_net_smaller(release, files):
    assert release()[0] == 0
    every = gc.NetRelease.load(files / "out.graphml").members
    assert release("--edges", "3", "--force")[0] == 0
    some = gc.NetRelease.load(files / "out.graphml")
    assert some.members < every
    assert len(some.graph.rows) == 3


def test_for_several_edges_together(release, files):
    assert release("--at-most", "2")[0] == 0
    made = gc.NetRelease.load(files / "out.graphml")
    assert made.guarantee.protects == "2 edges"
    assert made.guarantee.epsilon == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--queries", "nowhere.jsonl"], "does not exist"),
        (["--alpha", "-1"], "alpha must be"),
        (["--edges", "11"], "edges must lie in [0, 10]"),
        (["--vertices", "8"], "2^28 graphs"),
        (["--protect", "vertex", "--degree-bound", "2"], "cannot hide a vertex"),
    ],
)
def test_options_that_do_not_fit_are_refused(files, release, options, message):
    status, _, err = release(*options)
    assert status == 2
    assert message in " ".join(err.split())
    assert not (files / "out.graphml").exists()


def test_what_is_spent_stands_in_the_store(release, call):
    assert release("--store", "s.db", "--budget-epsilon", "3")[0] == 0
    assert "net" in call("store", "status", "s.db")[1]
    status, _, err = release("--store", "s.db", "--force")
    assert status == 2
    assert "does not allow" in " ".join(err.split())


def test_answers_from_a_release(files, release, call):
    assert release()[0] == 0
    loaded = gc.NetRelease.load(files / "out.graphml")
    status, out, err = call("answer", "out.graphml", "--from", "0,1", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["value"] == loaded.answer([0, 1]).value
    assert found["interval"] == list(loaded.answer([0, 1]).interval)
    assert found["simultaneous"]
    wider = json.loads(
        call("answer", "out.graphml", "--from", "0,1", "--json", "--confidence", ".999")[1]
    )
    assert wider["interval"][1] >= found["interval"][1]
    other = json.loads(call("answer", "out.graphml", "--from", "3", "--to", "4", "--json")[1])
    assert (other["interval"], other["confidence"]) == ([0, 1], 1)
