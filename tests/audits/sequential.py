"""Audits that stop as soon as they are decided.

Evidence. Let an event have probability p on one neighbour and q on the other. All mechanisms that
keep a claim lie on one side of a line, p <= slope q + intercept. A bet on the other side pays
X - slope Y - intercept for each two runs, where X and Y say whether the event happened: on average
nothing, or less, if the claim holds. So the wealth of somebody who bets a share of it on each two
runs, event and share chosen by earlier runs alone, has a mean of at most 1 at every time, and ever
reaches 1/alpha with probability alpha at most (Ville's inequality). The claim is refuted then,
whenever one looks. Which event is best is learnt on the way: all runs before choose it.

Passing. Somebody who bets no larger a share than is best, for the true p and q, has an inverse
wealth whose mean is at most 1, too: at the best share l the derivative of E ln(1 + l G) is zero,
for the gain G, so that E 1/(1 + l G) = 1 - l E G/(1 + l G) = 1, and below it is smaller. So where
the bets are made for events that show twice the claimed loss, the wealth of a mechanism that shows
as much falls to `miss` with probability `miss` at most; that of a sound mechanism does so soon.
Earlier runs choose the bets, so this holds as far as these do not flatter the mechanism.

Source: Ramdas, Gruenwald, Vovk, Shafer: Game-theoretic statistics and safe anytime-valid inference
(2023), sections 3 and 4.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.evaluation.audit import AuditResult, Claim, Draw, Neighbours
from graphcuts_dp.evaluation.audit import _features as features
from graphcuts_dp.evaluation.audit import _names as feature_names
from tests.audits.losses import (
    largest_loss_index,
    largest_ratio,
    likeliest_slope,
    log_likelihood,
    refuted_slope,
)

Outputs = tuple[FloatMatrix, FloatMatrix]  # a row or a number for each run, on each neighbour

MISS = 1e-3  # probability of stopping at a mechanism that is off by a factor of 2
_FIRST = 40  # runs on each neighbour that choose the pair and the first event
_BATCH = 20  # runs on each neighbour between two looks, at least
_LEVELS = np.linspace(0, 1, 15)  # thresholds are these quantiles of earlier runs
_SHARES = np.linspace(0.05, 0.95, 19)  # bets, of the largest that cannot ruin
_TRUSTED = 200  # runs on the first choice of a pair, before others are tried again
_MOST_READ = 10_000  # earlier runs that choose an event
_MULTIPLES = (1.0, 0.5, 0.25, 0.1, 0.03)  # of a claim, against which an event is chosen
_LUCK = 1.3  # standard errors of earlier runs
_ABOVE = 1 + 1e-6  # times the claim: what is refuted where the claim is
LOSSES = np.concatenate([np.linspace(0.05, 1, 20), np.linspace(1.1, 4, 30)]) * _ABOVE


def line_of(
    claim: Claim, p: npt.ArrayLike, multiples: npt.ArrayLike = 1.0
) -> tuple[FloatVector, FloatVector]:
    """Return a line below which all mechanisms that keep the claim lie: slope and intercept.

    P(E) <= slope P'(E) + intercept. For rho-zCDP it is the tangent at p of the largest P(E) beside
    each P'(E): P' >= exp(-(sqrt(rho) + sqrt(ln 1/P))^2), which is convex in P, as the supremum
    over a > 1 of P^(a/(a-1)) e^(-a rho), see `Claim.bound`.

    Args:
        claim: of epsilon and delta, or of rho.
        p: probabilities where the line shall be near, in (0, 1), of any shape.
        multiples: of the claimed loss, to which the lines belong, of a shape that fits p.
    """
    losses, p = claim.value * np.asarray(multiples), np.asarray(p, dtype=np.float64)
    if claim.kind == "epsilon":
        return np.exp(losses), np.asarray(claim.delta)
    far = np.sqrt(-np.log(p))
    rise = least_beside(claim, p, multiples) * (np.sqrt(losses) + far) / (far * p)
    return 1 / rise, p - least_beside(claim, p, multiples) / rise


def least_beside(claim: Claim, p: npt.ArrayLike, multiples: npt.ArrayLike = 1.0) -> FloatVector:
    """Return the least probability on one neighbour of an event that has p on the other.

    The arguments are those of `line_of`.
    """
    losses, p = claim.value * np.asarray(multiples), np.asarray(p, dtype=np.float64)
    if claim.kind == "epsilon":
        return np.maximum(p - claim.delta, 0) * np.exp(-losses)
    return np.asarray(np.exp(-((np.sqrt(losses) + np.sqrt(-np.log(p))) ** 2)))


@final
@dataclass(frozen=True)
class Bet:
    """An event, and what earlier runs say of its probabilities.

    Attributes:
        column: number of the feature that has a threshold.
        level: the threshold.
        above: whether the event lies above it.
        swapped: whether the event is likelier on the second neighbour.
        p: about its probability on the neighbour where it is likelier.
        q: about that on the other.
        strength: the multiple of the claim that it should exceed, and how fast bets against that
            should grow.
    """

    column: int
    level: float
    above: bool
    swapped: bool
    p: float
    q: float
    strength: tuple[float, float]

    def happened(self, outputs: Outputs) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return in which runs it happened, on the neighbour where it is likelier and the other."""
        columns = [features(output)[:, self.column] for output in outputs]
        hits = [column >= self.level if self.above else column <= self.level for column in columns]
        return (hits[1], hits[0]) if self.swapped else (hits[0], hits[1])

    def name(self, entries: int) -> str:
        """Return the event in words."""
        sense = ">=" if self.above else "<="
        return f"{feature_names(entries)[self.column]} {sense} {self.level:g}"


def best_bet(outputs: Outputs, claim: Claim, miss: float) -> Bet:
    """Return a bet on the event that refutes most of a claim, and soonest, if no luck chose it.

    Args:
        outputs: earlier runs.
        claim: that is bet against.
        miss: 0 for a bet on what the runs have shown; otherwise on an event of twice the loss.
    """
    latest = [features(output[-_MOST_READ:]) for output in outputs]
    runs = len(latest[0])
    levels = np.quantile(np.concatenate(latest), _LEVELS, axis=0, method="nearest")
    # Shape (two neighbours, above or below, levels, columns).
    counts = np.array(
        [
            [(feature >= levels[:, None]).sum(axis=1), (feature <= levels[:, None]).sum(axis=1)]
            for feature in latest
        ]
    )
    about = (counts + 1) / (runs + 2)
    error = _LUCK * np.sqrt(about * (1 - about) / runs)  # what was picked for it would not last
    low, high = np.maximum(about - error, 1e-9), np.minimum(about + error, 1 - 1e-9)
    for multiple in _MULTIPLES:
        growths = _growths(low, high[::-1], claim, multiple)
        if growths.max() > 0:
            break
    likelier, below, level, column = np.unravel_index(int(np.argmax(growths)), growths.shape)
    p, q = about[likelier, below, level, column], about[1 - likelier, below, level, column]
    if miss:
        p, q = _of_twice_the_loss(float(p), float(q), claim)
    return Bet(
        column=int(column),
        level=float(levels[level, column]),
        above=not below,
        swapped=bool(likelier),
        p=float(p),
        q=float(q),
        strength=(multiple, float(growths.max())),
    )


def _growths(p: FloatVector, q: FloatVector, claim: Claim, multiple: float) -> FloatVector:
    """Return how fast bets against a multiple of a claim grow, for events of such probabilities.

    About E(G)^2 / (2 E(G^2)), for small bets and the gain G of two runs; 0 if that is not above 0.
    """
    slope, intercept = line_of(claim, p, multiple)
    mean = np.maximum(p - slope * q - intercept, 0)
    square = p * (1 - p) + slope**2 * q * (1 - q) + mean**2
    return np.asarray(mean**2 / (2 * square))


def _of_twice_the_loss(p: float, q: float, claim: Claim) -> tuple[float, float]:
    """Return probabilities of an event that shows twice the claim, and are as near as any."""
    limits = np.linspace(0, 1, 101)[1:-1]
    beside = np.clip(least_beside(claim, limits, 2.0), 1e-6, None)
    nearest = int(np.maximum(_divergence(p, limits), _divergence(q, beside)).argmin())
    return float(limits[nearest]), float(beside[nearest])


def _divergence(p: float, limits: FloatVector) -> FloatVector:
    """Return the Kullback-Leibler divergences from a bit of probability p to others."""
    other = np.clip(limits, 1e-300, 1 - 1e-16)
    return np.asarray(p * np.log(p / other) + (1 - p) * np.log((1 - p) / (1 - other)))


@final
class Wealth:
    """What bets against a claim, and against its multiples `LOSSES`, have become."""

    def __init__(self, claim: Claim) -> None:
        """Begin with a wealth of 1."""
        self.claim, self.against_claim = claim, 0.0  # logarithm of the wealth
        self._settled: list[tuple[Bet, npt.NDArray[Any]]] = []

    def settle(self, bet: Bet, likely: npt.NDArray[Any], other: npt.NDArray[Any]) -> None:
        """Add what a bet, made before these runs, has brought.

        Args:
            bet: on an event.
            likely: in which runs the event happened, on the neighbour where it is likelier.
            other: in which it happened on the other.
        """
        counts = np.bincount(2 * likely + other, minlength=4)
        self._settled.append((bet, counts))
        self.against_claim += float(_gain(bet, counts, self.claim, np.array([_ABOVE]))[0])

    def refuted(self, alpha: float) -> float:
        """Return the largest loss such that it and all smaller ones are refuted; 0 if none is."""
        gains = [_gain(bet, counts, self.claim, LOSSES) for bet, counts in self._settled]
        stands = np.flatnonzero(np.sum(gains, axis=0) < -math.log(alpha))
        count = int(stands[0]) if len(stands) else len(LOSSES)
        return float(self.claim.value * LOSSES[count - 1]) if count else 0.0


def _gain(bet: Bet, counts: npt.NDArray[Any], claim: Claim, multiples: FloatVector) -> FloatVector:
    """Return the logarithms of what the best shares bring, against multiples of a claim.

    Args:
        bet: supposes probabilities, by which shares are best.
        counts: two runs in which the event happened nowhere, on the other neighbour, on the one
            where it is likelier, on both.
        claim: that is bet against.
        multiples: of the claimed loss, shape (losses,).
    """
    slopes, intercepts = line_of(claim, np.full(len(multiples), bet.p), multiples)
    pays = np.stack([0 * slopes, -slopes, 0 * slopes + 1, 1 - slopes]) - intercepts
    chances = np.outer([1 - bet.p, bet.p], [1 - bet.q, bet.q]).ravel()
    brings = np.log1p(_SHARES[:, None, None] / (slopes + intercepts) * pays)
    best = np.einsum("o,sol->sl", chances, brings).argmax(axis=0)
    gains: FloatVector = brings[best, :, np.arange(len(multiples))] @ counts
    return gains


def audit_until_decided(
    draw: Draw,
    pairs: Sequence[Neighbours],
    *,
    most: int,
    claim: Claim,
    alpha: float,
    miss: float = 0.0,
) -> tuple[AuditResult, int]:
    """Return a lower bound on the loss on the worst of several pairs, and how many runs it took.

    Args:
        draw: runs the mechanism.
        pairs: neighbours, at least one pair.
        most: runs on each neighbour of one pair, besides the first, at most.
        claim: of the mechanism; runs stop once it is refuted.
        alpha: probability of a bound that is too large, at most.
        miss: runs also stop where twice the loss would come to light but with this probability.
    """

    def drawn(pair: Neighbours, start: int, count: int) -> Outputs:
        return draw(pair.first, start, count), draw(pair.second, start, count)

    observed = [drawn(pair, 0, _FIRST) for pair in pairs]
    bets = [best_bet(outputs, claim, miss) for outputs in observed]
    worst = _strongest(bets)
    wealth, runs, chosen_at = Wealth(claim), 0, _FIRST
    while True:
        bet, pair = bets[worst], pairs[worst]
        count = min(max(_BATCH, runs // 4), most - runs)
        fresh = drawn(pair, len(observed[worst][0]), count)
        wealth.settle(bet, *bet.happened(fresh))
        observed[worst] = joined(observed[worst], fresh)
        runs += count
        refuted = wealth.against_claim >= -math.log(alpha)
        settled = miss > 0 and wealth.against_claim <= math.log(miss)
        if refuted or settled or runs == most:
            loss = max(wealth.refuted(alpha), claim.value * _ABOVE * refuted)
            return AuditResult(loss, bet.name(fresh[0].shape[1]), pair.name), runs
        if len(observed[worst][0]) >= 2 * chosen_at:
            if len(pairs) > 1 and runs >= _TRUSTED:
                observed = [
                    joined(outputs, drawn(other, len(outputs[0]), runs // 4))
                    for other, outputs in zip(pairs, observed, strict=True)
                ]
                bets = [best_bet(outputs, claim, miss) for outputs in observed]
                worst = _strongest(bets)
            bets[worst], chosen_at = best_bet(observed[worst], claim, miss), len(observed[worst][0])


def _strongest(bets: Sequence[Bet]) -> int:
    return max(range(len(bets)), key=lambda index: bets[index].strength)


def joined(before: Outputs, after: Outputs) -> Outputs:
    """Return earlier and later runs on each neighbour together."""
    return np.concatenate([before[0], after[0]]), np.concatenate([before[1], after[1]])


def ratio_until_decided(
    draw: Callable[[Any, int], FloatVector],
    pairs: Sequence[Neighbours],
    *,
    most: int,
    claim: Claim,
    alpha: float,
    miss: float = 0.0,
) -> tuple[AuditResult, int]:
    """Return the same from log-likelihood ratios, which are exact or off by one factor.

    `loss_by_ratio` says why: the product of the likelihood ratios of slopes t that earlier runs
    chose to one slope s has a mean of at most 1 at every time, if s is the true slope. The slope
    of a mechanism with half the noise is 2.

    Args:
        draw: so many ratios from runs on one neighbour.
        pairs: as for `audit_until_decided`, like all other arguments.
    """
    firsts = [(draw(p.first, _FIRST), draw(p.second, _FIRST)) for p in pairs]
    worst = largest_loss_index(firsts)
    pair, observed = pairs[worst], firsts[worst]
    fresh: Outputs = (np.empty(0), np.empty(0))
    chosen = 0.0  # logarithm of the likelihood of the slopes that were chosen
    while True:
        runs = len(fresh[0])
        count = min(max(_BATCH, runs // 4), most - runs)
        batch = draw(pair.first, count), draw(pair.second, count)
        chosen += log_likelihood(likeliest_slope(observed), batch)
        observed, fresh = joined(observed, batch), joined(fresh, batch)
        likeliest = likeliest_slope(fresh)
        slope = refuted_slope(fresh, chosen + math.log(alpha), likeliest)
        loss = slope * largest_ratio(fresh)
        result = AuditResult(loss, "the log-likelihood ratio", pair.name)
        twice = log_likelihood(max(2.0, likeliest), fresh)
        settled = miss > 0 and chosen - twice >= -math.log(miss)
        if loss > claim.value * (1 + 1e-9) or settled or len(fresh[0]) == most:
            return result, len(fresh[0])
