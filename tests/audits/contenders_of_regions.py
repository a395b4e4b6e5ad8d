"""Audits of DER, a contender that counts edges in ever smaller regions of the adjacency matrix."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntMatrix, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.plugins import EntropySource
from scripts.benchmark.contenders import der
from scripts.benchmark.contenders.der import pairs_of, reconstructed
from scripts.benchmark.contenders.quadtree import SCALE, Budgets, RegionLevel, cuts_of, explored
from tests.audits.base import audited_laws, audited_runs
from tests.audits.graphs import HUB, Side, one_more, sides
from tests.audits.losses import DistributionPair, laplace_gain, laplace_pair, softmax

_REGION_PAIRS = 6  # pairs of the region whose drawn edges are enumerated: 2^6 sets of pairs
_MAX_COUNT = 80  # noisy counts are clipped to -80..80, far outside of their noise at epsilon 1/2
_EIGHT_VERTICES = one_more("the first and the last", [0, 1, 2, 5, 0], [1, 2, 3, 6, 7], vertices=8)


def _budgets(epsilon: Fraction) -> tuple[Budgets, Fraction]:
    """Return the budgets of an exploration of two depths, and epsilon of the drawn edges."""
    counts, cuts = (epsilon * share for share in der.SHARES)
    budgets = Budgets((counts / 3, 2 * counts / 3), (cuts,))
    return budgets, epsilon - budgets.epsilon


# By the probabilities of all outcomes: counts of two depths, a cut, and the edges of one region.


def _law_of_drawn_pairs(edge_count: int, drawn_count: int, rate: float) -> FloatVector:
    """Return the law of the set of drawn pairs of a region, by the exponential mechanism.

    Args:
        edge_count: number of edges: the first pairs of the region are edges, the others are not.
        drawn_count: number of pairs that are drawn.
        rate: a set has weight e^(rate * its number of edges).

    Returns:
        Probabilities by the set, written as a binary number, shape (2^6,).
    """
    subsets = list(itertools.combinations(range(_REGION_PAIRS), drawn_count))
    edges_of_subsets = np.array([sum(pair < edge_count for pair in pairs) for pairs in subsets])
    law = np.zeros(2**_REGION_PAIRS)
    law[[sum(1 << pair for pair in pairs) for pairs in subsets]] = softmax(edges_of_subsets, rate)
    return law


def _law_of_cuts(scores: IntVector, epsilon: float) -> FloatVector:
    """Return the law of the cut of a region, by the exponential mechanism."""
    return softmax(scores.astype(np.float64), epsilon / (2 * SCALE))


def _law_of_first_cut(graph: AnyGraph, epsilon: float) -> FloatVector:
    """Return the law of the cut of the whole matrix."""
    whole_matrix = np.array([0, graph.shape[0]] * 2, dtype=np.int64)
    _, scores = cuts_of(whole_matrix, graph.rows, graph.columns)
    return _law_of_cuts(scores, epsilon)


@audited_laws(
    "benchmark: der, law",
    incorrect_variants={
        "depths forgotten, and half the noise": {"forget_depths": True},
        "epsilon for counts, for cuts and for edges": {"factor": 3},
        "a pair in both halves of the matrix, as in public code": {"regions_of_pair": 2},
        "the true number of edges": {"draw_true_count": True},
    },
)
def _region_laws(
    epsilon: float,
    factor: int = 1,
    forget_depths: bool = False,
    regions_of_pair: int = 1,
    draw_true_count: bool = False,
) -> Iterator[DistributionPair]:
    """Generate laws of drawn edges for a region and for one with an edge more.

    Args:
        epsilon: of counts, cuts and drawn edges together.
        factor: by which epsilon is multiplied; 1 keeps the guarantee.
        forget_depths: whether each depth spends twice what all depths may.
        regions_of_pair: in how many regions of a depth a pair is counted.
        draw_true_count: whether the number of drawn edges is the true one.
    """
    budgets, edges_epsilon = _budgets(factor * Fraction(epsilon))
    rates = [2 * sum(budgets.counts, Fraction(0))] * 2 if forget_depths else budgets.counts
    counts = [laplace_pair(rate, _MAX_COUNT, copies=regions_of_pair) for rate in rates]
    cuts = [
        DistributionPair.of(
            _EIGHT_VERTICES,
            partial(_law_of_first_cut, epsilon=float(cut_epsilon)),
            regions_of_pair,
        )
        for cut_epsilon in budgets.cuts
    ]
    for edges, noisy_count in itertools.product(range(_REGION_PAIRS), range(_REGION_PAIRS + 1)):
        drawn = (edges, edges + 1) if draw_true_count else (noisy_count, noisy_count)
        yield DistributionPair(
            f"{edges} edges or one more, {drawn[0]} or {drawn[1]} drawn",
            _law_of_drawn_pairs(edges, drawn[0], float(edges_epsilon)),
            _law_of_drawn_pairs(edges + 1, drawn[1], float(edges_epsilon)),
            regions_of_pair,
            (*counts, *cuts),
        )


# By runs: a run returns log-likelihood ratios of counts, cut and drawn edges.


def _true_counts(graph: AnyGraph, regions: IntMatrix) -> IntVector:
    """Count the edges in regions, given by first row, end row, first column and end column."""
    inside = (
        (graph.rows >= regions[:, :1])
        & (graph.rows < regions[:, 1:2])
        & (graph.columns >= regions[:, 2:3])
        & (graph.columns < regions[:, 3:])
    )
    return np.asarray(inside.sum(axis=1))


def _counts_ratio(levels: list[RegionLevel], side: Side, budgets: Budgets) -> float:
    """Return ln(Q/P) of all noisy counts, P on the first neighbour and Q on the second."""
    ratio = 0.0
    for level, rate in zip(levels, budgets.counts, strict=False):
        first, second = (_true_counts(graph, level.regions) for graph in (side.first, side.second))
        ratio += laplace_gain(level.counts, first, second, rate)
    return ratio


def _cut_ratio(levels: list[RegionLevel], side: Side, epsilon: float) -> float:
    """Return ln(Q/P) of the cut of the whole matrix; 0 if it was not cut."""
    if not levels[1:]:
        return 0.0
    whole_matrix, cut_row = levels[0].regions[0], levels[1].regions[0][1]

    def log_probability(graph: AnyGraph) -> float:
        cuts, scores = cuts_of(whole_matrix, graph.rows, graph.columns)
        return math.log(_law_of_cuts(scores, epsilon)[cuts[:, 0] == cut_row][0])

    return log_probability(side.second) - log_probability(side.first)


def _edges_ratio(leaf: der.DrawnRegion, side: Side, rate: float) -> float:
    """Return ln(Q/P) of the edges drawn in a region by the exponential mechanism."""
    drawn_count = len(leaf.pair_indices)

    def log_probability(graph: AnyGraph) -> float:
        drawn_edges = int(graph.dense()[pairs_of(leaf.region, leaf.pair_indices)].sum())
        edges = int(_true_counts(graph, leaf.region[None])[0])
        total_weight = sum(
            math.comb(edges, k) * math.comb(leaf.area - edges, drawn_count - k) * math.exp(rate * k)
            for k in range(min(edges, drawn_count) + 1)
        )
        return rate * drawn_edges - math.log(total_weight)

    return log_probability(side.second) - log_probability(side.first)


@audited_runs(
    "benchmark: der, runs",
    pairs=(sides(HUB),),
    incorrect_variants={
        "a twentieth of the noise": {"factor": 20},
        "no false edges in a region": {"drop_false_edges": True},
    },
)
def _run_der(
    epsilon: float,
    side: Side,
    source: EntropySource,
    factor: int = 1,
    drop_false_edges: bool = False,
) -> list[float]:
    """Return log-likelihood ratios, the noisy counts and the drawn edges of a run."""
    budgets, edges_epsilon = _budgets(factor * Fraction(epsilon))
    levels = explored(side.graph, budgets, source)
    levels_ratio = _counts_ratio(levels, side, budgets)
    levels_ratio += _cut_ratio(levels, side, float(budgets.cuts[0]))
    drawn = np.zeros(side.graph.shape)
    edges_ratio = 0.0
    for leaf in reconstructed(side.graph, levels, rate=edges_epsilon, source=source):
        drawn[pairs_of(leaf.region, leaf.pair_indices)] = 1
        edges_ratio += _edges_ratio(leaf, side, float(edges_epsilon))
    upper = np.triu_indices(len(drawn), 1)
    if drop_false_edges:
        return list(map(float, (drawn * side.graph.dense())[upper]))
    region_counts = [float(count) for level in levels for count in level.counts]
    # One count of the whole matrix, and three of its parts if it was cut.
    absent_counts = [0.0] * (4 - len(region_counts))
    ratios = [levels_ratio + edges_ratio, levels_ratio, edges_ratio]
    return [*ratios, *region_counts, *absent_counts, *drawn[upper].tolist()]
