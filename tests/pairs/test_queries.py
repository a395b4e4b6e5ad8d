"""Cut and rank-one queries against brute force over vertex pairs."""

import itertools
from functools import partial

import helpers
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.pairs import queries as queries_module
from graphcuts_dp.pairs.queries import CutQuery, RankOneQuery, answer_all, pairs_of_cut
from graphcuts_dp.pairs.vertices import Arcs, VertexSet

random_graph = partial(helpers.random_graph, density=0.4)


def cut_by_pairs(graph, S, T):
    """Every pair of vertices looked at once."""
    matrix = graph.dense()
    if isinstance(graph, BipartiteGraph):
        return sum(matrix[i, j] for i in np.flatnonzero(S) for j in np.flatnonzero(T))
    return sum(
        matrix[i, j]
        for i, j in itertools.combinations(range(graph.n), 2)
        if (S[i] and T[j]) or (S[j] and T[i])
    )


def random_masks(rng, shape, count):
    for _ in range(count):
        share = rng.random(2)
        yield rng.random(shape[0]) < share[0], rng.random(shape[1]) < share[1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
def test_cut_values_overlaps_included(n, weighted):
    graph = random_graph(n, n, largest=3.0 if weighted else None)
    overlapping = 0
    for S, T in random_masks(np.random.default_rng(n), (n, n), 40):
        query = CutQuery(S, T)
        truth = cut_by_pairs(graph, S, T)
        overlapping += bool((S & T).any())
        assert query.value(graph) == pytest.approx(truth, abs=1e-9)
        assert query.value(graph.dense()) == pytest.approx(truth, abs=1e-9)
        assert CutQuery(T, S).value(graph) == pytest.approx(truth, abs=1e-9)
    assert overlapping > 5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (8, 3)])
def test_bipartite_cut_values(shape, weighted):
    graph = random_graph(shape, 1, largest=3.0 if weighted else None)
    for S, T in random_masks(np.random.default_rng(2), shape, 30):
        query = CutQuery(S, T)
        truth = cut_by_pairs(graph, S, T)
        assert query.value(graph) == pytest.approx(truth, abs=1e-9)
        assert query.value(graph.dense(), bipartite=True) == pytest.approx(truth, abs=1e-9)


def test_the_second_set_may_be_left_out():
    graph = random_graph(8, 3)
    S = np.arange(8) < 3
    assert CutQuery(S).value(graph) == cut_by_pairs(graph, S, ~S)
    both = random_graph((4, 6), 3)
    left = np.array([True, False, True, False])
    assert CutQuery(left).value(both) == both.dense()[left].sum()


def test_all_edges_are_counted_once_by_everything_against_everything():
    graph = random_graph(9, 4)
    everything = np.ones(9, dtype=bool)
    assert CutQuery(everything, everything).value(graph) == len(graph.rows)
    assert CutQuery([], everything).value(graph) == 0


def test_labels_masks_and_row_numbers_name_the_same_sets():
    graph = random_graph(5, 5, vertices=["a", "b", "c", "d", "e"])
    by_label = CutQuery(["a", "c"], ["b", "c"])
    by_mask = CutQuery(np.array([1, 0, 1, 0, 0], bool), np.array([0, 1, 1, 0, 0], bool))
    assert by_label.value(graph) == by_mask.value(graph)
    numbered = random_graph(5, 5)
    assert CutQuery(np.array([0, 2]), range(1, 3)).value(numbered) == by_mask.value(numbered)
    assert CutQuery(iter([0, 2]), {1, 2}).value(numbered) == by_mask.value(numbered)


def test_a_query_from_an_iterator_can_be_asked_twice_and_is_not_changed_from_outside():
    graph = random_graph(6, 6)
    query = CutQuery(iter([0, 1]), iter([2, 3]))
    assert query.value(graph) == query.value(graph) == CutQuery([0, 1], [2, 3]).value(graph)
    mask = np.array([True, False, False, False, False, False])
    kept = CutQuery(mask)
    before = kept.value(graph)
    mask[:] = False
    assert kept.value(graph) == before


@pytest.mark.parametrize("labels", [[6], [-1], ["a"], [0.5], [True], np.array([6]), np.array([-1])])
def test_unknown_vertices(labels):
    graph = random_graph(6, 6)
    for query in (CutQuery(labels, [0]), CutQuery([0], labels)):
        with pytest.raises(QueryError, match="unknown vertex") as caught:
            query.value(graph)
        assert "\n" not in str(caught.value)
        with pytest.raises(QueryError):
            query.sensitivity(graph)


def test_malformed_sets_and_matrices():
    graph = random_graph(6, 6)
    with pytest.raises(QueryError, match="length 6"):
        CutQuery(np.ones(7, dtype=bool)).value(graph)
    with pytest.raises(QueryError, match="not the string"):
        CutQuery("abc")
    with pytest.raises(QueryError, match="not the string"):
        CutQuery([0], "abc")
    with pytest.raises(QueryError, match="not symmetric"):
        CutQuery([0]).value(np.array([[0.0, 1.0], [0.0, 0.0]]))
    with pytest.raises(QueryError, match="not symmetric"):
        CutQuery([0]).value(np.ones((2, 3)))
    with pytest.raises(QueryError, match="two dimensions"):
        CutQuery([0]).value(np.ones(3))
    with pytest.raises(QueryError, match="two dimensions"):
        CutQuery([0]).value(np.ones((0, 0)))


def test_the_diagonal_of_a_matrix_crosses_no_cut():
    matrix = random_graph(6, 7).dense() + np.diag(np.arange(6.0))
    kept = matrix.copy()
    S = np.ones(6, dtype=bool)
    assert CutQuery(S, S).value(matrix) == matrix[np.triu_indices(6, 1)].sum()
    assert RankOneQuery(np.ones(6), np.ones(6)).value(matrix) == 2 * CutQuery(S, S).value(matrix)
    assert np.array_equal(matrix, kept)


def test_masks_over_a_vertex_set_or_two():
    S, T = CutQuery([0]).masks(VertexSet(3))
    assert (S.tolist(), T.tolist()) == ([True, False, False], [False, True, True])
    S, T = CutQuery([0]).masks((VertexSet(2), VertexSet(3)))
    assert (S.tolist(), T.tolist()) == ([True, False], [True, True, True])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_number_of_pairs_between_sets(n):
    for S, T in random_masks(np.random.default_rng(n), (n, n), 60):
        count = sum(
            bool((S[i] and T[j]) or (S[j] and T[i])) for i, j in itertools.combinations(range(n), 2)
        )
        vertices = VertexSet(n)
        assert pairs_of_cut(S, T, vertices) == count
        assert pairs_of_cut(S, T, Arcs(vertices)) == S.sum() * T.sum() - (S & T).sum()
        assert pairs_of_cut(S, T, (vertices, VertexSet(n))) == S.sum() * T.sum()


# Sensitivities.


def with_one_more(graph, i, j):
    """The same graph with one pair's weight raised by one."""
    matrix = graph.dense()
    matrix[i, j] += 1
    if isinstance(graph, Graph):
        matrix[j, i] = matrix[i, j]
        return Graph.of(matrix, weighted=True)
    return BipartiteGraph.of(matrix, weighted=True)


def largest_change(query, graph):
    before = query.value(graph)
    if isinstance(graph, Graph):
        pairs = itertools.combinations(range(graph.n), 2)
    else:
        pairs = itertools.product(*map(range, graph.shape))
    return max((abs(query.value(with_one_more(graph, *p)) - before) for p in pairs), default=0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_cut_sensitivity_is_the_largest_change_over_all_pairs(n):
    graph = random_graph(n, n, largest=3.0)
    seen = set()
    for S, T in random_masks(np.random.default_rng(n + 10), (n, n), 25):
        query = CutQuery(S, T)
        assert query.sensitivity(graph) == pytest.approx(largest_change(query, graph), abs=1e-9)
        seen.add(query.sensitivity(graph))
    assert seen == ({0.0} if n == 1 else {0.0, 1.0})


def test_rank_one_sensitivity_is_the_largest_change_over_all_pairs():
    rng = np.random.default_rng(11)
    graph = random_graph(6, 1, largest=3.0)
    both = random_graph((3, 5), 1, largest=3.0)
    for _ in range(15):
        query = RankOneQuery(rng.random(6), rng.random(6))
        assert query.sensitivity(graph) == pytest.approx(largest_change(query, graph), abs=1e-9)
        query = RankOneQuery(rng.random(3), rng.random(5))
        assert query.sensitivity(both) == pytest.approx(largest_change(query, both), abs=1e-9)
    assert RankOneQuery(np.ones(6), np.ones(6)).sensitivity(graph) == 2


def test_a_rank_one_query_on_one_vertex_sees_nothing():
    lone = Graph([], [], vertices=1)
    assert RankOneQuery([1.0], [1.0]).sensitivity(lone) == 0
    assert RankOneQuery([1.0], [1.0]).value(lone) == 0


def largest_coefficient(u, v):
    return max(u[i] * v[j] + u[j] * v[i] for i, j in itertools.combinations(range(len(u)), 2))


UNIT = st.floats(0, 1)
COARSE = st.integers(0, 4).map(lambda k: k / 4)  # ties, equal points, points on one line


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(UNIT, UNIT) | st.tuples(COARSE, COARSE), min_size=2, max_size=14))
def test_the_hull_finds_the_largest_coefficient(points):
    u, v = np.array(points).T
    graph = Graph([], [], vertices=len(points))
    found = RankOneQuery(u, v).sensitivity(graph)
    assert found == pytest.approx(largest_coefficient(u, v), rel=1e-12, abs=1e-300)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(2, 12),
    st.floats(0, 1),
    st.floats(0, 1),
    st.lists(UNIT, min_size=12, max_size=12),
)
def test_the_hull_on_collinear_points(n, start, end, places):
    """All points on one segment, so that hulls are thin and products tie."""
    t = np.array(places[:n])
    u, v = start + (end - start) * t, end + (start - end) * t
    u, v = np.clip(u, 0, 1), np.clip(v, 0, 1)
    found = RankOneQuery(u, v).sensitivity(Graph([], [], vertices=n))
    assert found == pytest.approx(largest_coefficient(u, v), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("seed", range(5))
def test_the_hull_on_many_points_on_an_arc(seed):
    """On a circle every point is a corner; with copies the best partner may be a twin."""
    rng = np.random.default_rng(seed)
    angles = np.repeat(rng.random(40) * np.pi / 2, rng.integers(1, 3, 40))
    u, v = np.cos(angles), np.sin(angles)
    found = RankOneQuery(u, v).sensitivity(Graph([], [], vertices=len(u)))
    assert found == pytest.approx(largest_coefficient(u, v), rel=1e-12)


# Rank-one values and batches.


@pytest.mark.parametrize("weighted", [False, True])
def test_rank_one_values(weighted):
    rng = np.random.default_rng(12)
    graph, both = random_graph(7, 8, largest=3.0 if weighted else None), random_graph((4, 6), 8)
    for _ in range(10):
        u, v = rng.random(7), rng.random(7)
        matrix = graph.dense()
        truth = sum(
            matrix[i, j] * (u[i] * v[j] + u[j] * v[i])
            for i, j in itertools.combinations(range(7), 2)
        )
        assert RankOneQuery(u, v).value(graph) == pytest.approx(truth)
        assert RankOneQuery(u, v).value(matrix) == pytest.approx(truth)
        u, v = rng.random(4), rng.random(6)
        truth = sum(both.dense()[i, j] * u[i] * v[j] for i in range(4) for j in range(6))
        assert RankOneQuery(u, v).value(both) == pytest.approx(truth)
        assert RankOneQuery(u, v).value(both.dense(), bipartite=True) == pytest.approx(truth)


def test_rank_one_with_indicators_counts_edges_inside_both_twice():
    """The matrix form against the cut query: GRU12 mixes the two."""
    graph = random_graph(12, 9)
    S = np.arange(12) < 9
    T = np.arange(12) > 2
    both = S & T
    inside = CutQuery(both, both).value(graph)
    assert inside > 0
    form = RankOneQuery(S.astype(float), T.astype(float)).value(graph)
    assert form == CutQuery(S, T).value(graph) + inside


@pytest.mark.parametrize(
    ("u", "v"),
    [
        ([1.1], [0.5]),
        ([-0.1], [0.5]),
        ([0.5], [float("nan")]),
        ([0.5], [float("inf")]),
        ([[0.5]], [0.5]),
        (0.5, [0.5]),
    ],
)
def test_vectors_out_of_range(u, v):
    with pytest.raises(QueryError, match=r"entries in \[0, 1\]"):
        RankOneQuery(u, v)


def test_vectors_of_the_wrong_length():
    graph = random_graph(4, 0)
    query = RankOneQuery([0.5] * 3, [0.5] * 3)
    with pytest.raises(QueryError, match="lengths"):
        query.value(graph)
    with pytest.raises(QueryError, match="lengths"):
        query.sensitivity(graph)
    with pytest.raises(QueryError, match="lengths"):
        answer_all([query], graph)


def test_vectors_are_copied():
    u = np.array([1.0, 0.0])
    query = RankOneQuery(u, [1.0, 1.0])
    graph = Graph([0], [1], vertices=2)
    u[:] = 0
    assert query.value(graph) == 1


def mixed_queries(rng, shape, count=30):
    found = []
    for S, T in random_masks(rng, shape, count):
        found.append(CutQuery(S, T))
        found.append(RankOneQuery(rng.random(shape[0]), rng.random(shape[1])))
    return [*found, CutQuery(np.arange(shape[0])[:1])]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("entries", [1, 100, 1 << 24])
def test_batches_equal_single_answers(weighted, entries, monkeypatch):
    monkeypatch.setattr(queries_module, "_BATCH_ENTRIES", entries)  # blocks of 1, a few, all
    rng = np.random.default_rng(13)
    graph = random_graph(9, 10, largest=3.0 if weighted else None)
    asked = mixed_queries(rng, (9, 9))
    single = [query.value(graph) for query in asked]
    assert np.allclose(answer_all(asked, graph), single, atol=1e-9)
    assert np.allclose(answer_all(asked, graph.dense()), single, atol=1e-9)
    both = random_graph((5, 8), 10, largest=3.0 if weighted else None)
    asked = mixed_queries(rng, (5, 8))
    single = [query.value(both) for query in asked]
    assert np.allclose(answer_all(asked, both), single, atol=1e-9)
    assert np.allclose(answer_all(asked, both.dense(), bipartite=True), single, atol=1e-9)


def test_no_queries_no_answers():
    assert answer_all([], random_graph(4, 0)).shape == (0,)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_cuts_of_any_small_graph(data):
    n = data.draw(st.integers(1, 7))
    pairs = list(itertools.combinations(range(n), 2))
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    graph = Graph([i for i, _ in chosen], [j for _, j in chosen], vertices=n)
    masks = [
        np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
        for _ in range(2)
    ]
    assert CutQuery(*masks).value(graph) == cut_by_pairs(graph, *masks)
    assert answer_all([CutQuery(*masks)], graph)[0] == cut_by_pairs(graph, *masks)


def test_a_multiway_cut_is_the_sum_of_the_cuts_between_its_sets():
    groups = [[0, 3], [1], [4, 5]]
    kinds = (itertools.combinations, {}), (itertools.permutations, {"directed": True})
    for pairs, kind in kinds:
        graph = random_graph(7, 1, largest=2.0, **kind)
        expected = sum(gc.CutQuery(S, T).value(graph) for S, T in pairs(groups, 2))
        assert gc.Query.multiway(groups).value(graph) == pytest.approx(expected)
    with pytest.raises(QueryError, match="one vertex set"):
        gc.Query.multiway(groups).value(random_graph((3, 4)))
