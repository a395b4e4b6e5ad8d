"""The epsilon that a plan advises: the least whose own forecast keeps the error, to 1 %."""

import dataclasses
import itertools
import math
import warnings
from fractions import Fraction

import pytest

import graphcuts_dp as gc
from graphcuts_dp import (
    ParameterError,
    PrivacyUnit,
    SessionWorkload,
    VertexSet,
    cut_job,
    flows_job,
    graph_job,
)
from graphcuts_dp.cli.plan_choices import ANALYSTS, EVERYBODY
from graphcuts_dp.cli.proposals import proposal_of
from graphcuts_dp.estimate.strategy import equal_groups
from graphcuts_dp.estimate.worst_cut_errors import noise_cut_bound
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.sizes import usual_edges
from graphcuts_dp.learn.workload import Setting
from graphcuts_dp.planning.planner import plan_of
from graphcuts_dp.plugins import Cost, SeededEntropy, Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.release.usefulness import simulated_graph, usefulness_of
from graphcuts_dp.session.terms import SessionTerms

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
N = 60
EMPTY = gc.Graph([], [], vertices=N)
EPSILONS = (1.0, 0.1, 0.3, 1 / 3, 2.5)


def groups_of(sizes):
    """Groups of nearly equal sizes on each level."""
    levels = {
        f"level {index}": [row * count // N for row in range(N)]
        for index, count in enumerate(sizes)
    }
    return gc.Groups(EMPTY.vertices, levels)


def check_least(needed, forecast, target):
    """The forecast keeps the target at the epsilon that is needed, and not at 1 % less."""
    assert forecast(needed) <= target
    assert needed <= 1e-5 or forecast(0.99 * needed) > target


def needed_of(made, method, cuts):
    return next(row for row in made.rows if (row.method, row.cuts) == (method, cuts)).epsilon_needed


# Each two of sizes, units and numbers of queries stand together in one of the quick cases.
FLOWS = [
    pytest.param(*case, marks=() if sum(indices) % 2 else pytest.mark.slow)
    for indices, case in zip(
        itertools.product(range(3), range(2), range(2)),
        itertools.product(
            [(5,), (3, 12), (2, 6, 30)], [PrivacyUnit.edge(), PrivacyUnit.edge(7)], [1, 1000]
        ),
        strict=True,
    )
]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("sizes", "unit", "queries"), FLOWS)
def test_flows_need_what_a_released_table_states_of_a_cell(sizes, unit, queries):
    """However many queries somebody else may ask: a table is released once."""
    groups, target = groups_of(sizes), 20.0
    made = gc.plan(
        N, epsilon=1.0, queries=queries, groups=groups, privacy_unit=unit, target_error=target
    )

    def stated(epsilon):
        workload = gc.FlowWorkload(expected_cell=0)
        job = flows_job(EMPTY, groups, epsilon=epsilon, privacy_unit=unit, workload=workload)
        return next(iter(job.errors()))[1]

    check_least(needed_of(made, "flows", "cell"), stated, target)
    cell = next(row for row in made.rows if (row.method, row.cuts) == ("flows", "cell"))
    assert cell.guaranteed == pytest.approx(stated(1.0))


@pytest.mark.parametrize("unit", [PrivacyUnit.edge(), PrivacyUnit.edge(3)])
def test_cuts_need_what_a_least_cut_states(unit):
    target = 100.0
    made = gc.plan(N, epsilon=1.0, privacy_unit=unit, target_error=target)

    def stated(epsilon):
        job = cut_job(EMPTY, 0, 1, epsilon=epsilon, privacy_unit=unit)
        return next(iter(job.errors()))[1]

    check_least(needed_of(made, "least cut", "between two"), stated, target)


def test_a_graph_needs_what_a_release_states_of_its_worst_cut():
    target = 3000.0
    made = gc.plan(N, epsilon=1.0, target_error=target)

    def stated(epsilon):
        job = graph_job(EMPTY, epsilon=epsilon, mechanism="randomized-response", simulated=True)
        noisy = job.run(EMPTY, SeededEntropy(0)).measurements.matrix
        return 2 * noise_cut_bound(noisy.distribution, noisy.shape, symmetric=noisy.symmetric)

    check_least(needed_of(made, "release", "all"), stated, target)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("method", "n", "edges", "target"),
    [
        ("laplace", 60, 600.0, 150.0),
        ("gaussian", 60, 600.0, 150.0),
        ("multiplicative-weights", 1000, 20_000.0, 4000.0),
    ],
)
def test_sessions_need_what_they_state_before_they_begin(method, n, edges, target):
    """But for the total that a session which learns buys besides, at most 6 % of its error."""
    terms = {"queries": 50 if n == N else 10**5, "delta": 1e-6}
    made = gc.plan(n, epsilon=1.0, edges=edges, target_error=target, **terms)
    (needed,) = {
        row.epsilon_needed
        for row in made.rows
        if row.method == method and row.calibration in ("", "tight") and row.cuts == "any k"
    }

    def stated(epsilon):
        found = SessionTerms.of(method=method, epsilon=epsilon, disjoint=True, **terms)
        return found.mechanism(Universe(n), Grid()).expected_error(edges)

    assert stated(needed) <= 1.06 * target
    assert stated(0.94 * needed) > target


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("n", "epsilon"), [(60, 4.0), (200, 3.0)])
@pytest.mark.parametrize("change", [1, 3])
def test_the_questions_about_a_graph_state_the_error_of_its_dry_run(n, epsilon, change):
    graph = simulated_graph(VertexSet(n), usual_edges(n), weighted=False, max_weight=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        job = graph_job(graph, epsilon=epsilon / change, simulated=True)
    found = usefulness_of(job.run(graph, SeededEntropy(0)), edges=usual_edges(n))
    stated = next(each.error for each in found.questions if "halves" in each.text)
    answers = {"data": None, "who": EVERYBODY, "unit": "edge", "bound": change, "vertices": (n, n)}
    assert proposal_of(answers).error_at(epsilon) == pytest.approx(stated)


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_the_questions_about_answers_state_no_less_than_a_session(epsilon):
    answers = {"data": None, "who": ANALYSTS, "unit": "edge", "bound": 1, "vertices": (N, N)}
    stated = proposal_of(answers).error_at(epsilon)
    session = SessionTerms.of(method="laplace", epsilon=epsilon, queries=50)
    assert session.mechanism(Universe(N), Grid()).expected_error(600.0) <= stated * (1 + 1e-9)


# Epsilons that are divided by whole numbers


GROUP_SIZES = {"some": [*range(1, 201, 21), 35, 42, 70, 84, 99, 200], "all": range(1, 201)}


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize("sizes", ["some", pytest.param("all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_group_size_leaves_each_change_a_share_that_adds_up_again(epsilon, delta, sizes):
    for k in GROUP_SIZES[sizes]:
        for unit in (PrivacyUnit.edge(k), PrivacyUnit.edge(k).either_way, PrivacyUnit.person(k)):
            exact = unit.per_change(epsilon)
            assert exact * unit.group_size == Fraction(epsilon)
            assert unit.cost(Cost.of_pure(exact), epsilon=epsilon).epsilon == epsilon
            for zcdp in (False, True):
                terms = {"epsilon": epsilon, "delta": delta}
                share, its_delta = unit.budget_per_change(**terms, zcdp=zcdp)
                built = Cost(epsilon=share, delta=its_delta)
                if zcdp and delta:
                    rho = zcdp_rho(epsilon=share, delta=its_delta)
                    built = Cost.of_rho(rho, delta=its_delta)
                assert unit.cost(built, **terms).epsilon <= epsilon


def test_the_smallest_epsilon_is_that_of_each_change_as_it_is_typed():
    for k in range(1, 201):
        typed = float(f"{k}e-6")
        unit = PrivacyUnit.edge(k)
        assert unit.per_change(typed) * k == Fraction(typed)
        Setting(
            n=30,
            edges=50,
            workload=SessionWorkload(queries=3),
            epsilon=typed,
            privacy_unit=unit,
        ).for_one()
        if k > 1:
            with pytest.raises(ParameterError, match="leaves less"):
                unit.per_change(0.999 * typed)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("group_size", GROUP_SIZES["some"])
def test_a_plan_for_any_number_of_edges_together_has_an_advice(group_size):
    """Its advice and its target need an epsilon from the smallest one on."""
    setting = Setting(
        n=20,
        edges=50,
        workload=SessionWorkload(queries=3),
        epsilon=1.0,
        delta=1e-6 * (group_size % 2),
        privacy_unit=PrivacyUnit.edge(group_size),
    )
    made = plan_of(setting, target_error=30.0, iterative=False)
    assert str(made)
    needed = [row.epsilon_needed for row in made.rows if row.epsilon_needed is not None]
    assert all(value >= group_size * 0.999e-6 for value in needed)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_plan_for_any_number_of_edges_together_has_an_advice_at_every_epsilon(epsilon):
    setting = Setting(n=(20, 30), edges=50, workload=SessionWorkload(queries=3), epsilon=epsilon)
    for group_size in range(1, 201):
        for linear in (False, True):
            unit = PrivacyUnit.edge(group_size)
            workload = SessionWorkload(queries=3, linear=linear)
            tried = dataclasses.replace(setting, privacy_unit=unit, workload=workload)
            assert str(plan_of(tried, target_error=30.0, iterative=False))


def test_the_least_epsilon_is_no_infinite_number_of_digits():
    made = gc.plan(N, epsilon=1.0, groups=equal_groups(N, [5]), target_error=17.0)
    for row in made.rows:
        if row.epsilon_needed is not None and math.isfinite(row.epsilon_needed):
            assert float(f"{row.epsilon_needed:.4g}") == row.epsilon_needed
