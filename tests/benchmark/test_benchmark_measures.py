"""Measures of the benchmark beside brute force and direct computations on small graphs."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import graphcuts_dp as gc
from graphcuts_dp.errors import MatrixError
from scripts.benchmark.estimates import checked_estimate
from scripts.benchmark.families import families_of
from scripts.benchmark.measures import (
    MEASURES,
    TOLERANCE,
    measured,
    worst_cut,
)
from scripts.benchmark.min_cuts import (
    FlowNetwork,
    global_min_cut,
    one_matrix,
    pairs_to_part,
    paths_of,
)
from scripts.benchmark.spectra import largest_singular, modularity
from scripts.benchmark.truth import truth_of_graph, upper_half
from scripts.figures.random_graphs import planted_partition

NAMES = [measure.name for measure in MEASURES]
SMALL = 7
N = 40
PLAIN = planted_partition(N, 2, 0.8, 0.2, seed=3)
GRAPHS = {
    "undirected": PLAIN,
    "weighted": gc.Graph(
        PLAIN.rows, PLAIN.columns, np.linspace(0.5, 3, len(PLAIN.rows)), vertices=N, weight_cap=3.0
    ),
    "directed": gc.DirectedGraph(PLAIN.rows, PLAIN.columns, vertices=N),
    "bipartite": gc.BipartiteGraph(PLAIN.rows % 15, PLAIN.columns % 25, left=15, right=25),
}
GROUPS = gc.Groups(PLAIN.vertices, {"block": (np.arange(N) // 8).tolist()})


def symmetric(random, n, *, low=0.0):
    matrix = np.triu(random.uniform(low, 1.0, (n, n)) * (random.random((n, n)) < 0.7), 1)
    return matrix + matrix.T


def cuts_of(matrix):
    """Weight from S to the rest, for every S but none and all, with S."""
    n = len(matrix)
    for bits in product((False, True), repeat=n):
        S = np.array(bits)
        if S.any() and not S.all():
            yield S, matrix[S][:, ~S].sum()


def least(matrix, s, t):
    return min(value for S, value in cuts_of(matrix) if S[s] and not S[t])


@pytest.mark.parametrize("seed", range(3))
def test_least_cuts_are_those_of_brute_force(seed):
    random = np.random.default_rng(seed)
    matrix = symmetric(random, SMALL)
    network = FlowNetwork(matrix, directed=False)
    pairs = [(i, j) for i in range(SMALL) for j in range(SMALL) if i != j]
    expected = np.array([least(matrix, s, t) for s, t in pairs])
    assert network.between(pairs) == pytest.approx(expected)
    everything = network.all_pairs()
    assert [everything[s, t] for s, t in pairs] == pytest.approx(expected)
    assert global_min_cut(matrix) == pytest.approx(expected.min())
    arcs = random.random((SMALL, SMALL)) * (1 - np.eye(SMALL))
    found = FlowNetwork(arcs, directed=True).between(pairs)
    assert found == pytest.approx([least(arcs, s, t) for s, t in pairs])


def test_the_global_cut_of_many_vertices_is_the_least_of_flows():
    matrix = symmetric(np.random.default_rng(4), 60)
    flows = FlowNetwork(matrix, directed=False).between([(0, t) for t in range(1, 60)])
    assert global_min_cut(matrix) == pytest.approx(flows.min())


def test_least_cuts_of_two_sides_are_of_one_graph():
    across = np.random.default_rng(5).random((3, 4))
    whole = one_matrix(across, bipartite=True).toarray()
    assert (whole == whole.T).all()
    assert (whole[:3, 3:] == across).all()
    assert whole.sum() == pytest.approx(2 * across.sum())


def test_paths_of_a_tree():
    found = paths_of(np.array([[0, 1], [1, 2], [1, 3]]), np.array([5.0, 2.0, 4.0]), 4)
    assert found[0].tolist() == [np.inf, 5.0, 2.0, 4.0]
    assert found[2, 3] == 2.0
    assert (found == found.T).all()


@pytest.mark.parametrize("n", [2, 30, 401])
def test_pairs_to_part_are_two_vertices_each(n):
    pairs = np.array(pairs_to_part(n))
    assert len(pairs) == (20 if n <= 400 else 6)
    assert ((pairs >= 0) & (pairs < n)).all()
    assert (pairs[:, 0] != pairs[:, 1]).all()


@pytest.mark.parametrize("directed", [False, True])
def test_modularity_is_that_of_networkx(directed):
    random = np.random.default_rng(6)
    matrix = random.random((12, 12)) * (1 - np.eye(12))
    matrix = matrix if directed else matrix + matrix.T
    codes = random.integers(0, 3, 12)
    network = nx.from_numpy_array(matrix, create_using=nx.DiGraph if directed else nx.Graph)
    parts = [set(np.flatnonzero(codes == part).tolist()) for part in range(3)]
    expected = nx.community.modularity(network, parts)
    assert modularity(matrix, codes) == pytest.approx(expected)
    assert modularity(sp.csr_array(matrix), codes) == pytest.approx(expected)
    assert modularity(0 * matrix, codes) == 0.0


@pytest.mark.parametrize("shape", [(6, 9), (450, 410)])
def test_the_largest_singular_value_is_numpy_s(shape):
    matrix = np.random.default_rng(7).normal(size=shape)
    expected = np.linalg.svd(matrix, compute_uv=False)[0]
    assert largest_singular(matrix) == pytest.approx(expected, rel=1e-5)
    assert largest_singular(sp.csr_array(matrix)) == pytest.approx(expected, rel=1e-5)
    assert largest_singular(sp.csr_array(shape)) == 0.0


@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_the_worst_cut_is_that_of_enumeration(low):
    matrix = symmetric(np.random.default_rng(8), 9, low=low)
    expected = 0.0
    for bits in product((0.0, 1.0), repeat=9):
        sums = np.array(bits) @ matrix
        expected = max(expected, sums[sums > 0].sum(), -sums[sums < 0].sum())
    lower, upper = worst_cut(matrix)
    assert lower <= expected * (1 + 1e-9)
    assert upper >= expected * (1 - 1e-9)
    assert upper <= (1 + TOLERANCE) * lower * (1 + 1e-9)


@pytest.mark.parametrize("kind", GRAPHS)
def test_cuts_of_families_are_those_of_queries(kind):
    graph = GRAPHS[kind]
    two = kind == "bipartite"
    codes = None if two else GROUPS.codes()
    families = families_of(graph, groups=codes, communities=codes)
    names = ["group cuts", "single vertices", "random halves", "small sets"]
    assert [family.name for family in families] == (names[1:] if two else names)
    matrix = checked_estimate(graph, graph)
    for family in families:
        expected = [gc.CutQuery(S, T).value(graph) for S, T in zip(family.S, family.T, strict=True)]
        assert family.values(matrix) == pytest.approx(np.array(expected))
        dense = matrix.toarray() if sp.issparse(matrix) else matrix
        answers = family.values(lambda S, T, dense=dense: dense[S][:, T].sum())
        assert answers == pytest.approx(np.array(expected))
        if not two:
            assert not (family.S & family.T).any()


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_truth_has_no_error_and_the_empty_graph_has_1(kind):
    graph = GRAPHS[kind]
    truth = truth_of_graph(graph, None if kind == "bipartite" else GROUPS)
    right = measured(graph, truth)
    empty = measured(np.zeros(graph.shape), truth)
    assert right == dict.fromkeys(right, pytest.approx(0.0, abs=1e-9))
    assert empty == dict.fromkeys(empty, pytest.approx(1.0))
    assert list(right) == list(empty) == [name for name in NAMES if name in truth.empty]
    missing = {
        "undirected": {"community cuts"} - set(truth.empty),
        "weighted": {"community cuts"} - set(truth.empty),
        "directed": {"global min cut", "Gomory-Hu tree"},
        "bipartite": {"group cuts", "community cuts", "modularity"},
    }[kind]
    assert set(NAMES) - set(right) - {"community cuts"} == missing - {"community cuts"} | {
        "seconds",
        "memory",
    }


def test_each_measure_is_what_it_says():
    graph, random = GRAPHS["weighted"], np.random.default_rng(9)
    truth = truth_of_graph(graph, GROUPS)
    estimate = symmetric(random, N)
    found, matrix = measured(estimate, truth), graph.dense()
    weight = matrix.sum()
    lower, upper = worst_cut(estimate - matrix)
    assert found["worst cut found"] == pytest.approx(lower / weight)
    assert found["worst cut proven"] == pytest.approx(upper / weight)
    singles = np.abs(estimate.sum(axis=1) - matrix.sum(axis=1)).mean() / matrix.sum(axis=1).mean()
    assert found["single vertices"] == pytest.approx(singles)
    norms = [np.linalg.norm(each, 2) for each in (estimate - matrix, matrix)]
    assert found["spectral distance"] == pytest.approx(norms[0] / norms[1])
    least_true, least_made = (global_min_cut(each) for each in (matrix, estimate))
    assert found["global min cut"] == pytest.approx(abs(least_true - least_made) / least_true)
    everything = [
        upper_half(FlowNetwork(each, directed=False).all_pairs()) for each in (matrix, estimate)
    ]
    gap = np.abs(everything[0] - everything[1]).mean() / everything[0].mean()
    assert found["Gomory-Hu tree"] == pytest.approx(gap)
    codes = truth.communities
    gap = abs(modularity(estimate, codes) - modularity(matrix, codes))
    assert found["modularity"] == pytest.approx(gap / abs(modularity(matrix, codes)))
    block = GROUPS.codes()
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    sums = [
        np.array([each[block == a][:, block == b].sum() for a, b in pairs])
        for each in (matrix, estimate)
    ]
    assert found["group cuts"] == pytest.approx(np.abs(sums[0] - sums[1]).mean() / sums[0].mean())


def test_a_graph_a_dense_and_a_sparse_matrix_measure_alike():
    truth = truth_of_graph(PLAIN, GROUPS)
    other = planted_partition(N, 2, 0.7, 0.3, seed=4)
    first, *rest = (
        measured(each, truth) for each in (other, other.dense(), sp.coo_array(other.dense()))
    )
    assert first["worst cut found"] > 0
    assert rest == [pytest.approx(first)] * 2


def test_what_an_estimate_cannot_have_is_left_out():
    truth = truth_of_graph(PLAIN, GROUPS)
    cuts = {"group cuts", "single vertices", "random halves", "small sets"}
    answered = measured(lambda S, T: float(S.sum() * T.sum()), truth)
    assert cuts <= set(answered) <= cuts | {"community cuts"}
    negative = measured(np.full((N, N), -0.5), truth)
    assert not set(negative) & {"s-t cuts", "global min cut", "Gomory-Hu tree"}
    assert negative["worst cut proven"] > 1


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        (np.zeros((N, N + 1)), "shape"),
        (np.full((N, N), np.nan), "finite"),
        (np.triu(np.ones((N, N))), "symmetric"),
        ("nothing", "two masks"),
        (GRAPHS["directed"], "another kind"),
    ],
)
def test_estimates_that_are_none_are_refused(estimate, message):
    with pytest.raises(MatrixError, match=message):
        checked_estimate(estimate, PLAIN)


def test_a_function_that_answers_nothing_is_refused():
    truth = truth_of_graph(PLAIN)
    with pytest.raises(MatrixError, match="not finite"):
        measured(lambda *_: np.nan, truth)


def test_the_diagonal_of_an_estimate_is_no_pair():
    ones = np.ones((N, N))
    assert not checked_estimate(ones, PLAIN).diagonal().any()
    assert not checked_estimate(sp.csr_array(np.eye(N)), PLAIN).diagonal().any()
    assert ones.diagonal().all(), "what was handed in is not changed"
    sides = GRAPHS["bipartite"]
    assert checked_estimate(np.ones(sides.shape), sides).sum() == 15 * 25
