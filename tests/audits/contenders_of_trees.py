"""Audits of HRG, a contender that draws a tree of vertices by a Markov chain.

Its guarantee is about the stationary law of the chain: that of the exponential mechanism.
"""

import copy
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.plugins import EntropySource
from scripts.benchmark.contenders import hrg
from scripts.benchmark.contenders.dendrogram import Dendrogram
from tests.audits.base import audited_laws, audited_runs
from tests.audits.graphs import PLAIN, one_more
from tests.audits.losses import DistributionPair, laplace_pair

TreeShape = frozenset[frozenset[int]]  # the leaves below each inner node
_MAX_COUNT = 40  # noisy counts are clipped to -40..40, far outside of their noise
_VERTICES = 24  # of the tree whose counts are audited


def all_trees(graph: gc.Graph) -> dict[TreeShape, Dendrogram]:
    """Return every tree on the vertices of a graph by its shape; fifteen on four vertices."""
    first_tree = Dendrogram(graph, range(graph.n))
    trees, unexplored = {first_tree.shape(): first_tree}, [first_tree]
    while unexplored:
        tree = unexplored.pop()
        for node, second in _proposals(tree):
            neighbour = copy.deepcopy(tree)
            neighbour.make(neighbour.proposed(node, second))
            if neighbour.shape() not in trees:
                trees[neighbour.shape()] = neighbour
                unexplored.append(neighbour)
    return trees


def _proposals(tree: Dendrogram) -> list[tuple[int, bool]]:
    """Return the arguments of `Dendrogram.proposed` for all moves of a tree."""
    inner_nodes = [node for node in tree.inner(tree.root) if node != tree.root]
    return list(itertools.product(inner_nodes, (False, True)))


def stationary_law(trees: dict[TreeShape, Dendrogram], rate: float) -> dict[TreeShape, float]:
    """Return the stationary law of the chain: that of the exponential mechanism."""
    weights = {shape: math.exp(rate * tree.log_likelihood()) for shape, tree in trees.items()}
    total = sum(weights.values())
    return {shape: weight / total for shape, weight in weights.items()}


def transition_matrix(trees: dict[TreeShape, Dendrogram], rate: float) -> FloatMatrix:
    """Return the transition probabilities of the chain, in the order of the trees."""
    indices = {shape: index for index, shape in enumerate(trees)}
    probabilities = np.zeros((len(trees), len(trees)))
    for row, tree in zip(probabilities, trees.values(), strict=True):
        proposals = _proposals(tree)
        for node, second in proposals:
            neighbour = copy.deepcopy(tree)
            move = neighbour.proposed(node, second)
            neighbour.make(move)
            acceptance = min(1.0, math.exp(rate * move.gain))
            row[indices[neighbour.shape()]] += acceptance / len(proposals)
        row[indices[tree.shape()]] += 1 - row.sum()
    return probabilities


def _tree_law(graph: gc.Graph, rate: float, moves: int | None) -> FloatVector:
    """Return the law of the tree after some moves from a public tree; stationary if None."""
    trees = all_trees(graph)
    if moves is None:
        return np.array(list(stationary_law(trees, rate).values()))
    public_tree = np.eye(len(trees))[0]
    powers = np.linalg.matrix_power(transition_matrix(trees, rate), moves)
    return np.asarray(public_tree @ powers)


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
    """Generate laws of the tree, with the one count that an edge changes.

    Args:
        epsilon: of both.
        graphs: how many synthetic graphs are released, each with counts of its own.
        moves: of the chain; None for a tree of its stationary law.
    """
    tree_epsilon = epsilon * float(hrg.TREE_SHARE)
    count = laplace_pair(epsilon - tree_epsilon, _MAX_COUNT, copies=graphs)
    for neighbours in PLAIN:
        rate = tree_epsilon / (2 * hrg.sensitivity(neighbours.first.n))
        yield DistributionPair.of(
            neighbours, partial(_tree_law, rate=rate, moves=moves), independent=(count,)
        )


_GRAPHS = one_more(
    "a pair across the root", [*range(6), 0], [*range(6, 12), 23], vertices=_VERTICES
)
# Trees of the same public shape. Their counts of edges are private.
_TREES = Neighbours(
    _GRAPHS.name,
    *(Dendrogram(graph, range(_VERTICES)) for graph in (_GRAPHS.first, _GRAPHS.second)),
)


@audited_runs(
    "benchmark: hrg, counts",
    pairs=(_TREES,),
    incorrect_variants={"a third of the noise": {"factor": 3}},
)
def _run_tree_counts(
    epsilon: float, tree: Dendrogram, source: EntropySource, factor: int = 1
) -> list[float]:
    """Return the first noisy probability of an edge, that of pairs across the root."""
    first_cell = next(hrg.noisy_chances(tree, epsilon=factor * Fraction(epsilon), source=source))
    return [first_cell.chance]
