"""`release_graph`: options become a job with a budget plan, which is measured once and then fitted.

A release of a graph has a noisy matrix (`MatrixJob`), or it is sparse (`SparseJob`), which takes
time and memory for the edges of a graph and not for its pairs. Read `release_graph`, `graph_job`,
and the methods `measure` and `finish` of the jobs in `graph_jobs`, in this order.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from types import NoneType
from typing import Any, final

from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.noises import best_capped_noise, noise_distribution
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph
from graphcuts_dp.graph.private_data import PrivateSource, private_data
from graphcuts_dp.graph.rows import PrivateData, paired_graph, without_rows
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.cells import sides_of_groups
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.options import check_type, chosen
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import rounded_up, stated_cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import Seed
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.release.completion import (
    MatrixCompletion,
    SparseCompletion,
)
from graphcuts_dp.release.graph_jobs import MatrixJob, SparseJob
from graphcuts_dp.release.guarantees import release_guarantee
from graphcuts_dp.release.job import execute
from graphcuts_dp.release.measuring import sparse_distribution
from graphcuts_dp.release.sizes import check_size, needed_memory
from graphcuts_dp.resources import Progress, memory_limit, silent
from graphcuts_dp.results.release import Release
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.synth.base import FitMethod
from graphcuts_dp.synth.budget_plans import (
    ENTRIES,
    FEWEST_TESTED,
    MatrixShares,
    MeasuredGroups,
    can_be_certified,
    matrix_plan,
    sparse_plan,
)
from graphcuts_dp.synth.mechanisms import (
    AUTO,
    MECHANISM_OPTIONS,
    RESPONSE,
    SPARSE,
    SPLIT,
    Mechanism,
)
from graphcuts_dp.synth.methods import FitOptions

_MANY_VERTICES = 2000  # from which "auto" releases weights without a maximum sparsely


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
        noise: "binary" (flipped bits, least error; the default for graphs without weights),
            "laplace" (the default for graphs with weights at small epsilon), "staircase" (for
            weights with a maximum; the default where its errors are smaller by a tenth or more,
            from epsilon = 2.25 on) or "discrete-laplace" (weights are rounded down to whole
            numbers). None for the default.
        mechanism: how epsilon is spent: "auto", "randomized-response",
            "degrees+randomized-response" or "sparse", perhaps with options, as in
            "sparse:degree-share=.3", or a `Mechanism`, which holds them.
        groups: public groups of the vertices; of a bipartite graph a pair, left and right. Noisy
            sums between them are measured; they are released, constrain the fit "maximum-entropy",
            and are used by answers. The first measurement gets a sixth of their share
            (`group_share`), the second the other five, if the first shows that the groups explain
            more of the graph than its degrees do. Of nested levels the finest with at most 256
            groups counts. Beyond epsilon of about 6 the entries alone show sums as well.
        fit: how the synthetic graph is fitted: "auto", "maximum-entropy", "first-order",
            "cutting-plane", "game", "spectral" or "none", perhaps with options, as in
            "first-order:time-limit=60"; an object that satisfies `FitMethod`, or a `FitOptions`,
            which holds such options.
        privacy_unit: the difference between neighbouring data: "edge", or a `PrivacyUnit`. If k
            edges may change together, the mechanism spends epsilon/k on one; for a user k is the
            largest number of pairs, rows or units that count, see `Rows.bounded`.
        store: path of the store, or a `Store`, that records what was spent on this graph: the
            release is charged to it, and refused if its budget does not allow it. None for a graph
            of which nothing else is ever released.
        seed: makes the run repeatable and voids the guarantee: an integer, or a SeedSequence or
            Generator of numpy; None for the system's entropy. The noise is the same on every
            machine whose memory suffices for the noisy matrix, or with a mechanism that is named;
            the last digits of the fit depend on the processor.
        progress: True shows a bar; a function is called with the fraction done and a message.

    Returns:
        A `Release`. If the private graph has weights, its synthetic one has about the measured
        number of edges, with whole weights in [0, max_weight] if the true ones seem to be whole,
        else rounded to four decimals; `Release.expected` has the weights of the fit, on all pairs.

    Raises:
        ParameterError: an option out of range, or options that do not fit together.
        GraphError: fewer than two vertices, or more than this machine's memory allows; groups of
            other vertices, or more than 256 on every level.
        BudgetError: the budget of the store does not allow the release. Nothing was spent.
        LedgerError: the store cannot be used.

    Warns:
        AccuracyWarning: before anything is spent, if no graph of this size can have cuts above the
            expected error; afterwards, if the noisy matrix shows no communities, or communities so
            near to its noise that the synthetic graph may have merged some (`FitSummary.warning`).

    Guarantee: epsilon-DP at edge level: see `measure`, which draws all noise; everything else is
    computed from its result. Neighbours: graphs on the same public vertices that differ in one
    pair, or in `PrivacyUnit.edge(k)` of them, by group privacy.
    Accuracy: with the default confidence, ||x - A||_C (matrix form) is at most
    `worst_cut_error_bound` of the release, and at most 2.01 times `noise_cut_bound` with the
    maximum-entropy fit: if ||x - z||_C is not proven to be within that bound, x is mixed with the
    first-order fit until it is, if that fit is within it and the time limit allows. See each fit
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
    """Return the job of `release_graph` with these options. Reads the schema of the data alone.

    Args:
        data: the private graph or rows, or data of the same schema without rows.
        epsilon: as for `release_graph`.
        noise: as for `release_graph`.
        mechanism: as for `release_graph`.
        groups: as for `release_graph`.
        fit: as for `release_graph`.
        privacy_unit: as for `release_graph`.
        fitted: whether a synthetic graph is fitted; without it there is none.
        simulated: for forecasts: no synthetic graph is fitted, but the budget plan is that of a
            release with one.

    Raises:
        ParameterError, GraphError: as `release_graph`.

    Examples:
        >>> job = gc.release.graph_job(gc.datasets.load("karate"), epsilon=1.0)
        >>> job.cost.epsilon
        1.0
    """
    empty = without_rows(data)
    del data  # nothing below can reach it
    chosen_mechanism = chosen(mechanism, MECHANISM_OPTIONS, "mechanism")
    if not isinstance(chosen_mechanism, Mechanism):
        raise ParameterError(f"mechanism is a name or a Mechanism, not {mechanism!r:.60}")
    check_type("noise", noise, (str, NoneType), "a name or None")
    fitting = fit if isinstance(fit, FitOptions) else FitOptions.of(fit)
    graph, privacy_unit = paired_graph(empty, privacy_unit, epsilon=epsilon)
    if not isinstance(graph, BipartiteGraph) and graph.n < 2:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    noise_name, max_weight = noise or ("laplace" if graph.weighted else "binary"), graph.max_weight
    measured_groups = None
    if groups is not None:
        measured_groups = MeasuredGroups.of(sides_of_groups(graph, groups), graph.shape)
    setting = _JobSetting(empty, graph, epsilon, privacy_unit, noise_name, measured_groups)
    if takes_sparse(
        graph.shape, chosen_mechanism, fitting, noise=noise_name, max_weight=max_weight
    ):
        return setting.sparse_job(
            chosen_mechanism, fitting, with_graph=fitted and not simulated and fitting.fit != "none"
        )
    if noise is None and graph.weighted and max_weight is not None:
        best_noise = best_capped_noise(privacy_unit.per_change(epsilon), max_weight)
        setting = replace(setting, noise=best_noise)
    return setting.matrix_job(chosen_mechanism, fitting, fitted=fitted, simulated=simulated)


@final
@dataclass(frozen=True)
class _JobSetting:
    """The schema and the options that jobs of both kinds are made of; no private row.

    Attributes:
        empty: data of the schema, without any row.
        graph: the graph of these data, without any edge.
        epsilon: of the release, for one `privacy_unit`.
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
        self, mechanism: Mechanism, fitting: FitOptions, *, fitted: bool, simulated: bool
    ) -> "MatrixJob":
        """Return the job of a release with a noisy matrix."""
        graph = self.graph
        method = fitting.method(graph.max_weight)
        if method is not None:
            method.check_size(graph.shape)
        check_size(graph.shape, noise=self.noise, fit=method is not None)
        epsilon = self.privacy_unit.per_change(self.epsilon)
        distribution = distribution_for(graph, self.noise, epsilon)
        mechanism = _fitting_mechanism(mechanism, method)
        has_maximum = not graph.weighted or graph.max_weight is not None
        # For directed graphs the choice by the test had a larger regret than that by degrees.
        suits_test = has_maximum and not isinstance(graph, DirectedGraph)
        is_tested = suits_test and min(graph.shape) >= FEWEST_TESTED
        tested_layout = Layout.of(graph.space) if is_tested else None
        shares = MatrixShares(
            graph.shape, graph.max_weight, self.noise, mechanism, tested=tested_layout
        )
        certified = (
            (fitted or simulated)
            and method is not None
            and fitting.certificate
            and can_be_certified(graph.max_weight, weighted=graph.weighted, epsilon=epsilon)
        )
        plan = matrix_plan(
            shares,
            distribution,
            epsilon=epsilon,
            groups=self.groups,
            certified=certified,
            edge_counts=graph.weighted and method is not None,
        )
        check_noise_of_parts(plan, self.noise, distribution)
        least_distribution = noise_distribution(
            self.noise, epsilon=plan.least(ENTRIES), max_weight=graph.max_weight
        )
        return MatrixJob(
            **self._shared_attributes(distribution, plan),
            least_distribution=least_distribution,
            shares=shares,
            completer=MatrixCompletion(
                options=fitting if fitted and not simulated and method is not None else None,
                weighted=graph.weighted,
                max_weight=graph.max_weight,
                integral=self.noise == "discrete-laplace",
            ),
            may_fit=method is not None,
        )

    def sparse_job(
        self, mechanism: Mechanism, fitting: FitOptions, *, with_graph: bool
    ) -> "SparseJob":
        """Return the job of a sparse release."""
        epsilon = self.privacy_unit.per_change(self.epsilon)
        _check_sparse(fitting)
        distribution = sparse_distribution(self.graph, self.noise, epsilon)
        plan = sparse_plan(
            epsilon=epsilon,
            noise=distribution.name,
            groups=self.groups is not None,
            bipartite=isinstance(self.graph, BipartiteGraph),
            degrees=mechanism.share,
        )
        if plan.smallest < SMALLEST_EPSILON:
            smallest = Fraction(SMALLEST_EPSILON) * self.privacy_unit.group_size
            least_epsilon = up_to_digits(
                smallest * Fraction(plan.amount) / Fraction(plan.smallest), 2
            )
            raise ParameterError(
                f"mechanism='sparse' divides epsilon, which must be {least_epsilon:g} at least"
            )
        return SparseJob(
            **self._shared_attributes(distribution, plan),
            completer=SparseCompletion(
                with_graph=with_graph,
                weighted=self.graph.weighted,
                max_weight=self.graph.max_weight,
                integral=distribution.unit == 1,
            ),
            chosen_by_user=mechanism.mechanism == SPARSE,
        )

    def _shared_attributes(
        self, distribution: NoiseDistribution, plan: BudgetPlan
    ) -> dict[str, Any]:
        """Return the attributes of `GraphJob`, as keywords."""
        plan = replace(plan, group_size=self.privacy_unit.group_size, delta=distribution.cost.delta)
        delta = plan.cost.delta  # of the noise, if it is not purely private
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


def check_noise_of_parts(plan: BudgetPlan, noise: str, distribution: NoiseDistribution) -> None:
    """Refuse noise of entries that would cost more than their amount in some run.

    Noise that is purely private costs its epsilon; other noise states its own cost, which may be
    larger than a part of epsilon. It must be known before anything is charged.

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


def _fitting_mechanism(mechanism: Mechanism, method: FitMethod | None) -> Mechanism:
    """Return the mechanism, or "randomized-response" for fits that do not use degrees.

    Raises:
        ParameterError: degrees for a fit that does not use them.
    """
    if method is not None and method.uses_degrees:
        return mechanism
    if mechanism.mechanism == SPLIT or mechanism.degree_share is not None:
        raise ParameterError("noisy degrees are used by fit='maximum-entropy' only")
    return replace(mechanism, mechanism=RESPONSE)


def takes_sparse(
    shape: tuple[int, int],
    mechanism: Mechanism,
    fitting: FitOptions,
    *,
    noise: str,
    max_weight: float | None,
) -> bool:
    """Return whether a release is sparse: by the user's choice, or by "auto".

    From public numbers and the memory of this machine, before anything is spent. "auto" is sparse
    if the noisy matrix and its fit need more memory than this machine has; and for weights without
    a maximum from `_MANY_VERTICES` on, since the noise of n^2/2 pairs is then larger than all cuts
    but those between heavy pairs, which kept edges show as well.

    Args:
        shape: rows and columns.
        mechanism: how epsilon is spent.
        fitting: of the synthetic graph; a fit that the user named needs a noisy matrix.
        noise: name of the distribution of the entries.
        max_weight: public maximum weight; None without one.
    """
    if mechanism.mechanism == SPARSE:
        return True
    if not may_be_sparse(mechanism, fitting):
        return False
    if max_weight is None and max(shape) >= _MANY_VERTICES:
        return True
    limit = memory_limit()
    return limit is not None and needed_memory(shape, noise=noise, fit=True) > limit


def may_be_sparse(mechanism: Mechanism, fitting: FitOptions) -> bool:
    """Return whether a release is sparse if the graph is too large for a noisy matrix.

    Args:
        mechanism: how epsilon is spent.
        fitting: of the synthetic graph.
    """
    return mechanism.mechanism == SPARSE or (mechanism.mechanism, fitting.fit) == (AUTO, "auto")


def _check_sparse(fitting: FitOptions) -> None:
    """Refuse options that a sparse release does not use.

    Raises:
        ParameterError: one of these.
    """
    unused_options = {
        "fit": fitting.fit not in ("auto", "none"),
        "oracle": fitting.oracle != FitOptions().oracle,
        "tolerance": fitting.tolerance is not None,
    }
    for name, is_set in unused_options.items():
        if is_set:
            raise ParameterError(f"{name} is not for mechanism='sparse': leave it out")
