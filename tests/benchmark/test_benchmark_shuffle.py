"""Shuffled vertices: the same graph under other numbers, and estimates brought back."""

import numpy as np
import pytest
import scipy.sparse as sp

import graphcuts_dp as gc
from scripts.benchmark.base import Clustering
from scripts.benchmark.graphs import CASES
from scripts.benchmark.shuffle import Shuffle

SMALL = [case for case in CASES if case.vertices <= 600]


@pytest.mark.parametrize("case", SMALL, ids=[case.name for case in SMALL])
def test_the_graph_handed_back_is_the_graph_itself(case):
    """As a dense and a sparse matrix; its public facts stay, its labels and its order do not."""
    graph = case.make()
    shuffle = Shuffle.of(graph, 3)
    given = shuffle.graph(graph)
    assert type(given) is type(graph)
    facts = ("shape", "weighted", "max_weight", "max_weight_change")
    assert [getattr(given, fact) for fact in facts] == [getattr(graph, fact) for fact in facts]
    assert (given.dense() != graph.dense()).any()
    assert (shuffle.restored(given.dense()) == graph.dense()).all()
    assert (shuffle.restored(given.to_scipy()).toarray() == graph.dense()).all()
    assert (shuffle.restored(sp.coo_array(given.dense())).toarray() == graph.dense()).all()
    if not isinstance(graph, gc.BipartiteGraph):
        assert given.vertices == gc.Graph([], [], vertices=graph.n).vertices
        assert sorted(shuffle.rows) == list(range(graph.n))


@pytest.mark.parametrize("name", ["hierarchy-512", "karate", "arcs-400"])
def test_groups_have_the_same_members(name):
    (case,) = (case for case in CASES if case.name == name)
    graph, groups = case.make(), case.groups()
    shuffle = Shuffle.of(graph, 4)
    moved = shuffle.groups(groups)
    assert moved.vertices == shuffle.graph(graph).vertices
    for level in groups.levels:
        assert moved.labels(level) == groups.labels(level)
        assert (moved.codes(level)[shuffle.rows] == groups.codes(level)).all()
        assert (moved.codes(level) != groups.codes(level)).any()
    assert shuffle.groups(None) is None


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_answers_and_partitions_are_brought_back(kind):
    random = np.random.default_rng(1)
    ends = random.integers(0, 9, 30), random.integers(0, 9, 30)
    graph = gc.DirectedGraph(*ends, vertices=9)
    if kind == "bipartite":
        graph = gc.BipartiteGraph(*ends, left=9, right=12)
    shuffle = Shuffle.of(graph, 5)
    matrix, given = graph.dense(), shuffle.graph(graph).dense()
    answer = shuffle.restored(lambda S, T: given[S][:, T].sum())
    for _ in range(10):
        S, T = (random.random(size) < 0.5 for size in graph.shape)
        assert answer(S, T) == matrix[S][:, T].sum()
    codes = random.integers(0, 3, 9)
    shuffled = np.empty(9, dtype=np.int64)
    shuffled[shuffle.rows] = codes
    assert (shuffle.restored(Clustering(shuffled)).codes == codes).all()


def test_orders_are_of_the_seed():
    graph = gc.Graph([0], [1], vertices=50)
    first, again, other = (Shuffle.of(graph, seed).rows.tolist() for seed in (1, 1, 2))
    assert first == again != other
    across = Shuffle.of(gc.BipartiteGraph([0], [1], left=50, right=50), 1)
    assert across.rows.tolist() != across.columns.tolist()


def test_every_order_is_as_likely():
    """Of three vertices, over seeds: 6,000 draws of six orders, 1,000 each; deviation 29."""
    graph = gc.Graph([0], [1], vertices=3)
    orders = [tuple(Shuffle.of(graph, seed).rows.tolist()) for seed in range(6_000)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    assert max(abs(count - 1_000) for count in counts) < 180
