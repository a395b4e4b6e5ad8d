"""A public list of cuts, as long as a million: one bit for each vertex, answered in batches."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol, final, overload, runtime_checkable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.learn.bit_sets import BitSets, Words, pack_bits
from graphcuts_dp.learn.learners import MOST_DENSE_VERTICES
from graphcuts_dp.offline.scoring import Scoring
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe

_BATCH_ENTRIES = 1 << 22  # floats of a batch: 32 MiB
_LIMB_BITS = 16  # sums of halves of weights stay below 2^53


@runtime_checkable
class MatrixHypothesis(Protocol):
    """A hypothesis that is a matrix over the universe."""

    def dense(self) -> FloatMatrix:
        """The matrix."""


@final
class CutList(Sequence[CutQuery]):
    """An immutable list of cut queries over one universe.

    Args:
        universe: the public vertex pairs.
        queries: cut queries, at least one; copied, n / 4 bytes each.

    Attributes:
        universe: as given.

    Raises:
        ParameterError: no query.
        QueryError: another query than a cut, or one that does not fit the vertex sets.
    """

    def __init__(self, universe: Universe, queries: Iterable[CutQuery]) -> None:
        S: list[Words] = []
        T: list[Words] = []
        for query in queries:
            if not isinstance(query, CutQuery):
                raise QueryError(
                    "a list of cuts holds CutQuery objects only; release_sensing learns from other"
                    " linear queries, too"
                )
            left, right = universe.masks(query)
            S.append(pack_bits(left))
            T.append(pack_bits(right))
        if not S:
            raise ParameterError("give at least one query")
        self.universe = universe
        self._S = BitSets(universe.shape[0], np.stack(S))
        self._T = BitSets(universe.shape[1], np.stack(T))

    @classmethod
    def of_masks(
        cls, universe: Universe, S: npt.NDArray[np.bool_], T: npt.NDArray[np.bool_]
    ) -> "CutList":
        """From truth vectors, shapes (k, n) each, or (k, n_left) and (k, n_right), k >= 1.

        Raises:
            ParameterError: other shapes.
        """
        if S.shape != (len(S), universe.shape[0]) or T.shape != (len(S), universe.shape[1]):
            raise ParameterError(f"truth vectors of cuts have lengths {universe.shape}")
        if not len(S):
            raise ParameterError("give at least one query")
        return cls.of_words(universe, _pack_rows(S), _pack_rows(T))

    @classmethod
    def of_words(cls, universe: Universe, S: Words, T: Words) -> "CutList":
        """From what `words` gives.

        Raises:
            ParameterError: arrays of another form.
        """
        for words, n in zip((S, T), universe.shape, strict=True):
            if words.dtype != np.uint64 or words.shape != (len(S), -(-n // 64)) or not len(S):
                raise ParameterError("these words are no cuts of the universe")
        made = cls.__new__(cls)
        made.universe = universe
        made._S, made._T = BitSets(universe.shape[0], S), BitSets(universe.shape[1], T)
        return made

    @property
    def words(self) -> tuple[Words, Words]:
        """S and T of each cut as 64-bit words, shapes (k, ceil(n / 64)). Do not write to them."""
        return self._S.rows, self._T.rows

    @property
    def disjoint(self) -> bool:
        """Whether no cut has a vertex on both sides, or the universe is bipartite."""
        return self.universe.bipartite or not (self._S.rows & self._T.rows).any()

    @cached_property
    def most_pairs(self) -> int:
        """How many pairs the cut of the list counts that counts most of them."""
        S, T, both = (
            np.bitwise_count(words).sum(axis=1, dtype=np.int64)
            for words in (self._S.rows, self._T.rows, self._S.rows & self._T.rows)
        )
        if self.universe.bipartite:
            return int((S * T).max())
        twice = both * (both - 1) // 2 if self.universe.symmetric else 0
        return int((S * T - both - twice).max())

    def __contains__(self, query: object) -> bool:
        """Whether a cut is in the list; (S, T) and (T, S) are one cut of an undirected graph."""
        return isinstance(query, CutQuery) and self.find(query) is not None

    def find(self, query: CutQuery) -> int | None:
        """The first place of a cut in the list; None for one that is not in it."""
        S, T = (pack_bits(mask) for mask in self.universe.masks(query))
        found = (self._S.rows == S).all(axis=1) & (self._T.rows == T).all(axis=1)
        if self.universe.symmetric:
            found |= (self._S.rows == T).all(axis=1) & (self._T.rows == S).all(axis=1)
        return int(found.argmax()) if found.any() else None

    def __len__(self) -> int:
        return len(self._S)

    @overload
    def __getitem__(self, index: int) -> CutQuery: ...
    @overload
    def __getitem__(self, index: slice) -> "CutList": ...
    def __getitem__(self, index: int | slice) -> "CutQuery | CutList":
        if isinstance(index, slice):
            return CutList(self.universe, [self[i] for i in range(*index.indices(len(self)))])
        S, T = (
            BitSets(sets.n, sets.rows[index][None, :]).masks()[0] for sets in (self._S, self._T)
        )
        return CutQuery(S, T)

    def __repr__(self) -> str:
        return f"CutList({len(self)} cuts, {self.universe!r})"

    def counts(self, graph: AnyGraph, grid: Grid) -> npt.NDArray[np.int64]:
        """The true answers in steps of the grid, exactly. Private.

        Args:
            graph: over the universe, with a total of less than 2^62 steps.
            grid: how they are counted.
        """
        steps = grid.steps(graph.weights) if graph.weighted else np.ones(len(graph.rows), np.int64)
        total = np.zeros(len(self), dtype=np.int64)
        # Products of 0/1 vectors and integers below 2^16 have integer sums below 2^53, which
        # floats hold exactly in whatever order they are added.
        for shift in range(0, int(steps.max(initial=1)).bit_length(), _LIMB_BITS):
            limb = (steps >> shift) & ((1 << _LIMB_BITS) - 1)
            answers = self.on_matrix(_matrix_of(graph, limb.astype(np.float64)))
            total += np.rint(answers).astype(np.int64) << shift
        return total

    def scored(self, graph: AnyGraph, scoring: Scoring) -> npt.NDArray[np.int64]:
        """The true answers in sub-steps, exactly. Private."""
        return self.counts(graph, scoring.grid) * scoring.substeps

    def answers(self, hypothesis: Hypothesis) -> FloatVector:
        """A hypothesis's answers, shape (len(self),)."""
        if max(self.universe.shape) <= MOST_DENSE_VERTICES and isinstance(
            hypothesis, MatrixHypothesis
        ):
            return self.on_matrix(hypothesis.dense())
        return hypothesis.estimate_all(self)

    def on_matrix(self, matrix: Any) -> FloatVector:
        """Answers on a dense or sparse matrix over the universe, which is not checked."""
        answers = np.empty(len(self))
        for part, S, T in self._batches():
            answers[part] = np.einsum("ij,ij->i", S @ matrix, T)
            if self.universe.symmetric:
                both = S * T
                overlapping = np.flatnonzero(both.any(axis=1))
                inside = both[overlapping]
                twice = np.einsum("ij,ij->i", inside @ matrix, inside)
                answers[part.start + overlapping] -= twice / 2
        return answers

    def _batches(self) -> Iterator[tuple[slice, FloatMatrix, FloatMatrix]]:
        size = max(1, _BATCH_ENTRIES // max(self.universe.shape))
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            S, T = (
                BitSets(sets.n, sets.rows[part]).masks().astype(np.float64)
                for sets in (self._S, self._T)
            )
            yield part, S, T


def _pack_rows(masks: npt.NDArray[np.bool_]) -> Words:
    count, n = masks.shape
    packed = np.zeros((count, -(-n // 64) * 8), dtype=np.uint8)
    bits = np.packbits(masks, axis=1, bitorder="little")
    packed[:, : bits.shape[1]] = bits
    return packed.view(np.uint64)


def _matrix_of(graph: AnyGraph, weights: FloatVector) -> Any:
    """The matrix with these weights on the edges; sparse where that is faster."""
    rows, columns = graph.rows, graph.columns
    shape = graph.shape
    if isinstance(graph, Graph):
        rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        weights = np.concatenate([weights, weights])
    matrix = sp.csr_array((weights, (rows, columns)), shape=shape)
    # Reading the number of edges shows in the time taken only, as everywhere.
    if max(shape) <= MOST_DENSE_VERTICES and 16 * matrix.nnz > shape[0] * shape[1]:
        return matrix.toarray()
    return matrix
