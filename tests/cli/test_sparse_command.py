"""`release --mechanism sparse` and `answer` on what it wrote."""

import csv
import json

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.release import releases
from graphcuts_dp.results import release


@pytest.fixture
def files(tmp_path):
    """A private weighted graph of two teams, and a public table of these."""
    rng = np.random.default_rng(1)
    n, m = 60, 700
    rows, columns = rng.integers(0, n, (2, m))
    columns = np.where(rng.random(m) < 0.8, columns - (columns - rows) % 2, columns)
    apart = (rows != columns) & (columns >= 0)
    graph = gc.Graph(
        rows[apart], columns[apart], np.full(apart.sum(), 90.0), vertices=n, weight_cap=90
    )
    graph.write(tmp_path / "calls.graphml")
    table = "".join(f"{vertex},{('even', 'odd')[vertex % 2]}\n" for vertex in range(n))
    (tmp_path / "teams.csv").write_text("vertex,team\n" + table)
    return graph


RELEASE = ("release", "calls.graphml", "x.graphml", "--epsilon", "40", "--seed", "1")


def test_a_release_is_made_and_asked(call, files, tmp_path):
    status, out, err = call(*RELEASE, "--mechanism", "sparse", "--groups", "teams.csv", "--json")
    assert status == 0, err
    made = json.loads(out)
    assert sum(made["epsilon_spent_on"].values()) == pytest.approx(40)
    assert {"weights", "groups", "degrees"} <= set(made["epsilon_spent_on"])
    assert "degrees and sums between groups" in err
    names = {"x.graphml", "x.graphml.noisy.npz", "x.graphml.json"}
    assert names <= {file.name for file in tmp_path.iterdir()}
    even = ",".join(str(v) for v in range(0, 60, 2))
    status, out, err = call("answer", "x.graphml", "--from", even, "--json")
    assert status == 0, err
    found = json.loads(out)
    true = gc.CutQuery(np.arange(60) % 2 == 0).value(files)
    assert found["estimate"] == "unbiased"
    assert found["typical_error"] is None
    assert abs(found["value"] - true) < 100
    status, out, err = call("answer", "x.graphml", "--from", "1,2,3")
    assert status == 0, err
    assert "typically" in out
    assert "no guarantee" in out


@pytest.mark.parametrize(
    "options",
    [
        ("--mechanism", "sparse", "--fit", "auto:unweighted"),
        ("--mechanism", "sparse", "--fit", "spectral"),
        ("--mechanism", "sparse:degree-share=.96"),
    ],
)
@pytest.mark.usefixtures("files")
def test_options_that_do_not_fit_are_refused(call, options, tmp_path):
    status, _, err = call(*RELEASE, *options)
    assert status == 2
    assert "sparse" in err
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.usefixtures("files")
def test_auto_tells_before_it_takes_it(call, monkeypatch):
    monkeypatch.setattr(releases, "memory_limit", lambda: 10**4)
    status, _, err = call(*RELEASE, "--noise", "laplace")
    assert status == 0, err
    assert "released sparsely" in err


@pytest.mark.usefixtures("files")
def test_an_interrupted_release_leaves_nothing(call, monkeypatch, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(releases, "fit_sparse", interrupted)
    status, _, _ = call(*RELEASE, "--mechanism", "sparse")
    assert status == 130
    assert not [file for file in tmp_path.iterdir() if "x.graphml" in file.name]


def test_a_table_of_cuts_between_groups_and_halves(call, files, tmp_path, monkeypatch):
    teams = "".join(f"{v},t{v % 3},t{v % 3}{'ab'[v // 30]}\n" for v in range(60))
    (tmp_path / "teams.csv").write_text("vertex,team,half\n" + teams)
    (tmp_path / "cuts.csv").write_text(
        "S,T\n" + '@t0,@t1\n"@t0,@t1",\n@t0a,@t2b\n"@t0a,@t1b,3",\n' * 10
    )
    status, _, err = call(
        *RELEASE,
        "--mechanism",
        "sparse",
        "--groups",
        "teams.csv",
        "--groups-columns",
        "levels=team",
    )
    assert status == 0, err
    asked = ("answer", "x.graphml", "--queries", "cuts.csv", "-o", "answers.csv")
    halves = ("--groups", "teams.csv", "--groups-columns", "levels=team/half")
    status, _, err = call(*asked, *halves)
    assert status == 0, err
    with (tmp_path / "answers.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert [row["estimate"] for row in rows] == ["unbiased", "unbiased", "model", "model"] * 10
    assert [row["typical_error"] != "" for row in rows] == [False, False, True, True] * 10
    member = np.arange(60) % 3
    for row, query in zip(
        rows, [gc.CutQuery(member == 0, member == 1), gc.CutQuery(member < 2)], strict=False
    ):
        low, high = float(row["low"]), float(row["high"])
        assert low <= query.value(files) <= high
        assert rows[0] == rows[4]

    # Ctrl-C while answers are made: no file, and one that was there stays as it is.
    kept = (tmp_path / "answers.csv").read_bytes()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(release, "answer_queries", interrupted)
    before = {path.name for path in tmp_path.iterdir()}
    status, _, err = call(*asked, *halves, "--force")
    assert status == 130
    assert err.splitlines()[-1] == "interrupted: no file is half-written"
    assert {path.name for path in tmp_path.iterdir()} == before
    assert (tmp_path / "answers.csv").read_bytes() == kept
