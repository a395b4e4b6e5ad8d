"""Shuffled vertices: a graph under other numbers, and estimates in the true order again."""

import numpy as np
import pytest
import scipy.sparse as sp

import graphcuts_dp as gc
from scripts.benchmark.base import Clustering
from scripts.benchmark.graphs import CASES
from scripts.benchmark.shuffle import Shuffle

SMALL = [case for case in CASES if case.vertices <= 600]


@pytest.mark.parametrize("case", SMALL, ids=[case.name for case in SMALL])
def test_a_shuffled_graph_in_the_true_order_is_the_graph(case):
    """As any kind of matrix; public facts are unchanged, labels and order are not."""
    graph = case.make()
    shuffle = Shuffle.of(graph, 3)
    shuffled = shuffle.graph(graph)
    assert type(shuffled) is type(graph)
    facts = ("shape", "weighted", "max_weight", "max_weight_change")
    assert [getattr(shuffled, fact) for fact in facts] == [getattr(graph, fact) for fact in facts]
    assert (shuffled.dense() != graph.dense()).any()
    assert (shuffle.restored(shuffled.dense()) == graph.dense()).all()
    assert (shuffle.restored(shuffled.to_scipy()).toarray() == graph.dense()).all()
    assert (shuffle.restored(sp.coo_array(shuffled.dense())).toarray() == graph.dense()).all()
    if not isinstance(graph, gc.BipartiteGraph):
        assert shuffled.vertices == gc.Graph([], [], vertices=graph.n).vertices
        assert sorted(shuffle.rows) == list(range(graph.n))


@pytest.mark.parametrize("name", ["hierarchy-512", "karate", "arcs-400"])
def test_shuffled_groups_have_the_same_members(name):
    (case,) = (case for case in CASES if case.name == name)
    graph, groups = case.make(), case.groups()
    shuffle = Shuffle.of(graph, 4)
    shuffled = shuffle.groups(groups)
    assert shuffled.vertices == shuffle.graph(graph).vertices
    for level in groups.levels:
        assert shuffled.labels(level) == groups.labels(level)
        assert (shuffled.codes(level)[shuffle.rows] == groups.codes(level)).all()
        assert (shuffled.codes(level) != groups.codes(level)).any()
    assert shuffle.groups(None) is None


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_answers_and_partitions_are_those_of_the_true_order(kind):
    random = np.random.default_rng(1)
    endpoints = random.integers(0, 9, 30), random.integers(0, 9, 30)
    graph = gc.DirectedGraph(*endpoints, vertices=9)
    if kind == "bipartite":
        graph = gc.BipartiteGraph(*endpoints, left=9, right=12)
    shuffle = Shuffle.of(graph, 5)
    matrix, shuffled_matrix = graph.dense(), shuffle.graph(graph).dense()
    answer = shuffle.restored(lambda S, T: shuffled_matrix[S][:, T].sum())
    for _ in range(10):
        S, T = (random.random(size) < 0.5 for size in graph.shape)
        assert answer(S, T) == matrix[S][:, T].sum()
    codes = random.integers(0, 3, 9)
    shuffled = np.empty(9, dtype=np.int64)
    shuffled[shuffle.rows] = codes
    assert (shuffle.restored(Clustering(shuffled)).codes == codes).all()


def test_an_order_follows_from_the_seed():
    graph = gc.Graph([0], [1], vertices=50)
    first, repeated, other = (Shuffle.of(graph, seed).rows.tolist() for seed in (1, 1, 2))
    assert first == repeated != other
    bipartite = Shuffle.of(gc.BipartiteGraph([0], [1], left=50, right=50), 1)
    assert bipartite.rows.tolist() != bipartite.columns.tolist()


def test_all_orders_are_equally_likely():
    """6,000 draws of the six orders of three vertices; a count of 1,000 has a deviation of 29."""
    graph = gc.Graph([0], [1], vertices=3)
    orders = [tuple(Shuffle.of(graph, seed).rows.tolist()) for seed in range(6_000)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    assert max(abs(count - 1_000) for count in counts) < 180
