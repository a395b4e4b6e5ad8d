"""`graphcuts-dp benchmark` as a user meets it."""

import json
import sys

import pytest

from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.graphs import CASES
from scripts.benchmark.runner import QUICK_CONTENDERS
from scripts.benchmark.runs import read_runs

MINE = """
import numpy as np


def half(graph, *, epsilon, delta, groups, seed):
    return graph.dense() / 2
"""


QUICK = ("--quick", "--graphs", "karate", "--contender", "mine:half")


@pytest.fixture
def call(command_line, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("mine", None)
    yield lambda *words: command_line("benchmark", *words)
    sys.modules.pop("mine", None)


def test_without_a_file_everything_is_listed(call):
    status, out, _ = call()
    assert status == 0
    for name in (*CONTENDERS, *(case.name for case in CASES)):
        assert f" {name} " in out
    status, out, _ = call("--json", "--graphs", "karate", "--contender", "ours")
    assert status == 0
    assert json.loads(out) == {
        "graphs": ["karate"], "contenders": ["ours"], "epsilons": [0.5, 1.0, 2.0, 5.0],
        "seeds": {"karate": 5}, "runs": 20,
    }  # fmt: skip


@pytest.mark.thorough
def test_the_quick_form_with_a_method_of_ones_own(call, tmp_path):
    """Every run ends well, and the file outside the package is ranked with the others."""
    status, out, err = call(*QUICK, "--out", "runs.jsonl", "--table", "runs.csv.gz")
    assert status == 0, err
    assert "wrote runs.csv.gz" in err
    runs = read_runs(tmp_path / "runs.jsonl")
    assert {run.contender for run in runs} == {*QUICK_CONTENDERS, "half"}
    assert [run.failure for run in runs if run.failure] == []
    half = [run for run in runs if run.contender == "half"]
    assert half[0].errors["worst cut proven"] == pytest.approx(0.5)
    assert not half[0].audited
    assert len(read_runs(tmp_path / "runs.csv.gz")) == len(runs)
    (line,) = [line for line in out.splitlines() if "*half" in line]
    assert "nobody has audited it" in out
    # All is there already: nothing is run again.
    status, out, _ = call(*QUICK, "--out", "runs.jsonl", "--json")
    assert status == 0
    found = json.loads(out)
    assert found["runs"] == len(runs)
    assert found["failures"] == []
    (row,) = [
        row
        for row in found["standings"]
        if row["contender"] == "half" and row["measure"] == "worst cut proven"
    ]
    assert row["audited"] is False
    assert row["rank"] >= 1
    assert f"{row['ratio']:.2f}" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--contender", "nobody"), "no contender is called 'nobody'"),
        (("--contender", "mine:nothing"), "AttributeError"),
        (("--graphs", "nowhere"), "no graph of the benchmark"),
        (("--epsilon", "0"), "epsilon"),
        (("--quick", "--out", "none/runs.jsonl"), "cannot write"),
        (("--quick", "--out", "mine.py"), "no file of benchmark runs"),
    ],
)
def test_mistakes_are_one_line(refused, words, message):
    assert message in refused(*words)
