"""Tables by periods, with pairs of a vertex with itself: every method against known sums."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from period_cases import EXACT, MONTHS, SHOPS, ZONES, cells_of, flows_of, sums_at

import graphcuts_dp as gc
from graphcuts_dp import GraphError, QueryError
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.estimate.flow_errors import guaranteed_flows, level_errors
from graphcuts_dp.estimate.measurement import CountMeasurement
from graphcuts_dp.estimate.strategy import choose_strategy

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

BY = ("month", "quarter", "year", ("year", "month"), ("year", "quarter", "month"))
KINDS = ("plain", "directed", "bipartite")
# Every second one is quick: each kind with two levels of periods or three, each of these with some.
CASES = [
    pytest.param(*case, marks=pytest.mark.slow if number % 2 else ())
    for number, case in enumerate(product(KINDS, BY))
]
HEADS = ["level", "period", "from", "to", "count", "estimate", "low", "high", "outside"]


def finest_of(cells, seed=0):
    return np.random.default_rng(seed).integers(0, 30, size=cells.size(cells.depth - 1))


def table_of(cells, place, finest):
    """The true sums of a place by labels of the period and of both groups."""
    sums = sums_at(cells, finest)[place]
    labels = cells.periods.labels(cells.period_level(place))
    rows, columns = (
        side.labels(name)
        for side, name in zip((cells.rows, cells.columns), cells.names(place), strict=True)
    )
    parts = zip(cells.periods_of(place), *cells.cells(place), sums, strict=True)
    return {(labels[t], rows[a], columns[b]): int(value) for t, a, b, value in parts}


def sum_of(cells, table, rows, columns, periods):
    """What passes between two sets of groups in some periods, each cell once."""
    found = 0
    for (period, a, b), value in table.items():
        ends = a in rows and b in columns
        if cells.symmetric:
            ends = ends or (b in rows and a in columns)
        found += value * (ends and period in periods)
    return found


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize(("kind", "by"), CASES)
def test_every_number_is_the_sum_of_its_periods(kind, by):
    cells = cells_of(kind, by)
    finest = finest_of(cells)
    flows = flows_of(cells, finest, epsilon=EXACT)
    assert flows.total.estimate == pytest.approx(finest.sum())
    for place, level in enumerate(flows.levels, 1):
        table = table_of(cells, place, finest)
        periods = cells.periods.labels(cells.period_level(place))
        rows, columns = flows.labels(level)
        for period in (None, *periods):
            within = periods if period is None else [period]
            true = [[sum_of(cells, table, [a], [b], within) for b in columns] for a in rows]
            assert np.allclose(flows.values(level, period), true, atol=1e-6)
            assert np.allclose(flows.rounded().values(level, period), true)
        for a, b in ((rows[0], columns[0]), (rows[0], columns), (rows[:2], columns[1:])):
            lists = [x if isinstance(x, tuple) else [x] for x in (a, b)]
            for picked in (None, periods[0], list(periods[-2:])):
                within = periods if picked is None else np.atleast_1d(picked)
                true = sum_of(cells, table, *lists, within)
                between = flows.between(a, b, level, period=picked)
                assert between.estimate == pytest.approx(true, abs=1e-6)
                assert between.interval[0] <= true <= between.interval[1]
                rounded = flows.rounded().between(a, b, level, period=picked)
                assert rounded == pytest.approx(true)
        frame = flows.to_frame(level)
        assert list(frame.columns) == HEADS
        names = zip(frame["period"], frame["from"], frame["to"], strict=True)
        found = dict(zip(names, frame["estimate"], strict=True))
        assert found == pytest.approx(table, abs=1e-6)
    assert len(flows.table) == cells.total_size


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(("kind", "by"), CASES)
def test_sums_of_periods_have_the_error_of_a_combination(kind, by):
    """Two ways to one number: spreads that add up, and coefficients of every noise."""
    cells = cells_of(kind, by)
    flows = flows_of(cells, finest_of(cells), epsilon=0.7, workload="all cells")
    for place, level in enumerate(flows.levels, 1):
        rows, columns = flows.labels(level)
        for period in (None, cells.periods.labels(cells.period_level(place))[-1]):
            deviations = flows.deviations(level, period)
            intervals = flows.intervals(level, period)
            at_once = flows.intervals(level, period, simultaneous=True)
            for (i, a), (j, b) in product(enumerate(rows[:3]), enumerate(columns[:3])):
                one = flows.between(a, b, level, period=period)
                assert one.estimate == pytest.approx(flows.values(level, period)[i, j])
                assert one.deviation == pytest.approx(deviations[i, j])
                low, high = (float(end[i, j]) for end in intervals)
                # Bounds on coefficients are not exact for nested periods, but on the safe side.
                assert low <= one.interval[0] + 1e-9
                assert high >= one.interval[1] - 1e-9
                assert high - low <= 1.2 * (one.interval[1] - one.interval[0]) + 2
                assert at_once[0][i, j] <= low
                assert at_once[1][i, j] >= high
                if period is not None:
                    wide = flows.between(a, b, level, period=period, simultaneous=True)
                    assert wide.interval == pytest.approx([float(end[i, j]) for end in at_once])


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(("kind", "by"), CASES)
def test_one_period_is_as_in_the_whole(kind, by):
    cells = cells_of(kind, by)
    flows = flows_of(cells, finest_of(cells), epsilon=0.5)
    first = cells.period_level(1)
    for label in cells.periods.labels(first):
        own = flows.period(label)
        assert own.levels == flows.levels
        assert own.guarantee == flows.guarantee
        assert own.period(label) is own
        for place, level in enumerate(flows.levels, 1):
            for period in own.periods.labels(cells.period_level(place)):
                given = (level, period)
                assert np.array_equal(own.values(*given), flows.values(*given))
                assert np.allclose(own.deviations(*given), flows.deviations(*given), rtol=1e-12)
                for mine, theirs in zip(
                    own.intervals(*given), flows.intervals(*given), strict=True
                ):
                    assert np.allclose(mine, theirs, rtol=1e-12)
        frame = flows.table
        names = cells.periods.levels
        inside = {x for name in names for x in own.periods.labels(name)}
        expected = frame[frame["period"].isin(inside)].reset_index(drop=True)
        pd.testing.assert_frame_equal(own.table, expected)
        rows, columns = flows.labels(None)
        told = [
            each.between(rows[0], columns, period=list(own.periods.labels())).interval
            for each in (own, flows)
        ]
        assert told[0] == pytest.approx(told[1])
        means = [own.fit.variances[place].mean() ** 0.5 for place in range(cells.depth)]
        assert own.strategy.deviations == pytest.approx(means)


def test_the_budget_of_a_period_is_that_of_a_table_without_periods():
    """Of one row, or a user in one period, no place is paid for what only others have."""
    for workload in ("all levels", "all cells", "county", "zone", "totals"):
        alone, months = (
            choose_strategy(cells_of("directed", by), epsilon=1.0, workload=workload)
            for by in (None, "month")
        )
        assert 0 not in months.measured_levels
        assert sum(months.shares) == 1
        if 0 not in alone.measured_levels:
            assert (months.measured_levels, months.shares) == (alone.measured_levels, alone.shares)
        cells = cells_of("directed", "month")
        flows = flows_of(cells, finest_of(cells), workload=workload)
        means = [each.mean() ** 0.5 for each in flows.fit.variances]
        assert months.deviations == pytest.approx(means)


@pytest.mark.parametrize("by", BY)
def test_the_forecast_is_of_the_cells_of_a_period(by):
    cells = cells_of("directed", by)
    strategy = choose_strategy(cells, epsilon=1.0, workload="all cells")
    flows = flows_of(cells, finest_of(cells), workload="all cells")
    assert strategy.deviations[0] == pytest.approx(flows.total.deviation)
    for place, level in enumerate(level_errors(cells, strategy, unit=1.0), 1):
        name, period = cells.levels[place - 1], cells.periods.labels(cells.period_level(place))[0]
        assert level.level == name
        deviations = [flows.deviations(name, label) for label in
                      cells.periods.labels(cells.period_level(place))]  # fmt: skip
        assert level.cell == pytest.approx(np.sqrt((np.array(deviations) ** 2).mean()))
    labels = flows.labels(name)[0]
    half = flows.between(
        labels[: len(labels) // 2], labels[len(labels) // 2 :], name, period=period
    )
    told = guaranteed_flows(cells, strategy, failure=0.05)["half"]
    assert told[1] == pytest.approx(half.deviation)


def test_a_period_may_measure_its_total_if_it_is_the_only_coarsest_one():
    periods = gc.Periods.of("2026-01..2026-03")
    alone = cells_of("plain", None)
    cells = type(alone)(alone.rows, periods=periods.tree(["year", "month"]), loops=True)
    strategy = choose_strategy(cells, epsilon=1.0, workload="totals")
    assert 0 in strategy.measured_levels
    flows = flows_of(cells, finest_of(cells), workload="totals")
    assert flows.period("2026") is flows
    assert flows.share_inside("county by year").interval[0] > 0
    with pytest.raises(ValueError, match="no common sum"):
        type(flows.noisy.map)(
            tree=cells_of("plain", "month"), measured_levels=(0, 2), max_weight=None,
            weighted=False,
            integral=True,
        )  # fmt: skip


def test_combinations_across_periods():
    cells = cells_of("directed", "month")
    finest = finest_of(cells)
    flows = flows_of(cells, finest, epsilon=EXACT)
    weights = np.random.default_rng(1).normal(size=(6, 4, 4))
    true = weights[cells.periods_of(2), *cells.cells(2)] @ finest
    assert flows.linear(weights).estimate == pytest.approx(true, abs=1e-6)
    change = np.zeros((6, 4, 4))
    change[1], change[0] = 1, -1
    more = flows.linear(change)
    ones = np.ones((4, 4))
    months = [flows.linear(ones, period=label) for label in MONTHS.labels[:2]]
    assert more.estimate == pytest.approx(months[1].estimate - months[0].estimate)
    assert more.deviation**2 == pytest.approx(sum(each.deviation**2 for each in months))
    assert flows.linear(ones).estimate == pytest.approx(finest.sum())
    both = flows.linear(ones, period=["2025-11", "2025-12"])
    assert both.estimate == pytest.approx(sum(each.estimate for each in months))
    for wrong, options, problem in (
        (np.ones((5, 4, 4)), {}, "finite numbers of shape"),
        (change, {"period": "2026-01"}, "leave it out"),
        (ones, {"period": "2027-01"}, "unknown period '2027-01'"),
    ):
        with pytest.raises(QueryError, match=problem):
            flows.linear(wrong, **options)
    plain = cells_of("plain", "month")
    skew = np.zeros((6, 4, 4))
    skew[2, 0, 1] = 1
    with pytest.raises(QueryError, match="must be symmetric"):
        flows_of(plain, finest_of(plain)).linear(skew)


@pytest.mark.parametrize(("kind", "by"), [("plain", "month"), ("bipartite", ("year", "month"))])
def test_files_keep_periods_and_loops(kind, by, tmp_path):
    cells = cells_of(kind, by)
    flows = flows_of(cells, finest_of(cells), epsilon=0.5, unit=2**-10, whole=False)
    path = tmp_path / "flows.csv"
    flows.save(path)
    again = gc.load(path)
    assert again.cells == cells
    assert again.cells != cells_of(kind, by, loops=False) or kind == "bipartite"
    assert again.noisy.map.rounding == "none"
    pd.testing.assert_frame_equal(again.table, flows.table)
    written = pd.read_csv(path, skiprows=1)
    heads = [*HEADS, "mark"]
    assert list(written.columns) == heads
    assert written["period"].astype(str).tolist() == flows.table["period"].tolist()
    for name in ("count", "estimate"):
        assert written[name].to_numpy() == pytest.approx(flows.table[name].to_numpy())
    flows.write_parquet(tmp_path / "flows.parquet")
    assert list(pd.read_parquet(tmp_path / "flows.parquet").columns) == heads
    first = cells.periods.labels(cells.period_level(1))[0]
    own = flows.period(first)
    own.save(tmp_path / "one.csv")
    pd.testing.assert_frame_equal(gc.load(tmp_path / "one.csv").table, own.table)


def test_what_is_shown():
    cells = cells_of("directed", "month")
    flows = flows_of(cells, finest_of(cells))
    text = flows._repr_html_()
    assert "<th>period</th>" in text
    assert "2025-11" in text
    assert repr(flows) == "Flows(2 county, 4 zone, 6 month, epsilon=1, seeded: not private)"
    assert flows.periods == MONTHS.tree("month")
    assert flows_of(cells_of("directed", None), np.zeros(16, int)).periods is None


def test_a_value_lies_in_its_interval_and_estimates_add_up():
    cells = cells_of("directed", "month")
    flows = flows_of(cells, 0 * finest_of(cells), epsilon=0.1)
    answers = [flows.between(a, b, period=p)
               for p, a, b in product(MONTHS.labels, *flows.labels(None))]  # fmt: skip
    assert sum(each.estimate for each in answers) == pytest.approx(flows.total.estimate)
    beside = [each for each in answers if each.estimate < 0]
    assert beside
    for each in answers:
        low, high = each.interval
        assert low <= each.value <= high
        assert each.value == min(max(each.estimate, low), high)
        assert str(each).startswith(f"{each.value:,.6g} in [{low:,.6g}, {high:,.6g}]")
    table = flows.table
    assert (table["estimate"] < 0).any()
    assert (table["count"] >= 0).all()
    assert table["outside"].equals(
        (table["count"] < table["low"]) | (table["count"] > table["high"])
    )


def test_sums_in_steps_of_a_row_have_no_slack_for_rounding():
    cells = cells_of("directed", "month")
    finest = finest_of(cells) * 1024 + 5
    flows = flows_of(cells, finest, epsilon=EXACT, unit=2**-10, whole=False)
    assert not flows.noisy.map.integral
    one = flows.between("n1", "n2", period="2026-01")
    place = cells.locate(2, np.array([0]), np.array([1]), np.array([2]))
    assert one.estimate == pytest.approx(finest[place[0]] / 1024, abs=0.2)
    low, high = one.interval
    assert one.estimate - low == pytest.approx(high - one.estimate)
    rounded = replace(flows.noisy.map, rounding="pairs")
    pairs = replace(flows, noisy=replace(flows.noisy, map=rounded))
    wider = pairs.between("n1", "n2", period="2026-01").interval
    assert wider[0] == low
    assert wider[1] == pytest.approx(high + 2 * 2**-10)  # two pairs, a step each
    rounded = flows.rounded()
    assert rounded.unit == 1
    assert all((counts == np.rint(counts)).all() for counts in rounded.counts)
    assert np.abs(rounded.values(period="2026-01") - flows.values(period="2026-01")).max() <= 1
    assert rounded.values("county").sum() == rounded.values("zone").sum() == rounded.counts[0][0]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"rounding": "rows"}, "no such rounding"),
        ({"measured_levels": [0, 2]}, "no common sum"),
        ({"periods": {"levels": []}}, "at least one level"),
        ({"periods": None}, "other sums"),
    ],
)
def test_stored_sums_that_do_not_fit_are_refused(changed, problem):
    cells = cells_of("plain", "month")
    fields, arrays = flows_of(cells, finest_of(cells)).noisy.parts()
    with pytest.raises((ValueError, GraphError), match=problem):
        CountMeasurement.from_parts("flows", fields | changed, arrays)
    again = CountMeasurement.from_parts("flows", fields, arrays)
    assert again.map.tree == cells


STATISTICS = {
    "share_inside": {},
    "share_outside": {},
    "ei_index": {},
    "modularity": {},
    "assortativity": {},
    "contacts": {},
    "social_connectedness": {},
    "top_flows": {"count": 3},
    "independence_test": {"simulations": 19},
    "conductance": {},
}


@pytest.mark.thorough(cases=5)
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_are_of_one_period(name):
    cells = cells_of("plain", "month")
    flows = flows_of(cells, finest_of(cells) + 20, epsilon=5.0)
    options = STATISTICS[name]
    with pytest.raises(QueryError, match=r"there are 6: take flows.period\('2025-11'\)$"):
        getattr(flows, name)(**options)
    own, alone = flows.period("2026-02"), cells_of("plain", None)
    same = replace(own, noisy=replace(own.noisy, map=replace(own.noisy.map, tree=alone)))
    for level in ("county", "zone"):
        found, expected = (getattr(x, name)(level=level, **options) for x in (own, same))
        if hasattr(found, "values"):
            assert np.array_equal(found.values, expected.values)
            assert np.array_equal(found.low, expected.low)
        else:
            assert found == expected
    nested = cells_of("plain", ("year", "month"))
    with pytest.raises(QueryError, match="has 6 in each year: name a level of the latter"):
        getattr(flows_of(nested, finest_of(nested)), name)(**options)


def ends_of(kind, level, edges, count):
    """The table of ends by groups, edge by edge, with loops."""
    labels = ZONES[level]
    names = sorted(set(labels))
    table = np.zeros((len(names), len(names)))
    for (u, v), times in zip(edges, count, strict=True):
        a, b = names.index(labels[u]), names.index(labels[v])
        table[a, b] += times
        if kind == "plain":
            table[b, a] += times  # the other end of the same edge
    return table


@pytest.mark.parametrize("kind", ["plain", "directed"])
@pytest.mark.parametrize("level", ["county", "zone"])
def test_statistics_count_the_ends_of_loops(kind, level):
    edges = [(u, v) for u, v in product(range(5), repeat=2) if kind == "directed" or u <= v]
    count = np.random.default_rng(2).integers(5, 40, size=len(edges))
    cells = cells_of(kind, None)
    names = sorted(set(ZONES["zone"]))
    codes = np.array([[names.index(ZONES["zone"][v]) for v in edge] for edge in edges])
    finest = np.bincount(cells.locate(2, *codes.T), weights=count, minlength=cells.size(2))
    flows = flows_of(cells, finest.astype(int), epsilon=EXACT)
    ends = ends_of(kind, level, edges, count)
    total, rows, columns = ends.sum(), ends.sum(axis=1), ends.sum(axis=0)
    inside = np.trace(ends) / total
    expected = (rows @ columns) / total**2
    assert flows.share_inside(level).value == pytest.approx(inside)
    assert flows.ei_index(level).value == pytest.approx(1 - 2 * inside)
    assert flows.modularity(level).value == pytest.approx(inside - expected)
    assert flows.assortativity(level).value == pytest.approx((inside - expected) / (1 - expected))
    sizes = flows.groups.sizes(level)
    assert np.allclose(flows.contacts(level).values, ends / sizes[:, None])
    for found in (flows.share_inside(level), flows.modularity(level), flows.assortativity(level)):
        assert found.interval[0] - 1e-9 <= found.value <= found.interval[1] + 1e-9
    if kind == "plain":
        cut = rows - np.diag(ends)
        least = np.minimum(rows, total - rows)
        assert np.allclose(flows.conductance(level).values, cut / least)
        test = flows.independence_test(level, simulations=19)
        wanted = np.outer(rows, rows) / total
        wanted[np.diag_indices_from(wanted)] /= 2
        table = flows.values(level)
        off = (table - wanted) ** 2 / (wanted + flows.deviations(level) ** 2)
        assert test.statistic == pytest.approx(np.triu(off).sum())
    if level == "county" and kind == "directed":
        assert flows.top_flows(1, level).flows[0].estimate == ends.max()


def test_single_vertices_have_loops_inside():
    cells = cells_of("plain", None)
    one = cells.locate(2, np.array([0]), np.array([0]))[0]
    finest = np.zeros(cells.size(2), dtype=int)
    finest[one] = 7
    flows = flows_of(cells, finest, epsilon=EXACT)
    assert flows.between("n1", "n1").estimate == pytest.approx(7, abs=1e-6)
    assert flows.share_inside().value == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda f: f.values("zone", "2026"), "unknown period '2026'; this level has '2025-11'"),
        (lambda f: f.between("n1", "n2", period=[]), "name a period"),
        (lambda f: f.period("2027-01"), "unknown period '2027-01'"),
        (lambda f: f.intervals(period="March"), "unknown period"),
        (lambda f: f.deviations(period=["2026-01", "2026-02"]), "name one period"),
        (lambda f: f.plot(by="week"), "no periods 'week'; it has 'month'"),
        (lambda f: f.plot(by="month", period="2026-01"), "by= draws all periods"),
        (lambda f: f.plot(panels="periods"), "add by="),
        (lambda f: f.plot(by="month", panels="days"), 'panels= is "cells"'),
        (lambda f: f.plot("town", by="month"), "unknown level"),
        (lambda f: f.values("2026-03"), "this is a period: pass it as period="),
        (lambda f: f.rounded().values("zone", "x"), "unknown period"),
    ],
)
def test_unknown_periods_are_refused(call, problem):
    cells = cells_of("directed", "month")
    flows = flows_of(cells, finest_of(cells))
    with pytest.raises(QueryError, match=problem) as refused:
        call(flows)
    assert "\n" not in str(refused.value)


def test_a_table_without_periods_refuses_them():
    cells = cells_of("directed", None)
    flows = flows_of(cells, np.ones(16, dtype=int))
    for call in (
        lambda: flows.period("2026-01"),
        lambda: flows.values(period="2026-01"),
        lambda: flows.between("n1", "n2", period="2026-01"),
        lambda: flows.plot(by="month"),
    ):
        with pytest.raises(QueryError, match="no periods"):
            call()
    assert flows.levels == tuple(ZONES)
    nested = cells_of("bipartite", ("year", "month"))
    two = flows_of(nested, finest_of(nested))
    assert set(two.labels("zone x shop by month")[1]) == set(SHOPS["shop"])
    with pytest.raises(QueryError, match="levels by 'month' are 'zone x shop by month'"):
        two.plot("zone x shop by year", by="month")


def shown_lines(figure):
    axes = [each for each in figure.axes if each.get_visible()]
    return {each.get_title(loc="left"): each.lines[0].get_ydata() for each in axes}


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "by"), [("plain", "month"), ("directed", ("year", "month"))])
def test_a_chart_has_the_largest_cells_over_periods(kind, by):
    cells = cells_of(kind, by)
    finest = finest_of(cells)
    flows = flows_of(cells, finest, epsilon=EXACT)
    lines = shown_lines(flows.plot(by="month"))
    sums = finest.reshape(6, -1)
    largest = np.sort(sums.sum(axis=0))[::-1][:9]
    assert sorted((line.sum() for line in lines.values()), reverse=True) == pytest.approx(
        largest.tolist(), abs=1e-6
    )
    assert lines["within n1"] == pytest.approx(sums[:, 0], abs=1e-6) or "within n1" not in lines
    texts = [text.get_text() for text in flows.plot(by="month").legends[0].get_texts()]
    left = cells.size(cells.depth - 1) // 6 - len(lines)
    assert texts == [
        f"{DEFAULT_PERCENT} intervals, all cells at once",
        f"{DEFAULT_PERCENT}, the cell alone, as in the table",
        f"not drawn: {left} smaller cells",
    ]
    one = flows.plot(period="2026-01")
    level = flows.levels[-1].removesuffix(" by month")
    assert one.axes[0].get_title(loc="left").startswith(f"Flows by {level}, January 2026 (")


def test_a_chart_of_noise_stays_within_what_is_possible():
    cells = cells_of("plain", "month")
    figure = flows_of(cells, 0 * finest_of(cells), epsilon=0.05).plot("county", by="month")
    lines = shown_lines(figure)
    assert len(lines) == 3
    assert all((line >= 0).all() for line in lines.values())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        f"{DEFAULT_PERCENT} intervals, all cells at once",
        f"{DEFAULT_PERCENT}, the cell alone, as in the table",
    ]


def test_the_inner_band_of_a_chart_is_the_interval_of_the_table():
    cells = cells_of("directed", "month")
    flows = flows_of(cells, finest_of(cells), epsilon=1.0)
    table = flows.columns(flows.levels[-1])
    (axes, *_) = flows.plot(by="month").axes
    outer, inner = (band.get_paths()[0].vertices[:, 1] for band in axes.collections)
    start, end = (
        axes.get_title(loc="left").replace("within ", "").partition(" \N{RIGHTWARDS ARROW} ")[::2]
    )
    of_cell = (table["from"] == start) & (table["to"] == (end or start))
    assert of_cell.sum() == 6  # months
    assert inner.max() == pytest.approx(max(table["high"][of_cell]))
    assert inner[inner > 0].min() == pytest.approx(min(low for low in table["low"][of_cell] if low))
    assert outer.max() > inner.max()  # all cells at once


@pytest.mark.thorough
def test_every_picture_names_its_period():
    cells = cells_of("directed", "month")
    flows = flows_of(cells, finest_of(cells), epsilon=EXACT)
    march = flows.period("2026-03")

    def title(figure):
        return figure.axes[0].get_title(loc="left").replace("\n", " ")

    assert title(flows.plot()).startswith(
        "Flows by zone, 6 periods from November 2025 to April 2026 ("
    )
    for figure in (march.plot(), flows.plot(period="2026-03")):
        assert title(figure).startswith("Flows by zone, March 2026 (")
    for given, shown in (
        ("Trips", "Trips, March 2026 ("),
        ("Trips of 2026-03", "Trips of 2026-03 ("),
        ("March 2026: trips", "March 2026: trips ("),
    ):
        assert title(march.plot(title=given)).startswith(shown)
        assert title(flows.plot(period="2026-03", title=given)).startswith(shown)
    assert title(flows.plot(title="Trips")).startswith("Trips (")
    where = {zone: (i, i % 2) for i, zone in enumerate(flows.labels(None)[0])}
    assert title(march.plot(coordinates=where, title="Map")).startswith("Map, March 2026 (")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["plain", "directed", "bipartite"])
def test_months_are_drawn_side_by_side_in_one_scale(kind):
    cells = cells_of(kind, "month")
    flows = flows_of(cells, finest_of(cells), epsilon=EXACT)
    months = ["November 2025", "December 2025"]
    months += [f"{name} 2026" for name in ("January", "February", "March", "April")]
    figure = flows.plot(by="month", panels="periods")
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.texts[0].get_text() for axes in panels] == months
    darkest = [np.asarray(axes.images[0].get_array()).mean(axis=2).min() for axes in panels]
    largest = [flows.values(None, month).max() for month in flows.periods.labels("month")]
    order = np.argsort(largest)
    assert (np.diff(np.array(darkest)[order]) <= 1e-9).all()  # the larger the darker
    rows, columns = flows.labels(None)
    where = {label: (i, i % 2) for i, label in enumerate((*rows, *columns))}
    maps = flows.plot(by="month", coordinates=where)
    assert [axes.texts[-1].get_text() for axes in maps.axes] == months
    first = flows.plot("county" if kind != "bipartite" else None, by="month", panels="periods")
    assert len(first.axes) == 7  # six months and the bar of colours
