"""What the counts of weights and kept edges of a sparse release decide about its later steps."""

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np

from graphcuts_dp.estimate.measurement import (
    Classes,
    CountMeasurement,
)
from graphcuts_dp.estimate.sparse_model import KeptEdges, threshold_for
from graphcuts_dp.privacy.budget_plan import BudgetPlan, BudgetStep
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.schema.groups import Groups, Sides
from graphcuts_dp.schema.vertices import Space, vertex_sets
from graphcuts_dp.synth import budget_plans
from graphcuts_dp.synth.block_model import found_groups
from graphcuts_dp.synth.budget_plans import (
    KEPT_EDGES,
    WEIGHTS,
)
from graphcuts_dp.synth.decisions import Decisions
from graphcuts_dp.synth.sparse_fit import WeightPrior

# Whose errors count, by their logarithms: halves, small sets and the worst cut for kept edges,
# degrees for degrees, and half a column for sums between groups, which err little anyway.
_OF_KEPT, _OF_DEGREES, _OF_GROUPS = 3.0, 1.0, 0.5
_WORTH = 0.8  # of the variance of cuts: kept edges that leave more are not measured


@final
class SparseDecisions(Decisions):
    """The decisions of a sparse release.

    With a share f of the kept edges the filter leaves of the variance of a cut V(f) = sum over
    edges of w^2 where an edge is missed, and of the lesser of w^2 and the noise's variance where it
    is kept, over the sum of w^2: missed edges fall anywhere, as far as the model knows. That shows
    in cuts between halves, small sets, and in the worst cut, whose errors go with sqrt(V). Errors
    of degrees go with 1/d, those of sums between groups with 1/g. The sum of the logarithms of all
    these, with weights 3, 1 and a half, is least at d : g = 2 : 1, and f is tried in steps of a
    fortieth. For weights far above the noise V goes with f^-2, so that f : d : g = 6 : 2 : 1.
    Where the filter leaves more than .8 of the variance, no edges are kept.

    Args:
        plan: of the release.
        distribution: of the noise of a pair with all that the counts of weights leave of epsilon.
        pairs: how many pairs there are.
        space: the public vertex set, or both.
        groups: the public groups, or None.
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
        self._offered = next((s.shares for s in plan.steps if s.statistic == KEPT_EDGES), ())

    def _answer(self, condition: str) -> bool:
        match condition:
            case budget_plans.EDGES_WORTH_KEEPING:
                return self._kept_share is not None
            case budget_plans.COMMUNITIES_FOUND:
                return self.sides is not None
        raise LookupError(f"no decision is called {condition!r}")

    def share(self, step: BudgetStep) -> Fraction:
        """See `Decisions.share`: the best share of the kept edges."""
        if step.statistic == KEPT_EDGES and self._kept_share is not None:
            return self._kept_share
        return super().share(step)

    def threshold(self, distribution: LaplaceNoise) -> int:
        """See `Decisions.threshold`."""
        edges = self._counts.total
        return threshold_for(distribution, pairs=self._pairs, edges=edges)

    @cached_property
    def sides(self) -> Sides | None:
        """The groups whose sums are measured: public ones, or those that kept edges show."""
        if self._groups is not None:
            return self._groups
        kept = self.measured[KEPT_EDGES]
        if not isinstance(kept, KeptEdges):
            raise TypeError("kept edges were measured as something else")
        scale = kept.unit / float(kept.distribution.rate)
        chances = self._prior.posterior(kept.weights, scale).chance
        vertices = vertex_sets(self._space)[0]
        codes = found_groups(kept.rows, kept.columns, chances, len(vertices))
        if codes is None:
            return None
        groups = Groups(vertices, {"communities": np.asarray(codes).tolist()})
        return groups, groups

    @property
    def _counts(self) -> CountMeasurement[Classes]:
        counts: Any = self.measured[WEIGHTS]
        return counts  # type: ignore[no-any-return]

    @cached_property
    def _prior(self) -> WeightPrior:
        noise = self._distribution
        return WeightPrior.of(
            self._counts, pairs=float(self._pairs), cap=noise.max_weight, whole=noise.unit == 1
        )

    @cached_property
    def _kept_share(self) -> Fraction | None:
        """The share with the least predicted errors; None if it is best to keep no edges."""
        groups = self._groups is not None
        if len(self._offered) == 1:  # the share of the degrees was asked for
            (share,) = self._offered
            return share if self._variance(share) <= _WORTH else None
        # What is to be beaten: degrees with all but a twentieth for groups.
        best, least = None, predicted_error(1.0, Fraction(0), groups=groups)
        for share in self._offered:
            variance = self._variance(share)
            if variance > _WORTH:
                continue
            error = predicted_error(variance, share, groups=groups)
            if error < least:
                best, least = share, error
        return best

    def _variance(self, share: Fraction) -> float:
        return left_variance(self._prior, self._distribution, float(share), pairs=self._pairs)


def predicted_error(variance: float, kept: Fraction, *, groups: bool) -> float:
    """Return the sum of the logarithms of predicted errors, up to a constant.

    Args:
        variance: which part of the variance of cuts the filter leaves.
        kept: share of the kept edges; 0 for none.
        groups: whether sums between public groups are measured.
    """
    of_groups = Fraction(0)
    if groups:
        of_groups = (
            budget_plans.GROUPS_BESIDE_EDGES * (1 - kept)
            if kept
            else budget_plans.GROUPS_BESIDE_DEGREES
        )
    error = _OF_KEPT / 2 * math.log(variance) - _OF_DEGREES * math.log(1 - kept - of_groups)
    return error - (_OF_GROUPS * math.log(of_groups) if groups else 0.0)


@lru_cache(maxsize=256)  # a choice tries forty
def _part_of(distribution: LaplaceNoise, part: float) -> LaplaceNoise:
    epsilon = distribution.epsilon * Fraction(part).limit_denominator(1000)
    return LaplaceNoise(epsilon, distribution.max_weight, distribution.log2_step)


def left_variance(
    prior: WeightPrior, distribution: LaplaceNoise, part: float, *, pairs: int
) -> float:
    """Return which part of the variance of cuts a filter leaves, at most 1.

    Args:
        prior: of the weights.
        distribution: of the noise of a pair with all that is left of epsilon.
        part: of that, spent on the filter.
        pairs: how many pairs there are.
    """
    noise = _part_of(distribution, part)
    scale = noise.unit / float(noise.rate)
    threshold = threshold_for(noise, pairs=pairs, edges=prior.edges)
    missed = prior.missed(threshold * noise.unit, scale)
    squares = prior.points**2
    left = missed * squares + (1 - missed) * np.minimum(squares, 2 * scale**2)
    whole = max(float(prior.masses @ squares), 1e-300)
    return min(float(prior.masses @ left) / whole, 1.0)
