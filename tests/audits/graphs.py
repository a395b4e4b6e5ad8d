"""Made graphs that differ in one pair: where mistakes would show."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, PrivacyWarning, graph_job
from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.release.graph_jobs import MatrixJob, SparseJob

T = TypeVar("T")
EMPTY = gc.Graph([], [], vertices=4)
_OF_KIND: dict[type[AnyGraph], dict[str, int]] = {
    gc.Graph: {"vertices": 4},
    gc.DirectedGraph: {"vertices": 3},
    gc.BipartiteGraph: {"left": 2, "right": 3},
}


def one_more(
    name: str,
    rows: Any,
    columns: Any,
    weights: Sequence[float] | None = None,
    *,
    kind: type[AnyGraph] = gc.Graph,
    more: int = 1,
    **options: Any,
) -> Neighbours:
    """A graph without its last edge, and with it.

    Args:
        name: of the neighbours.
        rows: an end of each edge.
        columns: the other end.
        weights: of each; None for a graph without weights.
        kind: of graph: with four vertices, three, or two and three, where options do not say.
        more: how many edges are the last ones.
        options: of the graph.
    """
    size = options if {"vertices", "left"} & set(options) else _OF_KIND[kind] | options
    first, second = (
        kind(rows[:count], columns[:count], weights and weights[:count], **size)
        for count in (len(rows) - more, len(rows))
    )
    return Neighbours(name, first, second)


LAST_PAIR = one_more("last pair", [2], [3])
FIRST_PAIR = one_more("first pair", [0], [1])
HUB = one_more("hub", [1, 1, 1], [0, 2, 3])
PLAIN = (
    LAST_PAIR,
    FIRST_PAIR,
    HUB,
    one_more("isolated vertex", [0, 0, 1, 0], [1, 2, 2, 3]),
    one_more("complete but for one", [0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]),
)
BIPARTITE = (
    one_more("far corner", [0, 1], [0, 2], kind=gc.BipartiteGraph),
    one_more("first corner", [0], [0], kind=gc.BipartiteGraph),
)
DIRECTED = (
    one_more("an arc beside its reverse", [0, 1], [1, 0], kind=gc.DirectedGraph),
    one_more("last arc", [2], [1], kind=gc.DirectedGraph),
)


def capped(cap: float) -> tuple[Neighbours, ...]:
    """Weights at both ends of what a public bound allows."""
    return (
        one_more("none and the cap", [0, 2], [1, 3], [cap / 4, cap], max_weight=cap),
        one_more("the cap beside the cap", [0, 2], [1, 3], [cap, cap], max_weight=cap),
    )


UNCAPPED = (
    Neighbours(
        "a weight by 1",
        gc.Graph([0, 1], [1, 2], [30.25, 7.1], vertices=4, max_weight_change=1),
        gc.Graph([0, 1], [1, 2], [30.25, 8.1], vertices=4, max_weight_change=1),
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
    def endpoints(self) -> tuple[int, int]:
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
    def groups(self) -> gc.Groups | tuple[gc.Groups, gc.Groups]:
        """Public groups of the vertices; of bipartite graphs, of both sides."""
        sets = [self.graph.left, self.graph.right] if self.bipartite else [self.graph.vertices]
        groups = [gc.Groups(each, {"half": _LABELS[len(each)]}) for each in sets]
        return (groups[0], groups[1]) if self.bipartite else groups[0]

    @property
    def bipartite(self) -> bool:
        """Whether rows and columns are of two kinds."""
        return isinstance(self.graph, gc.BipartiteGraph)


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


@lru_cache(maxsize=256)  # a run is repeated thousands of times
def job_of(
    side: Side, mechanism: str, noise: str, epsilon: float, *, with_groups: bool = False
) -> MatrixJob | SparseJob:
    """The job of a release by a mechanism, from the schema of a graph."""
    return graph_job(
        side.graph,
        epsilon=epsilon,
        noise=noise,
        mechanism=gc.Mechanism(mechanism),
        groups=side.groups if with_groups else None,
        fitted=False,
    )
