"""Flows that hide all edges of a vertex: release, files, stores, intervals."""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import BudgetError, ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups, sums_of_cells
from scripts.figures.random_graphs import planted_partition

N = 120
GRAPH = planted_partition(N, 2, 0.3, 0.05, seed=3)
GROUPS = gc.Groups(
    GRAPH.vertices,
    {"half": (np.arange(N) % 2).tolist(), "part": (np.arange(N) % 4).tolist()},
)


def bounded(graph, groups, bound):
    sides = sides_of_groups(graph, groups)
    return sums_of_cells(graph, sides, cell_tree(graph, sides), Grid.of_vertices(graph, bound))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_intervals_hold_the_bounded_table_on_every_level(noise):
    true = bounded(GRAPH, GROUPS, 3)
    for seed in range(20):
        flows = gc.release_flows(
            GRAPH,
            GROUPS,
            epsilon=1.0,
            delta=1e-6 if noise == "gaussian" else 0.0,
            noise=noise,
            seed=seed,
            protect=gc.Protect.vertex(degree_bound=3),
        )
        for place, level in enumerate(flows.levels, start=1):
            # All intervals of a release at once fail with probability 1e-9.
            table = flows.to_frame(level, confidence=1 - 1e-9, simultaneous=True)
            assert (table["low"] <= true[place]).all()
            assert (true[place] <= table["high"]).all()
    assert true[0][0] < len(GRAPH.rows)  # the bound took something


def test_the_noise_is_that_of_all_cells_of_a_group():
    flows = gc.release_flows(
        GRAPH, GROUPS, epsilon=0.5, seed=0, protect=gc.Protect.vertex(degree_bound=3)
    )
    total = sum(
        parameter * change[0]
        for parameter, change in zip(flows.noisy.noise.parameters, flows.noisy.changes, strict=True)
    )
    assert total == flows.noisy.epsilon <= 0.5
    assert flows.noisy.changes[-1] == (12, 36)  # 4 cells of a group, 3 in each


def test_the_guarantee_says_whom_it_protects_and_the_receipt_of_what(tmp_path):
    flows = gc.release_flows(
        GRAPH, GROUPS, epsilon=1.0, seed=0, protect=gc.Protect.vertex(degree_bound=7)
    )
    assert flows.guarantee.protects == "1 vertex"
    assert "all edges of any one vertex" in flows.guarantee.neighbours
    assert "degree bound" in flows.guarantee.public
    assert flows.noisy.map.degree_bound == 7
    flows.save(tmp_path / "flows.csv")  # golden results hold what comes back
    assert "bounded table" in (tmp_path / "flows.csv.json").read_text()


def test_a_store_of_vertices_refuses_edges(tmp_path):
    store = tmp_path / "mail.db"
    gc.release_flows(
        GRAPH, GROUPS, epsilon=1.0, store=store, protect=gc.Protect.vertex(degree_bound=7)
    )
    with pytest.raises(BudgetError, match="protect 1 vertex"):
        gc.release_flows(GRAPH, GROUPS, epsilon=1.0, store=store)
    gc.release_flows(
        GRAPH, GROUPS, epsilon=1.0, store=store, protect=gc.Protect.vertex(degree_bound=2)
    )


def test_weights_need_no_cap():
    rng = np.random.default_rng(1)
    weights = rng.exponential(3.0, len(GRAPH.rows))
    graph = gc.Graph(GRAPH.rows, GRAPH.columns, weights, vertices=GRAPH.vertices)
    flows = gc.release_flows(
        graph, GROUPS, epsilon=50.0, seed=0, protect=gc.Protect.vertex(degree_bound=1000)
    )
    true = weights.sum()  # no degree exceeds the bound
    answer = flows.total
    assert answer.interval[0] <= true <= answer.interval[1]
    whole = gc.release_flows(
        graph, GROUPS, epsilon=1.0, whole=True, seed=0, protect=gc.Protect.vertex(degree_bound=9)
    )
    assert whole.noisy.unit == 1.0
    assert whole.noisy.changes[-1][0] == 36


@pytest.mark.parametrize("bound", [None, 0, 2.5])
def test_bounds_that_make_no_sense_are_refused(bound):
    with pytest.raises(ParameterError, match="degree_bound"):
        gc.release_flows(GRAPH, GROUPS, epsilon=1.0, protect=gc.Protect.vertex(degree_bound=bound))


def test_bipartite_and_directed_tables():
    rng = np.random.default_rng(0)
    left, right = gc.VertexSet(12), gc.VertexSet(9)
    two = gc.BipartiteGraph(rng.integers(0, 12, 60), rng.integers(0, 9, 60), left=left, right=right)
    sides = (
        gc.Groups(two.left, {"part": (np.arange(12) % 3).tolist()}),
        gc.Groups(two.right, {"part": (np.arange(9) % 2).tolist()}),
    )
    flows = gc.release_flows(
        two, sides, epsilon=50.0, seed=0, protect=gc.Protect.vertex(degree_bound=50)
    )
    assert flows.total.interval[0] <= len(two.rows) <= flows.total.interval[1]
    arcs = gc.DirectedGraph(rng.integers(0, 12, 60), rng.integers(0, 12, 60), vertices=12)
    groups = gc.Groups(arcs.vertices, {"part": (np.arange(12) % 3).tolist()})
    flows = gc.release_flows(
        arcs, groups, epsilon=50.0, seed=0, protect=gc.Protect.vertex(degree_bound=2)
    )
    assert flows.noisy.changes == ((10, 20),)  # 2 for each of (a, b), (b, a) and (a, a)
