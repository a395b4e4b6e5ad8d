"""LouvainDP: communities of a filtered noisy super-graph, and a block model of these.

The paper finds communities and publishes no graph; here half of epsilon goes to the counts of edges
within and between them, which are spread evenly. Which empty cells of the super-graph pass the
filter is drawn cell by cell. The paper lets a fixed number of them pass, computed from the noisy
number of filled cells: given that number, one that is filled comes on top of these, so that a count
too many tells of it. Two public implementations let no empty cell pass (one puts noise on filled
cells alone, the other fills up with cells that were filled), so that a cell that is seen has an
edge for certain. A fiftieth of epsilon, in place of .01, measures the number of filled cells.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.exceeding import sample_exceeding
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from scripts.benchmark.contenders.opening import Run, contender
from scripts.benchmark.contenders.super_graph import (
    cell_ends,
    counted_cells,
    random_groups,
    shown_communities,
)

GROUP_SIZE = 16  # vertices of a super-vertex


@final
@dataclass(frozen=True, kw_only=True)
class LouvainShares:
    """Shares of epsilon, as exponents of noise on counts that one pair changes by 1.

    Attributes:
        filled: for the number of cells of the super-graph that have an edge.
        cells: for the cells that pass the filter.
        blocks: for the cells between communities.
    """

    filled: Fraction
    cells: Fraction
    blocks: Fraction

    @classmethod
    def of(cls, epsilon: Fraction) -> "LouvainShares":
        """Return a fiftieth for the filled cells, half for blocks, the rest for the cells."""
        return cls(filled=epsilon / 50, cells=epsilon * 12 / 25, blocks=epsilon / 2)

    @classmethod
    def of_parts(cls, epsilon: Fraction) -> "LouvainShares":
        """Return shares of one part in fifty, the rest for the cells, and nothing for blocks."""
        return cls(filled=epsilon / 50, cells=epsilon * 49 / 50, blocks=Fraction(0))

    @property
    def cost(self) -> Cost:
        """Return the cost of all shares together."""
        return Cost.of_pure(self.filled + self.cells + self.blocks)


def filter_threshold(filled: int, cells: int, rate: Fraction) -> int:
    """Return the least threshold that about as many empty cells pass as there are filled ones.

    Args:
        filled: noisy number of filled cells; one at least is taken.
        cells: how many there are.
        rate: of the noise.
    """
    expected_filled = min(max(filled, 1), cells)
    empty = max(cells - expected_filled, 1)
    least = math.log(empty / (expected_filled * (1 + math.exp(-float(rate))))) / float(rate)
    return max(1, math.ceil(least))


def passing_cells(
    counts: IntVector, *, rate: Fraction, threshold: int, source: EntropySource
) -> IntVector:
    """Return noisy counts that reach the threshold, and 0 for the others.

    Args:
        counts: of all cells. Private.
        rate: P(k) is proportional to e^(-rate |k|).
        threshold: >= 1, public or from noisy numbers.
        source: where the noise comes from.

    Guarantee: rate-DP, neighbours differing in one count by 1: it has the law of independent noise
    on all counts, filtered by a public threshold. Empty cells pass independently of each other.
    """
    shown = np.zeros(len(counts), dtype=np.int64)
    false = sample_exceeding(rate, threshold, len(counts), source)
    shown[false.positions] = false.values
    filled = np.flatnonzero(counts)
    noisy = counts[filled] + sample_discrete_laplace(rate, len(filled), source)
    shown[filled] = np.where(noisy >= threshold, noisy, 0)
    return shown


def found_communities(
    graph: Graph, shares: LouvainShares, source: EntropySource, *, group_size: int = GROUP_SIZE
) -> IntVector:
    """Return a community for each vertex, by Louvain's algorithm on the filtered super-graph.

    Args:
        graph: the private graph, without weights.
        shares: of epsilon.
        source: where noise comes from.
        group_size: vertices of a super-vertex, public.

    Guarantee: (filled + cells)-DP: one pair of vertices lies in one cell, whose count it changes by
    1, so that the number of filled cells changes by 1 at most; sequential composition.
    Source: Nguyen, Imine, Rusinowitch 2016, Algorithm 1 (LouvainDP).
    """
    groups = random_groups(graph.n, group_size, source)
    count = int(groups.max()) + 1
    counts = counted_cells(graph, groups, count)
    filled = int(np.count_nonzero(counts))
    filled += int(sample_discrete_laplace(shares.filled, 1, source)[0])
    threshold = filter_threshold(filled, len(counts), shares.cells)
    shown = passing_cells(counts, rate=shares.cells, threshold=threshold, source=source)
    return shown_communities(shown.astype(np.float64), count)[groups]


def block_densities(
    graph: Graph, communities: IntVector, *, rate: Fraction, source: EntropySource
) -> FloatMatrix:
    """Return noisy edges for each pair of vertices, by communities; entries of any sign.

    Args:
        graph: the private graph.
        communities: of each vertex, from noisy numbers.
        rate: of the noise of each count.
        source: where it comes from.

    Returns:
        Shape (communities, communities), symmetric; 0 where there is no pair.

    Guarantee: rate-DP: one pair lies in one cell.
    """
    count = int(communities.max()) + 1
    counts = counted_cells(graph, communities, count)
    noisy = counts + sample_discrete_laplace(rate, len(counts), source)
    first, second = cell_ends(count)
    sizes = np.bincount(communities, minlength=count)
    pairs = np.where(
        first == second, sizes[first] * (sizes[first] - 1) // 2, sizes[first] * sizes[second]
    )
    densities = np.zeros((count, count))
    densities[first, second] = np.where(pairs > 0, noisy / np.maximum(pairs, 1), 0.0)
    densities[second, first] = densities[first, second]
    return densities


def louvain_dp(run: Run) -> FloatMatrix:
    """Release a block model of communities that LouvainDP finds.

    Guarantee: epsilon-DP: `found_communities`, then `block_densities`, composed.
    Source: Nguyen, Imine, Rusinowitch, "Detecting communities under differential privacy",
    WPES 2016, for the communities.
    """
    shares = LouvainShares.of(run.epsilon)
    run.spend(shares.cost)
    communities = found_communities(run.graph, shares, run.source)
    density = block_densities(run.graph, communities, rate=shares.blocks, source=run.source)
    matrix: FloatMatrix = density[communities][:, communities]
    np.fill_diagonal(matrix, 0.0)
    return matrix


LOUVAIN_DP = contender(
    louvain_dp,
    name="louvain-dp",
    source="Nguyen, Imine, Rusinowitch: Detecting communities under differential privacy, 2016",
    most_vertices=4_000,
)
