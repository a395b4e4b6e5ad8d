"""Compute the true values of a graph once, and compare every estimate of it with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.evaluation.modularity import communities_of, modularity
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.schema.groups import Groups
from scripts.benchmark.base import SparseMatrix
from scripts.benchmark.estimates import truth_of
from scripts.benchmark.families import DisjointCuts, families_of
from scripts.benchmark.graphs import GraphCase
from scripts.benchmark.min_cuts import (
    MOST_GLOBAL,
    MOST_TREE,
    FlowNetwork,
    global_min_cut,
    one_matrix,
    pairs_to_part,
)
from scripts.benchmark.spectra import disagreements, largest_singular


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Truth:
    """A graph of the benchmark with all that estimates are compared with. Not private.

    Attributes:
        graph: the true graph.
        groups: its public groups, or None.
        matrix: of the graph, sparse.
        families: cuts, with `cut_values` in the same order.
        cut_values: their true weights.
        communities: part of each vertex that Louvain's method finds in the true graph (without
            directions); None for two sides.
        pairs: s, t whose least cuts are compared.
        least: of each pair.
        least_global: of the whole graph; None for arcs, and for too many vertices.
        least_all: of all pairs, shape (n, n); likewise.
        spectral: largest singular value.
        modularity: of the communities.
        plain: whether it is an undirected graph without weights; disagreements are of such.
    """

    graph: AnyGraph
    groups: Groups | None
    matrix: SparseMatrix
    families: tuple[DisjointCuts, ...]
    cut_values: tuple[FloatVector, ...]
    communities: IntVector | None
    pairs: tuple[tuple[int, int], ...]
    least: FloatVector
    least_global: float | None
    least_all: FloatVector | None
    spectral: float
    modularity: float | None
    plain: bool

    @property
    def empty(self) -> Mapping[str, float]:
        """The error of the empty graph by measure: what errors are divided by.

        Its worst cut is the whole matrix: twice the weight of an undirected graph, in matrix form.
        """
        errors = {
            "worst cut found": float(self.matrix.sum()),
            "worst cut proven": float(self.matrix.sum()),
            "s-t cuts": float(self.least.mean()),
            "spectral distance": self.spectral,
        }
        for family, values in zip(self.families, self.cut_values, strict=True):
            errors[family.name] = float(values.mean())
        if self.least_global is not None:
            errors["global min cut"] = self.least_global
        if self.least_all is not None:
            errors["Gomory-Hu tree"] = float(self.least_all.mean())
        if self.modularity is not None:
            errors["modularity"] = abs(self.modularity)
        errors |= self.partition_errors(np.arange(self.matrix.shape[0]))
        return {name: value for name, value in errors.items() if value > 0}

    def partition_errors(
        self, communities: IntVector, clusters: IntVector | None = None
    ) -> dict[str, float]:
        """Return how much worse partitions are than the best, in the true graph.

        The empty graph has each vertex in a part of its own.

        Args:
            communities: part of each vertex, for modularity.
            clusters: likewise, for few disagreements; None for the same.
        """
        errors = {}
        if self.modularity is not None:
            lost = self.modularity - modularity(self.matrix, communities)
            errors["found communities"] = max(lost, 0.0)
        if self.plain:
            parts = communities if clusters is None else clusters
            errors["disagreements"] = disagreements(self.matrix, parts)
        return errors


def truth_of_case(case: GraphCase) -> Truth:
    """Make the graph of a case and compute all that is true of it."""
    return truth_of_graph(case.make(), None if case.groups is None else case.groups())


def truth_of_graph(graph: AnyGraph, groups: Groups | None = None) -> Truth:
    """Compute all that is true of a graph.

    Args:
        graph: of any kind, at least two vertices.
        groups: public groups of its vertices; the finest level counts.
    """
    matrix = truth_of(graph)
    communities = None if isinstance(graph, BipartiteGraph) else communities_of(graph)
    families = families_of(
        graph, groups=None if groups is None else groups.codes(), communities=communities
    )
    square = one_matrix(matrix, bipartite=isinstance(graph, BipartiteGraph))
    n, directed = square.shape[0], isinstance(graph, DirectedGraph)
    network = FlowNetwork(square, directed=directed)
    pairs = pairs_to_part(n)
    return Truth(
        graph=graph,
        groups=groups,
        matrix=matrix,
        families=families,
        cut_values=tuple(family.values(matrix) for family in families),
        communities=communities,
        pairs=pairs,
        least=network.between(pairs),
        least_global=None if directed or n > MOST_GLOBAL else global_min_cut(square.toarray()),
        least_all=None if directed or n > MOST_TREE else upper_half(network.all_pairs()),
        spectral=largest_singular(matrix),
        modularity=None if communities is None else modularity(matrix, communities),
        plain=isinstance(graph, Graph) and not graph.weighted,
    )


def upper_half(matrix: FloatVector) -> FloatVector:
    """Return the entries above the diagonal, row by row."""
    entries: FloatVector = matrix[np.triu_indices(len(matrix), 1)]
    return entries
