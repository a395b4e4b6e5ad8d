"""The error that a session forecasts, the one that it is chosen for, and the one that it has."""

import itertools
import re
import warnings
from dataclasses import replace

import pytest
from helpers import expecting
from online_cases import CONSTRUCTIONS, METHODS, community_graph, suits, terms_of, two_communities

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning, ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.bounds import Setting
from graphcuts_dp.learn.calibrations import CALIBRATIONS, guaranteed_error
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.distributions import ValueNoise
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.terms import SessionTerms

N = 30


def knowing(mechanism, total):
    """The mechanism with a total weight that it need not buy."""
    known = isinstance(mechanism, OnlineMechanism)
    return replace(mechanism, total_weight=total) if known else mechanism


def runs(method):
    if method in CONSTRUCTIONS:
        return [{"calibration": name} for name in CALIBRATIONS] + [{"value_share": 0.4}]
    return [{}]


CASES = [
    (method, kind, disjoint, public, run)
    for method in METHODS
    for kind in ("plain", "bipartite", "capped", "uncapped")
    for disjoint in (False, True)
    for public in (False, True)
    for run in runs(method)
    if suits(method, kind)
    and not (disjoint and method not in ("frieze-kannan", "binary"))  # which go by the sets
]


@pytest.mark.parametrize(("method", "kind", "disjoint", "public", "run"), CASES)
def test_forecast_and_widest_interval_are_the_same_number(
    method, kind, disjoint, public, run, monkeypatch
):
    graph = community_graph(kind, N, 2.5, (0.1, 2.5))
    universe, grid = Universe.of(graph), Grid.of(graph)
    total = grid.total(graph) * grid.unit
    given = terms_of(method, epsilon=1.0, queries=20, disjoint=disjoint, **run)
    parameters = SessionTerms.of(**given)
    mechanism, source = parameters.mechanism(universe, grid), SeededEntropy(1)
    if public:
        mechanism = knowing(mechanism, total)
    with monkeypatch.context() as still:  # the one thing that a forecast cannot know
        still.setattr(ValueNoise, "draw", lambda *_: 0)
        state = mechanism.start(graph, source)
    bound = mechanism.error_bound(state)
    edges = total / (grid.unit * grid.sensitivity)
    expected = (
        mechanism.expected_error(total)
        if public
        else expecting(parameters, edges).expected_error(universe, grid)
    )
    assert expected == pytest.approx(bound, rel=1e-9)
    everything = range(N)
    query = gc.CutQuery(everything, everything)
    if disjoint and kind != "bipartite":
        query = gc.CutQuery(range(N // 2))
    _, answer = mechanism.step(state, query, grid.count(query, graph), source)
    low, high = answer.interval
    half_width = max(answer.value - low, high - answer.value)
    assert half_width <= bound * (1 + 1e-6)
    if "value_share" not in run and not (answer.updates and run):  # those are bought
        cut = grid.rounding(universe.size) - grid.rounding(int(universe.norm_squared(query)))
        assert half_width == pytest.approx(bound - cut, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "disjoint", "delta"),
    [
        ("plain", False, 1e-6),
        ("plain", True, 1e-6),
        ("plain", True, 0.0),
        ("bipartite", False, 1e-6),
        ("capped", False, 1e-6),
        ("uncapped", False, 0.0),
    ],
)
def test_auto_takes_the_method_whose_intervals_are_least_wide(kind, disjoint, delta, monkeypatch):
    monkeypatch.setattr(ValueNoise, "draw", lambda *_: 0)  # the totals are as expected
    graph = community_graph(kind, N, 2.5, (0.1, 2.5))
    universe, grid = Universe.of(graph), Grid.of(graph)
    edges = grid.total(graph) / grid.sensitivity
    for queries, epsilon in itertools.product((1, 10**4), (0.3, 5.0)):
        numbers = {"epsilon": epsilon, "delta": delta, "queries": queries, "disjoint": disjoint}
        bounds = {}
        for method in METHODS:
            try:
                made = SessionTerms.of(method=method, **numbers)
                mechanism = made.mechanism(universe, grid)
                state = mechanism.start(graph, SeededEntropy(1))
            except ParameterError:  # needs delta, a cap, or a graph without weights
                continue
            bounds[method] = mechanism.error_bound(state)
        chosen = SessionTerms.of(**numbers, expected_edges=edges).resolved(universe, grid)
        assert bounds[chosen.method.name] == min(bounds.values())
        forecast = chosen.expected_error(universe, grid)
        assert forecast == pytest.approx(bounds[chosen.method.name], rel=1e-9)


def test_auto_does_not_count_on_disjoint_sets_that_nobody_announced():
    """Frieze-Kannan is the best for disjoint sets here, and Gaussian noise for all others."""
    universe, grid = Universe(10_000), Grid()
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 3 * 10**6, "expected_edges": 1e5}
    for disjoint, best in ((False, "gaussian"), (True, "frieze-kannan")):
        chosen = SessionTerms.of(**terms, disjoint=disjoint).resolved(universe, grid)
        assert chosen.method.name == best


@pytest.mark.parametrize("n", [40, 500, (30, 70)])
@pytest.mark.parametrize("method", METHODS)
def test_plans_and_sessions_about_disjoint_sets_promise_the_same(method, n):
    """A plan knows the number of edges; a session, if it is told, has the same error."""
    universe = Universe(n) if isinstance(n, int) else Universe(*n)
    numbers = {"epsilon": 2.0, "delta": 1e-6, "queries": 500}
    asked = gc.SessionWorkload(queries=500)
    setting = Setting(n=n, edges=200.0, workload=asked, epsilon=2.0, delta=1e-6)
    session = SessionTerms.of(method=method, disjoint=True, **numbers).mechanism(universe, Grid())
    planned = guaranteed_error(method, setting)
    # Noise of sessions is on whole numbers: up to three times a part of an edge is rounded.
    assert knowing(session, 200.0).expected_error(200.0) == pytest.approx(planned, rel=1e-3, abs=3)


# Warnings


def hopeless(n=12, **changes):
    return {
        "graph": two_communities(n, 1),
        "epsilon": 1.0,
        "delta": 1e-6,
        "queries": 100,
        "method": "frieze-kannan",
        "calibration": "gru12",
        **changes,
    }


def test_a_worthless_session_warns_before_anything_is_spent(tmp_path):
    with pytest.raises(AccuracyWarning, match="worthless at this size"):  # an error in tests
        session_of(store=tmp_path / "s.db", **hopeless())
    assert not (tmp_path / "s.db").exists()
    with pytest.warns(AccuracyWarning, match="promised within") as caught:
        session_of(store=tmp_path / "s.db", **hopeless()).close()
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was paid for: nothing is left to warn of
        gc.open_session(hopeless()["graph"], store=tmp_path / "s.db").close()


@pytest.mark.parametrize("n", [12, 40, 200])
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_what_the_warning_offers_is_not_worthless(n, calibration):
    universe, grid = Universe(n), Grid()
    parameters = SessionTerms.of(
        method="frieze-kannan",
        calibration=calibration,
        epsilon=0.9,
        delta=1e-6,
        queries=200,
    )
    warning = parameters.warning(universe, grid)
    trivial = (n // 2) * (n - n // 2) / 2
    if parameters.expected_error(universe, grid) < trivial:
        assert warning is None
        assert (n, calibration) == (200, "tight")
        return
    method = re.search(r"method '([a-z-]+)'", warning).group(1)
    epsilon = re.search(r"epsilon = ([0-9.]+)", warning)
    numbers = {"delta": 1e-6, "queries": 200}
    if epsilon is None:
        better = SessionTerms.of(method=method, epsilon=0.9, **numbers)
    else:
        better = SessionTerms.of(method=method, epsilon=float(epsilon.group(1)), **numbers)
        less = SessionTerms.of(method="auto", epsilon=0.85 * better.epsilon, **numbers)
        assert less.resolved(universe, grid).expected_error(universe, grid) >= trivial
    assert better.expected_error(universe, grid) < trivial


def test_no_warning_where_weights_have_no_bound_and_none_beyond_help():
    parameters = SessionTerms.of(method="laplace", epsilon=1e-6, queries=10**6)
    assert parameters.warning(Universe(5), Grid(0.5, 2, None)) is None
    hopeless = SessionTerms.of(method="laplace", epsilon=0.1, queries=10**9)
    assert "no epsilon in range" in hopeless.warning(Universe(2), Grid())
    many = SessionTerms.of(method="laplace", epsilon=1.0, delta=1e-6, queries=10**6)
    assert "calibration 'tight' promises" in many.warning(Universe(200), Grid())


def test_a_guess_of_the_edges_of_a_small_graph_leaves_room_for_what_must_be_learnt():
    """A complete graph would need no updates: the least error, and a promise that nobody keeps."""
    universe, grid = Universe(12), Grid()
    parameters = SessionTerms.of(
        method="multiplicative-weights", epsilon=9.0, delta=1e-6, queries=50
    )
    half = expecting(parameters, universe.size / 2)
    assert parameters.expected_error(universe, grid) == half.expected_error(universe, grid)
