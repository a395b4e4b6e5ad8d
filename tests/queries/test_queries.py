"""Queries of every class on every kind of graph, against one look at each pair of vertices."""

import itertools

import numpy as np
import pytest
from helpers import kind_of, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import (
    BipartiteGraph,
    CutQuery,
    DirectedGraph,
    Graph,
    QueryError,
    VertexSet,
    answer_all,
)
from graphcuts_dp.plugins import Universe
from graphcuts_dp.queries import linear as queries_module
from graphcuts_dp.queries.linear import MatrixQuery, RankOneQuery, pairs_of_cut

# A shape, and whether edges have a direction.
PLAIN = [(n, False) for n in (1, 2, 3, 7)]
SIDES = [(shape, False) for shape in ((1, 1), (1, 5), (6, 4))]
ARCS = [(n, True) for n in (1, 2, 5)]


def random_masks(rng, shape, count):
    for _ in range(count):
        share = rng.random(2)
        yield rng.random(shape[0]) < share[0], rng.random(shape[1]) < share[1]


def random_queries(rng, shape, count=12):
    for S, T in random_masks(rng, shape, count):
        yield CutQuery(S, T)
        yield RankOneQuery(rng.random(shape[0]), rng.random(shape[1]))
        yield MatrixQuery(rng.normal(size=shape))
    yield CutQuery(np.arange(shape[0]) < 3)


def pairs_of(graph):
    if isinstance(graph, Graph):
        return list(itertools.combinations(range(graph.n), 2))
    ends = itertools.product(*map(range, graph.shape))
    return [pair for pair in ends if isinstance(graph, BipartiteGraph) or pair[0] != pair[1]]


def in_one_direction(query, i, j, graph):
    """What the entry (i, j) of a matrix counts, by the definition of each query."""
    if isinstance(query, RankOneQuery):
        return query.u[i] * query.v[j]
    if isinstance(query, MatrixQuery):
        return query.C[i, j]
    others = [True] * graph.shape[1] if isinstance(graph, BipartiteGraph) else ~query.S
    return float(query.S[i] and (others if query.T is None else query.T)[j])


def coefficient(query, i, j, graph):
    there = in_one_direction(query, i, j, graph)
    if not isinstance(graph, Graph):
        return there
    back = in_one_direction(query, j, i, graph)
    return max(there, back) if isinstance(query, CutQuery) else there + back


@pytest.mark.thorough(cases=17)
@pytest.mark.parametrize("entries", [1, 100, 1 << 24])  # in batches of 1, a few, all
@pytest.mark.parametrize("largest", [None, 3.0])
@pytest.mark.parametrize(("shape", "directed"), PLAIN + SIDES + ARCS)
def test_answers_and_norms_by_one_look_at_each_pair(shape, directed, largest, entries, monkeypatch):
    monkeypatch.setattr(queries_module, "_BATCH_ENTRIES", entries)
    graph = random_graph(shape, 3, density=0.5, largest=largest, directed=directed)
    kind, matrix, pairs = kind_of(graph), graph.dense(), pairs_of(graph)
    universe = Universe.of(graph)
    rows, columns = universe.pairs()
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == pairs
    assert universe.size == len(pairs)
    queries = list(random_queries(np.random.default_rng(1), graph.shape))
    batches = [answer_all(queries, graph), universe.answers(queries, matrix)]
    for query, *answers in zip(queries, *batches, strict=True):
        counted = np.array([coefficient(query, i, j, graph) for i, j in pairs])
        truth = sum(c * matrix[pair] for c, pair in zip(counted, pairs, strict=True))
        answers += [query.value(graph), query.value(matrix, **kind)]
        assert answers == pytest.approx([truth] * 4, abs=1e-9)
        found = universe.coefficients(query)
        assert found[rows, columns] == pytest.approx(counted)
        assert query.coefficients_at(rows, columns, graph.space) == pytest.approx(counted)
        assert universe.total(found * matrix) == pytest.approx(truth, abs=1e-9)
        if not kind["bipartite"]:
            assert not found.diagonal().any()
        if isinstance(graph, Graph):
            assert np.array_equal(found, found.T)
        sizes = np.abs(counted)
        if isinstance(query, CutQuery):
            assert pairs_of_cut(*query.masks(graph.space), graph.space) == sizes.sum()
        assert query.sensitivity(graph) == pytest.approx(sizes.max(initial=0.0), abs=1e-12)
        assert universe.norm_squared(query) == pytest.approx(sizes @ sizes, abs=1e-9)
        low, high = universe.coefficient_range(query)
        assert low <= counted.min(initial=0) + 1e-12
        assert high >= counted.max(initial=0) - 1e-12
        if not isinstance(query, CutQuery):
            assert (low, high) == pytest.approx((counted.min(initial=0), counted.max(initial=0)))


def test_sets_as_labels_masks_row_numbers_and_iterators():
    graph = random_graph(5, 5, density=0.4, vertices=["a", "b", "c", "d", "e"])
    by_label = CutQuery(["a", "c"], ["b", "c"]).value(graph)
    numbered = random_graph(5, 5, density=0.4)
    twice = CutQuery(iter([0, 2]), {1, 2})
    for query in (
        CutQuery(np.array([1, 0, 1, 0, 0], bool), np.array([0, 1, 1, 0, 0], bool)),
        CutQuery(np.array([0, 2]), range(1, 3)),
        *(twice, twice),
    ):
        assert query.value(numbered) == by_label
    mask = np.array([True, False, False, False, False])
    kept = CutQuery(mask)
    before = kept.value(numbered)
    mask[:] = False  # it was copied
    assert kept.value(numbered) == before
    S, T = CutQuery([0]).masks((VertexSet(2), VertexSet(3)))
    assert (S.tolist(), T.tolist()) == ([True, False], [True, True, True])
    assert answer_all([], graph).shape == (0,)


@pytest.mark.parametrize(
    "labels", [[6], [-1], ["a"], [0.5], [0, True], np.array([6]), np.array([-1])]
)
def test_unknown_vertices(labels):
    graph = random_graph(6, 6)
    for query in (CutQuery(labels, [0]), CutQuery([0], labels)):
        with pytest.raises(QueryError, match="unknown vertex") as caught:
            query.value(graph)
        assert "\n" not in str(caught.value)
        with pytest.raises(QueryError):
            query.sensitivity(graph)


SIX, SHORT = random_graph(6, 6), RankOneQuery([0.5] * 3, [0.5] * 3)
SMALL = MatrixQuery(np.ones((3, 3)))
REFUSED = {
    "a mask of another length": (lambda: CutQuery(np.ones(7, dtype=bool)).value(SIX), "length 6"),
    "text": (lambda: CutQuery("abc"), "not the string"),
    "text as the second set": (lambda: CutQuery([0], "abc"), "not the string"),
    "arcs": (lambda: CutQuery([0]).value(np.array([[0.0, 1], [0, 0]])), "directed=True"),
    "two sides": (lambda: CutQuery([0]).value(np.ones((2, 3))), "not symmetric"),
    "a vector": (lambda: CutQuery([0]).value(np.ones(3)), "two dimensions"),
    "no entries": (lambda: CutQuery([0]).value(np.ones((0, 0))), "two dimensions"),
    **{
        f"u = {u}, v = {v}": (lambda u=u, v=v: RankOneQuery(u, v), r"entries in \[0, 1\]")
        for u, v in (
            *(([1.1], [0.5]), ([-0.1], [0.5]), ([0.5], [float("nan")])),
            *(([0.5], [float("inf")]), ([[0.5]], [0.5]), (0.5, [0.5])),
        )
    },
    **{
        f"C = {C}": (lambda C=C: MatrixQuery(C), "finite")
        for C in ([[np.nan]], [[np.inf]], [1.0], np.zeros((0, 0)))
    },
    **{
        f"{type(query).__name__} of another size, {how}": (lambda q=query, a=ask: a(q), words)
        for query, words in ((SHORT, "lengths"), (SMALL, "shape"))
        for how, ask in (
            ("value", lambda q: q.value(SIX)),
            ("sensitivity", lambda q: q.sensitivity(SIX)),
            ("batch", lambda q: answer_all([q], SIX)),
        )
    },
    "several sets of two sides": (
        lambda: gc.Query.multiway([[0], [1]]).value(random_graph((3, 4))),
        "one vertex set",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_query_or_does_not_fit(case):
    ask, words = REFUSED[case]
    with pytest.raises(QueryError, match=words):
        ask()


def test_the_diagonal_of_a_matrix_crosses_no_cut():
    matrix = random_graph(6, 7, density=0.4).dense() + np.diag(np.arange(6.0))
    kept = matrix.copy()
    S = np.ones(6, dtype=bool)
    assert CutQuery(S, S).value(matrix) == matrix[np.triu_indices(6, 1)].sum()
    assert RankOneQuery(np.ones(6), np.ones(6)).value(matrix) == 2 * CutQuery(S, S).value(matrix)
    assert np.array_equal(matrix, kept)


def test_one_arc_moves_a_cut_by_its_weight_at_most():
    """The sensitivity of all cuts: on all graphs of three vertices that differ in one arc."""
    universe = Universe(3, directed=True)
    rows, columns = universe.pairs()
    sets = [np.array(bits) for bits in itertools.product([False, True], repeat=3)]
    cuts = [CutQuery(S, T) for S in sets for T in sets]
    for present in itertools.product([False, True], repeat=6):
        kept = np.array(present)
        before = answer_all(cuts, DirectedGraph(rows[kept], columns[kept], vertices=3))
        for missing in np.flatnonzero(~kept):
            more = kept | (np.arange(6) == missing)
            after = answer_all(cuts, DirectedGraph(rows[more], columns[more], vertices=3))
            moved = [cut.S[rows[missing]] * cut.T[columns[missing]] for cut in cuts]
            assert (after - before).tolist() == moved


def largest_coefficient(u, v):
    return max(u[i] * v[j] + u[j] * v[i] for i, j in itertools.combinations(range(len(u)), 2))


UNIT = st.floats(0, 1)
COARSE = st.integers(0, 4).map(lambda k: k / 4)  # ties, equal points
POINTS = (
    st.tuples(UNIT, UNIT) | st.tuples(COARSE, COARSE),
    UNIT.map(lambda t: (0.25 + t / 2, 0.75 - t / 2)),  # on a line: hulls are thin, products tie
)


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(st.one_of(st.lists(each, min_size=2, max_size=14) for each in POINTS))
def test_the_hull_finds_the_largest_coefficient(points):
    u, v = np.array(points).T
    found = RankOneQuery(u, v).sensitivity(VertexSet(len(points)))
    assert found == pytest.approx(largest_coefficient(u, v), rel=1e-12, abs=1e-300)


def test_the_hull_on_many_points_on_an_arc():
    """On a circle every point is a corner; with copies the best partner may be a twin."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        angles = np.repeat(rng.random(40) * np.pi / 2, rng.integers(1, 3, 40))
        u, v = np.cos(angles), np.sin(angles)
        found = RankOneQuery(u, v).sensitivity(VertexSet(len(u)))
        assert found == pytest.approx(largest_coefficient(u, v), rel=1e-12)


def test_the_norm_of_a_rank_one_query_on_nearly_one_vertex():
    """A norm that is too small would make the step of an update too long."""
    u = np.array([0.3, 1e-12, 0])
    found = Universe(3).norm_squared(RankOneQuery(u, u))
    assert found == pytest.approx((2 * 0.3 * 1e-12) ** 2, rel=1e-9)
    assert Universe(2).norm_squared(RankOneQuery([0.3, 0], [0.7, 0])) == 0


def test_vectors_and_matrices_are_copied():
    u, C = np.array([1.0, 0.0]), np.ones((2, 2))
    queries = [gc.Query.rank_one(u, [1.0, 1.0]), gc.Query.matrix(C)]
    u[:] = C[:] = 0
    assert answer_all(queries, Graph([0], [1], vertices=2)).tolist() == [1, 2]


def test_a_multiway_cut_is_the_sum_of_the_cuts_between_its_sets():
    groups = [[0, 3], [1], [4, 5]]
    for pairs, directed in ((itertools.combinations, False), (itertools.permutations, True)):
        graph = random_graph(7, 1, largest=2.0, directed=directed)
        expected = sum(gc.CutQuery(S, T).value(graph) for S, T in pairs(groups, 2))
        assert gc.Query.multiway(groups).value(graph) == pytest.approx(expected)


def test_most_pairs_between_disjoint_sets():
    for n in range(2, 8):
        universe = Universe(n)
        masks = (np.array(mask, dtype=bool) for mask in np.ndindex(*[2] * n))
        best = max(universe.norm_squared(CutQuery(mask)) for mask in masks)
        assert universe.disjoint_norm_squared == best
        assert Universe(n, directed=True).disjoint_norm_squared == best
    assert Universe(3, 5).disjoint_norm_squared == 15


def test_labels_and_identity():
    letters = Universe(["a", "b", "c"])
    assert letters.answers([CutQuery(["a"], ["b", "c"])], np.ones((3, 3)) - np.eye(3))[0] == 2
    assert letters == Universe(VertexSet(["a", "b", "c"]))
    different = [letters, Universe(3), Universe(3, 3), Universe(3, directed=True)]
    assert len(set(different)) == 4
    one = VertexSet(4)
    both = Universe(one, one)
    assert both.bipartite  # two sides with one vertex set are still two
    assert both.answers([CutQuery([0], [0])], np.ones((4, 4)))[0] == 1
    assert repr(both) == "Universe(shape=(4, 4), bipartite=True)"
