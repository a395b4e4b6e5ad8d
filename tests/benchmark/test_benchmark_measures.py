"""Measures of the benchmark, compared with brute force and direct formulas on small graphs."""

from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest
import scipy.sparse as sp

import graphcuts_dp as gc
from graphcuts_dp import MatrixError
from graphcuts_dp.evaluation.modularity import best_parts, modularity
from graphcuts_dp.evaluation.worst_cut import worst_cut
from scripts.benchmark.base import Clustering
from scripts.benchmark.estimates import checked_estimate
from scripts.benchmark.families import families_of
from scripts.benchmark.measures import MEASURES, TOLERANCE, measured
from scripts.benchmark.min_cuts import (
    FlowNetwork,
    global_min_cut,
    one_matrix,
    pairs_to_part,
    paths_of,
)
from scripts.benchmark.spectra import disagreements, largest_singular
from scripts.benchmark.truth import truth_of_graph, upper_half
from scripts.figures.random_graphs import planted_partition

NAMES = [measure.name for measure in MEASURES]
SMALL = 7
N = 40
PLAIN = planted_partition(N, 2, 0.8, 0.2, seed=3)
GRAPHS = {
    "undirected": PLAIN,
    "weighted": gc.Graph(
        PLAIN.rows, PLAIN.columns, np.linspace(0.5, 3, len(PLAIN.rows)), vertices=N, max_weight=3.0
    ),
    "directed": gc.DirectedGraph(PLAIN.rows, PLAIN.columns, vertices=N),
    "bipartite": gc.BipartiteGraph(PLAIN.rows % 15, PLAIN.columns % 25, left=15, right=25),
}
GROUPS = gc.Groups(PLAIN.vertices, {"block": (np.arange(N) // 8).tolist()})


def random_weights(random: np.random.Generator, n: int, *, low: float = 0.0) -> np.ndarray:
    """Return a symmetric matrix with weights of about 70 % of the pairs."""
    matrix = np.triu(random.uniform(low, 1.0, (n, n)) * (random.random((n, n)) < 0.7), 1)
    return matrix + matrix.T


def min_cut(matrix: np.ndarray, s: int, t: int) -> float:
    """Return the least weight of all sets with s and without t."""
    sets = (np.array(bits) for bits in product((False, True), repeat=len(matrix)))
    return min(matrix[S][:, ~S].sum() for S in sets if S[s] and not S[t])


@pytest.mark.parametrize("seed", range(3))
def test_least_cuts_are_those_of_brute_force(seed):
    random = np.random.default_rng(seed)
    matrix, pairs = random_weights(random, SMALL), list(permutations(range(SMALL), 2))
    network = FlowNetwork(matrix, directed=False)
    expected = np.array([min_cut(matrix, s, t) for s, t in pairs])
    assert network.between(pairs) == pytest.approx(expected)
    all_weights = network.all_pairs()
    assert [all_weights[s, t] for s, t in pairs] == pytest.approx(expected)
    assert global_min_cut(matrix) == pytest.approx(expected.min())
    arcs = random.random((SMALL, SMALL)) * (1 - np.eye(SMALL))
    weights = FlowNetwork(arcs, directed=True).between(pairs)
    assert weights == pytest.approx([min_cut(arcs, s, t) for s, t in pairs])


def test_the_global_cut_of_many_vertices_is_the_least_of_flows():
    matrix = random_weights(np.random.default_rng(4), 60)
    flows = FlowNetwork(matrix, directed=False).between([(0, t) for t in range(1, 60)])
    assert global_min_cut(matrix) == pytest.approx(flows.min())


def test_two_sides_are_joined_in_one_symmetric_matrix():
    across = np.random.default_rng(5).random((3, 4))
    whole = one_matrix(across, bipartite=True).toarray()
    assert (whole == np.block([[np.zeros((3, 3)), across], [across.T, np.zeros((4, 4))]])).all()


def test_the_cut_between_two_vertices_is_the_lightest_edge_of_their_path():
    cuts = paths_of(np.array([[0, 1], [1, 2], [1, 3]]), np.array([5.0, 2.0, 4.0]), 4)
    assert cuts[0].tolist() == [np.inf, 5.0, 2.0, 4.0]
    assert cuts[2, 3] == 2.0
    assert (cuts == cuts.T).all()


@pytest.mark.parametrize("n", [2, 30, 401])
def test_pairs_to_separate_have_two_different_vertices(n):
    pairs = np.array(pairs_to_part(n))
    assert len(pairs) == (20 if n <= 400 else 6)
    assert ((pairs >= 0) & (pairs < n)).all()
    assert (pairs[:, 0] != pairs[:, 1]).all()


@pytest.mark.parametrize("shape", [(6, 9), (450, 410)])
def test_the_largest_singular_value_is_that_of_a_full_decomposition(shape):
    matrix = np.random.default_rng(7).normal(size=shape)
    expected = np.linalg.svd(matrix, compute_uv=False)[0]
    assert largest_singular(matrix) == pytest.approx(expected, rel=1e-5)
    assert largest_singular(sp.csr_array(matrix)) == pytest.approx(expected, rel=1e-5)
    assert largest_singular(sp.csr_array(shape)) == 0.0


@pytest.mark.parametrize("kind", GRAPHS)
def test_cuts_of_families_are_those_of_queries(kind):
    graph, bipartite = GRAPHS[kind], kind == "bipartite"
    codes = None if bipartite else GROUPS.codes()
    families = families_of(graph, groups=codes, communities=codes)
    names = ["group cuts", "single vertices", "random halves", "small sets"]
    assert [family.name for family in families] == names[bipartite:]
    matrix = checked_estimate(graph, graph)
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    for family in families:
        cuts = zip(family.S, family.T, strict=True)
        expected = np.array([gc.CutQuery(S, T).value(graph) for S, T in cuts])
        assert family.values(matrix) == pytest.approx(expected)
        assert family.values(lambda S, T: dense[S][:, T].sum()) == pytest.approx(expected)
        assert bipartite or not (family.S & family.T).any()


MISSING = {
    "undirected": set(),
    "weighted": {"disagreements"},
    "directed": {"global min cut", "Gomory-Hu tree", "disagreements"},
    "bipartite": {
        *("group cuts", "community cuts", "modularity", "found communities", "disagreements"),
    },
}


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_truth_has_no_error_and_the_empty_graph_has_1(kind):
    graph = GRAPHS[kind]
    truth = truth_of_graph(graph, None if kind == "bipartite" else GROUPS)
    right, empty = (measured(estimate, truth) for estimate in (graph, np.zeros(graph.shape)))
    # No partition agrees with every pair; that of the graph itself has the least known number.
    least = right.pop("disagreements", 0.0)
    assert 0 <= least < 1
    assert right == dict.fromkeys(right, pytest.approx(0.0, abs=1e-9))
    right |= {"disagreements": least} if "disagreements" in empty else {}
    assert empty == dict.fromkeys(empty, pytest.approx(1.0))
    assert sorted(right) == sorted(empty)
    assert list(empty) == [name for name in NAMES if name in truth.empty]
    optional = {"community cuts"}  # absent if there is one community
    assert set(NAMES) - set(right) - optional == MISSING[kind] - optional | {"seconds", "memory"}


def test_each_measure_is_its_formula():
    graph, random = GRAPHS["weighted"], np.random.default_rng(9)
    truth = truth_of_graph(graph, GROUPS)
    estimate, matrix = random_weights(random, N), graph.dense()
    lower, upper = worst_cut(estimate - matrix, tolerance=TOLERANCE, time_limit=20.0)
    block, pairs = GROUPS.codes(), np.triu_indices(5, 1)

    def relative_error(statistic):
        true, estimated = statistic(matrix), statistic(estimate)
        return np.abs(estimated - true).mean() / np.abs(true).mean()

    def flows_of_all_pairs(weights):
        return upper_half(FlowNetwork(weights, directed=False).all_pairs())

    members = np.eye(5)[block]
    expected = {
        "worst cut found": lower / matrix.sum(),
        "worst cut proven": upper / matrix.sum(),
        "single vertices": relative_error(lambda weights: weights.sum(axis=1)),
        "spectral distance": np.linalg.norm(estimate - matrix, 2) / np.linalg.norm(matrix, 2),
        "global min cut": relative_error(global_min_cut),
        "Gomory-Hu tree": relative_error(flows_of_all_pairs),
        "modularity": relative_error(lambda weights: modularity(weights, truth.communities)),
        "group cuts": relative_error(lambda weights: (members.T @ weights @ members)[pairs]),
    }
    errors = measured(estimate, truth)
    assert {name: errors[name] for name in expected} == pytest.approx(expected)


def test_errors_are_the_same_for_a_graph_its_dense_and_its_sparse_matrix():
    truth = truth_of_graph(PLAIN, GROUPS)
    estimate = planted_partition(N, 2, 0.7, 0.3, seed=4)
    forms = (estimate, estimate.dense(), sp.coo_array(estimate.dense()))
    first, *rest = (measured(form, truth) for form in forms)
    assert first["worst cut found"] > 0
    assert rest == [pytest.approx(first)] * 2


def test_measures_that_an_estimate_does_not_have_are_left_out():
    truth = truth_of_graph(PLAIN, GROUPS)
    cuts = {"group cuts", "single vertices", "random halves", "small sets"}
    answered = measured(lambda S, T: float(S.sum() * T.sum()), truth)
    assert cuts <= set(answered) <= cuts | {"community cuts"}
    negative = measured(np.full((N, N), -0.5), truth)
    assert not set(negative) & {"s-t cuts", "global min cut", "Gomory-Hu tree"}
    assert negative["worst cut proven"] > 1


def test_disagreements_are_those_of_every_pair():
    random, codes = np.random.default_rng(10), np.array([0, 0, 1, 2, 1, 0, 2, 2, 2])
    matrix = (random_weights(random, 9) > 0.4).astype(float)
    pairs = combinations(range(9), 2)
    expected = sum((codes[a] == codes[b]) != bool(matrix[a, b]) for a, b in pairs)
    for form in (matrix, sp.csr_array(matrix)):
        assert disagreements(form, codes) == expected
    assert disagreements(matrix, np.arange(9)) == np.triu(matrix).sum()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("seed", range(4))
def test_partitions_of_the_search_are_near_the_best_of_all_partitions(seed):
    matrix = (random_weights(np.random.default_rng(seed), SMALL) > 0.4).astype(float)
    partitions = partitions_of(SMALL)
    assert len(partitions) == 877  # Bell's number
    best = max(modularity(matrix, codes) for codes in partitions)
    value = modularity(matrix, best_parts(matrix, resolution=None))
    assert best - 0.1 <= value <= best + 1e-12
    least = min(disagreements(matrix, codes) for codes in partitions)
    assert least <= disagreements(matrix, best_parts(matrix, resolution=0.5)) <= least + 1


@cache
def partitions_of(count: int) -> list[np.ndarray]:
    """Return all partitions as restricted growth strings: a new part has the next number."""
    strings = [()]
    for _ in range(count):
        strings = [
            (*codes, code) for codes in strings for code in range(max(codes, default=-1) + 2)
        ]
    return [np.array(codes) for codes in strings]


def test_a_partition_has_two_errors_relative_to_single_vertices():
    truth = truth_of_graph(PLAIN, GROUPS)
    singles = measured(Clustering(np.arange(N)), truth)
    assert singles == {"found communities": pytest.approx(1), "disagreements": pytest.approx(1)}
    halves = np.arange(N) // 20
    errors = measured(Clustering(3 * halves + 1), truth)  # numbers may have gaps
    largest_loss = truth.modularity - modularity(PLAIN.dense(), np.arange(N))
    loss = max(truth.modularity - modularity(PLAIN.dense(), halves), 0)
    assert errors["found communities"] == pytest.approx(loss / largest_loss)
    disagreeing = disagreements(PLAIN.dense(), halves)
    assert errors["disagreements"] == pytest.approx(disagreeing / len(PLAIN.rows))
    assert set(measured(Clustering(halves), truth_of_graph(GRAPHS["weighted"]))) == {
        "found communities"
    }


@pytest.mark.parametrize(
    ("codes", "kind", "message"),
    [
        (np.zeros(N - 1, dtype=int), "undirected", "one integer"),
        (np.zeros(N), "undirected", "one integer"),
        (np.full(N, -1), "undirected", "one integer"),
        (np.zeros(15, dtype=int), "bipartite", "one set of vertices"),
    ],
)
def test_codes_that_are_no_partition_are_refused(codes, kind, message):
    with pytest.raises(MatrixError, match=message):
        measured(Clustering(codes), truth_of_graph(GRAPHS[kind]))


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        (np.zeros((N, N + 1)), "shape"),
        (np.full((N, N), np.nan), "finite"),
        (np.triu(np.ones((N, N))), "symmetric"),
        ("nothing", "two masks"),
        (GRAPHS["directed"], "another kind"),
        (lambda *_: np.nan, "not finite"),
    ],
)
def test_estimates_of_another_shape_kind_or_type_are_refused(estimate, message):
    with pytest.raises(MatrixError, match=message):
        measured(estimate, truth_of_graph(PLAIN))


def test_the_diagonal_of_an_estimate_is_ignored_and_the_array_unchanged():
    ones = np.ones((N, N))
    assert not checked_estimate(ones, PLAIN).diagonal().any()
    assert not checked_estimate(sp.csr_array(np.eye(N)), PLAIN).diagonal().any()
    assert ones.diagonal().all()
    sides = GRAPHS["bipartite"]
    assert checked_estimate(np.ones(sides.shape), sides).sum() == 15 * 25
