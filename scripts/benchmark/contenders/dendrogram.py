"""Binary trees whose leaves are vertices, with a Markov chain that prefers likely trees."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.entropy import EntropySource

_BLOCK = 1 << 12  # moves whose bits are drawn at once


@final
class TreeMove(NamedTuple):
    """An exchange of a child with its parent's other child.

    Attributes:
        node: node whose child goes up.
        up: that child.
        down: the other child of the node's parent, which takes its place.
        edges: number of edges across the node after the exchange.
        gain: change of the logarithmic likelihood.
    """

    node: int
    up: int
    down: int
    edges: int
    gain: float


@final
class Dendrogram:
    """A tree on the vertices of a graph, with the number of edges across each of its inner nodes.

    Vertices are nodes 0..n-1, inner nodes n..2n-2. An edge is across the lowest node that has both
    of its endpoints below, so each pair belongs to one inner node. Holds the private graph.

    Args:
        graph: the private graph, undirected, without weights, of at least two vertices.
        order: all vertices in the order of the leaves; the tree is as balanced as possible.
    """

    def __init__(self, graph: Graph, order: Sequence[int]) -> None:
        self.n = graph.n
        count = 2 * self.n - 1
        self._children: list[tuple[int, int]] = [(-1, -1)] * count
        self._parent = [-1] * count
        self._size = [1] * count
        self._edges = [0] * count
        self._near: list[set[int]] = [set() for _ in range(self.n)]
        for row, column in zip(graph.rows.tolist(), graph.columns.tolist(), strict=True):
            self._near[row].add(column)
            self._near[column].add(row)
        self._free = self.n
        self.root = self._balanced(list(order))

    def _balanced(self, order: list[int]) -> int:
        if len(order) == 1:
            return order[0]
        node, self._free = self._free, self._free + 1
        middle = len(order) // 2
        children = self._balanced(order[:middle]), self._balanced(order[middle:])
        self._children[node] = children
        for child in children:
            self._parent[child] = node
        self._size[node] = len(order)
        self._edges[node] = self._between(*children)
        return node

    def children(self, node: int) -> tuple[int, int]:
        """Return the two children of an inner node."""
        return self._children[node]

    def edges(self, node: int) -> int:
        """Return the number of edges across an inner node. Private."""
        return self._edges[node]

    def size(self, node: int) -> int:
        """Return the number of vertices below a node."""
        return self._size[node]

    def leaves(self, node: int) -> list[int]:
        """Return the vertices below a node, in no order."""
        vertices, open_nodes = [], [node]
        while open_nodes:
            below = open_nodes.pop()
            if below < self.n:
                vertices.append(below)
            else:
                open_nodes.extend(self._children[below])
        return vertices

    def inner(self, node: int) -> Iterator[int]:
        """Yield the inner nodes of the subtree of a node."""
        open_nodes = [node]
        while open_nodes:
            below = open_nodes.pop()
            if below >= self.n:
                yield below
                open_nodes.extend(self._children[below])

    def edges_below(self, node: int) -> int:
        """Return the number of edges with both endpoints below a node. Private."""
        return sum(self._edges[below] for below in self.inner(node))

    def pairs(self, node: int) -> int:
        """Return the number of pairs that belong to an inner node."""
        left, right = self._children[node]
        return self._size[left] * self._size[right]

    def log_likelihood(self) -> float:
        """Return the log likelihood of the graph with the best densities. Private."""
        return sum(
            likelihood(self._edges[node], self.pairs(node)) for node in self.inner(self.root)
        )

    def shape(self) -> frozenset[frozenset[int]]:
        """Return the sets of leaves below inner nodes, by which trees are compared."""
        return frozenset(frozenset(self.leaves(node)) for node in self.inner(self.root))

    def proposed(self, node: int, second: bool) -> TreeMove:
        """Return the exchange of a child of an inner node with the node's sibling.

        Args:
            node: inner node, not the root.
            second: whether its second child goes up, instead of the first.
        """
        parent = self._parent[node]
        stays, up = self._children[node] if second else self._children[node][::-1]
        left, right = self._children[parent]
        down = left if right == node else right
        moved_edges = self._between(up, down)
        # Between the child that stays and the sibling that comes down.
        edges = self._edges[parent] - moved_edges
        sizes = self._size[stays], self._size[up], self._size[down]
        before = likelihood(self._edges[node], sizes[0] * sizes[1])
        before += likelihood(self._edges[parent], (sizes[0] + sizes[1]) * sizes[2])
        after = likelihood(edges, sizes[0] * sizes[2])
        after += likelihood(self._edges[node] + moved_edges, (sizes[0] + sizes[2]) * sizes[1])
        return TreeMove(node, up, down, edges, after - before)

    def make(self, move: TreeMove) -> None:
        """Carry out an exchange."""
        node, parent = move.node, self._parent[move.node]
        stays = next(child for child in self._children[node] if child != move.up)
        self._edges[parent] += self._edges[node] - move.edges
        self._edges[node] = move.edges
        self._children[node] = (stays, move.down)
        self._children[parent] = (node, move.up)
        self._parent[move.down], self._parent[move.up] = node, parent
        self._size[node] = self._size[stays] + self._size[move.down]

    def walk(self, moves: int, rate: float, source: EntropySource) -> None:
        """Run the chain whose stationary law is proportional to e^(rate log L).

        Each step proposes one of the 2 (n - 2) exchanges uniformly and accepts it with probability
        min(1, e^(rate gain)). Proposals are symmetric, so this law is stationary. The distance from
        it after finitely many steps is unknown.

        Args:
            moves: number of steps, public.
            rate: factor of the log likelihood, >= 0.
            source: source of random bits; comparisons are made in floating point.
        """
        if self.n < 3:
            return
        nodes = [node for node in range(self.n, 2 * self.n - 1) if node != self.root]
        choices = 2 * len(nodes)
        for start in range(0, moves, _BLOCK):
            count = min(_BLOCK, moves - start)
            words = source.bytes(16 * count).view(np.uint64).reshape(2, count)
            # Far below the error that is due to the chain: 2^-64 times the number of choices.
            chosen = (words[0] % np.uint64(choices)).astype(np.int64).tolist()
            logs = np.log((words[1] + 1.0) * 2.0**-64).tolist()
            for choice, log in zip(chosen, logs, strict=True):
                move = self.proposed(nodes[choice // 2], bool(choice % 2))
                if log <= rate * move.gain:
                    self.make(move)

    def _between(self, one: int, other: int) -> int:
        """Return the number of edges between the vertices below two nodes."""
        few, many = self.leaves(one), self.leaves(other)
        if len(few) > len(many):
            few, many = many, few
        below = set(many)
        return sum(len(self._near[vertex] & below) for vertex in few)


def likelihood(edges: int, pairs: int) -> float:
    """Return ln of the likelihood of some edges among pairs, at the best density."""
    if edges in (0, pairs):
        return 0.0
    share = edges / pairs
    return edges * math.log(share) + (pairs - edges) * math.log1p(-share)
