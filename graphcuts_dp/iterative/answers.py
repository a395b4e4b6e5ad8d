"""Answers to a few cuts at once, with K-norm or independent noise, and no other result."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from graphcuts_dp.arrays import IntMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.iterative.accuracy import Accuracy, CountNoise
from graphcuts_dp.iterative.query_lists import CutList
from graphcuts_dp.iterative.release import TABLE, IterativeRelease, MeasuredQuery, Settings
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.k_norm import MOST_COUNTS, NORMS, KNormNoise
from graphcuts_dp.release.job import Job

MOST_ANSWERS = 1000
_COARSER = 1 << 20  # grid units in a unit of answers, of which the largest weight has about 2^10


@final
@dataclass(frozen=True, kw_only=True)
class Answers:
    """Answer 1 to 1000 cuts at once, purely privately, and nothing else.

    Attributes:
        noise: "k-norm" (at most 6 cuts): noise in the shape of the changes of all answers that one
            pair can cause; "laplace": independent noise, scaled to the largest number of cuts that
            contain one pair; "auto": the one that guarantees shorter intervals.

    Raises:
        ParameterError: an unknown noise, or too many cuts for it.
        QueryError: a query that is no cut of the graph.

    Guarantee: epsilon-DP at edge level. One pair changes the counts by its column of the matrix of
        queries, times at most `Grid.sensitivity` grid units; `KNormNoise` is epsilon-DP for such a
        change. Columns and noise are computed from the vertices and the queries alone.

    Source: Hardt, Talwar 2010; GRU12, Table 1 (the K-norm mechanism).
    """

    noise: str = "auto"
    files: ClassVar[str] = TABLE

    def job(self, task: Task) -> Job[IterativeRelease]:
        """Return the job that draws the noise of all counts at once.

        Args:
            task: the private data's schema, the queries and the budget.
        """
        queries = task.public_queries("a list of answers")
        listed = queries if isinstance(queries, CutList) else CutList(task.universe, queries)
        if listed.universe != task.universe:
            raise ParameterError("the queries are for other vertices than the graph's")
        if len(listed) > MOST_ANSWERS:
            raise ParameterError(
                f"at most {MOST_ANSWERS} cuts are answered at once; use release_graph"
            )
        laws = self.laws(task, listed)
        name = min(laws, key=lambda name: laws[name].error(task.failure))
        law = laws[name]
        accuracy = Accuracy(
            error=law.error(task.failure), confidence=task.confidence, queries="measured"
        )
        return task.job(
            kind="answers",
            parameters={"queries": len(listed), "noise": name},
            plan=BudgetPlan.of_one("counts", name, law.noise.cost(law.grid.sensitivity)),
            public="the queries",
            measure=lambda graph, source, _: law.measure(listed, graph, source),
            release=lambda values, guarantee: IterativeRelease(
                universe=task.universe,
                guarantee=guarantee,
                accuracy=accuracy,
                settings=Settings(construction=name, distinguisher="every query"),
                transcript=tuple(
                    MeasuredQuery(round=1, query=index, value=value, updated=False)
                    for index, value in enumerate(values)
                ),
                cap=law.grid.cap or 1.0,
                listed=listed,
                law=law,
            ),
        )

    def laws(self, task: Task, listed: CutList) -> dict[str, CountNoise]:
        """Return the distributions of noise that may be drawn, by name."""
        grid = task.grid
        if grid.weighted:
            sensitivity = -(-grid.sensitivity // _COARSER)  # rounded up
            grid = replace(grid, unit=grid.unit * _COARSER, sensitivity=sensitivity)
        rate = Fraction(task.privacy_unit.per_change(task.epsilon)) / grid.sensitivity
        columns = pair_columns(listed)
        names: tuple[str, ...] = (self.noise,)
        if self.noise == "auto":
            names = tuple(NORMS) if len(listed) <= MOST_COUNTS else ("laplace",)
        return {
            name: CountNoise(noise=KNormNoise.of_columns(columns, rate, norm=name), grid=grid)
            for name in names
        }


def pair_columns(queries: CutList) -> IntMatrix:
    """Return the possible columns of the matrix of queries: which cuts contain a pair.

    Vertices that are in the same sets of the list are of one kind, and pairs of the same two kinds
    have the same column. A kind with one vertex has no pair of two such vertices; the column for
    such a pair is listed, too, which does no harm.

    Returns:
        The different columns, shape (columns, queries), entries 0 and 1.
    """
    masks = [queries.universe.masks(query) for query in queries]
    S, T = (np.array(side) for side in zip(*masks, strict=True))
    symmetric, k = queries.universe.symmetric, len(queries)
    left_kinds = np.unique(np.concatenate([S, T]).T if symmetric else S.T, axis=0)
    right_kinds = left_kinds if symmetric else np.unique(T.T, axis=0)
    columns: set[bytes] = set()
    for kind in left_kinds:
        cuts = kind & right_kinds
        if symmetric:  # one vertex in S and the other in T, either way round
            cuts = (kind[:k] & right_kinds[:, k:]) | (kind[k:] & right_kinds[:, :k])
        columns |= {column.tobytes() for column in np.unique(cuts, axis=0)}
    arrays = [np.frombuffer(column, dtype=np.bool_) for column in sorted(columns)]
    return np.array(arrays).astype(np.int64)
