"""Decisions of a sparse release: which share kept edges get, and which groups are measured.

A sparse release measures noisy counts of how many edges weigh how much, then kept edges (those
whose noisy weight reaches a threshold: the filter), sums between groups, and degrees. From the
counts follows a law of the weights (`WeightPrior`), and from it what part of the variance of cuts
the filter would leave with each share of epsilon. `SparseDecisions` chooses the share that makes
predicted errors least, or no kept edges, and answers the conditions of the plan
(`synth.budget_plans.sparse_plan`). It reads public results alone.

`LaplaceNoise` adds a whole number of grid units to a weight. `unit` is the weight of a grid unit,
and `rate` that of the noise for each grid unit, so the scale of the noise in weights is unit/rate.
"""

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from graphcuts_dp.estimate.kept_edges import KeptEdges, threshold_for
from graphcuts_dp.estimate.measurement import (
    Classes,
)
from graphcuts_dp.privacy.budget_plan import BudgetPlan, BudgetStep
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.schema.groups import Groups, Sides
from graphcuts_dp.schema.vertices import Space, vertex_sets
from graphcuts_dp.synth import budget_plans
from graphcuts_dp.synth.budget_plans import KEPT_EDGES, WEIGHTS
from graphcuts_dp.synth.communities import find_communities
from graphcuts_dp.synth.decisions import Decisions
from graphcuts_dp.synth.weight_prior import WeightPrior

# Weights of the logarithms of predicted errors. Three kinds of queries depend on kept edges (cuts
# between halves, small sets, and the worst cut) and one on degrees. Sums between groups err little
# anyway, and count half.
_WEIGHT_OF_KEPT, _WEIGHT_OF_DEGREES, _WEIGHT_OF_GROUPS = 3.0, 1.0, 0.5
# Largest part of the variance of cuts that kept edges may leave. If they leave more, they are not
# measured.
_LARGEST_VARIANCE_LEFT = 0.8


@final
class SparseDecisions(Decisions):
    """The decisions of a sparse release.

    With a share f for the kept edges, the filter leaves the part V(f) of the variance of cuts: the
    sum over edges of w^2 if the edge is missed, and of the smaller of w^2 and the noise's variance
    if it is kept, over the sum of w^2. (As far as the model knows, missed edges fall anywhere.)
    Errors of cuts between halves, of small sets and of the worst cut grow with sqrt(V). Errors of
    degrees grow with 1/d for their share d, and those of sums between groups with 1/g for theirs.

    The weighted sum of the logarithms of all these errors, with weights 3, 1 and 1/2, is least at
    d : g = 2 : 1; the share f is tried in steps of 1/40. For weights far above the noise V grows
    with f^-2, so that the best shares are f : d : g = 6 : 2 : 1. If the filter leaves more than .8
    of the variance, no edges are kept.

    Args:
        plan: of the release.
        distribution: noise of a pair if it got all that the counts of weights leave of epsilon.
        pairs: number of pairs.
        space: the public vertex set, or both.
        groups: the public groups; None if absent.

    Privacy: reads public results alone; see `Decisions`.
    """

    def __init__(
        self,
        plan: BudgetPlan,
        distribution: LaplaceNoise,
        *,
        pairs: int,
        space: Space,
        groups: Sides | None,
    ) -> None:
        super().__init__(groups)
        self._distribution, self._pairs, self._space = distribution, pairs, space
        self._possible_shares: tuple[Fraction, ...] = ()  # of kept edges; one if the user set it
        for step in plan.steps:
            if step.statistic == KEPT_EDGES:
                self._possible_shares = step.shares

    def _answer(self, condition: str) -> bool:
        match condition:
            case budget_plans.EDGES_WORTH_KEEPING:
                return self._kept_share is not None
            case budget_plans.COMMUNITIES_FOUND:
                return self.sides is not None
        raise LookupError(f"no decision is called {condition!r}")

    def share(self, step: BudgetStep) -> Fraction:
        """Return the share that a step gets; for kept edges the best one."""
        if step.statistic == KEPT_EDGES and self._kept_share is not None:
            return self._kept_share
        return super().share(step)

    def threshold(self, distribution: LaplaceNoise) -> int:
        """Return the threshold of kept edges, in grid units of the distribution of their noise.

        It is the least one at which a tenth of the kept edges, at most, is expected to be false.
        """
        edges = self._counts(WEIGHTS, Classes).total
        return threshold_for(distribution, pairs=self._pairs, edges=edges)

    @cached_property
    def sides(self) -> Sides | None:
        """The groups whose sums are measured: public ones, or communities among kept edges.

        None if there are neither. Without public groups it is asked once edges are kept.
        """
        if self._groups is not None:
            return self._groups
        edges = self.measured[KEPT_EDGES]
        if not isinstance(edges, KeptEdges):
            raise TypeError("kept edges were measured as something else")
        scale = edges.unit / float(edges.distribution.rate)
        chances = self._prior.posterior(edges.weights, scale).chance
        vertices, _ = vertex_sets(self._space)  # not of bipartite graphs: one set twice
        codes = find_communities(edges.rows, edges.columns, chances, len(vertices))
        if codes is None:
            return None
        groups = Groups(vertices, {"communities": np.asarray(codes).tolist()})
        return groups, groups

    @cached_property
    def _prior(self) -> WeightPrior:
        """The law of the weights that the noisy counts suggest."""
        noise = self._distribution
        return WeightPrior.of(
            self._counts(WEIGHTS, Classes),
            pairs=float(self._pairs),
            cap=noise.max_weight,
            whole=noise.unit == 1,
        )

    @cached_property
    def _kept_share(self) -> Fraction | None:
        """The share of kept edges with the least predicted errors; None if none are kept."""
        variances = {share: self._variance_left(share) for share in self._possible_shares}
        shares = [
            share for share in self._possible_shares if variances[share] <= _LARGEST_VARIANCE_LEFT
        ]
        if len(self._possible_shares) == 1:  # the user has set the share of the degrees
            return shares[0] if shares else None
        with_groups = self._groups is not None
        best, least_error = None, predicted_error(1.0, Fraction(0), groups=with_groups)
        for share in shares:
            error = predicted_error(variances[share], share, groups=with_groups)
            if error < least_error:
                best, least_error = share, error
        return best

    def _variance_left(self, share: Fraction) -> float:
        return variance_left(self._prior, self._distribution, share, pairs=self._pairs)


def predicted_error(variance: float, kept_share: Fraction, *, groups: bool) -> float:
    """Return the weighted sum of the logarithms of predicted errors, up to a constant.

    See `SparseDecisions`; degrees get what kept edges and groups leave.

    Args:
        variance: part of the variance of cuts that the filter leaves, above 0.
        kept_share: share of the kept edges in what the counts leave; 0 for no kept edges.
        groups: whether sums between public groups are measured.
    """
    groups_share = Fraction(0)  # of what the counts leave
    if groups and kept_share:
        groups_share = budget_plans.GROUPS_BESIDE_EDGES * (1 - kept_share)
    elif groups:
        groups_share = budget_plans.GROUPS_BESIDE_DEGREES
    degrees_share = 1 - kept_share - groups_share
    error = _WEIGHT_OF_KEPT / 2 * math.log(variance) - _WEIGHT_OF_DEGREES * math.log(degrees_share)
    return error - (_WEIGHT_OF_GROUPS * math.log(groups_share) if groups else 0.0)


def variance_left(
    prior: WeightPrior, distribution: LaplaceNoise, share: Fraction, *, pairs: int
) -> float:
    """Return the part of the variance of cuts that a filter leaves, above 0 and at most 1.

    See `SparseDecisions` for the formula. It is above 0 because a prior has at least one edge.

    Args:
        prior: law of the weights.
        distribution: noise of a pair if it got all that the counts leave of epsilon.
        share: of that, spent on the filter.
        pairs: number of pairs.
    """
    noise = _with_share(distribution, share)
    scale = noise.unit / float(noise.rate)
    threshold = threshold_for(noise, pairs=pairs, edges=prior.edges)
    missed = prior.missed(threshold * noise.unit, scale)
    squares = prior.points**2
    left = missed * squares + (1 - missed) * np.minimum(squares, 2 * scale**2)
    square_sum = max(float(prior.masses @ squares), 1e-300)
    return min(float(prior.masses @ left) / square_sum, 1.0)


@lru_cache(maxsize=256)  # a choice tries about forty shares
def _with_share(distribution: LaplaceNoise, share: Fraction) -> LaplaceNoise:
    """Return the noise with a share of its epsilon, rounded to a denominator of at most 1,000."""
    epsilon = distribution.epsilon * share.limit_denominator(1000)
    return LaplaceNoise(epsilon, distribution.max_weight, distribution.log2_step)
