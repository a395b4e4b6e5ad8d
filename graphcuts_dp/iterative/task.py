"""The task of an iterative release, and the job that carries it out.

A `Task` holds the schema of the private data, the public queries and the budget; a construction
makes an `IterativeJob` of it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast, final

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import GraphError, ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.rows import PrivateData, bounded_graph, paired_graph, without_rows
from graphcuts_dp.iterative.query_lists import CutList, QuestionList, as_list
from graphcuts_dp.iterative.release import IterativeRelease
from graphcuts_dp.learn.learners import MOST_DENSE_VERTICES
from graphcuts_dp.options import check_probability
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, change_of_one_pair
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.job import Job
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.packing import ResultParts, SavedParts


@final
class Task:
    """The schema of the data, the queries and the budget. Public: it holds no private row.

    Args:
        data: the private data, of which no row is kept.
        queries: the public list; None if there is none.
        epsilon: for the whole privacy unit, in [1e-6, 50].
        delta: for the whole privacy unit, in [0, 1).
        beta: probability that a stated error fails, in (0, 1).
        privacy_unit: the difference between neighbouring data.

    Attributes:
        data: the private data without any row.
        graph: the graph of the data, without any edge.

    Raises:
        ParameterError: a number out of range, weights without a public bound, or a privacy unit
            that the data cannot have.
        GraphError: no graph, or one without pairs.
    """

    def __init__(
        self,
        data: PrivateData,
        queries: Iterable[Question] | None = None,
        *,
        epsilon: float,
        delta: float = 0.0,
        beta: float = DEFAULT_FAILURE,
        privacy_unit: str | PrivacyUnit = "edge",
    ) -> None:
        check_probability("beta", beta)
        check_probability("delta", delta, zero=True)
        self.data: PrivateData = without_rows(data)
        self.graph: AnyGraph
        self.privacy_unit: PrivacyUnit
        self.graph, self.privacy_unit = paired_graph(self.data, privacy_unit, epsilon=epsilon)
        if not Universe.of(self.graph).size:
            raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
        if self.graph.weighted and self.graph.max_weight is None:
            raise ParameterError(
                "an iterative release of weights needs their public bound: pass max_weight= when "
                "the graph is read or made, or leave its weights out by weighted=False"
            )
        # A list of a class of the user's own is read as any other iterable, query by query.
        if queries is not None and type(queries) not in (CutList, QuestionList):
            if not isinstance(queries, Iterable):
                raise QueryError(f"queries are a list of queries, not {queries!r:.60}")
            queries = tuple(queries)
        self.queries: Sequence[Any] | None = cast("Sequence[Any] | None", queries)
        self.epsilon: float = epsilon
        self.delta: float = delta
        self.beta: float = beta

    @cached_property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return Universe.of(self.graph)

    @cached_property
    def grid(self) -> Grid:
        """The grid on which weights are counted."""
        return Grid.of(self.graph)

    @cached_property
    def listed(self) -> CutList | QuestionList | None:
        """The queries as a list; None if there are none."""
        return None if self.queries is None else as_list(self.universe, self.queries)

    @property
    def confidence(self) -> float:
        """The probability with which stated errors hold."""
        return 1 - self.beta

    @property
    def failure(self) -> float:
        """1 - `confidence`, rounded down: a bound that fails with it holds with `confidence`."""
        return math.nextafter(1 - self.confidence, 0)

    def check_size(self) -> None:
        """Refuse more vertices than a matrix of numbers is held for.

        Raises:
            ParameterError: there are more.
        """
        if max(self.universe.shape) > MOST_DENSE_VERTICES:
            raise ParameterError(
                "an iterative construction holds a number for each pair: up to"
                f" {MOST_DENSE_VERTICES} vertices; use release_graph"
            )

    def public_queries(self, mechanism: str) -> Sequence[Any]:
        """Return the queries.

        Args:
            mechanism: that needs them, in words for the message of the error.

        Raises:
            ParameterError: there are none.
        """
        if not self.queries:
            raise ParameterError(f"{mechanism} needs queries, a public list of at least one")
        return self.queries

    def job(
        self,
        *,
        kind: str,
        parameters: dict[str, Any],
        plan: BudgetPlan,
        public: str,
        measure: Callable[[Any, EntropySource, Progress], Any],
        release: Callable[[Any, PrivacyGuarantee], IterativeRelease],
        warning: str | None = None,
    ) -> "IterativeJob":
        """Return the job that measures and releases, with its cost and its guarantee.

        Args:
            kind: of the use, for the ledger.
            parameters: of the use, for the ledger.
            plan: the budget plan for one change; its cost follows from the scales of the noise.
            public: what is public besides the vertices and their pairs.
            measure: draws all noise: (bounded graph, noise, progress) -> measurements.
            release: (measurements, guarantee) -> result.
            warning: why the result will be worthless, or None.
        """
        epsilon, graph = as_stored(self.epsilon), self.graph
        cost_of_change = plan.cost
        cost = self.privacy_unit.cost(cost_of_change, epsilon=epsilon, delta=self.delta)
        guarantee_of_change = PrivacyGuarantee(
            epsilon=cost_of_change.epsilon,
            delta=cost_of_change.delta,
            neighbours=change_of_one_pair(
                weighted=graph.weighted,
                max_weight=graph.max_weight,
                directed=self.universe.directed,
            ),
            public=", ".join(filter(None, (self.universe.public, public))),
            budget_plan=plan.with_certain_runs(),
        )
        return IterativeJob(
            listed=None if self.listed is None else self.listed.arrays(),
            kind=kind,
            public=self.data,
            epsilon=epsilon,
            delta=self.delta,
            budget_plan=replace(plan, group_size=self.privacy_unit.group_size),
            guarantee=self.privacy_unit.guarantee(guarantee_of_change, cost),
            privacy_unit=self.privacy_unit,
            ledger_parameters=parameters,
            accuracy_warning=warning,
            measuring=measure,
            releasing=release,
        )


@final
@dataclass(frozen=True, kw_only=True)
class IterativeJob(Job[IterativeRelease]):
    """The job of an iterative release: its fields are what the methods of `Job` do and return.

    Attributes:
        listed: the public queries as arrays; None if there are none.
        privacy_unit: of the guarantee.
        ledger_parameters: see `Job.parameters`.
        accuracy_warning: see `Job.warning`.
        measuring: draws all noise: (bounded graph, noise, progress) -> measurements.
        releasing: (measurements, guarantee) -> result.
    """

    listed: Mapping[str, Any] | None
    privacy_unit: PrivacyUnit
    ledger_parameters: dict[str, Any]
    accuracy_warning: str | None
    measuring: Callable[[Any, EntropySource, Progress], Any]
    releasing: Callable[[Any, PrivacyGuarantee], IterativeRelease]

    @property
    def inputs(self) -> Sequence[Any]:
        """See `Job.inputs`."""
        return (self.listed,)

    def bound(self, data: PrivateData) -> AnyGraph:
        """See `Job.bound`."""
        return bounded_graph(data, self.privacy_unit)

    def measure(self, bounded: Any, source: EntropySource, progress: Progress = silent) -> Any:
        """See `Job.measure`."""
        return self.measuring(bounded, source, progress)

    def finish(
        self,
        measured: Any,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> IterativeRelease:
        """See `Job.finish`."""
        del source, progress
        return self.releasing(measured, guarantee)

    def parts(self, measured: Any, guarantee: PrivacyGuarantee) -> ResultParts:
        """See `Job.parts`."""
        return self.releasing(measured, guarantee).to_parts()

    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> IterativeRelease:
        """See `Job.completed`."""
        del completion, progress
        return IterativeRelease.from_saved(saved)

    @property
    def parameters(self) -> dict[str, Any]:
        """See `Job.parameters`."""
        return self.ledger_parameters

    @property
    def warning(self) -> str | None:
        """See `Job.warning`."""
        return self.accuracy_warning
