"""Whom a guarantee protects: names, budgets of a step, k steps against exact laws, and products."""

import math
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from products import GRAPH, RELEASES, make

import graphcuts_dp as gc
from graphcuts_dp import (
    AccuracyWarning,
    BudgetError,
    BudgetPlan,
    GroupTree,
    ParameterError,
    PrivacyGuarantee,
    PrivacyUnit,
)
from graphcuts_dp.estimate.cell_changes import cell_changes, largest_squares
from graphcuts_dp.plugins import Cost
from graphcuts_dp.privacy.composition import zcdp_delta, zcdp_rho
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.session.session import session_of

pytestmark = [
    pytest.mark.usefixtures("no_forecast"),
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
]


NAMES = {
    "1 edge": (
        PrivacyUnit(),
        *({"privacy_unit": unit} for unit in ("edge", "edge:1", PrivacyUnit.edge())),
    ),
    "10 edges": (PrivacyUnit.edge(10), {"privacy_unit": "edge:10"}),
    "1 user": (
        PrivacyUnit.user(max_contributions=20),
        {"privacy_unit": "user:20"},
        {"privacy_unit": "user:max-contributions=20"},
    ),
    "1 user in one period": (
        PrivacyUnit.user(max_contributions=20, per_period=True),
        {"privacy_unit": "user:max-contributions=20,per-period"},
    ),
    "1 vertex": (PrivacyUnit.vertex(max_degree=5), {"privacy_unit": "vertex:max-degree=5"}),
    "1 person": (PrivacyUnit.person(1),),
    "3 people": (PrivacyUnit.person(3),),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_and_words_and_objects_are_one(name):
    made, *words = NAMES[name]
    assert str(made) == name
    assert PrivacyUnit.of(made) is made
    for options in words:
        assert PrivacyUnit.of(options["privacy_unit"]) == made
    if words:
        assert PrivacyUnit.of(made.typed) == made


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (PrivacyUnit.of, ["nodes"], "unknown privacy_unit='nodes'; choose one of 'edge'"),
        (PrivacyUnit.of, [3], "privacy_unit is a name or a PrivacyUnit, not 3"),
        (PrivacyUnit.of, ["edge:0"], "group_size must be a whole number from 1"),
        (PrivacyUnit.of, ["edge:2.5"], "group_size must be a whole number"),
        (PrivacyUnit.edge, [True], "group_size must be a whole number"),
        (PrivacyUnit.row, [0], "max_units must be a whole number"),
        (PrivacyUnit.of, ["edge:max-degree=5"], "unknown option 'max-degree' of 'edge'"),
        (PrivacyUnit.of, ["user"], "privacy_unit='user' needs max_contributions"),
        (PrivacyUnit.of, ["vertex"], "privacy_unit='vertex' needs max_degree"),
        (PrivacyUnit.person, [0], "group_size"),
        (PrivacyUnit, {"kind": "nodes"}, "unknown privacy_unit"),
        (PrivacyUnit, {"group_size": 0}, "group_size"),
        (PrivacyUnit, {"group_size": True}, "group_size"),
        (PrivacyUnit, {"kind": "vertex"}, "max_degree"),
        (PrivacyUnit, {"max_degree": 2}, "max_degree is for"),
        (PrivacyUnit, {"kind": "vertex", "max_degree": 0}, "max_degree"),
    ],
)
def test_what_is_refused(make, options, message):
    with pytest.raises(ParameterError, match=message):
        make(**options) if isinstance(options, dict) else make(*options)


def test_each_step_has_its_part_of_epsilon_exactly():
    assert PrivacyUnit(group_size=3).per_change(1.0) == Fraction(1, 3)
    pure = PrivacyUnit(group_size=10).budget_per_change(epsilon=1.0, delta=0.0, zcdp=True)
    assert pure == (pytest.approx(0.1), 0.0)
    with pytest.raises(ParameterError, match="leaves less than 1e-06 for each of 10,000,000"):
        PrivacyUnit(group_size=10**7).per_change(1.0)


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
    privacy_unit = PrivacyUnit(group_size=steps)
    each, its_delta = privacy_unit.budget_per_change(epsilon=epsilon, delta=delta, zcdp=zcdp)
    rho = zcdp_rho(epsilon=each, delta=its_delta) if zcdp else None
    step = Cost(epsilon=each, delta=its_delta, rho=rho)
    whole = privacy_unit.cost(step, epsilon=epsilon, delta=delta)
    assert whole.epsilon <= epsilon
    assert whole.delta <= delta
    # It is not wasted either: a hundredth more would not do.
    dearer = replace(step, epsilon=each * 1.01, rho=rho and rho * 1.02)
    with pytest.raises(BudgetError):
        privacy_unit.cost(dearer, epsilon=epsilon, delta=delta)


def test_a_guarantee_says_who_is_hidden():
    plan = BudgetPlan.of_parts([("degrees", 0.04), ("entries", 0.06)])
    step = PrivacyGuarantee(epsilon=0.1, neighbours="one pair", budget_plan=plan)
    whole = PrivacyUnit(group_size=10).guarantee(step, Cost.of_pure(Fraction(1)))
    assert (whole.privacy_unit, whole.spent) == ("10 edges", (("degrees", 0.4), ("entries", 0.6)))
    assert whole.neighbours == "any 10 changes together, each: one pair"
    assert PrivacyGuarantee.from_dict(whole.to_dict()) == whole
    assert "privacy unit: 10 edges" in str(whole)
    assert EDGE.guarantee(step, Cost.of_pure(Fraction(1, 10))) == step


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
    assert cell_changes(cells, PrivacyUnit(group_size=8)) == ((8, 64), (8, 36 + 4))
    assert cell_changes(cells, PrivacyUnit(group_size=8), capped=False) == ((8, 64), (8, 64))
    assert cell_changes(cells, PrivacyUnit(group_size=2), sensitivity=5) == ((10, 100), (10, 100))


TEN = {"privacy_unit": gc.PrivacyUnit.edge(10), "epsilon": 1.0, "seed": 1}


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("name", RELEASES)
def test_the_guarantee_is_for_all_of_them(name):
    guarantee = make(name, **TEN).guarantee
    assert guarantee.privacy_unit == "10 edges"
    assert guarantee.neighbours.startswith("any 10 changes together, each: whether any one pair")
    assert guarantee.epsilon == pytest.approx(1.0, rel=1e-5)
    assert guarantee.epsilon <= 1.0
    if guarantee.spent:
        assert sum(part for _, part in guarantee.spent) == pytest.approx(1.0, rel=0.03)


def test_flows_of_small_groups_change_by_less_than_ten_in_squares():
    """Three pairs inside each group, nine between: 10 pairs change squares by 9^2 + 1 at most."""
    made = make("flows, gaussian", **TEN)
    finest = dict(zip(made.noisy.map.measured_levels, made.noisy.changes, strict=True))[1]
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
    with session_of(GRAPH, store=store, privacy_unit="edge:10", **options) as session:
        assert session.guarantee.privacy_unit == "10 edges"
        assert session.guarantee.epsilon == pytest.approx(1.0, rel=1e-4)
        assert session.guarantee.epsilon <= 1.0
        assert session.guarantee.delta <= 1e-6
        wide = session.error_bound
    with pytest.raises(ParameterError, match="privacy_unit"):
        session_of(GRAPH, store=store, privacy_unit="edge:3")
    with session_of(GRAPH, store=tmp_path / "one.db", **options, privacy_unit="edge") as one:
        assert one.error_bound < wide


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_people_of_a_map(noise):
    line, people = gc.Graph([0, 1, 2], [1, 2, 3], vertices=4), [0, 1, 1, 3] * 50
    options = {"epsilon": 1.0, "delta": 1e-6, "noise": noise, "seed": 1}
    one, ten = (
        gc.distances.answer_distances(line, people, group_size=k, **options) for k in (1, 10)
    )
    assert (one.guarantee.privacy_unit, ten.guarantee.privacy_unit) == ("1 person", "10 people")
    assert ten.guarantee.epsilon <= 1.0
    assert np.asarray(ten.radii).max() > 9 * np.asarray(one.radii).max()


@pytest.mark.parametrize("name", ["response", "flows", "iterative", "answers", "net", "session"])
def test_a_store_holds_one_protection(tmp_path, name):
    """Costs for different neighbours do not add up: others are refused, and nothing is spent."""
    store = tmp_path / "store.db"
    make("flows", store=store, privacy_unit=gc.PrivacyUnit.edge(10))
    for other in (1, 3):
        with pytest.raises(BudgetError, match=f"is 10 edges, that of this use {other} "):
            make(name, store=store, privacy_unit=gc.PrivacyUnit.edge(other))
    assert len(gc.store_status(store).uses) == 1
    make(name, store=store, privacy_unit=gc.PrivacyUnit.edge(10))
    assert len(gc.store_status(store).uses) == 2


@pytest.mark.parametrize("name", RELEASES)
def test_what_leaves_too_little_is_refused_before_it_is_paid(tmp_path, name):
    store = tmp_path / "store.db"
    with pytest.raises(ParameterError, match="leaves less than 1e-06 for each of 10,000,000"):
        make(name, privacy_unit=gc.PrivacyUnit.edge(10**7), store=store)
    assert not store.exists()


def test_what_a_session_guarantees_is_what_the_plan_said(tmp_path):
    """The planner's number is the session's, within the price of a noisy total."""
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 20}
    made = gc.plan(60, edges=400, **terms, privacy_unit=gc.PrivacyUnit.edge(5))
    assert "privacy unit 5 edges" in made.title
    assert made.to_dict()["privacy_unit"] == "edge:group-size=5"
    row = next(row for row in made.rows if row.method == "gaussian")
    graph = gc.Graph(np.arange(59), np.arange(1, 60), vertices=60)
    store = tmp_path / "s.db"
    with session_of(
        graph, store=store, privacy_unit="edge:5", method="gaussian", **terms
    ) as session:
        assert session.error_bound == pytest.approx(row.guaranteed, rel=0.01)


@pytest.mark.filterwarnings("default::graphcuts_dp.errors.AccuracyWarning")
def test_what_would_do_is_named_for_all_edges_together():
    """The epsilon that a warning names does, if it is given."""
    with pytest.warns(AccuracyWarning, match=r"epsilon = (\d+\.?\d*) or more would do") as told:
        gc.release_graph(
            GRAPH, epsilon=1.0, fit="none", seed=1, privacy_unit=gc.PrivacyUnit.edge(5)
        )
    enough = float(re.search(r"epsilon = (\S+) or more", str(told[0].message))[1])
    assert enough > 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        gc.release_graph(
            GRAPH, epsilon=enough, fit="none", seed=1, privacy_unit=gc.PrivacyUnit.edge(5)
        )


@pytest.mark.parametrize("period", ["", " in one month"])
def test_a_guarantee_is_told_in_short(period):
    guarantee = PrivacyGuarantee(
        epsilon=1.0,
        privacy_unit=f"1 user{period}",
        neighbours="all rows of any one user, of which at most 1,000 count (added or removed)",
        public="the vertex set and the groups and the periods",
    )
    hidden = f"one person with all rows{period}, of which at most 1,000 count"
    assert guarantee.in_short == f"Hidden: {hidden}. Public: names of vertices, groups and periods."
    assert ("in short", guarantee.in_short) in guarantee.facts
    assert replace(guarantee, seed=1).in_short == ""
    weights = replace(guarantee, privacy_unit="1 edge", neighbours="the weight of any one pair")
    assert weights.in_short == ""
