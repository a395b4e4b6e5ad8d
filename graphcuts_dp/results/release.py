"""The object that `release_graph` returns: answers, a synthetic graph, its errors and guarantee.

In docstrings, A is the adjacency matrix of the private graph, z the noisy matrix, and x that of the
synthetic graph. `release_parts` writes and reads the fields and arrays of the files.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, DEFAULT_PERCENT
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.display import MOST_PICTURED, Card, Displayed, size_text
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.estimate.answers import (
    AnswerList,
    CutAnswer,
    answer_queries,
    whole_query,
)
from graphcuts_dp.estimate.estimator import AnswerOptions, Estimator, check_confidence
from graphcuts_dp.estimate.least_squares import MatrixEstimator
from graphcuts_dp.estimate.mean_square import (
    FOR_TOTAL_ERROR,
    FittedWeights,
    RandomHalves,
    SquaredDistance,
    Units,
    random_halves,
)
from graphcuts_dp.estimate.measurement import (
    CellSums,
    CountMeasurement,
    Degrees,
    Measurements,
    Total,
)
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.partition_noise import FOR_TOTAL
from graphcuts_dp.estimate.shrinkage import Synthetic
from graphcuts_dp.estimate.shrunk_answers import NO_SYNTHETIC_GRAPH, ShrunkEstimator
from graphcuts_dp.estimate.sparse_answers import SparseEstimator
from graphcuts_dp.estimate.sparse_model import SparseModel
from graphcuts_dp.estimate.worst_cut_errors import expected_worst_cut, noise_cut_bound
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, graph_of_matrix_rows
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, guarantee_text
from graphcuts_dp.queries.coefficients import as_cut
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.queries.linear import (
    CutQuery,
    LinearQuery,
    RankOneQuery,
    Subset,
    answer_all,
    is_query,
)
from graphcuts_dp.queries.mixed_cuts import with_sides
from graphcuts_dp.results import bundle
from graphcuts_dp.results.packing import ResultParts
from graphcuts_dp.results.release_parts import KIND, read_release, release_fields
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Space, VertexSet, sets_in
from graphcuts_dp.synth.base import FitSummary, Stopped
from graphcuts_dp.synth.fit_weights import DECIMALS, row_parts

_MOST_DRAWN = 200  # vertices of a side in a picture
_TOLERANCE = 1e-6  # absolute and relative, between a number computed on two machines
_STOPPED_TEXTS: dict[Stopped, str] = {  # why a fit ended
    "gap": "ended within its tolerance",
    "settled": "ended when it changed no more",
    "rounds": "ended at its limit of rounds",
    "time": "ended at its limit of time",
}

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphcuts_dp.results.partition import Partition


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(Displayed):
    """A private release: a synthetic graph, the noisy matrix behind it, and their guarantees.

    Everything here may be published: it is the noisy matrix or computed from it.

    Attributes:
        measurements: all that was measured of the private graph, with the guarantee of
            differential privacy for all of it together.
        fit: how the synthetic graph was made; None with fit="none".
        certificate: two-sided bound on ||x - z||_C, the cut norm (matrix form) of synthetic minus
            noisy; None with fit="none", and of a sparse release.
    """

    measurements: Measurements
    fit: FitSummary | None = None
    certificate: CutNormCertificate | None = None
    _graph: AnyGraph | None = None
    # The weights of the fit of all pairs: of graphs without weights in units of 10^-4, as uint16.
    _weights: npt.NDArray[np.uint16 | np.float64] | None = None
    _model: SparseModel | None = None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee of differential privacy, for all parts together."""
        return self.measurements.guarantee

    @property
    def budget_plan(self) -> BudgetPlan | None:
        """Budget plan, with the conditions of its steps; None if it is unknown."""
        return self.guarantee.budget_plan

    @cached_property
    def estimator(self) -> Estimator[LinearQuery]:
        """The estimator of this kind of release."""
        if self._model is not None:
            return SparseEstimator(self.measurements, self._model)
        return self._least_squares

    @cached_property
    def _least_squares(self) -> MatrixEstimator:
        """The estimator from the noisy matrix and what was measured beside it."""
        return MatrixEstimator(self.measurements, self.noisy)

    @cached_property
    def _shrunk_estimator(self) -> Estimator[LinearQuery]:
        """The estimator of shrunk estimates; a sparse release has none, and uses `estimator`."""
        if self._model is not None:
            return self.estimator
        return ShrunkEstimator(self._least_squares, self._synthetic if self.has_graph else None)

    @property
    def _noise_name(self) -> str | None:
        """Name of the distribution of the noise of the entries; None for a sparse release."""
        noisy = self.measurements.matrix
        return None if noisy is None else noisy.distribution.name

    @property
    def noisy(self) -> NoisyMatrix:
        """The noisy matrix, unbiased.

        Raises:
            GraphError: this is a sparse release, which has no noisy matrix.
        """
        noisy = self.measurements.matrix
        if noisy is None:
            raise GraphError("a sparse release has no noisy matrix; use answer or graph")
        return noisy

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the adjacency matrix, public."""
        return self.estimator.shape

    @property
    def space(self) -> Space:
        """Space of the graph, public: one vertex set, two, or `Arcs`."""
        return self.estimator.space

    @property
    def degrees(self) -> CountMeasurement[Degrees] | None:
        """Noisy degrees, if they were measured; the fit of the synthetic graph used them.

        If they were measured twice, the first time to choose how the remaining budget is spent,
        these are the later ones.
        """
        return self.measurements.find(Degrees)

    @property
    def total(self) -> CountMeasurement[Total] | None:
        """Noisy total, if it was measured to choose the mechanism; the fit used it, too."""
        return self.measurements.find(Total)

    @cached_property
    def groups(self) -> GroupNames | None:
        """The public groups that queries may name, if their sums were measured."""
        measured = self.measurements.find(CellSums)
        return None if measured is None else measured.map.names(self.space)

    @property
    def graph(self) -> AnyGraph:
        """The synthetic graph.

        Raises:
            GraphError: the release was made with fit="none".
        """
        if self._graph is None:
            raise GraphError(NO_SYNTHETIC_GRAPH)
        return self._graph

    @cached_property
    def expected(self) -> AnyGraph:
        """The weights of the fit on every pair, from which `graph` was rounded at random.

        In a graph without weights, the weight of a pair here is the probability of its edge in
        `graph`, to the last decimal. In a graph with weights, it is the expected weight of the pair
        in `graph`, most of whose weights are 0. No cut of `graph` differs from the same cut here by
        more than `FitSummary.rounding`. If nothing was rounded, this is `graph`.

        Raises:
            GraphError: the release was made with fit="none", or is a sparse one, whose graph was
                drawn from its model.
        """
        if self._model is not None:
            raise GraphError("a sparse release has no weight for each pair; its model answers cuts")
        if self._weights is None:
            return self.graph
        if self._weights.dtype == np.float64:
            return graph_of_matrix_rows(
                self.space,
                row_parts(self._weights),
                max_weight=self.graph.max_weight,
                note=self.guarantee.warning,
            )
        return graph_of_matrix_rows(
            self.space,
            (rows / 10**DECIMALS for rows in row_parts(self._weights)),
            max_weight=1.0,
            note=self.guarantee.warning,
        )

    @cached_property
    def _synthetic(self) -> Synthetic:
        """The synthetic graph that shrunk answers are drawn towards."""
        return Synthetic(
            self.expected.to_scipy(),
            self.space,
            self.noisy.distribution.standard_deviation,
            symmetric=self.noisy.symmetric,
        )

    @property
    def has_graph(self) -> bool:
        """True if there is a synthetic graph."""
        return self._graph is not None

    @property
    def expected_worst_cut_error(self) -> float:
        """Expected worst cut error of the noisy matrix, from its size and noise; not proven."""
        return expected_worst_cut(self.noisy.distribution, self.noisy.shape)

    def worst_cut_error_bound(self, confidence: float = DEFAULT_CONFIDENCE) -> float:
        """Return an upper bound on ||x - A||_C: no error of a cut of the synthetic graph is larger.

        Edges inside both sets count twice. The bound is the lesser of two:

        1. the certificate plus `noise_cut_bound`. A sparse release does not have it;
        2. the larger of the total weights of x and A: since neither has weights below 0,
           x(S, T) - A(S, T) lies between minus the total of A and the total of x. `answer` bounds
           the total of A, with a tenth of the failure probability if there is a certificate.

        It holds with the given probability over the noise, for all cuts at once. With
        discrete-laplace noise, A has its weights rounded down to whole numbers.

        On 29 graphs of 200 to 600 vertices at epsilon = .5 to 5 it was 2.4 to 38 times the largest
        known error of a cut (median 5.5), and up to 209 times for an x that is nearly A.

        Args:
            confidence: in (0, 1).

        Raises:
            GraphError: the release was made with fit="none".
            QueryError: confidence out of range.
        """
        check_confidence(confidence)
        graph, failure = self.graph, 1 - confidence
        certified = math.inf
        if self.certificate is not None:
            certified = noise_cut_bound(
                self.noisy.distribution,
                self.shape,
                symmetric=self.noisy.symmetric,
                confidence=1 - failure * (1 - FOR_TOTAL),
            )
            certified += self.certificate.upper
            confidence = 1 - failure * FOR_TOTAL
        everything = self._query_of_total
        most_weight = self.answer(everything, confidence=confidence).interval[1]
        synthetic_weight = everything.value(graph) * (1 + 1e-12)  # rounded up
        entries_of_edge = 2 if isinstance(graph.space, VertexSet) else 1
        return min(certified, entries_of_edge * max(most_weight, synthetic_weight))

    @property
    def _query_of_total(self) -> CutQuery:
        """The cut from all rows to all columns, whose value is the total weight."""
        rows, columns = self.shape
        return CutQuery(np.ones(rows, dtype=np.bool_), np.ones(columns, dtype=np.bool_))

    @property
    def _weight_units(self) -> Units | None:
        """The weights of the fit of a graph without weights, in units of 10^-4; None for others."""
        if self._weights is None or self._weights.dtype == np.float64:
            return None
        return cast("Units", self._weights)

    @cached_property
    def fitted_weights(self) -> FittedWeights:
        """The weights of the fit in the form in which its squared distance is measured.

        See `random_halves`.

        Raises:
            GraphError: as `expected`.
        """
        layout = Layout.of(self.space)
        if self._weight_units is not None:  # `expected` would be a graph with every pair
            return FittedWeights.of_units(self._weight_units, layout)
        graph = self.expected
        max_weight = self.noisy.distribution.max_weight or 1.0
        return FittedWeights.of_edges(graph.rows, graph.columns, graph.weights, layout, max_weight)

    def random_halves(self, confidence: float = DEFAULT_CONFIDENCE) -> RandomHalves | None:
        """Return proven bounds on the error of cuts of `expected` between random halves.

        Each vertex is in the first half with probability 1/2, otherwise in the second. The bound
        for any single cut is `worst_cut_error_bound`. The synthetic graph itself was rounded from
        `expected`, which adds to its errors.

        None if no squared distance of this fit was measured: for a sparse release, for weights
        without a maximum, with "certificate=no" among the options of the fit, if epsilon is so
        small that 1 % of it is no use, and if the fit was computed again with another result.

        Args:
            confidence: of all bounds together, in (0, 1).

        Raises:
            QueryError: confidence out of range.

        Examples:
            >>> club = gc.release_graph(gc.datasets.load("karate"), epsilon=3.0)
            >>> halves = club.random_halves()
            >>> halves.scatter_at_most < halves.root_mean_square
            True
        """
        check_confidence(confidence)
        measured = self.measurements.find(SquaredDistance)
        if measured is None or measured.map.fit_digest != self.fitted_weights.digest:
            return None
        confidence_of_total = 1 - (1 - confidence) * FOR_TOTAL_ERROR
        return random_halves(
            measured,
            self.fitted_weights,
            total=self.answer(self._query_of_total, confidence=confidence_of_total).interval,
            rounded=self._weight_units is None,
            confidence=confidence,
        )

    def answer(
        self,
        S: Subset | str | LinearQuery,
        T: Subset | str | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
        estimate: str = "unbiased",
    ) -> CutAnswer:
        """Answer any linear query from all that was measured; free, as often as you like.

        The value is the unbiased estimate of least variance from entries, degrees and the total
        together, so that values may be added up and averaged; only the interval is cut to what is
        possible. It holds whatever the graph is, see `NoiseSum.radius`. A sparse release measured
        some cuts only: unions of groups, one vertex and the others. Other cuts are answered by its
        model, and `kind` of the answer is "model". The typical error beside the proven interval
        is then an estimate and no guarantee, see `CutAnswer`.

        Rank-one, matrix and other linear queries are answered from entries and degrees, by
        releases of up to 2^24 pairs; a sparse release answers cuts alone.

        Args:
            S: vertex labels or a truth vector, or "*" for all vertices, or a whole query, such as a
                `CutQuery` or a `RankOneQuery`; in a release with groups also names such as
                "@Sales", see `GroupNames`. Labels of a bipartite release may be of both sides, see
                `MixedCut`.
            T: vertices as for S; None for all vertices outside S (with two sides, all right ones).
            confidence: of the interval, in (0, 1).
            simultaneous: whether the interval holds for all cuts at once, and for all rank-one
                queries. Choose it when the query was picked after looking at this release.
            estimate: "unbiased", or "shrunk": drawn towards the synthetic graph's value where the
                two agree, which is nearer to the truth on most cuts, and has no guarantee. The
                interval stays the proven one. "model": always the model of a sparse release.

        Raises:
            QueryError: an unknown vertex, a confidence out of range, or an unknown estimate.
            GraphError: a shrunk estimate without a synthetic graph.
        """
        if is_query(S):
            query = whole_query(S, T)
        else:
            make_query = CutQuery if self.groups is None else self.groups.query
            query = make_query(cast(Subset, S), T)
        return self.answer_all(
            [query], confidence=confidence, simultaneous=simultaneous, estimate=estimate
        )[0]

    def answer_all(
        self,
        queries: Iterable[LinearQuery],
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
        joint: bool = False,
        estimate: str = "unbiased",
    ) -> AnswerList:
        """Answer several queries; see `answer`.

        Each interval holds with the given confidence by itself unless `simultaneous` or `joint` is
        given. Shrunk estimates of a list are computed together: the accuracy of the synthetic graph
        for a kind of cuts (with similar overlaps and sizes) is estimated from all cuts of that kind
        in the list, so a list of thirty cuts gains much more than one cut.

        Args:
            queries: cuts, and other linear queries.
            confidence: of the intervals, in (0, 1).
            simultaneous: see `answer`.
            joint: whether with this confidence not one of the intervals is wrong, for a list that
                was chosen before looking at this release. Each of k different cuts may fail with a
                probability of (1 - confidence)/k, and the probability that any does is at most
                their sum (Bonferroni): intervals 1.5 times as long for 100 cuts, twice for 10,000.
            estimate: see `answer`.

        Raises:
            QueryError: as `answer`; or both joint and simultaneous, which includes joint.
        """
        typed_queries = [with_group_sets(query, self.groups, self.space) for query in queries]
        options = AnswerOptions(
            confidence=confidence, simultaneous=simultaneous, joint=joint, estimate=estimate
        )
        estimator = self._shrunk_estimator if estimate == "shrunk" else self.estimator
        return answer_queries(
            estimator, typed_queries, options, seeded=not self.guarantee.is_private
        )

    def partition(
        self,
        kind: str,
        *,
        parts: int | None = None,
        resolution: float | None = None,
        smallest: int = 1,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> "Partition":
        """Find a partition of the vertices in what was released; free, as often as you like.

        It is searched in the weights of the synthetic graph, or in the noisy matrix without one.
        Its interval holds although it was chosen after looking, and there is a bound on how much
        better the best partition of the true graph can be. Both are wide if there is much noise:
        the interval of a cut in two halves reaches about 0.6 n^1.5 standard deviations of an entry
        to either side. The proven numbers of a sparse release are wider still.

        Args:
            kind: "max-cut": two parts with much weight between them. "sparsest": two sides with
                little weight across for each pair of vertices across. "balanced": parts whose sizes
                differ by one at most, with little weight between. "clusters": any number of parts,
                with much of the sum, over pairs within parts, of their weight less the resolution
                (correlation clustering). "hierarchy": a binary tree; a pair costs its weight times
                the number of vertices below its lowest common branch.
            parts: the number of parts of "balanced", or into which the tree of "hierarchy" is cut;
                2 if None.
            resolution: of "clusters", at least 0; None for the mean weight of a pair. 0.5 asks for
                the least disagreements, in a graph without weights.
            smallest: of "sparsest": fewest vertices of a side.
            confidence: of interval and bound together, in (0, 1).

        Raises:
            ParameterError: an unknown kind, an option that it does not have or out of range.
            GraphError: a graph with directions or of two sides, or one that is too large.

        Examples:
            >>> club = gc.release_graph(gc.datasets.load("karate"), epsilon=3.0)
            >>> halves = club.partition("balanced")
            >>> [len(part) for part in halves.parts]
            [17, 17]
            >>> low, high = halves.interval  # of the true graph
        """
        from graphcuts_dp.results.partition import partition_of  # slow
        from graphcuts_dp.synth.partitions import Partitioning

        partitioning = Partitioning(
            parts=parts, resolution=resolution, smallest=smallest, confidence=confidence
        )
        return partition_of(self, kind, partitioning)

    def plot(
        self, queries: Sequence[CutQuery] | None = None, *, title: str | None = None
    ) -> "Figure":
        """Draw answers with their intervals, and beside them what the synthetic graph has.

        Args:
            queries: the cuts, in the order of the picture; None for each vertex against all others
                (of a bipartite graph each left one), the largest first, of at most 200 vertices.
            title: above the picture, before the guarantee.

        Returns:
            A figure of matplotlib: `figure.savefig("answers.png")`.

        Raises:
            QueryError: no queries, or an unknown vertex.
        """
        from graphcuts_dp.plotting.answer_lists import answer_list_figure  # slow: matplotlib

        names: list[str] = []
        x_label = "query number"
        if queries is None:
            side = sets_in(self.space)[0]
            step = math.ceil(len(side) / _MOST_DRAWN)
            labels = side.labels[::step]
            names = [str(label) for label in labels]
            cuts = [CutQuery([label]) for label in labels]
            x_label = "vertex, by its answer"
            if step > 1:
                x_label += f" (one vertex in {step})"
            title = title or "Edges of each vertex"
        else:
            cuts = list(queries)
        if not cuts:
            raise QueryError("there are no queries to draw")
        answers = self.answer_all(cuts)
        values = np.array([answer.value for answer in answers])
        low, high = np.array([answer.interval for answer in answers]).T
        synthetic = np.array(answer_all(cuts, self.graph)) if self.has_graph else None
        order = np.arange(len(cuts))
        if queries is None:
            order = np.argsort(-values, kind="stable")
        return answer_list_figure(
            values=values[order],
            low=low[order],
            high=high[order],
            names=[names[index] for index in order] if names else [],
            second_values=None if synthetic is None else synthetic[order],
            second_label="the synthetic graph",
            title=f"{title or 'Cuts'} ({guarantee_text(self.guarantee)})",
            x_label=x_label,
            unit=f"{self.guarantee.counted} between S and T",
        )

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the release: the graph at `path`, a receipt and what was measured beside it.

        Args:
            path: of the graph; the ending decides its format, as for `Graph.write`. The receipt is
                `path` + ".json", the measurements (and the model of a sparse release) are in
                `path` + ".noisy.npz". With fit="none" no graph is written.
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: unknown ending, missing folder, files that are there, a full disk.
                Nothing is left behind then, and older files stay as they are.
        """
        return bundle.save(self.to_parts(), path, force=force)

    def to_parts(self) -> ResultParts:
        """Return what `save` writes."""
        fields, arrays = release_fields(self)
        return ResultParts(
            kind=KIND, guarantee=self.guarantee, fields=fields, arrays=arrays, graph=self._graph
        )

    @classmethod
    def load(cls, path: PathLike, *, graph: bool = True) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.
            graph: whether to read the synthetic graph of a sparse release, which takes most of the
                time; its answers come from the model alone.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        if not graph:
            graph = bundle.read_receipt(bundle.receipt_path(path)).get("model") is None
        with bundle.opened(path, KIND, graph=graph) as saved:
            release = cls(**read_release(saved))
            _check_random_halves(release, saved.fields.get("random_halves"))
            return release

    def facts(self) -> dict[str, object]:
        """Return facts about the release in a few words, by name."""
        guarantee, noise = self.guarantee, self._noise_name
        facts: dict[str, object] = {
            "guarantee": str(guarantee),
            "epsilon_spent_on": dict(guarantee.spent) or {"entries": guarantee.epsilon},
        }
        if noise is not None:
            facts |= {"noise": noise, "expected_worst_cut_error": self.expected_worst_cut_error}
        facts["vertices"] = " x ".join(str(n) for n in self.shape)
        if self.has_graph:
            facts["worst_cut_error_at_most"] = self.worst_cut_error_bound()
        if self.fit is not None and self.certificate is not None:
            fit = self.fit
            facts |= {
                "fit": f"{fit.method} ({fit.objective}), {_STOPPED_TEXTS[fit.stopped]}",
                "distance_from_noisy_matrix_at_least": self.certificate.lower,
                "distance_from_noisy_matrix_at_most": self.certificate.upper,
            }
            facts |= {} if fit.warning is None else {"communities": fit.warning}
            facts |= {} if fit.gap is None else {"fit_gap": fit.gap}
            if fit.rounding is not None:
                facts["cuts_moved_by_rounding_at_most"] = fit.rounding
            halves = self.random_halves()
            facts |= {} if halves is None else {"random_halves": str(halves)}
        return facts

    def _picture(self) -> "Figure | None":
        return self.plot() if sum(self.shape) <= MOST_PICTURED else None

    def _card(self) -> Card:
        measured = ", ".join(value.name for value in self.measurements.values)
        facts: list[tuple[str, object]] = [
            ("vertices", size_text(self.shape)),
            ("measured", measured),
            ("synthetic graph", "none" if self.fit is None else f"fit {self.fit.method!r}"),
        ]
        if self._noise_name is not None:
            facts.append(("noise", self._noise_name))
        if self.certificate is not None:
            facts += [
                ("distance from the noisy matrix at most", self.certificate.upper),
                (
                    f"error of any cut at most ({DEFAULT_PERCENT})",
                    self.worst_cut_error_bound(),
                ),
            ]
        return Card(
            title="Release",
            facts=(*facts, *self.guarantee.facts),
            warning=self.guarantee.warning,
            notes=("Everything here may be published.",) if self.guarantee.is_private else (),
        )

    def __repr__(self) -> str:
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        size = " x ".join(str(n) for n in self.shape)
        mechanism = "sparse"
        if self._noise_name is not None:
            graph_text = "no synthetic graph" if self.fit is None else f"fit={self.fit.method!r}"
            mechanism = f"noise={self._noise_name!r}, {graph_text}"
        return f"Release({size}, epsilon={self.guarantee.epsilon:g}, {mechanism}{mark})"


def _check_random_halves(release: Release, stated: Mapping[str, Any] | None) -> None:
    """Check the bounds on random halves that a receipt states against fit and measurements.

    Args:
        release: as it was read.
        stated: fields of the receipt; None if it states no bounds.

    Raises:
        ValueError: the bounds differ.
    """
    if stated is None:
        return
    halves = release.random_halves(stated["confidence"]) if release._graph is not None else None
    computed = {} if halves is None else halves.to_dict()
    if halves is None or any(
        not math.isclose(computed[name], stated[name], rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        for name in ("total_error_at_most", "scatter", "scatter_at_most")
    ):
        raise ValueError("the bounds on random halves are for another fit")


def with_group_sets(query: LinearQuery, names: GroupNames | None, space: Space) -> LinearQuery:
    """Return a query with sets in place of names of groups; a rank-one cut becomes a cut.

    Args:
        query: as a caller passes it.
        names: of the groups of the release; None without groups.
        space: of the graph.

    Raises:
        QueryError: no query, unknown groups or vertices.
    """
    if not is_query(query):
        raise QueryError(f"{query!r:.60} is no query: give a CutQuery or another linear query")
    if isinstance(query, CutQuery):
        return with_sides(query if names is None else names.named(query), space)
    if isinstance(query, RankOneQuery):
        return as_cut(query, space) or query
    return query
