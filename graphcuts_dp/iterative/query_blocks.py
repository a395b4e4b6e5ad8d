"""Rows and columns that no query of a list tells apart, taken together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.graph.linear_query import LinearQuery
from graphcuts_dp.graph.queries import CutQuery, MatrixQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.dense import DenseHypothesis


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class QueryBlocks:
    """A list of queries on a matrix, and the same on a smaller one.

    All cuts of the list are sums of whole blocks. Taking x to sqrt(rows columns) x, for a block of
    that many rows and columns, maps matrices that are constant on blocks to one entry for each
    block, and keeps inner products and singular values. Mirror descent that starts at 0, with a
    potential of singular values or of the sum of squares, never leaves such matrices: it is the
    same in both, and takes less in the smaller.

    Attributes:
        whole: the universe that was given.
        universe: one row for each class of rows, one column for each class of columns.
        queries: the given ones, on `universe`, in their order.
        rows: class of each row.
        columns: class of each column.
    """

    whole: Universe
    universe: Universe
    queries: tuple[LinearQuery, ...]
    rows: IntVector
    columns: IntVector

    @classmethod
    def of(cls, queries: Sequence[LinearQuery], universe: Universe) -> Self:
        """The blocks of a list; each entry is one if a query of it is no cut.

        Args:
            queries: on a bipartite universe.
            universe: the public vertex pairs.
        """
        cuts = [query for query in queries if isinstance(query, CutQuery)]
        if len(cuts) < len(queries):
            rows, columns = (np.arange(side) for side in universe.shape)
            return cls(
                whole=universe, universe=universe, queries=(*queries,), rows=rows, columns=columns
            )
        masks = [query.masks(universe.space) for query in cuts]
        rows = _classes([S for S, _ in masks], universe.shape[0])
        columns = _classes([T for _, T in masks], universe.shape[1])
        left, right = _roots(rows), _roots(columns)
        return cls(
            whole=universe,
            universe=Universe(len(left), len(right)),
            queries=tuple(
                MatrixQuery(np.outer(left * _of_class(S, rows), right * _of_class(T, columns)))
                for S, T in masks
            ),
            rows=rows,
            columns=columns,
        )

    def expand(self, hypothesis: DenseHypothesis) -> DenseHypothesis:
        """The hypothesis on the whole universe that one on the blocks stands for."""
        if self.universe is self.whole:
            return hypothesis
        entries = hypothesis.matrix / np.outer(_roots(self.rows), _roots(self.columns))
        return DenseHypothesis(self.whole, entries[np.ix_(self.rows, self.columns)])


def _classes(masks: Sequence[BoolVector], size: int) -> IntVector:
    """Numbers from 0 on, the same for places that are in the same sets."""
    codes = np.zeros(size, dtype=np.int64)
    for mask in masks:
        codes = np.unique(2 * codes + mask, return_inverse=True)[1]
    return codes


def _roots(codes: IntVector) -> FloatVector:
    """Square root of the size of each class."""
    return np.sqrt(np.bincount(codes))


def _of_class(mask: BoolVector, codes: IntVector) -> BoolVector:
    """Which classes a set is made of."""
    held = np.zeros(int(codes.max()) + 1, dtype=bool)
    held[codes[mask]] = True
    return held
