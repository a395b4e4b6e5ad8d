"""Public lists of queries: a long one of cuts, a shorter one of any linear queries and statistics.

Of cuts there may be a million: one bit for each vertex, answered in batches. Of others each is
divided by the largest coefficient.

Mechanisms that choose of a list score queries in integers. The score of a cut is its gap q(G) -
q(h) in sub-steps of the grid: the true answer is a whole number of steps, the hypothesis's answer
is rounded to a sub-step. One pair changes all true answers by at most `sensitivity` sub-steps, all
in the same direction, and the hypothesis's ones not at all.
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

EDGES = Grid()  # of graphs without weights
_SUBSTEPS = 1 << 20  # of an edge, in graphs without weights
_LARGEST = 1 << 60  # scores stay below, so that sums and differences fit into 64 bits
_LEAST_RATE = Fraction(1, 2**52)  # a sub-step


@final
@dataclass(frozen=True)
class Scoring:
    """Scores over a universe: a query counts twice, with its gap and with minus its gap.

    Args:
        universe: the public vertex pairs.
        grid: of the graph.

    Raises:
        ParameterError: weights that are too large for 64 bits.
    """

    universe: Universe
    grid: Grid

    def __post_init__(self) -> None:
        if self.universe.size * self.sensitivity >= _LARGEST:
            raise ParameterError(
                "sums of these weights do not fit into 64 bits; use fewer vertices"
            )

    @property
    def substeps(self) -> int:
        """Of a step of the grid."""
        return 1 if self.grid.weighted else _SUBSTEPS

    @property
    def sensitivity(self) -> int:
        """By how many sub-steps a score can differ between neighbours."""
        return self.grid.sensitivity * self.substeps

    @property
    def unit(self) -> float:
        """Weight of a sub-step."""
        return self.grid.unit / self.substeps

    def rate(self, epsilon: Fraction) -> Fraction:
        """c: choosing with probability proportional to e^(c score) is epsilon-DP.

        With neighbours' scores s and s' = s + d, the log-ratio of a probability is c d minus the
        logarithm of a mean of e^(c d): it lies within c (max d - min d) of 0, which is at most
        twice the sensitivity. The difference of two log-ratios has the same bound: the loss has
        range epsilon.

        Raises:
            ParameterError: an epsilon so small that scores would not matter.
        """
        found = epsilon / (2 * self.sensitivity)
        if found < _LEAST_RATE:
            raise ParameterError("epsilon is too small for a distinguisher; use fewer rounds")
        return found

    def rounded(self, answers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """A hypothesis's answers or entries in sub-steps; a function of public numbers."""
        whole = np.rint(np.asarray(answers, dtype=np.float64) / self.unit)
        return np.clip(whole, -_LARGEST, _LARGEST).astype(np.int64)


_BATCH_ENTRIES = 1 << 22  # floats of a batch: 32 MiB
_LIMB_BITS = 16  # sums of halves of weights stay below 2^53


class PublicList(Sequence[Any]):
    """An immutable list of queries over one universe.

    Attributes:
        universe: the public vertex pairs.
        asked: the queries as they were given.
        scale: what their coefficients are divided by in the list's own queries.
        signed: whether a coefficient is negative.
        statistics: whether there are statistics of whole graphs among them.
        disjoint: whether all are known to be cuts between disjoint sets.
    """

    universe: Universe
    asked: Sequence[Question]
    scale: float = 1.0
    signed = statistics = disjoint = False

    @abstractmethod
    def find(self, query: Any) -> int | None:
        """The first place of a query as it was given; None for one that is not in the list."""

    def rounding(self, grid: Grid) -> float:  # noqa: ARG002
        """By how much whole steps can move what is measured of the list's own, in weight.

        Args:
            grid: how weights are counted.
        """
        return 0.0

    def __contains__(self, query: object) -> bool:
        """Whether a query is in the list; (S, T) and (T, S) are one cut of an undirected graph."""
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
        universe: as given.
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
        """From truth vectors, shapes (k, n) each, or (k, n_left) and (k, n_right), k >= 1.

        Args:
            universe: the public vertex pairs.
            S: truth vectors of the first sides, shape (queries, rows).
            T: of the second sides, shape (queries, columns).

        Raises:
            ParameterError: other shapes.
        """
        if S.shape != (len(S), universe.shape[0]) or T.shape != (len(S), universe.shape[1]):
            raise ParameterError(f"truth vectors of cuts have lengths {universe.shape}")
        return cls.of_words(universe, _pack_rows(S), _pack_rows(T))

    @classmethod
    def of_words(cls, universe: Universe, S: Words, T: Words) -> "CutList":
        """From what `words` gives.

        Args:
            universe: the public vertex pairs.
            S: bits of the first sides in words of 64, one row for each query.
            T: of the second sides.

        Raises:
            ParameterError: arrays of another form.
        """
        if not len(S):
            raise ParameterError("give at least one query")
        for words, n in zip((S, T), universe.shape, strict=True):
            if words.dtype != np.uint64 or words.shape != (len(S), -(-n // 64)):
                raise ParameterError("these words are no cuts of the universe")
        made = cls.__new__(cls)
        made.universe, made.words = universe, (S, T)
        return made

    @property
    def asked(self) -> Sequence[CutQuery]:  # type: ignore[override]
        """The list itself."""
        return self

    @property
    def disjoint(self) -> bool:  # type: ignore[override]
        """Whether no cut has a vertex on both sides, or the universe is bipartite."""
        S, T = self.words
        return self.universe.bipartite or not (S & T).any()

    @cached_property
    def most_pairs(self) -> int:
        """How many pairs the cut of the list counts that counts most of them."""
        S, T, both = (
            np.bitwise_count(words).sum(axis=1, dtype=np.int64)
            for words in (*self.words, self.words[0] & self.words[1])
        )
        if self.universe.bipartite:
            return int((S * T).max())
        twice = both * (both - 1) // 2 if self.universe.symmetric else 0
        return int((S * T - both - twice).max())

    def find(self, query: Any) -> int | None:
        """See `PublicList.find`."""
        if not isinstance(query, CutQuery):
            return None
        given = [pack_bits(mask) for mask in self.universe.masks(query)]
        ways = [given, given[::-1]] if self.universe.symmetric else [given]
        found = np.zeros(len(self), dtype=np.bool_)
        for way in ways:
            same = [(words == one).all(axis=1) for words, one in zip(self.words, way, strict=True)]
            found |= same[0] & same[1]
        return int(found.argmax()) if found.any() else None

    def __len__(self) -> int:
        return len(self.words[0])

    def __getitem__(self, index: Any) -> Any:
        """A cut, or the list of a slice."""
        words = [side[index] for side in self.words]
        if isinstance(index, slice):
            return CutList.of_words(self.universe, *words)
        return CutQuery(*(masks[0] for masks in self._masks(side[None] for side in words)))

    def _masks(self, words: Iterable[Words]) -> tuple[npt.NDArray[np.bool_], ...]:
        """Truth vectors of S and of T."""
        return tuple(
            BitSets(n, side).masks() for n, side in zip(self.universe.shape, words, strict=True)
        )

    def public_query(self, listed_query: Any) -> tuple[Question, float]:
        """The query that was given for one of the list's own, and the factor between answers.

        Args:
            listed_query: one of the list's own, as `public_query` takes it.
        """
        return listed_query, 1.0

    def counted(self, listed_query: Any, graph: AnyGraph, grid: Grid) -> int:
        """The true answer of one of the list's own in steps of the grid. Private.

        Args:
            listed_query: one of the list's own, as `public_query` takes it.
            graph: the graph, on the vertices of the list. Private where it is a private one.
            grid: how weights are counted.
        """
        return grid.count(listed_query, graph)

    def arrays(self) -> dict[str, Any]:
        """What `of_arrays` reads."""
        return {"S": self.words[0], "T": self.words[1]}

    of_arrays = of_words

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
        """The true answers in sub-steps, exactly. Private.

        Args:
            graph: the graph, on the vertices of the list. Private where it is a private one.
            scoring: what is counted of each query.
        """
        return self.counts(graph, scoring.grid) * scoring.substeps

    def answers(self, hypothesis: Hypothesis) -> FloatVector:
        """A hypothesis's answers to the list's own, shape (len(self),).

        Args:
            hypothesis: a public approximation of the graph, over the universe of the list.
        """
        dense = getattr(hypothesis, "dense", None)
        if max(self.universe.shape) <= MOST_DENSE_VERTICES and dense is not None:
            return self.on_matrix(dense())
        return hypothesis.estimate_all(self)

    def on_matrix(self, matrix: Any) -> FloatVector:
        """Answers on a dense or sparse matrix over the universe, which is not checked.

        Args:
            matrix: a matrix over the universe.
        """
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
            S, T = self._masks(side[part] for side in self.words)
            yield part, S.astype(np.float64), T.astype(np.float64)


def _pack_rows(masks: npt.NDArray[np.bool_]) -> Words:
    bits = np.packbits(masks, axis=1, bitorder="little")
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view(np.uint64)


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


MOST_NUMBERS = 1 << 24  # queries times pairs: 128 MiB
_BITS = 30  # a coefficient of 1 has 2^30 steps


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


@final
class QuestionList(PublicList):
    """An immutable list of linear queries, and of statistics of whole graphs, over one universe.

    The list's own queries, which `len` counts and `[i]` gives, are divided by `scale`, so that one
    pair's weight moves the answer of each by no more than it changes itself. A statistic is counted
    in its steps (`GraphQuery.scaled_values`), which do not move more either.

    Args:
        universe: the public vertex pairs.
        questions: at least one; queries times pairs are at most 2^24.

    Attributes:
        universe: as given.
        asked: the questions as they were given.
        scale: the largest coefficient of all of them; 1 if there are statistics only.
        given_rows: their coefficients, shape (k, X); zero for a statistic. Read-only.
        rows: the same over `scale`. Read-only.

    Raises:
        ParameterError: no question, too many for so many pairs, or queries that are all 0.
        QueryError: one that does not fit the vertex sets.
    """

    def __init__(self, universe: Universe, questions: Iterable[Question]) -> None:
        self.universe = universe
        self.asked: tuple[Question, ...] = asked_of(questions, universe)
        if not self.asked:
            raise ParameterError("give at least one query")
        if len(self.asked) * universe.size > MOST_NUMBERS:
            raise ParameterError(
                f"a list of other queries than cuts holds at most {MOST_NUMBERS:,} coefficients:"
                " give fewer queries, or cuts alone"
            )
        self._counted = np.array([isinstance(each, GraphQuery) for each in self.asked])
        self.statistics: bool = bool(self._counted.any())
        rows = np.array([self._row(each) for each in self.asked])
        self.signed: bool = bool((rows < 0).any())
        largest = float(np.abs(rows).max(initial=0.0))
        if not largest and not self.statistics:
            raise ParameterError("all queries are constant: there is nothing to learn")
        self.scale: float = largest or 1.0
        self.given_rows: FloatMatrix = rows
        self.rows: FloatMatrix = rows / self.scale
        self.given_rows.flags.writeable = self.rows.flags.writeable = False
        self._steps: IntMatrix = np.rint(self.rows * 2.0**_BITS).astype(np.int64)
        self._own: tuple[Question, ...] = tuple(
            each if isinstance(each, GraphQuery) else RowQuery(universe, row)
            for each, row in zip(self.asked, self.rows, strict=True)
        )

    def __len__(self) -> int:
        return len(self.asked)

    def __getitem__(self, index: Any) -> Any:
        """One of the list's own, or the list of a slice."""
        if isinstance(index, slice):
            return QuestionList(self.universe, self.asked[index])
        return self._own[index]

    def arrays(self) -> dict[str, Any]:
        """What `of_arrays` reads."""
        names = [each.statistic if isinstance(each, GraphQuery) else "" for each in self.asked]
        return {"rows": self.given_rows, "statistics": np.array(names)}

    @classmethod
    def of_arrays(cls, universe: Universe, rows: FloatMatrix, statistics: Any) -> "QuestionList":
        """From what `arrays` gave."""
        matrix = np.zeros(universe.shape)
        asked: list[Question] = []
        for row, name in zip(rows, statistics.tolist(), strict=True):
            matrix[universe.pairs()] = row
            asked.append(GraphQuery(name) if name else MatrixQuery(matrix))
        return cls(universe, asked)

    def _row(self, asked: Any) -> FloatVector:
        """The coefficients of a question, shape (X,); zero for a statistic."""
        if isinstance(asked, GraphQuery):
            asked.check(self.universe.space)
            return np.zeros(self.universe.size)
        row: FloatVector = pair_coefficients(asked, self.universe.space)[self.universe.pairs()]
        return row

    def find(self, query: Any) -> int | None:
        """See `PublicList.find`: one with these coefficients."""
        if isinstance(query, GraphQuery):
            return self.asked.index(query) if query in self.asked else None
        try:
            found = (self.given_rows == self._row(query)).all(axis=1) & ~self._counted
        except QueryError:
            return None
        return int(found.argmax()) if found.any() else None

    def public_query(self, listed_query: Any) -> tuple[Question, float]:
        """See `CutList.public_query`."""
        asked = self.asked[self._own.index(listed_query)]
        if isinstance(asked, GraphQuery):
            return asked, float(asked.sensitivity(self.universe.space))
        return asked, self.scale

    def counted(self, listed_query: Any, graph: AnyGraph, grid: Grid) -> int:
        """The true answer of one of the list's own, to the nearest step of the grid. Private.

        One pair moves it by at most the grid's sensitivity: before rounding it moves by no more,
        and that is a whole number.
        """
        (fine,) = self._fine([self._own.index(listed_query)], graph, grid)
        return int((fine + (1 << _BITS - 1)) >> _BITS)

    def scored(self, graph: AnyGraph, scoring: Scoring) -> npt.NDArray[np.int64]:
        """The true answers of the list's own in sub-steps, rounded down. Private.

        One pair moves each by at most the scoring's sensitivity, up or down.
        """
        fine = self._fine(range(len(self)), graph, scoring.grid)
        return np.array([answer * scoring.substeps >> _BITS for answer in fine], dtype=np.int64)

    def _fine(self, places: Iterable[int], graph: AnyGraph, grid: Grid) -> list[int]:
        """True answers in 2^-30ths of a step of the grid, exactly, of coefficients in steps."""
        chosen = list(places)
        pairs = np.zeros(self.universe.shape, dtype=np.int64)
        weights = grid.edge_steps(graph)
        pairs[graph.rows, graph.columns] = 1 if weights is None else weights
        if self.universe.symmetric:
            pairs = np.maximum(pairs, pairs.T)
        answers = exact_sums(self._steps[chosen], pairs[self.universe.pairs()])
        for i, place in enumerate(chosen):
            asked = self.asked[place]
            if isinstance(asked, GraphQuery):
                steps = asked.value(graph) // asked.sensitivity(self.universe.space)
                answers[i] = steps << _BITS
        return answers

    def answers(self, hypothesis: Hypothesis) -> FloatVector:
        """A hypothesis's answers to the list's own, shape (len(self),).

        Raises:
            QueryError: a statistic of a hypothesis that has none.
        """
        dense = getattr(hypothesis, "dense", None)
        if not self.statistics and dense is not None:
            return self.on_matrix(dense())
        found: Any = [hypothesis.estimate(each) for each in self._own]  # type: ignore[arg-type]
        return np.array(found, dtype=np.float64)

    def on_matrix(self, matrix: Any) -> FloatVector:
        """Answers of the list's own on a matrix over the universe; 0 for a statistic."""
        found: FloatVector = self.rows @ np.asarray(matrix, dtype=np.float64)[self.universe.pairs()]
        return found

    def rounding(self, grid: Grid) -> float:
        """See `PublicList.rounding`."""
        return rounding_of(self.universe.size, grid)


def rounding_of(pairs: int, grid: Grid) -> float:
    """See `QuestionList.rounding`; of a list over so many pairs."""
    coefficients = Fraction(pairs, 1 << _BITS + 1)
    return float(coefficients) * (grid.cap or 1.0) * (1 + 1e-9) + 2 * grid.unit


def asked_of(questions: Iterable[Question], universe: Universe) -> tuple[Question, ...]:
    """Questions as they are read on the vertices of a universe.

    Privacy: a statistic comes back by its name alone, so that a subclass does not count it. Lists
    read the sets or coefficients of other queries once, from the vertices, and count by these.
    """
    return tuple(
        GraphQuery(question.statistic)
        if isinstance(question, GraphQuery)
        else with_sides(question, universe.space)
        for question in questions
    )


def as_list(universe: Universe, queries: Iterable[Question]) -> CutList | QuestionList:
    """A public list of queries.

    Raises:
        ParameterError: a list for other vertices, or an empty one.
        QueryError: a query that does not fit.
    """
    if type(queries) in (CutList, QuestionList):
        queries = cast("CutList | QuestionList", queries)
        if queries.universe != universe:
            raise ParameterError("the queries are for other vertices than the graph's")
        return queries
    given = asked_of(queries, universe)
    cuts = [each for each in given if isinstance(each, CutQuery)]
    return CutList(universe, cuts) if len(cuts) == len(given) else QuestionList(universe, given)
