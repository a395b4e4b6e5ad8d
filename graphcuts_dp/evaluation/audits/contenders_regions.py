"""Audits of the contender that counts edges in regions and draws edges in them."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntMatrix, IntVector
from graphcuts_dp.evaluation.audit import Claim, DistributionPair, Neighbours
from graphcuts_dp.evaluation.audits.base import Audit, Entry, Enumerated, Sampled
from graphcuts_dp.evaluation.audits.graphs import HUB
from graphcuts_dp.evaluation.benchmark.contenders import der
from graphcuts_dp.evaluation.benchmark.contenders.der import pairs_of, reconstructed
from graphcuts_dp.evaluation.benchmark.contenders.quadtree import RegionLevel, explored
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.entropy import EntropySource

_PAIRS = 6
_DEPTH = 1


@dataclass(frozen=True, eq=False)
class _Side:
    """One of two neighbours, with both."""

    graph: AnyGraph
    first: AnyGraph
    second: AnyGraph


Run = Callable[[_Side], list[float]]


def _sides(pair: Neighbours) -> Neighbours:
    ends = [_Side(graph, pair.first, pair.second) for graph in (pair.first, pair.second)]
    return Neighbours(pair.name, *ends)


# All of it, by its law: counts of each depth, and the exponential mechanism within one region.


def arrangements(edges: int, count: int, rate: float) -> FloatVector:
    """Chances of all sets of so many of six pairs, of which the first ones are edges."""
    sets = itertools.combinations(range(_PAIRS), count)
    weights = np.exp([rate * sum(place < edges for place in each) for each in sets])
    return np.asarray(weights / weights.sum())


def _arranged(edges: int, count: int, rate: float) -> FloatVector:
    """The same, of all sets of six pairs."""
    law = np.zeros(2**_PAIRS)
    sets = itertools.combinations(range(_PAIRS), count)
    for kept, chance in zip(sets, arrangements(edges, count, rate), strict=True):
        law[sum(1 << place for place in kept)] = chance
    return law


def _laws(
    of_one_depth: float, of_edges: float, own_counts: bool = False
) -> Iterator[DistributionPair]:
    """One edge less and more.

    Args:
        of_one_depth: epsilon of its counts.
        of_edges: the rate of edges in a region.
        own_counts: whether the number of drawn edges is the true one.
    """
    at = np.arange(-40, 41)
    counts = [np.exp(-of_one_depth * np.abs(at - true)) for true in (0, 1)]
    normal = math.tanh(of_one_depth / 2)
    above = DistributionPair("counts", counts[0] * normal, counts[1] * normal, _DEPTH + 1)
    for edges, count in itertools.product(range(_PAIRS), range(_PAIRS + 1)):
        wanted = (edges, edges + 1) if own_counts else (count, count)
        laws = [_arranged(edges + more, wanted[more], of_edges) for more in (0, 1)]
        name = f"{edges} edges or one more, {count} drawn"
        yield DistributionPair(name, laws[0], laws[1], beside=(above,))


def _law_audit(epsilon: float) -> Audit:
    counts = epsilon * float(der.COUNTS_SHARE)
    depth, edges = counts / (_DEPTH + 1), epsilon - counts
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_laws, depth, edges),
        twins={
            "depths forgotten in the budget": partial(_laws, counts, edges),
            "epsilon for counts, and again for edges": partial(_laws, 2 * depth, 2 * edges),
            "the true number of edges": partial(_laws, depth, edges, own_counts=True),
        },
    )


# Counts and edges together.


def _true_counts(graph: AnyGraph, regions: IntMatrix) -> IntVector:
    inside = (
        (graph.rows >= regions[:, :1])
        & (graph.rows < regions[:, 1:2])
        & (graph.columns >= regions[:, 2:3])
        & (graph.columns < regions[:, 3:])
    )
    return np.asarray(inside.sum(axis=1))


def _counts_ratio(levels: list[RegionLevel], side: _Side, rate: float) -> float:
    """Ln of the likelihood ratio of the neighbours for all noisy counts."""
    found = 0.0
    for level in levels:
        first, second = (_true_counts(each, level.regions) for each in (side.first, side.second))
        apart = np.abs(level.counts - first) - np.abs(level.counts - second)
        found += rate * float(apart.sum())
    return found


def _edges_ratio(leaf: der.DrawnRegion, side: _Side, rate: float) -> float:
    """The same for the edges drawn in a region."""
    logs = []
    for graph in (side.first, side.second):
        rows, columns = pairs_of(leaf.region, leaf.places)
        u = int(graph.dense()[rows, columns].sum())
        edges = int(_true_counts(graph, leaf.region[None])[0])
        total = sum(
            math.comb(edges, k)
            * math.comb(leaf.area - edges, len(leaf.places) - k)
            * math.exp(rate * k)
            for k in range(min(edges, len(leaf.places)) + 1)
        )
        logs.append(rate * u - math.log(total))
    return logs[1] - logs[0]


def _regions(for_counts: Fraction, for_edges: Fraction, kept: bool, source: EntropySource) -> Run:
    """All counts, all edges, and what they tell.

    Args:
        for_counts: epsilon of all counts.
        for_edges: the rate of edges in regions.
        kept: whether true edges are taken first.
        source: of the noise.
    """

    def run(side: _Side) -> list[float]:
        levels = explored(side.graph, depth=_DEPTH, epsilon=for_counts, source=source)
        ratio = _counts_ratio(levels, side, float(for_counts) / (_DEPTH + 1))
        dense = np.zeros(side.graph.shape)
        of_edges = 0.0
        for leaf in reconstructed(side.graph, levels, rate=for_edges, source=source):
            dense[pairs_of(leaf.region, leaf.places)] = 1
            of_edges += _edges_ratio(leaf, side, float(for_edges))
        if kept:
            return list(map(float, (dense * side.graph.dense())[np.triu_indices(len(dense), 1)]))
        counts = np.zeros(4)
        for place, count in enumerate(count for level in levels for count in level.counts):
            counts[place] = count
        entries = dense[np.triu_indices(len(dense), 1)]
        return [ratio + of_edges, ratio, of_edges, *counts.tolist(), *entries.tolist()]

    return run


def _regions_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    counts = exact * der.COUNTS_SHARE
    edges = exact - counts
    return Sampled(
        claim=Claim(epsilon),
        pairs=(_sides(HUB),),
        start=partial(_regions, counts, edges, False),
        twins={
            "a fifth of the noise": partial(_regions, 5 * counts, 5 * edges, False),
            "no false edges in a region": partial(_regions, counts, edges, True),
        },
        runs=8000,
        least=400,
    )


ENTRIES = (
    Entry("benchmark: der, law", _law_audit),
    Entry("benchmark: der, runs", _regions_audit),
)
