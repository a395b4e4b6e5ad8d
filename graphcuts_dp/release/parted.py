"""Sparse releases of graphs whose edges lie in parts, on the workers of a cluster."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.ledger.opening import Subject, graph_schema
from graphcuts_dp.measurements.parts import PartedGraph
from graphcuts_dp.privacy.protection import Protection
from graphcuts_dp.release.sparse import SPARSE

Column = Callable[[AnyGraph], npt.NDArray[Any]]


def parted_graph(
    parts: PartedGraph, *, mechanism: str, protect: str, at_most: int | None, epsilon: float
) -> tuple[Subject, Protection]:
    """What a store is told of a graph in parts, and whom a release of it protects.

    Args:
        parts: the private graph.
        mechanism: as for `release_graph`: "auto" or "sparse".
        protect: likewise: "edges".
        at_most: likewise.
        epsilon: likewise.

    Raises:
        ParameterError: an option out of range, or one that is for a graph in one process.
    """
    if mechanism not in ("auto", SPARSE):
        raise ParameterError("a graph in parts is released by mechanism='sparse'")
    if protect != "edges":
        raise ParameterError("a graph in parts is released with protect='edges'")
    others = max(parts.public.shape) - 1
    protection = Protection.of_pairs(protect, at_most=at_most, others=others, epsilon=epsilon)
    return subject_of(parts), protection


def subject_of(parts: PartedGraph) -> Subject:
    """A graph in parts as the subject of a ledger: that of the same graph in one process.

    So a store that was made for one is for the other. To make the fingerprint, the edges pass
    through this process, one part after the other.
    """
    columns: tuple[tuple[Column, str], ...] = (_rows, "<i4"), (_columns, "<i4"), (_weights, "<f8")
    count = sum(parts.each(_count))
    arrays = tuple((_Pieces(parts, column), form) for column, form in columns)
    return Subject(graph_schema(parts.public), arrays, lengths=(count,) * len(arrays))


@final
@dataclass(frozen=True)
class _Pieces:
    """An array of all edges, part by part."""

    parts: PartedGraph
    column: Column

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return self.parts.each(self.column)


def _count(part: AnyGraph) -> int:
    return len(part.rows)


def _rows(part: AnyGraph) -> npt.NDArray[Any]:
    return part.rows


def _columns(part: AnyGraph) -> npt.NDArray[Any]:
    return part.columns


def _weights(part: AnyGraph) -> npt.NDArray[Any]:
    return part.weights.astype(np.float64, copy=False)
