"""Made graphs that differ in one pair: where mistakes would show."""

from dataclasses import dataclass
from typing import Any

from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.privacy.noise import EntropySource

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


@dataclass(frozen=True, eq=False)
class Side:
    """One of two neighbours, with both."""

    graph: Any
    first: Any
    second: Any


def sides(pair: Neighbours) -> Neighbours:
    """Neighbours each of which knows both, for runs that give a log likelihood ratio."""
    first, second = (Side(graph, pair.first, pair.second) for graph in (pair.first, pair.second))
    return Neighbours(pair.name, first, second)


def seed_of(source: EntropySource) -> int:
    """A seed for a public function that takes one."""
    return int.from_bytes(source.bytes(6).tobytes(), "little")
