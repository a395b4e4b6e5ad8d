"""Learners: update rules that are not yet tuned.

A *construction* is an update rule tuned to a tolerance alpha, with a first hypothesis that has the
total weight of the graph (see `learn.base`). Both numbers are known only after a part of the
budget is spent. A *learner* holds what is known before: the public vertex pairs (the `Universe`)
and what was announced of the queries. Its method `construction` makes the construction.

The learners of this package are `FriezeKannanLearner`, `MultiplicativeWeightsLearner`,
`MirrorDescentLearner`, and for tiny graphs `MedianLearner`. Users can write their own, see
`Learner`. `learn.constructions` has the table of names.

Terms used here:

- X is the number of vertex pairs, M the total weight. B(alpha), an `UpdateBound`, bounds the number
  of updates.
- A `Rule` is "as printed" for the steps of a paper, "tight" for the best of the same proof.
- The *potential* of a rule is its distance between the truth and the hypothesis.
- A *norm* of mirror descent is a name of `learn.norms`: "l2", "lp", "2,p", "entropy", "schatten".
  `NormTerms` holds what one of them gives for a graph, such as its exponent p.
- A *private norm* is a number that bounds a norm of the private graph and lowers B if it is known:
  the sum of the square roots of the row degrees ("root degrees", for "2,p"), or the sum of the
  singular values ("nuclear norm", for "schatten"). Whoever runs the learner measures it with noise
  before B is known; `measure.statistics.PRIVATE_NORMS` says how.
- `universe.masks(query)` are the truth vectors of the sets S and T of a cut, over rows and columns.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol, Self

import numpy as np

from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.final_classes import final
from graphcuts_dp.learn.base import Construction, DenseHypothesis, Hypothesis, Rule
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.bounds import UpdateBound, entropy_start, squared_start
from graphcuts_dp.learn.cut_sum import CutSum
from graphcuts_dp.learn.group_start import Distance, GroupStart
from graphcuts_dp.learn.median import DatabaseFamily, Median, all_graphs
from graphcuts_dp.learn.norms import (
    AUTO,
    BIPARTITE_NORMS,
    MOST_VERTICES,
    NormTerms,
    norms_of,
    nuclear_norm_can_help,
    parse_norm,
    root_degrees_can_help,
    terms_of,
)
from graphcuts_dp.learn.potentials import Box, Entropy, GroupNorm, LpNorm, Potential, SchattenNorm
from graphcuts_dp.learn.rules import (
    FriezeKannanRule,
    MirrorDescentRule,
    MultiplicativeWeightsRule,
)
from graphcuts_dp.learn.sizes import CutSizes, Size, size_of
from graphcuts_dp.queries.coefficients import MOST_COEFFICIENTS
from graphcuts_dp.queries.linear import CutQuery, LinearQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import one_blas_thread

MOST_DENSE_VERTICES = 8192  # on a side, if a matrix of all pairs is held: 8 n^2 bytes are 512 MiB
MOST_MEDIAN_PAIRS = 16  # of the median, which lists all 2^16 graphs
ROOT_DEGREES, NUCLEAR_NORM = "root degrees", "nuclear norm"  # the two private norms, by name

_KEPT_FAMILIES = 4  # lists of all graphs that are kept in memory
_ROUNDING = 1e-9  # relative: by how much a computed singular value may exceed its limit
# With these two norms of mirror descent, the potential is a multiple of a distance for which
# `learn.group_start` bounds a start from public groups. With another norm there is no such start.
_DISTANCES: Mapping[str, Distance] = {"l2": "squares", "entropy": "relative entropy"}

Learned = Construction[Any]  # what a learner makes; the class of hypotheses differs


class Learner(Protocol):
    """An update rule with its public sizes, before it is tuned.

    You can write one and pass it to `release_iteratively(graph, construction=HalfSteps(universe),
    ...)`; `Universe.of(graph)` gives the universe. Privacy does not rest on it. The stated accuracy
    rests on the `update_bound` of its construction::

        @dataclass(frozen=True)
        class HalfSteps:
            universe: Universe
            name: str = "half-steps"

            def construction(self, *, alpha, total_weight, total_error, value_error=None):
                return FriezeKannanRule(
                    start=CutSum.constant(self.universe, total_weight / self.universe.size),
                    alpha=alpha / 2,
                    start_potential=total_weight,
                )

    A learner that cannot learn from every cut also has a method `check(query)`, which raises
    QueryError for a cut that it refuses. A learner with an attribute `version` can be the method of
    a session, see `own_learner.OwnLearner`.
    """

    @property
    def name(self) -> str:
        """The name, as users type it."""

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""

    def construction(
        self,
        *,
        alpha: float,
        total_weight: float,
        total_error: float,
        value_error: float | None = None,
    ) -> Learned:
        """Return the construction tuned to alpha, for weights in [0, 1].

        Args:
            alpha: tolerance, in edges.
            total_weight: the total weight, or a noisy value of it, in (0, X].
            total_error: how far the true total may be from `total_weight`, >= 0.
            value_error: how far the noisy answers that are given to updates may be from the true
                ones, in edges; None if no more is known than that they are within alpha.

        Raises:
            ParameterError: an alpha that is too small for `total_error`.
        """


@dataclass(frozen=True)
class GroupLearner:
    """Base of the learners of this package: it says if one can begin from a `GroupStart`.

    A `GroupStart` is a first hypothesis from noisy weights between public groups. It has an upper
    bound on its distance from the truth, in squares or in relative entropy. If the potential of a
    learner is a multiple of one of these, the bound times `potential_scale` bounds the potential.
    Other learners leave `distance` at None, and then the other two methods must not be called.

    Attributes:
        universe: the public vertex pairs.
    """

    universe: Universe

    @property
    def distance(self) -> Distance | None:
        """The distance; None if the learner cannot begin from a `GroupStart`."""
        return None

    def potential_scale(self, total_weight: float) -> float:  # noqa: ARG002
        """Return the potential divided by the distance; `total_weight` is that of the start."""
        return 1.0

    def first_hypothesis(self, start: GroupStart) -> Hypothesis:
        """Return the start as a hypothesis that the rule can update."""
        return start.blocks()


@final
@dataclass(frozen=True)
class FriezeKannanLearner(GroupLearner):
    """Frieze-Kannan: hypotheses are sums of cuts, for graphs of any size.

    Attributes:
        universe: the public vertex pairs.
        disjoint: whether S and T of all queries are disjoint; other cuts are then refused. On one
            vertex set this halves the bound on the number of updates.
        rule: see `Rule`. The start is the density of all pairs, or 0 as printed.
        dense: whether there will be linear queries with any coefficients in [-1, 1], not only cuts.
            Hypotheses are then matrices. B is that of cuts: it depends on queries only by the
            largest sum of squared coefficients over pairs, which is at most X for both.
        step: of every update, in edges; None for that of the rule.
    """

    disjoint: bool = False
    rule: Rule = "tight"
    dense: bool = False
    step: float | None = None

    name = "frieze-kannan"

    def construction(
        self,
        *,
        alpha: float,
        total_weight: float,
        total_error: float = 0.0,
        value_error: float | None = None,
    ) -> Learned:
        """Return the construction, see `Learner.construction`. The total may be 0."""
        density, potential = squared_start(
            self.universe.size, total_weight, total_error=total_error, rule=self.rule
        )
        start = (DenseHypothesis if self.dense else CutSum).constant(self.universe, density)
        return FriezeKannanRule(
            start=start,
            alpha=alpha,
            start_potential=potential,
            rule=self.rule,
            # the most pairs of a cut between disjoint sets; None for X
            largest_norm_squared=self.universe.disjoint_norm_squared if self.disjoint else None,
            value_error=value_error,
            fixed_step=self.step,
        )

    @property
    def distance(self) -> Distance | None:
        """The squares; None as printed."""
        return "squares" if self.rule == "tight" else None

    def first_hypothesis(self, start: GroupStart) -> CutSum:
        """Return the start as a sum of no cuts."""
        return CutSum(self.universe, start.blocks())

    def check(self, query: CutQuery) -> None:
        """Refuse cuts with overlapping sets if `disjoint` was announced; else refuse nothing.

        Raises:
            QueryError: such a cut, or one with unknown vertices.
        """
        if self.disjoint:
            check_disjoint(query, self.universe)


def check_disjoint(query: CutQuery, universe: Universe) -> None:
    """Refuse a cut whose sets S and T share vertices.

    Raises:
        QueryError: such a cut, or unknown vertices.
    """
    S, T = universe.masks(query)
    if not universe.bipartite and (S & T).any():
        raise QueryError(
            "only cuts with disjoint S and T were announced; start again without disjoint=True"
        )


@final
@dataclass(frozen=True)
class MultiplicativeWeightsLearner(GroupLearner):
    """Multiplicative weights, for up to 8192 vertices a side.

    Cuts split the vertices into blocks, and the hypothesis holds a weight for each two blocks.
    After many updates each vertex is a block: then it holds a weight for every pair.

    Attributes:
        universe: the public vertex pairs.
        rule: see `Rule`.
        span: None if all queries are cuts. With other linear queries the length of an interval that
            holds 0 and all coefficients: 1 for [0, 1], 2 for [-1, 1]. Hypotheses are then matrices.
            B is proportional to the square of the span.
        eta: factor of every update; None for that of the rule.

    Raises:
        ParameterError: more vertices than that.
    """

    rule: Rule = "tight"
    span: float | None = None
    eta: float | None = None

    name = "multiplicative-weights"

    def __post_init__(self) -> None:
        if max(self.universe.shape) > MOST_DENSE_VERTICES:
            raise ParameterError(
                f"multiplicative weights hold a number for each pair: up to {MOST_DENSE_VERTICES}"
                " vertices; use construction='frieze-kannan'"
            )

    def construction(
        self,
        *,
        alpha: float,
        total_weight: float,
        total_error: float = 0.0,
        value_error: float | None = None,
    ) -> Learned:
        """Return the construction, see `Learner.construction`."""
        pairs = self.universe.size
        density = total_weight / max(pairs, 1)
        hypotheses = BlockHypothesis if self.span is None else DenseHypothesis
        return MultiplicativeWeightsRule(
            start=hypotheses.constant(self.universe, density),
            alpha=alpha,
            start_potential=entropy_start(
                pairs, total_weight, total_error=total_error, rule=self.rule
            ),
            total_error=total_error,
            span=1.0 if self.span is None else self.span,
            rule=self.rule,
            value_error=value_error,
            eta=self.eta,
        )

    @property
    def distance(self) -> Distance | None:
        """The relative entropy; None as printed."""
        return "relative entropy" if self.rule == "tight" else None


@final
@dataclass(frozen=True)
class MedianLearner(GroupLearner):
    """The median of all graphs without weights that the answers still allow; at most 16 pairs.

    It also learns from statistics of whole graphs, such as the number of triangles (`GraphQuery`).

    Raises:
        ParameterError: more pairs than that, or none.
    """

    name = "median"

    def __post_init__(self) -> None:
        if not 1 <= self.universe.size <= MOST_MEDIAN_PAIRS:
            raise ParameterError(
                f"the median lists all graphs: up to {MOST_MEDIAN_PAIRS} vertex pairs; use"
                " multiplicative-weights or frieze-kannan"
            )

    def construction(
        self,
        *,
        alpha: float,
        total_weight: float = 0.0,  # noqa: ARG002  # the median starts from all graphs
        total_error: float = 0.0,  # noqa: ARG002
        value_error: float | None = None,  # noqa: ARG002  # and needs only signs
    ) -> Learned:
        """Return the construction, see `Learner.construction`; only alpha is used.

        Noise can be too large for any graph to fit: the update then keeps the nearest graphs.
        """
        return Median(start=_every_graph(self.universe), alpha=alpha, lenient=True)


@lru_cache(maxsize=_KEPT_FAMILIES)
def _every_graph(universe: Universe) -> DatabaseFamily:
    """Return all graphs without weights on these pairs."""
    return all_graphs(universe)


@final
@dataclass(frozen=True)
class MirrorDescentLearner(GroupLearner):
    """Mirror descent with a norm of `learn.norms`; hypotheses are matrices.

    The hypothesis of l2, lp and 2,p stays a matrix of weights in [0, 1]. With l2, updates are
    Frieze-Kannan updates, each followed by a projection; with entropy they are multiplicative
    weights.

    Some norms need an upper bound of a private number before B is known: 2,p the sum of the root
    degrees, schatten the nuclear norm. `measured_norm` names it, the session measures it with
    noise, and `with_norm_bound` returns the learner that has the bound.

    Attributes:
        universe: the public vertex pairs.
        disjoint: whether all queries are cuts with disjoint S and T; others are then refused.
        rule: see `Rule`.
        norm: see `parse_norm`; "auto" is, for each tolerance, the norm of least B.
        max_right_size: of a bipartite graph: the most right vertices of a query; more are refused.
            None for no limit.
        may_measure_degrees: whether `measured_norm` may name a private norm (either of the two, in
            spite of the name) if the norm is "auto". A named norm is not affected.
        root_degrees: an upper bound of the sum of root degrees, public; None if not measured.
        linear: whether there will be linear queries with any coefficients in [-1, 1], not only
            cuts.
        max_spectral_norm: with `linear`, on bipartite graphs only: the largest singular value of
            the matrix of a query whose largest coefficient is 1; a larger one is refused. None for
            no limit.
        nuclear_norm: an upper bound of the nuclear norm, public; None if not measured.
        eta: of every update; None for that of the rule. It needs a norm by name.

    Raises:
        ParameterError: an unknown norm, one that such a graph cannot have, too many vertices, or
            an eta for norm "auto".
    """

    disjoint: bool = False
    rule: Rule = "tight"
    norm: str = "l2"
    max_right_size: int | None = None
    may_measure_degrees: bool = True
    root_degrees: float | None = None
    linear: bool = False
    max_spectral_norm: float | None = None
    nuclear_norm: float | None = None
    eta: float | None = None

    name = "mirror-descent"

    def __post_init__(self) -> None:
        if self.linear and self.disjoint:
            raise ParameterError("disjoint=True is for cuts; leave it out with linear=True")
        rows, columns = self.universe.shape
        if self.linear and rows * columns > MOST_COEFFICIENTS:  # 2^24: 128 MiB of floats
            raise ParameterError(
                f"mirror descent learns from linear queries with up to {MOST_COEFFICIENTS:,}"
                " coefficients; use method 'gaussian'"
            )
        norm, _ = self._parsed_norm
        if self.eta is not None and norm == AUTO:
            raise ParameterError(
                "eta has a meaning for one norm only: name it, for example norm='l2'"
            )
        limit = MOST_VERTICES["l2" if norm == AUTO else norm]
        if max(self.universe.shape) > limit:
            raise ParameterError(
                f"mirror descent with norm {self.norm!r} holds a number for each pair: up to"
                f" {limit} vertices; use 'frieze-kannan'"
            )
        if not self.universe.size:
            raise ParameterError("a universe without vertex pairs has nothing to learn")
        # `terms_of` raises if such a graph cannot have the norm, whatever the total weight is. The
        # terms for this made-up total are thrown away.
        self._terms(total_weight=1.0, total_error=0.0)

    @cached_property
    def _parsed_norm(self) -> tuple[str, float | None]:
        """The norm, or "auto", and its exponent p; p is None for the exponent of least B."""
        return parse_norm(self.norm)

    @cached_property
    def _sizes(self) -> CutSizes:
        """Sizes of the graph and of its queries."""
        return CutSizes.of(
            size_of(self.universe),
            disjoint=self.disjoint,
            max_right_size=self.max_right_size,
            linear=self.linear,
            spectral=self.max_spectral_norm,
        )

    @property
    def _norms(self) -> tuple[str, ...]:
        """The norms that the learner may take: one, or all that the graph can have for "auto"."""
        norm, _ = self._parsed_norm
        # `norms_of` leaves out norms of bipartite graphs on others, and those for fewer vertices.
        return norms_of(self._sizes) if norm == AUTO else (norm,)

    @property
    def measured_norm(self) -> str | None:
        """The private norm that should be measured, "root degrees" or "nuclear norm".

        None if none should be. Norm "2,p" always wants the root degrees. Norm "schatten" wants the
        nuclear norm if that can give it a smaller B than "l2". With "auto", a private norm is
        wanted if some graph of this size has its least B with the norm that it belongs to.
        """
        norm, p = self._parsed_norm
        if norm == AUTO:
            if not self.may_measure_degrees:
                return None
            # The two functions tell from public sizes whether any graph of this size has its least
            # B with this norm. If none has, measuring would be a waste of budget.
            if "schatten" in self._norms and nuclear_norm_can_help(self._sizes):
                return NUCLEAR_NORM
            if "2,p" in self._norms and root_degrees_can_help(self._sizes):
                return ROOT_DEGREES
            return None
        if norm == "2,p":
            return ROOT_DEGREES
        # The nuclear norm enters B of schatten only with p < 2. Without `max_spectral_norm` no such
        # p has a smaller B than p = 2, however small the nuclear norm is; and p = 2 is l2, which
        # needs no private norm. So it is not measured then, even if the user has fixed a p < 2.
        if norm == "schatten" and p != 2 and self.max_spectral_norm is not None:
            return NUCLEAR_NORM
        return None

    def with_norm_bound(self, bound: float) -> Self:
        """Return the learner with this upper bound of its `measured_norm`, if that is not None."""
        if self.measured_norm == NUCLEAR_NORM:
            return replace(self, nuclear_norm=bound)
        return replace(self, root_degrees=bound)

    def _terms(self, *, total_weight: float, total_error: float) -> list[NormTerms]:
        """Return the terms of each norm that the learner may take."""
        _, p = self._parsed_norm
        terms = [
            terms_of(
                norm,
                p,
                self._sizes,
                total_weight=total_weight,
                total_error=total_error,
                root_degrees=self.root_degrees,
                nuclear_norm=self.nuclear_norm,
                rule=self.rule,
            )
            for norm in self._norms
        ]
        return [replace(norm_terms, eta=self.eta) for norm_terms in terms]

    def terms_at(self, *, alpha: float, total_weight: float, total_error: float) -> NormTerms:
        """Return the terms of the norm of least B at this tolerance."""
        return min(
            self._terms(total_weight=total_weight, total_error=total_error),
            key=lambda terms: terms.updates(alpha),
        )

    def with_chosen_norm(self, *, alpha: float, total_weight: float, total_error: float) -> Self:
        """Return the learner with the norm of least B at this tolerance in place of "auto"."""
        norm, _ = self._parsed_norm
        if norm != AUTO:
            return self
        terms = self.terms_at(alpha=alpha, total_weight=total_weight, total_error=total_error)
        return replace(self, norm=terms.norm)

    def update_bound(self, *, total_weight: float, total_error: float) -> UpdateBound:
        """Return B: with "auto" the least B of all norms, for each tolerance."""
        candidates = self._terms(total_weight=total_weight, total_error=total_error)
        return lambda alpha: min(terms.updates(alpha) for terms in candidates)

    def construction(
        self,
        *,
        alpha: float,
        total_weight: float,
        total_error: float,
        value_error: float | None = None,
    ) -> Learned:
        """Return the construction, see `Learner.construction`."""
        terms = self.terms_at(alpha=alpha, total_weight=total_weight, total_error=total_error)
        return MirrorDescentRule(
            # the same weight on every pair: the density, or 0
            start=BlockHypothesis.constant(self.universe, terms.weight),
            psi=potential_of(terms, total_weight),
            alpha=alpha,
            zeta=terms.zeta,  # largest dual norm of a query
            start_potential=terms.start_potential,
            domain=Box() if terms.in_unit_box else None,  # hypotheses stay in [0, 1], or need not
            rule=self.rule,
            value_error=value_error,
            shift=terms.shift,  # entropy: the error of the total, which shortens steps; else 0
            eta=self.eta,
        )

    @property
    def distance(self) -> Distance | None:
        """The distance of norms "l2" and "entropy"; None for others, "auto", and as printed."""
        norm, _ = self._parsed_norm
        return _DISTANCES.get(norm) if self.rule == "tight" else None

    def potential_scale(self, total_weight: float) -> float:
        """Return 1/2 for squares, M^2 for the relative entropy, where M is the start's total.

        M is noisy, but public: `potential_of` makes the entropy potential M sum x ln x with the
        same M. Do not call it if `distance` is None: there is no factor then.
        """
        return 0.5 if self.distance == "squares" else total_weight**2

    def first_hypothesis(self, start: GroupStart) -> DenseHypothesis:
        """Return the start as a matrix; for l2 clipped to at most 1.

        With l2 all hypotheses must lie in [0, 1]. The truth lies there too, so clipping moves no
        entry away from it, and the bound on the distance in squares still holds. With entropy the
        start is not clipped: hypotheses may be above 1, and clipping would change their total,
        which must stay M.
        """
        weights = start.weights
        if self.distance == "squares":
            weights = np.minimum(weights, 1.0)
        return DenseHypothesis(self.universe, weights[np.ix_(*start.labels)])

    def check(self, query: LinearQuery) -> None:
        """Refuse queries that do not keep to what was announced.

        Raises:
            QueryError: such a query, or unknown vertices.
        """
        # Callers divide a linear query by its largest coefficient before they ask. So its singular
        # values can be compared with `max_spectral_norm`, which is for such queries.
        if isinstance(query, CutQuery):
            S, T = self.universe.masks(query)
            if self.disjoint:
                check_disjoint(query, self.universe)
            right_size = int(T.sum())
            # Used only with `max_spectral_norm`, so on a bipartite graph. There the matrix of a cut
            # is an outer product: its one singular value is its Euclidean norm.
            spectral_norm = math.sqrt(float(S.sum()) * float(T.sum()))
        elif not self.linear:
            raise QueryError("only cuts were announced; start again with linear=True")
        elif self.max_right_size is None and self.max_spectral_norm is None:
            return
        else:
            coefficients = self.universe.coefficients(query)
            right_size = int(coefficients.any(axis=0).sum())  # columns with a coefficient
            spectral_norm = 0.0
            if self.max_spectral_norm is not None:
                with one_blas_thread():
                    spectral_norm = float(np.linalg.norm(coefficients, 2))
        if self.max_right_size is not None and right_size > self.max_right_size:
            kind = "queries" if self.linear else "cuts"
            raise QueryError(
                f"only {kind} with at most {self.max_right_size:,} right vertices were announced;"
                " start again with a larger max_right_size, or without it"
            )
        limit = self.max_spectral_norm
        if limit is not None and spectral_norm > limit * (1 + _ROUNDING):
            raise QueryError(
                f"the query's largest singular value is {spectral_norm:,.4g} times its largest"
                f" coefficient, but at most {limit:,.4g} was announced; start"
                " again with a larger max_spectral_norm, or without it"
            )


def potential_of(terms: NormTerms, total_weight: float) -> Potential:
    """Return the potential of a norm; of the entropy with this total."""
    if terms.p is None:
        return Entropy(total_weight)
    # With p = 2, "2,p" and "schatten" are the Euclidean norm of all entries, which `LpNorm` is
    # fastest at. With p < 2 they need the rows, or the singular values, of a bipartite matrix.
    if terms.p < 2 and terms.norm in BIPARTITE_NORMS:
        return GroupNorm(terms.p) if terms.norm == "2,p" else SchattenNorm(terms.p)
    return LpNorm(terms.p)


@final
@dataclass(frozen=True, kw_only=True)
class KnownConstruction:
    """An entry of the table of constructions.

    Attributes:
        initials: abbreviation for printed tables.
        learner: makes the learner from the universe, whether all queries are cuts with disjoint S
            and T, and the form of the rule.
        updates: returns B on simple graphs from the size, the number of edges, the form of the rule
            and whether S and T are disjoint.
    """

    initials: str
    learner: Callable[[Universe, bool, Rule], Learner]
    updates: Callable[[Size, float, Rule, bool], UpdateBound]
