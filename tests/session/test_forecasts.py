"""The error that a session forecasts, is chosen for, has and is planned with: one number."""

import itertools
import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers import expecting
from online_cases import (
    CONSTRUCTIONS,
    EVERY_KIND,
    METHODS,
    graph_of,
    suits,
    terms_of,
    two_communities,
)

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, ParameterError, SessionWorkload
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn import bounds, forecasts
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.constructions import CONSTRUCTIONS as RULES
from graphcuts_dp.learn.forecasts import (
    learning_error,
    mirror_descent_error,
    noise_error,
    noise_of,
    response_error,
)
from graphcuts_dp.learn.workload import Setting
from graphcuts_dp.plugins import SeededEntropy, Universe, ValueNoise
from graphcuts_dp.privacy import noise_scales
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.terms import SessionTerms

RUNS = [*({"calibration": name} for name in CALIBRATIONS), {"value_share": 0.4}]
# Of methods that learn every second one is quick: each kind, and each calibration, with half of the
# others.
CASES = [
    pytest.param(
        *(method, kind, disjoint, run),
        marks=pytest.mark.slow
        if method in CONSTRUCTIONS and (kind_index + run_index + disjoint) % 2
        else (),
    )
    for method in METHODS
    for kind_index, kind in enumerate(EVERY_KIND)
    if suits(method, kind)
    for disjoint in ((False, True) if method in ("frieze-kannan", "binary") else (False,))
    for run_index, run in enumerate(RUNS if method in CONSTRUCTIONS else [{}])
]


def guaranteed_error(method, setting, *, adaptive=True):
    """Of a session of this method, as a plan has it."""
    if method == "binary":
        return response_error(setting, adaptive)
    if method == "mirror-descent":
        return mirror_descent_error(setting)
    if method in RULES:
        return learning_error(RULES[method].updates, setting)
    return noise_error(method, setting)


def knowing(mechanism, total):
    """The mechanism with a total weight that it need not buy."""
    known = isinstance(mechanism, OnlineMechanism)
    return replace(mechanism, total_weight=total) if known else mechanism


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize(("method", "kind", "disjoint", "run"), CASES)
def test_forecast_and_widest_interval_are_the_same_number(method, kind, disjoint, run, monkeypatch):
    graph = graph_of(kind)
    universe, grid = Universe.of(graph), Grid.of(graph)
    total = grid.total(graph) * grid.unit
    terms = SessionTerms.of(**terms_of(method, epsilon=1.0, queries=20, disjoint=disjoint, **run))
    plain = terms.mechanism(universe, grid)
    told = expecting(terms, total / (grid.unit * grid.sensitivity)).expected_error(universe, grid)
    public = knowing(plain, total)
    left, right = universe.shape
    query = gc.CutQuery(range(left), range(right))
    if disjoint and not universe.bipartite:
        query = gc.CutQuery(range(left // 2))
    for mechanism, expected in ((plain, told), (public, public.expected_error(total))):
        with monkeypatch.context() as still:  # the one thing that a forecast cannot know
            still.setattr(ValueNoise, "draw", lambda *_: 0)
            state = mechanism.start(graph, SeededEntropy(1))
        bound = mechanism.error_bound(state)
        assert expected == pytest.approx(bound, rel=1e-9)
        _, answer = mechanism.step(state, query, grid.count(query, graph), SeededEntropy(1))
        low, high = answer.interval
        half_width = max(answer.value - low, high - answer.value)
        assert half_width <= bound * (1 + 1e-6)
        if "value_share" not in run and not (answer.updates and run):  # those are bought
            pairs = int(universe.norm_squared(query))
            cut = grid.rounding(universe.size) - grid.rounding(pairs)
            assert half_width == pytest.approx(bound - cut, rel=1e-6)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    ("kind", "disjoint", "delta"),
    [
        ("plain", False, 1e-6),
        ("plain", True, 1e-6),
        ("plain", True, 0.0),
        ("sides", False, 1e-6),
        ("weighted", False, 1e-6),
        ("uncapped", False, 0.0),
    ],
)
def test_auto_takes_the_method_whose_intervals_are_least_wide(kind, disjoint, delta, monkeypatch):
    monkeypatch.setattr(ValueNoise, "draw", lambda *_: 0)  # the totals are as expected
    graph = graph_of(kind)
    universe, grid = Universe.of(graph), Grid.of(graph)
    edges = grid.total(graph) / grid.sensitivity
    for queries, epsilon in itertools.product((1, 10**4), (0.3, 5.0)):
        numbers = {"epsilon": epsilon, "delta": delta, "queries": queries, "disjoint": disjoint}
        widths = {}
        for method in METHODS:
            try:
                mechanism = SessionTerms.of(method=method, **numbers).mechanism(universe, grid)
                state = mechanism.start(graph, SeededEntropy(1))
            except ParameterError:  # needs delta, a cap, or a graph without weights
                continue
            widths[method] = mechanism.error_bound(state)
        chosen = SessionTerms.of(**numbers, expected_edges=edges).resolved(universe, grid)
        assert widths[chosen.method.name] == min(widths.values())
        forecast = chosen.expected_error(universe, grid)
        assert forecast == pytest.approx(widths[chosen.method.name], rel=1e-9)


def test_auto_does_not_count_on_disjoint_sets_that_nobody_announced():
    """Frieze-Kannan is the best for disjoint sets here, and Gaussian noise for all others."""
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 3 * 10**6, "expected_edges": 1e5}
    for disjoint, best in ((False, "gaussian"), (True, "frieze-kannan")):
        chosen = SessionTerms.of(**terms, disjoint=disjoint).resolved(Universe(10_000), Grid())
        assert chosen.method.name == best


@pytest.mark.parametrize("n", [40, 500, (30, 70)])
@pytest.mark.parametrize("method", METHODS)
def test_plans_and_sessions_about_disjoint_sets_guarantee_the_same(method, n):
    """A plan knows the number of edges; a session, if it is told, has the same error."""
    universe = Universe(n) if isinstance(n, int) else Universe(*n)
    numbers = {"epsilon": 2.0, "delta": 1e-6}
    setting = Setting(n=n, edges=200.0, workload=SessionWorkload(queries=500), **numbers)
    terms = SessionTerms.of(method=method, disjoint=True, queries=500, **numbers)
    session = knowing(terms.mechanism(universe, Grid()), 200.0)
    # Noise of sessions is on whole numbers: up to three times a part of an edge is rounded.
    planned = guaranteed_error(method, setting)
    assert session.expected_error(200.0) == pytest.approx(planned, rel=1e-3, abs=3)


# Guarantees, as far as they can be checked by drawing noise

ASKED = SessionWorkload(queries=50, beta=0.2)
SETTING = Setting(n=40, edges=200, workload=ASKED, epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("method", ["gaussian", "laplace", "binary"])
def test_guarantees_hold_as_often_as_guaranteed_and_are_not_far_off(method):
    """400 sessions of 50 answers: beta = 0.2 (fails with probability 1e-6 at most), and of use."""
    rng = np.random.default_rng(11)
    if method == "gaussian":
        noise = np.rint(rng.normal(scale=noise_of("gaussian", SETTING).deviation, size=(400, 50)))
    elif method == "laplace":
        rate = SETTING.epsilon / ASKED.queries
        geometric = rng.geometric(-math.expm1(-rate), size=(2, 400, 50))
        noise = geometric[0] - geometric[1]
    else:
        distribution = SETTING.distribution
        flips = rng.binomial(SETTING.sizes.largest_query, distribution.offset, size=(400, 50))
        noise = (flips - SETTING.sizes.largest_query * distribution.offset) * distribution.unit
    error = guaranteed_error(method, SETTING, adaptive=False)
    worst = np.abs(noise).max(axis=1)
    assert (worst > error).sum() <= 0.2 * 400 + 40  # five deviations
    assert (worst > 0.9 * error).sum() > 0.2 * 400 / 2


def test_adaptive_cuts_cost_more_where_noise_is_drawn_once():
    assert response_error(SETTING) > 1.5 * response_error(SETTING, adaptive=False)


# A bound stands once: whoever changes one of its constants changes plan, forecast and session


GRAPH = two_communities(60, 1)
WORKLOAD = SessionWorkload(queries=10, disjoint=True, expected_edges=len(GRAPH.rows))


def planned():
    """What a plan says of all mechanisms."""
    return gc.plan(60, queries=WORKLOAD, epsilon=1.0, delta=1e-6)


@pytest.fixture(scope="module")
def plan():
    """Before anything is changed."""
    return planned()


def stated(plan, folder, method, calibration):
    """What a plan, a forecast and a session say of one mechanism."""
    found = [
        row.guaranteed
        for row in plan.rows
        if (row.method, row.calibration) == (method, calibration) and row.cuts in ("any k", "all")
    ]
    given = terms_of(method, epsilon=1.0, queries=10, disjoint=True)
    given |= {"calibration": calibration} if calibration else {}
    terms = SessionTerms.of(expected_edges=WORKLOAD.expected_edges, **given)
    with session_of(GRAPH, store=folder, seed=1, **given) as session:
        return min(found), terms.expected_error(Universe(60), Grid()), session.error_bound


def change(monkeypatch, method, calibration):
    """One constant, or what the noise on one answer can be off by: a good deal more."""
    if calibration in bounds.PAPER_ERRORS:
        monkeypatch.setitem(bounds.PAPER_ERRORS, calibration, 2 * bounds.PAPER_ERRORS[calibration])
    elif calibration:
        monkeypatch.setattr(noise_scales, "_TEST_SHARES", 4e40)
    elif method == "binary":
        monkeypatch.setattr(forecasts, "_CHOICES", {True: 81, False: 256})
        forecasts.all_cuts_radius.cache_clear()
    else:
        radius = ValueNoise.radius
        monkeypatch.setattr(ValueNoise, "radius", lambda *noise: 2 * radius(*noise))


@pytest.mark.thorough(cases=1)
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize(
    ("method", "calibration"),
    [
        # Plans list the papers' own constructions, and mirror descent for JT12.
        *itertools.product(("multiplicative-weights", "frieze-kannan"), CALIBRATIONS),
        *itertools.product(("mirror-descent",), ("tight", "jt12")),
        *itertools.product(("gaussian", "laplace", "binary"), ("",)),
    ],
)
def test_a_constant_changes_all_who_state_the_bound(
    tmp_path, monkeypatch, plan, method, calibration
):
    before = stated(plan, tmp_path / "a.db", method, calibration)
    with monkeypatch.context() as changed:
        change(changed, method, calibration)
        after = stated(planned(), tmp_path / "b.db", method, calibration)
    forecasts.all_cuts_radius.cache_clear()
    ratios = [late / early for early, late in zip(before, after, strict=True)]
    # A tight session has a little less than a plan: it buys the number of edges.
    near = 0.15 if calibration == "tight" else 0.03
    assert ratios == pytest.approx([ratios[0]] * 3, rel=near)
    assert ratios[0] > 1.4


# Warnings


@pytest.mark.thorough
def test_a_worthless_session_warns_before_anything_is_spent(tmp_path):
    graph, store = two_communities(12, 1), tmp_path / "s.db"
    terms = terms_of("frieze-kannan", epsilon=1.0, queries=100, calibration="gru12")
    with pytest.raises(AccuracyWarning, match="worthless at this size"):  # an error in tests
        session_of(graph, store=store, **terms)
    assert not store.exists()
    with pytest.warns(AccuracyWarning, match="guaranteed within") as caught:
        session_of(graph, store=store, **terms).close()
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was paid for: nothing is left to warn of
        gc.open_session(graph, store=store).close()


@pytest.mark.thorough
@pytest.mark.parametrize("n", [12, 40, 200])
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_what_the_warning_offers_is_not_worthless(n, calibration):
    universe, grid, numbers = Universe(n), Grid(), {"delta": 1e-6, "queries": 200}
    terms = SessionTerms.of(method="frieze-kannan", calibration=calibration, epsilon=0.9, **numbers)
    warning = terms.warning(universe, grid)
    trivial = (n // 2) * (n - n // 2) / 2
    if terms.expected_error(universe, grid) < trivial:
        assert warning is None
        assert (n, calibration) == (200, "tight")
        return
    method = re.search(r"method '([a-z-]+)'", warning).group(1)
    epsilon = re.search(r"epsilon = ([0-9.]+)", warning)
    enough = 0.9 if epsilon is None else float(epsilon.group(1))
    better = SessionTerms.of(method=method, epsilon=enough, **numbers)
    assert better.expected_error(universe, grid) < trivial
    if epsilon is not None:
        less = SessionTerms.of(method="auto", epsilon=0.85 * enough, **numbers)
        assert less.resolved(universe, grid).expected_error(universe, grid) >= trivial


def test_no_warning_where_weights_have_no_bound_and_none_beyond_help():
    terms = SessionTerms.of(method="laplace", epsilon=1e-6, queries=10**6)
    assert terms.warning(Universe(5), Grid(0.5, 2, None)) is None
    hopeless = SessionTerms.of(method="laplace", epsilon=0.1, queries=10**9)
    assert "no epsilon in range" in hopeless.warning(Universe(2), Grid())
    many = SessionTerms.of(method="laplace", epsilon=1.0, delta=1e-6, queries=10**6)
    assert "calibration 'tight' guarantees" in many.warning(Universe(200), Grid())


def test_a_guess_of_the_edges_of_a_small_graph_leaves_room_for_what_must_be_learnt():
    """A complete graph would need no updates: the least error, and a guarantee that is not kept."""
    universe, grid = Universe(12), Grid()
    terms = SessionTerms.of(**terms_of("multiplicative-weights", epsilon=9.0, queries=50))
    half = expecting(terms, universe.size / 2)
    assert terms.expected_error(universe, grid) == half.expected_error(universe, grid)
