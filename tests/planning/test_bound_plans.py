"""Plans for degree bounds, against what sessions and flows then state, and against the truth."""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError, PrivacyUnit
from graphcuts_dp.graph.grid import Grid, bounded_total
from graphcuts_dp.planning.bounds import plan_degree_bounds
from graphcuts_dp.plugins import Universe
from graphcuts_dp.session.terms import SessionTerms
from scripts.figures.random_graphs import planted_partition

GRAPH = planted_partition(200, 2, 0.2, 0.1, seed=1)
GROUPS = gc.Groups(GRAPH.vertices, {"half": [v % 2 for v in range(200)]})


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_cut_is_guaranteed_what_the_better_session_guarantees(delta):
    plan = plan_degree_bounds([20, 5], epsilon=1.0, delta=delta, queries=50)
    assert [row.max_degree for row in plan.rows] == [5, 20]
    methods = ("laplace", "gaussian") if delta else ("laplace",)
    for row in plan.rows:
        guarantee = {"epsilon": 1.0, "delta": delta, "queries": 50}
        guarantee["privacy_unit"] = PrivacyUnit.vertex(max_degree=row.max_degree)
        grid = Grid.of_vertices(GRAPH, row.max_degree)
        mechanisms = [
            SessionTerms.of(method=method, **guarantee).mechanism(Universe(200), grid)
            for method in methods
        ]
        errors = [mechanism.expected_error(0.0) for mechanism in mechanisms]
        assert row.cut == pytest.approx(min(errors), rel=1e-9)


def test_a_cell_is_told_the_noise_that_flows_have():
    plan = plan_degree_bounds([7], epsilon=1.0, groups=GROUPS)
    flows = gc.release_flows(
        GRAPH, GROUPS, epsilon=1.0, seed=0, privacy_unit=gc.PrivacyUnit.vertex(max_degree=7)
    )
    assert plan.rows[0].cell == pytest.approx(np.sqrt((flows.deviations() ** 2).mean()), rel=0.05)


def test_what_is_taken_is_within_what_is_told():
    degrees = np.bincount(np.concatenate([GRAPH.rows, GRAPH.columns]), minlength=200)
    plan = plan_degree_bounds([3, 20, 30, 100], epsilon=1.0, degrees=degrees)
    for row in plan.rows:
        lost = len(GRAPH.rows) - bounded_total(GRAPH, bound=row.max_degree)
        assert row.dropped_edges[0] <= lost <= row.dropped_edges[1] + 1
    assert plan.rows[-1].dropped_edges == (0, 0)
    assert "30" in str(plan)


def test_bounds_may_be_an_array():
    plan = plan_degree_bounds(np.array([5, 10]), epsilon=1.0)
    assert plan.rows == plan_degree_bounds([5, 10], epsilon=1.0).rows


def test_wrong_numbers_are_refused():
    for bounds, options in (([], {}), ([0], {}), ([3], {"queries": 0}), ([3], {"degrees": [-1]})):
        with pytest.raises(ParameterError):
            plan_degree_bounds(bounds, epsilon=1.0, **options)
