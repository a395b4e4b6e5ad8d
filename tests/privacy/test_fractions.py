"""An epsilon that is a fraction, at every door: never more is spent than is stated."""

from fractions import Fraction

import networkx as nx
import pytest
from offline_calls import learn

import graphcuts_dp as gc
from graphcuts_dp.privacy.composition import as_stored

GRAPH = gc.Graph([0, 1], [1, 2], vertices=8)
pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
FRACTIONS = [Fraction(1, 3), Fraction(2, 7), Fraction(10, 9)]


@pytest.mark.parametrize("epsilon", FRACTIONS)
def test_a_stored_epsilon_is_the_largest_float_below(epsilon):
    stored = as_stored(epsilon)
    assert epsilon * (1 - Fraction(1, 2**52)) < Fraction(stored) < epsilon
    assert as_stored(0.1) == 0.1
    assert as_stored(Fraction(1, 4)) == 0.25


@pytest.mark.parametrize("epsilon", FRACTIONS)
@pytest.mark.parametrize("method", ["laplace", "binary", "gaussian", "multiplicative-weights"])
def test_sessions(tmp_path, method, epsilon):
    delta = 1e-6 if method in ("gaussian", "multiplicative-weights") else 0.0
    terms = {"epsilon": epsilon, "delta": delta, "queries": 5, "method": method}
    with gc.open_session(GRAPH, store=tmp_path / "a.db", **terms) as session:
        assert session.guarantee.epsilon == as_stored(epsilon) == session.parameters["epsilon"]
        cost = session._runner.mechanism.cost
        assert cost.pure is None or cost.pure <= Fraction(session.guarantee.epsilon)
        session.ask([0])
    with gc.open_session(GRAPH, store=tmp_path / "a.db", **terms) as session:
        assert len(session.history) == 1


@pytest.mark.parametrize("budget", [Fraction(1, 3), (Fraction(1, 3), 1e-6)])
def test_budgets(tmp_path, budget):
    store = gc.Store(tmp_path / "a.db", budget=budget)
    terms = {"store": store, "epsilon": 0.1, "queries": 5}
    for _ in range(2):  # made, and found again
        with gc.open_session(GRAPH, **terms) as session:
            assert session.parameters["epsilon"] == 0.1


@pytest.mark.parametrize("epsilon", FRACTIONS)
@pytest.mark.parametrize(
    "options", [{"distinguisher": "response-rank-one"}, {"delta": 1e-6, "rounds": 1}]
)
def test_iterative_releases(tmp_path, options, epsilon):
    made = learn(GRAPH, epsilon=epsilon, **options)
    assert made.guarantee.epsilon == as_stored(epsilon)
    made.save(tmp_path / "a.edges")
    assert gc.IterativeRelease.load(tmp_path / "a.edges").guarantee == made.guarantee


@pytest.mark.parametrize("epsilon", FRACTIONS)
def test_distances(tmp_path, epsilon):
    made = gc.answer_distances(nx.path_graph(5), [0, 1, 2] * 50, epsilon=epsilon)
    assert epsilon <= Fraction(made.guarantee.epsilon) < epsilon * (1 + Fraction(1, 2**50))
    made.save(tmp_path / "a.csv")
