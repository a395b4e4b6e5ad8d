"""CONTRIBUTING's examples of an update rule and of a session method, run."""

import warnings
from pathlib import Path

import pytest
import session_workers as workers

import graphcuts_dp as gc
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.session import terms

GUIDE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
TERMS = {"epsilon": 40.0, "delta": 0.01, "queries": 9}


@pytest.fixture
def examples(monkeypatch):
    """What the blocks of code define; the table of methods is as before in the end."""
    monkeypatch.setattr(terms, "METHODS", dict(terms.METHODS))
    text = GUIDE.read_text().split("### An update rule, and a session method")[1]
    blocks = [part.split("```")[0] for part in text.split("\n##")[0].split("```python\n")[1:]]
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)  # noqa: S102  # our own guide
    return names


@pytest.mark.parametrize("kind", ["rule", "method"])
def test_an_example_of_the_guide_answers_and_is_resumed(tmp_path, examples, kind):
    graph, path = workers.private_graph(), tmp_path / "a.db"
    method = "middle"
    if kind == "rule":
        method = examples["HalfSteps"](Universe.of(graph))
    cut = gc.CutQuery([1, 2, 3])
    with warnings.catch_warnings(action="ignore"):  # half of what can be is no news
        opened = gc.open_session(graph, store=path, method=method, **TERMS)
    with opened as session:
        first = session.ask_all([cut])[0]
        assert first.interval[0] <= cut.value(graph) <= first.interval[1]
    with gc.open_session(graph, store=path, method=method) as session:
        assert session.ask_all([cut])[0] == first
        assert session.ask([4]).guaranteed
        assert len(session.history) == 2
