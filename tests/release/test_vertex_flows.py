"""Flows with a vertex as privacy unit: intervals, noise, receipts and stores.

The *bounded table* counts at most `max_degree` edges of each vertex in each cell.
"""

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups, sums_of_cells
from scripts.figures.random_graphs import planted_partition

N = 120
GRAPH = planted_partition(N, 2, 0.3, 0.05, seed=3)
GROUPS = gc.Groups(
    GRAPH.vertices,
    {"half": (np.arange(N) % 2).tolist(), "part": (np.arange(N) % 4).tolist()},
)


def released(max_degree, graph=GRAPH, groups=GROUPS, *, epsilon=1.0, workload=None, **options):
    return gc.release_flows(
        graph,
        groups,
        epsilon=epsilon,
        privacy_unit=gc.PrivacyUnit.vertex(max_degree=max_degree),
        workload=workload or gc.FlowWorkload(),
        **options,
    )


@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-6)])
def test_intervals_hold_for_the_bounded_table_on_every_level(noise, delta):
    sides = sides_of_groups(GRAPH, GROUPS)
    cells, grid = cell_tree(GRAPH, sides), Grid.of_vertices(GRAPH, 3)
    bounded_sums = sums_of_cells(GRAPH, sides, cells, grid)
    assert bounded_sums[0][0] < len(GRAPH.rows)  # so the bound leaves edges out
    for seed in range(5):
        flows = released(3, delta=delta, workload=gc.FlowWorkload(noise=noise), seed=seed)
        for level_index, level in enumerate(flows.levels, start=1):
            # All intervals of a release fail together with probability 1e-9.
            table = flows.to_frame(level, confidence=1 - 1e-9, simultaneous=True)
            assert (table["low"] <= bounded_sums[level_index]).all()
            assert (bounded_sums[level_index] <= table["high"]).all()


def test_the_noise_is_for_changes_in_all_cells_of_a_group():
    noisy = released(3, epsilon=0.5, seed=0).noisy
    costs = [
        rate * change
        for rate, (change, _) in zip(noisy.noise.parameters, noisy.changes, strict=True)
    ]
    assert sum(costs) == noisy.epsilon <= 0.5
    assert noisy.changes[-1] == (4 * 3, 4 * 3**2)  # a group has 4 cells, with 3 edges each


def test_guarantee_and_receipt_name_the_vertex_and_the_bounded_table(tmp_path):
    flows = released(7, seed=0)
    assert flows.guarantee.privacy_unit == "1 vertex"
    assert "all edges of any one vertex" in flows.guarantee.neighbours
    assert "degree bound" in flows.guarantee.public
    assert flows.noisy.map.max_degree == 7
    flows.save(tmp_path / "flows.csv")
    assert "bounded table" in (tmp_path / "flows.csv.json").read_text()


def test_a_store_of_vertices_takes_other_degree_bounds_and_refuses_edges(tmp_path):
    store = tmp_path / "mail.db"
    released(7, store=store)
    released(2, store=store)
    with pytest.raises(gc.BudgetError, match="is 1 vertex, that of this use"):
        gc.release_flows(GRAPH, GROUPS, epsilon=1.0, store=store)


@pytest.fixture
def graph_without_maximum_weight():
    weights = np.random.default_rng(1).exponential(3.0, len(GRAPH.rows))
    return gc.Graph(GRAPH.rows, GRAPH.columns, weights, vertices=GRAPH.vertices)


def test_weights_need_no_maximum(graph_without_maximum_weight):
    above_all_degrees = 1000
    flows = released(above_all_degrees, graph_without_maximum_weight, epsilon=50.0, seed=0)
    low, high = flows.total.interval
    assert low <= graph_without_maximum_weight.weights.sum() <= high


def test_whole_weights_count_in_units_of_one(graph_without_maximum_weight):
    workload = gc.FlowWorkload(whole=True)
    noisy = released(9, graph_without_maximum_weight, workload=workload, seed=0).noisy
    assert noisy.unit == 1.0
    assert noisy.changes[-1][0] == 4 * 9


@pytest.mark.parametrize("max_degree", [None, 0, 2.5])
def test_impossible_degree_bounds_are_refused(max_degree):
    with pytest.raises(gc.ParameterError, match="max_degree"):
        released(max_degree)


def equal_parts(vertices, count):
    return gc.Groups(vertices, {"part": (np.arange(len(vertices)) % count).tolist()})


def test_intervals_hold_for_bipartite_graphs():
    graph = random_graph((12, 9), density=0.5)
    groups = equal_parts(graph.left, 3), equal_parts(graph.right, 2)
    low, high = released(50, graph, groups, epsilon=50.0, seed=0).total.interval
    assert low <= len(graph.rows) <= high


def test_a_vertex_changes_rows_and_columns_of_a_directed_table():
    graph = random_graph(12, directed=True)
    groups = equal_parts(graph.vertices, 3)
    noisy = released(2, graph, groups, epsilon=50.0, seed=0).noisy
    # Of a group a, the cells (a, a), and (a, b) and (b, a) for two other groups b: 2 edges in each.
    assert noisy.changes == ((5 * 2, 5 * 2**2),)
