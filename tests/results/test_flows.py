"""Flows of small graphs: values, unions, totals, files, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from flow_cases import random_groups
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp.errors import (
    GraphError,
    ParameterError,
    QueryError,
)

HUGE = 50.0  # the noise is then hardly ever other than 0


@pytest.fixture(scope="module")
def made():
    groups = random_groups(np.random.default_rng(0))
    graph = random_graph(30, 1)
    return graph, groups, gc.release_flows(graph, groups, epsilon=HUGE, seed=1)


def truth(graph, groups, level):
    codes = groups.codes(level)
    table = np.zeros((len(groups.labels(level)),) * 2)
    for i, j, w in zip(graph.rows, graph.columns, graph.weights, strict=True):
        a, b = codes[i], codes[j]
        table[a, b] += w
        table[b, a] += w * (a != b)
    return table


def test_values_of_every_level_are_the_sums_of_weights(made):
    graph, groups, flows = made
    assert flows.levels == ("top", "middle", "fine")
    for level in flows.levels:
        assert np.allclose(flows.values(level), truth(graph, groups, level), atol=1e-6)
        assert flows.deviations(level).shape == flows.values(level).shape
    assert np.array_equal(flows.values(), flows.values("fine"))
    assert flows.total.value == pytest.approx(len(graph.rows), abs=1e-6)
    assert flows.groups == groups.tree
    assert flows.right_groups is flows.groups
    assert repr(flows) == "Flows(2 top, 4 middle, 9 fine, epsilon=50, seeded: not private)"


def test_between_groups_and_unions_counts_every_edge_once(made):
    graph, groups, flows = made
    for a, b in ((0, 1), (3, 3), ([0, 1, 2], [5, 6]), ([0, 1, 2], [1, 2, 3]), ([4, 7], [4, 7])):
        own = np.array(groups.labels())[groups.codes()]
        sides = [np.isin(own, np.atleast_1d(side)) for side in (a, b)]
        assert flows.between(a, b).value == pytest.approx(
            gc.CutQuery(*sides).value(graph), abs=1e-6
        )
    assert flows.between(0, 1, "top").value == pytest.approx(
        gc.CutQuery(groups.members(0, "top"), groups.members(1, "top")).value(graph), abs=1e-6
    )
    one = flows.groups.labels()[int(np.flatnonzero(groups.sizes() == 1)[0])]
    alone = flows.between(one, one)
    assert (alone.value, alone.interval, alone.deviation) == (0, (0, 0), 0)
    told = "47 in [47, 47] (95%) [seeded: not private]"
    assert (
        str(flows.between(range(9), range(9))).split(" ", 1)[1]
        == told.replace("47", str(len(graph.rows))).split(" ", 1)[1]
    )


def test_linear_combinations_have_the_variance_of_their_parts():
    groups = random_groups(np.random.default_rng(0))
    flows = gc.release_flows(random_graph(30, 1), groups, epsilon=1.0, seed=1)
    rng = np.random.default_rng(1)
    first, second = (m + m.T for m in rng.normal(size=(2, 9, 9)))
    plus, minus = flows.linear(first + second), flows.linear(first - second)
    alone = [flows.linear(each) for each in (first, second)]
    assert plus.value == pytest.approx(sum(each.value for each in alone))
    assert plus.deviation**2 + minus.deviation**2 == pytest.approx(
        2 * sum(each.deviation**2 for each in alone)
    )
    a, b = flows.cells.cells(3)
    one = np.zeros((9, 9))
    one[a[5], b[5]] = one[b[5], a[5]] = 1
    single = flows.between(groups.labels()[a[5]], groups.labels()[b[5]])
    assert flows.linear(one).deviation == pytest.approx(single.deviation)
    assert single.deviation == pytest.approx(flows.deviations()[a[5], b[5]])
    low, high = flows.intervals()
    assert single.interval == (low[a[5], b[5]], high[a[5], b[5]])
    wide = flows.linear(first, simultaneous=True)
    assert wide.interval[0] < alone[0].interval[0]
    assert wide.interval[1] > alone[0].interval[1]


def test_levels_add_up_and_total_is_that_of_every_level(made):
    _, groups, flows = made
    noisy = gc.release_flows(random_graph(30, 1), groups, epsilon=0.3, seed=2)
    fine, middle = (np.triu(noisy.values(level)) for level in ("fine", "middle"))
    parent = groups.parents("fine")
    added = np.zeros_like(middle)
    np.add.at(added, (parent[:, None].repeat(9, 1), parent[None].repeat(9, 0)), fine)
    assert np.allclose(np.triu(added), middle)
    assert np.triu(middle).sum() == pytest.approx(noisy.total.value)
    assert flows.linear(np.ones((9, 9))).value == pytest.approx(flows.total.value)


def test_the_table_has_a_row_for_every_cell(made):
    _, _, flows = made
    table = flows.table
    assert list(table.columns) == ["level", "from", "to", "value", "low", "high"]
    assert len(table) == flows.cells.total_size
    assert set(table["level"]) == {"top", "middle", "fine"}
    row = table[(table["level"] == "top") & (table["from"] == 0) & (table["to"] == 1)].iloc[0]
    assert row["value"] == flows.values("top")[0, 1]
    wide = flows.to_frame("fine", simultaneous=True)
    assert (wide["low"] <= flows.to_frame("fine")["low"]).all()
    assert (wide["level"] == "fine").all()


def test_two_sides_have_cells_of_their_own():
    graph = random_graph((12, 9), 3)
    left = gc.Groups(graph.left, {"region": np.arange(12) % 3})
    right = gc.Groups(graph.right, {"genre": ["a", "b", "b"] * 3})
    flows = gc.release_flows(graph, (left, right), epsilon=HUGE, seed=1)
    assert flows.levels == ("region x genre",)
    table = np.zeros((3, 2))
    np.add.at(table, (left.codes()[graph.rows], right.codes()[graph.columns]), 1)
    assert np.allclose(flows.values(), table)
    assert flows.between(2, "b").value == pytest.approx(table[2, 1])
    assert flows.between([0, 1, 2], ["a", "b"]).value == pytest.approx(len(graph.rows))
    assert flows.guarantee.public == "both vertex sets and the groups"
    with pytest.raises(QueryError, match="unknown group"):
        flows.between("b", 2)
    square = random_graph((9, 9), 3)
    same = gc.Groups(square.left, {"half": np.arange(9) % 2})
    both = gc.release_flows(square, (same, same), epsilon=HUGE, seed=1)
    assert both.cells.size(1) == 4
    assert both.total.value == pytest.approx(len(square.rows))


@pytest.mark.parametrize("options", [{"weight_cap": 3.0}, {"hide_change": 1}])
@pytest.mark.parametrize("whole", [False, True])
def test_weights_are_counted_on_a_grid(options, whole):
    groups = random_groups(np.random.default_rng(0))
    graph = random_graph(30, 1, largest=3.0, **options)
    options = {"whole": whole, "workload": "all levels"}
    flows = gc.release_flows(graph, groups, epsilon=HUGE, seed=1, **options)
    weights = np.floor(graph.weights) if whole else graph.weights
    counted = gc.Graph(graph.rows, graph.columns, weights, vertices=30, hide_change=1)
    assert np.allclose(flows.values("middle"), truth(counted, groups, "middle"), atol=0.3)
    assert flows.noisy.unit == (1.0 if whole else flows.noisy.unit)
    assert flows.noisy.unit <= 1
    low, high = flows.intervals("top")
    exact = truth(counted, groups, "top")
    assert ((low <= exact) & (exact <= high)).all()


def test_huge_weights_without_a_cap_are_cut_and_not_told(made):
    groups = made[1]
    shown = []
    for weight in (1.0, 1e300):
        graph = gc.Graph([0, 1], [1, 2], [1.0, weight], vertices=30, hide_change=1)
        flows = gc.release_flows(graph, groups, epsilon=1.0, seed=1)
        shown.append((flows.noisy.unit, flows.strategy.shares, repr(flows)))
        assert all(values.dtype == np.int64 for values in flows.noisy.steps)
        assert np.isfinite(flows.values()).all()
    assert shown[0] == shown[1]


def test_rounded_tables_are_possible_and_near(made):
    _, groups, flows = made
    exact = flows.rounded()
    for level in flows.levels:
        assert np.array_equal(exact.values(level), np.rint(flows.values(level)))
    assert exact.between([0, 1], [5, 6]) == round(flows.between([0, 1], [5, 6]).value)
    noisy = gc.release_flows(random_graph(30, 1), groups, epsilon=0.2, seed=5)
    rounded = noisy.rounded()
    for place in range(1, 4):
        counts = rounded.counts[place]
        assert (counts == np.rint(counts)).all()
        assert ((counts >= 0) & (counts <= noisy.cells.pairs(place))).all()
        above = np.bincount(noisy.cells.parents(place), weights=counts)
        assert np.array_equal(above, rounded.counts[place - 1])
    assert (noisy.values() < 0).any()


def test_rounding_is_the_nearest_possible_table_of_one_level():
    """Against a small quadratic problem with one cell above, solved by enumeration."""
    from graphcuts_dp.estimate.consistency import _topped_up

    parents = np.zeros(4, dtype=np.int64)
    made = _topped_up(
        parents,
        np.array([2.0, 0.0, 1.0, 3.0]),
        np.array([0.5, 0.2, 0.9, 0.4]),
        np.array([2.0]),
        np.array([9.0, 9.0, 1.0, 9.0]),
    )
    assert made.tolist() == [3, 0, 1, 4]


def test_the_file_is_the_table_and_says_where_the_noise_is_from_a_seed(made, tmp_path):
    _, groups, flows = made
    flows.save(tmp_path / "mail.csv")
    table = pd.read_csv(tmp_path / "mail.csv")
    assert table["mark"].eq("seeded: not private").all()
    assert np.allclose(table["value"], flows.table["value"], rtol=1e-9, atol=1e-12)
    private = gc.release_flows(random_graph(30, 1), groups, epsilon=1.0)
    private.save(tmp_path / "private.csv")
    assert "mark" not in pd.read_csv(tmp_path / "private.csv").columns


PUBLIC = random_groups(np.random.default_rng(0))
TWO_SIDES = random_graph((30, 3))


@pytest.mark.parametrize(
    ("graph", "groups", "options", "told"),
    [
        (random_graph(30), PUBLIC, {"epsilon": 0}, "epsilon"),
        (random_graph(30), PUBLIC, {"delta": 1}, "delta"),
        (random_graph(30), PUBLIC, {"workload": "x"}, "workload"),
        (random_graph(30), (PUBLIC, PUBLIC), {}, "a Groups"),
        (random_graph(30), "club", {}, "a Groups"),
        (TWO_SIDES, PUBLIC, {}, "a pair of Groups"),
        (TWO_SIDES, (PUBLIC, "genres"), {}, "a pair of Groups"),
        (TWO_SIDES, (PUBLIC, PUBLIC), {}, "other vertices"),
        (random_graph(29), PUBLIC, {}, "other vertices"),
        (random_graph(30, largest=2.0, hide_change=None), PUBLIC, {}, "weight_cap"),
        (random_graph(1), gc.Groups(gc.VertexSet(1), {"a": [0]}), {}, "no pairs"),
    ],
)
def test_what_cannot_be_released_is_refused(graph, groups, options, told):
    with pytest.raises((ParameterError, GraphError), match=told):
        gc.release_flows(graph, groups, **{"epsilon": 1.0} | options)


def test_queries_that_do_not_fit_are_refused(made):
    flows = made[2]
    for call, told in (
        (lambda: flows.values("street"), "unknown level 'street'; there are 'top'"),
        (lambda: flows.between(0, 77), "unknown group 77"),
        (lambda: flows.between(0, 1, confidence=1.0), "confidence"),
        (lambda: flows.between(0, 1, confidence=True), "confidence"),
        (lambda: flows.intervals(confidence=0), "confidence"),
        (lambda: flows.linear(np.ones((3, 3))), "shape"),
        (lambda: flows.linear(np.full((9, 9), np.nan)), "finite"),
        (lambda: flows.linear(np.triu(np.ones((9, 9)))), "symmetric"),
    ):
        with pytest.raises(QueryError, match=told):
            call()


def test_guarantees_tell_what_went_where():
    groups = random_groups(np.random.default_rng(0))
    graph = random_graph(30, 1)
    levels = {"workload": "all levels", "seed": 1}
    pure = gc.release_flows(graph, groups, epsilon=1.0, **levels).guarantee
    assert sum(part for _, part in pure.parts) == pytest.approx(1.0)
    assert (pure.epsilon, pure.delta) == (1.0, 0.0)
    gauss = gc.release_flows(graph, groups, epsilon=1.0, delta=0.05, **levels)
    assert gauss.strategy.noise.distribution == "gaussian"
    assert 0.999 < gauss.guarantee.epsilon <= 1.0
    assert gauss.guarantee.delta == 0.05
    same = gc.release_flows(graph, groups, epsilon=1.0, delta=1e-9, seed=1)
    assert same.guarantee.delta == 0.0


def test_flows_of_a_directed_graph_have_a_direction():
    """At epsilon = 50 a noise other than 0 has a probability of 4e-22 a cell."""
    graph = gc.DirectedGraph.of(
        [("a", "c"), ("b", "c"), ("c", "a"), ("a", "b"), ("d", "c"), ("c", "d")]
    )
    groups = gc.Groups.of({"a": "X", "b": "X", "c": "Y", "d": "Y"}, graph)
    flows = gc.release_flows(graph, groups, epsilon=50.0, seed=1)
    assert flows.between("X", "Y").value == 2
    assert flows.between("Y", "X").value == 1
    assert flows.between("X", "X").value == 1
    assert flows.between("Y", "Y").value == 2
    assert "one ordered pair is an arc" in flows.guarantee.neighbours
