"""Flows of small graphs: values, unions, totals, files, and what is refused."""

import importlib.util
from functools import partial

import numpy as np
import pandas as pd
import pytest
from flow_cases import random_groups
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphError, ParameterError, QueryError
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.estimate.consistency import _with_remainders_rounded_up

COLUMNS = ["level", "from", "to", "count", "estimate", "low", "high", "outside"]
HUGE = 50.0  # the noise is then hardly ever other than 0
GROUPS = random_groups(np.random.default_rng(0))
GRAPH = random_graph(30, 1)


def released(graph=GRAPH, groups=GROUPS, *, epsilon=1.0, seed=1, work=None, **options):
    if work is not None:
        options["workload"] = gc.FlowWorkload(**work)
    return gc.release_flows(graph, groups, epsilon=epsilon, seed=seed, **options)


@pytest.fixture(scope="module")
def exact():
    return released(epsilon=HUGE)


def truth(graph, level):
    codes = GROUPS.codes(level)
    member = np.eye(codes.max() + 1)[codes]
    ends = member.T @ graph.dense() @ member  # an edge inside from both of its ends
    return ends - np.diag(ends.diagonal()) / 2


def test_values_of_every_level_are_the_sums_of_weights(exact):
    assert exact.levels == ("top", "middle", "fine")
    for level in exact.levels:
        assert np.allclose(exact.values(level), truth(GRAPH, level), atol=1e-6)
        assert exact.deviations(level).shape == exact.values(level).shape
    assert np.array_equal(exact.values(), exact.values("fine"))
    assert exact.total.estimate == pytest.approx(len(GRAPH.rows), abs=1e-6)
    assert exact.groups == GROUPS.tree
    assert exact.right_groups is exact.groups
    assert repr(exact) == "Flows(2 top, 4 middle, 9 fine, epsilon=50, seeded: not private)"


def test_between_groups_and_unions_counts_every_edge_once(exact):
    for a, b in ((0, 1), (3, 3), ([0, 1, 2], [5, 6]), ([0, 1, 2], [1, 2, 3]), ([4, 7], [4, 7])):
        own = np.array(GROUPS.labels())[GROUPS.codes()]
        query = gc.CutQuery(*(np.isin(own, np.atleast_1d(side)) for side in (a, b)))
        assert exact.between(a, b).estimate == pytest.approx(query.value(GRAPH), abs=1e-6)
    query = gc.CutQuery(GROUPS.members(0, "top"), GROUPS.members(1, "top"))
    assert exact.between(0, 1, "top").estimate == pytest.approx(query.value(GRAPH), abs=1e-6)
    one = exact.groups.labels()[int(np.flatnonzero(GROUPS.sizes() == 1)[0])]
    alone = exact.between(one, one)
    assert (alone.estimate, alone.interval, alone.deviation) == (0, (0, 0), 0)
    everything, m = str(exact.between(range(9), range(9))), len(GRAPH.rows)
    assert everything.endswith(f"in [{m}, {m}] ({DEFAULT_PERCENT}) [seeded: not private]")


def test_linear_combinations_have_the_variance_of_their_parts():
    flows = released()
    rng = np.random.default_rng(1)
    first, second = (m + m.T for m in rng.normal(size=(2, 9, 9)))
    plus, minus = flows.linear(first + second), flows.linear(first - second)
    alone = [flows.linear(each) for each in (first, second)]
    assert plus.estimate == pytest.approx(sum(each.estimate for each in alone))
    assert plus.deviation**2 + minus.deviation**2 == pytest.approx(
        2 * sum(each.deviation**2 for each in alone)
    )
    a, b = flows.cells.cells(3)
    one = np.zeros((9, 9))
    one[a[5], b[5]] = one[b[5], a[5]] = 1
    single = flows.between(GROUPS.labels()[a[5]], GROUPS.labels()[b[5]])
    assert flows.linear(one).deviation == pytest.approx(single.deviation)
    assert single.deviation == pytest.approx(flows.deviations()[a[5], b[5]])
    low, high = flows.intervals()
    assert single.interval == (low[a[5], b[5]], high[a[5], b[5]])
    wide = flows.linear(first, simultaneous=True)
    assert wide.interval[0] < alone[0].interval[0]
    assert wide.interval[1] > alone[0].interval[1]


def test_levels_add_up_and_total_is_that_of_every_level():
    noisy = released(epsilon=0.4, seed=2)
    fine, middle = (np.triu(noisy.values(level)) for level in ("fine", "middle"))
    member = np.eye(4)[GROUPS.parents("fine")]
    assert np.allclose(np.triu(member.T @ fine @ member), middle)
    assert np.triu(middle).sum() == pytest.approx(noisy.total.estimate)
    assert noisy.linear(np.ones((9, 9))).estimate == pytest.approx(noisy.total.estimate)


def test_the_table_has_a_row_for_every_cell(exact):
    table = exact.table
    assert list(table.columns) == COLUMNS
    assert len(table) == exact.cells.total_size
    assert set(table["level"]) == {"top", "middle", "fine"}
    row = table[(table["level"] == "top") & (table["from"] == 0) & (table["to"] == 1)].iloc[0]
    assert row["estimate"] == exact.values("top")[0, 1]
    wide = exact.to_frame("fine", simultaneous=True)
    assert list(wide.columns) == [*COLUMNS[:-1], "simultaneous_low", "simultaneous_high", "outside"]
    assert (wide["simultaneous_low"] <= wide["low"]).all()
    assert (wide["high"] <= wide["simultaneous_high"]).all()
    assert wide["low"].equals(exact.to_frame("fine")["low"])
    assert (wide["level"] == "fine").all()


def test_two_sides_have_cells_of_their_own():
    graph = random_graph((12, 9), 3)
    left = gc.Groups(graph.left, {"region": np.arange(12) % 3})
    right = gc.Groups(graph.right, {"genre": ["a", "b", "b"] * 3})
    flows = released(graph, (left, right), epsilon=HUGE)
    assert flows.levels == ("region x genre",)
    table = np.zeros((3, 2))
    np.add.at(table, (left.codes()[graph.rows], right.codes()[graph.columns]), 1)
    assert np.allclose(flows.values(), table)
    assert flows.between(2, "b").estimate == pytest.approx(table[2, 1])
    assert flows.between([0, 1, 2], ["a", "b"]).estimate == pytest.approx(len(graph.rows))
    assert flows.guarantee.public == "both vertex sets and the groups"
    with pytest.raises(QueryError, match="unknown group"):
        flows.between("b", 2)
    square = random_graph((9, 9), 3)
    same = gc.Groups(square.left, {"half": np.arange(9) % 2})
    both = released(square, (same, same), epsilon=HUGE)
    assert both.cells.size(1) == 4
    assert both.total.estimate == pytest.approx(len(square.rows))


@pytest.mark.parametrize("options", [{"max_weight": 3.0}, {"max_weight_change": 1}])
@pytest.mark.parametrize("whole", [False, True])
def test_weights_are_counted_on_a_grid(options, whole):
    graph = random_graph(30, 1, largest=3.0, **options)
    flows = released(graph, epsilon=HUGE, work={"whole": whole})
    weights = np.floor(graph.weights) if whole else graph.weights
    counted = gc.Graph(graph.rows, graph.columns, weights, vertices=30, max_weight_change=1)
    assert np.allclose(flows.values("middle"), truth(counted, "middle"), atol=0.3)
    assert flows.noisy.unit == (1.0 if whole else flows.noisy.unit)
    assert flows.noisy.unit <= 1
    low, high = flows.intervals("top")
    exact = truth(counted, "top")
    assert ((low <= exact) & (exact <= high)).all()


def test_huge_weights_without_a_cap_are_not_told_by_what_is_public():
    shown = []
    for weight in (1.0, 2.0**40):
        flows = released(gc.Graph([0, 1], [1, 2], [1.0, weight], vertices=30, max_weight_change=1))
        shown.append((flows.noisy.unit, flows.strategy.shares, repr(flows)))
        assert all(values.dtype == np.int64 for values in flows.noisy.steps)
        assert np.isfinite(flows.values()).all()
    assert shown[0] == shown[1]


def test_rounded_tables_are_possible_and_near(exact):
    rounded = exact.rounded()
    for level in exact.levels:
        assert np.array_equal(rounded.values(level), np.rint(exact.values(level)))
    assert rounded.between([0, 1], [5, 6]) == round(exact.between([0, 1], [5, 6]).estimate)
    noisy = released(epsilon=0.4, seed=5)
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
    parents = np.zeros(4, dtype=np.int64)
    made = _with_remainders_rounded_up(
        parents,
        np.array([2.0, 0.0, 1.0, 3.0]),
        np.array([0.5, 0.2, 0.9, 0.4]),
        np.array([2.0]),
        np.array([9.0, 9.0, 1.0, 9.0]),
    )
    assert made.tolist() == [3, 0, 1, 4]


READS_PARQUET = importlib.util.find_spec("pyarrow") is not None
PARQUET = pytest.param(
    "parquet", marks=pytest.mark.skipif(not READS_PARQUET, reason="pyarrow is an extra")
)


@pytest.mark.parametrize("kind", ["csv", PARQUET])
def test_a_file_is_the_table_and_says_where_the_noise_is_from_a_seed(kind, tmp_path):
    parquet = kind == "parquet"
    path, private = tmp_path / f"mail.{kind}", released(seed=None)
    write = private.write_parquet if parquet else private.save
    read = pd.read_parquet if parquet else partial(pd.read_csv, skiprows=1)
    write(path)
    pd.testing.assert_frame_equal(read(path), private.table, check_dtype=False)
    with pytest.raises(FileFormatError, match="exists"):
        write(path)
    seeded = released()
    (seeded.write_parquet if parquet else seeded.save)(path, force=True)
    assert read(path)["mark"].eq("seeded: not private").all()
    if parquet:  # one level, whose labels of two kinds become strings
        mixed = gc.Groups(GRAPH.vertices, {"side": [1 if v < 9 else "x" for v in range(30)]})
        flows = released(groups=mixed, seed=None)
        flows.write_parquet(path, "side", force=True)
        assert set(read(path)["from"]) <= {"1", "x"}
        assert set(flows.to_frame(kind="pandas")["from"]) == {1, "x"}


def test_without_pyarrow_one_line_says_what_to_install(exact, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(FileFormatError, match="pip install pyarrow"):
        exact.write_parquet(tmp_path / "flows.parquet")
    assert not list(tmp_path.iterdir())


TWO_SIDES = random_graph((30, 3))


@pytest.mark.parametrize(
    ("graph", "groups", "options", "told"),
    [
        *((GRAPH, GROUPS, {name: 5}, name) for name in ("delta", "workload")),
        *((GRAPH, GROUPS, {"work": {n: -5}}, n) for n in ("accurate", "noise", "expected_cell")),
        (GRAPH, GROUPS, {"epsilon": 0}, "epsilon"),
        *((GRAPH, groups, {}, "a Groups") for groups in ((GROUPS, GROUPS), "club")),
        *((TWO_SIDES, groups, {}, "a pair of") for groups in (GROUPS, (GROUPS, "genres"))),
        (TWO_SIDES, (GROUPS, GROUPS), {}, "other vertices"),
        (random_graph(29), GROUPS, {}, "other vertices"),
        (random_graph(30, largest=2.0, max_weight_change=None), GROUPS, {}, "max_weight"),
        (random_graph(1), gc.Groups(gc.VertexSet(1), {"a": [0]}), {}, "no pairs"),
    ],
)
def test_what_cannot_be_released_is_refused(graph, groups, options, told):
    with pytest.raises((ParameterError, GraphError), match=told):
        released(graph, groups, **options)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda flows: flows.values("street"), "unknown level 'street'; there are 'top'"),
        (lambda flows: flows.between(0, 77), "unknown group 77"),
        (lambda flows: flows.between(0, 1, confidence=1.0), "confidence"),
        (lambda flows: flows.between(0, 1, confidence=True), "confidence"),
        (lambda flows: flows.intervals(confidence=0), "confidence"),
        (lambda flows: flows.linear(np.ones((3, 3))), "shape"),
        (lambda flows: flows.linear(np.full((9, 9), np.nan)), "finite"),
        (lambda flows: flows.linear("none"), "finite numbers of shape"),
        (lambda flows: flows.linear([[1.0, 2.0], [3.0]]), "finite numbers of shape"),
        (lambda flows: flows.linear(np.triu(np.ones((9, 9)))), "symmetric"),
    ],
)
def test_queries_that_do_not_fit_are_refused(exact, ask, told):
    with pytest.raises(QueryError, match=told):
        ask(exact)


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.PrivacyWarning")  # of the large delta
@pytest.mark.parametrize(
    ("given", "noise", "stated"), [(0.05, "gaussian", 0.05), (1e-9, "laplace", 0.0)]
)
def test_a_delta_is_stated_where_noise_is_gaussian_alone(given, noise, stated):
    flows = released(delta=given)
    assert flows.strategy.noise.distribution == noise
    assert 0.999 < flows.guarantee.epsilon <= 1.0
    assert flows.guarantee.delta == stated


def test_flows_of_a_directed_graph_have_a_direction():
    """At epsilon = 50 a noise other than 0 has a probability of 4e-22 a cell."""
    graph = gc.DirectedGraph.of(
        [("a", "c"), ("b", "c"), ("c", "a"), ("a", "b"), ("d", "c"), ("c", "d")]
    )
    groups = gc.Groups.of({"a": "X", "b": "X", "c": "Y", "d": "Y"}, graph)
    flows = released(graph, groups, epsilon=HUGE)
    for (a, b), arcs in {"XY": 2, "YX": 1, "XX": 1, "YY": 2}.items():
        assert flows.between(a, b).estimate == arcs
    assert "one ordered pair is an arc" in flows.guarantee.neighbours


def test_labels_may_come_from_an_iterator():
    """Once an iterator counted as no label, and the simultaneous interval was half as long."""
    groups = gc.Groups(gc.VertexSet(30), {"fine": list(range(30))})
    flows = released(groups=groups, epsilon=2.0)
    left, right = range(13), range(15, 28)
    answer = flows.between(left, right, simultaneous=True)
    assert flows.between(iter(left), iter(right), simultaneous=True) == answer
    assert answer.interval != flows.between(left, right).interval
