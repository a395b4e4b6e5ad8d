"""Public lists of queries: `CutList` for up to a million cuts, `QuestionList` for any queries.

A `CutList` holds two bits for each vertex and cut, and is answered in batches. A `QuestionList`
holds the coefficients of linear queries, divided by the largest one, and names of statistics.

Mechanisms that choose from a list score queries in integers (`Scoring`). The score of a cut is its
gap q(G) - q(h) in sub-steps of the grid: the true answer is a whole number of grid units, the
hypothesis's answer is rounded to a sub-step. One pair changes all true answers by at most
`sensitivity` sub-steps, all in the same direction, and none of the hypothesis's answers.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, cast, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix
from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.learn.cut_sum import BitSets, Words, pack_bits
from graphcuts_dp.learn.learners import MOST_DENSE_VERTICES
from graphcuts_dp.queries.coefficients import exact_sums, pair_coefficients
from graphcuts_dp.queries.graph_queries import GraphQuery, Question
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, MatrixQuery
from graphcuts_dp.queries.mixed_cuts import with_sides
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.vertices import Space

EDGES = Grid()  # the grid of graphs without weights
MOST_NUMBERS = 1 << 24  # queries times pairs of a `QuestionList`: 128 MiB
_SUBSTEPS = 1 << 20  # of a grid unit in graphs without weights, which is an edge
_LARGEST_SCORE = 1 << 60  # scores stay below, so that sums and differences fit into 64 bits
_LEAST_RATE = Fraction(1, 2**52)  # of the exponential mechanism, for one sub-step
_BATCH_ENTRIES = 1 << 22  # floats of a batch of cuts: 32 MiB
_LIMB_BITS = 16  # weights are summed in parts of 16 bits, whose sums floats hold exactly
_COEFFICIENT_BITS = 30  # a coefficient of 1 is 2^30 in the integers of a `QuestionList`


@final
@dataclass(frozen=True)
class Scoring:
    """Scores over a universe: a query has two, its gap and minus its gap.

    Args:
        universe: the public vertex pairs.
        grid: of the graph.

    Raises:
        ParameterError: weights that are too large for 64 bits.
    """

    universe: Universe
    grid: Grid

    def __post_init__(self) -> None:
        if self.universe.size * self.sensitivity >= _LARGEST_SCORE:
            raise ParameterError(
                "sums of these weights do not fit into 64 bits; use fewer vertices"
            )

    @property
    def substeps(self) -> int:
        """The number of sub-steps of a grid unit."""
        return 1 if self.grid.weighted else _SUBSTEPS

    @property
    def sensitivity(self) -> int:
        """The largest difference of a score between neighbours, in sub-steps."""
        return self.grid.sensitivity * self.substeps

    @property
    def unit(self) -> float:
        """The weight of a sub-step."""
        return self.grid.unit / self.substeps

    def rate(self, epsilon: Fraction) -> Fraction:
        """Return c, such that a choice with probability proportional to e^(c score) is epsilon-DP.

        Let neighbours have the scores s and s + d, where d depends on the query and the sign. The
        log-ratio of the probabilities of one choice is c d, minus the logarithm of a mean of
        e^(c d) over all choices. So its absolute value is at most c (max d - min d). As |d| is at
        most the sensitivity, that is at most 2 c sensitivity = epsilon. The difference of two
        log-ratios has the same bound, so the range of the privacy loss is epsilon.

        Raises:
            ParameterError: an epsilon so small that scores would not matter.
        """
        rate = epsilon / (2 * self.sensitivity)
        if rate < _LEAST_RATE:
            raise ParameterError("epsilon is too small for a distinguisher; use fewer rounds")
        return rate

    def in_substeps(self, answers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return public answers or entries of a hypothesis in sub-steps, rounded."""
        substeps = np.rint(np.asarray(answers, dtype=np.float64) / self.unit)
        return np.clip(substeps, -_LARGEST_SCORE, _LARGEST_SCORE).astype(np.int64)


class PublicList(Sequence[Any]):
    """An immutable list of queries over one universe.

    The items of the list, the *listed queries*, are the public queries divided by `scale`.

    Attributes:
        universe: the public vertex pairs.
        public_queries: the queries that the list was made of.
        scale: the divisor of their coefficients.
        signed: whether a coefficient is negative.
        statistics: whether there are statistics of whole graphs among them.
        disjoint: whether all are known to be cuts between disjoint sets.
    """

    universe: Universe
    public_queries: Sequence[Question]
    scale: float = 1.0
    signed = statistics = disjoint = False

    @abstractmethod
    def find(self, query: Any) -> int | None:
        """Return the first index of a public query; None if it is not in the list."""

    def rounding(self, grid: Grid) -> float:  # noqa: ARG002
        """Return the largest change of a listed query's measurement by rounding, in weight.

        Args:
            grid: how weights are counted.
        """
        return 0.0

    def __contains__(self, query: object) -> bool:
        """Return whether a query is in the list; (S, T) and (T, S) are one cut if undirected."""
        return self.find(query) is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} queries, {self.universe!r})"


@final
class CutList(PublicList):
    """An immutable list of cut queries over one universe.

    Args:
        universe: the public vertex pairs.
        queries: cut queries, at least one; copied, n / 4 bytes each.

    Attributes:
        universe: the public vertex pairs.
        words: S and T of each cut as 64-bit words, shapes (k, ceil(n / 64)). Do not write to them.

    Raises:
        ParameterError: no query.
        QueryError: another query than a cut, or one that does not fit the vertex sets.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> import numpy as np
        >>> one = np.eye(34, dtype=bool)  # each vertex against all others
        >>> cuts = gc.CutList.of_masks(gc.plugins.Universe.of(club), one, ~one)
        >>> len(cuts)
        34
    """

    def __init__(self, universe: Universe, queries: Iterable[CutQuery]) -> None:
        masks = []
        for query in queries:
            if not isinstance(query, CutQuery):
                raise QueryError("a list of cuts holds CutQuery objects only")
            masks.append([pack_bits(mask) for mask in universe.masks(query)])
        if not masks:
            raise ParameterError("give at least one query")
        S, T = (np.stack(words) for words in zip(*masks, strict=True))
        self.universe: Universe = universe
        self.words: tuple[npt.NDArray[Any], npt.NDArray[Any]] = (S, T)

    @classmethod
    def of_masks(
        cls, universe: Universe, S: npt.NDArray[np.bool_], T: npt.NDArray[np.bool_]
    ) -> "CutList":
        """Return the list of cuts with these truth vectors.

        Args:
            universe: the public vertex pairs.
            S: truth vectors of the first sets, shape (queries, rows), at least one query.
            T: those of the second sets, shape (queries, columns).

        Raises:
            ParameterError: other shapes.
        """
        if S.shape != (len(S), universe.shape[0]) or T.shape != (len(S), universe.shape[1]):
            raise ParameterError(f"truth vectors of cuts have lengths {universe.shape}")
        return cls.of_words(universe, _pack_rows(S), _pack_rows(T))

    @classmethod
    def of_words(cls, universe: Universe, S: Words, T: Words) -> "CutList":
        """Return the list of cuts with these words; see the attribute `words`.

        Args:
            universe: the public vertex pairs.
            S: bits of the first sets in words of 64, one row for each query.
            T: those of the second sets.

        Raises:
            ParameterError: arrays of another form.
        """
        if not len(S):
            raise ParameterError("give at least one query")
        for words, n in zip((S, T), universe.shape, strict=True):
            if words.dtype != np.uint64 or words.shape != (len(S), -(-n // 64)):
                raise ParameterError("these words are no cuts of the universe")
        cuts = cls.__new__(cls)
        cuts.universe, cuts.words = universe, (S, T)
        return cuts

    @property
    def public_queries(self) -> Sequence[CutQuery]:  # type: ignore[override]
        """The list itself."""
        return self

    @property
    def disjoint(self) -> bool:  # type: ignore[override]
        """True if no cut has a vertex on both sides, or the universe is bipartite."""
        S, T = self.words
        return self.universe.bipartite or not (S & T).any()

    @cached_property
    def most_pairs(self) -> int:
        """The largest number of pairs that a cut of the list counts."""
        S, T = self.words
        ordered_pairs = _set_sizes(S) * _set_sizes(T)
        if self.universe.bipartite:
            return int(ordered_pairs.max())
        overlap = _set_sizes(S & T)
        counted_twice = overlap * (overlap - 1) // 2 if self.universe.symmetric else 0
        return int((ordered_pairs - overlap - counted_twice).max())

    def find(self, query: Any) -> int | None:
        """See `PublicList.find`."""
        if not isinstance(query, CutQuery):
            return None
        S, T = (pack_bits(mask) for mask in self.universe.masks(query))
        listed_S, listed_T = self.words
        matches = (listed_S == S).all(axis=1) & (listed_T == T).all(axis=1)
        if self.universe.symmetric:
            matches |= (listed_S == T).all(axis=1) & (listed_T == S).all(axis=1)
        return int(matches.argmax()) if matches.any() else None

    def __len__(self) -> int:
        return len(self.words[0])

    def __getitem__(self, index: Any) -> Any:
        """Return a cut, or the list of a slice."""
        words = [side[index] for side in self.words]
        if isinstance(index, slice):
            return CutList.of_words(self.universe, *words)
        (S,), (T,) = self._masks(side[None] for side in words)
        return CutQuery(S, T)

    def _masks(self, words: Iterable[Words]) -> tuple[npt.NDArray[np.bool_], ...]:
        """Return the truth vectors of S and of T."""
        return tuple(
            BitSets(n, side).masks() for n, side in zip(self.universe.shape, words, strict=True)
        )

    def public_query(self, listed_query: Any) -> tuple[Question, float]:
        """Return the public query of a listed query, and the factor between their answers.

        Args:
            listed_query: an item of the list.
        """
        return listed_query, 1.0

    def true_count(self, listed_query: Any, graph: AnyGraph, grid: Grid) -> int:
        """Return the true answer of a listed query in grid units. Private.

        Args:
            listed_query: an item of the list.
            graph: a graph on the vertices of the list; the answer is as private as the graph.
            grid: how weights are counted.
        """
        return grid.count(listed_query, graph)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that `of_arrays` reads."""
        return {"S": self.words[0], "T": self.words[1]}

    of_arrays = of_words

    def counts(self, graph: AnyGraph, grid: Grid) -> npt.NDArray[np.int64]:
        """Return the true answers in grid units, exactly. Private.

        Args:
            graph: over the universe, with a total of less than 2^62 grid units.
            grid: how weights are counted.
        """
        units = grid.steps(graph.weights) if graph.weighted else np.ones(len(graph.rows), np.int64)
        total = np.zeros(len(self), dtype=np.int64)
        # Products of 0/1 vectors and integers below 2^16 have integer sums below 2^53, which
        # floats hold exactly in whatever order they are added.
        for shift in range(0, int(units.max(initial=1)).bit_length(), _LIMB_BITS):
            limb = (units >> shift) & ((1 << _LIMB_BITS) - 1)
            answers = self.on_matrix(_matrix_of(graph, limb.astype(np.float64)))
            total += np.rint(answers).astype(np.int64) << shift
        return total

    def true_scores(self, graph: AnyGraph, scoring: Scoring) -> npt.NDArray[np.int64]:
        """Return the true answers in sub-steps, exactly. Private.

        Args:
            graph: a graph on the vertices of the list; the answer is as private as the graph.
            scoring: the sub-steps.
        """
        return self.counts(graph, scoring.grid) * scoring.substeps

    def answers(self, hypothesis: Hypothesis) -> FloatVector:
        """Return a hypothesis's answers to the listed queries, shape (len(self),).

        Args:
            hypothesis: a public approximation of the graph, over the universe of the list.
        """
        dense = getattr(hypothesis, "dense", None)
        if max(self.universe.shape) <= MOST_DENSE_VERTICES and dense is not None:
            return self.on_matrix(dense())
        return hypothesis.estimate_all(self)

    def on_matrix(self, matrix: Any) -> FloatVector:
        """Return the answers on a dense or sparse matrix, whose shape is not checked.

        Args:
            matrix: a matrix over the universe.
        """
        answers = np.empty(len(self))
        for batch, S, T in self._batches():
            answers[batch] = np.einsum("ij,ij->i", S @ matrix, T)
            if self.universe.symmetric:
                overlap = S * T
                overlapping = np.flatnonzero(overlap.any(axis=1))
                inside = overlap[overlapping]
                counted_twice = np.einsum("ij,ij->i", inside @ matrix, inside)
                answers[batch.start + overlapping] -= counted_twice / 2
        return answers

    def _batches(self) -> Iterator[tuple[slice, FloatMatrix, FloatMatrix]]:
        """Yield batches of cuts: their indices, and the truth vectors of S and of T as floats."""
        size = max(1, _BATCH_ENTRIES // max(self.universe.shape))
        for start in range(0, len(self), size):
            batch = slice(start, start + size)
            S, T = self._masks(side[batch] for side in self.words)
            yield batch, S.astype(np.float64), T.astype(np.float64)


@final
class QuestionList(PublicList):
    """An immutable list of questions: linear queries and statistics of whole graphs.

    Listed queries are divided by `scale`: if the weight of one pair changes by w, the answer of
    each changes by at most w. A statistic is divided by its sensitivity
    (`GraphQuery.scaled_values`), with the same effect.

    Args:
        universe: the public vertex pairs.
        questions: at least one; queries times pairs are at most 2^24.

    Attributes:
        universe: the public vertex pairs.
        public_queries: the questions, see `questions_on`.
        scale: the largest coefficient of all of them; 1 if there are statistics only.
        public_rows: their coefficients, shape (k, X); zero for a statistic. Read-only.
        rows: the coefficients of the listed queries: `public_rows` over `scale`. Read-only.

    Raises:
        ParameterError: no question, too many for so many pairs, or queries that are all 0.
        QueryError: one that does not fit the vertex sets.
    """

    def __init__(self, universe: Universe, questions: Iterable[Question]) -> None:
        self.universe = universe
        self.public_queries: tuple[Question, ...] = questions_on(universe, questions)
        if not self.public_queries:
            raise ParameterError("give at least one query")
        if len(self.public_queries) * universe.size > MOST_NUMBERS:
            raise ParameterError(
                f"a list of other queries than cuts holds at most {MOST_NUMBERS:,} coefficients:"
                " give fewer queries, or cuts alone"
            )
        self._are_statistics = np.array(
            [isinstance(question, GraphQuery) for question in self.public_queries]
        )
        self.statistics: bool = bool(self._are_statistics.any())
        rows = np.array([self._row(question) for question in self.public_queries])
        self.signed: bool = bool((rows < 0).any())
        largest = float(np.abs(rows).max(initial=0.0))
        if not largest and not self.statistics:
            raise ParameterError("all queries are constant: there is nothing to learn")
        self.scale: float = largest or 1.0
        self.public_rows: FloatMatrix = rows
        self.rows: FloatMatrix = rows / self.scale
        self.public_rows.flags.writeable = self.rows.flags.writeable = False
        self._integer_rows: IntMatrix = np.rint(self.rows * 2.0**_COEFFICIENT_BITS).astype(np.int64)
        self._listed_queries: tuple[Question, ...] = tuple(
            question if isinstance(question, GraphQuery) else RowQuery(universe, row)
            for question, row in zip(self.public_queries, self.rows, strict=True)
        )

    def __len__(self) -> int:
        return len(self.public_queries)

    def __getitem__(self, index: Any) -> Any:
        """Return a listed query, or the list of a slice."""
        if isinstance(index, slice):
            return QuestionList(self.universe, self.public_queries[index])
        return self._listed_queries[index]

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that `of_arrays` reads."""
        names = [
            question.statistic if isinstance(question, GraphQuery) else ""
            for question in self.public_queries
        ]
        return {"rows": self.public_rows, "statistics": np.array(names)}

    @classmethod
    def of_arrays(cls, universe: Universe, rows: FloatMatrix, statistics: Any) -> "QuestionList":
        """Return the list from the arrays that `arrays` returned."""
        matrix = np.zeros(universe.shape)
        questions: list[Question] = []
        for row, name in zip(rows, statistics.tolist(), strict=True):
            matrix[universe.pairs()] = row
            questions.append(GraphQuery(name) if name else MatrixQuery(matrix))
        return cls(universe, questions)

    def _row(self, question: Any) -> FloatVector:
        """Return the coefficients of a question, shape (X,); zero for a statistic."""
        if isinstance(question, GraphQuery):
            question.check(self.universe.space)
            return np.zeros(self.universe.size)
        row: FloatVector = pair_coefficients(question, self.universe.space)[self.universe.pairs()]
        return row

    def find(self, query: Any) -> int | None:
        """See `PublicList.find`; linear queries with the same coefficients are equal."""
        if isinstance(query, GraphQuery):
            return self.public_queries.index(query) if query in self.public_queries else None
        try:
            row = self._row(query)
        except QueryError:
            return None
        matches = (self.public_rows == row).all(axis=1) & ~self._are_statistics
        return int(matches.argmax()) if matches.any() else None

    def public_query(self, listed_query: Any) -> tuple[Question, float]:
        """See `CutList.public_query`."""
        question = self.public_queries[self._listed_queries.index(listed_query)]
        if isinstance(question, GraphQuery):
            return question, float(question.sensitivity(self.universe.space))
        return question, self.scale

    def true_count(self, listed_query: Any, graph: AnyGraph, grid: Grid) -> int:
        """Return the true answer of a listed query, to the nearest grid unit. Private.

        One pair changes it by at most the grid's sensitivity s: the exact answer changes by at most
        s, and rounding keeps that bound, because s is a whole number.
        """
        (exact,) = self._exact_answers([self._listed_queries.index(listed_query)], graph, grid)
        return int((exact + (1 << (_COEFFICIENT_BITS - 1))) >> _COEFFICIENT_BITS)

    def true_scores(self, graph: AnyGraph, scoring: Scoring) -> npt.NDArray[np.int64]:
        """Return the true answers of the listed queries in sub-steps, rounded down. Private.

        One pair moves each by at most the scoring's sensitivity, up or down.
        """
        exact = self._exact_answers(range(len(self)), graph, scoring.grid)
        return np.array(
            [answer * scoring.substeps >> _COEFFICIENT_BITS for answer in exact], dtype=np.int64
        )

    def _exact_answers(self, indices: Iterable[int], graph: AnyGraph, grid: Grid) -> list[int]:
        """Return exact answers of the integer rows at these indices, in 2^-30 grid units."""
        indices = list(indices)
        pairs = np.zeros(self.universe.shape, dtype=np.int64)
        weights = grid.edge_steps(graph)
        pairs[graph.rows, graph.columns] = 1 if weights is None else weights
        if self.universe.symmetric:
            pairs = np.maximum(pairs, pairs.T)
        answers = exact_sums(self._integer_rows[indices], pairs[self.universe.pairs()])
        for position, index in enumerate(indices):
            question = self.public_queries[index]
            if isinstance(question, GraphQuery):
                units = question.value(graph) // question.sensitivity(self.universe.space)
                answers[position] = units << _COEFFICIENT_BITS
        return answers

    def answers(self, hypothesis: Hypothesis) -> FloatVector:
        """Return a hypothesis's answers to the listed queries, shape (len(self),).

        Raises:
            QueryError: a statistic of a hypothesis that has none.
        """
        dense = getattr(hypothesis, "dense", None)
        if not self.statistics and dense is not None:
            return self.on_matrix(dense())
        answers: Any = [
            hypothesis.estimate(query)  # type: ignore[arg-type]
            for query in self._listed_queries
        ]
        return np.array(answers, dtype=np.float64)

    def on_matrix(self, matrix: Any) -> FloatVector:
        """Return the answers of listed queries on a matrix over the universe; 0 for a statistic."""
        entries = np.asarray(matrix, dtype=np.float64)[self.universe.pairs()]
        answers: FloatVector = self.rows @ entries
        return answers

    def rounding(self, grid: Grid) -> float:
        """See `PublicList.rounding`."""
        return rounding_of(self.universe.size, grid)


@final
class RowQuery(LinearQuery):
    """A linear query of a list, its coefficients divided by the largest one of the list.

    Args:
        universe: the public vertex pairs.
        row: a coefficient in [-1, 1] for each pair, in the order of `Universe.pairs`.
    """

    def __init__(self, universe: Universe, row: FloatVector) -> None:
        self._universe = universe
        self._row = row

    def __repr__(self) -> str:
        return "RowQuery()"

    def coefficients(self, space: Space) -> FloatMatrix:
        """See `LinearQuery.coefficients`.

        Raises:
            QueryError: other vertex sets.
        """
        if space != self._universe.space:
            raise QueryError("this query was made for other vertex sets")
        return self._universe.matrix_of(self._row)


def as_list(universe: Universe, queries: Iterable[Question]) -> CutList | QuestionList:
    """Return queries as a public list; a list is returned as it is.

    Raises:
        ParameterError: a list for other vertices, or an empty one.
        QueryError: a query that does not fit.
    """
    if type(queries) in (CutList, QuestionList):
        queries = cast("CutList | QuestionList", queries)
        if queries.universe != universe:
            raise ParameterError("the queries are for other vertices than the graph's")
        return queries
    questions = questions_on(universe, queries)
    cuts = [question for question in questions if isinstance(question, CutQuery)]
    if len(cuts) == len(questions):
        return CutList(universe, cuts)
    return QuestionList(universe, questions)


def questions_on(universe: Universe, questions: Iterable[Question]) -> tuple[Question, ...]:
    """Return questions as they are read on the vertices of a universe.

    Privacy: a statistic of a user's subclass is replaced by the one of this package with its name.
    The sets or coefficients of other queries are read once, from the public vertices. So no method
    of a user sees the private graph.
    """
    return tuple(
        GraphQuery(question.statistic)
        if isinstance(question, GraphQuery)
        else with_sides(question, universe.space)
        for question in questions
    )


def rounding_of(pairs: int, grid: Grid) -> float:
    """Return `QuestionList.rounding` of a list over so many pairs.

    A coefficient is rounded by at most half a unit of 2^-30; the weights and the sum are rounded by
    at most a grid unit each.
    """
    coefficient_errors = Fraction(pairs, 1 << (_COEFFICIENT_BITS + 1))
    return float(coefficient_errors) * (grid.cap or 1.0) * (1 + 1e-9) + 2 * grid.unit


def _set_sizes(words: Words) -> npt.NDArray[np.int64]:
    """Return the number of vertices of each set, from sets as 64-bit words, one row for each."""
    sizes: npt.NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return sizes


def _pack_rows(masks: npt.NDArray[np.bool_]) -> Words:
    """Return truth vectors as 64-bit words, one row for each; see `CutList.words`."""
    bits = np.packbits(masks, axis=1, bitorder="little")
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view(np.uint64)


def _matrix_of(graph: AnyGraph, weights: FloatVector) -> Any:
    """Return the matrix with these weights on the edges; sparse if that is faster."""
    rows, columns = graph.rows, graph.columns
    shape = graph.shape
    if isinstance(graph, Graph):
        rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        weights = np.concatenate([weights, weights])
    matrix = sp.csr_array((weights, (rows, columns)), shape=shape)
    # The choice depends on the private number of edges, which changes nothing but the time taken.
    if max(shape) <= MOST_DENSE_VERTICES and 16 * matrix.nnz > shape[0] * shape[1]:
        return matrix.toarray()
    return matrix
