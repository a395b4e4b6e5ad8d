"""Audits of PrivGraph and LouvainDP, contenders that find communities of vertices privately.

Their incorrect variants are mistakes of the published algorithms and of public code.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.entropy import entropy_source
from scripts.benchmark.contenders import privgraph, super_graph
from scripts.benchmark.contenders.louvain_dp import LouvainShares
from scripts.benchmark.contenders.privgraph import PrivGraphDraws, PrivGraphRates
from tests.audits.base import audited_laws, audited_runs
from tests.audits.graphs import HUB, LAST_PAIR, PLAIN, Side, sides
from tests.audits.losses import DistributionPair, clipped_laplace, laplace_gain, laplace_pair

_GROUP_SIZE = 2  # vertices of a super-vertex: the audited graphs have four vertices
_MAX_COUNT = 8  # noisy counts are clipped to -8..8, to list all outcomes
_THRESHOLDS = (1, 2, 5)  # of LouvainDP's filter: low, usual and high for four cells


# PrivGraph, by runs: a run returns log-likelihood ratios of its three phases, and numbers that
# show the mistakes of the incorrect variants.


@dataclass
class _PrescribedChoices:
    """Return prescribed choices, and add up their log-probabilities.

    It takes the place of the exponential mechanism.
    """

    choices: list[int]
    log_probability: float = 0.0

    def __call__(self, scores: IntVector, rate: Fraction, _: EntropySource) -> int:
        choice = self.choices.pop(0)
        exponents = scores * float(rate)
        self.log_probability += float(exponents[choice] - np.log(np.exp(exponents).sum()))
        return choice


def _log_probability_of_moves(
    graph: gc.Graph, start: IntVector, order: IntVector, moves: IntVector, rate: Fraction
) -> float:
    """Return ln of the probability that the vertices choose these communities in this order."""
    choose = _PrescribedChoices(moves.tolist())
    privgraph.adjusted(graph, start, order, rate=rate, source=entropy_source(0), choose=choose)
    return choose.log_probability


def _privgraph_observations(
    draws: PrivGraphDraws, side: Side, rates: PrivGraphRates
) -> list[float]:
    """Return ln(Q/P) of all draws, of each phase, and the last community at start and end.

    Args:
        draws: of a run on one of the neighbours.
        side: both neighbours: P is the law on the first, Q on the second.
        rates: of the sound mechanism's noise.
    """
    graphs = (side.first, side.second)
    groups = draws.super_graph.groups
    first_cells, second_cells = (
        super_graph.counted_cells(graph, groups, int(groups.max()) + 1) for graph in graphs
    )
    cells_ratio = laplace_gain(draws.super_graph.cells, first_cells, second_cells, rates.cells)
    first_moves, second_moves = (
        _log_probability_of_moves(graph, draws.start, draws.order, draws.moves, rates.moves)
        for graph in graphs
    )
    moves_ratio = second_moves - first_moves
    first_degrees, first_between = privgraph.true_details(side.first, draws.communities)
    second_degrees, second_between = privgraph.true_details(side.second, draws.communities)
    degrees_ratio = laplace_gain(draws.degrees, first_degrees, second_degrees, rates.degrees)
    between_ratio = laplace_gain(draws.between, first_between, second_between, rates.between)
    ratios = [cells_ratio, moves_ratio, degrees_ratio, between_ratio]
    return [sum(ratios), *ratios, float(draws.start.max()), float(draws.communities.max())]


# An incorrect variant returns other observations: of the graph, the draws and the sound ones.
Observe = Callable[[gc.Graph, PrivGraphDraws, list[float]], list[float]]


def _sound_observations(
    _graph: gc.Graph, _draws: PrivGraphDraws, observations: list[float]
) -> list[float]:
    return observations


def _no_choice_without_edges(
    graph: gc.Graph, _draws: PrivGraphDraws, observations: list[float]
) -> list[float]:
    """Put each vertex of a graph without edges in a community of its own."""
    return observations if len(graph.rows) else [*observations[:-1], graph.n - 1.0]


def _communities_of_true_counts(
    graph: gc.Graph, draws: PrivGraphDraws, observations: list[float]
) -> list[float]:
    """Find the communities at the start by the counts without noise."""
    groups = draws.super_graph.groups
    group_count = int(groups.max()) + 1
    true_cells = super_graph.counted_cells(graph, groups, group_count).astype(np.float64)
    start = super_graph.shown_communities(true_cells, group_count)
    return [*observations[:-2], float(start.max()), observations[-1]]


def _between_without_noise(
    graph: gc.Graph, draws: PrivGraphDraws, observations: list[float]
) -> list[float]:
    """Release the counts between communities without noise."""
    _, between = privgraph.true_details(graph, draws.communities)
    return [*observations, float(between.sum())]


@audited_runs(
    "benchmark: privgraph",
    pairs=tuple(map(sides, (LAST_PAIR, HUB))),
    incorrect_variants={
        "a quarter of the noise everywhere": {"factor": 4},
        "public code: no choice is made without edges": {"observe": _no_choice_without_edges},
        "communities of counts before the noise": {"observe": _communities_of_true_counts},
        "counts between communities without noise": {"observe": _between_without_noise},
    },
    variant_pairs=(sides(LAST_PAIR),),
    slow=True,
)
def _run_privgraph(
    epsilon: float,
    side: Side,
    source: EntropySource,
    factor: int = 1,
    observe: Observe = _sound_observations,
) -> list[float]:
    rates = PrivGraphRates.of(factor * Fraction(epsilon))
    draws = privgraph.measure_privgraph(side.graph, rates, source, group_size=_GROUP_SIZE)
    return observe(side.graph, draws, _privgraph_observations(draws, side, rates))


# PrivGraph, by the probabilities of all outcomes.


def _count_law(true_count: int, rate: Fraction) -> FloatVector:
    """Return the probabilities of a count with noise, clipped to -`_MAX_COUNT`..`_MAX_COUNT`."""
    return clipped_laplace(true_count, rate, -_MAX_COUNT, _MAX_COUNT)


def _law_of_moves_and_details(
    graph: gc.Graph, pair: tuple[int, int], start: IntVector, rates: PrivGraphRates
) -> FloatVector:
    """Return the probabilities of all choices of communities, with the details of one pair.

    Args:
        graph: one of two neighbours.
        pair: the vertices between which the neighbours differ.
        start: community of each vertex before the choices.
        rates: of all noise.
    """
    order = np.arange(graph.n)
    laws = []
    for choices in itertools.product(range(int(start.max()) + 1), repeat=graph.n):
        moves = np.array(choices, dtype=np.int64)
        moves_probability = math.exp(
            _log_probability_of_moves(graph, start, order, moves, rates.moves)
        )
        degrees, between = privgraph.true_details(graph, moves)
        if choices[pair[0]] == choices[pair[1]]:
            of_first, of_second = (
                _count_law(int(degrees[vertex]), rates.degrees) for vertex in pair
            )
            details_law = np.outer(of_first, of_second).ravel()
        else:
            community_count = int(moves.max()) + 1
            first, second = (np.array([choices[vertex]]) for vertex in pair)
            (cell,) = super_graph.cell_numbers(first, second, community_count)
            details_law = _count_law(int(between[cell]), rates.between)
        laws.append(moves_probability * details_law)
    return np.concatenate(laws)


@audited_laws(
    "benchmark: privgraph, all outcomes",
    incorrect_variants={
        "both ends choose, one is charged": {"moves_factor": 2},
        "sensitivity 1 for 2 degrees": {"degrees_factor": 2},
        "public code: no choice is made without edges": {"skip_without_edges": True},
    },
)
def _privgraph_laws(
    epsilon: float,
    moves_factor: int = 1,
    degrees_factor: int = 1,
    skip_without_edges: bool = False,
) -> Iterator[DistributionPair]:
    """Generate laws for each start of communities, with a count of the super-graph.

    The start is a function of the noisy super-graph. So the loss of the worst start, added to that
    of the worst count, bounds the loss of both.
    """
    rates = PrivGraphRates.of(Fraction(epsilon))
    rates = replace(rates, moves=moves_factor * rates.moves, degrees=degrees_factor * rates.degrees)
    super_graph_count = laplace_pair(rates.cells, _MAX_COUNT)
    for neighbours in PLAIN:
        pair = sides(neighbours).first.endpoints
        for labels in itertools.product(range(2), repeat=neighbours.first.n - 1):
            start = np.array([1, *labels], dtype=np.int64)

            def law(
                graph: gc.Graph, start: IntVector = start, pair: tuple[int, int] = pair
            ) -> FloatVector:
                """Return the law of all outcomes; the last one is a skipped choice."""
                is_skipped = skip_without_edges and not len(graph.rows)
                probabilities = _law_of_moves_and_details(graph, pair, start, rates)
                return np.append(probabilities * (not is_skipped), float(is_skipped))

            yield DistributionPair.of(neighbours, law, independent=(super_graph_count,))


# LouvainDP: the filter of the super-graph, and the counts that are released with it.

# By which rule empty cells pass the filter; the first one is sound.
EmptyCells = Literal["each by its noise", "one of them", "none"]
_OTHER_CELLS = 3  # of four: they are empty on both neighbours


def _filter_law(
    is_filled: bool, rate: Fraction, threshold: int, empty_cells: EmptyCells
) -> FloatVector:
    """Return the law of what passes the filter of four cells, of which three are empty.

    Args:
        is_filled: whether the fourth cell has one edge; it is empty otherwise.
        rate: of the noise.
        threshold: of the filter.
        empty_cells: by which rule empty cells pass.

    Returns:
        Probabilities of the number of the three cells that pass (0..3), by the value of the fourth
        (not passed, threshold, threshold + 1, ..., the last one with all above it); flattened.
    """
    ratio = math.exp(-float(rate))
    values = threshold + np.arange(_MAX_COUNT)
    value_law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values - is_filled)
    value_law[-1] = ratio ** (values[-1] - is_filled) / (1 + ratio)
    fourth_law = np.concatenate([[1 - value_law.sum()], value_law])
    never_passes = np.eye(len(fourth_law))[0]
    none_of_three, one_of_three = np.eye(_OTHER_CELLS + 1)[:2]
    if empty_cells == "each by its noise":
        pass_probability = ratio**threshold / (1 + ratio)
        passing = np.arange(_OTHER_CELLS + 1)
        binomials = np.array([math.comb(_OTHER_CELLS, k) for k in passing])
        others_law = (
            binomials
            * pass_probability**passing
            * (1 - pass_probability) ** (_OTHER_CELLS - passing)
        )
        return np.outer(others_law, fourth_law).ravel()
    if empty_cells == "none":
        return np.outer(none_of_three, fourth_law if is_filled else never_passes).ravel()
    if is_filled:
        return np.outer(one_of_three, fourth_law).ravel()
    # One of four empty cells passes: one of the three, or the fourth with a value of its law.
    fourth_passes = np.append(0.0, value_law / value_law.sum())
    return (
        np.outer(one_of_three, 3 / 4 * never_passes) + np.outer(none_of_three, fourth_passes / 4)
    ).ravel()


def _filter_laws(
    rate: Fraction, empty_cells: EmptyCells, counts: tuple[DistributionPair, ...]
) -> Iterator[DistributionPair]:
    """Generate laws of the filter for several thresholds, with counts released besides."""
    for threshold in _THRESHOLDS:
        first, second = (
            _filter_law(is_filled, rate, threshold, empty_cells) for is_filled in (False, True)
        )
        yield DistributionPair(f"threshold {threshold}", first, second, independent=counts)


@audited_laws(
    "benchmark: louvain-dp",
    incorrect_variants={
        "as published: a fixed number of empty cells passes": {"empty_cells": "one of them"},
        "public code: empty cells never pass": {"empty_cells": "none"},
        "communities are not charged": {"charge_blocks": False},
    },
)
def _louvain_laws(
    epsilon: float, empty_cells: EmptyCells = "each by its noise", charge_blocks: bool = True
) -> Iterator[DistributionPair]:
    """Generate laws of the filter, with the count of filled cells and one count of blocks."""
    shares = LouvainShares.of(Fraction(epsilon))
    blocks_rate = shares.blocks if charge_blocks else Fraction(epsilon)
    counts = tuple(laplace_pair(rate, _MAX_COUNT) for rate in (shares.filled, blocks_rate))
    return _filter_laws(shares.cells, empty_cells, counts)


@audited_laws(
    "benchmark: louvain-dp-parts",
    incorrect_variants={
        "as published: a fixed number of empty cells passes": {"empty_cells": "one of them"},
        "public code: empty cells never pass": {"empty_cells": "none"},
        "the number of filled cells is not charged": {"charge_filled": False},
    },
)
def _louvain_parts_laws(
    epsilon: float, empty_cells: EmptyCells = "each by its noise", charge_filled: bool = True
) -> Iterator[DistributionPair]:
    """Generate laws of the filter, with the count of filled cells."""
    shares = LouvainShares.of_parts(Fraction(epsilon))
    filled_rate = shares.filled if charge_filled else Fraction(epsilon)
    return _filter_laws(shares.cells, empty_cells, (laplace_pair(filled_rate, _MAX_COUNT),))
