"""A noisy graph of public random groups of vertices, and the communities that it shows."""

import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from scripts.benchmark.contenders.opening import public_generator


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class SuperGraph:
    """Noisy numbers of edges within and between groups of vertices.

    Attributes:
        groups: the group of each vertex, drawn at random without regard to edges, shape (n,).
        cells: noisy counts of the cells (a, b), a <= b, in the order of `cell_ends`; of a cell
            (a, a) the edges within a group, each counted once. May be negative.
    """

    groups: IntVector
    cells: IntVector


def cell_ends(groups: int) -> tuple[IntVector, IntVector]:
    """Return the groups a <= b of each cell, in the order of cells."""
    first, second = np.triu_indices(groups)
    return first.astype(np.int64), second.astype(np.int64)


def cell_numbers(first: IntVector, second: IntVector, groups: int) -> IntVector:
    """Return the numbers of the cells of pairs of groups, in any order of the two."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    numbers: IntVector = low * groups - low * (low - 1) // 2 + high - low
    return numbers


def counted_cells(graph: Graph, groups: IntVector, count: int) -> IntVector:
    """Count the edges of each cell. Private. One pair of vertices lies in one cell."""
    cells = cell_numbers(groups[graph.rows], groups[graph.columns], count)
    counted: IntVector = np.bincount(cells, minlength=count * (count + 1) // 2)
    return counted


def random_groups(vertices: int, size: int, source: EntropySource) -> IntVector:
    """Draw groups of `size` vertices each, the last one smaller, without looking at the graph."""
    groups: IntVector = np.arange(vertices, dtype=np.int64) // size
    return public_generator(source).permutation(groups)


def measure_super_graph(
    graph: Graph, groups: IntVector, *, rate: Fraction, source: EntropySource
) -> SuperGraph:
    """Count edges within and between groups, with discrete Laplace noise.

    Args:
        graph: the private graph, without weights.
        groups: the group of each vertex, from 0; public.
        rate: P(k) is proportional to e^(-rate |k|).
        source: where the noise comes from.

    Guarantee: rate-DP. One pair of vertices lies in one cell, so that neighbours differ in one
    count, by 1.
    """
    cells = counted_cells(graph, groups, int(groups.max()) + 1)
    return SuperGraph(
        groups=groups, cells=cells + sample_discrete_laplace(rate, len(cells), source)
    )


def norm_sub(values: npt.NDArray[Any]) -> FloatVector:
    """Return the nearest numbers >= 0 of the same sum, or all 0 if that is negative.

    All of them are lowered by one number, and cut at 0: the projection onto a simplex.
    Source: PrivGraph, post-processing ("NormSub").
    """
    noisy: FloatVector = np.asarray(values, dtype=np.float64)
    total = noisy.sum()
    if total <= 0:
        return np.zeros_like(noisy)
    ordered = -np.sort(-noisy)
    shifts = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered > shifts)[-1])
    lowered: FloatVector = np.maximum(noisy - shifts[last], 0.0)
    return lowered


def shown_communities(cells: FloatVector, groups: int) -> IntVector:
    """Return a community for each group, by Louvain's algorithm. Reads noisy counts alone.

    Args:
        cells: weights >= 0 of the cells, shape (groups (groups + 1)/2,).
        groups: how many.

    Returns:
        Numbers from 0, shape (groups,); each group is alone where no cell has weight.
    """
    cells_with_edges = np.flatnonzero(cells > 0)
    if not len(cells_with_edges):
        return np.arange(groups, dtype=np.int64)
    import igraph  # slow to load, and only needed here

    first, second = (ends[cells_with_edges] for ends in cell_ends(groups))
    network = igraph.Graph(n=groups, edges=np.column_stack([first, second]))
    igraph.set_random_number_generator(random.Random(1))  # noqa: S311  # no noise
    try:
        communities = network.community_multilevel(weights=cells[cells_with_edges].tolist())
    finally:
        igraph.set_random_number_generator(random)
    return np.array(communities.membership, dtype=np.int64)
