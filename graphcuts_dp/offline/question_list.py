"""A public list of linear queries and statistics, each divided by the largest coefficient."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, final, overload

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix
from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.offline.cut_list import MatrixHypothesis
from graphcuts_dp.offline.scoring import Scoring
from graphcuts_dp.pairs.graph_queries import GraphQuery, Question
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.linear_steps import exact_sums, pair_coefficients
from graphcuts_dp.pairs.mixed_cuts import understood
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import Space

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
        matrix = np.zeros(self._universe.shape)
        matrix[self._universe.pairs()] = self._row
        return matrix + matrix.T if self._universe.symmetric else matrix


@final
class QuestionList(Sequence[Question]):
    """An immutable list of linear queries, and of statistics of whole graphs, over one universe.

    The list's own queries, which `len` counts and `[i]` gives, are divided by `scale`, so that one
    pair's weight moves the answer of each by no more than it changes itself. A statistic is counted
    in its steps (`GraphQuery.steps`), which do not move more either.

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
        self.asked: tuple[Question, ...] = tuple(
            each if isinstance(each, GraphQuery) else understood(each, universe.space)
            for each in questions
        )
        if not self.asked:
            raise ParameterError("give at least one query")
        if len(self.asked) * universe.size > MOST_NUMBERS:
            raise ParameterError(
                f"a list of other queries than cuts holds at most {MOST_NUMBERS:,} coefficients:"
                " give fewer queries, or cuts alone"
            )
        pairs = universe.pairs()
        rows = np.zeros((len(self.asked), universe.size))
        for row, each in zip(rows, self.asked, strict=True):
            if isinstance(each, GraphQuery):
                each.check(universe.space)
            else:
                row[:] = pair_coefficients(each, universe.space)[pairs]
        largest = float(np.abs(rows).max(initial=0.0))
        if not largest and not self.statistics:
            raise ParameterError("all queries are constant: there is nothing to learn")
        self.scale = largest or 1.0
        self.given_rows: FloatMatrix = rows
        self.rows: FloatMatrix = rows / self.scale
        self.given_rows.flags.writeable = self.rows.flags.writeable = False
        self._steps: IntMatrix = np.rint(self.rows * 2.0**_BITS).astype(np.int64)
        self._own: tuple[Question, ...] = tuple(
            each if isinstance(each, GraphQuery) else RowQuery(universe, row)
            for each, row in zip(self.asked, self.rows, strict=True)
        )
        self._places = {id(each): place for place, each in enumerate(self._own)}

    @property
    def statistics(self) -> bool:
        """Whether there are statistics among the questions."""
        return any(isinstance(each, GraphQuery) for each in self.asked)

    @property
    def signed(self) -> bool:
        """Whether a coefficient is negative."""
        return bool((self.rows < 0).any())

    disjoint = False  # never: nothing is assumed of the queries

    def __len__(self) -> int:
        return len(self.asked)

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> "QuestionList": ...
    def __getitem__(self, index: int | slice) -> "Question | QuestionList":
        if isinstance(index, slice):
            return QuestionList(self.universe, self.asked[index])
        return self._own[index]

    def __contains__(self, query: object) -> bool:
        """Whether a question is in the list as it was given: with these coefficients."""
        if isinstance(query, GraphQuery):
            return query in [each for each in self.asked if isinstance(each, GraphQuery)]
        try:
            row = pair_coefficients(query, self.universe.space)[self.universe.pairs()]  # type: ignore[arg-type]
        except QueryError:
            return False
        linear = np.array([not isinstance(each, GraphQuery) for each in self.asked])
        return bool((self.given_rows[linear] == row).all(axis=1).any())

    def __repr__(self) -> str:
        return f"QuestionList({len(self)} questions, {self.universe!r})"

    def given(self, own: Question) -> tuple[Question, float]:
        """The question that was given for one of the list's own, and the factor between answers."""
        place = self._places[id(own)]
        asked = self.asked[place]
        if isinstance(asked, GraphQuery):
            return asked, float(asked.sensitivity(self.universe.space))
        return asked, self.scale

    def place(self, asked: Question) -> int:
        """Where one of `asked` stands."""
        return next(place for place, each in enumerate(self.asked) if each is asked)

    def counted(self, own: Question, graph: AnyGraph, grid: Grid) -> int:
        """The true answer of one of the list's own, to the nearest step of the grid. Private.

        One pair moves it by at most the grid's sensitivity: before rounding it moves by no more,
        and that is a whole number.
        """
        (fine,) = self._fine([self._places[id(own)]], graph, grid)
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
        if not self.statistics and isinstance(hypothesis, MatrixHypothesis):
            return self.on_matrix(hypothesis.dense())
        found: Any = [hypothesis.estimate(each) for each in self._own]  # type: ignore[arg-type]
        return np.array(found, dtype=np.float64)

    def on_matrix(self, matrix: Any) -> FloatVector:
        """Answers of the list's own on a matrix over the universe; 0 for a statistic."""
        found: FloatVector = self.rows @ np.asarray(matrix, dtype=np.float64)[self.universe.pairs()]
        return found

    def rounding(self, grid: Grid) -> float:
        """By how much whole steps can move what is measured of the list's own, in weight."""
        return rounding_of(self.universe.size, grid)


def rounding_of(pairs: int, grid: Grid) -> float:
    """See `QuestionList.rounding`; of a list over so many pairs."""
    coefficients = Fraction(pairs, 1 << _BITS + 1)
    return float(coefficients) * (grid.cap or 1.0) * (1 + 1e-9) + 2 * grid.unit
