"""Put the vertices of a graph in random order, so that no contender learns from their order.

Planted groups of generated graphs are consecutive vertices, and lists of real graphs often begin
with what belongs together. A method that reads the order, as one does that divides the matrix in
halves, would find what is not in the edges. So each run sees other numbers of the vertices, without
labels, and what it hands in is brought back into the true order before it is measured.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import VertexSet
from scripts.benchmark.base import Answers, Clustering, SparseMatrix
from scripts.benchmark.made_graphs import uniform

_STREAMS = 1 << 40  # seeds of shuffles begin here; those of graphs and cuts are small


@final
@dataclass(frozen=True, eq=False)
class Shuffle:
    """New numbers of the vertices of a graph.

    Attributes:
        rows: the new number of each row, a permutation.
        columns: likewise of each column; the same array if there is one set of vertices.
    """

    rows: IntVector
    columns: IntVector

    @classmethod
    def of(cls, graph: AnyGraph, seed: int) -> "Shuffle":
        """Return a uniform shuffle; the same for the same seed and shape.

        Args:
            graph: of which the shape and the kind are read.
            seed: in 0..2^32 - 1.
        """
        rows, columns = (
            np.argsort(uniform(_STREAMS + 2 * seed + side, size), kind="stable")
            for side, size in enumerate(graph.shape)
        )
        return cls(rows, columns if isinstance(graph, BipartiteGraph) else rows)

    def graph(self, graph: AnyGraph) -> AnyGraph:
        """Return the graph with the new numbers for labels, and the same public bounds."""
        endpoints = self.rows[graph.rows], self.columns[graph.columns]
        weights = graph.weights if graph.weighted else None
        bound = graph.max_weight if graph.weighted else None
        change = 1.0 if graph.weighted and bound is None else None
        if isinstance(graph, BipartiteGraph):
            left, right = graph.shape
            return BipartiteGraph(
                *endpoints,
                weights,
                left=left,
                right=right,
                max_weight=bound,
                max_weight_change=change,
            )
        kind = DirectedGraph if isinstance(graph, DirectedGraph) else Graph
        return kind(
            *endpoints, weights, vertices=graph.n, max_weight=bound, max_weight_change=change
        )

    def groups(self, groups: Groups | None) -> Groups | None:
        """Return the same public groups of the renumbered vertices."""
        if groups is None:
            return None
        codes = groups.codes()[np.argsort(self.rows)]
        return Groups.of_codes(VertexSet(len(codes)), groups.tree, codes)

    def restored(
        self, estimate: SparseMatrix | Answers | Clustering
    ) -> SparseMatrix | Answers | Clustering:
        """Return an estimate of the renumbered graph as one of the graph itself.

        Args:
            estimate: as `checked_estimate` returns it.
        """
        if isinstance(estimate, Clustering):
            return Clustering(estimate.codes[self.rows])
        if callable(estimate):
            first, second = np.argsort(self.rows), np.argsort(self.columns)

            def answer(S: BoolVector, T: BoolVector) -> float:
                return estimate(S[first], T[second])

            return answer
        if sp.issparse(estimate):
            return estimate.tocsr()[self.rows][:, self.columns]
        return estimate[np.ix_(self.rows, self.columns)]
