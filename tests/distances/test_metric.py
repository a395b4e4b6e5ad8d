"""Shortest-path metrics: distances, diameters and what a map is recognised as."""

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp.distances.metric import Metric


def random_tree(size, seed):
    random = np.random.default_rng(seed)
    parents = [int(random.integers(0, v)) for v in range(1, size)]
    return Metric(range(1, size), parents, random.uniform(0.5, 3.0, size - 1), vertices=size)


def random_map(size, seed):
    graph = nx.connected_watts_strogatz_graph(size, 4, 0.3, seed=seed)
    random = np.random.default_rng(seed)
    for u, v in graph.edges:
        graph[u][v]["weight"] = float(random.uniform(0.5, 3.0))
    return graph


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_networkx(seed):
    graph = random_map(30, seed)
    metric = Metric.of(graph)
    expected = nx.floyd_warshall_numpy(graph)
    assert np.allclose(metric.matrix, expected)
    assert metric.diameter == pytest.approx(expected.max())
    assert np.allclose(metric.eccentricities, expected.max(axis=1))
    assert metric.kind == "graph"
    weights = np.random.default_rng(seed).normal(size=30)
    assert np.allclose(metric.weighted_sums(weights), expected @ weights)


@given(st.integers(1, 40), st.integers(0, 1000))
def test_sums_on_trees_are_those_of_all_distances(size, seed):
    metric = random_tree(size, seed)
    weights = np.random.default_rng(seed).normal(size=size)
    assert metric.kind in ("tree", "path")
    assert np.allclose(metric.weighted_sums(weights), metric.matrix @ weights)
    assert metric.diameter == pytest.approx(metric.matrix.max())
    assert np.allclose(metric.eccentricities, metric.matrix.max(axis=1))


def test_paths_and_grids_are_recognised():
    shuffled = Metric([2, 0, 3], [0, 3, 1], [1.0, 2.0, 4.0], vertices="abcd")
    assert shuffled.kind == "path"
    assert shuffled.matrix[2, 1] == 7
    for metric in (shuffled, Metric.path(1), Metric.path(5), Metric.grid(3, 4)):
        points = metric.l1_coordinates
        apart = np.abs(points[:, None] - points[None]).sum(axis=2)
        assert np.allclose(apart, metric.matrix)
    assert Metric.grid(3, 4).kind == "grid"
    assert Metric.path(3, [1.0, 0.5]).diameter == 1.5


def test_grids_with_uneven_lengths_or_missing_edges():
    grid = nx.grid_2d_graph(3, 4)
    gaps = {0: 2.0, 1: 0.5, 2: 4.0}
    for (i, j), (k, m) in grid.edges:
        grid[i, j][k, m]["weight"] = gaps[min(j, m)] if i == k else 1.5
    for i, j in grid.nodes:
        grid.nodes[i, j].update(x=10.0 * i, y=3.0 * j)
    named = nx.relabel_nodes(grid, {(i, j): f"{i},{j}" for i, j in grid.nodes})
    metric = Metric.of(named)
    assert metric.kind == "grid"
    points = metric.l1_coordinates
    assert np.allclose(np.abs(points[:, None] - points[None]).sum(axis=2), metric.matrix)
    named["0,0"]["0,1"]["weight"] = 9.0
    assert Metric.of(named).kind == "graph"
    named.remove_edge("0,0", "0,1")
    assert Metric.of(named).kind == "graph"


def test_all_kinds_of_graphs_are_maps():
    edges = [("a", "b", 2.0), ("b", "c", 1.0), ("a", "c", 9.0)]
    plain = nx.Graph()
    plain.add_weighted_edges_from(edges)
    nx.set_node_attributes(plain, {v: {"lon": i, "lat": 2 * i} for i, v in enumerate("abc")})
    drawn = Metric.of(plain)
    packed = igraph.Graph.TupleList(edges, weights=True)
    for metric in (drawn, Metric.of(packed), Metric.of(gc.Graph.of(edges)), Metric.of(drawn)):
        assert metric.distances_from([metric.row("a")])[0, metric.row("c")] == 3
    assert drawn.coordinates.tolist() == [[0, 0], [1, 2], [2, 4]]
    assert Metric.of(packed).coordinates is None
    assert Metric.of(igraph.Graph.Ring(4)).diameter == 2


def test_parallel_edges_count_by_their_shortest():
    metric = Metric([0, 1, 0, 1], [1, 0, 1, 1], [3.0, 2.0, 5.0, 1.0], vertices=2)
    assert metric.diameter == 2
