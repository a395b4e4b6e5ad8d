"""Rows with owners at the command line: every command that takes them, and each error in a line."""

import json
import random
from typing import NamedTuple

import pytest

import graphcuts_dp as gc

READ = ["--vertices", "20", "--columns", "owner=patient,source=a,target=b"]
OWNER = [*READ, "--protect", "owner:at-most=4"]
TABLE = ["flows", "visits.csv", *READ, "--contributions", "table"]


class Result(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    rows = [
        f"p{owner},{rng.randrange(20)},{rng.randrange(20)},{rng.random():.3f}"
        for owner in range(80)
        for _ in range(rng.randint(1, 8))
    ]
    (tmp_path / "visits.csv").write_text("patient,a,b,cost\n" + "\n".join(rows) + "\n")
    (tmp_path / "nobody.csv").write_text("patient,a,b\np1,1,2\n,3,4\n")
    (tmp_path / "halves.csv").write_text(
        "vertex,half\n" + "".join(f"{v},{v // 10}\n" for v in range(20))
    )
    return tmp_path


@pytest.fixture
def run(command_line):
    return lambda *words: Result(*command_line(*map(str, words)))


def test_flows_of_each_counting_read_back(folder, run):
    for counting in ("edges", "owners", "rows", "weight"):
        more = ["--columns", "weight=cost", "--unit", "0.25"] if counting == "weight" else []
        out = f"{counting}.csv"
        line = ["flows", "visits.csv", "halves.csv", out, "--epsilon", "1", *OWNER]
        made = run(*line, "--counting", counting, *more)
        assert made.exit_code == 0, made.stderr
        assert "Of each owner at most 4" in made.stderr
        assert ("in units of 0.25" in made.stderr) == (counting == "weight")
        guarantee = gc.load(folder / out).guarantee
        assert guarantee.protects == "1 owner"
        assert guarantee.epsilon == 1
        receipt = json.loads((folder / f"{out}.json").read_text())
        assert receipt["guarantee"]["protects"] == "1 owner"


def test_one_store_for_bounds_tables_and_sessions(folder, run, tmp_path_factory, monkeypatch):
    store = ["--store", "visits.db", "--budget", "30"]
    told = run(*TABLE, "--epsilon", "2", "--json", *store)
    assert told.exit_code == 0, told.stderr
    assert json.loads(told.stdout)["what"] == "pairs"
    line = ["release", "visits.csv", "out.graphml", "--epsilon", "12", *OWNER, "--store"]
    assert run(*line, "visits.db").exit_code == 0
    line = ["session", "start", "visits.csv", "--epsilon", "9", "--queries", "3", *OWNER, "--store"]
    assert run(*line, "visits.db").exit_code == 0
    # The session knows how its rows are read, from any folder.
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    asked = run("session", "ask", folder / "visits.db", "--from", "1,2", "--to", "3,4", "--json")
    assert asked.exit_code == 0, asked.stderr
    status = gc.store_status(folder / "visits.db")
    assert [each.use.kind for each in status.uses] == ["contributions", "release", "session"]
    assert {each.use.guarantee.protects for each in status.uses} == {"1 owner"}
    monkeypatch.chdir(folder)
    refused = run(*TABLE, "--epsilon", "8", "--store", "visits.db")
    assert refused.exit_code == 2
    assert "does not allow" in refused.stderr
    beside = run(*TABLE, "--epsilon", "1")
    assert beside.exit_code == 2
    assert "visits.db" in beside.stderr


def test_a_bound_by_its_share(folder, run):  # noqa: ARG001
    line = ["flows", "visits.csv", *READ, "--epsilon", "30", "--json", "--contributions"]
    chosen = run(*line, "choice:share-above=0.5,bounds=1/3/1000")
    assert chosen.exit_code == 0, chosen.stderr
    # Half of the owners have more than 4 rows, none more than 8: any other has a chance < 1e-100.
    assert json.loads(chosen.stdout)["at_most"] == 3


def test_what_nobody_can_tell_is_said(folder, run):
    """One owner with most of the rows, whom noise hides: the upper end is unknown, not small."""
    pairs = [(a, b) for a in range(20) for b in range(a)]
    usual = [f"p{owner},{owner % 19},19" for owner in range(100)]
    heavy = [f"hub,{a},{b}" for a, b in pairs]
    (folder / "heavy.csv").write_text("\n".join(["patient,a,b", *usual, *heavy]) + "\n")
    line = ["flows", "heavy.csv", *READ, "--epsilon", "1", "--seed", "2", "--contributions"]
    table = "table:bounds=1/5/20"
    told = json.loads(run(*line, table, "--json").stdout)
    assert told["at_most"] == 1
    assert told["confidence"] == 0.95
    assert told["hidden"] == 4
    assert [row["left_out"][1] for row in told["bounds"]] == [None] * 3
    assert "one owner may have any number of pairs" in told["warning"]
    shown = run(*line, table)
    assert "unknown" in shown.stdout
    assert "with confidence 95%" in shown.stdout.replace("\n", " ")
    assert "noise can hide up to 4 owners" in shown.stdout
    assert "--contributions table:most=" in shown.stderr
    known = json.loads(run(*line, f"{table},most=190", "--json").stdout)
    assert known["warning"] == ""
    assert 189 <= known["bounds"][0]["left_out"][1] <= 3 * 8 * 189
    assert known["at_most"] == 20
    chosen = run(*line, "choice:share-above=0.05")
    assert chosen.exit_code == 0, chosen.stderr
    assert "may have most of the rows" in chosen.stderr


ROWS = ["visits.csv", "halves.csv", "x.csv", "--epsilon", "1"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["flows", *ROWS, "--protect", "owner:at-most=4"], "needs --columns owner=COLUMN"),
        (["flows", *ROWS, *READ], "is for --protect owner"),
        (["flows", *ROWS, *OWNER[2:]], "pass --vertices"),
        (["flows", *ROWS, *READ, "--protect", "owner"], "needs at-most"),
        (["flows", *ROWS, *OWNER, "--columns", "owner=who"], "owner is given twice"),
        (
            ["flows", *ROWS, *OWNER, "--columns", "weight=cost"],
            "--columns weight= is for --counting weight",
        ),
        (["flows", *ROWS, *OWNER, "--weight-cap", "2"], "not for rows with owners"),
        (["flows", "nobody.csv", *ROWS[1:], *OWNER], "the column of owners: line 3"),
        ([*TABLE[:2], *TABLE[-2:], "--epsilon", "1", "--vertices", "20"], "owner=COLUMN"),
        ([*TABLE[:-1], "table:bounds=5/2", "--epsilon", "1"], "must ascend"),
        ([*TABLE[:-1], "table:cells=0", "--epsilon", "1"], "cells must be"),
        ([*TABLE[:-1], "choice", "--epsilon", "1"], "share-above"),
        (["evaluate", "visits.csv", "visits.csv", *READ], "not for this command"),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(folder, run, line, words):
    before = sorted(each.name for each in folder.iterdir())
    result = run(*line)
    assert result.exit_code == 2, result.stdout
    (error,) = [each for each in result.stderr.splitlines() if each.startswith("error:")]
    assert words in error
    assert sorted(each.name for each in folder.iterdir()) == before
