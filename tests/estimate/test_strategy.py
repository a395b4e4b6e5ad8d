"""The shares of levels: formulas against least squares, and against a fine search; forecasts."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from flow_cases import random_cells

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, GraphError, GroupTree, ParameterError
from graphcuts_dp.estimate.consistency import LeastSquares
from graphcuts_dp.estimate.flow_errors import guaranteed_flows, level_errors
from graphcuts_dp.estimate.measurement import place_variances
from graphcuts_dp.estimate.strategy import (
    _TreeShape,
    choose_strategy,
    equal_groups,
)
from graphcuts_dp.schema.cells import CellTree


def regular(*arities, size=5):
    """A tree in which every group of a level has as many parts."""
    labels, sizes, parents, count = {}, [], [], 1
    leaves = int(np.prod(arities))
    for level, arity in enumerate(arities):
        parents.append(np.repeat(np.arange(count), arity))
        count *= arity
        labels[f"level {level}"] = range(count)
        sizes.append(np.full(count, size * leaves // count))
    return CellTree(GroupTree(labels, sizes, parents))


@pytest.mark.parametrize("kind", ["one set", "directed", "two sides"])
def test_mean_variances_are_those_of_least_squares(kind):
    cells = random_cells(np.random.default_rng(4), kind)
    for variances in ([2.0, 3.0, 5.0, 1.0], [np.inf, 1.0, np.inf, 4.0], [np.inf] * 3 + [2.0]):
        fit = LeastSquares(cells, np.array(variances))
        means = [part.mean() for part in fit.variances]
        assert np.allclose(_TreeShape.of(cells).mean_variances(np.array(variances)), means)


# Of each workload, the part of every level; 3 groups have 6 pairs of groups, 12 have 78.
WANTED = {
    "all cells": [0, 6 / 84, 78 / 84],
    "all levels": [0, 0.5, 0.5],
    "totals": [1, 0, 0],
    "level 0": [0, 1, 0],
    "level 1": [0, 0, 1],
}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("workload", WANTED)
def test_no_other_shares_are_much_better(workload, delta):
    cells, wanted = regular(3, 4), np.array(WANTED[workload])
    made = choose_strategy(cells, epsilon=1.0, delta=delta, workload=workload)
    assert sum(made.shares) == 1
    most = 1 - 13 / 128  # the finest level keeps a tenth
    grid, best = np.linspace(0, most, 20), np.inf
    for root, top in itertools.product(grid, grid):
        if root + top > most + 1e-9:
            continue
        shares = np.array([root, top, 1 - root - top])
        with np.errstate(divide="ignore", over="ignore"):
            if made.noise.distribution == "laplace":
                variances = 0.5 / np.sinh(shares / 2) ** 2
            else:
                rho = made.noise.cost(delta=1e-6, changes=[(1, 1)] * len(made.measured_levels)).rho
                variances = 1 / (2 * rho * shares)
        best = min(best, _TreeShape.of(cells).mean_variances(variances) @ wanted)
    assert np.array(made.deviations) ** 2 @ wanted <= best * 1.001
    alone = place_variances(
        made.noise, made.measured_levels, 3
    )  # what measured places have by themselves
    measured = [place in made.measured_levels for place in range(3)]
    assert np.isfinite(alone).tolist() == measured
    assert (np.array(made.deviations)[measured] ** 2 <= alone[measured] * (1 + 1e-9)).all()


def test_one_level_gets_everything_and_many_levels_take_gaussian_noise():
    one = choose_strategy(regular(20), epsilon=1.0, delta=1e-6)
    assert one.measured_levels == (1,)
    assert one.shares == (1,)
    assert one.noise.distribution == "laplace"
    assert one.noise.parameters == (Fraction(1),)
    many = regular(2, 2, 2, 2, 2)
    for delta, noise in ((0.0, "laplace"), (1e-2, "gaussian")):
        made = choose_strategy(many, epsilon=1.0, delta=delta, workload="all levels")
        assert made.noise.distribution == noise


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 50.0])
@pytest.mark.parametrize("sensitivity", [1, 1000])
def test_what_is_chosen_costs_what_was_asked_for(epsilon, delta, sensitivity):
    changes = ((sensitivity, sensitivity**2),) * 3
    made = choose_strategy(regular(3, 2), epsilon=epsilon, delta=delta, changes=changes)
    measured = [changes[place] for place in made.measured_levels]
    cost = made.noise.cost(delta=max(delta, 1e-9), changes=measured)
    if made.noise.distribution == "laplace":
        assert cost.pure == Fraction(epsilon)
    else:
        assert cost.keeps(epsilon=epsilon, delta=delta)
    assert made.measured_levels[-1] == 2
    assert made.shares[-1] > Fraction(1, 10)


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize("arities", [(3, 3), (10, 20), (4, 5, 5), (2, 3, 5, 5), (40, 2)])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_default_starves_no_level(arities, delta):
    """No level errs by more times its own best than there are levels; "all cells" is not so."""
    cells = regular(*arities)
    default = choose_strategy(cells, epsilon=1.0, delta=delta)
    assert default.workload == "all levels"
    ratios = []
    for place, level in enumerate(cells.levels, start=1):
        alone = choose_strategy(cells, epsilon=1.0, delta=delta, workload=level)
        ratios.append(default.deviations[place] / alone.deviations[place])
    assert max(ratios) <= 1.05 * len(arities)
    if len(arities) > 2:
        finest = choose_strategy(cells, epsilon=1.0, delta=delta, workload="all cells")
        assert finest.deviations[1] > 2 * default.deviations[1]


@pytest.mark.parametrize(
    ("options", "told"),
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
def test_what_is_out_of_range_is_refused(options, told):
    with pytest.raises(ParameterError, match=told):
        choose_strategy(regular(3, 2), **options)


def test_groups_without_a_pair_have_no_cells():
    with pytest.raises(GraphError, match="no pairs"):
        CellTree(gc.Groups(gc.VertexSet(1), {"all": [0]}))


# What to expect of flows: formulas for one level, and what releases then have.

GROUPS = gc.Groups(gc.VertexSet(60), {"state": np.arange(60) // 20, "county": np.arange(60) // 5})
ONE = gc.Groups(gc.VertexSet(60), {"county": np.arange(60) // 5})


def test_one_level_has_the_errors_of_its_noise():
    cells = CellTree(ONE)
    strategy = choose_strategy(cells, epsilon=1.0)
    (level,) = level_errors(cells, strategy, unit=1.0)
    deviation = 1 / (math.sqrt(2) * math.sinh(0.5))
    assert level.cell == pytest.approx(deviation)
    assert level.half_width == 3
    told = guaranteed_flows(cells, strategy, failure=0.05)
    assert told["half"][1] == pytest.approx(deviation * 6)  # 6 groups against 6
    assert told["union"][1] == pytest.approx(deviation * 3)  # 3 against 3
    assert strategy.deviations[0] == pytest.approx(deviation * math.sqrt(78))
    assert level.simultaneous_half_width > level.half_width
    assert (strategy.noise.distribution, strategy.workload) == ("laplace", "all levels")


@pytest.mark.parametrize("workload", ["all cells", "all levels", "totals", "state"])
def test_releases_have_the_errors_that_were_forecast(workload):
    cells = CellTree(GROUPS.tree)
    strategy = choose_strategy(cells, epsilon=0.5, workload=workload)
    expected = level_errors(cells, strategy, unit=1.0)
    graph = gc.Graph([0], [1], vertices=60)
    work = gc.FlowWorkload(accurate=workload, expected_cell=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # noise hides counties in some
        flows = gc.release_flows(graph, GROUPS, epsilon=0.5, workload=work, seed=1)
    assert strategy.deviations[0] == pytest.approx(flows.total.deviation)
    for level in expected:
        place = flows.cells.level_index(level.level)
        assert level.cell == pytest.approx(math.sqrt(flows.fit.variances[place].mean()))
        assert level.half_width == pytest.approx(flows._radii(place, 0.95, False).max())
        assert level.simultaneous_half_width == pytest.approx(flows._radii(place, 0.95, True).max())
    left = range(6)
    half = flows.between(left, range(6, 12))
    told = guaranteed_flows(cells, strategy, failure=0.05)["half"]
    assert told[1] == pytest.approx(half.deviation)
    assert len(expected) == 2
    assert "level 'county'" in expected[1].note


def test_units_scale_errors_and_one_group_has_no_half():
    cells = CellTree(GROUPS)
    strategy = choose_strategy(cells, epsilon=1.0)
    plain, scaled = (level_errors(cells, strategy, unit=unit)[0] for unit in (1.0, 8.0))
    assert scaled[1:] == pytest.approx(8 * np.array(plain[1:]))
    alone = CellTree(gc.Groups(gc.VertexSet(5), {"all": [0] * 5}))
    assert list(guaranteed_flows(alone, choose_strategy(alone, epsilon=1.0), failure=0.1)) == [
        "cell"
    ]


def test_there_are_at_most_so_many_groups():
    with pytest.raises(ParameterError, match="at most 2,000 groups"):
        equal_groups(10**4, [3000])
    groups = equal_groups(1000, [4, 16])
    assert groups.sizes("level 2").tolist() == [63] * 8 + [62] * 8
    assert groups.parents("level 2").tolist() == np.repeat(np.arange(4), 4).tolist()
