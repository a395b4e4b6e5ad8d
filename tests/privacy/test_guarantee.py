"""Guarantees: their text and numbers, epsilon to its last digit, and deltas that are too large.

And in plain words: odds by Bayes' rule, and sentences for everybody whom a guarantee may protect.
"""

import json
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from products import GRAPH, WITH_DELTA, make

import graphcuts_dp as gc
from graphcuts_dp import BudgetPlan, ParameterError, PrivacyGuarantee, PrivacyWarning, Store
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.plugins import Universe
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.explanation import posterior
from graphcuts_dp.privacy.guarantee import delta_warning, exact_epsilon
from graphcuts_dp.server.limits import forecast
from graphcuts_dp.session.session import session_of

learn = gc.release_iteratively

pytestmark = [
    pytest.mark.usefixtures("no_forecast"),
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        *((x, "positive, finite") for x in (0, -0.5, math.nan, math.inf, -math.inf)),
        *((x, "out of range") for x in (1e-9, 1e9, 50.0001, 10**400, Fraction(1, 10**400))),
        *((x, "must be a number") for x in (True, False, "1", None, [1.0], 1j)),
    ],
)
def test_what_is_no_epsilon(wrong, words):
    with pytest.raises(ParameterError, match=f"epsilon .*{words}"):
        exact_epsilon(wrong)
    with pytest.raises(ParameterError, match=f"epsilon .*{words}"):
        gc.PrivacyUnit().explain(epsilon=wrong)


@pytest.mark.parametrize(
    ("wrong", "words"), [({"delta": 1.0}, "delta"), ({"priors": [1.5]}, "a prior is a probability")]
)
def test_what_cannot_be_explained(wrong, words):
    with pytest.raises(ParameterError, match=words):
        gc.PrivacyUnit().explain(epsilon=1.0, **wrong)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1, 50, Fraction(1, 3), np.float64(0.7)])
def test_epsilon_is_kept_exactly(epsilon):
    exact = exact_epsilon(epsilon)
    assert isinstance(exact, Fraction)
    assert exact == Fraction(epsilon)


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_guarantee_says_everything_and_a_seed_voids_it(seed, delta):
    plan = BudgetPlan.of_parts([("degrees", 0.125), ("entries", 0.375)])
    terms = {"epsilon": 0.5, "delta": delta, "neighbours": "x", "seed": seed}
    guarantee = PrivacyGuarantee(**terms, budget_plan=plan)
    for told in ("epsilon = 0.5", "neighbours: x", "public: the vertex set"):
        assert told in str(guarantee)
    assert ("delta = 1e-06" in str(guarantee)) == bool(delta)
    assert guarantee.is_private == (seed is None)
    stored = json.loads(json.dumps(guarantee.to_dict()))
    mark = "operating system" if seed is None else "seeded: not private"
    assert stored["entropy"] == mark
    assert str(guarantee).startswith("seeded: not private") == (seed is not None)
    assert PrivacyGuarantee.from_dict(stored) == guarantee


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("prior", [1e-6, 0.01, 0.5, 0.999])
def test_the_posterior_is_reached_by_randomised_response_and_passed_by_nothing(epsilon, prior):
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    yes = prior * truth / (prior * truth + (1 - prior) * (1 - truth))
    assert posterior(prior, epsilon) == pytest.approx(yes, rel=1e-12)
    no = prior * (1 - truth) / (prior * (1 - truth) + (1 - prior) * truth)
    assert posterior(prior, -epsilon) == pytest.approx(no, rel=1e-12)
    assert (posterior(0, epsilon), posterior(1, epsilon)) == (0.0, 1.0)
    generator = np.random.default_rng(1)
    for _ in range(50):  # any mechanism within e^epsilon
        first = generator.dirichlet(np.ones(6))
        second = first * np.exp(generator.uniform(-epsilon, epsilon, 6))
        if second.sum() > 1:
            continue
        reached = prior * second / (prior * second + (1 - prior) * first)
        assert reached.max() <= posterior(prior, epsilon) * (1 + 1e-12)


WHOM = {
    "each single edge": gc.PrivacyUnit(),
    "any 20 edges together": gc.PrivacyUnit.edge(20),
    "at most 1,000 rows": gc.PrivacyUnit.user(max_contributions=1000),
    "rows in any one period: whether there are any": gc.PrivacyUnit.user(
        max_contributions=3, per_period=True
    ),
    "for rows in 12 periods it holds with 12": gc.PrivacyUnit.user(
        max_contributions=3, per_period=True
    ),
    "at most 3 rows (or units of weight) of a user count in each period": gc.PrivacyUnit.user(
        max_contributions=3, per_period=True
    ),
    "moves to another period, has twice epsilon": gc.PrivacyUnit.row(),
    "at most 50 edges of a vertex": gc.PrivacyUnit.vertex(max_degree=50),
    "where any 2 people together are": gc.PrivacyUnit.person(2),
}


@pytest.mark.parametrize("expected", WHOM)
def test_it_says_whom(expected):
    privacy_unit = WHOM[expected]
    made = privacy_unit.explain(epsilon=1.0)
    assert expected in str(made)
    assert "e^1 = 2.72" in str(made)
    assert "believed 50 % beforehand believes between 26.8 % and 73.2 %" in str(made)
    assert "delta" not in made.sentences["Strength"]
    assert "at most 1e-06 this fails" in str(privacy_unit.explain(epsilon=1.0, delta=1e-6))


LARGE = 0.3  # one in four vertices is less


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("name", WITH_DELTA)
@pytest.mark.filterwarnings("error::graphcuts_dp.errors.PrivacyWarning")
def test_it_is_announced_at_every_door_before_anything_is_spent(name, tmp_path):
    store = tmp_path / "x.db"
    with pytest.raises(PrivacyWarning, match=r"delta = 0\.3 is above 0\.001: with so large"):
        make(name, delta=LARGE, store=store)
    assert not store.exists()
    make(name, delta=1e-4, store=store)
    with pytest.warns(PrivacyWarning, match="the guarantee may fail for somebody"):
        make(name, delta=LARGE, store=tmp_path / "y.db")


@pytest.mark.filterwarnings("error::graphcuts_dp.errors.PrivacyWarning")
def test_a_budget_is_announced_before_its_store_is_made(tmp_path):
    store = Store(tmp_path / "x.db", budget=(1.0, 0.01))
    with pytest.raises(PrivacyWarning, match=r"delta = 0\.01 is above"):
        create_ledger(store, GRAPH, privacy_unit="1 edge")
    assert not store.exists


@pytest.mark.filterwarnings("error::graphcuts_dp.errors.PrivacyWarning")
def test_a_resumed_session_spends_nothing_and_announces_nothing(tmp_path):
    terms = {"epsilon": 1.0, "delta": LARGE, "queries": 5, "method": "gaussian"}
    with pytest.warns(PrivacyWarning):
        gc.open_session(GRAPH, store=tmp_path / "x.db", **terms).close()
    gc.open_session(GRAPH, store=tmp_path / "x.db").close()


@pytest.mark.parametrize(
    ("delta", "count", "told"),
    [
        (0.0, 10, None),
        (1e-3, 10, None),
        (1.1e-3, 10, "above 0.001"),
        (1e-6, 10**6, None),
        (1.1e-6, 10**6, "above 1 in 1,000,000 vertices"),
        (1e-3, 10**4, "above 1 in 10,000 vertices"),
    ],
)
def test_the_limits(delta, count, told):
    found = delta_warning(delta, count=count)
    assert found is None if told is None else told in found


def test_the_curator_of_a_server_is_told_before_approving():
    universe, grid = Universe.of(GRAPH), Grid.of(GRAPH)
    for delta, told in ((LARGE, True), (1e-6, False)):
        terms = {"epsilon": 1.0, "queries": 5, "method": "gaussian", "delta": delta}
        found = forecast(terms, universe, grid).warning
        assert ("the guarantee may fail for somebody" in (found or "")) == told


FRACTIONS = [Fraction(1, 3), Fraction(2, 7), Fraction(10, 9)]


@pytest.mark.parametrize("epsilon", FRACTIONS)
def test_a_stored_epsilon_is_the_largest_float_below(epsilon):
    stored = as_stored(epsilon)
    assert epsilon * (1 - Fraction(1, 2**52)) < Fraction(stored) < epsilon
    assert as_stored(0.1) == 0.1
    assert as_stored(Fraction(1, 4)) == 0.25


RESPONSE = gc.Learning(distinguisher="response-rank-one")
SAVED = {
    "iterative, pure": (learn, "a.edges", {"construction": RESPONSE}),
    "iterative": (learn, "a.edges", {"delta": 1e-6, "construction": gc.Learning(rounds=1)}),
    "distances": (
        lambda _, **given: gc.distances.answer_distances(nx.path_graph(5), [0, 1, 2], **given),
        "a.csv",
        {},
    ),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_fraction_of_epsilon_is_stated_and_read_back(tmp_path, name):
    make, file, options = SAVED[name]
    for epsilon in FRACTIONS:
        made = make(GRAPH, epsilon=epsilon, **options)
        stated = Fraction(made.guarantee.epsilon)
        assert abs(stated / epsilon - 1) < Fraction(1, 2**50)
        made.save(tmp_path / file, force=True)
        if name != "distances":  # of which a table alone is kept
            assert made.guarantee.epsilon == as_stored(epsilon)
            assert gc.load(tmp_path / file).guarantee == made.guarantee


@pytest.mark.parametrize("epsilon", FRACTIONS[:1])
@pytest.mark.parametrize("method", ["laplace", "binary", "gaussian", "multiplicative-weights"])
def test_sessions(tmp_path, method, epsilon):
    delta = 1e-6 if method in ("gaussian", "multiplicative-weights") else 0.0
    terms = {"epsilon": epsilon, "delta": delta, "queries": 5, "method": method}
    with session_of(GRAPH, store=tmp_path / "a.db", **terms) as session:
        assert session.guarantee.epsilon == as_stored(epsilon) == session.parameters["epsilon"]
        cost = session._runner.mechanism.cost
        assert cost.pure is None or cost.pure <= Fraction(session.guarantee.epsilon)
        session.ask([0])
    with session_of(GRAPH, store=tmp_path / "a.db", **terms) as session:
        assert len(session.history) == 1


@pytest.mark.parametrize("budget", [Fraction(1, 3), (Fraction(1, 3), 1e-6)])
def test_budgets(tmp_path, budget):
    store = gc.Store(tmp_path / "a.db", budget=budget)
    terms = {"store": store, "epsilon": 0.1, "queries": 5}
    for _ in range(2):  # made, and found again
        with session_of(GRAPH, **terms) as session:
            assert session.parameters["epsilon"] == 0.1


@pytest.mark.parametrize(
    ("privacy_unit", "within"),
    [
        ("1 row", "row"),
        ("3 rows in one month", "month"),
        ("1 user in one day", "day"),
        ("1 edge in one quarter", "quarter"),
        ("1 user in one year", "year"),
        ("1 user in one period", "period"),
        ("1 user", None),
        ("3 rows", None),
        ("1 edge", None),
        ("1 vertex", None),
        ("1 user in one century", None),
        ("1 user in one month of two", None),
        (" in one month", None),
    ],
)
def test_a_guarantee_says_what_of_time_its_neighbours_differ_in(privacy_unit, within):
    guarantee = gc.PrivacyGuarantee(epsilon=1.0, neighbours="one", privacy_unit=privacy_unit)
    assert guarantee.differs_within == within
