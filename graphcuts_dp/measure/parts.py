"""Graphs whose edges lie in parts, perhaps on other machines: what is added up over them.

From what a user hands over to the graph that is measured, for whom a promise protects.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.owned_rows import OwnedRows, PrivateData
from graphcuts_dp.privacy.protection import Protection


def bounded_graph(data: PrivateData, protection: Protection) -> AnyGraph:
    """The graph of private data: of rows with owners, that in which each owner is bounded. Private.

    Between neighbours, files with and without the rows of one owner, it changes by at most
    `protection.steps` steps: see `OwnedRows.bounded`.

    Args:
        data: a graph, or rows with owners.
        protection: whom the promise is for.

    Raises:
        ParameterError: an owner shall be protected of a graph, which has none; or rows with owners
            shall be released for somebody else; or a bound out of range.
    """
    if isinstance(data, OwnedRows):
        if protection.kind != "owner":
            raise ParameterError(
                "rows with owners are released under protect='owner' with a bound at_most; for "
                "anything else read the file with read_graph"
            )
        return data.bounded(at_most=protection.steps)
    if protection.kind == "owner":
        raise ParameterError(
            "protect='owner' needs rows with owners: read the file with read_owned(path, owner=...)"
        )
    return data


def paired_graph(
    data: PrivateData, protect: str | Protection, *, at_most: int | None, epsilon: float
) -> tuple[AnyGraph, Protection]:
    """The graph of private data, for what is made of noisy pairs, and whom that can protect.

    Args:
        data: a graph, or rows with owners.
        protect: as users type it, see `Protection.of_pairs`.
        at_most: likewise.
        epsilon: that was asked for.

    Raises:
        GraphError: neither a graph nor rows.
        ParameterError: as `Protection.of_pairs` and `bounded_graph`.
    """
    if not isinstance(data, PrivateData):
        raise GraphError(
            "the first argument must be a Graph; build one with read_graph or from_..."
        )
    protection = Protection.of_pairs(
        protect, at_most=at_most, others=max(data.shape) - 1, epsilon=epsilon
    )
    return bounded_graph(data, protection), protection


R = TypeVar("R")
_LARGEST_SUM = 2**62


class PartedGraph(ABC):
    """A private graph whose edges are not in this process. Parts hold different pairs.

    Measurements take it where they take a graph, and give the same: what they add up of the edges
    is added up where the parts are, and one process draws the noise of the sums.

    Attributes:
        public: a graph of the same kind without edges: its vertices, and what is known of weights.
    """

    def __init__(self, public: AnyGraph) -> None:
        self.public = public

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.public!r})"

    @abstractmethod
    def summed(self, function: Callable[..., list[IntVector]], *arguments: Any) -> list[IntVector]:
        """function(part, *arguments), arrays of integers >= 0, added up over parts, to 2^62.

        The function draws no noise: it may run twice for a part whose result was lost.
        """

    @abstractmethod
    def drawn(self, function: Callable[..., R], arguments: Sequence[tuple[Any, ...]]) -> list[R]:
        """function(part, *its own arguments) for each part, in order, which may draw noise.

        Of a part whose function runs twice, since a worker was lost, one result is seen by anybody.
        """

    @abstractmethod
    def each(self, function: Callable[[AnyGraph], R]) -> Iterator[R]:
        """function(part) of one part after the other, in the order of their edges. Private.

        The function draws no noise.
        """


def public_of(graph: AnyGraph | PartedGraph) -> AnyGraph:
    """A graph of the same kind of which only public facts may be read."""
    return graph.public if isinstance(graph, PartedGraph) else graph


def summed(
    graph: AnyGraph | PartedGraph, function: Callable[..., list[IntVector]], *arguments: Any
) -> list[IntVector]:
    """function(graph, *arguments), wherever the edges are. Private."""
    if isinstance(graph, PartedGraph):
        return graph.summed(function, *arguments)
    return function(graph, *arguments)


def added(first: list[IntVector], second: list[IntVector]) -> list[IntVector]:
    """Sums of integers in 0..2^62, cut at 2^62: in whatever order parts are added, the same."""
    return [a + np.minimum(b, _LARGEST_SUM - a) for a, b in zip(first, second, strict=True)]
