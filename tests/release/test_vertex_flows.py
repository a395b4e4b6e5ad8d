"""Flows that hide all edges of a vertex: release, files, stores, intervals."""

from functools import partial

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups, sums_of_cells
from scripts.figures.random_graphs import planted_partition

N = 120
GRAPH = planted_partition(N, 2, 0.3, 0.05, seed=3)
GROUPS = gc.Groups(
    GRAPH.vertices,
    {"half": (np.arange(N) % 2).tolist(), "part": (np.arange(N) % 4).tolist()},
)


def released(bound, graph=GRAPH, groups=GROUPS, *, epsilon=1.0, work=None, **options):
    return gc.release_flows(
        graph,
        groups,
        epsilon=epsilon,
        privacy_unit=gc.PrivacyUnit.vertex(max_degree=bound),
        workload=gc.FlowWorkload(**(work or {})),
        **options,
    )


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_intervals_hold_the_bounded_table_on_every_level(noise):
    sides = sides_of_groups(GRAPH, GROUPS)
    cells, grid = cell_tree(GRAPH, sides), Grid.of_vertices(GRAPH, 3)
    true = sums_of_cells(GRAPH, sides, cells, grid)
    delta = 1e-6 if noise == "gaussian" else 0.0
    for seed in range(5):
        flows = released(3, delta=delta, work={"noise": noise}, seed=seed)
        for place, level in enumerate(flows.levels, start=1):
            # All intervals of a release at once fail with probability 1e-9.
            table = flows.to_frame(level, confidence=1 - 1e-9, simultaneous=True)
            assert (table["low"] <= true[place]).all()
            assert (true[place] <= table["high"]).all()
    assert true[0][0] < len(GRAPH.rows)  # the bound took something


def test_the_noise_is_that_of_all_cells_of_a_group():
    noisy = released(3, epsilon=0.5, seed=0).noisy
    rates = zip(noisy.noise.parameters, noisy.changes, strict=True)
    assert sum(rate * change[0] for rate, change in rates) == noisy.epsilon <= 0.5
    assert noisy.changes[-1] == (12, 36)  # 4 cells of a group, 3 in each


def test_the_guarantee_says_whom_it_protects_and_the_receipt_of_what(tmp_path):
    flows = released(7, seed=0)
    assert flows.guarantee.privacy_unit == "1 vertex"
    assert "all edges of any one vertex" in flows.guarantee.neighbours
    assert "degree bound" in flows.guarantee.public
    assert flows.noisy.map.max_degree == 7
    flows.save(tmp_path / "flows.csv")  # golden results hold what comes back
    assert "bounded table" in (tmp_path / "flows.csv.json").read_text()


def test_a_store_of_vertices_refuses_edges(tmp_path):
    store = tmp_path / "mail.db"
    released(7, store=store)
    with pytest.raises(BudgetError, match="is 1 vertex, that of this use"):
        gc.release_flows(GRAPH, GROUPS, epsilon=1.0, store=store)
    released(2, store=store)


def test_weights_need_no_cap():
    weights = np.random.default_rng(1).exponential(3.0, len(GRAPH.rows))
    graph = gc.Graph(GRAPH.rows, GRAPH.columns, weights, vertices=GRAPH.vertices)
    low, high = released(1000, graph, epsilon=50.0, seed=0).total.interval
    assert low <= weights.sum() <= high  # no degree exceeds the bound
    whole = released(9, graph, work={"whole": True}, seed=0)
    assert whole.noisy.unit == 1.0
    assert whole.noisy.changes[-1][0] == 36


@pytest.mark.parametrize("bound", [None, 0, 2.5])
def test_bounds_that_make_no_sense_are_refused(bound):
    with pytest.raises(ParameterError, match="max_degree"):
        released(bound)


def test_bipartite_and_directed_tables():
    def parts(vertices, count):
        return gc.Groups(vertices, {"part": (np.arange(len(vertices)) % count).tolist()})

    nearly_exact = partial(released, epsilon=50.0, seed=0)
    two = random_graph((12, 9), density=0.5)
    low, high = nearly_exact(50, two, (parts(two.left, 3), parts(two.right, 2))).total.interval
    assert low <= len(two.rows) <= high
    arcs = random_graph(12, directed=True)
    noisy = nearly_exact(2, arcs, parts(arcs.vertices, 3)).noisy
    assert noisy.changes == ((10, 20),)  # 2 for each of (a, b), (b, a) and (a, a)
