"""Audits of contenders that find communities privately, and of what public code gets wrong."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.noise import EntropySource, entropy_source
from scripts.benchmark.contenders import privgraph, super_graph
from scripts.benchmark.contenders.louvain_dp import LouvainShares
from scripts.benchmark.contenders.privgraph import PrivGraphDraws, PrivGraphRates
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.graphs import HUB, LAST_PAIR, PLAIN, Side, sides
from tests.audits.losses import DistributionPair

_PAIRS = (LAST_PAIR, HUB)
_GROUP_SIZE = 2  # of four vertices
_FAR = 8  # counts this far from 0 are told from each other no more


Run = Callable[[Side], list[float]]


def _gain(noisy: IntVector, true: Sequence[IntVector], rate: Fraction) -> float:
    """Log likelihood ratio of noisy counts, of the second neighbour over the first."""
    apart = np.abs(noisy - true[0]) - np.abs(noisy - true[1])
    return float(rate) * float(apart.sum())


@dataclass
class _ForcedMoves:
    """Chooses what it is told, and adds up how likely that was."""

    choices: list[int]
    log_chance: float = 0.0

    def __call__(self, scores: IntVector, rate: Fraction, _: EntropySource) -> int:
        chosen = self.choices.pop(0)
        weights = scores * float(rate)
        self.log_chance += float(weights[chosen] - np.log(np.exp(weights).sum()))
        return chosen


def path_log_chance(
    graph: Graph, start: IntVector, order: IntVector, moves: IntVector, rate: Fraction
) -> float:
    """Ln of the chance that vertices choose these communities, one after the other."""
    forced = _ForcedMoves(moves.tolist())
    privgraph.adjusted(graph, start, order, rate=rate, source=entropy_source(0), choose=forced)
    return forced.log_chance


def seen_of_privgraph(measured: PrivGraphDraws, side: Side, rates: PrivGraphRates) -> list[float]:
    """Log likelihood ratios of all that was drawn, together and by phase, and plain numbers."""
    both = (side.first, side.second)
    groups = measured.super_graph.groups
    true = [super_graph.counted_cells(g, groups, int(groups.max()) + 1) for g in both]
    of_cells = _gain(measured.super_graph.cells, true, rates.cells)
    order, moves = measured.order, measured.moves
    paths = [path_log_chance(g, measured.start, order, moves, rates.moves) for g in both]
    details = [privgraph.true_details(g, measured.communities) for g in both]
    of_degrees = _gain(measured.degrees, [each[0] for each in details], rates.degrees)
    of_between = _gain(measured.between, [each[1] for each in details], rates.between)
    together = of_cells + paths[1] - paths[0] + of_degrees + of_between
    plain = [float(measured.start.max()), float(measured.communities.max())]
    return [together, of_cells, paths[1] - paths[0], of_degrees, of_between, *plain]


def _honest(epsilon: float, factor: int, source: EntropySource) -> Run:
    rates = PrivGraphRates.of(Fraction(epsilon) * factor)

    def run(side: Side) -> list[float]:
        measured = privgraph.measure_privgraph(side.graph, rates, source, group_size=_GROUP_SIZE)
        return seen_of_privgraph(measured, side, rates)

    return run


# Broken twins.


def _no_choice_without_edges(epsilon: float, source: EntropySource) -> Run:
    """A graph without edges gets a community for each vertex."""
    rates = PrivGraphRates.of(Fraction(epsilon))

    def run(side: Side) -> list[float]:
        measured = privgraph.measure_privgraph(side.graph, rates, source, group_size=_GROUP_SIZE)
        seen = seen_of_privgraph(measured, side, rates)
        if not len(side.graph.rows):
            seen[-1] = side.graph.n - 1.0
        return seen

    return run


def _communities_of_true_counts(epsilon: float, source: EntropySource) -> Run:
    """Communities are found on the counts before they got noise."""
    rates = PrivGraphRates.of(Fraction(epsilon))

    def run(side: Side) -> list[float]:
        measured = privgraph.measure_privgraph(side.graph, rates, source, group_size=_GROUP_SIZE)
        groups = measured.super_graph.groups
        count = int(groups.max()) + 1
        true = super_graph.counted_cells(side.graph, groups, count).astype(np.float64)
        start = super_graph.shown_communities(true, count)
        seen = seen_of_privgraph(measured, side, rates)
        seen[-2] = float(start.max())
        return seen

    return run


def _between_without_noise(epsilon: float, source: EntropySource) -> Run:
    """Counts between communities are told as they are."""
    rates = PrivGraphRates.of(Fraction(epsilon))

    def run(side: Side) -> list[float]:
        measured = privgraph.measure_privgraph(side.graph, rates, source, group_size=_GROUP_SIZE)
        _, between = privgraph.true_details(side.graph, measured.communities)
        return [*seen_of_privgraph(measured, side, rates), float(between.sum())]

    return run


def _sampled(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=tuple(map(sides, _PAIRS)),
        start=partial(_honest, epsilon, 1),
        twins={
            "half the noise everywhere": partial(_honest, epsilon, 4),
            "public code: no choice is made without edges": partial(
                _no_choice_without_edges, epsilon
            ),
            "communities of counts before the noise": partial(_communities_of_true_counts, epsilon),
            "counts between communities without noise": partial(_between_without_noise, epsilon),
        },
        twin_pairs=(sides(LAST_PAIR),),
    )


# All outcomes.


def _count_law(true: int, rate: Fraction) -> FloatVector:
    """Chances of a count with noise, values beyond `_FAR` taken together."""
    ratio = math.exp(-float(rate))
    values = np.arange(-_FAR, _FAR + 1) - true
    law: FloatVector = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    law[0] = ratio ** -values[0] / (1 + ratio)
    law[-1] = ratio ** values[-1] / (1 + ratio)
    return law


def _all_outcomes(
    graph: Graph, ends: tuple[int, int], start: IntVector, rates: PrivGraphRates
) -> list[FloatVector]:
    """Chances of every way to choose communities, with noisy details of the pair that differs."""
    order = np.arange(graph.n)
    parts = []
    for path in itertools.product(range(int(start.max()) + 1), repeat=graph.n):
        moves = np.array(path, dtype=np.int64)
        chance = math.exp(path_log_chance(graph, start, order, moves, rates.moves))
        degrees, between = privgraph.true_details(graph, moves)
        if path[ends[0]] == path[ends[1]]:
            of_pair = [_count_law(int(degrees[end]), rates.degrees) for end in ends]
        else:
            count = int(moves.max()) + 1
            near, far = (np.array([path[end]]) for end in ends)
            (cell,) = super_graph.cell_numbers(near, far, count)
            of_pair = [_count_law(int(between[cell]), rates.between), np.ones(1)]
        parts.append(chance * np.outer(of_pair[0], of_pair[1]).ravel())
    return parts


def _outcomes(rates: PrivGraphRates, *, skip: bool = False) -> Iterator[DistributionPair]:
    """For every start of communities on four vertices. The super-graph's count stands beside.

    The start is a function of the noisy super-graph. Taking the worst start with the worst count
    bounds all of them from above.
    """
    of_cells = DistributionPair("cell", _count_law(0, rates.cells), _count_law(1, rates.cells))
    for pair in PLAIN:
        keys = [
            set(zip(g.rows.tolist(), g.columns.tolist(), strict=True))
            for g in (pair.first, pair.second)
        ]
        ((row, column),) = keys[0] ^ keys[1]
        for label in itertools.product(range(2), repeat=pair.first.n - 1):
            start = np.array([1, *label], dtype=np.int64)
            laws = []
            for graph in (pair.first, pair.second):
                law = np.concatenate(_all_outcomes(graph, (row, column), start, rates))
                skipped = skip and not len(graph.rows)
                laws.append(np.append(law * (not skipped), float(skipped)))
            yield DistributionPair(pair.name, laws[0], laws[1], beside=(of_cells,))


def _enumerated(epsilon: float) -> Audit:
    rates = PrivGraphRates.of(Fraction(epsilon))
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_outcomes, rates),
        twins={
            "both ends choose, one is charged": partial(
                _outcomes, replace(rates, moves=2 * rates.moves)
            ),
            "sensitivity 1 for 2 degrees": partial(
                _outcomes, replace(rates, degrees=2 * rates.degrees)
            ),
            "public code: no choice is made without edges": partial(_outcomes, rates, skip=True),
        },
    )


# LouvainDP: the filter of the super-graph, and what is told besides.


EmptyCells = Literal["each by its noise", "one of them", "none"]  # which of them pass


def _passing(filled: bool, rate: Fraction, threshold: int, empty: EmptyCells) -> FloatVector:
    """Chances of how many of four cells pass, and whether one of them does, with its value.

    Three are empty; the fourth is empty, or filled by one edge.

    Args:
        filled: whether it is.
        rate: of the noise.
        threshold: of the filter.
        empty: which of the empty cells pass.
    """
    ratio = math.exp(-float(rate))
    values = threshold + np.arange(_FAR)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values - filled)
    law[-1] = ratio ** (values[-1] - filled) / (1 + ratio)
    chance = ratio**threshold / (1 + ratio)
    here = np.concatenate([[1 - law.sum()], law])
    others = np.array([math.comb(3, k) * chance**k * (1 - chance) ** (3 - k) for k in range(4)])
    if empty == "each by its noise":
        return np.outer(others, here).ravel()
    if empty == "none":
        return np.outer(np.eye(4)[0], here if filled else np.eye(len(here))[0]).ravel()
    if filled:
        return np.outer(np.eye(4)[1], here).ravel()
    chosen = np.zeros((4, len(here)))
    chosen[1, 0] = 3 / 4
    chosen[0, 1:] = law / law.sum() / 4
    return chosen.ravel()


def _louvain(
    shares: LouvainShares, empty: EmptyCells = "each by its noise"
) -> Iterator[DistributionPair]:
    """For several thresholds; the count of filled cells and one of blocks stand beside."""
    counts = [
        DistributionPair("count", _count_law(0, rate), _count_law(1, rate))
        for rate in (shares.filled, shares.blocks)
    ]
    for threshold in (1, 2, 5):
        laws = [_passing(filled, shares.cells, threshold, empty) for filled in (False, True)]
        yield DistributionPair(f"threshold {threshold}", laws[0], laws[1], beside=tuple(counts))


def _louvain_audit(epsilon: float) -> Audit:
    shares = LouvainShares.of(Fraction(epsilon))
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_louvain, shares),
        twins={
            "as published: a fixed number of empty cells passes": partial(
                _louvain, shares, "one of them"
            ),
            "public code: empty cells never pass": partial(_louvain, shares, "none"),
            "communities are not charged": partial(
                _louvain, replace(shares, blocks=Fraction(epsilon))
            ),
        },
    )


ENTRIES = (
    Entry("benchmark: privgraph", _sampled, slow=True),
    Entry("benchmark: privgraph, all outcomes", _enumerated),
    Entry("benchmark: louvain-dp", _louvain_audit),
)
