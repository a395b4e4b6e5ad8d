"""Learners of one's own in sessions: kept by name and version, resumed, and refused otherwise."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
import session_workers as workers

from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.learners import OwnLearner
from graphcuts_dp.learn.rules import FriezeKannanRule
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.session.session import open_session

TERMS = {"epsilon": 40.0, "delta": 0.01, "queries": 300, "seed": 9}


@dataclass(frozen=True)
class Halves:
    """Frieze-Kannan with half the tolerance, from nothing; its callable has another identity."""

    universe: Universe
    name: str = "halves"
    version: Any = 1
    other: Any = None

    def construction(self, *, alpha, total_weight, total_error, value_error=None):
        return FriezeKannanRule(
            start=DenseHypothesis.constant(self.universe, 0.0),
            alpha=alpha / 2,
            start_potential=total_weight + total_error,
            value_error=value_error,
        )


@pytest.fixture
def graph():
    return workers.private_graph()


def test_a_session_goes_on_with_the_same_name_and_version(tmp_path, graph):
    """Whatever object it is: of the object itself nothing is kept."""
    universe, queries = Universe.of(graph), [workers.query(number) for number in range(12)]
    with open_session(graph, store=tmp_path / "a.db", method=Halves(universe), **TERMS) as session:
        first = session.ask_all(queries[:6])
        assert session.parameters["method"] == "own: halves, version 1"
        assert "learner" not in session.parameters
        assert "halves" in repr(session)
    again = Halves(Universe.of(graph), other=lambda: 1)
    with open_session(graph, store=tmp_path / "a.db", method=again) as session:
        assert session.ask_all(queries[:6]) == first
        whole = session.ask_all(queries)
        learnt = session.hypothesis
        assert session.status.interruptions == 0
    with open_session(graph, store=tmp_path / "b.db", method=Halves(universe), **TERMS) as session:
        session.ask_all(queries[:6])
        assert [answer.value for answer in session.ask_all(queries)] == [
            answer.value for answer in whole
        ]
        assert (session.hypothesis == learnt).all()


def test_another_version_or_name_is_refused_and_so_is_none(tmp_path, graph):
    own = Halves(Universe.of(graph))
    with open_session(graph, store=tmp_path / "a.db", method=own, **TERMS):
        pass
    for changed in (replace(own, version=2), replace(own, name="thirds")):
        with pytest.raises(ParameterError, match="method='own: halves, version 1'"):
            open_session(graph, store=tmp_path / "a.db", method=changed)
    with pytest.raises(ParameterError, match=r"by one of your own .halves, version 1.: open it"):
        open_session(graph, store=tmp_path / "a.db")
    with pytest.raises(ParameterError, match="method='own: halves, version 1'"):
        open_session(graph, store=tmp_path / "a.db", method="gaussian")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": None}, "needs a version in a session"),
        ({"version": True}, "needs a version in a session"),
        ({"version": "x" * 61}, "printable texts"),
        ({"version": "a\nb"}, "printable texts"),
        ({"name": ""}, "printable texts"),
        ({"universe": Universe(3)}, "over other vertices"),
    ],
)
def test_what_no_store_could_keep_is_refused_and_leaves_none(tmp_path, graph, change, message):
    own = replace(Halves(Universe.of(graph)), **change)
    with pytest.raises(ParameterError, match=message):
        open_session(graph, store=tmp_path / "a.db", method=own, **TERMS)
    assert not list(tmp_path.iterdir())


def test_other_objects_are_no_learners(tmp_path, graph):
    with pytest.raises(ParameterError, match="an object as `Learner` describes it"):
        open_session(graph, store=tmp_path / "a.db", method=7, **TERMS)


def test_queries_that_a_learner_refuses_cost_nothing(tmp_path, graph):
    class Choosy(Halves):
        def check(self, _):
            raise QueryError("it learns from no such cut")

    own = Choosy(Universe.of(graph))
    with open_session(graph, store=tmp_path / "a.db", method=own, **TERMS) as session:
        with pytest.raises(QueryError, match="learns from no such cut"):
            session.ask_all([workers.query(1)])
        assert session.status.answers == 0


def test_two_learners_of_one_name_and_version_are_equal():
    universe = Universe(5)
    first, second = (OwnLearner.of(Halves(universe, other=other)) for other in (1, 2))
    assert first == second
    assert repr(first) == repr(second)
