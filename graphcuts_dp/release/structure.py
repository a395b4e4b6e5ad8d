"""Test whether a release would show structure of a graph, and at which epsilon: `detect_structure`.

It runs the structure test of "auto" alone, for a small part of a budget, before a mechanism is
chosen. Read `synth.detected_structure` for what its noisy value means.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.noises import best_capped_noise, noise_distribution
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.private_data import PrivateSource, private_graph
from graphcuts_dp.graph.rows import without_rows
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.measure.statistics import measure_total
from graphcuts_dp.measure.structure_test import measure_structure
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetPlan, BudgetStep, PlanExecution
from graphcuts_dp.privacy.composition import stated_cost
from graphcuts_dp.privacy.entropy import EntropySource, Seed
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON, PrivacyGuarantee, exact_epsilon
from graphcuts_dp.release.guarantees import release_guarantee
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.release.measuring import check_amounts
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.synth.budget_plans import STRUCTURE, TOTAL
from graphcuts_dp.synth.detected_structure import StructureSetting, shows_structure_at

_TOTAL_SHARE = Fraction(1, 2)  # of epsilon, for the density that the test needs
_NOISE = "discrete Laplace"  # of both steps, as receipts name it
_LEAST_EPSILON = 10 * Fraction(SMALLEST_EPSILON)  # of a test, whose parts share it


@final
@dataclass(frozen=True, kw_only=True)
class DetectedStructure:
    """Structure of a private graph beyond its density, estimated by a noisy test.

    Attributes:
        signal: estimated largest singular value of the structure; 0 if none was detected. (In a
            graph without directions it is the largest modulus of an eigenvalue.) In a graph of
            communities it is about the mean number of neighbours in the same community beyond what
            the density explains. Uneven degrees raise it as well. In units of weights.
        density: noisy mean weight of a pair over the largest weight, rounded, in (0, 1).
        shape: rows and columns of the matrix of the graph.
        max_weight: public largest weight; None for a graph without weights.
        value: noisy value of the test.
        guarantee: guarantee of the test alone, to which the costs of later releases add.

    Examples:
        >>> import numpy as np
        >>> draw = np.random.default_rng(0)
        >>> rows, columns = np.nonzero(np.triu(draw.random((60, 60)) < 0.2, 1))
        >>> structure = gc.detect_structure(gc.Graph(rows, columns, vertices=60), epsilon=1.0)
        >>> structure.guarantee.epsilon
        1.0
    """

    signal: float
    density: float
    shape: tuple[int, int]
    max_weight: float | None
    value: float
    guarantee: PrivacyGuarantee

    @classmethod
    def from_saved(cls, saved: SavedParts) -> Self:
        """Return the result of a test from its store.

        Args:
            saved: the parts of a saved result, as `gc.load` reads them.
        """
        rows, columns, symmetric, directed = saved.fields["layout"]
        layout, max_weight = (
            Layout((rows, columns), symmetric, directed),
            saved.fields["max_weight"],
        )
        return cls.of(saved.fields["measured"], layout, max_weight, saved.guarantee)

    @classmethod
    def of(
        cls,
        measured: Mapping[str, float],
        layout: Layout,
        max_weight: float | None,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        """Return the detected structure.

        Args:
            measured: the noisy "total" of the matrix, and the noisy "value" of the test.
            layout: of the matrix of the graph.
            max_weight: public largest weight; None for a graph without weights.
            guarantee: guarantee of both numbers.
        """
        largest_weight, value = max_weight or 1.0, measured["value"]
        setting = StructureSetting.of(layout, measured["total"] / largest_weight)
        return cls(
            signal=setting.signal_of(value) * largest_weight,
            density=setting.density,
            shape=layout.shape,
            max_weight=max_weight,
            value=value,
            guarantee=guarantee,
        )

    def shows_at(self, epsilon: float) -> bool:
        """Return whether a release would show the structure if the entries got all of an epsilon.

        Args:
            epsilon: epsilon of a release with `mechanism="randomized-response"`, in [1e-6, 50].

        Raises:
            ParameterError: epsilon is out of range.
        """
        amount, largest_weight = exact_epsilon(epsilon), self.max_weight or 1.0
        name = "binary" if self.max_weight is None else best_capped_noise(amount, largest_weight)
        noise = noise_distribution(name, epsilon=amount, max_weight=largest_weight)
        return shows_structure_at(
            self.signal / largest_weight,
            self.shape,
            self.density,
            noise.standard_deviation / largest_weight,
        )


@refuses_former_options()
def detect_structure(
    graph: PrivateSource,
    *,
    epsilon: float,
    store: PathLike | Store | None = None,
    seed: Seed | None = None,
) -> DetectedStructure:
    """Test privately whether a graph has structure that a release could show.

    Args:
        graph: the private graph, or data of which `private_data` makes one, without weights or with
            `max_weight`; at least two vertices; with fewer than 40 there is hardly a structure
            that a release could show.
        epsilon: privacy parameter of the test, for one edge, in [1e-5, 50]. The noise moves the
            signal by about 1.3 if epsilon is .01 with 300 vertices, or .05 with 100 vertices.
        store: path of the store, or a `Store`, to which the test is charged; see `release_graph`.
        seed: makes the run repeatable and voids the guarantee; None for the system's entropy.

    Returns:
        A `DetectedStructure`, whose `shows_at` answers for an epsilon of a release.

    Raises:
        ParameterError: an option out of range, or a graph of another kind.
        GraphError: fewer than two vertices.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP at edge level: see `measure_total` and `measure_structure`, whose epsilons
        add up to it; the second reads the noisy total of the first.

    Examples:
        >>> flights = gc.datasets.load("us-flights", weighted=False)
        >>> structure = gc.detect_structure(flights, epsilon=0.1)
        >>> advice = "auto" if structure.shows_at(1.0) else "more epsilon, or public groups"
    """
    data = private_graph(graph)
    amount = exact_epsilon(epsilon)
    if amount < _LEAST_EPSILON:
        raise ParameterError("a structure test takes epsilon from 1e-5 on")
    if data.weighted and data.max_weight is None:
        raise ParameterError("a structure test of weights needs their maximum: state max_weight")
    if min(data.shape) < 2:
        raise GraphError("a side of one vertex has no communities: there is nothing to test")
    plan = BudgetPlan(
        steps=(
            BudgetStep(statistic=TOTAL, share=_TOTAL_SHARE, noise=_NOISE),
            BudgetStep(statistic=STRUCTURE, share=ALL_LEFT, noise=_NOISE),
        ),
        amount=amount,
    )
    public = without_rows(data)
    job = StructureJob(
        public=public,
        epsilon=epsilon,
        budget_plan=plan,
        guarantee=release_guarantee(public, stated_cost(plan.cost, epsilon=epsilon)),
        layout=Layout.of(data.space),
        max_weight=data.max_weight if data.weighted else None,
    )
    return execute(job, data, store=store, seed=seed)


@final
@dataclass(frozen=True, kw_only=True)
class StructureJob(Job[DetectedStructure]):
    """The job of a structure test.

    Attributes:
        layout: of the matrix of the graph.
        max_weight: public largest weight; None for a graph without weights.
    """

    kind: str = "structure test"
    layout: Layout
    max_weight: float | None

    def measure(
        self, bounded: AnyGraph, source: EntropySource, progress: Progress = silent
    ) -> dict[str, float]:
        """See `Job.measure`.

        Guarantee: epsilon-DP. The total costs the epsilon of its step. The test, which depends on
            the noisy total, costs the remaining epsilon, by sequential composition.
            Source: DR14 Theorem 3.16.
        """
        del progress
        execution = PlanExecution(self.budget_plan)
        total_epsilon, test_epsilon = (
            Fraction(execution.take(step) or 0) for step in self.budget_plan.steps
        )
        name = "binary" if self.max_weight is None else "laplace"
        distribution = distribution_for(bounded, name, self.budget_plan.amount)
        total = measure_total(bounded, distribution, epsilon=total_epsilon, source=source)
        setting = StructureSetting.of(self.layout, total.total / (self.max_weight or 1.0))
        structure = measure_structure(bounded, setting, epsilon=test_epsilon, source=source)
        check_amounts(execution.plan, {TOTAL: total, STRUCTURE: structure})
        return {"total": float(total.total), "value": float(structure.values[0][0])}

    def finish(
        self,
        measured: dict[str, float],
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> DetectedStructure:
        """See `Job.finish`."""
        del source, progress
        return DetectedStructure.of(measured, self.layout, self.max_weight, guarantee)

    def parts(self, measured: dict[str, float], guarantee: PrivacyGuarantee) -> ResultParts:
        """See `Job.parts`."""
        layout = [*self.layout.shape, self.layout.symmetric, self.layout.directed]
        fields = {"measured": measured, "layout": layout, "max_weight": self.max_weight}
        return ResultParts(kind=self.kind, guarantee=guarantee, fields=fields)

    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> DetectedStructure:
        """See `Job.completed`."""
        del completion, progress
        return DetectedStructure.from_saved(saved)
