"""`graphcuts-dp sense`: a list of queries on ratings, and its answers from the saved release."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import graphcuts_dp as gc
from graphcuts_dp.cli.main import app
from graphcuts_dp.errors import FileFormatError, ParameterError, QueryError

USERS, FILMS = [f"u{i}" for i in range(12)], [f"f{i}" for i in range(8)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"{u},{f},{rng.integers(1, 6)}" for u in USERS for f in FILMS if rng.random() < 0.6]
    (tmp_path / "ratings.csv").write_text("\n".join(["user,film,weight", *lines]))
    (tmp_path / "u.txt").write_text("\n".join(USERS))
    (tmp_path / "f.txt").write_text("\n".join(FILMS))
    cities = [f"{u},{'Seattle' if i % 3 else 'Paris'}" for i, u in enumerate(USERS)]
    genres = [f"{f},{'comedy' if i < 4 else 'drama'}" for i, f in enumerate(FILMS)]
    (tmp_path / "cities.csv").write_text("\n".join(["vertex,city", *cities]))
    (tmp_path / "genres.csv").write_text("\n".join(["vertex,genre", *genres]))
    (tmp_path / "sums.csv").write_text(
        "S,T\n@Seattle,@comedy\n@Seattle,@drama\n@Paris,@comedy\n@Paris,@drama\n"
    )
    return tmp_path


READ = ["--vertices", "u.txt,f.txt", "--weight-cap", "5"]
GROUPS = ["--groups", "cities.csv", "--right-groups", "genres.csv"]
TERMS = ["--epsilon", "2", "--delta", "1e-6", "--seed", "1"]


def run(*arguments):
    ended = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def truth(users, films):
    ratings = gc.BipartiteGraph.read("ratings.csv", vertices=("u.txt", "f.txt"), weight_cap=5.0)
    return gc.CutQuery(users, films).value(ratings)


def test_comedies_rated_by_users_of_seattle(folder):
    told = json.loads(
        run(
            "sense",
            "ratings.csv",
            "o.npz",
            "--queries",
            "sums.csv",
            *TERMS,
            *READ,
            *GROUPS,
            "--json",
        )
    )
    assert told["measured"] == "every query"
    assert told["files"] == ["o.npz", "o.npz.json"]
    run("answer", "o.npz", "--queries", "sums.csv", *GROUPS, "-o", "answers.csv")
    with (folder / "answers.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert [row["S"] for row in rows] == ["@Seattle", "@Seattle", "@Paris", "@Paris"]
    seattle = [u for i, u in enumerate(USERS) if i % 3]
    assert float(rows[0]["low"]) <= truth(seattle, FILMS[:4]) <= float(rows[0]["high"])
    # Sums that share no rating cost together what one costs.
    assert told["error_at_most"] < 60
    assert float(rows[0]["high"]) - float(rows[0]["low"]) <= 2 * told["error_at_most"]
    asked = ["answer", "o.npz", "--from", "@@Seattle", "--to", "@@comedy", *GROUPS]
    one = json.loads(run(*asked, "--json"))
    assert one["value"] == float(rows[0]["value"])
    other = json.loads(run("answer", "o.npz", "--from", "u0", "--to", "f0", "--json"))
    assert (other["interval"], other["confidence"]) == ([0.0, 5.0], 1.0)


def test_other_queries_and_rounds(folder):
    lines = [
        {"left": {"u0": 0.5, "u1": 1}, "right": {"f0": 1}},
        {"entries": [["u0", "f0", 1], ["u1", "f1", -1]]},
        {"S": ["u0", "f1"]},
        {"S": "*", "T": "*"},
    ]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    told = run(
        "sense", "ratings.csv", "o.npz", "--queries", "q.jsonl", "--rounds", "3", *TERMS, *READ
    )
    assert "3 that were chosen" in told
    answers = json.loads(run("answer", "o.npz", "--queries", "q.jsonl", "--json"))["answers"]
    assert [answer["confidence"] for answer in answers] == [0.95] * 4


def test_what_is_refused(folder):
    start = ["sense", "ratings.csv"]
    rest = ["--queries", "sums.csv", *TERMS, *READ]
    for line, error, problem in (
        ([*start, "o.csv", *rest, *GROUPS], FileFormatError, "must end in .npz"),
        ([*start, "o.npz", *rest], QueryError, "group"),
        ([*start, "o.npz", *rest, *GROUPS, "--directed"], ParameterError, "two sides"),
        ([*start, "sums.csv", *rest], FileFormatError, "another file"),
        (
            [*start, "o.npz", "--queries", "sums.csv", *TERMS, *READ[:2], *GROUPS],
            ParameterError,
            "weight",
        ),
    ):
        with pytest.raises(error, match=problem):
            CliRunner().invoke(app, line, catch_exceptions=False)
    assert not (folder / "o.npz").exists()


def test_a_store_is_charged(folder):
    run("sense", "ratings.csv", "o.npz", "--queries", "sums.csv", *TERMS, *READ, *GROUPS,
        "--store", "s.db", "--budget-epsilon", "2", "--budget-delta", "1e-5")  # fmt: skip
    assert '"kind": "sensing"' in run("store", "status", "s.db", "--json")
    ended = CliRunner().invoke(
        app,
        ["sense", "ratings.csv", "p.npz", "--queries", "sums.csv", *TERMS, *READ, *GROUPS,
         "--store", "s.db"],
    )  # fmt: skip
    assert "budget" in str(ended.exception)
    assert not (folder / "p.npz").exists()
