"""Audits of the contender that counts edges in regions and draws edges in them."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntMatrix, IntVector
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.privacy.noise import EntropySource
from scripts.benchmark.contenders import der
from scripts.benchmark.contenders.der import pairs_of, reconstructed
from scripts.benchmark.contenders.quadtree import (
    SCALE,
    Budgets,
    RegionLevel,
    cuts_of,
    explored,
)
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.graphs import HUB, Side, sides
from tests.audits.losses import DistributionPair
from tests.audits.selection import softmax

_PAIRS = 6


Run = Callable[[Side], list[float]]
Laws = Iterator[DistributionPair]


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


_FIRST = Graph([0, 1, 2, 5], [1, 2, 3, 6], vertices=8)
_SECOND = Graph([0, 1, 2, 5, 0], [1, 2, 3, 6, 7], vertices=8)


def _cut_law(graph: AnyGraph, epsilon: float) -> FloatVector:
    """Of the first cut of a graph."""
    region = np.array([0, graph.shape[0]] * 2, dtype=np.int64)
    _, scores = cuts_of(region, graph.rows, graph.columns)
    return softmax(scores.astype(np.float64), epsilon / (2 * SCALE))


def _laws(budgets: Budgets, of_edges: float, *, halves: int = 1, own_counts: bool = False) -> Laws:
    """One edge less and more.

    Args:
        budgets: of counts and cuts.
        of_edges: the rate of edges in a region.
        halves: in how many regions of a depth a pair is counted.
        own_counts: whether the number of drawn edges is the true one.
    """
    above = []
    at = np.arange(-80, 81)
    for rate in map(float, budgets.counts):
        counts = [np.exp(-rate * np.abs(at - true)) * math.tanh(rate / 2) for true in (0, 1)]
        above.append(DistributionPair("count", counts[0], counts[1], halves))
    for epsilon in map(float, budgets.cuts):
        cuts = [_cut_law(graph, epsilon) for graph in (_FIRST, _SECOND)]
        above.append(DistributionPair("cut", cuts[0], cuts[1], halves))
    for edges, count in itertools.product(range(_PAIRS), range(_PAIRS + 1)):
        wanted = (edges, edges + 1) if own_counts else (count, count)
        laws = [_arranged(edges + more, wanted[more], of_edges) for more in (0, 1)]
        name = f"{edges} edges or one more, {count} drawn"
        yield DistributionPair(name, laws[0], laws[1], halves, tuple(above))


def _budgets(epsilon: Fraction) -> tuple[Budgets, Fraction]:
    """Of two depths, and for edges."""
    counts, cuts = (epsilon * share for share in der.SHARES)
    budgets = Budgets((counts / 3, 2 * counts / 3), (cuts,))
    return budgets, epsilon - budgets.epsilon


def _law_audit(epsilon: float) -> Audit:
    budgets, edges = _budgets(Fraction(epsilon))
    spent = sum(budgets.counts, Fraction(0))
    forgotten = Budgets((2 * spent, 2 * spent), budgets.cuts)
    thrice, edges_thrice = _budgets(3 * Fraction(epsilon))
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_laws, budgets, float(edges)),
        twins={
            "depths forgotten, and half the noise": partial(_laws, forgotten, float(edges)),
            "epsilon for counts, for cuts and for edges": partial(
                _laws, thrice, float(edges_thrice)
            ),
            "a pair in both halves of the matrix, as in public code": partial(
                _laws, budgets, float(edges), halves=2
            ),
            "the true number of edges": partial(_laws, budgets, float(edges), own_counts=True),
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


def _counts_ratio(levels: list[RegionLevel], side: Side, budgets: Budgets) -> float:
    """Ln of the likelihood ratio of the neighbours for all noisy counts."""
    found = 0.0
    for level, rate in zip(levels, map(float, budgets.counts), strict=False):
        first, second = (_true_counts(each, level.regions) for each in (side.first, side.second))
        apart = np.abs(level.counts - first) - np.abs(level.counts - second)
        found += rate * float(apart.sum())
    return found


def _cut_ratio(levels: list[RegionLevel], side: Side, epsilon: float) -> float:
    """The same for where the whole matrix was cut, if it was."""
    if not levels[1:]:
        return 0.0
    region, chosen = levels[0].regions[0], levels[1].regions[0][1]
    logs = []
    for graph in (side.first, side.second):
        cuts, scores = cuts_of(region, graph.rows, graph.columns)
        law = softmax(scores.astype(np.float64), epsilon / (2 * SCALE))
        logs.append(math.log(law[cuts[:, 0] == chosen][0]))
    return logs[1] - logs[0]


def _edges_ratio(leaf: der.DrawnRegion, side: Side, rate: float) -> float:
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


def _regions(budgets: Budgets, of_edges: Fraction, kept: bool, source: EntropySource) -> Run:
    """All counts, the cut, all edges, and what they tell.

    Args:
        budgets: of counts and cuts.
        of_edges: the rate of edges in regions.
        kept: whether false edges are left out.
        source: of the noise.
    """

    def run(side: Side) -> list[float]:
        levels = explored(side.graph, budgets, source)
        ratio = _counts_ratio(levels, side, budgets)
        ratio += _cut_ratio(levels, side, float(budgets.cuts[0]))
        dense = np.zeros(side.graph.shape)
        of_leaves = 0.0
        for leaf in reconstructed(side.graph, levels, rate=of_edges, source=source):
            dense[pairs_of(leaf.region, leaf.places)] = 1
            of_leaves += _edges_ratio(leaf, side, float(of_edges))
        upper = np.triu_indices(len(dense), 1)
        if kept:
            return list(map(float, (dense * side.graph.dense())[upper]))
        counts = np.zeros(4)
        for place, count in enumerate(count for level in levels for count in level.counts):
            counts[place] = count
        return [ratio + of_leaves, ratio, of_leaves, *counts.tolist(), *dense[upper].tolist()]

    return run


def _regions_audit(epsilon: float) -> Audit:
    budgets, edges = _budgets(Fraction(epsilon))
    loose, loose_edges = _budgets(20 * Fraction(epsilon))
    return Sampled(
        claim=Claim(epsilon),
        pairs=(sides(HUB),),
        start=partial(_regions, budgets, edges, False),
        twins={
            "a twentieth of the noise": partial(_regions, loose, loose_edges, False),
            "no false edges in a region": partial(_regions, budgets, edges, True),
        },
    )


ENTRIES = (
    Entry("benchmark: der, law", _law_audit),
    Entry("benchmark: der, runs", _regions_audit),
)
