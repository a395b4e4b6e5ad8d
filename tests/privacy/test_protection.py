"""Whom a promise protects: names, budgets of a step, k steps against exact laws, and products."""

import math
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from products import GRAPH, RELEASES, make

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning, BudgetError, ParameterError
from graphcuts_dp.estimate.measurement import cell_changes, largest_squares
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost, zcdp_delta, zcdp_rho
from graphcuts_dp.privacy.guarantee import EDGE, PrivacyGuarantee, Protect
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.group_tree import GroupTree
from graphcuts_dp.session.session import session_of

pytestmark = [
    pytest.mark.usefixtures("no_forecast"),
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
]


NAMES = {
    "1 edge": (Protect(), {}, {"at_most": 1}, {"protect": Protect.edges()}),
    "10 edges": (Protect.edges(10), {"at_most": 10}, {"protect": "edges:10"}),
    "1 owner": (
        Protect.owner(at_most=20),
        {"protect": "owner", "at_most": 20},
        {"protect": "owner:at-most=20"},
    ),
    "1 vertex": (Protect.vertex(degree_bound=5), {"protect": "vertex", "degree_bound": 5}),
    "1 person": (Protect.of_people(1),),
    "3 people": (Protect.of_people(3),),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_and_words_and_objects_are_one(name):
    made, *words = NAMES[name]
    assert str(made) == name
    assert Protect.of(made) is made
    for options in words:
        assert Protect.of(options.pop("protect", "edges"), **options) == made
    if words:
        assert Protect.of(**made.keywords) == made
        with pytest.raises(ParameterError, match="leave out the other one"):
            Protect.of(made, at_most=2)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (Protect.of, {"protect": "nodes"}, "unknown protect='nodes'; choose one of 'edges'"),
        (Protect.of, {"protect": 3}, "protect is a name or a Protect, not 3"),
        (Protect.of, {"protect": "edges", "at_most": 0}, "at_most must be a whole number from 1"),
        (Protect.of, {"protect": "edges", "at_most": True}, "at_most must be a whole number"),
        (Protect.of, {"protect": "edges", "at_most": 2.5}, "at_most must be a whole number"),
        (Protect.of, {"protect": "edges", "degree_bound": 5}, "degree_bound is for"),
        (Protect.of, {"protect": "owner"}, "protect='owner' needs at_most"),
        (Protect.of, {"protect": "vertex"}, "protect='vertex' needs degree_bound"),
        (Protect.of, {"protect": "vertex", "degree_bound": 5, "at_most": 2}, "takes degree_bound"),
        (Protect.of_people, {"at_most": 0}, "at_most"),
        (Protect, {"kind": "nodes"}, "unknown protect"),
        (Protect, {"steps": 0}, "at_most"),
        (Protect, {"steps": True}, "at_most"),
        (Protect, {"kind": "vertex"}, "degree_bound"),
        (Protect, {"degree_bound": 2}, "degree_bound is for"),
        (Protect, {"kind": "vertex", "degree_bound": 0}, "degree_bound"),
    ],
)
def test_what_is_refused(make, options, message):
    with pytest.raises(ParameterError, match=message):
        make(**options)


def test_each_step_has_its_part_of_epsilon_exactly():
    assert Protect(steps=3).per_step(1.0) == Fraction(1, 3)
    pure = Protect(steps=10).step_budget(epsilon=1.0, delta=0.0, zcdp=True)
    assert pure == (pytest.approx(0.1), 0.0)
    with pytest.raises(ParameterError, match="leaves less than 1e-06 for each of 10,000,000"):
        Protect(steps=10**7).per_step(1.0)


@pytest.mark.parametrize("steps", [2, 5, 40])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_pure_costs_of_many_steps_are_those_of_randomised_response(steps, epsilon):
    """Of k bits that all change: the largest likelihood ratio is e^(k epsilon), exactly."""
    stay = math.exp(epsilon) / (1 + math.exp(epsilon))
    ratio = steps * (math.log(stay) - math.log1p(-stay))
    group = Cost.of_pure(Fraction(epsilon)).for_group(steps)
    assert group.pure == steps * Fraction(epsilon)
    assert group.epsilon == pytest.approx(ratio, rel=1e-12)
    assert group.rho == pytest.approx(steps**2 * epsilon**2 / 2, rel=1e-12)
    # A sum that moves by k under noise of variance v has divergence k^2/(2 v), exactly.
    gaussian = Cost.of_rho(1 / (2 * 50.0), delta=1e-6).for_group(steps)
    assert gaussian.rho == pytest.approx(steps**2 / (2 * 50.0), rel=1e-12)
    assert zcdp_delta(gaussian.rho, gaussian.epsilon) <= 1e-6


def least_delta(shift, rate, epsilon):
    """The exact delta of a truncated Laplace-like law on integers that is shifted."""
    support = np.arange(-400, 401)
    law = np.exp(-rate * np.abs(support)) * (np.abs(support) <= 30)
    law /= law.sum()
    moved = np.roll(law, shift)
    return float(np.maximum(law - math.exp(epsilon) * moved, 0).sum())


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_stated_costs_of_many_steps_hold_for_a_law_that_is_only_approximate(steps):
    """Truncated noise is (rate, delta)-DP for one step; k steps are checked against its law."""
    rate = 0.3
    delta = least_delta(1, rate, rate)
    assert delta > 0
    group = Cost(epsilon=rate, delta=delta).for_group(steps)
    exact = least_delta(steps, rate, group.epsilon)
    assert exact <= group.delta * (1 + 1e-9)
    # The plain sum of deltas is too little: the factor e^epsilon is needed.
    assert exact > steps * delta * 0.99


def test_a_group_never_states_a_delta_above_one():
    assert Cost(epsilon=20.0, delta=1e-3).for_group(100).delta == 1.0
    assert Cost(epsilon=0.0, delta=0.01).for_group(3).delta == pytest.approx(0.03)


@pytest.mark.parametrize("steps", [1, 2, 10, 100])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (5.0, 1e-3)])
@pytest.mark.parametrize("zcdp", [False, True])
def test_the_budget_of_a_step_keeps_that_of_all(steps, epsilon, delta, zcdp):
    protection = Protect(steps=steps)
    each, its_delta = protection.step_budget(epsilon=epsilon, delta=delta, zcdp=zcdp)
    rho = zcdp_rho(epsilon=each, delta=its_delta) if zcdp else None
    step = Cost(epsilon=each, delta=its_delta, rho=rho)
    whole = protection.cost(step, epsilon=epsilon, delta=delta)
    assert whole.epsilon <= epsilon
    assert whole.delta <= delta
    # It is not wasted either: a hundredth more would not do.
    dearer = replace(step, epsilon=each * 1.01, rho=rho and rho * 1.02)
    with pytest.raises(BudgetError):
        protection.cost(dearer, epsilon=epsilon, delta=delta)


def test_a_guarantee_says_who_is_hidden():
    plan = BudgetPlan.of_parts([("degrees", 0.04), ("entries", 0.06)])
    step = PrivacyGuarantee(epsilon=0.1, neighbours="one pair", budget_plan=plan)
    whole = Protect(steps=10).promise(step, Cost.of_pure(Fraction(1)))
    assert (whole.protects, whole.parts) == ("10 edges", (("degrees", 0.4), ("entries", 0.6)))
    assert whole.neighbours == "any 10 changes together, each: one pair"
    assert PrivacyGuarantee.from_dict(whole.to_dict()) == whole
    assert "protects 10 edges" in str(whole)
    assert EDGE.promise(step, Cost.of_pure(Fraction(1, 10))) == step


def test_the_largest_squares_are_those_of_a_search():
    generator = np.random.default_rng(5)
    for _ in range(200):
        room = generator.integers(0, 5, size=generator.integers(1, 5))
        total = int(generator.integers(0, 9))
        grid = np.stack(np.meshgrid(*(np.arange(r + 1) for r in room)), -1).reshape(-1, len(room))
        allowed = grid[grid.sum(axis=1) <= total]
        assert largest_squares(room, total) == (allowed**2).sum(axis=1).max()


def test_cells_change_by_what_k_pairs_can_change():
    cells = CellTree(GroupTree({"part": ["a", "b"]}, [[2, 3]], [[0, 0]]))
    assert cell_changes(cells) == ((1, 1), (1, 1))
    # Pairs: 10 in all; 1 inside the first part, 3 inside the second, 6 between them.
    assert cell_changes(cells, Protect(steps=8)) == ((8, 64), (8, 36 + 4))
    assert cell_changes(cells, Protect(steps=8), capped=False) == ((8, 64), (8, 64))
    assert cell_changes(cells, Protect(steps=2), sensitivity=5) == ((10, 100), (10, 100))


TEN = {"protect": gc.Protect.edges(10), "epsilon": 1.0, "seed": 1}


@pytest.mark.parametrize("name", RELEASES)
def test_the_promise_is_for_all_of_them(name):
    promise = make(name, **TEN).guarantee
    assert promise.protects == "10 edges"
    assert promise.neighbours.startswith("any 10 changes together, each: whether any one pair")
    assert promise.epsilon == pytest.approx(1.0, rel=1e-5)
    assert promise.epsilon <= 1.0
    if promise.parts:
        assert sum(part for _, part in promise.parts) == pytest.approx(1.0, rel=0.03)


def test_flows_of_small_groups_change_by_less_than_ten_in_squares():
    """Three pairs inside each group, nine between: 10 pairs change squares by 9^2 + 1 at most."""
    made = make("flows, gaussian", **TEN)
    finest = dict(zip(made.noisy.map.places, made.noisy.changes, strict=True))[1]
    assert finest == (10, 82)


SESSIONS = {
    "laplace": {"method": "laplace"},
    "gaussian": {"method": "gaussian", "delta": 1e-6},
    "binary": {"method": "binary"},
    **{
        name: {"method": "multiplicative-weights", "calibration": name, "delta": 1e-6}
        for name in ("tight", "gru12", "jt12", "dr14")
    },
}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(tmp_path, name):
    store, options = tmp_path / "store.db", {"epsilon": 1.0, "queries": 3} | SESSIONS[name]
    with session_of(GRAPH, store=store, at_most=10, **options) as session:
        assert session.guarantee.protects == "10 edges"
        assert session.guarantee.epsilon == pytest.approx(1.0, rel=1e-4)
        assert session.guarantee.epsilon <= 1.0
        assert session.guarantee.delta <= 1e-6
        wide = session.error_bound
    with pytest.raises(ParameterError, match="at_most"):
        session_of(GRAPH, store=store, at_most=3)
    with session_of(GRAPH, store=tmp_path / "one.db", **options, at_most=1) as one:
        assert one.error_bound < wide


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_people_of_a_map(noise):
    line, people = gc.Graph([0, 1, 2], [1, 2, 3], vertices=4), [0, 1, 1, 3] * 50
    options = {"epsilon": 1.0, "delta": 1e-6, "noise": noise, "seed": 1}
    one, ten = (gc.distances.answer_distances(line, people, at_most=k, **options) for k in (1, 10))
    assert (one.guarantee.protects, ten.guarantee.protects) == ("1 person", "10 people")
    assert ten.guarantee.epsilon <= 1.0
    assert np.asarray(ten.radii).max() > 9 * np.asarray(one.radii).max()


@pytest.mark.parametrize("name", ["response", "flows", "iterative", "answers", "net", "session"])
def test_a_store_holds_one_protection(tmp_path, name):
    """Costs for different neighbours do not add up: others are refused, and nothing is spent."""
    store = tmp_path / "store.db"
    make("flows", store=store, protect=gc.Protect.edges(10))
    for other in (1, 3):
        with pytest.raises(BudgetError, match=f"protect 10 edges, this one would protect {other} "):
            make(name, store=store, protect=gc.Protect.edges(other))
    assert len(gc.store_status(store).uses) == 1
    make(name, store=store, protect=gc.Protect.edges(10))
    assert len(gc.store_status(store).uses) == 2


@pytest.mark.parametrize("name", RELEASES)
def test_what_leaves_too_little_is_refused_before_it_is_paid(tmp_path, name):
    store = tmp_path / "store.db"
    with pytest.raises(ParameterError, match="leaves less than 1e-06 for each of 10,000,000"):
        make(name, protect=gc.Protect.edges(10**7), store=store)
    assert not store.exists()


def test_what_a_session_promises_is_what_the_plan_said(tmp_path):
    """The planner's number is the session's, within the price of a noisy total."""
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 20}
    made = gc.plan(60, edges=400, **terms, protect=gc.Protect.edges(5))
    assert "protects 5 edges" in made.title
    assert made.to_dict()["protects"] == "5 edges"
    row = next(row for row in made.rows if row.method == "gaussian")
    graph = gc.Graph(np.arange(59), np.arange(1, 60), vertices=60)
    store = tmp_path / "s.db"
    with session_of(graph, store=store, at_most=5, method="gaussian", **terms) as session:
        assert session.error_bound == pytest.approx(row.guaranteed, rel=0.01)


@pytest.mark.filterwarnings("default::graphcuts_dp.errors.AccuracyWarning")
def test_what_would_do_is_named_for_all_edges_together():
    """The epsilon that a warning names does, if it is given."""
    with pytest.warns(AccuracyWarning, match=r"epsilon = (\d+\.?\d*) or more would do") as told:
        gc.release_graph(GRAPH, epsilon=1.0, fit="none", seed=1, protect=gc.Protect.edges(5))
    enough = float(re.search(r"epsilon = (\S+) or more", str(told[0].message))[1])
    assert enough > 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        gc.release_graph(GRAPH, epsilon=enough, fit="none", seed=1, protect=gc.Protect.edges(5))
