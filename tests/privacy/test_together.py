"""Several edges protected together, in every product: noise, promise, files and stores."""

import json
import re
import warnings

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning, BudgetError, ParameterError
from graphcuts_dp.ledger.opening import Store

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
GRAPH = gc.Graph([0, 0, 1, 3], [1, 2, 2, 4], vertices=6)
SIDES = gc.BipartiteGraph([0, 1, 2], [1, 1, 0], left=3, right=2)
GROUPS = gc.Groups(GRAPH.vertices, {"part": list("aaabbb")})
CUT = gc.CutQuery([0, 1], [3, 4])
TEN = {"at_most": 10, "epsilon": 1.0, "seed": 1}

RELEASES = {
    "response": lambda **o: gc.release_graph(GRAPH, mechanism="response", fit="none", **o),
    "auto": lambda **o: gc.release_graph(GRAPH, **o),
    "groups": lambda **o: gc.release_graph(GRAPH, groups=GROUPS, **o),
    "sparse": lambda **o: gc.release_graph(GRAPH, mechanism="sparse", **o),
    "flows": lambda **o: gc.release_flows(GRAPH, GROUPS, **o),
    "flows, gaussian": lambda **o: gc.release_flows(
        GRAPH, GROUPS, delta=1e-6, noise="gaussian", **o
    ),
    "iterative": lambda **o: gc.release_iteratively(GRAPH, delta=1e-6, queries=[CUT], **o),
    "iterative, tight": lambda **o: gc.release_iteratively(
        GRAPH, delta=1e-6, queries=[CUT], calibration="tight", **o
    ),
    "iterative, dr14": lambda **o: gc.release_iteratively(
        GRAPH, delta=1e-6, queries=[CUT], calibration="dr14", **o
    ),
    "iterative, pure": lambda **o: gc.release_iteratively(
        GRAPH, distinguisher="response-rank-one", **o
    ),
    "iterative, both players": lambda **o: gc.release_iteratively(
        GRAPH, player="both", queries=[CUT], delta=1e-6, rounds=3, **o
    ),
    "iterative, released": lambda **o: gc.release_iteratively(
        GRAPH, distinguisher="released", queries=[CUT], **o
    ),
    "answers": lambda **o: gc.release_answers(GRAPH, [CUT], **o),
    "net": lambda **o: gc.release_net(GRAPH, [CUT], **o),
    "sensing": lambda **o: gc.release_sensing(
        SIDES, [gc.CutQuery([0], [1])], delta=1e-6, rounds=2, **o
    ),
}


@pytest.mark.parametrize("name", RELEASES)
def test_the_promise_is_for_all_of_them(name):
    made = RELEASES[name](**TEN)
    promise = made.guarantee
    assert promise.protects == "10 edges"
    assert promise.neighbours.startswith("any 10 changes together, each: whether any one pair")
    assert promise.epsilon == pytest.approx(1.0, rel=1e-5)
    assert promise.epsilon <= 1.0
    if promise.parts:
        assert sum(part for _, part in promise.parts) == pytest.approx(1.0, rel=0.03)


@pytest.mark.parametrize("name", RELEASES)
def test_one_is_what_it_was(name):
    told = RELEASES[name](epsilon=1.0, at_most=1, seed=1).guarantee
    assert told == RELEASES[name](epsilon=1.0, seed=1).guarantee
    assert told.protects == "1 edge"


def test_entries_have_a_tenth_of_epsilon_each():
    made = gc.release_graph(GRAPH, mechanism="response", fit="none", **TEN)
    assert float(made.noisy.distribution.epsilon) == pytest.approx(0.1)


def test_noise_of_flows_is_ten_times_as_large():
    one = gc.release_flows(GRAPH, GROUPS, epsilon=1.0, seed=1).deviations()
    ten = gc.release_flows(GRAPH, GROUPS, **TEN).deviations()
    possible = one > 0
    assert (ten[possible] / one[possible]).min() > 9.5


def test_flows_of_small_groups_change_by_less_than_ten_in_squares():
    """Three pairs inside each group, nine between: 10 pairs change squares by 9^2 + 1 at most."""
    made = gc.release_flows(GRAPH, GROUPS, delta=1e-6, noise="gaussian", **TEN)
    finest = dict(zip(made.noisy.places, made.noisy.changes, strict=True))[1]
    assert finest == (10, 82)


@pytest.mark.parametrize(
    ("method", "delta"), [("laplace", 0.0), ("gaussian", 1e-6), ("binary", 0.0)]
)
def test_sessions(tmp_path, method, delta):
    store = tmp_path / "store.db"
    options = {"epsilon": 1.0, "delta": delta, "queries": 3, "method": method, "at_most": 10}
    with gc.open_session(GRAPH, store=store, **options) as session:
        assert session.guarantee.protects == "10 edges"
        assert session.guarantee.epsilon == pytest.approx(1.0)
        wide = session.error_bound
        first = session.ask([0], [1])
    with gc.open_session(GRAPH, store=store) as again:  # resumed with what was agreed
        assert again.parameters["at_most"] == 10
        assert again.guarantee.protects == "10 edges"
        assert again.ask([0], [1]).value == first.value
    with pytest.raises(ParameterError, match="at_most"):
        gc.open_session(GRAPH, store=store, at_most=3)
    with gc.open_session(GRAPH, store=tmp_path / "one.db", **{**options, "at_most": 1}) as one:
        assert one.error_bound < wide


@pytest.mark.parametrize("method", ["multiplicative-weights", "frieze-kannan"])
@pytest.mark.parametrize("calibration", ["tight", "gru12", "jt12", "dr14"])
def test_sessions_of_constructions(tmp_path, method, calibration):
    with gc.open_session(
        GRAPH,
        store=tmp_path / "store.db",
        epsilon=1.0,
        delta=1e-6,
        queries=5,
        method=method,
        calibration=calibration,
        at_most=4,
    ) as session:
        assert session.guarantee.protects == "4 edges"
        assert session.guarantee.epsilon <= 1.0
        assert session.guarantee.epsilon == pytest.approx(1.0, rel=1e-4)
        assert session.guarantee.delta <= 1e-6
        session.ask([0, 1], [2, 3])


def test_people_of_a_map():
    line = gc.Graph([0, 1, 2], [1, 2, 3], vertices=4)
    for noise in ("laplace", "gaussian"):
        options = {"epsilon": 1.0, "delta": 1e-6, "noise": noise, "seed": 1}
        one = gc.answer_distances(line, [0, 1, 1, 3] * 50, **options)
        ten = gc.answer_distances(line, [0, 1, 1, 3] * 50, at_most=10, **options)
        assert (one.guarantee.protects, ten.guarantee.protects) == ("1 person", "10 people")
        assert ten.guarantee.epsilon <= 1.0
        assert np.asarray(ten.radii).max() > 9 * np.asarray(one.radii).max()


def test_a_store_holds_one_protection(tmp_path):
    """Costs for different neighbours do not add up: the second is refused, and nothing is spent."""
    store = tmp_path / "store.db"
    gc.release_flows(GRAPH, GROUPS, epsilon=0.5, at_most=10, store=Store(store, budget=2.0))
    spent = gc.store_status(store).epsilon
    for refused in (
        lambda: gc.release_graph(GRAPH, epsilon=0.5, fit="none", store=store),
        lambda: gc.release_flows(GRAPH, GROUPS, epsilon=0.5, at_most=3, store=store),
        lambda: gc.open_session(GRAPH, store=store, epsilon=0.5, queries=3, method="laplace"),
    ):
        with pytest.raises(BudgetError, match="protect 10 edges, this one would protect"):
            refused()
    assert gc.store_status(store).epsilon == spent
    gc.release_graph(GRAPH, epsilon=0.5, fit="none", at_most=10, store=store)
    assert gc.store_status(store).epsilon == pytest.approx(2 * spent)


@pytest.mark.parametrize("name", RELEASES)
def test_what_leaves_too_little_is_refused_before_it_is_paid(tmp_path, name):
    store = tmp_path / "store.db"
    with pytest.raises(ParameterError, match="leaves less than 1e-06 for each of 10,000,000"):
        RELEASES[name](epsilon=1.0, at_most=10**7, store=store)
    assert not store.exists()


def test_plans_know_how_many():
    options = {"edges": 50_000, "queries": 1000, "epsilon": 1.0, "delta": 1e-6}
    one = gc.plan(5000, **options)
    ten = gc.plan(5000, protect=gc.Protect.edges(10), **options)
    assert "protects 10 edges" in ten.title
    assert ten.to_dict()["protects"] == "10 edges"
    errors = [{(r.name, r.cuts): r.guaranteed for r in made.rows} for made in (one, ten)]
    for key in (
        ("laplace", "any k"),
        ("gaussian", "any k"),
        ("binary", "fixed k"),
        ("tight MW", "any k"),
    ):
        assert errors[1][key] > 1.5 * errors[0][key]
    assert errors[1]["gaussian", "any k"] == pytest.approx(
        10 * errors[0]["gaussian", "any k"], rel=0.01
    )
    two = gc.plan(5000, protect=gc.Protect.edges(2), **options)
    assert two.synthetic.epsilon_for_edges == pytest.approx(2 * one.synthetic.epsilon_for_edges)


def test_what_a_session_promises_is_what_the_plan_said(tmp_path):
    """The planner's number is the session's, within the price of a noisy total."""
    protect = gc.Protect.edges(5)
    made = gc.plan(60, edges=400, queries=20, epsilon=1.0, delta=1e-6, protect=protect)
    row = next(row for row in made.rows if row.method == "gaussian")
    graph = gc.Graph(np.arange(59), np.arange(1, 60), vertices=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        session = gc.open_session(
            graph,
            store=tmp_path / "s.db",
            epsilon=1.0,
            delta=1e-6,
            queries=20,
            at_most=5,
            method="gaussian",
        )
    with session:
        assert session.error_bound == pytest.approx(row.guaranteed, rel=0.01)


@pytest.mark.parametrize("name", ["response", "auto", "sparse", "flows", "iterative"])
def test_receipts_read_back_say_whom_they_protect(tmp_path, name):
    made = RELEASES[name](**TEN)
    path = tmp_path / ("out.csv" if name == "flows" else "out.graphml")
    made.save(path)
    assert type(made).load(path).guarantee == made.guarantee
    receipt = json.loads((tmp_path / f"{path.name}.json").read_text())
    assert receipt["guarantee"]["protects"] == "10 edges"
    assert "any 10 changes together" in receipt["guarantee"]["neighbours"]


@pytest.mark.filterwarnings("default::graphcuts_dp.errors.AccuracyWarning")
def test_what_would_do_is_named_for_all_edges_together():
    """The epsilon that a warning names does, if it is given."""
    with pytest.warns(AccuracyWarning, match=r"epsilon = (\d+\.?\d*) or more would do") as told:
        gc.release_graph(GRAPH, epsilon=1.0, at_most=5, fit="none", seed=1)
    enough = float(re.search(r"epsilon = (\S+) or more", str(told[0].message))[1])
    assert enough > 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        gc.release_graph(GRAPH, epsilon=enough, at_most=5, fit="none", seed=1)
