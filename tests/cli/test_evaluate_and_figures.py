"""`graphcuts-dp evaluate`, its norms, and `graphcuts-dp figures` as a user meets them."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import graphcuts_dp as gc
from graphcuts_dp.evaluation.tables import READS_TRUTH
from scripts.figures.registry import find_figure

PAIR = ("true.edges", "other.csv")
MARK = "not private: evaluation"


@pytest.fixture(autouse=True)
def files(tmp_path):
    """A true graph and another one on four vertices, and two graphs on five."""
    for name, text in {
        "true.edges": "0 1\n1 2\n2 3\n",
        "other.csv": "source,target,weight\n0,1,0.5\n0,3,0.25\n",
        "a.edges": "0 1\n1 2\n2 3\n3 4\n",
        "b.edges": "0 1\n0 2\n0 3\n1 4\n",
        "cuts.jsonl": '{"S": [0], "T": [1, 3]}\n\n{"S": [1]}\n',
        "nine.jsonl": '{"S": [9]}',
        "bare.jsonl": '{"S": 1}',
        "more.jsonl": '{"S": [0], "U": [1]}',
    }.items():
        (tmp_path / name).write_text(text)


@pytest.mark.thorough
@pytest.mark.parametrize("words", [["evaluate"], ["evaluate", "graphs"]])
def test_any_graph_is_evaluated(done, told, tmp_path, words):
    line = (*words, *PAIR, "--cuts", "cuts.jsonl")
    out, _ = done(*line, "--plot", "errors.pdf")
    for text in (MARK, "other.csv against true.edges", "worst cut"):
        assert text in out
    assert (tmp_path / "errors.pdf").read_bytes().startswith(b"%PDF")
    found = told(*line)
    assert found["mark"] == MARK
    given = {row["kind"]: row for row in found["rows"]}["given cuts"]
    assert given["errors"]["synthetic"] == pytest.approx((0.25 + 1.5) / 2)
    assert given["errors"]["empty graph"] == pytest.approx(1.5)


@pytest.mark.thorough
def test_graphs_are_compared(done, told, tmp_path):
    line = ("evaluate", "compare", *PAIR, "true.edges", "--seed", "2")
    out, _ = done(*line, "--plot", "comparison.svg")
    for text in (READS_TRUTH, MARK, "worst cut, at most", "other.csv", "Chung-Lu"):
        assert text in out
    assert b"<svg" in (tmp_path / "comparison.svg").read_bytes()
    found = told(*line)
    assert (found["mark"], found["warning"], found["seed"]) == (MARK, READS_TRUTH, 2)
    rows = {row["statistic"]: row for row in found["rows"]}
    assert rows["edges"]["values"] == {
        "other.csv": 2,
        "true.edges": 3,
        "Chung-Lu": rows["edges"]["values"]["Chung-Lu"],
        "empty graph": 0,
    }
    assert rows["worst cut, at most"]["values"]["true.edges"] == 0
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.csv").write_bytes((tmp_path / "other.csv").read_bytes())
    both = told("evaluate", "compare", *PAIR, "more/other.csv")["graphs"]
    assert both[:2] == ["other.csv", "more/other.csv"]


def test_help_shows_the_short_form(done):
    out, _ = done("evaluate", "graphs", "--help")
    assert "Example: graphcuts-dp evaluate mail.edges.gz synthetic.graphml" in " ".join(out.split())
    assert "evaluate TRUE SYNTHETIC" in done("evaluate", "--help")[0]
    assert "--norm infinity-to-one" in done("evaluate", "cut-norm", "--help")[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("true.edges", "a.edges"), "vert"),
        (("true.edges", "none.csv"), "does not exist"),
        (("relase", *PAIR), "unexpected"),
        (("true.edges",), "SYNTHETIC"),
        ((*PAIR, "--cuts", "none.jsonl"), "does not exist"),
        ((*PAIR, "--cuts", "nine.jsonl"), "vertex"),
        ((*PAIR, "--cuts", "bare.jsonl"), "line 1 of the queries"),
        ((*PAIR, "--cuts", "more.jsonl"), "line 1 of the queries"),
        ((*PAIR, "--plot", "no/a.png"), "create it first"),
        ((*PAIR, "--plot", "a.gif"), ".png, .pdf or .svg"),
        (("compare", "true.edges"), "SYNTHETIC"),
        (("compare", "true.edges", "other.csv", "a.edges"), "those of the real one"),
        (("compare", "true.edges", "other.csv", "other.csv"), "named twice"),
        (("compare", *PAIR, "--plot", "a.gif"), ".png, .pdf or .svg"),
        (("cut-norm", "a.edges", "true.edges"), "different vertices"),
        (("cut-norm", "a.edges", "--norm", "nuclear"), "unknown --norm nuclear"),
        (("cut-norm", "a.edges", "--method", "magic"), "unknown --method magic"),
        (("cut-norm", "a.edges", "--norm", "infinity-to-one", "--method", "spectral"), "low-rank"),
        (("cut-norm", "a.edges", "b.edges", "--norm", "normalised", "--method", "sdp"), "spectral"),
        (("cut-norm", "a.edges", "--norm", "normalised", "--time-limit", "3"), "time limit"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(refused, words, message):
    assert message in refused("evaluate", *words)


@pytest.mark.parametrize("names", [["a.edges"], ["a.edges", "b.edges"]])
@pytest.mark.parametrize("norm", ["cut", "infinity-to-one", "normalised"])
def test_each_norm_is_that_of_the_difference(done, told, norm, names):
    line = ("evaluate", "cut-norm", *names, "--vertices", "5", "--norm", norm)
    found = told(*line)
    first, *second = (gc.read_graph(name, vertices=5).dense().astype(float) for name in names)
    made = gc.cut_norm(first - sum(second), norm=norm)
    assert (found["norm"], found["mark"]) == (norm, MARK)
    assert (found["lower"], found["upper"]) == (made.lower, made.upper)
    sides = [np.flatnonzero(side).tolist() for side in (made.S, made.T)]
    assert [found["S"], found["T"]] == sides
    out, _ = done(*line)
    assert norm in out
    assert "at most" in out


@pytest.mark.thorough
def test_figures_are_listed_made_and_not_overwritten(done, told, refused, tmp_path, monkeypatch):
    assert "nikiforov" in {each["name"] for each in told("figures")}
    assert "laplace-tail" in done("figures")[0]
    # How it looks, other tests see.
    small = replace(find_figure("nikiforov"), draw=lambda _: Figure(figsize=(1, 1)))
    monkeypatch.setattr("scripts.figures.registry.FIGURES", (small,))
    line = ("figures", "nikiforov", "--quick", "-o")
    assert "Nikiforov" in done(*line, "out")[0]  # a folder that the command makes
    names = {"nikiforov.png", "nikiforov.pdf", "nikiforov.csv", "nikiforov.json"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == names
    assert "exists" in refused(*line, "out")
    assert "there are" in refused("figures", "nikiforof", "--quick")
    assert "cannot make the folder" in refused(*line, "none/at all")
    (tmp_path / "out" / "nikiforov.json").unlink()
    assert told(*line, "out", "--force")[0]["figure"] == "nikiforov"
    assert {file.name for file in (tmp_path / "out").iterdir()} == names
