"""The measurements of a release of a graph: all noise is drawn here, and epsilon spent on it.

`measure` executes a budget plan. A statistic that a plan can name is a class of `STATISTICS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
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
from graphcuts_dp.measure.cells import refinable_groups
from graphcuts_dp.measure.edge_counts import measure_edge_counts
from graphcuts_dp.measure.entries import measure_kept_edges, randomized_response
from graphcuts_dp.measure.mean_square import measure_squared_distance
from graphcuts_dp.measure.statistics import (
    Refinable,
    measure_weight_counts,
    refinable_degrees,
    refinable_total,
)
from graphcuts_dp.measure.structure_test import measure_structure, measure_unevenness
from graphcuts_dp.privacy.budget_plan import BudgetPlan, PlanExecution
from graphcuts_dp.privacy.composition import rounded_up, stated_cost
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import (
    PrivacyGuarantee,
)
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

_NO_CLASS_BELOW = 50.0  # fine classes of weight begin at a quarter of the maximum over this


@final
@dataclass(frozen=True, kw_only=True)
class Purchase:
    """What a step measures with.

    Attributes:
        epsilon: privacy parameter of the statistic, exact; with that of earlier steps for it.
        largest: the largest epsilon that later steps may refine it to.
        name: of the measurement.
        decisions: what earlier steps measured, and what follows from it.
        source: where the noise comes from.
    """

    epsilon: Fraction
    largest: Fraction
    name: str
    decisions: Decisions
    source: EntropySource


class GraphStatistic(ABC):
    """A statistic of one private graph, measured once, or once and refined.

    Args:
        graph: private.
        noise: name of the distribution of the entries.
        distribution: of the noise of a pair with all of epsilon; tells the grid that weights are
            rounded down to.
    """

    name: ClassVar[str]

    def __init__(self, graph: AnyGraph, noise: str, distribution: NoiseDistribution) -> None:
        self.graph: AnyGraph = graph
        self.noise: str = noise
        self.distribution: NoiseDistribution = distribution

    @abstractmethod
    def measure(self, purchase: Purchase) -> Measurement:
        """Measure it, or refine what was measured.

        Guarantee: `purchase.epsilon`-DP, of all that it returned for this graph together, for
            neighbours that differ in one pair.
        """


@final
class EntriesStatistic(GraphStatistic):
    """A noisy value of every pair: see `randomized_response`."""

    name = ENTRIES

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        distribution = noise_distribution(
            self.noise, epsilon=purchase.epsilon, max_weight=self.distribution.max_weight
        )
        return randomized_response(self.graph, distribution, purchase.source)


@final
class TotalStatistic(GraphStatistic):
    """The sum of the matrix, which later steps may refine: see `refinable_total`."""

    name = TOTAL
    _held: Refinable[Total] | None = None

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        if self._held is None:
            self._held = refinable_total(
                self.graph, self.distribution, epsilon=purchase.epsilon, source=purchase.source
            )
        else:
            self._held = self._held.refined(purchase.epsilon, purchase.source, name=purchase.name)
        return self._held.measurement


@final
class DegreesStatistic(GraphStatistic):
    """All degrees, which later steps may refine: see `refinable_degrees`."""

    name = DEGREES
    _held: Refinable[Degrees] | None = None

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        if self._held is None:
            self._held = refinable_degrees(
                self.graph,
                self.distribution,
                epsilon=purchase.epsilon,
                source=purchase.source,
                name=purchase.name,
                without_cap=True,  # in sparse releases; matrix plans then have no degrees
            )
        else:
            self._held = self._held.refined(purchase.epsilon, purchase.source, name=purchase.name)
        return self._held.measurement


class GroupsStatistic(GraphStatistic):
    """Sums between public groups, or groups that noisy data showed: see `refinable_groups`."""

    name = GROUPS
    _held: Refinable[CellSums] | None = None

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        if self._held is None:
            sides = purchase.decisions.sides
            if sides is None:
                raise ParameterError("there are no groups to measure")
            self._held = refinable_groups(
                self.graph,
                sides,
                epsilon=purchase.epsilon,
                most=purchase.largest,
                whole=self.distribution.name == "discrete-laplace",
                name=purchase.name,
                source=purchase.source,
            )
        else:
            self._held = self._held.refined(purchase.epsilon, purchase.source, name=purchase.name)
        return self._held.measurement


@final
class SecondGroupsStatistic(GroupsStatistic):
    """Return the same sums between public groups, with noise that no decision reads."""

    name = SECOND_GROUPS


@final
class WeightsStatistic(GraphStatistic):
    """How many edges weigh how much: see `measure_weight_counts`."""

    name = WEIGHTS

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        return measure_weight_counts(
            self.graph,
            laplace_of(self.distribution),
            epsilon=purchase.epsilon,
            source=purchase.source,
        )


@final
class FineWeightsStatistic(GraphStatistic):
    """How many edges weigh how much, in classes that halve from the largest weight down.

    The noise of a count does not depend on the classes, so they need not suit the noise of entries;
    the first one ends at a 200th of the largest weight. Without a maximum they begin
    at 1/4. See `measure_weight_counts`.
    """

    name = FINE_WEIGHTS

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        cap = self.distribution.max_weight
        name = "discrete-laplace" if self.noise == "discrete-laplace" else "laplace"
        classes = noise_distribution(
            name, epsilon=_NO_CLASS_BELOW if cap is not None else 1.0, max_weight=cap
        )
        counts = measure_weight_counts(
            self.graph, laplace_of(classes), epsilon=purchase.epsilon, source=purchase.source
        )
        return replace(counts, name=purchase.name)


@final
class EdgesStatistic(GraphStatistic):
    """How many edges there are, and how many are fractional: see `measure_edge_counts`."""

    name = EDGES

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        return measure_edge_counts(self.graph, epsilon=purchase.epsilon, source=purchase.source)


@final
class KeptEdgesStatistic(GraphStatistic):
    """Pairs whose noisy weight reaches a threshold: see `measure_kept_edges`."""

    name = KEPT_EDGES

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        distribution = sparse_distribution(self.graph, self.noise, purchase.epsilon)
        return measure_kept_edges(
            self.graph,
            distribution,
            threshold=purchase.decisions.threshold(distribution),
            source=purchase.source,
        )


@final
class UnevennessStatistic(GraphStatistic):
    """How far degrees are from their median: see `measure_unevenness`."""

    name = UNEVENNESS

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        return measure_unevenness(self.graph, epsilon=purchase.epsilon, source=purchase.source)


@final
class StructureStatistic(GraphStatistic):
    """The value of the structure test: see `measure_structure`."""

    name = STRUCTURE

    def measure(self, purchase: Purchase) -> Measurement:
        """See `GraphStatistic.measure`."""
        return measure_structure(
            self.graph,
            purchase.decisions.test_setting(),
            epsilon=purchase.epsilon,
            source=purchase.source,
        )


# What a budget plan can name.
STATISTICS: Mapping[str, type[GraphStatistic]] = {
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
        decisions: whether the conditions of its steps are met, from what was measured before.
        noise: name of the distribution of the entries.
        distribution: of the noise of a pair with all of epsilon.
        guarantee: of everything together.
        source: where the noise comes from.
        progress: called with the fraction done and a message.

    Returns:
        The measurements in the order of measuring, with the guarantee, whose plan says which steps
        ran. Each knows whether a decision has looked at it, or at a coarse copy of it.

    Raises:
        BudgetError: what was drawn costs more than the plan says, by the scales of its noise.

    Privacy:
        (plan.amount)-DP. A step is epsilon_k-DP for what it gets (`GraphStatistic.measure`), the
        epsilons are exact fractions whose sum is at most the amount (`PlanExecution`), and whether
        a step runs, its share and its threshold depend on public numbers and on the results of
        earlier steps alone (`Decisions` reads nothing else): sequential composition, which holds
        for adaptive choices. Neighbours are the same for all steps. Source: DR14 Theorem 3.16.
        A refinement takes the place of the coarse measurement, and both together cost what the
        refined one costs (proof: `RefinableLaplace`). So what comes out costs at most the amount on
        every branch, with which a store is charged before any noise is drawn. Which numbers
        decisions have looked at follows from released numbers, and fresh numbers are computed from
        them with random bits of their own (`with_fresh_sums`): post-processing.
    """
    execution = PlanExecution(plan)
    statistics: dict[str, GraphStatistic] = {}
    for place, step in enumerate(plan.steps):
        if step.reserved or not decisions.are_met(step):
            continue
        epsilon = execution.take(step, decisions.share(step))
        if epsilon is None:
            continue
        progress(0.6 * place / len(plan.steps), f"measuring {step.label}")
        if step.statistic not in statistics:
            statistics[step.statistic] = STATISTICS[step.statistic](graph, noise, distribution)
        later = [other for other in plan.steps[place:] if other.statistic == step.statistic]
        most = max(
            share for other in later if decisions.may_be_met(other) for share in other.shares
        )
        purchase = Purchase(
            epsilon=epsilon,
            largest=max(epsilon, execution.available(step.statistic) * most),
            name=step.label,
            decisions=decisions,
            source=source,
        )
        decisions.record(step.statistic, statistics[step.statistic].measure(purchase))
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
        measured: all that was measured before; its plan says which steps ran.
        fitted: the fit, made of these measurements alone.
        source: where the noise comes from.

    Returns:
        All measurements, with the guarantee, whose plan says that this step ran too.

    Raises:
        BudgetError: what was drawn costs more than the plan says, by the scale of its noise.
        ValueError: the plan has no such step, or it ran.

    Privacy:
        All measurements together are (plan.amount)-DP: the share of this step was set aside before
        the first one, and the fit is post-processing of earlier results, see `measure`. Source:
        DR14 Theorem 3.16.
    """
    plan, noisy = measured.guarantee.budget_plan, measured.matrix
    if plan is None or noisy is None:
        raise ValueError("nothing was measured that a fit was made of")
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
    statistics = dict(zip(execution.amounts, values, strict=True))
    check_amounts(execution.plan, statistics)
    return Measurements(values, replace(measured.guarantee, budget_plan=execution.plan))


def _after_decisions(
    decisions: Decisions, statistic: str, measurement: Measurement, source: EntropySource
) -> Measurement:
    """Return a measurement with what answers need to know of the decisions of its release.

    Args:
        decisions: all of them.
        statistic: of the measurement.
        measurement: the last one of this statistic.
        source: where the random bits of fresh numbers come from.
    """
    if not isinstance(measurement, CountMeasurement) or isinstance(
        measurement.map, Classes | EdgeCounts
    ):
        return measurement  # no interval is made of these
    if decisions.has_seen(statistic):
        return replace(measurement, used_in_decision=True, look=None)
    return with_fresh_sums(measurement, source)


def check_amounts(run: BudgetPlan, measured: Mapping[str, Measurement]) -> None:
    """Refuse measurements that cost more, by the scales of their noise, than their plan gave them.

    Each is compared with its own amount, at which noise without a pure cost has to be proven too;
    deltas may add up to that of the plan.

    Args:
        run: that measured them.
        measured: by statistic.

    Raises:
        BudgetError: one of them costs more.
    """
    delta_left = run.delta
    for statistic, amount in run.amounts.items():
        cost = measured[statistic].cost()
        delta = min(cost.delta, delta_left)
        # A cost that is not pure is stated in floats, which are rounded up.
        most = amount if cost.pure is not None else Fraction(rounded_up(amount))
        stated_cost(cost, epsilon=most, delta=delta)
        delta_left -= delta


def sparse_distribution(graph: AnyGraph, noise: str, epsilon: Fraction | float) -> LaplaceNoise:
    """The noise of a pair in a sparse release, from the schema of a graph alone.

    Raises:
        ParameterError: weights whose bound nobody has given; an unknown name, or epsilon out of
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
