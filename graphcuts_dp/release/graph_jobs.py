"""Jobs of releases of graphs: with a noisy matrix (`MatrixJob`), or sparse (`SparseJob`).

Read the methods `measure` and `finish` of `GraphJob` first. `graphs.graph_job` makes the jobs.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from graphcuts_dp.estimate.measurement import Measurements
from graphcuts_dp.estimate.worst_cut_errors import accuracy_warning, expected_error_note
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.rows import PrivateData, bounded_graph
from graphcuts_dp.learn.detectability import (
    degrees_needed,
    epsilon_needed,
    sqrt_and_degree_per_edge,
)
from graphcuts_dp.learn.sizes import size_of
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource, repeatable
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.completion import (
    Completion,
    MatrixCompletion,
    completion_to_dict,
    release_of,
)
from graphcuts_dp.release.job import SMALL_RESULT, Job, SecondMeasurement
from graphcuts_dp.release.measuring import measure, measure_fit, sparse_distribution
from graphcuts_dp.release.sizes import size_note
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.results.release import Release
from graphcuts_dp.results.release_parts import (
    later_measurement_parts,
    measurement_parts,
    with_later_measurement,
)
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import vertex_sets
from graphcuts_dp.synth import budget_plans
from graphcuts_dp.synth.base import what_could_show
from graphcuts_dp.synth.budget_plans import (
    EDGES,
    SQUARED_DISTANCE,
    MatrixShares,
    MeasuredGroups,
    after_edge_counts,
)
from graphcuts_dp.synth.decisions import Decisions, MatrixDecisions
from graphcuts_dp.synth.mechanisms import SPARSE
from graphcuts_dp.synth.sparse_decisions import SparseDecisions

# Bits that an entry takes on the disk, by the kind of noise: the noisy value, the weight of the
# fit, and its edge in the longest format. Measured on 300 and 800 to 1000 vertices with 10 edges
# each, with epsilon = 1: 18 and 9 for binary noise, 302 and 303 for Laplace noise, whose fit has
# all edges.
_ENTRY_BITS = {"binary": 20, "other": 320}


@dataclass(frozen=True, kw_only=True)
class GraphJob(Job[Release]):
    """The job of a release of a graph.

    Attributes:
        graph: of the schema, without any edge.
        privacy_unit: of the guarantee.
        noise: name of the distribution of the entries, or of kept edges.
        distribution: noise of a pair if all of epsilon went to the entries.
        groups: public groups whose sums are measured; None if there are none.
        completer: makes the result of the measurements.
    """

    kind: str = "release"
    graph: AnyGraph
    privacy_unit: PrivacyUnit
    noise: str
    distribution: NoiseDistribution
    groups: MeasuredGroups | None
    completer: Completion

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
            decisions: for audits: they replace those of the job.
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
        del guarantee  # that of the measurements also has the steps that ran
        return self.completer.release(measured, self.graph.space, source, progress)

    def parts(self, measured: Measurements, guarantee: PrivacyGuarantee) -> ResultParts:
        """See `Job.parts`: the measurements, before the fit."""
        del guarantee  # as in `finish`
        return measurement_parts(measured, self.graph.space)

    def completion(self, source: EntropySource) -> dict[str, Any]:
        """See `Job.completion`."""
        return completion_to_dict(self.completer, repeatable(source))

    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> Release:
        """See `Job.completed`: with the fit of the job, which may be one of the user's own."""
        return release_of(saved, self.completer, completion, progress)

    @abstractmethod
    def decisions(self) -> Decisions:
        """Return the decisions that the plan depends on, before anything is measured."""


@final
class SquaredDistanceOfFit(SecondMeasurement[Release]):
    """Measures the squared distance of a private graph from the fit of its release."""

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
    """The job of a release with a noisy value for every pair.

    Attributes:
        least_distribution: noise of the entries if as much of epsilon as possible goes to other
            statistics.
        shares: of degrees and total, with the mechanism.
        may_fit: whether releases with these options fit a graph; a forecast of one fits none.
    """

    completer: MatrixCompletion
    least_distribution: NoiseDistribution
    shares: MatrixShares
    may_fit: bool

    @property
    def result_bytes(self) -> int:
        """See `Job.result_bytes`: noisy entries and the fit of them hardly compress."""
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
        # The decisions divide what is left of epsilon once edges are counted.
        counts_edges = EDGES in self.budget_plan.statistics
        epsilon = after_edge_counts(self.budget_plan.unreserved, counted=counts_edges)
        return MatrixDecisions(self.shares, epsilon, sides)

    @property
    def second_measurement(self) -> SquaredDistanceOfFit | None:
        """See `Job.second_measurement`: the squared distance of the fit, if the plan has it."""
        has_fit = self.completer.options is not None
        has_step = SQUARED_DISTANCE in self.budget_plan.statistics
        return SquaredDistanceOfFit() if has_fit and has_step else None

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
        graph = self.graph
        notes: list[str | None] = []
        if self.noise == "discrete-laplace" and graph.weighted:
            notes.append("Weights are rounded down to whole numbers.")
        notes.append(expected_error_note(self.least_distribution, graph.shape))
        if self.may_fit and not graph.weighted:
            epsilon = float(self.budget_plan.amount)
            notes.append(communities_note(graph, epsilon, noise=self.noise))
        notes.append(size_note(graph.shape, noise=self.noise, fit=self.may_fit))
        return tuple(filter(None, notes))


@final
@dataclass(frozen=True, kw_only=True)
class SparseJob(GraphJob):
    """The job of a release of edges with a large noisy weight, degrees, and sums between groups.

    Attributes:
        chosen_by_user: whether the user chose the mechanism, and not "auto".
    """

    chosen_by_user: bool

    def decisions(self) -> Decisions:
        """See `GraphJob.decisions`."""
        after_counts = self.budget_plan.amount * (1 - budget_plans.COUNTS_SHARE)
        return SparseDecisions(
            self.budget_plan,
            sparse_distribution(self.graph, self.noise, after_counts),
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
        return sparse_notes(self.graph.shape, chosen_by_user=self.chosen_by_user)


def communities_note(
    graph: AnyGraph, epsilon: float, *, noise: str, guess: float | None = None, group_size: int = 1
) -> str | None:
    """Return a note on the communities and single edges that a synthetic graph can show.

    It is computed from the vertex sets, epsilon and a public guess of the number of edges: the true
    number is private.

    Args:
        graph: of the schema, without weights.
        epsilon: privacy parameter for one edge.
        noise: name of the distribution of the entries.
        guess: of the number of edges; None for a note on the degrees that are needed.
        group_size: number of edges that may change together, for which the note states epsilon.

    Returns:
        None if a graph of so many edges as the guess can keep communities.
    """
    size = size_of(Universe.of(graph))
    flips = noise == "binary"  # whether noise flips bits
    if guess is not None:
        _, degree_per_edge = sqrt_and_degree_per_edge(size)
        needed = epsilon_needed(size, guess * degree_per_edge, flips=flips)
        if epsilon >= needed:
            return None
        return (
            "A synthetic graph of so many edges will have no communities: "
            f"{what_could_show(group_size * needed)} them."
        )
    if not flips:  # the epsilon of flipped bits with the same deviation
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


def sparse_notes(shape: tuple[int, int], *, chosen_by_user: bool) -> tuple[str, ...]:
    """Return the notes before a sparse release, from public numbers alone.

    Args:
        shape: rows and columns.
        chosen_by_user: whether the user chose the mechanism.
    """
    size = " x ".join(f"{side:,}" for side in sorted(set(shape)))
    reason = (
        f"{size} vertices are released sparsely (--mechanism sparse): the noisy matrix of all "
        "pairs would not fit here, or would hide all but the heaviest edges."
    )
    contents = (
        "Released are edges whose noisy weight is large, degrees and sums between groups; without "
        "large weights, degrees and groups alone."
    )
    return (contents,) if chosen_by_user else (reason, contents)
