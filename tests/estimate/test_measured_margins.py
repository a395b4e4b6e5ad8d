"""Measured margins: their sensitivity, the least squares with them, and intervals that hold."""

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from flow_cases import fast_noise
from period_cases import cells_of
from test_cell_changes import GROUP_LABELS, TABLES, all_occurrences, cell_tree, cells_of_occurrence
from test_coverage import CONFIDENCE, RUNS, allowed

import graphcuts_dp as gc
from graphcuts_dp import ParameterError, flows_job
from graphcuts_dp.estimate import margin_fit
from graphcuts_dp.estimate.cell_changes import cell_changes, margin_change
from graphcuts_dp.estimate.margin_fit import MarginFit
from graphcuts_dp.estimate.strategy import MARGIN_SHARE, MARGINS, choose_strategy
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.measure.cells import margin_digits
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import Reach

ZONES = [f"z{number}" for number in range(24)]


def margin_matrix(cells):
    """Which finest cells each margin adds up, from what a margin is."""
    finest = cells.depth - 1
    (a, b), (rows, columns) = cells.cells(finest), cells.shape(finest)
    masks = []
    for period in range(len(cells.lengths(finest))):
        within = cells.periods_of(finest) == period
        if cells.symmetric:
            masks += [within & ((a == group) | (b == group)) for group in range(rows)]
            continue
        masks += [within & (a == group) for group in range(rows)]
        masks += [within & (b == group) for group in range(columns)]
    return np.array(masks, dtype=float)


def level_matrices(cells):
    """Which finest cells each cell of each level adds up."""
    found = [np.eye(cells.size(cells.depth - 1))]
    for level in range(cells.depth - 1, 0, -1):
        above = np.zeros((cells.size(level - 1), cells.size(level)))
        above[cells.parents(level), np.arange(cells.size(level))] = 1
        found.insert(0, above @ found[0])
    return found


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(("kind", "by", "loops"), TABLES)
def test_margins_change_by_no_more_than_stated(kind, by, loops, once, tail):
    every = list(all_occurrences(kind, loops))
    for groups, max_contributions in product(GROUP_LABELS, (1, 2, 3)):
        tree = cell_tree(kind, groups, by, loops)
        of_cells = margin_matrix(tree)
        cells = {each: cells_of_occurrence(tree, groups, by, each)[-1] for each in every}
        worst = np.zeros(2)
        ways = combinations if once else combinations_with_replacement
        for rows in ways(every, max_contributions):
            if tail and kind != "plain" and len({u for _, u, _ in rows}) > 1:
                continue
            if tail and kind == "plain" and not set.intersection(*({u, v} for _, u, v in rows)):
                continue
            sums = of_cells[:, [cells[row] for row in rows]].sum(axis=1)
            worst = np.maximum(worst, [sums.sum(), (sums**2).sum()])
        unit = gc.PrivacyUnit.user(max_contributions=max_contributions)
        total, squares = margin_change(tree, unit, capped=once, reach=Reach(once, tail))
        assert total == 2 * max_contributions
        assert worst[0] <= total
        assert worst[1] <= squares <= 2 * max_contributions**2


def test_a_user_can_change_margins_by_all_that_is_stated():
    """Tight where rows may repeat: all rows of a user in one cell."""
    tree = cell_tree("directed", GROUP_LABELS[1], "month", True)
    unit = gc.PrivacyUnit.user(max_contributions=3)
    assert margin_change(tree, unit, capped=False) == (6, 18)
    assert margin_change(tree, sensitivity=1024) == (2048, 2 * 1024**2)


@pytest.mark.parametrize("kind", ["plain", "directed", "bipartite"])
def test_edges_of_a_vertex_change_margins_by_no_more_than_their_cells(kind):
    groups = gc.Groups(gc.VertexSet(5), {"g": [0, 0, 1, 1, 2]}).tree
    right = gc.Groups(gc.VertexSet(3), {"h": [0, 1, 1]}).tree
    tree = CellTree(groups, right if kind == "bipartite" else None, directed=kind == "directed")
    unit = gc.PrivacyUnit.vertex(max_degree=2)
    total, squares = margin_change(tree, unit)
    in_cells, in_squares = cell_changes(tree, unit)[-1]
    assert in_cells <= total <= 2 * in_cells
    assert in_squares <= squares
    # Of the vertex in the group {4}: its edges to the others lie in as many cells and margins.
    assert total >= 2 * in_cells - 2


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("kind", ["directed", "undirected", "bipartite"])
@pytest.mark.parametrize("by", [None, "month", ("year", "month")])
@pytest.mark.parametrize("most_exact", [0, 1 << 16])
def test_estimates_are_those_of_dense_least_squares(kind, by, most_exact, monkeypatch):
    """With bounds on coefficients, and in small tables with the coefficients themselves."""
    monkeypatch.setattr(margin_fit, "_MOST_EXACT", most_exact)
    cells = cells_of(kind, by)
    variances = np.full(cells.depth, np.inf)
    variances[[1, -1]] = 3.0, 7.0
    if by is None:
        variances[0] = 2.0
    measured = np.flatnonzero(np.isfinite(variances)).tolist()
    levels, margins = level_matrices(cells), margin_matrix(cells)
    design = np.vstack([*(levels[level] for level in measured), margins])
    sizes = [len(levels[level]) for level in measured]
    precision = np.repeat(1 / np.append(variances[measured], 1.5), [*sizes, len(margins)])
    covariance = np.linalg.inv(design.T * precision @ design)
    estimator = covariance @ design.T * precision
    fit = MarginFit(cells, variances, 1.5)
    rng = np.random.default_rng(3)
    noisy = rng.normal(size=len(design))
    parts = dict(zip([*measured, cells.depth], np.split(noisy, np.cumsum(sizes)), strict=True))
    estimates = fit.estimates(parts)
    for level, adding in enumerate(levels):
        exact = adding @ estimator
        np.testing.assert_allclose(estimates[level], exact @ noisy, atol=1e-9)
        np.testing.assert_allclose(
            fit.variances[level], np.diag(adding @ covariance @ adding.T), rtol=1e-9
        )
        wanted = rng.normal(size=len(adding))
        found = fit.coefficients({level: wanted})
        expected = np.split(wanted @ exact, np.cumsum(sizes))
        for index, values in zip(parts, expected, strict=True):
            np.testing.assert_allclose(found[index], values, atol=1e-9)
        if not level:
            continue
        spread = fit.spreads(level)
        for index, values in zip(parts, np.split(exact, np.cumsum(sizes), axis=1), strict=True):
            squares = (values**2).sum(axis=1)
            np.testing.assert_allclose(spread.squares[:, index], squares, rtol=1e-7)
            assert (spread.squares[:, index] >= squares * (1 - 1e-12)).all()
            assert (spread.largest[:, index] >= np.abs(values).max(axis=1) * (1 - 1e-12)).all()
            assert (spread.absolute[:, index] >= np.abs(values).sum(axis=1) * (1 - 1e-12)).all()
            if most_exact:
                assert spread.least_largest is None
                np.testing.assert_allclose(spread.largest[:, index], np.abs(values).max(axis=1))
                continue
            assert (spread.least_largest[:, index] <= np.abs(values).max(axis=1) + 1e-14).all()


def trips(count=4000, seed=4, periods=None):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "who": rng.integers(90, size=count),
            "source": rng.choice(ZONES, size=count),
            "target": rng.choice(ZONES, size=count),
            "day": [f"2026-{month:02}-03" for month in rng.integers(1, 4, size=count)],
        }
    )
    columns = gc.Columns(
        source="source", target="target", user="who", period="day" if periods else None
    )
    return gc.Rows.of(frame, columns=columns, vertices=ZONES, periods=periods)


AREAS = gc.Groups(
    gc.VertexSet(ZONES), {"area": [f"a{i // 6}" for i in range(24)], "zone": list(ZONES)}
)
OPTIONS = {"epsilon": 1.0, "seed": 5, "privacy_unit": gc.PrivacyUnit.user(max_contributions=2)}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-6)])
@pytest.mark.parametrize("by", [None, "month", ("quarter", "month")])
def test_intervals_hold_cell_by_cell_and_margin_by_margin(noise, delta, by):
    rows = trips(periods=None if by is None else "2026-01..2026-03")
    groups = gc.Groups(gc.VertexSet(ZONES), {"zone": [f"a{i // 3}" for i in range(24)]})
    cells = flows_job(rows, groups, epsilon=1.0, by=by, privacy_unit="row").cells
    strategy = choose_strategy(
        cells, epsilon=1.0, delta=delta, noise=noise, margin_change=margin_change(cells)
    )
    flows = gc.release_flows(
        rows, groups, by=by, epsilon=1.0, delta=1e-6, measure_margins=True,
        privacy_unit="row", workload=gc.FlowWorkload(noise="gaussian"), seed=1,
    )  # fmt: skip
    kind = flows.noisy.map
    kind = type(kind)(**{**vars(kind), "measured_levels": strategy.measured_levels})
    sizes = kind.sizes([])
    noisy = type(flows.noisy)(
        name="flows",
        map=kind,
        steps=tuple(np.zeros(size, dtype=np.int64) for size in sizes),
        unit=1.0,
        noise=strategy.all_noise,
        changes=(((1, 1),) * (len(sizes) - 1)) + ((2, 2),),
    )
    made = gc.Flows(noisy=noisy, strategy=strategy, guarantee=flows.guarantee)
    rng, runs = np.random.default_rng(6), 800
    finest = cells.depth - 1
    of_cells = margin_matrix(cells)
    radii = made._radii(finest, CONFIDENCE, False)
    at_once = made._radii(finest, CONFIDENCE, True)
    margin_radii = []
    for mask in of_cells:
        spread = made.fit.spread_of(made.fit.coefficients({finest: mask}))
        radius = error_radii(noisy.noise, kind.noise_indices, spread, failure=1 - CONFIDENCE)[0]
        margin_radii.append(radius)
    missed = np.zeros((runs, len(radii)), dtype=bool)
    margins_missed = np.zeros((runs, len(of_cells)), dtype=bool)
    any_missed = np.zeros(runs, dtype=bool)
    for run in range(runs):
        sums = {
            index: fast_noise(rng, noisy.noise, part, size).astype(float)
            for part, (index, size) in enumerate(zip(kind.noise_indices, sizes, strict=True))
        }
        errors = made.fit.estimates(sums)[finest]
        missed[run] = np.abs(errors) > radii
        any_missed[run] = (np.abs(errors) > at_once).any()
        margins_missed[run] = np.abs(of_cells @ errors) > np.array(margin_radii)
    share = allowed_share(runs)
    assert missed.mean() <= 0.05
    assert missed.mean() >= 0.005  # not so wide that nothing could fail
    assert margins_missed.mean() <= 0.05
    assert margins_missed.mean() >= 0.005
    assert missed.mean(axis=0).max() <= share(missed.shape[1])
    assert margins_missed.mean(axis=0).max() <= share(len(of_cells))
    assert any_missed.mean() <= share(1)


def allowed_share(runs):
    """The share of failures that a sound interval shows with probability 1e-7, of so many."""
    return lambda count: allowed(count) / RUNS + 5.2 * (0.05 * 0.95 / runs) ** 0.5


def test_noise_is_added_to_the_true_margins():
    rows, options = trips(), {"epsilon": 10.0, "delta": 1e-6, "privacy_unit": "row"}
    options["workload"] = gc.FlowWorkload(noise="gaussian")
    job = flows_job(rows, AREAS, measure_margins=True, **options)
    flows = gc.release_flows(rows, AREAS, measure_margins=True, seed=3, **options)
    exact = gc.release_flows(rows, AREAS, epsilon=50.0, privacy_unit="row", seed=3)
    margins = margin_digits(flows.cells, [np.rint(exact.estimates[2]).astype(np.int64)])[0]
    assert np.abs(flows.noisy.steps[-1] - margins).max() <= 8 * flows.noisy.standard_errors[-1]
    assert job.budget_plan.steps[0].statistic == MARGINS
    assert job.budget_plan.steps[0].share == MARGIN_SHARE
    spent = flows.noisy.cost(delta=1e-6)
    assert spent.rho == job.budget_plan.cost.rho


def test_margins_become_narrower_for_a_price_that_is_forecast():
    rows = trips()
    job = flows_job(rows, AREAS, measure_margins=True, epsilon=1.0, privacy_unit="row")
    price = job.margin_comparison
    assert price.margin < price.margin_without
    assert price.cell > price.cell_without
    assert any("Margins are measured" in note for note in job.notes)
    assert ("what leaves or enters a group", price.margin) in job.errors()
    widths = []
    for measured in (True, False):
        flows = gc.release_flows(
            rows, AREAS, measure_margins=measured, epsilon=1.0, privacy_unit="row", seed=3
        )
        low, high = flows.between("z3", ZONES).interval
        widths.append((high - low) / 2)
    assert widths[0] == pytest.approx(price.margin, abs=1.1)  # ends are whole numbers
    assert widths[1] == pytest.approx(price.margin_without, abs=1.1)
    assert widths[0] < widths[1]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("by", [None, "month", ("quarter", "month")])
def test_a_saved_table_is_the_same_again(tmp_path, by):
    rows = trips(periods=None if by is None else "2026-01..2026-03")
    flows = gc.release_flows(rows, AREAS, by=by, measure_margins=True, **OPTIONS)
    flows.save(tmp_path / "flows.csv")
    again = gc.load(tmp_path / "flows.csv")
    assert again.strategy == flows.strategy
    assert again.noisy.map.margins
    pd.testing.assert_frame_equal(again.to_frame(kind="pandas"), flows.to_frame(kind="pandas"))
    pd.testing.assert_frame_equal(again.margins(kind="pandas"), flows.margins(kind="pandas"))
    if by == "month":
        of_table = flows.between("z1", ZONES, period="2026-02")
        alone = flows.period("2026-02").between("z1", ZONES)
        assert alone.deviation == pytest.approx(of_table.deviation)
        assert alone.interval == pytest.approx(of_table.interval)


def test_what_cannot_gain_is_refused_before_anything_is_spent(tmp_path):
    rows, store = trips(), tmp_path / "store.db"
    few = gc.Groups(gc.VertexSet(ZONES), {"half": [i % 2 for i in range(24)]})
    with pytest.raises(ParameterError, match="measured margins would be no narrower"):
        gc.release_flows(rows, few, measure_margins=True, store=store, **OPTIONS)
    assert not store.exists()


def test_too_many_margins_are_refused():
    groups = gc.Groups(gc.VertexSet(400), {"zone": list(range(400))})
    graph = gc.DirectedGraph([0], [1], vertices=400)
    work = gc.FlowWorkload(expected_cell=0)
    with pytest.raises(ParameterError, match="up to 170 groups"):
        gc.release_flows(graph, groups, epsilon=1.0, workload=work, measure_margins=True)
