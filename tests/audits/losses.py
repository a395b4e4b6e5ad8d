"""Privacy losses of mechanisms whose laws are known; `evaluation.audit` needs runs alone.

From the law. Where a run tells the exact logarithm L of the ratio of its output's probabilities on
the two neighbours, `loss_by_ratio` looks at how strongly L tells them apart, in all runs: this sees
far more of the loss than an event does, if the loss is divided among many parts, so that all of
it shows in few runs only. It holds for mechanisms whose true loss is s L for some s; s = 1 unless
the noise is not what the law says.

From probabilities. Where all outputs can be listed with their probabilities, `exact_loss` is the
loss itself.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import ALPHA, AuditResult, Claim, Neighbours

_MAX_SLOPE = 64.0  # of log-likelihood ratios: noise is wrong by no more than this factor
_ALPHA_OF_CHOICE = 0.1  # probability of an overstated loss that only chooses a pair


@final
@dataclass(frozen=True, eq=False)
class DistributionPair:
    """The probabilities of all outputs on two neighbours.

    Attributes:
        name: of the neighbours.
        first: probabilities on the first neighbour, any shape.
        second: probabilities on the second neighbour, in the same order.
        copies: number of independent outputs of this law. Their losses add up, in pure epsilon and
            in rho; for a delta above 0 it must be 1.
        independent: laws of other, independent outputs. Their losses add up, too.
    """

    name: str
    first: npt.NDArray[np.float64]
    second: npt.NDArray[np.float64]
    copies: int = 1
    independent: tuple["DistributionPair", ...] = ()

    @classmethod
    def of(
        cls, pair: Neighbours, law: Callable[[Any], npt.ArrayLike], *more: Any, **options: Any
    ) -> "DistributionPair":
        """Return the laws of the outputs on two neighbours, by a function of the data."""
        first, second = (np.asarray(law(data)) for data in (pair.first, pair.second))
        return cls(pair.name, first, second, *more, **options)

    def loss(self, claim: Claim) -> float:
        """Return the loss of all outputs together: epsilon or rho, whichever is claimed."""
        parts = (self, *self.independent)
        if claim.delta:
            if self.copies > 1 or self.independent:
                raise ValueError("losses of several outputs add up for delta = 0 only")
            return exact_loss(self.first, self.second, claim)
        both = []
        for swapped in (False, True):
            sums = np.zeros(len(_ORDERS))
            for part in parts:
                distributions = (part.second, part.first) if swapped else (part.first, part.second)
                sums += part.copies * _one_way(*distributions, claim)
            both.append(float(sums.max()))
        return max(both)


def loss_by_ratio(
    train: tuple[FloatVector, FloatVector],
    fresh: tuple[FloatVector, FloatVector],
    *,
    alpha: float = ALPHA,
) -> float:
    """A lower bound on the loss, from log-likelihood ratios that are exact, or off by one factor.

    Let o be drawn from P or Q, and s L(o) be the true ln(P/Q). The likelihood of a slope t is the
    product of sigma(t L) over draws from P and sigma(-t L) over draws from Q, sigma the logistic
    function. The slope s is refuted in favour of another one, t, if the likelihood of t is 1/alpha
    times that of s. Proof that this happens with probability alpha at most, for a t that does not
    depend on the fresh runs: let a and b be the means of sigma(tL)/sigma(sL) on P and of
    sigma(-tL)/sigma(-sL) on Q. With the density m = (P + Q)/2, sigma(sL) = P/(2m) and
    sigma(-sL) = Q/(2m), so a + b is twice the integral of m (sigma(tL) + sigma(-tL)) = 2, and
    a b <= 1. So the ratio of the likelihoods has a mean of at most 1; Markov's inequality.

    Args:
        train: L of runs on P and on Q, which choose t.
        fresh: L of other runs, as many on P as on Q.
        alpha: probability of a slope that is too large, at most.

    Returns:
        The largest slope below which all are refuted, times the largest |L| of the fresh runs;
        0 where no slope is.
    """

    better = likeliest_slope(train)
    needed = log_likelihood(better, fresh) + math.log(alpha)
    return refuted_slope(fresh, needed, better) * largest_ratio(fresh)


def largest_loss_index(runs: Sequence[tuple[FloatVector, FloatVector]]) -> int:
    """Return the index of the pair of neighbours with the largest loss by its ratios.

    Args:
        runs: log-likelihood ratios on each pair.
    """
    losses = [loss_by_ratio(ratios, ratios, alpha=_ALPHA_OF_CHOICE) for ratios in runs]
    return losses.index(max(losses))


def log_likelihood(slope: float, runs: tuple[FloatVector, FloatVector]) -> float:
    """Return the logarithm of the likelihood of a slope, see `loss_by_ratio`."""
    first, second = runs
    return -float(np.logaddexp(0, -slope * first).sum() + np.logaddexp(0, slope * second).sum())


def likeliest_slope(runs: tuple[FloatVector, FloatVector]) -> float:
    """Return the slope whose likelihood is largest."""
    return float(
        scipy.optimize.minimize_scalar(
            lambda slope: -log_likelihood(slope, runs), bounds=(0, _MAX_SLOPE), method="bounded"
        ).x
    )


def refuted_slope(runs: tuple[FloatVector, FloatVector], needed: float, better: float) -> float:
    """Return the slope below which all likelihoods are smaller than needed; 0 if there is none.

    Args:
        runs: log-likelihood ratios.
        needed: logarithm of a likelihood.
        better: a slope that reaches it, if any does.
    """
    if log_likelihood(0.0, runs) > needed:
        return 0.0
    # The likelihood is concave in the slope, so it passes what is needed once below the better one.
    low, high = 0.0, better
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if log_likelihood(middle, runs) <= needed else (low, middle)
    return low


def largest_ratio(runs: tuple[FloatVector, FloatVector]) -> float:
    """Return the largest of all log-likelihood ratios, in either direction."""
    return float(max(np.abs(ratios).max() for ratios in runs))


def visible_by_ratio(claim: Claim, runs: int, *, alpha: float = ALPHA) -> float:
    """Return about the loss that `loss_by_ratio` proves of randomised response at the claim.

    Args:
        claim: of an epsilon.
        runs: fresh ones on each neighbour.
        alpha: as for `audit`.
    """

    def short(found: float) -> float:
        p, q = scipy.special.expit([claim.value, -claim.value])
        other, fewer = scipy.special.log_expit([found, -found])
        apart = p * (math.log(p) - other) + q * (math.log(q) - fewer)
        return float(2 * runs * apart + math.log(alpha))

    if short(0.0) <= 0:
        return 0.0
    return float(scipy.optimize.brentq(short, 0.0, claim.value))


def exact_loss(first: npt.ArrayLike, second: npt.ArrayLike, claim: Claim) -> float:
    """Return the loss between two distributions: epsilon or rho, whichever is claimed.

    Args:
        first: probabilities, shape (outputs,), or any other shape.
        second: likewise, in the same order.
        claim: of which the kind and delta are used.

    Returns:
        The least epsilon for which both directions keep (epsilon, delta), up to rounding; or the
        least rho for Rényi divergences of orders up to 64. Infinite where one can be told for
        certain.
    """
    if claim.delta == 0:
        return max(
            float(_one_way(*distributions, claim).max())
            for distributions in ((first, second), (second, first))
        )
    p, q = _flat(first), _flat(second)
    return max(_hockey_stick(p, q, claim.delta), _hockey_stick(q, p, claim.delta))


_ORDERS = np.concatenate([1 + np.geomspace(0.01, 1, 8), np.geomspace(2.5, 64, 12)])


def _flat(distribution: npt.ArrayLike) -> FloatVector:
    return np.ravel(np.asarray(distribution, dtype=np.float64))


def _one_way(first: npt.ArrayLike, second: npt.ArrayLike, claim: Claim) -> FloatVector:
    """Return the loss of the first over the second, shape (orders,); epsilon is equal for all."""
    p, q = _flat(first), _flat(second)
    if ((q == 0) & (p > 0)).any():
        return np.full(len(_ORDERS), math.inf)
    p, q = p[p > 0], q[p > 0]
    losses = np.log(p) - np.log(q)
    if claim.kind == "epsilon":
        return np.full(len(_ORDERS), max(0.0, float(losses.max())))
    above = (_ORDERS - 1)[:, None] * losses
    peaks = above.max(axis=1)
    moments = (p * np.exp(above - peaks[:, None])).sum(axis=1)
    found = (np.log(moments) + peaks) / ((_ORDERS - 1) * _ORDERS)
    return np.asarray(np.maximum(found, 0.0))


def _hockey_stick(p: FloatVector, q: FloatVector, delta: float) -> float:
    """The least epsilon >= 0 with sum of max(p - e^epsilon q, 0) <= delta, for delta > 0."""
    used = (p > 0) | (q > 0)
    p, q = p[used], q[used]
    with np.errstate(divide="ignore"):
        losses = np.log(p) - np.log(q)
    order = np.argsort(-losses)
    mass, other = np.cumsum(p[order]), np.cumsum(q[order])
    # Between two losses the excess is mass - e^epsilon other, for the outputs above.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        needed = np.where(mass > delta, np.log((mass - delta) / other), -np.inf)
    return max(0.0, float(needed.max()))


def laplace_gain(
    noisy: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, rate: float | Fraction
) -> float:
    """Return ln of the likelihood of the second truth over the first, for Laplace noise."""
    apart = np.abs(np.subtract(noisy, first)) - np.abs(np.subtract(noisy, second))
    return float(rate) * float(apart.sum())


def clipped_laplace(true: int, rate: float | Fraction, low: int, high: int) -> FloatVector:
    """Return the law of a whole number with discrete Laplace noise, clipped to low..high."""
    ratio = math.exp(-float(rate))
    law: FloatVector = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(low, high + 1) - true)
    law[0] = ratio ** (true - low) / (1 + ratio)
    law[-1] = ratio ** (high - true) / (1 + ratio)
    return law


def laplace_pair(rate: float | Fraction, max_count: int, *, copies: int = 1) -> DistributionPair:
    """Return laws of the counts 0 and 1 with discrete Laplace noise, clipped to +-max_count."""
    laws = [clipped_laplace(true, rate, -max_count, max_count) for true in (0, 1)]
    return DistributionPair("count", laws[0], laws[1], copies)


def normal_pair(variance: float, shift: float) -> DistributionPair:
    """Return a discrete Gaussian and its shift, on a coarser grid if there are too many numbers."""
    coarse = max(1.0, variance**0.5 / 1000)
    variance, shift = variance / coarse**2, shift / coarse
    reach = int(12 * variance**0.5 + abs(shift)) + 1
    at = np.arange(-reach, reach + 1)
    laws = [np.exp(-((at - move) ** 2) / (2 * variance)) for move in (0, shift)]
    return DistributionPair("count", laws[0] / laws[0].sum(), laws[1] / laws[1].sum())


def side_by_side(name: str, parts: Sequence[DistributionPair]) -> DistributionPair:
    """Return the law of independent outputs together."""
    return replace(parts[0], name=name, independent=tuple(parts[1:]))


def softmax(scores: npt.NDArray[Any], rate: float) -> FloatVector:
    """Return the probabilities of the exponential mechanism."""
    weights = np.exp(rate * (scores - scores.max()))
    return np.asarray(weights / weights.sum())


def one_sided_law(
    truths: npt.ArrayLike, thresholds: npt.ArrayLike, r1: float, r2: float
) -> FloatVector:
    """Return the probabilities that a one-sided instance fires first at each test, or never.

    The noise of the threshold is cut where e^-45 of it is left.

    Args:
        truths: true answers.
        thresholds: A_i of `OneSidedPair`.
        r1: rate of the threshold's noise.
        r2: of each test's.
    """
    R = np.arange(math.ceil(45 / r1))
    weights = np.exp(-r1 * R) * -math.expm1(-r1)
    missing = np.asarray(thresholds)[:, None] + R - np.asarray(truths)[:, None]
    fires = np.exp(-r2 * np.maximum(missing, 0))
    silent = np.cumprod(np.vstack([np.ones(len(R)), 1 - fires]), axis=0)
    return np.append((silent[:-1] * fires) @ weights, silent[-1] @ weights)


def half_way(name: str, changes: npt.ArrayLike, rate: float, **options: Any) -> DistributionPair:
    """Return the worst laws of a choice between both signs of scores that change so.

    They are the worst if the neighbours lie at half the change on either side of equal scores.
    """
    change = np.asarray(changes, dtype=np.float64)
    signed = np.concatenate([change, -change]) / 2
    return DistributionPair(name, softmax(-signed, rate), softmax(signed, rate), **options)


def worst_exact(distributions: Iterable[DistributionPair], claim: Claim) -> AuditResult:
    """Return the largest exact loss over pairs of neighbours.

    Args:
        distributions: at least one.
        claim: of which the kind and delta are used.
    """
    loss, pair = max(
        (distribution.loss(claim), distribution.name) for distribution in distributions
    )
    return AuditResult(loss, "all outputs", pair)
