"""The budget shares of levels, against least squares and a fine search; forecasts of errors."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from flow_cases import random_cells

import graphcuts_dp as gc
from graphcuts_dp.estimate.consistency import LeastSquares
from graphcuts_dp.estimate.flow_errors import guaranteed_flows, level_errors
from graphcuts_dp.estimate.measurement import place_variances
from graphcuts_dp.estimate.strategy import (
    _TreeShape,
    choose_strategy,
    equal_groups,
)
from graphcuts_dp.schema.cells import CellTree


def regular_cells(*arities):
    """Return the cells of a tree in which each group of a level has as many parts.

    Each group of the finest level has five vertices.
    """
    labels, sizes, parents, count = {}, [], [], 1
    finest_groups = math.prod(arities)
    for level, arity in enumerate(arities):
        parents.append(np.repeat(np.arange(count), arity))
        count *= arity
        labels[f"level {level}"] = range(count)
        sizes.append(np.full(count, 5 * finest_groups // count))
    return CellTree(gc.GroupTree(labels, sizes, parents))


@pytest.mark.parametrize("kind", ["one set", "directed", "two sides"])
@pytest.mark.parametrize(
    "variances",
    [
        pytest.param([2.0, 3.0, 5.0, 1.0], id="all levels"),
        pytest.param([np.inf, 1.0, np.inf, 4.0], id="two levels"),
        pytest.param([np.inf, np.inf, np.inf, 2.0], id="the finest level"),
    ],
)
def test_mean_variances_are_those_of_least_squares(kind, variances):
    cells = random_cells(np.random.default_rng(4), kind)
    fit = LeastSquares(cells, np.array(variances))
    expected = [of_level.mean() for of_level in fit.variances]
    assert np.allclose(_TreeShape.of(cells).mean_variances(np.array(variances)), expected)


# How much a workload weights the variances of the levels: everything, 3 groups, 12 groups. Three
# groups have 6 pairs of groups and 12 have 78.
LEVEL_WEIGHTS = {
    "all cells": [0, 6 / 84, 78 / 84],
    "all levels": [0, 0.5, 0.5],
    "totals": [1, 0, 0],
    "level 0": [0, 1, 0],
    "level 1": [0, 0, 1],
}


def variances_of_shares(strategy, shares):
    """Return the noise variances of levels with these shares of the budget of a strategy."""
    with np.errstate(divide="ignore", over="ignore"):
        if strategy.noise.distribution == "laplace":  # of rate epsilon = share
            return 0.5 / np.sinh(shares / 2) ** 2
        changes = [(1, 1)] * len(strategy.measured_levels)
        return 1 / (2 * strategy.noise.cost(delta=1e-6, changes=changes).rho * shares)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("workload", LEVEL_WEIGHTS)
def test_no_other_shares_are_better_by_more_than_a_thousandth(workload, delta):
    cells, level_weights = regular_cells(3, 4), np.array(LEVEL_WEIGHTS[workload])
    strategy = choose_strategy(cells, epsilon=1.0, delta=delta, workload=workload)
    assert sum(strategy.shares) == 1

    most_for_coarse_levels = 1 - 13 / 128  # the finest level keeps a tenth
    grid = np.linspace(0, most_for_coarse_levels, 20)
    shape = _TreeShape.of(cells)
    least = min(
        shape.mean_variances(
            variances_of_shares(strategy, np.array([first, second, 1 - first - second]))
        )
        @ level_weights
        for first, second in itertools.product(grid, grid)
        if first + second <= most_for_coarse_levels + 1e-9
    )

    assert np.array(strategy.deviations) ** 2 @ level_weights <= least * 1.001


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("workload", LEVEL_WEIGHTS)
def test_estimates_are_at_least_as_good_as_the_measurements_of_their_level(workload, delta):
    strategy = choose_strategy(regular_cells(3, 4), epsilon=1.0, delta=delta, workload=workload)
    measured = place_variances(strategy.noise, strategy.measured_levels, 3)
    is_measured = np.isfinite(measured)
    assert np.flatnonzero(is_measured).tolist() == list(strategy.measured_levels)
    variances = np.array(strategy.deviations) ** 2
    assert (variances[is_measured] <= measured[is_measured] * (1 + 1e-9)).all()


def test_one_level_gets_everything_and_many_levels_take_gaussian_noise():
    one_level = choose_strategy(regular_cells(20), epsilon=1.0, delta=1e-6)
    assert one_level.measured_levels == (1,)
    assert one_level.shares == (1,)
    assert one_level.noise.distribution == "laplace"
    assert one_level.noise.parameters == (Fraction(1),)
    five_levels = choose_strategy(
        regular_cells(2, 2, 2, 2, 2), epsilon=1.0, delta=1e-2, workload="all levels"
    )
    assert five_levels.noise.distribution == "gaussian"


def test_many_levels_without_a_delta_take_laplace_noise():
    strategy = choose_strategy(regular_cells(2, 2, 2, 2, 2), epsilon=1.0, workload="all levels")
    assert strategy.noise.distribution == "laplace"


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 50.0])
@pytest.mark.parametrize("sensitivity", [1, 1000])
def test_the_noise_costs_epsilon_and_delta_and_the_finest_level_has_a_tenth_of_it(
    epsilon, delta, sensitivity
):
    changes = ((sensitivity, sensitivity**2),) * 3
    strategy = choose_strategy(regular_cells(3, 2), epsilon=epsilon, delta=delta, changes=changes)
    changes_of_measured = [changes[level] for level in strategy.measured_levels]
    cost = strategy.noise.cost(delta=max(delta, 1e-9), changes=changes_of_measured)
    if strategy.noise.distribution == "laplace":
        assert cost.pure == Fraction(epsilon)
    else:
        assert cost.keeps(epsilon=epsilon, delta=delta)
    assert strategy.measured_levels[-1] == 2
    assert strategy.shares[-1] > Fraction(1, 10)


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("arities", [(3, 3), (10, 20), (4, 5, 5), (2, 3, 5, 5), (40, 2)], ids=str)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_default_workload_neglects_no_level(arities, delta):
    """The error of a level is at most as many times its best one as there are levels.

    The workload "all cells" neglects the first level.
    """
    cells = regular_cells(*arities)
    default = choose_strategy(cells, epsilon=1.0, delta=delta)
    assert default.workload == "all levels"
    for level_index, level in enumerate(cells.levels, start=1):
        best = choose_strategy(cells, epsilon=1.0, delta=delta, workload=level)
        ratio = default.deviations[level_index] / best.deviations[level_index]
        assert ratio <= 1.05 * len(arities)
    if len(arities) > 2:
        all_cells = choose_strategy(cells, epsilon=1.0, delta=delta, workload="all cells")
        assert all_cells.deviations[1] > 2 * default.deviations[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1, "delta": 1.0}, "delta"),
        ({"epsilon": 1, "delta": -0.1}, "delta"),
        ({"epsilon": 1, "noise": "gaussian"}, "needs a delta"),
        ({"epsilon": 1, "noise": "uniform"}, "unknown noise"),
        ({"epsilon": 1, "workload": "county"}, "unknown workload 'county'.*'level 0'"),
        ({"epsilon": 1e-6, "changes": ((2**40, 2**80),) * 3}, "too small"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(gc.ParameterError, match=message):
        choose_strategy(regular_cells(3, 2), **options)


def test_groups_without_a_pair_have_no_cells():
    with pytest.raises(gc.GraphError, match="no pairs"):
        CellTree(gc.Groups(gc.VertexSet(1), {"all": [0]}))


# Forecasts of errors.

VERTICES = gc.VertexSet(60)
STATES, COUNTIES = np.arange(60) // 20, np.arange(60) // 5  # 3 states, 12 counties
TWO_LEVELS = gc.Groups(VERTICES, {"state": STATES, "county": COUNTIES})


def test_errors_of_one_level_are_those_of_its_noise():
    cells = CellTree(gc.Groups(VERTICES, {"county": COUNTIES}))
    strategy = choose_strategy(cells, epsilon=1.0)
    assert (strategy.noise.distribution, strategy.workload) == ("laplace", "all levels")
    (level,) = level_errors(cells, strategy, unit=1.0)
    deviation = 1 / (math.sqrt(2) * math.sinh(0.5))  # of discrete Laplace noise of rate 1
    assert level.cell == pytest.approx(deviation)
    assert level.half_width == 3
    assert level.simultaneous_half_width > level.half_width
    assert strategy.deviations[0] == pytest.approx(deviation * math.sqrt(78))  # of all 78 cells
    errors = guaranteed_flows(cells, strategy, failure=0.05)
    assert errors["half"][1] == pytest.approx(deviation * 6)  # 6 x 6 cells
    assert errors["union"][1] == pytest.approx(deviation * 3)  # 3 x 3 cells


@pytest.mark.parametrize("workload", ["all cells", "all levels", "totals", "state"])
def test_releases_have_the_forecast_errors(workload):
    cells = CellTree(TWO_LEVELS.tree)
    strategy = choose_strategy(cells, epsilon=0.5, workload=workload)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gc.AccuracyWarning)  # noise exceeds counties in some
        flows = gc.release_flows(
            gc.Graph([0], [1], vertices=60),
            TWO_LEVELS,
            epsilon=0.5,
            workload=gc.FlowWorkload(accurate=workload, expected_cell=0),
            seed=1,
        )

    forecast = level_errors(cells, strategy, unit=1.0)
    assert [level.level for level in forecast] == ["state", "county"]
    assert "level 'county'" in forecast[1].note
    for level in forecast:
        index = flows.cells.level_index(level.level)
        assert level.cell == pytest.approx(math.sqrt(flows.fit.variances[index].mean()))
        assert level.half_width == pytest.approx(flows._radii(index, 0.95, False).max())
        assert level.simultaneous_half_width == pytest.approx(flows._radii(index, 0.95, True).max())
    assert strategy.deviations[0] == pytest.approx(flows.total.deviation)
    half_of_counties = flows.between(range(6), range(6, 12))
    _, deviation = guaranteed_flows(cells, strategy, failure=0.05)["half"]
    assert deviation == pytest.approx(half_of_counties.deviation)


def test_errors_grow_with_the_value_of_a_grid_unit():
    cells = CellTree(TWO_LEVELS)
    strategy = choose_strategy(cells, epsilon=1.0)
    (plain, *_), (scaled, *_) = (level_errors(cells, strategy, unit=unit) for unit in (1.0, 8.0))
    assert scaled[1:] == pytest.approx(8 * np.array(plain[1:]))


def test_one_group_has_a_forecast_for_its_cell_alone():
    cells = CellTree(gc.Groups(gc.VertexSet(5), {"all": [0] * 5}))
    errors = guaranteed_flows(cells, choose_strategy(cells, epsilon=1.0), failure=0.1)
    assert list(errors) == ["cell"]


def test_equal_groups_differ_by_one_vertex_at_most():
    groups = equal_groups(1000, [4, 16])
    assert groups.sizes("level 2").tolist() == [63] * 8 + [62] * 8
    assert groups.parents("level 2").tolist() == np.repeat(np.arange(4), 4).tolist()


def test_more_than_2000_equal_groups_are_refused():
    with pytest.raises(gc.ParameterError, match="at most 2,000 groups"):
        equal_groups(10**4, [3000])
