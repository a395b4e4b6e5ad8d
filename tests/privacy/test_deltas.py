"""A delta that is too large is announced, at every door, before anything is spent."""

import warnings

import pytest
from offline_calls import learn, sense

import graphcuts_dp as gc
from graphcuts_dp.errors import PrivacyWarning
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.ledger.opening import Store, create_ledger
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.guarantee import delta_warning
from graphcuts_dp.server.approval import forecast

LARGE = 0.3  # one in four vertices is less


def graph():
    return gc.Graph([0, 1], [1, 2], vertices=4)


def a_map():
    return gc.Metric.from_graph(gc.Graph([0, 1, 2], [1, 2, 3], vertices=4))


CUTS = [gc.CutQuery([0]), gc.CutQuery([1, 2])]
DOORS = {
    "flows": lambda given: gc.release_flows(
        graph(), gc.Groups(gc.VertexSet(4), {"half": [0, 0, 1, 1]}), noise="gaussian", **given
    ),
    "release_iteratively": lambda given: learn(graph(), queries=CUTS, rounds=1, **given),
    "a query player": lambda given: learn(graph(), queries=CUTS, rounds=2, player="query", **given),
    "sensing": lambda given: sense(
        gc.BipartiteGraph([0, 1, 2], [1, 0, 1], left=2 + 1, right=2), CUTS, rounds=1, **given
    ),
    "distances": lambda given: gc.answer_distances(
        a_map(), [0, 0, 3, 1], noise="gaussian", mechanism="per-query", **given
    ),
    "session": lambda given: gc.open_session(
        graph(), queries=5, method="gaussian", **given
    ).close(),
    "distance session": lambda given: gc.open_distance_session(
        a_map(), [0, 0, 3, 1], queries=2, **given
    ).close(),
}
pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


@pytest.mark.parametrize("door", DOORS)
def test_it_is_announced_at_every_door_before_anything_is_spent(door, tmp_path):
    store = tmp_path / "x.db"
    given = {"epsilon": 1.0, "delta": LARGE, "store": store}
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        with pytest.raises(PrivacyWarning, match=r"delta = 0\.3 is above 0\.001: with so large"):
            DOORS[door](given)
        assert not store.exists()
        DOORS[door](given | {"delta": 1e-4})
    with pytest.warns(PrivacyWarning, match="the promise to somebody may fail"):
        DOORS[door](given | {"store": tmp_path / "y.db"})


def test_a_budget_is_announced_before_its_store_is_made(tmp_path):
    store = Store(tmp_path / "x.db", budget=(1.0, 0.01))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        with pytest.raises(PrivacyWarning, match=r"delta = 0\.01 is above"):
            create_ledger(store, graph(), protects="1 edge")
    assert not store.exists


def test_a_resumed_session_spends_nothing_and_announces_nothing(tmp_path):
    given = {"store": tmp_path / "x.db", "epsilon": 1.0, "delta": LARGE}
    with pytest.warns(PrivacyWarning):
        DOORS["session"](given)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        gc.open_session(graph(), store=given["store"]).close()


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
    universe, grid = Universe.of(graph()), Grid.of(graph())
    for delta, told in ((LARGE, True), (1e-6, False)):
        terms = {"epsilon": 1.0, "queries": 5, "method": "gaussian", "delta": delta}
        found = forecast(terms, universe, grid).warning
        assert ("the promise to somebody may fail" in (found or "")) == told
