"""Decisions of a sparse release: which share kept edges get, and which groups are measured.

A sparse release has no noisy value for each pair. Its plan (`synth.budget_plans.sparse_plan`)
measures, in this order, each with a share of what the statistics before it have left of epsilon:

1. counts of how many edges have a weight in each of some public classes of weights;
2. kept edges: the pairs whose noisy weight reaches a threshold (the filter);
3. sums between groups: public groups, or communities found among kept edges;
4. degrees, with all that is left.

`SparseDecisions` uses the counts to choose the share of kept edges, or to keep none. It also
answers the plan's conditions. It reads public results alone.

Noise: `LaplaceNoise` adds a whole number of grid units to the weight of a pair. One grid unit
stands for the weight `unit`. A noise of k grid units has a probability proportional to
e^(-rate |k|), so the scale of the noise is 1/rate in grid units, and unit/rate in weights.
"""

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from graphcuts_dp.estimate.kept_edges import KeptEdges, threshold_for
from graphcuts_dp.estimate.measurement import Classes
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
# anyway, and count half. The weights of degrees and groups agree with `GROUPS_BESIDE_EDGES` = 1/3:
# beside kept edges, -1 ln(d) - 1/2 ln(g) is least at d : g = 2 : 1.
_WEIGHT_OF_KEPT, _WEIGHT_OF_DEGREES, _WEIGHT_OF_GROUPS = 3.0, 1.0, 0.5
# Largest part of the variance of cuts that kept edges may leave. If they leave more, they are not
# measured.
_LARGEST_VARIANCE_LEFT = 0.8


@final
class SparseDecisions(Decisions):
    """The decisions of a sparse release.

    All shares here are of what the counts leave: f for kept edges, g for sums between public
    groups, d for degrees, with f + g + d = 1. Without public groups g is 0.

    The filter leaves the part V(f) of the variance of cuts. V(f) is a ratio of two sums over all
    edges, by the law of the weights that the counts suggest (`WeightPrior`). The denominator is
    the sum of w^2 for the weights w. In the numerator a missed edge counts w^2, as if it could lie
    anywhere; a kept edge counts w^2 or the variance of its noise, whichever is smaller.

    Errors of cuts between halves, of small sets and of the worst cut grow with sqrt(V). Errors of
    degrees grow with 1/d, and those of sums between groups with 1/g. The best f minimises

        3 ln(sqrt(V(f))) - ln(d) - ln(g)/2,

    where the plan divides 1 - f into d : g = 2 : 1. All f in steps of 1/40 are tried, and no kept
    edges. For weights far above the noise V grows with f^-2, so that the best shares are
    f : d : g = 6 : 2 : 1. If every f leaves more than .8 of the variance, no edges are kept.

    Args:
        plan: of the release.
        distribution: noise of a pair if it got all that the counts leave of epsilon.
        pairs: number of pairs.
        space: the public vertex set, or both.
        groups: the public groups of the rows and of the columns, one object twice if these are the
            same vertices; None if absent.

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
        # Shares f that the plan offers to kept edges: all multiples of 1/40, one if the user has
        # set the share of degrees, none if that leaves too little for kept edges.
        self._possible_shares: tuple[Fraction, ...] = ()
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
        """Return the share that a step gets; for kept edges the best one.

        Other steps of a sparse plan have a single share.
        """
        if step.statistic == KEPT_EDGES and self._kept_share is not None:
            return self._kept_share
        return super().share(step)

    def threshold(self, distribution: LaplaceNoise) -> int:
        """Return the threshold of kept edges, in grid units of the distribution of their noise.

        `threshold_for` takes the least one at which the expected number of false edges (kept pairs
        without weight) is at most a tenth of the number of edges.
        """
        edge_count = self._counts(WEIGHTS, Classes).total  # noisy: the sum over all classes
        return threshold_for(distribution, pairs=self._pairs, edges=edge_count)

    @cached_property
    def sides(self) -> Sides | None:
        """The groups whose sums are measured: public ones, or communities among kept edges.

        None if there are neither. Without public groups, the property may be read only after edges
        were kept; the plan sees to that. Plans of bipartite graphs never ask for communities.
        """
        if self._groups is not None:
            return self._groups
        edges = self.measured[KEPT_EDGES]
        if not isinstance(edges, KeptEdges):
            raise TypeError("kept edges were measured as something else")
        noise_scale = edges.unit / float(edges.distribution.rate)  # in weights
        # Probability that each kept pair is an edge, shape (kept,).
        edge_chances = self._prior.posterior(edges.weights, noise_scale).chance
        vertices, _ = vertex_sets(self._space)  # one object twice: the graph is not bipartite
        codes = find_communities(edges.rows, edges.columns, edge_chances, len(vertices))
        if codes is None:
            return None
        groups = Groups(vertices, {"communities": np.asarray(codes).tolist()})
        return groups, groups

    @cached_property
    def _prior(self) -> WeightPrior:
        """The law of the weights that the noisy counts suggest: expected numbers of edges."""
        noise = self._distribution
        return WeightPrior.of(
            self._counts(WEIGHTS, Classes),
            pairs=float(self._pairs),
            cap=noise.max_weight,
            integral=noise.unit == 1,  # grid units are whole numbers if weights are
        )

    @cached_property
    def _kept_share(self) -> Fraction | None:
        """The share of kept edges with the least predicted errors; None if none are kept."""
        variances = {
            share: variance_left(self._prior, self._distribution, share, pairs=self._pairs)
            for share in self._possible_shares
        }
        useful_shares = [
            share for share in self._possible_shares if variances[share] <= _LARGEST_VARIANCE_LEFT
        ]
        if len(self._possible_shares) == 1:  # the user has set the share of the degrees
            return useful_shares[0] if useful_shares else None
        with_groups = self._groups is not None
        best_share = None
        # To compare with: no kept edges, so that all of the variance is left.
        least_error = predicted_error(1.0, Fraction(0), groups=with_groups)
        for share in useful_shares:
            error = predicted_error(variances[share], share, groups=with_groups)
            if error < least_error:
                best_share, least_error = share, error
        return best_share


def predicted_error(variance: float, kept_share: Fraction, *, groups: bool) -> float:
    """Return the weighted sum of the logarithms of predicted errors, up to a constant.

    `SparseDecisions` states the formula. All shares are of what the counts leave. Only public
    groups have a share here: communities may be found later, and their share is left to degrees.

    Args:
        variance: V(f), the part of the variance of cuts that the filter leaves, above 0.
        kept_share: f, the share of kept edges; 0 for no kept edges.
        groups: whether sums between public groups are measured.
    """
    groups_share = Fraction(0)
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
    """Return V(f), the part of the variance of cuts that a filter leaves; in (0, 1].

    `SparseDecisions` states the formula. V is above 0, so that its logarithm exists, because a
    prior has at least one edge.

    Args:
        prior: law of the weights: `points` are weights, and `masses` how many edges are expected
            to have each of them, shape (points,) both.
        distribution: noise of a pair if it got all that the counts leave of epsilon.
        share: f, the share of that for the filter.
        pairs: number of pairs.
    """
    noise = _with_share(distribution, share)
    scale = noise.unit / float(noise.rate)  # in weights; the variance of the noise is 2 scale^2
    threshold = threshold_for(noise, pairs=pairs, edges=prior.edges)  # in grid units
    missed = prior.missed(threshold * noise.unit, scale)  # probabilities, shape (points,)
    squares = prior.points**2
    squares_left = missed * squares + (1 - missed) * np.minimum(squares, 2 * scale**2)
    square_sum = max(float(prior.masses @ squares), 1e-300)
    return min(float(prior.masses @ squares_left) / square_sum, 1.0)


@lru_cache(maxsize=256)  # many releases of one kind, as in audits, try the same 39 shares each
def _with_share(distribution: LaplaceNoise, share: Fraction) -> LaplaceNoise:
    """Return the noise with a share of its epsilon, rounded to a denominator of at most 1,000."""
    epsilon = distribution.epsilon * share.limit_denominator(1000)
    return LaplaceNoise(epsilon, distribution.max_weight, distribution.log2_step)
