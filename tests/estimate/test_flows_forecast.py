"""Forecasts of flows: formulas for one level, and what releases then have."""

import math

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.estimate.strategy import equal_groups, forecast_flows

GROUPS = gc.Groups(gc.VertexSet(60), {"state": np.arange(60) // 20, "county": np.arange(60) // 5})
ONE = gc.Groups(gc.VertexSet(60), {"county": np.arange(60) // 5})


def test_one_level_has_the_errors_of_its_noise():
    made = forecast_flows(ONE, epsilon=1.0)
    (level,) = made.levels
    deviation = 1 / (math.sqrt(2) * math.sinh(0.5))
    assert level.cell == pytest.approx(deviation)
    assert level.within == 3
    assert (level.groups, level.cells, level.share) == ((12, 12), 78, 1.0)
    assert level.half == pytest.approx(deviation * 6)  # 6 groups against 6
    assert level.union == pytest.approx(deviation * 3)  # 3 against 3
    assert made.total == pytest.approx(deviation * math.sqrt(78))
    assert level.all_within > level.within
    assert (made.noise, made.delta, made.workload) == ("laplace", 0.0, "all levels")


@pytest.mark.parametrize("workload", ["all cells", "all levels", "totals", "state"])
def test_releases_have_the_errors_that_were_forecast(workload):
    made = forecast_flows(GROUPS.tree, epsilon=0.5, workload=workload)
    graph = gc.Graph([0], [1], vertices=60)
    flows = gc.release_flows(graph, GROUPS, epsilon=0.5, workload=workload, seed=1)
    assert made.total == pytest.approx(flows.total.deviation)
    for level in made.levels:
        place = flows.cells.place(level.level)
        assert level.cell == pytest.approx(math.sqrt(flows.fit.variances[place].mean()))
        assert level.within == pytest.approx(flows._radii(place, 0.95, False).max())
        assert level.all_within == pytest.approx(flows._radii(place, 0.95, True).max())
    left = range(6)
    half = flows.between(left, range(6, 12))
    assert made.levels[1].half == pytest.approx(half.deviation)
    assert len(made.notes) == 2
    assert "level 'county'" in made.notes[1]


def test_caps_scale_errors_and_directions_and_sides_count():
    plain, capped = (forecast_flows(GROUPS, epsilon=1.0, weight_cap=cap) for cap in (None, 8.0))
    assert capped.levels[0].cell == pytest.approx(8 * plain.levels[0].cell, rel=0.06)
    directed = forecast_flows(GROUPS, epsilon=1.0, directed=True)
    assert directed.levels[1].cells == 144
    sides = forecast_flows((ONE, ONE), epsilon=1.0)
    assert sides.levels[0].cells == 144
    single = forecast_flows(gc.Groups(gc.VertexSet(5), {"all": [0] * 5}), epsilon=1.0)
    assert math.isnan(single.levels[0].half)
    assert single.to_dict()["levels"][0]["half"] is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"epsilon": -1}, "epsilon"),
        ({"weight_cap": 0}, "weight_cap"),
        ({"noise": "gaussian"}, "needs a delta"),
        ({"noise": "uniform"}, "unknown noise"),
        ({"workload": "town"}, "unknown workload"),
        ({"groups": gc.Groups(gc.VertexSet(1), {"all": [0]})}, "no pairs"),
    ],
)
def test_what_is_out_of_range_is_refused(options, told):
    given = {"groups": GROUPS, "epsilon": 1.0} | options
    with pytest.raises(GraphCutsError, match=told):
        forecast_flows(given.pop("groups"), **given)


def test_there_are_at_most_so_many_groups():
    with pytest.raises(ParameterError, match="at most 2,000 groups"):
        equal_groups(10**4, [3000])
    groups = equal_groups(1000, [4, 16])
    assert groups.sizes("level 2").tolist() == [63] * 8 + [62] * 8
    assert groups.parents("level 2").tolist() == np.repeat(np.arange(4), 4).tolist()
