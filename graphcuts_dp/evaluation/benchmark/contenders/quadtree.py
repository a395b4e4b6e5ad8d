"""Noisy counts of edges in regions of the adjacency matrix, cut in four where they are dense."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, IntegerVector, IntMatrix, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace

LEAST_SIDE = 8  # a region of so many rows is not cut any more, unless it is the whole matrix
_DEVIATIONS = 2  # of the noise: regions with less are not cut


@final
@dataclass(frozen=True, eq=False)
class RegionLevel:
    """Disjoint regions of one depth, with what was measured of them.

    Attributes:
        regions: first row, end, first column and end of each, shape (regions, 4). Of a region on
            the diagonal, whose rows are its columns, only pairs i < j are meant.
        areas: how many pairs each has.
        counts: noisy numbers of edges, any sign.
        leaf: whether it was not cut.
        edges: private: for each region, where its edges are among those of the graph.
    """

    regions: IntMatrix
    areas: IntVector
    counts: IntVector
    leaf: BoolVector
    edges: tuple[IntVector, ...] = field(repr=False)


def depth_of(n: int) -> int:
    """How often the matrix of n vertices may be cut, public."""
    return max(1, math.floor(math.log2(max(n, 2) / LEAST_SIDE)))


def explored(
    graph: AnyGraph, *, depth: int, epsilon: Fraction, source: EntropySource
) -> list[RegionLevel]:
    """Counts of regions of the upper half of the matrix, from the whole to small ones.

    Every region of a depth is counted with discrete Laplace noise of rate
    epsilon/(depth + 1). Those
    with more than two deviations of noise, and fewer edges than pairs, are cut in four (on the
    diagonal in three) at the middle of their rows and columns, until they were cut `depth` times.

    Guarantee: epsilon-DP, without `RegionLevel.edges`. Regions of one depth are disjoint: one pair
    moves one count of each depth at most, by 1, and whether a region is cut follows from its noisy
    count; so depth + 1 mechanisms of epsilon/(depth + 1) each are composed.

    Args:
        graph: the private graph, undirected, without weights.
        depth: >= 0, public.
        epsilon: exact.
        source: where the noise comes from.
    """
    n = graph.shape[0]
    rate = epsilon / (depth + 1)
    least = _DEVIATIONS / (math.sqrt(2) * math.sinh(float(rate) / 2))
    regions = np.array([[0, n, 0, n]], dtype=np.int64)
    edges = [np.arange(len(graph.rows))]
    levels = []
    for level in range(depth + 1):
        areas = pairs_in(regions)
        counts = np.array([len(each) for each in edges], dtype=np.int64)
        counts += sample_discrete_laplace(rate, len(counts), source)
        leaf = (counts <= least) | (counts >= areas) | (areas < 2) | (level == depth)
        levels.append(RegionLevel(regions, areas, counts, leaf, tuple(edges)))
        if leaf.all():
            break
        regions, edges = _cut(graph.rows, graph.columns, levels[-1])
    return levels


def pairs_in(regions: IntMatrix) -> IntVector:
    """How many pairs i < j each region has."""
    found: IntVector
    heights, widths = regions[:, 1] - regions[:, 0], regions[:, 3] - regions[:, 2]
    diagonal = regions[:, 0] == regions[:, 2]
    found = np.where(diagonal, heights * (heights - 1) // 2, heights * widths)
    return found


def place_in(region: IntVector, rows: IntegerVector, columns: IntegerVector) -> IntVector:
    """Places of pairs i < j in a region, in 0..area-1."""
    down, along = rows.astype(np.int64) - region[0], columns.astype(np.int64) - region[2]
    if region[0] == region[2]:
        return np.asarray(along * (along - 1) // 2 + down)
    return np.asarray(down * int(region[3] - region[2]) + along)


def _cut(
    rows: IntegerVector, columns: IntegerVector, level: RegionLevel
) -> tuple[IntMatrix, list[IntVector]]:
    """The parts of the regions that are no leaves, and the edges in them."""
    parts, edges = [], []
    for index in np.flatnonzero(~level.leaf):
        top, bottom, left, right = level.regions[index].tolist()
        middle, centre = (top + bottom) // 2, (left + right) // 2
        own = level.edges[index]
        low, far = rows[own] >= middle, columns[own] >= centre
        for down, along, part in (
            (False, False, (top, middle, left, centre)),
            (False, True, (top, middle, centre, right)),
            (True, False, (middle, bottom, left, centre)),
            (True, True, (middle, bottom, centre, right)),
        ):
            below_diagonal = down and not along and top == left
            empty = part[0] == part[1] or part[2] == part[3]
            if below_diagonal or empty or not pairs_in(np.array([part]))[0]:
                continue
            parts.append(part)
            edges.append(own[(low == down) & (far == along)])
    return np.array(parts, dtype=np.int64).reshape(-1, 4), edges
