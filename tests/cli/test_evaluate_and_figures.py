"""`graphcuts-dp evaluate graphs` and `graphcuts-dp figures` as a user meets them."""

import json
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

import graphcuts_dp as gc
from scripts.figures.registry import find_figure


def files_in(folder):
    return {file.name for file in folder.iterdir()}


@pytest.fixture
def pair(tmp_path):
    """A true graph and another one in files, four vertices."""
    true, other = tmp_path / "true.edges", tmp_path / "other.csv"
    true.write_text("0 1\n1 2\n2 3\n")
    other.write_text("source,target,weight\n0,1,0.5\n0,3,0.25\n")
    return true, other


@pytest.mark.parametrize("words", [["evaluate"], ["evaluate", "graphs"]])
def test_any_graph_is_evaluated(call, pair, tmp_path, words):
    cuts, plot = tmp_path / "cuts.jsonl", tmp_path / "errors.pdf"
    cuts.write_text('{"S": [0], "T": [1, 3]}\n\n{"S": [1]}\n')
    status, out, err = call(*words, *pair, "--cuts", cuts, "--plot", plot)
    assert status == 0, err
    assert "not private: evaluation" in out
    assert "other.csv against true.edges" in out
    assert plot.read_bytes().startswith(b"%PDF")
    status, out, _ = call(*words, "--json", *pair, "--cuts", cuts)
    assert status == 0
    found = json.loads(out)
    assert found["mark"] == "not private: evaluation"
    given = {row["kind"]: row for row in found["rows"]}["given cuts"]
    assert given["errors"]["synthetic"] == pytest.approx((0.25 + 1.5) / 2)
    assert given["errors"]["all zero"] == pytest.approx(1.5)


def test_an_example_of_the_short_form_is_shown(call):
    status, out, _ = call("evaluate", "graphs", "--help")
    assert status == 0
    assert "Example: graphcuts-dp evaluate mail.edges.gz synthetic.graphml" in " ".join(out.split())
    status, out, _ = call("evaluate", "--help")
    assert status == 0
    assert "evaluate TRUE SYNTHETIC" in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"S": [9]}', "vertex"),
        ('{"S": 1}', "line 1 of the queries"),
        ('{"S": [0], "U": [1]}', "line 1 of the queries"),
        ("", ""),
    ],
)
def test_cuts_that_cannot_be_asked(call, pair, tmp_path, content, message):
    cuts = tmp_path / "cuts.jsonl"
    cuts.write_text(content)
    status, out, err = call("evaluate", *pair, "--cuts", cuts)
    assert status == (2 if message else 0)
    assert message in err
    if message:
        assert out == ""
        assert len(err.splitlines()) == 1


def test_evaluation_of_files_that_do_not_fit(call, pair, tmp_path):
    five = tmp_path / "five.mtx"
    gc.Graph([0], [4], vertices=5).write(five)
    for arguments, message in [
        ((pair[0], five), "vert"),
        ((pair[0], tmp_path / "none.csv"), "does not exist"),
        (("relase", *pair), "unexpected"),
        ((pair[0],), "SYNTHETIC"),
        ((*pair, "--cuts", tmp_path / "none.jsonl"), "does not exist"),
        ((*pair, "--plot", tmp_path / "no" / "a.png"), "create it first"),
    ]:
        status, out, err = call("evaluate", *arguments)
        assert status == 2, arguments
        assert out == ""
        assert len(err.splitlines()) == 1
        assert message in err


def test_figures_are_listed_made_and_not_overwritten(call, tmp_path, monkeypatch):
    status, out, _ = call("figures", "--json")
    assert status == 0
    assert "nikiforov" in {each["name"] for each in json.loads(out)}
    status, out, _ = call("figures")
    assert status == 0
    assert "laplace-tail" in out
    # How it looks, other tests see.
    small = replace(find_figure("nikiforov"), draw=lambda _: Figure(figsize=(1, 1)))
    monkeypatch.setattr("scripts.figures.registry.FIGURES", (small,))
    folder = tmp_path / "out"  # made by the command
    status, out, err = call("figures", "nikiforov", "--quick", "-o", folder)
    assert status == 0, err
    assert "Nikiforov" in out
    names = {"nikiforov.png", "nikiforov.pdf", "nikiforov.csv", "nikiforov.json"}
    assert files_in(folder) == names
    for arguments, message in [
        (("nikiforov", "-o", folder), "exists"),
        (("nikiforof",), "there are"),
        (("nikiforov", "-o", tmp_path / "none" / "at all"), "cannot make the folder"),
    ]:
        status, _, err = call("figures", *arguments, "--quick")
        assert status == 2
        assert message in err
    (folder / "nikiforov.json").unlink()
    status, out, _ = call("figures", "nikiforov", "--quick", "-o", folder, "--force", "--json")
    assert status == 0
    assert json.loads(out)[0]["figure"] == "nikiforov"
    assert files_in(folder) == names
