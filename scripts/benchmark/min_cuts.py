"""Compute minimum cuts of graphs: between two vertices, of the whole graph, of all pairs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from scripts.benchmark.base import SparseMatrix
from scripts.benchmark.made_graphs import uniform

MOST_EDGES = 1_000_000  # a flow takes about a microsecond for each
MOST_GLOBAL = 600  # vertices; the time grows with the cube
MOST_TREE = 200  # vertices: a flow for each
_PAIRS, _FEW_PAIRS, _MANY_VERTICES = 20, 6, 400


class FlowNetwork:
    """A graph with weights as capacities, as igraph takes it.

    Args:
        matrix: square, entries at least 0; symmetric unless `directed`.
        directed: whether entries are arcs.
    """

    def __init__(self, matrix: SparseMatrix, *, directed: bool) -> None:
        import igraph  # slow to import, and only needed here

        entries = sp.coo_array(matrix if directed else sp.triu(sp.coo_array(matrix), 1))
        is_edge = entries.data > 0
        self._weights = entries.data[is_edge].tolist()
        ends = np.column_stack([entries.row[is_edge], entries.col[is_edge]])
        self._graph: Any = igraph.Graph(n=matrix.shape[0], edges=ends, directed=directed)

    def between(self, pairs: Sequence[tuple[int, int]]) -> FloatVector:
        """Return the least weight of a cut between s and t, for each pair, shape (pairs,)."""
        flow = self._graph.maxflow_value
        return np.array([flow(s, t, capacity=self._weights) for s, t in pairs], dtype=np.float64)

    def all_pairs(self) -> FloatMatrix:
        """Return the least weight of a cut between any two vertices, (n, n), diagonal infinite.

        By a Gomory-Hu tree: the least weight on the path between the two. Undirected graphs only.
        """
        tree = self._graph.gomory_hu_tree(capacity=self._weights)
        edges = np.array(tree.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        return paths_of(edges, np.array(tree.es["flow"], dtype=np.float64), len(edges) + 1)


def paths_of(edges: IntVector, weights: FloatVector, n: int) -> FloatMatrix:
    """Return the least weight on the path between any two vertices of a tree, shape (n, n).

    Edges are taken from the heaviest on: when one joins two parts, it is the lightest on every
    path between them.

    Args:
        edges: ends, shape (n - 1, 2).
        weights: shape (n - 1,).
        n: vertices.
    """
    smallest = np.full((n, n), np.inf)
    part = np.arange(n)
    for k in np.argsort(-weights, kind="stable"):
        a, b = (np.flatnonzero(part == part[end]) for end in edges[k])
        smallest[np.ix_(a, b)] = smallest[np.ix_(b, a)] = weights[k]
        part[b] = part[a[0]]
    return smallest


def global_min_cut(matrix: FloatMatrix) -> float:
    """Return the least weight of any cut of an undirected graph into two nonempty parts.

    Args:
        matrix: dense, symmetric, entries at least 0, shape (n, n) with n >= 2.

    Source: Stoer, Wagner, "A simple min-cut algorithm", J. ACM 1997, on a dense matrix.
    """
    weights = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(weights, 0.0)
    alive = np.ones(len(weights), dtype=np.bool_)
    best = np.inf
    for left in range(len(weights), 1, -1):
        if 4 * left < 3 * len(weights):  # the rows of merged vertices cost time
            weights, alive = weights[alive][:, alive], np.ones(left, dtype=np.bool_)
        # One phase: vertices in the order of their weight to those before.
        near = np.where(alive, 0.0, -np.inf)
        last = before = 0
        cut = 0.0
        for _ in range(left):
            before, last = last, int(near.argmax())
            cut = float(near[last])
            near += weights[last]
            near[last] = -np.inf
        best = min(best, cut)
        weights[before] += weights[last]
        weights[:, before] = weights[before]
        weights[before, before] = 0.0
        alive[last] = False
    return best


def pairs_to_part(n: int) -> tuple[tuple[int, int], ...]:
    """Return random pairs s, t, the same for graphs of one size: 20, or 6 above 400 vertices."""
    count = _PAIRS if n <= _MANY_VERTICES else _FEW_PAIRS
    draws = uniform(105, (count, 2))
    first = (draws[:, 0] * n).astype(np.int64)
    second = (first + 1 + (draws[:, 1] * (n - 1)).astype(np.int64)) % n
    return tuple(zip(first.tolist(), second.tolist(), strict=True))


def one_matrix(matrix: SparseMatrix, *, bipartite: bool) -> SparseMatrix:
    """Return the square matrix of an undirected graph whose vertices are those of both sides."""
    if not bipartite:
        return matrix
    across = sp.csr_array(matrix)
    return sp.block_array([[None, across], [across.T, None]], format="csr")
