"""`release-answers` on the command line, and the answers from what it wrote."""

import csv
import json

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import main

COMMON = ["--epsilon", "2", "--seed", "1", "--vertices", "6"]


@pytest.fixture
def files(tmp_path):
    graph = gc.Graph([0, 1, 2, 4], [1, 2, 3, 5], vertices=6)
    graph.write(tmp_path / "in.csv")
    (tmp_path / "cuts.jsonl").write_text('{"S": [0, 1]}\n{"S": [0], "T": [2, 4]}\n')
    (tmp_path / "cuts.csv").write_text("S,T\n@a,@b\n@a,\n")
    (tmp_path / "halves.csv").write_text("vertex,half\n0,a\n1,a\n2,a\n3,b\n4,b\n5,b\n")
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
        return call("release-answers", "in.csv", "out.npz", *COMMON, *cuts, *options)

    return run


def test_answers_are_saved_and_read_back(release, call, files):
    status, out, err = release("--json")
    assert status == 0, err
    facts = json.loads(out)
    assert facts["files"] == ["out.npz", "out.npz.json"]
    loaded = gc.FewAnswers.load(files / "out.npz")
    assert (facts["error_at_most"], facts["cuts"]) == (loaded.radius, 2)
    assert facts["noise"] == loaded.noise == "k-norm"
    assert not loaded.guarantee.is_private
    status, out, err = call("answer", "out.npz", "--from", "0,1", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert (found["value"], found["together"]) == (loaded.values[0], 2)
    assert found["interval"] == list(loaded.answer([0, 1]).interval)
    _, out, _ = call("answer", "out.npz", "--from", "0,1", "--json", "--confidence", ".999")
    assert json.loads(out)["interval"][1] >= found["interval"][1]
    assert json.loads(out)["confidence"] == 0.999
    assert call("answer", "out.npz", "--queries", "cuts.jsonl", "-o", "t.csv")[0] == 0
    with (files / "t.csv").open() as handle:
        assert [float(row["value"]) for row in csv.DictReader(handle)] == list(loaded.values)


def test_groups_can_be_named(release, call, files):
    groups = ["--groups", "halves.csv"]
    status, _, err = release("--queries", "cuts.csv", *groups, "--noise", "laplace")
    assert status == 0, err
    loaded = gc.FewAnswers.load(files / "out.npz")
    assert (loaded.noise, len(loaded.queries)) == ("laplace", 2)
    status, out, _ = call("answer", "out.npz", "--queries", "cuts.csv", *groups, "--json")
    assert status == 0
    assert [each["value"] for each in json.loads(out)["answers"]] == list(loaded.values)


def test_for_several_edges_together_and_at_another_confidence(release, files):
    assert release()[0] == 0
    one = gc.FewAnswers.load(files / "out.npz")
    assert release("--at-most", "3", "--confidence", ".99", "--force")[0] == 0
    made = gc.FewAnswers.load(files / "out.npz")
    assert made.guarantee.protects == "3 edges"
    assert made.guarantee.epsilon == 2
    assert made.confidence == 0.99
    assert made.radius > 2 * one.radius


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--queries", "nowhere.jsonl"], "does not exist"),
        (["--queries", "cuts.csv"], "group"),
        (["--queries", "rank.jsonl"], "is no cut"),
        (["--queries", "seven.jsonl", "--noise", "k-norm"], "at most 6"),
        (["--queries", "empty.jsonl"], "no queries"),
        (["--noise", "gaussian"], "unknown noise"),
        (["--confidence", "1"], "confidence"),
        (["--epsilon", "0"], "epsilon"),
        (["--protect", "vertex", "--degree-bound", "2"], "cannot hide a vertex"),
        (["--store", "s.db", "--uncounted"], "not both"),
    ],
)
def test_options_that_do_not_fit_are_refused(files, release, options, message):
    (files / "rank.jsonl").write_text('{"left": {"0": 0.5}, "right": {"1": 1}}\n')
    (files / "seven.jsonl").write_text('{"S": [0]}\n' * 7)
    (files / "empty.jsonl").write_text("\n")
    status, _, err = release(*options)
    assert status == 2
    assert message in " ".join(err.split())
    assert err.count("\nerror") + err.startswith("error") == 1
    assert not (files / "out.npz").exists()


def test_another_ending_is_refused_before_anything_is_read(call):
    status, _, err = call("release-answers", "nowhere.csv", "o.csv", *COMMON, "--queries", "q")
    assert status == 2
    assert "must end in .npz" in err


def test_what_is_spent_stands_in_the_store(release, call, files):
    assert release("--store", "s.db", "--budget-epsilon", "3")[0] == 0
    assert '"kind": "answers"' in call("store", "status", "s.db", "--json")[1]
    before = (files / "out.npz").read_bytes()
    status, _, err = release("--store", "s.db", "--force")
    assert status == 2
    assert "does not allow" in " ".join(err.split())
    assert (files / "out.npz").read_bytes() == before
    status, _, err = release("--force")  # beside the store
    assert status == 2
    assert "keeps account" in " ".join(err.split())


def test_other_cuts_and_damaged_files_are_refused(release, call, files):
    assert release()[0] == 0
    status, _, err = call("answer", "out.npz", "--from", "3")
    assert status == 2
    assert "only the 2 cuts of the list were answered" in " ".join(err.split())
    (files / "out.npz").write_bytes(b"x")
    status, _, err = call("answer", "out.npz", "--from", "0,1")
    assert status == 2
    assert "is not the file that the receipt names" in " ".join(err.split())
