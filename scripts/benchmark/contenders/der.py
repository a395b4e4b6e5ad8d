"""Density-based exploration and reconstruction: a quadtree of counts, edges in its leaves.

Vertices stay in their public order, which helps where neighbours have near numbers: the paper's
private relabelling is left out. Budgets are a third each for counts, cuts and edges. Public code
(github.com/hiepbkhn/itce2011) counts an edge in both halves of the matrix with the noise for one,
takes the number of edges of the whole matrix without noise, and draws with floating-point chances.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.entropy import EntropySource
from scripts.benchmark.contenders.opening import Run, contender
from scripts.benchmark.contenders.quadtree import Budgets, RegionLevel, explored, place_in
from scripts.benchmark.contenders.realised import pairs_at
from scripts.benchmark.contenders.topology_sampler import sampled_topology

SHARES = (Fraction(1, 3), Fraction(1, 3))  # of epsilon, for counts and for cuts; the rest for edges


def density_based_graph(run: Run) -> AnyGraph:
    """Release a graph with noisy numbers of edges in regions, where true pairs are likelier.

    1. The matrix, vertices in their public order, is cut in four again and again where it is dense,
       by noisy counts and by the exponential mechanism, for a third of epsilon each (`explored`).
    2. In every region that was not cut, as many pairs as its noisy count says, at least none and at
       most all, are drawn by the exponential mechanism: a set of them with a chance proportional
       to e^(rate u), u being how many of them are edges (`sampled_topology`).

    Guarantee: epsilon-DP by basic composition: `explored`, and `sampled_topology` in disjoint
    regions, of which one pair is in one.

    Source: Chen, Fung, Yu, Desai, "Correlated network data publication via differential privacy",
    VLDB Journal 2014, without correlation; constants and scores as in the public code of others,
    github.com/hiepbkhn/itce2011. Deviations: the paper's first step, which gives the vertices a new
    order privately, is left out, as it is there; only the upper half of the matrix is
    used, in which an edge counts once; the whole matrix is counted with noise, too.
    """
    counts, cuts = (run.epsilon * share for share in SHARES)
    edges = run.epsilon - counts - cuts
    run.spend(counts=counts, cuts=cuts, edges_in_regions=edges)
    budgets = Budgets.of(run.graph.n, counts=counts, cuts=cuts)
    levels = explored(run.graph, budgets, run.source)
    endpoints = [np.zeros((2, 0), dtype=np.int64)]
    leaves = reconstructed(run.graph, levels, rate=edges, source=run.source)
    endpoints += [np.array(pairs_of(leaf.region, leaf.pair_indices)) for leaf in leaves]
    return run.made(*np.concatenate(endpoints, axis=1))


@final
class DrawnRegion(NamedTuple):
    """Pairs that were drawn in a region that was not cut.

    Attributes:
        region: first row, end, first column and end.
        area: how many pairs it has.
        places: of the drawn pairs, see `place_in`.
    """

    region: IntVector
    area: int
    pair_indices: IntVector


def reconstructed(
    graph: AnyGraph, levels: Sequence[RegionLevel], *, rate: Fraction, source: EntropySource
) -> Iterator[DrawnRegion]:
    """Yield the pairs that are drawn in each region that was not cut.

    Guarantee: (rate)-DP, given regions and counts that were charged; see `sampled_topology`.

    Args:
        graph: the private graph.
        levels: of `explored`.
        rate: exact.
        source: where the noise comes from.
    """
    for level in levels:
        for index in np.flatnonzero(level.leaf & (level.counts > 0)):
            region, area = level.regions[index], int(level.areas[index])
            region_edges = level.edges[index]
            edges = np.sort(place_in(region, graph.rows[region_edges], graph.columns[region_edges]))
            count = min(int(level.counts[index]), area)
            drawn_indices = sampled_topology(edges, count, area, rate=rate, source=source)
            yield DrawnRegion(region, area, drawn_indices)


def pairs_of(region: IntVector, pair_indices: IntVector) -> tuple[IntVector, IntVector]:
    """Return rows and columns of pairs of a region by their numbers; the inverse of `place_in`."""
    top, left = int(region[0]), int(region[2])
    if top == left:
        down, along = pairs_at(pair_indices)
    else:
        down, along = np.divmod(pair_indices, region[3] - region[2])
    return down + top, along + left


DER = contender(
    density_based_graph,
    name="der",
    source="Chen, Fung, Yu, Desai, VLDB Journal 2014",
    most_vertices=5_000,
)
