"""All graphs of a kind on a few vertices, and the largest changes between neighbours among them.

A *kind* is "plain" (undirected), "directed" or "bipartite". Neighbours differ in some pairs of
vertices, given by a mask of all pairs: in one pair (`single_pairs`), or in those of one vertex
(`pairs_of_vertices`).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from graphcuts_dp import BipartiteGraph, DirectedGraph, Graph, Groups
from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups


def pairs_of(kind: str, n: int) -> list[tuple[int, int]]:
    """List the pairs of n vertices, for bipartite graphs of n vertices on each side."""
    if kind == "bipartite":
        return list(product(range(n), range(n)))
    return list(combinations(range(n), 2) if kind == "plain" else permutations(range(n), 2))


def all_graphs(kind: str, n: int, max_weight: int = 1) -> tuple[list[AnyGraph], Any]:
    """Return all graphs of a kind whose weights are 0..max_weight, and the weights of their pairs.

    Returns:
        The graphs, without weights if max_weight is 1; and the weights, shape (graphs, pairs).
    """
    rows, columns = np.array(pairs_of(kind, n)).T
    weights_of_graphs = np.array(list(product(range(max_weight + 1), repeat=len(rows))))
    options: dict[str, Any] = {"left": n, "right": n} if kind == "bipartite" else {"vertices": n}
    if max_weight > 1:
        options["max_weight"] = float(max_weight)
    graph_class = {"plain": Graph, "directed": DirectedGraph, "bipartite": BipartiteGraph}[kind]
    graphs = []
    for weights in weights_of_graphs:
        is_edge = weights > 0
        edge_weights = weights[is_edge].astype(float) if max_weight > 1 else None
        graphs.append(graph_class(rows[is_edge], columns[is_edge], edge_weights, **options))
    return graphs, weights_of_graphs


def pairs_of_vertices(kind: str, n: int) -> list[BoolVector]:
    """Return a mask of the pairs of each vertex, on either side."""
    endpoints = np.array(pairs_of(kind, n)).T
    if kind == "bipartite":
        return [side == vertex for side in endpoints for vertex in range(n)]
    return [(endpoints == vertex).any(axis=0) for vertex in range(n)]


def single_pairs(kind: str, n: int) -> list[BoolVector]:
    """Return a mask of each pair alone."""
    return list(np.eye(len(pairs_of(kind, n)), dtype=bool))


def changes_of_neighbours(values: Any, weights: Any, masks: Sequence[BoolVector]) -> Iterator[Any]:
    """Generate the differences of the values of all pairs of neighbours, by mask.

    Args:
        values: of each graph, shape (graphs, values).
        weights: of the pairs of each graph, shape (graphs, pairs).
        masks: of the pairs in which neighbours differ.

    Yields:
        Shape (classes, graphs, graphs, values): two graphs of one class are neighbours.
    """
    for mask in masks:
        _, class_of_graph = np.unique(weights[:, ~mask], axis=0, return_inverse=True)
        order = np.argsort(class_of_graph, kind="stable")
        classes = values[order].reshape(class_of_graph.max() + 1, -1, values.shape[1])
        yield classes[:, :, None] - classes[:, None]


def largest_changes(tables: Any, weights: Any, masks: Sequence[BoolVector]) -> tuple[int, ...]:
    """Return the largest sums of |change| and of change^2 over all pairs of neighbours."""
    norms = [
        (np.abs(changes).sum(-1).max(), (changes**2).sum(-1).max())
        for changes in changes_of_neighbours(tables, weights, masks)
    ]
    return tuple(int(largest) for largest in np.max(norms, axis=0))


def sides_and_cells(graph: AnyGraph, levels: dict[str, list[int]]) -> tuple[Any, Any]:
    """Return the sides and the cells of groups of these levels, the same on both sides."""
    if isinstance(graph, BipartiteGraph):
        sides = sides_of_groups(graph, (Groups(graph.left, levels), Groups(graph.right, levels)))
    else:
        sides = sides_of_groups(graph, Groups(graph.vertices, levels))
    return sides, cell_tree(graph, sides)
