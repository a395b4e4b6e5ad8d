"""A bound stands once: whoever changes one of its constants changes plan, forecast and session."""

from dataclasses import replace

import pytest
from online_cases import two_communities

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn import bounds
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.session.terms import MultiplicativeWeights, SessionTerms

N = 60
NUMBERS = {"epsilon": 1.0, "delta": 1e-6, "queries": 10}


def stated(folder, calibration):
    """What a plan, a forecast and a session say of one mechanism."""
    graph = two_communities(N, 1)
    plan = gc.plan(N, edges=len(graph.rows), **NUMBERS)
    (row,) = [
        each
        for each in plan.rows
        if (each.method, each.calibration) == ("multiplicative-weights", calibration)
    ]
    terms = SessionTerms.of(
        method="multiplicative-weights",
        calibration=calibration,
        expected_edges=len(graph.rows),
        **NUMBERS,
    )
    method = MultiplicativeWeights(calibration=calibration)
    with (
        pytest.warns(AccuracyWarning),
        gc.open_session(graph, store=folder, method=method, seed=1, **NUMBERS) as session,
    ):
        bound = session.error_bound
    return row.guaranteed, terms.expected_error(Universe(N), Grid()), bound


@pytest.mark.parametrize("calibration", ["gru12", "jt12"])
def test_a_constant_changes_all_who_state_the_bound(tmp_path, calibration, monkeypatch):
    before = stated(tmp_path / "a.db", calibration)
    known = bounds.PAPERS[calibration]
    changed = {**bounds.PAPERS, calibration: replace(known, error=2 * known.error)}
    monkeypatch.setattr(bounds, "PAPERS", changed)
    after = stated(tmp_path / "b.db", calibration)
    for once, twice in zip(before, after, strict=True):
        assert twice == pytest.approx(2 * once, rel=1e-3)
