"""Bounded cuts: against linear programs, and on all neighbouring graphs of a few vertices."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
import scipy

from graphcuts_dp import BipartiteGraph, CutQuery, DirectedGraph, Graph
from graphcuts_dp.graph import grid as bounded_sums
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import (
    BoundedEdges,
    bounded_cut,
    bounded_total,
    doubled_sums,
    vertex_count,
)
from scripts.figures.random_graphs import planted_partition

KINDS = ("plain", "directed", "bipartite")


def pairs_of_kind(kind, n):
    """All pairs that edges may join; of the bipartite kind the first half is the left side."""
    if kind == "bipartite":
        return list(product(range(n // 2), range(n // 2, n)))
    return list(combinations(range(n), 2) if kind == "plain" else permutations(range(n), 2))


def all_queries(kind, n):
    """Truth tables (S, T) over all n vertices, up to what is the same by definition."""
    sets = [np.array(bits, dtype=bool) for bits in product([False, True], repeat=n)]
    if kind == "plain":
        return [(S, T) for i, S in enumerate(sets) for T in sets[i:]]
    if kind == "directed":
        return [(S, T) for S in sets for T in sets]
    half = np.arange(n) < n // 2
    return [(S & half, T & ~half) for S in sets for T in sets if not (S & ~half | T & half).any()]


def crossing(kind, pairs, S, T):
    i, j = np.array(pairs).T
    return S[i] & T[j] | (S[j] & T[i] if kind == "plain" else False)


def values_of_all(kind, n, queries, bound, weights):
    """f_D of all graphs (rows) and queries (columns), as one problem with many parts.

    Args:
        weights: one row a graph, one column a pair.
    """
    pairs = pairs_of_kind(kind, n)
    ends = np.array(pairs).T
    counted = np.array([crossing(kind, pairs, S, T) for S, T in queries])
    graphs, asked, pair = np.nonzero(weights[:, None, :].astype(bool) & counted[None])
    problem = graphs * len(queries) + asked
    sum_count = len(weights) * len(queries)
    edges = BoundedEdges(
        problem * n + ends[0][pair],
        problem * n + ends[1][pair],
        weights[graphs, pair],
        vertices=sum_count * n,
        sum_index=np.repeat(np.arange(sum_count), n),
        sum_count=sum_count,
    )
    doubled = doubled_sums(edges, bound)
    return doubled.reshape(len(weights), len(queries))


def widest_change(kind, n, values, weights):
    """Largest difference of doubled values between graphs that differ at one vertex only."""
    pairs = pairs_of_kind(kind, n)
    widest = 0
    for v in range(n):
        elsewhere = [number for number, pair in enumerate(pairs) if v not in pair]
        _, rest = np.unique(weights[:, elsewhere], axis=0, return_inverse=True)
        low = np.full((rest.max() + 1, values.shape[1]), np.iinfo(np.int64).max)
        high = np.full_like(low, -1)
        np.minimum.at(low, rest, values)
        np.maximum.at(high, rest, values)
        widest = max(widest, int((high - low).max()))
        # The middle of the proof: no graph with these other edges has less than the one with none.
        without = weights.astype(bool)[:, [i for i, p in enumerate(pairs) if v in p]].sum(1) == 0
        assert np.array_equal(low[rest[without]], values[without])
    return widest


def all_weights(kind, n, top=1):
    size = len(pairs_of_kind(kind, n))
    return np.array(list(product(range(top + 1), repeat=size)), dtype=np.int64)


@pytest.mark.parametrize("bound", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "n", "top"),
    [("plain", 4, 1), ("plain", 3, 3), ("directed", 3, 1), ("directed", 3, 2), ("bipartite", 6, 1)],
)
def test_no_vertex_changes_any_query_by_more_than_the_bound(kind, n, top, bound):
    queries = all_queries(kind, n)
    if kind == "bipartite":
        queries = queries[:: len(queries) // 16]  # of 512 graphs
    weights = all_weights(kind, n, top)
    values = values_of_all(kind, n, queries, bound, weights)
    # Edges at one vertex weigh no more than this; of a directed graph both ways.
    most = top * max(sum(v in p for p in pairs_of_kind(kind, n)) for v in range(n))
    assert widest_change(kind, n, values, weights) == 2 * min(bound, most)


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_no_vertex_of_five_changes_a_query_by_more_than_the_bound(bound):
    sets = {
        name: np.array([c == "1" for c in name])
        for name in ("10000", "11000", "01000", "11100", "00111", "01111", "11111")
    }
    queries = [(S, T) for i, S in enumerate(sets.values()) for T in list(sets.values())[i:]]
    weights = all_weights("plain", 5)
    values = values_of_all("plain", 5, queries, bound, weights)
    assert widest_change("plain", 5, values, weights) == 2 * bound


def first_of_both_ends(edges, bound):
    """How many edges both ends have among their first `bound` ones: not a bounded cut."""
    lists = {v: [e for e in sorted(edges) if v in e][:bound] for v in range(8)}
    return sum(e in lists[e[0]] and e in lists[e[1]] for e in edges)


def test_lists_of_first_edges_at_both_ends_change_by_more_than_the_bound():
    elsewhere = {(1, 2), (3, 4), (5, 6)}
    star = elsewhere | {(0, v) for v in range(1, 7)}
    assert first_of_both_ends(elsewhere, 1) - first_of_both_ends(star, 1) > 1
    graphs = [Graph(*np.array(sorted(each)).T, vertices=7) for each in (elsewhere, star)]
    assert abs(np.diff([bounded_total(graph, bound=1) for graph in graphs])[0]) <= 1


def made(kind, n, rows, columns, weights):
    if kind == "bipartite":
        left = n // 2
        return BipartiteGraph(rows, columns - left, weights, left=left, right=n - left)
    return (Graph if kind == "plain" else DirectedGraph)(rows, columns, weights, vertices=n)


def by_linear_program(graph, S, T, bound, steps):
    """The value by its definition, without flows."""
    rows, columns = graph.rows, graph.columns
    counted = S[rows] & T[columns]
    if isinstance(graph, Graph):
        counted |= T[rows] & S[columns]
    offset = graph.shape[0] if isinstance(graph, BipartiteGraph) else 0
    ends = rows[counted], columns[counted] + offset
    size = len(ends[0])
    if not size:
        return 0.0
    table = np.zeros((vertex_count(graph), size))
    table[ends[0], np.arange(size)] = 1
    table[ends[1], np.arange(size)] = 1
    found = scipy.optimize.linprog(
        -np.ones(size),
        A_ub=table,
        b_ub=np.full(len(table), bound),
        bounds=list(zip(np.zeros(size), steps[counted], strict=True)),
    )
    return -found.fun


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_linear_program(kind, weighted):
    rng = np.random.default_rng(5)
    halves = 0
    for _ in range(60):
        n = int(rng.integers(4, 11))
        pairs = np.array(pairs_of_kind(kind, n))
        pairs = pairs[rng.random(len(pairs)) < rng.choice([0.3, 0.6, 0.95])]
        weights = rng.integers(1, 9, len(pairs)).astype(float) if weighted else None
        graph: AnyGraph = made(kind, n, *pairs.T, weights)
        steps = graph.weights.astype(np.int64)
        sizes = graph.shape
        S, T = rng.random(sizes[0]) < 0.7, rng.random(sizes[1]) < 0.7
        if rng.random() < 0.3 and kind != "bipartite":
            T = ~S
        bound = int(rng.integers(0, 12 if weighted else 5))
        expected = by_linear_program(graph, S, T, bound, steps)
        halves += round(2 * expected) % 2
        value = bounded_cut(graph, S, T, bound=bound, steps=steps if weighted else None)
        assert value == int(np.floor(expected + 1e-6))
    assert halves > 0 or kind == "bipartite"  # rounding down was seen


@pytest.mark.parametrize("kind", KINDS)
def test_both_flow_solvers_find_the_same(kind, monkeypatch):
    rng = np.random.default_rng(2)
    n = 60
    pairs = np.array(pairs_of_kind(kind, n))
    pairs = pairs[rng.random(len(pairs)) < 0.4]
    graph = made(kind, n, *pairs.T, None)
    steps = rng.integers(1, 2**28, len(graph.rows))
    S, T = (np.ones(size, dtype=bool) for size in graph.shape)
    small = [bounded_cut(graph, S, T, bound=b) for b in (1, 3, 8)]
    assert bounded_cut(graph, S, T, bound=2**30, steps=steps) > 2**31
    monkeypatch.setattr(bounded_sums, "_LARGEST_INT", -1)
    assert [bounded_cut(graph, S, T, bound=b) for b in (1, 3, 8)] == small


def test_it_is_the_cut_where_no_degree_exceeds_the_bound_and_never_above():
    graph = planted_partition(60, 1, 0.2, 0.2, seed=4)
    S = np.arange(60) < 25
    highest = int(np.bincount(np.concatenate([graph.rows, graph.columns])).max())
    true = int(CutQuery(S).value(graph))
    assert bounded_cut(graph, S, ~S, bound=highest) == true
    assert bounded_total(graph, bound=highest) == len(graph.rows)
    values = [bounded_cut(graph, S, ~S, bound=b) for b in range(highest + 1)]
    assert values == sorted(values)
    assert values[0] == 0
    assert values[3] < true
    excess = np.maximum(np.bincount(np.concatenate([graph.rows, graph.columns])) - 5, 0).sum()
    lost = len(graph.rows) - bounded_total(graph, bound=5)
    assert excess / 2 <= lost <= excess


def test_a_graph_without_edges_has_nothing():
    assert bounded_total(Graph([], [], vertices=4), bound=3) == 0
    assert bounded_total(DirectedGraph([0], [1], vertices=4), bound=0) == 0
