"""Mechanisms that learn in rounds: what a run consists of, what it costs, and its release.

A mechanism in rounds measures a noisy total weight first, and spends the remaining budget on its
rounds. There are two: `construction.IterativeConstruction` and `game.PlayerGame`. Their `run`
returns an `Outcome`, from which `release_of_outcome` computes the release without any more noise.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import AnyGraph, graph_of_matrix_rows
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.accuracy import Accuracy
from graphcuts_dp.iterative.query_lists import CutList, QuestionList
from graphcuts_dp.iterative.release import IterativeRelease, MeasuredQuery, Settings
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.iterative.tuning import IterativeCalibration
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost, check_spent, compose
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.job import Job
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.synth.fit_weights import weights_of

_ROWS_AT_A_TIME = 512  # of the synthetic graph, when its edges are collected


@final
@dataclass(kw_only=True, eq=False)
class Outcome:
    """The state of a run between its rounds, and its result in the end. All of it is public.

    Attributes:
        hypothesis: the current one; it answers in units (see `RoundsMechanism.unit`).
        tuning: the numbers that the run uses.
        total_weight: the total weight that the run starts from, in units.
        total_error: largest error of that total weight, in units.
        transcript: the measured queries, in order.
        used: the number of rounds that were run.
        gap: noisy gap of the last round, in units.
        stopped: "accurate": a round had no gap above the threshold; "rounds": all were used.
        error: with probability 1 - beta no query of the distinguisher's class has a larger error,
            in units; None if the distinguisher proves nothing.
    """

    hypothesis: Any
    tuning: Any
    total_weight: float
    total_error: float
    transcript: list[MeasuredQuery] = field(default_factory=list)
    used: int = 0
    gap: float = 0.0
    stopped: str = "rounds"
    error: float | None = None


@dataclass(frozen=True, kw_only=True)
class RoundsMechanism(ABC):
    """A mechanism that learns in rounds, from a total weight that it measures first.

    Attributes:
        calibration: the budget, and how it is spent.
        grid: `Grid.of` the graph.
    """

    calibration: IterativeCalibration
    grid: Grid

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the construction in the settings of a release."""

    @property
    @abstractmethod
    def distinguisher_name(self) -> str:
        """The name, in the settings of a release, of the part that looks for queries."""

    @property
    @abstractmethod
    def universe(self) -> Universe:
        """The public vertex pairs."""

    @property
    @abstractmethod
    def listed(self) -> CutList | QuestionList | None:
        """The public list of queries; None if all cuts are searched, or if the list is hidden."""

    @abstractmethod
    def run(
        self, graph: AnyGraph, source: EntropySource, *, progress: Progress = silent
    ) -> Outcome:
        """Run on a private graph.

        Args:
            graph: over the universe and the grid.
            source: where the noise comes from.
            progress: called after each round.

        Raises:
            ParameterError: another graph, or a budget that allows nothing; nothing is drawn before
                the total weight.
        """

    @property
    def unit(self) -> float:
        """The weight of a unit: 1 in graphs without weights, else about the largest weight."""
        return self.grid.unit * self.grid.sensitivity

    @property
    def cost(self) -> Cost:
        """The cost of a run, whatever happens in it."""
        return self.calibration.cost

    @property
    def first_measurements(self) -> dict[str, int]:
        """The sensitivity in grid units of each statistic that is measured first, by its name."""
        return {"total weight": self.grid.sensitivity}

    @property
    def budget_plan(self) -> BudgetPlan:
        """The shares of the statistics that are measured first, and of the rounds."""
        return self.calibration.budget_plan(tuple(self.first_measurements))

    def check_spent(self, outcome: Outcome) -> None:
        """Refuse to release a run whose noise, by its scales, cost more than the stated budget.

        The noise of the rounds may cost less than the budget, depending on the measured total
        weight. Only the budget is fixed beforehand, so it is what the run is charged.
        """
        remaining, costs, delta = self.calibration, [], self.cost.delta
        for sensitivity in self.first_measurements.values():
            noise, _, _, remaining = remaining.split_budget(sensitivity)
            costs.append(noise.cost(sensitivity, delta=delta))
        costs_of_rounds = outcome.tuning.costs(self.grid.sensitivity, delta=delta)
        check_spent(compose(costs_of_rounds, delta=delta), remaining.cost)
        check_spent(compose([*costs, remaining.cost], delta=delta), self.cost)


def rounds_job(
    mechanism: RoundsMechanism,
    task: Task,
    parameters: dict[str, Any],
    calibration: str,
    public: str = "",
    warning: str | None = None,
) -> Job[IterativeRelease]:
    """Return the job of a run, whose cost is checked by the scales of the noise that was drawn.

    Args:
        mechanism: the mechanism that runs.
        task: the private data's schema, the queries and the budget.
        parameters: of the use, for the ledger.
        calibration: the name of the calibration in the settings of the release.
        public: public facts besides the vertices and the maximum weight, as text; "" for none.
        warning: why the result may be worthless, or None.
    """

    def measure(graph: AnyGraph, source: EntropySource, progress: Progress) -> Outcome:
        outcome = mechanism.run(graph, source, progress=progress)
        mechanism.check_spent(outcome)
        return outcome

    public_facts = ["the maximum weight"] if task.graph.weighted else []
    if public:
        public_facts.append(public)
    return task.job(
        kind="release-iteratively",
        parameters=parameters,
        plan=mechanism.budget_plan,
        public=", ".join(public_facts),
        measure=measure,
        release=partial(release_of_outcome, task, mechanism, calibration=calibration),
        warning=warning,
    )


def release_of_outcome(
    task: Task,
    mechanism: RoundsMechanism,
    outcome: Outcome,
    guarantee: PrivacyGuarantee,
    *,
    calibration: str = "practical",
) -> IterativeRelease:
    """Return the release of a run, computed from its outcome alone: post-processing.

    The synthetic graph has the learned weights, clipped to [0, maximum]. Its error is at most the
    error of the learned matrix plus the largest change of an answer by clipping.
    """
    universe, listed, cap = mechanism.universe, mechanism.listed, mechanism.grid.cap or 1.0
    hypothesis, error_in_units = outcome.hypothesis, outcome.error
    if isinstance(hypothesis, DatabaseFamily) and listed is not None:
        hypothesis, distance = nearest_graph(hypothesis, listed)
        error_in_units = None if error_in_units is None else error_in_units + distance
    matrix = hypothesis.dense() * mechanism.unit
    weights = weights_of(np.clip(matrix, 0, cap), cap)
    proven_class, error, graph_error = "none", None, None
    if error_in_units is not None:
        error = error_in_units * mechanism.unit + mechanism.grid.rounding(universe.size)
        if listed is None:
            proven_class, clipping_error = "disjoint", cut_norm(weights - matrix).upper
        else:
            error = (error + listed.rounding(mechanism.grid)) * listed.scale
            changes = np.abs(listed.on_matrix(weights - matrix))
            proven_class, clipping_error = "listed", float(changes.max()) * listed.scale
        graph_error = error + clipping_error
    rows = (
        weights[start : start + _ROWS_AT_A_TIME]
        for start in range(0, len(weights), _ROWS_AT_A_TIME)
    )
    note = "" if guarantee.is_private else SEEDED_WARNING
    return IterativeRelease(
        universe=universe,
        guarantee=guarantee,
        accuracy=Accuracy(
            error=error,
            confidence=task.confidence,
            queries=proven_class,
            graph_error=graph_error,
        ),
        settings=Settings(
            construction=mechanism.name,
            distinguisher=mechanism.distinguisher_name,
            calibration=calibration,
            rounds=outcome.tuning.rounds,
            used=outcome.used,
            stopped=outcome.stopped,
            total=outcome.total_weight * mechanism.unit,
            void_reason=outcome.tuning.void_reason,
        ),
        _graph=graph_of_matrix_rows(
            task.graph.space, rows, weighted=True, max_weight=cap, note=note
        ),
        hypothesis=DenseHypothesis(universe, matrix),
        transcript=tuple(outcome.transcript),
        cap=cap,
        listed=listed,
    )


def nearest_graph(
    median: DatabaseFamily, listed: CutList | QuestionList
) -> tuple[DenseHypothesis, float]:
    """Return the graph whose answers to a list are nearest to those of a median, and its distance.

    Every graph without weights is compared, and the true one is among them: if the median is within
    E of the truth on the whole list, then the nearest graph is within E of the median.

    Args:
        median: the hypothesis of `MedianLearner`.
        listed: the public list.

    Returns:
        The graph as a hypothesis, and its largest difference from the median on a query of the
        list.

    Source: DR14 Theorem 5.10, whose mechanism returns a database.
    """
    graphs = all_graphs(median.universe)
    distances = np.zeros(len(graphs))
    for query in listed:
        distances = np.maximum(distances, np.abs(graphs.answers(query) - median.estimate(query)))
    nearest = int(np.argmin(distances))
    graph = DatabaseFamily(median.universe, graphs.databases[nearest : nearest + 1])
    return DenseHypothesis(median.universe, graph.median_weights()), float(distances[nearest])
