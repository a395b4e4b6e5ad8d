"""`release-iteratively` on the command line."""

import json

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import main

COMMON = ["--epsilon", "2", "--seed", "1", "--vertices", "6"]
DELTA = ["--delta", "1e-6"]


@pytest.fixture
def files(tmp_path):
    graph = gc.Graph([0, 1, 2], [1, 2, 3], vertices=6)
    graph.write(tmp_path / "in.csv")
    (tmp_path / "cuts.jsonl").write_text('{"S": [0, 1]}\n{"S": [0], "T": [4, 5]}\n')
    return tmp_path


@pytest.fixture
def release(files, monkeypatch, capsys):
    """Run the command; returns exit status, standard output and standard error."""

    def run(*options):
        paths = [str(files / "in.csv"), str(files / "out.graphml")]
        monkeypatch.setattr(
            "sys.argv", ["graphcuts-dp", "release-iteratively", *paths, *COMMON, *options]
        )
        status = main._status()
        output = capsys.readouterr()
        return status, output.out, output.err

    return run


def test_learns_from_listed_cuts(files, release):
    status, out, err = release(*DELTA, "--queries", str(files / "cuts.jsonl"), "--json")
    assert status == 0, err
    facts = json.loads(out)
    assert facts["distinguisher"] == "exponential"
    assert len(facts["files"]) == 3
    loaded = gc.IterativeRelease.load(files / "out.graphml")
    assert facts["error_at_most"] == loaded.accuracy.error
    assert len(loaded.listed) == 2


def test_says_what_is_proven(release):
    status, out, err = release(*DELTA, "--construction", "frieze-kannan", "--rounds", "3")
    assert status == 0, err
    assert "3 of at most 3 (practical)" in out
    assert "for cuts between disjoint sets at once, with probability 95%" in out
    _, out, _ = release(*DELTA, "--distinguisher", "power-rank-one", "--force")
    assert "nothing is proven" in out


def test_the_query_player_learns_and_a_list_is_hidden(files, release):
    many = [f'{{"S": [{i}], "T": [{j}]}}\n' for i in range(6) for j in range(6) if i != j]
    (files / "cuts.jsonl").write_text("".join(many))
    listed = (*DELTA, "--queries", str(files / "cuts.jsonl"), "--rounds", "3", "--json")
    status, out, err = release(*listed, "--player", "both")
    assert status == 0, err
    facts = json.loads(out)
    assert facts["distinguisher"] == "player: both"
    assert facts["error_at_most"] > 0
    assert len(gc.IterativeRelease.load(files / "out.graphml").listed) == 30
    status, out, err = release(
        *listed, "--player", "query", "--hide-queries", "0.5", "--force", "--distinguisher", "auto"
    )
    assert status == 0, err
    loaded = gc.IterativeRelease.load(files / "out.graphml")
    assert loaded.listed is None
    assert loaded.transcript == ()
    assert "error_at_most" not in json.loads(out)
    status, _, err = release(*listed, "--hide-queries", "0.5", "--force")
    assert (status, "hide_queries is for" in err) == (2, True)


def test_learns_statistics_and_other_queries(files, release):
    lines = files / "asked.jsonl"
    lines.write_text('{"S": [0]}\n{"left": [1, 0.5, 0, 0, 0, 0]}\n{"statistic": "triangles"}\n')
    options = (*DELTA, "--queries", str(lines), "--json")
    status, out, err = release(*options, "--construction", "median")
    assert status == 0, err
    assert json.loads(out)["construction"] == "median"
    assert len(gc.IterativeRelease.load(files / "out.graphml").listed) == 3
    status, _, err = release(*options, "--force")
    assert (status, "construction='median'" in err) == (2, True)
    lines.write_text('{"entries": [[0, 1, -2.5]]}\n{"S": [0]}\n')
    status, out, err = release(*options, "--force")
    assert status == 0, err
    assert json.loads(out)["which_holds"].startswith("for the queries given")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*DELTA, "--fit", "spectral"], "No such option"),
        ([*DELTA, "--construction", "average"], "unknown construction 'average'; choose one of"),
        ([*DELTA, "--queries", "nowhere.jsonl"], "does not exist"),
        ([], "needs delta"),
    ],
)
def test_options_that_do_not_fit_are_refused(files, release, options, message):
    status, _, err = release(*options)
    assert status == 2
    assert message in " ".join(err.split())
    assert not (files / "out.graphml").exists()


def test_answers_from_a_release(files, release, monkeypatch, capsys):
    assert release(*DELTA, "--queries", str(files / "cuts.jsonl"))[0] == 0

    def answer(*options):
        words = ["graphcuts-dp", "answer", str(files / "out.graphml"), *options]
        monkeypatch.setattr("sys.argv", words)
        return main._status(), *capsys.readouterr()

    status, out, err = answer("--from", "0,1", "--json")
    assert status == 0, err
    loaded = gc.IterativeRelease.load(files / "out.graphml")
    assert json.loads(out)["value"] == loaded.answer([0, 1]).value
    assert answer("--from", "0", "--to", "4,5")[0] == 0
    status, _, err = answer("--from", "0,1", "--confidence", "0.9")
    assert status == 2
    assert "leave out --confidence" in " ".join(err.split())
