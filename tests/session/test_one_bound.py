"""A bound stands once: whoever changes one of its constants changes plan, forecast and session."""

from dataclasses import replace

import pytest
from online_cases import two_communities

import graphcuts_dp as gc
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn import bounds
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.learners import CONSTRUCTIONS
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy import composition
from graphcuts_dp.privacy.distributions import ValueNoise
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.terms import SessionTerms

N = 60
NUMBERS = {"epsilon": 1.0, "queries": 10}


def planned(method, calibration):
    """Plans list the papers' own constructions, and mirror descent for JT12."""
    return method != "mirror-descent" or calibration in ("tight", "jt12")


ROWS = [
    *((method, name) for method in CONSTRUCTIONS for name in CALIBRATIONS if planned(method, name)),
    *((method, "") for method in ("gaussian", "laplace", "binary")),
]


def stated(folder, method, calibration):
    """What a plan, a forecast and a session say of one mechanism."""
    graph = two_communities(N, 1)
    edges = len(graph.rows)
    delta = {} if method in ("laplace", "binary") else {"delta": 1e-6}
    workload = gc.SessionWorkload(queries=10, disjoint=True, expected_edges=edges)
    plan = gc.plan(N, queries=workload, epsilon=1.0, delta=1e-6)
    found = [
        row.guaranteed
        for row in plan.rows
        if (row.method, row.calibration) == (method, calibration) and row.cuts in ("any k", "all")
    ]
    given = {"method": method, "disjoint": True, **delta, **NUMBERS}
    given |= {"calibration": calibration} if calibration else {}
    terms = SessionTerms.of(expected_edges=edges, **given)
    with session_of(graph, store=folder, seed=1, **given) as session:
        bound = session.error_bound
    return min(found), terms.expected_error(Universe(N), Grid()), bound


def change(monkeypatch, method, calibration):
    """One constant, or what the noise on one answer can be off by: a good deal more."""
    if calibration in bounds.PAPERS:
        known = bounds.PAPERS[calibration]
        changed = bounds.PAPERS | {calibration: replace(known, error=2 * known.error)}
        monkeypatch.setattr(bounds, "PAPERS", changed)
    elif calibration:
        monkeypatch.setattr(composition, "_OF_TESTS", 4e40)
    elif method == "binary":
        monkeypatch.setattr(bounds, "_PLACES", {True: 81, False: 256})
        bounds.all_cuts_radius.cache_clear()
    else:
        radius = ValueNoise.radius
        monkeypatch.setattr(ValueNoise, "radius", lambda *noise: 2 * radius(*noise))


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize(("method", "calibration"), ROWS)
def test_a_constant_changes_all_who_state_the_bound(tmp_path, monkeypatch, method, calibration):
    before = stated(tmp_path / "a.db", method, calibration)
    with monkeypatch.context() as changed:
        change(changed, method, calibration)
        after = stated(tmp_path / "b.db", method, calibration)
    bounds.all_cuts_radius.cache_clear()
    ratios = [late / early for early, late in zip(before, after, strict=True)]
    # A tight session has a little less than a plan: it buys the number of edges.
    near = 0.15 if calibration == "tight" else 0.03
    assert ratios == pytest.approx([ratios[0]] * 3, rel=near)
    assert ratios[0] > 1.4
