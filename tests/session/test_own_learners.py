"""Rules and methods of one's own: kept by name and version, resumed, and refused otherwise."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import session_workers as workers
from helpers import LARGE_DELTA
from online_cases import Halves

import graphcuts_dp as gc
from graphcuts_dp import ParameterError, QueryError
from graphcuts_dp.plugins import Universe
from graphcuts_dp.session import terms

pytestmark = LARGE_DELTA
TERMS = {"epsilon": 40.0, "delta": 0.01, "queries": 300, "seed": 9}
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


@pytest.fixture
def graph():
    return workers.private_graph()


def test_what_is_kept_is_the_name_and_the_version(tmp_path, graph):
    own = Halves(Universe.of(graph))
    with gc.open_session(graph, store=tmp_path / "a.db", method=own, **TERMS) as session:
        assert session.parameters["method"] == "own: halves, version 1"
        assert "learner" not in session.parameters
        assert "halves" in repr(session)
    for other in (replace(own, version=2), replace(own, name="thirds"), "gaussian"):
        with pytest.raises(ParameterError, match="method='own: halves, version 1'"):
            gc.open_session(graph, store=tmp_path / "a.db", method=other)
    with pytest.raises(ParameterError, match=r"by one of your own .halves, version 1.: open it"):
        gc.open_session(graph, store=tmp_path / "a.db")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": None}, "needs a version in a session"),
        ({"version": True}, "needs a version in a session"),
        ({"version": "x" * 61}, "printable texts"),
        ({"version": "a\nb"}, "printable texts"),
        ({"name": ""}, "printable texts"),
        ({"universe": Universe(3)}, "over other vertices"),
        (None, "an object as `Learner` describes it"),
    ],
)
def test_what_no_store_could_keep_is_refused_and_leaves_none(tmp_path, graph, change, message):
    own = 7 if change is None else replace(Halves(Universe.of(graph)), **change)
    with pytest.raises(ParameterError, match=message):
        gc.open_session(graph, store=tmp_path / "a.db", method=own, **TERMS)
    assert not list(tmp_path.iterdir())


def test_queries_that_a_learner_refuses_cost_nothing(tmp_path, graph):
    class Choosy(Halves):
        def check(self, _):
            raise QueryError("it learns from no such cut")

    own = Choosy(Universe.of(graph))
    with gc.open_session(graph, store=tmp_path / "a.db", method=own, **TERMS) as session:
        with pytest.raises(QueryError, match="learns from no such cut"):
            session.ask_all([workers.query(1)])
        assert session.status.answers == 0


@pytest.mark.parametrize("kind", ["rule", "method"])
def test_an_example_of_the_guide_answers_and_is_resumed(tmp_path, graph, monkeypatch, kind):
    monkeypatch.setattr(terms, "METHODS", dict(terms.METHODS))  # as before in the end
    text = GUIDE.read_text().split("## An update rule, and a session method")[1]
    names: dict[str, object] = {}
    for part in text.split("\n##")[0].split("```python\n")[1:]:
        exec(part.split("```")[0], names)  # noqa: S102  # our own guide
    method = names["HalfSteps"](Universe.of(graph)) if kind == "rule" else "middle"
    cut = gc.CutQuery([1, 2, 3])
    with warnings.catch_warnings(action="ignore"):  # half of what can be is no news
        opened = gc.open_session(graph, store=tmp_path / "a.db", method=method, **TERMS)
    with opened as session:
        first = session.ask_all([cut])[0]
        assert first.interval[0] <= cut.value(graph) <= first.interval[1]
    with gc.open_session(graph, store=tmp_path / "a.db", method=method) as session:
        assert session.ask_all([cut])[0] == first
        assert session.ask([4]).guaranteed
        assert len(session.history) == 2
