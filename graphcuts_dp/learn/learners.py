"""Update rules that wait for their tolerance and for the total weight, and the table of them.

`CONSTRUCTIONS` is what `construction=` and a session's `method=` can name. Sessions, iterative
releases, the planner and the audits read it: a new construction is its file and a line there.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol, Self, final

import numpy as np

from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.learn.base import Construction, DenseHypothesis, Hypothesis, Rule
from graphcuts_dp.learn.blocks import BlockHypothesis, BlockStart, Distance
from graphcuts_dp.learn.bounds import (
    CutSizes,
    Size,
    UpdateBound,
    entropy_start,
    frieze_kannan_updates,
    multiplicative_weights_updates,
    size_of,
    squared_start,
)
from graphcuts_dp.learn.cut_sum import CutSum
from graphcuts_dp.learn.median import Median, all_graphs
from graphcuts_dp.learn.norms import (
    AUTO,
    MOST_VERTICES,
    OF_TWO_SIDES,
    NormTerms,
    norm_updates,
    norms_of,
    parse_norm,
    terms_of,
    worth_buying,
    worth_nuclear,
)
from graphcuts_dp.learn.potentials import Box, Entropy, GroupNorm, LpNorm, Potential, SchattenNorm
from graphcuts_dp.learn.rules import (
    FriezeKannanRule,
    MirrorDescentRule,
    MultiplicativeWeightsRule,
)
from graphcuts_dp.queries.graph_queries import MOST_COEFFICIENTS
from graphcuts_dp.queries.linear import CutQuery, LinearQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import one_blas_thread

# A side, where a matrix of all pairs is held: 8 n^2 bytes are then 512 MiB.
MOST_DENSE_VERTICES = 8192
MOST_PAIRS = 16  # of the median: it lists 2^16 graphs
OWN = "own: "  # how a stored method of somebody's own begins
_LONGEST = 60
Learned = Construction[Any]


class Learner(Protocol):
    """An update rule with its public sizes. Everything about it is in its repr.

    A rule of your own, which `release_iteratively(graph, construction=HalfSteps(universe), ...)`
    takes; `Universe.of(graph)` gives the universe. Privacy does not rest on it; the stated accuracy
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

    A rule that cannot learn from every cut has a method `check(query)`, too, which raises
    QueryError for the others. With a `version` it is also a method of sessions, see `OwnLearner`.
    """

    @property
    def name(self) -> str:
        """As it is typed."""

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
        """The construction tuned to alpha, for weights in [0, 1].

        Args:
            alpha: tolerance.
            total_weight: the total weight, or a noisy value of it, in (0, X].
            total_error: how far the true total may be from `total_weight`, >= 0.
            value_error: how far values given to updates may be off; None means alpha.

        Raises:
            ParameterError: an alpha that is too small for `total_error`.
        """


@dataclass(frozen=True)
class GroupLearner:
    """A learner that can begin from a `BlockStart`, and knows its potential there.

    Attributes:
        universe: the public vertex pairs.
    """

    universe: Universe

    @property
    def distance(self) -> Distance | None:
        """Its potential is a multiple of this; None where no bound is known for such a start."""
        return None

    def potential_scale(self, total_weight: float) -> float:  # noqa: ARG002
        """The potential over the distance."""
        return 1.0

    def first(self, start: BlockStart) -> Hypothesis:
        """The first hypothesis."""
        return start.blocks()


@final
@dataclass(frozen=True)
class FriezeKannanLearner(GroupLearner):
    """Sums of cuts: for graphs of any size.

    Attributes:
        universe: the public vertex pairs.
        disjoint: whether S and T of all queries are disjoint, which halves the number of updates;
            others are then refused.
        rule: see `Rule`. As printed it starts from nothing.
        dense: whether any linear queries with coefficients in [-1, 1] come, not only cuts: then a
            matrix is held. ||q||^2 is at most X for all of them, which is what B is for.
    """

    disjoint: bool = False
    rule: Rule = "tight"
    dense: bool = False

    name = "frieze-kannan"

    def construction(
        self,
        *,
        alpha: float,
        total_weight: float,
        total_error: float = 0.0,
        value_error: float | None = None,
    ) -> Learned:
        """See `Learner.construction`. The total may be 0."""
        density, potential = squared_start(
            self.universe.size, total_weight, total_error=total_error, rule=self.rule
        )
        start = (DenseHypothesis if self.dense else CutSum).constant(self.universe, density)
        return FriezeKannanRule(
            start=start,
            alpha=alpha,
            start_potential=potential,
            rule=self.rule,
            largest_norm_squared=self.universe.disjoint_norm_squared if self.disjoint else None,
            value_error=value_error,
        )

    @property
    def distance(self) -> Distance | None:
        """See `GroupLearner`."""
        return "squares" if self.rule == "tight" else None

    def first(self, start: BlockStart) -> CutSum:
        """See `GroupLearner`."""
        return CutSum(self.universe, start.blocks())

    def check(self, query: CutQuery) -> None:
        """Refuse cuts that were announced not to come."""
        if self.disjoint:
            check_disjoint(query, self.universe)


def check_disjoint(query: CutQuery, universe: Universe) -> None:
    """Refuse a cut of which S and T share vertices, where others were announced.

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
    """A weight for every pair in the end: for up to 8192 vertices a side.

    Attributes:
        universe: the public vertex pairs.
        rule: see `Rule`.
        span: of any linear queries, not only cuts: R of their coefficients, 1 for those in [0, 1],
            2 where some are negative; B grows with its square, and a matrix is held. None for cuts,
            and blocks, of which no update can make more than there are vertices.

    Raises:
        ParameterError: more vertices than that.
    """

    rule: Rule = "tight"
    span: float | None = None

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
        """See `Learner.construction`."""
        kind = BlockHypothesis if self.span is None else DenseHypothesis
        pairs = self.universe.size
        return MultiplicativeWeightsRule(
            start=kind.constant(self.universe, total_weight / max(pairs, 1)),
            alpha=alpha,
            start_potential=entropy_start(
                pairs, total_weight, total_error=total_error, rule=self.rule
            ),
            total_error=total_error,
            span=self.span or 1.0,
            rule=self.rule,
            value_error=value_error,
        )

    @property
    def distance(self) -> Distance | None:
        """See `GroupLearner`."""
        return "relative entropy" if self.rule == "tight" else None


@final
@dataclass(frozen=True)
class MedianLearner(GroupLearner):
    """The median of all graphs without weights that the answers still allow; at most 16 pairs.

    Sessions ask it statistics of whole graphs, too: see `GraphQuery`.

    Raises:
        ParameterError: more pairs than that, or none.
    """

    name = "median"

    def __post_init__(self) -> None:
        if not 1 <= self.universe.size <= MOST_PAIRS:
            raise ParameterError(
                f"the median lists all graphs: up to {MOST_PAIRS} vertex pairs; use"
                " multiplicative-weights or frieze-kannan"
            )

    def construction(self, **terms: Any) -> Learned:
        """See `Learner.construction`: the total weight plays no part."""
        return Median(start=_every_graph(self.universe), alpha=terms["alpha"], lenient=True)


_every_graph = lru_cache(maxsize=4)(all_graphs)

# The norms whose potential at a start from groups is known.
_DISTANCES: Mapping[str, Distance] = {"l2": "squares", "entropy": "relative entropy"}


@final
@dataclass(frozen=True)
class MirrorDescentLearner(GroupLearner):
    """Mirror descent with a norm of `learn.norms`: a matrix of weights is held.

    The hypothesis of l2, lp and 2,p stays a matrix of weights in [0, 1]. With l2 it makes
    Frieze-Kannan steps, each followed by a projection; with entropy multiplicative weights.

    Attributes:
        universe: the public vertex pairs.
        disjoint: whether all cuts have disjoint S and T; others are then refused.
        rule: see `Rule`.
        norm: see `parse_norm`; "auto" is, for each tolerance, the one of least B.
        max_right_size: of a bipartite graph: T has at most so many right vertices; None for any
            number.
        may_measure_degrees: whether "auto" may want the sum of root degrees.
        roots: an upper bound of that sum, public; None where it was not measured.
        linear: whether any linear queries with coefficients in [-1, 1] come, not only cuts.
        max_spectral_norm: of these: none has a larger singular value; None for any.
        nuclear: an upper bound of the nuclear norm, public; None where it was not measured.

    Raises:
        ParameterError: an unknown norm, one that such a graph cannot have, or too many vertices.
    """

    disjoint: bool = False
    rule: Rule = "tight"
    norm: str = "l2"
    max_right_size: int | None = None
    may_measure_degrees: bool = True
    roots: float | None = None
    linear: bool = False
    max_spectral_norm: float | None = None
    nuclear: float | None = None

    name = "mirror-descent"

    def __post_init__(self) -> None:
        if self.linear and self.disjoint:
            raise ParameterError("disjoint=True is for cuts; leave it out with linear=True")
        rows, columns = self.universe.shape
        if self.linear and rows * columns > MOST_COEFFICIENTS:
            raise ParameterError(
                f"mirror descent learns from linear queries with up to {MOST_COEFFICIENTS:,}"
                " coefficients; use method 'gaussian'"
            )
        norm = self._parsed[0]
        limit = MOST_VERTICES["l2" if norm == AUTO else norm]
        if max(self.universe.shape) > limit:
            raise ParameterError(
                f"mirror descent with norm {self.norm!r} holds a number for each pair: up to"
                f" {limit} vertices; use 'frieze-kannan'"
            )
        if not self.universe.size:
            raise ParameterError("a universe without vertex pairs has nothing to learn")
        self._terms(1.0, 0.0)  # refuses a norm that such a graph cannot have

    @cached_property
    def _parsed(self) -> tuple[str, float | None]:
        return parse_norm(self.norm)

    @cached_property
    def _sizes(self) -> CutSizes:
        return CutSizes.of(
            size_of(self.universe),
            disjoint=self.disjoint,
            max_right_size=self.max_right_size,
            linear=self.linear,
            spectral=self.max_spectral_norm,
        )

    @property
    def _norms(self) -> tuple[str, ...]:
        norm = self._parsed[0]
        return norms_of(self._sizes) if norm == AUTO else (norm,)

    @property
    def measured_norm(self) -> str | None:
        """The private norm that it wants a bound on, of `PRIVATE_NORMS`; for "auto" if it may help.

        The sum of root degrees for 2,p, the nuclear norm for schatten.
        """
        norm, p = self._parsed
        if norm != AUTO:
            spread = norm == "schatten" and p != 2 and self.max_spectral_norm is not None
            return "nuclear norm" if spread else "root degrees" if norm == "2,p" else None
        if not self.may_measure_degrees:
            return None
        if "schatten" in self._norms and worth_nuclear(self._sizes):
            return "nuclear norm"
        return "root degrees" if "2,p" in self._norms and worth_buying(self._sizes) else None

    def knowing(self, bound: float) -> Self:
        """The learner that knows a bound on what it buys."""
        if self.measured_norm == "nuclear norm":
            return replace(self, nuclear=bound)
        return replace(self, roots=bound)

    def _terms(self, total_weight: float, total_error: float) -> list[NormTerms]:
        """Of each norm that it may take."""
        return [
            terms_of(
                norm,
                self._parsed[1],
                self._sizes,
                total_weight=total_weight,
                total_error=total_error,
                roots=self.roots,
                nuclear=self.nuclear,
                rule=self.rule,
            )
            for norm in self._norms
        ]

    def chosen(self, *, alpha: float, total_weight: float, total_error: float) -> NormTerms:
        """The terms of the norm that it takes at this tolerance."""
        return min(self._terms(total_weight, total_error), key=lambda terms: terms.updates(alpha))

    def settled(self, *, alpha: float, total_weight: float, total_error: float) -> Self:
        """The learner with the norm that it takes at this tolerance."""
        terms = self.chosen(alpha=alpha, total_weight=total_weight, total_error=total_error)
        return replace(self, norm=terms.norm) if self._parsed[0] == AUTO else self

    def update_bound(self, *, total_weight: float, total_error: float) -> UpdateBound:
        """B for all tolerances: with "auto" the least of all norms, for each."""
        found = self._terms(total_weight, total_error)
        return lambda alpha: min(terms.updates(alpha) for terms in found)

    def construction(
        self,
        *,
        alpha: float,
        total_weight: float,
        total_error: float,
        value_error: float | None = None,
    ) -> Learned:
        """See `Learner.construction`."""
        terms = self.chosen(alpha=alpha, total_weight=total_weight, total_error=total_error)
        return MirrorDescentRule(
            start=BlockHypothesis.constant(self.universe, terms.weight),
            psi=potential_of(terms, total_weight),
            alpha=alpha,
            zeta=terms.zeta,
            start_potential=terms.start_potential,
            domain=Box() if terms.boxed else None,
            rule=self.rule,
            value_error=value_error,
            shift=terms.shift,
        )

    @property
    def distance(self) -> Distance | None:
        """See `GroupLearner`: of norms "l2" and "entropy", named as such."""
        return _DISTANCES.get(self._parsed[0]) if self.rule == "tight" else None

    def potential_scale(self, total_weight: float) -> float:
        """See `GroupLearner`: half of all squares, or M^2 times the relative entropy."""
        return 0.5 if self.distance == "squares" else total_weight**2

    def first(self, start: BlockStart) -> DenseHypothesis:
        """See `GroupLearner`. Of l2 within [0, 1], which is nearer to every truth in there."""
        weights = start.weights
        if self.distance == "squares":
            weights = np.minimum(weights, 1.0)
        return DenseHypothesis(self.universe, weights[np.ix_(*start.labels)])

    def check(self, query: LinearQuery) -> None:
        """Refuse queries that were announced not to come."""
        if isinstance(query, CutQuery):
            S, T = self.universe.masks(query)
            if self.disjoint:
                check_disjoint(query, self.universe)
            right, spectral = int(T.sum()), math.sqrt(float(S.sum()) * float(T.sum()))
        elif not self.linear:
            raise QueryError("only cuts were announced; start again with linear=True")
        elif (self.max_right_size, self.max_spectral_norm) == (None, None):
            return
        else:
            coefficients = self.universe.coefficients(query)
            right = int(coefficients.any(axis=0).sum())
            with one_blas_thread():
                known = self.max_spectral_norm is None
                spectral = 0.0 if known else float(np.linalg.norm(coefficients, 2))
        if self.max_right_size is not None and right > self.max_right_size:
            kind = "queries" if self.linear else "cuts"
            raise QueryError(
                f"only {kind} with at most {self.max_right_size:,} right vertices were announced;"
                " start again with a larger max_right_size, or without it"
            )
        if self.max_spectral_norm is not None and spectral > self.max_spectral_norm * (1 + 1e-9):
            raise QueryError(
                f"the query's largest singular value is {spectral:,.4g} times its largest"
                f" coefficient, but at most {self.max_spectral_norm:,.4g} was announced; start"
                " again with a larger max_spectral_norm, or without it"
            )


def potential_of(terms: NormTerms, total_weight: float) -> Potential:
    """The potential of a norm; of the entropy with this total."""
    if terms.p is None:
        return Entropy(total_weight)
    # With p = 2 the norms are one, and that of entries is the fastest.
    if terms.p < 2 and terms.norm in OF_TWO_SIDES:
        return GroupNorm(terms.p) if terms.norm == "2,p" else SchattenNorm(terms.p)
    return LpNorm(terms.p)


def bound_of(
    learner: Learner, *, alpha: float, total_weight: float, total_error: float
) -> UpdateBound:
    """B of a learner, for all tolerances.

    Args:
        learner: any.
        alpha: a tolerance that it can surely be tuned to.
        total_weight: as for `Learner.construction`.
        total_error: likewise.
    """
    if isinstance(learner, MirrorDescentLearner):
        return learner.update_bound(total_weight=total_weight, total_error=total_error)
    made = learner.construction(alpha=alpha, total_weight=total_weight, total_error=total_error)
    return made.update_bound


@final
@dataclass(frozen=True)
class OwnLearner:
    """A learner of one's own, of which name and version alone are kept.

    A session makes its corrections again from the record when it is opened. So whoever changes what
    the learner does must change its version; a store with another one then refuses to go on.
    Privacy does not rest on that, nor on the learner at all: it sees noisy numbers, queries and
    what tests found, and the number of corrections is capped whatever it does. It must not look at
    the graph.

    Attributes:
        universe: the public vertex pairs.
        name: of the learner.
        version: as text.
        learner: itself; not part of what is compared or shown.
    """

    universe: Universe
    name: str
    version: str
    learner: Learner = field(repr=False, compare=False)

    @classmethod
    def of(cls, learner: Any) -> "OwnLearner":
        """A learner with a name and a version.

        Args:
            learner: as `Learner` describes it, with `version`, a text or a whole number.

        Raises:
            ParameterError: it has none, or is no learner.
        """
        if not all(hasattr(learner, name) for name in ("construction", "universe", "name")):
            raise ParameterError("method is a name, or an object as `Learner` describes it")
        version = getattr(learner, "version", None)
        if not isinstance(version, str | int) or isinstance(version, bool):
            raise ParameterError(
                "a learner of your own needs a version in a session, for example version = 1: the"
                " store keeps its name and its version, and takes no other when it is opened again"
            )
        for text in (learner.name, str(version)):
            if not isinstance(text, str) or not 0 < len(text) <= _LONGEST or not text.isprintable():
                raise ParameterError(
                    f"name and version of a learner are printable texts of up to {_LONGEST} letters"
                )
        return cls(learner.universe, learner.name, str(version), learner)

    @property
    def method(self) -> str:
        """What a store keeps of it."""
        return f"{OWN}{self.name}, version {self.version}"

    def construction(self, **terms: Any) -> Learned:
        """See `Learner.construction`."""
        return self.learner.construction(**terms)

    @property
    def check(self) -> Callable[[Any], None] | None:
        """What refuses queries, if it has that."""
        return getattr(self.learner, "check", None)


@final
@dataclass(frozen=True, kw_only=True)
class KnownConstruction:
    """A line of the table.

    Attributes:
        initials: for tables.
        learner: makes it from the universe, whether only cuts with disjoint S and T will come,
            and which form of its rule.
        updates: B on simple graphs, from the size, the number of edges, the form of the rule and
            whether S and T are disjoint.
    """

    initials: str
    learner: Callable[[Universe, bool, Rule], Learner]
    updates: Callable[[Size, float, Rule, bool], UpdateBound]


CONSTRUCTIONS: Mapping[str, KnownConstruction] = {
    "multiplicative-weights": KnownConstruction(
        initials="MW",
        learner=lambda universe, _, rule: MultiplicativeWeightsLearner(universe, rule),
        updates=lambda n, edges, rule, _: multiplicative_weights_updates(n, edges, rule=rule),
    ),
    "frieze-kannan": KnownConstruction(
        initials="FK",
        learner=FriezeKannanLearner,
        updates=frieze_kannan_updates,
    ),
    "mirror-descent": KnownConstruction(
        initials="MD", learner=MirrorDescentLearner, updates=norm_updates
    ),
}


def learner_of(
    construction: str | Learner,
    universe: Universe,
    *,
    disjoint: bool = False,
    rule: Rule = "tight",
    norm: str | None = None,
    signed: bool | None = None,
    **announced: Any,
) -> Learner:
    """The learner of a name, or a given one.

    Args:
        construction: a name of the table, or an object that satisfies `Learner`.
        universe: the public vertex pairs.
        disjoint: whether only cuts with disjoint S and T will come.
        rule: of the named ones: the proven best, or as its paper prints it.
        norm: of mirror descent, see `parse_norm`; None for "auto", and for "l2" with `signed`.
        signed: of lists of any linear queries with coefficients in [-1, 1]: whether some are
            negative; None for cuts.
        announced: `max_right_size`, `may_measure_degrees`, `linear`, `max_spectral_norm` of mirror
            descent, see `MirrorDescentLearner`; others do not look at them.

    Raises:
        ParameterError: an unknown name, too many vertices, a learner over other vertices, a norm
            for another construction, or a construction that has no bound for such queries.
    """
    if norm is not None and construction != "mirror-descent":
        raise ParameterError("norm is for mirror-descent; the others have none to choose")
    if not isinstance(construction, str):
        if not hasattr(construction, "construction") or not hasattr(construction, "universe"):
            raise ParameterError("construction is a name, or an object as `Learner` describes it")
        if construction.universe != universe:
            raise ParameterError("the construction is over other vertices than the graph's")
        return construction
    if construction not in CONSTRUCTIONS:
        raise ParameterError(
            f"unknown construction {construction!r}; choose one of {', '.join(CONSTRUCTIONS)}"
        )
    if signed is not None:
        return _of_lists(construction, universe, signed=signed, rule=rule, norm=norm or "l2")
    if construction == "mirror-descent":
        return MirrorDescentLearner(universe, disjoint, rule, norm=norm or AUTO, **announced)
    return CONSTRUCTIONS[construction].learner(universe, disjoint, rule)


def _of_lists(
    construction: str, universe: Universe, *, signed: bool, rule: Rule, norm: str
) -> Learner:
    if construction == "multiplicative-weights":
        if signed and rule == "as printed":
            raise ParameterError(
                "multiplicative weights as printed take coefficients in [0, 1] alone; use"
                " 'frieze-kannan', or the calibrations 'practical' or 'tight'"
            )
        return MultiplicativeWeightsLearner(universe, rule, span=2.0 if signed else 1.0)
    if construction == "frieze-kannan":
        return FriezeKannanLearner(universe, rule=rule, dense=True)
    if construction != "mirror-descent":
        raise ParameterError(
            f"the construction {construction!r:.40} learns from no other queries than cuts"
        )
    if signed and norm in ("entropy", "auto"):
        raise ParameterError(
            f"mirror descent with norm {norm!r} is for coefficients that are not negative; use 'l2'"
        )
    return MirrorDescentLearner(universe, False, rule, norm=norm)
