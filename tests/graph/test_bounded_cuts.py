"""Bounded cuts: against linear programs, and on all neighbouring graphs of a few vertices.

A bounded cut is the largest fractional b-matching of the crossing edges. Integers of these tests
are twice its value, which is a multiple of a half (`doubled_sums`).
"""

from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pytest
import scipy

from graphcuts_dp import BipartiteGraph, CutQuery, DirectedGraph, Graph
from graphcuts_dp.graph import grid
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import (
    BoundedEdges,
    bounded_cut,
    bounded_total,
    doubled_sums,
    vertex_count,
)
from scripts.figures.random_graphs import planted_partition

Mask = np.ndarray
KINDS = ("plain", "directed", "bipartite")


def pairs_of_kind(kind: str, n: int) -> list[tuple[int, int]]:
    """Return all pairs that edges may join; of a bipartite graph the left half comes first."""
    if kind == "bipartite":
        return list(product(range(n // 2), range(n // 2, n)))
    return list(combinations(range(n), 2) if kind == "plain" else permutations(range(n), 2))


def all_queries(kind: str, n: int) -> list[tuple[Mask, Mask]]:
    """Return all cuts (S, T) as masks over n vertices; (T, S) is left out where it is equal."""
    sets = [np.array(bits, dtype=bool) for bits in product([False, True], repeat=n)]
    if kind == "plain":
        return [(S, T) for i, S in enumerate(sets) for T in sets[i:]]
    if kind == "directed":
        return [(S, T) for S in sets for T in sets]
    half = np.arange(n) < n // 2
    return [(S & half, T & ~half) for S in sets for T in sets if not (S & ~half | T & half).any()]


def crossing(kind: str, pairs: list[tuple[int, int]], S: Mask, T: Mask) -> Mask:
    """Return which of the pairs cross a cut."""
    i, j = np.array(pairs).T
    return S[i] & T[j] | (S[j] & T[i] if kind == "plain" else False)


def doubled_values(
    kind: str, n: int, queries: list[tuple[Mask, Mask]], bound: int, weights: np.ndarray
) -> np.ndarray:
    """Return twice the bounded cut of each graph (rows) and query (columns).

    All are solved as parts of one problem, since a single one is dominated by its start.

    Args:
        weights: a row for each graph, a column for each pair; 0 without an edge.
    """
    pairs = pairs_of_kind(kind, n)
    first, second = np.array(pairs).T
    crosses = np.array([crossing(kind, pairs, S, T) for S, T in queries])
    graph_index, query_index, pair_index = np.nonzero(
        weights[:, None, :].astype(bool) & crosses[None]
    )
    part = graph_index * len(queries) + query_index
    parts = len(weights) * len(queries)
    edges = BoundedEdges(
        part * n + first[pair_index],
        part * n + second[pair_index],
        weights[graph_index, pair_index],
        vertices=parts * n,
        sum_index=np.repeat(np.arange(parts), n),
        sum_count=parts,
    )
    doubled = doubled_sums(edges, bound)
    return doubled.reshape(len(weights), len(queries))


def largest_change(kind: str, n: int, values: np.ndarray, weights: np.ndarray) -> int:
    """Return the largest difference of values between graphs that differ at one vertex only."""
    pairs = pairs_of_kind(kind, n)
    largest = 0
    for v in range(n):
        at_v = np.array([v in pair for pair in pairs])
        # Graphs of one class are equal apart from the edges of v.
        _, class_of = np.unique(weights[:, ~at_v], axis=0, return_inverse=True)
        low = np.full((class_of.max() + 1, values.shape[1]), np.iinfo(np.int64).max)
        high = np.full_like(low, -1)
        np.minimum.at(low, class_of, values)
        np.maximum.at(high, class_of, values)
        largest = max(largest, int((high - low).max()))
        # A step of the proof: no graph of a class has less than the one where v is isolated.
        isolated = ~weights[:, at_v].any(axis=1)
        assert np.array_equal(low[class_of[isolated]], values[isolated])
    return largest


def all_weights(kind: str, n: int, max_weight: int = 1) -> np.ndarray:
    """Return the weights of all graphs, a row for each, with integers up to the maximum."""
    pairs = len(pairs_of_kind(kind, n))
    return np.array(list(product(range(max_weight + 1), repeat=pairs)), dtype=np.int64)


@pytest.mark.parametrize("bound", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "n", "max_weight"),
    [("plain", 4, 1), ("plain", 3, 3), ("directed", 3, 1), ("directed", 3, 2), ("bipartite", 6, 1)],
)
def test_no_vertex_changes_any_query_by_more_than_the_bound(kind, n, max_weight, bound):
    queries = all_queries(kind, n)
    if kind == "bipartite":
        queries = queries[:: len(queries) // 16]  # 16 of them, for 512 graphs
    weights = all_weights(kind, n, max_weight)
    values = doubled_values(kind, n, queries, bound, weights)
    # The sum of weights at one vertex; of a directed graph both ways.
    largest_degree = max_weight * max(sum(v in p for p in pairs_of_kind(kind, n)) for v in range(n))
    assert largest_change(kind, n, values, weights) == 2 * min(bound, largest_degree)


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_no_vertex_of_five_changes_a_query_by_more_than_the_bound(bound):
    masks = [
        np.array([bit == "1" for bit in bits])
        for bits in ("10000", "11000", "01000", "11100", "00111", "01111", "11111")
    ]
    queries = list(combinations_with_replacement(masks, 2))
    weights = all_weights("plain", 5)
    values = doubled_values("plain", 5, queries, bound, weights)
    assert largest_change("plain", 5, values, weights) == 2 * bound


def count_first_edges(edges: set[tuple[int, int]], bound: int) -> int:
    """Return how many edges are among the first `bound` ones of both endpoints.

    An incorrect variant of a bounded count: one vertex changes it by more than the bound.
    """
    first_edges = {v: [edge for edge in sorted(edges) if v in edge][:bound] for v in range(8)}
    return sum(edge in first_edges[edge[0]] and edge in first_edges[edge[1]] for edge in edges)


def test_counting_first_edges_of_both_endpoints_changes_by_more_than_the_bound():
    matching = {(1, 2), (3, 4), (5, 6)}
    with_star = matching | {(0, v) for v in range(1, 7)}
    assert count_first_edges(matching, 1) - count_first_edges(with_star, 1) > 1
    totals = [
        bounded_total(Graph(*np.array(sorted(edges)).T, vertices=7), bound=1)
        for edges in (matching, with_star)
    ]
    assert abs(totals[0] - totals[1]) <= 1


def graph_of_kind(
    kind: str, n: int, rows: np.ndarray, columns: np.ndarray, weights: np.ndarray | None
) -> AnyGraph:
    if kind == "bipartite":
        left = n // 2
        return BipartiteGraph(rows, columns - left, weights, left=left, right=n - left)
    return (Graph if kind == "plain" else DirectedGraph)(rows, columns, weights, vertices=n)


def by_linear_program(graph: AnyGraph, S: Mask, T: Mask, bound: int, steps: np.ndarray) -> float:
    """Return the bounded cut by its definition.

    Maximise the sum of x over crossing edges, where 0 <= x <= steps and x sums to at most the bound
    at each vertex.
    """
    rows, columns = graph.rows, graph.columns
    crosses = S[rows] & T[columns]
    if isinstance(graph, Graph):
        crosses |= T[rows] & S[columns]
    offset = graph.shape[0] if isinstance(graph, BipartiteGraph) else 0
    first, second = rows[crosses], columns[crosses] + offset
    edges = len(first)
    if not edges:
        return 0.0
    incidence = np.zeros((vertex_count(graph), edges))
    incidence[first, np.arange(edges)] = 1
    incidence[second, np.arange(edges)] = 1
    optimum = scipy.optimize.linprog(
        -np.ones(edges),
        A_ub=incidence,
        b_ub=np.full(len(incidence), bound),
        bounds=list(zip(np.zeros(edges), steps[crosses], strict=True)),
    )
    return -optimum.fun


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bounded_cut_is_the_value_of_its_linear_program_rounded_down(kind, weighted):
    rng = np.random.default_rng(5)
    half_values = 0
    for _ in range(60):
        n = int(rng.integers(4, 11))
        pairs = np.array(pairs_of_kind(kind, n))
        pairs = pairs[rng.random(len(pairs)) < rng.choice([0.3, 0.6, 0.95])]
        weights = rng.integers(1, 9, len(pairs)).astype(float) if weighted else None
        graph = graph_of_kind(kind, n, *pairs.T, weights)
        steps = graph.weights.astype(np.int64)
        sizes = graph.shape
        S, T = rng.random(sizes[0]) < 0.7, rng.random(sizes[1]) < 0.7
        if rng.random() < 0.3 and kind != "bipartite":
            T = ~S
        bound = int(rng.integers(0, 12 if weighted else 5))
        expected = by_linear_program(graph, S, T, bound, steps)
        half_values += round(2 * expected) % 2
        value = bounded_cut(graph, S, T, bound=bound, steps=steps if weighted else None)
        assert value == int(np.floor(expected + 1e-6))
    assert half_values > 0 or kind == "bipartite"  # some values are rounded down


@pytest.mark.parametrize("kind", KINDS)
def test_both_flow_solvers_agree(kind, monkeypatch):
    rng = np.random.default_rng(2)
    n = 60
    pairs = np.array(pairs_of_kind(kind, n))
    pairs = pairs[rng.random(len(pairs)) < 0.4]
    graph = graph_of_kind(kind, n, *pairs.T, None)
    steps = rng.integers(1, 2**28, len(graph.rows))
    S, T = (np.ones(size, dtype=bool) for size in graph.shape)
    # Values above 2^31 go to the solver with 64-bit integers; later all values do.
    assert bounded_cut(graph, S, T, bound=2**30, steps=steps) > 2**31
    by_32_bits = [bounded_cut(graph, S, T, bound=bound) for bound in (1, 3, 8)]
    monkeypatch.setattr(grid, "_LARGEST_INT", -1)
    assert [bounded_cut(graph, S, T, bound=bound) for bound in (1, 3, 8)] == by_32_bits


def test_a_bounded_cut_is_the_cut_if_no_degree_exceeds_the_bound_and_less_otherwise():
    graph = planted_partition(60, 1, 0.2, 0.2, seed=4)
    S = np.arange(60) < 25
    degrees = np.bincount(np.concatenate([graph.rows, graph.columns]))
    highest = int(degrees.max())
    true = int(CutQuery(S).value(graph))
    assert bounded_cut(graph, S, ~S, bound=highest) == true
    assert bounded_total(graph, bound=highest) == len(graph.rows)
    values = [bounded_cut(graph, S, ~S, bound=b) for b in range(highest + 1)]
    assert values == sorted(values)
    assert values[0] == 0
    assert values[3] < true
    # Each lost edge lowers one or two of the degrees above the bound.
    excess = np.maximum(degrees - 5, 0).sum()
    lost = len(graph.rows) - bounded_total(graph, bound=5)
    assert excess / 2 <= lost <= excess


def test_no_edges_or_a_bound_of_zero_have_total_zero():
    assert bounded_total(Graph([], [], vertices=4), bound=3) == 0
    assert bounded_total(DirectedGraph([0], [1], vertices=4), bound=0) == 0
