"""The measurements of a release of a graph: all noise is drawn here, and all of epsilon is spent.

`measure` executes a budget plan. `statistics` has the classes of the statistics that a plan names.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import ClassVar, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.base import Measurement
from graphcuts_dp.estimate.mean_square import FittedWeights
from graphcuts_dp.estimate.measurement import (
    CellSums,
    Classes,
    CountMeasurement,
    Degrees,
    EdgeCounts,
    Measurements,
    Total,
)
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.usable_sums import with_fresh_sums
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.cells import measure_refinable_groups
from graphcuts_dp.measure.edge_counts import measure_edge_counts
from graphcuts_dp.measure.entries import measure_kept_edges, randomized_response
from graphcuts_dp.measure.mean_square import measure_squared_distance
from graphcuts_dp.measure.statistics import (
    Refinable,
    measure_refinable_degrees,
    measure_refinable_total,
    measure_weight_counts,
)
from graphcuts_dp.measure.structure_test import measure_structure, measure_unevenness
from graphcuts_dp.privacy.budget_plan import BudgetPlan, PlanExecution
from graphcuts_dp.privacy.composition import rounded_up, stated_cost
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.synth.budget_plans import (
    DEGREES,
    EDGES,
    ENTRIES,
    FINE_WEIGHTS,
    GROUPS,
    KEPT_EDGES,
    SECOND_GROUPS,
    SQUARED_DISTANCE,
    STRUCTURE,
    TOTAL,
    UNEVENNESS,
    WEIGHTS,
)
from graphcuts_dp.synth.decisions import Decisions

# Classes of weight are made for Laplace noise of some epsilon: the first one ends at 1/(4 epsilon),
# in units of the maximum weight, or of 1 without a maximum. This is that epsilon.
_EPSILON_OF_FINE_CLASSES, _EPSILON_WITHOUT_MAXIMUM = 50.0, 1.0


@final
@dataclass(frozen=True, kw_only=True)
class MeasurementSetting:
    """The setting in which a step measures its statistic.

    Attributes:
        epsilon: privacy parameter of the statistic, exact; earlier steps for it are included.
        largest_epsilon: to which later steps may refine it.
        name: of the measurement.
        decisions: the earlier measurements, and what follows from them.
        source: where the noise comes from.
    """

    epsilon: Fraction
    largest_epsilon: Fraction
    name: str
    decisions: Decisions
    source: EntropySource


class GraphStatistic(ABC):
    """A statistic of one private graph, measured once, or once and refined.

    Args:
        graph: private.
        noise: name of the distribution of noise of the entries.
        distribution: that noise of a pair if all of epsilon went to the entries; weights are
            rounded down to its grid.
    """

    name: ClassVar[str]

    def __init__(self, graph: AnyGraph, noise: str, distribution: NoiseDistribution) -> None:
        self.graph: AnyGraph = graph
        self.noise: str = noise
        self.distribution: NoiseDistribution = distribution

    @abstractmethod
    def measure(self, setting: MeasurementSetting) -> Measurement:
        """Measure the statistic, or refine its earlier measurement.

        Args:
            setting: of the step.

        Guarantee: `setting.epsilon`-DP, for all measurements of this statistic of the graph
            together, and for neighbours that differ in one pair.
        """


@final
class EntriesStatistic(GraphStatistic):
    """A noisy value of every pair: see `randomized_response`."""

    name = ENTRIES

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        distribution = noise_distribution(
            self.noise, epsilon=setting.epsilon, max_weight=self.distribution.max_weight
        )
        return randomized_response(self.graph, distribution, setting.source)


@final
class TotalStatistic(GraphStatistic):
    """The sum of the matrix, which later steps may refine: see `measure_refinable_total`."""

    name = TOTAL
    _refinable: Refinable[Total] | None = None

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        if self._refinable is None:
            self._refinable = measure_refinable_total(
                self.graph, self.distribution, epsilon=setting.epsilon, source=setting.source
            )
        else:
            self._refinable = self._refinable.refined(
                setting.epsilon, setting.source, name=setting.name
            )
        return self._refinable.measurement


@final
class DegreesStatistic(GraphStatistic):
    """All degrees, which later steps may refine: see `measure_refinable_degrees`."""

    name = DEGREES
    _refinable: Refinable[Degrees] | None = None

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        if self._refinable is None:
            self._refinable = measure_refinable_degrees(
                self.graph,
                self.distribution,
                epsilon=setting.epsilon,
                source=setting.source,
                name=setting.name,
                # Degrees of weights without a maximum, too: only sparse plans measure those.
                without_maximum=True,  # only sparse plans have degrees without a maximum weight
            )
        else:
            self._refinable = self._refinable.refined(
                setting.epsilon, setting.source, name=setting.name
            )
        return self._refinable.measurement


class GroupsStatistic(GraphStatistic):
    """Sums between public groups, or groups from noisy data: see `measure_refinable_groups`."""

    name = GROUPS
    _refinable: Refinable[CellSums] | None = None

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        if self._refinable is None:
            sides = setting.decisions.sides
            if sides is None:
                raise ParameterError("there are no groups to measure")
            self._refinable = measure_refinable_groups(
                self.graph,
                sides,
                epsilon=setting.epsilon,
                most=setting.largest_epsilon,
                whole=self.distribution.name == "discrete-laplace",
                name=setting.name,
                source=setting.source,
            )
        else:
            self._refinable = self._refinable.refined(
                setting.epsilon, setting.source, name=setting.name
            )
        return self._refinable.measurement


@final
class SecondGroupsStatistic(GroupsStatistic):
    """The same sums between public groups again, with noise that no decision reads."""

    name = SECOND_GROUPS


@final
class WeightsStatistic(GraphStatistic):
    """The number of edges in each class of weight: see `measure_weight_counts`."""

    name = WEIGHTS

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        return measure_weight_counts(
            self.graph,
            laplace_of(self.distribution),
            epsilon=setting.epsilon,
            source=setting.source,
        )


@final
class FineWeightsStatistic(GraphStatistic):
    """The number of edges in classes of weight that halve from the largest weight down.

    The noise of a count does not depend on the classes, so they need not be those of the noise of
    entries; the first ends at a 200th of the largest weight. Without a maximum they begin at 1/4.
    See `measure_weight_counts`.
    """

    name = FINE_WEIGHTS

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        max_weight = self.distribution.max_weight
        name = "discrete-laplace" if self.noise == "discrete-laplace" else "laplace"
        epsilon = _EPSILON_WITHOUT_MAXIMUM if max_weight is None else _EPSILON_OF_FINE_CLASSES
        classes = noise_distribution(name, epsilon=epsilon, max_weight=max_weight)
        counts = measure_weight_counts(
            self.graph, laplace_of(classes), epsilon=setting.epsilon, source=setting.source
        )
        return replace(counts, name=setting.name)


@final
class EdgesStatistic(GraphStatistic):
    """The numbers of edges and of fractional weights: see `measure_edge_counts`."""

    name = EDGES

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        return measure_edge_counts(self.graph, epsilon=setting.epsilon, source=setting.source)


@final
class KeptEdgesStatistic(GraphStatistic):
    """Pairs whose noisy weight reaches a threshold: see `measure_kept_edges`."""

    name = KEPT_EDGES

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        distribution = sparse_distribution(self.graph, self.noise, setting.epsilon)
        return measure_kept_edges(
            self.graph,
            distribution,
            threshold=setting.decisions.threshold(distribution),
            source=setting.source,
        )


@final
class UnevennessStatistic(GraphStatistic):
    """The distance of degrees from their median: see `measure_unevenness`."""

    name = UNEVENNESS

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        return measure_unevenness(self.graph, epsilon=setting.epsilon, source=setting.source)


@final
class StructureStatistic(GraphStatistic):
    """The value of the structure test: see `measure_structure`."""

    name = STRUCTURE

    def measure(self, setting: MeasurementSetting) -> Measurement:
        """See `GraphStatistic.measure`."""
        return measure_structure(
            self.graph,
            setting.decisions.test_setting(),
            epsilon=setting.epsilon,
            source=setting.source,
        )


@cache
def statistics() -> Mapping[str, type[GraphStatistic]]:
    """Return the statistics that a budget plan can name, by name."""
    return {
        statistic.name: statistic
        for statistic in (
            EntriesStatistic,
            TotalStatistic,
            DegreesStatistic,
            GroupsStatistic,
            SecondGroupsStatistic,
            WeightsStatistic,
            FineWeightsStatistic,
            EdgesStatistic,
            KeptEdgesStatistic,
            UnevennessStatistic,
            StructureStatistic,
        )
    }


def measure(
    graph: AnyGraph,
    plan: BudgetPlan,
    decisions: Decisions,
    *,
    noise: str,
    distribution: NoiseDistribution,
    guarantee: PrivacyGuarantee,
    source: EntropySource,
    progress: Progress = silent,
) -> Measurements:
    """Draw all noise of a release before its fit, step by step as its budget plan says.

    A reserved step is for `measure_fit`, after the fit.

    Args:
        graph: private.
        plan: how epsilon is spent.
        decisions: they read earlier measurements, and say whether the conditions of steps are met.
        noise: name of the distribution of the entries.
        distribution: of the noise of a pair with all of epsilon.
        guarantee: of everything together.
        source: where the noise comes from.
        progress: called with the fraction done and a message.

    Returns:
        The measurements in the order of measuring, with the guarantee, whose plan has the steps
        that ran. Each measurement records whether a decision has read it, or a coarser one that it
        refines.

    Raises:
        BudgetError: the noise, by its scales, costs more than the plan states.

    Privacy:
        (plan.amount)-DP. A step with amount epsilon_k is epsilon_k-DP (`GraphStatistic.measure`),
        the amounts are exact fractions whose sum is at most the amount of the plan
        (`PlanExecution`), and whether a step runs, its share and its threshold depend on public
        numbers and on the results of earlier steps alone (`Decisions` reads nothing else):
        sequential composition, which holds for adaptive choices. Neighbours are the same for all
        steps. Source: DR14 Theorem 3.16.
        A refinement replaces the coarse measurement, and both together cost as much as the refined
        one (proof: `RefinableLaplace`). So the result costs at most the amount on every branch; a
        store is charged with it before any noise is drawn. Which numbers decisions have read
        follows from released numbers, and fresh numbers are computed from these with new random
        bits (`with_fresh_sums`): post-processing.
    """
    execution = PlanExecution(plan)
    measured_statistics: dict[str, GraphStatistic] = {}
    for index, step in enumerate(plan.steps):
        if step.reserved or not decisions.are_met(step):
            continue
        epsilon = execution.take(step, decisions.share(step))
        if epsilon is None:
            continue
        progress(0.6 * index / len(plan.steps), f"measuring {step.label}")
        if step.statistic not in measured_statistics:
            statistic_class = statistics()[step.statistic]
            measured_statistics[step.statistic] = statistic_class(graph, noise, distribution)
        later = [other for other in plan.steps[index:] if other.statistic == step.statistic]
        largest_share = max(
            share for other in later if decisions.may_be_met(other) for share in other.shares
        )
        setting = MeasurementSetting(
            epsilon=epsilon,
            largest_epsilon=max(epsilon, execution.available(step.statistic) * largest_share),
            name=step.label,
            decisions=decisions,
            source=source,
        )
        measurement = measured_statistics[step.statistic].measure(setting)
        decisions.record(step.statistic, measurement)
    check_amounts(execution.plan, decisions.measured)
    values = tuple(
        _after_decisions(decisions, statistic, measurement, source)
        for statistic, measurement in decisions.measured.items()
    )
    return Measurements(values, replace(guarantee, budget_plan=execution.plan))


def measure_fit(
    graph: AnyGraph, measured: Measurements, fitted: FittedWeights, source: EntropySource
) -> Measurements:
    """Draw the noise of the last step of a release, the squared distance of its fit.

    Args:
        graph: private.
        measured: all earlier measurements; their plan has the steps that ran.
        fitted: the fit, computed from these measurements alone.
        source: where the noise comes from.

    Returns:
        All measurements, with the guarantee, whose plan has this step among those that ran.

    Raises:
        BudgetError: the noise, by its scale, costs more than the plan states.
        ValueError: the plan has no such step, or it ran.

    Privacy:
        All measurements together are (plan.amount)-DP: the share of this step was set aside before
        the first one, and the fit is post-processing of earlier results, see `measure`. Source:
        DR14 Theorem 3.16.
    """
    plan, noisy = measured.guarantee.budget_plan, measured.matrix
    if plan is None or noisy is None:
        raise ValueError("nothing was measured that a fit could be computed from")
    steps = [step for step in plan.steps if step.statistic == SQUARED_DISTANCE]
    execution = PlanExecution(plan)
    epsilon = execution.take(steps[0]) if steps else None
    if epsilon is None:
        raise ValueError("the plan has no step for the squared distance, or it ran")
    distance = measure_squared_distance(
        graph,
        fitted,
        whole=noisy.distribution.name == "discrete-laplace",
        epsilon=epsilon,
        source=source,
    )
    values = (*measured.values, distance)
    # Steps ran in the order of these amounts, and the squared distance last.
    by_statistic = dict(zip(execution.amounts, values, strict=True))
    check_amounts(execution.plan, by_statistic)
    return Measurements(values, replace(measured.guarantee, budget_plan=execution.plan))


def _after_decisions(
    decisions: Decisions, statistic: str, measurement: Measurement, source: EntropySource
) -> Measurement:
    """Return a measurement that records whether decisions have read it.

    If they have read a coarser measurement alone, it gets fresh numbers, see `with_fresh_sums`.

    Args:
        decisions: of the release, after the last measurement.
        statistic: of the measurement.
        measurement: the last one of this statistic.
        source: where the random bits of fresh numbers come from.
    """
    if not isinstance(measurement, CountMeasurement) or isinstance(
        measurement.map, Classes | EdgeCounts
    ):
        return measurement  # no interval is computed from these
    if decisions.has_seen(statistic):
        # Decisions have read these very numbers, so a coarser copy is of no use.
        return replace(measurement, used_in_decision=True, look=None)
    return with_fresh_sums(measurement, source)


def check_amounts(run: BudgetPlan, measured: Mapping[str, Measurement]) -> None:
    """Refuse measurements that cost more, by the scales of their noise, than their amounts.

    Each is compared with its own amount, for which noise without a pure cost must be proven too;
    deltas may add up to that of the plan.

    Args:
        run: the plan with the steps that ran.
        measured: by statistic.

    Raises:
        BudgetError: one of them costs more.
    """
    delta_left = run.delta
    for statistic, amount in run.amounts.items():
        cost = measured[statistic].cost()
        delta = min(cost.delta, delta_left)
        # A cost that is not pure is stated in floats, which are rounded up.
        epsilon = amount if cost.pure is not None else Fraction(rounded_up(amount))
        stated_cost(cost, epsilon=epsilon, delta=delta)
        delta_left -= delta


def sparse_distribution(graph: AnyGraph, noise: str, epsilon: Fraction | float) -> LaplaceNoise:
    """Return the noise of a pair in a sparse release, from the schema of a graph alone.

    Raises:
        ParameterError: weights without a public bound; an unknown name, or epsilon out of
            range.
    """
    graph.check_bounded()
    if not graph.weighted and noise in ("binary", "laplace"):  # bits, or counts, of edges
        noise = "discrete-laplace"
    return laplace_of(noise_distribution(noise, epsilon=epsilon, max_weight=graph.max_weight))


def laplace_of(distribution: NoiseDistribution) -> LaplaceNoise:
    """Return a distribution of a sparse release, which is one of Laplace noise.

    Raises:
        ParameterError: another one.
    """
    if not isinstance(distribution, LaplaceNoise):
        raise ParameterError("sparse releases take noise 'laplace' or 'discrete-laplace'")
    return distribution
