"""Published cells: rounded ones beside estimates, and intervals of sums."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from period_cases import cells_of, flows_of, sums_at

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError
from graphcuts_dp.confidence import SIMULTANEOUS_COLUMNS
from graphcuts_dp.page.result import _rows

MANY = [40, pytest.param(400, marks=pytest.mark.slow)]  # releases


def most_failures(releases):
    """Of intervals of 95 %, with a tolerance of three standard errors."""
    return releases * 0.05 + 3 * (releases * 0.05 * 0.95) ** 0.5


PERIODS = (None, "month", ("year", "month"))


def sparse(cells, seed=0):
    """A tenth of the finest cells hold something."""
    rng = np.random.default_rng(seed)
    size = cells.size(cells.depth - 1)
    return rng.integers(1, 20, size=size) * (rng.random(size) < 0.1)


def sparse_graph(seed=0):
    """A few edges between 24 towns of 5 vertices in 6 provinces of 2 regions."""
    rng = np.random.default_rng(seed)
    town = np.arange(120) // 5
    pairs = np.stack(np.triu_indices(40, 1), axis=1)  # of the first 8 towns
    edges = rng.choice(pairs, size=60, replace=False)
    graph = gc.Graph(edges[:, 0], edges[:, 1], vertices=120)
    groups = gc.Groups(graph.vertices, {"region": town // 12, "province": town // 4, "town": town})
    return graph, groups


@pytest.mark.parametrize("by", PERIODS)
def test_counts_are_whole_possible_and_add_up_over_all_levels_and_periods(by):
    cells = cells_of("directed", by)
    flows = flows_of(cells, sparse(cells), epsilon=0.3)
    counts = flows.rounded().counts
    for level_index, table in enumerate(counts):
        assert (table >= 0).all()
        assert np.array_equal(table, np.rint(table))
        if level_index:
            parents = cells.parents(level_index)
            assert np.array_equal(np.bincount(parents, weights=table), counts[level_index - 1])
    assert flows.rounded() is flows.rounded()
    again = flows_of(cells, sparse(cells), epsilon=0.3).rounded()
    assert all(map(np.array_equal, again.counts, counts))


def test_a_period_is_rounded_as_in_the_whole_table():
    cells = cells_of("directed", ("year", "month"))
    flows = flows_of(cells, sparse(cells), epsilon=0.3)
    for year in cells.periods.labels("year"):
        own = flows.period(year)
        place = cells.depth - 1
        within = cells.in_period(place, cells.periods.labels("year").index(year))
        assert np.array_equal(own.rounded().counts[place], flows.rounded().counts[place][within])


def test_rounded_cells_of_sparse_tables_have_at_most_half_of_the_error():
    graph, groups = sparse_graph()
    codes = groups.codes()
    errors = np.zeros(2)
    for seed in range(10):
        flows = gc.release_flows(
            graph, groups, epsilon=1.0, workload=gc.FlowWorkload(expected_cell=0), seed=seed
        )
        a, b = np.sort([codes[graph.rows], codes[graph.columns]], axis=0)
        truth = np.zeros(flows.cells.size(3))
        np.add.at(truth, flows.cells.locate(3, a, b), 1)
        table = flows.to_frame("town", kind="pandas")
        errors += [np.abs(table[name] - truth).mean() for name in ("count", "estimate")]
    assert errors[0] <= 0.5 * errors[1]


@pytest.mark.parametrize("releases", MANY)
def test_sums_of_estimates_are_unbiased_and_sums_of_counts_are_not(releases):
    """Of zeros, with a mean over releases: within three standard errors of 0."""
    cells = cells_of("directed", "month")
    zeros = np.zeros(cells.size(2), dtype=np.int64)
    sums = []
    for seed in range(releases):
        flows = flows_of(cells, zeros, epsilon=0.5, seed=seed, workload="all cells")
        place = flows.cells.depth - 1
        estimate = flows.linear(np.ones(flows.cells.shape(place))).estimate
        sums.append((estimate, flows.rounded().counts[place].sum()))
    estimates, counts = np.array(sums).T
    assert abs(estimates.mean()) <= 3 * estimates.std() / releases**0.5
    assert counts.mean() > 3 * counts.std() / releases**0.5


def test_counts_outside_of_their_interval_are_marked(tmp_path):
    cells = cells_of("directed", "month")
    marked = 0
    for seed in range(10):
        flows = flows_of(cells, sparse(cells), epsilon=0.2, seed=seed)
        table = flows.to_frame(confidence=0.3, simultaneous=True, kind="pandas")
        outside = (table["count"] < table["low"]) | (table["count"] > table["high"])
        assert table["outside"].equals(outside)
        marked += outside.sum()
    assert marked > 0
    flows.save(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        first = next(file)
    assert first == f"# {' '.join(flows.sentences())}\n"
    assert "add up the unbiased estimates" in first
    read = pd.read_csv(tmp_path / "table.csv", skiprows=1)
    assert read["count"].dtype.kind == "i"
    assert not set(SIMULTANEOUS_COLUMNS) & set(read.columns)
    assert len(flows.sentences(simultaneous=True)) == len(flows.sentences()) + 1


def test_weights_with_an_error_below_one_are_rounded_to_a_power_of_ten():
    pairs = [("a", "b", 0.25), ("b", "c", 0.5), ("a", "d", 1.0)]
    graph = gc.Graph.of(pairs, max_weight=1.0)
    groups = gc.Groups.of({"a": "x", "b": "x", "c": "y", "d": "y"}, graph)
    for epsilon, unit in ((1.0, 1.0), (40.0, 0.001)):
        flows = gc.release_flows(graph, groups, epsilon=epsilon, seed=1)
        counts = flows.table["count"]
        assert flows.rounded().unit == unit
        assert np.allclose(counts / unit, np.rint(counts / unit))
        assert counts.dtype.kind == ("i" if unit == 1 else "f")
    assert np.abs(counts - flows.table["estimate"]).max() <= 0.1  # three standard errors


def test_the_page_shows_the_half_width_of_each_number_alone():
    cells = cells_of("directed", None)
    flows = flows_of(cells, sparse(cells), epsilon=0.5)
    page, table = _rows(flows), flows.table
    widths = np.concatenate([flows.half_widths_of(place) for place in (1, 2)])
    for count, estimate, width in zip(table["count"], table["estimate"], widths, strict=True):
        assert f"<td>{count}</td><td>{estimate:,.1f} ± {width:,.1f}</td>" in page
    assert "To add up numbers, use the column estimate." in page


# Sums.


def unions(labels):
    """All sets of labels but the empty one."""
    sizes = range(1, len(labels) + 1)
    return [list(chosen) for size in sizes for chosen in combinations(labels, size)]


@pytest.mark.thorough
@pytest.mark.parametrize("releases", MANY)
def test_all_unions_hold_at_once(releases):
    cells = cells_of("directed", None)
    truth = sums_at(cells, sparse(cells))[1]
    queries = list(product(unions(("n", "s")), repeat=2))
    true = [float(truth[cells.picked(1, *query)].sum()) for query in queries]
    missed = 0
    for seed in range(releases):
        flows = flows_of(cells, sparse(cells), epsilon=0.5, seed=seed)
        ends = [flows.between(*query, "county", simultaneous=True).interval for query in queries]
        missed += any(
            not low <= value <= high for (low, high), value in zip(ends, true, strict=True)
        )
    assert missed <= most_failures(releases)


def test_sums_at_once_are_shorter_than_the_sums_of_their_cells():
    graph, groups = sparse_graph()
    flows = gc.release_flows(
        graph, groups, epsilon=1.0, workload=gc.FlowWorkload(expected_cell=0), seed=0
    )
    west, east = list(range(12)), list(range(12, 24))
    low, high = flows.between(west, east, simultaneous=True).interval
    coefficients = np.zeros((24, 24))
    coefficients[:12, 12:] = coefficients[12:, :12] = 1
    box_low, box_high = flows.linear(coefficients, simultaneous=True).interval
    assert high < 0.5 * box_high
    assert low >= box_low
    alone = flows.between(west, east).interval
    assert low <= alone[0] < alone[1] <= high
    low, high = flows.between(0, 1, simultaneous=True).interval
    cell = flows.to_frame("town", simultaneous=True, kind="pandas").query("`from` == 0 and to == 1")
    assert cell[[*SIMULTANEOUS_COLUMNS]].to_numpy().tolist() == [[low, high]]


@pytest.mark.parametrize("releases", MANY)
def test_sums_over_periods_hold_at_once_and_have_the_noise_of_a_sum(releases):
    cells = cells_of("directed", "month")
    finest = sparse(cells)
    truth = [
        cells.summed(place, table) for place, table in enumerate(sums_at(cells, finest)) if place
    ]
    missed = 0
    for seed in range(releases):
        flows = flows_of(cells, finest, epsilon=0.5, seed=seed)
        ends = [flows.intervals(level, simultaneous=True) for level in flows.levels]
        missed += any(
            (table < low.ravel()).any() or (table > high.ravel()).any()
            for (low, high), table in zip(ends, truth, strict=True)
        )
    assert missed <= most_failures(releases)
    alone_low, alone_high = flows.intervals("zone")
    month = flows.to_frame("zone", simultaneous=True, kind="pandas")
    box = (
        (month["simultaneous_high"] - month["estimate"]).groupby([month["from"], month["to"]]).sum()
    )
    low, high = ends[-1]
    assert (low <= alone_low).all()
    assert (alone_high <= high).all()
    assert (high - flows.values("zone")).max() < 0.75 * box.max()


# Margins.


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("kind", ["plain", "directed", "bipartite"])
@pytest.mark.parametrize("by", PERIODS)
def test_margins_are_the_sums_of_cells_with_their_own_intervals(kind, by):
    cells = cells_of(kind, by)
    flows = flows_of(cells, sparse(cells), epsilon=0.5)
    table, margins = flows.to_frame(flows.levels[-1]), flows.margins()
    left, right = flows.labels(None)
    periods = 1 if by is None else len(cells.periods.labels("month"))
    assert len(margins) == periods * (len(left) if kind == "plain" else len(left) + len(right))
    assert list(margins.columns) == list(table.columns)
    for _, row in margins.iterrows():
        a, b = (list(labels) if row[end] == "*" else [row[end]]
                for end, labels in (("from", left), ("to", right)))  # fmt: skip
        period = None if by is None else row["period"]
        answer = flows.between(a, b, period=period)
        assert row["estimate"] == pytest.approx(answer.estimate)
        assert (row["low"], row["high"]) == pytest.approx(answer.interval)
        rounded = flows.rounded().between(a, b, period=period)
        assert row["count"] == rounded
        assert row["outside"] == (not row["low"] <= rounded <= row["high"])


def test_margins_are_written_with_the_first_line(tmp_path):
    cells = cells_of("directed", "month")
    flows = flows_of(cells, sparse(cells))
    flows.write_margins(tmp_path / "margins.csv")
    assert (tmp_path / "margins.csv").read_text().startswith("# Counts are rounded")
    read = pd.read_csv(tmp_path / "margins.csv", skiprows=1)
    assert list(read.columns) == [*flows.margins().columns, "mark"]
    with pytest.raises(FileFormatError, match="exists"):
        flows.write_margins(tmp_path / "margins.csv")
    with pytest.raises(FileFormatError, match="must end in"):
        flows.write_margins(tmp_path / "margins.txt")
