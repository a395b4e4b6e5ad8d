"""Mirror descent with any norm, waiting for its tolerance, the total weight and root degrees."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, final

import numpy as np

from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.learn.block_start import BlockStart, Distance
from graphcuts_dp.learn.learners import Learned, Learner, check_disjoint
from graphcuts_dp.learn.mirror_descent import FlatStart, MirrorDescentRule
from graphcuts_dp.learn.norms import AUTO, MOST_VERTICES, CutSizes, NormTerms, parse_norm, terms_of
from graphcuts_dp.learn.update_bounds import UpdateBound, size_of
from graphcuts_dp.pairs.graph_queries import MOST_COEFFICIENTS
from graphcuts_dp.pairs.queries import CutQuery, LinearQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.resources import one_blas_thread

# The norms whose potential at a start from groups is known.
_DISTANCES: Mapping[str, Distance] = {"l2": "squares", "entropy": "relative entropy"}


@final
@dataclass(frozen=True)
class MirrorDescentLearner:
    """Mirror descent with a norm of `learn.norms`: a matrix of weights is held.

    The hypothesis of l2, lp and 2,p stays a matrix of weights in [0, 1]. With l2 it makes
    Frieze-Kannan steps, each followed by a projection; with entropy multiplicative weights.

    Attributes:
        universe: the public vertex pairs.
        disjoint: whether all cuts have disjoint S and T; others are then refused.
        rule: see `Rule`.
        norm: see `parse_norm`; "auto" is, for each tolerance, the one of least B.
        most_right: of a bipartite graph: T has at most so many right vertices; None for any number.
        may_buy: whether "auto" may want the sum of root degrees.
        roots: an upper bound of that sum, public; None where nobody has bought it.
        linear: whether any linear queries with coefficients in [-1, 1] come, not only cuts.
        most_spectral: of these: none has a larger singular value; None for any.
        nuclear: an upper bound of the nuclear norm, public; None where nobody has bought it.

    Raises:
        ParameterError: an unknown norm, one that such a graph cannot have, or too many vertices.
    """

    universe: Universe
    disjoint: bool = False
    rule: Rule = "tight"
    norm: str = "l2"
    most_right: int | None = None
    may_buy: bool = True
    roots: float | None = None
    linear: bool = False
    most_spectral: float | None = None
    nuclear: float | None = None

    def __post_init__(self) -> None:
        if self.linear and self.disjoint:
            raise ParameterError("disjoint=True is for cuts; leave it out with linear=True")
        if self.most_spectral is not None and not self.linear:
            raise ParameterError("most_spectral is for linear=True: cuts need none")
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
        for each in self._norms:
            self._terms(each, 1.0, 0.0)

    name = "mirror-descent"

    @cached_property
    def _parsed(self) -> tuple[str, float | None]:
        return parse_norm(self.norm)

    @cached_property
    def _sizes(self) -> CutSizes:
        size = size_of(self.universe)
        if self.linear:
            return CutSizes.linear(size, most_right=self.most_right, spectral=self.most_spectral)
        return CutSizes.of(size, disjoint=self.disjoint, most_right=self.most_right)

    @property
    def _norms(self) -> tuple[str, ...]:
        norm = self._parsed[0]
        return self._sizes.norms() if norm == AUTO else (norm,)

    @property
    def buys_roots(self) -> bool:
        """Whether it wants a bound on the sum of root degrees: for 2,p, "auto" if it may help."""
        if self._parsed[0] == AUTO:
            wanted = self._sizes.worth_buying() and not self.buys_nuclear
            return self.may_buy and "2,p" in self._norms and wanted
        return self._parsed[0] == "2,p"

    def with_roots(self, roots: float) -> Self:
        """The learner that knows an upper bound of that sum, noisy or not; in units."""
        return replace(self, roots=roots)

    @property
    def buys_nuclear(self) -> bool:
        """Whether it wants a bound on the nuclear norm: for schatten, and "auto" if it may help."""
        norm, p = self._parsed
        if norm == AUTO:
            return self.may_buy and "schatten" in self._norms and self._sizes.worth_nuclear()
        return norm == "schatten" and p != 2 and self.most_spectral is not None

    def with_nuclear(self, nuclear: float) -> Self:
        """The learner that knows an upper bound of the nuclear norm, noisy or not; in units."""
        return replace(self, nuclear=nuclear)

    def _terms(self, norm: str, total_weight: float, total_error: float) -> NormTerms:
        return terms_of(
            norm,
            self._parsed[1],
            self._sizes,
            total_weight=total_weight,
            total_error=total_error,
            roots=self.roots,
            nuclear=self.nuclear,
            rule=self.rule,
        )

    def chosen(self, *, alpha: float, total_weight: float, total_error: float) -> NormTerms:
        """The terms of the norm that it takes at this tolerance."""
        found = (self._terms(norm, total_weight, total_error) for norm in self._norms)
        return min(found, key=lambda terms: terms.updates(alpha))

    def settled(self, *, alpha: float, total_weight: float, total_error: float) -> Self:
        """The learner with the norm that it takes at this tolerance."""
        terms = self.chosen(alpha=alpha, total_weight=total_weight, total_error=total_error)
        return replace(self, norm=terms.norm) if self._parsed[0] == AUTO else self

    def update_bound(self, *, total_weight: float, total_error: float) -> UpdateBound:
        """B for all tolerances: with "auto" the least of all norms, for each."""
        found = [self._terms(norm, total_weight, total_error) for norm in self._norms]
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
            start=FlatStart(self.universe, terms.weight),
            psi=terms.psi(total_weight),
            alpha=alpha,
            zeta=terms.zeta,
            start_potential=terms.start_potential,
            domain=terms.domain,
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
        """See `Learner.check`. Refuses queries that were announced not to come."""
        if not isinstance(query, CutQuery):
            self._check_linear(query)
            return
        S, T = self.universe.masks(query)
        if self.disjoint:
            check_disjoint(query, self.universe)
        self._check_right(int(T.sum()))
        if self.most_spectral is not None:
            self._check_spectral(math.sqrt(float(S.sum()) * float(T.sum())))

    def _check_linear(self, query: LinearQuery) -> None:
        if not self.linear:
            raise QueryError("only cuts were announced; start again with linear=True")
        if self.most_right is None and self.most_spectral is None:
            return
        coefficients = self.universe.coefficients(query)
        self._check_right(int(coefficients.any(axis=0).sum()))
        if self.most_spectral is not None:
            with one_blas_thread():
                self._check_spectral(float(np.linalg.norm(coefficients, 2)))

    def _check_right(self, count: int) -> None:
        if self.most_right is not None and count > self.most_right:
            kind = "queries" if self.linear else "cuts"
            raise QueryError(
                f"only {kind} with at most {self.most_right:,} right vertices were announced; start"
                " again with a larger most_right, or without it"
            )

    def _check_spectral(self, found: float) -> None:
        if self.most_spectral is not None and found > self.most_spectral * (1 + 1e-9):
            raise QueryError(
                f"the query's largest singular value is {found:,.4g} times its largest coefficient,"
                f" but at most {self.most_spectral:,.4g} was announced; start again with a larger"
                " most_spectral, or without it"
            )


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
    bound: UpdateBound = made.update_bound
    return bound
