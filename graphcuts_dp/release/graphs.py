"""`release_graph`: options become a job with a budget plan, which is measured once and then fitted.

A release of a graph is one of a noisy matrix (`MatrixJob`), or a sparse one (`SparseJob`), which
costs the edges of a graph and not its pairs. Read `release_graph`, `graph_job`, and the methods
`measure` and `finish` of the two jobs, in this order.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.measurement import Measurements
from graphcuts_dp.estimate.noises import best_capped_noise, noise_distribution
from graphcuts_dp.estimate.worst_cut_errors import accuracy_warning, expected_error_note
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph
from graphcuts_dp.graph.private_data import PrivateSource, private_data
from graphcuts_dp.graph.rows import PrivateData, bounded_graph, paired_graph, without_rows
from graphcuts_dp.learn.detectability import (
    degrees_needed,
    epsilon_needed,
    sqrt_and_degree_per_edge,
)
from graphcuts_dp.learn.sizes import size_of
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.cells import sides_of_groups
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.options import chosen
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import rounded_up, stated_cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource, Seed, repeatable
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON, PrivacyGuarantee
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.completion import (
    Completion,
    MatrixCompletion,
    SparseCompletion,
    completion_to_dict,
    release_of,
)
from graphcuts_dp.release.guarantees import release_guarantee
from graphcuts_dp.release.job import SMALL_RESULT, Job, SecondMeasurement, execute
from graphcuts_dp.release.measuring import measure, measure_fit, sparse_distribution
from graphcuts_dp.release.sizes import check_size, needed_memory, size_note
from graphcuts_dp.resources import Progress, memory_limit, silent
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.results.release import Release
from graphcuts_dp.results.release_parts import (
    later_measurement_parts,
    measurement_parts,
    with_later_measurement,
)
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import vertex_sets
from graphcuts_dp.synth import budget_plans
from graphcuts_dp.synth.base import FitMethod, what_could_show
from graphcuts_dp.synth.budget_plans import (
    EDGES,
    ENTRIES,
    FEWEST_TESTED,
    SQUARED_DISTANCE,
    MatrixShares,
    MeasuredGroups,
    after_edge_counts,
    can_be_certified,
    matrix_plan,
    sparse_plan,
)
from graphcuts_dp.synth.decisions import Decisions, MatrixDecisions
from graphcuts_dp.synth.mechanisms import (
    AUTO,
    MECHANISM_OPTIONS,
    RESPONSE,
    SPARSE,
    SPLIT,
    Mechanism,
)
from graphcuts_dp.synth.methods import FitOptions
from graphcuts_dp.synth.sparse_decisions import SparseDecisions

# Bits that an entry takes on the disk, by the kind of noise: the noisy value, the weight of the
# fit, and its edge in the longest format. Measured on 300 and 800 to 1000 vertices with 10 edges
# each, with epsilon = 1: 18 and 9 for binary noise, 302 and 303 for Laplace noise, whose fit has
# all edges.
_ENTRY_BITS = {"binary": 20, "other": 320}
_MANY_VERTICES = 2000  # of weights without a cap, from which "auto" is a sparse release


@refuses_former_options()
def release_graph(
    graph: PrivateSource,
    *,
    epsilon: float,
    noise: str | None = None,
    mechanism: str | Mechanism = "auto",
    groups: Groups | tuple[Groups, Groups] | None = None,
    fit: str | FitMethod | FitOptions = "auto",
    privacy_unit: str | PrivacyUnit = "edge",
    store: PathLike | Store | None = None,
    seed: Seed | None = None,
    progress: Progress | bool = silent,
) -> Release:
    """Release a synthetic graph whose cuts are near those of a private one.

    Args:
        graph: the private graph, at least two vertices (one on each side if bipartite); rows with
            users; or a graph of networkx or igraph, a matrix, or a table, see `private_data`.
        epsilon: privacy parameter for one `privacy_unit`, in [1e-6, 50]; all of it is spent.
        noise: "binary" (flipped bits, least error; the default, for graphs without weights),
            "laplace" (the default of graphs with weights at small epsilon), "staircase" (for
            weights with a cap; the default where its errors are smaller by a tenth or more, from
            epsilon = 2.25 on) or "discrete-laplace" (weights are rounded down to whole numbers).
        mechanism: how epsilon is spent: "auto", "randomized-response",
            "degrees+randomized-response" or "sparse", perhaps with options, as in
            "sparse:degree-share=.3", or a `Mechanism`, which holds them.
        groups: public groups of the vertices; of a bipartite graph a pair, left and right. Noisy
            sums between them are measured, which come out with the release, constrain the fit
            "maximum-entropy" and are used by answers. A first look gets a sixth of their share
            (`group_share`), a second look the rest, if the first shows that the groups tell more of
            the graph than its degrees do. Of nested levels the finest counts with at most 256
            groups. Beyond epsilon of about 6 entries alone tell sums as well.
        fit: how the synthetic graph is fitted: "auto", "maximum-entropy", "first-order",
            "cutting-plane", "game", "spectral" or "none", perhaps with options, as in
            "first-order:time-limit=60"; an object that satisfies `FitMethod`, or a `FitOptions`,
            which holds such options.
        privacy_unit: what neighbouring data differ by: "edge", or a `PrivacyUnit`. Where k edges
            may change together, each has a k-th of epsilon; of a user so many pairs, rows or units
            count, see `Rows.bounded`.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            release is charged to it, and refused if its budget does not allow it. None for a graph
            of which nothing else is ever released.
        seed: makes the run repeatable and voids the guarantee: an integer, or a SeedSequence or
            Generator of numpy; None for the system's entropy. The noise is the same on every
            machine whose memory suffices for the noisy matrix, or with a mechanism that is named;
            the last digits of the fit depend on the processor.
        progress: True shows a bar; a function is called with the fraction done and a message.

    Returns:
        A `Release`. If the private graph has weights, its synthetic one has about the measured
        number of edges, with whole weights in [0, cap] if the true ones seem to be whole, else
        rounded to four decimals; `Release.expected` has the weights of the fit, on all pairs.

    Raises:
        ParameterError: an option out of range, or options that do not fit together.
        GraphError: fewer than two vertices, or more than the memory here is enough for; groups of
            other vertices, or more than 256 on every level.
        BudgetError: the budget of the store does not allow the release. Nothing was spent.
        LedgerError: the store cannot be used.

    Warns:
        AccuracyWarning: before anything is spent, when no graph of this size can hold cuts above
            the expected error; afterwards, when the noisy matrix shows communities so near to its
            noise that the synthetic graph may have merged some, or none (`FitSummary.warning`).

    Guarantee: epsilon-DP at edge level: see `measure`, which draws all noise; the rest is computed
    from what it returns. Neighbours: graphs on the same public vertices that differ in one pair, or
    in `PrivacyUnit.edge(k)` of them, by group privacy.
    Accuracy: with the default confidence, ||x - A||_C (matrix form) is at most
    `worst_cut_error_bound` of the release, and at most 2.01 times `noise_cut_bound` with the
    maximum-entropy fit: where ||x - z||_C is not proven to be within that bound, x is mixed with
    the first-order fit until it is, as far as that itself and the time limit allow. See each fit
    for its own statement.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=4.0)
        >>> release.graph  # synthetic, and may be published
        Graph(n=34)
        >>> low, high = release.answer([0, 1, 2]).interval  # holds with the default confidence

    Source: GRU12 section 6, Lemma 6.2.
    """
    data = private_data(graph)
    job = graph_job(
        data,
        epsilon=epsilon,
        noise=noise,
        mechanism=mechanism,
        groups=groups,
        fit=fit,
        privacy_unit=privacy_unit,
    )
    return execute(job, data, store=store, seed=seed, progress=progress)


def graph_job(
    data: PrivateData,
    *,
    epsilon: float,
    noise: str | None = None,
    mechanism: str | Mechanism = "auto",
    groups: Groups | tuple[Groups, Groups] | None = None,
    fit: str | FitMethod | FitOptions = "auto",
    privacy_unit: str | PrivacyUnit = "edge",
    fitted: bool = True,
    simulated: bool = False,
) -> "MatrixJob | SparseJob":
    """Return what `release_graph` does with these options. Reads the schema of the data alone.

    With `fitted` False the result has no synthetic graph. With `simulated`, for forecasts, it has
    none either, but the budget plan is that of a release that has.

    Args:
        data: the private graph or rows, or an empty one of the same schema.
        epsilon: as for `release_graph`, and so are the next ones.
        noise: distribution of the entries.
        mechanism: how epsilon is spent.
        groups: public groups whose sums are measured.
        fit: how the synthetic graph is fitted.
        privacy_unit: what neighbouring data differ by.
        fitted: whether a synthetic graph is made.
        simulated: whether this is a forecast.

    Raises:
        ParameterError, GraphError: as `release_graph`.

    Examples:
        >>> job = gc.release.graph_job(gc.datasets.load("karate"), epsilon=1.0)
        >>> job.cost.epsilon
        1.0
    """
    empty = without_rows(data)
    del data  # nothing below can reach it
    response = chosen(mechanism, MECHANISM_OPTIONS, "mechanism")
    if not isinstance(response, Mechanism):
        raise ParameterError(f"mechanism is a name or a Mechanism, not {mechanism!r:.60}")
    fitting = fit if isinstance(fit, FitOptions) else FitOptions.of(fit)
    graph, privacy_unit = paired_graph(empty, privacy_unit, epsilon=epsilon)
    if not isinstance(graph, BipartiteGraph) and graph.n < 2:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    named, cap = noise or ("laplace" if graph.weighted else "binary"), graph.max_weight
    of_groups = None
    if groups is not None:
        of_groups = MeasuredGroups.of(sides_of_groups(graph, groups), graph.shape)
    request = _Request(empty, graph, epsilon, privacy_unit, named, of_groups)
    if takes_sparse(graph.shape, response, fitting, noise=named, max_weight=cap):
        return request.sparse_job(
            response, fitting, with_graph=fitted and not simulated and fitting.fit != "none"
        )
    if noise is None and graph.weighted and cap is not None:
        request = replace(request, noise=best_capped_noise(privacy_unit.per_change(epsilon), cap))
    return request.matrix_job(response, fitting, fitted=fitted, simulated=simulated)


@final
@dataclass(frozen=True)
class _Request:
    """What jobs of both kinds are made of; no private row.

    Attributes:
        empty: private data without any row.
        graph: the graph of these.
        epsilon: that was asked for.
        privacy_unit: of the guarantee.
        noise: name of the distribution of the entries.
        groups: public groups whose sums are measured, or None.
    """

    empty: PrivateData
    graph: AnyGraph
    epsilon: float
    privacy_unit: PrivacyUnit
    noise: str
    groups: MeasuredGroups | None

    def matrix_job(
        self, response: Mechanism, fitting: FitOptions, *, fitted: bool, simulated: bool
    ) -> "MatrixJob":
        """Return the job of a release with a noisy matrix."""
        graph = self.graph
        method = fitting.method(graph.max_weight)
        if method is not None:
            method.check_size(graph.shape)
        check_size(graph.shape, noise=self.noise, fit=method is not None)
        step = self.privacy_unit.per_change(self.epsilon)
        distribution = distribution_for(graph, self.noise, step)
        response = _suited(response, method)
        has_maximum = not graph.weighted or graph.max_weight is not None
        # Of directed graphs the choice by the test had a larger regret than looks at degrees.
        suits_test = has_maximum and not isinstance(graph, DirectedGraph)
        tested = suits_test and min(graph.shape) >= FEWEST_TESTED
        layout = Layout.of(graph.space) if tested else None
        shares = MatrixShares(graph.shape, graph.max_weight, self.noise, response, tested=layout)
        certified = (
            (fitted or simulated)
            and method is not None
            and fitting.certificate
            and can_be_certified(graph.max_weight, weighted=graph.weighted, epsilon=step)
        )
        plan = matrix_plan(
            shares,
            distribution,
            epsilon=step,
            groups=self.groups,
            certified=certified,
            edge_counts=graph.weighted and method is not None,
        )
        check_noise_of_parts(plan, self.noise, distribution)
        least = noise_distribution(
            self.noise, epsilon=plan.least(ENTRIES), max_weight=graph.max_weight
        )
        return MatrixJob(
            **self._common(distribution, plan),
            least_distribution=least,
            shares=shares,
            how=MatrixCompletion(
                options=fitting if fitted and not simulated and method is not None else None,
                weighted=graph.weighted,
                max_weight=graph.max_weight,
                whole=self.noise == "discrete-laplace",
            ),
            may_fit=method is not None,
        )

    def sparse_job(
        self, response: Mechanism, fitting: FitOptions, *, with_graph: bool
    ) -> "SparseJob":
        """Return the job of a sparse release."""
        step = self.privacy_unit.per_change(self.epsilon)
        _check_sparse(fitting)
        distribution = sparse_distribution(self.graph, self.noise, step)
        plan = sparse_plan(
            epsilon=step,
            noise=distribution.name,
            groups=self.groups is not None,
            bipartite=isinstance(self.graph, BipartiteGraph),
            degrees=response.share,
        )
        if plan.smallest < SMALLEST_EPSILON:
            smallest = Fraction(SMALLEST_EPSILON) * self.privacy_unit.group_size
            least = up_to_digits(smallest * Fraction(plan.amount) / Fraction(plan.smallest), 2)
            raise ParameterError(
                f"mechanism='sparse' divides epsilon, which must be {least:g} at least"
            )
        return SparseJob(
            **self._common(distribution, plan),
            how=SparseCompletion(
                with_graph=with_graph,
                weighted=self.graph.weighted,
                max_weight=self.graph.max_weight,
                integral=distribution.unit == 1,
            ),
            asked=response.mechanism == SPARSE,
        )

    def _common(self, distribution: NoiseDistribution, plan: BudgetPlan) -> dict[str, Any]:
        plan = replace(plan, group_size=self.privacy_unit.group_size, delta=distribution.cost.delta)
        delta = plan.cost.delta  # of noise that is not purely private, which states its own
        cost = stated_cost(plan.cost, epsilon=self.epsilon, delta=delta)
        guarantee = release_guarantee(
            self.graph, cost, self.privacy_unit, groups=self.groups is not None
        )
        return {
            "public": self.empty,
            "graph": self.graph,
            "epsilon": self.epsilon,
            "delta": delta,
            "privacy_unit": self.privacy_unit,
            "noise": self.noise,
            "distribution": distribution,
            "groups": self.groups,
            "budget_plan": plan,
            "guarantee": guarantee,
        }


@dataclass(frozen=True, kw_only=True)
class GraphJob(Job[Release]):
    """A release of a graph.

    Attributes:
        graph: of the schema, without any edge.
        privacy_unit: of the guarantee.
        noise: name of the distribution of the entries, or of kept edges.
        distribution: of the noise of a pair with all of epsilon.
        groups: public groups whose sums are measured, or None.
        how: the result is made of what was measured.
    """

    kind: str = "release"
    graph: AnyGraph
    privacy_unit: PrivacyUnit
    noise: str
    distribution: NoiseDistribution
    groups: MeasuredGroups | None
    how: Completion

    @property
    def inputs(self) -> Sequence[Any]:
        """See `Job.inputs`."""
        return (None if self.groups is None else self.groups.sides,)

    def bound(self, data: PrivateData) -> AnyGraph:
        """See `Job.bound`."""
        return bounded_graph(data, self.privacy_unit)

    def measure(
        self,
        bounded: AnyGraph,
        source: EntropySource,
        progress: Progress = silent,
        *,
        decisions: Decisions | None = None,
    ) -> Measurements:
        """See `Job.measure`.

        Args:
            bounded: private.
            source: where the noise comes from.
            progress: called with the fraction done and a message.
            decisions: in place of those of the job, for audits.
        """
        return measure(
            bounded,
            self.budget_plan,
            decisions or self.decisions(),
            noise=self.noise,
            distribution=self.distribution,
            guarantee=self.guarantee_of_run(source),
            source=source,
            progress=progress,
        )

    def finish(
        self,
        measured: Measurements,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> Release:
        """See `Job.finish`, and `release.completion`."""
        del guarantee  # that of the measurements also says which steps ran
        return self.how.release(measured, self.graph.space, source, progress)

    def parts(self, measured: Measurements, guarantee: PrivacyGuarantee) -> ResultParts:
        """See `Job.parts`: what was measured, before the fit."""
        del guarantee  # as in `finish`
        return measurement_parts(measured, self.graph.space)

    def completion(self, source: EntropySource) -> dict[str, Any]:
        """See `Job.completion`."""
        return completion_to_dict(self.how, repeatable(source))

    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> Release:
        """See `Job.completed`: with the fit of the job, which may be one of the user's own."""
        return release_of(saved, self.how, completion, progress)

    @abstractmethod
    def decisions(self) -> Decisions:
        """Return what answers the conditions of the plan, before anything is measured."""


@final
class SquaredDistanceOfFit(SecondMeasurement[Release]):
    """The squared distance of a private graph from the fit of its release."""

    def measured(self, result: Release, bounded: AnyGraph, source: EntropySource) -> Release:
        """See `SecondMeasurement.measured`, and `measure_fit`."""
        measured = measure_fit(bounded, result.measurements, result.fitted_weights, source)
        return replace(result, measurements=measured)

    def parts(self, result: Release) -> ResultParts:
        """See `SecondMeasurement.parts`."""
        return later_measurement_parts(result.measurements)

    def restored(self, result: Release, saved: SavedParts) -> Release:
        """See `SecondMeasurement.restored`."""
        return with_later_measurement(result, saved)


@dataclass(frozen=True, kw_only=True)
class MatrixJob(GraphJob):
    """A release with a noisy value for every pair.

    Attributes:
        least_distribution: of the noise of the entries if as much of epsilon as possible goes to
            other statistics.
        shares: of degrees and total, with the mechanism.
        may_fit: whether a graph is fitted, or could be: forecasts do without the fit.
    """

    how: MatrixCompletion
    least_distribution: NoiseDistribution
    shares: MatrixShares
    may_fit: bool

    @property
    def result_bytes(self) -> int:
        """See `Job.result_bytes`: noisy entries hardly compress, and so does what is fitted."""
        bits = _ENTRY_BITS["binary" if self.noise == "binary" else "other"]
        return SMALL_RESULT + math.prod(self.graph.shape) * bits // 8

    @property
    def measured_bytes(self) -> int:
        """See `Job.measured_bytes`: a noisy value for each pair, of one bit or of 8 bytes."""
        layout = Layout.of(self.graph.space)
        pairs = layout.pairs_before(layout.shape[0])
        return SMALL_RESULT + (pairs // 8 if self.noise == "binary" else 8 * pairs)

    def decisions(self) -> Decisions:
        """See `GraphJob.decisions`."""
        sides = None if self.groups is None else self.groups.sides
        counted = EDGES in self.budget_plan.statistics
        epsilon = after_edge_counts(self.budget_plan.unreserved, counted=counted)
        return MatrixDecisions(self.shares, epsilon, sides)

    @property
    def second_measurement(self) -> SquaredDistanceOfFit | None:
        """See `Job.second_measurement`: the squared distance of the fit, if the plan has it."""
        fitted = self.how.options is not None
        has_step = SQUARED_DISTANCE in self.budget_plan.statistics
        return SquaredDistanceOfFit() if fitted and has_step else None

    @property
    def parameters(self) -> dict[str, Any]:
        """See `Job.parameters`."""
        return {"noise": self.noise, "mechanism": self.shares.mechanism}

    @property
    def warning(self) -> str | None:
        """See `Job.warning`."""
        return accuracy_warning(
            self.distribution, *vertex_sets(self.graph.space), steps=self.privacy_unit.group_size
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Job.notes`."""
        graph, fits = self.graph, self.may_fit
        notes: list[str | None] = []
        if self.noise == "discrete-laplace" and graph.weighted:
            notes.append("Weights are rounded down to whole numbers.")
        notes.append(expected_error_note(self.least_distribution, graph.shape))
        if fits and not graph.weighted:
            step = float(self.budget_plan.amount)
            notes.append(communities_note(graph, step, noise=self.noise))
        notes.append(size_note(graph.shape, noise=self.noise, fit=fits))
        return tuple(filter(None, notes))


@final
@dataclass(frozen=True, kw_only=True)
class SparseJob(GraphJob):
    """A release of edges whose noisy weight is large, degrees, and sums between groups.

    Attributes:
        asked: whether the user chose the mechanism.
    """

    asked: bool

    def decisions(self) -> Decisions:
        """See `GraphJob.decisions`."""
        left = self.budget_plan.amount * (1 - budget_plans.COUNTS_SHARE)
        return SparseDecisions(
            self.budget_plan,
            sparse_distribution(self.graph, self.noise, left),
            pairs=Universe.of(self.graph).size,
            space=self.graph.space,
            groups=None if self.groups is None else self.groups.sides,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """See `Job.parameters`."""
        return {"noise": self.distribution.name, "mechanism": SPARSE}

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Job.notes`."""
        return sparse_notes(self.graph.shape, asked=self.asked)


def check_noise_of_parts(plan: BudgetPlan, noise: str, distribution: NoiseDistribution) -> None:
    """Refuse noise of entries that would cost more than what a run can give them.

    Noise that is purely private costs its epsilon; other noise states a cost of its own, which may
    not fit where entries get a part of epsilon. It must be known before anything is charged.

    Args:
        plan: of the release.
        noise: name of the distribution.
        distribution: with all of epsilon.

    Raises:
        ParameterError: the noise costs more in some run.
    """
    if distribution.cost.pure is not None and distribution.cost.pure <= plan.amount:
        return
    for amount in {run.amounts[ENTRIES] for run in plan.possible_runs}:
        part = noise_distribution(noise, epsilon=amount, max_weight=distribution.max_weight).cost
        if not part.keeps(epsilon=Fraction(rounded_up(amount)), delta=distribution.cost.delta):
            raise ParameterError(
                f"noise {noise!r} costs more than its part of epsilon, {float(amount):.3g}: choose "
                "mechanism='randomized-response', or other noise"
            )


def _suited(response: Mechanism, method: FitMethod | None) -> Mechanism:
    """Return what a fit can use: "randomized-response" for "auto" with fits that know no degrees.

    Raises:
        ParameterError: degrees for a fit that does not use them.
    """
    if method is not None and method.uses_degrees:
        return response
    if response.mechanism == SPLIT or response.degree_share is not None:
        raise ParameterError("noisy degrees are used by fit='maximum-entropy' only")
    return replace(response, mechanism=RESPONSE)


def communities_note(
    graph: AnyGraph, epsilon: float, *, noise: str, guess: float | None = None, steps: int = 1
) -> str | None:
    """Return a note on whether a synthetic graph can show communities and single edges, or None.

    From the vertex sets, epsilon and a public guess of the number of edges: m itself is private.

    Args:
        graph: of the schema, without weights.
        epsilon: privacy of one edge.
        noise: of the entries.
        guess: of the number of edges; without it the degrees that it takes are told.
        steps: how many edges share the epsilon that was asked for.
    """
    size, flips = size_of(Universe.of(graph)), noise == "binary"
    if guess is not None:
        _, side = sqrt_and_degree_per_edge(size)
        needed = epsilon_needed(size, guess * side, flips=flips)
        if epsilon >= needed:
            return None
        return (
            "A synthetic graph of so many edges will have no communities: "
            f"{what_could_show(steps * needed)} them."
        )
    if not flips:  # that of flipped bits with the same deviation
        epsilon = 2 * math.asinh(epsilon / (2 * math.sqrt(2)))
    communities, edges = degrees_needed(size, epsilon=epsilon)
    if communities > math.sqrt(math.prod(graph.shape)):
        return (
            "No graph of so few vertices has communities that show in the synthetic graph at this "
            "epsilon: raise it, or give public groups."
        )
    return (
        f"The synthetic graph keeps communities where vertices have about {communities:,.3g} edges "
        f"each or more, and single edges from about {edges:,.3g} on; graphcuts-dp plan says more."
    )


def takes_sparse(
    shape: tuple[int, int],
    response: Mechanism,
    fitting: FitOptions,
    *,
    noise: str,
    max_weight: float | None,
) -> bool:
    """Return whether a release is a sparse one: asked for, or "auto" where a dense one is no way.

    From public numbers and the memory of this machine, before anything is spent: "auto" takes it
    where the noisy matrix and its fit need more memory than there is here, and where weights have
    no cap on 2000 vertices or more, where the noise of n^2/2 pairs hides every cut but those
    between heavy pairs, which kept edges hold as well.

    Args:
        shape: rows and columns.
        response: how epsilon is spent.
        fitting: a fit that is asked for is one of a noisy matrix.
        noise: of the entries.
        max_weight: of the graph.
    """
    if response.mechanism == SPARSE:
        return True
    if not may_be_sparse(response, fitting):
        return False
    if max_weight is None and max(shape) >= _MANY_VERTICES:
        return True
    limit = memory_limit()
    return limit is not None and needed_memory(shape, noise=noise, fit=True) > limit


def may_be_sparse(response: Mechanism, fitting: FitOptions) -> bool:
    """Return whether a graph that is too large for a noisy matrix can be released all the same."""
    return response.mechanism == SPARSE or (response.mechanism, fitting.fit) == (AUTO, "auto")


def sparse_notes(shape: tuple[int, int], *, asked: bool) -> tuple[str, ...]:
    """Return what to tell before a sparse release, from public numbers alone.

    Args:
        shape: rows and columns.
        asked: whether the user chose the mechanism.
    """
    size = " x ".join(f"{side:,}" for side in sorted(set(shape)))
    reason = (
        f"{size} vertices are released sparsely (--mechanism sparse): the noisy matrix of all "
        "pairs would not fit here, or would hide all but the heaviest edges."
    )
    what = (
        "Released are edges whose noisy weight is large, degrees and sums between groups; without "
        "large weights, degrees and groups alone."
    )
    return (what,) if asked else (reason, what)


def _check_sparse(fitting: FitOptions) -> None:
    """Refuse options that a sparse release has no use for.

    Raises:
        ParameterError: one of these.
    """
    given = {
        "fit": fitting.fit not in ("auto", "none"),
        "oracle": fitting.oracle != FitOptions().oracle,
        "tolerance": fitting.tolerance is not None,
    }
    for name, is_given in given.items():
        if is_given:
            raise ParameterError(f"{name} is not for mechanism='sparse': leave it out")
