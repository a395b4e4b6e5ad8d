"""How a sparse release divides epsilon: from public numbers and noisy counts of weights."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.estimate.measurement import NoisyWeightCounts
from graphcuts_dp.estimate.noisy_matrix import threshold_for
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.synth.weight_prior import WeightPrior

COUNTS_SHARE = Fraction(1, 50)  # of epsilon, for how many edges weigh how much
FOUND_SHARE = Fraction(1, 5)  # of what kept edges leave, for groups that are found on them
FALSE_SHARE = 0.1  # false edges for each edge
_GROUPS_ALONE = Fraction(1, 20)  # of the rest beside degrees alone
# Whose errors count, by their logarithms: halves, small sets and the worst cut for kept edges,
# degrees for degrees, and half a column for sums between groups, which err little anyway.
_OF_KEPT, _OF_DEGREES, _OF_GROUPS = 3.0, 1.0, 0.5
_GROUPS_BESIDE = Fraction(1, 3)  # of what kept edges leave: half a column beside a whole one
_LEAST_KEPT = Fraction(1, 10)  # left of epsilon: with less, kept edges spoil the degrees
_GROUPS_AT_MOST = Fraction(1, 20)  # and half of what degrees leave, if their share is fixed
_WORTH = 0.8  # of the variance of cuts: kept edges that leave more are not bought
_STEP = 1 / 40


@final
@dataclass(frozen=True)
class SparseShares:
    """Parts of what is left of epsilon after the counts; they add up to 1.

    Attributes:
        kept: for kept edges; 0 where hardly any would reach the threshold.
        groups: for sums between groups, given or found; 0 where there are none.
        degrees: for degrees.
    """

    kept: Fraction
    groups: Fraction
    degrees: Fraction


def sparse_shares(
    counts: NoisyWeightCounts,
    distribution: LaplaceNoise,
    *,
    pairs: int,
    groups: str,
    degrees: Fraction | None = None,
) -> SparseShares:
    """The shares with the least predicted errors.

    With a part f of epsilon the filter leaves of the variance of a cut V(f) = sum over edges of
    w^2 where an edge is missed, and of the lesser of w^2 and the noise's variance where it is kept,
    over the sum of w^2: missed edges fall anywhere, as far as the model knows. That shows in cuts
    between halves, small sets, and in the worst cut, whose errors go with sqrt(V). Errors of
    degrees go with 1/d, those of sums between groups with 1/g. The sum of the logarithms of all
    these, with weights 3, 1 and a half, is least at d : g = 2 : 1, and f is tried in steps of a
    fortieth. For weights far above the noise V goes with f^-2, so that f : d : g = 6 : 2 : 1.
    Where the filter leaves more than .8 of the variance, nothing is spent on it: then degrees get
    all but a twentieth for groups.

    Args:
        counts: noisy counts of weights.
        distribution: of the noise of a pair with all that is left of epsilon.
        pairs: how many pairs there are.
        groups: "given", "found" (from kept edges, if there are any) or "none".
        degrees: a share that was fixed beforehand. Of the rest groups have a twentieth of epsilon,
            or half if that is less, and kept edges the others, where these are a tenth at least;
            what neither can use, degrees have too.
    """
    prior = WeightPrior.of(
        counts, pairs=float(pairs), cap=distribution.weight_cap, whole=distribution.unit == 1
    )
    if degrees is not None:
        return _beside(degrees, prior, distribution, pairs=pairs, groups=groups)
    # What is to be beaten: degrees with all but a twentieth for groups.
    best, kept = _value(1.0, Fraction(0), groups == "given"), 0.0
    for step in range(1, round(1 / _STEP)):
        part = step * _STEP
        variance = left_variance(prior, distribution, part, pairs=pairs)
        if variance > _WORTH:
            continue
        value = _value(variance, Fraction(part), groups == "given")
        if value > best:
            best, kept = value, part
    exact = Fraction(kept).limit_denominator(1000)
    if not kept:
        of_groups = _GROUPS_ALONE if groups == "given" else Fraction(0)
        return SparseShares(Fraction(0), of_groups, 1 - of_groups)
    if groups == "given":
        of_groups = (1 - exact) * _GROUPS_BESIDE
    else:
        of_groups = FOUND_SHARE * (1 - exact) if groups == "found" else Fraction(0)
    return SparseShares(exact, of_groups, 1 - exact - of_groups)


def _beside(
    degrees: Fraction, prior: WeightPrior, distribution: LaplaceNoise, *, pairs: int, groups: str
) -> SparseShares:
    """The shares where that of degrees is fixed."""
    left = 1 - degrees
    of_groups = Fraction(0) if groups == "none" else min(_GROUPS_AT_MOST, left / 2)
    kept = left - of_groups
    worth = left >= _LEAST_KEPT and left_variance(
        prior, distribution, float(kept), pairs=pairs
    ) <= _WORTH  # fmt: skip
    if not worth:
        kept, of_groups = Fraction(0), left if groups == "given" else Fraction(0)
    return SparseShares(kept, of_groups, 1 - kept - of_groups)


def _value(variance: float, kept: Fraction, groups: bool) -> float:
    """Minus the sum of the logarithms of predicted errors, up to a constant."""
    of_groups = (_GROUPS_BESIDE * (1 - kept) if kept else _GROUPS_ALONE) if groups else Fraction(0)
    value = -_OF_KEPT / 2 * math.log(variance) + _OF_DEGREES * math.log(1 - kept - of_groups)
    return value + (_OF_GROUPS * math.log(of_groups) if groups else 0.0)


def left_variance(
    prior: WeightPrior, distribution: LaplaceNoise, part: float, *, pairs: int
) -> float:
    """Which part of the variance of cuts a filter with a part of epsilon leaves; at most 1."""
    noise = LaplaceNoise(
        distribution.epsilon * Fraction(part).limit_denominator(1000),
        distribution.weight_cap,
        distribution.log2_step,
    )
    scale = noise.unit / float(noise.rate)
    threshold = threshold_for(noise, pairs=pairs, edges=prior.edges, false_share=FALSE_SHARE)
    missed = prior.missed(threshold * noise.unit, scale)
    squares = prior.points**2
    left = missed * squares + (1 - missed) * np.minimum(squares, 2 * scale**2)
    whole = max(float(prior.masses @ squares), 1e-300)
    return min(float(prior.masses @ left) / whole, 1.0)
