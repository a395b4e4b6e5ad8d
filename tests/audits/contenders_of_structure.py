"""Audits of contenders that find communities, regions or a tree privately.

And of what public code gets wrong about them.
"""

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.entropy import entropy_source
from scripts.benchmark.contenders import der, hrg, privgraph, super_graph
from scripts.benchmark.contenders.dendrogram import Dendrogram
from scripts.benchmark.contenders.der import pairs_of, reconstructed
from scripts.benchmark.contenders.louvain_dp import LouvainShares
from scripts.benchmark.contenders.privgraph import PrivGraphDraws, PrivGraphRates
from scripts.benchmark.contenders.quadtree import SCALE, Budgets, RegionLevel, cuts_of, explored
from tests.audits.base import audited_laws, audited_runs
from tests.audits.graphs import HUB, LAST_PAIR, PLAIN, Side, one_more, sides
from tests.audits.losses import (
    DistributionPair,
    clipped_laplace,
    laplace_gain,
    laplace_pair,
    softmax,
)

# Communities.

_GROUP_SIZE = 2  # of four vertices
_FAR = 8  # counts this far from 0 are told from each other no more


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


def _path_log_chance(
    graph: gc.Graph, start: IntVector, order: IntVector, moves: IntVector, rate: Fraction
) -> float:
    """Ln of the chance that vertices choose these communities, one after the other."""
    forced = _ForcedMoves(moves.tolist())
    privgraph.adjusted(graph, start, order, rate=rate, source=entropy_source(0), choose=forced)
    return forced.log_chance


def _seen_of_privgraph(measured: PrivGraphDraws, side: Side, rates: PrivGraphRates) -> list[float]:
    """Log likelihood ratios of all that was drawn, together and by phase, and plain numbers."""
    both = (side.first, side.second)
    groups = measured.super_graph.groups
    true = [super_graph.counted_cells(g, groups, int(groups.max()) + 1) for g in both]
    of_cells = laplace_gain(measured.super_graph.cells, true[0], true[1], rates.cells)
    order, moves = measured.order, measured.moves
    paths = [_path_log_chance(g, measured.start, order, moves, rates.moves) for g in both]
    first, second = (privgraph.true_details(g, measured.communities) for g in both)
    of_degrees = laplace_gain(measured.degrees, first[0], second[0], rates.degrees)
    of_between = laplace_gain(measured.between, first[1], second[1], rates.between)
    together = of_cells + paths[1] - paths[0] + of_degrees + of_between
    plain = [float(measured.start.max()), float(measured.communities.max())]
    return [together, of_cells, paths[1] - paths[0], of_degrees, of_between, *plain]


# What an incorrect variant shows: of the graph, what was measured, and what is seen.
Show = Callable[[gc.Graph, PrivGraphDraws, list[float]], list[float]]


def _all_of_it(_graph: gc.Graph, _measured: PrivGraphDraws, seen: list[float]) -> list[float]:
    return seen


def _no_choice_without_edges(
    graph: gc.Graph, _measured: PrivGraphDraws, seen: list[float]
) -> list[float]:
    """A graph without edges gets a community for each vertex."""
    return seen if len(graph.rows) else [*seen[:-1], graph.n - 1.0]


def _communities_of_true_counts(
    graph: gc.Graph, measured: PrivGraphDraws, seen: list[float]
) -> list[float]:
    """Communities are found on the counts before they got noise."""
    groups = measured.super_graph.groups
    count = int(groups.max()) + 1
    true = super_graph.counted_cells(graph, groups, count).astype(np.float64)
    start = super_graph.shown_communities(true, count)
    return [*seen[:-2], float(start.max()), seen[-1]]


def _between_without_noise(
    graph: gc.Graph, measured: PrivGraphDraws, seen: list[float]
) -> list[float]:
    """Counts between communities are told as they are."""
    _, between = privgraph.true_details(graph, measured.communities)
    return [*seen, float(between.sum())]


@audited_runs(
    "benchmark: privgraph",
    pairs=tuple(map(sides, (LAST_PAIR, HUB))),
    incorrect_variants={
        "a quarter of the noise everywhere": {"factor": 4},
        "public code: no choice is made without edges": {"show": _no_choice_without_edges},
        "communities of counts before the noise": {"show": _communities_of_true_counts},
        "counts between communities without noise": {"show": _between_without_noise},
    },
    variant_pairs=(sides(LAST_PAIR),),
    slow=True,
)
def _shown(
    epsilon: float, side: Side, source: EntropySource, factor: int = 1, show: Show = _all_of_it
) -> list[float]:
    rates = PrivGraphRates.of(factor * Fraction(epsilon))
    measured = privgraph.measure_privgraph(side.graph, rates, source, group_size=_GROUP_SIZE)
    return show(side.graph, measured, _seen_of_privgraph(measured, side, rates))


# All outcomes.


def _count_law(true: int, rate: Fraction) -> FloatVector:
    """Chances of a count with noise, values beyond `_FAR` taken together."""
    return clipped_laplace(true, rate, -_FAR, _FAR)


def _all_outcomes(
    graph: gc.Graph, ends: tuple[int, int], start: IntVector, rates: PrivGraphRates
) -> list[FloatVector]:
    """Chances of every way to choose communities, with noisy details of the pair that differs."""
    order = np.arange(graph.n)
    parts = []
    for path in itertools.product(range(int(start.max()) + 1), repeat=graph.n):
        moves = np.array(path, dtype=np.int64)
        chance = math.exp(_path_log_chance(graph, start, order, moves, rates.moves))
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


@audited_laws(
    "benchmark: privgraph, all outcomes",
    incorrect_variants={
        "both ends choose, one is charged": {"moves": 2},
        "sensitivity 1 for 2 degrees": {"degrees": 2},
        "public code: no choice is made without edges": {"skip": True},
    },
)
def _outcomes(
    epsilon: float, moves: int = 1, degrees: int = 1, skip: bool = False
) -> Iterator[DistributionPair]:
    """For every start of communities on four vertices. The super-graph's count stands beside.

    The start is a function of the noisy super-graph. Taking the worst start with the worst count
    bounds all of them from above.
    """
    rates = PrivGraphRates.of(Fraction(epsilon))
    rates = replace(rates, moves=moves * rates.moves, degrees=degrees * rates.degrees)
    for pair in PLAIN:
        ends = sides(pair).first.ends
        for label in itertools.product(range(2), repeat=pair.first.n - 1):
            start = np.array([1, *label], dtype=np.int64)

            def law(graph: gc.Graph, start: IntVector = start, ends: Any = ends) -> FloatVector:
                law = np.concatenate(_all_outcomes(graph, ends, start, rates))
                skipped = skip and not len(graph.rows)
                return np.append(law * (not skipped), float(skipped))

            yield DistributionPair.of(pair, law, beside=(laplace_pair(rates.cells, _FAR),))


# LouvainDP: the filter of the super-graph, and what is reported besides.

EmptyCells = Literal["each by its noise", "one of them", "none"]  # which of them pass


def _passing(filled: bool, rate: Fraction, threshold: int, empty: EmptyCells) -> FloatVector:
    """Chances of how many of four cells pass, and whether one of them does, with its value.

    Three are empty; the fourth is empty, or filled by one edge.

    Args:
        filled: whether the fourth cell has an edge.
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


@audited_laws(
    "benchmark: louvain-dp",
    incorrect_variants={
        "as published: a fixed number of empty cells passes": {"empty": "one of them"},
        "public code: empty cells never pass": {"empty": "none"},
        "communities are not charged": {"charged": False},
    },
)
def _louvain(
    epsilon: float, empty: EmptyCells = "each by its noise", charged: bool = True
) -> Iterator[DistributionPair]:
    """For several thresholds; the count of filled cells and one of blocks stand beside."""
    shares = LouvainShares.of(Fraction(epsilon))
    of_blocks = shares.blocks if charged else Fraction(epsilon)
    counts = tuple(laplace_pair(rate, _FAR) for rate in (shares.filled, of_blocks))
    for threshold in (1, 2, 5):
        laws = [_passing(filled, shares.cells, threshold, empty) for filled in (False, True)]
        yield DistributionPair(f"threshold {threshold}", laws[0], laws[1], beside=counts)


@audited_laws(
    "benchmark: louvain-dp-parts",
    incorrect_variants={
        "as published: a fixed number of empty cells passes": {"empty": "one of them"},
        "public code: empty cells never pass": {"empty": "none"},
        "the number of filled cells is not charged": {"charged": False},
    },
)
def _louvain_parts(
    epsilon: float, empty: EmptyCells = "each by its noise", charged: bool = True
) -> Iterator[DistributionPair]:
    """For several thresholds; the count of filled cells stands beside."""
    shares = LouvainShares.of_parts(Fraction(epsilon))
    filled_rate = shares.filled if charged else Fraction(epsilon)
    beside = (laplace_pair(filled_rate, _FAR),)
    for threshold in (1, 2, 5):
        laws = [_passing(filled, shares.cells, threshold, empty) for filled in (False, True)]
        yield DistributionPair(f"threshold {threshold}", laws[0], laws[1], beside=beside)


# Regions: counts of each depth, and the exponential mechanism within one region.

_PAIRS = 6


def _arrangements(edges: int, count: int, rate: float) -> FloatVector:
    """Chances of all sets of so many of six pairs, of which the first ones are edges."""
    sets = itertools.combinations(range(_PAIRS), count)
    weights = np.exp([rate * sum(place < edges for place in each) for each in sets])
    return np.asarray(weights / weights.sum())


def _arranged(edges: int, count: int, rate: float) -> FloatVector:
    """The same, of all sets of six pairs."""
    law = np.zeros(2**_PAIRS)
    sets = itertools.combinations(range(_PAIRS), count)
    for kept, chance in zip(sets, _arrangements(edges, count, rate), strict=True):
        law[sum(1 << place for place in kept)] = chance
    return law


_EIGHT = one_more("the first and the last", [0, 1, 2, 5, 0], [1, 2, 3, 6, 7], vertices=8)


def _cut_law(graph: AnyGraph, epsilon: float) -> FloatVector:
    """Of the first cut of a graph."""
    region = np.array([0, graph.shape[0]] * 2, dtype=np.int64)
    _, scores = cuts_of(region, graph.rows, graph.columns)
    return softmax(scores.astype(np.float64), epsilon / (2 * SCALE))


def _budgets(epsilon: Fraction) -> tuple[Budgets, Fraction]:
    """Of two depths, and for edges."""
    counts, cuts = (epsilon * share for share in der.SHARES)
    budgets = Budgets((counts / 3, 2 * counts / 3), (cuts,))
    return budgets, epsilon - budgets.epsilon


@audited_laws(
    "benchmark: der, law",
    incorrect_variants={
        "depths forgotten, and half the noise": {"forgotten": True},
        "epsilon for counts, for cuts and for edges": {"factor": 3},
        "a pair in both halves of the matrix, as in public code": {"halves": 2},
        "the true number of edges": {"own_counts": True},
    },
)
def _region_laws(
    epsilon: float,
    factor: int = 1,
    forgotten: bool = False,
    halves: int = 1,
    own_counts: bool = False,
) -> Iterator[DistributionPair]:
    """Laws of the draws for a number of edges and for one more.

    Args:
        epsilon: of everything.
        factor: by which epsilon is multiplied; 1 keeps the guarantee.
        forgotten: whether each depth spends twice what all depths may.
        halves: in how many regions of a depth a pair is counted.
        own_counts: whether the number of drawn edges is the true one.
    """
    budgets, of_edges = _budgets(factor * Fraction(epsilon))
    rates = [2 * sum(budgets.counts, Fraction(0))] * 2 if forgotten else budgets.counts
    above = [laplace_pair(rate, 80, copies=halves) for rate in rates]
    cuts = (partial(_cut_law, epsilon=float(each)) for each in budgets.cuts)
    above += [DistributionPair.of(_EIGHT, law, halves) for law in cuts]
    for edges, count in itertools.product(range(_PAIRS), range(_PAIRS + 1)):
        wanted = (edges, edges + 1) if own_counts else (count, count)
        laws = [_arranged(edges + more, wanted[more], float(of_edges)) for more in (0, 1)]
        name = f"{edges} edges or one more, {wanted[0]} or {wanted[1]} drawn"
        yield DistributionPair(name, laws[0], laws[1], halves, tuple(above))


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
        found += laplace_gain(level.counts, first, second, rate)
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
        rows, columns = pairs_of(leaf.region, leaf.pair_indices)
        u = int(graph.dense()[rows, columns].sum())
        edges = int(_true_counts(graph, leaf.region[None])[0])
        total = sum(
            math.comb(edges, k)
            * math.comb(leaf.area - edges, len(leaf.pair_indices) - k)
            * math.exp(rate * k)
            for k in range(min(edges, len(leaf.pair_indices)) + 1)
        )
        logs.append(rate * u - math.log(total))
    return logs[1] - logs[0]


@audited_runs(
    "benchmark: der, runs",
    pairs=(sides(HUB),),
    incorrect_variants={
        "a twentieth of the noise": {"factor": 20},
        "no false edges in a region": {"kept": True},
    },
)
def _regions(
    epsilon: float, side: Side, source: EntropySource, factor: int = 1, kept: bool = False
) -> list[float]:
    """All counts, the cut, all edges, and what they tell; if kept, false edges are left out."""
    budgets, of_edges = _budgets(factor * Fraction(epsilon))
    levels = explored(side.graph, budgets, source)
    ratio = _counts_ratio(levels, side, budgets)
    ratio += _cut_ratio(levels, side, float(budgets.cuts[0]))
    dense = np.zeros(side.graph.shape)
    of_leaves = 0.0
    for leaf in reconstructed(side.graph, levels, rate=of_edges, source=source):
        dense[pairs_of(leaf.region, leaf.pair_indices)] = 1
        of_leaves += _edges_ratio(leaf, side, float(of_edges))
    upper = np.triu_indices(len(dense), 1)
    if kept:
        return list(map(float, (dense * side.graph.dense())[upper]))
    counts = np.zeros(4)
    for place, count in enumerate(count for level in levels for count in level.counts):
        counts[place] = count
    return [ratio + of_leaves, ratio, of_leaves, *counts.tolist(), *dense[upper].tolist()]


# A tree that is drawn by a Markov chain, as if the chain had settled.

Shape = frozenset[frozenset[int]]
_VERTICES = 24


def all_trees(graph: gc.Graph) -> dict[Shape, Dendrogram]:
    """Every tree on the vertices, by what is below its nodes; fifteen on four vertices."""
    first = Dendrogram(graph, range(graph.n))
    found, open_trees = {first.shape(): first}, [first]
    while open_trees:
        tree = open_trees.pop()
        for node, second in itertools.product(_movable(tree), (False, True)):
            other = copy.deepcopy(tree)
            other.make(other.proposed(node, second))
            if other.shape() not in found:
                found[other.shape()] = other
                open_trees.append(other)
    return found


def _movable(tree: Dendrogram) -> list[int]:
    return [node for node in tree.inner(tree.root) if node != tree.root]


def settled(trees: dict[Shape, Dendrogram], rate: float) -> dict[Shape, float]:
    """The stationary law of the chain: that of the exponential mechanism."""
    weights = {shape: math.exp(rate * tree.log_likelihood()) for shape, tree in trees.items()}
    total = sum(weights.values())
    return {shape: weight / total for shape, weight in weights.items()}


def transitions(trees: dict[Shape, Dendrogram], rate: float) -> FloatMatrix:
    """Chances of one step of the chain, rows and columns in the order of the trees."""
    places = {shape: place for place, shape in enumerate(trees)}
    chances = np.zeros((len(trees), len(trees)))
    for shape, tree in trees.items():
        moves = list(itertools.product(_movable(tree), (False, True)))
        for node, second in moves:
            other = copy.deepcopy(tree)
            move = other.proposed(node, second)
            other.make(move)
            made = min(1.0, math.exp(rate * move.gain)) / len(moves)
            chances[places[shape], places[other.shape()]] += made
        chances[places[shape], places[shape]] += 1 - chances[places[shape]].sum()
    return chances


def _tree_law(graph: gc.Graph, rate: float, moves: int | None) -> FloatVector:
    """Of the tree: stationary, or after so many moves from a tree that everybody knows."""
    trees = all_trees(graph)
    if moves is None:
        return np.array(list(settled(trees, rate).values()))
    start = np.eye(len(trees))[0]
    steps = np.linalg.matrix_power(transitions(trees, rate), moves)
    return np.asarray(start @ steps)


@audited_laws(
    "benchmark: hrg, its chain settled",
    incorrect_variants={
        "stopped after one move from a known tree": {"moves": 1},
        "ten graphs for the budget of one, as in the public code": {"graphs": 10},
    },
)
def _tree_laws(
    epsilon: float, graphs: int = 1, moves: int | None = None
) -> Iterator[DistributionPair]:
    """Tree and one count, of which a pair moves just one."""
    for_tree = epsilon * float(hrg.TREE_SHARE)
    beside = laplace_pair(epsilon - for_tree, 40, copies=graphs)
    for pair in PLAIN:
        rate = for_tree / (2 * hrg.sensitivity(pair.first.n))
        yield DistributionPair.of(
            pair, partial(_tree_law, rate=rate, moves=moves), beside=(beside,)
        )


_ACROSS = one_more(
    "a pair across the root", [*range(6), 0], [*range(6, 12), 23], vertices=_VERTICES
)
_TREES = Neighbours(  # public, but for the edges that they count
    _ACROSS.name, *(Dendrogram(each, range(_VERTICES)) for each in (_ACROSS.first, _ACROSS.second))
)


@audited_runs(
    "benchmark: hrg, counts",
    pairs=(_TREES,),
    incorrect_variants={"a third of the noise": {"factor": 3}},
)
def _tree_counts(
    epsilon: float, tree: Dendrogram, source: EntropySource, factor: int = 1
) -> list[float]:
    """A noisy chance of the tree."""
    cells = hrg.noisy_chances(tree, epsilon=factor * Fraction(epsilon), source=source)
    return [cell.chance for cell in itertools.islice(cells, 1)]
