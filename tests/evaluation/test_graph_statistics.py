"""Every statistic is what networkx, igraph or scipy says, on random graphs; samples are near it."""

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

import graphcuts_dp as gc
from graphcuts_dp.evaluation import graph_statistics
from graphcuts_dp.evaluation.degree_baseline import draw_by_degrees, expected_by_degrees
from graphcuts_dp.evaluation.graph_statistics import (
    assortativity,
    bipartite_clustering,
    clustering,
    earth_movers_distance,
    kolmogorov_smirnov,
    leading_values,
    path_lengths,
    reciprocity,
)

SEEDS = range(5)
RANDOM = {
    "uniform": lambda seed: nx.gnp_random_graph(40, 0.05 + 0.1 * seed, seed=seed),
    "heavy tails": lambda seed: nx.barabasi_albert_graph(60, 1 + seed, seed=seed),
    "clustered": lambda seed: nx.connected_caveman_graph(4 + seed, 5),
}
GRAPHS = [(kind, seed) for kind in RANDOM for seed in SEEDS]


def matrix_of(network):
    matrix = sp.csr_array(nx.to_scipy_sparse_array(network, dtype=float))
    matrix.sort_indices()
    return matrix


@pytest.mark.parametrize(("kind", "seed"), GRAPHS)
def test_clustering_and_mixing_are_those_of_networkx_and_igraph(kind, seed):
    network = RANDOM[kind](seed)
    matrix, other = matrix_of(network), igraph.Graph.from_networkx(network)
    overall, local = clustering(matrix)
    assert overall == (pytest.approx(nx.transitivity(network)), "")
    assert overall.value == pytest.approx(other.transitivity_undirected(mode="zero"))
    assert local == (pytest.approx(nx.average_clustering(network)), "")
    mixed = assortativity(matrix).value
    expected = other.assortativity_degree(directed=False)
    assert mixed is None if np.isnan(expected) else mixed == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_clustering_with_weights_is_that_of_networkx(seed):
    network = nx.gnp_random_graph(30, 0.3, seed=seed)
    random = np.random.default_rng(seed)
    for _, _, edge in network.edges(data=True):
        edge["weight"] = random.uniform(0.1, 7.0)
    matrix = matrix_of(network)
    expected = nx.average_clustering(network, weight="weight")
    assert clustering(matrix / matrix.data.max())[1].value == pytest.approx(expected)


def test_clustering_of_large_graphs_is_the_same_by_every_way(monkeypatch):
    """Dense, sparse, and from a sample: four of its deviations, at most .0012 each, are .005."""
    network = nx.powerlaw_cluster_graph(300, 6, 0.6, seed=1)
    matrix = matrix_of(network)
    random = np.random.default_rng(0)
    weights = sp.triu(matrix, format="csr")
    weights.data = random.random(weights.nnz)
    weighted = sp.csr_array(weights + weights.T)
    for each in (matrix, weighted):
        dense = clustering(each)
        with monkeypatch.context() as patch:
            patch.setattr(graph_statistics, "_MOST_DENSE_VERTICES", 10)
            sparse = clustering(each)
            patch.setattr(graph_statistics, "_MOST_TERMS", 100)
            sampled = clustering(each, seed=5)
        for exact, other, guess in zip(dense, sparse, sampled, strict=True):
            assert other.value == pytest.approx(exact.value)
            assert guess.value == pytest.approx(exact.value, abs=0.005)
            assert guess.value != exact.value
            assert (exact.sample, other.sample) == ("", "")
            assert guess.sample == "200,000 pairs of neighbours"


@pytest.mark.parametrize("seed", SEEDS)
def test_directed_graphs(seed):
    network = nx.gnp_random_graph(40, 0.03 + 0.03 * seed, seed=seed, directed=True)
    matrix, other = matrix_of(network), igraph.Graph.from_networkx(network)
    assert reciprocity(matrix).value == pytest.approx(nx.overall_reciprocity(network))
    expected = nx.degree_assortativity_coefficient(network, x="out", y="in")
    assert assortativity(matrix).value == pytest.approx(expected)
    largest = network.subgraph(max(nx.strongly_connected_components(network), key=len))
    mean, share = path_lengths(matrix, directed=True)
    assert share.value == len(largest) / 40
    assert mean == (pytest.approx(nx.average_shortest_path_length(largest)), "")
    values = leading_values(matrix, 5, symmetric=False)
    assert values == pytest.approx(np.linalg.svd(matrix.toarray(), compute_uv=False)[:5])
    assert other.reciprocity() == pytest.approx(reciprocity(matrix).value)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_sides(seed):
    network = nx.bipartite.random_graph(15, 25, 0.1 + 0.1 * seed, seed=seed)
    matrix = sp.csr_array(nx.bipartite.biadjacency_matrix(network, range(15), dtype=float))
    expected = nx.bipartite.robins_alexander_clustering(network)
    assert bipartite_clustering(matrix).value == pytest.approx(expected)
    assert bipartite_clustering(sp.csr_array(matrix.T)).value == pytest.approx(expected)
    arcs = nx.DiGraph([(u, v) for u, v in network.edges])
    mixed = nx.degree_assortativity_coefficient(arcs, x="out", y="in")
    assert assortativity(matrix).value == pytest.approx(mixed)


@pytest.mark.parametrize(("kind", "seed"), GRAPHS)
def test_paths_and_spectra_are_those_of_networkx(kind, seed):
    network = RANDOM[kind](seed)
    matrix = matrix_of(network)
    largest = network.subgraph(max(nx.connected_components(network), key=len))
    mean, share = path_lengths(matrix)
    assert share.value == pytest.approx(len(largest) / len(network))
    assert mean == (pytest.approx(nx.average_shortest_path_length(largest)), "")
    expected = np.sort(nx.adjacency_spectrum(network).real)[::-1]
    assert leading_values(matrix, 10, symmetric=True) == pytest.approx(expected[:10])


@pytest.mark.thorough
def test_paths_of_large_graphs_are_sampled():
    """A mean over 500 of 1,500 vertices lies well within five of its standard deviations."""
    network = nx.barabasi_albert_graph(1500, 3, seed=2)
    exact = np.array([np.mean([*nx.single_source_shortest_path_length(network, v).values()])
                      for v in network]) * 1500 / 1499  # fmt: skip
    mean, share = path_lengths(matrix_of(network), seed=3)
    assert mean.sample == "500 of 1,500 vertices"
    assert mean.value == pytest.approx(exact.mean(), abs=5 * exact.std() / np.sqrt(500))
    assert mean.value != exact.mean()
    assert share == (1.0, "")


@pytest.mark.parametrize("symmetric", [True, False])
def test_spectra_of_large_graphs(symmetric):
    matrix = matrix_of(nx.barabasi_albert_graph(600, 3, seed=2))
    dense = matrix.toarray()
    values = np.linalg.eigvalsh(dense)[::-1] if symmetric else np.linalg.svd(dense)[1]
    assert leading_values(matrix, 10, symmetric=symmetric) == pytest.approx(values[:10])


@pytest.mark.parametrize("seed", SEEDS)
def test_distances_of_samples_are_those_of_scipy(seed):
    random = np.random.default_rng(seed)
    x, y = random.poisson(4, 50), random.poisson(5, 80)
    assert kolmogorov_smirnov(x, y) == pytest.approx(stats.ks_2samp(x, y).statistic)
    expected = np.abs(np.sort(np.repeat(x, 8)) - np.sort(np.repeat(y, 5))).mean()
    assert earth_movers_distance(x, y) == pytest.approx(expected)


def test_what_is_not_defined_is_none_or_nothing():
    none, two = sp.csr_array((5, 5)), matrix_of(nx.path_graph(2))
    assert clustering(none) == ((0.0, ""), (0.0, ""))
    assert bipartite_clustering(none).value == 0.0
    assert reciprocity(none).value is None
    assert path_lengths(none) == ((None, ""), (0.2, ""))
    assert list(leading_values(none, 10, symmetric=True)) == [0.0] * 5
    assert kolmogorov_smirnov([], [1.0]) is None
    assert earth_movers_distance([1.0], []) is None
    assert assortativity(none).value is None
    assert assortativity(matrix_of(nx.cycle_graph(5))).value is None  # all degrees are equal
    assert path_lengths(two)[0].value == 1.0


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kind", ["undirected", "weighted", "directed", "bipartite"])
def test_graphs_drawn_by_degrees_have_them_in_the_mean(kind, many, monkeypatch):
    """The mean weight matrix of 400 draws: no entry lies six of its deviations away."""
    random = np.random.default_rng(7)
    dense = random.random((20, 20)) < 0.25
    if kind == "weighted":
        dense = dense * np.round(random.random((20, 20)) * 8 + 1)
    cap = 9.0 if kind == "weighted" else None
    kinds = {"directed": gc.DirectedGraph, "bipartite": gc.BipartiteGraph}
    graph = kinds.get(kind, gc.Graph).of(dense, weighted=cap is not None, max_weight=cap)
    if many:
        monkeypatch.setattr("graphcuts_dp.evaluation.degree_baseline._MOST_PAIRS", 10)
    drawn = np.array([draw_by_degrees(graph, seed=seed).dense() for seed in range(400)])
    expected = expected_by_degrees(graph)
    if many:  # a Poisson number of edges is above 0 with a smaller probability
        pattern = graph.dense() > 0
        rate = np.outer(pattern.sum(axis=1), pattern.sum(axis=0)) / pattern.sum()
        expected = expected * (1 - np.exp(-rate)) / np.minimum(rate, 1)
    deviation = np.maximum(drawn.std(axis=0), 0.02) / 20
    assert (np.abs(drawn.mean(axis=0) - expected) <= 6 * deviation).all()
    assert (draw_by_degrees(graph, seed=3).dense() == drawn[3]).all()


def test_graphs_without_edges_are_drawn(monkeypatch):
    empty = gc.Graph([], [], vertices=4)
    assert len(draw_by_degrees(empty, seed=0).rows) == 0
    monkeypatch.setattr("graphcuts_dp.evaluation.degree_baseline._MOST_PAIRS", 1)
    assert len(draw_by_degrees(empty, seed=0).rows) == 0
