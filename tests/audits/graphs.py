"""Made graphs that differ in one pair: where mistakes would show."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import AccuracyWarning, PrivacyWarning
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.shares import GroupPlan, group_plan

T = TypeVar("T")
EMPTY = Graph([], [], vertices=4)
ONE_EDGE = Graph([2], [3], vertices=4)
STAR = Graph([1, 1], [0, 2], vertices=4)
LARGER_STAR = Graph([1, 1, 1], [0, 2, 3], vertices=4)

LAST_PAIR = Neighbours("last pair", EMPTY, ONE_EDGE)
HUB = Neighbours("hub", STAR, LARGER_STAR)
PLAIN = (
    LAST_PAIR,
    Neighbours("first pair", EMPTY, Graph([0], [1], vertices=4)),
    HUB,
    Neighbours(
        "isolated vertex",
        Graph([0, 0, 1], [1, 2, 2], vertices=4),
        Graph([0, 0, 1, 0], [1, 2, 2, 3], vertices=4),
    ),
    Neighbours(
        "complete but for one",
        Graph([0, 0, 0, 1, 1], [1, 2, 3, 2, 3], vertices=4),
        Graph([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], vertices=4),
    ),
)
BIPARTITE = (
    Neighbours(
        "far corner",
        BipartiteGraph([0], [0], left=2, right=3),
        BipartiteGraph([0, 1], [0, 2], left=2, right=3),
    ),
    Neighbours(
        "first corner",
        BipartiteGraph([], [], left=2, right=3),
        BipartiteGraph([0], [0], left=2, right=3),
    ),
)

DIRECTED = (
    Neighbours(
        "an arc beside its reverse",
        DirectedGraph([0], [1], vertices=3),
        DirectedGraph([0, 1], [1, 0], vertices=3),
    ),
    Neighbours(
        "last arc",
        DirectedGraph([], [], vertices=3),
        DirectedGraph([2], [1], vertices=3),
    ),
)


def capped(cap: float) -> tuple[Neighbours, ...]:
    """Weights at both ends of what a public cap allows."""
    return (
        Neighbours(
            "none and the cap",
            Graph([0], [1], [cap / 4], vertices=4, weight_cap=cap),
            Graph([0, 2], [1, 3], [cap / 4, cap], vertices=4, weight_cap=cap),
        ),
        Neighbours(
            "the cap beside the cap",
            Graph([0], [1], [cap], vertices=4, weight_cap=cap),
            Graph([0, 2], [1, 3], [cap, cap], vertices=4, weight_cap=cap),
        ),
    )


UNCAPPED = (
    Neighbours(
        "a weight by 1",
        Graph([0, 1], [1, 2], [30.25, 7.1], vertices=4, hide_change=1),
        Graph([0, 1], [1, 2], [30.25, 8.1], vertices=4, hide_change=1),
    ),
)


Sums = tuple[FloatVector, FloatVector]


@dataclass(frozen=True, eq=False)
class Side:
    """One of two neighbours, with both, for runs that give a log likelihood ratio."""

    graph: Any = field(repr=False)
    first: Any = field(repr=False)
    second: Any = field(repr=False)

    @cached_property
    def matrices(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Of both neighbours."""
        return self.first.dense(), self.second.dense()

    @cached_property
    def ends(self) -> tuple[int, int]:
        """Row and column of the pair in which they differ; the upper one of undirected graphs."""
        rows, columns = np.nonzero(self.matrices[1] - self.matrices[0])
        return int(rows[0]), int(columns[0])

    @cached_property
    def before(self) -> Sums:
        """Row and column sums of the first neighbour."""
        return self.matrices[0].sum(axis=1), self.matrices[0].sum(axis=0)

    @cached_property
    def after(self) -> Sums:
        """Likewise of the second."""
        return self.matrices[1].sum(axis=1), self.matrices[1].sum(axis=0)

    @cached_property
    def plan(self) -> GroupPlan | None:
        """What is bought of public groups of the vertices; of bipartite graphs, of both sides."""
        sets = [self.graph.left, self.graph.right] if self.bipartite else [self.graph.vertices]
        groups = [Groups(each, {"half": _LABELS[len(each)]}) for each in sets]
        return group_plan(self.graph, (groups[0], groups[1]) if self.bipartite else groups[0])

    @property
    def bipartite(self) -> bool:
        """Whether rows and columns are of two kinds."""
        return isinstance(self.graph, BipartiteGraph)


_LABELS = {2: [0, 1], 3: [0, 1, 1], 4: [0, 0, 1, 1]}


def sides(pair: Neighbours) -> Neighbours:
    """Neighbours each of which knows both."""
    first, second = (Side(graph, pair.first, pair.second) for graph in (pair.first, pair.second))
    return Neighbours(pair.name, first, second)


def seed_of(source: EntropySource) -> int:
    """A seed for a public function that takes one."""
    return int.from_bytes(source.bytes(6).tobytes(), "little")


def quietly(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """What a public function gives; that it is hardly private, or accurate, is known here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        warnings.simplefilter("ignore", PrivacyWarning)
        return function(*arguments, **options)
