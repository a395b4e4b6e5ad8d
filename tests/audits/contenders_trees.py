"""Audits of the contender that draws a tree by a Markov chain, as if the chain had settled."""

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.noise import EntropySource
from scripts.benchmark.contenders import hrg
from scripts.benchmark.contenders.dendrogram import Dendrogram
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.graphs import PLAIN
from tests.audits.losses import DistributionPair

Shape = frozenset[frozenset[int]]
Run = Callable[[Graph], list[float]]
_VERTICES = 24


def all_trees(graph: Graph) -> dict[Shape, Dendrogram]:
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


def _law(graph: Graph, rate: float, moves: int | None) -> FloatVector:
    """Of the tree: stationary, or after so many moves from a tree that everybody knows."""
    trees = all_trees(graph)
    if moves is None:
        return np.array(list(settled(trees, rate).values()))
    start = np.eye(len(trees))[0]
    steps = np.linalg.matrix_power(transitions(trees, rate), moves)
    return np.asarray(start @ steps)


def _laws(
    for_tree: float, for_counts: float, graphs: int = 1, moves: int | None = None
) -> Iterator[DistributionPair]:
    """Tree and one count, of which a pair moves just one."""
    at = np.arange(-40, 41)
    normal = math.tanh(for_counts / 2)
    counts = [np.exp(-for_counts * np.abs(at - true)) * normal for true in (0, 1)]
    beside = DistributionPair("counts", counts[0], counts[1], graphs)
    for pair in PLAIN:
        rate = for_tree / (2 * hrg.sensitivity(pair.first.n))
        laws = [_law(graph, rate, moves) for graph in (pair.first, pair.second)]
        yield DistributionPair(pair.name, laws[0], laws[1], beside=(beside,))


def _law_audit(epsilon: float) -> Audit:
    tree = epsilon * float(hrg.TREE_SHARE)
    counts = epsilon - tree
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_laws, tree, counts),
        twins={
            "stopped after one move from a known tree": partial(_laws, tree, counts, moves=1),
            "ten graphs for the budget of one, as in the public code": partial(
                _laws, tree, counts, graphs=10
            ),
        },
    )


_NEIGHBOURS = Neighbours(
    "a pair across the root",
    Graph(range(6), range(6, 12), vertices=_VERTICES),
    Graph([*range(6), 0], [*range(6, 12), 23], vertices=_VERTICES),
)


def _counted(epsilon: Fraction, source: EntropySource) -> Run:
    """Noisy chances of a tree that is public."""
    trees: dict[int, Dendrogram] = {}

    def run(graph: Graph) -> list[float]:
        tree = trees.setdefault(id(graph), Dendrogram(graph, range(_VERTICES)))
        cells = hrg.noisy_chances(tree, epsilon=epsilon, source=source)
        return [cell.chance for cell in itertools.islice(cells, 1)]

    return run


def _counts_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=(_NEIGHBOURS,),
        start=partial(_counted, exact),
        twins={"a third of the noise": partial(_counted, 3 * exact)},
    )


ENTRIES = (
    Entry("benchmark: hrg, its chain settled", _law_audit),
    Entry("benchmark: hrg, counts", _counts_audit),
)
