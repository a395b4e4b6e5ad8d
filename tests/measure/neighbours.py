"""All graphs of a kind on a few vertices, and the most that neighbours among them differ by."""

from itertools import combinations, permutations, product

import numpy as np

from graphcuts_dp import BipartiteGraph, DirectedGraph, Graph, Groups
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups


def pairs_of(kind, n):
    if kind == "bipartite":
        return list(product(range(n), range(n)))
    return list(combinations(range(n), 2) if kind == "plain" else permutations(range(n), 2))


def all_graphs(kind, n, top=1):
    """All graphs of a kind with weights up to `top`, and for each the weights of its pairs."""
    rows, columns = np.array(pairs_of(kind, n)).T
    choices = np.array(list(product(range(top + 1), repeat=len(rows))))
    sides = {"left": n, "right": n} if kind == "bipartite" else {"vertices": n}
    options = sides if top == 1 else {**sides, "max_weight": float(top)}
    made = {"plain": Graph, "directed": DirectedGraph, "bipartite": BipartiteGraph}[kind]
    graphs = []
    for weights in choices:
        kept = weights > 0
        mass = None if top == 1 else weights[kept].astype(float)
        graphs.append(made(rows[kept], columns[kept], mass, **options))
    return graphs, choices


def at_a_vertex(kind, n):
    """For each vertex, on either side, whether a pair has it."""
    ends = np.array(pairs_of(kind, n)).T
    if kind == "bipartite":
        return [end == v for end in ends for v in range(n)]
    return [(ends == v).any(axis=0) for v in range(n)]


def at_a_pair(kind, n):
    """For each pair, whether a pair is it."""
    return list(np.eye(len(pairs_of(kind, n)), dtype=bool))


def differences(values, choices, hidden):
    """Differences of the values of graphs that are alike but where one of `hidden` is true."""
    for at in hidden:
        _, rest = np.unique(choices[:, ~at], axis=0, return_inverse=True)
        order = np.argsort(rest, kind="stable")
        classes = values[order].reshape(rest.max() + 1, -1, values.shape[1])
        yield classes[:, :, None] - classes[:, None]


def changes_found(tables, choices, hidden):
    """The largest sums of |change| and of change^2 over all pairs of neighbours."""
    found = [
        (np.abs(change).sum(-1).max(), (change**2).sum(-1).max())
        for change in differences(tables, choices, hidden)
    ]
    return tuple(int(largest) for largest in np.max(found, axis=0))


def tables_of(graph, levels):
    """The sides and the cells of groups of these levels, the same on both sides."""
    if isinstance(graph, BipartiteGraph):
        groups = Groups(graph.left, levels), Groups(graph.right, levels)
    else:
        groups = Groups(graph.vertices, levels)
    sides = sides_of_groups(graph, groups)
    return sides, cell_tree(graph, sides)
